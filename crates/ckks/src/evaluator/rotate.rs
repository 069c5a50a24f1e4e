//! Rotations and conjugation of the slots.

use arrayvec::ArrayVec;
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{Modulus, RotationTree};

use super::Evaluator;
use crate::{Ciphertext, CkksError};

const ROTATE: &str = "rotate";

impl Evaluator {
    /// Rotates the slots by `steps` to the left: slot `i` of the result is slot `i + steps` of `a`.
    /// If this rotation has no key of its own, it is composed of rotations by powers of two.
    ///
    /// # Errors
    /// Fails if the key of this rotation is missing and other keys cannot compose it.
    pub fn rotate(&self, a: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rotate_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// Like [`Evaluator::rotate`], with the result in an existing ciphertext.
    ///
    /// # Errors
    /// Fails if the key of this rotation is missing and other keys cannot compose it.
    pub fn rotate_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        steps: i64,
    ) -> Result<(), CkksError> {
        self.check_own(a, ROTATE)?;
        let elements = self.rotation_elements(a.slots(), steps, a.modulus());
        self.apply_galois_into(out, a, elements[0])?;
        for element in &elements[1..] {
            let before = out.clone();
            self.apply_galois_into(out, &before, *element)?;
        }
        out.set_dry_run_values(a.dry_run_values().rotated(steps));
        Ok(())
    }

    /// Returns several rotations of one ciphertext. They share its decomposition (hoisting), which
    /// is much cheaper than rotating one by one.
    ///
    /// Composed rotations share their common steps: with the keys of the powers of two, all
    /// rotations by `1..2^k` need `2^k - 1` key switches in total.
    ///
    /// # Errors
    /// Fails if the key of a rotation is missing.
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        self.check_own(a, ROTATE)?;
        let slots = a.slots();
        let places: Vec<usize> =
            steps.iter().map(|step| step.rem_euclid(slots as i64) as usize).collect();
        let tree = self.rotation_tree(slots, places.iter().copied(), a.modulus());
        let mut out = tree.at_steps(a, self.rotate_along(a, &tree)?, &places);
        out.iter_mut()
            .zip(steps)
            .for_each(|(out, step)| out.set_dry_run_values(a.dry_run_values().rotated(*step)));
        Ok(out)
    }

    /// Like [`Evaluator::rotate_many`], with the results in existing ciphertexts, one for each
    /// step. Composed rotations share nothing here.
    ///
    /// # Errors
    /// Fails if the key of a rotation is missing or the numbers of results and steps differ.
    pub fn rotate_many_into(
        &self,
        out: &mut [Ciphertext],
        a: &Ciphertext,
        steps: &[i64],
    ) -> Result<(), CkksError> {
        if out.len() != steps.len() {
            let what = format!("there are {} results for {} rotations", out.len(), steps.len());
            return Err(CkksError::Argument { operation: ROTATE, what });
        }
        self.check_own(a, ROTATE)?;
        let rlwe = self.context().rlwe();
        let element = |steps: i64| self.rotation_element(a.slots(), steps);
        let common = self.keys().common_modulus(
            rlwe,
            a.modulus(),
            steps.iter().map(|steps| element(*steps)),
        );
        let hoisted = rlwe.hoist_within(a.inner(), common)?;
        for (out, &steps) in out.iter_mut().zip(steps) {
            let element = element(steps);
            if !self.keys().has_galois(element, a.modulus()) {
                self.rotate_into(out, a, steps)?;
                continue;
            }
            rlwe.apply_galois_hoisted_into(
                out.inner_mut(),
                a.inner(),
                &hoisted,
                element,
                self.keys(),
            )?;
            out.set_meta(a.scale(), a.slots(), a.bound());
            out.set_dry_run_values(a.dry_run_values().rotated(steps));
        }
        Ok(())
    }

    /// Returns the complex conjugate of every slot.
    ///
    /// # Errors
    /// Fails if the conjugation key is missing.
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.apply_galois_into(
            &mut out,
            a,
            galois_element_of_conjugation(self.context().rlwe().degree()),
        )?;
        out.set_dry_run_values(a.dry_run_values().map(|x| x.conj()));
        Ok(out)
    }

    /// Applies the automorphism of a Galois element.
    fn apply_galois_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        element: usize,
    ) -> Result<(), CkksError> {
        self.context().rlwe().apply_galois_into(
            out.inner_mut(),
            a.inner(),
            element,
            self.keys(),
        )?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        Ok(())
    }

    /// Returns the Galois elements of the fewest rotations that compose the one by `steps`, among
    /// those that have keys for ciphertexts modulo `modulus`.
    pub(crate) fn rotation_elements(
        &self,
        slots: usize,
        steps: i64,
        modulus: Modulus,
    ) -> ArrayVec<usize, 64> {
        self.keys().rotation_elements(self.context().rlwe().degree(), slots, steps, modulus)
    }

    /// Returns the tree that composes the rotations by `steps` from those that have keys for
    /// ciphertexts modulo `modulus` ([`hippocrene_rlwe::PreparedEvaluationKeys::rotation_tree`]).
    pub(crate) fn rotation_tree(
        &self,
        slots: usize,
        steps: impl IntoIterator<Item = usize>,
        modulus: Modulus,
    ) -> RotationTree {
        self.keys().rotation_tree(self.context().rlwe().degree(), slots, steps, modulus)
    }

    /// Returns the rotations of `a` along a tree, one for each node. Rotations of the same
    /// ciphertext share its decomposition.
    pub(crate) fn rotate_along(
        &self,
        a: &Ciphertext,
        tree: &RotationTree,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        tree.grow(a, |a, elements| {
            let rotated =
                self.context().rlwe().apply_galois_to_each(a.inner(), elements, self.keys())?;
            let with_meta = |inner| {
                let mut out = Ciphertext::empty(self.context());
                *out.inner_mut() = inner;
                out.set_meta(a.scale(), a.slots(), a.bound());
                out
            };
            Ok(rotated.into_iter().map(with_meta).collect())
        })
    }

    /// Returns the Galois element of a rotation. With fewer slots than `N/2`, slots repeat, so
    /// rotations count modulo the number of slots.
    pub(crate) fn rotation_element(&self, slots: usize, steps: i64) -> usize {
        let steps = steps.rem_euclid(slots as i64);
        galois_element_of_rotation(self.context().rlwe().degree(), steps)
    }
}
