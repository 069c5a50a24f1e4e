//! Tests of a server's operations, against the same on plain numbers.

use crate::common::{assert_close, insecure, numbers, products_left};
use hippocrene::{
    Basis, ClientKey, EncryptedArray, Encryption, Error, Interval, KeyRequest, Polynomial, Preset,
    Server, Stored, Values, wire::ElementsInspection,
};
use num_complex::Complex64;
use proptest::prelude::*;

/// Returns the sums along an axis of a row-major array.
fn sum_axis(x: &[f64], shape: &[usize], axis: usize) -> Vec<f64> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    (0..outer * inner)
        .map(|e| {
            (0..shape[axis]).map(|k| x[(e / inner * shape[axis] + k) * inner + e % inner]).sum()
        })
        .collect()
}

fn matmul(x: &[f64], w: &[f64], k: usize) -> Vec<f64> {
    let columns = w.len() / k;
    x.chunks(k)
        .flat_map(|row| {
            (0..columns).map(move |j| (0..k).map(|i| row[i] * w[i * columns + j]).sum())
        })
        .collect()
}

#[test]
fn element_by_element() {
    let (client, server) = insecure(8, 4);
    for shape in [vec![], vec![1], vec![100], vec![128], vec![300], vec![5, 7], vec![3, 4, 5]] {
        let size = shape.iter().product();
        let (x, y) = (numbers(size, 1), numbers(size, 2));
        let (a, b) = (client.encrypt(&x, &shape).unwrap(), client.encrypt(&y, &shape).unwrap());
        let check = |array: Result<_, Error>, f: &dyn Fn(f64, f64) -> f64, what: &str| {
            let array = array.unwrap();
            let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f(*x, *y)).collect();
            assert_close(
                &client.decrypt(&array).unwrap(),
                &expected,
                &format!("{what}, shape {shape:?}"),
            );
            let most = expected.iter().fold(0.0f64, |m, e| m.max(e.abs()));
            assert!(array.bound() >= most - 1e-9, "{what}: bound {} below {most}", array.bound());
            assert_eq!(array.shape(), shape);
        };
        check(server.add(&a, &b), &|x, y| x + y, "add");
        check(server.add(&a, &a), &|x, _| x + x, "twice");
        check(server.sub(&a, &b), &|x, y| x - y, "sub");
        check(server.negate(&a), &|x, _| -x, "negate");
        check(server.mul(&a, &b), &|x, y| x * y, "mul");
        check(server.mul(&a, &a), &|x, _| x * x, "square");
        check(server.add_plain(&a, &y[..]), &|x, y| x + y, "add plain");
        check(server.mul_plain(&a, &y[..]), &|x, y| x * y, "mul plain");
        check(server.add_number(&a, 0.75), &|x, _| x + 0.75, "add number");
        check(server.mul_number(&a, -3.0), &|x, _| -3.0 * x, "mul integer");
        check(server.mul_number(&a, 0.3), &|x, _| 0.3 * x, "mul number");
        check(server.mul_number(&a, -0.375), &|x, _| -0.375 * x, "mul eighths");
        let product = server.mul(&a, &b).unwrap();
        check(server.add(&product, &a), &|x, y| x * y + x, "different moduli");
        check(server.mul(&product, &a), &|x, y| x * y * x, "product with a product");
        for n in [1, 2, 3, 5, 7, 8, 13] {
            check(server.pow(&a, n), &|x, _| x.powi(n as i32), "power");
            assert_eq!(
                products_left(&server.pow(&a, n).unwrap(), &server),
                4 - n.next_power_of_two().trailing_zeros() as usize
            );
        }
        let p = Polynomial::new(Basis::Monomial, vec![0.5, -1.0, 0.25, 0.125]).unwrap();
        check(server.polynomial(&a, &p), &|x, _| p.evaluate(x), "polynomial");
    }
}

/// Values are secret, so errors of their encryption name their places but no values.
#[test]
fn encryption_errors_hide_the_values() {
    let (client, _) = insecure(8, 4);
    let how = Encryption { interval: Some(Interval::symmetric(0.1)), ..Encryption::default() };
    let error = client
        .encrypt_with(Values::Real(&[0.05, 0.123456789]), &[2], &how)
        .unwrap_err()
        .to_string();
    let words = "encrypt: the value at position 1 (counted from 0) lies outside the interval from -0.1 to 0.1. \
                 Declare a wider interval, or divide the values by a number first.";
    assert_eq!(error, words);
    let error = client.encrypt(&[1.2345e300], &[1]).unwrap_err().to_string();
    assert!(
        error.starts_with("encrypt: the value at position 0 (counted from 0) is too large"),
        "{error}"
    );
    assert!(!error.contains("2345"), "{error}");
}

/// Debug output contains neither tables of transforms nor any part of a secret.
#[test]
fn keys_and_contexts_are_printed_shortly() {
    let (client, server) = insecure(8, 4);
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    for (printed, most) in [
        (format!("{client:?}"), 4_000),
        (format!("{:?}", client.public_key().unwrap()), 4_000),
        (format!("{:?}", server.session().context()), 2_000),
        (format!("{keys:?}"), 40_000),
        (format!("{server:?}"), 40_000),
    ] {
        assert!(printed.len() < most, "{} bytes: {printed:.2000}", printed.len());
    }
}

/// The values are as large as their bound, where errors are largest.
#[test]
fn powers_state_their_error() {
    let (client, server) = insecure(10, 4);
    let x: Vec<Complex64> = (0..512).map(|i| Complex64::from_polar(1.0, f64::from(i))).collect();
    let signs: Vec<f64> = x.iter().map(|x| x.re.signum()).collect();
    let (a, b) =
        (client.encrypt(&signs, &[512]).unwrap(), client.encrypt_complex(&x, &[512]).unwrap());
    for n in 1..=16 {
        let real = server.pow(&a, n).unwrap();
        let got = client.decrypt(&real).unwrap();
        let sum: f64 = got.iter().zip(&signs).map(|(y, x)| (y - x.powi(n as i32)).powi(2)).sum();
        let complex = server.pow(&b, n).unwrap();
        let got = client.decrypt_complex(&complex).unwrap();
        let both: f64 = got.iter().zip(&x).map(|(y, x)| 0.5 * (y - x.powu(n)).norm_sqr()).sum();
        for (y, sum, what) in [(real, sum, "real"), (complex, both, "complex")] {
            let ratio = (sum / 512.0).sqrt() * y.precision_bits(server.session()).exp2();
            assert!(
                (1.0 / 1.5..1.5).contains(&ratio),
                "{what}, power {n}: {ratio} times the stated error"
            );
        }
    }
}

#[test]
fn complex_numbers() {
    let (client, server) = insecure(8, 2);
    let x: Vec<Complex64> = (0..10).map(|i| Complex64::from_polar(1.0, f64::from(i))).collect();
    let a = client.encrypt_complex(&x, &[10]).unwrap();
    assert!(a.is_complex());
    let square = client.decrypt_complex(&server.square(&a).unwrap()).unwrap();
    let norm =
        client.decrypt_complex(&server.mul(&a, &server.conjugate(&a).unwrap()).unwrap()).unwrap();
    let turned = client.decrypt_complex(&server.mul_plain(&a, &x[..]).unwrap()).unwrap();
    for i in 0..10 {
        assert!((square[i] - x[i] * x[i]).norm() < 1e-6 && (norm[i] - 1.0).norm() < 1e-6);
        assert!((turned[i] - x[i] * x[i]).norm() < 1e-6);
    }
    let (real, imaginary) = (server.real(&a).unwrap(), server.imaginary(&a).unwrap());
    assert!(!real.is_complex() && !imaginary.is_complex());
    // Real numbers are their own conjugates, so this needs no key.
    let without = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let same = without.conjugate(&real).unwrap();
    assert_eq!(client.decrypt(&same).unwrap(), client.decrypt(&real).unwrap());
    assert!(matches!(without.conjugate(&a).unwrap_err(), Error::MissingKey { .. }));
    let parts = [real, imaginary].map(|array| client.decrypt(&array).unwrap());
    assert_close(&parts[0], &x.iter().map(|x| x.re).collect::<Vec<_>>(), "real parts");
    assert_close(&parts[1], &x.iter().map(|x| x.im).collect::<Vec<_>>(), "imaginary parts");

    let b = client.encrypt(&parts[0], &[10]).unwrap();
    let turned = server.times_i(&b).unwrap();
    assert_eq!(turned.capacity_bits(client.session()), b.capacity_bits(client.session()));
    assert_close(
        &client.decrypt(&server.imaginary(&turned).unwrap()).unwrap(),
        &parts[0],
        "times i",
    );
    assert_close(
        &client.decrypt(&server.real(&b).unwrap()).unwrap(),
        &parts[0],
        "real parts of real numbers",
    );
    assert_close(
        &client.decrypt(&server.imaginary(&b).unwrap()).unwrap(),
        &[0.0; 10],
        "imaginary parts of real numbers",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn sums_and_means(shape in prop::collection::vec(1usize..12, 1..4), seed in 0usize..100) {
        let (client, server) = insecure(7, 3);
        let x = numbers(shape.iter().product(), seed);
        let a = client.encrypt(&x, &shape).unwrap();
        let total = server.sum(&a, None).unwrap();
        prop_assert_eq!(total.shape(), &[] as &[usize]);
        assert_close(&client.decrypt(&total).unwrap(), &[x.iter().sum()], "sum");
        for axis in 0..shape.len() {
            let sum = server.sum(&a, Some(axis)).unwrap();
            let expected = sum_axis(&x, &shape, axis);
            assert_close(&client.decrypt(&sum).unwrap(), &expected, "sum along an axis");
            // Stray slots of a sum do not enter later sums.
            let again = server.sum(&server.add_number(&sum, 1.0).unwrap(), None).unwrap();
            assert_close(
                &client.decrypt(&again).unwrap(),
                &[expected.iter().map(|e| e + 1.0).sum()],
                "sum of sums",
            );
            let mean = server.mean(&a, Some(axis)).unwrap();
            let expected: Vec<f64> = expected.iter().map(|e| e / shape[axis] as f64).collect();
            assert_close(&client.decrypt(&mean).unwrap(), &expected, "mean");
        }
    }

    #[test]
    fn matrix_products(
        rows in 1usize..40,
        k in 1usize..12,
        columns in 1usize..12,
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 2);
        let (x, w) = (numbers(rows * k, seed), numbers(k * columns, seed + 1));
        let a = client.encrypt(&x, &[rows, k]).unwrap();
        let product = server.matmul_plain(&a, &w, columns).unwrap();
        prop_assert_eq!(product.shape(), &[rows, columns]);
        assert_close(&client.decrypt(&product).unwrap(), &matmul(&x, &w, k), "a @ w");
        let v = &w[..k];
        let dot = server.dot_plain(&a, v).unwrap();
        prop_assert_eq!(dot.shape(), &[rows]);
        assert_close(&client.decrypt(&dot).unwrap(), &matmul(&x, v, k), "a @ v");
        // m @ a, with m of shape (columns, rows).
        let m = numbers(columns * rows, seed + 2);
        let product = server.rmatmul_plain(&m, columns, &a).unwrap();
        prop_assert_eq!(product.shape(), &[columns, k]);
        assert_close(&client.decrypt(&product).unwrap(), &matmul(&m, &x, rows), "m @ a");
        // The transpose is free and gives the right products.
        let t = server.transpose(&a).unwrap();
        let product = server.matmul_plain(&t, &numbers(rows * 2, seed), 2).unwrap();
        let xt: Vec<f64> = (0..k)
            .flat_map(|j| (0..rows).map(move |i| (i, j)))
            .map(|(i, j)| x[i * k + j])
            .collect();
        assert_close(
            &client.decrypt(&product).unwrap(),
            &matmul(&xt, &numbers(rows * 2, seed), rows),
            "a.T @ w",
        );
    }

    #[test]
    fn rolls_and_broadcasts(rows in 1usize..30, columns in 1usize..9, shift in -40i64..40) {
        let (client, server) = insecure(7, 2);
        let x = numbers(rows * columns, 5);
        let a = client.encrypt(&x, &[rows, columns]).unwrap();
        let n = x.len() as i64;
        let rolled = client.decrypt(&server.roll(&a, shift, None).unwrap()).unwrap();
        let expected: Vec<f64> = (0..n).map(|i| x[(i - shift).rem_euclid(n) as usize]).collect();
        assert_close(&rolled, &expected, "roll");
        let rolled = client.decrypt(&server.roll(&a, shift, Some(1)).unwrap()).unwrap();
        let expected: Vec<f64> = (0..rows * columns)
            .map(|e| {
                x[e / columns * columns
                    + ((e % columns) as i64 - shift).rem_euclid(columns as i64) as usize]
            })
            .collect();
        assert_close(&rolled, &expected, "roll along an axis");
        let row = client.encrypt(&x[..columns], &[columns]).unwrap();
        let wide = server.broadcast_to(&row, &[rows, columns]).unwrap();
        assert_close(&client.decrypt(&wide).unwrap(), &x[..columns].repeat(rows), "broadcast");
        let product = server.mul(&a, &wide).unwrap();
        let expected: Vec<f64> = x.iter().enumerate().map(|(e, v)| v * x[e % columns]).collect();
        assert_close(&client.decrypt(&product).unwrap(), &expected, "broadcast product");
    }
}

#[test]
fn dot_products_and_moves() {
    let (client, server) = insecure(8, 4);
    let (x, y) = (numbers(200, 1), numbers(200, 2));
    let (a, b) = (client.encrypt(&x, &[200]).unwrap(), client.encrypt(&y, &[200]).unwrap());
    let dot: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
    assert_close(&client.decrypt(&server.dot(&a, &b).unwrap()).unwrap(), &[dot], "dot");
    // A sum along an axis leaves its elements far apart. A product with a packed array packs them.
    let m = client.encrypt(&numbers(60, 3), &[10, 6]).unwrap();
    let sums = server.sum(&m, Some(1)).unwrap();
    let packed = client.encrypt(&x[..10], &[10]).unwrap();
    assert_ne!(sums.layout(), packed.layout());
    let expected: Vec<f64> =
        numbers(60, 3).chunks(6).zip(&x).map(|(r, x)| r.iter().sum::<f64>() * x).collect();
    assert_close(
        &client.decrypt(&server.mul(&packed, &sums).unwrap()).unwrap(),
        &expected,
        "moved",
    );
    // A full vector rolls without using up capacity.
    let full = client.encrypt(&numbers(128, 1), &[128]).unwrap();
    assert_eq!(
        products_left(&server.roll(&full, 5, None).unwrap(), &server),
        products_left(&full, &server)
    );
    let around = server.roll(&full, i64::MIN, None).unwrap();
    assert_close(
        &client.decrypt(&around).unwrap(),
        &numbers(128, 1),
        "rolled by a multiple of the length",
    );
    // Axes of length 1 are inserted for free.
    let column = server.insert_axis(&sums, 1).unwrap();
    assert_eq!(
        (column.shape(), products_left(&column, &server)),
        (&[10, 1][..], products_left(&sums, &server))
    );
    assert_eq!(client.decrypt(&column).unwrap(), client.decrypt(&sums).unwrap());
    assert!(matches!(server.insert_axis(&sums, 2), Err(Error::Shape { .. })));
}

/// Checks which broadcasts need no product, and that all of them are right.
#[test]
fn broadcasts_where_slots_allow_it_are_free() {
    let (client, server) = insecure(7, 3);
    // There are 64 slots. Rows and columns are shorter and longer than a ciphertext, with lengths
    // that are powers of two and others.
    for (rows, columns) in [(3, 4), (5, 7), (16, 4), (9, 8), (40, 3), (100, 1), (1, 50)] {
        let x = numbers(rows * columns, 7);
        let a = client.encrypt(&x, &[rows, columns]).unwrap();
        let row = client.encrypt(&x[..columns], &[columns]).unwrap();
        let one = client.encrypt(&x[..1], &[1, 1]).unwrap();
        let check = |got: &EncryptedArray,
                     expected: &dyn Fn(usize, usize) -> f64,
                     multiplications: usize,
                     what: &str| {
            let expected: Vec<f64> =
                (0..rows * columns).map(|e| expected(e / columns, e % columns)).collect();
            assert_close(
                &client.decrypt(got).unwrap(),
                &expected,
                &format!("{what} of {rows} x {columns}"),
            );
            assert!(
                3 - products_left(got, &server) <= multiplications,
                "{what} of {rows} x {columns}"
            );
            // A sum would include the stray slots if they were not zero.
            let sum = client.decrypt(&server.sum(got, None).unwrap()).unwrap();
            assert!(
                (sum[0] - expected.iter().sum::<f64>()).abs() < 1e-4,
                "sum of {what} of {rows} x {columns}"
            );
        };
        let at = |i: usize, j: usize| x[i * columns + j];
        check(
            &server.broadcast_to(&row, &[rows, columns]).unwrap(),
            &|_, j| x[j],
            0,
            "a fresh row",
        );
        check(
            &server.broadcast_to(&one, &[rows, columns]).unwrap(),
            &|_, _| x[0],
            0,
            "a fresh number",
        );
        check(&server.add(&a, &row).unwrap(), &|i, j| at(i, j) + x[j], 0, "a row on an array");
        check(&server.sub(&row, &a).unwrap(), &|i, j| x[j] - at(i, j), 0, "an array from a row");
        // A sum over all slots leaves the sum in every slot.
        let wraps = rows.next_power_of_two() * columns.next_power_of_two() >= 64;
        let total: f64 = x.iter().sum();
        let sum = server.sum(&a, None).unwrap();
        check(
            &server.add(&a, &sum).unwrap(),
            &|i, j| at(i, j) + total,
            usize::from(!wraps),
            "the sum",
        );
        let sums = server.insert_axis(&server.sum(&a, Some(0)).unwrap(), 0).unwrap();
        let below = |j: usize| (0..rows).map(|i| at(i, j)).sum::<f64>();
        check(
            &server.sub(&a, &sums).unwrap(),
            &|i, j| at(i, j) - below(j),
            usize::from(!wraps),
            "sums of columns",
        );
        let sums = server.insert_axis(&server.sum(&a, Some(1)).unwrap(), 1).unwrap();
        let across = |i: usize| (0..columns).map(|j| at(i, j)).sum::<f64>();
        let column = server.broadcast_to(
            &server.mul_plain(&sums, &vec![1.0; rows][..]).unwrap(),
            &[rows, columns],
        );
        check(&column.unwrap(), &|i, _| across(i), 1, "sums of rows that were masked");
        check(&server.mul(&sums, &a).unwrap(), &|i, j| across(i) * at(i, j), 2, "sums of rows");
    }
}

#[test]
fn public_keys_encrypt() {
    let (client, server) = insecure(8, 2);
    let public = client.public_key().unwrap();
    let x = numbers(20, 1);
    let a = public.encrypt(&x, &[4, 5]).unwrap();
    assert_close(
        &client.decrypt(&server.mul_number(&a, 2.0).unwrap()).unwrap(),
        &x.iter().map(|x| 2.0 * x).collect::<Vec<_>>(),
        "public",
    );
    assert_eq!(
        (public.key(), a.key(), server.key()),
        (client.fingerprint(), client.fingerprint(), client.fingerprint())
    );
}

#[test]
fn precision_and_capacity_are_stated() {
    let (client, server) = insecure(10, 3);
    let x = numbers(512, 1);
    let session = server.session();
    let mut a = client.encrypt(&x, &[512]).unwrap();
    let mut last = a.capacity_bits(session);
    assert!((last - (50.0 + 120.0 - 41.0)).abs() < 0.5, "{last}");
    let mut expected = x.clone();
    for _ in 0..3 {
        a = server.square(&a).unwrap();
        expected.iter_mut().for_each(|x| *x *= *x);
        let capacity = a.capacity_bits(session);
        assert!((last - capacity - 40.0).abs() < 0.5);
        last = capacity;
        let got = client.decrypt(&a).unwrap();
        let sum: f64 = got.iter().zip(&expected).map(|(g, e)| (g - e).powi(2)).sum();
        let measured = -(sum / 512.0).sqrt().log2();
        // The estimate assumes that every value is as large as the bound.
        assert!(
            measured >= a.precision_bits(session) - 0.5
                && measured < a.precision_bits(session) + 4.0
        );
    }
}

/// A product with zero is exact, but its stated precision stays finite because of its scale, before
/// and after it is written.
#[test]
fn precision_is_finite() {
    let (client, server) = insecure(8, 1);
    let a = client.encrypt(&numbers(100, 1), &[100]).unwrap();
    let zero = server.mul_number(&a, 0.0).unwrap();
    let precision = zero.precision_bits(server.session());
    assert!(precision > a.precision_bits(server.session()) && precision < 40.0, "{precision}");
    let read = EncryptedArray::from_bytes(&zero.to_bytes(), server.session()).unwrap();
    assert_eq!(read.precision_bits(server.session()), precision);
    assert!(client.decrypt(&zero).unwrap().iter().all(|x| *x == 0.0));
    let inspection = hippocrene::wire::inspect(&zero.to_bytes()).unwrap();
    let elements = inspection.array.unwrap().elements;
    let ElementsInspection::Numbers { precision_bits, .. } = elements else {
        panic!("{elements:?}");
    };
    assert_eq!(precision_bits, precision);
}

/// Sharing adds noise up to the limit that the precision allows.
#[test]
fn sharing_uses_the_available_precision() {
    let (client, server) = insecure(8, 1);
    let a = client.encrypt(&numbers(100, 1), &[100]).unwrap();
    let bits = client.sharing_bits(&a).unwrap();
    let left = a.precision_bits(client.session()) - f64::from(bits) - 2.0;
    assert!((8.0..9.0).contains(&left) && bits >= 20, "{bits} bits, {left} left");
    let shared = client.decrypt_for_sharing(&a, bits).unwrap();
    let error = shared.iter().zip(numbers(100, 1)).map(|(s, x)| (s - x).abs()).fold(0.0, f64::max);
    assert!(error > 2f64.powi(-12) && error < 2f64.powi(-5), "{error}");
    let coarse = server.mul_number(&a, 1000.0).unwrap();
    let refused = client.sharing_bits(&coarse).unwrap_err().to_string();
    assert!(refused.contains("Encrypt with a precision of "), "{refused}");
    let few = client.decrypt_for_sharing(&a, 19).unwrap_err().to_string();
    assert!(
        few.contains("19 bits of noise do not hide") && few.contains("20 bits or more"),
        "{few}"
    );
    let many = client.decrypt_for_sharing(&a, 60).unwrap_err().to_string();
    assert!(many.contains("Encrypt with a precision of "), "{many}");
}

#[test]
fn errors_name_wrong_shapes_keys_and_capacity() {
    let (client, server) = insecure(8, 1);
    let (other, _) = insecure(8, 1);
    let x = numbers(6, 1);
    let a = client.encrypt(&x, &[2, 3]).unwrap();
    let says = |result: Result<_, Error>, words: &[&str]| {
        let error = result.map(|_: hippocrene::EncryptedArray| ()).unwrap_err().to_string();
        assert!(words.iter().all(|w| error.contains(w)), "{error:?} does not say {words:?}");
    };
    says(client.encrypt(&x, &[7]), &["6 values", "(7,)"]);
    says(client.encrypt(&[1.0, f64::NAN], &[2]), &["value 1", "NaN"]);
    says(client.encrypt(&[f64::INFINITY], &[1]), &["value 0", "inf"]);
    says(client.encrypt(&[1e40], &[1]), &["position 0 (counted from 0) is too large"]);
    says(client.encrypt(&[], &[0]), &["encrypt: an array of shape (0,) has no elements"]);
    says(server.add(&a, &client.encrypt(&x, &[6]).unwrap()), &["(2, 3)", "(6,)", "broadcast"]);
    says(server.broadcast_to(&a, &[3]), &["(2, 3)", "(3,)"]);
    says(server.broadcast_to(&a, &[2, 6]), &["(2, 3)", "(2, 6)"]);
    says(server.add(&a, &other.encrypt(&x, &[2, 3]).unwrap()), &["encrypted under key"]);
    says(server.matmul_plain(&a, &[1.0; 8], 2), &["(2, 3)", "(4, 2)"]);
    says(server.add_plain(&a, &[1.0; 5][..]), &["5 numbers", "(2, 3)"]);
    says(server.sum(&a, Some(2)), &["no axis 2"]);
    says(server.roll(&a, 1, Some(5)), &["roll: there is no axis 5 in shape (2, 3)"]);
    says(server.pow(&a, 0), &["exponent is 0"]);
    says(server.dot(&a, &a), &["(2, 3) and (2, 3) do not fit"]);
    let complex = client.encrypt_complex(&[Complex64::new(1.0, 2.0)], &[1]).unwrap();
    let shared = client.decrypt_for_sharing(&complex, 5).unwrap_err().to_string();
    assert!(shared.contains("complex"), "{shared}");
    let used = server.square(&a).unwrap();
    // The error states the same capacity as `capacity_bits`.
    let left = format!("{:.1} are left", used.capacity_bits(server.session()));
    says(
        server.square(&used),
        &["needs 40.0 bits of capacity", &left, "Take a preset with a larger modulus"],
    );
    says(server.mul_plain(&used, &x[..]), &["needs 40.0 bits of capacity", &left]);
    says(server.mul_number(&used, 0.3), &["needs 40.0 bits of capacity", &left]);
    says(server.roll(&used, 1, None), &["needs 40.0 bits of capacity", &left]);
    says(server.mul_number(&used, 1024.0), &["multiply by a number", "bits of capacity", &left]);
    assert!(matches!(other.decrypt(&a), Err(Error::KeyMismatch(_))));
    let (different, _) = insecure(8, 2);
    assert!(matches!(different.decrypt(&a), Err(Error::ParameterMismatch(_))));
    let bare = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    assert!(matches!(bare.sum(&a, None), Err(Error::MissingKey { .. })));
    assert!(matches!(server.mul_number(&a, f64::NAN), Err(Error::Argument { .. })));
    let same: ClientKey =
        ClientKey::from_seed(client.session().settings().clone(), client.seed().clone(), 2)
            .unwrap();
    assert_close(&same.decrypt(&a).unwrap(), &x, "the key of the same seed");
}

/// Numbers that are not finite are refused by the operation or by the encoder, whether they fill
/// the slots or not.
#[test]
fn numbers_that_are_not_finite_are_refused() {
    let (client, server) = insecure(7, 2);
    for size in [3, server.session().slots()] {
        let a = client.encrypt(&numbers(size, 1), &[size]).unwrap();
        for c in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = server.add_number(&a, c).unwrap_err();
            assert!(
                matches!(&refused, Error::Argument { what, .. } if what.contains(&c.to_string())),
                "{refused}"
            );
            let mut w = vec![1.0; 2 * size];
            w[2] = c;
            for refused in [
                server.matmul_plain(&a, &w, 2),
                server.rmatmul_plain(&w, 2, &a),
                server.dot_plain(&a, &w[..size]),
            ] {
                let Err(Error::Encode(error)) = &refused else { panic!("{refused:?}") };
                assert!(error.to_string().contains(&c.to_string()), "{error}");
            }
        }
    }
}

/// With a preset's real parameters, measured errors are within a factor of 1.5 of the estimates.
/// The values are as large as their bound.
#[test]
fn noise_at_a_preset_is_as_estimated() {
    let client = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([1])).unwrap()).unwrap();
    let n = client.session().slots();
    let x: Vec<Complex64> =
        (0..n).map(|i| Complex64::from_polar(1.0 - 1e-9, (i * i) as f64 * 0.37)).collect();
    let check = |array: &EncryptedArray, expected: &dyn Fn(usize) -> Complex64, what: &str| {
        let got = client.decrypt_complex(array).unwrap();
        let sum: f64 = got.iter().enumerate().map(|(i, g)| (g - expected(i)).norm_sqr()).sum();
        let measured = -(sum / (2 * n) as f64).sqrt().log2();
        let estimated = array.precision_bits(client.session());
        assert!(
            (measured - estimated).abs() < 1.5f64.log2(),
            "{what}: measured {measured:.2} bits, estimated {estimated:.2}"
        );
    };
    let secret = client.encrypt_complex(&x, &[n]).unwrap();
    let public = client.public_key().unwrap().encrypt_complex(&x, &[n]).unwrap();
    for (a, what) in [(secret, "secret key"), (public, "public key")] {
        check(&a, &|i| x[i], what);
        let square = server.square(&a).unwrap();
        check(&square, &|i| x[i] * x[i], what);
        check(&server.mul(&square, &square).unwrap(), &|i| x[i].powi(4), what);
        check(&server.roll(&a, -1, Some(0)).unwrap(), &|i| x[(i + 1) % n], what);
    }
}

/// A server with smaller keys accepts arrays of another key. They may be seeded or not, and fresh
/// or computed.
#[test]
fn arrays_are_transferred_to_a_second_key() {
    let (client, server) = insecure(8, 6);
    let second = client.second_key(90.0).unwrap();
    let request = KeyRequest::only([1]);
    let (large, small) =
        (client.evaluation_keys(&request).unwrap(), second.evaluation_keys(&request).unwrap());
    assert!(small.to_bytes().len() * 2 < large.to_bytes().len());
    let plain = Server::new(small).unwrap();
    let key = client.transfer_key(&second).unwrap();
    let second_server = plain.with_transfer(&key).unwrap();

    let (x, y) = (numbers(300, 1), numbers(300, 2));
    let (a, b) = (client.encrypt(&x, &[300]).unwrap(), client.encrypt(&y, &[300]).unwrap());
    let ab = server.mul(&a, &b).unwrap();
    let (arrived, product) =
        (second_server.transfer(&a).unwrap(), second_server.transfer(&ab).unwrap());
    assert!(
        arrived.capacity_bits(second_server.session()) >= 90.0
            && arrived.key() == second.fingerprint()
    );
    assert_eq!(
        (arrived.shape(), arrived.precision(), arrived.bound()),
        (a.shape(), a.precision(), a.bound())
    );
    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    assert_close(&second.decrypt(&product).unwrap(), &expected, "transferred product");
    let squares: Vec<f64> = x.iter().zip(&expected).map(|(x, xy)| x * xy).collect();
    let computed = second_server.mul(&arrived, &product).unwrap();
    assert_close(&second.decrypt(&computed).unwrap(), &squares, "product of the second set");

    // Operations with the wrong key or in the wrong direction.
    assert!(matches!(client.decrypt(&arrived), Err(Error::ParameterMismatch(_))));
    assert!(matches!(second_server.mul(&a, &arrived), Err(Error::ParameterMismatch(_))));
    assert!(matches!(second_server.transfer(&arrived), Err(Error::ParameterMismatch(_))));
    assert!(plain.transfer(&a).unwrap_err().to_string().contains("no transfer key"));
    assert!(matches!(server.with_transfer(&key), Err(Error::KeyMismatch(_))));
    let (other_client, _) = insecure(8, 6);
    let other = other_client.encrypt(&x, &[300]).unwrap();
    assert!(matches!(second_server.transfer(&other), Err(Error::KeyMismatch(_))));
    assert!(matches!(client.transfer_key(&client), Err(Error::Parameters(_))));
    assert!(matches!(second.transfer_key(&client), Err(Error::Parameters(_))));
    for (capacity, what) in [
        (1e4, "are requested"),
        (f64::INFINITY, "are requested"),
        (1e308, "1e308 bits of capacity, of "),
        (f64::NAN, "NaN bits of capacity: a positive number"),
        (0.0, "0 bits of capacity: a positive number"),
        (-1.0, "-1 bits of capacity: a positive number"),
    ] {
        let refused = client.second_key(capacity).unwrap_err();
        assert!(
            matches!(&refused, Error::Argument { what: is, .. } if is.contains(what)),
            "{refused}"
        );
    }
}

/// The second sets of presets are secure, and their keys are smaller.
#[test]
fn second_sets_of_presets_are_secure() {
    for (name, capacity) in
        [("n14", 150.0), ("n15", 400.0), ("n16", 600.0), ("n16s", 600.0), ("simple-n15", 300.0)]
    {
        let settings = Preset::by_name(name).unwrap().settings().unwrap();
        let second = settings.for_second_key(capacity).unwrap();
        let (wide, second_server) = (settings.parameters(), second.parameters());
        assert!(second_server.security().is_some() && second.precision() == settings.precision());
        assert!(second_server.log2(second.fresh()) >= capacity + settings.scale().log2() + 1.0);
        assert!(second_server.literal().gadget_rank < wide.literal().gadget_rank, "{name}");
        let (small, large) =
            (second_server.switching_key_size().seeded, wide.switching_key_size().seeded);
        assert!(small * 10 < large * 6, "{name}: {small} of {large}");
    }
}

/// Parameters without special primes have no evaluation keys. The empty set of keys can still be
/// written and read, and sums and products with plain numbers need no key.
#[test]
fn parameters_without_specials_have_no_keys() {
    let parameters =
        hippocrene_rlwe::Parameters::new_insecure(hippocrene_rlwe::ParametersLiteral {
            log_degree: 5,
            units: hippocrene_ring::primes::ntt_primes(40, 32, 4, &[]).unwrap(),
            specials: Vec::new(),
            sprout: hippocrene_rlwe::Sprout::default(),
            gadget_rank: 0,
            secret: hippocrene_rlwe::SecretDistribution::Ternary,
        });
    let settings = hippocrene::Settings::at_scale(parameters.unwrap(), 40).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let keys = hippocrene::EvaluationKeys::from_bytes_insecure(&keys.to_bytes(), 1).unwrap();
    let server = Server::new(keys).unwrap();
    let x = client.encrypt(&[1.0, -2.0], &[2]).unwrap();
    let sum = server.mul_number(&server.add(&x, &x).unwrap(), 0.5).unwrap();
    assert_close(&client.decrypt(&sum).unwrap(), &[1.0, -2.0], "the mean of two");
    assert!(matches!(server.mul(&x, &x), Err(Error::MissingKey { .. })));
    let error = client.evaluation_keys(&KeyRequest::only([1])).unwrap_err();
    assert!(error.to_string().contains("no special modulus"), "{error}");
}

#[test]
fn impossible_rotations_are_refused() {
    let (client, _) = insecure(5, 1);
    for (places, right) in
        [(15, true), (-15, true), (16, false), (1_000_000, false), (i64::MIN, false)]
    {
        let keys = client.evaluation_keys(&KeyRequest::only([places]));
        assert_eq!(keys.is_ok(), right, "{places}");
        if let Err(error) = keys {
            assert!(error.to_string().contains("16 slots rotate by -15 to 15"), "{error}");
        }
    }
}

#[test]
fn wrong_results_of_false_declarations_are_refused() {
    let (client, server) = insecure(8, 9);
    let x = client.encrypt(&[0.5, 3.0, -0.25, 0.0], &[2, 2]).unwrap();
    let p = Polynomial::approximate(|x| (3.0 * x).sin(), -1.0, 1.0, 15).unwrap();
    // The second value is 3, where the polynomial is -20.8. That does not wrap around the modulus.
    let declared = server.declare_interval(&x, Interval::new(-1.0, 1.0).unwrap()).unwrap();
    let y = server.polynomial(&declared, &p).unwrap();
    let refused = client.decrypt(&y).unwrap_err();
    assert!(matches!(refused, Error::OutOfInterval { count: 1, size: 4, .. }), "{refused}");
    assert_eq!(refused.kind(), "OutOfIntervalError");
    assert!(
        refused.to_string().contains("1 of 4 values are wrong, the first one at row 0, column 1")
    );
    assert!(client.decrypt_big(&y).is_err() && client.decrypt_for_sharing(&y, 20).is_err());
    // Values that are a little outside are right and useful.
    let x = client.encrypt(&[0.5, 1.0], &[2]).unwrap();
    let narrow = server.declare_interval(&x, Interval::new(-0.9, 0.9).unwrap()).unwrap();
    assert_close(&client.decrypt(&narrow).unwrap(), &[0.5, 1.0], "slightly outside");
}
