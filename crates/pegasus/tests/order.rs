//! Comparisons, sorting, and the largest number, between extraction and repacking.

use crate::common::{Setup, check, context, literal, setup, spread, tables_of};
use hippocrene_ckks::Scale;
use hippocrene_pegasus::{Layout, Numbers, Pegasus, PegasusError, PegasusLiteral};
use hippocrene_rlwe::Noise;

const BOUND: f64 = 8.0;

fn with_tables(entries: usize) -> Setup {
    let literal = PegasusLiteral { tables: tables_of(64, entries), ..literal(&[16], 64) };
    setup(context(9, 17, 2), literal)
}

/// Returns unsorted numbers with distances of at least 1.
fn apart(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((7 * i + 3) % 16) as f64 - 7.5).collect()
}

/// Returns numbers that were extracted with `wide` times their own bound.
fn wide(s: &Setup, values: &[f64], wide: f64) -> Numbers {
    let (scale, q) = (
        s.pegasus.plan().table_scale(wide * BOUND).unwrap(),
        s.pegasus.plan().literal().lwe().modulus(),
    );
    let encrypt = |x: &f64| {
        let message = (x * scale.to_f64()).round() as i64;
        s.lwe.encrypt(message.rem_euclid(q as i64) as u64).unwrap()
    };
    Numbers::new(values.iter().map(encrypt).collect(), scale, BOUND).unwrap()
}

/// Returns the bound for a tournament of `size` such numbers.
fn tournament_bound_factor(s: &Setup, size: usize, scale: Scale) -> f64 {
    let noise = s.lwe.encrypt(0).unwrap().noise();
    s.pegasus.tournament_bound_factor(size, noise, scale).unwrap()
}

/// Numbers with larger errors than those of extraction, as in large rings, fit with the bound of
/// places. With a slightly smaller bound they do not.
#[test]
fn the_bound_of_places_is_tight() {
    let s = with_tables(1024);
    let scale = s.pegasus.plan().table_scale(4.0).unwrap();
    let q = s.pegasus.plan().literal().lwe().modulus() as f64;
    // A fraction of an entry of a table. In the last of five rounds it is 16 times larger.
    for part in [0.0, 0.2, 0.5] {
        let noise = Noise::from_std(part * q / 2048.0);
        let bound = s.pegasus.tournament_bound_factor(32, noise, scale).unwrap();
        let values: Vec<f64> = (0..32).map(|i| f64::from((7 * i + 3) % 32) / 2.0 - 7.75).collect();
        let found = |wider: f64| {
            let x = wide(&s, &values, wider * bound);
            let mut numbers = x.ciphertexts().to_vec();
            numbers.iter_mut().for_each(|c| c.set_noise(c.noise().plus(noise)));
            let x = Numbers::new(numbers, x.scale(), BOUND).unwrap();
            s.pegasus.argmin_digits(&x, 32, 2, scale)
        };
        let digits = found(1.0).unwrap();
        let least = (0..32).find(|i| (7 * i + 3) % 32 == 0).unwrap();
        assert_eq!(digits.len(), 3);
        for (k, digit) in digits.iter().enumerate() {
            close(&s, digit, &[f64::from(least >> (2 * k) & 3)], 0.2, "digit");
        }
        assert!(matches!(found(0.98), Err(PegasusError::Argument { .. })), "{part}");
    }
    let x = wide(&s, &[1.0, 2.0], 1.0);
    assert!(
        s.pegasus
            .argmin_digits(&x, 2, 0, scale)
            .unwrap_err()
            .to_string()
            .contains("digits of 0 bits")
    );
}

fn close(s: &Setup, got: &Numbers, expected: &[f64], error: f64, what: &str) {
    let got = s.decrypt_numbers(got);
    assert_eq!(got.len(), expected.len(), "{what}");
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() < error, "{what}: {got:?} instead of {expected:?}");
    }
}

#[test]
fn numbers_are_sorted_and_compared() {
    let s = with_tables(1024);
    // The index has a deviation of 1.9, on [-16, 16].
    let error = 7.0 * 1.9 * 32.0 / 1024.0;
    for count in [1, 2, 5, 8] {
        let mut values = apart(count);
        let x = s.numbers(&values, BOUND);
        let sorted = s.pegasus.sort(&x, count).unwrap();
        values.sort_by(f64::total_cmp);
        let rounds = (count as f64).log2().ceil();
        let within = error * (1.0 + rounds * (rounds + 1.0) / 2.0).sqrt();
        close(&s, &sorted, &values, within, "sorted");
        assert_eq!(sorted.bound(), BOUND);
        // The results can be repacked directly.
        let packed = s.pegasus.repack(&sorted, &Layout::in_order(count)).unwrap();
        for (x, y) in s.decrypt(&packed).iter().zip(&values) {
            assert!((x - y).abs() < within + 0.01, "repacked");
        }
        let k = count.div_ceil(2);
        close(
            &s,
            &s.pegasus.top_k(&x, count, k).unwrap(),
            &values[count - k..],
            within,
            "the largest",
        );
        assert!(
            s.pegasus.top_k(&x, count, 0).is_err()
                && s.pegasus.top_k(&x, count, count + 1).is_err()
        );
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
        close(&s, &s.pegasus.ranks(&x, count).unwrap(), &ranks, 0.05, "ranks");
        let of_rank =
            |rank: usize| ranks.iter().map(|r| f64::from(*r == rank as f64)).collect::<Vec<_>>();
        let x = wide(&s, &values, tournament_bound_factor(&s, count, scale));
        close(
            &s,
            &s.pegasus.is_largest(&x, count, scale).unwrap(),
            &of_rank(count - 1),
            0.05,
            "the largest",
        );
        close(
            &s,
            &s.pegasus.is_smallest(&x, count, scale).unwrap(),
            &of_rank(0),
            0.05,
            "the smallest",
        );
        let place = |rank: f64| ranks.iter().position(|r| *r == rank).unwrap() as f64;
        close(&s, &s.pegasus.argmin(&x, count, scale).unwrap(), &[place(0.0)], 0.2, "argmin");
        close(
            &s,
            &s.pegasus.argmax(&x, count, scale).unwrap(),
            &[place(count as f64 - 1.0)],
            0.2,
            "argmax",
        );
    }
    let one = s.numbers(&[1.0], BOUND);
    assert!(s.pegasus.ranks(&one, 1).unwrap_err().to_string().contains("there is one only"));
    let x = s.numbers(&[2.0, -3.0, 5.0], BOUND);
    let y = s.numbers(&[-2.0, 4.0, 4.0], BOUND);
    close(&s, &s.pegasus.greater(&x, &y, scale).unwrap(), &[1.0, 0.0, 1.0], 0.05, "greater");
}

/// Applies `f` to every `size` numbers and to the same numbers in rising order.
fn of_groups(values: &[f64], size: usize, f: impl Fn(&[f64], &[f64]) -> Vec<f64>) -> Vec<f64> {
    let group = |group: &[f64]| {
        let mut sorted = group.to_vec();
        sorted.sort_by(f64::total_cmp);
        f(group, &sorted)
    };
    values.chunks(size).flat_map(group).collect()
}

/// Operations on several groups give the results of each group.
#[test]
fn groups_are_independent() {
    let s = with_tables(1024);
    let scale = s.pegasus.plan().table_scale(16.0).unwrap();
    let (size, error) = (4, 7.0 * 1.9 * 32.0 / 1024.0 * 6f64.sqrt());
    let values = apart(12);
    let x = s.numbers(&values, BOUND);
    let place = |group: &[f64], of: f64| vec![group.iter().position(|v| *v == of).unwrap() as f64];
    let rank = |v: &f64, sorted: &[f64]| sorted.iter().position(|w| w == v).unwrap() as f64;
    let p = &s.pegasus;
    close(
        &s,
        &p.sort(&x, size).unwrap(),
        &of_groups(&values, size, |_, sorted| sorted.to_vec()),
        error,
        "sorted",
    );
    close(
        &s,
        &p.top_k(&x, size, 3).unwrap(),
        &of_groups(&values, size, |_, sorted| sorted[1..].to_vec()),
        error,
        "the largest",
    );
    let ranks =
        of_groups(&values, size, |group, sorted| group.iter().map(|v| rank(v, sorted)).collect());
    close(&s, &p.ranks(&x, size).unwrap(), &ranks, 0.05, "ranks");
    let (last, first) = (
        of_groups(&values, size, |group, v| place(group, v[3])),
        of_groups(&values, size, |group, v| place(group, v[0])),
    );
    let wide = wide(&s, &values, tournament_bound_factor(&s, size, scale));
    close(&s, &p.argmax(&wide, size, scale).unwrap(), &last, 0.2, "argmax");
    close(&s, &p.argmin(&wide, size, scale).unwrap(), &first, 0.2, "argmin");
    let places = of_groups(&values, size, |group, sorted| {
        sorted.iter().map(|v| place(group, *v)[0] - 1.5).collect()
    });
    let filling = self::wide(&s, &values, p.argsort_bound_factor(0.0));
    close(&s, &p.argsort(&filling, size, scale).unwrap(), &places, 0.2, "argsort");
    for refused in [
        p.sort(&x, 5),
        p.argsort(&x, 24, scale),
        p.ranks(&x, 0),
        p.argmax(&x, 5, scale),
        p.top_k(&x, 5, 1),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("12 numbers in groups of"), "{refused}");
    }
}

/// Equal numbers without an error keep their order. Numbers that differ by more than the gap are in
/// order.
#[test]
fn places_are_sorted() {
    let s = with_tables(1024);
    let scale = s.pegasus.plan().table_scale(16.0).unwrap();
    // The bound at extraction is hardly larger than the numbers.
    let wide = s.pegasus.argsort_bound_factor(0.0);
    let margin = 1.0 + s.pegasus.plan().literal().margin;
    assert!((1.0..1.2).contains(&(wide * margin)), "{wide}");
    let of = |x: &Numbers| {
        let places = s.pegasus.argsort(x, x.len(), scale).unwrap();
        assert_eq!(places.bound(), (x.len() as f64 - 1.0) / 2.0);
        // Half of the distance between places is eight deviations.
        assert!(8.0 * (-places.precision_bits()).exp2() < 0.5, "{} bits", places.precision_bits());
        places.clone().plus(places.bound()).unwrap()
    };
    // The numbers are equal to the bit, so differences have no error.
    let x = self::wide(&s, &[-8.0, 1.5, 8.0], wide).select(&[1, 0, 1, 2, 0, 1, 2]).unwrap();
    close(&s, &of(&x), &[1.0, 4.0, 0.0, 2.0, 5.0, 3.0, 6.0], 0.2, "equal ones");
    let gap = s.pegasus.order_gap(&x);
    assert!((0.01..0.02).contains(&gap), "{gap}");
    // Distances from one gap to the whole range. Fine positions go around the circle at about 0.8.
    for step in [gap, 0.2, 0.4, 0.8, 1.6, 6.0].into_iter().flat_map(|step| [step, -step]) {
        let order = if step > 0.0 { [0.0, 1.0] } else { [1.0, 0.0] };
        close(
            &s,
            &of(&self::wide(&s, &[2.0, 2.0 + step], wide)),
            &order,
            0.2,
            &format!("{step} apart"),
        );
    }
    let one = s.pegasus.argsort(&s.numbers(&[1.0], BOUND), 1, scale).unwrap_err().to_string();
    assert!(one.contains("sort places: there is one only"), "{one}");
}

/// Comparisons of close numbers agree with each other, for any errors.
#[test]
fn argsort_is_a_permutation() {
    let s = with_tables(256);
    let scale = s.pegasus.plan().table_scale(16.0).unwrap();
    let (size, wide) = (8, s.pegasus.argsort_bound_factor(0.0));
    let gap = s.pegasus.order_gap(&self::wide(&s, &[0.0], wide));
    let permutation = |of: &[f64]| {
        let mut sorted: Vec<f64> = of.iter().map(|x| x.round()).collect();
        sorted.sort_by(f64::total_cmp);
        let off = of.iter().map(|x| (x - x.round()).abs()).fold(0.0, f64::max);
        off < 0.25 && sorted == (0..size).map(|i| i as f64).collect::<Vec<_>>()
    };
    for apart in [0.0, 0.02, 0.1, 0.5] {
        let values: Vec<f64> = spread(4 * size, apart * gap).iter().map(|x| 3.0 + x).collect();
        let x = self::wide(&s, &values, wide);
        let places =
            s.pegasus.argsort(&x, size, scale).unwrap().plus((size as f64 - 1.0) / 2.0).unwrap();
        let ranks = s.pegasus.ranks(&x, size).unwrap();
        for (found, what) in [(places, "places"), (ranks, "ranks")] {
            for group in s.decrypt_numbers(&found).chunks(size) {
                assert!(permutation(group), "{what} of values {apart} gaps apart: {group:?}");
            }
        }
    }
    // Some numbers are far from the others, and these are in order.
    for far in [2.0 * gap, 0.6, 4.0] {
        let values: Vec<f64> =
            (0..size).map(|i| far * (i % 3) as f64 + 0.05 * gap * i as f64).collect();
        let x = self::wide(&s, &values, wide);
        let places =
            s.pegasus.argsort(&x, size, scale).unwrap().plus((size as f64 - 1.0) / 2.0).unwrap();
        let found: Vec<f64> = s.decrypt_numbers(&places);
        assert!(permutation(&found), "{found:?}");
        let order: Vec<f64> = found.iter().map(|place| values[place.round() as usize]).collect();
        assert!(order.windows(2).all(|pair| pair[1] > pair[0] - gap), "{order:?}");
    }
}

#[test]
fn bits_that_are_too_small_to_be_added_are_refused() {
    let s = with_tables(64);
    let x = s.numbers(&apart(8), BOUND);
    // At this scale bits are as small as those of a million places.
    let scale = s.pegasus.plan().repacking_scale(1e6).unwrap();
    let refused = s.pegasus.argmax(&x, 8, scale).unwrap_err().to_string();
    assert!(refused.contains("among 8 numbers: at this scale bits are told apart"), "{refused}");
}

/// One of several indistinguishable numbers is the largest, and never a number that is far from it.
#[test]
fn one_of_equal_numbers_is_the_largest() {
    let s = with_tables(1024);
    let scale = s.pegasus.plan().table_scale(8.0).unwrap();
    for (group, places) in [
        (vec![-7.2, 7.2, 7.2, 7.2], 1..4),
        (vec![7.2, -7.2, 7.2, 7.19, 7.2], 0..5),
        (vec![0.0; 7], 0..7),
        (vec![3.0, 3.0, -8.0], 0..2),
        (vec![-1.0, -1.0], 0..2),
    ] {
        let size = group.len();
        let values: Vec<f64> = (0..48).flat_map(|_| group.clone()).collect();
        let x = wide(&s, &values, tournament_bound_factor(&s, size, scale));
        let largest = s.decrypt_numbers(&s.pegasus.is_largest(&x, size, scale).unwrap());
        let found = s.decrypt_numbers(&s.pegasus.argmax(&x, size, scale).unwrap());
        for (bits, found) in largest.chunks(size).zip(found) {
            let place = bits.iter().position(|bit| *bit > 0.5).unwrap();
            assert!(
                places.contains(&place) && group[place] > 7.0_f64.min(group[0] - 0.1),
                "{group:?}: {bits:?}"
            );
            for (i, bit) in bits.iter().enumerate() {
                assert!((bit - f64::from(i == place)).abs() < 0.05, "{group:?}: {bits:?}");
            }
            // Another look-up may select another number.
            let place = found.round() as usize;
            assert!((found - place as f64).abs() < 0.2, "{group:?}: {found}");
            assert!(
                places.contains(&place) && group[place] > 7.0_f64.min(group[0] - 0.1),
                "{group:?}: {found}"
            );
        }
    }
    // The numbers are equal to the bit, so differences have no error.
    let x = wide(&s, &[-5.0, 5.0], tournament_bound_factor(&s, 3, scale))
        .select(&[0, 1, 1, 1, 0, 1, 1, 1, 1])
        .unwrap();
    let found = s.decrypt_numbers(&s.pegasus.argmax(&x, 3, scale).unwrap());
    // After a round with another number, a number has the error of that look-up.
    let places: [&[f64]; 3] = [&[1.0, 2.0], &[0.0, 2.0], &[0.0]];
    for (x, places) in found.iter().zip(places) {
        assert!(places.iter().any(|place| (x - place).abs() < 0.2), "{found:?}");
    }
}

/// The estimates are those for numbers in falling order, where every comparison exchanges two
/// numbers.
#[test]
fn errors_are_as_estimated() {
    let s = with_tables(1024);
    let falling = |i: usize| (0..4).map(move |j| 6.0 - 4.0 * j as f64 + 0.1 * (i % 16) as f64);
    let values: Vec<f64> = (0..128).flat_map(falling).collect();
    let x = s.numbers(&values, BOUND);
    let expected: Vec<f64> = values.chunks(4).map(|group| group[0]).collect();
    let largest = s.pegasus.largest(&x, 4).unwrap();
    check(&s.decrypt_numbers(&largest), &expected, largest.precision_bits(), 1.0, "largest");
    // The ciphertext has many more slots.
    let (mut got, mut bits) = (Vec::new(), 0.0);
    for k in 0..16 {
        let part = largest.select(&(8 * k..8 * k + 8).collect::<Vec<_>>()).unwrap();
        let packed = s.pegasus.repack_repeated(&part, &Layout::in_order(8), 256).unwrap();
        assert_eq!(packed.slots(), 256);
        bits = packed.precision_bits();
        let slots = s.decrypt(&packed);
        assert!((slots[8] - slots[0]).abs() < 0.01);
        got.extend_from_slice(&slots[..8]);
    }
    check(&got, &expected, bits, 1.0, "largest, repeated");
    let part = largest.select(&[0, 1]).unwrap();
    assert!(s.pegasus.repack_repeated(&part, &Layout::in_order(2), 1).is_err());

    // There are six rounds. In some of them a number is already in its place.
    let mut errors = Vec::new();
    for i in 0..24 {
        let mut values: Vec<f64> =
            spread(8, 0.4).iter().enumerate().map(|(j, e)| 7.0 - 2.0 * j as f64 + e).collect();
        values.rotate_left(i % 8);
        let sorted = s.pegasus.sort(&s.numbers(&values, BOUND), 8).unwrap();
        values.sort_by(f64::total_cmp);
        let off =
            s.decrypt_numbers(&sorted).iter().zip(&values).map(|(x, y)| x - y).collect::<Vec<_>>();
        bits = sorted.precision_bits();
        errors.extend(off);
    }
    check(&errors, &vec![0.0; errors.len()], bits + 0.5, 1.0, "sorted");
}

/// With the stated bound at extraction, every round looks up differences on half of the circle at
/// twice the scale.
#[test]
fn the_stated_bound_is_enough_for_every_round() {
    let s = with_tables(1024);
    let plan = s.pegasus.plan();
    let mut last = 0.0;
    for count in [2, 4, 8, 12] {
        let rounds = Pegasus::sort_rounds(count);
        let wide = s.pegasus.sorting_bound_factor(rounds);
        assert!(wide > last && (3.5..8.0).contains(&wide), "{wide}");
        last = wide;
        let x = self::wide(&s, &apart(count), wide);
        let sorted = s.pegasus.sort(&x, count).unwrap();
        let domain = wide * BOUND * (1.0 + plan.literal().margin) / 2.0;
        let index = plan
            .literal()
            .tables
            .index_noise(Noise::NONE, plan.literal().lwe().modulus())
            .log2_std()
            .exp2();
        let round = index * 2.0 * domain / 1024.0;
        let expected = -(round * (rounds as f64).sqrt()).log2();
        assert!(
            (sorted.precision_bits() - expected).abs() < 0.3,
            "{count}: {} bits",
            sorted.precision_bits()
        );
    }
}

/// Signs and equality from slots to slots, for numbers that are farther from a step than the stated
/// gap.
#[test]
fn signs_and_equality_in_slots_are_right() {
    let s = with_tables(1024);
    let slots: Vec<usize> = (0..16).collect();
    let gap = s.pegasus.step_gap(BOUND);
    let tolerance = 2.5 * s.pegasus.step_gap(2.0 * BOUND);
    let near = s.pegasus.step_gap(BOUND + tolerance);
    assert!(gap < 0.15 && tolerance < 1.0, "{gap}, {tolerance}");
    let values = [
        BOUND,
        -BOUND,
        gap,
        -gap,
        tolerance + near,
        -tolerance - near,
        tolerance - near,
        near - tolerance,
    ];
    let values: Vec<f64> = values.iter().copied().chain(spread(8, BOUND)).collect();
    let certain = |x: &f64, step: f64, gap: f64| (x.abs() - step).abs() >= 0.99 * gap;
    let (mut errors, mut bits) = (Vec::new(), [0.0; 2]);
    for _ in 0..4 {
        let mut a = s.encrypt(&values, 40, 300.0);
        a.set_bound(BOUND);
        let step = s.pegasus.apply_step(&a, &slots).unwrap();
        let equal = s.pegasus.apply_near(&a, tolerance, &slots).unwrap();
        assert_eq!((step.slots(), equal.slots(), step.bound(), equal.bound()), (16, 16, 1.0, 1.0));
        bits = [step.precision_bits(), equal.precision_bits()];
        let steps = s.decrypt(&step).into_iter().zip(&values).filter(|(_, x)| certain(x, 0.0, gap));
        errors.extend(steps.map(|(got, x)| got - f64::from(*x > 0.0)));
        let equals =
            s.decrypt(&equal).into_iter().zip(&values).filter(|(_, x)| certain(x, tolerance, near));
        errors.extend(equals.map(|(got, x)| 0.5 * (got - f64::from(x.abs() < tolerance))));
    }
    assert!(errors.len() > 100);
    check(&errors, &vec![0.0; errors.len()], bits[0], 1.0, "steps");
    // Repacked numbers have an error in proportion to their bound, which is twice as large here.
    // The plan states this error.
    assert!(
        (bits[0] - bits[1] - 1.0).abs() < 0.1
            && (bits[1] + s.pegasus.repacking_deviation().log2()).abs() < 0.5
    );
    let mut a = s.encrypt(&values, 40, 300.0);
    a.set_bound(BOUND);
    for refused in [0.0, -1.0, 0.9 * gap, 1.01 * BOUND, f64::NAN] {
        assert!(s.pegasus.apply_near(&a, refused, &slots).is_err(), "{refused}");
    }
}
