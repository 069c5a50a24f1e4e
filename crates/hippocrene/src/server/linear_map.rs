//! Any linear map from the elements of one array to those of another: matrix products, moves, broadcasts.

use std::collections::BTreeMap;

use super::Server;
use crate::{Array, Error, Form, Layout};

/// The diagonals between two ciphertexts: by the number of the automorphism ([`Form::diagonal`]), a number for each slot.
type Diagonals<F> = BTreeMap<usize, Vec<<F as Form>::Number>>;

impl Server {
    /// The array of layout `out` whose element at position `to` is the sum of `weight` times the slot of `a` at position `from`,
    /// over the entries `(to, from, weight)`, which name no pair of positions twice. Every slot of the result that holds no element is zero. One multiplication deep.
    pub(super) fn linear_map<F: Form>(
        &self,
        a: &Array<F>,
        out: Layout,
        entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let (slots, zero) = (F::slots(&self.session), F::Number::default());
        // Which ciphertext feeds which, with its diagonals.
        let mut maps: BTreeMap<(usize, usize), Diagonals<F>> = BTreeMap::new();
        for (to, from, weight) in entries {
            let diagonals = maps.entry((to / slots, from / slots)).or_default();
            let diagonal = diagonals.entry(F::diagonal(slots, to % slots, from % slots));
            diagonal.or_insert_with(|| vec![zero; slots])[to % slots] = weight;
        }
        for to in 0..out.ciphertexts() {
            if maps.range((to, 0)..(to + 1, 0)).next().is_none() {
                maps.insert((to, 0), BTreeMap::from([(0, vec![zero; slots])]));
            }
        }

        let form = self.form_of(&[a]);
        self.with_capacity([a], form.product_bits(self), |[a]| {
            let ciphertexts = self.mapped(&form, a, &maps).map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(out.clone(), form.clone(), true, ciphertexts))
        })
    }

    /// The sums of the mapped ciphertexts of `a`, one for each number in the first place of a key.
    fn mapped<F: Form>(
        &self,
        form: &F,
        a: &Array<F>,
        maps: &BTreeMap<(usize, usize), Diagonals<F>>,
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let inputs = a.expanded(&self.session);
        let inputs = inputs.iter().map(|x| form.lowered(self, x)).collect::<Result<Vec<_>, _>>()?;
        let mut known: Vec<(&Diagonals<F>, F::Map)> = Vec::new();
        let mut results: BTreeMap<usize, F::Ciphertext> = BTreeMap::new();
        for (&(to, from), diagonals) in maps {
            // Blocks of rows are mapped alike: one map serves all of them.
            let index = match known.iter().position(|(d, _)| *d == diagonals) {
                Some(index) => index,
                None => {
                    known.push((diagonals, F::map(self, diagonals.clone())?));
                    known.len() - 1
                }
            };
            let term = form.apply(self, &inputs[from], &known[index].1)?;
            let sum = match results.get(&to) {
                None => term,
                Some(sum) => form.add(self, sum, &term)?,
            };
            results.insert(to, sum);
        }
        Ok(results.into_values().collect())
    }
}
