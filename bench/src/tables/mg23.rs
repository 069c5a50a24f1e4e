//! The parameter sets of MG23's tables, by the bits of `q`.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::{Modulus, SecretDistribution, Sprout, design};

use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes, near},
    session::{NamedWorks, Session},
    switching::{DOMAINS, KeySwitch},
};

/// The paper's maximum of log2 of `qP` at the ring degree `2^log_n` (5.1), in bits. It exceeds our
/// limits for 128-bit security by 3 to 12 bits, or is below them.
pub fn bound(log_n: u32) -> u32 {
    match log_n {
        14 => 433,
        15 => 867,
        16 => 1735,
        _ => 3470,
    }
}

/// The largest word of the paper's primes, and ours.
pub const WORDS: [u32; 2] = [60, 48];

/// Splits `bits` into a sum of `count` integers that differ by at most one, the larger ones first.
fn spread(bits: u32, count: usize) -> Vec<u32> {
    let count = count as u32;
    (0..count).map(|i| bits / count + u32::from(i < bits % count)).collect()
}

/// Returns the sizes of a set with units of these bits and the smallest possible `omega`.
///
/// `P` is as large as a digit and has primes no larger than the units. `q` and `P` must fit within
/// the paper's bound.
///
/// # Errors
/// When no `omega` fits.
pub fn sizes(log_n: u32, units: &[u32]) -> Result<Sizes> {
    sizes_within(log_n, units, bound(log_n))
}

/// As [`sizes`], with another bound on log2 of `qP`.
///
/// # Errors
/// As [`sizes`].
pub fn sizes_within(log_n: u32, units: &[u32], log_qp: u32) -> Result<Sizes> {
    let log_q: u32 = units.iter().sum();
    let word = units.iter().copied().max().ok_or("a modulus without primes")?;
    for omega in 1..=units.len() {
        // The digits do not depend on the special primes.
        let parameters = with_rank(log_n, units, &[word], omega).parameters()?;
        let digits = parameters.digits(parameters.top()).map(|(_, digit)| parameters.log2(digit));
        let digit = digits.fold(0.0, f64::max).ceil() as u32;
        if log_q + digit <= log_qp {
            return Ok(with_rank(log_n, units, &even(digit, word), omega));
        }
    }
    Err(format!("no special modulus fits with {log_q} bits of q at N = 2^{log_n}").into())
}

/// As [`sizes`], with `omega` digits for any size of `qP`.
pub fn sizes_with(log_n: u32, units: &[u32], omega: usize) -> Sizes {
    let count = units.len().div_ceil(omega);
    let digit: u32 = units[..count].iter().sum();
    with_rank(log_n, units, &spread(digit, count), omega)
}

fn with_rank(log_n: u32, units: &[u32], specials: &[u32], omega: usize) -> Sizes {
    let one_each = |bits: &[u32]| -> Vec<(u32, usize)> {
        bits.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
    };
    Sizes {
        log_n,
        units: one_each(units),
        specials: one_each(specials),
        sprout: Sprout::default(),
        dnum: omega,
        secret: SecretDistribution::Ternary,
    }
}

/// Returns the fewest units below `word` bits for `log_q` bits, all of nearly the same size (MG23
/// 3.7).
pub fn even(log_q: u32, word: u32) -> Vec<u32> {
    spread(log_q, log_q.div_ceil(word) as usize)
}

/// Returns a grafted set with a usable modulus of `log_q` bits, and that modulus.
///
/// It has words of 48 bits with their sprout, by the re-design rule of GRAFT within the paper's
/// bound.
///
/// # Errors
/// When there is none.
pub fn grafted(log_n: u32, log_q: u32, kernel: Kernel) -> Result<(Scheme, Modulus)> {
    let design = design::design(&design::Request {
        log_degree: log_n,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::for_degree(log_n).ok_or("no sprout")?,
        usable: log_q,
        word: 48,
        log2_pq: Some(bound(log_n)),
        margin: 0,
    })?;
    let parameters = hippocrene_rlwe::Parameters::new_insecure(design.literal()?)?;
    let from = near(&parameters, f64::from(log_q), 1.0);
    Ok((Scheme::of(parameters, kernel, 0)?, from))
}

/// Returns the milliseconds of key switches at their base gadgets, each averaged over the four
/// combinations of domains.
///
/// # Errors
/// As the key switches.
pub fn time<const K: usize>(
    session: &mut Session,
    log_n: u32,
    switches: [&mut KeySwitch; K],
) -> Result<[f64; K]> {
    let mut works = NamedWorks::default();
    for switch in switches {
        works.add("", || switch.all_domains());
    }
    let mut times = session.time_named(log_n, works)?.into_iter();
    let each = 1e3 / DOMAINS.len() as f64;
    Ok(std::array::from_fn(|_| times.next().map_or(f64::NAN, |(_, seconds)| each * seconds)))
}

/// Returns a key switch at the top modulus of a scheme, with the result at the same modulus.
///
/// # Errors
/// When the system has no entropy.
pub fn at_top(scheme: &Scheme) -> Result<KeySwitch<'_>> {
    let top = scheme.top();
    KeySwitch::new(scheme, scheme.context.parameters().base_gadget(), top, top)
}

/// Compares a measurement with each peer's figure of `operation` at the ring degree `2^log_n`, in a
/// row each.
pub fn peer_rows(session: &Session, log_n: u32, operation: &str, name: &str, ms: f64) -> Vec<Row> {
    let peers = session.peers.all(&format!("MG23 N = 2^{log_n}"), operation);
    peers.into_iter().map(|peer| Row::new(name, ms, "ms").against_peer(peer)).collect()
}

/// Describes a set in the form `omega 2, 8 + 4 limbs`.
pub fn shape(scheme: &Scheme, modulus: Modulus) -> String {
    let parameters = scheme.context.parameters();
    let (digits, specials) =
        (parameters.digits(modulus).count(), parameters.specials().limb_count());
    format!("omega {digits}, {} + {specials} limbs", modulus.limb_count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_fit_the_papers_bounds_with_the_smallest_omega() {
        let cases = [
            (14, 216, 60, 1, 4, 4),
            (15, 432, 48, 1, 9, 9),
            (16, 855, 60, 1, 15, 15),
            (16, 1121, 60, 2, 19, 10),
        ];
        for (log_n, log_q, word, omega, units, specials) in cases {
            let sizes = sizes(log_n, &even(log_q, word)).unwrap();
            let parameters = sizes.parameters().unwrap();
            let (top, p) = (parameters.top(), parameters.specials());
            assert_eq!((top.limb_count(), p.limb_count()), (units, specials));
            assert_eq!(parameters.digits(top).count(), omega);
            assert!(parameters.log2(parameters.full()) <= f64::from(bound(log_n)));
            // The primes of each size are just below a power of two.
            assert!((parameters.log2(top) - f64::from(log_q)).abs() < 0.1);
            let largest =
                parameters.digits(top).map(|(_, digit)| parameters.log2(digit)).fold(0.0, f64::max);
            assert!(parameters.log2(p) > largest - 0.1);
        }
        assert!(sizes(14, &even(432, 48)).is_err());
    }

    #[test]
    fn bits_are_spread_evenly() {
        assert_eq!(spread(855, 18).iter().sum::<u32>(), 855);
        assert_eq!(spread(11, 3), [4, 4, 3]);
        assert_eq!(even(780, 60), [60; 13]);
    }
}
