//! The choice of a gadget for each modulus.

use std::sync::Arc;

use super::{Gadget, Method, decomposition::Decomposition};
use crate::{Context, Modulus, RlweError};

/// By what factor a double decomposition has to be faster than any single one.
const DOUBLE_HANDICAP: f64 = 10.0 / 9.0;

impl Context {
    /// The gadget that key switches at `modulus` use: the one of [`crate::Parameters::gadgets`] that takes the least time by the profile in use
    /// ([`Context::predict`]; MG23 4.4, LAKS 4.3), or of [`crate::Parameters::double_gadgets`], whose keys take memory beside, if that takes a tenth less.
    ///
    /// # Errors
    /// When `modulus` is not one of ciphertexts, or the parameters have no key switching.
    pub fn gadget(&self, modulus: Modulus) -> Result<Gadget, RlweError> {
        self.check_modulus(modulus, "switch keys")?;
        let gadget = self.gadgets.get_or_try_insert(modulus, || {
            if self.parameters().specials().is_one() {
                return Err(no_specials());
            }
            let single = self.parameters().gadgets(modulus).into_iter().map(|gadget| (gadget, 1.0));
            let double = self.parameters().double_gadgets(modulus).into_iter();
            let mut best = (self.parameters().base_gadget(), f64::INFINITY);
            for (gadget, handicap) in single.chain(double.map(|gadget| (gadget, DOUBLE_HANDICAP))) {
                let seconds = handicap * self.predict(modulus, gadget, modulus)?;
                if seconds < best.1 {
                    best = (gadget, seconds);
                }
            }
            Ok(best.0)
        })?;
        Ok(*gadget)
    }

    /// Seconds that a key switch as of [`Context::key_switch_operations`] takes one thread by the profile in use.
    ///
    /// # Errors
    /// As [`Context::decompose_with`].
    pub fn predict(&self, from: Modulus, gadget: Gadget, to: Modulus) -> Result<f64, RlweError> {
        let operations = self.key_switch_operations(from, gadget, to)?;
        Ok(operations.seconds(self.parameters().log_degree(), self.profile()))
    }

    /// The constants of a gadget.
    ///
    /// # Errors
    /// As [`Context::decompose_with`].
    pub(crate) fn decomposition(
        &self,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Arc<Decomposition>, RlweError> {
        self.decompositions.get_or_try_insert((modulus, gadget), || {
            self.check_gadget(modulus, gadget)?;
            Decomposition::new(self, modulus, gadget)
        })
    }

    /// Checks that a gadget is one for `modulus`.
    pub(crate) fn check_gadget(&self, modulus: Modulus, gadget: Gadget) -> Result<(), RlweError> {
        self.check_modulus(modulus, "switch keys")?;
        let parameters = self.parameters();
        if parameters.specials().is_one() {
            return Err(no_specials());
        }
        let single = gadget.with_method(Method::Single);
        let fits =
            parameters.gadget(modulus, gadget.group()) == Some(single) || parameters.base_gadget() == single;
        if !fits || gadget != single && parameters.double_shape(modulus, gadget).is_none() {
            let need = "a gadget for this modulus is needed";
            return Err(RlweError::Modulus { operation: "switch keys", have: modulus.limb_count(), need });
        }
        Ok(())
    }
}

fn no_specials() -> RlweError {
    RlweError::Parameters { what: "there are no special primes, and so no key switching".into() }
}
