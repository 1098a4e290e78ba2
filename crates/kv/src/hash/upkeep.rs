//! Work that is done now and then while a store is open.
//!
//! ```text
//!   each second            see that the folder is still there; on a device that was full, try to begin the epoch
//!   each index_snapshot    write a snapshot of the index
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Shared, snapshot};
use crate::folder::Meta;
use crate::{StoreError, Work};

/// The longest time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Refuses writes while the store's epoch is not on the device. A store cannot write its epoch to a full device, and without it a
/// write could get a CAS that was given out before.
#[derive(Debug, Default)]
pub(super) struct Admission {
    waits: AtomicBool,
    /// The epoch that is not on the device.
    unwritten: Mutex<Option<Meta>>,
}

impl Admission {
    /// Refuses writes until this is written.
    pub(super) fn wait_for_room(&self, meta: Meta) {
        *self.unwritten.lock() = Some(meta);
        self.waits.store(true, Ordering::Release);
    }

    /// # Errors
    /// Writes are refused, since the device is full.
    #[inline]
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.waits.load(Ordering::Acquire) {
            return Err(StoreError::Full);
        }
        Ok(())
    }

    /// Tries again to write what could not be written.
    pub(super) fn retry(&self, shared: &Shared) {
        let mut unwritten = self.unwritten.lock();
        let (Some(meta), Some(folder)) = (*unwritten, &*shared.folder.lock()) else {
            return;
        };
        match folder.write(meta) {
            Ok(()) => {
                *unwritten = None;
                self.waits.store(false, Ordering::Release);
                shared.durability.health.succeeded(Work::Opening);
            }
            Err(error) => shared.durability.health.failed(Work::Opening, &error),
        }
    }
}

/// The thread's work, until the store is closed.
pub(super) fn run(shared: &Shared) {
    let every = shared.settings.index_snapshot;
    let mut last = Instant::now();
    let period = if every.is_zero() {
        PERIOD
    } else {
        PERIOD.min(every)
    };
    while !shared.durability.stops_within(period) {
        see_folder(shared);
        shared.admission.retry(shared);
        if !every.is_zero() && last.elapsed() >= every {
            snapshot::write(shared);
            last = Instant::now();
        }
    }
}

/// Refuses writes if the folder was removed: they would be acknowledged and lost.
fn see_folder(shared: &Shared) {
    let partitions = shared.journals.0.len() as u32;
    let seen = shared
        .folder
        .lock()
        .as_ref()
        .map(|folder| folder.check(partitions));
    if let Some(Err(error)) = seen {
        shared.durability.refuse(&error);
    }
}
