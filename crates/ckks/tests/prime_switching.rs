//! Tests of a simple chain of mostly large primes with a few small ones, which keep the scales
//! (MG23 3.7). When the small primes are used up, the key switch of the next product restores them
//! in exchange for large ones.

use crate::common::{Setup, circle, setup};
use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Modulus, Parameters, ParametersLiteral, SecretDistribution, Sprout};
use num_complex::Complex64;

/// Number of small primes, of the size of a scale. Together they are as large as `MU` large ones.
const KAPPA: usize = 3;
const MU: usize = 2;
const LARGE: usize = 9;
const SCALE: i32 = 30;

fn chain() -> Setup {
    let degree = 1 << 10;
    let mut units = ntt_primes(30, degree, KAPPA, &[]).unwrap();
    units.extend(ntt_primes(45, degree, LARGE, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 10,
        units,
        specials: ntt_primes(46, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 6,
        secret: SecretDistribution::Ternary,
    });
    setup(parameters.unwrap(), &[1], Threads::single(), Scale::power_of_two(SCALE))
}

/// Returns the modulus of `small` small and `large` large primes.
fn modulus(small: usize, large: usize) -> Modulus {
    Modulus::of_range(0..small).lcm(Modulus::of_range(KAPPA..KAPPA + large))
}

/// A running product, with the primes that are left.
struct Product {
    ciphertext: Ciphertext,
    expected: Vec<Complex64>,
    small: usize,
    large: usize,
}

impl Product {
    /// Multiplies by a fresh ciphertext of this modulus. The key switch brings the result to
    /// `small` small and `large` large primes.
    fn multiply(&mut self, s: &Setup, round: usize, small: usize, large: usize) {
        let y = circle(s.context.max_slots(), 1.0, round as f64);
        let factor = s.encrypt_at(&y, y.len(), s.scale, modulus(self.small, self.large));
        let mut out = Ciphertext::empty(&s.context);
        s.evaluator
            .mul_to_into(&mut out, &self.ciphertext, &factor, modulus(small, large))
            .unwrap();
        self.expected.iter_mut().zip(&y).for_each(|(x, y)| *x *= y);
        (self.ciphertext, self.small, self.large) = (out, small, large);
    }

    fn check(&self, s: &Setup, what: &str) {
        assert_eq!(self.ciphertext.modulus(), modulus(self.small, self.large));
        let drift = self.ciphertext.scale().log2() - f64::from(SCALE);
        assert!(drift.abs() < 0.01, "{what}: the scale differs by {drift} bits");
        s.check(&self.ciphertext, &self.expected, what);
    }
}

/// Multiplies down to the last large primes, with one small prime for each product. Whenever the
/// small primes are used up, they are swapped, either in the division of the next product or before
/// its rescale (the paper's steps 5 and 6). The scale stays the same, and so does the precision
/// except for the noise of each level. Rotations work at every modulus in between.
#[test]
fn small_primes_keep_the_scale_for_many_levels() {
    let s = chain();
    for fused in [true, false] {
        let x = circle(s.context.max_slots(), 1.0, 0.4);
        let ciphertext = s.encrypt_at(&x, x.len(), s.scale, s.top());
        let mut product = Product { ciphertext, expected: x, small: KAPPA, large: LARGE };
        let (mut round, mut swaps) = (0, 0);
        loop {
            round += 1;
            let what = format!("product {round}");
            let (small, large) = (product.small, product.large);
            if small > 0 {
                product.multiply(&s, round, small - 1, large);
            } else if large <= MU {
                break;
            } else if fused {
                swaps += 1;
                product.multiply(&s, round, KAPPA - 1, large - MU);
            } else {
                swaps += 1;
                product.multiply(&s, round, KAPPA, large - MU);
                let doubled = product.ciphertext.scale().log2() - f64::from(2 * SCALE);
                assert!(doubled.abs() < 0.01, "the swap changed the scale by {doubled} bits");
                let mut out = Ciphertext::empty(&s.context);
                let to = modulus(KAPPA - 1, large - MU);
                s.evaluator.rescale_to_into(&mut out, &product.ciphertext, to).unwrap();
                (product.ciphertext, product.small) = (out, KAPPA - 1);
            }
            product.check(&s, &what);
            let rotated = s.evaluator.rotate(&product.ciphertext, 1).unwrap();
            let n = product.expected.len();
            let expected: Vec<_> = (0..n).map(|i| product.expected[(i + 1) % n]).collect();
            s.check(&rotated, &expected, &format!("rotation after {what}"));
        }
        assert_eq!((swaps, round - 1), (4, 4 * KAPPA + KAPPA));
        assert_eq!((product.small, product.large), (0, 1));
    }
}
