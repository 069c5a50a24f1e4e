//! The transform of slots to coefficients.

use hippocrene_ckks::{Ciphertext, CkksError, Scale};
use hippocrene_fhew::RlweCoefficients;
use hippocrene_ring::arith::bit_reverse;
use hippocrene_rlwe::{Noise, RlweError};

use crate::{Pegasus, PegasusError, plan::scale_of_bits};

const OPERATION: &str = "slots to coefficients";

/// Encrypted numbers as coefficients of one polynomial modulo `q0`.
///
/// The number of slot `j` is in coefficient `k N/2n`, where `k` is the number whose `log2(n)` bits
/// are those of `j` reversed. See [`Pegasus`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    inner: RlweCoefficients,
    slots: usize,
    scale: Scale,
    bound: f64,
}

impl Coefficients {
    /// The RLWE ciphertext in the coefficient domain.
    pub fn inner(&self) -> &RlweCoefficients {
        &self.inner
    }

    /// The number of slots that the numbers came from.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The ratio of coefficients to numbers.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// A bound on the absolute values of the numbers.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns the index of the coefficient that holds the number of a slot.
    pub fn place(&self, slot: usize) -> usize {
        let gap = self.inner.parameters().dimension() / (2 * self.slots);
        bit_reverse(slot, self.slots.ilog2()) * gap
    }
}

impl Pegasus {
    /// Transforms the real parts of the numbers in the slots of `a` to coefficients modulo `q0`.
    ///
    /// Their scale is chosen such that `(1 + margin) bound` is `q0/4`, where `bound` is the bound
    /// of `a` ([`Ciphertext::bound`]). The transform runs at the smallest modulus that suffices,
    /// because it is fast there.
    ///
    /// # Errors
    /// Returns [`CkksError::Capacity`] if the modulus of `a` is too small, [`PegasusError::Domain`]
    /// if the bound of `a` is 0 or not finite, and [`PegasusError::Argument`] if no transform was
    /// planned for its number of slots.
    pub fn to_coefficients(&self, a: &Ciphertext) -> Result<Coefficients, PegasusError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let (literal, parameters) = (plan.literal(), plan.context().parameters());
        let transform = plan.transform(a.slots())?;
        let bound = a.bound();
        // The scale of the transform's result only suffices for its precision, so that the integer
        // between this scale and the last one has few bits. All values are relative to their bound.
        let unit = (1.0 + literal.margin).log2() + 2.0;
        let bound_scale = Scale::from_f64(bound).ok_or_else(|| bound_error(bound))?;
        let (from, to) =
            (a.scale().times(bound_scale), scale_of_bits(parameters.log2(plan.base()) - unit)?);
        let between = scale_of_bits(literal.transform_bits.min(from.log2()))?;
        let need = unit + from.log2() + transform.bits() + between.log2() + 1.0;
        let have = parameters.log2(a.modulus());
        if need > have {
            let capacity = a.capacity_bits(plan.context());
            let need = capacity + need - have;
            return Err(CkksError::Capacity { operation: OPERATION, need, have: capacity }.into());
        }
        let low = e.reduce_modulus(a, e.divisor_at_least(a.modulus(), need))?;
        let mut low = low.read_at(from);
        low.set_bound(1.0);
        let mut coefficients = e.homomorphic_dft(&low, transform, between)?;
        // The coefficients are the numbers of the slots.
        coefficients.set_bound(1.0);
        let lowered = self.to_base_modulus(&coefficients, to, unit + 2.0 * between.log2() + 1.0)?;
        let scale = to.over(bound_scale);
        let (rlwe, slots) = (plan.context().rlwe(), a.slots());
        if !rlwe.is_dry_run() {
            let inner = RlweCoefficients::from_ciphertext(rlwe, lowered.inner())?;
            return Ok(Coefficients { inner, slots, scale, bound });
        }
        // In a dry run the coefficients are computed from the values, if these are known.
        let Some(values) = a.tracked_values() else {
            return Err(RlweError::DryRun { operation: OPERATION }.into());
        };
        let (gap, factor) = (rlwe.degree() / (2 * slots), scale.to_f64());
        let message = |k: usize, q: u64| match k / gap {
            place if k.is_multiple_of(gap) && place < slots => {
                let value = values[bit_reverse(place, slots.ilog2())].re * factor;
                value.round().rem_euclid(q as f64) as u64
            }
            _ => 0,
        };
        let inner = RlweCoefficients::dry_run(rlwe, lowered.inner(), message)?;
        Ok(Coefficients { inner, slots, scale, bound })
    }

    /// Brings coefficients up to 1 to the base modulus and to `scale`. It reduces them to a modulus
    /// of this number of bits, multiplies them by an integer, and rescales.
    ///
    /// The full rounding error of the integer counts, because coefficients are as large as the
    /// numbers themselves.
    fn to_base_modulus(
        &self,
        a: &Ciphertext,
        scale: Scale,
        bits: f64,
    ) -> Result<Ciphertext, PegasusError> {
        let (e, base) = (self.evaluator(), self.plan().base());
        let middle = e.divisor_at_least(a.modulus(), bits);
        let integer = e.switched_scale(scale, base, middle).over(a.scale());
        let raised = e.mul_number(&e.reduce_modulus(a, middle)?, 1.0, integer)?;
        let mut lowered = Ciphertext::empty(e.context());
        e.rescale_to_into(&mut lowered, &raised, base)?;
        let mut inner = lowered.inner().clone();
        let rounding = Noise::from_std(0.5 / 3f64.sqrt()).scaled(scale.log2() - integer.log2());
        inner.set_noise(inner.noise().plus(rounding));
        Ok(Ciphertext::from_parts(e.context(), inner, scale, a.slots(), a.bound())?)
    }
}

/// Returns the error for numbers whose bound is 0 or not finite.
fn bound_error(have: f64) -> PegasusError {
    PegasusError::Domain { operation: OPERATION, have, limit: f64::MAX }
}
