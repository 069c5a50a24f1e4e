//! Plans for the evaluation of models, which need no keys.

use std::{cmp::Reverse, collections::BTreeSet};

use hippocrene_fhew::{FhewError, LookupTable, LookupTables, LweSwitchingKey};
use hippocrene_ring::digits::Digits;
use hippocrene_rlwe::{Noise, noise};

use super::{
    TreeModel, TreeNode, TreeParameters,
    blocks::{Block, Vanishing, cut, vanishing},
    comparison::{Comparison, Reading},
    parameters::MIN_GATE_DEVIATIONS,
};
use crate::{PegasusError, error::argument};

const OPERATION: &str = "plan decision trees";

/// The sum of the squared weights of a majority of three. Each weight is 1.
const MAJORITY_SQUARES: f64 = 3.0;

/// The tables of a [`TreeModel`], and the properties of its evaluation.
///
/// ```
/// use hippocrene_fhew::{LweParameters, RotationGadget, RotationParameters};
/// use hippocrene_pegasus::{
///     DecisionTree, FeatureRanges, SwitchingDigits, TreeKeys, TreeModel, TreeNode, TreeParameters,
///     TreePlan, TreeSecrets,
/// };
/// use hippocrene_ring::{Threads, primes::ntt_primes};
/// use hippocrene_rlwe::SecretDistribution;
///
/// let ranges = FeatureRanges::new(vec![(0.0, 10.0)])?;
/// let nodes = vec![
///     TreeNode::Split { feature: 0, threshold: 4.5, digits: 1, left: 1, right: 2 },
///     TreeNode::Leaf { values: vec![0.0] },
///     TreeNode::Leaf { values: vec![1.0] },
/// ];
/// let model = TreeModel::new(ranges, vec![DecisionTree::new(nodes)?], TreeModel::CLASSES)?;
///
/// // Parameters as small as these are for tests only.
/// let lwe = |dimension, q| LweParameters::insecure(dimension, q, SecretDistribution::Ternary);
/// let rotation = RotationParameters::insecure(
///     lwe(64, ntt_primes(26, 64, 1, &[])?[0])?,
///     lwe(512, ntt_primes(48, 512, 1, &[])?[0])?,
///     RotationGadget::Digits { base_log2: 15, count: 2 },
/// )?;
/// let digits = SwitchingDigits { base_log2: 2, count: 12 };
/// let parameters = TreeParameters::new(rotation, digits);
/// let plan = TreePlan::new(&model, parameters)?;
///
/// // The client encrypts two rows of one feature.
/// let secrets = TreeSecrets::generate(parameters)?;
/// let query = secrets.encrypt(model.ranges(), &[1.0, 9.0])?;
///
/// // The server evaluates the model on both rows.
/// let threads = Threads::single();
/// let keys = TreeKeys::generate(&secrets)?.prepare(&threads)?;
/// let reply = keys.evaluate(&plan, &query, &threads, &mut |_, _| ())?;
///
/// let classes: Vec<f64> = secrets.decrypt(&reply)?.iter().map(|value| value.round()).collect();
/// assert_eq!(classes, [0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TreePlan {
    parameters: TreeParameters,
    features: usize,
    /// The compared features and digits, in ascending order.
    pub(super) compared: Vec<(usize, usize)>,
    /// The comparisons by several digits. Those by the most digits come first.
    pub(super) combined: Vec<Combined>,
    pub(super) blocks: Vec<PlannedBlock>,
    /// The coefficient `c` of the constant polynomial of comparisons, modulo the ring's modulus.
    ///
    /// A weight of 1 increases the sum of a block by `2 c`.
    pub(super) half_unit: u64,
    pub(super) span: f64,
    pub(super) middles: Vec<f64>,
    /// The sum of the bases of all trees minus the middle, for each output, as a share of the span.
    pub(super) offsets: Vec<f64>,
    pub(super) reply_modulus: u64,
    deviation: f64,
    log2_failure: f64,
}

/// A comparison by one digit: an index into [`TreePlan::compared`], and the position modulo `2N`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    pub(super) number: usize,
    pub(super) position: usize,
}

/// A comparison by several digits.
///
/// It holds the last digit, and two bounds of each digit before it, from the finest to the first.
#[derive(Debug)]
pub(super) struct Combined {
    pub(super) last: Compared,
    pub(super) bounds: Vec<[Compared; 2]>,
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Compared(Compared),
    /// An index into [`TreePlan::combined`].
    Combined(usize),
}

/// A [`Block`] with numbered comparisons, and its tables.
#[derive(Debug)]
pub(super) struct PlannedBlock {
    /// The answers of comparisons that the block adds up, each with its weight.
    pub(super) terms: Vec<(Answer, i64)>,
    pub(super) constant: i64,
    pub(super) tables: BlockTables,
}

/// The tables of a block, one for each output.
#[derive(Debug)]
pub(super) enum BlockTables {
    /// One rotation for each output.
    Each(Vec<LookupTable>),
    /// One rotation for all outputs, which is less precise.
    Together(LookupTables),
}

impl TreePlan {
    /// Cuts the trees into the largest blocks whose sums are certain, and makes their tables.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] in one of these cases:
    ///
    /// - A path compares more features than these parameters can count.
    /// - The outputs cannot be as precise as the model asks. The message gives the possible
    ///   deviation.
    /// - A split compares more digits than these parameters have.
    /// - Two thresholds of a feature on one path have the same position, so that a split would
    ///   vanish.
    pub fn new(model: &TreeModel, parameters: TreeParameters) -> Result<Self, PegasusError> {
        check_digits(model, &parameters)?;
        let mut all = model.trees().iter().map(|tree| vanishing(tree, model.ranges(), &parameters));
        if let Some(Vanishing { feature, threshold, other }) = all.find_map(|found| found) {
            let what = format!(
                "feature {feature} is split at {threshold} and bounded by {other}. These \
                 tables cannot tell both apart by these digits. Compare more digits, use finer \
                 tables or narrow its range."
            );
            return argument(OPERATION, what);
        }
        let errors = Errors::of(&parameters)?;
        let (cells, blocks, bases) = errors.cut(model, &parameters)?;
        let all = || blocks.iter().flatten();
        let comparisons = Comparisons::of(all());
        let (count, outputs) = (model.trees().len() as f64, model.outputs());
        let (low, high) = extremes(model);
        let widest =
            low.iter().zip(&high).map(|(low, high)| (high - low) / count).fold(0.0, f64::max);
        let span = widest + 2.0 * MIN_GATE_DEVIATIONS * model.deviation();
        let middles: Vec<f64> =
            low.iter().zip(&high).map(|(l, h)| l.midpoint(*h) / count).collect();
        let mut offsets: Vec<f64> = middles.iter().map(|middle| -middle / span).collect();
        for base in &bases {
            offsets.iter_mut().zip(base).for_each(|(sum, x)| *sum += x / count / span);
        }
        let number =
            |(c, weight): &(Comparison, i64)| (comparisons.answer(c, &parameters), *weight);
        let plan = |together: bool| -> Result<_, PegasusError> {
            let planned = all().map(|block| {
                Ok(PlannedBlock {
                    terms: block.terms.iter().map(number).collect(),
                    constant: block.constant,
                    tables: tables(&parameters, block, cells, count * span, (outputs, together))?,
                })
            });
            let planned = planned.collect::<Result<Vec<_>, FhewError>>()?;
            let noise = planned
                .iter()
                .fold(Noise::NONE, |sum, block| sum.plus(block.tables.noise(&parameters)));
            let reply = errors.reply(noise, span, model)?;
            Ok((planned, reply))
        };
        // All outputs share a rotation if they are still as precise as requested.
        let together = if outputs > 1 { plan(true).ok() } else { None };
        let wanted = |deviation: f64| deviation <= model.deviation();
        let (planned, (reply_modulus, deviation)) =
            match together.filter(|(_, reply)| wanted(reply.1)) {
                Some(together) => together,
                None => plan(false)?,
            };
        let combined = comparisons.combined(&parameters);
        let majorities = combined.iter().map(|combined| combined.bounds.len()).sum();
        let log2_failure = errors.log2_failure(all(), majorities, cells);
        Ok(TreePlan {
            parameters,
            features: model.ranges().count(),
            compared: comparisons.compared,
            combined,
            blocks: planned,
            half_unit: half_unit(parameters.rotation().ring().modulus(), cells),
            span,
            middles,
            offsets,
            reply_modulus,
            deviation,
            log2_failure,
        })
    }

    /// The parameters that the plan was made for.
    pub fn parameters(&self) -> TreeParameters {
        self.parameters
    }

    /// The number of features of a row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of outputs of a row.
    pub fn outputs(&self) -> usize {
        self.middles.len()
    }

    /// The number of compared digits of features. Each takes one rotation.
    pub fn compared(&self) -> usize {
        self.compared.len()
    }

    /// The number of rotations that compare thresholds with digits after the first.
    pub fn combined(&self) -> usize {
        self.combined.iter().map(|combined| combined.bounds.len()).sum()
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of rotations for the blocks.
    ///
    /// Each block takes one rotation. If several outputs would then be less precise than requested,
    /// each block takes one rotation for each output.
    pub fn look_ups(&self) -> usize {
        let each = |block: &PlannedBlock| match &block.tables {
            BlockTables::Each(tables) => tables.len(),
            BlockTables::Together(_) => 1,
        };
        self.blocks.iter().map(each).sum()
    }

    /// The modulus of the reply.
    ///
    /// It is the smallest power of two at which the reply is as precise as requested, or else the
    /// modulus of the rotations' input.
    pub fn reply_modulus(&self) -> u64 {
        self.reply_modulus
    }

    /// The estimated standard deviation of the errors of outputs, apart from the errors of
    /// comparisons.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// log2 of the probability that a sum of comparisons of a row is mistaken for another.
    ///
    /// It may be the sum of a block, or of a digit's bounds with the answer of the next digit.
    pub fn log2_failure_probability(&self) -> f64 {
        self.log2_failure
    }
}

/// Checks that no split compares more digits than queries have.
fn check_digits(model: &TreeModel, parameters: &TreeParameters) -> Result<(), PegasusError> {
    let have = parameters.digits();
    for node in model.trees().iter().flat_map(|tree| tree.nodes()) {
        if let TreeNode::Split { feature, digits, .. } = node
            && *digits > have
        {
            let what = format!(
                "{digits} digits of feature {feature} are compared, where queries have {have}"
            );
            return argument(OPERATION, what);
        }
    }
    Ok(())
}

/// The comparisons of all blocks, each of them once.
struct Comparisons {
    /// As in [`TreePlan::compared`].
    compared: Vec<(usize, usize)>,
    /// The comparisons by several digits, in the order of [`TreePlan::combined`].
    deep: Vec<Comparison>,
}

impl Comparisons {
    fn of<'a>(blocks: impl Iterator<Item = &'a Block>) -> Self {
        let terms = blocks.flat_map(|block| &block.terms);
        let all: BTreeSet<Comparison> = terms.map(|(comparison, _)| *comparison).collect();
        let digits =
            |c: &Comparison| (0..c.digits).map(|digit| (c.feature, digit)).collect::<Vec<_>>();
        let compared: BTreeSet<(usize, usize)> = all.iter().flat_map(digits).collect();
        let mut deep: Vec<Comparison> = all.into_iter().filter(|c| c.digits > 1).collect();
        deep.sort_by_key(Self::order);
        Comparisons { compared: compared.into_iter().collect(), deep }
    }

    /// The sort key of comparisons. Those by more digits come first.
    fn order(comparison: &Comparison) -> (Reverse<usize>, Comparison) {
        (Reverse(comparison.digits), *comparison)
    }

    /// Looks up the index of a digit among the compared digits.
    fn compared(&self, feature: usize, Reading { digit, position }: Reading) -> Compared {
        let number = self.compared.partition_point(|other| *other < (feature, digit));
        Compared { number, position }
    }

    fn answer(&self, comparison: &Comparison, parameters: &TreeParameters) -> Answer {
        match self.deep.binary_search_by_key(&Self::order(comparison), Self::order) {
            Ok(number) => Answer::Combined(number),
            Err(_) => {
                Answer::Compared(self.compared(comparison.feature, comparison.last(parameters)))
            }
        }
    }

    fn combined(&self, parameters: &TreeParameters) -> Vec<Combined> {
        let combined = |comparison: &Comparison| {
            let compared = |reading: Reading| self.compared(comparison.feature, reading);
            let bounds = comparison.bounds(parameters).into_iter();
            Combined {
                last: compared(comparison.last(parameters)),
                bounds: bounds.map(|both| both.map(compared)).collect(),
            }
        };
        self.deep.iter().map(combined).collect()
    }
}

/// The smallest and the largest sum of leaf values, for each output.
fn extremes(model: &TreeModel) -> (Vec<f64>, Vec<f64>) {
    let mut sums = (vec![0.0; model.outputs()], vec![0.0; model.outputs()]);
    for tree in model.trees() {
        let leaves = tree.leaves();
        for (i, (low, high)) in sums.0.iter_mut().zip(&mut sums.1).enumerate() {
            *low += leaves.iter().map(|values| values[i]).fold(f64::INFINITY, f64::min);
            *high += leaves.iter().map(|values| values[i]).fold(f64::NEG_INFINITY, f64::max);
        }
    }
    sums
}

/// Returns `c` such that `2 c` is one cell, when half of the circle has `cells` cells.
fn half_unit(modulus: u64, cells: usize) -> u64 {
    modulus / (4 * cells as u64)
}

/// The tables of a block on the circle of `2N` positions.
///
/// Cell `j` of `cells` begins at position `j N / cells`. A sum `u` arrives as the middle of cell
/// `u`.
fn tables(
    parameters: &TreeParameters,
    block: &Block,
    cells: usize,
    span: f64,
    (outputs, together): (usize, bool),
) -> Result<BlockTables, FhewError> {
    let rotation = parameters.rotation();
    let (positions, q) = (parameters.positions(), rotation.ring().modulus() as f64);
    let max_residue = (q - 1.0) / 2.0;
    let tables = (0..outputs).map(|output| {
        let value = |position: f64| {
            let cell = (position * cells as f64 / positions) as usize;
            let share = block.values.get(cell).map_or(0.0, |values| values[output] / span);
            // Shares are reduced modulo the span, as residues are modulo `q`.
            ((share - share.round()) * q).round().clamp(-max_residue, max_residue)
        };
        // Positions from N/2 on are read where the table continues with the opposite sign.
        let entry = |x: f64| if x < 0.0 { -value(x + positions) } else { value(x) };
        LookupTable::new(&rotation, positions / 2.0, 1.0, entry)
    });
    let tables = tables.collect::<Result<Vec<_>, FhewError>>()?;
    match together {
        true => Ok(BlockTables::Together(LookupTables::new(&rotation, &tables)?)),
        false => Ok(BlockTables::Each(tables)),
    }
}

impl BlockTables {
    /// The largest noise of a looked-up value among the outputs of the block, relative to the
    /// modulus of the ring of the tables.
    pub(super) fn noise(&self, parameters: &TreeParameters) -> Noise {
        match self {
            BlockTables::Each(_) => parameters.rotation().noise(),
            BlockTables::Together(tables) => {
                let noises = tables.noises(&parameters.rotation()).into_iter();
                noises
                    .reduce(|a, b| if a.log2_std() > b.log2_std() { a } else { b })
                    .unwrap_or(Noise::NONE)
            }
        }
    }
}

/// The errors of steps that are the same for all models.
struct Errors {
    parameters: TreeParameters,
    /// The noise of the switching key from the ring to the LWE secret.
    back: Noise,
}

/// The number of cells of the sums, the blocks of each tree, and the base of each tree.
type Cut = (usize, Vec<Vec<Block>>, Vec<Vec<f64>>);

impl Errors {
    fn of(parameters: &TreeParameters) -> Result<Self, PegasusError> {
        let (rotation, back) = (parameters.rotation(), parameters.back());
        let (q, from) = (rotation.input().modulus(), rotation.ring());
        match Digits::new(q, back.base_log2, back.count) {
            Some(digits) => {
                let back = LweSwitchingKey::noise_of(from, &digits);
                Ok(Errors { parameters: *parameters, back })
            }
            None => {
                let what = format!(
                    "{} digits of {} bits are no gadget of {q}",
                    back.count, back.base_log2
                );
                argument(OPERATION, what)
            }
        }
    }

    /// The noise under the LWE secret, from this noise under the ring's secret.
    fn switched(&self, before: Noise) -> Noise {
        let rotation = self.parameters.rotation();
        let (ring, input) = (rotation.ring(), rotation.input());
        let scaled = before.scaled(input.log2_modulus() - ring.log2_modulus());
        scaled.plus(noise::rounding(ring.secret_weight(), 2)).plus(self.back)
    }

    /// The distance of a sum of this block from the next cell, in standard deviations.
    fn certainty(&self, block: &Block, cells: usize) -> f64 {
        self.certainty_of(
            block.terms.iter().map(|(_, weight)| (*weight as f64).powi(2)).sum(),
            cells,
        )
    }

    /// The distance of a sum of comparisons from the next cell, in standard deviations.
    ///
    /// `square` is the sum of the squared weights. For the majority of three, it is the distance
    /// from the opposite answer.
    fn certainty_of(&self, square: f64, cells: usize) -> f64 {
        let rotation = self.parameters.rotation();
        let sum = rotation.noise().scaled(0.5 * square.max(1.0).log2());
        let index = rotation.index_noise(self.switched(sum), rotation.input().modulus());
        self.parameters.positions() / (2.0 * cells as f64) / index.log2_std().exp2()
    }

    /// Cuts the trees into the largest blocks whose sums are certain.
    fn cut(&self, model: &TreeModel, parameters: &TreeParameters) -> Result<Cut, PegasusError> {
        let rotation = parameters.rotation();
        let index_deviation =
            rotation.index_noise(Noise::NONE, rotation.input().modulus()).log2_std().exp2();
        let max_cells =
            (parameters.positions() / (2.0 * MIN_GATE_DEVIATIONS * index_deviation)) as usize;
        for limit in (1..=max_cells).rev() {
            let trees =
                model.trees().iter().map(|tree| cut(tree, model.ranges(), parameters, limit));
            let (blocks, bases): (Vec<_>, Vec<_>) =
                trees.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
            let all = || blocks.iter().flatten();
            let cells = all().map(|block: &Block| block.cells).max().unwrap_or(1);
            let combines =
                all().flat_map(|block| &block.terms).any(|(comparison, _)| comparison.digits > 1);
            let majorities =
                !combines || self.certainty_of(MAJORITY_SQUARES, cells) >= MIN_GATE_DEVIATIONS;
            if majorities && all().all(|block| self.certainty(block, cells) >= MIN_GATE_DEVIATIONS)
            {
                return Ok((cells, blocks, bases));
            }
        }
        argument(OPERATION, "these parameters cannot distinguish two states".into())
    }

    /// An upper bound of log2 of the probability that the error of one of these sums exceeds half a
    /// cell.
    fn log2_failure<'a>(
        &self,
        blocks: impl Iterator<Item = &'a Block>,
        majorities: usize,
        cells: usize,
    ) -> f64 {
        let tail = |z: f64| (-z * z / 2.0).exp() * 2.0 / (z * (2.0 * std::f64::consts::PI).sqrt());
        let of_majorities = majorities as f64 * tail(self.certainty_of(MAJORITY_SQUARES, cells));
        (blocks.map(|block| tail(self.certainty(block, cells))).sum::<f64>() + of_majorities).log2()
    }

    /// The modulus of a reply and the standard deviation of its errors.
    ///
    /// `before` is the noise of the summed values under the ring's secret.
    fn reply(
        &self,
        before: Noise,
        span: f64,
        model: &TreeModel,
    ) -> Result<(u64, f64), PegasusError> {
        let wanted = model.deviation();
        let input = self.parameters.rotation().input();
        let noise = self.switched(before);
        let deviation = |modulus: u64| {
            let scaled = noise.scaled((modulus as f64).log2() - input.log2_modulus());
            let rounding = noise::rounding(input.secret_spread(), 2);
            let all = if modulus == input.modulus() { noise } else { scaled.plus(rounding) };
            all.log2_std().exp2() * span / modulus as f64
        };
        let powers = (7..61).map(|bits| 1 << bits).take_while(|modulus| *modulus < input.modulus());
        let mut all = powers.chain([input.modulus()]).map(|modulus| (modulus, deviation(modulus)));
        match all.find(|(_, deviation)| *deviation <= wanted) {
            Some(reply) => Ok(reply),
            None if !model.requires_deviation() => {
                Ok((input.modulus(), deviation(input.modulus())))
            }
            None => {
                let have = deviation(input.modulus());
                let what = format!(
                    "outputs with a deviation of {wanted:.3e}, where {have:.3e} is possible"
                );
                argument(OPERATION, what)
            }
        }
    }
}
