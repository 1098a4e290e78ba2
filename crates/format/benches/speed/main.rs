//! `append!` against `write!`, and `c!` against libc's `snprintf` and against `append!`, to the same `Vec<u8>`:
//! `cargo bench -p hikyaku-format --bench speed`.
//!
//! Random inputs, the two in turn for many short rounds, medians. Prints a JSON object a line with the nanoseconds of
//! one call each and their ratio. With the name of a case as argument only that one runs.

mod append;
mod c;
mod compare;
mod inputs;

fn main() {
    append::run();
    c::run();
}
