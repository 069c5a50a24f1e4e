//! The key switch itself, single and hoisted.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, sample::SIGMA, scratch::Scratch};

use super::gadget::Decomposition;
use crate::{
    Context, Modulus, PreparedSwitchingKey, RlweError,
    context::{LimbMuts, LimbRefs},
    modulus::MAX_FACTORS,
    noise::{self, Noise},
};

/// A polynomial modulo `Q` decomposed into digits, each modulo `PQ` in the evaluation domain: what rotations of one ciphertext
/// share (hoisting, Halevi and Shoup, ePrint 2018/244).
#[derive(Debug)]
pub struct Decomposed<'a> {
    plan: Arc<Decomposition>,
    modulus: Modulus,
    /// For each digit its limbs modulo the other factors of `PQ`.
    extended: ArrayVec<Scratch<'a>, MAX_FACTORS>,
    /// The polynomial itself: the limbs of each digit modulo its own factors.
    original: &'a Poly,
}

impl Context {
    /// Decomposes `poly`, modulo `modulus` (a product of units) in the evaluation domain, into digits.
    ///
    /// # Errors
    /// When the polynomial does not fit, or the parameters have no key switching.
    pub fn decompose<'a>(&'a self, poly: &'a Poly, modulus: Modulus) -> Result<Decomposed<'a>, RlweError> {
        self.check_message(poly, modulus, "switch keys")?;
        if self.parameters().specials().is_one() {
            return Err(RlweError::Parameters {
                what: "there are no special primes, and so no key switching".into(),
            });
        }
        let plan = self.decompositions.get_or_insert(modulus, || Decomposition::new(self, modulus));
        let mut coefficients = self.scratch(modulus, Domain::Coefficient);
        coefficients.for_each_limb(self.threads(), |k, limb| {
            limb.copy_from_slice(poly.limb(k));
            self.limb_ring(modulus, k).ntt().inverse_scaled(limb, &plan.inputs[k]);
        });
        let mut extended = ArrayVec::new();
        for digit in &plan.digits {
            let mut limbs = self.scratch(digit.others, Domain::Evaluation);
            let inputs: LimbRefs =
                digit.factors.factors().map(|i| coefficients.limb(modulus.limb_of(i))).collect();
            let mut outputs: LimbMuts = limbs.limbs_mut().collect();
            digit.converter.convert(&mut outputs, &inputs);
            drop(outputs);
            limbs.for_each_limb(self.threads(), |k, limb| {
                self.limb_ring(digit.others, k).ntt().forward_lazy(limb);
            });
            extended.push(limbs);
        }
        Ok(Decomposed { plan, modulus, extended, original: poly })
    }

    /// The inner product of the digits of `decomposed` with a switching key: `acc0 + acc1 s = P c s' + e`, modulo `P Q`, for the
    /// decomposed `c` and a key from `s'` to `s`.
    fn inner_product(
        &self,
        acc0: &mut Poly,
        acc1: &mut Poly,
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
    ) {
        let extended_modulus = decomposed.modulus.lcm(self.parameters().specials());
        acc0.for_each_limb_pair(acc1, self.threads(), |k, acc0, acc1| {
            let factor = extended_modulus.factors().nth(k).expect("a limb of this modulus");
            let digits: ArrayVec<(usize, &[u64]), MAX_FACTORS> = decomposed
                .plan
                .digits
                .iter()
                .zip(&decomposed.extended)
                .map(|(digit, limbs)| {
                    let limb = if digit.factors.contains(factor) {
                        decomposed.original.limb(decomposed.modulus.limb_of(factor))
                    } else {
                        limbs.limb(digit.others.limb_of(factor))
                    };
                    (digit.index, limb)
                })
                .collect();
            self.ring(factor).elementwise().inner_product(acc0, acc1, &digits, key.limb(factor));
        });
    }

    /// Switches keys: with a key from `s'` to `s`, the decomposed `c` modulo `Q`, and `added` (polynomials modulo `Q`),
    /// `out0 + out1 s = round_t((Q'/Q) (added0 + added1 s + c s')) + e` modulo `to = Q'`, in one modulus switch from `PQ`.
    /// Everything is in the evaluation domain.
    ///
    /// # Errors
    /// When moduli or parameters do not fit.
    pub fn switch_keys_into(
        &self,
        out: [&mut Poly; 2],
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
        added: [Option<&Poly>; 2],
        to: Modulus,
        t: u64,
    ) -> Result<(), RlweError> {
        self.check_digest(key.parameters(), "switch keys")?;
        let parameters = self.parameters();
        let from = decomposed.modulus;
        let extended = from.lcm(parameters.specials());
        let mut acc0 = self.scratch(extended, Domain::Evaluation);
        let mut acc1 = self.scratch(extended, Domain::Evaluation);
        self.inner_product(&mut acc0, &mut acc1, decomposed, key);
        for ((acc, added), out) in [&mut acc0, &mut acc1].into_iter().zip(added).zip(out) {
            if let Some(added) = added {
                self.check_message(added, from, "switch keys")?;
                self.add_times_specials(acc, added, from);
            }
            self.switch_modulus(out, acc, extended, to, t)?;
        }
        Ok(())
    }

    /// `acc += P added` for `acc` modulo `PQ` and `added` modulo `Q`.
    fn add_times_specials(&self, acc: &mut Poly, added: &Poly, from: Modulus) {
        let parameters = self.parameters();
        acc.for_each_limb(self.threads(), |k, acc| {
            // Units come before specials, so that limb k of PQ is limb k of Q as long as there is one.
            if k < from.limb_count() {
                let ring = self.limb_ring(from, k);
                let q = ring.modulus();
                let p = parameters
                    .specials()
                    .factors()
                    .fold(1, |p, i| hippocrene_ring::arith::mul_mod(p, parameters.factor(i) % q, q));
                ring.elementwise().mul_scalar_add_assign(acc, added.limb(k), &ring.scalar(p));
            }
        });
    }

    /// The noise that a key switch of a polynomial modulo `from` adds when it ends modulo `to`: that of the inner product,
    /// divided by `P Q/Q'`, and the rounding of the modulus switch.
    pub fn key_switch_noise(&self, from: Modulus, to: Modulus, t: u64) -> Noise {
        let parameters = self.parameters();
        let digits = parameters.digits(from).map(|(_, digit)| (parameters.log2(digit), digit.limb_count()));
        let down = parameters.log2(to) - parameters.log2(from) - parameters.log2(parameters.specials());
        noise::inner_product(self.degree(), SIGMA * t as f64, digits)
            .scaled(down)
            .plus(noise::rounding(parameters.secret_weight(), t))
    }
}
