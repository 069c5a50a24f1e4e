//! Tests that simulated programs give the same results as real ones, and request exactly the keys
//! that real ones need.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Error, Integers, Interval, KeyRequest,
    Preset, Purpose, Scheme, Server, Settings, Simulation, Stored,
};
use hippocrene_rlwe::SecretDistribution;

fn settings() -> Settings {
    Preset::by_name("n13").unwrap().settings().unwrap()
}

fn vector() -> Vec<f64> {
    (0..48).map(|i| f64::from(i) / 24.0 - 1.0).collect()
}

/// Runs one operation of each kind: a product, a rotation and a sum.
fn program(
    server: &Server,
    a: &EncryptedArray,
    b: &EncryptedArray,
) -> Result<EncryptedArray, Error> {
    let product = server.mul(a, b)?;
    let shifted = server.add_number(&server.roll(&product, 3, None)?, 0.25)?;
    server.sum(&shifted, None)
}

#[test]
fn a_simulated_program_matches_the_real_one() {
    let simulation = Simulation::new(settings()).unwrap();
    let how = Encryption::default();
    let x = vector();
    let [a, b] = [0, 1].map(|_| simulation.encrypt((&x[..]).into(), &[48], &how).unwrap());
    simulation.restart();
    let simulated = program(simulation.server(), &a, &b).unwrap();
    let report = simulation.report();

    let client = ClientKey::generate_with(settings(), 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap();
    let server = Server::new(&keys).unwrap();
    let [a, b] = [0, 1].map(|_| client.encrypt(&x, &[48]).unwrap());
    let real = program(&server, &a, &b).unwrap();
    let session = server.session();
    assert_eq!(real.capacity_bits(session), simulated.capacity_bits(simulation.server().session()));
    assert_eq!(
        real.precision_bits(session),
        simulated.precision_bits(simulation.server().session())
    );
    assert_eq!((real.bound(), real.layout()), (simulated.bound(), simulated.layout()));
    let values = simulation.values(&simulated).unwrap();
    for (real, simulated) in client.decrypt(&real).unwrap().iter().zip(&values) {
        assert!((real - simulated.re).abs() < 1e-5, "{real}, {simulated} simulated");
    }
    let expected = x.iter().map(|x| x * x + 0.25).sum::<f64>();
    assert!((values[0].re - expected).abs() < 1e-9);

    // The report has as many keys as were made, each at a modulus of ciphertexts, and no unneeded
    // key.
    assert_eq!(report.keys.len(), 1 + keys.inner().galois().len());
    assert!(report.keys.iter().any(|key| key.purpose == Purpose::Relinearisation));
    let top = session.settings().parameters().top();
    assert!(report.keys.iter().all(|key| key.modulus.divides(top) && key.modulus_bits > 0.0));
    let rotations = report.rotations();
    for left_out in &rotations {
        let fewer = rotations.iter().copied().filter(|step| step != left_out);
        let keys = client.evaluation_keys(&KeyRequest::only(fewer)).unwrap();
        assert!(matches!(
            program(&Server::new(&keys).unwrap(), &a, &b),
            Err(Error::MissingKey { .. }) | Ok(_)
        ));
    }
    let size = keys.to_bytes().len() as f64;
    assert!(
        (report.key_bytes as f64 / size - 1.0).abs() < 0.05,
        "{size} bytes, {} in the report",
        report.key_bytes
    );
    assert!(
        report.seconds > 0.0 && report.bootstraps == 0 && report.peak_memory > report.key_bytes
    );
    assert!(report.operations.windows(2).all(|pair| pair[0].2 >= pair[1].2));
    assert!(report.operations.iter().any(|(name, count, _)| *name == "switch keys" && *count > 0));
    simulation.restart();
    assert_eq!(simulation.report().keys, []);
}

/// A program without products of encrypted arrays requests no relinearisation key.
#[test]
fn programs_without_products_request_no_relinearisation_key() {
    let simulation = Simulation::new(settings()).unwrap();
    let simulated =
        simulation.encrypt((&vector()[..]).into(), &[48], &Encryption::default()).unwrap();
    let program = |server: &Server, a: &EncryptedArray| server.add(&server.roll(a, 1, None)?, a);
    simulation.restart();
    program(simulation.server(), &simulated).unwrap();
    let report = simulation.report();
    let client = ClientKey::generate_with(settings(), 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap();
    assert!(!report.relinearises() && keys.inner().relinearisation().is_none());
    let size = keys.to_bytes().len() as f64;
    assert!(
        (report.key_bytes as f64 / size - 1.0).abs() < 0.01,
        "{size} bytes, {} in the report",
        report.key_bytes
    );
    let (server, a) = (Server::new(&keys).unwrap(), client.encrypt(&vector(), &[48]).unwrap());
    program(&server, &a).unwrap();
    let error = server.mul(&a, &a).unwrap_err();
    assert!(matches!(error, Error::MissingKey { .. }), "{error}");
}

/// Bootstrapping keys use no memory in a program without bootstraps.
#[test]
fn bootstrapping_keys_add_no_memory_without_bootstraps() {
    let peak = |simulation: Simulation| {
        let x = simulation.encrypt((&vector()[..]).into(), &[48], &Encryption::default()).unwrap();
        simulation.restart();
        simulation.server().mul(&x, &x).unwrap();
        simulation.report().peak_memory
    };
    let settings = || Preset::by_name("n15").unwrap().settings().unwrap();
    let without = peak(Simulation::new(settings()).unwrap());
    let with = peak(Simulation::with_bootstrapping(settings(), Bootstrapping::default()).unwrap());
    assert!((with as f64 / without as f64 - 1.0).abs() < 0.1, "{with} and {without} bytes");
}

#[test]
fn errors_are_those_of_the_real_run() {
    let simulation = Simulation::new(settings()).unwrap();
    let client = ClientKey::generate_with(settings(), 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let x = vector();
    let powers = |server: &Server, mut a: EncryptedArray| loop {
        match server.mul(&a, &a) {
            Ok(square) => a = square,
            Err(error) => return error.to_string(),
        }
    };
    let simulated = simulation.encrypt((&x[..]).into(), &[48], &Encryption::default()).unwrap();
    let error = powers(simulation.server(), simulated.clone());
    assert_eq!(error, powers(&server, client.encrypt(&x, &[48]).unwrap()));
    assert!(error.contains("capacity"), "{error}");

    // A simulation detects a bound that the values exceed. A real run cannot.
    let error = simulated.clone().with_bound(0.5).unwrap_err().to_string();
    assert!(error.contains("does not lie from -0.5 to 0.5"), "{error}");
    assert!(client.encrypt(&x, &[48]).unwrap().with_bound(0.5).is_ok());

    // Simulated arrays cannot be used outside their simulation.
    let mixed = server.add(&simulated, &simulated).unwrap_err();
    assert!(matches!(mixed, Error::ParameterMismatch { .. }), "{mixed}");
    let error = client.decrypt(&simulated).unwrap_err().to_string();
    assert_eq!(error, "decrypt: this is an array of a simulation, which has no residues");
    assert!(Simulation::new(settings()).unwrap().report().seconds.is_sign_positive());
    let path = std::env::temp_dir().join("hippocrene-simulated-array");
    let error = simulated.save(&path).unwrap_err().to_string();
    assert!(error.contains("simulation") && !path.exists(), "{error}");
}

/// A chain of products bootstraps by itself, as often as a real run and at the same steps.
#[test]
fn bootstraps_are_simulated() {
    simulated_and_real(20.0, None);
}

#[test]
fn iterated_bootstraps_are_simulated() {
    simulated_and_real(40.0, None);
}

#[test]
fn bootstraps_of_few_slots_are_simulated() {
    simulated_and_real(20.0, Some(16));
}

/// Bootstrapped arrays have the same modulus whatever unit they were scaled to. This also holds
/// when their stray slots are set to zero again, so products lose no capacity.
#[test]
fn factors_bootstrapped_in_other_units_have_the_same_capacity() {
    let settings = insecure_grafted(9, 20, SecretDistribution::SparseTernary { weight: 64 });
    for slots in [None, Some(16)] {
        let how = Bootstrapping { precision: Some(20.0), slots, ..Bootstrapping::default() };
        let simulation = Simulation::with_bootstrapping(settings.clone(), how).unwrap();
        let (server, session) = (simulation.server(), simulation.server().session());
        let bootstrapped = |bound: f64| {
            let how = Encryption { interval: Some(Interval::symmetric(bound)), precision: None };
            server.bootstrap(&simulation.encrypt((&[0.5][..]).into(), &[1], &how).unwrap()).unwrap()
        };
        let capacity = |x: f64, y: f64| {
            let product = server.mul(&bootstrapped(x), &bootstrapped(y)).unwrap();
            product.capacity_bits(session) + product.bound().log2()
        };
        let (one, other) = (capacity(1.0, 1.0), capacity(1.0, 2.5));
        assert!((one - other).abs() < 2.5, "{slots:?}: {one}, {other}");
    }
}

/// Results with an array of larger parameters are unknown.
#[test]
fn arrays_of_other_parameters_have_unknown_capacity() {
    let small = Simulation::new(Preset::by_name("n12").unwrap().settings().unwrap()).unwrap();
    let client = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    let a = client.encrypt(&[0.5][..], &[1]).unwrap();
    let session = small.server().session();
    assert!(a.capacity_bits(session).is_nan() && a.precision_bits(session).is_nan());
    assert!(small.values(&a).is_none());
    let refused = small.server().declare_precision(&a, 8.0).unwrap_err();
    assert!(matches!(refused, Error::ParameterMismatch(_)), "{refused:?}");
}

/// An array can be bootstrapped repeatedly, however many iterations each bootstrap takes.
#[test]
fn results_of_bootstraps_can_be_bootstrapped_again() {
    let settings =
        Preset::by_name("n15").unwrap().settings().unwrap().with_precision(50.0).unwrap();
    let how = Bootstrapping { precision: Some(50.0), ..Bootstrapping::default() };
    let simulation = Simulation::with_bootstrapping(settings, how).unwrap();
    let server = simulation.server();
    let mut a = simulation.encrypt((&[0.5][..]).into(), &[1], &Encryption::default()).unwrap();
    for i in 0..3 {
        a = server.bootstrap(&a).unwrap_or_else(|error| panic!("{i}: {error}"));
        assert!(a.precision_bits(server.session()) > 48.0);
    }
}

fn simulated_and_real(precision: f64, slots: Option<usize>) {
    let secret = SecretDistribution::SparseTernary { weight: 64 };
    let settings = insecure_grafted(8, 20, secret).with_precision(32f64.max(precision)).unwrap();
    let how = Bootstrapping { precision: Some(precision), slots, ..Bootstrapping::default() };
    let simulation = Simulation::with_bootstrapping(settings.clone(), how).unwrap();
    let x: Vec<f64> = (0..slots.unwrap_or(128)).map(|i| i as f64 / 128.0).collect();
    let chain = |server: &Server, mut a: EncryptedArray| {
        for _ in 0..24 {
            let half = server.mul_number(&a, 0.5).unwrap().with_bound(1.0).unwrap();
            a = server.mul(&half, &a).unwrap().with_bound(1.0).unwrap();
            a = server.add_number(&a, 0.5).unwrap().with_bound(1.0).unwrap();
        }
        a
    };
    let a = simulation.encrypt((&x[..]).into(), &[x.len()], &Encryption::default()).unwrap();
    simulation.restart();
    let simulated = chain(simulation.server(), a);
    let report = simulation.report();
    assert!(report.bootstraps >= 2, "{}", report.bootstraps);
    assert_eq!(
        (report.bootstraps, report.bootstrapping),
        (simulation.server().bootstraps(), Some(how))
    );

    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server =
        Server::new(client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap()).unwrap();
    let real = chain(&server, client.encrypt(&x, &[x.len()]).unwrap());
    assert_eq!(server.bootstraps(), report.bootstraps);
    assert_eq!(
        real.capacity_bits(server.session()),
        simulated.capacity_bits(simulation.server().session())
    );
    assert_eq!(
        real.precision_bits(server.session()),
        simulated.precision_bits(simulation.server().session())
    );
    let values = simulation.values(&simulated).unwrap();
    for (real, simulated) in client.decrypt(&real).unwrap().iter().zip(&values) {
        assert!((real - simulated.re).abs() < 1e-3, "{real}, {simulated} simulated");
    }
}

#[test]
fn integers_are_simulated_too() {
    let integers = Integers { scheme: Scheme::Bfv, plain_modulus: 65537 };
    let settings = settings().with_integers(integers).unwrap();
    let simulation = Simulation::new(settings.clone()).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let simulated = simulation.encrypt_integers(&[1, -2, 3], &[3]).unwrap();
    simulation.restart();
    let simulated = simulation.server().mul(&simulated, &simulated).unwrap();
    let report = simulation.report();
    let server =
        Server::new(client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap()).unwrap();
    let real = client.encrypt_integers(&[1, -2, 3], &[3]).unwrap();
    let real = server.mul(&real, &real).unwrap();
    assert_eq!(
        real.budget_bits(server.session()),
        simulated.budget_bits(simulation.server().session())
    );
    assert!(report.rotations().is_empty());
    assert!(report.seconds > 0.0);
}

/// When no precision is left, a bootstrap marks the error as unknown. All later results keep this
/// mark.
#[test]
fn the_error_is_unknown_without_precision() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let simulation = Simulation::with_bootstrapping(settings, Bootstrapping::default()).unwrap();
    let server = simulation.server();
    // All slots hold an element, so no slot has to be set to zero before its error grows further.
    let x = vector().repeat(1 << 14)[..1 << 14].to_vec();
    let mut a = simulation.encrypt((&x[..]).into(), &[1 << 14], &Encryption::default()).unwrap();
    // This map is chaotic and multiplies errors by three in each step.
    let step = |a: &EncryptedArray| {
        let square = server.mul_number(&server.mul(a, a)?, -1.5)?;
        server.add_number(&square, 1.0)?.with_bound(1.0)
    };
    while a.is_error_known() {
        let before = a.precision_bits(server.session());
        a = step(&a).unwrap();
        assert!(a.is_error_known() || before < 8.0, "{before}");
        assert!(server.bootstraps() < 50);
    }
    a = step(&a).unwrap();
    assert!(a.precision_bits(server.session()).is_nan());
}

/// The columns of the second matrix are moved far apart, by 4096 different distances in some dozens
/// of rotations. A smaller product is computed with real keys and is right.
#[test]
fn products_of_large_matrices_need_dozens_of_keys() {
    let product = |n: usize, settings: Settings| {
        let x: Vec<f64> = (0..n * n).map(|i| (i * i % 101) as f64 / 101.0 - 0.5).collect();
        let simulation = Simulation::new(settings.clone()).unwrap();
        let array = simulation.encrypt((&x[..]).into(), &[n, n], &Encryption::default()).unwrap();
        simulation.restart();
        simulation.server().dot(&array, &array).unwrap();
        (x, simulation.report())
    };
    let (_, report) = product(64, Preset::by_name("n14").unwrap().settings().unwrap());
    assert!(report.rotations().len() < 80, "{}", report.rotations().len());

    // One column for each ciphertext, by one linear map of a rotated operand.
    let n = 33;
    let settings = insecure_grafted(13, 5, SecretDistribution::Ternary);
    let (x, report) = product(n, settings.clone());
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server =
        Server::new(client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap()).unwrap();
    let array = client.encrypt(&x, &[n, n]).unwrap();
    let result = client.decrypt(&server.dot(&array, &array).unwrap()).unwrap();
    for (e, result) in result.iter().enumerate() {
        let expected: f64 = (0..n).map(|k| x[e / n * n + k] * x[k * n + e % n]).sum();
        assert!((result - expected).abs() < 1e-4, "element {e}: {result}, not {expected}");
    }
}

/// With keys for powers of two, a rotation by 3 is composed of two rotations, in a simulation as in
/// the real run.
#[test]
fn limited_simulations_use_the_given_keys() {
    let client = ClientKey::generate_with(settings(), 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let server = Server::new(&keys).unwrap();
    let x = vector();
    let [a, b] = [0, 1].map(|_| client.encrypt(&x, &[48]).unwrap());
    let real = program(&server, &a, &b).unwrap();
    let run = |simulation: Simulation| {
        let how = Encryption::default();
        let [a, b] = [0, 1].map(|_| simulation.encrypt((&x[..]).into(), &[48], &how).unwrap());
        simulation.restart();
        let result = program(simulation.server(), &a, &b).unwrap();
        let session = simulation.server().session();
        (result.precision_bits(session), result.capacity_bits(session), simulation.report())
    };
    let session = server.session();
    let by_keys = run(Simulation::limited_to_keys(&keys).unwrap());
    let by_request = run(Simulation::limited_to(settings(), &KeyRequest::default()).unwrap());
    for (precision, capacity, report) in [&by_keys, &by_request] {
        assert_eq!(*precision, real.precision_bits(session));
        assert_eq!(*capacity, real.capacity_bits(session));
        assert!(!report.rotations().contains(&-3), "{:?}", report.rotations());
        let size = keys.to_bytes().len() as f64;
        assert!(
            (report.key_bytes as f64 / size - 1.0).abs() < 0.05,
            "{size} and {}",
            report.key_bytes
        );
    }
    let (precision, _, free) = run(Simulation::new(settings()).unwrap());
    assert!(precision > by_keys.0 && by_keys.2.seconds > free.seconds);
    assert_eq!(by_keys.2.key_bytes, by_request.2.key_bytes);
}

/// The simulated keys have the same moduli as the keys that the simulation is limited to, and lack
/// the same keys.
#[test]
fn simulated_keys_match_the_real_ones() {
    let settings = insecure_grafted(9, 20, SecretDistribution::SparseTernary { weight: 64 });
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let bootstrapping = Bootstrapping { precision: Some(20.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(bootstrapping), ..KeyRequest::only([3]) };
    let keys = client.evaluation_keys(&request).unwrap();
    let simulation = Simulation::limited_to_keys(&keys).unwrap();
    let like = simulation.keys().unwrap();
    let moduli = |keys: &hippocrene::EvaluationKeys| -> Vec<_> {
        keys.inner().galois().iter().map(|(element, key)| (*element, key.modulus())).collect()
    };
    assert_eq!(moduli(&keys), moduli(like));
    let own = [&keys, like].map(|keys| keys.bootstrapping().unwrap());
    assert_eq!(own[0].literal(), own[1].literal());
    assert_eq!(own[0].request(), bootstrapping);
    for keys in [&keys, like] {
        assert_eq!(keys.lacks(&request), [""; 0]);
        let precise = Bootstrapping { precision: Some(21.0), ..bootstrapping };
        let more = KeyRequest {
            bootstrapping: Some(precise),
            look_ups: Some(hippocrene::LookUps::default()),
            ..KeyRequest::only([5, 3, -7])
        };
        assert_eq!(
            keys.lacks(&more),
            ["the rotations by -7 and 5", "bootstrapping", "the tables lut12"]
        );
    }
    let none = KeyRequest { relinearisation: false, ..KeyRequest::only([]) };
    let keys = client.evaluation_keys(&none).unwrap();
    let needed = KeyRequest { conjugation: true, ..KeyRequest::only([1]) };
    assert_eq!(keys.lacks(&needed), ["relinearisation", "the rotation by 1", "conjugation"]);
    // Keys for powers of two compose any rotation.
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    assert_eq!(keys.lacks(&KeyRequest::only([3, -5, 100])), [""; 0]);
}

/// Times at reference prices do not depend on the machine, and only times depend on prices.
#[test]
fn reference_prices_change_nothing_but_times() {
    let run = |at_reference: bool| {
        let simulation = Simulation::new(settings()).unwrap();
        if at_reference {
            simulation.use_reference_prices();
        }
        let how = Encryption::default();
        let [a, b] =
            [0, 1].map(|_| simulation.encrypt((&vector()[..]).into(), &[48], &how).unwrap());
        simulation.restart();
        let result = program(simulation.server(), &a, &b).unwrap();
        let session = simulation.server().session();
        (result.precision_bits(session), result.capacity_bits(session), simulation.report())
    };
    let (machine, reference) = (run(false), run(true));
    assert_eq!((machine.0, machine.1), (reference.0, reference.1));
    let without_times = |report: &hippocrene::Report| {
        let mut operations: Vec<_> =
            report.operations.iter().map(|(name, count, _)| (*name, *count)).collect();
        operations.sort_unstable();
        (operations, report.keys.clone(), report.peak_memory)
    };
    assert_eq!(without_times(&machine.2), without_times(&reference.2));
    assert!(reference.2.seconds > 0.0);
}
