//! Tests of the whole command, from its arguments to its output.

use crate::common::{Folder, run, succeed};
use hippocrene::Stored;
use std::fs;
use std::path::Path;

#[test]
fn numbers_round_trip() {
    let folder = Folder::new("round-trip");
    let made =
        succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &folder.path("keys"), "--json"]);
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!(made["files"].as_array().map(Vec::len), Some(3));

    fs::write(folder.path("in.csv"), "a,b\n1.5,-2\n0.25,4\n").expect("a file");
    let (client, public) = (folder.path("keys/client.key"), folder.path("keys/public.key"));
    for key in [&client, &public] {
        succeed(&["encrypt", "-k", key, &folder.path("in.csv"), "-o", &folder.path("in.enc")]);
        let out = succeed(&["decrypt", "-k", &client, &folder.path("in.enc")]);
        let numbers: Vec<f64> =
            out.split([',', '\n']).filter_map(|cell| cell.parse().ok()).collect();
        assert_eq!(numbers.len(), 4, "{out}");
        assert!(
            numbers.iter().zip([1.5, -2.0, 0.25, 4.0]).all(|(got, want)| (got - want).abs() < 1e-4),
            "{out}"
        );
    }

    let inspected = succeed(&["inspect", &folder.path("in.enc"), &client]);
    let key = made["key"].as_str().expect("a fingerprint");
    assert!(
        inspected.contains("an encrypted array") && inspected.contains("(2, 2)"),
        "{inspected}"
    );
    assert!(inspected.contains("interval    from -4 to 4, which everybody can see"), "{inspected}");
    assert!(inspected.contains("SECRET") && inspected.matches(key).count() == 2, "{inspected}");
}

#[test]
fn numbers_with_more_digits_than_doubles_round_trip() {
    let folder = Folder::new("digits");
    succeed(&["keygen", "-p", "n14", "--rotations=1", "-o", &folder.path("keys")]);
    let (client, public) = (folder.path("keys/client.key"), folder.path("keys/public.key"));
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    let digits = "0.12345678901234567890123456789012345";
    fs::write(&csv, format!("x\n{digits}\n-0.1\n")).expect("a file");
    for key in [&client, &public] {
        succeed(&["encrypt", "-k", key, &csv, "-o", &enc, "--precision", "90"]);
        let out = succeed(&["decrypt", "-k", &client, &enc]);
        let lines: Vec<&str> = out.lines().collect();
        let near = |line: &str, want: &str| {
            let [got, want] =
                [line, want].map(|text| text.parse::<hippocrene::BigFloat>().expect("a number"));
            let difference = got.into_inner() - want.into_inner();
            difference.to_f64().value().abs() < 1e-24
        };
        assert!(near(lines[0], digits) && near(lines[1], "-0.1"), "{out}");
        assert!(lines[0].len() < 40, "no digits that mean nothing: {out}");
    }
    // Many digits are written to a file, and doubles elsewhere.
    let (text, npy) = (folder.path("out.csv"), folder.path("out.npy"));
    succeed(&["decrypt", "-k", &client, &enc, "-o", &text]);
    assert!(fs::read_to_string(&text).expect("a file").starts_with("0.12345678901234567890123"));
    succeed(&["decrypt", "-k", &client, &enc, "-o", &npy]);
    let bytes = fs::read(&npy).expect("a file");
    assert!(
        String::from_utf8_lossy(&bytes).contains("'<f8'")
            && bytes.ends_with(&(-0.1f64).to_le_bytes())
    );
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(&["decrypt", "-k", &client, &enc, "--json"])).expect("JSON");
    assert_eq!(printed["values"][1].as_f64(), Some(-0.1));
    // All bits of a long double are kept: this is a tenth on x86.
    let long = folder.path("long.npy");
    let tenth = [&[0xcd][..], &[0xcc; 7], &[0xfb, 0x3f], &[0; 6]].concat();
    fs::write(&long, self::npy("<f16", "(1,)", &tenth)).expect("a file");
    succeed(&["encrypt", "-k", &client, &long, "-o", &enc, "--precision", "90"]);
    let out = succeed(&["decrypt", "-k", &client, &enc]);
    assert!(out.starts_with("0.100000000000000000001355"), "{out}");
    // At a precision within that of doubles, the numbers are doubles.
    succeed(&["encrypt", "-k", &client, &long, "-o", &enc]);
    let out = succeed(&["decrypt", "-k", &client, &enc]);
    assert!(
        out.len() < 18 && (out.trim().parse::<f64>().expect("a number") - 0.1).abs() < 1e-6,
        "{out}"
    );
    succeed(&["encrypt", "-k", &client, &csv, "-o", &enc]);
    let out = succeed(&["decrypt", "-k", &client, &enc]);
    assert!(out.starts_with("0.1234567") && out.lines().all(|line| line.len() < 18), "{out}");
}

#[test]
fn text_has_the_correct_digits() {
    let folder = Folder::new("right-digits");
    succeed(&["keygen", "-p", "n14", "--rotations=1", "-o", &folder.path("keys")]);
    let (client, csv, enc) =
        (folder.path("keys/client.key"), folder.path("in.csv"), folder.path("in.enc"));
    fs::write(&csv, "0.3333333333333333,1000.123456789,-2\n").expect("a file");
    for precision in ["30", "36", "44"] {
        succeed(&["encrypt", "-k", &client, &csv, "-o", &enc, "--precision", precision]);
        for sharing in [&[][..], &["--for-sharing=20"]] {
            let printed = succeed(&[&["decrypt", "-k", &client, &enc, "--json"], sharing].concat());
            let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
            let bits = printed["precision_bits"].as_f64().expect("bits");
            let places = (bits * std::f64::consts::LOG10_2).floor() as usize;
            let out = succeed(&[&["decrypt", "-k", &client, &enc], sharing].concat());
            let cells: Vec<&str> = out.trim().split(',').collect();
            let most = cells
                .iter()
                .filter_map(|cell| cell.split_once('.'))
                .map(|(_, digits)| digits.len())
                .max();
            assert!(
                most <= Some(places) && most >= Some(places.saturating_sub(1)),
                "{places}: {out}"
            );
            for (cell, want) in cells.iter().zip([1.0 / 3.0, 1000.123456789, -2.0]) {
                let got: f64 = cell.parse().expect("a number");
                assert!((got - want).abs() < 20.0 * 2f64.powf(-bits), "{bits}: {out}");
            }
        }
    }
}

#[test]
fn integers_round_trip() {
    let folder = Folder::new("integers");
    succeed(&[
        "keygen",
        "-p",
        "n12",
        "--scheme",
        "bgv",
        "--rotations=1",
        "-o",
        &folder.path("keys"),
    ]);
    let (client, public) = (folder.path("keys/client.key"), folder.path("keys/public.key"));
    let (csv, enc) = (folder.path("in.csv"), folder.path("in.enc"));
    fs::write(&csv, "a,b\n1,-2\n65538,4\n").expect("a file");
    for key in [&client, &public] {
        let (status, _, message) = run(&["encrypt", "-k", key, &csv, "-o", &enc]);
        assert!(status != 0 && message.contains("would wrap around modulo 65537"), "{message}");
        succeed(&["encrypt", "-k", key, &csv, "-o", &enc, "--wrap"]);
        assert_eq!(succeed(&["decrypt", "-k", &client, &enc]), "1,65535\n1,4\n");
        assert_eq!(succeed(&["decrypt", "-k", &client, &enc, "--signed"]), "1,-2\n1,4\n");
    }
    let npy = folder.path("out.npy");
    succeed(&["decrypt", "-k", &client, &enc, "-o", &npy]);
    let bytes = fs::read(&npy).expect("a file");
    assert!(
        String::from_utf8_lossy(&bytes).contains("'<i8'") && bytes.ends_with(&4i64.to_le_bytes())
    );
    let printed: serde_json::Value =
        serde_json::from_str(&succeed(&["decrypt", "-k", &client, &enc, "--json"])).expect("JSON");
    assert_eq!(
        (&printed["plain_modulus"], &printed["values"][1]),
        (&65_537.into(), &65_535.into())
    );
    let inspected = succeed(&["inspect", &enc, &client]);
    for words in ["integers modulo 65537", "budget  ", "integers    modulo 65537, bgv"] {
        assert!(inspected.contains(words), "{inspected}");
    }
    assert!(!inspected.contains("precision"), "integers are exact: {inspected}");

    fs::write(&csv, "1,2.5\n").expect("a file");
    for (arguments, status, words) in [
        (
            &["encrypt", "-k", &client, &csv, "-o", &enc][..],
            4,
            "line 1, column 2: \"2.5\" is not an integer of 64 bits",
        ),
        (&["encrypt", "-k", &client, &npy, "-o", &enc, "--precision", "3"], 2, "which are exact"),
        (&["decrypt", "-k", &client, &enc, "--for-sharing"], 2, "integers are exact"),
        (&["keygen", "-o", &folder.path("other"), "--plain-modulus", "257"], 2, "--scheme bgv"),
        (
            &["keygen", "-o", &folder.path("other"), "-p", "n15", "--scheme", "bgv", "--tables"],
            2,
            "--bootstrapping and --tables are for numbers",
        ),
        (
            &["keygen", "-o", &folder.path("other"), "--from", &client, "--bootstrapping"],
            2,
            "keys for integers cannot use them",
        ),
        (
            &["keygen", "-o", &folder.path("other"), "--scheme", "bfv", "--precision", "9"],
            2,
            "integers are exact",
        ),
    ] {
        let (got, _, error) = run(arguments);
        assert!(got == status && error.contains(words), "{got}: {error}");
    }
}

#[test]
fn bits_round_trip() {
    let folder = Folder::new("bits");
    let made = succeed(&["keygen", "-p", "bits14", "-o", &folder.path("keys")]);
    assert!(made.contains("evaluation.keys"), "{made}");
    fs::write(folder.path("in.csv"), "left,right\n1,0\n0,1\n1,1\n").unwrap();
    let (public, array) = (folder.path("keys/public.key"), folder.path("bits.hpc"));
    succeed(&["encrypt", "-k", &public, &folder.path("in.csv"), "-o", &array]);
    let printed = succeed(&["inspect", &folder.path("keys/evaluation.keys"), &array]);
    assert!(printed.contains("gates       of bits, 8192 in a ciphertext"), "{printed}");
    assert!(printed.contains("(3, 2), bits, in 1 ciphertext\n"), "{printed}");
    assert!(!printed.contains("precision"), "bits have none: {printed}");
    let out = succeed(&["decrypt", "-k", &folder.path("keys/client.key"), &array]);
    assert_eq!(out, "1,0\n0,1\n1,1\n");
    fs::write(folder.path("two.csv"), "1,2\n").unwrap();
    let (status, _, message) =
        run(&["encrypt", "-k", &public, &folder.path("two.csv"), "-o", &array]);
    assert!(
        status != 0 && message.contains("line 1, column 2: \"2\" is not 0, 1, True or False"),
        "{message}"
    );
}

/// Returns a file with this header and these bytes.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data]
        .concat()
}

#[test]
fn booleans_are_bits() {
    let folder = Folder::new("booleans");
    succeed(&["keygen", "-p", "bits14", "-o", &folder.path("keys")]);
    let (client, enc) = (folder.path("keys/client.key"), folder.path("bits.hpc"));
    let (csv, out) = (folder.path("in.csv"), folder.path("out.npy"));
    fs::write(&csv, "True,False\n0,1\n1.0,true\n").unwrap();
    succeed(&["encrypt", "-k", &client, &csv, "-o", &enc]);
    assert_eq!(succeed(&["decrypt", "-k", &client, &enc]), "1,0\n0,1\n1,1\n");
    succeed(&["decrypt", "-k", &client, &enc, "-o", &out]);
    let bytes = fs::read(&out).unwrap();
    assert!(
        String::from_utf8_lossy(&bytes).contains("'|b1'") && bytes.ends_with(&[1, 0, 0, 1, 1, 1])
    );
    succeed(&["encrypt", "-k", &client, &out, "-o", &enc]);
    assert_eq!(succeed(&["decrypt", "-k", &client, &enc]), "1,0\n0,1\n1,1\n");
    let (_, printed, _) = run(&["decrypt", "-k", &client, &enc, "--json", "--format", "npy"]);
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["values"][0], 1, "numbers are printed");

    let two = folder.path("two.npy");
    fs::write(&two, npy("|u1", "(2,)", &[1, 2])).unwrap();
    let (status, _, message) = run(&["encrypt", "-k", &client, &two, "-o", &enc]);
    assert!(
        status == 4 && message.contains("number 2 in row-major order, 2, is not 0 or 1"),
        "{message}"
    );
}

#[test]
fn integers_of_64_bits_are_exact() {
    let folder = Folder::new("wide-integers");
    let arguments =
        ["keygen", "-p", "n13", "--scheme", "bfv", "--plain-modulus", "1152921504606830593"];
    succeed(&[&arguments[..], &["--rotations=1", "-o", &folder.path("keys")]].concat());
    let (client, enc) = (folder.path("keys/client.key"), folder.path("x.enc"));
    let (csv, out) = (folder.path("in.csv"), folder.path("out.npy"));
    let decrypted = || succeed(&["decrypt", "-k", &client, &enc, "--signed"]);

    fs::write(&csv, "9007199254740993\n576460752303415295.0\n-576460752303415296\n12e3\n").unwrap();
    succeed(&["encrypt", "-k", &client, &csv, "-o", &enc]);
    let want = "9007199254740993\n576460752303415295\n-576460752303415296\n12000\n";
    assert_eq!(decrypted(), want);
    succeed(&["decrypt", "-k", &client, &enc, "-o", &out, "--signed"]);
    succeed(&["encrypt", "-k", &client, &out, "-o", &enc]);
    assert_eq!(decrypted(), want, "what was written is read");

    // The smallest signed integer of 64 bits and the largest unsigned one.
    for (descr, data, value) in [
        ("<i8", i64::MIN.to_le_bytes(), i128::from(i64::MIN)),
        (">i8", i64::MIN.to_be_bytes(), i128::from(i64::MIN)),
        ("<u8", u64::MAX.to_le_bytes(), i128::from(u64::MAX)),
    ] {
        let (array, text) = (folder.path("one.npy"), folder.path("one.csv"));
        fs::write(&array, npy(descr, "(1,)", &data)).unwrap();
        fs::write(&text, format!("{value}\n")).unwrap();
        for file in [array, text] {
            let (status, _, message) = run(&["encrypt", "-k", &client, &file, "-o", &enc]);
            assert!(
                status != 0 && message.contains("would wrap around modulo 1152921504606830593"),
                "{message}"
            );
            succeed(&["encrypt", "--wrap", "-k", &client, &file, "-o", &enc]);
            let residue = value.rem_euclid(1_152_921_504_606_830_593);
            assert_eq!(
                succeed(&["decrypt", "-k", &client, &enc]),
                format!("{residue}\n"),
                "{file}"
            );
        }
    }

    for cell in [
        "0.99999999999999999999",
        "1e-3",
        "18446744073709551616",
        "-9223372036854775809",
        "1e30",
        "x",
    ] {
        fs::write(&csv, format!("1\n{cell}\n")).unwrap();
        let (status, _, message) = run(&["encrypt", "-k", &client, &csv, "-o", &enc]);
        let words = format!("line 2, column 1: {cell:?} is not an integer of 64 bits");
        assert!(status == 4 && message.contains(&words), "{message}");
    }
    for (value, shown) in [(0.5f64, "0.5"), (9_007_199_254_740_992.0, "9007199254740992.0")] {
        let array = folder.path("double.npy");
        fs::write(&array, npy("<f8", "(1,)", &value.to_le_bytes())).unwrap();
        let (status, _, message) = run(&["encrypt", "-k", &client, &array, "-o", &enc]);
        let words = format!("number 1 in row-major order, {shown}, is not an integer below 2^53");
        assert!(status == 4 && message.contains(&words), "{message}");
    }
    let array = folder.path("complex.npy");
    fs::write(&array, npy("<c16", "(1,)", &[0; 16])).unwrap();
    let (status, _, message) = run(&["encrypt", "-k", &client, &array, "-o", &enc]);
    assert!(
        status == 4 && message.contains("complex numbers, which these keys do not encrypt"),
        "{message}"
    );
}

#[test]
fn failures_have_a_status_and_leave_no_output() {
    let folder = Folder::new("failures");
    let (key, csv, out) =
        (folder.path("client.key"), folder.path("in.csv"), folder.path("out.enc"));
    fs::write(&csv, "1,x\n").expect("a file");
    let encrypt = ["encrypt", "-k", &key, &csv, "-o", &out];
    assert_eq!(run(&encrypt).0, 3, "there is no key");
    fs::write(&key, "something else").expect("a file");
    assert_eq!(run(&encrypt).0, 4, "the key is none");
    fs::write(folder.path("fine.csv"), "1,-7\n").expect("a file");
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &folder.path("fine")]);
    let beyond = run(&[
        "encrypt",
        "-k",
        &folder.path("fine/client.key"),
        &folder.path("fine.csv"),
        "-o",
        &out,
        "--bound=5",
    ]);
    let says =
        beyond.2.contains("lies outside the interval from -5 to 5. Give a wider --interval,");
    assert_eq!((beyond.0, says), (1, true), "{}", beyond.2);
    assert_eq!(
        run(&["encrypt", "-k", &key, &folder.path("in.txt"), "-o", &out]).0,
        2,
        "an unknown format"
    );
    assert_eq!(run(&["keygen", "-p", "n99", "-o", &folder.path("keys")]).0, 2, "no such preset");
    for option in ["--scheme=bgv", "--precision=20"] {
        let (status, _, err) = run(&["keygen", "-p", "bits14", option, "-o", &folder.path("keys")]);
        assert!(status == 2 && err.contains("keys of the preset bits14 encrypt bits"), "{err}");
    }
    let (status, _, err) = run(&["encrypt", "-k", &key, "in.npy", "-o", &out, "--header"]);
    assert!(
        status == 2 && err.contains("--header and --index are for comma-separated values"),
        "{err}"
    );
    let negative =
        ["encrypt", "-k", &folder.path("fine/client.key"), &folder.path("fine.csv"), "-o", &out];
    let (status, _, err) = run(&[&negative[..], &["--bound=-2"]].concat());
    assert!(status == 2 && err.contains("--bound: -2 is not a finite number from 0"), "{err}");
    let (status, _, err) = run(&["inspect", &csv, "--json"]);
    let err: serde_json::Value = serde_json::from_str(&err).expect("JSON");
    assert_eq!((status, err["error"]["kind"].as_str()), (4, Some("FormatError")));
    assert!(!Path::new(&out).exists() && !Path::new(&folder.path("keys")).exists());
}

#[test]
fn needed_files_are_not_overwritten() {
    let folder = Folder::new("output");
    let (key, csv, enc) =
        (folder.path("keys/client.key"), folder.path("in.csv"), folder.path("in.enc"));
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &folder.path("keys")]);
    fs::write(&csv, "1,2\n").expect("a file");
    succeed(&["encrypt", "-k", &key, &csv, "-o", &enc]);
    let secret = fs::read(&key).expect("the key");
    let public = folder.path("keys/public.key");
    assert_eq!(run(&["encrypt", "-k", &public, &csv, "-o", &key]).0, 3, "another's secret key");
    assert_eq!(run(&["encrypt", "-k", &key, &csv, "-o", &key]).0, 3, "the key itself");
    assert_eq!(run(&["decrypt", "-k", &key, &enc, "--format", "csv", "-o", &key]).0, 3, "numbers");
    assert_eq!(fs::read(&key).expect("the key"), secret);
    for (command, key, input) in
        [("encrypt", &public, &csv), ("encrypt", &public, &public), ("decrypt", &key, &enc)]
    {
        let (status, _, err) = run(&[command, "-k", key, input, "--format", "csv", "-o", input]);
        assert_eq!(status, 2, "{err}");
        assert!(err.contains("which is read"), "{err}");
    }
    assert_eq!(fs::read_to_string(&csv).expect("numbers"), "1,2\n");

    // If a result does not fit the format, the existing output file stays as it is.
    fs::write(folder.path("cube.npy"), npy("<f8", "(1, 1, 1)", &1f64.to_le_bytes()))
        .expect("a file");
    succeed(&["encrypt", "-k", &key, &folder.path("cube.npy"), "-o", &enc]);
    let (status, _, err) = run(&["decrypt", "-k", &key, &enc, "-o", &csv]);
    assert!(status == 2 && err.contains("3 axes"), "{err}");
    assert_eq!(fs::read_to_string(&csv).expect("numbers"), "1,2\n");
}

#[test]
fn advice_names_the_options_of_the_command() {
    let folder = Folder::new("advice");
    let (keys, out) = (folder.path("keys"), folder.path("out"));
    let tables = run(&["keygen", "-p", "n12", "-o", &keys, "--tables"]);
    let presets = "look-up tables: these parameters have no room for them";
    assert!(tables.0 == 1 || tables.0 == 2, "{tables:?}");
    assert!(tables.2.contains(presets) && tables.2.contains("n15, n16s, n16, n17s and n17."));
    succeed(&["keygen", "-p", "n12", "-o", &keys]);
    let key = folder.path("keys/client.key");
    for (name, contents, words) in [
        (
            "large.csv",
            "1.5,2\n3,1e300\n",
            "the value at row 1, column 1 (counted from 0) is too large",
        ),
        ("comma.csv", "\"1,5\",\"2,5\"\n3,4\n", "Write a decimal point instead of the comma"),
        ("sheet.csv", "PK\u{3}\u{4}", "this is a spreadsheet or another archive"),
        ("sheet.xlsx", "", "no spreadsheets. Use .csv"),
        ("table.txt", "1\n", "use --format csv or --format npy"),
    ] {
        fs::write(folder.path(name), contents).expect("a file");
        let (status, _, err) = run(&["encrypt", "-k", &key, &folder.path(name), "-o", &out]);
        assert!(status != 0 && err.contains(words), "{name}: {err}");
    }
}

#[test]
fn an_infinite_file_is_rejected() {
    if Path::new("/dev/zero").exists() {
        let (status, _, err) = run(&["inspect", "/dev/zero"]);
        assert!(status == 4 && err.contains("not a Hippocrene file"), "{err}");
        let folder = Folder::new("without-end");
        succeed(&["keygen", "-p", "n12", "-o", &folder.path("keys")]);
        let (key, out) = (folder.path("keys/public.key"), folder.path("out"));
        let (status, _, err) =
            run(&["encrypt", "-k", &key, "/dev/zero", "--format", "npy", "-o", &out]);
        assert!(status == 4 && err.contains("magic string"), "{err}");
    }
}

#[test]
fn presets_are_listed_with_their_sizes() {
    let words = succeed(&["presets"]);
    let page = include_str!("../../../docs/reference/parameters.md");
    assert!(
        page.contains(&format!("```\n{words}```\n")),
        "docs/reference/parameters.md has another list than:\n{words}"
    );
    let listed: serde_json::Value =
        serde_json::from_str(&succeed(&["presets", "--json"])).expect("JSON");
    let listed = listed["presets"].as_array().expect("presets");
    assert_eq!(listed.len(), hippocrene::PRESETS.len());
    for preset in listed {
        let name = preset["name"].as_str().expect("a name");
        let line =
            words.lines().find(|line| line.starts_with(&format!("{name} "))).expect("a line");
        let bits = preset["log2_pq"].as_f64().expect("bits");
        assert!(line.contains(&format!(" {bits:.1} ")), "{line}");
        let security = &preset["security"];
        let source = security["source"].as_str().expect("a source");
        let number = words.lines().find(|line| line.ends_with(source)).expect("the source");
        let number = number.split(' ').next().expect("a number");
        let (bits, limit) = (&security["bits"], &security["log2_pq_limit"]);
        assert!(line.contains(&format!("{bits} bits up to {limit} {number}")), "{line}");
        let failures = preset["bootstraps"].as_array().expect("bootstraps");
        for failure in failures {
            let likely = failure["log2_failure_probability"].as_f64();
            let printed = likely.map_or("never".to_owned(), |log2| format!("2^{log2:.0}"));
            let printed = if failure["of"] == "bits" { format!("bits {printed}") } else { printed };
            assert!(
                line.contains(&format!(" {printed} ")) || line.contains(&format!(" {printed},")),
                "{line}"
            );
        }
        assert_eq!(
            failures.is_empty(),
            !line.contains("never") && !line.contains("bits 2^"),
            "{line}"
        );
        let key = &preset["relinearisation_key"];
        let bytes = |which: &str| key[which].as_u64().expect("bytes");
        assert_eq!(bytes("unseeded"), 2 * (bytes("seeded") - 32));
    }
    let grafted = words.lines().find(|line| line.starts_with("n15 ")).expect("a line");
    assert!(
        grafted.contains("128 bits up to 868 [1]") && grafted.contains("sprout-15-16-32"),
        "{grafted}"
    );
    assert!(
        words.lines().any(|line| line.starts_with("n16s ") && line.contains("never, bits 2^-1")),
        "{words}"
    );
}

/// Runs the command as a separate process, with this profile.
fn with_profile(profile: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let command = std::process::Command::new(env!("CARGO_BIN_EXE_hippocrene"))
        .args(arguments)
        .env("HIPPOCRENE_PROFILE", profile)
        .output()
        .expect("the command");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (command.status.code(), text(command.stdout), text(command.stderr))
}

#[test]
fn plans_use_the_measured_profile() {
    let folder = Folder::new("tune");
    let path = folder.path("settings/profile.json");
    let (status, out, _) = with_profile(&path, &["tune", "--json"]);
    let tuned: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (status, tuned["path"].as_str(), tuned["in_use"].as_bool()),
        (Some(0), Some(&*path), Some(true))
    );
    assert_eq!(tuned["profile"]["limbs"].as_array().map(Vec::len), Some(18));

    // If every operation takes twice the time and the memory has half the speed, the predicted time
    // doubles.
    let plan = |profile: &str| -> serde_json::Value {
        let (status, out, err) = with_profile(profile, &["plan", "n13", "--json"]);
        assert_eq!((status, err.as_str()), (Some(0), ""));
        serde_json::from_str(&out).expect("JSON")
    };
    let first = plan(&path);
    assert_eq!(first["profile"].as_str(), Some(&*path));
    let mut slower = tuned["profile"].clone();
    for limb in slower["limbs"].as_array_mut().expect("entries") {
        for which in ["cached", "memory"] {
            for (_, cost) in limb[which].as_object_mut().expect("costs") {
                *cost = (2.0 * cost.as_f64().expect("a number")).into();
            }
        }
    }
    let rate = &mut slower["memory"]["key_bytes_per_ns"];
    *rate = (rate.as_f64().expect("a number") / 2.0).into();
    let other = folder.path("slower.json");
    fs::write(&other, slower.to_string()).expect("a file");
    let second = plan(&other);
    let moduli = |plan: &serde_json::Value| plan["moduli"].as_array().expect("moduli").clone();
    for (a, b) in moduli(&first).iter().zip(moduli(&second)) {
        let time = |row: &serde_json::Value| row["milliseconds"].as_f64().expect("a time");
        assert!((time(&b) / time(a) - 2.0).abs() < 1e-9, "{a} {b}");
        assert_eq!(a["group"], b["group"]);
        assert!(time(a) <= a["base_milliseconds"].as_f64().expect("a time"));
    }

    fs::write(&path, "{\"version\": 1}").expect("a file");
    for arguments in [&["plan", "n13"][..], &["keygen", "-p", "n13", "-o", &folder.path("keys")]] {
        let (status, _, err) = with_profile(&path, arguments);
        assert!(
            status == Some(4) && err.contains(&path) && err.contains("missing field `kernel`"),
            "{err}"
        );
    }
    assert_eq!(
        with_profile(&folder.path("none.json"), &["plan", "n13"]).0,
        Some(3),
        "a file that is not there"
    );
}

#[test]
fn plans_list_moduli_from_the_largest() {
    let folder = Folder::new("plan");
    // Without a folder for settings, typical figures are used.
    let words = |preset: &str| {
        let command = std::process::Command::new(env!("CARGO_BIN_EXE_hippocrene"))
            .args(["plan", preset])
            .env_remove("HIPPOCRENE_PROFILE")
            .env("XDG_CONFIG_HOME", folder.path("nothing"))
            .output()
            .expect("the command");
        assert_eq!(command.status.code(), Some(0));
        String::from_utf8(command.stdout).expect("text")
    };
    let grafted = words("n14");
    assert!(grafted.contains("typical figures"), "{grafted}");
    // The rows are the modulus of fresh ciphertexts, then 6 units down to 1.
    let first_columns: Vec<[usize; 2]> = grafted
        .lines()
        .filter_map(|line| {
            let mut cells = line.split_whitespace().map(str::parse);
            Some([cells.next()?.ok()?, cells.next()?.ok()?])
        })
        .collect();
    assert_eq!(first_columns, [[6, 7], [6, 6], [5, 5], [4, 4], [3, 3], [2, 2], [1, 1]]);
    assert_eq!(run(&["plan", "n99"]).0, 2, "no such preset");
}

#[test]
fn presets_show_their_bootstrapping() {
    let plan = |preset: &str| -> serde_json::Value {
        serde_json::from_str(&succeed(&["plan", preset, "--json"])).expect("JSON")
    };
    let none = plan("n13");
    assert!(none["bootstrapping"].is_null() && none["bits_log2_failure_probability"].is_null());
    let bits = plan("bits14");
    assert!(
        bits["bits_log2_failure_probability"].as_f64().expect("a probability") < -128.0,
        "{bits}"
    );
    assert!(
        succeed(&["plan", "bits14"])
            .contains("bootstraps bits\n  failure     with probability 2^-")
    );
    let printed = &plan("n16s")["bootstrapping"];
    assert_eq!(printed["precision"].as_f64(), Some(32.0));
    assert!(
        printed["log2_failure_probability"].is_null() && printed["sparse_log2_pq_limit"] == 121
    );
    let bits = |field: &str| printed[field].as_f64().expect("bits");
    assert!(bits("capacity_after") > bits("capacity_needed") + 200.0, "{printed}");
    // Look-ups fail more often, and presets below 2^15 have too little capacity for them.
    assert!(none["look_ups"].is_null());
    let look_ups = &plan("n15")["look_ups"];
    let likely = look_ups["log2_failure_probability"].as_f64().expect("a probability");
    assert!((-60.0..=-40.0).contains(&likely) && look_ups["tables"] == "lut12", "{look_ups}");
    let words = succeed(&["plan", "n15"]);
    assert!(
        words.contains("in tables lut12") && words.contains("each ciphertext of 16384 numbers"),
        "{words}"
    );
    let words = succeed(&["plan", "n16s"]);
    assert!(
        words.contains("32.0 bits after the binary point") && words.contains("impossible"),
        "{words}"
    );

    let folder = Folder::new("bootstrapping");
    let keys = folder.path("keys");
    let keygen = |more: &[&str]| run(&[&["keygen", "-p", "n13", "-o", &keys], more].concat());
    let (status, _, err) = keygen(&["--bootstrapping"]);
    assert!(status == 2 && err.contains("no bootstrap at the ring degree 2^13"), "{status} {err}");
    assert!(!Path::new(&folder.path("keys/client.key")).exists());
    assert_eq!(keygen(&["--bootstrapping=integer"]).0, 2);
    assert_eq!(keygen(&["--bootstrapping-bound", "2"]).0, 2, "without --bootstrapping");
    let (status, _, err) = keygen(&["--bootstrapping", "--bootstrapping-bound", "-2"]);
    assert!(status == 2 || err.contains("a bound of -2"), "{status} {err}");
}

#[test]
fn a_profile_does_not_overwrite_a_secret_key() {
    let folder = Folder::new("tune-key");
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &folder.path("keys")]);
    let key = folder.path("keys/client.key");
    let secret = fs::read(&key).expect("the key");
    let (status, _, err) = run(&["tune", "--output", &key]);
    assert!(status == 3 && err.contains("secret key"), "{err}");
    assert_eq!(fs::read(&key).expect("the key"), secret);
}

/// With a second key from the command line, a server transfers arrays of numbers and of integers,
/// which this key decrypts.
#[test]
fn arrays_convert_to_a_second_key() {
    for (scheme, capacity) in [("ckks", "60"), ("bgv", "40")] {
        let folder = Folder::new(&format!("second-{scheme}"));
        let [first, second] = ["first", "second"].map(|name| folder.path(name));
        succeed(&["keygen", "-p", "n14", "--scheme", scheme, "--rotations=1", "-o", &first]);
        let key = folder.path("first/client.key");
        let arguments = ["second", "-k", &key, "-c", capacity, "--rotations=1", "-o", &second];
        let made = succeed(&[&arguments[..], &["--json"]].concat());
        let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
        assert_eq!(made["files"].as_array().map(Vec::len), Some(3));
        let size = |name: &str| fs::metadata(folder.path(name)).expect("a file").len();
        assert!(2 * size("second/evaluation.keys") < size("first/evaluation.keys"), "{scheme}");

        fs::write(folder.path("in.csv"), "3,-2\n").expect("a file");
        let encrypted = folder.path("in.enc");
        succeed(&["encrypt", "-k", &key, &folder.path("in.csv"), "-o", &encrypted]);
        let keys =
            hippocrene::EvaluationKeys::load(folder.path("second/evaluation.keys"), 1).unwrap();
        let transfer =
            hippocrene::TransferKey::load(folder.path("second/transfer.key"), 1).unwrap();
        let server = hippocrene::Server::new(keys).unwrap().with_transfer(&transfer).unwrap();
        let (_, session) = server.transfers().unwrap();
        let squares = folder.path("squares.enc");
        if scheme == "bgv" {
            let array = hippocrene::IntegerArray::load(&encrypted, session).unwrap();
            let array = server.transfer(&array).unwrap();
            server.square(&array).unwrap().save(&squares).unwrap();
        } else {
            let array = hippocrene::EncryptedArray::load(&encrypted, session).unwrap();
            let array = server.transfer(&array).unwrap();
            server.square(&array).unwrap().save(&squares).unwrap();
        }
        let out = succeed(&["decrypt", "-k", &folder.path("second/client.key"), &squares]);
        let numbers: Vec<f64> =
            out.split([',', '\n']).filter_map(|cell| cell.parse().ok()).collect();
        assert!(
            numbers.iter().zip([9.0, 4.0]).all(|(x, y)| (x - y).abs() < 1e-4),
            "{scheme}: {out}"
        );
        assert_eq!(numbers.len(), 2, "{scheme}: {out}");

        let (status, _, error) = run(&arguments);
        assert!(status == 2 && error.contains("--force"), "{error}");
        let (status, _, error) =
            run(&["second", "-k", &key, "-c", "9999", "-o", &folder.path("third")]);
        assert!(status == 2 && error.contains("are requested, and at most"), "{status}: {error}");
        assert!(!Path::new(&folder.path("third")).exists());
    }
}

/// A negative number is read as a value and refused by its meaning, not taken for an option.
#[test]
fn negative_numbers_are_not_read_as_options() {
    let folder = Folder::new("negative-numbers");
    succeed(&["keygen", "-p", "n13", "--rotations=1", "-o", &folder.path("keys")]);
    fs::write(folder.path("in.csv"), "1\n").expect("a file");
    let (key, input, out) =
        (folder.path("keys/client.key"), folder.path("in.csv"), folder.path("out"));
    for arguments in [
        &["encrypt", "-k", &key, &input, "-o", &out, "--bound", "-1"][..],
        &["second", "-k", &key, "-c", "-1", "-o", &out],
        &["keygen", "-p", "n15", "--bootstrapping", "--bootstrapping-bound", "-1", "-o", &out],
        &["keygen", "-p", "n15", "--bootstrapping", "--bootstrapping-precision", "-1", "-o", &out],
        &["keygen", "-p", "n15", "--tables", "--tables-capacity", "-1", "-o", &out],
    ] {
        let (status, _, error) = run(arguments);
        assert!(
            status != 0 && error.contains("-1") && !error.contains("unexpected"),
            "{arguments:?}: {error}"
        );
        assert!(!Path::new(&out).join("client.key").exists());
    }
}
