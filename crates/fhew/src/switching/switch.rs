//! LWE key switches with a key that is laid out in memory.

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

/// The approximate number of digits that are transformed and multiplied together (chosen such that
/// they stay in the second-level cache).
const DIGITS_PER_INNER_PRODUCT: usize = 48;
/// The maximum number of terms of one inner product: a modulus has fewer digits than this.
const MAX_TERMS: usize = 64;

/// An [`LweSwitchingKey`] that is laid out in memory for the inner product.
///
/// ```
/// use hippocrene_fhew::{LweParameters, LweSecretKey, LweSwitchingKey};
/// use hippocrene_ring::primes::ntt_primes;
/// use hippocrene_rlwe::SecretDistribution;
///
/// // These dimensions are too small to be secure.
/// let q = ntt_primes(26, 64, 1, &[])?[0];
/// let parameters = |n| LweParameters::insecure(n, q, SecretDistribution::Ternary);
/// let from = LweSecretKey::generate(parameters(64)?)?;
/// let to = LweSecretKey::generate(parameters(16)?)?;
/// let key = LweSwitchingKey::generate(&from, &to, 4, 6)?.prepare()?;
/// let switched = key.switch(&from.encrypt(1 << 20)?)?;
/// assert!((to.decrypt(&switched)? - (1 << 20)).abs() < 1 << 14);
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
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
    /// The context of a dry run, which records operations.
    dry_run: Option<Arc<Context>>,
}

impl LweSwitchingKey {
    /// Expands the seed and lays the key out in memory.
    ///
    /// # Errors
    /// When an environment variable selects a kernel that this CPU lacks.
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
    /// Returns the parameters of ciphertexts before and after the switch.
    ///
    /// Both have the modulus of the latter.
    pub fn parameters(&self) -> [LweParameters; 2] {
        [self.from, self.to]
    }

    /// Returns the fingerprints of the secrets before and after the switch.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.from_key, self.to_key]
    }

    /// Returns the error that a switch adds ([`LweSwitchingKey::noise`]).
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Returns the memory of the key in bytes. In a dry run, this is the memory of a real key.
    pub fn bytes(&self) -> usize {
        if self.dry_run.is_some() {
            return self.stride() * self.digits.count() * self.ring.key_bytes(self.ring.degree());
        }
        self.key.bytes()
    }

    /// Returns the number `g = N/n` of classes into which
    /// [`PreparedLweSwitchingKey::switch_coefficients`] divides the coefficients.
    pub fn stride(&self) -> usize {
        self.from.dimension() / self.to.ring_degree()
    }

    /// Switches a ciphertext to the other secret (PEGASUS Fig. 9). The message stays the same.
    ///
    /// # Errors
    /// If the key, the dimension or the modulus of the ciphertext does not fit this key.
    pub fn switch(&self, ciphertext: &LweCiphertext) -> Result<LweCiphertext, FhewError> {
        self.check(ciphertext.key(), ciphertext.parameters())?;
        let (stride, q) = (self.stride(), self.to.modulus());
        let [mut c0, c1] = self.sum_of_products(|v, out| {
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

    /// Switches the coefficients `class + g k` of a ciphertext to the other secret.
    ///
    /// Here `g` is [`PreparedLweSwitchingKey::stride`]. The result is an RLWE ciphertext of degree
    /// `n` whose coefficient `k` is coefficient `class + g k` of `ciphertext`. So `n` values cost
    /// as much as one.
    ///
    /// # Errors
    /// If the key, the dimension or the modulus of the ciphertext does not fit this key.
    /// [`FhewError::Range`] if `class` is not below `g`.
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
        let [mut c0, c1] = self.sum_of_products(|v, out| {
            if v <= class {
                copy_strided(out, &a[class - v..], stride);
            } else {
                // Multiplies by Y.
                copy_strided(out, &a[class + stride - v..], stride);
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

    /// Returns both parts of the sum over `v` of `A_v` times the encryption of `S_v`, in the
    /// coefficient domain.
    ///
    /// `fill(v, ..)` writes `A_v`.
    fn sum_of_products(&self, mut fill: impl FnMut(usize, &mut [u64])) -> [Vec<u64>; 2] {
        let (degree, count) = (self.to.ring_degree(), self.digits.count());
        if let Some(context) = &self.dry_run {
            // In a dry run `c1` is 0, and so are the products.
            note_switch(context, &self.ring, self.stride() * count);
            return [vec![0; degree], vec![0; degree]];
        }
        let ring = &self.ring;
        let values_per_product = (DIGITS_PER_INNER_PRODUCT / count).clamp(1, self.stride());
        let mut scratch = self.scratch.take(values_per_product * count + 3, Domain::Evaluation);
        let (spare, digits) = scratch.as_mut_slice().split_at_mut(3 * degree);
        let (part, sums) = spare.split_at_mut(degree);
        let (sum0, sum1) = sums.split_at_mut(degree);
        let mut totals = [vec![0; degree], vec![0; degree]];
        for first in (0..self.stride()).step_by(values_per_product) {
            let vs = first..self.stride().min(first + values_per_product);
            let digits = &mut digits[..vs.len() * count * degree];
            for (v, digits) in vs.clone().zip(digits.chunks_exact_mut(count * degree)) {
                fill(v, part);
                self.digits.decompose(self.kernel, digits, part);
                digits.chunks_exact_mut(degree).for_each(|digit| ring.forward_lazy(digit));
            }
            let mut terms = [(0, [].as_slice()); MAX_TERMS];
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

fn copy_strided(out: &mut [u64], from: &[u64], stride: usize) {
    for (out, x) in out.iter_mut().zip(from.iter().step_by(stride)) {
        *out = *x;
    }
}
