//! The rule that derives every number of a bootstrap from a client's request.
//!
//! With `p` bits of precision relative to the bound `B`, each of the following adds an error of at
//! most about `2^-(p + 1.5)` of `B`:
//!
//! - the polynomials of the modular reduction, with two doublings: up to 26 bits, `f64`
//!   coefficients are precise enough to do without an arcsine, which saves two levels; beyond that
//!   there is an arcsine of degree 3;
//! - rounding at the scale of the cosine: with `r` the error of rounding in a slot, `x/k` has the
//!   error `r`, so the scale is `2^p r k/epsilon`, and larger by a few bits because Chebyshev
//!   polynomials and doublings amplify the error;
//! - rounding of the matrices of the transforms, set by their scales;
//! - rounding at the base modulus `q0`, and the key switch to the sparse secret there.

use std::sync::LazyLock;

use hippocrene_ckks::{
    Short,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order, log2_failure_probability},
    circuits::DftLevel,
};
use hippocrene_rlwe::{
    Modulus, Parameters, SIGMA, SecretDistribution, SizedCache, noise::rounding, security,
};

use super::Bootstrapping;
use crate::{Error, Session};

/// The Hamming weight of the secret under which the modulus is raised.
const SPARSE_WEIGHT: usize = 32;
/// log2 of the accepted probability of a failure; chosen.
const LOG2_FAILURE: f64 = -128.0;
/// The margin of each kind of error below the allowed error, in bits; there are about six kinds.
const ERROR_SHARE_BITS: f64 = 1.5;
/// The amplification of rounding errors by Chebyshev polynomials and doublings, in bits.
const AMPLIFICATION_BITS: f64 = 3.0;
/// The number of doublings of the cosine.
const COSINE_DOUBLINGS: u32 = 2;
/// The degree of the arcsine, where there is one.
const ARCSINE_DEGREE: usize = 3;
/// From this precision on, in bits, the reduction uses an arcsine.
const MIN_PRECISION_FOR_ARCSINE_BITS: f64 = 26.0;
/// The tolerance for the precision of a bootstrap, in bits.
const PRECISION_TOLERANCE_BITS: f64 = 1.0;
/// The precision of a further bootstrap minus its guaranteed gain, in bits.
///
/// This is 4 for errors of many standard deviations, one because the gain is a power of two, and
/// one for [`PRECISION_TOLERANCE_BITS`].
const LOST_PER_ITERATION_BITS: f64 = 6.0;
/// The maximum number of stages in a level of a transform.
const MAX_STAGES_PER_LEVEL: u32 = 6;
/// From this number of slots on, a transform has at least two levels.
const MIN_SLOTS_FOR_TWO_LEVELS: usize = 32;
/// The presets with a bootstrap.
pub(crate) const PRESETS: &str = "n15s, n15, n16s, n16, n17s and n17";
/// The maximum size of a special prime, in bits.
const MAX_SPECIAL_PRIME_BITS: f64 = 61.0;

/// Checks the request before anything is computed.
pub(super) fn check(session: &Session, how: &Bootstrapping) -> Result<(), Error> {
    const OPERATION: &str = "plan a bootstrap";
    let parameters = session.settings().parameters();
    if !(2f64.powi(-100)..=2f64.powi(100)).contains(&how.bound) {
        let what = format!("a bound of {:e} on the values: 2^-100 to 2^100 is possible", how.bound);
        return Err(Error::argument(OPERATION, what));
    }
    let most = session.slots();
    if let Some(slots) = how.slots.filter(|slots| !slots.is_power_of_two() || *slots > most) {
        let what = format!("{slots} slots: a power of two up to {most} is possible");
        return Err(Error::argument(OPERATION, what));
    }
    if let Some(precision) = how.precision
        && !(1.0..=100.0).contains(&precision)
    {
        return Err(Error::argument(
            OPERATION,
            format!("a precision of {} bits", Short(precision)),
        ));
    }
    if parameters.security().is_some() && base_limit(parameters).is_none() {
        let degree = parameters.log_degree();
        return Err(Error::Parameters(format!(
            "bootstrapping: there is no bootstrap at the ring degree 2^{degree}, where no security \
             limit is known for its sparse secret of Hamming weight {SPARSE_WEIGHT}. Take one of \
             the presets {PRESETS}."
        )));
    }
    Ok(())
}

/// The largest `log2(q0 p)` at which the sparse secret is secure, where a limit is known.
fn base_limit(parameters: &Parameters) -> Option<u32> {
    let secret = SecretDistribution::SparseTernary { weight: SPARSE_WEIGHT };
    security::limit(parameters.log_degree(), secret).map(|limit| limit.log2_pq)
}

/// The way in which a bootstrap reaches its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BootstrapMethod {
    /// The precision of a single bootstrap, in bits after the binary point.
    pub(super) one: f64,
    /// The number of single bootstraps.
    pub(super) bootstraps: u32,
    /// The precision of the result, in bits after the binary point.
    pub(super) precision: f64,
}

impl BootstrapMethod {
    /// Reaches the precision with one bootstrap.
    pub(super) fn once(precision: f64) -> Self {
        BootstrapMethod { one: precision, bootstraps: 1, precision }
    }

    /// Reaches the precision with several bootstraps, each of the error of those before.
    ///
    /// Each single bootstrap has the least sufficient precision.
    pub(super) fn iterated(bootstraps: u32, precision: f64) -> Self {
        let others = f64::from(bootstraps - 1);
        BootstrapMethod {
            one: (precision + PRECISION_TOLERANCE_BITS + others * LOST_PER_ITERATION_BITS)
                / f64::from(bootstraps),
            bootstraps,
            precision,
        }
    }
}

/// Derives the literal of the bootstrap that reaches its precision this way.
pub(super) fn literal(
    session: &Session,
    how: &Bootstrapping,
    way: BootstrapMethod,
) -> Result<BootstrapLiteral, Error> {
    let (settings, all) = (session.settings(), session.slots());
    let slots = how.slots.unwrap_or(all);
    let parameters = settings.parameters();
    let bits = way.one + how.bound.log2();
    let k = (1..)
        .find(|k| log2_failure_probability(SPARSE_WEIGHT, *k, 2 * all) <= LOG2_FAILURE)
        .expect("a sum of h + 1 numbers below 1/2 does not reach (h + 1)/2");
    let reduction = reduction(k, bits).map_err(|error| match error {
        Error::Argument { .. } => Error::Parameters(format!(
            "a bootstrap with {:.1} bits of precision for values up to {} has to keep {bits:.1} \
             bits of them, which no reduction does ({error}): ask for less precision, or a smaller \
             bound",
            way.one,
            Short(how.bound)
        )),
        other => other,
    })?;
    let ratio = -reduction.epsilon().log2();

    // log2 of the ratio of the error in a slot to the error in a coefficient.
    let slot = 0.5 * (all as f64).log2();
    let rounded = rounding(parameters.secret_weight(), 2).log2_std();
    let levels = slots
        .ilog2()
        .div_ceil(MAX_STAGES_PER_LEVEL)
        .max(if slots < MIN_SLOTS_FOR_TWO_LEVELS { 1 } else { 2 });
    let radix = f64::from(slots.ilog2().div_ceil(levels));
    // Each row has 2^(radix + 1) rounded entries, with an error of 1/sqrt(12) in a coefficient
    // each.
    let rows = slot - 0.5 * 12f64.log2() + 0.5 * (radix + 1.0) + 0.5 * f64::from(levels).log2();
    // Entries are 2^-radix and add up to 2^(-radix/2). The root mean square of `x` is sqrt((h +
    // 1)/12), while the values in it are bounded by epsilon.
    let deviation = 0.5 * (f64::from(SPARSE_WEIGHT as u32 + 1) / 12.0).log2();
    let into_slots = bits + ERROR_SHARE_BITS + ratio + deviation + rows + 0.5 * radix;
    let into_coefficients = bits + ERROR_SHARE_BITS + rows - 0.5 * radix;
    let mut back = DftLevel::even(slots, levels, into_coefficients.ceil());
    // The first matrix is applied to all slots. Their errors add up in coefficients that are
    // smaller by this factor.
    if let Some(first) = back.first_mut() {
        first.scale_bits += (0.5 * (all as f64 / slots as f64).log2()).ceil();
    }
    Ok(BootstrapLiteral {
        slots,
        first_slots: slots < all,
        real: true,
        order: Order::SlotsToCoefficientsFirst,
        bound: how.bound,
        base_bits: base_bits(parameters, bits + ERROR_SHARE_BITS + ratio, rounded)?,
        sparse_weight: Some(SPARSE_WEIGHT),
        scale_bits: (bits
            + ERROR_SHARE_BITS
            + ratio
            + f64::from(k).log2()
            + rounded
            + slot
            + AMPLIFICATION_BITS)
            .ceil(),
        coefficients_to_slots: DftLevel::even(slots, levels, into_slots.ceil()),
        slots_to_coefficients: back,
        output_scale_bits: match way.bootstraps {
            1 => settings.scale().log2(),
            // A single result is only as precise as one bootstrap.
            _ => settings
                .scale()
                .log2()
                .min((way.one + ERROR_SHARE_BITS + settings.overhead()).ceil()),
        },
        output_bits: None,
        precision: (way.bootstraps > 1).then_some(way.precision),
        reduction,
    })
}

/// Modular reductions by their arguments. Each one is found by a search over degrees, and a program
/// that is compiled plans the same bootstrap many times.
static REDUCTIONS: LazyLock<SizedCache<(u32, f64), ModularReduction>> = LazyLock::new(|| {
    let cache = SizedCache::default();
    cache.set_memory(MAX_REDUCTION_BYTES);
    cache
});
/// The size of [`REDUCTIONS`]. Chosen: it holds hundreds of reductions.
const MAX_REDUCTION_BYTES: usize = 1 << 20;

/// Returns the modular reduction whose error is below `2^-(bits + ERROR_SHARE_BITS)` of the message
/// ratio.
fn reduction(k: u32, bits: f64) -> Result<ModularReduction, Error> {
    let bytes = |reduction: &ModularReduction| 8 * (reduction.cosine().degree() + 1);
    let found = REDUCTIONS.get_or_try_insert((k, bits), bytes, || make_reduction(k, bits))?;
    Ok((*found).clone())
}

fn make_reduction(k: u32, bits: f64) -> Result<ModularReduction, Error> {
    let error = bits + ERROR_SHARE_BITS;
    // Without an arcsine the error is (2 pi epsilon)^2/6 of a value. With an arcsine of degree 3 a
    // measurement gave 20 epsilon^4.
    let (arcsine, log2_ratio) = match bits < MIN_PRECISION_FOR_ARCSINE_BITS {
        true => (0, -0.5 * (error + 0.1) - 0.5 * 6.58f64.log2()),
        false => (ARCSINE_DEGREE, -0.25 * (error + 4.4)),
    };
    let log2_ratio = log2_ratio.clamp(-40.0, -4.0);
    Ok(ModularReduction::new(k, log2_ratio, log2_ratio - error, COSINE_DOUBLINGS, arcsine)?)
}

/// The least size of a base modulus, in bits, whose errors lie `bits` bits below it.
fn base_bits(parameters: &Parameters, bits: f64, rounded: f64) -> Result<f64, Error> {
    let limit = match parameters.security() {
        Some(_) => base_limit(parameters).map_or(0.0, f64::from),
        None => f64::INFINITY,
    };
    // A key switch to the sparse secret has an error of sigma sqrt(N/12) q0/p.
    let switched = SIGMA.log2() + 0.5 * (parameters.degree() as f64 / 12.0).log2();
    let special = |base: f64| (limit - base).floor().min(MAX_SPECIAL_PRIME_BITS);
    let error = |base: f64| rounded.exp2().hypot((switched + base - special(base)).exp2()).log2();
    // The base contains at least the first unit.
    let mut base = parameters.log2(Modulus::of_factor(0));
    while bits + error(base) > base {
        base += 1.0;
        if base > limit || base > 4.0 * MAX_SPECIAL_PRIME_BITS {
            return Err(Error::Parameters(format!(
                "bootstrapping: there is no bootstrap of this precision at the ring degree 2^{}, \
                 where the limit on its sparse secret leaves less than {bits:.0} bits above its \
                 errors. Take one of the presets {PRESETS}, or a lower precision.",
                parameters.log_degree()
            )));
        }
    }
    Ok(base)
}

/// The capacity, in bits, that an array needs for a bootstrap in any unit.
pub(crate) fn reserve(plan: &BootstrapPlan) -> f64 {
    // The plan assumes values of its own bound, but capacity depends on the bound of the array. In
    // a unit 2^k the latter is at least half of the former, which is one bit. The second bit is for
    // moduli, since none has exactly the wanted size.
    plan.capacity_needed() + plan.literal().bound.max(1.0).log2() + 2.0
}

/// The capacity, in bits, that a bootstrap leaves, to within a few bits.
pub(crate) fn capacity_after(plan: &BootstrapPlan) -> f64 {
    let literal = plan.literal();
    let raised = plan.context().parameters().log2(plan.raised());
    // If only the first slots are bootstrapped and the others were zero, a product sets these to
    // zero again.
    let masked = if literal.first_slots { literal.output_scale_bits } else { 0.0 };
    raised
        - masked
        - plan.bits()
        - literal.output_scale_bits
        - plan.scale_growth()
        - literal.bound.max(1.0).log2()
        - 1.0
}
