//! The plan of a bootstrap of bits: transforms, moduli and scales, without keys.

use std::sync::Arc;

use hippocrene_rlwe::{self as rlwe, EncapsulationKeys, EvaluationKeys, Modulus, SecretKey};

use super::{BitPacking, CERTAIN_ERROR_BOUND, DEVIATIONS, ciphertext::log2_tail};
use crate::{
    CkksError, Context, Scale, Short,
    approximation::Wave,
    bootstrap::{log2_failure_probability, sparse_context},
    circuits::{DftLevel, Direction, HomomorphicDft, Packing},
};

const OPERATION: &str = "plan a bootstrap of bits";

/// Bits by which the scale falls with each doubling of the angle: see
/// [`crate::Evaluator::reduce_modulo_one`].
const SCALE_LOSS_PER_DOUBLING_BITS: f64 = 1.5;

/// Difference of two moduli, in bits, below which a ciphertext cannot be brought from one to the
/// other. Chosen.
const MIN_MODULUS_DIFFERENCE_BITS: f64 = 48.0;

/// The parameters of a bootstrap of bits. It uses all `N/2` slots. See [`BitPlan`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct BitLiteral {
    /// The packing of the bits.
    pub packing: BitPacking,
    /// Bits of the modulus `q0` that is raised. It is the first unit if that has this size.
    /// Otherwise it is the nearest grafted modulus, which has to contain a unit. Positions on the
    /// circle are multiples of `q0/4`.
    pub base_bits: f64,
    /// Hamming weight of the sparse secret under which the modulus is raised.
    pub sparse_weight: usize,
    /// The polynomial and the doublings that evaluate the cosine.
    pub wave: Wave,
    /// Bits of the scale of the cosine's argument.
    ///
    /// The scale falls by one bit with each product of the polynomial until it has fallen by
    /// [`BitLiteral::falling_bits`]. Most arguments `x/k` are small. There `T_2` is near -1, and
    /// `T_(2m) = T_m(T_2)` multiplies an error of `T_2` by up to `m^2`, an error of `T_4` by a
    /// fourth of that, and so on. So the first products have to be the most precise ones (GRAFT
    /// F.1); 3 extra bits suffice. A simple chain offers no choice of scales.
    pub scale_bits: f64,
    /// Bits by which the scale falls between the argument and the end of the cosine's polynomial:
    /// see [`BitLiteral::scale_bits`].
    pub falling_bits: f64,
    /// Levels of the transform of coefficients to slots, in the order in which they are applied.
    pub coefficients_to_slots: Vec<DftLevel>,
    /// Levels of the transform of slots to coefficients, in the order in which they are applied.
    pub slots_to_coefficients: Vec<DftLevel>,
    /// Bits of the scale of bits. Results have exactly this scale.
    pub bit_scale: u32,
    /// Whether results are cleaned ([`crate::Evaluator::clean_bits`]), which uses two more
    /// products. Gates that use these two products anyway are not cleaned.
    pub clean: bool,
    /// Bits of the modulus that the result of any gate should have, within a few bits. The modulus
    /// is raised no further than this requires (GRAFT F.2). `None` raises it to the largest
    /// modulus.
    pub output_bits: Option<f64>,
}

impl BitLiteral {
    /// Returns `count` levels of a transform of all slots, each with a scale of `scale_bits` bits.
    pub fn levels(context: &Context, count: u32, scale_bits: f64) -> Vec<DftLevel> {
        DftLevel::even(context.max_slots(), count, scale_bits)
    }

    /// Returns the modulus `q0` for these parameters ([`BitLiteral::base_bits`]).
    pub fn base(&self, parameters: &rlwe::Parameters) -> Modulus {
        Self::base_of(self.base_bits, parameters)
    }

    /// Returns the modulus that [`BitLiteral::base`] chooses for `bits` bits.
    pub fn base_of(bits: f64, parameters: &rlwe::Parameters) -> Modulus {
        // A first unit of this size has fewer limbs than a grafted modulus with the same number of
        // bits.
        let unit = Modulus::of_factor(0);
        match (parameters.log2(unit) - bits).abs() < 0.5 {
            true => unit,
            false => parameters.grafted_modulus(bits),
        }
    }
}

/// The plan of a bootstrap of bits, without keys.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use hippocrene_ckks::{approximation::Wave, bits::{BitLiteral, BitPacking, BitPlan}};
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let units = [primes::ntt_primes(28, 64, 1, &[])?, primes::ntt_primes(48, 64, 9,
/// &[])?].concat();
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 6,
/// #     units,
/// #     specials: primes::ntt_primes(49, 64, 4, &[])?,
/// #     sprout: Sprout::for_degree(6).unwrap(),
/// #     gadget_rank: 4,
/// #     secret: SecretDistribution::SparseTernary { weight: 32 },
/// # })?;
/// # let context = Arc::new(hippocrene_ckks::Context::new(parameters, Threads::single())?);
///
/// let literal = BitLiteral {
///     packing: BitPacking::Real,
///     base_bits: 28.0,
///     sparse_weight: 32,
///     wave: Wave::new(17, 3, -12.0)?,
///     scale_bits: 33.0,
///     falling_bits: 3.0,
///     coefficients_to_slots: BitLiteral::levels(&context, 2, 30.0),
///     slots_to_coefficients: BitLiteral::levels(&context, 2, 16.0),
///     bit_scale: 28,
///     clean: true,
///     output_bits: None,
/// };
/// let plan = BitPlan::new(Arc::clone(&context), literal)?;
/// assert_eq!(plan.capacity(), 32);
/// assert!(plan.log2_failure_probability() < -100.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BitPlan {
    context: Arc<Context>,
    literal: BitLiteral,
    base: Modulus,
    raised: Modulus,
    sparse_context: rlwe::Context,
    pub(super) to_slots: HomomorphicDft,
    pub(super) to_coefficients: HomomorphicDft,
    /// The scale of the cosine's argument.
    scale: Scale,
}

impl BitPlan {
    /// Plans a bootstrap: prepares the transforms, chooses the moduli, and chooses the parameter
    /// set of the sparse secret. That set has to meet its security limit if the parameters of
    /// `context` do.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if a number is out of range or the modulus is too small
    /// for these steps. Fails also as [`HomomorphicDft::new`] and
    /// [`rlwe::Parameters::encapsulation`] do.
    pub fn new(context: Arc<Context>, literal: BitLiteral) -> Result<Self, CkksError> {
        for (what, bits) in [
            ("scales that fall by", Some(literal.falling_bits)),
            ("results of", literal.output_bits),
        ] {
            if let Some(bits) = bits.filter(|bits| !(bits.is_finite() && *bits >= 0.0)) {
                return Err(CkksError::Argument {
                    operation: OPERATION,
                    what: format!("{what} {} bits", Short(bits)),
                });
            }
        }
        let end = literal.scale_bits - literal.falling_bits;
        let numbers = [literal.base_bits, literal.scale_bits, end, f64::from(literal.bit_scale)];
        if let Some(bits) = numbers.iter().find(|bits| !(4.0..=1e3).contains(*bits)) {
            let what = format!("a modulus or scale of {} bits", Short(*bits));
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let parameters = context.parameters();
        let base = literal.base(parameters);
        let (packing, parts) = match literal.packing {
            BitPacking::Real => (Packing::Real, 1.0),
            // The transform returns twice the real and twice the imaginary parts.
            BitPacking::Complex => (Packing::Complex, 2.0),
        };
        let factor = 1.0 / (parts * f64::from(literal.wave.reach()));
        let slots = context.max_slots();
        let dft = |direction, packing, levels: &[DftLevel], factor| {
            HomomorphicDft::with_packing(&context, direction, packing, slots, levels, factor)
        };
        let mut plan = BitPlan {
            sparse_context: sparse_context(&context, base, literal.sparse_weight)?,
            to_slots: dft(
                Direction::CoefficientsToSlots,
                packing,
                &literal.coefficients_to_slots,
                factor,
            )?,
            to_coefficients: dft(
                Direction::SlotsToCoefficients,
                Packing::Complex,
                &literal.slots_to_coefficients,
                1.0,
            )?,
            scale: cosine_scale(&literal, 0),
            base,
            raised: parameters.top(),
            context: Arc::clone(&context),
            literal,
        };
        plan.raised = plan.choose_raised()?;
        Ok(plan)
    }

    /// Chooses the smallest modulus to raise to that leaves results with
    /// [`BitLiteral::output_bits`].
    fn choose_raised(&self) -> Result<Modulus, CkksError> {
        let parameters = self.context.parameters();
        let (top, used) = (parameters.log2(parameters.top()), self.bits());
        let min_output_bits = f64::from(self.literal.bit_scale) + 2.0;
        let output = self.literal.output_bits.unwrap_or(0.0).max(min_output_bits);
        if used + output > top {
            let what = format!(
                "the largest modulus has {top:.1} bits and the bootstrap uses {used:.1}, so that \
                 fewer than {output:.1} are left for the result"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        if self.literal.output_bits.is_none() {
            return Ok(parameters.top());
        }
        // One bit more, because grafted moduli only come near a given size.
        let wanted = (used + output + 1.0).max(parameters.log2(self.base));
        let candidates =
            (0..64).map(|more| parameters.grafted_modulus(wanted + f64::from(more)).lcm(self.base));
        Ok(candidates
            .into_iter()
            .find(|m| parameters.log2(*m) >= wanted)
            .unwrap_or(parameters.top()))
    }

    /// Bits of modulus that [`super::BitBootstrapper::refresh`] or a gate of two bits uses, cleaned
    /// or not: the difference between the raised modulus and that of the result, within a few bits.
    pub fn modulus_bits_of_refresh(&self) -> f64 {
        self.bits() - if self.literal.clean { 0.0 } else { 2.0 * f64::from(self.literal.bit_scale) }
    }

    /// Bits of modulus that the most expensive gates use. They need two products more than the
    /// cosine.
    pub fn bits(&self) -> f64 {
        let mut at = self.scale.log2();
        let mut bits = self.to_slots.bits() + self.context.parameters().log2(self.base) - at;
        for depth in 1..=self.literal.wave.polynomial().depth() {
            let next = self.cosine_scale(depth).log2();
            bits += 2.0 * at - next;
            at = next;
        }
        for next in self.squaring_scales_log2(self.literal.wave.doublings()) {
            bits += 2.0 * at - next;
            at = next;
        }
        bits + 2.0 * f64::from(self.literal.bit_scale)
    }

    /// log2 of the scales to which the `count` squarings after the cosine's polynomial are
    /// rescaled.
    pub(super) fn squaring_scales_log2(&self, count: u32) -> Vec<f64> {
        let last = f64::from(self.literal.bit_scale);
        let end = self.cosine_scale(self.literal.wave.polynomial().depth()).log2();
        (1..=count)
            .map(|i| match i == count {
                true => last,
                false => (end - SCALE_LOSS_PER_DOUBLING_BITS * f64::from(i)).max(last),
            })
            .collect()
    }

    /// The approximate scale after `depth` products in the cosine's polynomial.
    pub(super) fn cosine_scale(&self, depth: usize) -> Scale {
        cosine_scale(&self.literal, depth)
    }

    /// The parameters that the plan was made from.
    pub fn literal(&self) -> &BitLiteral {
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

    /// The RLWE context of the sparse secret.
    pub fn sparse_context(&self) -> &rlwe::Context {
        &self.sparse_context
    }

    /// Returns the number of bits that a ciphertext holds.
    pub fn capacity(&self) -> usize {
        self.literal.packing.bits(self.context.max_slots())
    }

    /// The scale of bits.
    pub fn bit_scale(&self) -> Scale {
        Scale::power_of_two(self.literal.bit_scale as i32)
    }

    /// One turn of the circle, `q0`, as a scale.
    pub(super) fn turn(&self) -> Scale {
        let moduli = self.context.parameters().limb_moduli(self.base).into_iter();
        moduli.fold(Scale::power_of_two(0), Scale::times_integer)
    }

    /// Bits of modulus that a ciphertext at [`BitPlan::bit_scale`] needs to be bootstrapped. At any
    /// other scale it needs a few more.
    pub fn bits_needed(&self) -> f64 {
        // Positions on the circle are at the scale q0/4.
        self.to_coefficients.bits() + f64::from(self.literal.bit_scale) + 2.0
    }

    /// The modulus of all cleaned results, whatever the gate, so that they can be combined without
    /// moving any of them.
    pub fn output_modulus(&self) -> Modulus {
        let parameters = self.context.parameters();
        // One bit less, because grafted moduli only come near a given size.
        parameters.grafted_modulus(parameters.log2(self.raised) - self.bits() - 1.0)
    }

    /// The modulus for bits that are about to be bootstrapped.
    ///
    /// It is the smallest modulus that the bootstrap accepts. If results are cleaned and
    /// [`BitPlan::output_modulus`] is only slightly larger, it is that one. Fresh bits and results
    /// then have the same modulus, which matters because a ciphertext cannot be moved between
    /// moduli of nearly the same size.
    pub fn input_modulus(&self) -> Modulus {
        let (parameters, need) = (self.context.parameters(), self.bits_needed());
        let output = self.output_modulus();
        let larger = parameters.log2(output) - need;
        if self.literal.clean && (0.0..MIN_MODULUS_DIFFERENCE_BITS).contains(&larger) {
            return output;
        }
        let candidates = (0..64).map(|more| parameters.grafted_modulus(need + f64::from(more)));
        candidates.into_iter().find(|m| parameters.log2(*m) >= need).unwrap_or(parameters.top())
    }

    /// log2 of the probability that a bootstrap fails, at the largest errors that
    /// [`CERTAIN_ERROR_BOUND`] allows.
    ///
    /// It fails if a coefficient of `I` leaves the reach of the cosine
    /// ([`log2_failure_probability`]) or if one of the `N/2` or `N` bits turns into its complement.
    pub fn log2_failure_probability(&self) -> f64 {
        let bits = self.capacity();
        let range =
            log2_failure_probability(self.literal.sparse_weight, self.literal.wave.reach(), bits);
        let tail = log2_tail(DEVIATIONS * 0.5 / CERTAIN_ERROR_BOUND) + (bits as f64).log2();
        let (high, low) = if range > tail { (range, tail) } else { (tail, range) };
        high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
    }

    /// The numbers of slots of the rotations whose keys are needed.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all = [self.to_slots.rotations(), self.to_coefficients.rotations()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Adds the keys of rotations, conjugation and products that the bootstrap needs.
    ///
    /// # Errors
    /// Fails if `secret` or `keys` belong to other parameters.
    pub fn add_keys(&self, keys: &mut EvaluationKeys, secret: &SecretKey) -> Result<(), CkksError> {
        let rlwe = self.context.rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        keys.add_rotations(rlwe, secret, self.rotations())?;
        Ok(keys.add_conjugation(rlwe, secret)?)
    }

    /// Generates the keys that encapsulate the sparse secret.
    ///
    /// # Errors
    /// Fails if `secret` belongs to other parameters.
    pub fn encapsulation_keys(&self, secret: &SecretKey) -> Result<EncapsulationKeys, CkksError> {
        let top = self.context.parameters().top();
        Ok(EncapsulationKeys::generate(self.context.rlwe(), &self.sparse_context, secret, top)?)
    }
}

/// The approximate scale after `depth` products in the cosine's polynomial.
fn cosine_scale(literal: &BitLiteral, depth: usize) -> Scale {
    let bits = literal.scale_bits - (depth as f64).min(literal.falling_bits);
    Scale::from_f64(bits.exp2()).expect("the bits are between 4 and 1000")
}
