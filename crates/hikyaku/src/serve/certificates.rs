//! The certificates that listeners show, which are read again while they do.

use std::sync::{Arc, Mutex, PoisonError};

use io::tls::ServerTls;

use crate::config::files;
use crate::config::tls::Tls;

/// Every listener's TLS.
#[derive(Default)]
pub(super) struct Certificates {
    loaded: Mutex<Vec<Arc<ServerTls>>>,
}

impl Certificates {
    /// Loads a listener's files.
    pub(super) fn load(&self, named: &Tls) -> Result<Arc<ServerTls>, String> {
        let tls = files::tls(named)?;
        self.loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(tls.clone());
        Ok(tls)
    }

    /// Returns true if any listener encrypts.
    pub(super) fn any(&self) -> bool {
        !self
            .loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Reads all files again; a listener whose files are wrong keeps what it has. The error names all of those.
    pub(super) fn reload(&self) -> Result<(), String> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong: Vec<String> = loaded
            .iter()
            .filter_map(|tls| Some(tls.reload().err()?.to_string()))
            .collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("; "))
        }
    }
}
