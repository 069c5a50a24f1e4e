//! The profile of this machine: what the operations of key switching cost on it, by which every
//! [`crate::Session`] plans them.
//!
//! `hippocrene tune` writes one to the user's folder of settings ([`path`]), and the environment
//! variable `HIPPOCRENE_PROFILE` names another file. Without one the typical figures of the kernel
//! in use apply, as they do when the profile is of another kernel.
//!
//! Simulations predict times by that profile too. Where there is none, the first one of a process
//! measures the machine for about a second, and keeps the result in the user's folder of caches
//! ([`cache`]). Nothing but predicted times depends on what was measured so.
//! `HIPPOCRENE_PROFILE=typical` switches it off.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use etcetera::BaseStrategy;
use hippocrene_ring::{Cpu, Kernel};
pub use hippocrene_rlwe::Profile;

use crate::{
    Error,
    wire::{self, FormatError},
};

/// The environment variable that names the file.
pub const VARIABLE: &str = "HIPPOCRENE_PROFILE";

/// What the variable says instead of a file where nothing is to be measured and no profile to be
/// read.
pub const TYPICAL: &str = "typical";

/// The most bytes that a file may have: many times what one takes.
const MOST_BYTES: u64 = 1 << 20;

/// Measures this machine with the kernel in use, with one thread, which takes some seconds.
/// `progress` is told how many steps are done, and of how many.
///
/// # Errors
/// [`Error::System`] when `HIPPOCRENE_KERNEL` names a kernel that cannot be used.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Profile, Error> {
    Ok(Profile::measure(Kernel::detect()?, progress)?)
}

/// Where the profile lies: where `HIPPOCRENE_PROFILE` says, else `hippocrene/profile.json` in the
/// folder where this system keeps users' settings (`$XDG_CONFIG_HOME` or `~/.config`; on Windows
/// `%APPDATA%`). `None` when there is no such folder, as the user has no home.
pub fn path() -> Option<PathBuf> {
    named().or_else(|| {
        let folders = etcetera::choose_base_strategy().ok()?;
        Some(folders.config_dir().join("hippocrene").join("profile.json"))
    })
}

/// What the environment variable names.
fn named() -> Option<PathBuf> {
    let name =
        std::env::var_os(VARIABLE).filter(|name| *name != OsString::new() && *name != TYPICAL);
    name.map(PathBuf::from)
}

/// Whether the environment variable says [`TYPICAL`].
fn is_switched_off() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|name| name == TYPICAL)
}

/// Where the result of a short measurement is kept: a file for this kernel and CPU in `hippocrene`
/// in the folder where this system keeps users' caches (`$XDG_CACHE_HOME` or `~/.cache`; on Windows
/// `%LOCALAPPDATA%`). `None` when there is no such folder, as the user has no home.
pub fn cache() -> Option<PathBuf> {
    let (folders, kernel) = (etcetera::choose_base_strategy().ok()?, Kernel::detect().ok()?);
    Some(
        folders
            .cache_dir()
            .join("hippocrene")
            .join(format!("profile-{kernel}-{}.json", Cpu::detect())),
    )
}

/// What times are predicted by: the profile at [`path`] where there is one of the kernel in use,
/// else what a short measurement of this machine gave. That is made once and kept at [`cache`].
/// Where this cannot be written, each process measures once. Where `HIPPOCRENE_PROFILE` says
/// [`TYPICAL`], and in builds with debug assertions, which are slower than what is shipped, nothing
/// is measured and the typical figures of this CPU apply.
///
/// # Errors
/// Those of [`installed`], and [`Error::System`] when `HIPPOCRENE_KERNEL` names a kernel that
/// cannot be used.
pub fn for_predictions() -> Result<Profile, Error> {
    let kernel = Kernel::detect()?;
    if let Some(profile) = installed()?.filter(|profile| profile.kernel() == kernel) {
        return Ok(profile);
    }
    if is_switched_off() || cfg!(debug_assertions) {
        return Ok(Profile::typical_of(kernel, Cpu::detect()));
    }
    static MEASURED: OnceLock<Profile> = OnceLock::new();
    Ok(MEASURED.get_or_init(|| kept_or_measured(cache().as_deref(), kernel)).clone())
}

/// The profile in the file `cache`, or one that is measured now and kept there if possible.
fn kept_or_measured(cache: Option<&Path>, kernel: Kernel) -> Profile {
    let kept = cache.and_then(|path| load(path).ok()).filter(|profile| profile.kernel() == kernel);
    if let Some(profile) = kept {
        return profile;
    }
    let Ok(profile) = Profile::measure_quickly(kernel) else {
        return Profile::typical_of(kernel, Cpu::detect());
    };
    if let Some(path) = cache {
        // The next process measures again where nothing can be written.
        let _ = save(path, &profile);
    }
    profile
}

/// The profile at [`path`], if there is one. Where `HIPPOCRENE_PROFILE` says [`TYPICAL`] there is
/// none.
///
/// # Errors
/// Those of [`load`]. That there is no file is one only where `HIPPOCRENE_PROFILE` names it.
pub fn installed() -> Result<Option<Profile>, Error> {
    match path() {
        _ if is_switched_off() => Ok(None),
        Some(path) if named().is_some() || path.exists() => load(&path).map(Some),
        _ => Ok(None),
    }
}

/// Reads a profile.
///
/// # Errors
/// [`Error::Io`] when there is no such file, [`Error::Format`] when it holds no profile; the
/// message names the file, says that it is to be the tuning profile, and what is wrong with which
/// field.
pub fn load(path: &Path) -> Result<Profile, Error> {
    let fail = |source: io::Error| {
        let kind = source.kind();
        let why = match kind {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => kind.to_string(),
        };
        let what = format!(
            "the tuning profile cannot be read: {why} (`hippocrene tune` makes a new one, and {VARIABLE} names another)"
        );
        Error::Io { path: path.display().to_string(), source: io::Error::new(kind, what) }
    };
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)).map_err(fail)?;
    let malformed = |e: serde_json::Error| FormatError::Profile {
        path: path.into(),
        what: in_json(&e.to_string()),
    };
    Ok(serde_json::from_slice(&text).map_err(malformed)?)
}

/// What serde says is wrong, with a JSON object where it names a type of this library.
fn in_json(what: &str) -> String {
    match what.split_once("expected struct ") {
        Some((before, named)) => {
            let after = named.trim_start_matches(|c: char| c.is_alphanumeric());
            format!("{before}expected a JSON object{after}")
        }
        None => what.to_owned(),
    }
}

/// Writes a profile, in one piece, to `path`, whose folder is made where it does not exist.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, or when `path` holds a secret key.
pub fn save(path: &Path, profile: &Profile) -> Result<(), Error> {
    let fail = |source| Error::Io { path: path.display().to_string(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut text = serde_json::to_vec_pretty(profile).map_err(|e| fail(e.into()))?;
    text.push(b'\n');
    wire::write(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of its own for each test, removed at the end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            Place(
                std::env::temp_dir()
                    .join(format!("hippocrene-profile-{name}-{}", std::process::id())),
            )
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn profiles_are_saved_and_loaded() {
        let place = Place::new("round-trip");
        let path = place.0.join("new/profile.json");
        for kernel in Kernel::ALL {
            save(&path, &Profile::typical(kernel)).unwrap();
            assert_eq!(load(&path).unwrap(), Profile::typical(kernel));
        }
    }

    #[test]
    fn what_was_measured_is_kept_where_that_is_possible() {
        let place = Place::new("quick");
        let (kernel, path) = (Kernel::detect().unwrap(), place.0.join("new/quick.json"));
        let measured = kept_or_measured(Some(&path), kernel);
        assert_eq!((measured.kernel(), &load(&path).unwrap()), (kernel, &measured));
        // What is there is taken, whatever a measurement would give now.
        save(&path, &Profile::typical(kernel)).unwrap();
        assert_eq!(kept_or_measured(Some(&path), kernel), Profile::typical(kernel));
        // A file that is none is measured over, and a folder that cannot be is done without.
        fs::write(&path, "{}").unwrap();
        kept_or_measured(Some(&path), kernel);
        assert_eq!(load(&path).unwrap().kernel(), kernel);
        assert_eq!(kept_or_measured(Some(&path.join("under/a file")), kernel).kernel(), kernel);
        assert_eq!(kept_or_measured(None, kernel).kernel(), kernel);
    }

    #[test]
    fn errors_name_the_file_the_field_and_what_is_wrong() {
        let place = Place::new("errors");
        let path = place.0.join("profile.json");
        save(&path, &Profile::typical(Kernel::Portable)).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&good).unwrap();
        type Change = fn(&mut serde_json::Value);
        let changes: [(Change, &str); 12] = [
            (|v| *v = 1.into(), "invalid type: integer `1`, expected a JSON object at line 1"),
            (
                |v| v["memory"] = "fast".into(),
                "invalid type: string \"fast\", expected a JSON object at",
            ),
            (|v| v["version"] = 1.into(), "version is 1; this library reads version 3"),
            (|v| v["kernel"] = "abacus".into(), "kernel is \"abacus\"; there are portable, avx2"),
            (
                |v| v["memory"]["cache_bytes"] = 0.into(),
                "cache_bytes is 0; a finite number above 0",
            ),
            (
                |v| v["limbs"][3]["cached"]["pair"] = (-1.5).into(),
                "cached.pair of log_degree 13, modulus_bits 48 is -1.5",
            ),
            (|v| v["limbs"][3]["memory"]["sum"] = "fast".into(), "invalid type: string \"fast\""),
            (
                |v| v["limbs"][0]["log_degree"] = 11.into(),
                "limbs[0] (log_degree 11, modulus_bits 48)",
            ),
            (
                |v| v["limbs"][1] = v["limbs"][0].clone(),
                "limbs[1] (log_degree 12, modulus_bits 48) stands",
            ),
            (
                |v| _ = v["limbs"].as_array_mut().unwrap().pop(),
                "limbs has no entry of log_degree 17, modulus_bits 61",
            ),
            (
                |v| _ = v["limbs"][2]["cached"].as_object_mut().unwrap().remove("forward"),
                "missing field `forward`",
            ),
            (|v| v["limbs"][2]["cached"]["forwards"] = 1.into(), "unknown field `forwards`"),
        ];
        for (change, message) in changes {
            let mut changed = value.clone();
            change(&mut changed);
            fs::write(&path, changed.to_string()).unwrap();
            let error = load(&path).unwrap_err();
            let (kind, words) = (error.kind(), error.to_string());
            assert!(words.contains(message) && words.contains(&*path.to_string_lossy()), "{words}");
            assert!(
                words.contains("tuning profile") && words.contains("`hippocrene tune`"),
                "{words}"
            );
            assert_eq!(kind, "FormatError");
        }
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert!(load(&path).unwrap_err().to_string().contains("EOF while parsing"));
        let missing = load(&place.0.join("none")).unwrap_err();
        assert_eq!(missing.kind(), "FileError");
        let words = missing.to_string();
        for part in [
            "none: the tuning profile cannot be read: there is no such file",
            "`hippocrene tune`",
            VARIABLE,
        ] {
            assert!(words.contains(part), "{words}");
        }
    }
}
