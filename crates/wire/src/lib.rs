//! Codecs: bytes to messages and back, one module per protocol.
//!
//! A parser borrows its input and returns how many bytes it used; an encoder appends to the caller's `Vec<u8>`. The
//! caller owns the socket and decides when to call them, so the same code serves a server, a load generator and a test
//! that reads vectors from files.
//!
//! ```
//! use hikyaku_wire::Parsed;
//! use hikyaku_wire::memcached::text::{self, Command};
//!
//! assert_eq!(text::parse(b"get gree"), Parsed::More(9));
//! let Parsed::Done(Ok(Command::Get(get)), used) = text::parse(b"get greeting\r\n") else { panic!() };
//! assert_eq!((get.keys.single(), used), (Some(b"greeting".as_slice()), 14));
//! ```
//!
//! **Invariant:** nothing here touches a socket, a clock or a thread; time, where a protocol needs it, is an argument.
//! **Invariant:** parsing allocates nothing.
//! **Invariant:** `Done` never uses more bytes than were given, and `More` always asks for more bytes than were given.
#![forbid(unsafe_code)]

pub mod memcached;

/// The result of parsing the bytes at the head of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<T> {
    /// A complete message, and the number of input bytes that it used.
    Done(T, usize),
    /// The message is incomplete: call again when the input has at least this many bytes in total.
    More(usize),
}

impl<T> Parsed<T> {
    /// Applies `f` to the message, if there is one.
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Parsed<U> {
        match self {
            Parsed::Done(value, used) => Parsed::Done(f(value), used),
            Parsed::More(least) => Parsed::More(least),
        }
    }
}

/// The examples of README.md are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
