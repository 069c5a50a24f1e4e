//! The phases of one bootstrap after the first, which is in `input.rs`.

use std::borrow::Cow;

use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Modulus, Noise};

use super::{Bootstrapper, Order};
use crate::{Ciphertext, CkksError, circuits::Packing};

const OPERATION: &str = "bootstrap";

impl Bootstrapper {
    /// Runs the phases of one bootstrap. `approximation` is the root mean square of the error of
    /// the reduction's polynomials ([`super::BootstrapLiteral::approximation_error`]).
    pub(super) fn bootstrap_once(
        &self,
        a: &Ciphertext,
        output_bits: Option<f64>,
        approximation: f64,
    ) -> Result<Ciphertext, CkksError> {
        let modulus = self.plan().raised_for(output_bits)?;
        let lowered = self.lower(a)?;
        let raised = self.raise(&lowered, modulus)?;
        let slots = self.coefficients_to_slots(&raised)?;
        let reduced = self.reduce(&slots)?;
        let out = self.finish_with_error(reduced, &lowered, approximation)?;
        self.count_bootstrap();
        Ok(out)
    }

    /// Runs the phases of one bootstrap and keeps the real and the imaginary parts apart. The plan
    /// is for complex slots.
    pub(super) fn bootstrap_parts(
        &self,
        a: &Ciphertext,
        output_bits: Option<f64>,
    ) -> Result<[Ciphertext; 2], CkksError> {
        let lowered = self.lower(a)?;
        let raised = self.raise(&lowered, self.plan().raised_for(output_bits)?)?;
        let parts = self.reduce_each(&self.coefficients_to_slots(&raised)?)?;
        self.finish_each(parts, &lowered)
    }

    /// Runs the last phase for the real and the imaginary parts apart.
    pub(super) fn finish_each(
        &self,
        parts: Vec<Ciphertext>,
        lowered: &Ciphertext,
    ) -> Result<[Ciphertext; 2], CkksError> {
        let finished = parts.into_iter().map(|part| self.finish(part, lowered));
        let finished = finished.collect::<Result<Vec<_>, _>>()?;
        finished.try_into().map_err(|parts: Vec<_>| CkksError::Argument {
            operation: OPERATION,
            what: format!(
                "there are {} parts, and a pair needs a plan of complex slots",
                parts.len()
            ),
        })
    }

    /// Runs the second phase: raises `m` modulo `q0` to `m + q0 I` modulo `to`
    /// ([`super::BootstrapPlan::raised_for`]), under the sparse secret if there is one. Then it
    /// removes all coefficients except those of powers of `X^(N/2n)`.
    ///
    /// In the unit of `q0`, which is the scale, the coefficients are below `k`. The bound of the
    /// result is the root mean square of slots with such coefficients.
    ///
    /// # Errors
    /// Fails if the ciphertext is not modulo `q0`, or if a key does not match.
    pub fn raise(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        let (plan, context) = (self.plan(), self.evaluator().context());
        let rlwe = context.rlwe();
        rlwe.record_failure(|| plan.log2_failure_probability());
        let mut out = Ciphertext::empty(context);
        match (self.encapsulation(), plan.sparse_context()) {
            (Some(keys), Some(sparse_context)) => {
                rlwe.raise_encapsulated_into(out.inner_mut(), a.inner(), keys, sparse_context, to)?;
            }
            _ => rlwe.raise_modulus_into(out.inner_mut(), a.inner(), to)?,
        }
        out.set_meta(plan.raised_scale(), context.max_slots(), f64::INFINITY);
        for step in plan.trace_rotations() {
            let rotated = self.evaluator().rotate(&out, step)?;
            // The meaningful coefficients are equal in both, and so are their errors.
            let key = self.evaluator().keys().galois_at(
                galois_element_of_rotation(rlwe.degree(), step),
                rlwe,
                to,
            )?;
            let added = rlwe.key_switch_noise_by(to, key, to)?;
            let noise = out.inner().noise().scaled(1.0).plus(added);
            rlwe.add_assign(out.inner_mut(), rotated.inner())?;
            out.inner_mut().set_noise(noise);
        }
        let slots = plan.literal().slots;
        let magnitude = (2.0 * slots as f64 * (plan.weight() + 1.0) / 12.0).sqrt();
        out.set_meta(plan.raised_scale(), slots, magnitude);
        Ok(out)
    }

    /// Runs the third phase: moves coefficients into slots, divided by the reach of the reduction.
    /// Returns one ciphertext for the real and one for the imaginary parts, or a single one if the
    /// packing holds both.
    ///
    /// # Errors
    /// Fails if a key is missing.
    pub fn coefficients_to_slots(&self, a: &Ciphertext) -> Result<Vec<Ciphertext>, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let mut operand = Cow::Borrowed(a);
        if plan.literal().first_slots {
            operand.to_mut().inner_mut().set_noise(Noise::NONE);
        }
        let x = e.homomorphic_dft(&operand, &plan.to_slots, plan.scale)?;
        let mut parts = match plan.to_slots.packing() {
            Packing::Complex => {
                let (real, imaginary) = e.real_and_imaginary(&x)?;
                vec![real, imaginary]
            }
            Packing::SideBySide | Packing::Real => vec![x],
        };
        parts.iter_mut().for_each(|part| part.set_bound(1.0));
        if plan.real_last() {
            // All of this error is in the real parts. Until slots are moved into coefficients, the
            // estimate is the mean of both parts, as for the noise of the reduction.
            let noise = parts[0].inner().noise().scaled(-0.5);
            parts[0].inner_mut().set_noise(noise);
        }
        if plan.literal().first_slots {
            let count = parts.len();
            parts.iter_mut().for_each(|part| self.spread_over_all_slots(a, part, count));
        }
        Ok(parts)
    }

    /// Turns `part`, one of the `count` ciphertexts with the coefficients of `a`, into a ciphertext
    /// of all slots, which repeat. Its noise estimate gets the error of the coefficients, all of it
    /// in the real parts. Before, it only contains the error of the transform, which differs from
    /// slot to slot.
    fn spread_over_all_slots(&self, a: &Ciphertext, part: &mut Ciphertext, count: usize) {
        let (slots, reach) =
            (self.evaluator().context().max_slots(), self.plan().literal().reduction.reach());
        let own =
            a.inner().noise().log2_std() - a.scale().log2() - reach.log2() + part.scale().log2();
        let noise = Noise::from_log2_std(own - 0.5 * ((count * slots) as f64).log2())
            .plus(part.inner().noise());
        part.inner_mut().set_noise(noise);
        part.set_meta(part.scale(), slots, part.bound());
    }

    /// Runs the fourth phase: reduces each part modulo 1 and combines the parts.
    ///
    /// # Errors
    /// Fails if the modulus is too small or a key is missing.
    pub fn reduce(&self, parts: &[Ciphertext]) -> Result<Ciphertext, CkksError> {
        let mut reduced = self.reduce_each(parts)?;
        let last = reduced.pop();
        match (reduced.pop(), last, reduced.len()) {
            (None, Some(one), _) => Ok(one),
            (Some(real), Some(imaginary), 0) => self.evaluator().complex(&real, &imaginary),
            _ => {
                let what =
                    format!("there are {} parts, and one or two can be reduced", parts.len());
                Err(CkksError::Argument { operation: OPERATION, what })
            }
        }
    }

    /// Reduces each part modulo 1.
    pub(super) fn reduce_each(&self, parts: &[Ciphertext]) -> Result<Vec<Ciphertext>, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        e.context().rlwe().try_each(parts.len(), |i| {
            e.reduce_modulo_one_by(
                &parts[i],
                &plan.literal().reduction,
                &plan.gains,
                plan.scale,
                plan.reduced_scale,
            )
        })
    }

    /// Runs the last phase: reads `m/q0` as the values again. `lowered`, the result of the first
    /// phase, gives their scale. If slots to coefficients comes last, it follows here.
    ///
    /// # Errors
    /// Fails if the modulus is too small or a key is missing.
    pub fn finish(
        &self,
        reduced: Ciphertext,
        lowered: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.finish_with_error(reduced, lowered, self.plan().approximation)
    }

    /// Like [`Bootstrapper::finish`], for polynomials of the reduction with the error
    /// `approximation`.
    fn finish_with_error(
        &self,
        mut out: Ciphertext,
        lowered: &Ciphertext,
        approximation: f64,
    ) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let values = lowered.scale().over(plan.base_scale());
        // The error of the reduction's polynomials is in the real part of a result. If slots to
        // coefficients follows, each part gets half of it on average.
        let parts =
            if plan.real_last() || plan.to_slots.packing() == Packing::SideBySide { 2 } else { 1 };
        let off =
            approximation.log2() + out.scale().log2() - 0.5 * ((parts * out.slots()) as f64).log2();
        let noise = out.inner().noise().plus(Noise::from_log2_std(off));
        out.inner_mut().set_noise(noise);
        out.set_meta(out.scale().times(values), out.slots(), literal.bound);
        if literal.order == Order::SlotsToCoefficientsLast {
            out = e.homomorphic_dft(&out, &plan.to_coefficients, plan.output_scale)?;
            out.set_bound(literal.bound);
        }
        if plan.real_last() {
            let noise = out.inner().noise().scaled(0.5);
            out.inner_mut().set_noise(noise);
        }
        Ok(out)
    }
}
