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
