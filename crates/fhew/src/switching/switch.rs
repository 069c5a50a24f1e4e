//! The key in memory, and switches with it.

use std::sync::Arc;

use hippocrene_ring::{
    Domain, Kernel, ResidueRing,
    arith::{add_mod, neg_mod},
    digits::Digits,
    elementwise::KeyLimb,
    scratch::ScratchPool,
};
use hippocrene_rlwe::{Context, Fingerprint, Noise, RlweError};

use super::{LweSwitchingKey, count::note_switch};
use crate::{
    FhewError, LweCiphertext, LweParameters, RlweCoefficients,
    samples::{expand, rings},
};

/// About how many digits go through transforms and inner product together: they stay in the
/// second-level cache.
const TOGETHER: usize = 48;
/// No fewer than the digits of a modulus.
const MOST: usize = 64;

/// An [`LweSwitchingKey`] in memory, laid out for the inner product.
#[derive(Debug)]
pub struct PreparedLweSwitchingKey {
    from: LweParameters,
    to: LweParameters,
    from_key: Fingerprint,
    to_key: Fingerprint,
    noise: Noise,
    kernel: Kernel,
    digits: Digits,
    ring: ResidueRing,
    key: KeyLimb,
    scratch: ScratchPool,
    /// The context of a dry run, in which operations are noted.
    dry_run: Option<Arc<Context>>,
}

impl LweSwitchingKey {
    /// Expands the seed and lays the key out.
    ///
    /// # Errors
    /// When the environment asks for a kernel that this CPU lacks.
    pub fn prepare(&self) -> Result<PreparedLweSwitchingKey, FhewError> {
        let mut rings = rings(self.to.ring_degree(), &[self.to.modulus()])?;
        let a: Vec<Vec<u64>> =
            (0..self.b.limb_count()).map(|i| expand(&rings, &self.seed, i, 0)).collect();
        let ring = rings.swap_remove(0);
        let pairs: Vec<(&[u64], &[u64])> =
            self.b.limbs().zip(a.iter().map(Vec::as_slice)).collect();
        let mut key = [KeyLimb::of_pairs(&ring, &pairs)];
        KeyLimb::gather(&mut key);
        let [key] = key;
        Ok(PreparedLweSwitchingKey {
            from: self.from,
            to: self.to,
            from_key: self.from_key,
            to_key: self.to_key,
            noise: self.noise(),
            kernel: Kernel::detect()?,
            digits: self.digits,
            key,
            scratch: ScratchPool::new(ring.degree()),
            ring,
            dry_run: self.dry_run.clone(),
        })
    }
}

impl PreparedLweSwitchingKey {
    /// The parameters of ciphertexts before and after; both are modulo the modulus of the latter.
    pub fn parameters(&self) -> [LweParameters; 2] {
        [self.from, self.to]
    }

    /// The fingerprints of the secrets before and after.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.from_key, self.to_key]
    }

    /// The error that a switch adds ([`LweSwitchingKey::noise`]).
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        if self.dry_run.is_some() {
            return self.stride() * self.digits.count() * self.ring.key_bytes(self.ring.degree());
        }
        self.key.bytes()
    }

    /// How many classes the coefficients fall into that
    /// [`PreparedLweSwitchingKey::switch_coefficients`] takes at once: `g = N/n`.
    pub fn stride(&self) -> usize {
        self.from.dimension() / self.to.ring_degree()
    }

    /// The ciphertext of the same message under the other secret (PEGASUS Fig. 9).
    ///
    /// # Errors
    /// When key, dimension or modulus of the ciphertext are not those that this key switches.
    pub fn switch(&self, ciphertext: &LweCiphertext) -> Result<LweCiphertext, FhewError> {
        self.check(ciphertext.key(), ciphertext.parameters())?;
        let (stride, q) = (self.stride(), self.to.modulus());
        let [mut c0, c1] = self.sum(|v, out| {
            let mut values = ciphertext.a()[v..].iter().step_by(stride);
            out[0] = values.next().copied().unwrap_or(0);
            for (out, x) in out[1..].iter_mut().rev().zip(values) {
                *out = neg_mod(*x, q);
            }
        });
        c0[0] = add_mod(c0[0], ciphertext.b(), q);
        RlweCoefficients::new(self.to, c0, c1, ciphertext.noise().plus(self.noise), self.to_key)
            .extract(0)
    }

    /// The RLWE ciphertext of degree `n` under the other secret whose coefficient `k` is
    /// coefficient `class + g k` of this one, `g` being
    /// [`PreparedLweSwitchingKey::stride`]: `n` values at the price of one.
    ///
    /// # Errors
    /// When key, dimension or modulus of the ciphertext are not those that this key switches;
    /// [`FhewError::Range`] when `class` is not below `g`.
    pub fn switch_coefficients(
        &self,
        ciphertext: &RlweCoefficients,
        class: usize,
    ) -> Result<RlweCoefficients, FhewError> {
        self.check(ciphertext.key(), ciphertext.parameters())?;
        let (stride, q) = (self.stride(), self.to.modulus());
        if class >= stride {
            let (have, limit) = (class as u64, stride as u64);
            return Err(FhewError::Range { operation: OPERATION, what: "the class", have, limit });
        }
        let [b, a] = ciphertext.parts();
        let [mut c0, c1] = self.sum(|v, out| {
            if v <= class {
                gather(out, &a[class - v..], stride);
            } else {
                // Times Y.
                gather(out, &a[class + stride - v..], stride);
                out.rotate_right(1);
                out[0] = neg_mod(out[0], q);
            }
        });
        for (x, b) in c0.iter_mut().zip(b[class..].iter().step_by(stride)) {
            *x = add_mod(*x, *b, q);
        }
        let noise = ciphertext.noise().plus(self.noise);
        Ok(RlweCoefficients::new(self.to, c0, c1, noise, self.to_key))
    }

    /// The sum over `v` of the products of `A_v`, which `fill(v, ..)` writes, with the encryptions
    /// of the `S_v`: both parts, in the coefficient domain.
    fn sum(&self, mut fill: impl FnMut(usize, &mut [u64])) -> [Vec<u64>; 2] {
        let (degree, count) = (self.to.ring_degree(), self.digits.count());
        if let Some(context) = &self.dry_run {
            // What is no message is 0.
            note_switch(context, &self.ring, self.stride() * count);
            return [vec![0; degree], vec![0; degree]];
        }
        let ring = &self.ring;
        let together = (TOGETHER / count).clamp(1, self.stride());
        let mut scratch = self.scratch.take(together * count + 3, Domain::Evaluation);
        let (spare, digits) = scratch.as_mut_slice().split_at_mut(3 * degree);
        let (part, sums) = spare.split_at_mut(degree);
        let (sum0, sum1) = sums.split_at_mut(degree);
        let mut totals = [vec![0; degree], vec![0; degree]];
        for first in (0..self.stride()).step_by(together) {
            let vs = first..self.stride().min(first + together);
            let digits = &mut digits[..vs.len() * count * degree];
            for (v, digits) in vs.clone().zip(digits.chunks_exact_mut(count * degree)) {
                fill(v, part);
                self.digits.decompose(self.kernel, digits, part);
                digits.chunks_exact_mut(degree).for_each(|digit| ring.forward_lazy(digit));
            }
            let mut terms = [(0, [].as_slice()); MOST];
            let terms = &mut terms[..vs.len() * count];
            for ((i, term), digit) in terms.iter_mut().enumerate().zip(digits.chunks_exact(degree))
            {
                *term = (first * count + i, digit);
            }
            ring.inner_product(sum0, sum1, terms, &self.key);
            ring.add_assign(&mut totals[0], sum0);
            ring.add_assign(&mut totals[1], sum1);
        }
        totals.iter_mut().for_each(|total| ring.inverse(total));
        totals
    }

    fn check(&self, key: Fingerprint, parameters: LweParameters) -> Result<(), FhewError> {
        if key != self.from_key {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: key,
                need: self.from_key,
            }
            .into());
        }
        let (have, need) = (parameters.dimension(), self.from.dimension());
        if have != need {
            return Err(FhewError::Dimension { operation: OPERATION, have, need });
        }
        let (have, need) = (parameters.modulus(), self.to.modulus());
        if have != need {
            return Err(FhewError::Modulus { operation: OPERATION, have, need });
        }
        Ok(())
    }
}

const OPERATION: &str = "switch keys";

fn gather(out: &mut [u64], from: &[u64], stride: usize) {
    for (out, x) in out.iter_mut().zip(from.iter().step_by(stride)) {
        *out = *x;
    }
}
