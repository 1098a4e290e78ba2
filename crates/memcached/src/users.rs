//! The users of a listener: the lines of an authentication file.
//!
//! The file is memcached's (`-Y`): a `name:password` a line. Text connections authenticate with
//! `set <any> 0 0 <length>` and a value of `name password`, binary ones with SASL PLAIN.
//!
//! **Invariant:** a check looks at every entry and compares whole byte strings without an early exit, so that its
//! duration tells nothing of how much of a guess was right.

use crate::Error;

/// Entries a file may hold; more is surely the wrong file.
pub const USERS_MAX: usize = 65_536;

/// The users of a listener.
#[derive(Clone, Default)]
pub struct Users {
    entries: Vec<User>,
}

#[derive(Clone)]
struct User {
    name: Box<[u8]>,
    password: Box<[u8]>,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Users")
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

impl Users {
    /// Reads `name:password` lines; empty lines are skipped, everything after the first colon is the password.
    ///
    /// # Errors
    /// [`Error::UserLine`] names the line which has no colon or no name, [`Error::TooManyUsers`] and
    /// [`Error::NoUsers`] tell that there are more than [`USERS_MAX`] entries or none.
    pub fn parse(text: &[u8]) -> Result<Users, Error> {
        let mut entries = Vec::new();
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let colon = line.iter().position(|&byte| byte == b':').filter(|&at| at > 0);
            let colon = colon.ok_or(Error::UserLine { line: index + 1 })?;
            if entries.len() == USERS_MAX {
                return Err(Error::TooManyUsers { max: USERS_MAX });
            }
            entries.push(User {
                name: line[..colon].into(),
                password: line[colon + 1..].into(),
            });
        }
        if entries.is_empty() {
            return Err(Error::NoUsers);
        }
        Ok(Users { entries })
    }

    /// Whether `name` exists and has this password.
    #[must_use]
    pub fn check(&self, name: &[u8], password: &[u8]) -> bool {
        let mut found = 0;
        for user in &self.entries {
            found |= u8::from(user.name.len() == name.len() && user.password.len() == password.len())
                & equal(&user.name, name)
                & equal(&user.password, password);
        }
        found == 1
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: a file without users is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// 1 if the common length of both holds the same bytes; all of them are looked at.
fn equal(left: &[u8], right: &[u8]) -> u8 {
    let difference = left
        .iter()
        .zip(right)
        .fold(0, |difference, (a, b)| difference | (a ^ b));
    u8::from(std::hint::black_box(difference) == 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_become_users() {
        let users = Users::parse(b"foo:bar\r\n\nbaaaz:quux:x\nlast:one").unwrap();
        assert_eq!(users.len(), 3);
        assert!(users.check(b"foo", b"bar"));
        assert!(users.check(b"baaaz", b"quux:x"));
        assert!(users.check(b"last", b"one"));
        for (name, password) in [
            ("foo", "ba"),
            ("foo", "baz"),
            ("fo", "bar"),
            ("", ""),
            ("foo", "quux:x"),
        ] {
            assert!(
                !users.check(name.as_bytes(), password.as_bytes()),
                "{name}:{password}"
            );
        }
    }

    #[test]
    fn an_empty_password_is_a_password() {
        let users = Users::parse(b"guest:\n").unwrap();
        assert!(users.check(b"guest", b""));
        assert!(!users.check(b"guest", b"x"));
    }

    #[test]
    fn malformed_lines_are_named() {
        assert!(matches!(
            Users::parse(b"a:b\nnocolon\n"),
            Err(Error::UserLine { line: 2 })
        ));
        assert!(matches!(
            Users::parse(b":secret\n"),
            Err(Error::UserLine { line: 1 })
        ));
        assert!(matches!(Users::parse(b"\n\n"), Err(Error::NoUsers)));
    }

    #[test]
    fn debug_output_keeps_passwords_secret() {
        let text = format!("{:?}", Users::parse(b"a:hush\n").unwrap());
        assert!(!text.contains("hush"));
    }
}
