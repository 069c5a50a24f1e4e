//! Advice that error messages give when capacity is missing.

use hippocrene_ckks::{CkksError, Short};

use crate::server::{Server, functions::polynomial};
use crate::{Arithmetic, Array, Error, bootstrapping::rule::PRESETS, numbers::capacity_bits};

/// The tolerance, in bits, for stated capacities.
///
/// A bootstrap or a look-up may leave up to this much more than is stated. An operand that has at
/// most this much less than a bootstrap leaves would not gain from a bootstrap.
const STATED_CAPACITY_TOLERANCE_BITS: f64 = 30.0;

/// An operation has failed at one of its later steps if the capacity that is left there is at least
/// this many bits below that of its operands.
const MIN_BITS_OF_A_STEP: f64 = 10.0;

/// Comparisons, and operations made of them, that are evaluated by polynomials.
const COMPARISONS: [&str; 8] =
    ["sign", "positive", "greater", "less", "maximum", "minimum", "relu", "absolute value"];

impl Server {
    /// Adds advice to the error of an operation on these arrays if capacity is missing. Other
    /// errors stay as they are.
    pub(in crate::server) fn advised<F: Arithmetic>(
        &self,
        error: Error,
        operands: &[&Array<F>],
    ) -> Error {
        let Error::Capacity { source: CkksError::Capacity { operation, need, have }, .. } = error
        else {
            return error;
        };
        if need == f64::INFINITY {
            let what = "The result may be larger than any double: scale the values down, or \
                        declare a tighter bound if it is known (with_bound)";
            let source = CkksError::Capacity { operation, need, have };
            return Error::Capacity { source, advice: what.into() };
        }
        let mut ways = Vec::new();
        let least = operands
            .iter()
            .map(|a| F::capacity_bits(&self.session, a))
            .fold(f64::INFINITY, f64::min);
        if least.is_finite() && least > have + MIN_BITS_OF_A_STEP {
            ways.push(format!(
                "The operands have {least:.1} bits, and earlier steps of the operation use the rest"
            ));
        }
        if COMPARISONS.contains(&operation) {
            ways.push("A comparison with a wider gap or a lower precision needs less".to_owned());
        }
        if operation == polynomial::OPERATION {
            ways.push("A polynomial of a lower degree needs less".to_owned());
        }
        if let Some((most, reserve)) = self.most_after_bootstrap().zip(self.bootstrap_reserve()) {
            if need > most || have > most - STATED_CAPACITY_TOLERANCE_BITS {
                ways.push(format!(
                    "Bootstraps with these keys restore at most {most:.0} bits: request less \
                     precision or take a preset with a larger modulus"
                ));
            } else if have < reserve {
                ways.push(format!(
                    "A bootstrap needs {reserve:.0} bits, so bootstrap earlier (Server::bootstrap)"
                ));
            }
        }
        let log2_bound = operands.iter().map(|a| F::log2_bound(a)).fold(0.0, f64::max);
        if log2_bound >= need - have {
            ways.push(format!(
                "The bound of the values uses {log2_bound:.0} bits: declare a tighter one if it is \
                 known (with_bound)"
            ));
        }
        if let Some(pegasus) = &self.pegasus {
            let (bits, most) =
                (pegasus.plan().literal().output_bits, pegasus.plan().max_output_bits().floor());
            let more = match self.bootstrap_reserve().filter(|reserve| bits < *reserve) {
                Some(reserve) if most < reserve => {
                    let larger = "take a preset with a larger modulus";
                    // The stated capacity may be up to `STATED_CAPACITY_TOLERANCE_BITS` bits too
                    // low.
                    let way = match bits < most && reserve < most + STATED_CAPACITY_TOLERANCE_BITS {
                        true => format!(
                            "make table keys with {most:.0} (LookUps), whose results may have \
                             enough (simulate to find out), or {larger}"
                        ),
                        false => larger.to_owned(),
                    };
                    format!(
                        ", these parameters allow at most {most:.0}, and a bootstrap needs \
                         {reserve:.0}: {way}"
                    )
                }
                Some(reserve) => format!(
                    ", and a bootstrap needs {reserve:.0}: make table keys with more capacity \
                     (LookUps)"
                ),
                None => format!(
                    ", so make table keys with more capacity, at most {most:.0} bits (LookUps)"
                ),
            };
            if have < bits + STATED_CAPACITY_TOLERANCE_BITS
                && (self.bootstraps.is_some() || need <= most + STATED_CAPACITY_TOLERANCE_BITS)
            {
                ways.push(format!(
                    "Look-ups with these keys return {bits:.0} bits for values up to 1{more}"
                ));
            }
        }
        let precision = match operands {
            [] => None,
            _ => self.form_of(operands).precision(),
        };
        if let Some(less) = precision
            .filter(|_| !COMPARISONS.contains(&operation))
            .and_then(|bits| self.at_less(bits))
        {
            ways.push(less);
        }
        if self.bootstraps.is_none() {
            ways.push(format!(
                "Take a preset with a larger modulus, or make keys with bootstraps, which operations \
                 then use by themselves (KeyRequest::bootstrapping, for the presets {PRESETS})"
            ));
        }
        let source = CkksError::Capacity { operation, need, have };
        match ways.is_empty() {
            true => source.into(),
            false => Error::Capacity { source, advice: ways.join(". ") },
        }
    }

    /// Advises a lower precision than `precision`, if one would allow more products.
    fn at_less(&self, precision: f64) -> Option<String> {
        let settings = self.session.settings();
        // On a simple chain every product uses one modulus, at any precision.
        if self.bootstraps.is_some() || settings.parameters().top().sprout().is_one() {
            return None;
        }
        let mut most = self.products_in_a_row(precision)?;
        let mut offers = Vec::new();
        for bits in LOWER_PRECISIONS.into_iter().filter(|bits| *bits < precision) {
            let products = self.products_in_a_row(bits).unwrap_or(0);
            if products > most {
                most = products;
                offers.push(format!("{products} at {bits}"));
            }
        }
        let (now, have) = (self.products_in_a_row(precision)?, Short(precision));
        (!offers.is_empty()).then(|| {
            format!(
                "Encrypt with a lower precision (a fresh array of values up to 1 has {now} \
                 products in a row at a precision of {have} bits, {})",
                offers.join(", ")
            )
        })
    }

    /// Returns how many times in a row a fresh array of values up to 1 can be squared at this
    /// precision, or `None` if arrays cannot have this precision.
    fn products_in_a_row(&self, precision: f64) -> Option<usize> {
        let settings = self.session.settings();
        let target = settings.scale_of(precision).ok()?;
        let (mut modulus, mut scale, mut count) = (settings.fresh(), target, 0);
        while capacity_bits(settings.parameters().log2(modulus), scale.times(scale), 1.0) >= 0.0 {
            (modulus, scale) = self.evaluator.after_square(modulus, scale, target);
            count += 1;
        }
        Some(count)
    }
}

/// The lower precisions that an error proposes, in bits after the binary point; chosen.
const LOWER_PRECISIONS: [f64; 4] = [24.0, 20.0, 16.0, 12.0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encryption, Simulation, settings::tests::grafted};

    #[test]
    fn stated_products_in_a_row_are_those_that_are_possible() {
        for (log_degree, units, specials) in [(14, 5, 3), (15, 13, 4)] {
            let settings = grafted(log_degree, &vec![39; units], &vec![48; specials]);
            let simulation = Simulation::new(settings.clone()).unwrap();
            for precision in LOWER_PRECISIONS.into_iter().chain([settings.precision()]) {
                let how = Encryption { interval: None, precision: Some(precision) };
                let mut x = simulation.encrypt((&[1.0][..]).into(), &[1], &how).unwrap();
                let mut count = 0;
                while let Ok(square) = simulation.server().mul(&x, &x) {
                    (x, count) = (square, count + 1);
                }
                let stated = simulation.server().products_in_a_row(precision);
                assert_eq!(stated, Some(count), "2^{log_degree} at {precision}");
            }
        }
    }
}
