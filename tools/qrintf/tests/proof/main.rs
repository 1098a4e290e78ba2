//! The proof that what `qrintf-cc` compiles prints what the C library prints.
//!
//! `differential` makes random call sites; the other tests are written by hand.
#![allow(clippy::unwrap_used)]

mod argument;
mod campaign;
mod cases;
mod corpus;
mod differential;
mod directive;
mod emit;
mod fortify;
mod linkage;
mod programs;
mod random;
mod runtime;
mod site;
mod toolchain;
mod value;
mod warnings;
