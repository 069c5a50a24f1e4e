//! K-means on encrypted points, by look-up tables ([`hippocrene_pegasus::KMeans`]) or by
//! comparisons in slots ([`in_slots`]).

mod in_slots;

use std::{borrow::Cow, time::Instant};

use hippocrene_ckks::Ciphertext;
use hippocrene_pegasus::{IterationTimes, KMeans, KMeansState};

use crate::server::Server;
use crate::{
    Array, Clustering, EncryptedArray, Error, Layout, Numbers, Origin, SlotContents,
    clustering::{bit_layout, centroid_layout, slot_circuit::least_capacity},
};
use in_slots::InSlots;

const OPERATION: &str = "an iteration of k-means";

/// The way in which this server computes k-means on given clusters.
enum Method<'s> {
    Tables(&'s KMeans),
    Slots(InSlots<'s>),
}

impl Method<'_> {
    /// The number of points in a ciphertext.
    fn together(&self) -> usize {
        match self {
            Method::Tables(k_means) => k_means.plan().points_per_ciphertext(),
            Method::Slots(in_slots) => in_slots.together(),
        }
    }
}

impl Server {
    /// Computes one iteration of k-means from `clusters`, on the points of `points`. Also returns
    /// the time of each part.
    ///
    /// The client decides on the method, for which it makes the keys and encrypts the points
    /// ([`KMeansMethod`](crate::KMeansMethod)). In slots, comparisons count as look-ups, and there
    /// is no extraction and no repacking.
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
        let (method, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, &method, OPERATION)?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = match &method {
            Method::Tables(k_means) => k_means.iterate(&rows, &state)?,
            Method::Slots(in_slots) => {
                let (mut assigned, mut time) = (Vec::new(), IterationTimes::default());
                for (block, rows) in rows.iter().enumerate() {
                    let (bits, part) = self.nearest_in_slots(in_slots, rows, block, &state)?;
                    time += part;
                    assigned.push(bits);
                }
                let (next, part) = self.update_in_slots(in_slots, &rows, assigned, &state)?;
                time += part;
                (next, time)
            }
        };
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
        let (method, state) = self.state(clusters, OPERATION)?;
        self.check(points, OPERATION)?;
        let expanded = points.expanded(&self.session);
        let [points] = &expanded[..] else {
            return Err(Error::argument(OPERATION, "a block is one ciphertext of points"));
        };
        let points = self.seen_by(points, &method, clusters.shape())?;
        let (bits, sectors) = match &method {
            Method::Tables(k_means) => k_means.assign(&points, block, &state)?,
            Method::Slots(in_slots) => self.nearest_in_slots(in_slots, &points, block, &state)?,
        };
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
        let (method, state) = self.state(clusters, OPERATION)?;
        let rows = self.rows(points, &method, OPERATION)?;
        assigned.iter().try_for_each(|a| self.check(a, OPERATION))?;
        let bits = assigned.iter().flat_map(|a| a.expanded(&self.session));
        let bits = bits.map(|c| self.seen_by(&c, &method, clusters.shape()));
        let bits = bits.collect::<Result<Vec<_>, _>>()?;
        let origin = origin(points, clusters)?;
        let (next, sectors) = match &method {
            Method::Tables(k_means) => k_means.update(&rows, bits, &state)?,
            Method::Slots(in_slots) => self.update_in_slots(in_slots, &rows, bits, &state)?,
        };
        Ok((self.clustering(points, origin, next)?, sectors))
    }

    /// Assigns new points ([`ClientKey::encrypt_new_points`](crate::ClientKey::encrypt_new_points))
    /// to the nearest of `clusters`. Also returns the time of each part.
    ///
    /// It works as in an iteration, with as many look-ups or comparisons for each point. The result
    /// has these clusters and the assignment.
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
        let (method, state) = self.state(clusters, OPERATION)?;
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
        let together = method.together();
        for (k, rows) in self.checked_rows(points, rows, &method, OPERATION)?.iter().enumerate() {
            let count = together.min(points.count() - k * together);
            let (bits, part) = match &method {
                Method::Tables(k_means) => k_means.nearest(rows, count, &state)?,
                Method::Slots(in_slots) => in_slots.nearest(rows, count, &state.centroids)?,
            };
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
        let (method, state) = self.state(points, OPERATION)?;
        let rows = self.rows(points, &method, OPERATION)?;
        let begun = match &method {
            Method::Tables(k_means) => k_means.start_from(&rows, &state, chosen)?,
            Method::Slots(in_slots) => {
                let shape = points.shape();
                if chosen.len() != shape.clusters() || chosen.iter().any(|i| *i >= shape.points()) {
                    let (clusters, last) = (shape.clusters(), shape.points() - 1);
                    let what = format!("{chosen:?}: {clusters} of 0 to {last} are needed");
                    return Err(Error::argument(OPERATION, what));
                }
                let centroids = in_slots.refreshed(&in_slots.chosen(&rows, chosen)?)?;
                KMeansState { iteration: 0, centroids, assigned: Vec::new() }
            }
        };
        self.clustering(points, points.as_origin(Some(chosen)), begun)
    }

    /// Assigns the points of the `block`-th ciphertext in slots.
    fn nearest_in_slots(
        &self,
        in_slots: &InSlots<'_>,
        points: &Ciphertext,
        block: usize,
        state: &KMeansState,
    ) -> Result<(Ciphertext, IterationTimes), Error> {
        let (all, together) = (in_slots.shape().points(), in_slots.together());
        let first = block.saturating_mul(together);
        if first >= all {
            let what = format!("there is no ciphertext {block} of points");
            return Err(Error::argument(OPERATION, what));
        }
        in_slots.nearest(points, together.min(all - first), &state.centroids)
    }

    /// Ends an iteration in slots.
    fn update_in_slots(
        &self,
        in_slots: &InSlots<'_>,
        points: &[Ciphertext],
        assigned: Vec<Ciphertext>,
        state: &KMeansState,
    ) -> Result<(KMeansState, IterationTimes), Error> {
        let (have, need) = (assigned.len(), points.len());
        if have != need {
            let what = format!("{have} ciphertexts of points: there are {need} in this shape");
            return Err(Error::argument(OPERATION, what));
        }
        let start = Instant::now();
        let centroids = in_slots.moved(points, &assigned, &state.centroids)?;
        let centroids = in_slots.refreshed(&centroids)?;
        let time = IterationTimes { update: start.elapsed(), ..IterationTimes::default() };
        Ok((KMeansState { iteration: state.iteration + 1, centroids, assigned }, time))
    }

    /// Returns the method for these clusters, and the clusters as the state to go on from.
    fn state(
        &self,
        clusters: &Clustering,
        operation: &'static str,
    ) -> Result<(Method<'_>, KMeansState), Error> {
        let shape = clusters.shape();
        let method = self.method(clusters, operation)?;
        if let Method::Tables(k_means) = &method {
            self.check_shape(clusters, k_means.plan().shape(), operation)?;
        }
        self.check(&clusters.centroids, operation)?;
        let centroids = clusters.centroids.expanded(&self.session);
        let centroids: &Cow<'_, Ciphertext> =
            centroids.first().ok_or_else(|| Error::Internal("there are no centroids".into()))?;
        let slots = match &method {
            Method::Tables(_) => shape.width(),
            Method::Slots(_) => self.session.slots(),
        };
        let centroids = self.seen_with(centroids, slots)?;
        Ok((method, KMeansState { iteration: clusters.iteration, centroids, assigned: Vec::new() }))
    }

    /// Returns the method that the client encrypted these clusters for.
    fn method(&self, clusters: &Clustering, operation: &'static str) -> Result<Method<'_>, Error> {
        let fail = |what: String| Err(Error::argument(operation, what));
        match (clusters.is_for_slots(), &self.k_means, self.bootstrap_reserve()) {
            (true, _, Some(reserve)) => {
                let (have, need) =
                    (clusters.centroids.capacity_bits(&self.session), least_capacity(reserve));
                if have < need {
                    return fail(format!(
                        "the centroids have {have:.0} bits of capacity, and {need:.0} are needed \
                         to compute in slots with these keys. Make the keys for that \
                         (KMeansMethod::Slots)."
                    ));
                }
                self.in_slots(clusters.shape()).map(Method::Slots)
            }
            (false, Some(k_means), _) => Ok(Method::Tables(k_means)),
            (true, Some(_), None) => fail(
                "the points are encrypted for comparisons in slots, and this server has keys of \
                 look-up tables. Encrypt the points for these (KMeansMethod::Tables)."
                    .into(),
            ),
            (false, None, Some(_)) => fail(
                "the points are encrypted for look-up tables, and this server has bootstrapping \
                 keys. Encrypt the points for comparisons in slots (KMeansMethod::Slots)."
                    .into(),
            ),
            (_, None, None) => {
                let what = "this server has no keys for k-means. Make evaluation keys with them \
                            (KMeansMethod::key_request).";
                Err(Error::NoKeys { operation, what: what.into() })
            }
        }
    }

    /// Returns the points that are clustered, ciphertext by ciphertext.
    fn rows(
        &self,
        points: &Clustering,
        method: &Method<'_>,
        operation: &'static str,
    ) -> Result<Vec<Ciphertext>, Error> {
        let Some(rows) = &points.points else {
            return Err(Error::argument(operation, "the first operand has no points"));
        };
        if points.has_new_points() {
            let what = "the points were encrypted for existing clusters, to which they are only \
                        assigned. Encrypt points to be clustered without clusters.";
            return Err(Error::argument(operation, what));
        }
        self.checked_rows(points, rows, method, operation)
    }

    /// Checks the key and the shape of points, and returns them ciphertext by ciphertext.
    fn checked_rows(
        &self,
        points: &Clustering,
        rows: &EncryptedArray,
        method: &Method<'_>,
        operation: &'static str,
    ) -> Result<Vec<Ciphertext>, Error> {
        self.check(rows, operation)?;
        match method {
            Method::Tables(k_means) => {
                self.check_shape(points, k_means.plan().shape(), operation)?;
            }
            Method::Slots(in_slots) => self.check_shape(points, in_slots.shape(), operation)?,
        }
        let expanded = rows.expanded(&self.session);
        expanded.iter().map(|c| self.seen_by(c, method, points.shape())).collect()
    }

    /// Returns a ciphertext of points or bits in the number of slots that a method uses.
    fn seen_by(
        &self,
        a: &Ciphertext,
        method: &Method<'_>,
        shape: crate::Shape,
    ) -> Result<Ciphertext, Error> {
        let slots = match method {
            Method::Tables(_) => method.together() * shape.width(),
            Method::Slots(_) => self.session.slots(),
        };
        self.seen_with(a, slots)
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
        Ok(made.with_origin(Some(origin)).for_slots(points.is_for_slots()))
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
