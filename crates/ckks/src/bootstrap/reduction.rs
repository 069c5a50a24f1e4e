//! The reduction modulo 1 on ciphertexts: EvalMod.

use std::{borrow::Cow, f64::consts::TAU};

use hippocrene_rlwe::{Noise, noise::rounding};

use super::gains::ReductionGains;
use crate::{Ciphertext, CkksError, Evaluator, Scale, Short, approximation::ModularReduction};

const OPERATION: &str = "reduce modulo 1";

/// By how many bits the scale may fall with each doubling: an error before it is multiplied by `4
/// |y|`, and near integers `y` runs through cosines of odd multiples of `pi / 2^i`, of root mean
/// square `1/sqrt(2)`.
const DOUBLING: f64 = 1.5;

/// The integers that are taken away are normal with a standard deviation of about this part of the
/// reach, where nothing more is known.
const SPREAD: f64 = 0.1;

/// A result whose scale is off by more bits than this is divided until it is there. A sprout leaves
/// half a bit at most.
const LARGEST_OFF: f64 = 0.75;

impl Evaluator {
    /// `x - round(x)` slot by slot, for `a` that holds `x / reach`, with
    /// [`ModularReduction::reach`] and the bounds on `x` that [`ModularReduction`] states.
    ///
    /// The polynomial of the cosine is evaluated at scales near `scale`. Each doubling has less of
    /// its precision to pass on, so that its scale is 1.5 bits smaller (GRAFT F.1: each step at the
    /// precision that it needs), but not below `target`, near which the scale of the result is.
    ///
    /// On a simple chain the scale of doublings stays, whatever the target. Without an arcsine the
    /// reduction is divided by what that is too much, so that the scale of the result is what it
    /// was to be: each doubling's share of the divisor is a factor of its constant, and the first
    /// one's of the cosine's coefficients.
    ///
    /// The noise is estimated for integers `round(x)` that are normal, with a tenth of the reach
    /// for their standard deviation.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bound of `a` exceeds 1, [`CkksError::Capacity`] when too
    /// few bits are left.
    pub fn reduce_modulo_one(
        &self,
        a: &Ciphertext,
        r: &ModularReduction,
        scale: Scale,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.reduce_modulo_one_by(a, r, &r.gains(SPREAD * r.reach())?, scale, target)
    }

    /// [`Evaluator::reduce_modulo_one`] of integers for which the gains of roundings are known.
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
        // Errors that are in a come out as they are in x - round(x), whatever the way there; what
        // the way adds is known in advance.
        let mut exact =
            self.add_number(&*self.at_most(Cow::Borrowed(a), scale)?, -r.shift() / r.reach())?;
        exact.inner_mut().set_noise(Noise::NONE);
        // The integers end 1 before the reach.
        exact.set_bound(exact.bound().min(a.bound().max(1.0)));
        let chain =
            self.square_chain((exact.modulus(), exact.scale()), depth + steps.len(), targets);
        let off = match (r.arcsine(), chain.last()) {
            (None, Some((_, last))) if !steps.is_empty() => {
                last.times(tau()).log2() - target.log2()
            }
            _ => 0.0,
        };
        let off = if off.abs() > LARGEST_OFF { off } else { 0.0 };
        // log2 of what the values after so many doublings are divided by.
        let share = |doublings: usize| {
            off * f64::from(doublings as u32).exp2() / f64::from(r.doublings()).exp2()
        };
        if off != 0.0 {
            cosine = cosine.times((-share(0)).exp2())?;
        }
        // What roundings add to the result, and at which scales they are.
        let mut roundings: Vec<(f64, f64)> = Vec::with_capacity(16);
        roundings.extend(
            gains
                .cosine
                .iter()
                .zip(&chain)
                .map(|(gain, (_, scale))| (*gain, scale.log2() - share(0))),
        );
        let mut y = self.polynomial_of(Cow::Owned(exact), &cosine, scale)?;
        for (i, step) in steps.iter().enumerate() {
            y.set_bound(1.0);
            let to = self.rescaled_modulus(y.modulus(), y.scale().times(y.scale()), *step);
            let mut doubled = Ciphertext::empty(self.context());
            self.mul_multiple_to_into(&mut doubled, &y, &y, 2, to)?;
            self.add_number_assign(&mut doubled, -(-share(i + 1)).exp2())?;
            roundings.push((gains.doublings[i], doubled.scale().log2() - share(i + 1)));
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
                if off != 0.0 {
                    unit = unit.times(power(-off)?);
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
        y.set_known(a.known().map(|x| {
            let x = r.reach() * x;
            x - x.re.round()
        }));
        Ok(y)
    }
}

impl ModularReduction {
    /// The bits of the modulus that [`Evaluator::reduce_modulo_one`] takes, give or take one or
    /// two: from an argument of scale `2^scale` to a result near the scale `2^target`.
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

/// log2 of the scales that doublings are rescaled to.
fn step_bits(r: &ModularReduction, scale: f64, target: f64) -> Vec<f64> {
    let last = if r.arcsine().is_some() { target } else { target - TAU.log2() };
    (1..=r.doublings())
        .map(|i| match i == r.doublings() && r.arcsine().is_none() {
            true => last,
            false => (scale - DOUBLING * f64::from(i)).max(last),
        })
        .collect()
}

/// `2 pi`, to 128 bits.
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
