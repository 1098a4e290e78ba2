//! Idleness, deadlines and eviction: why a connection ends although its peer has not ended it.

use std::task::{Context, Poll};

use super::Connection;
use crate::Error;
use crate::core::{DISPLACED, EVICTED, EXPIRED, LATE, READABLE, WRITABLE};
use crate::counters::Counters;
use crate::tls::HandshakePermit;

impl Connection {
    /// Looks at what a timer or the loop's memory bound has to say against the connection.
    #[cold]
    pub(crate) fn check_faults(&mut self) -> Result<(), Error> {
        let source = &self.wire.source;
        let bits = source.bits();
        if bits & EVICTED != 0 {
            let (held, max) = (source.held(), self.core().config.held_max);
            return Err(Error::HeldLimit { held, asked: 0, max });
        }
        if bits & DISPLACED != 0 {
            let permit = self.permit.as_ref().and_then(|permit| permit.handshake.as_ref());
            let max = permit.map_or(0, HandshakePermit::max);
            return Err(Error::HandshakeDisplaced { max });
        }
        if bits & LATE != 0 {
            return Err(Error::DeadlineExceeded);
        }
        if bits & EXPIRED != 0 {
            return self.check_idle();
        }
        Ok(())
    }

    /// Waits until something speaks against the connection.
    pub(crate) fn poll_faults(&mut self, context: &Context<'_>) -> Poll<Error> {
        match self.check_faults() {
            Err(error) => Poll::Ready(error),
            Ok(()) => {
                self.wire.source.wait(context, 0);
                Poll::Pending
            }
        }
    }

    /// Ends a connection whose peer owes us something: to read what was sent, or else a request. A peer that does either
    /// slowly, or waits for a reply, gets the whole timeout again.
    fn check_idle(&mut self) -> Result<(), Error> {
        let source = &self.wire.source;
        let progress = self.peer_has_read();
        let innocent = if self.must_flush() {
            progress
        } else {
            progress || self.has_open_replies() || source.bits() & READABLE != 0
        };
        if !innocent {
            Counters::add(&self.core().counters.idle_ended);
            let after = source.idle();
            return Err(Error::IdleTimeout { after });
        }
        source.set_idle(source.idle());
        if self.must_flush() {
            // The kernel announces room only when much of its buffer is free; it takes bytes before that.
            source.set(WRITABLE);
        }
        Ok(())
    }

    /// True if the peer has taken something out of the kernel's buffer since this was asked last.
    fn peer_has_read(&self) -> bool {
        let left = self.wire.unacknowledged().filter(|&left| left > 0);
        left.is_some_and(|left| self.wire.source.note_unacknowledged(left))
    }
}
