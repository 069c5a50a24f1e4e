//! Rotations and conjugation of the slots.

use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};

use super::Evaluator;
use crate::{Ciphertext, CkksError};

impl Evaluator {
    /// The slots rotated by `steps` to the left: slot `i` of the result is slot `i + steps` of `a`.
    ///
    /// # Errors
    /// When the key of this rotation is missing.
    pub fn rotate(&self, a: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rotate_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// [`Evaluator::rotate`] into a ciphertext that is there.
    ///
    /// # Errors
    /// When the key of this rotation is missing.
    pub fn rotate_into(&self, out: &mut Ciphertext, a: &Ciphertext, steps: i64) -> Result<(), CkksError> {
        self.apply_galois_into(out, a, self.rotation_element(a, steps))
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
        let rlwe = self.context().rlwe();
        let hoisted = rlwe.hoist(a.inner())?;
        for (out, &steps) in out.iter_mut().zip(steps) {
            let element = self.rotation_element(a, steps);
            rlwe.apply_galois_hoisted_into(out.inner_mut(), a.inner(), &hoisted, element, self.keys(), 1)?;
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
        self.context().rlwe().apply_galois_into(out.inner_mut(), a.inner(), element, self.keys(), 1)?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        Ok(())
    }

    /// Fewer slots than `N/2` repeat, so that rotations are modulo the number of slots.
    fn rotation_element(&self, a: &Ciphertext, steps: i64) -> usize {
        let steps = steps.rem_euclid(a.slots() as i64);
        galois_element_of_rotation(self.context().rlwe().degree(), steps)
    }
}
