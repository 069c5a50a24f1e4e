//! Counts of the primitives of operations, for the record of a dry run.

use std::convert::Infallible;

use hippocrene_ring::Kernel;

use super::{
    Decomposed, Destination, Gadget,
    decomposition::Decomposition,
    operand::{Added, Operand},
    operations::{Count, Operations, SwitchOperands},
};
use crate::{
    Context, LimbOperations, Method, Modulus, PreparedSwitchingKey, Profile, WordSize, rings::Rings,
};

impl<'a> Count<'a> {
    /// Begins an empty count of primitives for `kernel`.
    pub(crate) fn plain(rings: &'a Rings, kernel: Kernel) -> Self {
        Count {
            rings,
            kernel,
            modulus: Modulus::ONE,
            extended: Modulus::ONE,
            digits: Vec::new(),
            scaled: false,
            shape: None,
            operations: Operations::default(),
        }
    }

    /// The seconds that one thread needs for the counted primitives, by `profile`.
    pub(crate) fn seconds(&self, profile: &Profile) -> f64 {
        self.operations.seconds(self.rings.parameters().log_degree(), profile)
    }

    /// The number of counted transforms.
    pub(crate) fn transforms(&self) -> u64 {
        self.operations.transforms()
    }

    /// Counts `limbs` limbs that are read or written.
    pub(crate) fn touch(&mut self, limbs: usize) {
        self.operations.polynomial_bytes += (8 * limbs * self.rings.degree()) as u64;
    }

    /// Counts `times` passes over a polynomial modulo `modulus`.
    pub(crate) fn passes(&mut self, modulus: Modulus, times: u64) {
        modulus.factors().for_each(|position| self.at(modulus, position).passes += times);
        self.touch(2 * times as usize * modulus.limb_count());
    }

    /// Counts `times` products of polynomials modulo `modulus` in the evaluation domain. Modulo a
    /// power of two they are products of polynomials in coefficients.
    pub(crate) fn products(&mut self, modulus: Modulus, times: u64) {
        self.passes(modulus, times);
        if modulus.contains(Modulus::TWO) {
            for q in self.rings.product_moduli(modulus, Modulus::TWO, self.kernel) {
                let limbs = self.of_size(WordSize::of(q));
                limbs.forward += 2 * times;
                limbs.inverse += times;
                limbs.passes += 2 * times;
            }
        }
    }

    /// Counts `times` forward transforms of a polynomial modulo `modulus`.
    pub(crate) fn forward(&mut self, modulus: Modulus, times: u64) {
        modulus
            .factors()
            .for_each(|p| self.transform(modulus, p, |limbs| &mut limbs.forward, times));
        self.touch(times as usize * modulus.limb_count());
    }

    /// Counts `times` inverse transforms of a polynomial modulo `modulus`.
    pub(crate) fn inverse(&mut self, modulus: Modulus, times: u64) {
        modulus
            .factors()
            .for_each(|p| self.transform(modulus, p, |limbs| &mut limbs.inverse, times));
        self.touch(times as usize * modulus.limb_count());
    }

    /// Counts `times` exact conversions of a polynomial from modulo `from` to modulo `to`.
    pub(crate) fn conversions(&mut self, from: Modulus, to: Modulus, times: u64) {
        self.sources(from, times as usize);
        to.factors().for_each(|position| self.convert(from, to, position, times));
        self.touch(times as usize * (from.limb_count() + to.limb_count()));
    }

    /// The primitives on limbs of one word size.
    pub(crate) fn of_size(&mut self, size: WordSize) -> &mut LimbOperations {
        self.operations.of_size_mut(size)
    }
}

impl Context {
    /// Records that a polynomial was decomposed.
    pub(super) fn note_decomposition(&self, decomposed: &Decomposed<'_>) {
        self.record("decompose", |count| {
            count.products(decomposed.modulus, decomposed.original.products());
            count.inverse(decomposed.modulus, 1);
        });
    }

    /// Records that digits were extended at once.
    pub(super) fn note_hoisting(&self, decomposed: &Decomposed<'_>) {
        self.record("extend digits", |count| {
            count.begin(decomposed.modulus, decomposed.gadget());
            match count.shape.take() {
                Some(shape) => {
                    count.extend_double(&shape);
                    count.touch(count.digits.len() * shape.primes);
                }
                None => {
                    let extended = count.extended;
                    extended.factors().for_each(|position| count.extend(position));
                    count.extend_runs(1);
                    count.touch(count.digits.len() * extended.limb_count());
                }
            }
        });
    }

    /// Records a key switch of a decomposed polynomial.
    pub(super) fn note_switch(
        &self,
        decomposed: &Decomposed<'_>,
        added: &[Added<'_>; 2],
        destination: &Destination<'_>,
        method: Method,
    ) {
        let Some(ledger) = &self.ledger else { return };
        let gadget = decomposed.gadget().with_method(method);
        let products = |added: &Added<'_>| added.evaluation.as_ref().map(Operand::products);
        let operands = SwitchOperands {
            original: decomposed.original.products(),
            evaluation: added.each_ref().map(products),
            coefficients: added.iter().filter(|a| a.coefficients.is_some()).count() as u64,
            is_extended: match method {
                Method::Single => decomposed.hoisted.is_some(),
                Method::Double { .. } => decomposed.shared.is_some(),
            },
            has_automorphism: destination.automorphism.is_some(),
        };
        let (seconds, transforms) = self.priced(|prices| {
            let (from, to, kernel) = (decomposed.modulus, destination.modulus, prices.kernel());
            let key = (from, gadget, to, operands, kernel);
            let Ok(operations) = self.plans.counts.get_or_try_insert(key, || {
                let mut count = Count::plain(&self.rings, kernel);
                count.begin(from, gadget);
                count.switch(to, &operands);
                Ok::<_, Infallible>(count.operations)
            });
            (operations.seconds(self.parameters().log_degree(), prices), operations.transforms())
        });
        ledger.note(|tally| tally.add("switch keys", seconds, transforms));
    }

    /// Records sums of rotations. There are `rotated` rotated and `same` other ciphertexts, and
    /// `terms` terms in `rows` rows. Each limb of a term has `words` words of plaintext.
    pub(super) fn note_rotation_sums(
        &self,
        plan: &Decomposition,
        modulus: Modulus,
        [rotated, same]: [usize; 2],
        [rows, terms]: [usize; 2],
        words: usize,
    ) {
        self.record("sum rotations", |count| {
            count.begin(modulus, plan.gadget);
            for position in plan.extended.factors() {
                let own = modulus.contains(position);
                (0..rotated).for_each(|_| count.inner_product(position));
                let limbs = count.at(plan.extended, position);
                limbs.passes += 2 * rotated as u64 + 2 * same as u64 * u64::from(own);
                limbs.products += terms as u64;
                limbs.sums += rows as u64;
                count.operations.key_bytes += (8 * words * terms) as u64;
                if position == Modulus::TWO {
                    for q in self.rings.product_moduli(plan.extended, position, count.kernel) {
                        let limbs = count.of_size(WordSize::of(q));
                        limbs.forward += 2 * (rotated + if own { same } else { 0 }) as u64;
                        limbs.inverse += 2 * rows as u64;
                    }
                }
            }
            let digits = if rotated > 0 { count.digits.len() } else { 0 };
            count.touch((digits + 2 * rows) * plan.extended.limb_count());
        });
    }

    /// Records that a sum of rotations was rotated.
    pub(super) fn note_rotated_sum(&self, plan: &Decomposition, modulus: Modulus) {
        self.record("rotate a sum", |count| {
            count.begin(modulus, plan.gadget);
            count.extend_runs(count.runs(plan.extended.limb_count(), plan.wide_digits()));
            for position in plan.extended.factors() {
                count.extend(position);
                count.inner_product(position);
                count.at(plan.extended, position).passes += 3;
            }
            count.touch((count.digits.len() + 4) * plan.extended.limb_count());
        });
    }

    /// In a dry run, records that a key is used at a modulus with a gadget.
    pub(super) fn note_key(&self, key: &PreparedSwitchingKey, modulus: Modulus, gadget: Gadget) {
        let Some(ledger) = &self.ledger else { return };
        let derived = self.derived_key_bytes(key.modulus(), modulus, gadget);
        ledger.note(|tally| {
            if let Some(name) = key.name() {
                tally.add_key(name, modulus);
            }
            if let Some(bytes) = derived {
                tally.add_derived(key.name(), gadget, bytes);
            }
        });
    }

    /// Returns the bytes of the key that is derived from a key modulo `key` for a gadget at
    /// `modulus`, or `None` if none is derived.
    fn derived_key_bytes(&self, key: Modulus, modulus: Modulus, gadget: Gadget) -> Option<usize> {
        match gadget.method() {
            Method::Single if gadget.group() == 1 => None,
            Method::Single => Some(super::expanded::bytes(self, key, gadget)),
            Method::Double { .. } => {
                let plan = self.decomposition(modulus, gadget).ok()?;
                plan.double.as_ref().map(|double| double.key_bytes())
            }
        }
    }
}
