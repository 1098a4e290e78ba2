//! Parsed meta commands.

use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::base64;
use crate::memcached::line::Words;
use crate::memcached::number;

/// The longest opaque token, including its `O`.
pub const OPAQUE_LENGTH_MAX: usize = 32;

/// The meta commands.
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

/// The mode of `ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Stores unconditionally; with a cas, if the item's cas is unchanged.
    Set,
    /// Stores if the key is absent.
    Add,
    /// Appends to the value.
    Append,
    /// Prepends to the value.
    Prepend,
    /// Stores if the key is present.
    Replace,
}

/// A set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlagSet(u64);

impl FlagSet {
    #[inline]
    const fn bit(name: u8) -> u64 {
        // All flags lie between `A` and `z`, which are 58 characters.
        let at = name.wrapping_sub(b'A');
        if at < 64 { 1 << at } else { 0 }
    }

    /// The set of these flags.
    pub(super) const fn of(names: &[u8]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < names.len() {
            bits |= Self::bit(names[at]);
            at += 1;
        }
        FlagSet(bits)
    }

    /// Returns true if the flag is in the set.
    #[inline]
    pub fn has(self, name: u8) -> bool {
        self.0 & Self::bit(name) != 0
    }

    /// The number of flags in the set.
    #[inline]
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Adds a flag. Returns false if it was present already, or if it is outside the range of flags.
    #[inline]
    pub(super) fn insert(&mut self, name: u8) -> bool {
        let before = self.0;
        self.0 |= Self::bit(name);
        self.0 != before
    }
}

/// Space for decoding a key that was sent as base64.
#[derive(Debug, Clone)]
pub struct KeyBuffer(base64::Buffer);

impl Default for KeyBuffer {
    fn default() -> Self {
        KeyBuffer([0; KEY_LENGTH_MAX])
    }
}

/// A meta command.
///
/// Times are as sent: a negative time means expired at once. The parser checks every number; the accessors parse them
/// again, which keeps this struct small, since most commands have no numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta<'a> {
    /// Which command.
    pub verb: MetaVerb,
    /// `M` of `ms`.
    pub mode: Mode,
    /// `M` of `ma`: true to decrement.
    pub decrement: bool,
    /// The key as sent; see [`Meta::key`].
    pub key_sent: &'a [u8],
    /// The length of the value of `ms` in bytes, without the line end after it.
    pub length: u64,
    pub(super) flag_set: FlagSet,
    pub(super) flags: Flags<'a>,
}

impl<'a> Meta<'a> {
    /// A command with the default of every field but these.
    #[inline]
    pub(super) fn bare(verb: MetaVerb, key: &'a [u8], flags: Flags<'a>) -> Self {
        Meta {
            verb,
            mode: Mode::Set,
            decrement: false,
            key_sent: key,
            length: 0,
            flag_set: FlagSet::default(),
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

    /// Returns true if the command has the flag.
    #[inline]
    pub fn has(&self, name: u8) -> bool {
        self.flag_set.has(name)
    }

    /// The flags of the command.
    #[inline]
    pub fn flag_set(&self) -> FlagSet {
        self.flag_set
    }

    /// `q`: the server omits the expected reply.
    #[inline]
    pub fn quiet(&self) -> bool {
        self.has(b'q')
    }

    /// `b`: the key was sent as base64 and is returned as base64.
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

    /// `O`: the whole token, which the reply repeats.
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

    /// `J`: the initial value if the key is absent; 0 without the flag.
    pub fn initial(&self) -> u64 {
        self.number(b'J').unwrap_or(0)
    }

    /// `D`: the amount to add or subtract; 1 without the flag.
    pub fn delta(&self) -> u64 {
        self.number(b'D').unwrap_or(1)
    }

    #[inline(never)]
    fn token(&self, name: u8) -> Option<&'a [u8]> {
        self.flags().find(|flag| flag.name == name).map(|flag| flag.token)
    }

    fn time(&self, name: u8) -> Option<i64> {
        number::signed_32(&self.token(name)?[1..]).map(i64::from)
    }

    fn number(&self, name: u8) -> Option<u64> {
        number::unsigned_64(&self.token(name)?[1..])
    }
}

/// A flag of a command or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag<'a> {
    /// The flag's character.
    pub name: u8,
    /// The whole token: the flag's character and its argument.
    pub token: &'a [u8],
}

impl<'a> Flag<'a> {
    /// The argument; empty for a flag without one.
    #[inline]
    pub fn argument(&self) -> &'a [u8] {
        &self.token[1..]
    }
}

/// Iterates over the flags of a command or reply, in order.
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
            name: token[0],
            token,
        })
    }
}
