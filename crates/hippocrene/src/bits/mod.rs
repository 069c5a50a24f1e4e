//! Arrays of bits: `2^13` or `2^16` of them in a ciphertext, gates without a limit of depth.
//!
//! A gate is a bootstrap ([`hippocrene_ckks::bits`]), or a product while there is capacity for one. The errors of slots are known: operands that have come to be too
//! uncertain are refreshed before a gate.

mod server;

use std::sync::Arc;

use hippocrene_ckks::bits::{BitCiphertext, BitLiteral, BitPlan, decode_bits, encode_bits};
use hippocrene_rlwe::{EncapsulationKeys, EvaluationKeys, Fingerprint, RlweError};

use crate::{ClientKey, Error, Layout, encryption::wipe};

pub use server::BitServer;

/// An encrypted array of bits. What it computes with is a [`BitServer`].
#[derive(Debug, Clone)]
pub struct BitArray {
    layout: Layout,
    ciphertexts: Vec<BitCiphertext>,
}

impl BitArray {
    /// The shape.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// How many bits there are.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &[BitCiphertext] {
        &self.ciphertexts
    }

    /// How far a slot is from its bit at most ([`BitCiphertext::error`]); below 1/2.
    pub fn error(&self) -> f64 {
        self.ciphertexts.iter().map(BitCiphertext::error).fold(0.0, f64::max)
    }

    /// The fingerprint of the key that decrypts it. An array has a ciphertext at least.
    pub fn key(&self) -> Fingerprint {
        self.ciphertexts[0].ciphertext().inner().key()
    }

    fn parameters(&self) -> Fingerprint {
        self.ciphertexts[0].ciphertext().inner().parameters()
    }
}

/// The keys that a [`BitServer`] computes with: rotations, conjugation and relinearisation, and those of the sparse secret. No secret inside.
#[derive(Debug, Clone)]
pub struct BitKeys {
    plan: Arc<BitPlan>,
    evaluation: EvaluationKeys,
    encapsulation: EncapsulationKeys,
}

impl BitKeys {
    /// The plan that they are for.
    pub fn plan(&self) -> &Arc<BitPlan> {
        &self.plan
    }

    /// The fingerprint of the secret key that they belong to.
    pub fn key(&self) -> Fingerprint {
        self.evaluation.key()
    }
}

impl ClientKey {
    /// How bits are bootstrapped with these parameters: what goes with the preset is [`Preset::bits`](crate::Preset::bits).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{BitServer, ClientKey, Preset};
    ///
    /// let preset = Preset::by_name("bits14")?;
    /// let client = ClientKey::generate(preset)?;
    /// let plan = client.bit_plan(preset.bits()?)?;
    /// let server = BitServer::new(client.bit_keys(&plan)?)?; // holds no secret
    ///
    /// let x = client.encrypt_bits(&plan, &[true, true, false, false], &[4])?;
    /// let y = client.encrypt_bits(&plan, &[true, false, true, false], &[4])?;
    /// let z = server.nand(&x, &y)?;
    ///
    /// assert_eq!(client.decrypt_bits(&z)?, [false, true, true, true]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`BitPlan::new`].
    pub fn bit_plan(&self, literal: BitLiteral) -> Result<Arc<BitPlan>, Error> {
        Ok(Arc::new(BitPlan::new(Arc::clone(self.session().context()), literal)?))
    }

    /// The keys that a server needs to compute on bits by this plan.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] when the plan is of other parameters, [`Error::System`] when the machine has no entropy.
    pub fn bit_keys(&self, plan: &Arc<BitPlan>) -> Result<BitKeys, Error> {
        self.check_plan(plan, "make keys for bits")?;
        let (rlwe, secret) = (self.session().context().rlwe(), self.secret());
        let mut evaluation = EvaluationKeys::empty(rlwe, secret.fingerprint());
        plan.add_keys(&mut evaluation, secret)?;
        let encapsulation = plan.encapsulation_keys(secret)?;
        Ok(BitKeys { plan: Arc::clone(plan), evaluation, encapsulation })
    }

    /// Encrypts bits: the elements of an array of shape `shape` in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many as the shape says, [`Error::ParameterMismatch`] when the plan is of other parameters.
    pub fn encrypt_bits(&self, plan: &BitPlan, values: &[bool], shape: &[usize]) -> Result<BitArray, Error> {
        const OPERATION: &str = "encrypt bits";
        self.check_plan(plan, OPERATION)?;
        let (context, packing) = (self.session().context(), plan.literal().packing);
        let layout = Layout::filled(shape, plan.capacity(), values.len(), OPERATION)?;
        let mut slots = layout.scatter(values);
        let ciphertexts = slots.iter().map(|bits| {
            let (scale, modulus) = (plan.bit_scale(), plan.input_modulus());
            let plaintext = encode_bits(context, bits, packing, context.max_slots(), scale, modulus)?;
            let ciphertext = context.encrypt(self.secret(), &plaintext)?.expand(context);
            Ok(BitCiphertext::declare(ciphertext, packing)?)
        });
        let ciphertexts = ciphertexts.collect::<Result<Vec<_>, Error>>();
        wipe(&mut slots);
        Ok(BitArray { layout, ciphertexts: ciphertexts? })
    }

    /// Decrypts bits, in row-major order.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::ParameterMismatch`] when it was made with other parameters.
    pub fn decrypt_bits(&self, array: &BitArray) -> Result<Vec<bool>, Error> {
        const OPERATION: &str = "decrypt bits";
        let context = self.session().context();
        context.rlwe().check_digest(array.parameters(), OPERATION)?;
        if array.key() != self.fingerprint() {
            let (have, need) = (array.key(), self.fingerprint());
            return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
        }
        let decrypted = array.ciphertexts.iter().map(|a| {
            let plaintext = context.decrypt(self.secret(), a.ciphertext())?;
            Ok(decode_bits(context, &plaintext, a.packing())?)
        });
        let mut slots = decrypted.collect::<Result<Vec<_>, Error>>()?;
        let values = array.layout.gather(&slots);
        wipe(&mut slots);
        Ok(values)
    }

    fn check_plan(&self, plan: &BitPlan, operation: &'static str) -> Result<(), Error> {
        let digest = plan.context().parameters().digest();
        Ok(self.session().context().rlwe().check_digest(digest, operation)?)
    }
}
