//! Polynomials at the sines that a bootstrap computes.
//!
//! A bootstrap reduces its argument modulo the smallest modulus by a sine. A polynomial of that
//! sine is a function of the elements, so the bootstrap and the function take one pass.

use hippocrene_ckks::{approximation::Pieces, bootstrap::SineUse, circuits::Polynomial};

use crate::server::Server;
use crate::{EncryptedArray, Error};

/// The approximation error of a polynomial of sines, as a share of the error that the result
/// requests (chosen). It adds at most 3 % to the error.
const SHARE_OF_REQUESTED_ERROR: f64 = 0.25;

impl Server {
    /// Returns the sines of the elements, and a polynomial of them that differs from `f` by at most
    /// `error` where the elements are in `[low, high]`.
    ///
    /// # Errors
    /// As [`Server::bootstrap_to_sines`]. [`Error::Argument`] if no polynomial has the error.
    pub(in crate::server) fn as_polynomial_of_sines(
        &self,
        a: &EncryptedArray,
        f: &Polynomial,
        (low, high): (f64, f64),
        error: f64,
    ) -> Result<(EncryptedArray, Polynomial), Error> {
        let found = self.bootstrap_to_sines(a, (low, high), SineUse::SmoothFunctions)?;
        // The angle is below a right angle, so that the sine rises with the element.
        let reach = found.angle.sin();
        let value = |sine: f64| {
            let t = sine.clamp(-reach, reach).asin() / found.angle;
            f.evaluate((low.midpoint(high) + 0.5 * (high - low) * t).clamp(low, high))
        };
        let pieces = Pieces::approximate(value, (-reach, reach), error, Some(&[]))?;
        Ok((found.sines, pieces.polynomials()[0].clone()))
    }
}

/// Evaluates `p(a)` as a polynomial of the sines from a bootstrap of `a`.
///
/// # Errors
/// As [`Server::as_polynomial_of_sines`] and [`Server::polynomial`].
pub(in crate::server) fn polynomial_of_sines(
    server: &Server,
    a: &EncryptedArray,
    p: &Polynomial,
) -> Result<EncryptedArray, Error> {
    let ends = (a.interval().low(), a.interval().high());
    let error = SHARE_OF_REQUESTED_ERROR * (-server.form_of(&[a]).precision).exp2();
    let (sines, p) = server.as_polynomial_of_sines(a, p, ends, error)?;
    let values = server.polynomial_in_one_circuit(&sines, &p)?;
    let noise = (-values.precision_bits(&server.session)).exp2();
    values.with_precision_bits(-noise.hypot(error).log2(), &server.session)
}
