//! Sums over slots, and sums of products.

use std::borrow::Cow;

use hippocrene_ring::arith::{centred, inv_mod, mul_mod};
use hippocrene_rlwe::{Modulus, Noise, TensorSum};

use crate::{BgvError, Ciphertext, Evaluator};

/// The operation that errors name.
const PRODUCTS: &str = "add products";

impl Evaluator {
    /// The sum of `count` rotations of both rows by multiples of `step`: slot `i` of a row of the result is the sum of slots `i + k step` of that row of `a` over `k < count`, modulo
    /// `N/2`. It takes `log2(count)` rotations, by `step 2^k`, and one more for each bit of `count` but the first.
    ///
    /// # Errors
    /// [`BgvError::Argument`] when `count` is 0; when a rotation key is missing and cannot be composed, or the noise would be too large.
    pub fn inner_sum(&self, a: &Ciphertext, step: i64, count: usize) -> Result<Ciphertext, BgvError> {
        self.check(a, "sum of slots")?;
        if count == 0 {
            let what = "a sum of 0 rotations: at least 1 is needed".into();
            return Err(BgvError::Argument { operation: "sum of slots", what });
        }
        let row = self.context().rlwe().degree() as i64 / 2;
        // The sum of 2^k rotations, and that of as many as the bits of `count` below bit k say.
        let (mut power, mut sum): (_, Option<Ciphertext>) = (Cow::Borrowed(a), None);
        let mut by = step.rem_euclid(row);
        for k in 0..=count.ilog2() {
            if count >> k & 1 == 1 {
                sum = Some(match sum {
                    None => power.clone().into_owned(),
                    Some(sum) => self.add(&power, &self.rotate_rows(&sum, by)?)?,
                });
            }
            if k < count.ilog2() {
                power = Cow::Owned(self.add(&power, &self.rotate_rows(&power, by)?)?);
                by = 2 * by % row;
            }
        }
        Ok(sum.unwrap_or_else(|| a.clone()))
    }

    /// The sum of all `N` slots, in every slot: rotations by the powers of two below `N/2`, and the exchange of rows.
    ///
    /// # Errors
    /// As [`Evaluator::inner_sum`].
    pub fn total_sum(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let rows = self.inner_sum(a, 1, self.context().rlwe().degree() / 2)?;
        self.add(&rows, &self.exchange_rows(&rows)?)
    }

    /// `sum_i a_i b_i`, slot by slot, relinearised once: one product costs a key switch, each further one hardly anything. It is computed in the manner of BGV, at the smallest of the moduli that
    /// the products would be computed at, and switched down by as many bits as the noise has grown.
    ///
    /// Factors `g g'` of products that differ are brought to that of a product with the least room: an operand is multiplied by a constant before it is switched down, which costs no
    /// noise budget where there is room of `log2(t)` bits, and up to so many where there is none.
    ///
    /// # Errors
    /// [`BgvError::Argument`] when there are no products; when keys or parameters differ, the relinearisation key is missing, or [`BgvError::Budget`] when the noise would be too large.
    pub fn sum_of_products(&self, pairs: &[(&Ciphertext, &Ciphertext)]) -> Result<Ciphertext, BgvError> {
        let (context, t) = (self.context(), self.context().plain_modulus());
        let mut at: Option<(f64, Modulus)> = None;
        let mut have = f64::INFINITY;
        for (a, b) in pairs {
            for operand in [a, b] {
                self.check(operand, PRODUCTS)?;
                have = have.min(operand.budget_bits(context));
            }
            let modulus = self.common_modulus(a, b);
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
        let mut ordered: Vec<(&Ciphertext, &Ciphertext)> =
            pairs.iter().map(|(a, b)| if room(a) >= room(b) { (*a, *b) } else { (*b, *a) }).collect();
        ordered.sort_by(|x, y| room(x.0).total_cmp(&room(y.0)));
        let mut sum = ProductSum::new(self, modulus);
        for (a, b) in ordered {
            let right = self.lowered(b, modulus, PRODUCTS)?;
            let square = std::ptr::eq(a, b);
            let left = if square { Cow::Borrowed(&*right) } else { self.lowered(a, modulus, PRODUCTS)? };
            match sum.factor {
                Some(factor) if factor != mul_mod(left.factor(), right.factor(), t) => {
                    let units = inv_mod(mul_mod(a.factor(), right.factor(), t), t);
                    let x = units.map_or(1, |inverse| centred(mul_mod(factor, inverse, t), t));
                    sum.add(&*self.multiplied(a, x, modulus)?, &right)?;
                }
                _ => sum.add(&left, &right)?,
            }
        }
        let to = self.modulus_after_product(modulus, sum.noise.log2_std());
        sum.relinearise(to, have)
    }
}

/// A sum of products in the manner of BGV of ciphertexts of one modulus `Q`, not relinearised.
pub(super) struct ProductSum<'a> {
    evaluator: &'a Evaluator,
    modulus: Modulus,
    sum: Option<TensorSum<'a>>,
    /// The factor `g g'` of all products, before `-Q`.
    factor: Option<u64>,
    noise: Noise,
}

impl<'a> ProductSum<'a> {
    pub(super) fn new(evaluator: &'a Evaluator, modulus: Modulus) -> Self {
        ProductSum { evaluator, modulus, sum: None, factor: None, noise: Noise::NONE }
    }

    /// Adds `a b`: of the modulus of this sum, and of one factor with all others. The errors of different products are taken as independent.
    pub(super) fn add(&mut self, a: &Ciphertext, b: &Ciphertext) -> Result<(), BgvError> {
        let context = self.evaluator.context();
        let t = context.plain_modulus();
        let factor = mul_mod(a.factor(), b.factor(), t);
        debug_assert!(self.factor.is_none_or(|known| known == factor), "products of one factor");
        self.factor = Some(factor);
        let sum = match &mut self.sum {
            Some(sum) => sum,
            None => self.sum.insert(context.rlwe().tensor_sum(a.inner())?),
        };
        sum.add(a.inner(), b.inner(), t)?;
        let product = self.evaluator.product_noise(a.inner().noise(), b.inner().noise());
        self.noise = self.noise.plus(product);
        Ok(())
    }

    /// The sum, of which there is one product at least, relinearised and brought to the modulus `to`; the operands had `have` bits of noise budget.
    pub(super) fn relinearise(self, to: Modulus, have: f64) -> Result<Ciphertext, BgvError> {
        let (evaluator, context) = (self.evaluator, self.evaluator.context());
        let (Some(sum), Some(factor)) = (&self.sum, self.factor) else {
            let what = "there are no products".into();
            return Err(BgvError::Argument { operation: PRODUCTS, what });
        };
        let mut out = Ciphertext::empty(context);
        sum.relinearise_into(out.inner_mut(), evaluator.keys(), to)?;
        let scaled = self.noise.scaled(context.log2(to) - context.log2(self.modulus));
        let total = scaled.plus(out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(context.product_factor(self.modulus, factor));
        evaluator.check_budget(&out, have, PRODUCTS)?;
        Ok(out)
    }
}
