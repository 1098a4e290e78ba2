//! Certificates for the tests: an authority of our own, and what it vouches for.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::Folder;

/// A certificate authority that exists for one test.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes one.
    ///
    /// # Panics
    /// If the library can't.
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    /// Writes the authority's own certificate into the folder, under that name, and tells its path.
    pub fn write(&self, folder: &Folder, name: &str) -> PathBuf {
        folder.write(name, self.certificate.pem())
    }

    /// Writes `NAME.crt` and `NAME.key`, which serve for this machine and its clients, and tells their paths.
    ///
    /// # Panics
    /// If the library can't make them.
    pub fn issue(&self, folder: &Folder, name: &str) -> (PathBuf, PathBuf) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let certificate = folder.write(&format!("{name}.crt"), certificate.pem());
        (
            certificate,
            folder.write(&format!("{name}.key"), key.serialize_pem()),
        )
    }
}
