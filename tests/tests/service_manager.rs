//! The daemon's notifications to its service manager: sd_notify(3)'s datagrams.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use hikyaku_tests::{Daemon, Folder, PATIENCE, Signal};

/// The manager's end of the socket.
struct Manager(UnixDatagram);

impl Manager {
    fn bound(address: &SocketAddr) -> Manager {
        let socket = UnixDatagram::bind_addr(address).expect("the address is free");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a duration above zero");
        Manager(socket)
    }

    /// The next datagram.
    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.0.recv(&mut buffer).expect("a datagram comes");
        String::from_utf8(buffer[..length].to_vec()).expect("text")
    }
}

fn start(folder: Folder, name: &OsStr) -> Daemon {
    let arguments = ["--memcached", "127.0.0.1:0", "--workers", "1"];
    Daemon::start_with(folder, &arguments, &[("NOTIFY_SOCKET", name)])
}

#[test]
fn ready_reloading_and_stopping_are_notified() {
    let folder = Folder::new();
    let path = folder.path("notify");
    let manager = Manager::bound(&SocketAddr::from_pathname(&path).expect("a short path"));
    let daemon = start(folder, path.as_os_str());
    assert_eq!(manager.next(), "READY=1");
    daemon.assert_serves();

    daemon.signal(Signal::Hangup);
    let reloading = manager.next();
    let time = reloading
        .strip_prefix("RELOADING=1\nMONOTONIC_USEC=")
        .and_then(|time| time.parse::<u64>().ok());
    assert!(time.is_some_and(|time| time > 0), "{reloading:?}");
    assert_eq!(manager.next(), "READY=1");

    daemon.signal(Signal::Terminate);
    assert_eq!(manager.next(), "STOPPING=1");
    assert!(daemon.ended().0.success());
}

#[test]
fn abstract_sockets_are_notified_too() {
    let name = format!("hikyaku-tests-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let manager = Manager::bound(&address);
    let daemon = start(Folder::new(), format!("@{name}").as_ref());
    assert_eq!(manager.next(), "READY=1");
    daemon.signal(Signal::Terminate);
    assert_eq!(manager.next(), "STOPPING=1");
    assert!(daemon.ended().0.success());
}

#[test]
fn a_manager_that_is_gone_stops_nothing() {
    let folder = Folder::new();
    let path = folder.path("nobody");
    let daemon = start(folder, path.as_os_str());
    daemon.assert_serves();
    daemon.signal(Signal::Terminate);
    let (status, errors) = daemon.ended();
    assert!(status.success());
    assert!(
        errors.contains("the service manager will not be told"),
        "{errors}"
    );
}
