//! Parsed requests.

use super::Opcode;

/// A request without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The opcode as sent. See [`Opcode::quiet`] for the requests whose expected outcome has no response.
    pub opcode: Opcode,
    /// The client's identifier of the request, which the response repeats.
    pub opaque: u32,
    /// The cas that the item must have; 0 for any.
    pub cas: u64,
    /// The key, the mechanism of an authentication, or the name of a group of statistics.
    pub key: &'a [u8],
    /// The length of the value that follows.
    pub value_length: u32,
    /// The operation with its arguments.
    pub operation: Operation,
}

/// The operations, each for the normal and the quiet form of its opcode.
///
/// Expiry times are unsigned, as sent: what other protocols read as negative is a time far in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Get(K)(Q).
    Get {
        /// True if the response has the key.
        with_key: bool,
    },
    /// GAT(K)(Q).
    GetAndTouch {
        /// True if the response has the key.
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
        /// The condition.
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
        /// True for Increment, false for Decrement.
        increment: bool,
        /// The amount to add or subtract.
        delta: u64,
        /// The initial value if the key is absent.
        initial: u64,
        /// The expiry of an item created with the initial value; all ones to create none.
        exptime: u32,
    },
    /// Flush.
    Flush {
        /// The delay in seconds; 0 for now.
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

/// The condition on which a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreVerb {
    /// None.
    Set,
    /// The key is absent.
    Add,
    /// The key is present.
    Replace,
}

/// Where bytes are added to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concatenate {
    /// The end.
    Append,
    /// The beginning.
    Prepend,
}

/// A step of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sasl {
    /// List the mechanisms.
    ListMechanisms,
    /// Begin. The key names the mechanism; the value is its first message.
    Authenticate,
    /// Continue.
    Step,
}
