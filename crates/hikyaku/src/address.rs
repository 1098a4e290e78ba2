//! Addresses as people write them: `127.0.0.1:11211`, `localhost:11211`, `unix:/run/m.sock`.

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};

use io::Address;

const RIGHT: &str = "write IP:PORT or NAME:PORT, such as \"127.0.0.1:11211\", \"[::1]:11211\" or \"localhost:11211\", or \"unix:/PATH\"";

/// Every address that the text names, in the resolver's order: one, unless it is a name with several.
///
/// # Errors
/// The error and its remedy, as text.
pub(crate) fn resolve(text: &str) -> Result<Vec<Address>, String> {
    if text.starts_with("unix:") || text.parse::<SocketAddr>().is_ok() {
        let address = text.parse().map_err(|_| malformed(text))?;
        return Ok(vec![address]);
    }
    let is_name = text
        .rsplit_once(':')
        .is_some_and(|(name, port)| is_host_name(name) && port.parse::<u16>().is_ok());
    if !is_name {
        return Err(malformed(text));
    }
    let mut addresses = Vec::new();
    for address in text.to_socket_addrs().map_err(|error| unresolved(text, &error))? {
        let address = Address::Tcp(address);
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err(unresolved(text, &ErrorKind::NotFound.into())),
        false => Ok(addresses),
    }
}

/// Returns true if the text can be a name. Digits and dots alone are an IP address with a mistake in it.
fn is_host_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    name.bytes().all(is_part) && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn malformed(text: &str) -> String {
    format!("{text:?} is not an address; {RIGHT}")
}

fn unresolved(text: &str, error: &std::io::Error) -> String {
    let reason = error.to_string();
    let reason = reason
        .strip_prefix("failed to lookup address information: ")
        .unwrap_or(&reason);
    format!("{text:?} cannot be resolved ({reason}); write a name that this machine knows, or an IP address")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn names_have_all_their_addresses_once() {
        let addresses = resolve("localhost:7").expect("every machine knows localhost");
        let loopback = "127.0.0.1:7".parse().expect("an address");
        assert_eq!(
            addresses.iter().filter(|address| **address == loopback).count(),
            1
        );
    }

    #[test]
    fn numbers_and_paths_need_no_resolver() {
        for text in ["127.0.0.1:11211", "[::1]:0", "unix:/run/m.sock"] {
            let addresses = resolve(text).expect("an address");
            assert_eq!(addresses.len(), 1);
            assert_eq!(addresses[0].to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_text_and_the_remedy() {
        for text in [
            "localhost",
            "127.0.0.1",
            "300.0.0.1:7",
            "localhost:99999",
            "unix:",
            ":7",
            "a b:7",
        ] {
            let error = resolve(text).expect_err(text);
            assert!(error.contains("is not an address; "), "{error}");
        }
        let error = resolve("no-such-host.invalid:7").expect_err("no one may have this name");
        assert!(error.contains("cannot be resolved ("), "{error}");
    }
}
