//! The connections that are open, for `stats conns`.
//!
//! An entry is small, for there may be millions: the peer's address is kept in 8 bytes, our own side's once.
//!
//! **Invariant:** the table is locked for a bounded time: when a connection begins or ends, and to copy some references for
//! `stats conns`. A request stores its second into its own connection's entry and takes no lock.

use std::fmt::{self, Display};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io::{Address, Peer};
use kv::Now;

/// The activity of a connection, in memcached's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    /// Waiting for a request.
    Read = 0,
    /// Waiting for the rest of a value.
    Nread = 1,
    /// Throwing away a value that was refused.
    Swallow = 2,
    /// Reading the log.
    Watch = 3,
    /// Executing a request.
    Parse = 4,
}

impl Activity {
    fn name(self) -> &'static str {
        match self {
            Activity::Read => "conn_read",
            Activity::Nread => "conn_nread",
            Activity::Swallow => "conn_swallow",
            Activity::Watch => "conn_watch",
            Activity::Parse => "conn_parse_cmd",
        }
    }

    fn from_code(code: u8) -> Activity {
        match code {
            1 => Activity::Nread,
            2 => Activity::Swallow,
            3 => Activity::Watch,
            4 => Activity::Parse,
            _ => Activity::Read,
        }
    }
}

/// An address in 8 bytes, where the library's takes 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    V4(SocketAddrV4),
    /// A slot in the table of longer addresses.
    V6(u32),
    Unix,
    Memory,
    Gone,
}

/// IPv6 addresses, stored apart because few connections have one.
#[derive(Debug, Default)]
struct LongAddresses {
    slots: Vec<Option<SocketAddrV6>>,
    free: Vec<u32>,
}

impl LongAddresses {
    fn end(&mut self, peer: &Peer) -> End {
        match peer {
            Peer::Tcp(SocketAddr::V4(address)) => End::V4(*address),
            Peer::Tcp(SocketAddr::V6(address)) => End::V6(self.add(*address)),
            Peer::Unix => End::Unix,
            Peer::Memory => End::Memory,
            Peer::Gone => End::Gone,
        }
    }

    fn add(&mut self, address: SocketAddrV6) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(address);
        slot
    }

    fn remove(&mut self, end: End) {
        if let End::V6(slot) = end {
            self.slots[slot as usize] = None;
            self.free.push(slot);
        }
    }

    fn peer(&self, end: End) -> Peer {
        match end {
            End::V4(address) => Peer::Tcp(address.into()),
            End::V6(slot) => {
                self.slots[slot as usize].map_or(Peer::Gone, |address| Peer::Tcp(address.into()))
            }
            End::Unix => Peer::Unix,
            End::Memory => Peer::Memory,
            End::Gone => Peer::Gone,
        }
    }
}

/// One connection's entry.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u32,
    last_request: AtomicU32,
    /// Its slot in the table.
    slot: u32,
    /// Which of our own addresses it came to.
    local: u16,
    activity: AtomicU8,
    peer: End,
}

impl Connection {
    /// A number that no other connection of the service has had.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Notes that a request came.
    #[inline]
    pub(crate) fn active(&self, now: Now) {
        self.last_request.store(now.0, Ordering::Relaxed);
    }

    pub(crate) fn activity(&self) -> Activity {
        Activity::from_code(self.activity.load(Ordering::Relaxed))
    }

    pub(crate) fn set_activity(&self, state: Activity) {
        self.activity.store(state as u8, Ordering::Relaxed);
    }
}

/// Slots of the table that one call of [`Registry::describe`] looks at.
const SLOTS_DESCRIBED: usize = 256;

/// All of them, and the addresses that are listened on.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    last_id: u32,
    listeners: Vec<(u32, Address)>,
    connections: Vec<Option<Arc<Connection>>>,
    /// Free slots of `connections`.
    free: Vec<u32>,
    /// Addresses of this machine that clients connected to.
    locals: Vec<Peer>,
    long: LongAddresses,
}

/// The connections in some slots of the table, each with its peer's address and our own.
struct Part {
    connections: Vec<(Arc<Connection>, Peer, Peer)>,
    unix_path: Option<String>,
    /// The slot that follows, unless these were the last.
    next: Option<usize>,
}

impl Tables {
    fn next_id(&mut self) -> u32 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    fn local(&mut self, local: Peer) -> u16 {
        let known = self.locals.iter().position(|known| *known == local);
        let index = known.unwrap_or(self.locals.len()).min(usize::from(u16::MAX));
        if index == self.locals.len() {
            self.locals.push(local);
        }
        index as u16
    }
}

impl Registry {
    pub(crate) fn add_listener(&self, address: Address) {
        let mut tables = self.tables();
        let id = tables.next_id();
        tables.listeners.push((id, address));
    }

    pub(crate) fn add(&self, peer: Peer, local: Peer, now: Now) -> Arc<Connection> {
        let mut tables = self.tables();
        let id = tables.next_id();
        let local = tables.local(local);
        let peer = tables.long.end(&peer);
        let slot = tables.free.pop().unwrap_or(tables.connections.len() as u32);
        let connection = Arc::new(Connection {
            id,
            last_request: AtomicU32::new(now.0),
            slot,
            local,
            activity: AtomicU8::new(Activity::Read as u8),
            peer,
        });
        match tables.connections.get_mut(slot as usize) {
            Some(free) => *free = Some(connection.clone()),
            None => tables.connections.push(Some(connection.clone())),
        }
        connection
    }

    pub(crate) fn remove(&self, connection: &Connection) {
        let mut tables = self.tables();
        tables.long.remove(connection.peer);
        tables.connections[connection.slot as usize] = None;
        tables.free.push(connection.slot);
    }

    /// The address of a connection's peer.
    pub(crate) fn peer(&self, connection: &Connection) -> Peer {
        self.tables().long.peer(connection.peer)
    }

    /// The path of the Unix socket that is listened on, if there is one.
    pub(crate) fn unix_path(&self) -> Option<String> {
        self.tables().unix_path()
    }

    /// The port that is listened on, or 0.
    pub(crate) fn port(&self) -> u16 {
        let tables = self.tables();
        let mut ports = tables.listeners.iter().filter_map(|(_, address)| match address {
            Address::Tcp(address) => Some(address.port()),
            Address::Unix(_) => None,
        });
        ports.next().unwrap_or(0)
    }

    pub(crate) fn len(&self) -> usize {
        let tables = self.tables();
        tables.connections.len() - tables.free.len()
    }

    /// Tells name and value of everything that is known of the listeners.
    pub(crate) fn describe_listeners(&self, mut tell: impl FnMut(&str, &dyn Display)) {
        let listeners = self.tables().listeners.clone();
        for (id, address) in &listeners {
            tell(&format!("{id}:addr"), &listener(address));
            tell(&format!("{id}:state"), &"conn_listening");
            tell(&format!("{id}:secs_since_last_cmd"), &0);
        }
    }

    /// Tells the same of the connections in the next [`SLOTS_DESCRIBED`] slots from `from` on, and answers the slot to go on
    /// with. The connection `asking` is executing.
    pub(crate) fn describe(
        &self,
        from: usize,
        asking: u32,
        now: Now,
        mut tell: impl FnMut(&str, &dyn Display),
    ) -> Option<usize> {
        // The table is locked to copy some references, not while text is made of them.
        let part = self.part(from);
        let path = part.unix_path.unwrap_or_default();
        for (connection, peer, local) in part.connections {
            let id = connection.id;
            tell(&format!("{id}:addr"), &Written(&peer, ""));
            tell(&format!("{id}:listen_addr"), &Written(&local, &path));
            let state = match id == asking {
                true => Activity::Parse,
                false => connection.activity(),
            };
            tell(&format!("{id}:state"), &state.name());
            let last = connection.last_request.load(Ordering::Relaxed);
            tell(&format!("{id}:secs_since_last_cmd"), &now.0.saturating_sub(last));
        }
        part.next
    }

    fn part(&self, from: usize) -> Part {
        let tables = self.tables();
        let end = (from + SLOTS_DESCRIBED).min(tables.connections.len());
        let slots = tables.connections.get(from..end).unwrap_or_default();
        let with_ends = |connection: &Arc<Connection>| {
            let local = tables.locals[usize::from(connection.local)].clone();
            (connection.clone(), tables.long.peer(connection.peer), local)
        };
        Part {
            connections: slots.iter().flatten().map(with_ends).collect(),
            unix_path: tables.unix_path(),
            next: (end < tables.connections.len()).then_some(end),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn unix_path(&self) -> Option<String> {
        self.listeners.iter().find_map(|(_, address)| match address {
            Address::Unix(path) => Some(path.display().to_string()),
            Address::Tcp(_) => None,
        })
    }
}

fn listener(address: &Address) -> String {
    match address {
        Address::Tcp(address) => Written(&Peer::Tcp(*address), "").to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    }
}

/// An end of a connection as memcached writes it; the path is for Unix sockets.
struct Written<'a>(&'a Peer, &'a str);

impl Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Peer::Tcp(address) if address.is_ipv6() => write!(f, "tcp6:{address}"),
            Peer::Tcp(address) => write!(f, "tcp:{address}"),
            Peer::Unix => write!(f, "unix:{}", self.1),
            other => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn lines(registry: &Registry, asking: u32, now: u32) -> Vec<String> {
        let mut lines = Vec::new();
        let mut tell = |name: &str, value: &dyn Display| lines.push(format!("{name} {value}"));
        registry.describe_listeners(&mut tell);
        let mut from = Some(0);
        while let Some(slot) = from {
            from = registry.describe(slot, asking, Now(now), &mut tell);
        }
        lines
    }

    #[test]
    fn connections_are_listed_while_they_are_open() {
        let registry = Registry::default();
        registry.add_listener("127.0.0.1:11211".parse().unwrap());
        let peer = Peer::Tcp("127.0.0.1:5000".parse().unwrap());
        let local = Peer::Tcp("127.0.0.1:11211".parse().unwrap());
        let first = registry.add(peer.clone(), local.clone(), Now(100));
        let second = registry.add(peer, local, Now(100));
        first.set_activity(Activity::Nread);
        second.active(Now(104));
        let expected = [
            "1:addr tcp:127.0.0.1:11211",
            "1:state conn_listening",
            "1:secs_since_last_cmd 0",
            "2:addr tcp:127.0.0.1:5000",
            "2:listen_addr tcp:127.0.0.1:11211",
            "2:state conn_nread",
            "2:secs_since_last_cmd 4",
            "3:addr tcp:127.0.0.1:5000",
            "3:listen_addr tcp:127.0.0.1:11211",
            "3:state conn_parse_cmd",
            "3:secs_since_last_cmd 0",
        ];
        assert_eq!(lines(&registry, 3, 104), expected);
        registry.remove(&first);
        let third = registry.add(Peer::Memory, Peer::Memory, Now(104));
        assert_eq!(third.id(), 4, "numbers are not used again");
        registry.remove(&third);
        assert_eq!((registry.len(), lines(&registry, 3, 104).len()), (1, 7));
    }

    #[test]
    fn many_connections_are_listed_in_parts() {
        let registry = Registry::default();
        let count = 2 * SLOTS_DESCRIBED + 1;
        let connections: Vec<_> = (0..count)
            .map(|_| registry.add(Peer::Memory, Peer::Memory, Now(1)))
            .collect();
        registry.remove(&connections[0]);
        assert_eq!(lines(&registry, 0, 1).len(), (count - 1) * 4);
        assert_eq!(registry.describe(0, 0, Now(1), |_, _| {}), Some(SLOTS_DESCRIBED));
        assert_eq!(registry.describe(count, 0, Now(1), |_, _| {}), None);
    }

    #[test]
    fn unix_sockets_have_their_listeners_path() {
        let registry = Registry::default();
        registry.add_listener("unix:/run/m.sock".parse().unwrap());
        registry.add(Peer::Unix, Peer::Unix, Now(1));
        let lines = lines(&registry, 0, 1);
        assert_eq!(lines[0], "1:addr unix:/run/m.sock");
        assert!(
            lines.contains(&"2:listen_addr unix:/run/m.sock".to_owned()),
            "{lines:?}"
        );
    }
}
