//! The parser of requests.

use super::header::Header;
use super::request::{Concatenate, Operation, Request, Sasl, StoreVerb};
use super::{BODY_LENGTH_MAX, Error, HEADER_LENGTH, MAGIC_REQUEST, MECHANISM_LENGTH_MAX, Opcode, Status};
use crate::Parsed;
use crate::memcached::KEY_LENGTH_MAX;

impl Header {
    /// The length of the value. The frame's lengths must be consistent.
    #[inline]
    fn value_length(&self) -> u32 {
        self.body_length - self.parts_length()
    }

    /// Checks that the frame's lengths are consistent and within their limits.
    #[inline]
    fn check(&self, body_length_max: u32) -> Result<(), Error> {
        if self.parts_length() > self.body_length {
            return Err(Error {
                framed: false,
                ..self.fatal(Status::UnknownCommand)
            });
        }
        if self.body_length > body_length_max {
            return Err(Error {
                framed: false,
                ..self.fatal(Status::InvalidArguments)
            });
        }
        if usize::from(self.key_length) > KEY_LENGTH_MAX {
            return Err(self.fatal(Status::InvalidArguments));
        }
        Ok(())
    }

    /// An error after which the connection closes.
    #[cold]
    fn fatal(&self, status: Status) -> Error {
        Error {
            fatal: true,
            swallow: 0,
            ..self.refused(status)
        }
    }

    /// An error after which the connection stays open.
    #[cold]
    fn refused(&self, status: Status) -> Error {
        Error {
            status,
            opcode: self.opcode,
            opaque: self.opaque,
            fatal: false,
            framed: true,
            magic: true,
            swallow: u64::from(self.body_length),
        }
    }
}

/// The parts that a frame must, may or must not have.
#[derive(Clone, Copy)]
struct Shape {
    key: Part,
    extras: u8,
    value: bool,
}

/// The rule for one part of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Must,
    May,
    Never,
}

/// Reads the request at the head of the input.
///
/// The bytes used are those of header, extras and key; the value follows them. An error uses only the header, so it is
/// reported as soon as the header has arrived.
#[inline]
pub fn parse(input: &[u8]) -> Parsed<Result<Request<'_>, Error>> {
    parse_within(input, BODY_LENGTH_MAX)
}

/// [`parse`] for a server whose items may be larger than memcached's: the body of a frame may have `body_length_max`
/// bytes.
#[inline]
pub fn parse_within(input: &[u8], body_length_max: u32) -> Parsed<Result<Request<'_>, Error>> {
    let Some(bytes) = input.first_chunk::<HEADER_LENGTH>() else {
        return short(input);
    };
    let header = Header::read(bytes);
    if bytes[0] != MAGIC_REQUEST {
        return no_frame(&header, HEADER_LENGTH);
    }
    // By far the most frequent request: a key and nothing else.
    let plain_get = matches!(
        header.opcode,
        Opcode::GET | Opcode::GETQ | Opcode::GETK | Opcode::GETKQ
    ) && header.extras_length == 0
        && u32::from(header.key_length) == header.body_length
        && usize::from(header.key_length).wrapping_sub(1) < KEY_LENGTH_MAX;
    if !plain_get {
        return parse_any(input, &header, body_length_max);
    }
    let used = HEADER_LENGTH + usize::from(header.key_length);
    let Some(key) = input.get(HEADER_LENGTH..used) else {
        return Parsed::More(used);
    };
    let with_key = matches!(header.opcode, Opcode::GETK | Opcode::GETKQ);
    Parsed::Done(Ok(request(&header, key, Operation::Get { with_key })), used)
}

/// Input shorter than a header: a wrong first byte is reported at once.
#[cold]
fn short(input: &[u8]) -> Parsed<Result<Request<'_>, Error>> {
    match input.first() {
        Some(&magic) if magic != MAGIC_REQUEST => no_frame(&Header::read(&[0; HEADER_LENGTH]), input.len()),
        _ => Parsed::More(HEADER_LENGTH),
    }
}

/// The stream is corrupt, or the client speaks another protocol: memcached closes without a response.
#[cold]
fn no_frame<'a>(header: &Header, used: usize) -> Parsed<Result<Request<'a>, Error>> {
    Parsed::Done(
        Err(Error {
            magic: false,
            framed: false,
            ..header.fatal(Status::InvalidArguments)
        }),
        used,
    )
}

#[inline]
fn request<'a>(header: &Header, key: &'a [u8], operation: Operation) -> Request<'a> {
    Request {
        opcode: header.opcode,
        opaque: header.opaque,
        cas: header.cas,
        key,
        value_length: header.value_length(),
        operation,
    }
}

fn parse_any<'a>(
    input: &'a [u8],
    header: &Header,
    body_length_max: u32,
) -> Parsed<Result<Request<'a>, Error>> {
    if let Err(error) = header.check(body_length_max).and_then(|()| check_shape(header)) {
        return Parsed::Done(Err(error), HEADER_LENGTH);
    }
    let start = HEADER_LENGTH + usize::from(header.extras_length);
    let used = start + usize::from(header.key_length);
    let (Some(extras), Some(key)) = (input.get(HEADER_LENGTH..start), input.get(start..used)) else {
        return Parsed::More(used);
    };
    match operation(header.opcode, extras) {
        Some(operation) => Parsed::Done(Ok(request(header, key, operation)), used),
        None => Parsed::Done(Err(header.refused(Status::UnknownCommand)), HEADER_LENGTH),
    }
}

/// Checks that the frame has the parts that its opcode requires.
fn check_shape(header: &Header) -> Result<(), Error> {
    let Some(shape) = shape(header) else {
        return Err(header.refused(Status::UnknownCommand));
    };
    let key = match shape.key {
        Part::Must => header.key_length > 0,
        Part::May => true,
        Part::Never => header.key_length == 0,
    };
    let sound = key && header.extras_length == shape.extras && (shape.value || header.value_length() == 0);
    if !sound {
        return Err(header.fatal(Status::InvalidArguments));
    }
    if matches!(header.opcode, Opcode::SASL_AUTH | Opcode::SASL_STEP)
        && usize::from(header.key_length) > MECHANISM_LENGTH_MAX
    {
        return Err(header.refused(Status::InvalidArguments));
    }
    Ok(())
}

fn shape(header: &Header) -> Option<Shape> {
    let shape = |key, extras, value| Some(Shape { key, extras, value });
    match header.opcode {
        Opcode::GET | Opcode::GETQ | Opcode::GETK | Opcode::GETKQ => shape(Part::Must, 0, false),
        Opcode::DELETE | Opcode::DELETEQ => shape(Part::Must, 0, false),
        Opcode::SET | Opcode::SETQ | Opcode::ADD | Opcode::ADDQ | Opcode::REPLACE | Opcode::REPLACEQ => {
            shape(Part::Must, 8, true)
        }
        Opcode::APPEND | Opcode::APPENDQ | Opcode::PREPEND | Opcode::PREPENDQ => shape(Part::Must, 0, true),
        Opcode::INCREMENT | Opcode::INCREMENTQ | Opcode::DECREMENT | Opcode::DECREMENTQ => {
            shape(Part::Must, 20, false)
        }
        Opcode::TOUCH | Opcode::GAT | Opcode::GATQ | Opcode::GATK | Opcode::GATKQ => {
            shape(Part::Must, 4, false)
        }
        // Its expiry may be left out.
        Opcode::FLUSH | Opcode::FLUSHQ if header.extras_length == 0 => shape(Part::Never, 0, false),
        Opcode::FLUSH | Opcode::FLUSHQ => shape(Part::Never, 4, false),
        Opcode::NOOP | Opcode::VERSION | Opcode::QUIT | Opcode::QUITQ | Opcode::SASL_LIST_MECHS => {
            shape(Part::Never, 0, false)
        }
        Opcode::STAT => shape(Part::May, 0, false),
        Opcode::SASL_AUTH | Opcode::SASL_STEP => shape(Part::Must, 0, true),
        _ => None,
    }
}

/// Reads the operation. The extras have the length that the opcode requires.
fn operation(opcode: Opcode, extras: &[u8]) -> Option<Operation> {
    let word = |at: usize| {
        extras
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    let long = |at: usize| {
        extras
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |bytes| u64::from_be_bytes(*bytes))
    };
    let store = |verb| Operation::Store {
        verb,
        flags: word(0),
        exptime: word(4),
    };
    let arithmetic = |increment| Operation::Arithmetic {
        increment,
        delta: long(0),
        initial: long(8),
        exptime: word(16),
    };
    Some(match opcode {
        Opcode::GET | Opcode::GETQ => Operation::Get { with_key: false },
        Opcode::GETK | Opcode::GETKQ => Operation::Get { with_key: true },
        Opcode::SET | Opcode::SETQ => store(StoreVerb::Set),
        Opcode::ADD | Opcode::ADDQ => store(StoreVerb::Add),
        Opcode::REPLACE | Opcode::REPLACEQ => store(StoreVerb::Replace),
        Opcode::APPEND | Opcode::APPENDQ => Operation::Concatenate(Concatenate::Append),
        Opcode::PREPEND | Opcode::PREPENDQ => Operation::Concatenate(Concatenate::Prepend),
        Opcode::DELETE | Opcode::DELETEQ => Operation::Delete,
        Opcode::INCREMENT | Opcode::INCREMENTQ => arithmetic(true),
        Opcode::DECREMENT | Opcode::DECREMENTQ => arithmetic(false),
        Opcode::TOUCH => Operation::Touch { exptime: word(0) },
        Opcode::GAT | Opcode::GATQ => Operation::GetAndTouch {
            with_key: false,
            exptime: word(0),
        },
        Opcode::GATK | Opcode::GATKQ => Operation::GetAndTouch {
            with_key: true,
            exptime: word(0),
        },
        Opcode::FLUSH | Opcode::FLUSHQ => Operation::Flush { exptime: word(0) },
        Opcode::QUIT | Opcode::QUITQ => Operation::Quit,
        Opcode::NOOP => Operation::Noop,
        Opcode::VERSION => Operation::Version,
        Opcode::STAT => Operation::Stat,
        Opcode::SASL_LIST_MECHS => Operation::Sasl(Sasl::ListMechanisms),
        Opcode::SASL_AUTH => Operation::Sasl(Sasl::Authenticate),
        Opcode::SASL_STEP => Operation::Sasl(Sasl::Step),
        _ => return None,
    })
}
