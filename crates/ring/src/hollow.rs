//! The memory that polynomials without residues would take if they had them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// How many bytes the residues of hollow polynomials ([`crate::Poly::hollow`]) would take: now, and
/// at most so far. Clones reckon together.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    live: AtomicUsize,
    peak: AtomicUsize,
    copied: AtomicUsize,
}

impl Meter {
    /// Bytes that are taken now.
    pub fn live(&self) -> usize {
        self.0.live.load(Relaxed)
    }

    /// The most bytes that were taken at one time, since the last [`Meter::reset`].
    pub fn peak(&self) -> usize {
        self.0.peak.load(Relaxed)
    }

    /// Bytes of polynomials that were copied, since the last [`Meter::reset`].
    pub fn copied(&self) -> usize {
        self.0.copied.load(Relaxed)
    }

    /// Forgets what was taken and copied before: the peak is what is taken now.
    pub fn reset(&self) {
        self.0.peak.store(self.live(), Relaxed);
        self.0.copied.store(0, Relaxed);
    }

    fn take(&self, bytes: usize) {
        let live = self.0.live.fetch_add(bytes, Relaxed) + bytes;
        self.0.peak.fetch_max(live, Relaxed);
    }
}

/// The memory that one hollow polynomial would hold.
#[derive(Debug)]
pub(crate) struct Room {
    meter: Meter,
    bytes: usize,
}

impl Room {
    pub(crate) fn new(meter: &Meter) -> Self {
        Room { meter: meter.clone(), bytes: 0 }
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes that so many bytes were copied to it.
    pub(crate) fn copy(&self, bytes: usize) {
        self.meter.0.copied.fetch_add(bytes, Relaxed);
    }

    /// Grows to `bytes`; memory is kept, as polynomials keep theirs.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.meter.take(bytes - self.bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.meter.0.live.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Poly, scratch::ScratchPool};

    #[test]
    fn hollow_polynomials_take_what_others_do() {
        let meter = Meter::default();
        let mut a = Poly::hollow(16, 3, Domain::Evaluation, &meter);
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
        assert_ne!(real, a.alike(16, 2));
        real.copy_from(&a);
        assert!(real.is_hollow() && real == a);
        a.copy_from(&Poly::zero(16, 2, Domain::Coefficient));
        assert_eq!((a.is_hollow(), a.limb(1).len(), meter.live()), (false, 16, 3 * 16 * 8));
        real.for_each_limb(&crate::Threads::single(), |_, _| {
            unreachable!("there is nothing to do")
        });
    }

    #[test]
    fn pools_of_hollow_polynomials_keep_them() {
        let meter = Meter::default();
        let pool = ScratchPool::hollow(16, &meter);
        drop([pool.take(1, Domain::Coefficient), pool.take(5, Domain::Coefficient)]);
        drop(pool.take(4, Domain::Coefficient));
        assert_eq!(
            (pool.bytes(), meter.live(), meter.peak()),
            (6 * 16 * 8, 6 * 16 * 8, 6 * 16 * 8)
        );
        pool.forget();
        assert_eq!(meter.live(), 0);
    }
}
