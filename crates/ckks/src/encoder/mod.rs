//! Encoding of vectors into plaintext polynomials and decoding: the canonical embedding, scaled and
//! rounded.
//!
//! A vector `z` of `n` slots, where `n` is a power of two from 1 to `N/2`, and a scale `S` are
//! encoded as the integer polynomial `m = p(X^(N/2n))` with `p(xi^(5^j)) = S z_j` up to rounding.
//! Here `xi = exp(2 pi i / 4n)`, and `p` is real of degree below `2n`. Sums and products of such
//! polynomials modulo `X^N + 1` are sums and products of their slots, and the automorphism `X ->
//! X^(5^k)` rotates the slots by `k`.
//!
//! # Precision
//! The special FFT has a relative error of about 2^-52 (of the root mean square). So plaintexts are
//! exact to the unit for scaled values up to about 2^50. Larger scales work up to the modulus, but
//! values keep only the 53 bits of `f64`.
//!
//! Multi-precision numbers ([`crate::BigFloat`]) use a different transform
//! ([`Encoder::quantise_big_real`], [`Encoder::decode_big_real`]), with which plaintexts are exact
//! to the unit up to about 2^280. [`crate::Context::encode`] also uses it for doubles if scaled
//! values exceed 2^55. Below that, `f64` is as precise as a ciphertext, and faster. At ring degree
//! 2^14 with eight limbs, encoding takes 4.1 ms at scale 2^120 and 0.26 ms from `f64`, and decoding
//! takes 4.4 ms and 0.05 ms (`hippocrene-bench ops`).
//!
//! # Time
//! The time of an encoding or a decoding depends on the magnitude of the largest value, and on
//! nothing else about the values. That magnitude determines the number of words of a coefficient
//! and the number of limbs that are read back.
//!
//! # Reproducibility
//! All computations are fixed sequences of correctly rounded additions and multiplications. They
//! are never fused, and the tables use no library function. So the same vector always gives the
//! same plaintext, and the same plaintext the same vector, bit by bit, on every kernel and every
//! CPU.

mod big;
mod butterfly;
mod decode;
mod encode;
mod error;
mod fft;
mod integer;
mod lanes;
mod mixed_radix;
mod roots;
mod round;
mod rounding;
mod scratch;
#[cfg(test)]
mod tests;

use std::{
    borrow::Borrow,
    sync::{Arc, Mutex, OnceLock},
};

use hippocrene_ring::{Kernel, ResidueRing, RingError, scratch::ScratchPool};
use num_complex::{Complex, Complex64};

pub use error::EncodeError;
pub use integer::IntegerPolynomial;
pub use rounding::Rounding;

use big::Tables;
use fft::SpecialFft;
use mixed_radix::MixedRadix;
use roots::Circle;
use scratch::Pool;

use crate::BigFloat;

/// Encodes and decodes vectors for one ring degree. Threads can share it. Calls keep their scratch
/// memory for reuse.
///
/// ```
/// use hippocrene_ckks::encoder::Encoder;
/// use hippocrene_ring::{Domain, Kernel, Poly, ResidueRing, primes};
///
/// let (degree, kernel) = (1 << 10, Kernel::detect()?);
/// let rings = primes::ntt_primes(40, degree, 2, &[])?
///     .into_iter()
///     .map(|q| ResidueRing::prime(q, degree, kernel))
///     .collect::<Result<Vec<_>, _>>()?;
/// let encoder = Encoder::new(degree, kernel)?;
///
/// let scale = (1u64 << 40) as f64;
/// let mut plaintext = Poly::zero(degree, 0, Domain::Evaluation);
/// encoder.encode_real(&[1.5, -2.25, 3.0], 512, scale, &rings, &mut plaintext)?;
///
/// let mut slots = [0.0; 512];
/// encoder.decode_real(&plaintext, &rings, scale, None, &mut slots)?;
/// assert!((slots[1] + 2.25).abs() < 1e-9 && slots[3].abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Encoder {
    degree: usize,
    kernel: Kernel,
    fft: SpecialFft,
    big: Tables,
    circle: OnceLock<Circle>,
    pool: Pool,
    limbs: ScratchPool,
    mixed_radix: Mutex<Vec<Arc<MixedRadix>>>,
}

/// Leaves out the tables.
impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Encoder {{ degree: {}, kernel: {:?}, .. }}", self.degree, self.kernel)
    }
}

impl Encoder {
    /// Creates an encoder for the ring degree `degree`, a power of two from `2^4` to `2^17`, with a
    /// kernel that this CPU supports ([`Kernel::detect`]). It needs about 40 ns and
    /// 16 bytes of memory per coefficient.
    ///
    /// # Errors
    /// Fails with [`RingError::RingDegree`] if the degree is not supported, and with
    /// [`RingError::Kernel`] if the kernel is not.
    pub fn new(degree: usize, kernel: Kernel) -> Result<Self, EncodeError> {
        if !degree.is_power_of_two() || !(16..=1 << 17).contains(&degree) {
            return Err(RingError::RingDegree { degree }.into());
        }
        if !kernel.is_supported() {
            let reason = "this CPU does not support it".into();
            return Err(RingError::Kernel { value: format!("{kernel:?}"), reason }.into());
        }
        Ok(Encoder {
            degree,
            kernel,
            fft: SpecialFft::new(degree.ilog2() - 1, kernel),
            big: Tables::new(degree.ilog2() - 1),
            circle: OnceLock::new(),
            pool: Pool::new(degree),
            limbs: ScratchPool::new(degree),
            mixed_radix: Mutex::new(Vec::new()),
        })
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The largest slot count, `N/2`.
    pub fn max_slots(&self) -> usize {
        self.degree / 2
    }

    /// Returns `exp(2 pi i t / 2^log_order)`, correctly rounded, where `2^log_order` divides `2N`.
    pub(crate) fn root(&self, t: u32, log_order: u32) -> Complex64 {
        let log = self.degree.ilog2() + 1;
        let circle = self.circle.get_or_init(|| Circle::new(log));
        let (re, im) = circle.point(((t as usize) << (log - log_order)) & (2 * self.degree - 1));
        Complex64 { re, im }
    }

    /// Returns [`Encoder::root`] to 320 bits, times `2^shift` with `shift <= 0`.
    pub(crate) fn big_root(&self, t: u32, log_order: u32, shift: i32) -> Complex<BigFloat> {
        let (re, im) = self.big.root(t, log_order, shift);
        Complex { re, im }
    }

    /// Wipes and frees the scratch memory that calls keep for reuse. It may contain data that was
    /// encoded or decoded. Dropping the encoder does the same.
    pub fn wipe_scratch(&self) {
        self.pool.wipe_scratch();
        self.limbs.wipe_scratch();
    }

    /// Checks the number of slots.
    fn check_slots(&self, slots: usize) -> Result<(), EncodeError> {
        if slots.is_power_of_two() && slots <= self.max_slots() {
            Ok(())
        } else {
            Err(EncodeError::SlotCount { slots, max_slots: self.max_slots() })
        }
    }

    /// Checks that there are rings and that all have the encoder's degree.
    fn check_rings<R: Borrow<ResidueRing>>(&self, rings: &[R]) -> Result<(), EncodeError> {
        if rings.is_empty() {
            return Err(EncodeError::Shape { what: "moduli", have: 0, need: 1 });
        }
        match rings.iter().map(|ring| ring.borrow().degree()).find(|&degree| degree != self.degree)
        {
            None => Ok(()),
            Some(have) => {
                Err(EncodeError::Shape { what: "coefficients of a ring", have, need: self.degree })
            }
        }
    }
}
