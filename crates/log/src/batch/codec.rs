//! Compressed records: decompressing them, and compressing what is kept of them.
//!
//! ```text
//!   gzip    one or more members         lz4    frames
//!   snappy  raw, or with Java's framing: 82 "SNAPPY" 00, two versions, then blocks with their lengths
//!   zstd    frames
//! ```
//!
//! **Invariant:** no input makes more than the given number of bytes.

use std::io::{self, ErrorKind, Read, Write};

use super::Compression;

/// The head of Java's framing of snappy: its magic, and two versions.
const JAVA_MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const JAVA_HEAD: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
/// Bytes of a block within Java's framing, before compression.
const JAVA_BLOCK: usize = 32 << 10;
/// The largest window of zstd that is decoded: what its own tools accept by default.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Snappy { java: bool },
    Lz4,
    Zstd,
}

impl Codec {
    /// The codec of compressed records; `None` if there is none, or if it is unknown.
    pub(crate) fn of(compression: Compression, compressed: &[u8]) -> Option<Codec> {
        match compression {
            Compression::Gzip => Some(Codec::Gzip),
            Compression::Snappy => Some(Codec::Snappy {
                java: compressed.starts_with(&JAVA_MAGIC),
            }),
            Compression::Lz4 => Some(Codec::Lz4),
            Compression::Zstd => Some(Codec::Zstd),
            Compression::None | Compression::Unknown(_) => None,
        }
    }

    /// Appends the decompressed bytes, at most `max`.
    ///
    /// # Errors
    /// The input is damaged, or is more than that.
    pub(crate) fn decompress(self, compressed: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Codec::Gzip => read_all(flate2::read::MultiGzDecoder::new(compressed), max, out),
            Codec::Snappy { java: false } => unsnap(compressed, max, out),
            Codec::Snappy { java: true } => unsnap_blocks(compressed, max, out),
            Codec::Lz4 => read_all(lz4_flex::frame::FrameDecoder::new(compressed), max, out),
            Codec::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(compressed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                read_all(decoder, max, out)
            }
        }
    }

    /// Appends the compressed bytes.
    ///
    /// # Errors
    /// The codec refuses the input, for example since it is too large.
    pub(crate) fn compress(self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Codec::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                encoder.write_all(plain)?;
                encoder.finish().map(drop)
            }
            Codec::Snappy { java: false } => {
                out.extend_from_slice(&snap::raw::Encoder::new().compress_vec(plain)?);
                Ok(())
            }
            Codec::Snappy { java: true } => {
                out.extend_from_slice(&JAVA_HEAD);
                let mut encoder = snap::raw::Encoder::new();
                for block in plain.chunks(JAVA_BLOCK) {
                    let block = encoder.compress_vec(block)?;
                    out.extend_from_slice(&(block.len() as u32).to_be_bytes());
                    out.extend_from_slice(&block);
                }
                Ok(())
            }
            Codec::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(out);
                encoder.write_all(plain)?;
                encoder.finish().map(drop).map_err(io::Error::other)
            }
            Codec::Zstd => zstd::stream::copy_encode(plain, out, zstd::DEFAULT_COMPRESSION_LEVEL),
        }
    }
}

/// Reads a decoder to its end.
fn read_all(decoder: impl Read, max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let most = (max as u64).saturating_add(1);
    let read = decoder.take(most).read_to_end(out)?;
    if read > max { Err(too_large()) } else { Ok(()) }
}

/// Decompresses a block of raw snappy, which begins with its decompressed length.
fn unsnap(compressed: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let length = snap::raw::decompress_len(compressed)?;
    // Each byte of the input makes at most 64; a length that is a lie takes no memory.
    if length > max || length / 64 > compressed.len() {
        return Err(too_large());
    }
    let from = out.len();
    out.resize(from + length, 0);
    snap::raw::Decoder::new().decompress(compressed, &mut out[from..])?;
    Ok(())
}

/// Decompresses the blocks of Java's framing.
fn unsnap_blocks(compressed: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = compressed
        .get(JAVA_HEAD.len()..)
        .ok_or(ErrorKind::UnexpectedEof)?;
    let begin = out.len();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let (block, behind) = behind.split_at_checked(length).ok_or(ErrorKind::UnexpectedEof)?;
        unsnap(block, max - (out.len() - begin), out)?;
        rest = behind;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

fn too_large() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the records are larger than the limit")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ALL: [Codec; 5] = [
        Codec::Gzip,
        Codec::Snappy { java: false },
        Codec::Snappy { java: true },
        Codec::Lz4,
        Codec::Zstd,
    ];

    fn compressed(codec: Codec, plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        codec.compress(plain, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_compressed_is_decompressed() {
        let plain: Vec<u8> = (0..200_000_u32)
            .flat_map(|number| (number / 7).to_le_bytes())
            .collect();
        for codec in ALL {
            for length in [0, 1, 40_000, plain.len()] {
                let compressed = compressed(codec, &plain[..length]);
                let mut out = b"before".to_vec();
                codec.decompress(&compressed, length, &mut out).unwrap();
                assert_eq!(out[6..], plain[..length], "{codec:?}");
            }
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let plain = vec![7; 10 << 20];
        for codec in ALL {
            let bomb = compressed(codec, &plain);
            let mut out = Vec::new();
            codec.decompress(&bomb, 1 << 20, &mut out).unwrap_err();
            assert!(out.capacity() <= 4 << 20, "{codec:?}: {}", out.capacity());
        }
    }

    #[test]
    fn damage_is_an_error_or_other_bytes_and_never_a_panic() {
        let plain: Vec<u8> = (0..2000_u32)
            .flat_map(|number| (number / 3).to_le_bytes())
            .collect();
        for codec in ALL {
            let whole = compressed(codec, &plain);
            for at in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << (at % 8);
                let mut out = Vec::new();
                let _ = codec.decompress(&damaged, plain.len(), &mut out);
                assert!(out.len() <= plain.len() + 1);
                let _ = codec.decompress(&whole[..at], plain.len(), &mut Vec::new());
            }
        }
    }

    #[test]
    fn javas_framing_is_recognized() {
        let java = compressed(Codec::Snappy { java: true }, b"plain");
        let raw = compressed(Codec::Snappy { java: false }, b"plain");
        assert_eq!(
            Codec::of(Compression::Snappy, &java),
            Some(Codec::Snappy { java: true })
        );
        assert_eq!(
            Codec::of(Compression::Snappy, &raw),
            Some(Codec::Snappy { java: false })
        );
        assert_eq!(Codec::of(Compression::Unknown(5), &raw), None);
    }
}
