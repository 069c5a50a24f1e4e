//! Tests that errors name the operation that was called and say what it needs.

use crate::common::{insecure, insecure_grafted, numbers};
use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Error, KeyRequest, Layout, Preset, Session,
    format_shape,
};
use hippocrene_rlwe::SecretDistribution;

/// The literals are for other parameters, whose first unit is not a base modulus of these.
#[test]
fn literals_of_bits_for_other_parameters_are_refused() {
    for preset in ["n13", "n14"] {
        let client =
            ClientKey::generate(Preset::by_name(preset).unwrap().settings().unwrap()).unwrap();
        for (literal, bits) in [("bits14", 20.0), ("bits16", 34.0)] {
            let literal = Preset::by_name(literal).unwrap().bits().unwrap();
            for refused in [
                client.bit_plan(literal.clone()).map(drop),
                client.public_key().unwrap().bit_plan(literal.clone()).map(drop),
                client.evaluation_keys(&KeyRequest::bits(literal.clone())).map(drop),
            ] {
                let refused = refused.unwrap_err();
                let words = refused.to_string();
                let base = words.split_once("with a base modulus of ").and_then(|(_, rest)| {
                    let (base, _) =
                        rest.split_once(" bits, which has no unit: one with a unit is needed")?;
                    base.parse::<f64>().ok()
                });
                assert!(matches!(refused, Error::Parameters(_)), "{preset}: {refused}");
                assert!(base.is_some_and(|base| (base - bits).abs() < 0.5), "{preset}: {refused}");
            }
        }
    }
}

#[test]
fn layouts_of_a_few_elements_far_apart_are_refused() {
    let (client, server) = insecure(7, 2);
    let slots = server.session().slots();
    let array = client.encrypt(&[1.0, 2.0, 3.0, 4.0], &[4]).unwrap();
    for stride in [1 << 30, 1 << 23] {
        let layout = Layout::new(vec![4], vec![stride], slots).unwrap();
        let refused = server.relayout(&array, layout).unwrap_err();
        let what = format!(
            "shape (4,) with strides [{stride}] takes {} slots: 16777216 are the most for so few \
             elements",
            3 * stride + 1
        );
        assert_eq!(refused.to_string(), format!("move elements: {what}"));
        assert!(matches!(refused, Error::Shape { .. }));
    }
    // Up to that limit, elements may be as far apart as padding requires.
    let far = Layout::new(vec![4], vec![1 << 12], slots).unwrap();
    assert_eq!(server.relayout(&array, far).unwrap().bodies().len(), (3 << 12) / slots + 1);
}

#[test]
fn arrays_beyond_the_largest_size_are_refused() {
    let (client, server) = insecure(7, 2);
    let one = client.encrypt(&[1.0], &[]).unwrap();
    for shape in [vec![usize::MAX; 2], vec![usize::MAX; 3], vec![2, 1 << 40], vec![3, 1 << 63, 1]] {
        let refused = [
            Layout::packed(&shape, 64).map(drop),
            server.broadcast_to(&one, &shape).map(drop),
            server.gather(&[&one], &shape, &[0]).map(drop),
            client.encrypt(&[1.0], &shape).map(drop),
        ];
        for refused in refused {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Error::Shape { .. }), "{refused}");
            let what = format!("shape {} is larger than 2^32 slots", format_shape(&shape));
            assert!(refused.to_string().contains(&what), "{refused}");
        }
    }
    let none = Layout::packed(&[0, usize::MAX, usize::MAX], 64).unwrap_err();
    assert!(none.to_string().contains("has no elements"), "{none}");
}

#[test]
fn errors_inside_an_operation_name_the_operation() {
    let (client, server) = insecure(7, 1);
    let encrypt =
        |shape: &[usize]| client.encrypt(&numbers(shape.iter().product(), 1), shape).unwrap();
    let (a, b, c) = (encrypt(&[2, 3]), encrypt(&[4]), encrypt(&[2, 3]));
    let used = server.square(&a).unwrap();
    let other = insecure(7, 1).0.encrypt(&[1.0], &[1]).unwrap();
    let refusals: [(Result<EncryptedArray, Error>, &str); 10] = [
        (server.mean(&a, Some(3)), "mean: there is no axis 3 in shape (2, 3)"),
        (server.sum(&a, Some(3)), "sum: there is no axis 3 in shape (2, 3)"),
        (server.mean(&used, None), "mean needs "),
        (server.mean(&other, None), "mean: encrypted under key"),
        (
            server.sum_of_products(&[(&a, &c), (&a, &b)]),
            "add products: shapes (2, 3) and (4,) do not broadcast together",
        ),
        (server.sum_of_products(&[(&a, &c), (&other, &b)]), "add products: encrypted under key"),
        (
            server.is_close(&a, &b, 0.5),
            "is close: shapes (2, 3) and (4,) do not broadcast together",
        ),
        (server.is_close(&a, &c, 0.5), "is close: this server has no keys of look-up tables"),
        (server.is_near_zero(&a, 0.5), "compare with 0: this server has no keys of look-up tables"),
        (
            server.div_number(&a, 1e-300),
            "divide by a number: the divisor is 1e-300, and its inverse too large for the modulus",
        ),
    ];
    for (refused, words) in refusals {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with(words), "{refused}");
    }
    let gap = server.table_gap(1.0).unwrap_err().to_string();
    assert!(gap.starts_with("gap of tables: this server has no keys of look-up tables"), "{gap}");
}

#[test]
fn quotients_that_are_too_large_are_refused_as_products_are() {
    let (client, server) = insecure(7, 2);
    for shape in [vec![3], vec![server.session().slots()], vec![2, 3]] {
        let a = client.encrypt(&numbers(shape.iter().product(), 1), &shape).unwrap();
        for a in [&a, &server.sum(&a, Some(0)).unwrap()] {
            for divisor in [1e-300, -1e-300, 3e-310, 2f64.powi(-1000)] {
                let refused = server.div_number(a, divisor).unwrap_err();
                assert!(
                    matches!(refused, Error::Argument { .. } | Error::Capacity { .. })
                        && refused.to_string().starts_with("divide by a number"),
                    "{:?} / {divisor:e}: {refused}",
                    a.shape()
                );
            }
        }
    }
}

#[test]
fn bounds_beyond_every_reduction_are_refused() {
    let session = Session::new(insecure_grafted(8, 24, SecretDistribution::Ternary), 1).unwrap();
    for (bound, precision) in [(1e10, None), (1e10, Some(20.0)), (1e30, None)] {
        let how = Bootstrapping { bound, precision, ..Bootstrapping::default() };
        let refused = how.describe(&session).unwrap_err();
        let says = [
            format!("for values up to {}", hippocrene_ckks::Short(bound)),
            "a smaller bound".into(),
        ];
        let is_bound_named =
            matches!(&refused, Error::Parameters(what) if says.iter().all(|s| what.contains(s)));
        assert!(is_bound_named, "{refused}");
    }
}

/// Arrays and vectors are accepted in place of slices.
#[test]
fn plain_numbers_are_slices_arrays_or_vectors() -> Result<(), Error> {
    let (client, server) = insecure(7, 1);
    let a = client.encrypt(&[1.0, -2.0], &[2])?;
    let (vector, complex) = (vec![0.5, 0.25], [num_complex::Complex64::I; 2]);
    let sums: [(EncryptedArray, [f64; 2]); 4] = [
        (server.add_plain(&a, &[0.5, 0.25])?, [1.5, -1.75]),
        (server.add_plain(&a, &vector)?, [1.5, -1.75]),
        (server.mul_plain(&a, &vector[..])?, [0.5, -0.5]),
        (server.mul_plain(&a, &vector.clone())?, [0.5, -0.5]),
    ];
    for (sum, expected) in sums {
        crate::common::assert_close(&client.decrypt(&sum)?, &expected, "plain numbers");
    }
    assert!(server.add_plain(&a, &complex)?.is_complex());
    assert!(server.mul_plain(&a, &complex.to_vec())?.is_complex());
    Ok(())
}

#[test]
fn every_element_has_a_value() {
    let error = Layout::packed(&[2, 3], 64).unwrap().scatter(&[1.0; 5]).unwrap_err().to_string();
    assert_eq!(error, "lay out values: 5 values for the elements of shape (2, 3)");
}

/// If plain numbers exceed the modulus, the error is about capacity, not precision, because
/// bootstraps restore it.
#[test]
fn plain_summands_take_capacity() {
    let (client, server) = insecure(8, 3);
    let mut a = client.encrypt(&[0.5, -0.25], &[2]).unwrap();
    while server.mul(&a, &a).is_ok() {
        a = server.mul(&a, &a).unwrap();
    }
    let large = (a.capacity_bits(server.session()) + 20.0).exp2();
    for refused in [server.add_number(&a, large), server.add_plain(&a, &[large, 0.0][..])] {
        assert!(matches!(&refused, Err(Error::Capacity { .. })), "{refused:?}");
    }
}

/// An operation of several steps states the capacity of its operands, not only that of the failing
/// step.
#[test]
fn errors_in_a_step_state_the_capacity_of_the_operands() {
    let (client, server) = insecure(7, 2);
    let x = client.encrypt(&numbers(12, 1), &[4, 3]).unwrap();
    let mut y = client.encrypt(&numbers(4, 2), &[4]).unwrap();
    y = server.mul(&y, &y).unwrap();
    // The rows of `x` are in another order than in a fresh array. Moving them uses up the capacity.
    let error = server.dot(&server.transpose(&x).unwrap(), &y).unwrap_err().to_string();
    let have = y.capacity_bits(server.session());
    assert!(error.contains(&format!("The operands have {have:.1} bits, and")), "{error}");
}
