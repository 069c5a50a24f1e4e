//! The parameters of a bootstrap.

use crate::{CkksError, Short, approximation::ModularReduction, circuits::DftLevel};

/// The name of planning in errors.
pub(super) const OPERATION: &str = "plan a bootstrap";

/// The place of the transform of slots to coefficients. See [`BootstrapPlan`](super::BootstrapPlan)
/// for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First, on the operand (GRAFT 2.3). The values are coefficients when the modulus is raised,
    /// and slots when it is reduced. So their errors do not add up afterwards. The operand needs
    /// capacity for the transform, which is fast because the moduli are small.
    SlotsToCoefficientsFirst,
    /// Last, on the result. The operand needs no capacity in addition to `q0`.
    SlotsToCoefficientsLast,
}

/// The parameters of a bootstrap. See [`BootstrapPlan`](super::BootstrapPlan) for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapLiteral {
    /// The number of slots of the ciphertexts: a power of two up to `N/2`. Fewer slots than `N/2`
    /// are faster if slots to coefficients comes last, because all coefficients are then reduced at
    /// once.
    pub slots: usize,
    /// True if ciphertexts have all `N/2` slots and only the first [`BootstrapLiteral::slots`] are
    /// bootstrapped. The other slots may hold anything. In the result, the bootstrapped slots are
    /// repeated in all others. This requires slots to coefficients first, and no iterations.
    pub first_slots: bool,
    /// Whether the slots are real. This halves the number of reductions if there are `N/2` slots or
    /// slots to coefficients comes first.
    pub real: bool,
    /// The place of the transform of slots to coefficients.
    pub order: Order,
    /// The bound on the absolute values in slots. A ciphertext with a larger bound is refused.
    pub bound: f64,
    /// Bits of the modulus `q0` that is raised. It is the nearest grafted modulus, which has to
    /// contain a unit.
    pub base_bits: f64,
    /// Hamming weight of the sparse secret under which the modulus is raised, or `None` to raise it
    /// under the secret itself.
    pub sparse_weight: Option<usize>,
    /// The reduction modulo 1. Its `epsilon` is the message ratio: a value of `bound` is `epsilon
    /// q0` at the base modulus. With a sine ([`ModularReduction::sine`]), results are sines
    /// ([`Bootstrapper::bootstrap_to_sines`](super::Bootstrapper::bootstrap_to_sines)). This
    /// requires slots to coefficients first and no iterations.
    pub reduction: ModularReduction,
    /// Bits of the scale at which the reduction's cosine is evaluated.
    pub scale_bits: f64,
    /// Levels of the transform of coefficients to slots, in the order in which they are applied.
    pub coefficients_to_slots: Vec<DftLevel>,
    /// Levels of the transform of slots to coefficients, in the order in which they are applied.
    pub slots_to_coefficients: Vec<DftLevel>,
    /// Bits of the scale of the result, within one bit.
    pub output_scale_bits: f64,
    /// Bits of the modulus that the result should have, within a few bits. The modulus is raised no
    /// further than this requires (GRAFT F.2). `None` raises it to the largest modulus.
    pub output_bits: Option<f64>,
    /// Precision of the results in bits
    /// ([`Ciphertext::precision_bits`](crate::Ciphertext::precision_bits)), or `None` for a single
    /// bootstrap with the precision that it has.
    ///
    /// The errors of bootstraps are bootstrapped until this precision is reached, or the precision
    /// of the operand at its scale minus one bit if that is lower. Each iteration costs one
    /// bootstrap. It gains about four bits less than the precision of a single bootstrap, and
    /// increases the scale of the result by the same number of bits, which reduces the remaining
    /// capacity. The operand needs the capacity of one bootstrap, and a scale of about ten bits
    /// more than the precision. Iterations require slots to coefficients first.
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
        if self.reduction.is_sine() && self.precision.is_some() {
            return fail("a sine cannot be iterated to a precision".into());
        }
        if let Some(bits) = self.precision {
            if !(1.0..=1e4).contains(&bits) {
                return fail(format!("a precision of {} bits", Short(bits)));
            }
            if self.order == Order::SlotsToCoefficientsLast {
                return fail("iterations to a precision need slots to coefficients first".into());
            }
        }
        if self.reduction.is_sine() && self.order == Order::SlotsToCoefficientsLast {
            return fail(
                "a sine needs slots to coefficients first, so that it is one of values".into(),
            );
        }
        if self.first_slots
            && (self.order == Order::SlotsToCoefficientsLast || self.precision.is_some())
        {
            return fail(
                "bootstraps of the first slots need slots to coefficients first and no iterations"
                    .into(),
            );
        }
        Ok(())
    }
}
