//! The table `pegasus-7`: private decision trees, as in PEGASUS Table VII.

use std::time::Instant;

use hippocrene::{
    DecisionTree, FeatureRanges, Stored, TreeClient, TreeInterface, TreeModel, TreeNode, TreeQuery,
    TreeReply, TreeServer, TreeTables,
};
use hippocrene_ring::{Sampler, Seed};

use super::{
    Table,
    pegasus_fig8::{IRIS, Labelled, read},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-7",
    about: "PEGASUS Table VII: private decision trees of its shapes, with lut12 and lut13 at 128 \
            bits of security. One is fitted to a random 80 % of Iris and evaluated on the rest, \
            as in the paper. The others are fitted to generated points in the shapes of Housing \
            and Spambase. Shown: time of client and server for a row, on one thread where the \
            paper has 16; bytes of query and reply; and the rows with the same answer as the \
            plain tree. These rows are counted in private for few rows, and estimated from the \
            error of comparisons for many. Features are mapped by their ranks among the training \
            points, or linearly. (The paper's trees are right for 97.37, 100 and 87.86 % of the \
            rows in the clear and for 94.74, 98.04 and 85.03 % in private)",
    memory: "2 GB",
    time: "5 minutes",
    live: &[],
    plot: false,
    run,
};

const PAPER: &str = "pegasus-7";

/// Name, features, splits and classes of the paper's trees for which points are generated here.
const SHAPES: [(&str, usize, usize, usize); 2] = [("Housing", 13, 100, 2), ("Spambase", 57, 60, 2)];
/// The number of these points that are evaluated in private.
const PRIVATE_ROWS: usize = 20;
/// The number of digits of compared features. Two digits tell the shares of points apart.
const DIGITS: usize = 2;
/// The maximum number of splits of a tree for Iris. The paper's tree has about as many.
const IRIS_SPLITS: usize = 10;

/// Points for fitting a tree, and others for evaluating it.
struct Task {
    /// The name in the paper.
    name: &'static str,
    generated: bool,
    splits: usize,
    sample: Vec<Labelled>,
    /// The points that are evaluated in private.
    rows: Vec<Labelled>,
    /// The points that are evaluated in the clear, to estimate the agreement more precisely than
    /// from the encrypted ones.
    many: Vec<Labelled>,
}

impl Task {
    fn iris() -> Result<Self> {
        let mut points = read(IRIS)?;
        let mut sampler = Sampler::new(&Seed::from_bytes([9; 32]), 0);
        for i in (1..points.len()).rev() {
            let mut other = [0];
            sampler.uniform(i as u64 + 1, &mut other);
            points.swap(i, other[0] as usize);
        }
        let rows = points.split_off(points.len() * 4 / 5);
        let many = rows.iter().cycle().take(CLEAR_ROWS).cloned().collect();
        Ok(Task { name: "Iris", generated: false, splits: IRIS_SPLITS, sample: points, rows, many })
    }

    fn generated((name, features, splits, classes): (&'static str, usize, usize, usize)) -> Self {
        let mut points = Points::new(features, classes);
        let (sample, rows, many) =
            (points.draw(1500), points.draw(PRIVATE_ROWS), points.draw(CLEAR_ROWS));
        Task { name, generated: true, splits, sample, rows, many }
    }

    fn features(&self) -> usize {
        self.sample[0].0.len()
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for tables in ["lut12", "lut13"] {
        let tables = TreeTables::by_name(tables)?;
        let client = TreeClient::generate(tables)?;
        let keys = client.evaluation_keys()?;
        let bytes = keys.to_bytes().len() as f64 / 1e6;
        let server = TreeServer::new(&keys, 1)?;
        drop(keys);
        rows.push(Row::new(format!("{}: keys of the server", tables.name()), bytes, "MB"));
        let off = tables.parameters().comparison_deviation(DIGITS);
        rows.push(Row::new(
            format!("{}: deviation of features, of their range", tables.name()),
            100.0 * off,
            "%",
        ));
        rows.extend(tree(session, &client, &server, &Task::iris()?)?);
        for shape in SHAPES {
            rows.extend(tree(session, &client, &server, &Task::generated(shape))?);
        }
    }
    Ok(rows)
}

fn tree(
    session: &Session,
    client: &TreeClient,
    server: &TreeServer,
    task: &Task,
) -> Result<Vec<Row>> {
    let (name, features, count) = (task.name, task.features(), task.rows.len());
    let tree = fit(&task.sample, task.splits)?;
    let linear = TreeModel::new(linear(features)?, vec![tree.clone()], TreeModel::CLASSES)?;
    let ranges = by_ranks(&task.sample)?;
    let interface = TreeInterface::new(client.tables(), ranges.clone(), name);
    let model = TreeModel::new(ranges, vec![tree], TreeModel::CLASSES)?;
    let plan = interface.plan(&model)?;

    let (mut of_client, mut of_server, mut bytes, mut equal) = (Vec::new(), Vec::new(), [0, 0], 0);
    let mut right = [0, 0];
    for (point, label) in &task.rows {
        let start = Instant::now();
        let query = client.encrypt(&interface, point)?.to_bytes();
        let sent = start.elapsed();
        let start = Instant::now();
        let reply = server.evaluate(&plan, &TreeQuery::from_bytes(&query, ())?)?.to_bytes();
        of_server.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let class = client.decrypt(&interface, &TreeReply::from_bytes(&reply, ())?)?[0].round();
        of_client.push((sent + start.elapsed()).as_secs_f64());
        bytes = [query.len(), reply.len()];
        let clear = model.evaluate(point)?[0];
        equal += usize::from(class == clear);
        for (right, class) in right.iter_mut().zip([clear, class]) {
            *right += usize::from(class == *label as f64);
        }
    }
    let points =
        if task.generated { format!("{name} (generated points)") } else { name.to_string() };
    let label = |what: &str| format!("{}: {points}, {what}", client.tables().name());
    let paper =
        |row: Row, what: &str| row.paper(session.papers.find(PAPER, &format!("{name}, {what}")));
    let look_ups = (plan.compared() + plan.combined() + plan.look_ups()) as f64;
    let off = plan.parameters().comparison_deviation(DIGITS);
    let [agree, agree_linear] =
        [agreement(&model, &task.many, off)?, agreement(&linear, &task.many, off)?];
    let of = if task.generated { "rows" } else { "draws of these rows" };
    let expected = format!("of {CLEAR_ROWS} {of} as in the clear, as comparisons are off");
    let communication = bytes.iter().sum::<usize>() as f64 / 1e3;
    let mut rows = vec![
        Row::new(
            label(&format!("splits of the tree of {features} features")),
            model.trees()[0].splits() as f64,
            "",
        ),
        paper(Row::new(label("look-ups for a row"), look_ups, ""), "look-ups for a row"),
        Row::new(label("client, for a row"), 1e3 * median(&mut of_client), "ms"),
        paper(Row::new(label("server, for a row"), median(&mut of_server), "s"), "both sides"),
        Row::new(label("query"), bytes[0] as f64, "B"),
        Row::new(label("reply"), bytes[1] as f64, "B"),
        paper(Row::new(label("query and reply"), communication, "KB"), "query and reply"),
        Row::more_is_better(
            label(&format!("of {count} rows as in the clear")),
            100.0 * equal as f64 / count as f64,
            "%",
        ),
        Row::more_is_better(label(&expected), 100.0 * agree, "%")
            .against("the target", 97.0)
            .target(Some(1.0)),
        Row::more_is_better(
            label(&format!("{expected}, by linear maps")),
            100.0 * agree_linear,
            "%",
        ),
    ];
    if !task.generated {
        for (what, right) in ["right in the clear", "right in private"].into_iter().zip(right) {
            let share = 100.0 * right as f64 / count as f64;
            rows.push(paper(
                Row::more_is_better(label(&format!("of {count} rows {what}")), share, "%"),
                what,
            ));
        }
    }
    Ok(rows)
}

/// The number of rows that are classified in the clear.
const CLEAR_ROWS: usize = 5000;

/// Returns linear ranges for features from 0 to 1.
fn linear(features: usize) -> Result<FeatureRanges> {
    Ok(FeatureRanges::new(vec![(0.0, 1.0); features])?)
}

/// Returns ranges by the ranks of features among these points.
fn by_ranks(points: &[(Vec<f64>, usize)]) -> Result<FeatureRanges> {
    let rows: Vec<f64> = points.iter().flat_map(|(x, _)| x).copied().collect();
    Ok(FeatureRanges::of_sample(points[0].0.len(), &rows)?)
}

/// Returns the value at a share from 0 to 1 of the knots.
fn value_at(knots: &[f64], share: f64) -> f64 {
    let place = share * (knots.len() - 1) as f64;
    let part = (place as usize).min(knots.len() - 2);
    knots[part] + (place - part as f64) * (knots[part + 1] - knots[part])
}

/// Returns the share of points with the same class when every feature has an error of this share of
/// its range.
///
/// This models comparisons, in which a feature has the same index for all thresholds.
fn agreement(model: &TreeModel, points: &[(Vec<f64>, usize)], deviation: f64) -> Result<f64> {
    let mut sampler = Sampler::new(&Seed::from_bytes([8; 32]), 0);
    // The sum of twelve uniform numbers has the variance 1.
    let mut words = [0; 12];
    let mut normal = || {
        sampler.uniform(1 << 32, &mut words);
        words.iter().map(|x| *x as f64 / 2f64.powi(32)).sum::<f64>() - 6.0
    };
    let mut same = 0;
    for (point, _) in points {
        let shares = model.ranges().shares(point)?;
        let off: Vec<f64> = shares
            .into_iter()
            .zip(model.ranges().knots())
            .map(|(share, knots)| value_at(knots, (share + deviation * normal()).clamp(0.0, 1.0)))
            .collect();
        same += usize::from(model.evaluate(&off)? == model.evaluate(point)?);
    }
    Ok(same as f64 / points.len() as f64)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Generates labelled points. A sum and a product of the first features tell the classes apart,
/// with some noise.
///
/// Features after the 13th are near 0 for most points, like frequencies of words.
struct Points {
    features: usize,
    classes: usize,
    sampler: Sampler,
}

impl Points {
    fn new(features: usize, classes: usize) -> Self {
        Points {
            features,
            classes,
            sampler: Sampler::new(&Seed::from_bytes([7; 32]), features as u64),
        }
    }

    fn draw(&mut self, count: usize) -> Vec<(Vec<f64>, usize)> {
        let mut words = vec![0; self.features + 1];
        let point = |_| {
            self.sampler.uniform(1 << 32, &mut words);
            let uniform: Vec<f64> = words.iter().map(|x| *x as f64 / 2f64.powi(32)).collect();
            let skewed = |(i, x): (usize, &f64)| if i < 13 { *x } else { x.powi(4) };
            let x: Vec<f64> = uniform[..self.features].iter().enumerate().map(skewed).collect();
            let score = 0.3 * (x[0] + x[1]) + 0.4 * x[2] * x[3] + 0.1 * x[self.features - 1];
            let score = score / 0.85 + 0.1 * (uniform[self.features] - 0.5);
            let class = (score * self.classes as f64 * 1.4 - 0.2 * self.classes as f64).floor();
            (x, class.clamp(0.0, (self.classes - 1) as f64) as usize)
        };
        (0..count).map(point).collect()
    }
}

/// Fits a decision tree with `splits` splits, or fewer if no more are possible. Each step takes the
/// split, of any leaf at any feature, that lowers the Gini impurity the most (CART).
fn fit(points: &[(Vec<f64>, usize)], splits: usize) -> Result<DecisionTree> {
    let all: Vec<usize> = (0..points.len()).collect();
    let mut nodes = vec![TreeNode::Leaf { values: vec![most_frequent(points, &all)] }];
    let mut leaves = vec![(0, best_split(points, &all), all)];
    for _ in 0..splits {
        let gain = |leaf: &(usize, Option<Split>, Vec<usize>)| {
            leaf.1.as_ref().map_or(0.0, |split| split.gain)
        };
        let best = (0..leaves.len()).max_by(|i, j| gain(&leaves[*i]).total_cmp(&gain(&leaves[*j])));
        let Some((node, Some(split), of)) = best.map(|i| leaves.swap_remove(i)) else { break };
        let Split { feature, threshold, .. } = split;
        let (left, right): (Vec<usize>, Vec<usize>) =
            of.into_iter().partition(|i| points[*i].0[feature] <= threshold);
        let next = nodes.len();
        nodes[node] =
            TreeNode::Split { feature, threshold, digits: DIGITS, left: next, right: next + 1 };
        for (i, of) in [left, right].into_iter().enumerate() {
            nodes.push(TreeNode::Leaf { values: vec![most_frequent(points, &of)] });
            leaves.push((next + i, best_split(points, &of), of));
        }
    }
    Ok(DecisionTree::new(nodes)?)
}

struct Split {
    feature: usize,
    threshold: f64,
    gain: f64,
}

fn counts(points: &[(Vec<f64>, usize)], of: &[usize]) -> Vec<f64> {
    let classes = points.iter().map(|(_, class)| class + 1).max().unwrap_or(1);
    let mut counts = vec![0.0; classes];
    of.iter().for_each(|i| counts[points[*i].1] += 1.0);
    counts
}

fn most_frequent(points: &[(Vec<f64>, usize)], of: &[usize]) -> f64 {
    let counts = counts(points, of);
    (0..counts.len()).max_by(|i, j| counts[*i].total_cmp(&counts[*j])).unwrap_or(0) as f64
}

/// Returns the number of points times their Gini impurity, up to a constant of all splits. Purer
/// points have less.
fn impurity(counts: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    if all == 0.0 { 0.0 } else { all - counts.iter().map(|x| x * x).sum::<f64>() / all }
}

fn best_split(points: &[(Vec<f64>, usize)], of: &[usize]) -> Option<Split> {
    let total = counts(points, of);
    let mut best: Option<Split> = None;
    for feature in 0..points[0].0.len() {
        let mut sorted = of.to_vec();
        sorted.sort_by(|i, j| points[*i].0[feature].total_cmp(&points[*j].0[feature]));
        let (mut left, mut right) = (vec![0.0; total.len()], total.clone());
        for pair in sorted.windows(2) {
            let class = points[pair[0]].1;
            left[class] += 1.0;
            right[class] -= 1.0;
            let [low, high] = [pair[0], pair[1]].map(|i| points[i].0[feature]);
            let gain = impurity(&total) - impurity(&left) - impurity(&right);
            if low < high && gain > best.as_ref().map_or(1e-9, |split| split.gain) {
                best = Some(Split { feature, threshold: low.midpoint(high), gain });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iris_is_split_and_classified() {
        let task = Task::iris().unwrap();
        assert_eq!((task.sample.len(), task.rows.len(), task.features()), (120, 30, 4));
        let tree = fit(&task.sample, task.splits).unwrap();
        assert!((5..=IRIS_SPLITS).contains(&tree.splits()), "{}", tree.splits());
        let model = TreeModel::new(by_ranks(&task.sample).unwrap(), vec![tree], TreeModel::CLASSES)
            .unwrap();
        let right = |(x, class): &&Labelled| model.evaluate(x).unwrap()[0] == *class as f64;
        assert!(task.rows.iter().filter(right).count() >= 27);
    }

    #[test]
    fn trees_have_the_papers_shapes_and_several_answers() {
        for (_, features, splits, classes) in SHAPES {
            let mut points = Points::new(features, classes);
            let tree = fit(&points.draw(1500), splits).unwrap();
            assert_eq!(tree.splits(), splits);
            let sample = by_ranks(&points.draw(1500)).unwrap();
            let new =
                |ranges| TreeModel::new(ranges, vec![tree.clone()], TreeModel::CLASSES).unwrap();
            let (model, linear) = (new(sample), new(linear(features).unwrap()));
            let parameters = TreeTables::by_name("lut12").unwrap().parameters();
            let (off, rows) = (parameters.comparison_deviation(DIGITS), points.draw(500));
            let shares = [&model, &linear].map(|model| agreement(model, &rows, off).unwrap());
            assert!(shares[0] > 0.97 && shares[0] >= shares[1], "{features} features: {shares:?}");
            let right = points
                .draw(500)
                .iter()
                .filter(|(x, class)| model.evaluate(x).unwrap()[0] == *class as f64)
                .count();
            assert!(right > 300, "{features} features: {right} of 500");
        }
    }
}
