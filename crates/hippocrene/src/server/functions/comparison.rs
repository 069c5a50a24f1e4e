//! Signs and what follows from them: comparisons, the larger and the smaller of two, absolute
//! values.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use hippocrene_ckks::{
    Ciphertext, CkksError, Evaluator, NoRefresh, Refresh,
    circuits::comparison::{SignLiteral, SignPlan},
};
use hippocrene_pegasus::Which;
use hippocrene_rlwe::Noise;

use crate::server::{Server, moves::broadcast::shape_of_both};
use crate::{EncryptedArray, Error, Interval, Layout, Numbers, SlotContents};

/// How closely numbers are compared. By tables ([`Server::sign`]) nothing need be said: the gap is
/// that of the tables ([`Server::table_gap`]), and the precision what they have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Comparison {
    /// The least absolute value, or difference of two, whose sign comes out; where nothing is said,
    /// by polynomials `2^-8` of the bound, and of values that are not precise enough for that the
    /// least of `2^-7`, `2^-6` and `2^-5` of it that they are precise enough for.
    pub gap: Option<f64>,
    /// Where the gap is kept, the sign is within `2^-precision`; where nothing is said, it is 10
    /// bits.
    pub precision: Option<f64>,
    /// What a comparison gives for equal values. It makes no difference to signs, maxima and the
    /// like.
    pub at_ties: Ties,
}

/// What [`Server::greater`], [`Server::less`] and [`Server::positive`] give for equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ties {
    /// 0, as `>` and `<` of numpy: 1 from the gap on, and 0 where the other is as large or larger.
    #[default]
    Zero,
    /// 1/2: the step is in the middle of `[-gap, gap]`. The default gap is half as wide then.
    Half,
    /// 1, as `>=` and `<=` of numpy: 0 from the gap on, and 1 where the other is as large or
    /// smaller.
    One,
}

impl Ties {
    /// Where the step is on the axis of the difference, in units of half of the gap.
    fn place(self) -> f64 {
        match self {
            Ties::Zero => 1.0,
            Ties::Half => 0.0,
            Ties::One => -1.0,
        }
    }

    /// The distance of the step from values that are told apart, over the gap.
    fn share(self) -> f64 {
        if self == Ties::Half { 1.0 } else { 0.5 }
    }

    /// The result for differences that lie in `interval`, if all have the same one.
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

/// The default gap, as a share of the bound.
const DEFAULT_GAP: f64 = 1.0 / 256.0;

/// Factors by which the default gap is widened if values are not precise enough for it.
const WIDER_GAPS: [f64; 3] = [2.0, 4.0, 8.0];

/// The default precision, in bits.
const DEFAULT_PRECISION: f64 = 10.0;

/// Values within this many standard deviations of their error cannot be told from 0.
pub(in crate::server) const DEVIATIONS_FROM_ZERO: f64 = 7.0;

/// Maximum number of cached plans.
const MAX_PLANS: usize = 16;

/// The plans that were made last: the search for one takes about a second.
#[derive(Debug, Default)]
pub(in crate::server) struct Plans(Mutex<VecDeque<Arc<SignPlan>>>);

/// An operation on one ciphertext.
type One = fn(&Evaluator, &Ciphertext, &SignPlan, &dyn Refresh) -> Result<Ciphertext, CkksError>;

/// An operation on two ciphertexts.
type Two = fn(
    &Evaluator,
    &Ciphertext,
    &Ciphertext,
    &SignPlan,
    &dyn Refresh,
) -> Result<Ciphertext, CkksError>;

impl Server {
    /// The sign of every element, to within `e = 2^-precision` where the absolute value is at least
    /// the gap, and some number from `-1 - e` to `1 + e` where it is less. What the array declares
    /// as its bound ([`EncryptedArray::with_bound`]) is the interval: the tighter it is, the less
    /// capacity is taken. Where there are bootstrapping keys, capacity that lacks is given back on
    /// the way, and results keep what a bootstrap needs. The key of the conjugation is needed
    /// ([`KeyRequest::conjugation`](crate::KeyRequest)), which bootstrapping keys have in any case.
    ///
    /// All of this is by polynomials. **By tables** the sign is had where there are keys of
    /// look-ups and polynomials are not possible, for the elements are not precise enough for the
    /// gap or a stage takes more capacity than a bootstrap gives back, or where there are no
    /// bootstrapping keys and the array has too little capacity or the key of the conjugation is
    /// missing: a look-up for each element, whatever is left of the capacity, where polynomials are
    /// one computation for all. The gap is then [`Server::table_gap`], with seven deviations of
    /// what the elements are off by. The same holds for [`Server::greater`], [`Server::maximum`]
    /// and all others here.
    ///
    /// # Errors
    /// [`Error::Argument`] when tables have a wider gap or less precision than is asked for; when
    /// the array is complex, the parameters are a simple chain, or gap and precision are not
    /// possible: the gap is `2^-30` of the bound or more, and the precision 1 to 40 bits;
    /// [`Error::Capacity`] when too little is left; [`Error::MissingKey`] when a key is missing.
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
            |how| self.sign_by_tables(a, how, OPERATION),
            |how, refreshed| self.of_one(a, how, OPERATION, Evaluator::sign, refreshed),
        )
    }

    /// 1 where an element is positive and 0 where it is negative: [`Server::greater`] with 0.
    ///
    /// # Errors
    /// As [`Server::sign`].
    pub fn positive(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "positive";
        self.check_compared(&[a], OPERATION)?;
        self.step(a, how, OPERATION)
    }

    /// 1 where `a` exceeds `b` by the gap or more, and 0 where it is equal or less, to within half
    /// of the error of [`Server::sign`]. Where `a` exceeds `b` by less than the gap, the result is
    /// some number from 0 to 1. Equal elements give 1 with [`Ties::One`]; then the gap lies below
    /// 0: the result is 0 where `b` exceeds `a` by the gap or more.
    ///
    /// The default gap is about `2^-7` of the bound of the difference by polynomials, and twice
    /// [`Server::table_gap`] by tables. Shapes broadcast as numpy's do. Where the intervals of the
    /// operands say the answer, it is exact and nothing is computed.
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

    /// 1 where `a` is less than `b` by the gap or more, and 0 where it is equal or greater: as
    /// [`Server::greater`].
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

    /// 1 where `d` is positive and 0 where it is negative. The step is moved by half of the gap, so
    /// that equal elements of a difference are told as `how` says.
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
        // From here on, the gap is the distance of told values from the step.
        let inner = Comparison { gap: how.gap.map(|gap| gap * share), ..how };
        let inner = self.with_gap(&[d], inner, operation);
        // The default gap is a part of the bound of the moved values.
        let by_default =
            if ties == Ties::Half { DEFAULT_GAP } else { DEFAULT_GAP / (1.0 - DEFAULT_GAP) };
        let gap = inner.gap.unwrap_or(by_default * d.bound());
        let shifted = self.plus_constant(d, -ties.place() * gap, operation)?;
        let compared = self.by_either(
            [&shifted],
            inner,
            operation,
            |how| {
                let gap = how.gap.map_or_else(|| self.moved_table_gap(d, operation), Ok)?;
                if d.interval().bound() <= gap / share {
                    return Err(indistinct(d.interval().bound(), gap / share, operation));
                }
                self.step_by_tables(
                    &self.plus_constant(d, -ties.place() * gap, operation)?,
                    how,
                    operation,
                )
            },
            |how, refreshed| self.of_one(&shifted, how, operation, Evaluator::step, refreshed),
        )?;
        Ok(within_ends(compared, (0.0, 1.0), 1.0))
    }

    fn plus_constant(
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

    /// Checks arrays of real numbers that are to be compared.
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

    /// Refuses values that are all smaller than what their own errors hide, whatever compares them.
    /// `sides` is the gap over the distance of told values from the step.
    fn check_above_noise(
        &self,
        a: &EncryptedArray,
        sides: f64,
        how: Comparison,
        operation: &'static str,
    ) -> Result<(), Error> {
        let gap = sides * DEVIATIONS_FROM_ZERO * self.noise_of(&[a]).log2_std().exp2();
        match how.gap.is_none() && a.interval().bound() <= gap {
            true => Err(indistinct(a.interval().bound(), gap, operation)),
            false => Ok(()),
        }
    }

    /// The array of this shape that holds `c` everywhere, exactly.
    pub(in crate::server) fn constant(
        &self,
        a: &EncryptedArray,
        c: f64,
    ) -> Result<EncryptedArray, Error> {
        let zeros = self.mul_number(a, 0.0)?;
        match c == 0.0 {
            true => Ok(zeros),
            false => self.add_number(&zeros, c),
        }
    }

    /// `one` of two operands, which holds the result everywhere, in their common shape and as
    /// precise as both ask for.
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

    /// The larger of `a` and `b`, element by element: with `d` their difference, `e` what the sign
    /// is off by and `B` the bound of `d`, to within `e (|d| + B/2) / 2` where `|d|` is the gap at
    /// least, and `(1 + e/2) |d| + e B/4` where it is less. The rounding of the product comes on
    /// top, which goes by the precision of `a` and `b`: where `e B` is small beside that, it is the
    /// larger part ([`EncryptedArray::precision_bits`] of the result has it). Shapes broadcast as
    /// numpy's do.
    ///
    /// By tables ([`Server::sign`]) it is had from `a + b + |a - b|`, as single numbers: no gap is
    /// to be said, and [`EncryptedArray::precision_bits`] of the result says what it is off by.
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
        let tables = |how| self.order_by_tables(a, Some(b), Which::Larger, how, OPERATION);
        let result = self.by_either([a, b], how, OPERATION, tables, |how, refreshed| {
            self.of_two(a, b, how, OPERATION, Evaluator::maximum, refreshed)
        })?;
        let ends = (left.low().max(right.low()), left.high().max(right.high()));
        Ok(within_ends(result, ends, a.bound().max(b.bound())))
    }

    /// The smaller of `a` and `b`, element by element: as [`Server::maximum`].
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
        let tables = |how| self.order_by_tables(a, Some(b), Which::Smaller, how, OPERATION);
        let result = self.by_either([a, b], how, OPERATION, tables, |how, refreshed| {
            self.of_two(a, b, how, OPERATION, Evaluator::minimum, refreshed)
        })?;
        let ends = (left.low().min(right.low()), left.high().min(right.high()));
        Ok(within_ends(result, ends, a.bound().max(b.bound())))
    }

    /// `max(a, 0)`, element by element: as precise as [`Server::maximum`].
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
        let tables = |how| self.order_by_tables(a, None, Which::Larger, how, OPERATION);
        let result = self.by_either([a], how, OPERATION, tables, |how, refreshed| {
            self.of_one(a, how, OPERATION, Evaluator::relu, refreshed)
        })?;
        Ok(within_ends(result, (0.0, interval.high()), a.bound()))
    }

    /// `|a|`, element by element: off by twice as much as [`Server::relu`].
    ///
    /// # Errors
    /// As [`Server::sign`].
    pub fn abs(&self, a: &EncryptedArray, how: Comparison) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "absolute value";
        self.check(a, OPERATION)?;
        if self.form_of(&[a]).complex {
            let what = "those of complex numbers are square roots: their squares are the real parts of products with \
                        conjugates (in Python, (x * x.conj()).real)";
            return Err(Error::argument(OPERATION, what));
        }
        let interval = a.interval();
        if interval.low() >= 0.0 {
            return Ok(a.clone());
        }
        if interval.high() <= 0.0 {
            return self.negate(a).map_err(|e| e.during(OPERATION));
        }
        let result = self.by_either(
            [a],
            how,
            OPERATION,
            |how| self.magnitude_by_tables(a, how, OPERATION),
            |how, refreshed| self.of_one(a, how, OPERATION, Evaluator::abs, refreshed),
        )?;
        Ok(within_ends(result, (0.0, interval.bound()), a.bound()))
    }

    fn of_one(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
        f: One,
        refreshed: bool,
    ) -> Result<EncryptedArray, Error> {
        let form = self.form_of(&[a]);
        let plan = self.plan(&form, a.bound(), how, operation);
        let plan = plan.map_err(|e| e.with_at_most(a.capacity_bits(&self.session)))?;
        let bits = if refreshed { 0.0 } else { plan.bits() };
        let refresh = self.refresh_if(refreshed, &form, &[a.layout()]);
        self.map(a, operation, a.layout().is_full(), bits, |_, x| {
            Ok(f(&self.evaluator, x, &plan, &*refresh)?)
        })
    }

    fn of_two(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
        f: Two,
        refreshed: bool,
    ) -> Result<EncryptedArray, Error> {
        let form = self.form_of(&[a, b]);
        let plan = self.plan(&form, a.bound() + b.bound(), how, operation);
        let least = a.capacity_bits(&self.session).min(b.capacity_bits(&self.session));
        let plan = plan.map_err(|e| e.with_at_most(least))?;
        let bits = if refreshed { 0.0 } else { plan.bits() };
        let refresh = self.refresh_if(refreshed, &form, &[a.layout(), b.layout()]);
        let is_full = a.layout().is_full() && b.layout().is_full();
        let slots = |a: SlotContents, b| match a.of_sum(b).after(false) {
            SlotContents::Stray => SlotContents::zero_if(is_full),
            known => known,
        };
        self.zip(a, b, operation, slots, bits, |_, x, y| {
            Ok(f(&self.evaluator, x, y, &plan, &*refresh)?)
        })
    }

    /// The result by tables where these are the road, and else by polynomials. Where those fail on
    /// their way, for bootstraps give back less than a stage takes, or values that are less precise
    /// than the gap wants, it is tables after all, if these tell as narrow a gap; and without them
    /// polynomials without a bootstrap, if the operands have what that takes: the result may be the
    /// last.
    fn by_either<const COUNT: usize>(
        &self,
        operands: [&EncryptedArray; COUNT],
        how: Comparison,
        operation: &'static str,
        tables: impl Fn(Comparison) -> Result<EncryptedArray, Error>,
        polynomials: impl Fn(Comparison, bool) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        operands.iter().try_for_each(|a| a.check_error_known(operation))?;
        let how = self.with_gap(&operands, how, operation);
        if self.is_by_tables(&operands, how, operation)? {
            return tables(how);
        }
        let result = polynomials(how, true);
        let failed = matches!(&result, Err(Error::Capacity { .. } | Error::Argument { .. }));
        if !failed || self.bootstraps.is_none() {
            return result;
        }
        if self.check_tables(&operands, how, operation).is_ok() {
            return tables(how).or(result);
        }
        polynomials(how, false).or(result)
    }

    /// With a wider gap where none is said, the values are not precise enough for the usual one,
    /// and there are no tables.
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

    fn refresh_if<'s>(
        &'s self,
        refreshed: bool,
        form: &Numbers,
        layouts: &[&Layout],
    ) -> Box<dyn Refresh + 's> {
        match refreshed {
            true => self.refresh_of(form, layouts),
            false => Box::new(NoRefresh(self.session.context())),
        }
    }

    /// Whether tables are the road: where they are there, and polynomials would need keys that are
    /// not, more capacity than there is and no bootstrap gives back, or more precise values for a
    /// gap that tables have too.
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

    /// The error of the sum or the difference of the elements.
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
    ) -> Result<Arc<SignPlan>, Error> {
        let context = self.session.context();
        if form.complex {
            return Err(Error::argument(operation, "complex numbers have no order"));
        }
        if context.parameters().top().sprout().is_one() {
            let what = "on a simple chain scales cannot be chosen; take parameters with a sprout";
            return Err(Error::argument(operation, what));
        }
        let (gap, precision) =
            (how.gap.unwrap_or(DEFAULT_GAP * bound), how.precision.unwrap_or(DEFAULT_PRECISION));
        let literal = SignLiteral { slots: self.session.slots(), bound, gap, precision };
        let plan = self.plans.get(&literal, || Ok(SignPlan::new(context, literal)?));
        let plan = plan.map_err(|e| self.advised::<Numbers>(e.during(operation), &[]))?;
        if plan.conjugates() {
            self.check_conjugation(operation)?;
        }
        Ok(plan)
    }
}

impl Plans {
    /// The plan of this literal, from `make` where there is none.
    fn get(
        &self,
        literal: &SignLiteral,
        make: impl FnOnce() -> Result<SignPlan, Error>,
    ) -> Result<Arc<SignPlan>, Error> {
        // Nothing is left half done where a thread panics.
        let plans = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans().iter().find(|plan| plan.literal() == literal) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(make()?);
        let mut plans = plans();
        plans.truncate(MAX_PLANS - 1);
        plans.push_front(Arc::clone(&plan));
        Ok(plan)
    }
}

/// The array, whose elements lie between these ends but for the part by which its bound exceeds
/// `bound`: the error of a polynomial.
fn within_ends(a: EncryptedArray, (low, high): (f64, f64), bound: f64) -> EncryptedArray {
    let beyond = (a.bound() - bound).max(0.0);
    let interval = Interval::new(low - beyond, high + beyond);
    a.within(interval.unwrap_or(Interval::EVERYTHING))
}

/// Why values up to `bound` are not compared with a gap that is no smaller.
pub(in crate::server) fn indistinct(bound: f64, gap: f64, operation: &'static str) -> Error {
    let what = format!(
        "no value exceeds {:.1e}, but only those from a gap of {:.1e} on can be told from 0. Scale the values up before they \
         are encrypted, encrypt them with more precision, or declare a tighter interval (in Python, with_interval).",
        bound, gap
    );
    Error::argument(operation, what)
}
