//! Plaintexts of CKKS.

use hippocrene_ring::Poly;
use hippocrene_rlwe::{self as rlwe, Modulus};

use crate::{Scale, dry_run_values::DryRunValues};

/// An encoded vector: a polynomial whose slots are `scale` times the values, up to rounding. Its
/// memory is wiped when it is dropped. See [`Context`](crate::Context) for an example.
#[derive(Clone)]
pub struct Plaintext {
    poly: Poly,
    parameters: rlwe::Fingerprint,
    modulus: Modulus,
    scale: Scale,
    slots: usize,
    bound: f64,
    dry_run_values: DryRunValues,
}

impl Plaintext {
    /// Assembles a plaintext. `bound` is the largest absolute value in the slots.
    pub(crate) fn new(
        poly: Poly,
        parameters: rlwe::Fingerprint,
        modulus: Modulus,
        scale: Scale,
        slots: usize,
        bound: f64,
    ) -> Self {
        Plaintext {
            poly,
            parameters,
            modulus,
            scale,
            slots,
            bound,
            dry_run_values: DryRunValues::default(),
        }
    }

    /// Attaches the values that this plaintext of a dry run represents.
    pub(crate) fn with_dry_run_values(mut self, dry_run_values: DryRunValues) -> Self {
        self.dry_run_values = dry_run_values;
        self
    }

    pub(crate) fn dry_run_values(&self) -> &DryRunValues {
        &self.dry_run_values
    }

    /// The polynomial.
    pub fn poly(&self) -> &Poly {
        &self.poly
    }

    /// Returns the polynomial, which is not wiped any more. This is for plaintexts that are not
    /// secret.
    pub(crate) fn into_poly(mut self) -> Poly {
        let nothing = self.poly.new_like(self.poly.degree(), 0);
        std::mem::replace(&mut self.poly, nothing)
    }

    pub(crate) fn set_bound(&mut self, bound: f64) {
        self.bound = bound;
    }

    pub(crate) fn poly_mut(&mut self) -> &mut Poly {
        &mut self.poly
    }

    /// The digest of its parameters.
    pub fn parameters(&self) -> rlwe::Fingerprint {
        self.parameters
    }

    /// Its modulus.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Its scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots.
    pub fn bound(&self) -> f64 {
        self.bound
    }
}

/// Leaves out the bound, which is as secret as the values.
impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext {{ scale: {}, slots: {}, .. }}", self.scale, self.slots)
    }
}

/// Wipes the coefficients, which may encode secret values of a client.
impl Drop for Plaintext {
    fn drop(&mut self) {
        self.poly.wipe();
    }
}
