//! What a bootstrap does, before there are keys.

use std::sync::Arc;

use hippocrene_rlwe::{self as rlwe, Modulus};

use super::{
    BootstrapLiteral, Order, approximation::Spread, failure::log2_failure_probability,
    gains::ReductionGains, literal::OPERATION,
};
use crate::{
    CkksError, Context, Scale, Short,
    circuits::{Direction, HomomorphicDft, Packing},
};

/// How many bits [`BootstrapPlan::bits`] may be off by, since no modulus is met exactly.
const MARGIN: f64 = 4.0;

/// Number of estimated standard deviations up to which an iteration can bootstrap an error.
///
/// Errors are estimated within a factor of 2. Of `2^15` slots, the error of one exceeds eight
/// deviations (of its real or its imaginary part) with probability `2^-31`, and sixteen with
/// probability `2^-169`.
pub(super) const ITERATION_DEVIATIONS: f64 = 16.0;

/// Bits of the constant that the correction of an iteration is multiplied by.
pub(super) const CORRECTION_BITS: i32 = 6;

/// A bootstrap without keys.
#[derive(Debug, Clone)]
pub struct BootstrapPlan {
    pub(super) context: Arc<Context>,
    pub(super) literal: BootstrapLiteral,
    /// `q0`.
    pub(super) base: Modulus,
    /// What it is raised to.
    pub(super) raised: Modulus,
    /// The context of the sparse secret.
    pub(super) narrow: Option<Arc<rlwe::Context>>,
    pub(super) to_slots: Arc<HomomorphicDft>,
    pub(super) to_coefficients: Arc<HomomorphicDft>,
    /// The scale of the cosine's argument, and near which its polynomial is evaluated.
    pub(super) scale: Scale,
    /// Near which the scale of the reduction's result is.
    pub(super) reduced_scale: Scale,
    /// The scale of the result where it can be exact, and near which it is where it cannot.
    pub(super) output_scale: Scale,
    /// The root mean square of the error of the reduction's polynomials on values up to the bound.
    pub(super) approximation: f64,
    /// The same on the errors that iterations bootstrap.
    pub(super) approximation_of_errors: f64,
    /// What roundings of the reduction are multiplied by.
    pub(super) gains: ReductionGains,
}

impl BootstrapPlan {
    /// Plans a bootstrap: makes the transforms, chooses moduli, and the parameter set of the sparse
    /// secret, which is held to its security limit where the parameters of `context` are secure.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when a number makes no sense or the modulus is too small for these
    /// steps; as [`HomomorphicDft::new`], and [`rlwe::Parameters::encapsulation`].
    pub fn new(context: Arc<Context>, literal: BootstrapLiteral) -> Result<Self, CkksError> {
        literal.check(context.max_slots())?;
        let parameters = context.parameters();
        let base = parameters.grafted_modulus(literal.base_bits);
        let narrow = literal.sparse_weight.map(|weight| narrow(&context, base, weight));
        let narrow = narrow.transpose()?.map(Arc::new);
        let (to_slots, to_coefficients) = transforms(&context, &literal)?;
        let ratio = (literal.bound / literal.reduction.epsilon()).log2();
        // Where errors in slots become errors in coefficients, n of them add up in each slot.
        let summed = match literal.order {
            Order::SlotsToCoefficientsFirst => 0.0,
            Order::SlotsToCoefficientsLast => 0.5 * (literal.slots as f64).log2(),
        };
        let power = |bits: f64| {
            let what = format!("a scale of 2^{}", Short(bits));
            Scale::from_f64(bits.exp2()).ok_or(CkksError::Argument { operation: OPERATION, what })
        };
        let mut plan = BootstrapPlan {
            base,
            raised: parameters.top(),
            narrow,
            to_slots: Arc::new(to_slots),
            to_coefficients: Arc::new(to_coefficients),
            scale: power(literal.scale_bits)?,
            reduced_scale: power(literal.output_scale_bits + ratio + summed)?,
            output_scale: power(literal.output_scale_bits)?,
            approximation: 0.0,
            approximation_of_errors: 0.0,
            gains: literal.reduction.gains(1.0)?,
            context: Arc::clone(&context),
            literal,
        };
        let most = parameters.log2(parameters.top()) - plan.bits();
        let output = plan.literal.output_bits.unwrap_or(0.0).max(plan.least_output_bits());
        if output > most {
            let (top, consumed) = (most + plan.bits(), plan.bits());
            let what = format!(
                "raised to {top:.1} bits, {consumed:.1} are used up: no {output:.1} are left for the result"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        plan.raised = plan.raised_for(plan.literal.output_bits)?;
        let (values, errors) =
            (plan.literal.spread_of_values(), Spread::Normal(ITERATION_DEVIATIONS.recip()));
        let deviation = plan.deviation();
        plan.approximation = plan.literal.approximation_error(deviation, values);
        plan.approximation_of_errors = plan.literal.approximation_error(deviation, errors);
        plan.gains = plan.literal.reduction.gains(deviation)?;
        Ok(plan)
    }

    /// This plan in the dry run of `context`, which was made beside the context of this plan
    /// ([`Context::dry_run_beside`]). Both share the transforms.
    ///
    /// # Errors
    /// [`rlwe::RlweError::Parameters`] when `context` is not one of a dry run.
    pub fn dry_run_beside(&self, context: Arc<Context>) -> Result<Self, CkksError> {
        let sibling = |narrow: &Arc<rlwe::Context>| context.rlwe().dry_run_sibling(narrow);
        let narrow = self.narrow.as_ref().map(sibling).transpose()?.map(Arc::new);
        Ok(BootstrapPlan { context, narrow, ..self.clone() })
    }

    /// The modulus that is raised to where the result is to have a modulus of `output_bits` bits:
    /// the smallest that does, give or take a few bits, and large enough for the result itself;
    /// with `None`, and at most, [`BootstrapPlan::raised`].
    ///
    /// # Errors
    /// [`CkksError::Capacity`] when that is not enough.
    pub fn raised_for(&self, output_bits: Option<f64>) -> Result<Modulus, CkksError> {
        let parameters = self.context.parameters();
        let Some(output) = output_bits else { return Ok(self.raised) };
        let have = self.output_bits();
        if output.is_nan() || output > have {
            return Err(CkksError::Capacity { operation: "bootstrap", need: output, have });
        }
        // A bit more, since no modulus is met exactly.
        let output = output.max(self.least_output_bits());
        let wanted = (self.bits() + output + 1.0).max(parameters.log2(self.base));
        let mut raised = parameters.grafted_modulus(wanted).lcm(self.base);
        let mut more = 1.0;
        while parameters.log2(raised) < wanted && more < 64.0 && raised != parameters.top() {
            raised = parameters.grafted_modulus(wanted + more).lcm(self.base);
            more += 1.0;
        }
        Ok(if parameters.log2(raised) < parameters.log2(self.raised) {
            raised
        } else {
            self.raised
        })
    }

    /// The bits of the modulus without which the last product has no room: its result has the scale
    /// of the reduction, at which values are small.
    fn least_output_bits(&self) -> f64 {
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => self.reduced_scale.log2() + 3.0,
            Order::SlotsToCoefficientsLast => self.output_scale.log2() + 3.0,
        }
    }

    /// The bits of the modulus of the result at most, give or take a few.
    pub fn output_bits(&self) -> f64 {
        self.context.parameters().log2(self.raised) - self.bits()
    }

    /// What to ask of [`Bootstrapper::bootstrap_to`](super::Bootstrapper::bootstrap_to) for a
    /// result with at least `capacity` bits of capacity ([`crate::Ciphertext::capacity_bits`]),
    /// whose scale, bound and iterations take bits of the modulus beside: `None`, which is for all
    /// that the plan has, where that may be too little for it.
    pub fn output_bits_for(&self, capacity: f64) -> Option<f64> {
        Some(capacity + self.beside_capacity()).filter(|bits| *bits <= self.output_bits())
    }

    /// The bits of capacity that results have for certain, where the modulus is raised as far as
    /// the plan has it.
    pub fn certain_capacity(&self) -> f64 {
        self.output_bits() - self.beside_capacity()
    }

    /// The bits of the modulus of a result beside its capacity, at most.
    fn beside_capacity(&self) -> f64 {
        let literal = &self.literal;
        literal.output_scale_bits
            + self.scale_growth()
            + literal.bound.max(1.0).log2()
            + 1.0
            + MARGIN
    }

    /// The largest number of bits by which iterations increase the scale of the result.
    ///
    /// It is the sum of three numbers. The last iteration, which starts below the wanted precision,
    /// adds its `k`. The constant that corrections are multiplied by adds its bits. Taking real
    /// parts adds one bit.
    pub fn scale_growth(&self) -> f64 {
        let grown = |bits: f64| {
            bits - ITERATION_DEVIATIONS.log2()
                + self.literal().bound.log2()
                + f64::from(CORRECTION_BITS)
                + 1.0
        };
        self.literal().precision.map_or(0.0, |bits| grown(bits).max(0.0))
    }

    /// How many bits lie between the modulus that is raised to and that of the result, give or take
    /// a few.
    pub fn bits(&self) -> f64 {
        let scale = self.scale.log2();
        let into_slots = self.to_slots.bits() + self.raised_scale().log2() - scale;
        let bits = into_slots + self.literal.reduction.bits(scale, self.reduced_scale.log2());
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => bits,
            Order::SlotsToCoefficientsLast => bits + self.bits_of_last(),
        }
    }

    /// How many bits slots to coefficients take where they come last.
    pub(super) fn bits_of_last(&self) -> f64 {
        self.to_coefficients.bits() + 0.5 * (self.literal.slots as f64).log2()
    }

    /// The scale of `t/q0` once the coefficients of other powers than those of `X^(N/2n)` have been
    /// summed away: `q0 N/(2n)`.
    pub(super) fn raised_scale(&self) -> Scale {
        let parameters = self.context.parameters();
        let moduli = parameters.limb_moduli(self.base).into_iter();
        let q0 = moduli.fold(Scale::power_of_two(0), Scale::times_integer);
        q0.times_integer((self.context.max_slots() / self.literal.slots) as u64)
    }

    /// The expected Hamming weight of the secret under which the modulus is raised.
    pub(super) fn weight(&self) -> f64 {
        let dense =
            self.context.parameters().secret().expected_weight(self.context.rlwe().degree());
        self.literal.sparse_weight.map_or(dense, |weight| weight as f64)
    }

    /// The standard deviation of the integers that the reduction takes away.
    pub(super) fn deviation(&self) -> f64 {
        ((self.weight() + 1.0) / 12.0).sqrt()
    }

    /// `log2(N/(2n))` where the first `n` of all slots are bootstrapped, else 0: so many bits the
    /// coefficients that count are smaller before the others are summed away.
    pub(super) fn shrunk_bits(&self) -> f64 {
        match self.literal.first_slots {
            true => f64::from((self.context.max_slots() / self.literal.slots).ilog2()),
            false => 0.0,
        }
    }

    /// Whether real slots go into coefficients last. Their complex errors come out in real parts
    /// then, doubled.
    pub(super) fn real_last(&self) -> bool {
        self.literal.real && self.literal.order == Order::SlotsToCoefficientsLast
    }

    /// The slots of what is bootstrapped, and of the result.
    pub fn operand_slots(&self) -> usize {
        if self.literal.first_slots { self.context.max_slots() } else { self.literal.slots }
    }

    /// What was asked for.
    pub fn literal(&self) -> &BootstrapLiteral {
        &self.literal
    }

    /// The context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The modulus `q0` that is raised.
    pub fn base(&self) -> Modulus {
        self.base
    }

    /// The modulus that it is raised to.
    pub fn raised(&self) -> Modulus {
        self.raised
    }

    /// The parameters of the sparse secret.
    pub fn narrow(&self) -> Option<&rlwe::Context> {
        self.narrow.as_deref()
    }

    /// The transform of coefficients to slots.
    pub fn to_slots(&self) -> &HomomorphicDft {
        &self.to_slots
    }

    /// The transform of slots to coefficients.
    pub fn to_coefficients(&self) -> &HomomorphicDft {
        &self.to_coefficients
    }

    /// How many reductions of a whole ciphertext there are: two where complex slots are reduced
    /// part by part.
    pub fn reductions(&self) -> usize {
        if self.to_slots.packing() == Packing::Complex { 2 } else { 1 }
    }

    /// log2 of the probability that a bootstrap fails, in that a coefficient of `I` leaves the
    /// range of the reduction: [`log2_failure_probability`]. The slots are wrong then by more than
    /// their bound.
    pub fn log2_failure_probability(&self) -> f64 {
        let coefficients =
            if self.to_slots.packing() == Packing::Real { 1 } else { 2 } * self.literal.slots;
        log2_failure_probability(
            self.weight().ceil() as usize,
            self.literal.reduction.reach() as u32,
            coefficients,
        )
    }

    /// The bits of capacity ([`crate::Ciphertext::capacity_bits`]) that a ciphertext needs to be
    /// bootstrapped, for values of the bound.
    pub fn capacity_needed(&self) -> f64 {
        let ratio = -self.literal.reduction.epsilon().log2();
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => self.to_coefficients.bits() + ratio,
            Order::SlotsToCoefficientsLast => ratio,
        }
    }
}

/// The context of a sparse secret for ciphertexts modulo `base`, held to its security limit where
/// the parameters of `context` are secure.
pub(crate) fn narrow(
    context: &Context,
    base: Modulus,
    weight: usize,
) -> Result<rlwe::Context, CkksError> {
    let parameters = context.parameters();
    let set = match parameters.security() {
        Some(_) => parameters.encapsulation(base, weight)?,
        None => parameters.encapsulation_insecure(base, weight)?,
    };
    Ok(context.rlwe().sibling(set)?)
}

/// The transforms to slots and to coefficients. What is in the slots between them is `x/reach`.
fn transforms(
    context: &Context,
    literal: &BootstrapLiteral,
) -> Result<(HomomorphicDft, HomomorphicDft), CkksError> {
    let BootstrapLiteral { slots, first_slots, real, order, ref reduction, .. } = *literal;
    let sparse = order == Order::SlotsToCoefficientsLast && 2 * slots <= context.max_slots();
    let packing = match (real, sparse) {
        (true, _) => Packing::Real,
        (false, true) => Packing::SideBySide,
        (false, false) => Packing::Complex,
    };
    let back = if order == Order::SlotsToCoefficientsFirst { Packing::Complex } else { packing };
    // Twice the real and the imaginary parts are taken.
    let parts = if packing == Packing::Complex { 2.0 } else { 1.0 };
    let factor = 1.0 / (parts * reduction.reach());
    let new = HomomorphicDft::with_packing;
    use Direction::{CoefficientsToSlots, SlotsToCoefficients};
    Ok((
        new(context, CoefficientsToSlots, packing, slots, &literal.coefficients_to_slots, factor)?,
        match first_slots {
            true => {
                HomomorphicDft::of_first_slots(context, slots, &literal.slots_to_coefficients, 1.0)?
            }
            false => {
                new(context, SlotsToCoefficients, back, slots, &literal.slots_to_coefficients, 1.0)?
            }
        },
    ))
}
