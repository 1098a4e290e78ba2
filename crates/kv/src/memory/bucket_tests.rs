//! The lock of a bucket. Apart from it because `tests/models` includes that file with other primitives.

use std::sync::atomic::{AtomicU64, Ordering};

use super::bucket::Bucket;

#[test]
fn a_bucket_is_a_cache_line() {
    assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
}

#[test]
fn next_survives_the_counter() {
    let bucket = Bucket::default();
    let mut word = bucket.lock();
    word.set_next(u32::MAX);
    bucket.unlock(word);
    for _ in 0..100_000 {
        let word = bucket.lock();
        assert_eq!(word.next(), u32::MAX);
        bucket.unlock(word);
    }
}

#[test]
fn chance_is_about_as_asked() {
    let bucket = Bucket::default();
    for n in [2, 16, 100, 255] {
        let mut hits = 0;
        for _ in 0..32_768 {
            let word = bucket.lock();
            hits += u32::from(word.once_in(n));
            bucket.unlock(word);
        }
        let expected = 32_768 / u32::from(n);
        assert!(
            hits.abs_diff(expected) < expected / 4 + 8,
            "{hits} hits of one in {n}"
        );
    }
}

#[test]
fn the_lock_excludes() {
    let (bucket, shared) = (Bucket::default(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let word = bucket.lock();
                    let before = shared.load(Ordering::Relaxed);
                    shared.store(before + 1, Ordering::Relaxed);
                    bucket.unlock(word);
                }
            });
        }
    });
    assert_eq!(shared.into_inner(), 80_000);
}
