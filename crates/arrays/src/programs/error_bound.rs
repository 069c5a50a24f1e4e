//! Bounds of the errors of a program's values.
//!
//! An error has two parts. Noise is random, and its estimate is a standard deviation. Functions are
//! approximated, and the error of an approximation depends only on the value. Equal values have
//! equal errors, so these errors may add up in the worst way. A bound therefore adds their largest
//! absolute values: the error of `x @ w` is at most the error of an element times the sum of `|w|`.
//!
//! The stated noise of an array is a mean over its elements. Elements of a product with a matrix
//! have unequal noise if its columns have unequal sizes, so a bound takes the largest.
//!
//! Jumps are an exception, as in a comparison `a > b`. Near the threshold, the result may be
//! anything between the values on both sides. No bound holds there.

use hippocrene_ckks::circuits::{Basis, Polynomial};
use hippocrene_pegasus::Function;

use super::{
    operation::{InOrder, OfDifference, OfSign, Operation},
    plain::{Plain, PlainNumber},
    spec::{Spec, SpecKind},
};
use crate::server::DEVIATIONS_OF_LARGEST_ERROR;

/// The number of standard deviations that an error exceeds with probability `2^-40`.
///
/// The error of a rounding or of an encryption in a slot is a product with the secret's value in
/// that slot. Both are normally distributed, so that the product has a Laplace distribution. It
/// exceeds `k` deviations with probability `exp(-sqrt(2) k)`.
const DEVIATIONS_OF_BOUND: f64 = 20.0;

/// The number of places at which the rise of a function is sampled (chosen).
const PLACES: usize = 1 << 10;

/// A value of a program, as far as errors depend on it.
#[derive(Debug, Clone)]
pub(super) struct Approximated {
    pub(super) spec: Spec,
    /// The largest error of an element by the approximation of functions. It is an absolute value
    /// for complex numbers too.
    pub(super) error: f64,
    /// The standard deviation that the noise estimate states.
    pub(super) stated: f64,
    /// The largest standard deviation of an element's noise, divided by the stated one.
    pub(super) unevenness: f64,
}

impl Approximated {
    /// An input of a program, whose noise estimate states this standard deviation.
    pub(super) fn input(spec: &Spec, stated: f64) -> Self {
        Approximated { spec: spec.clone(), error: 0.0, stated, unevenness: 1.0 }
    }

    /// The result of an operation whose noise estimate states this standard deviation. That of an
    /// approximated function includes the error of the approximation.
    pub(super) fn result(
        operation: &Operation,
        inputs: &[&Approximated],
        spec: Spec,
        stated: f64,
    ) -> Self {
        let error = match operation {
            // Rounds may carry errors on, or correct them.
            Operation::Repeat { .. } => f64::INFINITY,
            // The declaration replaces everything that is known about the error.
            Operation::WithPrecisionBits(_) => 0.0,
            _ if inputs.iter().any(|input| !input.error.is_finite()) => f64::INFINITY,
            _ => carried(operation, inputs, &spec) + own_share(operation) * stated,
        };
        let unevenness = unevenness(operation, inputs, &spec, stated);
        Approximated { spec, error, stated, unevenness }
    }

    /// Returns a bound of the errors of all elements. Each element exceeds it with probability
    /// `2^-40` at most, unless it depends on a value near a jump. It is infinite if the noise is
    /// unknown, and `None` for integers and bits, which are exact.
    pub(super) fn error_bound(&self) -> Option<f64> {
        // Decrypted values are rounded to doubles.
        let rounding = 0.5 * f64::EPSILON * self.bound();
        let bound = DEVIATIONS_OF_BOUND * self.unevenness * self.stated + self.error + rounding;
        let is_number = matches!(self.spec.kind, SpecKind::Numbers | SpecKind::Complex);
        is_number.then_some(if bound.is_nan() { f64::INFINITY } else { bound })
    }

    /// A bound of the absolute values of the elements.
    fn bound(&self) -> f64 {
        let largest = self.spec.interval.map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        // The interval of complex numbers is that of both parts.
        if self.spec.kind == SpecKind::Complex { largest * 2f64.sqrt() } else { largest }
    }

    fn size(&self) -> f64 {
        self.spec.shape.iter().map(|length| *length as f64).product()
    }

    fn ends(&self) -> (f64, f64) {
        self.spec.interval.unwrap_or((0.0, 0.0))
    }
}

/// Returns the error of a product.
fn of_product(a: &Approximated, b: &Approximated) -> f64 {
    a.bound() * b.error + b.bound() * a.error + a.error * b.error
}

/// Returns the largest error of an operation's own approximation, divided by the stated standard
/// deviation of its result.
fn own_share(operation: &Operation) -> f64 {
    match operation {
        Operation::OfSign { .. }
        | Operation::OfDifference { .. }
        | Operation::InOrder { .. }
        | Operation::Quantile { .. }
        | Operation::TopK { .. }
        | Operation::MaxPool { .. }
        | Operation::Apply(_)
        | Operation::ApplyNamed { .. } => DEVIATIONS_OF_LARGEST_ERROR,
        // These count their largest errors as standard deviations.
        Operation::Entries { .. } | Operation::IsNearZero { .. } => 1.0,
        _ => 0.0,
    }
}

/// Returns the largest error of the results that follows from the errors of the operands.
fn carried(operation: &Operation, inputs: &[&Approximated], result: &Spec) -> f64 {
    let largest = inputs.iter().map(|input| input.error).fold(0.0, f64::max);
    let (Some(&first), true) = (inputs.first(), largest > 0.0) else { return 0.0 };
    match operation {
        Operation::Add | Operation::Sub => inputs.iter().map(|input| input.error).sum(),
        Operation::Mul => inputs.get(1).map_or(0.0, |second| of_product(first, second)),
        Operation::Dot => {
            let terms = first.spec.shape.last().copied().unwrap_or(1) as f64;
            inputs.get(1).map_or(0.0, |second| terms * of_product(first, second))
        }
        Operation::SumOfProducts => {
            let pairs = inputs.as_chunks().0.iter();
            pairs.map(|[a, b]: &[&Approximated; 2]| of_product(a, b)).sum()
        }
        Operation::MulPlain(plain) => largest * magnitudes(plain).into_iter().fold(0.0, f64::max),
        Operation::MulNumber(PlainNumber::Real(c)) => largest * c.abs(),
        Operation::MulNumber(PlainNumber::Integer(c)) => largest * c.unsigned_abs() as f64,
        Operation::MulBigNumber(c) => largest * c.to_f64().abs(),
        Operation::DivNumber(divisor) => largest / divisor.abs(),
        Operation::BroadcastLike { factor } => first.error * factor.abs(),
        Operation::Pow { exponent } => {
            let power = |x: f64| x.powf(f64::from(*exponent));
            power(first.bound() + largest) - power(first.bound())
        }
        Operation::DotPlain(plain) | Operation::ConvolvePlain { kernel: plain, .. } => {
            largest * magnitudes(plain).into_iter().sum::<f64>()
        }
        Operation::MatmulPlain { matrix, columns } => {
            largest * most(sums_of_columns(&magnitudes(matrix), *columns))
        }
        Operation::RmatmulPlain { matrix, rows } => {
            let weights = magnitudes(matrix);
            largest * most(sums_of_rows(&weights, weights.len() / (*rows).max(1)))
        }
        Operation::LinearCombinations { weights, terms, .. } => {
            largest * most(sums_of_rows(&magnitudes(weights), *terms))
        }
        Operation::Sum { .. } => {
            let size: f64 = result.shape.iter().map(|length| *length as f64).product();
            largest * first.size() / size
        }
        Operation::CumSum { axis } => {
            largest * first.spec.shape.get(*axis).copied().unwrap_or(1) as f64
        }
        Operation::Polynomial { coefficients, chebyshev } => {
            let chebyshev = chebyshev.map(|(low, high)| Basis::Chebyshev { low, high });
            let basis = chebyshev.unwrap_or(Basis::Monomial);
            let polynomial = Polynomial::new(basis, coefficients.clone());
            // An operand with an error may lie outside of its interval.
            let (low, high) = first.ends();
            let ends = (low - largest, high + largest);
            polynomial.map_or(f64::INFINITY, |p| rise(|x| p.evaluate(x), ends, largest))
        }
        Operation::Apply(prepared) => largest * prepared.largest_slope(),
        Operation::ApplyNamed { name, .. } => match Function::by_name(name) {
            Ok(Function::Sign) => 0.0,
            Ok(function) => rise(|x| function.value(x), first.ends(), largest),
            Err(_) => f64::INFINITY,
        },
        // A place in a table that has an error may be any place.
        Operation::Entries { .. } => result.interval.map_or(0.0, |(low, high)| high - low),
        _ if jumps(operation) => 0.0,
        _ => largest,
    }
}

/// True for functions that jump, so that no error bound holds near a jump.
pub(super) fn jumps(operation: &Operation) -> bool {
    match operation {
        Operation::OfSign { function, .. } => {
            matches!(function, OfSign::Sign | OfSign::Positive)
        }
        Operation::OfDifference { function, .. } => {
            matches!(function, OfDifference::Greater | OfDifference::Less)
        }
        Operation::InOrder { function, .. } => {
            matches!(function, InOrder::Argsort | InOrder::Rank | InOrder::Argmin | InOrder::Argmax)
        }
        Operation::Apply(prepared) => prepared.jumps(),
        Operation::ApplyNamed { name, .. } => name == Function::Sign.name(),
        Operation::IsNearZero { .. } => true,
        _ => false,
    }
}

/// Returns the absolute values of plain numbers.
fn magnitudes(plain: &Plain) -> Vec<f64> {
    match plain {
        Plain::Integers(values) => values.iter().map(|x| x.unsigned_abs() as f64).collect(),
        Plain::Reals(values) => values.iter().map(|x| x.abs()).collect(),
        Plain::Complex(values) => values.iter().map(|x| x.norm()).collect(),
        Plain::Big(values) => values.iter().map(|x| x.to_f64().abs()).collect(),
    }
}

/// Returns the sums of the rows of a matrix with rows of this length.
fn sums_of_rows(matrix: &[f64], length: usize) -> Vec<f64> {
    matrix.chunks(length.max(1)).map(|row| row.iter().sum()).collect()
}

/// Returns the sums of the columns of a matrix with this number of columns.
fn sums_of_columns(matrix: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns.max(1)];
    matrix.iter().enumerate().for_each(|(i, weight)| sums[i % columns.max(1)] += weight);
    sums
}

fn most(numbers: Vec<f64>) -> f64 {
    numbers.into_iter().fold(0.0, f64::max)
}

/// Returns the largest standard deviation of an element's noise, divided by the stated one.
fn unevenness(operation: &Operation, inputs: &[&Approximated], result: &Spec, stated: f64) -> f64 {
    let of_inputs = inputs.iter().map(|input| input.unevenness).fold(1.0, f64::max);
    let squares = |plain| magnitudes(plain).iter().map(|x| x * x).collect::<Vec<_>>();
    // The variances of the elements, for elements of equal noise.
    let variances = match operation {
        Operation::MatmulPlain { matrix, columns } => sums_of_columns(&squares(matrix), *columns),
        Operation::RmatmulPlain { matrix, rows } => {
            let squares = squares(matrix);
            sums_of_rows(&squares, squares.len() / (*rows).max(1))
        }
        Operation::LinearCombinations { weights, terms, .. } => {
            sums_of_rows(&squares(weights), *terms)
        }
        Operation::ConvolvePlain { kernel, first, length } => {
            let size = inputs.first().map_or(0, |input| input.size() as usize);
            let squares = squares(kernel);
            let within = |i: usize| (i + 1).saturating_sub(size)..(i + 1).min(squares.len());
            let variance = |i: usize| squares.get(within(i)).map_or(0.0, |part| part.iter().sum());
            (*first..first.saturating_add(*length)).map(variance).collect()
        }
        Operation::CumSum { axis } => {
            let length = result.shape.get(*axis).copied().unwrap_or(1);
            (1..=length).map(|count| count as f64).collect()
        }
        Operation::WithPrecisionBits(_) => return 1.0,
        // Elements of different arrays have different noise.
        Operation::Gather { .. } => {
            let largest = inputs.iter().map(|input| input.unevenness * input.stated);
            return (largest.fold(0.0, f64::max) / stated).max(1.0);
        }
        _ => return of_inputs,
    };
    let mean = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    match mean > 0.0 {
        true => of_inputs * (most(variances) / mean).sqrt(),
        false => of_inputs,
    }
}

/// Returns the largest difference of a function's values at places of an interval that are at most
/// `step` apart. It samples the function, so it suits functions that vary little between samples.
fn rise(f: impl Fn(f64) -> f64, (low, high): (f64, f64), step: f64) -> f64 {
    let place = |k: usize| low + (high - low) * k as f64 / PLACES as f64;
    let difference = |x: f64| (f((x + step).min(high)) - f(x)).abs();
    (0..=PLACES).map(place).map(difference).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of the result of an operation on arrays with these shapes, of numbers in [-2, 1],
    /// whose elements have an error of 0.5.
    fn carried_by(operation: &Operation, shapes: &[&[usize]], result: &[usize]) -> f64 {
        let spec = |shape: &[usize]| {
            Spec::new(SpecKind::Numbers, shape.to_vec(), Some((-2.0, 1.0))).unwrap()
        };
        let input = |shape: &&[usize]| Approximated {
            error: 0.5,
            ..Approximated::input(&spec(shape), 0.0)
        };
        let inputs: Vec<Approximated> = shapes.iter().map(input).collect();
        let inputs: Vec<&Approximated> = inputs.iter().collect();
        Approximated::result(operation, &inputs, spec(result), 0.0).error
    }

    #[test]
    fn noise_is_that_of_the_noisiest_element() {
        let spec = |length| Spec::new(SpecKind::Numbers, vec![length], Some((-1.0, 1.0))).unwrap();
        let noisy = |stated| Approximated::input(&spec(2), stated);
        let bound = |operation: Operation, inputs: &[&Approximated], length, stated| {
            let result = Approximated::result(&operation, inputs, spec(length), stated);
            result.error_bound().unwrap() / DEVIATIONS_OF_BOUND
        };
        // The columns add the variances 1 and 49, whose mean is 25.
        let matrix = Plain::Reals(vec![0.0, 7.0, 1.0, 0.0]);
        let product = Operation::MatmulPlain { matrix, columns: 2 };
        assert!((bound(product, &[&noisy(1.0)], 2, 5.0) - 7.0).abs() < 1e-12);
        let kernel = Plain::Reals(vec![3.0, 4.0]);
        let ends = Operation::ConvolvePlain { kernel, first: 0, length: 3 };
        // The variances are 9, 25 and 16.
        let mean = (50f64 / 3.0).sqrt();
        assert!((bound(ends, &[&noisy(1.0)], 3, mean) - 5.0).abs() < 1e-12);
        let joined = Operation::Gather { shape: vec![2], places: vec![Some(0), Some(2)] };
        assert!((bound(joined, &[&noisy(1.0), &noisy(3.0)], 2, 2.0) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn errors_of_linear_maps_are_the_worst_sums() {
        let of = |operation, shapes: &[&[usize]], result: &[usize]| {
            carried_by(&operation, shapes, result)
        };
        let reals = |values: &[f64]| Plain::Reals(values.to_vec());
        assert_eq!(of(Operation::Add, &[&[3], &[3]], &[3]), 1.0);
        assert_eq!(of(Operation::MulPlain(reals(&[1.0, -4.0])), &[&[2]], &[2]), 2.0);
        assert_eq!(of(Operation::MulNumber(PlainNumber::Integer(-3)), &[&[2]], &[2]), 1.5);
        assert_eq!(of(Operation::DotPlain(reals(&[1.0, -4.0])), &[&[2]], &[]), 2.5);
        let matrix = reals(&[1.0, -2.0, 3.0, 4.0]);
        let right = Operation::MatmulPlain { matrix: matrix.clone(), columns: 2 };
        assert_eq!(of(right, &[&[5, 2]], &[5, 2]), 3.0);
        let left = Operation::RmatmulPlain { matrix, rows: 2 };
        assert_eq!(of(left, &[&[2, 5]], &[2, 5]), 3.5);
        assert_eq!(of(Operation::Sum { axis: Some(0) }, &[&[6, 5]], &[5]), 3.0);
        assert_eq!(of(Operation::Sum { axis: None }, &[&[6, 5]], &[]), 15.0);
        assert_eq!(of(Operation::Transpose, &[&[6, 5]], &[5, 6]), 0.5);
    }

    #[test]
    fn errors_of_products_and_functions_grow_with_the_operands() {
        // 2.5 * 2.5 - 2 * 2.
        assert_eq!(carried_by(&Operation::Mul, &[&[3], &[3]], &[3]), 2.25);
        assert_eq!(carried_by(&Operation::Pow { exponent: 2 }, &[&[3]], &[3]), 2.25);
        assert_eq!(carried_by(&Operation::Dot, &[&[4], &[4]], &[]), 9.0);
        let cube =
            Operation::Polynomial { coefficients: vec![0.0, 0.0, 0.0, 1.0], chebyshev: None };
        // The slope of x^3 is largest at -2, and the operand may be -2.5.
        let rise = 2.5f64.powi(3) - 8.0;
        assert!((carried_by(&cube, &[&[3]], &[3]) - rise).abs() < 1e-9);
        let relu = Operation::OfSign { function: OfSign::Relu, how: Default::default() };
        assert_eq!(carried_by(&relu, &[&[3]], &[3]), 0.5);
        let step = Operation::OfSign { function: OfSign::Positive, how: Default::default() };
        assert_eq!(carried_by(&step, &[&[3]], &[3]), 0.0);
        assert!(jumps(&step) && !jumps(&relu));
    }
}
