//! Sources of capacity for ciphertexts in the middle of a circuit.

use std::borrow::Cow;

use crate::{Ciphertext, CkksError, Context, bootstrap::Bootstrapper};

/// Restores the capacity of ciphertexts in the middle of a circuit.
///
/// Before each stage, a circuit asks for the capacity of that stage. Unless the ciphertext has
/// enough capacity for the rest of the circuit, it asks for [`Refresh::reserve`] in addition, which
/// a later refresh needs.
///
/// # Examples
/// A circuit that must not bootstrap gets [`NoRefresh`], which refuses a ciphertext with too little
/// capacity.
///
/// ```
/// use std::borrow::Cow;
/// use hippocrene_ckks::{Ciphertext, CkksError, NoRefresh, Refresh};
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 8, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 3, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let context = hippocrene_ckks::Context::new(parameters, Threads::single())?;
///
/// let (none, empty) = (NoRefresh(&context), Ciphertext::empty(&context));
/// let refused = none.refresh(Cow::Borrowed(&empty), 10.0, 10.0, "example");
/// assert!(matches!(refused, Err(CkksError::Capacity { .. })));
/// assert_eq!(none.reserve(), f64::INFINITY);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Refresh: Sync {
    /// Returns `a` with at least `need` bits of capacity ([`Ciphertext::capacity_bits`]). It is
    /// unchanged if it has them, and bootstrapped otherwise. The rest of the circuit can use
    /// `useful >= need` bits, so the modulus is raised no further (GRAFT F.2).
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`], in the name of `operation`, if it cannot provide `need`
    /// bits. Fails also as the bootstrap does.
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError>;

    /// Returns the bits of capacity that a ciphertext must have left to be refreshed.
    fn reserve(&self) -> f64 {
        0.0
    }

    /// Returns the largest capacity, in bits, that a refresh is known to give.
    fn max_capacity(&self) -> f64 {
        f64::INFINITY
    }
}

/// A [`Refresh`] that never bootstraps. It refuses a ciphertext with too little capacity. See
/// [`Refresh`] for an example.
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
        require_capacity(a, self.0, need, operation)
    }

    /// Returns infinity: no capacity is enough for a refresh, so a circuit asks for everything that
    /// it needs before it begins.
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
        require_capacity(Cow::Owned(self.bootstrap_to(&a, bits)?), context, need, operation)
    }

    fn reserve(&self) -> f64 {
        // The plan's figure holds for values up to the plan's bound. Capacity is relative to the
        // actual bound of the values.
        self.plan().capacity_needed() + self.plan().literal().bound.max(1.0).log2() + 1.0
    }

    fn max_capacity(&self) -> f64 {
        self.plan().guaranteed_capacity()
    }
}

/// Returns `a` if it has `need` bits of capacity, and an error otherwise.
fn require_capacity<'a>(
    a: Cow<'a, Ciphertext>,
    context: &Context,
    need: f64,
    operation: &'static str,
) -> Result<Cow<'a, Ciphertext>, CkksError> {
    let have = a.capacity_bits(context);
    if have >= need { Ok(a) } else { Err(CkksError::Capacity { operation, need, have }) }
}
