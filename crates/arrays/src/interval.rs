//! Intervals of values, and interval arithmetic.

use std::ops::{Add, Mul, Neg, Sub};

use hippocrene_ckks::Short;

use crate::Error;

/// The tolerance for values beyond a declared interval, as a fraction of its bound.
///
/// Clipped values exceed their limits by the error of the approximation.
pub(crate) const INTERVAL_TOLERANCE: f64 = 1.0 / 256.0;

/// The interval `[low, high]` of the values that the elements of an array may hold.
///
/// Both ends are finite or infinite, never NaN, and `low <= high`.
///
/// An operation on intervals returns an interval that contains every result of the operation on
/// values of the operands (interval arithmetic). Ends are rounded to the nearest `f64`, so an end
/// may be wrong by one rounding.
///
/// ```
/// use hippocrene::Interval;
///
/// let ages = Interval::new(0.0, 120.0).expect("0 is below 120");
/// let scaled = ages * Interval::point(0.5) - Interval::point(10.0);
/// assert_eq!((scaled.low(), scaled.high()), (-10.0, 50.0));
/// assert_eq!(scaled.bound(), 50.0);
/// assert_eq!(scaled.power(2), Interval::new(0.0, 2500.0).expect("0 is below 2500"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    /// The interval of every number, for values about which nothing is known.
    pub const EVERYTHING: Self = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Makes the interval `[low, high]`, or `None` if an end is NaN or `low > high`.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        // Adding 0.0 removes the sign of a zero, so that it prints as 0.
        (low <= high).then_some(Interval { low: low + 0.0, high: high + 0.0 })
    }

    /// Makes the interval `[low, high]` from finite ends, as users declare it.
    ///
    /// # Errors
    /// [`Error::Argument`] if an end is NaN or infinite, or `low > high`.
    pub fn finite(low: f64, high: f64) -> Result<Self, Error> {
        let finite = low.is_finite() && high.is_finite();
        Self::new(low, high).filter(|_| finite).ok_or_else(|| {
            let what = format!(
                "({}, {}): two finite numbers are needed, the lower one first",
                Short(low),
                Short(high)
            );
            Error::argument("declare an interval", what)
        })
    }

    /// Combines the known interval of an array with a declaration, `other`.
    ///
    /// A declaration that contains the known interval replaces it, which hides it. Any other
    /// declaration is added knowledge: the values lie in both.
    ///
    /// # Errors
    /// [`Error::Argument`] if no value lies in both.
    pub(crate) fn declared(self, other: Self, operation: &'static str) -> Result<Self, Error> {
        if other.covers(self) {
            return Ok(other);
        }
        if other.high < self.low || self.high < other.low {
            let what = format!("values {self} are known, and none of them lies {other}");
            return Err(Error::argument(operation, what));
        }
        Ok(self.intersection(other))
    }

    /// Makes the interval `[-bound, bound]`.
    ///
    /// The sign of `bound` does not matter, and NaN counts as infinity.
    pub fn symmetric(bound: f64) -> Self {
        let bound = if bound.is_nan() { f64::INFINITY } else { bound.abs() };
        Interval { low: 0.0 - bound, high: bound }
    }

    /// Makes the interval that contains one value; NaN gives [`Interval::EVERYTHING`].
    pub fn point(value: f64) -> Self {
        Self::new(value, value).unwrap_or(Self::EVERYTHING)
    }

    /// The least interval that contains all of these values; `None` if there are none or one is
    /// NaN.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values = values.into_iter();
        let first = values.next()?;
        let ends = values.try_fold((first, first), |(low, high), x| {
            (!x.is_nan()).then_some((low.min(x), high.max(x)))
        });
        ends.and_then(|(low, high)| Self::new(low, high))
    }

    /// The smallest value.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The largest value.
    pub fn high(self) -> f64 {
        self.high
    }

    /// The largest absolute value.
    pub fn bound(self) -> f64 {
        self.high.max(-self.low)
    }

    /// The difference of the ends.
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// True if `value` lies in the interval.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// True if every value of `other` lies in this interval.
    pub fn covers(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The least interval that contains both intervals.
    pub fn union(self, other: Self) -> Self {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The interval of the values that lie in both intervals.
    ///
    /// If there are none, it shrinks to the end of `self` that is nearest to `other`. Two
    /// statements about the same values can contradict each other only by rounding.
    pub fn intersection(self, other: Self) -> Self {
        let low = self.low.max(other.low).min(self.high);
        let high = self.high.min(other.high).max(self.low);
        Interval { low: low.min(high), high: high.max(low) }
    }

    /// The interval of the absolute values.
    pub fn abs(self) -> Self {
        let low = if self.contains(0.0) { 0.0 } else { self.low.abs().min(self.high.abs()) };
        Interval { low, high: self.bound() }
    }

    /// The interval of the powers `x^n`.
    pub fn power(self, n: u32) -> Self {
        let raised = |x: f64| x.powi(i32::try_from(n).unwrap_or(i32::MAX));
        match (n, n % 2) {
            (0, _) => Self::point(1.0),
            (_, 0) => {
                let values = self.abs();
                Interval { low: raised(values.low), high: raised(values.high) }
            }
            _ => Interval { low: raised(self.low), high: raised(self.high) },
        }
    }

    /// The interval of sums of `count` values.
    pub fn times_count(self, count: usize) -> Self {
        self * Self::point(count as f64)
    }

    /// The interval of the values of an increasing function, such as `exp` or `max(x, c)`.
    pub fn increasing(self, f: impl Fn(f64) -> f64) -> Self {
        Self::new(f(self.low), f(self.high)).unwrap_or(Self::EVERYTHING)
    }
}

/// The interval of sums of a value from each interval.
impl Add for Interval {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.low + other.low, self.high + other.high).unwrap_or(Self::EVERYTHING)
    }
}

/// The interval of differences of a value from each interval.
impl Sub for Interval {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

/// The interval of the negated values.
impl Neg for Interval {
    type Output = Self;

    fn neg(self) -> Self {
        Interval { low: 0.0 - self.high, high: 0.0 - self.low }
    }
}

/// The interval of products of a value from each interval.
///
/// Zero times an infinite end counts as zero, since values are finite.
impl Mul for Interval {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
        let ends = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        Self::of(ends).unwrap_or(Self::EVERYTHING)
    }
}

/// Prints `from LOW to HIGH`, with a few digits each.
impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "from {} to {}", Short(self.low), Short(self.high))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval() -> impl Strategy<Value = Interval> {
        (-100.0..100.0f64, 0.0..100.0f64)
            .prop_map(|(low, width)| Interval::new(low, low + width).unwrap())
    }

    proptest! {
        /// The result of every operation contains the results of the operation on values.
        #[test]
        fn operations_hold_the_results(
            a in interval(),
            b in interval(),
            s in 0.0..=1.0f64,
            t in 0.0..=1.0f64,
        ) {
            let (x, y) = (a.low() + s * a.width(), b.low() + t * b.width());
            let (x, y) = (x.clamp(a.low(), a.high()), y.clamp(b.low(), b.high()));
            let near = |i: Interval, v: f64| {
                let slack = 1e-12 * i.bound().max(1.0);
                i.low() - slack <= v && v <= i.high() + slack
            };
            prop_assert!(near(a + b, x + y));
            prop_assert!(near(a - b, x - y));
            prop_assert!(near(a * b, x * y));
            prop_assert!(near(-a, -x));
            prop_assert!(near(a.abs(), x.abs()));
            prop_assert!(near(a.union(b), x) && near(a.union(b), y));
            for n in 0..5 {
                prop_assert!(near(a.power(n), x.powi(n as i32)), "{x}^{n} of {a}");
            }
            prop_assert!(!(a.contains(y) && b.contains(y)) || a.intersection(b).contains(y));
        }
    }

    #[test]
    fn ends_are_checked() {
        assert_eq!(Interval::new(1.0, 0.0), None);
        assert_eq!(Interval::new(f64::NAN, 0.0), None);
        assert_eq!(Interval::of([]), None);
        assert_eq!(Interval::of([1.0, f64::NAN]), None);
        assert_eq!(Interval::of([2.0, -1.0]), Interval::new(-1.0, 2.0));
        assert_eq!(Interval::symmetric(0.0).to_string(), "from 0 to 0");
    }

    #[test]
    fn infinite_ends_times_zero_are_zero() {
        assert_eq!(Interval::symmetric(f64::INFINITY) * Interval::point(0.0), Interval::point(0.0));
    }
}
