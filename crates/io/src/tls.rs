//! TLS configurations made from PEM files.
use crate::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a server's identity lies.
#[derive(Debug, Clone, Default)]
pub struct ServerFiles {
    /// The certificate chain, PEM, leaf first.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Authorities of which a client's certificate must come, PEM; none: clients need no certificate.
    pub client_ca: Option<PathBuf>,
    /// Protocols offered by ALPN, the preferred first.
    pub alpn: Vec<Vec<u8>>,
}

/// A server's side of TLS; can be reloaded while connections live.
#[derive(Debug)]
pub struct ServerTls {
    _p: (),
}
impl ServerTls {
    pub fn from_files(files: ServerFiles) -> Result<Arc<ServerTls>, Error> {
        unimplemented!()
    }
    /// Reads the files again: new connections use them, present ones keep what they have.
    pub fn reload(&self) -> Result<(), Error> {
        unimplemented!()
    }
}

/// Whom a client trusts and who it is.
#[derive(Debug, Clone, Default)]
pub struct ClientFiles {
    /// Authorities of the server's certificate, PEM.
    pub authorities: PathBuf,
    /// The client's own certificate chain and key, PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    pub alpn: Vec<Vec<u8>>,
}

/// A client's side of TLS.
#[derive(Debug, Clone)]
pub struct ClientTls {
    _p: (),
}
impl ClientTls {
    pub fn from_files(files: ClientFiles) -> Result<ClientTls, Error> {
        unimplemented!()
    }
}

#[derive(Default)]
pub(crate) struct Buffers {
    _p: (),
}
pub(crate) struct Session {
    _p: (),
}
use crate::wire::{Part, Wire};
impl Session {
    pub(crate) fn server(_tls: &ServerTls) -> Result<Session, Error> {
        unimplemented!()
    }
    pub(crate) fn client(_tls: &ClientTls, _name: &str) -> Result<Session, Error> {
        unimplemented!()
    }
    pub(crate) fn read(&mut self, _wire: &Wire, _destination: &mut [u8]) -> Result<Option<usize>, Error> {
        unimplemented!()
    }
    pub(crate) fn write_parts(&mut self, _wire: &Wire, _parts: &[Part<'_>]) -> Result<u64, Error> {
        unimplemented!()
    }
    pub(crate) fn flush(&mut self, _wire: &Wire) -> Result<(), Error> {
        unimplemented!()
    }
    pub(crate) fn has_output(&self) -> bool {
        false
    }
    pub(crate) fn has_input(&self) -> bool {
        false
    }
    pub(crate) fn held(&self) -> usize {
        0
    }
    pub(crate) fn ended_properly(&self) -> bool {
        false
    }
    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        None
    }
    pub(crate) fn say_goodbye(&mut self, _wire: &Wire) -> Result<(), Error> {
        unimplemented!()
    }
}
impl crate::connection::Connection {
    pub(crate) fn poll_handshake(
        &mut self,
        _c: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Error>> {
        unimplemented!()
    }
}
