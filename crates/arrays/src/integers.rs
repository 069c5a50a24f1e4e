//! Arrays of integers, their encryption and their decryption.

use hippocrene_bgv::{self as bgv, Plaintext};
use hippocrene_rlwe::Noise;

use crate::{
    Array, CiphertextBody, Elements, Error, Integers, Interval, Layout, Session, SlotContents,
    encryption::{outside_of_interval, wipe},
    error::place,
};

/// The form of arrays of integers modulo a plaintext modulus (BGV and BFV).
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Interval, Residues};
///
/// let residues = Residues::new(65537);
/// let ages = Interval::finite(0.0, 120.0)?;
/// assert_eq!(residues.determined(ages), Some(ages));
/// assert_eq!(residues.determined(Interval::finite(-40_000.0, 0.0)?), None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residues {
    /// The plaintext modulus `t`.
    pub plain_modulus: u64,
    /// The interval of the integers that the elements represent, where it is known.
    ///
    /// It lies in `[0, t - 1]` or in `[-(t-1)/2, (t-1)/2]`, so that an element and its residue
    /// determine each other. Operations whose results may leave both ranges wrap around modulo `t`
    /// and set it to `None`: an element may then be any residue.
    pub interval: Option<Interval>,
}

impl Residues {
    /// The form of integers modulo `plain_modulus` with no known interval.
    pub fn new(plain_modulus: u64) -> Self {
        Residues { plain_modulus, interval: None }
    }

    /// The integers from 0 to `t - 1`.
    fn unsigned(&self) -> Interval {
        Interval::symmetric((self.plain_modulus - 1) as f64).abs()
    }

    /// The integers around zero, from `-(t-1)/2` to `(t-1)/2`.
    fn signed(&self) -> Interval {
        Interval::symmetric(((self.plain_modulus - 1) / 2) as f64)
    }

    /// Returns `interval` if residues determine the integers in it.
    pub fn determined(&self, interval: Interval) -> Option<Interval> {
        (self.unsigned().covers(interval) || self.signed().covers(interval)).then_some(interval)
    }
}

/// An encrypted array of integers modulo a plaintext modulus.
///
/// A ciphertext has `N` slots in two rows of `N/2`, one after the other. Position `p` of the layout
/// is slot `p mod N/2` of row `p div N/2 mod 2`.
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
            CiphertextBody::Seeded(_) => Residues::fresh_noise(),
        }
    }
}

impl IntegerArray {
    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.form().plain_modulus
    }

    /// The interval of the integers that the elements represent.
    ///
    /// It is [`Interval::EVERYTHING`] where they may be any residue.
    pub fn interval(&self) -> Interval {
        self.form().interval.unwrap_or(Interval::EVERYTHING)
    }

    /// The same array, with the knowledge that its elements lie in `interval` too.
    pub(crate) fn with_known_interval(mut self, interval: Interval) -> Self {
        let interval = self.interval().intersection(interval);
        self.form_mut().interval = self.form().determined(interval);
        self
    }

    /// Declares that the elements lie in `interval`.
    ///
    /// It combines with the known interval as in
    /// [`EncryptedArray::with_interval`](crate::EncryptedArray::with_interval). If the declaration
    /// is wrong, results may be wrong.
    ///
    /// # Errors
    /// [`Error::Argument`] if residues do not determine the integers of the interval, or if no
    /// value of the known interval lies in it.
    pub fn with_interval(mut self, interval: Interval) -> Result<Self, Error> {
        const OPERATION: &str = "declare an interval";
        let Some(declared) = self.form().determined(interval) else {
            let (unsigned, signed) = (self.form().unsigned(), self.form().signed());
            let what = format!(
                "integers {interval} wrap around modulo {}. Declare an interval {unsigned} or \
                 {signed}, or encrypt with a larger plain modulus",
                self.plain_modulus()
            );
            return Err(Error::argument(OPERATION, what));
        };
        self.form_mut().interval = Some(self.interval().declared(declared, OPERATION)?);
        Ok(self)
    }

    /// The estimated noise budget: the room for further noise, in bits
    /// ([`bgv::Ciphertext::budget_bits`]).
    ///
    /// Decryption is right while it is positive. An operation that would use it up returns an
    /// error.
    pub fn budget_bits(&self, session: &Session) -> f64 {
        let parameters = session.settings().parameters();
        let bits = |body: &CiphertextBody<Residues>| {
            bgv::budget_bits(parameters.log2(body.modulus()), body.plain_modulus(), body.noise())
        };
        self.bodies().iter().map(bits).fold(f64::INFINITY, f64::min)
    }
}

/// Encrypts the elements of an array of shape `shape`, in row-major order.
///
/// Encodes them in the layout of the array and encrypts each plaintext with `encrypt`.
///
/// The array carries the declared `interval`. If none is declared, it shows only whether all
/// elements lie in `[0, t - 1]` or in `[-(t-1)/2, (t-1)/2]`.
pub(crate) fn encrypt_integers(
    session: &Session,
    values: &[i64],
    shape: &[usize],
    interval: Option<Interval>,
    encrypt: impl Fn(&bgv::Context, &Plaintext) -> Result<CiphertextBody<Residues>, Error> + Sync,
) -> Result<IntegerArray, Error> {
    const OPERATION: &str = "encrypt";
    let context = session.need_integers(OPERATION)?;
    let (t, degree) = (context.plain_modulus(), context.rlwe().degree());
    Integers::check_slots(t, degree)?;
    let layout = Layout::filled(shape, degree, values.len(), OPERATION)?;
    let (form, half) = (Residues::new(t), (t as i64 - 1) / 2);
    if let Some(index) = values.iter().position(|x| *x < -half || *x >= t as i64) {
        let what = format!(
            "the value{} lies outside [{}, {}], and would wrap around modulo {t}. Make keys with a larger \
             plain modulus, or reduce the values first if wrapping is meant.",
            place(shape, index),
            -half,
            t - 1
        );
        return Err(Error::argument(OPERATION, what));
    }
    let have = Interval::of(values.iter().map(|x| *x as f64));
    let public = [form.unsigned(), form.signed()]
        .into_iter()
        .find(|all| have.is_none_or(|have| all.covers(have)));
    let outside = |all: Interval| values.iter().position(|x| !all.contains(*x as f64));
    if let Some((declared, index)) = interval.and_then(|all| Some((all, outside(all)?))) {
        return Err(outside_of_interval(shape, index, declared));
    }
    let known = interval.or(public);
    let mut slots = layout.scatter(values)?;
    let bodies = session.try_each(slots.len(), |i| encrypt(context, &context.encode(&slots[i])?));
    wipe(&mut slots);
    let array = Array::from_parts(layout, form, SlotContents::Zero, bodies?)
        .expect("one body for each ciphertext of the layout, all of one key");
    match known {
        Some(known) => array.with_interval(known),
        None => Ok(array),
    }
}

/// The integers in the slots of a decrypted ciphertext.
///
/// They lie in `[0, t)`, or in `(-t/2, t/2]` if `signed`.
pub(crate) fn decode_integers(
    context: &bgv::Context,
    plaintext: &Plaintext,
    signed: bool,
) -> Result<Vec<i64>, Error> {
    let t = context.plain_modulus();
    let mut residues = [context.encoder().decode(plaintext)?];
    // Subtracts `t` without a branch from residues above the limit, since values are secret.
    // Without `signed` the limit is `t`, and nothing is subtracted.
    let (t, limit) = (t as i64, if signed { t / 2 } else { t } as i64);
    let integers =
        residues[0].iter().map(|x| *x as i64 - (t & (limit - *x as i64) >> 63)).collect();
    wipe(&mut residues);
    Ok(integers)
}
