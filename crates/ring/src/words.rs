//! Arithmetic on words modulo `2^e`, in plain loops that the compiler vectorises for each kernel.

use crate::{Kernel, elementwise::Scalar};

/// Operations on vectors of words modulo `2^e`, `1 <= e <= 63`.
///
/// Inputs are any 64-bit words, whose low `e` bits count. Outputs are in `[0, 2^e)`. All slices of
/// a call have the same length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    exponent: u32,
    /// `2^e - 1`.
    mask: u64,
    kernel: Kernel,
}

/// Defines methods whose loops are compiled once for each vector width.
macro_rules! vectorised {
    ($(
        $(#[$doc:meta])*
        $name:ident($words:ident, $($argument:ident: $type:ty),*) $body:block
    )*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(&self, $($argument: $type),*) {
                #[inline(always)]
                fn plain($words: Words, $($argument: $type),*) $body

                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
                fn with_avx512(words: Words, $($argument: $type),*) {
                    plain(words, $($argument),*);
                }

                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2")]
                fn with_avx2(words: Words, $($argument: $type),*) {
                    plain(words, $($argument),*);
                }

                match self.kernel {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `new` has checked that the CPU supports the kernel.
                    Kernel::Avx512 | Kernel::Avx512Ifma => unsafe {
                        with_avx512(*self, $($argument),*)
                    },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the same as above.
                    Kernel::Avx2 => unsafe { with_avx2(*self, $($argument),*) },
                    _ => plain(*self, $($argument),*),
                }
            }
        )*
    };
}

/// Stores the value of an expression modulo `2^e` at every position. The expression can use the
/// words of the inputs there. An output may also be an input.
macro_rules! each {
    ($words:ident, ($($input:ident),*) -> $output:ident, $value:expr) => {{
        let length = $output.len();
        assert!(
            true $(&& $input.len() == length)*,
            "the slices of an elementwise operation must have the same length"
        );
        for i in 0..length {
            let value = {
                $(let $input = $input[i];)*
                $value
            };
            $output[i] = value & $words.mask;
        }
    }};
}

// `from_signed` has the same name as in `Elementwise`.
#[allow(clippy::wrong_self_convention)]
impl Words {
    /// Makes operations modulo `2^exponent`. The portable kernel replaces one that this CPU cannot
    /// run.
    pub(crate) fn new(exponent: u32, kernel: Kernel) -> Self {
        debug_assert!((1..63).contains(&exponent));
        let kernel = if kernel.is_supported() { kernel } else { Kernel::Portable };
        Words { exponent, mask: (1 << exponent) - 1, kernel }
    }

    /// Returns `2^e`.
    pub(crate) fn modulus(&self) -> u64 {
        1 << self.exponent
    }

    /// Returns the exclusive bound of lazily reduced inputs, as a multiple of `2^e`. It serves code
    /// that also works in other rings, because any word is allowed here.
    pub(crate) fn lazy_multiple(&self) -> u64 {
        ((1 << 63) / self.modulus()).min(16)
    }

    /// Returns the constant `c`, reduced modulo `2^e`.
    pub(crate) fn scalar(&self, c: u64) -> Scalar {
        Scalar::new(c & self.mask, self.modulus(), 0)
    }

    /// Returns a word whose low `e` bits are those of `a b`. For `e <= 32`, a 32-bit multiplication
    /// suffices.
    #[inline(always)]
    fn times(self, a: u64, b: u64) -> u64 {
        const LOW: u64 = u32::MAX as u64;
        if self.exponent <= 32 { (a & LOW) * (b & LOW) } else { a.wrapping_mul(b) }
    }

    /// Returns the representative of `a` in `[-2^(e-1), 2^(e-1))`.
    #[inline(always)]
    fn centred(self, a: u64) -> i64 {
        let half = self.mask ^ (self.mask >> 1);
        ((a & self.mask) ^ half).wrapping_sub(half) as i64
    }

    vectorised! {
        /// Sets `a = a + b`.
        add_assign(w, a: &mut [u64], b: &[u64]) { each!(w, (a, b) -> a, a.wrapping_add(b)) }

        /// Sets `a = a + b`.
        add_lazy_assign(w, a: &mut [u64], b: &[u64]) { each!(w, (a, b) -> a, a.wrapping_add(b)) }

        /// Sets `a = a - b`.
        sub_assign(w, a: &mut [u64], b: &[u64]) { each!(w, (a, b) -> a, a.wrapping_sub(b)) }

        /// Sets `a = b - a`.
        sub_from_assign(w, a: &mut [u64], b: &[u64]) { each!(w, (a, b) -> a, b.wrapping_sub(a)) }

        /// Sets `a = -a`.
        neg_assign(w, a: &mut [u64]) { each!(w, (a) -> a, a.wrapping_neg()) }

        /// Sets `out = a + b`.
        add(w, out: &mut [u64], a: &[u64], b: &[u64]) { each!(w, (a, b) -> out, a.wrapping_add(b)) }

        /// Sets `out = a - b`.
        sub(w, out: &mut [u64], a: &[u64], b: &[u64]) { each!(w, (a, b) -> out, a.wrapping_sub(b)) }

        /// Sets `a = a + c`.
        add_scalar_assign(w, a: &mut [u64], c: u64) { each!(w, (a) -> a, a.wrapping_add(c)) }

        /// Sets `a = a c`.
        mul_assign_by(w, a: &mut [u64], c: u64) { each!(w, (a) -> a, w.times(a, c)) }

        /// Sets `a = a s`.
        mul_scalar_assign(w, a: &mut [u64], s: &Scalar) {
            let s = s.value();
            each!(w, (a) -> a, w.times(a, s))
        }

        /// Sets `out = a s`.
        mul_scalar(w, out: &mut [u64], a: &[u64], s: &Scalar) {
            let s = s.value();
            each!(w, (a) -> out, w.times(a, s))
        }

        /// Sets `acc = acc + a s`.
        mul_scalar_add_assign(w, acc: &mut [u64], a: &[u64], s: &Scalar) {
            let s = s.value();
            each!(w, (acc, a) -> acc, acc.wrapping_add(w.times(a, s)))
        }

        /// Sets `out = a + b s`.
        add_mul_scalar(w, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
            let s = s.value();
            each!(w, (a, b) -> out, a.wrapping_add(w.times(b, s)))
        }

        /// Sets `out = (a - b) s`.
        sub_mul_scalar(w, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
            let s = s.value();
            each!(w, (a, b) -> out, w.times(a.wrapping_sub(b), s))
        }

        /// Sets `a = (b - a) s`.
        sub_from_mul_scalar_assign(w, a: &mut [u64], b: &[u64], s: &Scalar) {
            let s = s.value();
            each!(w, (a, b) -> a, w.times(b.wrapping_sub(a), s))
        }

        /// Sets `a = floor((b - a mod 2^(e + shift)) / 2^shift) s`, for `e + shift <= 64`.
        sub_from_shift_mul_scalar_assign(w, a: &mut [u64], b: &[u64], shift: u32, s: &Scalar) {
            assert!(
                w.exponent + shift <= 64,
                "a shift by {shift} leaves fewer than {} bits",
                w.exponent
            );
            let s = s.value();
            each!(w, (a, b) -> a, w.times(b.wrapping_sub(a) >> shift, s))
        }

        /// Sets `out = a`.
        reduce(w, out: &mut [u64], a: &[u64]) { each!(w, (a) -> out, a) }

        /// Reduces `a` to `[0, 2^e)`.
        reduce_assign(w, a: &mut [u64]) { each!(w, (a) -> a, a) }

        /// Sets `out = a` for signed `a`.
        from_signed(w, out: &mut [u64], a: &[i64]) { each!(w, (a) -> out, a as u64) }

        /// Sets `out` to the representative in `[-from/2, from/2)` of `a`, which is a residue in
        /// `[0, from)` of another modulus `from < 2^63`.
        reduce_centred(w, out: &mut [u64], a: &[u64], from: u64) {
            let first_negative = (from - from / 2) as i64;
            each!(w, (a) -> out, if (a as i64) < first_negative { a } else { a.wrapping_sub(from) })
        }

        /// Sets `out = v mod q` in `[0, q)`, where `v` is the representative of `a` in
        /// `[-2^(e-1), 2^(e-1))`, for `2^(e-1) <= q < 2^63`.
        embed(w, out: &mut [u64], a: &[u64], q: u64) {
            debug_assert!(q > w.mask >> 1);
            assert_eq!(
                out.len(),
                a.len(),
                "the slices of an elementwise operation must have the same length"
            );
            for (out, a) in out.iter_mut().zip(a) {
                let v = w.centred(*a);
                *out = (v as u64).wrapping_add(q & (v >> 63) as u64);
            }
        }
    }
}
