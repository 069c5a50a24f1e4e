//! The profile of this machine: the measured cost of the operations of key switching.
//!
//! Every [`crate::Session`] plans key switches by it. `hippocrene tune` writes a profile to the
//! user's folder of settings ([`path`]), and the environment variable `HIPPOCRENE_PROFILE` names
//! another file. Without a profile, or with a profile of another kernel, the typical figures of the
//! kernel in use apply.
//!
//! Simulations predict times by that profile too. If there is none, the first simulation of a
//! process measures the machine for about a second, and stores the result in the user's cache
//! folder ([`cache`]) for a day. Only predicted times depend on this measurement.
//! `HIPPOCRENE_PROFILE=typical` switches it off.
//!
//! A server decides by dry runs, which use [`Profile::reference`] instead. So its decisions are the
//! same on every machine.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use etcetera::BaseStrategy;
use hippocrene_ring::{Cpu, Kernel};
pub use hippocrene_rlwe::Profile;

use crate::{Error, files, format::FormatError};

/// The environment variable that names the file of the profile.
pub const VARIABLE: &str = "HIPPOCRENE_PROFILE";

/// The value of the variable that switches off measurements and profiles.
pub const TYPICAL: &str = "typical";

/// The maximum size of a profile file in bytes; chosen, many times the size of a real one.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Measures this machine with the kernel in use and one thread, which takes some seconds.
///
/// Calls `progress` with the number of finished steps and the number of all steps.
///
/// # Errors
/// [`Error::System`] when `HIPPOCRENE_KERNEL` names a kernel that cannot be used.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Profile, Error> {
    Ok(Profile::measure(Kernel::detect()?, progress)?)
}

/// The path of the profile, or `None` if the user has no home folder.
///
/// It is the path in `HIPPOCRENE_PROFILE` if that is set. Otherwise it is `hippocrene/profile.json`
/// in the system's folder for users' settings (`$XDG_CONFIG_HOME` or `~/.config`; on Windows
/// `%APPDATA%`).
pub fn path() -> Option<PathBuf> {
    named().or_else(|| {
        let folders = etcetera::choose_base_strategy().ok()?;
        Some(folders.config_dir().join("hippocrene").join("profile.json"))
    })
}

/// The path that the environment variable names, if any.
fn named() -> Option<PathBuf> {
    let name =
        std::env::var_os(VARIABLE).filter(|name| *name != OsString::new() && *name != TYPICAL);
    name.map(PathBuf::from)
}

/// True if the environment variable is [`TYPICAL`].
fn is_switched_off() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|name| name == TYPICAL)
}

/// The path of the cached short measurement, or `None` if the user has no home folder.
///
/// It is a file for this kernel and CPU in `hippocrene` in the system's folder for users' caches
/// (`$XDG_CACHE_HOME` or `~/.cache`; on Windows `%LOCALAPPDATA%`). It is also `None` if no kernel
/// can be used.
pub fn cache() -> Option<PathBuf> {
    let (folders, kernel) = (etcetera::choose_base_strategy().ok()?, Kernel::detect().ok()?);
    Some(
        folders
            .cache_dir()
            .join("hippocrene")
            .join(format!("profile-{kernel}-{}.json", Cpu::detect())),
    )
}

/// The profile that predicts times: the installed one or that of a short measurement, in the form
/// for whole programs ([`Profile::for_programs`]).
///
/// The profile at [`path`] applies if there is one of the kernel in use. Otherwise this machine is
/// measured once, and the result is stored at [`cache`]. It applies for a day, since other work may
/// have disturbed the measurement. If it cannot be stored, each process measures once. Nothing is
/// measured where `HIPPOCRENE_PROFILE` is [`TYPICAL`], and in builds with debug assertions, which
/// are slower than release builds. The typical figures of this CPU apply there.
///
/// # Errors
/// As [`installed`], and [`Error::System`] when `HIPPOCRENE_KERNEL` names a kernel that cannot be
/// used.
pub fn for_predictions() -> Result<Profile, Error> {
    Ok(of_this_machine()?.for_programs())
}

/// The installed profile, or that of a short measurement.
fn of_this_machine() -> Result<Profile, Error> {
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

/// The time for which a short measurement applies. Chosen.
const MAX_CACHE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// True if the file was written less than [`MAX_CACHE_AGE`] ago.
fn is_recent(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|file| file.modified());
    written.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < MAX_CACHE_AGE))
}

/// Returns the profile in the file `cache` if it is recent. Otherwise it measures one now and stores
/// it there if possible.
fn kept_or_measured(cache: Option<&Path>, kernel: Kernel) -> Profile {
    let kept = cache.filter(|path| is_recent(path)).and_then(|path| load(path).ok());
    let kept = kept.filter(|profile| profile.kernel() == kernel);
    if let Some(profile) = kept {
        return profile;
    }
    let Ok(profile) = Profile::measure_quickly(kernel) else {
        return Profile::typical_of(kernel, Cpu::detect());
    };
    if let Some(path) = cache {
        // If this fails, the next process measures again.
        let _ = save(path, &profile);
    }
    profile
}

/// The profile at [`path`], if there is one.
///
/// There is none where `HIPPOCRENE_PROFILE` is [`TYPICAL`].
///
/// # Errors
/// As [`load`]. A missing file is an error only if `HIPPOCRENE_PROFILE` names it.
pub fn installed() -> Result<Option<Profile>, Error> {
    match path() {
        _ if is_switched_off() => Ok(None),
        Some(path) if named().is_some() || path.exists() => load(&path).map(Some),
        _ => Ok(None),
    }
}

/// Reads a profile from a file.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read. [`Error::Format`] when it holds no profile. The
/// message names the file, calls it the tuning profile, and says which field is wrong and why.
pub fn load(path: &Path) -> Result<Profile, Error> {
    let fail = |source: io::Error| {
        let kind = source.kind();
        let why = match kind {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => kind.to_string(),
        };
        let what = format!(
            "the tuning profile cannot be read: {why} (`hippocrene tune` makes a new one, and \
             {VARIABLE} names another)"
        );
        Error::Io { path: path.display().to_string(), source: io::Error::new(kind, what) }
    };
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text))
        .map_err(fail)?;
    let malformed = |e: serde_json::Error| FormatError::Profile {
        path: path.into(),
        what: in_json(&e.to_string()),
    };
    Ok(serde_json::from_slice(&text).map_err(malformed)?)
}

/// Rewrites a message of serde so that it says "a JSON object" instead of a Rust type of this
/// library.
fn in_json(what: &str) -> String {
    match what.split_once("expected struct ") {
        Some((before, named)) => {
            let after = named.trim_start_matches(|c: char| c.is_alphanumeric());
            format!("{before}expected a JSON object{after}")
        }
        None => what.to_owned(),
    }
}

/// Writes a profile atomically to `path`, and creates its folder if it does not exist.
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
    files::write(path, &text)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A folder for each test, removed at the end.
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
        // A stored profile is used without a new measurement.
        save(&path, &Profile::typical(kernel)).unwrap();
        assert_eq!(kept_or_measured(Some(&path), kernel), Profile::typical(kernel));
        // A file of the day before yesterday is replaced.
        let old = SystemTime::now() - 2 * MAX_CACHE_AGE;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(!is_recent(&path));
        kept_or_measured(Some(&path), kernel);
        assert!(is_recent(&path));
        // An invalid file is replaced by a new measurement, and a folder that cannot be created is
        // no error.
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
            (|v| v["version"] = 2.into(), "version is 2; this library reads version 1"),
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
                "limbs[1] (log_degree 12, modulus_bits 48) appears twice",
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
