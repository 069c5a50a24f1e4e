//! Operations are decided before a ciphertext is computed: nothing is computed in vain, and keys
//! are found missing before any work.

use crate::common::{insecure_grafted, numbers};
use hippocrene::{
    Basis, Bootstrapping, ClientKey, Encryption, Error, KeyRequest, Polynomial, Server, Simulation,
};
use hippocrene_rlwe::SecretDistribution;

fn transforms(server: &Server) -> u64 {
    server.session().context().rlwe().transforms()
}

/// The real run transforms the same number of limbs as the simulated one, although capacity runs
/// short and operands are bootstrapped. The simulation counts the chosen candidates alone.
#[test]
fn no_unused_ciphertext_is_computed() {
    let sparse = SecretDistribution::SparseTernary { weight: 64 };
    let client = ClientKey::generate_with(insecure_grafted(7, 20, sparse), 1).unwrap();
    let how = Bootstrapping { precision: Some(20.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let keys = client.evaluation_keys(&request).unwrap();
    let server = Server::new(&keys).unwrap();
    let simulation = Simulation::limited_to_keys(&keys).unwrap();
    let x = numbers(16, 1);
    let mut a = client.encrypt(&x, &[16]).unwrap().with_bound(1.0).unwrap();
    let mut b = simulation.encrypt((&x[..]).into(), &[16], &Encryption::default()).unwrap();
    b = b.with_bound(1.0).unwrap();
    let p = Polynomial::new(Basis::Monomial, (1..=8).map(|i| 1.0 / f64::from(1 << i)).collect());
    let p = p.unwrap();
    // Products use up the capacity, and the last operations bootstrap.
    for step in 0..28 {
        let before = transforms(&server);
        let count_before = server.bootstraps();
        simulation.restart();
        let run = |server: &Server, a: &hippocrene::EncryptedArray| match step % 4 {
            0 => server.mul(a, a),
            1 => server.pow(a, 3),
            2 => server.polynomial(a, &p),
            _ => server.mul_plain(a, &[0.5; 16][..]),
        };
        a = run(&server, &a).unwrap().with_bound(1.0).unwrap();
        b = run(simulation.server(), &b).unwrap().with_bound(1.0).unwrap();
        let tally = simulation.server().session().context().rlwe().tally();
        let (done, planned) = (transforms(&server) - before, tally.transforms());
        // Bootstraps encode their matrices once, which the simulation may count at another time.
        let encoded = if tally.raises() > 0 { planned / 200 } else { 0 };
        assert!(done.abs_diff(planned) <= encoded, "step {step}: {done}, and {planned} planned");
        assert_eq!(server.bootstraps() - count_before, tally.raises(), "step {step}");
        let capacity =
            |a: &hippocrene::EncryptedArray, server: &Server| a.capacity_bits(server.session());
        assert_eq!(capacity(&a, &server), capacity(&b, simulation.server()), "step {step}");
    }
    assert!(server.bootstraps() > 0);
}

/// Without one of the keys that it would use, a product is computed in another way, or nothing is.
#[test]
fn a_missing_key_is_found_before_any_work() {
    let settings = || insecure_grafted(8, 20, SecretDistribution::Ternary);
    let client = ClientKey::generate_with(settings(), 1).unwrap();
    let simulation = Simulation::new(settings()).unwrap();
    let (x, y) = (numbers(12, 1), numbers(12, 2));
    let simulated = |x: &[f64], shape: &[usize]| {
        simulation.encrypt(x.into(), shape, &Encryption::default()).unwrap()
    };
    let (a, b) = (simulated(&x, &[3, 4]), simulated(&y, &[4, 3]));
    simulation.restart();
    simulation.server().dot(&a, &b).unwrap();
    let used = simulation.report().rotations();
    assert!(used.len() > 1, "{used:?}");
    let (a, b) = (client.encrypt(&x, &[3, 4]).unwrap(), client.encrypt(&y, &[4, 3]).unwrap());
    let product = |i: usize, j: usize| (0..4).map(|k| x[i * 4 + k] * y[k * 3 + j]).sum::<f64>();
    let mut missing = 0;
    for left_out in &used {
        let others = used.iter().copied().filter(|rotation| rotation != left_out);
        let server =
            Server::new(client.evaluation_keys(&KeyRequest::only(others)).unwrap()).unwrap();
        let before = transforms(&server);
        match server.dot(&a, &b) {
            Ok(got) => {
                for (k, got) in client.decrypt(&got).unwrap().into_iter().enumerate() {
                    assert!((got - product(k / 3, k % 3)).abs() < 1e-3);
                }
            }
            Err(error) => {
                assert!(matches!(error, Error::MissingKey { .. }), "{error}");
                assert_eq!(transforms(&server), before);
                missing += 1;
            }
        }
    }
    assert!(missing > 0);
}
