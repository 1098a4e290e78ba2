//! Why the daemon could not start, with the remedy.

use std::io::ErrorKind;

use io::Address;

use crate::system::privileges;

/// What stands between a right configuration and a running daemon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("cannot listen on {address}: {}", bind_remedy(.source))]
    Listen { address: Address, source: io::Error },
    #[error("store {name:?}: {source}; a smaller capacity may fit")]
    Store { name: String, source: kv::Error },
    #[error("the loops cannot start: {0}")]
    Loops(io::Error),
    #[error("user: {0}")]
    User(#[from] privileges::Error),
    #[error("{0}")]
    File(String),
}

/// The kernel's reason, and what to do about it.
fn bind_remedy(error: &io::Error) -> String {
    let io::Error::Bind { source, .. } = error else {
        return error.to_string();
    };
    match source.kind() {
        ErrorKind::AddrInUse => {
            "address in use; end what listens there or choose another (port 0 picks a free one)".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "permission denied; ports below 1024 want the capability NET_BIND_SERVICE (systemd: \
            AmbientCapabilities=CAP_NET_BIND_SERVICE), Unix sockets a folder that this user may write"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "no interface has this address; choose one that `ip address` shows".to_owned()
        }
        ErrorKind::NotFound => "the folder of the socket does not exist; create it".to_owned(),
        _ => source.to_string(),
    }
}
