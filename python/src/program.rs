//! Programs: recording, files, and runs.

use std::sync::Arc;

use hippocrene::{
    AnyArray, Cost, Error, Input, Notes, Planning, Results, Spec, SpecKind, StepReport, Stored,
};
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use serde::Serialize;

use crate::{
    array::{Computed, EncryptedArray},
    client::{ClientKey, EvaluationKeys, Wanted, requested, settings},
    description::{KeysDescription, preset_named},
    errors::detached,
    files::with_files,
    numbers::row_major,
    server::{Server, known, recorded},
    simulation::Simulation,
};

/// A server that writes down the operations that it performs.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Recorder {
    inner: Arc<hippocrene::Recorder>,
    description: KeysDescription,
}

#[pymethods]
impl Recorder {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as a simulation has, and two
    fn new(
        py: Python<'_>,
        preset: &str,
        precision: Option<f64>,
        scheme: Option<&str>,
        plain_modulus: Option<u64>,
        bootstrapping: Option<Wanted>,
        bits: bool,
        margin: Option<f64>,
        extra_function_bits: f64,
        few_rotations: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            let settings = settings(preset, precision, scheme, plain_modulus)?;
            let rotations = (!few_rotations).then(Vec::new);
            let asked = (rotations, true, few_rotations, bootstrapping, None, bits);
            let request = requested(asked, &settings)?;
            let inner = hippocrene::Recorder::new(settings, &request, margin)?;
            let inner = Arc::new(inner.with_extra_function_bits(extra_function_bits)?);
            let description = KeysDescription::every(inner.server().session(), &request);
            Ok(Recorder { inner, description })
        })
    }

    /// The server to compute on.
    fn server(&self) -> Server {
        Server::recording(Arc::clone(&self.inner))
    }

    fn describe(&self) -> KeysDescription {
        self.description.clone()
    }

    /// Adds an input or a parameter. The sample has one value for each element.
    #[allow(clippy::too_many_arguments)] // those of a specification, a sample and the side
    fn input(
        &self,
        py: Python<'_>,
        name: &str,
        kind: &str,
        shape: Vec<usize>,
        interval: Option<(f64, f64)>,
        sample: Option<PyReadonlyArrayDyn<'_, f64>>,
        is_parameter: bool,
    ) -> Computed {
        let sample = sample.as_ref().map(row_major).transpose()?;
        let kind: SpecKind = known(kind)?;
        detached(py, || {
            let spec = Spec::new(kind, shape, interval)?;
            let value = match is_parameter {
                true => self.inner.parameter(name, spec, sample)?,
                false => self.inner.input(name, spec, sample)?,
            };
            recorded(&self.inner, value)
        })
    }

    /// Makes a program of the steps that lead to these arrays. `names` are those of a dictionary.
    fn finish(
        &self,
        py: Python<'_>,
        outputs: Vec<Py<EncryptedArray>>,
        single: bool,
        names: Option<Vec<String>>,
        notes: (String, String),
        planned: bool,
    ) -> PyResult<Program> {
        detached(py, || {
            let values = outputs.iter().map(|array| array.get().value_of(&self.inner));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let results = match names {
                Some(names) => Results::Named(names),
                None if single => Results::Single,
                None => Results::Tuple(values.len()),
            };
            let notes = Notes { inputs: notes.0, results: notes.1 };
            let planning = if planned { Planning::Full } else { Planning::None };
            Ok(hippocrene::Program::of(&self.inner, &values, results, notes, planning)?.into())
        })
    }
}

/// The steps of a program, its results as values and their specifications, and the cost.
type Predicted = (Vec<StepReport>, Vec<usize>, Vec<Spec>, Cost);

/// The properties of a program or of an interface that Python shows.
#[derive(Serialize)]
struct Described<'a> {
    inputs: Vec<(String, Spec)>,
    parameters: Vec<(String, Spec)>,
    results: &'a Results,
    notes: &'a Notes,
    preset: Option<&'static str>,
    ring_degree: usize,
    scheme: &'static str,
    plain_modulus: Option<u64>,
    precision: f64,
    keys: Vec<String>,
    /// The steps, the results and the cost. An interface has none.
    program: Option<Predicted>,
}

with_files!(
    /// The part of a program that its client needs.
    Interface, Interface, {
    /// The properties as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || described(&self.0, None))
    }

    /// A client key with the settings of the program.
    fn generate_client(&self, py: Python<'_>, threads: usize) -> PyResult<ClientKey> {
        let settings = self.0.settings().clone();
        detached(py, || hippocrene::ClientKey::generate_with(settings, threads))
            .map(ClientKey::from)
    }

    /// A fresh array as an input of the program, encoded as the notes of the interface say.
    fn noted_input(&self, py: Python<'_>, fresh: &EncryptedArray) -> Computed {
        detached(py, || {
            let (array, session) = fresh.held("encrypt")?;
            Ok(EncryptedArray::hold(self.0.noted_input(array.clone()), session))
        })
    }

    /// Checks that an array may be a result of the program.
    fn check_result(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<()> {
        detached(py, || self.0.check_result(array.notes()))
    }

    /// The evaluation keys of a client that the program uses.
    fn evaluation_keys(&self, py: Python<'_>, client: &ClientKey) -> PyResult<EvaluationKeys> {
        detached(py, || client.0.evaluation_keys(&self.0.key_request())).map(EvaluationKeys)
    }
});

with_files!(
    /// A program on encrypted arrays.
    Program, Program, {
    /// The properties as JSON, with the times of this machine or of the reference machine.
    fn describe(&self, py: Python<'_>, at_reference: bool) -> PyResult<String> {
        detached(py, || {
            let (steps, cost) = match at_reference {
                true => (self.0.steps().to_vec(), self.0.cost()),
                false => self.0.predict()?,
            };
            let results = self.0.results().into_iter().cloned().collect();
            let outputs = self.0.outputs().to_vec();
            described(self.0.interface(), Some((steps, outputs, results, cost)))
        })
    }

    fn interface(&self) -> Interface {
        self.0.interface().clone().into()
    }

    /// A simulation with the keys of the program.
    fn simulation(&self, py: Python<'_>) -> PyResult<Simulation> {
        let simulation = detached(py, || self.0.simulation())?;
        Ok(Simulation::with_keys_of(simulation, &self.0.interface().key_request()))
    }

    /// Runs the program. `progress` is called after each step, with the number of steps done.
    fn run(
        &self,
        py: Python<'_>,
        server: &Server,
        inputs: Vec<Py<EncryptedArray>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        let mut stopped = None;
        let results = detached(py, || {
            self.0.run(server.inner(), read(server, &inputs)?, |done| {
                let Some(progress) = &progress else { return true };
                let called = Python::attach(|py| progress.call1(py, (done,)).map(drop));
                stopped = called.err();
                stopped.is_none()
            })
        });
        stopped.map_or(Ok(()), Err)?;
        Ok(held(server, results?))
    }

    /// Checks the inputs of a run.
    fn check_inputs(
        &self,
        py: Python<'_>,
        server: &Server,
        inputs: Vec<Py<EncryptedArray>>,
    ) -> PyResult<()> {
        detached(py, || self.0.check_inputs(&read(server, &inputs)?))
    }

    /// The values that some steps use, and those that they compute for others.
    fn part(&self, py: Python<'_>, steps: Vec<usize>) -> PyResult<(Vec<usize>, Vec<usize>)> {
        detached(py, || {
            let part = self.0.part(&steps)?;
            Ok((part.inputs().to_vec(), part.results().to_vec()))
        })
    }

    /// Runs some steps on the values that they use.
    fn run_part(
        &self,
        py: Python<'_>,
        server: &Server,
        steps: Vec<usize>,
        inputs: Vec<Py<EncryptedArray>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        let results = detached(py, || {
            self.0.run_part(server.inner(), &self.0.part(&steps)?, read(server, &inputs)?)
        });
        Ok(held(server, results?))
    }
});

/// Reads arrays for a server.
fn read(server: &Server, arrays: &[Py<EncryptedArray>]) -> Result<Vec<AnyArray>, Error> {
    let session = server.inner().session();
    arrays.iter().map(|array| Ok(array.get().any(session)?.into_owned())).collect()
}

/// Wraps arrays of a server.
fn held(server: &Server, arrays: Vec<AnyArray>) -> Vec<EncryptedArray> {
    let session = server.inner().session();
    arrays.into_iter().map(|array| EncryptedArray::hold(array, session)).collect()
}

fn described(
    interface: &hippocrene::Interface,
    program: Option<Predicted>,
) -> Result<String, Error> {
    let settings = interface.settings();
    let (parameters, integers) = (settings.parameters(), settings.integers());
    let named =
        |all: &[Input]| all.iter().map(|own| (own.name.clone(), own.spec.clone())).collect();
    let described = Described {
        inputs: named(interface.inputs()),
        parameters: named(interface.parameters()),
        results: interface.results(),
        notes: interface.notes(),
        preset: preset_named(parameters.digest(), parameters.degree()),
        ring_degree: parameters.degree(),
        scheme: integers.map_or("ckks", |integers| integers.scheme.name()),
        plain_modulus: integers.map(|integers| integers.plain_modulus),
        precision: settings.precision(),
        keys: interface.key_names(),
        program,
    };
    serde_json::to_string(&described).map_err(|error| Error::Internal(error.to_string()))
}
