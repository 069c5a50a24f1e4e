//! The plan of a bootstrap: transforms, scales and moduli, without keys.

use std::sync::Arc;

use hippocrene_rlwe::{self as rlwe, Modulus};

use super::{
    BootstrapLiteral, Order, approximation::Spread, failure::log2_failure_probability,
    gains::ReductionGains, literal::OPERATION,
};
use crate::{
    CkksError, Context, Scale, Short,
    approximation::ModularReduction,
    circuits::{Direction, HomomorphicDft, Packing},
};

/// Largest error of [`BootstrapPlan::bits`] in bits, because grafted moduli only come near a given
/// size. Chosen.
const MAX_ERROR_OF_BITS: f64 = 4.0;

/// Number of estimated standard deviations up to which an iteration can bootstrap an error.
///
/// Errors are estimated within a factor of 2. Of `2^15` slots, the error of one exceeds eight
/// deviations (of its real or its imaginary part) with probability `2^-31`, and sixteen with
/// probability `2^-169`.
pub(super) const ITERATION_DEVIATIONS: f64 = 16.0;

/// Number of bits of the constant that the correction of an iteration is multiplied by. Chosen.
pub(super) const CORRECTION_BITS: i32 = 6;

/// The largest message ratio of sines for smooth functions. Chosen: near 1/7, typical activation
/// functions are polynomials of the lowest degrees in the sine. Functions that rise at the ends of
/// their domain would need higher ones for larger ratios.
const SINE_RATIO_OF_FUNCTIONS: f64 = 1.0 / 6.5;

/// The largest message ratio of sines for tables. The values then fill half of a period, in which
/// the sine is a one-to-one function.
const SINE_RATIO_OF_TABLES: f64 = 1.0 / 4.0;

/// log2 of the ratio of the error of sines to the error of the reduction, which is in turns. It is
/// `2 pi` for the unit, and 1.5 bits for all other kinds of errors.
const LOG2_ERROR_OF_SINES: f64 = 4.15;

/// The scale at the base modulus is set by an integer factor with at least this number of bits. So
/// the actual ratio of sines is at least 15/16 of the largest. Chosen.
const SINE_UNIT_BITS: f64 = 4.0;

/// The purpose of sines from a bootstrap. See [`BootstrapPlan::of_sines`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SineUse {
    /// Polynomials of low degree. The values fill up to 2/6.5 of a period. All scales have as many
    /// bits fewer as the message ratio has more, so that more capacity is left.
    SmoothFunctions,
    /// Tables of many entries. The values fill up to half of a period.
    Tables {
        /// The number of bits by which all scales are reduced, so that more capacity is left
        /// ([`BootstrapPlan::saved_bits_for`]). With 0, the sines have as many more bits of
        /// precision than values as the message ratio has more.
        saved_bits: u32,
    },
}

/// The plan of a bootstrap, without keys.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use hippocrene_ckks::{
///     approximation::ModularReduction,
///     bootstrap::{BootstrapLiteral, BootstrapPlan, Order},
///     circuits::DftLevel,
/// };
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 16, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 5, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::SparseTernary { weight: 192 },
/// # })?;
/// # let context = Arc::new(hippocrene_ckks::Context::new(parameters, Threads::single())?);
///
/// let literal = BootstrapLiteral {
///     slots: 16,
///     first_slots: false,
///     real: true,
///     order: Order::SlotsToCoefficientsLast,
///     bound: 1.0,
///     base_bits: 48.0,
///     sparse_weight: Some(32),
///     reduction: ModularReduction::new(17, -8.0, -36.0, 3, 3)?,
///     scale_bits: 54.0,
///     coefficients_to_slots: DftLevel::even(16, 2, 48.0),
///     slots_to_coefficients: DftLevel::even(16, 2, 35.0),
///     output_scale_bits: 40.0,
///     output_bits: None,
///     precision: None,
/// };
/// let plan = BootstrapPlan::new(Arc::clone(&context), literal)?;
/// assert!(plan.log2_failure_probability() < -100.0);
/// assert!(plan.output_bits() > plan.capacity_needed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BootstrapPlan {
    pub(super) context: Arc<Context>,
    pub(super) literal: BootstrapLiteral,
    /// The modulus `q0` that is raised.
    pub(super) base: Modulus,
    /// The modulus that `q0` is raised to.
    pub(super) raised: Modulus,
    /// The context of the sparse secret.
    pub(super) sparse_context: Option<Arc<rlwe::Context>>,
    pub(super) to_slots: Arc<HomomorphicDft>,
    pub(super) to_coefficients: Arc<HomomorphicDft>,
    /// The scale of the cosine's argument, which is also the approximate scale of its polynomial.
    pub(super) scale: Scale,
    /// The approximate scale of the reduction's result.
    pub(super) reduced_scale: Scale,
    /// The scale of the result, exactly if the moduli allow that and approximately otherwise.
    pub(super) output_scale: Scale,
    /// Root mean square of the error of the reduction's polynomials on values up to the bound.
    pub(super) approximation: f64,
    /// Root mean square of the same error on the errors that iterations bootstrap.
    pub(super) approximation_of_errors: f64,
    /// The factors of the reduction's rounding errors.
    pub(super) gains: ReductionGains,
    /// log2 of the message ratio: of a value of the bound as a share of `q0`.
    pub(super) log2_ratio: f64,
    /// The least number of bits of the factor that sets the scale at the base modulus.
    pub(super) unit_bits: f64,
}

impl BootstrapPlan {
    /// Plans a bootstrap: prepares the transforms, chooses the moduli, and chooses the parameter
    /// set of the sparse secret. That set has to meet its security limit if the parameters of
    /// `context` do.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if a number is out of range or the modulus is too small
    /// for these steps. Fails also as [`HomomorphicDft::new`] and
    /// [`rlwe::Parameters::encapsulation`] do.
    pub fn new(context: Arc<Context>, literal: BootstrapLiteral) -> Result<Self, CkksError> {
        literal.check(context.max_slots())?;
        let parameters = context.parameters();
        let base = parameters.grafted_modulus(literal.base_bits);
        let sparse_context =
            literal.sparse_weight.map(|weight| sparse_context(&context, base, weight));
        let sparse_context = sparse_context.transpose()?.map(Arc::new);
        let (to_slots, to_coefficients) = transforms(&context, &literal)?;
        let ratio = (literal.bound / literal.reduction.epsilon()).log2();
        // If slots to coefficients comes last, errors in slots become errors in coefficients, and
        // `slots` of them add up in each slot.
        let summed = match literal.order {
            Order::SlotsToCoefficientsFirst => 0.0,
            Order::SlotsToCoefficientsLast => 0.5 * (literal.slots as f64).log2(),
        };
        let mut plan = BootstrapPlan {
            base,
            raised: parameters.top(),
            sparse_context,
            to_slots: Arc::new(to_slots),
            to_coefficients: Arc::new(to_coefficients),
            scale: power(literal.scale_bits)?,
            reduced_scale: power(literal.output_scale_bits + ratio + summed)?,
            output_scale: power(literal.output_scale_bits)?,
            approximation: 0.0,
            approximation_of_errors: 0.0,
            gains: literal.reduction.gains(1.0)?,
            log2_ratio: literal.reduction.epsilon().log2(),
            unit_bits: if literal.reduction.is_sine() { SINE_UNIT_BITS } else { 0.0 },
            context: Arc::clone(&context),
            literal,
        };
        let most = parameters.log2(parameters.top()) - plan.bits();
        let output = plan.literal.output_bits.unwrap_or(0.0).max(plan.least_output_bits());
        if output > most {
            let (top, consumed) = (most + plan.bits(), plan.bits());
            let what = format!(
                "the largest modulus has {top:.1} bits and the bootstrap uses {consumed:.1}, so \
                 that fewer than {output:.1} are left for the result"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        plan.raised = plan.raised_for(plan.literal.output_bits)?;
        plan.with_errors()
    }

    /// Returns the plan with the errors of its reduction.
    fn with_errors(mut self) -> Result<Self, CkksError> {
        let (values, errors) =
            (self.literal.spread_of_values(), Spread::Normal(ITERATION_DEVIATIONS.recip()));
        let deviation = self.deviation();
        self.approximation = self.literal.approximation_error(deviation, values);
        self.approximation_of_errors = self.literal.approximation_error(deviation, errors);
        self.gains = self.literal.reduction.gains(deviation)?;
        Ok(self)
    }

    /// Returns the plan of the same bootstraps for complex slots, from a plan for real ones. The
    /// keys of this plan serve it, and both share their matrices. The error of the polynomials is
    /// stated as for real slots.
    ///
    /// It also bootstraps two ciphertexts of real slots at once
    /// ([`Bootstrapper::bootstrap_pair_to`](super::Bootstrapper::bootstrap_pair_to)).
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if this plan is for complex slots, or if slots to
    /// coefficients comes last.
    pub fn of_complex(&self) -> Result<Self, CkksError> {
        let first = self.literal.order == Order::SlotsToCoefficientsFirst;
        let Some(to_slots) = self.to_slots.with_both_parts().filter(|_| first) else {
            let what = "a plan of complex slots needs one of real slots, with slots to \
                        coefficients first"
                .into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        };
        let literal = BootstrapLiteral { real: false, ..self.literal.clone() };
        Ok(BootstrapPlan { to_slots: Arc::new(to_slots), literal, ..self.clone() })
    }

    /// Whether [`BootstrapPlan::of_sines`] is possible.
    pub(super) fn has_sines(&self) -> bool {
        self.literal.order == Order::SlotsToCoefficientsFirst && !self.literal.first_slots
    }

    /// Returns the plan of a single bootstrap whose results are sines
    /// ([`Bootstrapper::bootstrap_to_sines`](super::Bootstrapper::bootstrap_to_sines)), with at
    /// least the relative precision of a single bootstrap of this plan. It is for real slots, also
    /// if this plan is for complex ones. The keys of this plan serve it.
    ///
    /// A function of the values is a function of the sines. So a polynomial after this bootstrap
    /// computes it. The values may fill most of the range, and [`SineUse`] says whether that saves
    /// capacity or adds precision. Polynomials in the sine are Fourier series on a part of the
    /// period (ePrint 2026/367).
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if slots to coefficients comes last or only the first
    /// slots are bootstrapped.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use hippocrene_ckks::{approximation::ModularReduction, circuits::DftLevel};
    /// # use hippocrene_ring::{Threads, primes};
    /// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
    /// use hippocrene_ckks::bootstrap::{BootstrapLiteral, BootstrapPlan, Order, SineUse};
    /// # let parameters = Parameters::new_insecure(ParametersLiteral {
    /// #     log_degree: 8,
    /// #     units: primes::ntt_primes(48, 1 << 8, 16, &[])?,
    /// #     specials: primes::ntt_primes(49, 1 << 8, 5, &[])?,
    /// #     sprout: Sprout::for_degree(8).unwrap(),
    /// #     gadget_rank: 5,
    /// #     secret: SecretDistribution::SparseTernary { weight: 192 },
    /// # })?;
    /// # let context = Arc::new(hippocrene_ckks::Context::new(parameters, Threads::single())?);
    /// # let literal = BootstrapLiteral {
    /// #     slots: 128,
    /// #     first_slots: false,
    /// #     real: true,
    /// #     order: Order::SlotsToCoefficientsFirst,
    /// #     bound: 1.0,
    /// #     base_bits: 48.0,
    /// #     sparse_weight: Some(32),
    /// #     reduction: ModularReduction::new(17, -8.0, -36.0, 3, 3)?,
    /// #     scale_bits: 54.0,
    /// #     coefficients_to_slots: DftLevel::even(128, 2, 48.0),
    /// #     slots_to_coefficients: DftLevel::even(128, 2, 35.0),
    /// #     output_scale_bits: 40.0,
    /// #     output_bits: None,
    /// #     precision: None,
    /// # };
    ///
    /// let plan = BootstrapPlan::new(context, literal)?; // of values
    /// let for_functions = plan.of_sines(SineUse::SmoothFunctions)?;
    /// assert!(for_functions.output_bits() > plan.output_bits());
    ///
    /// // The values fill half of a period for tables.
    /// let for_tables = plan.of_sines(SineUse::Tables { saved_bits: 0 })?;
    /// assert_eq!(for_tables.literal().reduction.epsilon(), 0.25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_sines(&self, sine_use: SineUse) -> Result<Self, CkksError> {
        if !self.has_sines() {
            let what = "sines need slots to coefficients first, and bootstraps of all slots".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let mut plan = self.with_moduli_of_sines(sine_use)?;
        let reduction = &self.literal.reduction;
        let log2_error = match sine_use {
            SineUse::SmoothFunctions => {
                reduction.log2_error() - reduction.epsilon().log2() + plan.log2_ratio
            }
            SineUse::Tables { saved_bits } => reduction.log2_error() + f64::from(saved_bits),
        };
        let (reach, doublings) = (reduction.reach() as u32, reduction.doublings());
        plan.literal.reduction =
            ModularReduction::sine(reach, plan.log2_ratio, log2_error, doublings)?;
        plan.with_errors()
    }

    /// Returns the plan of sines with its scales and moduli, but still with the reduction of this
    /// plan. This is all that its keys depend on.
    pub(super) fn with_moduli_of_sines(&self, sine_use: SineUse) -> Result<Self, CkksError> {
        let mut literal = BootstrapLiteral { real: true, precision: None, ..self.literal.clone() };
        let own = self.literal.reduction.epsilon();
        let saved = match sine_use {
            SineUse::SmoothFunctions => self.most_saved_bits(),
            SineUse::Tables { saved_bits } => saved_bits.min(self.most_saved_bits()),
        };
        let saved = f64::from(saved);
        literal.scale_bits -= saved;
        literal.coefficients_to_slots.iter_mut().for_each(|x| x.scale_bits -= saved);
        let plan = match sine_use {
            SineUse::Tables { .. } => {
                let ratio = SINE_RATIO_OF_TABLES;
                // The larger ratio leaves these bits at the base modulus.
                let unit_bits = (ratio / own).log2().max(SINE_UNIT_BITS);
                BootstrapPlan {
                    scale: power(literal.scale_bits)?,
                    reduced_scale: power(self.reduced_scale.log2() - saved)?,
                    log2_ratio: ratio.log2(),
                    unit_bits,
                    ..self.clone()
                }
            }
            SineUse::SmoothFunctions => {
                let ratio = SINE_RATIO_OF_FUNCTIONS;
                BootstrapPlan {
                    scale: power(literal.scale_bits)?,
                    reduced_scale: power(
                        literal.output_scale_bits + (literal.bound / ratio).log2(),
                    )?,
                    log2_ratio: ratio.log2(),
                    unit_bits: SINE_UNIT_BITS,
                    ..self.clone()
                }
            }
        };
        let to_slots = match saved == 0.0 && self.literal.real {
            true => Arc::clone(&self.to_slots),
            false => Arc::new(transforms(&self.context, &literal)?.0),
        };
        Ok(BootstrapPlan { to_slots, literal, ..plan })
    }

    /// The largest possible [`SineUse::Tables::saved_bits`].
    pub fn most_saved_bits(&self) -> u32 {
        (SINE_RATIO_OF_FUNCTIONS / self.literal.reduction.epsilon()).log2().max(0.0) as u32
    }

    /// Returns the largest [`SineUse::Tables::saved_bits`] with which the error of the sines has at
    /// most this standard deviation, about, or 0 if none has.
    pub fn saved_bits_for(&self, sine_error: f64) -> u32 {
        let own = self.literal.reduction.log2_error() + LOG2_ERROR_OF_SINES;
        ((sine_error.log2() - own).max(0.0) as u32).min(self.most_saved_bits())
    }

    /// Returns this plan for the dry run of `context`, which was made by
    /// [`Context::dry_run_beside`] from the context of this plan. Both plans share the transforms.
    ///
    /// # Errors
    /// Fails with [`rlwe::RlweError::Parameters`] if `context` is not one of a dry run.
    pub fn dry_run_beside(&self, context: Arc<Context>) -> Result<Self, CkksError> {
        let sibling = |sparse: &Arc<rlwe::Context>| context.rlwe().dry_run_sibling(sparse);
        let sparse_context = self.sparse_context.as_ref().map(sibling).transpose()?.map(Arc::new);
        Ok(BootstrapPlan { context, sparse_context, ..self.clone() })
    }

    /// Returns the modulus to raise to for a result with a modulus of `output_bits` bits.
    ///
    /// It is the smallest sufficient one, within a few bits, and large enough for the result
    /// itself. It is at most [`BootstrapPlan::raised`], which is also the modulus for `None`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if that is not enough.
    pub fn raised_for(&self, output_bits: Option<f64>) -> Result<Modulus, CkksError> {
        let parameters = self.context.parameters();
        let Some(output) = output_bits else { return Ok(self.raised) };
        let have = self.output_bits();
        if output.is_nan() || output > have {
            return Err(CkksError::Capacity { operation: "bootstrap", need: output, have });
        }
        // One bit more, because grafted moduli only come near a given size.
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

    /// Returns the smallest number of bits of the result's modulus. The result of the last product
    /// has the scale of the reduction, at which values are small, and has to fit.
    fn least_output_bits(&self) -> f64 {
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => self.reduced_scale.log2() + 3.0,
            Order::SlotsToCoefficientsLast => self.output_scale.log2() + 3.0,
        }
    }

    /// Returns the largest number of bits of the result's modulus, within a few bits.
    pub fn output_bits(&self) -> f64 {
        self.context.parameters().log2(self.raised) - self.bits()
    }

    /// Returns the `output_bits` to pass to
    /// [`Bootstrapper::bootstrap_to`](super::Bootstrapper::bootstrap_to) for a result with at least
    /// `capacity` bits of capacity ([`crate::Ciphertext::capacity_bits`]).
    ///
    /// The scale, the bound and the iterations use further bits of the modulus. It returns `None`,
    /// which stands for the largest modulus of the plan, if that may be too small.
    pub fn output_bits_for(&self, capacity: f64) -> Option<f64> {
        Some(capacity + self.beside_capacity()).filter(|bits| *bits <= self.output_bits())
    }

    /// Returns the capacity in bits that results are guaranteed to have if the modulus is raised as
    /// far as the plan allows.
    pub fn guaranteed_capacity(&self) -> f64 {
        self.output_bits() - self.beside_capacity()
    }

    /// Returns the largest number of bits of a result's modulus that are not capacity.
    fn beside_capacity(&self) -> f64 {
        let literal = &self.literal;
        literal.output_scale_bits
            + self.scale_growth()
            + literal.bound.max(1.0).log2()
            + 1.0
            + MAX_ERROR_OF_BITS
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

    /// Returns the number of bits between the raised modulus and that of the result, within a few
    /// bits.
    pub fn bits(&self) -> f64 {
        let scale = self.scale.log2();
        let into_slots = self.to_slots.bits() + self.raised_scale().log2() - scale;
        let bits = into_slots + self.literal.reduction.bits(scale, self.reduced_scale.log2());
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => bits,
            Order::SlotsToCoefficientsLast => bits + self.bits_of_last(),
        }
    }

    /// Returns the bits that slots to coefficients uses if it comes last.
    pub(super) fn bits_of_last(&self) -> f64 {
        self.to_coefficients.bits() + 0.5 * (self.literal.slots as f64).log2()
    }

    /// Returns the scale of `t/q0` after only the coefficients of powers of `X^(N/2n)` are left in
    /// the sum: `q0 N/(2n)`.
    pub(super) fn raised_scale(&self) -> Scale {
        self.base_scale().times_integer((self.context.max_slots() / self.literal.slots) as u64)
    }

    /// Returns `q0` as a scale.
    pub(super) fn base_scale(&self) -> Scale {
        let moduli = self.context.parameters().limb_moduli(self.base).into_iter();
        moduli.fold(Scale::power_of_two(0), Scale::times_integer)
    }

    /// The expected Hamming weight of the secret under which the modulus is raised.
    pub(super) fn weight(&self) -> f64 {
        let dense =
            self.context.parameters().secret().expected_weight(self.context.rlwe().degree());
        self.literal.sparse_weight.map_or(dense, |weight| weight as f64)
    }

    /// Returns the standard deviation of the integers that the reduction removes.
    pub(super) fn deviation(&self) -> f64 {
        ((self.weight() + 1.0) / 12.0).sqrt()
    }

    /// Returns the number of bits by which the meaningful coefficients are smaller before the
    /// others are removed: `log2(N/(2n))` if only the first `n` of all slots are bootstrapped,
    /// otherwise 0.
    pub(super) fn shrunk_bits(&self) -> f64 {
        match self.literal.first_slots {
            true => f64::from((self.context.max_slots() / self.literal.slots).ilog2()),
            false => 0.0,
        }
    }

    /// Whether the slots are real and slots to coefficients comes last. Complex errors then appear
    /// in the real parts, doubled.
    pub(super) fn real_last(&self) -> bool {
        self.literal.real && self.literal.order == Order::SlotsToCoefficientsLast
    }

    /// Returns the bits of the base modulus above the values: the message ratio and the unit.
    pub(super) fn extra_bits(&self) -> f64 {
        self.unit_bits - self.log2_ratio
    }

    /// The number of slots of the operand and of the result.
    pub fn operand_slots(&self) -> usize {
        if self.literal.first_slots { self.context.max_slots() } else { self.literal.slots }
    }

    /// The parameters that the plan was made from.
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

    /// The modulus that `q0` is raised to.
    pub fn raised(&self) -> Modulus {
        self.raised
    }

    /// The RLWE context of the sparse secret, if there is one.
    pub fn sparse_context(&self) -> Option<&rlwe::Context> {
        self.sparse_context.as_deref()
    }

    /// The transform of coefficients to slots.
    pub fn to_slots(&self) -> &HomomorphicDft {
        &self.to_slots
    }

    /// The transform of slots to coefficients.
    pub fn to_coefficients(&self) -> &HomomorphicDft {
        &self.to_coefficients
    }

    /// Returns the number of reductions of a whole ciphertext: two if the parts of complex slots
    /// are reduced separately, otherwise one.
    pub fn reductions(&self) -> usize {
        if self.to_slots.packing() == Packing::Complex { 2 } else { 1 }
    }

    /// log2 of the probability that a bootstrap fails because a coefficient of `I` leaves the range
    /// of the reduction: [`log2_failure_probability`]. The slots are then wrong by more than their
    /// bound.
    pub fn log2_failure_probability(&self) -> f64 {
        let coefficients =
            if self.to_slots.packing() == Packing::Real { 1 } else { 2 } * self.literal.slots;
        log2_failure_probability(
            self.weight().ceil() as usize,
            self.literal.reduction.reach() as u32,
            coefficients,
        )
    }

    /// The bits of capacity ([`crate::Ciphertext::capacity_bits`]) that a ciphertext with values up
    /// to the bound needs to be bootstrapped.
    pub fn capacity_needed(&self) -> f64 {
        match self.literal.order {
            Order::SlotsToCoefficientsFirst => self.to_coefficients.bits() + self.extra_bits(),
            Order::SlotsToCoefficientsLast => self.extra_bits(),
        }
    }
}

/// Returns the scale with this number of bits.
pub(super) fn power(bits: f64) -> Result<Scale, CkksError> {
    let what = format!("a scale of 2^{}", Short(bits));
    Scale::from_f64(bits.exp2()).ok_or(CkksError::Argument { operation: OPERATION, what })
}

/// Creates the context of a sparse secret for ciphertexts modulo `base`. Its parameters have to
/// meet their security limit if those of `context` do.
pub(crate) fn sparse_context(
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

/// Prepares the transforms to slots and to coefficients. Between them, the slots hold `x/reach`.
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
    // The transform returns twice the real and twice the imaginary parts.
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
