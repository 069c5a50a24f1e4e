//! The LWE switching key as it is made and stored.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, SIGMA, Seed, digits::Digits};
use hippocrene_rlwe::{Context, Fingerprint, Noise};
use zeroize::Zeroizing;

use crate::{
    FhewError, LweParameters, LweSecretKey, dry_run::check_dry_run, noise::gadget_rounding,
    samples::SampleMaker,
};

/// A key that switches ciphertexts from the secret `s'` of dimension `N` to the secret `s` of
/// dimension `n`, modulo the prime `q` of the latter.
///
/// `s` is also a polynomial of `R_n`, or of degree [`LweParameters::ring_degree`] if `n` is not a
/// power of two. For each `v < N/n` and each digit `k`, the key holds an RLWE encryption of
/// `w_k S_v` in `R_n`: `(b, a)` with `b = -a s + e + w_k S_v`. [`Digits`] defines the weights
/// `w_k`, and the module documentation the parts `S_v` of `s'`. A seed stands for all `a`, which
/// halves the size. See [`PreparedLweSwitchingKey`](crate::PreparedLweSwitchingKey) for an example.
#[derive(Debug, Clone)]
pub struct LweSwitchingKey {
    pub(super) from: LweParameters,
    pub(super) to: LweParameters,
    pub(super) from_key: Fingerprint,
    pub(super) to_key: Fingerprint,
    pub(super) digits: Digits,
    pub(super) seed: Seed,
    /// The `b`: limb `v count + k` belongs to `v` and digit `k`.
    pub(super) b: Poly,
    /// The context of a dry run, which records operations. The key has no samples in a dry run.
    pub(super) dry_run: Option<Arc<Context>>,
}

impl LweSwitchingKey {
    /// Makes a fresh key with `count` digits of `base_log2` bits.
    ///
    /// Its samples have the parameters of `to`, so its security is theirs.
    ///
    /// # Errors
    /// - [`FhewError::Parameters`] if `N` is not a power of two or below the ring degree of `n`, or
    ///   the digits do not fit the modulus.
    /// - An error of the ring if the modulus of `to` is not a prime with transforms of degree `n`.
    /// - An error of the operating system if it provides no entropy.
    pub fn generate(
        from: &LweSecretKey,
        to: &LweSecretKey,
        base_log2: u32,
        count: usize,
    ) -> Result<Self, FhewError> {
        let (source, target) = (from.parameters(), to.parameters());
        let (n, q) = (target.ring_degree(), target.modulus());
        check_dimensions(source, target)?;
        let digits = gadget(q, base_log2, count)?;
        let stride = source.dimension() / n;
        let maker = SampleMaker::new(to, &[q])?;
        let ring = &maker.rings()[0];
        let mut b = Poly::zero(n, stride * count, Domain::Evaluation);
        let mut part = Zeroizing::new(vec![0; n]);
        for v in 0..stride {
            from.polynomial(ring, |l| v + stride * l, &mut part);
            for k in 0..count {
                let i = v * count + k;
                maker.sample(i, b.limb_mut(i));
                let weight = ring.scalar(digits.weight(k));
                ring.mul_scalar_add_assign(b.limb_mut(i), &part, &weight);
            }
        }
        let (from_key, to_key) = (from.fingerprint(), to.fingerprint());
        let seed = maker.seed().clone();
        Ok(LweSwitchingKey {
            from: source,
            to: target,
            from_key,
            to_key,
            digits,
            seed,
            b,
            dry_run: None,
        })
    }

    /// Makes a key without samples, for dry runs.
    ///
    /// Its switches take messages ([`crate::RlweCoefficients::dry_run`]) and record their time in
    /// `context`, which must be that of a dry run.
    ///
    /// # Errors
    /// The same as [`LweSwitchingKey::generate`], and [`hippocrene_rlwe::RlweError::Parameters`] if
    /// the context is not that of a dry run.
    pub fn dry_run(
        context: &Arc<Context>,
        [from, to]: [LweParameters; 2],
        [from_key, to_key]: [Fingerprint; 2],
        (base_log2, count): (u32, usize),
    ) -> Result<Self, FhewError> {
        check_dry_run(context)?;
        let (n, q) = (to.ring_degree(), to.modulus());
        check_dimensions(from, to)?;
        let digits = gadget(q, base_log2, count)?;
        let (seed, b) = (Seed::random()?, Poly::zero(n, 0, Domain::Evaluation));
        Ok(LweSwitchingKey {
            from,
            to,
            from_key,
            to_key,
            digits,
            seed,
            b,
            dry_run: Some(Arc::clone(context)),
        })
    }

    /// Assembles a key from its stored parts.
    ///
    /// They are the parameters and fingerprints of both secrets, the gadget, the seed and the `b`.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the dimensions, the digits or the number of samples do not fit,
    /// or a residue is not below the modulus.
    pub fn from_parts(
        [from, to]: [LweParameters; 2],
        [from_key, to_key]: [Fingerprint; 2],
        (base_log2, count): (u32, usize),
        seed: Seed,
        b: Poly,
    ) -> Result<Self, FhewError> {
        let (large, n, q) = (from.dimension(), to.ring_degree(), to.modulus());
        check_dimensions(from, to)?;
        let refused = |what: String| Err(FhewError::Parameters { what });
        let digits = gadget(q, base_log2, count)?;
        let (have, need) = ((b.degree(), b.limb_count()), (n, large / n * count));
        if have != need || b.domain() != Domain::Evaluation {
            return refused(format!(
                "the key has {} samples of degree {}, but {} of degree {} are needed",
                have.1, have.0, need.1, need.0
            ));
        }
        match b.as_slice().iter().find(|x| **x >= q) {
            Some(x) => refused(format!("the key has a residue {x}, which is not below {q}")),
            None => {
                Ok(LweSwitchingKey { from, to, from_key, to_key, digits, seed, b, dry_run: None })
            }
        }
    }

    /// Returns the fingerprints of the secrets before and after the switch.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.from_key, self.to_key]
    }

    /// Returns the parameters of ciphertexts before and after the switch.
    pub fn parameters(&self) -> [LweParameters; 2] {
        [self.from, self.to]
    }

    /// Returns the gadget.
    pub fn digits(&self) -> Digits {
        self.digits
    }

    /// Returns the seed of the `a`.
    ///
    /// The `a` of sample `i` is the uniform polynomial of stream `i`, in the evaluation domain.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Returns the `b`, in the evaluation domain: sample `v count + k` is limb `v count + k`.
    pub fn b(&self) -> &Poly {
        &self.b
    }

    /// Returns the size of the `b` and the seed in bytes, with residues packed to their bits.
    pub fn stored_bytes(&self) -> usize {
        let bits = self.to.modulus().ilog2() as usize + 1;
        (self.from.dimension() * self.digits.count() * bits).div_ceil(8)
            + self.seed.as_bytes().len()
    }

    /// Returns the error that a switch adds.
    ///
    /// Its variance is `sigma^2 N sum_k D_k^2 / 12 + 2^(2 shift) |s'|^2 / 12` (PEGASUS, Appendix
    /// C.1). The first term is that of `N` digits of width `D_k` for each `k`, times errors of the
    /// key. The second is that of the bits below the lowest digit, times the secret.
    pub fn noise(&self) -> Noise {
        Self::noise_of(self.from, &self.digits)
    }

    /// Returns [`LweSwitchingKey::noise`] of a key from a secret of the parameters `from` with
    /// these digits.
    pub fn noise_of(from: LweParameters, digits: &Digits) -> Noise {
        let widths = (0..digits.count()).map(|k| digits.log2_width(k));
        let of_key = hippocrene_rlwe::noise::inner_product(from.dimension(), SIGMA, widths);
        of_key.plus(gadget_rounding(digits, from.secret_weight()))
    }
}

fn gadget(q: u64, base_log2: u32, count: usize) -> Result<Digits, FhewError> {
    Digits::new(q, base_log2, count).ok_or_else(|| FhewError::Parameters {
        what: format!("{count} digits of {base_log2} bits are not a gadget of the modulus {q}"),
    })
}

fn check_dimensions(from: LweParameters, to: LweParameters) -> Result<(), FhewError> {
    let (large, n) = (from.dimension(), to.dimension());
    if large.is_power_of_two() && to.ring_degree() <= large {
        return Ok(());
    }
    let what = format!(
        "a key switches from a power of two to a smaller dimension, but not from {large} to {n}"
    );
    Err(FhewError::Parameters { what })
}
