//! The description of a bootstrap that a plan is made from.

use crate::{CkksError, Short, approximation::ModularReduction, circuits::DftLevel};

/// The name of planning in errors.
pub(super) const OPERATION: &str = "plan a bootstrap";

/// When slots go into coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First, on the ciphertext to bootstrap (GRAFT 2.3). The values are coefficients when the
    /// modulus is raised and slots when it is reduced, where errors are not summed up any more. The
    /// ciphertext needs capacity for the transform. It takes place at small moduli, where it is
    /// fast.
    SlotsToCoefficientsFirst,
    /// Last, on the result: the ciphertext needs no capacity beside `q0`.
    SlotsToCoefficientsLast,
}

/// The parameters of a bootstrap.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapLiteral {
    /// How many slots the ciphertexts have: a power of two up to `N/2`. Fewer than `N/2` are faster
    /// when slots go into coefficients last: all coefficients are reduced at once.
    pub slots: usize,
    /// True if ciphertexts have all `N/2` slots and only the first [`BootstrapLiteral::slots`] are
    /// bootstrapped. The other slots may hold anything. In the result, the bootstrapped slots are
    /// repeated in all others. Slots must then go into coefficients first, and there are no
    /// iterations.
    pub first_slots: bool,
    /// Whether the slots are real: half of the reductions, if there are `N/2` of them or slots go
    /// into coefficients first.
    pub real: bool,
    /// The order of the steps.
    pub order: Order,
    /// The bound on the absolute values in slots. A ciphertext with a larger bound is refused.
    pub bound: f64,
    /// The bits of the modulus `q0` that is raised: the grafted modulus nearest to it is taken,
    /// which has to have a unit.
    pub base_bits: f64,
    /// The Hamming weight of the sparse secret under which the modulus is raised, or `None` to
    /// raise it under the secret itself.
    pub sparse_weight: Option<usize>,
    /// The reduction modulo 1. Its `epsilon` is the message ratio: a value of `bound` is `epsilon
    /// q0` at the base modulus.
    pub reduction: ModularReduction,
    /// The bits of the scale at which the reduction's cosine is evaluated.
    pub scale_bits: f64,
    /// The levels of the transform of coefficients to slots, the first one first.
    pub coefficients_to_slots: Vec<DftLevel>,
    /// The levels of the transform of slots to coefficients.
    pub slots_to_coefficients: Vec<DftLevel>,
    /// The bits of the scale of the result, give or take a bit.
    pub output_scale_bits: f64,
    /// The bits of the modulus that the result is to have, give or take a few: the modulus is
    /// raised no further than they need (GRAFT F.2). `None` for as many as possible.
    pub output_bits: Option<f64>,
    /// How precise results are to be, in bits
    /// ([`Ciphertext::precision_bits`](crate::Ciphertext::precision_bits) is what counts): the
    /// errors of bootstraps are bootstrapped until they are, or are as precise as what is
    /// bootstrapped with its scale, less one bit, where that is lower. Each iteration takes a
    /// bootstrap, gains the bits that one bootstrap has less about 4, and makes the scale of the
    /// result larger by as many, which counts against the capacity that is left; the capacity that
    /// is needed is that of one bootstrap. What is bootstrapped has to have a scale for such a
    /// precision, some ten bits more. Slots go into coefficients first then. `None` for one
    /// bootstrap, as precise as it is.
    pub precision: Option<f64>,
}

impl BootstrapLiteral {
    /// Checks everything that needs no transform and no modulus, in a ring whose ciphertexts have
    /// `max_slots` slots.
    pub(super) fn check(&self, max_slots: usize) -> Result<(), CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !(self.bound.is_finite() && self.bound > 0.0) {
            return fail(format!("a bound of {} on the values", Short(self.bound)));
        }
        if !self.slots.is_power_of_two() || self.slots > max_slots {
            return fail(format!(
                "{} slots: a power of two up to {max_slots} is possible",
                self.slots
            ));
        }
        let numbers = [self.base_bits, self.scale_bits, self.output_scale_bits];
        if let Some(bits) = numbers.iter().find(|bits| !(1.0..=1e4).contains(*bits)) {
            return fail(format!("a modulus or scale of {} bits", Short(*bits)));
        }
        if let Some(bits) = self.precision {
            if !(1.0..=1e4).contains(&bits) {
                return fail(format!("a precision of {} bits", Short(bits)));
            }
            if self.order == Order::SlotsToCoefficientsLast {
                return fail(
                    "bootstraps are iterated where slots go into coefficients first".into(),
                );
            }
        }
        if self.first_slots
            && (self.order == Order::SlotsToCoefficientsLast || self.precision.is_some())
        {
            return fail(
                "bootstraps of the first slots need slots that go into coefficients first, and no \
                 iterations"
                    .into(),
            );
        }
        Ok(())
    }
}
