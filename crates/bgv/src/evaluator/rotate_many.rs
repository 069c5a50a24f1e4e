//! Several rotations of one ciphertext.

use std::collections::BTreeMap;

use super::{Evaluator, rotate::OPERATION};
use crate::{BgvError, Ciphertext};

/// The Galois elements that are still to be applied, one after the other, and the place of the result.
type Path<'a> = (usize, &'a [usize]);

impl Evaluator {
    /// Both rows rotated to the left by each of `steps`: [`Evaluator::rotate_rows`] of one ciphertext, several times. Rotations of one and the same ciphertext share its decomposition (hoisting), and those without a
    /// key of their own, which are composed, share what they have in common: with keys of the powers of two, those by all of `1..2^k` are `2^k - 1` key switches in all, not `k 2^(k-1)`.
    ///
    /// # Errors
    /// As [`Evaluator::rotate_rows`].
    pub fn rotate_many(&self, a: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, BgvError> {
        self.check(a, OPERATION)?;
        let degree = self.context().rlwe().degree();
        let elements = |steps: &i64| {
            let elements = self.keys().rotation_elements(degree, degree / 2, *steps, a.modulus());
            elements.into_iter().filter(|element| *element != 1).collect::<Vec<_>>()
        };
        let paths: Vec<Vec<usize>> = steps.iter().map(elements).collect();
        let mut out = vec![Ciphertext::empty(self.context()); steps.len()];
        let paths = paths.iter().map(Vec::as_slice).enumerate();
        let (ends, on): (Vec<Path>, Vec<Path>) = paths.partition(|(_, path)| path.is_empty());
        ends.into_iter().for_each(|(place, _)| out[place] = a.clone());
        self.rotate_along(&mut out, a, on)?;
        Ok(out)
    }

    /// Applies to `a` the first elements of these paths, each once, and to what comes of that the rest of those paths that begin with it.
    fn rotate_along(&self, out: &mut [Ciphertext], a: &Ciphertext, paths: Vec<Path>) -> Result<(), BgvError> {
        let mut branches: BTreeMap<usize, (Vec<usize>, Vec<Path>)> = BTreeMap::new();
        for (place, path) in paths {
            match path {
                [] => {}
                [last] => branches.entry(*last).or_default().0.push(place),
                [first, rest @ ..] => branches.entry(*first).or_default().1.push((place, rest)),
            }
        }
        let (rlwe, keys) = (self.context().rlwe(), self.keys());
        let hoisted = match branches.len() {
            0 | 1 => None,
            _ => {
                let common = keys.common_modulus(rlwe, a.modulus(), branches.keys().copied());
                Some(rlwe.hoist_within(a.inner(), common)?)
            }
        };
        for (element, (ends, on)) in branches {
            let mut rotated = Ciphertext::empty(self.context());
            match &hoisted {
                None => self.apply_galois_into(&mut rotated, a, element)?,
                Some(hoisted) => {
                    let inner = rotated.inner_mut();
                    rlwe.apply_galois_hoisted_into(inner, a.inner(), hoisted, element, keys)?;
                    rotated.set_factor(a.factor());
                    self.check_budget(&rotated, a.budget_bits(self.context()), OPERATION)?;
                }
            }
            self.rotate_along(out, &rotated, on)?;
            if let Some((last, others)) = ends.split_last() {
                others.iter().for_each(|place| out[*place] = rotated.clone());
                out[*last] = rotated;
            }
        }
        Ok(())
    }
}
