//! Balanced digits of residues, by which gadgets of one word decompose.

use crate::Kernel;

/// Decomposes residues modulo `q` into balanced digits.
///
/// Let `l` be the number of bits of `q`, and `x` the representative of a residue nearest to zero.
/// Then
///
/// `x = 2^shift (d_0 + B d_1 + .. + B^(count - 1) d_(count - 1)) + r`, where `B = 2^base_log2` and
/// `shift = max(0, l - count base_log2)`.
///
/// The digits are in `[-B/2, B/2]`. The last digit is at most `2^(l - 1 - shift) / B^(count - 1)`
/// in size, rounded up. The remainder satisfies `|r| <= 2^(shift - 1)`, and is 0 if `shift` is 0.
///
/// ```
/// use hippocrene_ring::{Kernel, digits::Digits};
///
/// let digits = Digits::new(97, 4, 2).unwrap();
/// let mut out = [0; 2];
/// digits.decompose(Kernel::Portable, &mut out, &[28]);
/// // 28 = 2 * 16 - 4
/// assert_eq!((digits.weight(0), digits.weight(1)), (1, 16));
/// assert_eq!(out, [97 - 4, 2]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    q: u64,
    shift: u32,
    base_log2: u32,
    count: usize,
}

/// The number of residues that are decomposed together, in registers.
const LANES: usize = 32;

impl Digits {
    /// Returns a gadget of `count` digits of `base_log2` bits for the modulus `q`.
    ///
    /// It returns `None` unless `1 <= base_log2 <= 32`, `q` is in `[3, 2^61)`, and the last digit
    /// has at least one bit: `(count - 1) base_log2 < l`.
    pub fn new(q: u64, base_log2: u32, count: usize) -> Option<Self> {
        let bits = 64 - q.leading_zeros();
        let below = u32::try_from(count.checked_sub(1)?).ok()?.checked_mul(base_log2)?;
        let fits = (1..=32).contains(&base_log2) && (3..1 << 61).contains(&q) && below < bits;
        fits.then(|| Digits { q, shift: bits.saturating_sub(below + base_log2), base_log2, count })
    }

    /// Returns the number of digits.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns `log2 B`.
    pub fn base_log2(&self) -> u32 {
        self.base_log2
    }

    /// Returns the number of low bits that are rounded away.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Returns the weight `2^shift B^k` of digit `k`, which is below `q`.
    pub fn weight(&self, k: usize) -> u64 {
        1 << (self.shift + self.base_log2 * k as u32)
    }

    /// Returns `log2` of the width of the range of digit `k`, for uniform residues.
    pub fn log2_width(&self, k: usize) -> f64 {
        if k + 1 < self.count {
            f64::from(self.base_log2)
        } else {
            (self.q as f64).log2() - f64::from(self.shift + self.base_log2 * k as u32)
        }
    }

    /// Writes the digits of the residues `a` in `[0, q)`, as residues in `[0, q)`.
    ///
    /// Digit `k` of `a[i]` goes to `out[k a.len() + i]`.
    ///
    /// # Panics
    /// If the length of `out` is not `count` times that of `a`.
    pub fn decompose(&self, kernel: Kernel, out: &mut [u64], a: &[u64]) {
        assert_eq!(
            out.len(),
            self.count * a.len(),
            "the output must have room for {} digits",
            self.count
        );
        match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernel::is_supported` has checked that the CPU supports the kernel.
            Kernel::Avx512 | Kernel::Avx512Ifma if kernel.is_supported() => unsafe {
                self.decompose_avx512(out, a);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Kernel::Avx2 if kernel.is_supported() => unsafe { self.decompose_avx2(out, a) },
            _ => self.decompose_any(out, a),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    fn decompose_avx512(&self, out: &mut [u64], a: &[u64]) {
        self.decompose_any(out, a);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn decompose_avx2(&self, out: &mut [u64], a: &[u64]) {
        self.decompose_any(out, a);
    }

    /// The loops have no branches and a fixed length, so that the compiler vectorises them. The
    /// remaining residues at the end are padded.
    #[inline(always)]
    fn decompose_any(&self, out: &mut [u64], a: &[u64]) {
        let length = a.len();
        let vectorised = length - length % LANES;
        for start in (0..vectorised).step_by(LANES) {
            let mut remainders =
                self.round(a[start..start + LANES].try_into().expect("LANES residues"));
            for k in 0..self.count {
                let digit = self.next_digit(&mut remainders, k);
                out[k * length + start..][..LANES].copy_from_slice(&digit);
            }
        }
        let mut end = [0; LANES];
        end[..length - vectorised].copy_from_slice(&a[vectorised..]);
        let mut remainders = self.round(&end);
        for k in 0..self.count {
            let digit = self.next_digit(&mut remainders, k);
            out[k * length + vectorised..(k + 1) * length]
                .copy_from_slice(&digit[..length - vectorised]);
        }
    }

    /// Returns the representatives nearest to zero, divided by `2^shift` and rounded.
    #[inline(always)]
    fn round(&self, a: &[u64; LANES]) -> [i64; LANES] {
        let (q, half) = (self.q as i64, (1i64 << self.shift) >> 1);
        let mut out = [0; LANES];
        for (out, x) in out.iter_mut().zip(a) {
            let x = *x as i64;
            let centred = x - (q & ((q / 2 - x) >> 63));
            *out = (centred + half) >> self.shift;
        }
        out
    }

    /// Splits digit `k` off the remainders.
    #[inline(always)]
    fn next_digit(&self, remainders: &mut [i64; LANES], k: usize) -> [u64; LANES] {
        let (q, half_base) = (self.q as i64, 1i64 << (self.base_log2 - 1));
        let mut out = [0; LANES];
        if k + 1 < self.count {
            for (out, remainder) in out.iter_mut().zip(remainders) {
                let raised = *remainder + half_base;
                *remainder = raised >> self.base_log2;
                *out = residue((raised & (2 * half_base - 1)) - half_base, q);
            }
        } else {
            for (out, remainder) in out.iter_mut().zip(remainders) {
                *out = residue(*remainder, q);
            }
        }
        out
    }
}

/// Returns `x` in `(-q, q)` modulo `q`. A negative `x` is a huge unsigned number, so the minimum is
/// `x + q`.
#[inline(always)]
fn residue(x: i64, q: i64) -> u64 {
    (x as u64).min((x + q) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::centred;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_small_and_recompose(
            q in 3u64..1 << 61,
            base_log2 in 1u32..33,
            count in 1usize..20,
            mut a in proptest::collection::vec(any::<u64>(), 1..80),
        ) {
            let Some(digits) = Digits::new(q, base_log2, count) else { return Ok(()) };
            a.iter_mut().for_each(|x| *x %= q);
            a[0] = q / 2;
            let mut out = vec![0; count * a.len()];
            digits.decompose(Kernel::Portable, &mut out, &a);
            let largest = 1i64 << (base_log2 - 1);
            for (i, &x) in a.iter().enumerate() {
                let mut sum = 0i128;
                for k in 0..count {
                    let digit = centred(out[k * a.len() + i], q);
                    prop_assert!(digit.abs() <= largest.min(q as i64 / 2 + 1), "{digit}");
                    sum += i128::from(digit) * i128::from(digits.weight(k));
                }
                let remainder = (i128::from(centred(x, q)) - sum).abs();
                prop_assert!(
                    2 * remainder <= 1 << digits.shift() && (digits.shift() > 0 || remainder == 0),
                    "{remainder}"
                );
            }
            for kernel in Kernel::supported() {
                let mut other = vec![0; out.len()];
                digits.decompose(kernel, &mut other, &a);
                prop_assert_eq!(&other, &out, "{}", kernel);
            }
        }
    }

    #[test]
    fn invalid_gadgets_are_refused() {
        let q = (1 << 48) - 59;
        assert!(Digits::new(q, 16, 3).is_some() && Digits::new(q, 16, 4).is_none());
        assert!(
            Digits::new(q, 0, 1).is_none()
                && Digits::new(q, 33, 1).is_none()
                && Digits::new(q, 8, 0).is_none()
        );
        let digits = Digits::new(q, 15, 2).unwrap();
        assert_eq!((digits.shift(), digits.weight(1), digits.log2_width(0)), (18, 1 << 33, 15.0));
    }
}
