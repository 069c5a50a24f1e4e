//! Encryption and decryption of bits with the keys of a client.

use std::sync::Arc;

use hippocrene_ckks::{
    Plaintext,
    bits::{BitCiphertext, BitLiteral, BitPlan, SeededBitCiphertext, decode_bits, encode_bits},
};

use super::{BitArray, Bits};
use crate::{
    Array, CiphertextBody, ClientKey, Error, Fresh, Layout, PublicKey, Session, SlotContents,
    encryption::wipe,
};

impl ClientKey {
    /// Plans how bits are bootstrapped with these parameters.
    ///
    /// `Preset::bits` returns the literal for a preset.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
    ///
    /// let preset = Preset::by_name("bits14")?;
    /// let client = ClientKey::generate(preset.settings()?)?;
    /// let keys = client.evaluation_keys(&KeyRequest::bits(preset.bits()?))?;
    /// let server = Server::new(keys)?; // holds no secret
    ///
    /// let plan = client.bit_plan(preset.bits()?)?;
    /// let x = client.encrypt_bits(&plan, &[true, true, false, false], &[4])?;
    /// let y = client.encrypt_bits(&plan, &[true, false, true, false], &[4])?;
    /// let z = server.bits()?.nand(&x, &y)?;
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

    /// Encrypts bits, given as the elements of an array of shape `shape` in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of bits does not match the shape,
    /// [`Error::ParameterMismatch`] when the plan is of other parameters.
    pub fn encrypt_bits(
        &self,
        plan: &BitPlan,
        values: &[bool],
        shape: &[usize],
    ) -> Result<BitArray, Error> {
        let (context, packing) = (self.session().context(), plan.literal().packing);
        encrypt(self.session(), plan, values, shape, |plaintext| {
            let ciphertext = context.encrypt(self.secret(), plaintext)?;
            Ok(CiphertextBody::Seeded(Fresh::new(SeededBitCiphertext::declare(
                ciphertext, packing,
            )?)))
        })
    }

    /// Decrypts an array of bits, in row-major order.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::ParameterMismatch`]
    /// when it was made with other parameters.
    pub fn decrypt_bits(&self, array: &BitArray) -> Result<Vec<bool>, Error> {
        let context = self.session().context();
        self.decrypt_with(array, |a| {
            Ok(decode_bits(context, &context.decrypt(self.secret(), a.ciphertext())?, a.packing())?)
        })
    }
}

impl PublicKey {
    /// Encrypts bits, as [`ClientKey::encrypt_bits`] does.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_bits`].
    pub fn encrypt_bits(
        &self,
        plan: &BitPlan,
        values: &[bool],
        shape: &[usize],
    ) -> Result<BitArray, Error> {
        let (context, packing) = (self.session().context(), plan.literal().packing);
        encrypt(self.session(), plan, values, shape, |plaintext| {
            let ciphertext = context.encrypt_public(self.inner(), plaintext)?;
            Ok(CiphertextBody::Full(BitCiphertext::declare(ciphertext, packing)?))
        })
    }

    /// Plans how bits are bootstrapped, as [`ClientKey::bit_plan`] does.
    ///
    /// # Errors
    /// As [`BitPlan::new`].
    pub fn bit_plan(&self, literal: BitLiteral) -> Result<Arc<BitPlan>, Error> {
        Ok(Arc::new(BitPlan::new(Arc::clone(self.session().context()), literal)?))
    }
}

fn encrypt(
    session: &Session,
    plan: &BitPlan,
    values: &[bool],
    shape: &[usize],
    encrypt: impl Fn(&Plaintext) -> Result<CiphertextBody<Bits>, Error>,
) -> Result<BitArray, Error> {
    const OPERATION: &str = "encrypt bits";
    let (context, packing) = (session.context(), plan.literal().packing);
    context.rlwe().check_digest(plan.context().parameters().digest(), OPERATION)?;
    let layout = Layout::filled(shape, plan.capacity(), values.len(), OPERATION)?;
    let mut slots = layout.scatter(values)?;
    let bodies = slots.iter().map(|bits| {
        let (scale, modulus) = (plan.bit_scale(), plan.input_modulus());
        encrypt(&encode_bits(context, bits, packing, context.max_slots(), scale, modulus)?)
    });
    let bodies = bodies.collect::<Result<Vec<_>, Error>>();
    wipe(&mut slots);
    Ok(Array::from_parts(layout, Bits { packing }, SlotContents::Zero, bodies?)
        .expect("one body for each ciphertext of the layout, all of one key"))
}
