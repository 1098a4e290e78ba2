//! The engine through a storage that fails and loses power, at every operation of random runs.
#![allow(clippy::unwrap_used)]

mod damage;
mod model;
mod world;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering::Relaxed;

use log::storage::{Loss, Simulated};

use super::Settings;
use world::{COMPACTIONS, World};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const STEPS: usize = 60;

fn settings(seed: u64) -> Settings {
    Settings {
        partitions: Some(1 + seed as u32 % 2),
        segment_bytes: 2000,
        preallocate: seed.is_multiple_of(2),
        compact: false,
        compaction_percent: 100,
        ..Settings::default()
    }
}

/// Runs a store until it has made its steps or stops.
fn run(storage: &Simulated, seed: u64, stops: bool) -> World {
    let mut world = World::new(storage.clone(), settings(seed), seed);
    world.stops = stops;
    if world.open().is_ok() {
        let _ = world.run(STEPS);
    }
    world.hash = None;
    world
}

/// Says which case has failed.
fn tell<T>(story: &str, test: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(AssertUnwindSafe(test)).unwrap_or_else(|panic| {
        eprintln!("in {story}");
        std::panic::resume_unwind(panic)
    })
}

/// Opens a store after a loss, lets it go on, and cuts the power.
fn go_on(world: &World, loss: Loss) {
    let mut world = world.after(loss);
    world.recover(loss != Loss::None);
    let _ = world.run(10);
    world.hash = None;
    tell("the last power cut", || world.after(Loss::All).recover(true));
}

/// Stops a run at every operation. Each time, the store is opened after a loss, goes on, and loses power again.
fn stop_everywhere(seed: u64) {
    let whole = Simulated::new();
    run(&whole, seed, false);
    for stop in 0..whole.operations() {
        let storage = Simulated::new();
        storage.stop_at(stop);
        let stopped = run(&storage, seed, true);
        let some = |number: u64| Loss::Some {
            seed: seed ^ stop << 8 ^ number << 4,
        };
        for loss in [Loss::None, Loss::All, some(1)] {
            tell(&format!("seed {seed}, stopped at {stop}, {loss:?}"), || {
                let mut world = stopped.after(loss);
                world.recover(loss != Loss::None);
                let _ = world.run(20);
                world.hash = None;
                let second = if stop.is_multiple_of(2) {
                    Loss::None
                } else {
                    some(3)
                };
                tell(&format!("then {second:?}"), || go_on(&world, second));
            });
        }
    }
}

/// Lets one operation of a run fail, each in turn.
fn fail_everywhere(seed: u64, name: &str, fault: impl Fn(&Simulated, u64)) {
    let whole = Simulated::new();
    run(&whole, seed, false);
    for operation in 0..whole.operations() {
        tell(&format!("seed {seed}, {name} at {operation}"), || {
            let storage = Simulated::new();
            fault(&storage, operation);
            let world = run(&storage, seed, false);
            for loss in [Loss::None, Loss::Some { seed: operation }] {
                tell(&format!("then {loss:?}"), || go_on(&world, loss));
            }
        });
    }
}

fn fail_with_errors(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        fail_everywhere(seed, "EIO", |storage, at| storage.fail_at(at, EIO));
        fail_everywhere(seed, "ENOSPC", |storage, at| storage.fail_at(at, ENOSPC));
    }
}

fn shorten_writes(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        fail_everywhere(seed, "a short write", Simulated::shorten_at);
        fail_everywhere(seed, "a short write and an error", |storage, at| {
            storage.shorten_at(at);
            storage.fail_at(at + 1, EIO);
        });
    }
}

#[test]
fn a_store_can_stop_anywhere() {
    (1..2).for_each(stop_everywhere);
    assert!(COMPACTIONS.load(Relaxed) > 100, "compactions were stopped, too");
}

#[test]
fn any_operation_can_fail() {
    fail_with_errors(21..22);
}

#[test]
fn any_write_can_be_short() {
    shorten_writes(42..43);
}

/// With other seeds, a number of them in `SEEDS`.
#[test]
#[ignore = "takes minutes"]
fn many_stores_can_stop_and_fail_anywhere() {
    let count = std::env::var("SEEDS").map_or(20, |text| text.parse().expect("a number"));
    for seed in 1000..1000 + count {
        stop_everywhere(seed);
        fail_with_errors(seed..seed + 1);
        shorten_writes(seed..seed + 1);
    }
}
