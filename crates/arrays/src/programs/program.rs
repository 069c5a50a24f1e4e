//! A program: a graph with its decisions, its predicted cost, and its run.

use hippocrene_rlwe::{Fingerprint, RlweError};
use serde::{Deserialize, Serialize};

use super::{
    any::AnyArray,
    error_bound::{Approximated, jumps},
    interface::{Input, Interface, InterfaceBody, Notes, Results},
    operation::{Graph, Step},
    part::Part,
    planner::planned,
    recorder::Recorder,
    run::{RUN, run},
    spec::Spec,
};
use crate::{BitLiteral, Capacity, Error, Numbers, Report, Server, Settings, Simulation};

/// The predicted cost and error of a program, on one thread of the reference machine or of this one
/// ([`Program::predict`]).
///
/// See [`Program`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds of a run on one thread, after the first two. From then on a server has cached the
    /// plain numbers that it encodes.
    pub seconds: f64,
    /// Seconds of the first run on one thread.
    pub first_seconds: f64,
    /// The peak of memory of the server in the first run, in bytes, with keys and arrays.
    pub peak_memory: usize,
    /// The size of the evaluation keys as stored, in bytes.
    pub key_bytes: usize,
    /// The number of bootstraps.
    pub bootstraps: u64,
    /// log2 of a bound on the probability that any bootstrap fails. It is `None` without bootstraps.
    pub log2_failure_probability: Option<f64>,
    /// The lowest precision of a result in bits after the binary point, if any holds numbers. It is
    /// that of the estimated error.
    pub precision_bits: Option<f64>,
    /// The largest error of a result, if any holds numbers ([`StepReport::error_bound`]). It is
    /// infinite if the error is unknown.
    pub error_bound: Option<f64>,
    /// The largest share of the time that the best placement of bootstraps may save, by the figures
    /// of the planner. It is 0 if the search was exact, and `None` if operations bootstrap as they
    /// do one by one, or in loops.
    pub placement_gap: Option<f64>,
}

/// The description of a step of a program: its operation, its results and its predicted cost.
///
/// See [`Program`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The name of the operation.
    pub operation: String,
    /// The values that it computes from. The inputs of the program are the first values, and then
    /// come the results of each step.
    pub inputs: Vec<usize>,
    /// The specifications of its results.
    pub results: Vec<Spec>,
    /// Seconds on one thread.
    pub seconds: f64,
    /// The number of bootstraps.
    pub bootstraps: u64,
    /// The capacity of the first result in bits, if it holds numbers.
    pub capacity_bits: Option<f64>,
    /// The precision of the first result in bits after the binary point, if it holds numbers. It is
    /// that of the estimated error.
    pub precision_bits: Option<f64>,
    /// The largest error of the first result, if it holds numbers. Each element exceeds it with
    /// probability `2^-40` at most, unless it depends on a value near a jump.
    pub error_bound: Option<f64>,
    /// True for a function that jumps, such as a comparison. Near a jump, its result may be anything
    /// between the values on both sides.
    pub jumps: bool,
    /// True for an interval that was seen in a sample and is not proved.
    pub rests_on_sample: bool,
}

/// The stored part of a [`Program`], without its settings.
///
/// See [`Program`] for an example.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramBody {
    interface: InterfaceBody,
    graph: Graph,
    steps: Vec<StepReport>,
    cost: Cost,
    /// True if rotations without a key of their own are composed of others.
    composes_rotations: bool,
}

impl ProgramBody {
    /// The stored part of the interface.
    pub fn interface(&self) -> &InterfaceBody {
        &self.interface
    }

    /// The descriptions of the steps, with their predicted costs.
    pub fn steps(&self) -> &[StepReport] {
        &self.steps
    }

    /// The predicted cost of all steps.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

/// Whether a program is planned as a whole. See [`Program`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planning {
    /// Bootstraps are placed and inputs are lowered for the whole program.
    Full,
    /// The operations are performed as if they ran one by one.
    None,
}

/// A program on encrypted arrays, which any server with its keys can run.
///
/// ```
/// use hippocrene::{
///     KeyRequest, Notes, Operation, Planning, Preset, Program, Recorder, Results, Spec, SpecKind,
/// };
///
/// let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
/// let rows = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?;
/// let x = recorder.input("x", rows, None)?;
/// let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// let sum = recorder.perform(recorder.server(), Operation::Sum { axis: None }, &squares)?;
/// let program = Program::of(&recorder, &sum, Results::Single, Notes::default(), Planning::Full)?;
/// assert!(program.steps().last().is_some_and(|step| step.operation == "sum"));
/// assert!(program.cost().seconds < 1.0 && program.cost().bootstraps == 0);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Program {
    interface: Interface,
    body: ProgramBody,
}

impl Program {
    /// Makes a program of the steps that lead to these outputs, and predicts its cost.
    ///
    /// Without planning, the steps run as they were recorded. That is enough to find out
    /// whether a precision and a preset fit.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such output, or if the number of outputs is not that of
    /// `results`.
    pub fn of(
        recorder: &Recorder,
        outputs: &[usize],
        results: Results,
        notes: Notes,
        planning: Planning,
    ) -> Result<Self, Error> {
        let settings = recorder.settings().clone();
        let graph = recorder.graph(outputs)?;
        if results.count() != outputs.len() {
            let what = format!("{} outputs for {} results", outputs.len(), results.count());
            return Err(Error::argument("make a program", what));
        }
        let [inputs, _] = recorder.operands();
        if let Some(output) = graph.output_without(inputs.len()) {
            let what = format!(
                "result {} depends on no input of the client, so that it would not be encrypted. \
                 Compute it in the clear instead.",
                output + 1
            );
            return Err(Error::argument("make a program", what));
        }
        let (graph, placement_gap) = match planning {
            Planning::Full => planned(graph, recorder.simulation())?,
            Planning::None => (graph, None),
        };
        let is_later = planning == Planning::Full;
        let DryRun { steps, report, cost } =
            dry_run(&graph, &recorder.new_simulation()?, is_later)?;
        let interface = InterfaceBody::new(recorder.operands(), results, &report, notes);
        let composes_rotations = recorder.composes_rotations();
        let cost = Cost { placement_gap, ..cost };
        let body =
            ProgramBody { interface: interface.clone(), graph, steps, cost, composes_rotations };
        let interface = Interface::new(settings, report.bits, interface)?;
        let mut program = Program { interface, body };
        if composes_rotations {
            // The first dry run had more keys than the program uses.
            (program.body.steps, program.body.cost) = program.predicted(true)?;
        }
        Ok(program)
    }

    /// Predicts the cost of the steps and of the whole program on this machine, by the profile that
    /// `hippocrene tune` has measured. [`Program::steps`] and [`Program::cost`] are those of the
    /// reference machine, so that a program does not depend on the machine that compiles it.
    ///
    /// # Errors
    /// As [`Simulation::with_keys`].
    pub fn predict(&self) -> Result<(Vec<StepReport>, Cost), Error> {
        self.predicted(false)
    }

    /// Returns a simulation with the parameters and the keys of this program. Its server runs the
    /// program on plain values ([`Simulation::encrypt`], [`Program::run`]), without any key.
    ///
    /// ```
    /// # use hippocrene::{
    /// #     AnyArray, Encryption, Interval, KeyRequest, Notes, Operation, Planning, Preset, Program,
    /// #     Recorder, Results, Spec, SpecKind,
    /// # };
    /// # let settings = Preset::by_name("n13")?.settings()?;
    /// # let recorder = Recorder::new(settings, &KeyRequest::only([]), None)?;
    /// # let rows = Spec::new(SpecKind::Numbers, vec![2], Some((-1.0, 1.0)))?;
    /// # let x = recorder.input("x", rows, None)?;
    /// # let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
    /// # let program = Program::of(&recorder, &squares, Results::Single, Notes::default(), Planning::Full)?;
    /// let simulation = program.simulation()?;
    /// let how = Encryption { interval: Interval::new(-1.0, 1.0), precision: None };
    /// let x = simulation.encrypt((&[0.5, -0.25][..]).into(), &[2], &how)?;
    /// let results = program.run(simulation.server(), vec![x.into()], |_| true)?;
    /// let [AnyArray::Numbers(squares)] = &results[..] else { panic!("one array of numbers") };
    /// let values = simulation.values(squares).unwrap();
    /// assert!((values[0].re - 0.25).abs() < 1e-6 && (values[1].re - 0.0625).abs() < 1e-6);
    /// # Ok::<(), hippocrene::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Simulation::with_keys`].
    pub fn simulation(&self) -> Result<Simulation, Error> {
        let settings = self.interface.settings().clone();
        let request = self.interface.key_request();
        match self.body.composes_rotations {
            true => Simulation::limited_to(settings, &request),
            false => Simulation::with_keys(settings, &request),
        }
    }

    /// Predicts the cost on this machine or on the reference machine.
    fn predicted(&self, is_reference: bool) -> Result<(Vec<StepReport>, Cost), Error> {
        let simulation = self.simulation()?;
        if is_reference {
            simulation.use_reference_prices();
        }
        let DryRun { steps, cost, .. } = dry_run(&self.body.graph, &simulation, true)?;
        Ok((steps, Cost { placement_gap: self.body.cost.placement_gap, ..cost }))
    }

    /// Puts a program together from its stored part and its settings. `bits` are the parameters of
    /// bits, if the program computes on them.
    ///
    /// # Errors
    /// [`Error::Argument`] if the parts do not fit together.
    pub fn from_body(
        settings: Settings,
        bits: Option<BitLiteral>,
        body: ProgramBody,
    ) -> Result<Self, Error> {
        let graph = &body.graph;
        graph.check()?;
        if graph.output_without(body.interface.inputs().len()).is_some() {
            let what = "a result depends on no input of the client, so that it is not encrypted";
            return Err(Error::argument("load a program", what));
        }
        let declared = body.interface.operands().map(|input| &input.spec);
        let described = body.steps.iter().map(|step| step.results.len());
        let fits = declared.eq(&graph.inputs)
            && body.interface.results().count() == graph.outputs.len()
            && described.eq(graph.steps.iter().map(|step| step.results));
        if !fits {
            let what = "the graph has other inputs, steps or outputs than its description";
            return Err(Error::argument("load a program", what));
        }
        for policy in graph.policies() {
            policy.check(&settings)?;
        }
        let interface = Interface::new(settings, bits, body.interface.clone())?;
        Ok(Program { interface, body })
    }

    /// The stored part.
    pub fn body(&self) -> &ProgramBody {
        &self.body
    }

    /// The part that the client needs.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The descriptions of the steps, with their predicted costs.
    pub fn steps(&self) -> &[StepReport] {
        &self.body.steps
    }

    /// The specifications of all values: of the inputs, and of the results of each step.
    fn values(&self) -> Vec<&Spec> {
        let operands = self.interface.body().operands().map(|input| &input.spec);
        operands.chain(self.steps().iter().flat_map(|step| &step.results)).collect()
    }

    /// The specifications of the results.
    pub fn results(&self) -> Vec<&Spec> {
        let values = self.values();
        // The graph was checked when the program was made or loaded.
        self.outputs().iter().map(|value| values[*value]).collect()
    }

    /// The values that are returned. Values are numbered as in [`StepReport::inputs`].
    pub fn outputs(&self) -> &[usize] {
        &self.body.graph.outputs
    }

    /// The predicted cost of all steps.
    pub fn cost(&self) -> Cost {
        self.body.cost
    }

    /// Runs the program on encrypted inputs, followed by the parameters, and returns its outputs.
    ///
    /// `progress` is called after each step, with the number of steps done. The run stops if it
    /// returns false. A value is dropped after its last use.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] if the server has other parameters, [`Error::Shape`] or
    /// [`Error::Argument`] if the inputs are not those that the program takes,
    /// [`Error::KeyMismatch`] if they belong to another key than the server's, [`Error::NoKeys`] if
    /// keys are missing, and [`Error::Stopped`] if a stop was requested.
    pub fn run(
        &self,
        server: &Server,
        inputs: Vec<AnyArray>,
        mut progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<AnyArray>, Error> {
        self.check_inputs(&inputs)?;
        self.check_server(server, &inputs)?;
        let mut done = 0;
        let results = run(&self.body.graph, server, inputs, |_, _| {
            done += 1;
            progress(done)
        })?;
        Ok(results.into_iter().map(|array| array.with_notes(self.notes_of_results())).collect())
    }

    fn notes_of_results(&self) -> Option<Fingerprint> {
        Notes::fingerprint_of(&self.interface.notes().results)
    }

    /// Checks that a server has the parameters and the keys of this program, and that its keys are
    /// those of the inputs.
    fn check_server(&self, server: &Server, inputs: &[AnyArray]) -> Result<(), Error> {
        server.check_settings(self.interface.settings(), RUN)?;
        if let Some(other) = inputs.iter().find(|array| array.key() != server.key()) {
            let (have, need) = (other.key(), server.key());
            return Err(RlweError::KeyMismatch { operation: RUN, have, need }.into());
        }
        let lacks = server.lacks(&self.interface.key_request());
        if !lacks.is_empty() {
            let what = format!(
                "the server lacks keys that this program uses: {}. Make evaluation keys for the \
                 interface of this program.",
                lacks.join("; ")
            );
            return Err(Error::NoKeys { operation: RUN, what: what.into() });
        }
        Ok(())
    }

    /// Describes some of the steps as a part that can run by itself, given in ascending order.
    ///
    /// ```
    /// # use hippocrene::{KeyRequest, Notes, Operation, Planning, Preset, Program, Recorder, Results, Spec, SpecKind};
    /// # let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
    /// # let rows = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?;
    /// # let x = recorder.input("x", rows, None)?;
    /// # let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
    /// # let sum = recorder.perform(recorder.server(), Operation::Sum { axis: None }, &squares)?;
    /// # let program = Program::of(&recorder, &sum, Results::Single, Notes::default(), Planning::Full)?;
    /// // The steps are lower, mul and sum. Value 0 is the input.
    /// let last = program.part(&[2])?;
    /// assert_eq!((last.inputs(), last.results()), (&[2][..], &[3][..]));
    /// # Ok::<(), hippocrene::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such step, or if the order is wrong.
    pub fn part(&self, steps: &[usize]) -> Result<Part, Error> {
        Part::of(&self.body.graph, steps, &self.values())
    }

    /// Runs a part of the program on the values that it uses, in the order of [`Part::inputs`]. It
    /// returns values in the order of [`Part::results`].
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_part(
        &self,
        server: &Server,
        part: &Part,
        inputs: Vec<AnyArray>,
    ) -> Result<Vec<AnyArray>, Error> {
        self.check_server(server, &inputs)?;
        if inputs.len() != part.inputs.len() {
            let what = format!("{} values for a part with {}", inputs.len(), part.inputs.len());
            return Err(Error::argument(RUN, what));
        }
        for ((value, spec), array) in part.inputs.iter().zip(&part.graph.inputs).zip(&inputs) {
            match self.interface.body().operands().nth(*value) {
                Some(input) => self.check_operand(input, array)?,
                None => spec.check(array, &format!("%{value}"))?,
            }
        }
        let results = run(&part.graph, server, inputs, |_, _| true)?;
        let with_notes = |(value, array): (&usize, AnyArray)| match self.outputs().contains(value) {
            true => array.with_notes(self.notes_of_results()),
            false => array,
        };
        Ok(part.results().iter().zip(results).map(with_notes).collect())
    }

    /// Checks that arrays are the inputs and the parameters that the program takes, before any key
    /// is loaded.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Argument`] if they are not.
    pub fn check_inputs(&self, inputs: &[AnyArray]) -> Result<(), Error> {
        let expected: Vec<&Input> = self.interface.body().operands().collect();
        if inputs.len() != expected.len() {
            let names: Vec<&str> = expected.iter().map(|input| input.name.as_str()).collect();
            let given = match inputs.len() {
                1 => "1 input is".to_owned(),
                many => format!("{many} inputs are"),
            };
            let what = format!(
                "{given} given, and the program takes {}: {}",
                expected.len(),
                names.join(", ")
            );
            return Err(Error::argument(RUN, what));
        }
        let mut operands = expected.into_iter().zip(inputs);
        operands.try_for_each(|(input, array)| self.check_operand(input, array))
    }

    /// Checks that an array may be an input or a parameter.
    fn check_operand(&self, Input { name, spec }: &Input, array: &AnyArray) -> Result<(), Error> {
        spec.check(array, name)?;
        spec.check_precision(array, name, self.interface.settings().precision())?;
        if Notes::may_follow(array.notes(), &self.interface.notes().inputs) {
            return Ok(());
        }
        let what = format!(
            "the input {name} was encoded for another program, with other columns or intervals. \
             Encrypt it with the interface of this program."
        );
        Err(Error::argument(RUN, what))
    }
}

/// A run of a graph in a simulation.
struct DryRun {
    steps: Vec<StepReport>,
    report: Report,
    cost: Cost,
}

/// Minimum share of the time of a first run that encoding plain numbers takes, from which on a later
/// run is predicted separately (chosen). A server caches the encoded numbers in the second run.
const MIN_ENCODING_SHARE: f64 = 0.01;

/// Predicts the first run of a graph, or a later one together with the time of the first.
fn dry_run(graph: &Graph, simulation: &Simulation, is_later: bool) -> Result<DryRun, Error> {
    let first = dry_run_once(graph, simulation)?;
    let encoding = first.report.operations.iter().find(|(name, ..)| *name == "encode");
    let is_notable =
        encoding.is_some_and(|(.., seconds)| *seconds > MIN_ENCODING_SHARE * first.cost.seconds);
    if !(is_later && is_notable) {
        return Ok(first);
    }
    dry_run_once(graph, simulation)?;
    let later = dry_run_once(graph, simulation)?;
    let Cost { first_seconds, peak_memory, .. } = first.cost;
    Ok(DryRun { cost: Cost { first_seconds, peak_memory, ..later.cost }, ..later })
}

fn dry_run_once(graph: &Graph, simulation: &Simulation) -> Result<DryRun, Error> {
    let stand_ins = graph.inputs.iter().map(|spec| spec.stand_in(simulation, None));
    let stand_ins = stand_ins.collect::<Result<Vec<_>, _>>()?;
    simulation.restart();
    let rlwe = simulation.server().session().context().rlwe();
    let tally = || rlwe.read_tally(|tally| (tally.seconds(), tally.raises()));
    let (mut steps, mut before) = (Vec::with_capacity(graph.steps.len()), tally());
    let input = |(spec, array)| Approximated::input(spec, stated_error(array, simulation.server()));
    let mut values: Vec<Approximated> = graph.inputs.iter().zip(&stand_ins).map(input).collect();
    run(graph, simulation.server(), stand_ins, |step, results| {
        let after = tally();
        let cost = (after.0 - before.0, after.1 - before.1);
        let inputs: Vec<&Approximated> = step.inputs.iter().map(|value| &values[*value]).collect();
        let of_result = |result: &AnyArray| {
            let stated = stated_error(result, simulation.server());
            Approximated::result(&step.operation, &inputs, Spec::of(result), stated)
        };
        let approximated: Vec<Approximated> = results.iter().map(of_result).collect();
        let error_bound = approximated.first().and_then(Approximated::error_bound);
        values.extend(approximated);
        let report = StepReport::new(step, results, error_bound, cost, simulation.server());
        steps.push(report);
        before = after;
        true
    })?;
    let report = simulation.report();
    let outputs: Vec<&Approximated> = graph.outputs.iter().map(|value| &values[*value]).collect();
    let cost = Cost::of(&report, &outputs);
    Ok(DryRun { steps, report, cost })
}

/// Returns the standard deviation of the error that an array states. Integers and bits have none.
fn stated_error(array: &AnyArray, server: &Server) -> f64 {
    match array {
        AnyArray::Numbers(array) => (-array.precision_bits(server.session())).exp2(),
        _ => 0.0,
    }
}

impl Cost {
    fn of(report: &Report, outputs: &[&Approximated]) -> Self {
        let bounds = outputs.iter().filter_map(|output| output.error_bound());
        let numbers = outputs.iter().filter(|output| output.error_bound().is_some());
        let stated = numbers.map(|output| output.stated).reduce(f64::max);
        Cost {
            precision_bits: stated.map(|stated| -stated.log2()),
            error_bound: bounds.reduce(f64::max),
            seconds: report.seconds,
            first_seconds: report.first_seconds,
            peak_memory: report.peak_memory,
            key_bytes: report.key_bytes,
            bootstraps: report.bootstraps,
            log2_failure_probability: report.log2_failure_probability,
            placement_gap: None,
        }
    }
}

impl StepReport {
    /// Describes a step that takes these seconds and bootstraps.
    fn new(
        step: &Step,
        results: &[AnyArray],
        error_bound: Option<f64>,
        (seconds, bootstraps): (f64, u64),
        server: &Server,
    ) -> Self {
        let (capacity_bits, precision_bits) = match results.first() {
            Some(AnyArray::Numbers(array)) => (
                Some(Numbers::capacity_bits(server.session(), array)),
                Some(array.precision_bits(server.session())),
            ),
            _ => (None, None),
        };
        StepReport {
            operation: step.operation.name().to_owned(),
            inputs: step.inputs.clone(),
            results: results.iter().map(Spec::of).collect(),
            seconds,
            bootstraps,
            capacity_bits,
            precision_bits,
            error_bound,
            jumps: jumps(&step.operation),
            rests_on_sample: step.rests_on_sample,
        }
    }
}
