//! Parameter sets by name.

use hippocrene_ckks::Scale;
use hippocrene_ring::{RingError, primes};
use hippocrene_rlwe::{MAX_FACTORS, Parameters, ParametersLiteral, SecretDistribution, Sprout};

use crate::{Error, Settings};

/// A named parameter set of 128-bit security: a ring degree with a modulus near the limit, a uniform ternary secret.
///
/// Units are a base prime and `depth` primes close to the scale `2^40`; each multiplication uses up one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name: `n` and log2 of the ring degree.
    pub name: &'static str,
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// Bits of the base prime, which is never divided away.
    pub base_bits: u32,
    /// log2 of the scale.
    pub scale_bits: u32,
    /// How many multiplications in a row a fresh ciphertext allows.
    pub depth: usize,
    /// Bits of each special prime.
    pub special_bits: u32,
    /// How many special primes there are.
    pub specials: usize,
    /// The gadget rank.
    pub gadget_rank: usize,
}

/// The presets, by ring degree.
pub const PRESETS: [Preset; 4] = [
    Preset {
        name: "n13",
        log_degree: 13,
        base_bits: 46,
        scale_bits: 40,
        depth: 3,
        special_bits: 47,
        specials: 1,
        gadget_rank: 4,
    },
    Preset {
        name: "n14",
        log_degree: 14,
        base_bits: 48,
        scale_bits: 40,
        depth: 7,
        special_bits: 48,
        specials: 2,
        gadget_rank: 4,
    },
    Preset {
        name: "n15",
        log_degree: 15,
        base_bits: 48,
        scale_bits: 40,
        depth: 16,
        special_bits: 44,
        specials: 4,
        gadget_rank: 5,
    },
    Preset {
        name: "n16",
        log_degree: 16,
        base_bits: 48,
        scale_bits: 40,
        depth: 35,
        special_bits: 48,
        specials: 6,
        gadget_rank: 6,
    },
];

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there is none; it names those there are.
    pub fn by_name(name: &str) -> Result<Preset, Error> {
        PRESETS.into_iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
            Error::Parameters(format!("there is no preset {name:?}; there are {}", names.join(", ")))
        })
    }

    /// The parameter set with its primes.
    ///
    /// # Errors
    /// Never for the presets of this crate, which a test checks; [`Error::Parameters`] or [`Error::Security`] for others that make no sense
    /// or are not secure.
    pub fn settings(&self) -> Result<Settings, Error> {
        let bits = [self.base_bits, self.scale_bits, self.special_bits];
        let counts = [self.depth, self.specials];
        if !(4..=17).contains(&self.log_degree)
            || bits.iter().any(|b| !(2..=60).contains(b))
            || counts.iter().any(|c| *c > MAX_FACTORS)
        {
            return Err(Error::Parameters(format!(
                "{self:?}: ring degrees from 2^4 to 2^17, primes of 2 to 60 bits and up to {MAX_FACTORS} of them are possible"
            )));
        }
        let degree = 1usize << self.log_degree;
        let specials = primes::ntt_primes(self.special_bits, degree, self.specials, &[])?;
        let base = primes::ntt_primes(self.base_bits, degree, 1, &specials)?[0];
        let scaling = scaling_primes(self.scale_bits, degree, self.depth, base, &specials)?;
        let units = std::iter::once(base).chain(scaling).collect();
        let literal = ParametersLiteral {
            log_degree: self.log_degree,
            units,
            specials,
            sprout: Sprout::default(),
            gadget_rank: self.gadget_rank,
            secret: SecretDistribution::Ternary,
        };
        Settings::new(Parameters::new(literal)?, Scale::power_of_two(self.scale_bits as i32))
    }
}

/// Primes `q_1 .. q_depth` near `2^bits`, such that the scales `s_{l-1} = s_l^2 / q_l` that repeated multiplication runs through,
/// from `s_depth = 2^bits`, stay close to `2^bits` (KPP22): each is the free prime nearest to `s_l^2 / 2^bits`.
fn scaling_primes(
    bits: u32,
    degree: usize,
    depth: usize,
    base: u64,
    specials: &[u64],
) -> Result<Vec<u64>, Error> {
    let target = f64::from(bits).exp2();
    // Twice as many candidates on each side as are needed: the nearest is always among them.
    let mut free: Vec<u64> = primes::ntt_primes_below(bits, degree)
        .take(2 * depth + 2)
        .chain(primes::ntt_primes_above(bits, degree).take(2 * depth + 2))
        .filter(|q| *q != base && !specials.contains(q))
        .collect();
    let mut scale = target;
    let mut chosen = Vec::with_capacity(depth);
    for _ in 0..depth {
        let wish = scale * scale / target;
        let distance = |q: u64| (q as f64 - wish).abs();
        let nearest = (0..free.len()).min_by(|&a, &b| distance(free[a]).total_cmp(&distance(free[b])));
        let Some(nearest) = nearest else {
            return Err(RingError::TooFewPrimes { bits, degree, wanted: depth, found: chosen.len() }.into());
        };
        let q = free.swap_remove(nearest);
        scale = scale * scale / q as f64;
        chosen.push(q);
    }
    chosen.reverse();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use hippocrene_rlwe::Modulus;

    use super::*;

    #[test]
    fn presets_are_secure_and_their_scales_steady() {
        for preset in PRESETS {
            let settings = preset.settings().unwrap();
            let parameters = settings.parameters();
            assert!(parameters.security().is_some());
            assert_eq!(parameters.unit_count(), preset.depth + 1);
            let top = parameters.top();
            for l in 1..=top.limb_count() {
                let scale = settings.scale_at(Modulus::of_range(0..l));
                assert!(
                    (scale.log2() - f64::from(preset.scale_bits)).abs() < 1e-3,
                    "{} {l} {scale}",
                    preset.name
                );
            }
            // The digits are not larger than the special modulus.
            let special = parameters.log2(parameters.specials());
            assert!(
                parameters.digits(top).all(|(_, d)| parameters.log2(d) < special + 1.0),
                "{}",
                preset.name
            );
            // The limit is made use of.
            let limit = f64::from(parameters.security().unwrap().log2_pq);
            assert!(parameters.log2(parameters.full()) > limit - 45.0, "{}", preset.name);
        }
        for wrong in [
            Preset { log_degree: 64, ..PRESETS[0] },
            Preset { scale_bits: 0, ..PRESETS[0] },
            Preset { base_bits: 64, ..PRESETS[0] },
            Preset { depth: usize::MAX, ..PRESETS[0] },
            Preset { depth: 4, ..PRESETS[0] },
            Preset { gadget_rank: 0, ..PRESETS[0] },
        ] {
            assert!(matches!(wrong.settings(), Err(Error::Parameters(_) | Error::Security(_))), "{wrong:?}");
        }
        assert!(Preset::by_name("n99").unwrap_err().to_string().contains("n13, n14, n15, n16"));
    }
}
