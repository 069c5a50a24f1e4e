//! The client: who holds the secret key.

use hippocrene_ckks::{BigFloat, Ciphertext, Values, bootstrap::BootstrapPlan};
use hippocrene_pegasus::{PegasusKeys, PegasusSecrets};
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Fingerprint, Noise, RlweError, SecretKey};
use num_complex::Complex64;

use crate::{
    Array, BitKeys, Bootstrapping, BootstrappingKeys, CiphertextBody, Elements, EncryptedArray,
    Encryption, Error, EvaluationKeys, Fresh, IntegerArray, Interval, KeyRequest, LookUpKeys,
    Preset, PublicKey, Session, Settings, TransferKey,
    encryption::{encrypt_elements, wipe},
    integers::{decode_integers, encrypt_integers},
    numbers::precision_bits,
};

const SHARING: &str = "decrypt for sharing";
/// Bits of noise that [`ClientKey::sharing_bits`] gives: from, and up to.
const LEAST_HIDDEN: u32 = 20;
const MOST_HIDDEN: u32 = 40;
/// Bits of precision after the binary point that it leaves.
const LEFT_TO_SHARE: f64 = 8.0;

/// The secret key of a client: it encrypts, decrypts, and makes the keys of others.
///
/// When it is dropped, the key and all memory that held what it encrypted or decrypted are wiped.
/// What [`ClientKey::decrypt`] returned is its receiver's.
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

    /// A fresh key for any settings, with so many threads (0 and 1: only the calling one).
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy or refuses the threads.
    pub fn generate_with(settings: Settings, threads: usize) -> Result<Self, Error> {
        Self::in_session(Session::new(settings, threads)?)
    }

    pub(crate) fn in_session(session: Session) -> Result<Self, Error> {
        let secret = SecretKey::generate(session.context().rlwe())?;
        Ok(ClientKey { session, secret })
    }

    /// The key that a stored seed gives. A seed is for one parameter set: with others it gives
    /// related secrets ([`SecretKey::from_seed`]).
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

    pub(crate) fn secret(&self) -> &SecretKey {
        &self.secret
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
        let key =
            hippocrene_rlwe::PublicKey::generate(self.session.context().rlwe(), &self.secret)?;
        Ok(PublicKey::new(self.session.clone(), key))
    }

    /// The keys a server needs to compute on this client's arrays.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy; with bootstrapping as
    /// [`Bootstrapping::plan`](crate::Bootstrapping::plan), with look-up tables as
    /// [`LookUps::plan`](crate::LookUps::plan), with bits as [`ClientKey::bit_plan`].
    pub fn evaluation_keys(&self, request: &KeyRequest) -> Result<EvaluationKeys, Error> {
        const OPERATION: &str = "make evaluation keys";
        let (rlwe, slots) = (self.session.context().rlwe(), self.session.slots());
        if let Some(places) =
            request.rotations.iter().find(|places| places.unsigned_abs() >= slots as u64)
        {
            let last = slots - 1;
            let slots = match self.session.integers() {
                Some(_) => format!("two rows of {slots} slots"),
                None => format!("{slots} slots"),
            };
            let what = format!("{slots} rotate by -{last} to {last} places, not by {places}");
            return Err(Error::argument(OPERATION, what));
        }
        let mut keys = hippocrene_rlwe::EvaluationKeys::empty(rlwe, self.secret.fingerprint());
        if rlwe.parameters().specials().is_one() {
            // Ciphertexts are added and multiplied by plain numbers without any key.
            let nothing =
                KeyRequest { relinearisation: request.relinearisation, ..KeyRequest::only([]) };
            if *request != KeyRequest::default() && *request != nothing {
                let what = "the parameter set has no special modulus, which the keys that are asked for take";
                return Err(Error::argument(OPERATION, what));
            }
            return Ok(EvaluationKeys::new(self.session.clone(), keys));
        }
        if request.relinearisation {
            keys.add_relinearisation(rlwe, &self.secret)?;
        }
        keys.add_rotations(rlwe, &self.secret, request.steps(slots))?;
        if request.conjugation || request.powers_of_two && self.session.integers().is_some() {
            keys.add_conjugation(rlwe, &self.secret)?;
        }
        let mut reserve = None;
        let bootstrapping = match &request.bootstrapping {
            Some(bootstrapping) => {
                let (plan, own) = self.bootstrapping_keys(bootstrapping)?;
                reserve = Some(crate::bootstrapping::reserve(&plan));
                plan.add_keys(&mut keys, &self.secret)?;
                // Comparisons, which bootstraps come with, take it at any modulus.
                keys.add_conjugation(rlwe, &self.secret)?;
                Some(own)
            }
            None => None,
        };
        let look_ups = match request.look_ups {
            Some(asked) => {
                let asked = asked.beside(&self.session, reserve)?;
                let plan = asked.plan(&self.session)?;
                plan.add_keys(&mut keys, &self.secret)?;
                // The secrets of single numbers are in no other key, and nothing is ever decrypted
                // with them.
                let secrets = PegasusSecrets::generate(plan.pegasus())?;
                let own = PegasusKeys::generate(plan.pegasus(), &self.secret, &secrets)?;
                Some(LookUpKeys::new(asked, own))
            }
            None => None,
        };
        let bits = match &request.bits {
            Some(literal) => {
                let plan = self.bit_plan(literal.clone())?;
                plan.add_keys(&mut keys, &self.secret)?;
                let encapsulation = plan.encapsulation_keys(&self.secret)?;
                Some(BitKeys::new(&self.session, literal.clone(), encapsulation)?)
            }
            None => None,
        };
        let mut all = EvaluationKeys::new(self.session.clone(), keys);
        if let Some(own) = bits {
            all = all.with_bits(own);
        }
        if let Some(own) = bootstrapping {
            all = all.with_bootstrapping(own);
        }
        if let Some(own) = look_ups {
            all = all.with_look_ups(own);
        }
        Ok(all)
    }

    /// A bootstrap, and the keys that it takes beside rotations, conjugation and relinearisation.
    pub(crate) fn bootstrapping_keys(
        &self,
        bootstrapping: &Bootstrapping,
    ) -> Result<(BootstrapPlan, BootstrappingKeys), Error> {
        let (plan, precision) = bootstrapping.plan(&self.session)?;
        let encapsulation = plan.encapsulation_keys(&self.secret)?;
        let encapsulation =
            encapsulation.ok_or_else(|| Error::Internal("the plan has no sparse secret".into()))?;
        let literal = plan.literal().clone();
        Ok((plan, BootstrappingKeys::new(&self.session, precision, literal, encapsulation)?))
    }

    /// A fresh key of a second parameter set, for what needs no more than `capacity` bits of
    /// capacity, of integers of noise budget ([`Settings::second`]): its evaluation keys are
    /// smaller. With the [`TransferKey`] a server brings this client's arrays to it.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
    ///
    /// let client = ClientKey::generate(Preset::by_name("n14")?)?;
    /// let second = client.second(60.0)?;
    /// let server = Server::new(second.evaluation_keys(&KeyRequest::only([]))?)?;
    /// let server = server.with_transfer(&client.transfer_key(&second)?)?;
    ///
    /// let x = server.transfer(&client.encrypt(&[1.0, 2.0, 3.0], &[3])?)?;
    /// let result = second.decrypt(&server.mul(&x, &x)?)?;
    /// assert!(result.iter().zip([1.0, 4.0, 9.0]).all(|(y, z)| (y - z).abs() < 1e-6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Settings::second`], and [`Error::System`] when the machine has no entropy.
    pub fn second(&self, capacity: f64) -> Result<ClientKey, Error> {
        ClientKey::generate_with(self.session.settings().second(capacity)?, self.session.threads())
    }

    /// The key by which a server brings arrays of this client to the secret and the parameter set
    /// of `second`.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the moduli of `second` are none of this client's (those of
    /// [`ClientKey::second`] are, and so are those of any other client of the same set), or it is
    /// this client; [`Error::Security`] when `second` is secure and this client's set is not.
    pub fn transfer_key(&self, second: &ClientKey) -> Result<TransferKey, Error> {
        let (wide, narrow) = (self.session.context().rlwe(), second.session.context().rlwe());
        let key =
            hippocrene_rlwe::TransferKey::generate(wide, narrow, &self.secret, &second.secret)?;
        Ok(TransferKey::new(self.session.clone(), key))
    }

    /// Encrypts real numbers: the elements of an array of shape `shape` in row-major order, as
    /// [`ClientKey::encrypt_with`] does when nothing is declared.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`].
    pub fn encrypt(&self, values: &[f64], shape: &[usize]) -> Result<EncryptedArray, Error> {
        self.encrypt_with(Values::Real(values), shape, &Encryption::default())
    }

    /// [`ClientKey::encrypt`] for complex numbers.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`].
    pub fn encrypt_complex(
        &self,
        values: &[Complex64],
        shape: &[usize],
    ) -> Result<EncryptedArray, Error> {
        self.encrypt_with(Values::Complex(values), shape, &Encryption::default())
    }

    /// Encrypts the elements of an array of shape `shape` in row-major order, `how` it is said.
    ///
    /// # Errors
    /// [`Error::Encode`] when a value is NaN, infinite or too large; [`Error::Shape`] when there
    /// are not as many as the shape says; [`Error::Argument`] when one exceeds the declared bound.
    pub fn encrypt_with(
        &self,
        values: Values<'_>,
        shape: &[usize],
        how: &Encryption,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session.context();
        encrypt_elements(&self.session, values, shape, how, |plaintext| {
            Ok(CiphertextBody::Seeded(Fresh::new(context.encrypt(&self.secret, plaintext)?)))
        })
    }

    /// Encrypts the elements of an array of shape `shape` in row-major order: integers from
    /// `-(t-1)/2` to `t - 1`, where `t` is the plaintext modulus of the settings. Results count
    /// modulo `t`.
    ///
    /// The array says to everybody whether all values lie in `[0, t - 1]` or in `[-(t-1)/2,
    /// (t-1)/2]`, and nothing else of them.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, Integers, KeyRequest, Preset, Scheme, Server};
    ///
    /// let integers = Integers { scheme: Scheme::Bgv, plain_modulus: 65537 };
    /// let client = ClientKey::generate_with(Preset::by_name("n13")?.settings()?.with_integers(integers)?, 1)?;
    /// let server = Server::new(client.evaluation_keys(&KeyRequest::default())?)?;
    ///
    /// let x = client.encrypt_integers(&[1, -2, 300], &[3])?;
    /// let y = server.add_number(&server.mul(&x, &x)?, 5)?;
    ///
    /// assert_eq!(client.decrypt_integers(&y)?, [6, 9, 24468]); // x^2 + 5 modulo 65537
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the settings have no plaintext modulus, or a value lies outside that
    /// range and would wrap around; [`Error::Parameters`] if the modulus gives no slots;
    /// [`Error::Shape`] if there are not as many integers as the shape says.
    pub fn encrypt_integers(&self, values: &[i64], shape: &[usize]) -> Result<IntegerArray, Error> {
        self.integers_in(values, shape, None)
    }

    /// [`ClientKey::encrypt_integers`] of values that are declared to lie in `interval`.
    ///
    /// # Errors
    /// As there, and [`Error::Argument`] if a value lies outside, or the integers of the interval
    /// are not determined by their residues: it has to lie in `[0, t - 1]` or `[-(t-1)/2,
    /// (t-1)/2]`.
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
            Ok(CiphertextBody::Seeded(Fresh::new(context.encrypt(&self.secret, plaintext)?)))
        })
    }

    /// Decrypts integers, in row-major order: in `[0, t)`. The result is exact.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::Argument`] or
    /// [`Error::PlainModulusMismatch`] when these settings do not have its plaintext modulus.
    pub fn decrypt_integers(&self, array: &IntegerArray) -> Result<Vec<i64>, Error> {
        self.integers_of(array, false)
    }

    /// [`ClientKey::decrypt_integers`] to the integers around zero: in `(-t/2, t/2]`.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_integers`].
    pub fn decrypt_signed_integers(&self, array: &IntegerArray) -> Result<Vec<i64>, Error> {
        self.integers_of(array, true)
    }

    /// The noise budget of an array as it is, in bits: the least of its ciphertexts'
    /// ([`hippocrene_bgv::Context::noise_budget`]). The estimate that needs no secret,
    /// [`IntegerArray::budget_bits`], is below it. It tells how large the error is, and so is for
    /// the owner of the key.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_integers`].
    pub fn noise_budget(&self, array: &IntegerArray) -> Result<f64, Error> {
        const OPERATION: &str = "measure the noise budget";
        let context = self.session.need_integers(OPERATION)?;
        self.check(array, OPERATION)?;
        array.expanded(&self.session).iter().try_fold(f64::INFINITY, |least, c| {
            let budget = context.noise_budget(&self.secret, c)?;
            Ok(budget.min(least))
        })
    }

    fn integers_of(&self, array: &IntegerArray, signed: bool) -> Result<Vec<i64>, Error> {
        let context = self.session.need_integers("decrypt integers")?;
        self.decrypt_with(array, |c| {
            decode_integers(context, &context.decrypt(&self.secret, c)?, signed)
        })
    }

    /// Decrypts to the real parts of the elements, in row-major order.
    ///
    /// The result holds the error of the computation, and an exact decryption tells who sees it
    /// something about the secret key (ePrint 2020/1533): results that others will see go through
    /// [`ClientKey::decrypt_for_sharing`].
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::Argument`] when it is
    /// one of a simulation.
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
        self.decrypt_with(
            array,
            |c| Ok(context.decode_complex(&context.decrypt(&self.secret, c)?)?),
        )
    }

    /// [`ClientKey::decrypt`] for arrays of more precision than an `f64` holds.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_big(&self, array: &EncryptedArray) -> Result<Vec<BigFloat>, Error> {
        let context = self.session.context();
        self.decrypt_with(array, |c| {
            Ok(context.decode_big_real(&context.decrypt(&self.secret, c)?)?)
        })
    }

    /// Decrypts for the eyes of others: adds noise `2^bits` times as large as the estimated error
    /// of the computation, or a little more, which hides the error (ePrint 2022/816). It costs
    /// `bits + 1` to `bits + 2` bits of precision. [`ClientKey::sharing_bits`] says how many `bits`
    /// an array allows.
    ///
    /// Over `d` ciphertexts decrypted so, whoever sees the results has an advantage of at most
    /// `sqrt(d N) 2^(-bits) / 2` over who sees results without any error, **where the estimate is
    /// right**: [`hippocrene_ckks::Context::decrypt_for_sharing`] says what that rests on, and what
    /// has to be added to `bits` where it is not.
    ///
    /// # Errors
    /// [`Error::Argument`] when the elements are complex or nothing of the values would be left,
    /// [`Error::Capacity`] when the noise does not fit the modulus that is left; and when the array
    /// is not of this key and these parameters.
    pub fn decrypt_for_sharing(
        &self,
        array: &EncryptedArray,
        bits: u32,
    ) -> Result<Vec<f64>, Error> {
        self.check(array, SHARING)?;
        array.check_error_known(SHARING)?;
        let context = self.session.context();
        if array.is_complex() {
            let what = "the elements are complex, and only real ones can be decrypted for sharing";
            return Err(Error::argument(SHARING, what));
        }
        let precision = self.precision_to_share(array);
        if precision + array.bound().max(1.0).log2() < f64::from(bits) + 2.0 {
            return Err(Error::argument(
                SHARING,
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

    /// How many bits of noise [`ClientKey::decrypt_for_sharing`] takes where nobody says: as many
    /// as leave 8 bits of precision after the binary point, at least 20 and at most 40.
    ///
    /// At `N = 2^14`, 20 bits hide one ciphertext's decryption to an advantage of `2^-14`, and 40
    /// bits a million of them to `2^-24`. Who publishes many results encrypts with more precision,
    /// and every bit of that is a bit of hiding.
    ///
    /// # Errors
    /// [`Error::Argument`] when 20 bits would leave less than 8 bits of precision, and when the
    /// array is not of this key and these parameters.
    pub fn sharing_bits(&self, array: &EncryptedArray) -> Result<u32, Error> {
        self.check(array, SHARING)?;
        array.check_error_known(SHARING)?;
        let precision = self.precision_to_share(array);
        let need = f64::from(LEAST_HIDDEN) + 2.0 + LEFT_TO_SHARE;
        if precision < need {
            return Err(Error::argument(
                SHARING,
                format!(
                    "the values have {precision:.1} bits of precision after the binary point, and hiding their error well while leaving \
                     {LEFT_TO_SHARE} bits of them takes {need}: encrypt with more precision, or say how many bits of noise to add"
                ),
            ));
        }
        Ok((precision - 2.0 - LEFT_TO_SHARE).min(MOST_HIDDEN.into()) as u32)
    }

    /// The precision that flooding starts from: that of the array, but for that of a fresh
    /// encryption at most.
    fn precision_to_share(&self, array: &EncryptedArray) -> f64 {
        let context = self.session.context();
        let bits = |c: &Ciphertext| {
            let error = Noise::from_log2_std(context.flooding_log2_std(c, 0) - 1.0);
            precision_bits(c.scale(), error, c.slots())
        };
        array.expanded(&self.session).iter().map(|c| bits(c)).fold(f64::INFINITY, f64::min)
    }

    /// Checks that an array is of this key and these parameters, and not of a simulation.
    pub(crate) fn check<F: Elements>(
        &self,
        array: &Array<F>,
        operation: &'static str,
    ) -> Result<(), Error> {
        array.check_residues(operation)?;
        self.session.context().rlwe().check_digest(array.parameters(), operation)?;
        if array.key() == self.fingerprint() {
            return Ok(());
        }
        Err(RlweError::KeyMismatch { operation, have: array.key(), need: self.fingerprint() }
            .into())
    }

    pub(crate) fn decrypt_with<F: Elements, T: Clone + Default + Send>(
        &self,
        array: &Array<F>,
        decrypt: impl Fn(&F::Ciphertext) -> Result<Vec<T>, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.check(array, "decrypt")?;
        let ciphertexts = array.expanded(&self.session);
        let mut slots = self.session.try_each(ciphertexts.len(), |i| decrypt(&ciphertexts[i]))?;
        let (have, need) = (array.layout().slots(), slots.first().map_or(0, Vec::len));
        if have != need {
            wipe(&mut slots);
            let what = format!("the layout is of {have} slots, ciphertexts have {need}");
            return Err(Error::shape("decrypt", what));
        }
        let values = array.layout().gather(&slots);
        wipe(&mut slots);
        Ok(values)
    }
}
