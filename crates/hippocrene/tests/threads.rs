//! Tests that several threads give the same results as one.

use std::thread;

use crate::common::{insecure_settings, numbers};
use hippocrene::{
    ClientKey, EncryptedArray, Error, EvaluationKeys, IntegerArray, Integers, KeyRequest, Scheme,
    Server, Stored,
};

const SLOTS: usize = 1 << 7;
/// Arrays have five ciphertexts, a number that no number of threads divides.
const SHAPE: [usize; 2] = [5, SLOTS];

struct Setup {
    client: ClientKey,
    keys: EvaluationKeys,
    numbers: [EncryptedArray; 2],
    integers: IntegerArray,
}

fn setup() -> Setup {
    let integers = Integers { plain_modulus: 7681, scheme: Scheme::Bgv };
    let settings = insecure_settings(8, 5).with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let arrays = [1, 2].map(|seed| client.encrypt(&numbers(5 * SLOTS, seed), &SHAPE).unwrap());
    let whole: Vec<i64> = (0..5 * 2 * SLOTS as i64).collect();
    let integers = client.encrypt_integers(&whole, &[5, 2 * SLOTS]).unwrap();
    Setup { client, keys, numbers: arrays, integers }
}

impl Setup {
    fn server(&self, threads: usize) -> Server {
        Server::with_threads(&self.keys, threads).unwrap()
    }

    /// Returns the results, as bytes, of all operations that loop over several ciphertexts.
    fn results(&self, server: &Server) -> Vec<Vec<u8>> {
        let [a, b] = &self.numbers;
        let (plain, matrix) = (numbers(5 * SLOTS, 3), numbers(SLOTS * 3, 4));
        let of_numbers = [
            server.mul(a, b),
            server.add(a, a),
            server.add(&server.square(a).unwrap(), b),
            server.mul_plain(a, &plain[..]),
            server.add_plain(a, &plain[..]),
            server.pow(a, 3),
            server.sum(a, None),
            server.sum(a, Some(0)),
            server.roll(a, 3, None),
            server.roll(a, 3, Some(1)),
            server.matmul_plain(a, &matrix, 3),
            server.cumsum(a, 1),
        ];
        let c = &self.integers;
        let of_integers = [
            server.mul(c, c),
            server.mul_plain(c, &(0..10 * SLOTS as i64).collect::<Vec<_>>()[..]),
            server.sum(c, Some(0)),
            server.roll(c, 1, Some(0)),
        ];
        let bytes = of_numbers.iter().map(|a| a.as_ref().unwrap().to_bytes());
        bytes.chain(of_integers.iter().map(|a| a.as_ref().unwrap().to_bytes())).collect()
    }
}

#[test]
fn bytes_are_those_of_one_thread() {
    let setup = setup();
    let expected = setup.results(&setup.server(1));
    let written = setup.numbers[0].to_bytes();
    for threads in [2, 3, 8] {
        let server = setup.server(threads);
        assert_eq!(setup.results(&server), expected, "{threads} threads");
        // The second time, the linear maps are in the cache.
        assert_eq!(setup.results(&server), expected, "{threads} threads again");
        let read = EncryptedArray::from_bytes(&written, server.session()).unwrap();
        assert_eq!(read.to_bytes(), written);
        let client = ClientKey::from_bytes_insecure(&setup.client.to_bytes(), threads).unwrap();
        assert_eq!(
            client.decrypt(&read).unwrap(),
            setup.client.decrypt(&setup.numbers[0]).unwrap()
        );
    }
}

/// One caller prepares shared data and the others wait for it. No two callers wait for each other.
#[test]
fn concurrent_callers_get_equal_results() {
    let setup = setup();
    let expected = setup.results(&setup.server(1));
    for threads in [2, 4] {
        let server = setup.server(threads);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..3).for_each(|_| assert_eq!(setup.results(&server), expected)));
            }
        });
    }
}

/// Keys made by several threads work, and files of keys are the same whether one or several threads
/// read them.
#[test]
fn keys_of_several_threads_serve() {
    let setup = setup();
    let client = ClientKey::from_bytes_insecure(&setup.client.to_bytes(), 3).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let written = keys.to_bytes();
    assert_eq!(EvaluationKeys::from_bytes_insecure(&written, 3).unwrap().to_bytes(), written);
    let [a, b] = &setup.numbers;
    for threads in [1, 3] {
        let server = Server::with_threads(&keys, threads).unwrap();
        let turned = server.roll(&server.mul(a, b).unwrap(), 5, Some(1)).unwrap();
        let plain = [a, b].map(|x| client.decrypt(x).unwrap());
        for (i, y) in client.decrypt(&turned).unwrap().into_iter().enumerate() {
            let from = i / SLOTS * SLOTS + (i + SLOTS - 5) % SLOTS;
            assert!((y - plain[0][from] * plain[1][from]).abs() < 1e-3, "{threads} threads, {i}");
        }
    }
}

/// The error is the first one, whichever thread finds an error first.
#[test]
fn errors_are_those_of_one_thread() {
    let setup = setup();
    let mut values = numbers(5 * SLOTS, 1);
    values[SLOTS + 2] = f64::NAN;
    values[4 * SLOTS] = f64::INFINITY;
    let [one, three] = [1, 3].map(|threads| {
        let client = ClientKey::from_bytes_insecure(&setup.client.to_bytes(), threads).unwrap();
        let server = setup.server(threads);
        let plain = server.mul_plain(&setup.numbers[0], &values[..]).unwrap_err();
        let expected = format!("encode: value {} is NaN", SLOTS + 2);
        assert!(
            matches!(plain, Error::Encode(_)) && plain.to_string().starts_with(&expected),
            "{plain}"
        );
        [plain, client.encrypt(&values, &SHAPE).unwrap_err()].map(|error| error.to_string())
    });
    assert_eq!(one, three);
}
