//! Locks on keys, each shared by the keys whose hashes are alike.

use parking_lot::{Mutex, MutexGuard};

/// The number of locks. Large, since a read of a page is repeated if any key of its stripe changes meanwhile.
const STRIPES: usize = 4096;

/// All locks of a store.
pub(super) struct Stripes {
    stripes: Box<[Mutex<u64>]>,
}

/// A locked stripe.
pub(super) struct Stripe<'s> {
    version: MutexGuard<'s, u64>,
}

impl Stripes {
    pub(super) fn new() -> Stripes {
        Stripes {
            stripes: (0..STRIPES).map(|_| Mutex::new(0)).collect(),
        }
    }

    /// Locks the stripe of a hash.
    pub(super) fn lock(&self, hash: u64) -> Stripe<'_> {
        Stripe {
            version: self.stripes[hash as usize % STRIPES].lock(),
        }
    }

    /// Locks all stripes, whose keys are about to change.
    pub(super) fn lock_all(&self) -> Vec<Stripe<'_>> {
        let lock = |stripe| Stripe {
            version: Mutex::lock(stripe),
        };
        let mut all: Vec<Stripe<'_>> = self.stripes.iter().map(lock).collect();
        all.iter_mut().for_each(Stripe::change);
        all
    }
}

impl Stripe<'_> {
    /// The number of changes so far.
    pub(super) fn version(&self) -> u64 {
        *self.version
    }

    /// Notes a change of one of its keys.
    pub(super) fn change(&mut self) {
        *self.version += 1;
    }
}
