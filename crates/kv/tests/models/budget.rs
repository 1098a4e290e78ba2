//! A budget that has always enough.

#[derive(Debug, Default)]
pub(crate) struct Budget;

impl Budget {
    pub(crate) fn take(&self, _bytes: usize) -> bool {
        true
    }

    pub(crate) fn give(&self, _bytes: usize) {}

    pub(crate) fn used(&self) -> usize {
        0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Reservation;

impl Reservation {
    pub(crate) fn spend(&mut self, _bytes: usize) -> bool {
        true
    }
}
