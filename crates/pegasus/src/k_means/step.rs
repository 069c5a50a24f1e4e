//! Iterations of k-means.

use std::{
    ops::AddAssign,
    sync::Arc,
    time::{Duration, Instant},
};

use hippocrene_ckks::{Ciphertext, Evaluator, Scale, Values};
use hippocrene_rlwe::Noise;

use super::{
    KMeansPlan,
    plan::{distance_bound, largest_reciprocal, widening},
};
use crate::{
    Layout, Numbers, Pegasus, PegasusError, PegasusKeys,
    error::argument,
    plan::scale_of_bits,
    tournament::{indices_at, rounds},
};

const OPERATION: &str = "an iteration of k-means";

/// Runs k-means with the keys of a client. It holds no secret. See [`Pegasus`] for an example of a
/// setup.
#[derive(Debug, Clone)]
pub struct KMeans {
    plan: Arc<KMeansPlan>,
    pegasus: Pegasus,
}

/// Centroids after some iterations, and the assignment of points to the centroids before. The next
/// iteration needs nothing else. See [`KMeans`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansState {
    /// The number of iterations.
    pub iteration: u64,
    /// The centroids: `K' d'` slots ([`super::Shape`]).
    pub centroids: Ciphertext,
    /// The bits `b_ij`, in the layout of the points. None before the first iteration.
    pub assigned: Vec<Ciphertext>,
}

/// The times of the parts of an iteration. They are the sectors of PEGASUS, Table VIII.
///
/// ```
/// use std::time::Duration;
/// use hippocrene_pegasus::IterationTimes;
///
/// let sectors = IterationTimes { update: Duration::from_secs(2), ..IterationTimes::default() };
/// assert_eq!(sectors.total(), Duration::from_secs(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IterationTimes {
    /// The time for the distances between points and centroids.
    pub distance: Duration,
    /// The time for the transform from slots to coefficients and the extraction of numbers.
    pub extraction: Duration,
    /// The time for the look-ups that find the nearest centroids and the reciprocals.
    pub look_ups: Duration,
    /// The time for repacking single numbers into ciphertexts.
    pub repacking: Duration,
    /// The time for the new centroids.
    pub update: Duration,
}

impl AddAssign for IterationTimes {
    fn add_assign(&mut self, other: IterationTimes) {
        self.distance += other.distance;
        self.extraction += other.extraction;
        self.look_ups += other.look_ups;
        self.repacking += other.repacking;
        self.update += other.update;
    }
}

impl IterationTimes {
    /// The total time.
    pub fn total(&self) -> Duration {
        self.distance + self.extraction + self.look_ups + self.repacking + self.update
    }
}

impl KMeans {
    /// Sets up k-means by `plan`, with the keys of `evaluator` ([`KMeansPlan::add_keys`]) and those
    /// between slots and single numbers.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::new`].
    pub fn new(
        plan: Arc<KMeansPlan>,
        evaluator: Evaluator,
        keys: &PegasusKeys,
    ) -> Result<Self, PegasusError> {
        let pegasus = Pegasus::new(Arc::clone(plan.pegasus()), evaluator, keys)?;
        Ok(KMeans { plan, pegasus })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<KMeansPlan> {
        &self.plan
    }

    /// PEGASUS with the keys of the client.
    pub fn pegasus(&self) -> &Pegasus {
        &self.pegasus
    }

    /// Runs one iteration on these points and measures the times of its parts. Each ciphertext has
    /// [`KMeansPlan::points_per_ciphertext`] points.
    ///
    /// # Errors
    /// Returns an error if the number of ciphertexts or slots is not that of the shape, if a
    /// ciphertext has too little capacity, or if a key is missing.
    pub fn iterate(
        &self,
        points: &[Ciphertext],
        state: &KMeansState,
    ) -> Result<(KMeansState, IterationTimes), PegasusError> {
        let mut time = IterationTimes::default();
        self.check_points(points)?;
        let start = Instant::now();
        let centroids = self.widened(state)?;
        let points: Vec<Ciphertext> = points
            .iter()
            .map(|points| self.aligned(points, &centroids))
            .collect::<Result<_, _>>()?;
        add_time(&mut time.distance, start);
        let mut assigned = Vec::with_capacity(points.len());
        for (k, points) in points.iter().enumerate() {
            let (bits, part) = self.nearest_aligned(points, self.count(k)?, &centroids, state)?;
            time += part;
            assigned.push(bits);
        }
        let (next, part) = self.update_aligned(&points, assigned, &centroids, state)?;
        time += part;
        Ok((next, time))
    }

    /// Finds the nearest centroids of the points in the `block`-th ciphertext. The result is its
    /// part of [`KMeansState::assigned`]. Together with [`KMeans::update`] it makes an iteration,
    /// and other machines may compute its blocks.
    ///
    /// # Errors
    /// Returns the errors of [`KMeans::iterate`].
    pub fn assign(
        &self,
        points: &Ciphertext,
        block: usize,
        state: &KMeansState,
    ) -> Result<(Ciphertext, IterationTimes), PegasusError> {
        self.nearest(points, self.count(block)?, state)
    }

    /// Finds the nearest centroids of the first `count` points of one ciphertext, in the layout of
    /// [`KMeansState::assigned`]. They may be other points than the clustered ones
    /// ([`super::Shape::new_points_in_slots`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if `count` is 0 or larger than the number of points in a
    /// ciphertext, and the errors of [`KMeans::iterate`].
    pub fn nearest(
        &self,
        points: &Ciphertext,
        count: usize,
        state: &KMeansState,
    ) -> Result<(Ciphertext, IterationTimes), PegasusError> {
        let together = self.plan.points_per_ciphertext();
        if !(1..=together).contains(&count) {
            return argument(
                OPERATION,
                format!("{count} points in a ciphertext: 1 to {together} are possible"),
            );
        }
        let start = Instant::now();
        let centroids = self.widened(state)?;
        let points = self.aligned(points, &centroids)?;
        let aligned = start.elapsed();
        let (bits, mut time) = self.nearest_aligned(&points, count, &centroids, state)?;
        time.distance += aligned;
        Ok((bits, time))
    }

    /// Returns the number of clustered points in the `block`-th ciphertext.
    fn count(&self, block: usize) -> Result<usize, PegasusError> {
        let (all, together) = (self.plan.shape().points(), self.plan.points_per_ciphertext());
        let first = block.saturating_mul(together);
        if first >= all {
            return argument(OPERATION, format!("there is no ciphertext {block} of points"));
        }
        Ok(together.min(all - first))
    }

    /// Does the same as [`KMeans::nearest`] for points at the modulus and the scale of the
    /// centroids.
    fn nearest_aligned(
        &self,
        points: &Ciphertext,
        count: usize,
        centroids: &Ciphertext,
        state: &KMeansState,
    ) -> Result<(Ciphertext, IterationTimes), PegasusError> {
        let mut time = IterationTimes::default();
        let start = Instant::now();
        let distances = self.distances(points, centroids, -state.centroids.precision_bits())?;
        let start = add_time(&mut time.distance, start);
        let distances = self.extract_distances(&distances, count)?;
        let start = add_time(&mut time.extraction, start);
        let bits = self.winners(&distances)?;
        let start = add_time(&mut time.look_ups, start);
        let bits = self.repack_bits(&bits)?;
        add_time(&mut time.repacking, start);
        Ok((bits, time))
    }

    /// Returns the state after an iteration with this assignment of points ([`KMeans::assign`]).
    /// There is one ciphertext of bits for each ciphertext of points.
    ///
    /// # Errors
    /// Returns the errors of [`KMeans::iterate`].
    pub fn update(
        &self,
        points: &[Ciphertext],
        assigned: Vec<Ciphertext>,
        state: &KMeansState,
    ) -> Result<(KMeansState, IterationTimes), PegasusError> {
        self.check_points(points)?;
        let start = Instant::now();
        let centroids = self.widened(state)?;
        let points: Vec<Ciphertext> = points
            .iter()
            .map(|points| self.aligned(points, &centroids))
            .collect::<Result<_, _>>()?;
        let aligned = start.elapsed();
        let (next, mut time) = self.update_aligned(&points, assigned, &centroids, state)?;
        time.update += aligned;
        Ok((next, time))
    }

    /// Does the same as [`KMeans::update`] with points at the modulus and the scale of the
    /// centroids.
    fn update_aligned(
        &self,
        points: &[Ciphertext],
        assigned: Vec<Ciphertext>,
        centroids: &Ciphertext,
        state: &KMeansState,
    ) -> Result<(KMeansState, IterationTimes), PegasusError> {
        self.check_points(&assigned)?;
        let mut time = IterationTimes::default();
        let start = Instant::now();
        let mut sums: Option<[Ciphertext; 2]> = None;
        for (points, bits) in points.iter().zip(&assigned) {
            let new = self.sums_of_members(bits, points, centroids)?;
            sums = Some(match sums.take() {
                None => new,
                Some([sum, members]) => [
                    self.add_at_one_modulus(&sum, &new[0])?,
                    self.add_at_one_modulus(&members, &new[1])?,
                ],
            });
        }
        add_time(&mut time.update, start);
        let Some([sum, members]) = sums else {
            return argument(OPERATION, "there are no points".into());
        };
        let reciprocals = self.reciprocals(&members, &mut time)?;
        let start = Instant::now();
        let moved = self.moved_centroids(&state.centroids, &sum, &reciprocals)?;
        add_time(&mut time.update, start);
        let centroids = self.refreshed(&moved, &mut time)?;
        Ok((KMeansState { iteration: state.iteration + 1, centroids, assigned }, time))
    }

    /// Starts from chosen points. The centroids of `state`, before any iteration, are replaced by
    /// the points with these indices, one for each cluster. They are as precise as centroids after
    /// an iteration.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of chosen points is not that of the
    /// clusters, or if there are no such points. Also returns the errors of [`KMeans::iterate`].
    pub fn start_from(
        &self,
        points: &[Ciphertext],
        state: &KMeansState,
        chosen: &[usize],
    ) -> Result<KMeansState, PegasusError> {
        const OPERATION: &str = "choose points as centroids";
        self.check_points(points)?;
        let (e, shape, together) =
            (self.evaluator(), self.plan.shape(), self.plan.points_per_ciphertext());
        if chosen.len() != shape.clusters() || chosen.iter().any(|i| *i >= shape.points()) {
            let (clusters, count) = (shape.clusters(), shape.points());
            return argument(
                OPERATION,
                format!("{chosen:?}: {clusters} of 0 to {} are needed", count - 1),
            );
        }
        let centroids = self.widened(state)?;
        let mut sum: Option<Ciphertext> = None;
        for (k, points) in points.iter().enumerate() {
            // The row of a point holds it once for every cluster. The mask keeps the copy in the
            // place of its own cluster.
            let mut mask = vec![0.0; together * shape.width()];
            for (j, i) in chosen.iter().enumerate().filter(|(_, i)| *i / together == k) {
                let first = i % together * shape.width() + j * shape.stride();
                mask[first..first + shape.dimension()].fill(1.0);
            }
            let points = self.aligned(points, &centroids)?;
            let mask = e.context().encode(
                Values::Real(&mask),
                mask.len(),
                self.scale()?,
                points.modulus(),
            )?;
            let masked = e.rescale(&e.mul_plain(&points, &mask)?, self.scale()?)?;
            sum = Some(match sum.take() {
                None => masked,
                Some(before) => self.add_at_one_modulus(&before, &masked)?,
            });
        }
        let Some(sum) = sum else {
            return argument(OPERATION, "there are no points".into());
        };
        let mut start =
            e.inner_sum(&sum, shape.width(), together)?.with_slots(e.context(), shape.width())?;
        start.set_bound(1.0);
        let centroids = self.refreshed(&start, &mut IterationTimes::default())?;
        Ok(KMeansState { iteration: 0, centroids, assigned: Vec::new() })
    }

    /// Returns the centroids as if they had no error, in the number of slots of the points.
    fn widened(&self, state: &KMeansState) -> Result<Ciphertext, PegasusError> {
        self.without_error(
            &state.centroids,
            self.plan.points_per_ciphertext() * self.plan.shape().width(),
            1.0,
        )
    }

    /// Checks that the number of ciphertexts is that of the points.
    fn check_points(&self, ciphertexts: &[Ciphertext]) -> Result<(), PegasusError> {
        let all = self.plan.shape().points().div_ceil(self.plan.points_per_ciphertext());
        if ciphertexts.len() != all {
            let have = ciphertexts.len();
            return argument(
                OPERATION,
                format!("{have} ciphertexts of points: there are {all} in this shape"),
            );
        }
        Ok(())
    }

    fn evaluator(&self) -> &Evaluator {
        self.pegasus.evaluator()
    }

    /// Returns the scale of all products.
    fn scale(&self) -> Result<Scale, PegasusError> {
        scale_of_bits(self.plan.slot_scale_bits())
    }

    /// Returns the same ciphertext as if it had no error, read with this number of slots. Its
    /// values repeat in these slots.
    ///
    /// The limit of the steps does not depend on where they start. Their length only changes how
    /// close they come to it. So the errors of centroids and reciprocals do not count as errors of
    /// the next centroids.
    fn without_error(
        &self,
        a: &Ciphertext,
        slots: usize,
        bound: f64,
    ) -> Result<Ciphertext, PegasusError> {
        let mut a =
            a.clone().with_noise(Noise::NONE).with_slots(self.evaluator().context(), slots)?;
        a.set_bound(bound);
        Ok(a)
    }

    fn aligned(
        &self,
        points: &Ciphertext,
        centroids: &Ciphertext,
    ) -> Result<Ciphertext, PegasusError> {
        if points.slots() != centroids.slots() {
            let what =
                format!("points in {} slots: {} are needed", points.slots(), centroids.slots());
            return argument(OPERATION, what);
        }
        let mut points = points.clone();
        points.set_bound(1.0);
        Ok(self.evaluator().adjust(&points, centroids.modulus(), centroids.scale())?)
    }

    /// Computes `|c_j|^2 - 2 <x_i, c_j>` in slot `(i K' + j) d'`, from points and centroids at one
    /// modulus and scale. Coordinates of the centroids have an error of about `2^error_log2`.
    fn distances(
        &self,
        points: &Ciphertext,
        centroids: &Ciphertext,
        error_log2: f64,
    ) -> Result<Ciphertext, PegasusError> {
        let (e, shape) = (self.evaluator(), self.plan.shape());
        let difference = e.sub(centroids, &e.mul_integer(points, 2)?)?;
        let mut products = e.mul_rescale(centroids, &difference, self.scale()?)?;
        // The sums in slots without a distance do not matter.
        products.set_bound(1.0);
        let sums = e.inner_sum(&products, 1, shape.stride())?;
        // The derivative is 2 (c_j - x_i), and its norm is at most 4.
        let error = 2.0 + error_log2 + sums.scale().log2() - 0.5 * (sums.slots() as f64).log2();
        let noise = sums.inner().noise().plus(Noise::from_log2_std(error));
        let mut distances = sums.with_noise(noise);
        distances.set_bound(distance_bound(&shape));
        Ok(distances)
    }

    /// Extracts the distances of `count` points as single numbers. Distances from the same centroid
    /// are adjacent.
    fn extract_distances(
        &self,
        distances: &Ciphertext,
        count: usize,
    ) -> Result<Numbers, PegasusError> {
        let shape = self.plan.shape();
        let slot = |i: usize, j: usize| i * shape.width() + j * shape.stride();
        let slots: Vec<usize> =
            (0..shape.clusters()).flat_map(|j| (0..count).map(move |i| slot(i, j))).collect();
        self.pegasus.extract(&self.pegasus.to_coefficients(distances)?, &slots)
    }

    /// Returns bits at the scale of repacking that mark the nearest centroid, cluster by cluster.
    fn winners(&self, distances: &Numbers) -> Result<Vec<Numbers>, PegasusError> {
        let (clusters, plan) = (self.plan.shape().clusters(), self.pegasus.plan());
        // In the last round differences may use the whole circle (`distance_bound`).
        let widest = distances.largest_bound() / (1.0 + plan.literal().margin);
        let spread = widest / f64::from(rounds(clusters) - 1).exp2();
        let levels =
            self.pegasus.tournament(distances, clusters, spread, plan.repacking_scale(1.0)?)?;
        let Some(bits) = levels.first() else {
            return argument(OPERATION, "there are no clusters".into());
        };
        let groups = bits.len() / clusters;
        (0..clusters).map(|j| bits.select(&indices_at(j..j + 1, groups))).collect()
    }

    /// Repacks bits into every slot of their points and clusters.
    fn repack_bits(&self, bits: &[Numbers]) -> Result<Ciphertext, PegasusError> {
        let (shape, together) = (self.plan.shape(), self.plan.points_per_ciphertext());
        let (mut places, mut all) = (Vec::new(), None);
        for (j, bits) in bits.iter().enumerate() {
            let rows: Vec<usize> =
                (0..bits.len()).flat_map(|i| vec![i; shape.dimension()]).collect();
            let first = |i: usize| i * shape.width() + j * shape.stride();
            places.extend((0..bits.len()).flat_map(|i| first(i)..first(i) + shape.dimension()));
            let spread = bits.select(&rows)?;
            all = Some(match all.take() {
                None => spread,
                Some(before) => Numbers::concat(before, &spread)?,
            });
        }
        match all {
            Some(all) => self.pegasus.repack(&all, &Layout::new(together * shape.width(), places)?),
            None => argument(OPERATION, "there are no clusters".into()),
        }
    }

    /// Returns `sum_i b_ij (x_i - c_j)` and `sum_i b_ij`, both divided by the number of all points,
    /// in `K' d'` slots.
    fn sums_of_members(
        &self,
        bits: &Ciphertext,
        points: &Ciphertext,
        centroids: &Ciphertext,
    ) -> Result<[Ciphertext; 2], PegasusError> {
        let (e, shape, together) =
            (self.evaluator(), self.plan.shape(), self.plan.points_per_ciphertext());
        let Some(count) = Scale::from_integer(shape.points() as u128) else {
            return argument(OPERATION, "there are no points".into());
        };
        let differences = e.sub(points, centroids)?;
        let (left, right) = self.in_one_modulus(bits, &differences)?;
        // At this smaller scale of products, the sums have the requested scale in units of all
        // points.
        let products = e.mul_rescale(&left, &right, self.scale()?.over(count))?;
        let sum = |a: &Ciphertext, bound: f64| -> Result<Ciphertext, PegasusError> {
            let sum = e.inner_sum(a, shape.width(), together)?;
            let scale = sum.scale().times(count);
            let mut sum = sum.read_at(scale).with_slots(e.context(), shape.width())?;
            sum.set_bound(bound);
            Ok(sum)
        };
        Ok([sum(&products, 2.0)?, sum(bits, 1.0)?])
    }

    fn add_at_one_modulus(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<Ciphertext, PegasusError> {
        let mut sum = self.evaluator().add(a, b)?;
        sum.set_bound(a.bound());
        Ok(sum)
    }

    /// Returns both ciphertexts at the smaller of their moduli.
    fn in_one_modulus(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(Ciphertext, Ciphertext), PegasusError> {
        let e = self.evaluator();
        let log2 = |c: &Ciphertext| e.context().parameters().log2(c.modulus());
        let pair = match a.modulus() == b.modulus() {
            true => (a.clone(), b.clone()),
            false if log2(a) > log2(b) => (e.bring_to(a, b.modulus())?, b.clone()),
            false => (a.clone(), e.bring_to(b, a.modulus())?),
        };
        Ok(pair)
    }

    /// Returns `1/x`, up to a limit, where `x` is the fraction of all points that a cluster has.
    fn reciprocals(
        &self,
        shares: &Ciphertext,
        time: &mut IterationTimes,
    ) -> Result<Ciphertext, PegasusError> {
        let shape = self.plan.shape();
        let max_reciprocal = largest_reciprocal(&shape);
        let start = Instant::now();
        let mut centred = self.evaluator().add_number(shares, -0.5)?;
        centred.set_bound(0.5);
        let slots: Vec<usize> = (0..shape.clusters()).map(|j| j * shape.stride()).collect();
        let x = self.pegasus.extract(&self.pegasus.to_coefficients(&centred)?, &slots)?;
        let start = add_time(&mut time.extraction, start);
        let scale = self.pegasus.plan().repacking_scale(max_reciprocal)?;
        // The error of the index changes the length of a step, but not the limit of the steps.
        let reciprocals =
            self.pegasus.look_up_steps(&x, scale, |x| 1.0 / (x + 0.5).max(1.0 / max_reciprocal))?;
        let start = add_time(&mut time.look_ups, start);
        let rows: Vec<usize> =
            (0..shape.clusters()).flat_map(|j| vec![j; shape.dimension()]).collect();
        let layout = Layout::new(shape.width(), shape.centroid_slots())?;
        let packed = self.pegasus.repack(&reciprocals.select(&rows)?, &layout)?;
        add_time(&mut time.repacking, start);
        Ok(packed)
    }

    /// Returns the centroids plus the products of reciprocals and sums.
    fn moved_centroids(
        &self,
        centroids: &Ciphertext,
        sums: &Ciphertext,
        reciprocals: &Ciphertext,
    ) -> Result<Ciphertext, PegasusError> {
        let e = self.evaluator();
        let reciprocals =
            self.without_error(reciprocals, reciprocals.slots(), reciprocals.bound())?;
        let (left, right) = self.in_one_modulus(&reciprocals, sums)?;
        let mut step = e.mul_rescale(&left, &right, self.scale()?)?;
        step.set_bound(2.0);
        let old = self.without_error(centroids, centroids.slots(), 1.0)?;
        Ok(e.add(&e.adjust(&old, step.modulus(), step.scale())?, &step)?)
    }

    /// Returns the same centroids with the capacity of repacked ones.
    fn refreshed(
        &self,
        centroids: &Ciphertext,
        time: &mut IterationTimes,
    ) -> Result<Ciphertext, PegasusError> {
        let shape = self.plan.shape();
        let start = Instant::now();
        let mut wide = centroids.clone();
        wide.set_bound(widening(self.pegasus.plan().literal()));
        let slots = shape.centroid_slots();
        let x =
            self.pegasus.extract(&self.pegasus.to_coefficients(&wide)?, &slots)?.with_bound(1.0)?;
        let start = add_time(&mut time.extraction, start);
        let packed = self.pegasus.repack(&x, &Layout::new(shape.width(), slots)?)?;
        add_time(&mut time.repacking, start);
        Ok(packed)
    }
}

/// Adds the time since `start`, and returns the current time.
fn add_time(to: &mut Duration, start: Instant) -> Instant {
    let now = Instant::now();
    *to += now - start;
    now
}
