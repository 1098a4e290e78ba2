//! The sockets of a listener: new ones, or those of another process.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::Address;
use crate::socket::Socket;

/// What to listen on.
#[derive(Debug)]
pub enum Listen {
    /// New sockets, bound to this address.
    Bind(Address),
    /// Listening sockets that another process or the service manager has handed over, all of one address: what
    /// [`Bound::sockets`](crate::Bound::sockets) returned there.
    Sockets(Vec<OwnedFd>),
    /// Sockets that [`Loops::bind`](crate::Loops::bind) has bound.
    Bound(BoundSockets),
}

impl From<&Address> for Listen {
    fn from(address: &Address) -> Listen {
        Listen::Bind(address.clone())
    }
}

impl From<BoundSockets> for Listen {
    fn from(sockets: BoundSockets) -> Listen {
        Listen::Bound(sockets)
    }
}

impl From<Vec<OwnedFd>> for Listen {
    fn from(sockets: Vec<OwnedFd>) -> Listen {
        Listen::Sockets(sockets)
    }
}

/// Listening sockets that accept nothing yet; made by [`Loops::bind`](crate::Loops::bind). Dropping them closes them.
pub struct BoundSockets {
    pub(crate) sockets: Vec<Arc<Socket>>,
    /// True if each loop has one of its own.
    pub(crate) reuse_port: bool,
}

impl BoundSockets {
    /// The address, with the port that the kernel chose.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.sockets[0].address
    }
}

impl std::fmt::Debug for BoundSockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundSockets")
            .field("address", self.address())
            .finish_non_exhaustive()
    }
}
