//! Looks up one input in several tables with one rotation.
//!
//! With `v = 1 + X + .. + X^(N - 1)`, `(1 - X) v = 2` in the ring. So a test polynomial `f` whose
//! entries are multiples of an even quantum `t` is `f = (t/2) v w` with the small factor
//! `w = (1 - X) f / t`. One rotation of `(t/2) v` therefore gives the value of every table after a
//! product with its `w`, which needs a few transforms (Carpov, Izabachène and Mollimard, "New
//! techniques for multi-value input homomorphic evaluation and applications", CT-RSA 2019).
//!
//! The error of the rotation is multiplied by `|w|`, the norm of the differences between
//! neighbouring entries in quanta. Entries are rounded to the quantum. The quantum is chosen such
//! that both errors have the same size.

use hippocrene_ring::{
    Threads,
    arith::{centred, signed_mod},
};
use hippocrene_rlwe::Noise;

use super::{LookupTable, PreparedBlindRotationKey, RotationParameters};
use crate::{FhewError, LweCiphertext, RlweCoefficients, samples::rings};

const OPERATION: &str = "put tables together";

/// Tables that [`PreparedBlindRotationKey::look_up_in_tables`] looks up together.
///
/// ```
/// use hippocrene_fhew::{
///     LookupTable, LookupTables, LweParameters, RotationGadget, RotationParameters,
/// };
/// use hippocrene_ring::primes::ntt_primes;
/// use hippocrene_rlwe::SecretDistribution;
///
/// let q = ntt_primes(45, 256, 1, &[])?[0];
/// let parameters = RotationParameters::insecure(
///     LweParameters::insecure(16, 1 << 20, SecretDistribution::Ternary)?,
///     LweParameters::insecure(256, q, SecretDistribution::Ternary)?,
///     RotationGadget::Digits { base_log2: 15, count: 2 },
/// )?;
/// let table = |f: fn(f64) -> f64| LookupTable::new(&parameters, 8.0, 2f64.powi(36), f);
/// let tables = LookupTables::new(&parameters, &[table(f64::sin)?, table(f64::cos)?])?;
/// assert_eq!(tables.count(), 2);
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LookupTables {
    modulus: u64,
    quantum: u64,
    /// The test polynomial that all tables share, `(t/2) v`.
    common: Vec<u64>,
    factors: Vec<Factor>,
}

/// One table and its factor `w`.
#[derive(Debug, Clone)]
struct Factor {
    /// `w` in the evaluation domain.
    values: Vec<u64>,
    log2_norm: f64,
    table: LookupTable,
}

impl LookupTables {
    /// Combines tables, for any number of inputs.
    ///
    /// All tables must have the same domain, because an input has one scale.
    ///
    /// # Errors
    /// - [`FhewError::Table`] if there is no table, or two tables differ in their domains.
    /// - [`FhewError::Modulus`] or [`FhewError::Dimension`] if a table was made for other
    ///   parameters.
    pub fn new(parameters: &RotationParameters, tables: &[LookupTable]) -> Result<Self, FhewError> {
        let ring =
            rings(parameters.ring().dimension(), &[parameters.ring().modulus()])?.swap_remove(0);
        let q = ring.modulus();
        let Some(first) = tables.first() else {
            return Err(FhewError::Table { what: "at least one table is needed".into() });
        };
        if let Some(other) = tables.iter().find(|table| table.domain() != first.domain()) {
            let what = format!(
                "the domains are {} and {}, but one domain is needed for all tables",
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
        // The error of the rotation gives e |step| / t, and rounding gives t / sqrt(12). They are
        // equal at t^2 = sqrt(12) e |step|. The table with the largest |step| decides.
        let max_step = tables
            .iter()
            .map(|table| norm(&differences(table.coefficients(), q, 1)))
            .fold(1.0, f64::max);
        let balanced = 0.5 * (0.5 * 12f64.log2() + parameters.noise().log2_std() + max_step.log2());
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

    /// Returns the quantum: entries are rounded to its multiples.
    pub fn quantum(&self) -> u64 {
        self.quantum
    }

    /// Returns the error of each table's value, without that of the index.
    ///
    /// It combines the error of the rotation times `|w|` with the rounding of the entries.
    pub fn noises(&self, parameters: &RotationParameters) -> Vec<Noise> {
        self.factors.iter().map(|factor| self.noise(factor, parameters.noise())).collect()
    }

    fn noise(&self, factor: &Factor, rotation: Noise) -> Noise {
        rotation.scaled(factor.log2_norm).plus(Noise::from_std(self.quantum as f64 / 12f64.sqrt()))
    }

    /// Returns the number of tables.
    pub fn count(&self) -> usize {
        self.factors.len()
    }
}

/// Returns the coefficients of `(1 - X) g`, where `g` has the entries divided by the quantum and
/// rounded.
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
    /// Looks up the input in all `tables` with one rotation, and returns the values in their order.
    ///
    /// The error of the rotation is multiplied by `|w|`, and entries are rounded to a quantum
    /// ([`LookupTables`]). The error of the index is the same as in
    /// [`PreparedBlindRotationKey::look_up`].
    ///
    /// # Errors
    /// The same as [`PreparedBlindRotationKey::look_up`].
    pub fn look_up_in_tables(
        &self,
        ciphertext: &LweCiphertext,
        tables: &LookupTables,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        Ok(self.look_up_several_all(&[ciphertext], tables, &Threads::single())?.swap_remove(0))
    }

    /// Looks up many inputs in all `tables`.
    ///
    /// Several inputs share each pass over the key in memory. See
    /// [`PreparedBlindRotationKey::look_up_in_tables`].
    ///
    /// # Errors
    /// The same as [`PreparedBlindRotationKey::look_up`].
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
            *values = self.values_of_tables(&rotated[k], ciphertexts[k], tables);
        });
        all.into_iter().collect()
    }

    /// Returns the values of all tables from one rotated ciphertext.
    fn values_of_tables(
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
                self.ring_ciphertext(c0, c1, noise).extract(0)
            })
            .collect()
    }
}
