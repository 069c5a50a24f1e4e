//! Residue rings: the rings that limbs are computed in.

use crate::{
    Automorphism, Domain, Kernel, RingError,
    arith::add_mod,
    elementwise::{Elementwise, Scalar},
    monomial::Monomials,
    ntt::{self, NttPlan},
    power_of_two::PowerOfTwo,
};

/// The ring of one limb, `Z_q[X]/(X^N + 1)`, with its kernels.
///
/// Its modulus is a prime, a product of primes or a power of two. All answer to the same
/// operations, and who calls does not ask which it is:
/// - [`ResidueRing::ntt`] goes between the two domains. Modulo a power of two there is no
///   transform; a limb holds its coefficients in both domains.
/// - The operations of [`ResidueRing::elementwise`], on limbs in the evaluation domain, are those
///   of the ring: products are products of polynomials. The linear ones are so in the coefficient
///   domain too.
/// - What depends on how a polynomial lies in its limb has methods here, which are told the domain.
#[derive(Clone)]
pub struct ResidueRing {
    ntt: NttPlan,
    elementwise: Elementwise,
    modulus: u64,
    degree: usize,
}

/// Without its tables.
impl std::fmt::Debug for ResidueRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResidueRing {{ modulus: {}, degree: {}, .. }}", self.modulus, self.degree)
    }
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
        let ntt = NttPlan::composite(primes, degree, kernel)?;
        let elementwise = Elementwise::new(primes.iter().product(), kernel);
        Ok(Self::new(ntt, elementwise, degree))
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
        let arithmetic = PowerOfTwo::new(exponent, degree, kernel)?;
        Ok(Self::of_power(arithmetic, degree))
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
        let all = PowerOfTwo::all(largest, degree, kernel)?;
        Ok(all.into_iter().map(|arithmetic| Self::of_power(arithmetic, degree)).collect())
    }

    fn of_power(arithmetic: PowerOfTwo, degree: usize) -> Self {
        let ntt = NttPlan::identity(arithmetic.words, degree);
        Self::new(ntt, Elementwise::power_of_two(arithmetic), degree)
    }

    fn new(ntt: NttPlan, elementwise: Elementwise, degree: usize) -> Self {
        assert!(
            ntt.lazy_bound() <= elementwise.lazy_multiple(),
            "products take what transforms leave"
        );
        ResidueRing { ntt, modulus: elementwise.modulus(), elementwise, degree }
    }

    /// The modulus `q`.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// `log2 q`.
    pub fn log2(&self) -> f64 {
        (self.modulus as f64).log2()
    }

    /// The transform between the two domains.
    pub fn ntt(&self) -> &NttPlan {
        &self.ntt
    }

    /// Operations on one limb.
    pub fn elementwise(&self) -> &Elementwise {
        &self.elementwise
    }

    /// A constant of this ring, prepared for multiplications.
    pub fn scalar(&self, c: u64) -> Scalar {
        self.elementwise.scalar(c)
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
        if domain == Domain::Coefficient || self.ntt.is_identity() {
            automorphism.apply_coefficient(self.modulus, out, a);
        } else {
            automorphism.apply_evaluation(out, a);
        }
    }

    /// Adds the constant polynomial `c` in `[0, q)` to `a` in `domain`, of residues in `[0, q)`: to
    /// every value, or to the first coefficient.
    ///
    /// # Panics
    /// When the limb is not of the ring degree.
    pub fn add_constant_assign(&self, domain: Domain, a: &mut [u64], c: u64) {
        assert_eq!(a.len(), self.degree, "limbs are of the ring degree");
        if domain == Domain::Coefficient || self.ntt.is_identity() {
            a[0] = add_mod(a[0], c, self.modulus);
        } else {
            self.elementwise.add_scalar_assign(a, c);
        }
    }

    /// Wipes the memory that operations have worked in and keep for the next, and gives it back.
    pub fn forget(&self) {
        self.elementwise.forget();
    }
}

impl Monomials {
    /// The monomials of a ring of a prime, of degree 64 at least.
    ///
    /// # Panics
    /// When the modulus is a power of two, whose limbs hold coefficients in both domains, or the
    /// degree is too small.
    pub fn new(ring: &ResidueRing) -> Self {
        let (degree, q) = (ring.degree(), ring.modulus());
        assert!(!ring.ntt().is_identity(), "rings of powers of two have no values");
        // The values of X are the odd powers of psi.
        let mut x = vec![0; degree];
        x[1] = 1;
        ring.ntt().forward(&mut x);
        let of_psi = (0..degree).find(|position| ntt::exponent(degree, *position) == 1);
        let psi = x[of_psi.expect("every odd exponent has its position")];
        Monomials::of_root(degree, q, psi, ring.elementwise().key_factor())
    }
}
