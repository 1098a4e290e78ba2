//! What a request says.

use super::Opcode;

/// A request without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// As sent; [`Opcode::quiet`] tells whether the expected outcome has no response.
    pub opcode: Opcode,
    /// To be returned as it came.
    pub opaque: u32,
    /// The cas that the item must have; 0 for any.
    pub cas: u64,
    /// The key; the mechanism of an authentication, the name of a group of statistics.
    pub key: &'a [u8],
    /// So many bytes of value follow.
    pub value_length: u32,
    /// What is asked for.
    pub operation: Operation,
}

/// What a request asks for, its quiet form aside.
///
/// Expiry times are as sent, unsigned: a time that looks negative to other protocols is one far in the future here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Get(K)(Q).
    Get {
        /// Whether the response has the key.
        with_key: bool,
    },
    /// GAT(K)(Q).
    GetAndTouch {
        /// Whether the response has the key.
        with_key: bool,
        /// The new expiry.
        exptime: u32,
    },
    /// Touch.
    Touch {
        /// The new expiry.
        exptime: u32,
    },
    /// Set, Add, Replace.
    Store {
        /// On which condition.
        verb: StoreVerb,
        /// The client's flags.
        flags: u32,
        /// The expiry.
        exptime: u32,
    },
    /// Append, Prepend.
    Concatenate(Concatenate),
    /// Delete.
    Delete,
    /// Increment, Decrement.
    Arithmetic {
        /// Increment rather than Decrement.
        increment: bool,
        /// By how much.
        delta: u64,
        /// The value of a number that is made because none is there.
        initial: u64,
        /// The expiry of a number that is made; all ones if none shall be.
        exptime: u32,
    },
    /// Flush.
    Flush {
        /// When; 0 for now.
        exptime: u32,
    },
    /// Quit.
    Quit,
    /// No-op.
    Noop,
    /// Version.
    Version,
    /// Stat.
    Stat,
    /// Authentication.
    Sasl(Sasl),
}

/// On which condition a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreVerb {
    /// Whatever is there.
    Set,
    /// Only if nothing is there.
    Add,
    /// Only if something is there.
    Replace,
}

/// On which side of a value to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concatenate {
    /// After it.
    Append,
    /// Before it.
    Prepend,
}

/// A step of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sasl {
    /// Which mechanisms are there?
    ListMechanisms,
    /// Begin; the key names the mechanism, the value is its first message.
    Authenticate,
    /// Go on.
    Step,
}
