//! The client's side: which servers it trusts, and the certificate it shows.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;

use super::verifier::Verifier;
use super::{pem, provider};
use crate::Error;

/// The files and settings of a client.
#[derive(Debug, Clone, Default)]
pub struct ClientFiles {
    /// Certificates of the authorities that may have issued the server's certificate, or a self-signed one of the server's
    /// own, PEM.
    pub authorities: PathBuf,
    /// The client's own certificate chain and key, PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Protocols to offer by ALPN, most preferred first.
    pub alpn: Vec<Vec<u8>>,
}

/// The client's side of TLS. Clones share the sessions that servers let it resume.
#[derive(Debug, Clone)]
pub struct ClientTls {
    pub(super) config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`Error::TlsFile`] if a file is missing or invalid, or the key does not match the certificate.
    pub fn from_files(files: ClientFiles) -> Result<ClientTls, Error> {
        let trusted = Verifier::new(pem::certificates(&files.authorities)?, provider());
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(
                trusted.map_err(|error| pem::invalid(&files.authorities, error))?,
            );
        let mut config = match &files.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(pem::certificates(certificate)?, pem::private_key(key)?)
                .map_err(|error| pem::invalid(key, error))?,
        };
        config.alpn_protocols = files.alpn;
        Ok(ClientTls {
            config: Arc::new(config),
        })
    }
}
