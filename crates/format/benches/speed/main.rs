//! `append!` against `write!`, and `c!` against libc's `snprintf` and against `append!`, to the same `Vec<u8>`:
//! `cargo bench -p hikyaku-format --bench speed`.
//!
//! The inputs are random, and the two alternate in many short rounds. Prints one JSON object per line with the median
//! nanoseconds per call of each and their ratio. An argument selects the case of that name.

mod append;
mod c;
mod compare;
mod inputs;

fn main() {
    append::run();
    c::run();
}
