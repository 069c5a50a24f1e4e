//! Computation of gates with keys that are laid out in memory.

use hippocrene_ring::Threads;
use hippocrene_rlwe::{Fingerprint, Gate, Noise, RlweError};

use super::{GateKeys, GateParameters, MIN_GATE_DEVIATIONS, linear_form::LinearForm};
use crate::{FhewError, LweCiphertext, PreparedBlindRotationKey, PreparedLweSwitchingKey};

/// Computes gates on encrypted bits.
///
/// It holds no secret. [`GateKeys::prepare`] makes it, and [`GateSecretKey`](crate::GateSecretKey)
/// has an example.
#[derive(Debug)]
pub struct GateEvaluator {
    parameters: GateParameters,
    switching: PreparedLweSwitchingKey,
    rotation: PreparedBlindRotationKey,
    /// The coefficients of the test polynomial, with the value `q/8` for the upper half of the
    /// circle.
    signs: Vec<u64>,
    key: Fingerprint,
}

impl GateKeys {
    /// Lays the keys out in memory, in parallel on `threads`.
    ///
    /// # Errors
    /// When an environment variable selects a kernel that this CPU lacks.
    pub fn prepare(&self, threads: &Threads) -> Result<GateEvaluator, FhewError> {
        let parameters = self.parameters();
        let (degree, minus) = (parameters.rotation().ring().dimension(), parameters.message(false));
        // The constant coefficient of `X^k f` is f_0 for k = 0, and -f_(N - k) for 0 < k <= N.
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
    /// Returns the parameters of the gates.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// Returns the fingerprint of the secret under which bits are encrypted.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Returns the memory of the keys in bytes.
    pub fn bytes(&self) -> usize {
        self.switching.bytes() + self.rotation.bytes()
    }

    /// Returns the number of rotations done so far.
    ///
    /// A gate needs one rotation and a multiplexer two.
    pub fn rotations(&self) -> u64 {
        self.rotation.rotations()
    }

    /// Returns a trivial encryption of `bit`, which anyone can read.
    ///
    /// # Errors
    /// None for parameters made by [`GateParameters`].
    pub fn trivial(&self, bit: bool) -> Result<LweCiphertext, FhewError> {
        LweCiphertext::trivial(
            self.parameters.rotation().ring(),
            self.parameters.message(bit),
            self.key,
        )
    }

    /// Returns the complement of `bit`. It needs no rotation and adds no error.
    pub fn not(&self, bit: &LweCiphertext) -> LweCiphertext {
        let mut out = bit.clone();
        out.neg_assign();
        out
    }

    /// Computes a gate with one rotation.
    ///
    /// Parities and the majority also take three bits.
    ///
    /// # Errors
    /// The same as [`GateEvaluator::gate_all`].
    pub fn gate(&self, gate: Gate, bits: &[&LweCiphertext]) -> Result<LweCiphertext, FhewError> {
        let mut out = self.gate_all(&[(gate, bits)], &Threads::single())?;
        Ok(out.swap_remove(0))
    }

    /// Computes many gates, in parallel on `threads`.
    ///
    /// Several gates share each pass over the key in memory.
    ///
    /// # Errors
    /// - [`FhewError::Operands`] if the number of bits does not fit a gate.
    /// - [`RlweError::KeyMismatch`], [`FhewError::Dimension`] or [`FhewError::Modulus`] if a
    ///   ciphertext is not a bit under this key.
    /// - [`FhewError::Uncertain`] if the errors of the operands leave a gate fewer than
    ///   [`MIN_GATE_DEVIATIONS`]. Results of gates never do; sums of many results can.
    pub fn gate_all(
        &self,
        items: &[(Gate, &[&LweCiphertext])],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let forms = items.iter().map(|(gate, bits)| {
            let form = LinearForm::of(*gate, bits.len())?;
            self.apply_form(gate.name(), form, bits)
        });
        self.signs(&forms.collect::<Result<Vec<_>, _>>()?, threads)
    }

    /// Selects `a` if `condition` is 1 and `b` if it is 0, for each `[condition, a, b]` of `items`.
    ///
    /// A selection adds the results of two rotations. At most one of them is the bit 1.
    ///
    /// # Errors
    /// The same as [`GateEvaluator::gate_all`].
    pub fn select_all(
        &self,
        items: &[[&LweCiphertext; 3]],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let and = LinearForm::of(Gate::And, 2)?;
        let mut forms = Vec::with_capacity(2 * items.len());
        for [condition, a, b] in items {
            forms.push(self.apply_form(SELECT, and, &[condition, a])?);
            forms.push(self.apply_form(SELECT, and, &[&self.not(condition), b])?);
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

    /// Returns the linear form whose sign is the gate.
    fn apply_form(
        &self,
        operation: &'static str,
        form: LinearForm,
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
        let have = self.parameters.deviations_of(form, &errors);
        if have.is_nan() || have < MIN_GATE_DEVIATIONS {
            return Err(FhewError::Uncertain { operation, have, need: MIN_GATE_DEVIATIONS });
        }
        let mut sum = bits[0].clone();
        for bit in &bits[1..] {
            sum.add_assign(bit)?;
        }
        sum.scale_assign(form.weight);
        sum.add_constant_assign(form.eighths * self.parameters.eighth() as i64);
        Ok(sum)
    }

    /// Returns the signs of linear forms as bits.
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
