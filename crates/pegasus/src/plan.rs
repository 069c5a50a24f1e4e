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

/// log2 of the largest radix of a level of the transform to coefficients. Such levels take the
/// fewest key switches at small moduli.
const RADIX_LOG2: u32 = 5;

/// Number of standard deviations above its mean up to which the Hamming weight of a secret is taken
/// into account, if the weight is not fixed. One key in `2^50` has a larger weight.
const WEIGHT_DEVIATIONS: f64 = 8.0;

/// The description of PEGASUS that a plan is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct PegasusLiteral {
    /// The numbers of slots of the ciphertexts that numbers are extracted from: powers of two up to
    /// `N/2`. Each has a transform of its own.
    pub slots: Vec<usize>,
    /// The bits of the scale of each matrix of that transform. Each level uses this number of bits
    /// of the modulus, and the transform uses as much once more.
    pub transform_bits: f64,
    /// The share of its bound by which a number may exceed it, because of errors, before it leaves
    /// the domain of tables. The scale of extracted numbers is the one at which `(1 + margin)
    /// bound` is a quarter of the modulus.
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
    /// result. Repacking starts at the modulus that they need (IV.C.3).
    pub output_bits: f64,
    /// The bound on absolute values that the plan is made for: the bound is `epsilon` of the
    /// modulus.
    pub bound: f64,
    /// The number of baby steps of repacking, a power of two up to the dimension. Their rotations
    /// are hoisted.
    pub baby: usize,
    /// The largest number of bytes of encoded residues in memory at a time.
    pub memory: usize,
}

/// The gadget of an LWE switching key: `count` digits of `base_log2` bits, the highest ones of the
/// modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchingDigits {
    /// log2 of the base.
    pub base_log2: u32,
    /// The number of digits.
    pub count: usize,
}

/// log2 of the largest probability that repacking a ciphertext of `2^15` numbers fails, for a plan
/// of [`PegasusLiteral::of`].
const MAX_LOG2_FAILURE: f64 = -40.0;

impl PegasusLiteral {
    /// The description for the tables of `preset`. Numbers up to `bound`, from ciphertexts of
    /// `slots` slots, are repacked at a scale of `2^32` with a capacity of `output_bits`.
    ///
    /// The reach of the reduction is the smallest with a failure probability of `2^-40` at most.
    /// Its `epsilon` is 1/16, with an arcsine of degree 7. Keys have twice as many digits as in the
    /// preset, each half as wide, because switches are a small part of the time.
    ///
    /// # Errors
    /// As [`ModularReduction::new`], for secrets whose Hamming weight is beyond that of any preset.
    pub fn of(
        preset: &Preset,
        slots: Vec<usize>,
        bound: f64,
        output_bits: f64,
    ) -> Result<PegasusLiteral, PegasusError> {
        let tables = preset.rotation();
        let weight = heaviest(&tables.input());
        let does =
            |reach: &u32| log2_failure_probability(weight, *reach, 1 << 15) <= MAX_LOG2_FAILURE;
        let reach = (4..=512).step_by(4).find(does).unwrap_or(512);
        // Two and a half periods of the cosine on either side.
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

/// PEGASUS without keys.
#[derive(Debug)]
pub struct PegasusPlan {
    context: Arc<Context>,
    literal: PegasusLiteral,
    transforms: BTreeMap<usize, HomomorphicDft>,
    /// `q0`.
    base: Modulus,
    /// The modulus of the repacking key.
    repacking: Modulus,
}

impl PegasusPlan {
    /// Makes the transforms and chooses moduli.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if a number makes no sense, or the modulus is too small for the
    /// capacity of the output.
    pub fn new(context: Arc<Context>, literal: PegasusLiteral) -> Result<Self, PegasusError> {
        let PegasusLiteral { ref slots, transform_bits, margin, bound, baby, .. } = literal;
        let (most, dimension) = (context.max_slots(), literal.lwe().dimension());
        if let Some(slots) = slots.iter().find(|slots| !slots.is_power_of_two() || **slots > most) {
            return argument(
                OPERATION,
                format!("{slots} slots: a power of two up to {most} is possible"),
            );
        }
        if !dimension.is_power_of_two() || dimension > most {
            let what =
                format!("an LWE dimension of {dimension}: a power of two up to {most} is possible");
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
    fn bits(&self) -> f64 {
        let l = &self.literal;
        let transform = l.key_bits + l.matrix_bits - l.scale_bits;
        transform + l.reduction.bits(l.scale_bits, self.reduced_bits(f64::INFINITY)) + 1.0
    }

    /// The bits of the modulus of the result beside its capacity.
    fn beside_capacity(&self) -> f64 {
        self.literal.output_scale_bits + self.literal.bound.max(1.0).log2() + 1.0
    }

    /// The largest modulus that a repacking key can have: it has no power of two.
    fn highest(&self) -> Modulus {
        let parameters = self.context.parameters();
        Modulus::of_range(0..parameters.unit_count())
            .lcm(Modulus::of_sprout(parameters.top().odd(), 0))
    }

    /// The largest capacity of results ([`PegasusLiteral::output_bits`]) that these parameters
    /// allow, in bits. It is negative if they allow none.
    pub fn most_output_bits(&self) -> f64 {
        self.context.parameters().log2(self.highest()) - self.bits() - self.beside_capacity()
    }

    /// The smallest modulus without a power of two at which the output has the planned capacity.
    fn choose_repacking(&self) -> Result<Modulus, PegasusError> {
        let (parameters, l) = (self.context.parameters(), &self.literal);
        let left =
            (self.reduced_bits(f64::INFINITY) + 1.0).max(self.beside_capacity() + l.output_bits);
        let wanted = self.bits() + left;
        let enough = |modulus: &Modulus| modulus.two() == 0 && parameters.log2(*modulus) >= wanted;
        let candidates = (0..100).map(|more| parameters.grafted_modulus(wanted + f64::from(more)));
        let highest = self.highest();
        match candidates.chain([highest]).find(enough) {
            Some(modulus) => Ok(modulus),
            None => {
                let have = parameters.log2(highest);
                let fits = self.most_output_bits().floor();
                let fits = if fits >= 1.0 {
                    format!(", which is enough for {fits:.0}")
                } else {
                    String::new()
                };
                argument(
                    OPERATION,
                    format!(
                        "repacking needs a modulus of {wanted:.1} bits for results of {:.0} bits \
                         of capacity; there are {have:.1}{fits}",
                        l.output_bits
                    ),
                )
            }
        }
    }

    /// The bits of the scale of `m/q` after the reduction, where the modulus is `2^unit` times the
    /// scale of the numbers.
    ///
    /// It has an upper limit, the value for the planned bound. Numbers that may be larger than
    /// planned come out at a smaller scale, so that they take no more of the modulus.
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
        power(self.literal.key_bits)
    }

    /// The scale for looking up numbers up to `bound`: `(1 + margin) bound` is a quarter of the
    /// modulus of LWE ciphertexts.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when the bound is not positive and finite.
    pub fn table_scale(&self, bound: f64) -> Result<Scale, PegasusError> {
        self.lwe_scale(0.25 / (1.0 + self.literal.margin), bound)
    }

    /// The scale for repacking numbers up to `bound`: `bound` is `epsilon` of the modulus of LWE
    /// ciphertexts.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when the bound is not positive and finite.
    pub fn repacking_scale(&self, bound: f64) -> Result<Scale, PegasusError> {
        self.lwe_scale(self.literal.reduction.epsilon(), bound)
    }

    fn lwe_scale(&self, share: f64, bound: f64) -> Result<Scale, PegasusError> {
        match Scale::from_f64(share / bound) {
            Some(scale) => Ok(scale.times_integer(self.literal.lwe().modulus())),
            None => argument("choose a scale", format!("numbers up to {}", Short(bound))),
        }
    }

    /// The transform of ciphertexts with this number of slots.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when none was planned.
    pub fn transform(&self, slots: usize) -> Result<&HomomorphicDft, PegasusError> {
        let planned =
            || self.transforms.keys().map(usize::to_string).collect::<Vec<_>>().join(", ");
        self.transforms.get(&slots).ok_or_else(|| PegasusError::Argument {
            operation: "slots to coefficients",
            what: format!("there are {slots} slots: {} were planned", planned()),
        })
    }

    /// The rotations whose keys the transforms to coefficients need.
    pub fn transform_rotations(&self) -> Vec<i64> {
        let mut all: Vec<i64> =
            self.transforms.values().flat_map(HomomorphicDft::rotations).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rotations whose keys repacking needs: baby steps and giant steps. They include the
    /// powers of two by which columns are added up.
    pub fn repacking_rotations(&self) -> Vec<i64> {
        let (dimension, baby) = (self.literal.lwe().dimension(), self.literal.baby);
        (1..baby).chain((baby..dimension).step_by(baby)).map(|r| r as i64).collect()
    }

    /// Adds the keys of rotations and products that are needed.
    ///
    /// # Errors
    /// When a key does not fit.
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

    /// log2 of the probability that repacking `count` numbers fails ([`log2_failure_probability`]).
    ///
    /// It fails if the integer `I` of `(b + <a, s>)/q = I + x/q` leaves the range of the reduction
    /// for one of the numbers. The weight of the secret is taken to be the largest one, up to one
    /// key in `2^50`.
    pub fn log2_failure_probability(&self, count: usize) -> f64 {
        log2_failure_probability(
            heaviest(&self.literal.lwe()),
            self.literal.reduction.reach() as u32,
            count,
        )
    }
}

/// The number of levels of the transform of this number of slots.
pub(crate) fn transform_levels(slots: usize) -> u32 {
    slots.ilog2().div_ceil(RADIX_LOG2).max(1)
}

/// A Hamming weight that the secret does not exceed.
fn heaviest(parameters: &LweParameters) -> usize {
    let n = parameters.dimension();
    let variance = match parameters.secret() {
        SecretDistribution::SparseTernary { weight } => return weight,
        SecretDistribution::Ternary => 2.0 / 9.0,
        SecretDistribution::Binary => 1.0 / 4.0,
    };
    let deviation = (variance * n as f64).sqrt();
    ((parameters.secret_weight() + WEIGHT_DEVIATIONS * deviation).ceil() as usize).min(n)
}

/// `2^bits`.
pub(crate) fn power(bits: f64) -> Result<Scale, PegasusError> {
    match Scale::from_f64(bits.exp2()) {
        Some(scale) => Ok(scale),
        None => argument(OPERATION, format!("a scale of 2^{}", Short(bits))),
    }
}
