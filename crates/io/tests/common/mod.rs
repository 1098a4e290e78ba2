//! Helpers of several test files.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

pub mod authority;

pub mod example;
