//! Sessions that clients may resume: the keys of their tickets, and the conditions under which they were issued.
//!
//! Resuming a session skips the check of the client's certificate. A session is therefore bound to the verifier that
//! checked it: a reload that changes the client authorities or their revocation lists also replaces the ticket keys.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{GetRandomFailed, ring};
use rustls::server::{
    NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache, StoresServerSessions,
};
use rustls::ticketer::TicketRotator;

use crate::Error;

/// TLS 1.2 sessions kept in memory for clients that support no tickets.
const SESSIONS_MAX: usize = 256;

/// The inputs of the client verifier, byte for byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Admission {
    pub(super) authorities: Vec<Vec<u8>>,
    pub(super) revocations: Vec<Vec<u8>>,
    pub(super) required: bool,
}

/// The means to resume sessions, shared by all loops.
#[derive(Clone)]
pub(super) struct Tickets {
    admission: Admission,
    keys: Option<Arc<dyn ProducesTickets>>,
    sessions: Arc<dyn StoresServerSessions>,
}

impl Tickets {
    /// New keys, each of which encrypts tickets for `rotation` and decrypts them for as long again. With a rotation of
    /// zero no session can be resumed.
    pub(super) fn new(admission: Admission, rotation: Duration) -> Result<Tickets, Error> {
        if rotation.is_zero() {
            return Ok(Tickets {
                admission,
                keys: None,
                sessions: Arc::new(NoServerSessionStorage {}),
            });
        }
        let seconds = u32::try_from(rotation.as_secs()).unwrap_or(u32::MAX / 2).max(1);
        Ok(Tickets {
            admission,
            keys: Some(Arc::new(TicketRotator::new(seconds, key)?)),
            sessions: ServerSessionMemoryCache::new(SESSIONS_MAX),
        })
    }

    /// The same if `admission` has not changed, otherwise new keys: earlier sessions can no longer be resumed.
    pub(super) fn renewed(&self, admission: Admission, rotation: Duration) -> Result<Tickets, Error> {
        if self.admission == admission {
            Ok(self.clone())
        } else {
            Tickets::new(admission, rotation)
        }
    }

    pub(super) fn install(&self, config: &mut ServerConfig) {
        config.session_storage = Arc::clone(&self.sessions);
        match &self.keys {
            Some(keys) => config.ticketer = Arc::clone(keys),
            None => config.send_tls13_tickets = 0,
        }
    }
}

/// One ticket key. The provider makes keys that rotate by themselves, only more slowly than asked here.
#[derive(Debug)]
struct Key(Arc<dyn ProducesTickets>);

fn key() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    let key = ring::Ticketer::new().map_err(|_| GetRandomFailed)?;
    Ok(Box::new(Key(key)))
}

impl ProducesTickets for Key {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}
