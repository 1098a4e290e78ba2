//! The files that a configuration names: what cannot be read now cannot be used later.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use io::Address;
use io::tls::{CertificateFiles, ServerFiles, ServerTls};
use memcached::Users;

use super::Config;
use super::fault::{Faults, Origin};
use super::reader::Located;
use super::tls::Tls;

/// Reads every users file and certificate and notes those that are missing or wrong, and sockets whose folder is missing.
pub(super) fn check(config: &Config, faults: &mut Faults) {
    let mut origins = Vec::new();
    for listener in &config.listeners {
        if let Address::Unix(path) = &listener.address {
            check_folder(path, &listener.origin, faults);
        }
        // The addresses of one name were written once.
        if listener.name.is_some() && origins.contains(&&listener.origin) {
            continue;
        }
        origins.push(&listener.origin);
        if let Some(file) = &listener.users
            && let Err(text) = users(&file.value)
        {
            faults.add(file.origin.clone(), format!("users: {text}"));
        }
        if let Some(files) = &listener.tls {
            check_tls(files, faults);
        }
    }
}

fn check_folder(socket: &Path, origin: &Origin, faults: &mut Faults) {
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder.filter(|folder| !folder.is_dir()) else {
        return;
    };
    let what = match folder.exists() {
        true => "is not a folder; choose another path",
        false => "does not exist; create it or choose another path",
    };
    faults.add(
        origin.clone(),
        format!("address: the folder {} {what}", folder.display()),
    );
}

/// The users of a file of `name:password` lines.
pub(crate) fn users(file: &Path) -> Result<Users, String> {
    let text = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
    Users::parse(&text).map_err(|error| match error {
        memcached::Error::NoUsers => format!("{}: {error}", file.display()),
        _ => format!("{}: {error}; write a name:password line a user", file.display()),
    })
}

/// The TLS that the files make.
pub(crate) fn tls(configured: &Tls) -> Result<Arc<ServerTls>, String> {
    let default = ServerFiles::default();
    let path = |file: &Option<Located<PathBuf>>| file.as_ref().map(|file| file.value.clone());
    let certificates = configured.certificates.iter().map(|files| CertificateFiles {
        certificate: files.certificate.value.clone(),
        key: files.key.value.clone(),
    });
    let files = ServerFiles {
        certificates: certificates.collect(),
        client_ca: path(&configured.client_ca),
        client_crl: path(&configured.client_crl),
        client_auth: configured.client_auth,
        versions: configured.versions.clone().unwrap_or(default.versions),
        handshake_timeout: configured.handshake_timeout.unwrap_or(default.handshake_timeout),
        handshakes_max: configured.handshakes_max.unwrap_or(default.handshakes_max),
        ticket_rotation: match configured.tickets {
            true => default.ticket_rotation,
            false => Duration::ZERO,
        },
        alpn: Vec::new(),
        clock: default.clock,
    };
    ServerTls::from_files(files).map_err(|error| format!("{error}; write PEM files that belong together"))
}

/// A file that is missing is noted where it is named; what only shows when all are read, at the certificate.
fn check_tls(configured: &Tls, faults: &mut Faults) {
    let mut readable = true;
    let pairs = configured
        .certificates
        .iter()
        .flat_map(|files| [("certificate", &files.certificate), ("key", &files.key)]);
    let authorities = configured.client_ca.iter().map(|file| ("client_ca", file));
    let revocations = configured.client_crl.iter().map(|file| ("client_crl", file));
    for (key, Located { value, origin }) in pairs.chain(authorities).chain(revocations) {
        if let Err(error) = std::fs::File::open(value) {
            readable = false;
            faults.add(origin.clone(), format!("{key}: {}", unreadable(value, &error)));
        }
    }
    if !readable {
        return;
    }
    // Each certificate alone first, so that the one that is wrong is named.
    for files in &configured.certificates {
        let alone = Tls {
            certificates: vec![files.clone()],
            ..configured.clone()
        };
        if let Err(text) = tls(&alone) {
            faults.add(files.certificate.origin.clone(), format!("tls: {text}"));
        }
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> String {
    let remedy = match error.kind() {
        std::io::ErrorKind::NotFound => "create it or name another",
        std::io::ErrorKind::PermissionDenied => "let this user read it",
        _ => "name a readable file",
    };
    format!("{} cannot be read ({error}); {remedy}", file.display())
}
