//! `tls = { certificate, key, client_ca }` of a listener.

use std::path::{Path, PathBuf};

use super::reader::{Located, Section, file_in};

/// The files of a listener's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The chain, the listener's own certificate first.
    pub(crate) certificate: Located<PathBuf>,
    pub(crate) key: Located<PathBuf>,
    /// With it clients must show a certificate that it signed.
    pub(crate) client_ca: Option<Located<PathBuf>>,
}

/// Keys of the vocabulary which only later versions read.
const LATER: [&str; 5] = [
    "client_auth",
    "versions",
    "handshake_timeout",
    "handshakes_max",
    "tickets",
];

/// Reads the `tls` of a listener, if it has one.
pub(crate) fn take(listener: &mut Section<'_>, folder: &Path) -> Option<Tls> {
    if listener.holds_list("tls") {
        listener.later("tls", "a list of certificates");
        return None;
    }
    listener.table("tls", "tls").and_then(|table| read(table, folder))
}

/// Reads the table; `None` if it lacks what it needs, which was then noted.
fn read(mut section: Section<'_>, folder: &Path) -> Option<Tls> {
    let certificate = section.take("certificate", file_in(folder));
    let key = section.take("key", file_in(folder));
    let client_ca = section.take("client_ca", file_in(folder));
    for key in LATER {
        section.later(key, key);
    }
    let place = section.place();
    for (name, missing) in [("certificate", certificate.is_none()), ("key", key.is_none())] {
        if missing && !section.holds(name) {
            section.fault(
                place.clone(),
                format!("tls has no {name}; write {name} = \"FILE.pem\""),
            );
        }
    }
    section.finish();
    Some(Tls {
        certificate: certificate?,
        key: key?,
        client_ca,
    })
}
