//! Private decision trees find the leaves of plain trees. Outputs are as precise, and comparisons
//! as certain, as stated.

use hippocrene_fhew::{LweParameters, Preset, RotationGadget, RotationParameters};
use hippocrene_pegasus::{
    DecisionTree, FeatureRanges, PegasusError, PreparedTreeKeys, SwitchingDigits, TreeKeys,
    TreeModel, TreeNode, TreeParameters, TreePlan, TreeSecrets,
};
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Noise, SecretDistribution};
use proptest::prelude::*;

/// Returns insecure parameters. The secret of the input has a fixed weight, so errors are the same
/// for all keys.
fn insecure(dimension: usize, degree: usize) -> TreeParameters {
    let weight = dimension * 2 / 3;
    let secret = SecretDistribution::SparseTernary { weight };
    let q = ntt_primes(26, dimension, 1, &[]).unwrap()[0];
    let input = LweParameters::insecure(dimension, q, secret).unwrap();
    let q = ntt_primes(48, degree, 1, &[]).unwrap()[0];
    let ring = LweParameters::insecure(degree, q, SecretDistribution::Ternary).unwrap();
    let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
    let rotation = RotationParameters::insecure(input, ring, gadget).unwrap();
    TreeParameters::new(rotation, SwitchingDigits { base_log2: 2, count: 12 })
}

struct Client {
    secrets: TreeSecrets,
    server: PreparedTreeKeys,
}

impl Client {
    fn new(parameters: TreeParameters) -> Self {
        let secrets = TreeSecrets::generate(parameters).unwrap();
        let server = TreeKeys::generate(&secrets).unwrap().prepare(&Threads::single()).unwrap();
        Client { secrets, server }
    }

    fn results(&self, model: &TreeModel, plan: &TreePlan, rows: &[f64]) -> Vec<f64> {
        let query = self.secrets.encrypt(model.ranges(), rows).unwrap();
        let reply = self.server.evaluate(plan, &query, &Threads::single(), &mut |_, _| ()).unwrap();
        assert_eq!(reply.values()[0].parameters().modulus(), plan.reply_modulus());
        self.secrets.decrypt(&reply).unwrap()
    }
}

fn split(feature: usize, threshold: f64, left: usize, right: usize) -> TreeNode {
    TreeNode::Split { feature, threshold, digits: 1, left, right }
}

fn leaf(values: &[f64]) -> TreeNode {
    TreeNode::Leaf { values: values.to_vec() }
}

/// Returns a model of one tree on features from 0 to 10.
fn model(features: usize, nodes: Vec<TreeNode>, deviation: f64) -> TreeModel {
    let ranges = FeatureRanges::new(vec![(0.0, 10.0); features]).unwrap();
    TreeModel::new(ranges, vec![DecisionTree::new(nodes).unwrap()], deviation).unwrap()
}

/// Returns a chain. Its class is the first `i` whose feature `i % features` is above its threshold.
fn chain(features: usize, count: usize) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    for i in 0..count {
        nodes.push(split(i % features, (5 - i / features) as f64, 2 * i + 2, 2 * i + 1));
        nodes.push(leaf(&[i as f64]));
    }
    nodes.push(leaf(&[count as f64]));
    nodes
}

/// Returns a random tree with integer thresholds. The words determine the splits and their
/// features.
fn random_tree(words: &[u64], features: usize, outputs: usize) -> DecisionTree {
    let mut nodes = vec![leaf(&[])];
    let mut open = vec![0];
    for (i, word) in words.iter().enumerate() {
        if open.is_empty() {
            break;
        }
        let node = open.swap_remove((word >> 8) as usize % open.len());
        let last = i + open.len() + 2 >= words.len();
        if word % 5 == 0 || last {
            nodes[node] = leaf(&values(*word, outputs));
            continue;
        }
        let children = nodes.len();
        nodes.extend([leaf(&[]), leaf(&[])]);
        let (feature, threshold) = ((word >> 16) as usize % features, 1 + (word >> 24) % 9);
        nodes[node] = split(feature, threshold as f64, children, children + 1);
        open.extend([children, children + 1]);
    }
    for node in open {
        nodes[node] = leaf(&values(node as u64, outputs));
    }
    DecisionTree::new(nodes).unwrap()
}

fn values(word: u64, outputs: usize) -> Vec<f64> {
    (0..outputs).map(|i| (word >> (32 + 4 * i) & 3) as f64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn leaves_are_those_of_plain_trees(
        words in prop::collection::vec(any::<u64>(), 1..40),
        trees in 1usize..4,
        features in 1usize..6,
        outputs in 1usize..4,
        rows in prop::collection::vec(0u8..10, 15),
    ) {
        let client = Client::new(insecure(16, 512));
        let trees = (0..trees)
            .map(|i| random_tree(&words[i * words.len() / trees..], features, outputs))
            .collect();
        let ranges = FeatureRanges::new(vec![(0.0, 10.0); features]).unwrap();
        let model = TreeModel::new(ranges, trees, 0.01).unwrap();
        let plan = TreePlan::new(&model, client.secrets.parameters()).unwrap();
        prop_assert!(plan.log2_failure_probability() < -25.0 && plan.deviation() <= 0.01);
        // The values are between thresholds.
        let rows: Vec<f64> =
            rows[..15 / features * features].iter().map(|x| f64::from(*x) + 0.5).collect();
        let results = client.results(&model, &plan, &rows);
        for (row, got) in rows.chunks(features).zip(results.chunks(outputs)) {
            for (got, expected) in got.iter().zip(model.evaluate(row).unwrap()) {
                prop_assert!(
                    (got - expected).abs() < 0.1,
                    "{row:?}: {got} for {expected}, \
                                                            {plan:?}"
                );
            }
        }
    }
}

/// A tree of few thresholds is one block. A chain of many thresholds needs several blocks, with no
/// more states than can be distinguished.
#[test]
fn blocks_are_as_large_as_certainty_allows() {
    let parameters = insecure(16, 512);
    let plan =
        |features, count| TreePlan::new(&model(features, chain(features, count), 0.07), parameters);
    let small = plan(4, 4).unwrap();
    assert_eq!((small.compared(), small.blocks()), (4, 1));
    let large = plan(8, 24).unwrap();
    assert_eq!(large.compared(), 8);
    assert!((2..=24).contains(&large.blocks()), "{}", large.blocks());
    // Fewer states are more certain.
    assert!(small.log2_failure_probability() < large.log2_failure_probability());
    assert!(large.log2_failure_probability() < -25.0);
    let error = plan(60, 60).unwrap_err().to_string();
    assert!(
        error.contains("plan decision trees: a path asks for ") && error.contains("told apart"),
        "{error}"
    );

    // Splits that earlier splits decide, and splits that lead to one value, cost nothing.
    let nodes = vec![
        split(0, 3.0, 1, 2),
        split(0, 4.0, 3, 4),
        split(1, 10.0, 5, 6),
        leaf(&[1.0]),
        leaf(&[7.0]),
        split(2, 5.0, 7, 8),
        leaf(&[9.0]),
        leaf(&[2.0]),
        leaf(&[2.0]),
    ];
    let ranges = FeatureRanges::new(vec![(0.0, 10.0); 3]).unwrap();
    let clamped =
        TreeModel::clamped(ranges, vec![DecisionTree::new(nodes).unwrap()], 0.05).unwrap();
    let plan = TreePlan::new(&clamped, parameters).unwrap();
    assert_eq!((plan.compared(), plan.blocks()), (1, 1));
    let plan = TreePlan::new(&model(1, vec![leaf(&[3.0])], 0.05), parameters).unwrap();
    assert_eq!((plan.compared(), plan.blocks()), (0, 0));
}

/// Returns a split that compares `digits` digits.
fn fine_split(
    feature: usize,
    threshold: f64,
    digits: usize,
    left: usize,
    right: usize,
) -> TreeNode {
    TreeNode::Split { feature, threshold, digits, left, right }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Rows at the margin on either side of a threshold, and at the ends of the range.
    #[test]
    fn rows_at_the_margin_are_on_the_right_side(
        thresholds in prop::collection::vec((0usize..2, 0.0f64..10.0, 1usize..=5), 1..8),
    ) {
        let client = Client::new(insecure(16, 2048));
        let parameters = client.secrets.parameters();
        prop_assert_eq!(parameters.digits(), 5);
        let mut nodes = Vec::new();
        for (i, (feature, threshold, digits)) in thresholds.iter().enumerate() {
            nodes.push(fine_split(*feature, *threshold, *digits, 2 * i + 1, 2 * i + 2));
            nodes.push(leaf(&[i as f64]));
        }
        nodes.push(leaf(&[thresholds.len() as f64]));
        let model = model(2, nodes, TreeModel::CLASSES);
        // Two thresholds with the same position are refused.
        let plan = TreePlan::new(&model, parameters);
        prop_assume!(plan.is_ok());
        let plan = plan.unwrap();
        prop_assert!(plan.log2_failure_probability() < -25.0);
        let certain =
            |digits: usize| 10.0 * (parameters.margin() + 1.0) * parameters.resolution(digits);
        let mut rows = vec![[0.0, 0.0], [10.0, 10.0], [0.0, 10.0], [10.0, 0.0]];
        for (feature, threshold, digits) in &thresholds {
            for value in [threshold - certain(*digits), threshold + certain(*digits)] {
                let mut row = [5.0, 5.0];
                row[*feature] = value.clamp(0.0, 10.0);
                rows.push(row);
            }
        }
        let far = |row: &[f64; 2]| {
            thresholds.iter().all(|(feature, threshold, digits)| {
                (row[*feature] - threshold).abs() > 0.999 * certain(*digits)
            })
        };
        rows.retain(far);
        prop_assume!(!rows.is_empty());
        let results = client.results(&model, &plan, &rows.concat());
        for (row, got) in rows.iter().zip(results) {
            prop_assert_eq!(
                got.round(),
                model.evaluate(row).unwrap()[0],
                "{:?} {:?}",
                row,
                thresholds
            );
        }
    }
}

/// There is one rotation for each digit of a feature that is compared, and one more for each digit
/// of a threshold after the first.
#[test]
fn rotations_are_those_of_the_digits_that_are_compared() {
    let parameters = insecure(16, 2048);
    let counts = |digits: [usize; 3]| {
        let nodes = vec![
            fine_split(0, 2.0, digits[0], 1, 2),
            leaf(&[0.0]),
            fine_split(0, 7.0, digits[1], 3, 4),
            leaf(&[1.0]),
            fine_split(1, 5.0, digits[2], 5, 6),
            leaf(&[2.0]),
            leaf(&[3.0]),
        ];
        let plan = TreePlan::new(&model(2, nodes, TreeModel::CLASSES), parameters)?;
        Ok::<_, PegasusError>((plan.compared(), plan.combined()))
    };
    for (digits, expected) in
        [([1, 1, 1], (2, 0)), ([3, 1, 1], (4, 2)), ([3, 2, 5], (8, 7)), ([5, 5, 5], (10, 12))]
    {
        assert_eq!(counts(digits).unwrap(), expected, "{digits:?}");
    }
    let error = counts([1, 6, 1]).unwrap_err().to_string();
    assert!(error.contains("6 digits of feature 0 are compared, where queries have 5"), "{error}");
    // Rings with too few positions have one digit.
    assert_eq!((insecure(16, 512).digits(), insecure(16, 1024).digits()), (1, 1));
}

/// A feature that is one stated deviation from a threshold ends up on the wrong side in 16 of 100
/// rows. At 7 deviations this never happens.
#[test]
fn comparisons_are_as_certain_as_stated() {
    let client = Client::new(insecure(32, 512));
    let model = model(1, vec![split(0, 5.0, 1, 2), leaf(&[0.0]), leaf(&[1.0])], TreeModel::CLASSES);
    let plan = TreePlan::new(&model, client.secrets.parameters()).unwrap();
    let deviation = 10.0 * client.secrets.parameters().comparison_deviation(1);
    // The threshold is in the middle between position 256 and the next one.
    let position = 10.0 / (512.0 * 15.0 / 16.0);
    let wrong = |offset: f64, count: usize| {
        // The values are spread over a position, so that their rounding errors differ.
        let feature = |i: usize| 5.0 + offset + position * (i as f64 + 0.5) / count as f64;
        let rows: Vec<f64> = (0..count).map(feature).collect();
        let results = client.results(&model, &plan, &rows);
        let wrong = results.iter().filter(|x| (x.round() > 0.5) != (offset > 0.0)).count();
        wrong as f64 / count as f64
    };
    let all = (wrong(deviation, 800) + wrong(-deviation, 800)) / 2.0;
    // The tolerance is 7 standard deviations of a count of 1600.
    assert!((all - 0.159).abs() < 7.0 * (0.159f64 * 0.841 / 1600.0).sqrt() + 0.01, "{all}");
    assert_eq!((wrong(7.0 * deviation, 200), wrong(-7.0 * deviation, 200)), (0.0, 0.0));
}

/// Thresholds that are close in the range, but far apart in the ranks of a sample, are
/// distinguished.
#[test]
fn ranges_of_a_sample_separate_dense_values() {
    let client = Client::new(insecure(16, 512));
    let sample: Vec<f64> = (0..1000).map(|i| (f64::from(i) / 1000.0).powi(8)).collect();
    let at = |share: f64| share.powi(8);
    let nodes = vec![
        split(0, at(0.3), 1, 2),
        leaf(&[0.0]),
        split(0, at(0.5), 3, 4),
        leaf(&[1.0]),
        leaf(&[2.0]),
    ];
    let ranges = FeatureRanges::of_sample(1, &sample).unwrap();
    let model = |ranges| {
        TreeModel::new(ranges, vec![DecisionTree::new(nodes.clone()).unwrap()], 0.05).unwrap()
    };
    let rows: Vec<f64> = [0.1, 0.2, 0.4, 0.6, 0.9].map(at).repeat(4);
    let results = |model: &TreeModel| {
        let plan = TreePlan::new(model, client.secrets.parameters()).unwrap();
        client.results(model, &plan, &rows).iter().map(|x| x.round()).collect::<Vec<_>>()
    };
    let mapped = model(ranges);
    let plain: Vec<f64> = rows.iter().map(|x| mapped.evaluate(&[*x]).unwrap()[0]).collect();
    assert_eq!(results(&mapped), plain);
    assert_ne!(results(&model(FeatureRanges::new(vec![(0.0, 1.0)]).unwrap())), plain);
}

/// Rows are clamped to their ranges, so a split at an end or beyond would send all rows to one
/// side.
#[test]
fn splits_outside_ranges_are_refused() {
    let tree = |threshold| {
        DecisionTree::new(vec![split(1, threshold, 1, 2), leaf(&[0.0]), leaf(&[1.0])]).unwrap()
    };
    let ranges = FeatureRanges::new(vec![(0.0, 1.0), (-2.0, 3.0)]).unwrap();
    let new = |threshold| TreeModel::new(ranges.clone(), vec![tree(0.5), tree(threshold)], 0.05);
    for threshold in [3.0, 7.5, -2.5] {
        let error = new(threshold).unwrap_err().to_string();
        let told = format!(
            "feature 1 is split at {threshold}, outside its range from -2 to 3. Widen the range"
        );
        assert!(error.contains(&told), "{error}");
    }
    let parameters = insecure(16, 512);
    for threshold in [-2.0, 0.0, 2.9] {
        let model = new(threshold).unwrap();
        assert_eq!(TreePlan::new(&model, parameters).unwrap().compared(), 1);
    }
    for (threshold, value) in [(3.0, 0.0), (-2.5, 1.0)] {
        let model = TreeModel::clamped(ranges.clone(), vec![tree(threshold)], 0.05).unwrap();
        let plan = TreePlan::new(&model, parameters).unwrap();
        assert_eq!(plan.compared(), 0);
        let client = Client::new(parameters);
        let results = client.results(&model, &plan, &[0.0, -100.0, 0.0, 100.0]);
        assert!(results.iter().all(|x| (x - value).abs() < 0.5), "{results:?}");
    }
}

/// Two thresholds of one path with the same position are refused.
#[test]
fn splits_that_would_vanish_are_refused() {
    let parameters = insecure(16, 512);
    let path = |first, second| {
        let nodes = vec![
            split(0, first, 1, 2),
            leaf(&[0.0]),
            split(0, second, 3, 4),
            leaf(&[1.0]),
            leaf(&[2.0]),
        ];
        model(1, nodes, 0.05)
    };
    let plan = |model: &TreeModel| TreePlan::new(model, parameters);
    // The width of a position is 10/480.
    for (first, second, other) in [(5.001, 5.002, 5.001), (0.0, 0.01, 0.0)] {
        let error = plan(&path(first, second)).unwrap_err().to_string();
        let told =
            format!("feature 0 is split at {second} and bounded by {other}. These tables cannot");
        assert!(error.contains(&told), "{error}");
    }
    plan(&path(5.0, 5.03)).unwrap();
    // A split that earlier thresholds decide does not count as vanishing.
    plan(&path(5.0, 4.999)).unwrap();
    plan(&path(5.0, 5.0)).unwrap();
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// The errors of outputs agree with those that the plan states, with and without rounding of the
/// reply, for several keys.
#[test]
fn outputs_are_as_precise_as_stated() {
    let nodes = chain(4, 12);
    for outputs in [1, 2] {
        let of = |node: TreeNode| match node {
            TreeNode::Leaf { values } => leaf(&[values[0], 12.0 - values[0]][..outputs]),
            split => split,
        };
        let nodes: Vec<TreeNode> = nodes.clone().into_iter().map(of).collect();
        let parameters = insecure(32, 512);
        let possible = match TreePlan::new(&model(4, nodes.clone(), 1e-12), parameters) {
            Err(PegasusError::Argument { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        let possible: f64 = possible.split([' ', ',']).nth_back(2).unwrap().parse().unwrap();
        // The best possible deviation is accepted.
        let any = TreePlan::new(
            &model(4, nodes.clone(), 1e-12).with_best_possible_deviation(),
            parameters,
        )
        .unwrap();
        assert!((any.deviation() / possible - 1.0).abs() < 0.01);
        // Outputs that share a look-up are less precise than outputs with look-ups of their own.
        let rotations = |wanted| {
            TreePlan::new(&model(4, nodes.clone(), wanted), parameters).unwrap().look_ups()
        };
        assert_eq!((rotations(0.5), any.look_ups()), (any.blocks(), outputs * any.blocks()));
        for wanted in [0.07, 1.5 * possible] {
            let model = model(4, nodes.clone(), wanted);
            let plan = TreePlan::new(&model, parameters).unwrap();
            assert!(plan.deviation() <= wanted);
            let mut errors = Vec::new();
            for _ in 0..6 {
                let client = Client::new(parameters);
                let rows: Vec<f64> =
                    (0..30).flat_map(|i| [0.5, 1.5, 0.5, 8.5 - f64::from(i % 8)]).collect();
                let results = client.results(&model, &plan, &rows);
                for (row, got) in rows.chunks(4).zip(results.chunks(outputs)) {
                    errors.extend(got.iter().zip(model.evaluate(row).unwrap()).map(|(x, y)| x - y));
                }
            }
            let (measured, stated) = (rms(&errors), plan.deviation());
            // If several outputs share a look-up, the largest deviation is stated.
            let least = if plan.look_ups() == outputs * plan.blocks() { 1.5 } else { 4.0 };
            assert!(
                measured < 1.5 * stated && stated < least * measured,
                "{outputs} {wanted}: {measured} {stated}"
            );
        }
    }
}

#[test]
fn threads_give_the_same_bits() {
    let client = Client::new(insecure(32, 512));
    let model = model(8, chain(8, 24), TreeModel::CLASSES);
    let plan = TreePlan::new(&model, client.secrets.parameters()).unwrap();
    let rows: Vec<f64> = (0..64).map(|i| f64::from(i * 7 % 10) + 0.5).collect();
    let query = client.secrets.encrypt(model.ranges(), &rows).unwrap();
    let one = client.server.evaluate(&plan, &query, &Threads::single(), &mut |_, _| ()).unwrap();
    assert_eq!(
        one,
        client.server.evaluate(&plan, &query, &Threads::new(2).unwrap(), &mut |_, _| ()).unwrap()
    );
    assert_eq!((query.rows(), one.rows(), one.outputs()), (8, 8, 1));
}

/// Three classes with the default security. The query has a seed and 12 bits for each coefficient,
/// and the reply has 1024 numbers of 8 bits.
#[test]
fn models_run_with_secure_parameters() {
    let parameters = TreeParameters::of(&Preset::by_name("lut11").unwrap());
    let rotation = parameters.rotation();
    RotationParameters::new(rotation.input(), rotation.ring(), rotation.gadget()).unwrap();
    let client = Client::new(parameters);
    let nodes = vec![
        split(3, 2.5, 1, 2),
        leaf(&[0.0]),
        split(3, 6.5, 3, 4),
        split(2, 7.0, 5, 6),
        leaf(&[2.0]),
        leaf(&[1.0]),
        leaf(&[2.0]),
    ];
    let model = model(4, nodes, TreeModel::CLASSES);
    let plan = TreePlan::new(&model, parameters).unwrap();
    assert_eq!((plan.compared(), plan.blocks(), plan.reply_modulus()), (2, 1, 256));
    assert!(
        plan.log2_failure_probability() < -30.0 && parameters.comparison_deviation(1) < 1.0 / 250.0
    );
    let rows = [
        [1.0, 2.0, 3.0, 1.0],
        [-90.0, 1e300, 4.0, 5.0],
        [5.0, 5.0, 9.0, 5.0],
        [0.0, 0.0, 1.0, 9.0],
    ];
    let results = client.results(&model, &plan, &rows.concat());
    for (row, result) in rows.iter().zip(results) {
        assert_eq!(result.round(), model.evaluate(row).unwrap()[0], "{row:?}: {result}");
        assert!((result - result.round()).abs() < 0.5);
    }
}

#[test]
fn invalid_trees_models_and_queries_are_refused() {
    let tree = |nodes: Vec<TreeNode>| DecisionTree::new(nodes).unwrap_err().to_string();
    assert!(tree(vec![]).contains("there are no nodes"));
    assert!(tree(vec![leaf(&[])]).contains("at least one value"));
    assert!(tree(vec![split(0, 1.0, 0, 1), leaf(&[1.0])]).contains("node 0 of 2 leads to 0"));
    assert!(tree(vec![split(0, 1.0, 1, 1), leaf(&[1.0])]).contains("two nodes lead to node 1"));
    assert!(tree(vec![split(0, 1.0, 1, 5), leaf(&[1.0])]).contains("leads to 5"));
    assert!(tree(vec![leaf(&[1.0]), leaf(&[1.0])]).contains("no node before it leads to node 1"));
    assert!(
        tree(vec![split(0, f64::NAN, 1, 2), leaf(&[1.0]), leaf(&[1.0])])
            .contains("threshold of node 0")
    );
    assert!(
        tree(vec![split(0, 1.0, 1, 2), leaf(&[1.0]), leaf(&[])]).contains("leaf 2 has 0 values")
    );
    assert!(
        tree(vec![fine_split(0, 1.0, 0, 1, 2), leaf(&[1.0]), leaf(&[1.0])])
            .contains("compares no digits")
    );
    assert!(tree(vec![leaf(&[f64::INFINITY])]).contains("a value of leaf 0 is inf"));
    let deep = (0..1001).flat_map(|i| [split(0, 0.0, 2 * i + 1, 2 * i + 2), leaf(&[0.0])]);
    assert!(tree(deep.chain([leaf(&[0.0])]).collect()).contains("a path of more than 1000 nodes"));

    let ranges = |pairs: &[(f64, f64)]| FeatureRanges::new(pairs.to_vec());
    assert!(ranges(&[]).unwrap_err().to_string().contains("no features"));
    for pair in [(1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert!(
            ranges(&[(0.0, 1.0), pair]).unwrap_err().to_string().contains("feature 1 goes from")
        );
    }
    for (knots, what) in [
        (vec![1.0], "feature 1 has 1 knots"),
        (vec![0.0; 4098], "feature 1 has 4098 knots"),
        (vec![0.0, 0.5, 0.5, 1.0], "the knots of feature 1 do not rise from 0.5 to 0.5"),
        (vec![0.0, f64::NAN, 1.0], "the knots of feature 1 do not rise from 0 to NaN"),
        (vec![-1e308, 0.0, 1e308], "feature 1 goes from"),
    ] {
        let error = FeatureRanges::of_knots(vec![vec![0.0, 1.0], knots]).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let sample =
        |features, rows: &[f64]| FeatureRanges::of_sample(features, rows).unwrap_err().to_string();
    assert!(sample(0, &[1.0]).contains("1 values are no rows of 0 features"));
    assert!(sample(2, &[1.0]).contains("1 values are no rows of 2 features"));
    assert!(sample(2, &[]).contains("0 values are no rows"));
    assert!(
        sample(2, &[1.0, 1.0, 1.0, f64::INFINITY])
            .contains("feature 1 of row 1 is not a finite number")
    );
    assert!(sample(1, &[-1e308, 1e308]).contains("feature 0 goes from"));
    let stump = |f| {
        DecisionTree::new(vec![split(f, 0.5, 1, 2), leaf(&[0.0, 0.0]), leaf(&[1.0, 2.0])]).unwrap()
    };
    let one = ranges(&[(0.0, 1.0)]).unwrap();
    let model = TreeModel::new(one.clone(), vec![stump(0)], 1.0).unwrap();
    assert_eq!(model.evaluate(&[f64::INFINITY]).unwrap(), [1.0, 2.0]);
    assert!(
        model.evaluate(&[f64::NAN]).unwrap_err().to_string().contains("feature 0 is not a number")
    );
    assert!(model.evaluate(&[]).unwrap_err().to_string().contains("0 features"));
    let new = |trees: Vec<DecisionTree>, deviation| {
        TreeModel::new(one.clone(), trees, deviation).unwrap_err().to_string()
    };
    assert!(new(vec![], 0.1).contains("no tree"));
    assert!(new(vec![stump(3)], 0.1).contains("asks for feature 3, but there are ranges of 1"));
    assert!(new(vec![stump(0), random_tree(&[0], 1, 1)], 0.1).contains("2 and of 1 outputs"));
    assert!(new(vec![stump(0)], -1.0).contains("deviation of -1"));

    let model = TreeModel::new(one.clone(), vec![stump(0)], 0.1).unwrap();
    let (client, other) = (Client::new(insecure(16, 256)), Client::new(insecure(16, 256)));
    let encrypt = |ranges: &FeatureRanges, row: &[f64]| {
        client.secrets.encrypt(ranges, row).unwrap_err().to_string()
    };
    assert!(encrypt(&one, &[]).contains("0 values are no rows of 1 features"));
    assert!(encrypt(&one, &[0.0, f64::NAN]).contains("feature 0 of row 1 is not a number"));
    let plan = TreePlan::new(&model, client.secrets.parameters()).unwrap();
    let query = client.secrets.encrypt(&one, &[0.1]).unwrap();
    let error =
        other.server.evaluate(&plan, &query, &Threads::single(), &mut |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("key"), "{error}");
    let two = ranges(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let query = client.secrets.encrypt(&two, &[0.1, 0.2]).unwrap();
    let error =
        client.server.evaluate(&plan, &query, &Threads::single(), &mut |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("rows of 2 features, where the model has 1"), "{error}");
    let larger = TreePlan::new(&model, insecure(16, 512)).unwrap();
    assert!(client.server.evaluate(&larger, &query, &Threads::single(), &mut |_, _| ()).is_err());
    assert!(model.evaluate(&[]).is_err());
    let noise = plan.deviation();
    assert!(noise <= 0.1 && Noise::from_std(noise).log2_std().is_finite());
}
