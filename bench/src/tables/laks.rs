//! The parameter sets of LAKS' tables: `N = 2^16` and 40 primes of 44 bits, including special ones
//! (LAKS 5.1).

use hippocrene_rlwe::{Modulus, Parameters, SecretDistribution, Sprout};

use crate::{Result, scheme::Sizes};

/// log2 of the ring degree.
pub const LOG_N: u32 = 16;
/// The number of primes of `PQ`.
pub const PRIMES: usize = 40;
/// The bits of a prime.
pub const BITS: u32 = 44;
/// The digit lengths `r` of the paper.
pub const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// The finest gadget, with one special prime. Each other prime is a digit.
pub fn finest() -> Sizes {
    fixed(1)
}

/// The gadget with digits of `r` primes and as many special ones.
///
/// At most `40 - r` units count as levels. If that is not a multiple of `r`, there are some more
/// units that no level contains, so that all digits have `r` primes.
pub fn fixed(r: usize) -> Sizes {
    let units = (PRIMES - r).next_multiple_of(r);
    Sizes {
        log_n: LOG_N,
        units: vec![(BITS, units)],
        specials: vec![(BITS, r)],
        sprout: Sprout::default(),
        dnum: units / r,
        secret: SecretDistribution::Ternary,
    }
}

/// The product of the first `level` units.
pub fn level(level: usize) -> Modulus {
    Modulus::of_range(0..level)
}

/// The bits of the two special primes of the grafted chain. Together they are slightly larger than
/// its sprout.
const GRAFTED_SPECIALS: u32 = 33;
/// The bits of our words.
const WORD: u32 = 48;

/// Our chain with the same `log PQ`. It has words of 48 bits with their sprout, and a special
/// modulus as large as the sprout, which is the largest digit of the finest gadget.
///
/// # Errors
/// When there is no sprout or not enough primes.
pub fn grafted() -> Result<Parameters> {
    let sprout = Sprout::for_degree(LOG_N).ok_or("no sprout")?;
    let sprout_bits = f64::from(sprout.two) + (sprout.odd_product(u8::MAX) as f64).log2();
    let left = f64::from(PRIMES as u32 * BITS - 2 * GRAFTED_SPECIALS) - sprout_bits;
    let units = (left / f64::from(WORD)) as usize;
    let sizes = Sizes {
        units: vec![(WORD, units)],
        specials: vec![(GRAFTED_SPECIALS, 2)],
        sprout,
        dnum: units + 1,
        ..finest()
    };
    sizes.parameters()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_gadgets_have_digits_of_r_primes() {
        for r in LENGTHS {
            let parameters = fixed(r).parameters().unwrap();
            for top in [PRIMES - r, r + 1, r] {
                let sizes: Vec<usize> =
                    parameters.digits(level(top)).map(|(_, d)| d.limb_count()).collect();
                assert_eq!(sizes.len(), top.div_ceil(r));
                assert!(sizes[..top / r].iter().all(|size| *size == r));
            }
            assert_eq!(parameters.specials().limb_count(), r);
        }
    }

    #[test]
    fn the_grafted_chain_is_as_large_and_as_fine() {
        let (ours, theirs) = (grafted().unwrap(), finest().parameters().unwrap());
        let (a, b) = (ours.log2(ours.full()), theirs.log2(theirs.full()));
        assert!(a <= b && a > b - f64::from(WORD), "{a} {b}");
        assert!(
            ours.digits(ours.top())
                .all(|(_, digit)| digit.limb_count() == 1 || !digit.sprout().is_one())
        );
        // The paper's 1760 bits slightly exceed the secure size for a ternary secret.
        assert!(b > 1747.0 && b < 1761.0);
    }
}
