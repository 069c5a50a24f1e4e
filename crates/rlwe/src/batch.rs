//! How much of a linear map is had at a time, so that it takes not too much memory.

use crate::{Context, Modulus};

/// Maps of more diagonals than these, which take more than the memory that there is for them, are encoded anew each time.
const MANY: usize = 256;

/// The bytes of encoded diagonals that there are at a time, unless there is more memory for encodings: for several operands, and for one.
const DIAGONALS: [usize; 2] = [768 << 20, 256 << 20];

/// The bytes that sums of giant steps take that are had at a time, and those that operands do.
const SUMS: usize = 512 << 20;

/// As many polynomials as an operand takes, about: what is decomposed of it, and both parts of its sum.
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
    /// Each limb where it is used: it takes little memory, and for one operand less time than to encode what is dropped again.
    ByLimb,
}

/// How much of a linear map is had at a time.
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
    /// What is had at a time of a map of so many diagonals, by so many baby steps and giant steps, modulo `P'Q = extended`, of so many operands, where encodings that are kept may take `limit` bytes.
    pub fn batch(
        &self,
        extended: Modulus,
        diagonals: usize,
        [baby, giants]: [usize; 2],
        operands: usize,
        limit: usize,
    ) -> Batch {
        let polynomial = self.degree() * size_of::<u64>();
        let whole = polynomial * self.rotation_factor_limbs(extended);
        let fit = |bytes: usize, most: usize| {
            (limit.max(most) * giants / (diagonals * bytes).max(1)).clamp(1, giants)
        };
        let [at_once, by_limb] = [fit(whole, DIAGONALS[0]), fit(polynomial, DIAGONALS[1])];
        let work = |encoded: usize, at_once: usize| encoded + BABY * baby * giants.div_ceil(at_once);
        let (encodings, giants) = if limit > 0 && (diagonals <= MANY || diagonals * whole <= limit) {
            (Encodings::Kept, giants)
        } else if work(diagonals.div_ceil(operands), at_once) < work(diagonals, by_limb) {
            (Encodings::Whole, at_once)
        } else {
            (Encodings::ByLimb, by_limb)
        };
        let operands = (SUMS / (OPERAND * whole)).max(1);
        Batch { encodings, giants, operands, sums: (SUMS / (2 * giants * whole)).clamp(1, operands) }
    }
}
