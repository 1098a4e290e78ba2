//! Idleness: when silence is the peer's fault, and when it is ours.

use super::Connection;
use crate::Error;
use crate::core::Counters;
use crate::source::EXPIRED;

impl Connection {
    /// Ends an idle connection, unless a reply is still being worked on: then it gets the whole timeout again.
    #[cold]
    pub(super) fn handle_idle_timeout(&self) -> Result<(), Error> {
        if !self.has_open_replies() {
            return Err(self.idle_timeout());
        }
        let source = &self.wire.source;
        source.clear(EXPIRED);
        source.set_idle(source.idle());
        Ok(())
    }

    #[cold]
    pub(super) fn idle_timeout(&self) -> Error {
        Counters::add(&self.core().counters.idle_ended);
        Error::IdleTimeout {
            after: self.wire.source.idle(),
        }
    }
}
