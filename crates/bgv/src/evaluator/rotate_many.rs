//! Several rotations of one ciphertext.

use super::{Evaluator, rotate::OPERATION};
use crate::{BgvError, Ciphertext};

impl Evaluator {
    /// Both rows rotated to the left by each of `steps`: [`Evaluator::rotate_rows`] of one ciphertext, several times. Rotations of one and the same ciphertext share its decomposition (hoisting), and those without a
    /// key of their own, which are composed, share what they have in common: with keys of the powers of two, those by all of `1..2^k` are `2^k - 1` key switches in all, not `k 2^(k-1)`.
    ///
    /// # Errors
    /// As [`Evaluator::rotate_rows`].
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, BgvError> {
        self.check(a, OPERATION)?;
        let (degree, row) = (self.context().rlwe().degree(), self.context().rlwe().degree() / 2);
        let place = |step: &i64| step.rem_euclid(row as i64) as usize;
        let tree = self.keys().rotation_tree(degree, row, steps.iter().map(place), a.modulus());
        let rotated = tree.grow(a, |a, elements| self.apply_galois_to_many(a, elements))?;
        let each = steps.iter().map(|step| {
            let at = tree.place(place(step)).expect("every rotation is in the tree");
            at.checked_sub(1).map_or(a, |node| &rotated[node]).clone()
        });
        Ok(each.collect())
    }

    /// Automorphisms of one ciphertext, by their Galois elements; several share its decomposition.
    fn apply_galois_to_many(&self, a: &Ciphertext, elements: &[usize]) -> Result<Vec<Ciphertext>, BgvError> {
        let (rlwe, keys) = (self.context().rlwe(), self.keys());
        let mut out = vec![Ciphertext::empty(self.context()); elements.len()];
        if let ([out], [element]) = (&mut out[..], elements) {
            self.apply_galois_into(out, a, *element)?;
        } else {
            let common = keys.common_modulus(rlwe, a.modulus(), elements.iter().copied());
            let hoisted = rlwe.hoist_within(a.inner(), common)?;
            for (out, element) in out.iter_mut().zip(elements) {
                rlwe.apply_galois_hoisted_into(out.inner_mut(), a.inner(), &hoisted, *element, keys)?;
                out.set_factor(a.factor());
                self.check_budget(out, a.budget_bits(self.context()), OPERATION)?;
            }
        }
        Ok(out)
    }
}
