//! The zygote: its children are as if this process had started them, in whatever order the processes die.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use spawn::{Capture, Command, Error, Resource, Rules, Stage, Stdio, Zygote};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    ("zygote_statuses_and_output_come_back", statuses_and_output),
    ("zygote_serves_a_daemon_that_may_not_execute", may_not_execute),
    ("zygote_tells_which_step_failed", stages),
    ("zygote_takes_requests_of_any_allowed_size", sizes),
    ("zygote_keeps_its_rules", rules),
    ("zygote_is_asked_by_many_threads", threads),
    ("zygote_passes_signals_on", signals),
    ("zygote_ends_with_its_daemon", daemon_dies),
    ("zygote_that_died_is_told_of", zygote_dies),
    ("zygote_leaves_no_zombie", no_zombie),
    ("zygote_must_come_before_threads", too_late),
    ("zygote_does_not_hold_descriptors", holds_nothing),
];

fn zygote() -> Zygote {
    Zygote::start(&Rules::default()).unwrap()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn output(zygote: &Zygote, command: &mut Command) -> String {
    let child = zygote
        .spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))
        .unwrap();
    let output = child.output(&Capture::default()).unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

fn await_end_of(pid: u32) {
    while !is_gone(pid) {
        std::thread::yield_now();
    }
}

/// State and parent of every process that is a child of one.
fn children_of(parent: u32) -> Vec<(u32, char)> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Ok(pid) = name.parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let fields: Vec<_> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
        if fields[1].parse::<u32>().unwrap() == parent {
            children.push((pid, fields[0].chars().next().unwrap()));
        }
    }
    children
}

fn statuses_and_output() {
    let zygote = zygote();
    assert_eq!(output(&zygote, &mut shell("echo $((6 * 7))")), "42\n");
    for code in [0, 1, 127, 255] {
        let mut child = zygote.spawn(&shell(&format!("exit {code}"))).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(child.wait().unwrap().code(), Some(code), "it is told again");
    }
    let mut child = zygote.spawn(&shell("kill -KILL $$")).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));

    // Attributes that the command does not set come from the daemon as it is now.
    let directory = std::env::temp_dir().canonicalize().unwrap();
    std::env::set_current_dir(&directory).unwrap();
    // SAFETY: there is one thread.
    unsafe { std::env::set_var("ZYGOTE_CASE", "later") };
    let seen = output(&zygote, &mut shell("pwd; echo $ZYGOTE_CASE; echo $PPID"));
    let expected = format!("{}\nlater\n{}\n", directory.display(), zygote.id().unwrap());
    assert_eq!(seen, expected);
    assert_eq!(output(&zygote, Command::new("pwd").current_dir("/")), "/\n");
    let mut both = shell("cat; cat <&7");
    both.stdin(Stdio::bytes("in"))
        .descriptor(7, Stdio::bytes("seven"))
        .stdout(Stdio::memory());
    let mut child = zygote.spawn(&both).unwrap();
    assert!(child.wait().unwrap().success());
    let Some(spawn::End::Memory(mut file)) = child.take(1) else {
        panic!("it is a file in memory")
    };
    let mut text = String::new();
    std::io::Seek::rewind(&mut file).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "inseven");
}

fn may_not_execute() {
    let zygote = zygote();
    // SAFETY: takes no memory.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root {
        // SAFETY: takes no memory.
        unsafe { assert_eq!(libc::setresuid(65534, 65534, 65534), 0) };
    }
    crate::filter::refuse(&[libc::SYS_execve, libc::SYS_execveat], libc::EPERM);
    let refused = std::process::Command::new("/bin/true").status().unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    let error = Command::new("/bin/true").status().unwrap_err();
    assert_eq!((error.stage(), error.errno()), (Some(Stage::Exec), libc::EPERM));
    // The zygote has the rights that were given up, and gives them up where it is told.
    if is_root {
        assert_eq!(output(&zygote, &mut shell("id -u")), "0\n");
    }
    let limited = output(
        &zygote,
        shell("id -u; ulimit -c").user(65534).limit(Resource::CORE, 0, 0),
    );
    assert_eq!(limited, "65534\n0\n");
    // The daemon may not signal root's process itself, but can end it through the zygote.
    let mut child = zygote.spawn(Command::new("sleep").arg("1000")).unwrap();
    assert_eq!(
        child.terminate(Duration::from_secs(60)).unwrap().signal(),
        Some(libc::SIGTERM)
    );
}

fn stages() {
    let zygote = zygote();
    let error = zygote
        .spawn(Command::new("no-such-program").env("PATH", "/nowhere"))
        .unwrap_err();
    assert_eq!((error.stage(), error.errno()), (Some(Stage::Exec), libc::ENOENT));
    let error = zygote
        .spawn(Command::new("true").current_dir("/no/such"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start `true`: changing to the directory `/no/such`: No such file or directory (os error 2)"
    );
    assert!(matches!(
        zygote.spawn(Command::new("true").arg("a\0b")),
        Err(Error::Nul { .. })
    ));
    let error = zygote
        .spawn(Command::new("true").stdin(Stdio::read("/no/such")))
        .unwrap_err();
    assert_eq!(
        (error.stage(), error.errno()),
        (Some(Stage::Stream), libc::ENOENT)
    );
}

fn sizes() {
    let zygote = zygote();
    for length in [1, 60_000, 65_000, 66_000, 100_000] {
        let mut command = shell("printf %s \"$1$2$3\" | wc -c");
        command.arg("sh").args(vec!["x".repeat(length); 3]);
        assert_eq!(output(&zygote, &mut command).trim(), (3 * length).to_string());
    }
    // Longer than the kernel takes, and longer than we take: libc's error is the same.
    for length in [200_000, 9 << 20] {
        let error = zygote
            .spawn(Command::new("true").arg("x".repeat(length)))
            .unwrap_err();
        assert_eq!(error.errno(), libc::E2BIG, "{error}");
    }
    let mut command = Command::new("true");
    for target in 3..300 {
        command.descriptor(target, Stdio::null());
    }
    assert_eq!(zygote.spawn(&command).unwrap_err().errno(), libc::EMFILE);
    assert!(
        zygote
            .spawn(&Command::new("true"))
            .unwrap()
            .wait()
            .unwrap()
            .success()
    );
}

fn rules() {
    let rules = Rules {
        children_max: 2,
        programs: Some(vec!["/bin/cat".into(), "/bin/true".into()]),
    };
    let zygote = Zygote::start(&rules).unwrap();
    for other in ["/bin/sh", "true", "/bin/../bin/true"] {
        let error = zygote.spawn(&Command::new(other)).unwrap_err();
        assert_eq!(
            (error.stage(), error.errno()),
            (Some(Stage::Zygote), libc::EPERM),
            "{other}"
        );
    }
    let mut cat = Command::new("/bin/cat");
    cat.stdin(Stdio::piped());
    let mut first = zygote.spawn(&cat).unwrap();
    let _second = zygote.spawn(&cat).unwrap();
    assert_eq!(zygote.spawn(&cat).unwrap_err().errno(), libc::EAGAIN);
    first.wait().unwrap();
    zygote.spawn(&cat).unwrap();
}

fn threads() {
    let zygote = zygote();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let zygote = &zygote;
            scope.spawn(move || {
                for round in 0..25 {
                    let said = format!("{thread} {round}");
                    assert_eq!(
                        output(zygote, Command::new("echo").arg(&said)),
                        format!("{said}\n")
                    );
                }
            });
        }
    });
}

fn signals() {
    let zygote = zygote();
    let mut command = shell("trap 'echo got it; exit 7' USR1; echo ready; while :; do :; done");
    let mut child = zygote.spawn(command.stdout(Stdio::piped())).unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    out.read_exact(&mut ready).unwrap();
    assert!(child.try_wait().unwrap().is_none());
    assert!(child.wait_timeout(Duration::from_millis(1)).unwrap().is_none());
    child.signal(libc::SIGUSR1).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    // One that ignores being asked is made to.
    let mut command = shell("trap '' TERM; echo ready; while :; do :; done");
    let mut child = zygote.spawn(command.stdout(Stdio::piped())).unwrap();
    child.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    let status = child.terminate(Duration::from_millis(20)).unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL));
}

/// Forks a daemon with a zygote and a child, which tells their numbers, and answers those.
fn daemon() -> (libc::pid_t, u32, u32) {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: there is one thread.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let zygote = zygote();
        let child = zygote.spawn(Command::new("sleep").arg("1000")).unwrap();
        writeln!(writer, "{} {}", zygote.id().unwrap(), child.id()).unwrap();
        loop {
            std::thread::park();
        }
    }
    drop(writer);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(&mut reader), &mut line).unwrap();
    let numbers: Vec<u32> = line.split_whitespace().map(|one| one.parse().unwrap()).collect();
    (pid, numbers[0], numbers[1])
}

fn daemon_dies() {
    let (daemon, zygote, child) = daemon();
    // SAFETY: takes no memory; the daemon is our child.
    unsafe {
        libc::kill(daemon, libc::SIGKILL);
        libc::waitpid(daemon, std::ptr::null_mut(), 0);
    }
    await_end_of(zygote);
    // As without a zygote, what was started runs on.
    assert!(!is_gone(child));
    // SAFETY: takes no memory; the number is that of the sleeper.
    unsafe { libc::kill(child as libc::pid_t, libc::SIGKILL) };
}

fn zygote_dies() {
    let zygote = zygote();
    let mut running = zygote.spawn(Command::new("sleep").arg("1000")).unwrap();
    let number = zygote.id().unwrap() as libc::pid_t;
    // SAFETY: takes no memory; the zygote is our child.
    unsafe { libc::kill(number, libc::SIGKILL) };
    while !matches!(zygote.spawn(&Command::new("true")), Err(Error::ZygoteGone)) {
        std::thread::yield_now();
    }
    // A process that is killed closes its sockets one after the other.
    loop {
        match running.try_wait() {
            Ok(None) => std::thread::yield_now(),
            Err(Error::ZygoteGone) => break,
            other => panic!("{other:?}"),
        }
    }
    // Its pidfd is still good, to signal and to see it end; the status is known where the kernel tells it.
    running.kill().unwrap();
    match running.wait() {
        Ok(status) => assert_eq!(status.signal(), Some(libc::SIGKILL)),
        Err(error) => assert!(matches!(error, Error::ZygoteGone)),
    }
    drop(zygote);
    await_end_of(number as u32);
}

fn no_zombie() {
    let zygote = zygote();
    let number = zygote.id().unwrap();
    for round in 0..100 {
        let child = zygote.spawn(Command::new("sleep").arg("1000")).unwrap();
        if round % 2 == 0 {
            drop(child);
        } else {
            child.kill().unwrap();
            child.detach();
        }
        let _ = zygote.spawn(&Command::new("/no/such"));
        drop(zygote.request(Command::new("sleep").arg("1000")).unwrap());
    }
    while !children_of(number).is_empty() {
        std::thread::yield_now();
    }
    drop(zygote);
    await_end_of(number);
    assert_eq!(children_of(std::process::id()), []);
}

fn too_late() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || receiver.recv());
    let error = Zygote::start(&Rules::default()).unwrap_err();
    assert!(matches!(error, Error::ZygoteThreads { threads: 2 }));
    drop(sender);
    thread.join().unwrap().unwrap_err();
}

fn holds_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    let zygote = zygote();
    drop(writer);
    // If the zygote held the other end, this would block for ever.
    let mut rest = Vec::new();
    { reader }.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    let open = std::fs::read_dir(format!("/proc/{}/fd", zygote.id().unwrap())).unwrap();
    assert_eq!(open.count(), 4, "three of /dev/null and the socket");
    // Nor does a child have any of it.
    let listed = output(&zygote, &mut shell("ls /proc/$$/fd"));
    assert_eq!(listed, "0\n1\n2\n");
    let child = zygote.spawn(Command::new("sleep").arg("1000")).unwrap();
    assert!(child.pidfd().try_clone_to_owned().is_ok() && child.as_fd().try_clone_to_owned().is_ok());
}
