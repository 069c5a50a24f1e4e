//! Evaluation of linear transforms on ciphertexts.

use std::{borrow::Cow, iter, sync::Arc};

use hippocrene_rlwe::{Batch, Encodings, Modulus, Noise, RotationSum, Summand, Term};

use super::{Encoded, LinearTransform};
use crate::{Ciphertext, CkksError, Evaluator, Scale};

const OPERATION: &str = "linear transform";

/// Modulus and scale of a transform's result, with bounds of its values.
#[derive(Debug, Clone, Copy)]
pub(in crate::circuits) struct ResultSpec {
    pub modulus: Modulus,
    pub scale: Scale,
    /// Root mean square of the slots of the operand. It scales the noise from rounding the
    /// diagonals.
    pub magnitude: f64,
    /// Bound of the coefficients of the result, divided by the scale.
    pub largest_coefficient: f64,
    /// Bound of the slots of the result.
    pub bound: f64,
}

/// An operand of a transform.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand<'a> {
    pub ciphertext: &'a Ciphertext,
    /// Root mean square of the ciphertext's slots. It scales the noise from rounding the diagonals.
    pub magnitude: f64,
}

impl Evaluator {
    /// Applies the map `t` to the slots of `a` and rescales to `target`.
    ///
    /// Modulus and exact scale are those of [`Evaluator::after_product`] for a square of `a`, which
    /// is rescaled to the target first if its scale is larger. The diagonals are encoded at the
    /// scale of `a`.
    ///
    /// Everything is computed modulo `P'Q` (double hoisting, ePrint 2020/1203). The baby rotations
    /// share one decomposition. Their products with the diagonals are added without any division.
    /// Then one polynomial of each such sum is divided by `P'` for its giant rotation, and the
    /// result is divided and rescaled in one modulus switch.
    ///
    /// Products of polynomials modulo a power of two need extra transforms. If the modulus has such
    /// a limb, a rational rescale brings `a` to the next larger modulus without one. Near the top
    /// there may be none; then the modulus is a smaller one without a power of two, by at most 4
    /// bits. If that does not exist either, the modulus stays.
    ///
    /// # Errors
    /// Fails if a rotation key is missing, the numbers of slots differ, or the result does not fit
    /// the modulus.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        t: &LinearTransform,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.linear_transforms(&[a], t, target).map(single_result)
    }

    /// Like [`Evaluator::linear_transform`], for several ciphertexts. Diagonals that are not cached
    /// are encoded once for many of them. [`Batch`] describes the memory that this needs.
    ///
    /// # Errors
    /// Fails as [`Evaluator::linear_transform`] does.
    pub fn linear_transforms(
        &self,
        operands: &[&Ciphertext],
        t: &LinearTransform,
        target: Scale,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        self.apply_map(operands, t, None, target)
    }

    /// Like [`Evaluator::linear_transforms`], with diagonals at a given scale, such as
    /// [`Evaluator::plain_scale`].
    ///
    /// # Errors
    /// Fails as [`Evaluator::linear_transform`] does.
    pub fn linear_transforms_at(
        &self,
        operands: &[&Ciphertext],
        t: &LinearTransform,
        diagonals: Scale,
        target: Scale,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        self.apply_map(operands, t, Some(diagonals), target)
    }

    /// Applies a map to several ciphertexts, with diagonals at a given scale or at that of each
    /// ciphertext.
    fn apply_map(
        &self,
        operands: &[&Ciphertext],
        t: &LinearTransform,
        diagonals: Option<Scale>,
        target: Scale,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let mut lowered = Vec::with_capacity(operands.len());
        for a in operands {
            self.check_own(a, OPERATION)?;
            if a.slots() != t.slots {
                let (left, right) = (a.slots(), t.slots);
                return Err(CkksError::SlotMismatch { operation: OPERATION, left, right });
            }
            lowered.push(self.at_most(Cow::Borrowed(*a), target)?);
        }
        let mut out = Vec::with_capacity(operands.len());
        for alike in lowered.chunk_by(|a, b| (a.modulus(), a.scale()) == (b.modulus(), b.scale())) {
            let product = alike[0].scale().times(diagonals.unwrap_or(alike[0].scale()));
            let modulus = self.rescaled_modulus(alike[0].modulus(), product, target);
            let scale = self.switched_scale(product, alike[0].modulus(), modulus);
            let results = alike.iter().map(|a| {
                // No partial sum is larger than that of a whole row.
                let bound = t.norm * a.bound();
                ResultSpec {
                    modulus,
                    scale,
                    magnitude: a.bound(),
                    largest_coefficient: bound,
                    bound,
                }
            });
            let alike: Vec<&Ciphertext> = alike.iter().map(|a| &**a).collect();
            out.extend(self.linear_transforms_to(
                &alike,
                t,
                &results.collect::<Vec<_>>(),
                self.batch_of(t),
            )?);
        }
        Ok(out)
    }

    /// Like [`Evaluator::linear_transform`], to any modulus and scale. The scale of the diagonals
    /// follows from these. The transform may have more slots than `a`, whose slots then repeat.
    pub(in crate::circuits) fn linear_transform_to(
        &self,
        a: &Ciphertext,
        t: &LinearTransform,
        to: ResultSpec,
    ) -> Result<Ciphertext, CkksError> {
        self.linear_transforms_to(&[a], t, &[to], self.batch_of(t)).map(single_result)
    }

    /// Returns the size of the batches of a map, as a function of the modulus `P'Q` and the number
    /// of operands.
    fn batch_of(&self, t: &LinearTransform) -> impl Fn(Modulus, usize) -> Batch {
        let (baby, giants) = t.steps();
        let (diagonals, steps, limit) =
            (t.diagonals.len(), [baby.len(), giants.len()], t.memory().1);
        move |extended, operands| {
            self.context().rlwe().batch(extended, diagonals, steps, operands, limit)
        }
    }

    /// Like [`Evaluator::linear_transform_to`], for several ciphertexts of one modulus and scale,
    /// to one modulus and scale.
    fn linear_transforms_to(
        &self,
        operands: &[&Ciphertext],
        t: &LinearTransform,
        to: &[ResultSpec],
        batch: impl Fn(Modulus, usize) -> Batch,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let modulus = self.without_two(operands[0].modulus());
        let operands: Vec<_> =
            operands.iter().map(|a| self.at_modulus(a, modulus)).collect::<Result<_, _>>()?;
        let factor =
            self.switched_scale(to[0].scale, to[0].modulus, modulus).over(operands[0].scale());
        let common = self.common_modulus(t, modulus);
        for (a, to) in operands.iter().zip(to) {
            let log2_scale = a.scale().times(factor).log2();
            self.check_capacity(a, modulus, log2_scale, to.largest_coefficient, OPERATION)?;
        }
        let operands: Vec<Operand> = operands
            .iter()
            .zip(to)
            .map(|(a, to)| Operand { ciphertext: a, magnitude: to.magnitude })
            .collect();
        let extended = self.context().rlwe().rotation_modulus(modulus, common)?;
        let batch = batch(extended, operands.len());
        let (baby, giants) = t.steps();
        let [baby, giants] = [baby, giants].map(|steps| steps.into_iter().collect::<Vec<usize>>());
        let mut out = Vec::with_capacity(operands.len());
        for (operands, to) in operands.chunks(batch.operands).zip(to.chunks(batch.operands)) {
            let totals = match batch.encodings {
                Encodings::Kept => {
                    let groups = std::iter::once(t.encode(self.context(), modulus, factor, common));
                    self.sums_of_giant_steps(operands, t.slots, &baby, groups, batch.sums, common)?
                }
                encodings => {
                    let groups = giants.chunks(batch.giants).map(|some| {
                        let wanted = |giant: usize| some.contains(&giant);
                        let moduli = [modulus, extended];
                        t.encode_giant_steps(self.context(), moduli, factor, encodings, wanted)
                            .map(Arc::new)
                    });
                    self.sums_of_giant_steps(operands, t.slots, &baby, groups, batch.sums, common)?
                }
            };
            for ((total, a), to) in totals.into_iter().zip(operands).zip(to) {
                out.push(self.finish(total, a.ciphertext, t, factor, to)?);
            }
        }
        Ok(out)
    }

    /// Finishes the transform of `a`: rotates the total by the origin and divides it. The diagonals
    /// had the scale `factor`.
    fn finish(
        &self,
        total: RotationSum<'_>,
        a: &Ciphertext,
        t: &LinearTransform,
        factor: Scale,
        to: &ResultSpec,
    ) -> Result<Ciphertext, CkksError> {
        let mut total = match t.split.origin() {
            0 => total,
            origin => {
                let elements = self.rotation_elements(t.slots, origin as i64, a.modulus());
                elements
                    .into_iter()
                    .try_fold(total, |total, element| total.rotated(element, self.keys()))?
            }
        };
        let mut out = Ciphertext::empty(self.context());
        if let Some(spread) = &t.spread {
            let noise = a.inner().noise().scaled(factor.log2());
            let babies = self.independent_rotations(t, a.modulus());
            total.set_noise(spread.noise(noise, total.noise(), babies));
        }
        total.divide_into(out.inner_mut(), to.modulus)?;
        out.set_meta(to.scale, t.slots, to.bound);
        out.set_dry_run_values(t.apply_to_dry_run_values(a.dry_run_values()));
        Ok(out)
    }

    /// Returns the number of independent rotations that the baby steps count as in the noise
    /// estimate. Rotations that are composed of several steps often share their first step.
    fn independent_rotations(&self, t: &LinearTransform, modulus: Modulus) -> f64 {
        let (babies, _) = t.steps();
        let is_one_step =
            |baby: &usize| self.rotation_elements(t.slots, *baby as i64, modulus).len() <= 1;
        let count = babies.len() as f64;
        if babies.iter().all(is_one_step) { count } else { count.sqrt() / 2.0 }
    }

    /// Returns the common divisor of the moduli of all rotation keys that a transform needs for
    /// ciphertexts modulo `modulus`. The special modulus depends on it.
    fn common_modulus(&self, t: &LinearTransform, modulus: Modulus) -> Modulus {
        let (baby, giant) = t.steps();
        let sums = giant.into_iter().chain(std::iter::once(t.split.origin()));
        self.common_modulus_of(t.slots, modulus, baby.into_iter(), sums)
    }

    /// Like [`Evaluator::common_modulus`], for given baby steps and giant steps.
    pub(super) fn common_modulus_of(
        &self,
        slots: usize,
        modulus: Modulus,
        baby: impl Iterator<Item = usize>,
        giant: impl Iterator<Item = usize>,
    ) -> Modulus {
        let babies = baby.map(|step| self.rotation_element(slots, step as i64));
        let giants = giant.flat_map(|step| self.rotation_elements(slots, step as i64, modulus));
        self.keys().common_modulus(self.context().rlwe(), modulus, babies.chain(giants))
    }

    /// Returns for each operand the sum of its products with all diagonals, rotated, modulo `P'Q`.
    ///
    /// `groups` yields the diagonals of some giant steps at a time. All baby steps have to be in
    /// `baby`, which is sorted. They are computed anew for each group. The sums of giant steps are
    /// in memory for `together` operands at a time. `common` is the common divisor of the moduli of
    /// the keys.
    pub(super) fn sums_of_giant_steps<'a>(
        &'a self,
        operands: &[Operand<'_>],
        slots: usize,
        baby: &[usize],
        groups: impl Iterator<Item = Result<Arc<Encoded>, CkksError>>,
        together: usize,
        common: Modulus,
    ) -> Result<Vec<RotationSum<'a>>, CkksError> {
        let rlwe = self.context().rlwe();
        // Rotations without a key of their own are composed of others, as ciphertexts.
        let element = |step: usize| self.rotation_element(slots, step as i64);
        let mut hoisted = Vec::with_capacity(operands.len());
        for Operand { ciphertext: a, .. } in operands {
            let is_composed = |step: &usize| !self.keys().has_galois(element(*step), a.modulus());
            let composed =
                self.rotation_tree(slots, baby.iter().copied().filter(is_composed), a.modulus());
            let rotated = self.rotate_along(a, &composed)?;
            hoisted.push((rlwe.hoist_for_sums(a.inner(), common)?, composed, rotated));
        }
        let mut summands: Vec<Vec<Summand>> = Vec::with_capacity(operands.len());
        for (Operand { ciphertext: a, .. }, (hoisted, composed, rotated)) in
            operands.iter().zip(&hoisted)
        {
            let summand = |step: &usize| match composed
                .place(*step % slots)
                .and_then(|place| place.checked_sub(1))
            {
                Some(place) => Summand::Unrotated(rotated[place].inner()),
                None => Summand::Rotated(a.inner(), hoisted, element(*step)),
            };
            summands.push(baby.iter().map(summand).collect());
        }
        let mut totals: Vec<Option<RotationSum>> = operands.iter().map(|_| None).collect();
        for encoded in groups {
            let encoded = encoded?;
            let tree = self.rotation_tree(slots, encoded.keys().copied(), common);
            let parts = operands.chunks(together).zip(summands.chunks(together));
            for ((operands, summands), totals) in parts.zip(totals.chunks_mut(together)) {
                let mut sums =
                    self.sums_of_baby_steps(summands, baby, &encoded, common)?.into_iter();
                let mut parts: Vec<Vec<Option<RotationSum>>> = Vec::with_capacity(operands.len());
                for total in &mut *totals {
                    parts.push(
                        iter::once(total.take()).chain(tree.nodes().iter().map(|_| None)).collect(),
                    );
                }
                for (giant, terms) in encoded.iter() {
                    let place =
                        tree.place(*giant % slots).expect("every giant step is in the tree");
                    // The rounding error of the diagonals is multiplied by the message.
                    let rounding: f64 = terms.iter().map(|factor| factor.rounding).sum();
                    let rounding = Noise::from_std(rounding.sqrt());
                    for ((operand, parts), mut sum) in
                        operands.iter().zip(&mut parts).zip(&mut sums)
                    {
                        let log2_scale = operand.ciphertext.scale().log2();
                        let error = Self::message_times(log2_scale, operand.magnitude, rounding);
                        sum.set_noise(sum.noise().plus(error));
                        match &mut parts[place] {
                            None => parts[place] = Some(sum),
                            Some(total) => total.add(&sum)?,
                        }
                    }
                }
                for (total, parts) in totals.iter_mut().zip(parts) {
                    *total = tree.sum(parts, self.keys())?;
                }
            }
        }
        Ok(totals
            .into_iter()
            .map(|total| total.expect("a transform has at least one diagonal"))
            .collect())
    }
}

impl Evaluator {
    /// Multiplies the summands, which are the baby steps of several operands, by encoded diagonals.
    /// Returns for each giant step the sums of all operands.
    fn sums_of_baby_steps(
        &self,
        summands: &[Vec<Summand<'_>>],
        baby: &[usize],
        encoded: &Encoded,
        common: Modulus,
    ) -> Result<Vec<RotationSum<'_>>, CkksError> {
        let mut rows: Vec<Vec<Term>> = Vec::with_capacity(encoded.len() * summands.len());
        // For each giant step, all operands follow one another while its diagonals are in the CPU's
        // cache.
        for terms in encoded.values() {
            for first in (0..summands.len()).map(|i| i * baby.len()) {
                let terms = terms.iter().map(|factor| Term {
                    summand: first
                        + baby.binary_search(&factor.baby).expect("every baby step is a summand"),
                    factor: factor.encoded.term(),
                    log2_norm: factor.log2_norm,
                    leaves_zeros: factor.leaves_zeros,
                });
                rows.push(terms.collect());
            }
        }
        Ok(self.context().rlwe().rotation_sums(&summands.concat(), &rows, self.keys(), common)?)
    }
}

/// Returns the only result of a single operand.
pub(super) fn single_result<T>(mut results: Vec<T>) -> T {
    results.pop().expect("there is a result for each operand")
}

#[cfg(test)]
mod tests;
