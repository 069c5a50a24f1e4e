//! K-means on encrypted points compared with Lloyd's algorithm on plain ones.

use std::{sync::Arc, time::Duration};

use crate::common::{context, literal, spread, tables_of};
use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale};
use hippocrene_pegasus::{
    KMeans, KMeansPlan, KMeansState, PegasusKeys, PegasusLiteral, PegasusSecrets, Shape,
};
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

struct Setup {
    context: Arc<Context>,
    secret: SecretKey,
    k_means: KMeans,
}

fn setup(context: Arc<Context>, shape: Shape) -> Setup {
    // The index has a deviation of about 1.9 entries, of 2048 on the circle.
    let literal = PegasusLiteral { tables: tables_of(64, 1024), ..literal(&[], 64) };
    let secret = SecretKey::generate(context.rlwe()).unwrap();
    let plan = Arc::new(KMeansPlan::new(Arc::clone(&context), shape, literal).unwrap());
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    plan.add_keys(&mut keys, &secret).unwrap();
    let evaluator =
        Evaluator::new(Arc::clone(&context), Arc::new(keys.prepare(context.rlwe()).unwrap()));
    let secrets = PegasusSecrets::generate(plan.pegasus()).unwrap();
    let stored = PegasusKeys::generate(plan.pegasus(), &secret, &secrets).unwrap();
    Setup { k_means: KMeans::new(plan, evaluator, &stored).unwrap(), context, secret }
}

impl Setup {
    fn encrypt(&self, slots: &[f64], bits: f64) -> Ciphertext {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let scale = Scale::from_f64(self.k_means.plan().slot_scale_bits().exp2()).unwrap();
        let plaintext = self.context.encode(slots.into(), slots.len(), scale, modulus).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    fn decrypt(&self, a: &Ciphertext) -> Vec<f64> {
        self.context.decode_real(&self.context.decrypt(&self.secret, a).unwrap()).unwrap()
    }

    fn points(&self, values: &[f64]) -> Vec<Ciphertext> {
        let plan = self.k_means.plan();
        let slots = plan.shape().points_in_slots(values, plan.points_per_ciphertext()).unwrap();
        slots.iter().map(|slots| self.encrypt(slots, plan.point_bits())).collect()
    }

    fn start(&self, centroids: &[f64]) -> KMeansState {
        let plan = self.k_means.plan();
        let slots = plan.shape().centroids_in_slots(centroids).unwrap();
        let centroids = self.encrypt(&slots, plan.centroid_bits());
        KMeansState { iteration: 0, centroids, assigned: Vec::new() }
    }

    fn centroids(&self, state: &KMeansState) -> Vec<f64> {
        self.k_means.plan().shape().centroids_of_slots(&self.decrypt(&state.centroids))
    }

    fn labels(&self, state: &KMeansState) -> Vec<usize> {
        let slots: Vec<Vec<f64>> = state.assigned.iter().map(|bits| self.decrypt(bits)).collect();
        self.k_means
            .plan()
            .shape()
            .labels_of_slots(&slots, self.k_means.plan().points_per_ciphertext())
    }
}

/// Returns the nearest centroid of every point.
fn nearest(points: &[f64], centroids: &[f64], d: usize) -> Vec<usize> {
    let distance =
        |x: &[f64], c: &[f64]| x.iter().zip(c).map(|(x, c)| (x - c).powi(2)).sum::<f64>();
    let of = |x: &[f64]| {
        let distances: Vec<f64> = centroids.chunks_exact(d).map(|c| distance(x, c)).collect();
        (0..distances.len())
            .fold(0, |best, j| if distances[j] < distances[best] { j } else { best })
    };
    points.chunks_exact(d).map(of).collect()
}

/// Returns the means of clusters. A cluster without members keeps its centroid.
fn means(points: &[f64], centroids: &[f64], labels: &[usize], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0; centroids.len()];
    let mut counts = vec![0.0; centroids.len() / d];
    for (x, j) in points.chunks_exact(d).zip(labels) {
        counts[*j] += 1.0;
        x.iter().enumerate().for_each(|(c, x)| sums[j * d + c] += x);
    }
    let mean = |k: usize| if counts[k / d] == 0.0 { centroids[k] } else { sums[k] / counts[k / d] };
    (0..sums.len()).map(mean).collect()
}

/// Returns points in the unit ball around `k` centres. Each is well away from the boundaries
/// between them.
fn clusters(n: usize, d: usize, k: usize) -> (Vec<f64>, Vec<f64>) {
    let centre = |j: usize, c: usize| {
        let angle = std::f64::consts::TAU * (j as f64 + 0.25) / k as f64;
        0.7 * [angle.cos(), angle.sin(), 0.3][c]
    };
    let noise = spread(n * d, 0.12);
    let points = (0..n * d).map(|i| centre(i / d % k, i % d) + noise[i]).collect();
    (points, (0..k * d).map(|i| 0.8 * centre(i / d, i % d)).collect())
}

#[test]
fn clusters_are_those_of_lloyds_algorithm() {
    // The last one needs five ciphertexts.
    for (log_degree, n, d, k) in [(9, 14, 2, 2), (9, 20, 2, 5), (9, 33, 1, 2), (8, 33, 3, 3)] {
        let s = setup(context(log_degree, 17, 2), Shape::new(n, d, k).unwrap());
        let (points, start) = clusters(n, d, k);
        let encrypted = s.points(&points);
        let mut state = s.start(&start);
        let mut plain = start;
        for iteration in 1..=2 {
            let (next, sectors) = s.k_means.iterate(&encrypted, &state).unwrap();
            assert!(sectors.total() > sectors.look_ups && sectors.look_ups > Duration::ZERO);
            let labels = nearest(&points, &plain, d);
            assert_eq!(s.labels(&next), labels, "{n} {d} {k}");
            plain = means(&points, &plain, &labels, d);
            let got = s.centroids(&next);
            // Steps have errors of hundredths of their length. The first ones have a length of
            // about a fifth.
            let error = if iteration == 1 { 0.05 } else { 0.01 };
            for (x, y) in got.iter().zip(&plain) {
                assert!((x - y).abs() < error, "{n} {d} {k}: {got:?} instead of {plain:?}");
            }
            // The estimate is that of one step, and does not grow with iterations.
            assert!(next.centroids.precision_bits() > 11.0);
            assert_eq!(next.iteration, iteration);
            state = next;
        }
    }
}

/// A run that was stopped continues with the same results.
#[test]
fn an_iteration_is_reproducible() {
    let s = setup(context(9, 17, 2), Shape::new(8, 2, 2).unwrap());
    let (points, start) = clusters(8, 2, 2);
    let encrypted = s.points(&points);
    let first = s.k_means.iterate(&encrypted, &s.start(&start)).unwrap().0;
    let next = s.k_means.iterate(&encrypted, &first).unwrap().0;
    assert!(next == s.k_means.iterate(&encrypted, &first).unwrap().0);
    assert!(next != first);
}

#[test]
fn a_cluster_without_members_keeps_its_centroid() {
    let s = setup(context(9, 17, 2), Shape::new(12, 2, 3).unwrap());
    let (points, mut start) = clusters(12, 2, 2);
    start.extend([-0.9, 0.1]);
    let state = s.k_means.iterate(&s.points(&points), &s.start(&start)).unwrap().0;
    let labels = nearest(&points, &start, 2);
    assert!(!labels.contains(&2));
    assert_eq!(s.labels(&state), labels);
    for (x, y) in s.centroids(&state).iter().zip(means(&points, &start, &labels, 2)) {
        assert!((x - y).abs() < 0.05);
    }
}

#[test]
fn arguments_of_other_shapes_are_refused() {
    let s = setup(context(9, 17, 2), Shape::new(8, 2, 2).unwrap());
    let (points, start) = clusters(8, 2, 2);
    let (encrypted, state) = (s.points(&points), s.start(&start));
    let few = s.encrypt(&[0.0; 8], s.k_means.plan().point_bits());
    let low = s.encrypt(&[0.0; 32], s.k_means.plan().slot_scale_bits() + 20.0);
    for (points, what) in [
        (vec![], "0 ciphertexts of points: there are 1 in this shape"),
        (vec![few], "points in 8 slots: 32 are needed"),
        (vec![low], "adjust"),
    ] {
        let refused = s.k_means.iterate(&points, &state).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    assert!(s.k_means.iterate(&encrypted, &state).is_ok());
    let plan = |shape| {
        KMeansPlan::new(context(6, 17, 1), shape, literal(&[], 16)).unwrap_err().to_string()
    };
    assert!(plan(Shape::new(8, 8, 8).unwrap()).contains("takes 64 slots, there are 32"));
}

/// The parts of an iteration give the whole iteration, and chosen points become the first
/// centroids.
#[test]
fn parts_and_chosen_points_give_whole_iterations() {
    let (n, d, k) = (33, 3, 3);
    let s = setup(context(8, 17, 2), Shape::new(n, d, k).unwrap());
    let (points, start) = clusters(n, d, k);
    let (encrypted, state) = (s.points(&points), s.start(&start));
    assert!(encrypted.len() > 1);
    // Other machines may compute the parts in any order, so the last one comes first here.
    let parts =
        (0..encrypted.len()).rev().map(|i| s.k_means.assign(&encrypted[i], i, &state).unwrap().0);
    let mut assigned: Vec<Ciphertext> = parts.collect();
    assigned.reverse();
    let (next, _) = s.k_means.update(&encrypted, assigned.clone(), &state).unwrap();
    assert!(next == s.k_means.iterate(&encrypted, &state).unwrap().0);
    assert!(s.k_means.assign(&encrypted[0], encrypted.len(), &state).is_err());
    assigned.pop();
    assert!(s.k_means.update(&encrypted, assigned, &state).is_err());

    let chosen = [32, 0, 13];
    let begun = s.k_means.start_from(&encrypted, &state, &chosen).unwrap();
    let expected: Vec<f64> =
        chosen.iter().flat_map(|i| points[i * d..(i + 1) * d].to_vec()).collect();
    assert_eq!((begun.iteration, begun.assigned.len()), (0, 0));
    for (got, x) in s.centroids(&begun).iter().zip(&expected) {
        assert!((got - x).abs() < 0.02, "{got} instead of {x}");
    }
    let (next, _) = s.k_means.iterate(&encrypted, &begun).unwrap();
    assert_eq!(s.labels(&next), nearest(&points, &expected, d));
    for wrong in [&[0, 1][..], &[0, 1, 33]] {
        assert!(s.k_means.start_from(&encrypted, &state, wrong).is_err());
    }
}

/// New points are assigned to the nearest centroids. There are fewer of them than clustered points,
/// and some are far outside of the ball.
#[test]
fn new_points_are_assigned() {
    for (log_degree, n, d, k) in [(9, 14, 2, 2), (9, 20, 2, 5), (8, 33, 3, 3)] {
        let s = setup(context(log_degree, 17, 2), Shape::new(n, d, k).unwrap());
        let (points, start) = clusters(n, d, k);
        let (plan, state) = (s.k_means.plan(), s.start(&start));
        // Points half of the way to the centroids, at the centroids, and beyond them.
        let new: Vec<f64> = [0.5, 1.0, 20.0]
            .iter()
            .flat_map(|by| points[..k * d].iter().map(move |x| by * x))
            .collect();
        let new = &new[..n.min(3 * k - 1) * d];
        let slots =
            plan.shape().new_points_in_slots(new, &start, plan.points_per_ciphertext()).unwrap();
        let mut labels = Vec::new();
        for (i, slots) in slots.iter().enumerate() {
            let encrypted = s.encrypt(slots, plan.point_bits());
            let count =
                plan.points_per_ciphertext().min(new.len() / d - i * plan.points_per_ciphertext());
            let bits = s.decrypt(&s.k_means.nearest(&encrypted, count, &state).unwrap().0);
            let bit =
                |i: usize, j: usize| bits[i * plan.shape().width() + j * plan.shape().stride()];
            labels.extend(
                (0..count)
                    .map(|i| (0..k).max_by(|a, b| bit(i, *a).total_cmp(&bit(i, *b))).unwrap()),
            );
            for wrong in [0, plan.points_per_ciphertext() + 1] {
                let refused = s.k_means.nearest(&encrypted, wrong, &state).unwrap_err().to_string();
                assert!(refused.contains(&format!("{wrong} points in a ciphertext")), "{refused}");
            }
        }
        assert_eq!(labels, nearest(new, &start, d), "{n} {d} {k}");
    }
}

/// The number of points with the wrong centroid agrees with [`KMeansPlan::nearest_deviation`].
#[test]
fn points_between_centroids_go_wrong_as_often_as_stated() {
    for (k, start) in [(2, vec![-0.1, 0.1]), (4, vec![-0.1, 0.9, -0.9, 0.1])] {
        let s = setup(context(9, 17, 2), Shape::new(256, 1, k).unwrap());
        let deviation = s.k_means.plan().nearest_deviation().unwrap();
        // Squared distances from the two nearest centroids differ by 0.4 x, which is at most 1.5
        // deviations.
        let points: Vec<f64> =
            (0..256).map(|i| (f64::from(i) - 127.5) / 128.0 * 1.5 * deviation / 0.4).collect();
        let state = s.k_means.iterate(&s.points(&points), &s.start(&start)).unwrap().0;
        let plain = nearest(&points, &start, 1);
        let wrong = s.labels(&state).iter().zip(&plain).filter(|(x, y)| x != y).count();
        // A quarter of them, 64, is expected. It is the mean of the tails of a normal number up to
        // 1.5. The standard deviation of their number is 6.5.
        assert!(
            (38..=90).contains(&wrong),
            "{wrong} of 256 in {k} clusters, a deviation of {deviation}"
        );
    }
}
