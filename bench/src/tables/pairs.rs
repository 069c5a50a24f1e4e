//! The parameter sets of GRAFT Table 2, each as a simple chain and grafted.

use hippocrene_rlwe::{
    Modulus, Parameters, Sprout,
    design::{Request, design},
    security,
};

use crate::{Result, paper_sets::parameters_of, scheme::near};

/// A parameter set as a simple chain and grafted, with the moduli at which its operations are
/// timed.
///
/// Some sets exceed our security limits by a few bits. They are only timed.
pub struct Pair {
    /// The name without `sim` or `gra`.
    pub name: &'static str,
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The number of units of the simple chain at the top of the levels for multiplications: all,
    /// or those that a bootstrap leaves (base, StC, Mult).
    pub simple_units: usize,
    /// The number of units that a multiplication uses up.
    pub rescaled: usize,
    /// log2 of the grafted modulus at the top of the levels for multiplications, or `None` for the
    /// top modulus.
    pub grafted_bits: Option<f64>,
    /// log2 of the scale.
    pub scale_bits: f64,
    /// The paper's speed-ups by grafting (Table 4): tensor, key switch, multiply.
    pub speed_ups: [f64; 3],
}

/// The moduli before and after a multiplication.
pub type Ends = (Modulus, Modulus);

impl Pair {
    /// The moduli at which the simple chain is timed.
    pub fn simple_ends(&self) -> Ends {
        let units = |count| Modulus::of_range(0..count);
        (units(self.simple_units), units(self.simple_units - self.rescaled))
    }

    /// The moduli at which a grafted set is timed, with the same usable bits.
    pub fn grafted_ends(&self, parameters: &Parameters) -> Ends {
        let from = self.grafted_bits.map_or(parameters.top(), |bits| near(parameters, bits, 1.0));
        (from, parameters.grafted_modulus(parameters.log2(from) - self.scale_bits))
    }

    /// Returns the simple (`sim`) or grafted (`gra`) parameter set.
    ///
    /// # Errors
    /// When there is no such preset.
    pub fn parameters(&self, prefix: &str) -> Result<Parameters> {
        parameters_of(&self.paper_name(prefix))
    }

    /// Returns the paper's name of the simple (`sim`) or grafted (`gra`) set.
    pub fn paper_name(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.name)
    }

    /// Returns the pair in our words, by the re-design rule for its modulus within 128-bit
    /// security.
    ///
    /// # Errors
    /// When there is none.
    pub fn ours(&self) -> Result<Parameters> {
        let simple = self.parameters("sim")?;
        let limit =
            security::limit(self.log_n, simple.secret()).ok_or("no security limit")?.log2_pq;
        let sprout = Sprout::for_degree(self.log_n).ok_or("no sprout")?;
        // simFHE15s has too small a P for our sprout, so the grafted set's modulus is used.
        let usable = if self.grafted_bits.is_some() {
            let grafted = self.parameters("gra")?;
            grafted.log2(grafted.top()).min(simple.log2(simple.top()))
        } else {
            simple.log2(simple.top())
        };
        let design = design(&Request {
            log_degree: self.log_n,
            secret: simple.secret(),
            usable: usable.round() as u32,
            sprout,
            word: 48,
            log2_pq: Some(limit),
            margin: 0,
        })?;
        Ok(Parameters::new(design.literal()?)?)
    }

    /// Returns the name of the pair in our words for tables.
    pub fn our_name(&self) -> String {
        format!("{}, 48-bit words", self.name)
    }
}

/// All sets of Table 2.
pub const PAIRS: [Pair; 6] = [
    Pair {
        name: "SHE14",
        log_n: 14,
        simple_units: 8,
        rescaled: 1,
        grafted_bits: None,
        scale_bits: 38.0,
        speed_ups: [1.3, 1.3, 1.1],
    },
    Pair {
        name: "SHE15",
        log_n: 15,
        simple_units: 10,
        rescaled: 1,
        grafted_bits: None,
        scale_bits: 41.0,
        speed_ups: [1.3, 1.4, 1.3],
    },
    Pair {
        name: "SHE15s",
        log_n: 15,
        simple_units: 12,
        rescaled: 2,
        grafted_bits: None,
        scale_bits: 90.0,
        speed_ups: [1.2, 1.4, 1.3],
    },
    Pair {
        name: "FHE15s",
        log_n: 15,
        simple_units: 9,
        rescaled: 1,
        grafted_bits: Some(38.0 + 88.0 + 137.0),
        scale_bits: 28.0,
        speed_ups: [1.5, 1.7, 1.8],
    },
    Pair {
        name: "FHE16",
        log_n: 16,
        simple_units: 14,
        rescaled: 1,
        grafted_bits: Some(45.0 + 90.0 + 361.0),
        scale_bits: 35.0,
        speed_ups: [1.6, 1.8, 2.0],
    },
    Pair {
        name: "FHE16s",
        log_n: 16,
        simple_units: 13,
        rescaled: 1,
        grafted_bits: Some(58.0 + 126.0 + 378.0),
        scale_bits: 42.0,
        speed_ups: [1.3, 1.2, 1.3],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_match_the_papers_measurements() {
        for pair in PAIRS {
            let [simple, grafted] = ["sim", "gra"].map(|prefix| pair.parameters(prefix).unwrap());
            assert_eq!(simple.log_degree(), pair.log_n);
            let bits = |p: &Parameters, (from, to): Ends| (p.log2(from), p.log2(from) - p.log2(to));
            let (at, down) = bits(&grafted, pair.grafted_ends(&grafted));
            let (simple_at, simple_down) = bits(&simple, pair.simple_ends());
            // FHE16 has 11 bits more for multiplications when grafted (Table 2). Our words end at
            // 61 bits (SHE15s).
            assert!((at - simple_at).abs() < 13.0, "{}: {at}, {simple_at}", pair.name);
            assert!(
                (down - pair.scale_bits).abs() < 0.6 && (simple_down - pair.scale_bits).abs() < 0.6
            );
        }
    }
}
