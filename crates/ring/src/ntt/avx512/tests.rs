//! Tests of passes at the ends of their intervals, with inputs that whole transforms meet too
//! rarely for a test.

use super::{Ifma48, Ifma50, Outermost, Plan, Word61};
use crate::{
    Kernel,
    arith::{add_mod, inv_mod, mul_mod, sub_mod},
    ntt::{NttPlan, portable::powers},
    primes::{ntt_primes_above, ntt_primes_below, primitive_root_2n},
};

/// The bounds of the intervals, in multiples of `q/2`: both ends of forward-tight and of
/// forward-loose, and the upper end of inverse-loose.
trait Intervals: Outermost {
    const TIGHT: (u64, u64);
    const LOOSE: (u64, u64) = Self::TIGHT;
    const INVERSE: u64;
    /// The number of significant bits of residues within a transform.
    const BITS: u32 = 64;
}

impl Intervals for Ifma48 {
    const TIGHT: (u64, u64) = (8, 24);
    const LOOSE: (u64, u64) = (2, 30);
    const INVERSE: u64 = 4;
    const BITS: u32 = 52;
}

impl Intervals for Ifma50 {
    const TIGHT: (u64, u64) = (0, 8);
    const INVERSE: u64 = 4;
}

impl<const IFMA: bool> Intervals for Word61<IFMA>
where
    Word61<IFMA>: Outermost,
{
    const TIGHT: (u64, u64) = (0, 16);
    const INVERSE: u64 = 8;
}

/// A plan, and its roots for plain butterflies.
struct Setting<A: Outermost> {
    plan: Plan<A>,
    roots: [Vec<u64>; 2],
}

impl<A: Intervals> Setting<A> {
    fn new(q: u64, degree: usize) -> Self {
        let root = primitive_root_2n(q, degree).unwrap();
        let both = [root, inv_mod(root, q).unwrap()];
        Setting { plan: Plan::new(q, degree, root), roots: both.map(|psi| powers(psi, q, degree)) }
    }

    /// Computes plain butterflies through `layers` layers of the block `a` with node `k`.
    fn forward(&self, a: &mut [u64], k: usize, layers: u32) {
        if layers == 0 {
            return;
        }
        let (x, y) = a.split_at_mut(a.len() / 2);
        for (x, y) in x.iter_mut().zip(&mut *y) {
            let t = mul_mod(*y, self.roots[0][k], self.plan.q);
            (*x, *y) = (add_mod(*x, t, self.plan.q), sub_mod(*x, t, self.plan.q));
        }
        self.forward(x, 2 * k, layers - 1);
        self.forward(y, 2 * k + 1, layers - 1);
    }

    /// Computes the inverse of [`Self::forward`], without the division by `2^layers`.
    fn inverse(&self, a: &mut [u64], k: usize, layers: u32) {
        if layers == 0 {
            return;
        }
        let (x, y) = a.split_at_mut(a.len() / 2);
        self.inverse(x, 2 * k, layers - 1);
        self.inverse(y, 2 * k + 1, layers - 1);
        for (x, y) in x.iter_mut().zip(y) {
            let d = sub_mod(*x, *y, self.plan.q);
            (*x, *y) = (add_mod(*x, *y, self.plan.q), mul_mod(d, self.roots[1][k], self.plan.q));
        }
    }

    /// Runs `pass` on `length` words at the ends of the interval `from`, which has its bounds in
    /// multiples of `q/2`.
    ///
    /// Each word is the smallest or the largest number in the interval. In the first 32 rounds,
    /// each of eight lanes has a separate combination of these for the eighths of the words. In the
    /// other 32 rounds they are random. Results must be in the interval `to`, and congruent to
    /// those of `plain`.
    fn check(
        &self,
        length: usize,
        from: (u64, u64),
        to: (u64, u64),
        pass: impl Fn(&mut [u64]),
        plain: impl Fn(&mut [u64]),
    ) {
        let q = self.plan.q;
        let bound = |halves: u64| (u128::from(halves) * u128::from(q)).div_ceil(2) as u64;
        let mut random = 1u64;
        for round in 0..64 {
            let word = |i: usize| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let combination = 8 * round + i % 8;
                let bit = if round < 32 {
                    combination >> (8 * i / length)
                } else {
                    (random >> 40) as usize
                };
                if bit & 1 == 1 { bound(from.1) - 1 } else { bound(from.0) }
            };
            let inputs: Vec<u64> = (0..length).map(word).collect();
            let mut results = inputs.clone();
            pass(&mut results);
            let mut expected: Vec<u64> = inputs.iter().map(|x| x % q).collect();
            plain(&mut expected);
            for (i, (&r, e)) in results.iter().zip(expected).enumerate() {
                assert!(
                    (bound(to.0)..bound(to.1)).contains(&r),
                    "word {i} = {r}, q = {q}, round {round}"
                );
                assert_eq!(r % q, e, "word {i}, q = {q}, round {round}");
            }
        }
    }
}

fn transpose(a: &mut [u64]) {
    for block in a.chunks_exact_mut(64) {
        for r in 0..8 {
            for c in r + 1..8 {
                block.swap(8 * r + c, 8 * c + r);
            }
        }
    }
}

/// Clears the bits that residues do not define.
fn clear_undefined_bits<A: Intervals>(words: &mut [u64]) {
    words.iter_mut().for_each(|x| *x &= u64::MAX >> (64 - A::BITS));
}

fn passes<A: Intervals>(q: u64) {
    let s = Setting::<A>::new(q, 1 << 12);
    let (back, p) = ((0, A::INVERSE), &s.plan);
    // A forward pass of blocks below 64 widens the interval, and one of those below 512 narrows it.
    for (nodes, from, to) in [(8..16, A::TIGHT, A::LOOSE), (64..72, A::LOOSE, A::TIGHT)] {
        for k in nodes {
            let pass = |x: &mut [u64]| {
                // SAFETY: `check` passes 128 words, and `Plan::new` has checked the CPU.
                unsafe { A::forward_pass(p, x.as_mut_ptr(), 16, k) };
                clear_undefined_bits::<A>(x);
            };
            s.check(128, from, to, pass, |x| s.forward(x, k, 3));
        }
    }
    for k in 8..16 {
        let pass = |x: &mut [u64]| {
            // SAFETY: `check` passes 128 words, and `Plan::new` has checked the CPU.
            unsafe { A::inverse_pass(p, x.as_mut_ptr(), 16, k) };
            clear_undefined_bits::<A>(x);
        };
        s.check(128, back, back, pass, |x| s.inverse(x, k, 3));
    }
    let pass = |x: &mut [u64]| {
        // SAFETY: `check` passes 2^12 words.
        unsafe { A::forward_first(p, x.as_mut_ptr()) };
        clear_undefined_bits::<A>(x);
    };
    s.check(1 << 12, (0, 4), A::TIGHT, pass, |x| s.forward(x, 1, 3));
    for c in [1, q - 1, q / 5] {
        let factor = p.inverse_factor(c);
        // SAFETY: the same as above.
        let pass = |x: &mut [u64]| unsafe { A::inverse_last(p, x.as_mut_ptr(), &factor) };
        s.check(1 << 12, back, (0, 2), pass, |x| {
            s.inverse(x, 1, 3);
            x.iter_mut().for_each(|x| *x = mul_mod(*x, mul_mod(p.unscaled[0], c, q), q));
        });
    }
}

fn ends<A: Intervals>(q: u64) {
    for log in [9, 10, 11] {
        let s = Setting::<A>::new(q, 1 << log);
        let p = &s.plan;
        // The blocks of the ends have 64, 128 or 256 words, and there are eight of them.
        let (size, layers) = ((1 << log) / 8, p.end_layers());
        let forward = |x: &mut [u64]| {
            x.chunks_exact_mut(size).enumerate().for_each(|(i, x)| s.forward(x, 8 + i, layers));
            transpose(x);
        };
        let inverse = |x: &mut [u64]| {
            transpose(x);
            x.chunks_exact_mut(size).enumerate().for_each(|(i, x)| s.inverse(x, 8 + i, layers));
        };
        let (length, count) = (p.degree, p.degree / 128);
        // SAFETY: `check` passes `degree` words, and `Plan::new` has checked the CPU.
        let pass = |x: &mut [u64]| unsafe { A::forward_ends::<false>(p, x.as_mut_ptr(), 0, count) };
        s.check(length, A::LOOSE, (0, 2 * A::LAZY_BOUND), pass, forward);
        // SAFETY: the same as above.
        let pass = |x: &mut [u64]| unsafe { A::forward_ends::<true>(p, x.as_mut_ptr(), 0, count) };
        s.check(length, A::LOOSE, (0, 2), pass, forward);
        let pass = |x: &mut [u64]| {
            // SAFETY: the same as above.
            unsafe { A::inverse_ends(p, x.as_ptr(), x.as_mut_ptr(), 0, count) };
            clear_undefined_bits::<A>(x);
        };
        s.check(length, (0, 4), (0, A::INVERSE), pass, inverse);
    }
}

/// Returns the largest primes of the arithmetic, with offsets of products all over `[0, q)`, and
/// one of the smallest.
fn primes<A: Intervals>() -> impl Iterator<Item = u64> {
    let largest = ntt_primes_below(A::MODULUS_BOUND.trailing_zeros(), 1 << 12).take(12);
    largest.chain(ntt_primes_above(19, 1 << 12).next()).filter(|_| A::KERNEL.is_supported())
}

#[test]
fn ifma48_stays_in_its_intervals() {
    for q in primes::<Ifma48>() {
        passes::<Ifma48>(q);
        ends::<Ifma48>(q);
    }
}

#[test]
fn ifma50_stays_in_its_intervals() {
    for q in primes::<Ifma50>() {
        passes::<Ifma50>(q);
        ends::<Ifma50>(q);
    }
}

#[test]
fn word61_stays_in_its_intervals() {
    for q in primes::<Word61<true>>() {
        passes::<Word61<true>>(q);
        ends::<Word61<true>>(q);
    }
    for q in primes::<Word61<false>>() {
        passes::<Word61<false>>(q);
        ends::<Word61<false>>(q);
    }
}

/// The test uses moduli whose products have the largest errors, at the degrees whose last passes
/// have four layers before the last three. There residues come close to the ends of their intervals
/// about once in a million.
#[test]
fn ifma48_stays_in_its_intervals_at_random() {
    if !Kernel::Avx512Ifma.is_supported() {
        return;
    }
    let mut random = 1u64;
    for (q, degree) in
        [(70_368_743_974_913, 1 << 10), (8_796_092_878_849, 1 << 10), (35_184_371_089_409, 1 << 13)]
    {
        let [fast, plain] =
            [Kernel::Avx512Ifma, Kernel::Portable].map(|k| NttPlan::new(q, degree, k).unwrap());
        for round in 0..(1 << 23) / degree {
            let word = |_| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                ((u128::from(random) * u128::from(q)) >> 64) as u64
            };
            let input: Vec<u64> = (0..degree).map(word).collect();
            let [mut a, mut b] = [input.clone(), input];
            fast.forward(&mut a);
            plain.forward(&mut b);
            assert!(a == b, "forward, q = {q}, degree {degree}, round {round}");
            fast.inverse(&mut a);
            plain.inverse(&mut b);
            assert!(a == b, "inverse, q = {q}, degree {degree}, round {round}");
        }
    }
}
