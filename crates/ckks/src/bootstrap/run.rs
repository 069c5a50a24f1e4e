//! Bootstraps: a single one, or as many as the planned precision needs.

use super::Bootstrapper;
use crate::{Ciphertext, CkksError};

impl Bootstrapper {
    /// Restores the capacity of `a`: returns a ciphertext of the same values with a large modulus.
    /// If the plan's reduction is a sine, the values are [`super::BootstrapPlan::result_of`] those
    /// of `a`.
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
        out.set_dry_run_values(values.map(|x| self.plan().result_of(x)));
        Ok(out)
    }
}
