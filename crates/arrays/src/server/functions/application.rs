//! Any function of numbers: the choice between polynomials with comparisons and look-up tables.

use hippocrene_ckks::CkksError;
use hippocrene_pegasus::{Function, Tables, Tangents};
use serde::{Deserialize, Serialize};

use crate::server::{
    Server,
    functions::{
        named,
        pieces::{Accuracy, DEFAULT_ERROR, SmoothFunction, Speed},
    },
    planner::choose::Candidate,
};
use crate::{EncryptedArray, Error};

const APPLY: &str = "apply a function";

/// How a function is applied to an array.
///
/// ```
/// use hippocrene::{Application, Encryption, Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::by_name("n14")?.settings()?)?;
/// let x = simulation.encrypt((&[-0.5, 0.0, 0.75][..]).into(), &[3], &Encryption::default())?;
/// let how = Application { domain: Some((-1.0, 1.0)), error: Some(1e-3), ..Application::default() };
/// let server = simulation.server();
/// let tanh = server.prepare(&x, f64::tanh, how)?;
/// let y = server.apply_prepared(&x, &tanh)?;
/// assert!((simulation.values(&y).unwrap()[2].re - 0.75f64.tanh()).abs() < 1e-3);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Application {
    /// The domain, which must hold the interval of the array. By default, it is that interval.
    pub domain: Option<(f64, f64)>,
    /// The largest error ([`SmoothFunction::new`]). Tables with a larger error are not used.
    pub error: Option<f64>,
    /// The places of all jumps and kinks. By default, they are found.
    pub breaks: Option<Vec<f64>>,
    /// The distance from a jump below which results may lie between both sides
    /// ([`Server::apply_smooth`]).
    pub gap: Option<f64>,
    /// The largest number of look-ups for a value. If it is given, tables are used.
    pub look_ups: Option<usize>,
    /// True for look-up tables of values and slopes.
    pub precise: bool,
}

/// A function that is ready to be applied to an array, without further calls of the function.
///
/// See [`Application`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    way: Way,
    gap: Option<f64>,
}

impl Prepared {
    /// The largest slope of the function between its jumps. It is infinite for tables.
    pub(crate) fn largest_slope(&self) -> f64 {
        match &self.way {
            Way::Constant(_) => 0.0,
            Way::Smooth(smooth) => smooth.largest_slope(),
            _ => f64::INFINITY,
        }
    }

    /// True if the function jumps.
    pub(crate) fn jumps(&self) -> bool {
        matches!(&self.way, Way::Smooth(smooth) if !smooth.jumps().is_empty())
    }
}

/// The way to apply a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Way {
    /// The same number for all elements, for an array whose interval is one number.
    Constant(f64),
    Smooth(SmoothFunction),
    #[serde(skip)]
    Tables(Tables),
    #[serde(skip)]
    Tangents(Tangents),
    /// Polynomials where a dry run finds them possible, and tables otherwise.
    #[serde(skip)]
    SmoothOrTables(SmoothFunction, Tables),
}

impl Server {
    /// Prepares a function for an array, by calling it on its domain.
    ///
    /// Polynomials with comparisons are preferred, as they compute all values at once. Look-up
    /// tables are used if they are asked for, or if the function has no such polynomials.
    ///
    /// # Errors
    /// [`Error::Argument`] when options for polynomials and for tables are mixed, and as
    /// [`SmoothFunction::new`], [`Server::tables`] and [`Server::tangents`].
    pub fn prepare(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        how: Application,
    ) -> Result<Prepared, Error> {
        self.prepared(a, &f, how, |domain, accuracy, breaks| {
            SmoothFunction::of(&f, Speed::Slow, domain, accuracy, breaks)
        })
    }

    /// Prepares a function, whose approximation by polynomials is `approximated` for a domain, an
    /// accuracy and breaks.
    fn prepared(
        &self,
        a: &EncryptedArray,
        f: &impl Fn(f64) -> f64,
        how: Application,
        approximated: impl Fn((f64, f64), Accuracy, Option<&[f64]>) -> Result<SmoothFunction, CkksError>,
    ) -> Result<Prepared, Error> {
        let Application { domain, error, breaks, gap, look_ups, precise } = how;
        let of_polynomials = error.is_some() || breaks.is_some() || gap.is_some();
        if of_polynomials && (look_ups.is_some() || precise) {
            let what = "an error, breaks and a gap are for polynomials, and look-ups and precise \
                        results for tables. Leave out one of both.";
            return Err(Error::argument(APPLY, what));
        }
        let ends = domain.unwrap_or((a.interval().low(), a.interval().high()));
        let way = if let Some(value) = self.value_of_one(a, f, domain)? {
            Way::Constant(value)
        } else if precise {
            Way::Tangents(self.tangents(f, ends)?)
        } else if look_ups.is_some() {
            Way::Tables(self.tables(f, ends, look_ups)?)
        } else {
            let default_share = DEFAULT_ERROR * (-self.policy.extra_function_bits).exp2();
            let accuracy = Accuracy { error, default_share };
            let smooth = approximated(ends, accuracy, breaks.as_deref());
            let useful = |tables: &Tables| error.is_none_or(|error| tables.deviation() <= error);
            // With several tables, values away from a jump would have errors too.
            let jumps = smooth.as_ref().is_ok_and(|smooth| !smooth.jumps().is_empty());
            match (smooth, self.tables(f, ends, jumps.then_some(1)).ok().filter(useful)) {
                (Ok(smooth), Some(tables)) => Way::SmoothOrTables(smooth, tables),
                (Ok(smooth), None) => Way::Smooth(smooth),
                (Err(_), Some(tables)) => Way::Tables(tables),
                (Err(error), None) => return Err(error.into()),
            }
        };
        Ok(Prepared { way, gap })
    }

    /// Applies a prepared function to the array that it was prepared for, or to one with the same
    /// interval.
    ///
    /// # Errors
    /// As [`Server::apply_smooth`], [`Server::apply_tables`] and [`Server::apply_tangents`].
    pub fn apply_prepared(
        &self,
        a: &EncryptedArray,
        function: &Prepared,
    ) -> Result<EncryptedArray, Error> {
        match &function.way {
            Way::Constant(value) => self.constant(a, *value),
            Way::Smooth(smooth) => self.apply_smooth(a, smooth, function.gap),
            Way::Tables(tables) => self.apply_tables(a, tables),
            Way::Tangents(tangents) => self.apply_tangents(a, tangents),
            Way::SmoothOrTables(smooth, tables) => {
                let by_polynomials =
                    Candidate::new("polynomials", |server: &Server, [a]: [&EncryptedArray; 1]| {
                        server.apply_smooth(a, smooth, function.gap)
                    });
                match self.check_candidate(APPLY, &by_polynomials, [a]) {
                    Ok(()) => by_polynomials.run(self, [a]),
                    Err(_) => self.apply_tables(a, tables),
                }
            }
        }
    }

    /// Applies a named function as [`Server::prepare`] decides.
    ///
    /// Square roots, logarithms and reciprocals are computed by polynomials of high degrees, or by
    /// tables ([`Server::apply_function`]), unless an error is asked for.
    ///
    /// # Errors
    /// [`Error::Argument`] when the function is not defined on all of the domain, and as
    /// [`Server::prepare`] and [`Server::apply_prepared`].
    pub fn apply_named(
        &self,
        a: &EncryptedArray,
        function: Function,
        how: Application,
    ) -> Result<EncryptedArray, Error> {
        let (domain, look_ups) = (how.domain, how.look_ups);
        function.check(domain.unwrap_or((a.interval().low(), a.interval().high())))?;
        if how.precise {
            return self.apply_function_precisely(a, function, domain);
        }
        let is_steep = function.is_steep() && how.error.is_none();
        let without_tables =
            match is_steep.then(|| self.apply_function(a, function, domain, look_ups)) {
                Some(Err(error @ Error::NoKeys { .. })) => Some(error),
                Some(result) => return result,
                None => None,
            };
        let applied = self
            .prepared(a, &|x| function.value(x), how, |domain, accuracy, breaks| {
                named::approximated(function, domain, accuracy, breaks)
            })
            .and_then(|prepared| self.apply_prepared(a, &prepared));
        applied.map_err(|error| without_tables.unwrap_or(error))
    }
}
