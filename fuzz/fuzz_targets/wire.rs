//! The fuzz target of the file readers: `cargo +nightly fuzz run wire fuzz/corpus/wire
//! crates/hippocrene/tests/corpus`.
#![no_main]

#[path = "../entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::read_everything(bytes));
