//! The transform with AVX-512, for degrees from 2^9.
//!
//! Three arithmetics share one driver. A pass computes three layers with eight vectors in
//! registers, over ever smaller blocks. Passes run depth first, so that a block stays in cache
//! until it is done. The last six, seven or eight layers (so that the others are a multiple of
//! three) are the *ends*. The last three of them run across the lanes of vectors, after a transpose
//! of each 64-block. The transpose is not undone, which explains the evaluation order. The inverse
//! runs the same steps backwards.

mod arithmetic;
mod forward;
mod ifma48;
mod ifma50;
mod inverse;
mod tables;
#[cfg(test)]
mod tests;
mod word61;

use std::marker::PhantomData;

use self::{
    arithmetic::{Arithmetic, Twiddle},
    tables::Tables,
};
pub(super) use self::{ifma48::Ifma48, ifma50::Ifma50, word61::Word61};
use super::InverseFactor;
use crate::{
    Kernel,
    arith::{inv_mod, mul_mod, pow_mod},
    simd512::set1,
};

/// The minimum degree that these kernels support.
pub(super) const MIN_DEGREE: usize = 1 << 9;

/// The transform in one arithmetic.
#[derive(Debug, Clone)]
pub(super) struct Plan<A: Arithmetic> {
    q: u64,
    constants: A::Constants,
    degree: usize,
    /// The multipliers of the sums and of the differences in the last layer of an inverse
    /// transform. They are the inverse of the degree, and its product with the inverse of the first
    /// layer's multiplier.
    unscaled: [u64; 2],
    unit: InverseFactor,
    forward: Tables,
    inverse: Tables,
    arithmetic: PhantomData<A>,
}

/// The outermost functions of the kernels, which enable the instruction sets.
///
/// # Safety
/// For all of them, the CPU has the features, and `p` is valid for these words:
///
/// - the whole limb (`first` and `first_centred`, `last`);
/// - the block of `8 stride` words with node `k` (`pass`);
/// - `count` blocks of 128 words, which begin with block `first` (`ends`).
///
/// The same holds for `source`, which may be `p`.
pub(super) trait Outermost: Arithmetic {
    /// The kernel that has the features.
    const KERNEL: Kernel;

    unsafe fn forward_first(plan: &Plan<Self>, p: *mut u64);
    unsafe fn forward_first_centred(plan: &Plan<Self>, source: *const u64, p: *mut u64, from: u64);
    unsafe fn forward_pass(plan: &Plan<Self>, p: *mut u64, stride: usize, k: usize);
    unsafe fn forward_ends<const CANONICAL: bool>(
        plan: &Plan<Self>,
        p: *mut u64,
        first: usize,
        count: usize,
    );
    unsafe fn inverse_ends(
        plan: &Plan<Self>,
        source: *const u64,
        p: *mut u64,
        first: usize,
        count: usize,
    );
    unsafe fn inverse_pass(plan: &Plan<Self>, p: *mut u64, stride: usize, k: usize);
    unsafe fn inverse_last(plan: &Plan<Self>, p: *mut u64, factor: &InverseFactor);
}

macro_rules! outermost {
    ($arithmetic:ty, $kernel:expr, $features:literal) => {
        impl Outermost for $arithmetic {
            const KERNEL: Kernel = $kernel;

            #[target_feature(enable = $features)]
            unsafe fn forward_first(plan: &Plan<Self>, p: *mut u64) {
                let (a, t) = (Self::new(&plan.constants), &plan.forward);
                // SAFETY: `p` has `degree` words.
                unsafe { forward::first(a, t, p, plan.degree / 8) };
            }

            #[target_feature(enable = $features)]
            unsafe fn forward_first_centred(
                plan: &Plan<Self>,
                source: *const u64,
                p: *mut u64,
                from: u64,
            ) {
                let (a, t) = (Self::new(&plan.constants), &plan.forward);
                // SAFETY: `source` and `p` have `degree` words.
                unsafe { forward::first_centred(a, t, source, p, plan.degree / 8, [plan.q, from]) };
            }

            #[target_feature(enable = $features)]
            unsafe fn forward_pass(plan: &Plan<Self>, p: *mut u64, stride: usize, k: usize) {
                let (a, t) = (Self::new(&plan.constants), &plan.forward);
                // SAFETY: the caller guarantees it.
                unsafe {
                    // The first pass leaves tight residues. The passes below it leave loose and
                    // tight ones alternately.
                    if k.ilog2() / 3 % 2 == 1 {
                        forward::pass::<_, false>(a, t, p, stride, k);
                    } else {
                        forward::pass::<_, true>(a, t, p, stride, k);
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn forward_ends<const CANONICAL: bool>(
                plan: &Plan<Self>,
                p: *mut u64,
                first: usize,
                count: usize,
            ) {
                let (a, t) = (Self::new(&plan.constants), &plan.forward);
                // SAFETY: the caller guarantees it.
                unsafe {
                    match plan.end_layers() {
                        6 => forward::ends::<_, 6, CANONICAL>(a, t, p, first, count),
                        7 => forward::ends::<_, 7, CANONICAL>(a, t, p, first, count),
                        _ => {
                            forward::quarters(a, t, p, first, count);
                            forward::ends::<_, 8, CANONICAL>(a, t, p, first, count);
                        }
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn inverse_ends(
                plan: &Plan<Self>,
                source: *const u64,
                p: *mut u64,
                first: usize,
                count: usize,
            ) {
                let (a, t) = (Self::new(&plan.constants), &plan.inverse);
                // SAFETY: the caller guarantees it.
                unsafe {
                    match plan.end_layers() {
                        6 => inverse::ends::<_, 6>(a, t, source, p, first, count),
                        7 => inverse::ends::<_, 7>(a, t, source, p, first, count),
                        _ => {
                            inverse::ends::<_, 6>(a, t, source, p, first, count);
                            inverse::quarters(a, t, p, first, count);
                        }
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn inverse_pass(plan: &Plan<Self>, p: *mut u64, stride: usize, k: usize) {
                // SAFETY: the caller guarantees it.
                unsafe { inverse::pass(Self::new(&plan.constants), &plan.inverse, p, stride, k) };
            }

            #[target_feature(enable = $features)]
            unsafe fn inverse_last(plan: &Plan<Self>, p: *mut u64, factor: &InverseFactor) {
                let (a, t) = (Self::new(&plan.constants), &plan.inverse);
                let [s, s1, d, d1] = factor.0;
                let sums = Twiddle { multiplier: set1(s), companion: set1(s1) };
                let differences = Twiddle { multiplier: set1(d), companion: set1(d1) };
                // SAFETY: `p` has `degree` words.
                unsafe { inverse::last(a, t, p, plan.degree / 8, [sums, differences]) };
            }
        }
    };
}

outermost!(Ifma48, Kernel::Avx512Ifma, "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx512vbmi");
outermost!(Ifma50, Kernel::Avx512Ifma, "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx512vbmi");
outermost!(
    Word61<true>,
    Kernel::Avx512Ifma,
    "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx512vbmi"
);
outermost!(Word61<false>, Kernel::Avx512, "avx512f,avx512dq,avx512vl,avx512bw");

impl<A: Outermost> Plan<A> {
    /// Makes a plan for the primitive `2 degree`-th root of unity `root` modulo `q`.
    ///
    /// # Panics
    /// If this CPU cannot run the kernel, the degree is below [`MIN_DEGREE`], or `q` is not below
    /// the bound of the arithmetic.
    pub(super) fn new(q: u64, degree: usize, root: u64) -> Self {
        assert!(A::KERNEL.is_supported(), "this CPU cannot run the kernel {}", A::KERNEL);
        assert!(degree >= MIN_DEGREE && degree.is_power_of_two() && q < A::MODULUS_BOUND);
        let inverse = inv_mod(root, q).expect("a root of unity is invertible");
        let degree_inverse =
            inv_mod(degree as u64, q).expect("the degree is a power of two and q is odd");
        let unscaled =
            [degree_inverse, mul_mod(degree_inverse, pow_mod(inverse, degree as u64 / 2, q), q)];
        Plan {
            q,
            constants: A::constants(q),
            degree,
            unscaled,
            unit: inverse_factor::<A>(q, unscaled),
            forward: Tables::new::<A>(q, degree, root),
            inverse: Tables::new::<A>(q, degree, inverse),
            arithmetic: PhantomData,
        }
    }

    /// Returns the number of layers in the ends: 6, 7 or 8.
    fn end_layers(&self) -> u32 {
        6 + self.degree.trailing_zeros() % 3
    }

    pub(super) fn lazy_bound(&self) -> u64 {
        A::LAZY_BOUND
    }

    pub(super) fn forward(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree);
        // SAFETY: `new` has checked the CPU, and `a` has `degree` words.
        unsafe {
            A::forward_first(self, a.as_mut_ptr());
            self.forward_rest::<true>(a.as_mut_ptr());
        }
    }

    pub(super) fn forward_lazy(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree);
        // SAFETY: the same as in `forward`.
        unsafe {
            A::forward_first(self, a.as_mut_ptr());
            self.forward_rest::<false>(a.as_mut_ptr());
        }
    }

    pub(super) fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        assert!(y.len() == self.degree && out.len() == self.degree);
        assert!(
            from <= 2 * self.q,
            "centred residues modulo {from} are not in [-{0}, {0})",
            self.q
        );
        // SAFETY: `new` has checked the CPU, and `y` and `out` have `degree` words.
        unsafe {
            A::forward_first_centred(self, y.as_ptr(), out.as_mut_ptr(), from);
            self.forward_rest::<false>(out.as_mut_ptr());
        }
    }

    /// Computes all layers except the first three.
    ///
    /// # Safety
    /// `p` has `degree` words, and the CPU has the features.
    unsafe fn forward_rest<const CANONICAL: bool>(&self, p: *mut u64) {
        // SAFETY: all parts are within the limb.
        unsafe {
            let bits = self.degree.trailing_zeros() - 3;
            if bits < 9 {
                A::forward_ends::<CANONICAL>(self, p, 0, self.degree / 128);
            } else {
                for i in 0..8 {
                    self.forward_block::<CANONICAL>(p.add(i << bits), bits, 8 + i);
                }
            }
        }
    }

    /// Computes all layers of the block of `2^bits` words (from 2^9) with node `k`.
    ///
    /// # Safety
    /// `p` has these words.
    unsafe fn forward_block<const CANONICAL: bool>(&self, p: *mut u64, bits: u32, k: usize) {
        let eighth = bits - 3;
        // SAFETY: all parts are within the block.
        unsafe {
            A::forward_pass(self, p, 1 << eighth, k);
            if bits < 12 {
                let first = ((k << bits) - self.degree) / 128;
                A::forward_ends::<CANONICAL>(self, p, first, (1 << bits) / 128);
            } else {
                for i in 0..8 {
                    self.forward_block::<CANONICAL>(p.add(i << eighth), eighth, 8 * k + i);
                }
            }
        }
    }

    pub(super) fn inverse(&self, a: &mut [u64]) {
        self.inverse_scaled(a, &self.unit);
    }

    pub(super) fn inverse_factor(&self, c: u64) -> InverseFactor {
        inverse_factor::<A>(self.q, self.unscaled.map(|w| mul_mod(w, c, self.q)))
    }

    pub(super) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        assert_eq!(a.len(), self.degree);
        let p = a.as_mut_ptr();
        // SAFETY: `new` has checked the CPU, and `a` has `degree` words.
        unsafe { self.inverse_to(p, p, factor) };
    }

    pub(super) fn inverse_scaled_into(&self, out: &mut [u64], a: &[u64], factor: &InverseFactor) {
        assert!(a.len() == self.degree && out.len() == self.degree);
        // SAFETY: `new` has checked the CPU, and `a` and `out` have `degree` words.
        unsafe { self.inverse_to(a.as_ptr(), out.as_mut_ptr(), factor) };
    }

    /// Computes all layers.
    ///
    /// # Safety
    /// `source` and `p`, which may be the same, have `degree` words, and the CPU has the features.
    unsafe fn inverse_to(&self, source: *const u64, p: *mut u64, factor: &InverseFactor) {
        // SAFETY: all parts are within the limb.
        unsafe {
            let bits = self.degree.trailing_zeros() - 3;
            if bits < 9 {
                A::inverse_ends(self, source, p, 0, self.degree / 128);
            } else {
                for i in 0..8 {
                    self.inverse_block(source.add(i << bits), p.add(i << bits), bits, 8 + i);
                }
            }
            A::inverse_last(self, p, factor);
        }
    }

    /// Computes all layers of the block of `2^bits` words (from 2^9) with node `k`.
    ///
    /// # Safety
    /// `source` and `p` have these words.
    unsafe fn inverse_block(&self, source: *const u64, p: *mut u64, bits: u32, k: usize) {
        let eighth = bits - 3;
        // SAFETY: all parts are within the block.
        unsafe {
            if bits < 12 {
                let first = ((k << bits) - self.degree) / 128;
                A::inverse_ends(self, source, p, first, (1 << bits) / 128);
            } else {
                for i in 0..8 {
                    self.inverse_block(
                        source.add(i << eighth),
                        p.add(i << eighth),
                        eighth,
                        8 * k + i,
                    );
                }
            }
            A::inverse_pass(self, p, 1 << eighth, k);
        }
    }
}

/// Returns the multipliers of the last layer of an inverse transform.
fn inverse_factor<A: Arithmetic>(q: u64, multipliers: [u64; 2]) -> InverseFactor {
    let [[s, s1], [d, d1]] = multipliers.map(|w| A::prepare(q, w));
    InverseFactor([s, s1, d, d1])
}
