//! RLWE samples, which all keys of this crate consist of.

use hippocrene_ring::{Kernel, ResidueRing, Sampler, Seed};
use zeroize::Zeroizing;

use crate::{FhewError, LweSecretKey};

/// The domain that the seeds of errors are derived for.
const DOMAIN_ERRORS: u64 = 1;

/// Returns the rings `Z_q[X]/(X^n + 1)` for `n = degree` and the given moduli.
///
/// # Errors
/// If `n` is not a ring degree, or a modulus is neither a power of two nor a prime with a transform
/// of this degree.
pub(crate) fn rings(degree: usize, moduli: &[u64]) -> Result<Vec<ResidueRing>, FhewError> {
    let kernel = Kernel::detect()?;
    let ring = |q: &u64| match q.is_power_of_two() {
        true => ResidueRing::power_of_two(q.ilog2(), degree, kernel),
        false => ResidueRing::prime(*q, degree, kernel),
    };
    moduli.iter().map(|q| Ok(ring(q)?)).collect()
}

/// Makes samples `(b, a)` with `b = -a s + e`, limb by limb in the evaluation domain.
///
/// The modulus is a product of primes or a power of two. With `k` moduli, limb `j` of the `a` of
/// sample `i` is the uniform polynomial of stream `k i + j` of one seed.
pub(crate) struct SampleMaker {
    rings: Vec<ResidueRing>,
    seed: Seed,
    errors: Seed,
    /// `s` in the evaluation domain, limb by limb.
    secret: Vec<Zeroizing<Vec<u64>>>,
}

impl SampleMaker {
    /// Prepares samples under `secret` as a polynomial, modulo these moduli.
    pub(crate) fn new(secret: &LweSecretKey, moduli: &[u64]) -> Result<Self, FhewError> {
        let rings = rings(secret.parameters().ring_degree(), moduli)?;
        let of_ring = |ring: &ResidueRing| {
            let mut limb = Zeroizing::new(vec![0; ring.degree()]);
            secret.polynomial(ring, |i| i, &mut limb);
            limb
        };
        let secret = rings.iter().map(of_ring).collect();
        let (seed, errors) = (Seed::random()?, Seed::random()?.derive(DOMAIN_ERRORS));
        Ok(SampleMaker { rings, seed, errors, secret })
    }

    pub(crate) fn rings(&self) -> &[ResidueRing] {
        &self.rings
    }

    /// Returns the seed of the `a`.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Returns limb `j` of `s`, in the evaluation domain.
    pub(crate) fn secret(&self, j: usize) -> &[u64] {
        &self.secret[j]
    }

    /// Writes the `b` of sample `i`, limb after limb.
    pub(crate) fn sample(&self, i: usize, b: &mut [u64]) {
        let degree = self.rings[0].degree();
        let mut error = Zeroizing::new(vec![0; degree]);
        Sampler::new(&self.errors, i as u64).gaussian(&mut error);
        for (j, (ring, b)) in self.rings.iter().zip(b.chunks_exact_mut(degree)).enumerate() {
            ring.from_signed(b, &error);
            ring.forward(b);
            let mut product = Zeroizing::new(expand(&self.rings, &self.seed, i, j));
            ring.mul_assign(&mut product, &self.secret[j]);
            ring.sub_assign(b, &product);
        }
    }
}

/// Returns limb `j` of the `a` of sample `i`, in the evaluation domain.
pub(crate) fn expand(rings: &[ResidueRing], seed: &Seed, i: usize, j: usize) -> Vec<u64> {
    let ring = &rings[j];
    let mut a = vec![0; ring.degree()];
    Sampler::new(seed, (rings.len() * i + j) as u64).uniform(ring.modulus(), &mut a);
    a
}
