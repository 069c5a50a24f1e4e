//! The automorphisms `X -> X^g` of `Z_q[X]/(X^N + 1)`.
//!
//! # In the evaluation domain
//! The image of `a` has the value `a(psi^(g e))` at `psi^e`. So the automorphism permutes the
//! values, in the same way for every modulus. In evaluation order (see [`crate::ntt`]) the
//! permutation has a structure that makes it cheap.
//!
//! Positions come in blocks of 64, or in one block of `N` for `N < 64`. With `s = 2N/64`, block `b`
//! holds the exponents `e_b + s t` for `t = 0 .. 63` and one `e_b < s`. Because
//! `g (e_b + s t) = (g e_b mod s) + s (g t + c_b)` with `c_b = floor(g e_b / s)`, every block is
//! read from one other block, by the affine map `t -> g t + c_b mod 64`. For every `N` there are 64
//! such maps.
//!
//! In a block, position `8 c + r` holds `t = 8 brv(c) + brv(r)`, where `brv` reverses 3 bits. The
//! low digit of `t` is the lane of an 8 x 8 matrix, and the high digit is its row. The affine map
//! permutes the lanes in the same way in every row, and then rotates the column of each lane
//! separately.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::{Kernel, RingError, arith::bit_reverse, ntt};

/// Returns the Galois element `5^steps mod 2N` of the automorphism that rotates the `N/2` slots by
/// `steps`.
///
/// Negative steps rotate in the opposite direction.
///
/// # Panics
/// If `degree`, a power of two, is less than 2.
pub fn galois_element_of_rotation(degree: usize, steps: i64) -> usize {
    let (order, mask) = ((degree / 2) as i64, 2 * degree - 1);
    let mut exponent = steps.rem_euclid(order);
    let (mut result, mut power) = (1usize, 5usize);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(power) & mask;
        }
        power = power.wrapping_mul(power) & mask;
        exponent >>= 1;
    }
    result
}

/// Returns the Galois element `2N - 1` of complex conjugation.
pub fn galois_element_of_conjugation(degree: usize) -> usize {
    2 * degree - 1
}

/// The source of one block of the image.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// The block that is read.
    source: u32,
    /// The index `c_b` of the affine map.
    offset: u32,
}

/// The automorphism `X -> X^g` of one ring degree, with its tables.
///
/// The tables have a few KiB and are made in microseconds.
///
/// ```
/// use hippocrene_ring::Automorphism;
///
/// // X^3 -> X^15, and X^5 -> X^25 = -X^9 modulo X^16 + 1.
/// let (mut a, mut image) = ([0; 16], [0; 16]);
/// (a[3], a[5]) = (7, 8);
/// Automorphism::new(16, 5)?.apply_coefficient(97, &mut image, &a);
/// assert_eq!((image[15], image[9]), (7, 97 - 8));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Automorphism {
    degree: usize,
    galois_element: usize,
    /// The inverse of `galois_element` modulo `2N`.
    inverse: usize,
    block_size: usize,
    blocks: Vec<Block>,
    /// The position in the source block that each position is read from, for all affine maps one
    /// after the other.
    positions: Vec<u8>,
    #[cfg(target_arch = "x86_64")]
    avx512: Option<avx512::Tables>,
}

impl Automorphism {
    /// Makes the automorphism `X -> X^galois_element` of ring degree `degree`, with the kernel of
    /// [`Kernel::detect`].
    ///
    /// # Errors
    /// - [`RingError::RingDegree`] if the degree is not supported.
    /// - [`RingError::GaloisElement`] if the element is even or not below `2N`.
    /// - [`RingError::Kernel`] if [`Kernel::detect`] fails.
    pub fn new(degree: usize, galois_element: usize) -> Result<Self, RingError> {
        Self::with_kernel(degree, galois_element, Kernel::detect()?)
    }

    fn with_kernel(
        degree: usize,
        galois_element: usize,
        kernel: Kernel,
    ) -> Result<Self, RingError> {
        ntt::check_degree(degree)?;
        let g = galois_element;
        if g.is_multiple_of(2) || g >= 2 * degree {
            return Err(RingError::GaloisElement { element: g, degree });
        }
        // Newton's iteration doubles the number of correct low bits. An odd number is its own
        // inverse modulo 8.
        let inverse = (0..3).fold(g, |x, _| x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x))))
            & (2 * degree - 1);

        let block_size = degree.min(64);
        let step = 2 * degree / block_size;
        let block_bits = (degree / block_size).trailing_zeros();
        let blocks = (0..degree / block_size)
            .map(|b| {
                let first = g * (2 * bit_reverse(b, block_bits) + 1);
                let source = bit_reverse((first % step) / 2, block_bits);
                Block { source: source as u32, offset: (first / step % block_size) as u32 }
            })
            .collect();

        // In a block of 64, `t` takes the role of the exponent of ring degree 64, in evaluation
        // order: e = 2 t + 1.
        let position_to_t: Vec<usize> =
            (0..block_size).map(|p| ntt::exponent(block_size, p) / 2).collect();
        let mut t_to_position = vec![0; block_size];
        for (p, &t) in position_to_t.iter().enumerate() {
            t_to_position[t] = p as u8;
        }
        let mut positions = Vec::with_capacity(block_size * block_size);
        for offset in 0..block_size {
            positions
                .extend(position_to_t.iter().map(|t| t_to_position[(g * t + offset) % block_size]));
        }
        #[cfg(target_arch = "x86_64")]
        let avx512 = (block_size == 64 && kernel >= Kernel::Avx512)
            .then(|| avx512::Tables::new(g))
            .flatten();
        #[cfg(not(target_arch = "x86_64"))]
        let _ = kernel;
        Ok(Automorphism {
            degree,
            galois_element,
            inverse,
            block_size,
            blocks,
            positions,
            #[cfg(target_arch = "x86_64")]
            avx512,
        })
    }

    /// Returns the ring degree.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the Galois element `g`.
    pub fn galois_element(&self) -> usize {
        self.galois_element
    }

    /// Sets `out` to the image of the limb `a`, both in the evaluation domain.
    ///
    /// This is a permutation of any 64-bit values.
    ///
    /// # Panics
    /// If a limb does not have the ring degree.
    pub fn apply_evaluation(&self, out: &mut [u64], a: &[u64]) {
        assert!(
            out.len() == self.degree && a.len() == self.degree,
            "a limb must have the ring degree"
        );
        self.permute(&self.blocks, 0, out, a);
    }

    /// Writes the values of these blocks of the image. `a` begins with block `first`.
    fn permute(&self, blocks: &[Block], first: usize, out: &mut [u64], a: &[u64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(tables) = &self.avx512 {
            return tables.permute(blocks, first, out, a);
        }
        let size = self.block_size;
        for (block, out) in blocks.iter().zip(out.chunks_exact_mut(size)) {
            let source = &a[(block.source as usize - first) * size..][..size];
            let positions = &self.positions[block.offset as usize * size..][..size];
            for (x, &p) in out.iter_mut().zip(positions) {
                *x = source[p as usize & (size - 1)];
            }
        }
    }

    /// Returns the position at which the source of a range of the image begins, in the evaluation
    /// domain.
    ///
    /// The `length` values of the image from position `first` on are a permutation of the `length`
    /// values of the limb from the returned position on. `length` is a power of two that divides
    /// `first`, and at least 64 (or `N` if that is less).
    ///
    /// # Panics
    /// If `first` is not below the ring degree.
    pub fn source(&self, first: usize, length: usize) -> usize {
        let block = &self.blocks[first / self.block_size];
        (block.source as usize * self.block_size) & !(length - 1)
    }

    /// Sets `out` to the values of the image from position `first` on.
    ///
    /// `a` has the values of the limb from position [`Automorphism::source`] on, as many as `out`.
    ///
    /// # Panics
    /// If `out` and `a` differ in length, or `first` and this length do not satisfy the conditions
    /// of [`Automorphism::source`].
    pub fn apply_evaluation_range(&self, first: usize, out: &mut [u64], a: &[u64]) {
        let (size, length) = (self.block_size, out.len());
        assert!(
            length.is_power_of_two()
                && length >= size
                && first.is_multiple_of(length)
                && a.len() == length,
            "both slices must have the same length, a power of two that divides {first}, but it is \
             {length}"
        );
        let blocks = &self.blocks[first / size..(first + length) / size];
        self.permute(blocks, self.source(first, length) / size, out, a);
    }

    /// Sets `out` to the image of the limb `a`, both in the coefficient domain with residues in
    /// `[0, q)`.
    ///
    /// This is a permutation with signs.
    ///
    /// # Panics
    /// If a limb does not have the ring degree.
    pub fn apply_coefficient(&self, q: u64, out: &mut [u64], a: &[u64]) {
        assert!(
            out.len() == self.degree && a.len() == self.degree,
            "a limb must have the ring degree"
        );
        // X^k goes to X^(g k), and X^N = -1. So the coefficient of X^j comes from k = j / g mod 2N,
        // with a minus sign if k >= N.
        let (inverse, mask) = (self.inverse, self.degree - 1);
        for (j, x) in out.iter_mut().enumerate() {
            let k = j.wrapping_mul(inverse);
            let value = a[k & mask];
            let negative = if value == 0 { 0 } else { q - value };
            *x = if k & (mask + 1) == 0 { value } else { negative };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arith::neg_mod,
        ntt::NttPlan,
        primes::ntt_primes,
        sample::{Sampler, Seed},
    };

    fn random(degree: usize, q: u64) -> Vec<u64> {
        let mut a = vec![0; degree];
        Sampler::new(&Seed::from_bytes([3; 32]), degree as u64).uniform(q, &mut a);
        a
    }

    fn elements(degree: usize) -> impl Iterator<Item = usize> {
        let all = 2 * degree;
        (1..all)
            .step_by(if degree <= 256 { 2 } else { (all / 64 + 1) | 1 })
            .filter(|g| g % 2 == 1)
            .chain([5, all - 1, all / 2 + 1, galois_element_of_rotation(degree, -1)])
    }

    /// Computes the image by substitution: the coefficient of X^k goes to X^(g k mod 2N), and X^(N
    /// + j) = -X^j.
    fn substitute(g: usize, q: u64, a: &[u64]) -> Vec<u64> {
        let n = a.len();
        let mut out = vec![0; n];
        for (k, &x) in a.iter().enumerate() {
            let j = g * k % (2 * n);
            out[j % n] = if j < n { x } else { neg_mod(x, q) };
        }
        out
    }

    #[test]
    fn both_domains_agree_with_substitution() {
        for log in 4..13 {
            let degree = 1 << log;
            let q = ntt_primes(40, degree, 1, &[]).unwrap()[0];
            let plan = NttPlan::new(q, degree, Kernel::Portable).unwrap();
            let mut a = random(degree, q);
            a[1] = 0;
            let mut values = a.clone();
            plan.forward(&mut values);
            for g in elements(degree) {
                let mut expected = substitute(g, q, &a);
                let mut out = vec![0; degree];
                Automorphism::new(degree, g).unwrap().apply_coefficient(q, &mut out, &a);
                assert_eq!(out, expected, "{degree} {g}");
                plan.forward(&mut expected);
                for kernel in Kernel::supported() {
                    let automorphism = Automorphism::with_kernel(degree, g, kernel).unwrap();
                    automorphism.apply_evaluation(&mut out, &values);
                    assert_eq!(out, expected, "{degree} {g} {kernel}");
                    let shortest = degree.min(64);
                    for length in
                        (0..).map(|k| shortest << k).take_while(|length| *length <= degree)
                    {
                        out.fill(0);
                        for (i, out) in out.chunks_exact_mut(length).enumerate() {
                            let source = automorphism.source(i * length, length);
                            let values = &values[source..source + length];
                            automorphism.apply_evaluation_range(i * length, out, values);
                        }
                        assert_eq!(out, expected, "{degree} {g} {kernel}, by {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn images_compose_and_invert() {
        let degree = 1 << 17;
        let a = random(degree, 1 << 60);
        let image = |g: usize, a: &[u64]| {
            let mut out = vec![0; degree];
            Automorphism::new(degree, g % (2 * degree)).unwrap().apply_evaluation(&mut out, a);
            out
        };
        for (steps, other) in [(1, 2), (-3, 1000), (77, 65_000)] {
            let g = galois_element_of_rotation(degree, steps);
            let h =
                galois_element_of_rotation(degree, other) * galois_element_of_conjugation(degree);
            assert_eq!(image(g, &image(h, &a)), image(g * (h % (2 * degree)), &a));
            assert_eq!(image(galois_element_of_rotation(degree, -steps), &image(g, &a)), a);
            assert_ne!(image(g, &a), a);
        }
    }

    #[test]
    fn rotations_are_powers_of_five() {
        for degree in [16, 64, 1 << 14] {
            let mut power = 1;
            for steps in 0..degree as i64 / 2 {
                assert_eq!(galois_element_of_rotation(degree, steps), power);
                assert_eq!(galois_element_of_rotation(degree, steps - degree as i64 / 2), power);
                power = power * 5 % (2 * degree);
            }
            assert_eq!(power, 1);
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let error = |degree, element| Automorphism::new(degree, element).unwrap_err();
        assert_eq!(error(24, 5), RingError::RingDegree { degree: 24 });
        assert_eq!(error(16, 4), RingError::GaloisElement { element: 4, degree: 16 });
        assert_eq!(error(16, 33), RingError::GaloisElement { element: 33, degree: 16 });
    }
}
