//! A spawner: its children do not differ from others.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use spawn::{Capture, Child, Command, PendingChild, Spawner, Stage, Stdio};

use crate::Case;
use crate::hygiene::{await_quiet, descriptors};

pub(crate) const CASES: &[Case] = &[
    ("starter_tells_by_its_descriptor", tells),
    ("starter_keeps_what_a_command_has", keeps),
    ("starter_children_are_scheduled_as_their_parent", scheduling),
    ("starter_takes_no_signals", signals),
    ("starter_lets_the_process_change_its_user", changes_of_user),
    ("starter_of_another_process_refuses", forked),
    ("starter_orders_are_carried_out_or_cancelled", cancelled),
    ("starter_parent_death_comes_when_it_is_dropped", parent_death),
    ("starter_begins_many_at_once", many),
];

/// Waits like an event loop.
fn await_answer(starting: &mut PendingChild) -> Result<Child, spawn::Error> {
    let mut poll = libc::pollfd {
        fd: starting.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, as the count says.
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 60_000) }, 1);
    starting.poll().expect("it is readable, so it is known")
}

fn tells() {
    let spawner = Spawner::new().unwrap();
    for _ in 0..200 {
        let mut starting = spawner.start(&Command::new("true")).unwrap();
        let mut child = await_answer(&mut starting).unwrap();
        assert!(starting.id().is_none() && starting.poll().is_none());
        assert!(child.wait().unwrap().success());
        let mut starting = spawner.start(&Command::new("/no/such")).unwrap();
        let error = await_answer(&mut starting).unwrap_err();
        assert_eq!((error.stage(), error.errno()), (Some(Stage::Exec), libc::ENOENT));
        assert!(starting.poll().is_none());
    }
    // Errors of this process are returned at once.
    let error = spawner
        .start(Command::new("true").stdin(Stdio::read("/no/such")))
        .unwrap_err();
    assert_eq!(
        (error.stage(), error.errno()),
        (Some(Stage::Stream), libc::ENOENT)
    );
}

/// The command, its descriptors and the environment may be gone before the child is made.
fn keeps() {
    let spawner = Spawner::new().unwrap();
    let before = descriptors();
    let starting: Vec<_> = (0..50)
        .map(|number| {
            let (reader, writer) = std::io::pipe().unwrap();
            let mut command = Command::new("sh");
            command
                .args(["-c", "echo $NUMBER >&7"])
                .env("NUMBER", number.to_string())
                .descriptor(7, writer);
            (spawner.start(&command).unwrap(), reader)
        })
        .collect();
    for (number, (starting, mut reader)) in starting.into_iter().enumerate() {
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, format!("{number}\n"));
        assert!(starting.wait().unwrap().wait().unwrap().success());
    }
    assert_eq!(descriptors(), before);
}

/// Priority, niceness and policy, as the kernel tells them of a process.
fn scheduled(stat: &str) -> String {
    // The second field is a name, and may have anything in it.
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    format!("{} {} {}", fields[15], fields[16], fields[38])
}

fn scheduling() {
    let ourselves = || scheduled(&std::fs::read_to_string("/proc/thread-self/stat").unwrap());
    let compare = || {
        let spawner = Spawner::new().unwrap();
        // The second is made when the thread has surely found its way.
        for _ in 0..2 {
            let mut command = Command::new("cat");
            command.arg("/proc/self/stat").stdout(Stdio::piped());
            let child = spawner.start(&command).unwrap().wait().unwrap();
            let output = child.output(&Capture::default()).unwrap().stdout;
            assert_eq!(scheduled(&String::from_utf8(output).unwrap()), ourselves());
        }
    };
    let set = |policy| {
        let none = libc::sched_param { sched_priority: 0 };
        // SAFETY: one structure is read.
        assert_eq!(unsafe { libc::sched_setscheduler(0, policy, &raw const none) }, 0);
    };
    set(libc::SCHED_OTHER);
    compare();
    // SAFETY: takes no memory.
    assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 15) }, 0);
    compare();
    // Children inherit a policy that the caller has chosen.
    for policy in [libc::SCHED_BATCH, libc::SCHED_IDLE] {
        set(policy);
        assert!(ourselves().ends_with(&policy.to_string()));
        compare();
    }
}

/// Of the only other thread of this process.
fn blocked_by_thread() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let texts = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    let text = texts
        .into_iter()
        .find(|text| text.contains("spawn-spawner"))
        .unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:\t"))
        .unwrap();
    u64::from_str_radix(line, 16).unwrap()
}

fn signals() {
    let mask = || {
        // SAFETY: the set is written by the call.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut set);
            (1..65)
                .filter(|signal| libc::sigismember(&raw const set, *signal) == 1)
                .count()
        }
    };
    let before = mask();
    let spawner = Spawner::new().unwrap();
    assert_eq!(mask(), before);
    // When it has made one, it is past its beginning.
    assert!(
        spawner
            .start(&Command::new("true"))
            .unwrap()
            .wait()
            .unwrap()
            .wait()
            .unwrap()
            .success()
    );
    let handled = !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1));
    // Libc keeps 32 and 33 for itself, and sends them to every thread when the user changes.
    let of_libc = 1 << 31 | 1 << 32;
    assert_eq!(blocked_by_thread() & handled, handled & !of_libc);
}

fn changes_of_user() {
    let spawner = Spawner::new().unwrap();
    // SAFETY: takes no memory.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    // SAFETY: take no memory; no other process has this user. Libc applies it to all threads.
    unsafe {
        assert_eq!(libc::setresgid(54_401, 54_401, 54_401), 0);
        assert_eq!(libc::setresuid(54_401, 54_401, 54_401), 0);
    }
    let mut command = Command::new("id");
    command.arg("-u").stdout(Stdio::piped());
    let child = spawner.start(&command).unwrap().wait().unwrap();
    assert_eq!(child.output(&Capture::default()).unwrap().stdout, b"54401\n");
}

fn forked() {
    let spawner = Spawner::new().unwrap();
    // SAFETY: the child only does what follows, and allocates no more than glibc lets it after a fork.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = spawner.start(&Command::new("true")).map(drop).unwrap_err();
        let right = (refused.stage(), refused.errno()) == (Some(Stage::Spawner), libc::ESRCH);
        let mine = Spawner::new()
            .unwrap()
            .start(&Command::new("true"))
            .unwrap()
            .wait();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!right || mine.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the kernel writes one status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(spawner.start(&Command::new("true")).unwrap().wait().is_ok());
}

fn cancelled() {
    let before = descriptors();
    let spawner = Spawner::new().unwrap();
    for _ in 0..300 {
        drop(spawner.start(Command::new("sleep").arg("1000")).unwrap());
    }
    // Orders outlive the spawner: they are carried out.
    let last = spawner.start(Command::new("sleep").arg("1000")).unwrap();
    drop(spawner);
    let mut child = last.wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(child);
    await_quiet();
    assert_eq!(descriptors(), before);
}

fn parent_death() {
    let spawner = Spawner::new().unwrap();
    let mut command = Command::new("sleep");
    command.arg("1000").parent_death_signal(libc::SIGKILL);
    let mut child = spawner.start(&command).unwrap().wait().unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(spawner);
    let began = Instant::now();
    let ended = child.wait_timeout(Duration::from_secs(60)).unwrap();
    assert!(ended.is_some(), "nobody told it for {:?}", began.elapsed());
}

fn many() {
    let spawner = Spawner::new().unwrap();
    let starting: Vec<_> = (0..100)
        .map(|number| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exit {number}")]);
            spawner.start(&command).unwrap()
        })
        .collect();
    for (number, one) in starting.into_iter().enumerate() {
        let status = one.wait().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(number as i32));
    }
}
