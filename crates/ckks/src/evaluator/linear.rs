//! Sums, and products with plain values.

use hippocrene_ring::arith::{neg_mod, signed_mod};
use hippocrene_rlwe::{self as rlwe, CombineInto, Modulus, Noise, RlweError, noise::log2};
use num_bigint::{BigInt, Sign};
use num_complex::Complex64;

use super::Evaluator;
use crate::{BigFloat, Ciphertext, CkksError, Plaintext, Scale, encoding::encoding_noise};

const ADD_NUMBER: &str = "add a number";
const MULTIPLY_NUMBER: &str = "multiply by a number";

/// An integer to be reduced modulo the moduli of limbs, with the distance to the number that it
/// approximates.
#[derive(Debug, Clone, PartialEq)]
struct Integer {
    value: BigInt,
    rest: f64,
}

impl Integer {
    /// Returns the integer nearest to `value scale`.
    fn scaled(value: &BigFloat, scale: Scale, operation: &'static str) -> Result<Self, CkksError> {
        let scaled = value.scaled_and_rest(scale);
        let (value, rest) =
            scaled.map_err(|error| CkksError::Argument { operation, what: error.to_string() })?;
        Ok(Integer { value, rest })
    }

    /// Returns the residue modulo `q`.
    fn residue(&self, q: u64) -> u64 {
        let r = (self.value.magnitude() % q).iter_u64_digits().next().unwrap_or(0);
        if self.value.sign() == Sign::Minus { neg_mod(r, q) } else { r }
    }

    /// Returns the noise that the rounding adds to a product with `a`: the message times the
    /// rounding error.
    fn noise(&self, a: &Ciphertext) -> Noise {
        Evaluator::message_as_noise(a).scaled(log2(self.rest))
    }
}

/// A ciphertext plus a number.
struct SumWithNumber {
    /// The integer that is added to the message.
    integer: Integer,
    noise: Noise,
    bound: f64,
}

impl SumWithNumber {
    /// Sets noise and bound of the sum.
    fn describe(&self, sum: &mut Ciphertext) {
        sum.inner_mut().set_noise(self.noise);
        sum.set_bound(self.bound);
    }
}

impl Evaluator {
    /// Returns `a + b`, slot by slot.
    ///
    /// # Errors
    /// Fails if moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combined(a, b, "add", rlwe::Context::add_into, |x, y| x + y)
    }

    /// Computes `a += b`, slot by slot.
    ///
    /// # Errors
    /// Fails if moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), CkksError> {
        self.check_terms(a, b, "add")?;
        self.context().rlwe().add_assign(a.inner_mut(), b.inner())?;
        a.set_bound(a.bound() + b.bound());
        a.set_dry_run_values(a.dry_run_values().zip(b.dry_run_values(), |x, y| x + y));
        Ok(())
    }

    /// Computes `a += b`, slot by slot, for parts of one message, such as a rotation `b` of `a`.
    /// The common parts of their errors add up ([`rlwe::Noise::plus_of_same_message`]).
    ///
    /// # Errors
    /// Fails as [`Evaluator::add_assign`] does.
    pub fn add_alike(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), CkksError> {
        let noise = a.inner().noise().plus_of_same_message(b.inner().noise());
        self.add_assign(a, b)?;
        a.inner_mut().set_noise(noise);
        Ok(())
    }

    /// Returns `a - b`, slot by slot.
    ///
    /// # Errors
    /// Fails if moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combined(a, b, "subtract", rlwe::Context::sub_into, |x, y| x - y)
    }

    /// Computes `a -= b`, slot by slot.
    ///
    /// # Errors
    /// Fails if moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), CkksError> {
        self.check_terms(a, b, "subtract")?;
        self.context().rlwe().sub_assign(a.inner_mut(), b.inner())?;
        a.set_bound(a.bound() + b.bound());
        a.set_dry_run_values(a.dry_run_values().zip(b.dry_run_values(), |x, y| x - y));
        Ok(())
    }

    /// Returns a sum or difference, by one pass over both operands.
    fn combined(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
        combine: CombineInto,
        known: impl Fn(Complex64, Complex64) -> Complex64,
    ) -> Result<Ciphertext, CkksError> {
        self.check_terms(a, b, operation)?;
        let mut out = self.empty_like(a);
        combine(self.context().rlwe(), out.inner_mut(), a.inner(), b.inner())?;
        out.set_bound(a.bound() + b.bound());
        out.set_dry_run_values(a.dry_run_values().zip(b.dry_run_values(), known));
        Ok(out)
    }

    /// Checks that two ciphertexts can be added and that the sum fits.
    fn check_terms(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check_slots(a, b, operation)?;
        self.context().rlwe().check_pair(a.inner(), b.inner(), operation)?;
        self.check_scales(a.scale(), b.scale(), operation)?;
        self.check_capacity(a, a.modulus(), a.scale().log2(), a.bound() + b.bound(), operation)
    }

    /// Returns `-a`.
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters.
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = self.empty_like(a);
        self.context().rlwe().negate_into(out.inner_mut(), a.inner())?;
        out.set_dry_run_values(a.dry_run_values().map(|x| -x));
        Ok(out)
    }

    /// Returns `a + p` for an encoded vector with the modulus, scale and slots of `a`.
    ///
    /// # Errors
    /// Fails if they differ, or if one of both was made with other parameters.
    pub fn add_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "add a plaintext";
        self.check_plain(a, p, OPERATION)?;
        self.check_scales(a.scale(), p.scale(), OPERATION)?;
        self.check_capacity(a, a.modulus(), a.scale().log2(), a.bound() + p.bound(), OPERATION)?;
        let mut out = self.empty_like(a);
        self.context().rlwe().add_plain_into(out.inner_mut(), a.inner(), p.poly())?;
        out.inner_mut().set_noise(a.inner().noise().plus(encoding_noise()));
        out.set_bound(a.bound() + p.bound());
        out.set_dry_run_values(a.dry_run_values().zip(p.dry_run_values(), |x, y| x + y));
        Ok(out)
    }

    /// Returns `a p` for an encoded vector with the modulus and slots of `a`. The scales multiply.
    /// Rescale afterwards.
    ///
    /// # Errors
    /// Fails if modulus, slots or parameters differ, or if the product does not fit the modulus.
    pub fn mul_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "multiply by a plaintext";
        self.check_plain(a, p, OPERATION)?;
        let scale = a.scale().times(p.scale());
        let bound = a.bound() * p.bound();
        self.check_capacity(a, a.modulus(), scale.log2(), bound, OPERATION)?;
        let mut out = Ciphertext::empty(self.context());
        self.context().rlwe().mul_plain_into(out.inner_mut(), a.inner(), p.poly())?;
        out.inner_mut().set_noise(self.plain_product_noise(a, p));
        out.set_meta(scale, a.slots(), bound);
        out.set_dry_run_values(a.dry_run_values().zip(p.dry_run_values(), |x, y| x * y));
        Ok(out)
    }

    /// Computes `acc += a p`. `acc` has the scale of the product.
    ///
    /// # Errors
    /// Fails if moduli, slots or scales do not match.
    pub fn mul_plain_add_assign(
        &self,
        acc: &mut Ciphertext,
        a: &Ciphertext,
        p: &Plaintext,
    ) -> Result<(), CkksError> {
        const OPERATION: &str = "multiply by a plaintext and add";
        self.check_plain(a, p, OPERATION)?;
        self.check_slots(acc, a, OPERATION)?;
        self.check_scales(acc.scale(), a.scale().times(p.scale()), OPERATION)?;
        let bound = acc.bound() + a.bound() * p.bound();
        self.check_capacity(acc, a.modulus(), acc.scale().log2(), bound, OPERATION)?;
        self.context().rlwe().mul_plain_add_assign(acc.inner_mut(), a.inner(), p.poly())?;
        let noise = acc.inner().noise().plus(self.plain_product_noise(a, p));
        acc.inner_mut().set_noise(noise);
        acc.set_bound(bound);
        acc.set_dry_run_values(
            acc.dry_run_values()
                .zip(&a.dry_run_values().zip(p.dry_run_values(), |x, y| x * y), |x, y| x + y),
        );
        Ok(())
    }

    /// Returns the noise `m_p e_a + m_a e_p`, where `e_p` is the rounding error of the plaintext.
    fn plain_product_noise(&self, a: &Ciphertext, p: &Plaintext) -> Noise {
        Self::message_times(p.scale().log2(), p.bound(), a.inner().noise())
            .plus(Self::message_times(a.scale().log2(), a.bound(), encoding_noise()))
    }

    /// Checks that a plaintext belongs to these parameters and has the modulus and the slots of
    /// `a`.
    fn check_plain(
        &self,
        a: &Ciphertext,
        p: &Plaintext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        let rlwe = self.context().rlwe();
        rlwe.check_operand(a.inner(), operation)?;
        rlwe.check_digest(p.parameters(), operation)?;
        if a.modulus() != p.modulus() {
            let (left, right) = (self.log2(a.modulus()), self.log2(p.modulus()));
            return Err(RlweError::ModulusMismatch { operation, left, right }.into());
        }
        if a.slots() == p.slots() {
            Ok(())
        } else {
            Err(CkksError::SlotMismatch { operation, left: a.slots(), right: p.slots() })
        }
    }

    /// Returns `a + c`, where the number `c` is added to every slot.
    ///
    /// # Errors
    /// Fails if `c` is not finite or too large for the modulus.
    pub fn add_number(&self, a: &Ciphertext, c: f64) -> Result<Ciphertext, CkksError> {
        self.add_big_number(a, &finite(c, ADD_NUMBER)?)
    }

    /// Like [`Evaluator::add_number`], for a multi-precision number. It is rounded only to the unit
    /// of the scale.
    ///
    /// # Errors
    /// Fails if `c` is too large for the modulus.
    pub fn add_big_number(&self, a: &Ciphertext, c: &BigFloat) -> Result<Ciphertext, CkksError> {
        let sum = self.sum_with_number(a, c)?;
        let mut out = self.empty_like(a);
        self.context()
            .rlwe()
            .add_constant_into(out.inner_mut(), a.inner(), |q| sum.integer.residue(q))?;
        sum.describe(&mut out);
        out.set_dry_run_values(a.dry_run_values().map(|x| x + c.to_f64()));
        Ok(out)
    }

    /// Computes `a += c`, where the number `c` is added to every slot.
    ///
    /// # Errors
    /// Fails as [`Evaluator::add_number`] does.
    pub fn add_number_assign(&self, a: &mut Ciphertext, c: f64) -> Result<(), CkksError> {
        let sum = self.sum_with_number(a, &finite(c, ADD_NUMBER)?)?;
        self.context().rlwe().add_constant_assign(a.inner_mut(), |q| sum.integer.residue(q))?;
        sum.describe(a);
        a.set_dry_run_values(a.dry_run_values().map(|x| x + c));
        Ok(())
    }

    /// Checks the operands and returns the integer, noise and bound of `a + c`.
    fn sum_with_number(&self, a: &Ciphertext, c: &BigFloat) -> Result<SumWithNumber, CkksError> {
        let integer = Integer::scaled(c, a.scale(), ADD_NUMBER)?;
        let bound = a.bound() + c.to_f64().abs();
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, ADD_NUMBER)?;
        let noise =
            a.inner().noise().plus(Noise::from_std(integer.rest / (2.0 * a.slots() as f64).sqrt()));
        Ok(SumWithNumber { integer, noise, bound })
    }

    /// Returns a ciphertext without limbs, with the scale, slots and bound of `a`.
    pub(crate) fn empty_like(&self, a: &Ciphertext) -> Ciphertext {
        let mut out = Ciphertext::empty(self.context());
        out.set_meta(a.scale(), a.slots(), a.bound());
        out
    }

    /// Returns `a c`, where every slot is multiplied by the number `c`, encoded at `scale`. The
    /// scales multiply. Rescale afterwards.
    ///
    /// # Errors
    /// Fails if `c` is not finite, or if the product does not fit the modulus.
    pub fn mul_number(
        &self,
        a: &Ciphertext,
        c: f64,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.mul_big_number(a, &finite(c, MULTIPLY_NUMBER)?, scale)
    }

    /// Returns `sum_i c_i a_i`, slot by slot, modulo `to` and at `scale`.
    ///
    /// Each number is encoded at the quotient of `scale` and the scale of its ciphertext. Each
    /// ciphertext is reduced to `to`, a divisor of its modulus. Rescale afterwards.
    ///
    /// # Errors
    /// Fails if there are no terms, a number is not finite, slots or keys differ, `to` does not
    /// divide a modulus, or the sum does not fit it.
    pub fn linear_combination(
        &self,
        terms: &[(&Ciphertext, f64)],
        to: Modulus,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "combine linearly";
        let Some((first, _)) = terms.first() else {
            let what = "there are no terms".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        };
        self.context().rlwe().check_modulus(to, OPERATION)?;
        let (mut noise, mut bound) = (Noise::NONE, 0.0);
        let mut common = Vec::with_capacity(terms.len());
        let mut integers = Vec::with_capacity(terms.len());
        for (a, c) in terms {
            self.check_slots(first, a, OPERATION)?;
            let factor = scale.over(a.scale());
            let integer = Integer::scaled(&finite(*c, OPERATION)?, factor, OPERATION)?;
            let product = Self::message_times(factor.log2(), c.abs(), a.inner().noise());
            common.push((product.common(), *c < 0.0));
            noise = noise.plus(product.independent_part()).plus(integer.noise(a));
            integers.push(integer);
            bound += a.bound() * c.abs();
        }
        // The common part is an upper bound, so no cancellation is assumed.
        let together = Noise::sum_of_proportional(&common);
        let apart = common.iter().fold(Noise::NONE, |sum, (part, _)| sum.plus(*part));
        let most = if apart.log2_std() > together.log2_std() { apart } else { together };
        let noise = noise.plus(most).with_common(together);
        self.check_capacity(first, to, scale.log2(), bound, OPERATION)?;
        let multiples = terms.iter().zip(&integers);
        let multiples: Vec<_> =
            multiples.map(|((a, _), integer)| (a.inner(), |q| integer.residue(q))).collect();
        let mut out = Ciphertext::empty(self.context());
        let (head, tail) = multiples.split_first().expect("there is a term, as was seen");
        self.context().rlwe().sum_of_multiples_into(out.inner_mut(), head, tail, to)?;
        out.inner_mut().set_noise(noise);
        out.set_meta(scale, first.slots(), bound);
        let known = terms.iter().map(|(a, c)| a.dry_run_values().map(|x| x * *c));
        out.set_dry_run_values(
            known.reduce(|sum, term| sum.zip(&term, |x, y| x + y)).unwrap_or_default(),
        );
        Ok(out)
    }

    /// Like [`Evaluator::mul_number`], for a multi-precision number. It is rounded only to the unit
    /// of `scale`.
    ///
    /// # Errors
    /// Fails if the product does not fit the modulus.
    pub fn mul_big_number(
        &self,
        a: &Ciphertext,
        c: &BigFloat,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let integer = Integer::scaled(c, scale, MULTIPLY_NUMBER)?;
        let size = c.to_f64().abs();
        let bound = a.bound() * size;
        self.check_capacity(
            a,
            a.modulus(),
            a.scale().log2() + scale.log2(),
            bound,
            MULTIPLY_NUMBER,
        )?;
        let mut out = Ciphertext::empty(self.context());
        self.context()
            .rlwe()
            .mul_constant_into(out.inner_mut(), a.inner(), |q| integer.residue(q))?;
        let noise =
            Self::message_times(scale.log2(), size, a.inner().noise()).plus(integer.noise(a));
        out.inner_mut().set_noise(noise);
        out.set_meta(a.scale().times(scale), a.slots(), bound);
        out.set_dry_run_values(a.dry_run_values().map(|x| x * c.to_f64()));
        Ok(out)
    }

    /// Returns `a c` for an integer `c`. The scale does not change and nothing is rounded.
    ///
    /// # Errors
    /// Fails if the product does not fit the modulus.
    pub fn mul_integer(&self, a: &Ciphertext, c: i64) -> Result<Ciphertext, CkksError> {
        let bound = a.bound() * c.unsigned_abs() as f64;
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, "multiply by an integer")?;
        let mut out = self.empty_like(a);
        self.context()
            .rlwe()
            .mul_constant_into(out.inner_mut(), a.inner(), |q| signed_mod(c, q))?;
        let noise = if c == 0 {
            Noise::NONE
        } else {
            a.inner().noise().scaled((c.unsigned_abs() as f64).log2())
        };
        out.inner_mut().set_noise(noise);
        out.set_bound(bound);
        out.set_dry_run_values(a.dry_run_values().map(|x| x * c as f64));
        Ok(out)
    }

    /// Returns the size of the coefficients of the message, as a noise. With `n` slots, they are
    /// `2n` coefficients of root mean square `scale bound/sqrt(2n)`.
    pub(super) fn message_as_noise(a: &Ciphertext) -> Noise {
        let coefficients = 2.0 * a.slots() as f64;
        Self::message_times(
            a.scale().log2() - 0.5 * coefficients.log2(),
            a.bound(),
            Noise::from_std(1.0),
        )
    }
}

/// Returns a finite number, or an error.
fn finite(c: f64, operation: &'static str) -> Result<BigFloat, CkksError> {
    BigFloat::try_from(c)
        .map_err(|error| CkksError::Argument { operation, what: error.to_string() })
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::arith::{mul_mod, pow_mod};

    use super::*;

    #[test]
    fn numbers_become_the_nearest_integers() {
        let at = |c: f64, bits: i32| {
            Integer::scaled(&finite(c, ADD_NUMBER).unwrap(), Scale::power_of_two(bits), ADD_NUMBER)
                .unwrap()
        };
        let q = (1 << 61) - 1;
        assert_eq!(at(1.5, 0).residue(q), 2);
        assert_eq!(at(-1.25, 3).residue(q), q - 10);
        assert_eq!(at(-2.0, 3).residue(16), 0);
        assert_eq!(at(0.5, 0).residue(q), 1);
        assert_eq!(at(0.49, 0).residue(q), 0);
        assert_eq!(at(0.0, 40).residue(q), 0);
        assert_eq!(at(3.0, 200).residue(q), mul_mod(3, pow_mod(2, 200, q), q));
        let error = finite(f64::NAN, ADD_NUMBER).unwrap_err();
        assert_eq!(error.to_string(), "add a number: NaN is not a finite number");
    }
}
