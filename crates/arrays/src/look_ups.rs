//! Look-up tables on arrays of numbers: requests, plans and keys.

use std::sync::{Arc, OnceLock};

use hippocrene_ckks::Short;
use hippocrene_fhew::Preset as TableSet;
use hippocrene_pegasus::{KMeansPlan, PegasusKeys, PegasusLiteral, PegasusPlan, Shape, Tangents};
use hippocrene_rlwe::{EvaluationKeys, SecretKey};
use serde::Serialize;

use crate::{Error, Session};

/// The look-ups that a client requests of a server ([PEGASUS](hippocrene_pegasus)).
///
/// All other numbers follow from it by rule.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{LookUps, Preset, Session};
///
/// let session = Session::new(Preset::by_name("n15")?.settings()?, 1)?;
/// let described = LookUps::by_name("lut11")?.describe(&session)?;
/// assert_eq!((described.tables, described.slots), ("lut11", 16384));
/// assert_eq!(described.capacity, 30.0);
/// assert!(described.log2_failure_probability < -40.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookUps {
    /// The tables by name: `lut11`, `lut12` or `lut13`, with rings of degree `2^11` to `2^13`.
    ///
    /// Each step up halves the errors and more than doubles the time.
    pub tables: &'static str,
    /// The capacity of results, in bits, for numbers up to 1.
    ///
    /// Repacking starts at the modulus that this capacity needs. By default it is 30 bits, for
    /// about one product. If there are keys for bootstraps too, the default is larger where the
    /// parameters allow it. It is then enough for a bootstrap
    /// ([`Server::bootstrap_reserve`](crate::Server::bootstrap_reserve)) after a product of 28
    /// bits, such as that of [`Server::apply_precisely`](crate::Server::apply_precisely). If this
    /// does not fit, it is enough for a bootstrap alone.
    pub capacity: Option<f64>,
    /// The shape of the points, if the keys are for k-means and nothing else.
    ///
    /// K-means has a capacity of its own.
    pub clusters: Option<Shape>,
}

/// The plan of look-ups: for functions or for k-means.
///
/// See [`LookUps`] for an example.
#[derive(Debug, Clone)]
pub enum LookUpPlan {
    /// The plan for functions of arrays.
    Functions(Arc<PegasusPlan>),
    /// The plan for k-means.
    Clusters(Arc<KMeansPlan>),
}

impl LookUpPlan {
    /// The plan of the conversions between slots and single numbers.
    pub fn pegasus(&self) -> &Arc<PegasusPlan> {
        match self {
            LookUpPlan::Functions(plan) => plan,
            LookUpPlan::Clusters(plan) => plan.pegasus(),
        }
    }

    /// Adds the keys of rotations and products that the plan needs.
    ///
    /// # Errors
    /// When a key does not fit.
    pub fn add_keys(&self, keys: &mut EvaluationKeys, secret: &SecretKey) -> Result<(), Error> {
        match self {
            LookUpPlan::Functions(plan) => plan.add_keys(keys, secret),
            LookUpPlan::Clusters(plan) => plan.add_keys(keys, secret),
        }
        .map_err(Error::from)
    }
}

impl Default for LookUps {
    /// Requests `lut12` with the default capacity.
    fn default() -> Self {
        LookUps { tables: Self::NAMES[1], capacity: None, clusters: None }
    }
}

/// The presets that have room for look-ups.
const PRESETS: &str = "n15, n16s, n16, n17s and n17";

const OPERATION: &str = "look-up tables";

impl LookUps {
    /// The names of the tables.
    pub const NAMES: [&'static str; 3] = ["lut11", "lut12", "lut13"];

    /// Requests the tables of this name, with the default capacity.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there are none; the message lists the names.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        match Self::NAMES.into_iter().find(|known| *known == name) {
            Some(tables) => Ok(LookUps { tables, ..Self::default() }),
            None => {
                let names = Self::NAMES.join(", ");
                Err(Error::Parameters(format!(
                    "{OPERATION}: there are none named {name:?}. There are {names}."
                )))
            }
        }
    }

    /// The default capacity without bootstraps, in bits.
    const CAPACITY: f64 = 30.0;

    /// The capacity in bits, without regard to the parameters.
    pub fn capacity_bits(&self) -> f64 {
        self.capacity.unwrap_or(Self::CAPACITY)
    }

    /// Fills in the default capacity, where none is given.
    ///
    /// `reserve` is the number of bits that a bootstrap needs, if there are keys for bootstraps.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub(crate) fn with_default_capacity(
        self,
        session: &Session,
        reserve: Option<f64>,
    ) -> Result<LookUps, Error> {
        let said = LookUps { capacity: Some(self.capacity_bits()), ..self };
        let (None, None, Some(reserve)) = (self.capacity, self.clusters, reserve) else {
            return Ok(said);
        };
        let most = said.plan(session)?.pegasus().max_output_bits();
        let fits = |bits: &f64| (Self::CAPACITY..=most).contains(bits);
        let enough =
            [reserve + Tangents::OPERAND_BITS, reserve].map(f64::ceil).into_iter().find(fits);
        Ok(LookUps { capacity: enough.or(said.capacity), ..self })
    }

    /// Plans look-ups with these parameters.
    ///
    /// The default capacity is 30 bits here.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there are no such tables. [`Error::Argument`] when the capacity
    /// is not from 1 to 2000 bits, or the parameters have no sprout or too small a modulus. The
    /// message gives the numbers.
    pub fn plan(&self, session: &Session) -> Result<LookUpPlan, Error> {
        if let Some(shape) = self.clusters {
            return Ok(LookUpPlan::Clusters(self.clustering(session, shape)?.into()));
        }
        let set = self.set(session)?;
        let capacity = self.capacity_bits();
        if !(1.0..=2000.0).contains(&capacity) {
            return Err(Error::argument(
                OPERATION,
                format!("results have from 1 to 2000 bits of capacity, not {}", Short(capacity)),
            ));
        }
        static LITERALS: Literals = [const { OnceLock::new() }; LookUps::NAMES.len()];
        let made =
            self.cached_literal(&LITERALS, || Ok(PegasusLiteral::of(&set, Vec::new(), 1.0, 0.0)?))?;
        let literal =
            PegasusLiteral { slots: vec![session.slots()], output_bits: capacity, ..made };
        let plan = PegasusPlan::new(Arc::clone(session.context()), literal);
        let plan = plan.map_err(|error| match Error::from(error) {
            Error::Argument { what, .. } if capacity <= Self::CAPACITY => Error::argument(
                OPERATION,
                format!(
                    "these parameters have no room for them ({what}). Take one of the presets \
                     {PRESETS}."
                ),
            ),
            other => other,
        })?;
        Ok(LookUpPlan::Functions(plan.into()))
    }

    /// Plans k-means on points of this shape with these parameters.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub fn clustering(&self, session: &Session, shape: Shape) -> Result<KMeansPlan, Error> {
        static LITERALS: Literals = [const { OnceLock::new() }; LookUps::NAMES.len()];
        let set = self.set(session)?;
        let literal = self.cached_literal(&LITERALS, || Ok(KMeansPlan::literal(&set)?))?;
        Ok(KMeansPlan::new(Arc::clone(session.context()), shape, literal)?)
    }

    /// Returns the literal of these tables, which is made once per process.
    fn cached_literal(
        &self,
        literals: &Literals,
        make: impl FnOnce() -> Result<PegasusLiteral, Error>,
    ) -> Result<PegasusLiteral, Error> {
        let known = literals.iter().zip(Self::NAMES).find(|(_, name)| *name == self.tables);
        match known.and_then(|(literal, _)| literal.get()) {
            Some(literal) => Ok(literal.clone()),
            None => {
                let made = make()?;
                Ok(known.map_or(made.clone(), |(literal, _)| literal.get_or_init(|| made).clone()))
            }
        }
    }

    /// True if keys that were made for this request also serve `wanted`.
    pub(crate) fn serves(&self, wanted: &LookUps) -> bool {
        let capacity = wanted.capacity.is_none_or(|bits| self.capacity_bits() >= bits);
        self.tables == wanted.tables && self.clusters == wanted.clusters && capacity
    }

    fn set(&self, session: &Session) -> Result<TableSet, Error> {
        let LookUps { tables, .. } = Self::by_name(self.tables)?;
        if session.context().parameters().top().sprout().is_one() {
            let what = format!(
                "they need parameters with a sprout, by which scales can be chosen. Take one of \
                 the presets {PRESETS}."
            );
            return Err(Error::argument(OPERATION, what));
        }
        Ok(TableSet::by_name(tables).map_err(hippocrene_pegasus::PegasusError::from)?)
    }
}

/// A cached literal for each of the tables, since the search for their polynomials takes time.
type Literals = [OnceLock<PegasusLiteral>; LookUps::NAMES.len()];

/// The description of look-ups on arrays.
///
/// See [`LookUps`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookUpsDescription {
    /// The tables by name.
    pub tables: &'static str,
    /// The capacity of results, in bits, for values up to 1.
    pub capacity: f64,
    /// The number of values in one ciphertext.
    pub slots: usize,
    /// log2 of the probability that a look-up of all values of a ciphertext fails.
    ///
    /// If it fails, a result is wrong by more than its stated error.
    pub log2_failure_probability: f64,
}

impl LookUps {
    /// Describes look-ups with these parameters, before any key is made.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub fn describe(&self, session: &Session) -> Result<LookUpsDescription, Error> {
        let (plan, slots) = (self.plan(session)?, session.slots());
        let pegasus = plan.pegasus();
        Ok(LookUpsDescription {
            tables: self.tables,
            capacity: pegasus.literal().output_bits,
            slots,
            log2_failure_probability: pegasus.log2_failure_probability(slots),
        })
    }
}

/// The part of evaluation keys that is for look-ups, except for rotations and relinearisation.
///
/// See [`LookUps`] for an example.
#[derive(Debug, Clone)]
pub struct LookUpKeys {
    request: LookUps,
    inner: PegasusKeys,
}

impl LookUpKeys {
    /// Combines a request with its keys.
    pub fn new(request: LookUps, inner: PegasusKeys) -> Self {
        LookUpKeys { request, inner }
    }

    /// The request, with the default capacity filled in.
    pub fn request(&self) -> LookUps {
        self.request
    }

    /// The keys between slots and single numbers.
    pub fn inner(&self) -> &PegasusKeys {
        &self.inner
    }
}
