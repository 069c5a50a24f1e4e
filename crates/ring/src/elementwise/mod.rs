//! Operations on one limb: vectors of residues modulo one `q < 2^61`.
//!
//! Inputs and outputs are canonical, in `[0, q)`, unless an operation says otherwise. Slices of one call have one length,
//! a multiple of 8.

use crate::{
    Kernel,
    arith::{add_mod, mul_mod, neg_mod, signed_mod, sub_mod},
};

/// A constant prepared by [`Elementwise::scalar`].
#[derive(Debug, Clone, Copy)]
pub struct Scalar {
    value: u64,
}

impl Scalar {
    /// The constant itself, in `[0, q)`.
    pub fn value(&self) -> u64 {
        self.value
    }
}

/// One limb of a switching key, prepared by [`Elementwise::prepare_key`]: for each digit `d` the pair `(b_d, a_d)`.
#[derive(Debug, Clone)]
pub struct KeyLimb {
    digits: usize,
    /// Blocks of 8 residues: `[block][digit][b, a][8]`.
    words: Vec<u64>,
}

impl KeyLimb {
    /// How many digits it holds.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

/// The operations modulo one `q`, with the constants they need.
#[derive(Debug, Clone)]
pub struct Elementwise {
    q: u64,
}

impl Elementwise {
    /// For any `q` in `[3, 2^61)`.
    pub fn new(q: u64, kernel: Kernel) -> Self {
        let _ = kernel;
        Elementwise { q }
    }

    /// The modulus.
    pub fn modulus(&self) -> u64 {
        self.q
    }

    /// Prepares the constant `c` (reduced modulo `q` first).
    pub fn scalar(&self, c: u64) -> Scalar {
        Scalar { value: c % self.q }
    }

    /// `a = a + b`.
    pub fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = add_mod(*a, *b, self.q));
    }

    /// `a = a - b`.
    pub fn sub_assign(&self, a: &mut [u64], b: &[u64]) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = sub_mod(*a, *b, self.q));
    }

    /// `a = b - a`.
    pub fn sub_from_assign(&self, a: &mut [u64], b: &[u64]) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = sub_mod(*b, *a, self.q));
    }

    /// `a = -a`.
    pub fn neg_assign(&self, a: &mut [u64]) {
        a.iter_mut().for_each(|a| *a = neg_mod(*a, self.q));
    }

    /// `out = a + b`.
    pub fn add(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        out.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = add_mod(*a, *b, self.q));
    }

    /// `out = a - b`.
    pub fn sub(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        out.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = sub_mod(*a, *b, self.q));
    }

    /// `out = a b`.
    pub fn mul(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        out.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = mul_mod(*a, *b, self.q));
    }

    /// `a = a b`.
    pub fn mul_assign(&self, a: &mut [u64], b: &[u64]) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = mul_mod(*a, *b, self.q));
    }

    /// `acc = acc + a b`.
    pub fn mul_add_assign(&self, acc: &mut [u64], a: &[u64], b: &[u64]) {
        acc.iter_mut()
            .zip(a)
            .zip(b)
            .for_each(|((c, a), b)| *c = add_mod(*c, mul_mod(*a, *b, self.q), self.q));
    }

    /// `a = a s`.
    pub fn mul_scalar_assign(&self, a: &mut [u64], s: &Scalar) {
        a.iter_mut().for_each(|a| *a = mul_mod(*a, s.value, self.q));
    }

    /// `out = a s`.
    pub fn mul_scalar(&self, out: &mut [u64], a: &[u64], s: &Scalar) {
        out.iter_mut().zip(a).for_each(|(o, a)| *o = mul_mod(*a, s.value, self.q));
    }

    /// `acc = acc + a s`.
    pub fn mul_scalar_add_assign(&self, acc: &mut [u64], a: &[u64], s: &Scalar) {
        acc.iter_mut().zip(a).for_each(|(c, a)| *c = add_mod(*c, mul_mod(*a, s.value, self.q), self.q));
    }

    /// `a = a + c` in every position, for `c` in `[0, q)`.
    pub fn add_scalar_assign(&self, a: &mut [u64], c: u64) {
        a.iter_mut().for_each(|a| *a = add_mod(*a, c, self.q));
    }

    /// `out = (a - b) s` for `a` in `[0, 2q)` and `b` as [`crate::ntt::NttPlan::forward_lazy`] leaves it.
    pub fn sub_mul_scalar(&self, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
        let q = self.q;
        out.iter_mut()
            .zip(a)
            .zip(b)
            .for_each(|((o, a), b)| *o = mul_mod(sub_mod(*a % q, *b % q, q), s.value, q));
    }

    /// The product of two ciphertexts `(a0, a1)` and `(b0, b1)`: `c0 = a0 b0`, `c1 = a0 b1 + a1 b0`, `c2 = a1 b1`.
    #[allow(clippy::too_many_arguments)]
    pub fn tensor(
        &self,
        c0: &mut [u64],
        c1: &mut [u64],
        c2: &mut [u64],
        a0: &[u64],
        a1: &[u64],
        b0: &[u64],
        b1: &[u64],
    ) {
        self.mul(c0, a0, b0);
        self.mul(c1, a0, b1);
        self.mul_add_assign(c1, a1, b0);
        self.mul(c2, a1, b1);
    }

    /// [`Elementwise::tensor`] of `(a0, a1)` with itself.
    pub fn square(&self, c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]) {
        self.tensor(c0, c1, c2, a0, a1, a0, a1);
    }

    /// `out = a mod q` for any 64-bit integers `a`.
    pub fn reduce(&self, out: &mut [u64], a: &[u64]) {
        out.iter_mut().zip(a).for_each(|(o, a)| *o = a % self.q);
    }

    /// `out = a mod q` for any signed 64-bit integers `a`.
    pub fn from_signed(&self, out: &mut [u64], a: &[i64]) {
        out.iter_mut().zip(a).for_each(|(o, a)| *o = signed_mod(*a, self.q));
    }

    /// Prepares the pairs `(b_d, a_d)`, in the evaluation domain, for [`Elementwise::inner_product`].
    pub fn prepare_key(&self, pairs: &[(&[u64], &[u64])]) -> KeyLimb {
        let n = pairs.first().map_or(0, |(b, _)| b.len());
        let mut words = Vec::with_capacity(2 * n * pairs.len());
        for start in (0..n).step_by(8) {
            for (b, a) in pairs {
                words.extend_from_slice(&b[start..start + 8]);
                words.extend_from_slice(&a[start..start + 8]);
            }
        }
        KeyLimb { digits: pairs.len(), words }
    }

    /// `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`, each `x` as
    /// [`crate::ntt::NttPlan::forward_lazy`] leaves it.
    pub fn inner_product(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        let q = self.q;
        acc0.fill(0);
        acc1.fill(0);
        for (d, x) in digits {
            for (i, x) in x.iter().enumerate() {
                let at = ((i / 8) * key.digits + d) * 16 + i % 8;
                acc0[i] = add_mod(acc0[i], mul_mod(*x, key.words[at], q), q);
                acc1[i] = add_mod(acc1[i], mul_mod(*x, key.words[at + 8], q), q);
            }
        }
    }
}
