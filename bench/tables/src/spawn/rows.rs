//! The rows of the table, in the order of measuring and printing.

use super::host::Kind;

/// A way of starting a process.
#[derive(Debug)]
pub(super) struct Row {
    /// Its name on the command line and in files.
    pub(super) key: &'static str,
    /// Its description.
    pub(super) what: &'static str,
    /// The kind of parent that measures it.
    pub(super) kind: Kind,
    /// The corresponding row of "popen() performance".
    pub(super) article: Option<&'static str>,
}

const fn row(key: &'static str, what: &'static str, kind: Kind, article: Option<&'static str>) -> Row {
    Row {
        key,
        what,
        kind,
        article,
    }
}

/// The baseline: all other rows are compared with it.
pub(super) const BASELINE: &str = "vfork";

use Kind::{Go, Node, Plain, Preloaded, PreloadedUnused, Python, Zygotes};

/// All rows. The first is the baseline.
pub(super) const ROWS: &[Row] = &[
    row(
        BASELINE,
        "vfork + execve, bare",
        Plain,
        Some("vfork() + exec(), std pipes"),
    ),
    row("vfork-pipe", "vfork + execve with a pipe, bare", Plain, None),
    row(
        "popen-noshell",
        "popen_noshell(argv)",
        Plain,
        Some("the new noshell, default clone(), compat=0"),
    ),
    row(
        "popen-preloaded",
        "popen(\"T\") with libnoshell preloaded",
        Preloaded,
        Some("the new noshell, default clone(), compat=1"),
    ),
    row(
        "posix-spawn",
        "posix_spawn",
        Plain,
        Some("posix_spawn() + exec(), no pipes"),
    ),
    row(
        "posix-spawn-pipe",
        "posix_spawn with a pipe",
        Plain,
        Some("the new noshell, posix_spawn(), compat=0"),
    ),
    row(
        "posix-spawn-split",
        "posix_spawn with a pipe, command split",
        Plain,
        Some("the new noshell, posix_spawn(), compat=1"),
    ),
    row(
        "fork-pipe",
        "fork + execve with a pipe",
        Plain,
        Some("the new noshell, fork(), compat=0"),
    ),
    row(
        "fork-split",
        "fork + execve with a pipe, command split",
        Plain,
        Some("the new noshell, fork(), compat=1"),
    ),
    row("fork", "fork + execve", Plain, Some("fork() + exec(), std pipes")),
    row("system", "system(\"T\")", Plain, Some("system()")),
    row("popen", "popen(\"T\")", Plain, Some("popen()")),
    row(
        "system-preloaded",
        "system(\"T\") with libnoshell preloaded",
        Preloaded,
        None,
    ),
    row("system-noshell", "system_noshell(argv)", Plain, None),
    row("spawn-noshell", "spawn_noshell(argv)", Plain, None),
    row("spawn-status", "our spawn: Command::status", Plain, None),
    row("spawn", "our spawn: Command::spawn, wait", Plain, None),
    row("spawn-output", "our spawn: Command::output", Plain, None),
    row(
        "spawn-async",
        "our spawn: Command::start, asynchronous",
        Plain,
        None,
    ),
    row(
        "spawn-starter",
        "our spawn: Spawner::start, asynchronous",
        Plain,
        None,
    ),
    row("spawn-zygote", "our spawn: by a zygote", Zygotes, None),
    row(
        "spawn-limits",
        "our spawn with user, limit and cgroup",
        Plain,
        None,
    ),
    row("std-status", "Rust std: Command::status", Plain, None),
    row("std-output", "Rust std: Command::output", Plain, None),
    row("std-pre-exec", "Rust std: Command with pre_exec", Plain, None),
    row("std-limits", "Rust std with user, limit and cgroup", Plain, None),
    row("python-run", "Python: subprocess.Popen, wait", Python, None),
    row(
        "python-pre-exec",
        "Python: subprocess.Popen, preexec_fn",
        Python,
        None,
    ),
    row("python-os-system", "Python: os.system", Python, None),
    row("go-run", "Go: exec.Command, Start, Wait", Go, None),
    row("go-output", "Go: exec.Command, Output", Go, None),
    row("node-spawn", "Node: spawn, exit event", Node, None),
    row("node-spawn-sync", "Node: spawnSync", Node, None),
    row("node-exec-sync", "Node: execSync", Node, None),
    row(
        "system-shell",
        "system(\"T; :\"), which needs a shell",
        Plain,
        None,
    ),
    row(
        "system-shell-preloaded",
        "system(\"T; :\") with libnoshell preloaded",
        Preloaded,
        None,
    ),
    row("fork-nothing", "fork, _exit", Plain, None),
    row(
        "first-system",
        "fork, and system(\"T\") as the child's first command",
        Plain,
        None,
    ),
    row(
        "first-system-preloaded",
        "the same with libnoshell preloaded",
        PreloadedUnused,
        None,
    ),
    row(
        "first-two-preloaded",
        "the same with two commands",
        PreloadedUnused,
        None,
    ),
];

/// Accepts the name of a row, for the command line.
pub(super) fn known(text: &str) -> Result<String, String> {
    if ROWS.iter().any(|row| row.key == text) {
        return Ok(text.to_owned());
    }
    let keys: Vec<_> = ROWS.iter().map(|row| row.key).collect();
    Err(format!("the rows are {}", keys.join(", ")))
}
