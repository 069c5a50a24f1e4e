//! The evaluation of a plan on a query.

use hippocrene_fhew::{
    FhewError, LweCiphertext, LweSwitchingKey, PreparedBlindRotationKey, PreparedLweSwitchingKey,
    RlweCoefficients,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::RlweError;

use super::{
    FeatureRanges, TreeKeys, TreePlan, TreeQuery, TreeReply,
    plan::{Answer, BlockTables, Combined, Compared, PlannedBlock},
};
use crate::{PegasusError, error::argument};

const OPERATION: &str = "evaluate decision trees";

/// Target number of simultaneous rotations of each step, for each thread (chosen).
const ROTATIONS_PER_THREAD: usize = 64;

/// [`TreeKeys`] prepared in memory. See [`TreePlan`] for an example.
#[derive(Debug)]
pub struct PreparedTreeKeys {
    tables: PreparedBlindRotationKey,
    back: PreparedLweSwitchingKey,
}

impl TreeKeys {
    /// Expands the seeds and prepares the keys in memory.
    ///
    /// # Errors
    /// Returns an error if the keys do not belong to one client, or the environment asks for a
    /// kernel that this CPU lacks.
    pub fn prepare(&self, threads: &Threads) -> Result<PreparedTreeKeys, PegasusError> {
        let ([input, ring], rotation) = (self.tables.keys(), self.tables.parameters());
        if self.back.keys() != [ring, input]
            || self.back.parameters() != [rotation.ring(), rotation.input()]
        {
            return argument(
                "prepare keys of decision trees",
                "they do not belong to one client".into(),
            );
        }
        Ok(PreparedTreeKeys {
            tables: self.tables.prepare(threads)?,
            back: LweSwitchingKey::prepare(&self.back)?,
        })
    }
}

type Ciphertexts = Vec<Result<LweCiphertext, FhewError>>;

impl PreparedTreeKeys {
    /// Bytes of memory that the keys take.
    pub fn bytes(&self) -> usize {
        self.tables.bytes() + self.back.bytes()
    }

    /// Evaluates the plan on every row of the query.
    ///
    /// The rotations are distributed over `threads`. From time to time `progress` is called with
    /// the number of finished rows and the number of all rows.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if plan, query and keys do not fit each other. Returns
    /// [`RlweError::KeyMismatch`] if the query belongs to another key.
    pub fn evaluate(
        &self,
        plan: &TreePlan,
        query: &TreeQuery,
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TreeReply, PegasusError> {
        self.check(plan, query)?;
        self.all(plan, query.rows(), &query.numbers().expand()?, threads, progress)
    }

    /// Evaluates the plan on plaintext rows, like [`PreparedTreeKeys::evaluate`].
    ///
    /// The outputs have no errors except rounding. With [`TreeKeys::dry_run`] the context counts
    /// the operations of a real evaluation.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if plan, ranges and keys do not fit each other, the
    /// number of values is not a multiple of the number of features, or a value is NaN.
    pub fn simulate(
        &self,
        plan: &TreePlan,
        ranges: &FeatureRanges,
        rows: &[f64],
    ) -> Result<TreeReply, PegasusError> {
        const OPERATION: &str = "simulate decision trees";
        if plan.parameters().rotation() != self.tables.parameters() {
            return argument(OPERATION, "the plan and the keys are of different parameters".into());
        }
        if plan.features() != ranges.count() {
            let what = format!(
                "ranges of {} features, where the model has {}",
                ranges.count(),
                plan.features()
            );
            return argument(OPERATION, what);
        }
        let parameters = plan.parameters().query();
        let messages = plan.parameters().messages(ranges, rows, OPERATION)?;
        let trivial = |messages: &[u64]| {
            let mut messages = messages.to_vec();
            messages.resize(parameters.dimension(), 0);
            RlweCoefficients::trivial(parameters, messages, self.tables.keys()[0])
        };
        let ciphertexts =
            messages.chunks(parameters.dimension()).map(trivial).collect::<Result<Vec<_>, _>>()?;
        let count = rows.len() / ranges.count();
        self.all(plan, count, &ciphertexts, &Threads::single(), &mut |_, _| ())
    }

    fn all(
        &self,
        plan: &TreePlan,
        rows: usize,
        ciphertexts: &[RlweCoefficients],
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TreeReply, PegasusError> {
        let rows: Vec<usize> = (0..rows).collect();
        let max_rotations = plan.compared().max(plan.combined.len()).max(plan.look_ups()).max(1);
        let rows_at_a_time = (ROTATIONS_PER_THREAD * threads.count() / max_rotations).max(1);
        let mut values = Vec::with_capacity(rows.len() * plan.outputs());
        for some in rows.chunks(rows_at_a_time) {
            values.extend(self.rows(plan, ciphertexts, some, threads)?);
            progress(values.len() / plan.outputs(), rows.len());
        }
        Ok(TreeReply { span: plan.span, middles: plan.middles.clone(), values })
    }

    fn check(&self, plan: &TreePlan, query: &TreeQuery) -> Result<(), PegasusError> {
        let rotation = self.tables.parameters();
        if plan.parameters().rotation() != rotation {
            return argument(OPERATION, "the plan and the keys are of different parameters".into());
        }
        if query.numbers().parameters() != plan.parameters().query() {
            return argument(
                OPERATION,
                "the query and the keys are of different parameters".into(),
            );
        }
        let (have, need) = (query.numbers().key(), self.tables.keys()[0]);
        if have != need {
            return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
        }
        let (have, need) = (query.features(), plan.features());
        if have != need {
            return argument(
                OPERATION,
                format!("rows of {have} features, where the model has {need}"),
            );
        }
        Ok(())
    }

    /// Returns the outputs of these rows.
    fn rows(
        &self,
        plan: &TreePlan,
        ciphertexts: &[RlweCoefficients],
        rows: &[usize],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, PegasusError> {
        let rotation = self.tables.parameters();
        let degree = rotation.input().dimension();
        let digits = plan.parameters().digits();
        let number = |row: usize, (feature, digit): (usize, usize)| {
            (row * plan.features() + feature) * digits + digit
        };
        let numbers: Vec<LweCiphertext> = rows
            .iter()
            .flat_map(|row| plan.compared.iter().map(move |compared| number(*row, *compared)))
            .map(|i| ciphertexts[i / degree].extract(i % degree))
            .collect::<Result<_, _>>()?;
        let constant = vec![plan.half_unit; rotation.ring().dimension()];
        let inputs: Vec<(&LweCiphertext, &[u64])> =
            numbers.iter().map(|c| (c, &constant[..])).collect();
        let compared = self.tables.rotate_all(&inputs, threads)?;
        let combined = self.combine(plan, &compared, rows.len(), threads)?;

        let count = plan.blocks();
        let sums = self.sums(rows.len() * count, threads, |i, zero| {
            let answers = Answers::of_row(plan, &compared, &combined, i / count);
            add_up(plan, &plan.blocks[i % count], &answers, zero)
        })?;
        drop((compared, combined));
        let values = self.look_up(plan, &sums, threads)?;

        let outputs = plan.outputs();
        let mut results: Ciphertexts = plan
            .offsets
            .iter()
            .cycle()
            .take(rows.len() * outputs)
            .map(|o| self.share(*o))
            .collect();
        threads.for_each_mut(&mut results, |i, result| {
            let (row, output) = (i / outputs, i % outputs);
            if let Ok(offset) = &*result {
                let values = values[row * count..][..count].iter().map(|values| &values[output]);
                *result = self.reply(plan, offset.clone(), values);
            }
        });
        Ok(results.into_iter().collect::<Result<_, _>>()?)
    }

    /// Returns the answers of comparisons by several digits, grouped by row.
    ///
    /// Each digit before the last takes one rotation of a constant polynomial. The rotation is by
    /// the sum of the two bounds and the answer of the digits after it. Its sign is the answer.
    fn combine(
        &self,
        plan: &TreePlan,
        compared: &[RlweCoefficients],
        rows: usize,
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, PegasusError> {
        let rotation = self.tables.parameters();
        let constant = vec![plan.half_unit; rotation.ring().dimension()];
        let count = plan.combined.len();
        let mut answers = Vec::with_capacity(rows * count);
        for row in 0..rows {
            let of_row = Answers::of_row(plan, compared, &[], row);
            for Combined { last, .. } in &plan.combined {
                answers.push(of_row.compared(*last)?);
            }
        }
        for step in 0.. {
            // Comparisons with more digits come first.
            let some =
                plan.combined.iter().take_while(|combined| combined.bounds.len() > step).count();
            let all: Vec<usize> =
                (0..rows).flat_map(|row| row * count..row * count + some).collect();
            if all.is_empty() {
                break;
            }
            for some in all.chunks(ROTATIONS_PER_THREAD * threads.count()) {
                let sums = self.sums(some.len(), threads, |i, mut sum| {
                    let of_row = Answers::of_row(plan, compared, &[], some[i] / count);
                    sum.add_assign(&answers[some[i]])?;
                    for bound in plan.combined[some[i] % count].bounds[step] {
                        sum.add_assign(&of_row.compared(bound)?)?;
                    }
                    // "Not above" is a positive number, but rotation finds it at negative
                    // positions.
                    sum.neg_assign();
                    Ok(sum)
                })?;
                let inputs: Vec<(&LweCiphertext, &[u64])> =
                    sums.iter().map(|c| (c, &constant[..])).collect();
                for (i, rotated) in some.iter().zip(self.tables.rotate_all(&inputs, threads)?) {
                    answers[*i] = rotated.extract(0)?;
                }
            }
        }
        Ok(answers)
    }

    /// Computes `count` sums. `f` adds each one to a zero under the ring's secret, and the result
    /// is switched to the LWE secret.
    fn sums(
        &self,
        count: usize,
        threads: &Threads,
        f: impl Fn(usize, LweCiphertext) -> Result<LweCiphertext, FhewError> + Sync,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let mut sums: Ciphertexts = (0..count).map(|_| self.number(0)).collect();
        threads.for_each_mut(&mut sums, |i, sum| {
            if let Ok(zero) = &*sum {
                *sum = f(i, zero.clone()).and_then(|sum| self.switch(&sum));
            }
        });
        sums.into_iter().collect()
    }

    /// Returns the outputs of the block of each sum. The sums are grouped by row.
    fn look_up(
        &self,
        plan: &TreePlan,
        sums: &[LweCiphertext],
        threads: &Threads,
    ) -> Result<Vec<Vec<LweCiphertext>>, FhewError> {
        let block = |i: usize| &plan.blocks[i % plan.blocks()].tables;
        // The tables of all blocks are of the same variant.
        let each = |(i, sum)| match block(i) {
            BlockTables::Each(tables) => {
                tables.iter().map(|table| (sum, table.coefficients())).collect()
            }
            BlockTables::Together(_) => Vec::new(),
        };
        let inputs: Vec<(&LweCiphertext, &[u64])> =
            sums.iter().enumerate().flat_map(each).collect();
        if !inputs.is_empty() {
            let rotated = self.tables.rotate_all(&inputs, threads)?;
            let values = rotated.chunks(plan.outputs());
            return values
                .map(|outputs| outputs.iter().map(|rotated| rotated.extract(0)).collect())
                .collect();
        }
        let mut values: Vec<Result<Vec<LweCiphertext>, FhewError>> =
            sums.iter().map(|_| Ok(vec![])).collect();
        threads.for_each_mut(&mut values, |i, values| {
            let BlockTables::Together(tables) = block(i) else { return };
            *values = self.tables.look_up_in_tables(&sums[i], tables).map(|mut values| {
                // The index has no error, since sums are in the middle of their cells.
                let noises = tables.noises(&self.tables.parameters());
                values.iter_mut().zip(noises).for_each(|(value, noise)| value.set_noise(noise));
                values
            });
        });
        values.into_iter().collect()
    }

    /// Adds up values, and switches the sum to the secret and the modulus of replies.
    fn reply<'a>(
        &self,
        plan: &TreePlan,
        mut sum: LweCiphertext,
        values: impl Iterator<Item = &'a LweCiphertext>,
    ) -> Result<LweCiphertext, FhewError> {
        for value in values {
            sum.add_assign(value)?;
        }
        // A switch to the present modulus changes nothing.
        self.switch(&sum)?.switch_modulus(plan.reply_modulus)
    }

    /// Returns a plaintext share of the span, as a trivial ciphertext.
    fn share(&self, share: f64) -> Result<LweCiphertext, FhewError> {
        let q = self.tables.parameters().ring().modulus();
        let residue = (share - share.floor()) * q as f64;
        self.number((residue as u64).min(q - 1))
    }

    /// Returns a plaintext residue, as a trivial ciphertext under the ring's secret.
    fn number(&self, residue: u64) -> Result<LweCiphertext, FhewError> {
        LweCiphertext::trivial(self.tables.parameters().ring(), residue, self.tables.keys()[1])
    }

    /// Switches to the modulus of the LWE ciphertexts and to their secret.
    fn switch(&self, ciphertext: &LweCiphertext) -> Result<LweCiphertext, FhewError> {
        self.back.switch(&ciphertext.switch_modulus(self.tables.parameters().input().modulus())?)
    }
}

/// The answers of a row's comparisons. "No" is a constant, and "yes" is its negative.
struct Answers<'a> {
    /// The rotated polynomials of the row's digits.
    compared: &'a [RlweCoefficients],
    /// The answers of comparisons by several digits.
    combined: &'a [LweCiphertext],
}

impl<'a> Answers<'a> {
    /// Selects the answers of one row among all rows. An empty `combined` means that there are none
    /// yet.
    fn of_row(
        plan: &TreePlan,
        compared: &'a [RlweCoefficients],
        combined: &'a [LweCiphertext],
        row: usize,
    ) -> Self {
        let count = if combined.is_empty() { 0 } else { plan.combined.len() };
        let compared = &compared[row * plan.compared()..][..plan.compared()];
        Answers { compared, combined: &combined[row * count..][..count] }
    }

    /// Returns the answer of a comparison by one digit.
    ///
    /// There are `2N` positions. The second half has the negated coefficients of the first.
    fn compared(
        &self,
        Compared { number, position }: Compared,
    ) -> Result<LweCiphertext, FhewError> {
        let rotated = &self.compared[number];
        let degree = rotated.parameters().dimension();
        let mut answer = rotated.extract(position % degree)?;
        if position >= degree {
            answer.neg_assign();
        }
        Ok(answer)
    }

    fn get(&self, answer: Answer) -> Result<LweCiphertext, FhewError> {
        match answer {
            Answer::Compared(compared) => self.compared(compared),
            Answer::Combined(number) => Ok(self.combined[number].clone()),
        }
    }
}

/// Adds the sum of a block to `sum`.
///
/// If the constant and the weights of the true comparisons add up to `u`, the result is the middle
/// of cell `u`.
fn add_up(
    plan: &TreePlan,
    block: &PlannedBlock,
    answers: &Answers<'_>,
    mut sum: LweCiphertext,
) -> Result<LweCiphertext, FhewError> {
    // The unit is half a cell. A comparison is 1 for "no" and -1 for "yes", so "yes" adds 2 times
    // its weight.
    let mut halves = 1 + 2 * block.constant;
    for (answer, weight) in &block.terms {
        let mut term = answers.get(*answer)?;
        term.scale_assign(-weight);
        sum.add_assign(&term)?;
        halves += weight;
    }
    sum.add_constant_assign(halves * plan.half_unit as i64);
    Ok(sum)
}
