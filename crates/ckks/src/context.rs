//! A parameter set made ready for CKKS.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, ResidueRing, Threads, sample::Seed};
use hippocrene_rlwe::{
    self as rlwe, Modulus, Noise, Parameters, PublicKey, SIGMA, SecretKey, noise,
};
use num_complex::{Complex, Complex64, ComplexFloat};
use zeroize::Zeroize;

use crate::{
    BigFloat, Ciphertext, CkksError, Plaintext, Scale,
    ciphertext::SeededCiphertext,
    encoder::{Encoder, IntegerPolynomial, Rounding},
    flood::{self, MAX_LOG2_STD},
    known::Known,
};

/// What encoding takes before the integers are reduced, in transforms of a limb of 61 bits, as it
/// was measured; and that of numbers of many bits.
const ENCODING: u64 = 4;
const BIG_ENCODING: u64 = 60;

/// log2 of the largest scaled values that the transforms of `f64` encode and decode. They are off
/// by about 2^-54 of these, in the slots, which is less than the error of a fresh ciphertext is
/// there (`2^2.7` with four slots, more with more), and that is what ciphertexts state. Larger ones
/// would add to it, and lose bits that ciphertexts keep.
const DOUBLE_BITS: f64 = 55.0;

/// What errors of encryption and of decoding name.
const ENCRYPT: &str = "encrypt";
const DECODE: &str = "decode";

/// An RLWE context with an encoder.
pub struct Context {
    rlwe: Arc<rlwe::Context>,
    encoder: Arc<Encoder>,
    /// Of ring degree `N/8`, where there is one: see [`Context::encode_repeated`].
    small: Option<Encoder>,
}

/// Without its tables.
impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.rlwe, f)
    }
}

/// Values for the slots: real or complex.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Real numbers.
    Real(&'a [f64]),
    /// Complex numbers.
    Complex(&'a [Complex64]),
    /// Real numbers of more than 53 bits. They take several times as long to encode:
    /// [`crate::encoder`] has the accuracy.
    Big(&'a [BigFloat]),
    /// Complex numbers of more than 53 bits.
    BigComplex(&'a [Complex<BigFloat>]),
}

impl Values<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Real(v) => v.len(),
            Values::Complex(v) => v.len(),
            Values::Big(v) => v.len(),
            Values::BigComplex(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest absolute value, as the nearest `f64` (or one of its neighbours); 0 when there is
    /// none.
    pub fn bound(&self) -> f64 {
        match self {
            Values::Real(v) => v.iter().fold(0.0, |b, x| b.max(x.abs())),
            Values::Complex(v) => v.iter().map(|x| x.norm()).fold(0.0, f64::max),
            Values::Big(v) => v.iter().map(BigFloat::to_f64).fold(0.0, |b, x| b.max(x.abs())),
            Values::BigComplex(v) => v
                .iter()
                .map(|z| Complex64::new(z.re.to_f64(), z.im.to_f64()).norm())
                .fold(0.0, f64::max),
        }
    }

    /// Whether they are complex numbers.
    pub fn is_complex(&self) -> bool {
        matches!(self, Values::Complex(_) | Values::BigComplex(_))
    }
}

/// Whether values up to `bound` at this scale are too large for the transforms of `f64`.
fn exceeds_doubles(scale: Scale, bound: f64) -> bool {
    scale.log2() + noise::log2(bound) > DOUBLE_BITS
}

/// The values, if all are finite: where one is not, the transforms of `f64` say so in their own
/// way.
fn finite<T: ComplexFloat>(values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    values.map(|x| x.is_finite().then_some(x)).collect()
}

/// Doubles as numbers of more bits, for scales at which the transforms of `f64` would be less
/// accurate than ciphertexts are. They wipe themselves.
enum Widened {
    Real(Vec<BigFloat>),
    Complex(Vec<Complex<BigFloat>>),
}

impl Widened {
    /// None where the values fit the transforms of `f64`, have more bits already, or are not
    /// finite, which encoding says.
    fn new(values: Values<'_>, scale: Scale) -> Option<Self> {
        if !exceeds_doubles(scale, values.bound()) {
            return None;
        }
        let wide = |x: f64| BigFloat::try_from(x).ok();
        match values {
            Values::Real(v) => v.iter().map(|x| wide(*x)).collect::<Option<_>>().map(Widened::Real),
            Values::Complex(v) => {
                let wide = |z: &Complex64| Some(Complex::new(wide(z.re)?, wide(z.im)?));
                v.iter().map(wide).collect::<Option<_>>().map(Widened::Complex)
            }
            Values::Big(_) | Values::BigComplex(_) => None,
        }
    }

    fn values(&self) -> Values<'_> {
        match self {
            Widened::Real(v) => Values::Big(v),
            Widened::Complex(v) => Values::BigComplex(v),
        }
    }
}

/// Arrays as slices of them.
impl<'a, T, const N: usize> From<&'a [T; N]> for Values<'a>
where
    Values<'a>: From<&'a [T]>,
{
    fn from(values: &'a [T; N]) -> Self {
        values.as_slice().into()
    }
}

/// Vectors as slices of them.
impl<'a, T> From<&'a Vec<T>> for Values<'a>
where
    Values<'a>: From<&'a [T]>,
{
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(values: &'a [f64]) -> Self {
        Values::Real(values)
    }
}

impl<'a> From<&'a [Complex64]> for Values<'a> {
    fn from(values: &'a [Complex64]) -> Self {
        Values::Complex(values)
    }
}

impl<'a> From<&'a [BigFloat]> for Values<'a> {
    fn from(values: &'a [BigFloat]) -> Self {
        Values::Big(values)
    }
}

impl<'a> From<&'a [Complex<BigFloat>]> for Values<'a> {
    fn from(values: &'a [Complex<BigFloat>]) -> Self {
        Values::BigComplex(values)
    }
}

impl Context {
    /// Prepares `parameters`, with the best kernel of this CPU and `threads`.
    ///
    /// # Errors
    /// When `HIPPOCRENE_KERNEL` names a kernel that cannot be used.
    pub fn new(parameters: Parameters, threads: Threads) -> Result<Self, CkksError> {
        Self::of(Arc::new(rlwe::Context::new(parameters, threads)?))
    }

    /// A context that computes without residues and notes what operations take
    /// ([`hippocrene_rlwe::Context::dry_run`]).
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn hollow(parameters: Parameters, threads: Threads) -> Result<Self, CkksError> {
        Self::of(Arc::new(rlwe::Context::dry_run(parameters, threads)?))
    }

    /// Adds the encoder to an RLWE context, which others may share.
    ///
    /// # Errors
    /// When the ring degree is not supported.
    pub fn of(rlwe: Arc<rlwe::Context>) -> Result<Self, CkksError> {
        let encoder = Arc::new(Encoder::new(rlwe.degree(), rlwe.kernel())?);
        let small = (rlwe.degree() >= 128).then(|| Encoder::new(rlwe.degree() / 8, rlwe.kernel()));
        Ok(Context { rlwe, encoder, small: small.transpose()? })
    }

    /// Wipes the memory that operations have worked in and keep for the next, which may hold what
    /// was encrypted or decrypted.
    pub fn forget(&self) {
        self.rlwe.forget();
        self.encoder.forget();
        self.small.iter().for_each(Encoder::forget);
    }

    /// The RLWE context.
    pub fn rlwe(&self) -> &Arc<rlwe::Context> {
        &self.rlwe
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        self.rlwe.parameters()
    }

    /// The encoder.
    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// The most slots a ciphertext has: `N/2`.
    pub fn max_slots(&self) -> usize {
        self.rlwe.degree() / 2
    }

    /// Encodes `values` into the first of `slots` slots (the others are 0) at `scale`, modulo
    /// `modulus`.
    ///
    /// # Errors
    /// [`CkksError::Encode`] when a value is not finite or too large, or there are too many of
    /// them.
    pub fn encode(
        &self,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        modulus: Modulus,
    ) -> Result<Plaintext, CkksError> {
        self.rlwe.check_modulus(modulus, "encode")?;
        self.encode_extended(values, slots, scale, Rounding::Dithered, modulus, modulus)
    }

    /// [`Context::encode`], rounded as it says, of values that fit `modulus` to a plaintext modulo
    /// `extended`, a divisor of `PQ_max`: what ciphertexts modulo `P'Q` are multiplied by.
    pub(crate) fn encode_extended(
        &self,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        modulus: Modulus,
        extended: Modulus,
    ) -> Result<Plaintext, CkksError> {
        let integers = self.quantise(values, slots, scale, rounding, [modulus, extended])?;
        let mut poly = self.rlwe.zero(extended, Domain::Evaluation);
        poly.for_each_limb(self.rlwe.threads(), |k, limb| {
            let ring = self.rlwe.limb_ring(extended, k);
            self.encoder
                .reduce(&integers, ring, limb)
                .expect("everything here is of one ring degree");
        });
        let plaintext = self.plaintext(poly, extended, scale, slots, values.bound());
        Ok(match self.rlwe.is_dry_run() {
            false => plaintext,
            true => plaintext.with_known(Known::of(values, slots)),
        })
    }

    /// A plaintext of these parameters.
    fn plaintext(
        &self,
        poly: Poly,
        modulus: Modulus,
        scale: Scale,
        slots: usize,
        bound: f64,
    ) -> Plaintext {
        Plaintext::new(poly, self.parameters().digest(), modulus, scale, slots, bound)
    }

    /// Checks that a plaintext was made with these parameters.
    fn check_plaintext(
        &self,
        plaintext: &Plaintext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        Ok(self.rlwe.check_digest(plaintext.parameters(), operation)?)
    }

    /// What [`Context::encode_extended`] reduces modulo each limb: values that fit the first
    /// modulus, to be had modulo the second.
    pub(crate) fn quantise(
        &self,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        [modulus, extended]: [Modulus; 2],
    ) -> Result<IntegerPolynomial, CkksError> {
        rlwe::stop::check("encode")?;
        let (encoder, bits) = (&self.encoder, self.parameters().log2(modulus));
        let widened = Widened::new(values, scale);
        let values = widened.as_ref().map_or(values, Widened::values);
        self.note_encoding(extended, matches!(values, Values::Big(_) | Values::BigComplex(_)));
        let mut integers = IntegerPolynomial::zero(self.rlwe.degree());
        match values {
            Values::Real(v) => {
                encoder.quantise_real(v, slots, scale.to_f64(), rounding, bits, &mut integers)?
            }
            Values::Complex(v) => {
                encoder.quantise_complex(v, slots, scale.to_f64(), rounding, bits, &mut integers)?
            }
            Values::Big(v) => {
                encoder.quantise_big_real(v, slots, scale, rounding, bits, &mut integers)?
            }
            Values::BigComplex(v) => {
                encoder.quantise_big_complex(v, slots, scale, rounding, bits, &mut integers)?
            }
        }
        Ok(integers)
    }

    /// Notes that something was encoded, of numbers of many bits or not.
    pub(crate) fn note_encoding(&self, extended: Modulus, big: bool) {
        self.rlwe.note_encoding(extended, if big { BIG_ENCODING } else { ENCODING }, 1);
    }

    /// What [`Context::encode_extended`] makes of values of many bits, in a hollow context, without
    /// looking at them.
    pub(crate) fn encode_hollow(
        &self,
        slots: usize,
        scale: Scale,
        extended: Modulus,
        big: bool,
    ) -> Plaintext {
        self.note_encoding(extended, big);
        self.plaintext(
            self.rlwe.zero(extended, Domain::Evaluation),
            extended,
            scale,
            slots,
            f64::INFINITY,
        )
    }

    /// `values`, which repeat over the slots and fit `modulus`, encoded at `scale` to a factor of
    /// [`rlwe::Context::rotation_sums`] without what repeats in it
    /// ([`rlwe::RotationFactor::repeated`]), in the ring of degree `N/8`: at an eighth of the cost
    /// of [`Context::encode_extended`]. Nothing where there are more values than `N/16` or
    /// `extended` has a power of two. Rounded to nearest.
    pub(crate) fn encode_repeated(
        &self,
        values: &[f64],
        scale: Scale,
        modulus: Modulus,
        extended: Modulus,
    ) -> Result<Option<Poly>, CkksError> {
        let (Some(encoder), true) = (&self.small, self.rlwe.has_repeats(extended)) else {
            return Ok(None);
        };
        if values.len() > encoder.max_slots() {
            return Ok(None);
        }
        let mut integers = IntegerPolynomial::zero(encoder.degree());
        let bits = self.parameters().log2(modulus);
        let rounding = Rounding::Nearest;
        encoder.quantise_real(
            values,
            values.len(),
            scale.to_f64(),
            rounding,
            bits,
            &mut integers,
        )?;
        self.rlwe.note_encoding(extended, ENCODING, self.rlwe.degree() / encoder.degree());
        // Hollow where the context is.
        let mut poly = self
            .rlwe
            .scratch_limbs(0, Domain::Evaluation)
            .alike(encoder.degree(), extended.limb_count());
        for (position, limb) in extended.factors().zip(poly.limbs_mut()) {
            let ring = self.rlwe.ring_of_repeats(extended, position)?;
            encoder.reduce(&integers, &ring, limb)?;
            self.rlwe.order_repeats(limb);
        }
        Ok(Some(poly))
    }

    /// The real parts of the slots of a plaintext.
    ///
    /// # Errors
    /// [`CkksError::Encode`] when they lie outside of what `f64` can hold; when it was made with
    /// other parameters.
    pub fn decode_real(&self, plaintext: &Plaintext) -> Result<Vec<f64>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        if exceeds_doubles(plaintext.scale(), plaintext.bound())
            && let Some(values) =
                finite(self.decode_big_real(plaintext)?.iter().map(BigFloat::to_f64))
        {
            return Ok(values);
        }
        let rings: Vec<&ResidueRing> = self.rlwe.rings(plaintext.modulus()).collect();
        let mut out = vec![0.0; plaintext.slots()];
        self.encoder.decode_real(
            plaintext.poly(),
            &rings,
            plaintext.scale().to_f64(),
            None,
            &mut out,
        )?;
        Ok(out)
    }

    /// The slots of a plaintext.
    ///
    /// # Errors
    /// [`CkksError::Encode`] when they lie outside of what `f64` can hold; when it was made with
    /// other parameters.
    pub fn decode_complex(&self, plaintext: &Plaintext) -> Result<Vec<Complex64>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rounded = |z: &Complex<BigFloat>| Complex64::new(z.re.to_f64(), z.im.to_f64());
        if exceeds_doubles(plaintext.scale(), plaintext.bound())
            && let Some(values) = finite(self.decode_big_complex(plaintext)?.iter().map(rounded))
        {
            return Ok(values);
        }
        let rings: Vec<&ResidueRing> = self.rlwe.rings(plaintext.modulus()).collect();
        let mut out = vec![Complex64::ZERO; plaintext.slots()];
        self.encoder.decode_complex(
            plaintext.poly(),
            &rings,
            plaintext.scale().to_f64(),
            None,
            &mut out,
        )?;
        Ok(out)
    }

    /// The real parts of the slots of a plaintext, with all the bits that it has: see
    /// [`Encoder::decode_big_real`]. They are relative to [`Plaintext::scale`], which is exact
    /// itself to `2^-127` for each operation that it went through.
    ///
    /// # Errors
    /// [`CkksError::Encode`] when they lie outside of what [`BigFloat`] can hold; when it was made
    /// with other parameters.
    pub fn decode_big_real(&self, plaintext: &Plaintext) -> Result<Vec<BigFloat>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rings: Vec<&ResidueRing> = self.rlwe.rings(plaintext.modulus()).collect();
        let (poly, scale, slots) = (plaintext.poly(), plaintext.scale(), plaintext.slots());
        Ok(self.encoder.decode_big_real(poly, &rings, scale, None, slots)?)
    }

    /// The slots of a plaintext, with all the bits that it has: see [`Context::decode_big_real`].
    ///
    /// # Errors
    /// [`CkksError::Encode`] when they lie outside of what [`BigFloat`] can hold; when it was made
    /// with other parameters.
    pub fn decode_big_complex(
        &self,
        plaintext: &Plaintext,
    ) -> Result<Vec<Complex<BigFloat>>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rings: Vec<&ResidueRing> = self.rlwe.rings(plaintext.modulus()).collect();
        let (poly, scale, slots) = (plaintext.poly(), plaintext.scale(), plaintext.slots());
        Ok(self.encoder.decode_big_complex(poly, &rings, scale, None, slots)?)
    }

    /// Encrypts under the secret key; half of the ciphertext is a seed.
    ///
    /// # Errors
    /// When key and plaintext do not fit.
    pub fn encrypt(
        &self,
        key: &SecretKey,
        plaintext: &Plaintext,
    ) -> Result<SeededCiphertext, CkksError> {
        self.check_plaintext(plaintext, ENCRYPT)?;
        let inner = key.encrypt(&self.rlwe, plaintext.poly(), plaintext.modulus())?;
        Ok(SeededCiphertext {
            inner,
            scale: plaintext.scale(),
            slots: plaintext.slots(),
            bound: plaintext.bound(),
            known: plaintext.known().clone(),
        })
    }

    /// Encrypts under a public key.
    ///
    /// # Errors
    /// When key and plaintext do not fit.
    pub fn encrypt_public(
        &self,
        key: &PublicKey,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, CkksError> {
        self.check_plaintext(plaintext, ENCRYPT)?;
        let mut inner = key.encrypt(&self.rlwe, plaintext.poly(), plaintext.modulus())?;
        inner.set_noise(inner.noise().plus(encoding_noise()));
        let mut out =
            Ciphertext::new(inner, plaintext.scale(), plaintext.slots(), plaintext.bound());
        out.set_known(plaintext.known().clone());
        Ok(out)
    }

    /// Decrypts.
    ///
    /// The result holds the error of the computation, and an exact decryption tells who sees it
    /// something about the secret key (Li and Micciancio, ePrint 2020/1533): results that others
    /// will see go through [`Context::decrypt_for_sharing`].
    ///
    /// # Errors
    /// When the ciphertext belongs to another key.
    pub fn decrypt(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
    ) -> Result<Plaintext, CkksError> {
        let poly = key.decrypt(&self.rlwe, ciphertext.inner())?;
        let (scale, slots) = (ciphertext.scale(), ciphertext.slots());
        Ok(self.plaintext(poly, ciphertext.modulus(), scale, slots, ciphertext.bound()))
    }

    /// Decrypts for the eyes of others: adds Gaussian noise to every coefficient, of a standard
    /// deviation of `2^bits` times (or up to four times that) the estimated one of the error, and
    /// so hides the error, which depends on the secret key.
    ///
    /// # What it gives
    /// With `e` the error, a polynomial of `N` coefficients of standard deviation `sigma_e`, what
    /// is published differs from what could be made without the key by a Kullback-Leibler
    /// divergence of `|e|^2 / (2 sigma^2) = N 2^(-2 bits) / 2`, and divergences add up over `d`
    /// decryptions: by Pinsker's inequality whoever sees them all has an advantage of at most
    /// `sqrt(d N) 2^(-bits) / 2`. For an advantage of `2^-lambda`, `bits = lambda - 1 + log2(d N) /
    /// 2`: 30 bits hide 1000 decryptions at `N = 2^14` to an advantage of `2^-19`. Li, Micciancio,
    /// Schultz and Sorrell (CRYPTO 2022, ePrint 2022/816) make IND-CPA-D security of this argument,
    /// for statistical security of `s` bits with `sigma = sqrt(12 d) 2^(s/2) t`, `t` a bound on the
    /// error, and show that hardly less will do.
    ///
    /// # What it rests on
    /// Their proof asks for a bound `t` on the error *in the worst case*; the estimate here is one
    /// of the average case, which takes errors as independent. It is doubled, and never taken below
    /// that of a fresh encryption, but a computation whose errors are correlated has more: `x + x`
    /// has twice the error of `x` where the estimate says `sqrt(2)` times, and after `k` doublings
    /// of that kind it is short by `k/2` bits. Flooding by too small an estimate is broken in
    /// practice (Guo, Nabokov, Suvanto and Johansson, USENIX Security 2024). Add what a computation
    /// can be short by to `bits`. The estimate also comes with the ciphertext: who does not trust
    /// the server to compute what was agreed has no protection here, nor in CKKS at all.
    /// Decryptions of one ciphertext count one by one, for their noise averages out.
    ///
    /// # Errors
    /// When the ciphertext belongs to another key or other parameters, or [`CkksError::Capacity`]
    /// when the noise does not fit the modulus.
    pub fn decrypt_for_sharing(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
        bits: u32,
    ) -> Result<Plaintext, CkksError> {
        const OPERATION: &str = "decrypt for sharing";
        self.rlwe.check_operand(ciphertext.inner(), OPERATION)?;
        let log2_std = self.flooding_log2_std(ciphertext, bits);
        // Eight standard deviations on either side, of noise that is up to twice as wide.
        let have = (self.parameters().log2(ciphertext.modulus()) - 5.0).min(MAX_LOG2_STD);
        if log2_std.is_nan() || log2_std > have {
            return Err(CkksError::Capacity { operation: OPERATION, need: log2_std, have });
        }
        let mut plaintext = self.decrypt(key, ciphertext)?;
        let flood = flood::gaussian(&Seed::random()?, log2_std, self.rlwe.degree());
        let modulus = plaintext.modulus();
        let mut noise = self.rlwe.from_signed(&flood, modulus);
        self.rlwe.to_coefficient(&mut noise, modulus);
        plaintext.add_poly(&self.rlwe, &noise);
        noise.as_mut_slice().zeroize();
        Ok(plaintext)
    }

    /// Checks that `a` is of these parameters, and that values up to `bound` at a scale (as log2),
    /// computed from it, fit `modulus`; [`Ciphertext::capacity_bits`] of `a` is what there is.
    pub(crate) fn check_capacity(
        &self,
        a: &Ciphertext,
        modulus: Modulus,
        log2_scale: f64,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.rlwe.check_operand(a.inner(), operation)?;
        let taken = log2_scale + bound.max(1.0).log2() + 1.0;
        let room = self.parameters().log2(modulus);
        if taken <= room && !bound.is_nan() {
            return Ok(());
        }
        let have = a.capacity_bits(self);
        Err(CkksError::Capacity { operation, need: have + taken - room, have })
    }

    /// `scale to/from`, exactly.
    pub(crate) fn switched_scale(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        let parameters = self.parameters();
        let (added, dropped) = (to.without(from), from.without(to));
        let raised =
            added.factors().fold(scale, |s, i| s.times_integer(parameters.limb_modulus(added, i)));
        dropped.factors().fold(raised, |s, i| s.divided_by(parameters.limb_modulus(dropped, i)))
    }

    /// log2 of the standard deviation that [`Context::decrypt_for_sharing`] adds to a coefficient,
    /// or of half of it.
    pub fn flooding_log2_std(&self, ciphertext: &Ciphertext, bits: u32) -> f64 {
        let fresh = noise::secret_key_encryption(SIGMA).log2_std();
        let estimate = ciphertext.inner().noise().log2_std();
        // Not `f64::max`, which would hide a NaN.
        (if estimate < fresh { fresh } else { estimate }) + 1.0 + f64::from(bits)
    }
}

/// The rounding of a message that [`Context::encode`] has encoded.
pub(crate) fn encoding_noise() -> Noise {
    Rounding::Dithered.noise()
}

impl Plaintext {
    fn add_poly(&mut self, context: &rlwe::Context, other: &Poly) {
        let modulus = self.modulus();
        self.poly_mut().for_each_limb(context.threads(), |k, limb| {
            context.limb_ring(modulus, k).elementwise().add_assign(limb, other.limb(k));
        });
    }
}
