//! Plaintexts.

use hippocrene_ring::arith::centred;
use zeroize::Zeroize;

/// A polynomial with coefficients modulo `t`, centred. It is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext {
    coefficients: Vec<i64>,
    t: u64,
}

impl Plaintext {
    /// From coefficients in `[0, t)`, which are wiped.
    pub(crate) fn from_residues(mut residues: Vec<u64>, t: u64) -> Self {
        let coefficients = residues.iter().map(|c| centred(*c, t)).collect();
        residues.zeroize();
        Plaintext { coefficients, t }
    }

    /// The coefficients, which are centred, in `[0, t)`: without a division, whose time depends on
    /// the number on some CPUs.
    pub(crate) fn residues(&self) -> Vec<u64> {
        let t = self.t as i64;
        self.coefficients.iter().map(|c| (c + (t & (c >> 63))) as u64).collect()
    }

    /// The coefficients, in `[-t/2, t/2]`.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }
}

/// Leaves out the coefficients, which are secret.
impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext {{ t: {}, .. }}", self.t)
    }
}

/// Wipes the coefficients, which may be secret values of a client.
impl Drop for Plaintext {
    fn drop(&mut self) {
        self.coefficients.zeroize();
    }
}
