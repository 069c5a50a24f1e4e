//! Tests of private decision trees, between a client and a server that share only files.

use std::sync::LazyLock;

use crate::entry::{read_everything, seal};
use hippocrene::{
    ClientKey, DecisionTree, Error, FeatureRanges, Stored, TreeClient, TreeInterface, TreeKeys,
    TreeModel, TreeNode, TreeQuery, TreeReply, TreeServer, TreeTables,
    wire::{FormatError, Kind, inspect},
};

struct Files {
    secret: Vec<u8>,
    keys: Vec<u8>,
    query: Vec<u8>,
    reply: Vec<u8>,
    interface: TreeInterface,
    model: TreeModel,
}

const MEANING: &str = "red, green, blue";
const ROWS: [f64; 6] = [1.0, 0.9, 7.0, -0.9, 7.0, 0.9];

/// The files that one client and one server write, with the smallest secure tables.
static FILES: LazyLock<Files> = LazyLock::new(|| {
    let tables = TreeTables::by_name("lut11").unwrap();
    let client = TreeClient::generate(tables).unwrap();
    let keys = client.evaluation_keys().unwrap();
    let ranges = FeatureRanges::new(vec![(0.0, 10.0), (-1.0, 1.0)]).unwrap();
    let interface = TreeInterface::new(tables, ranges.clone(), MEANING);
    let split = |feature, threshold, left| TreeNode::Split {
        feature,
        threshold,
        digits: 1,
        left,
        right: left + 1,
    };
    let leaf = |value| TreeNode::Leaf { values: vec![value] };
    let nodes = vec![split(0, 5.0, 1), leaf(0.0), split(1, 0.0, 3), leaf(1.0), leaf(2.0)];
    let tree = DecisionTree::new(nodes).unwrap();
    let model = TreeModel::new(ranges, vec![tree], TreeModel::CLASSES).unwrap();
    let query = client.encrypt(&interface, &ROWS).unwrap();
    let server = TreeServer::new(&keys, 2).unwrap();
    let reply = server.evaluate(&interface.plan(&model).unwrap(), &query).unwrap();
    Files {
        secret: client.to_bytes().to_vec(),
        keys: keys.to_bytes(),
        query: query.to_bytes(),
        reply: reply.to_bytes(),
        interface,
        model,
    }
});

#[test]
fn client_and_server_share_only_files() {
    let folder = tempfile();
    let path = |name: &str| folder.join(name);
    let client = TreeClient::from_bytes(&FILES.secret, ()).unwrap();
    client.save(path("secret")).unwrap();
    TreeKeys::from_bytes(&FILES.keys, ()).unwrap().save(path("keys")).unwrap();
    client.encrypt(&FILES.interface, &ROWS).unwrap().save(path("query")).unwrap();

    let server = TreeServer::new(&TreeKeys::load(path("keys"), ()).unwrap(), 1).unwrap();
    let plan = FILES.interface.plan(&FILES.model).unwrap();
    let query = TreeQuery::load(path("query"), ()).unwrap();
    assert_eq!((query.rows(), query.features()), (3, 2));
    server.evaluate(&plan, &query).unwrap().save(path("reply")).unwrap();

    let client = TreeClient::load(path("secret"), ()).unwrap();
    let reply = TreeReply::load(path("reply"), ()).unwrap();
    assert_eq!((reply.rows(), reply.outputs()), (3, 1));
    let classes: Vec<f64> =
        client.decrypt(&FILES.interface, &reply).unwrap().iter().map(|x| x.round()).collect();
    assert_eq!(classes, [0.0, 1.0, 2.0]);
    // A query has a header, counts, a digest, a seed and 5 digits of 12 bits for each feature. A
    // reply has a header, counts, a digest, a span, a modulus, a middle and 1025 numbers of 8 bits
    // for each row.
    assert_eq!(FILES.query.len(), 56 + 8 + 16 + 32 + 45);
    assert_eq!(FILES.reply.len(), 56 + 8 + 16 + 16 + 8 + 3 * 1025);

    // A secret key is not overwritten, and the key of another client is refused.
    assert!(matches!(reply.save(path("secret")), Err(Error::Io { .. })));
    let other = TreeClient::generate(client.tables()).unwrap();
    assert!(matches!(other.decrypt(&FILES.interface, &reply), Err(Error::KeyMismatch(_))));
    let query = other.encrypt(&FILES.interface, &ROWS).unwrap();
    assert!(matches!(server.evaluate(&plan, &query), Err(Error::KeyMismatch(_))));
    let larger = TreeTables::by_name("lut12").unwrap();
    let larger = TreeInterface::new(larger, FILES.interface.ranges().clone(), MEANING);
    let plan = larger.plan(&FILES.model).unwrap();
    assert!(matches!(server.evaluate(&plan, &query), Err(Error::Argument { .. })));
    assert!(matches!(client.encrypt(&larger, &ROWS), Err(Error::Argument { .. })));
    assert!(matches!(TreeTables::by_name("lut14"), Err(Error::Parameters(_))));
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("hippocrene-trees-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn inspect_describes_every_file() {
    for (bytes, kind, counts) in [
        (&FILES.secret, Kind::TreeSecretKey, None),
        (&FILES.keys, Kind::TreeKeys, None),
        (&FILES.query, Kind::TreeQuery, Some((2, 3))),
        (&FILES.reply, Kind::TreeReply, Some((1, 3))),
    ] {
        let inspection = inspect(bytes).unwrap();
        let trees = inspection.trees.unwrap();
        assert_eq!((inspection.kind, inspection.secret), (kind, kind == Kind::TreeSecretKey));
        assert_eq!(
            (trees.tables, trees.numbers.zip(trees.rows), inspection.ring_degree),
            ("lut11", counts, 2048)
        );
    }
    assert!(matches!(
        ClientKey::from_bytes(&FILES.secret, 1),
        Err(Error::Format(FormatError::Kind { .. }))
    ));
    assert!(matches!(
        TreeQuery::from_bytes(&FILES.reply, ()),
        Err(Error::Format(FormatError::Kind { .. }))
    ));
}

/// Loads a file of trees according to the kind in its header.
fn load(bytes: &[u8]) -> Result<(), Error> {
    match bytes.get(10) {
        Some(9) => TreeClient::from_bytes(bytes, ()).map(drop),
        Some(10) => TreeKeys::from_bytes(bytes, ()).map(drop),
        Some(14) => TreeQuery::from_bytes(bytes, ()).map(drop),
        _ => TreeReply::from_bytes(bytes, ()).map(drop),
    }
}

#[test]
fn truncation_anywhere_is_an_error() {
    for bytes in [&FILES.secret, &FILES.query, &FILES.reply] {
        for end in 0..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            assert!(
                matches!(load(&cut), Err(Error::Format(FormatError::Truncated { .. }))),
                "{end}"
            );
            seal(&mut cut);
            assert!(
                matches!(load(&cut), Err(Error::Format(FormatError::Truncated { .. }))),
                "{end}"
            );
            assert!(inspect(&cut).is_err());
        }
        let mut long = bytes.clone();
        long.push(0);
        seal(&mut long);
        assert!(matches!(load(&long), Err(Error::Format(FormatError::Trailing { .. }))));
    }
    let mut cut = FILES.keys[..FILES.keys.len() - 1].to_vec();
    seal(&mut cut);
    assert!(matches!(load(&cut), Err(Error::Format(FormatError::Truncated { .. }))));
}

#[test]
fn bits_flipped_under_a_valid_checksum_never_panic() {
    for bytes in [&FILES.secret, &FILES.query, &FILES.reply] {
        for bit in (0..8 * bytes.len()).filter(|bit| *bit < 8 * 200 || bit % 61 == 0) {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let flipped = load(&bytes);
            assert!(flipped.is_err(), "the checksum counts {bit}");
            read_everything(&bytes);
        }
    }
}

/// Returns the error of a file with `new` bytes at the position `at`, under a valid checksum.
fn refused(bytes: &[u8], at: usize, new: &[u8]) -> String {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    seal(&mut bytes);
    match load(&bytes) {
        Err(Error::Format(error)) => error.to_string(),
        other => panic!("a format error is expected, not {other:?}"),
    }
}

/// A simulation states the real values, sizes of files and numbers of look-ups.
#[test]
fn simulations_state_values_sizes_and_look_ups() {
    let plan = FILES.interface.plan(&FILES.model).unwrap();
    let simulated = plan.simulate(&ROWS).unwrap();
    let plain: Vec<f64> = ROWS.chunks(2).map(|row| FILES.model.evaluate(row).unwrap()[0]).collect();
    assert!(simulated.values.iter().zip(&plain).all(|(x, y)| (x - y).abs() < 0.1), "{simulated:?}");
    let sizes = [simulated.query.to_bytes().len(), simulated.reply.to_bytes().len()];
    assert_eq!(sizes, [FILES.query.len(), FILES.reply.len()]);
    let size = simulated.key_bytes as f64 / FILES.keys.len() as f64;
    assert!(
        (size - 1.0).abs() < 1e-3 && simulated.key_memory > simulated.key_bytes,
        "{simulated:?}"
    );
    let count = |name| simulated.operations.iter().find(|operation| operation.0 == name).unwrap().1;
    assert_eq!(count("look up"), 3 * (plan.compared() + plan.combined() + plan.look_ups()) as u64);
    assert!(simulated.seconds > 0.01 && simulated.seconds < 10.0, "{simulated:?}");

    assert!(plan.simulate(&[1.0]).is_err());

    let client = TreeClient::from_bytes(&FILES.secret, ()).unwrap();
    let server = TreeServer::new(&TreeKeys::from_bytes(&FILES.keys, ()).unwrap(), 1).unwrap();
    let query = TreeQuery::from_bytes(&FILES.query, ()).unwrap();
    let mut shown = Vec::new();
    let reply = server
        .evaluate_with_progress(&plan, &query, &mut |done, of| shown.push((done, of)))
        .unwrap();
    assert_eq!((shown.last(), reply.rows()), (Some(&(3, 3)), 3));
    assert!(
        client
            .decrypt(&FILES.interface, &reply)
            .unwrap()
            .iter()
            .zip(&plain)
            .all(|(x, y)| x.round() == *y)
    );
}

#[test]
fn errors_name_the_mistake() {
    let Files { secret, query, reply, keys, .. } = &*FILES;
    assert!(refused(query, 16, &[0; 16]).contains("the digest of the tables"));
    assert!(refused(secret, 56, &[0; 32]).contains("names key"));
    for (bytes, name) in
        [(query, "the number of features is 0"), (reply, "the number of outputs is 0")]
    {
        assert!(refused(bytes, 56, &[0; 4]).contains(name));
        assert!(refused(bytes, 60, &[0; 4]).contains("the number of rows is 0"));
        for at in [56, 60] {
            assert!(refused(bytes, at, &[0xff; 4]).contains("are needed"), "{name}");
        }
    }
    // The residues have 12 bits. Those of a single feature end in the middle of a byte.
    let client = TreeClient::from_bytes(secret, ()).unwrap();
    let ranges = FeatureRanges::new(vec![(0.0, 1.0)]).unwrap();
    let one = TreeInterface::new(client.tables(), ranges, MEANING);
    let one = client.encrypt(&one, &[0.5]).unwrap().to_bytes();
    assert!(refused(&one, one.len() - 1, &[0xf0]).contains("the last byte of residues"));
    assert!(refused(reply, 80, &f64::NAN.to_le_bytes()).contains("a span of NaN"));
    assert!(refused(reply, 80, &(-1f64).to_le_bytes()).contains("a span of -1"));
    assert!(refused(reply, 88, &127u64.to_le_bytes()).contains("the modulus of a reply is 127"));
    assert!(refused(reply, 88, &u64::MAX.to_le_bytes()).contains("the modulus of a reply"));
    assert!(refused(reply, 88, &200u64.to_le_bytes()).contains("a residue"));
    assert!(refused(reply, 96, &f64::INFINITY.to_le_bytes()).contains("inf"));
    assert!(refused(keys, 56 + 16 + 32, &[0xff; 6]).contains("not below its modulus"));
}

/// Queries and replies of another interface are refused, on both sides. The interfaces differ in
/// the ranges, the order of the columns, or the meaning of the outputs.
#[test]
fn other_interfaces_are_refused() {
    let Files { secret, query, reply, keys, interface, model } = &*FILES;
    let client = TreeClient::from_bytes(secret, ()).unwrap();
    let server = TreeServer::new(&TreeKeys::from_bytes(keys, ()).unwrap(), 2).unwrap();
    let (query, reply) =
        (TreeQuery::from_bytes(query, ()).unwrap(), TreeReply::from_bytes(reply, ()).unwrap());
    assert_eq!((query.interface(), reply.interface()), (interface.digest(), interface.digest()));
    let ranges = |ranges: &[(f64, f64)]| FeatureRanges::new(ranges.to_vec()).unwrap();
    for (ranges, meaning) in [
        (ranges(&[(0.0, 10.0), (-1.0, 2.0)]), MEANING),
        (ranges(&[(-1.0, 1.0), (0.0, 10.0)]), MEANING),
        (ranges(&[(0.0, 10.0), (-1.0, 1.0)]), "red, blue, green"),
    ] {
        let other = TreeInterface::new(interface.tables(), ranges.clone(), meaning);
        assert_ne!(other.digest(), interface.digest());
        let model = TreeModel::clamped(ranges, model.trees().to_vec(), TreeModel::CLASSES).unwrap();
        let plan = other.plan(&model).unwrap();
        let refused = server.evaluate(&plan, &query).unwrap_err().to_string();
        let expected = format!("the query was made for the interface {}", interface.digest());
        assert!(refused.contains(&expected) && refused.contains("present interface"), "{refused}");
        let refused = client.decrypt(&other, &reply).unwrap_err().to_string();
        assert!(refused.contains("the reply was made for the interface"), "{refused}");
    }
    let wide = TreeInterface::new(interface.tables(), ranges(&[(0.0, 11.0), (-1.0, 1.0)]), MEANING);
    assert!(wide.plan(model).unwrap_err().to_string().contains("other ranges of features"));
}
