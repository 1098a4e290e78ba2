//! CPU time of the servers that run on this machine.
//!
//! A server is found by its listening socket: `/proc/net` has the socket's inode, `/proc/PID/fd` the process that holds it.
//! The CPU clock of the process has a resolution of nanoseconds where `ps` has hundredths of a second, so phases of 25 ms
//! are long enough.

use crate::sys;
use crate::target::Address;
use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// The CPU clocks of a server's processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    processes: Vec<u32>,
}

impl Meter {
    /// Finds the processes that listen at `address`. The meter has none if that is another machine, or if reading the
    /// processes' descriptors is not permitted.
    pub(crate) fn find(address: &Address) -> Meter {
        let inodes = match address {
            Address::Tcp(host) => tcp_inodes(host),
            Address::Unix(path) => fs::read_to_string("/proc/net/unix")
                .map(|table| unix_inodes(&table, &path.to_string_lossy()))
                .unwrap_or_default(),
        };
        Meter {
            processes: holders(&inodes),
        }
    }

    pub(crate) fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// CPU time of all the processes so far; `None` without processes, or if one of them has ended.
    pub(crate) fn read(&self) -> Option<Duration> {
        if self.processes.is_empty() {
            return None;
        }
        self.processes.iter().map(|pid| sys::process_cpu(*pid)).sum()
    }
}

fn tcp_inodes(host: &str) -> Vec<u64> {
    let addresses: Vec<SocketAddr> = host.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables: Vec<String> = tables
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    addresses
        .iter()
        .flat_map(|address| tables.iter().flat_map(|table| listeners(table, *address)))
        .collect()
}

/// Inodes of the sockets in a `/proc/net/tcp` or `tcp6` table that listen at an address or at any address.
fn listeners(table: &str, address: SocketAddr) -> Vec<u64> {
    const LISTEN: &str = "0A";
    let local = |ip: &str| {
        let ip = ip_of(ip)?;
        Some(ip == canonical(address.ip()) || (ip.is_unspecified() && is_ours(address.ip())))
    };
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (ip, port) = fields.get(1)?.split_once(':')?;
        let matches = fields.get(3) == Some(&LISTEN)
            && u16::from_str_radix(port, 16).ok()? == address.port()
            && local(ip)?;
        if matches {
            fields.get(9)?.parse().ok()
        } else {
            None
        }
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// Returns true for loopback addresses. For others a local wildcard listener must not be mistaken for a remote server.
fn is_ours(ip: IpAddr) -> bool {
    canonical(ip).is_loopback()
}

/// An IPv4 address that is written as an IPv6 one is the same address.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        four => four,
    }
}

/// The kernel prints addresses as hexadecimal words in the machine's byte order.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(hex.get(at..at + 8)?, 16)
            .ok()
            .map(u32::to_ne_bytes)
    };
    if hex.len() == 8 {
        return word(0).map(IpAddr::from);
    }
    let mut bytes = [0u8; 16];
    for (index, chunk) in bytes.chunks_mut(4).enumerate() {
        chunk.copy_from_slice(&word(index * 8)?);
    }
    Some(canonical(IpAddr::from(bytes)))
}

/// Inodes of the listening sockets of a `/proc/net/unix` table that are bound to a path.
fn unix_inodes(table: &str, path: &str) -> Vec<u64> {
    const ACCEPTS: u32 = 1 << 16;
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
        let matches = flags & ACCEPTS != 0 && fields.get(7) == Some(&path);
        if matches {
            fields.get(6)?.parse().ok()
        } else {
            None
        }
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// The processes that have one of some sockets open.
fn holders(inodes: &[u64]) -> Vec<u32> {
    if inodes.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holds = |pid: &u32| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| names.iter().any(|name| link.as_os_str() == name.as_str()))
    };
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(holds)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_tcp_listener_leads_to_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = Address::Tcp(listener.local_addr().expect("bound").to_string());
        let meter = Meter::find(&address);
        assert_eq!(meter.processes(), [std::process::id()]);
        let before = meter.read().expect("own process");
        while meter.read().expect("own process") == before {}
        drop(listener);
        assert_eq!(Meter::find(&address).processes(), [0u32; 0]);
        assert_eq!(Meter::find(&address).read(), None);
    }

    #[test]
    fn wildcard_and_ipv6_listeners_are_found() {
        for bind in ["0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(bind) else {
                continue;
            };
            let port = listener.local_addr().expect("bound").port();
            let host = if bind.starts_with("[::1") {
                "[::1]"
            } else {
                "127.0.0.1"
            };
            let meter = Meter::find(&Address::Tcp(format!("{host}:{port}")));
            assert_eq!(meter.processes(), [std::process::id()], "{bind}");
        }
    }

    #[test]
    fn a_unix_listener_leads_to_its_process() {
        let path = std::env::temp_dir().join(format!("hikyaku-load-{}.sock", std::process::id()));
        let listener = UnixListener::bind(&path).expect("bind");
        assert_eq!(
            Meter::find(&Address::Unix(path.clone())).processes(),
            [std::process::id()]
        );
        drop(listener);
        std::fs::remove_file(path).expect("remove");
    }

    #[test]
    fn tables_of_the_kernel_are_understood() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:2BCB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000 0 0 4712 1 0 100 0 0 10 0\n";
        let at = |text: &str| listeners(table, text.parse().expect("address"));
        if cfg!(target_endian = "little") {
            assert_eq!(at("127.0.0.1:11211"), [4711]);
            assert!(at("127.0.0.2:11211").is_empty());
            assert!(at("127.0.0.1:11212").is_empty());
        }
    }
}
