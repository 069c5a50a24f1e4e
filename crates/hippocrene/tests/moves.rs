//! Tests of selecting, reordering and joining elements, against the same of plain numbers.

use crate::common::{assert_close, insecure, insecure_settings, numbers, products_left};
use hippocrene::{
    ClientKey, EncryptedArray, Error, IntegerArray, Integers, KeyRequest, Layout, Scheme, Server,
};
use proptest::prelude::*;

/// Returns the number of products, of two, that the operations on an array have used.
fn products(array: &EncryptedArray, server: &Server) -> usize {
    2 - products_left(array, server)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_places_of_any_arrays(
        shapes in prop::collection::vec(prop::collection::vec(1usize..9, 0..4), 1..4),
        columns in 1usize..9,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 4);
        let numbers: Vec<Vec<f64>> = shapes
            .iter()
            .enumerate()
            .map(|(k, shape)| numbers(shape.iter().product(), seed + k))
            .collect();
        let arrays: Vec<EncryptedArray> = shapes
            .iter()
            .zip(&numbers)
            .map(|(shape, x)| client.encrypt(x, shape).unwrap())
            .collect();
        let all = numbers.concat();
        let rows = picks.len() / columns;
        prop_assume!(rows > 0);
        let sources: Vec<usize> =
            picks[..rows * columns].iter().map(|pick| pick.index(all.len())).collect();
        let arrays: Vec<&EncryptedArray> = arrays.iter().collect();
        let gathered = server.gather(&arrays, &[rows, columns], &sources).unwrap();
        prop_assert_eq!(gathered.shape(), &[rows, columns]);
        let expected: Vec<f64> = sources.iter().map(|source| all[*source]).collect();
        assert_close(&client.decrypt(&gathered).unwrap(), &expected, "picked");
        // Stray slots do not enter sums.
        let total = server.sum(&gathered, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[expected.iter().sum()],
            "the sum of the selection",
        );

        let joined =
            server.gather(&arrays, &[all.len()], &(0..all.len()).collect::<Vec<_>>()).unwrap();
        assert_close(&client.decrypt(&joined).unwrap(), &all, "joined");
    }

    #[test]
    fn slices_of_three_axes(
        shape in prop::collection::vec(1usize..12, 3),
        ends in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..4),
            3,
        ),
        seed in 0usize..100,
    ) {
        let (client, server) = insecure(7, 4);
        let x = numbers(shape.iter().product(), seed);
        let array = client.encrypt(&x, &shape).unwrap();
        let axes: Vec<Vec<usize>> = shape
            .iter()
            .zip(&ends)
            .map(|(n, (a, b, step))| {
                let (a, b) = (a.index(*n), b.index(*n));
                (a.min(b)..=a.max(b)).step_by(*step).collect()
            })
            .collect();
        let mut sources = vec![0];
        for (axis, n) in axes.iter().zip(&shape) {
            sources = sources.iter().flat_map(|s| axis.iter().map(move |i| s * n + i)).collect();
        }
        let slice = server
            .gather(&[&array], &axes.iter().map(Vec::len).collect::<Vec<_>>(), &sources)
            .unwrap();
        let expected: Vec<f64> = sources.iter().map(|source| x[*source]).collect();
        assert_close(&client.decrypt(&slice).unwrap(), &expected, "a slice");
        let square = server.mul(&slice, &slice).unwrap();
        let total = client.decrypt(&server.sum(&square, None).unwrap()).unwrap();
        assert_close(&total, &[expected.iter().map(|x| x * x).sum()], "the squares of a slice");
    }
}

/// Moves that take no product, in 64 slots, for arrays of one and of five ciphertexts.
#[test]
fn moves_by_one_rotation_take_no_product() {
    let (client, server) = insecure(7, 2);
    let picked = |array: &EncryptedArray, shape: &[usize], at: &dyn Fn(usize, usize) -> usize| {
        let (rows, columns) = (shape[0], shape.get(1).copied().unwrap_or(1));
        let sources: Vec<usize> =
            (0..rows).flat_map(|i| (0..columns).map(move |j| at(i, j))).collect();
        let out = server.gather(&[array], shape, &sources).unwrap();
        let x = client.decrypt(array).unwrap();
        let expected: Vec<f64> = sources.iter().map(|source| x[*source]).collect();
        assert_close(&client.decrypt(&out).unwrap(), &expected, &format!("{shape:?}"));
        products(&out, &server)
    };
    for rows in [6, 40] {
        let array = client.encrypt(&numbers(rows * 7, 1), &[rows, 7]).unwrap();
        assert_eq!(picked(&array, &[7, rows], &|i, j| 7 * j + i), 0, "the transpose");
        assert_eq!(picked(&array, &[4, 7], &|i, j| 7 * i + j), 0, "the first rows");
        assert_eq!(
            picked(&array, &[rows / 2, 4], &|i, j| 14 * i + 2 * j),
            0,
            "every other row and column"
        );
        assert_eq!(picked(&array, &[rows], &|i, _| 7 * i + 3), 0, "a column");
        assert_eq!(picked(&array, &[7], &|j, _| 7 * (rows - 1) + j), 0, "the last row");
        assert_eq!(
            picked(&array, &[rows, 7], &|i, j| 7 * i + 6 - j),
            1,
            "columns in reverse order"
        );
        assert_eq!(picked(&array, &[rows / 3], &|i, _| 21 * i), 1, "every third row");
    }
    // A block of rows that begins with the third ciphertext, and one that begins a row earlier.
    let array = client.encrypt(&numbers(40 * 7, 2), &[40, 7]).unwrap();
    assert_eq!(picked(&array, &[9, 7], &|i, j| 7 * (16 + i) + j), 0);
    assert_eq!(picked(&array, &[9, 7], &|i, j| 7 * (15 + i) + j), 1);

    let [a, b] = [1, 2].map(|seed| client.encrypt(&numbers(12, seed), &[3, 4]).unwrap());
    let stacked = server.gather(&[&a, &b], &[6, 4], &(0..24).collect::<Vec<_>>()).unwrap();
    assert_eq!(products(&stacked, &server), 0, "rows after rows");
    assert_close(
        &client.decrypt(&stacked).unwrap(),
        &[numbers(12, 1), numbers(12, 2)].concat(),
        "rows after rows",
    );
}

/// Hundreds of elements that each move by another distance. They move in two steps if a third
/// product is left.
#[test]
fn many_moves_take_two_steps_if_capacity_allows() {
    let x = numbers(500, 3);
    for (units, taken) in [(4, 2), (2, 1)] {
        let (client, server) = insecure(11, units);
        let array = client.encrypt(&x, &[500]).unwrap();
        let before = products_left(&array, &server);
        let reversed =
            server.gather(&[&array], &[500], &(0..500).rev().collect::<Vec<_>>()).unwrap();
        assert_eq!(before - products_left(&reversed, &server), taken);
        let expected: Vec<f64> = x.iter().rev().copied().collect();
        assert_close(&client.decrypt(&reversed).unwrap(), &expected, "reversed");
        assert_close(
            &client.decrypt(&server.sum(&reversed, None).unwrap()).unwrap(),
            &[x.iter().sum()],
            "the sum of the reversed array",
        );
    }
}

/// Thousands of elements in random order. They move by way of rows if three more products are left,
/// and otherwise in two steps.
#[test]
fn shuffles_take_three_steps_if_capacity_allows() {
    let count = 4000;
    let x = numbers(count, 3);
    let mut shuffled: Vec<usize> = (0..count).collect();
    shuffled.sort_by_key(|i| {
        (*i as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    });
    for (units, taken) in [(7, 3), (5, 2)] {
        let (client, server) = insecure(13, units);
        let array = client.encrypt(&x, &[count]).unwrap();
        let before = products_left(&array, &server);
        let picked = server.gather(&[&array], &[count], &shuffled).unwrap();
        assert_eq!(before - products_left(&picked, &server), taken);
        let expected: Vec<f64> = shuffled.iter().map(|i| x[*i]).collect();
        assert_close(&client.decrypt(&picked).unwrap(), &expected, "shuffled");
        let total = server.sum(&picked, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[expected.iter().sum()],
            "the sum of the shuffled array",
        );
    }
}

/// Adds zeros around elements that a sum has left in one ciphertext for each pair of columns.
///
/// Each element would move by another distance. With capacity for one product they do so, and with
/// more they move in two steps.
#[test]
fn elements_far_apart_are_padded() {
    let (n, padded) = (30, [32, 32, 3]);
    let x = numbers(n * n * n, 3);
    for (units, taken) in [(6, 2), (3, 1)] {
        let (client, server) = insecure(12, units);
        let summed = server.sum(&client.encrypt(&x, &[n, n, n]).unwrap(), Some(2)).unwrap();
        let far = server.insert_axis(&server.transpose(&summed).unwrap(), 2).unwrap();
        assert_eq!(far.layout().strides(), [32, 1024, 1]);
        let place = |to: usize| {
            let (row, column, last) = (to / 96, to / 3 % 32, to % 3);
            let inside = (1..=n).contains(&row) && (1..=n).contains(&column) && last == 1;
            inside.then(|| (row - 1) * n + column - 1)
        };
        let sources: Vec<Option<usize>> = (0..padded.iter().product()).map(place).collect();
        let before = products_left(&far, &server);
        let around = server.gather_padded(&[&far], &padded, &sources).unwrap();
        assert_eq!(before - products_left(&around, &server), taken);
        let plain = client.decrypt(&far).unwrap();
        let expected: Vec<f64> =
            sources.iter().map(|source| source.map_or(0.0, |source| plain[source])).collect();
        assert_close(&client.decrypt(&around).unwrap(), &expected, "padded");
        let total = server.sum(&around, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[plain.iter().sum()],
            "the sum of the padded array",
        );
    }
}

/// Packs elements that a sum along an axis has left apart, in many ciphertexts.
///
/// The elements of several ciphertexts first go into the gaps of one.
#[test]
fn elements_far_apart_are_packed_through_gaps() {
    let [n, m] = [64, 60];
    let x = numbers(n * m * 16, 3);
    for (units, taken) in [(6, 2), (3, 1)] {
        let (client, server) = insecure(12, units);
        let summed = server.sum(&client.encrypt(&x, &[n, m, 16]).unwrap(), Some(2)).unwrap();
        let far = server.transpose(&summed).unwrap();
        assert_eq!((far.layout().strides(), far.layout().ciphertexts()), (&[16, 1024][..], 32));
        let before = products_left(&far, &server);
        let plain = client.decrypt(&far).unwrap();
        let all: Vec<usize> = (0..n * m).collect();
        let closely = server.gather(&[&far], &[n * m], &all).unwrap();
        assert_eq!(before - products_left(&closely, &server), taken);
        assert_close(&client.decrypt(&closely).unwrap(), &plain, "one axis");
        // In reverse order, and joined with a second array.
        let reversed: Vec<usize> = (0..2 * n * m).rev().collect();
        let both = server.gather(&[&far, &far], &[2 * n * m], &reversed).unwrap();
        let expected: Vec<f64> = reversed.iter().map(|i| plain[i % (n * m)]).collect();
        assert_close(&client.decrypt(&both).unwrap(), &expected, "reversed");
        let total = server.sum(&closely, None).unwrap();
        assert_close(
            &client.decrypt(&total).unwrap(),
            &[plain.iter().sum()],
            "the sum of the packed array",
        );
    }
}

/// A column of many rows, spread over as many ciphertexts as the rows, is packed before it is
/// broadcast to rows.
#[test]
fn columns_of_many_rows_repeat_in_few_ciphertexts() {
    let (client, server) = insecure(8, 4);
    let (rows, columns, wide) = (200, 8, 60);
    let (x, y) = (numbers(rows * columns, 3), numbers(wide, 4));
    let places: Vec<usize> = (0..rows).map(|i| i * columns + 1).collect();
    let column = server
        .gather(&[&client.encrypt(&x, &[rows, columns]).unwrap()], &[rows, 1], &places)
        .unwrap();
    let product = server.mul(&column, &client.encrypt(&y, &[wide]).unwrap()).unwrap();
    let packed = Layout::packed(&[rows, wide], product.layout().slots()).unwrap();
    assert_eq!(product.layout().ciphertexts(), packed.ciphertexts());
    let expected: Vec<f64> =
        places.iter().flat_map(|place| y.iter().map(|y| x[*place] * y)).collect();
    assert_close(&client.decrypt(&product).unwrap(), &expected, "an outer product");
}

/// Copies along an axis whose length is not a power of two leave the stray slots at zero. A mean is
/// broadcast without a move.
#[test]
fn broadcast_means_can_be_summed_and_centring_takes_one_product() {
    for (rows, columns) in [(5, 7), (6, 3), (40, 11)] {
        let (client, server) = insecure(7, 4);
        let x = numbers(rows * columns, 5);
        let array = client.encrypt(&x, &[rows, columns]).unwrap();
        for axis in [0, 1] {
            let mean = server.mean(&array, Some(axis)).unwrap();
            let mean = server.insert_axis(&mean, axis).unwrap();
            let repeated = server.broadcast_to(&mean, &[rows, columns]).unwrap();
            let centred = server.sub(&array, &repeated).unwrap();
            let length = [rows, columns][axis];
            let expected = |i: usize, j: usize| {
                let along =
                    |k: usize| if axis == 0 { x[k * columns + j] } else { x[i * columns + k] };
                x[i * columns + j] - (0..length).map(along).sum::<f64>() / length as f64
            };
            let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
            let expected: Vec<f64> = places.map(|(i, j)| expected(i, j)).collect();
            assert_close(&client.decrypt(&centred).unwrap(), &expected, "centred");
            let squares = server.sum(&server.square(&centred).unwrap(), None).unwrap();
            let total = expected.iter().map(|x| x * x).sum();
            assert_close(&client.decrypt(&squares).unwrap(), &[total], "the sum of squares");
            if !length.is_power_of_two() {
                assert_eq!(
                    products_left(&array, &server) - products_left(&centred, &server),
                    1,
                    "{rows} x {columns}, {axis}"
                );
            }
        }
    }
}

/// Returns a client of integers modulo 65537 in 128 slots and its server. Insecure.
fn insecure_integers() -> (ClientKey, Server) {
    let how = Integers { scheme: Scheme::Bgv, plain_modulus: 65_537 };
    let settings = insecure_settings(7, 3).with_integers(how).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    (client, server)
}

#[test]
fn integers_are_moved_exactly() {
    let (client, server) = insecure_integers();
    let x: Vec<i64> = (0..90).collect();
    let array = client.encrypt_integers(&x, &[10, 9]).unwrap();
    for (shape, sources) in [
        (vec![9, 10], (0..90).map(|e| e % 10 * 9 + e / 10).collect::<Vec<_>>()),
        (vec![10], (0..10).map(|i| 9 * i + 4).collect()),
        (vec![2, 9], (72..90).collect()),
        (vec![3], vec![89, 0, 89]),
    ] {
        let moved = server.gather(&[&array], &shape, &sources).unwrap();
        let expected: Vec<i64> = sources.iter().map(|s| *s as i64).collect();
        assert_eq!(client.decrypt_integers(&moved).unwrap(), expected, "{shape:?}");
    }
    let twice = server.gather(&[&array, &array], &[180], &(0..180).collect::<Vec<_>>()).unwrap();
    assert_eq!(client.decrypt_integers(&twice).unwrap(), [&x[..], &x[..]].concat());
}

/// The two rows of slots rotate separately. Elements that stay in their row are moved like numbers,
/// without a product.
#[test]
fn integers_that_stay_in_their_row_are_not_multiplied() {
    let (client, server) = insecure_integers();
    // There are 128 slots. The arrays fill rows of the first 64 slots, or of all slots.
    for (rows, from, taken, free) in
        [(8, 3, 5, true), (16, 8, 8, true), (16, 3, 5, true), (16, 6, 4, false), (16, 9, 7, false)]
    {
        let x: Vec<i64> = (0..8 * rows).collect();
        let array = client.encrypt_integers(&x, &[rows as usize, 8]).unwrap();
        let budget = |array: &IntegerArray| array.budget_bits(server.session());
        let sources: Vec<usize> = (8 * from..8 * (from + taken)).collect();
        let slice = server.gather(&[&array], &[taken, 8], &sources).unwrap();
        let expected: Vec<i64> = sources.iter().map(|s| *s as i64).collect();
        assert_eq!(client.decrypt_integers(&slice).unwrap(), expected);
        assert_eq!(budget(&array) - budget(&slice) < 4.0, free, "{rows} {from} {taken}");
        let total = server.sum(&slice, None).unwrap();
        assert_eq!(client.decrypt_integers(&total).unwrap(), [expected.iter().sum::<i64>()]);
        // The slice joined with itself.
        let behind: Vec<usize> = (0..16 * taken).collect();
        let fresh = client.encrypt_integers(&expected, &[taken, 8]).unwrap();
        let twice = server.gather(&[&fresh, &fresh], &[2 * taken, 8], &behind).unwrap();
        assert_eq!(
            client.decrypt_integers(&twice).unwrap(),
            [&expected[..], &expected[..]].concat()
        );
        // The copy stays in the first row of slots, or moves by exactly one row.
        assert_eq!(budget(&fresh) - budget(&twice) < 4.0, [4, 8].contains(&taken), "{taken}");
    }
}

#[test]
fn places_beyond_the_elements_are_refused() {
    let (client, server) = insecure(7, 2);
    let array = client.encrypt(&numbers(6, 1), &[2, 3]).unwrap();
    let message = |arrays: &[&EncryptedArray], shape: &[usize], sources: &[usize]| {
        server.gather(arrays, shape, sources).unwrap_err().to_string()
    };
    assert!(message(&[&array], &[1], &[6]).contains("place 6 of 6 elements"));
    assert!(message(&[], &[1], &[0]).contains("place 0 of 0 elements"));
    assert!(message(&[&array], &[2], &[0]).contains("do not fill"));
    assert!(message(&[&array], &[0], &[]).contains("no elements"));
    let other = insecure(7, 2).0.encrypt(&[1.0], &[1]).unwrap();
    assert!(message(&[&array, &other], &[1], &[0]).contains("key"));
}

/// A layout names a number of slots, which is compared with that of the ciphertexts only when both
/// come together.
#[test]
fn layouts_of_other_slots_are_refused() {
    let (client, server) = insecure(7, 2);
    let (array, slots) =
        (client.encrypt(&[1.0, 2.0, 3.0], &[3]).unwrap(), server.session().slots());
    for other in [1, 2, slots / 2, 2 * slots, 1 << 20, 1 << 63] {
        for stride in [1, 2] {
            let layout = Layout::new(vec![3], vec![stride], other).unwrap();
            let what = format!("the layout is of {other} slots, ciphertexts have {slots}");
            let is_refused = |error: Error| {
                assert!(matches!(&error, Error::Shape { what: is, .. } if *is == what), "{error}");
            };
            is_refused(server.relayout(&array, layout.clone()).unwrap_err());
            let bodies = vec![array.bodies()[0].clone(); layout.ciphertexts()];
            let array = EncryptedArray::from_parts(
                layout,
                *array.form(),
                hippocrene::SlotContents::Zero,
                bodies,
            )
            .unwrap();
            is_refused(server.mul_plain(&array, &[1.0, 2.0, 3.0][..]).unwrap_err());
            is_refused(server.broadcast_to(&array, &[2, 3]).unwrap_err());
            is_refused(client.decrypt(&array).unwrap_err());
        }
    }
    let spread = server.relayout(&array, Layout::new(vec![3], vec![2], slots).unwrap()).unwrap();
    assert_close(&client.decrypt(&spread).unwrap(), &[1.0, 2.0, 3.0], "moved");
}

#[test]
fn encrypted_matrices_are_multiplied() {
    let (client, server) = insecure(8, 3);
    for (n, k, m) in [(3, 4, 2), (5, 7, 6), (1, 3, 1), (4, 1, 4)] {
        let (x, y) = (numbers(n * k, 1), numbers(k * m, 2));
        let (a, b) = (client.encrypt(&x, &[n, k]).unwrap(), client.encrypt(&y, &[k, m]).unwrap());
        let product = server.dot(&a, &b).unwrap();
        assert_eq!(product.shape(), [n, m]);
        let entry = |i: usize, j: usize| (0..k).map(|l| x[i * k + l] * y[l * m + j]).sum::<f64>();
        let expected: Vec<f64> = (0..n * m).map(|e| entry(e / m, e % m)).collect();
        assert_close(&client.decrypt(&product).unwrap(), &expected, "a @ b");

        let square = server.dot(&server.transpose(&a).unwrap(), &a).unwrap();
        let entry = |i: usize, j: usize| (0..n).map(|l| x[l * k + i] * x[l * k + j]).sum::<f64>();
        let expected: Vec<f64> = (0..k * k).map(|e| entry(e / k, e % k)).collect();
        assert_close(&client.decrypt(&square).unwrap(), &expected, "the transpose of a, @ a");
        let difference = server.sub(&square, &client.encrypt(&expected, &[k, k]).unwrap()).unwrap();
        assert_close(&client.decrypt(&difference).unwrap(), &vec![0.0; k * k], "what is left");
    }
    let a = client.encrypt(&numbers(6, 1), &[2, 3]).unwrap();
    assert!(server.dot(&a, &a).unwrap_err().to_string().contains("the last axis of the first"));
    let row = client.encrypt(&numbers(4097, 1), &[1, 4097]).unwrap();
    let error = server.dot(&server.transpose(&row).unwrap(), &row).unwrap_err().to_string();
    assert!(error.contains("4097 times 8192 slots"), "{error}");
}

/// Copies are made from the first one by rotations to the right, or from the last one by rotations
/// to the left, depending on the keys.
#[test]
fn copies_use_the_available_rotation_keys() {
    let client = ClientKey::generate_with(insecure_settings(8, 2), 1).unwrap();
    let x = numbers(5, 3);
    let with_keys = |rotations: &[i64]| {
        let request = KeyRequest {
            powers_of_two: false,
            rotations: rotations.to_vec(),
            ..KeyRequest::default()
        };
        Server::new(client.evaluation_keys(&request).unwrap()).unwrap()
    };
    // There are 128 slots, and rows have 8 of them.
    for (rows, right, left) in [
        (4, vec![-8, -16], vec![8, 16, -24]),
        (13, vec![-8, -16, -32, -64], vec![8, 16, 32, 64, -96]),
        (16, vec![-8, -16, -32, -64], vec![8, 16, 32, 64]),
    ] {
        for keys in [&right, &left, &[right.clone(), left.clone()].concat()] {
            let server = with_keys(keys);
            let row = server.broadcast_to(&client.encrypt(&x, &[5]).unwrap(), &[rows, 5]).unwrap();
            assert_close(
                &client.decrypt(&row).unwrap(),
                &x.repeat(rows),
                &format!("{rows} rows by {keys:?}"),
            );
        }
        let fewer = with_keys(&left[1..]);
        let error = fewer.broadcast_to(&client.encrypt(&x, &[5]).unwrap(), &[rows, 5]).unwrap_err();
        assert!(error.to_string().contains("the keys lack the rotation"), "{error}");
    }
}
