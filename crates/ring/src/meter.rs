//! The memory that the polynomials of a dry run would need if they had residues.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Counts the bytes that the residues of a dry run's polynomials ([`crate::Poly::dry_run`]) would
/// need.
///
/// Clones share one count.
///
/// ```
/// use hippocrene_ring::{Domain, MemoryMeter, Poly};
///
/// let meter = MemoryMeter::default();
/// let poly = Poly::dry_run(1024, 3, Domain::Coefficient, &meter);
/// assert_eq!(meter.live(), 3 * 1024 * 8);
/// drop(poly);
/// assert_eq!((meter.live(), meter.peak()), (0, 3 * 1024 * 8));
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryMeter(Arc<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    live: AtomicUsize,
    peak: AtomicUsize,
    copied: AtomicUsize,
}

impl MemoryMeter {
    /// Returns the bytes in use now.
    pub fn live(&self) -> usize {
        self.0.live.load(Relaxed)
    }

    /// Returns the maximum number of bytes in use at one time since the last
    /// [`MemoryMeter::reset`].
    pub fn peak(&self) -> usize {
        self.0.peak.load(Relaxed)
    }

    /// Returns the bytes of polynomials that were copied since the last [`MemoryMeter::reset`].
    pub fn copied(&self) -> usize {
        self.0.copied.load(Relaxed)
    }

    /// Sets the peak to the bytes in use now, and the copied bytes to 0.
    pub fn reset(&self) {
        self.0.peak.store(self.live(), Relaxed);
        self.0.copied.store(0, Relaxed);
    }

    fn take(&self, bytes: usize) {
        let live = self.0.live.fetch_add(bytes, Relaxed) + bytes;
        self.0.peak.fetch_max(live, Relaxed);
    }
}

/// The memory that one polynomial of a dry run would hold.
#[derive(Debug)]
pub(crate) struct Reservation {
    meter: MemoryMeter,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(meter: &MemoryMeter) -> Self {
        Reservation { meter: meter.clone(), bytes: 0 }
    }

    pub(crate) fn meter(&self) -> &MemoryMeter {
        &self.meter
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts `bytes` that were copied to the polynomial.
    pub(crate) fn copy(&self, bytes: usize) {
        self.meter.0.copied.fetch_add(bytes, Relaxed);
    }

    /// Grows to `bytes`. Like the memory of other polynomials, it never shrinks.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.meter.take(bytes - self.bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.meter.0.live.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Poly, scratch::ScratchPool};

    #[test]
    fn polynomials_of_a_dry_run_are_measured_like_others() {
        let meter = MemoryMeter::default();
        let mut a = Poly::dry_run(16, 3, Domain::Evaluation, &meter);
        assert_eq!(
            (a.limb_count(), a.limb(2).len(), a.as_slice().len(), a.limbs().count()),
            (3, 0, 0, 0)
        );
        assert_eq!((meter.live(), a.capacity_limbs()), (3 * 16 * 8, 3));
        let b = a.clone();
        a.resize_limbs(1);
        assert_eq!((a.limb_count(), a.capacity_limbs(), meter.live()), (1, 3, 2 * 3 * 16 * 8));
        assert_ne!(a, b);
        a.copy_from(&b);
        assert_eq!(a, b);
        drop(b);
        assert_eq!((meter.live(), meter.peak()), (3 * 16 * 8, 2 * 3 * 16 * 8));
        assert_eq!(meter.copied(), 2 * 3 * 16 * 8);
        meter.reset();
        assert_eq!((meter.peak(), meter.copied()), (3 * 16 * 8, 0));
        let mut real = Poly::zero(16, 2, Domain::Coefficient);
        assert_ne!(real, a.new_like(16, 2));
        real.copy_from(&a);
        assert!(real.is_dry_run() && real == a);
        a.copy_from(&Poly::zero(16, 2, Domain::Coefficient));
        assert_eq!((a.is_dry_run(), a.limb(1).len(), meter.live()), (false, 16, 3 * 16 * 8));
        real.for_each_limb(&crate::Threads::single(), |_, _| {
            unreachable!("there is nothing to do")
        });
    }

    #[test]
    fn pools_of_a_dry_run_keep_polynomials() {
        let meter = MemoryMeter::default();
        let pool = ScratchPool::dry_run(16, &meter);
        drop([pool.take(1, Domain::Coefficient), pool.take(5, Domain::Coefficient)]);
        drop(pool.take(4, Domain::Coefficient));
        assert_eq!(
            (pool.bytes(), meter.live(), meter.peak()),
            (6 * 16 * 8, 6 * 16 * 8, 6 * 16 * 8)
        );
        pool.wipe_scratch();
        assert_eq!(meter.live(), 0);
    }
}
