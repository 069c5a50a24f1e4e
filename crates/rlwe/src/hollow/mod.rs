//! Hollow contexts: what computations would cost, before any key is made.
//!
//! A hollow context computes without residues. Its polynomials have as many limbs as any others,
//! and every limb is empty ([`Poly::hollow`]), so that the loops over limbs have nothing to do;
//! everything else is what it is elsewhere, by the same code: moduli, noise, keys, checks and
//! errors. In place of the arithmetic, each operation notes what it takes by the profile in use,
//! and each key switch which key it uses, in a [`Tally`]. The memory of polynomials is reckoned by
//! a [`Meter`].
//!
//! Parameters of a hollow context have a digest of their own, so that what is hollow is never taken
//! for what is not.

pub(crate) mod ledger;
pub(crate) mod tally;

use hippocrene_ring::{Domain, Kernel, Meter, Poly, Threads};

use crate::{Context, Modulus, Parameters, Profile, RlweError, WordSize, keyswitch::Count};

use ledger::Ledger;

pub use tally::{KeyUse, Noted, Tally};

impl Context {
    /// A context that computes without residues and notes what operations take.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn hollow(parameters: Parameters, threads: Threads) -> Result<Self, RlweError> {
        Self::build(parameters.hollow(), threads, Kernel::detect()?, Some(Ledger::default()))
    }

    /// A context for `parameters` with the threads and the kernel of this one; if this one is
    /// hollow, so is that, and both note in one place.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn sibling(&self, parameters: Parameters) -> Result<Self, RlweError> {
        let parameters = if self.is_hollow() { parameters.hollow() } else { parameters };
        let context =
            Self::build(parameters, self.threads().clone(), self.kernel(), self.ledger.clone())?;
        Ok(context.with_profile(self.profile().clone()))
    }

    /// Whether it computes without residues.
    pub fn is_hollow(&self) -> bool {
        self.ledger.is_some()
    }

    /// What was noted so far; nothing where it is not hollow.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        if let Some(ledger) = &self.ledger {
            ledger.note(|noted| tally = noted.clone());
            // A copy reads and writes as much as a pass; how much of that is not in the cache, is
            // reckoned for fresh ciphertexts.
            let (parameters, limb) = (self.parameters(), self.degree() * size_of::<u64>());
            let limbs = ledger.meter().copied() as f64 / limb as f64;
            let bytes = (4 * limb * parameters.top().limb_count()) as u64;
            let pass = self.priced(|prices| {
                prices.limb(parameters.log_degree(), WordSize::Below48, prices.missed(bytes)).pass
            });
            if limbs > 0.0 {
                tally.add("copy polynomials", 1e-9 * limbs * pass, 0);
            }
        }
        tally
    }

    /// In a hollow context, predicts times by `profile` from now on. Key switches are planned as
    /// before, so that results and their noise do not depend on it. Contexts that note in one place
    /// share it.
    pub fn set_prices(&self, profile: Profile) {
        if let Some(ledger) = &self.ledger {
            ledger.set_prices(profile);
        }
    }

    /// What `f` makes of the profile that times are predicted by: that of [`Context::set_prices`],
    /// or the one that key switches are planned by.
    pub fn priced<T>(&self, f: impl FnOnce(&Profile) -> T) -> T {
        match &self.ledger {
            Some(ledger) => ledger.priced(self.profile(), f),
            None => f(self.profile()),
        }
    }

    /// The memory of the polynomials of a hollow context.
    pub fn meter(&self) -> Option<&Meter> {
        self.ledger.as_ref().map(Ledger::meter)
    }

    /// Forgets what was noted, and what was taken of memory before now.
    pub fn reset_tally(&self) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| *tally = Tally::default());
            ledger.meter().reset();
        }
    }

    /// In a hollow context, notes the encoding of a plaintext modulo `extended`, which takes as
    /// long as `transforms` transforms before it is reduced; or one of a ring degree that is a
    /// `share` of the context's.
    pub fn note_encoding(&self, extended: Modulus, transforms: u64, share: usize) {
        let Some(ledger) = &self.ledger else { return };
        let mut count = Count::plain(&self.rings);
        count.passes(extended, 1);
        count.forward(extended, 1);
        count.of_size(WordSize::Below61).forward += transforms;
        let seconds = self.priced(|prices| count.seconds(prices)) / share as f64;
        ledger.note(|tally| tally.add("encode", seconds, 0));
    }

    /// In a hollow context, notes an operation of another crate, by the seconds that it takes and
    /// the transforms that it makes.
    pub fn note(&self, operation: &'static str, seconds: f64, transforms: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| tally.add(operation, seconds, transforms));
        }
    }

    /// In a hollow context, notes log2 of the probability that what is computed fails: with it, no
    /// error tells of what results are off by.
    pub fn note_failure(&self, log2_probability: impl FnOnce() -> f64) {
        if let Some(ledger) = &self.ledger {
            ledger.note(|tally| tally.add_failure(log2_probability()));
        }
    }

    /// In a hollow context, notes an operation by what it does with limbs.
    pub(crate) fn reckon<'a>(
        &'a self,
        operation: &'static str,
        count: impl FnOnce(&mut Count<'a>),
    ) {
        let Some(ledger) = &self.ledger else { return };
        let mut done = Count::plain(&self.rings);
        count(&mut done);
        let seconds = self.priced(|prices| done.seconds(prices));
        ledger.note(|tally| tally.add(operation, seconds, done.transforms()));
    }

    /// Checks that polynomials are hollow where this is, and only there.
    pub(crate) fn check_residues(
        &self,
        polys: &[&Poly],
        operation: &'static str,
    ) -> Result<(), RlweError> {
        match polys.iter().find(|poly| poly.is_hollow() != self.is_hollow()) {
            None => Ok(()),
            Some(poly) => {
                let need = "what is hollow and what is not do not go together";
                Err(RlweError::Modulus { operation, have: poly.limb_count(), need })
            }
        }
    }

    /// Takes and gives back scratch memory of so many limbs, as operations do that have nothing
    /// else to do where there are no residues.
    pub(crate) fn touch_scratch(&self, limbs: &[usize]) {
        if self.is_hollow() {
            let taken: Vec<_> =
                limbs.iter().map(|limbs| self.scratch_limbs(*limbs, Domain::Evaluation)).collect();
            drop(taken);
        }
    }
}
