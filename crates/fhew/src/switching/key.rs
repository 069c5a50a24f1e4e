//! The key as it is made and stored.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, SIGMA, Seed, digits::Digits};
use hippocrene_rlwe::{Context, Fingerprint, Noise};
use zeroize::Zeroizing;

use crate::{
    FhewError, LweParameters, LweSecretKey, dry_run::check_dry_run, noise::gadget_rounding,
    samples::SampleMaker,
};

/// A key from the secret `s'` of dimension `N` to the secret `s` of dimension `n`, a polynomial of
/// `R_n` ([`LweParameters::ring_degree`] where `n` is no power of two), modulo the prime `q` of the
/// latter: for `v < N/n` and each digit `k` the RLWE encryption of `w_k S_v` in `R_n` (see
/// [`Digits`] for the weights), `(b, a)` with `b = -a s + e + w_k S_v`. The `a` are kept as a seed:
/// half of the size.
#[derive(Debug, Clone)]
pub struct LweSwitchingKey {
    pub(super) from: LweParameters,
    pub(super) to: LweParameters,
    pub(super) from_key: Fingerprint,
    pub(super) to_key: Fingerprint,
    pub(super) digits: Digits,
    pub(super) seed: Seed,
    /// Sample `v count + k` is limb `v count + k`.
    pub(super) b: Poly,
    /// The context of a dry run, in which operations are noted. The key has no samples then.
    pub(super) dry_run: Option<Arc<Context>>,
}

impl LweSwitchingKey {
    /// A fresh key with `count` digits of `base_log2` bits. The security is that of the parameters
    /// of `to`, at which this key's samples are.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when `N` is no power of two, or less than the ring degree of `n`;
    /// when the digits make no sense, the modulus of `to` is no prime that has transforms of degree
    /// `n`, or the operating system has no entropy.
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

    /// A key without samples, for simulations. Its switches take messages
    /// ([`crate::RlweCoefficients::dry_run`]) and count their cost in `context`, which must be that
    /// of a dry run.
    ///
    /// # Errors
    /// As [`LweSwitchingKey::generate`], and [`hippocrene_rlwe::RlweError::Parameters`] when the
    /// context is not that of a dry run.
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

    /// Puts a key together from its stored parts: the parameters and fingerprints of both secrets,
    /// the gadget, the seed and the `b`.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when these are not the parts of a key: dimensions, digits, the
    /// number of samples, or a residue beyond the modulus.
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
                "a key of {} samples of degree {}: {} of {} are needed",
                have.1, have.0, need.1, need.0
            ));
        }
        match b.as_slice().iter().find(|x| **x >= q) {
            Some(x) => refused(format!("a residue {x} modulo {q}")),
            None => {
                Ok(LweSwitchingKey { from, to, from_key, to_key, digits, seed, b, dry_run: None })
            }
        }
    }

    /// The fingerprints of the secrets before and after.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.from_key, self.to_key]
    }

    /// The parameters of ciphertexts before and after.
    pub fn parameters(&self) -> [LweParameters; 2] {
        [self.from, self.to]
    }

    /// The gadget.
    pub fn digits(&self) -> Digits {
        self.digits
    }

    /// The seed of the `a`: sample `i` has the uniform polynomial of stream `i` in the evaluation
    /// domain.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `b`, in the evaluation domain: sample `v count + k` is limb `v count + k`.
    pub fn b(&self) -> &Poly {
        &self.b
    }

    /// Bytes of the `b` and the seed, with residues packed to their bits.
    pub fn stored_bytes(&self) -> usize {
        let bits = self.to.modulus().ilog2() as usize + 1;
        (self.from.dimension() * self.digits.count() * bits).div_ceil(8)
            + self.seed.as_bytes().len()
    }

    /// The error that a switch adds, of variance `sigma^2 N sum_k D_k^2 / 12 + 2^(2 shift) |s'|^2 /
    /// 12`: `N` digits of width `D_k` for each `k`, times errors of the key, and what the gadget
    /// rounds away times the secret (PEGASUS, Appendix C.1).
    pub fn noise(&self) -> Noise {
        Self::noise_of(self.from, &self.digits)
    }

    /// [`LweSwitchingKey::noise`] of a key from a secret of these parameters with these digits.
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
    let what =
        format!("keys switch downwards from powers of two, but not from dimension {large} to {n}");
    Err(FhewError::Parameters { what })
}
