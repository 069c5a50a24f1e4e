//! Products of plain matrices and encrypted slots, by diagonals.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::Arc,
};

use hippocrene_ring::{
    ResidueRing,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
};
use hippocrene_rlwe::{
    Batch, Encodings, LimbByLimb, Modulus, Noise, RotationFactor, RotationSum, RotationTree,
    SizedCache, StepSplit, Summand, Term, TermFactor, stop,
};

use crate::{
    BgvError, Ciphertext, Context, Evaluator, Plaintext, budget_bits, evaluator::CARRY_STD, noise,
};

const OPERATION: &str = "linear transform";

const MAKE_TRANSFORM: &str = "make a linear transform";

/// A permutation of the slots by an automorphism: both rows are rotated by `rotation` to the left,
/// and may be exchanged.
///
/// ```
/// use hippocrene_bgv::Permutation;
///
/// let permutation = Permutation::exchanged(3);
/// assert_eq!(permutation, Permutation { exchanged: true, rotation: 3 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permutation {
    /// True if the rows are exchanged.
    pub exchanged: bool,
    /// The rotation of both rows to the left in slots, below `N/2`.
    pub rotation: usize,
}

impl Permutation {
    /// The rotation of both rows by `rotation` slots to the left.
    pub fn rotated(rotation: usize) -> Self {
        Permutation { exchanged: false, rotation }
    }

    /// The rotation of both rows by `rotation` slots to the left, followed by the exchange of rows.
    pub fn exchanged(rotation: usize) -> Self {
        Permutation { exchanged: true, rotation }
    }
}

/// A linear map of the `N` slots modulo `t`, given by its diagonals.
///
/// Slot `i` of the result is the sum over permutations `p` of `diagonal_p[i]` times slot `i` of the
/// permuted operand. With all `N` permutations it can be any matrix.
///
/// It is applied by baby steps and giant steps (Halevi and Shoup, ePrint 2014/873 and 2018/244).
/// With rotations `g + b`, the result is `sum_g rot_g(sum_b rot_{-g}(diagonal_{g+b}) rot_b(x))`.
/// The baby rotations `rot_b(x)` are hoisted. They serve the diagonals with and without an exchange
/// of rows: the diagonals with an exchange are stored with their rows exchanged, and their sum is
/// exchanged in the end. If the rotations have an origin ([`StepSplit`]), the result is rotated by
/// it.
///
/// **Noise.** The error `e` of the operand becomes `sum_p d_p p(e)`, where `d_p` are the
/// polynomials of the diagonals. If these are independent, the error grows by the factor
/// `(sum |d_p|^2)^(1/2)`. If they are dependent, it grows most in the constant coefficient, because
/// all automorphisms keep that coefficient. There the error is the inner product of `e` with
/// `sum_p p^-1(d_p(1/X))`, so it grows by the Euclidean norm of that polynomial. The larger of both
/// factors is used.
///
/// See [`Matrix`](crate::Matrix) for an example of a context.
#[derive(Debug)]
pub struct LinearTransform {
    degree: usize,
    t: u64,
    /// The baby steps in slots, ascending.
    baby: Vec<usize>,
    giant: Vec<GiantStep>,
    /// The rotation of the rows of the total in the end, in slots.
    origin: usize,
    /// log2 of the ratio of the noise to that of independent diagonals.
    log2_dependence: f64,
    /// The encoded diagonals of each giant step, for each modulus `P'Q`.
    cache: SizedCache<Modulus, Encoded>,
}

/// The encoded diagonals of some giant steps.
type Encoded = Vec<Vec<RotationFactor>>;

fn bytes(encoded: &Encoded) -> usize {
    encoded.iter().flatten().map(RotationFactor::bytes).sum()
}

/// A diagonal that is reduced modulo a limb and transformed where that limb is used.
#[derive(Debug)]
struct Limbs<'a>(Cow<'a, Plaintext>);

impl LimbByLimb for Limbs<'_> {
    fn write(&self, ring: &ResidueRing, limb: &mut [u64]) {
        ring.from_signed(limb, self.0.coefficients());
        ring.forward(limb);
    }
}

#[derive(Debug)]
struct GiantStep {
    step: Permutation,
    diagonals: Vec<Diagonal>,
}

/// A diagonal, permuted back by its giant step.
#[derive(Debug)]
struct Diagonal {
    /// The index of the baby step whose rotation is multiplied by this diagonal.
    baby: usize,
    integers: Integers,
    log2_norm: f64,
}

/// The integers of a diagonal. An encoded plaintext takes the memory of all `N` slots. If few
/// integers are not 0, these are stored with their slots and are encoded at each use.
#[derive(Debug)]
enum Integers {
    Few(Vec<(u32, i64)>),
    Encoded(Plaintext),
}

/// Number of slots per integer that is not 0, above which integers are stored instead of a
/// plaintext (chosen).
const SLOTS_PER_STORED_INTEGER: usize = 8;

impl Diagonal {
    fn new(baby: usize, entries: Vec<(u32, i64)>, plaintext: Plaintext) -> Self {
        let log2_norm = norm(&plaintext).log2();
        let few = entries.len() < plaintext.coefficients().len() / SLOTS_PER_STORED_INTEGER;
        Diagonal {
            baby,
            integers: if few { Integers::Few(entries) } else { Integers::Encoded(plaintext) },
            log2_norm,
        }
    }

    fn plaintext(&self, context: &Context) -> Result<Cow<'_, Plaintext>, BgvError> {
        Ok(match &self.integers {
            Integers::Few(entries) => Cow::Owned(encoded(context, entries)?),
            Integers::Encoded(plaintext) => Cow::Borrowed(plaintext),
        })
    }
}

fn encoded(context: &Context, entries: &[(u32, i64)]) -> Result<Plaintext, BgvError> {
    let mut slots = vec![0; context.rlwe().degree()];
    for (slot, integer) in entries {
        slots[*slot as usize] = *integer;
    }
    context.encode(&slots)
}

impl LinearTransform {
    /// Makes the map with these diagonals. Each has `N` integers, first those of the first row and
    /// then those of the second.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` gives no slots. Returns [`BgvError::Argument`] if
    /// there is no diagonal, if one has another length, or if a rotation is not below `N/2`.
    pub fn new(
        context: &Context,
        diagonals: &BTreeMap<Permutation, Vec<i64>>,
    ) -> Result<Self, BgvError> {
        let degree = context.rlwe().degree();
        if let Some((p, d)) = diagonals.iter().find(|(_, d)| d.len() != degree) {
            let (rotation, have) = (p.rotation, d.len());
            let what = format!(
                "the diagonal of rotation {rotation} has {have} integers, but {degree} are needed"
            );
            return Err(BgvError::Argument { operation: MAKE_TRANSFORM, what });
        }
        let entries = |d: &[i64]| {
            d.iter().enumerate().filter(|x| *x.1 != 0).map(|(i, x)| (i as u32, *x)).collect()
        };
        Self::from_entries(context, &diagonals.iter().map(|(p, d)| (*p, entries(d))).collect())
    }

    /// Makes the map of diagonals with few integers that are not 0. Each diagonal lists these
    /// integers with their slots. A sparse diagonal takes only the memory of this list until it is
    /// encoded.
    ///
    /// # Errors
    /// The same as those of [`LinearTransform::new`], and [`BgvError::Argument`] if a slot is not
    /// below `N`.
    pub fn from_entries(
        context: &Context,
        diagonals: &BTreeMap<Permutation, Vec<(u32, i64)>>,
    ) -> Result<Self, BgvError> {
        let (degree, t) = (context.rlwe().degree(), context.plain_modulus());
        let row = degree / 2;
        let fail = |what: String| Err(BgvError::Argument { operation: MAKE_TRANSFORM, what });
        if diagonals.is_empty() {
            return fail("there are no diagonals".into());
        }
        for (p, entries) in diagonals {
            let (rotation, last) =
                (p.rotation, entries.iter().map(|x| x.0 as usize).max().unwrap_or(0));
            if rotation >= row || last >= degree {
                return fail(format!(
                    "a diagonal of rotation {rotation} has an integer in slot {last}. Rotations \
                     must be below {row} and slots below {degree}."
                ));
            }
        }
        let rotations: Vec<(bool, usize)> =
            diagonals.keys().map(|p| (p.exchanged, p.rotation)).collect();
        let split = StepSplit::best(row, &rotations, MAKE_TRANSFORM)?;
        let baby: BTreeSet<usize> = diagonals.keys().map(|p| split.of(p.rotation).1).collect();
        let baby: Vec<usize> = baby.into_iter().collect();
        let mut giant: BTreeMap<Permutation, Vec<Diagonal>> = BTreeMap::new();
        let mut dependence = Dependence { constant: vec![0.0; degree], squares: 0.0 };
        for (p, entries) in diagonals {
            stop::check(MAKE_TRANSFORM)?;
            let (rotation, step) = split.of(p.rotation);
            let moved = |slot: usize| {
                let other_row = (slot / row + usize::from(p.exchanged)) % 2;
                (other_row * row + (slot + split.origin() + rotation) % row) as u32
            };
            let entries: Vec<_> =
                entries.iter().map(|(slot, x)| (moved(*slot as usize), *x)).collect();
            let plaintext = encoded(context, &entries)?;
            dependence.add(&plaintext, step);
            let diagonal = Diagonal::new(baby.partition_point(|b| *b < step), entries, plaintext);
            giant.entry(Permutation { rotation, ..*p }).or_default().push(diagonal);
        }
        let giant =
            giant.into_iter().map(|(step, diagonals)| GiantStep { step, diagonals }).collect();
        let log2_dependence = dependence.factor().log2();
        Ok(LinearTransform {
            degree,
            t,
            baby,
            giant,
            origin: split.origin(),
            log2_dependence,
            cache: SizedCache::default(),
        })
    }

    /// The ring degree `N`, which is the number of slots.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The rotations whose keys the map uses: baby steps, giant steps and the origin.
    pub fn rotations(&self) -> Vec<i64> {
        let giant = self.giant.iter().map(|giant| giant.step.rotation);
        let all: BTreeSet<usize> =
            giant.chain(self.baby.iter().copied()).chain([self.origin]).collect();
        all.into_iter().filter(|step| *step != 0).map(|step| step as i64).collect()
    }

    /// Returns true if the map uses the key of the exchange of rows.
    pub fn exchanges(&self) -> bool {
        self.giant.iter().any(|giant| giant.step.exchanged)
    }

    /// Sets the maximum memory of encoded diagonals in bytes.
    ///
    /// Diagonals are encoded for each modulus at which the map is used. If the limit is exceeded,
    /// the encodings that have not been used for the longest time are dropped. The encodings of the
    /// last use always stay, unless there are more than 256 diagonals or the limit is 0. In these
    /// cases each limb of a diagonal is made where it is used. This takes little memory, and less
    /// time than encoding dropped diagonals again. For several ciphertexts, some giant steps are
    /// encoded at a time ([`Batch`]).
    pub fn set_memory(&self, bytes: usize) {
        self.cache.set_memory(bytes);
    }

    /// The memory that encoded diagonals take now and its maximum, in bytes.
    pub fn memory(&self) -> (usize, usize) {
        self.cache.memory()
    }
}

/// The diagonals of some giant steps, encoded as a whole or limb by limb.
enum Factors<'a> {
    Whole(Arc<Encoded>),
    ByLimb(Vec<Vec<Limbs<'a>>>),
}

impl Factors<'_> {
    /// Returns the factor of a diagonal, given the indices of its giant step and of the diagonal in
    /// it.
    fn term(&self, giant: usize, diagonal: usize) -> TermFactor<'_> {
        match self {
            Factors::Whole(whole) => TermFactor::Whole(&whole[giant][diagonal]),
            Factors::ByLimb(limbs) => TermFactor::ByLimb(&limbs[giant][diagonal]),
        }
    }
}

/// Applies `f` to each diagonal of these giant steps.
fn map_diagonals<'a, T>(
    giants: &'a [GiantStep],
    f: impl Fn(&'a Diagonal) -> Result<T, BgvError>,
) -> Result<Vec<Vec<T>>, BgvError> {
    giants.iter().map(|giant| giant.diagonals.iter().map(&f).collect()).collect()
}

/// Returns the Euclidean norm of the coefficients.
fn norm(plaintext: &Plaintext) -> f64 {
    plaintext.coefficients().iter().map(|c| (*c as f64).powi(2)).sum::<f64>().sqrt()
}

/// Returns the terms of the sum of each giant step and operand. The operands of a giant step follow
/// one another, while its diagonals are in the CPU's cache. `baby` is the number of baby steps.
fn terms_of_sums<'a>(
    giants: &[GiantStep],
    factors: &'a Factors<'a>,
    operands: usize,
    baby: usize,
) -> Vec<Vec<Term<'a>>> {
    let mut rows = Vec::with_capacity(giants.len() * operands);
    for (i, giant) in giants.iter().enumerate() {
        for first in (0..operands).map(|operand| operand * baby) {
            let terms = giant.diagonals.iter().enumerate().map(|(k, diagonal)| Term {
                summand: first + diagonal.baby,
                factor: factors.term(i, k),
                log2_norm: diagonal.log2_norm,
                leaves_zeros: false,
            });
            rows.push(terms.collect());
        }
    }
    rows
}

/// Measures how the errors of the diagonals add up (see [`LinearTransform`]).
struct Dependence {
    constant: Vec<f64>,
    squares: f64,
}

impl Dependence {
    /// Adds a diagonal. Giant steps keep the constant coefficient, so only the baby step of the
    /// permutation matters. It maps `X^i` to `X^(-i/5^b)`.
    fn add(&mut self, plaintext: &Plaintext, baby: usize) {
        let degree = self.constant.len();
        let mask = 2 * degree - 1;
        let element = galois_element_of_rotation(degree, -(baby as i64));
        for (i, c) in plaintext.coefficients().iter().enumerate() {
            let exponent = (2 * degree - i).wrapping_mul(element) & mask;
            let sign = if exponent < degree { 1.0 } else { -1.0 };
            self.constant[exponent & (degree - 1)] += sign * *c as f64;
            self.squares += (*c as f64).powi(2);
        }
    }

    /// Returns the ratio of the error to that of independent diagonals, at least 1.
    fn factor(&self) -> f64 {
        let together = self.constant.iter().map(|c| c * c).sum::<f64>();
        if together > self.squares { (together / self.squares).sqrt() } else { 1.0 }
    }
}

impl Evaluator {
    /// Applies the map `transform` to the slots of `a`. The result is switched down by the growth
    /// of the noise.
    ///
    /// Everything is computed modulo `P'Q` (double hoisting; Bossuat and others, ePrint 2020/1203).
    /// The baby rotations share one decomposition. Their products with the diagonals are added up
    /// modulo `P'Q`. One part of each such sum is divided by `P'` for its giant rotation. The
    /// result is divided and switched down in one modulus switch. The diagonals are multiplied as
    /// integers, so the factor stays.
    ///
    /// # Errors
    /// Returns an error if the map belongs to another context or a key is missing, and
    /// [`BgvError::Budget`] if the noise would be too large.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext, BgvError> {
        let mut results = self.linear_transforms(&[a], transform)?;
        Ok(results.pop().expect("there is a result for each operand"))
    }

    /// Applies a map to several ciphertexts, like [`Evaluator::linear_transform`]. Diagonals that
    /// are not cached are encoded once for many ciphertexts. [`Batch`] states the memory that this
    /// takes.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::linear_transform`].
    pub fn linear_transforms(
        &self,
        operands: &[&Ciphertext],
        transform: &LinearTransform,
    ) -> Result<Vec<Ciphertext>, BgvError> {
        let context = self.context();
        context.check_plain_modulus(transform.t, OPERATION)?;
        if transform.degree != context.rlwe().degree() {
            let (have, need) = (transform.degree, context.rlwe().degree());
            let what = format!("the transform has {have} slots, but {need} are needed");
            return Err(BgvError::Argument { operation: OPERATION, what });
        }
        let mut reduced = Vec::with_capacity(operands.len());
        for a in operands {
            self.check(a, OPERATION)?;
            let a = self.reduce(a)?;
            self.check_noise(&a, transform)?;
            reduced.push(a);
        }
        let mut results = Vec::with_capacity(operands.len());
        for same_modulus in reduced.chunk_by(|a, b| a.modulus() == b.modulus()) {
            let common = self.modulus_of_keys(transform, same_modulus[0].modulus());
            let extended = context.rlwe().rotation_modulus(same_modulus[0].modulus(), common)?;
            let diagonals = transform.giant.iter().map(|giant| giant.diagonals.len()).sum();
            let steps = [transform.baby.len(), transform.giant.len()];
            let batch = context.rlwe().batch(
                extended,
                diagonals,
                steps,
                same_modulus.len(),
                transform.memory().1,
            );
            for operands in same_modulus.chunks(batch.operands) {
                let totals =
                    self.sums_of_giant_steps(operands, transform, [common, extended], batch)?;
                for (total, a) in totals.into_iter().zip(operands) {
                    let to = self.modulus_after(a.modulus(), total.noise().log2_std());
                    let mut out = Ciphertext::empty(context);
                    total.divide_into(out.inner_mut(), to)?;
                    out.set_factor(a.factor());
                    self.check_budget(&out, a.budget_bits(context), OPERATION)?;
                    results.push(out);
                }
            }
        }
        Ok(results)
    }

    /// Returns the modulus that the keys of the baby steps have in common. It determines the
    /// special modulus.
    fn modulus_of_keys(&self, transform: &LinearTransform, modulus: Modulus) -> Modulus {
        let degree = self.context().rlwe().degree();
        let elements =
            transform.baby.iter().map(|step| galois_element_of_rotation(degree, *step as i64));
        self.keys().common_modulus(self.context().rlwe(), modulus, elements)
    }

    /// Checks, before anything is computed, that the noise of the operand is not too large after
    /// the multiplication by the diagonals.
    fn check_noise(&self, a: &Ciphertext, transform: &LinearTransform) -> Result<(), BgvError> {
        let context = self.context();
        let diagonals = transform.giant.iter().flat_map(|giant| &giant.diagonals);
        let squares: f64 = diagonals.map(|diagonal| (2.0 * diagonal.log2_norm).exp2()).sum();
        let noise = a.inner().noise().scaled(0.5 * squares.log2() + transform.log2_dependence);
        let left = budget_bits(context.rlwe().parameters().log2(a.modulus()), transform.t, noise);
        if left > 0.0 {
            return Ok(());
        }
        let have = a.budget_bits(context);
        Err(BgvError::Budget { operation: OPERATION, need: have - left, have })
    }

    /// Returns, for each operand, the sum of its permuted products with all diagonals, modulo
    /// `P'Q`. All operands have the same modulus. The giant steps are computed in batches, as
    /// `batch` says.
    fn sums_of_giant_steps<'a>(
        &'a self,
        operands: &[Ciphertext],
        transform: &'a LinearTransform,
        [common, extended]: [Modulus; 2],
        batch: Batch,
    ) -> Result<Vec<RotationSum<'a>>, BgvError> {
        let (rlwe, keys, modulus) = (self.context().rlwe(), self.keys(), operands[0].modulus());
        let degree = rlwe.degree();
        let element = |step: usize| galois_element_of_rotation(degree, step as i64);
        // Rotations without a key of their own are composed and kept as ciphertexts.
        let is_composed = |step: &usize| !keys.has_galois(element(*step), modulus);
        let steps: Vec<usize> = transform.baby.iter().copied().filter(is_composed).collect();
        let rotations: Vec<i64> = steps.iter().map(|step| *step as i64).collect();
        let mut hoisted = Vec::with_capacity(operands.len());
        for a in operands {
            hoisted
                .push((rlwe.hoist_for_sums(a.inner(), common)?, self.rotate_many(a, &rotations)?));
        }
        let mut summands: Vec<Vec<Summand>> = Vec::with_capacity(operands.len());
        for (a, (hoisted, rotated)) in operands.iter().zip(&hoisted) {
            let summand = |step: &usize| match steps.binary_search(step) {
                Ok(place) => Summand::Unrotated(rotated[place].inner()),
                Err(_) => Summand::Rotated(a.inner(), hoisted, element(*step)),
            };
            summands.push(transform.baby.iter().map(summand).collect());
        }
        // For each operand: the sum without an exchange of rows, and the sum with one.
        let mut totals: Vec<[Option<RotationSum>; 2]> =
            operands.iter().map(|_| [None, None]).collect();
        for giants in transform.giant.chunks(batch.giants) {
            let factors = self.factors(transform, giants, extended, batch.encodings)?;
            let trees = [false, true].map(|exchanged| {
                let giants = giants.iter().filter(|giant| giant.step.exchanged == exchanged);
                keys.rotation_tree(
                    degree,
                    degree / 2,
                    giants.map(|giant| giant.step.rotation),
                    modulus,
                )
            });
            for (summands, totals) in summands.chunks(batch.sums).zip(totals.chunks_mut(batch.sums))
            {
                let rows = terms_of_sums(giants, &factors, summands.len(), transform.baby.len());
                let sums = rlwe.rotation_sums(&summands.concat(), &rows, keys, common)?;
                let places = |total: Option<_>, tree: &RotationTree| -> Vec<_> {
                    iter::once(total).chain(tree.nodes().iter().map(|_| None)).collect()
                };
                let mut parts: Vec<[Vec<Option<RotationSum>>; 2]> =
                    Vec::with_capacity(totals.len());
                for [rotated, exchanged] in &mut *totals {
                    parts.push([
                        places(rotated.take(), &trees[0]),
                        places(exchanged.take(), &trees[1]),
                    ]);
                }
                for (i, (row, mut sum)) in rows.iter().zip(sums).enumerate() {
                    // The carry of the message beyond t/2, divided by t.
                    let carry = |term: &Term| Noise::from_std(CARRY_STD).scaled(term.log2_norm);
                    let error = row.iter().map(carry).fold(sum.noise(), Noise::plus);
                    sum.set_noise(error.scaled(transform.log2_dependence));
                    let step = giants[i / totals.len()].step;
                    let side = usize::from(step.exchanged);
                    let place =
                        trees[side].place(step.rotation).expect("every giant step is in the tree");
                    match &mut parts[i % totals.len()][side][place] {
                        Some(total) => total.add(&sum)?,
                        none => *none = Some(sum),
                    }
                }
                for (total, [rotated, exchanged]) in totals.iter_mut().zip(parts) {
                    *total = [trees[0].sum(rotated, keys)?, trees[1].sum(exchanged, keys)?];
                }
            }
        }
        totals.into_iter().map(|sides| self.joined(sides, transform, modulus)).collect()
    }

    /// Encodes the diagonals of these giant steps.
    fn factors<'a>(
        &'a self,
        transform: &'a LinearTransform,
        giants: &'a [GiantStep],
        extended: Modulus,
        encodings: Encodings,
    ) -> Result<Factors<'a>, BgvError> {
        let rlwe = self.context().rlwe();
        let encode = |d: &Diagonal| -> Result<RotationFactor, BgvError> {
            stop::check(OPERATION)?;
            let poly = rlwe.from_signed(d.plaintext(self.context())?.coefficients(), extended);
            Ok(rlwe.rotation_factor(poly, extended)?)
        };
        let by_limb = |d: &'a Diagonal| -> Result<Limbs<'a>, BgvError> {
            stop::check(OPERATION)?;
            rlwe.record_encoding(extended, 0, 1);
            Ok(Limbs(d.plaintext(self.context())?))
        };
        Ok(match encodings {
            Encodings::Kept => {
                let make = || map_diagonals(giants, encode);
                Factors::Whole(transform.cache.get_or_try_insert(extended, bytes, make)?)
            }
            Encodings::Whole => Factors::Whole(Arc::new(map_diagonals(giants, encode)?)),
            Encodings::ByLimb => Factors::ByLimb(map_diagonals(giants, by_limb)?),
        })
    }

    /// Adds the sums without and with an exchange of rows, and rotates the result by the origin.
    fn joined<'a>(
        &'a self,
        [rotated, exchanged]: [Option<RotationSum<'a>>; 2],
        transform: &LinearTransform,
        modulus: Modulus,
    ) -> Result<RotationSum<'a>, BgvError> {
        let (degree, keys) = (self.context().rlwe().degree(), self.keys());
        let exchanged = match exchanged {
            Some(sum) => {
                let mut sum = sum.rotated(galois_element_of_conjugation(degree), keys)?;
                sum.set_noise(noise::exchanged(sum.noise(), degree));
                Some(sum)
            }
            None => None,
        };
        let total = match (rotated, exchanged) {
            (Some(mut total), Some(exchanged)) => {
                total.add(&exchanged)?;
                total
            }
            (total, exchanged) => {
                total.or(exchanged).expect("a transform has at least one diagonal")
            }
        };
        if transform.origin == 0 {
            return Ok(total);
        }
        let elements = keys.rotation_elements(degree, degree / 2, transform.origin as i64, modulus);
        Ok(elements.into_iter().try_fold(total, |total, element| total.rotated(element, keys))?)
    }
}

#[cfg(test)]
mod tests;
