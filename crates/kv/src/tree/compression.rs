//! Compression of pages.

use crate::StoreError;

/// The level of `zstd`: its own default.
const ZSTD_LEVEL: i32 = 3;
/// The level of `deflate`: zlib's default.
const DEFLATE_LEVEL: u8 = 6;

/// How the pages of a tree are compressed. Each page has its kind, so a store can be reopened with another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Fast, and less dense.
    Lz4,
    /// Dense.
    Zstd,
    /// As Tokyo Cabinet's `opts=d`.
    Deflate,
}

impl Compression {
    /// The choice with this name.
    pub(crate) fn named(name: &str) -> Option<Compression> {
        match name {
            "none" => Some(Compression::None),
            "lz4" => Some(Compression::Lz4),
            "zstd" => Some(Compression::Zstd),
            "deflate" => Some(Compression::Deflate),
            _ => None,
        }
    }

    /// Its byte in a page.
    pub(super) fn code(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Lz4 => 1,
            Compression::Zstd => 2,
            Compression::Deflate => 3,
        }
    }

    /// The kind with this byte.
    pub(super) fn of_code(code: u8) -> Option<Compression> {
        let all = [
            Compression::None,
            Compression::Lz4,
            Compression::Zstd,
            Compression::Deflate,
        ];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// The compressed bytes; `None` if they would not be fewer.
    pub(super) fn compress(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let compressed = match self {
            Compression::None => return None,
            Compression::Lz4 => lz4_flex::block::compress(bytes),
            Compression::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL).ok()?,
            Compression::Deflate => miniz_oxide::deflate::compress_to_vec(bytes, DEFLATE_LEVEL),
        };
        (compressed.len() < bytes.len()).then_some(compressed)
    }

    /// Decompresses bytes; `length` is their number before compression.
    ///
    /// # Errors
    /// The compressed bytes are damaged.
    pub(super) fn decompress(self, compressed: &[u8], length: usize) -> Result<Vec<u8>, StoreError> {
        let bytes = match self {
            Compression::None => Some(compressed.to_vec()),
            Compression::Lz4 => lz4_flex::block::decompress(compressed, length).ok(),
            Compression::Zstd => zstd::bulk::decompress(compressed, length).ok(),
            Compression::Deflate => {
                miniz_oxide::inflate::decompress_to_vec_with_limit(compressed, length).ok()
            }
        };
        bytes.filter(|bytes| bytes.len() == length).ok_or(super::DAMAGED)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ALL: [&str; 4] = ["none", "lz4", "zstd", "deflate"];

    #[test]
    fn every_kind_gives_the_bytes_back_and_notices_a_wrong_length() {
        let bytes = b"tree ".repeat(1000);
        for name in ALL {
            let kind = Compression::named(name).unwrap();
            assert_eq!(Compression::of_code(kind.code()), Some(kind));
            let Some(compressed) = kind.compress(&bytes) else {
                assert_eq!(kind, Compression::None);
                continue;
            };
            assert!(compressed.len() < bytes.len() / 10, "{name}");
            assert_eq!(kind.decompress(&compressed, bytes.len()).unwrap(), bytes);
            assert!(kind.decompress(&compressed, bytes.len() - 1).is_err(), "{name}");
            assert!(kind.decompress(&compressed[1..], bytes.len()).is_err(), "{name}");
        }
        assert_eq!(Compression::named("gzip"), None);
        assert_eq!(Compression::of_code(4), None);
    }

    #[test]
    fn bytes_that_cannot_be_compressed_stay() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(1000)
        .collect();
        for name in ALL {
            assert_eq!(Compression::named(name).unwrap().compress(&noise), None, "{name}");
        }
    }
}
