//! Tests of products with plain matrices of all shapes and of convolutions, against the same of
//! plain numbers.

use crate::common::{assert_close, insecure, insecure_settings, numbers, products_left};
use hippocrene::{ClientKey, Error, Integers, KeyRequest, Scheme, Server, Stored};
use proptest::prelude::*;

/// Returns `m @ x` for `x` with `columns` columns.
fn product(m: &[f64], rows: usize, x: &[f64], columns: usize) -> Vec<f64> {
    let n = x.len() / columns;
    let entry = |i: usize, c: usize| (0..n).map(|j| m[i * n + j] * x[j * columns + c]).sum();
    (0..rows).flat_map(|i| (0..columns).map(move |c| (i, c))).map(|(i, c)| entry(i, c)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn wide_and_tall_matrices(
        few in 1usize..60,
        many in 8usize..150,
        columns in 1usize..4,
        vector: bool,
        tall: bool,
        sparse: bool,
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 3);
        let columns = if vector { 1 } else { columns };
        let (rows, n) = if tall { (many, few) } else { (few, many) };
        let x: Vec<f64> = numbers(n * columns, seed).iter().map(|x| x / 16.0).collect();
        let mut m = numbers(rows * n, seed + 1);
        if sparse {
            m.iter_mut().enumerate().filter(|(i, _)| i % 5 > 0).for_each(|(_, m)| *m = 0.0);
        }
        let shape = if vector { vec![n] } else { vec![n, columns] };
        let array = client.encrypt(&x, &shape).unwrap();
        let y = server.rmatmul_plain(&m, rows, &array).unwrap();
        let expected = product(&m, rows, &x, columns);
        prop_assert_eq!(y.shape()[0], rows);
        assert_close(&client.decrypt(&y).unwrap(), &expected, "a matrix times an array");
        prop_assert!(products_left(&y, &server) >= 2);
        // A sum and a further product show that the stated contents of the stray slots are true.
        let total = server.sum(&y, None).unwrap();
        assert_close(&client.decrypt(&total).unwrap(), &[expected.iter().sum()], "its sum");
        let below = server.declare_bound(&y, 20.0).unwrap();
        let again = server.rmatmul_plain(&vec![0.01; 2 * rows], 2, &below).unwrap();
        let expected = product(&vec![0.01; 2 * rows], 2, &expected, columns);
        assert_close(&client.decrypt(&again).unwrap(), &expected, "and another");
        if vector {
            let transposed: Vec<f64> = (0..n * rows).map(|k| m[k % rows * n + k / rows]).collect();
            let y = server.matmul_plain(&array, &transposed, rows).unwrap();
            assert_close(
                &client.decrypt(&y).unwrap(),
                &product(&m, rows, &x, 1),
                "a vector times a matrix",
            );
        }
    }

    #[test]
    fn convolutions(
        n in 1usize..150,
        m in 1usize..9,
        part in any::<prop::sample::Index>(),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 2);
        let (x, kernel) = (numbers(n, seed), numbers(m, seed + 1));
        let all: Vec<f64> = (0..n + m - 1)
            .map(|i| (0..m).filter(|j| *j <= i && i - j < n).map(|j| kernel[j] * x[i - j]).sum())
            .collect();
        let first = part.index(all.len());
        let array = client.encrypt(&x, &[n]).unwrap();
        for (first, length) in [(0, all.len()), (first, all.len() - first)] {
            let y = server.convolve_plain(&array, &kernel, first, length).unwrap();
            assert_close(&client.decrypt(&y).unwrap(), &all[first..], "a convolution");
            prop_assert!(products_left(&y, &server) >= 1);
        }
        for (first, length) in [(0, 0), (1, all.len()), (usize::MAX, 2)] {
            prop_assert!(server.convolve_plain(&array, &kernel, first, length).is_err());
        }
    }
}

#[test]
fn narrow_matrices_of_integers() {
    let integers = Integers { plain_modulus: 257, scheme: Scheme::Bgv };
    let settings = insecure_settings(7, 5).with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    let shapes = [(1, 100), (3, 100), (5, 300), (100, 3), (300, 5)];
    let square = [(16, 16), (33, 20), (20, 33), (32, 32), (40, 40), (64, 64), (64, 32), (60, 100)];
    for (rows, n) in shapes.into_iter().chain(square) {
        let x: Vec<i64> = (0..n as i64).map(|i| i * i % 97).collect();
        let m: Vec<i64> = (0..(rows * n) as i64).map(|i| i * 31 % 89).collect();
        let array = client.encrypt_integers(&x, &[n]).unwrap();
        let y = client.decrypt_integers(&server.rmatmul_plain(&m, rows, &array).unwrap()).unwrap();
        let entry = |i: usize| (0..n).map(|j| m[i * n + j] * x[j]).sum::<i64>().rem_euclid(257);
        assert_eq!(y, (0..rows).map(entry).collect::<Vec<_>>(), "{rows} rows of {n}");
    }
}

/// A square matrix has nearly twice as many diagonals as rows. Its product uses only as many
/// plaintexts as it has rows.
#[test]
fn square_matrices_take_as_many_products_as_rows() {
    let (client, server) = insecure(8, 3);
    let (n, x) = (32, numbers(32, 1));
    let array = client.public_key().unwrap().encrypt(&x, &[n]).unwrap();
    for seed in [2, 2] {
        let m = numbers(n * n, seed);
        let y = client.decrypt(&server.rmatmul_plain(&m, n, &array).unwrap()).unwrap();
        assert_close(&y, &product(&m, n, &x, 1), "a square matrix");
    }
    let parameters = server.session().context().parameters();
    let plaintext = parameters.degree() * parameters.full().limb_count() * size_of::<u64>();
    let taken = server.cache_memory().0;
    assert!(taken > 0 && taken <= n * plaintext, "{taken} {plaintext}");
}

#[test]
fn impossible_numbers_of_columns_are_refused() {
    let (client, server) = insecure(7, 2);
    let array = client.encrypt(&numbers(4, 1), &[4]).unwrap();
    for (count, columns) in [(0, 1 << 62), (4, (1 << 62) + 1), (4, usize::MAX), (0, 0)] {
        let w = numbers(count, 2);
        for error in
            [server.matmul_plain(&array, &w, columns), server.rmatmul_plain(&w, columns, &array)]
        {
            assert!(
                matches!(error, Err(Error::Shape { .. })),
                "{count} numbers, {columns} columns"
            );
        }
    }
}

/// A matrix that is used again is cached, separately for each matrix and modulus, within the cache
/// limit.
#[test]
fn matrices_used_again_are_cached() {
    let integers = Integers { plain_modulus: 257, scheme: Scheme::Bgv };
    let settings = insecure_settings(7, 5).with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let (keeping, forgetful) =
        (Server::new(&keys).unwrap(), Server::with_threads(&keys, 1).unwrap());
    forgetful.set_cache_memory(0);
    let array = client.encrypt(&numbers(12, 1), &[12]).unwrap();
    let whole = client.encrypt_integers(&(0..12).collect::<Vec<_>>(), &[12]).unwrap();
    let mut most = 0;
    for (i, seed) in [2, 2, 3, 3, 2, 2].into_iter().enumerate() {
        let m: Vec<f64> = numbers(60, seed);
        let of = |server: &Server| {
            let once = server.rmatmul_plain(&m, 5, &array).unwrap();
            let lower = server.mul_number(&array, 0.3).unwrap();
            [once, server.rmatmul_plain(&m, 5, &lower).unwrap()]
        };
        for (a, b) in of(&keeping).iter().zip(of(&forgetful)) {
            assert_eq!(a.to_bytes(), b.to_bytes());
        }
        let m: Vec<i64> = m.iter().map(|x| (100.0 * x) as i64).collect();
        let of = |server: &Server| server.rmatmul_plain(&m, 5, &whole).unwrap().to_bytes();
        assert_eq!(of(&keeping), of(&forgetful));
        let (taken, limit) = keeping.cache_memory();
        assert!(taken >= most && taken < limit, "{taken} {most}");
        assert_eq!((i > 3, forgetful.cache_memory()), (taken == most, (0, 0)));
        most = taken;
    }
    // The limit leaves memory for one of two matrices.
    let limit = most - 1;
    keeping.set_cache_memory(limit);
    let kept = keeping.cache_memory().0;
    assert!(kept < most / 2, "{kept} of {most} bytes, for the arrays' ciphertexts only");
    for seed in [4, 5, 6] {
        let apply = || drop(keeping.rmatmul_plain(&numbers(60, seed), 5, &array).unwrap());
        let before = keeping.cache_memory().0;
        apply();
        assert_eq!(keeping.cache_memory().0, before, "a matrix that was used once is not cached");
        apply();
        assert!((kept + 1..=limit).contains(&keeping.cache_memory().0));
    }
    drop((array, whole));
    keeping.set_cache_memory(0);
    assert_eq!(keeping.cache_memory(), (0, 0));
}

/// Returns the cumulative sums of `x` along an axis.
fn cumulative(x: &[f64], shape: &[usize], axis: usize) -> Vec<f64> {
    let inner: usize = shape[axis + 1..].iter().product();
    let mut sums = x.to_vec();
    for i in 0..x.len() {
        if !(i / inner).is_multiple_of(shape[axis]) {
            sums[i] += sums[i - inner];
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn cumulative_sums(
        length in 1usize..400,
        other in 1usize..4,
        axis in 0usize..2,
        far: bool,
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(if far { 12 } else { 7 }, 2);
        let shape = if axis == 0 { [length, other] } else { [other, length] };
        let x: Vec<f64> = numbers(length * other, seed).iter().map(|x| x / 64.0).collect();
        let fresh = client.encrypt(&x, &shape).unwrap();
        // Stray slots with other numbers change nothing, and neither does the order of the
        // elements.
        let strays = server.sum(
            &client.encrypt(&[x.clone(), x.clone()].concat(), &[2, shape[0], shape[1]]).unwrap(),
            Some(0),
        );
        let turned = server.transpose(&fresh).unwrap();
        for (what, a, axis, factor) in [
            ("fresh", &fresh, axis, 1.0),
            ("strays", &strays.unwrap(), axis, 2.0),
            ("turned", &turned, 1 - axis, 1.0),
        ] {
            let values: Vec<f64> = client.decrypt(a).unwrap();
            let sums = server.cumsum(a, axis).unwrap();
            let expected = cumulative(&values, a.shape(), axis);
            assert_close(&client.decrypt(&sums).unwrap(), &expected, what);
            prop_assert_eq!(products_left(&sums, &server), 1);
            let total = server.sum(&sums, None).unwrap();
            let wanted: f64 = expected.iter().sum();
            let got = client.decrypt(&total).unwrap()[0];
            prop_assert!(
                (got - wanted).abs() < 1e-3 * factor,
                "{}: {} is not {}",
                what,
                got,
                wanted
            );
        }
    }
}

#[test]
fn cumulative_sums_of_integers() {
    let integers = Integers { plain_modulus: 257, scheme: Scheme::Bgv };
    let settings = insecure_settings(7, 5).with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    for n in [1, 100, 129, 300, 513] {
        let x: Vec<i64> = (0..n as i64).map(|i| i * i % 97).collect();
        let sums = server.cumsum(&client.encrypt_integers(&x, &[n]).unwrap(), 0).unwrap();
        let expected: Vec<i64> = x
            .iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum % 257)
            })
            .collect();
        assert_eq!(client.decrypt_integers(&sums).unwrap(), expected, "{n}");
    }
    assert!(server.cumsum(&client.encrypt_integers(&[1, 2], &[2]).unwrap(), 1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// A product with a matrix leaves longer rows in far more ciphertexts than a fresh array has.
    #[test]
    fn products_of_elements_far_apart(
        few in 3usize..6,
        columns in 12usize..20,
        other in 5usize..12,
        seed in 0usize..100,
    ) {
        let rows = 128;
        let (client, server) = insecure(11, 5);
        let x: Vec<f64> = numbers(rows * few, seed).iter().map(|x| x / 32.0).collect();
        let w: Vec<f64> = numbers(few * columns, seed + 1).iter().map(|x| x / 4.0).collect();
        let y =
            server.matmul_plain(&client.encrypt(&x, &[rows, few]).unwrap(), &w, columns).unwrap();
        let plain = product(&x, rows, &w, columns);
        assert_close(&client.decrypt(&y).unwrap(), &plain, "longer rows");
        // For 15 or 16 columns from 5, the rows are as dense as those of a fresh array.
        prop_assume!(!y.layout().is_packed());
        prop_assert!(y.layout().ciphertexts() > 4);

        let turned: Vec<f64> =
            (0..columns * rows).map(|k| plain[k % rows * columns + k / rows]).collect();
        let squares = server.dot(&server.transpose(&y).unwrap(), &y).unwrap();
        assert_close(
            &client.decrypt(&squares).unwrap(),
            &product(&turned, columns, &plain, columns),
            "turned times itself",
        );
        prop_assert_eq!(squares.shape(), [columns, columns]);
        prop_assert!(squares.layout().ciphertexts() <= 1);

        let right = numbers(columns * other, seed + 2);
        let fresh = client.encrypt(&right, &[columns, other]).unwrap();
        let next = server.dot(&y, &fresh).unwrap();
        assert_close(
            &client.decrypt(&next).unwrap(),
            &product(&plain, rows, &right, other),
            "and fresh columns",
        );
    }
}

#[test]
fn small_numbers_times_large_sums_keep_their_bits_beside_strays() {
    let (client, server) = insecure(7, 3);
    let rows = server.sum(&client.encrypt(&[1.0; 61 * 16], &[61, 16]).unwrap(), Some(1)).unwrap();
    let sum = server.sum(&rows, Some(0)).unwrap();
    let mean = server.mul_number(&sum, 1.0 / 976.0).unwrap();
    assert!((client.decrypt(&mean).unwrap()[0] - 1.0).abs() < 1e-8);
    assert!(
        mean.precision_bits(server.session()) > 29.0,
        "{}",
        mean.precision_bits(server.session())
    );
    // The stray slots of the mean are zero, so broadcasting takes no product.
    let repeated = server.broadcast_to(&mean, &[40]).unwrap();
    assert_eq!(products_left(&repeated, &server), products_left(&mean, &server));
}

/// The copies of the vector are in adjacent slots, and no copy's error counts twice.
#[test]
fn errors_of_repeated_matrix_products_are_as_estimated() {
    let (n, steps) = (64, 10);
    let (client, server) = insecure(11, steps);
    let mut x: Vec<f64> = numbers(n, 3).iter().map(|x| x / 16.0).collect();
    let shift: Vec<f64> =
        (0..n * n).map(|k| f64::from(u8::from(k % n == (k / n + 1) % n))).collect();
    let mut array = client.encrypt(&x, &[n]).unwrap();
    for step in 0..steps {
        array = server.rmatmul_plain(&shift, n, &array).unwrap();
        array = server.declare_bound(&array, 1.0).unwrap();
        x.rotate_left(1);
        let sum: f64 =
            client.decrypt(&array).unwrap().iter().zip(&x).map(|(got, x)| (got - x).powi(2)).sum();
        let estimated = (-array.precision_bits(server.session())).exp2();
        let ratio = (sum / n as f64).sqrt() / estimated;
        assert!((0.5..2.0).contains(&ratio), "step {step}: {ratio}");
    }
}
