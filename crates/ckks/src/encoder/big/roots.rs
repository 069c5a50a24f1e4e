//! Roots of unity with a few hundred bits.

use hippocrene_ring::arith::bit_reverse;
use num_bigint::BigUint;

use super::{
    super::roots::power_of_five,
    fixed::{Fixed, Fraction, Root},
};

/// Number of words of the numbers that the tables are computed with and rounded from.
const WORDS: usize = 7;

/// Returns the exponents of the roots in the tree of remainders of [`super::super::roots::Roots`].
/// The entry at `2^d + k` is the `t` for which `w(d, brv(k))` is `exp(2 pi i t / 2^log_order)`,
/// where `brv` reverses `d` bits.
pub(super) fn exponents(log_slots: u32) -> Vec<u32> {
    let log_order = log_slots + 2;
    let mut exponents = vec![0];
    for depth in 0..log_slots {
        exponents.extend((0..1usize << depth).map(|k| {
            let t = power_of_five(bit_reverse(k, depth), 8 << depth);
            (t << (log_order - 3 - depth)) as u32
        }));
    }
    exponents
}

/// The points `exp(2 pi i t / 2^log_order)`, correctly rounded (except within 2^-100 of a tie).
/// Only one octant is stored, and the others follow by symmetry.
#[derive(Debug)]
pub(super) struct Circle<const W: usize> {
    log_order: u32,
    /// `(cos, sin)` for `0 <= t <= 2^log_order / 8`; 1 is stored as the largest fraction.
    octant: Vec<(Fraction<W>, Fraction<W>)>,
}

impl<const W: usize> Circle<W> {
    /// Computes the points for `log_order >= 3`.
    pub(super) fn new(log_order: u32) -> Self {
        let last = (1usize << log_order) / 8;
        // exp(2 pi i / 2^k) for k = 3, 4, ..: the highest step first.
        let steps: Vec<_> = halved_angles(log_order - 2);
        let mut points = Vec::with_capacity(last + 1);
        points.push(([u64::MAX; WORDS], [0; WORDS]));
        // The steps double. Every point is the product of an earlier one and the step of its
        // highest bit, so errors add up only over the bits of t.
        for t in 1..=last {
            let bit = t.ilog2();
            let step = &steps[(log_order - 3 - bit) as usize];
            points.push(if t.is_power_of_two() {
                *step
            } else {
                product(&points[t - (1 << bit)], step)
            });
        }
        let octant = points.iter().map(|(cos, sin)| (rounded(cos), rounded(sin))).collect();
        Circle { log_order, octant }
    }

    /// Returns `exp(2 pi i t / 2^log_order)` for a `t < 2^log_order` that is not a multiple of a
    /// quarter turn.
    pub(super) fn point(&self, t: u32) -> Root<'_, W> {
        let quarter = 1usize << (self.log_order - 2);
        let (quadrant, t) = (t as usize / quarter, t as usize % quarter);
        let (mut cos, mut sin) = if t < self.octant.len() {
            let (cos, sin) = &self.octant[t];
            (cos, sin)
        } else {
            let (cos, sin) = &self.octant[quarter - t];
            (sin, cos)
        };
        if quadrant % 2 == 1 {
            (cos, sin) = (sin, cos);
        }
        Root { cos, sin, cos_negative: quadrant == 1 || quadrant == 2, sin_negative: quadrant >= 2 }
    }
}

type Wide = Fraction<WORDS>;

/// Returns `(cos, sin)` of `count` angles `pi/4`, `pi/8`, .., each computed from the one before by
/// the half-angle formulas: `cos(a/2) = sqrt((1 + cos a)/2)`, `sin(a/2) = sin a / (2 cos(a/2))`.
/// Each step adds an error of less than two units.
fn halved_angles(count: u32) -> Vec<(Wide, Wide)> {
    const BITS: u32 = 64 * WORDS as u32;
    let one = BigUint::from(1u8) << BITS;
    let (mut cos, mut sin) = (BigUint::ZERO, one.clone());
    (0..count)
        .map(|_| {
            cos = ((&one + &cos) << (BITS - 1)).sqrt();
            sin = (&sin << (BITS - 1)) / &cos;
            (words(&cos), words(&sin))
        })
        .collect()
}

/// Returns the words of an integer, lowest first.
fn words(x: &BigUint) -> Wide {
    let mut out = [0; WORDS];
    for (out, word) in out.iter_mut().zip(x.iter_u64_digits()) {
        *out = word;
    }
    out
}

/// Returns the product of two points of the first quadrant whose angles add up to at most an eighth
/// of a turn.
fn product(a: &(Wide, Wide), b: &(Wide, Wide)) -> (Wide, Wide) {
    let times = |x: &Wide, y: &Wide| {
        // Fractions of one half and more are negative as signed integers. Adding the other factor
        // corrects that.
        let product = Fixed(*x).mul(y);
        if Fixed(*x).is_negative() { product.add(Fixed(*y)) } else { product }
    };
    let cos = times(&a.0, &b.0).sub(times(&a.1, &b.1));
    let sin = times(&a.1, &b.0).add(times(&a.0, &b.1));
    (cos.0, sin.0)
}

/// Returns the nearest fraction of `W < WORDS` words.
fn rounded<const W: usize>(x: &Wide) -> Fraction<W> {
    let mut out = [0; W];
    out.copy_from_slice(&x[WORDS - W..]);
    let mut carry = x[WORDS - W - 1] >> 63 == 1;
    for word in &mut out {
        (*word, carry) = word.overflowing_add(u64::from(carry));
    }
    // A number that rounds up to 1 becomes the largest fraction.
    if carry { [u64::MAX; W] } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a fraction as a number.
    fn to_f64<const W: usize>(x: &Fraction<W>) -> f64 {
        x.iter().fold(0.0, |sum, &word| (sum + word as f64) * 2f64.powi(-64))
    }

    #[test]
    fn points_agree_with_the_standard_library_in_every_octant() {
        for log_order in [3, 4, 5, 11] {
            let circle = Circle::<2>::new(log_order);
            let order = 1u32 << log_order;
            for t in (0..order).filter(|t| t % (order / 4) != 0) {
                let root = circle.point(t);
                let sign = |negative: bool| if negative { -1.0 } else { 1.0 };
                let angle = 2.0 * std::f64::consts::PI * f64::from(t) / f64::from(order);
                let (c, s) = (
                    sign(root.cos_negative) * to_f64(root.cos),
                    sign(root.sin_negative) * to_f64(root.sin),
                );
                assert!(
                    (c - angle.cos()).abs() < 1e-15 && (s - angle.sin()).abs() < 1e-15,
                    "{t} of {order}"
                );
            }
        }
    }

    #[test]
    fn points_are_rounded_correctly() {
        use dashu_float::{FBig, round::mode::HalfEven};
        // The library's pi, cosine and sine to 500 bits, which are correctly rounded.
        type Float = FBig<HalfEven, 2>;
        let log_order = 14;
        let circle = Circle::<5>::new(log_order);
        let pi = dashu_float::Context::<HalfEven>::new(500).pi::<2>(None).value();
        for t in (0..=1u32 << (log_order - 3))
            .step_by(37)
            .chain([1, 1 << (log_order - 3)])
            .filter(|&t| t > 0)
        {
            let angle = pi.clone() * Float::from(t) / Float::from(1u32 << (log_order - 1));
            let root = circle.point(t);
            for (have, want) in [(root.cos, angle.clone().cos()), (root.sin, angle.sin())] {
                let nearest = (want << 320isize).round().to_int().value();
                let bytes: Vec<u8> = have.iter().flat_map(|word| word.to_le_bytes()).collect();
                assert_eq!(
                    dashu_int::IBig::from(dashu_int::UBig::from_le_bytes(&bytes)),
                    nearest,
                    "{t}"
                );
            }
        }
    }
}
