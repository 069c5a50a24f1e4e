//! Bootstraps: a single one, or as many as the planned precision needs.

use std::f64::consts::{FRAC_PI_2, TAU};

use hippocrene_rlwe::Noise;
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
        self.completed(&mut out, a);
        Ok(out)
    }

    /// Like [`Bootstrapper::bootstrap_to`] for two ciphertexts of real slots at once, by a plan of
    /// complex slots ([`super::BootstrapPlan::of_complex`]). This is faster than one after the
    /// other, because they share all phases except the reduction. It counts as one bootstrap.
    ///
    /// # Errors
    /// As [`Bootstrapper::bootstrap_to`]. Fails also if moduli or scales of the two differ, and
    /// with [`CkksError::Argument`] if the plan is for real slots.
    pub fn bootstrap_pair_to(
        &self,
        [a, b]: [&Ciphertext; 2],
        output_bits: Option<f64>,
    ) -> Result<[Ciphertext; 2], CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        self.check_pairs(plan.literal.reduction.is_sine())?;
        let both = self.pair([a, b])?;
        let mut results = match plan.literal.precision {
            None => self.bootstrap_parts(&both, output_bits)?,
            Some(bits) => {
                let precise = self.bootstrap_precisely(&both, output_bits, bits)?;
                let (real, imaginary) = e.real_and_imaginary(&precise)?;
                // Both parts are doubled.
                [real.in_unit(1), imaginary.in_unit(1)]
            }
        };
        if plan.literal.precision.is_none() {
            // Iterations have been counted.
            self.count_bootstrap();
        }
        for (out, own) in results.iter_mut().zip([a, b]) {
            self.completed(out, own);
        }
        Ok(results)
    }

    /// Checks that the plan is for complex slots, and for values.
    fn check_pairs(&self, is_wrong: bool) -> Result<(), CkksError> {
        let what = match (is_wrong, self.plan().literal.real) {
            (false, false) => return Ok(()),
            (true, _) => "this plan is for other results, values or sines",
            (_, true) => "a pair of ciphertexts needs a plan of complex slots (of_complex)",
        };
        Err(CkksError::Argument { operation: OPERATION, what: what.into() })
    }

    /// Returns `a + i b`. Its bound is that of each part.
    fn pair(&self, [a, b]: [&Ciphertext; 2]) -> Result<Ciphertext, CkksError> {
        let mut both = self.evaluator().complex(a, b)?;
        both.set_bound(a.bound().max(b.bound()));
        Ok(both)
    }

    /// Sets everything of a result that follows from the operand: the bound, the common part of the
    /// errors, and the values of a dry run.
    fn completed(&self, out: &mut Ciphertext, a: &Ciphertext) {
        // The common part of the errors of all slots stays the same.
        let unit = |c: &Ciphertext| c.scale().log2() - 0.5 * (c.slots() as f64).log2();
        let common = a.inner().noise().common().scaled(unit(out) - unit(a));
        let noise = out.inner().noise().with_common(common);
        out.inner_mut().set_noise(noise);
        out.set_bound(a.bound());
        let values = match self.plan().literal.first_slots {
            true => a.dry_run_values().repeated(self.plan().literal.slots),
            false => a.dry_run_values().clone(),
        };
        out.set_dry_run_values(values);
    }

    /// Restores the capacity of `a` by a plan whose reduction is a sine, and returns the sines of
    /// its values: `sin(u x)` for the value `x`, of its real and its imaginary part.
    ///
    /// The unit `u` is at most `2 pi epsilon / (bound + 10 e)`, where `e` is the standard deviation
    /// of the error of `a`. It depends on the scale of `a`. It is at least 15/16 of that, and
    /// nearer to it for tables ([`SineUse`](super::SineUse)).
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the plan's reduction is not a sine, and as the phases
    /// do.
    pub fn bootstrap_to_sines(&self, a: &Ciphertext) -> Result<Sines, CkksError> {
        if !self.plan().literal.reduction.is_sine() {
            let what = "this plan computes values (bootstrap), not sines".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let (lowered, slots, argument) = self.arguments_of_sines(a)?;
        let out = self.finish(self.reduce(&slots)?, &lowered)?;
        self.count_bootstrap();
        self.as_sines(out, &lowered, argument, a)
    }

    /// Like [`Bootstrapper::bootstrap_to_sines`] for two ciphertexts of real slots at once, by a
    /// plan of complex slots ([`super::BootstrapPlan::of_complex`]).
    ///
    /// # Errors
    /// As [`Bootstrapper::bootstrap_to_sines`] and [`Bootstrapper::bootstrap_pair_to`].
    pub fn bootstrap_pair_to_sines(
        &self,
        [a, b]: [&Ciphertext; 2],
    ) -> Result<[Sines; 2], CkksError> {
        self.check_pairs(!self.plan().literal.reduction.is_sine())?;
        let (lowered, slots, argument) = self.arguments_of_sines(&self.pair([a, b])?)?;
        let [first, second] = self.finish_each(self.reduce_each(&slots)?, &lowered)?;
        self.count_bootstrap();
        Ok([
            self.as_sines(first, &lowered, argument, a)?,
            self.as_sines(second, &lowered, argument, b)?,
        ])
    }

    /// Runs the phases before the reduction. Returns the result of the first phase, and the slots
    /// without their noise, whose standard deviation, in radians, it returns too.
    fn arguments_of_sines(
        &self,
        a: &Ciphertext,
    ) -> Result<(Ciphertext, Vec<Ciphertext>, f64), CkksError> {
        let plan = self.plan();
        let lowered = self.lower(a)?;
        let mut slots = self.coefficients_to_slots(&self.raise(&lowered, plan.raised())?)?;
        let error = slots.iter().map(|x| (-x.precision_bits()).exp2()).fold(0.0, f64::max);
        slots.iter_mut().for_each(|part| part.inner_mut().set_noise(Noise::NONE));
        Ok((lowered, slots, TAU * plan.literal.reduction.reach() * error))
    }

    /// Reads the result of the reduction as the sines of the values of `a`.
    fn as_sines(
        &self,
        out: Ciphertext,
        lowered: &Ciphertext,
        argument: f64,
        a: &Ciphertext,
    ) -> Result<Sines, CkksError> {
        let plan = self.plan();
        let unit = TAU * lowered.scale().ratio(plan.base_scale());
        let reach = (unit * plan.literal.bound).min(FRAC_PI_2).sin();
        let scale = Scale::from_f64(unit.recip()).map(|unit| out.scale().times(unit));
        let mut sines = out.read_at(scale.ok_or(CkksError::Argument {
            operation: OPERATION,
            what: "the scale of the sines is out of range".into(),
        })?);
        sines.set_bound(reach);
        let errors = SineErrors { argument, sine: (-sines.precision_bits()).exp2() };
        sines.set_error(errors.argument.hypot(errors.sine));
        let sine = |x: Complex64| Complex64::new((unit * x.re).sin(), (unit * x.im).sin());
        sines.set_dry_run_values(a.dry_run_values().map(sine));
        Ok(Sines { sines, unit, errors })
    }
}

/// The result of [`Bootstrapper::bootstrap_to_sines`]. See
/// [`BootstrapPlan::of_sines`](super::BootstrapPlan::of_sines) for an example.
#[derive(Debug, Clone)]
pub struct Sines {
    /// The sines. Their noise contains both errors.
    pub sines: Ciphertext,
    /// The factor between a value and the argument of its sine, in radians.
    pub unit: f64,
    /// The errors of the sines.
    pub errors: SineErrors,
}

/// The standard deviations of the errors of sines that a bootstrap computed.
///
/// ```
/// use hippocrene_ckks::bootstrap::SineErrors;
///
/// let errors = SineErrors { argument: 1e-6, sine: 1e-9 };
/// // Near a multiple of pi, errors of the argument appear in the sine.
/// assert!(errors.argument.hypot(errors.sine) < 1.1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SineErrors {
    /// The error of the argument, in radians. It is that of the value itself, and those of the
    /// phases of the bootstrap up to the reduction.
    pub argument: f64,
    /// The error of the sine of this argument.
    pub sine: f64,
}
