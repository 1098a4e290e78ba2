//! Valid and invalid frames of the binary protocol: every field of the header can have any value.

use crate::Connection;

/// A request. Its lengths follow from its parts, unless a test sets them to something else.
#[derive(Clone, Debug)]
pub struct Frame {
    /// 0x80 in every request.
    pub magic: u8,
    /// The opcode.
    pub opcode: u8,
    /// 0, the only defined value.
    pub data_type: u8,
    /// Repeated by the reply.
    pub opaque: u32,
    /// 0, or the cas that the item must have.
    pub cas: u64,
    extras: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Replaces the length of the key.
    pub key_length: Option<u16>,
    /// Replaces the length of the extras.
    pub extras_length: Option<u8>,
    /// Replaces the length of the body.
    pub body_length: Option<u32>,
}

impl Frame {
    /// A request with these parts.
    pub fn new(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Frame {
        Frame {
            magic: 0x80,
            opcode,
            data_type: 0,
            opaque: 0,
            cas: 0,
            extras: extras.to_vec(),
            key: key.to_vec(),
            value: value.to_vec(),
            key_length: None,
            extras_length: None,
            body_length: None,
        }
    }

    /// `get`.
    pub fn get(key: &[u8]) -> Frame {
        Frame::new(0x00, b"", key, b"")
    }

    /// `set`, with flags and no expiry.
    pub fn set(key: &[u8], flags: u32, value: &[u8]) -> Frame {
        let extras = [flags.to_be_bytes(), [0; 4]].concat();
        Frame::new(0x01, &extras, key, value)
    }

    /// `noop`, whose reply follows all pending ones.
    pub fn noop() -> Frame {
        Frame::new(0x0a, b"", b"", b"")
    }

    /// With this opaque.
    #[must_use]
    pub fn opaque(mut self, opaque: u32) -> Frame {
        self.opaque = opaque;
        self
    }

    /// The frame's bytes.
    ///
    /// # Panics
    /// If a part is too long for its length field and no other length is set.
    pub fn bytes(&self) -> Vec<u8> {
        let body = self.extras.len() + self.key.len() + self.value.len();
        let key = self
            .key_length
            .unwrap_or_else(|| self.key.len().try_into().expect("a short key"));
        let extras = self
            .extras_length
            .unwrap_or_else(|| self.extras.len().try_into().expect("short extras"));
        let body = self
            .body_length
            .unwrap_or_else(|| body.try_into().expect("a body below 4 GiB"));
        let mut out = vec![self.magic, self.opcode];
        out.extend(key.to_be_bytes());
        out.extend([extras, self.data_type, 0, 0]);
        out.extend(body.to_be_bytes());
        out.extend(self.opaque.to_be_bytes());
        out.extend(self.cas.to_be_bytes());
        out.extend(&self.extras);
        out.extend(&self.key);
        out.extend(&self.value);
        out
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The request's.
    pub opcode: u8,
    /// The status; 0 for success.
    pub status: u16,
    /// The request's.
    pub opaque: u32,
    /// The item's cas.
    pub cas: u64,
    /// The extras.
    pub extras: Vec<u8>,
    /// The key, if the request selects it.
    pub key: Vec<u8>,
    /// The value, or the text of the error.
    pub value: Vec<u8>,
}

impl Response {
    /// Reads the next reply.
    ///
    /// # Panics
    /// If the input is not a reply.
    pub fn read(connection: &mut Connection) -> Response {
        let header = connection.exact(24);
        assert_eq!(header[0], 0x81, "not a reply: {header:?}");
        let key_length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let extras_length = usize::from(header[4]);
        let body_length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let mut body = connection.exact(body_length.try_into().expect("a length that fits"));
        let value = body.split_off(extras_length + key_length);
        let key = body.split_off(extras_length);
        let mut cas = [0; 8];
        cas.copy_from_slice(&header[16..]);
        Response {
            opcode: header[1],
            status: u16::from_be_bytes([header[6], header[7]]),
            opaque: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
            cas: u64::from_be_bytes(cas),
            extras: body,
            key,
            value,
        }
    }
}
