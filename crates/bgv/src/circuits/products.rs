//! Sums of products.

use std::borrow::Cow;

use hippocrene_ring::arith::{centred, inv_mod, mul_mod};
use hippocrene_rlwe::{Modulus, Noise, ScaledSum, TensorSum};

use crate::{BgvError, Ciphertext, Evaluator, Scheme, noise};

/// The operation that errors name.
const PRODUCTS: &str = "add products";

impl Evaluator {
    /// `sum_i a_i b_i`, slot by slot, relinearised once: one product costs a key switch, each
    /// further one of BGV hardly anything, and one of BFV its conversions to the auxiliary modulus.
    /// It is computed in the manner of the evaluator's scheme, at the smallest of the moduli that
    /// the products would be computed at, and switched down by as many bits as the noise has grown.
    ///
    /// Factors `g g'` of products that differ are brought to that of a product with the least room:
    /// an operand is multiplied by a constant before it is switched down, which costs no noise
    /// budget where there is room of `log2(t)` bits, and up to so many where there is none.
    ///
    /// Operands may be sums that share an error, so that errors of products are taken as wholly
    /// dependent: at most a bit of noise budget for each doubling of their number.
    ///
    /// # Errors
    /// [`BgvError::Argument`] when there are no products; when keys or parameters differ, the
    /// relinearisation key is missing, or [`BgvError::Budget`] when the noise would be too large.
    pub fn sum_of_products(
        &self,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Result<Ciphertext, BgvError> {
        let (context, t) = (self.context(), self.context().plain_modulus());
        let mut at: Option<(f64, Modulus)> = None;
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
            if at.is_none_or(|(least, _)| bits < least) {
                at = Some((bits, modulus));
            }
        }
        let Some((bits, modulus)) = at else {
            let what = "there are no products".into();
            return Err(BgvError::Argument { operation: PRODUCTS, what });
        };
        // Of each pair the operand with more room first: it takes the constant.
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
                // It goes from its modulus straight to the auxiliary one.
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

/// A sum of products of ciphertexts in the manner of the evaluator's scheme, not relinearised.
pub(super) struct ProductSum<'a> {
    evaluator: &'a Evaluator,
    modulus: Modulus,
    sum: Option<Tensors<'a>>,
    /// The factor `g g'` of all products, before the `-Q` of those of BGV.
    factor: Option<u64>,
    /// The error of all products, which may be of operands that share an error: standard deviations
    /// add.
    noise: Noise,
}

/// What is added up.
enum Tensors<'a> {
    Bgv(TensorSum<'a>),
    Bfv(ScaledSum<'a>),
}

impl<'a> ProductSum<'a> {
    /// The empty sum of products of ciphertexts modulo `modulus = Q`.
    pub(super) fn new(evaluator: &'a Evaluator, modulus: Modulus) -> Self {
        ProductSum { evaluator, modulus, sum: None, factor: None, noise: Noise::NONE }
    }

    /// Adds `a b`: of the modulus of this sum, and of one factor with all others.
    pub(super) fn add(&mut self, a: &Ciphertext, b: &Ciphertext) -> Result<(), BgvError> {
        let (evaluator, context) = (self.evaluator, self.evaluator.context());
        let t = context.plain_modulus();
        let factor = mul_mod(a.factor(), b.factor(), t);
        debug_assert!(self.factor.is_none_or(|known| known == factor), "products of one factor");
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

    /// The sum, of which there is one product at least, relinearised and brought to the modulus
    /// `to`; the operands had `have` bits of noise budget.
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
