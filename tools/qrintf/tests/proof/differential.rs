//! Random call sites against the C library: bytes, results, errno, and nothing touched outside.
//!
//! `QRINTF_FUZZ_SEED` repeats a run. The first test is short enough for every run of the tests; the second makes a
//! million calls (`make fuzz-long`).

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    campaign::{Campaign, Outcome, Variant},
    toolchain::{AARCH64, AARCH64_CLANG, AARCH64_MUSL, CLANG, GCC, GCC_11, MUSL, Toolchain},
};

const CALLS_SHORT: u64 = 20_000;
const CALLS_LONG: u64 = 1_000_000;

/// How many of the calls that are promised to need no library may call it all the same: empty texts for streams, and
/// texts whose bound is far above what they come to.
const UNKEPT_PERCENT_MAX: u64 = 2;

#[test]
fn twenty_thousand_calls_equal_the_library() {
    let campaign = Campaign {
        name: "twenty_thousand",
        seed: seed(20_261_121),
        variants: matrix(),
        files: 1,
        sites: 32,
        rows: 28,
    };
    check(&campaign, CALLS_SHORT);
}

#[test]
#[ignore = "takes many minutes: make fuzz-long"]
fn a_million_calls_equal_the_library() {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let campaign = Campaign {
        name: "a_million",
        seed: seed(now),
        variants: matrix(),
        files: 4,
        sites: 64,
        rows: 150,
    };
    check(&campaign, CALLS_LONG);
}

fn check(campaign: &Campaign, calls_min: u64) {
    println!("QRINTF_FUZZ_SEED={}", campaign.seed);
    let Outcome {
        total,
        folding,
        faults,
        unkept,
    } = campaign.run();
    println!("all variants: {total:?}\nthose that fold: {folding:?}\n{unkept}");
    assert!(faults.is_empty(), "QRINTF_FUZZ_SEED={}\n{faults}", campaign.seed);
    assert!(total.calls >= calls_min, "{total:?}");
    assert!(
        folding.unkept * 100 <= folding.promised * UNKEPT_PERCENT_MAX,
        "calls that should fold don't:\n{unkept}"
    );
    assert!(
        folding.promised > folding.calls / 12,
        "too few calls were promised to fold: {folding:?}"
    );
    assert!(
        folding.floats_kept * 6 < folding.floats,
        "too many floats went to the library: {folding:?}"
    );
}

/// The seed of a run: what the environment says, or this one.
fn seed(otherwise: u64) -> u64 {
    match env::var("QRINTF_FUZZ_SEED") {
        Ok(text) => text.parse().expect("QRINTF_FUZZ_SEED is a number"),
        Err(_) => otherwise,
    }
}

/// Every compiler, library and machine; every level and standard, though not each of one with each of the other.
fn matrix() -> Vec<Variant> {
    let folding: &[(Toolchain, &[&str])] = &[
        (GCC, &["-O1"]),
        (GCC, &["-O2"]),
        (GCC, &["-O3", "-std=gnu11"]),
        (GCC, &["-Os", "-std=gnu99"]),
        (GCC, &["-O2", "-std=gnu89"]),
        (GCC, &["-O2", "-std=c99"]),
        (GCC, &["-O1", "-std=gnu2x", "-D_FORTIFY_SOURCE=2"]),
        (GCC, &["-O2", "-D_FORTIFY_SOURCE=2"]),
        (GCC, &["-O3", "-D_FORTIFY_SOURCE=3", "-march=native"]),
        (GCC, &["-Os", "-D_FORTIFY_SOURCE=3", "-std=c99"]),
        (GCC, &["-O2", "-ffast-math", "-fwrapv"]),
        (
            GCC,
            &["-O2", "-funsigned-char", "-fno-strict-aliasing", "-fPIC", "-g3"],
        ),
        (
            GCC,
            &["-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ),
        (GCC_11, &["-O2"]),
        (GCC_11, &["-O3", "-D_FORTIFY_SOURCE=2", "-std=gnu89"]),
        (GCC_11, &["-Os", "-std=gnu2x"]),
        (CLANG, &["-O1"]),
        (CLANG, &["-O2"]),
        (CLANG, &["-O3", "-std=gnu2x"]),
        (CLANG, &["-Os", "-std=gnu89"]),
        (CLANG, &["-O2", "-D_FORTIFY_SOURCE=2", "-std=c99"]),
        (CLANG, &["-O3", "-D_FORTIFY_SOURCE=3"]),
        (CLANG, &["-O2", "-ffast-math", "-fPIC"]),
        (MUSL, &["-O2"]),
        (MUSL, &["-O1", "-std=gnu89"]),
        (MUSL, &["-Os", "-std=c99"]),
        (AARCH64, &["-O2"]),
        (AARCH64, &["-Os", "-D_FORTIFY_SOURCE=2"]),
        (AARCH64_CLANG, &["-O2"]),
        (AARCH64_MUSL, &["-O2"]),
    ];
    let left: &[(Toolchain, &[&str])] = &[
        (GCC, &["-O0"]),
        (CLANG, &["-O0", "-std=gnu99"]),
        (GCC, &["-O2", "-DQRINTF_DISABLE"]),
        (GCC, &["-O2", "-fno-builtin"]),
    ];
    let variants = |of: &[(Toolchain, &[&'static str])], folds| {
        of.iter()
            .map(|(toolchain, flags)| Variant {
                toolchain: toolchain.clone(),
                flags: flags.to_vec(),
                folds,
            })
            .collect::<Vec<_>>()
    };
    let mut all = variants(folding, true);
    all.extend(variants(left, false));
    all
}
