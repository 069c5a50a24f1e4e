//! Polynomials: limbs of residues, one after the other in aligned memory.

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

use crate::{Threads, memory};

/// What the residues of a polynomial are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients of `1, X, X^2, ...`.
    Coefficient,
    /// Values at the odd powers of a root of unity, in the evaluation order of [`crate::ntt`].
    Evaluation,
}

/// An element of `Z_Q[X]/(X^N + 1)` in residue form: one limb of `N` residues per factor of `Q`, limb-major, 64-byte aligned.
/// Which modulus a limb belongs to is known by the modulus that the polynomial goes with, not by the polynomial.
#[derive(Clone)]
pub struct Poly {
    degree: usize,
    domain: Domain,
    limbs: usize,
    /// At least `limbs` limbs; what is behind them is unspecified.
    data: AVec<u64, ConstAlign<64>>,
}

impl PartialEq for Poly {
    fn eq(&self, other: &Self) -> bool {
        (self.degree, self.domain) == (other.degree, other.domain) && self.as_slice() == other.as_slice()
    }
}

impl Eq for Poly {}

impl Poly {
    /// The zero polynomial with `limbs` limbs of ring degree `degree`.
    pub fn zero(degree: usize, limbs: usize, domain: Domain) -> Self {
        let mut poly = Poly { degree, domain, limbs: 0, data: AVec::new(64) };
        poly.resize_limbs(limbs);
        poly
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// How many limbs it has.
    pub fn limb_count(&self) -> usize {
        self.limbs
    }

    /// The domain of its residues.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Declares the residues to be of another domain, after the limbs have been transformed.
    pub fn set_domain(&mut self, domain: Domain) {
        self.domain = domain;
    }

    /// Limb `i`.
    pub fn limb(&self, i: usize) -> &[u64] {
        debug_assert!(i < self.limbs);
        &self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// Limb `i`, to be changed.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        debug_assert!(i < self.limbs);
        &mut self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// The limbs in order.
    pub fn limbs(&self) -> std::slice::ChunksExact<'_, u64> {
        self.as_slice().chunks_exact(self.degree)
    }

    /// The limbs in order, to be changed.
    pub fn limbs_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.data[..self.limbs * self.degree].chunks_exact_mut(self.degree)
    }

    /// Calls `f(i, limb i)` for every limb, shared out to `threads`.
    pub fn for_each_limb(&mut self, threads: &Threads, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
        threads.for_each_chunk(&mut self.data[..self.limbs * self.degree], self.degree, f);
    }

    /// All residues, limb after limb.
    pub fn as_slice(&self) -> &[u64] {
        &self.data[..self.limbs * self.degree]
    }

    /// All residues, limb after limb, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.data[..self.limbs * self.degree]
    }

    /// Changes the number of limbs; the residues of new limbs are unspecified. Memory is kept, so that growing back within what was
    /// once held allocates nothing.
    pub fn resize_limbs(&mut self, limbs: usize) {
        self.limbs = limbs;
        let words = limbs * self.degree;
        if self.data.len() < words {
            if self.data.capacity() < words {
                self.data.reserve_exact(words - self.data.len());
                memory::advise_huge_pages(&self.data);
            }
            self.data.resize(words, 0);
        }
    }

    /// How many limbs the memory already held has room for.
    pub fn capacity_limbs(&self) -> usize {
        self.data.len() / self.degree
    }

    /// Makes this a copy of `other`, in the memory already held where that is enough.
    pub fn copy_from(&mut self, other: &Poly) {
        self.degree = other.degree;
        self.domain = other.domain;
        self.resize_limbs(other.limbs);
        self.as_mut_slice().copy_from_slice(other.as_slice());
    }

    /// Overwrites all memory that it holds with zeros, which the compiler does not leave out: for secrets.
    pub fn wipe(&mut self) {
        self.data.as_mut_slice().zeroize();
    }

    /// Overwrites every residue with zero.
    pub fn clear(&mut self) {
        self.as_mut_slice().fill(0);
    }
}

impl std::fmt::Debug for Poly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Poly {{ degree: {}, limbs: {}, domain: {:?} }}",
            self.degree,
            self.limb_count(),
            self.domain
        )
    }
}
