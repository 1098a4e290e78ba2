//! The search for a program, as by `execvp`.

use std::collections::TryReserveError;

use crate::strings::Strings;

/// The search path if `PATH` is not set. Like glibc's and musl's today, it does not contain the working directory.
pub(crate) const DEFAULT: &[u8] = b"/bin:/usr/bin";

/// Longer elements of `PATH` cannot name a file and are skipped.
const ELEMENT_MAX: usize = libc::PATH_MAX as usize - 1;

/// Appends the paths to try, in order. A name with a slash is a path; any other is searched for in each element of `PATH`, where
/// an empty element stands for the working directory. An empty name matches nothing.
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
