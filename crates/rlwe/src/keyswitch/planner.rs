//! The choice of a gadget for each modulus.

use std::sync::Arc;

use super::{Gadget, Method, decomposition::Decomposition};
use crate::{Context, Modulus, Parameters, RlweError};

impl Context {
    /// The gadget that key switches at `modulus` use: the cheapest of [`Parameters::gadgets`].
    ///
    /// # Errors
    /// When `modulus` is not one of ciphertexts, or the parameters have no key switching.
    pub fn gadget(&self, modulus: Modulus) -> Result<Gadget, RlweError> {
        self.check_modulus(modulus, "switch keys")?;
        let gadget = self.gadgets.get_or_try_insert(modulus, || {
            if self.parameters().specials().is_one() {
                return Err(no_specials());
            }
            let gadgets = self.parameters().gadgets(modulus);
            let cheapest = gadgets.into_iter().min_by_key(|g| transforms(self.parameters(), modulus, *g));
            Ok(cheapest.unwrap_or(self.parameters().base_gadget()))
        })?;
        Ok(*gadget)
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
        self.check_modulus(modulus, "switch keys")?;
        let parameters = self.parameters();
        self.decompositions.get_or_try_insert((modulus, gadget), || {
            if parameters.specials().is_one() {
                return Err(no_specials());
            }
            let single = gadget.with_method(Method::Single);
            let fits = parameters.gadget(modulus, gadget.group()) == Some(single)
                || parameters.base_gadget() == single;
            if !fits || gadget != single && parameters.double_shape(modulus, gadget).is_none() {
                let need = "a gadget for this modulus is needed";
                return Err(RlweError::Modulus {
                    operation: "switch keys",
                    have: modulus.limb_count(),
                    need,
                });
            }
            Decomposition::new(self, modulus, gadget)
        })
    }
}

fn no_specials() -> RlweError {
    RlweError::Parameters { what: "there are no special primes, and so no key switching".into() }
}

/// The transforms of a key switch, `(omega + 2)(l + k)` (MG23 3.1).
fn transforms(parameters: &Parameters, modulus: Modulus, gadget: Gadget) -> usize {
    let digits = parameters.digit_shapes(modulus, gadget.group()).len();
    (digits + 2) * (modulus.limb_count() + gadget.specials().limb_count())
}
