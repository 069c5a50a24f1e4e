//! Tests of requests to stop.

use std::time::{Duration, Instant};

use crate::common::{insecure, numbers};
use hippocrene::{
    EncryptedArray, Error, EvaluationKeys, KeyRequest, Server, Stored, stoppable, wire,
};

/// A computation that is asked to stop returns an error, and the server computes again afterwards.
#[test]
fn computations_can_be_stopped() {
    let (client, server) = insecure(10, 4);
    let x = client.encrypt(&numbers(100, 1), &[100]).unwrap();
    let until_stopped = || {
        loop {
            if let Err(error) = server.square(&x) {
                return error;
            }
        }
    };
    let error = stoppable(|| true, until_stopped);
    assert_eq!(error.kind(), "StoppedError");
    assert!(error.to_string().ends_with(": stopped"), "{error}");
    assert!(server.square(&x).is_ok());
}

/// Reading, writing and preparing keys and arrays can be stopped too. No partially written file is
/// left.
#[test]
fn files_and_servers_can_be_stopped() {
    let (client, _) = insecure(10, 4);
    let x = client.encrypt(&numbers(100, 1), &[100]).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let bytes = keys.to_bytes();
    let folder = std::env::temp_dir().join(format!("hippocrene-stop-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [there, new] = ["there", "new"].map(|name| folder.join(name));
    wire::write(&there, &bytes).unwrap();
    let until_stopped = |work: &dyn Fn() -> Result<(), Error>| {
        let end = Instant::now() + Duration::from_secs(20);
        let again = || (0..).find_map(|_| work().err().or((Instant::now() > end).then(no_stop)));
        stoppable(|| true, again).unwrap().to_string()
    };
    let read = |bytes: &[u8]| EvaluationKeys::from_bytes_insecure(bytes, 1).map(drop);
    assert_eq!(until_stopped(&|| read(&bytes)), "read: stopped");
    assert_eq!(until_stopped(&|| wire::read(&there, &[]).map(drop)), "read: stopped");
    let array = x.to_bytes();
    let read = || EncryptedArray::from_bytes(&array, client.session()).map(drop);
    assert_eq!(until_stopped(&read), "read: stopped");
    assert_eq!(until_stopped(&|| keys.to_bytes_or_stop().map(drop)), "write: stopped");
    assert_eq!(until_stopped(&|| x.to_bytes_or_stop().map(drop)), "write: stopped");
    assert_eq!(until_stopped(&|| Server::new(&keys).map(drop)), "prepare evaluation keys: stopped");
    let write = || wire::write(&new, &bytes).map(|()| std::fs::remove_file(&new).unwrap());
    assert_eq!(until_stopped(&write), "write: stopped");
    let left = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["there"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn no_stop() -> Error {
    Error::Internal("it was not stopped".into())
}
