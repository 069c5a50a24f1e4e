//! Bootstraps: requests, plans and keys.

mod describe;
pub(crate) mod rule;

use std::sync::Arc;

use hippocrene_ckks::bootstrap::{BootstrapLiteral, BootstrapPlan};
use hippocrene_rlwe::{EncapsulationKeys, Modulus, Parameters, RlweError, stop};

use serde::{Deserialize, Serialize};

use crate::{Error, Session};

pub use describe::BootstrappingDescription;
use rule::BootstrapMethod;
pub(crate) use rule::{capacity_after, reserve};

/// The bootstrap that a client requests.
///
/// Transforms, scales, moduli and the remaining capacity follow from it by rule.
/// [`Bootstrapping::describe`] shows them before any key is made.
///
/// It bootstraps all `N/2` slots of a ciphertext, or the first of them ([`Bootstrapping::slots`]).
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Bootstrapping, Preset, Session};
///
/// let session = Session::new(Preset::by_name("n15")?.settings()?, 1)?;
/// let bootstrapping = Bootstrapping { precision: Some(14.0), ..Bootstrapping::default() };
/// let described = bootstrapping.describe(&session)?;
/// assert_eq!((described.slots, described.iterations), (16384, 1));
/// assert!(described.capacity_after > described.capacity_needed);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bootstrapping {
    /// The number of slots that are bootstrapped, a power of two; by default all.
    ///
    /// With fewer slots the bootstrap is faster, its keys are smaller and more capacity is left.
    /// Where the other slots are zero, a product keeps them zero, and its capacity is deducted.
    ///
    /// All elements have to lie in the first `slots` slots of one ciphertext. This holds for arrays
    /// with at most this number of elements, if each axis but the first counts as the next power of
    /// two. Such bootstraps are not iterated.
    pub slots: Option<usize>,
    /// The bound on the absolute values for which the bootstrap is planned.
    ///
    /// Values with a bound `2^k` times as large are bootstrapped in the unit `2^k`, with `k` bits
    /// less after the binary point.
    pub bound: f64,
    /// The precision of the result, in bits after the binary point.
    ///
    /// For values up to the bound, the error has a standard deviation of `2^-precision`. Each bit
    /// uses about 15 bits of the modulus. One bootstrap reaches up to about 37 bits. For more, the
    /// errors of bootstraps are bootstrapped, as few times as necessary
    /// ([`BootstrapLiteral::precision`]). The scale of the arrays must be large enough for the
    /// precision. It is if this is the precision of the settings or of the encryption.
    ///
    /// The default is the precision of the settings, or the highest precision that one bootstrap
    /// reaches, if that is lower. It is searched for in steps of 2 bits.
    pub precision: Option<f64>,
}

impl Default for Bootstrapping {
    /// Requests a bootstrap of values up to 1, with the default precision.
    fn default() -> Self {
        Bootstrapping { slots: None, bound: 1.0, precision: None }
    }
}

impl Bootstrapping {
    /// The least default precision that is tried, in bits after the binary point; chosen.
    const MIN_PRECISION_BITS: f64 = 10.0;

    /// The maximum number of bootstraps that are tried for one precision; chosen.
    const MAX_BOOTSTRAPS: u32 = 8;

    /// True if keys that were made for this request also serve `wanted`.
    pub(crate) fn serves(&self, wanted: &Bootstrapping) -> bool {
        let slots = self.slots.is_none_or(|have| wanted.slots.is_some_and(|slots| slots <= have));
        let precise =
            wanted.precision.is_none_or(|bits| self.precision.is_some_and(|have| have >= bits));
        slots && precise && self.bound >= wanted.bound
    }

    /// Plans the bootstrap with these parameters; also returns its precision in bits.
    ///
    /// # Errors
    /// [`Error::Argument`] when a number makes no sense. [`Error::Parameters`] when every bootstrap
    /// with these parameters leaves too little capacity for a product, or too little precision for
    /// values up to the bound. The message gives the numbers.
    pub fn plan(&self, session: &Session) -> Result<(BootstrapPlan, f64), Error> {
        self.plan_with_method(session).map(|(plan, way)| (plan, way.precision))
    }

    /// Plans the bootstrap, and the way in which it reaches its precision.
    fn plan_with_method(
        &self,
        session: &Session,
    ) -> Result<(BootstrapPlan, BootstrapMethod), Error> {
        rule::check(session, self)?;
        let Some(precision) = self.precision else {
            let mut precision = session.settings().precision();
            loop {
                match self.plan_at(session, BootstrapMethod::once(precision)) {
                    Err(_) if precision > Self::MIN_PRECISION_BITS => {
                        precision = (precision - 2.0).max(Self::MIN_PRECISION_BITS);
                    }
                    done => return done,
                }
            }
        };
        let mut made = self.plan_at(session, BootstrapMethod::once(precision));
        for count in 2..=Self::MAX_BOOTSTRAPS {
            let way = BootstrapMethod::iterated(count, precision);
            if made.is_ok() || way.one < Self::MIN_PRECISION_BITS {
                break;
            }
            made = self.plan_at(session, way);
        }
        made
    }

    /// Plans the bootstrap that reaches its precision this way.
    fn plan_at(
        &self,
        session: &Session,
        way: BootstrapMethod,
    ) -> Result<(BootstrapPlan, BootstrapMethod), Error> {
        stop::check("plan a bootstrap")?;
        let (literal, precision) = (rule::literal(session, self, way)?, way.precision);
        let plan = BootstrapPlan::new(Arc::clone(session.context()), literal)?;
        let (need, left) = (rule::reserve(&plan), rule::capacity_after(&plan));
        let product = session.settings().scale().log2();
        if left >= need + product {
            return Ok((plan, way));
        }
        Err(Error::Parameters(format!(
            "bootstrapping: with these parameters, a bootstrap with {precision:.1} bits of precision \
             leaves {left:.0} bits of capacity. The next one needs {need:.0}, and a product in \
             between {product:.0}. Request less precision, or take a larger one of the presets {}.",
            rule::PRESETS
        )))
    }
}

/// The part of evaluation keys that is for bootstrapping, except for rotations, conjugation and
/// relinearisation.
///
/// See [`Bootstrapping`] for an example.
#[derive(Debug, Clone)]
pub struct BootstrappingKeys {
    precision: f64,
    literal: BootstrapLiteral,
    encapsulation: EncapsulationKeys,
    sparse_parameters: Parameters,
}

impl BootstrappingKeys {
    /// Combines a bootstrap of this precision with the keys of its sparse secret.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when these parameters allow no sparse secret.
    /// [`Error::ParameterMismatch`] when the keys have other parameters.
    pub fn new(
        session: &Session,
        precision: f64,
        literal: BootstrapLiteral,
        encapsulation: EncapsulationKeys,
    ) -> Result<Self, Error> {
        const OPERATION: &str = "put bootstrapping keys together";
        let parameters = session.settings().parameters();
        let sparse_parameters = Self::sparse_parameters_of(parameters, &literal)?;
        check_encapsulation(session, &sparse_parameters, &encapsulation, OPERATION)?;
        Ok(BootstrappingKeys { precision, literal, encapsulation, sparse_parameters })
    }

    /// The parameter set of the sparse secret, with a security check if `parameters` are secure.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when these parameters allow no sparse secret.
    pub fn sparse_parameters_of(
        parameters: &Parameters,
        literal: &BootstrapLiteral,
    ) -> Result<Parameters, Error> {
        let weight = literal.sparse_weight.ok_or_else(|| {
            Error::Parameters(
                "a bootstrap of arrays raises the modulus under a sparse secret; there is none"
                    .into(),
            )
        })?;
        sparse_parameters(parameters, parameters.grafted_modulus(literal.base_bits), weight)
    }

    /// The request, with the default precision filled in.
    pub fn request(&self) -> Bootstrapping {
        let BootstrapLiteral { slots, first_slots, bound, .. } = self.literal;
        let slots = first_slots.then_some(slots);
        Bootstrapping { slots, bound, precision: Some(self.precision) }
    }

    /// The precision of the bootstrap, in bits after the binary point.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// The literal of a less precise bootstrap of real arrays that uses the same keys.
    ///
    /// It has the same transform of coefficients to slots, since its keys are as small as the
    /// moduli of that transform allow.
    ///
    /// # Errors
    /// As [`Bootstrapping::plan`].
    pub(crate) fn coarser(
        &self,
        session: &Session,
        precision: f64,
    ) -> Result<BootstrapLiteral, Error> {
        let how = Bootstrapping { precision: Some(precision), ..self.request() };
        let literal = rule::literal(session, &how, BootstrapMethod::once(precision))?;
        Ok(BootstrapLiteral {
            base_bits: self.literal.base_bits,
            coefficients_to_slots: self.literal.coefficients_to_slots.clone(),
            ..literal
        })
    }

    /// The literal from which the bootstrap is planned.
    pub fn literal(&self) -> &BootstrapLiteral {
        &self.literal
    }

    /// The keys to the sparse secret and back.
    pub fn encapsulation(&self) -> &EncapsulationKeys {
        &self.encapsulation
    }

    /// The parameter set of the sparse secret.
    pub fn sparse_parameters(&self) -> &Parameters {
        &self.sparse_parameters
    }
}

/// The parameter set of a sparse secret of Hamming weight `weight` for the base modulus `base`.
///
/// It is checked against the security limit if `parameters` are secure.
pub(crate) fn sparse_parameters(
    parameters: &Parameters,
    base: Modulus,
    weight: usize,
) -> Result<Parameters, Error> {
    Ok(match parameters.security() {
        Some(_) => parameters.encapsulation(base, weight)?,
        None => parameters.encapsulation_insecure(base, weight)?,
    })
}

/// Checks that the keys of a sparse secret belong to its parameter set, `sparse_parameters`, and to
/// the session.
pub(crate) fn check_encapsulation(
    session: &Session,
    sparse_parameters: &Parameters,
    keys: &EncapsulationKeys,
    operation: &'static str,
) -> Result<(), Error> {
    for (have, need) in
        [(keys.down(), sparse_parameters), (keys.up(), session.settings().parameters())]
    {
        let (have, need) = (have.parameters(), need.digest());
        // In a simulation both sets have other digests.
        if have != need && !session.context().rlwe().is_dry_run() {
            return Err(RlweError::ParameterMismatch { operation, have, need }.into());
        }
    }
    Ok(())
}
