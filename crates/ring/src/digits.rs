//! Balanced digits of residues: what gadgets of one word decompose by.

use crate::Kernel;

/// Decomposes residues modulo `q`: with `l` the bits of `q`, a residue with representative `x`
/// nearest to zero is
///
/// `x = 2^shift (d_0 + B d_1 + .. + B^(count - 1) d_(count - 1)) + r`, `B = 2^base_log2`, `shift =
/// max(0, l - count base_log2)`,
///
/// with digits in `[-B/2, B/2]`, the last of them within `2^(l - 1 - shift) / B^(count - 1)`
/// (rounded up), and the rest `|r| <= 2^(shift - 1)` (none where `shift` is 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    q: u64,
    shift: u32,
    base_log2: u32,
    count: usize,
}

/// How many residues go through the digits together, in registers.
const WIDE: usize = 32;

impl Digits {
    /// `count` digits of `base_log2` bits for the modulus `q`; `None` unless `1 <= base_log2 <=
    /// 32`, `q` is in `[3, 2^61)`, and the last digit has a bit at least: `(count - 1) base_log2 <
    /// l`.
    pub fn new(q: u64, base_log2: u32, count: usize) -> Option<Self> {
        let bits = 64 - q.leading_zeros();
        let below = u32::try_from(count.checked_sub(1)?).ok()?.checked_mul(base_log2)?;
        let fits = (1..=32).contains(&base_log2) && (3..1 << 61).contains(&q) && below < bits;
        fits.then(|| Digits { q, shift: bits.saturating_sub(below + base_log2), base_log2, count })
    }

    /// How many digits there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// `log2 B`.
    pub fn base_log2(&self) -> u32 {
        self.base_log2
    }

    /// How many low bits are rounded away.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The weight `2^shift B^k` of digit `k`, below `q`.
    pub fn weight(&self, k: usize) -> u64 {
        1 << (self.shift + self.base_log2 * k as u32)
    }

    /// `log2` of the width of the range that digit `k` of uniform residues lies in.
    pub fn log2_width(&self, k: usize) -> f64 {
        if k + 1 < self.count {
            f64::from(self.base_log2)
        } else {
            (self.q as f64).log2() - f64::from(self.shift + self.base_log2 * k as u32)
        }
    }

    /// Writes the digits of `a`, residues in `[0, q)`, as residues in `[0, q)`: digit `k` of `a[i]`
    /// to `out[k a.len() + i]`.
    ///
    /// # Panics
    /// When `out` is not `count` times as long as `a`.
    pub fn decompose(&self, kernel: Kernel, out: &mut [u64], a: &[u64]) {
        assert_eq!(out.len(), self.count * a.len(), "there is room for {} digits", self.count);
        match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU supports the kernel, as `Kernel::is_supported` says.
            Kernel::Avx512 | Kernel::Avx512Ifma if kernel.is_supported() => unsafe {
                self.decompose_avx512(out, a);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
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

    /// Without branches and with loops of one length, which compilers make vectors of; what is left
    /// at the end is padded.
    #[inline(always)]
    fn decompose_any(&self, out: &mut [u64], a: &[u64]) {
        let length = a.len();
        let whole = length - length % WIDE;
        for start in (0..whole).step_by(WIDE) {
            let mut rest = self.round(a[start..start + WIDE].try_into().expect("so many residues"));
            for k in 0..self.count {
                let digit = self.next_digit(&mut rest, k);
                out[k * length + start..][..WIDE].copy_from_slice(&digit);
            }
        }
        let mut end = [0; WIDE];
        end[..length - whole].copy_from_slice(&a[whole..]);
        let mut rest = self.round(&end);
        for k in 0..self.count {
            let digit = self.next_digit(&mut rest, k);
            out[k * length + whole..(k + 1) * length].copy_from_slice(&digit[..length - whole]);
        }
    }

    /// The representatives nearest to zero, over `2^shift`, rounded.
    #[inline(always)]
    fn round(&self, a: &[u64; WIDE]) -> [i64; WIDE] {
        let (q, half) = (self.q as i64, (1i64 << self.shift) >> 1);
        let mut out = [0; WIDE];
        for (out, x) in out.iter_mut().zip(a) {
            let x = *x as i64;
            let centred = x - (q & ((q / 2 - x) >> 63));
            *out = (centred + half) >> self.shift;
        }
        out
    }

    /// Takes digit `k` off what is left.
    #[inline(always)]
    fn next_digit(&self, rest: &mut [i64; WIDE], k: usize) -> [u64; WIDE] {
        let (q, half_base) = (self.q as i64, 1i64 << (self.base_log2 - 1));
        let mut out = [0; WIDE];
        if k + 1 < self.count {
            for (out, rest) in out.iter_mut().zip(rest) {
                let raised = *rest + half_base;
                *rest = raised >> self.base_log2;
                *out = residue((raised & (2 * half_base - 1)) - half_base, q);
            }
        } else {
            for (out, rest) in out.iter_mut().zip(rest) {
                *out = residue(*rest, q);
            }
        }
        out
    }
}

/// `x` in `(-q, q)` modulo `q`: what is negative is as large as can be without its sign.
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
                let rest = (i128::from(centred(x, q)) - sum).abs();
                prop_assert!(2 * rest <= 1 << digits.shift() && (digits.shift() > 0 || rest == 0), "{rest}");
            }
            for kernel in Kernel::supported() {
                let mut other = vec![0; out.len()];
                digits.decompose(kernel, &mut other, &a);
                prop_assert_eq!(&other, &out, "{}", kernel);
            }
        }
    }

    #[test]
    fn shapes_that_make_no_sense_are_refused() {
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
