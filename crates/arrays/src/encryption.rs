//! Encryption of values to arrays, with the secret or the public key.

use hippocrene_ckks::{BigFloat, Plaintext, Scale, Short, Values, encoder::EncodeError};

use crate::{
    CiphertextBody, EncryptedArray, Error, Interval, Layout, Numbers, Session, SlotContents,
    error::place,
};

/// The options of an encryption: the declared interval and the precision of the values.
///
/// Shape and magnitude are public: the array carries the interval of its elements.
///
/// ```
/// use hippocrene::{Encryption, Interval};
///
/// let ages = Encryption { interval: Interval::new(0.0, 120.0), ..Encryption::default() };
/// assert_eq!(ages.precision, None); // that of the settings
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Encryption {
    /// The interval of the elements.
    ///
    /// By default its bound is the largest absolute value, rounded up to a power of two, and at
    /// least 1. The default ends at 0 if no value is negative or no value is positive. A declared
    /// interval that does not depend on the values reveals nothing about them.
    pub interval: Option<Interval>,
    /// The precision of the values and of results computed from them, in bits after the binary
    /// point.
    ///
    /// By default it is that of the settings.
    pub precision: Option<f64>,
}

/// Encrypts the elements of an array of shape `shape`, in row-major order.
///
/// Encodes them in the layout of the array and encrypts each plaintext with `encrypt`.
pub(crate) fn encrypt_elements(
    session: &Session,
    values: Values<'_>,
    shape: &[usize],
    how: &Encryption,
    encrypt: impl Fn(&Plaintext) -> Result<CiphertextBody<Numbers>, Error> + Sync,
) -> Result<EncryptedArray, Error> {
    const OPERATION: &str = "encrypt";
    let layout = Layout::filled(shape, session.slots(), values.len(), OPERATION)?;
    let have = values_interval(&values);
    // Absolute values of complex numbers are square roots, and the caller may round them
    // differently.
    let rounding = if values.is_complex() { 4.0 * f64::EPSILON * have.bound() } else { 0.0 };
    if let Some(declared) = how.interval {
        let allowed = declared + Interval::symmetric(rounding);
        let outside = |i: &usize| !allowed.covers(values_interval(&element(&values, *i)));
        if let Some(index) = (0..values.len()).find(outside) {
            return Err(outside_of_interval(shape, index, declared));
        }
    }
    let precision = how.precision.unwrap_or(session.settings().precision());
    let scale = session.settings().scale_of(precision)?;
    let bodies = match values {
        Values::Real(v) => encrypt_slots(session, &layout, v, |v| Values::Real(v), scale, encrypt),
        Values::Complex(v) => {
            encrypt_slots(session, &layout, v, |v| Values::Complex(v), scale, encrypt)
        }
        Values::Big(v) => encrypt_slots(session, &layout, v, |v| Values::Big(v), scale, encrypt),
        Values::BigComplex(v) => {
            encrypt_slots(session, &layout, v, |v| Values::BigComplex(v), scale, encrypt)
        }
    };
    let bodies = bodies.map_err(|error| too_large(error, &values, shape, precision))?;
    let form =
        Numbers { complex: values.is_complex(), precision, interval: None, error_known: true };
    let interval = how.interval.unwrap_or_else(|| public_interval(have));
    let array = EncryptedArray::from_parts(layout, form, SlotContents::Zero, bodies)
        .expect("one body for each ciphertext of the layout, all of one key");
    let array = array.of_interval(Interval::finite(interval.low(), interval.high())?);
    array.check_room(session, OPERATION)?;
    array.check_precision(session, OPERATION)?;
    Ok(array)
}

/// Returns the error of an element outside of the declared interval.
///
/// It names the place and not the value, since values are secret and errors go to logs.
pub(crate) fn outside_of_interval(shape: &[usize], index: usize, declared: Interval) -> Error {
    let what = format!(
        "the value{} lies outside the interval {declared}. Declare a wider interval, or divide the \
         values by a number first.",
        place(shape, index)
    );
    Error::argument("encrypt", what)
}

/// Names the place of the largest value in an error about values that do not fit the modulus. Other
/// errors stay as they are.
fn too_large(error: Error, values: &Values<'_>, shape: &[usize], precision: f64) -> Error {
    let Error::Encode(EncodeError::TooLarge { scale_bits, modulus_bits, .. }) = error else {
        return error;
    };
    let bound = |i: &usize| values_interval(&element(values, *i)).bound();
    let index = (0..values.len()).max_by(|i, j| bound(i).total_cmp(&bound(j))).unwrap_or(0);
    let what = format!(
        "the value{} is too large: at a precision of {} bits, these parameters hold values up to about \
         {:.0e}. Divide the values by a number first, or take a lower precision or a larger preset.",
        place(shape, index),
        Short(precision),
        (modulus_bits - scale_bits - 1.0).exp2()
    );
    Error::TooLarge { operation: "encrypt", what }
}

/// The value at an index, alone.
fn element<'a>(values: &Values<'a>, index: usize) -> Values<'a> {
    match *values {
        Values::Real(v) => Values::Real(&v[index..=index]),
        Values::Complex(v) => Values::Complex(&v[index..=index]),
        Values::Big(v) => Values::Big(&v[index..=index]),
        Values::BigComplex(v) => Values::BigComplex(&v[index..=index]),
    }
}

/// Encodes and encrypts the slots of each ciphertext, and then wipes them.
fn encrypt_slots<T: Clone + Default + Sync>(
    session: &Session,
    layout: &Layout,
    values: &[T],
    wrap: impl Fn(&[T]) -> Values<'_> + Sync,
    scale: Scale,
    encrypt: impl Fn(&Plaintext) -> Result<CiphertextBody<Numbers>, Error> + Sync,
) -> Result<Vec<CiphertextBody<Numbers>>, Error> {
    let (modulus, mut slots) = (session.settings().fresh(), layout.scatter(values)?);
    let encode =
        |i: usize| session.context().encode(wrap(&slots[i]), session.slots(), scale, modulus);
    let encrypted =
        |i: usize| encode(i).map_err(Error::from).and_then(|plaintext| encrypt(&plaintext));
    let bodies = session
        .try_each(slots.len(), |i| encrypted(i).map_err(|e| layout.error_of_ciphertext(i, e)));
    wipe(&mut slots);
    bodies
}

/// Overwrites copies of values that a client encrypts or has decrypted.
///
/// It keeps the compiler from removing the writes as far as that is possible. Numbers on the heap
/// wipe themselves when they are dropped.
pub(crate) fn wipe<T: Clone + Default>(slots: &mut [Vec<T>]) {
    for slots in slots {
        slots.fill(T::default());
        std::hint::black_box(slots);
    }
}

/// The interval of the values; for complex ones `[-b, b]` with `b` their largest absolute value.
fn values_interval(values: &Values<'_>) -> Interval {
    let interval = match values {
        Values::Real(v) => Interval::of(v.iter().copied()),
        Values::Big(v) => Interval::of(v.iter().map(BigFloat::to_f64)),
        Values::Complex(_) | Values::BigComplex(_) => None,
    };
    interval.unwrap_or(Interval::symmetric(values.bound()))
}

/// The public interval of an array, when none is declared.
///
/// Its bound is the largest absolute value, rounded up to a power of two, and at least 1. So it
/// reveals only the magnitude of the whole array and whether all signs are equal.
fn public_interval(have: Interval) -> Interval {
    let power = have.bound().max(1.0).log2().ceil().exp2();
    let bound = if power < have.bound() { 2.0 * power } else { power };
    let positive = Interval::symmetric(bound).abs();
    match have {
        _ if have.low() >= 0.0 => positive,
        _ if have.high() <= 0.0 => -positive,
        _ => Interval::symmetric(bound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_intervals_tell_the_magnitude_and_one_sign() {
        for (largest, bound) in
            [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0 + f64::EPSILON, 2.0), (5.0, 8.0), (8.0, 8.0)]
        {
            let of = |values: &[f64]| public_interval(values_interval(&Values::Real(values)));
            assert_eq!(of(&[largest, 0.0]), Interval::new(0.0, bound).unwrap(), "{largest}");
            if largest > 0.0 {
                assert_eq!(of(&[-largest, 0.0]), Interval::new(-bound, 0.0).unwrap(), "{largest}");
                assert_eq!(of(&[largest, -0.1]), Interval::symmetric(bound), "{largest}");
            }
        }
        for exponent in 1..1000 {
            let power = f64::from(exponent).exp2();
            let bound = |largest| public_interval(Interval::symmetric(largest)).bound();
            assert!(
                bound(power.next_up()) >= power.next_up()
                    && bound(power.next_down()) <= 2.0 * power
            );
        }
    }
}
