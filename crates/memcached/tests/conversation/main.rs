//! A service on a loop, and clients that talk to it over in-memory streams.

mod binary;
mod connection;
mod harness;
mod scripts;
mod waiting;
