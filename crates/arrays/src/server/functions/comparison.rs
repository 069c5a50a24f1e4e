//! Signs and functions computed from them: comparisons, maximum and minimum, ReLU, absolute values.

use hippocrene_ckks::{
    Ciphertext, CkksError, Evaluator, NoRefresh, Refresh, Short,
    circuits::comparison::{SignLiteral, SignPlan, SignUse},
};
use hippocrene_pegasus::Extremum;
use hippocrene_rlwe::{Noise, noise::log2};
use serde::{Deserialize, Serialize};

use crate::server::{
    Server, functions::DEVIATIONS_OF_LARGEST_ERROR, moves::broadcast::shape_of_both,
    planner::choose::Candidate,
};
use crate::{EncryptedArray, Error, Interval, Layout, Numbers, SlotContents};

/// The gap, the precision and the handling of ties in a comparison.
///
/// By tables ([`Server::sign`]), the default gap is [`Server::table_gap`] and the default precision
/// is that of the tables.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Comparison, Encryption, Preset, Simulation, Ties};
///
/// let settings = Preset::by_name("n14")?.settings()?.with_precision(16.0)?;
/// let simulation = Simulation::new(settings)?;
/// let x = simulation.encrypt((&[-0.5, 0.0, 0.5][..]).into(), &[3], &Encryption::default())?;
///
/// let how = Comparison { gap: Some(0.25), precision: Some(8.0), at_ties: Ties::One };
/// let positive = simulation.server().positive(&x, how)?;
/// let values = simulation.values(&positive).unwrap();
/// assert!(values.iter().zip([0.0, 1.0, 1.0]).all(|(z, bit)| (z.re - bit).abs() < 0.004));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// The smallest absolute value, or difference of two values, whose sign is certain.
    ///
    /// By polynomials, the default is `2^-8` of the bound. A server without look-up keys widens it
    /// if the values are not precise enough. It then takes the smallest of `2^-7`, `2^-6` and
    /// `2^-5` of the bound for which they are.
    pub gap: Option<f64>,
    /// The precision of the sign in bits: outside of the gap, its error is at most `2^-precision`.
    ///
    /// By polynomials, the default is 10 bits.
    pub precision: Option<f64>,
    /// The result of a comparison of equal values.
    ///
    /// Signs, maxima, minima, ReLU and absolute values do not depend on it.
    pub at_ties: Ties,
}

/// The result of [`Server::greater`], [`Server::less`] and [`Server::positive`] for equal values.
///
/// See [`Comparison`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ties {
    /// 0, as `>` and `<` in numpy.
    ///
    /// The result is 1 for differences of at least the gap, and 0 for differences of at most 0.
    #[default]
    Zero,
    /// 1/2, with the step in the middle of `[-gap, gap]`.
    ///
    /// The default gap is then half as wide.
    Half,
    /// 1, as `>=` and `<=` in numpy.
    ///
    /// The result is 1 for differences of at least 0, and 0 for differences of at most minus the
    /// gap.
    One,
}

impl Ties {
    /// The position of the step on the axis of the difference, in units of half the gap.
    fn place(self) -> f64 {
        match self {
            Ties::Zero => 1.0,
            Ties::Half => 0.0,
            Ties::One => -1.0,
        }
    }

    /// The distance from the step to the nearest values that are told apart, divided by the gap.
    fn share(self) -> f64 {
        if self == Ties::Half { 1.0 } else { 0.5 }
    }

    /// The result for all differences in `interval`, or `None` if it is not the same for all.
    fn constant(self, interval: Interval) -> Option<f64> {
        let (low, high) = (interval.low(), interval.high());
        match self {
            _ if low > 0.0 => Some(1.0),
            _ if high < 0.0 => Some(0.0),
            Ties::Zero if high == 0.0 => Some(0.0),
            Ties::One if low == 0.0 => Some(1.0),
            Ties::Half if low == 0.0 && high == 0.0 => Some(0.5),
            _ => None,
        }
    }
}

/// Returns a number to subtract from values before they are ordered.
///
/// It is the centre of their common interval if that at least halves the bound, else 0. The smaller
/// the bound, the smaller the error of an order.
pub(in crate::server) fn centre(operands: &[&EncryptedArray]) -> f64 {
    let low = operands.iter().map(|a| a.interval().low()).fold(f64::INFINITY, f64::min);
    let high = operands.iter().map(|a| a.interval().high()).fold(f64::NEG_INFINITY, f64::max);
    let (middle, bound) = (low + 0.5 * (high - low), low.abs().max(high.abs()));
    // Stray slots keep the bound that they have.
    let halves = high - low <= bound && operands.iter().all(|a| !a.has_strays());
    if halves { middle } else { 0.0 }
}

/// The default gap by polynomials, as a fraction of the bound.
pub(in crate::server) const DEFAULT_GAP: f64 = 1.0 / 256.0;

/// Factors that widen the default gap, tried in this order, if values are not precise enough.
pub(in crate::server) const WIDER_GAPS: [f64; 3] = [2.0, 4.0, 8.0];

/// Largest errors of values as a share of the gap, beyond the default of a plan. They are tried in
/// this order if values are not precise enough for the gap that was asked for (chosen).
const LARGER_ARGUMENT_ERRORS: [f64; 3] = [1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0];

/// The default precision by polynomials, in bits.
const DEFAULT_PRECISION: f64 = 10.0;

/// Values within this many standard deviations of their error cannot be told from 0.
///
/// It is also the number of deviations in [`Server::table_gap`].
pub(in crate::server) const DEVIATIONS_FROM_ZERO: f64 = 7.0;

/// Whether a circuit may bootstrap ciphertexts on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Refreshed {
    OnTheWay,
    /// By bootstraps of a lower precision.
    Coarsely,
    Never,
}

/// The stages of a sign by polynomials, and whether there are bootstraps between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stages {
    /// Bootstraps restore missing capacity.
    OfAnyLength,
    WithoutBootstraps,
    /// The stages are so short that a bootstrap restores enough capacity for each one.
    Short,
}

impl Stages {
    fn refreshed(self) -> Refreshed {
        match self {
            Stages::OfAnyLength | Stages::Short => Refreshed::OnTheWay,
            Stages::WithoutBootstraps => Refreshed::Never,
        }
    }
}

/// An operation on one ciphertext, by a plan for the sign.
type SignOperation =
    fn(&Evaluator, &Ciphertext, &SignPlan, &dyn Refresh) -> Result<Ciphertext, CkksError>;

/// The largest error of an operation by its polynomials.
type LargestError = fn(&SignPlan) -> f64;

/// An operation on two ciphertexts, by a plan for the sign.
type Two = fn(
    &Evaluator,
    &Ciphertext,
    &Ciphertext,
    &SignPlan,
    &dyn Refresh,
) -> Result<Ciphertext, CkksError>;

impl Server {
    /// Returns the sign of every element: 1 if it is positive, -1 if it is negative.
    ///
    /// The error is at most `e = 2^-precision` for elements whose absolute value is at least the
    /// gap. For smaller elements, the result is some number from `-1 - e` to `1 + e`.
    ///
    /// **By polynomials**, all elements are computed at once. The polynomials are made for the
    /// bound that the array declares ([`EncryptedArray::with_bound`]). A tighter bound costs less
    /// capacity. With bootstrapping keys, missing capacity is restored on the way, and the result
    /// keeps enough capacity for a bootstrap. The conjugation key is needed
    /// ([`KeyRequest::conjugation`](crate::KeyRequest)), which bootstrapping keys include.
    ///
    /// **By tables**, there is one look-up for each element, whatever capacity is left. The gap is
    /// then [`Server::table_gap`], widened by seven standard deviations of the error of the
    /// elements. Tables are used if the server has look-up keys and polynomials fail for one of
    /// these reasons:
    ///
    /// * The elements are not precise enough for the gap.
    /// * A stage needs more capacity than a bootstrap restores.
    /// * There are no bootstrapping keys, and capacity is too low or the conjugation key is
    ///   missing.
    ///
    /// Without look-up keys, the sign is composed of shorter stages with more bootstraps between
    /// them, if a bootstrap restores too little capacity.
    ///
    /// The same choice is made for [`Server::greater`], [`Server::maximum`] and all other functions
    /// of this kind.
    ///
    /// # Errors
    /// [`Error::Argument`] when tables have a wider gap or less precision than requested, when the
    /// array is complex, when the parameters are a simple chain, or when gap or precision are out
    /// of range. The gap must be at least `2^-30` of the bound, and the precision 1 to 40 bits.
    /// [`Error::Capacity`] when too little capacity is left. [`Error::MissingKey`] when a key is
    /// missing.
    pub fn sign(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "sign";
        self.check_compared(&[a], OPERATION)?;
        let interval = a.interval();
        let constant = match (interval.low(), interval.high()) {
            (low, _) if low > 0.0 => Some(1.0),
            (_, high) if high < 0.0 => Some(-1.0),
            (0.0, 0.0) => Some(0.0),
            _ => None,
        };
        if let Some(constant) = constant {
            return self.constant(a, constant).map_err(|e| e.during(OPERATION));
        }
        self.check_above_noise(a, 1.0, how, OPERATION)?;
        self.by_either(
            [a],
            how,
            OPERATION,
            |server, [a], how| server.sign_by_tables(a, how, OPERATION),
            |server, [a], how, stages| {
                server.of_one(
                    a,
                    how,
                    OPERATION,
                    (Evaluator::sign, SignPlan::polynomial_error),
                    stages,
                )
            },
        )
    }

    /// Returns 1 for positive elements and 0 for negative ones.
    ///
    /// This is [`Server::greater`] with 0 as the second operand.
    ///
    /// # Errors
    /// As [`Server::sign`].
    pub fn positive(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "positive";
        self.check_compared(&[a], OPERATION)?;
        self.step(a, how, OPERATION)
    }

    /// Returns 1 where `a` exceeds `b` by at least the gap, and 0 where it is equal or less.
    ///
    /// The error is at most half of that of [`Server::sign`]. Where `a` exceeds `b` by less than
    /// the gap, the result is some number from 0 to 1. With [`Ties::One`], equal elements give 1
    /// and the gap lies below 0. The result is then 0 where `b` exceeds `a` by at least the gap.
    ///
    /// The default gap is about `2^-7` of the bound of the difference by polynomials, and twice
    /// [`Server::table_gap`] by tables. Shapes broadcast as in numpy. If the intervals of the
    /// operands decide the answer, the result is exact and no comparison is computed.
    ///
    /// # Errors
    /// As [`Server::sign`], and [`Error::Shape`] if the shapes do not fit.
    pub fn greater(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "greater";
        self.check_compared(&[a, b], OPERATION)?;
        let difference = self.sub(a, b).map_err(|e| e.during(OPERATION))?;
        self.step(&difference, how, OPERATION)
    }

    /// Returns 1 where `a` is less than `b` by at least the gap, and 0 where it is equal or
    /// greater.
    ///
    /// This is [`Server::greater`] with its operands exchanged.
    ///
    /// # Errors
    /// As [`Server::greater`].
    pub fn less(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "less";
        self.check_compared(&[a, b], OPERATION)?;
        let difference = self.sub(b, a).map_err(|e| e.during(OPERATION))?;
        self.step(&difference, how, OPERATION)
    }

    /// Returns 1 where `d` is positive and 0 where it is negative.
    ///
    /// The step is moved by half of the gap, so that a difference of 0 gives the result that
    /// `how.at_ties` asks for.
    fn step(
        &self,
        d: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let (ties, share) = (how.at_ties, how.at_ties.share());
        if let Some(constant) = ties.constant(d.interval()) {
            return self.constant(d, constant).map_err(|e| e.during(operation));
        }
        self.check_above_noise(d, 1.0 / share, how, operation)?;
        // From here on, the gap is the distance from the step to the nearest values told apart.
        let inner = Comparison { gap: how.gap.map(|gap| gap * share), ..how };
        let inner = self.with_gap(&[d], inner, operation);
        // The default gap is a fraction of the bound of the moved values.
        let by_default =
            if ties == Ties::Half { DEFAULT_GAP } else { DEFAULT_GAP / (1.0 - DEFAULT_GAP) };
        let gap = inner.gap.unwrap_or(by_default * d.bound());
        let shifted = self.plus_constant(d, -ties.place() * gap, operation)?;
        let compared = self.by_either(
            [&shifted],
            inner,
            operation,
            |server, [x], how| {
                let own_gap = how.gap.map_or_else(|| self.moved_table_gap(d, operation), Ok)?;
                if d.interval().bound() <= own_gap / share {
                    return Err(indistinct(d.interval().bound(), own_gap / share, operation));
                }
                let moved = server.plus_constant(x, ties.place() * (gap - own_gap), operation)?;
                server.step_by_tables(&moved, how, operation)
            },
            |server, [x], how, stages| {
                server.of_one(x, how, operation, (Evaluator::step, error_of_step), stages)
            },
        )?;
        Ok(within_ends(compared, (0.0, 1.0), 1.0))
    }

    /// Returns `d + by`, or `d` itself if `by` is 0.
    pub(in crate::server) fn plus_constant(
        &self,
        d: &EncryptedArray,
        by: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        match by == 0.0 {
            true => Ok(d.clone()),
            false => self.add_number(d, by).map_err(|e| e.during(operation)),
        }
    }

    /// Checks the keys and shapes of arrays that are to be compared, and that they are real.
    fn check_compared(
        &self,
        operands: &[&EncryptedArray],
        operation: &'static str,
    ) -> Result<(), Error> {
        match operands {
            [a, b] => self.check_two(a, b, operation)?,
            _ => operands.iter().try_for_each(|a| self.check(a, operation))?,
        }
        if operands.iter().any(|a| a.is_complex()) {
            return Err(Error::argument(operation, "complex numbers have no order"));
        }
        Ok(())
    }

    /// Returns an error if all values are too small to be told from 0 because of their own errors.
    ///
    /// This applies to every way of comparing. `sides` is the gap divided by the distance from the
    /// step to the nearest values told apart.
    fn check_above_noise(
        &self,
        a: &EncryptedArray,
        sides: f64,
        how: Comparison,
        operation: &'static str,
    ) -> Result<(), Error> {
        let bound = a.interval().bound();
        if let Some(gap) = how.gap.filter(|gap| *gap >= bound) {
            let what = format!(
                "the gap is {}, and no value exceeds {}, so no value can be told from 0. Request a \
                 smaller gap.",
                Short(gap),
                Short(bound)
            );
            return Err(Error::argument(operation, what));
        }
        let gap = sides * DEVIATIONS_FROM_ZERO * self.noise_of(&[a]).log2_std().exp2();
        match how.gap.is_none() && a.interval().bound() <= gap {
            true => Err(indistinct(a.interval().bound(), gap, operation)),
            false => Ok(()),
        }
    }

    /// Returns an array in the shape of `a` that holds exactly `c` in every element.
    pub(in crate::server) fn constant(
        &self,
        a: &EncryptedArray,
        c: f64,
    ) -> Result<EncryptedArray, Error> {
        let zeros = self.mul_number(a, 0.0)?;
        let constant = if c == 0.0 { zeros } else { self.add_number(&zeros, c)? };
        Ok(constant.with_known_interval(Interval::point(c)))
    }

    /// Returns `one`, the operand whose elements are known to be the result everywhere, because the
    /// intervals of both operands do not overlap.
    ///
    /// The returned array is broadcast to the common shape of `a` and `b`, and has the precision of
    /// a result of both.
    fn one_of(
        &self,
        [a, b]: [&EncryptedArray; 2],
        one: &EncryptedArray,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let shape = shape_of_both(a, b, operation)?;
        let one = self.broadcast_to(one, &shape).map_err(|e| e.during(operation))?;
        let form = Numbers { interval: one.form().interval, ..self.form_of(&[a, b]) };
        Ok(one.with_form(form))
    }

    /// Returns the larger of `a` and `b`, element by element.
    ///
    /// Shapes broadcast as in numpy. [`EncryptedArray::precision_bits`] of the result includes all
    /// of the following errors.
    ///
    /// **By polynomials**, the error has two parts. The first comes from the approximated sign. Let
    /// `d` be the difference of two elements, `B` the bound of all differences and `e` the error of
    /// the sign. This part is at most `e (|d| + B/2) / 2` if `|d|` is at least the gap, and at most
    /// `(1 + e/2) |d| + e B/4` if `|d|` is less. The second part is the rounding of the product of
    /// difference and sign. It depends on the precision of `a` and `b`, and exceeds the first part
    /// if `e B` is small.
    ///
    /// **By tables** ([`Server::sign`]), `(a + b + |a - b|)/2` is computed for each pair of
    /// elements. No gap is needed then.
    ///
    /// # Errors
    /// As [`Server::greater`].
    pub fn maximum(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "maximum";
        self.check_compared(&[a, b], OPERATION)?;
        let (left, right) = (a.interval(), b.interval());
        if left.low() >= right.high() || right.low() >= left.high() {
            let larger = if left.low() >= right.high() { a } else { b };
            return self.one_of([a, b], larger, OPERATION);
        }
        let middle = centre(&[a, b]);
        let centred = |array| self.plus_constant(array, -middle, OPERATION);
        let (x, y) = (&centred(a)?, &centred(b)?);
        let tables = |server: &Server, [x, y]: [&EncryptedArray; 2], how| {
            server.order_by_tables(x, Some(y), Extremum::Larger, how, OPERATION)
        };
        let polynomials = |server: &Server, [x, y]: [&EncryptedArray; 2], how, stages| {
            server.of_two(x, y, how, OPERATION, Evaluator::maximum, stages)
        };
        let how = self.refined(how, x.bound() + y.bound());
        let result = self.by_either([x, y], how, OPERATION, tables, polynomials)?;
        let result = self.plus_constant(&result, middle, OPERATION)?;
        let ends = (left.low().max(right.low()), left.high().max(right.high()));
        Ok(within_ends(result, ends, a.bound().max(b.bound())))
    }

    /// Returns the smaller of `a` and `b`, element by element, with the error of
    /// [`Server::maximum`].
    ///
    /// # Errors
    /// As [`Server::greater`].
    pub fn minimum(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "minimum";
        self.check_compared(&[a, b], OPERATION)?;
        let (left, right) = (a.interval(), b.interval());
        if left.low() >= right.high() || right.low() >= left.high() {
            let smaller = if left.low() >= right.high() { b } else { a };
            return self.one_of([a, b], smaller, OPERATION);
        }
        let middle = centre(&[a, b]);
        let centred = |array| self.plus_constant(array, -middle, OPERATION);
        let (x, y) = (&centred(a)?, &centred(b)?);
        let tables = |server: &Server, [x, y]: [&EncryptedArray; 2], how| {
            server.order_by_tables(x, Some(y), Extremum::Smaller, how, OPERATION)
        };
        let polynomials = |server: &Server, [x, y]: [&EncryptedArray; 2], how, stages| {
            server.of_two(x, y, how, OPERATION, Evaluator::minimum, stages)
        };
        let how = self.refined(how, x.bound() + y.bound());
        let result = self.by_either([x, y], how, OPERATION, tables, polynomials)?;
        let result = self.plus_constant(&result, middle, OPERATION)?;
        let ends = (left.low().min(right.low()), left.high().min(right.high()));
        Ok(within_ends(result, ends, a.bound().max(b.bound())))
    }

    /// Returns `max(a, 0)`, element by element, with the error of [`Server::maximum`].
    ///
    /// # Errors
    /// As [`Server::sign`].
    pub fn relu(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "relu";
        self.check_compared(&[a], OPERATION)?;
        let interval = a.interval();
        if interval.low() >= 0.0 {
            return Ok(a.clone());
        }
        if interval.high() <= 0.0 {
            return self.constant(a, 0.0).map_err(|e| e.during(OPERATION));
        }
        let how = self.refined(how, a.bound());
        let result = self.by_either(
            [a],
            how,
            OPERATION,
            |server, [a], how| server.order_by_tables(a, None, Extremum::Larger, how, OPERATION),
            |server, [a], how, stages| {
                server.of_one(a, how, OPERATION, (Evaluator::relu, error_of_maximum), stages)
            },
        )?;
        Ok(within_ends(result, (0.0, interval.high()), a.bound()))
    }

    /// Returns `|a|`, element by element, with twice the error of [`Server::relu`].
    ///
    /// # Errors
    /// As [`Server::sign`].
    pub fn abs(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "absolute value";
        self.check(a, OPERATION)?;
        if self.form_of(&[a]).complex {
            let what = "the array is complex, and real numbers are needed. Use the squares of \
                        absolute values, which are the real parts of x * conjugate(x).";
            return Err(Error::argument(OPERATION, what));
        }
        let interval = a.interval();
        if interval.low() >= 0.0 {
            return Ok(a.clone());
        }
        if interval.high() <= 0.0 {
            return self.negate(a).map_err(|e| e.during(OPERATION));
        }
        let how = self.refined(how, a.bound());
        let result = self.by_either(
            [a],
            how,
            OPERATION,
            |server, [a], how| server.magnitude_by_tables(a, how, OPERATION),
            |server, [a], how, stages| {
                server.of_one(a, how, OPERATION, (Evaluator::abs, SignPlan::product_error), stages)
            },
        )?;
        Ok(within_ends(result, (0.0, interval.bound()), a.bound()))
    }

    fn of_one(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
        (f, error): (SignOperation, LargestError),
        stages: Stages,
    ) -> Result<EncryptedArray, Error> {
        let form = self.form_of(&[a]);
        let plan = self.plan_for_values(&[a], how, stages, operation);
        let plan = plan.map_err(|e| e.with_at_most(a.capacity_bits(&self.session)))?;
        let refresh = self.refresh_if(stages.refreshed(), &form, &[a.layout()])?;
        self.map_as_it_is(a, operation, a.layout().is_full(), |_, x| {
            Ok(with_largest_error(f(&self.evaluator, x, &plan, &*refresh)?, error(&plan)))
        })
    }

    fn of_two(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
        f: Two,
        stages: Stages,
    ) -> Result<EncryptedArray, Error> {
        let form = self.form_of(&[a, b]);
        let plan = self.plan_for_values(&[a, b], how, stages, operation);
        let least = a.capacity_bits(&self.session).min(b.capacity_bits(&self.session));
        let plan = plan.map_err(|e| e.with_at_most(least))?;
        let refresh = self.refresh_if(stages.refreshed(), &form, &[a.layout(), b.layout()])?;
        let is_full = a.layout().is_full() && b.layout().is_full();
        let slots = |a: SlotContents, b| match a.of_sum(b).after(false) {
            SlotContents::Stray => SlotContents::zero_if(is_full),
            known => known,
        };
        let (a, b) = self.broadcast(a, b, operation)?;
        self.zip_as_they_are(&a, &b, operation, slots, |_, x, y| {
            let out = f(&self.evaluator, x, y, &plan, &*refresh)?;
            Ok(with_largest_error(out, error_of_maximum(&plan)))
        })
    }

    /// Returns the result by tables if `is_by_tables` says so, and by polynomials otherwise.
    ///
    /// With bootstrapping keys, polynomials may be impossible. A bootstrap may restore less
    /// capacity than a stage needs, or return values that are not precise enough for the gap.
    /// Tables are then used after all, if their gap is narrow enough. Otherwise polynomials do
    /// without bootstraps. That needs enough capacity in the operands, and leaves none reserved for
    /// a later bootstrap, as the result may be the last one. If that fails, or if the result needs
    /// capacity, the polynomials have shorter stages with more bootstraps between them.
    fn by_either<const COUNT: usize>(
        &self,
        operands: [&EncryptedArray; COUNT],
        how: Comparison,
        operation: &'static str,
        tables: impl Fn(&Server, [&EncryptedArray; COUNT], Comparison) -> Result<EncryptedArray, Error>,
        polynomials: impl Fn(
            &Server,
            [&EncryptedArray; COUNT],
            Comparison,
            Stages,
        ) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        operands.iter().try_for_each(|a| a.check_error_known(operation))?;
        let how = self.with_gap(&operands, how, operation);
        if self.is_by_tables(&operands, how, operation)? {
            return tables(self, operands, how);
        }
        let run = |stages: Stages| {
            let polynomials = &polynomials;
            move |server: &Server, operands: [&EncryptedArray; COUNT]| {
                polynomials(server, operands, how, stages)
            }
        };
        let mut candidates = vec![Candidate::new("polynomials", run(Stages::OfAnyLength))];
        let can_use_tables = self.check_tables(&operands, how, operation).is_ok();
        if self.bootstraps.is_some() && !can_use_tables {
            let at_once = run(Stages::WithoutBootstraps);
            candidates.push(Candidate::new("polynomials without bootstraps", at_once).otherwise(1));
            let short = Candidate::new("polynomials in short stages", run(Stages::Short));
            // A result whose use is not known may be the last one. It needs no capacity then.
            candidates.push(match self.policy.capacity {
                Some(_) => short.otherwise(2),
                None => short.only_if_no_other(),
            });
        }
        let result = self.perform(operation, operands, f64::INFINITY, &candidates);
        let failed = matches!(&result, Err(Error::Capacity { .. } | Error::Argument { .. }));
        match failed && self.bootstraps.is_some() && can_use_tables {
            // The dry run has found that polynomials are impossible, and nothing has been computed.
            true => tables(self, operands, how).or(result),
            false => result,
        }
    }

    /// Returns `how` with the smaller default gap of more precise functions, for products with a
    /// sign. Their largest error is a share of the gap.
    fn refined(&self, how: Comparison, bound: f64) -> Comparison {
        let extra = self.policy.extra_function_bits;
        let gap = (extra > 0.0).then(|| DEFAULT_GAP * bound * (-extra).exp2());
        Comparison { gap: how.gap.or(gap), ..how }
    }

    /// Returns `how` with a wider gap, if `how.gap` is `None` and the default is too narrow.
    ///
    /// The default is too narrow if the values are not precise enough for it. With look-up keys,
    /// `how` is returned unchanged.
    fn with_gap(
        &self,
        operands: &[&EncryptedArray],
        how: Comparison,
        operation: &'static str,
    ) -> Comparison {
        let (form, bound) = (self.form_of(operands), operands.iter().map(|a| a.bound()).sum());
        let precision = -self.noise_of(operands).log2_std();
        let is_too_narrow = |how: &Comparison| {
            let plan = self.plan(&form, bound, *how, operation);
            plan.is_ok_and(|plan| precision < plan.argument_precision())
        };
        if how.gap.is_some() || self.pegasus.is_some() || !is_too_narrow(&how) {
            return how;
        }
        let wider =
            WIDER_GAPS.map(|times| Comparison { gap: Some(times * DEFAULT_GAP * bound), ..how });
        wider.into_iter().find(|how| !is_too_narrow(how)).unwrap_or(how)
    }

    pub(in crate::server) fn refresh_if<'s>(
        &'s self,
        refreshed: Refreshed,
        form: &Numbers,
        layouts: &[&Layout],
    ) -> Result<Box<dyn Refresh + 's>, Error> {
        match refreshed {
            Refreshed::OnTheWay => self.refresh_of(form, layouts),
            Refreshed::Coarsely => self.coarse_refresh_of(form, layouts),
            Refreshed::Never => Ok(Box::new(NoRefresh(self.session.context()))),
        }
    }

    /// Returns true if the result is to be computed by tables.
    ///
    /// The server must have look-up keys, and one of these must hold:
    ///
    /// * Polynomials need keys that are missing, and there are no bootstrapping keys.
    /// * Polynomials need more capacity than there is, and there are no bootstrapping keys.
    /// * Polynomials need more precise values, and tables offer the requested gap and precision.
    fn is_by_tables(
        &self,
        operands: &[&EncryptedArray],
        how: Comparison,
        operation: &'static str,
    ) -> Result<bool, Error> {
        if self.pegasus.is_none() {
            return Ok(false);
        }
        let bound = operands.iter().map(|a| a.bound()).sum();
        let capacity =
            operands.iter().map(|a| a.capacity_bits(&self.session)).fold(f64::INFINITY, f64::min);
        let refreshed = self.bootstraps.is_some();
        Ok(match self.plan(&self.form_of(operands), bound, how, operation) {
            Ok(plan) if !refreshed && plan.bits() > capacity => true,
            Ok(plan) => {
                let precision = -self.noise_of(operands).log2_std();
                precision < plan.argument_precision()
                    && self.check_tables(operands, how, operation).is_ok()
            }
            Err(error) => {
                !refreshed && matches!(error, Error::MissingKey { .. } | Error::Capacity { .. })
            }
        })
    }

    /// The error of the sum or the difference of the operands' elements.
    pub(in crate::server) fn noise_of(&self, operands: &[&EncryptedArray]) -> Noise {
        let noise = |a: &&EncryptedArray| Noise::from_log2_std(-a.precision_bits(&self.session));
        operands.iter().map(noise).fold(Noise::NONE, Noise::plus)
    }

    fn plan(
        &self,
        form: &Numbers,
        bound: f64,
        how: Comparison,
        operation: &'static str,
    ) -> Result<SignPlan, Error> {
        self.plan_for(form, bound, how, SignUse::default(), operation)
    }

    /// Returns the plan of a comparison of these arrays, with the errors that they have.
    fn plan_for_values(
        &self,
        operands: &[&EncryptedArray],
        how: Comparison,
        stages: Stages,
        operation: &'static str,
    ) -> Result<SignPlan, Error> {
        let (form, bound) = (self.form_of(operands), operands.iter().map(|a| a.bound()).sum());
        let have = -self.noise_of(operands).log2_std();
        let limits = match (stages, self.refresh_limits()) {
            (Stages::Short, Some(limits)) => Some(self.stage_limits(operands, limits, 0.0)),
            _ => None,
        };
        let used = SignUse { limits, ..SignUse::default() };
        let mut plan = self.plan_for(&form, bound, how, used, operation)?;
        for share in LARGER_ARGUMENT_ERRORS {
            if plan.argument_precision() <= have {
                break;
            }
            let used = SignUse { argument_error: Some(share), ..used };
            plan = self.plan_for(&form, bound, how, used, operation)?;
        }
        Ok(plan)
    }

    /// Returns the plan of a comparison for this use of its result.
    pub(in crate::server) fn plan_for(
        &self,
        form: &Numbers,
        bound: f64,
        how: Comparison,
        used: SignUse,
        operation: &'static str,
    ) -> Result<SignPlan, Error> {
        let context = self.session.context();
        if form.complex {
            return Err(Error::argument(operation, "complex numbers have no order"));
        }
        if context.parameters().top().sprout().is_one() {
            let what = "on a simple chain scales cannot be chosen; take parameters with a sprout";
            return Err(Error::argument(operation, what));
        }
        let default_precision = DEFAULT_PRECISION + self.policy.extra_function_bits;
        let (gap, precision) =
            (how.gap.unwrap_or(DEFAULT_GAP * bound), how.precision.unwrap_or(default_precision));
        let literal = SignLiteral { slots: self.session.slots(), bound, gap, precision };
        let plan = SignPlan::new_for(context, literal, used).map_err(Error::from);
        let plan = plan.map_err(|e| self.advised::<Numbers>(e.during(operation), &[]))?;
        if plan.conjugates() {
            self.check_conjugation(operation)?;
        }
        Ok(plan)
    }
}

/// The largest error of a step by its polynomials, outside of the gap.
fn error_of_step(plan: &SignPlan) -> f64 {
    0.5 * plan.polynomial_error()
}

/// The largest error of a ReLU, a maximum or a minimum by its polynomials.
fn error_of_maximum(plan: &SignPlan) -> f64 {
    0.5 * plan.product_error()
}

/// Adds an error of at most `largest` to the stated error. It may be the same in all slots, since
/// polynomials err in one direction. A slot that holds zero stays as it is.
pub(in crate::server) fn with_largest_error(c: Ciphertext, largest: f64) -> Ciphertext {
    let std = log2(largest / DEVIATIONS_OF_LARGEST_ERROR) - 0.5 * (c.slots() as f64).log2();
    let error = Noise::from_log2_std(std + c.scale().log2());
    let noise = c.inner().noise().plus(error.with_common(error).without_zeros());
    c.with_noise(noise)
}

/// Returns the array with the interval `[low, high]`, widened by the error of a polynomial.
///
/// That error is the excess of the array's bound over `bound`.
fn within_ends(a: EncryptedArray, (low, high): (f64, f64), bound: f64) -> EncryptedArray {
    let beyond = (a.bound() - bound).max(0.0);
    let interval = Interval::new(low - beyond, high + beyond);
    a.with_known_interval(interval.unwrap_or(Interval::EVERYTHING))
}

/// The error for values up to `bound` that are all smaller than `gap`.
pub(in crate::server) fn indistinct(bound: f64, gap: f64, operation: &'static str) -> Error {
    let what = format!(
        "no value exceeds {:.1e}, but only those from a gap of {:.1e} on can be told from 0. Scale \
         the values up before they are encrypted, encrypt them with more precision, or declare a \
         tighter interval (Server::declare_interval).",
        bound, gap
    );
    Error::argument(operation, what)
}
