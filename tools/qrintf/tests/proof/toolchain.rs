//! The compilers that the header must serve, and how what they make is run here.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A compiler with its C library, and what runs its programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Toolchain {
    pub(crate) name: &'static str,
    pub(crate) compiler: &'static [&'static str],
    runner: &'static [&'static str],
    /// Whether the C library has `__snprintf_chk` and its like.
    pub(crate) fortifies: bool,
}

/// The functions whose calls `qrintf-cc` specializes.
pub(crate) const FAMILY: [&str; 6] = ["sprintf", "snprintf", "printf", "fprintf", "dprintf", "asprintf"];

const QEMU: &[&str] = &["qemu-aarch64"];

pub(crate) const GCC: Toolchain = plain("gcc", &["gcc"]);
pub(crate) const GCC_11: Toolchain = plain("gcc-11", &["gcc-11"]);
pub(crate) const CLANG: Toolchain = plain("clang", &["clang"]);
pub(crate) const GXX: Toolchain = plain("g++", &["g++"]);
pub(crate) const CLANGXX: Toolchain = plain("clang++", &["clang++"]);
pub(crate) const MUSL: Toolchain = Toolchain {
    name: "musl",
    compiler: &["musl-gcc", "-static"],
    runner: &[],
    fortifies: false,
};
/// Debian has no clang for musl either: a directory of links is what clang takes for the system's root.
pub(crate) const MUSL_CLANG: Toolchain = Toolchain {
    name: "musl-clang",
    compiler: &["target/clients/musl-x86_64/x86_64-linux-musl-clang", "-static"],
    runner: &[],
    fortifies: false,
};
pub(crate) const AARCH64: Toolchain = Toolchain {
    name: "aarch64",
    compiler: &["aarch64-linux-gnu-gcc", "-static"],
    runner: QEMU,
    fortifies: true,
};
pub(crate) const AARCH64_CLANG: Toolchain = Toolchain {
    name: "aarch64-clang",
    compiler: &["clang", "--target=aarch64-linux-gnu", "-static"],
    runner: QEMU,
    fortifies: true,
};

/// Debian has no such compiler; `tests/install` makes one of Debian's parts.
pub(crate) const AARCH64_MUSL: Toolchain = Toolchain {
    name: "aarch64-musl",
    compiler: &["target/clients/musl-aarch64/aarch64-linux-musl-gcc", "-static"],
    runner: QEMU,
    fortifies: false,
};

const fn plain(name: &'static str, compiler: &'static [&'static str]) -> Toolchain {
    Toolchain {
        name,
        compiler,
        runner: &[],
        fortifies: true,
    }
}

impl Toolchain {
    /// The compiler as it is without us.
    pub(crate) fn plain(&self) -> Command {
        let mut command = Command::new(self.program());
        command.args(&self.compiler[1..]);
        command
    }

    /// The same compiler behind `qrintf-cc`, which must get along with the headers: there is no second run without them.
    pub(crate) fn specialized(&self) -> Command {
        let mut command = Command::new(driver());
        command.env("QRINTF_STRICT", "1");
        command.arg(self.program()).args(&self.compiler[1..]);
        command
    }

    /// The compiler's name; or its path, if it is one of the repository's own.
    fn program(&self) -> PathBuf {
        match self.compiler[0] {
            ours if ours.starts_with("target/") => {
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(ours)
            }
            name => PathBuf::from(name),
        }
    }

    /// A command that runs a program which this compiler made.
    pub(crate) fn run(&self, program: &Path) -> Command {
        match self.runner {
            [] => Command::new(program),
            [emulator, rest @ ..] => {
                let mut command = Command::new(emulator);
                command.args(rest).arg(program);
                command
            }
        }
    }
}

/// The driver under test: this build's, or the one that `QRINTF_CC_UNDER_TEST` names (an installed one, say).
pub(crate) fn driver() -> PathBuf {
    env::var_os("QRINTF_CC_UNDER_TEST")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_qrintf-cc")), PathBuf::from)
}

/// The folder of the harness's C files and of the hand-written cases.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof/c")
}

/// A fresh folder of this name for what a test builds; left behind, for a look after a failure.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proof").join(name);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{}: {error}", folder.display()),
        _ => {}
    }
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// Runs a command to its end; panics with its output when it fails.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
