//! The client: who holds the secret key.

use hippocrene_ckks::Values;
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Fingerprint, RlweError, SecretKey};
use num_complex::Complex64;

use crate::{
    CiphertextBody, EncryptedArray, Error, EvaluationKeys, KeyRequest, Layout, Preset, PublicKey, Session,
    Settings,
};

/// The secret key of a client: it encrypts, decrypts, and makes the keys of others.
///
/// When it is dropped, the key and all memory that held what it encrypted or decrypted are wiped. What [`ClientKey::decrypt`] returned is its
/// receiver's.
#[derive(Debug)]
pub struct ClientKey {
    session: Session,
    secret: SecretKey,
}

impl Drop for ClientKey {
    fn drop(&mut self) {
        self.session.context().forget();
    }
}

impl ClientKey {
    /// A fresh key for a preset.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
    ///
    /// let client = ClientKey::generate(Preset::by_name("n13")?)?;
    /// let server = Server::new(client.evaluation_keys(&KeyRequest::default())?)?; // holds no secret
    ///
    /// let x = client.encrypt(&[1.0, 2.0, 3.0], &[3])?;
    /// let y = server.add_number(&server.mul(&x, &x)?, 0.5)?;
    ///
    /// let result = client.decrypt(&y)?; // x^2 + 0.5
    /// assert!(result.iter().zip([1.5, 4.5, 9.5]).all(|(y, z)| (y - z).abs() < 1e-6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy.
    pub fn generate(preset: Preset) -> Result<Self, Error> {
        Self::generate_with(preset.settings()?, 1)
    }

    /// A fresh key for any settings, with so many threads.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy or refuses the threads.
    pub fn generate_with(settings: Settings, threads: usize) -> Result<Self, Error> {
        let session = Session::new(settings, threads)?;
        let secret = SecretKey::generate(session.context().rlwe())?;
        Ok(ClientKey { session, secret })
    }

    /// The key that a stored seed gives.
    ///
    /// # Errors
    /// [`Error::System`] when the machine refuses the threads.
    pub fn from_seed(settings: Settings, seed: Seed, threads: usize) -> Result<Self, Error> {
        let session = Session::new(settings, threads)?;
        let secret = SecretKey::from_seed(session.context().rlwe(), seed)?;
        Ok(ClientKey { session, secret })
    }

    /// Settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.secret.fingerprint()
    }

    /// The seed that the key is made from: **the secret itself**.
    pub fn seed(&self) -> &Seed {
        self.secret.seed()
    }

    /// A public key: who has it can encrypt to this client.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy.
    pub fn public_key(&self) -> Result<PublicKey, Error> {
        let key = hippocrene_rlwe::PublicKey::generate(self.session.context().rlwe(), &self.secret)?;
        Ok(PublicKey::new(self.session.clone(), key))
    }

    /// The keys a server needs to compute on this client's arrays.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy.
    pub fn evaluation_keys(&self, request: &KeyRequest) -> Result<EvaluationKeys, Error> {
        let rlwe = self.session.context().rlwe();
        let mut keys = hippocrene_rlwe::EvaluationKeys::empty(rlwe, self.secret.fingerprint());
        keys.add_relinearisation(rlwe, &self.secret)?;
        keys.add_rotations(rlwe, &self.secret, request.steps(self.session.slots()))?;
        if request.conjugation {
            keys.add_conjugation(rlwe, &self.secret)?;
        }
        Ok(EvaluationKeys::new(self.session.clone(), keys))
    }

    /// Encrypts real numbers: the elements of an array of shape `shape` in row-major order.
    ///
    /// Shape and magnitude are no secret: with the array goes a bound on its elements, the largest absolute value rounded up to a power of
    /// two from 1. [`EncryptedArray::with_bound`] replaces it by one that does not come from the values.
    ///
    /// # Errors
    /// [`Error::Encode`] when a value is NaN, infinite or too large; [`Error::Shape`] when there are not as many as the shape says.
    pub fn encrypt(&self, values: &[f64], shape: &[usize]) -> Result<EncryptedArray, Error> {
        self.encrypt_with(values, shape, |v| Values::Real(v))
    }

    /// [`ClientKey::encrypt`] for complex numbers.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_complex(&self, values: &[Complex64], shape: &[usize]) -> Result<EncryptedArray, Error> {
        self.encrypt_with(values, shape, |v| Values::Complex(v))
    }

    fn encrypt_with<T: Copy + Default>(
        &self,
        values: &[T],
        shape: &[usize],
        wrap: impl Fn(&[T]) -> Values<'_>,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session.context();
        encrypt_elements(&self.session, values, shape, wrap, |plaintext| {
            Ok(CiphertextBody::Seeded(context.encrypt(&self.secret, plaintext)?))
        })
    }

    /// Decrypts to the real parts of the elements, in row-major order.
    ///
    /// The result holds the error of the computation, and an exact decryption tells who sees it something about the secret key
    /// (ePrint 2020/1533): results that others will see go through [`ClientKey::decrypt_for_sharing`].
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn decrypt(&self, array: &EncryptedArray) -> Result<Vec<f64>, Error> {
        let context = self.session.context();
        self.decrypt_with(array, |c| Ok(context.decode_real(&context.decrypt(&self.secret, c)?)?))
    }

    /// Decrypts to complex elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn decrypt_complex(&self, array: &EncryptedArray) -> Result<Vec<Complex64>, Error> {
        let context = self.session.context();
        self.decrypt_with(array, |c| Ok(context.decode_complex(&context.decrypt(&self.secret, c)?)?))
    }

    /// Decrypts for the eyes of others: adds noise `2^bits` times as large as the estimated error of the computation, or a little more, which
    /// hides the error (ePrint 2022/816). It costs `bits + 1` to `bits + 2` bits of precision.
    ///
    /// Over `d` ciphertexts decrypted so, whoever sees the results has an advantage of at most `sqrt(d N) 2^(-bits) / 2` over who
    /// sees results without any error, **where the estimate is right**: [`hippocrene_ckks::Context::decrypt_for_sharing`] says what that
    /// rests on, and what has to be added to `bits` where it is not.
    ///
    /// # Errors
    /// [`Error::Argument`] when the elements are complex or nothing of the values would be left, [`Error::Capacity`] when the noise does not fit the modulus that
    /// is left.
    pub fn decrypt_for_sharing(&self, array: &EncryptedArray, bits: u32) -> Result<Vec<f64>, Error> {
        let context = self.session.context();
        if array.is_complex() {
            let what = "the elements are complex, and only real ones can be decrypted for sharing";
            return Err(Error::argument("decrypt for sharing", what));
        }
        let precision = array.precision_bits(&self.session);
        if precision + array.bound().max(1.0).log2() < f64::from(bits) + 2.0 {
            return Err(Error::argument(
                "decrypt for sharing",
                format!(
                    "the values have {precision:.1} bits of precision after the binary point, and hiding their error with {bits} \
                     bits of noise would leave nothing of them"
                ),
            ));
        }
        self.decrypt_with(array, |c| {
            Ok(context.decode_real(&context.decrypt_for_sharing(&self.secret, c, bits)?)?)
        })
    }

    fn decrypt_with<T: Copy + Default>(
        &self,
        array: &EncryptedArray,
        decrypt: impl Fn(&hippocrene_ckks::Ciphertext) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        self.session.context().rlwe().check_digest(array.parameters(), "decrypt")?;
        if array.key() != self.fingerprint() {
            let (have, need) = (array.key(), self.fingerprint());
            return Err(RlweError::KeyMismatch { operation: "decrypt", have, need }.into());
        }
        let mut slots =
            array.expanded(&self.session).iter().map(|c| decrypt(c)).collect::<Result<Vec<_>, _>>()?;
        let values = array.layout().gather(&slots);
        wipe(&mut slots);
        Ok(values)
    }
}

/// The array of shape `shape` with these elements: encodes them in its layout and encrypts each plaintext with `encrypt`.
pub(crate) fn encrypt_elements<T: Copy + Default>(
    session: &Session,
    values: &[T],
    shape: &[usize],
    wrap: impl Fn(&[T]) -> Values<'_>,
    encrypt: impl Fn(&hippocrene_ckks::Plaintext) -> Result<CiphertextBody, Error>,
) -> Result<EncryptedArray, Error> {
    let layout = Layout::packed(shape, session.slots())?;
    if layout.size() != values.len() {
        return Err(Error::shape("encrypt", format!("{} values do not fill shape {shape:?}", values.len())));
    }
    let modulus = session.settings().parameters().top();
    let mut slots = layout.scatter(values);
    let bodies = slots
        .iter()
        .map(|slots| {
            let plaintext = session.context().encode(
                wrap(slots),
                session.slots(),
                session.settings().scale(),
                modulus,
            )?;
            encrypt(&plaintext)
        })
        .collect::<Result<Vec<_>, Error>>();
    wipe(&mut slots);
    let values = wrap(values);
    let mut array = EncryptedArray::from_parts(layout, matches!(values, Values::Complex(_)), true, bodies?)
        .expect("one body for each ciphertext of the layout, all of one key");
    array.set_bound(public_bound(values.bound()));
    Ok(array)
}

/// Overwrites copies of what a client encrypts or has decrypted, as far as a compiler can be kept from leaving that out.
fn wipe<T: Copy + Default>(slots: &mut [Vec<T>]) {
    for slots in slots {
        slots.fill(T::default());
        std::hint::black_box(slots);
    }
}

/// The bound that goes with an array for all to see: the largest absolute value rounded up to a power of two from 1, so that it tells
/// no more than the magnitude of the whole array.
fn public_bound(largest: f64) -> f64 {
    let power = largest.max(1.0).log2().ceil().exp2();
    if power < largest { 2.0 * power } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_for_all_to_see_tell_only_the_magnitude() {
        for (largest, bound) in
            [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0 + f64::EPSILON, 2.0), (5.0, 8.0), (8.0, 8.0)]
        {
            assert_eq!(public_bound(largest), bound, "{largest}");
        }
        for exponent in 1..1000 {
            let power = f64::from(exponent).exp2();
            assert!(
                public_bound(power.next_up()) >= power.next_up()
                    && public_bound(power.next_down()) <= 2.0 * power
            );
        }
    }
}
