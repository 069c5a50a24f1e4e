//! Look-up tables of functions.

use hippocrene_ring::arith::signed_mod;
use hippocrene_rlwe::Noise;

use super::RotationParameters;
use crate::FhewError;

/// The test polynomial of a function `T` on its *domain* `[-D, D)` (PEGASUS Fig. 2, step 1).
///
/// An input of modulus `q'` represents `x` at the scale
/// [`LookupTable::input_scale`]` = q' / (4 D)`, which is the paper's condition `|m| < q / 4`. The
/// `N` entries are `T(2 D k / N)` for `-N/2 <= k < N/2`, at the output scale. A look-up returns
/// entry `k` if the input is within half an entry of it, up to the noise of the index
/// ([`RotationParameters::index_noise`]).
///
/// Beyond the domain the table continues as `T(x) = -T(x - 2 D)`, because `X^N = -1`. A function
/// that satisfies this equation itself can be looked up on the double domain `[-2D, 2D)`, with
/// twice as many entries. `|x| - D` is such a function, which gives the absolute value, the maximum
/// and others. See [`PreparedBlindRotationKey`](crate::PreparedBlindRotationKey) for an example.
#[derive(Debug, Clone)]
pub struct LookupTable {
    modulus: u64,
    domain: f64,
    output_scale: f64,
    /// The coefficients, with `T(k)` for entry `k`: `f_0 = T(0)`, `f_j = T(-j)` for `j <= N/2`, and
    /// `f_j = -T(N - j)` above.
    coefficients: Vec<u64>,
    /// The largest difference between neighbouring entries.
    max_step: f64,
    /// The largest difference between any two entries.
    range: f64,
}

impl LookupTable {
    /// Makes the table of `f` on `[-domain, domain)` with values at `output_scale`.
    ///
    /// # Errors
    /// [`FhewError::Table`] if the domain or the scale is not positive and finite, or a value times
    /// the scale is not below `q/2` in size. The message names the place.
    pub fn new(
        parameters: &RotationParameters,
        domain: f64,
        output_scale: f64,
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, FhewError> {
        if [domain, output_scale].iter().any(|x| !(x.is_finite() && *x > 0.0)) {
            let what = format!(
                "the domain is {domain:?} and the output scale {output_scale:?}, but both must be \
                 positive and finite"
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
                    "the value at {x:?} is {value:?}, but at the scale {output_scale:?} and the \
                     modulus {q} it must be below {:?} in size",
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
        let max_step = steps.fold(0.0, f64::max);
        let (low, high) =
            entries.iter().fold((i64::MAX, i64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
        let range = high as f64 - low as f64;
        Ok(LookupTable { modulus: q, domain, output_scale, coefficients, max_step, range })
    }

    /// Returns the half width `D` of the domain.
    pub fn domain(&self) -> f64 {
        self.domain
    }

    /// Returns the scale of the values.
    pub fn output_scale(&self) -> f64 {
        self.output_scale
    }

    /// Returns the scale that inputs modulo `modulus` must have: `modulus / (4 D)`.
    pub fn input_scale(&self, modulus: u64) -> f64 {
        modulus as f64 / (4.0 * self.domain)
    }

    /// Returns the modulus `q` of the values.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Returns the coefficients of the test polynomial.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    /// Returns the error of a value if the index has the error `index`.
    ///
    /// It is the error of the index times the largest difference of neighbouring entries, but at
    /// most half of the largest difference of any two entries. For linear functions this is the
    /// standard deviation. For others it is an upper bound of the standard deviation.
    pub fn noise(&self, index: Noise) -> Noise {
        let steep = index.scaled(self.max_step.log2()).log2_std();
        Noise::from_log2_std(steep.min((self.range / 2.0).log2()))
    }
}
