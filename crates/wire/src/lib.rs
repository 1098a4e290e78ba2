//! Codecs: bytes to messages and back, a module for each protocol.
//!
//! A parser borrows what it reads and says how many bytes it used; an encoder appends to a `Vec<u8>` of its caller.
//! Whoever owns the socket decides when to call them, so that the same code serves a server, a load generator and
//! a test over vectors in files.
//!
//! **Invariant:** nothing here touches a socket, a clock or a thread; time, where a protocol needs it, is an argument.
//! **Invariant:** parsing allocates nothing.
//! **Invariant:** `Done` never uses more bytes than were given, and `More` always asks for more bytes than were given.
#![forbid(unsafe_code)]

pub mod memcached;

/// What a parser made of the bytes at the head of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<T> {
    /// A whole message, and how many bytes of the input it took.
    Done(T, usize),
    /// The message is not complete: call again when at least so many bytes are there in total.
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
