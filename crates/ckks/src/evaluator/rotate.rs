//! Rotations and conjugation of the slots.

use arrayvec::ArrayVec;
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};

use super::Evaluator;
use crate::{Ciphertext, CkksError};

impl Evaluator {
    /// The slots rotated by `steps` to the left: slot `i` of the result is slot `i + steps` of `a`. Where this rotation has no key of its own,
    /// it is composed of rotations by powers of two.
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
    pub fn rotate_into(&self, out: &mut Ciphertext, a: &Ciphertext, steps: i64) -> Result<(), CkksError> {
        let elements = self.rotation_elements(a.slots(), steps);
        self.apply_galois_into(out, a, elements[0])?;
        for element in &elements[1..] {
            let before = out.clone();
            self.apply_galois_into(out, &before, *element)?;
        }
        Ok(())
    }

    /// The Galois elements of the fewest rotations that there are keys for and that compose the one by `steps`: this itself, or those by powers
    /// of two to the left, to the right, or both (non-adjacent form). This itself when none of these can be had.
    pub(crate) fn rotation_elements(&self, slots: usize, steps: i64) -> ArrayVec<usize, 64> {
        let mut elements: ArrayVec<usize, 64> =
            self.composed(slots, steps).iter().map(|step| self.rotation_element(slots, *step)).collect();
        if elements.is_empty() {
            elements.push(self.rotation_element(slots, steps));
        }
        elements
    }

    /// The steps of [`Evaluator::rotation_elements`]; empty for the rotation itself.
    fn composed(&self, slots: usize, steps: i64) -> ArrayVec<i64, 64> {
        let left = steps.rem_euclid(slots as i64);
        let has = |step: i64| self.keys().has_galois(self.rotation_element(slots, step));
        let mut best = ArrayVec::new();
        if has(left) {
            return best;
        }
        let right = slots as i64 - left;
        // The non-adjacent form of x has the digits +1 of (3x & !x)/2 and -1 of (x & !3x)/2.
        let signed = |x: i64| (((3 * x) & !x) >> 1, (x & !(3 * x)) >> 1);
        let (from_left, from_right) = (signed(left), signed(right));
        for (plus, minus) in [(left, 0), (0, right), from_left, (from_right.1, from_right.0)] {
            let digits =
                |word: i64, sign: i64| (0..62).filter(move |k| word >> k & 1 == 1).map(move |k| sign << k);
            let candidate: ArrayVec<i64, 64> =
                digits(plus, 1).chain(digits(minus, -1)).filter(|s| s % slots as i64 != 0).collect();
            if candidate.iter().all(|&s| has(s)) && (best.is_empty() || candidate.len() < best.len()) {
                best = candidate;
            }
        }
        best
    }

    /// Several rotations of one ciphertext, which share its decomposition (hoisting): much cheaper than one by one.
    ///
    /// # Errors
    /// When the key of a rotation is missing.
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        let mut out: Vec<Ciphertext> = steps.iter().map(|_| Ciphertext::empty(self.context())).collect();
        self.rotate_many_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// [`Evaluator::rotate_many`] into ciphertexts that are there, one for each step.
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
            return Err(CkksError::Argument { operation: "rotate", what });
        }
        let rlwe = self.context().rlwe();
        let hoisted = rlwe.hoist(a.inner())?;
        for (out, &steps) in out.iter_mut().zip(steps) {
            let element = self.rotation_element(a.slots(), steps);
            if !self.keys().has_galois(element) {
                self.rotate_into(out, a, steps)?;
                continue;
            }
            rlwe.apply_galois_hoisted_into(out.inner_mut(), a.inner(), &hoisted, element, self.keys())?;
            out.set_meta(a.scale(), a.slots(), a.bound());
        }
        Ok(())
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// When the conjugation key is missing.
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.apply_galois_into(&mut out, a, galois_element_of_conjugation(self.context().rlwe().degree()))?;
        Ok(out)
    }

    fn apply_galois_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        element: usize,
    ) -> Result<(), CkksError> {
        self.context().rlwe().apply_galois_into(out.inner_mut(), a.inner(), element, self.keys())?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        Ok(())
    }

    /// Fewer slots than `N/2` repeat, so that rotations are modulo the number of slots.
    pub(crate) fn rotation_element(&self, slots: usize, steps: i64) -> usize {
        let steps = steps.rem_euclid(slots as i64);
        galois_element_of_rotation(self.context().rlwe().degree(), steps)
    }
}
