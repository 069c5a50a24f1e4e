//! Ciphertexts.

use hippocrene_ring::{
    Domain, Poly,
    sample::{SIGMA, Seed},
};

use zeroize::Zeroize;

use crate::{
    Context, Fingerprint, Modulus, RlweError, SecretKey,
    keys::secret::{error_seed, expand_uniform, rlwe_sample},
    noise::{self, Noise},
    stop,
};

/// An RLWE ciphertext.
///
/// Its parts are `(c0, c1)`, or `(c0, c1, c2)` after a product, modulo `modulus` in the evaluation
/// domain. They satisfy `c0 + c1 s (+ c2 s^2) = m + e`.
///
/// See [`Context`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    parts: Vec<Poly>,
    modulus: Modulus,
    noise: Noise,
    key: Fingerprint,
    parameters: Fingerprint,
}

impl Ciphertext {
    /// Builds a ciphertext from its two or three parts, modulo `modulus` in the evaluation domain.
    ///
    /// # Errors
    /// Returns [`RlweError::Parts`] for another number of parts, and [`RlweError::Modulus`] for a
    /// part with another modulus or domain.
    pub fn from_parts(
        context: &Context,
        parts: Vec<Poly>,
        modulus: Modulus,
        noise: Noise,
        key: Fingerprint,
    ) -> Result<Self, RlweError> {
        const OPERATION: &str = "build a ciphertext";
        if !(2..=3).contains(&parts.len()) {
            return Err(RlweError::Parts { operation: OPERATION, have: parts.len(), need: 2 });
        }
        parts.iter().try_for_each(|part| context.check_message(part, modulus, OPERATION))?;
        Ok(Ciphertext { parts, modulus, noise, key, parameters: context.parameters().digest() })
    }

    /// Returns a trivial ciphertext: its first part is the message, and its second part is zero.
    ///
    /// Everyone can read it. It has no error, and operations treat it as one that was encrypted
    /// with `key`. So a server can compute on its own values as on encrypted ones.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if the message has another modulus or domain.
    pub fn trivial(
        context: &Context,
        message: &Poly,
        modulus: Modulus,
        key: Fingerprint,
    ) -> Result<Self, RlweError> {
        let parts = vec![message.clone(), context.zero(modulus, Domain::Evaluation)];
        Self::from_parts(context, parts, modulus, Noise::NONE, key)
    }

    /// Returns an empty ciphertext of two parts, to which an operation can write its result.
    pub fn empty(context: &Context) -> Self {
        Ciphertext {
            parts: vec![context.part(), context.part()],
            modulus: Modulus::ONE,
            noise: Noise::NONE,
            key: Fingerprint::from_bytes([0; 16]),
            parameters: context.parameters().digest(),
        }
    }

    /// The parts.
    pub fn parts(&self) -> &[Poly] {
        &self.parts
    }

    /// Returns the parts. Callers must keep the other fields right.
    pub(crate) fn parts_mut(&mut self) -> &mut [Poly] {
        &mut self.parts
    }

    /// Returns part `i`.
    ///
    /// # Panics
    /// Panics if there is no part `i`.
    pub fn part(&self, i: usize) -> &Poly {
        &self.parts[i]
    }

    /// The modulus.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The estimated size of the error.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Replaces the estimated size of the error.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// The fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The digest of the ciphertext's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// Makes this a ciphertext of `parts` parts modulo `modulus`, with unspecified residues. Its
    /// memory is reused.
    pub(crate) fn reshape(
        &mut self,
        context: &Context,
        parts: usize,
        modulus: Modulus,
        noise: Noise,
        key: Fingerprint,
    ) {
        let kind = (context.degree(), context.is_dry_run());
        self.parts.retain(|part| (part.degree(), part.is_dry_run()) == kind);
        self.parts.resize_with(parts, || context.part());
        for part in &mut self.parts {
            part.resize_limbs(modulus.limb_count());
            part.set_domain(Domain::Evaluation);
        }
        (self.modulus, self.noise, self.key) = (modulus, noise, key);
        self.parameters = context.parameters().digest();
    }

    /// Makes this a copy of `other`. Its memory is reused.
    pub fn copy_from(&mut self, other: &Ciphertext) {
        let degree = other.parts[0].degree();
        self.parts.resize_with(other.parts.len(), || other.parts[0].new_like(degree, 0));
        for (to, from) in self.parts.iter_mut().zip(&other.parts) {
            to.copy_from(from);
        }
        (self.modulus, self.noise, self.key) = (other.modulus, other.noise, other.key);
        self.parameters = other.parameters;
    }
}

/// A fresh ciphertext of the secret key. It stores a seed in place of `c1`, which halves its size.
///
/// See [`Context`] for an example.
#[derive(Debug, Clone)]
pub struct SeededCiphertext {
    seed: Seed,
    c0: Poly,
    modulus: Modulus,
    key: Fingerprint,
    parameters: Fingerprint,
}

impl SeededCiphertext {
    /// Builds a ciphertext from its stored parts: a seed, and `c0` modulo `modulus` in the
    /// evaluation domain.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `c0` does not have the limbs of `modulus`.
    pub fn from_parts(
        context: &Context,
        seed: Seed,
        c0: Poly,
        modulus: Modulus,
        key: Fingerprint,
    ) -> Result<Self, RlweError> {
        context.check_message(&c0, modulus, "load a ciphertext")?;
        Ok(SeededCiphertext { seed, c0, modulus, key, parameters: context.parameters().digest() })
    }

    /// The seed of `c1`, which is the uniform polynomial of stream 0 ([`crate::expand_uniform`]).
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The part `c0`, in the evaluation domain.
    pub fn c0(&self) -> &Poly {
        &self.c0
    }

    /// The modulus.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The digest of the ciphertext's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// Returns the ciphertext with both parts.
    ///
    /// # Panics
    /// Panics if the ciphertext was made with other parameters than those of `context`
    /// ([`SeededCiphertext::parameters`]).
    pub fn expand(&self, context: &Context) -> Ciphertext {
        let (have, need) = (self.parameters, context.parameters().digest());
        assert!(
            have == need,
            "expand a ciphertext: it was made with parameters {have}, not with {need}"
        );
        let c1 = expand_uniform(context, &self.seed, 0, self.modulus);
        let noise = noise::secret_key_encryption(SIGMA);
        Ciphertext {
            parts: vec![self.c0.clone(), c1],
            modulus: self.modulus,
            noise,
            key: self.key,
            parameters: self.parameters,
        }
    }
}

impl SecretKey {
    /// Encrypts `message` as `(-a s + e + m, a)`.
    ///
    /// The message is a polynomial modulo `modulus`, a divisor of `Q_max`, in the evaluation
    /// domain.
    ///
    /// # Errors
    /// Returns an error if the modulus or the parameters do not match, or if the operating system
    /// provides no entropy.
    pub fn encrypt(
        &self,
        context: &Context,
        message: &Poly,
        modulus: Modulus,
    ) -> Result<SeededCiphertext, RlweError> {
        context.check_digest(self.parameters(), "encrypt")?;
        context.check_message(message, modulus, "encrypt")?;
        let seed = Seed::random()?;
        let a = expand_uniform(context, &seed, 0, modulus);
        let mut c0 = rlwe_sample(context, self.poly(), &a, modulus, &error_seed()?, 0);
        c0.for_each_limb(context.threads(), |k, c| {
            context.limb_ring(modulus, k).add_assign(c, message.limb(k));
        });
        Ok(SeededCiphertext {
            seed,
            c0,
            modulus,
            key: self.fingerprint(),
            parameters: self.parameters(),
        })
    }

    /// Returns the message with its error, `c0 + c1 s (+ c2 s^2)`.
    ///
    /// The polynomial is modulo the ciphertext's modulus, in the coefficient domain.
    ///
    /// # Errors
    /// Returns [`RlweError::KeyMismatch`] if the ciphertext is encrypted under another key, and
    /// [`RlweError::Parts`] if it does not have two or three parts.
    pub fn decrypt(&self, context: &Context, ciphertext: &Ciphertext) -> Result<Poly, RlweError> {
        const OPERATION: &str = "decrypt";
        context.check_digest(self.parameters(), OPERATION)?;
        context.check_operand(ciphertext, OPERATION)?;
        if context.is_dry_run() {
            return Err(RlweError::DryRun { operation: OPERATION });
        }
        if ciphertext.key() != self.fingerprint() {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: ciphertext.key(),
                need: self.fingerprint(),
            });
        }
        let parts = ciphertext.parts();
        if !(2..=3).contains(&parts.len()) {
            return Err(RlweError::Parts { operation: OPERATION, have: parts.len(), need: 2 });
        }
        let modulus = ciphertext.modulus();
        let mut message = context.zero(modulus, Domain::Evaluation);
        message.for_each_limb(context.threads(), |k, m| {
            let position = modulus.factors().nth(k).expect("a limb of this modulus");
            let ring = context.ring_at(modulus, position);
            let mut spare = context.scratch_limbs(1, Domain::Evaluation);
            let s = context.reduced_limb(
                self.poly(),
                context.parameters().full(),
                modulus,
                position,
                spare.limb_mut(0),
            );
            // Horner's rule in s, from the last part down.
            m.copy_from_slice(parts[parts.len() - 1].limb(k));
            for part in parts[..parts.len() - 1].iter().rev() {
                ring.mul_assign(m, s);
                ring.add_assign(m, part.limb(k));
            }
            context.inverse(ring, m);
            spare.as_mut_slice().zeroize();
        });
        message.set_domain(Domain::Coefficient);
        Ok(message)
    }
}

impl Context {
    /// Checks that an operand was made with the parameters of this context and has a modulus.
    ///
    /// Every operation on ciphertexts begins with this check. It also ends operations that have to
    /// stop ([`crate::stop`]).
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] for other parameters, and [`RlweError::Modulus`] if
    /// nothing has been written to the operand ([`Ciphertext::empty`]). It also returns the errors
    /// of [`crate::stop::check`].
    pub fn check_operand(&self, a: &Ciphertext, operation: &'static str) -> Result<(), RlweError> {
        stop::check(operation)?;
        self.check_digest(a.parameters(), operation)?;
        if a.modulus().is_one() {
            let need = "the ciphertext is empty";
            return Err(RlweError::Modulus { operation, have: 0, need });
        }
        Ok(())
    }

    /// Checks that a polynomial has the limbs of `modulus`, a modulus of ciphertexts, and is in the
    /// evaluation domain.
    pub(crate) fn check_message(
        &self,
        poly: &Poly,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_polynomial(poly, modulus, operation)?;
        match poly.domain() {
            Domain::Evaluation => Ok(()),
            Domain::Coefficient => {
                let need = "a polynomial in the evaluation domain is needed";
                Err(RlweError::Modulus { operation, have: modulus.limb_count(), need })
            }
        }
    }

    /// Checks that `poly` is a polynomial modulo `modulus`, in either domain.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if it is not.
    pub(crate) fn check_polynomial(
        &self,
        poly: &Poly,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_modulus(modulus, operation)?;
        let need = if poly.is_dry_run() != self.is_dry_run() {
            "operands of a dry run and of a real run cannot be mixed"
        } else if poly.limb_count() != modulus.limb_count() {
            "the polynomial has another number of limbs"
        } else if poly.degree() != self.degree() {
            "a polynomial of the ring degree is needed"
        } else {
            return Ok(());
        };
        Err(RlweError::Modulus { operation, have: modulus.limb_count(), need })
    }
}
