//! From coefficients of RLWE ciphertexts to LWE ciphertexts (PEGASUS II.C).

use hippocrene_ring::{Poly, arith::neg_mod};
use hippocrene_rlwe::{Ciphertext, Context, Fingerprint, Noise, RlweError};

use super::{LweCiphertext, LweParameters, modulus::ModulusSwitch};
use crate::FhewError;

const OPERATION: &str = "extract coefficients";

/// An RLWE ciphertext `(c0, c1)` modulo one number, in the coefficient domain: `c0 + c1 s = m + e`
/// in `Z_q[X]/(X^N + 1)`, `N` being [`LweParameters::ring_degree`].
#[derive(Debug, Clone, PartialEq)]
pub struct RlweCoefficients {
    parameters: LweParameters,
    c0: Vec<u64>,
    c1: Vec<u64>,
    noise: Noise,
    key: Fingerprint,
}

impl RlweCoefficients {
    /// The coefficients of a ciphertext of two parts whose modulus has one limb (switch it there
    /// first).
    ///
    /// # Errors
    /// [`RlweError::Parts`] or [`RlweError::Modulus`] when it is not that,
    /// [`RlweError::ParameterMismatch`] when it was made with other parameters,
    /// [`RlweError::DryRun`] in a simulation.
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

    /// The coefficients of a ciphertext without residues: those of its message, `message(k, q)`
    /// modulo `q` the `k`-th, as if they had been encrypted with a `c1` of 0. What is computed from
    /// them has the same parameters, errors but for the noise, and messages as if they had been
    /// encrypted in earnest.
    ///
    /// # Errors
    /// As [`RlweCoefficients::from_ciphertext`], and [`RlweError::DryRun`] for a ciphertext with
    /// residues, which is not to be laid open.
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

    /// The parts are known to be residues modulo `q`, as many as the dimension says.
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

    /// The encryption `(m, 0)` of residues, one for each coefficient, which hides nothing, for the
    /// secret named `key`.
    ///
    /// # Errors
    /// [`FhewError::Dimension`] when there are not as many as coefficients, [`FhewError::Range`]
    /// when one is no residue modulo `q`.
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

    /// Ring degree, modulus and secret.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// The coefficients of `c0` and `c1`, in `[0, q)`.
    pub fn parts(&self) -> [&[u64]; 2] {
        [&self.c0, &self.c1]
    }

    /// The estimate of the error's size.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// The fingerprint of the secret key.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The ciphertext modulo `modulus`, as [`LweCiphertext::switch_modulus`].
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when the modulus is not in `[2^7, 2^61)`.
    pub fn switch_modulus(&self, modulus: u64) -> Result<Self, FhewError> {
        let parameters = self.parameters.switched(modulus)?;
        let switch = ModulusSwitch::new(self.parameters.modulus(), modulus);
        let [c0, c1] =
            [&self.c0, &self.c1].map(|part| part.iter().map(|x| switch.apply(*x)).collect());
        let noise = switch.noise(self.noise, self.parameters.secret_weight());
        Ok(Self::new(parameters, c0, c1, noise, self.key))
    }

    /// Coefficient `index` of the message: `b = c0_i` and `a_j` the factor of `s_j` in coefficient
    /// `i` of `c1 s`, which is `c1_(i - j)` for `j <= i` and `-c1_(N + i - j)` for the others; what
    /// would be beyond the dimension has no factor. The secret, its name and the error stay the
    /// same.
    ///
    /// # Errors
    /// [`FhewError::Range`] when `index` is not below the ring degree.
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
