//! Bringing operands to one modulus and one scale (Kim, Papadimitriou, Polyakov, ePrint 2020/1118, "KPP22").

use hippocrene_rlwe::Modulus;

use super::{Evaluator, linear::Integer};
use crate::{Ciphertext, CkksError, Scale};

impl Evaluator {
    /// Brings `a` to the modulus `to`, a proper divisor of its own, and to `scale`: it is multiplied by the integer `c` nearest to
    /// `scale S / scale(a)` and divided by `S`, the last prime above `to`; other primes are dropped. The relative error of the
    /// scale, `1/2c`, counts as noise.
    ///
    /// # Errors
    /// When `to` is not a proper divisor, or the constant would be below 2^10 and the scale not met well.
    pub fn adjust(&self, a: &Ciphertext, to: Modulus, scale: Scale) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "adjust modulus and scale";
        let surplus = a.modulus().without(to);
        let Some(last) = surplus.factors().next().filter(|_| to.divides(a.modulus())) else {
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: format!(
                    "the target modulus of {:.1} bits does not divide the {:.1} bits at hand",
                    self.log2(to),
                    self.log2(a.modulus())
                ),
            });
        };
        let between = to.lcm(Modulus::of_factor(last));
        let prime = self.context().parameters().factor(last);
        let exact = scale.times_integer(prime);
        let constant = exact.ratio_rounded(a.scale()).filter(|c| *c >= 1 << 10);
        let Some(constant) = constant else {
            return Err(CkksError::ScaleMismatch {
                operation: OPERATION,
                left: a.scale().log2(),
                right: scale.log2(),
            });
        };
        let mut raised = self.reduce_modulus(a, between)?;
        let log2_constant = (constant as f64).log2();
        self.check_capacity(a, between, a.scale().log2() + log2_constant, a.bound(), OPERATION)?;
        let integer = Integer::positive(constant);
        self.context().rlwe().mul_constant_assign(raised.inner_mut(), |q| integer.residue(q))?;
        let noise =
            a.inner().noise().scaled(log2_constant).plus(Self::constant_noise(a, exact.ratio(a.scale())));
        raised.inner_mut().set_noise(noise);
        let mut out = Ciphertext::empty(self.context());
        self.rescale_to_into(&mut out, &raised, to)?;
        out.set_meta(scale, a.slots(), a.bound());
        Ok(out)
    }

    /// Brings two ciphertexts to one modulus and one scale: the one with the larger modulus to that of the other. Where the
    /// moduli are equal but not the scales, both lose one prime.
    ///
    /// # Errors
    /// [`CkksError::Capacity`] when no prime is left to adjust with.
    pub fn align(&self, a: &Ciphertext, b: &Ciphertext) -> Result<(Ciphertext, Ciphertext), CkksError> {
        let close = a.scale().is_close(b.scale());
        if a.modulus() == b.modulus() {
            if close {
                return Ok((a.clone(), b.clone()));
            }
            let (large, small, swapped) = if a.scale() > b.scale() { (a, b, false) } else { (b, a, true) };
            let pair = match self.raise_scale(small, large.scale())? {
                Some(raised) => (large.clone(), raised),
                None => {
                    const OPERATION: &str = "align two operands";
                    self.check_prime_left(a, OPERATION)?;
                    let to = self.rescaled_modulus(a.modulus(), OPERATION)?;
                    (self.adjust(large, to, large.scale())?, self.adjust(small, to, large.scale())?)
                }
            };
            return Ok(if swapped { (pair.1, pair.0) } else { pair });
        }
        if b.modulus().divides(a.modulus()) {
            let a = if close {
                self.reduce_modulus(a, b.modulus())?
            } else {
                self.adjust(a, b.modulus(), b.scale())?
            };
            Ok((a, b.clone()))
        } else {
            let (b, a) = self.align(b, a)?;
            Ok((a, b))
        }
    }

    /// Brings `a` to a larger scale at the same modulus, by an integer constant: where the ratio of the scales is an integer, or so
    /// large (2^30) that rounding it does not matter.
    fn raise_scale(&self, a: &Ciphertext, scale: Scale) -> Result<Option<Ciphertext>, CkksError> {
        let constant = scale.ratio_rounded(a.scale()).and_then(|c| u64::try_from(c).ok());
        let Some(constant) = constant.filter(|&c| c >= 1 << 30 || a.scale().times_integer(c).is_close(scale))
        else {
            return Ok(None);
        };
        self.check_capacity(a, a.modulus(), scale.log2(), a.bound(), "raise the scale")?;
        let mut out = a.clone();
        let integer = Integer::positive(constant.into());
        self.context().rlwe().mul_constant_assign(out.inner_mut(), |q| integer.residue(q))?;
        let ratio = scale.ratio(a.scale());
        let noise = a.inner().noise().scaled(ratio.log2()).plus(Self::constant_noise(a, ratio));
        out.inner_mut().set_noise(noise);
        out.set_meta(scale, a.slots(), a.bound());
        Ok(Some(out))
    }
}
