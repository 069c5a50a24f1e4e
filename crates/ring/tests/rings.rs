//! Tests of every kind of ring and every kernel, against schoolbook multiplication.

use hippocrene_ring::{
    Automorphism, Domain, Kernel, ResidueRing, RingError, Sampler, Seed, Threads,
    arith::{add_mod, centred, mul_mod, neg_mod, signed_mod, sub_mod},
    elementwise::{ExtraSummands, KeyLimb},
    primes::{is_prime, ntt_primes, ntt_primes_below},
};
use proptest::prelude::*;

/// Returns reproducible residues (SplitMix64).
fn random(seed: u64, bound: u64, n: usize) -> Vec<u64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % bound
        })
        .collect()
}

/// Returns products of two and three primes with transforms of this degree, near the limits of the
/// kernels.
fn composites(degree: usize) -> Vec<Vec<u64>> {
    let small: Vec<u64> =
        (1..).map(|k| 2 * degree as u64 * k + 1).filter(|&p| is_prime(p)).take(2).collect();
    let mut found = vec![small.clone()];
    for bits in [48, 50, 61] {
        let largest = |taken: &[u64]| {
            let room = (1u64 << bits) / taken.iter().product::<u64>();
            (1..)
                .map(|k| (room / (2 * degree as u64) - k) * 2 * degree as u64 + 1)
                .find(|p| is_prime(*p) && !taken.contains(p))
                .unwrap()
        };
        found.push(vec![small[0], largest(&small[..1])]);
        if bits == 61 {
            found.push(vec![small[1], largest(&small), small[0]]);
        }
    }
    found
}

#[test]
fn reducing_commutes_with_transforms_of_composite_rings() {
    for log in [4, 6, 9, 11, 15] {
        let n = 1 << log;
        for primes in composites(n) {
            let q: u64 = primes.iter().product();
            let a = random(3, q, n);
            for kernel in Kernel::supported() {
                let ring = ResidueRing::composite(&primes, n, kernel).unwrap();
                assert_eq!((ring.modulus(), ring.degree()), (q, n));
                let mut values = a.clone();
                ring.forward(&mut values);
                for divisor in primes.iter().map(|&p| vec![p]).chain([primes[1..].to_vec()]) {
                    let small = ResidueRing::composite(&divisor, n, kernel).unwrap();
                    let (mut expected, mut reduced) = (vec![0; n], vec![0; n]);
                    small.reduce(&mut expected, &a);
                    small.forward(&mut expected);
                    small.reduce(&mut reduced, &values);
                    assert!(
                        reduced == expected,
                        "{kernel}, N = {n}, from {primes:?} to {divisor:?}"
                    );
                    // The embedding of the reduced values is congruent to the transformed values.
                    small.inverse(&mut reduced);
                    let same = reduced.iter().zip(&a).all(|(r, a)| *r == a % small.modulus());
                    assert!(same, "{kernel}, N = {n}, from {primes:?} to {divisor:?}");
                }
                ring.inverse(&mut values);
                assert!(values == a, "{kernel}, N = {n}, {primes:?}");
            }
        }
    }
}

/// Returns rings of all kinds for one kernel.
fn rings(degree: usize, kernel: Kernel) -> Vec<ResidueRing> {
    let primes = [20, 48, 50, 61].map(|bits| ntt_primes(bits, degree, 1, &[]).unwrap()[0]);
    let primes = primes.iter().map(|&q| ResidueRing::prime(q, degree, kernel).unwrap());
    let composites =
        composites(degree).into_iter().map(|q| ResidueRing::composite(&q, degree, kernel).unwrap());
    let exponents = [1, 2, 3, 15, 16, 19, 20, 31, 32, 33, 47, 48, 49, 59, 60];
    let powers = exponents.map(|e| ResidueRing::power_of_two(e, degree, kernel).unwrap());
    let shared = ResidueRing::powers_of_two(60, degree, kernel).unwrap();
    let shared = [1, 15, 19, 59].map(|e| shared[e - 1].clone());
    primes.chain(composites).chain(powers).chain(shared).collect()
}

/// Computes the product in `Z_q[X]/(X^N + 1)` by its definition.
fn schoolbook(a: &[u64], b: &[u64], q: u64) -> Vec<u64> {
    let n = a.len();
    let mut product = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let (k, term) = ((i + j) % n, mul_mod(x, y, q));
            product[k] =
                if i + j < n { add_mod(product[k], term, q) } else { sub_mod(product[k], term, q) };
        }
    }
    product
}

/// Returns `f` at every position.
fn each(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

/// Random polynomials of one ring, in both domains.
struct Case<'a> {
    ring: &'a ResidueRing,
    seed: u64,
}

impl Case<'_> {
    /// Returns coefficients. In one polynomial of four, some of them are extreme.
    fn coefficients(&mut self) -> Vec<u64> {
        self.seed += 1;
        let (q, n) = (self.ring.modulus(), self.ring.degree());
        let mut a = random(self.seed, q, n);
        if self.seed.is_multiple_of(4) {
            let extremes = [0, 1 % q, q - 1, q / 2, q / 2 - 1];
            a.iter_mut().step_by(3).for_each(|x| *x = extremes[(*x % 5) as usize]);
        }
        a
    }

    fn values(&self, a: &[u64]) -> Vec<u64> {
        let mut a = a.to_vec();
        self.ring.forward(&mut a);
        assert!(a.iter().all(|&x| x < self.ring.modulus()));
        a
    }

    fn zeros(&self) -> Vec<u64> {
        vec![0; self.ring.degree()]
    }

    /// Checks that `values`, in the evaluation domain, are those of `coefficients`.
    fn check(&self, values: &[u64], coefficients: &[u64], what: &str) {
        let (q, mut a) = (self.ring.modulus(), values.to_vec());
        assert!(a.iter().all(|&x| x < q), "{what} modulo {q}");
        self.ring.inverse(&mut a);
        assert!(a == coefficients, "{what} modulo {q}");
    }
}

fn transforms(case: &mut Case) {
    let (q, ntt) = (case.ring.modulus(), case.ring);
    let a = case.coefficients();
    let lazy: Vec<u64> = a.iter().enumerate().map(|(i, x)| x + q * (i as u64 % 2)).collect();
    let values = case.values(&a);
    case.check(&values, &a, "there and back");
    let mut out = lazy.clone();
    ntt.forward_lazy(&mut out);
    assert!(out.iter().all(|&x| x < ntt.lazy_bound() * q));
    assert_eq!(each(&out, &out, |x, _| x % q), values);
    out = each(&values, &lazy, |x, lazy| if lazy < q { x } else { x + q });
    ntt.inverse(&mut out);
    assert_eq!(out, a);
    for c in [0, 1, q / 2, q - 1] {
        let mut out = each(&values, &lazy, |x, lazy| if lazy < q { x } else { x + q });
        ntt.inverse_scaled(&mut out, &ntt.inverse_factor(c));
        assert_eq!(out, each(&a, &a, |a, _| mul_mod(a, c, q)));
    }
}

fn linear(case: &mut Case) {
    let (q, e) = (case.ring.modulus(), case.ring);
    let (a, b, mut out) = (case.coefficients(), case.coefficients(), case.zeros());
    let sum = each(&a, &b, |a, b| add_mod(a, b, q));
    let difference = each(&a, &b, |a, b| sub_mod(a, b, q));
    e.add(&mut out, &a, &b);
    assert_eq!(out, sum);
    out.copy_from_slice(&a);
    e.add_assign(&mut out, &b);
    assert_eq!(out, sum);
    out.copy_from_slice(&a);
    e.add_lazy_assign(&mut out, &b);
    assert_eq!(each(&out, &out, |x, _| x % q), sum);
    e.sub(&mut out, &a, &b);
    assert_eq!(out, difference);
    out.copy_from_slice(&a);
    e.sub_assign(&mut out, &b);
    assert_eq!(out, difference);
    out.copy_from_slice(&b);
    e.sub_from_assign(&mut out, &a);
    assert_eq!(out, difference);
    out.copy_from_slice(&a);
    e.neg_assign(&mut out);
    assert_eq!(out, each(&a, &a, |a, _| neg_mod(a, q)));
    out.copy_from_slice(&a);
    e.add_scalar_assign(&mut out, b[0]);
    assert_eq!(out, each(&a, &a, |a, _| add_mod(a, b[0], q)));

    let lazy = each(&b, &a, |b, a| b + a % e.lazy_multiple() * q);
    let twice = each(&a, &b, |a, b| a + b % 2 * q);
    for c in [0, 1, q / 2, q - 1, b[1]] {
        let s = case.ring.scalar(c);
        assert_eq!(s.value(), c % q);
        let product = each(&b, &b, |b, _| mul_mod(b, c, q));
        let sum = each(&a, &product, |a, b| add_mod(a, b, q));
        e.mul_scalar(&mut out, &lazy, &s);
        assert_eq!(out, product);
        out.copy_from_slice(&lazy);
        e.mul_scalar_assign(&mut out, &s);
        assert_eq!(out, product);
        out.copy_from_slice(&a);
        e.mul_scalar_add_assign(&mut out, &lazy, &s);
        assert_eq!(out, sum);
        e.add_mul_scalar(&mut out, &a, &lazy, &s);
        assert_eq!(out, sum);
        out.copy_from_slice(&lazy);
        e.sub_from_mul_scalar_assign(&mut out, &twice, &s);
        let difference = each(&a, &b, |a, b| mul_mod(sub_mod(a, b, q), c, q));
        assert_eq!(out, difference);
        e.sub_mul_scalar(&mut out, &twice, &lazy, &s);
        assert_eq!(out, difference);
    }
}

fn reductions(case: &mut Case) {
    let (q, e, mut out) = (case.ring.modulus(), case.ring, case.zeros());
    let mut words = random(case.seed, u64::MAX, out.len());
    words[..4].copy_from_slice(&[0, u64::MAX, 1 << 63, (1 << 63) - 1]);
    e.reduce(&mut out, &words);
    assert_eq!(out, each(&words, &words, |x, _| x % q));
    let signed: Vec<i64> = words.iter().map(|&x| x as i64).collect();
    e.from_signed(&mut out, &signed);
    assert_eq!(out, each(&words, &words, |x, _| signed_mod(x as i64, q)));
    for from in [2, 3, 1 << 15, 65537, (1 << 48) - 59, (1 << 62) - 1] {
        let mut residues = each(&words, &words, |x, _| x % from);
        residues[..4].copy_from_slice(&[0, from - 1, from / 2, from - from / 2]);
        e.reduce_centred(&mut out, &residues, from);
        // An even modulus has two representatives of one half. The negative one is correct.
        let of = |x| if 2 * x == from { -(x as i64) } else { centred(x, from) };
        assert_eq!(
            out,
            each(&residues, &residues, |x, _| signed_mod(of(x), q)),
            "from {from} to {q}"
        );
    }
}

/// Returns the form of [`ResidueRing::lift`].
fn lifted(e: &ResidueRing, values: &[u64]) -> Vec<u64> {
    let mut out = vec![0; e.lifted_moduli().len() * values.len()];
    e.lift(&mut out, values);
    out
}

fn products(case: &mut Case) {
    let (q, e) = (case.ring.modulus(), case.ring);
    let [a0, a1, b0, b1] = [(); 4].map(|()| case.coefficients());
    let [v0, v1, w0, w1] = [&a0, &a1, &b0, &b1].map(|a| case.values(a));
    let sum = |a: &[u64], b: &[u64]| each(a, b, |a, b| add_mod(a, b, q));
    let [c00, c01, c10, c11] =
        [(&a0, &b0), (&a0, &b1), (&a1, &b0), (&a1, &b1)].map(|(a, b)| schoolbook(a, b, q));
    let mut out = [(); 3].map(|()| case.zeros());
    let [x, y, z] = &mut out;
    e.mul(x, &v0, &w0);
    case.check(x, &c00, "mul");
    x.copy_from_slice(&v1);
    e.mul_assign(x, &w0);
    case.check(x, &c10, "mul_assign");
    e.mul_add_assign(x, &v0, &w1);
    case.check(x, &sum(&c01, &c10), "mul_add_assign");
    e.tensor(x, y, z, &v0, &v1, &w0, &w1);
    case.check(x, &c00, "tensor, 0");
    case.check(y, &sum(&c01, &c10), "tensor, 1");
    case.check(z, &c11, "tensor, 2");
    let [l0, l1, m0, m1] = [&v0, &v1, &w0, &w1].map(|v| lifted(e, v));
    e.sum_products(x, y, &[(&l0, [&m0, &m1]), (&l1, [&m1, &m0])]);
    case.check(x, &sum(&c00, &c11), "sum of products, 0");
    case.check(y, &sum(&c01, &c10), "sum of products, 1");
    // These are more terms than powers of two sum at a time.
    let many = [(&l0[..], [&m0[..], &m1[..]]), (&l1, [&m1, &m0])].repeat(20);
    e.sum_products(x, y, &many);
    let times = |c: Vec<u64>| each(&c, &c, |c, _| mul_mod(c, 20 % q, q));
    case.check(x, &times(sum(&c00, &c11)), "sum of many products, 0");
    case.check(y, &times(sum(&c01, &c10)), "sum of many products, 1");
    e.sum_products(x, y, &[]);
    case.check(x, &case.zeros(), "sum of no products, 0");
    case.check(y, &case.zeros(), "sum of no products, 1");
    if case.ring.degree() >= 64 {
        // Polynomials in X^8 need only an eighth of the values.
        let sparse = [&a0, &a1]
            .map(|a| (0..).zip(a).map(|(i, c)| if i % 8 == 0 { *c } else { 0 }).collect());
        let [s0, s1] = sparse.each_ref().map(|a: &Vec<u64>| {
            let whole = lifted(e, &case.values(a));
            whole.chunks_exact(64).flat_map(|block| block[..8].to_vec()).collect::<Vec<u64>>()
        });
        e.sum_repeated_products(x, y, &[(&s0, [&m0, &m1]), (&s1, [&m1, &m0])]);
        let [c00, c01] = [&b0, &b1].map(|b| schoolbook(&sparse[0], b, q));
        let [c10, c11] = [&b0, &b1].map(|b| schoolbook(&sparse[1], b, q));
        case.check(x, &sum(&c00, &c11), "sum of repeated products, 0");
        case.check(y, &sum(&c01, &c10), "sum of repeated products, 1");
    }
    e.square(x, y, z, &v0, &w1);
    case.check(x, &schoolbook(&a0, &a0, q), "square, 0");
    case.check(y, &sum(&c01, &c01), "square, 1");
    case.check(z, &schoolbook(&b1, &b1, q), "square, 2");
}

fn inner_products(case: &mut Case) {
    let (q, e) = (case.ring.modulus(), case.ring);
    let key: Vec<[Vec<u64>; 2]> =
        (0..3).map(|_| [case.coefficients(), case.coefficients()]).collect();
    let values: Vec<_> =
        key.iter().map(|pair| [case.values(&pair[0]), case.values(&pair[1])]).collect();
    let pairs: Vec<(&[u64], &[u64])> = values.iter().map(|[b, a]| (&b[..], &a[..])).collect();
    let prepared = KeyLimb::of_pairs(e, &pairs);
    assert_eq!((prepared.digits(), prepared.length()), (3, case.ring.degree()));
    for which in [vec![], vec![1], vec![2, 0]] {
        let x: Vec<Vec<u64>> = which.iter().map(|_| case.coefficients()).collect();
        let mut lazy = x.clone();
        lazy.iter_mut().for_each(|x| case.ring.forward_lazy(x));
        let digits: Vec<(usize, &[u64])> =
            which.iter().zip(&lazy).map(|(&d, x)| (d, &x[..])).collect();
        let mut out = [case.coefficients(), case.coefficients()];
        let [acc0, acc1] = &mut out;
        e.inner_product(acc0, acc1, &digits, &prepared);
        for (part, acc) in out.iter().enumerate() {
            let expected = which.iter().zip(&x).fold(case.zeros(), |sum, (&d, x)| {
                each(&sum, &schoolbook(x, &key[d][part], q), |a, b| add_mod(a, b, q))
            });
            case.check(acc, &expected, "inner product");
        }
        if q % 2 == 1 {
            products_beside(case, &digits, &prepared, &out);
        }
    }
}

/// An inner product with additional summands equals the inner product `without` them plus these
/// summands.
fn products_beside(
    case: &mut Case,
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    without: &[Vec<u64>; 2],
) {
    let e = case.ring;
    let [factor, multiple] = [0, 1].map(|i| e.scalar(case.coefficients()[i]));
    let mut lazy = [(); 3].map(|()| case.coefficients());
    lazy.iter_mut().for_each(|x| case.ring.forward_lazy(x));
    let [x, y0, y1] = &lazy;
    for which in 0..8 {
        let [scaled, first, second] = [0, 1, 2].map(|bit| which >> bit & 1 == 1);
        let beside = ExtraSummands {
            scaled: scaled.then_some((1, &x[..], &factor)),
            added: [first.then_some((&y0[..], &multiple)), second.then_some((&y1[..], &multiple))],
        };
        let mut expected = without.clone();
        if scaled {
            let mut product = x.clone();
            e.mul_scalar_assign(&mut product, &factor);
            let mut more = [case.zeros(), case.zeros()];
            let [more0, more1] = &mut more;
            e.inner_product(more0, more1, &[(1, &product)], key);
            expected.iter_mut().zip(&more).for_each(|(sum, more)| e.add_assign(sum, more));
        }
        for (sum, added) in expected.iter_mut().zip(&beside.added) {
            if let Some((y, multiple)) = added {
                e.mul_scalar_add_assign(sum, y, multiple);
            }
        }
        let mut out = [case.coefficients(), case.coefficients()];
        let [acc0, acc1] = &mut out;
        e.inner_product_plus(acc0, acc1, digits, key, &beside);
        assert_eq!(out, expected, "modulo {}, with {which:b} beside", case.ring.modulus());
    }
}

fn automorphisms(case: &mut Case) {
    let (q, n) = (case.ring.modulus(), case.ring.degree());
    for element in [1, 5, 2 * n - 1, n + 1] {
        let automorphism = Automorphism::new(n, element).unwrap();
        let (a, mut out) = (case.coefficients(), case.zeros());
        let mut expected = case.zeros();
        for (k, &x) in a.iter().enumerate() {
            let k = k * element % (2 * n);
            expected[k % n] = if k < n { x } else { neg_mod(x, q) };
        }
        case.ring.apply_automorphism(&automorphism, Domain::Coefficient, &mut out, &a);
        assert_eq!(out, expected);
        case.ring.apply_automorphism(&automorphism, Domain::Evaluation, &mut out, &case.values(&a));
        case.check(&out, &expected, "automorphism");
    }
}

fn constants(case: &mut Case) {
    let (q, ring, mut a) = (case.ring.modulus(), case.ring, case.coefficients());
    let mut values = case.values(&a);
    for c in [0, 1, q / 2, q - 1] {
        ring.add_constant_assign(Domain::Evaluation, &mut values, c);
        a[0] = add_mod(a[0], c, q);
        case.check(&values, &a, "a constant more");
        let mut sum = a.clone();
        ring.add_constant_assign(Domain::Coefficient, &mut sum, c);
        assert!(sum[0] == add_mod(a[0], c, q) && sum[1..] == a[1..]);
    }
}

fn samples(case: &mut Case) {
    let (q, mut out) = (case.ring.modulus(), case.zeros());
    Sampler::new(&Seed::from_bytes([1; 32]), case.seed).uniform(q, &mut out);
    assert!(out.iter().all(|&x| x < q));
    // All sixteen are in the same half by chance once in 2^15 rings.
    let few = q < 8 || out.len() < 64;
    assert!(few || out.iter().any(|&x| x >= q / 2) && out.iter().any(|&x| x < q / 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn every_operation_of_every_ring(seed in any::<u32>()) {
        for kernel in Kernel::supported() {
            for degree in [16, 64, 512] {
                for ring in rings(degree, kernel) {
                    let mut case = Case { ring: &ring, seed: u64::from(seed) };
                    transforms(&mut case);
                    linear(&mut case);
                    reductions(&mut case);
                    if degree < 512 || seed % 2 == 0 {
                        products(&mut case);
                        inner_products(&mut case);
                    }
                    automorphisms(&mut case);
                    constants(&mut case);
                    samples(&mut case);
                    ring.wipe_scratch();
                }
            }
        }
    }
}

/// Products of polynomials whose coefficients are all `-2^(e-1)`, or the largest positive ones, are
/// summed beyond the capacity of one transform.
#[test]
fn powers_of_two_at_the_bound() {
    for (log, exponents) in [(4, 1..=60), (9, 1..=60), (15, 14..=20), (16, 15..=19), (17, 60..=60)]
    {
        let n = 1usize << log;
        for kernel in Kernel::supported() {
            let rings = ResidueRing::powers_of_two(*exponents.end(), n, kernel).unwrap();
            for exponent in exponents.clone().step_by(if log == 9 { 5 } else { 1 }) {
                let (ring, q) = (&rings[exponent as usize - 1], 1u64 << exponent);
                let e = ring;
                let (least, greatest) = (vec![q / 2; n], vec![q / 2 - 1; n]);
                // Coefficient k is a sum of k + 1 products minus one of N - 1 - k.
                let expected = |terms: u64, a: u64, b: u64| -> Vec<u64> {
                    let product = mul_mod(mul_mod(a, b, q), terms % q, q);
                    (0..n as i64)
                        .map(|k| mul_mod(product, signed_mod(2 * k + 2 - n as i64, q), q))
                        .collect()
                };
                let mut out = [(); 3].map(|()| vec![0; n]);
                let [x, y, z] = &mut out;
                e.mul(x, &least, &least);
                assert!(*x == expected(1, q / 2, q / 2), "{kernel}, N = {n}, e = {exponent}");
                e.tensor(x, y, z, &least, &greatest, &greatest, &least);
                let [low, mixed] =
                    [(q / 2, q / 2), (q / 2, q / 2 - 1)].map(|(a, b)| expected(1, a, b));
                let sum = each(&low, &expected(1, q / 2 - 1, q / 2 - 1), |a, b| add_mod(a, b, q));
                assert!(
                    *x == mixed && *y == sum && *z == mixed,
                    "{kernel}, N = {n}, e = {exponent}"
                );
                e.square(x, y, z, &least, &greatest);
                assert!(*y == expected(2, q / 2, q / 2 - 1), "{kernel}, N = {n}, e = {exponent}");

                let key = KeyLimb::of_pairs(e, &[(&least, &greatest)]);
                let digits = [(0, &least[..]); 65];
                e.inner_product(x, y, &digits, &key);
                let [low, mixed] =
                    [(q / 2, q / 2), (q / 2, q / 2 - 1)].map(|(a, b)| expected(65, a, b));
                assert!(*x == low && *y == mixed, "{kernel}, N = {n}, e = {exponent}");
            }
        }
    }
}

/// A key modulo `2^15` gives correct results for digits modulo smaller powers of two.
#[test]
fn one_key_serves_smaller_powers() {
    let n = 512;
    for kernel in Kernel::supported() {
        let rings = ResidueRing::powers_of_two(15, n, kernel).unwrap();
        let (b, a) = (random(1, 1 << 15, n), random(2, 1 << 15, n));
        let key = KeyLimb::of_pairs(&rings[14], &[(&b, &a)]);
        for (e, ring) in (1..).zip(&rings) {
            let (q, x) = (1u64 << e, random(3, 1 << e, n));
            let [mut acc0, mut acc1, mut out] = [(); 3].map(|()| vec![0; n]);
            rings[14].inner_product(&mut acc0, &mut acc1, &[(0, &x)], &key);
            for (acc, key) in [(acc0, &b), (acc1, &a)] {
                ring.reduce(&mut out, &acc);
                let key: Vec<u64> = key.iter().map(|k| k % q).collect();
                assert_eq!(out, schoolbook(&x, &key, q));
            }
        }
    }
}

#[test]
fn shifts_end_a_switch() {
    let n = 64;
    for kernel in Kernel::supported() {
        for (to, shift) in [(1, 1), (3, 12), (15, 0), (10, 9), (33, 7), (20, 40), (4, 60)] {
            let ring = ResidueRing::power_of_two(to, n, kernel).unwrap();
            let (a, b, mut out) = (random(1, u64::MAX, n), random(2, u64::MAX, n), vec![0; n]);
            for c in [0, 1, 3, (1 << to) - 1] {
                out.copy_from_slice(&b);
                ring.sub_from_shift_mul_scalar_assign(&mut out, &a, shift, &ring.scalar(c));
                let from = u128::from(to + shift);
                let expected = |a: u64, b: u64| {
                    let difference = (u128::from(a) + (1 << 64) - u128::from(b)) % (1 << from);
                    ((difference >> shift) * u128::from(c) % (1 << to)) as u64
                };
                assert_eq!(out, each(&a, &b, expected));
            }
        }
    }
}

#[test]
#[should_panic(expected = "is not a power of two")]
fn other_residues_are_not_shifted() {
    let ring = ResidueRing::prime(97, 16, Kernel::Portable).unwrap();
    ring.sub_from_shift_mul_scalar_assign(&mut [0; 16], &[0; 16], 1, &ring.scalar(1));
}

#[test]
#[should_panic(expected = "digits of an inner product must be among the 1")]
fn a_digit_that_the_key_lacks_is_refused() {
    let ring = ResidueRing::power_of_two(60, 16, Kernel::Portable).unwrap();
    let key = KeyLimb::of_pairs(&ring, &[(&[3; 16], &[4; 16])]);
    ring.inner_product(&mut [0; 16], &mut [0; 16], &[(1, &[0; 16])], &key);
}

#[test]
#[should_panic(expected = "a key modulo 2^60 cannot be coalesced")]
fn digits_modulo_powers_of_two_are_not_coalesced() {
    let ring = ResidueRing::power_of_two(60, 16, Kernel::Portable).unwrap();
    let key = KeyLimb::of_pairs(&ring, &[(&[3; 16], &[4; 16])]);
    KeyLimb::coalesce(&[(&ring, &key)], &[&[0]], &Threads::single());
}

#[test]
fn impossible_rings_are_refused() {
    let n = 64;
    let [p, q] = ntt_primes(40, n, 2, &[]).unwrap()[..] else { unreachable!() };
    let refused = |primes: &[u64]| ResidueRing::composite(primes, n, Kernel::Portable).unwrap_err();
    assert_eq!(refused(&[]), RingError::ModulusRange { modulus: 1 });
    assert_eq!(refused(&[257, 257]), RingError::NotCoprime { first: 257, second: 257 });
    assert_eq!(refused(&[p, q]), RingError::ModulusRange { modulus: u64::MAX });
    assert_eq!(refused(&[257 * 641]), RingError::NotPrime { modulus: 257 * 641 });
    assert_eq!(refused(&[257, 97]), RingError::NoRootOfUnity { modulus: 97, degree: n });
    let near = ntt_primes_below(53, n).next().unwrap();
    assert!(matches!(refused(&[257, near]), RingError::ModulusRange { .. }));
    for exponent in [0, 61, u32::MAX] {
        let refused = ResidueRing::power_of_two(exponent, n, Kernel::Portable).unwrap_err();
        assert_eq!(refused, RingError::Exponent { exponent });
    }
    let refused = ResidueRing::powers_of_two(15, 24, Kernel::Portable).unwrap_err();
    assert_eq!(refused, RingError::RingDegree { degree: 24 });
}

/// Dry runs count the work of kernels other than the one in use.
#[test]
fn key_bytes_and_lifted_moduli_are_known_of_every_kernel() {
    let degree = 1 << 10;
    let kernels: Vec<Kernel> = Kernel::supported().collect();
    for &kernel in &kernels {
        for q in [48, 50, 61].map(|bits| ntt_primes(bits, degree, 1, &[]).unwrap()[0]) {
            let ring = ResidueRing::prime(q, degree, kernel).unwrap();
            for length in [8, degree] {
                let counted = ResidueRing::key_bytes_of_kernel(kernel, q, length);
                assert_eq!(ring.key_bytes(length), counted, "{kernel} {q}");
            }
        }
        let powers = ResidueRing::powers_of_two(40, degree, kernel).unwrap();
        for &other in &kernels {
            let same = ResidueRing::powers_of_two(40, degree, other).unwrap();
            for (two, own) in powers.iter().zip(&same) {
                assert_eq!(two.lifted_moduli_of_kernel(other), own.lifted_moduli(), "{other}");
            }
        }
    }
}
