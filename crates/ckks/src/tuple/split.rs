//! Conversion between ciphertexts and tuples.

use hippocrene_ring::arith::neg_mod;
use hippocrene_rlwe::{self as rlwe, Modulus, Noise};

use super::{Tuple, check_divisor, check_length, divided};
use crate::{Ciphertext, CkksError, Evaluator};

impl Evaluator {
    /// Assembles a tuple from its partial recombinations: ciphertexts `S_0, .., S_{t-1}` of the
    /// same values and modulus, where `S_k` has the scale `Delta/q_div^{t-1-k}`. If a client
    /// encrypts its values at each of these scales, the tuple has the full modulus and the
    /// precision of the last one.
    ///
    /// # Errors
    /// Fails if keys, moduli or slots differ, or if the scales are not these.
    pub fn tuple(&self, partial: &[Ciphertext], divisor: u64) -> Result<Tuple, CkksError> {
        const OPERATION: &str = "make a tuple";
        check_length(partial.len(), OPERATION)?;
        check_divisor(divisor, OPERATION)?;
        for pair in partial.windows(2) {
            self.check_slots(&pair[0], &pair[1], OPERATION)?;
            self.check_scales(pair[0].scale().times_integer(divisor), pair[1].scale(), OPERATION)?;
        }
        let last = &partial[partial.len() - 1];
        let noises = partial[..partial.len() - 1].iter().map(|c| c.inner().noise());
        let low = noises.fold(Noise::NONE, |a, b| if a < b { b } else { a });
        let parts =
            self.differences(partial.iter().map(|c| c.inner().clone()).collect(), divisor)?;
        Ok(Tuple {
            parts,
            divisor,
            scale: last.scale(),
            slots: last.slots(),
            bound: last.bound(),
            noise: last.inner().noise(),
            low: low.scaled((divisor as f64).log2()).plus(last.inner().noise()),
        })
    }

    /// Computes `DCP`: splits `a`, of modulus `Q_0`, into a tuple of `length` ciphertexts modulo a
    /// smaller `to = Q`. Its partial recombinations are `a` adjusted to `Q` and to the scales
    /// `Delta/q_div^k` ([`Evaluator::adjust`]). For pairs and `q_div = Q_0/Q` this is CCKS23 Def.
    /// 3.3, quotient and remainder by `q_div`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if `Q_0/Q` is too small. It has to be at least
    /// `q_div^{t-1}` if it is a multiple of that, and about `2^-5 Delta` otherwise. Fails also as
    /// [`Evaluator::adjust`] and [`Evaluator::tuple`] do.
    pub fn dcp(
        &self,
        a: &Ciphertext,
        divisor: u64,
        length: usize,
        to: Modulus,
    ) -> Result<Tuple, CkksError> {
        check_length(length, "decompose into a tuple")?;
        check_divisor(divisor, "decompose into a tuple")?;
        let partial: Vec<Ciphertext> = (0..length)
            .map(|k| self.adjust(a, to, divided(a.scale(), divisor, length - 1 - k)))
            .collect::<Result<_, _>>()?;
        self.tuple(&partial, divisor)
    }

    /// Computes `RCB`: the recombination `q_div^{t-1} ct_0 + .. + ct_{t-1}`, a ciphertext of the
    /// tuple's modulus and scale. Nothing is rounded.
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters, or if it is a tensor product that was not
    /// relinearised.
    pub fn rcb(&self, a: &Tuple) -> Result<Ciphertext, CkksError> {
        Ok(self.partial_recombinations(a)?.pop().expect("a tuple has at least two parts"))
    }

    /// Returns the partial recombinations `S_0, .., S_{t-1}`. The last one is [`Evaluator::rcb`].
    ///
    /// They are ciphertexts like any others, so a tuple is stored and sent as these.
    /// [`Evaluator::tuple`] makes the same tuple from them again.
    ///
    /// # Errors
    /// Fails as [`Evaluator::rcb`] does.
    pub fn partial_recombinations(&self, a: &Tuple) -> Result<Vec<Ciphertext>, CkksError> {
        const OPERATION: &str = "recombine a tuple";
        let last = a.length() - 1;
        let whole = |(k, mut sum): (usize, rlwe::Ciphertext)| {
            if sum.parts().len() != 2 {
                let have = sum.parts().len();
                return Err(rlwe::RlweError::Parts { operation: OPERATION, have, need: 2 }.into());
            }
            // The parts but the first decrypt to the errors of these sums times `q_div`.
            let of_low = a.low.scaled(-(a.divisor as f64).log2());
            sum.set_noise(if k == last { a.noise } else { of_low });
            let scale = divided(a.scale, a.divisor, last - k);
            Ciphertext::from_parts(self.context(), sum, scale, a.slots, a.bound)
        };
        self.partial(a)?.into_iter().enumerate().map(whole).collect()
    }

    /// Returns the partial recombinations `S_0, .., S_{t-1}`.
    pub(super) fn partial(&self, a: &Tuple) -> Result<Vec<rlwe::Ciphertext>, CkksError> {
        let rlwe = self.context().rlwe();
        let mut all: Vec<rlwe::Ciphertext> = Vec::with_capacity(a.length());
        for part in &a.parts {
            let mut sum = part.clone();
            if let Some(before) = all.last() {
                rlwe.add_multiple_assign(&mut sum, before, |q| a.divisor % q)?;
            }
            all.push(sum);
        }
        Ok(all)
    }

    /// Returns the parts `S_k - q_div S_{k-1}` of a tuple.
    pub(super) fn differences(
        &self,
        mut partial: Vec<rlwe::Ciphertext>,
        divisor: u64,
    ) -> Result<Vec<rlwe::Ciphertext>, CkksError> {
        let rlwe = self.context().rlwe();
        for k in (1..partial.len()).rev() {
            let (lower, upper) = partial.split_at_mut(k);
            rlwe.add_multiple_assign(&mut upper[0], &lower[k - 1], |q| neg_mod(divisor % q, q))?;
        }
        Ok(partial)
    }
}
