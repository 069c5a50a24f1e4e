//! Polynomials, stored as limbs of residues one after the other in aligned memory.

use zeroize::Zeroize;

use crate::{
    MemoryMeter, Threads,
    meter::Reservation,
    spare::{Residues, SpareMemory},
};

/// The meaning of the residues of a polynomial. See [`Poly`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients of `1, X, X^2, ...`.
    Coefficient,
    /// Values at the odd powers of a root of unity, in the evaluation order of [`crate::ntt`].
    Evaluation,
}

/// An element of `Z_Q[X]/(X^N + 1)` in residue form: one limb of `N` residues per factor of `Q`.
///
/// Limbs are stored one after the other and aligned to 64 bytes. A polynomial does not know the
/// moduli of its limbs. Its owner does.
///
/// A polynomial of a *dry run* ([`Poly::dry_run`]) has the same number of limbs as any other, but
/// every limb is empty. Loops over limbs and residues then have nothing to do. A
/// [`crate::MemoryMeter`] counts the memory that the residues would need.
///
/// ```
/// use hippocrene_ring::{Domain, Poly};
///
/// let mut poly = Poly::zero(16, 2, Domain::Coefficient);
/// poly.limb_mut(1)[0] = 5;
/// assert_eq!((poly.limb_count(), poly.as_slice()[16]), (2, 5));
/// ```
pub struct Poly {
    degree: usize,
    domain: Domain,
    limbs: usize,
    /// The number of words in a limb: the ring degree, or 0 in a dry run.
    words: usize,
    /// At least `limbs` limbs. The words behind them are unspecified.
    data: Residues,
    /// The memory that residues would need, in a dry run.
    reservation: Option<Reservation>,
}

/// A copy holds the residues only, without memory for further limbs.
impl Clone for Poly {
    fn clone(&self) -> Self {
        let mut copy = self.new_like(self.degree, 0);
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
    /// Makes the zero polynomial with `limbs` limbs of ring degree `degree`.
    ///
    /// # Panics
    /// If the residues do not fit into the address space.
    pub fn zero(degree: usize, limbs: usize, domain: Domain) -> Self {
        let data = Residues::new(None);
        let mut poly = Poly { degree, domain, limbs: 0, words: degree, data, reservation: None };
        poly.resize_limbs(limbs);
        poly
    }

    /// Makes a polynomial without limbs that takes its memory from `spare` and returns it there.
    ///
    /// Its copies do the same. If no memory in `spare` fits, the polynomial allocates new memory.
    pub fn with_spare(degree: usize, domain: Domain, spare: &SpareMemory) -> Self {
        let data = Residues::new(Some(spare.clone()));
        Poly { degree, domain, limbs: 0, words: degree, data, reservation: None }
    }

    /// Makes a polynomial of a dry run, which has no residues.
    ///
    /// `meter` counts the memory that the residues would need.
    pub fn dry_run(degree: usize, limbs: usize, domain: Domain, meter: &MemoryMeter) -> Self {
        let reservation = Some(Reservation::new(meter));
        let mut poly =
            Poly { degree, domain, limbs: 0, words: 0, data: Residues::new(None), reservation };
        poly.resize_limbs(limbs);
        poly
    }

    /// Makes a polynomial of `limbs` limbs with unspecified residues, or without residues if this
    /// one belongs to a dry run.
    pub fn new_like(&self, degree: usize, limbs: usize) -> Self {
        match &self.reservation {
            None => {
                let data = Residues::new(self.data.spare().cloned());
                let mut poly = Poly {
                    degree,
                    domain: self.domain,
                    limbs: 0,
                    words: degree,
                    data,
                    reservation: None,
                };
                poly.resize_limbs(limbs);
                poly
            }
            Some(reservation) => Poly::dry_run(degree, limbs, self.domain, reservation.meter()),
        }
    }

    /// Returns true if it is a polynomial of a dry run and has no residues.
    pub fn is_dry_run(&self) -> bool {
        self.reservation.is_some()
    }

    /// Returns the ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the number of limbs.
    pub fn limb_count(&self) -> usize {
        self.limbs
    }

    /// Returns the domain of its residues.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Sets the domain, after the caller has transformed the limbs.
    pub fn set_domain(&mut self, domain: Domain) {
        self.domain = domain;
    }

    /// Returns limb `i`, which is empty in a dry run.
    pub fn limb(&self, i: usize) -> &[u64] {
        debug_assert!(i < self.limbs);
        &self.data[i * self.words..(i + 1) * self.words]
    }

    /// Returns limb `i` for changes.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        debug_assert!(i < self.limbs);
        &mut self.data[i * self.words..(i + 1) * self.words]
    }

    /// Returns the limbs in order. A dry run has none.
    ///
    /// # Panics
    /// If the ring degree is 0.
    pub fn limbs(&self) -> std::slice::ChunksExact<'_, u64> {
        self.as_slice().chunks_exact(self.degree)
    }

    /// Returns the limbs in order for changes. A dry run has none.
    ///
    /// # Panics
    /// If the ring degree is 0.
    pub fn limbs_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.data[..self.limbs * self.words].chunks_exact_mut(self.degree)
    }

    /// Calls `f(i, limb i)` for every limb, in parallel on `threads`.
    pub fn for_each_limb(
        &mut self,
        threads: &Threads,
        f: impl Fn(usize, &mut [u64]) + Sync + Send,
    ) {
        threads.for_each_chunk(&mut self.data[..self.limbs * self.words], self.degree, f);
    }

    /// Returns all residues, limb after limb.
    pub fn as_slice(&self) -> &[u64] {
        &self.data[..self.limbs * self.words]
    }

    /// Returns all residues, limb after limb, for changes.
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.data[..self.limbs * self.words]
    }

    /// Changes the number of limbs. The residues of new limbs are unspecified.
    ///
    /// The polynomial keeps its memory, so growing back to an earlier size allocates nothing.
    ///
    /// # Panics
    /// If the residues do not fit into the address space.
    pub fn resize_limbs(&mut self, limbs: usize) {
        let words = limbs
            .checked_mul(self.words)
            .expect("the residues of a polynomial must fit the address space");
        self.limbs = limbs;
        if let Some(reservation) = &mut self.reservation {
            reservation.reserve(limbs * self.degree * size_of::<u64>());
        }
        self.data.grow(words);
    }

    /// Returns the number of limbs that fit into the memory already held.
    ///
    /// # Panics
    /// If the ring degree is 0.
    pub fn capacity_limbs(&self) -> usize {
        let words = self
            .reservation
            .as_ref()
            .map_or(self.data.len(), |reservation| reservation.bytes() / size_of::<u64>());
        words / self.degree
    }

    /// Copies `other` into this polynomial, in the memory already held if that is large enough.
    pub fn copy_from(&mut self, other: &Poly) {
        if self.is_dry_run() != other.is_dry_run() {
            *self = other.new_like(other.degree, 0);
        }
        self.degree = other.degree;
        self.words = other.words;
        self.domain = other.domain;
        self.resize_limbs(other.limbs);
        self.as_mut_slice().copy_from_slice(other.as_slice());
        if let Some(reservation) = &self.reservation {
            reservation.copy(self.limbs * self.degree * size_of::<u64>());
        }
    }

    /// Overwrites all memory that it holds with zeros, to wipe secrets.
    ///
    /// The compiler does not optimise this away.
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
    #[should_panic(expected = "must fit the address space")]
    fn residues_that_no_memory_holds_are_refused() {
        Poly::zero(1 << 63, 2, Domain::Coefficient);
    }
}
