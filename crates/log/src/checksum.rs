//! CRC-32C, the checksum of every structure on disk.

use crc_fast::CrcAlgorithm;

/// CRC-32C (Castagnoli) of some bytes.
#[inline]
pub fn of(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    /// The check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn it_is_castagnoli() {
        assert_eq!(super::of(b"123456789"), 0xe306_9283);
    }
}
