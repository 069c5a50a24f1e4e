//! Planning: where a program bootstraps, how far, and how much capacity each value has.
//!
//! Operations that run one by one keep capacity for whatever may follow. A program knows what
//! follows. The planner measures the depth and the cost of each step in a dry run, places bootstraps
//! ([`place`]), lowers inputs to the capacity that is needed, and lets every step choose the fastest
//! candidate that leaves its consumers enough.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use super::{
    any::AnyArray,
    operation::{Graph, Operation, Step},
    placement::{Depth, Limits, Node, Placement, Seconds, place},
    rewrites::{Known, RULES},
    run::run,
    spec::Spec,
};
use crate::{
    Capacity, EncryptedArray, Error, Numbers, Server, Simulation,
    server::{Decision, Policy},
};

/// Bits of capacity that inputs and bootstraps provide in addition to the needs, in the order in
/// which they are tried (chosen). Needs are known to within a few bits, as moduli are not divisible
/// at will.
const MARGINS: [f64; 4] = [0.0, 4.0, 12.0, 30.0];

/// Number of bits by which the capacity of a result may miss its need (chosen). A plan is good if
/// all its steps are possible, whether or not the estimates of needs are exact.
const TOLERANCE: f64 = 2.0;

/// Inputs are lowered only if that gives up at least this number of bits (chosen).
const MIN_LOWERED_BITS: f64 = 8.0;

/// Operands of a single step are lowered if that saves at least this share of the seconds of the
/// program (chosen).
const MIN_SAVED_SHARE: f64 = 0.01;

/// Largest loss of precision of an output by planning, in bits (chosen).
const MAX_LOST_PRECISION: f64 = 0.5;

/// Largest loss of precision of an output by a rewrite, in bits, before planning (chosen).
const MAX_CHANGED_PRECISION: f64 = 2.0;

/// A plan is taken without a larger margin if it takes less than this share of the seconds that its
/// placement lets expect (chosen).
const MAX_SHARE_OF_EXPECTED: f64 = 1.05;

/// A plan with a larger margin must take less than this share of the seconds of one with a smaller
/// margin (chosen).
const MAX_SHARE_OF_SMALLER_MARGIN: f64 = 0.95;

/// Rewrites must reduce the seconds to this share (chosen), since they also change the precision.
const MAX_SHARE_OF_REWRITTEN: f64 = 0.95;

/// The capacity that outputs keep, in bits.
const CAPACITY_OF_OUTPUTS: f64 = 2.0;

/// A dry run in which the costs of steps are measured.
struct Measured<'s> {
    simulation: &'s Simulation,
    nodes: Vec<Node>,
    /// The capacity of each value, or `None` if it does not hold numbers.
    capacities: Vec<Option<f64>>,
    /// Seconds of the whole graph as it is.
    seconds: f64,
    /// The precision of each output in bits, or infinity if it does not hold numbers.
    precisions: Vec<f64>,
    /// Costs of bootstraps, by the number of ciphertexts and whether they are complex.
    bootstraps: BTreeMap<(usize, bool), Seconds>,
}

/// Returns the cheaper one of the graph and its planned version, by dry runs in a simulation. It
/// comes with the gap of its placement ([`Placement::gap`]), if the planner placed its bootstraps.
///
/// # Errors
/// The errors of the steps.
pub(super) fn planned(
    graph: Graph,
    simulation: &Simulation,
) -> Result<(Graph, Option<f64>), Error> {
    // A loop has the same capacity in all rounds already.
    if graph.has_loops() {
        return Ok((graph, None));
    }
    let measured = Measured::of(&graph, simulation)?;
    if let Some((rewritten, again)) = improved(&graph, &measured, simulation)?
        && let Some(planned) = placed(&rewritten, &again, &measured, simulation)
    {
        let (planned, gap) = planned;
        return Ok((planned, Some(gap)));
    }
    Ok(match placed(&graph, &measured, &measured, simulation) {
        Some((planned, gap)) => (planned, Some(gap)),
        None => (graph, None),
    })
}

/// Returns the graph with a placement of bootstraps and with lowered inputs, if that is faster and
/// about as precise as the `recorded` graph, and the gap of the placement.
fn placed(
    graph: &Graph,
    measured: &Measured,
    recorded: &Measured,
    simulation: &Simulation,
) -> Option<(Graph, f64)> {
    let server = simulation.server();
    let reserve = server.bootstrap_reserve().zip(server.most_after_bootstrap());
    let can_bootstrap = reserve.is_some();
    let (reserve, most) = reserve.unwrap_or((0.0, 0.0));
    let mut best: Option<(Graph, f64)> = None;
    let mut limit = recorded.seconds;
    for margin in MARGINS {
        // Inputs and bootstraps provide the margin in addition to the needs.
        let with_margin = |node: &Node| Node { most: node.most - margin, ..node.clone() };
        let nodes: Vec<Node> = measured.nodes.iter().map(with_margin).collect();
        let of_outputs = CAPACITY_OF_OUTPUTS;
        let limits = Limits { reserve, most: most - margin, of_outputs };
        let Some(placement) = place(&nodes, limits) else { continue };
        let rebuilt = rebuilt(graph, measured, &placement, most, margin);
        let Ok(decided) = decided(rebuilt, simulation) else { continue };
        let Ok(again) = Measured::of(&decided, simulation) else { continue };
        if again.seconds < limit && again.is_as_precise_as(recorded, MAX_LOST_PRECISION) {
            limit = MAX_SHARE_OF_SMALLER_MARGIN * again.seconds;
            best = Some((decided, placement.gap()));
            // With too little margin, steps bootstrap by themselves.
            if !can_bootstrap || again.seconds < MAX_SHARE_OF_EXPECTED * placement.seconds {
                break;
            }
        }
    }
    best
}

/// Applies the rewrites that make the graph faster, and returns it with its measured costs. It is
/// `None` if there are none.
fn improved<'s>(
    graph: &Graph,
    recorded: &Measured,
    simulation: &'s Simulation,
) -> Result<Option<(Graph, Measured<'s>)>, Error> {
    let mut improved: Option<(Graph, Measured)> = None;
    for rule in RULES {
        let (graph, seconds) = match &improved {
            Some((graph, measured)) => (graph, measured.seconds),
            None => (graph, recorded.seconds),
        };
        let known = Known { graph, values: values_of(graph, simulation)? };
        let Some(rewritten) = rule(&known) else { continue };
        let Ok(decided) = decided(rewritten, simulation) else { continue };
        let Ok(again) = Measured::of(&decided, simulation) else { continue };
        // Planning changes the precision again.
        if again.seconds < MAX_SHARE_OF_REWRITTEN * seconds
            && again.is_as_precise_as(recorded, MAX_CHANGED_PRECISION)
        {
            improved = Some((decided, again));
        }
    }
    Ok(improved)
}

/// Returns the arrays of all values, without residues.
pub(super) fn values_of(graph: &Graph, simulation: &Simulation) -> Result<Vec<AnyArray>, Error> {
    let inputs = graph.inputs.iter().map(|spec| spec.stand_in(simulation, None));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let mut values = inputs.clone();
    run(graph, simulation.server(), inputs, |_, results| {
        values.extend_from_slice(results);
        true
    })?;
    Ok(values)
}

/// Returns the operands that a step bootstraps before anything else, by their places. There are none
/// if it also bootstraps later.
fn refreshed_operands(step: &Step) -> Vec<usize> {
    match &step.decisions[..] {
        [Decision::Candidate { bootstrapped, .. }, rest @ ..] if !rest.iter().any(bootstraps) => {
            (0..bootstrapped.len()).filter(|i| bootstrapped[*i]).collect()
        }
        _ => Vec::new(),
    }
}

/// True for a decision to bootstrap.
fn bootstraps(decision: &Decision) -> bool {
    match decision {
        Decision::Candidate { bootstrapped, .. } => bootstrapped.contains(&true),
        Decision::Circuit(count) => count.load(Ordering::Relaxed) > 0,
    }
}

/// Returns the seconds and the number of bootstraps of a simulation so far.
fn tally(simulation: &Simulation) -> (f64, u64) {
    let rlwe = simulation.server().session().context().rlwe();
    rlwe.read_tally(|tally| (tally.seconds(), tally.raises()))
}

fn capacity_of(array: &AnyArray, server: &Server) -> Option<f64> {
    match array {
        AnyArray::Numbers(array) => Some(Numbers::capacity_bits(server.session(), array)),
        _ => None,
    }
}

impl<'s> Measured<'s> {
    /// True if no output has lost more than this number of bits of precision.
    fn is_as_precise_as(&self, other: &Measured, lost: f64) -> bool {
        self.precisions.iter().zip(&other.precisions).all(|(own, other)| own + lost >= *other)
    }

    /// Runs the graph and measures every step.
    fn of(graph: &Graph, simulation: &'s Simulation) -> Result<Self, Error> {
        let inputs = graph.inputs.iter().map(|spec| spec.stand_in(simulation, None));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let mut measured = Measured {
            nodes: Vec::new(),
            capacities: Vec::new(),
            seconds: 0.0,
            precisions: Vec::new(),
            bootstraps: BTreeMap::new(),
            simulation,
        };
        let server = simulation.server();
        // Graphs are compared by their first runs.
        server.forget_maps();
        for input in &inputs {
            let capacity = capacity_of(input, server);
            measured.capacities.push(capacity);
            let bootstrap = measured.bootstrap_cost(input)?;
            measured.nodes.push(Node {
                inputs: Vec::new(),
                depth: Depth::Uses(0.0),
                seconds: Seconds::new(Vec::new()),
                most: capacity.unwrap_or(f64::INFINITY),
                bootstrap,
                is_output: false,
            });
        }
        let mut before = tally(simulation);
        let mut failed = None;
        let outputs = run(graph, server, inputs, |step, results| {
            let after = tally(simulation);
            let (seconds, bootstraps) = (after.0 - before.0, after.1 - before.1);
            measured.seconds += seconds;
            let added = measured.add_step(step, results, (seconds, bootstraps));
            // Bootstraps are measured beside the steps.
            before = tally(simulation);
            failed = added.err();
            failed.is_none()
        })
        .map_err(|error| failed.take().unwrap_or(error))?;
        let precision = |output: &AnyArray| match output {
            AnyArray::Numbers(array) => useful_precision(array, server),
            _ => f64::INFINITY,
        };
        measured.precisions = outputs.iter().map(precision).collect();
        for output in &graph.outputs {
            measured.nodes[*output].is_output = true;
        }
        Ok(measured)
    }

    /// Adds the results of a step that takes these seconds and bootstraps.
    fn add_step(
        &mut self,
        step: &Step,
        results: &[AnyArray],
        (seconds, bootstraps): (f64, u64),
    ) -> Result<(), Error> {
        let server = self.simulation.server();
        let refreshed = refreshed_operands(step);
        let (mut least, mut of_bootstraps) = (f64::INFINITY, 0.0);
        for (i, input) in step.inputs.iter().enumerate() {
            let Some(capacity) = self.capacities[*input] else { continue };
            least = match server.most_after_bootstrap().filter(|_| refreshed.contains(&i)) {
                Some(most) => {
                    let cost = self.nodes[*input].bootstrap.as_ref();
                    of_bootstraps += cost.map_or(0.0, |cost| cost.at(most));
                    least.min(most)
                }
                None => least.min(capacity),
            };
        }
        let seconds = (seconds - of_bootstraps).max(0.0);
        let is_reset = bootstraps > 0 && refreshed.is_empty();
        for result in results {
            let capacity = capacity_of(result, server);
            // An operation that bootstraps inside keeps its bootstraps, and needs their reserve.
            let (depth, most) = match capacity {
                Some(capacity) if is_reset => {
                    let reserve = server.bootstrap_reserve().unwrap_or(0.0);
                    (Depth::Needs(least.min(reserve)), capacity)
                }
                Some(capacity) => (Depth::Uses((least - capacity).max(0.0)), f64::INFINITY),
                None => (Depth::Uses(0.0), f64::INFINITY),
            };
            // The time of an operation grows with the modulus, which has some bits beside those of
            // the capacity.
            let beside = match result {
                AnyArray::Numbers(array) => modulus_bits(array, server) - capacity.unwrap_or(0.0),
                _ => 0.0,
            };
            let share = seconds / results.len() as f64;
            let at = |bits: f64| (bits, share * (bits + beside) / (least + beside).max(1.0));
            let seconds = match least.is_finite() {
                true => Seconds::new(vec![at(0.0), at(2.0 * least)]),
                false => Seconds::new(vec![(0.0, share)]),
            };
            let bootstrap = self.bootstrap_cost(result)?;
            let inputs = step.inputs.clone();
            self.capacities.push(capacity);
            self.nodes.push(Node { inputs, depth, seconds, most, bootstrap, is_output: false });
        }
        Ok(())
    }

    /// Returns the cost of a bootstrap of an array, or `None` if it cannot be bootstrapped.
    fn bootstrap_cost(&mut self, array: &AnyArray) -> Result<Option<Seconds>, Error> {
        let server = self.simulation.server();
        let (AnyArray::Numbers(array), Some(most)) = (array, server.most_after_bootstrap()) else {
            return Ok(None);
        };
        if Numbers::is_too_large(server, array) {
            return Ok(None);
        }
        let key = (array.bodies().len(), array.is_complex());
        if let Some(known) = self.bootstraps.get(&key) {
            return Ok(Some(known.clone()));
        }
        // Any array of this shape and interval has the same cost.
        let AnyArray::Numbers(example) = Spec::of_numbers(array).stand_in(self.simulation, None)?
        else {
            return Ok(None);
        };
        let before = tally(self.simulation);
        // The keys may be for fewer slots than the array has.
        if server.bootstrap(&example).is_err() {
            return Ok(None);
        }
        let cost = Seconds::new(vec![(most, tally(self.simulation).0 - before.0)]);
        self.bootstraps.insert(key, cost.clone());
        Ok(Some(cost))
    }
}

/// The precision of an array in bits, or minus infinity if its stated error is larger than all of
/// its values.
fn useful_precision(array: &EncryptedArray, server: &Server) -> f64 {
    let bits = array.precision_bits(server.session());
    if (-bits).exp2() < array.interval().bound() { bits } else { f64::NEG_INFINITY }
}

/// The largest size of the modulus of a ciphertext, in bits.
fn modulus_bits(array: &EncryptedArray, server: &Server) -> f64 {
    let parameters = server.session().context().rlwe().parameters();
    array.bodies().iter().map(|body| parameters.log2(body.modulus())).fold(0.0, f64::max)
}

/// Returns the graph with the bootstraps of a placement, with lowered inputs, and with the needs of
/// all values as the policies of the steps. Steps that have to decide have no decisions.
///
/// Operands of single steps are lowered further if that saves a notable share of the seconds.
fn rebuilt(
    graph: &Graph,
    measured: &Measured,
    placement: &Placement,
    most: f64,
    margin: f64,
) -> Graph {
    let mut rebuilt = Graph { inputs: graph.inputs.clone(), ..Graph::default() };
    // The new number of each value, and about the capacity that it has.
    let mut values: Vec<usize> = Vec::with_capacity(graph.values());
    let mut have: Vec<f64> = Vec::with_capacity(graph.values());
    for value in 0..graph.inputs.len() {
        let need = placement.needs[value] + margin;
        let capacity = measured.capacities[value].unwrap_or(f64::INFINITY);
        let is_lowered = capacity.is_finite() && need + MIN_LOWERED_BITS < capacity;
        let own = match is_lowered {
            true => rebuilt.append(Operation::Lower { capacity: need }, value, need),
            false => value,
        };
        values.push(rebuilt.refreshed(own, placement.bootstraps[value]));
        let own = if is_lowered { need } else { capacity };
        have.push(placement.bootstraps[value].map_or(own, |_| most));
    }
    for step in &graph.steps {
        let first = values.len();
        let needs = &placement.needs[first..first + step.results];
        let need = needs.iter().copied().fold(0.0, f64::max);
        let node = &measured.nodes[first];
        let of_operands = node.depth.of_operands(need) + margin;
        let least = step.inputs.iter().map(|value| have[*value]).fold(f64::INFINITY, f64::min);
        let saved = node.seconds.at(least) - node.seconds.at(of_operands);
        let is_lowered = least.is_finite()
            && of_operands + MIN_LOWERED_BITS < least
            && saved * step.results as f64 > MIN_SAVED_SHARE * measured.seconds;
        // An operand that occurs several times stays one value.
        let mut operands: BTreeMap<usize, usize> = BTreeMap::new();
        for value in &step.inputs {
            operands.entry(*value).or_insert_with(|| match is_lowered {
                true => {
                    let lower = Operation::Lower { capacity: of_operands };
                    rebuilt.append(lower, values[*value], of_operands)
                }
                false => values[*value],
            });
        }
        let inputs = step.inputs.iter().map(|value| operands[value]).collect();
        let policy = Policy { capacity: Some((need - TOLERANCE).max(0.0)), ..step.policy };
        let own = rebuilt.values();
        // Steps that bootstrap by themselves decide again.
        let decisions = match step.decisions.iter().any(bootstraps) {
            true => Vec::new(),
            false => step.decisions.clone(),
        };
        rebuilt.steps.push(Step { inputs, policy, decisions, ..step.clone() });
        let left = match node.depth {
            Depth::Uses(bits) => (if is_lowered { of_operands } else { least }) - bits,
            Depth::Needs(_) => node.most,
        };
        for i in 0..step.results {
            values.push(rebuilt.refreshed(own + i, placement.bootstraps[first + i]));
            have.push(placement.bootstraps[first + i].map_or(left, |_| most));
        }
    }
    rebuilt.outputs = graph.outputs.iter().map(|value| values[*value]).collect();
    rebuilt
}

impl Graph {
    /// Appends a step with one operand, whose result needs this capacity, and returns its result.
    fn append(&mut self, operation: Operation, from: usize, need: f64) -> usize {
        let policy = Policy { capacity: Some(need), ..Policy::default() };
        let (inputs, decisions) = (vec![from], Vec::new());
        let step =
            Step { operation, inputs, results: 1, policy, decisions, rests_on_sample: false };
        self.steps.push(step);
        self.values() - 1
    }

    /// Returns a value, after a bootstrap if it needs one.
    ///
    /// All bootstraps restore as much as possible, so that they share their encoded matrices.
    fn refreshed(&mut self, value: usize, need: Option<f64>) -> usize {
        match need {
            Some(need) => self.append(Operation::Bootstrap { capacity: None }, value, need),
            None => value,
        }
    }
}

/// Lets every step without decisions choose its candidates, and returns the graph with them.
pub(super) fn decided(mut graph: Graph, simulation: &Simulation) -> Result<Graph, Error> {
    let (server, log) = simulation.server().logged();
    let inputs = graph.inputs.iter().map(|spec| spec.stand_in(simulation, None));
    let mut values = inputs.collect::<Result<Vec<_>, _>>()?;
    for step in &mut graph.steps {
        let operands: Vec<&AnyArray> = step.inputs.iter().map(|value| &values[*value]).collect();
        let planned = (!step.decisions.is_empty()).then(|| {
            let planned = server.planned_with(step.policy, step.decisions.clone());
            step.operation.perform(&planned, &operands)
        });
        let results = match planned {
            Some(Ok(results)) => results,
            // There are no decisions, or the capacity is too small for them.
            _ => {
                drop(log.take());
                let own = server.with_policy(step.policy);
                let results = step.operation.perform(&own, &operands)?;
                step.decisions = log.take();
                results
            }
        };
        values.extend(results);
    }
    Ok(graph)
}

#[cfg(test)]
mod tests;
