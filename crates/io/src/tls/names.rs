//! The certificate that a client is shown, chosen by the server name it asks for (SNI).
//!
//! The names are those in the certificates. An exact name wins over a wildcard, and a client that asks for another name,
//! or for none, is shown the first certificate. Of several certificates for one name, such as an ECDSA and an RSA one, the
//! first is chosen whose key the client supports.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use webpki::EndEntityCert;

thread_local! {
    static REQUESTED: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// The server name that the last `ClientHello` processed on this thread asked for.
///
/// rustls tells it to the resolver, but not to the owner of an unbuffered connection. A connection therefore takes it from
/// here after each step of its handshake; a step runs on one thread from beginning to end.
pub(super) fn take_requested() -> Option<Box<str>> {
    REQUESTED.take()
}

/// Certificates by name.
#[derive(Debug)]
pub(super) struct Names {
    default: Vec<Arc<CertifiedKey>>,
    /// By names in lower case; a wildcard's stands under its pattern, `*.example.com`.
    by_name: HashMap<Box<str>, Vec<Arc<CertifiedKey>>>,
}

impl Names {
    /// Indexes certificates by their names. The first is the default, together with others for its first name.
    pub(super) fn new(certificates: Vec<CertifiedKey>) -> Names {
        let certificates: Vec<Arc<CertifiedKey>> = certificates.into_iter().map(Arc::new).collect();
        let mut by_name: HashMap<Box<str>, Vec<Arc<CertifiedKey>>> = HashMap::new();
        for certificate in &certificates {
            for name in dns_names(certificate) {
                by_name.entry(name).or_default().push(Arc::clone(certificate));
            }
        }
        let first = certificates.first();
        let first_name = first.and_then(|certificate| dns_names(certificate).into_iter().next());
        let alike = first_name.and_then(|name| by_name.get(&name)).cloned();
        let default = alike.unwrap_or_else(|| first.cloned().into_iter().collect());
        Names { default, by_name }
    }

    fn candidates(&self, name: &str) -> &[Arc<CertifiedKey>] {
        if let Some(exact) = self.by_name.get(name) {
            return exact;
        }
        let wildcard = name.split_once('.').map(|(_, parent)| format!("*.{parent}"));
        let found = wildcard.and_then(|pattern| self.by_name.get(pattern.as_str()));
        found.unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        let candidates = name
            .as_deref()
            .map_or(&*self.default, |name| self.candidates(name));
        let schemes = hello.signature_schemes();
        let supported = candidates
            .iter()
            .find(|certificate| certificate.key.choose_scheme(schemes).is_some());
        REQUESTED.set(name.map(String::into_boxed_str));
        // With none that the client supports the handshake fails either way, with a clearer alert if it goes on.
        supported.or(candidates.first()).cloned()
    }
}

/// The DNS names of a certificate, in lower case; none if it cannot be parsed.
fn dns_names(certificate: &CertifiedKey) -> Vec<Box<str>> {
    let Ok(leaf) = certificate.end_entity_cert() else {
        return Vec::new();
    };
    let Ok(parsed) = EndEntityCert::try_from(leaf) else {
        return Vec::new();
    };
    parsed
        .valid_dns_names()
        .map(|name| name.to_ascii_lowercase().into_boxed_str())
        .collect()
}
