//! Decoding of plaintexts into values.

use std::{
    borrow::Borrow,
    ops::Range,
    sync::{Arc, PoisonError},
};

use aligned_vec::{AVec, ConstAlign};
use hippocrene_ring::{Domain, Kernel, Poly, ResidueRing};
use num_complex::Complex64;

use super::{
    EncodeError, Encoder,
    encode::check_scale,
    mixed_radix::{BLOCK, MixedRadix},
    scratch::Scratch,
};

/// Maximum number of lists of moduli whose constants are cached. Chosen.
const MAX_CACHED_CONSTANTS: usize = 64;

/// Number of additional bits that are read to check whether the first limbs were enough. Chosen.
const CHECK_BITS: f64 = 40.0;

/// Assumed largest size of coefficients, in bits above the scale. Chosen.
pub(super) const ASSUMED_HEADROOM_BITS: f64 = 24.0;

impl Encoder {
    /// Decodes the real parts of the slots of `plaintext`, divided by `scale`. The number of slots
    /// is `out.len()`. Limb `i` belongs to `rings[i]`, in either domain.
    ///
    /// The coefficients are taken as representatives in `[-Q/2, Q/2)`, each with a relative error
    /// of a few 2^-53.
    ///
    /// `magnitude_bits` is an estimate of `log2` of the largest coefficient. The default is 24 bits
    /// above the scale. At first only the limbs for that size are read, and 40 bits more to check
    /// it. If the coefficients are larger, all limbs are read. The result does not depend on the
    /// estimate, except with a probability of 2^-40 for each coefficient that a larger one looks
    /// small.
    ///
    /// # Errors
    /// Fails with [`EncodeError`] if the number of slots, the scale or the shape is not possible,
    /// or if the result is outside of the range of `f64`.
    pub fn decode_real<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: f64,
        magnitude_bits: Option<f64>,
        out: &mut [f64],
    ) -> Result<(), EncodeError> {
        self.pool.lend(|scratch| {
            self.coefficients(plaintext, rings, scale, magnitude_bits, out.len(), scratch)?;
            let (x, y) = (&mut scratch.coefficients.re, &mut scratch.coefficients.im);
            let slots = out.len();
            self.fft.forward(&mut x[..slots], &mut y[..slots], out, &mut scratch.slots.im[..slots]);
            Ok(())
        })
    }

    /// Like [`Encoder::decode_real`], with the imaginary parts.
    ///
    /// # Errors
    /// Fails as [`Encoder::decode_real`] does.
    pub fn decode_complex<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: f64,
        magnitude_bits: Option<f64>,
        out: &mut [Complex64],
    ) -> Result<(), EncodeError> {
        self.pool.lend(|scratch| {
            self.coefficients(plaintext, rings, scale, magnitude_bits, out.len(), scratch)?;
            let (x, y) = (&mut scratch.coefficients.re, &mut scratch.coefficients.im);
            let slots = out.len();
            let (re, im) = (&mut scratch.slots.re[..slots], &mut scratch.slots.im[..slots]);
            self.fft.forward(&mut x[..slots], &mut y[..slots], re, im);
            for ((out, &mut re), &mut im) in out.iter_mut().zip(re).zip(im) {
                *out = Complex64 { re, im };
            }
            Ok(())
        })
    }

    /// Writes the coefficients of `plaintext`, divided by `scale` and folded for the transform, to
    /// `scratch.coefficients`.
    fn coefficients<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: f64,
        magnitude_bits: Option<f64>,
        slots: usize,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        check_scale(scale)?;
        let likely_bits = magnitude_bits.unwrap_or(scale.log2() + ASSUMED_HEADROOM_BITS);
        let Scratch { coefficients, blocks, weights, .. } = scratch;
        let halves = (&mut coefficients.re[..slots], &mut coefficients.im[..slots]);
        let mut doubles = Doubles { kernel: self.kernel, scale, weights, halves };
        self.recombine(plaintext, rings, likely_bits, slots, blocks, &mut doubles)
    }

    /// Recombines the coefficients that `slots` slots have from their residues. At first it reads
    /// as many limbs as coefficients of `likely_bits` bits need, and then all of them if the
    /// coefficients are larger.
    pub(super) fn recombine<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        likely_bits: f64,
        slots: usize,
        blocks: &mut AVec<u64, ConstAlign<64>>,
        out: &mut impl Recombined,
    ) -> Result<(), EncodeError> {
        self.check_slots(slots)?;
        self.check_rings(rings)?;
        for (what, have, need) in [
            ("coefficients", plaintext.degree(), self.degree),
            ("limbs of the plaintext", plaintext.limb_count(), rings.len()),
            (
                "limbs with residues",
                if plaintext.is_dry_run() { 0 } else { rings.len() },
                rings.len(),
            ),
        ] {
            if have != need {
                return Err(EncodeError::Shape { what, have, need });
            }
        }
        if let Some((enough, read)) = limbs_for(rings, likely_bits)
            && read < rings.len()
        {
            let rings = &rings[..read];
            let used = self.with_coefficients(plaintext, rings, |limbs| {
                self.recombine_limbs(limbs, rings, slots, blocks, out)
            })?;
            if used <= enough {
                return Ok(());
            }
        }
        self.with_coefficients(plaintext, rings, |limbs| {
            self.recombine_limbs(limbs, rings, slots, blocks, out)
        })?;
        Ok(())
    }

    /// Calls `work` with the limbs that belong to `rings`, in the coefficient domain.
    fn with_coefficients<R: Borrow<ResidueRing>, T>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        work: impl FnOnce(&[u64]) -> T,
    ) -> T {
        let limbs = &plaintext.as_slice()[..rings.len() * self.degree];
        if plaintext.domain() == Domain::Coefficient {
            return work(limbs);
        }
        let mut copy = self.limbs.take(rings.len(), Domain::Coefficient);
        copy.as_mut_slice().copy_from_slice(limbs);
        for (ring, limb) in rings.iter().zip(copy.limbs_mut()) {
            ring.borrow().inverse(limb);
        }
        work(copy.as_slice())
    }

    /// Recombines the coefficients of a plaintext of `slots` slots from their residues in `limbs`.
    ///
    /// These are `2 slots` coefficients at equal distances, and all others are 0. Returns the
    /// number of mixed-radix digits that the largest of the coefficients needs.
    fn recombine_limbs<R: Borrow<ResidueRing>>(
        &self,
        limbs: &[u64],
        rings: &[R],
        slots: usize,
        blocks: &mut AVec<u64, ConstAlign<64>>,
        out: &mut impl Recombined,
    ) -> Result<usize, EncodeError> {
        // An even modulus comes first: see `mixed_radix`.
        let order = even_first(rings);
        let limbs: Vec<&[u64]> =
            order.iter().map(|&i| &limbs[i * self.degree..(i + 1) * self.degree]).collect();
        let rings: Vec<&ResidueRing> = order.iter().map(|&i| rings[i].borrow()).collect();
        let radix = self.mixed_radix(&rings)?;
        out.begin(&radix);
        blocks.resize(rings.len() * BLOCK, 0);
        let gap = self.degree / (2 * slots);
        let mut most = 1;
        for half in 0..2 {
            for start in (0..slots).step_by(BLOCK) {
                let length = BLOCK.min(slots - start);
                for (limb, block) in limbs.iter().zip(blocks.chunks_exact_mut(BLOCK)) {
                    gather(&mut block[..length], &limb[(half * slots + start) * gap..], gap);
                }
                let count = radix.digits(self.kernel, &rings, blocks, length.next_multiple_of(8));
                out.block(&radix, blocks, count, half, start..start + length)?;
                most = most.max(count);
            }
        }
        Ok(most)
    }

    /// Returns the constants for the moduli of `rings`, from the cache if they are in it.
    fn mixed_radix<R: Borrow<ResidueRing>>(
        &self,
        rings: &[R],
    ) -> Result<Arc<MixedRadix>, EncodeError> {
        let mut kept = self.mixed_radix.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().find(|radix| radix.is_for(rings)) {
            return Ok(found.clone());
        }
        let new = Arc::new(MixedRadix::new(rings)?);
        if kept.len() == MAX_CACHED_CONSTANTS {
            kept.clear();
        }
        kept.push(new.clone());
        Ok(new)
    }
}

/// A consumer of recombined coefficients.
pub(super) trait Recombined {
    /// Announces coefficients modulo the product of the moduli of `radix`. If the coefficients turn
    /// out to be larger than this product, `begin` is called again with more moduli, and all blocks
    /// follow again.
    fn begin(&mut self, radix: &MixedRadix);

    /// Receives the coefficients at `places` of a half (0 is the lower one) as blocks of their
    /// first `count` digits.
    fn block(
        &mut self,
        radix: &MixedRadix,
        digits: &[u64],
        count: usize,
        half: usize,
        places: Range<usize>,
    ) -> Result<(), EncodeError>;
}

/// Receives coefficients as `f64`, divided by a scale.
struct Doubles<'a> {
    kernel: Kernel,
    scale: f64,
    weights: &'a mut Vec<f64>,
    halves: (&'a mut [f64], &'a mut [f64]),
}

impl Recombined for Doubles<'_> {
    fn begin(&mut self, radix: &MixedRadix) {
        radix.weights(self.scale, self.weights);
    }

    fn block(
        &mut self,
        radix: &MixedRadix,
        digits: &[u64],
        count: usize,
        half: usize,
        places: Range<usize>,
    ) -> Result<(), EncodeError> {
        if self.weights[count - 1].is_infinite() {
            return Err(EncodeError::OutOfRange {
                bits: radix.log2(count - 1) - self.scale.log2(),
            });
        }
        let out = if half == 0 { &mut *self.halves.0 } else { &mut *self.halves.1 };
        radix.evaluate(self.kernel, digits, count, self.weights, &mut out[places]);
        Ok(())
    }
}

/// Returns the order of the digits: that of the limbs, but with an even modulus first.
fn even_first<R: Borrow<ResidueRing>>(rings: &[R]) -> Vec<usize> {
    let is_even = |&i: &usize| rings[i].borrow().modulus().is_multiple_of(2);
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..rings.len()).partition(is_even);
    [even, odd].concat()
}

/// Copies every `gap`-th number of `from`.
fn gather(to: &mut [u64], from: &[u64], gap: usize) {
    if gap == 1 {
        to.copy_from_slice(&from[..to.len()]);
    } else {
        for (to, from) in to.iter_mut().zip(from.iter().step_by(gap)) {
            *to = *from;
        }
    }
}

/// Returns the number of limbs that hold every centred number of `bits` bits, and the number that
/// hold [`CHECK_BITS`] more, if both exist.
fn limbs_for<R: Borrow<ResidueRing>>(rings: &[R], bits: f64) -> Option<(usize, usize)> {
    let past = |bits: f64, from: usize| {
        let mut room = 0.0;
        (from..rings.len())
            .find(|&i| {
                room += rings[i].borrow().log2();
                room > bits
            })
            .map(|last| last + 1)
    };
    let enough = past(bits + 1.0, 0)?;
    Some((enough, past(CHECK_BITS - 1.0, enough)?))
}
