//! Plain numbers as operands together with ciphertexts of real and complex numbers.

use std::borrow::Cow;

use hippocrene_ckks::{Ciphertext, Plaintext, Scale, Values};

use crate::server::Server;
use crate::{Error, Layout};

/// Applies `f` to each ciphertext and the numbers of `p` for its slots.
pub(in crate::server) fn with_plain(
    server: &Server,
    ciphertexts: &[Cow<'_, Ciphertext>],
    layout: &Layout,
    p: Values<'_>,
    f: impl Fn(&Ciphertext, Values<'_>) -> Result<Ciphertext, Error> + Sync,
) -> Result<Vec<Ciphertext>, Error> {
    match p {
        Values::Real(v) => each(server, ciphertexts, layout, v, |v| Values::Real(v), f),
        Values::Complex(v) => each(server, ciphertexts, layout, v, |v| Values::Complex(v), f),
        Values::Big(v) => each(server, ciphertexts, layout, v, |v| Values::Big(v), f),
        Values::BigComplex(v) => each(server, ciphertexts, layout, v, |v| Values::BigComplex(v), f),
    }
}

/// Applies `f` to each ciphertext and the numbers of its slots, for one type of numbers.
fn each<T: Clone + Default + Sync>(
    server: &Server,
    ciphertexts: &[Cow<'_, Ciphertext>],
    layout: &Layout,
    values: &[T],
    wrap: impl Fn(&[T]) -> Values<'_> + Sync,
    f: impl Fn(&Ciphertext, Values<'_>) -> Result<Ciphertext, Error> + Sync,
) -> Result<Vec<Ciphertext>, Error> {
    let slots = layout.scatter(values)?;
    let of = |i: usize| {
        f(&ciphertexts[i], wrap(&slots[i])).map_err(|error| layout.error_of_ciphertext(i, error))
    };
    server.session.compute_each(ciphertexts.len(), of)
}

/// Encodes the numbers in `slots` at a scale and the modulus of `x`.
pub(in crate::server) fn encode(
    server: &Server,
    slots: Values<'_>,
    x: &Ciphertext,
    scale: Scale,
) -> Result<Plaintext, Error> {
    Ok(server.session.context().encode(slots, server.session.slots(), scale, x.modulus())?)
}

/// Returns the largest absolute value.
pub(in crate::server) fn largest(values: &Values<'_>) -> f64 {
    match values {
        Values::Real(v) => v.iter().fold(0.0, |largest, x| x.abs().max(largest)),
        Values::Complex(v) => v.iter().fold(0.0, |largest, z| z.norm().max(largest)),
        Values::Big(v) => v.iter().fold(0.0, |largest, x| x.to_f64().abs().max(largest)),
        Values::BigComplex(v) => {
            v.iter().fold(0.0, |largest, z| z.re.to_f64().hypot(z.im.to_f64()).max(largest))
        }
    }
}
