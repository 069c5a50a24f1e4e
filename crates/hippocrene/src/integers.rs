//! Arrays of integers: what they are, how they are encrypted and decrypted.

use hippocrene_bgv::{self as bgv, Plaintext};
use hippocrene_rlwe::{Noise, SIGMA, noise::secret_key_encryption};

use crate::{Array, CiphertextBody, Error, Integers, Layout, Session, encryption::wipe};

/// The form of arrays of integers modulo a plaintext modulus (BGV and BFV).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residues {
    /// The plaintext modulus `t`.
    pub plain_modulus: u64,
}

/// An encrypted array of integers modulo a plaintext modulus.
///
/// A ciphertext has `N` slots in two rows of `N/2`, one after the other: position `p` of the layout is slot `p mod N/2` of row `p div N/2 mod 2`.
pub type IntegerArray = Array<Residues>;

impl CiphertextBody<Residues> {
    /// The plaintext modulus.
    pub(crate) fn plain_modulus(&self) -> u64 {
        match self {
            CiphertextBody::Full(c) => c.plain_modulus(),
            CiphertextBody::Seeded(c) => c.seeded().plain_modulus(),
        }
    }

    fn noise(&self) -> Noise {
        match self {
            CiphertextBody::Full(c) => c.inner().noise(),
            CiphertextBody::Seeded(_) => secret_key_encryption(SIGMA),
        }
    }
}

impl IntegerArray {
    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.form().plain_modulus
    }

    /// The noise budget: the bits by which the noise may still grow, as estimated ([`bgv::Ciphertext::budget_bits`]). Decryption is right while it is positive, and an operation
    /// that would use it up is an error.
    pub fn budget_bits(&self, session: &Session) -> f64 {
        let parameters = session.settings().parameters();
        let bits = |body: &CiphertextBody<Residues>| {
            bgv::budget_bits(parameters.log2(body.modulus()), body.plain_modulus(), body.noise())
        };
        self.bodies().iter().map(bits).fold(f64::INFINITY, f64::min)
    }
}

/// The array of shape `shape` with these elements in row-major order: encodes them in its layout and encrypts each plaintext with `encrypt`.
pub(crate) fn encrypt_integers(
    session: &Session,
    values: &[i64],
    shape: &[usize],
    encrypt: impl Fn(&bgv::Context, &Plaintext) -> Result<CiphertextBody<Residues>, Error> + Sync,
) -> Result<IntegerArray, Error> {
    const OPERATION: &str = "encrypt integers";
    let context = session.need_integers(OPERATION)?;
    let (t, degree) = (context.plain_modulus(), context.rlwe().degree());
    Integers::check_slots(t, degree)?;
    let layout = Layout::filled(shape, degree, values.len(), OPERATION)?;
    let mut slots = layout.scatter(values)?;
    let bodies = session.try_each(slots.len(), |i| encrypt(context, &context.encode(&slots[i])?));
    wipe(&mut slots);
    Ok(Array::from_parts(layout, Residues { plain_modulus: t }, true, bodies?)
        .expect("one body for each ciphertext of the layout, all of one key"))
}

/// The integers in the slots of a decrypted ciphertext: in `[0, t)`, or around zero, in `(-t/2, t/2]`.
pub(crate) fn decode_integers(
    context: &bgv::Context,
    plaintext: &Plaintext,
    signed: bool,
) -> Result<Vec<i64>, Error> {
    let t = context.plain_modulus();
    let mut residues = [context.encoder().decode(plaintext)?];
    // Without a branch: `t` is taken from what is larger than its half, or than `t` itself.
    let (t, limit) = (t as i64, if signed { t / 2 } else { t } as i64);
    let integers = residues[0].iter().map(|x| *x as i64 - (t & (limit - *x as i64) >> 63)).collect();
    wipe(&mut residues);
    Ok(integers)
}
