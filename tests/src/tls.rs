//! Certificates for the tests: an authority and the certificates that it signs.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::Folder;

/// A certificate authority for one test.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority.
    ///
    /// # Panics
    /// If the library fails.
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

    /// Writes `NAME.crt` and `NAME.key`, a certificate for this machine that has signed itself, as `openssl req -x509` does.
    ///
    /// # Panics
    /// If the library fails.
    pub fn self_signed(folder: &Folder, name: &str) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        folder.write(&format!("{name}.crt"), certificate.pem());
        folder.write(&format!("{name}.key"), key.serialize_pem());
    }

    /// Writes the authority's own certificate into the folder and returns its path.
    pub fn write(&self, folder: &Folder, name: &str) -> PathBuf {
        folder.write(name, self.certificate.pem())
    }

    /// Writes `NAME.crt` and `NAME.key`, valid for servers on this machine and for clients, and returns their paths.
    ///
    /// # Panics
    /// If the library fails.
    pub fn issue(&self, folder: &Folder, name: &str) -> (PathBuf, PathBuf) {
        self.issue_for(folder, name, &["localhost", "127.0.0.1"])
    }

    /// The same, valid for servers of these names.
    ///
    /// # Panics
    /// If the library fails.
    pub fn issue_for(&self, folder: &Folder, name: &str, names: &[&str]) -> (PathBuf, PathBuf) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
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
