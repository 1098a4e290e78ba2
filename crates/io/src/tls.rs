//! TLS: certificates and trust, read from PEM files, and the encryption of one connection.
//!
//! ```text
//!   ServerTls: names ──> certificate     shared by all loops, replaced as a whole by a reload
//!              verifier, tickets
//!        └── Stream::accept_tls ──> TlsLayer, one per connection, between the socket and the loop's buffers
//!                                     └── Stream::tls ──> TlsInfo: version, cipher, names, certificates
//! ```
//!
//! **Invariant:** after the handshake a [`Stream`](crate::Stream) behaves alike with and without TLS.
//!
//! **Invariant:** a session can be resumed only under the client authorities that admitted it, and only while the server's
//! certificates of that time are in use.

mod client;
mod info;
mod layer;
mod names;
mod pem;
mod permits;
mod server;
mod steps;
mod tickets;
mod verifier;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

pub use client::{ClientFiles, ClientTls};
pub use info::{TlsInfo, TlsVersion};
pub(crate) use layer::TlsLayer;
pub(crate) use permits::HandshakePermit;
pub use server::{CertificateFiles, ClientAuth, ServerFiles, ServerTls, ServerTlsStatistics};

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
