//! Dry runs, which predict the cost of computations before any key is made.
//!
//! The context of a dry run computes without residues. Its polynomials have the usual numbers of
//! limbs, but every limb is empty ([`Poly::dry_run`]), so loops over limbs have nothing to do. The
//! same code as in a real run handles everything else: moduli, noise, keys, checks and errors.
//!
//! Each operation records in a [`Tally`] its time as predicted by the profile in use. Each key
//! switch records the key that it uses. A [`MemoryMeter`] counts the memory of polynomials.
//!
//! The parameters of a dry run have a digest of their own, so that operands of a dry run and of a
//! real run cannot be mixed.

pub(crate) mod ledger;
pub(crate) mod tally;

use std::sync::Arc;

use hippocrene_ring::{Domain, Kernel, MemoryMeter, Poly, Threads};

use crate::{Context, Modulus, Parameters, Profile, RlweError, WordSize, keyswitch::Count};

use ledger::Ledger;

pub use tally::{KeyUse, OperationCost, Tally};

impl Context {
    /// Returns the context of a dry run, which computes without residues and records the cost of
    /// operations.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::new`].
    pub fn dry_run(parameters: Parameters, threads: Threads) -> Result<Self, RlweError> {
        Self::build(parameters.for_dry_run(), threads, Kernel::detect()?, Some(Ledger::default()))
    }

    /// Returns the context of a dry run with the parameters of this context.
    ///
    /// Both share the residue rings and the constants of operations. The new context computes on
    /// one thread. [`Profile::reference`] plans its key switches and predicts its times, so that
    /// decisions are the same on every machine.
    pub fn dry_run_beside(&self) -> Self {
        self.in_dry_run(Ledger::default())
    }

    /// Returns the counterpart of `other` in the dry run of this context, as
    /// [`Context::dry_run_beside`] makes one. Both share one record.
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if this context is not in a dry run.
    pub fn dry_run_sibling(&self, other: &Context) -> Result<Self, RlweError> {
        match &self.ledger {
            Some(ledger) => Ok(other.in_dry_run(ledger.clone())),
            None => Err(RlweError::Parameters { what: "this is no context of a dry run".into() }),
        }
    }

    fn in_dry_run(&self, ledger: Ledger) -> Self {
        let parameters = self.parameters().clone().for_dry_run();
        let (rings, plans) = (Arc::clone(&self.rings), Arc::clone(&self.plans));
        Context::of_parts(parameters, rings, plans, Threads::single(), Some(ledger))
            .planned_by(Profile::reference())
    }

    /// Returns a context for `parameters` with the threads and the kernel of this context. In a dry
    /// run, the new context belongs to the same dry run, and both share one record.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::new`].
    pub fn sibling(&self, parameters: Parameters) -> Result<Self, RlweError> {
        let parameters = if self.is_dry_run() { parameters.for_dry_run() } else { parameters };
        let context =
            Self::build(parameters, self.threads().clone(), self.kernel(), self.ledger.clone())?;
        Ok(context.planned_by(self.profile().clone()))
    }

    /// True if this context is in a dry run, which computes without residues.
    pub fn is_dry_run(&self) -> bool {
        self.ledger.is_some()
    }

    /// Returns the record of the dry run so far. Outside of a dry run it is empty.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        if let Some(ledger) = &self.ledger {
            ledger.note(|recorded| tally = recorded.clone());
            // A copy reads and writes as much as a pass. The share of cache misses is assumed to be
            // that of fresh ciphertexts.
            let (parameters, limb) = (self.parameters(), self.degree() * size_of::<u64>());
            let limbs = ledger.meter().copied() as f64 / limb as f64;
            let bytes = (4 * limb * parameters.top().limb_count()) as u64;
            let pass = self.priced(|prices| {
                prices
                    .limb(parameters.log_degree(), WordSize::Below48, prices.missed_fraction(bytes))
                    .pass
            });
            if limbs > 0.0 {
                tally.add("copy polynomials", 1e-9 * limbs * pass, 0);
            }
        }
        tally
    }

    /// Calls `f` with the record of the dry run so far, without the copies of polynomials. Outside
    /// of a dry run it is empty.
    pub fn read_tally<T>(&self, f: impl FnOnce(&Tally) -> T) -> T {
        match &self.ledger {
            Some(ledger) => ledger.note(|tally| f(tally)),
            None => f(&Tally::default()),
        }
    }

    /// In a dry run, predicts times by `profile` from now on.
    ///
    /// The planning of key switches does not change, so results and their noise do not depend on
    /// this. Contexts that share a record share this profile.
    pub fn set_cost_profile(&self, profile: Profile) {
        if let Some(ledger) = &self.ledger {
            ledger.set_cost_profile(profile);
        }
    }

    /// Calls `f` with the profile that predicts times. This is the one of
    /// [`Context::set_cost_profile`] or, by default, the one that plans key switches.
    pub fn priced<T>(&self, f: impl FnOnce(&Profile) -> T) -> T {
        match &self.ledger {
            Some(ledger) => ledger.priced(self.profile(), f),
            None => f(self.profile()),
        }
    }

    /// The memory of the polynomials of a dry run, or `None` outside of one.
    pub fn meter(&self) -> Option<&MemoryMeter> {
        self.ledger.as_ref().map(Ledger::meter)
    }

    /// Clears the record, and sets the peak memory to the memory in use now.
    pub fn reset_tally(&self) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| *tally = Tally::default());
            ledger.meter().reset();
        }
    }

    /// In a dry run, records the encoding of a plaintext modulo `extended`.
    ///
    /// Before the reduction, the encoding takes as long as `transforms` transforms. The ring degree
    /// of the plaintext is that of the context divided by `share`.
    pub fn record_encoding(&self, extended: Modulus, transforms: u64, share: usize) {
        let Some(ledger) = &self.ledger else { return };
        let seconds = self.priced(|prices| {
            let mut count = Count::plain(&self.rings, prices.kernel());
            count.passes(extended, 1);
            count.forward(extended, 1);
            count.of_size(WordSize::Below61).forward += transforms;
            count.seconds(prices) / share as f64
        });
        ledger.note(|tally| tally.add("encode", seconds, 0));
    }

    /// In a dry run, records an operation of another crate with its seconds and its number of
    /// transforms.
    pub fn note(&self, operation: &'static str, seconds: f64, transforms: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| tally.add(operation, seconds, transforms));
        }
    }

    /// In a dry run, records log2 of the probability that results are wrong without an error.
    pub fn record_failure(&self, log2_probability: impl FnOnce() -> f64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| tally.add_failure(log2_probability()));
        }
    }

    /// In a dry run, records an operation by its primitives on limbs, which `count` counts.
    pub(crate) fn record<'a>(
        &'a self,
        operation: &'static str,
        count: impl FnOnce(&mut Count<'a>),
    ) {
        let Some(ledger) = &self.ledger else { return };
        let (seconds, transforms) = self.priced(|prices| {
            let mut done = Count::plain(&self.rings, prices.kernel());
            count(&mut done);
            (done.seconds(prices), done.transforms())
        });
        ledger.note(|tally| tally.add(operation, seconds, transforms));
    }

    /// Checks that the polynomials have residues or, in a dry run, that they have none.
    pub(crate) fn check_residues(
        &self,
        polys: &[&Poly],
        operation: &'static str,
    ) -> Result<(), RlweError> {
        match polys.iter().find(|poly| poly.is_dry_run() != self.is_dry_run()) {
            None => Ok(()),
            Some(poly) => {
                let need = "operands of a dry run and of a real run cannot be mixed";
                Err(RlweError::Modulus { operation, have: poly.limb_count(), need })
            }
        }
    }

    /// In a dry run, borrows scratch polynomials with these numbers of limbs and returns them, so
    /// that the meter counts the memory of loops that do not run.
    pub(crate) fn touch_scratch(&self, limbs: &[usize]) {
        if self.is_dry_run() {
            let taken: Vec<_> =
                limbs.iter().map(|limbs| self.scratch_limbs(*limbs, Domain::Evaluation)).collect();
            drop(taken);
        }
    }
}
