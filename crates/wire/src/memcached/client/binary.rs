//! Binary requests and the responses to them.

use super::Error;
use crate::Parsed;
use crate::memcached::binary::header::Header;
use crate::memcached::binary::{HEADER_LENGTH, MAGIC_REQUEST, MAGIC_RESPONSE, Opcode, Status};

/// Appends the header, extras and key of a request. The caller appends `value_length` bytes of value.
#[inline]
pub fn request(
    out: &mut Vec<u8>,
    opcode: Opcode,
    opaque: u32,
    cas: u64,
    extras: &[u8],
    key: &[u8],
    value_length: u32,
) {
    let mut header = [0; HEADER_LENGTH];
    header[0] = MAGIC_REQUEST;
    header[1] = opcode.0;
    header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    header[4] = extras.len() as u8;
    let body_length = value_length.saturating_add((extras.len() + key.len()) as u32);
    header[8..12].copy_from_slice(&body_length.to_be_bytes());
    header[12..16].copy_from_slice(&opaque.to_be_bytes());
    header[16..24].copy_from_slice(&cas.to_be_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
}

/// Appends a request with only a key: Get(K)(Q), Delete(Q), Stat.
#[inline]
pub fn key(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, key: &[u8]) {
    request(out, opcode, opaque, 0, &[], key, 0);
}

/// Appends a request with only a header: No-op, Version, Quit(Q), Flush(Q), Stat, SASL list.
pub fn bare(out: &mut Vec<u8>, opcode: Opcode, opaque: u32) {
    request(out, opcode, opaque, 0, &[], &[], 0);
}

/// The fields of Set, Add, Replace and their quiet forms beside key and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreFields {
    /// The client's flags.
    pub flags: u32,
    /// The expiry.
    pub exptime: u32,
    /// The cas that the item must have; 0 for any.
    pub cas: u64,
}

/// Appends Set, Add, Replace or a quiet form of them.
#[inline]
pub fn store(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, fields: StoreFields, key: &[u8], value: &[u8]) {
    let mut extras = [0; 8];
    extras[..4].copy_from_slice(&fields.flags.to_be_bytes());
    extras[4..].copy_from_slice(&fields.exptime.to_be_bytes());
    request(out, opcode, opaque, fields.cas, &extras, key, value.len() as u32);
    out.extend_from_slice(value);
}

/// Appends a request with key and value but no extras: Append(Q), Prepend(Q), SASL authentication and step.
pub fn pair(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, key: &[u8], value: &[u8]) {
    request(out, opcode, opaque, 0, &[], key, value.len() as u32);
    out.extend_from_slice(value);
}

/// Appends Touch or GAT(K)(Q) with a key, or Flush(Q) with a delay and an empty key.
pub fn timed(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, exptime: u32, key: &[u8]) {
    request(out, opcode, opaque, 0, &exptime.to_be_bytes(), key, 0);
}

/// The fields of Increment and Decrement beside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArithmeticFields {
    /// The amount to add or subtract.
    pub delta: u64,
    /// The initial value if the key is absent.
    pub initial: u64,
    /// The expiry of an item created with the initial value; all ones to create none.
    pub exptime: u32,
}

/// Appends Increment, Decrement or a quiet form of them.
pub fn arithmetic(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, fields: ArithmeticFields, key: &[u8]) {
    let mut extras = [0; 20];
    extras[..8].copy_from_slice(&fields.delta.to_be_bytes());
    extras[8..16].copy_from_slice(&fields.initial.to_be_bytes());
    extras[16..].copy_from_slice(&fields.exptime.to_be_bytes());
    request(out, opcode, opaque, 0, &extras, key, 0);
}

/// A response without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The opcode of the request.
    pub opcode: Opcode,
    /// The outcome as a number; see [`Response::known_status`].
    pub status: u16,
    /// The opaque of the request.
    pub opaque: u32,
    /// The item's cas.
    pub cas: u64,
    /// The flags of a value.
    pub extras: &'a [u8],
    /// The key or the name of a statistic.
    pub key: &'a [u8],
    /// The length of the value that follows: the item's value, or the text of an error.
    pub value_length: u32,
}

impl Response<'_> {
    /// The status; `None` if memcached has no such status.
    pub fn known_status(&self) -> Option<Status> {
        Status::of_code(self.status)
    }

    /// Returns true if the request succeeded.
    #[inline]
    pub fn is_success(&self) -> bool {
        self.status == 0
    }

    /// The client's flags of an item; 0 for responses without them.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.extras
            .first_chunk()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }
}

/// Reads a response without its value, which follows the used bytes.
#[inline]
pub fn parse(input: &[u8]) -> Parsed<Result<Response<'_>, Error>> {
    if let Some(&magic) = input.first()
        && magic != MAGIC_RESPONSE
    {
        return Parsed::Done(Err(Error::Magic { magic }), input.len().min(HEADER_LENGTH));
    }
    let Some(bytes) = input.first_chunk::<HEADER_LENGTH>() else {
        return Parsed::More(HEADER_LENGTH);
    };
    let header = Header::read(bytes);
    let (parts, body) = (header.parts_length(), header.body_length);
    if parts > body {
        let opcode = header.opcode.0;
        return Parsed::Done(Err(Error::Frame { opcode, parts, body }), HEADER_LENGTH);
    }
    let start = HEADER_LENGTH + usize::from(header.extras_length);
    let used = start + usize::from(header.key_length);
    let (Some(extras), Some(key)) = (input.get(HEADER_LENGTH..start), input.get(start..used)) else {
        return Parsed::More(used);
    };
    let response = Response {
        opcode: header.opcode,
        status: header.status,
        opaque: header.opaque,
        cas: header.cas,
        extras,
        key,
        value_length: body - parts,
    };
    Parsed::Done(Ok(response), used)
}

/// Reads a response with its value.
#[inline]
pub fn parse_whole(input: &[u8]) -> Parsed<Result<(Response<'_>, &[u8]), Error>> {
    let (response, used) = match parse(input) {
        Parsed::Done(Ok(response), used) => (response, used),
        Parsed::Done(Err(error), used) => return Parsed::Done(Err(error), used),
        Parsed::More(least) => return Parsed::More(least),
    };
    let end = used.saturating_add(response.value_length as usize);
    match input.get(used..end) {
        Some(value) => Parsed::Done(Ok((response, value)), end),
        None => Parsed::More(end),
    }
}
