//! The parameter sets of GRAFT Table 2, each as a simple chain and grafted.

use hippocrene_rlwe::{Modulus, Parameters, SecretDistribution, Sprout};

use crate::scheme::{Sizes, near};

/// A parameter set as a simple chain and grafted, and where its operations are timed.
pub struct Pair {
    /// Its name without `sim` or `gra`.
    pub name: &'static str,
    /// The simple chain: base, StC, Mult, EvalMod, CtS.
    pub simple: Sizes,
    /// The grafted one.
    pub grafted: Sizes,
    /// How many units the simple chain has at the top of the levels that are for multiplications: all, or those that a bootstrap
    /// leaves (base, StC, Mult).
    pub simple_units: usize,
    /// How many units a multiplication uses up.
    pub rescaled: usize,
    /// log2 of the grafted modulus at the top of the levels for multiplications; `None` for the top modulus.
    pub grafted_bits: Option<f64>,
    /// log2 of the scale.
    pub scale_bits: f64,
    /// The paper's speed-ups by grafting (Table 4): tensor, key switch, multiply.
    pub speed_ups: [f64; 3],
}

/// From which modulus to which one is multiplied.
pub type Ends = (Modulus, Modulus);

impl Pair {
    /// Where the simple chain is timed.
    pub fn simple_ends(&self) -> Ends {
        let units = |count| Modulus::of_range(0..count);
        (units(self.simple_units), units(self.simple_units - self.rescaled))
    }

    /// Where a grafted set is timed: at the same usable modulus.
    pub fn grafted_ends(&self, parameters: &Parameters) -> Ends {
        let from = self.grafted_bits.map_or(parameters.top(), |bits| near(parameters, bits, 1.0));
        (from, parameters.grafted_modulus(parameters.log2(from) - self.scale_bits))
    }

    /// The paper's name of the simple (`sim`) or grafted (`gra`) set.
    pub fn paper_name(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.name)
    }
}

const TERNARY: SecretDistribution = SecretDistribution::Ternary;
const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 192 };

fn sizes(
    log_n: u32,
    secret: SecretDistribution,
    sprout: Sprout,
    units: &[(u32, usize)],
    specials: &[(u32, usize)],
    dnum: usize,
) -> Sizes {
    Sizes { log_n, units: units.to_vec(), specials: specials.to_vec(), sprout, dnum, secret }
}

/// Every set of Table 2. The grafted ones have the paper's numbers of factors, gadget ranks and moduli: the sprout is one of the words
/// that the table lists, so that the others are what is left of `log Q`. (The paper's words go up to 62 bits, ours to 61.)
pub fn pairs() -> [Pair; 6] {
    let none = Sprout::default;
    let small = || Sprout::named("sprout-15-16-30").unwrap_or_default();
    let large = || Sprout::named("sprout-19-20-23").unwrap_or_default();
    [
        Pair {
            name: "SHE14",
            simple: sizes(14, TERNARY, none(), &[(40, 1), (38, 7)], &[(60, 2)], 4),
            grafted: sizes(14, TERNARY, small(), &[(49, 5)], &[(60, 2)], 3),
            simple_units: 8,
            rescaled: 1,
            grafted_bits: None,
            scale_bits: 38.0,
            speed_ups: [1.3, 1.3, 1.1],
        },
        Pair {
            name: "SHE15",
            simple: sizes(15, TERNARY, none(), &[(43, 1), (41, 9)], &[(60, 3)], 4),
            grafted: sizes(15, TERNARY, small(), &[(58, 3), (59, 3)], &[(60, 3)], 3),
            simple_units: 10,
            rescaled: 1,
            grafted_bits: None,
            scale_bits: 41.0,
            speed_ups: [1.3, 1.4, 1.3],
        },
        Pair {
            name: "SHE15s",
            simple: sizes(15, SPARSE, none(), &[(52, 1), (53, 1), (45, 10)], &[(60, 2)], 6),
            grafted: sizes(15, SPARSE, small(), &[(61, 8)], &[(61, 2)], 5),
            simple_units: 12,
            rescaled: 2,
            grafted_bits: None,
            scale_bits: 90.0,
            speed_ups: [1.2, 1.4, 1.3],
        },
        Pair {
            name: "FHE15s",
            simple: sizes(
                15,
                SPARSE,
                none(),
                &[(38, 1), (32, 1), (28, 2), (28, 5), (38, 8), (41, 3)],
                &[(42, 2)],
                10,
            ),
            grafted: sizes(15, SPARSE, small(), &[(59, 4), (60, 6)], &[(61, 2)], 6),
            simple_units: 9,
            rescaled: 1,
            grafted_bits: Some(38.0 + 88.0 + 137.0),
            scale_bits: 28.0,
            speed_ups: [1.5, 1.7, 1.8],
        },
        Pair {
            name: "FHE16",
            simple: sizes(
                16,
                TERNARY,
                none(),
                &[(45, 1), (30, 3), (35, 10), (60, 12), (56, 4)],
                &[(61, 5)],
                6,
            ),
            grafted: sizes(16, TERNARY, large(), &[(59, 13), (60, 10)], &[(61, 5)], 5),
            simple_units: 14,
            rescaled: 1,
            grafted_bits: Some(45.0 + 90.0 + 361.0),
            scale_bits: 35.0,
            speed_ups: [1.6, 1.8, 2.0],
        },
        Pair {
            name: "FHE16s",
            simple: sizes(
                16,
                SPARSE,
                none(),
                &[(58, 1), (42, 3), (42, 9), (58, 9), (58, 3)],
                &[(59, 3), (60, 2)],
                5,
            ),
            grafted: sizes(16, SPARSE, large(), &[(56, 1), (57, 20)], &[(59, 3), (60, 2)], 5),
            simple_units: 13,
            rescaled: 1,
            grafted_bits: Some(58.0 + 126.0 + 378.0),
            scale_bits: 42.0,
            speed_ups: [1.3, 1.2, 1.3],
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn the_sets_are_the_papers() {
        let papers = Papers::load().unwrap();
        for pair in pairs() {
            for (prefix, sizes) in [("sim", &pair.simple), ("gra", &pair.grafted)] {
                let name = pair.paper_name(prefix);
                let paper = |what| papers.find(&name, what).unwrap().value;
                let p = sizes.parameters().unwrap();
                let factors = p.unit_count() + sizes.specials.iter().map(|(_, n)| n).sum::<usize>();
                let sprout = usize::from(!sizes.sprout.is_one());
                assert_eq!((factors + sprout) as f64, paper("factors"), "{name}");
                assert_eq!(p.digits(p.top()).count() as f64, paper("gadget rank"), "{name}");
                assert!((p.log2(p.top()) - paper("log Q")).abs() < 7.0, "{name}: {}", p.log2(p.top()));
                assert!((p.log2(p.full()) - paper("log PQ")).abs() < 9.0, "{name}: {}", p.log2(p.full()));
                // No digit is larger than P, so that a key switch adds no more noise than rounding does.
                let widest = p.digits(p.top()).map(|(_, digit)| p.log2(digit)).fold(0.0, f64::max);
                assert!(widest <= p.log2(p.specials()) + 1.0, "{name}: {widest}");
            }
        }
    }

    #[test]
    fn both_ends_are_where_the_paper_times() {
        for pair in pairs() {
            let (simple, grafted) = (pair.simple.parameters().unwrap(), pair.grafted.parameters().unwrap());
            let bits = |p: &Parameters, (from, to): Ends| (p.log2(from), p.log2(from) - p.log2(to));
            let (at, down) = bits(&grafted, pair.grafted_ends(&grafted));
            let (simple_at, simple_down) = bits(&simple, pair.simple_ends());
            // FHE16 has 11 bits more for multiplications when grafted (Table 2); our words end at 61 bits (SHE15s).
            assert!((at - simple_at).abs() < 13.0, "{}: {at}, {simple_at}", pair.name);
            assert!((down - pair.scale_bits).abs() < 0.6 && (simple_down - pair.scale_bits).abs() < 0.6);
        }
    }
}
