//! The rule: from what a client asks for to every number of a bootstrap.
//!
//! With `p` bits of precision relative to the bound `B`, each of the following adds an error of at
//! most about `2^-(p + 1.5)` of `B`:
//!
//! - the reduction's polynomials: without an arcsine, which saves two levels, where `f64`
//!   coefficients are precise enough (up to 26 bits), else with one of degree 3; two doublings;
//! - rounding at the scale of the cosine, `r` in a slot: `x/k` has that error, so that the scale is
//!   `2^p r k/epsilon`, and a few bits more for what Chebyshev polynomials and doublings make of
//!   it;
//! - rounding of the transforms' matrices, by their scales;
//! - rounding at the base modulus `q0`, and the key switch to the sparse secret there.

use hippocrene_ckks::{
    Short,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order, log2_failure_probability},
    circuits::DftLevel,
};
use hippocrene_rlwe::{Modulus, Parameters, SIGMA, SecretDistribution, noise::rounding, security};

use super::Bootstrapping;
use crate::{Error, Session};

/// The Hamming weight of the secret under which the modulus is raised.
const SPARSE_WEIGHT: usize = 32;
/// log2 of the probability of a failure that is accepted.
const LOG2_FAILURE: f64 = -128.0;
/// Each kind of error is smaller than that which is allowed by so many bits: there are about six.
const SHARE: f64 = 1.5;
/// What Chebyshev polynomials and doublings make of rounding.
const AMPLIFIED: f64 = 3.0;
const DOUBLINGS: u32 = 2;
/// The arcsine's degree, where it takes one.
const ARCSINE: usize = 3;
/// From this precision on the reduction takes an arcsine.
const LEAST_WITH_ARCSINE: f64 = 26.0;
/// What a bootstrap may lack of the precision that it is made for, in bits.
const OFF: f64 = 1.0;
/// What an iteration may gain less than that, in bits: 4 for errors of many deviations, one since
/// it is a power of two, and one that it lacks.
const LOST: f64 = 6.0;
/// A level of a transform has at most so many stages.
const STAGES: u32 = 6;
/// From so many slots on a transform has two levels at least.
const LEAST_OF_TWO_LEVELS: usize = 32;
/// Where there is a bootstrap.
pub(crate) const PRESETS: &str = "the presets n15s, n15, n16s, n16, n17s and n17 have a bootstrap";
/// The most bits of a special.
const LARGEST_SPECIAL: f64 = 61.0;

/// Checks what can be said before anything is computed.
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
            "there is no bootstrapping at the ring degree 2^{degree}: no limit is known there for the sparse secret of Hamming weight {SPARSE_WEIGHT} under which a \
             modulus is raised; {PRESETS}"
        )));
    }
    Ok(())
}

/// The largest `log2(q0 p)` that keeps the sparse secret safe, where one is known.
fn base_limit(parameters: &Parameters) -> Option<u32> {
    let secret = SecretDistribution::SparseTernary { weight: SPARSE_WEIGHT };
    security::limit(parameters.log_degree(), secret).map(|limit| limit.log2_pq)
}

/// How a precision is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Way {
    /// That of a single bootstrap, in bits after the binary point.
    pub(super) one: f64,
    /// How many there are.
    pub(super) bootstraps: u32,
    /// What is reached, in bits after the binary point.
    pub(super) precision: f64,
}

impl Way {
    /// By one bootstrap.
    pub(super) fn once(precision: f64) -> Self {
        Way { one: precision, bootstraps: 1, precision }
    }

    /// By so many bootstraps, each of the errors of those before, at the least precision that does.
    pub(super) fn iterated(bootstraps: u32, precision: f64) -> Self {
        let others = f64::from(bootstraps - 1);
        Way {
            one: (precision + OFF + others * LOST) / f64::from(bootstraps),
            bootstraps,
            precision,
        }
    }
}

/// What a bootstrap that goes this way is made of.
pub(super) fn literal(
    session: &Session,
    how: &Bootstrapping,
    way: Way,
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
            "a bootstrap with {:.1} bits of precision for values up to {} has to keep {bits:.1} bits of them, which no reduction does ({error}): ask for less precision, or a \
             smaller bound",
            way.one,
            Short(how.bound)
        )),
        other => other,
    })?;
    let ratio = -reduction.epsilon().log2();

    // The error of a slot to that of a coefficient.
    let slot = 0.5 * (all as f64).log2();
    let rounded = rounding(parameters.secret_weight(), 2).log2_std();
    let levels =
        slots.ilog2().div_ceil(STAGES).max(if slots < LEAST_OF_TWO_LEVELS { 1 } else { 2 });
    let radix = f64::from(slots.ilog2().div_ceil(levels));
    // Rounding 2^(radix + 1) entries of each row, 1/sqrt(12) in a coefficient.
    let rows = slot - 0.5 * 12f64.log2() + 0.5 * (radix + 1.0) + 0.5 * f64::from(levels).log2();
    // Entries are 2^-radix and add up to 2^(-radix/2), `x` being of root mean square sqrt((h +
    // 1)/12) beside the bound epsilon.
    let deviation = 0.5 * (f64::from(SPARSE_WEIGHT as u32 + 1) / 12.0).log2();
    let into_slots = bits + SHARE + ratio + deviation + rows + 0.5 * radix;
    let into_coefficients = bits + SHARE + rows - 0.5 * radix;
    let mut back = DftLevel::even(slots, levels, into_coefficients.ceil());
    // The first matrix is applied to all slots, whose errors add up in coefficients that are so
    // much smaller.
    if let Some(first) = back.first_mut() {
        first.scale_bits += (0.5 * (all as f64 / slots as f64).log2()).ceil();
    }
    Ok(BootstrapLiteral {
        slots,
        first_slots: slots < all,
        real: !how.complex,
        order: Order::SlotsToCoefficientsFirst,
        bound: how.bound,
        base_bits: base_bits(parameters, bits + SHARE + ratio, rounded)?,
        sparse_weight: Some(SPARSE_WEIGHT),
        scale_bits: (bits + SHARE + ratio + f64::from(k).log2() + rounded + slot + AMPLIFIED)
            .ceil(),
        coefficients_to_slots: DftLevel::even(slots, levels, into_slots.ceil()),
        slots_to_coefficients: back,
        output_scale_bits: match way.bootstraps {
            1 => settings.scale().log2(),
            // Each result is as precise as one bootstrap is.
            _ => settings.scale().log2().min((way.one + SHARE + settings.overhead()).ceil()),
        },
        output_bits: None,
        precision: (way.bootstraps > 1).then_some(way.precision),
        reduction,
    })
}

/// The reduction whose error is below `2^-(bits + SHARE)` of the message ratio.
fn reduction(k: u32, bits: f64) -> Result<ModularReduction, Error> {
    let error = bits + SHARE;
    // Without an arcsine it is (2 pi epsilon)^2/6 of a value; with one of degree 3 it has been
    // found to be 20 epsilon^4.
    let (arcsine, log2_ratio) = match bits < LEAST_WITH_ARCSINE {
        true => (0, -0.5 * (error + 0.1) - 0.5 * 6.58f64.log2()),
        false => (ARCSINE, -0.25 * (error + 4.4)),
    };
    let log2_ratio = log2_ratio.clamp(-40.0, -4.0);
    Ok(ModularReduction::new(k, log2_ratio, log2_ratio - error, DOUBLINGS, arcsine)?)
}

/// The bits of a base modulus at which what is `bits` bits below it is more than its errors.
fn base_bits(parameters: &Parameters, bits: f64, rounded: f64) -> Result<f64, Error> {
    let limit = match parameters.security() {
        Some(_) => base_limit(parameters).map_or(0.0, f64::from),
        None => f64::INFINITY,
    };
    // A key switch to the sparse secret has an error of sigma sqrt(N/12) q0/p.
    let switched = SIGMA.log2() + 0.5 * (parameters.degree() as f64 / 12.0).log2();
    let special = |base: f64| (limit - base).floor().min(LARGEST_SPECIAL);
    let error = |base: f64| rounded.exp2().hypot((switched + base - special(base)).exp2()).log2();
    // The base has a unit.
    let mut base = parameters.log2(Modulus::of_factor(0));
    while bits + error(base) > base {
        base += 1.0;
        if base > limit || base > 4.0 * LARGEST_SPECIAL {
            return Err(Error::Parameters(format!(
                "a bootstrap with so much precision needs a base modulus with {bits:.0} bits above its errors: with the sparse secret of Hamming weight {SPARSE_WEIGHT} there are too few \
                 at the ring degree 2^{}; {PRESETS}",
                parameters.log_degree()
            )));
        }
    }
    Ok(base)
}

/// The bits of capacity that an array needs to be bootstrapped, in whichever unit.
pub(crate) fn reserve(plan: &BootstrapPlan) -> f64 {
    // The plan counts for values of its bound, capacity for values of the bound that they have; in
    // a unit 2^k these are half of its bound at least. A bit for moduli, none of which is met
    // exactly.
    plan.capacity_needed() + plan.literal().bound.max(1.0).log2() + 2.0
}

/// The bits of capacity that a bootstrap leaves, give or take a few.
pub(crate) fn capacity_after(plan: &BootstrapPlan) -> f64 {
    let literal = plan.literal();
    let raised = plan.context().parameters().log2(plan.raised());
    // Where the first of all slots are bootstrapped, the others are set to zero by a product where
    // they were zero.
    let masked = if literal.first_slots { literal.output_scale_bits } else { 0.0 };
    raised
        - masked
        - plan.bits()
        - literal.output_scale_bits
        - plan.scale_growth()
        - literal.bound.max(1.0).log2()
        - 1.0
}
