//! Polynomials: limbs of residues, one after the other in aligned memory.

use zeroize::Zeroize;

use crate::{
    Meter, Threads,
    hollow::Room,
    spare::{Residues, SpareMemory},
};

/// What the residues of a polynomial are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients of `1, X, X^2, ...`.
    Coefficient,
    /// Values at the odd powers of a root of unity, in the evaluation order of [`crate::ntt`].
    Evaluation,
}

/// An element of `Z_Q[X]/(X^N + 1)` in residue form: one limb of `N` residues per factor of `Q`,
/// limb-major, 64-byte aligned. Which modulus a limb belongs to is known by the modulus that the
/// polynomial goes with, not by the polynomial.
///
/// A polynomial may be *hollow* ([`Poly::hollow`]): it has as many limbs as any other, and every
/// limb is empty. What goes from limb to limb has nothing to do then, and the memory that residues
/// would take is reckoned by a [`crate::Meter`].
pub struct Poly {
    degree: usize,
    domain: Domain,
    limbs: usize,
    /// Words of a limb: the ring degree, or 0 where it is hollow.
    words: usize,
    /// At least `limbs` limbs; what is behind them is unspecified.
    data: Residues,
    /// What residues would take, where it is hollow.
    room: Option<Room>,
}

/// A copy holds the residues alone, whatever memory is behind them.
impl Clone for Poly {
    fn clone(&self) -> Self {
        let mut copy = self.alike(self.degree, 0);
        copy.copy_from(self);
        copy
    }
}

impl PartialEq for Poly {
    fn eq(&self, other: &Self) -> bool {
        let shape = |p: &Poly| (p.degree, p.domain, p.limbs, p.words);
        shape(self) == shape(other) && self.as_slice() == other.as_slice()
    }
}

impl Eq for Poly {}

impl Poly {
    /// The zero polynomial with `limbs` limbs of ring degree `degree`.
    ///
    /// # Panics
    /// When these are more than any memory holds.
    pub fn zero(degree: usize, limbs: usize, domain: Domain) -> Self {
        let data = Residues::new(None);
        let mut poly = Poly { degree, domain, limbs: 0, words: degree, data, room: None };
        poly.resize_limbs(limbs);
        poly
    }

    /// A polynomial without limbs, which takes its memory from `spare`, where there is such as
    /// fits, and gives it back there; and so do copies of it.
    pub fn with_spare(degree: usize, domain: Domain, spare: &SpareMemory) -> Self {
        let data = Residues::new(Some(spare.clone()));
        Poly { degree, domain, limbs: 0, words: degree, data, room: None }
    }

    /// A polynomial without residues, whose memory `meter` reckons.
    pub fn hollow(degree: usize, limbs: usize, domain: Domain, meter: &Meter) -> Self {
        let room = Some(Room::new(meter));
        let mut poly = Poly { degree, domain, limbs: 0, words: 0, data: Residues::new(None), room };
        poly.resize_limbs(limbs);
        poly
    }

    /// A polynomial of `limbs` limbs with unspecified residues, and hollow if this one is.
    pub fn alike(&self, degree: usize, limbs: usize) -> Self {
        match &self.room {
            None => {
                let data = Residues::new(self.data.spare().cloned());
                let mut poly =
                    Poly { degree, domain: self.domain, limbs: 0, words: degree, data, room: None };
                poly.resize_limbs(limbs);
                poly
            }
            Some(room) => Poly::hollow(degree, limbs, self.domain, room.meter()),
        }
    }

    /// Whether it has no residues.
    pub fn is_hollow(&self) -> bool {
        self.room.is_some()
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

    /// Limb `i`; empty where it is hollow.
    pub fn limb(&self, i: usize) -> &[u64] {
        debug_assert!(i < self.limbs);
        &self.data[i * self.words..(i + 1) * self.words]
    }

    /// Limb `i`, to be changed.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        debug_assert!(i < self.limbs);
        &mut self.data[i * self.words..(i + 1) * self.words]
    }

    /// The limbs in order; none where it is hollow.
    ///
    /// # Panics
    /// When the ring degree is 0.
    pub fn limbs(&self) -> std::slice::ChunksExact<'_, u64> {
        self.as_slice().chunks_exact(self.degree)
    }

    /// The limbs in order, to be changed; none where it is hollow.
    ///
    /// # Panics
    /// When the ring degree is 0.
    pub fn limbs_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.data[..self.limbs * self.words].chunks_exact_mut(self.degree)
    }

    /// Calls `f(i, limb i)` for every limb, shared out to `threads`.
    pub fn for_each_limb(
        &mut self,
        threads: &Threads,
        f: impl Fn(usize, &mut [u64]) + Sync + Send,
    ) {
        threads.for_each_chunk(&mut self.data[..self.limbs * self.words], self.degree, f);
    }

    /// All residues, limb after limb.
    pub fn as_slice(&self) -> &[u64] {
        &self.data[..self.limbs * self.words]
    }

    /// All residues, limb after limb, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.data[..self.limbs * self.words]
    }

    /// Changes the number of limbs; the residues of new limbs are unspecified. Memory is kept, so
    /// that growing back within what was once held allocates nothing.
    ///
    /// # Panics
    /// When so many residues are more than any memory holds.
    pub fn resize_limbs(&mut self, limbs: usize) {
        let words = limbs
            .checked_mul(self.words)
            .expect("the residues of a polynomial fit the address space");
        self.limbs = limbs;
        if let Some(room) = &mut self.room {
            room.reserve(limbs * self.degree * size_of::<u64>());
        }
        self.data.grow(words);
    }

    /// How many limbs the memory already held has room for.
    ///
    /// # Panics
    /// When the ring degree is 0.
    pub fn capacity_limbs(&self) -> usize {
        let words =
            self.room.as_ref().map_or(self.data.len(), |room| room.bytes() / size_of::<u64>());
        words / self.degree
    }

    /// Makes this a copy of `other`, in the memory already held where that is enough.
    pub fn copy_from(&mut self, other: &Poly) {
        if self.is_hollow() != other.is_hollow() {
            *self = other.alike(other.degree, 0);
        }
        self.degree = other.degree;
        self.words = other.words;
        self.domain = other.domain;
        self.resize_limbs(other.limbs);
        self.as_mut_slice().copy_from_slice(other.as_slice());
        if let Some(room) = &self.room {
            room.copy(self.limbs * self.degree * size_of::<u64>());
        }
    }

    /// Overwrites all memory that it holds with zeros, which the compiler does not leave out: for
    /// secrets.
    pub fn wipe(&mut self) {
        self.data.zeroize();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "fit the address space")]
    fn residues_that_no_memory_holds_are_refused() {
        Poly::zero(1 << 63, 2, Domain::Coefficient);
    }
}
