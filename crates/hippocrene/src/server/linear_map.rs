//! Any linear map from the elements of one array to those of another: matrix products, moves, broadcasts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hippocrene_rlwe::stop;

use super::{Server, maps::Name};
use crate::{Array, Diagonals, Error, Form, Layout};

/// After so many entries it is asked whether to stop.
const ASKED: usize = 4096;

/// A linear map between two ciphertexts, and between which ciphertexts it is to be had: `(to, from)`.
type Block<F> = (Diagonals<F>, Vec<(usize, usize)>);

impl Server {
    /// The array of layout `out` whose element at position `to` is the sum of `weight` times the slot of `a` at position `from`,
    /// over the entries `(to, from, weight)`, which name no pair of positions twice. Every slot of the result that holds no element is zero. One multiplication deep.
    ///
    /// It takes as much memory as there are entries, and as a few hundred encoded diagonals: more of them are encoded some at a time. What is encoded of a map that is applied for the second time is
    /// kept while there is room ([`Server::set_cache_memory`]).
    pub(super) fn linear_map<F: Form>(
        &self,
        a: &Array<F>,
        out: Layout,
        entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let blocks = blocks::<F>(&out, F::slots(&self.session), entries, operation)?;
        let form = self.form_of(&[a]);
        self.with_capacity([a], form.product_bits(self), |[a]| {
            let ciphertexts = self.mapped(&form, a, &blocks).map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(out.clone(), form.clone(), true, ciphertexts))
        })
    }

    /// The sums of the mapped ciphertexts of `a`, one for each number in the first place of a pair.
    fn mapped<F: Form>(
        &self,
        form: &F,
        a: &Array<F>,
        blocks: &[Block<F>],
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let inputs = a.expanded(&self.session);
        let apart = apart::<F>(blocks, F::slots(&self.session));
        let inputs = inputs.iter().map(|x| form.lowered(self, x)).collect::<Result<Vec<_>, _>>()?;
        let mut results: BTreeMap<usize, F::Ciphertext> = BTreeMap::new();
        for (diagonals, pairs) in blocks {
            let name = Name::of::<F>(diagonals);
            let map = match F::maps(self).get(name) {
                Some(kept) => kept,
                None => {
                    // What is encoded for one ciphertext alone, and is not to be kept, is dropped as it is made.
                    let bytes = self.bytes_of_diagonals(diagonals.len());
                    let kept = F::maps(self).is_to_be_kept(name, bytes, self.session.room());
                    Arc::new(F::map(self, diagonals, kept || pairs.len() > 1)?)
                }
            };
            for &(to, from) in pairs {
                let term = form.apply(self, &inputs[from], &map)?;
                let sum = match results.get(&to) {
                    None => term,
                    Some(sum) if apart.contains(&to) => form.overlay(self, sum, &term)?,
                    Some(sum) => form.add(self, sum, &term)?,
                };
                results.insert(to, sum);
            }
            let bytes = F::map_bytes(&map);
            F::maps(self).keep(name, map, bytes, self.session.room());
        }
        Ok(results.into_values().collect())
    }

    /// What so many diagonals take at most, encoded modulo `PQ_max`.
    fn bytes_of_diagonals(&self, count: usize) -> usize {
        let parameters = self.session.settings().parameters();
        count.saturating_mul(parameters.degree() * parameters.full().limb_count() * size_of::<u64>())
    }
}

/// The ciphertexts of the result of which every slot comes from one ciphertext at most: no value is larger than in these.
fn apart<F: Form>(blocks: &[Block<F>], slots: usize) -> BTreeSet<usize> {
    let mut feeds: BTreeMap<usize, Vec<&Diagonals<F>>> = BTreeMap::new();
    for (diagonals, pairs) in blocks {
        for (to, _) in pairs {
            feeds.entry(*to).or_default().push(diagonals);
        }
    }
    feeds.retain(|_, feeds| {
        let mut fed = vec![usize::MAX; slots];
        feeds.iter().enumerate().all(|(k, diagonals)| {
            diagonals.values().flatten().all(|(slot, _)| {
                let by = &mut fed[*slot as usize];
                let free = *by == usize::MAX || *by == k;
                *by = k;
                free
            })
        })
    });
    feeds.into_keys().collect()
}

/// Which ciphertext feeds which, by diagonals. Blocks of rows are mapped alike: one map serves all of them.
fn blocks<F: Form>(
    out: &Layout,
    slots: usize,
    entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
    operation: &'static str,
) -> Result<Vec<Block<F>>, Error> {
    let mut maps: BTreeMap<(usize, usize), Diagonals<F>> = BTreeMap::new();
    for (i, (to, from, weight)) in entries.into_iter().enumerate() {
        if i % ASKED == 0 {
            stop::check(operation)?;
        }
        let diagonals = maps.entry((to / slots, from / slots)).or_default();
        let diagonal = diagonals.entry(F::diagonal(slots, to % slots, from % slots)).or_default();
        diagonal.push(((to % slots) as u32, weight));
    }
    for to in 0..out.ciphertexts() {
        if maps.range((to, 0)..(to + 1, 0)).next().is_none() {
            maps.insert((to, 0), BTreeMap::from([(0, Vec::new())]));
        }
    }
    let mut blocks: Vec<Block<F>> = Vec::new();
    for (pair, mut diagonals) in maps {
        for diagonal in diagonals.values_mut() {
            stop::check(operation)?;
            diagonal.sort_unstable_by_key(|(slot, _)| *slot);
            diagonal.shrink_to_fit();
        }
        match blocks.iter_mut().find(|(known, _)| *known == diagonals) {
            Some((_, pairs)) => pairs.push(pair),
            None => blocks.push((diagonals, vec![pair])),
        }
    }
    Ok(blocks)
}
