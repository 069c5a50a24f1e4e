//! Tests of keys from the command line: files are written all or none, and never lost.

use crate::common::{Folder, run, succeed};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Returns the contents of every file in a folder.
fn contents(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("text");
            let bytes = if entry.path().is_dir() {
                Vec::new()
            } else {
                fs::read(entry.path()).expect("a file")
            };
            (name, bytes)
        })
        .collect()
}

/// Returns the fingerprint in a file of keys.
fn owner(path: &str) -> String {
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(&["inspect", path, "--json"])).expect("JSON");
    printed["files"][0]["key"].as_str().expect("a fingerprint").to_owned()
}

#[test]
fn keys_stay_unchanged_if_one_cannot_be_replaced() {
    let folder = Folder::new("whole");
    let keys = folder.path("keys");
    let arguments = ["keygen", "-p", "n13", "--rotations=1", "-o", &keys, "--force"];
    succeed(&arguments);
    let before = contents(&keys);

    #[cfg(unix)]
    {
        // The file system has no room for the last of the files.
        let blocks = (before["evaluation.keys"].len() - 1) / 512;
        assert!(before["public.key"].len() < 512 * blocks);
        let limited = std::process::Command::new("sh")
            .args(["-c", &format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_hippocrene"))
            .args(arguments)
            .output()
            .expect("the command");
        let printed = String::from_utf8_lossy(&limited.stderr);
        assert!(
            limited.status.code() == Some(3) && printed.contains("evaluation.keys: "),
            "{printed}"
        );
        assert!(contents(&keys) == before, "keys have changed");
    }

    fs::remove_file(folder.path("keys/evaluation.keys")).expect("a file");
    fs::create_dir(folder.path("keys/evaluation.keys")).expect("a folder");
    let before = contents(&keys);
    let (status, _, error) = run(&arguments);
    assert!(status == 3 && error.contains("evaluation.keys"), "{error}");
    assert!(contents(&keys) == before, "keys have changed");
}

/// The warning is shown even if the command is quiet, and the work is done.
#[cfg(unix)]
#[test]
fn readable_secret_keys_cause_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("readable");
    let [key, csv, enc, out] =
        ["keys/client.key", "in.csv", "in.enc", "out.csv"].map(|name| folder.path(name));
    succeed(&["keygen", "-p", "n12", "--rotations=1", "-o", &folder.path("keys")]);
    fs::write(&csv, "1,2\n").expect("a file");
    succeed(&["encrypt", "-k", &key, &csv, "-o", &enc]);
    let warned = format!(
        "warning: {key}: others can read this secret key (mode 640). Run: chmod 600 {key}\n"
    );
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("permissions");
    for arguments in [
        &["encrypt", "-k", &key, &csv, "-o", &enc][..],
        &["decrypt", "-k", &key, &enc, "-o", &out],
        &["keygen", "--from", &key, "--rotations=1", "-o", &folder.path("more")],
    ] {
        let (status, _, printed) = run(arguments);
        assert_eq!((status, printed.as_str()), (0, warned.as_str()), "{arguments:?}");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("permissions");
    succeed(&["decrypt", "-k", &key, &enc, "-o", &out]);
    succeed(&["encrypt", "-k", &folder.path("keys/public.key"), &csv, "-o", &enc]);
}

/// A folder never holds files of two different keys.
#[cfg(unix)]
#[test]
fn keys_are_placed_together() {
    use std::{thread, time::Duration};

    let folder = Folder::new("together");
    let keys = folder.path("keys");
    let arguments = ["keygen", "-p", "n13", "--rotations=1", "-o", &keys, "--force"];
    succeed(&arguments);
    let before = contents(&keys);
    let lock = fs::File::open(&keys).expect("the folder");
    lock.lock().expect("a lock");
    let mut other = std::process::Command::new(env!("CARGO_BIN_EXE_hippocrene"))
        .arg("--quiet")
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the command");
    // The time exceeds that of making such keys. Files appear under their names only when they are
    // complete, so an incomplete one cannot be seen.
    thread::sleep(Duration::from_secs(2));
    assert!(
        other.try_wait().expect("the command").is_none(),
        "keys are replaced in spite of the lock"
    );
    let now = contents(&keys);
    assert!(before.iter().all(|(name, bytes)| now[name] == *bytes), "keys have changed");
    drop(lock);
    assert!(other.wait().expect("the command").success());
    let after = contents(&keys);
    assert!(
        after.len() == 3 && before.iter().all(|(name, bytes)| after[name] != *bytes),
        "no new keys"
    );
}

#[test]
fn a_failed_run_leaves_no_folder() {
    let folder = Folder::new("no-folder");
    let deep = folder.path("deeper/keys");
    for more in
        [&["--bootstrapping"][..], &["--tables"], &["--rotations=4096"], &["--precision=900"]]
    {
        let arguments = [&["keygen", "-p", "n13", "-o", &deep][..], more].concat();
        assert_ne!(run(&arguments).0, 0, "{more:?}");
        assert!(!Path::new(&folder.path("deeper")).exists(), "{more:?}");
    }
    // An existing folder stays.
    fs::create_dir_all(&deep).expect("a folder");
    assert_ne!(run(&["keygen", "-p", "n13", "--bootstrapping", "-o", &deep]).0, 0);
    assert!(Path::new(&deep).exists());
}

#[test]
fn concurrent_runs_leave_one_set_of_keys() {
    let folder = Folder::new("at-once");
    let keys = folder.path("keys");
    let arguments = ["keygen", "-p", "n13", "--rotations=1", "-o", &keys, "--json"];
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&arguments))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a result")).collect()
    });
    let made: Vec<_> = results.iter().filter(|(status, ..)| *status == 0).collect();
    assert_eq!(made.len(), 1, "{results:?}");
    let made: serde_json::Value = serde_json::from_str(&made[0].1).expect("JSON");
    for (status, _, error) in results.iter().filter(|(status, ..)| *status != 0) {
        assert!([2, 3].contains(status) && error.contains("exists already"), "{error}");
    }
    assert_eq!(contents(&keys).len(), 3);
    for name in ["client.key", "public.key", "evaluation.keys"] {
        assert_eq!(owner(&folder.path(&format!("keys/{name}"))), made["key"], "{name}");
    }
}

#[test]
fn keys_are_made_from_an_existing_secret_key() {
    let folder = Folder::new("from");
    let [keys, more] = ["keys", "more"].map(|name| folder.path(name));
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &keys]);
    let (key, before) = (folder.path("keys/client.key"), contents(&keys));

    let made = succeed(&[
        "keygen",
        "--from",
        &key,
        "-o",
        &more,
        "--rotations=2,-3",
        "--conjugation",
        "--json",
    ]);
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!((&made["preset"], made["files"].as_array().map(Vec::len)), (&"n13".into(), Some(2)));
    assert_eq!(contents(&more).len(), 2, "no secret key is made");
    let printed = succeed(&["inspect", &folder.path("more/evaluation.keys")]);
    assert!(
        printed.contains("rotations   -3, 2\n") && printed.contains("relinearisation, conjugation"),
        "{printed}"
    );
    fs::write(folder.path("in.csv"), "3,-2\n").expect("a file");
    let (public, encrypted) = (folder.path("more/public.key"), folder.path("in.enc"));
    succeed(&["encrypt", "-k", &public, &folder.path("in.csv"), "-o", &encrypted]);
    assert!(succeed(&["decrypt", "-k", &key, &encrypted]).starts_with(['2', '3']));

    // Existing evaluation keys are replaced only on request, and a secret key never.
    let (status, _, error) = run(&["keygen", "--from", &key, "-o", &keys]);
    assert!(
        status == 2 && error.contains("public.key exists already. Choose another folder"),
        "{error}"
    );
    assert!(contents(&keys) == before, "keys have changed");
    let none = folder.path("none-at-all");
    succeed(&["keygen", "--from", &key, "-o", &none, "--rotations="]);
    let printed = succeed(&["inspect", &folder.path("none-at-all/evaluation.keys")]);
    assert!(printed.contains("rotations   none\n"), "{printed}");
    succeed(&["keygen", "--from", &key, "-o", &keys, "--rotations=5", "--force"]);
    let after = contents(&keys);
    assert_eq!(after["client.key"], before["client.key"]);
    assert_ne!(after["evaluation.keys"], before["evaluation.keys"]);
    assert_eq!(owner(&folder.path("keys/public.key")), made["key"]);

    let (status, _, error) =
        run(&["keygen", "--from", &folder.path("in.csv"), "-o", &folder.path("none")]);
    assert!(status == 4 && error.contains("in.csv"), "{error}");
    assert!(!Path::new(&folder.path("none")).exists());
    let (status, _, error) = run(&["keygen", "--from", &public, "-o", &folder.path("none")]);
    assert!(status == 4 && error.contains("public.key: the file holds a public key"), "{error}");
    assert_eq!(
        run(&["keygen", "--from", &key, "-p", "n13", "-o", &more]).0,
        2,
        "both a key and a preset"
    );
}

#[test]
fn useless_keys_are_refused() {
    let folder = Folder::new("no-use");
    let keys = folder.path("keys");
    succeed(&["keygen", "-p", "n13", "--rotations=4095,-4095", "-o", &keys]);
    let (client, public) = (folder.path("keys/client.key"), folder.path("keys/public.key"));
    let other = folder.path("other");
    let second = ["second", "-k", &client, "-c", "40", "-o", &other];
    for (arguments, status, words) in [
        (
            &["keygen", "-p", "n13", "-o", &other, "--rotations=99999999999"][..],
            2,
            "-4095 to 4095 places",
        ),
        (&["keygen", "-p", "n13", "-o", &other, "--rotations=1,-4096"], 2, "not by -4096"),
        (&["keygen", "--from", &client, "-o", &other, "--rotations=4096"], 2, "not by 4096"),
        (&[&second[..], &["--rotations=4096"]].concat(), 2, "not by 4096"),
        (
            &["keygen", "-p", "n13", "-o", &other, "--scheme", "bgv", "--plain-modulus", "7"],
            2,
            "plaintext modulus 7: it gives no slots for the elements of arrays. A prime that is 1 \
             modulo 16384, twice the ring degree, gives slots, such as 65537",
        ),
        (
            &["second", "-k", &public, "-c", "40", "-o", &other],
            4,
            "keys/public.key: the file holds a public key",
        ),
        (
            &["keygen", "-p", "n13", "-o", &other, "--tables=lut9", "--json"],
            2,
            "lut11, lut12, lut13",
        ),
        (&["keygen", "-p", "n13", "-o", &other, "--tables-capacity=20", "--json"], 2, "--tables"),
    ] {
        let (got, _, error) = run(arguments);
        assert!(got == status && error.contains(words), "{got}: {error}");
        assert!(!Path::new(&other).exists(), "{arguments:?}");
    }
}

/// The folder of the key that is read gets no second secret key, whatever the file's name.
#[test]
fn a_second_key_does_not_replace_the_first() {
    let folder = Folder::new("second-over-first");
    let keys = folder.path("keys");
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &keys]);
    let (key, before) = (folder.path("keys/client.key"), contents(&keys));
    let mut folders = vec![keys.clone(), folder.path("./keys/../keys")];
    #[cfg(unix)]
    {
        let linked = folder.path("linked");
        fs::create_dir(&linked).expect("a folder");
        std::os::unix::fs::symlink(&key, folder.path("linked/transfer.key")).expect("a link");
        folders.push(linked);
    }
    for output in &folders {
        let (status, _, error) = run(&["second", "--force", "-k", &key, "-c", "40", "-o", output]);
        assert!(status == 2 && error.contains("client.key, which is read"), "{status}: {error}");
        assert!(contents(&keys) == before, "keys have changed");
    }
    // A key is not written over a file that it is read from under another name.
    let renamed = folder.path("renamed/public.key");
    fs::create_dir(folder.path("renamed")).expect("a folder");
    fs::copy(&key, &renamed).expect("a key");
    let (status, _, error) =
        run(&["keygen", "--force", "--from", &renamed, "-o", &folder.path("renamed")]);
    assert!(status == 2 && error.contains("public.key, which is read"), "{status}: {error}");
    assert!(fs::read(&renamed).expect("a key") == before["client.key"]);
}

#[test]
fn files_of_other_keys_are_reported() {
    let folder = Folder::new("foreign-files");
    let [keys, second] = ["keys", "second"].map(|name| folder.path(name));
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &keys]);
    let key = folder.path("keys/client.key");
    let printed = succeed(&["second", "-k", &key, "-c", "40", "--rotations=1", "-o", &second]);
    assert!(!printed.contains("other keys"), "{printed}");
    // The folder's own transfer key and secret key.
    let own = folder.path("second/client.key");
    let printed = succeed(&["keygen", "--from", &own, "--rotations=1", "--force", "-o", &second]);
    assert!(!printed.contains("other keys"), "{printed}");

    let before = fs::read(folder.path("second/transfer.key")).expect("a key");
    let keygen = ["keygen", "-p", "n13", "--rotations=1", "--force", "-o", &second];
    let printed = succeed(&keygen);
    let words = "transfer.key: belongs to other keys, and is left as it is";
    assert!(printed.contains(words) && printed.matches("other keys").count() == 1, "{printed}");
    assert!(fs::read(folder.path("second/transfer.key")).expect("a key") == before);
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(&[&keygen[..], &["--json"]].concat())).expect("JSON");
    let path = printed["foreign_files"][0].as_str().expect("a path");
    assert_eq!(path, folder.path("second/transfer.key"));
}

#[cfg(target_os = "linux")]
#[test]
fn partial_files_of_stopped_runs_are_removed() {
    let folder = Folder::new("parts");
    let keys = folder.path("keys");
    fs::create_dir(&keys).expect("a folder");
    // No process has such a large number.
    let dead = u32::MAX;
    let new = format!(".client.key.{dead}.1.part");
    let kept = [
        format!(".client.key.{}.0.part", std::process::id()),
        ".client.key.mine.0.part".to_owned(),
        format!(".client.key.{dead}.part"),
        format!(".other.key.{dead}.0.part"),
    ];
    let gone = [format!(".client.key.{dead}.0.part"), format!(".evaluation.keys.{dead}.12.part")];
    let leave = |name: &str, minutes: u64| {
        let path = folder.path(name);
        fs::write(&path, "a part").expect("a file");
        let then = SystemTime::now() - Duration::from_secs(60 * minutes);
        File::options()
            .write(true)
            .open(&path)
            .and_then(|part| part.set_modified(then))
            .expect("a time");
        path
    };
    for name in kept.iter().chain(&gone) {
        leave(&format!("keys/{name}"), 11);
    }
    leave(&format!("keys/{new}"), 1);
    succeed(&["keygen", "-p", "n12", "--rotations=1", "-o", &keys]);
    let there = contents(&keys);
    assert!(kept.iter().chain([&new]).all(|name| there.contains_key(name)), "{:?}", there.keys());
    assert_eq!(there.len(), kept.len() + 4, "{:?}", there.keys());

    fs::write(folder.path("in.csv"), "1\n").expect("a file");
    let part = leave(&format!(".in.enc.{dead}.7.part"), 11);
    let public = folder.path("keys/public.key");
    succeed(&["encrypt", "-k", &public, &folder.path("in.csv"), "-o", &folder.path("in.enc")]);
    assert!(!Path::new(&part).exists());
}
