//! The approximate modulo that ends repacking (PEGASUS Fig. 6, step 10; HK20).

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, plan::power};

impl Pegasus {
    /// From `(I + x/q)/k` in the slots to the numbers: `I` is taken away by
    /// [`hippocrene_ckks::Evaluator::reduce_modulo_one`], and what is left is read at its scale.
    /// `x` is what [`Pegasus::partial_decryption`] was given.
    ///
    /// **Noise** is that of the computation, of the numbers, and the bound of the reduction's
    /// polynomials' error.
    ///
    /// # Errors
    /// When the modulus is too small or a key is missing.
    pub fn reduce(&self, x: &Numbers, decrypted: &Ciphertext) -> Result<Ciphertext, PegasusError> {
        self.reduce_repeated(x, decrypted, decrypted.slots())
    }

    /// [`Pegasus::reduce`] as a ciphertext of so many slots, at least as many as there are, in
    /// which numbers are repeated.
    pub(crate) fn reduce_repeated(
        &self,
        x: &Numbers,
        decrypted: &Ciphertext,
        slots: usize,
    ) -> Result<Ciphertext, PegasusError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let q = Scale::power_of_two(0).times_integer(x.parameters().modulus());
        // What a number is of the modulus, as D/q.
        let share = x.scale().over(q);
        let target = plan.reduced_bits(-share.log2());
        let (scale, target) = (power(literal.scale_bits)?, power(target)?);
        let rlwe = plan.context().rlwe();
        rlwe.note_failure(|| plan.log2_failure_probability(decrypted.slots()));
        let y = e.reduce_modulo_one(decrypted, &literal.reduction, scale, target)?;
        // An error of standard deviation e in n real slots is one of e/sqrt(n) in coefficients, as
        // precision is reckoned, and that of a number is repeated with it. What the computation
        // adds is in all coefficients, and so in the slots as many as these are.
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
