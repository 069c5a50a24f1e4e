//! The client's part of k-means.

use hippocrene_ckks::{Scale, Values};
use zeroize::Zeroizing;

use super::{Clustering, KMeansMethod, centroid_layout, point_layout};
use crate::{
    CiphertextBody, ClientKey, EncryptedArray, Encryption, Error, Fresh, Layout, Numbers, Shape,
    SlotContents,
};

const OPERATION: &str = "encrypt points";

impl ClientKey {
    /// Encrypts points and the centroids to start from, both row by row, for a server that has the
    /// keys of `method`. [`LookUps`](crate::LookUps) of clusters are a method too.
    ///
    /// Coordinates are first taken relative to the mean of the points. Then they are divided by the
    /// largest distance of any point or centroid from that mean. Mean and distance stay secret.
    ///
    /// # Errors
    /// [`Error::Argument`] in one of these cases:
    ///
    /// - the method is that of look-ups, and these are not for clusters,
    /// - the number of coordinates does not match their shape,
    /// - a coordinate is not finite,
    /// - a distance is too large for a double, or too small for the parameters.
    ///
    /// Also as [`LookUps::plan`](crate::LookUps::plan) and
    /// [`Bootstrapping::plan`](crate::Bootstrapping::plan), and as [`ClientKey::encrypt`] for the
    /// mean and that distance.
    pub fn encrypt_points(
        &self,
        method: impl Into<KMeansMethod>,
        points: &[f64],
        start: &[f64],
    ) -> Result<Clustering, Error> {
        let method = method.into();
        let shape = method.shape().map_err(|error| error.during(OPERATION))?;
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
        let encoding = method.encoding(self.session())?;
        let frame = frame(shape, points, start);
        if frame.iter().any(|x| !x.is_finite()) {
            return Err(Error::argument(OPERATION, "distances are too large for a number"));
        }
        let inside = |values: &[f64]| Zeroizing::new(to_frame(values, &frame));
        let (points, start) = (inside(points), inside(start));
        let slots = self.session().slots();
        let rows = shape.points_in_slots(&points, encoding.together)?;
        let layout = point_layout(shape, shape.points(), slots)?;
        let points = self.repeated(&rows, layout, encoding.scale_bits, encoding.point_bits)?;
        let start = [shape.centroids_in_slots(&start)?];
        let layout = centroid_layout(shape, slots)?;
        let (scale_bits, centroid_bits) = (encoding.scale_bits, encoding.centroid_bits);
        let centroids = self.repeated(&start, layout, scale_bits, centroid_bits)?;
        // The relative precision is the same for any radius, however small.
        let smaller = (-frame[shape.dimension()].log2()).max(0.0).ceil();
        let precision = Some(self.session().settings().precision() + smaller);
        let how = Encryption { precision, ..Encryption::default() };
        let frame = self.encrypt_with(Values::Real(&frame), &[frame.len()], &how);
        let frame = frame.map_err(|error| match error {
            Error::Parameters(_) => Error::argument(
                OPERATION,
                "the points are too near to each other for the highest precision. Measure them in \
                 a smaller unit.",
            ),
            error => error,
        })?;
        let made = Clustering::from_parts(shape, 0, [frame, centroids], None, Some(points))?;
        Ok(made.for_slots(method.is_slots()))
    }

    /// The standard deviation of the error when squared distances to centroids are compared.
    ///
    /// It is relative to the square of the largest distance of a point, or of a starting centroid,
    /// from the mean of the points. With tables, it is
    /// [`KMeansPlan::nearest_deviation`](hippocrene_pegasus::KMeansPlan::nearest_deviation). In
    /// slots, it is a bound that follows from the error of the centroids.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_points`].
    pub fn nearest_deviation(&self, method: impl Into<KMeansMethod>) -> Result<f64, Error> {
        method.into().nearest_deviation(self.session())
    }

    /// Decrypts the centroids, row by row, and the cluster of every point.
    ///
    /// The cluster of a point is the one whose centroid was nearest in the last iteration, before
    /// the centroids moved. For new points it is the one whose centroid is nearest. There are no
    /// labels before the first iteration.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_clusters(
        &self,
        clusters: &Clustering,
    ) -> Result<(Vec<f64>, Option<Vec<usize>>), Error> {
        clusters.read(|array| Ok(Zeroizing::new(self.decrypt(array)?)))
    }

    /// Encrypts vectors of slots, one ciphertext for each, and repeats each vector up to the last
    /// slot.
    ///
    /// The scale has `scale_bits` bits, and the modulus is the grafted modulus of `bits` bits.
    pub(super) fn repeated(
        &self,
        slots: &[Vec<f64>],
        layout: Layout,
        scale_bits: f64,
        bits: f64,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session().context();
        let modulus = context.parameters().grafted_modulus(bits);
        let scale = Scale::from_f64(scale_bits.exp2())
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
    /// Computes the centroids, row by row, and the labels if there are any, from the arrays as
    /// `elements` reads them.
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

/// The mean of the points, and the largest distance of a point or centroid from it (1 if that is
/// 0).
fn frame(shape: Shape, points: &[f64], start: &[f64]) -> Vec<f64> {
    let d = shape.dimension();
    let mut frame = vec![0.0; d + 1];
    for point in points.chunks_exact(d) {
        point.iter().zip(&mut frame).for_each(|(x, sum)| *sum += x / shape.points() as f64);
    }
    // Squares of very small or very large numbers would underflow or overflow, so this uses
    // `hypot`.
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
