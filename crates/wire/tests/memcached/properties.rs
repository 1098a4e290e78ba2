//! Properties that hold for any input, shared by these tests and the fuzz targets.
//!
//! Each stream is parsed twice: all at once, and byte by byte (a long one in small pieces). Both must give the same
//! messages, and every call must keep the contract of `Parsed`.

use super::describe;
use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::meta::MetaVerb;
use hikyaku_wire::memcached::text::{self, Cause, Command, LINE_LENGTH_MAX};
use hikyaku_wire::memcached::{binary, client};

/// Checks the contract of `Parsed`.
pub(crate) fn kept<T>(parsed: Parsed<T>, input: &[u8]) -> Parsed<T> {
    match &parsed {
        Parsed::Done(_, used) => assert!(
            *used > 0 && *used <= input.len(),
            "used {used} of {}",
            input.len()
        ),
        Parsed::More(least) => assert!(*least > input.len(), "more than {} is {least}", input.len()),
    }
    parsed
}

/// The result of parsing the available bytes of a stream.
enum Outcome {
    /// This many bytes have been used.
    Used(usize),
    /// More bytes are needed.
    More,
    /// The connection is closed.
    Closed,
}

/// Parses a stream and logs its messages.
trait Reader: Default {
    fn advance(&mut self, input: &[u8]) -> Outcome;
    fn log(self) -> Vec<String>;
}

fn read_at_once<R: Reader>(input: &[u8]) -> Vec<String> {
    let mut reader = R::default();
    feed(&mut reader, input);
    reader.log()
}

/// The number of pieces is limited because each one is parsed together with the rest of the one before.
const PIECES_MAX: usize = 800;

fn read_by_byte<R: Reader>(input: &[u8]) -> Vec<String> {
    let mut reader = R::default();
    let mut start = 0;
    let piece = input.len().div_ceil(PIECES_MAX).max(1);
    for end in (0..input.len()).step_by(piece).skip(1).chain([input.len()]) {
        match feed(&mut reader, &input[start..end]) {
            Some(used) => start += used,
            None => break,
        }
    }
    reader.log()
}

/// Advances to the end of the input. Returns the number of bytes used, or `None` if the connection was closed.
fn feed<R: Reader>(reader: &mut R, input: &[u8]) -> Option<usize> {
    let mut used = 0;
    while used < input.len() {
        match reader.advance(&input[used..]) {
            Outcome::Used(more) => used += more,
            Outcome::More => break,
            Outcome::Closed => return None,
        }
    }
    Some(used)
}

/// The state of a text connection between two calls.
#[derive(Default)]
enum State {
    #[default]
    Line,
    Keys,
    SkipLine,
    Swallow(u64),
}

#[derive(Default)]
struct TextReader {
    state: State,
    log: Vec<String>,
}

impl TextReader {
    fn refuse(&mut self, error: text::Error, used: usize) -> Outcome {
        if error.fatal() {
            return Outcome::Closed;
        }
        self.state = match error.swallow() {
            0 if error.skip_line() => State::SkipLine,
            0 => State::Line,
            bytes => State::Swallow(bytes),
        };
        Outcome::Used(used)
    }

    fn line(&mut self, input: &[u8]) -> Outcome {
        let (result, used) = match kept(text::parse(input), input) {
            Parsed::Done(result, used) => (result, used),
            Parsed::More(_) => return Outcome::More,
        };
        if result.is_ok() {
            trailing_space(&input[..used], &result);
        }
        self.log
            .push(describe::text(&result).trim_end_matches(" skip-line").to_owned());
        match result {
            Ok(Command::Store(store)) => self.state = State::Swallow(store.length + 2),
            Ok(Command::Meta(meta)) if meta.verb == MetaVerb::Set => {
                self.state = State::Swallow(meta.length + 2)
            }
            Ok(Command::Get(get)) if !get.complete => self.state = State::Keys,
            Ok(_) => {}
            Err(error) => return self.refuse(error, used),
        }
        Outcome::Used(used)
    }

    fn keys(&mut self, input: &[u8]) -> Outcome {
        let last = self.log.last_mut().expect("keys follow a command");
        match kept(text::parse_keys(input), input) {
            Parsed::Done(Ok(run), used) => {
                for key in run.keys {
                    *last += if last.ends_with(' ') { "" } else { " " };
                    *last += &describe::escaped(key);
                }
                if run.complete {
                    self.state = State::Line;
                }
                Outcome::Used(used)
            }
            Parsed::Done(Err(error), used) => {
                *last = describe::error(&error).trim_end_matches(" skip-line").to_owned();
                self.refuse(error, used)
            }
            Parsed::More(_) => Outcome::More,
        }
    }
}

impl Reader for TextReader {
    fn advance(&mut self, input: &[u8]) -> Outcome {
        match self.state {
            State::Line => self.line(input),
            State::Keys => self.keys(input),
            State::SkipLine => {
                let (used, found) = text::skip_line(input);
                if found {
                    self.state = State::Line;
                }
                Outcome::Used(used)
            }
            State::Swallow(bytes) => {
                let used = bytes.min(input.len() as u64);
                self.state = if used == bytes {
                    State::Line
                } else {
                    State::Swallow(bytes - used)
                };
                Outcome::Used(used as usize)
            }
        }
    }

    fn log(self) -> Vec<String> {
        self.log
    }
}

/// A space at the end of a line has no meaning, but the line then misses the parser's fast paths.
fn trailing_space(line: &[u8], result: &Result<Command<'_>, text::Error>) {
    let Some(bare) = line.strip_suffix(b"\r\n").or(line.strip_suffix(b"\n")) else {
        return;
    };
    let spaced = [bare, b" \r\n"].concat();
    let Parsed::Done(other, used) = text::parse(&spaced) else {
        panic!("a line with its end is incomplete");
    };
    assert_eq!(used, spaced.len());
    assert_eq!(
        describe::text(result),
        describe::text(&other),
        "{}",
        describe::escaped(line)
    );
}

/// A stream of text commands.
pub(crate) fn text_stream(input: &[u8]) {
    let (mut once, mut by_byte) = (
        read_at_once::<TextReader>(input),
        read_by_byte::<TextReader>(input),
    );
    // The result for an unfinished line depends on how much of it has arrived, and so do all later results.
    let end = longest_line(input);
    if end > LINE_LENGTH_MAX {
        let same = once.iter().zip(&by_byte).take_while(|(a, b)| a == b).count();
        once.truncate(same);
        by_byte.truncate(same);
    }
    assert_eq!(once, by_byte, "{}", describe::escaped(input));
}

fn longest_line(input: &[u8]) -> usize {
    input
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

#[derive(Default)]
struct BinaryReader {
    swallow: u64,
    log: Vec<String>,
}

impl Reader for BinaryReader {
    fn advance(&mut self, input: &[u8]) -> Outcome {
        if self.swallow > 0 {
            let used = self.swallow.min(input.len() as u64);
            self.swallow -= used;
            return Outcome::Used(used as usize);
        }
        match kept(binary::parse(input), input) {
            Parsed::Done(result, used) => {
                self.log.push(describe::binary(&result));
                match result {
                    Ok(request) => self.swallow = u64::from(request.value_length),
                    Err(error) if error.fatal() => return Outcome::Closed,
                    Err(error) => self.swallow = error.swallow(),
                }
                Outcome::Used(used)
            }
            Parsed::More(_) => Outcome::More,
        }
    }

    fn log(self) -> Vec<String> {
        self.log
    }
}

/// A stream of binary requests.
pub(crate) fn binary_stream(input: &[u8]) {
    let (once, by_byte) = (
        read_at_once::<BinaryReader>(input),
        read_by_byte::<BinaryReader>(input),
    );
    assert_eq!(once, by_byte, "{}", describe::escaped(input));
}

#[derive(Default)]
struct ReplyReader {
    log: Vec<String>,
}

impl Reader for ReplyReader {
    fn advance(&mut self, input: &[u8]) -> Outcome {
        let head = client::text::parse(input);
        let whole = client::text::parse_whole(input);
        outcome(input, head, whole, |result| {
            self.log.push(describe::reply(result))
        })
    }

    fn log(self) -> Vec<String> {
        self.log
    }
}

/// The outcome of parsing a message without and with its value.
fn outcome<H, W>(
    input: &[u8],
    head: Parsed<H>,
    whole: Parsed<Result<W, client::Error>>,
    log: impl FnOnce(&Result<W, client::Error>),
) -> Outcome {
    let head = kept(head, input);
    match kept(whole, input) {
        Parsed::Done(result, used) => {
            assert!(matches!(head, Parsed::Done(_, head) if head <= used));
            log(&result);
            match result {
                Ok(_) => Outcome::Used(used),
                Err(_) => Outcome::Closed,
            }
        }
        Parsed::More(_) => Outcome::More,
    }
}

/// A stream of replies to text requests.
pub(crate) fn reply_stream(input: &[u8]) {
    let (once, by_byte) = (
        read_at_once::<ReplyReader>(input),
        read_by_byte::<ReplyReader>(input),
    );
    if longest_line(input) <= client::text::LINE_LENGTH_MAX {
        assert_eq!(once, by_byte, "{}", describe::escaped(input));
    }
}

#[derive(Default)]
struct ResponseReader {
    log: Vec<String>,
}

impl Reader for ResponseReader {
    fn advance(&mut self, input: &[u8]) -> Outcome {
        let head = client::binary::parse(input);
        let whole = client::binary::parse_whole(input);
        outcome(input, head, whole, |result| {
            self.log.push(describe::response(result))
        })
    }

    fn log(self) -> Vec<String> {
        self.log
    }
}

/// A stream of binary responses.
pub(crate) fn response_stream(input: &[u8]) {
    let (once, by_byte) = (
        read_at_once::<ResponseReader>(input),
        read_by_byte::<ResponseReader>(input),
    );
    assert_eq!(once, by_byte, "{}", describe::escaped(input));
}

/// The first command of a connection that must authenticate.
pub(crate) fn authentication(input: &[u8]) {
    let whole = kept_whole(text::parse_authentication(input), input);
    for end in 0..input.len() {
        match text::parse_authentication(&input[..end]) {
            Parsed::More(least) => assert!(least > end),
            early => {
                // A line that is too long is known before its end is.
                let too_long =
                    matches!(&early, Parsed::Done(Err(error), _) if error.cause() == Cause::LineTooLong);
                assert!(too_long || early == whole, "{}", describe::escaped(input));
                return;
            }
        }
    }
}

fn kept_whole<T>(parsed: Parsed<T>, input: &[u8]) -> Parsed<T> {
    if input.is_empty() {
        parsed
    } else {
        kept(parsed, input)
    }
}
