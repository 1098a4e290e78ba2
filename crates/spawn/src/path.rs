//! Where a program is looked for: as `execvp` does.

use std::collections::TryReserveError;

use crate::strings::Strings;

/// What is searched when there is no `PATH`, as in glibc and musl since they ceased to search the working directory.
pub(crate) const DEFAULT: &[u8] = b"/bin:/usr/bin";

/// Elements of `PATH` that are longer cannot name a file, and are passed over.
const ELEMENT_MAX: usize = libc::PATH_MAX as usize - 1;

/// Appends the paths to try, in order. A name with a slash is a path itself; one without is looked for in each element
/// of the path, of which an empty one is the working directory. An empty name names nothing, in no directory.
pub(crate) fn candidates<'a>(
    program: &[u8],
    path: impl FnOnce() -> &'a [u8],
    found: &mut Strings,
) -> Result<(), TryReserveError> {
    if program.is_empty() || program.contains(&b'/') {
        return found.try_push(&[program]);
    }
    for element in path().split(|&byte| byte == b':') {
        match element {
            b"" => found.try_push(&[program])?,
            long if long.len() > ELEMENT_MAX => {}
            _ => found.try_push(&[element, b"/", program])?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(program: &[u8], path: &[u8]) -> Vec<String> {
        let mut found = Strings::default();
        candidates(program, || path, &mut found).unwrap();
        found
            .iter()
            .map(|one| String::from_utf8(one.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn names_are_looked_for_and_paths_are_not() {
        assert_eq!(of(b"ls", b"/usr/bin:/bin"), ["/usr/bin/ls", "/bin/ls"]);
        assert_eq!(of(b"./ls", b"/usr/bin:/bin"), ["./ls"]);
        assert_eq!(of(b"", b"/usr/bin"), [""]);
    }

    #[test]
    fn an_empty_element_is_the_working_directory() {
        assert_eq!(of(b"ls", b":/bin::"), ["ls", "/bin/ls", "ls", "ls"]);
        assert_eq!(of(b"ls", b""), ["ls"]);
        let long = vec![b'x'; ELEMENT_MAX + 1];
        assert!(of(b"ls", &long).is_empty());
    }
}
