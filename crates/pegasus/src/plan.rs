//! The plan of PEGASUS, which needs no keys.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene_ckks::{
    CkksError, Context, Scale, Short,
    approximation::ModularReduction,
    bootstrap::log2_failure_probability,
    circuits::{DftLevel, Direction, HomomorphicDft},
};
use hippocrene_fhew::{LweParameters, Preset, RotationParameters};
use hippocrene_rlwe::{EvaluationKeys, Modulus, SecretDistribution, SecretKey};

use crate::{PegasusError, error::argument};

const OPERATION: &str = "plan PEGASUS";

/// log2 of the largest radix of a level of the transform to coefficients (chosen). Such levels need
/// the fewest key switches at small moduli.
const RADIX_LOG2: u32 = 5;

/// Maximum number of standard deviations between the Hamming weight of a secret and its mean, if
/// the weight is not fixed (chosen). One key in `2^50` has a larger weight.
const WEIGHT_DEVIATIONS: f64 = 8.0;

/// The description that a plan of PEGASUS is made from. See [`Pegasus`](crate::Pegasus) for an
/// example.
#[derive(Debug, Clone, PartialEq)]
pub struct PegasusLiteral {
    /// The numbers of slots of the ciphertexts that numbers are extracted from. They are powers of
    /// two up to `N/2`. Each has a transform of its own.
    pub slots: Vec<usize>,
    /// The bits of the scale of each matrix of that transform. Each level uses this number of bits
    /// of the modulus, and the transform needs this number once more.
    pub transform_bits: f64,
    /// The fraction of its bound that a number may exceed it by, because of errors, before it
    /// leaves the domain of tables. The scale of extracted numbers is chosen such that
    /// `(1 + margin) bound` is a quarter of the modulus.
    pub margin: f64,
    /// The parameters of tables: those of the LWE ciphertexts and those of the ring of the
    /// accumulators.
    ///
    /// Numbers are extracted to these LWE ciphertexts, looked up and repacked.
    /// [`RotationParameters::input`] has their dimension, which is a power of two, their secret,
    /// and the modulus of the keys that switch to them.
    pub tables: RotationParameters,
    /// The digits of the key for extraction.
    pub extraction: SwitchingDigits,
    /// The digits of the key from the ring of the tables back to the LWE ciphertexts.
    pub back: SwitchingDigits,
    /// The reduction modulo 1 that ends repacking. Its `epsilon` is the largest absolute value of a
    /// number, relative to the modulus.
    pub reduction: ModularReduction,
    /// The bits of the scale of the repacking key.
    pub key_bits: f64,
    /// The bits of the scale at which the residues of LWE ciphertexts, divided by the modulus and
    /// the reach, are encoded.
    pub matrix_bits: f64,
    /// The bits of the scale at which the reduction's cosine is evaluated.
    pub scale_bits: f64,
    /// The approximate bits of the scale of the result. The scale differs by up to a bit.
    pub output_scale_bits: f64,
    /// The approximate bits of capacity ([`hippocrene_ckks::Ciphertext::capacity_bits`]) of the
    /// result. Repacking starts at the modulus that they need (section IV.C.3).
    pub output_bits: f64,
    /// The bound on absolute values that the plan is made for. It corresponds to `epsilon` of the
    /// modulus.
    pub bound: f64,
    /// The number of baby steps of repacking, a power of two up to the dimension. Their rotations
    /// are hoisted.
    pub baby: usize,
    /// The largest number of bytes of encoded residues in memory at a time.
    pub memory: usize,
}

/// The gadget of an LWE switching key: the `count` highest digits of `base_log2` bits of the
/// modulus. See [`Pegasus`](crate::Pegasus) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchingDigits {
    /// log2 of the base of the digits.
    pub base_log2: u32,
    /// The number of digits.
    pub count: usize,
}

/// log2 of the largest probability that repacking a ciphertext of `2^15` numbers fails, for a plan
/// of [`PegasusLiteral::of`] (chosen).
const MAX_LOG2_FAILURE: f64 = -40.0;

impl PegasusLiteral {
    /// Returns the description for the tables of `preset`. Numbers up to `bound`, from ciphertexts
    /// of `slots` slots, are repacked at a scale of `2^32` with a capacity of `output_bits`.
    ///
    /// The reach of the reduction is the smallest one with a failure probability of at most
    /// `2^-40`. Its `epsilon` is 1/16, with an arcsine of degree 7. Keys have twice as many digits
    /// as in the preset, each half as wide, because switches need a small part of the time.
    ///
    /// # Errors
    /// Returns the errors of [`ModularReduction::new`], for secrets whose Hamming weight is beyond
    /// that of any preset.
    pub fn of(
        preset: &Preset,
        slots: Vec<usize>,
        bound: f64,
        output_bits: f64,
    ) -> Result<PegasusLiteral, PegasusError> {
        let tables = preset.rotation();
        let weight = max_weight(&tables.input());
        let suffices =
            |reach: &u32| log2_failure_probability(weight, *reach, 1 << 15) <= MAX_LOG2_FAILURE;
        let reach = (4..=512).step_by(4).find(suffices).unwrap_or(512);
        // On either side there are two and a half periods of the cosine.
        let doublings = (f64::from(reach) / 2.5).log2().ceil().max(0.0) as u32;
        let (base_log2, count) = preset.switching_digits();
        let digits = SwitchingDigits { base_log2: base_log2 / 2, count: 2 * count };
        Ok(PegasusLiteral {
            slots,
            transform_bits: 28.0,
            margin: 1.0 / 16.0,
            tables,
            extraction: digits,
            back: digits,
            reduction: ModularReduction::new(reach, -4.0, -24.0, doublings, 7)?,
            key_bits: 38.0,
            matrix_bits: 38.0,
            scale_bits: 42.0,
            output_scale_bits: 32.0,
            output_bits,
            bound,
            baby: 32.min(tables.input().dimension()),
            memory: 1 << 29,
        })
    }

    /// The LWE ciphertexts that numbers are extracted to.
    pub fn lwe(&self) -> LweParameters {
        self.tables.input()
    }
}

/// The plan of PEGASUS, which holds everything that needs no keys. See [`Pegasus`](crate::Pegasus)
/// for an example.
#[derive(Debug)]
pub struct PegasusPlan {
    context: Arc<Context>,
    literal: PegasusLiteral,
    transforms: BTreeMap<usize, HomomorphicDft>,
    /// The modulus `q0` of extracted numbers.
    base: Modulus,
    /// The modulus of the repacking key.
    repacking: Modulus,
}

impl PegasusPlan {
    /// Makes the transforms and chooses the moduli.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if a number of the description is invalid, or if the
    /// modulus is too small for the capacity of the output.
    pub fn new(context: Arc<Context>, literal: PegasusLiteral) -> Result<Self, PegasusError> {
        let PegasusLiteral { ref slots, transform_bits, margin, bound, baby, .. } = literal;
        let (max_slots, dimension) = (context.max_slots(), literal.lwe().dimension());
        if let Some(slots) =
            slots.iter().find(|slots| !slots.is_power_of_two() || **slots > max_slots)
        {
            return argument(
                OPERATION,
                format!("{slots} slots: a power of two up to {max_slots} is possible"),
            );
        }
        if !dimension.is_power_of_two() || dimension > max_slots {
            let what = format!(
                "an LWE dimension of {dimension}: a power of two up to {max_slots} is possible"
            );
            return argument(OPERATION, what);
        }
        if !baby.is_power_of_two() || baby > dimension {
            let what = format!(
                "{baby} baby steps: a power of two up to the dimension {dimension} is possible"
            );
            return argument(OPERATION, what);
        }
        if !(margin.is_finite() && margin >= 0.0 && bound.is_finite() && bound > 0.0) {
            return argument(
                OPERATION,
                format!("numbers up to {} with a margin of {}", Short(bound), Short(margin)),
            );
        }
        let left = literal.output_bits;
        if !(left.is_finite() && left >= 0.0) {
            return argument(OPERATION, format!("results with a capacity of {} bits", Short(left)));
        }
        let bits =
            [literal.key_bits, literal.matrix_bits, literal.scale_bits, literal.output_scale_bits];
        if let Some(bits) = bits.iter().find(|bits| !(1.0..=120.0).contains(*bits)) {
            return argument(OPERATION, format!("a scale of 2^{}", Short(*bits)));
        }
        let transforms = slots.iter().map(|slots| {
            let levels = DftLevel::even(*slots, transform_levels(*slots), transform_bits);
            let dft = HomomorphicDft::new(
                &context,
                Direction::SlotsToCoefficients,
                *slots,
                &levels,
                1.0,
            )?;
            Ok((*slots, dft))
        });
        let transforms = transforms.collect::<Result<_, CkksError>>()?;
        let base = Modulus::of_factor(0);
        let mut plan = PegasusPlan { context, literal, transforms, base, repacking: base };
        plan.repacking = plan.choose_repacking()?;
        Ok(plan)
    }

    /// The approximate number of bits between the modulus of the repacking key and that of the
    /// result.
    fn repacking_bits(&self) -> f64 {
        let l = &self.literal;
        let transform = l.key_bits + l.matrix_bits - l.scale_bits;
        transform + l.reduction.bits(l.scale_bits, self.reduced_bits(f64::INFINITY)) + 1.0
    }

    /// The bits of the modulus of the result that are not part of its capacity.
    fn bits_without_capacity(&self) -> f64 {
        self.literal.output_scale_bits + self.literal.bound.max(1.0).log2() + 1.0
    }

    /// The largest modulus that a repacking key can have. It has no power of two.
    fn largest_key_modulus(&self) -> Modulus {
        let parameters = self.context.parameters();
        Modulus::of_range(0..parameters.unit_count())
            .lcm(Modulus::of_sprout(parameters.top().odd(), 0))
    }

    /// The largest capacity of results ([`PegasusLiteral::output_bits`]) that these parameters
    /// allow, in bits. It is negative if they allow none.
    pub fn max_output_bits(&self) -> f64 {
        self.context.parameters().log2(self.largest_key_modulus())
            - self.repacking_bits()
            - self.bits_without_capacity()
    }

    /// Returns the smallest modulus without a power of two at which the output has the planned
    /// capacity.
    fn choose_repacking(&self) -> Result<Modulus, PegasusError> {
        let (parameters, l) = (self.context.parameters(), &self.literal);
        let left = (self.reduced_bits(f64::INFINITY) + 1.0)
            .max(self.bits_without_capacity() + l.output_bits);
        let needed_bits = self.repacking_bits() + left;
        let enough =
            |modulus: &Modulus| modulus.two() == 0 && parameters.log2(*modulus) >= needed_bits;
        let candidates =
            (0..100).map(|more| parameters.grafted_modulus(needed_bits + f64::from(more)));
        let largest_key_modulus = self.largest_key_modulus();
        match candidates.chain([largest_key_modulus]).find(enough) {
            Some(modulus) => Ok(modulus),
            None => {
                let have = parameters.log2(largest_key_modulus);
                let fits = self.max_output_bits().floor();
                let fits = if fits >= 1.0 {
                    format!(", which is enough for {fits:.0}")
                } else {
                    String::new()
                };
                argument(
                    OPERATION,
                    format!(
                        "repacking needs a modulus of {needed_bits:.1} bits for results of {:.0} \
                         bits of capacity, and there are {have:.1}{fits}",
                        l.output_bits
                    ),
                )
            }
        }
    }

    /// Returns the bits of the scale of `m/q` after the reduction, where the modulus is `2^unit`
    /// times the scale of the numbers.
    ///
    /// Its upper limit is the value for the planned bound. Numbers that may be larger than planned
    /// get a smaller scale, so that they do not need more of the modulus.
    pub(crate) fn reduced_bits(&self, unit: f64) -> f64 {
        let planned = (self.literal.bound / self.literal.reduction.epsilon()).log2();
        self.literal.output_scale_bits + unit.min(planned)
    }

    /// The description that the plan was made from.
    pub fn literal(&self) -> &PegasusLiteral {
        &self.literal
    }

    /// The context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The modulus `q0` of extracted numbers: the first unit.
    pub fn base(&self) -> Modulus {
        self.base
    }

    /// The modulus of the repacking key.
    pub fn repacking(&self) -> Modulus {
        self.repacking
    }

    /// The scale of the repacking key.
    ///
    /// # Errors
    /// Never, for an existing plan.
    pub fn key_scale(&self) -> Result<Scale, PegasusError> {
        scale_of_bits(self.literal.key_bits)
    }

    /// Returns the scale for looking up numbers up to `bound`. At this scale, `(1 + margin) bound`
    /// is a quarter of the modulus of LWE ciphertexts.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the bound is not positive and finite.
    pub fn table_scale(&self, bound: f64) -> Result<Scale, PegasusError> {
        self.lwe_scale(0.25 / (1.0 + self.literal.margin), bound)
    }

    /// Returns the scale for repacking numbers up to `bound`. At this scale, `bound` is `epsilon`
    /// of the modulus of LWE ciphertexts.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the bound is not positive and finite.
    pub fn repacking_scale(&self, bound: f64) -> Result<Scale, PegasusError> {
        self.lwe_scale(self.literal.reduction.epsilon(), bound)
    }

    fn lwe_scale(&self, fraction: f64, bound: f64) -> Result<Scale, PegasusError> {
        match Scale::from_f64(fraction / bound) {
            Some(scale) => Ok(scale.times_integer(self.literal.lwe().modulus())),
            None => argument("choose a scale", format!("numbers up to {}", Short(bound))),
        }
    }

    /// Returns the transform of ciphertexts with this number of slots.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if none was planned.
    pub fn transform(&self, slots: usize) -> Result<&HomomorphicDft, PegasusError> {
        let planned =
            || self.transforms.keys().map(usize::to_string).collect::<Vec<_>>().join(", ");
        self.transforms.get(&slots).ok_or_else(|| PegasusError::Argument {
            operation: "slots to coefficients",
            what: format!("there are {slots} slots: {} were planned", planned()),
        })
    }

    /// The rotations whose keys the transforms to coefficients use.
    pub fn transform_rotations(&self) -> Vec<i64> {
        let mut all: Vec<i64> =
            self.transforms.values().flat_map(HomomorphicDft::rotations).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rotations whose keys repacking uses: baby steps and giant steps. They include the powers
    /// of two that the sums of columns use.
    pub fn repacking_rotations(&self) -> Vec<i64> {
        let (dimension, baby) = (self.literal.lwe().dimension(), self.literal.baby);
        (1..baby).chain((baby..dimension).step_by(baby)).map(|r| r as i64).collect()
    }

    /// Adds the keys of rotations and products that the plan uses.
    ///
    /// # Errors
    /// Returns an error if a key does not fit.
    pub fn add_keys(
        &self,
        keys: &mut EvaluationKeys,
        secret: &SecretKey,
    ) -> Result<(), PegasusError> {
        let rlwe = self.context.rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        keys.add_rotations(rlwe, secret, self.transform_rotations())?;
        Ok(keys.add_rotations(rlwe, secret, self.repacking_rotations())?)
    }

    /// Returns log2 of the probability that repacking `count` numbers fails
    /// ([`log2_failure_probability`]).
    ///
    /// It fails if the integer `I` of `(b + <a, s>)/q = I + x/q` leaves the range of the reduction
    /// for one of the numbers. The largest possible weight of the secret is assumed. One key in
    /// `2^50` has a larger weight.
    pub fn log2_failure_probability(&self, count: usize) -> f64 {
        log2_failure_probability(
            max_weight(&self.literal.lwe()),
            self.literal.reduction.reach() as u32,
            count,
        )
    }
}

/// Returns the number of levels of the transform of this number of slots.
pub(crate) fn transform_levels(slots: usize) -> u32 {
    slots.ilog2().div_ceil(RADIX_LOG2).max(1)
}

/// Returns a Hamming weight that the secret does not exceed.
fn max_weight(parameters: &LweParameters) -> usize {
    let n = parameters.dimension();
    let variance = match parameters.secret() {
        SecretDistribution::SparseTernary { weight } => return weight,
        SecretDistribution::Ternary => 2.0 / 9.0,
        SecretDistribution::Binary => 1.0 / 4.0,
    };
    let deviation = (variance * n as f64).sqrt();
    ((parameters.secret_weight() + WEIGHT_DEVIATIONS * deviation).ceil() as usize).min(n)
}

/// Returns the scale `2^bits`.
pub(crate) fn scale_of_bits(bits: f64) -> Result<Scale, PegasusError> {
    match Scale::from_f64(bits.exp2()) {
        Some(scale) => Ok(scale),
        None => argument(OPERATION, format!("a scale of 2^{}", Short(bits))),
    }
}
