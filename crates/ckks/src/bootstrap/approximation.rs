//! What the polynomials of a reduction modulo 1 are off by.

use std::f64::consts::TAU;

use super::{BootstrapPlan, Order};

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

impl BootstrapPlan {
    /// Real values up to the bound are spread evenly, complex ones over the disc; coefficients have
    /// the root mean square of those of such values.
    pub(super) fn spread_of_values(&self) -> Spread {
        match self.literal.order {
            Order::SlotsToCoefficientsFirst if self.literal.real => Spread::Interval(1.0),
            Order::SlotsToCoefficientsFirst => Spread::Disc,
            Order::SlotsToCoefficientsLast => {
                Spread::Interval((2.0 * self.literal.slots as f64).sqrt().recip())
            }
        }
    }

    /// The root mean square of `f(x) - (x - round(x))`, `f` the reduction's polynomials, where
    /// `round(x)` is normal with the deviation that the secret makes.
    pub(super) fn approximation_error(&self, spread: Spread) -> f64 {
        const SAMPLES: u32 = 4096;
        let reduction = &self.literal.reduction;
        let (most, deviation) = (reduction.reach() - 1.0, self.deviation());
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
