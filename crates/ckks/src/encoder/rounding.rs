//! Rounding of coefficients to integers.

use hippocrene_rlwe::Noise;

/// How the coefficients of a plaintext are rounded to integers. The resulting error in each slot is
/// a sum of `N` errors with signs that depend on the slot.
///
/// # Examples
/// ```
/// use hippocrene_ckks::encoder::Rounding;
///
/// // A variance of 1/12 for each coefficient, or 1/6 with a dither.
/// let ratio = Rounding::Dithered.noise().log2_std() - Rounding::Nearest.noise().log2_std();
/// assert!((ratio - 0.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even. For vectors without much structure, the errors behave as if they
    /// were independent and uniform in `[-1/2, 1/2]`.
    ///
    /// If few slots are not zero, coefficients are a sum of few waves, and so are their errors,
    /// which then add up in slots. If one of `n` slots is `v` and the others are 0, all
    /// coefficients are below `2 v scale / n`. If that is below 1/2, the value is lost completely.
    Nearest,
    /// Down or up with a probability given by the fraction: `floor(x + u_k)` for coefficient `k`,
    /// where the `u_k` in `(0, 1)` look random and are the same for every plaintext. The errors are
    /// as independent as the `u_k` for every vector. A fraction `p` has variance `p (1 - p)`, which
    /// is 1/6 on average and at most 1/4. Rounding to nearest has 1/12.
    Dithered,
}

impl Rounding {
    /// The variance of the error of a coefficient, averaged over its fraction.
    pub(crate) fn variance(self) -> f64 {
        match self {
            Rounding::Nearest => 1.0 / 12.0,
            Rounding::Dithered => 1.0 / 6.0,
        }
    }

    /// The error of a plaintext as noise.
    pub fn noise(self) -> Noise {
        Noise::from_std(self.variance().sqrt())
    }
}
