//! Parameter sets that meet a request, by the re-design rule of GRAFT 4.1 and G.
//!
//! In a simple chain, the scale fixes the number of primes. With a sprout, units and specials are
//! about as large as a word allows, and only their numbers are left to choose. The rule, which the
//! paper applies in its Tables 2 and 12, has two steps:
//!
//! 1. Use the fewest units that hold the requested modulus.
//! 2. Divide `log2(PQ)` between `Q` and `P` such that a key switch needs the fewest transforms. It
//!    needs `(dnum + 2) (L + K)` transforms (MG23) for the `L` limbs of `Q` and the `K` specials.
//!
//! `P` is at least as large as the largest digit, so `dnum` is about `log2 Q / log2 P`.

use std::collections::BTreeMap;

use hippocrene_ring::primes;

use crate::{
    MAX_UNITS_AND_SPECIALS, ParametersLiteral, RlweError, SecretDistribution, Sprout, security,
};

/// A request for a parameter set.
///
/// See [`design`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The sprout, or [`Sprout::default`] for none.
    pub sprout: Sprout,
    /// The minimum number of bits of fresh ciphertexts: those of the units and of the odd part of
    /// the sprout.
    ///
    /// The sprout's power of two is added to these. It is for smaller moduli, because a limb modulo
    /// `2^a` costs as much as several other limbs.
    pub usable: u32,
    /// The maximum number of bits of a unit or special. Parameter sets allow at most 61. Sizes can
    /// be designed for any word.
    pub word: u32,
    /// The maximum number of bits of `PQ`, or `None` for the limit of 128-bit security.
    pub log2_pq: Option<u32>,
    /// The minimum number of bits by which `P` exceeds the largest digit.
    ///
    /// A key switch adds an error of about `sqrt(dnum N / 12) sigma D / P` for digits below `D`.
    /// Rounding adds about `sqrt(h / 12)`, where `h` is the weight of the secret. With a margin of
    /// 3 or 4 bits, both are about equal.
    pub margin: u32,
}

/// The sizes of a parameter set, in bits.
///
/// See [`design`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The sprout.
    pub sprout: Sprout,
    /// The bits of the units, from `q_0` on.
    pub units: Vec<u32>,
    /// The bits of the specials.
    pub specials: Vec<u32>,
    /// The gadget rank `dnum`.
    pub gadget_rank: usize,
}

/// Designs a parameter set for `request`, by the rule of [this module](self).
///
/// The units have whole numbers of bits that differ by at most one and are spread evenly, so the
/// digits differ by at most one bit too. The specials share the rest of `log2_pq`, up to one word
/// each. A larger `P` costs no time and lowers the noise of key switching.
///
/// ```
/// use hippocrene_rlwe::{
///     Parameters, SecretDistribution, Sprout,
///     design::{Request, design},
/// };
///
/// let design = design(&Request {
///     log_degree: 13,
///     secret: SecretDistribution::Ternary,
///     sprout: Sprout::default(),
///     usable: 120,
///     word: 48,
///     log2_pq: None,
///     margin: 4,
/// })?;
/// assert_eq!((design.units, design.specials), (vec![40, 40, 40], vec![48]));
/// assert_eq!(design.gadget_rank, 3);
/// # Ok::<(), hippocrene_rlwe::RlweError>(())
/// ```
///
/// # Errors
/// Returns [`RlweError::NoSecurityLimit`] if no limit is known and none is given, and
/// [`RlweError::Parameters`] if no division of the bits meets the request.
pub fn design(request: &Request) -> Result<Design, RlweError> {
    let Request { log_degree, secret, sprout, usable, word, log2_pq, margin } = request;
    let limit = match log2_pq {
        Some(bits) => *bits,
        None => {
            security::limit(*log_degree, *secret)
                .ok_or_else(|| RlweError::NoSecurityLimit {
                    dimension: 1usize.checked_shl(*log_degree).unwrap_or(usize::MAX),
                    secret: secret.to_string(),
                })?
                .log2_pq
        }
    };
    let odd = (sprout.odd_product(u8::MAX) as f64).log2();
    let sprout_bits = odd + f64::from(sprout.two);
    let needed = (f64::from(*usable) - odd).ceil().max(0.0) as u32;
    let mut best: Option<((usize, usize), Design)> = None;
    for count in 1..MAX_UNITS_AND_SPECIALS as u32 {
        let units = spread(needed, count);
        if units.iter().any(|bits| bits > word) {
            continue;
        }
        let remaining_bits = (f64::from(limit) - sprout_bits - f64::from(needed)).floor();
        let sizes: Vec<f64> = units.iter().map(|bits| f64::from(*bits)).collect();
        let Some(division) = divide(sprout, &sizes, remaining_bits, *word, f64::from(*margin))
        else {
            continue;
        };
        let candidate = Design {
            log_degree: *log_degree,
            secret: *secret,
            sprout: sprout.clone(),
            units,
            specials: division.specials,
            gadget_rank: division.gadget_rank,
        };
        let cost = (candidate.transforms(), candidate.words());
        if best.as_ref().is_none_or(|(lowest_cost, _)| cost < *lowest_cost) {
            best = Some((cost, candidate));
        }
    }
    best.map(|(_, design)| design).ok_or_else(|| RlweError::Parameters {
        what: format!(
            "no set of words of {word} bits has {usable} usable bits and a P larger than its \
             digits by {margin} bits within log2(PQ) = {limit}"
        ),
    })
}

/// The specials and the gadget rank for given units. The specials are given by their sizes in bits.
#[derive(Debug)]
pub(crate) struct Division {
    pub(crate) specials: Vec<u32>,
    pub(crate) gadget_rank: usize,
}

/// Returns the division of the rule for units of these sizes, or `None` if there is none.
///
/// `P` has at most `remaining_bits` bits, in words of at most `word` bits, and exceeds the digits
/// by `margin` bits. Among the divisions with the fewest transforms, this is the one with the
/// fewest specials.
pub(crate) fn divide(
    sprout: &Sprout,
    units: &[f64],
    remaining_bits: f64,
    word: u32,
    margin: f64,
) -> Option<Division> {
    let odd = (sprout.odd_product(u8::MAX) as f64).log2();
    let limbs = units.len() + usize::from(!sprout.primes.is_empty());
    let max_specials = MAX_UNITS_AND_SPECIALS.saturating_sub(units.len()) as u32;
    let divisions = (1..=max_specials).filter_map(|specials| {
        let p = remaining_bits.min(f64::from(specials * word));
        let gadget_rank = digits(odd + f64::from(sprout.two), units, p - margin)?;
        Some(Division { specials: spread(p as u32, specials), gadget_rank })
    });
    divisions
        .min_by_key(|division| transforms(division.gadget_rank, limbs, division.specials.len()))
}

/// The number of transforms of a key switch, `(dnum + 2) (L + K)` (MG23).
fn transforms(gadget_rank: usize, limbs: usize, specials: usize) -> usize {
    (gadget_rank + 2) * (limbs + specials)
}

impl Design {
    /// The number of limbs of fresh ciphertexts: one for each unit, and one for the odd part of the
    /// sprout.
    pub fn fresh_limbs(&self) -> usize {
        self.units.len() + usize::from(!self.sprout.primes.is_empty())
    }

    /// The number of words of `PQ`: one for each unit and special, and one for the sprout (GRAFT's
    /// column `#`).
    pub fn words(&self) -> usize {
        self.units.len() + self.specials.len() + usize::from(!self.sprout.is_one())
    }

    /// The number of transforms of a key switch of a fresh ciphertext, `(dnum + 2) (L + K)` (MG23).
    pub fn transforms(&self) -> usize {
        transforms(self.gadget_rank, self.fresh_limbs(), self.specials.len())
    }

    /// Returns the parameter set with the largest primes of these sizes.
    ///
    /// The specials are chosen first, so that `P` is not smaller than a digit with as many primes.
    ///
    /// # Errors
    /// Returns [`RlweError::Ring`] if there are too few primes, and [`RlweError::Parameters`] for
    /// sizes beyond 61 bits.
    pub fn literal(&self) -> Result<ParametersLiteral, RlweError> {
        let Design { log_degree, secret, sprout, units, specials, gadget_rank } = self;
        if !(4..=17).contains(log_degree)
            || units.iter().chain(specials).any(|b| !(2..=61).contains(b))
        {
            return Err(RlweError::Parameters {
                what: format!(
                    "ring degree 2^{log_degree}, units of {units:?} and specials of {specials:?} \
                     bits: degrees from 2^4 to 2^17 and primes of 2 to 61 bits are possible"
                ),
            });
        }
        let sizes: Vec<u32> = specials.iter().chain(units).copied().collect();
        let mut specials_and_units = largest_primes(*log_degree, &sizes, &sprout.primes)?;
        let units = specials_and_units.split_off(specials.len());
        Ok(ParametersLiteral {
            log_degree: *log_degree,
            units,
            specials: specials_and_units,
            sprout: sprout.clone(),
            gadget_rank: *gadget_rank,
            secret: *secret,
        })
    }
}

/// Returns the largest primes of these sizes in bits (2 to 61) that are 1 modulo
/// `2^(log_degree + 1)` and not in `avoid`.
///
/// Primes of one size are in descending order.
pub(crate) fn largest_primes(
    log_degree: u32,
    sizes: &[u32],
    avoid: &[u64],
) -> Result<Vec<u64>, RlweError> {
    let mut pools = BTreeMap::new();
    for bits in sizes {
        *pools.entry(*bits).or_insert(0) += 1;
    }
    let pools = pools.into_iter().map(|(bits, count)| {
        Ok((bits, primes::ntt_primes(bits, 1 << log_degree, count, avoid)?.into_iter()))
    });
    let mut pools = pools.collect::<Result<BTreeMap<_, _>, RlweError>>()?;
    Ok(sizes.iter().filter_map(|bits| pools.get_mut(bits).and_then(Iterator::next)).collect())
}

/// Splits `total` into `count` parts that differ by at most one. They are spread evenly: every run
/// of parts is within one of its share.
fn spread(total: u32, count: u32) -> Vec<u32> {
    let end = |i: u32| (u64::from(i) * u64::from(total) / u64::from(count)) as u32;
    (0..count).map(|i| end(i + 1) - end(i)).collect()
}

/// Returns the number of digits below `2^cap` that the sprout and the units form, or `None` if one
/// of them is larger.
///
/// Digits are blocks of neighbours. The sprout is in the first block.
fn digits(sprout: f64, units: &[f64], cap: f64) -> Option<usize> {
    let mut sum = sprout;
    let mut blocks = 1;
    for bits in units {
        if sum > 0.0 && sum + bits > cap {
            blocks += 1;
            sum = 0.0;
        }
        sum += bits;
        if sum > cap {
            return None;
        }
    }
    (sprout <= cap).then_some(blocks)
}
