//! The phases of one bootstrap after the first, which `input.rs` has.

use std::borrow::Cow;

use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Modulus, Noise};

use super::{Bootstrapper, Order};
use crate::{Ciphertext, CkksError, circuits::Packing};

const OPERATION: &str = "bootstrap";

impl Bootstrapper {
    /// One bootstrap, by its phases. `approximation` is the root mean square of the error of the
    /// reduction's polynomials ([`super::BootstrapLiteral::approximation_error`]).
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
        let out = self.finish_off_by(reduced, &lowered, approximation)?;
        self.count_bootstrap();
        Ok(out)
    }

    /// The second phase: from `m` modulo `q0` to `m + q0 I` modulo `to`
    /// ([`super::BootstrapPlan::raised_for`]), under the sparse secret where there is one, and what
    /// belongs to other powers than those of `X^(N/2n)` summed away. In the unit of `q0`, which is
    /// the scale, the coefficients are below `k`; the bound that is set is the root mean square of
    /// the slots that such coefficients make.
    ///
    /// # Errors
    /// When the ciphertext is not modulo `q0`, or a key does not fit.
    pub fn raise(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        let (plan, context) = (self.plan(), self.evaluator().context());
        let rlwe = context.rlwe();
        rlwe.note_failure(|| plan.log2_failure_probability());
        let mut out = Ciphertext::empty(context);
        match (self.encapsulation(), plan.narrow()) {
            (Some(keys), Some(narrow)) => {
                rlwe.raise_encapsulated_into(out.inner_mut(), a.inner(), keys, narrow, to)?;
            }
            _ => rlwe.raise_modulus_into(out.inner_mut(), a.inner(), to)?,
        }
        out.set_meta(plan.raised_scale(), context.max_slots(), f64::INFINITY);
        for step in plan.trace_rotations() {
            let rotated = self.evaluator().rotate(&out, step)?;
            // The coefficients that count are the same in both, and so are their errors.
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

    /// The third phase: coefficients into slots, divided by the reach of the reduction; real and
    /// imaginary parts in a ciphertext each where they are not packed.
    ///
    /// # Errors
    /// When a key is missing.
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
            // All of this error is in real parts. Stated is the mean of both parts until slots are
            // in coefficients, as of what the reduction adds.
            let noise = parts[0].inner().noise().scaled(-0.5);
            parts[0].inner_mut().set_noise(noise);
        }
        if plan.literal().first_slots {
            let count = parts.len();
            parts.iter_mut().for_each(|part| self.of_all_slots(a, part, count));
        }
        Ok(parts)
    }

    /// Turns `part`, one of the `count` ciphertexts that hold the coefficients of `a`, into a
    /// ciphertext of all slots, which repeat. Its error gets the error of the coefficients, all of
    /// it in real parts. Before, it has only the error of the transform, which differs from slot to
    /// slot.
    fn of_all_slots(&self, a: &Ciphertext, part: &mut Ciphertext, count: usize) {
        let (slots, reach) =
            (self.evaluator().context().max_slots(), self.plan().literal().reduction.reach());
        let own =
            a.inner().noise().log2_std() - a.scale().log2() - reach.log2() + part.scale().log2();
        let noise = Noise::from_log2_std(own - 0.5 * ((count * slots) as f64).log2())
            .plus(part.inner().noise());
        part.inner_mut().set_noise(noise);
        part.set_meta(part.scale(), slots, part.bound());
    }

    /// The fourth phase: the reduction modulo 1 of each, put together again.
    ///
    /// # Errors
    /// When the modulus is too small or a key is missing.
    pub fn reduce(&self, parts: &[Ciphertext]) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let reduction = &plan.literal().reduction;
        let mut reduced = e.context().rlwe().try_each(parts.len(), |i| {
            e.reduce_modulo_one_by(
                &parts[i],
                reduction,
                &plan.gains,
                plan.scale,
                plan.reduced_scale,
            )
        })?;
        let last = reduced.pop();
        match (reduced.pop(), last, reduced.len()) {
            (None, Some(one), _) => Ok(one),
            (Some(real), Some(imaginary), 0) => e.complex(&real, &imaginary),
            _ => {
                let what = format!("{} parts: one or two are reduced", parts.len());
                Err(CkksError::Argument { operation: OPERATION, what })
            }
        }
    }

    /// The last phase: `m/q0` is read as the values again, for which `lowered`, the result of the
    /// first phase, has the scale; and slots go into coefficients where they do so last.
    ///
    /// # Errors
    /// When the modulus is too small or a key is missing.
    pub fn finish(
        &self,
        reduced: Ciphertext,
        lowered: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.finish_off_by(reduced, lowered, self.plan().approximation)
    }

    /// Like [`Bootstrapper::finish`], where the polynomials of the reduction have the error
    /// `approximation`.
    fn finish_off_by(
        &self,
        mut out: Ciphertext,
        lowered: &Ciphertext,
        approximation: f64,
    ) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let unit =
            plan.raised_scale().divided_by((plan.context().max_slots() / literal.slots) as u64);
        let values = lowered.scale().over(unit);
        // The error of the polynomials of the reduction. It is in the real part of a result. Where
        // slots still go into coefficients, half of it is in either part on average.
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
