//! The approximate modulo that ends repacking (PEGASUS Fig. 6, step 10; HK20).

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, plan::power};

impl Pegasus {
    /// From `(I + x/q)/k` in the slots to the numbers:
    /// [`hippocrene_ckks::Evaluator::reduce_modulo_one`] removes `I`, and the rest is read at its
    /// scale. `x` is the argument of [`Pegasus::partial_decryption`].
    ///
    /// **Noise** is the sum of the noise of the computation, the noise of the numbers, and the
    /// bound of the error of the reduction polynomials.
    ///
    /// # Errors
    /// If the modulus is too small or a key is missing.
    pub fn reduce(&self, x: &Numbers, decrypted: &Ciphertext) -> Result<Ciphertext, PegasusError> {
        self.reduce_repeated(x, decrypted, decrypted.slots())
    }

    /// [`Pegasus::reduce`] into a ciphertext of `slots` slots, in which the numbers repeat. There
    /// must be at least as many slots as before.
    pub(crate) fn reduce_repeated(
        &self,
        x: &Numbers,
        decrypted: &Ciphertext,
        slots: usize,
    ) -> Result<Ciphertext, PegasusError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let q = Scale::power_of_two(0).times_integer(x.parameters().modulus());
        // D/q: a number times this is its share of the modulus.
        let share = x.scale().over(q);
        let target = plan.reduced_bits(-share.log2());
        let (scale, target) = (power(literal.scale_bits)?, power(target)?);
        let rlwe = plan.context().rlwe();
        rlwe.note_failure(|| plan.log2_failure_probability(decrypted.slots()));
        let y = e.reduce_modulo_one(decrypted, &literal.reduction, scale, target)?;
        // An error of standard deviation e in n real slots is one of e/sqrt(n) in coefficients, by
        // which precision is computed. The error of a number repeats with the number. The error of
        // the computation is in all coefficients, and so in all slots.
        let slotwise =
            |log2: f64| Noise::from_log2_std(log2 + y.scale().log2() - 0.5 * (slots as f64).log2());
        let noise = [
            y.inner().noise(),
            slotwise(x.noise().log2_std() - q.log2()),
            slotwise(literal.reduction.log2_error()),
        ];
        let scale = y.scale().times(share);
        let mut out = y.with_noise(noise.into_iter().fold(Noise::NONE, Noise::plus)).read_at(scale);
        out.set_bound(x.bound());
        Ok(out.with_slots(plan.context(), slots)?)
    }
}
