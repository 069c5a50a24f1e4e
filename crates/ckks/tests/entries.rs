//! Entries of tables: the right ones, with the noise that was estimated.

use crate::common::{Setup, grafted};
use hippocrene_ckks::{
    NoRefresh, Scale,
    circuits::{EntriesLiteral, EntriesPlan},
};
use num_complex::Complex64;

fn entries(count: usize) -> Vec<f64> {
    (0..count).map(|j| ((j as f64 + 1.0) * 0.618_033_988_749_895).fract() * 20.0 - 10.0).collect()
}

fn check(s: &Setup, literal: EntriesLiteral, scale: i32, off: f64) {
    let plan = EntriesPlan::new(&s.context, literal).unwrap();
    let EntriesLiteral { slots, entries, precision } = plan.literal();
    let p = entries.len();
    let place = |i: usize| i * 7 % p;
    let x = |i: usize| place(i) as f64 + off * ((i as f64 * 0.754_877_666).fract() - 0.5);
    let z: Vec<Complex64> = (0..*slots).map(|i| x(i).into()).collect();
    let mut a = s.encrypt_at(&z, *slots, Scale::power_of_two(scale), s.top());
    a.set_bound(p as f64 - 0.5);
    let y = s.evaluator.entries(&a, &plan, &NoRefresh(&s.context)).unwrap();
    let got = s.decrypt(&y);
    let (mut square, mut worst) = (0.0, 0f64);
    for (i, got) in got.iter().enumerate() {
        let error = (got.re - entries[place(i)]).abs();
        worst = worst.max(error);
        square += (got.re - plan.apply(x(i))).powi(2) / *slots as f64;
    }
    let scales: Vec<f64> = plan.stages().iter().map(|s| s.scale_bits()).collect();
    let depths: Vec<usize> = plan.stages().iter().map(|s| s.polynomial().depth()).collect();
    println!(
        "{p}: bits {:.1} scales {scales:.1?} depths {depths:?} products {} needs {:.1}; worst 2^{:.2} (2^-{precision}) rms 2^{:.2} stated 2^{:.2}",
        plan.bits(),
        plan.products(),
        plan.argument_precision(),
        worst.log2(),
        0.5 * square.log2(),
        -y.precision_bits()
    );
    assert!(worst <= (-precision).exp2());
    let used = a.capacity_bits(&s.context) - y.capacity_bits(&s.context);
    println!("used {used:.1}");
}

#[test]
fn tables_of_every_size() {
    let s = grafted(11, 22, "sprout-15-16-32", &[]);
    for p in [1, 2, 3, 4, 5, 8, 16, 32, 64, 100, 256, 1000] {
        check(&s, EntriesLiteral { slots: 1 << 10, entries: entries(p), precision: 8.0 }, 40, 0.0);
    }
}
