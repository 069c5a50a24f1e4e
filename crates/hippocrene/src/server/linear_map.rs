//! Any linear map from the elements of one array to those of another: matrix products, moves, broadcasts.

use std::collections::BTreeMap;

use hippocrene_ckks::{Ciphertext, circuits::LinearTransform};

use super::Server;
use crate::{EncryptedArray, Error, Layout};

/// The diagonals between two ciphertexts: by rotation, a number for each slot.
type Diagonals = BTreeMap<usize, Vec<f64>>;

impl Server {
    /// The array of layout `out` whose element at position `to` is the sum of `weight` times the slot of `a` at position `from`,
    /// over the entries `(to, from, weight)`. Every slot of the result that holds no element is zero. One multiplication deep.
    pub(super) fn linear_map(
        &self,
        a: &EncryptedArray,
        out: Layout,
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, operation)?;
        let slots = self.session.slots();
        // Which ciphertext feeds which, with its diagonals.
        let mut maps: BTreeMap<(usize, usize), Diagonals> = BTreeMap::new();
        for (to, from, weight) in entries {
            let rotation = (from % slots + slots - to % slots) % slots;
            let diagonals = maps.entry((to / slots, from / slots)).or_default();
            diagonals.entry(rotation).or_insert_with(|| vec![0.0; slots])[to % slots] += weight;
        }
        for to in 0..out.ciphertexts() {
            if maps.range((to, 0)..(to + 1, 0)).next().is_none() {
                maps.insert((to, 0), BTreeMap::from([(0, vec![0.0; slots])]));
            }
        }

        let (precision, target) = (self.precision_of(&[a]), self.scale_of(&[a])?);
        let inputs = a.expanded(&self.session);
        let inputs = inputs.iter().map(|x| self.lowered(x, target)).collect::<Result<Vec<_>, _>>()?;
        let mut transforms: Vec<(Diagonals, LinearTransform)> = Vec::new();
        let mut results: Vec<Option<Ciphertext>> = vec![None; out.ciphertexts()];
        for ((to, from), diagonals) in maps {
            // Blocks of rows are mapped alike: one transform serves all of them.
            let known = transforms.iter().position(|(d, _)| *d == diagonals);
            let index = match known {
                Some(index) => index,
                None => {
                    transforms.push((diagonals.clone(), LinearTransform::from_real(slots, diagonals)?));
                    transforms.len() - 1
                }
            };
            let input = &inputs[from];
            let term = self.evaluator.linear_transform(input, &transforms[index].1, target)?;
            results[to] = Some(match results[to].take() {
                None => term,
                Some(sum) => {
                    let (mut sum, term) = self.evaluator.align(&sum, &term)?;
                    self.evaluator.add_assign(&mut sum, &term)?;
                    sum
                }
            });
        }
        Ok(EncryptedArray::from_ciphertexts(
            out,
            a.is_complex(),
            true,
            precision,
            results.into_iter().flatten().collect(),
        ))
    }
}
