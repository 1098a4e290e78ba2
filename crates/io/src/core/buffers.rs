//! Buffers that all streams of a loop share.

use crate::output::Output;

/// The one input and the one output buffer, which streams lend to protocol code.
pub(crate) struct Hot {
    pub(crate) input: Box<[u8]>,
    pub(crate) output: Output,
}

impl Hot {
    pub(super) fn new(input_size: usize, output_size: usize) -> Hot {
        Hot {
            input: vec![0; input_size.max(1024)].into_boxed_slice(),
            output: Output::new(output_size.max(1024)),
        }
    }
}

/// The encrypted side of them; empty until a stream speaks TLS.
#[derive(Default)]
pub(crate) struct Cipher {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    /// Bytes of a file that are to be encrypted.
    pub(crate) file: Vec<u8>,
}

/// Emptied outputs, for replies that have to park: no connection keeps memory for that.
#[derive(Default)]
#[expect(
    clippy::vec_box,
    reason = "a reply holds a pointer, so that replies in order move little"
)]
pub(crate) struct Spares(Vec<Box<Output>>);

impl Spares {
    /// Outputs that are kept.
    const COUNT_MAX: usize = 128;
    /// Bytes of each that are kept.
    const SIZE_MAX: usize = 4 << 10;

    pub(crate) fn take(&mut self) -> Box<Output> {
        self.0.pop().unwrap_or_default()
    }

    pub(crate) fn put(&mut self, empty: Box<Output>) {
        if self.0.len() < Spares::COUNT_MAX && empty.held() <= Spares::SIZE_MAX {
            self.0.push(empty);
        }
    }
}
