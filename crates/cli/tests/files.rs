//! Tests of files of numbers and of encrypted arrays, and of streams in their places.

use crate::common::{Folder, assert_close, numbers, process, run, succeed};
use std::fs;
use std::path::Path;

/// Makes keys in a folder, and returns the paths of the secret and of the public key.
fn keygen(folder: &Folder, name: &str, preset: &str) -> [String; 2] {
    succeed(&["keygen", "-p", preset, "--rotations=1", "-o", &folder.path(name)]);
    ["client.key", "public.key"].map(|key| folder.path(&format!("{name}/{key}")))
}

#[test]
fn standard_streams_replace_files() {
    let folder = Folder::new("streams");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (status, encrypted, printed) =
        process(&["encrypt", "-k", &public, "-", "--format", "csv", "-o", "-"], b"a,b\n1.5,-2\n");
    assert!(
        status == Some(0) && printed.contains("-: an encrypted array of shape (1, 2)"),
        "{printed}"
    );
    let (status, inspected, _) = process(&["inspect", "-"], &encrypted);
    assert!(
        status == Some(0) && String::from_utf8_lossy(&inspected).contains("an encrypted array")
    );
    let mut inputs = vec!["-"];
    if Path::new("/dev/stdin").exists() {
        inputs.push("/dev/stdin");
    }
    for input in inputs {
        for output in [&[][..], &["-o", "-"]] {
            let (status, out, printed) =
                process(&[&["decrypt", "-k", &client, input], output].concat(), &encrypted);
            assert_eq!((status, printed.as_str()), (Some(0), ""), "{input}");
            assert_close(&String::from_utf8(out).expect("text"), &[1.5, -2.0]);
        }
    }
    let (status, out, printed) =
        process(&["decrypt", "-k", &client, "-", "-o", "-", "--json"], &encrypted);
    let printed_json: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(
        (status, printed.as_str(), printed_json["values"].as_array().map(Vec::len)),
        (Some(0), "", Some(2))
    );
    let (status, _, printed) =
        process(&["encrypt", "-k", &public, "-", "--format", "csv", "-o", "-", "--json"], b"1\n");
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!((status, &printed["shape"][0], &printed["path"]), (Some(0), &1.into(), &"-".into()));

    let (status, _, printed) = process(&["encrypt", "-k", &public, "-", "-o", "-"], b"1\n");
    assert!(status == Some(2) && printed.contains("use --format csv"), "{printed}");
    let (status, _, printed) = process(
        &["decrypt", "-k", &client, "-"],
        b"something else, as long as a header has to be, and longer",
    );
    assert!(status == Some(4) && printed.contains("-: this is not a Hippocrene file"), "{printed}");
    assert!(!Path::new("-").exists());
}

/// A key that is a pipe is read only once, whichever kind of key it is.
#[cfg(target_os = "linux")]
#[test]
fn keys_can_be_read_from_pipes() {
    let folder = Folder::new("piped");
    let [client, public] = keygen(&folder, "keys", "n12");
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    fs::write(&csv, "3,-2\n").expect("a file");
    for key in [&client, &public] {
        let bytes = fs::read(key).expect("a key");
        let (status, _, printed) =
            process(&["encrypt", "-k", "/dev/stdin", &csv, "-o", &enc], &bytes);
        assert_eq!(status, Some(0), "{printed}");
        let (status, out, printed) = process(&["decrypt", "-k", &client, &enc, "-o", "-"], b"");
        assert_eq!(status, Some(0), "{printed}");
        assert_close(&String::from_utf8(out).expect("text"), &[3.0, -2.0]);
        fs::remove_file(&enc).expect("a file");
    }
    let evaluation = fs::read(folder.path("keys/evaluation.keys")).expect("a key");
    let (status, _, printed) =
        process(&["encrypt", "-k", "/dev/stdin", &csv, "-o", &enc], &evaluation);
    assert!(
        status == Some(4) && printed.contains("evaluation keys, not a public key or a secret key"),
        "{printed}"
    );
}

/// An error while writing progress or warnings does not stop the work.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_does_not_fail() {
    let folder = Folder::new("full");
    let keys = folder.path("keys");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_hippocrene"))
        .args(["keygen", "-p", "n12", "--rotations=1", "-o", &keys])
        .stdout(std::process::Stdio::null())
        .stderr(fs::OpenOptions::new().write(true).open("/dev/full").expect("a device"))
        .status();
    assert!(status.expect("the command").success());
    assert!(Path::new(&keys).join("evaluation.keys").exists());
}

/// Redirected output is written to the target of the redirection and does not replace it.
#[cfg(target_os = "linux")]
#[test]
fn special_files_are_written_in_place() {
    let folder = Folder::new("redirected");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (csv, enc, out) = (folder.path("in.csv"), folder.path("in.enc"), folder.path("out.csv"));
    fs::write(&csv, "3,-2\n").expect("a file");
    succeed(&["encrypt", "-k", &public, &csv, "-o", &enc]);
    fs::write(&out, "before\n").expect("a file");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_hippocrene"))
        .args(["-q", "decrypt", "-k", &client, &enc, "-o", "/dev/stdout"])
        .stdout(fs::OpenOptions::new().append(true).open(&out).expect("a file"))
        .status();
    assert!(status.expect("the command").success());
    let text = fs::read_to_string(&out).expect("numbers");
    assert_close(text.strip_prefix("before\n").expect("the earlier text"), &[3.0, -2.0]);
    succeed(&["decrypt", "-k", &client, &enc, "-o", "/dev/null", "--format", "csv"]);
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
}

#[cfg(unix)]
#[test]
fn outputs_are_written_completely_or_not_at_all() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("numbers-whole");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (csv, enc, out) =
        (folder.path("in.csv"), folder.path("in.enc"), folder.path("out/numbers.csv"));
    fs::write(&csv, "1,2,3,4,5,6,7,8\n".repeat(200)).expect("a file");
    succeed(&["encrypt", "-k", &public, &csv, "-o", &enc]);
    fs::create_dir(folder.path("out")).expect("a folder");
    fs::write(&out, "what was there\n").expect("a file");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).expect("permissions");
    let limited = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -f 8; trap '' XFSZ; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_hippocrene"),
        ])
        .args(["decrypt", "-k", &client, &enc, "-o", &out])
        .output()
        .expect("the command");
    assert_eq!(limited.status.code(), Some(3), "{}", String::from_utf8_lossy(&limited.stderr));
    assert_eq!(fs::read_to_string(&out).expect("a file"), "what was there\n");
    assert_eq!(
        fs::read_dir(folder.path("out")).expect("a folder").count(),
        1,
        "a temporary file is left"
    );
    succeed(&["decrypt", "-k", &client, &enc, "-o", &out]);
    assert_eq!(numbers(&fs::read_to_string(&out).expect("a file")).len(), 1600);
    let mode = fs::metadata(&out).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "who may read it has changed");
}

#[test]
fn columns_of_tables_are_encrypted() {
    let folder = Folder::new("columns");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    fs::write(&csv, "id;age;name;weight\nx1;30;Ann;60.5\nx2;40;Bob;70.25\n").expect("a file");
    let encrypt = ["encrypt", "-k", &public, &csv, "-o", &enc];
    let (status, _, error) = run(&encrypt);
    assert!(status == 4 && error.contains("give --delimiter ';'"), "{error}");
    succeed(&[&encrypt[..], &["--delimiter", ";", "--columns", "weight,2"]].concat());
    assert_close(&succeed(&["decrypt", "-k", &client, &enc]), &[60.5, 30.0, 70.25, 40.0]);
    let (status, _, error) =
        run(&[&encrypt[..], &["--delimiter", ";", "--columns", "height"]].concat());
    assert!(status == 4 && error.contains("there is no column \"height\""), "{error}");

    // Names in files of others cannot control the terminal, and accents stay as they are.
    let evil = folder.path("\u{1b}[31min.csv");
    fs::write(&evil, "\u{1b}[2Jhöhe,\u{7}\n1,2\n").expect("a file");
    let (status, _, error) =
        run(&["encrypt", "-k", &public, &evil, "-o", &enc, "--columns", "height"]);
    assert!(status == 4 && error.contains(r"has \u{1b}[2Jhöhe, \u{7}"), "{error}");
    assert!(
        error.contains(r"\u{1b}[31min.csv") && !error.trim_end().contains(char::is_control),
        "{error}"
    );
    let printed =
        succeed(&["encrypt", "-k", &public, &evil, "-o", &evil.replace("csv", "enc"), "--header"]);
    assert!(printed.contains(r"\u{1b}[31min.enc") && !printed.contains('\u{1b}'), "{printed}");

    fs::write(&csv, "x\n1\n\n3\n").expect("a file");
    let (status, _, error) = run(&encrypt);
    assert!(status == 4 && error.contains("in.csv: line 3 is blank"), "{error}");
    fs::write(&csv, b"n\xe9\n1\n").expect("a file");
    let (status, _, error) = run(&encrypt);
    assert!(
        status == 4 && error.contains("in.csv: line 1 holds bytes that are no text in UTF-8"),
        "{error}"
    );
    let (status, _, error) = run(&[&encrypt[..], &["--format", "npy", "--columns", "1"]].concat());
    assert!(status == 2 && error.contains("this is .npy"), "{error}");
}

#[test]
fn complex_numbers_match_those_of_npy() {
    let folder = Folder::new("complex");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (npy, enc, out) = (folder.path("in.npy"), folder.path("in.enc"), folder.path("out.npy"));
    let header = "{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }";
    let mut file =
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()]
            .concat();
    let want = [1.5f64, -2.0, 0.25, 4.0];
    file.extend(want.iter().flat_map(|part| part.to_le_bytes()));
    fs::write(&npy, file).expect("a file");
    for key in [&client, &public] {
        succeed(&["encrypt", "-k", key, &npy, "-o", &enc]);
        succeed(&["decrypt", "-k", &client, &enc, "-o", &out]);
        let bytes = fs::read(&out).expect("a file");
        assert!(
            String::from_utf8_lossy(&bytes)
                .contains("'<c16', 'fortran_order': False, 'shape': (2,)")
        );
        let parts = bytes[bytes.len() - 32..].chunks_exact(8);
        let parts: Vec<f64> =
            parts.map(|part| f64::from_le_bytes(part.try_into().expect("8 bytes"))).collect();
        assert!(parts.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-4), "{parts:?}");
    }
    let printed = succeed(&["decrypt", "-k", &client, &enc, "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert!((printed["values"][1][1].as_f64().expect("a part") - 4.0).abs() < 1e-4, "{printed}");
    for (arguments, words) in [
        (&["decrypt", "-k", &client, &enc][..], "write them as .npy"),
        (&["decrypt", "-k", &client, &enc, "-o", &out, "--for-sharing"], "is for real numbers"),
    ] {
        let (status, _, error) = run(arguments);
        assert!(status == 2 && error.contains(words), "{error}");
    }
    let integers = folder.path("integers");
    succeed(&["keygen", "-p", "n12", "--scheme", "bgv", "--rotations=1", "-o", &integers]);
    let (status, _, error) =
        run(&["encrypt", "-k", &folder.path("integers/public.key"), &npy, "-o", &enc]);
    assert!(
        status == 4 && error.contains("complex numbers, which these keys do not encrypt"),
        "{error}"
    );
}

#[test]
fn a_wrong_key_is_reported() {
    let folder = Folder::new("wrong-key");
    let [_, public] = keygen(&folder, "keys", "n13");
    let [same, _] = keygen(&folder, "same", "n13");
    let [other, _] = keygen(&folder, "other", "n12");
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    fs::write(&csv, "1\n").expect("a file");
    succeed(&["encrypt", "-k", &public, &csv, "-o", &enc]);
    for (key, preset) in [(&same, "n13"), (&other, "n12")] {
        let (status, _, error) = run(&["decrypt", "-k", key, &enc, "--json"]);
        let error: serde_json::Value = serde_json::from_str(&error).expect("JSON");
        assert_eq!((status, &error["error"]["kind"]), (1, &"KeyMismatchError".into()), "{error}");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains("in.enc: it is encrypted for the key"), "{message}");
        assert!(
            message.contains("(preset n13), and ")
                && message.contains(&format!("(preset {preset}): ")),
            "{message}"
        );
    }
}

#[test]
fn column_names_are_restored_from_their_file() {
    let folder = Folder::new("header-from");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (csv, enc, out) = (folder.path("in.csv"), folder.path("in.enc"), folder.path("out.csv"));
    let encrypt = ["encrypt", "-k", &public, &csv, "-o", &enc];
    let decrypt = ["decrypt", "-k", &client, &enc, "--header-from", &csv];
    fs::write(&csv, "age,\"pressure, mmHg\"\n30,120.5\n40,110.25\n").expect("a file");
    let printed = succeed(&encrypt);
    assert!(
        printed.contains(&format!("decrypt --header-from {csv} writes them again")),
        "{printed}"
    );
    succeed(&[&decrypt[..], &["-o", &out]].concat());
    for text in [succeed(&decrypt), fs::read_to_string(&out).expect("a file")] {
        let rows = text.strip_prefix("age,\"pressure, mmHg\"\n").expect("the names");
        assert_close(rows, &[30.0, 120.5, 40.0, 110.25]);
    }
    assert_close(&succeed(&["decrypt", "-k", &client, &enc]), &[30.0, 120.5, 40.0, 110.25]);
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(&[&encrypt[..], &["--json"]].concat())).expect("JSON");
    assert_eq!(printed["columns"][1], "pressure, mmHg");
    let bytes = fs::read(&enc).expect("an array");
    assert!(!bytes.windows(4).any(|part| part == b"mmHg"), "the array tells no names");

    // A column that was left out for encryption is left out here too.
    fs::write(&csv, ";age;weight\n0;30;60.5\n1;40;70.25\n").expect("a file");
    let (status, _, error) = run(&[&encrypt[..], &["--delimiter", ";"]].concat());
    assert!(
        status == 4 && error.contains("in.csv: the first column looks like a row index"),
        "{error}"
    );
    for (flags, want) in [
        (&["--delimiter", ";", "--index"][..], ("age,weight", [30.0, 60.5, 40.0, 70.25])),
        (&["--delimiter", ";", "--columns", "weight,2"], ("weight,age", [60.5, 30.0, 70.25, 40.0])),
    ] {
        succeed(&[&encrypt[..], flags].concat());
        let text = succeed(&[&decrypt[..], flags].concat());
        let (names, rows) = text.split_once('\n').expect("lines");
        assert_eq!(names, want.0);
        assert_close(rows, &want.1);
    }
    for (flags, status, words) in [
        (
            &["--delimiter", ";"][..],
            2,
            "names 3 columns, and the array of shape (2, 2) has 2 columns. If the array",
        ),
        (&["--delimiter", ";", "--columns", "height"], 4, "there is no column \"height\""),
        (
            &["--delimiter", ";", "--index", "--json"],
            2,
            "--header-from is for comma-separated values",
        ),
        (
            &["--delimiter", ";", "--index", "--format", "npy"],
            2,
            "--header-from is for comma-separated values",
        ),
        (&["--delimiter", ";", "--index", "-o", &csv], 2, "which is read"),
    ] {
        let (got, _, error) = run(&[&decrypt[..], flags].concat());
        assert!(got == status && error.contains(words), "{flags:?}: {got}: {error}");
    }
    let (status, _, error) = run(&["decrypt", "-k", &client, &enc, "--columns", "1"]);
    assert!(status == 2 && error.contains("for the file that --header-from names"), "{error}");
    let (status, _, error) =
        run(&["decrypt", "-k", &client, &enc, "--header-from", &folder.path("none.csv")]);
    assert!(status == 3 && error.contains("none.csv"), "{error}");
}

#[test]
fn integers_and_bits_have_column_names() {
    let folder = Folder::new("header-integers");
    let keys = folder.path("bgv");
    succeed(&["keygen", "-p", "n12", "--scheme", "bgv", "--rotations=1", "-o", &keys]);
    succeed(&["keygen", "-p", "bits14", "-o", &folder.path("bits")]);
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    for (key, text) in [
        (folder.path("bgv/client.key"), "a,b\n12345,-9\n0,7\n"),
        (folder.path("bits/client.key"), "a,b\n1,0\n0,1\n"),
    ] {
        fs::write(&csv, text).expect("a file");
        succeed(&["encrypt", "-k", &key, &csv, "-o", &enc]);
        let signed: &[&str] = if text.contains('-') { &["--signed"] } else { &[] };
        let decrypt = ["decrypt", "-k", &key, &enc, "--header-from", &csv];
        assert_eq!(succeed(&[&decrypt[..], signed].concat()), text);
    }
}

/// Files as spreadsheets, pandas, R and laboratories write them.
#[test]
fn unusual_files_are_read_or_refused_with_advice() {
    let folder = Folder::new("strange");
    let [client, public] = keygen(&folder, "keys", "n12");
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    let encrypt = |text: &str, flags: &[&str]| {
        fs::write(&csv, text).expect("a file");
        run(&[&["encrypt", "-k", &public, &csv, "-o", &enc], flags].concat())
    };
    for (text, flags, want) in [
        ("\u{feff}age,weight\r\n30,60\r\n", &[][..], &[30.0, 60.0][..]),
        ("\"30\",\"60\"\n\"-1\",\"-9\"\n", &[], &[30.0, 60.0, -1.0, -9.0]),
        ("30,60\n\n\n\n", &[], &[30.0, 60.0]),
        ("weight\n60\n70\n", &[], &[60.0, 70.0]),
        ("60", &[], &[60.0]),
        ("age,age\n30,60\n", &["--header"], &[30.0, 60.0]),
        ("2019,2020\n0.5,0.25\n", &["--header"], &[0.5, 0.25]),
        ("ND,<LOD,yes\n1,2,3\n", &["--header"], &[1.0, 2.0, 3.0]),
        ("a,b,\n1,2,\n3,4,\n", &["--columns", "a,b"], &[1.0, 2.0, 3.0, 4.0]),
        ("a;b\r\n1.5;2\r\n", &["--delimiter", ";"], &[1.5, 2.0]),
    ] {
        let (status, _, error) = encrypt(text, flags);
        assert_eq!((status, error.as_str()), (0, ""), "{text}");
        assert_close(&succeed(&["decrypt", "-k", &client, &enc]), want);
    }
    for (text, flags, words) in [
        (
            "ND,<LOD,yes\n1,2,3\n",
            &[][..],
            "in.csv: line 1 (ND, <LOD, yes) may be a header or values",
        ),
        (
            "ND,<LOD\n1,2\n",
            &["--no-header"],
            "line 1, column 1: \"ND\" is not a finite number. Write a number in place",
        ),
        ("age,age\n30,60\n", &[], "several cells are \"age\". Give --header"),
        ("2019,2020\n0.5,0.25\n", &[], "line 1 (2019, 2020) may be a header or values"),
        ("a;b\n1,5;2,5\n", &[], "give --delimiter ';'"),
        (
            "a;b\n1,5;2,5\n",
            &["--delimiter", ";"],
            "line 2, column 1: \"1,5\" is not a finite number. Write a decimal point",
        ),
        (
            "age,weight\n30,NaN\n",
            &[],
            "line 2, column 2: \"NaN\" is not a finite number. A value is missing",
        ),
        (
            "day,weight\n2020-01-31,60\n",
            &[],
            "line 2, column 1: \"2020-01-31\" is not a finite number. Write a date as",
        ),
        (
            "age,colour\n30,red\n",
            &[],
            "line 2, column 2: \"red\" is not a finite number. Write categories as numbers",
        ),
        (",age\n0,30\n1,40\n", &[], "Give --index to leave it out, --no-index to encrypt it"),
        ("a,b,\n1,2,\n", &[], "If the lines end with a delimiter, choose the columns before it"),
    ] {
        let (status, _, error) = encrypt(text, flags);
        assert!(status == 4 && error.contains(words), "{text}: {status}: {error}");
    }
    let (status, _, error) = encrypt("1,2\n", &["--no-header", "--columns", "age"]);
    assert!(
        status == 2 && error.contains("\"age\" is the name of a column, but with --no-header"),
        "{error}"
    );
}

/// Errors shorten unreadable text. An array with more axes than its file can have is refused at
/// encryption.
#[test]
fn errors_are_short_and_too_many_axes_are_refused() {
    let folder = Folder::new("short");
    let [_, public] = keygen(&folder, "keys", "n12");
    let encrypt = |name: &str, bytes: &[u8]| {
        fs::write(folder.path(name), bytes).expect("a file");
        run(&["encrypt", "-k", &public, &folder.path(name), "-o", &folder.path("out.enc")])
    };
    let npy = |header: &str, data: &[u8]| {
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    };
    let long = "1".repeat(20_000) + "x";
    let shape =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", "2, ".repeat(9000));
    for (name, bytes, say) in [
        ("cell.csv", format!("1.5\n{long}\n").into_bytes(), "is not a finite number"),
        ("header.npy", npy(&long, &[]), "cannot be read"),
        ("shape.npy", npy(&shape, &[]), "does not fit"),
    ] {
        let (status, _, error) = encrypt(name, &bytes);
        assert!(status == 4 && error.contains(say) && error.len() < 500, "{status}: {error}");
    }
    for (axes, right) in [(64, 0), (70, 1)] {
        let shape = "1, ".repeat(axes);
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
        let (status, _, error) = encrypt("axes.npy", &npy(&header, &1.5f64.to_le_bytes()));
        assert!(status == right && (right == 0 || error.contains("70 axes")), "{status}: {error}");
    }
}

/// The name of a file need not be text, not even in JSON.
#[cfg(unix)]
#[test]
fn file_names_that_are_not_utf_8_are_printed() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new("names");
    let [_, public] = keygen(&folder, "keys", "n12");
    fs::write(folder.path("in.csv"), "1,2\n").expect("a file");
    let name = OsString::from_vec([folder.path("").as_bytes(), b"\xff.enc"].concat());
    let input = folder.path("in.csv");
    let arguments =
        ["hippocrene", "--json", "encrypt", "-k", &public, &input, "-o"].map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status =
        hippocrene_cli::run_with(arguments.into_iter().chain([name.clone()]), &mut out, &mut err);
    assert_eq!((status, String::from_utf8_lossy(&err).as_ref()), (0, ""));
    let printed: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    assert!(printed["path"].as_str().expect("a name").ends_with("\u{fffd}.enc"), "{printed}");
    assert!(Path::new(&name).exists());
}

/// Arguments that are wrong by themselves give status 2, and arguments that do not fit a file give
/// status 1.
#[test]
fn wrong_arguments_have_one_status() {
    let folder = Folder::new("status");
    let [client, public] = keygen(&folder, "keys", "n13");
    let (csv, enc, other) = (folder.path("in.csv"), folder.path("in.enc"), folder.path("other"));
    fs::write(&csv, "1,-7\n").expect("a file");
    succeed(&["encrypt", "-k", &public, &csv, "-o", &enc]);
    let out = folder.path("out");
    let keygen = ["keygen", "-o", &other];
    let encrypt = ["encrypt", "-k", &public, &csv, "-o", &out];
    for (command, more, right) in [
        (&keygen[..], &["-p", "n99"][..], 2),
        (&["plan", "n99"], &[], 2),
        (&keygen, &["--scheme=bgv", "--plain-modulus", "0"], 2),
        (&keygen, &["--scheme=bgv", "--plain-modulus", "257"], 2),
        (&keygen, &["--plain-modulus", "257"], 2),
        (&keygen, &["-p", "n13", "--precision", "200"], 2),
        (&keygen, &["-p", "n13", "--rotations=5000"], 2),
        (&keygen, &["-p", "n15", "--bootstrapping", "--bootstrapping-slots", "3"], 2),
        (&keygen, &["-p", "n15", "--bootstrapping", "--bootstrapping-bound", "-2"], 2),
        (&["second", "-k", &client, "-o", &other], &["-c", "0"], 2),
        (&encrypt, &["--bound", "nan"], 2),
        (&encrypt, &["--bound", "inf"], 2),
        (&encrypt, &["--precision", "900"], 2),
        (&encrypt, &["--bound", "5"], 1),
        (&["decrypt", "-k", &client, &enc, "-o", &out, "--format=csv"], &["--for-sharing=40"], 1),
    ] {
        let arguments = [command, more].concat();
        let (status, _, error) = run(&arguments);
        assert_eq!(status, right, "{arguments:?}: {error}");
        assert!(!Path::new(&other).exists() && !Path::new(&out).exists(), "{arguments:?}");
    }
}

/// A stream whose reader has gone, or one that fails in another way.
struct Gone(std::io::ErrorKind);

impl std::io::Write for Gone {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::ffi::OsString;
    use std::io::ErrorKind;
    for more in [&[][..], &["--json"]] {
        for (kind, right) in [(ErrorKind::BrokenPipe, 0), (ErrorKind::StorageFull, 3)] {
            let arguments =
                [&["hippocrene", "presets"], more].concat().into_iter().map(OsString::from);
            let mut err = Vec::new();
            let status = hippocrene_cli::run_with(arguments, &mut Gone(kind), &mut err);
            let err = String::from_utf8(err).expect("text");
            assert_eq!((status, err.is_empty()), (right, right == 0), "{err}");
            assert!(right == 0 || err.contains("cannot write standard output"), "{err}");
        }
    }
}

#[test]
fn other_files_are_inspected_after_an_error() {
    let folder = Folder::new("inspected");
    let [client, public] = keygen(&folder, "keys", "n12");
    let (csv, missing) = (folder.path("in.csv"), folder.path("missing"));
    fs::write(&csv, "1\n").expect("a file");
    let (status, out, error) = run(&["inspect", &missing, &client, &csv, &public]);
    assert!(out.contains(&format!("{client}: ")) && out.contains(&format!("{public}: ")), "{out}");
    let lines: Vec<&str> = error.lines().collect();
    assert!(status == 3 && lines.len() == 2, "{status}: {error}");
    for (line, path) in lines.into_iter().zip([&missing, &csv]) {
        assert!(line.starts_with(&format!("error: {path}: ")), "{error}");
    }

    let (status, out, error) = run(&["inspect", &csv, &public, "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(printed["files"].as_array().map(Vec::len), Some(1));
    let error: serde_json::Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!((status, &error["error"]["kind"]), (4, &"FormatError".into()));
    let (status, out, _) = run(&["inspect", &csv]);
    assert_eq!((status, out.as_str()), (4, ""));
}

/// A profile that cannot be written is refused before seconds are spent on measurements.
#[test]
fn an_unwritable_profile_fails_before_measuring() {
    let folder = Folder::new("tune-nowhere");
    let csv = folder.path("in.csv");
    fs::write(&csv, "1\n").expect("a file");
    let (status, _, error) = run(&["tune", "--output", &folder.path("in.csv/profile.json")]);
    assert!(status == 3 && error.contains("cannot make") && error.contains(&csv), "{error}");
    #[cfg(target_os = "linux")]
    {
        let (status, _, error) = run(&["tune", "--output", "/proc/profile.json"]);
        assert!(status == 3 && error.contains("cannot write /proc/profile.json"), "{error}");
    }
}
