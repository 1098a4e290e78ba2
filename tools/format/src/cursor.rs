//! Writing into the spare room of a buffer: the one file with `unsafe`.
//!
//! A [`Cursor`] keeps the ends of the room in two registers while a call's values are written, and tells the buffer how
//! much it has got only at the end. Every write checks the room that is left; the check costs one comparison, and what
//! doesn't fit takes a slow path in which the buffer grows or overflows. Without it, `Vec::extend_from_slice` loads and
//! stores the length once for each piece, and the pieces wait for one another: the four numbers of an IPv4 address then
//! take about 1.6 times as long.
//!
//! **Invariant:** from `at` to `end` lies room of the sink, which is not touched but through the cursor while it exists.
//! **Invariant:** what lies before `at` has been written. For [`Text`] it is UTF-8 whenever a piece is complete.
#![allow(unsafe_code)]

use crate::fixed::Fixed;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Marks a buffer that holds UTF-8.
#[derive(Debug)]
pub struct Text;

/// Marks a buffer that holds any bytes.
#[derive(Debug)]
pub struct Bytes;

/// What a buffer may hold.
pub trait Encoding {
    /// The longest beginning of at most `length` bytes that may stand alone.
    fn boundary(bytes: &[u8], length: usize) -> usize;
}

impl Encoding for Text {
    #[inline]
    fn boundary(bytes: &[u8], length: usize) -> usize {
        // A byte that continues a character has the bits 10 in front.
        (0..=length)
            .rev()
            .find(|at| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80))
            .unwrap_or(0)
    }
}

impl Encoding for Bytes {
    #[inline(always)]
    fn boundary(_: &[u8], length: usize) -> usize {
        length
    }
}

/// Memory that can be appended to.
pub(crate) trait Sink {
    /// The room behind what has been written.
    fn room(&mut self) -> &mut [MaybeUninit<u8>];

    /// Takes over bytes at the beginning of the room.
    ///
    /// # Safety
    /// The first `length` bytes of what [`room`](Self::room) last returned have been written.
    unsafe fn wrote(&mut self, length: usize);

    /// Appends bytes for which the room is too small: grows, or notes that they are missing.
    fn spill(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        self.spare_capacity_mut()
    }

    #[inline]
    unsafe fn wrote(&mut self, length: usize) {
        // SAFETY: the caller has written so many bytes of the spare capacity, which therefore exist.
        unsafe { self.set_len(self.len() + length) }
    }

    fn spill(&mut self, bytes: &[u8]) {
        // Room for the whole piece with what will follow it: short buffers don't grow by every value.
        self.reserve(bytes.len() + 32);
        self.extend_from_slice(bytes);
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Sink for Fixed<S> {
    #[inline]
    fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        as_room(self.free())
    }

    #[inline]
    unsafe fn wrote(&mut self, length: usize) {
        self.advance(length);
    }

    fn spill(&mut self, bytes: &[u8]) {
        self.append_or_count(bytes);
    }
}

/// Lends the bytes of a string to a cursor that keeps them text.
#[inline]
pub(crate) fn bytes_of(string: &mut String) -> &mut Vec<u8> {
    // SAFETY: the callers are the implementation of `Buffer` for `String` alone, which writes through a
    // `Cursor<Text>`. That offers only methods that append whole characters.
    unsafe { string.as_mut_vec() }
}

/// Lends initialized bytes as room.
#[inline]
fn as_room(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    let length = bytes.len();
    // SAFETY: the two types have the same layout. This crate writes only initialized bytes to a room, so those of the
    // slice stay initialized.
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), length) }
}

/// Where the next byte goes.
pub struct Cursor<'a, E> {
    at: *mut u8,
    end: *mut u8,
    start: *mut u8,
    sink: &'a mut dyn Sink,
    encoding: PhantomData<E>,
}

impl<'a, E> Cursor<'a, E> {
    #[inline(always)]
    pub(crate) fn open(sink: &'a mut dyn Sink) -> Self {
        let (start, end) = ends(sink.room());
        Self {
            at: start,
            end,
            start,
            sink,
            encoding: PhantomData,
        }
    }

    /// Tells the sink what has been written.
    #[inline(always)]
    pub(crate) fn close(self) {
        let written = self.written();
        // SAFETY: by the invariant the bytes from `start` to `at` are the beginning of the sink's room, and written.
        unsafe { self.sink.wrote(written) }
    }

    #[inline(always)]
    fn room(&self) -> usize {
        // SAFETY: both point into the same room or to its end, in this order.
        unsafe { self.end.offset_from_unsigned(self.at) }
    }

    /// Appends the first `length` bytes of a word, which in memory is little-endian.
    ///
    /// # Panics
    /// When `length` exceeds 8.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: u64, length: usize) {
        assert!(length <= 8);
        if self.room() < 8 {
            let written = self.written();
            // SAFETY: so many bytes of the room are written.
            (self.start, self.end) = unsafe { spill_word(self.sink, written, word, length) };
            self.at = self.start;
            return;
        }
        // SAFETY: there is room for 8 bytes at `at`, of which `length` become part of what is written.
        unsafe {
            self.at.cast::<[u8; 8]>().write(word.to_le_bytes());
            self.at = self.at.add(length);
        }
    }

    /// Appends bytes; those of a piece of text are whole characters when the piece is complete.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.room() < bytes.len() {
            return self.slow(bytes);
        }
        // SAFETY: there is room for so many bytes at `at`, and nobody else has a reference to it.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }

    /// Appends what the format string says literally.
    #[inline(always)]
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends values as `core::fmt` writes them.
    ///
    /// # Panics
    /// When the implementation of a formatting trait reports an error, as `format!` does.
    #[inline(always)]
    pub fn arguments(&mut self, arguments: fmt::Arguments<'_>) {
        self.apart(|out| write_arguments(out, arguments));
    }

    /// Calls a function that isn't compiled into its caller.
    ///
    /// It is lent a copy of the cursor: one whose address is known elsewhere couldn't be kept in registers.
    #[inline(always)]
    pub(crate) fn apart(&mut self, write: impl FnOnce(&mut Cursor<'_, E>)) {
        let Self { at, end, start, .. } = *self;
        let mut copy = Cursor {
            at,
            end,
            start,
            sink: &mut *self.sink,
            encoding: PhantomData,
        };
        write(&mut copy);
        (self.at, self.end, self.start) = (copy.at, copy.end, copy.start);
    }

    #[inline(always)]
    fn slow(&mut self, bytes: &[u8]) {
        // By value, so that the optimizer may keep the cursor in registers.
        let written = self.written();
        // SAFETY: so many bytes of the room are written.
        (self.start, self.end) = unsafe { spill(self.sink, written, bytes) };
        self.at = self.start;
    }

    /// How much of the room is written.
    #[inline(always)]
    fn written(&self) -> usize {
        // SAFETY: both point into the same room or to its end, in this order.
        unsafe { self.at.offset_from_unsigned(self.start) }
    }
}

#[inline(never)]
fn write_arguments<E>(out: &mut Cursor<'_, E>, arguments: fmt::Arguments<'_>) {
    struct Writer<'c, 'a, E>(&'c mut Cursor<'a, E>);
    impl<E> fmt::Write for Writer<'_, '_, E> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.text(text);
            Ok(())
        }
    }
    if fmt::write(&mut Writer(out), arguments).is_err() {
        panic!("a formatting trait implementation returned an error when the underlying stream did not");
    }
}

/// Hands the sink what has been written and what doesn't fit, and returns the ends of its new room.
///
/// # Safety
/// As [`Sink::wrote`].
#[cold]
#[inline(never)]
unsafe fn spill(sink: &mut dyn Sink, written: usize, bytes: &[u8]) -> (*mut u8, *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { sink.wrote(written) };
    sink.spill(bytes);
    ends(sink.room())
}

/// As [`spill`], for the first bytes of a word; what comes in registers leaves little code where it is called.
///
/// # Safety
/// As [`Sink::wrote`].
#[cold]
#[inline(never)]
unsafe fn spill_word(sink: &mut dyn Sink, written: usize, word: u64, length: usize) -> (*mut u8, *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { spill(sink, written, &word.to_le_bytes()[..length]) }
}

#[inline(always)]
fn ends(room: &mut [MaybeUninit<u8>]) -> (*mut u8, *mut u8) {
    let ends = room.as_mut_ptr_range();
    (ends.start.cast(), ends.end.cast())
}
