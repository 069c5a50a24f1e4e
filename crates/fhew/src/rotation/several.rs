//! Several tables at one input, with one rotation.
//!
//! With `v = 1 + X + .. + X^(N - 1)`, `(1 - X) v = 2` in the ring: a test polynomial of entries
//! that are multiples of an even quantum `t` is `f = (t/2) v w` with the small `w = (1 - X) f / t`.
//! So one rotation of `(t/2) v` gives every table by a product with its `w` (Carpov, Izabachène and
//! Mollimard, "New techniques for multi-value input homomorphic evaluation and applications",
//! CT-RSA 2019), at a few transforms each. The error of the rotation comes out times `|w|`, the
//! norm of the table's steps over the quantum, and entries are rounded to the quantum: it is chosen
//! such that the two are of one size.

use hippocrene_ring::{
    Threads,
    arith::{centred, signed_mod},
};
use hippocrene_rlwe::Noise;

use super::{LookupTable, PreparedBlindRotationKey, RotationParameters};
use crate::{FhewError, LweCiphertext, RlweCoefficients, samples::rings};

const OPERATION: &str = "put tables together";

/// Tables that are looked up together by [`PreparedBlindRotationKey::look_up_several`].
#[derive(Debug, Clone)]
pub struct LookupTables {
    modulus: u64,
    quantum: u64,
    /// `(t/2) v`.
    common: Vec<u64>,
    factors: Vec<Factor>,
}

/// One table.
#[derive(Debug, Clone)]
struct Factor {
    /// `w` in the evaluation domain.
    values: Vec<u64>,
    log2_norm: f64,
    table: LookupTable,
}

impl LookupTables {
    /// These tables together, for any number of inputs. Inputs are at one scale: the tables are on
    /// one domain.
    ///
    /// # Errors
    /// [`FhewError::Table`] when there is none, or two differ in their domains;
    /// [`FhewError::Modulus`] or [`FhewError::Dimension`] when one was made for other parameters.
    pub fn new(parameters: &RotationParameters, tables: &[LookupTable]) -> Result<Self, FhewError> {
        let ring =
            rings(parameters.ring().dimension(), &[parameters.ring().modulus()])?.swap_remove(0);
        let q = ring.modulus();
        let Some(first) = tables.first() else {
            return Err(FhewError::Table { what: "at least one is needed".into() });
        };
        if let Some(other) = tables.iter().find(|table| table.domain() != first.domain()) {
            let what = format!(
                "one domain is needed, but there are {} and {}",
                first.domain(),
                other.domain()
            );
            return Err(FhewError::Table { what });
        }
        if let Some(other) = tables.iter().find(|table| table.modulus() != q) {
            return Err(FhewError::Modulus {
                operation: OPERATION,
                have: other.modulus(),
                need: q,
            });
        }
        if let Some(other) = tables.iter().find(|table| table.coefficients().len() != ring.degree())
        {
            let (have, need) = (other.coefficients().len(), ring.degree());
            return Err(FhewError::Dimension { operation: OPERATION, have, need });
        }
        // The squares of e |step| / t and t / sqrt(12) are of one size at t^2 = sqrt(12) e |step|;
        // the steepest table decides.
        let steps = tables
            .iter()
            .map(|table| norm(&differences(table.coefficients(), q, 1)))
            .fold(1.0, f64::max);
        let balanced = 0.5 * (0.5 * 12f64.log2() + parameters.noise().log2_std() + steps.log2());
        let quantum = 2 * ((balanced.exp2() / 2.0).round() as u64).max(1);
        let factors = tables
            .iter()
            .map(|table| {
                let small = differences(table.coefficients(), q, quantum);
                let mut values: Vec<u64> = small.iter().map(|x| signed_mod(*x, q)).collect();
                ring.forward(&mut values);
                Factor { values, log2_norm: norm(&small).log2(), table: table.clone() }
            })
            .collect();
        Ok(LookupTables { modulus: q, quantum, common: vec![quantum / 2; ring.degree()], factors })
    }

    /// What entries are rounded to multiples of.
    pub fn quantum(&self) -> u64 {
        self.quantum
    }

    /// The error of the value of each table, but for that of the index: that of the rotation times
    /// `|w|`, and the rounding of the entries.
    pub fn noises(&self, parameters: &RotationParameters) -> Vec<Noise> {
        self.factors.iter().map(|factor| self.noise(factor, parameters.noise())).collect()
    }

    fn noise(&self, factor: &Factor, rotation: Noise) -> Noise {
        rotation.scaled(factor.log2_norm).plus(Noise::from_std(self.quantum as f64 / 12f64.sqrt()))
    }

    /// How many tables there are.
    pub fn count(&self) -> usize {
        self.factors.len()
    }
}

/// The coefficients of `(1 - X) g` for the polynomial `g` of the entries over the quantum, rounded.
fn differences(coefficients: &[u64], q: u64, quantum: u64) -> Vec<i64> {
    let rounded = |x: u64| {
        let (x, half) = (centred(x, q), quantum as i64 / 2);
        (x + half).div_euclid(quantum as i64)
    };
    // X^N = -1.
    let mut before = coefficients.last().map_or(0, |x| -rounded(*x));
    coefficients
        .iter()
        .map(|x| {
            let now = rounded(*x);
            now - std::mem::replace(&mut before, now)
        })
        .collect()
}

fn norm(values: &[i64]) -> f64 {
    values.iter().map(|x| (*x as f64).powi(2)).sum::<f64>().sqrt()
}

impl PreparedBlindRotationKey {
    /// The values of all `tables` at the input, in their order, by one rotation. The error of the
    /// rotation counts `|w|` times, and entries are rounded to a quantum ([`LookupTables`]); that
    /// of the index is as in [`PreparedBlindRotationKey::look_up`].
    ///
    /// # Errors
    /// As [`PreparedBlindRotationKey::look_up`].
    pub fn look_up_several(
        &self,
        ciphertext: &LweCiphertext,
        tables: &LookupTables,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        Ok(self.look_up_several_all(&[ciphertext], tables, &Threads::single())?.swap_remove(0))
    }

    /// [`PreparedBlindRotationKey::look_up_several`] of many inputs: the key is read from memory
    /// once for several of them.
    ///
    /// # Errors
    /// As there.
    pub fn look_up_several_all(
        &self,
        ciphertexts: &[&LweCiphertext],
        tables: &LookupTables,
        threads: &Threads,
    ) -> Result<Vec<Vec<LweCiphertext>>, FhewError> {
        let ring = self.ring();
        if tables.modulus != ring.modulus() {
            let (have, need) = (tables.modulus, ring.modulus());
            return Err(FhewError::Modulus { operation: "look up", have, need });
        }
        let inputs: Vec<(&LweCiphertext, &[u64])> =
            ciphertexts.iter().map(|ciphertext| (*ciphertext, &tables.common[..])).collect();
        let rotated = self.rotate_all(&inputs, threads)?;
        let mut all: Vec<Result<Vec<LweCiphertext>, FhewError>> =
            vec![Ok(Vec::new()); rotated.len()];
        threads.for_each_mut(&mut all, |k, values| {
            *values = self.factors_of(&rotated[k], ciphertexts[k], tables);
        });
        all.into_iter().collect()
    }

    /// What one rotation gives of every table.
    fn factors_of(
        &self,
        rotated: &RlweCoefficients,
        ciphertext: &LweCiphertext,
        tables: &LookupTables,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let ring = self.ring();
        let noise = rotated.noise();
        let mut parts = rotated.parts().map(<[u64]>::to_vec);
        parts.iter_mut().for_each(|part| ring.forward(part));
        let index =
            self.parameters().index_noise(ciphertext.noise(), ciphertext.parameters().modulus());
        tables
            .factors
            .iter()
            .map(|factor| {
                let [c0, c1] = [&parts[0], &parts[1]].map(|part| {
                    let mut product = part.clone();
                    ring.mul_assign(&mut product, &factor.values);
                    ring.inverse(&mut product);
                    product
                });
                let noise = tables.noise(factor, noise).plus(factor.table.noise(index));
                self.of_parts(c0, c1, noise).extract(0)
            })
            .collect()
    }
}
