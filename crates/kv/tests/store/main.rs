//! The stores through their public face, by topic.

mod appends;
mod bounds;
mod bytes;
mod common;
mod concurrency;
mod expiry;
mod limits;
mod model;
mod observers;
mod operations;
mod refusals;
mod resize;
mod statistics;
