//! Keys that hold no secret: public keys, evaluation keys and transfer keys.

use std::collections::BTreeSet;

use hippocrene_ckks::{Values, bits::BitLiteral};
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::Fingerprint;
use num_complex::Complex64;

use crate::{
    BitKeys, Bootstrapping, BootstrappingKeys, CiphertextBody, EncryptedArray, Encryption, Error,
    IntegerArray, Interval, LookUpKeys, LookUps, Session, encryption::encrypt_elements,
    integers::encrypt_integers,
};

/// A public key, which encrypts arrays that only the client can decrypt.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Preset};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let public = client.public_key()?; // holds no secret
/// assert_eq!(public.key(), client.fingerprint());
///
/// let x = client.decrypt(&public.encrypt(&[0.5, -1.0], &[2])?)?;
/// assert!((x[0] - 0.5).abs() < 1e-6 && (x[1] + 1.0).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PublicKey {
    session: Session,
    inner: hippocrene_rlwe::PublicKey,
}

impl PublicKey {
    /// Combines a public key with the session that it belongs to.
    pub fn new(session: Session, inner: hippocrene_rlwe::PublicKey) -> Self {
        PublicKey { session, inner }
    }

    /// The session of these keys, with its settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The RLWE public key.
    pub fn inner(&self) -> &hippocrene_rlwe::PublicKey {
        &self.inner
    }

    /// The fingerprint of the secret key that decrypts.
    pub fn key(&self) -> Fingerprint {
        self.inner.key()
    }

    /// Encrypts real numbers, as [`ClientKey::encrypt`](crate::ClientKey::encrypt) does.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`](crate::ClientKey::encrypt_with).
    pub fn encrypt(&self, values: &[f64], shape: &[usize]) -> Result<EncryptedArray, Error> {
        self.encrypt_with(Values::Real(values), shape, &Encryption::default())
    }

    /// Encrypts complex numbers, as [`PublicKey::encrypt`] does real ones.
    ///
    /// # Errors
    /// As [`PublicKey::encrypt`].
    pub fn encrypt_complex(
        &self,
        values: &[Complex64],
        shape: &[usize],
    ) -> Result<EncryptedArray, Error> {
        self.encrypt_with(Values::Complex(values), shape, &Encryption::default())
    }

    /// Encrypts the elements of an array of shape `shape`, in row-major order, with the options in
    /// `how`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`](crate::ClientKey::encrypt_with).
    pub fn encrypt_with(
        &self,
        values: Values<'_>,
        shape: &[usize],
        how: &Encryption,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session.context();
        encrypt_elements(&self.session, values, shape, how, |plaintext| {
            Ok(CiphertextBody::Full(context.encrypt_public(&self.inner, plaintext)?))
        })
    }

    /// Encrypts integers, as [`ClientKey::encrypt_integers`](crate::ClientKey::encrypt_integers)
    /// does.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers`](crate::ClientKey::encrypt_integers).
    pub fn encrypt_integers(&self, values: &[i64], shape: &[usize]) -> Result<IntegerArray, Error> {
        self.integers_in(values, shape, None)
    }

    /// Encrypts integers that are declared to lie in `interval`, as [`PublicKey::encrypt_integers`]
    /// does.
    ///
    /// # Errors
    /// As [`PublicKey::encrypt_integers`]. Also [`Error::Argument`] if a value lies outside the
    /// interval, or if the interval lies neither in `[0, t - 1]` nor in `[-(t-1)/2, (t-1)/2]`, so
    /// that residues do not determine its integers.
    pub fn encrypt_integers_within(
        &self,
        values: &[i64],
        shape: &[usize],
        interval: Interval,
    ) -> Result<IntegerArray, Error> {
        self.integers_in(values, shape, Some(interval))
    }

    fn integers_in(
        &self,
        values: &[i64],
        shape: &[usize],
        interval: Option<Interval>,
    ) -> Result<IntegerArray, Error> {
        encrypt_integers(&self.session, values, shape, interval, |context, plaintext| {
            Ok(CiphertextBody::Full(context.encrypt_public(&self.inner, plaintext)?))
        })
    }
}

/// Rotations to the right, in slots, that [`KeyRequest::powers_of_two`] adds to the powers of two.
const RIGHT_ROTATIONS: [i64; 3] = [-1, -16, -256];

/// A request for evaluation keys.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, KeyRequest, Preset};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let request = KeyRequest::only([1, -2]);
/// let keys = client.evaluation_keys(&request)?;
/// assert_eq!(keys.rotations(), [-2, 1]);
/// assert!(keys.lacks(&request).is_empty());
///
/// let more = KeyRequest { conjugation: true, ..request };
/// assert_eq!(keys.lacks(&more), ["conjugation"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRequest {
    /// The relinearisation key, which products of encrypted arrays need.
    ///
    /// The keys of bootstraps, look-up tables and bits always include it.
    pub relinearisation: bool,
    /// Rotations to the left by every power of two of slots. The server composes any other rotation
    /// of them, and sums along axes need no others.
    ///
    /// Without the keys of a bootstrap, rotations to the right by 1, 16 and 256 come along.
    /// Otherwise a short rotation to the right would be composed of nearly all powers of two. For
    /// integers, the exchange of the two rows of slots comes along too.
    pub powers_of_two: bool,
    /// Further rotations that get keys of their own and so need one step only.
    ///
    /// They are in slots to the left; negative numbers rotate to the right.
    pub rotations: Vec<i64>,
    /// The key of complex conjugation, which also exchanges the rows of integers.
    pub conjugation: bool,
    /// The keys of a bootstrap, if one is wanted.
    ///
    /// They are some forty further rotations, each for the moduli at which it is used, conjugation,
    /// and the keys of the bootstrap's sparse secret.
    pub bootstrapping: Option<Bootstrapping>,
    /// The keys of look-up tables, if any are wanted.
    ///
    /// They are some hundred further rotations, and the keys between slots and single numbers.
    pub look_ups: Option<LookUps>,
    /// The keys of arrays of bits, if any are wanted.
    ///
    /// They are the rotations of the bootstrap of bits, conjugation, and the keys of its sparse
    /// secret.
    pub bits: Option<BitLiteral>,
}

impl Default for KeyRequest {
    /// Requests relinearisation and the rotations of [`KeyRequest::powers_of_two`].
    fn default() -> Self {
        KeyRequest {
            relinearisation: true,
            powers_of_two: true,
            rotations: Vec::new(),
            conjugation: false,
            bootstrapping: None,
            look_ups: None,
            bits: None,
        }
    }
}

impl KeyRequest {
    /// Requests the keys that gates of arrays of bits need, and no others.
    pub fn bits(literal: BitLiteral) -> Self {
        KeyRequest { bits: Some(literal), ..KeyRequest::only([]) }
    }

    /// Requests relinearisation and exactly these rotations.
    pub fn only(rotations: impl IntoIterator<Item = i64>) -> Self {
        let rotations = rotations.into_iter().collect();
        KeyRequest { powers_of_two: false, rotations, ..KeyRequest::default() }
    }

    /// The rotations to make keys for, in slots to the left; `slots` is a power of two.
    pub(crate) fn steps(&self, slots: usize) -> Vec<i64> {
        let right = RIGHT_ROTATIONS
            .into_iter()
            .filter(|s| self.bootstrapping.is_none() && s.abs() < slots as i64 / 2);
        let powers = (0..slots.trailing_zeros()).map(|k| 1i64 << k).chain(right);
        powers.filter(|_| self.powers_of_two).chain(self.rotations.iter().copied()).collect()
    }
}

/// The keys that a server computes with, which hold no secret.
///
/// They are relinearisation, rotations, and the keys of bootstrapping, look-up tables and bits.
///
/// See [`KeyRequest`] for an example.
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    session: Session,
    inner: hippocrene_rlwe::EvaluationKeys,
    bootstrapping: Option<BootstrappingKeys>,
    look_ups: Option<LookUpKeys>,
    bits: Option<BitKeys>,
}

impl EvaluationKeys {
    /// Combines evaluation keys with the session that they belong to.
    pub fn new(session: Session, inner: hippocrene_rlwe::EvaluationKeys) -> Self {
        EvaluationKeys { session, inner, bootstrapping: None, look_ups: None, bits: None }
    }

    /// Adds the keys of a bootstrap.
    ///
    /// Its rotations and conjugation must be among the keys already.
    pub fn with_bootstrapping(self, keys: BootstrappingKeys) -> Self {
        EvaluationKeys { bootstrapping: Some(keys), ..self }
    }

    /// Adds the keys of look-up tables.
    ///
    /// Their rotations must be among the keys already.
    pub fn with_look_ups(self, keys: LookUpKeys) -> Self {
        EvaluationKeys { look_ups: Some(keys), ..self }
    }

    /// Adds the keys of arrays of bits.
    ///
    /// Their rotations and conjugation must be among the keys already.
    pub fn with_bits(self, keys: BitKeys) -> Self {
        EvaluationKeys { bits: Some(keys), ..self }
    }

    /// The keys of arrays of bits, if there are any.
    pub fn bits(&self) -> Option<&BitKeys> {
        self.bits.as_ref()
    }

    /// The keys of look-up tables, if there are any.
    pub fn look_ups(&self) -> Option<&LookUpKeys> {
        self.look_ups.as_ref()
    }

    /// The keys of a bootstrap, if there are any.
    pub fn bootstrapping(&self) -> Option<&BootstrappingKeys> {
        self.bootstrapping.as_ref()
    }

    /// The session of these keys, with its settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The RLWE keys.
    pub fn inner(&self) -> &hippocrene_rlwe::EvaluationKeys {
        &self.inner
    }

    /// The fingerprint of the secret key that they belong to.
    pub fn key(&self) -> Fingerprint {
        self.inner.key()
    }

    /// The rotations that have keys, in slots to the left (negative: to the right), in ascending
    /// order.
    ///
    /// They include the rotations of a bootstrap, of tables and of bits. Keys of these are only for
    /// the moduli at which they are used.
    pub fn rotations(&self) -> Vec<i64> {
        let degree = self.session.settings().parameters().degree();
        rotations_among(degree, self.inner.galois().keys().copied()).0
    }

    /// True if the keys include complex conjugation, which also exchanges the rows of integers.
    pub fn conjugation(&self) -> bool {
        let degree = self.session.settings().parameters().degree();
        self.inner.galois().contains_key(&galois_element_of_conjugation(degree))
    }
}

impl EvaluationKeys {
    /// The parts of `request` that these keys lack, one text for each kind; empty if they lack
    /// none.
    ///
    /// A rotation that the keys can compose is not lacking. A bootstrap is lacking unless the keys
    /// have one that was planned for at least as much. Tables are lacking unless the keys have
    /// those of the same name with at least the same capacity.
    pub fn lacks(&self, request: &KeyRequest) -> Vec<String> {
        let rlwe = self.session.context().rlwe();
        let conjugation = galois_element_of_conjugation(rlwe.degree());
        let conjugates = self.inner.galois().get(&conjugation);
        let conjugates = conjugates.is_some_and(|key| key.modulus() == rlwe.parameters().full());
        let mut rotations = request.steps(self.session.slots());
        rotations.retain(|steps| !self.inner.rotates(rlwe, *steps));
        rotations.sort_unstable();
        rotations.dedup();
        let bootstraps = request.bootstrapping.is_none_or(|wanted| {
            self.bootstrapping.as_ref().is_some_and(|own| own.request().serves(&wanted))
        });
        let looks_up = request.look_ups.is_none_or(|wanted| {
            self.look_ups.as_ref().is_some_and(|own| own.request().serves(&wanted))
        });
        let has_bits = request
            .bits
            .as_ref()
            .is_none_or(|wanted| self.bits.as_ref().is_some_and(|own| own.literal() == wanted));
        let named = |lacks: bool, name: &str| lacks.then(|| name.to_owned());
        let of_rotations = match &rotations[..] {
            [] => None,
            [one] => Some(format!("the rotation by {one}")),
            [first @ .., last] => {
                let first: Vec<String> = first.iter().map(i64::to_string).collect();
                Some(format!("the rotations by {} and {last}", first.join(", ")))
            }
        };
        let tables = request.look_ups.map_or("", |wanted| wanted.tables);
        [
            named(
                request.relinearisation && self.inner.relinearisation().is_none(),
                "relinearisation",
            ),
            of_rotations,
            named(request.conjugation && !conjugates, "conjugation"),
            named(!bootstraps, "bootstrapping"),
            named(!looks_up, &format!("the tables {tables}")),
            named(!has_bits, "bits"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Splits Galois elements into rotations, in ascending order, and all other elements.
pub fn rotations_among(
    degree: usize,
    elements: impl IntoIterator<Item = usize>,
) -> (Vec<i64>, BTreeSet<usize>) {
    let mut others: BTreeSet<usize> = elements.into_iter().collect();
    let half = (degree / 4) as i64;
    // The powers of 5 are the elements that are 1 modulo 4; each is a rotation by one number of
    // slots.
    let held = |step: &i64| others.remove(&galois_element_of_rotation(degree, *step));
    ((1 - half..=half).filter(held).collect(), others)
}

/// The key that converts arrays of one client key to that of a second parameter set
/// ([`ClientKey::second_key`](crate::ClientKey::second_key)).
///
/// It holds no secret.
///
/// See [`ClientKey::second_key`](crate::ClientKey::second_key) for an example.
#[derive(Debug, Clone)]
pub struct TransferKey {
    session: Session,
    inner: hippocrene_rlwe::TransferKey,
}

impl TransferKey {
    /// Combines a transfer key with the session of the arrays that it converts.
    pub fn new(session: Session, inner: hippocrene_rlwe::TransferKey) -> Self {
        TransferKey { session, inner }
    }

    /// The session of the arrays that it converts, with settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The RLWE key.
    pub fn inner(&self) -> &hippocrene_rlwe::TransferKey {
        &self.inner
    }

    /// The fingerprint of the key whose arrays it converts.
    pub fn key(&self) -> Fingerprint {
        self.inner.from()
    }

    /// The fingerprint of the key that decrypts converted arrays.
    pub fn second(&self) -> Fingerprint {
        self.inner.to()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_told_by_their_elements() {
        for degree in [16, 1 << 13] {
            let half = degree as i64 / 4;
            let steps: Vec<i64> = vec![1 - half, -2, -1, 1, 3, half];
            let conjugation = galois_element_of_conjugation(degree);
            let elements = steps.iter().map(|step| galois_element_of_rotation(degree, *step));
            let (rotations, others) = rotations_among(degree, elements.chain([conjugation, 3]));
            assert_eq!(rotations, steps);
            assert_eq!(others, [3, conjugation].into());
        }
    }
}
