//! Tests of a server's operations on arrays of integers, against plain arithmetic modulo `t`.

use crate::common::insecure_settings;
use hippocrene::{
    ClientKey, Error, IntegerArray, IntegerPolynomial, Integers, KeyRequest, Preset, Scheme,
    Server, Settings, Stored,
};
use hippocrene_ring::primes;
use proptest::prelude::*;

fn settings(log_degree: u32, depth: usize, scheme: Scheme, plain_modulus: u64) -> Settings {
    insecure_settings(log_degree, depth).with_integers(Integers { scheme, plain_modulus }).unwrap()
}

/// Returns a client and its server for integers modulo `t`, with `2^log_degree` slots. Insecure.
fn insecure(log_degree: u32, depth: usize, scheme: Scheme, t: u64) -> (ClientKey, Server) {
    let client = ClientKey::generate_with(settings(log_degree, depth, scheme, t), 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    (client, server)
}

/// Returns `count` integers, some of them negative.
fn integers(count: usize, seed: i64) -> Vec<i64> {
    (0..count as i64).map(|i| (i * 7919 + seed * 104_729) * (i + 3) % 200_003 - 100_000).collect()
}

/// Encrypts integers of any size, reduced to residues first.
fn encrypt_residues(client: &ClientKey, values: &[i64], shape: &[usize]) -> IntegerArray {
    let t = client.session().integers().unwrap().plain_modulus();
    client.encrypt_integers(&residues(values.iter().map(|v| i128::from(*v)), t), shape).unwrap()
}

fn residues(values: impl IntoIterator<Item = i128>, t: u64) -> Vec<i64> {
    values.into_iter().map(|v| v.rem_euclid(t.into()) as i64).collect()
}

#[test]
fn element_by_element() {
    for (scheme, t) in [(Scheme::Bgv, 65_537), (Scheme::Bfv, 65_537), (Scheme::Bgv, 257)] {
        let (client, server) = insecure(7, 5, scheme, t);
        for shape in [vec![], vec![1], vec![100], vec![128], vec![300], vec![5, 7], vec![3, 4, 5]] {
            let size = shape.iter().product();
            let (x, y) = (integers(size, 1), integers(size, 2));
            let encrypt = |v: &[i64]| encrypt_residues(&client, v, &shape);
            let (a, b) = (encrypt(&x), encrypt(&y));
            let check = |array: Result<IntegerArray, Error>,
                         f: &dyn Fn(i128, i128) -> i128,
                         what: &str| {
                let array = array.unwrap();
                let expected = x.iter().zip(&y).map(|(x, y)| f(i128::from(*x), i128::from(*y)));
                let decrypted = client.decrypt_integers(&array).unwrap();
                assert_eq!(decrypted, residues(expected, t), "{what}, shape {shape:?}, {scheme:?}");
                assert_eq!(array.shape(), shape);
            };
            check(Ok(a.clone()), &|x, _| x, "encrypt");
            check(server.add(&a, &b), &|x, y| x + y, "add");
            check(server.add(&a, &a), &|x, _| 2 * x, "twice");
            check(server.sub(&a, &b), &|x, y| x - y, "subtract");
            check(server.negate(&a), &|x, _| -x, "negate");
            check(server.mul(&a, &b), &|x, y| x * y, "multiply");
            check(server.mul(&a, &a), &|x, _| x * x, "square");
            check(server.add_plain(&a, &y[..]), &|x, y| x + y, "add plain integers");
            check(server.mul_plain(&a, &y[..]), &|x, y| x * y, "multiply by plain integers");
            for c in [0, 1, -1, 3, 1 << 20, t as i64, -(1 << 40)] {
                check(server.add_number(&a, c), &|x, _| x + i128::from(c), "add a number");
                check(server.mul_number(&a, c), &|x, _| x * i128::from(c), "multiply by a number");
            }
            let product = server.mul(&a, &b).unwrap();
            check(server.add(&product, &a), &|x, y| x * y + x, "different moduli and factors");
            check(server.sub(&a, &product), &|x, y| x - x * y, "different moduli and factors");
            check(
                server.mul(&product, &a),
                &|x, y| x * y % t as i128 * x,
                "product with a product",
            );
            for n in [1, 2, 3, 5, 8] {
                let power = |x: i128| (0..n).fold(1, |p, _| p * x % t as i128);
                check(server.pow(&a, n), &|x, _| power(x), "power");
            }
        }
    }
}

#[test]
fn signs_and_public_keys() {
    let (client, _) = insecure(6, 2, Scheme::Bgv, 257);
    let array =
        client.public_key().unwrap().encrypt_integers(&[0, 1, 128, 129, 256, -1], &[6]).unwrap();
    assert_eq!(client.decrypt_integers(&array).unwrap(), [0, 1, 128, 129, 256, 256]);
    assert_eq!(client.decrypt_signed_integers(&array).unwrap(), [0, 1, 128, -128, -1, -1]);
    // An even modulus has a half, which counts as positive. It has no slots.
    let error = ClientKey::generate_with(settings(6, 2, Scheme::Bgv, 1000), 1)
        .unwrap()
        .encrypt_integers(&[1], &[])
        .unwrap_err();
    assert_eq!(error.kind(), "ParameterError");
    assert!(
        error
            .to_string()
            .contains("1 modulo 128, twice the ring degree, gives slots, such as 65537"),
        "{error}"
    );
}

#[test]
fn plaintext_moduli_of_any_size_are_found() {
    for name in ["n12", "n14"] {
        let preset = Preset::by_name(name).unwrap();
        let (parameters, step) = (preset.parameters().unwrap(), 2 << preset.log_degree);
        for least in [0, 2, 65_537, 65_538, 1 << 40, (1 << 45) - 100_000, (1 << 47) + 5] {
            let t = Integers::plain_modulus_from(&parameters, least).unwrap();
            assert!(t >= least && t % step == 1);
            let smaller = (least.max(2)..t).filter(|t| t % step == 1 && primes::is_prime(*t));
            assert!(
                smaller
                    .into_iter()
                    .all(|t| (0..parameters.unit_count()).any(|i| parameters.factor(i) == t))
            );
        }
        assert!(Integers::plain_modulus_from(&parameters, 1 << 61).is_err());
        assert!(Integers::plain_modulus_from(&parameters, u64::MAX).is_err());
        // A prime of the ciphertext modulus cannot be a plaintext modulus. The error suggests one
        // that can.
        for unit in (0..parameters.unit_count()).map(|i| parameters.factor(i)) {
            let with = |t| {
                let integers = Integers { scheme: Scheme::Bfv, plain_modulus: t };
                preset.settings().unwrap().with_integers(integers)
            };
            let error = with(unit).unwrap_err().to_string();
            let next = Integers::plain_modulus_from(&parameters, unit).unwrap();
            assert!(error.contains(&format!("next possible one is {next}")), "{error}");
            assert!(with(next).is_ok());
        }
    }
    let error = Integers::check_slots(1 << 30, 1 << 14).unwrap_err().to_string();
    assert!(error.contains("gives slots, such as 1073872897"), "{error}");
}

#[test]
fn equality_and_polynomials() {
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let t = 257;
        let (client, server) = insecure(6, 10, scheme, t);
        for shape in [vec![64], vec![5], vec![10, 10]] {
            let size = shape.iter().product();
            let encrypt = |v: &[i64]| encrypt_residues(&client, v, &shape);
            let x: Vec<i64> = (0..size as i64).map(|i| i * i % 7).collect();
            let y: Vec<i64> = (0..size as i64).map(|i| i % 7 + t as i64 * (i % 2)).collect();
            let same: Vec<i64> =
                x.iter().zip(&y).map(|(x, y)| i64::from(*x == y % t as i64)).collect();
            let equal = server.equals(&encrypt(&x), &encrypt(&y)).unwrap();
            assert_eq!(client.decrypt_integers(&equal).unwrap(), same, "{scheme:?}, {shape:?}");
            // Stray slots do not enter the count.
            let count = server.sum(&equal, None).unwrap();
            assert_eq!(client.decrypt_integers(&count).unwrap(), [same.iter().sum::<i64>()]);

            let cubic = IntegerPolynomial::new(t, &[5, 0, -3, 2]).unwrap();
            let table: Vec<i64> = (0..t as i64).map(|x| (x ^ 21) * x / 3).collect();
            for p in [cubic, IntegerPolynomial::of_table(t, &table).unwrap()] {
                let values = server.polynomial(&encrypt(&x), &p).unwrap();
                let expected: Vec<i64> = x.iter().map(|x| p.evaluate(*x as u64) as i64).collect();
                assert_eq!(
                    client.decrypt_integers(&values).unwrap(),
                    expected,
                    "{scheme:?}, {shape:?}"
                );
                let sum = server.sum(&values, None).unwrap();
                assert_eq!(
                    client.decrypt_integers(&sum).unwrap(),
                    residues(
                        expected.iter().map(|x| i128::from(*x)).take(size).reduce(|a, b| a + b),
                        t
                    )
                );
            }
        }
        let a = client.encrypt_integers(&[1], &[1]).unwrap();
        let error =
            server.polynomial(&a, &IntegerPolynomial::new(17, &[1, 1]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("the plaintext moduli are 257 and 17"), "{error}");
        let mut a = a;
        let short = loop {
            match server.equals(&a, &a) {
                Ok(equal) => a = equal,
                Err(error) => break error.to_string(),
            }
        };
        assert!(short.starts_with("compare needs "), "{short}");
    }
}

/// Copies that reach into the second row of slots are moved there by an exchange of the rows, since
/// no rotation does it.
#[test]
fn copies_reach_into_both_rows() {
    let t = 257;
    let (client, server) = insecure(6, 4, Scheme::Bgv, t);
    for columns in [1, 3, 7, 8] {
        let x = integers(columns, 5);
        let row = encrypt_residues(&client, &x, &[columns]);
        for rows in 1..=64 / columns {
            let wide = server.broadcast_to(&row, &[rows, columns]).unwrap();
            let repeated = x.iter().cycle().take(rows * columns).map(|x| i128::from(*x));
            assert_eq!(
                client.decrypt_integers(&wide).unwrap(),
                residues(repeated, t),
                "{rows} by {columns}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums(shape in prop::collection::vec(1usize..12, 1..4), seed in 0i64..100) {
        let t = 65_537;
        let (client, server) = insecure(7, 4, Scheme::Bgv, t);
        let x = integers(shape.iter().product(), seed);
        let a = encrypt_residues(&client, &x, &shape);
        let total = server.sum(&a, None).unwrap();
        prop_assert_eq!(total.shape(), &[] as &[usize]);
        let sum = |x: &mut dyn Iterator<Item = i64>| x.map(i128::from).sum::<i128>();
        prop_assert_eq!(
            client.decrypt_integers(&total).unwrap(),
            residues([sum(&mut x.iter().copied())], t)
        );
        // The total is broadcast to the whole shape again.
        let wide = server.mul(&a, &total).unwrap();
        let all = sum(&mut x.iter().copied());
        prop_assert_eq!(
            client.decrypt_integers(&wide).unwrap(),
            residues(x.iter().map(|x| i128::from(*x) * all), t)
        );
        for axis in 0..shape.len() {
            let along = server.sum(&a, Some(axis)).unwrap();
            let inner: usize = shape[axis + 1..].iter().product();
            let outer: usize = shape[..axis].iter().product();
            let expected: Vec<i128> = (0..outer * inner)
                .map(|e| {
                    sum(&mut (0..shape[axis])
                        .map(|k| x[(e / inner * shape[axis] + k) * inner + e % inner]))
                })
                .collect();
            prop_assert_eq!(
                client.decrypt_integers(&along).unwrap(),
                residues(expected.iter().copied(), t)
            );
            // Stray slots of a sum do not enter later sums.
            let again = server.sum(&server.add_number(&along, 1).unwrap(), None).unwrap();
            let expected = expected.iter().map(|e| e + 1).sum();
            prop_assert_eq!(client.decrypt_integers(&again).unwrap(), residues([expected], t));
        }
    }

    #[test]
    fn matrix_products(
        rows in 1usize..30,
        k in 1usize..9,
        columns in 1usize..9,
        seed in 0i64..100,
    ) {
        let t = 65_537;
        let (client, server) = insecure(6, 4, Scheme::Bgv, t);
        let matmul = |x: &[i64], w: &[i64], k: usize| {
            let columns = w.len() / k;
            let entry = move |row: &[i64], j: usize| {
                (0..k).map(|i| i128::from(row[i] * w[i * columns + j])).sum()
            };
            residues(x.chunks(k).flat_map(|row| (0..columns).map(move |j| entry(row, j))), t)
        };
        let (x, w) = (integers(rows * k, seed), integers(k * columns, seed + 1));
        let a = encrypt_residues(&client, &x, &[rows, k]);
        let product = server.matmul_plain(&a, &w, columns).unwrap();
        prop_assert_eq!(product.shape(), &[rows, columns]);
        prop_assert_eq!(client.decrypt_integers(&product).unwrap(), matmul(&x, &w, k));
        let dot = server.dot_plain(&a, &w[..k]).unwrap();
        prop_assert_eq!(dot.shape(), &[rows]);
        prop_assert_eq!(client.decrypt_integers(&dot).unwrap(), matmul(&x, &w[..k], k));
        let m = integers(columns * rows, seed + 2);
        let product = server.rmatmul_plain(&m, columns, &a).unwrap();
        prop_assert_eq!(client.decrypt_integers(&product).unwrap(), matmul(&m, &x, rows));
        let v = encrypt_residues(&client, &x[..k], &[k]);
        let inner = client.decrypt_integers(&server.dot(&v, &v).unwrap()).unwrap();
        prop_assert_eq!(inner, matmul(&x[..k], &x[..k], k));
    }

    #[test]
    fn rolls_and_broadcasts(rows in 1usize..30, columns in 1usize..9, shift in -70i64..70) {
        let t = 257;
        let (client, server) = insecure(6, 4, Scheme::Bgv, t);
        let x = integers(rows * columns, 5);
        let a = encrypt_residues(&client, &x, &[rows, columns]);
        let moved = |axis: Option<usize>| {
            client.decrypt_integers(&server.roll(&a, shift, axis).unwrap()).unwrap()
        };
        let around = |i: usize, n: usize| (i as i64 - shift).rem_euclid(n as i64) as usize;
        let expected = (0..x.len()).map(|i| x[around(i, x.len())].into());
        prop_assert_eq!(moved(None), residues(expected, t));
        let expected =
            (0..x.len()).map(|e| x[e / columns * columns + around(e % columns, columns)].into());
        prop_assert_eq!(moved(Some(1)), residues(expected, t));
        // An array that fills all slots of one ciphertext.
        let full = integers(64, 3);
        let b = encrypt_residues(&client, &full, &[64]);
        for shift in [shift, 32] {
            let expected = (0..64).map(|i| full[(i - shift).rem_euclid(64) as usize].into());
            let rolled = client.decrypt_integers(&server.roll(&b, shift, None).unwrap()).unwrap();
            prop_assert_eq!(rolled, residues(expected, t));
        }
        let row = encrypt_residues(&client, &x[..columns], &[columns]);
        let wide = server.broadcast_to(&row, &[rows, columns]).unwrap();
        let repeated = || x[..columns].iter().cycle().take(x.len()).map(|x| i128::from(*x));
        prop_assert_eq!(client.decrypt_integers(&wide).unwrap(), residues(repeated(), t));
        let product = client.decrypt_integers(&server.mul(&a, &row).unwrap()).unwrap();
        prop_assert_eq!(product, residues(repeated().zip(&x).map(|(r, x)| r * i128::from(*x)), t));
        let column = encrypt_residues(&client, &x[..rows], &[rows, 1]);
        let sum = client.decrypt_integers(&server.add(&row, &column).unwrap()).unwrap();
        let expected = (0..rows * columns).map(|e| i128::from(x[e / columns] + x[e % columns]));
        prop_assert_eq!(sum, residues(expected, t));
    }
}

/// A positive noise budget means that the result is right. An operation that would use it up
/// returns an error.
#[test]
fn the_budget_ends_with_an_error_that_names_the_operation() {
    let (client, server) = insecure(7, 2, Scheme::Bgv, 65_537);
    let x = integers(40, 3);
    let mut array = encrypt_residues(&client, &x, &[40]);
    let mut expected = residues(x.iter().map(|x| i128::from(*x)), 65_537);
    let (mut products, mut before) = (0, array.budget_bits(server.session()));
    let error = loop {
        match server.square(&array) {
            Ok(square) => array = square,
            Err(error) => break error,
        }
        expected = residues(expected.iter().map(|x| i128::from(x * x)), 65_537);
        assert_eq!(client.decrypt_integers(&array).unwrap(), expected);
        let left = array.budget_bits(server.session());
        assert!(left > 0.0 && left < before);
        let there = client.noise_budget(&array).unwrap();
        assert!(
            left <= there && there < left + 20.0,
            "{left} bits are estimated, {there} are there"
        );
        (before, products) = (left, products + 1);
    };
    assert!((2..6).contains(&products), "{products}");
    assert_eq!(error.kind(), "BudgetError");
    assert!(error.to_string().starts_with("square needs "), "{error}");
    let named = [
        (server.pow(&array, 8), "power needs"),
        (server.mul(&array, &array), "multiply needs"),
        (server.dot(&array, &array), "dot product needs"),
        (server.dot_plain(&array, &x), "dot product needs"),
        (server.matmul_plain(&array, &x, 1), "matrix product needs"),
        (server.rmatmul_plain(&x, 1, &array), "matrix product needs"),
        (server.cumsum(&array, 0), "cumsum needs"),
        (server.sum_of_products(&[(&array, &array), (&array, &array)]), "add products needs"),
        (server.is_zero(&array), "test for zero needs"),
        (server.equals(&array, &array), "compare needs"),
        (server.mul_plain(&array, &x[..]), "multiply by plain numbers needs"),
        (server.roll(&server.mul_number(&array, 5).unwrap(), 1, None), "roll needs"),
        (server.matmul_plain(&array, &[1000; 80], 2), "matrix product needs"),
    ];
    for (result, words) in named {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
}

#[test]
fn errors_name_the_mismatch() {
    let (client, server) = insecure(6, 2, Scheme::Bgv, 65_537);
    let a = client.encrypt_integers(&[1, 2, 3], &[3]).unwrap();
    let other =
        ClientKey::from_seed(settings(6, 2, Scheme::Bgv, 257), client.seed().clone(), 1).unwrap();
    let b = other.encrypt_integers(&[1, 2, 3], &[3]).unwrap();
    assert_eq!(b.key(), a.key());
    let numbers = ClientKey::from_seed(insecure_settings(6, 2), client.seed().clone(), 1).unwrap();
    let plain = Server::new(numbers.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    let (other_client, _) = insecure(6, 2, Scheme::Bgv, 65_537);
    let cases = [
        (
            server.add(&a, &b).map(drop),
            "ParameterMismatchError",
            "add: the plaintext moduli are 65537 and 257",
        ),
        (client.decrypt_integers(&b).map(drop), "ParameterMismatchError", "are 65537 and 257"),
        (plain.add(&a, &a).map(drop), "ArgumentError", "add: these keys compute on numbers"),
        (numbers.decrypt_integers(&a).map(drop), "ArgumentError", "these keys compute on numbers"),
        (
            numbers.encrypt_integers(&[1], &[1]).map(drop),
            "ArgumentError",
            "these keys compute on numbers",
        ),
        (other_client.decrypt_integers(&a).map(drop), "KeyMismatchError", "decrypt"),
        (
            client.encrypt_integers(&[1, 2], &[3]).map(drop),
            "ShapeError",
            "2 values do not fill shape (3,)",
        ),
        (server.add_plain(&a, &[1, 2][..]).map(drop), "ShapeError", "2 numbers for shape (3,)"),
        (server.pow(&a, 0).map(drop), "ArgumentError", "the exponent is 0"),
        (server.sum(&a, Some(1)).map(drop), "ShapeError", "no axis 1"),
        (
            insecure_settings(6, 2)
                .with_integers(Integers { scheme: Scheme::Bfv, plain_modulus: 1 })
                .map(drop),
            "ParameterError",
            "plaintext modulus 1: 2 to 2^61 - 1",
        ),
    ];
    for (result, kind, words) in cases {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // One key serves numbers and integers.
    let x = client.encrypt(&[0.5, 2.0], &[2]).unwrap();
    assert!((client.decrypt(&server.mul(&x, &x).unwrap()).unwrap()[1] - 4.0).abs() < 1e-6);
    assert!((numbers.decrypt(&plain.mul(&x, &x).unwrap()).unwrap()[1] - 4.0).abs() < 1e-6);
}

#[test]
fn real_parameters() {
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let plain_modulus = Integers::default_plain_modulus(1 << 13);
        let settings = Preset::by_name("n13").unwrap().settings().unwrap();
        let settings = settings.with_integers(Integers { scheme, plain_modulus }).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
        let x: Vec<i64> = (0..10_000).collect();
        let a = encrypt_residues(&client, &x, &[100, 100]);
        let squares = server.sum(&server.square(&a).unwrap(), None).unwrap();
        let expected = x.iter().map(|x| x * x).sum::<i64>() % plain_modulus as i64;
        assert_eq!(client.decrypt_integers(&squares).unwrap(), [expected]);
    }
}

/// Sums of products are right for operands of one layout and of several, squares among them.
/// Operands of one layout need one key switch.
#[test]
fn sums_of_products() {
    for (scheme, t) in [(Scheme::Bgv, 257), (Scheme::Bfv, 257)] {
        let (client, server) = insecure(7, 5, scheme, t);
        for count in [1, 100, 128, 300] {
            let values = [1, 2, 3, 4].map(|seed| integers(count, seed));
            let arrays = values.each_ref().map(|v| encrypt_residues(&client, v, &[count]));
            let [a, b, c, d] = &arrays;
            let ab = server.mul(a, b).unwrap();
            let sum = server.sum_of_products(&[(a, b), (c, c), (&ab, d)]).unwrap();
            let expected = (0..count).map(|i| {
                let [x, y, z, w] = values.each_ref().map(|v| i128::from(v[i]));
                x * y + z * z + x * y * w
            });
            assert_eq!(
                client.decrypt_integers(&sum).unwrap(),
                residues(expected, t),
                "{scheme:?}, {count}"
            );
            let dot = server.dot(a, &ab).unwrap();
            let expected = (0..count)
                .map(|i| i128::from(values[0][i]).pow(2) * i128::from(values[1][i]))
                .sum();
            assert_eq!(
                client.decrypt_integers(&dot).unwrap(),
                residues([expected], t),
                "{scheme:?}, {count}"
            );
            assert!(dot.shape().is_empty());
        }
        let (x, y) = (integers(12, 5), integers(4, 6));
        let (a, b) = (encrypt_residues(&client, &x, &[3, 4]), encrypt_residues(&client, &y, &[4]));
        let sum = server.sum_of_products(&[(&a, &b), (&b, &a)]).unwrap();
        let expected = (0..12).map(|i| 2 * i128::from(x[i]) * i128::from(y[i % 4]));
        assert_eq!(client.decrypt_integers(&sum).unwrap(), residues(expected, t), "{scheme:?}");
        assert!(matches!(server.sum_of_products(&[(&a, &b), (&b, &b)]), Err(Error::Shape { .. })));
        assert!(matches!(
            server.sum_of_products::<hippocrene::Residues>(&[]),
            Err(Error::Argument { .. })
        ));
    }
    // One key switch serves three products.
    let (client, server) = insecure(7, 5, Scheme::Bgv, 257);
    let arrays = [1, 2, 3].map(|seed| encrypt_residues(&client, &integers(300, seed), &[300]));
    let [a, b, c] = &arrays;
    let transforms = |f: &dyn Fn()| {
        let rlwe = server.session().context().rlwe();
        let before = rlwe.transforms();
        f();
        rlwe.transforms() - before
    };
    let once = transforms(&|| drop(server.sum_of_products(&[(a, b), (a, c), (b, c)]).unwrap()));
    let single = transforms(&|| drop(server.mul(a, b).unwrap()));
    assert!(once < 2 * single, "{once} transforms, {single} for one product");
}

/// Fresh arrays and results of both schemes are transferred to a second key, whose evaluation keys
/// are smaller.
#[test]
fn integers_are_transferred_to_a_second_key() {
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let (client, server) = insecure(8, 7, scheme, 7681);
        let second = client.second_key(60.0).unwrap();
        assert_eq!(second.session().settings().integers(), client.session().settings().integers());
        let request = KeyRequest::only([1]);
        let (large, small) =
            (client.evaluation_keys(&request).unwrap(), second.evaluation_keys(&request).unwrap());
        assert!(small.to_bytes().len() * 2 < large.to_bytes().len());
        let key = client.transfer_key(&second).unwrap();
        let second_server = Server::new(small).unwrap().with_transfer(&key).unwrap();
        let (x, y) = (integers(300, 1), integers(300, 2));
        let encrypt = |v: &[i64]| encrypt_residues(&client, v, &[300]);
        let (a, b) = (encrypt(&x), encrypt(&y));
        let ab = server.mul(&a, &b).unwrap();
        let (arrived, product) =
            (second_server.transfer(&a).unwrap(), second_server.transfer(&ab).unwrap());
        assert_eq!((arrived.key(), arrived.shape()), (second.fingerprint(), a.shape()));
        for array in [&arrived, &product] {
            let (have, there) =
                (array.budget_bits(second_server.session()), second.noise_budget(array).unwrap());
            assert!(
                have >= 60.0 && have <= there,
                "{scheme:?}: {have} bits are estimated, {there} are there"
            );
        }
        let each = |f: &dyn Fn(i128, i128) -> i128| {
            residues(x.iter().zip(&y).map(|(x, y)| f(i128::from(*x), i128::from(*y))), 7681)
        };
        let decrypt = |array: &IntegerArray| second.decrypt_integers(array).unwrap();
        assert_eq!(decrypt(&arrived), each(&|x, _| x));
        assert_eq!(decrypt(&product), each(&|x, y| x * y));
        assert_eq!(
            decrypt(&second_server.mul(&arrived, &product).unwrap()),
            each(&|x, y| x * x * y)
        );
        assert_eq!(
            decrypt(&second_server.add(&arrived, &product).unwrap()),
            each(&|x, y| x + x * y)
        );
        assert!(matches!(second_server.transfer(&arrived), Err(Error::ParameterMismatch(_))));
        let (other, _) = insecure(8, 7, scheme, 7681);
        let foreign = encrypt_residues(&other, &x, &[300]);
        assert!(matches!(second_server.transfer(&foreign), Err(Error::KeyMismatch(_))));
        assert!(client.second_key(1e4).unwrap_err().to_string().contains("are requested"));
    }
}

/// A transferred result has the requested noise budget, or the budget that it had before. This
/// holds for any part of the sprout in its modulus.
#[test]
fn results_of_any_depth_are_transferred() {
    const ASKED: f64 = 40.0;
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let settings = Preset::by_name("n14").unwrap().settings().unwrap();
        let client = ClientKey::generate_with(
            settings.with_integers(Integers { scheme, plain_modulus: 65_537 }).unwrap(),
            1,
        )
        .unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
        let second = client.second_key(ASKED).unwrap();
        let keys = second.evaluation_keys(&KeyRequest::only([])).unwrap();
        let second_server = Server::new(keys)
            .unwrap()
            .with_transfer(&client.transfer_key(&second).unwrap())
            .unwrap();
        let mut array = client.encrypt_integers(&[3, -5], &[2]).unwrap();
        while let Ok(square) = server.square(&array) {
            array = square;
            let arrived = second_server.transfer(&array).unwrap();
            let (had, have) =
                (array.budget_bits(server.session()), arrived.budget_bits(second_server.session()));
            assert!(have >= ASKED.min(had - 2.0), "{scheme:?}: {have} bits come of {had}");
            assert!(have <= second.noise_budget(&arrived).unwrap());
            let plain = client.decrypt_integers(&array).unwrap();
            assert_eq!(second.decrypt_integers(&arrived).unwrap(), plain);
        }
    }
}
