//! The build and the tests of `libnoshell`.
