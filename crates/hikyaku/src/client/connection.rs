//! A connection to a server: requests go out whole, replies come back as values of their own.

use io::tls::{ClientFiles, ClientTls};
use io::{Address, Exchange, Stream, Took};
use wire::Parsed;
use wire::memcached::client::text::{self, Reply};
use wire::memcached::text::{Store, StoreVerb};

pub(super) use wire::memcached::client::text::MetaStatus;

use super::{Error, Server};

/// A connection that has logged in, if a login was asked for.
pub(super) struct Connection {
    stream: Stream,
}

/// A reply to a meta command, without its value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// `None` for a classic reply.
    pub(super) status: Option<MetaStatus>,
    /// Bytes of the value that follows.
    pub(super) length: u64,
    pub(super) flags: u32,
    pub(super) cas: u64,
    /// Seconds it stays; `None`: for good.
    pub(super) ttl: Option<u64>,
}

impl Connection {
    pub(super) async fn open(server: &Server) -> Result<Connection, Error> {
        let addresses = crate::address::resolve(&server.server).map_err(Error::Address)?;
        let tls = server.tls()?;
        let mut connection = Connection {
            stream: connect(&addresses, tls.as_ref(), host(&server.server)).await?,
        };
        if let Some(user) = &server.user {
            connection.log_in(user).await?;
        }
        Ok(connection)
    }

    async fn log_in(&mut self, user: &str) -> Result<(), Error> {
        let password = std::env::var("HIKYAKU_PASSWORD").map_err(|_| Error::NoPassword)?;
        let words = format!("{user} {password}");
        let (key, length) = (b"login".as_slice(), words.len() as u64);
        let store = Store {
            verb: StoreVerb::Set,
            key,
            flags: 0,
            exptime: 0,
            length,
            cas: 0,
            noreply: false,
        };
        let mut request = Vec::new();
        text::store(&mut request, &store, words.as_bytes());
        self.send(request).await?;
        match self.answer().await {
            Ok(_) => Ok(()),
            Err(Error::Refused(_) | Error::LoginWanted) => Err(Error::LoginRefused),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn send(&mut self, request: Vec<u8>) -> Result<(), Error> {
        self.stream.send(request).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next reply; an error that the server answers is ours, too.
    pub(super) async fn answer(&mut self) -> Result<Answer, Error> {
        self.parsed(|input| match text::parse(input) {
            Parsed::Done(Ok(reply), used) => Parsed::Done(answer(&reply), used),
            Parsed::Done(Err(error), used) => Parsed::Done(Err(error.into()), used),
            Parsed::More(least) => Parsed::More(least),
        })
        .await
    }

    /// The value of an answer, from the socket into its place.
    pub(super) async fn value(&mut self, answer: &Answer) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(answer.length).unwrap_or(usize::MAX - 2);
        let mut value = vec![0; length + 2];
        self.stream.read_exact(&mut value).await?;
        value.truncate(length);
        Ok(value)
    }

    /// The next line, without its end.
    pub(super) async fn line(&mut self) -> Result<Vec<u8>, Error> {
        self.parsed(|input| match input.iter().position(|byte| *byte == b'\n') {
            Some(end) => Parsed::Done(Ok(input[..end].trim_ascii_end().to_vec()), end + 1),
            None => Parsed::More(input.len() + 1),
        })
        .await
    }

    async fn parsed<T>(&mut self, parse: impl Fn(&[u8]) -> Parsed<Result<T, Error>>) -> Result<T, Error> {
        loop {
            let mut done = None;
            let turn = self.stream.exchange(|input, _| match parse(input) {
                Parsed::Done(result, used) => {
                    done = Some(result);
                    Took::from(used)
                }
                Parsed::More(need) => Took::waiting(0, need),
            });
            let turn = turn.await?;
            match done {
                Some(result) => return result,
                None if turn != Exchange::Open => return Err(Error::Closed),
                None => {}
            }
        }
    }
}

impl Server {
    /// The TLS that the flags ask for.
    fn tls(&self) -> Result<Option<ClientTls>, Error> {
        let Some(authorities) = self.tls_ca.clone() else {
            return Ok(None);
        };
        let files = ClientFiles {
            authorities,
            identity: self.tls_certificate.clone().zip(self.tls_key.clone()),
            alpn: Vec::new(),
        };
        Ok(Some(ClientTls::from_files(files)?))
    }
}

/// Connects to the first address that accepts; there is at least one.
async fn connect(addresses: &[Address], tls: Option<&ClientTls>, name: &str) -> Result<Stream, Error> {
    let mut refused = None;
    for address in addresses {
        let connected = match tls {
            None => Stream::connect(address).await,
            Some(tls) => Stream::connect_tls(address, tls, name).await,
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error @ io::Error::Connect { .. }) => refused = Some(error),
            Err(error) if error.is_cleartext() => return Err(Error::Cleartext),
            Err(error) if error.is_disconnect() => return Err(Error::HandshakeClosed),
            Err(error) => return Err(Error::Io(error)),
        }
    }
    Err(refused.map_or(Error::Closed, Error::Io))
}

/// The name that the certificate has to have: the address without its port.
fn host(server: &str) -> &str {
    let name = server.rsplit_once(':').map_or(server, |(name, _)| name);
    name.trim_start_matches('[').trim_end_matches(']')
}

/// Replies of a server that cannot store a value.
const NOT_STORED: [&[u8]; 3] = [
    b"CLIENT_ERROR cannot increment or decrement non-numeric value",
    b"SERVER_ERROR object too large for cache",
    b"SERVER_ERROR out of memory storing object",
];

fn answer(reply: &Reply<'_>) -> Result<Answer, Error> {
    let meta = match reply {
        Reply::Meta(meta) => meta,
        Reply::Stored => return Ok(Answer::default()),
        Reply::Error(line) if *line == b"CLIENT_ERROR unauthenticated" => return Err(Error::LoginWanted),
        // The server works; it's this value that it can't take.
        Reply::Error(line) if NOT_STORED.contains(line) => {
            return Err(Error::NotStored(String::from_utf8_lossy(line).into()));
        }
        Reply::Error(line) | Reply::Other(line) => {
            return Err(Error::Refused(String::from_utf8_lossy(line).into()));
        }
        other => return Err(Error::Refused(format!("{other:?}"))),
    };
    let mut answer = Answer {
        status: Some(meta.status),
        length: meta.length,
        ..Answer::default()
    };
    for flag in meta.flags.clone() {
        let number = std::str::from_utf8(flag.argument())
            .ok()
            .and_then(|text| text.parse::<i64>().ok());
        match flag.name {
            b'f' => {
                answer.flags = number
                    .and_then(|flags| u32::try_from(flags).ok())
                    .unwrap_or_default()
            }
            b'c' => answer.cas = cas(flag.argument()),
            b't' => answer.ttl = number.and_then(|ttl| u64::try_from(ttl).ok()),
            _ => {}
        }
    }
    Ok(answer)
}

/// A cas uses all 64 bits.
fn cas(argument: &[u8]) -> u64 {
    std::str::from_utf8(argument)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Answer, MetaStatus, answer, host};
    use wire::Parsed;
    use wire::memcached::client::text;

    fn read(line: &[u8]) -> Result<Answer, super::Error> {
        match text::parse(line) {
            Parsed::Done(reply, _) => answer(&reply.expect("a reply")),
            Parsed::More(_) => panic!("the line is whole"),
        }
    }

    #[test]
    fn flags_of_a_reply_are_read() {
        let expected = Answer {
            status: Some(MetaStatus::Va),
            length: 3,
            flags: 7,
            cas: u64::MAX,
            ttl: Some(60),
        };
        assert_eq!(
            read(b"VA 3 f7 c18446744073709551615 t60\r\n").expect("an answer"),
            expected
        );
        assert_eq!(read(b"VA 3 t-1\r\n").expect("an answer").ttl, None);
    }

    #[test]
    fn errors_of_the_server_are_ours() {
        assert!(matches!(
            read(b"SERVER_ERROR out of memory\r\n"),
            Err(super::Error::Refused(_))
        ));
        assert!(matches!(
            read(b"SERVER_ERROR object too large for cache\r\n"),
            Err(super::Error::NotStored(_))
        ));
        assert!(matches!(
            read(b"CLIENT_ERROR unauthenticated\r\n"),
            Err(super::Error::LoginWanted)
        ));
    }

    #[test]
    fn the_certificate_is_for_the_host() {
        assert_eq!(host("example.com:11211"), "example.com");
        assert_eq!(host("[::1]:11211"), "::1");
    }
}
