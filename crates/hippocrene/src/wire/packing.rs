//! Residues packed to the bit width of their modulus.

/// The number of bits of `x` without leading zeros. For `x = q - 1`, the bits of a residue modulo
/// `q`.
pub(super) fn width(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}

/// Bytes of `count` residues of `width` bits each.
///
/// Ring degrees are multiples of 16, so polynomials end at the end of a byte. Otherwise the unused
/// bits of the last byte are zero.
pub(super) fn packed_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

/// Appends residues below `2^width`, with `width <= 61`.
///
/// Residue `i` takes the bits `i width .. (i + 1) width` of the bytes, where the low bits of a byte
/// come first.
pub(super) fn pack(out: &mut Vec<u8>, residues: &[u64], width: u32) {
    let start = out.len();
    out.resize(start + packed_bytes(width, residues.len()), 0);
    pack_into(&mut out[start..], residues, width);
}

/// Packs residues, as [`pack`] does, into a slice of [`packed_bytes`] bytes.
fn pack_into(out: &mut [u8], residues: &[u64], width: u32) {
    if width.is_multiple_of(8) {
        let bytes = width as usize / 8;
        // Eight bytes are written for each residue, and the next one overwrites the excess. The
        // last residues are written exactly.
        let eight = residues.len().saturating_sub(8);
        for (i, x) in residues[..eight].iter().enumerate() {
            out[i * bytes..][..8].copy_from_slice(&x.to_le_bytes());
        }
        for (out, x) in out[eight * bytes..].chunks_exact_mut(bytes).zip(&residues[eight..]) {
            out.copy_from_slice(&x.to_le_bytes()[..bytes]);
        }
        return;
    }
    let mut words = out.chunks_exact_mut(8);
    let (mut bits, mut filled) = (0u128, 0);
    for x in residues {
        bits |= u128::from(*x) << filled;
        filled += width;
        if filled >= 64
            && let Some(word) = words.next()
        {
            word.copy_from_slice(&(bits as u64).to_le_bytes());
            bits >>= 64;
            filled -= 64;
        }
    }
    // The bytes may end in the middle of a word or exactly at its end.
    let tail = match words.next() {
        Some(word) => word,
        None => words.into_remainder(),
    };
    tail.copy_from_slice(&bits.to_le_bytes()[..tail.len()]);
}

/// Residues of at most this many bits lie within eight bytes, whichever bit of the first byte they
/// begin at.
const WITHIN_EIGHT: u32 = 57;

/// Reads residues that [`pack`] wrote, from [`packed_bytes`] bytes.
pub(super) fn unpack(out: &mut [u64], packed: &[u8], width: u32) {
    debug_assert_eq!(packed.len(), packed_bytes(width, out.len()));
    if width <= WITHIN_EIGHT {
        let mask = (1 << width) - 1;
        let (mut bit, width) = (0, width as usize);
        for x in out {
            let rest = &packed[bit / 8..];
            let word = match rest.first_chunk() {
                Some(eight) => u64::from_le_bytes(*eight),
                None => word(rest),
            };
            *x = word >> (bit % 8) & mask;
            bit += width;
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

/// Reads up to eight bytes as a little-endian number.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpack_undoes_pack_and_bits_are_where_they_are_documented(
            width in 1u32..=61,
            count in 1usize..80,
            words in prop::collection::vec(any::<u64>(), 80),
        ) {
            let residues: Vec<u64> =
                words[..count].iter().map(|x| x & ((1 << width) - 1)).collect();
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
