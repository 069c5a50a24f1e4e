//! K-means on encrypted points ([`hippocrene_pegasus::KMeans`]).

use std::borrow::Cow;

use hippocrene_ckks::Ciphertext;
use hippocrene_pegasus::{IterationTimes, KMeans, KMeansState};

use crate::server::Server;
use crate::{
    Array, Clustering, EncryptedArray, Error, Layout, Numbers, Origin, SlotContents,
    clustering::{bit_layout, centroid_layout},
};

const OPERATION: &str = "an iteration of k-means";

impl Server {
    /// Computes one iteration of k-means from `clusters`, on the points of `points`. Also returns
    /// the time of each part.
    ///
    /// The same operands give the same result, bit for bit, in every process.
    ///
    /// # Errors
    /// [`Error::NoKeys`] if the server has no keys for k-means. [`Error::Argument`] if its keys are
    /// for another shape, if `points` has no points, or if `clusters` were made from other points.
    /// As for other operations if keys or parameters differ.
    pub fn cluster(
        &self,
        points: &Clustering,
        clusters: &Clustering,
    ) -> Result<(Clustering, IterationTimes), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, OPERATION)?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = k_means.iterate(&rows, &state)?;
        Ok((self.clustering(points, origin, next)?, sectors))
    }

    /// Assigns the points of one ciphertext, the `block`-th of [`Clustering::blocks`], to the
    /// nearest of `clusters`. This is one part of an iteration.
    ///
    /// The parts do not depend on each other, so that several machines may share them.
    /// [`Server::update_clusters`] ends the iteration.
    ///
    /// # Errors
    /// As [`Server::cluster`], and if there is no such block.
    pub fn assign_block(
        &self,
        points: &EncryptedArray,
        block: usize,
        clusters: &Clustering,
    ) -> Result<(EncryptedArray, IterationTimes), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        self.check(points, OPERATION)?;
        let plan = k_means.plan();
        let expanded = points.expanded(&self.session);
        let [points] = &expanded[..] else {
            return Err(Error::argument(OPERATION, "a block is one ciphertext of points"));
        };
        let points = self.seen_with(points, plan.points_per_ciphertext() * plan.shape().width())?;
        let (bits, sectors) = k_means.assign(&points, block, &state)?;
        let all = self.session.slots();
        let form = Numbers {
            complex: false,
            precision: self.session.settings().precision(),
            interval: None,
            error_known: true,
        };
        let bits = self.seen_with(&bits, all)?;
        Ok((
            Array::from_ciphertexts(
                Layout::packed(&[all], all)?,
                form,
                SlotContents::Zero,
                vec![bits],
            ),
            sectors,
        ))
    }

    /// Ends an iteration from `clusters`, given the assignment of every block by
    /// [`Server::assign_block`].
    ///
    /// The result equals that of [`Server::cluster`] bit for bit.
    ///
    /// # Errors
    /// As [`Server::cluster`], and if the number of assignments differs from the number of blocks.
    pub fn update_clusters(
        &self,
        points: &Clustering,
        assigned: &[EncryptedArray],
        clusters: &Clustering,
    ) -> Result<(Clustering, IterationTimes), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, OPERATION)?;
        assigned.iter().try_for_each(|a| self.check(a, OPERATION))?;
        let slots = k_means.plan().points_per_ciphertext() * k_means.plan().shape().width();
        let bits = assigned.iter().flat_map(|a| a.expanded(&self.session));
        let bits = bits.map(|c| self.seen_with(&c, slots)).collect::<Result<Vec<_>, _>>()?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = k_means.update(&rows, bits, &state)?;
        Ok((self.clustering(points, origin, next)?, sectors))
    }

    /// Assigns new points ([`ClientKey::encrypt_new_points`](crate::ClientKey::encrypt_new_points))
    /// to the nearest of `clusters`. Also returns the time of each part.
    ///
    /// It works as in an iteration, with as many look-ups for each point. The result has these
    /// clusters and the assignment.
    ///
    /// # Errors
    /// [`Error::Argument`] if `points` has no new points, or if they were encrypted for other
    /// clusters. As [`Server::cluster`] otherwise.
    pub fn assign_new_points(
        &self,
        points: &Clustering,
        clusters: &Clustering,
    ) -> Result<(Clustering, IterationTimes), Error> {
        const OPERATION: &str = "assign new points";
        let (k_means, state) = self.state(clusters, OPERATION)?;
        let Some(rows) = points.points.as_ref().filter(|_| points.has_new_points()) else {
            let what = "the first operand has no new points: encrypt them for these clusters";
            return Err(Error::argument(OPERATION, what));
        };
        let (have, need) = (points.origin.map(|origin| origin.points), clusters.digest());
        if have != Some(need) {
            let have = have.map_or("none".to_string(), |have| have.to_string());
            let what =
                format!("the points were encrypted for other clusters, {have}, than these, {need}");
            return Err(Error::argument(OPERATION, what));
        }
        let (mut assigned, mut time) = (Vec::new(), IterationTimes::default());
        let together = k_means.plan().points_per_ciphertext();
        for (k, rows) in self.checked_rows(points, rows, OPERATION)?.iter().enumerate() {
            let count = together.min(points.count() - k * together);
            let (bits, part) = k_means.nearest(rows, count, &state)?;
            time += part;
            assigned.push(bits);
        }
        let layout = bit_layout(points.shape(), points.count(), self.session.slots())?;
        let assigned = Some(self.array(layout, assigned)?);
        let made = Clustering { assigned, points: None, ..clusters.clone() };
        Ok((made, time))
    }

    /// Returns `points` with the points of the numbers `chosen` as centroids, one for each cluster,
    /// for a start that the server chooses.
    ///
    /// # Errors
    /// [`Error::Argument`] if the number of points differs from the number of clusters or a point
    /// does not exist. As [`Server::cluster`] otherwise.
    pub fn start_clusters(
        &self,
        points: &Clustering,
        chosen: &[usize],
    ) -> Result<Clustering, Error> {
        const OPERATION: &str = "choose points as centroids";
        let (k_means, state) = self.state(points, OPERATION)?;
        let rows = self.rows(points, OPERATION)?;
        let begun = k_means.start_from(&rows, &state, chosen)?;
        self.clustering(points, points.as_origin(Some(chosen)), begun)
    }

    /// Returns k-means with these clusters as the state to go on from.
    fn state(
        &self,
        clusters: &Clustering,
        operation: &'static str,
    ) -> Result<(&KMeans, KMeansState), Error> {
        let k_means = self.k_means.as_ref().ok_or_else(|| {
            let what = "this server has no keys for k-means. Make evaluation keys with them \
                        (LookUps::clusters).";
            Error::NoKeys { operation, what }
        })?;
        let shape = k_means.plan().shape();
        self.check_shape(clusters, shape, operation)?;
        self.check(&clusters.centroids, operation)?;
        let centroids = clusters.centroids.expanded(&self.session);
        let centroids: &Cow<'_, Ciphertext> =
            centroids.first().ok_or_else(|| Error::Internal("there are no centroids".into()))?;
        let centroids = self.seen_with(centroids, shape.width())?;
        Ok((
            k_means,
            KMeansState { iteration: clusters.iteration, centroids, assigned: Vec::new() },
        ))
    }

    /// Returns the points that are clustered, ciphertext by ciphertext.
    fn rows(&self, points: &Clustering, operation: &'static str) -> Result<Vec<Ciphertext>, Error> {
        let Some(rows) = &points.points else {
            return Err(Error::argument(operation, "the first operand has no points"));
        };
        if points.has_new_points() {
            let what = "the points were encrypted for existing clusters, to which they are only \
                        assigned. Encrypt points to be clustered without clusters.";
            return Err(Error::argument(operation, what));
        }
        self.checked_rows(points, rows, operation)
    }

    /// Checks the key and the shape of points, and returns them ciphertext by ciphertext.
    fn checked_rows(
        &self,
        points: &Clustering,
        rows: &EncryptedArray,
        operation: &'static str,
    ) -> Result<Vec<Ciphertext>, Error> {
        self.check(rows, operation)?;
        let shape = points.shape();
        let slots = shape.points_per_ciphertext(self.session.slots())? * shape.width();
        if let Some(k_means) = &self.k_means {
            self.check_shape(points, k_means.plan().shape(), operation)?;
        }
        rows.expanded(&self.session).iter().map(|c| self.seen_with(c, slots)).collect()
    }

    fn check_shape(
        &self,
        clusters: &Clustering,
        need: crate::Shape,
        operation: &'static str,
    ) -> Result<(), Error> {
        let have = clusters.shape();
        let text = |s: crate::Shape| {
            format!(
                "{} points of dimension {} in {} clusters",
                s.points(),
                s.dimension(),
                s.clusters()
            )
        };
        if have != need {
            let what = format!("{}, but the keys are for {}", text(have), text(need));
            return Err(Error::argument(operation, what));
        }
        Ok(())
    }

    /// Returns a state of k-means in the form that is stored.
    fn clustering(
        &self,
        points: &Clustering,
        origin: Origin,
        state: KMeansState,
    ) -> Result<Clustering, Error> {
        let (shape, all) = (points.shape(), self.session.slots());
        let centroids = self.array(centroid_layout(shape, all)?, vec![state.centroids])?;
        let assigned = match state.assigned.is_empty() {
            true => None,
            false => Some(self.array(bit_layout(shape, shape.points(), all)?, state.assigned)?),
        };
        let frame = points.frame.clone();
        let made =
            Clustering::from_parts(shape, state.iteration, [frame, centroids], assigned, None)?;
        Ok(Clustering { origin: Some(origin), ..made })
    }

    /// Returns the shape of the points that this server's keys are for, if they are for k-means.
    pub fn clusters(&self) -> Option<crate::Shape> {
        self.k_means.as_ref().map(|k_means| k_means.plan().shape())
    }

    /// Returns the same ciphertext, whose slots repeat, counted as one of `slots` slots.
    fn seen_with(&self, a: &Ciphertext, slots: usize) -> Result<Ciphertext, Error> {
        Ok(a.clone().with_slots(self.session.context(), slots)?)
    }

    fn array(&self, layout: Layout, ciphertexts: Vec<Ciphertext>) -> Result<EncryptedArray, Error> {
        let slots = self.session.slots();
        let all =
            ciphertexts.iter().map(|c| self.seen_with(c, slots)).collect::<Result<Vec<_>, _>>()?;
        let form = Numbers {
            complex: false,
            precision: self.session.settings().precision(),
            interval: None,
            error_known: true,
        };
        Ok(Array::from_ciphertexts(layout, form, SlotContents::Stray, all))
    }
}

/// Returns the origin of results computed from these clusters, after checking that they were made
/// from these points.
fn origin(points: &Clustering, clusters: &Clustering) -> Result<Origin, Error> {
    let of_points = points.as_origin(None);
    let Some(origin) = clusters.origin else {
        // Clusters as the client sent them: with the points, or as another start for them.
        let start = Some(clusters.digest()).filter(|digest| *digest != of_points.points);
        return Ok(Origin { start, ..of_points });
    };
    if origin.points != of_points.points {
        let (have, need) = (origin.points, of_points.points);
        let what = format!("the clusters were made of other points, {have}, than these, {need}");
        return Err(Error::argument(OPERATION, what));
    }
    Ok(origin)
}
