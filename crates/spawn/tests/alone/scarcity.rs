//! Exhausted resources: libc's errno, no leak, no zombie.

use std::fs::File;

use spawn::{Child, Command, Error, Rules, Spawner, Stage, Stdio, Zygote};

use crate::Case;
use crate::hygiene::{await_quiet, descriptors, no_children};

pub(crate) const CASES: &[Case] = &[
    ("scarcity_of_descriptors", of_descriptors),
    ("scarcity_of_descriptors_in_a_zygote", of_descriptors_in_a_zygote),
    ("scarcity_of_memory", of_memory),
    ("scarcity_of_processes", of_processes),
];

type Way = fn(&Command) -> Result<Child, Error>;

const WAYS: [Way; 3] = [
    Command::spawn,
    |command| command.start()?.wait(),
    |command| spawner().start(command)?.wait(),
];

/// A thread that was started while there was plenty of everything.
fn spawner() -> &'static Spawner {
    static SPAWNER: std::sync::OnceLock<Spawner> = std::sync::OnceLock::new();
    SPAWNER.get_or_init(|| Spawner::new().unwrap())
}

fn limit(resource: libc::__rlimit_resource_t, value: u64) {
    let limit = libc::rlimit {
        rlim_cur: value,
        rlim_max: libc::RLIM_INFINITY,
    };
    let mut old = limit;
    // SAFETY: one limit is read, one is written.
    unsafe {
        libc::getrlimit(resource, &raw mut old);
        old.rlim_cur = value.min(old.rlim_max);
        assert_eq!(libc::setrlimit(resource, &raw const old), 0);
    }
}

/// Runs with every number of descriptors that are left, from none to plenty.
fn with_few_descriptors(plenty: usize, mut attempt: impl FnMut(usize)) {
    limit(libc::RLIMIT_NOFILE, 64);
    let mut held = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
    }
    for left in 0..plenty {
        attempt(left);
        held.pop();
    }
    drop(held);
    assert!(
        Command::new("true").status().unwrap().success(),
        "all is well again"
    );
}

fn of_descriptors() {
    spawner();
    let mut command = Command::new("true");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::memory());
    for way in WAYS {
        let mut outcomes = [0, 0];
        with_few_descriptors(14, |left| {
            let before = descriptors();
            match way(&command) {
                Ok(mut child) => {
                    assert!(child.wait().unwrap().success());
                    outcomes[0] += 1;
                }
                Err(error) => {
                    assert_eq!(error.errno(), libc::EMFILE, "{left}: {error}");
                    assert!(
                        matches!(error.stage(), Some(Stage::Stream | Stage::Clone)),
                        "{error}"
                    );
                    outcomes[1] += 1;
                }
            }
            assert_eq!(descriptors(), before, "with {left} left");
            no_children();
        });
        assert!(outcomes.iter().all(|count| *count > 2), "{outcomes:?}");
    }
}

fn of_descriptors_in_a_zygote() {
    let zygote = Zygote::start(&Rules::default()).unwrap();
    let mut command = Command::new("true");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut outcomes = [0, 0];
    with_few_descriptors(14, |left| {
        let before = descriptors();
        match zygote.spawn(&command) {
            Ok(mut child) => {
                assert!(child.wait().unwrap().success());
                outcomes[0] += 1;
            }
            Err(error) => {
                assert_eq!(error.errno(), libc::EMFILE, "{left}: {error}");
                outcomes[1] += 1;
            }
        }
        assert_eq!(descriptors(), before, "with {left} left");
    });
    assert!(outcomes.iter().all(|count| *count > 2), "{outcomes:?}");
    assert!(
        zygote
            .spawn(&Command::new("true"))
            .unwrap()
            .wait()
            .unwrap()
            .success()
    );
}

fn of_memory() {
    // Mapping a stack fails: all earlier ones are in use, and no address space is left.
    let sleepers: Vec<_> = (0..3)
        .map(|_| Command::new("sleep").arg("1000").spawn().unwrap())
        .collect();
    drop(sleepers);
    // The thread that reaps them has to end first: its heap counts as address space, and it must not meet the limit.
    await_quiet();
    let size: u64 = std::fs::read_to_string("/proc/self/statm")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let starting: Vec<_> = (0..2).map(|_| Command::new("true").start().unwrap()).collect();
    limit(libc::RLIMIT_AS, size * 4096 + (1 << 20));
    let mut held = Vec::new();
    let mut refused = None;
    // Each that has not been asked holds its stack, so sooner or later one gets none.
    for _ in 0..64 {
        match Command::new("true").start() {
            Ok(starting) => held.push(starting),
            Err(error) => {
                refused = Some((error.stage(), error.errno()));
                break;
            }
        }
    }
    limit(libc::RLIMIT_AS, u64::MAX);
    assert_eq!(refused, Some((Some(Stage::Stack), libc::ENOMEM)));
    for one in starting.into_iter().chain(held) {
        // The limit was the child's too when it began, and a program may die of it; it is told and reaped like any.
        drop(one.wait().map(|mut child| child.wait().unwrap()));
    }
    assert!(Command::new("true").status().unwrap().success());
}

fn of_processes() {
    spawner();
    // SAFETY: takes no memory.
    if unsafe { libc::geteuid() } == 0 {
        // SAFETY: take no memory; no other process has this user.
        unsafe {
            assert_eq!(libc::setresgid(54_400, 54_400, 54_400), 0);
            assert_eq!(libc::setresuid(54_400, 54_400, 54_400), 0);
        }
    }
    limit(libc::RLIMIT_NPROC, 1);
    for way in WAYS {
        let before = descriptors();
        let error = way(&Command::new("true")).unwrap_err();
        assert_eq!((error.stage(), error.errno()), (Some(Stage::Clone), libc::EAGAIN));
        assert_eq!(descriptors(), before);
    }
    assert_eq!(Command::new("true").status().unwrap_err().errno(), libc::EAGAIN);
    spawn::force_legacy_clone(true);
    assert_eq!(Command::new("true").spawn().unwrap_err().errno(), libc::EAGAIN);
    no_children();
}
