//! What a meta command says.

use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::base64;
use crate::memcached::line::Words;

/// The longest opaque token, its letter included.
pub const OPAQUE_LENGTH_MAX: usize = 32;

/// Which meta command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVerb {
    /// `mg`.
    Get,
    /// `ms`.
    Set,
    /// `md`.
    Delete,
    /// `ma`.
    Arithmetic,
    /// `mn`.
    NoOp,
    /// `me`.
    Debug,
}

/// How `ms` stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whatever is there; with a cas, only if nobody changed it since.
    Set,
    /// Only if nothing is there.
    Add,
    /// After what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// Only if something is there.
    Replace,
}

/// A set of flag letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Letters(u64);

impl Letters {
    #[inline]
    fn bit(letter: u8) -> u64 {
        // All flags lie between `A` and `z`: 58 letters.
        1u64.checked_shl(u32::from(letter.wrapping_sub(b'A')))
            .unwrap_or(0)
    }

    /// Whether the letter is in the set.
    #[inline]
    pub fn has(self, letter: u8) -> bool {
        self.0 & Self::bit(letter) != 0
    }

    /// Puts a letter in; false if it was there.
    #[inline]
    pub(super) fn insert(&mut self, letter: u8) -> bool {
        let new = !self.has(letter);
        self.0 |= Self::bit(letter);
        new
    }
}

/// A scratch place for a key that was sent as base64.
#[derive(Debug, Clone)]
pub struct KeyBuffer(base64::Buffer);

impl Default for KeyBuffer {
    fn default() -> Self {
        KeyBuffer([0; KEY_LENGTH_MAX])
    }
}

/// A meta command.
///
/// Flags that take a number are read already: they are zero where absent (the delta is one), and [`Meta::has`] tells
/// the difference. Expiry times are as sent: negative is expired at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta<'a> {
    /// Which command.
    pub verb: MetaVerb,
    /// `M` of `ms`.
    pub mode: Mode,
    /// `M` of `ma`: `decr` rather than `incr`.
    pub decrement: bool,
    /// The key as sent; see [`Meta::key`].
    pub key_sent: &'a [u8],
    /// Bytes of the value of `ms`, without the line end after it.
    pub length: u64,
    /// `T`: the new expiry.
    pub exptime: i64,
    /// `N`: the expiry of an item that is made because none is there.
    pub vivify: i64,
    /// `R`: who finds less time left than this wins the right to recache.
    pub recache: i64,
    /// `F`: the client's flags.
    pub client_flags: u32,
    /// `C`: the cas that the item must have.
    pub cas: u64,
    /// `E`: the cas that the item shall get.
    pub cas_new: u64,
    /// `J`: the value of a number that is made because none is there.
    pub initial: u64,
    /// `D`: by how much.
    pub delta: u64,
    pub(super) letters: Letters,
    pub(super) flags: Flags<'a>,
}

impl<'a> Meta<'a> {
    /// A command with nothing but its verb.
    #[inline]
    pub(super) fn bare(verb: MetaVerb, key: &'a [u8], flags: Flags<'a>) -> Self {
        Meta {
            verb,
            mode: Mode::Set,
            decrement: false,
            key_sent: key,
            length: 0,
            exptime: 0,
            vivify: 0,
            recache: 0,
            client_flags: 0,
            cas: 0,
            cas_new: 0,
            initial: 0,
            delta: 1,
            letters: Letters::default(),
            flags,
        }
    }

    /// `mn`.
    pub(in crate::memcached) fn no_op() -> Meta<'static> {
        Meta::bare(
            MetaVerb::NoOp,
            &[],
            Flags {
                words: Words::after(&[], 1),
            },
        )
    }

    /// Whether the command has the flag.
    #[inline]
    pub fn has(&self, letter: u8) -> bool {
        self.letters.has(letter)
    }

    /// All flags that the command has.
    #[inline]
    pub fn letters(&self) -> Letters {
        self.letters
    }

    /// `q`: the expected reply is left out.
    #[inline]
    pub fn quiet(&self) -> bool {
        self.has(b'q')
    }

    /// `b`: the key came as base64 and is to be returned so.
    #[inline]
    pub fn key_binary(&self) -> bool {
        self.has(b'b')
    }

    /// The key: as sent, or decoded into the buffer.
    #[inline]
    pub fn key<'k>(&self, buffer: &'k mut KeyBuffer) -> &'k [u8]
    where
        'a: 'k,
    {
        if self.key_binary() {
            self.decoded(buffer)
        } else {
            self.key_sent
        }
    }

    #[cold]
    fn decoded<'k>(&self, buffer: &'k mut KeyBuffer) -> &'k [u8] {
        // The parser accepted the key, so it decodes; an empty key names no item.
        let length = base64::decode(self.key_sent, &mut buffer.0).unwrap_or(0);
        &buffer.0[..length]
    }

    /// The flags in the order of the request.
    #[inline]
    pub fn flags(&self) -> Flags<'a> {
        self.flags.clone()
    }

    /// `O`: the token to be returned, its letter included.
    pub fn opaque(&self) -> Option<&'a [u8]> {
        if !self.has(b'O') {
            return None;
        }
        self.flags()
            .find(|flag| flag.letter == b'O')
            .map(|flag| flag.token)
    }
}

/// A flag as it stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag<'a> {
    /// What it asks for.
    pub letter: u8,
    /// The whole token: the letter and its argument.
    pub token: &'a [u8],
}

impl<'a> Flag<'a> {
    /// What follows the letter.
    #[inline]
    pub fn argument(&self) -> &'a [u8] {
        &self.token[1..]
    }
}

/// The flags of a command or of a reply, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags<'a> {
    pub(in crate::memcached) words: Words<'a>,
}

impl<'a> Iterator for Flags<'a> {
    type Item = Flag<'a>;

    #[inline]
    fn next(&mut self) -> Option<Flag<'a>> {
        let token = self.words.next()?;
        Some(Flag {
            letter: token[0],
            token,
        })
    }
}
