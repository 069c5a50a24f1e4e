//! Extraction of LWE ciphertexts from the coefficients of RLWE ciphertexts (PEGASUS II.C).

use hippocrene_ring::{Poly, arith::neg_mod};
use hippocrene_rlwe::{Ciphertext, Context, Fingerprint, Noise, RlweError};

use super::{LweCiphertext, LweParameters, modulus::ModulusSwitch};
use crate::FhewError;

const OPERATION: &str = "extract coefficients";

/// An RLWE ciphertext `(c0, c1)` with a single modulus `q`, in the coefficient domain.
///
/// It satisfies `c0 + c1 s = m + e` in `Z_q[X]/(X^N + 1)`, where `N` is
/// [`LweParameters::ring_degree`].
///
/// ```
/// use hippocrene_fhew::{LweParameters, LweSecretKey};
/// use hippocrene_rlwe::SecretDistribution;
///
/// let parameters = LweParameters::insecure(64, 1 << 32, SecretDistribution::Ternary)?;
/// let secret = LweSecretKey::generate(parameters)?;
/// let ciphertext = secret.encrypt_coefficients(1 << 32, &[1 << 20, 7 << 20])?.expand()?.remove(0);
/// let message = secret.decrypt(&ciphertext.extract(1)?)?;
/// assert!((message - (7 << 20)).abs() < 100, "the error has a standard deviation of about 3.2");
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RlweCoefficients {
    parameters: LweParameters,
    c0: Vec<u64>,
    c1: Vec<u64>,
    noise: Noise,
    key: Fingerprint,
}

impl RlweCoefficients {
    /// Converts a ciphertext of two parts to the coefficient domain.
    ///
    /// Its modulus must have one limb. Switch larger ciphertexts to such a modulus first.
    ///
    /// # Errors
    /// - [`RlweError::Parts`] or [`RlweError::Modulus`] if the ciphertext has other parts or more
    ///   limbs.
    /// - [`RlweError::ParameterMismatch`] if it was made with other parameters.
    /// - [`RlweError::DryRun`] in a dry run.
    pub fn from_ciphertext(context: &Context, ciphertext: &Ciphertext) -> Result<Self, FhewError> {
        if context.is_dry_run() {
            return Err(RlweError::DryRun { operation: OPERATION }.into());
        }
        let coefficients = |part: &Poly| {
            let mut part = part.clone();
            context.to_coefficient(&mut part, ciphertext.modulus());
            part.limb(0).to_vec()
        };
        Self::of(context, ciphertext, |c0, c1, _| [c0, c1].map(coefficients))
    }

    /// Returns the coefficients of a dry run's ciphertext, which has no residues.
    ///
    /// Coefficient `k` is the message `message(k, q)` modulo `q`, and `c1` is 0. Operations on the
    /// result give the parameters, messages and noise estimates of a real encryption, but exact
    /// messages.
    ///
    /// # Errors
    /// The same as [`RlweCoefficients::from_ciphertext`], and [`RlweError::DryRun`] if the context
    /// is not that of a dry run.
    pub fn dry_run(
        context: &Context,
        ciphertext: &Ciphertext,
        message: impl Fn(usize, u64) -> u64,
    ) -> Result<Self, FhewError> {
        if !context.is_dry_run() {
            return Err(RlweError::DryRun { operation: OPERATION }.into());
        }
        let degree = context.degree();
        Self::of(context, ciphertext, |_, _, q| {
            [(0..degree).map(|k| message(k, q) % q).collect(), vec![0; degree]]
        })
    }

    fn of(
        context: &Context,
        ciphertext: &Ciphertext,
        parts: impl Fn(&Poly, &Poly, u64) -> [Vec<u64>; 2],
    ) -> Result<Self, FhewError> {
        context.check_operand(ciphertext, OPERATION)?;
        let modulus = ciphertext.modulus();
        let [c0, c1] = ciphertext.parts() else {
            let have = ciphertext.parts().len();
            return Err(RlweError::Parts { operation: OPERATION, have, need: 2 }.into());
        };
        if modulus.limb_count() != 1 {
            let (have, need) =
                (modulus.limb_count(), "one limb is needed: switch the modulus first");
            return Err(RlweError::Modulus { operation: OPERATION, have, need }.into());
        }
        let ring = context.limb_ring(modulus, 0);
        let parameters = LweParameters::insecure(
            context.degree(),
            ring.modulus(),
            context.parameters().secret(),
        )?;
        let [c0, c1] = parts(c0, c1, ring.modulus());
        Ok(Self::new(parameters, c0, c1, ciphertext.noise(), ciphertext.key()))
    }

    /// Makes a ciphertext from parts that are residues modulo `q`, one per coefficient, unchecked.
    pub(crate) fn new(
        parameters: LweParameters,
        c0: Vec<u64>,
        c1: Vec<u64>,
        noise: Noise,
        key: Fingerprint,
    ) -> Self {
        debug_assert!(c0.len() == parameters.ring_degree() && c1.len() == parameters.ring_degree());
        debug_assert!(c0.iter().chain(&c1).all(|x| *x < parameters.modulus()));
        RlweCoefficients { parameters, c0, c1, noise, key }
    }

    /// Returns the trivial encryption `(m, 0)` of residues, one per coefficient, which hides
    /// nothing.
    ///
    /// `key` is the fingerprint of the secret that decrypts it.
    ///
    /// # Errors
    /// [`FhewError::Dimension`] if the number of messages differs from the ring degree, and
    /// [`FhewError::Range`] if a message is not below `q`.
    pub fn trivial(
        parameters: LweParameters,
        messages: Vec<u64>,
        key: Fingerprint,
    ) -> Result<Self, FhewError> {
        const OPERATION: &str = "put an RLWE ciphertext together";
        let (have, need, limit) = (messages.len(), parameters.ring_degree(), parameters.modulus());
        if have != need {
            return Err(FhewError::Dimension { operation: OPERATION, have, need });
        }
        if let Some(have) = messages.iter().copied().find(|m| *m >= limit) {
            return Err(FhewError::Range { operation: OPERATION, what: "a message", have, limit });
        }
        Ok(Self::new(parameters, messages, vec![0; need], Noise::NONE, key))
    }

    /// Returns the ring degree, the modulus and the distribution of the secret.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// Returns the coefficients of `c0` and `c1`, each in `[0, q)`.
    pub fn parts(&self) -> [&[u64]; 2] {
        [&self.c0, &self.c1]
    }

    /// Returns the estimated error, in units of the message.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Returns the fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Returns the ciphertext switched to `modulus`. See [`LweCiphertext::switch_modulus`].
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the modulus is not in `[2^7, 2^61)`.
    pub fn switch_modulus(&self, modulus: u64) -> Result<Self, FhewError> {
        let parameters = self.parameters.switched(modulus)?;
        let switch = ModulusSwitch::new(self.parameters.modulus(), modulus);
        let [c0, c1] =
            [&self.c0, &self.c1].map(|part| part.iter().map(|x| switch.apply(*x)).collect());
        let noise = switch.noise(self.noise, self.parameters.secret_weight());
        Ok(Self::new(parameters, c0, c1, noise, self.key))
    }

    /// Returns coefficient `i = index` of the message as an LWE ciphertext.
    ///
    /// Its `b` is `c0_i`. Its `a_j` is the factor of `s_j` in coefficient `i` of `c1 s`:
    /// `c1_(i - j)` for `j <= i`, and `-c1_(N + i - j)` otherwise. Factors beyond the dimension are
    /// left out. The secret, its fingerprint and the error stay the same.
    ///
    /// # Errors
    /// [`FhewError::Range`] if `index` is not below the ring degree.
    pub fn extract(&self, index: usize) -> Result<LweCiphertext, FhewError> {
        let (degree, q) = (self.parameters.ring_degree(), self.parameters.modulus());
        if index >= degree {
            let (have, limit) = (index as u64, degree as u64);
            let operation = "extract a coefficient";
            return Err(FhewError::Range { operation, what: "the index", have, limit });
        }
        let (low, high) = self.c1.split_at(index + 1);
        let negated = high.iter().rev().map(|x| neg_mod(*x, q));
        let a =
            low.iter().rev().copied().chain(negated).take(self.parameters.dimension()).collect();
        Ok(LweCiphertext::new(self.parameters, self.c0[index], a, self.noise, self.key))
    }
}
