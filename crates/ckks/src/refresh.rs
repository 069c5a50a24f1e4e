//! What gives capacity back to ciphertexts in the middle of a circuit.

use std::borrow::Cow;

use crate::{Ciphertext, CkksError, Context, bootstrap::Bootstrapper};

/// What gives capacity back to ciphertexts in the middle of a circuit.
///
/// A circuit of several stages asks before each of them for what that stage takes and, unless the
/// rest of the circuit fits into what is there, for [`Refresh::reserve`] beside: so much has to be
/// left for a later refresh.
pub trait Refresh: Sync {
    /// `a` with at least `need` bits of capacity ([`Ciphertext::capacity_bits`]): as it is where it
    /// has them, bootstrapped where it has not. `useful` >= `need` says how many bits what follows
    /// can make use of, so that the modulus is raised no further (GRAFT F.2).
    ///
    /// # Errors
    /// [`CkksError::Capacity`], in the name of `operation`, when so many bits are not to be had,
    /// and as the bootstrap.
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError>;

    /// The bits of capacity that a ciphertext must have left for it to be refreshed.
    fn reserve(&self) -> f64 {
        0.0
    }

    /// The bits of capacity that a refresh gives at most, as far as is known before.
    fn most(&self) -> f64 {
        f64::INFINITY
    }
}

/// No bootstrapping: what lacks capacity is refused.
#[derive(Debug, Clone, Copy)]
pub struct NoRefresh<'c>(
    /// The context of the ciphertexts.
    pub &'c Context,
);

impl Refresh for NoRefresh<'_> {
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        _useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        enough(a, self.0, need, operation)
    }

    /// Infinite: no capacity is enough for a refresh, so that a circuit asks for all that it needs
    /// before it begins.
    fn reserve(&self) -> f64 {
        f64::INFINITY
    }
}

impl Refresh for Bootstrapper {
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        let context = self.evaluator().context();
        if a.capacity_bits(context) >= need {
            return Ok(a);
        }
        let bits = self.plan().output_bits_for(useful);
        enough(Cow::Owned(self.bootstrap_to(&a, bits)?), context, need, operation)
    }

    fn reserve(&self) -> f64 {
        // The plan counts for values of its bound, capacity for values of the bound that they have.
        self.plan().capacity_needed() + self.plan().literal().bound.max(1.0).log2() + 1.0
    }

    fn most(&self) -> f64 {
        self.plan().certain_capacity()
    }
}

/// `a`, if it has so many bits of capacity.
fn enough<'a>(
    a: Cow<'a, Ciphertext>,
    context: &Context,
    need: f64,
    operation: &'static str,
) -> Result<Cow<'a, Ciphertext>, CkksError> {
    let have = a.capacity_bits(context);
    if have >= need { Ok(a) } else { Err(CkksError::Capacity { operation, need, have }) }
}
