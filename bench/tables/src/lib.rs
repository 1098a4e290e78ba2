//! The tables of the articles, measured again: a module a table.
//!
//! A table alternates between its rows in short rounds, so that whatever disturbs the machine disturbs all rows alike,
//! and reports medians over the rounds. What is measured runs in processes of its own: this very program, started once
//! more in a mode that no help mentions.
//!
//! **Invariant**: a row that cannot be measured on this machine says why; it is never left out and never zero.

mod error;
pub mod spawn;

pub use error::Error;
