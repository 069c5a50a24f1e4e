//! The blind rotation key as it is made and stored.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, Seed, Threads};
use hippocrene_rlwe::{Context, Fingerprint};
use zeroize::Zeroizing;

use super::RotationParameters;
use crate::{FhewError, LweSecretKey, dry_run::check_dry_run, samples::SampleMaker};

/// A blind rotation key: RGSW encryptions of bits of the input's secret, under the ring's secret
/// `s` (PEGASUS Fig. 2).
///
/// The bits `m` of a step encode one or two coefficients of the input's secret. For each weight
/// `w_k` of the gadget, the encryption of a bit holds the RLWE encryptions of `m w_k` (row `k`) and
/// of `m w_k s` (row `count + k`). With a special prime there is one weight, `p`. A seed stands for
/// all `a`, which halves the size. See
/// [`PreparedBlindRotationKey`](crate::PreparedBlindRotationKey) for an example.
#[derive(Debug, Clone)]
pub struct BlindRotationKey {
    pub(super) parameters: RotationParameters,
    pub(super) input_key: Fingerprint,
    pub(super) ring_key: Fingerprint,
    pub(super) seed: Seed,
    /// The `b`, one polynomial per step. It has the rows of the first bit, then those of the next,
    /// and each row has a limb for every prime.
    pub(super) b: Vec<Poly>,
    /// The context of a dry run, which records operations. The key has no samples in a dry run.
    pub(super) dry_run: Option<Arc<Context>>,
}

impl BlindRotationKey {
    /// Makes a fresh key for the secrets of inputs and of the ring, in parallel on `threads`.
    ///
    /// # Errors
    /// - [`FhewError::Dimension`] if the secrets differ from the dimensions of `parameters`.
    /// - [`FhewError::Parameters`] if they differ from its distributions, on which security and
    ///   noise depend.
    /// - An error of the ring if a modulus is not a prime with transforms of the ring degree.
    /// - An error of the operating system if it provides no entropy.
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
                    "the secret is {}, but the parameters need a {} one",
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
                // Only the limb modulo `q` has messages: `p` times anything is 0 modulo `p`.
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

    /// Makes a key without samples, for dry runs.
    ///
    /// Its look-ups take messages ([`crate::RlweCoefficients::dry_run`]) and record their time in
    /// `context`, which must be that of a dry run.
    ///
    /// # Errors
    /// [`hippocrene_rlwe::RlweError::Parameters`] if the context is not that of a dry run, and an
    /// error of the operating system if it provides no entropy.
    pub fn dry_run(
        context: &Arc<Context>,
        parameters: RotationParameters,
        [input_key, ring_key]: [Fingerprint; 2],
    ) -> Result<Self, FhewError> {
        check_dry_run(context)?;
        let (seed, dry_run) = (Seed::random()?, Some(Arc::clone(context)));
        Ok(BlindRotationKey { parameters, input_key, ring_key, seed, b: Vec::new(), dry_run })
    }

    /// Assembles a key from its stored parts.
    ///
    /// They are the fingerprints of the secrets of inputs and of the ring, the seed and the `b`.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the number or the degree of the samples is wrong, or a residue
    /// is not below its modulus.
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
            return refused(format!("the key has {} steps, but {count} are needed", b.len()));
        }
        for samples in &b {
            let have = (samples.degree(), samples.limb_count());
            if have != (degree, limbs) || samples.domain() != Domain::Evaluation {
                return refused(format!(
                    "a step has {} samples of degree {}, but {limbs} of degree {degree} are needed",
                    have.1, have.0
                ));
            }
            let beyond = |(limb, q): (&[u64], &u64)| limb.iter().any(|x| x >= q);
            if samples.limbs().zip(moduli.iter().cycle()).any(beyond) {
                return refused("a residue of the key is not below its modulus".into());
            }
        }
        Ok(BlindRotationKey { parameters, input_key, ring_key, seed, b, dry_run: None })
    }

    /// Returns the fingerprints of the secret of inputs and of the secret of the ring.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.input_key, self.ring_key]
    }

    /// Returns the parameters of the rotations.
    pub fn parameters(&self) -> RotationParameters {
        self.parameters
    }

    /// Returns the seed of the `a`.
    ///
    /// With `k` primes, limb `j` of sample `i` is the uniform polynomial of stream `k i + j`, in
    /// the evaluation domain. The samples of step `i` begin at sample `bits rows i`.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Returns the `b`, one polynomial per step in the evaluation domain.
    ///
    /// It holds the rows of the step's RGSW encryptions, each with a limb for every prime.
    pub fn b(&self) -> &[Poly] {
        &self.b
    }

    /// Returns the size of the `b` and the seed in bytes, with residues packed to their bits.
    pub fn stored_bytes(&self) -> usize {
        let width: usize = self.parameters.moduli().iter().map(|q| q.ilog2() as usize + 1).sum();
        let samples = self.parameters.steps() * self.parameters.bits() * self.parameters.rows();
        (samples * self.parameters.ring().dimension() * width).div_ceil(8)
            + self.seed.as_bytes().len()
    }
}

/// Returns the messages of the rows for the bit 1, modulo `q` in the evaluation domain.
///
/// They are `w_k` in the first half of the rows and `w_k s` in the second half.
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
