//! What a meta command says.

use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::base64;
use crate::memcached::line::Words;
use crate::memcached::number;

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
    const fn bit(letter: u8) -> u64 {
        // All flags lie between `A` and `z`: 58 letters.
        let at = letter.wrapping_sub(b'A');
        if at < 64 { 1 << at } else { 0 }
    }

    /// The set of these letters.
    pub(super) const fn of(letters: &[u8]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < letters.len() {
            bits |= Self::bit(letters[at]);
            at += 1;
        }
        Letters(bits)
    }

    /// Whether the letter is in the set.
    #[inline]
    pub fn has(self, letter: u8) -> bool {
        self.0 & Self::bit(letter) != 0
    }

    /// How many they are.
    #[inline]
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Puts a letter in; false if it was there, or can be in no set.
    #[inline]
    pub(super) fn insert(&mut self, letter: u8) -> bool {
        let before = self.0;
        self.0 |= Self::bit(letter);
        self.0 != before
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
/// Times are as sent: negative is expired at once. What takes a number was found readable by the parser and is read
/// again when it's asked for, so that a command costs no more to hand over than what most commands say.
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
    #[inline]
    pub fn opaque(&self) -> Option<&'a [u8]> {
        if self.has(b'O') { self.token(b'O') } else { None }
    }

    /// `T`: the new expiry.
    #[inline]
    pub fn exptime(&self) -> Option<i64> {
        if self.has(b'T') { self.time(b'T') } else { None }
    }

    /// `N`: the expiry of an item that is made because none is there.
    #[inline]
    pub fn vivify(&self) -> Option<i64> {
        if self.has(b'N') { self.time(b'N') } else { None }
    }

    /// `R`: who finds less time left than this wins the right to recache.
    #[inline]
    pub fn recache(&self) -> Option<i64> {
        if self.has(b'R') { self.time(b'R') } else { None }
    }

    /// `C`: the cas that the item must have.
    #[inline]
    pub fn cas(&self) -> Option<u64> {
        if self.has(b'C') { self.number(b'C') } else { None }
    }

    /// `E`: the cas that the item shall get.
    #[inline]
    pub fn cas_new(&self) -> Option<u64> {
        if self.has(b'E') { self.number(b'E') } else { None }
    }

    /// `F`: the client's flags, 0 if absent.
    #[inline]
    pub fn client_flags(&self) -> u32 {
        let flags = if self.has(b'F') { self.number(b'F') } else { None };
        // The parser let no more than 32 bits pass.
        flags.unwrap_or(0) as u32
    }

    /// `J`: the value of a number that is made because none is there, 0 if absent.
    pub fn initial(&self) -> u64 {
        self.number(b'J').unwrap_or(0)
    }

    /// `D`: by how much, 1 if absent.
    pub fn delta(&self) -> u64 {
        self.number(b'D').unwrap_or(1)
    }

    #[inline(never)]
    fn token(&self, letter: u8) -> Option<&'a [u8]> {
        self.flags()
            .find(|flag| flag.letter == letter)
            .map(|flag| flag.token)
    }

    fn time(&self, letter: u8) -> Option<i64> {
        number::signed_32(&self.token(letter)?[1..]).map(i64::from)
    }

    fn number(&self, letter: u8) -> Option<u64> {
        number::unsigned_64(&self.token(letter)?[1..])
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
