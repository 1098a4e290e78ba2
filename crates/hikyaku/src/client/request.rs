//! What the requests of several commands have in common: keys, times, and replies without a value.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wire::memcached::KEY_LENGTH_MAX;
use wire::memcached::client::meta;
use wire::memcached::meta::MetaVerb;

use super::connection::{Answer, MetaStatus};
use super::{Error, Outcome};

/// The largest number of seconds that the protocol counts from now; larger ones are seconds since the Unix epoch.
const FROM_NOW_MAX: u64 = 30 * 24 * 60 * 60;

/// The time since the Unix epoch.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// How the protocol says when what stays for `ttl` ends; `now` is the time since the Unix epoch.
pub(super) fn exptime(ttl: Duration, now: Duration) -> u64 {
    // Zero would be for good; what was asked for is a short time.
    let seconds = u64::try_from(ttl.as_millis().div_ceil(1000).max(1)).unwrap_or(u64::MAX);
    if seconds <= FROM_NOW_MAX {
        seconds
    } else {
        now.as_secs().saturating_add(seconds)
    }
}

/// Begins a request; a key with unprintable bytes or spaces is sent as base64.
pub(super) fn begin(verb: MetaVerb, key: &[u8], length: Option<u64>) -> Result<Vec<u8>, Error> {
    if !(1..=KEY_LENGTH_MAX).contains(&key.len()) {
        return Err(Error::KeyLength {
            length: key.len(),
            max: KEY_LENGTH_MAX,
        });
    }
    let mut request = Vec::new();
    if key.iter().all(u8::is_ascii_graphic) {
        meta::begin(&mut request, verb, key, length);
    } else {
        meta::begin_binary(&mut request, verb, key, length);
    }
    Ok(request)
}

pub(super) fn done(answer: &Answer) -> Result<Outcome, Error> {
    match answer.status {
        Some(MetaStatus::Hd) => Ok(Outcome::Done),
        _ => Ok(Outcome::Absent),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::exptime;

    /// More than 30 days would be taken for a time long ago, and the item would be gone at once.
    #[test]
    fn long_times_are_told_as_dates() {
        let now = Duration::from_secs(1_800_000_000);
        assert_eq!(exptime(Duration::ZERO, now), 1);
        assert_eq!(exptime(Duration::from_millis(1_001), now), 2);
        assert_eq!(exptime(Duration::from_secs(2_592_000), now), 2_592_000);
        assert_eq!(exptime(Duration::from_secs(2_592_001), now), 1_802_592_001);
    }
}
