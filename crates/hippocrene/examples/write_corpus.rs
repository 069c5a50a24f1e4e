//! Writes the corpus of the hostile-file tests.
//!
//! Run it after a change of the format's version.
//!
//! `cargo run -p hippocrene --example write_corpus`

#[allow(dead_code)] // the tests use the rest of it
#[path = "../../../fuzz/entry.rs"]
mod entry;
#[path = "../tests/wire_common/mod.rs"]
mod wire_common;

use entry::seal;
use hippocrene::{
    Clustering, DecisionTree, EncryptedArray, FeatureRanges, Layout, Shape, Stored, TreeClient,
    TreeInterface, TreeModel, TreeNode, TreeServer, TreeTables,
};
use wire_common::things;

/// The position of the ciphertext heads in the file of an array with one axis, see
/// `docs/reference/wire-format.md`.
const HEADS: usize = 56 + 32 + 16;
/// That position in the file of `product`, which has two axes, an interval and the fingerprint of
/// notes.
const PRODUCT_HEADS: usize = HEADS + 16 + 16 + 16;

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(format!("{folder}/{name}.hpc"), bytes).unwrap();
    let things = things(4);
    let mut files: std::collections::HashMap<_, _> = things.files().into_iter().collect();
    let (trees, mut keys) = trees();
    // The server's keys have 100 MB. The corpus holds only their beginning, as a truncated file.
    keys.truncate(256);
    seal(&mut keys);
    write("bad-keys-length", &keys);
    files.extend(trees.into_iter().chain([("clusters", clusters(&things.client))]));
    for (name, bytes) in &files {
        write(name, bytes);
    }
    let bad = |name: &str, what: &str, at: usize, new: &[u8]| {
        let mut bytes = files[name].clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        if what != "length" {
            seal(&mut bytes);
        }
        write(&format!("bad-{name}-{what}"), &bytes);
    };
    bad("fresh", "length", 48, &[0xff; 8]);
    bad("fresh", "count", 72, &[0xff; 8]);
    bad("fresh", "shape", 80, &[0xff; 8]);
    bad("product", "noise", PRODUCT_HEADS + 22, &f64::NAN.to_le_bytes());
    bad("squares", "factor", HEADS + 16 + 30, &65_537u64.to_le_bytes());
    bad("integers", "plain", 80, &[0; 8]);
    bad("settings", "scheme", 96, &[3]);
    bad("public", "residue", files["public"].len() - 5, &[0xff; 5]);
    bad("evaluation", "galois", 144, &[0xff; 4]);
    bad("bootstrapping", "slots", 148 + 12, &[4]);
    bad("bootstrapping", "levels", 148 + 86, &[0xff; 4]);
    bad("gates", "levels", 148 + 70, &[0xff; 4]);
    bad("nots", "noise", HEADS + 16 + 22, &30f64.to_le_bytes());
    bad("settings", "primes", 60, &[0xff; 8]);
    bad("secret", "version", 8, &[0xff; 2]);
    bad("owner", "seed", 56, &[0xff; 4]);
    bad("query", "count", 56, &[0xff; 4]);
    bad("reply", "count", 56, &[0xff; 4]);
    bad("reply", "length", 48, &[0xff; 8]);
    bad("clusters", "flags", 56 + 12, &[0xff; 4]);
    bad("clusters", "array", 56 + 56, &[0xff; 8]);
}

/// Returns files of decision trees and the keys of their server.
///
/// The parameters are real ones. Each run uses a new key.
fn trees() -> ([(&'static str, Vec<u8>); 3], Vec<u8>) {
    let tables = TreeTables::by_name("lut11").unwrap();
    let ranges = FeatureRanges::new(vec![(0.0, 10.0), (-1.0, 1.0)]).unwrap();
    let interface = TreeInterface::new(tables, ranges.clone(), "of the corpus");
    let client = TreeClient::generate(tables).unwrap();
    let query = client.encrypt(&interface, &[2.5, 0.25, 7.5, 0.75]).unwrap();
    let nodes = vec![
        TreeNode::Split { feature: 1, threshold: 0.5, digits: 1, left: 1, right: 2 },
        TreeNode::Leaf { values: vec![0.0] },
        TreeNode::Leaf { values: vec![1.0] },
    ];
    let model = TreeModel::new(ranges, vec![DecisionTree::new(nodes).unwrap()], TreeModel::CLASSES)
        .unwrap();
    let keys = client.evaluation_keys().unwrap();
    let server = TreeServer::new(&keys, 1).unwrap();
    let reply = server.evaluate(&interface.plan(&model).unwrap(), &query).unwrap();
    let files = [
        ("owner", client.to_bytes().to_vec()),
        ("query", query.to_bytes()),
        ("reply", reply.to_bytes()),
    ];
    (files, keys.to_bytes())
}

/// Returns a file of two points in two clusters after one iteration, with the points.
///
/// The numbers are valid for a file, but computing with them makes no sense.
fn clusters(client: &hippocrene::ClientKey) -> Vec<u8> {
    let (shape, slots) = (Shape::new(2, 1, 2).unwrap(), client.session().slots());
    let array = |extents: Vec<usize>, strides: Vec<usize>| {
        let some = client.encrypt(&vec![0.25; slots][..], &[slots]).unwrap();
        let layout = Layout::new(extents, strides, slots).unwrap();
        EncryptedArray::from_parts(
            layout,
            *some.form(),
            hippocrene::SlotContents::Stray,
            some.bodies().to_vec(),
        )
        .unwrap()
    };
    let (width, stride) = (shape.width(), shape.stride());
    let bits = array(vec![2, 2], vec![width, stride]);
    let (frame, centroids) = (array(vec![2], vec![1]), array(vec![2, 1], vec![stride, 1]));
    let points = array(vec![2, 1], vec![width, 1]);
    Clustering::from_parts(shape, 1, [frame, centroids], Some(bits), Some(points))
        .unwrap()
        .to_bytes()
}
