//! The form of the result of a key switch.

use hippocrene_ring::{Domain, automorphism::Automorphism};

use crate::Modulus;

/// The modulus and domain in which a key switch ends.
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
    /// Modulo `modulus` in the evaluation domain, with no automorphism.
    pub fn new(modulus: Modulus) -> Self {
        Destination { modulus, domain: Domain::Evaluation, automorphism: None }
    }
}
