//! From values to encrypted arrays, whichever key encrypts.

use hippocrene_ckks::{BigFloat, Plaintext, Scale, Values};

use crate::{
    CiphertextBody, EncryptedArray, Error, Interval, Layout, Numbers, Session, SlotContents,
};

/// What is declared of values when they are encrypted.
///
/// Shape and magnitude are no secret: with an array goes the interval of its elements.
///
/// ```
/// use hippocrene::{Encryption, Interval};
///
/// let ages = Encryption { interval: Interval::new(0.0, 120.0), ..Encryption::default() };
/// assert_eq!(ages.precision, None); // that of the settings
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Encryption {
    /// The interval of the elements. By default its bound is the largest absolute value, rounded up
    /// to a power of two from 1, and it ends at 0 if no value is negative, or none is positive. An
    /// interval that does not come from the values tells nothing of them.
    pub interval: Option<Interval>,
    /// The precision of the values and of what is computed from them, in bits after the binary
    /// point. By default it is that of the settings.
    pub precision: Option<f64>,
}

/// The array of shape `shape` with these elements in row-major order: encodes them in its layout
/// and encrypts each plaintext with `encrypt`.
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
    // Absolute values of complex numbers are roots, which others may round another way.
    let rounding = if values.is_complex() { 4.0 * f64::EPSILON * have.bound() } else { 0.0 };
    if let Some(declared) = how.interval
        && !(declared + Interval::symmetric(rounding)).covers(have)
    {
        // Not by how much: values are secret.
        let what = format!("a value lies outside the declared interval {declared}");
        return Err(Error::argument(OPERATION, what));
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
    }?;
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

/// One body for each ciphertext's slots, which are wiped.
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

/// Overwrites copies of what a client encrypts or has decrypted, as far as a compiler can be kept
/// from leaving that out. Numbers on the heap wipe themselves when they are dropped.
pub(crate) fn wipe<T: Clone + Default>(slots: &mut [Vec<T>]) {
    for slots in slots {
        slots.fill(T::default());
        std::hint::black_box(slots);
    }
}

/// The interval of values: of complex ones that of their absolute values and the negatives of
/// these.
fn values_interval(values: &Values<'_>) -> Interval {
    let interval = match values {
        Values::Real(v) => Interval::of(v.iter().copied()),
        Values::Big(v) => Interval::of(v.iter().map(BigFloat::to_f64)),
        Values::Complex(_) | Values::BigComplex(_) => None,
    };
    interval.unwrap_or(Interval::symmetric(values.bound()))
}

/// The interval that goes with an array for all to see. Its bound is the largest absolute value
/// rounded up to a power of two from 1, so that it tells no more than the magnitude of the whole
/// array and whether all signs are equal.
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
