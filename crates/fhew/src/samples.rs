//! RLWE samples: what all keys of this crate are made of.

use hippocrene_ring::{Kernel, ResidueRing, Sampler, Seed};
use zeroize::Zeroizing;

use crate::{FhewError, LweSecretKey};

/// What error seeds are derived for.
const DOMAIN_ERRORS: u64 = 1;

/// The rings `Z_q[X]/(X^n + 1)` of these moduli: primes, or powers of two.
///
/// # Errors
/// When `n` is no ring degree or a modulus neither a prime that has a transform there nor a power
/// of two.
pub(crate) fn rings(degree: usize, moduli: &[u64]) -> Result<Vec<ResidueRing>, FhewError> {
    let kernel = Kernel::detect()?;
    let ring = |q: &u64| match q.is_power_of_two() {
        true => ResidueRing::power_of_two(q.ilog2(), degree, kernel),
        false => ResidueRing::prime(*q, degree, kernel),
    };
    moduli.iter().map(|q| Ok(ring(q)?)).collect()
}

/// Makes samples `(b, a)` modulo a product of primes, or a power of two, with `b = -a s + e`, limb
/// after limb in the evaluation domain. Of `k` primes, limb `j` of the `a` of sample `i` is the
/// uniform polynomial of stream `k i + j` of one seed.
pub(crate) struct SampleMaker {
    rings: Vec<ResidueRing>,
    seed: Seed,
    errors: Seed,
    /// `s` in the evaluation domain, limb by limb.
    secret: Vec<Zeroizing<Vec<u64>>>,
}

impl SampleMaker {
    /// Under `secret` as a polynomial, modulo these primes.
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

    /// The seed of the `a`.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// `s` in the evaluation domain, limb `j`.
    pub(crate) fn secret(&self, j: usize) -> &[u64] {
        &self.secret[j]
    }

    /// The `b` of sample `i`.
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

/// Limb `j` of the `a` of sample `i`, in the evaluation domain.
pub(crate) fn expand(rings: &[ResidueRing], seed: &Seed, i: usize, j: usize) -> Vec<u64> {
    let ring = &rings[j];
    let mut a = vec![0; ring.degree()];
    Sampler::new(seed, (rings.len() * i + j) as u64).uniform(ring.modulus(), &mut a);
    a
}
