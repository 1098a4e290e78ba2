//! The macros behind `format`.
