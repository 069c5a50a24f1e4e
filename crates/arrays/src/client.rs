//! The client, which holds the secret key.

use hippocrene_ckks::{BigFloat, Ciphertext, Values, bootstrap::BootstrapPlan};
use hippocrene_pegasus::{PegasusKeys, PegasusSecrets};
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Fingerprint, Noise, RlweError, SecretKey};
use num_complex::Complex64;

use crate::{
    Array, BitKeys, Bootstrapping, BootstrappingKeys, CiphertextBody, Elements, EncryptedArray,
    Encryption, Error, EvaluationKeys, Fresh, IntegerArray, Interval, KeyRequest, LookUpKeys,
    PublicKey, Session, Settings, TransferKey,
    encryption::{encrypt_elements, wipe},
    error::place,
    integers::{decode_integers, encrypt_integers},
    numbers::precision_bits,
};

const SHARING: &str = "decrypt for sharing";
/// The largest number of bits of noise that [`ClientKey::sharing_bits`] returns.
const MAX_SHARING_BITS: u32 = 40;
/// Bits of precision after the binary point that [`ClientKey::sharing_bits`] leaves.
const PRECISION_LEFT_BITS: f64 = 8.0;
/// Decrypted elements are wrong if they lie outside of their interval by more than this number of
/// its widths and this number of standard deviations of their error. Both are chosen: elements that
/// are only a little outside are still useful, and wrong polynomials are far outside.
const TOLERATED_WIDTHS: f64 = 0.5;
const TOLERATED_DEVIATIONS: f64 = 64.0;

/// The secret key of a client, which encrypts, decrypts and makes the public, evaluation and
/// transfer keys.
///
/// Dropping it wipes the key and all memory that held values during encryption and decryption. The
/// values that [`ClientKey::decrypt`] returned belong to the caller and are not wiped.
///
/// See [`ClientKey::generate`] for an example.
#[derive(Debug)]
pub struct ClientKey {
    session: Session,
    secret: SecretKey,
}

/// The precision to encrypt with, in whole bits, so that `array` has `need` bits instead of `have`.
fn precision_for_sharing(array: &EncryptedArray, have: f64, need: f64) -> f64 {
    (array.precision() + need - have).ceil()
}

/// The explanation that `bits` of noise are too many, where at most `most` are possible.
fn too_wide(bits: u32, most: f64) -> String {
    let way = match most >= ClientKey::MIN_SHARING_BITS.into() {
        true => format!("Pass at most {} bits", most.floor()),
        false => "Encrypt with a lower precision, or take a preset with a larger modulus".into(),
    };
    format!("noise of {bits} bits is too large for the modulus that is left. {way}.")
}

impl Drop for ClientKey {
    fn drop(&mut self) {
        self.session.context().wipe_scratch();
    }
}

impl ClientKey {
    /// The least number of bits of noise for [`ClientKey::decrypt_for_sharing`].
    ///
    /// At `N = 2^14`, they limit the advantage to `2^-14` for one ciphertext. This is a choice.
    pub const MIN_SHARING_BITS: u32 = 20;

    /// Generates a fresh key that computes on one thread.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
    ///
    /// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
    /// let server = Server::new(client.evaluation_keys(&KeyRequest::default())?)?; // no secret
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
    pub fn generate(settings: Settings) -> Result<Self, Error> {
        Self::generate_with(settings, 1)
    }

    /// Generates a fresh key that computes on the given number of threads.
    ///
    /// With 0 or 1, only the calling thread works.
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

    /// Derives the key from a stored seed.
    ///
    /// Use a seed for one parameter set only: with others it gives related secrets
    /// ([`SecretKey::from_seed`]).
    ///
    /// # Errors
    /// [`Error::System`] when the machine refuses the threads.
    pub fn from_seed(settings: Settings, seed: Seed, threads: usize) -> Result<Self, Error> {
        let session = Session::new(settings, threads)?;
        let secret = SecretKey::from_seed(session.context().rlwe(), seed)?;
        Ok(ClientKey { session, secret })
    }

    /// The session of this key, with its settings and context.
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

    /// The seed that the key is derived from: **this is the secret itself**.
    pub fn seed(&self) -> &Seed {
        self.secret.seed()
    }

    /// Makes a public key, with which anyone can encrypt to this client.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy.
    pub fn public_key(&self) -> Result<PublicKey, Error> {
        let key =
            hippocrene_rlwe::PublicKey::generate(self.session.context().rlwe(), &self.secret)?;
        Ok(PublicKey::new(self.session.clone(), key))
    }

    /// Makes the keys that a server needs to compute on this client's arrays.
    ///
    /// # Errors
    /// [`Error::System`] when the machine has no entropy. [`Error::Argument`] when a rotation is by
    /// at least the number of slots, or when the requested keys need a special modulus and the
    /// parameter set has none. With bootstrapping as
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
            // Additions and products with plain numbers need no key.
            let nothing =
                KeyRequest { relinearisation: request.relinearisation, ..KeyRequest::only([]) };
            if *request != KeyRequest::default() && *request != nothing {
                let what = "the parameter set has no special modulus, which the requested keys \
                            need";
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
                // Comparisons, which need bootstraps, conjugate at any modulus.
                keys.add_conjugation(rlwe, &self.secret)?;
                Some(own)
            }
            None => None,
        };
        let look_ups = match request.look_ups {
            Some(asked) => {
                let asked = asked.with_default_capacity(&self.session, reserve)?;
                let plan = asked.plan(&self.session)?;
                plan.add_keys(&mut keys, &self.secret)?;
                // The secrets of single numbers (LWE) are in no other key and never decrypt
                // anything.
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

    /// Plans a bootstrap and makes its keys other than rotations, conjugation and relinearisation.
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

    /// Generates a fresh key of a second, smaller parameter set ([`Settings::for_second_key`]).
    ///
    /// It is for arrays that need at most `capacity` bits of capacity, or of noise budget if they
    /// hold integers. Its evaluation keys are smaller. With the [`TransferKey`] a server converts
    /// this client's arrays to it.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
    ///
    /// let client = ClientKey::generate(Preset::by_name("n14")?.settings()?)?;
    /// let second = client.second_key(60.0)?;
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
    /// As [`Settings::for_second_key`], and [`Error::System`] when the machine has no entropy.
    pub fn second_key(&self, capacity: f64) -> Result<ClientKey, Error> {
        ClientKey::generate_with(
            self.session.settings().for_second_key(capacity)?,
            self.session.threads(),
        )
    }

    /// Makes the key with which a server converts this client's arrays to the secret and parameter
    /// set of `second`.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the moduli of `second` are not among this client's, or `second`
    /// is this client. The moduli of [`ClientKey::second_key`] are among them, and so are those of
    /// any other client of the same set. [`Error::Security`] when `second` is secure and this
    /// client's set is not.
    pub fn transfer_key(&self, second: &ClientKey) -> Result<TransferKey, Error> {
        let (from, to) = (self.session.context().rlwe(), second.session.context().rlwe());
        let key = hippocrene_rlwe::TransferKey::generate(from, to, &self.secret, &second.secret)?;
        Ok(TransferKey::new(self.session.clone(), key))
    }

    /// Encrypts real numbers, given as the elements of an array of shape `shape` in row-major
    /// order.
    ///
    /// This is [`ClientKey::encrypt_with`] with the default options.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`].
    pub fn encrypt(&self, values: &[f64], shape: &[usize]) -> Result<EncryptedArray, Error> {
        self.encrypt_with(Values::Real(values), shape, &Encryption::default())
    }

    /// Encrypts complex numbers, as [`ClientKey::encrypt`] does real ones.
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

    /// Encrypts the elements of an array of shape `shape`, in row-major order, with the options in
    /// `how`.
    ///
    /// # Errors
    /// [`Error::Encode`] when a value is NaN, infinite or too large. [`Error::Shape`] when the
    /// number of values does not match the shape. [`Error::Parameters`] when these parameters do
    /// not allow the precision. [`Error::Argument`] when a value lies outside the declared
    /// interval, when an end of that interval is infinite, when the modulus is too small for the
    /// values, or when the error of encryption would be larger than the values may be.
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

    /// Encrypts integers from `-(t-1)/2` to `t - 1`, given as the elements of an array of shape
    /// `shape` in row-major order.
    ///
    /// Here `t` is the plaintext modulus of the settings. Results are modulo `t`.
    ///
    /// The array shows to everybody whether all values lie in `[0, t - 1]` or in
    /// `[-(t-1)/2, (t-1)/2]`, and nothing else about them.
    ///
    /// ```
    /// # fn main() -> Result<(), hippocrene::Error> {
    /// use hippocrene::{ClientKey, Integers, KeyRequest, Preset, Scheme, Server};
    ///
    /// let integers = Integers { scheme: Scheme::Bgv, plain_modulus: 65537 };
    /// let settings = Preset::by_name("n13")?.settings()?.with_integers(integers)?;
    /// let client = ClientKey::generate_with(settings, 1)?;
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
    /// [`Error::Argument`] if the settings have no plaintext modulus, or if a value lies outside
    /// that range and would wrap around. [`Error::Parameters`] if the modulus gives no slots.
    /// [`Error::Shape`] if the number of integers does not match the shape.
    pub fn encrypt_integers(&self, values: &[i64], shape: &[usize]) -> Result<IntegerArray, Error> {
        self.integers_in(values, shape, None)
    }

    /// Encrypts integers that are declared to lie in `interval`, as [`ClientKey::encrypt_integers`]
    /// does.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers`]. Also [`Error::Argument`] if a value lies outside the
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
            Ok(CiphertextBody::Seeded(Fresh::new(context.encrypt(&self.secret, plaintext)?)))
        })
    }

    /// Decrypts to integers in `[0, t)`, in row-major order.
    ///
    /// The result is exact.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::Argument`] or
    /// [`Error::PlainModulusMismatch`] when these settings do not have its plaintext modulus.
    pub fn decrypt_integers(&self, array: &IntegerArray) -> Result<Vec<i64>, Error> {
        self.integers_of(array, false)
    }

    /// Decrypts to the integers around zero, in `(-t/2, t/2]`, in row-major order.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_integers`].
    pub fn decrypt_signed_integers(&self, array: &IntegerArray) -> Result<Vec<i64>, Error> {
        self.integers_of(array, true)
    }

    /// Measures the noise budget of an array, in bits.
    ///
    /// It is the smallest budget of its ciphertexts ([`hippocrene_bgv::Context::noise_budget`]).
    /// The estimate that needs no secret, [`IntegerArray::budget_bits`], is lower. The result
    /// reveals the size of the error, so only the owner of the key should see it.
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
    /// The result contains the error of the computation, so it reveals something about the secret
    /// key to anyone who sees it (ePrint 2020/1533). Use [`ClientKey::decrypt_for_sharing`] for
    /// results that others will see.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::ParameterMismatch`]
    /// when it has other parameters, [`Error::Argument`] when it comes from a simulation, and
    /// [`Error::OutOfInterval`] when elements lie far outside of their interval, so that they are
    /// wrong.
    pub fn decrypt(&self, array: &EncryptedArray) -> Result<Vec<f64>, Error> {
        let context = self.session.context();
        let decrypt = |c: &_| Ok(context.decode_real(&context.decrypt(&self.secret, c)?)?);
        let values = self.decrypt_with(array, decrypt)?;
        self.within_interval(array, values, 0, |value| *value)
    }

    /// Decrypts to complex elements, in row-major order.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_complex(&self, array: &EncryptedArray) -> Result<Vec<Complex64>, Error> {
        let context = self.session.context();
        self.decrypt_with(
            array,
            |c| Ok(context.decode_complex(&context.decrypt(&self.secret, c)?)?),
        )
    }

    /// Decrypts to the real parts of the elements, with more precision than an `f64` holds.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_big(&self, array: &EncryptedArray) -> Result<Vec<BigFloat>, Error> {
        let context = self.session.context();
        let decrypt = |c: &_| Ok(context.decode_big_real(&context.decrypt(&self.secret, c)?)?);
        let values = self.decrypt_with(array, decrypt)?;
        self.within_interval(array, values, 0, BigFloat::to_f64)
    }

    /// Decrypts for sharing with others, with noise that hides the error of the computation (ePrint
    /// 2022/816).
    ///
    /// The noise is `2^bits` times as large as the estimated error, or a little more. It costs
    /// `bits + 1` to `bits + 2` bits of precision. [`ClientKey::sharing_bits`] returns how many
    /// `bits` an array allows.
    ///
    /// Let `d` ciphertexts be decrypted in this way. Anyone who sees the results then has an
    /// advantage of at most `sqrt(d N) 2^(-bits) / 2` over someone who sees results without any
    /// error, **provided that the estimate is right**.
    /// [`hippocrene_ckks::Context::decrypt_for_sharing`] explains the assumptions behind this
    /// bound, and how much to add to `bits` where the estimate is wrong.
    ///
    /// # Errors
    /// [`Error::Argument`] when the elements are complex, their error is not known, `bits` is less
    /// than [`ClientKey::MIN_SHARING_BITS`], or the noise would leave nothing of the values or does
    /// not fit the remaining modulus. [`Error::KeyMismatch`] or [`Error::ParameterMismatch`] when
    /// the array is not of this key and these parameters.
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
        if bits < Self::MIN_SHARING_BITS {
            let least = Self::MIN_SHARING_BITS;
            let what = format!(
                "{bits} bits of noise do not hide the error, which depends on the secret key. Pass \
                 {least} bits or more."
            );
            return Err(Error::argument(SHARING, what));
        }
        let precision = self.precision_to_share(array);
        let need = f64::from(bits) + 2.0 - array.bound().max(1.0).log2();
        if precision < need {
            return Err(Error::argument(
                SHARING,
                format!(
                    "the values have {precision:.1} bits of precision after the binary point, and \
                     hiding their error with {bits} bits of noise would leave nothing of them. \
                     Encrypt with a precision of {} bits or more.",
                    precision_for_sharing(array, precision, need)
                ),
            ));
        }
        let most = self.most_sharing_bits(array);
        if f64::from(bits) > most {
            return Err(Error::argument(SHARING, too_wide(bits, most)));
        }
        let values = self.decrypt_with(array, |c| {
            Ok(context.decode_real(&context.decrypt_for_sharing(&self.secret, c, bits)?)?)
        })?;
        self.within_interval(array, values, bits, |value| *value)
    }

    /// Returns decrypted elements, unless some lie far outside of the interval of the array.
    ///
    /// Such elements are wrong. A value was outside of an interval that was declared or seen in a
    /// sample, and a polynomial or a bootstrap turned it into something else. `noise_bits` is log2
    /// of the noise that was added on purpose, as a multiple of the estimated error.
    fn within_interval<T: Clone + Default>(
        &self,
        array: &EncryptedArray,
        mut values: Vec<T>,
        noise_bits: u32,
        value: impl Fn(&T) -> f64,
    ) -> Result<Vec<T>, Error> {
        let (interval, precision) = (array.interval(), array.precision_bits(&self.session));
        if array.is_complex() || precision.is_nan() {
            return Ok(values);
        }
        let error = (f64::from(noise_bits) - precision).exp2();
        let beside = TOLERATED_WIDTHS * interval.width() + TOLERATED_DEVIATIONS * error;
        let is_outside = |one: &T| {
            let one = value(one);
            one < interval.low() - beside || one > interval.high() + beside
        };
        let Some(first) = values.iter().position(is_outside) else { return Ok(values) };
        let count = values.iter().filter(|one| is_outside(one)).count();
        let (size, first) = (values.len(), place(array.shape(), first));
        wipe(std::slice::from_mut(&mut values));
        let (low, high) = (interval.low(), interval.high());
        Err(Error::OutOfInterval { count, size, first, low, high })
    }

    /// The default number of bits of noise for [`ClientKey::decrypt_for_sharing`].
    ///
    /// It leaves 8 bits of precision after the binary point and fits the remaining modulus. It is
    /// at least [`ClientKey::MIN_SHARING_BITS`] and at most 40.
    ///
    /// At `N = 2^14`, 20 bits limit the advantage to `2^-14` for one ciphertext, and 40 bits limit
    /// it to `2^-24` for a million of them. To publish many results, encrypt with more precision:
    /// each further bit can be used as a bit of noise.
    ///
    /// # Errors
    /// [`Error::Argument`] when 20 bits would leave less than 8 bits of precision or do not fit the
    /// remaining modulus, or the error is not known. [`Error::KeyMismatch`] or
    /// [`Error::ParameterMismatch`] when the array is not of this key and these parameters.
    pub fn sharing_bits(&self, array: &EncryptedArray) -> Result<u32, Error> {
        self.check(array, SHARING)?;
        array.check_error_known(SHARING)?;
        let precision = self.precision_to_share(array);
        let need = f64::from(Self::MIN_SHARING_BITS) + 2.0 + PRECISION_LEFT_BITS;
        if precision < need {
            return Err(Error::argument(
                SHARING,
                format!(
                    "the values have {precision:.1} bits of precision after the binary point, and \
                     {need} are needed to hide their error and leave {PRECISION_LEFT_BITS}. Encrypt with \
                     a precision of {} bits or more.",
                    precision_for_sharing(array, precision, need)
                ),
            ));
        }
        let most = self.most_sharing_bits(array);
        if most < Self::MIN_SHARING_BITS.into() {
            return Err(Error::argument(SHARING, too_wide(Self::MIN_SHARING_BITS, most)));
        }
        Ok((precision - 2.0 - PRECISION_LEFT_BITS).min(MAX_SHARING_BITS.into()).min(most) as u32)
    }

    /// The largest number of bits of noise that fits every ciphertext of the array.
    fn most_sharing_bits(&self, array: &EncryptedArray) -> f64 {
        let context = self.session.context();
        let ciphertexts = array.expanded(&self.session);
        ciphertexts.iter().map(|c| context.max_flooding_bits(c)).fold(f64::INFINITY, f64::min)
    }

    /// The precision before noise is added, in bits after the binary point.
    ///
    /// It is at most the precision of a fresh encryption.
    fn precision_to_share(&self, array: &EncryptedArray) -> f64 {
        let context = self.session.context();
        let bits = |c: &Ciphertext| {
            let error = Noise::from_log2_std(context.flooding_log2_std(c, 0) - 1.0);
            precision_bits(c.scale(), error, c.slots())
        };
        array.expanded(&self.session).iter().map(|c| bits(c)).fold(f64::INFINITY, f64::min)
    }

    /// Checks that an array is of this key and these parameters, and not from a simulation.
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
