//! The choice of a gadget for each modulus.

use std::sync::Arc;

use super::{Gadget, Method, decomposition::Decomposition};
use crate::{Context, Modulus, Noise, RlweError};

/// The factor by which a double decomposition must be faster than any single one, because its keys
/// are larger. Chosen: the planned gadget should be within 5 % of the fastest, and predictions have
/// errors of a few per cent themselves.
const MIN_SPEEDUP_OF_DOUBLE_DECOMPOSITION: f64 = 1.03;

impl Context {
    /// Returns the gadget that key switches at `modulus` use, with keys modulo `PQ_max`.
    ///
    /// It is the gadget of [`crate::Parameters::gadgets`] that needs the least time by the profile
    /// in use ([`Context::predict`]; MG23 4.4, LAKS 4.3). A gadget of
    /// [`crate::Parameters::double_gadgets`], whose keys need more memory, is chosen if it needs at
    /// least 3 % less time.
    ///
    /// # Errors
    /// Returns an error if `modulus` is not one of ciphertexts, or if the parameters have no key
    /// switching.
    pub fn gadget(&self, modulus: Modulus) -> Result<Gadget, RlweError> {
        self.gadget_within(modulus, self.parameters().full())
    }

    /// [`Context::gadget`] with keys modulo `key` ([`crate::PreparedSwitchingKey::modulus`]). Only
    /// gadgets such that `P'Q` divides `key` are considered. The double decomposition needs keys
    /// modulo `PQ_max`.
    ///
    /// # Errors
    /// Returns the errors of `gadget`, an error if `key` does not divide `PQ_max`, and
    /// [`RlweError::KeyModulus`] if the modulus of the keys is too small.
    pub fn gadget_within(&self, modulus: Modulus, key: Modulus) -> Result<Gadget, RlweError> {
        self.check_modulus(modulus, "switch keys")?;
        self.check_divisor(key)?;
        let gadget = self.gadgets.get_or_try_insert((modulus, key), || {
            let parameters = self.parameters();
            if parameters.specials().is_one() {
                return Err(no_specials());
            }
            let single =
                parameters.gadgets_within(modulus, key).into_iter().map(|gadget| (gadget, 1.0));
            let double = match key == parameters.full() {
                true => parameters.double_gadgets(modulus),
                false => Vec::new(),
            };
            let base = Some(parameters.base_gadget());
            let base = base.filter(|base| modulus.lcm(base.specials()).divides(key));
            let mut best = base.map(|base| (base, f64::INFINITY));
            for (gadget, handicap) in
                single.chain(double.into_iter().map(|g| (g, MIN_SPEEDUP_OF_DOUBLE_DECOMPOSITION)))
            {
                let seconds = handicap * self.predict(modulus, gadget, modulus)?;
                if best.is_none_or(|(_, fewest_seconds)| seconds < fewest_seconds) {
                    best = Some((gadget, seconds));
                }
            }
            let need = || modulus.lcm(parameters.base_gadget().specials());
            best.map(|(gadget, _)| gadget)
                .ok_or_else(|| self.key_too_small("switch keys", key, need()))
        })?;
        Ok(*gadget)
    }

    /// Checks that the modulus of a result or of a key divides `PQ_max`.
    pub(crate) fn check_divisor(&self, modulus: Modulus) -> Result<(), RlweError> {
        if modulus.divides(self.parameters().full()) {
            return Ok(());
        }
        let (have, need) = (modulus.limb_count(), "a divisor of PQ_max is needed");
        Err(RlweError::Modulus { operation: "switch keys", have, need })
    }

    /// Checks that a key modulo `key` can be used modulo `P'Q = extended`.
    pub(crate) fn check_key_modulus(
        &self,
        key: Modulus,
        extended: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        match extended.divides(key) {
            true => Ok(()),
            false => Err(self.key_too_small(operation, key, extended)),
        }
    }

    /// Returns the error for a key modulo `key` that would have to be modulo a multiple of `need`.
    pub(crate) fn key_too_small(&self, operation: &str, key: Modulus, need: Modulus) -> RlweError {
        let (have, need) = [key, need].map(|m| Box::new((m, self.parameters().log2(m)))).into();
        RlweError::KeyModulus { operation: operation.to_owned(), have, need }
    }

    /// Predicts the seconds that one thread needs for a key switch as in
    /// [`Context::key_switch_operations`], by the profile in use.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::key_switch_operations`].
    pub fn predict(&self, from: Modulus, gadget: Gadget, to: Modulus) -> Result<f64, RlweError> {
        let operations = self.key_switch_operations(from, gadget, to)?;
        Ok(operations.seconds(self.parameters().log_degree(), self.profile()))
    }

    /// The constants of a gadget.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::decompose_with`].
    pub(crate) fn decomposition(
        &self,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Arc<Decomposition>, RlweError> {
        self.plans.decompositions.get_or_try_insert((modulus, gadget), || {
            self.check_gadget(modulus, gadget)?;
            Decomposition::new(&self.rings, modulus, gadget)
        })
    }

    /// The noise of inner products of the digits of a polynomial modulo `modulus` with a key modulo
    /// `key`, before the division by `P'`.
    pub(crate) fn product_noise(
        &self,
        modulus: Modulus,
        gadget: Gadget,
        key: Modulus,
    ) -> Result<Noise, RlweError> {
        let noise = self.plans.product_noise.get_or_try_insert((modulus, gadget, key), || {
            self.check_gadget(modulus, gadget)?;
            Ok::<_, RlweError>(self.parameters().gadget_noise(modulus, gadget.group(), key))
        })?;
        Ok(*noise)
    }

    /// Checks that `gadget` is a gadget for `modulus`.
    pub(crate) fn check_gadget(&self, modulus: Modulus, gadget: Gadget) -> Result<(), RlweError> {
        self.check_modulus(modulus, "switch keys")?;
        let parameters = self.parameters();
        if parameters.specials().is_one() {
            return Err(no_specials());
        }
        let single = gadget.with_method(Method::Single);
        let fits = parameters.has_gadget(modulus, gadget);
        if !fits || gadget != single && parameters.double_shape(modulus, gadget).is_none() {
            let need = "a gadget for this modulus is needed";
            return Err(RlweError::Modulus {
                operation: "switch keys",
                have: modulus.limb_count(),
                need,
            });
        }
        Ok(())
    }
}

fn no_specials() -> RlweError {
    RlweError::Parameters { what: "no key switching, because there are no special primes".into() }
}
