//! PEGASUS with the keys of a client.

use std::sync::Arc;

use hippocrene_ckks::{Ciphertext, Evaluator};
use hippocrene_fhew::PreparedLweSwitchingKey;
use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Fingerprint, RlweError};

use crate::{PegasusError, PegasusKeys, PegasusPlan};

/// Takes encrypted numbers from slots to LWE ciphertexts and back, by a plan. It holds no secret.
#[derive(Debug, Clone)]
pub struct Pegasus {
    plan: Arc<PegasusPlan>,
    evaluator: Evaluator,
    extraction: Arc<PreparedLweSwitchingKey>,
    repacking: Arc<Ciphertext>,
    lwe_key: Fingerprint,
}

impl Pegasus {
    /// PEGASUS by `plan`, with the keys of `evaluator` ([`PegasusPlan::add_keys`]) and those between slots and single numbers.
    ///
    /// # Errors
    /// When keys or parameters do not belong together or one is missing.
    pub fn new(
        plan: Arc<PegasusPlan>,
        evaluator: Evaluator,
        keys: &PegasusKeys,
    ) -> Result<Self, PegasusError> {
        const OPERATION: &str = "set up PEGASUS";
        let rlwe = plan.context().rlwe();
        rlwe.check_digest(evaluator.context().parameters().digest(), OPERATION)?;
        let extraction = keys.extraction.prepare()?;
        let (own, lwe) = (evaluator.keys().key(), keys.repacking.lwe());
        let [from, to] = extraction.keys();
        for (have, need) in [(keys.repacking.inner().inner().key(), own), (from, own), (to, lwe)] {
            if have != need {
                return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
            }
        }
        for step in plan.transform_rotations().into_iter().chain(plan.repacking_rotations()) {
            evaluator.keys().galois(galois_element_of_rotation(rlwe.degree(), step))?;
        }
        let repacking = Arc::new(keys.repacking.expand(&plan)?);
        Ok(Pegasus { plan, evaluator, extraction: Arc::new(extraction), repacking, lwe_key: lwe })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<PegasusPlan> {
        &self.plan
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The key that numbers are extracted with.
    pub(crate) fn extraction(&self) -> &PreparedLweSwitchingKey {
        &self.extraction
    }

    /// The LWE secret in the slots of a ciphertext.
    pub(crate) fn repacking(&self) -> &Ciphertext {
        &self.repacking
    }

    /// The fingerprint of the LWE secret that numbers are repacked from.
    pub fn lwe_key(&self) -> Fingerprint {
        self.lwe_key
    }
}
