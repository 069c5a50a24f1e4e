//! Files of encrypted arrays: the parts shared by arrays of numbers, integers and bits.

use hippocrene_arrays::{
    Array, CiphertextBody, Elements, Error, Fresh, Interval, Layout, Session, Settings,
    SlotContents, format_shape,
};
use hippocrene_ckks::Short;
use hippocrene_ring::{Poly, sample::Seed};
use hippocrene_rlwe::{self as rlwe, Fingerprint, Modulus, Noise, Parameters, stop};

use super::{
    FormatError, Kind, READ, Stored,
    cursor::Cursor,
    fields::unusable,
    memory,
    poly::Widths,
    stored::{Input, Output},
    switching_keys::SEED_BYTES,
};

/// Bytes of an array's fields before its axes.
const FIXED_BYTES: usize = 32;
/// Bytes of an interval: its two ends.
const INTERVAL_BYTES: usize = 16;
/// Bytes of the fingerprint of notes.
const NOTES_BYTES: usize = 16;
/// Bytes of an axis: length and stride.
const AXIS_BYTES: usize = 16;
/// Bytes of the start of a ciphertext's head: modulus, parts and noise.
const START_BYTES: usize = 30;
/// Bytes of the two additional noise estimates of a ciphertext with uneven errors.
const UNEVEN_BYTES: usize = 16;

/// The flag of arrays whose stray slots are zero.
const CLEAN: u32 = 2;
/// The flag of arrays with uneven errors.
///
/// Errors are uneven if they differ in slots that hold zero, or if they have a common part.
const UNEVEN: u32 = 4;
/// The flag of arrays that state the interval of their elements.
const INTERVAL: u32 = 8;
/// The flag of arrays whose elements follow notes.
const NOTES: u32 = 32;

/// The number of parts that marks a ciphertext whose second part is a seed.
const SEEDED: u32 = 1;
/// The largest stride.
const MAX_STRIDE: u64 = 1 << 48;
/// The largest absolute value of the log2 of a standard deviation.
///
/// Its negative stands for no error.
const MAX_NOISE_BITS: f64 = 4096.0;

/// The part of the array format that depends on the type of the elements.
///
/// See [`Stored`] for an example of writing and reading arrays.
pub trait FileForm: Elements {
    /// The kind of the files.
    const KIND: Kind;
    /// The possible flags besides those that all arrays share.
    const FLAGS: u32;
    /// True if arrays of such elements can state their interval.
    const HAS_INTERVAL: bool;
    /// Bytes of [`Elements::Own`].
    const OWN_BYTES: usize;

    /// The number of polynomial coefficients for each slot.
    fn coefficients(&self) -> usize;

    /// The form's own flags, among [`FileForm::FLAGS`].
    fn flags(&self) -> u32;

    /// The form's field of 8 bytes in the head of an array.
    fn field(&self) -> [u8; 8];

    /// The form of these flags and this field.
    ///
    /// # Errors
    /// When the field is out of range.
    fn of_field(flags: u32, field: [u8; 8]) -> Result<Self, FormatError>;

    /// The interval of the elements to be written, if one is known.
    fn interval(&self) -> Option<Interval>;

    /// The form with an interval that was read, or `None` if such elements cannot have it.
    fn with_interval(self, interval: Interval) -> Option<Self>;

    /// Checks the form against the parameters that the digest names.
    ///
    /// This includes the heads of its ciphertexts.
    ///
    /// # Errors
    /// When these parameters do not allow them.
    fn check_settings(
        &self,
        settings: &Settings,
        ciphertexts: &[CiphertextHead<Self>],
    ) -> Result<(), FormatError>;

    /// Checks that a session can read arrays of this form.
    ///
    /// # Errors
    /// When it cannot.
    fn check_session(&self, session: &Session) -> Result<(), FormatError>;

    /// Appends the own fields of a ciphertext.
    fn write_own(own: &Self::Own, out: &mut Vec<u8>);

    /// Reads the own fields of a ciphertext.
    ///
    /// # Errors
    /// When a field is out of range.
    fn read_own(&self, cursor: &mut Cursor<'_>, seeded: bool) -> Result<Self::Own, FormatError>;
}

/// The head of an array in a file: every field before the residues.
#[derive(Debug)]
pub(super) struct ArrayHead<F: FileForm> {
    pub(super) layout: Layout,
    pub(super) form: F,
    pub(super) clean: bool,
    pub(super) notes: Option<Fingerprint>,
    pub(super) ciphertexts: Vec<CiphertextHead<F>>,
    widths: Widths,
}

/// The head of a ciphertext in a file: every field before the residues.
#[derive(Debug, Clone, Copy)]
pub struct CiphertextHead<F: FileForm> {
    pub(super) modulus: Modulus,
    /// `SEEDED`, or the number of parts.
    parts: u32,
    noise: Noise,
    pub(super) own: F::Own,
}

impl<F: FileForm> CiphertextHead<F> {
    fn of(body: &CiphertextBody<F>) -> Self {
        let (parts, noise) = match body {
            CiphertextBody::Full(c) => (F::inner(c).parts().len() as u32, F::inner(c).noise()),
            CiphertextBody::Seeded(_) => (SEEDED, Noise::from_log2_std(0.0)),
        };
        CiphertextHead { modulus: body.modulus(), parts, noise, own: F::own(body) }
    }

    pub(super) fn is_seeded(&self) -> bool {
        self.parts == SEEDED
    }

    /// The noise estimate. For a seeded ciphertext it is that of any fresh one.
    pub(super) fn noise(&self) -> Noise {
        if self.is_seeded() { F::fresh_noise() } else { self.noise }
    }

    fn write(&self, out: &mut Vec<u8>, uneven: bool) {
        let (words, odd, two) = self.modulus.to_parts();
        out.extend(words.to_le_bytes());
        out.extend([odd, two]);
        out.extend(self.parts.to_le_bytes());
        let noise = written(self.noise);
        let noise = if uneven { &noise[..] } else { &noise[..1] };
        noise.iter().for_each(|bits| out.extend(bits.to_le_bytes()));
        F::write_own(&self.own, out);
    }

    fn read(cursor: &mut Cursor<'_>, form: &F, uneven: bool) -> Result<Self, FormatError> {
        let words = cursor.u128()?;
        let [odd, two] = cursor.array()?;
        let modulus = Modulus::from_parts(words, odd, two).ok_or_else(|| {
            let (have, need) = (
                format!("{words:#x} with sprout {odd} and 2^{two}"),
                "bits 126 and 127 as the sprout says",
            );
            FormatError::field("the modulus of a ciphertext", have, need)
        })?;
        if modulus.is_one() {
            let need = "a product of units and sprout divisors";
            return Err(FormatError::field("the modulus of a ciphertext", 1, need));
        }
        let parts = cursor.u32()?;
        if !(SEEDED..=3).contains(&parts) {
            return Err(FormatError::field(
                "the parts of a ciphertext",
                parts,
                "2, 3, or 1 and a seed",
            ));
        }
        let noise = read_noise(cursor, parts == SEEDED, uneven)?;
        let own = form.read_own(cursor, parts == SEEDED)?;
        Ok(CiphertextHead { modulus, parts, noise, own })
    }

    /// Bytes of the residues, and of the seed if there is one.
    fn body_bytes(&self, widths: &Widths, degree: usize) -> u64 {
        let poly = widths.poly_bytes(degree, self.modulus);
        if self.is_seeded() { SEED_BYTES as u64 + poly } else { u64::from(self.parts) * poly }
    }

    fn read_body(
        &self,
        cursor: &mut Cursor<'_>,
        head: &ArrayHead<F>,
        session: &Session,
        key: Fingerprint,
    ) -> Result<CiphertextBody<F>, Error> {
        const PART_NAME: &str = "ciphertext";
        stop::check(READ)?;
        let (context, modulus) = (session.context().rlwe(), self.modulus);
        if self.is_seeded() {
            cursor.enter(PART_NAME);
            let seed = Seed::from_bytes(cursor.array()?);
            let c0 = head.widths.read_poly(cursor, context, modulus, PART_NAME)?;
            let inner = rlwe::SeededCiphertext::from_parts(context, seed, c0, modulus, key)?;
            return Ok(CiphertextBody::Seeded(Fresh::new(
                head.form.seeded(session, inner, self.own)?,
            )));
        }
        let parts = (0..self.parts)
            .map(|_| head.widths.read_poly(cursor, context, modulus, PART_NAME))
            .collect::<Result<Vec<_>, _>>()?;
        let inner = rlwe::Ciphertext::from_parts(context, parts, modulus, self.noise, key)?;
        Ok(CiphertextBody::Full(head.form.full(session, inner, self.own)?))
    }
}

/// The noise estimates as written: in slots of the message, in slots that hold zero, and common.
///
/// Values outside the readable range are clamped to it, and NaN becomes its upper end.
fn written(noise: Noise) -> [f64; 3] {
    let [slots, zeros, common] =
        [noise, noise.in_zeros(), noise.common()].map(|noise| match noise.log2_std() {
            bits if bits.is_nan() => MAX_NOISE_BITS,
            bits => bits.clamp(-MAX_NOISE_BITS, MAX_NOISE_BITS),
        });
    [slots, zeros, common.min(slots)]
}

/// True if the estimates for zero slots and for the common part have to be written too.
fn is_uneven(noise: Noise) -> bool {
    let [slots, zeros, common] = written(noise);
    zeros != slots || common != -MAX_NOISE_BITS
}

/// Reads the noise estimates of a ciphertext: one number, or all three if errors are uneven.
fn read_noise(cursor: &mut Cursor<'_>, seeded: bool, uneven: bool) -> Result<Noise, FormatError> {
    let mut bits = |what: &'static str| match cursor.f64()? {
        bits if bits.is_finite() && bits.abs() <= MAX_NOISE_BITS => Ok(bits),
        bits => {
            let need = format!("-{MAX_NOISE_BITS} to {MAX_NOISE_BITS} bits");
            Err(FormatError::number(what, bits, need))
        }
    };
    let slots = bits("the noise of a ciphertext")?;
    let mut noise = Noise::from_log2_std(slots);
    if uneven {
        let (zeros, common) = (bits("the noise in zeros")?, bits("the common noise")?);
        if common > slots {
            return Err(FormatError::number(
                "the common noise",
                common,
                format!("at most {slots}"),
            ));
        }
        if zeros != slots {
            let nothing =
                if zeros == -MAX_NOISE_BITS { Noise::NONE } else { Noise::from_log2_std(zeros) };
            noise = noise.with_in_zeros(nothing);
        }
        if common != -MAX_NOISE_BITS {
            noise = noise.with_common(Noise::from_log2_std(common));
        }
    }
    if seeded && (slots.to_bits() != 0 || is_uneven(noise)) {
        return Err(FormatError::number(
            "the noise of a seeded ciphertext",
            slots,
            "written as 0, with nothing common",
        ));
    }
    Ok(noise)
}

/// The polynomials of a ciphertext that are written to the file.
fn polys<F: Elements>(body: &CiphertextBody<F>) -> Vec<(Modulus, &Poly)> {
    match body {
        CiphertextBody::Full(c) => {
            F::inner(c).parts().iter().map(|part| (body.modulus(), part)).collect()
        }
        CiphertextBody::Seeded(c) => vec![(body.modulus(), F::inner_seeded(c.seeded()).c0())],
    }
}

impl<F: FileForm> ArrayHead<F> {
    fn of(array: &Array<F>) -> Self {
        ArrayHead {
            layout: array.layout().clone(),
            form: array.form().clone(),
            clean: array.is_clean(),
            notes: array.notes(),
            ciphertexts: array.bodies().iter().map(CiphertextHead::of).collect(),
            widths: Widths::of_polys(array.bodies().iter().flat_map(polys)),
        }
    }

    /// The ring degree.
    pub(super) fn degree(&self) -> usize {
        self.form.coefficients() * self.layout.slots()
    }

    /// Bytes of memory for the ciphertexts during computations.
    pub(super) fn memory(&self) -> u64 {
        let words =
            |c: &CiphertextHead<F>| u64::from(c.parts.max(2)) * c.modulus.limb_count() as u64;
        let words = self.ciphertexts.iter().map(words).fold(0, u64::saturating_add);
        words.saturating_mul((size_of::<u64>() * self.degree()) as u64)
    }

    /// The interval that is written. It must be finite.
    fn interval(&self) -> Option<Interval> {
        self.form.interval().filter(|interval| interval.bound().is_finite())
    }

    /// Bytes of memory that the ciphertexts take as they are loaded.
    ///
    /// The second part of a fresh ciphertext is still a seed then.
    pub(super) fn loaded_memory(&self) -> u64 {
        let degree = self.degree();
        let own = size_of::<CiphertextBody<F>>() as u64;
        let bytes =
            |c: &CiphertextHead<F>| u64::from(c.parts) * memory::of_poly(degree, c.modulus) + own;
        self.ciphertexts.iter().map(bytes).fold(memory::ARRAY_BYTES, u64::saturating_add)
    }

    fn is_uneven(&self) -> bool {
        self.ciphertexts.iter().any(|c| is_uneven(c.noise))
    }

    fn bytes(&self) -> usize {
        let axes = AXIS_BYTES * self.layout.shape().len();
        let heads = head_bytes::<F>(self.is_uneven()) * self.ciphertexts.len();
        let interval = if self.interval().is_some() { INTERVAL_BYTES } else { 0 };
        let notes = if self.notes.is_some() { NOTES_BYTES } else { 0 };
        FIXED_BYTES + interval + notes + axes + heads + self.widths.as_bytes().len()
    }

    fn body_bytes(&self) -> u64 {
        let bytes = self.ciphertexts.iter().map(|c| c.body_bytes(&self.widths, self.degree()));
        bytes.fold(0, u64::saturating_add)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let uneven = self.is_uneven();
        let flag = |flag: u32, is: bool| if is { flag } else { 0 };
        let interval = self.interval();
        let flags = self.form.flags()
            | flag(CLEAN, self.clean)
            | flag(UNEVEN, uneven)
            | flag(INTERVAL, interval.is_some())
            | flag(NOTES, self.notes.is_some());
        out.extend(flags.to_le_bytes());
        out.extend((self.layout.shape().len() as u32).to_le_bytes());
        out.extend((self.layout.slots() as u64).to_le_bytes());
        out.extend((self.ciphertexts.len() as u64).to_le_bytes());
        out.extend(self.form.field());
        let ends = interval.map(|interval| [interval.low(), interval.high()]);
        ends.iter().flatten().for_each(|end| out.extend(end.to_le_bytes()));
        self.notes.iter().for_each(|notes| out.extend(notes.as_bytes()));
        for (length, stride) in self.layout.shape().iter().zip(self.layout.strides()) {
            out.extend((*length as u64).to_le_bytes());
            out.extend((*stride as u64).to_le_bytes());
        }
        for ciphertext in &self.ciphertexts {
            ciphertext.write(out, uneven);
        }
        out.extend(self.widths.as_bytes());
    }

    /// Reads everything before the ciphertexts.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        cursor.enter("array");
        let flags = cursor.u32()?;
        let possible =
            F::FLAGS | CLEAN | UNEVEN | NOTES | if F::HAS_INTERVAL { INTERVAL } else { 0 };
        if flags & !possible != 0 {
            return Err(FormatError::field(
                "the flags of an array",
                flags,
                format!("a sum of flags of {possible}"),
            ));
        }
        let axes = cursor.u32()?;
        if axes as usize > Layout::MAX_AXES {
            return Err(FormatError::field(
                "the number of axes",
                axes,
                format!("at most {}", Layout::MAX_AXES),
            ));
        }
        let (slots, count) = (size("the number of slots", cursor.u64()?)?, cursor.u64()?);
        let mut form = F::of_field(flags & F::FLAGS, cursor.array()?)?;
        if flags & INTERVAL != 0 {
            let (low, high) = (cursor.f64()?, cursor.f64()?);
            let read =
                Interval::finite(low, high).ok().and_then(|interval| form.with_interval(interval));
            form = read.ok_or_else(|| {
                let need = "finite, the lower end first, and one that such elements can have";
                FormatError::field(
                    "the interval of an array",
                    format!("{} to {}", Short(low), Short(high)),
                    need,
                )
            })?;
        }
        let notes = match flags & NOTES {
            0 => None,
            _ => Some(Fingerprint::from_bytes(cursor.array()?)),
        };
        let [least, most] = [Settings::DEGREES.start(), Settings::DEGREES.end()]
            .map(|degree| degree / form.coefficients());
        if !(slots.is_power_of_two() && (least..=most).contains(&slots)) {
            let need = format!("a power of two from {least} to {most}");
            return Err(FormatError::field("the number of slots", slots, need));
        }
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for _ in 0..axes {
            shape.push(size("the length of an axis", cursor.u64()?)?);
            let stride = cursor.u64()?;
            if stride > MAX_STRIDE {
                return Err(FormatError::field(
                    "a stride",
                    stride,
                    format!("at most {MAX_STRIDE}"),
                ));
            }
            strides.push(size("a stride", stride)?);
        }
        let layout =
            Layout::new(shape, strides, slots).map_err(|error| unusable("the layout", error))?;
        if count != layout.ciphertexts() as u64 {
            let need =
                format!("{} for shape {}", layout.ciphertexts(), format_shape(layout.shape()));
            return Err(FormatError::field("the number of ciphertexts", count, need));
        }
        cursor.enter("heads of ciphertexts");
        let uneven = flags & UNEVEN != 0;
        let need = count.saturating_mul(head_bytes::<F>(uneven) as u64);
        if cursor.left() < need {
            let (what, have) = ("heads of ciphertexts", cursor.left());
            return Err(FormatError::Truncated { what, have, need });
        }
        let ciphertexts = (0..count)
            .map(|_| CiphertextHead::read(cursor, &form, uneven))
            .collect::<Result<Vec<_>, _>>()?;
        if uneven && !ciphertexts.iter().any(|c| is_uneven(c.noise)) {
            return Err(FormatError::field(
                "the flags of an array",
                flags,
                "less 4: no errors are uneven",
            ));
        }
        let factors = ciphertexts.iter().fold(Modulus::ONE, |all, c| all.lcm(c.modulus));
        cursor.enter("widths of residues");
        let widths = Widths::read(cursor, factors)?;
        Ok(ArrayHead { layout, form, clean: flags & CLEAN != 0, notes, ciphertexts, widths })
    }

    /// Checks that the remaining bytes are exactly those of the ciphertexts.
    pub(super) fn check_length(&self, cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
        cursor.enter("ciphertexts");
        cursor.expect_left(self.body_bytes())
    }

    /// Checks the head against the settings with the parameters that the digest names.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), FormatError> {
        let parameters: &Parameters = settings.parameters();
        let slots = parameters.degree() / self.form.coefficients();
        if self.layout.slots() != slots {
            return Err(FormatError::field(
                "the number of slots",
                self.layout.slots(),
                slots.to_string(),
            ));
        }
        for ciphertext in &self.ciphertexts {
            if !ciphertext.modulus.divides(parameters.top()) {
                let need =
                    format!("a divisor of the {} units and the sprout", parameters.unit_count());
                let factors: Vec<usize> = ciphertext.modulus.factors().collect();
                let (_, odd, two) = ciphertext.modulus.to_parts();
                let have = format!("at positions {factors:?}, of the sprout {odd:#b} and 2^{two}");
                return Err(FormatError::field("the modulus of a ciphertext", have, need));
            }
        }
        self.form.check_settings(settings, &self.ciphertexts)?;
        self.widths.check(parameters)?;
        let mut seeded = self.ciphertexts.iter().filter(|c| c.is_seeded());
        seeded.try_for_each(|c| self.widths.check_uniform(parameters, c.modulus))
    }
}

/// Bytes of a ciphertext's head.
fn head_bytes<F: FileForm>(uneven: bool) -> usize {
    START_BYTES + if uneven { UNEVEN_BYTES } else { 0 } + F::OWN_BYTES
}

fn size(field: &'static str, value: u64) -> Result<usize, FormatError> {
    usize::try_from(value)
        .map_err(|_| FormatError::field(field, value, format!("at most {}", usize::MAX)))
}

impl<F: FileForm> Stored for Array<F> {
    const KIND: Kind = F::KIND;
    type Bytes = Vec<u8>;
    type With<'a> = &'a Session;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let head = ArrayHead::of(self);
        let payload = head.bytes() as u64 + head.body_bytes();
        head.write(out.begin(F::KIND, self.parameters(), Some(self.key()), payload));
        for body in self.bodies() {
            out.pass_on()?;
            if let CiphertextBody::Seeded(c) = body {
                out.bytes.extend(F::inner_seeded(c.seeded()).seed().as_bytes());
            }
            for (modulus, poly) in polys(body) {
                head.widths.write_poly(&mut out.bytes, poly, modulus);
            }
        }
        Ok(())
    }

    fn decode(input: &mut Input<'_>, session: &Session) -> Result<Self, Error> {
        input.check_parameters(session)?;
        let (cursor, limits) = (&mut input.cursor, input.limits);
        let head = ArrayHead::<F>::read(cursor)?;
        head.form.check_session(session)?;
        head.check(session.settings())?;
        head.check_length(cursor)?;
        limits.check_work(head.layout.moving_work(), input.bytes)?;
        limits.check_memory(input.bytes.saturating_add(head.loaded_memory()))?;
        let parts =
            head.ciphertexts.iter().map(|c| cursor.part(c.body_bytes(&head.widths, head.degree())));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let bodies = session.try_each(parts.len(), |i| {
            head.ciphertexts[i].read_body(&mut parts[i].clone(), &head, session, input.header.key)
        })?;
        let count = bodies.len();
        Array::from_parts(head.layout, head.form, SlotContents::zero_if(head.clean), bodies)
            .map(|array| array.with_notes(head.notes))
            .ok_or_else(|| {
                FormatError::field("the number of ciphertexts", count, "that of the layout").into()
            })
    }

    fn check_stored(&self) -> Result<(), Error> {
        self.check_residues("save")
    }
}
