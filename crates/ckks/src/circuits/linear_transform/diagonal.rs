//! The numbers of one diagonal.

use hippocrene_rlwe::Modulus;
use num_complex::{Complex, Complex64};

use super::quantised::Quantised;
use crate::{
    BigFloat, CkksError, Context, Plaintext, Scale, Values,
    encoder::{EncodeError, Rounding},
};

/// Largest log2 of a scale at which `f64` is precise enough for encoding: see [`crate::encoder`].
const DOUBLE_BITS: f64 = 50.0;

/// The numbers of a diagonal. If there are fewer numbers than slots, they repeat.
#[derive(Debug, Clone)]
pub(super) enum Diagonal {
    Double(Vec<Complex64>),
    Sparse(Sparse),
    Big(Vec<Complex<BigFloat>>),
    Roots(Roots),
}

/// Real numbers in some of `slots` slots, sorted by slot, and 0 in the others.
#[derive(Debug, Clone)]
pub(super) struct Sparse {
    pub slots: usize,
    pub entries: Vec<(u32, f64)>,
}

/// Roots of unity, some of them halved, and zeros, all times a common factor. Each takes 4 bytes,
/// and its value can be computed to any precision.
#[derive(Debug, Clone)]
pub(in crate::circuits) struct Roots {
    /// The exponents `t` of `exp(2 pi i t / 2^log_order)`. The flag [`Roots::HALF`] halves the
    /// root, and [`Roots::ZERO`] means 0.
    pub exponents: Vec<u32>,
    /// `2^log_order` divides `2N`.
    pub log_order: u32,
    /// The common factor.
    pub factor: Scale,
}

impl Roots {
    /// Flag of an exponent for half of the root.
    pub const HALF: u32 = 1 << 31;

    /// The exponent that means 0.
    pub const ZERO: u32 = u32::MAX;

    /// Returns an upper bound for the number of non-zero coefficients, in pairs, of the polynomial
    /// with these numbers in its slots.
    ///
    /// In general it is the number of numbers. The odd coefficients come from the difference of the
    /// two halves, and the even ones from their sum. If the halves are equal, the odd ones are
    /// zero. If one half is the negative of the other, the even ones are zero. If the second half
    /// is another multiple of the first, the even ones are as many as those of the first half
    /// alone.
    fn coefficients(exponents: &[u32], log_order: u32) -> usize {
        let (first, second) = exponents.split_at(exponents.len() / 2);
        if first.is_empty() {
            return 1;
        }
        let (half, mask) = (1 << (log_order - 1), (1 << log_order) - 1);
        let turn = |(x, y): (&u32, &u32)| match (Self::parts(*x), Self::parts(*y)) {
            (None, None) => None,
            (Some((x, shift)), Some((y, other))) if shift == other => {
                Some(Some(y.wrapping_sub(x) & mask))
            }
            _ => Some(None),
        };
        let mut turns = first.iter().zip(second).filter_map(turn);
        let by = turns.next().flatten();
        match by.filter(|_| turns.all(|turn| turn == by)) {
            Some(0) => Self::coefficients(first, log_order),
            Some(by) if by == half => second.len(),
            Some(_) => Self::coefficients(first, log_order) + second.len(),
            None => exponents.len(),
        }
    }

    /// Returns the exponent of an entry's root and the power of two that it is multiplied by, or
    /// `None` for 0.
    fn parts(entry: u32) -> Option<(u32, i32)> {
        (entry != Self::ZERO)
            .then_some((entry & !Self::HALF, if entry & Self::HALF == 0 { 0 } else { -1 }))
    }
}

impl Diagonal {
    /// The period after which the numbers repeat.
    pub fn period(&self) -> usize {
        match self {
            Diagonal::Double(v) => v.len(),
            Diagonal::Sparse(sparse) => sparse.slots,
            Diagonal::Big(v) => v.len(),
            Diagonal::Roots(roots) => roots.exponents.len(),
        }
    }

    /// Returns the error for the first number that is NaN or infinite, if any.
    pub fn not_finite(&self) -> Option<EncodeError> {
        let (index, z) = match self {
            Diagonal::Double(v) => v.iter().copied().enumerate().find(|(_, z)| !z.is_finite())?,
            Diagonal::Sparse(sparse) => {
                let (slot, x) = sparse.entries.iter().find(|(_, x)| !x.is_finite())?;
                (*slot as usize, Complex64::from(x))
            }
            Diagonal::Big(_) | Diagonal::Roots(_) => return None,
        };
        let value = if z.re.is_finite() { z.im } else { z.re };
        Some(EncodeError::NotFinite { index, value })
    }

    /// The number of stored numbers.
    fn stored(&self) -> usize {
        match self {
            Diagonal::Sparse(sparse) => sparse.entries.len(),
            Diagonal::Double(_) | Diagonal::Big(_) | Diagonal::Roots(_) => self.period(),
        }
    }

    /// The absolute values of the stored numbers, each with its slot.
    fn absolute_values(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        // Roots of unity have two sizes, and computing one takes longer than looking it up.
        let [whole, half] = match self {
            Diagonal::Roots(roots) => {
                [0, -1].map(|shift| roots.factor.times(Scale::power_of_two(shift)).to_f64())
            }
            _ => [0.0; 2],
        };
        (0..self.stored()).map(move |i| match self {
            Diagonal::Double(v) => (i, v[i].norm()),
            Diagonal::Sparse(sparse) => {
                let (slot, x) = sparse.entries[i];
                (slot as usize, x.abs())
            }
            Diagonal::Big(v) => (i, to_double(&v[i]).norm()),
            Diagonal::Roots(roots) => {
                let parts = Roots::parts(roots.exponents[i]);
                (i, parts.map_or(0.0, |(_, shift)| if shift == 0 { whole } else { half }))
            }
        })
    }

    /// True if these are roots of unity.
    pub fn are_roots(&self) -> bool {
        matches!(self, Diagonal::Roots(_))
    }

    /// The stored numbers, each with its slot. Roots of unity have none.
    pub fn numbers(&self) -> impl Iterator<Item = (usize, Complex64)> + '_ {
        let count = if self.are_roots() { 0 } else { self.stored() };
        (0..count).map(move |i| match self {
            Diagonal::Double(v) => (i, v[i]),
            Diagonal::Sparse(sparse) => {
                let (slot, x) = sparse.entries[i];
                (slot as usize, x.into())
            }
            Diagonal::Big(v) => (i, to_double(&v[i])),
            Diagonal::Roots(_) => (i, Complex64::ZERO),
        })
    }

    /// Adds the absolute values of the numbers in all slots.
    pub fn add_absolute_values(&self, sums: &mut [f64]) {
        let period = self.period();
        self.absolute_values().for_each(|(first, value)| {
            let mut slot = first;
            while slot < sums.len() {
                sums[slot] += value;
                slot += period;
            }
        });
    }

    /// Returns the root mean square of the absolute values.
    pub fn root_mean_square(&self) -> f64 {
        let sum: f64 = self.absolute_values().map(|(_, value)| value.powi(2)).sum();
        (sum / self.period() as f64).sqrt()
    }

    /// Returns the number of coefficients of the polynomial that are rounded, in pairs.
    /// Coefficients that are 0 have no error.
    pub fn rounded_coefficients(&self) -> usize {
        match self {
            Diagonal::Roots(roots) => Roots::coefficients(&roots.exponents, roots.log_order),
            Diagonal::Double(_) | Diagonal::Sparse(_) | Diagonal::Big(_) => self.period(),
        }
    }

    /// Returns how the coefficients are rounded. The roots of a DFT fill their slots, so their
    /// coefficients are sums of many waves, and a dither would only double the variance.
    pub fn rounding(&self) -> Rounding {
        match self {
            Diagonal::Roots(_) => Rounding::Nearest,
            Diagonal::Double(_) | Diagonal::Sparse(_) | Diagonal::Big(_) => Rounding::Dithered,
        }
    }

    /// Encodes the numbers, rotated by `steps` to the right, at `scale` modulo `extended`. They fit
    /// `modulus`.
    pub fn encode_rotated(
        &self,
        context: &Context,
        steps: usize,
        scale: Scale,
        [modulus, extended]: [Modulus; 2],
    ) -> Result<Plaintext, CkksError> {
        let slots = self.period();
        if context.rlwe().is_dry_run() {
            return Ok(context.encode_dry_run(slots, scale, extended, self.is_big(scale)));
        }
        self.rotated(context, steps, scale, |values, scale| {
            context.encode_extended(values, slots, scale, self.rounding(), modulus, extended)
        })
    }

    /// Like [`Diagonal::encode_rotated`], but to be reduced modulo each limb of `extended` where it
    /// is used.
    pub fn quantise_rotated(
        &self,
        context: &Context,
        steps: usize,
        scale: Scale,
        moduli: [Modulus; 2],
    ) -> Result<Quantised, CkksError> {
        if context.rlwe().is_dry_run() {
            return Ok(Quantised::dry_run(context, moduli[1], self.is_big(scale)));
        }
        self.rotated(context, steps, scale, |values, scale| {
            Quantised::new(context, values, self.period(), scale, self.rounding(), moduli)
        })
    }

    /// Whether it is encoded with multi-precision numbers.
    fn is_big(&self, scale: Scale) -> bool {
        match self {
            Diagonal::Double(_) | Diagonal::Sparse(_) => false,
            Diagonal::Big(_) => true,
            Diagonal::Roots(roots) => scale.times(roots.factor).log2() > DOUBLE_BITS,
        }
    }

    /// Calls `encode` with the numbers rotated by `steps` to the right and with the scale. Roots
    /// are passed without their common factor, which then is a part of the scale.
    fn rotated<T>(
        &self,
        context: &Context,
        steps: usize,
        scale: Scale,
        encode: impl FnOnce(Values<'_>, Scale) -> Result<T, CkksError>,
    ) -> Result<T, CkksError> {
        let slots = self.period();
        let steps = steps % slots;
        match self {
            Diagonal::Double(v) => {
                let mut v = v.clone();
                v.rotate_right(steps);
                encode(Values::Complex(&v), scale)
            }
            Diagonal::Sparse(sparse) => {
                let mut v = vec![0.0; slots];
                for (slot, x) in &sparse.entries {
                    v[(*slot as usize + steps) % slots] = *x;
                }
                encode(Values::Real(&v), scale)
            }
            Diagonal::Big(v) => {
                let mut v = v.clone();
                v.rotate_right(steps);
                encode(Values::BigComplex(&v), scale)
            }
            Diagonal::Roots(Roots { exponents, log_order, factor }) => {
                let exponents =
                    exponents[slots - steps..].iter().chain(&exponents[..slots - steps]);
                let encoder = context.encoder();
                if self.is_big(scale) {
                    let root = |entry: &u32| match Roots::parts(*entry) {
                        Some((t, shift)) => encoder.big_root(t, *log_order, shift),
                        None => Complex { re: BigFloat::zero(), im: BigFloat::zero() },
                    };
                    let roots = exponents.map(root).collect::<Vec<_>>();
                    encode(Values::BigComplex(&roots), scale.times(*factor))
                } else {
                    let root = |entry: &u32| match Roots::parts(*entry) {
                        Some((t, shift)) => encoder.root(t, *log_order) * f64::from(shift).exp2(),
                        None => Complex64::ZERO,
                    };
                    let roots = exponents.map(root).collect::<Vec<_>>();
                    encode(Values::Complex(&roots), scale.times(*factor))
                }
            }
        }
    }
}

fn to_double(z: &Complex<BigFloat>) -> Complex64 {
    Complex64::new(z.re.to_f64(), z.im.to_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the non-zero coefficients of the polynomial with these numbers in its slots, by their
    /// definition as sums.
    fn counted(exponents: &[u32], log_order: u32) -> usize {
        let turn = |t: f64| Complex64::cis(std::f64::consts::TAU * t);
        let n = exponents.len();
        let values: Vec<Complex64> = exponents
            .iter()
            .map(|entry| match Roots::parts(*entry) {
                Some((t, shift)) => {
                    f64::from(shift).exp2() * turn(f64::from(t) / f64::from(1 << log_order))
                }
                None => Complex64::ZERO,
            })
            .collect();
        let coefficient = |k: usize| {
            let mut power = 1;
            let mut sum = Complex64::ZERO;
            for value in &values {
                sum += value * turn(-((power * k % (4 * n)) as f64) / (4 * n) as f64);
                power = 5 * power % (4 * n);
            }
            sum.re
        };
        (0..2 * n).filter(|k| coefficient(*k).abs() > 1e-9).count()
    }

    /// The halves of some of these vectors are multiples of each other.
    #[test]
    fn coefficients_are_counted() {
        let zero = Roots::ZERO;
        let halves = |first: &[u32], by: u32| -> Vec<u32> {
            let turned = |x: &u32| (x & Roots::HALF) | ((x + by) % 64);
            let second = first.iter().map(|x| if *x == zero { zero } else { turned(x) });
            first.iter().copied().chain(second).collect()
        };
        let some = [5, 17, zero, 40];
        for (exponents, expected) in [
            (some.to_vec(), 4),
            (halves(&some, 0), 4),
            (halves(&some, 32), 4),
            (halves(&some, 48), 8),
            (halves(&halves(&some, 0), 48), 12),
            (halves(&halves(&some, 32), 16), 12),
            (halves(&[3, 3 | Roots::HALF], 0), 2),
            (vec![3, 9, 3 | Roots::HALF, 9], 4),
            (vec![3, 9, zero, 9], 4),
            (vec![7], 1),
        ] {
            assert_eq!(Roots::coefficients(&exponents, 6), expected, "{exponents:?}");
            assert_eq!(counted(&exponents, 6), 2 * expected, "{exponents:?}");
            // Rotating the slots keeps the places of the non-zero coefficients.
            let mut rotated = exponents.clone();
            rotated.rotate_right(exponents.len() / 2);
            rotated.rotate_left(exponents.len() / 4);
            assert_eq!(counted(&rotated, 6), 2 * expected, "{exponents:?}");
        }
    }
}
