//! Tables of functions.

use hippocrene_ring::arith::signed_mod;
use hippocrene_rlwe::Noise;

use super::RotationParameters;
use crate::FhewError;

/// The test polynomial of a function `T` on `[-D, D)`, its *domain* (PEGASUS Fig. 2, step 1).
///
/// An input of modulus `q'` means `x` at the scale [`LookupTable::input_scale`]` = q' / (4 D)`: the
/// paper's condition `|m| < q / 4`. The `N` entries are `T(2 D k / N)` for `-N/2 <= k < N/2`, at
/// the output scale; entry `k` is found where the input is within half an entry of it, up to its
/// noise ([`RotationParameters::index_noise`]).
///
/// Beyond the domain the table goes on as `T(x) = -T(x - 2 D)`, since `X^N = -1`. So functions that
/// satisfy this themselves hold on the double domain `[-2D, 2D)`, with twice the resolution: `|x| -
/// D` does, and hence the absolute value, the maximum and the like.
#[derive(Debug, Clone)]
pub struct LookupTable {
    modulus: u64,
    domain: f64,
    output_scale: f64,
    /// `f_0 = T(0)`, `f_j = T(-j)` up to the middle, `f_j = -T(N - j)` above, of entries.
    coefficients: Vec<u64>,
    /// The largest difference between neighbouring entries, and between any two.
    steepest: f64,
    height: f64,
}

impl LookupTable {
    /// The table of `f` on `[-domain, domain)` with values at `output_scale`.
    ///
    /// # Errors
    /// [`FhewError::Table`] when the domain or the scale is not positive and finite, or a value
    /// times the scale is not below `q/2`; the message says where.
    pub fn new(
        parameters: &RotationParameters,
        domain: f64,
        output_scale: f64,
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, FhewError> {
        if [domain, output_scale].iter().any(|x| !(x.is_finite() && *x > 0.0)) {
            let what = format!(
                "the domain and the output scale are positive, but not {domain:?} and {output_scale:?}"
            );
            return Err(FhewError::Table { what });
        }
        let (degree, q) = (parameters.ring().dimension(), parameters.ring().modulus());
        let half = degree as i64 / 2;
        let mut entries = Vec::with_capacity(degree);
        for k in -half..half {
            let x = 2.0 * domain * k as f64 / degree as f64;
            let value = f(x);
            let scaled = (value * output_scale).round();
            if scaled.is_nan() || scaled.abs() >= q as f64 / 2.0 {
                let what = format!(
                    "the value at {x:?} is {value:?}, but at the scale {output_scale:?} less than {:?} in size is needed for the modulus {q}",
                    q as f64 / 2.0 / output_scale
                );
                return Err(FhewError::Table { what });
            }
            entries.push(scaled as i64);
        }
        let entry = |k: i64| entries[(k + half) as usize];
        let coefficient = |j: i64| if j <= half { entry(-j) } else { -entry(degree as i64 - j) };
        let coefficients = (0..degree as i64).map(|j| signed_mod(coefficient(j), q)).collect();
        let steps = entries.windows(2).map(|w| (w[1] as f64 - w[0] as f64).abs());
        let steepest = steps.fold(0.0, f64::max);
        let (low, high) =
            entries.iter().fold((i64::MAX, i64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
        let height = high as f64 - low as f64;
        Ok(LookupTable { modulus: q, domain, output_scale, coefficients, steepest, height })
    }

    /// The half width `D` of the domain.
    pub fn domain(&self) -> f64 {
        self.domain
    }

    /// What values are multiplied by.
    pub fn output_scale(&self) -> f64 {
        self.output_scale
    }

    /// The scale that inputs modulo `modulus` have to be at: `modulus / (4 D)`.
    pub fn input_scale(&self, modulus: u64) -> f64 {
        modulus as f64 / (4.0 * self.domain)
    }

    /// The modulus `q` of values.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// The test polynomial.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    /// The error of values where the index has this error: that times the steepest step of the
    /// table, no more than half of its height. It is the standard deviation for linear functions,
    /// and a bound of it for others.
    pub fn noise(&self, index: Noise) -> Noise {
        let steep = index.scaled(self.steepest.log2()).log2_std();
        Noise::from_log2_std(steep.min((self.height / 2.0).log2()))
    }
}
