//! How the library identifies `/bin/sh`: by its build ID, or by probing it from the second command on.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Shell, environment, library, preload, remove_scratch, run, scratch, text};

/// Runs a direct command three times and lets it die once; returns standard output and standard error.
fn said(name: &str, shell: &Path) -> (String, String) {
    const SCRIPT: &str = "for i = 1, 3 do assert(os.execute('args a')) end print(os.execute('die 15'))";
    let folder = scratch(name);
    let mut command = Shell::command_with(shell, "lua5.4");
    command.args(["-e", SCRIPT]).current_dir(&folder);
    environment(&mut command, &folder);
    preload(&mut command, &[&library()]);
    command.env("NOSHELL_TRACE", "1");
    let output = run(&mut command, b"", Duration::from_secs(60));
    remove_scratch(&folder);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// The offset of a file's build ID.
fn build_id(file: &[u8]) -> usize {
    // The note's header: the lengths of name and content, the type, the name.
    const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    file.windows(NOTE.len()).position(|bytes| bytes == NOTE).unwrap() + NOTE.len()
}

/// Returns whether the library lists the build ID of an installed shell.
fn is_listed(shell: &Path) -> bool {
    let file = fs::read(shell).unwrap();
    let id = build_id(&file);
    let bytes: Vec<_> = file[id..id + 20]
        .iter()
        .map(|byte| format!("0x{byte:02x}"))
        .collect();
    let source = fs::read_to_string(support::package().join("src/build_id.c")).unwrap();
    source.contains(&bytes.join(", "))
}

/// A copy of a shell with a changed build ID, which the library therefore does not recognize.
fn unlisted(shell: Shell, folder: &Path) -> PathBuf {
    let mut file = fs::read(format!("/bin/{}", shell.name())).unwrap();
    let id = build_id(&file);
    file[id] ^= 1;
    let copy = folder.join(shell.name());
    fs::write(&copy, file).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}

fn compare(shell: Shell) {
    let name = shell.name();
    let folder = scratch(&format!("unlisted-{name}"));
    let installed = PathBuf::from(format!("/bin/{name}"));
    let listed = said(&format!("listed-{name}"), &installed);
    let probed = said(&format!("probed-{name}"), &unlisted(shell, &folder));
    remove_scratch(&folder);

    let direct = "noshell: system: direct: args a\n";
    let first = "noshell: system: shell (first command, shell not identified yet): args a\n";
    // An update of the system brings a shell that is not listed yet.
    let expected = if is_listed(&installed) { 3 } else { 2 };
    assert_eq!(listed.1.matches(direct).count(), expected, "{}", listed.1);
    assert_eq!(probed.1.matches(direct).count(), 2, "{}", probed.1);
    assert!(probed.1.starts_with(first), "{}", probed.1);
    // dash turns the death into a status and reports it; bash becomes the command.
    assert_eq!(listed.0, probed.0);
    assert!(
        listed.0.contains(if shell == Shell::Dash {
            "exit\t143"
        } else {
            "signal\t15"
        }),
        "{}",
        listed.0
    );
    let report = |(_, errors): &(String, String)| errors.matches("Terminated").count();
    assert_eq!(report(&listed), report(&probed));
}

#[test]
fn listed_and_probed_dash_are_treated_alike() {
    compare(Shell::Dash);
}

#[test]
fn listed_and_probed_bash_are_treated_alike() {
    compare(Shell::Bash);
}
