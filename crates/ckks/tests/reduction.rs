//! Tests of the reduction modulo 1 on ciphertexts against plain numbers.

use crate::common::{Setup, grafted, insecure};
use hippocrene_ckks::{Scale, approximation::ModularReduction};
use num_complex::Complex64;

/// Returns integers up to `k - 1` with a standard deviation of `k/10`, plus offsets of up to
/// `epsilon`. For `k = 17` this is the deviation for a secret of Hamming weight 32.
fn arguments(count: usize, k: u32, epsilon: f64) -> Vec<f64> {
    let most = f64::from(k) - 1.0;
    (0..count)
        .map(|i| {
            let normal: f64 =
                (0..12).map(|j| ((i * 12 + j) as f64 * 0.754_877_666).fract()).sum::<f64>() - 6.0;
            let integer = if i < 2 {
                most * (1.0 - 2.0 * i as f64)
            } else {
                (0.1 * f64::from(k) * normal).round()
            };
            integer.clamp(-most, most)
                + epsilon * (1.0 - 2.0 * (i as f64 * 0.618_033_988_7).fract())
        })
        .collect()
}

fn check(s: &Setup, r: &ModularReduction, scale: Scale, target: Scale, what: &str) {
    let x = arguments(s.context.max_slots(), r.reach() as u32, r.epsilon());
    let values: Vec<Complex64> = x.iter().map(|x| Complex64::from(x / r.reach())).collect();
    let mut a = s.encrypt_at(&values, s.context.max_slots(), scale, s.top());
    a.set_bound(1.0);
    let y = s.evaluator.reduce_modulo_one(&a, r, scale, target).unwrap();
    assert!((y.scale().log2() - target.log2()).abs() < 0.8, "{what}: {} {target}", y.scale());
    let got = s.decrypt(&y);
    let errors: Vec<f64> = got.iter().zip(&x).map(|(y, x)| y.re - r.apply(*x)).collect();
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt().log2();
    let true_error =
        got.iter().zip(&x).map(|(y, x)| (y.re - (x - x.round())).abs()).fold(0.0, f64::max);
    assert!(true_error <= r.log2_error().exp2() + 8.0 * rms.exp2(), "{what}");
    assert!(x.iter().all(|x| (x - x.round()).abs() <= y.bound() * (1.0 + 1e-9)));
    // With an arcsine of degree 7 and on the simple chain, roundings combine in ways that the
    // estimate does not track.
    let (estimated, most) = (-y.precision_bits(), if r.cosine().degree() < 25 { 1.0 } else { 0.9 });
    assert!(
        (-0.6..most).contains(&(estimated - rms)),
        "{what}: measured 2^{rms:.2}, estimated 2^{estimated:.2}"
    );
}

#[test]
fn integers_are_taken_away() {
    let bits = Scale::power_of_two;
    let g = grafted(10, 14, "sprout-15-16-32", &[]);
    for (k, epsilon, error, doublings, arcsine) in [
        (17, -10.0, -27.0, 3, 0),
        (17, -10.0, -27.0, 2, 0),
        (5, -10.0, -27.0, 0, 0),
        (17, -6.0, -24.0, 3, 3),
        (5, -5.0, -30.0, 2, 7),
        (25, -10.0, -27.0, 3, 0),
    ] {
        let r = ModularReduction::new(k, epsilon, error, doublings, arcsine).unwrap();
        let what = format!("k {k} doublings {doublings} arcsine {arcsine}");
        check(&g, &r, bits(50), bits(45), &what);
        check(&g, &r, bits(58), bits(50), &what);
    }
    let s = insecure(10, 10, &[]);
    let r = ModularReduction::new(17, -6.0, -15.0, 3, 0).unwrap();
    check(&s, &r, bits(40), bits(40), "simple");
}
