//! The stores through their public face, by topic.

mod bounds;
mod common;
mod concurrency;
mod expiry;
mod limits;
mod model;
mod observers;
mod resize;
