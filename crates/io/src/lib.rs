//! The loop: one thread, one `epoll`, many connections.
#![allow(missing_docs, unused_variables, clippy::unimplemented, dead_code)]

mod address;
mod clock;
mod config;
mod error;
mod output;
mod skeleton;
pub mod tls;

pub use address::{Address, Peer};
pub use clock::Clock;
pub use config::{Config, ListenOptions, OnFull};
pub use error::Error;
pub use output::{Output, Piece, Took, Turn};
pub use skeleton::*;
