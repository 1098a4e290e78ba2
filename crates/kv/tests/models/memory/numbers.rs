//! The free overflow buckets, two a page.

pub(crate) const A_PAGE: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pages: u32,
    free: Vec<u32>,
}

impl Numbers {
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    pub(crate) fn used(&self) -> u32 {
        self.pages * A_PAGE - self.free.len() as u32
    }

    pub(crate) fn grow(&mut self) {
        let first = self.pages * A_PAGE;
        self.free.extend((first.max(1)..first + A_PAGE).rev());
        self.pages += 1;
    }

    pub(crate) fn shrink(&mut self) -> Option<u32> {
        None
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    pub(crate) fn take_below(&mut self, bound: u32) -> Option<u32> {
        let index = self.free.iter().position(|&number| number < bound)?;
        Some(self.free.swap_remove(index))
    }

    pub(crate) fn give(&mut self, number: u32) {
        self.free.push(number);
    }
}
