//! Tests of programs: recording, planning, files and runs.

use hippocrene::{
    AnyArray, AnyKind, ClientKey, EncryptedArray, Error, KeyRequest, Notes, Numbers, Operation,
    Plain, PlainNumber, Planning, Preset, Program, Recorder, Results, Server, Spec, SpecKind,
    Stored,
};

fn notes() -> Notes {
    Notes { inputs: "in metres".to_owned(), results: "in square metres".to_owned() }
}

/// Records operations on one input of numbers from -1 to 1.
fn recorded(
    preset: &str,
    shape: &[usize],
    record: impl FnOnce(&Recorder, usize) -> Result<Vec<usize>, Error>,
) -> Result<Program, Error> {
    let settings = Preset::by_name(preset)?.settings()?;
    let recorder = Recorder::new(settings, &KeyRequest::only([]), None)?;
    let spec = Spec::new(SpecKind::Numbers, shape.to_vec(), Some((-1.0, 1.0)))?;
    let x = recorder.input("x", spec, None)?;
    let outputs = record(&recorder, x)?;
    let results = Results::Tuple(outputs.len());
    Program::of(&recorder, &outputs, results, notes(), Planning::Full)
}

/// Encrypts values by the interface of a program.
fn encrypted(client: &ClientKey, program: &Program, values: &[f64]) -> AnyArray {
    let spec = &program.interface().inputs()[0].spec;
    client.encrypt_with(values.into(), &spec.shape, &spec.encryption()).unwrap().into()
}

fn decrypted(client: &ClientKey, array: &AnyArray) -> Vec<f64> {
    client.decrypt(Numbers::of(array).unwrap()).unwrap()
}

/// `2 x^2 + 1`, and its sum.
fn squares(recorder: &Recorder, x: usize) -> Result<Vec<usize>, Error> {
    let server = recorder.server();
    let squares = recorder.perform(server, Operation::Mul, &[x, x])?;
    let two = Operation::MulNumber(PlainNumber::Real(2.0));
    let doubled = recorder.perform(server, two, &squares)?;
    let one = Operation::AddNumber(PlainNumber::Real(1.0));
    let shifted = recorder.perform(server, one, &doubled)?;
    let sum = recorder.perform(server, Operation::Sum { axis: None }, &shifted)?;
    Ok([shifted, sum].concat())
}

#[test]
fn a_stored_program_runs_on_a_server_with_its_keys_only() {
    let program = recorded("n13", &[5], squares).unwrap();
    let program = Program::from_bytes(&program.to_bytes(), ()).unwrap();
    let client = ClientKey::generate(program.interface().settings().clone()).unwrap();
    let keys = client.evaluation_keys(&program.interface().key_request()).unwrap();
    let server = Server::new(keys).unwrap();
    let values = [0.5, -0.25, 1.0, 0.0, -1.0];
    let mut done = Vec::new();
    let inputs = vec![encrypted(&client, &program, &values)];
    let outputs = program.run(&server, inputs, |step| {
        done.push(step);
        true
    });
    let outputs = outputs.unwrap();
    assert_eq!(done, (1..=program.steps().len()).collect::<Vec<_>>());
    let expected: Vec<f64> = values.iter().map(|x| 2.0 * x * x + 1.0).collect();
    let got = decrypted(&client, &outputs[0]);
    assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}");
    let sum: f64 = expected.iter().sum();
    assert!((decrypted(&client, &outputs[1])[0] - sum).abs() < 1e-5);
}

#[test]
fn compiling_twice_gives_equal_bytes() {
    let compile = || recorded("n13", &[5], squares).unwrap().to_bytes();
    assert_eq!(compile(), compile());
}

#[test]
fn steps_that_no_output_needs_are_dropped() {
    let program = recorded("n13", &[5], |recorder, x| {
        let outputs = squares(recorder, x)?;
        Ok(vec![outputs[0]])
    });
    let names: Vec<_> =
        program.unwrap().steps().iter().map(|step| step.operation.clone()).collect();
    assert_eq!(names, ["lower", "mul", "mul_number", "add_number"]);
}

#[test]
fn inputs_are_lowered_to_the_capacity_that_is_needed() {
    let program = recorded("n14", &[5], squares).unwrap();
    let steps = program.steps();
    assert_eq!(steps[0].operation, "lower");
    let capacity = |i: usize| steps[i].capacity_bits.unwrap();
    // A product of 32 bits and the sum of five elements need less than 100 of 300 bits.
    assert!(capacity(0) < 100.0, "{}", capacity(0));
    assert!((0.0..25.0).contains(&capacity(steps.len() - 1)));
}

#[test]
fn the_plan_of_a_program_costs_less_than_its_operations_one_by_one() {
    let program = recorded("n14", &[5], squares).unwrap();
    let simulation =
        hippocrene::Simulation::new(Preset::by_name("n14").unwrap().settings().unwrap());
    let simulation = simulation.unwrap();
    simulation.use_reference_prices();
    let values = [0.5; 5];
    let spec = &program.interface().inputs()[0].spec;
    let x = simulation.encrypt((&values[..]).into(), &[5], &spec.encryption()).unwrap();
    simulation.restart();
    let server = simulation.server();
    let y = server.mul_number(&server.mul(&x, &x).unwrap(), 2.0).unwrap();
    let y = server.add_number(&y, 1.0).unwrap();
    server.sum(&y, None).unwrap();
    let eager = simulation.report().seconds;
    assert!(program.cost().seconds < 0.7 * eager, "{} and {eager}", program.cost().seconds);
}

#[test]
fn wrong_inputs_are_refused_before_anything_is_computed() {
    let program = recorded("n13", &[5], squares).unwrap();
    let client = ClientKey::generate(program.interface().settings().clone()).unwrap();
    let server =
        Server::new(client.evaluation_keys(&program.interface().key_request()).unwrap()).unwrap();
    let spec = &program.interface().inputs()[0].spec;
    let of_shape = |shape: &[usize]| {
        let values = vec![0.5; shape.iter().product()];
        let how = spec.encryption();
        vec![client.encrypt_with((&values[..]).into(), shape, &how).unwrap().into()]
    };
    let refused = |inputs: Vec<AnyArray>| {
        let error = program.run(&server, inputs, |_| panic!("a step was run")).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refused(of_shape(&[7])),
        "run a program: the input x is 7 numbers in [-1, 1], and the program was compiled for 5 \
         numbers in [-1, 1]. Run the program on batches of 5 rows."
    );
    assert!(refused(of_shape(&[5, 1])).contains("Encrypt it with the interface"));
    let wide = client.encrypt(&[3.0; 5], &[5]).unwrap();
    assert!(refused(vec![wide.into()]).contains("is 5 numbers in [0, 4]"));
    assert!(refused(Vec::new()).contains("0 inputs are given, and the program takes 1: x"));
    let complex = [num_complex::Complex64::new(0.5, 0.5); 5];
    let complex = client.encrypt_complex(&complex, &[5]).unwrap();
    assert!(refused(vec![complex.into()]).contains("complex numbers"));
}

#[test]
fn arrays_of_another_interface_are_refused() {
    let program = recorded("n13", &[5], squares).unwrap();
    let interface = program.interface();
    let client = ClientKey::generate(interface.settings().clone()).unwrap();
    let server = Server::new(client.evaluation_keys(&interface.key_request()).unwrap()).unwrap();
    let plain = encrypted(&client, &program, &[0.5; 5]);
    let metres = interface.noted_input(plain.clone());
    let feet = plain.clone().with_notes(Notes::fingerprint_of("in feet"));
    let of_results = Notes::fingerprint_of(&notes().results);

    for input in [plain, metres] {
        let reply = program.run(&server, vec![input], |_| true).unwrap();
        for result in &reply {
            assert_eq!(result.notes(), of_results);
            interface.check_result(result.notes()).unwrap();
        }
        let AnyArray::Numbers(first) = &reply[0] else { panic!("numbers") };
        let stored = EncryptedArray::from_bytes(&first.to_bytes(), server.session()).unwrap();
        assert_eq!(stored.notes(), of_results);
        assert_eq!(server.negate(&stored).unwrap().notes(), None);
    }
    let error = program.run(&server, vec![feet.clone()], |_| panic!("a step was run"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "run a program: the input x was encoded for another program, with other columns or \
         intervals. Encrypt it with the interface of this program."
    );
    assert_eq!(
        interface.check_result(feet.notes()).unwrap_err().to_string(),
        "decrypt: this is no reply of the program of the interface. Pass the interface of the \
         program that computed it."
    );
    interface.check_result(None).unwrap();
}

#[test]
fn missing_keys_are_named() {
    let program = recorded("n13", &[5], squares).unwrap();
    let client = ClientKey::generate(program.interface().settings().clone()).unwrap();
    let request = KeyRequest { relinearisation: false, ..KeyRequest::only([]) };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let inputs = vec![encrypted(&client, &program, &[0.5; 5])];
    let error = program.run(&server, inputs, |_| true).unwrap_err();
    assert!(matches!(error, Error::NoKeys { .. }));
    let text = error.to_string();
    assert!(text.contains("relinearisation; rotations by 1, 2, 4"), "{text}");
}

#[test]
fn other_parameters_are_refused() {
    let program = recorded("n13", &[5], squares).unwrap();
    let client = ClientKey::generate(Preset::by_name("n12").unwrap().settings().unwrap()).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    let x = client.encrypt(&[0.5; 5], &[5]).unwrap();
    let error = program.run(&server, vec![x.into()], |_| true).unwrap_err();
    assert!(matches!(error, Error::ParameterMismatch(_)), "{error}");
}

#[test]
fn a_run_stops_when_progress_says_so() {
    let program = recorded("n13", &[5], squares).unwrap();
    let client = ClientKey::generate(program.interface().settings().clone()).unwrap();
    let server =
        Server::new(client.evaluation_keys(&program.interface().key_request()).unwrap()).unwrap();
    let inputs = vec![encrypted(&client, &program, &[0.5; 5])];
    let stopped = program.run(&server, inputs, |step| step < 2);
    assert!(matches!(stopped, Err(Error::Stopped(_))));
}

/// Many kinds of operations, on a matrix.
fn mixed(recorder: &Recorder, x: usize) -> Result<Vec<usize>, Error> {
    let perform = |operation, inputs: &[usize]| {
        recorder.perform(recorder.server(), operation, inputs).map(|results| results[0])
    };
    let matrix = Plain::Reals((0..12).map(|i| f64::from(i) / 16.0).collect());
    let product = perform(Operation::MatmulPlain { matrix: matrix.clone(), columns: 3 }, &[x])?;
    let left = perform(Operation::RmatmulPlain { matrix: matrix.clone(), rows: 4 }, &[x])?;
    let transposed = perform(Operation::Transpose, &[product])?;
    let rolled = perform(Operation::Roll { shift: 1, axis: Some(0) }, &[transposed])?;
    let places = vec![Some(2), None, Some(7), Some(0)];
    let moved = perform(Operation::Gather { shape: vec![2, 2], places }, &[rolled])?;
    let wide = perform(Operation::BroadcastTo { shape: vec![3, 2, 2] }, &[moved])?;
    let sums = Operation::LinearCombinations {
        shape: vec![2],
        terms: 2,
        places: vec![0, 3, 5, 1],
        weights: Plain::Reals(vec![0.5, -1.0, 2.0, 0.25]),
        most: 1000,
        strides: None,
    };
    let sums = perform(sums, &[wide])?;
    let kernel = Plain::Reals(vec![0.5, -0.5]);
    let convolved = perform(Operation::ConvolvePlain { kernel, first: 0, length: 3 }, &[sums])?;
    let coefficients = vec![0.5, 0.25, -0.125];
    let p = Operation::Polynomial { coefficients, chebyshev: Some((-8.0, 8.0)) };
    let powers = perform(Operation::Pow { exponent: 2 }, &[perform(p, &[x])?])?;
    let cumulative = perform(Operation::CumSum { axis: 0 }, &[powers])?;
    Ok(vec![convolved, cumulative, perform(Operation::Sum { axis: Some(1) }, &[left])?])
}

/// A stranger's program may hold any numbers. A server refuses it or runs it, and never panics.
#[test]
fn programs_with_wrong_numbers_never_panic() {
    let bytes = recorded("n14", &[3, 4], mixed).unwrap().to_bytes();
    let mut state = 1u64;
    let mut random = |below: usize| {
        // Knuth's MMIX generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut read, mut run) = (0, 0);
    for _ in 0..4000 {
        let mut wrong = bytes.clone();
        // The header and the settings have tests of their own.
        let place = 200 + random(wrong.len() - 200);
        wrong[place] = random(256) as u8;
        crate::entry::seal(&mut wrong);
        if let Ok(program) = Program::from_bytes(&wrong, ()) {
            read += 1;
            run += usize::from(program.predict().is_ok());
        }
    }
    assert!(read > 200 && run > 50, "{read} programs were read, and {run} of them ran");
}

#[test]
fn wrong_numbers_of_results_are_refused_before_memory_is_taken() {
    let program = recorded("n13", &[5], squares).unwrap();
    let bytes = program.to_bytes();
    let field = b"\x67results\x01";
    let place = bytes.windows(field.len()).position(|window| window == field).unwrap();
    let mut wrong = bytes[..place + 8].to_vec();
    wrong.extend([0x1b, 0x7f, 0, 0, 0, 0, 0, 0, 0]); // 2^62 results
    wrong.extend(&bytes[place + 9..]);
    let length = place_of_length(&bytes);
    let body = u64::from_le_bytes(bytes[length..length + 8].try_into().unwrap()) + 8;
    wrong[length..length + 8].copy_from_slice(&body.to_le_bytes());
    crate::entry::seal(&mut wrong);
    let error = Program::from_bytes(&wrong, ()).unwrap_err().to_string();
    assert!(error.contains("results, and 1 are needed"), "{error}");
}

/// The position of the length of the CBOR in a file: the rest of the file is that long.
fn place_of_length(bytes: &[u8]) -> usize {
    let is_length = |place: &usize| {
        let rest = (bytes.len() - place - 8) as u64;
        bytes[*place..place + 8] == rest.to_le_bytes()
    };
    (56..bytes.len() - 8).find(is_length).unwrap()
}

#[test]
fn recorders_refuse_look_up_tables() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let request =
        KeyRequest { look_ups: Some(hippocrene::LookUps::default()), ..KeyRequest::only([]) };
    assert!(matches!(Recorder::new(settings, &request, None), Err(Error::Argument { .. })));
}

#[test]
fn unknown_values_are_refused_while_recording() {
    let settings = Preset::by_name("n13").unwrap().settings().unwrap();
    let recorder = Recorder::new(settings, &KeyRequest::only([]), None).unwrap();
    let spec = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0))).unwrap();
    let x = recorder.input("x", spec.clone(), None).unwrap();
    let server = recorder.server();
    assert!(matches!(
        recorder.perform(server, Operation::Add, &[x, 9]),
        Err(Error::Argument { .. })
    ));
    let weights = Operation::AddPlain(Plain::Integers(vec![1, 2, 3, 4]));
    let error = recorder.perform(server, weights, &[x]).unwrap_err();
    assert_eq!(error.to_string(), "add_plain: the plain numbers are not doubles");
    let error = recorder.perform(server, Operation::Mul, &[x]).unwrap_err();
    assert!(error.to_string().contains("1 encrypted operands, and 2 are needed"), "{error}");
    recorder.perform(server, Operation::Negate, &[x]).unwrap();
    assert!(recorder.input("late", spec, None).is_err());
    let gone = Program::of(&recorder, &[42], Results::Single, Notes::default(), Planning::Full);
    assert!(matches!(gone, Err(Error::Argument { .. })));
}
