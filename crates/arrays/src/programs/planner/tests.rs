//! Placements of bootstraps against exhaustive search, judged by dry runs of the planned graphs.

use hippocrene_ring::primes;
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

use super::*;
use crate::{
    Bootstrapping, KeyRequest, Settings,
    programs::{
        placement::tests::placement_of, plain::PlainNumber, recorder::Recorder, spec::SpecKind,
    },
};

/// The number of random graphs. The search for each runs for about a second.
const GRAPHS: u32 = 10;

/// Placements are run if the planner expects at most this multiple of the seconds of its best one
/// (chosen). The expected seconds of a placement and those of its dry run differ by less.
const MAX_EXPECTED_SHARE: f64 = 1.25;

/// Returns a recorder with ring degree `2^9` and a bootstrap. Insecure.
fn recorder() -> Recorder {
    let degree = 1 << 9;
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 9,
        units: primes::ntt_primes(48, degree, 22, &[]).unwrap(),
        specials: primes::ntt_primes(49, degree, 5, &[]).unwrap(),
        sprout: Sprout::for_degree(9).unwrap(),
        gadget_rank: 6,
        secret: SecretDistribution::SparseTernary { weight: 64 },
    });
    let settings = Settings::new(parameters.unwrap(), 34.0).unwrap();
    let bootstrapping = Some(Bootstrapping::default());
    Recorder::new(settings, &KeyRequest { bootstrapping, ..KeyRequest::only([]) }, None).unwrap()
}

/// A random value: an operation by number, and the values that it computes from.
type Drawn = (usize, prop::sample::Index, prop::sample::Index);

/// Records operations that map [-1, 1] to [-1, 1], of different depths. Values are used any number
/// of times, so that branches join again. The last value is an output, and every value that nothing
/// uses.
fn recorded(recorder: &Recorder, drawn: &[Drawn]) -> Result<Graph, Error> {
    let spec = Spec::new(SpecKind::Numbers, vec![8], Some((-1.0, 1.0)))?;
    let mut values = vec![recorder.input("x", spec, None)?];
    let mut used = vec![false];
    let perform = |operation, inputs: &[usize]| -> Result<usize, Error> {
        Ok(recorder.perform(recorder.server(), operation, inputs)?[0])
    };
    for (kind, first, second) in drawn {
        let (i, j) = (first.index(values.len()), second.index(values.len()));
        let (a, b) = (values[i], values[j]);
        let chebyshev = |degree: usize| {
            let mut coefficients = vec![0.0; degree + 1];
            (coefficients[degree], coefficients[1]) = (0.75, 0.25);
            Operation::Polynomial { coefficients, chebyshev: Some((-1.0, 1.0)) }
        };
        (used[i], used[j]) = (true, used[j] || [0, 2].contains(kind));
        values.push(match kind {
            0 => perform(Operation::Mul, &[a, b])?,
            2 => {
                let sum = perform(Operation::Add, &[a, b])?;
                perform(Operation::MulNumber(PlainNumber::Real(0.5)), &[sum])?
            }
            1 => perform(chebyshev(31), &[a])?,
            3 => perform(chebyshev(127), &[a])?,
            _ => perform(chebyshev(511), &[a])?,
        });
        used.push(false);
    }
    let outputs = values.iter().zip(&used).filter(|(_, used)| !**used).map(|(value, _)| *value);
    recorder.graph(&outputs.collect::<Vec<_>>())
}

/// Returns the least seconds of the dry runs of all placements, and the number of cut points.
fn exhaustive(graph: &Graph, measured: &Measured, simulation: &Simulation) -> (f64, usize) {
    let server = simulation.server();
    let (reserve, most) =
        (server.bootstrap_reserve().unwrap(), server.most_after_bootstrap().unwrap());
    let points: Vec<usize> =
        (0..measured.nodes.len()).filter(|i| measured.nodes[*i].bootstrap.is_some()).collect();
    let mut least = measured.seconds;
    for margin in MARGINS {
        let limits = Limits { reserve, most: most - margin, of_outputs: CAPACITY_OF_OUTPUTS };
        let with_margin = |node: &Node| Node { most: node.most - margin, ..node.clone() };
        let nodes: Vec<Node> = measured.nodes.iter().map(with_margin).collect();
        let placements = (0..1usize << points.len()).filter_map(|bits| {
            let mut chosen = vec![false; nodes.len()];
            points.iter().enumerate().for_each(|(i, point)| chosen[*point] = bits >> i & 1 == 1);
            placement_of(&nodes, limits, &chosen)
        });
        let mut placements: Vec<Placement> = placements.collect();
        placements.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let expected = placements.first().map_or(0.0, |best| best.seconds);
        for placement in placements {
            if placement.seconds > MAX_EXPECTED_SHARE * expected {
                break;
            }
            let rebuilt = rebuilt(graph, measured, &placement, most, margin);
            let Ok(decided) = decided(rebuilt, simulation) else { continue };
            let Ok(again) = Measured::of(&decided, simulation) else { continue };
            if again.is_as_precise_as(measured, MAX_LOST_PRECISION) {
                least = least.min(again.seconds);
            }
        }
    }
    (least, points.len())
}

#[test]
fn placements_are_within_a_hundredth_of_exhaustive_search() {
    let index = any::<prop::sample::Index>;
    let graphs = prop::collection::vec((0..6usize, index(), index()), 3..9);
    // The same graphs in every run. The planner promises no more than a few hundredths.
    let config = ProptestConfig { cases: GRAPHS, ..ProptestConfig::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let within = runner.run(&graphs, |drawn| {
        let recorder = recorder();
        let graph = recorded(&recorder, &drawn).unwrap();
        let simulation = recorder.simulation();
        let measured = Measured::of(&graph, simulation).unwrap();
        let planned = placed(&graph, &measured, &measured, simulation);
        let seconds = match &planned {
            Some((planned, _)) => Measured::of(planned, simulation).unwrap().seconds,
            None => measured.seconds,
        };
        let (least, points) = exhaustive(&graph, &measured, simulation);
        prop_assert!(seconds <= 1.01 * least, "{seconds} s and {least} s, {points} cut points");
        Ok(())
    });
    within.unwrap();
}
