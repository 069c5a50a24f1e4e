//! The plan of k-means, which holds everything that needs no keys.

use std::sync::Arc;

use hippocrene_ckks::{Context, approximation::ModularReduction};
use hippocrene_fhew::{LweParameters, LweSwitchingKey, Preset};
use hippocrene_ring::digits::Digits;
use hippocrene_rlwe::{EvaluationKeys, Modulus, SecretKey};

use super::Shape;
use crate::{
    PegasusError, PegasusLiteral, PegasusPlan, error::argument, plan::transform_levels,
    tournament::rounds,
};

/// Capacity in reserve, in bits (chosen). Moduli and scales are only accurate to about a bit.
const RESERVE_BITS: f64 = 4.0;

/// The bound of the numbers that repacking is planned for (chosen).
const REPACKING_BOUND: f64 = 1.0;

/// Clusters smaller than this fraction of the mean size move by steps that are too short (chosen).
pub const SMALL_CLUSTER_SHARE: f64 = 0.25;

/// The plan of k-means, without keys. See [`Pegasus`](crate::Pegasus) for an example of a setup.
#[derive(Debug)]
pub struct KMeansPlan {
    shape: Shape,
    together: usize,
    pegasus: Arc<PegasusPlan>,
}

impl KMeansPlan {
    /// Returns the description for the tables of `preset`. Scales and the precision of repacking
    /// are just enough for bits, so that everything fits a ring of degree `2^15`.
    ///
    /// # Errors
    /// Returns the errors of [`PegasusLiteral::of`].
    pub fn literal(preset: &Preset) -> Result<PegasusLiteral, PegasusError> {
        let literal = PegasusLiteral::of(preset, Vec::new(), 1.0, 1.0)?;
        // The error of the reduction is 2^-11.5 relative to bits.
        let (reach, doublings) = (literal.reduction.reach(), literal.reduction.doublings());
        let reduction = ModularReduction::new(reach as u32, -4.0, -15.5, doublings, 3)?;
        Ok(PegasusLiteral { transform_bits: 20.0, scale_bits: 38.0, reduction, ..literal })
    }

    /// Plans k-means of this shape by `literal`. Its slots, bound and output bits are replaced here
    /// (section IV.C.3). The capacity is enough for one product and slots to coefficients of all
    /// distances, and for two products and slots to coefficients of the centroids.
    ///
    /// # Errors
    /// Returns the errors of [`Shape::points_per_ciphertext`] and [`PegasusPlan::new`].
    pub fn new(
        context: Arc<Context>,
        shape: Shape,
        literal: PegasusLiteral,
    ) -> Result<Self, PegasusError> {
        let together = shape.points_per_ciphertext(context.max_slots())?;
        let (width, scale) = (shape.width(), literal.output_scale_bits);
        let transform = |slots: usize, bound: f64| {
            let levels = transform_levels(slots) as f64;
            (1.0 + literal.margin).log2()
                + 2.0
                + scale
                + bound.log2()
                + (levels + 1.0) * literal.transform_bits
                + 1.0
        };
        let distances = scale + transform(together * width, distance_bound(&shape));
        // Bits times differences are rescaled to a scale that is smaller by the number of points.
        // The scale of reciprocals is smaller by the largest of them (`PegasusPlan::reduced_bits`),
        // so their product needs less of the modulus by the same factor.
        let products = 2.0 * scale + (shape.points() as f64).log2()
            - (largest_reciprocal(&shape) / REPACKING_BOUND).log2();
        let update = products + transform(width, widening(&literal));
        let output_bits = distances.max(update) - scale - 1.0 + RESERVE_BITS;
        let literal = PegasusLiteral {
            slots: vec![together * width, width],
            bound: REPACKING_BOUND,
            output_bits,
            ..literal
        };
        let pegasus = Arc::new(PegasusPlan::new(context, literal)?);
        Ok(KMeansPlan { shape, together, pegasus })
    }

    /// The numbers of points, dimensions and clusters.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of points in a ciphertext.
    pub fn points_per_ciphertext(&self) -> usize {
        self.together
    }

    /// The plan of PEGASUS that k-means uses.
    pub fn pegasus(&self) -> &Arc<PegasusPlan> {
        &self.pegasus
    }

    /// log2 of the modulus of fresh centroids. At the scale [`KMeansPlan::slot_scale_bits`] it
    /// gives them the capacity of repacked ones.
    pub fn centroid_bits(&self) -> f64 {
        self.slot_scale_bits() + 1.0 + self.pegasus.literal().output_bits
    }

    /// log2 of the modulus that points are encrypted at. It is larger than that of centroids,
    /// because points are brought to the scale of the centroids.
    pub fn point_bits(&self) -> f64 {
        self.centroid_bits() + self.slot_scale_bits() + 2.0 * RESERVE_BITS
    }

    /// The bits of the scale of points and centroids.
    pub fn slot_scale_bits(&self) -> f64 {
        self.pegasus.literal().output_scale_bits
    }

    /// Returns the standard deviation of the error in the comparison of squared distances in the
    /// unit ball.
    ///
    /// If the squared distances of a point from its two nearest centroids differ by `k` standard
    /// deviations, the point goes to the wrong one with the probability that a standard normal
    /// number exceeds `k`.
    ///
    /// # Errors
    /// Never, for an existing plan.
    pub fn nearest_deviation(&self) -> Result<f64, PegasusError> {
        let (literal, parameters) = (self.pegasus.literal(), self.pegasus.context().parameters());
        let modulus = literal.tables.input().modulus();
        let from = LweParameters::insecure(parameters.degree(), modulus, parameters.secret())?;
        let (bits, count) = (literal.extraction.base_log2, literal.extraction.count);
        let Some(digits) = Digits::new(modulus, bits, count) else {
            return argument(
                "plan k-means",
                format!("{count} digits of {bits} bits are no gadget of {modulus}"),
            );
        };
        let number = LweSwitchingKey::noise_of(from, &digits);
        // Differences are multiplied by 2^(R-1) in the first of R rounds, so that 4, the largest
        // difference, is half of the circle. In later rounds the factor is smaller, and the numbers
        // are larger to match.
        let widened = f64::from(rounds(self.shape.clusters()) - 1);
        let difference = number.plus(number).scaled(widened);
        let index = literal.tables.index_noise(difference, modulus).log2_std().exp2();
        Ok(4.0 * (1.0 + literal.margin) * index / literal.tables.ring().dimension() as f64)
    }

    /// The rotations whose keys the sums use.
    fn sum_rotations(&self) -> Vec<i64> {
        let powers = |from: usize, to: usize| (from.ilog2()..to.ilog2()).map(|k| 1i64 << k);
        let width = self.shape.width();
        powers(1, self.shape.stride()).chain(powers(width, width * self.together)).collect()
    }

    /// Returns a multiple of the moduli of sums and transforms, which are those of points and their
    /// divisors.
    fn working_modulus(&self) -> Modulus {
        let parameters = self.pegasus.context().parameters();
        let sprout = Modulus::of_sprout(parameters.top().odd(), parameters.top().two());
        let mut units = 1;
        // Repacked values may have a few bits more than points.
        let bits = self.point_bits() + 64.0;
        while units < parameters.unit_count() && parameters.log2(Modulus::of_range(0..units)) < bits
        {
            units += 1;
        }
        Modulus::of_range(0..units).lcm(sprout)
    }

    /// Adds the keys of rotations and products that k-means uses. Those of sums and transforms are
    /// made for the smaller moduli at which they run.
    ///
    /// # Errors
    /// Returns an error if a key does not fit.
    pub fn add_keys(
        &self,
        keys: &mut EvaluationKeys,
        secret: &SecretKey,
    ) -> Result<(), PegasusError> {
        let rlwe = self.pegasus.context().rlwe();
        if keys.relinearisation().is_none() {
            keys.add_relinearisation(rlwe, secret)?;
        }
        keys.add_rotations(rlwe, secret, self.pegasus.repacking_rotations())?;
        let low = self.pegasus.transform_rotations().into_iter().chain(self.sum_rotations());
        Ok(keys.add_rotations_at(rlwe, secret, low, self.working_modulus())?)
    }

    /// The rotations whose keys k-means uses.
    pub fn rotations(&self) -> Vec<i64> {
        let pegasus = &self.pegasus;
        let mut all =
            [pegasus.repacking_rotations(), pegasus.transform_rotations(), self.sum_rotations()]
                .concat();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the bound that distances are declared with at extraction.
///
/// Squared distances, without the part that is the same for all centroids, differ by 4 at most in
/// the unit ball. They become twice as large with every round of the tournament. Differences may
/// use the whole circle. A bound with its margin uses a quarter of it on either side.
pub(super) fn distance_bound(shape: &Shape) -> f64 {
    f64::from(rounds(shape.clusters())).exp2()
}

/// Returns the largest reciprocal of a count, relative to the number of points.
pub(super) fn largest_reciprocal(shape: &Shape) -> f64 {
    shape.clusters() as f64 / SMALL_CLUSTER_SHARE
}

/// Returns the ratio of numbers that are looked up to numbers that are repacked without a look-up.
pub(super) fn widening(literal: &PegasusLiteral) -> f64 {
    (0.25 / literal.reduction.epsilon()).floor().max(1.0)
}
