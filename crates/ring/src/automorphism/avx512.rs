//! The permutation of the evaluation domain, on 8 x 8 blocks in registers.

use std::arch::x86_64::*;

use super::Block;
use crate::{Kernel, arith::bit_reverse};

/// The action of the affine maps `t -> g t + offset mod 64` on a block.
///
/// With `t = 8 high + low`, `high` is the row and `low` the lane, both in bit-reversed order.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// The positions of the rows of a source block, in the order `high = 0, g, 2 g, ...`.
    rows: [usize; 8],
    /// The source lane of each lane, for every `offset mod 8`.
    lanes: [[u64; 8]; 8],
    /// The number of rows that each lane is rotated by, for every offset. The number is stored bit
    /// by bit, as one mask of lanes per bit.
    rotations: Vec<[u8; 3]>,
}

impl Tables {
    /// Makes the tables of the Galois element `g`, or returns `None` if this CPU cannot use them.
    pub(super) fn new(g: usize) -> Option<Self> {
        if !Kernel::Avx512.is_supported() {
            return None;
        }
        let mut rotations = vec![[0; 3]; 64];
        for (offset, masks) in rotations.iter_mut().enumerate() {
            for lane in 0..8 {
                // The source row of row `high` is `g high + carry`, which is `g (high + g carry)`
                // because an odd number is its own inverse modulo 8.
                let carry = (g * bit_reverse(lane, 3) + offset) / 8;
                let rotation = g * carry % 8;
                for (bit, mask) in masks.iter_mut().enumerate() {
                    *mask |= ((rotation >> bit & 1) << lane) as u8;
                }
            }
        }
        Some(Tables {
            rows: std::array::from_fn(|high| 8 * bit_reverse(g * high % 8, 3)),
            lanes: std::array::from_fn(|offset| {
                std::array::from_fn(|lane| {
                    bit_reverse((g * bit_reverse(lane, 3) + offset) % 8, 3) as u64
                })
            }),
            rotations,
        })
    }

    /// Permutes `a`, which begins with block `first`, into `out` of the same length.
    ///
    /// `blocks` has one entry for every 64 positions.
    pub(super) fn permute(&self, blocks: &[Block], first: usize, out: &mut [u64], a: &[u64]) {
        // SAFETY: `Tables::new` makes tables only if the CPU has AVX-512F.
        unsafe { self.permute_blocks(blocks, first, out, a) }
    }

    #[target_feature(enable = "avx512f")]
    fn permute_blocks(&self, blocks: &[Block], first: usize, out: &mut [u64], a: &[u64]) {
        for (block, out) in blocks.iter().zip(out.as_chunks_mut::<64>().0) {
            let source = &a.as_chunks::<64>().0[block.source as usize - first];
            let lanes = load(&self.lanes[block.offset as usize % 8]);
            let mut rows: [__m512i; 8] = std::array::from_fn(|i| {
                let row =
                    source[self.rows[i]..].first_chunk().expect("rows are positions of a block");
                _mm512_permutexvar_epi64(lanes, load(row))
            });
            for (bit, &mask) in self.rotations[block.offset as usize].iter().enumerate() {
                rows = std::array::from_fn(|i| {
                    _mm512_mask_blend_epi64(mask, rows[i], rows[(i + (1 << bit)) % 8])
                });
            }
            for (high, row) in rows.into_iter().enumerate() {
                store(&mut out.as_chunks_mut().0[[0, 4, 2, 6, 1, 5, 3, 7][high]], row);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes are read from a reference to 64 bytes.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [u64; 8], x: __m512i) {
    // SAFETY: 64 bytes are written to a reference to 64 bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), x) }
}
