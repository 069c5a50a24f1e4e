//! The record of a dry run.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hippocrene_ring::{Domain, MemoryMeter, Poly, scratch::ScratchPool};

use super::tally::Tally;
use crate::Profile;

/// The record that a dry run writes to. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    meter: MemoryMeter,
    tally: Arc<Mutex<Tally>>,
    /// The profile that predicts seconds, unless it is the one that plans key switches.
    prices: Arc<RwLock<Option<Profile>>>,
}

impl Ledger {
    /// The memory that the polynomials of a real run would need.
    pub(crate) fn meter(&self) -> &MemoryMeter {
        &self.meter
    }

    /// A pool of polynomials without residues.
    pub(crate) fn scratch(&self, degree: usize) -> ScratchPool {
        ScratchPool::dry_run(degree, &self.meter)
    }

    /// A polynomial without residues and with no limbs yet, in the evaluation domain.
    pub(crate) fn polynomial(&self, degree: usize) -> Poly {
        Poly::dry_run(degree, 0, Domain::Evaluation, &self.meter)
    }

    /// Writes to the tally.
    pub(crate) fn note<T>(&self, f: impl FnOnce(&mut Tally) -> T) -> T {
        f(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Predicts seconds by `profile` from now on.
    pub(super) fn set_cost_profile(&self, profile: Profile) {
        *self.prices.write().unwrap_or_else(PoisonError::into_inner) = Some(profile);
    }

    /// Calls `f` with the profile that predicts seconds, which is `planned` by default.
    pub(super) fn priced<T>(&self, planned: &Profile, f: impl FnOnce(&Profile) -> T) -> T {
        let prices = self.prices.read().unwrap_or_else(PoisonError::into_inner);
        f(prices.as_ref().unwrap_or(planned))
    }
}
