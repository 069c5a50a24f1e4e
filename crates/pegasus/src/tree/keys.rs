//! The keys of private decision trees: no keys of CKKS are among them.

use std::sync::Arc;

use hippocrene_fhew::{BlindRotationKey, LweSecretKey, LweSwitchingKey};
use hippocrene_ring::{Seed, Threads};
use hippocrene_rlwe::{Context, Fingerprint};

use super::TreeParameters;
use crate::PegasusError;

/// What the two secrets are derived from the seed for.
const DOMAIN_INPUT: u64 = 0;
const DOMAIN_RING: u64 = 1;

/// The client's secrets, of queries and replies and of the ring of rotations: both follow from one
/// seed.
#[derive(Debug)]
pub struct TreeSecrets {
    parameters: TreeParameters,
    seed: Seed,
    pub(super) input: LweSecretKey,
    ring: LweSecretKey,
}

impl TreeSecrets {
    /// Fresh secrets from the operating system's entropy.
    ///
    /// # Errors
    /// When the operating system has none.
    pub fn generate(parameters: TreeParameters) -> Result<Self, PegasusError> {
        Self::from_seed(parameters, Seed::random().map_err(hippocrene_fhew::FhewError::from)?)
    }

    /// The secrets that follow from `seed`.
    ///
    /// # Errors
    /// None for parameters that were made.
    pub fn from_seed(parameters: TreeParameters, seed: Seed) -> Result<Self, PegasusError> {
        let rotation = parameters.rotation();
        let input = LweSecretKey::from_seed(rotation.input(), &seed.derive(DOMAIN_INPUT))?;
        let ring = LweSecretKey::from_seed(rotation.ring(), &seed.derive(DOMAIN_RING))?;
        Ok(TreeSecrets { parameters, seed, input, ring })
    }

    /// What they are for.
    pub fn parameters(&self) -> TreeParameters {
        self.parameters
    }

    /// What they follow from: **the secret itself**.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The public name of the key that queries and replies belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.input.fingerprint()
    }
}

/// What a server needs: no secret inside.
#[derive(Debug, Clone)]
pub struct TreeKeys {
    /// The LWE secret under that of the ring.
    pub tables: BlindRotationKey,
    /// From the secret of the ring to the LWE secret.
    pub back: LweSwitchingKey,
}

impl TreeKeys {
    /// Makes the keys of `secrets`.
    ///
    /// # Errors
    /// When the digits are no gadget of the modulus or the operating system has no entropy.
    pub fn generate(secrets: &TreeSecrets) -> Result<Self, PegasusError> {
        let TreeSecrets { parameters, input, ring, .. } = secrets;
        let digits = parameters.back();
        Ok(TreeKeys {
            tables: BlindRotationKey::generate(
                parameters.rotation(),
                input,
                ring,
                &Threads::single(),
            )?,
            back: LweSwitchingKey::generate(ring, input, digits.base_log2, digits.count)?,
        })
    }

    /// Keys without samples for simulations
    /// ([`PreparedTreeKeys::simulate`](super::PreparedTreeKeys::simulate)): what they would do is
    /// noted in `context`, which is hollow.
    ///
    /// # Errors
    /// When the context is not hollow, the digits are no gadget of the modulus or the operating
    /// system has no entropy.
    pub fn hollow(context: &Arc<Context>, secrets: &TreeSecrets) -> Result<Self, PegasusError> {
        let TreeSecrets { parameters, input, ring, .. } = secrets;
        let (rotation, digits) = (parameters.rotation(), parameters.back());
        let [of_input, of_ring] = [input.fingerprint(), ring.fingerprint()];
        let (both, digits) =
            ([rotation.ring(), rotation.input()], (digits.base_log2, digits.count));
        Ok(TreeKeys {
            tables: BlindRotationKey::hollow(context, rotation, [of_input, of_ring])?,
            back: LweSwitchingKey::hollow(context, both, [of_ring, of_input], digits)?,
        })
    }

    /// The public name of the key that they belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.tables.keys()[0]
    }

    /// Bytes as stored.
    pub fn bytes(&self) -> usize {
        self.tables.stored_bytes() + self.back.stored_bytes()
    }
}
