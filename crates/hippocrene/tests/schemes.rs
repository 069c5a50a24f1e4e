//! Tests of arrays of integers that servers of both schemes, BGV and BFV, compute on in turn. They
//! share only files.

use crate::common::insecure_settings;
use hippocrene::{
    ClientKey, Error, EvaluationKeys, IntegerArray, Integers, KeyRequest, Scheme, Server, Stored,
};
use proptest::prelude::*;

const T: u64 = 65_537;

const SCHEMES: [Scheme; 2] = [Scheme::Bgv, Scheme::Bfv];

/// Returns a client of this scheme, and one server of each scheme. Each server reads the keys from
/// bytes. Insecure.
fn client_and_servers(scheme: Scheme) -> (ClientKey, [Server; 2]) {
    let integers = Integers { scheme, plain_modulus: T };
    let settings = insecure_settings(7, 5).with_integers(integers).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::only([])).unwrap().to_bytes();
    let servers = SCHEMES.map(|scheme| {
        let keys = EvaluationKeys::from_bytes_insecure(&keys, 1).unwrap();
        Server::new(keys).unwrap().with_scheme(scheme).unwrap()
    });
    (client, servers)
}

#[test]
fn a_server_has_the_scheme_of_its_keys_by_default() {
    for scheme in SCHEMES {
        let (client, servers) = client_and_servers(scheme);
        let own = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
        assert_eq!(own.scheme(), Some(scheme));
        let a = client.encrypt_integers(&[5, -7], &[2]).unwrap();
        let products = SCHEMES.map(|s| own.with_scheme(s).unwrap().mul(&a, &a).unwrap());
        for (server, (product, s)) in servers.iter().zip(products.iter().zip(SCHEMES)) {
            assert_eq!(server.scheme(), Some(s));
            assert_eq!(client.decrypt_signed_integers(product).unwrap(), [25, 49]);
            // Only the scheme of the settings gives the same bytes, because the other leaves
            // another factor.
            assert_eq!(own.mul(&a, &a).unwrap().to_bytes() == product.to_bytes(), s == scheme);
        }
    }
    let numbers = ClientKey::generate_with(insecure_settings(7, 2), 1).unwrap();
    let numbers = Server::new(numbers.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    assert_eq!(numbers.scheme(), None);
    assert!(matches!(numbers.with_scheme(Scheme::Bfv), Err(Error::Argument { .. })));
}

/// Returns `a` as the next server reads it. Its noise budget must stay the same.
fn sent(client: &ClientKey, a: &IntegerArray, to: &Server) -> IntegerArray {
    let read = IntegerArray::from_bytes(&a.to_bytes(), to.session()).unwrap();
    assert_eq!(read.budget_bits(to.session()), a.budget_bits(client.session()));
    read
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Both servers take turns until the budget refuses a step. All results are right, and the real
    /// budget is at least the estimated one.
    #[test]
    fn circuits_through_both_are_exact(
        of in prop::sample::select(&SCHEMES[..]),
        steps in prop::collection::vec((0..2usize, 0..3u8), 8),
        x in prop::collection::vec(0..T as i64, 3),
        y in prop::collection::vec(0..T as i64, 3),
    ) {
        let (client, servers) = client_and_servers(of);
        let (mut a, b) = (
            client.encrypt_integers(&x, &[3]).unwrap(),
            client.encrypt_integers(&y, &[3]).unwrap(),
        );
        let mut values = x;
        for (k, step) in steps {
            let server = &servers[k];
            let (left, right) = (sent(&client, &a, server), sent(&client, &b, server));
            let result = match step {
                0 => server.mul(&left, &right),
                1 => server.mul(&left, &left),
                _ => server.add(&left, &right),
            };
            match result {
                Ok(result) => a = result,
                Err(error) => {
                    prop_assert!(matches!(error, Error::Budget(_)), "{}", error);
                    break;
                }
            }
            let of = |x: i64, y: i64| match step {
                0 => x * y,
                1 => x * x,
                _ => x + y,
            };
            values = values.iter().zip(&y).map(|(x, y)| of(*x, *y) % T as i64).collect();
            prop_assert_eq!(&client.decrypt_integers(&a).unwrap(), &values);
            prop_assert!(a.budget_bits(client.session()) <= client.noise_budget(&a).unwrap());
        }
    }
}
