//! The sign of real slots and functions that follow from it: comparisons, maximum, minimum and
//! absolute value.
//!
//! The sign is a composition of polynomials ([`CompositeSign`], CKK20, LLNK22) that approximates it
//! where `gap <= |x| <= bound`. The noise of an early stage is small compared with the values that
//! it returns, and later stages map both to 1 or -1. So early stages use smaller scales than late
//! ones (GRAFT 4.3). [`SignPlan`] chooses polynomials and scales together so that the whole uses
//! the fewest bits of capacity.
//!
//! # How scales follow from the precision
//! Let `u(S) = 2^-S sqrt(n (1 + h) / 12)` be the standard deviation of the error that one rounding
//! at the scale `2^S` makes in each of `n` slots, where `h` is the squared norm of the secret. A
//! stage `p` adds an error of standard deviation `k u(S)`. The factor `k` is computed from the
//! derivatives of `p` by each rounding of its evaluation.
//!
//! Each stage has a *margin* `m >= 16 k u(S)`. Its values lie in `[low - m, high + m]`, and the
//! next stage is made for that range. So the ranges include the errors of all stages, whether later
//! stages amplify or reduce them. The margin of the last stage gives the largest error of the
//! result, `1 - low + m`, which is at most `2^-precision`.
//!
//! All of this concerns real numbers, but the errors of slots are complex. Imaginary parts are
//! harmless at first. They grow without limit where a value is near 0, because odd polynomials do
//! not bound them. So each stage but the last replaces its result by half the sum of the result and
//! its conjugate. This needs the conjugation key and one bit of capacity.
//!
//! # Error bounds
//! Let `e = 2^-precision`. The following bounds hold in addition to the error of the arguments
//! themselves. Noise exceeds sixteen standard deviations with a probability of about `2^-32` for
//! each slot and stage. (The error of a rounding in a slot depends on the secret and has a Laplace
//! distribution.)
//! - [`Evaluator::sign`](crate::Evaluator::sign): within `e` where `gap <= |x| <= bound`; of
//!   absolute value at most `1 + e` where `|x| < gap`.
//! - [`Evaluator::step`](crate::Evaluator::step), [`greater`](crate::Evaluator::greater),
//!   [`less`](crate::Evaluator::less): within `e/2` of 0 or 1; between `-e/2` and `1 + e/2` in the
//!   gap.
//! - [`Evaluator::abs`](crate::Evaluator::abs): within `e |x|` outside of the gap, and within `(2 +
//!   e) |x|`, thus `(2 + e) gap`, inside of it. The product at the end adds `bound e/2`.
//!   [`SignPlan::product_error`] is the largest error of the polynomials, in the gap and outside.
//! - [`Evaluator::relu`](crate::Evaluator::relu): half of that. The same holds for
//!   [`maximum`](crate::Evaluator::maximum) and [`minimum`](crate::Evaluator::minimum), with `x`
//!   the difference of the operands.
//!
//! The noise estimates of these results leave out the errors of the polynomials, which
//! [`SignPlan::polynomial_error`] and [`SignPlan::product_error`] bound.

mod evaluate;
mod functions;
mod partial;
mod search;

pub use super::composition::Stage;

use super::composition::{Composition, ErrorGains, ErrorModel};
use crate::{CkksError, Context, Short, approximation::sign::CompositeSign};
use partial::PartialComposition;

const OPERATION: &str = "plan a comparison";

/// The parameters of a sign. See [`SignPlan`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignLiteral {
    /// The number of slots of the ciphertexts.
    pub slots: usize,
    /// The largest absolute value of an argument. Ciphertexts with a larger bound are refused.
    pub bound: f64,
    /// The smallest absolute value of an argument whose sign is computed correctly.
    pub gap: f64,
    /// The precision in bits: where `gap <= |x| <= bound`, the result is within `2^-precision` of
    /// the sign.
    pub precision: f64,
}

/// Limits of the stages of a sign, for bootstraps between stages.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::comparison::StageLimits;
///
/// // A bootstrap restores 70 bits of capacity, and its error has a standard deviation of 2^-14.
/// let limits = StageLimits {
///     first_bits: 40.0,
///     bits: 70.0,
///     least_remaining_bits: 0.0,
///     remaining_bits: 0.0,
///     refresh_std: 2f64.powi(-14),
/// };
/// assert!(limits.refresh_std < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageLimits {
    /// The largest number of bits of capacity that the stages before the first bootstrap may use.
    pub first_bits: f64,
    /// The largest number of bits of capacity that the stages after a bootstrap may use.
    pub bits: f64,
    /// The number of bits of capacity that the last stage leaves.
    pub least_remaining_bits: f64,
    /// The number of bits of capacity that the last stage leaves for further use, if possible
    /// without another bootstrap.
    pub remaining_bits: f64,
    /// The standard deviation of the error that a bootstrap adds to values up to 1. The margins of
    /// all stages but the last have room for it.
    pub refresh_std: f64,
}

/// The use of a sign, as far as its plan depends on it. The default suits any use.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::comparison::SignUse;
///
/// // A result that is added up with others may have more noise than its precision says.
/// let summed = SignUse { noise_std: Some(2f64.powi(-12)), ..SignUse::default() };
/// assert!(summed.limits.is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SignUse {
    /// Limits of the stages, if there are bootstraps between them.
    pub limits: Option<StageLimits>,
    /// The standard deviation that the noise of the result may have, if only the error of the
    /// polynomials has to be within the precision.
    pub noise_std: Option<f64>,
    /// The largest error of an argument, as a share of the gap. The default is 1/32. A larger one
    /// uses a little more capacity.
    pub argument_error: Option<f64>,
}

/// The plan of a sign: polynomials and scales.
///
/// # Examples
/// ```
/// use hippocrene_ckks::{
///     approximation::sign::CompositeSign,
///     circuits::comparison::{SignLiteral, SignPlan},
/// };
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 8, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 3, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let context = hippocrene_ckks::Context::new(parameters, Threads::single())?;
///
/// let composition = CompositeSign::iterated(3, 2, 2, 0.1)?;
/// let literal = SignLiteral { slots: 64, bound: 1.0, gap: 0.1, precision: 4.0 };
/// let plan = SignPlan::composed(&context, &composition, literal)?;
/// assert!((plan.apply(-0.5) + 1.0).abs() <= plan.error() && plan.error() < 0.07);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SignPlan {
    literal: SignLiteral,
    /// The divisor of arguments. It is a little more than the bound, so that arguments with their
    /// error lie in `[-1, 1]`.
    reach: f64,
    /// The largest error of an argument.
    argument_error: f64,
    /// The largest value of [`SignPlan::product_error`].
    product_error: f64,
    /// True if the stages were planned within limits.
    in_short_stages: bool,
    composition: Composition,
}

/// Number of arguments in the gap at which the error of a product with the sign is computed. The
/// error has one maximum there, which is missed by less than its share of `1/SAMPLES^2`. Chosen.
const SAMPLES_IN_GAP: usize = 256;

/// Number of arguments outside of the gap, spaced evenly on a logarithmic scale, over which the
/// factors of errors are averaged. Chosen.
const SAMPLES: usize = 256;

/// Default largest error of an argument, as a share of the gap, and the number of its standard
/// deviations that this error has to hold. Chosen.
const ARGUMENT_ERROR_PER_GAP: f64 = 1.0 / 32.0;
const ARGUMENT_DEVIATIONS: f64 = 8.0;

impl SignPlan {
    /// Searches for the minimax composition (LLNK22) and the scales that use the fewest bits of
    /// capacity. `context` has to support any scale, so it needs a sprout. The search runs for
    /// about a second.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `2^-30 <= gap/bound < 1`, the precision is 1 to 40
    /// bits (doubles allow no more), and the number of slots is a power of two that the parameters
    /// support. Fails with [`CkksError::Capacity`] unless a modulus of these parameters is large
    /// enough for each stage.
    pub fn new(context: &Context, literal: SignLiteral) -> Result<Self, CkksError> {
        Self::new_for(context, literal, SignUse::default())
    }

    /// Plans as [`SignPlan::new`] does, for this use of the result.
    ///
    /// Within limits of the stages, there are as few bootstraps between them as possible. So a
    /// bootstrap that restores little capacity is enough for any stage. The whole composition uses
    /// more bits than without limits.
    ///
    /// # Errors
    /// Fails as [`SignPlan::new`] does, and with [`CkksError::Argument`] if no composition has
    /// such short stages.
    pub fn new_for(
        context: &Context,
        literal: SignLiteral,
        used: SignUse,
    ) -> Result<Self, CkksError> {
        let argument_error = used.argument_error.unwrap_or(ARGUMENT_ERROR_PER_GAP);
        let plan = Self::planned(context, literal, argument_error, None, |low, error, model| {
            search::cheapest_minimax(low, error, model, used)
        })?;
        Ok(SignPlan { in_short_stages: used.limits.is_some(), ..plan })
    }

    /// Plans the polynomials of `composition` at the scales that use the fewest bits. All of them
    /// but the last are divided by a number near 1, so that their values lie in `[-1, 1]` with
    /// their error.
    ///
    /// # Errors
    /// Fails as [`SignPlan::new`] does, and if the composition does not reach the precision.
    pub fn composed(
        context: &Context,
        composition: &CompositeSign,
        literal: SignLiteral,
    ) -> Result<Self, CkksError> {
        let stages = composition.stages();
        Self::planned(context, literal, ARGUMENT_ERROR_PER_GAP, None, |low, error, model| {
            Ok(search::cheapest_scales(stages, low, error, model))
        })
    }

    /// Plans the polynomials of `composition` at one common scale, as simple chains require.
    ///
    /// The precision follows from the scale, and that of the literal is ignored. The bound has to
    /// be 1, or a power of two by which the scales of arguments are smaller. Imaginary parts are
    /// not removed, so that the scale stays the same. The scale has to be so large that the noise
    /// of all stages is small compared with the gap. `refresh_std` is the standard deviation of the
    /// error that a refresh between stages adds, and 0 if there is none.
    ///
    /// # Errors
    /// Fails as [`SignPlan::new`] does, and if the noise at this scale is too large for any
    /// precision.
    pub fn at_scale(
        context: &Context,
        composition: &CompositeSign,
        scale_bits: f64,
        refresh_std: f64,
        literal: SignLiteral,
    ) -> Result<Self, CkksError> {
        let (stages, literal) = (composition.stages(), SignLiteral { precision: 1.0, ..literal });
        let scale_bits = Some(scale_bits);
        Self::planned(context, literal, ARGUMENT_ERROR_PER_GAP, scale_bits, |low, error, model| {
            Ok(search::cheapest_scales(stages, low, error, ErrorModel { refresh_std, ..model }))
        })
    }

    /// Checks the literal, runs `search` and puts the plan together. `argument_error` is the largest
    /// error of an argument, as a share of the gap.
    fn planned(
        context: &Context,
        literal: SignLiteral,
        argument_error: f64,
        common_scale_bits: Option<f64>,
        search: impl FnOnce(f64, f64, ErrorModel) -> Result<Option<PartialComposition>, CkksError>,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let SignLiteral { slots, bound, gap, precision } = literal;
        if !slots.is_power_of_two() || slots > context.max_slots() {
            let most = context.max_slots();
            return fail(format!("{slots} slots: a power of two up to {most} is possible"));
        }
        if !(bound.is_finite() && gap > 0.0 && (2f64.powi(-30)..1.0).contains(&(gap / bound))) {
            return fail(format!(
                "a gap of {} among values up to {} is not possible: it has to be at least 2^-30 \
                 of the bound and smaller than the bound",
                Short(gap),
                Short(bound)
            ));
        }
        if !(1.0..=40.0).contains(&precision) {
            return fail(format!("a precision of {} bits is not 1 to 40 bits", Short(precision)));
        }
        let model = ErrorModel::new(context.parameters(), slots, common_scale_bits);
        if !(argument_error > 0.0 && argument_error <= 0.5) {
            let error = Short(argument_error);
            return fail(format!(
                "errors of arguments of {error} gaps are not above 0 and up to 1/2"
            ));
        }
        let off = argument_error * gap;
        // With one common scale, arguments can be divided only by the bound itself.
        let reach = if common_scale_bits.is_some() { bound } else { bound + off };
        let Some(found) = search((gap - off) / reach, (-precision).exp2(), model)? else {
            return fail(format!(
                "no composition maps values from {gap:e} to {bound:e} to within 2^-{precision:.1} \
                 of the sign with the noise of these scales"
            ));
        };
        let low = (gap - off) / reach;
        let argument = |k: usize| low.powf((k as f64 + 0.5) / SAMPLES as f64);
        let gains = ErrorGains::new(&found.stages, (0..SAMPLES).map(argument).collect());
        let (stages, conjugates) = (found.stages, common_scale_bits.is_none());
        let composition =
            Composition { stages, gains, model, max_argument_error: off / reach, conjugates };
        let have = context.parameters().log2(context.parameters().top());
        match composition.first_stage_above(have) {
            // The error states the bits of the whole composition, because parameters that fit one
            // more stage may still be too small for all of them.
            Some(need) => {
                let need = need.max(composition.bits());
                Err(CkksError::Capacity { operation: OPERATION, need, have })
            }
            None => {
                let product_error = product_error(&composition, gap, bound, reach);
                Ok(SignPlan {
                    literal,
                    reach,
                    argument_error: off,
                    product_error,
                    in_short_stages: false,
                    composition,
                })
            }
        }
    }

    /// The parameters that the plan was made from.
    pub fn literal(&self) -> &SignLiteral {
        &self.literal
    }

    /// The polynomials with their scales, in the order in which they are applied. The argument of
    /// the first one is divided by [`SignPlan::reach`].
    pub fn stages(&self) -> &[Stage] {
        &self.composition.stages
    }

    /// The divisor of arguments.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Returns a bound of the distance from the sign where `gap <= |x| <= bound`. The absolute
    /// value exceeds 1 by no more than this anywhere.
    pub fn error(&self) -> f64 {
        let last = self.last();
        (1.0 - last.range.0).max(last.range.1 - 1.0) + last.margin
    }

    /// Returns a bound of `| |x| - x s(x) |`, where `s(x)` is the result of the polynomials at `x`
    /// ([`SignPlan::apply`]) and `|x| <= bound`. It holds inside of the gap too.
    ///
    /// It is the error of an absolute value. That of a ReLU or a maximum is half as large.
    pub fn product_error(&self) -> f64 {
        self.product_error
    }

    /// Returns a bound of the distance of the polynomials' result ([`SignPlan::apply`]) from the
    /// sign where `gap <= |x| <= bound`.
    pub fn polynomial_error(&self) -> f64 {
        polynomial_error(&self.composition)
    }

    /// The precision that arguments need, in bits, in the sense of
    /// [`crate::Ciphertext::precision_bits`]: eight standard deviations of their error are its
    /// largest value, by default a 32nd of the gap ([`SignUse::argument_error`]).
    pub fn argument_precision(&self) -> f64 {
        -(self.argument_error / ARGUMENT_DEVIATIONS).log2()
    }

    /// The bits of capacity that the sign uses in total.
    pub fn bits(&self) -> f64 {
        self.composition.bits()
    }

    /// The number of products of ciphertexts that the sign needs.
    pub fn products(&self) -> usize {
        self.composition.products()
    }

    /// Whether the conjugation key is needed. It removes imaginary parts between stages if scales
    /// are free.
    pub fn conjugates(&self) -> bool {
        self.stages().len() > 1 && self.composition.conjugates
    }

    /// Evaluates the same polynomials on a plain number.
    pub fn apply(&self, x: f64) -> f64 {
        self.composition.apply(x / self.reach)
    }

    fn last(&self) -> &Stage {
        self.stages().last().expect("a search ends with a last stage")
    }
}

/// Returns the largest error of the last polynomial outside of the gap, without the noise.
fn polynomial_error(composition: &Composition) -> f64 {
    let (low, high) = composition.stages.last().map_or((1.0, 1.0), |stage| stage.range);
    (1.0 - low).max(high - 1.0)
}

/// Returns [`SignPlan::product_error`].
fn product_error(composition: &Composition, gap: f64, bound: f64, reach: f64) -> f64 {
    let argument = |k: usize| gap * (k as f64 + 0.5) / SAMPLES_IN_GAP as f64;
    let error = |x: f64| (x * (1.0 - composition.apply(x / reach))).abs();
    let in_gap = (0..SAMPLES_IN_GAP).map(argument).map(error).fold(0.0, f64::max);
    in_gap.max(polynomial_error(composition) * bound)
}
