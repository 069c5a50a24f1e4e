//! Linear transforms of ciphertexts.

use std::{borrow::Cow, sync::Arc};

use hippocrene_rlwe::{Modulus, Noise, RotationSum, Summand, Term};

use super::{Encoded, How, LinearTransform};
use crate::{Ciphertext, CkksError, Evaluator, Scale};

const OPERATION: &str = "linear transform";

/// Where a transform leaves its result, and what is known of the values.
#[derive(Debug, Clone, Copy)]
pub(in crate::circuits) struct Landing {
    pub modulus: Modulus,
    pub scale: Scale,
    /// The root mean square of the slots of the operand, for the noise of the rounding of the diagonals.
    pub magnitude: f64,
    /// What the coefficients of the result are no larger than, over the scale.
    pub largest_coefficient: f64,
    /// What the slots of the result are no larger than.
    pub bound: f64,
}

impl Evaluator {
    /// The map `t` of the slots of `a`, rescaled to `target`: modulus and exact scale are those of a square, [`Evaluator::after_product`], of
    /// `a`, which is rescaled to the target first if its scale is larger. The diagonals are encoded at the scale of `a`.
    ///
    /// All of it is had modulo `P'Q` (double hoisting, ePrint 2020/1203): the baby rotations share one decomposition, their products with the diagonals are
    /// added up as they are, of each such sum one part is divided by `P'` for its giant rotation, and the result is divided and rescaled in one
    /// modulus switch.
    ///
    /// Products of polynomials modulo a power of two cost transforms. Where the modulus has such a limb, the map is had modulo the next larger one
    /// that has none, to which `a` is brought by a rational rescale; near the top, where there is none, modulo one that is smaller by at most 4 bits;
    /// failing that, where it stands.
    ///
    /// # Errors
    /// When a rotation key is missing, the slots differ, or the result does not fit the modulus.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        t: &LinearTransform,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.check_own(a, OPERATION)?;
        if a.slots() != t.slots {
            return Err(CkksError::SlotMismatch { operation: OPERATION, left: a.slots(), right: t.slots });
        }
        let a = &*self.at_most(Cow::Borrowed(a), target)?;
        let (modulus, scale) = self.after_product(a, target);
        // Whatever is added up on the way is no larger than a whole row.
        let bound = t.norm * a.bound();
        let landing = Landing { modulus, scale, magnitude: a.bound(), largest_coefficient: bound, bound };
        self.linear_transform_to(a, t, landing)
    }

    /// [`Evaluator::linear_transform`] to any modulus and scale: the diagonals are encoded at the scale that takes `a` there. The slots of `a` are taken for
    /// those of the transform, of which there are at least as many: they repeat.
    pub(in crate::circuits) fn linear_transform_to(
        &self,
        a: &Ciphertext,
        t: &LinearTransform,
        to: Landing,
    ) -> Result<Ciphertext, CkksError> {
        let modulus = self.without_two(a.modulus());
        let a = &*self.brought(a, modulus)?;
        let factor = self.switched_scale(to.scale, to.modulus, modulus).over(a.scale());
        let common = self.common_modulus(t, modulus);
        let log2_scale = a.scale().times(factor).log2();
        self.check_capacity(a, modulus, log2_scale, to.largest_coefficient, OPERATION)?;
        let baby: Vec<usize> = t.steps().0.into_iter().collect();
        let extended = self.context().rlwe().rotation_modulus(modulus, common)?;
        let total = match t.at_once(self.context(), extended) {
            None => {
                let groups = std::iter::once(t.encode(self.context(), modulus, factor, common));
                self.sum_of_giant_steps(a, t.slots, &baby, groups, to.magnitude, common)?
            }
            Some(at_once) => {
                let giants: Vec<usize> = t.steps().1.into_iter().collect();
                let groups = giants.chunks(at_once).map(|some| {
                    let wanted = |giant: usize| some.contains(&giant);
                    let moduli = [modulus, extended];
                    t.encode_some(self.context(), moduli, factor, How::ByLimb, wanted).map(Arc::new)
                });
                self.sum_of_giant_steps(a, t.slots, &baby, groups, to.magnitude, common)?
            }
        };
        let total = match t.split.origin() {
            0 => total,
            origin => {
                let elements = self.rotation_elements(t.slots, origin as i64, modulus);
                elements.into_iter().try_fold(total, |total, element| total.rotated(element, self.keys()))?
            }
        };
        let mut out = Ciphertext::empty(self.context());
        total.divide_into(out.inner_mut(), to.modulus)?;
        out.set_meta(to.scale, t.slots, to.bound);
        out.set_known(t.apply_to_known(a.known()));
        Ok(out)
    }

    /// What the keys of the rotations that a transform wants of ciphertexts modulo `modulus` have in common: by it the special modulus is chosen.
    fn common_modulus(&self, t: &LinearTransform, modulus: Modulus) -> Modulus {
        let (baby, giant) = t.steps();
        let sums = giant.into_iter().chain(std::iter::once(t.split.origin()));
        self.common_modulus_of(t.slots, modulus, baby.into_iter(), sums)
    }

    /// The same of these baby steps and giant steps.
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

    /// The products with all diagonals, rotated and added up, modulo `P'Q`: those of some giant steps after the others, as `groups` gives them. All take their
    /// baby steps from `baby`, which is sorted; these are rotated anew for each group. The keys have `common` in common.
    pub(super) fn sum_of_giant_steps<'a>(
        &'a self,
        a: &Ciphertext,
        slots: usize,
        baby: &[usize],
        groups: impl Iterator<Item = Result<Arc<Encoded>, CkksError>>,
        magnitude: f64,
        common: Modulus,
    ) -> Result<RotationSum<'a>, CkksError> {
        let rlwe = self.context().rlwe();
        let hoisted = rlwe.hoist_for_sums(a.inner(), common)?;
        // Rotations without a key of their own are composed, as ciphertexts.
        let element = |step: usize| self.rotation_element(slots, step as i64);
        let is_composed = |step: &usize| !self.keys().has_galois(element(*step), a.modulus());
        let composed = self.rotation_tree(slots, baby.iter().copied().filter(is_composed), a.modulus());
        let rotated = self.rotate_along(a, &composed)?;
        let summands: Vec<Summand> = baby
            .iter()
            .map(|step| match composed.place(*step % slots).and_then(|place| place.checked_sub(1)) {
                Some(place) => Summand::Same(rotated[place].inner()),
                None => Summand::Rotated(a.inner(), &hoisted, element(*step)),
            })
            .collect();
        let mut total: Option<RotationSum> = None;
        for encoded in groups {
            let encoded = encoded?;
            let mut rows: Vec<Vec<Term>> = Vec::with_capacity(encoded.len());
            for terms in encoded.values() {
                let terms = terms.iter().map(|factor| Term {
                    summand: baby.binary_search(&factor.baby).expect("every baby step is a summand"),
                    factor: factor.encoded.term(),
                    log2_norm: factor.log2_norm,
                });
                rows.push(terms.collect());
            }
            let sums = rlwe.rotation_sums(&summands, &rows, self.keys(), common)?;
            let tree = self.rotation_tree(slots, encoded.keys().copied(), common);
            let mut parts: Vec<Option<RotationSum>> = (0..=tree.nodes().len()).map(|_| None).collect();
            parts[0] = total;
            for ((giant, terms), mut sum) in encoded.iter().zip(sums) {
                // The rounding of the diagonals, times the message.
                let rounding: f64 = terms.iter().map(|factor| factor.rounding).sum();
                let rounding =
                    Self::message_times(a.scale().log2(), magnitude, Noise::from_std(rounding.sqrt()));
                sum.set_noise(sum.noise().plus(rounding));
                let place = tree.place(*giant % slots).expect("every giant step is in the tree");
                match &mut parts[place] {
                    None => parts[place] = Some(sum),
                    Some(total) => total.add(&sum)?,
                }
            }
            total = tree.sum(parts, self.keys())?;
        }
        Ok(total.expect("a transform has at least one diagonal"))
    }
}
