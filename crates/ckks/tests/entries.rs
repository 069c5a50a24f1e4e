//! Tests of tables: the right entries, with the estimated noise, whatever the other slots hold.

use crate::common::{Setup, grafted, insecure};
use hippocrene_ckks::{
    Ciphertext, NoRefresh, Scale,
    bootstrap::SineErrors,
    circuits::{EntriesLiteral, EntriesPlan, SineEntriesPlan},
};
use num_complex::Complex64;

/// Returns entries up to 10 in no particular order.
fn entries(count: usize) -> Vec<f64> {
    (0..count).map(|j| ((j as f64 + 1.0) * 0.618_033_988_749_895).fract() * 20.0 - 10.0).collect()
}

fn encrypt(s: &Setup, x: &[f64], plan: &EntriesPlan) -> Ciphertext {
    let z: Vec<Complex64> = x.iter().map(|x| Complex64::from(*x)).collect();
    let mut a = s.encrypt_at(&z, x.len(), Scale::power_of_two(40), s.top());
    a.set_bound(plan.places().1);
    a
}

fn places(plan: &EntriesPlan) -> Vec<usize> {
    (0..plan.literal().slots).map(|i| i * 7 % plan.literal().entries.len()).collect()
}

#[test]
fn tables_of_every_size() {
    let s = grafted(11, 22, "sprout-15-16-32", &[]);
    for p in [1, 2, 3, 4, 5, 8, 16, 32, 64, 100, 256, 1000] {
        let literal = EntriesLiteral { slots: 1 << 10, entries: entries(p), precision: 8.0 };
        let plan = EntriesPlan::new(&s.context, literal).unwrap();
        let places = places(&plan);
        let x: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let a = encrypt(&s, &x, &plan);
        let y = s.evaluator.entries(&a, &plan, &NoRefresh(&s.context)).unwrap();
        let errors: Vec<f64> = s
            .decrypt(&y)
            .iter()
            .zip(&places)
            .map(|(got, place)| got.re - plan.literal().entries[*place])
            .collect();
        let worst = errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs()));
        assert!(worst <= 2f64.powi(-8), "an entry of {p} has an error of {worst}");
        if p == 1 {
            continue;
        }
        // The stated noise is that of the place where it is largest.
        let mean = |square: f64, count: usize| 0.5 * (square / count as f64).log2();
        let mut squares = vec![(0.0, 0); p];
        for (error, place) in errors.iter().zip(&places) {
            squares[*place] = (squares[*place].0 + error * error, squares[*place].1 + 1);
        }
        let most =
            squares.iter().map(|(square, count)| mean(*square, *count)).fold(f64::MIN, f64::max);
        let all = mean(errors.iter().map(|e| e * e).sum(), errors.len());
        let stated = -y.precision_bits();
        assert!(all < stated + 0.3, "{p}: 2^{all}, stated 2^{stated}");
        // With many places, each has few slots.
        assert!(p > 64 || (most - stated).abs() < 1.0, "{p}: 2^{most} at most, stated 2^{stated}");
        let used = a.capacity_bits(&s.context) - y.capacity_bits(&s.context);
        let products: usize = plan.stages().iter().map(|stage| stage.polynomial().depth()).sum();
        // The bound of the result is different.
        let bounds = (y.bound() / a.bound()).log2();
        assert!(
            (used - bounds - plan.bits()).abs() < 2.0 + 0.5 * products as f64,
            "{p}: {used} bits"
        );
    }
}

/// Checks that arguments up to the bound do no harm: below the places the result is that of the
/// mirror image, and all other slots are unaffected.
#[test]
fn arguments_between_places_do_no_harm() {
    let s = grafted(10, 12, "sprout-15-16-32", &[]);
    for p in [5, 16, 31] {
        let literal = EntriesLiteral { slots: 1 << 9, entries: entries(p), precision: 8.0 };
        let plan = EntriesPlan::new(&s.context, literal).unwrap();
        assert!(plan.accepts_any_argument());
        let least = -plan.places().1;
        let x: Vec<f64> = (0..1 << 9).map(|i| least * (1.0 - f64::from(i) / 256.0)).collect();
        let y =
            s.evaluator.entries(&encrypt(&s, &x, &plan), &plan, &NoRefresh(&s.context)).unwrap();
        for (x, got) in x.iter().zip(s.decrypt(&y)) {
            assert!((got.re - plan.apply(*x)).abs() < 0.05, "{x}: {got}, not {}", plan.apply(*x));
            assert!(got.re.abs() <= y.bound(), "{got} is beyond the bound {}", y.bound());
        }
    }
}

#[test]
fn argument_errors_count_by_their_square() {
    let s = grafted(10, 12, "sprout-15-16-32", &[]);
    for (p, curvature) in [(4, 8.1), (16, 3.3)] {
        let literal = EntriesLiteral { slots: 1 << 9, entries: entries(p), precision: 12.0 };
        let plan = EntriesPlan::new(&s.context, literal).unwrap();
        let places = places(&plan);
        for off in [-0.05, 0.02] {
            let x: Vec<f64> = places.iter().map(|place| *place as f64 + off).collect();
            let y = s
                .evaluator
                .entries(&encrypt(&s, &x, &plan), &plan, &NoRefresh(&s.context))
                .unwrap();
            for (place, got) in places.iter().zip(s.decrypt(&y)) {
                let error = (got.re - plan.literal().entries[*place]).abs();
                // The cube of the error also has a small effect.
                assert!(
                    error < 1.2 * curvature * off * off * 20.0 + 2f64.powi(-12),
                    "{error} at {place} of {p}"
                );
            }
        }
    }
}

#[test]
fn invalid_tables_and_arguments_are_refused() {
    let s = grafted(10, 6, "sprout-15-16-32", &[]);
    let plan = |entries: Vec<f64>, precision| {
        EntriesPlan::new(&s.context, EntriesLiteral { slots: 1 << 9, entries, precision })
    };
    let says = |result: Result<(), hippocrene_ckks::CkksError>, what: &str| {
        let error = result.expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    says(plan(vec![], 8.0).map(drop), "0 entries");
    says(plan(vec![0.0; 5000], 8.0).map(drop), "5000 entries, and 1 to 4096 are possible");
    says(plan(vec![0.0, f64::INFINITY], 8.0).map(drop), "entry 1 is inf");
    says(
        plan(vec![0.0, 4.0], 39.0).map(drop),
        "a precision of 39 bits is too high: these entries allow 38.0 bits",
    );
    says(plan(vec![0.0, 4.0], f64::NAN).map(drop), "NaN");
    says(plan(entries(300), 8.0).map(drop), "bits of capacity");
    let table = plan(vec![1.0, 2.0, 3.0], 8.0).unwrap();
    let none = NoRefresh(&s.context);
    let entries = |a: &Ciphertext| s.evaluator.entries(a, &table, &none).map(drop);
    let a = encrypt(&s, &[0.0; 1 << 9], &table);
    assert!(entries(&a).is_ok());
    let mut wide = a.clone();
    wide.set_bound(2.5);
    says(entries(&wide), "values up to 2.5 are not places of 3 entries, which are 0 to 2");
    says(entries(&encrypt(&s, &[0.0; 1 << 8], &table)), "slots");
    let mut rough =
        s.encrypt_at(&[Complex64::from(1.0); 1 << 9], 1 << 9, Scale::power_of_two(8), s.top());
    rough.set_bound(2.0);
    says(entries(&rough), "bits of precision");
    let foreign = insecure(10, 3, &[]);
    says(entries(&encrypt(&foreign, &[0.0; 1 << 9], &table)), "parameters");
}

/// Tables at sines of places, as a bootstrap returns them. The scale of the sines is larger than
/// those of later steps.
#[test]
fn tables_at_sines_are_as_precise_as_stated() {
    let s = grafted(10, 24, "sprout-15-16-32", &[]);
    let slots = 1 << 9;
    for p in [2usize, 16, 100, 512, 900, 1000, 1024, 2048, 4096] {
        for bits in [12.0, 20.0] {
            let spacing = 0.9995 * std::f64::consts::PI / p as f64;
            let table: Vec<f64> = (0..p).map(|j| (j * 37 % p) as f64).collect();
            let precision = bits - (p as f64).log2();
            let literal = EntriesLiteral { slots, entries: table.clone(), precision };
            let plan = SineEntriesPlan::new(&s.context, literal, spacing).unwrap();
            let places: Vec<usize> = (0..slots).map(|i| i * 7 % p).collect();
            let sine = |place: &usize| (spacing * (*place as f64 - 0.5 * (p as f64 - 1.0))).sin();
            let sines: Vec<Complex64> = places.iter().map(|x| sine(x).into()).collect();
            let mut a = s.encrypt_at(&sines, slots, Scale::power_of_two(58), s.top());
            a.set_bound(1.0);
            let errors = SineErrors { sine: (-a.precision_bits()).exp2(), argument: 0.0 };
            let y = s.evaluator.entries_of_sines(&a, &plan, errors).unwrap();
            let found = s.decrypt(&y);
            let errors = found.iter().zip(&places);
            let errors = errors.map(|(x, place)| (x.re + plan.offset() - table[*place]).abs());
            let worst = errors.fold(0.0, f64::max);
            let stated = (-y.precision_bits()).exp2();
            assert!(worst <= (-precision).exp2(), "an entry of {p} has an error of {worst}");
            assert!(worst <= 8.0 * stated, "{p}: an error of {worst}, stated {stated}");
        }
    }
}
