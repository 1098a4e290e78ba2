//! The output of `serve`, for people and for programs that start it.
//!
//! **Invariant**: one line per listener, with its real port, and `ready` last, in one write.

use std::fmt::Write;

use io::Address;

/// The banner of these memcached listeners.
pub(super) fn text<'a>(addresses: impl Iterator<Item = &'a Address>) -> String {
    let mut banner = String::new();
    for address in addresses {
        // Writing to a String cannot fail.
        let _infallible = writeln!(banner, "listening memcached {address}");
    }
    banner.push_str("ready\n");
    banner
}

#[cfg(test)]
mod tests {
    use super::text;
    use io::Address;

    #[test]
    fn ready_comes_last() {
        let addresses = [
            Address::Tcp(([127, 0, 0, 1], 11211).into()),
            Address::Unix("/run/m.sock".into()),
        ];
        let expected = "listening memcached 127.0.0.1:11211\nlistening memcached unix:/run/m.sock\nready\n";
        assert_eq!(text(addresses.iter()), expected);
        assert_eq!(text([].iter()), "ready\n");
    }
}
