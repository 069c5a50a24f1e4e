//! What k-means does, before there are keys.

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

/// Bits of capacity beyond those that are reckoned with: moduli are found to the bit, and scales
/// wander by as much.
const SPARE: f64 = 4.0;

/// The numbers that repacking is reckoned for.
const BOUND: f64 = 1.0;

/// Clusters smaller than this share of the mean size take steps that are too short.
const SMALL: f64 = 0.25;

/// K-means without keys.
#[derive(Debug)]
pub struct KMeansPlan {
    shape: Shape,
    together: usize,
    pegasus: Arc<PegasusPlan>,
}

impl KMeansPlan {
    /// What goes with the tables of `preset`: scales and the precision of repacking that bits need,
    /// and no more, so that all fits a ring of degree `2^15`.
    ///
    /// # Errors
    /// As [`PegasusLiteral::of`].
    pub fn literal(preset: &Preset) -> Result<PegasusLiteral, PegasusError> {
        let literal = PegasusLiteral::of(preset, Vec::new(), 1.0, 1.0)?;
        // Within 2^-11.5 of the bits.
        let (reach, doublings) = (literal.reduction.reach(), literal.reduction.doublings());
        let reduction = ModularReduction::new(reach as u32, -4.0, -15.5, doublings, 3)?;
        Ok(PegasusLiteral { transform_bits: 20.0, scale_bits: 38.0, reduction, ..literal })
    }

    /// K-means of this shape by `literal`, of which slots, bound and output bits are chosen here
    /// (IV.C.3): the capacity for one product and slots to coefficients of all distances, and for
    /// two and those of the centroids.
    ///
    /// # Errors
    /// As [`Shape::together`] and [`PegasusPlan::new`].
    pub fn new(
        context: Arc<Context>,
        shape: Shape,
        literal: PegasusLiteral,
    ) -> Result<Self, PegasusError> {
        let together = shape.together(context.max_slots())?;
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
        // Reciprocals come at a scale that is smaller by the largest of them
        // (`PegasusPlan::reduced_bits`), so that their product takes as much less of the modulus.
        let products = 2.0 * scale + (shape.points() as f64).log2()
            - (largest_reciprocal(&shape) / BOUND).log2();
        let update = products + transform(width, widening(&literal));
        let output_bits = distances.max(update) - scale - 1.0 + SPARE;
        let literal = PegasusLiteral {
            slots: vec![together * width, width],
            bound: BOUND,
            output_bits,
            ..literal
        };
        let pegasus = Arc::new(PegasusPlan::new(context, literal)?);
        Ok(KMeansPlan { shape, together, pegasus })
    }

    /// How many points make how many clusters.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many points there are in a ciphertext.
    pub fn together(&self) -> usize {
        self.together
    }

    /// The way between slots and single numbers.
    pub fn pegasus(&self) -> &Arc<PegasusPlan> {
        &self.pegasus
    }

    /// log2 of the modulus at which fresh centroids have the capacity of repacked ones, at the
    /// scale [`KMeansPlan::slot_scale_bits`].
    pub fn centroid_bits(&self) -> f64 {
        self.slot_scale_bits() + 1.0 + self.pegasus.literal().output_bits
    }

    /// log2 of the modulus that points are encrypted at: as much larger as it takes to bring them
    /// to the scale of the centroids.
    pub fn point_bits(&self) -> f64 {
        self.centroid_bits() + self.slot_scale_bits() + 2.0 * SPARE
    }

    /// The bits of the scale of points and centroids.
    pub fn slot_scale_bits(&self) -> f64 {
        self.pegasus.literal().output_scale_bits
    }

    /// The standard deviation of the error by which differences of squared distances are compared
    /// in the unit ball: where those of a point from its two nearest centroids differ by `k` of
    /// these, it goes to the wrong one with the probability that a normal number exceeds `k`.
    ///
    /// # Errors
    /// None for what was planned.
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
        // Differences are had 2^(R-1) times in the first of R rounds, so that 4, the largest, is
        // half of the circle; in later rounds numbers are as much larger.
        let widened = f64::from(rounds(self.shape.clusters()) - 1);
        let difference = number.plus(number).scaled(widened);
        let index = literal.tables.index_noise(difference, modulus).log2_std().exp2();
        Ok(4.0 * (1.0 + literal.margin) * index / literal.tables.ring().dimension() as f64)
    }

    /// The rotations whose keys sums need.
    fn sum_rotations(&self) -> Vec<i64> {
        let powers = |from: usize, to: usize| (from.ilog2()..to.ilog2()).map(|k| 1i64 << k);
        let width = self.shape.width();
        powers(1, self.shape.stride()).chain(powers(width, width * self.together)).collect()
    }

    /// The moduli of sums and transforms: those of points and their divisors.
    fn working_modulus(&self) -> Modulus {
        let parameters = self.pegasus.context().parameters();
        let sprout = Modulus::of_sprout(parameters.top().odd(), parameters.top().two());
        let mut units = 1;
        // Of points, or what is repacked, which may have a few bits more.
        let bits = self.point_bits() + 64.0;
        while units < parameters.unit_count() && parameters.log2(Modulus::of_range(0..units)) < bits
        {
            units += 1;
        }
        Modulus::of_range(0..units).lcm(sprout)
    }

    /// Adds the keys of rotations and products that are needed, those of sums and transforms for
    /// the smaller moduli at which these are had.
    ///
    /// # Errors
    /// When a key does not fit.
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

    /// The rotations whose keys are needed.
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

/// The bound that distances are declared with when they are extracted: squared distances, less what
/// is the same for all of a point, differ by 4 at most in the unit ball, and by twice as much with
/// every round of the tournament. Differences may take all of the circle, of which a bound with its
/// margin takes a quarter on either side.
pub(super) fn distance_bound(shape: &Shape) -> f64 {
    f64::from(rounds(shape.clusters())).exp2()
}

/// The largest reciprocal, of a count over the number of points.
pub(super) fn largest_reciprocal(shape: &Shape) -> f64 {
    shape.clusters() as f64 / SMALL
}

/// By how much numbers that are repacked as they are, are smaller than those that are looked up.
pub(super) fn widening(literal: &PegasusLiteral) -> f64 {
    (0.25 / literal.reduction.epsilon()).floor().max(1.0)
}
