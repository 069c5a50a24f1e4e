//! K-means on encrypted points ([`hippocrene_pegasus::KMeans`]): what a client sends, what a server
//! makes of it, and what the client reads.

mod client;
mod new_points;

use hippocrene_pegasus::Shape;
use hippocrene_rlwe::Fingerprint;

use crate::{Array, CiphertextBody, EncryptedArray, Error, Layout, Numbers, SlotContents};

/// What a run began with. It stays with what is made of it, so that a run goes on from its own
/// checkpoints only. That of new points is the clusters that they are to be assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The digest of the points, as they were sent; in new points, that of the clusters.
    pub points: Fingerprint,
    /// That of the start, where it is another than the one that was sent with them.
    pub start: Option<Fingerprint>,
}

/// Encrypted points and the clusters made of them so far: what a client sends, what a run goes on
/// from after every iteration, and its result. Also new points, to be assigned to the clusters of
/// others, and what they were assigned to.
///
/// Coordinates are counted from a centre and in units of a radius that the client has chosen such
/// that all points lie in the unit ball. Both go along encrypted, for who reads the result.
#[derive(Debug, Clone)]
pub struct Clustering {
    pub(crate) shape: Shape,
    pub(crate) iteration: u64,
    /// The centre of the coordinates, and the radius: `d + 1` numbers.
    pub(crate) frame: EncryptedArray,
    /// The centroids, `K` by `d`; the slots repeat after as many as they take.
    pub(crate) centroids: EncryptedArray,
    /// For every point in which cluster it is: `N` by `K` bits, of new points as many rows as there
    /// are. None before the first iteration.
    pub(crate) assigned: Option<EncryptedArray>,
    /// The points, `N` by `d`, or fewer new ones, once for every cluster. A result goes without.
    pub(crate) points: Option<EncryptedArray>,
    /// None of what a client sent to be clustered.
    pub(crate) origin: Option<Origin>,
}

impl Clustering {
    /// Puts one together. There may be fewer points, or rows of the assignment, than the shape has:
    /// new ones.
    ///
    /// # Errors
    /// [`Error::Shape`] when an array is not laid out as it has to be, [`Error::KeyMismatch`] when
    /// they are of several keys.
    pub fn from_parts(
        shape: Shape,
        iteration: u64,
        [frame, centroids]: [EncryptedArray; 2],
        assigned: Option<EncryptedArray>,
        points: Option<EncryptedArray>,
    ) -> Result<Self, Error> {
        const OPERATION: &str = "put clusters together";
        let slots = centroids.layout().slots();
        let centroid_layout = centroid_layout(shape, slots)?;
        let count = count(shape, [&assigned, &points]);
        if !(1..=shape.points()).contains(&count) {
            let what = format!("{count} points, where 1 to {} are possible", shape.points());
            return Err(Error::shape(OPERATION, what));
        }
        let (bits, rows) = (bit_layout(shape, count, slots)?, point_layout(shape, count, slots)?);
        let frame_layout = Layout::packed(&[shape.dimension() + 1], slots)?;
        let need = [
            ("the frame", Some(&frame), frame_layout),
            ("the centroids", Some(&centroids), centroid_layout),
            ("the assignment", assigned.as_ref(), bits),
            ("the points", points.as_ref(), rows),
        ];
        for (what, have, need) in need {
            let Some(have) = have else { continue };
            if *have.layout() != need {
                let (have, need) = (have.layout(), &need);
                let what = format!(
                    "{what} of shape {:?} with strides {:?} in {} slots, where {:?} with strides {:?} in {} is needed",
                    have.shape(),
                    have.strides(),
                    have.slots(),
                    need.shape(),
                    need.strides(),
                    need.slots()
                );
                return Err(Error::shape(OPERATION, what));
            }
            if have.key() != centroids.key() || have.parameters() != centroids.parameters() {
                let (have, need) = (have.key(), centroids.key());
                return Err(hippocrene_rlwe::RlweError::KeyMismatch {
                    operation: OPERATION,
                    have,
                    need,
                }
                .into());
            }
        }
        Ok(Clustering { shape, iteration, frame, centroids, assigned, points, origin: None })
    }

    /// How many points of which dimension make how many clusters.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many points are in it, or were assigned: as many as the shape has, or fewer new ones.
    pub fn count(&self) -> usize {
        count(self.shape, [&self.assigned, &self.points])
    }

    /// Whether the points in it are to be assigned to the clusters of others
    /// ([`ClientKey::encrypt_new_points`](crate::ClientKey::encrypt_new_points)), and not to be
    /// clustered.
    pub fn has_new_points(&self) -> bool {
        self.has_points() && (self.origin.is_some() || self.count() != self.shape.points())
    }

    /// How many iterations there were.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// What it was made of, if a server made it.
    pub fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// The origin of a run on these points from the start that was sent with them, or from `chosen`
    /// ones of them ([`Server::start_clusters`](crate::Server::start_clusters)).
    pub fn as_origin(&self, chosen: Option<&[usize]>) -> Origin {
        let start = chosen.map(|chosen| {
            let numbers: Vec<u8> = chosen.iter().flat_map(|i| (*i as u64).to_le_bytes()).collect();
            Fingerprint::of("hippocrene 2026-11 points chosen to start from", &numbers)
        });
        Origin { points: self.digest(), start }
    }

    /// The digest of its file. In a simulation there is none, and all have the same.
    pub(crate) fn digest(&self) -> Fingerprint {
        let bytes = if self.centroids.is_simulated() { Vec::new() } else { self.to_bytes() };
        Fingerprint::of("hippocrene 2026-11 points being clustered", &bytes)
    }

    /// The fingerprint of the key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.centroids.key()
    }

    /// The digest of its parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.centroids.parameters()
    }

    /// Whether the points are in it.
    pub fn has_points(&self) -> bool {
        self.points.is_some()
    }

    /// The points as arrays of one ciphertext each, for
    /// [`Server::assign_block`](crate::Server::assign_block); none in a result.
    ///
    /// # Errors
    /// None for what was made or read.
    pub fn blocks(&self) -> Result<Vec<EncryptedArray>, Error> {
        let Some(points) = &self.points else {
            return Ok(Vec::new());
        };
        let slots = points.layout().slots();
        let layout = Layout::packed(&[slots], slots)?;
        let block = |body: &CiphertextBody<Numbers>| {
            Array::from_parts(
                layout.clone(),
                *points.form(),
                SlotContents::zero_if(points.is_clean()),
                vec![body.clone()],
            )
            .ok_or_else(|| Error::Internal("a ciphertext of points is none of numbers".into()))
        };
        points.bodies().iter().map(block).collect()
    }

    /// The same without the points.
    pub fn without_points(mut self) -> Self {
        self.points = None;
        self
    }
}

/// How many rows the first of these arrays has that is there; where none is, as many as the shape
/// has points.
fn count(shape: Shape, arrays: [&Option<EncryptedArray>; 2]) -> usize {
    let first = arrays.into_iter().flatten().next();
    first.map_or(shape.points(), |array| array.shape().first().copied().unwrap_or(0))
}

/// One row of slots for each of `count` points, in which it stands once for every cluster.
pub(crate) fn point_layout(shape: Shape, count: usize, slots: usize) -> Result<Layout, Error> {
    let together = together(shape, slots)?;
    debug_assert!(together > 0);
    Layout::new(vec![count, shape.dimension()], vec![shape.width(), 1], slots)
}

pub(crate) fn bit_layout(shape: Shape, count: usize, slots: usize) -> Result<Layout, Error> {
    together(shape, slots)?;
    Layout::new(vec![count, shape.clusters()], vec![shape.width(), shape.stride()], slots)
}

pub(crate) fn centroid_layout(shape: Shape, slots: usize) -> Result<Layout, Error> {
    together(shape, slots)?;
    Layout::new(vec![shape.clusters(), shape.dimension()], vec![shape.stride(), 1], slots)
}

fn together(shape: Shape, slots: usize) -> Result<usize, Error> {
    Ok(shape.together(slots)?)
}
