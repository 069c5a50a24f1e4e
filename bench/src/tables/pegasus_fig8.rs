//! The table `pegasus-fig8`: the loss of k-means when points are assigned to wrong centroids, as in
//! PEGASUS Fig. 8.

use hippocrene_ring::{Sampler, Seed};

use super::Table;
use crate::{
    Result,
    plot::{Panel, Plot},
    report::Row,
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-fig8",
    about: "PEGASUS Fig. 8: the test accuracy of classification by k-means on plain numbers, if \
            each update assigns a share 1 - rho of the training points to a random centroid \
            other than the closest. Data sets are those bundled with scikit-learn, with features \
            scaled to [0, 1]. Figures are means over 20 runs of 10-fold cross-validation. The \
            paper states a loss within 4% for rho of at least 80%",
    memory: "50 MB",
    time: "about 2 minutes",
    live: &[],
    plot: true,
    run,
};

/// The 150 rows of Iris.
pub(super) const IRIS: &str = include_str!("../../data/iris.csv");
/// Rows of features and a class, in scikit-learn's copies of sets of the UCI repository (CC BY
/// 4.0).
const SETS: [(&str, &str); 4] = [
    ("Iris", IRIS),
    ("Wine", include_str!("../../data/wine.csv")),
    ("Breast cancer", include_str!("../../data/breast_cancer.csv")),
    ("Digits", include_str!("../../data/digits.csv")),
];
/// The shares of closest assignments, in percent.
const RATIOS: [u32; 6] = [100, 90, 80, 70, 60, 50];
const RUNS: usize = 20;
const FOLDS: usize = 10;
const UPDATES: usize = 15;

/// Random numbers that are the same in every run.
struct Random(Sampler);

impl Random {
    fn new() -> Self {
        Random(Sampler::new(&Seed::from_bytes([8; 32]), 0))
    }

    fn below(&mut self, n: usize) -> usize {
        let mut number = [0];
        self.0.uniform(n as u64, &mut number);
        number[0] as usize
    }

    /// Returns a number in `[0, 1)`.
    fn fraction(&mut self) -> f64 {
        self.below(1 << 53) as f64 * (-53f64).exp2()
    }
}

/// A point and its class.
pub(super) type Labelled = (Vec<f64>, usize);

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut panel = Panel {
        title: "PEGASUS Fig. 8: k-means with some points assigned at random".into(),
        x: "closest assignments, %".into(),
        y: "test accuracy, %".into(),
        curves: Vec::new(),
    };
    for (name, text) in SETS {
        let points = read(text)?;
        let mut curve = Vec::new();
        for ratio in RATIOS {
            let accuracy = 100.0 * accuracy(&points, f64::from(ratio) / 100.0);
            let row =
                Row::more_is_better(format!("{name}: accuracy, {ratio}% closest"), accuracy, "%");
            rows.push(match curve.first() {
                Some((_, all)) => row.against("all closest", *all),
                None => row,
            });
            curve.push((f64::from(ratio), accuracy));
        }
        curve.reverse();
        panel.curves.push((name.to_string(), curve));
    }
    session.plot = Plot { panels: vec![panel] };
    Ok(rows)
}

/// Reads points, with features scaled to `[0, 1]`. A feature that is the same for all points
/// becomes 0.
pub(super) fn read(text: &str) -> Result<Vec<Labelled>> {
    let mut points = Vec::new();
    for line in text.lines() {
        let mut numbers =
            line.split(',').map(str::parse).collect::<std::result::Result<Vec<f64>, _>>()?;
        let class = numbers.pop().ok_or("a line has a class")? as usize;
        points.push((numbers, class));
    }
    for c in 0..points.first().map_or(0, |(x, _)| x.len()) {
        let values = || points.iter().map(|(x, _)| x[c]);
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let width = if high > low { high - low } else { 1.0 };
        points.iter_mut().for_each(|(x, _)| x[c] = (x[c] - low) / width);
    }
    Ok(points)
}

/// Returns the mean accuracy over runs and folds.
fn accuracy(points: &[Labelled], ratio: f64) -> f64 {
    let mut random = Random::new();
    let mut sum = 0.0;
    for _ in 0..RUNS {
        let mut order: Vec<usize> = (0..points.len()).collect();
        (1..order.len()).rev().for_each(|i| order.swap(i, random.below(i + 1)));
        for fold in 0..FOLDS {
            let is_test = |i: &usize| i % FOLDS == fold;
            let of = |test: bool| {
                order
                    .iter()
                    .enumerate()
                    .filter(move |(i, _)| is_test(i) == test)
                    .map(|(_, k)| &points[*k])
            };
            let (train, test): (Vec<&Labelled>, Vec<&Labelled>) =
                (of(false).collect(), of(true).collect());
            sum += tested(&train, &test, ratio, &mut random);
        }
    }
    sum / (RUNS * FOLDS) as f64
}

/// Returns the share of test points for which most training points of the nearest centroid have the
/// same class.
fn tested(train: &[&Labelled], test: &[&Labelled], ratio: f64, random: &mut Random) -> f64 {
    let classes = train.iter().map(|(_, class)| class + 1).max().unwrap_or(1);
    let centroids = cluster(train, classes, ratio, random);
    let mut votes = vec![vec![0usize; classes]; classes];
    for (x, class) in train {
        votes[nearest(x, &centroids)][*class] += 1;
    }
    let winner = |votes: &Vec<usize>| (0..classes).max_by_key(|c| votes[*c]).unwrap_or(0);
    let winners: Vec<usize> = votes.iter().map(winner).collect();
    let right = test.iter().filter(|(x, class)| winners[nearest(x, &centroids)] == *class).count();
    right as f64 / test.len() as f64
}

/// Runs Lloyd's algorithm from k-means++. Each update assigns a share of the points at random.
fn cluster(points: &[&Labelled], k: usize, ratio: f64, random: &mut Random) -> Vec<Vec<f64>> {
    let mut centroids = vec![points[random.below(points.len())].0.clone()];
    while centroids.len() < k {
        let gaps: Vec<f64> =
            points.iter().map(|(x, _)| distance(x, &centroids[nearest(x, &centroids)])).collect();
        let mut left = random.fraction() * gaps.iter().sum::<f64>();
        let chosen = gaps.iter().position(|gap| {
            left -= gap;
            left < 0.0
        });
        centroids.push(points[chosen.unwrap_or(0)].0.clone());
    }
    for _ in 0..UPDATES {
        let mut order: Vec<usize> = (0..points.len()).collect();
        (1..order.len()).rev().for_each(|i| order.swap(i, random.below(i + 1)));
        let wrong = ((1.0 - ratio) * points.len() as f64).round() as usize;
        let mut sums = vec![vec![0.0; centroids[0].len()]; k];
        let mut counts = vec![0.0; k];
        for (i, point) in order.iter().enumerate() {
            let x = &points[*point].0;
            let closest = nearest(x, &centroids);
            let j = if i < wrong { (closest + 1 + random.below(k - 1)) % k } else { closest };
            counts[j] += 1.0;
            sums[j].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        }
        for ((centroid, sum), count) in centroids.iter_mut().zip(sums).zip(counts) {
            if count > 0.0 {
                *centroid = sum.into_iter().map(|sum| sum / count).collect();
            }
        }
    }
    centroids
}

fn nearest(x: &[f64], centroids: &[Vec<f64>]) -> usize {
    let closer = |best: usize, j: usize| {
        if distance(x, &centroids[j]) < distance(x, &centroids[best]) { j } else { best }
    };
    (0..centroids.len()).fold(0, closer)
}

fn distance(x: &[f64], c: &[f64]) -> f64 {
    x.iter().zip(c).map(|(x, c)| (x - c).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows, features and classes are those that scikit-learn states for its sets, and features
    /// are numbers from 0 to 1.
    #[test]
    fn sets_are_complete() {
        let shapes = [(150, 4, 3), (178, 13, 3), (569, 30, 2), (1797, 64, 10)];
        for ((name, text), shape) in SETS.into_iter().zip(shapes) {
            let points = read(text).unwrap();
            let classes = points.iter().map(|(_, class)| class + 1).max().unwrap();
            assert_eq!((points.len(), points[0].0.len(), classes), shape, "{name}");
            assert!(points.iter().flat_map(|(x, _)| x).all(|x| (0.0..=1.0).contains(x)), "{name}");
        }
    }
}
