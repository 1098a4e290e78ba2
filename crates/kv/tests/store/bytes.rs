//! The fuzzer's model over random bytes, and over its seeds.

use crate::common::Random;
use crate::operations;

#[test]
fn random_operations_agree_with_a_map() {
    for seed in 0..100 {
        let mut input = Random::new(seed).bytes(1200);
        input[0] = seed as u8;
        operations::run(&input);
    }
}

/// Few keys and one form of operation in a row reach states that uniform bytes do not.
#[test]
fn appends_and_uploads_under_pressure_agree_with_a_map() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut input = vec![(seed * 37) as u8];
        for _ in 0..300 {
            let operation = [4, 4, 5, 13, 0, 10, 11, 6][random.below(8) as usize];
            let key = random.below(6) as u8;
            input.extend([operation, key, random.below(12) as u8, 200]);
        }
        operations::run(&input);
    }
}
