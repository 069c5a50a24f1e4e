//! How coefficients become integers.

use hippocrene_rlwe::Noise;

/// How the coefficients of a plaintext are rounded to integers. What it costs is for each slot of
/// the plaintext a sum of `N` errors with signs that depend on the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even. The errors of vectors without much structure are as if they were
    /// independent and uniform in `[-1/2, 1/2]`.
    ///
    /// Where few slots are not zero, coefficients are a sum of few waves, and so are their errors:
    /// these add up in slots. With one slot of `n` that is `v`, all coefficients are below `2 v
    /// scale / n`; where that is below 1/2, nothing is left of it at all.
    Nearest,
    /// Down or up, up as often as the fraction says: `floor(x + u_k)` for coefficient `k`, where
    /// the `u_k` in `(0, 1)` look random and are the same for every plaintext. Whatever the vector,
    /// the errors are as independent as the `u_k` are. A fraction `p` has variance `p (1 - p)`,
    /// which is 1/6 on average and never more than 1/4, where rounding to nearest has 1/12.
    Dithered,
}

impl Rounding {
    /// The variance of the error of a coefficient, on average over its fraction.
    pub(crate) fn variance(self) -> f64 {
        match self {
            Rounding::Nearest => 1.0 / 12.0,
            Rounding::Dithered => 1.0 / 6.0,
        }
    }

    /// The error of a plaintext, as noise.
    pub fn noise(self) -> Noise {
        Noise::from_std(self.variance().sqrt())
    }
}
