//! From plaintexts to values.

use std::{
    borrow::Borrow,
    sync::{Arc, PoisonError},
};

use hippocrene_ring::{Domain, Poly, ResidueRing};
use num_complex::Complex64;

use super::{
    EncodeError, Encoder,
    encode::check_scale,
    mixed_radix::{BLOCK, MixedRadix},
    scratch::Scratch,
};

/// Constants are kept for this many lists of moduli.
const KEPT: usize = 64;

/// About so many bits more are read to see whether they were.
const CHECK: f64 = 40.0;

/// What coefficients are likely to be below, in bits above the scale.
const HEADROOM: f64 = 24.0;

impl Encoder {
    /// The real parts of the slots of `plaintext`, divided by `scale`, of which `out.len()` are read (its slot count).
    /// Limb `i` belongs to `rings[i]`; either domain will do.
    ///
    /// The coefficients are taken as the representatives in `[-Q/2, Q/2)`, each to a relative error of a few 2^-53.
    /// `magnitude_bits` says what `log2` of the largest of them will hardly exceed (24 bits above the scale if it is not given):
    /// only as many limbs as that needs are read at first, and 40 bits more, to see whether it was exceeded; then all are. The
    /// result does not depend on it, but for a chance of 2^-40 for each coefficient that a larger one looks small.
    ///
    /// # Errors
    /// [`EncodeError`] when the slot count, the scale or the shape is not possible, or the result is out of the range of `f64`.
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

    /// [`Encoder::decode_real`] with the imaginary parts.
    ///
    /// # Errors
    /// As [`Encoder::decode_real`].
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

    /// The coefficients of `plaintext` over `scale`, folded for the transform, to `scratch.coefficients`.
    fn coefficients<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: f64,
        magnitude_bits: Option<f64>,
        slots: usize,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        self.check_slots(slots)?;
        check_scale(scale)?;
        self.check_rings(rings)?;
        for (what, have, need) in [
            ("coefficients", plaintext.degree(), self.degree),
            ("limbs of the plaintext", plaintext.limb_count(), rings.len()),
        ] {
            if have != need {
                return Err(EncodeError::Shape { what, have, need });
            }
        }
        let likely_bits = magnitude_bits.unwrap_or(scale.log2() + HEADROOM);
        if let Some((enough, read)) = limbs_for(rings, likely_bits) {
            let rings = &rings[..read];
            let used = self.with_coefficients(plaintext, rings, |limbs| {
                self.recombine(limbs, rings, scale, slots, scratch)
            })?;
            if used <= enough {
                return Ok(());
            }
        }
        self.with_coefficients(plaintext, rings, |limbs| {
            self.recombine(limbs, rings, scale, slots, scratch)
        })?;
        Ok(())
    }

    /// Hands the limbs that belong to `rings` to `work` in the coefficient domain.
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
            ring.borrow().ntt().inverse(limb);
        }
        work(copy.as_slice())
    }

    /// The coefficients that `slots` slots have, over `scale`; returns how many mixed-radix digits the largest of them needs.
    fn recombine<R: Borrow<ResidueRing>>(
        &self,
        limbs: &[u64],
        rings: &[R],
        scale: f64,
        slots: usize,
        scratch: &mut Scratch,
    ) -> Result<usize, EncodeError> {
        let radix = self.mixed_radix(rings)?;
        let weights = &mut scratch.weights;
        radix.weights(scale, weights);
        scratch.blocks.resize(rings.len() * BLOCK, 0);
        let blocks = &mut scratch.blocks[..rings.len() * BLOCK];
        let gap = self.degree / (2 * slots);
        let mut most = 1;
        let halves = [&mut scratch.coefficients.re[..slots], &mut scratch.coefficients.im[..slots]];
        for (half, out) in halves.into_iter().enumerate() {
            for (index, out) in out.chunks_mut(BLOCK).enumerate() {
                let start = (half * slots + index * BLOCK) * gap;
                for (limb, block) in limbs.chunks_exact(self.degree).zip(blocks.chunks_exact_mut(BLOCK)) {
                    gather(&mut block[..out.len()], &limb[start..], gap);
                }
                let count = radix.digits(self.kernel, rings, blocks, out.len().next_multiple_of(8));
                if weights[count - 1].is_infinite() {
                    let bits = rings[..count - 1].iter().map(|ring| ring.borrow().log2()).sum::<f64>();
                    return Err(EncodeError::OutOfRange { bits: bits - scale.log2() });
                }
                radix.evaluate(self.kernel, blocks, count, weights, out);
                most = most.max(count);
            }
        }
        Ok(most)
    }

    /// The constants for the moduli of `rings`, computed the first time.
    fn mixed_radix<R: Borrow<ResidueRing>>(&self, rings: &[R]) -> Result<Arc<MixedRadix>, EncodeError> {
        let mut kept = self.mixed_radix.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().find(|radix| radix.is_for(rings)) {
            return Ok(found.clone());
        }
        let new = Arc::new(MixedRadix::new(rings)?);
        if kept.len() == KEPT {
            kept.clear();
        }
        kept.push(new.clone());
        Ok(new)
    }
}

/// Every `gap`-th of `from`.
fn gather(to: &mut [u64], from: &[u64], gap: usize) {
    if gap == 1 {
        to.copy_from_slice(&from[..to.len()]);
    } else {
        for (to, from) in to.iter_mut().zip(from.iter().step_by(gap)) {
            *to = *from;
        }
    }
}

/// How many limbs hold every centred number of `bits` bits, and how many are [`CHECK`] bits more; when both exist.
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
    Some((enough, past(CHECK - 1.0, enough)?))
}
