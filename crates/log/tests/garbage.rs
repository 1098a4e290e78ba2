//! The fuzzer's properties with random bytes, and with damaged pieces of real files.
#![allow(clippy::unwrap_used)]

mod common;
#[allow(unreachable_pub, reason = "the fuzzer uses it, too")]
mod properties;

use common::*;
use log::storage::{Loss, Simulated};

#[test]
fn random_bytes_are_no_batches() {
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let length = random.below(200) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        properties::batches(&bytes);
        properties::recovery(&bytes);
    }
}

#[test]
fn pieces_of_real_files_in_any_order_do_no_harm() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..12);
    log.close().unwrap();
    let files = storage.power_cut(Loss::None).files();
    let all: Vec<u8> = files.values().flatten().copied().collect();
    let mut random = Random::new(2);
    for _ in 0..1500 {
        let mut bytes = vec![random.below(256) as u8];
        for _ in 0..random.below(4) {
            let from = random.below(all.len() as u64) as usize;
            let to = all.len().min(from + random.below(400) as usize);
            bytes.extend(&all[from..to]);
        }
        properties::batches(&bytes);
        properties::recovery(&bytes);
    }
}
