//! The server's side: its certificates, which clients it admits, and its limits.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};

use super::info::TlsVersion;
use super::names::Names;
use super::permits::{HandshakePermit, Handshakes};
use super::tickets::{Admission, Tickets};
use super::{pem, provider};
use crate::{Clock, Error};

/// A certificate chain and its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate chain, PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// How clients are asked for a certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// A client without a certificate is refused.
    #[default]
    Require,
    /// A client may connect without a certificate; one that it shows must be valid.
    Request,
}

/// The files, settings and limits of a server.
#[derive(Debug, Clone)]
pub struct ServerFiles {
    /// Certificates, each for the DNS names in it, wildcards included. The first one is shown to clients that ask for no
    /// name or for an unknown one.
    pub certificates: Vec<CertificateFiles>,
    /// Certificates of the authorities that may have issued a client's certificate, PEM. None: clients are not asked.
    pub client_ca: Option<PathBuf>,
    /// Revocation lists of these authorities, PEM. A client whose certificate no list covers is refused.
    pub client_crl: Option<PathBuf>,
    /// How clients are asked for a certificate, given a [`client_ca`](ServerFiles::client_ca).
    pub client_auth: ClientAuth,
    /// The versions offered. Default: 1.2 and 1.3.
    pub versions: Vec<TlsVersion>,
    /// Protocols offered by ALPN, most preferred first.
    pub alpn: Vec<Vec<u8>>,
    /// How long one key encrypts session tickets, from a second to 6 h; it decrypts them for as long again. Zero: sessions
    /// cannot be resumed. Default: 6 h.
    pub ticket_rotation: Duration,
    /// The source of the time for the rotation of ticket keys. Default: the system's monotonic clock.
    pub clock: Clock,
    /// How long a handshake may take. Default: 10 s.
    pub handshake_timeout: Duration,
    /// Handshakes in flight on all loops; one more ends the one that began first. Default: 1,024.
    pub handshakes_max: usize,
}

impl Default for ServerFiles {
    fn default() -> ServerFiles {
        ServerFiles {
            certificates: Vec::new(),
            client_ca: None,
            client_crl: None,
            client_auth: ClientAuth::Require,
            versions: vec![TlsVersion::V1_2, TlsVersion::V1_3],
            alpn: Vec::new(),
            ticket_rotation: Duration::from_secs(6 * 60 * 60),
            clock: Clock::default(),
            handshake_timeout: Duration::from_secs(10),
            handshakes_max: 1024,
        }
    }
}

/// The server's side of TLS, shared by all loops, which can be [reloaded](ServerTls::reload) while connections live.
pub struct ServerTls {
    files: ServerFiles,
    loaded: RwLock<Loaded>,
    handshakes: Arc<Handshakes>,
}

/// The result of one load.
struct Loaded {
    config: Arc<ServerConfig>,
    tickets: Tickets,
    at: Instant,
}

/// Counters of a [`ServerTls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTlsStatistics {
    /// Connections that ended during their handshake.
    pub handshakes_failed: u64,
    /// Handshakes that were ended because more were in flight than may be.
    pub handshakes_displaced: u64,
    /// Handshakes in flight.
    pub handshakes_in_flight: usize,
    /// When the files were last loaded.
    pub loaded: Instant,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`Error::TlsFile`] if a file is missing or invalid, or a key does not match its certificate;
    /// [`Error::NoCertificate`] if no certificate is named.
    pub fn from_files(files: ServerFiles) -> Result<Arc<ServerTls>, Error> {
        let loaded = load(&files, None)?;
        Ok(Arc::new(ServerTls {
            handshakes: Arc::new(Handshakes::new(files.handshakes_max)),
            files,
            loaded: RwLock::new(loaded),
        }))
    }

    /// Reads the files again. New connections use the new state; established ones keep what they have. Sessions can still
    /// be resumed, unless the client authorities or their revocation lists have changed, or a certificate of the server was
    /// replaced or removed.
    ///
    /// # Errors
    /// As [`from_files`](ServerTls::from_files); the old state then stays in use.
    pub fn reload(&self) -> Result<(), Error> {
        let tickets = self.read().tickets.clone();
        let loaded = load(&self.files, Some(&tickets))?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> ServerTlsStatistics {
        ServerTlsStatistics {
            handshakes_failed: self.handshakes.failed(),
            handshakes_displaced: self.handshakes.displaced(),
            handshakes_in_flight: self.handshakes.in_flight(),
            loaded: self.read().at,
        }
    }

    pub(crate) fn handshake_timeout(&self) -> Duration {
        self.files.handshake_timeout
    }

    pub(crate) fn handshake_permit(&self) -> HandshakePermit {
        HandshakePermit::take(&self.handshakes)
    }

    pub(crate) fn count_failed_handshake(&self) {
        self.handshakes.count_failed();
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.read().config)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Loaded> {
        // The state is replaced by one assignment, so a panic elsewhere leaves it valid.
        self.loaded.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn load(files: &ServerFiles, tickets: Option<&Tickets>) -> Result<Loaded, Error> {
    let certificates = certificates(files)?;
    let (verifier, mut admission) = client_verifier(files)?;
    let leaves = certificates
        .iter()
        .filter_map(|certificate| certificate.cert.first());
    admission.certificates = leaves.map(|leaf| leaf.to_vec()).collect();
    let (period, clock) = (files.ticket_rotation, &files.clock);
    let tickets = match tickets {
        Some(tickets) => tickets.renewed(admission, period, clock)?,
        None => Tickets::new(admission, period, clock)?,
    };
    let names = Names::new(certificates);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&versions(files))?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(names));
    config.alpn_protocols = files.alpn.clone();
    tickets.install(&mut config);
    Ok(Loaded {
        config: Arc::new(config),
        tickets,
        at: Instant::now(),
    })
}

fn certificates(files: &ServerFiles) -> Result<Vec<CertifiedKey>, Error> {
    if files.certificates.is_empty() {
        return Err(Error::NoCertificate);
    }
    let load = |named: &CertificateFiles| {
        let (chain, key) = (
            pem::certificates(&named.certificate)?,
            pem::private_key(&named.key)?,
        );
        CertifiedKey::from_der(chain, key, &provider()).map_err(|error| pem::invalid(&named.key, error))
    };
    files.certificates.iter().map(load).collect()
}

fn versions(files: &ServerFiles) -> Vec<&'static SupportedProtocolVersion> {
    files
        .versions
        .iter()
        .map(|version| match version {
            TlsVersion::V1_2 => &rustls::version::TLS12,
            TlsVersion::V1_3 => &rustls::version::TLS13,
        })
        .collect()
}

fn client_verifier(files: &ServerFiles) -> Result<(Arc<dyn ClientCertVerifier>, Admission), Error> {
    let Some(client_ca) = &files.client_ca else {
        return Ok((Arc::new(NoClientAuth), Admission::default()));
    };
    let roots = Arc::new(pem::authorities(client_ca)?);
    let mut admission = Admission {
        authorities: to_bytes(&pem::certificates(client_ca)?),
        required: files.client_auth == ClientAuth::Require,
        ..Admission::default()
    };
    let mut builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
    if let Some(client_crl) = &files.client_crl {
        let lists = pem::revocations(client_crl)?;
        admission.revocations = to_bytes(&lists);
        builder = builder.with_crls(lists).only_check_end_entity_revocation();
    }
    if !admission.required {
        builder = builder.allow_unauthenticated();
    }
    let verifier = builder.build().map_err(|error| pem::invalid(client_ca, error))?;
    Ok((verifier, admission))
}

fn to_bytes(list: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
    list.iter().map(|item| item.as_ref().to_vec()).collect()
}
