//! The approximate reduction modulo 1 that ends repacking (PEGASUS, Fig. 6, step 10; HK20).

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, plan::scale_of_bits};

impl Pegasus {
    /// Returns the numbers `x`, given their partial decryption `(I + x/q)/k` in the slots.
    ///
    /// [`hippocrene_ckks::Evaluator::reduce_modulo_one`] removes the integers `I`. The scale of the
    /// result then turns `x/q` into the numbers. `x` is the argument of
    /// [`Pegasus::partial_decryption`], and `decrypted` is its result.
    ///
    /// **Noise** is the sum of the noise of the computation, the noise of the numbers, and the
    /// bound of the error of the reduction polynomials.
    ///
    /// # Errors
    /// Returns an error if the modulus is too small or a key is missing.
    pub fn reduce(&self, x: &Numbers, decrypted: &Ciphertext) -> Result<Ciphertext, PegasusError> {
        self.reduce_repeated(x, decrypted, decrypted.slots())
    }

    /// Reduces as [`Pegasus::reduce`] does, and returns a ciphertext of `slots` slots in which the
    /// numbers repeat. Its number of slots must be at least that of `decrypted`.
    pub(crate) fn reduce_repeated(
        &self,
        x: &Numbers,
        decrypted: &Ciphertext,
        slots: usize,
    ) -> Result<Ciphertext, PegasusError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let q = Scale::power_of_two(0).times_integer(x.parameters().modulus());
        // This is D/q, the ratio of a number to its part of the modulus.
        let relative_scale = x.scale().over(q);
        let target = plan.reduced_bits(-relative_scale.log2());
        let (scale, target) = (scale_of_bits(literal.scale_bits)?, scale_of_bits(target)?);
        let rlwe = plan.context().rlwe();
        rlwe.record_failure(|| plan.log2_failure_probability(decrypted.slots()));
        let y = e.reduce_modulo_one(decrypted, &literal.reduction, scale, target)?;
        // An error of standard deviation e in n real slots is one of e/sqrt(n) in coefficients.
        // Precision is computed from the error in coefficients. The error of a number repeats with
        // the number. The error of the computation is in all coefficients, and so in all slots.
        let slotwise =
            |log2: f64| Noise::from_log2_std(log2 + y.scale().log2() - 0.5 * (slots as f64).log2());
        let noise = [
            y.inner().noise(),
            slotwise(x.noise().log2_std() - q.log2()),
            slotwise(literal.reduction.log2_error()),
        ];
        let scale = y.scale().times(relative_scale);
        let mut out = y.with_noise(noise.into_iter().fold(Noise::NONE, Noise::plus)).read_at(scale);
        out.set_bound(x.bound());
        Ok(out.with_slots(plan.context(), slots)?)
    }
}
