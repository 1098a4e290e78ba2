//! The lines that watchers read, in memcached's words, so that its users' scripts understand them.

use std::time::{SystemTime, UNIX_EPOCH};

use format::append;

/// How a lookup ended.
pub(crate) fn item_get(out: &mut Vec<u8>, id: u64, key: &[u8], found: Option<u64>, connection: u32) {
    head(out, id, "item_get");
    append_key(out, key);
    let (status, size) = found.map_or(("not_found", 0), |length| ("found", length));
    append!(out, " status={status} clsid=1 cfd={connection} size={size}\n");
}

/// How a store ended.
pub(crate) fn item_store(out: &mut Vec<u8>, id: u64, key: &[u8], store: &Store<'_>, connection: u32) {
    head(out, id, "item_store");
    append_key(out, key);
    let Store {
        status,
        command,
        seconds,
        length,
    } = store;
    append!(
        out,
        " status={status} cmd={command} ttl={seconds} clsid=1 cfd={connection} size={length}\n"
    );
}

/// What [`item_store`] tells.
pub(crate) struct Store<'a> {
    pub(crate) status: &'a str,
    pub(crate) command: &'a str,
    pub(crate) seconds: i64,
    pub(crate) length: u64,
}

/// A client deleted an item; `command` is `delete` or `md`.
pub(crate) fn deleted(out: &mut Vec<u8>, id: u64, key: &[u8], command: &str, length: u64) {
    head(out, id, "deleted");
    append_key(out, key);
    append!(out, " cmd={command} clsid=1 size={length}\n");
}

/// The store let an item go to make room.
pub(crate) fn evicted(out: &mut Vec<u8>, id: u64, key: &[u8], item: &Eviction) {
    head(out, id, "eviction");
    append_key(out, key);
    let Eviction {
        fetched,
        seconds,
        idle,
        length,
    } = item;
    let fetched = if *fetched { "yes" } else { "no" };
    append!(
        out,
        " fetch={fetched} ttl={seconds} la={idle} clsid=1 size={length}\n"
    );
}

/// What [`evicted`] tells.
pub(crate) struct Eviction {
    pub(crate) fetched: bool,
    /// Its time to live; -1 is for ever.
    pub(crate) seconds: i64,
    /// Seconds since its last access.
    pub(crate) idle: u32,
    pub(crate) length: u64,
}

/// A connection began, or ended for `reason`.
pub(crate) fn connection(out: &mut Vec<u8>, id: u64, peer: &Peer, reason: Option<&str>, connection: u32) {
    head(
        out,
        id,
        if reason.is_some() {
            "conn_close"
        } else {
            "conn_new"
        },
    );
    let Peer {
        address,
        port,
        transport,
    } = peer;
    append!(out, " rip={address} rport={port} transport={transport}");
    if let Some(reason) = reason {
        append!(out, " reason={reason}");
    }
    append!(out, " cfd={connection}\n");
}

/// What [`connection`] tells of the other end.
pub(crate) struct Peer {
    pub(crate) address: String,
    pub(crate) port: u16,
    pub(crate) transport: &'static str,
}

impl From<&io::Peer> for Peer {
    fn from(peer: &io::Peer) -> Peer {
        match peer {
            io::Peer::Tcp(address) => Peer {
                address: address.ip().to_string(),
                port: address.port(),
                transport: "tcp",
            },
            _ => Peer {
                address: "unix".to_owned(),
                port: 0,
                transport: "local",
            },
        }
    }
}

fn head(out: &mut Vec<u8>, id: u64, kind: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, micros) = (now.as_secs(), now.subsec_micros());
    append!(out, "ts={seconds}.{micros} gid={id} type={kind}");
}

fn append_key(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b" key=");
    uri_encode(out, key);
}

/// Appends `key` with every byte but RFC 3986's unreserved ones as `%XX`.
pub(crate) fn uri_encode(out: &mut Vec<u8>, key: &[u8]) {
    for &byte in key {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte);
        } else {
            append!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The line without its time stamp.
    fn line(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("ts="), "{text}");
        text.split_once(' ').unwrap().1.to_owned()
    }

    #[test]
    fn lines_are_memcacheds() {
        assert_eq!(
            line(|out| item_get(out, 7, b"a#b", Some(4), 3)),
            "gid=7 type=item_get key=a%23b status=found clsid=1 cfd=3 size=4\n"
        );
        let store = Store {
            status: "stored",
            command: "set",
            seconds: 0,
            length: 4,
        };
        assert_eq!(
            line(|out| item_store(out, 8, b"foo", &store, 3)),
            "gid=8 type=item_store key=foo status=stored cmd=set ttl=0 clsid=1 cfd=3 size=4\n"
        );
        assert_eq!(
            line(|out| deleted(out, 9, b"foo", "md", 4)),
            "gid=9 type=deleted key=foo cmd=md clsid=1 size=4\n"
        );
        let eviction = Eviction {
            fetched: true,
            seconds: -1,
            idle: 5,
            length: 4,
        };
        assert_eq!(
            line(|out| evicted(out, 10, b"foo", &eviction)),
            "gid=10 type=eviction key=foo fetch=yes ttl=-1 la=5 clsid=1 size=4\n"
        );
        let peer = Peer {
            address: "127.0.0.1".into(),
            port: 80,
            transport: "tcp",
        };
        assert_eq!(
            line(|out| connection(out, 1, &peer, Some("normal"), 3)),
            "gid=1 type=conn_close rip=127.0.0.1 rport=80 transport=tcp reason=normal cfd=3\n"
        );
    }
}
