//! Authentication of a text connection: a `set` of any key whose value is a name, a space and a password.

use memchr::memchr;

use super::{Cause, Error};
use crate::Parsed;
use crate::memcached::line::{Words, trim};
use crate::memcached::number;

/// The longest name and password together, in bytes.
pub const CREDENTIALS_LENGTH_MAX: u32 = 16384;

/// A longer line is refused.
const LINE_LENGTH_MAX: usize = 2048;
/// A shorter line is refused.
const LINE_LENGTH_MIN: usize = 6;

/// A name and a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// The claimed name.
    pub name: &'a [u8],
    /// The password.
    pub password: &'a [u8],
}

impl std::fmt::Debug for Credentials<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Reads the first command of a connection that must authenticate, including its data block.
///
/// The server answers any other line with its error, wrong credentials with `CLIENT_ERROR authentication failure`, and
/// right ones with `STORED`.
pub fn parse_authentication(input: &[u8]) -> Parsed<Result<Credentials<'_>, Error>> {
    let Some(end) = memchr(b'\n', input) else {
        return if input.len() > LINE_LENGTH_MAX {
            refused(Cause::LineTooLong, input.len())
        } else {
            Parsed::More(input.len() + 1)
        };
    };
    let start = end + 1;
    if end < LINE_LENGTH_MIN {
        return refused(Cause::CredentialsShort, start);
    }
    let line = trim(&input[..end]);
    let length = Words::of_line(line).nth(4).and_then(number::unsigned_32);
    let Some(length) = length.filter(|_| line.starts_with(b"set")) else {
        return refused(Cause::Unauthenticated, start);
    };
    if length > CREDENTIALS_LENGTH_MAX {
        return refused(Cause::CredentialsTooLong, start);
    }
    let used = start + length as usize + 2;
    if input.len() < used {
        return Parsed::More(used);
    }
    let block = &input[start..used];
    let Some(block) = block.strip_suffix(b"\r\n") else {
        return refused(Cause::CredentialsEnd, used);
    };
    match memchr(b' ', block) {
        Some(at) => Parsed::Done(
            Ok(Credentials {
                name: &block[..at],
                password: &block[at + 1..],
            }),
            used,
        ),
        None => refused(Cause::CredentialsFormat, used),
    }
}

fn refused<'a>(cause: Cause, used: usize) -> Parsed<Result<Credentials<'a>, Error>> {
    Parsed::Done(Err(Error::new(cause)), used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_password_come_as_a_value() {
        let input = b"set x 0 0 7\r\nfoo bar\r\nget x\r\n";
        let credentials = Credentials {
            name: b"foo",
            password: b"bar",
        };
        assert_eq!(parse_authentication(input), Parsed::Done(Ok(credentials), 22));
        assert_eq!(parse_authentication(&input[..13]), Parsed::More(22));
        assert_eq!(parse_authentication(&input[..5]), Parsed::More(6));
    }

    #[test]
    fn anything_else_is_refused() {
        let cause = |input: &[u8]| match parse_authentication(input) {
            Parsed::Done(Err(error), used) => (error.cause(), used),
            other => panic!("{other:?}"),
        };
        assert_eq!(cause(b"get x y\r\n"), (Cause::Unauthenticated, 9));
        assert_eq!(cause(b"get x\n"), (Cause::CredentialsShort, 6));
        assert_eq!(cause(b"set x 0 0 16385\r\n"), (Cause::CredentialsTooLong, 17));
        assert_eq!(cause(b"set x 0 0 3\r\na bXX"), (Cause::CredentialsEnd, 18));
        assert_eq!(cause(b"set x 0 0 3\r\nabc\r\n"), (Cause::CredentialsFormat, 18));
    }
}
