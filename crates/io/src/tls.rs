//! TLS: who we are and whom we trust, read from PEM files.
//!
//! **Invariant:** above [`Stream`](crate::Stream) nobody knows whether a connection speaks TLS.

mod session;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ProducesTickets, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::Error;
pub(crate) use session::{Buffers, Session};

/// Where a server's identity lies.
#[derive(Debug, Clone, Default)]
pub struct ServerFiles {
    /// The certificate chain, PEM, the server's own first.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Authorities one of which must have issued a client's certificate, PEM. None: clients need no certificate.
    pub client_ca: Option<PathBuf>,
    /// Protocols offered by ALPN, the preferred first.
    pub alpn: Vec<Vec<u8>>,
}

/// A server's side of TLS, which can be [reloaded](ServerTls::reload) while connections live.
pub struct ServerTls {
    files: ServerFiles,
    /// Outlives reloads, so that sessions from before can be resumed.
    tickets: Arc<dyn ProducesTickets>,
    loaded: RwLock<Loaded>,
    handshakes_failed: AtomicU64,
}

/// What was read last, and when.
struct Loaded {
    config: Arc<ServerConfig>,
    at: Instant,
}

/// What a server's side of TLS has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTlsStatistics {
    /// Connections that ended in their handshake.
    pub handshakes_failed: u64,
    /// When its files were read last.
    pub loaded: Instant,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    /// When one is missing or holds something else, or the key is not the certificate's.
    pub fn from_files(files: ServerFiles) -> Result<Arc<ServerTls>, Error> {
        let tickets = ring::Ticketer::new()?;
        let config = server_config(&files, &tickets)?;
        Ok(Arc::new(ServerTls {
            files,
            tickets,
            loaded: RwLock::new(Loaded {
                config,
                at: Instant::now(),
            }),
            handshakes_failed: AtomicU64::new(0),
        }))
    }

    /// Reads the files again: new connections use what they say, present ones keep what they have.
    ///
    /// # Errors
    /// As [`from_files`](ServerTls::from_files); then everything stays as it is.
    pub fn reload(&self) -> Result<(), Error> {
        let config = server_config(&self.files, &self.tickets)?;
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Loaded {
            config,
            at: Instant::now(),
        };
        Ok(())
    }

    /// What it has seen so far.
    #[must_use]
    pub fn statistics(&self) -> ServerTlsStatistics {
        ServerTlsStatistics {
            handshakes_failed: self.handshakes_failed.load(Ordering::Relaxed),
            loaded: self.loaded.read().unwrap_or_else(PoisonError::into_inner).at,
        }
    }

    /// Counts a connection that ended in its handshake.
    pub(crate) fn handshake_failed(&self) {
        self.handshakes_failed.fetch_add(1, Ordering::Relaxed);
    }

    fn config(&self) -> Arc<ServerConfig> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&loaded.config)
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Whom a client trusts, and who it is.
#[derive(Debug, Clone, Default)]
pub struct ClientFiles {
    /// Authorities one of which must have issued the server's certificate, PEM.
    pub authorities: PathBuf,
    /// The client's own certificate chain and key, PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Protocols offered by ALPN, the preferred first.
    pub alpn: Vec<Vec<u8>>,
}

/// A client's side of TLS.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Reads the files.
    ///
    /// # Errors
    /// When one is missing or holds something else, or the key is not the certificate's.
    pub fn from_files(files: ClientFiles) -> Result<ClientTls, Error> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(authorities(&files.authorities)?);
        let mut config = match &files.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| wrong(key, error))?,
        };
        config.alpn_protocols = files.alpn;
        Ok(ClientTls {
            config: Arc::new(config),
        })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn server_config(
    files: &ServerFiles,
    tickets: &Arc<dyn ProducesTickets>,
) -> Result<Arc<ServerConfig>, Error> {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(authorities(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
            builder.with_client_cert_verifier(verifier.build().map_err(|error| wrong(path, error))?)
        }
    };
    let mut config = builder
        .with_single_cert(certificates(&files.certificate)?, private_key(&files.key)?)
        .map_err(|error| wrong(&files.key, error))?;
    config.alpn_protocols = files.alpn.clone();
    config.ticketer = Arc::clone(tickets);
    Ok(Arc::new(config))
}

fn wrong(path: &Path, reason: impl ToString) -> Error {
    Error::TlsFile {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(std::iter::Iterator::collect);
    match found {
        Ok(found) if found.is_empty() => Err(wrong(path, "holds no certificate in PEM form")),
        found => found.map_err(|error| wrong(path, error)),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(path, error))
}

fn authorities(path: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, error))?;
    }
    Ok(roots)
}
