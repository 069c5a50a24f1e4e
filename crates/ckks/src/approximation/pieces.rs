//! Functions with jumps and kinks, as polynomials between them.

use serde::{Deserialize, Serialize};

use super::{Approximation, Smoothness, best_to};
use crate::{
    CkksError, Short,
    circuits::{Basis, Polynomial},
};

const OPERATION: &str = "approximate a function";

/// Maximum number of jumps and kinks (chosen). Each of them costs a comparison.
pub const MAX_BREAKS: usize = 64;

/// Number of equal steps in which a function is sampled to find its range and its breaks (chosen).
/// Changes between two neighbouring points may be missed.
const STEPS: usize = 1024;

/// The largest degree of a polynomial that is preferred to looking for breaks (chosen). A
/// comparison is about as slow.
const SIMPLE_DEGREE: usize = 63;

/// Number of times that the place of a break is halved to tell jumps, kinks and smooth functions
/// apart.
const HALVINGS: i32 = 16;

/// Smallest relative width of a window around a jump. It is some roundings of a double.
const JUMP_WIDTH: f64 = 1.0 / (1u64 << 48) as f64;

/// A place where a function jumps, or where its slope does.
///
/// See [`Pieces`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The place.
    pub at: f64,
    /// The side whose limit is the value of the function at the place itself.
    pub side: Side,
}

/// A side of a [`Break`]. See [`Pieces`] for an example of breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// The function is continuous from below, as `ceil` is.
    Below,
    /// The function is continuous from above, as `floor` is, or it has a kink without a jump.
    Above,
    /// The value differs from both limits, as that of the sign at 0.
    Neither,
}

/// A function on an interval, as polynomials between its jumps and kinks.
///
/// ```
/// use hippocrene_ckks::approximation::Pieces;
///
/// let floor = Pieces::approximate(f64::floor, (-1.5, 2.5), 1e-3, None)?;
/// let places: Vec<f64> = floor.breaks().iter().map(|found| found.at).collect();
/// assert_eq!(places, [-1.0, 0.0, 1.0, 2.0]);
/// assert!(floor.polynomials().iter().all(|p| p.degree() == 0));
///
/// let tanh = Pieces::approximate(f64::tanh, (-4.0, 4.0), 1e-3, None)?;
/// assert!(tanh.breaks().is_empty() && tanh.error() <= 1e-3);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredPieces")]
pub struct Pieces {
    ends: (f64, f64),
    breaks: Vec<Break>,
    polynomials: Vec<Polynomial>,
    error: f64,
}

/// The stored form of [`Pieces`], which may be invalid.
#[derive(Deserialize)]
struct StoredPieces {
    ends: (f64, f64),
    breaks: Vec<Break>,
    polynomials: Vec<Polynomial>,
    error: f64,
}

impl TryFrom<StoredPieces> for Pieces {
    type Error = CkksError;

    fn try_from(stored: StoredPieces) -> Result<Self, CkksError> {
        let StoredPieces { ends, breaks, polynomials, error } = stored;
        let places = [ends.0].into_iter().chain(breaks.iter().map(|own| own.at)).chain([ends.1]);
        let places: Vec<f64> = places.collect();
        let ascends = places.windows(2).all(|pair| pair[0] < pair[1]);
        let is_finite = places.iter().all(|place| place.is_finite()) && error.is_finite();
        if !ascends || !is_finite || polynomials.len() != breaks.len() + 1 {
            let what = "stored pieces are not polynomials between ascending breaks".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        Ok(Pieces { ends, breaks, polynomials, error })
    }
}

impl Pieces {
    /// Approximates `f` on `[low, high]` with an error of at most `error`, by polynomials up to
    /// degree 255 between its breaks.
    ///
    /// `breaks` are the places of all jumps and kinks. By default they are found from the values of
    /// `f` at 1,025 places. They are only looked for where no polynomial of degree
    /// 63 has the error.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if `f` is not finite somewhere, the interval or a break
    /// is out of range, there are more than [`MAX_BREAKS`] breaks, or no polynomial between two of
    /// them reaches the error.
    pub fn approximate(
        f: impl Fn(f64) -> f64,
        (low, high): (f64, f64),
        error: f64,
        breaks: Option<&[f64]>,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        range_of(&f, (low, high))?;
        if error.is_nan() || error <= 0.0 {
            return fail(format!("an error of {error} is not above 0"));
        }
        let mut pieces =
            Pieces { ends: (low, high), breaks: Vec::new(), polynomials: Vec::new(), error: 0.0 };
        let search = Search { f: &f, error, scale: low.abs().max(high.abs()) };
        let Some(places) = breaks else {
            search.cover(&mut pieces, (low, high))?;
            return search.with_ends(pieces);
        };
        let mut places = places.to_vec();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if let Some(outside) = places.iter().find(|place| !(low < **place && **place < high)) {
            return fail(format!(
                "a break at {} does not lie between the ends {} and {} of the domain",
                Short(*outside),
                Short(low),
                Short(high)
            ));
        }
        if places.len() > MAX_BREAKS {
            return fail(format!("{} breaks; the most are {MAX_BREAKS}", places.len()));
        }
        let add = |pieces: &mut Pieces, ends| {
            search.add_piece(pieces, ends).map_err(|error| match error {
                CkksError::Argument { operation, what } => {
                    let what = format!(
                        "{what} If the function has another jump or kink there, name it too, or \
                         name none to have all of them found."
                    );
                    CkksError::Argument { operation, what }
                }
                other => other,
            })
        };
        let mut from = low;
        for at in places {
            add(&mut pieces, (from, at))?;
            pieces.breaks.push(search.break_at(at));
            from = at;
        }
        add(&mut pieces, (from, high))?;
        Ok(pieces)
    }

    /// The ends of the interval.
    pub fn ends(&self) -> (f64, f64) {
        self.ends
    }

    /// The breaks between the pieces, in ascending order.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// The polynomials of the pieces, from below, one more than there are breaks. Each has the
    /// Chebyshev basis of its piece.
    pub fn polynomials(&self) -> &[Polynomial] {
        &self.polynomials
    }

    /// A bound of the distance from the function.
    pub fn error(&self) -> f64 {
        self.error
    }
}

/// Returns the smallest and the largest value of `f` at 1,025 places of an interval.
///
/// # Errors
/// Fails with [`CkksError::Argument`] if the interval is not one, or `f` is not finite at a place.
pub fn range_of(f: impl Fn(f64) -> f64, (low, high): (f64, f64)) -> Result<(f64, f64), CkksError> {
    let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
    if !(low < high && (high - low).is_finite()) {
        return fail(format!(
            "a domain from {} to {} is not an interval: the lower end comes first",
            Short(low),
            Short(high)
        ));
    }
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for k in 0..=STEPS {
        let x = place(low, high, k);
        let value = f(x);
        if !value.is_finite() {
            return fail(format!(
                "the function is {value} at {}: take a domain on which it is finite",
                Short(x)
            ));
        }
        range = (range.0.min(value), range.1.max(value));
    }
    Ok(range)
}

/// Returns one of `STEPS + 1` places at equal distances.
fn place(low: f64, high: f64, k: usize) -> f64 {
    (low + (high - low) * (k as f64 / STEPS as f64)).clamp(low, high)
}

/// A search for the pieces of a function.
struct Search<'f> {
    f: &'f dyn Fn(f64) -> f64,
    error: f64,
    /// The largest absolute value of an argument.
    scale: f64,
}

impl Search<'_> {
    /// Adds the pieces of an interval, from below.
    fn cover(&self, pieces: &mut Pieces, ends: (f64, f64)) -> Result<(), CkksError> {
        let at = if self.is_simple(ends)? { None } else { self.find_break(ends) };
        let Some(at) = at else { return self.add_piece(pieces, ends) };
        self.cover(pieces, (ends.0, at))?;
        if pieces.breaks.len() == MAX_BREAKS {
            let what = format!(
                "the function has more than {MAX_BREAKS} jumps or kinks: take a smaller domain"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        pieces.breaks.push(self.break_at(at));
        self.cover(pieces, (at, ends.1))
    }

    /// Adds the jumps at the ends of the interval, with a constant beyond each.
    fn with_ends(&self, mut pieces: Pieces) -> Result<Pieces, CkksError> {
        let (low, high) = pieces.ends;
        let inside = self.inside((low, high));
        let jumps = |end: f64| ((self.f)(end) - inside(end)).abs() > self.error;
        let constant = |end: f64| {
            let beyond = Basis::Chebyshev { low: end - (high - low), high: end + (high - low) };
            Polynomial::new(beyond, vec![(self.f)(end)])
        };
        if jumps(low) {
            pieces.breaks.insert(0, Break { at: low, side: Side::Below });
            pieces.polynomials.insert(0, constant(low)?);
        }
        if jumps(high) {
            pieces.breaks.push(Break { at: high, side: Side::Above });
            pieces.polynomials.push(constant(high)?);
        }
        Ok(pieces)
    }

    /// True if a polynomial of a moderate degree has the error.
    fn is_simple(&self, (low, high): (f64, f64)) -> Result<bool, CkksError> {
        let inside = self.inside((low, high));
        let p = Polynomial::approximate(&inside, low, high, SIMPLE_DEGREE)?;
        let error = |k| {
            let x = place(low, high, k);
            (p.evaluate(x) - inside(x)).abs()
        };
        Ok((0..=STEPS).all(|k| error(k) <= self.error))
    }

    /// Adds one piece.
    fn add_piece(&self, pieces: &mut Pieces, (low, high): (f64, f64)) -> Result<(), CkksError> {
        let inside = self.inside((low, high));
        let found = best_to(inside, (low, high), self.error, Smoothness::Sampled);
        let Approximation { polynomial, error } = found.map_err(|failed| match failed {
            CkksError::Argument { what, .. } => {
                let what = format!("between {} and {}, {what}", Short(low), Short(high));
                CkksError::Argument { operation: OPERATION, what }
            }
            other => other,
        })?;
        pieces.error = pieces.error.max(error);
        let coefficients = polynomial.coefficients().to_vec();
        pieces.polynomials.push(Polynomial::new(Basis::Chebyshev { low, high }, coefficients)?);
        Ok(())
    }

    /// The function between two breaks. At the breaks themselves it has the limits from inside.
    fn inside(&self, (low, high): (f64, f64)) -> impl Fn(f64) -> f64 {
        let width = self.clearance();
        move |x| (self.f)(x.clamp(low + width, high - width))
    }

    /// The width of a window that is taken for a point.
    fn width(&self) -> f64 {
        JUMP_WIDTH * self.scale
    }

    /// A distance from a break at which the function surely has left it.
    fn clearance(&self) -> f64 {
        4.0 * self.width()
    }

    /// Returns a jump or a kink in the interior of an interval, if the function has one that shows.
    ///
    /// It is looked for where the second difference of the function is largest. In a window around
    /// a jump, the second difference keeps its size when the window is halved. Around a kink it is
    /// halved too. For a smooth function it becomes a quarter.
    fn find_break(&self, (low, high): (f64, f64)) -> Option<f64> {
        let f = self.inside((low, high));
        let second = |x: f64, step: f64| (f(x - step) - 2.0 * f(x) + f(x + step)).abs();
        let mut step = (high - low) / STEPS as f64;
        let inner = (1..STEPS).map(|k| place(low, high, k));
        let mut middle = inner.max_by(|x, y| second(*x, step).total_cmp(&second(*y, step)))?;
        let first = second(middle, step);
        if first < self.error / 4.0 {
            return None;
        }
        for _ in 0..HALVINGS {
            step /= 2.0;
            // The outer windows hold a break at the very end of the last window.
            let windows = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|k| middle + k * step);
            middle =
                windows.into_iter().max_by(|x, y| second(*x, step).total_cmp(&second(*y, step)))?;
        }
        let decrease = second(middle, step) / first;
        let at = if decrease > f64::from(-HALVINGS / 2).exp2() {
            self.find_jump(&f, middle - step, middle + step)
        } else if decrease > f64::from(-HALVINGS * 3 / 2).exp2() {
            simplest(middle - step, middle + step)
        } else {
            return None;
        };
        // A break at an end is none.
        let margin = (high - low) / (STEPS * STEPS) as f64;
        (low + margin < at && at < high - margin).then_some(at)
    }

    /// Returns the place of the jump of `f` between two arguments.
    fn find_jump(&self, f: impl Fn(f64) -> f64, mut below: f64, mut above: f64) -> f64 {
        while above - below > self.width() {
            let middle = below.midpoint(above);
            let rises = [(f(middle) - f(below)).abs(), (f(above) - f(middle)).abs()];
            if rises[0] >= rises[1] { above = middle } else { below = middle }
        }
        simplest(below, above)
    }

    /// Returns the break at a place, with the side of its value.
    fn break_at(&self, at: f64) -> Break {
        let width = self.clearance();
        let [below, value, above] = [at - width, at, at + width].map(self.f);
        let same = 1e-3 * (above - below).abs().max(self.error);
        let side = match [below, above].map(|limit| (value - limit).abs() <= same) {
            [_, true] => Side::Above,
            [true, false] => Side::Below,
            [false, false] => Side::Neither,
        };
        Break { at, side }
    }
}

/// Returns the number with the fewest decimals between two numbers.
fn simplest(low: f64, high: f64) -> f64 {
    if low <= 0.0 && high >= 0.0 {
        return 0.0;
    }
    let middle = low.midpoint(high);
    let rounded = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse().ok());
    rounded.into_iter().find(|x: &f64| low <= *x && *x <= high).unwrap_or(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(f: impl Fn(f64) -> f64, ends: (f64, f64), error: f64) -> Vec<(f64, Side)> {
        let pieces = Pieces::approximate(f, ends, error, None).unwrap();
        pieces.breaks().iter().map(|found| (found.at, found.side)).collect()
    }

    #[test]
    fn jumps_and_kinks_are_found_where_they_are() {
        let ends = (-8.0, 8.0);
        assert_eq!(places(f64::abs, ends, 1e-3), [(0.0, Side::Above)]);
        assert_eq!(places(|x| x.max(0.3), ends, 1e-3), [(0.3, Side::Above)]);
        let signs = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        assert_eq!(places(signs, ends, 1e-3), [(0.0, Side::Neither)]);
        assert_eq!(places(f64::ceil, (-1.5, 0.5), 1e-3), [(-1.0, Side::Below), (0.0, Side::Below)]);
        let step = |x: f64| if x > 1.7 { x.sin() + 2.0 } else { x.exp() };
        assert_eq!(places(step, (0.0, 3.0), 1e-3), [(1.7, Side::Below)]);
        let clip = |x: f64| x.clamp(-1.0, 2.5);
        assert_eq!(places(clip, ends, 1e-3), [(-1.0, Side::Above), (2.5, Side::Above)]);
        let floor = [(-1.0, Side::Above), (0.0, Side::Above), (1.0, Side::Above)];
        assert_eq!(places(f64::floor, (-2.0, 1.0), 1e-3), floor);
        assert_eq!(places(f64::ceil, (0.0, 0.5), 1e-3), [(0.0, Side::Below)]);
        assert_eq!(places(f64::tanh, ends, 1e-6), []);
        assert_eq!(places(|x| (20.0 * x).tanh(), (-1.0, 1.0), 1e-3), []);
    }

    #[test]
    fn every_jump_of_a_staircase_is_found() {
        for steps in (1..=50).map(|k| 1.0 + 0.147 * f64::from(k)) {
            let f = |x: f64| (steps * x).floor();
            let pieces = Pieces::approximate(f, (-3.0, 3.0), 1e-2, None).unwrap();
            let expected = (f(3.0) - f(-3.0)) as usize;
            assert_eq!(pieces.breaks().len(), expected, "{steps}");
        }
    }

    #[test]
    fn pieces_are_as_near_as_they_state() {
        type Function = fn(f64) -> f64;
        let functions: [Function; 6] = [
            f64::floor,
            f64::abs,
            |x| if x < -2.0 { x.exp() } else { (x * 0.5).cos() },
            |x| x.max(0.01 * x),
            |x| (x - 1.0).abs().sqrt().max(0.5),
            |x| x.rem_euclid(3.0),
        ];
        for (i, f) in functions.into_iter().enumerate() {
            let pieces = Pieces::approximate(f, (-7.0, 7.0), 1e-3, None).unwrap();
            assert!(pieces.error() <= 1e-3);
            let places = pieces.breaks().iter().map(|found| found.at);
            for k in 0..=5000 {
                let x = -7.0 + 14.0 * f64::from(k) / 5000.0;
                let piece = places.clone().take_while(|at| *at < x).count();
                if places.clone().any(|place| (place - x).abs() < 1e-6) {
                    continue;
                }
                let y = pieces.polynomials()[piece].evaluate(x);
                assert!((y - f(x)).abs() <= 1.01e-3, "function {i} at {x}: {y}, not {}", f(x));
            }
        }
    }

    #[test]
    fn what_cannot_be_approximated_is_named() {
        let refused = |f: fn(f64) -> f64, ends, error, breaks: Option<&[f64]>| {
            Pieces::approximate(f, ends, error, breaks).unwrap_err().to_string()
        };
        assert!(refused(|x| 1.0 / x, (-1.0, 1.0), 0.1, None).contains("inf at 0"));
        assert!(refused(f64::ln, (-1.0, 1.0), 0.1, None).contains("NaN at -1"));
        assert!(refused(f64::sqrt, (0.0, 1.0), 1e-9, None).contains("come within"));
        assert!(refused(|x| (x + 4.0).sqrt(), (-4.0, 4.0), 1e-6, None).contains("come within"));
        assert!(refused(f64::abs, (1.0, -1.0), 0.1, None).contains("is not an interval"));
        assert!(refused(f64::abs, (-1.0, 1.0), 0.1, Some(&[1.5])).contains("a break at 1.5"));
        for f in [|x: f64| (40.0 * x).floor(), |x: f64| (33.3 * x).round()] {
            assert!(refused(f, (-1.0, 1.0), 0.1, None).contains("more than 64"));
        }
        assert!(refused(|x| (20.0 * x).floor(), (-4.0, 4.0), 0.1, None).contains("more than 64"));
    }

    #[test]
    fn breaks_can_be_named() {
        let pieces = Pieces::approximate(f64::abs, (-1.0, 1.0), 1e-3, Some(&[0.5, 0.0])).unwrap();
        assert_eq!(pieces.breaks().iter().map(|found| found.at).collect::<Vec<_>>(), [0.0, 0.5]);
        assert_eq!(pieces.polynomials().len(), 3);
        let missing = Pieces::approximate(f64::signum, (-1.0, 1.0), 0.1, Some(&[0.5]));
        assert!(missing.unwrap_err().to_string().contains("another jump or kink there"));
    }
}
