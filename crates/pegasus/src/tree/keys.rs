//! The keys of private decision trees. They are not CKKS keys.

use std::sync::Arc;

use hippocrene_fhew::{BlindRotationKey, LweSecretKey, LweSwitchingKey};
use hippocrene_ring::{Seed, Threads};
use hippocrene_rlwe::{Context, Fingerprint};

use super::TreeParameters;
use crate::PegasusError;

/// The domain of the seed of the queries' secret.
const DOMAIN_INPUT: u64 = 0;
/// The domain of the seed of the secret of the ring of rotations.
const DOMAIN_RING: u64 = 1;

/// The client's two secrets, derived from one seed. See [`TreePlan`](super::TreePlan) for an
/// example.
///
/// One belongs to queries and replies, the other to the ring of rotations.
#[derive(Debug)]
pub struct TreeSecrets {
    parameters: TreeParameters,
    seed: Seed,
    pub(super) input: LweSecretKey,
    ring: LweSecretKey,
}

impl TreeSecrets {
    /// Generates secrets from the operating system's entropy.
    ///
    /// # Errors
    /// Returns an error if the operating system has no entropy.
    pub fn generate(parameters: TreeParameters) -> Result<Self, PegasusError> {
        Self::from_seed(parameters, Seed::random().map_err(hippocrene_fhew::FhewError::from)?)
    }

    /// Derives the secrets from `seed`.
    ///
    /// # Errors
    /// None for valid parameters.
    pub fn from_seed(parameters: TreeParameters, seed: Seed) -> Result<Self, PegasusError> {
        let rotation = parameters.rotation();
        let input = LweSecretKey::from_seed(rotation.input(), &seed.derive(DOMAIN_INPUT))?;
        let ring = LweSecretKey::from_seed(rotation.ring(), &seed.derive(DOMAIN_RING))?;
        Ok(TreeSecrets { parameters, seed, input, ring })
    }

    /// The parameters that the secrets are for.
    pub fn parameters(&self) -> TreeParameters {
        self.parameters
    }

    /// The seed that both secrets are derived from, which is **the secret itself**.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The public name of the key that queries and replies belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.input.fingerprint()
    }
}

/// The keys of a server, without any secret. See [`TreePlan`](super::TreePlan) for an example.
#[derive(Debug, Clone)]
pub struct TreeKeys {
    /// The blind rotation key: the LWE secret, encrypted under the ring's secret.
    pub tables: BlindRotationKey,
    /// The switching key from the ring's secret to the LWE secret.
    pub back: LweSwitchingKey,
}

impl TreeKeys {
    /// Makes the keys of `secrets`.
    ///
    /// # Errors
    /// Returns an error if the digits do not form a gadget of the modulus, or if the operating
    /// system has no entropy.
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

    /// Makes keys without samples for dry runs
    /// ([`PreparedTreeKeys::simulate`](super::PreparedTreeKeys::simulate)).
    ///
    /// The operations of a real run are counted in `context`, which must be that of a dry run.
    ///
    /// # Errors
    /// Returns an error if the context is not that of a dry run, if the digits do not form a gadget
    /// of the modulus, or if the operating system has no entropy.
    pub fn dry_run(context: &Arc<Context>, secrets: &TreeSecrets) -> Result<Self, PegasusError> {
        let TreeSecrets { parameters, input, ring, .. } = secrets;
        let (rotation, digits) = (parameters.rotation(), parameters.back());
        let [of_input, of_ring] = [input.fingerprint(), ring.fingerprint()];
        let (both, digits) =
            ([rotation.ring(), rotation.input()], (digits.base_log2, digits.count));
        Ok(TreeKeys {
            tables: BlindRotationKey::dry_run(context, rotation, [of_input, of_ring])?,
            back: LweSwitchingKey::dry_run(context, both, [of_ring, of_input], digits)?,
        })
    }

    /// The public name of the key that they belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.tables.keys()[0]
    }

    /// The size of the stored keys in bytes.
    pub fn bytes(&self) -> usize {
        self.tables.stored_bytes() + self.back.stored_bytes()
    }
}
