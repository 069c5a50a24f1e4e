//! Rotations and conjugation of the slots.

use arrayvec::ArrayVec;
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{Modulus, RotationTree};

use super::Evaluator;
use crate::{Ciphertext, CkksError};

const ROTATE: &str = "rotate";

impl Evaluator {
    /// The slots rotated by `steps` to the left: slot `i` of the result is slot `i + steps` of `a`.
    /// Where this rotation has no key of its own, it is composed of rotations by powers of two.
    ///
    /// # Errors
    /// When the key of this rotation is missing and it cannot be composed.
    pub fn rotate(&self, a: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rotate_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// [`Evaluator::rotate`] into a ciphertext that is there.
    ///
    /// # Errors
    /// When the key of this rotation is missing and it cannot be composed.
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
        out.set_known(a.known().rotated(steps));
        Ok(())
    }

    /// Several rotations of one ciphertext, which share its decomposition (hoisting): much cheaper
    /// than one by one. Those without a key of their own, which are composed, share what they have
    /// in common: with keys of the powers of two, those by all of `1..2^k` are `2^k - 1` key
    /// switches in all.
    ///
    /// # Errors
    /// When the key of a rotation is missing.
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        self.check_own(a, ROTATE)?;
        let slots = a.slots();
        let places: Vec<usize> =
            steps.iter().map(|step| step.rem_euclid(slots as i64) as usize).collect();
        let tree = self.rotation_tree(slots, places.iter().copied(), a.modulus());
        let mut out = tree.at_steps(a, self.rotate_along(a, &tree)?, &places);
        out.iter_mut().zip(steps).for_each(|(out, step)| out.set_known(a.known().rotated(*step)));
        Ok(out)
    }

    /// [`Evaluator::rotate_many`] into ciphertexts that are there, one for each step. Rotations
    /// without a key of their own share nothing.
    ///
    /// # Errors
    /// When the key of a rotation is missing.
    pub fn rotate_many_into(
        &self,
        out: &mut [Ciphertext],
        a: &Ciphertext,
        steps: &[i64],
    ) -> Result<(), CkksError> {
        if out.len() != steps.len() {
            let what = format!("{} results for {} rotations", out.len(), steps.len());
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
            out.set_known(a.known().rotated(steps));
        }
        Ok(())
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// When the conjugation key is missing.
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.apply_galois_into(
            &mut out,
            a,
            galois_element_of_conjugation(self.context().rlwe().degree()),
        )?;
        out.set_known(a.known().map(|x| x.conj()));
        Ok(out)
    }

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

    /// The Galois elements of the fewest rotations that there are keys for, for ciphertexts modulo
    /// `modulus`, and that compose the one by `steps`.
    pub(crate) fn rotation_elements(
        &self,
        slots: usize,
        steps: i64,
        modulus: Modulus,
    ) -> ArrayVec<usize, 64> {
        self.keys().rotation_elements(self.context().rlwe().degree(), slots, steps, modulus)
    }

    /// The rotations by `steps`, by those that there are keys for, for ciphertexts modulo `modulus`
    /// ([`hippocrene_rlwe::PreparedEvaluationKeys::rotation_tree`]).
    pub(crate) fn rotation_tree(
        &self,
        slots: usize,
        steps: impl IntoIterator<Item = usize>,
        modulus: Modulus,
    ) -> RotationTree {
        self.keys().rotation_tree(self.context().rlwe().degree(), slots, steps, modulus)
    }

    /// The rotations of `a` by a tree, one for each node; those of one and the same ciphertext
    /// share its decomposition.
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

    /// Fewer slots than `N/2` repeat, so that rotations are modulo the number of slots.
    pub(crate) fn rotation_element(&self, slots: usize, steps: i64) -> usize {
        let steps = steps.rem_euclid(slots as i64);
        galois_element_of_rotation(self.context().rlwe().degree(), steps)
    }
}
