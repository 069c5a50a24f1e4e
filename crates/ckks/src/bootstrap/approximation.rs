//! The error that the polynomials of a reduction modulo 1 make in a bootstrap.

use std::f64::consts::TAU;

use super::{BootstrapLiteral, Order};

/// The assumed distribution of `x - round(x)`, in units of `epsilon`, which is its value at the
/// bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spread {
    /// Uniform from minus this number to this number.
    Interval(f64),
    /// The real part of a uniform distribution over the unit disc.
    Disc,
    /// Normal, with this standard deviation.
    Normal(f64),
}

impl Spread {
    /// Returns a sample, given two uniform numbers in `[0, 1)`.
    fn sample(self, u: f64, v: f64) -> f64 {
        match self {
            Spread::Interval(end) => end * (2.0 * u - 1.0),
            Spread::Disc => u.sqrt() * (TAU * v).cos(),
            Spread::Normal(deviation) => deviation * normal(u, v),
        }
    }
}

/// Returns a standard normal sample, given two uniform numbers in `[0, 1)`.
fn normal(u: f64, v: f64) -> f64 {
    (-2.0 * u.max(1e-12).ln()).sqrt() * (TAU * v).cos()
}

impl BootstrapLiteral {
    /// Returns the assumed distribution of the values that are reduced. Real values up to the bound
    /// are uniform, and complex ones are uniform over the disc. Coefficients have the root mean
    /// square that such values give.
    pub(super) fn spread_of_values(&self) -> Spread {
        match self.order {
            Order::SlotsToCoefficientsFirst if self.real => Spread::Interval(1.0),
            Order::SlotsToCoefficientsFirst => Spread::Disc,
            Order::SlotsToCoefficientsLast => {
                Spread::Interval((2.0 * self.slots as f64).sqrt().recip())
            }
        }
    }

    /// Returns the root mean square of the difference between the reduction's polynomials and
    /// [`ModularReduction::exact`](crate::approximation::ModularReduction::exact). `round(x)` is
    /// normal with this standard deviation, and `x - round(x)` has the given distribution.
    pub(super) fn approximation_error(&self, deviation: f64, spread: Spread) -> f64 {
        const SAMPLES: u32 = 4096;
        let reduction = &self.reduction;
        let most = reduction.reach() - 1.0;
        // Additive recurrences by the powers of the root of x^5 = x + 1 give points that fill the
        // four-dimensional cube evenly.
        let uniform = |i: u32, step: f64| (0.5 + f64::from(i) * step).fract();
        let square = |i: u32| {
            let integer = deviation
                * normal(uniform(i, 0.856_674_883_854_503), uniform(i, 0.733_891_856_627_126));
            let [u, v] = [0.628_706_721_037_809, 0.538_597_257_223_61].map(|step| uniform(i, step));
            let offset = reduction.epsilon() * spread.sample(u, v);
            let found = reduction.apply(integer.round().clamp(-most, most) + offset);
            (found - reduction.exact(offset)).powi(2)
        };
        ((0..SAMPLES).map(square).sum::<f64>() / f64::from(SAMPLES)).sqrt()
    }
}
