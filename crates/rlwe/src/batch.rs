//! How much of a linear map is had at a time, so that it takes not too much memory.

use crate::{Context, Modulus};

/// Maps of more diagonals than these, which take more than the memory that there is for them, are
/// encoded anew each time.
const MANY: usize = 256;

/// The bytes of encoded diagonals that there are at a time, unless there is more memory for
/// encodings: for several operands, and for one.
const DIAGONALS: [usize; 2] = [768 << 20, 256 << 20];

/// The bytes that sums of giant steps take that are had at a time, and those that operands do.
const SUMS: usize = 512 << 20;

/// As many polynomials as an operand takes, about: what is decomposed of it, and both parts of its
/// sum.
const OPERAND: usize = 4 + 2;

/// As long as a baby step takes it to encode so many diagonals.
const BABY: usize = 2;

/// How the diagonals of a linear map are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encodings {
    /// All of them, and kept.
    Kept,
    /// Those of some giant steps, for all operands.
    Whole,
    /// Each limb where it is used: it takes little memory, and for one operand less time than to
    /// encode what is dropped again.
    ByLimb,
}

/// How much of a linear map is had at a time: up to 768 MiB of diagonals for several operands, 256
/// MiB for one, and 512 MiB each of sums and of operands. One giant step of one operand there
/// always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How diagonals are encoded.
    pub encodings: Encodings,
    /// Of how many giant steps. Baby steps are rotated anew for each batch of them.
    pub giants: usize,
    /// How many operands are decomposed at a time.
    pub operands: usize,
    /// For how many of these there are the sums of all those giant steps at a time.
    pub sums: usize,
}

impl Context {
    /// What is had at a time of a map of so many diagonals, by so many baby steps and giant steps,
    /// modulo `P'Q = extended`, of so many operands, where encodings that are kept may take `limit`
    /// bytes.
    pub fn batch(
        &self,
        extended: Modulus,
        diagonals: usize,
        [baby, giants]: [usize; 2],
        operands: usize,
        limit: usize,
    ) -> Batch {
        let (giants, operands) = (giants.max(1), operands.max(1));
        let polynomial = self.degree() * size_of::<u64>();
        let whole = polynomial * self.rotation_factor_limbs(extended);
        let fit = |bytes: usize, most: usize| {
            let all = diagonals.saturating_mul(bytes).max(1);
            (limit.max(most).saturating_mul(giants) / all).clamp(1, giants)
        };
        let [at_once, by_limb] = [fit(whole, DIAGONALS[0]), fit(polynomial, DIAGONALS[1])];
        let work = |encoded: usize, at_once: usize| {
            encoded
                .saturating_add(baby.saturating_mul(BABY).saturating_mul(giants.div_ceil(at_once)))
        };
        let is_kept = limit > 0 && (diagonals <= MANY || diagonals.saturating_mul(whole) <= limit);
        let (encodings, giants) = if is_kept {
            (Encodings::Kept, giants)
        } else if work(diagonals.div_ceil(operands), at_once) < work(diagonals, by_limb) {
            (Encodings::Whole, at_once)
        } else {
            (Encodings::ByLimb, by_limb)
        };
        let operands = (SUMS / (OPERAND * whole)).max(1);
        let sums = (SUMS / giants.saturating_mul(2 * whole)).clamp(1, operands);
        Batch { encodings, giants, operands, sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
    use hippocrene_ring::{Threads, primes};

    /// The bytes of a diagonal of three limbs.
    const FACTOR: usize = 3 << 13;

    /// Of so many limbs of 8 KiB. Insecure.
    fn insecure(limbs: usize) -> Context {
        let degree = 1 << 10;
        let parameters = Parameters::new_insecure(ParametersLiteral {
            log_degree: 10,
            units: primes::ntt_primes(48, degree, limbs - 1, &[]).unwrap(),
            specials: primes::ntt_primes(49, degree, 1, &[]).unwrap(),
            sprout: Sprout::default(),
            gadget_rank: limbs - 1,
            secret: SecretDistribution::Ternary,
        });
        Context::new(parameters.unwrap(), Threads::single()).unwrap()
    }

    #[test]
    fn batches_go_by_memory_and_work() {
        let context = insecure(3);
        let extended = context.parameters().full();
        let batch = |diagonals, steps, operands, limit| {
            context.batch(extended, diagonals, steps, operands, limit)
        };
        let encodings =
            |diagonals, steps, operands, limit| batch(diagonals, steps, operands, limit).encodings;
        assert_eq!(encodings(256, [16, 16], 8, 1), Encodings::Kept);
        assert_eq!(encodings(257, [16, 17], 8, 257 * FACTOR), Encodings::Kept);
        assert_eq!(encodings(257, [16, 17], 8, (257 * FACTOR) - 1), Encodings::Whole);
        assert_eq!(encodings(4, [2, 2], 1, 0), Encodings::ByLimb);
        assert_eq!(encodings(4, [2, 2], 2, 0), Encodings::Whole);
        // All giant steps where there is room; of 100,000 diagonals 32,768 fill 768 MiB, and as
        // many limbs 256 MiB.
        assert_eq!(batch(400, [20, 20], 8, 0).giants, 20);
        let large = batch(100_000, [1000, 100], 8, 0);
        assert_eq!((large.encodings, large.giants), (Encodings::Whole, 32));
        assert_eq!(
            (large.operands, large.sums),
            ((512 << 20) / (6 * FACTOR), (512 << 20) / (64 * FACTOR))
        );
        let one = batch(100_000, [1000, 100], 1, 0);
        assert_eq!((one.encodings, one.giants), (Encodings::ByLimb, 32));
        // A giant step there always is, whatever is said.
        assert_eq!(batch(usize::MAX, [usize::MAX, 0], 0, 0).giants, 1);
        let huge = batch(1 << 30, [1 << 15, 1 << 15], 2, 0);
        assert_eq!((huge.giants, huge.sums), (1, (512 << 20) / (6 * FACTOR)));
        // Where baby steps would be rotated far more often, each diagonal is encoded for each
        // operand.
        let many = insecure(7);
        let of = |operands| {
            many.batch(many.parameters().full(), 100_000, [50_000, 10_000], operands, 0).encodings
        };
        assert_eq!([2, 64].map(of), [Encodings::ByLimb, Encodings::ByLimb]);
    }
}
