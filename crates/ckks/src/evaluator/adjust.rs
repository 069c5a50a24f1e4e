//! Bringing operands to one modulus and one scale (GRAFT Alg. 2; for simple chains Kim,
//! Papadimitriou, Polyakov, ePrint 2020/1118).

use std::borrow::Cow;

use hippocrene_rlwe::{Modulus, Noise, noise};

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

/// Largest size of an integer constant in bits. Rounding it changes the message by a factor of at
/// most `2^-111`. A larger constant is such an integer times a power of two.
const MAX_CONSTANT_BITS: f64 = 110.0;

/// Largest log2 of that power of two. It exceeds the differences of moduli that the choice of limbs
/// can cause.
const MAX_SHIFT_BITS: f64 = 63.0;

const ALIGN: &str = "align two operands";

/// An integer that brings the scale of a ciphertext modulo `middle` to a given scale modulo `to`.
struct Constant {
    middle: Modulus,
    /// The integer nearest to `scale' middle/(2^shift scale to)`.
    value: u128,
    /// Not 0 if the factor has more than 118 bits.
    shift: u32,
    /// log2 of the factor before it is rounded.
    log2: f64,
    /// The noise that rounding the factor adds to the result.
    rounding: Noise,
    /// All other noise of the result.
    noise: Noise,
}

impl Constant {
    /// Whether the noise of rounding is no larger than the other noise. Then the result loses at
    /// most half a bit of precision.
    fn is_precise(&self) -> bool {
        self.value > 0 && self.rounding.log2_std() <= self.noise.log2_std()
    }
}

impl Evaluator {
    /// Brings `a`, of modulus `Q` and scale `Delta`, to the modulus `to = Q'` and to `scale =
    /// Delta'` (GRAFT Alg. 2, C.3).
    ///
    /// It reduces `a` to a divisor `Q_mid` of `Q`, multiplies it by the integer `c` nearest to
    /// `Q_mid Delta'/(Q' Delta)`, and rescales it to `Q'`. The error of the result has three parts:
    /// - the earlier error, multiplied by `Delta'/Delta`;
    /// - the error of the rescale;
    /// - `(Q'/Q_mid) delta (Delta m + e)`, where `delta` is the rounding error of `c`. It is at
    ///   most `Delta m/2c` and counts as noise.
    ///
    /// `Q_mid` is the divisor with the fewest limbs such that `Q_mid >= Q' Delta`. If `c` would be
    /// too coarse for values up to a bound `B` above 1, it is the one such that `Q_mid >= Q' Delta
    /// B`. If `Q` is too small for either, `Q_mid = Q`. If `Q'` divides `Q` and the factor is an
    /// integer, nothing is rescaled.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if `Q` is too small for a `c` whose rounding noise stays
    /// below the other noise, or if the values at the new scale do not fit `Q'`. Fails if `a` or
    /// `Q'` belongs to other parameters.
    pub fn adjust(
        &self,
        a: &Ciphertext,
        to: Modulus,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.adjust_with_error(a, a.inner().noise(), to, scale)
    }

    /// Like [`Evaluator::adjust`], for a ciphertext with the actual error `actual_error`, which its
    /// own noise estimate need not contain. `c` may be rounded relative to that error.
    pub(crate) fn adjust_with_error(
        &self,
        a: &Ciphertext,
        actual_error: Noise,
        to: Modulus,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "adjust modulus and scale";
        self.check_move(a, to, OPERATION)?;
        let (from, bits) = (a.modulus(), self.log2(to));
        self.check_capacity(a, to, scale.log2(), a.bound(), OPERATION)?;
        let (scale_bits, bound_bits) = (a.scale().log2(), a.bound().max(1.0).log2());
        let [enough, for_large] = [scale_bits.min(MAX_CONSTANT_BITS), scale_bits + bound_bits]
            .map(|more| self.divisor_at_least(from, bits + more));
        let candidates =
            [to.divides(from).then_some(to), Some(enough), Some(for_large), Some(from)];
        let mut last = None;
        for middle in candidates.into_iter().flatten() {
            let constant = self.constant(a, actual_error, middle, to, scale);
            if constant.is_precise() {
                return self.adjust_by(a, &constant, to, scale);
            }
            last = Some(constant);
        }
        // The error reports the bits of the last constant that was tried, and the bits that would
        // have sufficed.
        let (have, short) = last.map_or((0.0, 0.0), |c| {
            let short = if c.value == 0 {
                1.0 - c.log2
            } else {
                c.rounding.log2_std() - c.noise.log2_std()
            };
            (c.log2.max(0.0), short)
        });
        Err(CkksError::Capacity { operation: OPERATION, need: have + short.max(0.1), have })
    }

    /// Returns the constant for a given middle modulus, with its noise.
    fn constant(
        &self,
        a: &Ciphertext,
        actual_error: Noise,
        middle: Modulus,
        to: Modulus,
        scale: Scale,
    ) -> Constant {
        let exact = self.switched_scale(scale, to, middle);
        let (log2, down) = (exact.log2() - a.scale().log2(), self.log2(to) - self.log2(middle));
        let shift =
            if log2 < MAX_CONSTANT_BITS + 8.0 { 0.0 } else { (log2 - MAX_CONSTANT_BITS).ceil() };
        let shift = if shift > MAX_SHIFT_BITS { None } else { Some(shift as u32) };
        let unit = a.scale().times(Scale::power_of_two(shift.unwrap_or(0) as i32));
        let value = shift.and_then(|_| exact.ratio_rounded(unit)).unwrap_or(0);
        let is_integer = Scale::from_integer(value).is_some_and(|c| unit.times(c).is_close(exact));
        let shift = shift.unwrap_or(0);
        let rounding = match is_integer {
            true => Noise::NONE,
            false => Self::message_as_noise(a)
                .scaled(noise::log2(distance_to_integer(exact.over(unit))) + f64::from(shift)),
        };
        let scaled = actual_error.scaled(log2 + down);
        let noise = if middle == to { scaled } else { scaled.plus(self.switch_noise()) };
        Constant { middle, value, shift, log2, rounding: rounding.scaled(down), noise }
    }

    /// Applies a constant to `a`.
    fn adjust_by(
        &self,
        a: &Ciphertext,
        constant: &Constant,
        to: Modulus,
        scale: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let mut raised = self.reduce_modulus(a, constant.middle)?;
        self.multiply_constant(&mut raised, constant.value)?;
        self.multiply_constant(&mut raised, 1 << constant.shift)?;
        let mut out = if constant.middle == to {
            raised
        } else {
            let mut out = Ciphertext::empty(self.context());
            let twos = constant.value.trailing_zeros() + constant.shift;
            self.rescale_multiple_into(&mut out, &raised, twos, to)?;
            out
        };
        let noise = out.inner().noise().plus(constant.rounding);
        out.inner_mut().set_noise(noise);
        out.set_meta(scale, a.slots(), a.bound());
        Ok(out)
    }

    /// Rescales a multiple of a ciphertext by a number that is divisible by `2^twos`. If only
    /// factors 2 are divided away and there are enough of them, nothing is rounded.
    fn rescale_multiple_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        twos: u32,
        to: Modulus,
    ) -> Result<(), CkksError> {
        self.rescale_to_into(out, a, to)?;
        let from = a.modulus();
        let of_two = from == to.lcm(Modulus::of_sprout(0, from.two()));
        let is_exact = of_two && twos >= u32::from(from.two() - to.two());
        if is_exact {
            out.inner_mut().set_noise(a.inner().noise().scaled(self.log2(to) - self.log2(from)));
        }
        Ok(())
    }

    /// Returns the noise of the rounding of a modulus switch.
    pub(crate) fn switch_noise(&self) -> Noise {
        hippocrene_rlwe::noise::rounding(self.context().parameters().secret_weight(), 2)
    }

    /// Brings two ciphertexts to one modulus and one scale.
    ///
    /// The one with the larger modulus is adjusted to modulus and scale of the other
    /// ([`Evaluator::adjust`]), which does not change. If the moduli are equal, the one with the
    /// smaller scale is adjusted. An unchanged ciphertext is not copied.
    ///
    /// If the moduli are too close for that, both are multiplied by an integer and rescaled. With
    /// `rho = (Q_a Delta_b)/(Q_b Delta_a)`, the integers `c_a` and `c_b` are such that `c_a/c_b` is
    /// a convergent of the continued fraction of `rho`. This uses as many bits of capacity as `c_b`
    /// has: about half the bits of the precision, minus half the bits between the moduli.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if too few bits are left to adjust with. Fails if one of
    /// them was made with other parameters.
    pub fn align<'a>(
        &self,
        a: &'a Ciphertext,
        b: &'a Ciphertext,
    ) -> Result<(Cow<'a, Ciphertext>, Cow<'a, Ciphertext>), CkksError> {
        [a, b].into_iter().try_for_each(|c| self.check_own(c, ALIGN))?;
        let close = a.scale().is_close(b.scale());
        let (log2_a, log2_b) = (self.log2(a.modulus()), self.log2(b.modulus()));
        if a.modulus() == b.modulus() && close {
            return Ok((Cow::Borrowed(a), Cow::Borrowed(b)));
        }
        let a_is_higher =
            if a.modulus() == b.modulus() { a.scale() < b.scale() } else { log2_a >= log2_b };
        if !a_is_higher {
            let (b, a) = self.align(b, a)?;
            return Ok((a, b));
        }
        if close && b.modulus().divides(a.modulus()) {
            return Ok((Cow::Owned(self.reduce_modulus(a, b.modulus())?), Cow::Borrowed(b)));
        }
        match self.adjust(a, b.modulus(), b.scale()) {
            Ok(a) => Ok((Cow::Owned(a), Cow::Borrowed(b))),
            Err(CkksError::Capacity { .. }) => {
                let (a, b) = self.align_both(a, b)?;
                Ok((Cow::Owned(a), Cow::Owned(b)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns `a + b`, after aligning them, if no slot is non-zero in both. The bound is therefore
    /// the larger one of the two.
    ///
    /// The noise is that of a sum, which is more than any single slot has. It is the noise of sums
    /// over the slots if `b` is a copy of `a`, because the errors of copies add up. If nothing that
    /// is in both operands will be summed (`apart`), the noise is that of the slots of each
    /// ([`Noise::plus_disjoint`]).
    ///
    /// # Errors
    /// Fails as [`Evaluator::align`] and [`Evaluator::add`] do.
    pub fn overlay(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        apart: bool,
    ) -> Result<Ciphertext, CkksError> {
        let (a, b) = self.align(a, b)?;
        let mut out = self.add(&a, &b)?;
        out.set_bound(a.bound().max(b.bound()));
        if apart {
            out.inner_mut().set_noise(a.inner().noise().plus_disjoint(b.inner().noise()));
        }
        Ok(out)
    }

    /// Like [`Evaluator::align`], by a constant for each operand.
    fn align_both(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(Ciphertext, Ciphertext), CkksError> {
        let (from_a, from_b) = (a.modulus(), b.modulus());
        // rho = Q_a Delta_b/(Q_b Delta_a). If it is below 1, the operands are exchanged.
        let rho = self.switched_scale(b.scale(), from_b, from_a).over(a.scale());
        if rho < Scale::power_of_two(0) {
            let (b, a) = self.align_both(b, a)?;
            return Ok((a, b));
        }
        // The error of the ratio may be as large as the noise of the operand with the lower
        // precision.
        let precise =
            |c: &Ciphertext| Self::message_as_noise(c).log2_std() - c.inner().noise().log2_std();
        let need = precise(a).min(precise(b)).clamp(0.0, MAX_CONSTANT_BITS);
        let Some((of_a, of_b)) = convergent(rho, need) else {
            let have = a.capacity_bits(self.context());
            return Err(CkksError::Capacity { operation: ALIGN, need: need.max(have + 1.0), have });
        };
        let bits = (of_b as f64).log2();
        let to = self.modulus_at_most(self.log2(from_b) - bits, b, ALIGN)?;
        // The remaining part of the quotient of the moduli goes into both constants.
        let rest = (self.log2(from_b) - self.log2(to) - bits).exp2().round().max(1.0) as u128;
        let mut out = [Ciphertext::empty(self.context()), Ciphertext::empty(self.context())];
        for (out, (c, constant)) in out.iter_mut().zip([(a, of_a), (b, of_b)]) {
            let constant = constant.saturating_mul(rest);
            let mut raised = c.clone();
            self.multiply_constant(&mut raised, constant)?;
            let scale = self.switched_scale(raised.scale(), c.modulus(), to);
            self.check_capacity(c, to, scale.log2(), c.bound(), ALIGN)?;
            self.rescale_multiple_into(out, &raised, constant.trailing_zeros(), to)?;
        }
        let [mut a, mut b] = out;
        let difference = a.scale().relative_difference(b.scale());
        // The less precise operand is declared to have the scale of the other.
        let (off, scale) =
            if precise(&a) <= precise(&b) { (&mut a, b.scale()) } else { (&mut b, a.scale()) };
        let noise =
            off.inner().noise().plus(Self::message_as_noise(off).scaled(noise::log2(difference)));
        off.inner_mut().set_noise(noise);
        off.set_meta(scale, off.slots(), off.bound());
        Ok((a, b))
    }
}

/// Returns the distance of a number from the nearest integer, to within `2^-128` of the number.
fn distance_to_integer(x: Scale) -> f64 {
    let (mantissa, exponent) = x.to_parts();
    match exponent {
        0.. => 0.0,
        -127..0 => {
            let fraction = (mantissa << (128 + exponent)) as f64 * (-128f64).exp2();
            fraction.min(1.0 - fraction)
        }
        _ => {
            let x = x.to_f64();
            x.min(1.0 - x)
        }
    }
}

/// Returns the first convergent `p/q` of the continued fraction of `rho >= 1` with a relative error
/// of at most `2^-bits`, or `None` if its terms exceed 110 bits.
fn convergent(rho: Scale, bits: f64) -> Option<(u128, u128)> {
    let (mantissa, exponent) = rho.to_parts();
    if exponent >= 0 {
        return None;
    }
    let (mut n, mut d) = (mantissa, 1u128.checked_shl(exponent.unsigned_abs())?);
    let ((mut p, mut q), (mut p0, mut q0)) = ((1u128, 0u128), (0u128, 1u128));
    loop {
        let whole = n / d;
        let next = |x: u128, x0: u128| whole.checked_mul(x).and_then(|x| x.checked_add(x0));
        let (p1, q1) = (next(p, p0)?, next(q, q0)?);
        // |rho - p/q| < 1/(q q1).
        if q > 0 && (p as f64).log2() + (q1 as f64).log2() >= bits {
            return Some((p, q));
        }
        if p1 as f64 > MAX_CONSTANT_BITS.exp2() {
            return None;
        }
        ((p0, q0), (p, q)) = ((p, q), (p1, q1));
        (n, d) = (d, n % d);
        if d == 0 {
            return Some((p, q));
        }
    }
}
