//! PEGASUS with the keys of a client.

use std::sync::Arc;

use hippocrene_ckks::{Ciphertext, Evaluator};
use hippocrene_fhew::{PreparedBlindRotationKey, PreparedLweSwitchingKey};
use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Fingerprint, RlweError, stop};

use crate::{PegasusError, PegasusKeys, PegasusPlan};

/// Moves encrypted numbers from slots to LWE ciphertexts and back, as planned. It holds no secret.
///
/// ```
/// use std::sync::Arc;
/// use hippocrene_ckks::{Context, Evaluator, Scale, approximation::ModularReduction};
/// use hippocrene_fhew::{LweParameters, RotationGadget, RotationParameters};
/// use hippocrene_pegasus::{
///     Pegasus, PegasusKeys, PegasusLiteral, PegasusPlan, PegasusSecrets, SwitchingDigits,
/// };
/// use hippocrene_ring::{Threads, primes::ntt_primes};
/// use hippocrene_rlwe::{
///     EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
/// };
///
/// // Parameters as small as these are for tests only.
/// let primes = ntt_primes(48, 1 << 9, 21, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 9,
///     units: primes[..17].to_vec(),
///     specials: primes[17..].to_vec(),
///     sprout: Sprout::for_degree(9).ok_or("there is no sprout for this degree")?,
///     gadget_rank: 5,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Arc::new(Context::new(parameters, Threads::single())?);
/// let lwe = |dimension, q| LweParameters::insecure(dimension, q, SecretDistribution::Ternary);
/// let tables = RotationParameters::insecure(
///     lwe(32, ntt_primes(40, 512, 1, &[])?[0])?,
///     lwe(256, ntt_primes(48, 256, 1, &[])?[0])?,
///     RotationGadget::Digits { base_log2: 15, count: 2 },
/// )?;
/// let digits = SwitchingDigits { base_log2: 8, count: 5 };
/// let plan = PegasusPlan::new(
///     Arc::clone(&context),
///     PegasusLiteral {
///         slots: vec![16],
///         transform_bits: 30.0,
///         margin: 0.125,
///         tables,
///         extraction: digits,
///         back: digits,
///         reduction: ModularReduction::new(20, -5.0, -32.0, 3, 9)?,
///         key_bits: 42.0,
///         matrix_bits: 40.0,
///         scale_bits: 46.0,
///         output_scale_bits: 36.0,
///         output_bits: 30.0,
///         bound: 2.0,
///         baby: 8,
///         memory: 1 << 20,
///     },
/// )?;
/// let secret = SecretKey::generate(context.rlwe())?;
/// let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
/// plan.add_keys(&mut keys, &secret)?;
/// let secrets = PegasusSecrets::generate(&plan)?;
/// let table_keys = PegasusKeys::generate(&plan, &secret, &secrets)?;
/// let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.prepare(context.rlwe())?));
/// let pegasus = Pegasus::new(Arc::new(plan), evaluator, &table_keys)?;
///
/// let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 8.0 - 1.0).collect();
/// let modulus = context.parameters().grafted_modulus(300.0);
/// let plaintext =
///     context.encode((&values[..]).into(), values.len(), Scale::power_of_two(40), modulus)?;
/// let mut encrypted = context.encrypt(&secret, &plaintext)?.expand(&context);
/// encrypted.set_bound(1.0);
/// let tables = pegasus.make_tables((-1.0, 1.0), 1, |x| x * x)?;
/// let slots: Vec<usize> = (0..16).collect();
/// let result = pegasus.apply(&encrypted, &tables, &slots)?;
/// let decrypted = context.decode_real(&context.decrypt(&secret, &result)?)?;
/// assert!(decrypted.iter().zip(&values).all(|(y, x)| (y - x * x).abs() < 0.2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Sets up PEGASUS by `plan`, with the keys of `evaluator` ([`PegasusPlan::add_keys`]) and
    /// those between slots and single numbers.
    ///
    /// # Errors
    /// Returns an error if keys or parameters do not belong together, or if a key is missing.
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

    /// The memory in bytes of the keys between slots and single numbers, without the repacking key.
    pub fn key_bytes(&self) -> usize {
        self.extraction.bytes() + self.tables.bytes() + self.back.bytes()
    }

    /// The plan of the transforms, moduli and scales.
    pub fn plan(&self) -> &Arc<PegasusPlan> {
        &self.plan
    }

    /// The evaluator of the CKKS ciphertexts.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The switching key for extraction.
    pub(crate) fn extraction(&self) -> &PreparedLweSwitchingKey {
        &self.extraction
    }

    /// The blind rotation key of the tables.
    pub(crate) fn tables(&self) -> &PreparedBlindRotationKey {
        &self.tables
    }

    /// The number of look-ups so far. Another thread can read it to follow the progress of a long
    /// operation.
    pub fn look_ups_done(&self) -> u64 {
        self.tables.rotations()
    }

    /// The switching key from the ring of tables back to the LWE secret.
    pub(crate) fn back(&self) -> &PreparedLweSwitchingKey {
        &self.back
    }

    /// The repacking key: the LWE secret in the slots of a ciphertext.
    pub(crate) fn repacking(&self) -> &Ciphertext {
        &self.repacking
    }

    /// The fingerprint of the LWE secret that numbers are repacked from.
    pub fn lwe_key(&self) -> Fingerprint {
        self.lwe_key
    }
}
