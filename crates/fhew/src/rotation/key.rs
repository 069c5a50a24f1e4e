//! The key as it is made and stored.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, Seed, Threads};
use hippocrene_rlwe::{Context, Fingerprint};
use zeroize::Zeroizing;

use super::RotationParameters;
use crate::{FhewError, LweSecretKey, dry_run::check_dry_run, samples::SampleMaker};

/// RGSW encryptions, under the ring's secret `s`, of the bits `m` of every step (PEGASUS Fig. 2),
/// which say what one or two coefficients of the input's secret are: for each weight `w_k` of the
/// gadget the RLWE encryptions of `m w_k` (row `k`) and of `m w_k s` (row `count + k`). With a
/// special prime there is one weight, `p`.
///
/// The `a` of all are kept as a seed: half of the size.
#[derive(Debug, Clone)]
pub struct BlindRotationKey {
    pub(super) parameters: RotationParameters,
    pub(super) input_key: Fingerprint,
    pub(super) ring_key: Fingerprint,
    pub(super) seed: Seed,
    /// For each step: the rows of the first bit, then those of the second and so on, each with a
    /// limb for every prime.
    pub(super) b: Vec<Poly>,
    /// The context of a dry run, in which operations are noted. The key has no samples then.
    pub(super) dry_run: Option<Arc<Context>>,
}

impl BlindRotationKey {
    /// A fresh key for the secret of inputs and the secret of the ring, made on so many threads.
    ///
    /// # Errors
    /// [`FhewError::Dimension`] when the secrets are not of the dimensions of `parameters`,
    /// [`FhewError::Parameters`] when they are not of its distributions, for which the security and
    /// the noise hold; when a modulus is no prime that has transforms of the ring degree, or the
    /// operating system has no entropy.
    pub fn generate(
        parameters: RotationParameters,
        input: &LweSecretKey,
        ring: &LweSecretKey,
        threads: &Threads,
    ) -> Result<Self, FhewError> {
        for (secret, need) in [(input, parameters.input()), (ring, parameters.ring())] {
            let secret = secret.parameters();
            if secret.dimension() != need.dimension() {
                let (have, need) = (secret.dimension(), need.dimension());
                return Err(FhewError::Dimension {
                    operation: "make a blind rotation key",
                    have,
                    need,
                });
            }
            if secret.secret() != need.secret() {
                let what = format!(
                    "a {} secret where the parameters are for a {} one",
                    secret.secret(),
                    need.secret()
                );
                return Err(FhewError::Parameters { what });
            }
        }
        let maker = SampleMaker::new(ring, &parameters.moduli())?;
        let (degree, limbs, rows) =
            (parameters.ring().dimension(), maker.rings().len(), parameters.rows());
        let messages = messages(&parameters, &maker);
        let b = threads.map(parameters.steps(), |i| {
            let mut masked = Zeroizing::new(vec![0; degree]);
            let mut samples = Poly::zero(degree, parameters.limbs(), Domain::Evaluation);
            let masks = Zeroizing::new(parameters.masks(input, i));
            for (j, sample) in samples.as_mut_slice().chunks_exact_mut(limbs * degree).enumerate() {
                maker.sample(parameters.bits() * rows * i + j, sample);
                let mask = masks[j / rows];
                // The messages are in the ring of `q` alone: `p` times anything is 0 modulo `p`.
                for (x, m) in masked.iter_mut().zip(&messages[j % rows * degree..]) {
                    *x = m & mask;
                }
                maker.rings()[0].add_assign(&mut sample[..degree], &masked);
            }
            samples
        });
        let (input_key, ring_key) = (input.fingerprint(), ring.fingerprint());
        Ok(BlindRotationKey {
            parameters,
            input_key,
            ring_key,
            seed: maker.seed().clone(),
            b,
            dry_run: None,
        })
    }

    /// A key without samples, for simulations. Its look-ups take messages
    /// ([`crate::RlweCoefficients::dry_run`]) and count their cost in `context`, which must be that
    /// of a dry run.
    ///
    /// # Errors
    /// [`hippocrene_rlwe::RlweError::Parameters`] when the context is not that of a dry run, and
    /// when the operating system has no entropy.
    pub fn dry_run(
        context: &Arc<Context>,
        parameters: RotationParameters,
        [input_key, ring_key]: [Fingerprint; 2],
    ) -> Result<Self, FhewError> {
        check_dry_run(context)?;
        let (seed, dry_run) = (Seed::random()?, Some(Arc::clone(context)));
        Ok(BlindRotationKey { parameters, input_key, ring_key, seed, b: Vec::new(), dry_run })
    }

    /// Puts a key together from its stored parts: the fingerprints of the secrets of inputs and of
    /// the ring, the seed and the `b`.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when these are not the parts of a key: the number of samples,
    /// their degree, or a residue beyond its modulus.
    pub fn from_parts(
        parameters: RotationParameters,
        [input_key, ring_key]: [Fingerprint; 2],
        seed: Seed,
        b: Vec<Poly>,
    ) -> Result<Self, FhewError> {
        let moduli = parameters.moduli();
        let refused = |what: String| Err(FhewError::Parameters { what });
        let (count, degree, limbs) =
            (parameters.steps(), parameters.ring().dimension(), parameters.limbs());
        if b.len() != count {
            return refused(format!("a key for {} steps, where there are {count}", b.len()));
        }
        for samples in &b {
            let have = (samples.degree(), samples.limb_count());
            if have != (degree, limbs) || samples.domain() != Domain::Evaluation {
                return refused(format!(
                    "{} samples of degree {}: {limbs} of {degree} are needed",
                    have.1, have.0
                ));
            }
            let beyond = |(limb, q): (&[u64], &u64)| limb.iter().any(|x| x >= q);
            if samples.limbs().zip(moduli.iter().cycle()).any(beyond) {
                return refused("a residue that is beyond its modulus".into());
            }
        }
        Ok(BlindRotationKey { parameters, input_key, ring_key, seed, b, dry_run: None })
    }

    /// The fingerprints of the secret of inputs and of the ring's.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.input_key, self.ring_key]
    }

    /// What it was made for.
    pub fn parameters(&self) -> RotationParameters {
        self.parameters
    }

    /// The seed of the `a`: of `k` primes, limb `j` of sample `i` has the uniform polynomial of
    /// stream `k i + j`, in the evaluation domain. The samples of step `i` are those from `bits
    /// rows i` on.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `b`, in the evaluation domain: for each step the rows of its RGSW encryptions, each with
    /// a limb for every prime.
    pub fn b(&self) -> &[Poly] {
        &self.b
    }

    /// Bytes of the `b` and the seed, with residues packed to their bits.
    pub fn stored_bytes(&self) -> usize {
        let width: usize = self.parameters.moduli().iter().map(|q| q.ilog2() as usize + 1).sum();
        let samples = self.parameters.steps() * self.parameters.bits() * self.parameters.rows();
        (samples * self.parameters.ring().dimension() * width).div_ceil(8)
            + self.seed.as_bytes().len()
    }
}

/// What rows encrypt of the bit 1, modulo `q` in the evaluation domain: `w_k` for the first half of
/// the rows and `w_k s` for the others.
fn messages(parameters: &RotationParameters, maker: &SampleMaker) -> Zeroizing<Vec<u64>> {
    let (ring, half) = (&maker.rings()[0], parameters.rows() / 2);
    let degree = ring.degree();
    let mut out = Zeroizing::new(vec![0; 2 * half * degree]);
    let (constants, multiples) = out.split_at_mut(half * degree);
    let rows = constants.chunks_exact_mut(degree).zip(multiples.chunks_exact_mut(degree));
    for (k, (constant, multiple)) in rows.enumerate() {
        let weight = parameters.weight(k);
        constant.fill(weight);
        ring.mul_scalar(multiple, maker.secret(0), &ring.scalar(weight));
    }
    out
}
