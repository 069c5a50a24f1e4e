//! Plaintexts: polynomials modulo `t` that are not encrypted.

use hippocrene_ring::arith::centred;
use zeroize::Zeroize;

/// A polynomial with coefficients modulo `t`, centred around 0. Its memory is wiped when it is
/// dropped. See [`Encoder`](crate::Encoder) for an example.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext {
    coefficients: Vec<i64>,
    t: u64,
}

impl Plaintext {
    /// Makes a plaintext of coefficients in `[0, t)`, and wipes these.
    pub(crate) fn from_residues(mut residues: Vec<u64>, t: u64) -> Self {
        let coefficients = residues.iter().map(|c| centred(*c, t)).collect();
        residues.zeroize();
        Plaintext { coefficients, t }
    }

    /// Returns the coefficients in `[0, t)`. It uses no division, because on some CPUs the time of
    /// a division depends on the numbers.
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
