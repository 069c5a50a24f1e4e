//! The negacyclic number-theoretic transform of `Z_q[X]/(X^N + 1)`.
//!
//! Let `psi` be the primitive `2N`-th root of unity of [`crate::primes::primitive_root_2n`]. For a
//! product of primes, it is the number that is this root modulo each prime. The forward transform
//! maps the coefficients of `a` to its values `a(psi^e)` at the odd powers of `psi`.
//!
//! The values are stored in **evaluation order**, which is the same for every kernel. Standard
//! index `k` holds `e = 2 brv(k) + 1`, where `brv` reverses `log2 N` bits. For `N >= 64`, each
//! block of 64 indices is stored as the transpose of an 8 x 8 matrix: index `64 b + 8 r + c` is at
//! position `64 b + 8 c + r`.

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

/// Returns the standard (bit-reversed) index that is stored at `position`.
pub fn standard_index(degree: usize, position: usize) -> usize {
    if degree < 64 {
        position
    } else {
        (position & !63) | ((position & 7) << 3) | ((position >> 3) & 7)
    }
}

/// Returns the exponent `e` such that `position` holds `a(psi^e)`. It is odd and below `2 degree`.
pub fn exponent(degree: usize, position: usize) -> usize {
    2 * bit_reverse(standard_index(degree, position), degree.trailing_zeros()) + 1
}

/// Checks that a ring degree is supported, a power of two from `2^4` to `2^17`.
pub(crate) fn check_degree(degree: usize) -> Result<(), RingError> {
    if degree.is_power_of_two() && (16..=1 << 17).contains(&degree) {
        Ok(())
    } else {
        Err(RingError::RingDegree { degree })
    }
}

/// A constant that [`NttPlan::inverse_factor`] has prepared for the last pass of an inverse
/// transform.
///
/// It works with that plan only. See [`NttPlan`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct InverseFactor(pub(crate) [u64; 4]);

/// The transform for one modulus, one ring degree and one kernel.
///
/// ```
/// use hippocrene_ring::{Kernel, ntt::NttPlan, primes::ntt_primes};
///
/// let q = ntt_primes(48, 64, 1, &[])?[0];
/// let plan = NttPlan::new(q, 64, Kernel::detect()?)?;
/// let mut a = [0; 64];
/// a[0] = 7;
/// plan.forward(&mut a);
/// assert_eq!(a, [7; 64]);
/// plan.inverse_scaled(&mut a, &plan.inverse_factor(3));
/// assert_eq!((a[0], a[1]), (21, 0));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct NttPlan(Box<Inner>);

/// The plan of each kernel. Every variant has the same methods as [`NttPlan`], which only forwards
/// calls.
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
    /// Makes the fastest plan that `kernel` supports for this modulus and degree.
    #[cfg(target_arch = "x86_64")]
    fn new(q: u64, degree: usize, root: u64, kernel: Kernel) -> Self {
        let suits_avx512 = degree >= avx512::MIN_DEGREE;
        match kernel {
            Kernel::Avx512Ifma if suits_avx512 && q < 1 << 48 => {
                Inner::Ifma48(avx512::Plan::new(q, degree, root))
            }
            Kernel::Avx512Ifma if suits_avx512 && q < 1 << 50 => {
                Inner::Ifma50(avx512::Plan::new(q, degree, root))
            }
            Kernel::Avx512Ifma if suits_avx512 => Inner::Ifma61(avx512::Plan::new(q, degree, root)),
            // Without IFMA, four lanes of f64 are faster than eight of 64-bit integers.
            Kernel::Avx2 | Kernel::Avx512 | Kernel::Avx512Ifma
                if q < 1 << 50 && degree >= avx2::Plan::MIN_DEGREE =>
            {
                Inner::Avx2(avx2::Plan::new(q, degree, root))
            }
            Kernel::Avx512 if suits_avx512 => Inner::Avx512(avx512::Plan::new(q, degree, root)),
            _ => Inner::Portable(portable::Plan::new(q, degree, root)),
        }
    }

    /// Makes the fastest plan for this modulus and degree.
    #[cfg(not(target_arch = "x86_64"))]
    fn new(q: u64, degree: usize, root: u64, _: Kernel) -> Self {
        Inner::Portable(portable::Plan::new(q, degree, root))
    }
}

/// Calls the same method on the plan of the kernel in use.
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
    /// Makes a plan for the prime `q < 2^61`, `q = 1 mod 2 degree`.
    ///
    /// # Errors
    /// If the degree or the modulus is not supported, or there is no root of unity.
    pub fn new(q: u64, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Self::composite(&[q], degree, kernel)
    }

    /// Makes a plan for the product `q < 2^61` of distinct `primes`, each `1 mod 2 degree`.
    ///
    /// The Chinese remainder theorem combines the roots of [`crate::primes::primitive_root_2n`]
    /// modulo each prime into its `psi`. So transforms commute with the reduction modulo a divisor
    /// of `q`, and with its inverse, the embedding (GRAFT C.6).
    ///
    /// # Errors
    /// If the degree or the product is not supported, two primes are equal, or there is no root of
    /// unity.
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

    /// Transforms coefficients in `[0, q)` to values in `[0, q)`, in evaluation order.
    ///
    /// # Panics
    /// If `a` does not have the ring degree.
    pub fn forward(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.forward(a));
    }

    /// Transforms coefficients in `[0, 2q)` to congruent values in `[0, lazy_bound() q)`.
    ///
    /// # Panics
    /// If `a` does not have the ring degree.
    pub fn forward_lazy(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.forward_lazy(a));
    }

    /// Applies [`NttPlan::forward_lazy`] to the centred residues of `y` modulo another modulus,
    /// into `out`.
    ///
    /// `y` is in `[0, from)` with `from <= 2q`. The kernels with vectors of 512 bits need no
    /// further pass for the centring.
    ///
    /// # Panics
    /// If `out` or `y` does not have the ring degree, or `from` is larger than `2q`.
    pub fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        dispatch!(self, plan => plan.forward_lazy_centred(out, y, from));
    }

    /// Returns the exclusive bound of the values of [`NttPlan::forward_lazy`], as a multiple of
    /// `q`.
    pub fn lazy_bound(&self) -> u64 {
        dispatch!(self, plan => plan.lazy_bound())
    }

    /// Transforms values in `[0, 2q)`, in evaluation order, to coefficients in `[0, q)`.
    ///
    /// # Panics
    /// If `a` does not have the ring degree.
    pub fn inverse(&self, a: &mut [u64]) {
        dispatch!(self, plan => plan.inverse(a));
    }

    /// Applies [`NttPlan::inverse`] and multiplies by the constant of `factor`, at no extra cost.
    ///
    /// # Panics
    /// If `a` does not have the ring degree.
    pub fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        dispatch!(self, plan => plan.inverse_scaled(a, factor));
    }

    /// Applies [`NttPlan::inverse_scaled`] to `a`, into `out`.
    ///
    /// # Panics
    /// If `out` or `a` does not have the ring degree.
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
