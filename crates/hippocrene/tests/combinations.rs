//! Tests of sums of selected elements times plain numbers, against the same sums of plain numbers.

use crate::common::{assert_close, insecure, insecure_settings, numbers, products_left};
use hippocrene::{ClientKey, Error, Integers, KeyRequest, Scheme, Server};
use proptest::prelude::*;

/// Returns the places of the elements of all windows of an image, window after window, and the
/// number of windows along each axis.
fn windows(image: [usize; 2], window: [usize; 2]) -> (Vec<usize>, [usize; 2]) {
    let counts = [image[0] - window[0] + 1, image[1] - window[1] + 1];
    let mut places = Vec::new();
    for (i, j) in (0..counts[0]).flat_map(|i| (0..counts[1]).map(move |j| (i, j))) {
        places.extend(
            (0..window[0]).flat_map(|k| (0..window[1]).map(move |l| (i + k) * image[1] + j + l)),
        );
    }
    (places, counts)
}

/// Returns `sum_t weights_t x_place_t` for each element.
fn combined<N: Copy + std::ops::Mul<Output = N> + std::iter::Sum>(
    x: &[N],
    terms: usize,
    entries: &[(usize, N)],
) -> Vec<N> {
    entries
        .chunks(terms)
        .map(|sum| sum.iter().map(|(place, weight)| x[*place] * *weight).sum())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sums_of_any_elements(
        shape in prop::collection::vec(1usize..9, 1..4),
        skipped in 0usize..3,
        rows in 1usize..8,
        columns in 1usize..5,
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0u32..4), 1..100),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 2);
        let x = numbers(shape.iter().product(), seed);
        let array = client.encrypt(&x, &shape).unwrap();
        // A part of the array, so that its stray slots hold other elements.
        let sources: Vec<usize> = (skipped.min(x.len() - 1)..x.len()).collect();
        let part = server.gather(&[&array], &[sources.len()], &sources).unwrap();
        let x = &x[sources[0]..];
        let terms = picks.len().div_ceil(rows * columns);
        let entries: Vec<(usize, f64)> = (0..rows * columns * terms)
            .map(|i| picks[i * 7 % picks.len()])
            .map(|(pick, weight)| (pick.index(x.len()), f64::from(weight) / 8.0))
            .collect();
        let all = entries.iter().copied();
        let sums = server.linear_combinations(&part, &[rows, columns], terms, all).unwrap();
        prop_assert_eq!(sums.shape(), &[rows, columns]);
        let expected = combined(x, terms, &entries);
        assert_close(&client.decrypt(&sums).unwrap(), &expected, "combined");
        let largest = entries
            .chunks(terms)
            .map(|sum| sum.iter().map(|(_, weight)| weight).sum())
            .fold(0.0, f64::max);
        prop_assert!(sums.bound() <= 2.001 * largest * array.bound());
        // Stray slots do not enter sums.
        let total = server.sum(&sums, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[expected.iter().sum()],
            "the sum of the combinations",
        );
    }

    #[test]
    fn integers_of_both_schemes(
        image in prop::array::uniform2(1usize..12),
        window in prop::array::uniform2(1usize..4),
        twice in any::<bool>(),
        bfv in any::<bool>(),
        weights in prop::collection::vec(-100i64..100, 16),
    ) {
        prop_assume!(window[0] <= image[0] && window[1] <= image[1]);
        let scheme = if bfv { Scheme::Bfv } else { Scheme::Bgv };
        let settings =
            insecure_settings(6, 4).with_integers(Integers { plain_modulus: 257, scheme }).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
        let x: Vec<i64> = (0..(image[0] * image[1]) as i64).map(|i| i * 37 % 257).collect();
        let array = client.encrypt_integers(&x, &image).unwrap();
        let (places, counts) = windows(image, window);
        let terms = window[0] * window[1];
        // One kernel for all windows, or sums in which each place occurs twice.
        let entries: Vec<(usize, i64)> = match twice {
            false => {
                places.iter().enumerate().map(|(i, place)| (*place, weights[i % terms])).collect()
            }
            true => places
                .iter()
                .enumerate()
                .flat_map(|(i, place)| [(*place, weights[i % 16]), (*place, i64::MAX)])
                .collect(),
        };
        let terms = if twice { 2 * terms } else { terms };
        let sums =
            server.linear_combinations(&array, &counts, terms, entries.iter().copied()).unwrap();
        let wide: Vec<i128> = x.iter().map(|x| i128::from(*x)).collect();
        let entries: Vec<(usize, i128)> =
            entries.iter().map(|(place, weight)| (*place, i128::from(*weight))).collect();
        let expected: Vec<i64> =
            combined(&wide, terms, &entries).iter().map(|x| x.rem_euclid(257) as i64).collect();
        prop_assert_eq!(client.decrypt_integers(&sums).unwrap(), expected);
    }
}

#[test]
fn shapes_beyond_any_memory_are_refused() {
    let (client, server) = insecure(9, 2);
    let array = client.encrypt(&[1.0], &[1]).unwrap();
    for shape in [[usize::MAX, 3], [1 << 63, 2], [1 << 40, 1 << 40]] {
        let error =
            server.linear_combinations(&array, &shape, 1, [(0, 1.0)].into_iter()).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
}

#[test]
fn windows_keep_the_layout_of_their_elements() {
    let (client, server) = insecure(9, 2);
    let x = numbers(12 * 14, 1);
    let array = client.encrypt(&x, &[12, 14]).unwrap();
    let (places, counts) = windows([12, 14], [3, 5]);
    let kernel = numbers(15, 2);
    let entries =
        || places.iter().zip(kernel.iter().cycle()).map(|(place, weight)| (*place, *weight));
    // One product for each element of the kernel.
    assert!(
        server
            .linear_combinations_within(&array, &counts, 15, entries(), 15, None)
            .unwrap()
            .is_none()
    );
    let sums = server
        .linear_combinations_within(&array, &counts, 15, entries(), 16, None)
        .unwrap()
        .unwrap();
    assert_eq!(sums.layout().strides(), [16, 1]);
    assert_eq!(products_left(&sums, &server), 1);
    assert_close(
        &client.decrypt(&sums).unwrap(),
        &combined(&x, 15, &entries().collect::<Vec<_>>()),
        "windows",
    );
}

#[test]
fn sums_of_many_arrays_take_few_products() {
    let (client, server) = insecure(9, 2);
    let x = numbers(100 * 7, 1);
    let array = client.encrypt(&x, &[100, 7]).unwrap();
    let rows: Vec<usize> = (0..100).filter(|row| row * row % 7 < 3).collect();
    let products = |shape: &[usize], entries: &[(usize, f64)]| {
        let terms = entries.len() / shape.iter().product::<usize>();
        let within = |most| {
            server
                .linear_combinations_within(
                    &array,
                    shape,
                    terms,
                    entries.iter().copied(),
                    most,
                    None,
                )
                .unwrap()
        };
        let sums = (1..1000).find_map(|most| within(most).map(|sums| (most - 1, sums))).unwrap();
        assert_close(&client.decrypt(&sums.1).unwrap(), &combined(&x, terms, entries), "sums");
        sums.0
    };
    // Sums of all elements of some rows, of the columns of these rows, and of three columns of all
    // rows.
    //
    // Each takes one product for each of the four ciphertexts, and rotations that cost as much as
    // four products.
    let all: Vec<_> = rows.iter().flat_map(|row| (0..7).map(move |i| (row * 7 + i, 1.0))).collect();
    assert_eq!(products(&[], &all), 4 + 4 * 8);
    let columns: Vec<_> =
        (0..7).flat_map(|i| rows.iter().map(move |row| (row * 7 + i, 0.5))).collect();
    assert_eq!(products(&[7], &columns), 4 + 4 * 5);
    let weighted: Vec<_> = (0..100)
        .flat_map(|row| [(row * 7 + 3, 0.5), (row * 7 + 1, 2.0), (row * 7 + 5, -1.0)])
        .collect();
    assert_eq!(products(&[100], &weighted), 4 * 3);
}

#[test]
fn sums_have_the_requested_layout() {
    let (client, server) = insecure(9, 2);
    let x = numbers(100 * 7, 1);
    let array = client.encrypt(&x, &[100, 7]).unwrap();
    let rows = [17, 3, 80, 41];
    let entries: Vec<_> =
        rows.iter().flat_map(|row| (0..7).map(move |i| (row * 7 + i, 1.0))).collect();
    let sums = |strides: Option<&[usize]>| {
        let sums = server.linear_combinations_within(
            &array,
            &[4],
            7,
            entries.iter().copied(),
            1000,
            strides,
        );
        let sums = sums.unwrap().unwrap();
        assert_close(&client.decrypt(&sums).unwrap(), &combined(&x, 7, &entries), "sums");
        sums.layout().strides().to_vec()
    };
    assert_eq!(sums(Some(&[8])), [8]);
    // Requested strides are not used if they cost much more or do not exist.
    assert_ne!(sums(Some(&[1 << 20])), [1 << 20]);
    assert_eq!([sums(None), sums(Some(&[3])), sums(Some(&[1, 1]))].concat().len(), 3);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (client, server) = insecure(7, 2);
    let array = client.encrypt(&numbers(6, 1), &[2, 3]).unwrap();
    let combine = |shape: &[usize], terms, entries: &[(usize, f64)]| {
        server.linear_combinations(&array, shape, terms, entries.iter().copied()).unwrap_err()
    };
    let shape = |error| matches!(error, Error::Shape { .. });
    assert!(shape(combine(&[2], 2, &[(0, 1.0); 3])) && shape(combine(&[2], 1, &[(0, 1.0); 3])));
    assert!(
        shape(combine(&[2], 0, &[]))
            && shape(combine(&[0], 1, &[]))
            && shape(combine(&[1 << 40], 1, &[]))
    );
    assert!(matches!(combine(&[1], 1, &[(6, 1.0)]), Error::Argument { .. }));
    assert!(matches!(combine(&[1], 1, &[(0, f64::NAN)]), Error::Encode(_)));
    let zeros =
        server.linear_combinations(&array, &[2], 1, [(0, 0.0), (1, 0.0)].into_iter()).unwrap();
    assert_close(&client.decrypt(&zeros).unwrap(), &[0.0, 0.0], "zeros");
}

#[test]
fn the_products_of_moves_are_estimated() {
    let (client, server) = insecure(7, 2);
    let array = client.encrypt(&numbers(42, 1), &[6, 7]).unwrap();
    let take = |array: &_, shape: &[usize], sources: &[usize]| {
        server.moving_products(array, shape, sources)
    };
    // A transpose, a row and every other column need no move or only a rotation. Columns in another
    // order are moved.
    let transposed: Vec<usize> = (0..42).map(|i| i % 6 * 7 + i / 6).collect();
    assert_eq!(take(&array, &[7, 6], &transposed).unwrap(), 0);
    assert_eq!(take(&array, &[7], &(14..21).collect::<Vec<_>>()).unwrap(), 0);
    assert_eq!(
        take(&array, &[6, 2], &(0..12).map(|i| i / 2 * 7 + i % 2 * 2).collect::<Vec<_>>()).unwrap(),
        0
    );
    let columns: Vec<usize> = (0..18).map(|i| i / 3 * 7 + [4, 0, 5][i % 3]).collect();
    // The result has rows 4 slots apart, and the operand has them 8 slots apart.
    assert_eq!(take(&array, &[6, 3], &columns).unwrap(), 13);
    // Without capacity the estimate is 0, and the move itself reports the error.
    let spent = server.square(&server.square(&array).unwrap()).unwrap();
    assert_eq!(products_left(&spent, &server), 0);
    assert_eq!(take(&spent, &[6, 3], &columns).unwrap(), 0);
    assert!(matches!(take(&array, &[1], &[42]), Err(Error::Argument { .. })));
    assert!(matches!(take(&array, &[2], &[0]), Err(Error::Shape { .. })));
}
