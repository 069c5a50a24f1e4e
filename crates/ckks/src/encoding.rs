//! Encoding of values into plaintexts, and decoding.

use hippocrene_ring::{Domain, Poly, ResidueRing};
use hippocrene_rlwe::{self as rlwe, Modulus, Noise, noise};
use num_complex::{Complex, Complex64, ComplexFloat};

use crate::{
    BigFloat, CkksError, Context, Plaintext, Scale, Values,
    dry_run_values::DryRunValues,
    encoder::{IntegerPolynomial, Rounding},
};

/// Time of encoding before the integers are reduced, in transforms of a 61-bit limb. Measured.
const ENCODING_TRANSFORMS: u64 = 4;
/// Like [`ENCODING_TRANSFORMS`], for values of more than 53 bits.
const BIG_ENCODING_TRANSFORMS: u64 = 60;

/// log2 of the largest scaled values that the transforms of `f64` encode and decode.
///
/// Their error in the slots is about 2^-54 of these values. That is less than the error of a fresh
/// ciphertext there (`2^2.7` with four slots, more with more slots), which is the error that
/// ciphertexts state. With larger values the transforms would lose bits that ciphertexts keep.
const DOUBLE_BITS: f64 = 55.0;

/// The name of decoding in errors.
const DECODE: &str = "decode";

/// Whether values up to `bound` at this scale are too large for the transforms of `f64`.
fn exceeds_doubles(scale: Scale, bound: f64) -> bool {
    scale.log2() + noise::log2(bound) > DOUBLE_BITS
}

/// The values, or `None` if one of them is not finite. The caller then uses the transforms of
/// `f64`, which report it.
fn finite<T: ComplexFloat>(values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    values.map(|x| x.is_finite().then_some(x)).collect()
}

/// Doubles as multi-precision numbers, for scales at which the transforms of `f64` would be less
/// accurate than ciphertexts. They are wiped when dropped.
enum Widened {
    Real(Vec<BigFloat>),
    Complex(Vec<Complex<BigFloat>>),
}

impl Widened {
    /// Returns `None` if the values fit the transforms of `f64`, are multi-precision numbers
    /// already, or are not finite. Encoding reports the last case.
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

    /// The widened values.
    fn values(&self) -> Values<'_> {
        match self {
            Widened::Real(v) => Values::Big(v),
            Widened::Complex(v) => Values::BigComplex(v),
        }
    }
}

impl Context {
    /// Encodes `values` into the first of `slots` slots, with zeros in the others, at `scale`
    /// modulo `modulus`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Encode`] if a value is not finite or too large, or if there are too
    /// many values.
    pub fn encode(
        &self,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        modulus: Modulus,
    ) -> Result<Plaintext, CkksError> {
        self.rlwe().check_modulus(modulus, "encode")?;
        self.encode_extended(values, slots, scale, Rounding::Dithered, modulus, modulus)
    }

    /// Like [`Context::encode`], with the given rounding. The values have to fit `modulus`, and the
    /// plaintext is modulo `extended`, a divisor of `PQ_max`. Such plaintexts are factors of
    /// ciphertexts modulo `P'Q`.
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
        let mut poly = self.rlwe().zero(extended, Domain::Evaluation);
        poly.for_each_limb(self.rlwe().threads(), |k, limb| {
            let ring = self.rlwe().limb_ring(extended, k);
            self.encoder()
                .reduce(&integers, ring, limb)
                .expect("everything here is of one ring degree");
        });
        let plaintext = self.plaintext(poly, extended, scale, slots, values.bound());
        Ok(match self.rlwe().is_dry_run() {
            false => plaintext,
            true => plaintext.with_dry_run_values(DryRunValues::of(values, slots)),
        })
    }

    /// Assembles a plaintext of these parameters.
    pub(crate) fn plaintext(
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
    pub(crate) fn check_plaintext(
        &self,
        plaintext: &Plaintext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        Ok(self.rlwe().check_digest(plaintext.parameters(), operation)?)
    }

    /// Returns the integers that [`Context::encode_extended`] reduces modulo each limb of the
    /// second modulus. The values must fit the first one.
    pub(crate) fn quantise(
        &self,
        values: Values<'_>,
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        [modulus, extended]: [Modulus; 2],
    ) -> Result<IntegerPolynomial, CkksError> {
        rlwe::stop::check("encode")?;
        let (encoder, bits) = (self.encoder(), self.parameters().log2(modulus));
        let widened = Widened::new(values, scale);
        let values = widened.as_ref().map_or(values, Widened::values);
        self.record_encoding(extended, matches!(values, Values::Big(_) | Values::BigComplex(_)));
        let mut integers = IntegerPolynomial::zero(self.rlwe().degree());
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

    /// Records an encoding in the list of primitives, with or without multi-precision numbers.
    pub(crate) fn record_encoding(&self, extended: Modulus, big: bool) {
        self.rlwe().record_encoding(
            extended,
            if big { BIG_ENCODING_TRANSFORMS } else { ENCODING_TRANSFORMS },
            1,
        );
    }

    /// Returns the plaintext that [`Context::encode_extended`] makes in a dry run from values of
    /// many bits, without reading them.
    pub(crate) fn encode_dry_run(
        &self,
        slots: usize,
        scale: Scale,
        extended: Modulus,
        big: bool,
    ) -> Plaintext {
        self.record_encoding(extended, big);
        self.plaintext(
            self.rlwe().zero(extended, Domain::Evaluation),
            extended,
            scale,
            slots,
            f64::INFINITY,
        )
    }

    /// Encodes `values`, which repeat over the slots and fit `modulus`, at `scale`, as a factor of
    /// [`rlwe::Context::rotation_sums`]. Only one period of the result is computed
    /// ([`rlwe::RotationFactor::repeated`]), in the ring of degree `N/8`, at an eighth of the cost
    /// of [`Context::encode_extended`]. Values are rounded to nearest.
    ///
    /// Returns `None` if there are more than `N/16` values or `extended` has a power of two.
    pub(crate) fn encode_repeated(
        &self,
        values: &[f64],
        scale: Scale,
        modulus: Modulus,
        extended: Modulus,
    ) -> Result<Option<Poly>, CkksError> {
        let (Some(encoder), true) = (self.small_encoder(), self.rlwe().can_omit_repeats(extended))
        else {
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
        self.rlwe().record_encoding(
            extended,
            ENCODING_TRANSFORMS,
            self.rlwe().degree() / encoder.degree(),
        );
        // In a dry run, this has no residues.
        let mut poly = self
            .rlwe()
            .scratch_limbs(0, Domain::Evaluation)
            .new_like(encoder.degree(), extended.limb_count());
        for (position, limb) in extended.factors().zip(poly.limbs_mut()) {
            let ring = self.rlwe().ring_without_repeats(extended, position)?;
            encoder.reduce(&integers, &ring, limb)?;
            self.rlwe().order_repeats(limb);
        }
        Ok(Some(poly))
    }

    /// Returns the real parts of the slots of a plaintext.
    ///
    /// # Errors
    /// Fails with [`CkksError::Encode`] if they are outside of the range of `f64`. Fails if the
    /// plaintext was made with other parameters.
    pub fn decode_real(&self, plaintext: &Plaintext) -> Result<Vec<f64>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        if exceeds_doubles(plaintext.scale(), plaintext.bound())
            && let Some(values) =
                finite(self.decode_big_real(plaintext)?.iter().map(BigFloat::to_f64))
        {
            return Ok(values);
        }
        let rings: Vec<&ResidueRing> = self.rlwe().rings(plaintext.modulus()).collect();
        let mut out = vec![0.0; plaintext.slots()];
        self.encoder().decode_real(
            plaintext.poly(),
            &rings,
            plaintext.scale().to_f64(),
            None,
            &mut out,
        )?;
        Ok(out)
    }

    /// Returns the slots of a plaintext.
    ///
    /// # Errors
    /// Fails with [`CkksError::Encode`] if they are outside of the range of `f64`. Fails if the
    /// plaintext was made with other parameters.
    pub fn decode_complex(&self, plaintext: &Plaintext) -> Result<Vec<Complex64>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rounded = |z: &Complex<BigFloat>| Complex64::new(z.re.to_f64(), z.im.to_f64());
        if exceeds_doubles(plaintext.scale(), plaintext.bound())
            && let Some(values) = finite(self.decode_big_complex(plaintext)?.iter().map(rounded))
        {
            return Ok(values);
        }
        let rings: Vec<&ResidueRing> = self.rlwe().rings(plaintext.modulus()).collect();
        let mut out = vec![Complex64::ZERO; plaintext.slots()];
        self.encoder().decode_complex(
            plaintext.poly(),
            &rings,
            plaintext.scale().to_f64(),
            None,
            &mut out,
        )?;
        Ok(out)
    }

    /// Returns the real parts of the slots of a plaintext with their full precision: see
    /// [`crate::encoder::Encoder::decode_big_real`]. They are relative to [`Plaintext::scale`],
    /// which has a relative error of `2^-127` for each operation that it went through.
    ///
    /// # Errors
    /// Fails with [`CkksError::Encode`] if they are outside of the range of [`BigFloat`]. Fails if
    /// the plaintext was made with other parameters.
    pub fn decode_big_real(&self, plaintext: &Plaintext) -> Result<Vec<BigFloat>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rings: Vec<&ResidueRing> = self.rlwe().rings(plaintext.modulus()).collect();
        let (poly, scale, slots) = (plaintext.poly(), plaintext.scale(), plaintext.slots());
        Ok(self.encoder().decode_big_real(poly, &rings, scale, None, slots)?)
    }

    /// Returns the slots of a plaintext with their full precision: see
    /// [`Context::decode_big_real`].
    ///
    /// # Errors
    /// Fails with [`CkksError::Encode`] if they are outside of the range of [`BigFloat`]. Fails if
    /// the plaintext was made with other parameters.
    pub fn decode_big_complex(
        &self,
        plaintext: &Plaintext,
    ) -> Result<Vec<Complex<BigFloat>>, CkksError> {
        self.check_plaintext(plaintext, DECODE)?;
        let rings: Vec<&ResidueRing> = self.rlwe().rings(plaintext.modulus()).collect();
        let (poly, scale, slots) = (plaintext.poly(), plaintext.scale(), plaintext.slots());
        Ok(self.encoder().decode_big_complex(poly, &rings, scale, None, slots)?)
    }
}

/// Returns the noise of the rounding in [`Context::encode`].
pub(crate) fn encoding_noise() -> Noise {
    Rounding::Dithered.noise()
}
