//! The keys that a bootstrap needs, each at the largest modulus where it is used.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{EncapsulationKeys, EvaluationKeys, Fingerprint, Modulus, SecretKey};

use super::{BootstrapLiteral, BootstrapPlan, Order, SineUse};
use crate::{CkksError, Evaluator, circuits::HomomorphicDft};

/// Number of bits by which the modulus after slots to coefficients exceeds the base modulus, if
/// that transform comes first. Its rounding is then small compared with that of the base modulus.
/// Chosen.
const COEFFICIENT_MARGIN_BITS: f64 = 3.0;

/// Largest number of bits by which the scale of the operand may exceed the planned one without
/// being rescaled. Chosen.
const SCALE_SLACK_BITS: f64 = 2.0;

/// Largest number of bits by which the modulus between the reduction and the next step may exceed
/// the planned one. Chosen.
const MODULUS_SLACK_BITS: f64 = 8.0;

/// For each Galois element, the least common multiple of the moduli of the ciphertexts that it is
/// applied to.
#[derive(Debug, Default)]
struct Uses(BTreeMap<usize, Modulus>);

impl Uses {
    /// Records a use of a Galois element at a modulus.
    fn add(&mut self, element: usize, modulus: Modulus) {
        let total = self.0.entry(element).or_insert(Modulus::ONE);
        *total = total.lcm(modulus);
    }

    /// Records all uses of another plan.
    fn add_all(&mut self, others: Uses) {
        others.0.into_iter().for_each(|(element, modulus)| self.add(element, modulus));
    }
}

impl BootstrapPlan {
    /// The numbers of slots of the rotations whose keys are needed.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all = [self.to_slots.rotations(), self.to_coefficients.rotations()].concat();
        all.extend(self.trace_rotations());
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rotations of all `N/2` slots whose sum removes all coefficients except those of powers
    /// of `X^(N/2n)`: by `n, 2n, .., N/4`.
    pub(super) fn trace_rotations(&self) -> impl Iterator<Item = i64> + use<> {
        let (slots, most) = (self.literal.slots, self.context.max_slots());
        (0..(most / slots).ilog2()).map(move |k| (slots << k) as i64)
    }

    /// Returns the Galois elements of the rotations and the conjugation whose keys are needed, each
    /// with the largest modulus of ciphertexts at which it is used. [`BootstrapPlan::add_keys`]
    /// generates these keys.
    ///
    /// The keys of slots to coefficients have small moduli and are therefore small. The keys of a
    /// plan for complex slots also serve the same plan for real slots, and the plan of sines
    /// ([`BootstrapPlan::of_sines`]).
    ///
    /// # Errors
    /// Fails if the modulus is too small for the plan.
    pub fn key_moduli(&self) -> Result<BTreeMap<usize, Modulus>, CkksError> {
        let mut uses = self.uses()?;
        if !self.literal.real {
            let literal = BootstrapLiteral { real: true, ..self.literal.clone() };
            uses.add_all(BootstrapPlan::new(Arc::clone(&self.context), literal)?.uses()?);
        }
        if self.has_sines() {
            for sine_use in [SineUse::SmoothFunctions, SineUse::Tables { saved_bits: 0 }] {
                uses.add_all(self.with_moduli_of_sines(sine_use)?.uses()?);
            }
        }
        Ok(uses.0)
    }

    /// Returns the uses of this plan alone.
    fn uses(&self) -> Result<Uses, CkksError> {
        let context = &self.context;
        let none = EvaluationKeys::empty(context.rlwe(), Fingerprint::from_bytes([0; 16]));
        let e = Evaluator::new(Arc::clone(context), Arc::new(none.prepare(context.rlwe())?));
        let conjugation = galois_element_of_conjugation(context.rlwe().degree());
        let mut uses = Uses::default();
        for step in self.trace_rotations() {
            uses.add(self.element(step), self.largest_raised());
        }
        // Coefficients to slots has known moduli, which are those for the largest raised modulus.
        let dft = &self.to_slots;
        let too_small = || CkksError::Argument {
            operation: "plan the keys of a bootstrap",
            what: format!("a modulus of {:.1} bits is too small", e.log2(self.raised)),
        };
        let (moduli, end) = e
            .dft_moduli(dft, self.raised, self.raised_scale(), self.scale)
            .ok_or_else(too_small)?;
        for (steps, modulus) in dft.rotations_by_level().zip(moduli) {
            let modulus = self.common_multiple(modulus);
            steps.into_iter().for_each(|step| uses.add(self.element(step), modulus));
        }
        uses.add(conjugation, self.common_multiple(end.lcm(Modulus::of_sprout(0, 1))));
        // Slots to coefficients has moduli that depend on the ciphertext. They have an upper bound.
        let first = self.literal.order == Order::SlotsToCoefficientsFirst;
        let start = match first {
            true => self.input_bits(self.largest_input_scale()),
            false => e.log2(self.raised) - self.bits() + self.bits_of_last() + MODULUS_SLACK_BITS,
        };
        self.add_uses_back(&mut uses, &e, start);
        Ok(uses)
    }

    /// Adds the uses of the transform of slots to coefficients, for a ciphertext of at most `bits`
    /// bits.
    fn add_uses_back(&self, uses: &mut Uses, e: &Evaluator, bits: f64) {
        let dft: &HomomorphicDft = &self.to_coefficients;
        let sprout = self.context.parameters().top().sprout();
        let mut upper_multiple = self.upper_multiple(e, bits);
        for (i, (steps, taken)) in dft.rotations_by_level().zip(dft.bits_by_level()).enumerate() {
            steps.into_iter().for_each(|step| uses.add(self.element(step), upper_multiple));
            let more = if i == 0 { self.shrunk_bits() } else { 0.0 };
            upper_multiple =
                self.upper_multiple(e, e.log2(upper_multiple.words()) - taken + more + 1.0);
            if i == 0 && dft.rotates_halves() {
                uses.add(self.element(dft.slots() as i64), upper_multiple.lcm(sprout));
            }
        }
        if dft.conjugates() {
            let conjugation = galois_element_of_conjugation(self.context.rlwe().degree());
            uses.add(conjugation, upper_multiple.lcm(sprout));
        }
    }

    /// Returns a multiple of every modulus of at most `bits` bits without a power of two, and of
    /// the smallest such modulus that has at least `bits` bits. It consists of the fewest units
    /// with `bits` bits and the odd primes of the sprout. It is `Q_max` if there are not enough
    /// units.
    fn upper_multiple(&self, e: &Evaluator, bits: f64) -> Modulus {
        let parameters = self.context.parameters();
        let units = (1..=parameters.unit_count()).map(|count| Modulus::of_range(0..count));
        let mut enough = units.filter(|units| e.log2(*units) >= bits);
        let odd = Modulus::of_sprout(parameters.top().odd(), 0);
        enough.next().map_or(parameters.top(), |units| units.lcm(odd))
    }

    /// Returns a multiple of every modulus that may be raised to ([`BootstrapPlan::raised_for`]).
    pub(super) fn largest_raised(&self) -> Modulus {
        self.common_multiple(
            self.raised.lcm(Modulus::of_sprout(0, 1)).gcd(self.context.parameters().top()),
        )
    }

    /// Returns a multiple of `modulus` and of the moduli that replace it when the modulus is raised
    /// less far. It has as many units as these may have and the odd primes of the sprout, or the
    /// whole sprout if `modulus` has a power of two.
    fn common_multiple(&self, modulus: Modulus) -> Modulus {
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

    /// Returns the Galois element of a rotation.
    fn element(&self, step: i64) -> usize {
        galois_element_of_rotation(self.context.rlwe().degree(), step)
    }

    /// Returns log2 of the scale of the coefficients if slots to coefficients comes first. They
    /// have to fit `q0` and a few more bits.
    pub(super) fn coefficients_scale(&self) -> f64 {
        let base = self.context.parameters().log2(self.base);
        base + COEFFICIENT_MARGIN_BITS - self.literal.bound.log2() + self.log2_ratio
    }

    /// Returns log2 of the largest scale at which slots to coefficients comes first without a
    /// rescale.
    pub(super) fn largest_input_scale(&self) -> f64 {
        self.input_scale() + SCALE_SLACK_BITS
    }

    /// Returns log2 of the scale that a larger one is rescaled to.
    pub(super) fn input_scale(&self) -> f64 {
        self.literal.output_scale_bits.max(self.coefficients_scale())
    }

    /// Returns the bits of modulus that a ciphertext of this scale needs if slots to coefficients
    /// comes first.
    pub(super) fn input_bits(&self, scale: f64) -> f64 {
        self.literal.bound.log2() + self.extra_bits() + self.to_coefficients.bits() + scale + 1.0
    }

    /// Returns the size of all keys in storage, in bytes: those of [`BootstrapPlan::add_keys`] and
    /// of the sparse secret.
    ///
    /// # Errors
    /// Fails as [`BootstrapPlan::key_moduli`] does.
    pub fn stored_key_bytes(&self) -> Result<usize, CkksError> {
        let parameters = self.context.parameters();
        let size = |modulus: Modulus| match modulus == parameters.top() {
            true => parameters.switching_key_size(),
            false => parameters.switching_key_size_at(parameters.key_modulus(modulus)),
        };
        let galois: usize = self.key_moduli()?.values().map(|modulus| size(*modulus).seeded).sum();
        let sparse = self.sparse_context().map_or(0, |sparse| {
            let up = parameters.key_modulus(self.largest_raised());
            sparse.parameters().switching_key_size().seeded
                + parameters.switching_key_size_at(up).seeded
        });
        Ok(parameters.switching_key_size().seeded + galois + sparse)
    }

    /// Adds the keys of rotations, conjugation and products that are needed. Those of products are
    /// for all moduli, and the others for the moduli at which they are used
    /// ([`BootstrapPlan::key_moduli`]).
    ///
    /// # Errors
    /// Fails if `secret` or `keys` belong to other parameters.
    pub fn add_keys(&self, keys: &mut EvaluationKeys, secret: &SecretKey) -> Result<(), CkksError> {
        let rlwe = self.context.rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        Ok(keys.add_each_galois_at(rlwe, secret, self.key_moduli()?)?)
    }

    /// Generates the keys that encapsulate the sparse secret, if the plan has one.
    ///
    /// # Errors
    /// Fails if `secret` belongs to other parameters.
    pub fn encapsulation_keys(
        &self,
        secret: &SecretKey,
    ) -> Result<Option<EncapsulationKeys>, CkksError> {
        let raised = self.largest_raised();
        let make =
            |sparse| EncapsulationKeys::generate(self.context.rlwe(), sparse, secret, raised);
        Ok(self.sparse_context().map(make).transpose()?)
    }
}
