//! The error of the polynomials of a reduction modulo 1.

use std::f64::consts::TAU;

use super::{BootstrapLiteral, Order};

/// How `x - round(x)` is spread, in the unit of `epsilon`, which values up to the bound reach.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spread {
    /// Evenly from minus this to this.
    Interval(f64),
    /// As a part of what is spread evenly over the disc.
    Disc,
    /// Normally, with this standard deviation.
    Normal(f64),
}

impl Spread {
    /// One such number from two that are spread evenly over `[0, 1)`.
    fn sample(self, u: f64, v: f64) -> f64 {
        match self {
            Spread::Interval(end) => end * (2.0 * u - 1.0),
            Spread::Disc => u.sqrt() * (TAU * v).cos(),
            Spread::Normal(deviation) => deviation * normal(u, v),
        }
    }
}

/// A standard normal number from two that are spread evenly over `[0, 1)`.
fn normal(u: f64, v: f64) -> f64 {
    (-2.0 * u.max(1e-12).ln()).sqrt() * (TAU * v).cos()
}

impl BootstrapLiteral {
    /// The spread of what is reduced. Real values up to the bound are spread evenly, complex ones
    /// over the disc. Coefficients have the root mean square of those of such values.
    pub(super) fn spread_of_values(&self) -> Spread {
        match self.order {
            Order::SlotsToCoefficientsFirst if self.real => Spread::Interval(1.0),
            Order::SlotsToCoefficientsFirst => Spread::Disc,
            Order::SlotsToCoefficientsLast => {
                Spread::Interval((2.0 * self.slots as f64).sqrt().recip())
            }
        }
    }

    /// The root mean square of `f(x) - (x - round(x))`, where `f` is the reduction's polynomials.
    /// `round(x)` is normal with this standard deviation, and `x - round(x)` has this spread.
    pub(super) fn approximation_error(&self, deviation: f64, spread: Spread) -> f64 {
        const SAMPLES: u32 = 4096;
        let reduction = &self.reduction;
        let most = reduction.reach() - 1.0;
        // Additive recurrences by the powers of the root of x^5 = x + 1 are evenly spread in the
        // cube of four dimensions.
        let uniform = |i: u32, step: f64| (0.5 + f64::from(i) * step).fract();
        let square = |i: u32| {
            let integer = deviation
                * normal(uniform(i, 0.856_674_883_854_503), uniform(i, 0.733_891_856_627_126));
            let [u, v] = [0.628_706_721_037_809, 0.538_597_257_223_61].map(|step| uniform(i, step));
            let offset = reduction.epsilon() * spread.sample(u, v);
            (reduction.apply(integer.round().clamp(-most, most) + offset) - offset).powi(2)
        };
        ((0..SAMPLES).map(square).sum::<f64>() / f64::from(SAMPLES)).sqrt()
    }
}
