//! How often a key is found when the store holds a tenth of them: Zipf 0.99, get and set on a miss, for some value sizes.
//! Beside it an exact LRU with the same bytes, counting an item as memcached does (header of 56 bytes, slab classes a quarter
//! apart), and an exact LRU with as many items as our store has at the end.
//!
//!     cargo run --release -p hikyaku-kv --example hit_ratio [requests]

use std::collections::HashMap;

use kv::{Answer, Decision, Engine, New, Now, Store};

const KEYS: u64 = 200_000;
const KEY: usize = 20;
const SKEW: f64 = 0.99;
const MEMCACHED_HEADER: u64 = 56;

fn main() {
    let requests = std::env::args()
        .nth(1)
        .map_or(2_000_000, |text| text.parse().expect("a number of requests"));
    for value in [32u64, 80, 1000] {
        let capacity = KEYS / 10 * (KEY as u64 + value + MEMCACHED_HEADER);
        let ours = run(&mut Ours::new(capacity, value), requests);
        let bytes = run(
            &mut Lru::new((capacity / chunk(KEY as u64 + value + MEMCACHED_HEADER)) as usize),
            requests,
        );
        let count = run(&mut Lru::new(ours.items), requests);
        println!(
            "value {value:4}, {:3} MiB: ours {:.4} with {} items; LRU as memcached {:.4} with {}; LRU of as many items {:.4}",
            capacity >> 20,
            ours.ratio,
            ours.items,
            bytes.ratio,
            bytes.items,
            count.ratio
        );
    }
}

/// The slab chunk that an item of this size takes: classes grow by a quarter from 96 bytes, in multiples of eight.
fn chunk(size: u64) -> u64 {
    let mut chunk = 96u64;
    while chunk < size {
        chunk = (chunk + chunk / 4).next_multiple_of(8);
    }
    chunk
}

struct Outcome {
    ratio: f64,
    items: usize,
}

trait Cache {
    /// Looks a key up, and stores it if it's not there.
    fn hit(&mut self, key: u64) -> bool;
    fn items(&self) -> usize;
}

/// The ratio over the second half of the requests; the first fills the cache.
fn run(cache: &mut impl Cache, requests: u64) -> Outcome {
    let mut zipf = Zipf::new();
    let mut hits = 0;
    for request in 0..requests {
        let hit = cache.hit(zipf.next());
        hits += u64::from(hit && request >= requests / 2);
    }
    Outcome {
        ratio: hits as f64 / (requests / 2) as f64,
        items: cache.items(),
    }
}

struct Ours {
    store: Store,
    value: Vec<u8>,
}

impl Ours {
    fn new(capacity: u64, value: u64) -> Self {
        let (store, _) = Store::open(&format!("memory:?capacity={capacity}")).expect("the name is right");
        Ours {
            store,
            value: vec![7; value as usize],
        }
    }
}

impl Cache for Ours {
    fn hit(&mut self, number: u64) -> bool {
        let bytes = format!("{number:0KEY$}");
        let (key, now) = (self.store.key(bytes.as_bytes()), Now(1_000_000));
        if self.store.read(&key, now, |entry| entry.is_some()) == Ok(Answer::Ready(true)) {
            return true;
        }
        let parts = [&self.value[..]];
        let outcome = self
            .store
            .update(&key, now, |_| (Decision::Put(New::new(&parts)), ()));
        outcome
            .expect("evicting makes room")
            .ready()
            .expect("memory answers at once");
        false
    }

    fn items(&self) -> usize {
        self.store.statistics().items as usize
    }
}

/// An exact LRU: a doubly linked list in a vector.
struct Lru {
    places: HashMap<u64, usize>,
    nodes: Vec<Node>,
    limit: usize,
}

#[derive(Clone, Copy)]
struct Node {
    key: u64,
    newer: usize,
    older: usize,
}

impl Lru {
    /// The first node is the list's anchor: its `older` is the newest item, its `newer` the oldest.
    fn new(limit: usize) -> Self {
        Lru {
            places: HashMap::new(),
            nodes: vec![Node {
                key: u64::MAX,
                newer: 0,
                older: 0,
            }],
            limit,
        }
    }

    fn unlink(&mut self, at: usize) {
        let Node { newer, older, .. } = self.nodes[at];
        self.nodes[newer].older = older;
        self.nodes[older].newer = newer;
    }

    fn link_newest(&mut self, at: usize) {
        let newest = self.nodes[0].older;
        (self.nodes[at].newer, self.nodes[at].older) = (0, newest);
        self.nodes[newest].newer = at;
        self.nodes[0].older = at;
    }
}

impl Cache for Lru {
    fn hit(&mut self, key: u64) -> bool {
        if let Some(&at) = self.places.get(&key) {
            self.unlink(at);
            self.link_newest(at);
            return true;
        }
        let at = if self.places.len() < self.limit {
            self.nodes.push(Node {
                key,
                newer: 0,
                older: 0,
            });
            self.nodes.len() - 1
        } else {
            let oldest = self.nodes[0].newer;
            self.unlink(oldest);
            self.places.remove(&self.nodes[oldest].key);
            self.nodes[oldest].key = key;
            oldest
        };
        self.places.insert(key, at);
        self.link_newest(at);
        false
    }

    fn items(&self) -> usize {
        self.places.len()
    }
}

/// Keys by a Zipf distribution, from the sums of their weights.
struct Zipf {
    sums: Vec<f64>,
    state: u64,
}

impl Zipf {
    fn new() -> Self {
        let mut sum = 0.0;
        let weight = |rank: u64| (rank as f64).powf(-SKEW);
        let sums = (1..=KEYS)
            .map(|rank| {
                sum += weight(rank);
                sum
            })
            .collect();
        Zipf {
            sums,
            state: 88_172_645_463_325_252,
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let total = self.sums[self.sums.len() - 1];
        let target = (self.state >> 11) as f64 / (1u64 << 53) as f64 * total;
        self.sums.partition_point(|&sum| sum < target) as u64
    }
}
