//! Certificates, keys and revocation lists from PEM files.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::Error;

/// An error that names the file.
pub(super) fn invalid(path: &Path, reason: impl ToString) -> Error {
    Error::TlsFile {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// The certificates of a file, at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match found {
        Ok(found) if found.is_empty() => Err(invalid(path, "contains no certificate in PEM format")),
        found => found.map_err(|error| invalid(path, error)),
    }
}

/// The first private key of a file.
pub(super) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| invalid(path, error))
}

/// The revocation lists of a file, at least one.
pub(super) fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Error> {
    let found: Result<Vec<_>, _> =
        CertificateRevocationListDer::pem_file_iter(path).and_then(Iterator::collect);
    match found {
        Ok(found) if found.is_empty() => Err(invalid(path, "contains no revocation list in PEM format")),
        found => found.map_err(|error| invalid(path, error)),
    }
}

/// The certificates of a file as trust anchors.
pub(super) fn authorities(path: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| invalid(path, error))?;
    }
    Ok(roots)
}
