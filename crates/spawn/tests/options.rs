//! Each option works with every way of starting a process. `alone` tests the zygote and the older `clone`.
#![allow(clippy::unwrap_used, unsafe_code)]

mod checks;

use std::sync::Mutex;

use spawn::{Child, Command, Error, Spawner};

/// One after the other: a child that another thread is just starting has every file open for a moment that is open here,
/// and a program that is open for writing cannot be executed (`ETXTBSY`).
static ONE: Mutex<()> = Mutex::new(());

/// All checks; under user-mode emulation all but those of signals, because qemu reserves the last one.
fn here() -> impl Iterator<Item = &'static (&'static str, fn(checks::How<'_>))> {
    let emulated = std::env::var_os("SPAWN_EMULATED").is_some();
    checks::ALL
        .iter()
        .filter(move |(name, _)| !emulated || *name != "signals")
}

#[test]
fn every_option_holds_when_waiting_for_the_program() {
    let _one = ONE.lock();
    for (name, check) in here() {
        println!("{name}");
        check(&Command::spawn);
    }
}

#[test]
fn every_option_holds_without_waiting() {
    let _one = ONE.lock();
    let start = |command: &Command| -> Result<Child, Error> { command.start()?.wait() };
    for (name, check) in here() {
        println!("{name}");
        check(&start);
    }
}

#[test]
fn every_option_holds_when_a_thread_starts_it() {
    let _one = ONE.lock();
    let spawner = Spawner::new().unwrap();
    let start = |command: &Command| -> Result<Child, Error> { spawner.start(command)?.wait() };
    for (name, check) in here() {
        println!("{name}");
        check(&start);
    }
}

/// `Command::status` reports the same results as `spawn` and `wait`.
#[test]
fn a_command_that_is_run_to_its_end_is_the_same() {
    let _one = ONE.lock();
    let status = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(spawn::Stdio::piped());
        command.status().unwrap()
    };
    assert_eq!(status("cat; exit 3").code(), Some(3));
    assert!(status("[ \"$(ls /proc/self/fd | tr '\\n' ' ')\" = '0 1 2 3 ' ]").success());
    let error = Command::new("sh").current_dir("/no/such").status().unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start `sh`: changing to the directory `/no/such`: No such file or directory (os error 2)"
    );
    let killed = status("kill -9 $$");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&killed),
        Some(libc::SIGKILL)
    );
    // SAFETY: takes no memory.
    if unsafe { libc::geteuid() } == 0 {
        let mut command = Command::new("sh");
        command.args(["-c", "exit $(($(id -u) == 54321 ? 7 : 1))"]);
        assert_eq!(command.user(54_321).status().unwrap().code(), Some(7));
    }
}
