//! Products of ciphertexts (GRAFT Alg. 1).

use hippocrene_rlwe::{Modulus, Noise};

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

const MULTIPLY: &str = "multiply";

/// The name of sums of products in errors.
const PRODUCTS: &str = "add products";

impl Evaluator {
    /// Returns `a b`, slot by slot, relinearised. The scales multiply, and the modulus does not
    /// change. Rescale afterwards, or use [`Evaluator::mul_rescale`], which is faster.
    ///
    /// # Errors
    /// Fails if moduli, slots or keys differ, the product does not fit the modulus, or the
    /// relinearisation key is missing.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_to_into(&mut out, a, b, a.modulus())?;
        Ok(out)
    }

    /// Returns `a b`, relinearised and rescaled to the scale nearest to `target` in one modulus
    /// switch (GRAFT Alg. 1). The modulus is [`Evaluator::rescaled_modulus`], and the scale is the
    /// exact one for that modulus.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul`] does.
    pub fn mul_rescale(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_rescale_into(&mut out, a, b, target)?;
        Ok(out)
    }

    /// Like [`Evaluator::mul_rescale`], with the result in an existing ciphertext.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul_rescale`] does.
    pub fn mul_rescale_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        target: Scale,
    ) -> Result<(), CkksError> {
        self.check_own(a, MULTIPLY)?;
        let to = self.rescaled_modulus(a.modulus(), a.scale().times(b.scale()), target);
        self.mul_to_into(out, a, b, to)
    }

    /// Returns `a^2`, relinearised and rescaled to the scale nearest to `target`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul_rescale`] does.
    pub fn square_rescale(&self, a: &Ciphertext, target: Scale) -> Result<Ciphertext, CkksError> {
        self.mul_rescale(a, a, target)
    }

    /// Computes `a b`, relinearised and brought from the modulus `Q` of the operands to `to = Q'`,
    /// any other divisor of `PQ_max`, in one modulus switch. Message and scale are multiplied by
    /// `Q'/Q`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul`] does.
    pub fn mul_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        self.mul_multiple_to_into(out, a, b, 1, to)
    }

    /// Like [`Evaluator::mul_to_into`], for `n a b` with a small integer `n`, at no extra cost.
    pub(crate) fn mul_multiple_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        n: u64,
        to: Modulus,
    ) -> Result<(), CkksError> {
        self.check_slots(a, b, MULTIPLY)?;
        let (from, log2_a, log2_b) = (a.modulus(), a.scale().log2(), b.scale().log2());
        let bound = n as f64 * a.bound() * b.bound();
        self.check_capacity(a, from, log2_a + log2_b, bound, MULTIPLY)?;
        self.context().rlwe().multiply_into(
            out.inner_mut(),
            a.inner(),
            b.inner(),
            n,
            self.keys(),
            to,
        )?;
        let down = self.log2(to) - self.log2(from) + (n as f64).log2();
        let noise = self.product_noise(a, b).scaled(down).plus(out.inner().noise());
        out.set_meta(self.switched_scale(a.scale().times(b.scale()), from, to), a.slots(), bound);
        let noise = noise.plus(Self::scale_noise(out));
        out.inner_mut().set_noise(noise);
        out.set_dry_run_values(a.dry_run_values().zip(b.dry_run_values(), |x, y| x * y * n as f64));
        Ok(())
    }

    /// Returns `sum_i a_i b_i`, slot by slot, relinearised once and rescaled to the scale nearest
    /// to `target` in one modulus switch. The first product costs a key switch, and each further
    /// one costs little.
    ///
    /// The errors of the products are assumed to be independent.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul`] does, and if there are no products or their scales differ.
    pub fn sum_of_products(
        &self,
        pairs: &[(&Ciphertext, &Ciphertext)],
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: PRODUCTS, what });
        let &[(first, second), ..] = pairs else { return fail("there are no products".into()) };
        self.check_own(first, PRODUCTS)?;
        let scale = first.scale().times(second.scale());
        if let Some((a, b)) =
            pairs.iter().find(|(a, b)| !a.scale().times(b.scale()).is_close(scale))
        {
            let (have, need) = (a.scale().times(b.scale()).log2(), scale.log2());
            return fail(format!("the products have different scales, 2^{have} and 2^{need}"));
        }
        self.sum_of_products_to(pairs, self.rescaled_modulus(first.modulus(), scale, target))
    }

    /// Returns `sum_i a_i b_i`, relinearised once and brought from the modulus `Q` of the factors
    /// to `to = Q'`, as [`Evaluator::mul_to_into`] does. All products need to have the scale of the
    /// first.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul`] does.
    pub(crate) fn sum_of_products_to(
        &self,
        pairs: &[(&Ciphertext, &Ciphertext)],
        to: Modulus,
    ) -> Result<Ciphertext, CkksError> {
        let &[(first, second), ..] = pairs else {
            return Err(CkksError::Argument {
                operation: PRODUCTS,
                what: "there are no products".into(),
            });
        };
        let (rlwe, from) = (self.context().rlwe(), first.modulus());
        let scale = first.scale().times(second.scale());
        let (mut noise, mut bound) = (Noise::NONE, 0.0);
        let mut sum = rlwe.tensor_sum(first.inner())?;
        for &(a, b) in pairs {
            self.check_slots(first, a, PRODUCTS)?;
            self.check_slots(a, b, PRODUCTS)?;
            sum.add(a.inner(), b.inner(), 1)?;
            noise = noise.plus(self.product_noise(a, b));
            bound += a.bound() * b.bound();
        }
        let known =
            pairs.iter().map(|(a, b)| a.dry_run_values().zip(b.dry_run_values(), |x, y| x * y));
        let known =
            known.reduce(|sum, product| sum.zip(&product, |x, y| x + y)).unwrap_or_default();
        self.check_capacity(first, from, scale.log2(), bound, PRODUCTS)?;
        let mut out = Ciphertext::empty(self.context());
        sum.relinearise_into(out.inner_mut(), self.keys(), to)?;
        let noise = noise.scaled(self.log2(to) - self.log2(from)).plus(out.inner().noise());
        out.set_meta(self.switched_scale(scale, from, to), first.slots(), bound);
        let noise = noise.plus(Self::scale_noise(&out));
        out.inner_mut().set_noise(noise);
        out.set_dry_run_values(known);
        Ok(out)
    }

    /// Returns the noise of the product of two ciphertexts before relinearisation.
    fn product_noise(&self, a: &Ciphertext, b: &Ciphertext) -> Noise {
        let of = |c: &Ciphertext| (c.scale(), c.bound(), c.inner().noise());
        self.noise_of_product(of(a), of(b), std::ptr::eq(a, b))
    }

    /// Returns the noise `m_a e_b + m_b e_a + e_a e_b`, given scale, bound and noise of the
    /// factors. In a square the first two terms are equal, and every product of two coefficients
    /// appears twice in `e^2`.
    pub(crate) fn noise_of_product(
        &self,
        (scale_a, bound_a, e_a): (Scale, f64, Noise),
        (scale_b, bound_b, e_b): (Scale, f64, Noise),
        square: bool,
    ) -> Noise {
        let left = Self::message_times(scale_a.log2(), bound_a, e_b);
        let right = Self::message_times(scale_b.log2(), bound_b, e_a);
        let both = e_a.times_polynomial(self.context().rlwe().degree(), e_b.log2_std());
        if square { left.scaled(1.0).plus(both.scaled(0.5)) } else { left.plus(right).plus(both) }
    }
}
