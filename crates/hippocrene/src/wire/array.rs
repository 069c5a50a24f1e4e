//! Files of encrypted arrays.

use std::path::Path;

use hippocrene_ckks::{Ciphertext, Scale, SeededCiphertext};
use hippocrene_ring::sample::{SIGMA, Seed};
use hippocrene_rlwe::{self as rlwe, Fingerprint, Modulus, Noise, Parameters};

use super::{
    FormatError, Kind,
    cursor::Cursor,
    file,
    header::{self, Header},
    keys::SEED_BYTES,
    poly::Widths,
};
use crate::{CiphertextBody, EncryptedArray, Error, Layout, Session, Settings, array::precision_bits};

/// Bytes of an array's fields before its axes.
const FIXED_BYTES: usize = 32;
/// Bytes of an axis: length and stride.
const AXIS_BYTES: usize = 16;
/// Bytes of the head of a ciphertext.
const HEAD_BYTES: usize = 58;

/// Flags of an array.
const COMPLEX: u32 = 1;
const CLEAN: u32 = 2;

/// The number of parts that marks a ciphertext whose second part is a seed.
const SEEDED: u32 = 1;
/// The most axes an array has.
const MAX_AXES: u32 = 64;
/// The largest stride.
const MAX_STRIDE: u64 = 1 << 48;
/// The largest absolute value of `floor(log2(scale))`.
const MAX_SCALE_BITS: i32 = 1000;
/// The numbers of slots that there are: half of the ring degree.
const SLOTS: std::ops::RangeInclusive<usize> = 1 << 3..=1 << 16;
/// The largest absolute value of the log2 of a standard deviation.
const MAX_NOISE_BITS: f64 = 4096.0;

/// What a file says about an array before its residues.
#[derive(Debug)]
pub(super) struct ArrayHead {
    pub(super) layout: Layout,
    pub(super) complex: bool,
    pub(super) clean: bool,
    pub(super) precision: f64,
    pub(super) ciphertexts: Vec<CiphertextHead>,
    widths: Widths,
}

/// What a file says about a ciphertext before its residues.
#[derive(Debug, Clone, Copy)]
pub(super) struct CiphertextHead {
    pub(super) modulus: Modulus,
    pub(super) scale: Scale,
    /// `SEEDED`, or how many parts there are.
    parts: u32,
    pub(super) bound: f64,
    noise: Noise,
}

impl CiphertextHead {
    fn of(body: &CiphertextBody) -> Self {
        // Estimates that have left all sense are brought back to the limit, so that what is written can be read.
        let clamp_bound = |bound: f64| bound.min(f64::MAX);
        let clamp_noise = |noise: Noise| match noise.log2_std() {
            bits if bits.is_nan() => Noise::from_log2_std(MAX_NOISE_BITS),
            bits => Noise::from_log2_std(bits.clamp(-MAX_NOISE_BITS, MAX_NOISE_BITS)),
        };
        match body {
            CiphertextBody::Full(c) => CiphertextHead {
                modulus: c.modulus(),
                scale: c.scale(),
                parts: c.inner().parts().len() as u32,
                bound: clamp_bound(c.bound()),
                noise: clamp_noise(c.inner().noise()),
            },
            CiphertextBody::Seeded(c) => CiphertextHead {
                modulus: c.inner().modulus(),
                scale: c.scale(),
                parts: SEEDED,
                bound: clamp_bound(c.bound()),
                noise: Noise::from_log2_std(0.0),
            },
        }
    }

    pub(super) fn is_seeded(&self) -> bool {
        self.parts == SEEDED
    }

    /// The estimate of the error, which for a seeded ciphertext is that of any fresh one: `sigma` and the rounding of the encoder.
    fn noise(&self) -> Noise {
        if self.is_seeded() {
            Noise::from_std(SIGMA).plus(Noise::from_std((1.0f64 / 12.0).sqrt()))
        } else {
            self.noise
        }
    }

    /// As [`EncryptedArray::precision_bits`].
    pub(super) fn precision_bits(&self, degree: usize) -> f64 {
        precision_bits(self.scale, self.noise(), degree)
    }

    /// As [`Ciphertext::capacity_bits`].
    pub(super) fn capacity_bits(&self, parameters: &Parameters) -> f64 {
        parameters.log2(self.modulus) - self.scale.log2() - self.bound.max(1.0).log2() - 1.0
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (mantissa, exponent) = self.scale.to_parts();
        let (words, odd, two) = self.modulus.to_parts();
        out.extend(words.to_le_bytes());
        out.extend([odd, two]);
        out.extend(mantissa.to_le_bytes());
        out.extend(exponent.to_le_bytes());
        out.extend(self.parts.to_le_bytes());
        out.extend(self.bound.to_le_bytes());
        out.extend(self.noise.log2_std().to_le_bytes());
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let words = cursor.u128()?;
        let [odd, two] = cursor.array()?;
        let modulus = Modulus::from_parts(words, odd, two).ok_or_else(|| {
            let (have, need) =
                (format!("{words:#x} with sprout {odd} and 2^{two}"), "bits 126 and 127 as the sprout says");
            FormatError::field("the modulus of a ciphertext", have, need)
        })?;
        if modulus.is_one() {
            let need = "a product of units and sprout divisors";
            return Err(FormatError::field("the modulus of a ciphertext", 1, need));
        }
        let mantissa = cursor.u128()?;
        let scale = checked_scale(mantissa, cursor.i32()?)?;
        let parts = cursor.u32()?;
        if !(SEEDED..=3).contains(&parts) {
            return Err(FormatError::field("the parts of a ciphertext", parts, "2, 3, or 1 and a seed"));
        }
        let bound = cursor.f64()?;
        if !(bound.is_finite() && bound.is_sign_positive()) {
            return Err(FormatError::field("the bound of a ciphertext", bound, "finite and not negative"));
        }
        let noise = cursor.f64()?;
        if parts == SEEDED && noise.to_bits() != 0 {
            return Err(FormatError::field("the noise of a seeded ciphertext", noise, "written as 0"));
        }
        if !noise.is_finite() || noise.abs() > MAX_NOISE_BITS {
            let need = format!("-{MAX_NOISE_BITS} to {MAX_NOISE_BITS} bits");
            return Err(FormatError::field("the noise of a ciphertext", noise, need));
        }
        Ok(CiphertextHead { modulus, scale, parts, bound, noise: Noise::from_log2_std(noise) })
    }

    /// Bytes of the residues (and the seed).
    fn body_bytes(&self, widths: &Widths, degree: usize) -> u64 {
        let poly = widths.poly_bytes(degree, self.modulus);
        if self.is_seeded() { SEED_BYTES as u64 + poly } else { u64::from(self.parts) * poly }
    }

    fn read_body(
        &self,
        cursor: &mut Cursor<'_>,
        widths: &Widths,
        session: &Session,
        key: Fingerprint,
    ) -> Result<CiphertextBody, Error> {
        const WHAT: &str = "ciphertext";
        let context = session.context().rlwe();
        let CiphertextHead { modulus, scale, bound, .. } = *self;
        let slots = session.slots();
        if self.is_seeded() {
            cursor.enter(WHAT);
            let seed = Seed::from_bytes(cursor.array()?);
            let c0 = widths.read_poly(cursor, context, modulus, WHAT)?;
            let inner = rlwe::SeededCiphertext::from_parts(context, seed, c0, modulus, key)?;
            let seeded = SeededCiphertext::from_parts(session.context(), inner, scale, slots, bound)?;
            return Ok(CiphertextBody::Seeded(seeded));
        }
        let parts = (0..self.parts)
            .map(|_| widths.read_poly(cursor, context, modulus, WHAT))
            .collect::<Result<Vec<_>, _>>()?;
        let inner = rlwe::Ciphertext::from_parts(context, parts, modulus, self.noise, key)?;
        let full = Ciphertext::from_parts(session.context(), inner, scale, slots, bound)?;
        Ok(CiphertextBody::Full(full))
    }
}

impl ArrayHead {
    fn of(array: &EncryptedArray) -> Self {
        let polys = array.bodies().iter().flat_map(|body| match body {
            CiphertextBody::Full(c) => {
                c.inner().parts().iter().map(|part| (c.modulus(), part)).collect::<Vec<_>>()
            }
            CiphertextBody::Seeded(c) => vec![(c.inner().modulus(), c.inner().c0())],
        });
        ArrayHead {
            layout: array.layout().clone(),
            complex: array.is_complex(),
            clean: array.is_clean(),
            precision: array.precision(),
            ciphertexts: array.bodies().iter().map(CiphertextHead::of).collect(),
            widths: Widths::of_polys(polys),
        }
    }

    fn bytes(&self) -> usize {
        let axes = AXIS_BYTES * self.layout.shape().len();
        FIXED_BYTES + axes + HEAD_BYTES * self.ciphertexts.len() + self.widths.as_bytes().len()
    }

    fn body_bytes(&self) -> u64 {
        let degree = 2 * self.layout.slots();
        let bytes = self.ciphertexts.iter().map(|c| c.body_bytes(&self.widths, degree));
        bytes.fold(0, u64::saturating_add)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let flags = if self.complex { COMPLEX } else { 0 } | if self.clean { CLEAN } else { 0 };
        out.extend(flags.to_le_bytes());
        out.extend((self.layout.shape().len() as u32).to_le_bytes());
        out.extend((self.layout.slots() as u64).to_le_bytes());
        out.extend((self.ciphertexts.len() as u64).to_le_bytes());
        out.extend(self.precision.to_le_bytes());
        for (length, stride) in self.layout.shape().iter().zip(self.layout.strides()) {
            out.extend((*length as u64).to_le_bytes());
            out.extend((*stride as u64).to_le_bytes());
        }
        for ciphertext in &self.ciphertexts {
            ciphertext.write(out);
        }
        out.extend(self.widths.as_bytes());
    }

    /// Reads everything before the ciphertexts.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        cursor.enter("array");
        let flags = cursor.u32()?;
        if flags > COMPLEX | CLEAN {
            return Err(FormatError::field("the flags of an array", flags, "0 to 3"));
        }
        let axes = cursor.u32()?;
        if axes > MAX_AXES {
            return Err(FormatError::field("the number of axes", axes, format!("at most {MAX_AXES}")));
        }
        let slots = size("the number of slots", cursor.u64()?)?;
        if !(slots.is_power_of_two() && SLOTS.contains(&slots)) {
            return Err(FormatError::field("the number of slots", slots, "a power of two from 8 to 65536"));
        }
        let count = cursor.u64()?;
        let precision = cursor.f64()?;
        if !precision.is_finite() {
            return Err(FormatError::field("the precision of an array", precision, "a finite number"));
        }
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for _ in 0..axes {
            shape.push(size("the length of an axis", cursor.u64()?)?);
            let stride = cursor.u64()?;
            if stride > MAX_STRIDE {
                return Err(FormatError::field("a stride", stride, format!("at most {MAX_STRIDE}")));
            }
            strides.push(size("a stride", stride)?);
        }
        let layout = Layout::new(shape, strides, slots)
            .map_err(|e| FormatError::field("the layout", e, "one that an array can have"))?;
        if count != layout.ciphertexts() as u64 {
            let need = format!("{} for shape {:?}", layout.ciphertexts(), layout.shape());
            return Err(FormatError::field("the number of ciphertexts", count, need));
        }
        cursor.enter("heads of ciphertexts");
        let need = count.saturating_mul(HEAD_BYTES as u64);
        if cursor.left() < need {
            let (what, have) = ("heads of ciphertexts", cursor.left());
            return Err(FormatError::Truncated { what, have, need });
        }
        let ciphertexts = (0..count).map(|_| CiphertextHead::read(cursor)).collect::<Result<Vec<_>, _>>()?;
        let factors = ciphertexts.iter().fold(Modulus::ONE, |all, c| all.lcm(c.modulus));
        cursor.enter("widths of residues");
        let widths = Widths::read(cursor, factors)?;
        let (complex, clean) = (flags & COMPLEX != 0, flags & CLEAN != 0);
        Ok(ArrayHead { layout, complex, clean, precision, ciphertexts, widths })
    }

    /// Checks that what is left is as long as the ciphertexts are.
    pub(super) fn check_length(&self, cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
        cursor.enter("ciphertexts");
        cursor.expect_left(self.body_bytes())
    }

    /// Checks the head against the settings.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), FormatError> {
        let parameters = settings.parameters();
        settings.scale_of(self.precision).map_err(|error| {
            FormatError::field("the precision of an array", self.precision, format!("possible ({error})"))
        })?;
        let slots = parameters.degree() / 2;
        if self.layout.slots() != slots {
            return Err(FormatError::field("the number of slots", self.layout.slots(), slots.to_string()));
        }
        for ciphertext in &self.ciphertexts {
            if !ciphertext.modulus.divides(parameters.top()) {
                let need = format!("a divisor of the {} units and the sprout", parameters.unit_count());
                let factors: Vec<usize> = ciphertext.modulus.factors().collect();
                let (_, odd, two) = ciphertext.modulus.to_parts();
                let have = format!("at positions {factors:?}, of the sprout {odd:#b} and 2^{two}");
                return Err(FormatError::field("the modulus of a ciphertext", have, need));
            }
        }
        self.widths.check(parameters)
    }
}

/// A scale from its stored parts, when it is between `2^-1000` and `2^1001`.
fn checked_scale(mantissa: u128, exponent: i32) -> Result<Scale, FormatError> {
    let scale = Scale::from_parts(mantissa, exponent).ok_or_else(|| {
        FormatError::field("the mantissa of a scale", format!("{mantissa:#x}"), "at least 2^127")
    })?;
    // floor(log2(scale)) is the exponent plus 127.
    if exponent.checked_add(127).is_none_or(|bits| bits.abs() > MAX_SCALE_BITS) {
        let (least, most) = (-MAX_SCALE_BITS - 127, MAX_SCALE_BITS - 127);
        return Err(FormatError::field("the exponent of a scale", exponent, format!("{least} to {most}")));
    }
    Ok(scale)
}

fn size(field: &'static str, value: u64) -> Result<usize, FormatError> {
    usize::try_from(value).map_err(|_| FormatError::field(field, value, format!("at most {}", usize::MAX)))
}

impl EncryptedArray {
    /// The array as bytes, in the format of `docs/wire-format.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = ArrayHead::of(self);
        let payload = head.bytes() + head.body_bytes() as usize;
        let mut out = header::begin(Kind::Array, self.parameters(), Some(self.key()), payload);
        head.write(&mut out);
        for body in self.bodies() {
            match body {
                CiphertextBody::Full(c) => {
                    for part in c.inner().parts() {
                        head.widths.write_poly(&mut out, part, c.modulus());
                    }
                }
                CiphertextBody::Seeded(c) => {
                    out.extend(c.inner().seed().as_bytes());
                    head.widths.write_poly(&mut out, c.inner().c0(), c.inner().modulus());
                }
            }
        }
        header::finish(&mut out);
        out
    }

    /// The array from bytes that [`EncryptedArray::to_bytes`] made.
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not an encrypted array, or were made with other parameters than those of `session`.
    pub fn from_bytes(bytes: &[u8], session: &Session) -> Result<Self, Error> {
        let (header, payload) = Header::open_as(bytes, Kind::Array)?;
        let parameters = session.settings().parameters();
        if header.parameters != parameters.digest() {
            let (have, need) = (header.parameters, parameters.digest());
            return Err(FormatError::Parameters { have, need }.into());
        }
        let mut cursor = Cursor::new(payload, "array");
        let head = ArrayHead::read(&mut cursor)?;
        head.check(session.settings())?;
        head.check_length(&mut cursor)?;
        let bodies = head
            .ciphertexts
            .iter()
            .map(|c| c.read_body(&mut cursor, &head.widths, session, header.key))
            .collect::<Result<Vec<_>, _>>()?;
        let count = bodies.len();
        EncryptedArray::from_parts(head.layout, head.complex, head.clean, head.precision, bodies).ok_or_else(
            || FormatError::field("the number of ciphertexts", count, "that of the layout").into(),
        )
    }

    /// Writes the array to a file, all or nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        file::save(path.as_ref(), &self.to_bytes(), Kind::Array)
    }

    /// An array from a file.
    ///
    /// # Errors
    /// As [`EncryptedArray::from_bytes`], and [`Error::Io`] when the file cannot be read.
    pub fn load(path: impl AsRef<Path>, session: &Session) -> Result<Self, Error> {
        Self::from_bytes(&file::load(path.as_ref(), Kind::Array)?, session)
    }
}
