//! Writing into the spare room of a buffer: the one file with `unsafe`.
//!
//! A [`Cursor`] is where the next byte goes and a reference to the [`Room`] that it lies in: two registers, which functions
//! take and give back. So a call's pieces are written by functions that are compiled once, and a place that formats is
//! little more than a list of calls, while no piece has to wait until the one before has stored its length to memory.
//! Every write checks the room that is left; what doesn't fit takes a slow path in which the buffer grows or overflows.
//!
//! **Invariant:** from `at` to `end` lies room of the buffer, which is not touched but through the cursor while it exists: the
//! room of a vector is left behind at the very moment that the vector grows, and storage is borrowed for as long as the room.
//! **Invariant:** what lies before `at` has been written: from the beginning of the vector, or from `base` of fixed storage.
//! It is UTF-8 whenever a piece is complete, unless an [`Output`](crate::encoding::Output) of bytes has the cursor.
#![allow(unsafe_code)]

use crate::word::{Lead, Word};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Lends the bytes of a string to a room that only text is written to.
#[inline(always)]
pub(crate) fn bytes_of(string: &mut String) -> &mut Vec<u8> {
    // SAFETY: the one caller is the implementation of `Buffer` for `String`, whose encoding is `Text`. What can be appended to
    // such a room is a `Lead`, which is ASCII, a `str`, what `core::fmt` writes, and digits.
    unsafe { string.as_mut_vec() }
}

/// The room of a buffer while a call writes to it.
pub struct Room<'s> {
    at: *mut u8,
    end: *mut u8,
    owner: Owner<'s>,
}

/// Whose room it is.
enum Owner<'s> {
    /// A vector that grows, at once by as much as is probably wanted for the rest of the call.
    Grows { vector: &'s mut Vec<u8>, wanted: usize },
    /// Storage of a fixed size, written from `base` on. Once some bytes are `missing`, the room is empty and all bytes
    /// of the call are counted.
    Fixed {
        base: *mut u8,
        missing: usize,
        storage: PhantomData<&'s mut [u8]>,
    },
}

impl<'s> Room<'s> {
    /// The spare capacity of a vector, which grows when it is used up.
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

    /// A slice, written from its beginning. Nobody can look at the slice before the room is closed.
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

    /// Begins to write about so many bytes.
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

    /// Hands the vector what has been written.
    #[inline(always)]
    pub(crate) fn close_vector(self) {
        if let Owner::Grows { vector, .. } = self.owner {
            // SAFETY: by the invariant, what lies between the vector's beginning and `at`, which points into its memory or to
            // the end of it, is written.
            unsafe {
                let length = self.at.offset_from_unsigned(vector.as_ptr());
                vector.set_len(length);
            }
        }
    }

    /// How many bytes have been written to storage, or how many would have been.
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

    /// Lets the slice begin behind what has been written; else tells how much would have been, and how much room there is.
    #[inline]
    pub(crate) fn close_slice(self, Lent(slice): Lent<'_, '_>) -> Result<(), (usize, usize)> {
        let room = slice.len();
        let written = self.close_storage().map_err(|needed| (needed, room))?;
        *slice = &mut core::mem::take(slice)[written..];
        Ok(())
    }
}

/// A slice whose memory is a room at present, and which therefore nobody must look at.
pub(crate) struct Lent<'s, 'x>(&'s mut &'x mut [u8]);

/// Where the next byte goes.
pub struct Cursor<'r, 's> {
    at: *mut u8,
    room: &'r mut Room<'s>,
}

impl<'r, 's> Cursor<'r, 's> {
    /// Ends a call's writing.
    #[inline(always)]
    pub fn done(self) {
        self.room.at = self.at;
    }

    #[inline(always)]
    fn room(&self) -> usize {
        // SAFETY: both point into the same room or to its end, in this order.
        unsafe { self.room.end.offset_from_unsigned(self.at) }
    }

    /// Calls a function that isn't compiled into its caller.
    #[inline(always)]
    pub(crate) fn hand(&mut self, write: impl for<'x> FnOnce(Cursor<'x, 's>) -> Cursor<'x, 's>) {
        // Whatever the function's lifetime may be, it can give back only the room that it was lent.
        let after = write(Cursor {
            at: self.at,
            room: &mut *self.room,
        });
        self.at = after.at;
    }

    /// Appends words, for all of which the room is looked at once. If there is too little for eight bytes each, a function
    /// is to do what the caller was asked for: the caller then has nothing left to keep, and becomes a jump.
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
            // SAFETY: each word moves `at` by up to 8 bytes, so there is room for 8 at `at`, of which so many become part of
            // what is written as the word has.
            unsafe {
                self.at.cast::<[u8; 8]>().write(word.stored());
                self.at = self.at.add(word.length());
            }
        }
        self
    }

    /// Appends a word and bytes, or lets a function do it, as [`words_or`](Self::words_or).
    #[inline(always)]
    pub(crate) fn bytes_or(
        mut self,
        word: Word,
        bytes: &[u8],
        in_little_room: impl FnOnce(Self) -> Self,
    ) -> Self {
        // The room of a buffer is below `isize::MAX`, and so is the length of a slice.
        if self.room() < 8 + bytes.len() {
            return in_little_room(self);
        }
        // SAFETY: there is room for 8 bytes at `at`, and, wherever in them the word ends, behind it for the bytes, to which
        // nobody else has a reference.
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

    /// Appends bytes; those of a piece of text are whole characters when the piece is complete.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.room() < bytes.len() {
            return self.hand(|out| spill(out, bytes));
        }
        // SAFETY: there is room for so many bytes at `at`, and nobody else has a reference to it.
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

    /// Appends what the format says literally, if it is long or no ASCII.
    #[inline(always)]
    pub fn __text(&mut self, text: &str) {
        self.hand(|out| crate::text::append(out, Lead::EMPTY, text.as_bytes()));
    }

    /// Appends what the format says literally, if it is short.
    #[inline(always)]
    pub fn __lead(&mut self, lead: Lead) {
        self.hand(|out| alone(out, lead));
    }

    /// Appends values as `core::fmt` writes them.
    ///
    /// # Panics
    /// When the implementation of a formatting trait reports an error, as `format!` does.
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

/// Appends words, each as far as its length goes.
#[cold]
#[inline(never)]
fn words_in_little_room<'r, 's>(out: Cursor<'r, 's>, words: &[Word]) -> Cursor<'r, 's> {
    words
        .iter()
        .fold(out, |out, word| word_in_little_room(out, *word))
}

/// Appends a word as far as its length goes.
#[cold]
#[inline(never)]
fn word_in_little_room<'r, 's>(mut out: Cursor<'r, 's>, word: Word) -> Cursor<'r, 's> {
    out.bytes(&word.stored()[..word.length()]);
    out
}

/// Appends bytes for which the room is too small: grows, or notes that they are missing.
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
            // Room for the whole piece with what will follow it: short buffers don't grow by every value.
            vector.reserve(bytes.len() + *wanted);
            vector.extend_from_slice(bytes);
            (at, room.end) = ends(vector.spare_capacity_mut());
        }
        Owner::Fixed { base, missing, .. } => {
            if *missing == 0 {
                // SAFETY: both point into the same storage or to its end, in this order.
                *missing = unsafe { at.offset_from_unsigned(*base) };
                // Nothing fits any more.
                (at, room.end) = (*base, *base);
            }
            *missing += bytes.len();
        }
    }
    // A cursor that is dropped before it is done must not leave the beginning of a room that is no more.
    room.at = at;
    Cursor { at, room }
}

#[inline(always)]
fn ends(room: &mut [MaybeUninit<u8>]) -> (*mut u8, *mut u8) {
    let ends = room.as_mut_ptr_range();
    (ends.start.cast(), ends.end.cast())
}
