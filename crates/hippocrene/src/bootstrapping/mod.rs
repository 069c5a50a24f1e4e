//! Which bootstrap keys are made for.

mod describe;
pub(crate) mod rule;

use std::sync::Arc;

use hippocrene_ckks::bootstrap::{BootstrapLiteral, BootstrapPlan};
use hippocrene_rlwe::{EncapsulationKeys, Modulus, Parameters, RlweError, stop};

use crate::{Error, Session};

pub use describe::BootstrappingDescription;
use rule::Way;
pub(crate) use rule::{capacity_after, reserve};

/// What a bootstrap is to do, as a client asks for it. Transforms, scales and moduli follow from it
/// by rule, and so does what it leaves: [`Bootstrapping::describe`] says so before any key is made.
///
/// All `N/2` slots of a ciphertext are bootstrapped, or the first of them:
/// [`Bootstrapping::slots`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrapping {
    /// Whether complex arrays are bootstrapped too; it takes the same keys, and for complex arrays
    /// twice the reductions. Else only real ones are.
    pub complex: bool,
    /// How many slots are bootstrapped, a power of two; all where nothing is said. The fewer, the
    /// faster it is, the smaller the keys, and the more capacity is left (but for a product, where
    /// slots without an element are zero and stay so). Elements of arrays that are bootstrapped
    /// have to stand in the first so many slots of one ciphertext, as those of an array of so few
    /// elements do, each axis but the first counted as the next power of two. Such bootstraps are
    /// not iterated.
    pub slots: Option<usize>,
    /// The bound on the absolute values that it is planned for. Larger values, whose bound is `2^k`
    /// times as large, are bootstrapped in the unit `2^k`, and so with `k` bits less after the
    /// binary point.
    pub bound: f64,
    /// How precise the result is to be, in bits after the binary point: an error of standard
    /// deviation `2^-precision` for values up to the bound. Each bit takes about 15 bits of the
    /// modulus. What one bootstrap does not have, up to about 37 bits, is reached by bootstraps of
    /// the errors of bootstraps, as few as do ([`BootstrapLiteral::precision`]); the scale of
    /// arrays has to have room for it, as it has where it is the precision of the settings, or of
    /// the encryption. Where none is said, it is that of the settings, or if one bootstrap has not
    /// so many bits, as many as it has.
    pub precision: Option<f64>,
}

impl Default for Bootstrapping {
    /// Real arrays of values up to 1.
    fn default() -> Self {
        Bootstrapping { complex: false, slots: None, bound: 1.0, precision: None }
    }
}

impl Bootstrapping {
    /// The least precision that is tried where none is said.
    const LEAST_PRECISION: f64 = 10.0;

    /// The most bootstraps that are tried for one precision.
    const MOST_BOOTSTRAPS: u32 = 8;

    /// Whether keys that were made for this do for `wanted` too.
    pub(crate) fn does(&self, wanted: &Bootstrapping) -> bool {
        let slots = self.slots.is_none_or(|have| wanted.slots.is_some_and(|slots| slots <= have));
        let precise =
            wanted.precision.is_none_or(|bits| self.precision.is_some_and(|have| have >= bits));
        (self.complex || !wanted.complex) && slots && precise && self.bound >= wanted.bound
    }

    /// The bootstrap of these parameters that does it, and its precision.
    ///
    /// # Errors
    /// [`Error::Argument`] when a number makes no sense; [`Error::Parameters`] when these
    /// parameters have none that leaves capacity for a product, or no bootstrap has so much
    /// precision for values up to the bound. The message says what lacks.
    pub fn plan(&self, session: &Session) -> Result<(BootstrapPlan, f64), Error> {
        self.way(session).map(|(plan, way)| (plan, way.precision))
    }

    /// The bootstrap of these parameters that does it, and how.
    fn way(&self, session: &Session) -> Result<(BootstrapPlan, Way), Error> {
        rule::check(session, self)?;
        let Some(precision) = self.precision else {
            let mut precision = session.settings().precision();
            loop {
                match self.plan_at(session, Way::once(precision)) {
                    Err(_) if precision > Self::LEAST_PRECISION => {
                        precision = (precision - 2.0).max(Self::LEAST_PRECISION);
                    }
                    done => return done,
                }
            }
        };
        let mut made = self.plan_at(session, Way::once(precision));
        for count in 2..=Self::MOST_BOOTSTRAPS {
            let way = Way::iterated(count, precision);
            if made.is_ok() || way.one < Self::LEAST_PRECISION {
                break;
            }
            made = self.plan_at(session, way);
        }
        made
    }

    /// The bootstrap that goes this way.
    fn plan_at(&self, session: &Session, way: Way) -> Result<(BootstrapPlan, Way), Error> {
        stop::check("plan a bootstrap")?;
        let (literal, precision) = (rule::literal(session, self, way)?, way.precision);
        let plan = BootstrapPlan::new(Arc::clone(session.context()), literal)?;
        let (need, left) = (rule::reserve(&plan), rule::capacity_after(&plan));
        let product = session.settings().scale().log2();
        if left >= need + product {
            return Ok((plan, way));
        }
        Err(Error::Parameters(format!(
            "a bootstrap with {precision:.1} bits of precision leaves {left:.0} bits of capacity with these parameters; the next one needs {need:.0}, and a product \
             in between {product:.0}: ask for less precision, or take a preset with a larger modulus; {}",
            rule::PRESETS
        )))
    }
}

/// What evaluation keys hold for bootstrapping beside rotations and conjugation.
#[derive(Debug, Clone)]
pub struct BootstrappingKeys {
    precision: f64,
    literal: BootstrapLiteral,
    encapsulation: EncapsulationKeys,
    narrow: Parameters,
}

impl BootstrappingKeys {
    /// The keys of a bootstrap of this precision, made of this, with the keys of its sparse secret.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when there is no sparse secret with these
    /// parameters, [`Error::ParameterMismatch`] when the keys are of others.
    pub fn new(
        session: &Session,
        precision: f64,
        literal: BootstrapLiteral,
        encapsulation: EncapsulationKeys,
    ) -> Result<Self, Error> {
        const OPERATION: &str = "put bootstrapping keys together";
        let parameters = session.settings().parameters();
        let narrow = Self::narrow_of(parameters, &literal)?;
        check_encapsulation(session, &narrow, &encapsulation, OPERATION)?;
        Ok(BootstrappingKeys { precision, literal, encapsulation, narrow })
    }

    /// The parameter set of the sparse secret, held to its limit where `parameters` are secure.
    pub(crate) fn narrow_of(
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

    /// What was asked for, with the precision that was found where none was said.
    pub fn request(&self) -> Bootstrapping {
        let BootstrapLiteral { slots, first_slots, real, bound, .. } = self.literal;
        let slots = first_slots.then_some(slots);
        Bootstrapping { complex: !real, slots, bound, precision: Some(self.precision) }
    }

    /// The precision that it is made for, in bits after the binary point.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// What the bootstrap is made of.
    pub fn literal(&self) -> &BootstrapLiteral {
        &self.literal
    }

    /// The keys to the sparse secret and back.
    pub fn encapsulation(&self) -> &EncapsulationKeys {
        &self.encapsulation
    }

    /// The parameter set of the sparse secret.
    pub fn narrow(&self) -> &Parameters {
        &self.narrow
    }
}

/// The parameter set of a sparse secret of weight `weight` for the base modulus `base`, held to its
/// limit where `parameters` are secure.
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

/// Checks that keys of a sparse secret are of its parameter set, `narrow`, and of that of the
/// session.
pub(crate) fn check_encapsulation(
    session: &Session,
    narrow: &Parameters,
    keys: &EncapsulationKeys,
    operation: &'static str,
) -> Result<(), Error> {
    for (have, need) in [(keys.down(), narrow), (keys.up(), session.settings().parameters())] {
        let (have, need) = (have.parameters(), need.digest());
        // In a simulation both sets go by other names.
        if have != need && !session.context().rlwe().is_hollow() {
            return Err(RlweError::ParameterMismatch { operation, have, need }.into());
        }
    }
    Ok(())
}
