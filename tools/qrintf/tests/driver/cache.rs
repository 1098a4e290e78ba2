//! ccache, on either side of the driver.

use crate::sandbox::{DRIVER, Sandbox, run, text};

/// How many compilations ccache has answered from memory, and how many it could not.
fn hits_and_misses(sandbox: &Sandbox) -> (u32, u32) {
    let output = run(sandbox
        .command("ccache", "--print-stats")
        .env("CCACHE_DIR", sandbox.path("cache")));
    let text = text(&output);
    let count = |names: &[&str]| {
        let counters = text.lines().filter_map(|line| line.split_once('\t'));
        let wanted = counters.filter(|(name, _)| names.contains(name));
        wanted
            .map(|(_, value)| value.trim().parse::<u32>().unwrap())
            .sum()
    };
    (
        count(&["direct_cache_hit", "preprocessed_cache_hit"]),
        count(&["cache_miss"]),
    )
}

fn compile(sandbox: &Sandbox, line: &str) -> Vec<u8> {
    let mut command = sandbox.command("/usr/bin/env", &format!("{line} -c a.c -o a.o"));
    run(command.env("CCACHE_DIR", sandbox.path("cache")));
    let object = sandbox.bytes("a.o");
    std::fs::remove_file(sandbox.path("a.o")).unwrap();
    object
}

#[test]
fn ccache_remembers_on_either_side() {
    let inside = format!("ccache {DRIVER} gcc -O2");
    let outside = format!("{DRIVER} ccache gcc -O2");
    let configured = format!("ccache {DRIVER} -O2");
    for line in [inside, outside, configured] {
        let sandbox = Sandbox::with_source();
        let plain = compile(&sandbox, &format!("{DRIVER} gcc -O2"));
        let first = compile(&sandbox, &line);
        assert_eq!(hits_and_misses(&sandbox), (0, 1), "{line}");
        let second = compile(&sandbox, &line);
        assert_eq!(hits_and_misses(&sandbox), (1, 1), "{line}");
        assert!(plain == first && first == second, "{line}");
        // An object compiled without the driver is another one.
        let alone = compile(&sandbox, "ccache gcc -O2");
        assert!(alone != first, "{line}");
        assert_eq!(hits_and_misses(&sandbox), (1, 2), "{line}");
    }
}

#[test]
fn a_changed_header_is_not_answered_from_memory() {
    let sandbox = Sandbox::with_source();
    sandbox.write("prefix/bin/none", "");
    std::fs::copy(DRIVER, sandbox.path("prefix/bin/qrintf-cc")).unwrap();
    let header = "prefix/lib/qrintf/include/stdio.h";
    let driver = sandbox.path("prefix/bin/qrintf-cc");
    // ccache does not look at headers younger than the compilation; these are as old as installed ones.
    let written = |text: &str| {
        sandbox.write(header, text);
        run(&mut sandbox.command("touch", &format!("-d 2020-01-01 {header}")));
    };
    written("#pragma GCC system_header\n#include_next <stdio.h>\n");
    let line = format!("{} ccache gcc -O2", driver.display());
    let first = compile(&sandbox, &line);
    written(
        "#pragma GCC system_header\n#include_next <stdio.h>\nstatic int added = 1; static int *use(void) __attribute__((used)); static int *use(void) { return &added; }\n",
    );
    let second = compile(&sandbox, &line);
    assert!(first != second);
    assert_eq!(hits_and_misses(&sandbox), (0, 2));
}

#[test]
fn a_link_before_ccaches_links_and_behind_them() {
    let sandbox = Sandbox::with_source();
    sandbox.link(DRIVER, "ours/gcc");
    sandbox.link("/usr/bin/ccache", "caches/gcc");
    let system = std::env::var("PATH").unwrap();
    let plain = compile(&sandbox, &format!("{DRIVER} gcc -O2"));
    let (ours, caches) = (sandbox.path("ours"), sandbox.path("caches"));
    // Whichever link is first, each is run once: ccache looks for the next gcc from the start of PATH again.
    for directories in [[&caches, &ours], [&ours, &caches]] {
        let [first, second] = directories.map(|directory| directory.display());
        let mut command = sandbox.command("/usr/bin/env", "gcc -O2 -c a.c -o a.o");
        command.env("PATH", format!("{first}:{second}:{system}"));
        run(command.env("CCACHE_DIR", sandbox.path("cache")));
        assert!(sandbox.bytes("a.o") == plain);
    }
    assert_eq!(hits_and_misses(&sandbox), (0, 2));
}
