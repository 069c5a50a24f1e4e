//! Tests of look-up tables on arrays, with small insecure parameters and with keys read from bytes.

use crate::{
    common::{insecure_grafted, numbers},
    entry::seal,
};
use hippocrene::{
    Bootstrapping, ClientKey, Comparison, Encryption, Error, EvaluationKeys, Function, Interval,
    KeyRequest, LookUps, Preset, Server, Session, Simulation, Stored, Ties, Values,
};
use hippocrene_pegasus::Pegasus;
use hippocrene_rlwe::SecretDistribution;

/// Returns an encrypted array of values up to `bound`.
fn encrypt(
    client: &ClientKey,
    values: &[f64],
    shape: &[usize],
    bound: f64,
) -> hippocrene::EncryptedArray {
    let declared = Encryption { interval: Some(Interval::symmetric(bound)), precision: None };
    client.encrypt_with(Values::Real(values), shape, &declared).unwrap()
}

fn near(got: &[f64], expected: &[f64], error: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() < error, "{what}: {got:?} instead of {expected:?}");
    }
}

/// One test with one key, because making a key takes seconds.
///
/// With `lut11` an index has an error of about 8 entries, of the 2048 entries of a domain.
#[test]
fn functions_of_arrays_with_keys_that_were_stored() {
    let settings = insecure_grafted(11, 18, SecretDistribution::Ternary);
    let client = ClientKey::generate_with(settings, 2).unwrap();
    let asked = LookUps { tables: "lut11", capacity: Some(40.0), clusters: None };
    let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
    let keys = client.evaluation_keys(&request).unwrap();
    let bytes = keys.to_bytes();
    drop(keys);
    let inspection = hippocrene::wire::inspect(&bytes).unwrap();
    assert_eq!(inspection.keys.unwrap().tables, Some("lut11"));
    for wrong in [bytes.len() - 1, bytes.len() / 2] {
        assert!(matches!(
            EvaluationKeys::from_bytes_insecure(&bytes[..wrong], 1),
            Err(Error::Format(_))
        ));
    }
    let mut greedy = bytes.clone();
    let capacity = greedy.windows(8).position(|field| field == 40f64.to_le_bytes()).unwrap();
    greedy[capacity..capacity + 8].copy_from_slice(&2000f64.to_le_bytes());
    seal(&mut greedy);
    let error = EvaluationKeys::from_bytes_insecure(&greedy, 1).unwrap_err();
    assert!(matches!(error, Error::Format(_)));
    let needs = "keys of look-up tables: repacking needs a modulus of ";
    assert!(error.to_string().starts_with(needs), "{error}");
    drop(greedy);
    let stored = EvaluationKeys::from_bytes_insecure(&bytes, 2).unwrap();
    assert_eq!(stored.to_bytes(), bytes);
    drop(bytes);
    assert_eq!(stored.look_ups().unwrap().request(), asked);
    let server = Server::new(stored).unwrap();

    // Seven deviations of the index, 8 of 2048 entries each for the slope 1, and 10 % for the
    // resolution of the table.
    let error = |width: f64| 7.0 * 8.0 * width / 2048.0 * 1.1;
    let values: Vec<f64> = numbers(12, 1).iter().map(|x| 4.0 * x).collect();
    let x = encrypt(&client, &values, &[3, 4], 4.0);
    let y = server.apply_function(&x, Function::Sigmoid, None, None).unwrap();
    assert_eq!((y.shape(), y.bound()), (&[3, 4][..], Function::Sigmoid.value(4.0)));
    assert!(y.capacity_bits(server.session()) > 35.0);
    let expected = |f: fn(f64) -> f64| values.iter().map(|x| f(*x)).collect::<Vec<_>>();
    near(
        &client.decrypt(&y).unwrap(),
        &expected(|x| Function::Sigmoid.value(x)),
        0.25 * error(8.0),
        "sigmoid",
    );
    let tables = server.tables(|x| (x + 5.0).sqrt(), (-4.0, 4.0), Some(2)).unwrap();
    assert!(tables.deviation() < error(8.0) / 7.0);
    let y = server.apply_tables(&x, &tables).unwrap();
    near(
        &client.decrypt(&y).unwrap(),
        &expected(|x| (x + 5.0).sqrt()),
        0.5 * error(8.0),
        "square root",
    );
    // The stated precision of the array agrees with that of the tables.
    let (bits, stated) = (y.precision_bits(server.session()), -tables.deviation().log2());
    assert!((bits - stated).abs() < 0.5, "{bits} bits, {stated} stated");
    let f = |x: f64| Function::Sigmoid.value(x);
    let tangents = server.tangents(f, (-4.0, 4.0)).unwrap();
    let y_1 = server.apply_precisely(&x, f, None).unwrap();
    let alone = server.tables(f, (-4.0, 4.0), None).unwrap().deviation();
    assert!(tangents.deviation() < alone / 4.0, "{} and {alone}", tangents.deviation());
    near(
        &client.decrypt(&y_1).unwrap(),
        &expected(f),
        8.0 * tangents.deviation(),
        "sigmoid with slopes",
    );
    assert!(y_1.capacity_bits(server.session()) > 8.0);
    // Sums take no product, whatever the stray slots hold, and products can follow.
    let total = server.sum(&y, None).unwrap();
    near(
        &client.decrypt(&total).unwrap(),
        &[values.iter().map(|x| (x + 5.0).sqrt()).sum()],
        6.0 * error(8.0),
        "sum",
    );
    assert!(total.capacity_bits(server.session()) > y.capacity_bits(server.session()) - 4.0);
    let far = encrypt(&client, &[1.0, 900.0, -1.0, 900.0, 0.5, 900.0], &[6], 1000.0);
    let far = server.gather(&[&far], &[3], &[0, 2, 4]).unwrap();
    let outside = server.apply(&far, |x| x, Some((-2.0, 2.0)), None).unwrap_err().to_string();
    let words = "the values are from -1000 to 1000, but the domain is from -2 to 2";
    assert!(outside.contains(words) && outside.contains("with_interval"), "{outside}");
    let far = server.declare_bound(&far, 2.0).unwrap();
    let f = |x: f64| 3.0 * x.max(0.0) - x;
    for look_ups in [Some(1), Some(3), None] {
        let y = match look_ups {
            Some(_) => server.apply(&far, f, Some((-2.0, 2.0)), look_ups),
            None => server.apply_precisely(&far, f, Some((-2.0, 2.0))),
        };
        near(
            &client.decrypt(&y.unwrap()).unwrap(),
            &[2.0, 1.0, 1.0],
            3.0 * error(4.0),
            "with other numbers in the stray slots",
        );
    }
    let z = server.mul(&y, &y).unwrap();
    near(&client.decrypt(&z).unwrap(), &expected(|x| x + 5.0), 3.0 * error(8.0), "its square");

    let values = [3.0, -1.5, 0.25, 1.5, -3.0];
    let x = encrypt(&client, &values, &[5], 4.0);
    let (sorted, largest) = (server.sort(&x, None).unwrap(), server.largest(&x, None).unwrap());
    let in_order = client.decrypt(&sorted).unwrap();
    near(&in_order, &[-3.0, -1.5, 0.25, 1.5, 3.0], 3.0 * error(16.0), "sorted");
    near(&client.decrypt(&largest).unwrap(), &[3.0], 3.0 * error(16.0), "largest");
    let even = encrypt(&client, &values[1..], &[4], 4.0);
    for (y, expected, rounds, what) in [
        (server.smallest(&x, None), &[-3.0][..], 3.0, "smallest"),
        (server.median(&x, Some(0)), &[0.25], 3.0, "median"),
        (server.median(&even, None), &[-0.625], 3.0, "median of an even number"),
        (server.quantile(&x, &[0.8], None), &[1.8], 3.0, "quantile"),
        (
            server.quantile(&x, &[1.0, 0.25, 0.0], None),
            &[3.0, -1.5, -3.0],
            3.0,
            "quantiles at elements",
        ),
        (server.top_k(&x, 2, None), &[1.5, 3.0], 3.0, "the two largest"),
    ] {
        near(&client.decrypt(&y.unwrap()).unwrap(), expected, rounds * error(16.0), what);
    }
    // A round has an index error of 4.6 entries, and half of its domain is somewhat larger than the
    // largest difference.
    let pooled = server.max_pool(&x, 5).unwrap();
    assert_eq!(pooled.shape(), &[1]);
    for (y, rounds) in [(largest, 3.0f64), (pooled, 3.0), (sorted, Pegasus::sort_rounds(5) as f64)]
    {
        let (bits, stated) =
            (y.precision_bits(server.session()), -(4.6 * 16.0 / 2048.0 * rounds.sqrt()).log2());
        assert!((stated - 0.7..stated).contains(&bits), "{bits} bits, {stated} stated");
    }
    let image: Vec<f64> = numbers(24, 5).iter().map(|x| 4.0 * x).collect();
    let x_2 = encrypt(&client, &image, &[4, 6], 4.0);
    let pooled = server.max_pool(&x_2, 2).unwrap();
    let window = |i: usize, j: usize| {
        [0, 1, 6, 7].map(|k| image[12 * i + 2 * j + k]).into_iter().fold(f64::MIN, f64::max)
    };
    let expected: Vec<f64> =
        (0..2).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| window(i, j)).collect();
    assert_eq!(pooled.shape(), &[2, 3]);
    near(&client.decrypt(&pooled).unwrap(), &expected, 2.0 * error(16.0), "pooled");
    for (refused, what) in [
        (server.max_pool(&x_2, 4), "windows of 4 do not fill the shape (4, 6)"),
        (server.max_pool(&x, 0), "windows of 0"),
        (server.largest(&x_2, Some(2)), "max: there is no axis 2 in shape (4, 6)"),
        (server.top_k(&x, 6, None), "6 of 5 numbers"),
        (server.quantile(&x, &[], None), "no share is requested"),
        (server.quantile(&x, &[0.5, 1.5], None), "a share of 1.5: 0 to 1"),
        (server.quantile(&x, &[f64::NAN], None), "a share of NaN"),
        (server.argsort(&encrypt(&client, &[1.0; 1024], &[1024], 4.0), None), "among 1024 numbers"),
        (server.top_k(&x_2, 5, Some(0)), "5 of 4 numbers"),
        // This is refused before any of two million look-ups.
        (server.argmax(&encrypt(&client, &[1.0; 1024], &[1024], 4.0), None), "among 1024 numbers"),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    // Along one of several axes, and with elements in two ciphertexts.
    let table = [[3.0, -1.5, 0.25], [-3.0, 1.5, 2.0]];
    let x_2 = encrypt(&client, &table.concat(), &[2, 3], 4.0);
    let wide: Vec<f64> =
        (0..2048).map(|i| if i % 1024 < 3 { table[i / 1024][i % 1024] } else { 0.0 }).collect();
    let wide = encrypt(&client, &wide, &[2, 1024], 4.0);
    let apart = server.gather(&[&wide], &[2, 3], &[0, 1, 2, 1024, 1025, 1026]).unwrap();
    assert_eq!(apart.layout().ciphertexts(), 2);
    for (y, shape, expected, what) in [
        (
            server.sort(&x_2, Some(1)),
            &[2, 3][..],
            &[-1.5, 0.25, 3.0, -3.0, 1.5, 2.0][..],
            "rows sorted",
        ),
        (
            server.sort(&apart, Some(0)),
            &[2, 3],
            &[-3.0, -1.5, 0.25, 3.0, 1.5, 2.0],
            "columns sorted",
        ),
        (
            server.top_k(&x_2, 2, Some(1)),
            &[2, 2],
            &[0.25, 3.0, 1.5, 2.0],
            "the two largest of rows",
        ),
        (server.top_k(&x_2, 1, Some(0)), &[1, 3], &[3.0, 1.5, 2.0], "the largest of columns"),
        (server.largest(&apart, Some(1)), &[2], &[3.0, 2.0], "largest of rows"),
        (server.smallest(&x_2, None), &[], &[-3.0], "smallest of all"),
        (server.median(&x_2, Some(0)), &[3], &[0.0, 0.0, 1.125], "medians of columns"),
        (
            server.quantile(&x_2, &[0.25], Some(0)),
            &[1, 3],
            &[-1.5, -0.75, 0.6875],
            "quantiles of columns",
        ),
        (
            server.quantile(&apart, &[0.0, 0.75], Some(1)),
            &[2, 2],
            &[-1.5, -3.0, 1.625, 1.75],
            "quantiles of rows",
        ),
    ] {
        let y = y.unwrap();
        assert_eq!(y.shape(), shape, "{what}");
        near(&client.decrypt(&y).unwrap(), expected, 3.0 * error(16.0), what);
    }
    for (y, expected, what) in [
        (server.argmax(&apart, Some(1)), &[0.0, 2.0][..], "argmax of rows"),
        (server.argmin(&x_2, Some(0)), &[1.0, 0.0, 0.0], "argmin of columns"),
        (server.argsort(&apart, Some(1)), &[1.0, 2.0, 0.0, 0.0, 1.0, 2.0], "places in rows"),
        (server.argsort(&x_2, Some(0)), &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0], "places in columns"),
        (server.argsort(&x, None), &[4.0, 1.0, 2.0, 3.0, 0.0], "places"),
    ] {
        near(&client.decrypt(&y.unwrap()).unwrap(), expected, 0.1, what);
    }
    near(&client.decrypt(&server.argmin(&x, None).unwrap()).unwrap(), &[4.0], 0.1, "argmin");
    near(&client.decrypt(&server.argmax(&x, None).unwrap()).unwrap(), &[0.0], 0.1, "argmax");

    // Without the conjugation key, signs are computed by tables.
    let (left, right) =
        (encrypt(&client, &values, &[5], 4.0), encrypt(&client, &values[1..2], &[1], 4.0));
    let gap = server.table_gap(8.0).unwrap();
    assert!((0.1..0.2).contains(&gap), "{gap}");
    let (how, asked) = (Comparison::default(), |gap, precision| Comparison {
        gap,
        precision,
        ..Comparison::default()
    });
    for (y, expected, what) in [
        (server.sign(&left, how), [1.0, -1.0, 1.0, 1.0, -1.0], "sign"),
        (
            server.greater(&left, &right, asked(Some(0.5), Some(5.0))),
            [1.0, 0.0, 1.0, 1.0, 0.0],
            "greater",
        ),
        (server.less(&left, &right, how), [0.0, 0.0, 0.0, 0.0, 1.0], "less"),
        (
            server.less(&left, &right, Comparison { at_ties: Ties::One, ..how }),
            [0.0, 1.0, 0.0, 0.0, 1.0],
            "at most",
        ),
        (server.is_close(&left, &right, 2.5), [0.0, 1.0, 1.0, 0.0, 1.0], "close"),
    ] {
        let y = y.unwrap();
        let off = 8.0 * (-y.precision_bits(server.session())).exp2();
        assert!(off < 0.05 && y.capacity_bits(server.session()) > 35.0);
        near(&client.decrypt(&y).unwrap(), &expected, off, what);
    }
    // Maxima and minima are computed by tables too, for any differences, and return capacity that
    // the operands did not have.
    //
    // Their error is half of that of an index on the whole circle.
    let mean = |expected: [f64; 5],
                width: f64,
                y: Result<hippocrene::EncryptedArray, Error>,
                what: &str| {
        let y = y.unwrap();
        assert!(y.capacity_bits(server.session()) > 35.0, "{what}");
        let (bits, stated) = (y.precision_bits(server.session()), -(4.6 * width / 4096.0).log2());
        assert!((bits - stated).abs() < 0.5, "{what}: {bits} bits, {stated} expected");
        near(&client.decrypt(&y).unwrap(), &expected, 0.5 * error(width), what);
    };
    mean([3.0, -1.5, 0.25, 1.5, -1.5], 8.0, server.maximum(&left, &right, how), "maximum");
    mean([-1.5, -1.5, -1.5, -1.5, -3.0], 8.0, server.minimum(&left, &right, how), "minimum");
    mean([3.0, 0.0, 0.25, 1.5, 0.0], 4.0, server.relu(&left, asked(Some(1e-3), Some(4.0))), "relu");
    mean([3.0, 1.5, 0.25, 1.5, 3.0], 8.0, server.abs(&left, how), "magnitude");
    for (refused, what) in [
        (server.sign(&left, asked(Some(0.01), None)), "tables have a gap of"),
        (
            server.maximum(&left, &right, asked(None, Some(9.0))),
            "bits. More needs bootstrapping keys",
        ),
        (server.abs(&left, asked(None, Some(9.0))), "absolute value: tables have"),
        (
            server.greater(&left, &right, asked(None, Some(20.0))),
            "bits. More needs bootstrapping keys",
        ),
        (server.is_close(&left, &right, 0.1), "is close: a tolerance of 0.1"),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }

    for (refused, what) in [
        (
            server.apply_function(&x, Function::Log, None, None),
            "log is defined above 0, but not on all of [-4, 4]",
        ),
        (
            server.apply(&x, |x| 1.0 / x, Some((0.0, 1.0)), None),
            "the function is inf at 0, not finite",
        ),
        (server.apply(&x, |x| x, Some((1.0, 0.0)), None), "a domain from 1 to 0"),
        (server.apply(&x, |x| x, None, Some(9)), "9 look-ups for a number: 1 to 4 are possible"),
        (
            server.sort(&encrypt(&client, &values[..4], &[2, 2], 4.0), Some(2)),
            "no axis 2 in shape (2, 2)",
        ),
        (
            server.sort(
                &client.encrypt_complex(&[num_complex::Complex64::I; 2], &[2]).unwrap(),
                None,
            ),
            "the array is complex",
        ),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
}

/// Keys for bootstraps and look-ups together, without a requested capacity of look-ups.
#[test]
fn results_are_bootstrapped_if_capacity_allows() {
    let bootstrapping = Some(Bootstrapping { precision: Some(16.0), ..Bootstrapping::default() });
    let look_ups = LookUps::by_name("lut11").unwrap();
    let request = KeyRequest { bootstrapping, look_ups: Some(look_ups), ..KeyRequest::only([]) };
    let client =
        ClientKey::generate_with(insecure_grafted(11, 20, SecretDistribution::Ternary), 2).unwrap();
    let keys = client.evaluation_keys(&request).unwrap();
    let chosen = keys.look_ups().unwrap().request().capacity.unwrap();
    let server = Server::new(keys).unwrap();
    let reserve = server.bootstrap_reserve().unwrap();
    assert!((reserve + 28.0..reserve + 29.0).contains(&chosen), "{chosen}, {reserve}");
    let values = [0.5, -1.0, 1.5];
    let y = server
        .apply_function(&encrypt(&client, &values, &[3], 2.0), Function::Sigmoid, None, None)
        .unwrap();
    assert!(y.capacity_bits(server.session()) >= reserve + 20.0 && server.bootstraps() == 0);
    let y = server.bootstrap(&y).unwrap();
    let expected = values.map(|x| Function::Sigmoid.value(x));
    near(&client.decrypt(&y).unwrap(), &expected, 0.05, "a sigmoid that was bootstrapped");

    // The simulation chooses the same capacity as the keys, and a small modulus leaves less of it.
    let simulated = |units, capacity| {
        let asked = LookUps { capacity, ..look_ups };
        let request = KeyRequest { look_ups: Some(asked), ..request.clone() };
        let settings = insecure_grafted(11, units, SecretDistribution::Ternary);
        let simulation = Simulation::with_keys(settings, &request).unwrap();
        let declared = Encryption { interval: Some(Interval::symmetric(2.0)), precision: None };
        let x = simulation.encrypt(Values::Real(&values), &[3], &declared).unwrap();
        let y = simulation.server().apply_function(&x, Function::Sigmoid, None, None).unwrap();
        let error = simulation.server().bootstrap(&y).err().map(|error| error.to_string());
        (simulation.report().look_ups.unwrap().capacity, error)
    };
    assert_eq!(simulated(20, None), (Some(chosen), None));
    for (units, capacity, words) in [
        (20, Some(31.0), "make table keys with more capacity (LookUps)"),
        (12, None, "take a preset with a larger modulus"),
    ] {
        let (chosen, error) = simulated(units, capacity);
        let error = error.unwrap_or_else(|| {
            panic!("{units} units, {chosen:?} bits: a bootstrap takes {reserve}")
        });
        assert_eq!(chosen, capacity.or(Some(30.0)));
        assert!(error.contains("and a bootstrap needs") && error.contains(words), "{error}");
    }
}

#[test]
fn look_ups_without_tables_are_refused() {
    let client =
        ClientKey::generate_with(insecure_grafted(8, 4, SecretDistribution::Ternary), 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let x = client.encrypt(&[1.0, 2.0], &[2]).unwrap();
    for refused in
        [server.apply(&x, f64::exp, None, None), server.sort(&x, None), server.argmin(&x, None)]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), "MissingKeyError");
        assert!(refused.to_string().contains("no keys of look-up tables"), "{refused}");
    }
    let session = client.session();
    let plan = |tables, capacity| {
        LookUps { tables, capacity: Some(capacity), clusters: None }
            .plan(session)
            .unwrap_err()
            .to_string()
    };
    assert!(plan("lut14", 30.0).contains("There are lut11, lut12, lut13"));
    assert!(plan("lut12", f64::NAN).contains("not NaN"));
    assert!(plan("lut12", 30.0).contains("an LWE dimension of 1024: a power of two up to 128"));
    let simple = Session::new(crate::common::insecure_settings(12, 3), 1);
    let refused = LookUps::default().plan(&simple.unwrap()).unwrap_err().to_string();
    assert!(refused.contains("they need parameters with a sprout"), "{refused}");
}

/// `n15` is the smallest preset for look-ups.
#[test]
fn n15_has_room_for_tables() {
    let session = Session::new(Preset::by_name("n15").unwrap().settings().unwrap(), 1).unwrap();
    LookUps::default().plan(&session).unwrap();
}
