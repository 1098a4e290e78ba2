//! Formatting at compile time, for Rust.
