//! Which protocol a connection speaks.

use wire::memcached::{Dialect, dialect};

use crate::config::Dialects;
use crate::context::Context;
use crate::operations::Exchange;
use crate::{binary, text};

/// A connection's protocol, told by its first byte.
pub(crate) enum Protocol {
    Unknown,
    Text(text::State),
    Binary(binary::State),
}

impl Protocol {
    /// The protocol of a connection that begins so, if it's one that may be spoken.
    pub(crate) fn of(context: &Context, input: &[u8]) -> Option<Protocol> {
        let spoken = input.first().map(|&byte| dialect(byte))?;
        if is_tls(input) {
            tell_of_tls(context);
            return None;
        }
        match (spoken, context.service().config.dialects) {
            (Dialect::Text, Dialects::Auto | Dialects::Text) => Some(Protocol::Text(text::State::default())),
            (Dialect::Binary, Dialects::Auto | Dialects::Binary) => {
                Some(Protocol::Binary(binary::State::default()))
            }
            _ => None,
        }
    }
}

impl Protocol {
    /// Notes what the next commands in the input need; returns the number of bytes of their input.
    pub(crate) fn look_ahead(&self, exchange: &Exchange<'_>, input: &[u8]) -> usize {
        match self {
            Protocol::Text(state) => state.look_ahead(exchange, input),
            Protocol::Binary(state) => state.look_ahead(exchange, input),
            Protocol::Unknown => 0,
        }
    }

    /// Begins the conditional writes of commands whose items have been fetched.
    pub(crate) fn begin_writes(&self, exchange: &Exchange<'_>, input: &[u8]) {
        exchange.waits().warm.begin_writes(|| match self {
            Protocol::Text(state) => state.begin_writes(exchange, input),
            Protocol::Binary(state) => state.begin_writes(exchange, input),
            Protocol::Unknown => {}
        });
    }
}

/// Whether a TLS handshake begins here: a record of type 22 and version 3. No command begins with a control character.
fn is_tls(input: &[u8]) -> bool {
    matches!(input, [22, 3, ..])
}

#[cold]
fn tell_of_tls(context: &Context) {
    let service = context.service();
    if service.may_warn() {
        tracing::warn!(
            peer = %service.registry.peer(&context.connection),
            "a client speaks TLS to a listener without TLS; give the listener a certificate, or connect without TLS"
        );
    }
}
