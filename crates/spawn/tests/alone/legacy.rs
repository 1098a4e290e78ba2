//! Kernels without `clone3`, and filters that refuse it, give the same results.

use spawn::{Child, Command, Error, Rules, Spawner, Stage, Stdio, Zygote};

use crate::hygiene::{descriptors, no_children};
use crate::{Case, checks};

pub(crate) const CASES: &[Case] = &[
    ("legacy_every_option_holds_without_clone3", without_clone3),
    (
        "legacy_every_option_holds_where_a_filter_forbids_clone3",
        forbidden_clone3,
    ),
    ("legacy_every_option_holds_where_no_memory_is_shared", copied),
    ("legacy_handlers_do_not_run_in_the_child", handlers),
    (
        "legacy_other_descriptors_close_without_close_range",
        without_close_range,
    ),
    ("zygote_every_option_holds", by_zygote),
];

fn start(command: &Command) -> Result<Child, Error> {
    command.start()?.wait()
}

fn check_all(spawner: Option<&Spawner>) {
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&Command::spawn);
        check(&start);
        if let Some(spawner) = spawner {
            check(&|command| spawner.start(command)?.wait());
        }
    }
}

fn without_clone3() {
    // The error of kernels before 5.3.
    crate::filter::refuse(&[libc::SYS_clone3], libc::ENOSYS);
    // Made now, its thread has the filter too.
    check_all(Some(&Spawner::new().unwrap()));
}

fn forbidden_clone3() {
    // Filters of old container runtimes answer with either.
    crate::filter::refuse(&[libc::SYS_clone3], libc::EPERM);
    // The filter is for ever, and forbids set-user-ID programs; no check uses any.
    // With this error glibc cannot start a thread, so there is no spawner.
    assert_eq!(Spawner::new().unwrap_err().errno(), libc::EPERM);
    check_all(None);
}

fn copied() {
    // The error of user-mode emulators.
    crate::filter::refuse(&[libc::SYS_clone3], libc::ENOSYS);
    crate::filter::refuse_flag(libc::SYS_clone, libc::CLONE_PIDFD, libc::EINVAL);
    let before = descriptors();
    check_all(Some(&Spawner::new().unwrap()));
    // Below a descriptor's number of the child's, and at it.
    for target in before.len() as i32..before.len() as i32 + 6 {
        let mut command = Command::new("/no/such");
        let error = command.descriptor(target, Stdio::null()).status().unwrap_err();
        assert_eq!((error.stage(), error.errno()), (Some(Stage::Exec), libc::ENOENT));
    }
    assert_eq!(descriptors(), before);
    no_children();
}

fn handlers() {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    extern "C" fn count(_: libc::c_int) {
        COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    spawn::force_legacy_clone(true);
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGUSR1, count as *const () as libc::sighandler_t) };
    let script = "grep SigCgt /proc/$$/status; kill -USR1 $$";
    for how in [Command::spawn as fn(&Command) -> Result<Child, Error>, start] {
        let mut command = Command::new("/bin/sh");
        let child = how(command.args(["-c", script]).stdout(spawn::Stdio::piped())).unwrap();
        let output = child.output(&spawn::Capture::default()).unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(libc::SIGUSR1));
    }
    assert_eq!(COUNT.load(std::sync::atomic::Ordering::Relaxed), 0);
}

fn without_close_range() {
    crate::filter::refuse(&[libc::SYS_close_range], libc::ENOSYS);
    let many: Vec<_> = (0..100)
        .map(|_| std::fs::File::open("/dev/null").unwrap())
        .collect();
    for file in &many {
        // SAFETY: takes no memory; without the flag they would be inherited.
        unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(file), libc::F_SETFD, 0) };
    }
    check_all(Some(&Spawner::new().unwrap()));
}

fn by_zygote() {
    let zygote = Zygote::start(&Rules::default()).unwrap();
    for (name, check) in checks::ALL {
        println!("{name}");
        check(&|command| zygote.spawn(command));
    }
}
