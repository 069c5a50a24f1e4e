//! Arithmetic on tuples.

use hippocrene_rlwe::{self as rlwe, Modulus, Noise, TensorSum, noise};

use super::{Tuple, divided};
use crate::{CkksError, Evaluator, Scale};

impl Evaluator {
    /// Returns `a + b`, slot by slot.
    ///
    /// # Errors
    /// Fails if lengths, divisors, moduli, scales, slots or keys differ, or if the sum does not fit
    /// the modulus.
    pub fn tuple_add(&self, a: &Tuple, b: &Tuple) -> Result<Tuple, CkksError> {
        const OPERATION: &str = "add tuples";
        self.check_tuples(a, b, OPERATION)?;
        self.check_scales(a.scale, b.scale, OPERATION)?;
        let bound = a.bound + b.bound;
        self.check_tuple_capacity(a, a.scale, bound, OPERATION)?;
        let mut parts = a.parts.clone();
        for (a, b) in parts.iter_mut().zip(&b.parts) {
            self.context().rlwe().add_assign(a, b)?;
        }
        Ok(Tuple { parts, bound, noise: a.noise.plus(b.noise), low: a.low.plus(b.low), ..*a })
    }

    /// Returns the tensor product (Def. D.1 for pairs). Part `k` is the sum of `a_i b_{k-i}` over
    /// `i <= k`, with three polynomials.
    ///
    /// The scale of its recombination is `Delta_a Delta_b/q_div^{t-1}`. The terms `a_i b_j
    /// q_div^{t-1-i-j}` with `i + j >= t` are omitted. The first of them, about [`Tuple::low`]
    /// squared over `q_div`, counts as noise.
    ///
    /// # Errors
    /// Fails if lengths, divisors, moduli, slots or keys differ, or if the product does not fit the
    /// modulus.
    pub fn tuple_tensor(&self, a: &Tuple, b: &Tuple) -> Result<Tuple, CkksError> {
        const OPERATION: &str = "multiply tuples";
        self.check_tuples(a, b, OPERATION)?;
        let rlwe = self.context().rlwe();
        let product = self.product_of_tuples(a, b, OPERATION)?;
        let parts = (0..a.length()).map(|k| {
            let mut sum = rlwe.tensor_sum(&a.parts[0])?;
            add_part(&mut sum, (a, b), k)?;
            Ok(sum.to_ciphertext()?)
        });
        Ok(Tuple { parts: parts.collect::<Result<_, CkksError>>()?, ..product })
    }

    /// Returns scale, bound and estimates of the tensor product, without its parts.
    fn product_of_tuples(
        &self,
        a: &Tuple,
        b: &Tuple,
        operation: &'static str,
    ) -> Result<Tuple, CkksError> {
        self.check_tuples(a, b, operation)?;
        let (length, square) = (a.length(), std::ptr::eq(a, b));
        let scale = divided(a.scale.times(b.scale), a.divisor, length - 1);
        let bound = a.bound * b.bound;
        self.check_tuple_capacity(a, scale, bound, operation)?;
        let over =
            |noise: Noise, power: usize| noise.scaled(-(power as f64) * (a.divisor as f64).log2());
        let product =
            self.noise_of_product((a.scale, a.bound, a.noise), (b.scale, b.bound, b.noise), square);
        let terms = 0.5 * ((length - 1) as f64 * if square { 2.0 } else { 1.0 }).log2();
        let left_out =
            a.low.times_polynomial(self.context().rlwe().degree(), b.low.log2_std()).scaled(terms);
        let (left, right) = (
            Self::message_times(a.high_scale().log2(), a.bound, b.low),
            Self::message_times(b.high_scale().log2(), b.bound, a.low),
        );
        let low = if square { left.scaled(1.0) } else { left.plus(right) };
        let noise = over(product, length - 1).plus(over(left_out, 1));
        Ok(Tuple { parts: Vec::new(), scale, bound, noise, low, ..*a })
    }

    /// Computes `Relin^t`: brings a tensor product back to two polynomials, at its modulus.
    ///
    /// Def. D.2 relinearises `q_div ct^` modulo `q_div Q` and splits it again. Here each partial
    /// recombination is relinearised modulo `Q`, which needs no larger modulus. The error of the
    /// recombination is that of one relinearisation.
    ///
    /// # Errors
    /// Fails if `a` is not a tensor product, or if the relinearisation key is missing.
    pub fn tuple_relinearise(&self, a: &Tuple) -> Result<Tuple, CkksError> {
        self.relinearise_to(a, a.modulus())
    }

    /// Computes `RS^t`: brings every partial recombination `S_k` from the modulus `Q` to the one
    /// that makes the scale nearest to `target` ([`Evaluator::rescaled_modulus`]) by a rational
    /// rescale. For pairs this is Def. D.4. The recombination has the error of that rescale and no
    /// other (Lemma D.5).
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters.
    pub fn tuple_rescale(&self, a: &Tuple, target: Scale) -> Result<Tuple, CkksError> {
        let rlwe = self.context().rlwe();
        rlwe.check_digest(a.parts[0].parameters(), "rescale a tuple")?;
        let (from, to) = (a.modulus(), self.rescaled_modulus(a.modulus(), a.scale, target));
        let mut partial = self.partial(a)?;
        for sum in &mut partial {
            let mut out = rlwe::Ciphertext::empty(rlwe);
            rlwe.switch_ciphertext_into(&mut out, sum, to)?;
            *sum = out;
        }
        let weight = self.context().parameters().secret_weight();
        let rounding = match from == to {
            true => Noise::NONE,
            false => noise::rounding(weight, a.parts[0].parts().len()),
        };
        self.moved(a, a.modulus(), partial, to, rounding)
    }

    /// Computes `Mult^t`: the product, relinearised and rescaled to the scale nearest to `target`.
    /// Every partial recombination of the tensor product is relinearised once, directly to the new
    /// modulus. That takes `t` key switches and no further modulus switch.
    ///
    /// Let `M_` bound the values that the parts but the first decrypt to, `E` the error of
    /// relinearisation, and let `Q'/Q` be the quotient of the moduli. For pairs, the recombination
    /// differs from `(Q'/Q)/q_div^{t-1}` times the product of the recombinations by at most `(N
    /// M_^2/q_div + E)(Q'/Q) + (h + 1)/2` for a secret of `|s|_1 = h` (Theorem D.6, which does not
    /// mention the factor `1/q_div` of the product).
    ///
    /// # Errors
    /// Fails as [`Evaluator::tuple_tensor`] does, and if the relinearisation key is missing.
    pub fn tuple_mul(&self, a: &Tuple, b: &Tuple, target: Scale) -> Result<Tuple, CkksError> {
        let rlwe = self.context().rlwe();
        let product = self.product_of_tuples(a, b, "multiply tuples")?;
        let to = self.rescaled_modulus(a.modulus(), product.scale, target);
        let mut sum = rlwe.tensor_sum(&a.parts[0])?;
        let mut partial = Vec::with_capacity(a.length());
        for k in 0..a.length() {
            sum.multiply(a.divisor);
            add_part(&mut sum, (a, b), k)?;
            let mut out = rlwe::Ciphertext::empty(rlwe);
            sum.relinearise_into(&mut out, self.keys(), to)?;
            partial.push(out);
        }
        self.moved(&product, a.modulus(), partial, to, rlwe.key_switch_noise(a.modulus(), to)?)
    }

    /// Relinearises every partial recombination to the modulus `to`.
    fn relinearise_to(&self, a: &Tuple, to: Modulus) -> Result<Tuple, CkksError> {
        let rlwe = self.context().rlwe();
        let mut partial = self.partial(a)?;
        for sum in &mut partial {
            let mut out = rlwe::Ciphertext::empty(rlwe);
            rlwe.relinearise_into(&mut out, sum, self.keys(), to)?;
            *sum = out;
        }
        self.moved(a, a.modulus(), partial, to, rlwe.key_switch_noise(a.modulus(), to)?)
    }

    /// Returns the tuple `a`, modulo `from`, with its partial recombinations brought to the modulus
    /// `to`. Each gets the additional error `added`.
    fn moved(
        &self,
        a: &Tuple,
        from: Modulus,
        partial: Vec<rlwe::Ciphertext>,
        to: Modulus,
        added: Noise,
    ) -> Result<Tuple, CkksError> {
        let down = self.log2(to) - self.log2(from);
        let scale = self.switched_scale(a.scale, from, to);
        let parts = self.differences(partial, a.divisor)?;
        let noise = a.noise.scaled(down).plus(added);
        let low = a.low.scaled(down).plus(added.scaled((a.divisor as f64).log2()));
        Ok(Tuple { parts, scale, noise, low, ..*a })
    }

    /// Checks that two tuples have the same length, divisor, slots, modulus and key.
    fn check_tuples(&self, a: &Tuple, b: &Tuple, operation: &'static str) -> Result<(), CkksError> {
        if (a.length(), a.divisor) != (b.length(), b.divisor) {
            let what = format!(
                "a tuple of {} with divisor {} and one of {} with {}",
                a.length(),
                a.divisor,
                b.length(),
                b.divisor
            );
            return Err(CkksError::Argument { operation, what });
        }
        if a.slots != b.slots {
            return Err(CkksError::SlotMismatch { operation, left: a.slots, right: b.slots });
        }
        self.context().rlwe().check_pair(&a.parts[0], &b.parts[0], operation)?;
        Ok(())
    }

    /// Checks that values up to `bound` at `scale` fit the modulus of `a`.
    fn check_tuple_capacity(
        &self,
        a: &Tuple,
        scale: Scale,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        let short = scale.log2() + bound.max(1.0).log2() + 1.0 - self.log2(a.modulus());
        if short <= 0.0 {
            return Ok(());
        }
        let have = a.capacity_bits(self.context());
        Err(CkksError::Capacity { operation, need: have + short, have })
    }
}

/// Adds part `k` of the tensor product of `a` and `b`, the sum of `a_i b_{k-i}`.
fn add_part(sum: &mut TensorSum<'_>, (a, b): (&Tuple, &Tuple), k: usize) -> Result<(), CkksError> {
    // In a square, a_i a_j and a_j a_i are equal.
    let square = std::ptr::eq(a, b);
    for i in 0..=if square { k / 2 } else { k } {
        let twice = square && i < k - i;
        sum.add(&a.parts[i], &b.parts[k - i], if twice { 2 } else { 1 })?;
    }
    Ok(())
}
