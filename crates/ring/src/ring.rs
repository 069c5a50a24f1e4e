//! Residue rings, in which limbs are computed.

use crate::{
    Automorphism, Domain, Kernel, RingError,
    arith::add_mod,
    elementwise::{
        ExtraSummands, KeyLimb, KeyRing, MonomialTerm, PairTerm, Scalar, digit_bytes, operations,
    },
    monomial::Monomials,
    ntt::InverseFactor,
    odd::OddRing,
    power_of_two::PowerOfTwoRing,
};

/// The ring of one limb, `Z_q[X]/(X^N + 1)`, with its kernels.
///
/// The modulus is a prime, a product of primes or a power of two. All have the same operations, and
/// callers need not know which it is:
///
/// - Transforms ([`ResidueRing::forward`], [`ResidueRing::inverse`]) convert between the two
///   domains. Powers of two have no transform, and a limb holds its coefficients in both domains.
/// - The operations of [`crate::elementwise`] on limbs in the evaluation domain are those of the
///   ring, so products are products of polynomials. Linear operations also work in the coefficient
///   domain. Modulo powers of two, linear operations need 2 to 4 vector instructions per 8
///   residues, and [`ResidueRing::power_of_two`] states the cost of products.
/// - Operations that depend on the positions of coefficients in the limb have the domain as an
///   argument.
///
/// ```
/// use hippocrene_ring::{Kernel, ResidueRing, primes::ntt_primes};
///
/// let kernel = Kernel::detect()?;
/// let q = ntt_primes(48, 16, 1, &[])?[0];
/// for ring in [ResidueRing::prime(q, 16, kernel)?, ResidueRing::power_of_two(32, 16, kernel)?] {
///     // (1 + X) X^15 = X^15 - 1
///     let (mut a, mut b) = ([0; 16], [0; 16]);
///     (a[0], a[1], b[15]) = (1, 1, 1);
///     ring.forward(&mut a);
///     ring.forward(&mut b);
///     ring.mul_assign(&mut a, &b);
///     ring.inverse(&mut a);
///     assert_eq!((a[0], a[1], a[15]), (ring.modulus() - 1, 0, 1));
/// }
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Clone)]
pub enum ResidueRing {
    /// The ring of a prime or of a product of primes.
    Odd(OddRing),
    /// The ring of a power of two.
    PowerOfTwo(PowerOfTwoRing),
}

/// The output leaves out the tables.
impl std::fmt::Debug for ResidueRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResidueRing {{ modulus: {}, degree: {}, .. }}", self.modulus(), self.degree())
    }
}

/// Defines methods that call the method of the same name on one field of [`OddRing`], and, for each
/// list, on one field of [`PowerOfTwoRing`].
macro_rules! methods {
    ($odd:ident, $($power:ident {
        $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*
    })*) => {
        $($(
            $(#[$doc])*
            #[inline]
            #[allow(clippy::too_many_arguments)]
            pub fn $name(&self, $($argument: $type),*) $(-> $result)? {
                match self {
                    ResidueRing::Odd(ring) => ring.$odd.$name($($argument),*),
                    ResidueRing::PowerOfTwo(ring) => ring.$power.$name($($argument),*),
                }
            }
        )*)*
    };
}

impl ResidueRing {
    /// Makes the ring of the prime `q < 2^61`, `q = 1 mod 2 degree`.
    ///
    /// # Errors
    /// If the degree or the modulus is not supported, or there is no transform.
    pub fn prime(q: u64, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Self::composite(&[q], degree, kernel)
    }

    /// Makes the ring of the product `q < 2^61` of distinct `primes`, each `1 mod 2 degree`.
    ///
    /// One transform serves all of them. A limb reduced modulo some of the primes is a limb of the
    /// ring of those primes, in either domain (GRAFT C.6).
    ///
    /// # Errors
    /// If the degree or the product is not supported, two primes are equal, or there is no
    /// transform.
    pub fn composite(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Ok(ResidueRing::Odd(OddRing::new(primes, degree, kernel)?))
    }

    /// Makes the ring of `2^exponent`, `1 <= exponent <= 60`.
    ///
    /// Products are computed over the integers, modulo `p` primes that the ring chooses itself
    /// (GRAFT C.6): `2 N 2^(2 exponent - 2) < g_1 .. g_p / 2`. The operations need these numbers of
    /// transforms:
    ///
    /// - a product `3p`;
    /// - a tensor product `7p`, and a square `5p`;
    /// - an inner product of `d` digits `d p`, plus `2p` for every sum of up to 32 digits, or fewer
    ///   if the bound requires it.
    ///
    /// The operations borrow scratch memory from a pool, which has a lock.
    ///
    /// # Errors
    /// If the degree or the exponent is not supported.
    pub fn power_of_two(exponent: u32, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Ok(ResidueRing::PowerOfTwo(PowerOfTwoRing::new(exponent, degree, kernel)?))
    }

    /// Makes the rings of `2^1 .. 2^largest`, in this order. They share their tables.
    ///
    /// # Errors
    /// The same as [`ResidueRing::power_of_two`].
    pub fn powers_of_two(
        largest: u32,
        degree: usize,
        kernel: Kernel,
    ) -> Result<Vec<Self>, RingError> {
        let all = PowerOfTwoRing::all(largest, degree, kernel)?;
        Ok(all.into_iter().map(ResidueRing::PowerOfTwo).collect())
    }

    /// Returns the ring degree `N`.
    pub fn degree(&self) -> usize {
        match self {
            ResidueRing::Odd(ring) => ring.degree,
            ResidueRing::PowerOfTwo(ring) => ring.identity.degree(),
        }
    }

    /// Returns `log2 q`.
    pub fn log2(&self) -> f64 {
        (self.modulus() as f64).log2()
    }

    methods! {
        ntt,
        identity {
            /// Transforms coefficients in `[0, q)` to values in `[0, q)`, in evaluation order.
            ///
            /// # Panics
            /// If `a` does not have the ring degree.
            forward(a: &mut [u64]);
            /// Transforms coefficients in `[0, 2q)` to congruent values in `[0, lazy_bound() q)`.
            ///
            /// # Panics
            /// If `a` does not have the ring degree.
            forward_lazy(a: &mut [u64]);
            /// Applies [`Self::forward_lazy`] to residues modulo another modulus, into `out`.
            ///
            /// See [`crate::ntt::NttPlan::forward_lazy_centred`].
            ///
            /// # Panics
            /// If `out` or `y` does not have the ring degree, or `from` is larger than `2q`.
            forward_lazy_centred(out: &mut [u64], y: &[u64], from: u64);
            /// Returns the exclusive bound of the values of [`Self::forward_lazy`], as a multiple
            /// of `q`.
            lazy_bound() -> u64;
            /// Transforms values in `[0, 2q)`, in evaluation order, to coefficients in `[0, q)`.
            ///
            /// # Panics
            /// If `a` does not have the ring degree.
            inverse(a: &mut [u64]);
            /// Applies [`Self::inverse`] and multiplies by the constant of `factor`, at no extra
            /// cost.
            ///
            /// # Panics
            /// If `a` does not have the ring degree.
            inverse_scaled(a: &mut [u64], factor: &InverseFactor);
            /// Applies [`Self::inverse_scaled`] to `a`, into `out`.
            ///
            /// # Panics
            /// If `out` or `a` does not have the ring degree.
            inverse_scaled_into(out: &mut [u64], a: &[u64], factor: &InverseFactor);
            /// Prepares the constant `c` in `[0, q)` for [`Self::inverse_scaled`].
            inverse_factor(c: u64) -> InverseFactor;
        }
    }

    methods! {
        elementwise,
        linear {
            /// Returns the modulus `q`.
            modulus() -> u64;
            /// Returns the exclusive bound of lazily reduced inputs, as a multiple of `q`.
            lazy_multiple() -> u64;
            /// Returns a constant of this ring, reduced and prepared for multiplications.
            scalar(c: u64) -> Scalar;
        }
        products {
            /// Sets `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`.
            ///
            /// All are in the form of [`Self::lift`]. See
            /// [`crate::elementwise::Elementwise::sum_products`].
            ///
            /// # Panics
            /// If lengths differ.
            sum_products(acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]);
            /// Computes [`Self::sum_products`] for `x` whose values repeat.
            ///
            /// See [`crate::elementwise::Elementwise::sum_repeated_products`].
            ///
            /// # Panics
            /// If lengths differ, or are not multiples of 64.
            sum_repeated_products(acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]);
            /// Returns the bytes of each digit of a [`KeyLimb`] of this ring, for polynomials of
            /// `length` coefficients.
            key_bytes(length: usize) -> usize;
        }
    }

    operations!(methods!(elementwise,));

    /// Sets `a = floor((b - a mod 2^shift q) / 2^shift) s` modulo `q = 2^e`, for any words `a` and
    /// `b` and `e + shift <= 64`.
    ///
    /// The quotient is exact if `2^shift` divides `b - a`. This is the last step of a switch from a
    /// modulus with `2^(e + shift)` to one with `2^e`.
    ///
    /// # Panics
    /// If `q` is not a power of two, or `shift` is too large.
    pub fn sub_from_shift_mul_scalar_assign(
        &self,
        a: &mut [u64],
        b: &[u64],
        shift: u32,
        s: &Scalar,
    ) {
        match self {
            ResidueRing::Odd(_) => {
                panic!(
                    "the modulus {} is not a power of two, so residues are not shifted",
                    self.modulus()
                )
            }
            ResidueRing::PowerOfTwo(ring) => {
                ring.linear.sub_from_shift_mul_scalar_assign(a, b, shift, s);
            }
        }
    }

    /// Computes [`ResidueRing::inner_product`] plus further summands.
    ///
    /// See [`crate::elementwise::Elementwise::inner_product_plus`].
    ///
    /// # Panics
    /// The same as `inner_product`. Also if the modulus is a power of two.
    pub fn inner_product_plus(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
        beside: &ExtraSummands<'_>,
    ) {
        self.odd().elementwise.inner_product_plus(acc0, acc1, digits, key, beside);
    }

    /// Computes a sum of inner products, each times a monomial minus one.
    ///
    /// See [`crate::elementwise::Elementwise::inner_product_times_monomials`].
    ///
    /// # Panics
    /// The same as `inner_product`. Also if there is no pair or more than three, a monomial has
    /// another ring degree, or the modulus is a power of two.
    pub fn inner_product_times_monomials(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        turned: &[MonomialTerm<'_>],
        key: &KeyLimb,
    ) {
        self.odd().elementwise.inner_product_times_monomials(acc0, acc1, turned, key);
    }

    /// Returns the monomials of this ring, whose degree must be at least 64.
    ///
    /// # Panics
    /// If the modulus is a power of two, or the degree is too small.
    pub fn monomials(&self) -> Monomials {
        self.odd().monomials()
    }

    /// Returns the ring if its modulus is odd, so that limbs hold values.
    fn odd(&self) -> &OddRing {
        match self {
            ResidueRing::Odd(ring) => ring,
            ResidueRing::PowerOfTwo(_) => {
                panic!("the modulus 2^{} has no evaluation domain", self.modulus().ilog2())
            }
        }
    }

    /// Returns the moduli of a digit's limbs in the form of [`ResidueRing::lift`].
    ///
    /// If `q` is odd, this is `q` itself, otherwise the primes that products are computed modulo.
    pub fn lifted_moduli(&self) -> &[u64] {
        match self {
            ResidueRing::Odd(ring) => std::slice::from_ref(&ring.elementwise.q),
            ResidueRing::PowerOfTwo(ring) => ring.products.primes(),
        }
    }

    /// Returns [`ResidueRing::lifted_moduli`] as `kernel` would choose them. This CPU need not
    /// support it.
    pub fn lifted_moduli_of_kernel(&self, kernel: Kernel) -> Vec<u64> {
        match self {
            ResidueRing::Odd(_) => self.lifted_moduli().to_vec(),
            ResidueRing::PowerOfTwo(ring) => ring.products.primes_by(kernel),
        }
    }

    /// Returns [`ResidueRing::key_bytes`] modulo the odd number `q` for `kernel`, which this CPU
    /// need not support.
    pub fn key_bytes_of_kernel(kernel: Kernel, q: u64, length: usize) -> usize {
        let is_packed = kernel == Kernel::Avx512Ifma && q < 1 << 48;
        digit_bytes(length, if is_packed { 6 } else { 8 })
    }

    /// Brings a digit into the form in which inner products use it, once for many inner products.
    ///
    /// Modulo a power of two, this form has the transforms of the digit. For odd `q` it is the
    /// digit itself.
    ///
    /// # Panics
    /// If `out` does not have a limb of the length of `a` for each of
    /// [`ResidueRing::lifted_moduli`].
    pub fn lift(&self, out: &mut [u64], a: &[u64]) {
        match self {
            ResidueRing::Odd(_) => out.copy_from_slice(a),
            ResidueRing::PowerOfTwo(ring) => ring.products.lift(out, a),
        }
    }

    /// Computes [`ResidueRing::inner_product`] of digits in the form of [`ResidueRing::lift`].
    ///
    /// # Panics
    /// The same as `inner_product`.
    pub fn inner_product_lifted(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        match self {
            ResidueRing::Odd(ring) => ring.elementwise.inner_product(acc0, acc1, digits, key),
            ResidueRing::PowerOfTwo(ring) => {
                ring.products.inner_product_lifted(acc0, acc1, digits, key);
            }
        }
    }

    /// Sets `out` to the image of the limb `a` under the automorphism. Both are in `domain`, with
    /// residues in `[0, q)`.
    ///
    /// # Panics
    /// If a limb or the automorphism does not have the ring degree.
    pub fn apply_automorphism(
        &self,
        automorphism: &Automorphism,
        domain: Domain,
        out: &mut [u64],
        a: &[u64],
    ) {
        match (self, domain) {
            (ResidueRing::Odd(_), Domain::Evaluation) => automorphism.apply_evaluation(out, a),
            _ => automorphism.apply_coefficient(self.modulus(), out, a),
        }
    }

    /// Adds the constant polynomial `c` in `[0, q)` to the limb `a` in `domain`, with residues in
    /// `[0, q)`.
    ///
    /// This adds to every value, or only to the first coefficient.
    ///
    /// # Panics
    /// If the limb does not have the ring degree.
    pub fn add_constant_assign(&self, domain: Domain, a: &mut [u64], c: u64) {
        assert_eq!(a.len(), self.degree(), "a limb must have the ring degree");
        match (self, domain) {
            (ResidueRing::Odd(ring), Domain::Evaluation) => {
                ring.elementwise.add_scalar_assign(a, c);
            }
            _ => a[0] = add_mod(a[0], c, self.modulus()),
        }
    }

    /// Wipes and frees the scratch memory that operations keep for reuse.
    pub fn wipe_scratch(&self) {
        if let ResidueRing::PowerOfTwo(ring) = self {
            ring.products.wipe_scratch();
        }
    }
}

impl KeyRing for ResidueRing {
    fn key_shape(&self, digits: usize, length: usize) -> KeyLimb {
        match self {
            ResidueRing::Odd(ring) => ring.elementwise.key_shape(digits, length),
            ResidueRing::PowerOfTwo(ring) => ring.products.key_shape(digits, length),
        }
    }

    fn write_key_digit(&self, out: &mut [u8], place: [usize; 2], b: &[u64], a: &[u64]) {
        match self {
            ResidueRing::Odd(ring) => ring.elementwise.write_key_digit(out, place, b, a),
            ResidueRing::PowerOfTwo(ring) => ring.products.write_key_digit(out, place, b, a),
        }
    }

    fn coalesce_into(&self, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]) {
        match self {
            ResidueRing::Odd(ring) => ring.elementwise.coalesce_into(out, key, groups),
            ResidueRing::PowerOfTwo(_) => {
                panic!("digits of a key modulo 2^{} cannot be coalesced", self.modulus().ilog2())
            }
        }
    }
}
