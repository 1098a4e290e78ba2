//! Resident memory keeps the promise that the capacity makes. In a process of its own, since it's the process that's measured.

use kv::{Decision, Engine, New, Now, Store};

const NOW: Now = Now(1_000_000);

#[test]
fn resident_memory_stays_bounded() {
    const CAPACITY: u64 = 48 << 20;
    let before = resident();
    let store = Store::open(&format!("memory:?capacity={CAPACITY}"))
        .expect("the name is right")
        .0;
    let bound = CAPACITY + CAPACITY / 10 + (64 << 20);
    let mut state = 88_172_645_463_325_252;
    for number in 0..400_000u64 {
        fill(&store, number, &mut state);
        if number.is_multiple_of(10_000) {
            let figures = store.statistics();
            assert!(figures.used <= figures.capacity);
            assert!(
                resident().saturating_sub(before) <= bound,
                "more memory than promised at {number}: {figures:?}"
            );
        }
    }
    assert!(store.statistics().evictions > 100_000);
    // A store that is given less gives memory back to the system.
    store.resize(CAPACITY / 6).expect("that's within the bounds");
    while store.tick(NOW, 64) {}
    assert!(store.statistics().used <= CAPACITY / 6);
    let rest = resident().saturating_sub(before);
    assert!(rest <= CAPACITY / 3, "{rest} bytes are still there");
}

/// Stores one item, small or large.
fn fill(store: &Store, number: u64, state: &mut u64) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let value = [7u8; 50_000];
    let length = match *state % 200 {
        0 => 50_000,
        1..10 => *state / 200 % 3000,
        _ => *state / 200 % 500,
    };
    let (key, parts) = (number.to_le_bytes(), [&value[..length as usize]]);
    let outcome = store.update(&store.key(&key), NOW, |_| (Decision::Put(New::new(&parts)), ()));
    outcome
        .expect("evicting makes room")
        .ready()
        .expect("memory answers at once");
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    let pages = text.split(' ').nth(1).and_then(|field| field.parse::<u64>().ok());
    pages.expect("statm has numbers") * 4096
}
