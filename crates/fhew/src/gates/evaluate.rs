//! Gates with keys in memory.

use hippocrene_ring::Threads;
use hippocrene_rlwe::{Fingerprint, Gate, Noise, RlweError};

use super::{CERTAIN_DEVIATIONS, GateKeys, GateParameters, reading::Reading};
use crate::{FhewError, LweCiphertext, PreparedBlindRotationKey, PreparedLweSwitchingKey};

/// Computes gates. It holds no secret.
#[derive(Debug)]
pub struct GateEvaluator {
    parameters: GateParameters,
    switching: PreparedLweSwitchingKey,
    rotation: PreparedBlindRotationKey,
    /// The test polynomial: `q/8` for the upper half of the circle.
    signs: Vec<u64>,
    key: Fingerprint,
}

impl GateKeys {
    /// Lays the keys out in memory, on so many threads.
    ///
    /// # Errors
    /// When the environment asks for a kernel that this CPU lacks.
    pub fn prepare(&self, threads: &Threads) -> Result<GateEvaluator, FhewError> {
        let parameters = self.parameters();
        let (degree, minus) = (parameters.rotation().ring().dimension(), parameters.message(false));
        // X^k f has the constant coefficient f_0 at k = 0 and -f_(N - k) up to N.
        let mut signs = vec![minus; degree];
        signs[0] = parameters.message(true);
        Ok(GateEvaluator {
            parameters,
            switching: self.switching().prepare()?,
            rotation: self.rotation().prepare(threads)?,
            signs,
            key: self.rotation().keys()[1],
        })
    }
}

impl GateEvaluator {
    /// The parameters.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// The public name of the secret that bits are under.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Bytes of memory that the keys take.
    pub fn bytes(&self) -> usize {
        self.switching.bytes() + self.rotation.bytes()
    }

    /// How many rotations were done so far: one for a gate, two for a multiplexer.
    pub fn rotations(&self) -> u64 {
        self.rotation.rotations()
    }

    /// A bit that everybody can read.
    ///
    /// # Errors
    /// None.
    pub fn trivial(&self, bit: bool) -> Result<LweCiphertext, FhewError> {
        LweCiphertext::trivial(
            self.parameters.rotation().ring(),
            self.parameters.message(bit),
            self.key,
        )
    }

    /// The other bit, for nothing.
    pub fn not(&self, bit: &LweCiphertext) -> LweCiphertext {
        let mut out = bit.clone();
        out.neg_assign();
        out
    }

    /// A gate of two bits, or of three (parities and majority): one rotation.
    ///
    /// # Errors
    /// As [`GateEvaluator::gate_all`].
    pub fn gate(&self, gate: Gate, bits: &[&LweCiphertext]) -> Result<LweCiphertext, FhewError> {
        let mut out = self.gate_all(&[(gate, bits)], &Threads::single())?;
        Ok(out.swap_remove(0))
    }

    /// Many gates, on so many threads: the key is read from memory once for several of them.
    ///
    /// # Errors
    /// [`FhewError::Operands`] for a number of bits that a gate does not take;
    /// [`RlweError::KeyMismatch`], [`FhewError::Dimension`] or [`FhewError::Modulus`] for
    /// ciphertexts that are no bits under this key; [`FhewError::Uncertain`] where their errors
    /// would leave a gate less sure than [`CERTAIN_DEVIATIONS`]: sums of results, which no gate
    /// gives.
    pub fn gate_all(
        &self,
        items: &[(Gate, &[&LweCiphertext])],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let forms = items.iter().map(|(gate, bits)| {
            let reading = Reading::of(*gate, bits.len())?;
            self.form(gate.name(), reading, bits)
        });
        self.signs(&forms.collect::<Result<Vec<_>, _>>()?, threads)
    }

    /// The bit `a` where `condition` is 1, and `b` where it is 0: two rotations, of which at most
    /// one gives a 1.
    ///
    /// # Errors
    /// As [`GateEvaluator::gate_all`].
    pub fn select_all(
        &self,
        items: &[[&LweCiphertext; 3]],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let and = Reading::of(Gate::And, 2)?;
        let mut forms = Vec::with_capacity(2 * items.len());
        for [condition, a, b] in items {
            forms.push(self.form(SELECT, and, &[condition, a])?);
            forms.push(self.form(SELECT, and, &[&self.not(condition), b])?);
        }
        let signs = self.signs(&forms, threads)?;
        let eighth = self.parameters.eighth() as i64;
        let sum = |both: &[LweCiphertext]| {
            let mut sum = both[0].clone();
            sum.add_assign(&both[1])?;
            sum.add_constant_assign(eighth);
            Ok(sum)
        };
        signs.chunks_exact(2).map(sum).collect()
    }

    /// The linear form of a gate.
    fn form(
        &self,
        operation: &'static str,
        reading: Reading,
        bits: &[&LweCiphertext],
    ) -> Result<LweCiphertext, FhewError> {
        let ring = self.parameters.rotation().ring();
        for bit in bits {
            if bit.key() != self.key {
                let (have, need) = (bit.key(), self.key);
                return Err(RlweError::KeyMismatch { operation, have, need }.into());
            }
            let (have, need) = (bit.a().len(), ring.dimension());
            if have != need {
                return Err(FhewError::Dimension { operation, have, need });
            }
            let (have, need) = (bit.parameters().modulus(), ring.modulus());
            if have != need {
                return Err(FhewError::Modulus { operation, have, need });
            }
        }
        let errors: Vec<Noise> = bits.iter().map(|bit| bit.noise()).collect();
        let have = self.parameters.deviations_of(reading, &errors);
        if have.is_nan() || have < CERTAIN_DEVIATIONS {
            return Err(FhewError::Uncertain { operation, have, need: CERTAIN_DEVIATIONS });
        }
        let mut sum = bits[0].clone();
        for bit in &bits[1..] {
            sum.add_assign(bit)?;
        }
        sum.scale_assign(reading.weight);
        sum.add_constant_assign(reading.eighths * self.parameters.eighth() as i64);
        Ok(sum)
    }

    /// The signs of linear forms.
    fn signs(
        &self,
        forms: &[LweCiphertext],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let modulus = self.parameters.rotation().input().modulus();
        let switched =
            threads.map(forms.len(), |i| self.switching.switch(&forms[i].switch_modulus(modulus)?));
        let switched = switched.into_iter().collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<_> = switched.iter().map(|input| (input, self.signs.as_slice())).collect();
        self.rotation
            .rotate_all(&inputs, threads)?
            .iter()
            .map(|rotated| rotated.extract(0))
            .collect()
    }
}

const SELECT: &str = "select";
