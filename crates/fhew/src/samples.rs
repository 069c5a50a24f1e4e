//! RLWE samples in rings of one modulus: what all keys of this crate are made of.

use hippocrene_ring::{Kernel, ResidueRing, Sampler, Seed};
use zeroize::{Zeroize, Zeroizing};

use crate::{FhewError, LweParameters, LweSecretKey};

/// What error seeds are derived for.
const DOMAIN_ERRORS: u64 = 1;

/// `Z_q[X]/(X^n + 1)` of LWE parameters.
///
/// # Errors
/// When the dimension is no ring degree or the modulus no prime that has a transform there.
pub(crate) fn ring_of(parameters: LweParameters) -> Result<ResidueRing, FhewError> {
    Ok(ResidueRing::prime(parameters.modulus(), parameters.dimension(), Kernel::detect()?)?)
}

/// Makes samples `(b, a)` with `b = -a s + e`, all in the evaluation domain: the `a` of sample `i` is the uniform polynomial of stream `i` of one seed.
pub(crate) struct SampleMaker {
    ring: ResidueRing,
    seed: Seed,
    errors: Seed,
    /// `s` in the evaluation domain.
    secret: Zeroizing<Vec<u64>>,
}

impl SampleMaker {
    /// Under `secret`, as a polynomial modulo the modulus of its parameters.
    pub(crate) fn new(secret: &LweSecretKey) -> Result<Self, FhewError> {
        let ring = ring_of(secret.parameters())?;
        let mut evaluation = Zeroizing::new(vec![0; ring.degree()]);
        secret.polynomial(&ring, |i| i, &mut evaluation);
        let (seed, errors) = (Seed::random()?, Seed::random()?.derive(DOMAIN_ERRORS));
        Ok(SampleMaker { ring, seed, errors, secret: evaluation })
    }

    pub(crate) fn ring(&self) -> &ResidueRing {
        &self.ring
    }

    /// The seed of the `a`.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `b` of sample `i`.
    pub(crate) fn sample(&self, i: u64, b: &mut [u64]) {
        let degree = self.ring.degree();
        let mut error = Zeroizing::new(vec![0; degree]);
        Sampler::new(&self.errors, i).gaussian(&mut error);
        self.ring.elementwise().from_signed(b, &error);
        self.ring.ntt().forward(b);
        let mut product = expand(&self.ring, &self.seed, i);
        self.ring.elementwise().mul_assign(&mut product, &self.secret);
        self.ring.elementwise().sub_assign(b, &product);
        product.zeroize();
    }
}

/// The `a` of sample `i`, in the evaluation domain.
pub(crate) fn expand(ring: &ResidueRing, seed: &Seed, i: u64) -> Vec<u64> {
    let mut a = vec![0; ring.degree()];
    Sampler::new(seed, i).uniform(ring.modulus(), &mut a);
    a
}
