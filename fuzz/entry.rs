//! The check that the fuzz target runs on every input, and the tests on the stored corpus: no bytes
//! may make a reader panic.

use std::sync::LazyLock;

use hippocrene::{
    BitArray, ClientKey, Clustering, EncryptedArray, EvaluationKeys, GateArray, GateClient,
    GateKeys, IntegerArray, Interface, Program, PublicKey, Session, Settings, Stored, TransferKey,
    TreeClient, TreeKeys, TreeQuery, TreeReply, wire,
};

/// The settings of the corpus.
static SESSION: LazyLock<Session> = LazyLock::new(|| {
    let bytes = include_bytes!("../crates/hippocrene/tests/corpus/settings.hpc");
    let settings = Settings::from_bytes_insecure(bytes, ()).expect("the corpus is valid");
    Session::new(settings, 1).expect("one thread can be started")
});

/// Reads `bytes` as every kind of file, unchanged and with corrected length and checksum, which a
/// fuzzer would not find.
///
/// If they can be read, they must be written to bytes that can be read.
pub fn read_everything(bytes: &[u8]) {
    read(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    read(&sealed);
}

/// Corrects the length and the checksum in the header.
pub fn seal(file: &mut [u8]) {
    if let Some(payload) = file.len().checked_sub(56) {
        file[48..56].copy_from_slice(&(payload as u64).to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&file[..12]);
        hasher.update(&file[16..]);
        let checksum = hasher.finalize();
        file[12..16].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn read(bytes: &[u8]) {
    let inspected = wire::inspect(bytes);
    let mut loaded = false;
    if let Ok(settings) = Settings::from_bytes_insecure(bytes, ()) {
        assert_eq!(settings.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(key) = ClientKey::from_bytes_insecure(bytes, 1) {
        assert_eq!(*key.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(key) = PublicKey::from_bytes_insecure(bytes, 1) {
        assert_eq!(key.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(keys) = EvaluationKeys::from_bytes_insecure(bytes, 1) {
        assert_eq!(keys.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(key) = TransferKey::from_bytes_insecure(bytes, 1) {
        assert_eq!(key.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(array) = EncryptedArray::from_bytes(bytes, &SESSION) {
        // The residues may need fewer bits than the file uses.
        let again = EncryptedArray::from_bytes(&array.to_bytes(), &SESSION)
            .expect("a written array can be read");
        assert_eq!(again.to_bytes(), array.to_bytes());
        loaded = true;
    }
    if let Ok(array) = IntegerArray::from_bytes(bytes, &SESSION) {
        let again = IntegerArray::from_bytes(&array.to_bytes(), &SESSION)
            .expect("a written array can be read");
        assert_eq!(again.to_bytes(), array.to_bytes());
        loaded = true;
    }
    if let Ok(array) = BitArray::from_bytes(bytes, &SESSION) {
        let again =
            BitArray::from_bytes(&array.to_bytes(), &SESSION).expect("a written array can be read");
        assert_eq!(again.to_bytes(), array.to_bytes());
        loaded = true;
    }
    if let Ok(clusters) = Clustering::from_bytes(bytes, &SESSION) {
        let again = Clustering::from_bytes(&clusters.to_bytes(), &SESSION)
            .expect("a written clustering can be read");
        assert_eq!(again.to_bytes(), clusters.to_bytes());
        loaded = true;
    }
    if let Ok(key) = TreeClient::from_bytes(bytes, ()) {
        assert_eq!(*key.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(keys) = TreeKeys::from_bytes(bytes, ()) {
        assert_eq!(keys.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(query) = TreeQuery::from_bytes(bytes, ()) {
        assert_eq!(query.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(reply) = TreeReply::from_bytes(bytes, ()) {
        assert_eq!(reply.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(key) = GateClient::from_bytes(bytes, ()) {
        assert_eq!(*key.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(keys) = GateKeys::from_bytes(bytes, ()) {
        assert_eq!(keys.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(array) = GateArray::from_bytes(bytes, ()) {
        assert_eq!(array.to_bytes(), bytes);
        loaded = true;
    }
    if let Ok(program) = Program::from_bytes_insecure(bytes, ()) {
        // The file may use more bytes than its values need.
        let again = Program::from_bytes_insecure(&program.to_bytes(), ())
            .expect("a written program can be read");
        assert_eq!(again.to_bytes(), program.to_bytes());
        loaded = true;
    }
    if let Ok(interface) = Interface::from_bytes_insecure(bytes, ()) {
        let again = Interface::from_bytes_insecure(&interface.to_bytes(), ())
            .expect("a written interface can be read");
        assert_eq!(again.to_bytes(), interface.to_bytes());
        loaded = true;
    }
    assert!(inspected.is_ok() || !loaded, "inspect refuses a file that loads: {inspected:?}");
}
