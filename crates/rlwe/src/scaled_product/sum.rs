//! Sums of scaled products, scaled and relinearised once.

use hippocrene_ring::{Domain, scratch::Scratch};

use super::{
    ScaledProduct,
    product::{Run, outputs, runs},
};
use crate::{
    Ciphertext, Context, Fingerprint, Modulus, PreparedEvaluationKeys, RlweError, WordSize,
    keyswitch::operand::{Added, Operand},
    rings::LimbRefs,
};

const OPERATION: &str = "add products";

/// A sum of products over the integers, `sum_i (t/Q_i) A_i B_i`, of `a_i` modulo one `Q` and `b_i`
/// modulo any `Q_i`, all with the same key.
///
/// The tensor products are added modulo `Q R`. Their sum is scaled by `t/R` and relinearised once.
/// It is in scratch memory. The caller must track the noise.
///
/// See [`Context::scaled_sum`] for an example.
#[derive(Debug)]
pub struct ScaledSum<'a> {
    context: &'a Context,
    t: u64,
    modulus: Modulus,
    key: Fingerprint,
    /// `t/R` times the three parts of the sum modulo `Q`, in the evaluation domain.
    own: [Scratch<'a>; 3],
    /// For each prime of `R` three limbs: the parts of the sum, in the evaluation domain.
    auxiliary: Scratch<'a>,
    is_zero: bool,
}

impl Context {
    /// Returns the empty sum of scaled products with factor `t`, whose first operands have the
    /// modulus and key of `a`.
    ///
    /// ```
    /// use hippocrene_ring::{Threads, primes};
    /// use hippocrene_rlwe::{
    ///     Ciphertext, Context, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution,
    ///     SecretKey, Sprout,
    /// };
    ///
    /// // A prime for the units and one for the special modulus. These parameters are not secure.
    /// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
    /// let parameters = Parameters::new_insecure(ParametersLiteral {
    ///     log_degree: 10,
    ///     units: primes[..1].to_vec(),
    ///     specials: primes[1..].to_vec(),
    ///     sprout: Sprout::default(),
    ///     gadget_rank: 1,
    ///     secret: SecretDistribution::Ternary,
    /// })?;
    /// let context = Context::new(parameters, Threads::single())?;
    /// let modulus = context.parameters().top();
    /// let secret = SecretKey::generate(&context)?;
    /// let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
    /// keys.add_relinearisation(&context, &secret)?;
    /// let keys = keys.prepare(&context)?;
    ///
    /// // Twice the square of the number 3 modulo t = 257, encoded as 3 Q/t as in BFV.
    /// let delta = context.parameters().factor(0) / 257;
    /// let three = 3 * delta as i64;
    /// let message = context.from_signed(&[vec![three], vec![0; 1023]].concat(), modulus);
    /// let a = secret.encrypt(&context, &message, modulus)?.expand(&context);
    /// let mut sum = context.scaled_sum(&a, 257)?;
    /// sum.add(&a, &a)?;
    /// sum.add(&a, &a)?;
    /// let mut out = Ciphertext::empty(&context);
    /// sum.relinearise_into(&mut out, &keys, modulus)?;
    /// let decrypted = secret.decrypt(&context, &out)?;
    /// assert!(decrypted.limb(0)[0].abs_diff(18 * delta) < 1 << 24);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters, or if its modulus is too large for
    /// the auxiliary modulus.
    pub fn scaled_sum(&self, a: &Ciphertext, t: u64) -> Result<ScaledSum<'_>, RlweError> {
        self.check_operand(a, OPERATION)?;
        let modulus = a.modulus();
        let primes = self.scaled_product(modulus, modulus, t)?.rings.len();
        let own = [0, 1, 2].map(|_| self.scratch(modulus, Domain::Evaluation));
        let auxiliary = self.scratch_limbs(3 * primes, Domain::Evaluation);
        Ok(ScaledSum { context: self, t, modulus, key: a.key(), own, auxiliary, is_zero: true })
    }
}

impl ScaledSum<'_> {
    /// Adds the product of `a`, which has the modulus of this sum, and `b` of any modulus. Both may
    /// be the same.
    ///
    /// # Errors
    /// Returns an error if keys or parameters differ, if `a` has another modulus, or if an operand
    /// has more than two parts.
    pub fn add(&mut self, a: &Ciphertext, b: &Ciphertext) -> Result<(), RlweError> {
        let (context, modulus) = (self.context, self.modulus);
        for operand in [a, b] {
            context.check_operand(operand, OPERATION)?;
            context.check_two_parts(operand, OPERATION)?;
            if operand.key() != self.key {
                let (have, need) = (operand.key(), self.key);
                return Err(RlweError::KeyMismatch { operation: OPERATION, have, need });
            }
        }
        if a.modulus() != modulus {
            let bits = |m: Modulus| context.parameters().log2(m);
            let (left, right) = (bits(modulus), bits(a.modulus()));
            return Err(RlweError::ModulusMismatch { operation: OPERATION, left, right });
        }
        let constants = context.scaled_product(modulus, b.modulus(), self.t)?;
        let is_zero = std::mem::replace(&mut self.is_zero, false);
        self.note_product(&constants, a, b);
        let degree = context.degree();
        let products = context.auxiliary_products(&constants, a, b, Domain::Evaluation);

        context.threads().for_each_chunk(self.auxiliary.as_mut_slice(), 3 * degree, |i, sums| {
            let ring = &constants.rings[i];
            for (j, sum) in sums.chunks_exact_mut(degree).enumerate() {
                match is_zero {
                    true => sum.copy_from_slice(products.limb(5 * i + j)),
                    false => ring.add_assign(sum, products.limb(5 * i + j)),
                }
            }
        });

        let limbs = |i: usize| -> LimbRefs<'_> { products.limbs().skip(i).step_by(5).collect() };
        let switched = [limbs(3), limbs(4)];
        let mut factors = [0, 1].map(|_| context.scratch(modulus, Domain::Evaluation));
        let ([c0, c1, c2], [b0, b1]) = (&mut self.own, &mut factors);
        let polynomials = [c0, c1, c2, b0, b1].map(|poly| poly.as_mut_slice());
        let size = context.group_size(modulus.limb_count(), 1) * degree;
        let mut runs = runs(polynomials, size, degree);
        context.threads().for_each_mut(
            &mut runs,
            |_, Run { first, limbs: [c0, c1, c2, b0, b1] }| {
                for (y, b) in switched.iter().zip([&mut **b0, &mut **b1]) {
                    constants.back.convert_exact_into(&mut outputs(*first, b, degree), y);
                }
                let mut product = context.scratch_limbs(3, Domain::Evaluation);
                let (p0, rest) = product.as_mut_slice().split_at_mut(degree);
                let (p1, p2) = rest.split_at_mut(degree);
                let factors = b0.chunks_exact_mut(degree).zip(b1.chunks_exact_mut(degree));
                for (i, (b0, b1)) in factors.enumerate() {
                    let (k, range) = (*first + i, i * degree..(i + 1) * degree);
                    let ring = context.limb_ring(modulus, k);
                    context.forward(ring, b0);
                    context.forward(ring, b1);
                    let (a0, a1) = (a.part(0).limb(k), a.part(1).limb(k));
                    ring.tensor(p0, p1, p2, a0, a1, b0, b1);
                    let sums = [&mut c0[range.clone()], &mut c1[range.clone()], &mut c2[range]];
                    for (sum, product) in sums.into_iter().zip([&*p0, &*p1, &*p2]) {
                        match is_zero {
                            true => sum.copy_from_slice(product),
                            false => ring.add_assign(sum, product),
                        }
                    }
                }
            },
        );
        Ok(())
    }

    /// Scales and relinearises the sum and brings it from its modulus `Q` to `to = Q'` in one
    /// modulus switch, which scales it by `Q'/Q`.
    ///
    /// The noise is set to that of the key switch.
    ///
    /// # Errors
    /// Returns an error if the sum is empty, if it has another key, or if the relinearisation key
    /// is missing.
    pub fn relinearise_into(
        mut self,
        out: &mut Ciphertext,
        keys: &PreparedEvaluationKeys,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "relinearise";
        if self.is_zero {
            return Err(RlweError::Parts { operation: OPERATION, have: 0, need: 3 });
        }
        keys.check_key(self.key, OPERATION)?;
        let key = keys.relinearisation(OPERATION)?;
        let (context, modulus) = (self.context, self.modulus);
        let constants = context.scaled_product(modulus, modulus, self.t)?;
        self.note_scaling(&constants);
        let degree = context.degree();
        context.threads().for_each_chunk(self.auxiliary.as_mut_slice(), 3 * degree, |i, parts| {
            for part in parts.chunks_exact_mut(degree) {
                context.inverse_scaled(&constants.rings[i], part, &constants.divide_inputs[i]);
            }
        });
        let mut remainders = [0, 1, 2].map(|_| context.scratch(modulus, Domain::Coefficient));
        let [_, _, c2] = &mut self.own;
        let auxiliary = &self.auxiliary;
        let parts =
            [0, 1, 2].map(|j| -> LimbRefs<'_> { auxiliary.limbs().skip(j).step_by(3).collect() });
        for (remainder, part) in remainders.iter_mut().zip(&parts) {
            let size = context.group_size(modulus.limb_count(), 1);
            context.threads().for_each_chunk(
                remainder.as_mut_slice(),
                size * degree,
                |group, limbs| {
                    constants
                        .divide
                        .convert_exact_into(&mut outputs(group * size, limbs, degree), part);
                },
            );
        }
        let [r0, r1, last] = &mut remainders;
        context.threads().for_each_chunk_pair(
            c2.as_mut_slice(),
            last.as_mut_slice(),
            degree,
            |k, x2, last| {
                let ring = context.limb_ring(modulus, k);
                // -(-x - (-delta/R)), since x2 holds -x.
                let (inverse, negative) = &constants.negative[k];
                context.inverse_scaled(ring, x2, inverse);
                ring.sub_from_mul_scalar_assign(last, x2, negative);
            },
        );
        let added = [(&self.own[0], &*r0), (&self.own[1], &*r1)].map(|(own, remainder)| Added {
            evaluation: Some(Operand::Poly(own)),
            coefficients: Some(remainder),
        });
        context.relinearise_scaled_into(out, last, added, key, [modulus, to], self.key)
    }

    /// Records the cost of a product.
    fn note_product(&self, constants: &ScaledProduct, a: &Ciphertext, b: &Ciphertext) {
        self.context.record("scaled product", |count| {
            let (modulus, same) = (self.modulus, std::ptr::eq(a, b));
            let (limbs, primes) = (modulus.limb_count() as u64, constants.rings.len() as u64);
            count.inverse(modulus, 2);
            count.forward(modulus, 2);
            count.products(modulus, 4);
            count.passes(modulus, if same { 5 } else { 3 });
            if !same {
                count.inverse(b.modulus(), 2);
            }
            count.sources(modulus, 2);
            count.sources(b.modulus(), 2);
            for position in modulus.factors() {
                let at = count.at(modulus, position);
                at.pairs += 2 * primes;
                at.targets += 2;
            }
            for ring in &constants.rings {
                let size = WordSize::of(ring.modulus());
                count.transforms_of_size(size, 4, 0);
                let at = count.of_size(size);
                at.sources += 2;
                at.pairs += 2 * limbs + 2 * b.modulus().limb_count() as u64;
                at.targets += 4;
                at.passes += 9;
            }
            count.touch(10 * modulus.limb_count() + 12 * constants.rings.len());
        });
    }

    /// Records the cost of scaling the sum.
    fn note_scaling(&self, constants: &ScaledProduct) {
        self.context.record("scale", |count| {
            let primes = constants.rings.len() as u64;
            count.inverse(self.modulus, 1);
            count.passes(self.modulus, 1);
            for position in self.modulus.factors() {
                let at = count.at(self.modulus, position);
                at.pairs += 3 * primes;
                at.targets += 3;
            }
            for ring in &constants.rings {
                let size = WordSize::of(ring.modulus());
                count.transforms_of_size(size, 0, 3);
                count.of_size(size).sources += 3;
            }
            count.touch(7 * self.modulus.limb_count() + 3 * constants.rings.len());
        });
    }
}
