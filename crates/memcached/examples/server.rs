//! A memcached server: `cargo run --release -p hikyaku-memcached --example server -- 127.0.0.1:11211 memory:?capacity=1GiB`.
//!
//! `--once` answers a first client and ends, as a test of this example.

use std::sync::Arc;
use std::time::{Duration, Instant};

use io::{Config, ListenOptions, Loop, Loops};
use kv::{Engine, Now, Store};
use memcached::{Endpoint, Service, ServiceConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--once")
        .collect();
    let argument = |index, default| arguments.get(index).map_or(default, String::as_str);
    let (store, _notices) = Store::open(argument(1, "memory:?capacity=64MiB"))?;
    let store = Arc::new(store);

    let loops = Loops::start(Config::default())?;
    let config = ServiceConfig {
        loops: loops.len(),
        ..ServiceConfig::default()
    };
    let service = Service::new(config, store.clone());
    let endpoint = Endpoint::new(service.clone(), None);
    let address = argument(0, "127.0.0.1:0").parse()?;
    let bound = loops.listen(&address, ListenOptions::default(), move |stream| {
        endpoint.clone().serve(stream)
    })?;
    println!("listening {}", bound.address());

    // Once a second the store drops what has expired.
    let started = (Instant::now(), Now::from(std::time::SystemTime::now()));
    Loop::new(Config::default())?.run(async {
        while !is_over(&service) {
            io::sleep(Duration::from_secs(1)).await;
            let now = Now(started.1.0 + started.0.elapsed().as_secs() as u32);
            while store.tick(now, 256) {
                io::yield_now().await;
            }
        }
    });
    loops.stop(Duration::from_secs(1));
    Ok(())
}

fn is_over(service: &Service) -> bool {
    std::env::args().any(|argument| argument == "--once") && service.totals().closed_connections > 0
}
