//! Every option does what it says, whichever way a process is started. With the zygote and with kernels' older `clone`:
//! see `alone`.
#![allow(clippy::unwrap_used, unsafe_code)]

mod checks;

use spawn::{Child, Command, Error};

#[test]
fn every_option_holds_when_waiting_for_the_program() {
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&Command::spawn);
    }
}

#[test]
fn every_option_holds_without_waiting() {
    let start = |command: &Command| -> Result<Child, Error> { command.start()?.wait() };
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&start);
    }
}
