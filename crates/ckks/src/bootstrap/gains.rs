//! How the roundings of a reduction modulo 1 affect its result.

use std::f64::consts::TAU;

use crate::{
    CkksError,
    approximation::ModularReduction,
    circuits::{Basis, Polynomial},
};

/// Distances from integers at which the factors of a sine are computed, as shares of the largest.
const OFFSETS: [f64; 4] = [-1.0, -0.5, 0.5, 1.0];

/// The factors by which the rounding errors of a reduction modulo 1 are multiplied in its result `x
/// - round(x)`. They are root mean squares over normally distributed integers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReductionGains {
    /// Factors of the cosine's polynomial by depth, starting with depth 0 for the argument.
    pub(super) cosine: Vec<f64>,
    /// Factors of the doublings of the angle, in the order in which they are computed.
    pub(super) doublings: Vec<f64>,
    /// Factors of the arcsine's polynomial by depth. Empty if there is no arcsine.
    pub(super) arcsine: Vec<f64>,
}

impl ModularReduction {
    /// Returns the polynomial of the cosine for an argument that is already divided by the reach.
    pub(super) fn divided_cosine(&self) -> Result<Polynomial, CkksError> {
        Polynomial::new(
            Basis::Chebyshev { low: -1.0, high: 1.0 },
            self.cosine().coefficients().to_vec(),
        )
    }

    /// Returns the factors for normally distributed `round(x)` with this standard deviation.
    ///
    /// The distance of `x` from an integer is small and neglected. A sine allows larger distances,
    /// and each factor is the largest of several of them.
    pub(super) fn gains(&self, deviation: f64) -> Result<ReductionGains, CkksError> {
        let mut worst = self.gains_beside(0.0, deviation)?;
        let offsets = OFFSETS.iter().filter(|_| self.is_sine());
        for offset in offsets {
            let gains = self.gains_beside(offset * self.epsilon(), deviation)?;
            let all = worst.cosine.iter_mut().zip(gains.cosine);
            let all = all.chain(worst.doublings.iter_mut().zip(gains.doublings));
            all.for_each(|(worst, gain)| *worst = gain.max(*worst));
        }
        Ok(worst)
    }

    /// Returns the factors at this distance from integers.
    fn gains_beside(&self, offset: f64, deviation: f64) -> Result<ReductionGains, CkksError> {
        // Number of sample points per standard deviation, and number of standard deviations that
        // they extend to.
        const POINTS_PER_DEVIATION: f64 = 4.0;
        const RANGE_IN_DEVIATIONS: i32 = 4;
        let cosine = self.divided_cosine()?;
        let mut out = ReductionGains {
            cosine: vec![0.0; cosine.depth() + 1],
            doublings: vec![0.0; self.doublings() as usize],
            arcsine: self.arcsine().map_or(Vec::new(), |p| vec![0.0; p.depth() + 1]),
        };
        let step = (deviation / POINTS_PER_DEVIATION).max(1.0);
        let most = self.reach() - 1.0;
        let count = (f64::from(RANGE_IN_DEVIATIONS) * deviation / step).ceil() as i32;
        let integers: Vec<f64> = (-count..=count)
            .map(|i| (f64::from(i) * step).round())
            .filter(|i| i.abs() <= most)
            .collect();
        let argument = |integer: &f64| (integer + offset - self.shift()) / self.reach();
        let arguments: Vec<f64> = integers.iter().map(argument).collect();
        // The values before each doubling, and then those before the last step.
        let mut values = vec![arguments.iter().map(|x| cosine.evaluate(*x)).collect::<Vec<f64>>()];
        for i in 0..self.doublings() as usize {
            values.push(values[i].iter().map(|y| 2.0 * y * y - 1.0).collect());
        }
        let last = values.pop().unwrap_or_default();
        let of_arcsine = self.arcsine().map(|arcsine| arcsine.gains_at(&last));
        let mut total = 0.0;
        for (place, gains) in cosine.gains_at(&arguments).iter().enumerate() {
            let weight = (-0.5 * (integers[place] / deviation).powi(2)).exp();
            total += weight;
            let mut after = match &of_arcsine {
                Some(of_arcsine) => {
                    let gains = &of_arcsine[place];
                    out.arcsine
                        .iter_mut()
                        .zip(&gains.roundings)
                        .for_each(|(sum, g)| *sum += weight * g);
                    gains.argument
                }
                None => TAU.recip(),
            };
            for (sum, values) in out.doublings.iter_mut().zip(&values).rev() {
                *sum += weight * after * after;
                after *= 4.0 * values[place];
            }
            out.cosine
                .iter_mut()
                .zip(&gains.roundings)
                .for_each(|(sum, g)| *sum += weight * after * after * g);
        }
        let mean = |sum: &mut f64| *sum = (*sum / total).sqrt();
        out.cosine.iter_mut().chain(&mut out.doublings).chain(&mut out.arcsine).for_each(mean);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds an error to the argument of each doubling.
    #[test]
    fn gains_of_doublings_are_derivatives() {
        let r = ModularReduction::new(5, -6.0, -20.0, 2, 3).unwrap();
        let gains = r.gains(0.9).unwrap();
        let after = |integer: f64, off: [f64; 3]| {
            let mut y = r.cosine().evaluate(integer - r.shift()) + off[0];
            for off in &off[1..] {
                y = 2.0 * y * y - 1.0 + off;
            }
            r.arcsine().unwrap().evaluate(y)
        };
        let mean = |place: usize| {
            let (mut sum, mut total) = (0.0, 0.0);
            for integer in (-4..=4).map(f64::from) {
                let weight = (-0.5 * (integer / 0.9f64).powi(2)).exp();
                let mut off = [0.0; 3];
                off[place] = 1e-6;
                sum += weight * ((after(integer, off) - after(integer, [0.0; 3])) / 1e-6).powi(2);
                total += weight;
            }
            (sum / total).sqrt()
        };
        for (gain, place) in gains.doublings.iter().zip([1, 2]) {
            assert!((gain / mean(place) - 1.0).abs() < 1e-3, "{gain} {}", mean(place));
        }
        // The last rounding of the cosine's polynomial is an error of its value.
        assert!(gains.cosine.last().unwrap() / mean(0) > 0.999);
        assert_eq!(gains.arcsine.len(), 3);
    }
}
