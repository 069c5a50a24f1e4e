//! Tests of order by comparing all pairs and by comparators, with small insecure parameters, against
//! a plain reference.

use std::sync::LazyLock;

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Error, Interval, KeyRequest, Server,
    Simulation,
};
use hippocrene_rlwe::SecretDistribution;
use proptest::prelude::*;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

/// The stated error of an order, as a share of the bound of the elements, without the noise.
const ERROR: f64 = 1.0 / 512.0;

/// A simulation with 256 slots and enough capacity for an order without bootstraps. All tests share
/// it, because the search for the plan of a comparison runs for a second.
static SIMULATION: LazyLock<Simulation> =
    LazyLock::new(|| Simulation::new(insecure_grafted(9, 26, SPARSE)).unwrap());

fn encrypt(
    simulation: &Simulation,
    x: &[f64],
    shape: &[usize],
    ends: (f64, f64),
) -> EncryptedArray {
    let how = Encryption { interval: Interval::new(ends.0, ends.1), precision: None };
    simulation.encrypt(x.into(), shape, &how).unwrap()
}

/// Returns the places of the elements in rising order, and equal ones by their places.
fn argsort(x: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..x.len()).collect();
    places.sort_by(|i, j| x[*i].total_cmp(&x[*j]));
    places
}

fn floats(x: &[usize]) -> Vec<f64> {
    x.iter().map(|x| *x as f64).collect()
}

/// Checks values against those expected, within `error` and the noise that the array states.
fn check(
    simulation: &Simulation,
    got: &EncryptedArray,
    shape: &[usize],
    expected: &[f64],
    error: f64,
    what: &str,
) {
    assert_eq!(got.shape(), shape, "{what}");
    let values: Vec<f64> = simulation.values(got).unwrap().iter().map(|z| z.re).collect();
    assert_eq!(values.len(), expected.len(), "{what}");
    let deviation = (-got.precision_bits(simulation.server().session())).exp2();
    assert!(deviation < 4.0 * error, "{what}: a deviation of {deviation}");
    for (i, (value, expected)) in values.iter().zip(expected).enumerate() {
        assert!(
            (value - expected).abs() < error + 8.0 * deviation,
            "{what}: element {i} is {value}, not {expected}"
        );
        let (low, high) = (got.interval().low(), got.interval().high());
        assert!((low..=high).contains(expected), "{what}: {expected} in {low} to {high}");
    }
}

/// Checks every operation on one line of elements in an interval.
fn check_line(simulation: &Simulation, x: &[f64], ends: (f64, f64)) {
    let n = x.len();
    let a = encrypt(simulation, x, &[n], ends);
    let gap = simulation.server().order_gap(&a).unwrap();
    let server = &simulation.server().with_distance(gap).unwrap();
    let order = argsort(x);
    let sorted: Vec<f64> = order.iter().map(|i| x[*i]).collect();
    let ranks = floats(&argsort(&floats(&order)));
    // Elements far from 0 are centred first.
    let bound = ends.0.abs().max(ends.1.abs()).min(ends.1 - ends.0);
    let (error, of_places) = (ERROR * bound, 0.5 * ERROR * n as f64);
    let check =
        |got: Result<EncryptedArray, Error>, shape: &[usize], expected: &[f64], error, what| {
            let what = format!("{what} of {x:?}");
            check(simulation, &got.unwrap(), shape, expected, error, &what);
        };
    check(server.rank(&a, None), &[n], &ranks, 1.0 / 32.0, "ranks");
    check(server.sort(&a, None), &[n], &sorted, error, "sorted elements");
    check(server.argsort(&a, Some(0)), &[n], &floats(&order), of_places, "places");
    check(server.smallest(&a, None), &[], &sorted[..1], error, "smallest");
    check(server.largest(&a, Some(0)), &[], &sorted[n - 1..], error, "largest");
    let first = x.iter().position(|x| *x == sorted[n - 1]).unwrap();
    check(server.argmin(&a, None), &[], &floats(&order[..1]), of_places, "place of the smallest");
    check(server.argmax(&a, None), &[], &floats(&[first]), of_places, "place of the largest");
    let k = n.div_ceil(2);
    check(server.top_k(&a, k, None), &[k], &sorted[n - k..], error, "largest elements");
    let median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    check(server.median(&a, None), &[], &[median], error, "median");
    let q = [0.0, 0.3, 1.0];
    let quantile = |q: f64| {
        let at = q * (n - 1) as f64;
        let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        below + at.fract() * (above - below)
    };
    // Weights are rounded to multiples of 1/4096.
    let error = error + (ends.1 - ends.0) / 4096.0;
    check(server.quantile(&a, &q, None), &[3], &q.map(quantile), error, "quantiles");
}

#[test]
fn one_and_two_elements_are_in_order() {
    let simulation = &*SIMULATION;
    check_line(simulation, &[0.5], (-1.0, 1.0));
    check_line(simulation, &[-3.0, 4.0], (-4.0, 4.0));
    check_line(simulation, &[4.0, -4.0], (-4.0, 4.0));
    check_line(simulation, &[2.0, 2.0], (0.0, 3.0));
}

/// Elements at the ends of the interval have the largest differences, and equal ones the smallest.
#[test]
fn equal_elements_are_ordered_by_their_places() {
    let simulation = &*SIMULATION;
    check_line(simulation, &[-1.0; 7], (-1.0, 1.0));
    check_line(simulation, &[1.0; 16], (-1.0, 1.0));
    check_line(simulation, &[1.0, -1.0, 1.0, -1.0, -1.0], (-1.0, 1.0));
    check_line(simulation, &[7.0, 5.0, 6.0, 5.0, 7.0, 5.0], (5.0, 7.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Elements are multiples of the gap, so that all of them are equal or in order for certain.
    #[test]
    fn lines_are_in_order(
        steps in proptest::collection::vec(0u32..=100, 3..=16),
        low in prop_oneof![Just(-1.0), Just(0.0), Just(10.0), Just(-300.0)],
    ) {
        let width = 2.0f64;
        let x: Vec<f64> = steps.iter().map(|step| low + width * f64::from(*step) / 100.0).collect();
        let simulation = &*SIMULATION;
        let a = encrypt(simulation, &x, &[x.len()], (low, low + width));
        prop_assert!(simulation.server().order_gap(&a).unwrap() <= width / 100.0);
        check_line(simulation, &x, (low, low + width));
    }

    /// The pairs of these lines take several ciphertexts: those of 16 elements fill one.
    #[test]
    fn long_lines_are_in_order(
        steps in proptest::collection::vec(0u32..=60, 17..=70),
        low in prop_oneof![Just(-1.0), Just(0.0), Just(10.0)],
        width in prop_oneof![Just(0.5), Just(2.0), Just(100.0)],
    ) {
        let width: f64 = width;
        let x: Vec<f64> = steps.iter().map(|step| low + width * f64::from(*step) / 60.0).collect();
        check_line(&SIMULATION, &x, (low, low + width));
    }
}

/// The last block of this line has one element, and the slots after it hold other numbers.
#[test]
fn slices_of_long_lines_are_in_order() {
    let simulation = &*SIMULATION;
    let x: Vec<f64> = (0..40).map(|i| 10.0 + f64::from(i * 7 % 41) / 20.5).collect();
    let all = encrypt(simulation, &x, &[40], (10.0, 12.0));
    let server = &simulation.server().with_distance(2.0 / 41.0).unwrap();
    let slice = server.gather(&[&all], &[33], &(3..36).collect::<Vec<_>>()).unwrap();
    assert!(!slice.is_clean());
    let order = argsort(&x[3..36]);
    let sorted: Vec<f64> = order.iter().map(|i| x[3 + i]).collect();
    let check = |got: Result<EncryptedArray, Error>, expected: &[f64], error| {
        check(simulation, &got.unwrap(), &[33], expected, error, "a slice");
    };
    check(server.sort(&slice, None), &sorted, 2.0 * ERROR);
    check(server.rank(&slice, None), &floats(&argsort(&floats(&order))), 1.0 / 32.0);
    check(server.argsort(&slice, None), &floats(&order), 1.0 / 8.0);
    let wrong = server.with_distance(0.2).unwrap().rank(&slice, None).unwrap_err().to_string();
    assert!(wrong.contains("differ by less than the declared distance"), "{wrong}");
}

/// Blocks of lines are compared once, so equal elements of two blocks take another way than those
/// of one.
#[test]
fn equal_elements_of_long_lines_are_ordered_by_their_places() {
    check_line(&SIMULATION, &[1.0; 50], (-1.0, 1.0));
    let two: Vec<f64> = (0..41).map(|i| f64::from(i % 2)).collect();
    check_line(&SIMULATION, &two, (0.0, 1.0));
}

#[test]
fn long_lines_along_an_axis_are_in_order() {
    let simulation = &*SIMULATION;
    let server = &simulation.server().with_distance(2.0 / 37.0).unwrap();
    let x: Vec<f64> = (0..2 * 36).map(|i| f64::from(i * 7 % 37) / 18.5 - 1.0).collect();
    for (axis, shape) in [(0, [36, 2]), (1, [2, 36])] {
        let a = encrypt(simulation, &x, &shape, (-1.0, 1.0));
        let place = |line: usize, i: usize| if axis == 0 { 2 * i + line } else { 36 * line + i };
        let (mut sorted, mut ranks, mut places) = (x.clone(), x.clone(), x.clone());
        let mut medians = Vec::new();
        for line in 0..2 {
            let own: Vec<f64> = (0..36).map(|i| x[place(line, i)]).collect();
            let order = argsort(&own);
            let of_order = argsort(&floats(&order));
            for i in 0..36 {
                sorted[place(line, i)] = own[order[i]];
                (ranks[place(line, i)], places[place(line, i)]) =
                    (of_order[i] as f64, order[i] as f64);
            }
            medians.push(0.5 * (own[order[17]] + own[order[18]]));
        }
        let check =
            |got: Result<EncryptedArray, Error>, shape: &[usize], expected: &[f64], error| {
                let what = format!("axis {axis}");
                check(simulation, &got.unwrap(), shape, expected, error, &what);
            };
        check(server.sort(&a, Some(axis)), &shape, &sorted, ERROR);
        check(server.rank(&a, Some(axis)), &shape, &ranks, 1.0 / 32.0);
        check(server.argsort(&a, Some(axis)), &shape, &places, 0.5 * ERROR * 36.0);
        check(server.median(&a, Some(axis)), &[2], &medians, ERROR);
    }
}

#[test]
fn lines_along_an_axis_are_in_order() {
    let simulation = &*SIMULATION;
    let server = &simulation.server().with_distance(2.0 / 11.0).unwrap();
    let x: Vec<f64> = (0..3 * 5 * 2).map(|i| f64::from(i * 7 % 11) / 5.5 - 1.0).collect();
    let a = encrypt(simulation, &x, &[3, 5, 2], (-1.0, 1.0));
    for (axis, length, inner) in [(0, 3, 10), (1, 5, 2), (2, 2, 1)] {
        let line = |i: usize| {
            let first = i / inner * inner * length + i % inner;
            (0..length).map(move |j| first + j * inner)
        };
        let (mut sorted, mut ranks, mut places) = (x.clone(), x.clone(), x.clone());
        let mut most = Vec::new();
        for i in 0..x.len() / length {
            let own: Vec<f64> = line(i).map(|j| x[j]).collect();
            let order = argsort(&own);
            let of_order = argsort(&floats(&order));
            for (j, at) in line(i).enumerate() {
                sorted[at] = own[order[j]];
                (ranks[at], places[at]) = (of_order[j] as f64, order[j] as f64);
            }
            most.push(own[order[length - 1]]);
        }
        let mut kept = vec![3, 5, 2];
        kept.remove(axis);
        let error = 0.5 * ERROR * length as f64;
        let check =
            |got: Result<EncryptedArray, Error>, shape: &[usize], expected: &[f64], error| {
                let what = format!("axis {axis}");
                check(simulation, &got.unwrap(), shape, expected, error, &what);
            };
        check(server.sort(&a, Some(axis)), &[3, 5, 2], &sorted, ERROR);
        check(server.rank(&a, Some(axis)), &[3, 5, 2], &ranks, 1.0 / 32.0);
        check(server.argsort(&a, Some(axis)), &[3, 5, 2], &places, error);
        check(server.largest(&a, Some(axis)), &kept, &most, ERROR);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Elements may be as close as they like, and equal.
    #[test]
    fn undeclared_elements_are_in_order(
        x in proptest::collection::vec(
            prop_oneof![0.0..=1.0f64, 0.5..0.501f64, Just(0.0), Just(1.0)], 2..=4
        ),
        low in prop_oneof![Just(-1.0), Just(0.0), Just(10.0)],
    ) {
        let width = 2.0;
        let x: Vec<f64> = x.iter().map(|x| low + width * x).collect();
        let n = x.len();
        let simulation = &*SIMULATION;
        let server = simulation.server();
        let a = encrypt(simulation, &x, &[n], (low, low + width));
        let mut sorted = x.clone();
        sorted.sort_by(f64::total_cmp);
        let check = |got: Result<EncryptedArray, Error>, shape: &[usize], expected: &[f64], what| {
            check(simulation, &got.unwrap(), shape, expected, 0.01 * width, &format!("{what} of {x:?}"));
        };
        check(server.largest(&a, Some(0)), &[], &sorted[n - 1..], "largest");
        check(server.smallest(&a, None), &[], &sorted[..1], "smallest");
        check(server.sort(&a, None), &[n], &sorted, "sorted elements");
        let k = n.div_ceil(2);
        check(server.top_k(&a, k, None), &[k], &sorted[n - k..], "largest elements");
        let median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
        check(server.median(&a, None), &[], &[median], "median");
        let (below, above) = (sorted[(n - 1) / 4], sorted[(n - 1) / 4 + usize::from(n > 1)]);
        let quarter = below + (0.25 * (n - 1) as f64).fract() * (above - below);
        let quantiles = server.quantile(&a, &[0.25, 1.0], None);
        check(quantiles, &[2], &[quarter, sorted[n - 1]], "quantiles");
    }
}

#[test]
fn undeclared_elements_are_in_order_along_an_axis() {
    let simulation = &*SIMULATION;
    let server = simulation.server();
    let x: Vec<f64> = (0..3 * 5 * 2).map(|i| f64::from(i * 7 % 11) / 5.5 - 1.0).collect();
    let a = encrypt(simulation, &x, &[3, 5, 2], (-1.0, 1.0));
    for (axis, length, inner) in [(0, 3, 10), (2, 2, 1)] {
        let line = |i: usize| {
            let first = i / inner * inner * length + i % inner;
            (0..length).map(move |j| first + j * inner)
        };
        let (mut sorted, mut most) = (x.clone(), Vec::new());
        for i in 0..x.len() / length {
            let mut own: Vec<f64> = line(i).map(|j| x[j]).collect();
            own.sort_by(f64::total_cmp);
            line(i).zip(&own).for_each(|(at, value)| sorted[at] = *value);
            most.push(own[length - 1]);
        }
        let mut kept = vec![3, 5, 2];
        kept.remove(axis);
        let what = format!("axis {axis}");
        check(simulation, &server.sort(&a, Some(axis)).unwrap(), &[3, 5, 2], &sorted, 0.02, &what);
        check(simulation, &server.largest(&a, Some(axis)).unwrap(), &kept, &most, 0.02, &what);
    }
    // Several ciphertexts.
    let many: Vec<f64> = (0..900).map(|i| f64::from(i * 37 % 101) / 50.0 - 1.0).collect();
    let b = encrypt(simulation, &many, &[300, 3], (-1.0, 1.0));
    let most: Vec<f64> =
        many.chunks(3).map(|row| row.iter().copied().fold(f64::MIN, f64::max)).collect();
    check(simulation, &server.largest(&b, Some(1)).unwrap(), &[300], &most, 0.02, "many rows");
    let squares = encrypt(simulation, &x[..16], &[4, 4], (-1.0, 1.0));
    // Windows need no distance, and ignore one.
    let pooled = server.with_distance(0.1).unwrap().max_pool(&squares, 2).unwrap();
    let largest = |i: usize, j: usize| {
        [(0, 0), (0, 1), (1, 0), (1, 1)]
            .map(|(k, l)| x[4 * (2 * i + k) + 2 * j + l])
            .into_iter()
            .fold(f64::MIN, f64::max)
    };
    let expected = [largest(0, 0), largest(0, 1), largest(1, 0), largest(1, 1)];
    check(simulation, &pooled, &[2, 2], &expected, 0.02, "pools");
}

/// Places need a declared distance without tables, which a simulation checks.
#[test]
fn a_distance_has_to_be_declared_and_right() {
    let simulation = &*SIMULATION;
    let server = simulation.server();
    let x = [0.5, -0.5, 0.508, 0.508, 0.9];
    let a = encrypt(simulation, &x, &[5], (-1.0, 1.0));
    let undeclared = server.argsort(&a, None).unwrap_err().to_string();
    assert!(undeclared.contains("Declare it (Server::with_distance)"), "{undeclared}");
    let wrong = server.with_distance(0.02).unwrap().largest(&a, None).unwrap_err().to_string();
    assert!(wrong.contains("0.5 and 0.508 differ by less than the declared distance of 0.02"));
    assert!(server.with_distance(0.0).is_err() && server.with_distance(f64::NAN).is_err());
    // A smaller distance than the default is possible, if there is the capacity for it.
    let close = server.with_distance(0.008).unwrap();
    let sorted = simulation.values(&close.sort(&a, None).unwrap()).unwrap();
    for (value, expected) in sorted.iter().zip([-0.5, 0.5, 0.508, 0.508, 0.9]) {
        assert!((value.re - expected).abs() < 2.0 * ERROR, "{sorted:?}");
    }
    // Ranks need no declaration: those of close elements lie between those of both orders.
    let ranks = simulation.values(&server.rank(&a, None).unwrap()).unwrap();
    for (rank, (low, high)) in
        ranks.iter().zip([(1.0, 3.0), (0.0, 0.0), (1.0, 3.0), (1.0, 3.0), (4.0, 4.0)])
    {
        assert!((low - 0.05..=high + 0.05).contains(&rank.re), "{ranks:?}");
    }
}

#[test]
fn bootstraps_happen_on_the_way() {
    let client = ClientKey::generate_with(insecure_grafted(9, 22, SPARSE), 1).unwrap();
    let request =
        KeyRequest { bootstrapping: Some(Bootstrapping::default()), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let x: Vec<f64> = (0..13).map(|i| f64::from(i * 5 % 13) / 6.5 - 1.0).collect();
    let how = Encryption { interval: Some(Interval::symmetric(1.0)), precision: None };
    let mut a = client.encrypt_with((&x[..]).into(), &[13], &how).unwrap();
    let reserve = server.bootstrap_reserve().unwrap();
    while a.capacity_bits(server.session()) > reserve + 150.0 {
        a = server.mul_number(&a, 0.3).unwrap();
        a = server.mul_number(&a, 1.0 / 0.3).unwrap().with_bound(1.0).unwrap();
    }
    let mut expected = x.clone();
    expected.sort_by(f64::total_cmp);
    let before = server.bootstraps();
    let sorted = server.with_distance(0.016).unwrap().sort(&a, None).unwrap();
    assert!(server.bootstraps() > before);
    let session = server.session();
    assert!(sorted.capacity_bits(session) >= server.bootstrap_reserve().unwrap() - 1.0);
    for (got, expected) in client.decrypt(&sorted).unwrap().iter().zip(&expected) {
        assert!((got - expected).abs() < 8.0 * ERROR, "{got} instead of {expected}");
    }
    // Comparators bootstrap before a layer or within it.
    let before = server.bootstraps();
    let close: Vec<f64> = x.iter().map(|x| 0.5 * x).collect();
    let b = client.encrypt_with((&close[..]).into(), &[13], &how).unwrap();
    let median = server.median(&b, None).unwrap();
    assert!(server.bootstraps() > before);
    assert!((client.decrypt(&median).unwrap()[0] - 0.5 * expected[6]).abs() < 0.02);
    let ranks = client.decrypt(&server.rank(&a, None).unwrap()).unwrap();
    for (got, expected) in ranks.iter().zip(argsort(&floats(&argsort(&x)))) {
        assert!((got - expected as f64).abs() < 1.0 / 16.0, "{got} instead of {expected}");
    }
}

#[test]
fn impossible_orders_say_what_is_missing() {
    let client = ClientKey::generate_with(insecure_grafted(9, 6, SPARSE), 1).unwrap();
    let request = KeyRequest { conjugation: true, ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let encrypt = |n: usize| client.encrypt(&vec![0.5; n], &[n]).unwrap();
    let a = encrypt(4).with_bound(1.0).unwrap();
    let error = server.sort(&a, None).unwrap_err();
    assert!(matches!(error, Error::NoKeys { operation: "sort", .. }), "{error}");
    assert!(error.to_string().contains("bootstraps (KeyRequest::bootstrapping)"), "{error}");
    let error = server.rank(&encrypt(257).with_bound(1.0).unwrap(), None).unwrap_err();
    assert!(matches!(error, Error::Argument { operation: "rank", .. }), "{error}");
    assert!(error.to_string().contains("at most 256 values"), "{error}");
}
