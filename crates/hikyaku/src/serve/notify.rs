//! Tells the service manager how far the daemon is, as sd_notify(3) describes: one datagram per state to the socket that
//! `NOTIFY_SOCKET` names.
//!
//! **Invariant**: a manager that is missing, slow or gone changes nothing but a line in the log.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The variable that the service manager sets.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// How long one datagram may wait for room in the manager's queue.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The states that the manager knows.
#[derive(Clone, Copy)]
pub(super) enum State {
    /// Every listener accepts.
    Ready,
    /// The configuration is being read again; `Ready` follows.
    Reloading,
    /// The daemon drains and will end.
    Stopping,
}

/// The way to the service manager, if one started the daemon and asked for messages.
pub(super) struct Manager {
    socket: Option<UnixDatagram>,
}

impl Manager {
    /// Connects to the socket that the environment names, while the process still has the rights it was started with.
    pub(super) fn from_environment() -> Manager {
        let name = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let socket = name.and_then(|name| {
            connect(&name)
                .inspect_err(|error| {
                    tracing::warn!(?name, %error, "the service manager will not be told when the daemon is ready");
                })
                .ok()
        });
        Manager { socket }
    }

    /// Sends the state.
    pub(super) fn tell(&self, state: State) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(message(state).as_bytes()) {
            tracing::warn!(%error, "the service manager was not told about the state");
        }
    }
}

/// Connects to a path, or to an abstract name behind `@`.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "neither a path nor an abstract name",
            ));
        }
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// The assignments of a state. A reload carries its time, so that the manager can distinguish it from earlier ones.
fn message(state: State) -> String {
    match state {
        State::Ready => "READY=1".to_owned(),
        State::Stopping => "STOPPING=1".to_owned(),
        State::Reloading => match clock_gettime(ClockId::CLOCK_MONOTONIC) {
            Ok(now) => format!("RELOADING=1\nMONOTONIC_USEC={}", Duration::from(now).as_micros()),
            Err(_) => "RELOADING=1".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Manager, State, connect, message};

    #[test]
    fn other_kinds_of_address_are_refused() {
        for name in ["vsock:2:1234", "relative/path", ""] {
            assert!(connect(name.as_ref()).is_err(), "{name:?}");
        }
        assert!(connect(format!("/{}", "x".repeat(200)).as_ref()).is_err());
    }

    #[test]
    fn no_manager_is_no_error() {
        Manager { socket: None }.tell(State::Ready);
    }

    #[test]
    fn a_reload_says_when() {
        let text = message(State::Reloading);
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("a time");
        assert!(time.parse::<u64>().expect("microseconds") > 0, "{text}");
    }
}
