//! Tests of table entries at encrypted places, with small insecure parameters.

use std::sync::LazyLock;

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Error, Interval, KeyRequest, Server,
    Simulation,
};
use hippocrene_rlwe::SecretDistribution;
use proptest::prelude::*;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

fn insecure(units: usize, bootstrapping: Option<Bootstrapping>) -> (ClientKey, Server) {
    let client = ClientKey::generate_with(insecure_grafted(9, units, SPARSE), 1).unwrap();
    let request = KeyRequest { bootstrapping, ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

fn table(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 101 + i * i) % 257) as f64 / 16.0 - 8.0).collect()
}

fn check(
    client: &ClientKey,
    array: &EncryptedArray,
    expected: &[f64],
    within: f64,
) -> Result<(), TestCaseError> {
    let got = client.decrypt(array).unwrap();
    prop_assert_eq!(got.len(), expected.len());
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        prop_assert!((g - e).abs() <= within, "element {} is {}, not {}", i, g, e);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Looks up every element of any layout, with and without stray slots. Sums of the results
    /// leave out the stray slots.
    #[test]
    fn every_element_is_looked_up(
        count in prop_oneof![1usize..6, Just(9), Just(16), Just(40)],
        shape in prop::collection::vec(1usize..9, 2),
        sliced in any::<bool>(),
        added in any::<bool>(),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(12, None);
        let [rows, columns] = shape[..] else { unreachable!() };
        let places: Vec<usize> = (0..rows * columns).map(|i| (i * 7 + seed) % count).collect();
        let x: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let last = (count - 1) as f64;
        let how = Encryption { interval: Interval::new(0.0, last), ..Encryption::default() };
        let mut a = client.encrypt_with((&x[..]).into(), &[rows, columns], &how).unwrap();
        let mut expected: Vec<usize> = places;
        if added {
            // Adding a number to all slots makes the stray slots differ from every place.
            a = server.add_number(&server.add_number(&a, -50.0).unwrap(), 50.0).unwrap();
        }
        if sliced && rows > 1 {
            let sources: Vec<usize> = (columns..rows * columns).collect();
            a = server.gather(&[&a], &[rows - 1, columns], &sources).unwrap();
            expected.drain(..columns);
        }
        let a = server.declare_interval(&a, Interval::new(0.0, last).unwrap()).unwrap();
        let table = table(count, seed);
        let expected: Vec<f64> = expected.iter().map(|place| table[*place]).collect();
        let found = server.entries(&a, &table, Some(8.0)).unwrap();
        check(&client, &found, &expected, 2f64.powi(-8))?;
        let largest = table.iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
        prop_assert!(found.bound() <= largest + 0.01);
        let sum = server.sum(&found, None).unwrap();
        check(
            &client,
            &sum,
            &[expected.iter().sum::<f64>()],
            0.02 + 2f64.powi(-8) * expected.len() as f64,
        )?;
    }
}

/// Missing capacity is restored, before and during the operation.
#[test]
fn with_bootstraps() {
    let (client, server) = insecure(20, Some(Bootstrapping::default()));
    let places: Vec<f64> = (0..200).map(|i| f64::from(i * 11 % 64)).collect();
    // The table is a permutation, so that entries are places again.
    let table: Vec<f64> = (0..64).map(|i| f64::from(i * 5 % 64)).collect();
    let mut a = client.encrypt(&places[..], &[200]).unwrap().with_bound(63.0).unwrap();
    let mut expected = places;
    for _ in 0..5 {
        a = server.entries(&a, &table, None).unwrap();
        a = server.declare_interval(&a, Interval::new(-0.5, 63.5).unwrap()).unwrap();
        expected.iter_mut().for_each(|x| *x = table[*x as usize]);
    }
    assert!(server.bootstraps() > 0);
    check(&client, &a, &expected, 63.0 / 4096.0).unwrap();
}

/// A table of an array without capacity takes one bootstrap for every two ciphertexts.
#[test]
fn tables_are_looked_up_during_a_bootstrap() {
    let how = Bootstrapping { precision: Some(20.0), ..Bootstrapping::default() };
    let (client, server) = insecure(24, Some(how));
    let reserve = server.bootstrap_reserve().unwrap();
    // One ciphertext with zeros beside the elements, two full ones, and one with copies.
    for (count, shape) in [(9, vec![200]), (64, vec![2, 256]), (16, vec![3, 7])] {
        let size: usize = shape.iter().product();
        let places: Vec<usize> = (0..size).map(|i| (i * 7 + i / 5) % count).collect();
        let x: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let interval = Interval::new(0.0, (count - 1) as f64);
        let how = Encryption { interval, ..Encryption::default() };
        let a = client.encrypt_with((&x[..]).into(), &shape, &how).unwrap();
        let a = server.bootstrap_to(&a, Some(reserve + 1.0)).unwrap();
        let table = table(count, 3);
        let expected: Vec<f64> = places.iter().map(|place| table[*place]).collect();
        let before = server.bootstraps();
        let found = server.entries(&a, &table, Some(6.0)).unwrap();
        assert_eq!(server.bootstraps() - before, size.div_ceil(512) as u64);
        // Another table of the same array takes no further bootstrap.
        let squares: Vec<f64> = table.iter().map(|entry| entry * entry).collect();
        let squared = server.entries(&a, &squares, Some(4.0)).unwrap();
        assert_eq!(server.bootstraps() - before, size.div_ceil(512) as u64);
        let expected_squares: Vec<f64> = expected.iter().map(|entry| entry * entry).collect();
        check(&client, &squared, &expected_squares, 2f64.powi(-4)).unwrap();
        assert!(found.capacity_bits(server.session()) > reserve);
        check(&client, &found, &expected, 2f64.powi(-6)).unwrap();
        let largest = table.iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
        assert!(found.bound() <= 1.2 * largest + 0.1, "{} {largest}", found.bound());
        // Slots without an element hold zeros.
        let sum = server.sum(&found, None).unwrap();
        let within = 2f64.powi(-6) * size as f64;
        check(&client, &sum, &[expected.iter().sum::<f64>()], within).unwrap();
    }
}

static BOOTSTRAPPING: LazyLock<(ClientKey, Server)> = LazyLock::new(|| {
    let how = Bootstrapping { precision: Some(20.0), ..Bootstrapping::default() };
    insecure(24, Some(how))
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Looks up tables of arrays without capacity, of any layout and with any declared interval.
    #[test]
    fn any_table_is_looked_up_without_capacity(
        count in 1usize..70,
        shape in prop::collection::vec(1usize..40, 1..3),
        sliced in any::<bool>(),
        below in 0.0f64..0.12,
        precision in 2.0f64..9.0,
        seed in 0usize..100,
    ) {
        let (client, server) = &*BOOTSTRAPPING;
        let size: usize = shape.iter().product();
        let places: Vec<usize> = (0..size).map(|i| (i * 7 + i / 5 + seed) % count).collect();
        let x: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let interval = Interval::new(-below, (count - 1) as f64 + below);
        let how = Encryption { interval, ..Encryption::default() };
        let mut a = client.encrypt_with((&x[..]).into(), &shape, &how).unwrap();
        let mut expected = places;
        let row = size / shape[0];
        if sliced && shape[0] > 1 {
            let sources: Vec<usize> = (row..size).collect();
            let rest = [&[shape[0] - 1], &shape[1..]].concat();
            a = server.gather(&[&a], &rest, &sources).unwrap();
            expected.drain(..row);
        }
        let a = server.declare_interval(&a, interval.unwrap()).unwrap();
        let reserve = server.bootstrap_reserve().unwrap();
        let a = server.bootstrap_to(&a, Some(reserve + 1.0)).unwrap();
        let table = table(count, seed);
        let expected: Vec<f64> = expected.iter().map(|place| table[*place]).collect();
        let found = server.entries(&a, &table, Some(precision)).unwrap();
        check(client, &found, &expected, (-precision).exp2())?;
        let stated = (-found.precision_bits(server.session())).exp2();
        prop_assert!(stated < (-precision).exp2(), "{}", stated);
    }
}

#[test]
fn invalid_tables_and_places_are_refused() {
    let (client, server) = insecure(5, None);
    let a = client.encrypt(&[0.0, 1.0, 2.0][..], &[3]).unwrap();
    let says = |result: Result<EncryptedArray, Error>, what: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    says(server.entries(&a, &[], None), "this table has 0 entries, and 1 to 4096 are possible");
    says(server.entries(&a, &[1.0, f64::NAN, 2.0], None), "entry 1 is NaN");
    says(
        server.entries(&a, &[1.0, 2.0], None),
        "values from 0 to 2 are possible, and places are integers from 0 to 1. Declare the \
         interval (0, 1)",
    );
    says(
        server.entries(&a, &[1.0, 2.0, 4.0], Some(60.0)),
        "a precision of 60 bits is too high: these entries allow 38.4 bits",
    );
    says(server.entries(&a, &table(64, 1), None), "bits of capacity");
    let how = Encryption { precision: Some(3.0), ..Encryption::default() };
    let rough = client.encrypt_with((&[0.0, 1.0][..]).into(), &[2], &how).unwrap();
    says(server.entries(&rough, &[1.0, 2.0], Some(38.0)), "bits of precision");
}

/// A simulation detects values that are not places.
#[test]
fn simulations_refuse_values_that_are_not_places() {
    let settings = insecure_grafted(8, 8, SecretDistribution::Ternary);
    let simulation = Simulation::new(settings).unwrap();
    let server = simulation.server();
    let encrypted =
        |x: &[f64]| simulation.encrypt(x.into(), &[x.len()], &Encryption::default()).unwrap();
    assert!(server.entries(&encrypted(&[4.0, 0.0, 3.2]), &[1.0; 5], None).is_ok());
    let between = server.entries(&encrypted(&[4.0, 0.0, 3.5]), &[1.0; 5], None).unwrap_err();
    assert!(between.to_string().contains("a value of 3.5 is no integer"), "{between}");
    let error = server.entries(&encrypted(&[1.0, -1.0]), &[1.0; 5], None).unwrap_err().to_string();
    assert!(
        error.contains("values from -1 to 1 are possible, and places are integers from 0 to 4"),
        "{error}"
    );
    // A wrong declaration is detected.
    let places = Interval::new(0.0, 4.0).unwrap();
    let error = server.declare_interval(&encrypted(&[1.0, -1.0]), places).unwrap_err().to_string();
    assert!(error.contains("a value of -1 does not lie from 0 to 4"), "{error}");
}
