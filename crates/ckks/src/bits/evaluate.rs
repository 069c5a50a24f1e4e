//! Evaluation of gates on encrypted angles.

use std::f64::consts::SQRT_2;

use hippocrene_rlwe::Modulus;

use super::{
    BitBootstrapper, BitCiphertext, BitPacking,
    bootstrapper::Angles,
    ciphertext::error_of,
    gate::{GateFunction, Shape},
    leveled::cleaned_error,
};
use crate::{
    Ciphertext, CkksError, Scale,
    circuits::{Basis, Polynomial},
};

const OPERATION: &str = "gate";

impl BitBootstrapper {
    /// Computes the gate `function` of the angles and combines its parts into one ciphertext of
    /// bits.
    pub(super) fn evaluate_gate(
        &self,
        angles: &Angles,
        function: GateFunction,
    ) -> Result<BitCiphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let mut parts = self.evaluate_gate_parts(angles, function)?;
        let packing = plan.literal().packing;
        // Complex slots combine two ciphertexts, so the noise of the second one adds up in each
        // part.
        let left = if packing == BitPacking::Complex { SQRT_2 } else { 1.0 };
        let mut error = self.error_of_gate(angles, function, left * error_of(&parts[0]));
        if plan.literal().clean && matches!(function.shape, Shape::Half { .. }) {
            for part in &mut parts {
                *part = e.clean_slots(part, plan.bit_scale(), Some(plan.output_modulus()))?;
            }
            error = cleaned_error(error) + left * error_of(&parts[0]);
        }
        let out = match &parts[..] {
            [real, imaginary] => e.complex(real, imaginary)?,
            _ => parts.swap_remove(0),
        };
        BitCiphertext::with_error(out, packing, error, OPERATION)
    }

    /// Computes the gate on each part. The noise estimate of the results covers this evaluation
    /// only.
    pub(super) fn evaluate_gate_parts(
        &self,
        angles: &Angles,
        function: GateFunction,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        angles.parts.iter().map(|part| self.evaluate_gate_part(part, function)).collect()
    }

    /// Returns the error bound of the bits that `function` gives, where `own` bounds the noise of
    /// its evaluation.
    pub(super) fn error_of_gate(&self, angles: &Angles, function: GateFunction, own: f64) -> f64 {
        // The noise of the angle and that of the gate are independent of each other. The errors of
        // the input bits are systematic and add up.
        let systematic = function.error(angles.error);
        let of_angle = function.error(angles.error + angles.noise) - systematic;
        systematic + function.slope() * self.plan().literal().wave.error() + of_angle.hypot(own)
    }

    /// Computes the gate on one part at exactly the scale of bits. The noise estimate of the result
    /// covers this evaluation only.
    fn evaluate_gate_part(
        &self,
        x: &Ciphertext,
        function: GateFunction,
    ) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let wave = &plan.literal().wave;
        let mut x = e.add_number(x, -function.offset / f64::from(wave.reach()))?;
        x.set_bound(1.0);
        match function.shape {
            Shape::Half { amplitude } => {
                // (1 - a (2 c^2 - 1))/2
                let y = self.cosine(&x, wave.doublings(), amplitude)?;
                e.add_number(&e.negate(&y)?, (1.0 + amplitude) / 2.0)
            }
            Shape::Parity => {
                let y = self.cosine(&x, wave.doublings() + 1, 1.0)?;
                e.add_number(&e.negate(&y)?, 1.0)
            }
            Shape::Single { complement } => {
                let mut u = self.cosine(&x, wave.doublings(), 2.0)?;
                e.add_number_assign(&mut u, -1.0)?;
                u.set_bound(1.0);
                let p =
                    if complement { vec![1.0, 0.0, -0.5, -0.5] } else { vec![0.0, 0.0, 0.5, 0.5] };
                let p = Polynomial::new(Basis::Monomial, p)?;
                e.polynomial_to(&u, &p, |_| plan.bit_scale(), |_| plan.bit_scale())
            }
        }
    }

    /// Returns `factor y^2` at exactly the scale of bits, where `y` is the wave's polynomial after
    /// `squarings - 1` applications of the double-angle formula.
    ///
    /// The moduli of all squarings are chosen first. The polynomial is then evaluated at the scale
    /// from which these squarings lead exactly to the scale of bits.
    fn cosine(&self, x: &Ciphertext, squarings: u32, factor: f64) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let polynomial = plan.literal().wave.polynomial();
        let wanted =
            plan.bit_scale().times(Scale::from_f64(factor).expect("a factor between 1 and 2"));
        let (mut modulus, mut scale) = (x.modulus(), x.scale());
        for depth in 1..=polynomial.depth() {
            (modulus, scale) = e.after_square(modulus, scale, plan.cosine_scale(depth));
        }
        let first = scale;
        let mut moduli: Vec<Modulus> = Vec::with_capacity(squarings as usize);
        for bits in plan.squaring_scales_log2(squarings) {
            let target = Scale::from_f64(bits.exp2()).expect("the bits are between 4 and 1000");
            let target = if moduli.len() + 1 == squarings as usize { wanted } else { target };
            (modulus, scale) = e.after_square(modulus, scale, target);
            moduli.push(modulus);
        }
        let correction = (wanted.ratio(scale).log2() / f64::from(squarings).exp2()).exp2();
        let start =
            first.times(Scale::from_f64(correction).expect("a ratio of scales is positive"));
        let mut y = e.polynomial_to(x, polynomial, |depth| plan.cosine_scale(depth), |_| start)?;
        for (i, to) in moduli.into_iter().enumerate() {
            let last = i + 1 == squarings as usize;
            // Errors are multiplied by cosines. Where `x` is near 0 these are near 1 in every step,
            // so the bound is that of such slots.
            y.set_bound(1.0);
            let mut square = Ciphertext::empty(e.context());
            e.mul_multiple_to_into(&mut square, &y, &y, if last { 1 } else { 2 }, to)?;
            if !last {
                e.add_number_assign(&mut square, -1.0)?;
            }
            y = square;
        }
        let mut y = y.read_at(plan.bit_scale());
        y.set_bound(factor);
        Ok(y)
    }
}
