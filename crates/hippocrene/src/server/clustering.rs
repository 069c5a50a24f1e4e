//! Clusters of encrypted points ([`hippocrene_pegasus::KMeans`]).

use std::borrow::Cow;

use hippocrene_ckks::Ciphertext;
use hippocrene_pegasus::{KMeans, KMeansState, Sectors};

use crate::server::Server;
use crate::{
    Array, Clustering, EncryptedArray, Error, Layout, Numbers, Origin, SlotContents,
    clustering::{bit_layout, centroid_layout},
};

const OPERATION: &str = "an iteration of k-means";

impl Server {
    /// One iteration of k-means from `clusters`, on the points of `points`; and how long its parts
    /// took. The same operands give the same result, bit for bit, in whatever process.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no keys for k-means; [`Error::Argument`] when it has
    /// those of another shape, `points` has no points, or `clusters` were made of others; as for
    /// other operations when keys or parameters differ.
    pub fn cluster(
        &self,
        points: &Clustering,
        clusters: &Clustering,
    ) -> Result<(Clustering, Sectors), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, OPERATION)?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = k_means.iterate(&rows, &state)?;
        Ok((self.clustering(points, origin, next)?, sectors))
    }

    /// The part of an iteration that is about the points of one ciphertext, the `block`-th of
    /// [`Clustering::blocks`]: which of `clusters` they are nearest to. Other machines may take
    /// part: parts are independent of one another, and [`Server::update_clusters`] ends the
    /// iteration.
    ///
    /// # Errors
    /// As [`Server::cluster`], and when there is no such block.
    pub fn assign_block(
        &self,
        points: &EncryptedArray,
        block: usize,
        clusters: &Clustering,
    ) -> Result<(EncryptedArray, Sectors), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        self.check(points, OPERATION)?;
        let plan = k_means.plan();
        let expanded = points.expanded(&self.session);
        let [points] = &expanded[..] else {
            return Err(Error::argument(OPERATION, "a block is one ciphertext of points"));
        };
        let points = self.seen_with(points, plan.together() * plan.shape().width())?;
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

    /// The end of an iteration from `clusters` in which the blocks of the points were assigned so,
    /// by [`Server::assign_block`]: bit for bit what [`Server::cluster`] returns.
    ///
    /// # Errors
    /// As [`Server::cluster`], and when there are not as many as blocks.
    pub fn update_clusters(
        &self,
        points: &Clustering,
        assigned: &[EncryptedArray],
        clusters: &Clustering,
    ) -> Result<(Clustering, Sectors), Error> {
        let (k_means, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, OPERATION)?;
        assigned.iter().try_for_each(|a| self.check(a, OPERATION))?;
        let slots = k_means.plan().together() * k_means.plan().shape().width();
        let bits = assigned.iter().flat_map(|a| a.expanded(&self.session));
        let bits = bits.map(|c| self.seen_with(&c, slots)).collect::<Result<Vec<_>, _>>()?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = k_means.update(&rows, bits, &state)?;
        Ok((self.clustering(points, origin, next)?, sectors))
    }

    /// Which of `clusters` new points are nearest to
    /// ([`ClientKey::encrypt_new_points`](crate::ClientKey::encrypt_new_points)), found as in an
    /// iteration, by as many look-ups for a point; and how long the parts of it took. The result
    /// has these clusters and the assignment.
    ///
    /// # Errors
    /// [`Error::Argument`] when `points` has no new points, or those were encrypted for other
    /// clusters; as [`Server::cluster`].
    pub fn assign_new_points(
        &self,
        points: &Clustering,
        clusters: &Clustering,
    ) -> Result<(Clustering, Sectors), Error> {
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
        let (mut assigned, mut time) = (Vec::new(), Sectors::default());
        let together = k_means.plan().together();
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

    /// A start from points that the server chooses: `points` with the points of these numbers as
    /// centroids, one for each cluster.
    ///
    /// # Errors
    /// [`Error::Argument`] when there are not as many as clusters, or no such points, and as
    /// [`Server::cluster`].
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

    /// K-means with these clusters to go on from.
    fn state(
        &self,
        clusters: &Clustering,
        operation: &'static str,
    ) -> Result<(&KMeans, KMeansState), Error> {
        let k_means = self.k_means.as_ref().ok_or_else(|| {
            let what =
                "this server has no keys for k-means: make evaluation keys with them (LookUps::clusters)";
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

    /// The points that are clustered, ciphertext by ciphertext.
    fn rows(&self, points: &Clustering, operation: &'static str) -> Result<Vec<Ciphertext>, Error> {
        let Some(rows) = &points.points else {
            return Err(Error::argument(operation, "the first operand has no points"));
        };
        if points.has_new_points() {
            let what = "the points are new ones, to be assigned to the clusters of others, not to be clustered";
            return Err(Error::argument(operation, what));
        }
        self.checked_rows(points, rows, operation)
    }

    /// Points of the shape that the keys are for, and of the key, ciphertext by ciphertext.
    fn checked_rows(
        &self,
        points: &Clustering,
        rows: &EncryptedArray,
        operation: &'static str,
    ) -> Result<Vec<Ciphertext>, Error> {
        self.check(rows, operation)?;
        let shape = points.shape();
        let slots = shape.together(self.session.slots())? * shape.width();
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

    /// What is stored of a state.
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

    /// The shape of the points that this server's keys are for, if they are for k-means.
    pub fn clusters(&self) -> Option<crate::Shape> {
        self.k_means.as_ref().map(|k_means| k_means.plan().shape())
    }

    /// The same slots, which repeat, counted up to where they do or on.
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

/// The origin of what is made of these clusters, if they are of these points.
fn origin(points: &Clustering, clusters: &Clustering) -> Result<Origin, Error> {
    let of_points = points.as_origin(None);
    let Some(origin) = clusters.origin else {
        // As they were sent: with the points, or another start for them.
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
