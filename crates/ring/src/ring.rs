//! Residue rings: the rings that limbs are computed in.

use crate::{
    Automorphism, Domain, Kernel, RingError,
    arith::add_mod,
    elementwise::{Beside, KeyLimb, KeyRing, PairTerm, Scalar, Turned, digit_bytes, operations},
    monomial::Monomials,
    ntt::InverseFactor,
    odd::OddRing,
    power_of_two::PowerOfTwoRing,
};

/// The ring of one limb, `Z_q[X]/(X^N + 1)`, with its kernels.
///
/// Its modulus is a prime, a product of primes or a power of two. All answer to the same
/// operations, and callers need not ask which it is:
/// - Transforms ([`ResidueRing::forward`], [`ResidueRing::inverse`]) go between the two domains.
///   Modulo a power of two there is no transform; a limb holds its coefficients in both domains.
/// - The operations of [`crate::elementwise`], on limbs in the evaluation domain, are those of the
///   ring: products are products of polynomials. The linear ones are so in the coefficient domain
///   too. Modulo powers of two, linear operations cost 2 to 4 vector instructions per 8 residues,
///   and products the transforms that [`ResidueRing::power_of_two`] tells of.
/// - What depends on how a polynomial lies in its limb has methods that are told the domain.
#[derive(Clone)]
pub enum ResidueRing {
    /// The ring of a prime or of a product of primes.
    Odd(OddRing),
    /// The ring of a power of two.
    PowerOfTwo(PowerOfTwoRing),
}

/// Without its tables.
impl std::fmt::Debug for ResidueRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResidueRing {{ modulus: {}, degree: {}, .. }}", self.modulus(), self.degree())
    }
}

/// Methods that call those of their names: of one field of [`OddRing`], and of a field of
/// [`PowerOfTwoRing`] for each list.
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
    /// The ring of the prime `q < 2^61`, `q = 1 mod 2 degree`.
    ///
    /// # Errors
    /// When the degree or the modulus is not supported, or there is no transform.
    pub fn prime(q: u64, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Self::composite(&[q], degree, kernel)
    }

    /// The ring of the product `q < 2^61` of distinct `primes`, each `1 mod 2 degree`, with one
    /// transform for all of them. Limbs of it reduced modulo some of the primes are limbs of the
    /// ring of those, in either domain (GRAFT C.6).
    ///
    /// # Errors
    /// When the degree or the product is not supported, two primes are equal, or there is no
    /// transform.
    pub fn composite(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Ok(ResidueRing::Odd(OddRing::new(primes, degree, kernel)?))
    }

    /// The ring of `2^exponent`, `1 <= exponent <= 60`.
    ///
    /// Products are computed over the integers, modulo primes that are the ring's own choice (GRAFT
    /// C.6): `p` of them, with `2 N 2^(2 exponent - 2) < g_1 .. g_p / 2`. A product costs `3p`
    /// transforms, a tensor product `7p` (a square `5p`), an inner product of `d` digits `(d + 2)
    /// p` (and `2p` for every 32 digits, or fewer where the bound says so). They take and return
    /// their memory by a lock.
    ///
    /// # Errors
    /// When the degree or the exponent is not supported.
    pub fn power_of_two(exponent: u32, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Ok(ResidueRing::PowerOfTwo(PowerOfTwoRing::new(exponent, degree, kernel)?))
    }

    /// The rings of `2^1 .. 2^largest`, in this order, which share their tables.
    ///
    /// # Errors
    /// As [`ResidueRing::power_of_two`].
    pub fn powers_of_two(
        largest: u32,
        degree: usize,
        kernel: Kernel,
    ) -> Result<Vec<Self>, RingError> {
        let all = PowerOfTwoRing::all(largest, degree, kernel)?;
        Ok(all.into_iter().map(ResidueRing::PowerOfTwo).collect())
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        match self {
            ResidueRing::Odd(ring) => ring.degree,
            ResidueRing::PowerOfTwo(ring) => ring.identity.degree(),
        }
    }

    /// `log2 q`.
    pub fn log2(&self) -> f64 {
        (self.modulus() as f64).log2()
    }

    methods! {
        ntt,
        identity {
            /// Coefficients in `[0, q)` to values in `[0, q)`, in evaluation order.
            ///
            /// # Panics
            /// When `a` is not of the ring degree.
            forward(a: &mut [u64]);
            /// Coefficients in `[0, 2q)` to congruent values in `[0, lazy_bound() q)`.
            ///
            /// # Panics
            /// When `a` is not of the ring degree.
            forward_lazy(a: &mut [u64]);
            /// [`Self::forward_lazy`] of residues modulo another modulus, into `out`. See
            /// [`crate::ntt::NttPlan::forward_lazy_centred`].
            ///
            /// # Panics
            /// When `out` or `y` is not of the ring degree, or `from` is larger than `2q`.
            forward_lazy_centred(out: &mut [u64], y: &[u64], from: u64);
            /// The multiple of `q` below which [`Self::forward_lazy`] leaves its values.
            lazy_bound() -> u64;
            /// Values in `[0, 2q)`, in evaluation order, to coefficients in `[0, q)`.
            ///
            /// # Panics
            /// When `a` is not of the ring degree.
            inverse(a: &mut [u64]);
            /// [`Self::inverse`] times the constant that `factor` was prepared from, at no extra
            /// cost.
            ///
            /// # Panics
            /// When `a` is not of the ring degree.
            inverse_scaled(a: &mut [u64], factor: &InverseFactor);
            /// [`Self::inverse_scaled`] of `a`, into `out`.
            ///
            /// # Panics
            /// When `out` or `a` is not of the ring degree.
            inverse_scaled_into(out: &mut [u64], a: &[u64], factor: &InverseFactor);
            /// Prepares the constant `c` in `[0, q)` for [`Self::inverse_scaled`].
            inverse_factor(c: u64) -> InverseFactor;
        }
    }

    methods! {
        elementwise,
        linear {
            /// The modulus `q`.
            modulus() -> u64;
            /// The multiple of `q` below which lazily reduced inputs may lie.
            lazy_multiple() -> u64;
            /// A constant of this ring, reduced and prepared for multiplications.
            scalar(c: u64) -> Scalar;
        }
        products {
            /// `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`, all in the
            /// form of [`Self::lift`]. See [`crate::elementwise::Elementwise::sum_products`].
            ///
            /// # Panics
            /// When lengths differ.
            sum_products(acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]);
            /// [`Self::sum_products`] for `x` whose values repeat. See
            /// [`crate::elementwise::Elementwise::sum_repeated_products`].
            ///
            /// # Panics
            /// When lengths differ, or are no multiple of 64.
            sum_repeated_products(acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]);
            /// Bytes that each digit takes of a [`KeyLimb`] of this ring, for polynomials of
            /// `length` coefficients.
            key_bytes(length: usize) -> usize;
        }
    }

    operations!(methods!(elementwise,));

    /// `a = floor((b - a mod 2^shift q) / 2^shift) s` modulo `q = 2^e`, for any words `a` and `b`;
    /// `e + shift <= 64`. It is the exact quotient where `2^shift` divides `b - a`: what ends the
    /// switch from a modulus with `2^(e + shift)` to one with `2^e`.
    ///
    /// # Panics
    /// When `q` is not a power of two, or `shift` is too large.
    pub fn sub_from_shift_mul_scalar_assign(
        &self,
        a: &mut [u64],
        b: &[u64],
        shift: u32,
        s: &Scalar,
    ) {
        match self {
            ResidueRing::Odd(_) => {
                panic!("residues modulo {} are not shifted: it is no power of two", self.modulus())
            }
            ResidueRing::PowerOfTwo(ring) => {
                ring.linear.sub_from_shift_mul_scalar_assign(a, b, shift, s);
            }
        }
    }

    /// [`ResidueRing::inner_product`] with more summands. See
    /// [`crate::elementwise::Elementwise::inner_product_beside`].
    ///
    /// # Panics
    /// As `inner_product`, and when the modulus is a power of two.
    pub fn inner_product_beside(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
        beside: &Beside<'_>,
    ) {
        self.odd().elementwise.inner_product_beside(acc0, acc1, digits, key, beside);
    }

    /// Inner products times monomials less one, added up. See
    /// [`crate::elementwise::Elementwise::inner_product_turned`].
    ///
    /// # Panics
    /// As `inner_product`, when there is no pair or more than three, a monomial is of another ring
    /// degree, or the modulus is a power of two.
    pub fn inner_product_turned(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        turned: &[Turned<'_>],
        key: &KeyLimb,
    ) {
        self.odd().elementwise.inner_product_turned(acc0, acc1, turned, key);
    }

    /// The monomials of this ring, of degree 64 at least.
    ///
    /// # Panics
    /// When the modulus is a power of two, or the degree is too small.
    pub fn monomials(&self) -> Monomials {
        self.odd().monomials()
    }

    /// The ring of an odd modulus, which has values.
    fn odd(&self) -> &OddRing {
        match self {
            ResidueRing::Odd(ring) => ring,
            ResidueRing::PowerOfTwo(_) => {
                panic!("limbs modulo 2^{} hold no values", self.modulus().ilog2())
            }
        }
    }

    /// The moduli of the limbs that a digit takes in the form of [`ResidueRing::lift`]: `q` itself
    /// if it is odd, else the primes that products are computed modulo.
    pub fn lifted_moduli(&self) -> &[u64] {
        match self {
            ResidueRing::Odd(ring) => std::slice::from_ref(&ring.elementwise.q),
            ResidueRing::PowerOfTwo(ring) => ring.products.primes(),
        }
    }

    /// [`ResidueRing::lifted_moduli`] with `kernel`, which this CPU need not have.
    pub fn lifted_moduli_by(&self, kernel: Kernel) -> Vec<u64> {
        match self {
            ResidueRing::Odd(_) => self.lifted_moduli().to_vec(),
            ResidueRing::PowerOfTwo(ring) => ring.products.primes_by(kernel),
        }
    }

    /// [`ResidueRing::key_bytes`] modulo the odd number `q` with `kernel`, which this CPU need not
    /// have.
    pub fn key_bytes_by(kernel: Kernel, q: u64, length: usize) -> usize {
        let is_packed = kernel == Kernel::Avx512Ifma && q < 1 << 48;
        digit_bytes(length, if is_packed { 6 } else { 8 })
    }

    /// Brings a digit to the form that inner products compute with, for one that takes part in
    /// many: modulo a power of two to its transforms; for odd `q` it is that form already.
    ///
    /// # Panics
    /// When `out` does not have a limb of the length of `a` for each of
    /// [`ResidueRing::lifted_moduli`].
    pub fn lift(&self, out: &mut [u64], a: &[u64]) {
        match self {
            ResidueRing::Odd(_) => out.copy_from_slice(a),
            ResidueRing::PowerOfTwo(ring) => ring.products.lift(out, a),
        }
    }

    /// [`ResidueRing::inner_product`] of digits in the form of [`ResidueRing::lift`].
    ///
    /// # Panics
    /// As `inner_product`.
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

    /// Sets `out` to the image of `a`, one limb each in `domain`, of residues in `[0, q)`.
    ///
    /// # Panics
    /// When a limb or the automorphism is not of the ring degree.
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

    /// Adds the constant polynomial `c` in `[0, q)` to `a` in `domain`, of residues in `[0, q)`: to
    /// every value, or to the first coefficient.
    ///
    /// # Panics
    /// When the limb is not of the ring degree.
    pub fn add_constant_assign(&self, domain: Domain, a: &mut [u64], c: u64) {
        assert_eq!(a.len(), self.degree(), "limbs are of the ring degree");
        match (self, domain) {
            (ResidueRing::Odd(ring), Domain::Evaluation) => {
                ring.elementwise.add_scalar_assign(a, c);
            }
            _ => a[0] = add_mod(a[0], c, self.modulus()),
        }
    }

    /// Wipes the memory that operations have worked in and keep for the next, and gives it back.
    pub fn forget(&self) {
        if let ResidueRing::PowerOfTwo(ring) = self {
            ring.products.forget();
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
                panic!("digits of a key modulo 2^{} are not coalesced", self.modulus().ilog2())
            }
        }
    }
}
