//! Several rotations of one ciphertext.

use super::{Evaluator, rotate::OPERATION};
use crate::{BgvError, Ciphertext};

impl Evaluator {
    /// Rotates both rows to the left by each of `steps` slots, and returns one ciphertext for each.
    ///
    /// It gives the results of [`Evaluator::rotate_rows`] at a lower cost. All rotations share the
    /// decomposition of the ciphertext (hoisting). Rotations without a key of their own are
    /// composed, and share their common parts. For example, with keys of the powers of two, the
    /// rotations by all of `1..2^k` need `2^k - 1` key switches in all instead of `k 2^(k-1)`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::rotate_rows`].
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, BgvError> {
        self.check(a, OPERATION)?;
        let (degree, row) = (self.context().rlwe().degree(), self.context().rlwe().degree() / 2);
        let steps: Vec<usize> =
            steps.iter().map(|step| step.rem_euclid(row as i64) as usize).collect();
        let tree = self.keys().rotation_tree(degree, row, steps.iter().copied(), a.modulus());
        let rotated = tree.grow(a, |a, elements| {
            let rotated =
                self.context().rlwe().apply_galois_to_each(a.inner(), elements, self.keys())?;
            let with_factor = |inner| {
                let mut out = Ciphertext::empty(self.context());
                *out.inner_mut() = inner;
                out.set_factor(a.factor());
                self.check_budget(&out, a.budget_bits(self.context()), OPERATION)?;
                Ok::<_, BgvError>(out)
            };
            rotated.into_iter().map(with_factor).collect()
        })?;
        Ok(tree.at_steps(a, rotated, &steps))
    }
}
