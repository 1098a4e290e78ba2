//! The client's side: it encodes requests and parses replies.
//!
//! Encoders append to a buffer. [`text::parse`], for classic and meta replies, and [`binary::parse`] read a reply without
//! its value; their `parse_whole` reads it with the value.
//!
//! ```
//! use hikyaku_wire::Parsed;
//! use hikyaku_wire::memcached::client::text::{self, Reply};
//! use hikyaku_wire::memcached::text::{GetVerb, Store, StoreVerb};
//!
//! let mut out = Vec::new();
//! let store = Store { verb: StoreVerb::Set, key: b"k", flags: 0, exptime: 0, length: 2, cas: 0, noreply: false };
//! text::store(&mut out, &store, b"hi");
//! text::get(&mut out, GetVerb::Get, [b"k".as_slice()]);
//! assert_eq!(out, b"set k 0 0 2\r\nhi\r\nget k\r\n");
//!
//! let replies = b"STORED\r\nVALUE k 0 2\r\nhi\r\nEND\r\n";
//! let Parsed::Done(Ok((Reply::Stored, _)), used) = text::parse_whole(replies) else { panic!() };
//! let Parsed::Done(Ok((Reply::Value(value), data)), _) = text::parse_whole(&replies[used..]) else { panic!() };
//! assert_eq!((value.key, data), (b"k".as_slice(), b"hi".as_slice()));
//! ```

pub mod binary;
mod block;
mod error;
pub mod meta;
pub mod text;

pub use error::Error;
