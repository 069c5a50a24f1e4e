//! Bootstraps: a single one, or as many as the planned precision needs.

use std::f64::consts::{FRAC_PI_2, TAU};

use num_complex::Complex64;

use super::Bootstrapper;
use crate::{Ciphertext, CkksError, Scale};

const OPERATION: &str = "bootstrap";

impl Bootstrapper {
    /// Restores the capacity of `a`: returns a ciphertext of the same values with a large modulus.
    ///
    /// The phases are [`Bootstrapper::lower`], [`Bootstrapper::raise`],
    /// [`Bootstrapper::coefficients_to_slots`], [`Bootstrapper::reduce`] and
    /// [`Bootstrapper::finish`]. If the plan has a [precision](super::BootstrapLiteral::precision),
    /// the errors of bootstraps are bootstrapped until that precision is reached.
    ///
    /// # Errors
    /// Fails as these phases do.
    pub fn bootstrap(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.bootstrap_to(a, None)
    }

    /// Like [`Bootstrapper::bootstrap`], with a result modulo about `output_bits` bits. `None`
    /// stands for the largest modulus of the plan.
    ///
    /// The modulus is raised no further than needed, which makes every later step faster (GRAFT
    /// F.2). If the plan has a precision, the modulus keeps at least the bits that its iterations
    /// need.
    ///
    /// The first call for a modulus encodes the matrices of the transform for it
    /// ([`crate::circuits::HomomorphicDft::set_memory`]). Few different numbers are therefore
    /// better than many.
    ///
    /// # Errors
    /// Fails as [`Bootstrapper::bootstrap`] does, and with [`CkksError::Capacity`] if the plan has
    /// fewer bits ([`super::BootstrapPlan::output_bits`]).
    pub fn bootstrap_to(
        &self,
        a: &Ciphertext,
        output_bits: Option<f64>,
    ) -> Result<Ciphertext, CkksError> {
        if self.plan().literal.reduction.is_sine() {
            let what = "this plan computes sines (bootstrap_to_sines), not values".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let mut out = match self.plan().literal.precision {
            None => self.bootstrap_once(a, output_bits, self.plan().approximation)?,
            Some(bits) => self.bootstrap_precisely(a, output_bits, bits)?,
        };
        // The common part of the errors of all slots stays the same.
        let unit = |c: &Ciphertext| c.scale().log2() - 0.5 * (c.slots() as f64).log2();
        let common = a.inner().noise().common().scaled(unit(&out) - unit(a));
        let noise = out.inner().noise().with_common(common);
        out.inner_mut().set_noise(noise);
        out.set_bound(a.bound());
        let values = match self.plan().literal.first_slots {
            true => a.dry_run_values().repeated(self.plan().literal.slots),
            false => a.dry_run_values().clone(),
        };
        out.set_dry_run_values(values);
        Ok(out)
    }

    /// Restores the capacity of `a` by a plan whose reduction is a sine, and returns the sines of
    /// its values: `sin(u x)` for the value `x`, of its real and its imaginary part. Returns also
    /// the unit `u`.
    ///
    /// `u` is at most `2 pi epsilon / (bound + 10 e)`, where `e` is the standard deviation of the
    /// error of `a`, and at least 15/16 of that. It depends on the scale of `a`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the plan's reduction is not a sine, and as the phases
    /// do.
    pub fn bootstrap_to_sines(&self, a: &Ciphertext) -> Result<(Ciphertext, f64), CkksError> {
        let plan = self.plan();
        if !plan.literal.reduction.is_sine() {
            let what = "this plan computes values (bootstrap), not sines".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let lowered = self.lower(a)?;
        let slots = self.coefficients_to_slots(&self.raise(&lowered, plan.raised())?)?;
        let out = self.finish(self.reduce(&slots)?, &lowered)?;
        self.count_bootstrap();
        let unit = TAU * lowered.scale().ratio(plan.base_scale());
        let reach = (unit * plan.literal.bound).min(FRAC_PI_2).sin();
        let scale = Scale::from_f64(unit.recip()).map(|unit| out.scale().times(unit));
        let mut out = out.read_at(scale.ok_or(CkksError::Argument {
            operation: OPERATION,
            what: "the scale of the sines is out of range".into(),
        })?);
        out.set_bound(reach);
        let sine = |x: Complex64| Complex64::new((unit * x.re).sin(), (unit * x.im).sin());
        out.set_dry_run_values(a.dry_run_values().map(sine));
        Ok((out, unit))
    }
}
