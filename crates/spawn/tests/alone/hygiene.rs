//! Processes leave nothing behind, whatever the rest of this process does meanwhile.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use spawn::{Command, Error, SignalSet, Spawner, Stdio};

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    ("hygiene_thousands_of_processes_leave_nothing", thousands),
    ("hygiene_threads_race", threads_race),
    ("hygiene_a_handler_that_reaps", reaping_handler),
    ("hygiene_children_that_nobody_waits_for", ignored_children),
    ("hygiene_failures_raise_no_signal", silent_failures),
    ("hygiene_masks_of_the_parent_stay", masks_stay),
    ("hygiene_the_parent_dies", parent_dies),
    ("hygiene_standard_streams_are_closed", closed_streams),
    ("hygiene_descriptors_of_others_are_not_touched", others_stay),
    ("hygiene_dropped_before_it_is_known", dropped_early),
];

/// Open descriptors of this process.
pub(crate) fn descriptors() -> Vec<i32> {
    // SAFETY: takes no memory.
    let is_open = |fd: &i32| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0;
    (0..1024).filter(is_open).collect()
}

pub(crate) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Asserts that this process has no child, not even a dead one.
pub(crate) fn no_children() {
    // SAFETY: takes no memory.
    let answer = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    let error = std::io::Error::last_os_error();
    assert_eq!((answer, error.raw_os_error()), (-1, Some(libc::ECHILD)));
}

/// Waits until this process has one thread and no child: what was dropped is reaped in its own time.
pub(crate) fn await_quiet() {
    let deadline = Instant::now() + Duration::from_secs(60);
    while threads() > 1 {
        assert!(
            Instant::now() < deadline,
            "the reaper ends when it has nothing to do"
        );
        std::thread::yield_now();
    }
    no_children();
}

/// How many processes; the long run says it by this variable.
fn count() -> usize {
    let said = std::env::var("SPAWN_COUNT").ok();
    said.map_or(2000, |text| text.parse().expect("SPAWN_COUNT is a number"))
}

/// One of every kind of end that a process can come to.
fn one(spawner: &Spawner, index: usize) {
    let mut command = Command::new("/bin/true");
    match index % 14 {
        0 => assert!(command.spawn().unwrap().wait().unwrap().success()),
        1 => assert!(command.start().unwrap().wait().unwrap().wait().unwrap().success()),
        2 => assert!(command.output().unwrap().stdout.is_empty()),
        3 => drop(command.stdin(Stdio::piped()).spawn().unwrap()),
        4 => command.spawn().unwrap().detach(),
        5 => drop(command.start().unwrap()),
        6 => drop(Command::new("/no/such").spawn().unwrap_err()),
        7 => assert!(
            spawner
                .start(&command)
                .unwrap()
                .wait()
                .unwrap()
                .wait()
                .unwrap()
                .success()
        ),
        8 => drop(spawner.start(&command).unwrap()),
        9 => drop(spawner.start(&Command::new("/no/such")).unwrap()),
        10 => drop(
            spawner
                .start(&Command::new("/no/such"))
                .unwrap()
                .wait()
                .unwrap_err(),
        ),
        _ => drop(Command::new("/no/such").start().unwrap().wait().unwrap_err()),
    }
}

fn thousands() {
    // The first allocates what is kept.
    let some = |count: usize| {
        let spawner = Spawner::new().unwrap();
        (0..count).for_each(|index| one(&spawner, index));
        drop(spawner);
        await_quiet();
    };
    some(24);
    let (before, mapped) = (descriptors(), mappings());
    some(count());
    assert_eq!(descriptors(), before);
    assert!(mappings() <= mapped + 24, "stacks are kept, but few");
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

fn threads_race() {
    let before = descriptors();
    let stop = AtomicBool::new(false);
    let spawner = Spawner::new().unwrap();
    let shared_spawner = &spawner;
    std::thread::scope(|scope| {
        // Others open and close descriptors, fork, and send signals all the while.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(std::fs::File::open("/dev/null"));
                drop(std::process::Command::new("/bin/true").status());
            }
        });
        let racers: Vec<_> = (0..8)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..60 {
                        let said = format!("{thread} {round}");
                        let output = Command::new("/bin/echo").arg(&said).output().unwrap();
                        assert_eq!(output.stdout, format!("{said}\n").into_bytes());
                        one(shared_spawner, thread + round);
                    }
                })
            })
            .collect();
        racers.into_iter().for_each(|racer| racer.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    drop(spawner);
    await_quiet();
    assert_eq!(descriptors(), before);
}

static REAPED: AtomicU32 = AtomicU32::new(0);

extern "C" fn reap_all(_: libc::c_int) {
    // SAFETY: async-signal-safe, takes no memory.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {
        REAPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn handle(signal: i32, handler: libc::sighandler_t) {
    // SAFETY: the handlers here only make system calls and count.
    unsafe { libc::signal(signal, handler) };
}

/// Returns whether the kernel provides the status of a process that other code has reaped: Linux 6.15 and later.
fn tells_after_all() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

fn expect_status(code: i32) {
    let mut command = Command::new("/bin/sh");
    let waited = command.args(["-c", &format!("exit {code}")]).status();
    match waited {
        Ok(status) => assert_eq!(status.code(), Some(code)),
        Err(error) => {
            assert!(
                matches!(error, Error::StatusTaken { .. }) && !tells_after_all(),
                "{error}"
            );
            assert_eq!(error.errno(), libc::ECHILD);
        }
    }
}

fn reaping_handler() {
    handle(libc::SIGCHLD, reap_all as *const () as libc::sighandler_t);
    for code in 0..100 {
        expect_status(code);
        for how in [
            |command: &Command| command.spawn().map(drop),
            |command: &Command| command.status().map(drop),
        ] {
            let error = how(&Command::new("/no/such")).unwrap_err();
            assert_eq!(error.errno(), libc::ENOENT, "a failure is ours, whoever reaps");
        }
    }
    let output = Command::new("echo").arg("x").output();
    assert!(output.is_ok() || !tells_after_all());
    no_children();
}

fn ignored_children() {
    handle(libc::SIGCHLD, libc::SIG_IGN);
    for code in 0..50 {
        expect_status(code);
        assert_eq!(
            Command::new("/no/such").spawn().unwrap_err().errno(),
            libc::ENOENT
        );
        drop(Command::new("sleep").arg("1000").spawn().unwrap());
    }
    await_quiet();
}

fn silent_failures() {
    handle(libc::SIGCHLD, reap_all as *const () as libc::sighandler_t);
    for _ in 0..20 {
        Command::new("/no/such").spawn().unwrap_err();
        Command::new("/no/such").status().unwrap_err();
        Command::new("/no/such").start().unwrap().wait().unwrap_err();
    }
    await_quiet();
    assert_eq!(
        REAPED.load(Ordering::Relaxed),
        0,
        "no child that never was is seen by a handler"
    );
}

fn masks_stay() {
    let mask = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:\t"))
            .unwrap()
            .to_owned();
        u64::from_str_radix(&line, 16).unwrap()
    };
    // SAFETY: the sets live through the calls.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR2);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
    let ours = SignalSet::EMPTY.with(libc::SIGUSR2).bits();
    for program in ["/bin/true", "/no/such"] {
        drop(Command::new(program).spawn().map(|mut child| child.wait()));
        drop(
            Command::new(program)
                .start()
                .unwrap()
                .wait()
                .map(|mut child| child.wait()),
        );
        assert_eq!(mask(), ours);
    }
    let mut command = Command::new("cat");
    let output = command
        .arg("/proc/self/status")
        .inherit_signal_mask()
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("SigBlk:\t{ours:016x}")), "{text}");
}

/// Forks a parent that starts a child and dies, and waits until the child has died too.
fn outlive(start: impl FnOnce(Command)) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: there is one thread.
    let parent = unsafe { libc::fork() };
    if parent == 0 {
        let mut command = Command::new("sleep");
        command
            .arg("1000")
            .stdout(writer)
            .parent_death_signal(libc::SIGKILL);
        start(command);
        // SAFETY: ends the parent, at whatever its child is doing.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    // The sleeper is the last that has the pipe open.
    let mut nothing = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut nothing).unwrap();
    // SAFETY: takes no memory.
    unsafe { libc::waitpid(parent, std::ptr::null_mut(), 0) };
}

/// The child of a parent that dies is told, also when it has become another user, and also when that was before it asked.
fn parent_dies() {
    outlive(|command| std::mem::forget(command.spawn().unwrap()));
    for _ in 0..50 {
        outlive(|command| std::mem::forget(command.start().unwrap()));
    }
    // SAFETY: takes no memory.
    if unsafe { libc::geteuid() } == 0 {
        outlive(|mut command| std::mem::forget(command.user(54_321).spawn().unwrap()));
    }
}

fn closed_streams() {
    let others: Vec<i32> = descriptors().into_iter().filter(|fd| *fd > 2).collect();
    // SAFETY: nothing here uses the standard streams from now on.
    (0..3).for_each(|standard| assert_eq!(unsafe { libc::close(standard) }, 0));
    let script = "[ -e /proc/$$/fd/0 ] || [ -e /proc/$$/fd/2 ] || echo closed";
    let mut command = Command::new("/bin/sh");
    // Our own pipe would take a standard stream's number, were it not kept from it.
    command.args(["-c", script]).stdout(Stdio::piped());
    for start in [false, true] {
        let child = if start {
            command.start().unwrap().wait()
        } else {
            command.spawn()
        };
        let output = child.unwrap().output(&spawn::Capture::default()).unwrap();
        assert_eq!(output.stdout, b"closed\n");
    }
    assert_eq!(descriptors(), others);
}

fn dropped_early() {
    let before = descriptors();
    for _ in 0..200 {
        drop(Command::new("sleep").arg("1000").start().unwrap());
    }
    await_quiet();
    assert_eq!(descriptors(), before);
    let mut child = Command::new("sleep").arg("1000").start().unwrap().wait().unwrap();
    assert_eq!(
        child.terminate(Duration::from_secs(60)).unwrap().signal(),
        Some(libc::SIGTERM)
    );
}

/// A child that shares our descriptors for a moment leaves them as they are.
fn others_stay() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: takes no memory; the number is unused.
    let high = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&writer), 300) };
    assert_eq!(high, 300);
    let before = descriptors();
    for round in 0..200 {
        let mut command = Command::new("sh");
        // To numbers that are ours as well, and in a ring.
        command
            .args(["-c", "echo x >&5"])
            .descriptor(3, writer.try_clone().unwrap())
            .descriptor(4, Stdio::null())
            .descriptor(5, writer.try_clone().unwrap());
        if round % 2 == 0 {
            assert!(command.status().unwrap().success());
        } else {
            assert!(command.spawn().unwrap().wait().unwrap().success());
        }
        drop(command);
        let mut said = [0; 2];
        std::io::Read::read_exact(&mut reader, &mut said).unwrap();
        assert_eq!(&said, b"x\n");
        assert_eq!(descriptors(), before);
    }
}
