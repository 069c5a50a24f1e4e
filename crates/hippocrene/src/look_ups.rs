//! Look-up tables on arrays of numbers: which keys are made for them.

use std::sync::{Arc, OnceLock};

use hippocrene_ckks::Short;
use hippocrene_fhew::Preset as TableSet;
use hippocrene_pegasus::{KMeansPlan, PegasusKeys, PegasusLiteral, PegasusPlan, Shape, Tangents};
use hippocrene_rlwe::{EvaluationKeys, SecretKey};
use serde::Serialize;

use crate::{Error, Session};

/// What a server is to be able to look up, as a client asks for it ([PEGASUS](hippocrene_pegasus)).
/// Everything else follows by rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookUps {
    /// The tables by name: `lut11`, `lut12` or `lut13`, with rings of degree `2^11` to `2^13`. Each
    /// step up halves the errors, and takes more than twice as long.
    pub tables: &'static str,
    /// The capacity that results have, in bits, where they are of numbers up to 1; repacking starts
    /// at the modulus that it takes. Where none is said: 30, for about one product; where there are
    /// keys for bootstraps too and the parameters have room for it, what a bootstrap takes
    /// ([`Server::bootstrap_reserve`](crate::Server::bootstrap_reserve)) and a product of 28 bits,
    /// such as that of [`Server::apply_precisely`](crate::Server::apply_precisely), or without that
    /// product.
    pub capacity: Option<f64>,
    /// The keys are for k-means on points of this shape, and for nothing else. It has a capacity of
    /// its own.
    pub clusters: Option<Shape>,
}

/// What there are keys for.
#[derive(Debug, Clone)]
pub enum LookUpPlan {
    /// Functions of arrays.
    Functions(Arc<PegasusPlan>),
    /// K-means.
    Clusters(Arc<KMeansPlan>),
}

impl LookUpPlan {
    /// The way between slots and single numbers.
    pub fn pegasus(&self) -> &Arc<PegasusPlan> {
        match self {
            LookUpPlan::Functions(plan) => plan,
            LookUpPlan::Clusters(plan) => plan.pegasus(),
        }
    }

    /// Adds the keys of rotations and products that are needed.
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
    /// `lut12`, and no capacity said.
    fn default() -> Self {
        LookUps { tables: Self::NAMES[1], capacity: None, clusters: None }
    }
}

/// The smallest preset that has room for look-ups.
const SMALLEST: &str = "n15";

impl LookUps {
    /// The names of the tables.
    pub const NAMES: [&'static str; 3] = ["lut11", "lut12", "lut13"];

    /// The tables of this name.
    ///
    /// # Errors
    /// [`Error::Parameters`] with the names there are, when it is none of them.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        match Self::NAMES.into_iter().find(|known| *known == name) {
            Some(tables) => Ok(LookUps { tables, ..Self::default() }),
            None => {
                let names = Self::NAMES.join(", ");
                Err(Error::Parameters(format!("there are no tables {name:?}; there are {names}")))
            }
        }
    }

    /// The capacity where nothing is said and nothing is bootstrapped.
    const CAPACITY: f64 = 30.0;

    /// The capacity in bits, where the parameters do not matter.
    pub(crate) fn capacity_bits(&self) -> f64 {
        self.capacity.unwrap_or(Self::CAPACITY)
    }

    /// The same with a capacity that is said, for keys with which bootstraps take so many bits of
    /// it, where there are any.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub(crate) fn beside(self, session: &Session, reserve: Option<f64>) -> Result<LookUps, Error> {
        let said = LookUps { capacity: Some(self.capacity_bits()), ..self };
        let (None, None, Some(reserve)) = (self.capacity, self.clusters, reserve) else {
            return Ok(said);
        };
        let most = said.plan(session)?.pegasus().most_output_bits();
        let fits = |bits: &f64| (Self::CAPACITY..=most).contains(bits);
        let enough =
            [reserve + Tangents::OPERAND_BITS, reserve].map(f64::ceil).into_iter().find(fits);
        Ok(LookUps { capacity: enough.or(said.capacity), ..self })
    }

    /// What is done with these parameters. Where no capacity is said, it is 30 bits.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there are no such tables; [`Error::Argument`] when the parameters
    /// have no sprout or too small a modulus; the message says what it takes.
    pub fn plan(&self, session: &Session) -> Result<LookUpPlan, Error> {
        const OPERATION: &str = "plan look-ups";
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
        let made = self.kept(&LITERALS, || Ok(PegasusLiteral::of(&set, Vec::new(), 1.0, 0.0)?))?;
        let literal =
            PegasusLiteral { slots: vec![session.slots()], output_bits: capacity, ..made };
        let plan = PegasusPlan::new(Arc::clone(session.context()), literal);
        let plan = plan.map_err(|error| match Error::from(error) {
            Error::Argument { operation, what } if capacity <= Self::CAPACITY => Error::argument(
                operation,
                format!("{what}; take a larger preset, such as {SMALLEST}"),
            ),
            other => other,
        })?;
        Ok(LookUpPlan::Functions(plan.into()))
    }

    /// K-means on points of this shape with these parameters.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub fn clustering(&self, session: &Session, shape: Shape) -> Result<KMeansPlan, Error> {
        static LITERALS: Literals = [const { OnceLock::new() }; LookUps::NAMES.len()];
        let set = self.set(session)?;
        let literal = self.kept(&LITERALS, || Ok(KMeansPlan::literal(&set)?))?;
        Ok(KMeansPlan::new(Arc::clone(session.context()), shape, literal)?)
    }

    /// The literal of these tables, made once.
    fn kept(
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

    /// Whether keys that were made for this do for `wanted` too.
    pub(crate) fn does(&self, wanted: &LookUps) -> bool {
        let capacity = wanted.capacity.is_none_or(|bits| self.capacity_bits() >= bits);
        self.tables == wanted.tables && self.clusters == wanted.clusters && capacity
    }

    fn set(&self, session: &Session) -> Result<TableSet, Error> {
        let LookUps { tables, .. } = Self::by_name(self.tables)?;
        if session.context().parameters().top().sprout().is_one() {
            let what = "on a simple chain scales cannot be chosen; take parameters with a sprout";
            return Err(Error::argument("plan look-ups", what));
        }
        Ok(TableSet::by_name(tables).map_err(hippocrene_pegasus::PegasusError::from)?)
    }
}

/// One for each of the tables: polynomials are searched for.
type Literals = [OnceLock<PegasusLiteral>; LookUps::NAMES.len()];

/// Look-ups on arrays in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookUpsDescription {
    /// The tables by name.
    pub tables: &'static str,
    /// The capacity that results of values up to 1 have, in bits.
    pub capacity: f64,
    /// How many values go through one ciphertext.
    pub slots: usize,
    /// log2 of the probability that a look-up of all values of a ciphertext fails: one of the
    /// results is wrong by more than its error says.
    pub log2_failure_probability: f64,
}

impl LookUps {
    /// What look-ups with these parameters are like, before any key is made.
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

/// What evaluation keys hold for look-ups beside rotations.
#[derive(Debug, Clone)]
pub struct LookUpKeys {
    request: LookUps,
    inner: PegasusKeys,
}

impl LookUpKeys {
    /// The keys of what was asked for.
    pub(crate) fn new(request: LookUps, inner: PegasusKeys) -> Self {
        LookUpKeys { request, inner }
    }

    /// What was asked for, with the capacity that was chosen where none was.
    pub fn request(&self) -> LookUps {
        self.request
    }

    /// The keys between slots and single numbers.
    pub fn inner(&self) -> &PegasusKeys {
        &self.inner
    }
}
