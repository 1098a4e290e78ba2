//! Runs a program with limits on its time, memory and output.
//!
//! ```console
//! $ cargo run -p hikyaku-spawn --example limits -- sort /etc/passwd
//! ```

use spawn::{Capture, Command, Error, Excess, Resource};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().unwrap_or_else(|| "date".into());
    match run(Command::new(program).args(words)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // The message names the stage that failed, its subject and the system's error.
            eprintln!("{error}");
            ExitCode::from(127)
        }
    }
}

fn run(command: &mut Command) -> Result<u8, Error> {
    command
        .limit(Resource::ADDRESS_SPACE, 1 << 30, 1 << 30)
        .limit(Resource::CPU, 10, 10)
        .nice(5)
        .no_new_privileges();
    let output = command.output_within(&Capture {
        limit_bytes: 1 << 20,
        excess: Excess::CutOff,
        timeout: Some(Duration::from_secs(20)),
        ..Capture::default()
    })?;
    // A closed standard output is no reason to fail.
    let _ = std::io::stdout().write_all(&output.stdout);
    let _ = std::io::stderr().write_all(&output.stderr);
    if output.truncated {
        eprintln!("(output beyond 1 MiB was discarded)");
    }
    Ok(output.status.code().unwrap_or(1) as u8)
}
