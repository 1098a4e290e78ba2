//! Load for memcached-protocol servers: what `hikyaku bench kv` runs.

mod options;

pub use options::{Options, Protocol};

use crate::{Error, Report};

/// Runs the load that `options` describe and says what it found.
pub fn run(options: Options) -> Result<Report, Error> {
    let _ = options;
    unimplemented!("the generator lands with the next commit")
}
