//! Plain matrices that are used once.

use std::sync::Arc;

use hippocrene_rlwe::Modulus;
use num_complex::Complex64;

use super::{
    Encoded, Encoding, Factor,
    evaluate::{Operand, single_result},
    quantised::Quantised,
};
use crate::{
    Ciphertext, CkksError, Context, Evaluator, Scale, Values, dry_run_values::DryRunValues,
    encoder::Rounding,
};

const OPERATION: &str = "fresh linear transform";

/// A linear map of the slots that is used once, given by its first diagonals: slot `i` of the
/// result is the sum over `r < count` of `diagonal_r[i]` times slot `i + r`.
///
/// Its diagonals are real. [`Evaluator::fresh_linear_transform`] computes, encodes and drops them,
/// a few giant steps at a time. A [`super::LinearTransform`], in contrast, caches them.
///
/// # Examples
/// ```
/// use hippocrene_ckks::{Scale, circuits::OneTimeTransform};
///
/// // Slot i of the result is the sum of the slots i to i + 3.
/// let ones = |_rotation: usize, out: &mut [f64]| out.fill(1.0);
/// let map = OneTimeTransform {
///     slots: 8,
///     count: 4,
///     baby: 2,
///     diagonal: &ones,
///     magnitude: 1.0,
///     operand: 1.0,
///     bound: 4.0,
///     scale: Scale::power_of_two(30),
///     memory: 1 << 20,
/// };
/// assert_eq!(map.rotations(), [1, 2]);
/// ```
pub struct OneTimeTransform<'a> {
    /// The number of slots of the result: a power of two, and at least the number of slots of the
    /// operand, whose slots then repeat.
    pub slots: usize,
    /// The number of diagonals, with the rotations `0 .. count`. At most the number of slots.
    pub count: usize,
    /// The number of baby steps. The rotations `1 .. baby - 1` and the multiples of `baby` need
    /// keys.
    pub baby: usize,
    /// Writes one diagonal, with as many numbers as there are slots.
    pub diagonal: &'a (dyn Fn(usize, &mut [f64]) + Sync),
    /// Root mean square of the numbers in the diagonals, for the noise estimate.
    pub magnitude: f64,
    /// Root mean square of the operand's slots, for the noise estimate.
    pub operand: f64,
    /// Bound of the absolute values in the slots of the result.
    pub bound: f64,
    /// The scale at which the diagonals are encoded. Their rounding adds an error of standard
    /// deviation `operand sqrt(count slots/12)/scale` to each slot of the result.
    pub scale: Scale,
    /// Maximum number of bytes of encoded diagonals at a time. One giant step of them is always
    /// allowed.
    pub memory: usize,
}

impl OneTimeTransform<'_> {
    /// The numbers of slots of the rotations whose keys the map needs.
    pub fn rotations(&self) -> Vec<i64> {
        let baby = 1..self.baby.min(self.count);
        let giant = (self.baby..self.count).step_by(self.baby.max(1));
        baby.chain(giant).map(|r| r as i64).collect()
    }

    /// Encodes the giant steps `first .. last` modulo `P'Q = extended`. The diagonals are
    /// distributed over the threads.
    fn encode(
        &self,
        context: &Context,
        [modulus, extended]: [Modulus; 2],
        scale: Scale,
        giants: std::ops::Range<usize>,
    ) -> Result<Arc<Encoded>, CkksError> {
        let rotations: Vec<usize> =
            (giants.start * self.baby..self.count.min(giants.end * self.baby)).collect();
        let mut made: Vec<Option<Result<Factor, CkksError>>> =
            rotations.iter().map(|_| None).collect();
        let make = |i: usize, made: &mut Option<Result<Factor, CkksError>>| {
            *made = Some(self.factor(context, modulus, extended, scale, rotations[i]));
        };
        // Operations on whole polynomials distribute their limbs over the threads. Here each thread
        // encodes whole diagonals.
        context.rlwe().threads().for_each_mut(&mut made, make);
        let mut encoded = Encoded::new();
        for (r, factor) in rotations.iter().zip(made) {
            let factor = factor.expect("every diagonal was made")?;
            encoded.entry(r / self.baby * self.baby).or_default().push(factor);
        }
        Ok(Arc::new(encoded))
    }

    /// Encodes the diagonal of one rotation.
    fn factor(
        &self,
        context: &Context,
        modulus: Modulus,
        extended: Modulus,
        scale: Scale,
        rotation: usize,
    ) -> Result<Factor, CkksError> {
        let mut values = vec![0.0; self.slots];
        (self.diagonal)(rotation, &mut values);
        values.rotate_right(rotation / self.baby * self.baby % self.slots);
        let encoded = match context.encode_repeated(&values, scale, modulus, extended)? {
            Some(repeated) => Encoding::Whole(context.rlwe().rotation_factor(repeated, extended)?),
            None if context.rlwe().is_dry_run() => {
                Encoding::Quantised(Quantised::dry_run(context, extended, false))
            }
            None => {
                let (values, rounding) = (Values::Real(&values), Rounding::Nearest);
                let moduli = [modulus, extended];
                Encoding::Quantised(Quantised::new(
                    context, values, self.slots, scale, rounding, moduli,
                )?)
            }
        };
        let log2_norm = scale.log2() + self.magnitude.log2();
        let rounding = Rounding::Nearest.variance();
        Ok(Factor { baby: rotation % self.baby, encoded, log2_norm, leaves_zeros: false, rounding })
    }

    /// Applies the map to the known values of a dry run.
    fn apply_to_dry_run_values(&self, known: &DryRunValues) -> DryRunValues {
        let Some(x) = known.values().filter(|x| !x.is_empty()) else {
            return DryRunValues::default();
        };
        let (mut sums, mut diagonal) = (vec![Complex64::ZERO; self.slots], vec![0.0; self.slots]);
        for r in 0..self.count {
            (self.diagonal)(r, &mut diagonal);
            for (i, (sum, d)) in sums.iter_mut().zip(&diagonal).enumerate() {
                *sum += d * x[(i + r) % x.len()];
            }
        }
        DryRunValues::from_values(sums)
    }

    /// Checks the numbers of slots, diagonals and baby steps.
    fn check(&self, a: &Ciphertext, context: &Context) -> Result<(), CkksError> {
        let most = context.max_slots();
        let what = if !self.slots.is_power_of_two() || self.slots > most || self.slots < a.slots() {
            format!(
                "{} slots from {}: a power of two up to {most}, and no fewer, are possible",
                self.slots,
                a.slots()
            )
        } else if self.count == 0 || self.count > self.slots || self.baby == 0 {
            format!(
                "{} diagonals in steps of {} over {} slots are not possible",
                self.count, self.baby, self.slots
            )
        } else {
            return Ok(());
        };
        Err(CkksError::Argument { operation: OPERATION, what })
    }
}

impl Evaluator {
    /// Applies the map `t` to the slots of `a` and rescales to near `target`. The exact scale is
    /// that of [`Evaluator::switched_scale`], and the modulus that of
    /// [`Evaluator::rescaled_modulus`]. It computes modulo `P'Q`, as
    /// [`Evaluator::linear_transform`] does.
    ///
    /// # Errors
    /// Fails if a rotation key is missing, numbers are out of range, or the result does not fit the
    /// modulus.
    pub fn fresh_linear_transform(
        &self,
        a: &Ciphertext,
        t: &OneTimeTransform<'_>,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let context = self.context();
        t.check(a, context)?;
        let a = &*self.at_modulus(a, self.without_two(a.modulus()))?;
        let modulus = a.modulus();
        let product = a.scale().times(t.scale);
        let to = self.rescaled_modulus(modulus, product, target);
        let scale = self.switched_scale(product, modulus, to);
        self.check_capacity(a, modulus, product.log2(), t.bound, OPERATION)?;
        self.check_capacity(a, to, scale.log2(), t.bound, OPERATION)?;
        let giants = t.count.div_ceil(t.baby);
        let steps = (0..giants).map(|giant| giant * t.baby);
        let common = self.common_modulus_of(t.slots, modulus, 0..t.baby.min(t.count), steps);
        let extended = context.rlwe().rotation_modulus(modulus, common)?;
        let repeats =
            context.rlwe().can_omit_repeats(extended) && 8 * t.slots <= context.max_slots();
        // Diagonals that repeat are encoded at once, the others limb by limb.
        let words = match repeats {
            true => context.rlwe().degree() / 8 * context.rlwe().rotation_factor_limbs(extended),
            false => context.rlwe().degree(),
        };
        let at_once = (t.memory / (8 * words * t.baby.min(t.count))).clamp(1, giants);
        let baby: Vec<usize> = (0..t.baby.min(t.count)).collect();
        let groups = (0..giants).step_by(at_once).map(|first| {
            t.encode(context, [modulus, extended], t.scale, first..giants.min(first + at_once))
        });
        let operand = Operand { ciphertext: a, magnitude: t.operand };
        let total = self
            .sums_of_giant_steps(&[operand], t.slots, &baby, groups, 1, common)
            .map(single_result)?;
        let mut out = Ciphertext::empty(context);
        total.divide_into(out.inner_mut(), to)?;
        out.set_meta(scale, t.slots, t.bound);
        out.set_dry_run_values(t.apply_to_dry_run_values(a.dry_run_values()));
        Ok(out)
    }
}
