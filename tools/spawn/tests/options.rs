//! Every option does what it says, whichever way a process is started. With the zygote and with kernels' older `clone`:
//! see `alone`.
#![allow(clippy::unwrap_used, unsafe_code)]

mod checks;

use std::sync::Mutex;

use spawn::{Child, Command, Error, Starter};

/// One after the other: a child that another thread is just starting has every file open for a moment that is open here,
/// and a program that is open for writing cannot be executed (`ETXTBSY`).
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn every_option_holds_when_waiting_for_the_program() {
    let _one = ONE.lock();
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&Command::spawn);
    }
}

#[test]
fn every_option_holds_without_waiting() {
    let _one = ONE.lock();
    let start = |command: &Command| -> Result<Child, Error> { command.start()?.wait() };
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&start);
    }
}

#[test]
fn every_option_holds_when_a_thread_starts_it() {
    let _one = ONE.lock();
    let starter = Starter::new().unwrap();
    let start = |command: &Command| -> Result<Child, Error> { starter.start(command)?.wait() };
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&start);
    }
}
