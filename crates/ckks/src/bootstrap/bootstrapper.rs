//! Bootstrapping with a client's evaluation keys.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hippocrene_rlwe::PreparedEncapsulationKeys;

use super::BootstrapPlan;
use crate::{CkksError, Evaluator};

const OPERATION: &str = "bootstrap";

/// Bootstraps ciphertexts by a [`BootstrapPlan`], which has an example. It holds no secret.
#[derive(Debug, Clone)]
pub struct Bootstrapper {
    plan: Arc<BootstrapPlan>,
    evaluator: Evaluator,
    encapsulation: Option<Arc<PreparedEncapsulationKeys>>,
    /// The number of bootstraps so far.
    count: Arc<AtomicU64>,
}

impl Bootstrapper {
    /// Creates a bootstrapper for `plan`. `evaluator` holds the keys of
    /// [`BootstrapPlan::add_keys`], and `encapsulation` those of the sparse secret
    /// ([`BootstrapPlan::encapsulation_keys`]).
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the plan has a sparse secret and `encapsulation` is
    /// `None`, or the other way about. Fails also if keys and parameters do not belong together, or
    /// if a key is missing.
    pub fn new(
        plan: Arc<BootstrapPlan>,
        evaluator: Evaluator,
        encapsulation: Option<Arc<PreparedEncapsulationKeys>>,
    ) -> Result<Self, CkksError> {
        let rlwe = plan.context().rlwe();
        rlwe.check_digest(evaluator.context().parameters().digest(), OPERATION)?;
        if plan.sparse_context().is_some() != encapsulation.is_some() {
            let what = match plan.sparse_context() {
                Some(_) => "the plan has a sparse secret, whose keys are missing",
                None => "there are keys of a sparse secret, and the plan has none",
            };
            return Err(CkksError::Argument { operation: OPERATION, what: what.into() });
        }
        for (element, modulus) in plan.key_moduli()? {
            evaluator.keys().galois_at(element, rlwe, modulus)?;
        }
        Ok(Bootstrapper { plan, evaluator, encapsulation, count: Arc::default() })
    }

    /// Returns the same bootstrapper for the dry run of `evaluator`, whose context was made by
    /// [`Context::dry_run_beside`](crate::Context::dry_run_beside) from the context of this plan.
    ///
    /// # Errors
    /// Fails as [`BootstrapPlan::dry_run_beside`] does.
    pub fn dry_run_beside(&self, evaluator: Evaluator) -> Result<Self, CkksError> {
        let context = Arc::clone(evaluator.context());
        let plan = Arc::new(self.plan.dry_run_beside(Arc::clone(&context))?);
        let bare = self.encapsulation.as_ref().zip(plan.sparse_context()).map(|(keys, sparse)| {
            Ok::<_, CkksError>(Arc::new(keys.without_residues(context.rlwe(), sparse)?))
        });
        Ok(Bootstrapper {
            plan,
            evaluator,
            encapsulation: bare.transpose()?,
            count: Arc::default(),
        })
    }

    /// Returns a bootstrapper for another plan that the keys of this one serve
    /// ([`BootstrapPlan::of_complex`], [`BootstrapPlan::of_sines`]), with the same count of
    /// bootstraps.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the plan has another context or another base modulus.
    pub fn with_plan(&self, plan: Arc<BootstrapPlan>) -> Result<Self, CkksError> {
        if !Arc::ptr_eq(plan.context(), self.plan.context()) || plan.base() != self.plan.base() {
            let what = "the keys of this bootstrapper do not serve the plan".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        Ok(Bootstrapper { plan, ..self.clone() })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<BootstrapPlan> {
        &self.plan
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The number of bootstraps that it and its clones have done. An iterated bootstrap counts once
    /// for each iteration, and a bootstrap of two ciphertexts at once counts as one.
    pub fn bootstraps(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The keys of the sparse secret, if the plan has one.
    pub(super) fn encapsulation(&self) -> Option<&PreparedEncapsulationKeys> {
        self.encapsulation.as_deref()
    }

    /// Counts a bootstrap.
    pub(super) fn count_bootstrap(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}
