//! CRC-32C, the checksum of every structure on disk.

use crc_fast::CrcAlgorithm;

/// A checksum over bytes that come in pieces.
#[derive(Debug)]
pub(crate) struct Digest(crc_fast::Digest);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(crc_fast::Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> u32 {
        self.0.finalize() as u32
    }
}

/// CRC-32C (Castagnoli) of some bytes.
#[inline]
pub fn of(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    #[test]
    fn pieces_have_the_checksum_of_the_whole() {
        let mut digest = super::Digest::new();
        for piece in [&b"12"[..], b"", b"3456789"] {
            digest.update(piece);
        }
        assert_eq!(digest.finish(), super::of(b"123456789"));
    }

    /// The check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn it_is_castagnoli() {
        assert_eq!(super::of(b"123456789"), 0xe306_9283);
    }
}
