//! The parameters that the handshake of one connection has negotiated.

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::{CommonState, HandshakeKind, ProtocolVersion};

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    V1_2,
    /// TLS 1.3, RFC 8446.
    V1_3,
}

impl TlsVersion {
    /// As other servers log it: `TLSv1.3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TlsVersion::V1_2 => "TLSv1.2",
            TlsVersion::V1_3 => "TLSv1.3",
        }
    }
}

/// Which side of the connection this is, with rustls's state of it.
pub(super) enum Side {
    Server(UnbufferedServerConnection),
    Client(UnbufferedClientConnection),
}

/// A connection's TLS parameters, from [`Stream::tls`](crate::Stream::tls).
pub struct TlsInfo {
    pub(super) side: Side,
    /// The server name that the client asked for, on the server's side.
    pub(super) server_name: Option<Box<str>>,
}

impl TlsInfo {
    pub(super) fn new(side: Side) -> TlsInfo {
        TlsInfo {
            side,
            server_name: None,
        }
    }

    fn common(&self) -> &CommonState {
        match &self.side {
            Side::Server(connection) => connection,
            Side::Client(connection) => connection,
        }
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.common().is_handshaking()
    }

    /// The version; none before the handshake.
    #[must_use]
    pub fn version(&self) -> Option<TlsVersion> {
        match self.common().protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(TlsVersion::V1_2),
            ProtocolVersion::TLSv1_3 => Some(TlsVersion::V1_3),
            _ => None,
        }
    }

    /// The cipher suite's IANA name, such as `TLS13_AES_256_GCM_SHA384`.
    #[must_use]
    pub fn cipher(&self) -> Option<&'static str> {
        self.common().negotiated_cipher_suite()?.suite().as_str()
    }

    /// The server name that the client asked for (SNI), in lower case. Known to servers only.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// The protocol agreed on by ALPN.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.common().alpn_protocol()
    }

    /// The peer's certificate chain in DER, its own certificate first; empty if it has shown none. Of a resumed session
    /// these are the certificates of the full handshake.
    #[must_use]
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        self.common().peer_certificates().unwrap_or_default()
    }

    /// True if an earlier session was resumed.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

impl std::fmt::Debug for TlsInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsInfo")
            .field("version", &self.version())
            .field("cipher", &self.cipher())
            .field("server_name", &self.server_name())
            .field("alpn", &self.alpn().map(String::from_utf8_lossy))
            .field("peer_certificates", &self.peer_certificates().len())
            .field("resumed", &self.is_resumed())
            .finish()
    }
}
