//! Parameter sets from what is wanted of them: the re-design rule of GRAFT 4.1 and G.
//!
//! A simple chain ties the number of primes to the scale. With a sprout the primes are words, and
//! what is left to choose is how many of them are units and how many specials. The rule, which the
//! paper applies in its Tables 2 and 12: as few words as hold the wanted modulus, and among the
//! ways to divide `log2(PQ)` between `Q` and `P` the one whose key switch takes the fewest
//! transforms, `(dnum + 2) (L + K)` (MG23) for the `L` limbs of `Q` and the `K` specials. `P` is at
//! least the largest digit, so that `dnum` is about `log2 Q / log2 P`.

use std::collections::BTreeMap;

use hippocrene_ring::primes;

use crate::{MAX_FACTORS, ParametersLiteral, RlweError, SecretDistribution, Sprout, security};

/// What is wanted of a parameter set.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The sprout; [`Sprout::default`] for none.
    pub sprout: Sprout,
    /// The bits that fresh ciphertexts have at least: units and the odd part of the sprout. Its
    /// power of two comes on top; it is for moduli further down, since a limb modulo `2^a` costs as
    /// much as several of the others.
    pub usable: u32,
    /// The bits of a word: no unit or special has more. Parameter sets take at most 61; sizes can
    /// be designed for any word.
    pub word: u32,
    /// The most bits of `PQ`; `None` for the limit of 128-bit security.
    pub log2_pq: Option<u32>,
    /// By how many bits `P` exceeds the largest digit at least. A key switch adds an error of about
    /// `sqrt(dnum N / 12) sigma D / P` for digits below `D`, next to about `sqrt(h / 12)` from
    /// rounding (`h` the weight of the secret): 3 or 4 bits make the two alike.
    pub margin: u32,
}

/// The sizes of a parameter set, in bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The sprout.
    pub sprout: Sprout,
    /// Bits of the units, from `q_0` up.
    pub units: Vec<u32>,
    /// Bits of the specials.
    pub specials: Vec<u32>,
    /// The gadget rank `dnum`.
    pub gadget_rank: usize,
}

/// Parameters for what is wanted, by the rule stated above. Units have whole numbers of bits that
/// differ by at most one, spread evenly, so that digits do not differ by more; specials take what
/// is left of `log2_pq`, up to a word each: a larger `P` costs no time and lowers the noise of key
/// switching.
///
/// # Errors
/// [`RlweError::NoSecurityLimit`] where none is known and none is given, [`RlweError::Parameters`]
/// when no division of the bits does.
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
    for count in 1..MAX_FACTORS as u32 {
        let units = spread(needed, count);
        if units.iter().any(|bits| bits > word) {
            continue;
        }
        let left = (f64::from(limit) - sprout_bits - f64::from(needed)).floor();
        let sizes: Vec<f64> = units.iter().map(|bits| f64::from(*bits)).collect();
        let Some(division) = divide(sprout, &sizes, left, *word, f64::from(*margin)) else {
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
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, candidate));
        }
    }
    best.map(|(_, design)| design).ok_or_else(|| RlweError::Parameters {
        what: format!(
            "no set of words of {word} bits has {usable} usable bits and a P larger than its digits by {margin} bits within \
             log2(PQ) = {limit}"
        ),
    })
}

/// What goes with given units: the sizes of the specials in bits, and the gadget rank.
#[derive(Debug)]
pub(crate) struct Division {
    pub(crate) specials: Vec<u32>,
    pub(crate) gadget_rank: usize,
}

/// The division of the rule for units of these sizes: `P` has at most `left` bits, in words of at
/// most `word`, and exceeds the digits by `margin` bits. Of those with the fewest transforms it is
/// the one of the fewest specials.
pub(crate) fn divide(
    sprout: &Sprout,
    units: &[f64],
    left: f64,
    word: u32,
    margin: f64,
) -> Option<Division> {
    let odd = (sprout.odd_product(u8::MAX) as f64).log2();
    let limbs = units.len() + usize::from(!sprout.primes.is_empty());
    let most = MAX_FACTORS.saturating_sub(units.len()) as u32;
    let divisions = (1..=most).filter_map(|specials| {
        let p = left.min(f64::from(specials * word));
        let gadget_rank = digits(odd + f64::from(sprout.two), units, p - margin)?;
        Some(Division { specials: spread(p as u32, specials), gadget_rank })
    });
    divisions
        .min_by_key(|division| transforms(division.gadget_rank, limbs, division.specials.len()))
}

/// The transforms of a key switch, `(dnum + 2) (L + K)` (MG23).
fn transforms(gadget_rank: usize, limbs: usize, specials: usize) -> usize {
    (gadget_rank + 2) * (limbs + specials)
}

impl Design {
    /// How many limbs fresh ciphertexts have: the units, and one for the odd part of the sprout.
    pub fn fresh_limbs(&self) -> usize {
        self.units.len() + usize::from(!self.sprout.primes.is_empty())
    }

    /// How many words `PQ` takes: units, specials, and one for the sprout (GRAFT's column `#`).
    pub fn words(&self) -> usize {
        self.units.len() + self.specials.len() + usize::from(!self.sprout.is_one())
    }

    /// The transforms of a key switch of a fresh ciphertext: `(dnum + 2) (L + K)` (MG23).
    pub fn transforms(&self) -> usize {
        transforms(self.gadget_rank, self.fresh_limbs(), self.specials.len())
    }

    /// The parameter set, with the largest primes of these sizes: the specials first, so that `P`
    /// is not below a digit of as many primes.
    ///
    /// # Errors
    /// [`RlweError::Ring`] when there are too few primes, [`RlweError::Parameters`] for sizes
    /// beyond 61 bits.
    pub fn literal(&self) -> Result<ParametersLiteral, RlweError> {
        let Design { log_degree, secret, sprout, units, specials, gadget_rank } = self;
        if !(4..=17).contains(log_degree)
            || units.iter().chain(specials).any(|b| !(2..=61).contains(b))
        {
            return Err(RlweError::Parameters {
                what: format!(
                    "ring degree 2^{log_degree}, units of {units:?} and specials of {specials:?} bits: degrees from 2^4 to 2^17 and \
                     primes of 2 to 61 bits are possible"
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

/// The largest primes of these sizes in bits (2 to 61) that are 1 modulo `2^(log_degree + 1)`, each
/// size from the largest down, and none of `avoid`.
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

/// `total` in `count` parts that differ by at most one, evenly: every run of parts is within one of
/// its share.
fn spread(total: u32, count: u32) -> Vec<u32> {
    let end = |i: u32| (u64::from(i) * u64::from(total) / u64::from(count)) as u32;
    (0..count).map(|i| end(i + 1) - end(i)).collect()
}

/// How many digits below `2^cap` the sprout and the units make up, blocks of neighbours with the
/// sprout in the first; `None` if one is larger.
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
