//! Sums of products.

use std::borrow::Cow;

use hippocrene_ring::arith::{centred, inv_mod, mul_mod};
use hippocrene_rlwe::{Modulus, Noise, ScaledSum, TensorSum};

use crate::{BgvError, Ciphertext, Evaluator, Scheme, noise};

/// The name of the operation in errors.
const PRODUCTS: &str = "add products";

impl Evaluator {
    /// Returns `sum_i a_i b_i`, slot by slot, relinearised once.
    ///
    /// The first product costs a key switch. A further BGV product costs hardly anything, and a
    /// further BFV product costs its conversions to the auxiliary modulus. The sum uses the scheme
    /// of the evaluator. It is computed at the smallest of the moduli at which the single products
    /// would be computed, and switched down by the growth of the noise.
    ///
    /// The factors `g g'` of the products may differ. They are all brought to the factor of the
    /// product whose operands have the smallest moduli. For this an operand is multiplied by a
    /// constant before it is switched down. That costs no noise budget if its modulus is larger by
    /// `log2(t)` bits, and up to `log2(t)` bits if it is not.
    ///
    /// Operands may be sums that share an error. Therefore the errors of products are treated as
    /// fully dependent. This costs at most one bit of noise budget each time their number doubles.
    ///
    /// # Errors
    /// Returns [`BgvError::Argument`] if there are no products, an error if keys or parameters
    /// differ or the relinearisation key is missing, and [`BgvError::Budget`] if the noise would be
    /// too large.
    pub fn sum_of_products(
        &self,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Result<Ciphertext, BgvError> {
        let (context, t) = (self.context(), self.context().plain_modulus());
        let mut smallest: Option<(f64, Modulus)> = None;
        let mut have = f64::INFINITY;
        for (a, b) in pairs {
            for operand in [a, b] {
                self.check(operand, PRODUCTS)?;
                have = have.min(operand.budget_bits(context));
            }
            let modulus = match self.scheme() {
                Scheme::Bgv => self.common_modulus(a, b),
                Scheme::Bfv => self.common_modulus_scaled(a, b),
            };
            let bits = context.log2(modulus);
            if smallest.is_none_or(|(least, _)| bits < least) {
                smallest = Some((bits, modulus));
            }
        }
        let Some((bits, modulus)) = smallest else {
            let what = "there are no products".into();
            return Err(BgvError::Argument { operation: PRODUCTS, what });
        };
        // The operand with the larger modulus comes first in each pair, because it may be
        // multiplied by a constant below.
        let room = |c: &Ciphertext| context.log2(c.modulus()) - bits;
        let mut ordered: Vec<(&Ciphertext, &Ciphertext)> = pairs
            .iter()
            .map(|(a, b)| if room(a) >= room(b) { (*a, *b) } else { (*b, *a) })
            .collect();
        ordered.sort_by(|x, y| room(x.0).total_cmp(&room(y.0)));
        let mut sum = ProductSum::new(self, modulus);
        for (a, b) in ordered {
            let left = self.lowered(b, modulus, PRODUCTS)?;
            let right = match self.scheme() {
                _ if std::ptr::eq(a, b) => Cow::Borrowed(&*left),
                Scheme::Bgv => self.lowered(a, modulus, PRODUCTS)?,
                // The operand is switched from its own modulus straight to the auxiliary one.
                Scheme::Bfv => Cow::Borrowed(a),
            };
            match sum.factor {
                Some(factor) if factor != mul_mod(left.factor(), right.factor(), t) => {
                    let units = inv_mod(mul_mod(left.factor(), a.factor(), t), t);
                    let x = units.map_or(1, |inverse| centred(mul_mod(factor, inverse, t), t));
                    sum.add(&left, &*self.multiplied(a, x, modulus)?)?;
                }
                _ => sum.add(&left, &right)?,
            }
        }
        let log2_std = sum.noise.log2_std();
        let to = match self.scheme() {
            Scheme::Bgv => self.modulus_after_product(modulus, log2_std),
            Scheme::Bfv => self.modulus_after_scaled(modulus, log2_std),
        };
        sum.relinearise(to, have)
    }
}

/// A sum of products by the scheme of the evaluator, before it is relinearised.
pub(super) struct ProductSum<'a> {
    evaluator: &'a Evaluator,
    modulus: Modulus,
    sum: Option<Tensors<'a>>,
    /// The factor `g g'` of all products. For BGV products, the factor `-Q` is not included.
    factor: Option<u64>,
    /// The error of the sum. Operands may share an error, so standard deviations are added.
    noise: Noise,
}

/// The tensor products that are added up.
enum Tensors<'a> {
    Bgv(TensorSum<'a>),
    Bfv(ScaledSum<'a>),
}

impl<'a> ProductSum<'a> {
    /// Makes an empty sum of products of ciphertexts modulo `modulus = Q`.
    pub(super) fn new(evaluator: &'a Evaluator, modulus: Modulus) -> Self {
        ProductSum { evaluator, modulus, sum: None, factor: None, noise: Noise::NONE }
    }

    /// Adds `a b`. Both must have the modulus of this sum, and the product must have the factor of
    /// all others.
    pub(super) fn add(&mut self, a: &Ciphertext, b: &Ciphertext) -> Result<(), BgvError> {
        let (evaluator, context) = (self.evaluator, self.evaluator.context());
        let t = context.plain_modulus();
        let factor = mul_mod(a.factor(), b.factor(), t);
        debug_assert!(
            self.factor.is_none_or(|previous| previous == factor),
            "products of one factor"
        );
        self.factor = Some(factor);
        let rlwe = context.rlwe();
        let sum = match (&mut self.sum, evaluator.scheme()) {
            (Some(sum), _) => sum,
            (none, Scheme::Bgv) => none.insert(Tensors::Bgv(rlwe.tensor_sum(a.inner())?)),
            (none, Scheme::Bfv) => none.insert(Tensors::Bfv(rlwe.scaled_sum(a.inner(), t)?)),
        };
        let (left, right) = (a.inner().noise(), b.inner().noise());
        let product = match sum {
            Tensors::Bgv(sum) => {
                sum.add(a.inner(), b.inner(), t)?;
                evaluator.product_noise(left, right)
            }
            Tensors::Bfv(sum) => {
                sum.add(a.inner(), b.inner())?;
                evaluator.scaled_product_noise(self.modulus, left, Some(b))?
            }
        };
        self.noise = noise::sum(self.noise, product);
        Ok(())
    }

    /// Relinearises the sum, which must hold at least one product, and switches it to the modulus
    /// `to`. `have` is the noise budget of the operands in bits, for errors.
    pub(super) fn relinearise(self, to: Modulus, have: f64) -> Result<Ciphertext, BgvError> {
        let (evaluator, context, noise) = (self.evaluator, self.evaluator.context(), self.noise);
        let (Some(sum), Some(factor)) = (self.sum, self.factor) else {
            let what = "there are no products".into();
            return Err(BgvError::Argument { operation: PRODUCTS, what });
        };
        let mut out = Ciphertext::empty(context);
        let factor = match sum {
            Tensors::Bgv(sum) => {
                sum.relinearise_into(out.inner_mut(), evaluator.keys(), to)?;
                context.product_factor(self.modulus, factor)
            }
            Tensors::Bfv(sum) => {
                sum.relinearise_into(out.inner_mut(), evaluator.keys(), to)?;
                factor
            }
        };
        let scaled = noise.scaled(context.log2(to) - context.log2(self.modulus));
        let total = scaled.plus(out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(factor);
        evaluator.check_budget(&out, have, PRODUCTS)?;
        Ok(out)
    }
}
