//! The negacyclic number-theoretic transform of `Z_q[X]/(X^N + 1)`.
//!
//! With `psi` the primitive `2N`-th root of unity of [`crate::primes::primitive_root_2n`] (of a
//! product of primes: the number that is this root modulo each), the forward transform takes the
//! coefficients of `a` to its values `a(psi^e)` at the odd powers of `psi`. They are stored in
//! **evaluation order**: standard index `k` holds `e = 2 brv(k) + 1` (`brv` reverses `log2 N`
//! bits), and for `N >= 64` each block of 64 indices is stored as the transpose of an 8 x 8 matrix,
//! index `64 b + 8 r + c` at position `64 b + 8 c + r`. The order is the same for every kernel.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::{
    Kernel, RingError,
    arith::{bit_reverse, inv_mod, mul_mod, sub_mod},
    primes,
};

/// The standard (bit-reversed) index that is stored at `position`.
pub fn standard_index(degree: usize, position: usize) -> usize {
    if degree < 64 {
        position
    } else {
        (position & !63) | ((position & 7) << 3) | ((position >> 3) & 7)
    }
}

/// The exponent `e` such that `position` holds `a(psi^e)`: odd, below `2 degree`.
pub fn exponent(degree: usize, position: usize) -> usize {
    2 * bit_reverse(standard_index(degree, position), degree.trailing_zeros()) + 1
}

/// Checks that a ring degree is supported: a power of two from `2^4` to `2^17`.
pub(crate) fn check_degree(degree: usize) -> Result<(), RingError> {
    if degree.is_power_of_two() && (16..=1 << 17).contains(&degree) {
        Ok(())
    } else {
        Err(RingError::RingDegree { degree })
    }
}

/// A constant prepared for the last pass of an inverse transform, by [`NttPlan::inverse_factor`],
/// for that plan only.
#[derive(Debug, Clone, Copy)]
pub struct InverseFactor(pub(crate) [u64; 4]);

/// The transform for one modulus, one ring degree and one kernel.
#[derive(Debug, Clone)]
pub struct NttPlan(Box<Inner>);

/// What each kernel keeps. Every variant has the same methods as [`NttPlan`], which only passes
/// calls on.
#[derive(Debug, Clone)]
enum Inner {
    Portable(portable::Plan),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Plan),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Plan<avx512::Word61<false>>),
    #[cfg(target_arch = "x86_64")]
    Ifma61(avx512::Plan<avx512::Word61<true>>),
    #[cfg(target_arch = "x86_64")]
    Ifma50(avx512::Plan<avx512::Ifma50>),
    #[cfg(target_arch = "x86_64")]
    Ifma48(avx512::Plan<avx512::Ifma48>),
}

impl Inner {
    /// The fastest that `kernel` allows for this modulus and degree.
    #[cfg(target_arch = "x86_64")]
    fn new(q: u64, degree: usize, root: u64, kernel: Kernel) -> Self {
        let wide = degree >= avx512::LEAST_DEGREE;
        match kernel {
            Kernel::Avx512Ifma if wide && q < 1 << 48 => {
                Inner::Ifma48(avx512::Plan::new(q, degree, root))
            }
            Kernel::Avx512Ifma if wide && q < 1 << 50 => {
                Inner::Ifma50(avx512::Plan::new(q, degree, root))
            }
            Kernel::Avx512Ifma if wide => Inner::Ifma61(avx512::Plan::new(q, degree, root)),
            // Without IFMA, four lanes of f64 are faster than eight of 64-bit integers.
            Kernel::Avx2 | Kernel::Avx512 | Kernel::Avx512Ifma
                if q < 1 << 50 && degree >= avx2::Plan::LEAST_DEGREE =>
            {
                Inner::Avx2(avx2::Plan::new(q, degree, root))
            }
            Kernel::Avx512 if wide => Inner::Avx512(avx512::Plan::new(q, degree, root)),
            _ => Inner::Portable(portable::Plan::new(q, degree, root)),
        }
    }

    /// The fastest for this modulus and degree.
    #[cfg(not(target_arch = "x86_64"))]
    fn new(q: u64, degree: usize, root: u64, _: Kernel) -> Self {
        Inner::Portable(portable::Plan::new(q, degree, root))
    }
}

/// Calls the same method on whichever kernel the plan has.
macro_rules! dispatch {
    ($plan:expr, $inner:ident => $call:expr) => {
        match &*$plan.0 {
            Inner::Portable($inner) => $call,
            #[cfg(target_arch = "x86_64")]
            Inner::Avx2($inner) => $call,
            #[cfg(target_arch = "x86_64")]
            Inner::Avx512($inner) => $call,
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma61($inner) => $call,
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma50($inner) => $call,
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma48($inner) => $call,
        }
    };
}

impl NttPlan {
    /// A plan for the prime `q < 2^61`, `q = 1 mod 2 degree`.
    ///
    /// # Errors
    /// When the degree or the modulus is not supported, or there is no root of unity.
    pub fn new(q: u64, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Self::composite(&[q], degree, kernel)
    }

    /// A plan for the product `q < 2^61` of distinct `primes`, each `1 mod 2 degree`.
    ///
    /// Its `psi` is, modulo each prime, the root of [`crate::primes::primitive_root_2n`], put
    /// together by the Chinese remainder theorem. So the transform modulo `q`, reduced modulo a
    /// divisor, is the transform modulo that divisor of what has been reduced: reduction and its
    /// inverse, the embedding, commute with transforms (GRAFT C.6).
    ///
    /// # Errors
    /// When the degree or the product is not supported, two primes are equal, or there is no root
    /// of unity.
    pub fn composite(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        check_degree(degree)?;
        let mut q = 1u64;
        let mut root = 0;
        for (i, &p) in primes.iter().enumerate() {
            if !(3..1 << 61).contains(&p) {
                return Err(RingError::ModulusRange { modulus: p });
            }
            if !primes::is_prime(p) {
                return Err(RingError::NotPrime { modulus: p });
            }
            if primes[..i].contains(&p) {
                return Err(RingError::NotCoprime { first: p, second: p });
            }
            let product = q.saturating_mul(p);
            if product >= 1 << 61 {
                return Err(RingError::ModulusRange { modulus: product });
            }
            let inverse = inv_mod(q, p).expect("distinct primes are coprime");
            let difference = sub_mod(primes::primitive_root_2n(p, degree)?, root % p, p);
            root += q * mul_mod(difference, inverse, p);
            q = product;
        }
        if q == 1 {
            return Err(RingError::ModulusRange { modulus: q });
        }
        Ok(NttPlan(Box::new(Inner::new(q, degree, root, kernel))))
    }

    /// Coefficients in `[0, q)` to values in `[0, q)`, in evaluation order.
    ///
    /// # Panics
    /// When `a` is not of the ring degree.
    pub fn forward(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.forward(a));
    }

    /// Coefficients in `[0, 2q)` to congruent values in `[0, lazy_bound() q)`.
    ///
    /// # Panics
    /// When `a` is not of the ring degree.
    pub fn forward_lazy(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.forward_lazy(a));
    }

    /// [`NttPlan::forward_lazy`] of residues modulo another modulus: of the centred residues of
    /// `y`, which is in `[0, from)` with `from <= 2q`, into `out`. The vector kernels with lanes of
    /// 512 bits take no more passes for it than for a transform.
    ///
    /// # Panics
    /// When `out` or `y` is not of the ring degree, or `from` is larger than `2q`.
    pub fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        dispatch!(self, plan => plan.forward_lazy_centred(out, y, from));
    }

    /// The multiple of `q` below which [`NttPlan::forward_lazy`] leaves its values.
    pub fn lazy_bound(&self) -> u64 {
        dispatch!(self, plan => plan.lazy_bound())
    }

    /// Values in `[0, 2q)`, in evaluation order, to coefficients in `[0, q)`.
    ///
    /// # Panics
    /// When `a` is not of the ring degree.
    pub fn inverse(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.inverse(a));
    }

    /// [`NttPlan::inverse`] times the constant that `factor` was prepared from, at no extra cost.
    ///
    /// # Panics
    /// When `a` is not of the ring degree.
    pub fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        dispatch!(self, plan => plan.inverse_scaled(a, factor));
    }

    /// [`NttPlan::inverse_scaled`] of `a`, into `out`.
    ///
    /// # Panics
    /// When `out` or `a` is not of the ring degree.
    pub fn inverse_scaled_into(&self, out: &mut [u64], a: &[u64], factor: &InverseFactor) {
        match &*self.0 {
            #[cfg(target_arch = "x86_64")]
            Inner::Avx512(plan) => plan.inverse_scaled_into(out, a, factor),
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma61(plan) => plan.inverse_scaled_into(out, a, factor),
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma50(plan) => plan.inverse_scaled_into(out, a, factor),
            #[cfg(target_arch = "x86_64")]
            Inner::Ifma48(plan) => plan.inverse_scaled_into(out, a, factor),
            _ => {
                out.copy_from_slice(a);
                self.inverse_scaled(out, factor);
            }
        }
    }

    /// Prepares the constant `c` in `[0, q)` for [`NttPlan::inverse_scaled`].
    pub fn inverse_factor(&self, c: u64) -> InverseFactor {
        dispatch!(self, plan => plan.inverse_factor(c))
    }
}
