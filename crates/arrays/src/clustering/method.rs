//! The ways to compute k-means: by look-up tables, or by comparisons of all points in slots.

use hippocrene_ckks::bootstrap::BootstrapPlan;
use hippocrene_pegasus::KMeansPlan;

use super::slot_circuit::{SLOT_SCALE_BITS, SlotCircuit, least_capacity};
use crate::{
    Bootstrapping, Error, KeyRequest, LookUps, Session, Shape,
    bootstrapping::{capacity_after, reserve},
};

const OPERATION: &str = "plan k-means";

/// Precision of the bootstraps of k-means in slots, in bits after the binary point. Chosen: with
/// fewer bits there is room for more of an iteration between two bootstraps, and errors of
/// centroids grow.
const BOOTSTRAP_PRECISION_BITS: f64 = 9.0;

/// The modulus of fresh points minus that of bootstrapped centroids, in bits. Bringing points to
/// the modulus of the centroids uses it up. Chosen.
const EXTRA_MODULUS_BITS: f64 = 40.0;

/// The way in which a server computes k-means. It decides which keys the client makes, and how it
/// encrypts points.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{KMeansMethod, Preset, Session, Shape};
///
/// let session = Session::new(Preset::by_name("n15")?.settings()?, 1)?;
/// let shape = Shape::new(100, 3, 4)?; // 100 points of dimension 3 in 4 clusters
/// let request = KMeansMethod::Slots(shape).key_request(&session)?;
/// assert!(request.bootstrapping.is_some() && request.look_ups.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KMeansMethod {
    /// Look-up tables of single numbers ([`hippocrene_pegasus::KMeans`]).
    Tables(LookUps),
    /// Comparisons of all points of a ciphertext at once, with bootstraps.
    Slots(Shape),
}

impl From<&LookUps> for KMeansMethod {
    fn from(look_ups: &LookUps) -> Self {
        KMeansMethod::Tables(*look_ups)
    }
}

impl KMeansMethod {
    /// True for comparisons in slots.
    pub(super) fn is_slots(&self) -> bool {
        matches!(self, KMeansMethod::Slots(_))
    }

    /// Returns the numbers of points, dimensions and clusters.
    ///
    /// # Errors
    /// [`Error::Argument`] if the look-ups are for functions, not for clusters.
    pub fn shape(&self) -> Result<Shape, Error> {
        match self {
            KMeansMethod::Slots(shape) => Ok(*shape),
            KMeansMethod::Tables(look_ups) => look_ups.clusters.ok_or_else(|| {
                let what = "the look-ups are for functions, not for clusters";
                Error::argument(OPERATION, what)
            }),
        }
    }

    /// Returns the same method for points of another shape.
    pub(super) fn with_shape(self, shape: Shape) -> Self {
        match self {
            KMeansMethod::Slots(_) => KMeansMethod::Slots(shape),
            KMeansMethod::Tables(look_ups) => {
                KMeansMethod::Tables(LookUps { clusters: Some(shape), ..look_ups })
            }
        }
    }

    /// Returns the request for the keys that a server needs.
    ///
    /// # Errors
    /// [`Error::Argument`] if one point takes more slots than a ciphertext has.
    pub fn key_request(&self, session: &Session) -> Result<KeyRequest, Error> {
        Ok(match self {
            KMeansMethod::Tables(look_ups) => {
                KeyRequest { look_ups: Some(*look_ups), ..KeyRequest::only([]) }
            }
            KMeansMethod::Slots(shape) => {
                let circuit = SlotCircuit::new(*shape, session.slots())?;
                plan(session)?;
                let bootstrapping = Some(bootstrapping());
                KeyRequest { bootstrapping, ..KeyRequest::only(circuit.rotations()) }
            }
        })
    }

    /// Returns the moduli and the scale of fresh points and centroids.
    ///
    /// # Errors
    /// As [`LookUps::plan`] and [`Bootstrapping::plan`].
    pub(super) fn encoding(&self, session: &Session) -> Result<PointEncoding, Error> {
        let shape = self.shape()?;
        let together = shape.points_per_ciphertext(session.slots())?;
        Ok(match self {
            KMeansMethod::Tables(look_ups) => {
                let plan = look_ups.clustering(session, shape)?;
                PointEncoding {
                    together,
                    scale_bits: plan.slot_scale_bits(),
                    point_bits: plan.point_bits(),
                    centroid_bits: plan.centroid_bits(),
                }
            }
            KMeansMethod::Slots(_) => {
                let plan = plan(session)?;
                let centroid_bits = capacity_after(&plan).max(reserve(&plan)) + SLOT_SCALE_BITS;
                PointEncoding {
                    together,
                    scale_bits: SLOT_SCALE_BITS,
                    point_bits: centroid_bits + EXTRA_MODULUS_BITS,
                    centroid_bits,
                }
            }
        })
    }

    /// Returns the standard deviation of the error when squared distances in the unit ball are
    /// compared.
    ///
    /// In slots, it is the error of the centroids from their bootstrap. The derivative of a
    /// difference of two squared distances by the centroids has a norm of at most `4 sqrt(2)`.
    ///
    /// # Errors
    /// As [`LookUps::plan`].
    pub(super) fn nearest_deviation(&self, session: &Session) -> Result<f64, Error> {
        Ok(match self {
            KMeansMethod::Tables(look_ups) => {
                let plan: KMeansPlan = look_ups.clustering(session, self.shape()?)?;
                plan.nearest_deviation()?
            }
            KMeansMethod::Slots(_) => {
                let (_, precision) = bootstrapping().plan(session)?;
                4.0 * 2f64.sqrt() * (-precision).exp2()
            }
        })
    }
}

/// Plans the bootstraps of k-means in slots.
///
/// # Errors
/// As [`Bootstrapping::plan`], and [`Error::Parameters`] if a bootstrap leaves too little capacity
/// for an iteration.
fn plan(session: &Session) -> Result<BootstrapPlan, Error> {
    let (plan, _) = bootstrapping().plan(session)?;
    let (have, need) = (capacity_after(&plan), least_capacity(reserve(&plan)));
    if have >= need {
        return Ok(plan);
    }
    Err(Error::Parameters(format!(
        "k-means: with these parameters, a bootstrap leaves {have:.0} bits of capacity, and an \
         iteration in slots needs {need:.0}. Take one of the presets n15, n16s, n16, n17s and n17, \
         or use look-up tables."
    )))
}

/// The moduli and the scale of fresh points and centroids.
pub(super) struct PointEncoding {
    /// The number of points in a ciphertext.
    pub(super) together: usize,
    pub(super) scale_bits: f64,
    /// log2 of the modulus of points.
    pub(super) point_bits: f64,
    /// log2 of the modulus of centroids.
    pub(super) centroid_bits: f64,
}

/// Returns the bootstrap of k-means in slots.
fn bootstrapping() -> Bootstrapping {
    Bootstrapping { precision: Some(BOOTSTRAP_PRECISION_BITS), ..Bootstrapping::default() }
}
