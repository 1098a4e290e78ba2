//! The servers under load: `[NAME=]HOST:PORT` or `[NAME=]unix:PATH`.

use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host name or address with a port; it is resolved when the run starts.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A server with its name in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name; by default the address.
    pub name: String,
    /// Its address.
    pub address: Address,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("unix: needs a path".into()),
                path => Ok(Address::Unix(path.into())),
            };
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Address::Tcp(text.into()))
            }
            _ => Err(format!("{text:?} is no address; write HOST:PORT or unix:PATH")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host) => f.write_str(host),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.address)
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) if !name.is_empty() => (Some(name), address),
            _ => (None, text),
        };
        let address: Address = address.parse()?;
        let name = name.map_or_else(|| address.to_string(), str::to_string);
        Ok(Target { name, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_may_have_names() {
        let target: Target = "ours=127.0.0.1:11211".parse().expect("valid");
        assert_eq!(
            (target.name.as_str(), target.address.to_string()),
            ("ours", "127.0.0.1:11211".into())
        );
        let target: Target = "unix:/run/a.sock".parse().expect("valid");
        assert_eq!(target.name, "unix:/run/a.sock");
        assert_eq!(target.address, Address::Unix("/run/a.sock".into()));
        let target: Target = "[::1]:11211".parse().expect("valid");
        assert_eq!(target.address, Address::Tcp("[::1]:11211".into()));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "localhost", ":1", "a:b", "unix:", "x=unix:", "host:70000"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
