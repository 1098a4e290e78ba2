//! How an item lies in an arena.
//!
//! ```text
//!   0      1      2          4                8               12
//!   ┌──────┬──────┬──────────┬────────────────┬───────────────┬─────────┬──────────┬───────┬─────┬────────────────┐
//!   │ klen │ bits │ tail len │ version - base │ last access   │ flags 4 │ expiry 4 │ cas 8 │ key │ tail           │
//!   └──────┴──────┴──────────┴────────────────┴───────────────┴─────────┴──────────┴───────┴─────┴────────────────┘
//!                                                               ╰──── present as the bits say ─╯  value, or address of a block
//! ```
//! An item begins at a multiple of eight. The version is the store's write counter; its base belongs to the arena.
//!
//! **Invariant:** the first word is atomic, and the key and everything that decides the stride never change in place, so a
//! arena can be walked without locks once its writers are done. All else is touched only under the bucket's lock.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::heap::{Block, Prefix};

/// Client flags are present.
pub(super) const FLAGS: u8 = 1;
/// An expiry is present; zero is never.
pub(super) const EXPIRY: u8 = 2;
/// A CAS that the client named is present.
pub(super) const CAS: u8 = 4;
/// The tail is the address of a block and the length of the value in it.
pub(super) const LARGE: u8 = 8;
/// A client has read the item.
pub(super) const FETCHED: u8 = 16;
/// A client declared the item stale.
pub(super) const STALE: u8 = 32;
/// A client holds the right to recache the item.
pub(super) const WON: u8 = 64;
/// No slot points here any more.
pub(super) const DEAD: u8 = 128;

/// The tail of a large item: two words.
pub(super) const LARGE_TAIL: u16 = 16;

/// Bits that decide where the key lies.
pub(super) const OPTIONS: u8 = FLAGS | EXPIRY | CAS;

const HEADER: usize = 12;

/// The longest tail.
#[cfg(test)]
pub(super) const TAIL_MAX: usize = u16::MAX as usize;

/// The first word of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) bits: u8,
    pub(super) key: u8,
    pub(super) tail: u16,
}

impl Shape {
    #[inline]
    fn from_word(word: u32) -> Self {
        Shape {
            key: word as u8,
            bits: (word >> 8) as u8,
            tail: (word >> 16) as u16,
        }
    }

    #[inline]
    fn word(self) -> u32 {
        u32::from(self.key) | u32::from(self.bits) << 8 | u32::from(self.tail) << 16
    }

    #[inline]
    pub(super) fn has(self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    #[inline]
    fn expiry_offset(self) -> usize {
        HEADER + usize::from(self.bits & FLAGS) * 4
    }

    #[inline]
    fn cas_offset(self) -> usize {
        self.expiry_offset() + usize::from(self.bits & EXPIRY) * 2
    }

    #[inline]
    fn key_offset(self) -> usize {
        self.cas_offset() + usize::from(self.bits & CAS) * 2
    }

    #[inline]
    fn tail_offset(self) -> usize {
        self.key_offset() + usize::from(self.key)
    }

    /// Bytes to the next item.
    #[inline]
    pub(super) fn stride(self) -> usize {
        (self.tail_offset() + usize::from(self.tail)).next_multiple_of(8)
    }
}

/// The facts of an item beside key and value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Version less the arena's base.
    pub(super) delta: u32,
    pub(super) last_access: u32,
    pub(super) flags: u32,
    /// Zero is never.
    pub(super) expiry: u32,
    pub(super) cas: u64,
}

/// The end of an item.
pub(super) enum Tail<'v> {
    /// A value, in pieces, between two that an old value may fill.
    Pieces(&'v [u8], &'v [&'v [u8]], &'v [u8]),
    /// A large value, whose count of references goes over to the item.
    Block(Prefix),
}

/// An item in place.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    at: NonNull<u8>,
    life: PhantomData<&'a u8>,
}

impl<'a> Item<'a> {
    /// # Safety
    /// A complete item lies at `at` and stays there for `'a`. Methods other than [`shape`](Item::shape) and
    /// [`key`](Item::key) may only be called while the lock of the item's bucket is held, or before the item is published.
    #[inline]
    pub(super) unsafe fn new(at: NonNull<u8>) -> Self {
        Item {
            at,
            life: PhantomData,
        }
    }

    #[inline]
    fn word(&self) -> &'a AtomicU32 {
        // SAFETY: items begin at multiples of eight, and the first word is only ever accessed atomically once published.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr().cast()) }
    }

    #[inline]
    fn load<T: Copy>(&self, offset: usize) -> T {
        // SAFETY: callers pass offsets of fields that the shape says are present, and only integers; locked by contract.
        unsafe { self.at.add(offset).cast::<T>().read_unaligned() }
    }

    #[inline]
    fn store<T: Copy>(&self, offset: usize, value: T) {
        // SAFETY: as in `load`, and exclusive by the bucket's lock.
        unsafe { self.at.add(offset).cast::<T>().write_unaligned(value) }
    }

    #[inline]
    pub(super) fn shape(&self) -> Shape {
        Shape::from_word(self.word().load(Relaxed))
    }

    /// Changes bits or the tail's length; the stride must stay.
    #[inline]
    pub(super) fn set_shape(&self, shape: Shape) {
        debug_assert_eq!(self.shape().stride(), shape.stride());
        self.word().store(shape.word(), Relaxed);
    }

    #[inline]
    pub(super) fn key(&self) -> &'a [u8] {
        let shape = self.shape();
        // SAFETY: the key's bytes lie within the item and never change in place.
        unsafe {
            std::slice::from_raw_parts(self.at.add(shape.key_offset()).as_ptr(), usize::from(shape.key))
        }
    }

    /// The tail's bytes: the value of an item that isn't large.
    #[inline]
    pub(super) fn tail(&self) -> &'a [u8] {
        let shape = self.shape();
        // SAFETY: the tail lies within the item; it changes only through `overwrite`, under the lock that we hold.
        unsafe {
            std::slice::from_raw_parts(self.at.add(shape.tail_offset()).as_ptr(), usize::from(shape.tail))
        }
    }

    /// The value of a large item, without a count of its own.
    #[inline]
    pub(super) fn block(&self) -> ManuallyDrop<Prefix> {
        let shape = self.shape();
        debug_assert!(shape.has(LARGE));
        let address = self.load::<u64>(shape.tail_offset()) as usize;
        let length = self.load::<u64>(shape.tail_offset() + 8) as usize;
        // SAFETY: the address came from `Arc::into_raw` when the item was written; the item still owns that count, so the
        // block is alive, and `ManuallyDrop` doesn't take the count away.
        let block = unsafe { Arc::from_raw(std::ptr::with_exposed_provenance::<Block>(address)) };
        ManuallyDrop::new(Prefix { block, length })
    }

    /// Takes the block's count out of an item that is being removed.
    pub(super) fn take_block(&self) -> Prefix {
        ManuallyDrop::into_inner(self.block())
    }

    #[inline]
    pub(super) fn delta(&self) -> u32 {
        self.load(4)
    }

    #[inline]
    pub(super) fn set_delta(&self, delta: u32) {
        self.store(4, delta);
    }

    #[inline]
    pub(super) fn last_access(&self) -> u32 {
        self.load(8)
    }

    #[inline]
    pub(super) fn set_last_access(&self, second: u32) {
        self.store(8, second);
    }

    #[inline]
    pub(super) fn flags(&self) -> u32 {
        if self.shape().has(FLAGS) {
            self.load(HEADER)
        } else {
            0
        }
    }

    /// Zero is never.
    #[inline]
    pub(super) fn expiry(&self) -> u32 {
        let shape = self.shape();
        if shape.has(EXPIRY) {
            self.load(shape.expiry_offset())
        } else {
            0
        }
    }

    /// Only for items that have the field.
    pub(super) fn set_expiry(&self, second: u32) {
        debug_assert!(self.shape().has(EXPIRY));
        self.store(self.shape().expiry_offset(), second);
    }

    /// The CAS that a client named, if one did.
    #[inline]
    pub(super) fn explicit_cas(&self) -> Option<u64> {
        let shape = self.shape();
        shape.has(CAS).then(|| self.load(shape.cas_offset()))
    }

    /// Only for items that have the field.
    pub(super) fn set_explicit_cas(&self, cas: u64) {
        debug_assert!(self.shape().has(CAS));
        self.store(self.shape().cas_offset(), cas);
    }

    /// Writes a whole item into unpublished memory.
    pub(super) fn write(&self, shape: Shape, facts: &Facts, key: &[u8], tail: Tail<'_>) {
        debug_assert_eq!(key.len(), usize::from(shape.key));
        self.word().store(shape.word(), Relaxed);
        self.write_facts(shape, facts);
        // SAFETY: the shape reserves this many bytes for the key, in memory that isn't published yet.
        unsafe {
            let destination = self.at.add(shape.key_offset());
            std::ptr::copy_nonoverlapping(key.as_ptr(), destination.as_ptr(), key.len());
        }
        self.write_tail(shape, tail);
    }

    /// Writes everything but the key anew, in place. Options, stride and being large must stay.
    pub(super) fn overwrite(&self, shape: Shape, facts: &Facts, tail: Tail<'_>) {
        debug_assert_eq!(
            self.shape().bits & (OPTIONS | LARGE),
            shape.bits & (OPTIONS | LARGE)
        );
        self.set_shape(shape);
        self.write_facts(shape, facts);
        self.write_tail(shape, tail);
    }

    fn write_facts(&self, shape: Shape, facts: &Facts) {
        self.store(4, facts.delta);
        self.store(8, facts.last_access);
        if shape.has(FLAGS) {
            self.store(HEADER, facts.flags);
        }
        if shape.has(EXPIRY) {
            self.store(shape.expiry_offset(), facts.expiry);
        }
        if shape.has(CAS) {
            self.store(shape.cas_offset(), facts.cas);
        }
    }

    fn write_tail(&self, shape: Shape, tail: Tail<'_>) {
        match tail {
            Tail::Block(Prefix { block, length }) => {
                let address = Arc::into_raw(block).expose_provenance();
                self.store(shape.tail_offset(), address as u64);
                self.store(shape.tail_offset() + 8, length as u64);
            }
            Tail::Pieces(before, middle, after) => {
                let mut offset = shape.tail_offset();
                for piece in std::iter::once(&before)
                    .chain(middle)
                    .chain(std::iter::once(&after))
                {
                    assert!(offset + piece.len() <= shape.tail_offset() + usize::from(shape.tail));
                    // SAFETY: the assertion above keeps the copy within the item's tail, which is ours: unpublished, or
                    // under the bucket's lock. The pieces are elsewhere: an item's own tail is never among the pieces of
                    // its overwriting.
                    unsafe {
                        let destination = self.at.add(offset).as_ptr();
                        std::ptr::copy_nonoverlapping(piece.as_ptr(), destination, piece.len());
                    }
                    offset += piece.len();
                }
            }
        }
    }

    /// Copies a whole item to unpublished memory.
    pub(super) fn copy_to(&self, destination: &Item<'_>) {
        let length = self.shape().stride();
        // SAFETY: the destination was allocated for this stride, elsewhere; the bucket's lock keeps the source as it is.
        unsafe { std::ptr::copy_nonoverlapping(self.at.as_ptr(), destination.at.as_ptr(), length) };
    }
}
