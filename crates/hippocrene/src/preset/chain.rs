//! The choice of primes for simple chains.

use hippocrene_arrays::Error;
use hippocrene_ring::{RingError, primes};
use hippocrene_rlwe::{ParametersLiteral, Sprout};

use super::Preset;

/// Chooses the primes of a simple chain, whose sizes and counts are checked already.
///
/// A run of several units is chosen so that scales of its size stay steady. A single unit and the
/// specials are the largest primes of their sizes.
pub(super) fn literal(preset: &Preset) -> Result<ParametersLiteral, Error> {
    let Preset { log_degree, secret, units, specials, gadget_rank, .. } = *preset;
    let degree = 1usize << log_degree;
    let mut chosen = Vec::new();
    for (bits, count) in specials {
        chosen.extend(primes::ntt_primes(*bits, degree, *count, &chosen)?);
    }
    let special_count = chosen.len();
    for (bits, count) in units {
        match count {
            1 => chosen.extend(primes::ntt_primes(*bits, degree, 1, &chosen)?),
            _ => chosen.extend(scaling_primes(*bits, degree, *count, &chosen)?),
        }
    }
    Ok(ParametersLiteral {
        log_degree,
        units: chosen.split_off(special_count),
        specials: chosen,
        sprout: Sprout::default(),
        gadget_rank,
        secret,
    })
}

/// Chooses primes `q_1 .. q_count` near `2^bits` so that the scale stays close to `2^bits` (KPP22).
///
/// Repeated multiplication starts with `s_count = 2^bits` and runs through the scales
/// `s_{l-1} = s_l^2 / q_l`. Each `q_l` is the free prime nearest to `s_l^2 / 2^bits`.
fn scaling_primes(
    bits: u32,
    degree: usize,
    count: usize,
    taken: &[u64],
) -> Result<Vec<u64>, Error> {
    let target = f64::from(bits).exp2();
    // Twice the needed number of candidates on each side, so that they include the nearest.
    let candidates = 2 * count + taken.len() + 2;
    let mut free: Vec<u64> = primes::ntt_primes_below(bits, degree)
        .take(candidates)
        .chain(primes::ntt_primes_above(bits, degree).take(candidates))
        .filter(|q| !taken.contains(q))
        .collect();
    let mut scale = target;
    let mut chosen = Vec::with_capacity(count);
    for _ in 0..count {
        let wish = scale * scale / target;
        let distance = |q: u64| (q as f64 - wish).abs();
        let nearest =
            (0..free.len()).min_by(|&a, &b| distance(free[a]).total_cmp(&distance(free[b])));
        let Some(nearest) = nearest else {
            return Err(RingError::TooFewPrimes {
                bits,
                degree,
                wanted: count,
                found: chosen.len(),
            }
            .into());
        };
        let q = free.swap_remove(nearest);
        scale = scale * scale / q as f64;
        chosen.push(q);
    }
    chosen.reverse();
    Ok(chosen)
}
