//! Plain operands of operations.

use hippocrene_ckks::{BigFloat, Values};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::{Arithmetic, Error, Numbers, Residues};

/// Plain numbers in row-major order.
///
/// ```
/// use hippocrene::Plain;
///
/// let weights = Plain::Reals(vec![0.5, 0.25]);
/// assert_ne!(weights, Plain::Integers(vec![1, 2]));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Plain {
    /// Integers.
    Integers(Vec<i64>),
    /// Doubles.
    Reals(Vec<f64>),
    /// Complex doubles.
    Complex(Vec<Complex64>),
    /// Real numbers with more precision than doubles.
    Big(Vec<BigFloat>),
}

/// A plain number.
///
/// ```
/// use hippocrene::PlainNumber;
///
/// assert_ne!(PlainNumber::Integer(1), PlainNumber::Real(1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum PlainNumber {
    /// An integer.
    Integer(i64),
    /// A double.
    Real(f64),
}

/// A kind of encrypted elements, with the plain numbers that it computes with.
pub(super) trait FromPlain: Arithmetic {
    /// Plain numbers, one for each element.
    ///
    /// # Errors
    /// This and the next methods fail if the numbers are of another kind.
    fn of_plain<'p>(plain: &'p Plain, operation: &'static str) -> Result<Self::Plain<'p>, Error>;

    /// The numbers of a vector or a matrix.
    fn of_matrix<'p>(
        plain: &'p Plain,
        operation: &'static str,
    ) -> Result<&'p [Self::Number], Error>;

    fn of_number(number: PlainNumber, operation: &'static str) -> Result<Self::Number, Error>;
}

fn unfit(operation: &'static str, need: &str) -> Error {
    Error::argument(operation, format!("the plain numbers are not {need}"))
}

impl FromPlain for Numbers {
    fn of_plain<'p>(plain: &'p Plain, operation: &'static str) -> Result<Values<'p>, Error> {
        match plain {
            Plain::Reals(values) => Ok(Values::Real(values)),
            Plain::Complex(values) => Ok(Values::Complex(values)),
            Plain::Big(values) => Ok(Values::Big(values)),
            Plain::Integers(_) => Err(unfit(operation, "doubles")),
        }
    }

    fn of_matrix<'p>(plain: &'p Plain, operation: &'static str) -> Result<&'p [f64], Error> {
        match plain {
            Plain::Reals(values) => Ok(values),
            _ => Err(unfit(operation, "doubles")),
        }
    }

    fn of_number(number: PlainNumber, _: &'static str) -> Result<f64, Error> {
        match number {
            PlainNumber::Integer(integer) => Ok(integer as f64),
            PlainNumber::Real(number) => Ok(number),
        }
    }
}

impl FromPlain for Residues {
    fn of_plain<'p>(plain: &'p Plain, operation: &'static str) -> Result<&'p [i64], Error> {
        match plain {
            Plain::Integers(values) => Ok(values),
            _ => Err(unfit(operation, "integers")),
        }
    }

    fn of_matrix<'p>(plain: &'p Plain, operation: &'static str) -> Result<&'p [i64], Error> {
        Self::of_plain(plain, operation)
    }

    fn of_number(number: PlainNumber, operation: &'static str) -> Result<i64, Error> {
        match number {
            PlainNumber::Integer(integer) => Ok(integer),
            PlainNumber::Real(_) => Err(unfit(operation, "integers")),
        }
    }
}
