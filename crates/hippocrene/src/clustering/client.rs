//! What a client of k-means does.

use hippocrene_ckks::{Scale, Values};
use hippocrene_pegasus::KMeansPlan;
use zeroize::Zeroizing;

use super::{Clustering, centroid_layout, point_layout};
use crate::{
    CiphertextBody, ClientKey, EncryptedArray, Encryption, Error, Fresh, Layout, LookUps, Numbers,
    Shape, SlotContents,
};

const OPERATION: &str = "encrypt points";

impl ClientKey {
    /// Encrypts points, row by row, and the centroids to start from, for a server whose keys are of
    /// these `look_ups`. Coordinates are taken from the middle of the points and over the largest
    /// distance of any of them, or of a centroid, from there; both stay secret.
    ///
    /// # Errors
    /// [`Error::Argument`] when the look-ups are not for clusters, there are not as many numbers as
    /// their shape has, one is not finite, or distances are too large for a number or too small for
    /// the parameters; as [`LookUps::plan`], and as [`ClientKey::encrypt`] for the middle and that
    /// distance.
    pub fn encrypt_points(
        &self,
        look_ups: &LookUps,
        points: &[f64],
        start: &[f64],
    ) -> Result<Clustering, Error> {
        let shape = shape_of(look_ups)?;
        for (numbers, rows, of) in
            [(points, shape.points(), "points"), (start, shape.clusters(), "centroids")]
        {
            let (have, d) = (numbers.len(), shape.dimension());
            if have != rows * d {
                let what = format!(
                    "{have} numbers for {rows} {of} of dimension {d}: {} are needed",
                    rows * d
                );
                return Err(Error::argument(OPERATION, what));
            }
            if let Some(i) = numbers.iter().position(|x| !x.is_finite()) {
                let what = format!(
                    "number {i} of the {of} is {}, only finite ones can be encrypted",
                    numbers[i]
                );
                return Err(Error::argument(OPERATION, what));
            }
        }
        let plan = look_ups.clustering(self.session(), shape)?;
        let frame = frame(shape, points, start);
        if frame.iter().any(|x| !x.is_finite()) {
            return Err(Error::argument(OPERATION, "distances are too large for a number"));
        }
        let inside = |values: &[f64]| Zeroizing::new(to_frame(values, &frame));
        let (points, start) = (inside(points), inside(start));
        let slots = self.session().slots();
        let rows = shape.points_in_slots(&points, plan.together())?;
        let layout = point_layout(shape, shape.points(), slots)?;
        let points = self.repeated(&rows, layout, &plan, plan.point_bits())?;
        let start = [shape.centroids_in_slots(&start)?];
        let layout = centroid_layout(shape, slots)?;
        let centroids = self.repeated(&start, layout, &plan, plan.centroid_bits())?;
        // As precise in units of the radius, however small that is.
        let smaller = (-frame[shape.dimension()].log2()).max(0.0).ceil();
        let precision = Some(self.session().settings().precision() + smaller);
        let how = Encryption { precision, ..Encryption::default() };
        let frame = self.encrypt_with(Values::Real(&frame), &[frame.len()], &how);
        let frame = frame.map_err(|error| match error {
            Error::Parameters(_) => Error::argument(
                OPERATION,
                "the points are nearer to each other than the precision can be that there is: count them in a smaller unit",
            ),
            error => error,
        })?;
        Clustering::from_parts(shape, 0, [frame, centroids], None, Some(points))
    }

    /// The standard deviation of the error by which squared distances are compared where centroids
    /// are found, over the square of the largest distance of a point, or of a centroid to start
    /// from, from the middle of the points: [`KMeansPlan::nearest_deviation`].
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_points`].
    pub fn nearest_deviation(&self, look_ups: &LookUps) -> Result<f64, Error> {
        let plan = look_ups.clustering(self.session(), shape_of(look_ups)?)?;
        Ok(plan.nearest_deviation()?)
    }

    /// The centroids, row by row, and the cluster of every point: the one with the centroid that it
    /// was nearest to in the last iteration, before this moved; of new points the one that they are
    /// nearest to. No labels before the first iteration.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_clusters(
        &self,
        clusters: &Clustering,
    ) -> Result<(Vec<f64>, Option<Vec<usize>>), Error> {
        clusters.read(|array| Ok(Zeroizing::new(self.decrypt(array)?)))
    }

    /// Slots that repeat up to the last one, a ciphertext for each of them, at the scale of `plan`
    /// and the grafted modulus of so many bits.
    pub(super) fn repeated(
        &self,
        slots: &[Vec<f64>],
        layout: Layout,
        plan: &KMeansPlan,
        bits: f64,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session().context();
        let modulus = context.parameters().grafted_modulus(bits);
        let scale = Scale::from_f64(plan.slot_scale_bits().exp2())
            .ok_or_else(|| Error::Internal("the plan has no scale".into()))?;
        let encrypt = |slots: &Vec<f64>| {
            let all = Zeroizing::new(slots.repeat(self.session().slots() / slots.len()));
            let plaintext = context.encode(Values::Real(&all), all.len(), scale, modulus)?;
            Ok(CiphertextBody::Seeded(Fresh::new(context.encrypt(self.secret(), &plaintext)?)))
        };
        let bodies = slots.iter().map(encrypt).collect::<Result<Vec<_>, Error>>()?;
        let form = Numbers {
            complex: false,
            precision: self.session().settings().precision(),
            interval: None,
            error_known: true,
        };
        let array = EncryptedArray::from_parts(layout, form, SlotContents::Stray, bodies)
            .ok_or_else(|| Error::Internal("points have another number of ciphertexts".into()))?;
        array.with_bound(1.0)
    }
}

impl Clustering {
    /// The centroids, row by row, and labels if there are any, from the elements of its arrays.
    pub(crate) fn read<E>(
        &self,
        elements: impl Fn(&EncryptedArray) -> Result<Zeroizing<Vec<f64>>, E>,
    ) -> Result<(Vec<f64>, Option<Vec<usize>>), E> {
        let k = self.shape.clusters();
        let (frame, centroids) = (elements(&self.frame)?, elements(&self.centroids)?);
        let centroids = of_frame(&centroids, &frame);
        let Some(assigned) = &self.assigned else { return Ok((centroids, None)) };
        let bits = elements(assigned)?;
        let label =
            |bits: &[f64]| (1..k).fold(0, |best, j| if bits[j] > bits[best] { j } else { best });
        Ok((centroids, Some(bits.chunks_exact(k).map(label).collect())))
    }
}

fn shape_of(look_ups: &LookUps) -> Result<Shape, Error> {
    let refused = || Error::argument(OPERATION, "the look-ups are for functions, not for clusters");
    look_ups.clusters.ok_or_else(refused)
}

/// The middle of the points, and how far the farthest point or centroid is from there.
fn frame(shape: Shape, points: &[f64], start: &[f64]) -> Vec<f64> {
    let d = shape.dimension();
    let mut frame = vec![0.0; d + 1];
    for point in points.chunks_exact(d) {
        point.iter().zip(&mut frame).for_each(|(x, sum)| *sum += x / shape.points() as f64);
    }
    // Squares of small numbers, and of large ones, are none.
    let norm =
        |point: &[f64]| point.iter().zip(&frame).fold(0.0, |norm: f64, (x, m)| norm.hypot(x - m));
    let largest = points.chunks_exact(d).chain(start.chunks_exact(d)).map(norm).fold(0.0, f64::max);
    frame[d] = if largest > 0.0 { largest } else { 1.0 };
    frame
}

pub(super) fn to_frame(values: &[f64], frame: &[f64]) -> Vec<f64> {
    let d = frame.len() - 1;
    values.iter().enumerate().map(|(i, x)| (x - frame[i % d]) / frame[d]).collect()
}

fn of_frame(values: &[f64], frame: &[f64]) -> Vec<f64> {
    let d = frame.len() - 1;
    values.iter().enumerate().map(|(i, x)| x * frame[d] + frame[i % d]).collect()
}
