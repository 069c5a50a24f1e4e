//! Tests that bytes and files can be read back, and that `inspect` describes them.

use crate::wire_common::{client, things};
use hippocrene::{
    BitArray, ClientKey, EncryptedArray, Error, EvaluationKeys, IntegerArray, Integers, KeyRequest,
    Preset, PublicKey, Scheme, Server, Settings, Stored, TransferKey,
    wire::{ElementsInspection, FormatError, Kind, inspect},
};

#[test]
fn every_kind_round_trips() {
    for log_degree in [4, 6, 9] {
        let things = things(log_degree);
        let session = things.client.session();
        let expected = things.client.decrypt(&things.product).unwrap();

        let settings = Settings::from_bytes_insecure(&session.settings().to_bytes(), ()).unwrap();
        assert_eq!(settings, *session.settings());

        let client = ClientKey::from_bytes_insecure(&things.client.to_bytes(), 1).unwrap();
        assert_eq!(client.fingerprint(), things.client.fingerprint());
        assert_eq!(client.to_bytes(), things.client.to_bytes());

        let public = PublicKey::from_bytes_insecure(&things.public.to_bytes(), 1).unwrap();
        assert_eq!(public.to_bytes(), things.public.to_bytes());
        let array = public.encrypt(&[1.0, 2.0], &[2]).unwrap();
        assert!((client.decrypt(&array).unwrap()[1] - 2.0).abs() < 1e-6);

        let keys = EvaluationKeys::from_bytes_insecure(&things.keys.to_bytes(), 2).unwrap();
        assert_eq!(keys.to_bytes(), things.keys.to_bytes());
        let server = Server::new(keys).unwrap();
        let bytes = things.bootstrapping.to_bytes();
        let keys = EvaluationKeys::from_bytes_insecure(&bytes, 1).unwrap();
        assert_eq!(keys.to_bytes(), bytes);
        let (read, written) =
            (keys.bootstrapping().unwrap(), things.bootstrapping.bootstrapping().unwrap());
        assert_eq!((read.literal(), read.precision()), (written.literal(), 20.125));

        let transfer = TransferKey::from_bytes_insecure(&things.transfer.to_bytes(), 1).unwrap();
        assert_eq!(transfer.to_bytes(), things.transfer.to_bytes());
        let second = things.second.evaluation_keys(&KeyRequest::only([])).unwrap();
        let narrow = Server::new(second).unwrap().with_transfer(&transfer).unwrap();
        let arrived = narrow.transfer(&things.product).unwrap();
        let got = things.second.decrypt(&arrived).unwrap();
        assert!(got.iter().zip(&expected).all(|(g, e)| (g - e).abs() < 1e-6));

        for array in [&things.fresh, &things.product] {
            let loaded = EncryptedArray::from_bytes(&array.to_bytes(), server.session()).unwrap();
            assert_eq!(loaded.to_bytes(), array.to_bytes());
            assert_eq!((loaded.shape(), loaded.key()), (array.shape(), array.key()));
            assert_eq!(loaded.is_clean(), array.is_clean());
            assert_eq!(loaded.bound(), array.bound());
            assert_eq!(loaded.precision_bits(session), array.precision_bits(session));
            assert_eq!(client.decrypt(&loaded).unwrap(), things.client.decrypt(array).unwrap());
        }
        for array in [&things.integers, &things.squares] {
            let loaded = IntegerArray::from_bytes(&array.to_bytes(), server.session()).unwrap();
            assert_eq!(loaded.to_bytes(), array.to_bytes());
            assert_eq!((loaded.layout(), loaded.form()), (array.layout(), array.form()));
            assert_eq!(loaded.is_clean(), array.is_clean());
            assert_eq!(loaded.budget_bits(session), array.budget_bits(session));
            assert_eq!(
                client.decrypt_integers(&loaded).unwrap(),
                things.client.decrypt_integers(array).unwrap()
            );
        }
        for array in [&things.bits, &things.nots] {
            let loaded = BitArray::from_bytes(&array.to_bytes(), server.session()).unwrap();
            assert_eq!(loaded.to_bytes(), array.to_bytes());
            assert_eq!((loaded.layout(), loaded.form()), (array.layout(), array.form()));
            assert_eq!((loaded.is_clean(), loaded.error()), (array.is_clean(), array.error()));
            assert_eq!(
                client.decrypt_bits(&loaded).unwrap(),
                things.client.decrypt_bits(array).unwrap()
            );
        }
        let bytes = things.gates.to_bytes();
        let keys = EvaluationKeys::from_bytes_insecure(&bytes, 1).unwrap();
        assert_eq!(keys.to_bytes(), bytes);
        assert_eq!(keys.bits().unwrap().literal(), things.gates.bits().unwrap().literal());
        // The same keys for bits after those of a bootstrap.
        let both = things.bootstrapping.clone().with_bits(keys.bits().unwrap().clone()).to_bytes();
        let keys = EvaluationKeys::from_bytes_insecure(&both, 1).unwrap();
        assert!(keys.bootstrapping().is_some() && keys.to_bytes() == both);
        let inspection = inspect(&both).unwrap().keys.unwrap();
        assert!(inspection.bootstrapping.is_some() && inspection.bits.is_some());
        let squares =
            IntegerArray::from_bytes(&things.squares.to_bytes(), server.session()).unwrap();
        let fourth = client.decrypt_integers(&server.mul(&squares, &squares).unwrap()).unwrap();
        assert_eq!(fourth, [625, 1, 16, 20_022, 3_561, 1]);
        let fresh = EncryptedArray::from_bytes(&things.fresh.to_bytes(), server.session()).unwrap();
        let square = client.decrypt(&server.mul(&fresh, &fresh).unwrap()).unwrap();
        assert!((square[0] - 1.0).abs() < 1e-6, "{}", square[0]);
        assert_eq!(expected.len(), 6);
    }
}

#[test]
fn inspect_agrees_with_the_objects() {
    let things = things(6);
    let session = things.client.session();
    let parameters = session.settings().parameters();
    for (name, bytes) in things.files() {
        let inspection = inspect(&bytes).unwrap();
        assert_eq!(inspection.bytes, bytes.len() as u64);
        assert_eq!((inspection.ring_degree, inspection.preset), (64, None));
        assert_eq!(inspection.parameters, parameters.digest().to_string());
        assert_eq!(inspection.secret, name == "secret");
        assert_eq!(inspection.key.is_none(), Kind::WITHOUT_KEY.contains(&inspection.kind));
        assert!(inspection.key.is_none_or(|key| key == things.client.fingerprint().to_string()));
        if let Some(settings) = inspection.settings {
            assert_eq!((settings.units, settings.specials, settings.gadget_rank), (3, 1, 3));
            assert_eq!((settings.security_limit, settings.scale_bits), (None, 40.0));
            assert_eq!(settings.log2_pq, parameters.log2(parameters.full()));
            let integers = settings.integers.unwrap();
            assert_eq!((integers.scheme, integers.plain_modulus), ("bgv", 65_537));
        }
        let Some(array) = inspection.array else {
            assert!(!Kind::ARRAYS.contains(&inspection.kind));
            continue;
        };
        let fresh = matches!(name, "fresh" | "integers" | "bits");
        assert_eq!((array.ciphertexts, array.seeded), if fresh { (2, 2) } else { (1, 0) });
        assert_eq!(array.memory, (array.ciphertexts * 2 * array.limbs * 64 * 8) as u64);
        assert!(array.packed && array.strides.len() == array.shape.len(), "{name}");
        match (inspection.kind, array.elements) {
            (
                Kind::Array,
                ElementsInspection::Numbers {
                    capacity_bits, precision, precision_bits, bound, ..
                },
            ) => {
                let object = if fresh { &things.fresh } else { &things.product };
                assert_eq!(array.shape, object.shape());
                assert_eq!(
                    (array.limbs, precision),
                    (if fresh { 3 } else { 2 }, object.precision())
                );
                assert_eq!((bound, capacity_bits), (object.bound(), None));
                assert!((precision_bits - object.precision_bits(session)).abs() < 1e-9);
            }
            (
                Kind::IntegerArray,
                ElementsInspection::Integers { plain_modulus, budget_bits, interval },
            ) => {
                let object = if fresh { &things.integers } else { &things.squares };
                assert_eq!((&array.shape[..], array.clean), (object.shape(), object.is_clean()));
                assert_eq!((plain_modulus, budget_bits, array.slots), (65_537, None, 64));
                let known =
                    object.form().interval.map(|interval| [interval.low(), interval.high()]);
                assert_eq!(interval, known);
            }
            (Kind::BitArray, ElementsInspection::Bits { bit_error }) => {
                let object = if fresh { &things.bits } else { &things.nots };
                assert_eq!((&array.shape[..], array.clean), (object.shape(), true));
                assert_eq!((bit_error, array.slots), (object.error(), if fresh { 64 } else { 32 }));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let second = inspect(&things.transfer.to_bytes()).unwrap().transfer.unwrap();
    assert_eq!(second.key, things.second.fingerprint().to_string());
    assert_eq!(
        second.parameters,
        things.second.session().settings().parameters().digest().to_string()
    );
    let keys = inspect(&things.keys.to_bytes()).unwrap().keys.unwrap();
    assert!(keys.relinearisation && keys.conjugation && keys.other_elements.is_empty());
    assert_eq!((keys.rotations, keys.bootstrapping), (vec![-2, 1], None));
    let keys = inspect(&things.bootstrapping.to_bytes()).unwrap().keys.unwrap();
    let inspection = keys.bootstrapping.unwrap();
    assert!(!keys.relinearisation && keys.rotations.is_empty());
    assert_eq!(
        (
            inspection.precision,
            inspection.iterated,
            inspection.bound,
            inspection.sparse_weight,
            inspection.sparse_log2_pq_limit
        ),
        (20.125, true, 2.0, 8, None)
    );
    assert!((108.0..110.0).contains(&inspection.sparse_log2_pq));
    let keys = inspect(&things.gates.to_bytes()).unwrap().keys.unwrap();
    let inspection = keys.bits.unwrap();
    assert_eq!(
        (inspection.capacity, inspection.sparse_weight, inspection.sparse_log2_pq_limit),
        (64, 8, None)
    );
    assert!((108.0..110.0).contains(&inspection.sparse_log2_pq) && keys.bootstrapping.is_none());
}

#[test]
fn presets_are_recognised_and_secure_files_load() {
    let client = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    let bytes = client.to_bytes();
    let inspection = inspect(&bytes).unwrap();
    assert_eq!((inspection.preset, inspection.ring_degree), (Some("n13"), 8192));
    assert_eq!(inspection.settings.unwrap().security_limit, Some(214));
    let loaded = ClientKey::from_bytes(&bytes, 1).unwrap();
    assert_eq!(loaded.session().settings(), client.session().settings());

    let array = client.encrypt(&[0.5; 5000], &[5000]).unwrap();
    let inspection = inspect(&array.to_bytes()).unwrap().array.unwrap();
    let capacity = array.capacity_bits(client.session());
    let ElementsInspection::Numbers { capacity_bits, .. } = inspection.elements else {
        panic!("{inspection:?}")
    };
    assert!((capacity_bits.unwrap() - capacity).abs() < 1e-9);
    assert!(inspection.modulus_bits.unwrap() > 160.0);

    // The same key for integers has the same parameters, so also the same preset.
    let integers = Integers { scheme: Scheme::Bfv, plain_modulus: 65_537 };
    let settings = client.session().settings().clone().with_integers(integers).unwrap();
    let exact = ClientKey::from_seed(settings, client.seed().clone(), 1).unwrap();
    let inspection = inspect(&exact.to_bytes()).unwrap();
    assert_eq!(inspection.preset, Some("n13"));
    assert_eq!(inspection.settings.unwrap().integers.unwrap().scheme, "bfv");
    let loaded = ClientKey::from_bytes(&exact.to_bytes(), 1).unwrap();
    assert_eq!(loaded.session().settings(), exact.session().settings());
    assert_eq!(loaded.decrypt(&array).unwrap().len(), 5000);
    let count = exact.encrypt_integers(&[12], &[]).unwrap();
    let inspection = inspect(&count.to_bytes()).unwrap().array.unwrap().elements;
    let ElementsInspection::Integers { budget_bits, .. } = inspection else {
        panic!("{inspection:?}")
    };
    assert!((budget_bits.unwrap() - count.budget_bits(exact.session())).abs() < 1e-9);
    let refused =
        IntegerArray::from_bytes(&count.to_bytes(), client.session()).unwrap_err().to_string();
    assert!(refused.contains("which are for numbers and have none"), "{refused}");

    // Half of an evaluation key is a seed. This key has 4 digits modulo one prime of 46 bits, three
    // of 40 or 41 bits and one of 47 bits.
    let keys = client.evaluation_keys(&KeyRequest::only([])).unwrap().to_bytes();
    let unseeded = 2 * 4 * 8192 * (46 + 3 * 41 + 47) / 8;
    assert!(keys.len() < unseeded / 2 + 1000, "{} of {unseeded}", keys.len());
}

#[test]
fn insecure_sets_are_refused() {
    let things = things(4);
    let errors = [
        Settings::from_bytes(&things.client.session().settings().to_bytes(), ()).map(drop),
        ClientKey::from_bytes(&things.client.to_bytes(), 1).map(drop),
        PublicKey::from_bytes(&things.public.to_bytes(), 1).map(drop),
        EvaluationKeys::from_bytes(&things.keys.to_bytes(), 1).map(drop),
        TransferKey::from_bytes(&things.transfer.to_bytes(), 1).map(drop),
    ];
    for error in errors {
        assert!(matches!(error, Err(Error::Security(_))), "{error:?}");
    }
}

#[test]
fn no_file_is_written_over_a_secret_key() {
    let folder = std::env::temp_dir().join(format!("hippocrene-replace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let client = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    let array = client.encrypt(&[1.0], &[]).unwrap();
    let path = folder.join("client.key");
    client.save(&path).unwrap();
    let refused = [array.save(&path), client.public_key().unwrap().save(&path)];
    for error in refused {
        assert!(error.unwrap_err().to_string().contains("secret key"));
    }
    let other = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    assert!(other.save(&path).unwrap_err().to_string().contains("exists already"));
    assert_eq!(ClientKey::load(&path, 1).unwrap().fingerprint(), client.fingerprint());
    // Files that may be secret keys are kept: a key of another version, an unknown kind with the
    // secret flag, and a key whose flag was lost.
    for (at, value) in [(8, 3), (8, 5), (10, 77), (11, 0), (11, 3), (13, 99)] {
        let mut strange = client.to_bytes().to_vec();
        strange[at] ^= value;
        let path = folder.join("strange.key");
        std::fs::write(&path, &strange).unwrap();
        for error in [array.save(&path), hippocrene::wire::write(&path, b"text")] {
            assert!(error.unwrap_err().to_string().contains("secret key"), "{at} {value}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), strange);
    }
    std::fs::write(folder.join("cut"), &client.to_bytes()[..11]).unwrap();
    array.save(folder.join("cut")).unwrap();
    // Replacing on request is possible.
    other.stage(&path).unwrap().replace().unwrap();
    assert_eq!(ClientKey::load(&path, 1).unwrap().fingerprint(), other.fingerprint());

    #[cfg(unix)]
    {
        // A link stays a link, and its target is written.
        std::fs::write(folder.join("array"), "old").unwrap();
        std::os::unix::fs::symlink(folder.join("array"), folder.join("link")).unwrap();
        array.save(folder.join("link")).unwrap();
        assert!(std::fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
        assert_eq!(std::fs::read(folder.join("array")).unwrap(), array.to_bytes());
        // A link without a target is followed too, and links in a circle give an error.
        std::fs::create_dir(folder.join("inner")).unwrap();
        std::os::unix::fs::symlink("new", folder.join("inner/first")).unwrap();
        std::os::unix::fs::symlink("inner/first", folder.join("dangling")).unwrap();
        array.save(folder.join("dangling")).unwrap();
        assert_eq!(std::fs::read(folder.join("inner/new")).unwrap(), array.to_bytes());
        assert!(std::fs::symlink_metadata(folder.join("inner/first")).unwrap().is_symlink());
        std::os::unix::fs::symlink("circle", folder.join("circle")).unwrap();
        assert!(matches!(array.save(folder.join("circle")), Err(Error::Io { .. })));
        assert!(std::fs::symlink_metadata(folder.join("circle")).unwrap().is_symlink());
        // A secret key is never written through a link.
        std::os::unix::fs::symlink("elsewhere", folder.join("trap")).unwrap();
        assert!(
            client.save(folder.join("trap")).unwrap_err().to_string().contains("exists already")
        );
        assert!(!folder.join("elsewhere").exists());
        // File names may have 255 bytes.
        let long = folder.join("n".repeat(255));
        array.save(&long).unwrap();
        assert_eq!(std::fs::read(&long).unwrap(), array.to_bytes());
        array.save(folder.join("é".repeat(125))).unwrap();
        // A pipe stays a pipe.
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        let pipe = format!("/dev/fd/{}", writer.as_raw_fd());
        if std::path::Path::new(&pipe).exists() {
            let bytes = array.to_bytes();
            let read = std::thread::spawn(move || {
                let mut all = Vec::new();
                reader.read_to_end(&mut all).map(|_| all)
            });
            array.save(&pipe).unwrap();
            drop(writer);
            assert_eq!(read.join().unwrap().unwrap(), bytes);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// If several secrets are saved to one file at the same time, one of them is in the file
/// afterwards, and only its call succeeds.
#[test]
fn concurrent_saves_keep_one_secret_key() {
    let folder = std::env::temp_dir().join(format!("hippocrene-race-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let preset = Preset::by_name("n12").unwrap();
    let clients: Vec<_> =
        (0..8).map(|_| ClientKey::generate(preset.settings().unwrap()).unwrap()).collect();
    for round in 0..10 {
        let path = folder.join(format!("{round}.key"));
        let start = std::sync::Barrier::new(clients.len());
        let saved: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .iter()
                .map(|client| {
                    scope.spawn(|| {
                        start.wait();
                        client.save(&path).is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let there = ClientKey::load(&path, 1).unwrap().fingerprint();
        let successful: Vec<_> = clients.iter().zip(saved).filter(|(_, saved)| *saved).collect();
        assert_eq!(successful.len(), 1, "round {round}");
        assert_eq!(successful[0].0.fingerprint(), there);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 10, "no temporary file is left");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_are_replaced_atomically_and_secrets_are_private() {
    let folder = std::env::temp_dir().join(format!("hippocrene-wire-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let client = ClientKey::generate(Preset::by_name("n13").unwrap().settings().unwrap()).unwrap();
    let session = client.session();
    let path = |name: &str| folder.join(name);

    client.save(path("secret")).unwrap();
    client.stage(path("secret")).unwrap().replace().unwrap(); // over its own file
    let loaded = ClientKey::load(path("secret"), 1).unwrap();
    assert_eq!(loaded.fingerprint(), client.fingerprint());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path("secret")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    session.settings().save(path("settings")).unwrap();
    assert_eq!(Settings::load(path("settings"), ()).unwrap(), *session.settings());
    client.public_key().unwrap().save(path("public")).unwrap();
    PublicKey::load(path("public"), 1).unwrap();
    client.evaluation_keys(&KeyRequest::only([1])).unwrap().save(path("keys")).unwrap();
    EvaluationKeys::load(path("keys"), 1).unwrap();
    let array = client.encrypt(&[1.0], &[]).unwrap();
    array.save(path("array")).unwrap();
    assert_eq!(EncryptedArray::load(path("array"), session).unwrap().to_bytes(), array.to_bytes());

    let names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "no temporary file is left: {names:?}");

    let wrong = EvaluationKeys::load(path("secret"), 1);
    assert!(matches!(wrong, Err(Error::Format(FormatError::Kind { .. }))), "{wrong:?}");
    let mut bytes = std::fs::read(path("array")).unwrap();
    bytes.pop();
    std::fs::write(path("array"), &bytes).unwrap();
    let short = EncryptedArray::load(path("array"), session);
    assert!(matches!(short, Err(Error::Format(FormatError::Truncated { .. }))), "{short:?}");
    bytes.extend([0, 0]);
    std::fs::write(path("array"), &bytes).unwrap();
    let long = EncryptedArray::load(path("array"), session);
    assert!(matches!(long, Err(Error::Format(FormatError::Trailing { .. }))), "{long:?}");
    assert!(matches!(ClientKey::load(path("none"), 1), Err(Error::Io { .. })));
    assert!(matches!(client.save(path("none").join("deeper")), Err(Error::Io { .. })));
    assert!(matches!(client.save(".."), Err(Error::Io { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn arrays_of_other_parameters_are_refused() {
    let (small, large) = (client(4), client(5));
    let bytes = small.encrypt(&[1.0], &[1]).unwrap().to_bytes();
    let error = EncryptedArray::from_bytes(&bytes, large.session()).unwrap_err();
    let (have, need) =
        [&small, &large].map(|c| c.session().settings().parameters().digest()).into();
    let Error::Format(FormatError::Parameters { have: read, need: own }) = error else {
        panic!("{error}");
    };
    assert_eq!((read, own), (have, need));
}
