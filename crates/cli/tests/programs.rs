//! Tests of the commands on programs: plan, keygen --for and run.

use crate::common::{Folder, assert_close, run, succeed};
use hippocrene::{
    KeyRequest, Notes, Operation, Plain, Planning, Preset, Program, Recorder, Results, Spec,
    SpecKind, Stored,
};
use std::fs;

/// Saves a program that squares 3 numbers and adds the squares with weights, and its interface.
fn saved(folder: &Folder) -> [String; 2] {
    let settings = Preset::by_name("n13").and_then(|preset| preset.settings()).expect("settings");
    let recorder = Recorder::new(settings, &KeyRequest::only([]), None).expect("a recorder");
    let spec = Spec::new(SpecKind::Numbers, vec![3], Some((-2.0, 2.0))).expect("a specification");
    let x = recorder.input("x", spec, None).expect("an input");
    let perform = |operation, inputs: &[usize]| {
        recorder.perform(recorder.server(), operation, inputs).expect("a step")
    };
    let squares = perform(Operation::Mul, &[x, x]);
    let sum = perform(Operation::DotPlain(Plain::Reals(vec![1.0, 2.0, -1.0])), &squares);
    let results = Results::Named(vec!["squares".to_owned(), "sum".to_owned()]);
    let outputs = [squares, sum].concat();
    let program = Program::of(&recorder, &outputs, results, Notes::default(), Planning::Full);
    let program = program.expect("a program");
    let paths = ["squares.program", "squares.interface"].map(|name| folder.path(name));
    program.save(&paths[0]).expect("a file");
    program.interface().save(&paths[1]).expect("a file");
    paths
}

#[test]
fn the_plan_of_a_program_is_printed() {
    let folder = Folder::new("plan-program");
    let [program, _] = saved(&folder);
    let words = succeed(&["plan", &program]);
    for part in [
        "preset      n13",
        "x: 3 numbers in [-2, 2]",
        "bootstraps  0",
        "keys        relinearisation, ",
        "= mul ",
        "= dot_plain",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&succeed(&["plan", &program, "--json"])).expect("JSON");
    assert!(json["error_bound"].as_f64().is_some_and(|bound| bound < 1e-5), "{json}");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(3), "{json}");
    assert_eq!(json["inputs"][0][0], "x");
    // Names of presets still work, and other names are explained.
    assert!(succeed(&["plan", "n13"]).contains("key switch"));
    let (status, _, error) = run(&["plan", "n99"]);
    assert!(status == 2 && error.contains("n99"), "{error}");
}

#[test]
fn a_program_runs_between_a_client_and_a_server() {
    let folder = Folder::new("run-program");
    let [program, interface] = saved(&folder);
    let keys = folder.path("keys");
    let made = succeed(&["keygen", "--for", &interface, "-o", &keys]);
    assert!(made.contains("(n13)"), "{made}");
    let [client, evaluation] =
        ["client.key", "evaluation.keys"].map(|name| format!("{keys}/{name}"));
    let [x, a, b] = ["x.npy", "a.enc", "b.enc"].map(|name| folder.path(name));
    write_npy(&x, &[0.5, -1.5, 2.0]);
    let encrypted = folder.path("x.enc");
    succeed(&["encrypt", "-k", &client, "--for", &interface, &x, "-o", &encrypted]);
    let said = succeed(&["run", &program, &encrypted, "-k", &evaluation, "-o", &a, "-o", &b]);
    assert!(said.contains("the encrypted squares") && said.contains("the encrypted sum"), "{said}");
    assert_close(&succeed(&["decrypt", "-k", &client, &a]), &[0.25, 2.25, 4.0]);
    assert_close(&succeed(&["decrypt", "-k", &client, &b]), &[0.75]);
}

#[test]
fn a_program_is_tried_on_plain_numbers() {
    let folder = Folder::new("try-program");
    let [program, _] = saved(&folder);
    let [x, a, b] = ["x.csv", "a.csv", "b.npy"].map(|name| folder.path(name));
    fs::write(&x, "0.5\n-1.5\n2\n").expect("a file");
    succeed(&["run", &program, &x, "-o", &a, "-o", &b]);
    assert_close(&fs::read_to_string(&a).expect("a file"), &[0.25, 2.25, 4.0]);
    assert!(fs::read(&b).expect("a file").starts_with(b"\x93NUMPY"));
}

/// Saves a program that multiplies 3 numbers by a parameter of the server.
fn saved_with_parameter(folder: &Folder) -> String {
    let settings = Preset::by_name("n13").and_then(|preset| preset.settings()).expect("settings");
    let recorder = Recorder::new(settings, &KeyRequest::only([]), None).expect("a recorder");
    let spec = |bound: f64| Spec::new(SpecKind::Numbers, vec![3], Some((-bound, bound)));
    let x = recorder.input("x", spec(2.0).expect("a specification"), None).expect("an input");
    let weights = recorder.parameter("weights", spec(1.0).expect("a specification"), None);
    let operands = [x, weights.expect("a parameter")];
    let products = recorder.perform(recorder.server(), Operation::Mul, &operands).expect("a step");
    let notes = Notes::default();
    let program = Program::of(&recorder, &products, Results::Single, notes, Planning::Full);
    let path = folder.path("products.program");
    program.expect("a program").save(&path).expect("a file");
    path
}

#[test]
fn parameters_are_read_from_files_of_plain_numbers() {
    let folder = Folder::new("parameter-program");
    let program = saved_with_parameter(&folder);
    assert!(succeed(&["plan", &program]).contains("parameter   weights: 3 numbers in [-1, 1], of"));
    let inspected = succeed(&["inspect", &program]);
    for part in
        ["input       x: 3 numbers", "parameter   weights: 3", "results     one array", "step"]
    {
        assert!(inspected.contains(part), "{inspected}");
    }
    let [x, weights, keys] = ["x.csv", "weights.csv", "keys"].map(|name| folder.path(name));
    fs::write(&x, "1\n-1.5\n2\n").expect("a file");
    fs::write(&weights, "0.5\n1\n-1\n").expect("a file");
    let pair = format!("weights={weights}");
    let tried = succeed(&["run", &program, &x, "--parameter", &pair]);
    assert_close(&tried, &[0.5, -1.5, -2.0]);

    // The same between a client and a server.
    succeed(&["keygen", "--for", &program, "-o", &keys]);
    let [secret, evaluation] =
        ["client.key", "evaluation.keys"].map(|name| format!("{keys}/{name}"));
    let [encrypted, reply] = ["x.enc", "reply.enc"].map(|name| folder.path(name));
    succeed(&["encrypt", "-k", &secret, "--for", &program, &x, "-o", &encrypted]);
    succeed(&["run", &program, &encrypted, "-k", &evaluation, "--parameter", &pair, "-o", &reply]);
    assert_close(&succeed(&["decrypt", "-k", &secret, &reply]), &[0.5, -1.5, -2.0]);

    let (status, _, error) = run(&["run", &program, &x, "--parameter", &pair, "-o", &weights]);
    assert!(status == 2 && error.contains("weights.csv"), "{error}");
    assert!(fs::read_to_string(&weights).expect("a file").starts_with("0.5"));
    for (parameters, message) in [
        (vec![], "the program has the parameter weights, 3 numbers in [-1, 1]"),
        (vec!["weights"], "weights is not NAME=FILE"),
        (
            vec!["bias=b.csv"],
            "bias is unknown or given twice. The parameters of the program: weights",
        ),
        (vec![pair.as_str(), pair.as_str()], "weights is unknown or given twice"),
    ] {
        let options = parameters.iter().flat_map(|pair| ["--parameter", pair]);
        let arguments: Vec<&str> = ["run", &program, &x].into_iter().chain(options).collect();
        let (status, _, error) = run(&arguments);
        assert!(status == 2 && error.contains(message), "{error}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_explained() {
    let folder = Folder::new("wrong-inputs");
    let [program, _] = saved(&folder);
    let [short, wide, x, out] =
        ["short.csv", "wide.csv", "x.csv", "out.csv"].map(|name| folder.path(name));
    fs::write(&short, "1\n2\n").expect("a file");
    fs::write(&wide, "1\n2\n3\n").expect("a file");
    fs::write(&x, "1\n2\n1\n").expect("a file");
    let named = folder.path("named.csv");
    fs::write(&named, "0\n1\n2\n1\n").expect("a file");
    let outputs = ["-o", &out, "-o", &folder.path("b.csv")];
    let (status, _, error) = run(&[&["run", &program, &named, "--header"], &outputs[..]].concat());
    assert_eq!(status, 0, "{error}");
    let both = |path: &str| run(&["run", &program, path, "-o", &out, "-o", &folder.path("b.csv")]);
    let (status, _, error) = both(&short);
    assert!(
        status == 4 && error.contains("shape (2, 1), and the program takes 3 numbers"),
        "{error}"
    );
    let (status, _, error) = both(&wide);
    assert!(status == 4 && error.contains("3 is outside of [-2, 2], the interval of x"), "{error}");
    let (status, _, error) = run(&["run", &program, &x]);
    assert!(status == 2 && error.contains("2 results: squares, sum"), "{error}");
    let (status, _, error) = run(&["run", &program, &x, &x, "-o", &out]);
    assert!(status == 2 && error.contains("takes 1 input: x. 2 are given"), "{error}");
    let (status, _, error) = run(&["run", &x, &x]);
    assert!(status == 4 && error.contains("not a Hippocrene file"), "{error}");
    let (status, _, error) = both(&program);
    assert!(status != 0 && !error.is_empty(), "{error}");
    // The format is checked before the run, and no result overwrites another one.
    let (status, _, error) = run(&["run", &program, &x, "-o", &out, "-o", &folder.path("b.txt")]);
    assert!(status == 2 && error.contains("b.txt"), "{error}");
    let (status, _, error) = run(&["run", &program, &x, "-o", &out, "-o", &out]);
    assert!(status == 2 && error.contains("given for two results"), "{error}");
    // An input is not overwritten.
    let (status, _, error) = run(&["run", &program, &x, "-o", &x, "-o", &out]);
    assert!(status == 2 && error.contains("would overwrite"), "{error}");
}

#[test]
fn keys_of_another_program_are_refused() {
    let folder = Folder::new("other-keys");
    let [program, _] = saved(&folder);
    let keys = folder.path("keys");
    succeed(&["keygen", "-p", "n13", "--rotations=", "-o", &keys]);
    let [x, encrypted] = ["x.npy", "x.enc"].map(|name| folder.path(name));
    write_npy(&x, &[0.5, -1.5, 2.0]);
    let client = format!("{keys}/client.key");
    succeed(&["encrypt", "-k", &client, "--bound", "2", &x, "-o", &encrypted]);
    let evaluation = format!("{keys}/evaluation.keys");
    let outputs = ["a.enc", "b.enc"].map(|name| folder.path(name));
    let (status, _, error) = run(&[
        "run",
        &program,
        &encrypted,
        "-k",
        &evaluation,
        "-o",
        &outputs[0],
        "-o",
        &outputs[1],
    ]);
    assert!(status != 0 && error.contains("lacks keys that this program uses"), "{error}");
}

/// Writes one axis of doubles in the format .npy.
fn write_npy(path: &str, values: &[f64]) {
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    fs::write(path, bytes).expect("a file");
}

/// Saves a program that gives each of 3 rows of 2 columns as scores, with the notes of a model.
fn saved_model(folder: &Folder, file: &str, classes: &str, centre: f64) -> String {
    saved_model_of(folder, file, r#"["age", "rate"]"#, (classes, "scores"), centre)
}

fn saved_unnamed_model(folder: &Folder) -> String {
    let results = (r#"["low", "high"]"#, "scores");
    saved_model_of(folder, "unnamed.program", "null", results, 50.0)
}

fn saved_model_of(
    folder: &Folder,
    file: &str,
    names: &str,
    (classes, result): (&str, &str),
    centre: f64,
) -> String {
    let settings = Preset::by_name("n13").and_then(|preset| preset.settings()).expect("settings");
    let recorder = Recorder::new(settings, &KeyRequest::only([]), None).expect("a recorder");
    let spec = Spec::new(SpecKind::Numbers, vec![3, 2], Some((-1.0, 1.0)));
    let x = recorder.input("x", spec.expect("a specification"), None).expect("an input");
    let scores = recorder.perform(recorder.server(), Operation::Negate, &[x]).expect("a step");
    let notes = Notes {
        inputs: format!(
            r#"{{"feature_names": {names}, "centres": [{centre}, 0], "half_widths": [50, 2]}}"#
        ),
        results: format!(r#"{{"kind": "classifier", "classes": {classes}, "result": "{result}"}}"#),
    };
    let program = Program::of(&recorder, &scores, Results::Single, notes, Planning::Full);
    let path = folder.path(file);
    program.expect("a program").save(&path).expect("a file");
    path
}

/// The files of a request that a server has answered.
struct Answered {
    secret: String,
    evaluation: String,
    encrypted: String,
    reply: String,
}

impl Answered {
    /// Makes keys for a model, encrypts rows and runs the model on them.
    fn by(folder: &Folder, model: &str, rows: &str) -> Self {
        let keys = folder.path("keys");
        succeed(&["keygen", "--for", model, "-o", &keys]);
        let [secret, evaluation] =
            ["client.key", "evaluation.keys"].map(|name| format!("{keys}/{name}"));
        let [encrypted, reply] = ["rows.enc", "reply.enc"].map(|name| folder.path(name));
        succeed(&["encrypt", "-k", &secret, "--for", model, rows, "-o", &encrypted]);
        succeed(&["run", model, &encrypted, "-k", &evaluation, "-o", &reply]);
        Answered { secret, evaluation, encrypted, reply }
    }
}

#[test]
fn rows_of_a_model_become_classes() {
    let folder = Folder::new("model-program");
    let model = saved_model(&folder, "model.program", r#"["low", "high"]"#, 50.0);
    let rows = folder.path("rows.csv");
    // The scores are minus the encoded columns (-1, 0), (1, 0.5) and (0.5, 1).
    fs::write(&rows, "name,rate,age\nx,0,0\ny,1,100\nz,2,75\n").expect("a file");
    assert_eq!(succeed(&["run", &model, &rows]), "class\nlow\nhigh\nlow\n");
    let inspected = succeed(&["inspect", &model]);
    assert!(
        inspected.contains("\n  columns     age, rate\n  classes     low, high\n"),
        "{inspected}"
    );

    let Answered { secret, evaluation, encrypted, reply } = Answered::by(&folder, &model, &rows);
    let read = |more: &[&str]| run(&[&["decrypt", "-k", &secret, &reply], more].concat());
    assert_eq!(read(&["--for", &model]).1, "class\nlow\nhigh\nlow\n");
    assert_close(&read(&[]).1, &[1.0, 0.0, -1.0, -0.5, -0.5, -1.0]);
    let json: serde_json::Value =
        serde_json::from_str(&read(&["--for", &model, "--json"]).1).expect("JSON");
    assert_eq!(json["values"], serde_json::json!(["low", "high", "low"]));
    let table = folder.path("classes.npy");
    let (status, _, error) = read(&["--for", &model, "-o", &table]);
    assert!(status == 2 && error.contains("the classes are text"), "{error}");

    // Keys of another client are refused.
    let theirs = Folder::new("model-program-of-others");
    let other = Answered::by(&theirs, &model, &rows).evaluation;
    let (status, _, error) = run(&["run", &model, &encrypted, "-k", &other, "-o", &reply]);
    assert!(status == 1 && error.contains("run a program: encrypted under key"), "{error}");

    // Rows and replies of another model are refused.
    let shifted = saved_model(&folder, "shifted.program", r#"["low", "high"]"#, 60.0);
    let (status, _, error) = run(&["run", &shifted, &encrypted, "-k", &evaluation, "-o", &reply]);
    assert!(status == 2 && error.contains("x was encoded for another program"), "{error}");
    let numbered = saved_model(&folder, "numbered.program", "[0, 1]", 50.0);
    let (status, _, error) = read(&["--for", &numbered]);
    assert!(status == 1 && error.contains("this is no reply of the program"), "{error}");
    let table = folder.path("numbers.npy");
    succeed(&["run", &numbered, &rows, "-o", &table]);
    let bytes = fs::read(&table).expect("a file");
    assert!(String::from_utf8_lossy(&bytes).contains("<i8"));
    assert!(bytes.ends_with(&[[0u8; 8], [1, 0, 0, 0, 0, 0, 0, 0], [0; 8]].concat()));
}

#[test]
fn probabilities_have_the_classes_as_header() {
    let folder = Folder::new("model-probabilities");
    let results = (r#"["low", "high"]"#, "predict_proba");
    let names = r#"["age", "rate"]"#;
    let model = saved_model_of(&folder, "model.program", names, results, 50.0);
    let rows = folder.path("rows.csv");
    fs::write(&rows, "age,rate\n0,0\n100,1\n75,2\n").expect("a file");
    let first_line = |text: String| text.lines().next().map(str::to_owned);
    assert_eq!(first_line(succeed(&["run", &model, &rows])).as_deref(), Some("low,high"));
    let Answered { secret, reply, .. } = Answered::by(&folder, &model, &rows);
    let read = succeed(&["decrypt", "-k", &secret, &reply, "--for", &model]);
    assert_eq!(first_line(read).as_deref(), Some("low,high"));
    assert_close(
        &succeed(&["decrypt", "-k", &secret, &reply]),
        &[1.0, 0.0, -1.0, -0.5, -0.5, -1.0],
    );
    // Numbers would look like a row.
    let numbered = saved_model_of(&folder, "numbers.program", names, ("[0, 1]", results.1), 50.0);
    let line = first_line(succeed(&["run", &numbered, &rows]));
    assert_eq!(line.as_deref(), Some("class 0,class 1"));
}

#[test]
fn wrong_rows_of_a_model_are_refused() {
    let folder = Folder::new("model-refused");
    let model = saved_model(&folder, "model.program", r#"["low", "high"]"#, 50.0);
    let rows = folder.path("rows.csv");
    for (text, message) in [
        (
            "age,rates\n0,0\n1,1\n2,2\n",
            "the columns rate are missing. The first line has age, rates",
        ),
        (
            "age;rate\n0;0\n1;1\n2;2\n",
            "first line has age;rate. The first line is divided by semicolons: give --delimiter ';'",
        ),
        (
            "age,rate\n0,0\n100,1\n101,2\n",
            "101 in row 3, column 1 (age) of the model is outside of 0 to 100, the interval that it",
        ),
        (
            "age,rate\n0,0\n100,1\n",
            "takes 3 x 2 numbers in [-1, 1] as x. Fill up to 3 rows, for example with copies of the",
        ),
        (
            "1.5,2,3\n4,5,6\n7,8,8\n",
            "shape (3, 3), and the model takes rows of 2 columns. Give the",
        ),
        ("age,rate\n0,0\n,1\n1,2\n", "A value is missing"),
    ] {
        fs::write(&rows, text).expect("a file");
        let (status, _, error) = run(&["run", &model, &rows]);
        assert!(status == 4 && error.contains(message), "{error}");
    }
    // A header that is not the names of the model, and another order that is asked for.
    for (text, options, message) in [
        ("7.5,1.5\n0,0\n100,1\n75,2\n", &["--header"][..], "there is no column \"age\""),
        ("rate,age\n0,0\n1,100\n2,75\n", &["--columns", "rate,age"], "--columns chooses rate, age"),
    ] {
        fs::write(&rows, text).expect("a file");
        let (status, _, error) = run(&[&["run", &model, &rows], options].concat());
        assert!(status == 4 && error.contains(message), "{error}");
    }
    // Rows without names have the order of the model.
    fs::write(&rows, "0,0\n100,1\n75,2\n").expect("a file");
    assert_eq!(succeed(&["run", &model, &rows]), "class\nlow\nhigh\nlow\n");
    // If the file has names and the model has none, the order must be given.
    let unnamed = saved_unnamed_model(&folder);
    fs::write(&rows, "age,rate\n0,0\n100,1\n75,2\n").expect("a file");
    let (status, _, error) = run(&["run", &unnamed, &rows]);
    assert!(status == 4 && error.contains("the model was converted without names"), "{error}");
    assert_eq!(succeed(&["run", &unnamed, &rows, "--columns", "1,2"]), "class\nlow\nhigh\nlow\n");
    let broken = saved_model(&folder, "broken.program", "3", 50.0);
    let (status, _, error) = run(&["run", &broken, &rows]);
    assert!(status == 4 && error.contains("describe no model: invalid type"), "{error}");
}
