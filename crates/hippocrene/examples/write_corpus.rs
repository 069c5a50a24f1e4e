//! Writes the corpus of the hostile-file tests anew: to be run after a change of the format's version.
//!
//! `cargo run -p hippocrene --example write_corpus`

#[allow(dead_code)] // the tests use the rest of it
#[path = "../../../fuzz/entry.rs"]
mod entry;
#[path = "../tests/wire_common/mod.rs"]
mod wire_common;

use entry::seal;
use wire_common::things;

/// Where the ciphertext heads of an array with one axis start: see `docs/wire-format.md`.
const HEADS: usize = 56 + 32 + 16;

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let write = |name: &str, bytes: &[u8]| std::fs::write(format!("{folder}/{name}.hpc"), bytes).unwrap();
    let things = things(4);
    let files: std::collections::HashMap<_, _> = things.files().into_iter().collect();
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
    bad("product", "noise", HEADS + 16 + 22, &f64::NAN.to_le_bytes());
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
}
