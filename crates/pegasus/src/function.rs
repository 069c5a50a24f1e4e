//! Functions by name, with the domains on which they are defined.

use hippocrene_ckks::Short;

use crate::{PegasusError, error::argument};

/// A function that tables are often made of. [`crate::Pegasus::make_tables`] accepts any other
/// function as well.
///
/// ```
/// use hippocrene_pegasus::Function;
///
/// let relu = Function::by_name("relu")?;
/// assert_eq!(relu.value(-3.0), 0.0);
/// assert!(Function::Log.check((-1.0, 1.0)).is_err());
/// # Ok::<(), hippocrene_pegasus::PegasusError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `1/(1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `max(x, 0)`.
    Relu,
    /// `|x|`.
    Abs,
    /// The square root, from 0.
    Sqrt,
    /// `1/x`, on either side of 0.
    Reciprocal,
    /// The natural logarithm, above 0.
    Log,
    /// `exp(x)`.
    Exp,
    /// `-1` below 0, `0` at 0, and `1` above. For a number that is closer to 0 than the error of
    /// the table index, the result may be anything in between.
    Sign,
}

impl Function {
    /// All functions.
    pub const ALL: [Function; 9] = [
        Function::Sigmoid,
        Function::Tanh,
        Function::Relu,
        Function::Abs,
        Function::Sqrt,
        Function::Reciprocal,
        Function::Log,
        Function::Exp,
        Function::Sign,
    ];

    /// Returns the function with this name ([`Function::name`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is none. The message lists the names.
    pub fn by_name(name: &str) -> Result<Self, PegasusError> {
        match Function::ALL.into_iter().find(|f| f.name() == name) {
            Some(function) => Ok(function),
            None => {
                let names: Vec<&str> = Function::ALL.iter().map(|f| f.name()).collect();
                argument(
                    "apply a function",
                    format!("there is no {name:?}; there are {}", names.join(", ")),
                )
            }
        }
    }

    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Function::Sigmoid => "sigmoid",
            Function::Tanh => "tanh",
            Function::Relu => "relu",
            Function::Abs => "abs",
            Function::Sqrt => "sqrt",
            Function::Reciprocal => "reciprocal",
            Function::Log => "log",
            Function::Exp => "exp",
            Function::Sign => "sign",
        }
    }

    /// Returns the value at `x`. It is not finite where the function is not defined.
    pub fn value(self, x: f64) -> f64 {
        match self {
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Function::Tanh => x.tanh(),
            Function::Relu => x.max(0.0),
            Function::Abs => x.abs(),
            Function::Sqrt => x.sqrt(),
            Function::Reciprocal => 1.0 / x,
            Function::Log => x.ln(),
            Function::Exp => x.exp(),
            Function::Sign if x == 0.0 => 0.0,
            Function::Sign => x.signum(),
        }
    }

    /// Returns true if the slope is unbounded on the domain, as for the square root, the logarithm
    /// and the reciprocal.
    pub fn is_steep(self) -> bool {
        matches!(self, Function::Sqrt | Function::Log | Function::Reciprocal)
    }

    /// Checks that the function is defined on all of `[low, high]`.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if it is not. The message states where the function is
    /// defined.
    pub fn check(self, (low, high): (f64, f64)) -> Result<(), PegasusError> {
        let (defined, on) = match self {
            Function::Sqrt => (low >= 0.0, "from 0"),
            Function::Log => (low > 0.0, "above 0"),
            Function::Reciprocal => (low > 0.0 || high < 0.0, "on either side of 0"),
            _ => (true, "everywhere"),
        };
        if defined {
            return Ok(());
        }
        let (name, low, high) = (self.name(), Short(low), Short(high));
        let what = format!(
            "{name} is defined {on}, but not on all of [{low}, {high}]. If all values lie where it \
             is defined, pass such a domain, or declare such an interval (with_interval)."
        );
        argument("apply a function", what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_names_and_domains() {
        for f in Function::ALL {
            assert_eq!(Function::by_name(f.name()).unwrap(), f);
            assert!(f.check((0.5, 2.0)).is_ok() && f.value(1.5).is_finite());
            let partial = matches!(f, Function::Sqrt | Function::Log | Function::Reciprocal);
            assert_eq!(f.check((-1.0, 1.0)).is_err(), partial, "{}", f.name());
        }
        assert!(Function::by_name("sine").unwrap_err().to_string().contains("sigmoid, tanh, relu"));
        assert!(
            Function::Log.check((0.0, 1.0)).is_err()
                && Function::Reciprocal.check((-2.0, -1.0)).is_ok()
        );
        assert_eq!([-2.0, 0.0, 2.0].map(|x| Function::Sign.value(x)), [-1.0, 0.0, 1.0]);
    }
}
