//! Tables that reproduce published measurements, one module per table.
//!
//! A table alternates between its rows in short rounds, so that a disturbance of the machine affects all rows alike, and
//! reports figures over all rounds. The measurements of `spawn` run in separate processes: this program, started again in a
//! mode that its help does not list.
//!
//! **Invariant**: a row that cannot be measured on this machine has a reason; it is never left out and never zero.

pub mod disk;
mod error;
mod scratch;
pub mod spawn;

pub use error::Error;
