//! The client's part of assigning points to existing clusters.

use zeroize::Zeroizing;

use super::{Clustering, KMeansMethod, Origin, client::to_frame, point_layout};
use crate::{ClientKey, EncryptedArray, Error};

const OPERATION: &str = "encrypt new points";

impl ClientKey {
    /// Encrypts points, row by row, to be assigned to `clusters` of other points.
    ///
    /// [`Server::assign_new_points`](crate::Server::assign_new_points) assigns them. There may be
    /// from 1 point up to the number of the other points. The coordinate system is read from
    /// `clusters`, and `method` is that of the server's keys, whatever its shape. Points outside
    /// the ball of the other points are moved into it so that the nearest centroid stays the
    /// nearest ([`Shape::new_points_in_slots`](crate::Shape::new_points_in_slots)).
    ///
    /// # Errors
    /// [`Error::Argument`] when the number of coordinates does not make rows of such points, a
    /// coordinate is not finite, or a point is so far out that squared distances are too large for
    /// a double. Also as [`ClientKey::encrypt_points`], and as [`ClientKey::decrypt`] for the
    /// arrays that are read from `clusters`.
    pub fn encrypt_new_points(
        &self,
        method: impl Into<KMeansMethod>,
        clusters: &Clustering,
        points: &[f64],
    ) -> Result<Clustering, Error> {
        self.new_points_by(method.into(), clusters, points, |array| {
            Ok(Zeroizing::new(self.decrypt(array)?))
        })
    }

    /// As [`ClientKey::encrypt_new_points`], with `read` to read the arrays of `clusters`.
    pub(crate) fn new_points_by(
        &self,
        method: KMeansMethod,
        clusters: &Clustering,
        points: &[f64],
        read: impl Fn(&EncryptedArray) -> Result<Zeroizing<Vec<f64>>, Error>,
    ) -> Result<Clustering, Error> {
        if let Some(i) = points.iter().position(|x| !x.is_finite()) {
            let what = format!(
                "number {i} of the points is {}, only finite ones can be encrypted",
                points[i]
            );
            return Err(Error::argument(OPERATION, what));
        }
        if method.is_slots() != clusters.is_for_slots() {
            let (have, need) = match clusters.is_for_slots() {
                true => ("look-up tables", "comparisons in slots"),
                false => ("comparisons in slots", "look-up tables"),
            };
            let what = format!(
                "the clusters are for {need}, and the points would be for {have}. Encrypt the \
                 points by the method of the clusters."
            );
            return Err(Error::argument(OPERATION, what));
        }
        let (shape, slots) = (clusters.shape(), self.session().slots());
        let encoding = method.with_shape(shape).encoding(self.session())?;
        let (frame, centroids) = (read(&clusters.frame)?, read(&clusters.centroids)?);
        let inside = Zeroizing::new(to_frame(points, &frame));
        let rows =
            Zeroizing::new(shape.new_points_in_slots(&inside, &centroids, encoding.together)?);
        let layout = point_layout(shape, points.len() / shape.dimension(), slots)?;
        let points = self.repeated(&rows, layout, encoding.scale_bits, encoding.point_bits)?;
        let arrays = [clusters.frame.clone(), clusters.centroids.clone()];
        let sent = Clustering::from_parts(shape, clusters.iteration(), arrays, None, Some(points))?;
        let origin = Origin { points: clusters.digest(), start: None };
        Ok(sent.with_origin(Some(origin)).for_slots(method.is_slots()))
    }
}
