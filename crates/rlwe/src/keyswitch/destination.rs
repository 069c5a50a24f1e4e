//! The form of the result of a key switch.

use hippocrene_ring::{Domain, automorphism::Automorphism};

use crate::Modulus;

/// The modulus and domain in which a key switch ends.
///
/// ```
/// use hippocrene_ring::Domain;
/// use hippocrene_rlwe::{Destination, Modulus};
///
/// let modulus = Modulus::of_range(0..3);
/// let coefficients = Destination { domain: Domain::Coefficient, ..Destination::new(modulus) };
/// assert_eq!(coefficients.modulus, modulus);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The modulus `Q'` of the result, any divisor of `PQ_max`.
    pub modulus: Modulus,
    /// The domain of the result.
    pub domain: Domain,
    /// The automorphism that is applied to the result, if any.
    pub automorphism: Option<&'a Automorphism>,
}

impl Destination<'_> {
    /// The destination modulo `modulus` in the evaluation domain, without an automorphism.
    pub fn new(modulus: Modulus) -> Self {
        Destination { modulus, domain: Domain::Evaluation, automorphism: None }
    }
}
