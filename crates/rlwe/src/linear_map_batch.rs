//! Splits linear maps into batches that fit the memory limits.

use crate::{Context, Modulus};

/// Maps with up to this many diagonals keep their encodings whenever the cache has any memory. Maps
/// with more diagonals keep them only if all of them fit the memory of the cache.
const MAX_ALWAYS_KEPT_DIAGONALS: usize = 256;

/// The memory for encoded diagonals that are not kept, in bytes: for [`Encodings::Whole`], and for
/// [`Encodings::ByLimb`]. A larger limit for kept encodings replaces it.
const DIAGONAL_BYTES: [usize; 2] = [768 << 20, 256 << 20];

/// The memory for the sums of giant steps, in bytes. Operands have as much again.
const SUM_BYTES: usize = 512 << 20;

/// The approximate memory of an operand, in polynomials modulo `P'Q`: its decomposition, and the
/// two parts of its sum.
const POLYNOMIALS_PER_OPERAND: usize = 4 + 2;

/// The approximate time of a baby step, in encodings of a diagonal.
const ENCODINGS_PER_BABY_STEP: usize = 2;

/// How the diagonals of a linear map are encoded.
///
/// See [`Context::batch`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encodings {
    /// All diagonals are encoded once and kept in the cache.
    Kept,
    /// The diagonals of some giant steps are encoded whole, used for all operands and dropped.
    Whole,
    /// Each limb of a diagonal is encoded where it is used. This needs little memory. For one
    /// operand it is faster than to encode whole diagonals and drop them.
    ByLimb,
}

/// The sizes of the batches in which a linear map is computed.
///
/// Without kept encodings, a batch needs up to 768 MiB of diagonals for several operands, or 256
/// MiB for one. Sums and operands need up to 512 MiB each. A batch always has at least one giant
/// step and one operand, even if these need more memory.
///
/// See [`Context::batch`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How diagonals are encoded.
    pub encodings: Encodings,
    /// The number of giant steps in a batch. The rotations of baby steps are computed again for
    /// each batch.
    pub giants: usize,
    /// The number of operands that are decomposed at the same time.
    pub operands: usize,
    /// The number of operands for which the sums of all giant steps of a batch are in memory at the
    /// same time.
    pub sums: usize,
}

impl Context {
    /// Returns the batches for a linear map of `diagonals` diagonals modulo `extended = P'Q`.
    ///
    /// The map has `baby` baby steps and `giants` giant steps and is applied to `operands`
    /// operands. Kept encodings may use `limit` bytes, 0 if none are kept.
    ///
    /// ```
    /// use hippocrene_ring::{Threads, primes};
    /// use hippocrene_rlwe::{
    ///     Context, Encodings, Parameters, ParametersLiteral, SecretDistribution, Sprout,
    /// };
    ///
    /// // A prime for the units and one for the special modulus. These parameters are not secure.
    /// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
    /// let parameters = Parameters::new_insecure(ParametersLiteral {
    ///     log_degree: 10,
    ///     units: primes[..1].to_vec(),
    ///     specials: primes[1..].to_vec(),
    ///     sprout: Sprout::default(),
    ///     gadget_rank: 1,
    ///     secret: SecretDistribution::Ternary,
    /// })?;
    /// let context = Context::new(parameters, Threads::single())?;
    ///
    /// // A map of 256 diagonals, by 16 baby steps and 16 giant steps, for 8 operands.
    /// let extended = context.parameters().full();
    /// let batch = context.batch(extended, 256, [16, 16], 8, 1 << 30);
    /// assert_eq!((batch.encodings, batch.giants), (Encodings::Kept, 16));
    /// // Without a cache.
    /// let batch = context.batch(extended, 256, [16, 16], 8, 0);
    /// assert_eq!((batch.encodings, batch.giants), (Encodings::Whole, 16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batch(
        &self,
        extended: Modulus,
        diagonals: usize,
        [baby, giants]: [usize; 2],
        operands: usize,
        limit: usize,
    ) -> Batch {
        let (giants, operands) = (giants.max(1), operands.max(1));
        let limb_bytes = self.degree() * size_of::<u64>();
        let diagonal_bytes = limb_bytes * self.rotation_factor_limbs(extended);
        let fit = |bytes: usize, most: usize| {
            let all = diagonals.saturating_mul(bytes).max(1);
            (limit.max(most).saturating_mul(giants) / all).clamp(1, giants)
        };
        let [at_once, by_limb] =
            [fit(diagonal_bytes, DIAGONAL_BYTES[0]), fit(limb_bytes, DIAGONAL_BYTES[1])];
        let work = |encoded: usize, at_once: usize| {
            encoded.saturating_add(
                baby.saturating_mul(ENCODINGS_PER_BABY_STEP)
                    .saturating_mul(giants.div_ceil(at_once)),
            )
        };
        let is_kept = limit > 0
            && (diagonals <= MAX_ALWAYS_KEPT_DIAGONALS
                || diagonals.saturating_mul(diagonal_bytes) <= limit);
        let (encodings, giants) = if is_kept {
            (Encodings::Kept, giants)
        } else if work(diagonals.div_ceil(operands), at_once) < work(diagonals, by_limb) {
            (Encodings::Whole, at_once)
        } else {
            (Encodings::ByLimb, by_limb)
        };
        let operands = (SUM_BYTES / (POLYNOMIALS_PER_OPERAND * diagonal_bytes)).max(1);
        let sums = (SUM_BYTES / giants.saturating_mul(2 * diagonal_bytes)).clamp(1, operands);
        Batch { encodings, giants, operands, sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
    use hippocrene_ring::{Threads, primes};

    /// The bytes of a diagonal of three limbs.
    const BYTES_OF_THREE_LIMBS: usize = 3 << 13;

    /// A context with `limbs` limbs of 8 KiB each. It is not secure.
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
        assert_eq!(encodings(257, [16, 17], 8, 257 * BYTES_OF_THREE_LIMBS), Encodings::Kept);
        assert_eq!(encodings(257, [16, 17], 8, (257 * BYTES_OF_THREE_LIMBS) - 1), Encodings::Whole);
        assert_eq!(encodings(4, [2, 2], 1, 0), Encodings::ByLimb);
        assert_eq!(encodings(4, [2, 2], 2, 0), Encodings::Whole);
        // All giant steps fit where there is enough memory. Of 100,000 diagonals, 32,768 fill 768
        // MiB, and single limbs of as large a share fill 256 MiB.
        assert_eq!(batch(400, [20, 20], 8, 0).giants, 20);
        let large = batch(100_000, [1000, 100], 8, 0);
        assert_eq!((large.encodings, large.giants), (Encodings::Whole, 32));
        assert_eq!(
            (large.operands, large.sums),
            ((512 << 20) / (6 * BYTES_OF_THREE_LIMBS), (512 << 20) / (64 * BYTES_OF_THREE_LIMBS))
        );
        let one = batch(100_000, [1000, 100], 1, 0);
        assert_eq!((one.encodings, one.giants), (Encodings::ByLimb, 32));
        // There is always one giant step, whatever the arguments are.
        assert_eq!(batch(usize::MAX, [usize::MAX, 0], 0, 0).giants, 1);
        let huge = batch(1 << 30, [1 << 15, 1 << 15], 2, 0);
        assert_eq!((huge.giants, huge.sums), (1, (512 << 20) / (6 * BYTES_OF_THREE_LIMBS)));
        // Where whole diagonals would need baby steps to be rotated far more often, the limbs are
        // encoded for each operand.
        let many = insecure(7);
        let of = |operands| {
            many.batch(many.parameters().full(), 100_000, [50_000, 10_000], operands, 0).encodings
        };
        assert_eq!([2, 64].map(of), [Encodings::ByLimb, Encodings::ByLimb]);
    }
}
