//! The effect of each option, observed within a real child. Every way of starting a process has to pass all checks.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use spawn::{
    Capabilities, Capture, Child, Command, End, Error, Resource, SignalSet, Stage, Stdio, UNLIMITED,
};

/// A way to start a process.
pub(crate) type How<'a> = &'a dyn Fn(&Command) -> Result<Child, Error>;

/// A check and its name.
type Check = (&'static str, fn(How<'_>));

/// All of them.
pub(crate) const ALL: &[Check] = &[
    ("arguments", arguments),
    ("environment", environment),
    ("search", search),
    ("scripts", scripts),
    ("directory", directory),
    ("files", files),
    ("descriptor_map", descriptor_map),
    ("others_closed", others_closed),
    ("closed_streams", closed_streams),
    ("memory", memory),
    ("umask_and_nice", umask_and_nice),
    ("limits", limits),
    ("users", users),
    ("capabilities", capabilities),
    ("groups_and_sessions", groups_and_sessions),
    ("terminal", terminal),
    ("signals", signals),
    ("cgroup", cgroup),
    ("failures", failures),
    ("bad_strings", bad_strings),
    ("statuses", statuses),
];

fn is_root() -> bool {
    // SAFETY: takes no memory.
    unsafe { libc::geteuid() == 0 }
}

/// A directory of our own, removed in the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hikyaku-spawn-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        // Children of other users go there too.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Scratch(path)
    }

    pub(crate) fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn output(how: How<'_>, command: &mut Command) -> String {
    let child = how(command.stdout(Stdio::piped())).unwrap();
    let output = child.output(&Capture::default()).unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A line of the child's own `/proc/self/status`.
fn status_line(how: How<'_>, command: &mut Command, name: &str) -> String {
    let text = output(how, command.arg("/proc/self/status"));
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().to_owned()
}

fn refused(how: How<'_>, command: &Command) -> (Option<Stage>, i32) {
    let error = how(command).unwrap_err();
    (error.stage(), error.errno())
}

fn arguments(how: How<'_>) {
    let script = "for a; do printf '[%s]' \"$a\"; done";
    let mut command = shell(script);
    command.args(["sh", "", "a b", "*", "\u{98db}"]);
    assert_eq!(output(how, &mut command), "[][a b][*][\u{98db}]");
    let mut command = Command::new("/bin/cat");
    command.arg0("other").arg("/proc/self/cmdline");
    assert_eq!(output(how, &mut command), "other\0/proc/self/cmdline\0");
    // Near the most that one argument may have.
    let long = "x".repeat(131_071);
    assert_eq!(
        output(how, shell("printf %s \"$1\" | wc -c").arg("sh").arg(&long)).trim(),
        "131071"
    );
}

fn environment(how: How<'_>) {
    let mut command = Command::new("/usr/bin/env");
    command
        .env_clear()
        .env("B", "2")
        .env("A", "1")
        .env("B", "3")
        .env_remove("A");
    assert_eq!(output(how, &mut command), "B=3\n");
    let inherited = output(how, &mut Command::new("/usr/bin/env"));
    let ours: Vec<String> = std::env::vars()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert!(
        ours.iter()
            .filter(|one| !one.contains('\n'))
            .all(|one| inherited.contains(one))
    );
    let changed = output(
        how,
        Command::new("/usr/bin/env")
            .env("PATH", "/nowhere")
            .env("X_Y", ""),
    );
    assert!(changed.contains("PATH=/nowhere\n") && changed.contains("X_Y=\n"));
}

fn search(how: How<'_>) {
    let scratch = Scratch::new();
    let (first, second) = (scratch.0.join("first"), scratch.0.join("second"));
    fs::create_dir(&first).unwrap();
    fs::create_dir(&second).unwrap();
    for directory in [&first, &second] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", first.display(), second.display());
    let mut tool = Command::new("hikyaku-tool");
    tool.env("PATH", &path);
    assert_eq!(refused(how, &tool), (Some(Stage::Exec), libc::ENOENT));
    // A candidate without permission is skipped, and reported only if there is no other.
    scratch.file("first/hikyaku-tool", "#!/bin/sh\necho first", 0o644);
    assert_eq!(refused(how, &tool), (Some(Stage::Exec), libc::EACCES));
    scratch.file("second/hikyaku-tool", "#!/bin/sh\necho second", 0o755);
    assert_eq!(output(how, &mut tool), "second\n");
    // An empty element is the working directory, which is the child's.
    let mut here = Command::new("hikyaku-tool");
    here.env("PATH", "/nowhere::").current_dir(&second);
    assert_eq!(output(how, &mut here), "second\n");
    let mut relative = Command::new("./hikyaku-tool");
    assert_eq!(output(how, relative.current_dir(&second)), "second\n");
    // Without `PATH` there is the default one, and an empty name is nowhere.
    assert_eq!(output(how, Command::new("echo").env_clear().arg("x")), "x\n");
    assert_eq!(refused(how, &Command::new("")), (Some(Stage::Exec), libc::ENOENT));
    assert_eq!(
        refused(how, &Command::new("/etc/passwd/x")),
        (Some(Stage::Exec), libc::ENOTDIR)
    );
    assert_eq!(
        refused(how, &Command::new("/")),
        (Some(Stage::Exec), libc::EACCES)
    );
    let long = format!("/{}", "x".repeat(5000));
    assert_eq!(
        refused(how, &Command::new(long)),
        (Some(Stage::Exec), libc::ENAMETOOLONG)
    );
}

fn scripts(how: How<'_>) {
    let scratch = Scratch::new();
    let script = scratch.file("script", "echo \"$0\" \"$@\"", 0o755);
    let mut command = Command::new(&script);
    command.args(["a", "b c"]).arg0("ignored");
    assert_eq!(output(how, &mut command), format!("{} a b c\n", script.display()));
    let mut found = Command::new("script");
    found.env("PATH", format!("/nowhere:{}:/bin", scratch.0.display()));
    assert_eq!(output(how, &mut found), format!("{}\n", script.display()));
    assert_eq!(
        refused(how, found.shell_scripts(false)),
        (Some(Stage::Exec), libc::ENOEXEC)
    );
    let bad = scratch.file("bad", "#!/no/such/interpreter\n", 0o755);
    assert_eq!(
        refused(how, &Command::new(bad)),
        (Some(Stage::Exec), libc::ENOENT)
    );
}

fn directory(how: How<'_>) {
    let scratch = Scratch::new();
    let path = scratch.0.canonicalize().unwrap();
    assert_eq!(
        output(how, shell("pwd -P").current_dir(&path)),
        format!("{}\n", path.display())
    );
    let error = how(Command::new("true").current_dir("/no/such")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start `true`: changing to the directory `/no/such`: No such file or directory (os error 2)"
    );
    let file = refused(how, Command::new("true").current_dir("/etc/passwd"));
    assert_eq!(file, (Some(Stage::Directory), libc::ENOTDIR));
}

fn files(how: How<'_>) {
    let scratch = Scratch::new();
    let (from, to) = (scratch.file("from", "a line\n", 0o644), scratch.0.join("to"));
    let mut copy = Command::new("cat");
    copy.stdin(Stdio::read(&from)).stdout(Stdio::write(&to));
    for _ in 0..2 {
        assert!(how(&copy).unwrap().wait().unwrap().success());
        assert_eq!(fs::read(&to).unwrap(), b"a line\n");
    }
    copy.stdout(Stdio::append(&to));
    assert!(how(&copy).unwrap().wait().unwrap().success());
    assert_eq!(fs::read(&to).unwrap(), b"a line\na line\n");
    copy.stdin(File::open(&from).unwrap()).stdout(Stdio::null());
    assert!(how(&copy).unwrap().wait().unwrap().success());
    let missing = refused(how, copy.stdin(Stdio::read("/no/such")));
    assert_eq!(missing, (Some(Stage::Stream), libc::ENOENT));
    // Both streams in one pipe, in the order of the writes.
    let mut both = shell("echo out; echo err >&2; echo out");
    let text = output(how, both.stderr(Stdio::same_as(1)));
    assert_eq!(text, "out\nerr\nout\n");
    let nothing = refused(how, both.stderr(Stdio::same_as(9)));
    assert_eq!(nothing, (Some(Stage::Stream), libc::EBADF));
    assert_eq!(refused(how, both.descriptor(-1, Stdio::null())).1, libc::EBADF);
}

fn contents(text: &str) -> OwnedFd {
    let scratch = Scratch::new();
    File::open(scratch.file("file", text, 0o644)).unwrap().into()
}

/// A copy of a descriptor at just this number.
fn at(number: i32, fd: &OwnedFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: takes no memory; nothing here uses the number, which is owned from now on.
    unsafe {
        assert_eq!(libc::dup3(fd.as_raw_fd(), number, libc::O_CLOEXEC), number);
        OwnedFd::from_raw_fd(number)
    }
}

fn descriptor_map(how: How<'_>) {
    // Three that change mappings in a ring, one that is a copy, and one of another kind; all in one map.
    let [a, b, c] = ["a", "b", "c"].map(contents);
    let mut command = Command::new("cat");
    command.args((200..205).map(|number| format!("/dev/fd/{number}")));
    command
        .descriptor(201, at(200, &a))
        .descriptor(202, at(201, &b))
        .descriptor(200, at(202, &c))
        .descriptor(203, Stdio::same_as(201))
        .descriptor(204, Stdio::bytes("e"));
    assert_eq!(output(how, &mut command), "cabae");
    let mut gone = Command::new("true");
    gone.descriptor(1_000_000_000, Stdio::null());
    assert_eq!(refused(how, &gone), (Some(Stage::Descriptor), libc::EBADF));
}

/// Prints which of the first descriptors the shell has.
const DESCRIPTORS: &str =
    "n=0; while [ $n -lt 40 ]; do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; n=$((n + 1)); done; :";

fn others_closed(how: How<'_>) {
    let open = File::open("/dev/null").unwrap();
    // SAFETY: takes no memory; without the flag it would be inherited.
    unsafe { assert_eq!(libc::fcntl(open.as_raw_fd(), libc::F_SETFD, 0), 0) };
    assert_eq!(output(how, &mut shell(DESCRIPTORS)), "0 1 2 ");
    let mut command = shell(DESCRIPTORS);
    command.descriptor(5, Stdio::null()).descriptor(9, Stdio::null());
    assert_eq!(output(how, &mut command), "0 1 2 5 9 ");
}

fn closed_streams(how: How<'_>) {
    let mut command = shell(DESCRIPTORS);
    command.stdin(Stdio::closed()).stderr(Stdio::closed());
    assert_eq!(output(how, &mut command), "1 ");
    assert_eq!(output(how, command.stdin(Stdio::null())), "0 1 ");
}

fn memory(how: How<'_>) {
    let mut command = Command::new("tee");
    command.arg("/dev/fd/7").descriptor(7, Stdio::memory());
    command
        .stdin(Stdio::bytes("many words ".repeat(20_000)))
        .stdout(Stdio::memory());
    let mut child = how(&command).unwrap();
    assert!(child.wait().unwrap().success());
    for target in [1, 7] {
        let Some(End::Memory(mut file)) = child.take(target) else {
            panic!("it is a file in memory")
        };
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text.len(), 220_000);
    }
    assert!(child.take(1).is_none());
}

fn umask_and_nice(how: How<'_>) {
    assert_eq!(
        output(how, shell("umask").umask(0o123)).trim_start_matches('0'),
        "123\n"
    );
    assert_eq!(output(how, Command::new("nice").nice(19)), "19\n");
}

fn limits(how: How<'_>) {
    let mut command = shell("ulimit -Sn; ulimit -Hn; ulimit -c");
    command
        .limit(Resource::OPEN_FILES, 40, 50)
        .limit(Resource::CORE, 0, 0);
    assert_eq!(output(how, &mut command), "40\n50\n0\n");
    // Descriptors beyond a limit that the child is to have are placed before it has it.
    let mut beyond = shell("cat /dev/fd/100; ulimit -Sn");
    beyond
        .descriptor(100, Stdio::bytes("x"))
        .limit(Resource::OPEN_FILES, 10, 10);
    assert_eq!(output(how, &mut beyond), "x10\n");
    let wrong = refused(how, Command::new("true").limit(Resource::CORE, 2, 1));
    assert_eq!(wrong, (Some(Stage::Limit), libc::EINVAL));
    let error = how(Command::new("true").limit(Resource::CORE, 2, 1)).unwrap_err();
    assert!(
        error.to_string().contains("setting limit RLIMIT_CORE:"),
        "{error}"
    );
    if !is_root() {
        return;
    }
    assert_eq!(
        output(how, shell("ulimit -n").limit(Resource::CPU, UNLIMITED, UNLIMITED))
            .lines()
            .count(),
        1
    );
    // The kernel counts the processes that the user has already, and lets `execve` fail for one too many.
    let _first = how(Command::new("sleep").arg("1000").user(54_321)).unwrap();
    let mut many = Command::new("true");
    many.user(54_321).limit(Resource::PROCESSES, 0, 0);
    assert_eq!(refused(how, &many), (Some(Stage::Exec), libc::EAGAIN));
}

fn users(how: How<'_>) {
    if !is_root() {
        let (stage, errno) = refused(how, Command::new("true").user(0));
        assert_eq!((stage, errno), (Some(Stage::User), libc::EPERM));
        return;
    }
    // SAFETY: takes no memory.
    let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE) };
    let before = dumpable();
    let mut command = shell("id -ru; id -u; id -rg; id -g; id -G");
    command.user(54_321).group(54_322);
    assert_eq!(output(how, &mut command), "54321\n54321\n54322\n54322\n54322\n");
    command.groups(&[54_323, 54_324]);
    let text = output(how, &mut command);
    assert!(text.ends_with("54322 54323 54324\n"), "{text}");
    assert_eq!(
        status_line(how, Command::new("cat").user(54_321), "Uid"),
        "54321\t54321\t54321\t54321"
    );
    // The directory is entered as the user.
    let scratch = Scratch::new();
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o700)).unwrap();
    let mut closed = Command::new("true");
    closed.user(54_321).current_dir(&scratch.0);
    assert_eq!(refused(how, &closed), (Some(Stage::Directory), libc::EACCES));
    // Memory is shared with a child that changes its rights, and yet ours stay what they were.
    assert_eq!(dumpable(), before);
    let unreadable = scratch.file("unreadable", "#!/bin/sh\n", 0o700);
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).unwrap();
    let mut other = Command::new(unreadable);
    assert_eq!(
        refused(how, other.user(54_321)),
        (Some(Stage::Exec), libc::EACCES)
    );
}

fn capabilities(how: How<'_>) {
    let nothing = status_line(how, Command::new("cat").no_new_privileges(), "NoNewPrivs");
    assert_eq!(nothing, "1");
    if !is_root() {
        return;
    }
    let set = Capabilities::NET_BIND_SERVICE.with(Capabilities::CHECKPOINT_RESTORE);
    let bits = format!("{:016x}", set.bits());
    for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let mut command = Command::new("cat");
        command.user(54_321).ambient_capabilities(set).no_new_privileges();
        assert_eq!(status_line(how, &mut command, name), bits, "{name}");
    }
    let mut none = Command::new("cat");
    assert_eq!(
        status_line(how, none.user(54_321), "CapPrm"),
        format!("{:016x}", 0)
    );
    let mut root = Command::new("cat");
    assert_eq!(status_line(how, root.ambient_capabilities(set), "CapAmb"), bits);
    let unknown = Capabilities::from_bits(1 << 63);
    let (stage, _) = refused(how, Command::new("true").ambient_capabilities(unknown));
    assert_eq!(stage, Some(Stage::Capabilities));
}

fn groups_and_sessions(how: How<'_>) {
    // Number, parent, group and session, as the child's own `stat` has them.
    let fields = |command: &mut Command| -> Vec<i32> {
        let text = output(how, command.arg("/proc/self/stat"));
        let rest = &text[text.rfind(')').unwrap() + 2..];
        let pid = text.split(' ').next().unwrap();
        [pid]
            .into_iter()
            .chain(rest.split(' ').skip(2).take(2))
            .map(|one| one.parse().unwrap())
            .collect()
    };
    // SAFETY: take no memory.
    let (group, session) = unsafe { (libc::getpgrp(), libc::getsid(0)) };
    let same = fields(&mut Command::new("cat"));
    assert_eq!(same[1..], [group, session]);
    let own = fields(Command::new("cat").process_group(0));
    assert_eq!(own[1..], [own[0], session]);
    let led = fields(Command::new("cat").new_session());
    assert_eq!(led[1..], [led[0], led[0]]);
    let (stage, errno) = refused(how, Command::new("true").process_group(1));
    assert_eq!((stage, errno), (Some(Stage::ProcessGroup), libc::EPERM));
}

fn terminal(how: How<'_>) {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: two numbers are written; the other pointers may be null.
    unsafe {
        assert_eq!(
            libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()),
            0
        )
    };
    use std::os::fd::FromRawFd;
    // SAFETY: both are new.
    let (_ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut command = shell("ps -o tty= -p $$ 2>/dev/null || cut -d ' ' -f 7 /proc/$$/stat");
    command.stdin(theirs).controlling_terminal(0);
    let text = output(how, &mut command);
    assert!(!matches!(text.trim(), "?" | "0" | ""), "{text:?}");
    let mut file = shell("exit 0");
    file.stdin(Stdio::null()).controlling_terminal(0);
    assert_eq!(refused(how, &file), (Some(Stage::Terminal), libc::ENOTTY));
}

fn signals(how: How<'_>) {
    let line = |command: &mut Command, name: &str| {
        let text = status_line(how, command, name);
        u64::from_str_radix(&text, 16).unwrap()
    };
    let bit = |signal: i32| 1_u64 << (signal - 1);
    assert_eq!(line(&mut Command::new("cat"), "SigBlk"), 0);
    let mask = SignalSet::EMPTY.with(libc::SIGUSR1).with(64);
    assert_eq!(line(Command::new("cat").signal_mask(mask), "SigBlk"), mask.bits());
    // Rust programs ignore SIGPIPE; what they start does not.
    assert_eq!(line(&mut Command::new("cat"), "SigIgn") & bit(libc::SIGPIPE), 0);
    let mut kept = Command::new("cat");
    kept.default_signals(SignalSet::EMPTY);
    assert_ne!(line(&mut kept, "SigIgn") & bit(libc::SIGPIPE), 0);
    let mut ignoring = Command::new("cat");
    ignoring.ignore_signals(SignalSet::ALL);
    let all = !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
    assert_eq!(line(&mut ignoring, "SigIgn"), all);
    let mut defaults = Command::new("cat");
    assert_eq!(line(defaults.default_signals(SignalSet::ALL), "SigIgn"), 0);
    assert_eq!(line(&mut defaults, "SigCgt"), 0);
}

fn cgroup(how: How<'_>) {
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let is_second = |root: &&&str| fs::metadata(format!("{root}/cgroup.procs")).is_ok();
    let Some(root) = roots.iter().find(is_second).filter(|_| is_root()) else {
        return;
    };
    let name = format!(
        "hikyaku-spawn-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let name = name.replace(['(', ')'], "");
    let path = PathBuf::from(format!("{root}/{name}"));
    fs::create_dir(&path).unwrap();
    let mut command = Command::new("cat");
    command
        .arg("/proc/self/cgroup")
        .cgroup(File::open(&path).unwrap());
    let text = output(how, command.user(54_321));
    assert!(text.contains(&name), "{text}");
    // The kernel lets go of the group a moment after the child has ended.
    while fs::remove_dir(&path).is_err() {
        std::thread::yield_now();
    }
    let mut wrong = Command::new("true");
    wrong.cgroup(File::open("/etc").unwrap());
    let (stage, errno) = refused(how, &wrong);
    assert_eq!(stage, Some(Stage::Cgroup), "{errno}");
}

fn failures(how: How<'_>) {
    let too_long = Command::new("true").arg("x".repeat(2 << 20)).spawn().unwrap_err();
    assert_eq!(
        (too_long.stage(), too_long.errno()),
        (Some(Stage::Exec), libc::E2BIG)
    );
    let mut many = Command::new("true");
    assert_eq!(
        refused(how, many.args(vec!["x".repeat(100_000); 70])),
        (Some(Stage::Exec), libc::E2BIG)
    );
    let scratch = Scratch::new();
    let truncated = scratch.file("truncated", "\x7fELF", 0o755);
    let mut command = Command::new(truncated);
    assert_eq!(
        refused(how, command.shell_scripts(false)),
        (Some(Stage::Exec), libc::ENOEXEC)
    );
    let busy = scratch.0.join("busy");
    fs::copy("/bin/true", &busy).unwrap();
    let writer = File::options().write(true).open(&busy).unwrap();
    assert_eq!(
        refused(how, &Command::new(&busy)),
        (Some(Stage::Exec), libc::ETXTBSY)
    );
    drop(writer);
    assert!(how(&Command::new(&busy)).unwrap().wait().unwrap().success());
    assert_eq!(fs::metadata(&busy).unwrap().nlink(), 1);
}

fn bad_strings(how: How<'_>) {
    let nul = |command: &mut Command| matches!(how(command), Err(Error::Nul { .. }));
    assert!(nul(&mut Command::new("tr\0ue")));
    assert!(nul(Command::new("true").arg("a\0")));
    assert!(nul(Command::new("true").arg0("\0")));
    assert!(nul(Command::new("true").env("A", "\0")));
    assert!(nul(Command::new("true").env("A\0", "")));
    assert!(nul(Command::new("true").current_dir("/\0")));
    let named = |name: &str| how(Command::new("true").env(name, "")).map(drop);
    assert!(matches!(named(""), Err(Error::Variable { .. })));
    assert!(matches!(named("A=B"), Err(Error::Variable { .. })));
    assert_eq!(named("A=B").unwrap_err().errno(), libc::EINVAL);
}

fn statuses(how: How<'_>) {
    for code in [0, 1, 126, 127, 255] {
        let mut child = how(&shell(&format!("exit {code}"))).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGPIPE] {
        let mut child = how(&shell(&format!("kill -{signal} $$"))).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
    }
}
