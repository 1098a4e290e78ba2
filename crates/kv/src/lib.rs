//! Key-value stores behind one small trait.
//!
//! ```text
//!   service ──key()──▶ Key ──prefetch()──▶ read(key, now, |entry| …)      one closure, run at once under the item's lock
//!                                          update(key, now, |entry| (decision, answer))       the one read-modify-write
//! ```
//!
//! A [`Store`] is built from a URI ([`Specification`]) and answers through [`Engine`]. The meaning of a
//! protocol's commands is the caller's business: it looks at an [`Entry`] and gives back a [`Decision`].
//!
//! **Invariant:** nothing here reads a clock; every call is told the time ([`Now`]).
//! **Invariant:** nothing here knows a protocol, opens a socket or starts a thread.
//! **Invariant:** `unsafe` is confined to the modules whose head says so.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod budget;
mod decision;
mod engine;
mod entry;
mod error;
mod heap;
mod machine;
mod memory;
mod moved;
mod notice;
mod observer;
mod region;
mod size;
mod specification;
mod statistics;
mod store;
mod sync;
mod time;

pub use decision::{Cas, Change, Decision, Edit, New, Payload};
pub use engine::{Answer, Cursor, Engine, Key};
pub use entry::{Entry, Marks, Value};
pub use error::{Error, StoreError};
pub use heap::{Extent, Pinned};
pub use memory::{CAPACITY_MAX, Memory};
pub use moved::bytes_moved;
pub use notice::Notice;
pub use observer::{Observation, Observer};
pub use size::{Size, parse_size};
pub use specification::Specification;
pub use statistics::{ClassStatistics, Statistics};
pub use store::Store;
pub use time::{Expiry, Now};

/// The longest key an engine takes. Protocols may allow less.
pub const KEY_LENGTH_MAX: usize = 255;
