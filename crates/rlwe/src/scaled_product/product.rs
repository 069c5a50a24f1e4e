//! The scaled product of two ciphertexts.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, scratch::Scratch};

use super::ScaledProduct;
use crate::{
    Ciphertext, Context, Destination, Fingerprint, Method, Modulus, PreparedEvaluationKeys,
    PreparedSwitchingKey, RlweError, WordSize,
    keyswitch::operand::{Added, Operand, TensorPart},
    limb_groups::MAX_GROUP_LIMBS,
    modulus::MAX_LIMBS,
    rings::LimbRefs,
};

/// The targets of a base conversion.
pub(super) type Outputs<'a> = ArrayVec<(usize, &'a mut [u64]), MAX_GROUP_LIMBS>;

/// Neighbouring limbs of five polynomials, from limb `first` on.
pub(super) struct Run<'a> {
    pub(super) first: usize,
    pub(super) limbs: [&'a mut [u64]; 5],
}

/// The three parts of a scaled product modulo `Q`.
pub(super) struct Parts<'a> {
    /// `(t/R) b'` in the evaluation domain, whose products with `a` are parts 0 and 1 of `(t/R) x`.
    /// If products are eager, these parts themselves.
    pub(super) pair: [Scratch<'a>; 2],
    /// `-delta/R` of parts 0 and 1, in coefficients in `[0, 2q)`.
    pub(super) remainders: [Scratch<'a>; 2],
    /// Part 2 of the product, in coefficients.
    pub(super) last: Scratch<'a>,
}

impl Context {
    /// Computes the scaled product over the integers of `a` modulo `Q` and `b` modulo any `Q_b`,
    /// relinearises it and brings it from `Q` to `to = Q'` in one modulus switch.
    ///
    /// With `a0 + a1 s = A` and `b0 + b1 s = B`, the result is a ciphertext of `(Q'/Q) (t/Q_b) A B`
    /// modulo `Q'`. `a` and `b` may be the same. The noise is set to that of the key switch. The
    /// caller must add the noise of the product, which depends on messages and includes the
    /// rounding of `b` to a modulus of [`Context::auxiliary_log2`] bits.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// - keys differ, or the relinearisation key is missing;
    /// - an operand has more than two parts or a modulus that is not one of ciphertexts;
    /// - the modulus is too large for the auxiliary modulus.
    pub fn multiply_scaled_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        t: u64,
        keys: &PreparedEvaluationKeys,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply";
        self.check_two_parts(a, OPERATION)?;
        self.check_two_parts(b, OPERATION)?;
        keys.check_key(a.key(), OPERATION)?;
        keys.check_key(b.key(), OPERATION)?;
        let key = keys.relinearisation(OPERATION)?;
        let from = a.modulus();
        self.check_modulus(from, OPERATION)?;
        self.check_modulus(b.modulus(), OPERATION)?;
        let constants = self.scaled_product(from, b.modulus(), t)?;
        // Products modulo a power of two are expensive, so they are computed only once.
        let eager = from.contains(Modulus::TWO);
        let Parts { pair, remainders, last } = self.scaled_parts(&constants, a, b, eager);
        let factors = [[a.part(0), a.part(1)], [&*pair[0], &*pair[1]]];
        let added = [0, 1].map(|i| Added {
            evaluation: Some(match eager {
                true => Operand::Poly(&pair[i]),
                false => Operand::Tensor(TensorPart { a: factors[0], b: factors[1], i, n: 1 }),
            }),
            coefficients: Some(&*remainders[i]),
        });
        self.relinearise_scaled_into(out, &last, added, key, [from, to], a.key())
    }

    /// Returns the constants of products of ciphertexts modulo `modulus` and `other`, times `t`.
    pub(crate) fn scaled_product(
        &self,
        modulus: Modulus,
        other: Modulus,
        t: u64,
    ) -> Result<Arc<ScaledProduct>, RlweError> {
        self.plans.scaled_products.get_or_try_insert((modulus, other, t), || {
            ScaledProduct::new(&self.rings, modulus, other, t)
        })
    }

    /// log2 of the auxiliary modulus `R` of scaled products modulo `modulus = Q`. It is at least
    /// `log2(Q) - 1/2`.
    ///
    /// # Errors
    /// Returns an error if `modulus` is not one of ciphertexts, or if there are too few primes for
    /// `R`.
    pub fn auxiliary_log2(&self, modulus: Modulus) -> Result<f64, RlweError> {
        Ok(self.rings.auxiliary_primes(modulus)?.iter().map(|p| (*p as f64).log2()).sum())
    }

    /// Relinearises a scaled product modulo `from`, whose part 2 is `last`, and brings it to modulo
    /// `to`. The noise is set to that of the key switch.
    pub(super) fn relinearise_scaled_into(
        &self,
        out: &mut Ciphertext,
        last: &Poly,
        added: [Added<'_>; 2],
        key: &PreparedSwitchingKey,
        [from, to]: [Modulus; 2],
        fingerprint: Fingerprint,
    ) -> Result<(), RlweError> {
        // Polynomials in both domains are added. The single decomposition adds both at no cost.
        let gadget = self.gadget_within(from, key.modulus())?.with_method(Method::Single);
        let decomposed = self.decompose_with(last, from, gadget)?;
        let noise = self.key_switch_noise_within(from, gadget, key.modulus(), to)?;
        out.reshape(self, 2, to, noise, fingerprint);
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        self.switch_product_into([out0, out1], &decomposed, key, added, &Destination::new(to))
    }

    /// Computes the scaled product of two checked ciphertexts. If products are `eager`, parts 0 and
    /// 1 are multiplied here.
    pub(super) fn scaled_parts(
        &self,
        constants: &ScaledProduct,
        a: &Ciphertext,
        b: &Ciphertext,
        eager: bool,
    ) -> Parts<'_> {
        self.note_scaled_product(constants, a, b, eager);
        let auxiliary = self.auxiliary_products(constants, a, b, Domain::Coefficient);
        let (modulus, degree) = (a.modulus(), self.degree());
        let mut parts = Parts {
            pair: [0, 1].map(|_| self.scratch(modulus, Domain::Evaluation)),
            remainders: [0, 1].map(|_| self.scratch(modulus, Domain::Coefficient)),
            last: self.scratch(modulus, Domain::Coefficient),
        };
        let limbs = |i: usize| -> LimbRefs<'_> { auxiliary.limbs().skip(i).step_by(5).collect() };
        let [x0, x1, x2, b0, b1] = [0, 1, 2, 3, 4].map(limbs);
        let Parts { pair: [p0, p1], remainders: [r0, r1], last } = &mut parts;
        let polynomials = [p0, p1, r0, r1, last].map(|poly| poly.as_mut_slice());
        let mut runs = runs(polynomials, self.group_size(modulus.limb_count(), 1) * degree, degree);
        self.threads().for_each_mut(
            &mut runs,
            |_, Run { first, limbs: [p0, p1, r0, r1, last] }| {
                for (y, p) in [(&b0, &mut **p0), (&b1, &mut **p1)] {
                    constants.back.convert_exact_into(&mut outputs(*first, p, degree), y);
                }
                for (y, r) in [(&x0, &mut **r0), (&x1, &mut **r1), (&x2, &mut **last)] {
                    constants.divide.convert_exact_into(&mut outputs(*first, r, degree), y);
                }
                let mut scratch = self.scratch_limbs(3, Domain::Evaluation);
                let (x2, factors) = scratch.as_mut_slice().split_at_mut(degree);
                let (b0, b1) = factors.split_at_mut(degree);
                let limbs = p0.chunks_exact_mut(degree).zip(p1.chunks_exact_mut(degree));
                for (i, ((p0, p1), last)) in limbs.zip(last.chunks_exact_mut(degree)).enumerate() {
                    let k = *first + i;
                    let ring = self.limb_ring(modulus, k);
                    let (a0, a1) = (a.part(0).limb(k), a.part(1).limb(k));
                    self.forward(ring, p0);
                    self.forward(ring, p1);
                    if eager {
                        b0.copy_from_slice(p0);
                        b1.copy_from_slice(p1);
                        ring.tensor(p0, p1, x2, a0, a1, b0, b1);
                    } else {
                        ring.mul(x2, a1, p1);
                    }
                    // -(-x - (-delta/R)), since x2 holds -x.
                    let (inverse, negative) = &constants.negative[k];
                    self.inverse_scaled(ring, x2, inverse);
                    ring.sub_from_mul_scalar_assign(last, x2, negative);
                }
            },
        );
        drop(runs);
        parts
    }

    /// Records the cost of a scaled product.
    fn note_scaled_product(
        &self,
        constants: &ScaledProduct,
        a: &Ciphertext,
        b: &Ciphertext,
        eager: bool,
    ) {
        self.record("scaled product", |count| {
            let (modulus, same) = (a.modulus(), std::ptr::eq(a, b));
            let (limbs, primes) = (modulus.limb_count() as u64, constants.rings.len() as u64);
            count.inverse(modulus, 3);
            count.forward(modulus, 2);
            count.products(modulus, if eager { 4 } else { 1 });
            count.passes(modulus, if same { 3 } else { 1 });
            if !same {
                count.inverse(b.modulus(), 2);
            }
            let runs = count.runs(constants.rings.len(), 4);
            count.sources(modulus, 2 * runs);
            count.sources(b.modulus(), 2 * runs);
            for position in modulus.factors() {
                let at = count.at(modulus, position);
                at.pairs += 5 * primes;
                at.targets += 5;
            }
            for ring in &constants.rings {
                let size = WordSize::of(ring.modulus());
                count.transforms_of_size(size, 4, 3);
                let at = count.of_size(size);
                at.sources += 5;
                at.pairs += 2 * limbs + 2 * b.modulus().limb_count() as u64;
                at.targets += 4;
                at.passes += 6;
            }
            count.touch(8 * modulus.limb_count() + 9 * constants.rings.len());
        });
    }

    /// Computes five limbs for each prime `p` of `R`.
    ///
    /// The first three are the parts of the tensor product. In the evaluation domain they are
    /// unscaled. In coefficients they are multiplied by `t (R/p)^{-1}`. The last two are the parts
    /// of `b'` in coefficients, times `(R/p)^{-1}`.
    pub(super) fn auxiliary_products(
        &self,
        constants: &ScaledProduct,
        a: &Ciphertext,
        b: &Ciphertext,
        domain: Domain,
    ) -> Scratch<'_> {
        let degree = self.degree();
        let lifted = self.coefficients(a, &constants.lift_inputs);
        let switched = match std::ptr::eq(a, b) {
            true => [0, 1].map(|i| self.raised(constants, &lifted[i], a.modulus())),
            false => self.coefficients(b, &constants.switch_inputs),
        };
        let [a0, a1] = [0, 1].map(|i| lifted[i].limbs().collect::<LimbRefs<'_>>());
        let [b0, b1] = [0, 1].map(|i| switched[i].limbs().collect::<LimbRefs<'_>>());
        let primes = constants.rings.len();
        let mut products = self.scratch_limbs(5 * primes, Domain::Coefficient);
        let size = self.group_size(primes, 4);
        self.threads().for_each_chunk(products.as_mut_slice(), 5 * size * degree, |group, out| {
            let (first, count) = (group * size, out.len() / (5 * degree));
            let mut scratch = self.scratch_limbs(4 * count, Domain::Evaluation);
            let inputs = [
                (&constants.lift, &a0),
                (&constants.lift, &a1),
                (&constants.switch, &b0),
                (&constants.switch, &b1),
            ];
            for ((converter, y), limbs) in
                inputs.into_iter().zip(scratch.as_mut_slice().chunks_exact_mut(count * degree))
            {
                converter.convert_exact_into(&mut outputs(first, limbs, degree), y);
            }
            for (i, out) in out.chunks_exact_mut(5 * degree).enumerate() {
                let ring = &*constants.rings[first + i];
                let mut outs = out.chunks_exact_mut(degree);
                let mut next = || outs.next().expect("five limbs for each prime");
                let [x0, x1, x2, z0, z1] = [next(), next(), next(), next(), next()];
                let scaled = &constants.back_inputs[first + i];
                ring.mul_scalar(z0, scratch.limb(2 * count + i), scaled);
                ring.mul_scalar(z1, scratch.limb(3 * count + i), scaled);
                for j in 0..4 {
                    self.forward(ring, scratch.limb_mut(j * count + i));
                }
                let [a0, a1, b0, b1] = [0, 1, 2, 3].map(|j| scratch.limb(j * count + i));
                ring.tensor(x0, x1, x2, a0, a1, b0, b1);
                if domain == Domain::Coefficient {
                    for x in [x0, x1, x2] {
                        self.inverse_scaled(ring, x, &constants.divide_inputs[first + i]);
                    }
                }
            }
        });
        products
    }

    /// Returns the coefficients of both parts of a ciphertext. Each limb is multiplied by its
    /// factor.
    fn coefficients(
        &self,
        a: &Ciphertext,
        factors: &[hippocrene_ring::ntt::InverseFactor],
    ) -> [Scratch<'_>; 2] {
        [0, 1].map(|i| {
            let mut out = self.scratch(a.modulus(), Domain::Coefficient);
            out.for_each_limb(self.threads(), |k, limb| {
                let ring = self.limb_ring(a.modulus(), k);
                self.inverse_scaled_into(ring, limb, a.part(i).limb(k), &factors[k]);
            });
            out
        })
    }

    /// Returns the coefficients times `R`.
    fn raised(&self, constants: &ScaledProduct, poly: &Poly, modulus: Modulus) -> Scratch<'_> {
        let mut out = self.scratch(modulus, Domain::Coefficient);
        out.for_each_limb(self.threads(), |k, limb| {
            self.limb_ring(modulus, k).mul_scalar(limb, poly.limb(k), &constants.raise[k]);
        });
        out
    }
}

/// Returns consecutive limbs as the targets of a base conversion, from target `first` on.
pub(super) fn outputs(first: usize, limbs: &mut [u64], degree: usize) -> Outputs<'_> {
    (first..).zip(limbs.chunks_exact_mut(degree)).collect()
}

/// Splits five polynomials into runs of `size` words.
pub(super) fn runs(
    polynomials: [&mut [u64]; 5],
    size: usize,
    degree: usize,
) -> ArrayVec<Run<'_>, MAX_LIMBS> {
    let [a, b, c, d, e] = polynomials.map(|poly| poly.chunks_mut(size));
    let firsts = (0..).step_by(size / degree);
    let limbs = a.zip(b).zip(c).zip(d.zip(e)).map(|(((a, b), c), (d, e))| [a, b, c, d, e]);
    firsts.zip(limbs).map(|(first, limbs)| Run { first, limbs }).collect()
}
