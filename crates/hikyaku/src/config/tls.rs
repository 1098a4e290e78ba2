//! `tls` of a listener and its `[[listen.certificate]]`: the certificates it shows and the clients it admits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use io::tls::{ClientAuth, TlsVersion};
use toml::de::DeValue;

use super::fault::Origin;
use super::reader::{Located, Section, boolean, count, duration, file_in, parsed, text};
use super::spelling;

/// A listener's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// At least one; the first is shown to clients that ask for no name or an unknown one.
    pub(crate) certificates: Vec<Certificate>,
    /// With it clients must show a certificate that it signed.
    pub(crate) client_ca: Option<Located<PathBuf>>,
    /// Revocation lists of `client_ca`.
    pub(crate) client_crl: Option<Located<PathBuf>>,
    pub(crate) client_auth: ClientAuth,
    /// `None`: all that are secure.
    pub(crate) versions: Option<Vec<TlsVersion>>,
    pub(crate) handshake_timeout: Option<Duration>,
    pub(crate) handshakes_max: Option<usize>,
    pub(crate) tickets: bool,
}

/// A certificate chain and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// The chain, the listener's own certificate first.
    pub(crate) certificate: Located<PathBuf>,
    pub(crate) key: Located<PathBuf>,
}

impl Tls {
    /// The same, wherever it was written.
    pub(crate) fn without_origins(&self) -> Tls {
        let nowhere = |file: &Located<PathBuf>| Located {
            value: file.value.clone(),
            origin: Origin::Default,
        };
        let certificates = self.certificates.iter().map(|files| Certificate {
            certificate: nowhere(&files.certificate),
            key: nowhere(&files.key),
        });
        Tls {
            certificates: certificates.collect(),
            client_ca: self.client_ca.as_ref().map(nowhere),
            client_crl: self.client_crl.as_ref().map(nowhere),
            ..self.clone()
        }
    }
}

/// Reads a listener's `tls`, a table or a list with a certificate in each element, and its `[[listen.certificate]]`.
pub(crate) fn take(listener: &mut Section<'_>, folder: &Path) -> Option<Tls> {
    let mut tables = match listener.holds_list("tls") {
        true => listener.rows("tls"),
        false => listener.table("tls", "tls").into_iter().collect(),
    }
    .into_iter();
    let mut tls = tables.next().and_then(|first| read(first, folder));
    let further = listener.holds("certificate");
    let rows = listener.rows("certificate");
    if let (true, None, Some(row)) = (further && !listener.holds("tls"), &tls, rows.first()) {
        let text = "a certificate needs tls; write tls = { certificate = \"FILE.pem\", key = \"FILE.pem\" } with the default one";
        listener.fault(row.origin(), text);
    }
    for mut row in tables.chain(rows) {
        let certificate = certificate(&mut row, folder);
        row.finish();
        if let (Some(tls), Some(certificate)) = (&mut tls, certificate) {
            tls.certificates.push(certificate);
        }
    }
    tls
}

/// Reads the table; `None` if the certificate or the key is missing, which is noted.
fn read(mut section: Section<'_>, folder: &Path) -> Option<Tls> {
    let certificate = certificate(&mut section, folder);
    let client_ca = section.take("client_ca", file_in(folder));
    let client_crl = section.take("client_crl", file_in(folder));
    let client_auth = section.take("client_auth", parsed(client_auth));
    for (key, origin) in [
        ("client_crl", client_crl.as_ref().map(|value| &value.origin)),
        ("client_auth", client_auth.as_ref().map(|value| &value.origin)),
    ] {
        if let Some(origin) = origin
            && !section.holds("client_ca")
        {
            let text = format!(
                "{key}: clients are asked for a certificate only with client_ca; write client_ca = \"FILE.pem\""
            );
            section.fault(origin.clone(), text);
        }
    }
    let versions = section.take("versions", versions).map(|versions| versions.value);
    let handshake_timeout = section
        .take("handshake_timeout", duration)
        .map(|timeout| timeout.value);
    let handshakes_max = section.take("handshakes_max", count).map(|max| max.value);
    let tickets = section
        .take("tickets", boolean)
        .is_none_or(|tickets| tickets.value);
    section.finish();
    Some(Tls {
        certificates: vec![certificate?],
        client_ca,
        client_crl,
        client_auth: client_auth.map_or(ClientAuth::Require, |auth| auth.value),
        versions,
        handshake_timeout,
        handshakes_max,
        tickets,
    })
}

/// Reads `certificate` and `key`, which must both be given.
fn certificate(section: &mut Section<'_>, folder: &Path) -> Option<Certificate> {
    let certificate = section.take("certificate", file_in(folder));
    let key = section.take("key", file_in(folder));
    for (name, missing) in [("certificate", certificate.is_none()), ("key", key.is_none())] {
        if missing && !section.holds(name) {
            let text = format!("tls has no {name}; write {name} = \"FILE.pem\"");
            section.fault(section.origin(), text);
        }
    }
    Some(Certificate {
        certificate: certificate?,
        key: key?,
    })
}

fn client_auth(text: &str) -> Result<ClientAuth, String> {
    match text {
        "require" => Ok(ClientAuth::Require),
        "request" => Ok(ClientAuth::Request),
        _ => Err(format!(
            "unknown {text:?}; {}",
            spelling::remedy(text, ["require", "request"].into_iter())
        )),
    }
}

/// One version or a list of them.
fn versions(value: &DeValue<'_>) -> Result<Vec<TlsVersion>, String> {
    match value {
        DeValue::Array(values) if !values.is_empty() => values
            .iter()
            .map(|value| version(&text(value.get_ref())?))
            .collect(),
        DeValue::String(_) => Ok(vec![version(&text(value)?)?]),
        _ => Err("is no list of versions; write [\"1.2\", \"1.3\"]".to_owned()),
    }
}

fn version(text: &str) -> Result<TlsVersion, String> {
    match text {
        "1.2" => Ok(TlsVersion::V1_2),
        "1.3" => Ok(TlsVersion::V1_3),
        _ => Err(format!("{text:?} is not offered; known are \"1.2\" and \"1.3\"")),
    }
}
