//! Evaluation of the reduction modulo 1 on ciphertexts (EvalMod).

use std::{borrow::Cow, f64::consts::TAU};

use hippocrene_rlwe::{Noise, noise::rounding};
use num_complex::Complex64;

use super::gains::ReductionGains;
use crate::{Ciphertext, CkksError, Evaluator, Scale, Short, approximation::ModularReduction};

const OPERATION: &str = "reduce modulo 1";

/// Bits by which the scale may fall with each doubling. A doubling multiplies an earlier error by
/// `4 |y|`. Near integers, `y` takes the values of cosines of odd multiples of `pi / 2^i`, whose
/// root mean square is `1/sqrt(2)`.
const SCALE_LOSS_PER_DOUBLING_BITS: f64 = 1.5;

/// Assumed standard deviation of the integers that the reduction removes, as a share of the reach,
/// if the distribution is not known. Chosen.
const ASSUMED_DEVIATION: f64 = 0.1;

/// Largest error of the result's scale in bits that is left as it is. A larger one is corrected by
/// a divisor. With a sprout, the error is at most half a bit.
const MAX_SCALE_ERROR_BITS: f64 = 0.75;

impl Evaluator {
    /// Computes `x - round(x)`, or the sine, slot by slot. `a` holds `x / reach`
    /// ([`ModularReduction::reach`]), within the bounds on `x` that [`ModularReduction`] states.
    ///
    /// The polynomial of the cosine is evaluated at scales near `scale`. Later steps need less
    /// precision (GRAFT F.1), so the scale falls by 1.5 bits with each doubling. It does not fall
    /// below `target`, which is approximately the scale of the result.
    ///
    /// On a simple chain, the scale of the doublings stays the same, whatever the target. Without
    /// an arcsine, the reduction is then divided by the excess, so that the result has the right
    /// scale. The constant of each doubling and the coefficients of the cosine each contribute a
    /// part of the divisor.
    ///
    /// The noise is estimated for normally distributed integers `round(x)` with a standard
    /// deviation of a tenth of the reach.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the bound of `a` exceeds 1. Fails with
    /// [`CkksError::Capacity`] if too few bits are left.
    pub fn reduce_modulo_one(
        &self,
        a: &Ciphertext,
        r: &ModularReduction,
        scale: Scale,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.reduce_modulo_one_by(a, r, &r.gains(ASSUMED_DEVIATION * r.reach())?, scale, target)
    }

    /// Like [`Evaluator::reduce_modulo_one`], with known factors of the rounding errors.
    pub(super) fn reduce_modulo_one_by(
        &self,
        a: &Ciphertext,
        r: &ModularReduction,
        gains: &ReductionGains,
        scale: Scale,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let power = |bits: f64| {
            let what = format!("a scale of 2^{}", Short(bits));
            Scale::from_f64(bits.exp2()).ok_or(CkksError::Argument { operation: OPERATION, what })
        };
        let steps = step_bits(r, scale.log2(), target.log2());
        let steps = steps.into_iter().map(power).collect::<Result<Vec<_>, _>>()?;
        let mut cosine = r.divided_cosine()?;
        let depth = cosine.depth();
        let targets = |d: usize| if d > depth { steps[d - depth - 1] } else { scale };
        // The result contains the errors of `a` unchanged. The errors of the evaluation are known
        // in advance.
        let mut exact =
            self.add_number(&*self.at_most(Cow::Borrowed(a), scale)?, -r.shift() / r.reach())?;
        exact.inner_mut().set_noise(Noise::NONE);
        // The integers are at least 1 below the reach.
        exact.set_bound(exact.bound().min(a.bound().max(1.0)));
        let chain =
            self.square_chain((exact.modulus(), exact.scale()), depth + steps.len(), targets);
        let scale_excess = match (r.arcsine(), chain.last()) {
            (None, Some((_, last))) if !steps.is_empty() => {
                last.times(tau()).log2() - target.log2()
            }
            _ => 0.0,
        };
        let scale_excess =
            if scale_excess.abs() > MAX_SCALE_ERROR_BITS { scale_excess } else { 0.0 };
        // Returns log2 of the divisor of the values after a number of doublings.
        let divisor_log2 = |doublings: usize| {
            scale_excess * f64::from(doublings as u32).exp2() / f64::from(r.doublings()).exp2()
        };
        if scale_excess != 0.0 {
            cosine = cosine.times((-divisor_log2(0)).exp2())?;
        }
        // The factor of each rounding in the result, with log2 of its scale.
        let mut roundings: Vec<(f64, f64)> = Vec::with_capacity(16);
        roundings.extend(
            gains
                .cosine
                .iter()
                .zip(&chain)
                .map(|(gain, (_, scale))| (*gain, scale.log2() - divisor_log2(0))),
        );
        let mut y = self.polynomial_of(Cow::Owned(exact), &cosine, scale)?;
        for (i, step) in steps.iter().enumerate() {
            y.set_bound(1.0);
            let to = self.rescaled_modulus(y.modulus(), y.scale().times(y.scale()), *step);
            let mut doubled = Ciphertext::empty(self.context());
            self.mul_multiple_to_into(&mut doubled, &y, &y, 2, to)?;
            self.add_number_assign(&mut doubled, -(-divisor_log2(i + 1)).exp2())?;
            roundings.push((gains.doublings[i], doubled.scale().log2() - divisor_log2(i + 1)));
            y = doubled;
        }
        let range = (TAU * r.epsilon()).sin() + TAU * r.log2_error().exp2();
        match r.arcsine() {
            Some(arcsine) => {
                y.set_bound(range);
                let argument = self.at_most(Cow::Owned(y), target)?;
                let chain = self.square_chain(
                    (argument.modulus(), argument.scale()),
                    arcsine.depth(),
                    |_| target,
                );
                roundings.extend(
                    gains
                        .arcsine
                        .iter()
                        .zip(&chain)
                        .map(|(gain, (_, scale))| (*gain, scale.log2())),
                );
                y = self.polynomial_of(argument, arcsine, target)?;
            }
            None => {
                if r.doublings() == 0 {
                    y = self.rescale(&y, target.over(tau()))?;
                    roundings.push((TAU.recip(), y.scale().log2()));
                }
                let mut unit = tau();
                if scale_excess != 0.0 {
                    unit = unit.times(power(-scale_excess)?);
                }
                y.set_meta(y.scale().times(unit), y.slots(), range / TAU);
            }
        }
        let end = y.scale().log2();
        let own = a.inner().noise().scaled(end - a.scale().log2() + r.reach().log2());
        let one = rounding(self.context().parameters().secret_weight(), 2);
        let noise = roundings
            .into_iter()
            .fold(own, |sum, (gain, scale)| sum.plus(one.scaled(gain.log2() + end - scale)));
        y.inner_mut().set_noise(noise);
        y.set_dry_run_values(a.dry_run_values().map(|x| {
            let x = r.reach() * x;
            Complex64::new(r.exact(x.re), x.im)
        }));
        Ok(y)
    }
}

impl ModularReduction {
    /// Returns the bits of modulus that [`Evaluator::reduce_modulo_one`] uses, within one or two
    /// bits, from an argument of scale `2^scale` to a result near the scale `2^target`.
    pub fn bits(&self, scale: f64, target: f64) -> f64 {
        let depth = (self.cosine().degree() + 1).next_power_of_two().ilog2();
        let (mut at, mut bits) = (scale, f64::from(depth) * scale);
        for step in step_bits(self, scale, target) {
            bits += 2.0 * at - step;
            at = step;
        }
        bits + self.arcsine().map_or(0.0, |arcsine| at - target + arcsine.depth() as f64 * target)
    }
}

/// Returns log2 of the scales that the doublings are rescaled to.
fn step_bits(r: &ModularReduction, scale: f64, target: f64) -> Vec<f64> {
    let last = if r.arcsine().is_some() { target } else { target - TAU.log2() };
    (1..=r.doublings())
        .map(|i| match i == r.doublings() && r.arcsine().is_none() {
            true => last,
            false => (scale - SCALE_LOSS_PER_DOUBLING_BITS * f64::from(i)).max(last),
        })
        .collect()
}

/// Returns `2 pi`, to 128 bits.
fn tau() -> Scale {
    // floor(2 pi 2^125), from the hexadecimal expansion of pi.
    let mantissa = 0xC90F_DAA2_2168_C234_C4C6_628B_80DC_1CD1;
    Scale::from_parts(mantissa, -125).expect("the top bit of the mantissa is set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_is_tau() {
        assert_eq!(tau().to_f64(), TAU);
    }
}
