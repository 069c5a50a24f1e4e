//! Scratch memory that is reused instead of being allocated again.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

use crate::{
    MemoryMeter,
    poly::{Domain, Poly},
};

/// A pool of polynomials of one ring degree.
///
/// A polynomial returns to the pool when its guard is dropped. After a computation has run once,
/// running it again allocates nothing.
///
/// ```
/// use hippocrene_ring::{Domain, scratch::ScratchPool};
///
/// let pool = ScratchPool::new(16);
/// drop(pool.take(3, Domain::Coefficient));
/// assert_eq!(pool.bytes(), 3 * 16 * 8);
/// ```
#[derive(Debug)]
pub struct ScratchPool {
    degree: usize,
    /// Counts the memory of the polynomials, in a dry run.
    meter: Option<MemoryMeter>,
    free: Mutex<Vec<Poly>>,
}

impl ScratchPool {
    /// Makes an empty pool for ring degree `degree`.
    pub fn new(degree: usize) -> Self {
        ScratchPool { degree, meter: None, free: Mutex::new(Vec::new()) }
    }

    /// Makes an empty pool of dry-run polynomials of ring degree `degree`. `meter` counts their
    /// memory.
    pub fn dry_run(degree: usize, meter: &MemoryMeter) -> Self {
        ScratchPool { degree, meter: Some(meter.clone()), free: Mutex::new(Vec::new()) }
    }

    fn new_poly(&self, domain: Domain) -> Poly {
        match &self.meter {
            None => Poly::zero(self.degree, 0, domain),
            Some(meter) => Poly::dry_run(self.degree, 0, domain, meter),
        }
    }

    /// Wipes the polynomials that are not on loan, and frees their memory. Dropping the pool does
    /// the same.
    pub fn wipe_scratch(&self) {
        let mut free =
            std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner));
        free.iter_mut().for_each(Poly::wipe);
    }

    /// Returns the bytes of the polynomials that are not on loan.
    ///
    /// When all have been returned, this is the maximum that computations have needed.
    pub fn bytes(&self) -> usize {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.iter().map(|poly| poly.capacity_limbs() * self.degree * size_of::<u64>()).sum()
    }

    /// Borrows a polynomial of `limbs` limbs with unspecified residues.
    pub fn take(&self, limbs: usize, domain: Domain) -> Scratch<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // This takes the smallest one that is large enough, or else the largest, which then grows.
        // Among equals it takes the one returned last, which is most likely in the cache.
        let best = (0..free.len()).rev().min_by_key(|&i| {
            let have = free[i].capacity_limbs();
            if have >= limbs { (0, have) } else { (1, usize::MAX - have) }
        });
        let mut poly = match best {
            Some(i) => free.remove(i),
            None => self.new_poly(domain),
        };
        drop(free);
        poly.resize_limbs(limbs);
        poly.set_domain(domain);
        Scratch { poly: Some(poly), pool: self }
    }
}

/// The polynomials of a pool may have held secrets, so they are wiped.
impl Drop for ScratchPool {
    fn drop(&mut self) {
        self.wipe_scratch();
    }
}

/// A polynomial on loan from a [`ScratchPool`]. See there for an example.
#[derive(Debug)]
pub struct Scratch<'a> {
    poly: Option<Poly>,
    pool: &'a ScratchPool,
}

impl Deref for Scratch<'_> {
    type Target = Poly;

    fn deref(&self) -> &Poly {
        self.poly.as_ref().expect("present until dropped")
    }
}

impl DerefMut for Scratch<'_> {
    fn deref_mut(&mut self) -> &mut Poly {
        self.poly.as_mut().expect("present until dropped")
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(poly) = self.poly.take() {
            self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(poly);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back() {
        let pool = ScratchPool::new(16);
        let (small, large) = (pool.take(1, Domain::Coefficient), pool.take(5, Domain::Coefficient));
        let (at_small, at_large) = (small.as_slice().as_ptr(), large.as_slice().as_ptr());
        drop((small, large));
        assert_eq!(pool.take(1, Domain::Evaluation).as_slice().as_ptr(), at_small);
        assert_eq!(pool.take(3, Domain::Evaluation).as_slice().as_ptr(), at_large);
        assert_eq!(pool.take(3, Domain::Evaluation).limb_count(), 3);
        assert_eq!(pool.bytes(), 6 * 16 * 8);
        pool.wipe_scratch();
        assert_eq!(pool.free.lock().unwrap().len(), 0);
    }
}
