//! Functions of numbers by polynomials and comparisons, for all slots at once.
//!
//! A smooth function is one polynomial. A function with jumps and kinks is one polynomial between
//! each two of them ([`Pieces`]). Let `b_1 < b_2 < ..` be the breaks, `p_0, p_1, ..` the
//! polynomials, `s_j` 1 above `b_j` and 0 below it, and `r_j = s_j (x - b_j)`. The argument clipped
//! to piece `j` is `c_j = b_j + r_j - r_(j+1)`, and
//!
//! `f(x) = p_0(x - r_1) + sum_j (p_j(c_j) - p_j(b_j)) + sum_j s_j (p_j(b_j) - p_(j-1)(b_j))`.
//!
//! Below its piece, `p_j(c_j) - p_j(b_j)` is 0, and above it is a constant. So no polynomial is
//! evaluated outside of its piece, and a kink needs no jump. Constant pieces need only the `s_j`,
//! and straight ones only the `r_j`.

use hippocrene_ckks::{
    CkksError, Short,
    approximation::{Pieces, Side},
    bootstrap::SineUse,
    circuits::{Basis, Polynomial},
};

use serde::{Deserialize, Serialize};

use crate::server::{
    Server,
    functions::{
        DEVIATIONS_OF_LARGEST_ERROR,
        comparison::{Comparison, Ties},
    },
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
};
use crate::{Capacity, EncryptedArray, Error, Interval, interval::INTERVAL_TOLERANCE};

const APPLY: &str = "apply a function";

/// The default error as a fraction of the range of the function (chosen).
pub(in crate::server) const DEFAULT_ERROR: f64 = 1.0 / 1024.0;

/// The least range of a function that its default error is a fraction of, as a fraction of its
/// largest value (chosen). It is for functions that are nearly constant.
const LEAST_RANGE: f64 = 1.0 / 1_048_576.0;

/// The share of the error of the result that the polynomials of several pieces may have (chosen).
/// The errors of comparisons and the gaps of kinks share the rest.
const SHARE: f64 = 0.25;

/// The share of the error of the result that one polynomial for all values may have (chosen).
const SHARE_OF_ONE: f64 = 0.5;

/// The share of the error of the result that a polynomial has from which others are made (chosen).
const SHARE_OF_REFERENCE: f64 = 1.0 / 32.0;

/// The standard deviation of the rounding errors of a polynomial, as a share of the error of the
/// result (chosen). A normal error exceeds half of the result's error, 16 deviations, with
/// probability `2^-190`.
const SHARE_OF_NOISE: f64 = 1.0 / 32.0;

/// The largest distance of two polynomials at a kink, as a fraction of the error of the result.
/// Each of them differs from the function by a share of it.
const LARGEST_STEP_OF_A_KINK: f64 = 4.0 * SHARE;

/// The default gap of a jump as a fraction of the width of the domain (chosen).
const DEFAULT_GAP: f64 = 1.0 / 512.0;

/// The largest gap of a kink as a fraction of the width of the domain (chosen).
const WIDEST_AT_KINK: f64 = 1.0 / 16.0;

/// Factors of the default error and the default gap, in the order in which they are tried (chosen).
/// Later ones are for arrays with too much noise or too little capacity for the ones before.
const WIDENED: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// Largest precision of a comparison that is asked for, in bits.
const MAX_COMPARISON_BITS: f64 = 30.0;

/// The number of places at which the slope of a polynomial is sampled, for each degree (chosen).
const PLACES_PER_DEGREE: usize = 8;

/// A function to be computed by polynomials and comparisons.
///
/// ```
/// use hippocrene::{Encryption, Preset, Simulation, SmoothFunction};
///
/// let simulation = Simulation::new(Preset::by_name("n14")?.settings()?)?;
/// let x = simulation.encrypt((&[-0.5, 0.0, 0.75][..]).into(), &[3], &Encryption::default())?;
/// let x = x.with_bound(1.0)?;
/// let tanh = SmoothFunction::new(f64::tanh, (-1.0, 1.0), Some(1e-3), None)?;
/// let y = simulation.server().apply_smooth(&x, &tanh, None)?;
/// let values = simulation.values(&y).unwrap();
/// assert!((values[2].re - 0.75f64.tanh()).abs() < 1e-3);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SmoothFunction {
    pieces: Pieces,
    /// A more precise polynomial of a smooth function, for bootstraps of sines.
    reference: Option<Polynomial>,
    error: f64,
    /// True if the caller asked for this error.
    is_requested: bool,
}

impl SmoothFunction {
    /// Approximates `f` on a domain, with a largest error of `error`.
    ///
    /// The default error is a 1024th of the range of `f`. `breaks` are the jumps and kinks. By
    /// default they are found ([`Pieces::approximate`]).
    ///
    /// # Errors
    /// As [`Pieces::approximate`].
    pub fn new(
        f: impl Fn(f64) -> f64,
        domain: (f64, f64),
        error: Option<f64>,
        breaks: Option<&[f64]>,
    ) -> Result<Self, Error> {
        let accuracy = Accuracy { error, default_share: DEFAULT_ERROR };
        Ok(SmoothFunction::of(f, Speed::Slow, domain, accuracy, breaks)?)
    }

    /// Approximates as [`SmoothFunction::new`] does.
    pub(super) fn of(
        f: impl Fn(f64) -> f64,
        speed: Speed,
        domain: (f64, f64),
        accuracy: Accuracy,
        breaks: Option<&[f64]>,
    ) -> Result<Self, CkksError> {
        let Accuracy { error, default_share } = accuracy;
        let (low, high) = hippocrene_ckks::approximation::range_of(&f, domain)?;
        let largest = low.abs().max(high.abs());
        let least = if largest == 0.0 { LEAST_RANGE } else { LEAST_RANGE * largest };
        let default = default_share * (high - low).max(least);
        let (error, is_requested) = (error.unwrap_or(default), error.is_some());
        if error.is_nan() || error <= 0.0 {
            let what = format!("an error of {error} is not above 0");
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        let smooth = Pieces::approximate(&f, domain, SHARE_OF_REFERENCE * error, breaks);
        if let Some(reference) = smooth.ok().filter(|pieces| pieces.breaks().is_empty()) {
            let reference = reference.polynomials()[0].clone();
            let share = (SHARE_OF_ONE - SHARE_OF_REFERENCE) * error;
            let pieces = match speed {
                Speed::Fast => Pieces::approximate(&f, domain, share, Some(&[]))?,
                Speed::Slow => {
                    Pieces::approximate(|x| reference.evaluate(x), domain, share, Some(&[]))?
                }
            };
            return Ok(SmoothFunction { pieces, reference: Some(reference), error, is_requested });
        }
        // A smooth function leaves more of the error to its polynomial.
        let of_one = Pieces::approximate(&f, domain, SHARE_OF_ONE * error, breaks)?;
        let pieces = match of_one.breaks() {
            [] => of_one,
            _ => Pieces::approximate(&f, domain, SHARE * error, breaks)?,
        };
        Ok(SmoothFunction { pieces, reference: None, error, is_requested })
    }

    /// The largest error of the result, in addition to the noise of the array.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest slope of the polynomials.
    pub(in crate::server) fn largest_slope(&self) -> f64 {
        self.pieces.polynomials().iter().map(largest_slope).fold(0.0, f64::max)
    }

    /// The places where the function jumps, in ascending order. Kinks are left out.
    pub fn jumps(&self) -> Vec<f64> {
        let polynomials = self.pieces.polynomials().windows(2);
        let rises = |(below, above): (&Polynomial, &Polynomial), at| {
            (above.evaluate(at) - below.evaluate(at)).abs() > LARGEST_STEP_OF_A_KINK * self.error
        };
        let breaks = self.pieces.breaks().iter().zip(polynomials);
        let jumps = breaks.filter(|(found, pair)| rises((&pair[0], &pair[1]), found.at));
        jumps.map(|(found, _)| found.at).collect()
    }
}

/// The error that an approximation may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Accuracy {
    /// The largest error, if one is asked for.
    pub(super) error: Option<f64>,
    /// The default error as a fraction of the range of the function.
    pub(super) default_share: f64,
}

/// The time that a call of a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    /// Less than a polynomial of a high degree.
    Fast,
    /// More than that, so that the function is replaced by such a polynomial where possible.
    Slow,
}

/// The errors that comparisons may make.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    /// The error of the result, outside of the gaps of jumps.
    error: f64,
    /// The largest gap on each side of a break.
    gap: f64,
}

/// The terms of a function with breaks: `constant + slope x + sum_j (steps_j s_j + ramps_j r_j)`
/// and polynomials of the clipped argument.
struct Parts {
    constant: f64,
    slope: f64,
    /// The factors of the `s_j`.
    steps: Vec<f64>,
    /// The factors of the `r_j`.
    ramps: Vec<f64>,
    /// The pieces that are neither constant nor straight.
    curved: Vec<usize>,
    /// Bounds of the slopes of the pieces.
    slopes: Vec<f64>,
}

impl Parts {
    fn of(pieces: &Pieces) -> Self {
        let (breaks, polynomials) = (pieces.breaks(), pieces.polynomials());
        let mut parts = Parts {
            constant: 0.0,
            slope: 0.0,
            steps: vec![0.0; breaks.len()],
            ramps: vec![0.0; breaks.len()],
            curved: Vec::new(),
            slopes: polynomials.iter().map(largest_slope).collect(),
        };
        for (j, p) in polynomials.iter().enumerate() {
            if j > 0 {
                let at = breaks[j - 1].at;
                parts.steps[j - 1] = p.evaluate(at) - polynomials[j - 1].evaluate(at);
            }
            match p.degree() {
                0 if j == 0 => parts.constant = p.coefficients()[0],
                0 => {}
                1 => {
                    let slope = p.evaluate(1.0) - p.evaluate(0.0);
                    match j.checked_sub(1) {
                        Some(below) => parts.ramps[below] += slope,
                        None => (parts.constant, parts.slope) = (p.evaluate(0.0), slope),
                    }
                    if j < breaks.len() {
                        parts.ramps[j] -= slope;
                    }
                }
                _ => {
                    parts.curved.push(j);
                    parts.constant -= if j > 0 { p.evaluate(breaks[j - 1].at) } else { 0.0 };
                }
            }
        }
        parts
    }

    /// True if `r_j` is needed.
    fn needs_ramp(&self, j: usize) -> bool {
        self.ramps[j] != 0.0 || self.curved.iter().any(|piece| [j, j + 1].contains(piece))
    }
}

impl Server {
    /// Evaluates a function at every element, by polynomials and comparisons.
    ///
    /// The domain of the function must hold the interval of the array. Missing capacity is restored
    /// by bootstraps.
    ///
    /// The result requests the precision that this error needs
    /// ([`EncryptedArray::with_precision`]), so that later operations use little capacity.
    ///
    /// **Error:** at most [`SmoothFunction::error`] plus the noise. The result's
    /// [`EncryptedArray::precision_bits`] includes both, and counts the former as eight standard
    /// deviations. Where the function jumps, this
    /// holds for elements that are at least `gap` away from the jump. Nearer ones get some number
    /// between the values on both sides. The default gap is a 512th of the width of the domain. If
    /// the array has too much noise or too little capacity, a default error is up to 16 times as
    /// large, and the default gap of a jump is refused.
    ///
    /// # Errors
    /// [`Error::Argument`] when the array is complex or has values outside of the domain.
    /// [`Error::Capacity`] when too little capacity is left, and as [`Server::polynomial`] and
    /// [`Server::positive`].
    pub fn apply_smooth(
        &self,
        a: &EncryptedArray,
        function: &SmoothFunction,
        gap: Option<f64>,
    ) -> Result<EncryptedArray, Error> {
        self.check_domain(a, function.pieces.ends(), INTERVAL_TOLERANCE)?;
        let (values, error) = match function.pieces.breaks() {
            [] => (self.by_one_polynomial(a, function), function.error),
            _ => {
                let tolerance = self.tolerance(a, function, gap)?;
                (self.by_pieces(a, function, tolerance), tolerance.error)
            }
        };
        let values = values.map_err(|error| match error.during(APPLY) {
            Error::Capacity { source, .. } if !function.pieces.breaks().is_empty() => {
                let advice = "Allow a larger error, or a wider gap at jumps, or take a preset with \
                              a larger modulus";
                Error::Capacity { source, advice: advice.into() }
            }
            error => error,
        })?;
        if !values.is_error_known() {
            return Ok(values);
        }
        let noise = (-values.precision_bits(&self.session)).exp2();
        if function.is_requested && noise > function.error {
            let what = format!(
                "the errors of the array, from its noise and from functions before, make errors of \
                 {} in the result, and {} is asked for. Allow a larger error, or compute the array \
                 more precisely: with smaller errors of the functions before, or a higher precision.",
                Short(noise),
                Short(function.error)
            );
            return Err(Error::argument(APPLY, what));
        }
        let error = noise.hypot(error / DEVIATIONS_OF_LARGEST_ERROR);
        values.with_precision_bits(-error.log2(), &self.session)
    }

    /// Evaluates a function that is one polynomial.
    fn by_one_polynomial(
        &self,
        a: &EncryptedArray,
        function: &SmoothFunction,
    ) -> Result<EncryptedArray, Error> {
        let p = &function.pieces.polynomials()[0];
        if p.degree() == 0 {
            return self.constant(a, p.coefficients()[0]);
        }
        let precise = |server: &Server, a: &EncryptedArray, p: &Polynomial| {
            let bits = (p.rounding_gain() / (SHARE_OF_NOISE * function.error)).log2();
            let bits = (10.0 * bits).ceil() / 10.0;
            server.with_possible_precision(a, bits)
        };
        let a = &precise(self, a, p)?;
        let one =
            |server: &Server, [a]: [&EncryptedArray; 1]| server.polynomial_in_one_circuit(a, p);
        let parts = |server: &Server, [a]: [&EncryptedArray; 1]| server.polynomial(a, p);
        let mut candidates = vec![Candidate::new("one polynomial", one)];
        if let Some(reference) = &function.reference {
            let run = |server: &Server, [a]: [&EncryptedArray; 1]| {
                let ends = function.pieces.ends();
                let error = (SHARE_OF_ONE - SHARE_OF_REFERENCE) * function.error;
                let (sines, p) = server.as_polynomial_of_sines(a, reference, ends, error)?;
                server.polynomial_in_one_circuit(&precise(server, &sines, &p)?, &p)
            };
            let is_known = a.knows_sines((function.pieces.ends(), SineUse::SmoothFunctions));
            let candidate = Candidate::new("a polynomial of sines from a bootstrap", run);
            candidates.push(candidate.otherwise(usize::from(!is_known)));
        }
        candidates.push(Candidate::new("polynomials with bootstraps", parts).otherwise(2));
        let most_bits = p.depth() as f64 * self.form_of(&[a]).product_bits(self);
        self.perform(APPLY, [a], most_bits + MARGIN_BITS_OF_UNKNOWN_GROWTH, &candidates)
    }

    /// Returns the array with another requested precision, if the parameters allow it.
    fn with_possible_precision(
        &self,
        a: &EncryptedArray,
        precision: f64,
    ) -> Result<EncryptedArray, Error> {
        match self.session.settings().scale_of(precision) {
            Ok(_) => a.clone().with_precision(precision, &self.session),
            Err(_) => Ok(a.clone()),
        }
    }

    /// Returns the error and the gap of the comparisons of a function.
    ///
    /// A default error is the smallest of a few for which the comparisons are possible. The result
    /// states it.
    ///
    /// # Errors
    /// [`Error::Argument`] if the default gap of a jump is not possible. It names one that is.
    fn tolerance(
        &self,
        a: &EncryptedArray,
        function: &SmoothFunction,
        gap: Option<f64>,
    ) -> Result<Tolerance, Error> {
        let (low, high) = function.pieces.ends();
        let default_gap = DEFAULT_GAP * (high - low);
        let widened = |times: f64| Tolerance {
            error: if function.is_requested { function.error } else { times * function.error },
            gap: gap.unwrap_or(times * default_gap),
        };
        let is_possible = |tolerance: &Tolerance| {
            let run = |server: &Server, [a]: [&EncryptedArray; 1]| {
                server.by_pieces(a, function, *tolerance)
            };
            self.check_candidate(APPLY, &Candidate::new("pieces", run), [a]).is_ok()
        };
        let count = if function.is_requested && gap.is_some() { 0 } else { WIDENED.len() };
        let mut tried = WIDENED[..count].iter().map(|times| widened(*times));
        let tolerance = tried.find(is_possible).unwrap_or(widened(1.0));
        if gap.is_none() && tolerance.gap > default_gap && !function.jumps().is_empty() {
            let what = format!(
                "beside a jump, the noise and the capacity of the array do not allow the default \
                 gap of {}, but one of {}. Pass it as the gap, or use more precise values or keys \
                 with bootstraps.",
                Short(default_gap),
                Short(tolerance.gap)
            );
            return Err(Error::argument(APPLY, what));
        }
        Ok(tolerance)
    }

    /// Evaluates a function with breaks.
    fn by_pieces(
        &self,
        a: &EncryptedArray,
        function: &SmoothFunction,
        Tolerance { error, gap: widest }: Tolerance,
    ) -> Result<EncryptedArray, Error> {
        let (pieces, parts) = (&function.pieces, Parts::of(&function.pieces));
        let ((low, high), share) = (pieces.ends(), 0.5 * (error - pieces.error()));
        let width = high - low;
        // Errors of the steps, times jumps and slopes.
        let jumps: f64 = parts.steps.iter().map(|jump| jump.abs()).sum();
        let slopes: f64 = 2.0 * parts.slopes.iter().sum::<f64>();
        let bits = ((jumps + slopes * width) / (2.0 * share)).log2().ceil();
        if bits > MAX_COMPARISON_BITS {
            let what = format!(
                "an error of {} needs comparisons of {bits} bits, and {MAX_COMPARISON_BITS} is the \
                 most. Allow an error of {}.",
                Short(error),
                Short(error * (bits - MAX_COMPARISON_BITS).exp2())
            );
            return Err(Error::argument(APPLY, what));
        }
        let bits = bits.max(1.0);
        let slack = (-bits).exp2() * width;
        let (mut steps, mut ramps) = (Vec::new(), Vec::new());
        for (j, found) in pieces.breaks().iter().enumerate() {
            // The step of a value within the gap is on the right side of 1/2. So `r_j` is wrong by
            // at most half of the gap.
            let at_kink = 2.0 * share / (parts.slopes[j] + parts.slopes[j + 1]);
            let is_kink = parts.steps[j].abs() <= LARGEST_STEP_OF_A_KINK * function.error;
            let (gap, at_ties) = match found.side {
                _ if is_kink => (at_kink.min(WIDEST_AT_KINK * width), Ties::Half),
                Side::Above => (widest, Ties::One),
                Side::Below => (widest, Ties::Zero),
                Side::Neither => (widest, Ties::Half),
            };
            let shifted = self.plus_constant(a, -found.at, APPLY)?;
            let how = Comparison { gap: Some(gap), precision: Some(bits), at_ties };
            let step = self.positive(&shifted, how)?;
            ramps.push(match parts.needs_ramp(j) {
                true => {
                    let reach = interval(-gap - slack, high - found.at + gap + slack)?;
                    Some((self.mul(&step, &shifted)?.with_known_interval(reach), gap + slack))
                }
                false => None,
            });
            steps.push(step);
        }
        let mut sum = self.constant(a, parts.constant)?;
        if parts.slope != 0.0 {
            sum = self.add(&sum, &self.mul_number(a, parts.slope)?)?;
        }
        for (j, step) in steps.iter().enumerate().filter(|(j, _)| parts.steps[*j] != 0.0) {
            sum = self.add(&sum, &self.mul_number(step, parts.steps[j])?)?;
        }
        for (j, ramp) in ramps.iter().enumerate().filter(|(j, _)| parts.ramps[*j] != 0.0) {
            let Some((ramp, _)) = ramp else { continue };
            sum = self.add(&sum, &self.mul_number(ramp, parts.ramps[j])?)?;
        }
        for &piece in &parts.curved {
            let p = &pieces.polynomials()[piece];
            let below = piece.checked_sub(1).and_then(|j| Some((j, ramps[j].as_ref()?)));
            let above = ramps.get(piece).and_then(Option::as_ref);
            let margin = below.map_or(0.0, |(_, ramp)| ramp.1) + above.map_or(0.0, |ramp| ramp.1);
            let from = below.map_or(low, |(j, _)| pieces.breaks()[j].at);
            let to = pieces.breaks().get(piece).map_or(high, |found| found.at);
            let mut clipped = match below {
                Some((_, (ramp, _))) => self.plus_constant(ramp, from, APPLY)?,
                None => a.clone(),
            };
            if let Some((ramp, _)) = above {
                clipped = self.sub(&clipped, ramp)?;
            }
            let wider = (from - margin, to + margin);
            let clipped = clipped.with_known_interval(interval(wider.0, wider.1)?);
            let p = widened(p, wider)?;
            sum = self.add(&sum, &self.polynomial(&clipped, &p)?)?;
        }
        Ok(sum)
    }
}

fn interval(low: f64, high: f64) -> Result<Interval, Error> {
    Interval::new(low, high)
        .ok_or_else(|| Error::argument(APPLY, "the values of the function are not finite"))
}

/// Returns the same polynomial in the Chebyshev basis of another interval.
fn widened(p: &Polynomial, (low, high): (f64, f64)) -> Result<Polynomial, Error> {
    Ok(Polynomial::approximate(|x| p.evaluate(x), low, high, p.degree())?)
}

/// Returns the largest slope of a polynomial on the interval of its basis, from its values at many
/// places.
fn largest_slope(p: &Polynomial) -> f64 {
    let Basis::Chebyshev { low, high } = p.basis() else { return f64::INFINITY };
    let count = PLACES_PER_DEGREE * (p.degree() + 1);
    let place = |k: usize| {
        let angle = std::f64::consts::PI * k as f64 / count as f64;
        low.midpoint(high) - 0.5 * (high - low) * angle.cos()
    };
    let slope = |k: usize| {
        let (x, y) = (place(k), place(k + 1));
        ((p.evaluate(y) - p.evaluate(x)) / (y - x)).abs()
    };
    (0..count).map(slope).fold(0.0, f64::max)
}
