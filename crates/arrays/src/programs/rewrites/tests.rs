//! Tests of rewrites: every rule keeps the results of random graphs.

use hippocrene_ring::primes;
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
use proptest::prelude::*;

use super::{Known, RULES};
use crate::{
    Application, Error, KeyRequest, Numbers, Settings, Simulation,
    programs::{
        any::{AnyArray, AnyKind},
        operation::{Graph, Operation},
        plain::{Plain, PlainNumber},
        planner::{decided, values_of},
        recorder::Recorder,
        run::run,
        spec::{Spec, SpecKind},
    },
};

const SHAPE: [usize; 2] = [6, 4];
const SIZE: usize = 24;

/// Returns a recorder with ring degree `2^8` and 900 bits of capacity. Insecure.
fn recorder() -> Recorder {
    let degree = 1 << 8;
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 8,
        units: primes::ntt_primes(48, degree, 20, &[]).unwrap(),
        specials: primes::ntt_primes(49, degree, 3, &[]).unwrap(),
        sprout: Sprout::for_degree(8).unwrap(),
        gadget_rank: 7,
        secret: SecretDistribution::Ternary,
    });
    let settings = Settings::at_scale(parameters.unwrap(), 40).unwrap();
    Recorder::new(settings, &KeyRequest::only([]), None).unwrap()
}

/// Performs operations as in the pattern of a rule on matrices `a` and `b` and on a `row`, and
/// returns results.
fn performed(
    recorder: &Recorder,
    kind: usize,
    [a, b, row]: [usize; 3],
    seed: usize,
) -> Result<Vec<usize>, Error> {
    let perform = |operation, inputs: &[usize]| -> Result<usize, Error> {
        Ok(recorder.perform(recorder.server(), operation, inputs)?[0])
    };
    let product = |rows: usize, columns: usize, seed: usize| {
        let entry = |i: usize| ((i * 37 + seed * 11) % 17) as f64 / 40.0 - 0.2;
        let matrix = Plain::Reals((0..rows * columns).map(entry).collect());
        Operation::MatmulPlain { matrix, columns }
    };
    let gather = |stride: usize| {
        let place = |i: usize| (i * (2 * stride + 1) + stride) % (2 * SIZE);
        let places = (0..SIZE).map(|i| (i % 7 != 3).then(|| place(i))).collect();
        Operation::Gather { shape: SHAPE.to_vec(), places }
    };
    let tanh = || Operation::ApplyNamed { name: "tanh".into(), how: Application::default() };
    Ok(match kind {
        0 => vec![perform(Operation::Add, &[a, b])?],
        1 => {
            let (p, q) = (perform(Operation::Mul, &[a, b])?, perform(Operation::Mul, &[b, b])?);
            vec![perform(Operation::Add, &[p, q])?]
        }
        2 => {
            let moved = perform(gather(seed), &[a, b])?;
            vec![perform(gather(seed + 1), &[moved, a])?]
        }
        3 => {
            let [first, second] = [seed, seed + 1].map(|seed| product(4, 4, seed));
            vec![perform(first, &[a])?, perform(second, &[a])?]
        }
        4 => vec![perform(tanh(), &[a])?, perform(tanh(), &[b])?],
        5 => {
            let first = perform(Operation::Sum { axis: Some(1) }, &[a])?;
            let second = perform(Operation::Sum { axis: Some(1) }, &[b])?;
            let first = perform(Operation::Sub, &[first, row])?;
            let second = perform(Operation::Mul, &[second, row])?;
            let sum = perform(Operation::Add, &[first, second])?;
            let column = perform(Operation::InsertAxis { axis: 1 }, &[sum])?;
            vec![perform(Operation::BroadcastTo { shape: SHAPE.to_vec() }, &[column])?]
        }
        6 => {
            let wide = perform(product(4, 12, seed), &[a])?;
            let half = perform(Operation::MulNumber(PlainNumber::Real(0.5)), &[wide])?;
            let narrow = perform(product(12, 4, seed), &[perform(tanh(), &[half])?])?;
            vec![narrow]
        }
        _ => vec![perform(Operation::MulNumber(PlainNumber::Real(0.25)), &[a])?],
    })
}

/// The values of the outputs of a graph, by a dry run that follows the values of its inputs.
fn outputs(graph: &Graph, simulation: &Simulation) -> Vec<Vec<f64>> {
    let inputs = graph.inputs.iter().enumerate().map(|(k, spec)| {
        let size = spec.shape.iter().product();
        let value = |i: usize| ((i * (7 + k) + k) % 19) as f64 / 9.5 - 1.0;
        let sample: Vec<f64> = (0..size).map(value).collect();
        spec.stand_in(simulation, Some(&sample)).unwrap()
    });
    let found = run(graph, simulation.server(), inputs.collect(), |_, _| true).unwrap();
    let values = |array: &AnyArray| simulation.values(Numbers::of(array).unwrap()).unwrap();
    found.iter().map(|array| values(array).iter().map(|z| z.re).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rewritten_graphs_have_the_same_results(
        steps in prop::collection::vec((0usize..8, any::<prop::sample::Index>(),
            any::<prop::sample::Index>(), 0usize..9), 2..9),
    ) {
        let recorder = recorder();
        let input = |name: &str, shape: &[usize]| {
            let spec = Spec::new(SpecKind::Numbers, shape.to_vec(), Some((-1.0, 1.0))).unwrap();
            recorder.input(name, spec, None).unwrap()
        };
        let mut values = vec![input("x", &SHAPE), input("y", &SHAPE)];
        let row = input("row", &SHAPE[..1]);
        for (kind, a, b, seed) in steps {
            let operands = [*a.get(&values), *b.get(&values), row];
            // Capacity may run out.
            if let Ok(results) = performed(&recorder, kind, operands, seed) {
                values.extend(results);
            }
        }
        let last = &values[values.len().saturating_sub(3)..];
        let mut graph = recorder.graph(last).unwrap();
        let simulation = recorder.simulation();
        for rule in RULES {
            let known = Known { graph: &graph, values: values_of(&graph, simulation).unwrap() };
            let Some(rewritten) = rule(&known) else { continue };
            prop_assert!(rewritten.check().is_ok());
            let Ok(rewritten) = decided(rewritten, simulation) else { continue };
            let (before, after) = (outputs(&graph, simulation), outputs(&rewritten, simulation));
            prop_assert_eq!(before.len(), after.len());
            for (before, after) in before.iter().zip(&after) {
                prop_assert_eq!(before.len(), after.len());
                let largest = before.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                for (x, y) in before.iter().zip(after) {
                    // Functions of other intervals have other polynomials.
                    prop_assert!((x - y).abs() <= 0.02 * largest, "{x} became {y}");
                }
            }
            graph = rewritten;
        }
    }
}
