//! Partitions: which of the store's logs has a key, decided as Kafka's Java client decides it for a topic.

/// The most partitions of a store.
pub(crate) const PARTITIONS_MAX: u32 = 256;

const SEED: u32 = 0x9747_b28c;
const MULTIPLIER: u32 = 0x5bd1_e995;
const SHIFT: u32 = 24;

/// The partition of a key among `partitions`.
#[inline]
pub(super) fn partition_of(key: &[u8], partitions: u32) -> u32 {
    if partitions == 1 {
        return 0;
    }
    (murmur2(key) & 0x7fff_ffff) % partitions
}

/// MurmurHash2 of 32 bits, with the seed of Kafka's clients.
#[inline]
pub(crate) fn murmur2(bytes: &[u8]) -> u32 {
    let mut hash = SEED ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> SHIFT;
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed.wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * at);
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that Kafka's own unit test of its hash expects.
    #[test]
    fn hashes_are_those_of_kafka() {
        let known: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ];
        for (key, hash) in known {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }

    #[test]
    fn every_partition_is_used() {
        let mut counts = [0; 8];
        for number in 0..8000 {
            counts[partition_of(format!("key-{number}").as_bytes(), 8) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (800..1200).contains(count)),
            "{counts:?}"
        );
        assert_eq!(partition_of(b"anything", 1), 0);
    }
}
