//! The reduction modulo 1 on ciphertexts: EvalMod.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use hippocrene_rlwe::Noise;

use crate::{
    Ciphertext, CkksError, Evaluator, Scale,
    approximation::ModularReduction,
    circuits::{Basis, Polynomial},
};

const OPERATION: &str = "reduce modulo 1";

/// By how many bits the scale may fall with each doubling: an error before it is multiplied by `4 |y|`, and near integers `y` runs through cosines of
/// odd multiples of `pi / 2^i`, of root mean square `1/sqrt(2)`.
const DOUBLING: f64 = 1.5;

impl Evaluator {
    /// `x - round(x)` slot by slot, for `a` that holds `x / reach`, with [`ModularReduction::reach`] and the bounds on `x` that [`ModularReduction`] states.
    ///
    /// The polynomial of the cosine is evaluated at scales near `scale`. Each doubling has less of its precision to pass on, so that its
    /// scale is 1.5 bits smaller (GRAFT F.1: each step at the precision that it needs), but not below `target`, near which the scale of the result is.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bound of `a` exceeds 1, [`CkksError::Capacity`] when too few bits are left.
    pub fn reduce_modulo_one(
        &self,
        a: &Ciphertext,
        r: &ModularReduction,
        scale: Scale,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let basis = Basis::Chebyshev { low: -1.0, high: 1.0 };
        let cosine = Polynomial::new(basis, r.cosine().coefficients().to_vec())?;
        // The error that is in a comes out as one in x - round(x), whatever the way there; only what the way adds is followed step by step.
        let mut exact = a.clone();
        exact.inner_mut().set_noise(Noise::NONE);
        let mut y = self.polynomial(&exact, &cosine, scale)?;
        for bits in step_bits(r, scale.log2(), target.log2()) {
            let what = format!("a scale of 2^{bits}");
            let step =
                Scale::from_f64(bits.exp2()).ok_or(CkksError::Argument { operation: OPERATION, what })?;
            // Cosines, by whose root mean square errors are multiplied.
            y.set_bound(FRAC_1_SQRT_2);
            let to = self.rescaled_modulus(y.modulus(), y.scale().times(y.scale()), step);
            let mut doubled = Ciphertext::empty(self.context());
            self.mul_multiple_to_into(&mut doubled, &y, &y, 2, to)?;
            self.add_number_assign(&mut doubled, -1.0)?;
            y = doubled;
        }
        let range = (TAU * r.epsilon()).sin() + TAU * r.log2_error().exp2();
        match r.arcsine() {
            Some(arcsine) => {
                y.set_bound(range);
                y = self.polynomial(&y, arcsine, target)?;
            }
            None => {
                if r.doublings() == 0 {
                    y = self.rescale(&y, target.over(tau()))?;
                }
                y.set_meta(y.scale().times(tau()), y.slots(), range / TAU);
            }
        }
        let own = a.inner().noise().scaled(y.scale().log2() - a.scale().log2() + r.reach().log2());
        let noise = y.inner().noise().plus(own);
        y.inner_mut().set_noise(noise);
        y.set_known(a.known().map(|x| {
            let x = r.reach() * x;
            x - x.re.round()
        }));
        Ok(y)
    }
}

impl ModularReduction {
    /// The bits of the modulus that [`Evaluator::reduce_modulo_one`] takes, give or take one or two: from an argument of scale `2^scale` to a result near the scale
    /// `2^target`.
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
