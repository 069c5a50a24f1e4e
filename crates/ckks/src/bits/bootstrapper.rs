//! Bootstrapping of encrypted bits with a client's evaluation keys.

use std::{borrow::Cow, sync::Arc};

use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Gate, Noise, PreparedEncapsulationKeys};
use num_complex::Complex64;

use super::{BitCiphertext, BitPacking, BitPlan, ciphertext::error_of, gate::GateFunction};
use crate::{Ciphertext, CkksError, Evaluator};

const OPERATION: &str = "bootstrap bits";

/// Bootstraps encrypted bits by a [`BitPlan`]. It holds no secret. See [`BitPlan`] for an example.
#[derive(Debug, Clone)]
pub struct BitBootstrapper {
    plan: Arc<BitPlan>,
    evaluator: Evaluator,
    encapsulation: Arc<PreparedEncapsulationKeys>,
}

/// The argument of the cosine in each slot: `x/k`, where `x` is an angle in turns and `k` is the
/// reach of the plan's [`Wave`](crate::approximation::Wave).
#[derive(Debug)]
pub(super) struct Angles {
    /// One ciphertext of real slots, or one of the real and one of the imaginary parts.
    pub(super) parts: Vec<Ciphertext>,
    /// Bound of the error of `x`, in turns, that comes from the errors of the input bits.
    pub(super) error: f64,
    /// Bound of the error of `x`, in turns, that comes from the noise of the bootstrap.
    pub(super) noise: f64,
}

impl BitBootstrapper {
    /// Creates a bootstrapper for `plan`. `evaluator` holds the keys of [`BitPlan::add_keys`], and
    /// `encapsulation` those of the sparse secret ([`BitPlan::encapsulation_keys`]).
    ///
    /// # Errors
    /// Fails if keys and parameters do not belong together, or if the key of a rotation is missing.
    pub fn new(
        plan: Arc<BitPlan>,
        evaluator: Evaluator,
        encapsulation: Arc<PreparedEncapsulationKeys>,
    ) -> Result<Self, CkksError> {
        let rlwe = plan.context().rlwe();
        rlwe.check_digest(evaluator.context().parameters().digest(), OPERATION)?;
        for step in plan.rotations() {
            evaluator.keys().galois(galois_element_of_rotation(rlwe.degree(), step))?;
        }
        Ok(BitBootstrapper { plan, evaluator, encapsulation })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<BitPlan> {
        &self.plan
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// Bootstraps the bits of `a`: restores their capacity and reduces an error of `e` to `sin^2(pi
    /// e/2)`. This is BinBoot (BCKS24; GRAFT 4.2).
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if the modulus of `a` is too small to begin with. Fails
    /// with [`CkksError::Argument`] if the result's bits would be too uncertain to decrypt, and if
    /// the packing or the keys do not match the plan.
    pub fn refresh(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        let angles = self.angles(&[a], 2)?;
        self.evaluate_gate(&angles, GateFunction::REFRESH)
    }

    /// Computes a gate of two or three vectors of bits in one bootstrap.
    ///
    /// # Errors
    /// Fails as [`BitBootstrapper::refresh`] does, and if the gate does not accept this number of
    /// operands.
    pub fn gate(&self, gate: Gate, inputs: &[&BitCiphertext]) -> Result<BitCiphertext, CkksError> {
        let (function, factor) = GateFunction::for_single_gate(gate, inputs.len())?;
        self.evaluate_gate(&self.angles(inputs, factor)?, function)
    }

    /// Computes several gates of the same operands in one bootstrap.
    ///
    /// Only the cosine is evaluated once per gate. `[Gate::Xor, Gate::And]` of two operands is a
    /// half adder, and `[Gate::Xor, Gate::Majority]` of three is a full adder. The noise of a
    /// parity is four times as large here as in a bootstrap of its own.
    ///
    /// # Errors
    /// Fails as [`BitBootstrapper::gate`] does.
    pub fn gates(
        &self,
        gates: &[Gate],
        inputs: &[&BitCiphertext],
    ) -> Result<Vec<BitCiphertext>, CkksError> {
        let functions: Vec<GateFunction> =
            gates.iter().map(|g| GateFunction::of(*g, inputs.len())).collect::<Result<_, _>>()?;
        let angles = self.angles(inputs, 1)?;
        functions.into_iter().map(|function| self.evaluate_gate(&angles, function)).collect()
    }

    /// Computes slots of `x/k` with `x = factor (s - count/2)/4 + I` turns, where `s` is the sum of
    /// the bits, `count` their number and `I` an integer.
    pub(super) fn angles(
        &self,
        inputs: &[&BitCiphertext],
        factor: i64,
    ) -> Result<Angles, CkksError> {
        let (plan, e) = (&self.plan, &self.evaluator);
        let (sum, error) = self.sum(inputs)?;
        let lowered = {
            // The bootstrap adds its own noise from here on, so the estimate starts at zero.
            let mut sum = e.mul_integer(&sum, factor)?;
            sum.inner_mut().set_noise(Noise::NONE);
            let target = plan.turn().times(crate::Scale::power_of_two(-2));
            // Angles are taken modulo one turn, which is 4 in these units, so no value is too large
            // for the modulus.
            sum.set_bound((factor as f64 * (inputs.len() as f64 / 2.0 + error)).min(1.9));
            e.homomorphic_dft_to(&sum, &plan.to_coefficients, target, Some(plan.base()))?
        };
        let raised = self.raise_modulus(&lowered)?;
        let mut parts = self.coefficients_to_slots(&raised)?;
        // The slots are real from here on, and all of the noise is in the real parts.
        let reach = f64::from(plan.literal().wave.reach());
        let noise = std::f64::consts::SQRT_2 * reach * error_of(&parts[0]);
        // The values that the slots would hold without the whole turns `I`.
        let turns = sum.dry_run_values().map(|x| x * (factor as f64 / 4.0 / reach));
        let of_part: [fn(Complex64) -> f64; 2] = [|x| x.re, |x| x.im];
        for (part, of_part) in parts.iter_mut().zip(of_part) {
            part.set_bound(1.0);
            part.inner_mut().set_noise(Noise::NONE);
            part.set_dry_run_values(turns.map(|x| of_part(x).into()));
        }
        Ok(Angles { parts, error: factor as f64 * error / 4.0, noise })
    }

    /// Returns the sum of the bits minus half their number, modulo the smallest modulus that the
    /// transforms accept, and a bound of its error.
    fn sum(&self, inputs: &[&BitCiphertext]) -> Result<(Ciphertext, f64), CkksError> {
        let (plan, e) = (&self.plan, &self.evaluator);
        let (scale, need) = (plan.bit_scale(), plan.bits_needed());
        for a in inputs {
            let (have, slots) = (a.ciphertext().slots(), plan.context().max_slots());
            if have != slots {
                return Err(CkksError::SlotMismatch {
                    operation: OPERATION,
                    left: have,
                    right: slots,
                });
            }
            if a.packing() != plan.literal().packing {
                let (have, need) = (a.packing(), plan.literal().packing);
                let what = format!("bits in {have:?} slots: the plan is for {need:?} ones");
                return Err(CkksError::Argument { operation: OPERATION, what });
            }
        }
        let ready = |a: &&BitCiphertext| a.ciphertext().scale().is_close(scale);
        let least = inputs.iter().copied().filter(ready).min_by(|a, b| {
            e.log2(a.ciphertext().modulus()).total_cmp(&e.log2(b.ciphertext().modulus()))
        });
        let modulus = match least {
            Some(a) => e.divisor_at_least(a.ciphertext().modulus(), need),
            None => plan.input_modulus(),
        };
        if let Some(a) = least.filter(|_| e.log2(modulus) + 1.0 < need) {
            let have = a.ciphertext().capacity_bits(e.context());
            let need = have + need - e.log2(modulus);
            return Err(CkksError::Capacity { operation: OPERATION, need, have });
        }
        let mut total: Option<(Ciphertext, f64)> = None;
        for a in inputs {
            let a = self.adjusted(a, modulus)?;
            match &mut total {
                None => total = Some((a.ciphertext().clone(), a.error())),
                Some((sum, error)) => {
                    e.add_assign(sum, a.ciphertext())?;
                    *error += a.error();
                }
            }
        }
        let Some((sum, error)) = total else {
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: "there are no bits".into(),
            });
        };
        let half = -(inputs.len() as f64) / 2.0;
        Ok((e.add_to_bits(&sum, half, plan.literal().packing)?, error))
    }

    /// Brings `a` to `modulus` and to the scale of bits.
    fn adjusted<'a>(
        &self,
        a: &'a BitCiphertext,
        modulus: hippocrene_rlwe::Modulus,
    ) -> Result<Cow<'a, BitCiphertext>, CkksError> {
        let (e, scale) = (&self.evaluator, self.plan.bit_scale());
        if a.ciphertext().modulus() == modulus && a.ciphertext().scale().is_close(scale) {
            return Ok(Cow::Borrowed(a));
        }
        let to = |c: &Ciphertext| match c.scale().is_close(scale) && modulus.divides(c.modulus()) {
            true => e.reduce_modulus(c, modulus),
            false => e.adjust(c, modulus, scale),
        };
        e.moved_bits(a, OPERATION, to).map(Cow::Owned)
    }

    /// Raises `m` modulo `q0` to `m + q0 I` modulo the raised modulus, in turns. The bound of the
    /// result is the root mean square of slots with such coefficients.
    fn raise_modulus(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (plan, context) = (&self.plan, self.evaluator.context());
        let mut out = Ciphertext::empty(context);
        let (rlwe, keys) = (context.rlwe(), &self.encapsulation);
        rlwe.record_failure(|| plan.log2_failure_probability());
        rlwe.raise_encapsulated_into(
            out.inner_mut(),
            a.inner(),
            keys,
            plan.sparse_context(),
            plan.raised(),
        )?;
        let slots = context.max_slots();
        let magnitude =
            (2.0 * slots as f64 * (plan.literal().sparse_weight as f64 + 1.0) / 12.0).sqrt();
        out.set_meta(plan.turn(), slots, magnitude);
        Ok(out)
    }

    /// Brings the coefficients of `a` into slots: one ciphertext of real slots, or one of the real
    /// and one of the imaginary parts.
    fn coefficients_to_slots(&self, a: &Ciphertext) -> Result<Vec<Ciphertext>, CkksError> {
        let (plan, e) = (&self.plan, &self.evaluator);
        let x = e.homomorphic_dft(a, &plan.to_slots, plan.cosine_scale(0))?;
        Ok(match plan.literal().packing {
            BitPacking::Real => vec![x],
            BitPacking::Complex => {
                let (real, imaginary) = e.real_and_imaginary(&x)?;
                vec![real, imaginary]
            }
        })
    }
}
