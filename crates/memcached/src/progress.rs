//! How far an exchange came, and what a connection must do outside of exchanges.

use std::sync::Arc;

use crate::endpoint::Login;
use crate::waits::Held;
use crate::watch::Kinds;

/// Why a connection ends; watchers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Error,
    Normal,
    IdleTimeout,
    Shutdown,
}

impl Reason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Error => "error",
            Reason::Normal => "normal",
            Reason::IdleTimeout => "idle_timeout",
            Reason::Shutdown => "shutdown",
        }
    }
}

/// How far a command came.
pub(crate) enum Progress {
    /// It is done and used this many bytes of the input.
    Done(usize),
    /// It needs this many bytes of input, and the input is shorter.
    Wait(usize),
    /// It is done as far as possible; the exchange ends after this many bytes.
    Stop(usize, Next),
}

/// The work after an exchange.
#[derive(Debug)]
pub(crate) enum Next {
    /// The next exchange.
    Exchange,
    /// The same command again, once what it lacks was fetched.
    Fetch,
    /// The output of the exchange leaves when its writes are committed.
    Commit(Box<Held>),
    /// The client has authenticated; its login may be revoked.
    LoggedIn(Arc<Login>),
    /// The end.
    Close(Reason),
    /// A value too large for the loop's buffer is received into memory of its own.
    Receive(Box<Upload>),
    /// The connection becomes a watcher.
    Watch(Kinds),
    /// The connection receives all keys.
    Dump(Dump),
}

/// A storage command whose value is still to come.
#[derive(Debug)]
pub(crate) struct Upload {
    /// The command's line, or its header, extras and key; parsed again when the value is there.
    pub(crate) head: Vec<u8>,
    /// Length of the value.
    pub(crate) length: u64,
}

/// Answers that are sent in parts, because they grow with the number of items or connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dump {
    /// `lru_crawler metadump`: key and metadata.
    Meta,
    /// `lru_crawler mgdump`: as `mg` commands.
    Commands,
    /// `stats cachedump`: this many keys.
    Keys { limit: u32 },
    /// `stats sizes`: how many items there are of each size. A binary request has an identifier.
    Sizes { opaque: Option<u32> },
    /// `stats conns`: who is connected.
    Connections { opaque: Option<u32> },
}

impl Dump {
    /// The dump that answers `stats NAME`; `opaque` identifies a binary request.
    pub(crate) fn of_statistics(name: &[u8], opaque: Option<u32>) -> Option<Dump> {
        match name {
            b"sizes" => Some(Dump::Sizes { opaque }),
            b"conns" => Some(Dump::Connections { opaque }),
            _ => None,
        }
    }
}
