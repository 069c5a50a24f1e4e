//! Tests of stray slots, the slots between the elements of an array. Sums leave them out, and
//! declared bounds do not apply to them.

use crate::common::{assert_close, insecure, numbers};
use hippocrene::{ClientKey, EncryptedArray, Error, Interval, Layout, Server};
use hippocrene_ckks::circuits::{Basis, Polynomial};
use proptest::prelude::*;

/// Returns the bits of the modulus above the scale.
fn modulus_bits(array: &EncryptedArray, server: &Server) -> f64 {
    array.capacity_bits(server.session()) + array.bound().log2()
}

/// Returns the values of all slots of all ciphertexts.
fn slots_of(client: &ClientKey, array: &EncryptedArray) -> Vec<f64> {
    let slots = array.layout().slots();
    let layout = Layout::packed(&[array.bodies().len() * slots], slots).unwrap();
    let all = EncryptedArray::from_parts(
        layout,
        *array.form(),
        hippocrene::SlotContents::Zero,
        array.bodies().to_vec(),
    )
    .unwrap();
    // Slots without an element may lie outside of the interval of the elements.
    client.decrypt(&all.with_bound(1e9).unwrap()).unwrap()
}

/// Checks the stated contents of the slots, and that a declared bound holds in all slots.
fn check_slots(
    client: &ClientKey,
    server: &Server,
    array: &EncryptedArray,
) -> Result<(), TestCaseError> {
    let mut slots = slots_of(client, array);
    let largest =
        client.decrypt(array).unwrap().iter().fold(0.0f64, |most, x| most.max(x.abs())) + 1e-3;
    let declared = server.declare_bound(array, largest).unwrap();
    for slot in slots_of(client, &declared) {
        prop_assert!(
            slot.abs() < largest + 1e-3,
            "{slot} beyond {largest}, of layout {:?}",
            array.layout()
        );
    }
    for position in array.layout().positions() {
        slots[position] = 0.0;
    }
    prop_assert!(
        !array.is_clean() || slots.iter().all(|slot| slot.abs() < 1e-3),
        "{:?}",
        array.layout()
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn products_of_matrices_state_their_slot_contents(
        sizes in prop::collection::vec(1usize..6, 3),
        strides in prop::collection::vec(0u32..8, 4),
        cleaned in any::<bool>(),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 10);
        let [n, k, m] = sizes[..] else { unreachable!() };
        let laid_out = |shape: [usize; 2], strides: &[u32], seed| {
            let array = client.encrypt(&numbers(shape[0] * shape[1], seed), &shape).unwrap();
            let strides = strides.iter().map(|log2| 1 << log2).collect();
            match Layout::new(shape.to_vec(), strides, array.layout().slots()) {
                Ok(layout) => server.relayout(&array, layout).unwrap(),
                Err(_) => array,
            }
        };
        let (a, b) =
            (laid_out([n, k], &strides[..2], seed), laid_out([k, m], &strides[2..], seed + 1));
        let product = server.dot(&a, &b).unwrap();
        check_slots(&client, &server, &product)?;
        let product = if cleaned {
            server.declare_bound(&product, k as f64 - 1e-6).unwrap()
        } else {
            product
        };
        let square = server.dot(&product, &server.transpose(&product).unwrap()).unwrap();
        check_slots(&client, &server, &square)?;
        check_slots(&client, &server, &server.sum(&square, Some(1)).unwrap())?;
    }

    /// Bounds of sums do not count padding, whatever the stray slots hold.
    #[test]
    fn bounds_of_sums_hold_in_all_slots_and_count_the_elements(
        shape in prop::collection::vec(1usize..12, 1..4),
        strides in prop::collection::vec(0u32..8, 3),
        axis in prop::option::of(0usize..3),
    ) {
        let (client, server) = insecure(7, 2);
        let ones = vec![1.0; shape.iter().product()];
        let array = client.encrypt(&ones, &shape).unwrap().with_bound(1.0).unwrap();
        let strides = strides.iter().take(shape.len()).map(|log2| 1 << log2).collect();
        let array = match Layout::new(shape.clone(), strides, array.layout().slots()) {
            Ok(layout) => server.relayout(&array, layout).unwrap(),
            Err(_) => array,
        };
        let axis = axis.filter(|axis| *axis < shape.len());
        let count = axis.map_or(ones.len(), |axis| shape[axis]);
        let sum = server.sum(&array, axis).unwrap();
        if array.layout().ciphertexts() == 1 {
            prop_assert!(sum.bound() < count as f64 * (1.0 + 1e-9), "{} of {count}", sum.bound());
        }
        for slot in slots_of(&client, &sum) {
            prop_assert!(
                slot.abs() < sum.bound() + 1e-3,
                "{slot} beyond {}, of {:?}",
                sum.bound(),
                array.layout()
            );
        }
    }

    /// The bound of a product with a plain vector is the sum of the magnitudes of its numbers, and
    /// holds in all slots.
    #[test]
    fn bounds_of_plain_products_hold_in_all_slots(
        rows in 1usize..9,
        weights in prop::collection::vec(-2.0f64..2.0, 1..13),
    ) {
        let (client, server) = insecure(7, 3);
        let ones: Vec<f64> = (0..rows).flat_map(|_| weights.iter().map(|w| w.signum())).collect();
        let array = client.encrypt(&ones, &[rows, weights.len()]).unwrap().with_bound(1.0).unwrap();
        let largest: f64 = weights.iter().map(|w| w.abs()).sum();
        let product = server.dot_plain(&array, &weights).unwrap();
        prop_assert!(product.bound() < largest * (1.0 + 1e-3), "{} of {largest}", product.bound());
        assert_close(
            &client.decrypt(&product).unwrap(),
            &vec![largest; rows],
            "signs times weights",
        );
        for slot in slots_of(&client, &product) {
            prop_assert!(slot.abs() < product.bound() + 1e-3, "{slot} beyond {}", product.bound());
        }
    }

    #[test]
    fn sums_of_every_other_row_and_column_take_no_product(
        shape in prop::collection::vec(1usize..12, 1..4),
        steps in prop::collection::vec(0u32..3, 3),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 2);
        let x = numbers(shape.iter().product(), seed);
        let axes: Vec<Vec<usize>> = shape
            .iter()
            .zip(&steps)
            .map(|(n, step)| (0..*n).step_by(1 << step).collect())
            .collect();
        let sources = axes.iter().zip(&shape).fold(vec![0], |sources, (axis, n)| {
            sources.iter().flat_map(|source| axis.iter().map(move |i| source * n + i)).collect()
        });
        let picked: Vec<usize> = axes.iter().map(Vec::len).collect();
        let slice =
            server.gather(&[&client.encrypt(&x, &shape).unwrap()], &picked, &sources).unwrap();
        let left = modulus_bits(&slice, &server);
        let values: Vec<f64> = sources.iter().map(|source| x[*source]).collect();
        let total = server.sum(&slice, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[values.iter().sum()],
            "the sum of a slice",
        );
        prop_assert!(modulus_bits(&total, &server) > left - 1e-6);
        for axis in 0..picked.len() {
            let sum = server.sum(&slice, Some(axis)).unwrap();
            let inner: usize = picked[axis + 1..].iter().product();
            let along = |e: usize| {
                (0..picked[axis])
                    .map(|k| values[(e / inner * picked[axis] + k) * inner + e % inner])
                    .sum()
            };
            let expected: Vec<f64> = (0..values.len() / picked[axis]).map(along).collect();
            assert_close(
                &client.decrypt(&sum).unwrap(),
                &expected,
                "a sum along an axis of a \
                                                                     slice",
            );
            prop_assert!(modulus_bits(&sum, &server) > left - 1e-6);
            // Broadcasting a sum against the slice, and summing again, shows that the stated
            // contents of its slots are true.
            let mut kept = picked.clone();
            kept[axis] = 1;
            let sum = server.gather(&[&sum], &kept, &(0..sum.size()).collect::<Vec<_>>()).unwrap();
            let centred = server.sub(&slice, &sum).unwrap();
            let expected: Vec<f64> = values
                .iter()
                .enumerate()
                .map(|(i, x)| x - expected[i / inner / picked[axis] * inner + i % inner])
                .collect();
            assert_close(&client.decrypt(&centred).unwrap(), &expected, "a slice less its sums");
            let again = server.sum(&centred, None).unwrap();
            assert_close(&client.decrypt(&again).unwrap(), &[expected.iter().sum()], "all of that");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Chebyshev polynomials for an interval that does not contain zero inside grow without bounds
    /// at zeros and other stray values.
    #[test]
    fn polynomials_are_bounded_in_all_slots(
        rows in 1usize..5,
        columns in 1usize..20,
        low in prop::sample::select(vec![0.0, 0.25, 1.0, 7.0, -9.0]),
        degree in prop::sample::select(vec![0usize, 3, 8, 31]),
        is_slice in any::<bool>(),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(8, 9);
        let (length, high) = (1.5, low + 1.5);
        let p = Polynomial::approximate(|x| (3.0 * x).sin() + 2.0, low, high, degree).unwrap();
        let (low_end, high_end) = (f64::abs(low), f64::abs(high));
        let x: Vec<f64> =
            numbers(rows * columns, seed).iter().map(|x| low + length * (x + 1.0) / 2.0).collect();
        let (a, x) = if is_slice {
            // Every other column, with the other columns in the stray slots.
            let wide: Vec<f64> = x.iter().flat_map(|x| [*x, -low_end.max(high_end)]).collect();
            let wide = client
                .encrypt(&wide, &[rows, 2 * columns])
                .unwrap()
                .with_bound(low_end.max(high_end))
                .unwrap();
            let sources: Vec<usize> = (0..rows * columns).map(|i| 2 * i).collect();
            (server.gather(&[&wide], &[rows, columns], &sources).unwrap(), x)
        } else {
            (
                client
                    .encrypt(&x, &[rows, columns])
                    .unwrap()
                    .with_bound(low_end.max(high_end))
                    .unwrap(),
                x,
            )
        };
        let a = a.with_interval(Interval::new(low, high).unwrap()).unwrap();
        let y = server.polynomial(&a, &p).unwrap();
        let expected: Vec<f64> = x.iter().map(|x| p.evaluate(*x)).collect();
        assert_close(&client.decrypt(&y).unwrap(), &expected, "a polynomial");
        check_slots(&client, &server, &y)?;
        for slot in slots_of(&client, &y) {
            prop_assert!(slot.abs() < y.bound() + 1e-3, "{slot} beyond {}", y.bound());
        }
        prop_assert!(y.is_clean() || is_slice);
        // The bound of the result is good enough for a second polynomial.
        let square =
            Polynomial::new(Basis::Chebyshev { low: 0.0, high: y.bound() }, vec![0.5, 0.5])
                .unwrap();
        let expected: Vec<f64> = expected.iter().map(|y| square.evaluate(*y)).collect();
        assert_close(
            &client.decrypt(&server.polynomial(&y, &square).unwrap()).unwrap(),
            &expected,
            "a second polynomial",
        );
    }
}

/// A polynomial of degree 15 overflows at 100, and this would affect the slots of the elements too.
#[test]
fn bounds_hold_for_all_slots() {
    let (client, server) = insecure(7, 6);
    let x = [0.5, 100.0, -0.3, 100.0, 0.2, 100.0, 0.9, 100.0];
    let slice = server.gather(&[&client.encrypt(&x, &[8]).unwrap()], &[4], &[0, 2, 4, 6]).unwrap();
    let refused = slice.clone().with_bound(1.0).unwrap_err();
    assert!(matches!(&refused, Error::Argument { .. }), "{refused}");
    assert!(refused.to_string().contains("Server::declare_interval"), "{refused}");
    assert_eq!(slice.clone().with_bound(200.0).unwrap().bound(), 200.0);
    let declared = server.declare_bound(&slice, 1.0).unwrap();
    assert!(declared.bound() == 1.0 && declared.is_clean());
    let mut coefficients = vec![0.0; 16];
    coefficients[15] = 1.0;
    let p = Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients).unwrap();
    let y = client.decrypt(&server.polynomial(&declared, &p).unwrap()).unwrap();
    let expected: Vec<f64> =
        [0.5f64, -0.3, 0.2, 0.9].iter().map(|x| (15.0 * x.acos()).cos()).collect();
    for (y, e) in y.iter().zip(&expected) {
        assert!((y - e).abs() < 1e-3, "{y}, not {e}");
    }
    // A single number that fills all slots has no stray slots.
    let sum = server.sum(&client.encrypt(&[0.01; 64], &[64]).unwrap(), None).unwrap();
    assert_eq!(sum.with_bound(0.7).unwrap().bound(), 0.7);
    assert!(server.declare_bound(&declared, f64::NAN).is_err());
}
