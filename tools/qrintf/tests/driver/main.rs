//! `qrintf-cc` as a user meets it: with real compilers, caches and build systems, and with stand-ins for a compiler that
//! write down how they were called.

#![allow(clippy::unwrap_used)]

mod cache;
mod command;
mod example;
mod projects;
mod refused;
mod report;
mod same;
mod sandbox;
