//! PEGASUS with the keys of a client.

use std::sync::Arc;

use hippocrene_ckks::{Ciphertext, Evaluator};
use hippocrene_fhew::{PreparedBlindRotationKey, PreparedLweSwitchingKey};
use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Fingerprint, RlweError, stop};

use crate::{PegasusError, PegasusKeys, PegasusPlan};

/// Moves encrypted numbers from slots to LWE ciphertexts and back, as planned. It holds no secret.
#[derive(Debug, Clone)]
pub struct Pegasus {
    plan: Arc<PegasusPlan>,
    evaluator: Evaluator,
    extraction: Arc<PreparedLweSwitchingKey>,
    tables: Arc<PreparedBlindRotationKey>,
    back: Arc<PreparedLweSwitchingKey>,
    repacking: Arc<Ciphertext>,
    lwe_key: Fingerprint,
}

impl Pegasus {
    /// PEGASUS by `plan`, with the keys of `evaluator` ([`PegasusPlan::add_keys`]) and those
    /// between slots and single numbers.
    ///
    /// # Errors
    /// If keys or parameters do not belong together, or a key is missing.
    pub fn new(
        plan: Arc<PegasusPlan>,
        evaluator: Evaluator,
        keys: &PegasusKeys,
    ) -> Result<Self, PegasusError> {
        const OPERATION: &str = "set up PEGASUS";
        let rlwe = plan.context().rlwe();
        rlwe.check_digest(evaluator.context().parameters().digest(), OPERATION)?;
        let [extraction, back] = [keys.extraction.prepare()?, keys.back.prepare()?];
        stop::check(OPERATION)?;
        let tables = keys.tables.prepare(rlwe.threads())?;
        let (own, lwe) = (evaluator.keys().key(), keys.repacking.lwe());
        let ([from, to], [input, ring], [ring_back, lwe_back]) =
            (extraction.keys(), tables.keys(), back.keys());
        let pairs = [(from, own), (to, lwe), (input, lwe), (ring_back, ring), (lwe_back, lwe)];
        for (have, need) in pairs.into_iter().chain([(keys.repacking.inner().inner().key(), own)]) {
            if have != need {
                return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
            }
        }
        for step in plan.transform_rotations().into_iter().chain(plan.repacking_rotations()) {
            evaluator.keys().galois(galois_element_of_rotation(rlwe.degree(), step))?;
        }
        let repacking = Arc::new(keys.repacking.expand(&plan)?);
        let (extraction, tables, back) = (Arc::new(extraction), Arc::new(tables), Arc::new(back));
        Ok(Pegasus { plan, evaluator, extraction, tables, back, repacking, lwe_key: lwe })
    }

    /// Bytes of memory of the keys between slots and single numbers, without the repacking key.
    pub fn key_bytes(&self) -> usize {
        self.extraction.bytes() + self.tables.bytes() + self.back.bytes()
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<PegasusPlan> {
        &self.plan
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The key for extraction.
    pub(crate) fn extraction(&self) -> &PreparedLweSwitchingKey {
        &self.extraction
    }

    /// The key of tables.
    pub(crate) fn tables(&self) -> &PreparedBlindRotationKey {
        &self.tables
    }

    /// The number of look-ups so far. Another thread can read it to follow the progress of a long
    /// operation.
    pub fn look_ups_done(&self) -> u64 {
        self.tables.rotations()
    }

    /// The key that leads back from the ring of tables.
    pub(crate) fn back(&self) -> &PreparedLweSwitchingKey {
        &self.back
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
