//! Random call sites against the C library: bytes, results, errno, and nothing touched outside.
//!
//! `QRINTF_FUZZ_SEED` repeats a run. The first test is short enough for every run of the tests; the second makes a
//! million calls (`make fuzz-long`). What they cover, each cell with sites of its own:
//!
//! | | short | long, beyond the short |
//! |---|---|---|
//! | gcc (Debian's), clang, glibc | each level, each standard and each `_FORTIFY_SOURCE`, some with each other | all of `-O1 -O2 -O3 -Os` × gnu89, gnu99, gnu11, gnu17, gnu2x × without and with `_FORTIFY_SOURCE=2`, and `=3` |
//! | gcc 11, glibc | three | `-O1 -O2 -O3 -Os` × gnu89, gnu17, gnu2x |
//! | gcc and clang, musl | three and two | `-O1 -O2 -O3 -Os` × gnu89, gnu17, gnu2x |
//! | gcc and clang, aarch64, glibc; gcc, aarch64, musl | four | `-O1 -O2 -O3 -Os` |
//! | C99 proper, `-fPIC`, `-g3`, `-ffast-math`, `-funsigned-char`, `-march=native`, sanitizers | some | |
//! | g++ and clang++ with `QRINTF_CXX`, in a test of their own | four | `-O1 -O2 -O3 -Os` × C++11, C++17 with `_FORTIFY_SOURCE=2`, C++20 |
//! | left alone: `-O0`, `QRINTF_DISABLE`, `-fno-builtin` | four | |

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    campaign::{Campaign, Outcome, Variant},
    toolchain::{
        AARCH64, AARCH64_CLANG, AARCH64_MUSL, CLANG, CLANGXX, GCC, GCC_11, GXX, MUSL, MUSL_CLANG, Toolchain,
    },
};

const CALLS_SHORT: u64 = 20_000;
const CALLS_LONG: u64 = 1_000_000;

/// One of how many ways to compile C++ is for the short run.
const OVERLOADS_SHORT_OF: usize = 7;

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

/// C++ promises nothing about what stays with the library, but most calls have to be ours.
#[test]
fn overloads_of_cplusplus_equal_the_library() {
    let campaign = Campaign {
        name: "overloads",
        seed: seed(20_261_122),
        variants: overloads().into_iter().step_by(OVERLOADS_SHORT_OF).collect(),
        files: 1,
        sites: 32,
        rows: 28,
    };
    println!("QRINTF_FUZZ_SEED={}", campaign.seed);
    let Outcome { total, faults, .. } = campaign.run();
    println!("{total:?}");
    assert!(faults.is_empty(), "QRINTF_FUZZ_SEED={}\n{faults}", campaign.seed);
    assert!(total.specialized * 5 > total.calls, "{total:?}");
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
        variants: [matrix(), product(), overloads()].concat(),
        files: 1,
        sites: 60,
        rows: 95,
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
        (
            CLANG,
            &["-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ),
        (MUSL, &["-O2"]),
        (MUSL, &["-O1", "-std=gnu89"]),
        (MUSL, &["-Os", "-std=c99"]),
        (MUSL_CLANG, &["-O2"]),
        (MUSL_CLANG, &["-Os", "-std=gnu89"]),
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

/// Every level with every standard, and where the library has it with every `_FORTIFY_SOURCE`.
fn product() -> Vec<Variant> {
    const LEVELS: &[&str] = &["-O1", "-O2", "-O3", "-Os"];
    const STANDARDS: &[&str] = &[
        "-std=gnu89",
        "-std=gnu17",
        "-std=gnu2x",
        "-std=gnu99",
        "-std=gnu11",
    ];
    const CHECKS: &[&str] = &["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-D_FORTIFY_SOURCE=3"];
    let cells: [(Toolchain, &[&str], &[&str]); 8] = [
        (GCC, STANDARDS, CHECKS),
        (CLANG, STANDARDS, CHECKS),
        (GCC_11, &STANDARDS[..3], &CHECKS[..1]),
        (MUSL, &STANDARDS[..3], &CHECKS[..1]),
        (MUSL_CLANG, &STANDARDS[..3], &CHECKS[..1]),
        (AARCH64, &STANDARDS[1..2], &CHECKS[..1]),
        (AARCH64_CLANG, &STANDARDS[1..2], &CHECKS[..1]),
        (AARCH64_MUSL, &STANDARDS[1..2], &CHECKS[..1]),
    ];
    let mut all = Vec::new();
    for (toolchain, standards, checks) in cells {
        for (standard, check) in standards
            .iter()
            .flat_map(|standard| checks.iter().map(move |check| (*standard, *check)))
        {
            all.extend(LEVELS.iter().map(|level| Variant {
                toolchain: toolchain.clone(),
                flags: vec![level, standard, check],
                folds: true,
            }));
        }
    }
    all
}

/// C++ with the overloads, which read formats when they run.
fn overloads() -> Vec<Variant> {
    let mut all = Vec::new();
    for toolchain in [GXX, CLANGXX] {
        for level in ["-O1", "-O2", "-O3", "-Os"] {
            for standard in ["-std=c++11", "-std=c++17", "-std=c++20"] {
                let check = if standard == "-std=c++17" {
                    "-D_FORTIFY_SOURCE=2"
                } else {
                    "-U_FORTIFY_SOURCE"
                };
                let mut flags = vec![level, standard, check, "-DQRINTF_CXX", "-Wno-narrowing"];
                // What C allows and C++ does not, in tables of values.
                flags.extend((toolchain == GXX).then_some("-fpermissive"));
                all.push(Variant {
                    toolchain: toolchain.clone(),
                    flags,
                    folds: false,
                });
            }
        }
    }
    all
}
