//! `qrintf-cc`: a compiler driver that specializes `sprintf` and its family at compile time.

fn main() {}
