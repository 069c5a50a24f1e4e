//! K-means on encrypted points ([`hippocrene_pegasus::KMeans`]): messages of the client and results
//! of the server.

mod client;
mod method;
mod new_points;
pub(crate) mod slot_circuit;

pub use method::KMeansMethod;

use hippocrene_pegasus::Shape;
use hippocrene_rlwe::Fingerprint;

use crate::{
    Array, CiphertextBody, EncryptedArray, Error, Layout, Numbers, SlotContents, format_shape,
};

/// The origin of a run: its points and the centroids that it started from.
///
/// A result names its origin, so that a run continues only from its own checkpoints. New points,
/// which are assigned to clusters of other points, have these clusters as their origin.
///
/// See [`Clustering`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The digest of the points as they were sent. For new points, the digest of the clusters.
    pub points: Fingerprint,
    /// The digest of the numbers of the points that the run started from. `None` if the run started
    /// from the centroids that were sent with the points.
    pub start: Option<Fingerprint>,
}

/// Encrypted points and the clusters found so far.
///
/// A client sends it, a run continues from it after every iteration, and it is the result. It can
/// also hold new points to be assigned to clusters of other points, and their assignment.
///
/// Coordinates are relative to a centre and a radius. The client chose them so that all points lie
/// in the unit ball. Both are included in encrypted form, for the reader of the result.
///
/// [`ClientKey::encrypt_points`](crate::ClientKey::encrypt_points) makes one, and
/// [`Server::cluster`](crate::Server::cluster) computes an iteration. This example puts clusters
/// together from arrays, as a reader of files does:
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Clustering, Preset, Shape};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let frame = client.encrypt(&[3.0, 2.0], &[2])?; // the centre 3 and the radius 2
/// let centroids = client.encrypt(&[-1.0, 0.5], &[2, 1])?;
/// let shape = Shape::new(4, 1, 2)?; // four points of dimension 1 in two clusters
/// let clusters = Clustering::from_parts(shape, 0, [frame, centroids], None, None)?;
/// assert_eq!((clusters.count(), clusters.origin()), (4, None));
///
/// let (centroids, labels) = client.decrypt_clusters(&clusters)?;
/// assert!((centroids[0] - 1.0).abs() < 1e-6 && (centroids[1] - 4.0).abs() < 1e-6);
/// assert_eq!(labels, None); // before the first iteration
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Clustering {
    pub(crate) shape: Shape,
    pub(crate) iteration: u64,
    /// The centre of the coordinates and the radius: `d + 1` numbers.
    pub(crate) frame: EncryptedArray,
    /// The centroids, `K` by `d`. Their slots repeat up to the last one.
    pub(crate) centroids: EncryptedArray,
    /// The cluster of every point, as `N` by `K` bits, with one row for each new point if there are
    /// some.
    ///
    /// `None` before the first iteration.
    pub(crate) assigned: Option<EncryptedArray>,
    /// The points, `N` by `d`, or fewer new ones, each once for every cluster. A result does not
    /// include them.
    pub(crate) points: Option<EncryptedArray>,
    /// The origin. `None` for points that a client sent to be clustered.
    pub(crate) origin: Option<Origin>,
    /// True if the moduli are those of comparisons in slots, otherwise those of look-up tables.
    pub(crate) is_for_slots: bool,
}

impl Clustering {
    /// Assembles a clustering from its parts.
    ///
    /// It may hold fewer points, or rows of the assignment, than the shape has. Those are new
    /// points.
    ///
    /// # Errors
    /// [`Error::Shape`] when an array does not have the required layout, [`Error::KeyMismatch`]
    /// when the arrays belong to several keys.
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
                    "{what} of shape {} with strides {:?} in {} slots, where {} with strides \
                     {:?} in {} is needed",
                    format_shape(have.shape()),
                    have.strides(),
                    have.slots(),
                    format_shape(need.shape()),
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
        let (origin, is_for_slots) = (None, false);
        Ok(Clustering {
            shape,
            iteration,
            frame,
            centroids,
            assigned,
            points,
            origin,
            is_for_slots,
        })
    }

    /// The number of points, their dimension and the number of clusters.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of points that are included or were assigned.
    ///
    /// It equals the shape's, or is smaller for new points.
    pub fn count(&self) -> usize {
        count(self.shape, [&self.assigned, &self.points])
    }

    /// True if the included points are to be assigned to clusters of other points, and not to be
    /// clustered.
    ///
    /// See [`ClientKey::encrypt_new_points`](crate::ClientKey::encrypt_new_points).
    pub fn has_new_points(&self) -> bool {
        self.has_points() && (self.origin.is_some() || self.count() != self.shape.points())
    }

    /// The number of iterations so far.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// The origin, if a server made this, or if it holds new points.
    pub fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// Returns the same clustering with this origin.
    pub fn with_origin(mut self, origin: Option<Origin>) -> Self {
        self.origin = origin;
        self
    }

    /// True if this is for comparisons in slots ([`KMeansMethod::Slots`]), and false if it is for
    /// look-up tables.
    pub fn is_for_slots(&self) -> bool {
        self.is_for_slots
    }

    /// Returns the same clustering for comparisons in slots, or for look-up tables.
    pub fn for_slots(mut self, is_for_slots: bool) -> Self {
        self.is_for_slots = is_for_slots;
        self
    }

    /// The origin of a run on these points.
    ///
    /// The run starts from the centroids that were sent with the points, or from the points with
    /// the numbers in `chosen` ([`Server::start_clusters`](crate::Server::start_clusters)).
    pub fn as_origin(&self, chosen: Option<&[usize]>) -> Origin {
        let start = chosen.map(|chosen| {
            let numbers: Vec<u8> = chosen.iter().flat_map(|i| (*i as u64).to_le_bytes()).collect();
            Fingerprint::of("hippocrene 2026-11 points chosen to start from", &numbers)
        });
        Origin { points: self.digest(), start }
    }

    /// The arrays, in the order of their file.
    pub fn arrays(&self) -> impl Iterator<Item = &EncryptedArray> {
        [&self.frame, &self.centroids].into_iter().chain(&self.assigned).chain(&self.points)
    }

    /// The digest of the residues of this clustering. Other encryptions of the same points have
    /// other digests.
    ///
    /// All simulated clusterings have the same digest, as they have no residues.
    pub(crate) fn digest(&self) -> Fingerprint {
        let bodies = self.arrays().filter(|array| !array.is_simulated()).flat_map(Array::bodies);
        let digest = |body: &CiphertextBody<Numbers>| {
            let words = body.c0().limbs().flatten();
            let bytes: Vec<u8> = words.flat_map(|x| x.to_le_bytes()).collect();
            *Fingerprint::of("hippocrene 2026-11 ciphertext being clustered", &bytes).as_bytes()
        };
        let digests: Vec<u8> = bodies.flat_map(digest).collect();
        Fingerprint::of("hippocrene 2026-11 points being clustered", &digests)
    }

    /// The fingerprint of the key that decrypts the arrays.
    pub fn key(&self) -> Fingerprint {
        self.centroids.key()
    }

    /// The digest of the parameters of the arrays.
    pub fn parameters(&self) -> Fingerprint {
        self.centroids.parameters()
    }

    /// True if an assignment of points is included, as after the first iteration.
    pub fn has_assignment(&self) -> bool {
        self.assigned.is_some()
    }

    /// True if the points are included.
    pub fn has_points(&self) -> bool {
        self.points.is_some()
    }

    /// Returns the points as arrays of one ciphertext each, for
    /// [`Server::assign_block`](crate::Server::assign_block).
    ///
    /// A result has no points, so the list is empty.
    ///
    /// # Errors
    /// None for a clustering that was made or read by this library.
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

    /// Returns the same clustering without the points.
    pub fn without_points(mut self) -> Self {
        self.points = None;
        self
    }
}

/// The number of rows of the first array that exists, or the number of points of the shape if none
/// does.
fn count(shape: Shape, arrays: [&Option<EncryptedArray>; 2]) -> usize {
    let first = arrays.into_iter().flatten().next();
    first.map_or(shape.points(), |array| array.shape().first().copied().unwrap_or(0))
}

/// A layout with one row of slots for each of `count` points. A row repeats the point for every
/// cluster.
pub(crate) fn point_layout(shape: Shape, count: usize, slots: usize) -> Result<Layout, Error> {
    let together = points_per_ciphertext(shape, slots)?;
    debug_assert!(together > 0);
    Layout::new(vec![count, shape.dimension()], vec![shape.width(), 1], slots)
}

pub(crate) fn bit_layout(shape: Shape, count: usize, slots: usize) -> Result<Layout, Error> {
    points_per_ciphertext(shape, slots)?;
    Layout::new(vec![count, shape.clusters()], vec![shape.width(), shape.stride()], slots)
}

pub(crate) fn centroid_layout(shape: Shape, slots: usize) -> Result<Layout, Error> {
    points_per_ciphertext(shape, slots)?;
    Layout::new(vec![shape.clusters(), shape.dimension()], vec![shape.stride(), 1], slots)
}

fn points_per_ciphertext(shape: Shape, slots: usize) -> Result<usize, Error> {
    Ok(shape.points_per_ciphertext(slots)?)
}
