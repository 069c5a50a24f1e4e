//! Clusters of encrypted points ([`hippocrene_pegasus::KMeans`]).

use std::borrow::Cow;

use hippocrene_ckks::Ciphertext;
use hippocrene_pegasus::{KMeansState, Sectors};

use super::Server;
use crate::{
    Array, Clustering, EncryptedArray, Error, Layout, Numbers,
    clustering::{bit_layout, centroid_layout},
};

const OPERATION: &str = "an iteration of k-means";

impl Server {
    /// One iteration of k-means from `clusters`, on the points of `points`; and how long its parts took. The same operands give the same result, bit for bit, in whatever process.
    ///
    /// # Errors
    /// [`Error::Argument`] when the server has no keys for k-means, or those of another shape, or `points` has no points; as for other operations when keys or parameters differ.
    pub fn cluster(
        &self,
        points: &Clustering,
        clusters: &Clustering,
    ) -> Result<(Clustering, Sectors), Error> {
        let k_means = self.k_means.as_ref().ok_or_else(|| {
            let what =
                "this server has no keys for k-means: make evaluation keys with them (LookUps::clusters)";
            Error::argument(OPERATION, what)
        })?;
        let (plan, shape) = (k_means.plan(), k_means.plan().shape());
        for have in [points.shape(), clusters.shape()] {
            if have != shape {
                let text = |s: crate::Shape| {
                    format!(
                        "{} points of dimension {} in {} clusters",
                        s.points(),
                        s.dimension(),
                        s.clusters()
                    )
                };
                return Err(Error::argument(
                    OPERATION,
                    format!("{}, but the keys are for {}", text(have), text(shape)),
                ));
            }
        }
        let Some(rows) = &points.points else {
            return Err(Error::argument(OPERATION, "the first operand has no points"));
        };
        [rows, &clusters.centroids].into_iter().try_for_each(|a| self.check(a, OPERATION))?;
        let slots = plan.together() * shape.width();
        let rows = rows
            .expanded(&self.session)
            .iter()
            .map(|c| self.seen_with(c, slots))
            .collect::<Result<Vec<_>, _>>()?;
        let centroids = clusters.centroids.expanded(&self.session);
        let centroids: &Cow<'_, Ciphertext> =
            centroids.first().ok_or_else(|| Error::Internal("there are no centroids".into()))?;
        let centroids = self.seen_with(centroids, shape.width())?;
        let state = KMeansState { iteration: clusters.iteration, centroids, assigned: Vec::new() };
        let (next, sectors) = k_means.iterate(&rows, &state)?;
        let all = self.session.slots();
        let centroids = self.array(centroid_layout(shape, all)?, vec![next.centroids])?;
        let assigned = self.array(bit_layout(shape, all)?, next.assigned)?;
        let frame = points.frame.clone();
        let next = Clustering::from_parts(shape, next.iteration, [frame, centroids], Some(assigned), None)?;
        Ok((next, sectors))
    }

    /// The shape of the points that this server's keys are for, if they are for k-means.
    pub fn clusters(&self) -> Option<crate::Shape> {
        self.k_means.as_ref().map(|k_means| k_means.plan().shape())
    }

    /// The same slots, which repeat, counted up to where they do or on.
    fn seen_with(&self, a: &Ciphertext, slots: usize) -> Result<Ciphertext, Error> {
        Ok(Ciphertext::from_parts(self.session.context(), a.inner().clone(), a.scale(), slots, a.bound())?)
    }

    fn array(&self, layout: Layout, ciphertexts: Vec<Ciphertext>) -> Result<EncryptedArray, Error> {
        let slots = self.session.slots();
        let all = ciphertexts.iter().map(|c| self.seen_with(c, slots)).collect::<Result<Vec<_>, _>>()?;
        let form = Numbers { complex: false, precision: self.session.settings().precision() };
        Ok(Array::from_ciphertexts(layout, form, false, all))
    }
}
