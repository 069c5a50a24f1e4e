//! Which keys a bootstrap needs, each at the modulus where it is used.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{EncapsulationKeys, EvaluationKeys, Fingerprint, Modulus, SecretKey};

use super::{BootstrapLiteral, BootstrapPlan, Order};
use crate::{CkksError, Evaluator, circuits::HomomorphicDft};

/// By how many bits the modulus of a ciphertext that goes into coefficients first exceeds the base
/// modulus in the end: its rounding is then small beside that of the base modulus.
const MARGIN: f64 = 3.0;

/// By how many bits the scale of what is bootstrapped may exceed the one that was planned before it
/// is rescaled.
const SCALE_SLACK: f64 = 2.0;

/// By how many bits the modulus between the reduction and what follows may exceed the one that was
/// planned.
const MODULUS_SLACK: f64 = 8.0;

/// The moduli of ciphertexts at which Galois elements are applied: the least common multiple for
/// each.
#[derive(Debug, Default)]
struct Uses(BTreeMap<usize, Modulus>);

impl Uses {
    fn add(&mut self, element: usize, modulus: Modulus) {
        let known = self.0.entry(element).or_insert(Modulus::ONE);
        *known = known.lcm(modulus);
    }

    fn add_all(&mut self, others: Uses) {
        others.0.into_iter().for_each(|(element, modulus)| self.add(element, modulus));
    }
}

impl BootstrapPlan {
    /// The rotations whose keys are needed.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all = [self.to_slots.rotations(), self.to_coefficients.rotations()].concat();
        all.extend(self.trace_rotations());
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rotations of all `N/2` slots that sum away what belongs to no power of `X^(N/2n)`: by
    /// `n, 2n, .., N/4`.
    pub(super) fn trace_rotations(&self) -> impl Iterator<Item = i64> + use<> {
        let (slots, most) = (self.literal.slots, self.context.max_slots());
        (0..(most / slots).ilog2()).map(move |k| (slots << k) as i64)
    }

    /// The Galois elements whose keys are needed, those of rotations and of conjugation, each with
    /// the modulus of ciphertexts up to which it is used: what [`BootstrapPlan::add_keys`] makes
    /// keys for. The keys of slots to coefficients are those of small moduli, and so small. Those
    /// of a plan for complex slots serve the plan that differs from it in that slots are real, too.
    ///
    /// # Errors
    /// When the modulus is too small for the plan.
    pub fn key_moduli(&self) -> Result<BTreeMap<usize, Modulus>, CkksError> {
        let mut uses = self.uses()?;
        if !self.literal.real {
            let literal = BootstrapLiteral { real: true, ..self.literal.clone() };
            uses.add_all(BootstrapPlan::new(Arc::clone(&self.context), literal)?.uses()?);
        }
        Ok(uses.0)
    }

    /// What [`BootstrapPlan::key_moduli`] says of this plan alone.
    fn uses(&self) -> Result<Uses, CkksError> {
        let context = &self.context;
        let none = EvaluationKeys::empty(context.rlwe(), Fingerprint::from_bytes([0; 16]));
        let e = Evaluator::new(Arc::clone(context), Arc::new(none.prepare(context.rlwe())?));
        let conjugation = galois_element_of_conjugation(context.rlwe().degree());
        let mut uses = Uses::default();
        for step in self.trace_rotations() {
            uses.add(self.element(step), self.largest_raised());
        }
        // Into slots the moduli are known, for the largest that is raised to.
        let dft = &self.to_slots;
        let too_small = || CkksError::Argument {
            operation: "plan the keys of a bootstrap",
            what: format!("a modulus of {:.1} bits is too small", e.log2(self.raised)),
        };
        let (moduli, end) = e
            .dft_moduli(dft, self.raised, self.raised_scale(), self.scale)
            .ok_or_else(too_small)?;
        for (steps, modulus) in dft.rotations_by_level().zip(moduli) {
            let modulus = self.ceiling(modulus);
            steps.into_iter().for_each(|step| uses.add(self.element(step), modulus));
        }
        uses.add(conjugation, self.ceiling(end.lcm(Modulus::of_sprout(0, 1))));
        // Back they depend on the ciphertext, and have an upper bound.
        let first = self.literal.order == Order::SlotsToCoefficientsFirst;
        let start = match first {
            true => self.input_bits(self.largest_input_scale()),
            false => e.log2(self.raised) - self.bits() + self.bits_of_last() + MODULUS_SLACK,
        };
        self.add_uses_back(&mut uses, &e, start);
        Ok(uses)
    }

    /// The uses of the transform of slots to coefficients of a ciphertext that has up to `bits`
    /// bits.
    fn add_uses_back(&self, uses: &mut Uses, e: &Evaluator, bits: f64) {
        let dft: &HomomorphicDft = &self.to_coefficients;
        let sprout = self.context.parameters().top().sprout();
        let mut roof = self.roof(e, bits);
        for (i, (steps, taken)) in dft.rotations_by_level().zip(dft.bits_by_level()).enumerate() {
            steps.into_iter().for_each(|step| uses.add(self.element(step), roof));
            let more = if i == 0 { self.shrunk_bits() } else { 0.0 };
            roof = self.roof(e, e.log2(roof.words()) - taken + more + 1.0);
            if i == 0 && dft.rotates_halves() {
                uses.add(self.element(dft.slots() as i64), roof.lcm(sprout));
            }
        }
        if dft.conjugates() {
            let conjugation = galois_element_of_conjugation(self.context.rlwe().degree());
            uses.add(conjugation, roof.lcm(sprout));
        }
    }

    /// The fewest units that have `bits` bits, and the odd primes of the sprout (`Q_max` where
    /// there are not so many): a multiple of every modulus of at most so many bits without a power
    /// of two, and of the smallest one without that is no smaller.
    fn roof(&self, e: &Evaluator, bits: f64) -> Modulus {
        let parameters = self.context.parameters();
        let units = (1..=parameters.unit_count()).map(|count| Modulus::of_range(0..count));
        let mut enough = units.filter(|units| e.log2(*units) >= bits);
        let odd = Modulus::of_sprout(parameters.top().odd(), 0);
        enough.next().map_or(parameters.top(), |units| units.lcm(odd))
    }

    /// A multiple of what the modulus that is raised to may be ([`BootstrapPlan::raised_for`]).
    pub(super) fn largest_raised(&self) -> Modulus {
        self.ceiling(self.raised.lcm(Modulus::of_sprout(0, 1)).gcd(self.context.parameters().top()))
    }

    /// A multiple of `modulus` and of the moduli that stand in its place when the modulus is raised
    /// less far: as many units as they may have, and the odd primes of the sprout; the whole sprout
    /// where `modulus` has a power of two.
    fn ceiling(&self, modulus: Modulus) -> Modulus {
        let parameters = self.context.parameters();
        let bits = parameters.log2(modulus) + 1.0;
        let units = (1..=parameters.unit_count()).map(|count| Modulus::of_range(0..count));
        let units = units.take_while(|units| parameters.log2(*units) <= bits).last();
        let sprout = match modulus.two() {
            0 => Modulus::of_sprout(parameters.top().odd(), 0),
            _ => parameters.top().sprout(),
        };
        modulus.words().lcm(units.unwrap_or(Modulus::ONE)).lcm(sprout)
    }

    fn element(&self, step: i64) -> usize {
        galois_element_of_rotation(self.context.rlwe().degree(), step)
    }

    /// The scale, as log2, of coefficients that slots go into first: they have `q0` and [`MARGIN`]
    /// bits to fit into.
    pub(super) fn coefficients_scale(&self) -> f64 {
        let base = self.context.parameters().log2(self.base);
        base + MARGIN - (self.literal.bound / self.literal.reduction.epsilon()).log2()
    }

    /// The largest scale, as log2, at which slots go into coefficients first; what has a larger one
    /// is rescaled before.
    pub(super) fn largest_input_scale(&self) -> f64 {
        self.input_scale() + SCALE_SLACK
    }

    /// The scale, as log2, that it is rescaled to.
    pub(super) fn input_scale(&self) -> f64 {
        self.literal.output_scale_bits.max(self.coefficients_scale())
    }

    /// How many bits a ciphertext of this scale needs whose slots go into coefficients first.
    pub(super) fn input_bits(&self, scale: f64) -> f64 {
        let ratio = (self.literal.bound / self.literal.reduction.epsilon()).log2();
        ratio + self.to_coefficients.bits() + scale + 1.0
    }

    /// Bytes of all keys as they are stored: those of [`BootstrapPlan::add_keys`], and of the
    /// sparse secret.
    ///
    /// # Errors
    /// As [`BootstrapPlan::key_moduli`].
    pub fn stored_key_bytes(&self) -> Result<usize, CkksError> {
        let parameters = self.context.parameters();
        let size = |modulus: Modulus| match modulus == parameters.top() {
            true => parameters.switching_key_size(),
            false => parameters.switching_key_size_at(parameters.key_modulus(modulus)),
        };
        let galois: usize = self.key_moduli()?.values().map(|modulus| size(*modulus).seeded).sum();
        let sparse = self.narrow().map_or(0, |narrow| {
            let up = parameters.key_modulus(self.largest_raised());
            narrow.parameters().switching_key_size().seeded
                + parameters.switching_key_size_at(up).seeded
        });
        Ok(parameters.switching_key_size().seeded + galois + sparse)
    }

    /// Adds the keys of rotations, conjugation and products that are needed: those of products for
    /// all moduli, the others for the moduli at which they are used
    /// ([`BootstrapPlan::key_moduli`]).
    ///
    /// # Errors
    /// When a key does not fit.
    pub fn add_keys(&self, keys: &mut EvaluationKeys, secret: &SecretKey) -> Result<(), CkksError> {
        let rlwe = self.context.rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        Ok(keys.add_each_galois_at(rlwe, secret, self.key_moduli()?)?)
    }

    /// Makes the keys of sparse-secret encapsulation, where there is one.
    ///
    /// # Errors
    /// When the secret does not fit.
    pub fn encapsulation_keys(
        &self,
        secret: &SecretKey,
    ) -> Result<Option<EncapsulationKeys>, CkksError> {
        let raised = self.largest_raised();
        let make =
            |narrow| EncapsulationKeys::generate(self.context.rlwe(), narrow, secret, raised);
        Ok(self.narrow().map(make).transpose()?)
    }
}
