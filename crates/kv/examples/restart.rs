//! Seconds to open a hash store with a number of items, after it was closed and after it was only dropped.
//!
//!     cargo run --release -p hikyaku-kv --example restart FOLDER [ITEMS [VALUE_BYTES]]
//!
//! Keys have 100 bytes, values 400 unless said otherwise. The folder must be new, and is kept.

use std::time::Instant;

use kv::{Decision, Engine, New, Now, Store};

const NOW: Now = Now(1_700_000_000);
const KEY_BYTES: usize = 100;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder");
    let mut number = |default| {
        arguments
            .next()
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let (items, value_bytes) = (number(1_000_000), number(400));
    let uri = format!("hash:{folder}?sync=none");
    let (store, _) = Store::open(&uri).expect("the folder is new");
    let value = vec![b'v'; value_bytes as usize];
    let parts: &[&[u8]] = &[&value];
    let began = Instant::now();
    for item in 0..items {
        let key = format!("{item:0KEY_BYTES$}");
        let put = |_: Option<&kv::Entry<'_>>| (Decision::Put(New::new(parts)), ());
        let stored = store.update(&store.key(key.as_bytes()), NOW, put);
        assert!(stored.expect("there is room").ready().is_some());
    }
    println!(
        "{items} items of {KEY_BYTES} and {value_bytes} bytes, written in {:.2?}",
        began.elapsed()
    );
    let mut store = store;
    for how in ["dropped", "dropped", "closed", "closed"] {
        if how == "closed" {
            store.close().expect("the device works");
        }
        drop(store);
        let began = Instant::now();
        store = Store::open(&uri).expect("the store is whole").0;
        println!(
            "opened after it was {how}: {} items in {:.2?}",
            store.statistics().items,
            began.elapsed()
        );
    }
}
