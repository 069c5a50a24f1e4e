//! From values to encrypted arrays, whichever key encrypts.

use hippocrene_ckks::{Plaintext, Scale, Short, Values};

use crate::{CiphertextBody, EncryptedArray, Error, Layout, Numbers, Session};

/// What is declared of values when they are encrypted.
///
/// Shape and magnitude are no secret: with an array goes a bound on its elements.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Encryption {
    /// No absolute value is larger. Where none is declared, it is the largest absolute value rounded up to a power of two from 1; one that
    /// does not come from the values tells nothing of them.
    pub bound: Option<f64>,
    /// The precision of the values and of what is computed from them, in bits after the binary point, where it is not to be that of the
    /// settings.
    pub precision: Option<f64>,
}

/// The array of shape `shape` with these elements in row-major order: encodes them in its layout and encrypts each plaintext with
/// `encrypt`.
pub(crate) fn encrypt_elements(
    session: &Session,
    values: Values<'_>,
    shape: &[usize],
    how: &Encryption,
    encrypt: impl Fn(&Plaintext) -> Result<CiphertextBody<Numbers>, Error> + Sync,
) -> Result<EncryptedArray, Error> {
    const OPERATION: &str = "encrypt";
    let layout = Layout::filled(shape, session.slots(), values.len(), OPERATION)?;
    let largest = values.bound();
    // Absolute values of complex numbers are roots, which others may round another way.
    let rounding = if values.is_complex() { 4.0 * f64::EPSILON } else { 0.0 };
    if let Some(bound) = how.bound
        && bound >= 0.0
        && largest > bound * (1.0 + rounding)
    {
        // Not by how much: values are secret.
        let what = format!("a value exceeds the declared bound {}", Short(bound));
        return Err(Error::argument(OPERATION, what));
    }
    let precision = how.precision.unwrap_or(session.settings().precision());
    let scale = session.settings().scale_of(precision)?;
    let bodies = match values {
        Values::Real(v) => encrypt_slots(session, &layout, v, |v| Values::Real(v), scale, encrypt),
        Values::Complex(v) => encrypt_slots(session, &layout, v, |v| Values::Complex(v), scale, encrypt),
        Values::Big(v) => encrypt_slots(session, &layout, v, |v| Values::Big(v), scale, encrypt),
        Values::BigComplex(v) => {
            encrypt_slots(session, &layout, v, |v| Values::BigComplex(v), scale, encrypt)
        }
    }?;
    let form = Numbers { complex: values.is_complex(), precision, interval: None, error_known: true };
    let array = EncryptedArray::from_parts(layout, form, true, bodies)
        .expect("one body for each ciphertext of the layout, all of one key");
    let array = array.with_bound(how.bound.unwrap_or_else(|| public_bound(largest)))?;
    array.check_room(session, OPERATION)?;
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
    let encode = |i: usize| session.context().encode(wrap(&slots[i]), session.slots(), scale, modulus);
    let encrypted = |i: usize| encode(i).map_err(Error::from).and_then(|plaintext| encrypt(&plaintext));
    let bodies = session.try_each(slots.len(), |i| encrypted(i).map_err(|e| e.of_ciphertext(i, layout)));
    wipe(&mut slots);
    bodies
}

/// Overwrites copies of what a client encrypts or has decrypted, as far as a compiler can be kept from leaving that out. Numbers on the
/// heap wipe themselves when they are dropped.
pub(crate) fn wipe<T: Clone + Default>(slots: &mut [Vec<T>]) {
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
