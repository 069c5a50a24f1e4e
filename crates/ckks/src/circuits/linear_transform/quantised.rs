//! Diagonals that are encoded limb by limb where they are used.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, ResidueRing};
use hippocrene_rlwe::{LimbByLimb, Modulus};

use crate::{
    CkksError, Context, Scale, Values,
    encoder::{Encoder, IntegerPolynomial, Rounding},
};

/// A diagonal as a polynomial over the integers.
///
/// It is reduced modulo each limb and transformed when that limb of a sum is computed. So it needs
/// the memory of one limb (more at scales beyond doubles), and the reduced limb stays in the CPU's
/// cache.
#[derive(Debug)]
pub(super) enum Quantised {
    Integers {
        integers: IntegerPolynomial,
        encoder: Arc<Encoder>,
    },
    /// The memory of the integers, for the memory count of dry runs.
    DryRun {
        _memory: Poly,
    },
}

impl Quantised {
    /// Rounds `values`, which fit the first of the moduli, in `slots` slots. They will be reduced
    /// modulo the second one.
    pub fn new(
        context: &Context,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        moduli: [Modulus; 2],
    ) -> Result<Self, CkksError> {
        let integers = context.quantise(values, slots, scale, rounding, moduli)?;
        Ok(Quantised::Integers { integers, encoder: Arc::clone(context.encoder()) })
    }

    /// Returns the placeholder for a dry run.
    pub fn dry_run(context: &Context, extended: Modulus, big: bool) -> Self {
        context.record_encoding(extended, big);
        let none = context.rlwe().scratch_limbs(0, Domain::Coefficient);
        Quantised::DryRun { _memory: none.new_like(context.rlwe().degree(), 1) }
    }
}

impl LimbByLimb for Quantised {
    fn write(&self, ring: &ResidueRing, limb: &mut [u64]) {
        if let Quantised::Integers { integers, encoder } = self {
            encoder.reduce(integers, ring, limb).expect("everything here is of one ring degree");
        }
    }
}
