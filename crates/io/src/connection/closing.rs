//! The end of a connection, in such a way that everything arrives.

use super::Connection;
use crate::Error;
use crate::source::READABLE;

impl Connection {
    /// Under TLS, sends the alert that says that no more follows.
    pub(crate) fn send_close_notify(&mut self) -> Result<(), Error> {
        match &mut self.tls {
            Some(tls) => tls.close_notify(&self.wire),
            None => Ok(()),
        }
    }

    pub(crate) fn shutdown(&mut self) -> Result<(), Error> {
        self.wire.shutdown_write()
    }

    pub(crate) fn has_unread_input(&self) -> bool {
        !self.input.ended && (!self.input.rest.is_empty() || self.wire.source.bits() & READABLE != 0)
    }
}
