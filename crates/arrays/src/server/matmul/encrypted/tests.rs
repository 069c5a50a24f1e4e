//! Tests of products of encrypted matrices: each way gives the product of the plain matrices.

use hippocrene_ring::primes;
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
use proptest::prelude::*;

use super::*;
use crate::{
    ClientKey, EncryptedArray, Integers, KeyRequest, Numbers, PlainNumbers, Residues, Scheme,
    Settings,
};

const PLAIN_MODULUS: i64 = 7681;

/// Returns a client and a server with ring degree `2^8` and 240 bits for products. Insecure.
fn insecure(scheme: Scheme) -> (ClientKey, Server) {
    insecure_of(8, scheme)
}

fn insecure_of(log_degree: u32, scheme: Scheme) -> (ClientKey, Server) {
    let degree = 1 << log_degree;
    let mut units = primes::ntt_primes(50, degree, 1, &[]).unwrap();
    units.extend(primes::ntt_primes(40, degree, 6, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units,
        specials: primes::ntt_primes(49, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    });
    let integers = Integers { plain_modulus: PLAIN_MODULUS as u64, scheme };
    let settings =
        Settings::at_scale(parameters.unwrap(), 40).unwrap().with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    (client, server)
}

/// Returns `count` integers from -8 to 8.
fn integers(count: usize, seed: usize) -> Vec<i64> {
    (0..count).map(|i| ((i * 37 + seed * 101 + i * i) % 17) as i64 - 8).collect()
}

fn product(x: &[i64], y: &[i64], inner: usize) -> Vec<i64> {
    let columns = y.len() / inner;
    let entry =
        |i: usize, j: usize| (0..inner).map(|k| x[i * inner + k] * y[k * columns + j]).sum();
    (0..x.len() / inner).flat_map(|i| (0..columns).map(move |j| entry(i, j))).collect()
}

/// Returns the elements of an array in one of three layouts.
///
/// With `how` 0 the array is unchanged. With 1 it has the layout of a transposed fresh array. With
/// 2 it has ones in stray slots.
fn standing<F: Arithmetic>(server: &Server, array: &Array<F>, how: usize) -> Array<F> {
    let shape = array.shape().to_vec();
    let moved = |layout: Layout| server.relayout(array, layout).unwrap();
    match how {
        0 => array.clone(),
        1 => moved(
            Layout::new(
                shape.clone(),
                vec![1, shape[0].next_power_of_two()],
                array.layout().slots(),
            )
            .unwrap(),
        ),
        _ => strayed(server, array),
    }
}

/// Returns the same elements, with ones in all stray slots.
fn strayed<F: Arithmetic>(server: &Server, array: &Array<F>) -> Array<F> {
    let zeros = server.sub(array, array).unwrap();
    let ones = server.add_plain(&zeros, F::plain(&vec![F::ONE; array.size()])).unwrap();
    let all = server.map(&zeros, OPERATION, false, f64::INFINITY, |server, form, x| {
        form.add_number(server, x, F::ONE)
    });
    server.sub(&server.add(array, &all.unwrap()).unwrap(), &ones).unwrap()
}

/// Checks that every way gives the product, and zeros in stray slots.
///
/// Returns the number of candidates by tiles, and of those by diagonals.
fn check<F: Arithmetic>(
    server: &Server,
    [a, b]: [&Array<F>; 2],
    expected: &[i64],
    is: impl Fn(&Array<F>, &[i64]),
    is_bounded: impl Fn(&Array<F>),
) -> [usize; 2] {
    let total = [expected.iter().sum()];
    let check = |y: Result<Array<F>, Error>| {
        let y = y.unwrap();
        assert_eq!((y.shape(), y.is_clean()), (&[a.shape()[0], b.shape()[1]][..], true));
        is(&y, expected);
        is_bounded(&y);
        is(&server.sum(&y, None).unwrap(), &total);
    };
    let (tiles, gram) = (Tiles::all::<F>(a.layout(), b.layout()), Gram::of(a, b));
    for (i, tiles) in tiles.iter().enumerate() {
        let tiles = tiles.clone().with_short(1 << (i % 3));
        check(server.tiled_product(a, b, &tiles, OPERATION));
    }
    if let Some(gram) = &gram {
        check(server.gram_product(a, b, gram, OPERATION));
    }
    for candidate in server.products_of_matrices(a, b).unwrap() {
        is(&candidate.run(server, [a, b]).unwrap(), expected);
    }
    is(&server.dot(a, b).unwrap(), expected);
    [tiles.len(), usize::from(gram.is_some())]
}

/// A function that brings a fresh array to another layout.
type Standing<'a, F> = &'a dyn Fn(&Server, &Array<F>) -> Array<F>;

/// Runs [`check`] with integers and with numbers, for two matrices in the layouts that these
/// functions make.
fn check_both(
    scheme: Scheme,
    [rows, inner, columns]: [usize; 3],
    seed: usize,
    numbers: [Standing<'_, Numbers>; 2],
    whole: [Standing<'_, Residues>; 2],
) -> [usize; 2] {
    let (client, server) = insecure(scheme);
    let (x, y) = (integers(rows * inner, seed), integers(inner * columns, seed + 1));
    let expected = product(&x, &y, inner);
    let encrypt = |x: &[i64], rows, columns| client.encrypt_integers(x, &[rows, columns]).unwrap();
    let (a, b) = (encrypt(&x, rows, inner), encrypt(&y, inner, columns));
    check(
        &server,
        [&whole[0](&server, &a), &whole[1](&server, &b)],
        &expected,
        |array, expected| {
            let expected: Vec<i64> = expected.iter().map(|x| x.rem_euclid(PLAIN_MODULUS)).collect();
            assert_eq!(client.decrypt_integers(array).unwrap(), expected);
        },
        |_| (),
    );
    let encrypt = |x: &[i64], rows, columns| {
        let numbers: Vec<f64> = x.iter().map(|x| *x as f64 / 8.0).collect();
        client.encrypt(&numbers, &[rows, columns]).unwrap()
    };
    let (a, b) = (encrypt(&x, rows, inner), encrypt(&y, inner, columns));
    let (a, b) = (numbers[0](&server, &a), numbers[1](&server, &b));
    let bound = inner as f64 * a.bound() * b.bound();
    check(
        &server,
        [&a, &b],
        &expected,
        |array, expected| {
            for (got, expected) in client.decrypt(array).unwrap().iter().zip(expected) {
                assert!((got - *expected as f64 / 64.0).abs() < 1e-4, "{got}, not {expected} / 64");
            }
        },
        // If there are several ciphertexts, those that are not full count as if they were.
        |array| {
            let times = array.bound() / bound;
            assert!(
                (1.0 - 1e-6..2.0 + 1e-6).contains(&times),
                "{}, where {bound} would do",
                array.bound()
            );
        },
    )
}

/// Returns the elements in the layout of the transpose of a fresh array.
///
/// With `how` 1 or 2, there is a stray slot after every element. It is zero with 1, and holds a one
/// with 2.
fn columnwise<F: Arithmetic>(server: &Server, array: &Array<F>, how: usize) -> Array<F> {
    let [m, n] = *array.shape() else { unreachable!("a matrix") };
    let (slots, length) = (array.layout().slots(), m.next_power_of_two());
    let stride = if how == 0 { 1 } else { 2 };
    let layout = Layout::new(vec![m, n], vec![stride, stride * length], slots).unwrap();
    let moved = server.relayout(array, layout).unwrap();
    if how < 2 { moved } else { strayed(server, &moved) }
}

/// The ciphertexts of one array have bounds of their own, and not all of them are full.
#[test]
fn no_element_is_above_the_bound() {
    let (client, server) = insecure(Scheme::Bgv);
    let block = |rows: usize, columns: usize, value: f64| {
        let array = client.encrypt(&vec![value; rows * columns], &[rows, columns]).unwrap();
        array.with_bound(value).unwrap()
    };
    for (inner, last) in [(64, 1), (32, 9), (32, 33)] {
        let (large, small) = (block(inner, 4, 1.0), block(last, 4, 0.01));
        let places: Vec<usize> = (0..4 * (inner + last)).collect();
        let x = server.gather(&[&large, &small], &[inner + last, 4], &places).unwrap();
        let (rows, columns) = (block(5, inner + last, 1.0), server.transpose(&x).unwrap());
        let is_bounded = |y: EncryptedArray| {
            let most = client.decrypt(&y).unwrap().into_iter().fold(0.0, f64::max);
            assert!(most <= y.bound() * (1.0 + 1e-6), "{most} above {}", y.bound());
        };
        for tiles in Tiles::all::<Numbers>(rows.layout(), x.layout()) {
            is_bounded(server.tiled_product(&rows, &x, &tiles, OPERATION).unwrap());
        }
        let gram = Gram::of(&columns, &x).unwrap();
        is_bounded(server.gram_product(&columns, &x, &gram, OPERATION).unwrap());
        is_bounded(server.dot(&columns, &x).unwrap());
    }
}

/// A product with an inner axis of one element has no tiles. Without capacity, the error says so.
#[test]
fn the_error_of_a_product_without_capacity_is_about_capacity() {
    let (client, server) = insecure(Scheme::Bgv);
    let mut a = client.encrypt(&[0.5, 0.25], &[2, 1]).unwrap();
    let b = client.encrypt(&[0.5, 0.25], &[1, 2]).unwrap();
    while let Ok(less) = server.square(&a) {
        a = less;
    }
    let error = server.dot(&a, &b).unwrap_err();
    assert!(matches!(error, Error::Capacity { .. }), "{error}");
}

/// If the capacity suffices for a product by copies, [`Server::dot`] succeeds too.
#[test]
fn products_take_no_more_capacity_than_there_is() {
    let (client, server) = insecure(Scheme::Bgv);
    let b = client.encrypt_integers(&integers(12 * 12, 2), &[12, 12]).unwrap();
    let mut a = client.encrypt_integers(&integers(12 * 12, 1), &[12, 12]).unwrap();
    let (ones, mut fails) = (vec![1; a.size()], false);
    loop {
        let way = &server.ways_of_copies(&a, &b).unwrap()[0];
        let all = [server.product_of_copies(&a, &b, way), server.dot(&a, &b)];
        let [by_copies, now] = all.each_ref().map(Result::is_err);
        assert!(by_copies || !now, "{:?}", all[1].as_ref().err());
        fails |= by_copies;
        match server.mul_plain(&a, &ones[..]) {
            Ok(less) => a = less,
            Err(_) => break,
        }
    }
    assert!(fails, "not all of the budget was used up");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn tiles_give_products(
        (rows, inner, columns) in (1usize..40, 2usize..40, 1usize..40),
        (first, second) in (0usize..3, 0usize..3),
        scheme in prop::sample::select(vec![Scheme::Bgv, Scheme::Bfv]),
        seed in 0usize..100,
    ) {
        let [ways, _] = check_both(
            scheme,
            [rows, inner, columns],
            seed,
            [&|server, a| standing(server, a, first), &|server, b| standing(server, b, second)],
            [&|server, a| standing(server, a, first), &|server, b| standing(server, b, second)],
        );
        prop_assert!(ways > 0);
    }

    #[test]
    fn diagonals_give_products(
        log_length in 1u32..5,
        (rows, columns) in (0usize..8, 0usize..8),
        inner in 1usize..100,
        (how, strays) in (0usize..2, 0usize..3),
        scheme in prop::sample::select(vec![Scheme::Bgv, Scheme::Bfv]),
        seed in 0usize..100,
    ) {
        let length = |less: usize| (1 << log_length) - less % (1 << (log_length - 1));
        let transposed = |strayed: usize| if strays == strayed { 2 * how } else { how };
        let (first, second) = (transposed(0), transposed(1));
        fn of<F: Arithmetic>(server: &Server, b: &Array<F>, how: usize) -> Array<F> {
            let transposed = server.transpose(b).unwrap();
            server.transpose(&columnwise(server, &transposed, how)).unwrap()
        }
        let [_, ways] = check_both(
            scheme,
            [length(rows), inner, length(columns)],
            seed,
            [&|server, a| columnwise(server, a, first), &|server, b| of(server, b, second)],
            [&|server, a| columnwise(server, a, first), &|server, b| of(server, b, second)],
        );
        prop_assert_eq!(ways, 1);
    }

    /// Each candidate, when it is forced, gives the product in the layout, with the slot contents
    /// and with the capacity that its dry run predicts.
    #[test]
    fn every_candidate_is_as_its_dry_run_predicts(
        (rows, inner, columns) in (1usize..24, 2usize..24, 1usize..24),
        (first, second) in (0usize..3, 0usize..3),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(Scheme::Bgv);
        let (x, y) = (integers(rows * inner, seed), integers(inner * columns, seed + 1));
        let encrypt = |x: &[i64], shape: &[usize], how| {
            let numbers: Vec<f64> = x.iter().map(|x| *x as f64 / 8.0).collect();
            standing(&server, &client.encrypt(&numbers, shape).unwrap(), how)
        };
        let a = encrypt(&x, &[rows, inner], first);
        let b = encrypt(&y, &[inner, columns], second);
        let dry = server.dry_run().unwrap();
        let stand_ins = dry.stand_ins([&a, &b]).unwrap();
        let state = |server: &Server, array: &EncryptedArray| {
            let capacity = array.capacity_bits(server.session());
            (array.layout().clone(), array.slot_contents(), capacity)
        };
        let expected = product(&x, &y, inner);
        let candidates = server.products_of_matrices(&a, &b).unwrap();
        for (i, candidate) in candidates.iter().enumerate() {
            let predicted = candidate.run(&dry, stand_ins.each_ref());
            let Ok(real) = candidate.run(&server, [&a, &b]) else {
                prop_assert!(predicted.is_err(), "candidate {i}");
                continue;
            };
            prop_assert_eq!(state(&dry, &predicted.unwrap()), state(&server, &real), "{}", i);
            for (got, expected) in client.decrypt(&real).unwrap().iter().zip(&expected) {
                prop_assert!((got - *expected as f64 / 64.0).abs() < 1e-4, "candidate {i}");
            }
        }
        prop_assert!(!candidates.is_empty());
    }

    #[test]
    fn squares_of_one_matrix(
        (rows, inner) in (2usize..17, 1usize..100),
        how in 0usize..2,
        scheme in prop::sample::select(vec![Scheme::Bgv, Scheme::Bfv]),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(scheme);
        let x = integers(rows * inner, seed);
        let transposed: Vec<i64> =
            (0..inner * rows).map(|k| x[k % rows * inner + k / rows]).collect();
        let expected = product(&x, &transposed, inner);
        fn both<F: Arithmetic>(server: &Server, array: &Array<F>, how: usize) -> [Array<F>; 2] {
            let a = columnwise(server, array, how);
            let b = server.transpose(&a).unwrap();
            assert!(Gram::of(&a, &b).is_some_and(|gram| gram.is_symmetric()));
            let again = columnwise(server, array, how);
            assert!(Gram::of(&again, &b).is_none_or(|gram| !gram.is_symmetric()));
            [a, b]
        }
        let a = client.encrypt_integers(&x, &[rows, inner]).unwrap();
        let [a, b] = both(&server, &a, how);
        check(
            &server,
            [&a, &b],
            &expected,
            |array, expected| {
                let expected: Vec<i64> =
                    expected.iter().map(|x| x.rem_euclid(PLAIN_MODULUS)).collect();
                assert_eq!(client.decrypt_integers(array).unwrap(), expected);
            },
            |_| (),
        );
        let numbers: Vec<f64> = x.iter().map(|x| *x as f64 / 8.0).collect();
        let [a, b] = both(&server, &client.encrypt(&numbers, &[rows, inner]).unwrap(), how);
        check(
            &server,
            [&a, &b],
            &expected,
            |array, expected| {
                for (got, expected) in client.decrypt(array).unwrap().iter().zip(expected) {
                    assert!(
                        (got - *expected as f64 / 64.0).abs() < 1e-4,
                        "{got}, not {expected} / 64"
                    );
                }
            },
            |_| (),
        );
    }
}

/// Multiplies a transposed matrix by itself, with ones in stray slots. These are set to zero once,
/// and the product is computed by diagonals.
#[test]
fn what_stands_between_rows_is_set_to_zero_where_that_is_less_work() {
    let (client, server) = insecure(Scheme::Bgv);
    let (rows, columns) = (2000, 6);
    let x: Vec<i64> = (0..rows * columns).map(|i| ((i * i + 3 * i) % 7) as i64 - 3).collect();
    let transposed: Vec<i64> =
        (0..rows * columns).map(|k| x[k % rows * columns + k / rows]).collect();
    let expected = product(&transposed, &x, rows);
    let numbers: Vec<f64> = x.iter().map(|x| *x as f64 / 8.0).collect();
    let array = client.encrypt(&numbers, &[rows, columns]).unwrap();
    let products = |b: &EncryptedArray| {
        let got = server.matrix_product(&server.transpose(b).unwrap(), b).unwrap();
        for (got, expected) in client.decrypt(&got).unwrap().iter().zip(&expected) {
            assert!((got - *expected as f64 / 64.0).abs() < 1e-3, "{got}, not {expected} / 64");
        }
        let taken = b.capacity_bits(server.session()) - got.capacity_bits(server.session());
        (taken / 40.0).round() as usize
    };
    let strays = strayed(&server, &array);
    assert!(Gram::of(&strays, &strays).is_none());
    assert_eq!([products(&array), products(&strays)], [2, 3]);
}

/// Multiplies a matrix by its transpose. If the tiles of a fresh array take much less work than
/// copies, the transpose is moved first, provided that enough capacity is left.
#[test]
fn a_transpose_is_moved_where_that_is_less_work() {
    let (client, server) = insecure_of(12, Scheme::Bgv);
    let (rows, columns) = (100, 40);
    let x: Vec<i64> = (0..rows * columns).map(|i| ((i * i + 3 * i) % 7) as i64 - 3).collect();
    let transposed: Vec<i64> =
        (0..rows * columns).map(|k| x[k % rows * columns + k / rows]).collect();
    let expected = product(&x, &transposed, columns);
    let numbers: Vec<f64> = x.iter().map(|x| *x as f64 / 8.0).collect();
    let mut array = client.encrypt(&numbers, &[rows, columns]).unwrap();
    let mut taken = Vec::new();
    loop {
        let before = array.capacity_bits(server.session());
        let got = server.matrix_product(&array, &server.transpose(&array).unwrap());
        let Ok(got) = got else { break };
        for (got, expected) in client.decrypt(&got).unwrap().iter().zip(&expected) {
            assert!((got - *expected as f64 / 64.0).abs() < 1e-3, "{got}, not {expected} / 64");
        }
        taken.push(((before - got.capacity_bits(server.session())) / 40.0).round() as usize);
        array = server.mul_plain(&array, Numbers::plain(&vec![1.0; rows * columns])).unwrap();
    }
    assert!(taken.starts_with(&[4]) && taken.ends_with(&[2]), "{taken:?}");
}
