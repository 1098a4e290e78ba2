//! Key-value stores behind one small trait.
//!
//! ```text
//!   service ──key()──▶ Key ──prefetch()──▶ read(key, now, |entry| …)      one closure, run at once under the item's lock
//!                                          update(key, now, |entry| (decision, answer))       the one read-modify-write
//!                                             ├─ Cold: fetch(warm), and once more
//!                                             └─ Stored { commit }: committed(upto) before the client is told
//! ```
//!
//! A [`Store`] is built from a URI ([`Specification`]) and answers through [`Engine`], whose [documentation](Engine) has the rules for
//! stores that wait for devices or other machines. The meaning of a protocol's commands is the caller's business: it looks at an
//! [`Entry`] and gives back a [`Decision`].
//!
//! **Invariant:** nothing here reads a clock; every call is told the time ([`Now`]).
//! **Invariant:** nothing here knows a protocol. The memory engine opens no file and starts no thread.
//! **Invariant:** `unsafe` is confined to the modules whose head says so.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod access;
mod answer;
mod budget;
mod commits;
mod decision;
mod durability;
mod duration;
mod engine;
mod entry;
mod error;
mod folder;
mod hash;
mod health;
mod heap;
mod machine;
mod mailbox;
mod memory;
mod moved;
mod notice;
mod observer;
mod owned;
mod pinned;
mod processor;
mod record;
mod region;
#[cfg(feature = "simulated")]
mod simulated;
mod size;
mod specification;
mod statistics;
mod store;
mod stripes;
mod sync;
mod throttle;
mod time;
mod tree;
mod uploads;
mod warm;

pub use access::{Access, Need};
pub use answer::{Answer, Commit, Committed, Stored};
pub use decision::{Cas, Change, Decision, Edit, New, Payload};
pub use durability::Sync;
pub use duration::parse_duration;
pub use engine::{Cursor, Engine, Key};
pub use entry::{Entry, Marks, Value};
pub use error::{Error, StoreError};
pub use hash::Hash;
pub use health::Work;
pub use heap::Extent;
pub use memory::{CAPACITY_MAX, Memory};
pub use moved::bytes_moved;
pub use notice::Notice;
pub use observer::{Observation, Observer};
pub use pinned::{FileRange, Pinned};
#[cfg(feature = "simulated")]
pub use simulated::{Fault, Machine, Simulated};
pub use size::{Size, parse_size};
pub use specification::Specification;
pub use statistics::{
    ClassStatistics, CompactionStatistics, DurabilityStatistics, LogStatistics, Statistics, StoreState,
};
pub use store::{Reader, Store};
pub use time::{Expiry, Now};
pub use tree::{Compression, Tree};
pub use warm::{Fetch, Warm};

/// The longest key an engine takes. Protocols may allow less.
pub const KEY_LENGTH_MAX: usize = 255;
