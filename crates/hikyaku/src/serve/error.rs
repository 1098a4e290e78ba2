//! Why the daemon could not start, with the remedy.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;

use io::Address;

use crate::system::privileges;

/// Why a daemon with a valid configuration cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("cannot listen on {address}: {}", bind_remedy(.address, .source))]
    Listen { address: Address, source: io::Error },
    #[error("store {name:?}: {source}")]
    Store { name: String, source: kv::Error },
    #[error("the loops cannot start: {0}")]
    Loops(io::Error),
    #[error("user: {0}")]
    User(#[from] privileges::Error),
    #[error("{0}")]
    File(String),
}

impl Error {
    /// Returns true if no interface of this machine has the address, or the kernel lacks its family.
    pub(super) fn is_absent_address(&self) -> bool {
        let Error::Listen {
            source: io::Error::Bind { source, .. },
            ..
        } = self
        else {
            return false;
        };
        source.kind() == ErrorKind::AddrNotAvailable || source.raw_os_error() == Some(nix::libc::EAFNOSUPPORT)
    }
}

/// The kernel's reason, and what to do about it.
fn bind_remedy(address: &Address, error: &io::Error) -> String {
    let io::Error::Bind { source, .. } = error else {
        return error.to_string();
    };
    match source.kind() {
        ErrorKind::AddrInUse if is_other_file(address) => {
            "something that is no socket stands there; choose a path where nothing is, or remove it"
                .to_owned()
        }
        ErrorKind::AddrInUse if matches!(address, Address::Unix(_)) => {
            "another process listens there; end it or choose another path".to_owned()
        }
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

/// Returns true if a folder, or a file of another kind, has the path of a Unix socket.
fn is_other_file(address: &Address) -> bool {
    match address {
        Address::Unix(path) => {
            fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.file_type().is_socket())
        }
        Address::Tcp(_) => false,
    }
}
