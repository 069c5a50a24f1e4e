//! Comparisons, sorting, and which is the largest, between extraction and repacking.

mod common;

use common::{Setup, context, literal, setup, tables_of};
use hippocrene_pegasus::{Layout, Numbers, PegasusLiteral};

const BOUND: f64 = 8.0;

fn with_tables(entries: usize) -> Setup {
    let literal = PegasusLiteral { tables: tables_of(64, entries), ..literal(&[16], 64) };
    setup(context(9, 17, 2), literal)
}

/// Numbers no nearer to each other than 1, in no order.
fn apart(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((7 * i + 3) % 16) as f64 - 7.5).collect()
}

fn close(s: &Setup, got: &Numbers, expected: &[f64], error: f64, what: &str) {
    let got = s.decrypt_numbers(got);
    assert_eq!(got.len(), expected.len(), "{what}");
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() < error, "{what}: {got:?} instead of {expected:?}");
    }
}

#[test]
fn numbers_are_put_in_order() {
    let s = with_tables(1024);
    // Of an index of deviation 1.9, on [-16, 16].
    let error = 7.0 * 1.9 * 32.0 / 1024.0;
    for count in [1, 2, 5, 8] {
        let mut values = apart(count);
        let x = s.numbers(&values, BOUND);
        let sorted = s.pegasus.sort(&x).unwrap();
        values.sort_by(f64::total_cmp);
        let rounds = (count as f64).log2().ceil();
        let within = error * (1.0 + rounds * (rounds + 1.0) / 2.0).sqrt();
        close(&s, &sorted, &values, within, "sorted");
        assert_eq!(sorted.bound(), BOUND);
        // They can be repacked as they are.
        let packed = s.pegasus.repack(&sorted, &Layout::in_order(count)).unwrap();
        for (x, y) in s.decrypt(&packed).iter().zip(&values) {
            assert!((x - y).abs() < within + 0.01, "repacked");
        }
        let median = (values[count / 2] + values[(count - 1) / 2]) / 2.0;
        close(&s, &s.pegasus.median(&x).unwrap(), &[median], within, "median");
        let k = count.div_ceil(2);
        close(&s, &s.pegasus.top_k(&x, k).unwrap(), &values[count - k..], within, "the largest");
        assert!(s.pegasus.top_k(&x, 0).is_err() && s.pegasus.top_k(&x, count + 1).is_err());
    }
}

#[test]
fn the_largest_and_smallest_of_groups() {
    let s = with_tables(1024);
    let error = 7.0 * 1.9 * 32.0 / 1024.0;
    let values = apart(12);
    let x = s.numbers(&values, BOUND);
    for size in [1, 2, 3, 4, 12] {
        let within = error * (size as f64).log2().ceil().max(0.1).sqrt();
        let groups = |f: fn(f64, f64) -> f64| -> Vec<f64> {
            values.chunks(size).map(|group| group.iter().copied().reduce(f).unwrap()).collect()
        };
        close(&s, &s.pegasus.largest(&x, size).unwrap(), &groups(f64::max), within, "largest");
        close(&s, &s.pegasus.smallest(&x, size).unwrap(), &groups(f64::min), within, "smallest");
    }
    for size in [0, 5, 24] {
        let refused = s.pegasus.largest(&x, size).unwrap_err().to_string();
        assert!(refused.contains(&format!("12 numbers in groups of {size}")), "{refused}");
    }
}

#[test]
fn the_smaller_and_the_larger_add_up() {
    let s = with_tables(256);
    let (u, v) = (apart(16), apart(16).into_iter().rev().collect::<Vec<_>>());
    let (x, y) = (s.numbers(&u, BOUND), s.numbers(&v, BOUND));
    let (least, largest) = s.pegasus.min_max(&x, &y).unwrap();
    let of = |f: fn(f64, f64) -> f64| u.iter().zip(&v).map(|(u, v)| f(*u, *v)).collect::<Vec<_>>();
    let error = 7.0 * 1.9 * 32.0 / 256.0;
    close(&s, &least, &of(f64::min), error, "least");
    close(&s, &largest, &of(f64::max), error, "largest");
    let sum = |a: &Numbers, b: &Numbers| s.decrypt_numbers(&a.clone().add(b).unwrap());
    assert_eq!(sum(&least, &largest), sum(&x, &y));
    assert!(s.pegasus.min_max(&x, &y.clone().over(2.0).unwrap()).is_err());
    assert!(s.pegasus.min_max(&x, &y.select(&[0]).unwrap()).is_err());
}

#[test]
fn places_are_found() {
    let s = with_tables(1024);
    let scale = s.pegasus.plan().table_scale(16.0).unwrap();
    for count in [2, 3, 7] {
        let values = apart(count);
        let x = s.numbers(&values, BOUND);
        let ranks: Vec<f64> =
            values.iter().map(|v| values.iter().filter(|w| *w < v).count() as f64).collect();
        close(&s, &s.pegasus.ranks(&x).unwrap(), &ranks, 0.05, "ranks");
        let of_rank = |rank: usize| ranks.iter().map(|r| f64::from(*r == rank as f64)).collect::<Vec<_>>();
        close(&s, &s.pegasus.is_largest(&x, scale).unwrap(), &of_rank(count - 1), 0.05, "the largest");
        close(&s, &s.pegasus.is_smallest(&x, scale).unwrap(), &of_rank(0), 0.05, "the smallest");
        let place = |rank: f64| ranks.iter().position(|r| *r == rank).unwrap() as f64;
        close(&s, &s.pegasus.argmin(&x, scale).unwrap(), &[place(0.0)], 0.2, "argmin");
        close(&s, &s.pegasus.argmax(&x, scale).unwrap(), &[place(count as f64 - 1.0)], 0.2, "argmax");
    }
    let one = s.numbers(&[1.0], BOUND);
    assert!(s.pegasus.ranks(&one).unwrap_err().to_string().contains("there is one only"));
    let x = s.numbers(&[2.0, -3.0, 5.0], BOUND);
    let y = s.numbers(&[-2.0, 4.0, 4.0], BOUND);
    close(&s, &s.pegasus.greater(&x, &y, scale).unwrap(), &[1.0, 0.0, 1.0], 0.05, "greater");
}

#[test]
fn as_many_are_ranked_as_tables_tell_apart() {
    let s = with_tables(64);
    let x = s.numbers(&apart(8), BOUND);
    let scale = s.pegasus.plan().table_scale(16.0).unwrap();
    let refused = s.pegasus.argmax(&x, scale).unwrap_err().to_string();
    assert!(refused.contains("among 8 numbers; with these tables about"), "{refused}");
}
