//! A certificate authority in a temporary directory, and the certificates it issues.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use io::tls::CertificateFiles;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// A temporary directory, removed with this value.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(name: &str) -> Directory {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hikyaku-io-{}-{number}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An authority whose own certificate is `ca.pem` in its directory.
pub struct Authority {
    directory: Directory,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        parameters
            .distinguished_name
            .push(DnType::CommonName, format!("authority {name}"));
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let directory = Directory::new(name);
        fs::write(directory.path().join("ca.pem"), certificate.pem()).unwrap();
        Authority {
            directory,
            issuer: Issuer::new(parameters, key),
        }
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// The files that [`issue`](Authority::issue) writes.
    pub fn files(&self, file: &str) -> CertificateFiles {
        CertificateFiles {
            certificate: self.path(&format!("{file}.pem")),
            key: self.path(&format!("{file}.key")),
        }
    }

    /// Writes `FILE.pem` and `FILE.key`: a certificate for `names`, whose serial number is returned.
    pub fn issue(&self, file: &str, names: &[&str]) -> SerialNumber {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let serial = SerialNumber::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.serial_number = Some(serial.clone());
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let files = self.files(file);
        fs::write(files.certificate, certificate.pem()).unwrap();
        fs::write(files.key, key.serialize_pem()).unwrap();
        serial
    }

    /// Writes a list of revoked certificates.
    pub fn revoke(&self, file: &str, serials: &[SerialNumber]) {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: serial.clone(),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).unwrap();
        fs::write(self.path(file), list.pem().unwrap()).unwrap();
    }
}
