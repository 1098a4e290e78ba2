//! Sessions that clients may resume: the keys of their tickets, and the conditions under which they were issued.
//!
//! Resuming a session skips the check of both certificates. A session is therefore bound to the verifier that checked the
//! client's and to the certificates that the server had: a reload that changes the client authorities or their revocation
//! lists, or that removes a certificate of the server, replaces the ticket keys.
//!
//! ```text
//!   period:    0             1             2             3
//!   key A      encrypts ─────┤ decrypts ───┤ forgotten
//!   key B                    encrypts ─────┤ decrypts ───┤
//! ```

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{
    NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache, StoresServerSessions,
};

use crate::{Clock, Error};

/// TLS 1.2 sessions of one period kept in memory for clients that support no tickets.
const SESSIONS_MAX: usize = 256;
/// The range of a period. The provider's keys last no longer than this.
const PERIOD_MIN: Duration = Duration::from_secs(1);
const PERIOD_MAX: Duration = Duration::from_secs(6 * 60 * 60);

/// What was checked, or shown, when a session began.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Admission {
    /// The inputs of the client verifier, byte for byte.
    pub(super) authorities: Vec<Vec<u8>>,
    pub(super) revocations: Vec<Vec<u8>>,
    pub(super) required: bool,
    /// The server's own certificates.
    pub(super) certificates: Vec<Vec<u8>>,
}

impl Admission {
    /// True if a session that this admitted is as good as one that `later` admits: nothing changed but that the server has
    /// more certificates.
    fn still_holds(&self, later: &Admission) -> bool {
        let kept = |certificate| later.certificates.contains(certificate);
        self.certificates.iter().all(kept)
            && self.authorities == later.authorities
            && self.revocations == later.revocations
            && self.required == later.required
    }
}

/// The means to resume sessions, shared by all loops.
#[derive(Clone)]
pub(super) struct Tickets {
    admission: Admission,
    rotation: Option<Arc<Rotation>>,
}

impl Tickets {
    /// New keys, each of which encrypts tickets for `period` and decrypts them for as long again. With a period of zero no
    /// session can be resumed.
    pub(super) fn new(admission: Admission, period: Duration, clock: &Clock) -> Result<Tickets, Error> {
        let rotation = match period.is_zero() {
            true => None,
            false => Some(Arc::new(Rotation::new(period, clock)?)),
        };
        Ok(Tickets { admission, rotation })
    }

    /// The same keys if sessions of theirs are still good under `admission`, otherwise new ones: earlier sessions can no
    /// longer be resumed.
    pub(super) fn renewed(
        &self,
        admission: Admission,
        period: Duration,
        clock: &Clock,
    ) -> Result<Tickets, Error> {
        if !self.admission.still_holds(&admission) {
            return Tickets::new(admission, period, clock);
        }
        let rotation = self.rotation.clone();
        Ok(Tickets { admission, rotation })
    }

    pub(super) fn install(&self, config: &mut ServerConfig) {
        match &self.rotation {
            Some(rotation) => {
                config.session_storage = Arc::clone(rotation) as _;
                config.ticketer = Arc::clone(rotation) as _;
            }
            None => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
        }
    }
}

/// The key of one period, and the sessions kept in it.
#[derive(Clone, Debug)]
struct Period {
    key: Arc<dyn ProducesTickets>,
    sessions: Arc<ServerSessionMemoryCache>,
}

impl Period {
    fn new() -> Result<Period, rustls::Error> {
        Ok(Period {
            key: ring::Ticketer::new()?,
            sessions: ServerSessionMemoryCache::new(SESSIONS_MAX),
        })
    }
}

/// The periods whose sessions can be resumed.
#[derive(Clone, Debug)]
struct Periods {
    current: Period,
    previous: Option<Period>,
    /// When the current one began.
    since: Instant,
}

/// Keys and sessions that are replaced as time passes, when they are next used.
#[derive(Debug)]
struct Rotation {
    period: Duration,
    clock: Clock,
    periods: Mutex<Periods>,
}

impl Rotation {
    fn new(period: Duration, clock: &Clock) -> Result<Rotation, rustls::Error> {
        Ok(Rotation {
            period: period.clamp(PERIOD_MIN, PERIOD_MAX),
            clock: clock.clone(),
            periods: Mutex::new(Periods {
                current: Period::new()?,
                previous: None,
                since: clock.read(),
            }),
        })
    }

    /// The periods at this time; none if the system has no random numbers for a new key.
    fn periods(&self) -> Option<Periods> {
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        let age = self.clock.read().saturating_duration_since(periods.since);
        if age >= self.period {
            let last = mem::replace(&mut periods.current, Period::new().ok()?);
            // A key that no one has used for two periods is too old to decrypt.
            periods.previous = (age < 2 * self.period).then_some(last);
            let begun = age.as_nanos() / self.period.as_nanos();
            periods.since += self
                .period
                .saturating_mul(u32::try_from(begun).unwrap_or(u32::MAX));
        }
        Some(periods.clone())
    }

    /// The first result from the current period or the one before.
    fn find<R>(&self, f: impl Fn(&Period) -> Option<R>) -> Option<R> {
        let periods = self.periods()?;
        f(&periods.current).or_else(|| periods.previous.as_ref().and_then(f))
    }
}

impl ProducesTickets for Rotation {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(2 * self.period.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.periods()?.current.key.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.find(|period| period.key.decrypt(cipher))
    }
}

impl StoresServerSessions for Rotation {
    fn put(&self, id: Vec<u8>, session: Vec<u8>) -> bool {
        self.periods()
            .is_some_and(|periods| periods.current.sessions.put(id, session))
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.find(|period| period.sessions.get(id))
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.find(|period| period.sessions.take(id))
    }

    fn can_cache(&self) -> bool {
        true
    }
}
