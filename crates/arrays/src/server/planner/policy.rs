//! Policy: the precision and the remaining capacity of results, and the distance of elements.

use serde::{Deserialize, Serialize};

use crate::server::Server;
use crate::{Error, Settings};

/// The precision of results, whether they keep capacity for a bootstrap, and the declared distance
/// of elements.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Policy {
    /// The precision of results, in bits after the binary point. `None` is that of the operands.
    pub(crate) precision: Option<f64>,
    /// True if results need no capacity for a bootstrap.
    pub(crate) finishing: bool,
    /// The capacity that results must have, in bits, if it is known. It replaces the reserve for
    /// later operations.
    pub(crate) capacity: Option<f64>,
    /// The declared distance of elements that are put in order, unless they are equal.
    pub(crate) distance: Option<f64>,
    /// Additional bits of precision of functions: default errors are smaller by this power of two.
    /// The default gaps of absolute values, ReLU, maxima and minima are smaller too, since they
    /// determine these errors.
    pub(crate) extra_function_bits: f64,
}

/// Maximum of [`Policy::extra_function_bits`] (chosen). Polynomials of doubles allow no more.
const MAX_EXTRA_FUNCTION_BITS: f64 = 30.0;

impl Policy {
    /// Checks a policy from a file.
    ///
    /// # Errors
    /// As [`Server::with_precision`], [`Server::with_distance`] and
    /// [`Server::with_extra_function_bits`].
    pub(crate) fn check(&self, settings: &Settings) -> Result<(), Error> {
        check_extra_function_bits(self.extra_function_bits)?;
        self.precision.map_or(Ok(()), |bits| settings.scale_of(bits).map(drop))?;
        self.distance.map_or(Ok(()), check_distance)
    }
}

/// Checks the additional precision of functions.
fn check_extra_function_bits(bits: f64) -> Result<(), Error> {
    if (0.0..=MAX_EXTRA_FUNCTION_BITS).contains(&bits) {
        return Ok(());
    }
    let what = format!("{bits} more bits are not 0 to {MAX_EXTRA_FUNCTION_BITS}");
    Err(Error::argument("make functions more precise", what))
}

/// Checks the declared distance of elements.
fn check_distance(distance: f64) -> Result<(), Error> {
    if distance.is_finite() && distance > 0.0 {
        return Ok(());
    }
    let what = format!("the distance is {distance}, and it must be above 0");
    Err(Error::argument("declare a distance", what))
}

impl Server {
    /// Returns this server with another precision of results, in bits after the binary point,
    /// whatever the precision of their operands is.
    ///
    /// # Errors
    /// [`Error::Parameters`] if these parameters do not allow it, and [`Error::Argument`] if the
    /// keys are those of integers.
    pub fn with_precision(&self, precision: f64) -> Result<Self, Error> {
        if self.session.integers().is_some() {
            let what = "the keys are those of integers, which are exact and have none";
            return Err(Error::argument("compute at a precision", what));
        }
        self.session.settings().scale_of(precision)?;
        let policy = Policy { precision: Some(precision), ..self.policy };
        Ok(Server { policy, ..self.clone() })
    }

    /// Returns this server with smaller default errors of functions, by this number of bits.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the number is from 0 to 30.
    pub(crate) fn with_extra_function_bits(&self, bits: f64) -> Result<Self, Error> {
        check_extra_function_bits(bits)?;
        let policy = Policy { extra_function_bits: bits, ..self.policy };
        Ok(Server { policy, ..self.clone() })
    }

    /// Returns the precision of results if [`Server::with_precision`] has set one; otherwise it is
    /// that of their operands.
    pub fn own_precision(&self) -> Option<f64> {
        self.policy.precision
    }

    /// Returns this server for the last operations of a program: their results may use up all
    /// capacity.
    ///
    /// In all other cases an operation keeps the capacity that a bootstrap of its result needs, and
    /// bootstraps its operands if they have too little for that.
    #[must_use]
    pub fn finishing(&self) -> Self {
        let policy = Policy { finishing: true, ..self.policy };
        Server { policy, ..self.clone() }
    }

    /// Returns this server for arrays whose elements are equal or differ by at least `distance`.
    ///
    /// Servers without look-up tables then compare all pairs of elements at once to put them in order
    /// ([`Server::sort`] and its like). They need this to find places ([`Server::argsort`],
    /// [`Server::argmin`], [`Server::argmax`]). A smaller distance takes a deeper comparison.
    ///
    /// # Errors
    /// [`Error::Argument`] if the distance is not a finite number above 0.
    pub fn with_distance(&self, distance: f64) -> Result<Self, Error> {
        check_distance(distance)?;
        let policy = Policy { distance: Some(distance), ..self.policy };
        Ok(Server { policy, ..self.clone() })
    }
}
