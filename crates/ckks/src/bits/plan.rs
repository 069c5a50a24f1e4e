//! What a bootstrap of bits does, before there are keys.

use std::sync::Arc;

use hippocrene_rlwe::{self as rlwe, EncapsulationKeys, EvaluationKeys, Modulus, SecretKey};

use super::{BitPacking, CERTAIN, DEVIATIONS, ciphertext::log2_tail};
use crate::{
    CkksError, Context, Scale, Short,
    approximation::Wave,
    bootstrap::{log2_failure_probability, narrow},
    circuits::{DftLevel, Direction, HomomorphicDft, Packing},
};

const OPERATION: &str = "plan a bootstrap of bits";

/// By how many bits scales fall with each doubling: see [`crate::Evaluator::reduce_modulo_one`].
const DOUBLING: f64 = 1.5;

/// A modulus larger by fewer bits leaves no room to bring a ciphertext from it to another.
const LITTLE: f64 = 48.0;

/// What a bootstrap of bits is to be, as it is written down. All `N/2` slots are used.
#[derive(Debug, Clone, PartialEq)]
pub struct BitLiteral {
    /// Where the bits are.
    pub packing: BitPacking,
    /// The bits of the modulus `q0` that is raised: the first unit if it has so many, else the
    /// grafted modulus nearest to it, which has to have a unit. Positions on the circle are
    /// quarters of it.
    pub base_bits: f64,
    /// The Hamming weight of the sparse secret under which the modulus is raised.
    pub sparse_weight: usize,
    /// The cosine.
    pub wave: Wave,
    /// The bits of the scale of the cosine's argument, and how many more than at the end of its
    /// polynomial: each product takes one of them until there.
    ///
    /// Arguments `x/k` are small for most: `T_2` is near -1 there, and `T_(2m) = T_m(T_2)`
    /// multiplies an error of it by up to `m^2`, one of `T_4` by a fourth of that, and so on. So
    /// the first products want to be the most precise ones (GRAFT F.1); 3 bits do. On a simple
    /// chain there are none to choose.
    pub scale_bits: f64,
    /// See [`BitLiteral::scale_bits`].
    pub falling_bits: f64,
    /// The levels of the transform of coefficients to slots, the first one first.
    pub coefficients_to_slots: Vec<DftLevel>,
    /// The levels of the transform of slots to coefficients.
    pub slots_to_coefficients: Vec<DftLevel>,
    /// The bits of the scale of bits: results have exactly this scale.
    pub bit_scale: u32,
    /// Whether results are cleaned ([`crate::Evaluator::clean_bits`]), by two products more; those
    /// of gates that have these anyway are not.
    pub clean: bool,
    /// The bits of the modulus that the result of any gate is to have, give or take a few: the
    /// modulus is raised no further than they need (GRAFT F.2). `None` for as many as possible.
    pub output_bits: Option<f64>,
}

impl BitLiteral {
    /// `count` levels of a transform of all slots, all of so many bits.
    pub fn levels(context: &Context, count: u32, scale_bits: f64) -> Vec<DftLevel> {
        DftLevel::even(context.max_slots(), count, scale_bits)
    }

    /// The modulus `q0` of these parameters ([`BitLiteral::base_bits`]).
    pub fn base(&self, parameters: &rlwe::Parameters) -> Modulus {
        Self::base_of(self.base_bits, parameters)
    }

    /// [`BitLiteral::base`] of so many bits.
    pub fn base_of(bits: f64, parameters: &rlwe::Parameters) -> Modulus {
        // A first unit that is made for it has fewer limbs than what the sprout makes of as many
        // bits.
        let unit = Modulus::of_factor(0);
        match (parameters.log2(unit) - bits).abs() < 0.5 {
            true => unit,
            false => parameters.grafted_modulus(bits),
        }
    }
}

/// A bootstrap of bits without keys.
#[derive(Debug)]
pub struct BitPlan {
    context: Arc<Context>,
    literal: BitLiteral,
    base: Modulus,
    raised: Modulus,
    narrow: rlwe::Context,
    pub(super) to_slots: HomomorphicDft,
    pub(super) to_coefficients: HomomorphicDft,
    /// Of the cosine's argument.
    scale: Scale,
}

impl BitPlan {
    /// Plans it: makes the transforms, chooses moduli, and the parameter set of the sparse secret,
    /// which is held to its security limit where the parameters of `context` are secure.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when a number makes no sense or the modulus is too small for these
    /// steps; as [`HomomorphicDft::new`], and [`rlwe::Parameters::encapsulation`].
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
            // Twice the real and the imaginary parts are taken.
            BitPacking::Complex => (Packing::Complex, 2.0),
        };
        let factor = 1.0 / (parts * f64::from(literal.wave.reach()));
        let slots = context.max_slots();
        let dft = |direction, packing, levels: &[DftLevel], factor| {
            HomomorphicDft::with_packing(&context, direction, packing, slots, levels, factor)
        };
        let mut plan = BitPlan {
            narrow: narrow(&context, base, literal.sparse_weight)?,
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

    /// The smallest modulus from which results have the bits that are asked for.
    fn choose_raised(&self) -> Result<Modulus, CkksError> {
        let parameters = self.context.parameters();
        let (top, used) = (parameters.log2(parameters.top()), self.bits());
        let least = f64::from(self.literal.bit_scale) + 2.0;
        let output = self.literal.output_bits.unwrap_or(0.0).max(least);
        if used + output > top {
            let what = format!(
                "raised to {top:.1} bits, {used:.1} are used up: no {output:.1} are left for the result"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        if self.literal.output_bits.is_none() {
            return Ok(parameters.top());
        }
        // A bit more, since no modulus is met exactly.
        let wanted = (used + output + 1.0).max(parameters.log2(self.base));
        let candidates =
            (0..64).map(|more| parameters.grafted_modulus(wanted + f64::from(more)).lcm(self.base));
        Ok(candidates
            .into_iter()
            .find(|m| parameters.log2(*m) >= wanted)
            .unwrap_or(parameters.top()))
    }

    /// How many bits lie between the modulus that is raised to and that of the result of
    /// [`super::BitBootstrapper::refresh`] or of a gate of two bits, cleaned or not, give or take a
    /// few.
    pub fn bits_of_refresh(&self) -> f64 {
        self.bits() - if self.literal.clean { 0.0 } else { 2.0 * f64::from(self.literal.bit_scale) }
    }

    /// The same for those gates that use up most: two products more than the cosine.
    pub fn bits(&self) -> f64 {
        let mut at = self.scale.log2();
        let mut bits = self.to_slots.bits() + self.context.parameters().log2(self.base) - at;
        for depth in 1..=self.literal.wave.polynomial().depth() {
            let next = self.cosine_scale(depth).log2();
            bits += 2.0 * at - next;
            at = next;
        }
        for step in self.steps(self.literal.wave.doublings()) {
            bits += 2.0 * at - step;
            at = step;
        }
        bits + 2.0 * f64::from(self.literal.bit_scale)
    }

    /// log2 of the scales that so many squarings after the cosine's polynomial are rescaled to.
    pub(super) fn steps(&self, count: u32) -> Vec<f64> {
        let last = f64::from(self.literal.bit_scale);
        let end = self.cosine_scale(self.literal.wave.polynomial().depth()).log2();
        (1..=count)
            .map(|i| match i == count {
                true => last,
                false => (end - DOUBLING * f64::from(i)).max(last),
            })
            .collect()
    }

    /// Near which the scale is, so many products deep in the cosine's polynomial.
    pub(super) fn cosine_scale(&self, depth: usize) -> Scale {
        cosine_scale(&self.literal, depth)
    }

    /// What was asked for.
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

    /// The modulus that it is raised to.
    pub fn raised(&self) -> Modulus {
        self.raised
    }

    /// The parameters of the sparse secret.
    pub fn narrow(&self) -> &rlwe::Context {
        &self.narrow
    }

    /// How many bits a ciphertext holds.
    pub fn capacity(&self) -> usize {
        self.literal.packing.bits(self.context.max_slots())
    }

    /// The scale of bits.
    pub fn bit_scale(&self) -> Scale {
        Scale::power_of_two(self.literal.bit_scale as i32)
    }

    /// `q0`, as a scale: a turn of the circle.
    pub(super) fn turn(&self) -> Scale {
        let moduli = self.context.parameters().limb_moduli(self.base).into_iter();
        moduli.fold(Scale::power_of_two(0), Scale::times_integer)
    }

    /// The bits of the modulus that bits at [`BitPlan::bit_scale`] need to be bootstrapped. At any
    /// other scale they need a few more.
    pub fn bits_needed(&self) -> f64 {
        // Positions on the circle are at the scale q0/4.
        self.to_coefficients.bits() + f64::from(self.literal.bit_scale) + 2.0
    }

    /// The modulus of all results that are cleaned, whatever the gate, so that they meet in others
    /// as they are.
    pub fn output_modulus(&self) -> Modulus {
        let parameters = self.context.parameters();
        // A bit for moduli, none of which is met exactly.
        parameters.grafted_modulus(parameters.log2(self.raised) - self.bits() - 1.0)
    }

    /// The modulus for bits that are to be bootstrapped: the least, or [`BitPlan::output_modulus`]
    /// where results are cleaned and that is little larger, so that fresh bits and results have one
    /// modulus. (Between moduli of nearly one size nothing can be brought from one to the other.)
    pub fn input_modulus(&self) -> Modulus {
        let (parameters, need) = (self.context.parameters(), self.bits_needed());
        let output = self.output_modulus();
        let larger = parameters.log2(output) - need;
        if self.literal.clean && (0.0..LITTLE).contains(&larger) {
            return output;
        }
        let candidates = (0..64).map(|more| parameters.grafted_modulus(need + f64::from(more)));
        candidates.into_iter().find(|m| parameters.log2(*m) >= need).unwrap_or(parameters.top())
    }

    /// log2 of the probability that a bootstrap fails, in that a coefficient of `I` leaves the
    /// reach of the cosine, [`log2_failure_probability`], or that one of the `N/2` or `N` bits is
    /// taken for the other, where operands are as uncertain as [`CERTAIN`] allows.
    pub fn log2_failure_probability(&self) -> f64 {
        let bits = self.capacity();
        let range =
            log2_failure_probability(self.literal.sparse_weight, self.literal.wave.reach(), bits);
        let tail = log2_tail(DEVIATIONS * 0.5 / CERTAIN) + (bits as f64).log2();
        let (high, low) = if range > tail { (range, tail) } else { (tail, range) };
        high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
    }

    /// The rotations whose keys are needed.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all = [self.to_slots.rotations(), self.to_coefficients.rotations()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Adds the keys of rotations, conjugation and products that are needed.
    ///
    /// # Errors
    /// When a key does not fit.
    pub fn add_keys(&self, keys: &mut EvaluationKeys, secret: &SecretKey) -> Result<(), CkksError> {
        let rlwe = self.context.rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        keys.add_rotations(rlwe, secret, self.rotations())?;
        Ok(keys.add_conjugation(rlwe, secret)?)
    }

    /// Makes the keys of sparse-secret encapsulation.
    ///
    /// # Errors
    /// When the secret does not fit.
    pub fn encapsulation_keys(&self, secret: &SecretKey) -> Result<EncapsulationKeys, CkksError> {
        let top = self.context.parameters().top();
        Ok(EncapsulationKeys::generate(self.context.rlwe(), &self.narrow, secret, top)?)
    }
}

fn cosine_scale(literal: &BitLiteral, depth: usize) -> Scale {
    let bits = literal.scale_bits - (depth as f64).min(literal.falling_bits);
    Scale::from_f64(bits.exp2()).expect("the bits are between 4 and 1000")
}
