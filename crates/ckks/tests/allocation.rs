//! Checks that operations allocate nothing in the steady state. There is only one test, because the
//! allocator counts for the whole process.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::{Setup, circle, grafted, insecure, setup};
use hippocrene_ckks::{Ciphertext, CkksError, Transfer};
use hippocrene_ring::{Domain, Threads};
use hippocrene_rlwe::{Destination, Method, Modulus, TransferKey};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller fulfils the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(what: &str, mut operation: impl FnMut() -> Result<(), CkksError>) {
    // Runs the operation a few times to fill tables and to let scratch memory grow.
    (0..4).for_each(|_| operation().unwrap());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    operation().unwrap();
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert_eq!(count, 0, "{what} allocates {count} times");
}

#[test]
fn steady_state_operations_allocate_nothing() {
    let (simple, grafted) =
        (insecure(12, 5, &[1, 2, 3]), grafted(12, 4, "sprout-15-16-32", &[1, 2, 3]));
    steady(&simple);
    steady(&grafted);
    steady_transfer(&simple, Modulus::of_range(0..3));
    steady_transfer(&grafted, Modulus::of_range(0..2).lcm(grafted.top().sprout()));
}

fn steady(s: &Setup) {
    let x = circle(s.context.max_slots(), 1.0, 0.0);
    let (a, b) = (s.encrypt(&x), s.encrypt(&x));
    let mut out = Ciphertext::empty(&s.context);
    let e = &s.evaluator;
    let low = hippocrene_ckks::Scale::power_of_two(0);
    allocations("multiply", || e.mul_rescale_into(&mut out, &a, &b, s.scale));
    allocations("square", || e.mul_rescale_into(&mut out, &a, &a, s.scale));
    allocations("rotate", || e.rotate_into(&mut out, &a, 1));
    allocations("rescale", || e.rescale_into(&mut out, &a, low));
    let mut many = [1, 2, 3].map(|_| Ciphertext::empty(&s.context));
    allocations("rotate, hoisted", || e.rotate_many_into(&mut many, &a, &[1, 2, 3]));
    let mut sum = a.clone();
    allocations("add", || e.add_assign(&mut sum, &b));
    steady_double(s);
}

/// Checks a key switch by double decomposition.
fn steady_double(s: &Setup) {
    let (context, top) = (s.context.rlwe(), s.top());
    let gadget = context.parameters().base_gadget().with_method(Method::Double { groups: 3 });
    let key = s.evaluator.keys().relinearisation("measure").unwrap();
    let c = context.zero(top, Domain::Evaluation);
    let mut out = [(); 2].map(|()| context.zero(top, Domain::Evaluation));
    allocations("key switch, double", || {
        let decomposed = context.decompose_with(&c, top, gadget)?;
        let [out0, out1] = &mut out;
        let to = Destination::new(top);
        Ok(context.switch_keys_into([out0, out1], &decomposed, key, [Some(&c), None], &to)?)
    });
    assert!(context.key_memory().0 > 0, "the key is kept");
}

/// Checks a transfer to a second parameter set and secret.
fn steady_transfer(first: &Setup, top: Modulus) {
    let second = setup(
        first.context.parameters().key_transfer_set_insecure(top).unwrap(),
        &[],
        Threads::single(),
        first.scale,
    );
    let (source, target) = (&first.context, &second.context);
    let key =
        TransferKey::generate(source.rlwe(), target.rlwe(), &first.secret, &second.secret).unwrap();
    let transfer = Transfer::new(Arc::clone(source), Arc::clone(target), &key).unwrap();
    let a = first.encrypt(&circle(source.max_slots(), 1.0, 0.0));
    let mut out = Ciphertext::empty(target);
    let to = second.top();
    allocations("transfer", || transfer.transfer_to_into(&mut out, &a, to));
}
