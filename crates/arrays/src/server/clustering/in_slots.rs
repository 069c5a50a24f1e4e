//! K-means by comparisons of all points of a ciphertext at once ([`SlotCircuit`]).
//!
//! An iteration compares all distances by composed sign polynomials, with bootstraps between the
//! polynomials. New centroids are the old ones plus `r_j sum_i b_ij (x_i - c_j)`, as with tables,
//! where `r_j` is a polynomial of the share of points. One bootstrap restores the capacity of the
//! centroids.

use std::{
    borrow::Cow,
    sync::{Arc, PoisonError},
    time::Instant,
};

use hippocrene_ckks::{Ciphertext, Evaluator, Scale, Values, circuits::LinearTransform};
use hippocrene_pegasus::IterationTimes;
use hippocrene_rlwe::Noise;

use super::OPERATION;
use crate::clustering::slot_circuit::{MAP_SCALE_BITS, SLOT_SCALE_BITS, SlotCircuit};
use crate::server::{Server, functions::comparison::Comparison, planner::choose::Candidate};
use crate::{Array, EncryptedArray, Error, Layout, Numbers, Shape, SlotContents};

/// Bound of the norm of a centroid, in units of the radius of points. A step towards a mean is at
/// most 2 long and at most 5 % too long, and the bootstrap of centroids has an error of `2^-9` in
/// each of up to 64 dimensions.
const CENTROID_BOUND: f64 = 1.12;

/// Bound of differences of squared distances: `(1 + CENTROID_BOUND)^2`.
const DIFFERENCE_BOUND: f64 = (1.0 + CENTROID_BOUND) * (1.0 + CENTROID_BOUND);

/// Bound of distances without the square of the point: `CENTROID_BOUND^2 + 2 CENTROID_BOUND`.
const DISTANCE_BOUND: f64 = CENTROID_BOUND * CENTROID_BOUND + 2.0 * CENTROID_BOUND;

/// The gap of the comparisons, as a share of their bound. Chosen: points whose squared distances to
/// two centroids differ by less belong to both in part.
const GAP_SHARE: f64 = 1.0 / 64.0;

/// Precision of the comparisons in bits. Chosen.
const COMPARISON_PRECISION_BITS: f64 = 8.0;

/// log2 of the scale of products of bits, and of the diagonals of their map. Chosen: in a ring of
/// degree `2^15`, their errors are then below those of a bootstrap.
const BIT_SCALE_BITS: f64 = 22.0;
const BIT_MAP_SCALE_BITS: f64 = 16.0;

/// log2 of the scale of the polynomial of reciprocals. Chosen: an error of a few percent of a
/// reciprocal only changes the length of a step.
const RECIPROCAL_SCALE_BITS: f64 = 22.0;

/// log2 of the scale of the steps of centroids. Chosen: their error is then below that of the
/// bootstrap of centroids.
const STEP_SCALE_BITS: f64 = 24.0;

/// Capacity in reserve, in bits, for scales and moduli that differ from the plan. Chosen.
const MARGIN_BITS: f64 = 4.0;

/// K-means in slots on a server.
pub(super) struct InSlots<'s> {
    server: &'s Server,
    circuit: Arc<SlotCircuit>,
}

impl Server {
    /// Returns k-means in slots for points of this shape.
    pub(super) fn in_slots(&self, shape: Shape) -> Result<InSlots<'_>, Error> {
        // A poisoned lock is safe to use: a thread that panics leaves no half-finished change.
        let known = self.slot_circuit.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let circuit = match known.filter(|circuit| circuit.shape == shape) {
            Some(circuit) => circuit,
            None => {
                let circuit = Arc::new(SlotCircuit::new(shape, self.session.slots())?);
                let mut own = self.slot_circuit.lock().unwrap_or_else(PoisonError::into_inner);
                *own = Some(Arc::clone(&circuit));
                circuit
            }
        };
        Ok(InSlots { server: self, circuit })
    }
}

impl InSlots<'_> {
    /// The numbers of points, dimensions and clusters.
    pub(super) fn shape(&self) -> Shape {
        self.circuit.shape
    }

    /// The number of points in a ciphertext.
    pub(super) fn together(&self) -> usize {
        self.circuit.together
    }

    /// Returns the bits `b_ij` of the first `count` points of a ciphertext, in the layout of the
    /// points, with the time of each part.
    pub(super) fn nearest(
        &self,
        points: &Ciphertext,
        count: usize,
        centroids: &Ciphertext,
    ) -> Result<(Ciphertext, IterationTimes), Error> {
        let mut time = IterationTimes::default();
        let start = Instant::now();
        let distances = self.array(self.distances(points, centroids)?)?;
        time.distance = start.elapsed();
        let start = Instant::now();
        let compare = Candidate::new("comparisons in slots", |server: &Server, [a]: [_; 1]| {
            let own = InSlots { server, circuit: Arc::clone(&self.circuit) };
            own.array(own.winners(own.one(a)?.as_ref(), count)?)
        });
        let arguments = format!("nearest of {:?} {count}", self.circuit.shape);
        let bits =
            self.server.perform_by_arguments(OPERATION, &arguments, [&distances], &[compare])?;
        time.look_ups = start.elapsed();
        Ok((self.one(&bits)?.into_owned(), time))
    }

    /// Computes `|c_j|^2 - 2 <x_i, c_j>` in slot `(i, j, 0)`.
    fn distances(&self, points: &Ciphertext, centroids: &Ciphertext) -> Result<Ciphertext, Error> {
        let (e, scale) = (self.evaluator(), scale(SLOT_SCALE_BITS)?);
        let centroids = e.rescale(&without_error(centroids, 1.0), scale)?;
        let (points, centroids) = e.align(points, &centroids)?;
        let difference = e.sub(&centroids, &e.mul_integer(&points, 2)?)?;
        let mut products = e.mul_rescale(&centroids, &difference, scale)?;
        // Sums in slots without a distance do not matter.
        products.set_bound(1.0);
        let mut sums = e.inner_sum(&products, 1, self.circuit.shape.stride())?;
        sums.set_bound(DISTANCE_BOUND);
        Ok(sums)
    }

    /// Returns the bits of the points of a ciphertext of distances.
    fn winners(&self, distances: &Ciphertext, count: usize) -> Result<Ciphertext, Error> {
        let circuit = &self.circuit;
        let mut all: Option<Ciphertext> = None;
        for group in 0..circuit.differences.len() {
            let nearer = self.compared(distances, group, count)?;
            let nearer = self.product_of_places(nearer)?;
            all = Some(match all {
                None => nearer,
                Some(before) => self.product(before, nearer)?,
            });
        }
        let mut bits = all.ok_or_else(|| Error::Internal("there are no comparisons".into()))?;
        if let Some(map) = &circuit.bits {
            bits = self.mapped(&bits, map, BIT_MAP_SCALE_BITS, BIT_SCALE_BITS)?;
            bits = self.copied(bits)?;
            bits.set_bound(1.0);
        }
        self.with_capacity(bits, self.bits_of_update())
    }

    /// Compares the distances of a group: 1 where cluster `j` is nearer, and 0 where the other one
    /// is.
    fn compared(
        &self,
        distances: &Ciphertext,
        group: usize,
        count: usize,
    ) -> Result<Ciphertext, Error> {
        let (e, circuit) = (self.evaluator(), &self.circuit);
        let mut x =
            self.mapped(distances, &circuit.differences[group], MAP_SCALE_BITS, SLOT_SCALE_BITS)?;
        if circuit.is_of_two() {
            x = self.copied(x)?;
        }
        let shifts = circuit.shifts(group, count);
        let shifts =
            e.context().encode(Values::Real(&shifts), shifts.len(), x.scale(), x.modulus())?;
        let mut x = e.add_plain(&x, &shifts)?;
        x.set_bound(DIFFERENCE_BOUND);
        let how = Comparison {
            gap: Some(GAP_SHARE * DIFFERENCE_BOUND),
            precision: Some(COMPARISON_PRECISION_BITS),
            ..Comparison::default()
        };
        let steps =
            self.server.steps(&self.array(x)?, how, None, self.bits_after_signs(), OPERATION)?;
        let mut steps = self.one(&steps)?.into_owned();
        steps.set_bound(1.0);
        Ok(steps)
    }

    /// Multiplies the bits of two groups.
    fn product(&self, a: Ciphertext, b: Ciphertext) -> Result<Ciphertext, Error> {
        let need = BIT_SCALE_BITS + BIT_MAP_SCALE_BITS + MARGIN_BITS;
        let (a, b) = (self.with_capacity(a, need)?, self.with_capacity(b, need)?);
        let (a, b) = self.in_one_modulus(&a, &b)?;
        let mut both = self.evaluator().mul_rescale(&a, &b, scale(BIT_SCALE_BITS)?)?;
        both.set_bound(1.0);
        Ok(both)
    }

    /// Copies the last coordinate to all of them. The others are zero.
    fn copied(&self, a: Ciphertext) -> Result<Ciphertext, Error> {
        let stride = self.circuit.shape.stride();
        let (noise, zeros) = (a.inner().noise(), a.inner().noise().in_zeros());
        // The bound does not grow, and every sum has the error of one value and those of zeros.
        let mut small = a;
        small.set_bound(1.0);
        let copies = self.evaluator().inner_sum(&small, 1, stride)?;
        Ok(copies.with_noise(noise.plus(zeros.scaled(0.5 * (stride as f64).log2()))))
    }

    /// Multiplies the bits of all places of a group. The product is in the first one.
    fn product_of_places(&self, bits: Ciphertext) -> Result<Ciphertext, Error> {
        let (e, levels) = (self.evaluator(), self.circuit.places().ilog2());
        if levels == 0 {
            return Ok(bits);
        }
        let mut product = self.with_capacity(bits, self.bits_of_product())?;
        for k in 0..levels {
            let rotated = e.rotate(&product, 1 << k)?;
            product = e.mul_rescale(&product, &rotated, scale(BIT_SCALE_BITS)?)?;
            product.set_bound(1.0);
        }
        Ok(product)
    }

    /// Returns the centroids after an iteration with these bits, before their bootstrap.
    pub(super) fn moved(
        &self,
        points: &[Ciphertext],
        bits: &[Ciphertext],
        centroids: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        let (e, circuit) = (self.evaluator(), &self.circuit);
        let (shape, all) = (circuit.shape, circuit.shape.points());
        let unit = scale(SLOT_SCALE_BITS)?;
        let count = Scale::from_integer(all as u128)
            .ok_or_else(|| Error::Internal("there are no points".into()))?;
        let centroids = without_error(centroids, 1.0);
        let mut sums: Option<[Ciphertext; 2]> = None;
        for (points, bits) in points.iter().zip(bits) {
            let (points, centroids) = e.align(points, &centroids)?;
            let mut difference = e.sub(&points, &centroids)?;
            difference.set_bound(2.0);
            let difference = e.rescale(&difference, unit)?;
            let (left, right) = self.in_one_modulus(bits, &difference)?;
            // The scale of products is smaller by the number of points, and the sums are read at
            // the unit.
            let product = e.mul_rescale(&left, &right, unit.over(count))?;
            let members = bits.clone();
            sums = Some(match sums {
                None => [product, members],
                Some([sum, before]) => [added(e, &sum, &product)?, added(e, &before, &members)?],
            });
        }
        let [sum, members] = sums.ok_or_else(|| Error::Internal("there are no points".into()))?;
        let over_points = |a: &Ciphertext, bound: f64| -> Result<Ciphertext, Error> {
            let mut a = a.clone();
            // The bound of the sum is that of its result, which is read in units of all points.
            a.set_bound(bound);
            let sum = e.inner_sum(&a, shape.width(), circuit.together)?;
            let scale = sum.scale().times(count);
            let mut sum = sum.read_at(scale);
            sum.set_bound(bound);
            Ok(sum)
        };
        let (sum, shares) = (over_points(&sum, 2.0)?, over_points(&members, 1.0)?);
        let mut x = e.add_number(&shares, -0.5)?;
        let half = Scale::from_f64(circuit.half_shares)
            .ok_or_else(|| Error::Internal("the interval of shares is empty".into()))?;
        let narrowed = x.scale().times(half);
        x = x.read_at(narrowed);
        x.set_bound(1.0);
        let target = scale(RECIPROCAL_SCALE_BITS)?;
        let reciprocals = e.polynomial_of_reals(&x, &circuit.reciprocal, target)?;
        let reciprocals = without_error(&reciprocals, circuit.max_reciprocal);
        let unit = scale(STEP_SCALE_BITS)?;
        let sum = e.rescale(&sum, unit)?;
        let (left, right) = self.in_one_modulus(&reciprocals, &sum)?;
        let mut step = e.mul_rescale(&left, &right, unit)?;
        step.set_bound(2.0);
        let mut moved = e.add(&e.adjust(&centroids, step.modulus(), step.scale())?, &step)?;
        moved.set_bound(1.0);
        Ok(moved)
    }

    /// Returns the chosen points as centroids, before their bootstrap.
    pub(super) fn chosen(
        &self,
        points: &[Ciphertext],
        chosen: &[usize],
    ) -> Result<Ciphertext, Error> {
        let (e, circuit) = (self.evaluator(), &self.circuit);
        let mut sum: Option<Ciphertext> = None;
        for (k, points) in points.iter().enumerate() {
            let mask = circuit.mask_of(chosen, k * circuit.together);
            let (unit, modulus) = (scale(MAP_SCALE_BITS)?, points.modulus());
            let mask = e.context().encode(Values::Real(&mask), mask.len(), unit, modulus)?;
            let masked = e.rescale(&e.mul_plain(points, &mask)?, scale(SLOT_SCALE_BITS)?)?;
            sum = Some(match sum {
                None => masked,
                Some(before) => added(e, &before, &masked)?,
            });
        }
        let mut sum = sum.ok_or_else(|| Error::Internal("there are no points".into()))?;
        sum.set_bound(1.0);
        let mut start = e.inner_sum(&sum, circuit.shape.width(), circuit.together)?;
        start.set_bound(1.0);
        Ok(start)
    }

    /// Returns these centroids after a bootstrap.
    pub(super) fn refreshed(&self, centroids: &Ciphertext) -> Result<Ciphertext, Error> {
        let centroids = self.array(centroids.clone())?;
        Ok(self.one(&self.server.bootstrap(&centroids)?)?.into_owned())
    }

    /// Returns bits with this capacity and that of a later bootstrap. Bootstraps them if they have
    /// less.
    fn with_capacity(&self, a: Ciphertext, bits: f64) -> Result<Ciphertext, Error> {
        let refresh = self.server.refresh(&self.form())?;
        let need = bits + refresh.reserve();
        let useful = need.min(refresh.max_capacity());
        let a = refresh.refresh(Cow::Owned(a), useful, useful, OPERATION)?;
        // At a smaller scale, the next products use less capacity.
        let mut a = self.evaluator().rescale(&a, scale(BIT_SCALE_BITS)?)?;
        a.set_bound(1.0);
        Ok(a)
    }

    /// The capacity, in bits, that the products of a group and the map of bits use.
    fn bits_of_product(&self) -> f64 {
        let levels = f64::from(self.circuit.places().ilog2());
        match self.circuit.is_of_two() {
            true => 0.0,
            false => levels * BIT_SCALE_BITS + BIT_MAP_SCALE_BITS + MARGIN_BITS,
        }
    }

    /// The capacity, in bits, that new centroids use.
    fn bits_of_update(&self) -> f64 {
        let circuit = &self.circuit;
        let points = (circuit.shape.points() as f64).log2();
        let depth = circuit.reciprocal.depth() as f64;
        let reciprocals = depth * RECIPROCAL_SCALE_BITS + circuit.max_reciprocal.log2();
        points + reciprocals + STEP_SCALE_BITS + MARGIN_BITS
    }

    /// The capacity, in bits, that a comparison leaves if a bootstrap restores that much.
    fn bits_after_signs(&self) -> f64 {
        let (product, update) = (self.bits_of_product(), self.bits_of_update());
        let refresh = self.server.most_after_bootstrap().zip(self.server.bootstrap_reserve());
        let room = refresh.map_or(0.0, |(most, reserve)| most - reserve - MARGIN_BITS);
        // If there is too little room for everything, a bootstrap follows.
        [product + update, product].into_iter().find(|bits| *bits <= room).unwrap_or(0.0)
    }

    /// Returns both ciphertexts at the smaller of their moduli.
    fn in_one_modulus<'a>(
        &self,
        a: &'a Ciphertext,
        b: &'a Ciphertext,
    ) -> Result<(Cow<'a, Ciphertext>, Cow<'a, Ciphertext>), Error> {
        let e = self.evaluator();
        let log2 = |c: &Ciphertext| e.context().parameters().log2(c.modulus());
        Ok(match a.modulus() == b.modulus() {
            true => (Cow::Borrowed(a), Cow::Borrowed(b)),
            false if log2(a) > log2(b) => {
                (Cow::Owned(e.bring_to(a, b.modulus())?), Cow::Borrowed(b))
            }
            false => (Cow::Borrowed(a), Cow::Owned(e.bring_to(b, a.modulus())?)),
        })
    }

    /// Applies a map of zeros and ones.
    fn mapped(
        &self,
        a: &Ciphertext,
        map: &LinearTransform,
        diagonal_bits: f64,
        scale_bits: f64,
    ) -> Result<Ciphertext, Error> {
        let (diagonals, target) = (scale(diagonal_bits)?, scale(scale_bits)?);
        let mapped = self.evaluator().linear_transforms_at(&[a], map, diagonals, target)?.pop();
        mapped.ok_or_else(|| Error::Internal("a map without a result".into()))
    }

    fn evaluator(&self) -> &Evaluator {
        &self.server.evaluator
    }

    fn form(&self) -> Numbers {
        Numbers {
            complex: false,
            precision: self.server.session.settings().precision(),
            interval: None,
            error_known: true,
        }
    }

    /// Returns a ciphertext as an array of all of its slots.
    pub(super) fn array(&self, a: Ciphertext) -> Result<EncryptedArray, Error> {
        let slots = self.server.session.slots();
        let layout = Layout::packed(&[slots], slots)?;
        Ok(Array::from_ciphertexts(layout, self.form(), SlotContents::Zero, vec![a]))
    }

    /// Returns the only ciphertext of an array.
    fn one<'a>(&self, a: &'a EncryptedArray) -> Result<Cow<'a, Ciphertext>, Error> {
        let one = a.expanded(&self.server.session).into_iter().next();
        one.ok_or_else(|| Error::Internal("an array without a ciphertext".into()))
    }
}

/// Returns a scale of this many bits.
fn scale(bits: f64) -> Result<Scale, Error> {
    Scale::from_f64(bits.exp2())
        .ok_or_else(|| Error::Internal("a scale that does not exist".into()))
}

/// Returns the same ciphertext as if it had no error.
///
/// The limit of the iterations does not depend on the errors of centroids and reciprocals, so these
/// do not count as errors of the next centroids.
fn without_error(a: &Ciphertext, bound: f64) -> Ciphertext {
    let mut a = a.clone().with_noise(Noise::NONE);
    a.set_bound(bound);
    a
}

/// Returns the sum of two ciphertexts, with the bound of the first one.
fn added(e: &Evaluator, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, Error> {
    let (left, right) = e.align(a, b)?;
    let mut sum = e.add(&left, &right)?;
    sum.set_bound(a.bound());
    Ok(sum)
}
