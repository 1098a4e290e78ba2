//! A write that is refused costs no other item, and a capacity that cannot be reached yet evicts nothing in vain.

use crate::common::{apply, get, hold, open, set, stored};
use kv::{Decision, Edit, Engine, Now, Payload, Pinned, Store, StoreError};

const NOW: Now = Now(1_000_000);
const MIB: u64 = 1 << 20;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// A store of 16 MiB with ten values of a megabyte that readers hold and many small items. The values stay held until
/// the second part is dropped.
fn crowded(item_size_max: &str) -> (Store, Vec<Pinned>) {
    let store = open(&format!("memory:?capacity=16MiB&item_size_max={item_size_max}"));
    let mut held = Vec::new();
    for number in 0..10 {
        set(&store, &key(number), &vec![number as u8; 1 << 20], NOW).expect("there is room");
        held.extend(hold(&store, &key(number), NOW));
    }
    assert_eq!(held.len(), 10);
    for number in 100..9_000 {
        set(&store, &key(number), &[1; 400], NOW).expect("there is room");
    }
    assert_eq!(store.statistics().evictions, 0);
    (store, held)
}

fn assert_all_there(store: &Store) {
    let figures = store.statistics();
    assert_eq!(
        (figures.evictions, figures.items),
        (0, 8_910),
        "a refusal cost items: {figures:?}"
    );
    for number in 100..9_000 {
        assert_eq!(get(store, &key(number), NOW).as_deref(), Some(&[1; 400][..]));
    }
}

/// One refused `set` once emptied a cache: room was made up to the capacity, though readers held a part of it.
#[test]
fn what_readers_leave_no_room_for_is_refused_at_once() {
    let (store, held) = crowded("8MiB");
    let value = vec![9; 7 << 20];
    for _ in 0..3 {
        assert_eq!(set(&store, b"huge", &value, NOW), Err(StoreError::OutOfMemory));
        assert_eq!(store.reserve(7 << 20, NOW).err(), Some(StoreError::OutOfMemory));
    }
    assert_all_there(&store);
    let more = vec![9; 6 << 20];
    let parts = [&more[..]];
    for prepend in [true, false] {
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let decision = if prepend {
            Decision::Prepend(edit)
        } else {
            Decision::Append(edit)
        };
        assert_eq!(
            apply(&store, &key(3), decision, NOW),
            Err(StoreError::OutOfMemory)
        );
    }
    assert_all_there(&store);
    drop(held);
    set(&store, b"huge", &value, NOW).expect("nobody holds anything");
    assert_eq!(get(&store, b"huge", NOW), Some(value));
}

/// The same where the capacity shrinks below what readers hold.
#[test]
fn a_capacity_below_what_readers_hold_evicts_nothing_in_vain() {
    // Ten megabytes are held and about four are in small items: that is less than eight, so everything small may stay.
    let (store, held) = crowded("2MiB");
    store.resize(8 * MIB).expect("within the bounds");
    for _ in 0..1000 {
        store.tick(NOW, 64);
    }
    assert_all_there(&store);
    // Once the readers have gone, the capacity is reached.
    drop(held);
    for _ in 0..1000 {
        store.tick(NOW, 64);
    }
    assert!(store.statistics().used <= 8 * MIB, "{:?}", store.statistics());
}

/// A refusal leaves the value of its own key, too, unless the caller removes it.
#[test]
fn a_refused_write_leaves_the_old_value() {
    let (store, held) = crowded("8MiB");
    let refused = stored(store.update(&store.key(&key(5)), NOW, |_| {
        (Decision::Put(kv::New::new(&[&[0; 7 << 20]])), ())
    }));
    assert_eq!(refused, Err(StoreError::OutOfMemory));
    assert_eq!(get(&store, &key(5), NOW).as_deref(), Some(&vec![5; 1 << 20][..]));
    drop(held);
}
