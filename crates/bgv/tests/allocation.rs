//! Products allocate no polynomials after the first few runs. This program has a single test,
//! because the allocator counts for the whole process.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use common::insecure;
use hippocrene_bgv::{BgvError, Ciphertext, Scheme};

const LOG_DEGREE: u32 = 11;

struct Counting;

/// The number of allocations of half a limb or more.
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= (8 << LOG_DEGREE) / 2 {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
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

fn allocations(mut operation: impl FnMut() -> Result<(), BgvError>) -> usize {
    // The first runs fill tables and let scratch memory grow to its final size.
    (0..4).for_each(|_| operation().unwrap());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    operation().unwrap();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn products_allocate_nothing_of_the_size_of_a_limb() {
    for sprout in ["none", "sprout-15-16-32"] {
        let s = insecure(LOG_DEGREE, 48, 5, sprout, 65537, &[]);
        let (a, b) = (s.encrypt(&s.values(1)), s.encrypt(&s.values(2)));
        // This operand has another modulus, so one factor must be switched down.
        let lower = s.evaluator.mul(&a, &b).unwrap();
        assert_ne!(lower.modulus(), a.modulus());
        let mut out = Ciphertext::empty(&s.context);
        for scheme in [Scheme::Bgv, Scheme::Bfv] {
            let e = s.evaluator.clone().with_scheme(scheme);
            for (left, right) in [(&a, &b), (&a, &a), (&a, &lower), (&lower, &a)] {
                let count = allocations(|| e.mul_into(&mut out, left, right));
                assert_eq!(count, 0, "{scheme:?}, {sprout}");
            }
        }
        let fresh = allocations(|| s.evaluator.mul(&a, &a).map(drop));
        assert!(fresh > 0, "the memory of a new result is counted");
    }
}
