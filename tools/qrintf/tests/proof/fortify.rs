//! What `_FORTIFY_SOURCE` aborts for is still aborted for, by every compiler and level, and nothing else is.

use std::{os::unix::process::ExitStatusExt, process::Output};

use crate::toolchain::{self, CLANG, GCC, GCC_11, Toolchain, scratch, succeed};

/// SIGABRT.
const ABORT: i32 = 6;
const CASES: usize = 17;

#[test]
fn violations_abort_as_before() {
    let folder = scratch("fortify");
    for (toolchain, flags) in builds() {
        let endings = [false, true].map(|specialized| {
            let mut compile = if specialized {
                toolchain.specialized()
            } else {
                toolchain.plain()
            };
            let name = format!("{}{}{specialized}", toolchain.name, flags.join("")).replace('=', "-");
            let program = folder.join(name);
            compile.arg("-w").args(flags).arg("-o").arg(&program);
            succeed(compile.arg(toolchain::sources().join("cases/fortify.c")));
            (0..CASES)
                .map(|case| {
                    ending(
                        &toolchain
                            .run(&program)
                            .arg(case.to_string())
                            .output()
                            .expect("it runs"),
                    )
                })
                .collect::<Vec<_>>()
        });
        let [plain, ours] = endings;
        assert_eq!(plain[0].0, None, "{} {flags:?}: {plain:?}", toolchain.name);
        let aborted = plain.iter().filter(|(signal, _)| *signal == Some(ABORT)).count();
        assert!(
            aborted >= CASES - 3,
            "{} {flags:?} aborts {aborted} times only: {plain:?}",
            toolchain.name
        );
        for (case, (expected, found)) in plain.iter().zip(&ours).enumerate() {
            assert_eq!(expected, found, "case {case} of {} {flags:?}", toolchain.name);
        }
    }
}

/// The signal that ended a program, if one did, and what it had printed.
fn ending(output: &Output) -> (Option<i32>, Vec<u8>) {
    (output.status.signal(), output.stdout.clone())
}

fn builds() -> [(Toolchain, &'static [&'static str]); 8] {
    [
        (GCC, &["-O1", "-D_FORTIFY_SOURCE=2"]),
        (GCC, &["-O2", "-D_FORTIFY_SOURCE=2"]),
        (GCC, &["-O2", "-D_FORTIFY_SOURCE=3"]),
        (GCC, &["-Os", "-D_FORTIFY_SOURCE=3"]),
        (GCC, &["-O3", "-D_FORTIFY_SOURCE=2", "-std=gnu89"]),
        (GCC_11, &["-O2", "-D_FORTIFY_SOURCE=2"]),
        (CLANG, &["-O2", "-D_FORTIFY_SOURCE=2"]),
        (CLANG, &["-O1", "-D_FORTIFY_SOURCE=3"]),
    ]
}
