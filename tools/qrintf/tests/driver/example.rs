//! The example of the article that qrintf began with.

use std::process::Command;

use crate::sandbox::{Sandbox, run, text};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/ipv4addr.c");

#[test]
fn the_example_prints_the_same_with_fewer_instructions_of_libc() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.command("gcc", &format!("-O2 {EXAMPLE} -o plain")));
    run(&mut sandbox.driver(&format!("gcc -O2 -Wall -Wextra -Werror {EXAMPLE} -o specialized")));
    let [plain, specialized] =
        ["plain", "specialized"].map(|name| text(&run(Command::new(sandbox.path(name)).arg("1000"))));
    assert_eq!(plain, specialized);
    assert!(plain.starts_with("1000 addresses, the last one "), "{plain}");
    let report = text(&run(
        &mut sandbox.driver(&format!("gcc -O2 --qrintf-report -c {EXAMPLE} -o example.o"))
    ));
    assert!(
        report.contains("snprintf \"%u.%u.%u.%u\": specialized"),
        "{report}"
    );
}
