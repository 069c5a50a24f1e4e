//! Tests of `peers.py` without access to the peers: it gives the reason and continues.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Returns the Python that runs the program.
fn python() -> PathBuf {
    let out =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    PathBuf::from(String::from_utf8(out.stdout).unwrap().trim())
}

/// Returns the output of the program for `peers`, with no package index, one Python and no Go.
fn measure(folder: &Path, peers: &[&str]) -> Vec<Value> {
    let nothing = folder.join("nothing");
    fs::create_dir_all(&nothing).unwrap();
    let out = Command::new(python())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/peers.py"))
        .arg("--environments")
        .arg(folder.join("environments"))
        .args(peers)
        .env("PIP_NO_INDEX", "1")
        .env_remove("PIP_FIND_LINKS")
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PATH", &nothing)
        .env("PYENV_ROOT", &nothing)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// A temporary folder that is removed with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("hippocrene-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn wheels_that_cannot_be_installed_are_missing_with_the_reason() {
    let folder = Folder::new("wheels");
    let peers = measure(&folder.0, &["openfhe", "tenseal"]);
    assert_eq!(peers.len(), 2);
    for (peer, package) in peers.iter().zip(["openfhe", "tenseal"]) {
        assert_eq!(peer["peer"], format!("{package} wheel"));
        let why = peer["missing"].as_str().unwrap();
        assert!(
            why.contains("install it")
                && why.contains(&format!("No matching distribution found for {package}"))
        );
        assert!(peer.get("shapes").is_none());
    }
}

/// An environment without pip is made again.
#[test]
fn an_incomplete_environment_is_made_again() {
    let folder = Folder::new("half");
    let version = Command::new(python())
        .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output()
        .unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let inside = folder.0.join(format!("environments/tenseal-{}/bin", version.trim()));
    fs::create_dir_all(&inside).unwrap();
    fs::write(inside.join("python"), "").unwrap();
    let why = measure(&folder.0, &["tenseal"])[0]["missing"].to_string();
    assert!(why.contains("No matching distribution found for tenseal"), "{why}");
}

#[test]
fn lattigo_without_go_is_missing_with_the_reason() {
    let folder = Folder::new("go");
    let peers = measure(&folder.0, &["lattigo-she"]);
    assert_eq!(peers[0]["peer"], "Lattigo");
    assert!(peers[0]["missing"].as_str().unwrap().contains("Go is needed"));
}
