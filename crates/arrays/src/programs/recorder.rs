//! Recording: the operations that a function performs on specifications become a program.

use std::sync::Mutex;

use hippocrene_ckks::Values;

use super::{
    any::AnyArray,
    graph::LOOP,
    interface::Input,
    loops::LoopBody,
    operation::{Graph, Operation, Step},
    spec::{Spec, SpecKind},
};
use crate::{
    Encryption, Error, Interval, KeyRequest, Numbers, Server, Settings, Simulation,
    server::{Log, locked},
};

const OPERATION: &str = "record a program";

/// The factor by which the interval of a sample must be narrower than the proved one to be declared
/// (chosen). Each declaration is a step that later readers of the program have to judge.
const MIN_NARROWING: f64 = 2.0;

/// Records the operations that are performed on its server.
///
/// The server is that of a simulation. It computes on arrays without residues, so that every
/// operation finds its operands and every error of the real run is seen.
///
/// ```
/// use hippocrene::{KeyRequest, Operation, Preset, Recorder, Spec, SpecKind};
///
/// let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
/// let x = recorder.input("x", Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?, None)?;
/// let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// let again = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// assert_eq!(squares, again); // recorded once
/// assert_eq!(recorder.array(squares[0])?.shape(), [4]);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    simulation: Simulation,
    request: KeyRequest,
    server: Server,
    log: Log,
    /// The factor by which intervals of samples are widened about their centre.
    margin: Option<f64>,
    recorded: Mutex<Recorded>,
}

/// The graph that was recorded so far, and its values.
#[derive(Debug, Default)]
struct Recorded {
    graph: Graph,
    /// The names of the inputs, and then those of the parameters.
    names: Vec<String>,
    parameters: usize,
    values: Vec<AnyArray>,
}

impl Recorder {
    /// Makes a recorder for these settings. Its server has every rotation, and the other keys of the
    /// request. If the request asks for powers of two, the server has the keys of the request and no
    /// others. The program then uses fewer keys and takes more time.
    ///
    /// With a margin, the inputs are samples. The values that they lead to are followed, and their
    /// intervals, widened by this factor about their centre, are declared where they are much
    /// narrower than the proved ones.
    ///
    /// # Errors
    /// [`Error::Argument`] if look-up tables are requested, which programs cannot store, and as
    /// [`Simulation::with_keys`].
    pub fn new(
        settings: Settings,
        request: &KeyRequest,
        margin: Option<f64>,
    ) -> Result<Self, Error> {
        if request.look_ups.is_some() {
            let what = "programs have no look-up tables. Leave them out of the request.";
            return Err(Error::argument(OPERATION, what));
        }
        let simulation = simulation_with(settings, request)?;
        let (server, log) = simulation.server().logged();
        let request = request.clone();
        Ok(Recorder { simulation, request, server, log, margin, recorded: Mutex::default() })
    }

    /// Returns this recorder with smaller default errors of functions, by this number of bits.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the number is from 0 to 30.
    pub fn with_extra_function_bits(self, bits: f64) -> Result<Self, Error> {
        Ok(Recorder { server: self.server.with_extra_function_bits(bits)?, ..self })
    }

    /// The server to compute on.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The settings of the program.
    pub fn settings(&self) -> &Settings {
        self.server.session().settings()
    }

    /// The simulation of the server, with the prices of the reference machine.
    pub(super) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Returns a new simulation with the keys of the server and the prices of the reference machine.
    pub(super) fn new_simulation(&self) -> Result<Simulation, Error> {
        simulation_with(self.settings().clone(), &self.request)
    }

    /// True if the server has few rotations, and composes the others of them.
    pub(super) fn composes_rotations(&self) -> bool {
        self.request.powers_of_two
    }

    /// Adds an input, and returns its value. The elements of a sample are in row-major order.
    ///
    /// # Errors
    /// [`Error::Argument`] if a step was recorded before, and as [`Simulation::encrypt`].
    pub fn input(&self, name: &str, spec: Spec, sample: Option<&[f64]>) -> Result<usize, Error> {
        let mut recorded = locked(&self.recorded);
        if recorded.parameters > 0 {
            return Err(Error::argument(OPERATION, "inputs come before all parameters"));
        }
        self.operand(&mut recorded, name, spec, sample)
    }

    /// Adds a parameter, and returns its value. It is an array that the server provides when it runs
    /// the program ([`crate::TrivialEncryption`]).
    ///
    /// # Errors
    /// As [`Recorder::input`], and [`Error::Argument`] for bits.
    pub fn parameter(
        &self,
        name: &str,
        spec: Spec,
        sample: Option<&[f64]>,
    ) -> Result<usize, Error> {
        let mut recorded = locked(&self.recorded);
        if spec.kind == SpecKind::Bits {
            let what = format!(
                "the parameter {name} holds bits, and numbers or integers are needed. Make the bits \
                 part of the function, or an input."
            );
            return Err(Error::argument(OPERATION, what));
        }
        let value = self.operand(&mut recorded, name, spec, sample)?;
        recorded.parameters += 1;
        Ok(value)
    }

    fn operand(
        &self,
        recorded: &mut Recorded,
        name: &str,
        spec: Spec,
        sample: Option<&[f64]>,
    ) -> Result<usize, Error> {
        if !recorded.graph.steps.is_empty() {
            return Err(Error::argument(OPERATION, "inputs come before all operations"));
        }
        if recorded.names.iter().any(|other| other == name) {
            let what = format!(
                "two inputs or parameters have the name {name}. Rename one of them in the function."
            );
            return Err(Error::argument(OPERATION, what));
        }
        let array = spec.stand_in(&self.simulation, sample)?;
        recorded.graph.inputs.push(spec);
        recorded.names.push(name.to_owned());
        recorded.values.push(array);
        Ok(recorded.values.len() - 1)
    }

    /// The array that stands for a value.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such value.
    pub fn array(&self, value: usize) -> Result<AnyArray, Error> {
        let recorded = locked(&self.recorded);
        recorded.values.get(value).cloned().ok_or_else(|| unknown(value))
    }

    /// Performs an operation on values, and returns its results. An operation that was recorded
    /// before is not recorded again.
    ///
    /// `server` is the server of this recorder, or one made of it with another policy.
    ///
    /// # Errors
    /// As [`Operation::perform`].
    pub fn perform(
        &self,
        server: &Server,
        operation: Operation,
        inputs: &[usize],
    ) -> Result<Vec<usize>, Error> {
        let mut recorded = locked(&self.recorded);
        let mut operands = inputs.to_vec();
        if operation.is_function() {
            for value in &mut operands {
                *value = self.narrowed_by_sample(&mut recorded, *value, true)?;
            }
        }
        let results = recorded.perform(server, &self.log, operation, &operands, false)?;
        let narrowed = |value| self.narrowed_by_sample(&mut recorded, value, false);
        results.into_iter().map(narrowed).collect()
    }

    /// Returns the value that a function of `value` is computed from: the same one, or with the
    /// interval of the sample.
    ///
    /// # Errors
    /// As [`Recorder::perform`].
    pub fn operand_of_function(&self, value: usize) -> Result<usize, Error> {
        self.narrowed_by_sample(&mut locked(&self.recorded), value, true)
    }

    /// Declares the interval of a sample for a value, if it is much narrower than the proved one.
    ///
    /// Stray slots have to be set to zero first, which costs a product. That pays off for operands
    /// of functions.
    fn narrowed_by_sample(
        &self,
        recorded: &mut Recorded,
        value: usize,
        is_operand_of_function: bool,
    ) -> Result<usize, Error> {
        let Some(margin) = self.margin else { return Ok(value) };
        let Some(AnyArray::Numbers(array)) = recorded.values.get(value) else { return Ok(value) };
        if array.is_complex() || (array.has_strays() && !is_operand_of_function) {
            return Ok(value);
        }
        let Some(seen) = self.simulation.values(array) else { return Ok(value) };
        let Some(seen) = Interval::of(seen.iter().map(|z| z.re)) else { return Ok(value) };
        let (proved, half) = (array.interval(), 0.5 * margin * seen.width());
        let middle = seen.low().midpoint(seen.high());
        let (low, high) = (proved.low().max(middle - half), proved.high().min(middle + half));
        if low >= high || MIN_NARROWING * (high - low) > proved.width() {
            return Ok(value);
        }
        let declare = Operation::WithInterval { low, high };
        let narrowed = recorded.perform(&self.server, &self.log, declare, &[value], true)?;
        Ok(narrowed[0])
    }

    /// Begins a loop: returns the state as each round finds it, after a bootstrap.
    ///
    /// The body of the loop is recorded by performing its operations on the returned values. Then
    /// [`Recorder::repeat`] makes one step of it.
    ///
    /// # Errors
    /// [`Error::Argument`] if the state does not hold numbers, and as
    /// [`Server::bootstrap_to`].
    pub fn enter_loop(&self, state: &[usize]) -> Result<Vec<usize>, Error> {
        let mut recorded = locked(&self.recorded);
        let enter = |(place, value): (usize, &usize)| {
            let enter = Operation::EnterLoop { place };
            let result = recorded.perform(&self.server, &self.log, enter, &[*value], false)?[0];
            if let AnyArray::Numbers(array) = &recorded.values[result] {
                // The values of the first round say nothing about those of the others.
                let unknown = self.simulation.server().stand_in::<Numbers>(array)?;
                recorded.values[result] = unknown.into();
            }
            Ok(result)
        };
        state.iter().enumerate().map(enter).collect()
    }

    /// Makes one step of a loop that was begun by [`Recorder::enter_loop`] with this state, and
    /// returns the state after this number of rounds. `results` is the state after one round.
    ///
    /// ```
    /// use hippocrene::{
    ///     Bootstrapping, KeyRequest, Operation, PlainNumber, Preset, Recorder, Spec, SpecKind,
    /// };
    ///
    /// let settings = Preset::by_name("n15")?.settings()?;
    /// let how = Bootstrapping::default();
    /// let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::only([]) };
    /// let recorder = Recorder::new(settings, &request, None)?;
    /// let x = recorder.input("x", Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?, None)?;
    /// let state = recorder.enter_loop(&[x])?;
    /// let half = Operation::MulNumber(PlainNumber::Real(0.5));
    /// let next = recorder.perform(recorder.server(), half, &state)?;
    /// let after = recorder.repeat(&[x], &state, &next, 3)?;
    /// assert_eq!(recorder.array(after[0])?.shape(), [4]);
    /// # Ok::<(), hippocrene::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] or [`Error::Shape`] if a round changes the shape, the kind or the
    /// precision of the state or widens its interval, and as the steps of the body.
    pub fn repeat(
        &self,
        state: &[usize],
        entered: &[usize],
        results: &[usize],
        times: usize,
    ) -> Result<Vec<usize>, Error> {
        let mut recorded = locked(&self.recorded);
        if [entered.len(), results.len()] != [state.len(); 2] {
            let (have, need) = (results.len(), state.len());
            let what = format!("a round returns {have} arrays, and the state has {need}");
            return Err(Error::argument(LOOP, what));
        }
        let all = [state, entered, results].concat();
        if let Some(value) = all.iter().find(|value| **value >= recorded.values.len()) {
            return Err(unknown(*value));
        }
        for (i, (before, after)) in entered.iter().zip(results).enumerate() {
            check_header(i, &recorded.values[*before], &recorded.values[*after])?;
        }
        let (steps, others) = recorded.graph.body(entered, results);
        let inputs = [entered, &others[..]].concat();
        let spec = |value: usize| Spec::of(&recorded.values[value]);
        let body = LoopBody(recorded.graph.taken_out(&steps, &inputs, results, spec));
        let operands = [state, &others[..]].concat();
        let repeat = Operation::Repeat { body, times };
        recorded.perform(&self.server, &self.log, repeat, &operands, false)
    }

    /// Returns the graph that leads to these outputs.
    pub(super) fn graph(&self, outputs: &[usize]) -> Result<Graph, Error> {
        let recorded = locked(&self.recorded);
        match outputs.iter().find(|value| **value >= recorded.values.len()) {
            Some(value) => Err(unknown(*value)),
            None => {
                let graph = Graph { outputs: outputs.to_vec(), ..recorded.graph.clone() };
                let graph = graph.without_dead_steps();
                let enters = |step: &Step| matches!(step.operation, Operation::EnterLoop { .. });
                if graph.steps.iter().any(enters) {
                    let what = "a value of a round is used outside of its loop. Return it as a part \
                                of the state.";
                    return Err(Error::argument(LOOP, what));
                }
                Ok(graph)
            }
        }
    }

    /// Returns the inputs and the parameters.
    pub(super) fn operands(&self) -> [Vec<Input>; 2] {
        let recorded = locked(&self.recorded);
        let all = recorded.names.iter().cloned().zip(recorded.graph.inputs.iter().cloned());
        let mut inputs: Vec<Input> = all.map(|(name, spec)| Input { name, spec }).collect();
        let parameters = inputs.split_off(inputs.len() - recorded.parameters);
        [inputs, parameters]
    }
}

/// Returns a simulation of a server with the keys of a request, with the prices of the reference
/// machine. It has every rotation, unless powers of two are requested.
fn simulation_with(settings: Settings, request: &KeyRequest) -> Result<Simulation, Error> {
    let simulation = match request.powers_of_two {
        true => Simulation::limited_to(settings, request)?,
        false => Simulation::with_keys(settings, request)?,
    };
    simulation.use_reference_prices();
    Ok(simulation)
}

fn unknown(value: usize) -> Error {
    Error::argument(OPERATION, format!("there is no value {value}"))
}

/// Checks that a round keeps what all rounds rely on. `i` is the number of the array in the state.
fn check_header(i: usize, before: &AnyArray, after: &AnyArray) -> Result<(), Error> {
    let (have, need) = (Spec::of(after), Spec::of(before));
    let what = if (have.kind, &have.shape) != (need.kind, &need.shape) {
        format!("array {i} of the state is {need}, and one round makes {have} of it")
    } else if let (AnyArray::Numbers(before), AnyArray::Numbers(after)) = (before, after)
        && before.precision() != after.precision()
    {
        let (have, need) = (after.precision(), before.precision());
        format!(
            "the precision of array {i} of the state grows from {need} to {have} bits in one round. \
             Declare it at the end of the round (with_precision)."
        )
    } else if let (Some((low, high)), Some((least, most))) = (have.interval, need.interval)
        && (low < least || most < high)
    {
        format!(
            "the interval of array {i} of the state grows from [{least}, {most}] to [{low}, {high}] \
             in one round. Declare an interval that all rounds keep, before the loop and at the end \
             of the round (with_interval)."
        )
    } else {
        return Ok(());
    };
    Err(Error::argument(LOOP, what))
}

impl Recorded {
    fn perform(
        &mut self,
        server: &Server,
        log: &Log,
        operation: Operation,
        inputs: &[usize],
        rests_on_sample: bool,
    ) -> Result<Vec<usize>, Error> {
        let policy = server.policy();
        let mut first = self.graph.inputs.len();
        for step in &self.graph.steps {
            let is_same = step.inputs == inputs && step.policy == policy;
            if is_same && step.operation == operation {
                return Ok((first..first + step.results).collect());
            }
            first += step.results;
        }
        let arrays = inputs
            .iter()
            .map(|value| self.values.get(*value).ok_or_else(|| unknown(*value)))
            .collect::<Result<Vec<_>, _>>()?;
        drop(log.take());
        let results = operation.perform(server, &arrays)?;
        // Sums that need too many products have no result, and are no step.
        if results.is_empty() {
            return Ok(Vec::new());
        }
        self.graph.steps.push(Step {
            operation,
            inputs: inputs.to_vec(),
            results: results.len(),
            policy,
            decisions: log.take(),
            rests_on_sample,
        });
        self.values.extend(results);
        Ok((first..self.values.len()).collect())
    }
}

impl Spec {
    /// Makes an array without residues of this specification. Its values are those of the sample,
    /// or unknown.
    pub(super) fn stand_in(
        &self,
        simulation: &Simulation,
        sample: Option<&[f64]>,
    ) -> Result<AnyArray, Error> {
        let size = self.shape.iter().product();
        let interval = self.interval.map(|(low, high)| Interval::finite(low, high)).transpose()?;
        Ok(match self.kind {
            SpecKind::Bits => simulation.encrypt_bits(&vec![false; size], &self.shape)?.into(),
            SpecKind::Integers => {
                let zeros = vec![interval.map_or(0, |own| own.low() as i64); size];
                match interval {
                    Some(own) => simulation.encrypt_integers_within(&zeros, &self.shape, own)?,
                    None => simulation.encrypt_integers(&zeros, &self.shape)?,
                }
                .into()
            }
            SpecKind::Numbers | SpecKind::Complex => {
                let how = Encryption { interval, ..Encryption::default() };
                let zeros = vec![num_complex::Complex64::default(); size];
                let low = vec![interval.map_or(0.0, |own| own.low()); size];
                let values = match (self.kind, sample) {
                    (SpecKind::Complex, _) => Values::Complex(&zeros),
                    (_, Some(sample)) => Values::Real(sample),
                    _ => Values::Real(&low),
                };
                let array = simulation.encrypt(values, &self.shape, &how)?;
                match sample {
                    Some(_) => array.into(),
                    None => simulation.server().stand_in::<Numbers>(&array)?.into(),
                }
            }
        })
    }
}
