//! Scratch memory of encodings and decodings, which is reused.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

use super::{IntegerPolynomial, fft::Split};

/// The scratch memory of one encoding or decoding.
pub(super) struct Scratch {
    pub slots: Split,
    pub coefficients: Split,
    pub integers: IntegerPolynomial,
    /// A block of every limb, for [`super::mixed_radix`].
    pub blocks: AVec<u64, ConstAlign<64>>,
    pub weights: Vec<f64>,
}

/// Wipes the memory, which may contain data that a client has encrypted or decrypted.
impl Drop for Scratch {
    fn drop(&mut self) {
        for split in [&mut self.slots, &mut self.coefficients] {
            split.re.zeroize();
            split.im.zeroize();
        }
        self.blocks.zeroize();
    }
}

/// The free pieces of scratch memory. There are as many pieces as were ever in use at once.
pub(super) struct Pool {
    degree: usize,
    free: Mutex<Vec<Scratch>>,
}

/// Leaves out the contents, which a client may have encrypted or decrypted.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("degree", &self.degree).finish_non_exhaustive()
    }
}

impl Pool {
    /// Creates an empty pool for ring degree `degree`.
    pub(super) fn new(degree: usize) -> Self {
        Pool { degree, free: Mutex::new(Vec::new()) }
    }

    /// Wipes and frees all pieces.
    pub(super) fn wipe_scratch(&self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Lends a piece to `work`.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let taken = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = taken.unwrap_or_else(|| Scratch {
            slots: Split::zero(self.degree / 2),
            coefficients: Split::zero(self.degree / 2),
            integers: IntegerPolynomial::zero(self.degree),
            blocks: AVec::new(64),
            weights: Vec::new(),
        });
        let result = work(&mut scratch);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_encoded_values() {
        let pool = Pool::new(16);
        let printed = pool.lend(|scratch| {
            scratch.slots.re.fill(1_234_567.0);
            scratch.integers.coefficients.fill(1_234_567);
            scratch.blocks.push(1_234_567);
            format!("{:?}", scratch.integers)
        });
        assert_eq!(printed, "IntegerPolynomial { degree: 16, digits: 1, shift: 0, .. }");
        assert_eq!(format!("{pool:?}"), "Pool { degree: 16, .. }");
    }
}
