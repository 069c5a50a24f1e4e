//! Residues packed to the bit width of their modulus.

/// Bits of a number without leading zeros: what a residue modulo the prime `x` takes.
pub(super) fn width(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}

/// Bytes that `count` residues of `width` bits take. Ring degrees are multiples of 16, so that polynomials end at the end of a byte; other bits of the last one are zero.
pub(super) fn packed_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

/// Appends residues below `2^width`, `width <= 61`: residue `i` is bits `i width .. (i + 1) width` of the bytes, the low bits of a byte
/// first.
pub(super) fn pack(out: &mut Vec<u8>, residues: &[u64], width: u32) {
    let end = out.len() + packed_bytes(width, residues.len());
    if width.is_multiple_of(8) {
        let bytes = width as usize / 8;
        out.extend(residues.iter().flat_map(|x| x.to_le_bytes().into_iter().take(bytes)));
        return;
    }
    let (mut bits, mut filled) = (0u128, 0);
    for x in residues {
        bits |= u128::from(*x) << filled;
        filled += width;
        if filled >= 64 {
            out.extend((bits as u64).to_le_bytes());
            bits >>= 64;
            filled -= 64;
        }
    }
    let tail = end - out.len();
    out.extend(&bits.to_le_bytes()[..tail]);
}

/// Reads residues that [`pack`] wrote, from [`packed_bytes`] bytes.
pub(super) fn unpack(out: &mut [u64], packed: &[u8], width: u32) {
    debug_assert_eq!(packed.len(), packed_bytes(width, out.len()));
    if width.is_multiple_of(8) {
        let bytes = width as usize / 8;
        for (x, packed) in out.iter_mut().zip(packed.chunks_exact(bytes)) {
            *x = word(packed);
        }
        return;
    }
    let mask = (1u128 << width) - 1;
    let mut words = packed.chunks(8).map(word);
    let (mut bits, mut filled) = (0u128, 0);
    for x in out {
        if filled < width {
            bits |= u128::from(words.next().unwrap_or(0)) << filled;
            filled += 64;
        }
        *x = (bits & mask) as u64;
        bits >>= width;
        filled -= width;
    }
}

/// Up to eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    match bytes {
        // The width of the default parameter sets, without a copy of unknown length.
        &[a, b, c, d, e, f] => u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
        _ => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpack_undoes_pack_and_bits_are_where_they_are_documented(
            width in 1u32..=61, count in 1usize..80, words in prop::collection::vec(any::<u64>(), 80),
        ) {
            let residues: Vec<u64> = words[..count].iter().map(|x| x & ((1 << width) - 1)).collect();
            let mut packed = vec![0xaa];
            pack(&mut packed, &residues, width);
            let packed = &packed[1..];
            prop_assert_eq!(packed.len(), packed_bytes(width, residues.len()));
            for (i, x) in residues.iter().enumerate() {
                for k in 0..width as usize {
                    let bit = i * width as usize + k;
                    prop_assert_eq!(u64::from(packed[bit / 8] >> (bit % 8) & 1), x >> k & 1);
                }
            }
            let mut back = vec![0; residues.len()];
            unpack(&mut back, packed, width);
            prop_assert_eq!(back, residues);
        }
    }
}
