//! Writes into the spare capacity of a buffer. This is the only file with `unsafe` code.
//!
//! A [`Cursor`] is a pointer to the next byte and a reference to the [`Room`] around it. Functions take it and return it in
//! two registers. The functions that write the pieces of a call are therefore compiled once, a call site is little more
//! than a list of calls, and a piece does not wait until the previous one has stored a length to memory. Every write
//! checks the remaining room. If the room is too small, the write takes a slow path, where the buffer grows or overflows.
//!
//! **Invariant:** the bytes from `at` to `end` belong to the buffer, and only the cursor accesses them while it exists: a
//! vector that grows replaces the room at once, and fixed storage is borrowed for the lifetime of the room.
//! **Invariant:** the bytes before `at` are initialized: from the start of the vector, or from `base` of fixed storage.
//! They are UTF-8 whenever a piece is complete, unless an [`Output`](crate::encoding::Output) of bytes owns the cursor.
#![allow(unsafe_code)]

use crate::word::{Lead, Word};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Returns the bytes of a string, for a room that receives only text.
#[inline(always)]
pub(crate) fn bytes_of(string: &mut String) -> &mut Vec<u8> {
    // SAFETY: the only caller is the implementation of `Buffer` for `String`, whose encoding is `Text`. Such a room receives
    // only a `Lead`, which is ASCII, a `str`, the output of `core::fmt`, and digits.
    unsafe { string.as_mut_vec() }
}

/// The room of a buffer while a call writes to it.
pub struct Room<'s> {
    at: *mut u8,
    end: *mut u8,
    owner: Owner<'s>,
}

/// The owner of a room.
enum Owner<'s> {
    /// A vector. It grows by the number of bytes that the rest of the call probably needs.
    Grows { vector: &'s mut Vec<u8>, wanted: usize },
    /// Storage of a fixed size, written from `base` on. After an overflow the room is empty, and `missing` counts all bytes
    /// of the call.
    Fixed {
        base: *mut u8,
        missing: usize,
        storage: PhantomData<&'s mut [u8]>,
    },
}

impl<'s> Room<'s> {
    /// The spare capacity of a vector, which grows when the capacity is used up.
    #[inline(always)]
    pub(crate) fn of_vector(vector: &'s mut Vec<u8>) -> Self {
        let (at, end) = ends(vector.spare_capacity_mut());
        Self {
            at,
            end,
            owner: Owner::Grows { vector, wanted: 0 },
        }
    }

    /// Storage, written from its beginning.
    #[inline(always)]
    pub(crate) fn of_storage(storage: &'s mut [u8]) -> Self {
        let ends = storage.as_mut_ptr_range();
        Self {
            at: ends.start,
            end: ends.end,
            owner: Owner::Fixed {
                base: ends.start,
                missing: 0,
                storage: PhantomData,
            },
        }
    }

    /// A slice, written from its beginning. The slice is inaccessible until the room is closed.
    #[inline]
    pub(crate) fn of_slice<'x>(slice: &'s mut &'x mut [u8]) -> (Self, Lent<'s, 'x>) {
        let ends = slice.as_mut_ptr_range();
        let owner = Owner::Fixed {
            base: ends.start,
            missing: 0,
            storage: PhantomData,
        };
        let room = Self {
            at: ends.start,
            end: ends.end,
            owner,
        };
        (room, Lent(slice))
    }

    /// Starts to write `about` bytes, an estimate.
    #[inline(always)]
    pub(crate) fn cursor(&mut self, about: usize) -> Cursor<'_, 's> {
        if let Owner::Grows { wanted, .. } = &mut self.owner {
            *wanted = about;
        }
        Cursor {
            at: self.at,
            room: self,
        }
    }

    /// Sets the vector's length to include the written bytes.
    #[inline(always)]
    pub(crate) fn close_vector(self) {
        if let Owner::Grows { vector, .. } = self.owner {
            // SAFETY: `at` points into the vector's memory or to its end, and by the invariant all bytes before it are
            // initialized.
            unsafe {
                let length = self.at.offset_from_unsigned(vector.as_ptr());
                vector.set_len(length);
            }
        }
    }

    /// The number of bytes written to storage, or as an error the number that the call needs.
    #[inline(always)]
    pub(crate) fn close_storage(self) -> Result<usize, usize> {
        match self.owner {
            Owner::Fixed { missing: 0, base, .. } => {
                // SAFETY: both point into the same storage or to its end, in this order.
                Ok(unsafe { self.at.offset_from_unsigned(base) })
            }
            Owner::Fixed { missing, .. } => Err(missing),
            Owner::Grows { .. } => Ok(0),
        }
    }

    /// Moves the start of the slice past the written bytes. The error holds the bytes that the call needs and the room.
    #[inline]
    pub(crate) fn close_slice(self, Lent(slice): Lent<'_, '_>) -> Result<(), (usize, usize)> {
        let room = slice.len();
        let written = self.close_storage().map_err(|needed| (needed, room))?;
        *slice = &mut core::mem::take(slice)[written..];
        Ok(())
    }
}

/// A slice whose memory serves as a room. It must not be accessed before the room is closed.
pub(crate) struct Lent<'s, 'x>(&'s mut &'x mut [u8]);

/// The position of the next byte.
pub struct Cursor<'r, 's> {
    at: *mut u8,
    room: &'r mut Room<'s>,
}

impl<'r, 's> Cursor<'r, 's> {
    /// Ends the writing of a call.
    #[inline(always)]
    pub fn done(self) {
        self.room.at = self.at;
    }

    #[inline(always)]
    fn room(&self) -> usize {
        // SAFETY: both point into the same room or to its end, in this order.
        unsafe { self.room.end.offset_from_unsigned(self.at) }
    }

    /// Calls a function that takes and returns a cursor; such functions are not inlined.
    #[inline(always)]
    pub(crate) fn hand(&mut self, write: impl for<'x> FnOnce(Cursor<'x, 's>) -> Cursor<'x, 's>) {
        // The function works for every lifetime, so it can return only the room that it received.
        let after = write(Cursor {
            at: self.at,
            room: &mut *self.room,
        });
        self.at = after.at;
    }

    /// Appends words after one check of the room. If the room is too small for eight bytes per word, `in_little_room` does
    /// the whole work of the caller: the caller then keeps nothing alive, and the call becomes a jump.
    #[inline(always)]
    pub(crate) fn words_or<const N: usize>(
        mut self,
        words: [Word; N],
        in_little_room: impl FnOnce(Self) -> Self,
    ) -> Self {
        if self.room() < 8 * N {
            return in_little_room(self);
        }
        for word in words {
            // SAFETY: each word moves `at` by up to 8 bytes, so 8 bytes are free at `at`. The bytes that `at` moves past are
            // initialized.
            unsafe {
                self.at.cast::<[u8; 8]>().write(word.stored());
                self.at = self.at.add(word.length());
            }
        }
        self
    }

    /// Appends a word and bytes, or calls `in_little_room`, as [`words_or`](Self::words_or) does.
    #[inline(always)]
    pub(crate) fn bytes_or(
        mut self,
        word: Word,
        bytes: &[u8],
        in_little_room: impl FnOnce(Self) -> Self,
    ) -> Self {
        // The sum does not overflow: a slice is shorter than `isize::MAX`.
        if self.room() < 8 + bytes.len() {
            return in_little_room(self);
        }
        // SAFETY: 8 bytes are free at `at`, and wherever the word ends, the room behind it is large enough for the bytes.
        // The room has no other reference.
        unsafe {
            self.at.cast::<[u8; 8]>().write(word.stored());
            self.at = self.at.add(word.length());
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
        self
    }

    /// Appends words.
    #[inline(always)]
    pub(crate) fn words<const N: usize>(&mut self, words: [Word; N]) {
        self.hand(|out| out.words_or(words, |out| words_in_little_room(out, &words)));
    }

    /// Appends a word.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: Word) {
        self.hand(|out| out.words_or([word], |out| word_in_little_room(out, word)));
    }

    /// Appends bytes. Characters may be split, but a complete piece of text has whole characters.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.room() < bytes.len() {
            return self.hand(|out| spill(out, bytes));
        }
        // SAFETY: the room at `at` is large enough for the bytes and has no other reference.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }

    /// Appends text.
    #[inline(always)]
    pub(crate) fn str(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends literal text of the format that is long or contains other characters than ASCII.
    #[inline(always)]
    pub fn __text(&mut self, text: &str) {
        self.hand(|out| append(out, Lead::EMPTY, text.as_bytes()));
    }

    /// Appends short literal text of the format.
    #[inline(always)]
    pub fn __lead(&mut self, lead: Lead) {
        self.hand(|out| alone(out, lead));
    }

    /// Appends values as `core::fmt` writes them.
    ///
    /// # Panics
    /// If the implementation of a formatting trait returns an error, as `format!` does.
    #[inline(always)]
    pub fn __arguments(&mut self, lead: Lead, arguments: fmt::Arguments<'_>) {
        self.hand(|out| by_core(out, lead, arguments));
    }
}

#[inline(never)]
fn alone<'r, 's>(out: Cursor<'r, 's>, lead: Lead) -> Cursor<'r, 's> {
    out.words_or([lead.word()], |out| word_in_little_room(out, lead.word()))
}

/// Appends values as `core::fmt` writes them.
#[inline(never)]
pub(crate) fn by_core<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    arguments: fmt::Arguments<'_>,
) -> Cursor<'r, 's> {
    struct Writer<'r, 's>(Cursor<'r, 's>);
    impl fmt::Write for Writer<'_, '_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.str(text);
            Ok(())
        }
    }
    out.word(lead.word());
    let mut writer = Writer(out);
    if fmt::write(&mut writer, arguments).is_err() {
        panic!("a formatting trait implementation returned an error when the underlying stream did not");
    }
    writer.0
}

/// Appends the bytes of words, up to the length of each.
#[cold]
#[inline(never)]
fn words_in_little_room<'r, 's>(out: Cursor<'r, 's>, words: &[Word]) -> Cursor<'r, 's> {
    words
        .iter()
        .fold(out, |out, word| word_in_little_room(out, *word))
}

/// Appends the bytes of a word, up to its length.
#[cold]
#[inline(never)]
fn word_in_little_room<'r, 's>(mut out: Cursor<'r, 's>, word: Word) -> Cursor<'r, 's> {
    out.bytes(&word.stored()[..word.length()]);
    out
}

/// Appends bytes that exceed the room: a vector grows, fixed storage counts them as missing.
#[cold]
#[inline(never)]
fn spill<'r, 's>(out: Cursor<'r, 's>, bytes: &[u8]) -> Cursor<'r, 's> {
    let Cursor { mut at, room } = out;
    match &mut room.owner {
        Owner::Grows { vector, wanted } => {
            // SAFETY: as in `close_vector`.
            unsafe {
                let length = at.offset_from_unsigned(vector.as_ptr());
                vector.set_len(length);
            }
            // Reserves for the rest of the call too, so that a short buffer does not grow once per value.
            vector.reserve(bytes.len() + *wanted);
            vector.extend_from_slice(bytes);
            (at, room.end) = ends(vector.spare_capacity_mut());
        }
        Owner::Fixed { base, missing, .. } => {
            if *missing == 0 {
                // SAFETY: both point into the same storage or to its end, in this order.
                *missing = unsafe { at.offset_from_unsigned(*base) };
                // Nothing fits from now on.
                (at, room.end) = (*base, *base);
            }
            *missing += bytes.len();
        }
    }
    // A cursor may be dropped without `done`; the room must then not start in memory that the vector has freed.
    room.at = at;
    Cursor { at, room }
}

#[inline(always)]
fn ends(room: &mut [MaybeUninit<u8>]) -> (*mut u8, *mut u8) {
    let ends = room.as_mut_ptr_range();
    (ends.start.cast(), ends.end.cast())
}

/// Appends bytes; if the buffer holds text, they are those of a `str`.
#[inline(never)]
pub(crate) fn append<'r, 's>(out: Cursor<'r, 's>, lead: Lead, bytes: &[u8]) -> Cursor<'r, 's> {
    out.bytes_or(lead.word(), bytes, |out| append_in_little_room(out, lead, bytes))
}

#[cold]
#[inline(never)]
fn append_in_little_room<'r, 's>(mut out: Cursor<'r, 's>, lead: Lead, bytes: &[u8]) -> Cursor<'r, 's> {
    out.word(lead.word());
    out.bytes(bytes);
    out
}
