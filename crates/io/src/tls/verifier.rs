//! Verifies a server's certificate as webpki does, and also accepts a self-signed one that is itself named as an authority.
//!
//! Tools make self-signed certificates as authorities, and webpki refuses an authority as a server's own certificate. Whoever
//! names exactly this certificate as trusted has pinned it, so curl and OpenSSL accept it; so does this.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

#[derive(Debug)]
pub(super) struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    /// The trusted certificates.
    pinned: Vec<CertificateDer<'static>>,
}

impl Verifier {
    /// Trusts these certificates, and what they have signed. The error says what is wrong with them.
    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<Verifier>, String> {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| error.to_string())?;
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Arc::new(Verifier {
            inner: inner.map_err(|error| error.to_string())?,
            pinned: certificates,
        }))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let inner = &self.inner;
        let verified = inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // webpki has checked the dates before it looks at what the certificate is for.
            Err(Error::InvalidCertificate(error))
                if is_authority(&error) && self.pinned.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Whether webpki refused the certificate only for being an authority's.
fn is_authority(error: &CertificateError) -> bool {
    let CertificateError::Other(OtherError(source)) = error else {
        return false;
    };
    matches!(source.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
