//! Bytes that a connection must keep for itself: what came and is not consumed yet, or is encrypted and not sent.
//!
//! **Invariant:** when it holds no bytes it holds no memory.

/// A buffer that is appended to at its end and consumed at its front, without moving what is between.
#[derive(Default)]
pub(crate) struct Rest {
    bytes: Vec<u8>,
    start: usize,
}

impl Rest {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory that it takes.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes of memory that it would take with `more` bytes of content; twice of what it takes, if that is more but not
    /// beyond `expected`.
    pub(crate) fn held_with(&self, more: usize, expected: usize) -> usize {
        let needed = self.len() + more;
        if needed <= self.bytes.capacity() {
            return self.bytes.capacity();
        }
        needed.max((2 * self.bytes.capacity()).min(expected))
    }

    /// Appends, growing to `held` bytes of memory if it must.
    pub(crate) fn append(&mut self, more: &[u8], held: usize) {
        if self.start > 0 && self.bytes.len() + more.len() > self.bytes.capacity() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        if self.bytes.len() + more.len() > self.bytes.capacity() {
            self.bytes
                .reserve_exact(held.max(self.bytes.len() + more.len()) - self.bytes.len());
        }
        self.bytes.extend_from_slice(more);
    }

    /// Drops bytes at the front.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.bytes.len());
        if self.start >= self.bytes.len() {
            *self = Rest::default();
        }
    }

    /// Moves as many bytes as fit to `destination`.
    pub(crate) fn take(&mut self, destination: &mut [u8]) -> usize {
        let count = self.len().min(destination.len());
        destination[..count].copy_from_slice(&self.bytes()[..count]);
        self.consume(count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_no_memory_when_empty_and_no_more_than_promised() {
        let mut rest = Rest::default();
        assert_eq!(rest.held_with(100, 0), 100);
        rest.append(&[1; 100], 100);
        assert_eq!((rest.len(), rest.held()), (100, 100));
        rest.consume(60);
        assert_eq!(rest.held_with(60, 1000), 100, "moving to the front makes room");
        rest.append(&[2; 60], 100);
        assert_eq!((rest.len(), rest.held()), (100, 100));
        assert_eq!(rest.held_with(1, 150), 150);
        assert_eq!(rest.bytes()[39..41], [1, 2]);
        let mut destination = [0; 200];
        assert_eq!(rest.take(&mut destination), 100);
        assert_eq!(rest.held(), 0);
    }
}
