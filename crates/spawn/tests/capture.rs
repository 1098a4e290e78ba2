//! Output is collected within limits, and ends are waited for within time.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use spawn::{Capture, Command, Error, Excess, Stdio};

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

#[test]
fn both_streams_are_read_at_once() {
    // Either pipe alone would fill and stop the writer.
    let script =
        "head -c 300000 /dev/zero >&2; head -c 400000 /dev/zero; head -c 300000 /dev/zero >&2; exit 3";
    let output = shell(script).output().unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (400_000, 600_000));
    assert_eq!((output.status.code(), output.truncated), (Some(3), false));
}

#[test]
fn what_exceeds_the_limit_fails_or_is_cut_off() {
    let mut capture = Capture {
        limit_bytes: 1000,
        ..Capture::default()
    };
    let mut command = shell("head -c 1000 /dev/zero");
    assert_eq!(command.output_within(&capture).unwrap().stdout.len(), 1000);
    command = shell("head -c 500000 /dev/zero; echo done >&2");
    match command.output_within(&capture) {
        Err(Error::OutputLimit {
            stream, limit_bytes, ..
        }) => {
            assert_eq!((stream, limit_bytes), ("standard output", 1000));
        }
        other => panic!("{other:?}"),
    }
    capture.excess = Excess::CutOff;
    let output = command.output_within(&capture).unwrap();
    assert_eq!((output.stdout.len(), output.truncated), (1000, true));
    assert_eq!(
        (output.stderr, output.status.code()),
        (b"done\n".to_vec(), Some(0))
    );
}

#[test]
fn an_endless_writer_is_ended_when_time_is_up() {
    let capture = Capture {
        timeout: Some(Duration::from_millis(50)),
        excess: Excess::CutOff,
        grace: Duration::from_millis(50),
        ..Capture::default()
    };
    for script in [
        "exec cat /dev/zero",
        "exec sleep 1000",
        "trap '' TERM; exec cat /dev/zero",
        "exec >&- 2>&-; exec sleep 1000",
    ] {
        let began = Instant::now();
        let error = shell(script).output_within(&capture).unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{script}: {error}");
        assert_eq!(error.errno(), libc::ETIMEDOUT);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn streams_go_both_ways() {
    let mut command = Command::new("cat");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"ping").unwrap();
    let mut back = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut back).unwrap();
    assert_eq!(&back, b"ping");
    assert!(
        child.wait_timeout(Duration::from_millis(5)).unwrap().is_none(),
        "its input is open"
    );
    assert!(
        child.wait().unwrap().success(),
        "it is closed before it is waited for"
    );
}

#[test]
fn a_process_that_will_not_end_is_made_to() {
    let mut child = shell("trap '' TERM; echo; while :; do :; done")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let status = child.terminate(Duration::from_millis(20)).unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    child.kill().unwrap();
    assert_eq!(child.terminate(Duration::ZERO).unwrap(), status, "it stays ended");
    let error = Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap()
        .signal(99)
        .unwrap_err();
    assert_eq!(error.errno(), libc::EINVAL);
}
