//! Products modulo powers of two allocate nothing once they have their scratch memory.
//!
//! This file has only one test, because the allocator counts for the whole process.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use hippocrene_ring::{Kernel, ResidueRing, elementwise::KeyLimb};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn products_allocate_nothing_when_they_are_repeated() {
    let n = 512;
    for kernel in Kernel::supported() {
        for exponent in [15, 24, 60] {
            let ring = ResidueRing::power_of_two(exponent, n, kernel).unwrap();
            let e = &ring;
            let key = KeyLimb::of_pairs(e, &[(&vec![1; n], &vec![2; n])]);
            let [a, mut b, mut c0, mut c1, mut c2] = [(); 5].map(|()| vec![3; n]);
            let digits = [(0, &a[..]); 40];
            let mut operations = || {
                e.mul(&mut c0, &a, &a);
                e.mul_assign(&mut b, &a);
                e.mul_add_assign(&mut c1, &a, &a);
                e.tensor(&mut c0, &mut c1, &mut c2, &a, &a, &a, &a);
                e.square(&mut c0, &mut c1, &mut c2, &a, &a);
                e.inner_product(&mut c0, &mut c1, &digits, &key);
            };
            (0..3).for_each(|_| operations());
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            operations();
            assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "{kernel}, e = {exponent}");
        }
    }
}
