//! Plain matrices times encrypted slots, by diagonals.

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
    BgvError, Ciphertext, Context, Evaluator, Plaintext, budget_bits, evaluator::CARRY, noise,
};

const OPERATION: &str = "linear transform";

const MAKING: &str = "make a linear transform";

/// A permutation of the slots that an automorphism gives: both rows rotated by `rotation` to the
/// left, and exchanged or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permutation {
    /// Whether the rows are exchanged.
    pub exchanged: bool,
    /// The rotation of both rows to the left, below `N/2`.
    pub rotation: usize,
}

impl Permutation {
    /// The rotation of both rows by `rotation` to the left.
    pub fn rotated(rotation: usize) -> Self {
        Permutation { exchanged: false, rotation }
    }

    /// The exchange of rows that were rotated by `rotation` to the left.
    pub fn exchanged(rotation: usize) -> Self {
        Permutation { exchanged: true, rotation }
    }
}

/// A linear map of the `N` slots modulo `t`, given by its diagonals: slot `i` of the result is the
/// sum over permutations `p` of `diagonal_p[i]` times slot `i` of the permuted operand. With all
/// `N` permutations it is any matrix at all.
///
/// It is applied by baby steps and giant steps (Halevi and Shoup, ePrint 2014/873 and 2018/244):
/// with rotations `g + b`, the result is `sum_g rot_g(sum_b rot_{-g}(diagonal_{g+b}) rot_b(x))`,
/// where the baby rotations `rot_b(x)` are hoisted, and serve the diagonals with and without an
/// exchange of rows alike: those with it are exchanged back, and all of their sum is exchanged at
/// last. Where rotations have an origin ([`StepSplit`]), the result is rotated by it.
///
/// **Noise.** The error `e` of the operand becomes `sum_p d_p p(e)`, with `d_p` the polynomials of
/// the diagonals. For independent ones that is `(sum |d_p|^2)^(1/2)` times as large. The most that
/// it is otherwise is found at the constant coefficient, which all automorphisms leave where it is:
/// there it is the inner product of `e` with `sum_p p^-1(d_p(1/X))`, and as many times as large as
/// the Euclidean norm of that. The larger of both is taken.
#[derive(Debug)]
pub struct LinearTransform {
    degree: usize,
    t: u64,
    /// The baby steps, ascending.
    baby: Vec<usize>,
    giant: Vec<GiantStep>,
    /// By what the rows of all are rotated in the end.
    origin: usize,
    /// log2 of the factor by which the noise is larger than that of independent diagonals.
    log2_dependence: f64,
    /// For each modulus `P'Q` the diagonals of each giant step.
    cache: SizedCache<Modulus, Encoded>,
}

/// The diagonals of some giant steps, encoded.
type Encoded = Vec<Vec<RotationFactor>>;

fn bytes(encoded: &Encoded) -> usize {
    encoded.iter().flatten().map(RotationFactor::bytes).sum()
}

/// A diagonal that is reduced modulo a limb and transformed where that limb of a sum is had.
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
    /// The number of its baby step.
    baby: usize,
    integers: Integers,
    log2_norm: f64,
}

/// The integers of a diagonal. A plaintext takes as much memory as all slots do: where few of them
/// are not 0, these are kept, with their slots, and encoded each time.
#[derive(Debug)]
enum Integers {
    Few(Vec<(u32, i64)>),
    Encoded(Plaintext),
}

/// Of slots, so many for each integer: fewer integers are few.
const FEW: usize = 8;

impl Diagonal {
    fn new(baby: usize, entries: Vec<(u32, i64)>, plaintext: Plaintext) -> Self {
        let log2_norm = norm(&plaintext).log2();
        let few = entries.len() < plaintext.coefficients().len() / FEW;
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
    /// The map with these diagonals, each of `N` integers: the first row, then the second.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` gives no slots; [`BgvError::Argument`] when there is no
    /// diagonal, one has another length, or a rotation is not below `N/2`.
    pub fn new(
        context: &Context,
        diagonals: &BTreeMap<Permutation, Vec<i64>>,
    ) -> Result<Self, BgvError> {
        let degree = context.rlwe().degree();
        if let Some((p, d)) = diagonals.iter().find(|(_, d)| d.len() != degree) {
            let (rotation, have) = (p.rotation, d.len());
            let what = format!(
                "the diagonal of rotation {rotation} has {have} integers, {degree} are needed"
            );
            return Err(BgvError::Argument { operation: MAKING, what });
        }
        let entries = |d: &[i64]| {
            d.iter().enumerate().filter(|x| *x.1 != 0).map(|(i, x)| (i as u32, *x)).collect()
        };
        Self::from_entries(context, &diagonals.iter().map(|(p, d)| (*p, entries(d))).collect())
    }

    /// [`LinearTransform::new`] for diagonals that may have few integers that are not 0: each is
    /// given by these, with their slots, and takes no more memory than they do until it is encoded.
    ///
    /// # Errors
    /// As [`LinearTransform::new`], and when there is no such slot.
    pub fn from_entries(
        context: &Context,
        diagonals: &BTreeMap<Permutation, Vec<(u32, i64)>>,
    ) -> Result<Self, BgvError> {
        let (degree, t) = (context.rlwe().degree(), context.plain_modulus());
        let row = degree / 2;
        let fail = |what: String| Err(BgvError::Argument { operation: MAKING, what });
        if diagonals.is_empty() {
            return fail("there are no diagonals".into());
        }
        for (p, entries) in diagonals {
            let (rotation, last) =
                (p.rotation, entries.iter().map(|x| x.0 as usize).max().unwrap_or(0));
            if rotation >= row || last >= degree {
                return fail(format!(
                    "a diagonal of rotation {rotation} has an integer in slot {last}: rotations below {row} and slots below {degree} are possible"
                ));
            }
        }
        let rotations: Vec<(bool, usize)> =
            diagonals.keys().map(|p| (p.exchanged, p.rotation)).collect();
        let split = StepSplit::best(row, &rotations, MAKING)?;
        let baby: BTreeSet<usize> = diagonals.keys().map(|p| split.of(p.rotation).1).collect();
        let baby: Vec<usize> = baby.into_iter().collect();
        let mut giant: BTreeMap<Permutation, Vec<Diagonal>> = BTreeMap::new();
        let mut dependence = Dependence { constant: vec![0.0; degree], squares: 0.0 };
        for (p, entries) in diagonals {
            stop::check(MAKING)?;
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

    /// The ring degree `N`: how many slots it maps.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The rotations whose keys it wants: baby steps, giant steps, and by the origin.
    pub fn rotations(&self) -> Vec<i64> {
        let giant = self.giant.iter().map(|giant| giant.step.rotation);
        let all: BTreeSet<usize> =
            giant.chain(self.baby.iter().copied()).chain([self.origin]).collect();
        all.into_iter().filter(|step| *step != 0).map(|step| step as i64).collect()
    }

    /// Whether it wants the key of the exchange of rows.
    pub fn exchanges(&self) -> bool {
        self.giant.iter().any(|giant| giant.step.exchanged)
    }

    /// Sets how many bytes encoded diagonals may take. They are encoded for each modulus that the
    /// transform is used at; what is more is dropped, those first that were not used for the
    /// longest time. Those used last are kept for the next use, whatever they take, unless there
    /// are more than 256 diagonals, or the limit is 0. Then each limb of a diagonal is made where
    /// it is used, which takes little memory, and less time than to encode what is dropped again;
    /// for several ciphertexts some giant steps are encoded at a time ([`Batch`]).
    pub fn set_memory(&self, bytes: usize) {
        self.cache.set_memory(bytes);
    }

    /// How many bytes encoded diagonals take, and how many they may.
    pub fn memory(&self) -> (usize, usize) {
        self.cache.memory()
    }
}

/// The diagonals of some giant steps, encoded.
enum Factors<'a> {
    Whole(Arc<Encoded>),
    ByLimb(Vec<Vec<Limbs<'a>>>),
}

impl Factors<'_> {
    /// That of a giant step and of a diagonal of it, by their numbers.
    fn term(&self, giant: usize, diagonal: usize) -> TermFactor<'_> {
        match self {
            Factors::Whole(whole) => TermFactor::Whole(&whole[giant][diagonal]),
            Factors::ByLimb(limbs) => TermFactor::ByLimb(&limbs[giant][diagonal]),
        }
    }
}

/// What `f` makes of each diagonal of these giant steps.
fn of_each<'a, T>(
    giants: &'a [GiantStep],
    f: impl Fn(&'a Diagonal) -> Result<T, BgvError>,
) -> Result<Vec<Vec<T>>, BgvError> {
    giants.iter().map(|giant| giant.diagonals.iter().map(&f).collect()).collect()
}

/// The Euclidean norm of the coefficients.
fn norm(plaintext: &Plaintext) -> f64 {
    plaintext.coefficients().iter().map(|c| (*c as f64).powi(2)).sum::<f64>().sqrt()
}

/// What is summed for each giant step, of one operand after the other while its diagonals are in
/// the cache: each has so many baby steps.
fn rows_of<'a>(
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

/// How the errors that diagonals bring add up: see [`LinearTransform`].
struct Dependence {
    constant: Vec<f64>,
    squares: f64,
}

impl Dependence {
    /// Giant steps leave the constant coefficient where it is, so that only the baby step is left
    /// of the permutation. `X^i` is taken to `X^(-i/5^b)`.
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

    /// How many times as large the error of a transform is as that of independent diagonals.
    fn factor(&self) -> f64 {
        let together = self.constant.iter().map(|c| c * c).sum::<f64>();
        if together > self.squares { (together / self.squares).sqrt() } else { 1.0 }
    }
}

impl Evaluator {
    /// The map `transform` of the slots of `a`, switched down by as many bits as the noise has
    /// grown.
    ///
    /// All of it is had modulo `P'Q` (double hoisting, Bossuat and others, ePrint 2020/1203): the
    /// baby rotations share one decomposition, their products with the diagonals are added up as
    /// they are, of each such sum one part is divided by `P'` for its giant rotation, and the
    /// result is divided and switched down in one modulus switch. The diagonals are multiplied with
    /// as integers, so that the factor stays.
    ///
    /// # Errors
    /// When it is of another context, a key is missing, or [`BgvError::Budget`] when the noise
    /// would be too large.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext, BgvError> {
        let mut results = self.linear_transforms(&[a], transform)?;
        Ok(results.pop().expect("there is a result for each operand"))
    }

    /// [`Evaluator::linear_transform`] of each of several ciphertexts. Diagonals that are not kept
    /// are encoded once for many of them: [`Batch`] says how much memory that takes.
    ///
    /// # Errors
    /// As [`Evaluator::linear_transform`].
    pub fn linear_transforms(
        &self,
        operands: &[&Ciphertext],
        transform: &LinearTransform,
    ) -> Result<Vec<Ciphertext>, BgvError> {
        let context = self.context();
        context.check_plain_modulus(transform.t, OPERATION)?;
        if transform.degree != context.rlwe().degree() {
            let (have, need) = (transform.degree, context.rlwe().degree());
            let what = format!("a transform of {have} slots, {need} are needed");
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
        for alike in reduced.chunk_by(|a, b| a.modulus() == b.modulus()) {
            let common = self.modulus_of_keys(transform, alike[0].modulus());
            let extended = context.rlwe().rotation_modulus(alike[0].modulus(), common)?;
            let diagonals = transform.giant.iter().map(|giant| giant.diagonals.len()).sum();
            let steps = [transform.baby.len(), transform.giant.len()];
            let batch =
                context.rlwe().batch(extended, diagonals, steps, alike.len(), transform.memory().1);
            for alike in alike.chunks(batch.operands) {
                let totals =
                    self.sums_of_giant_steps(alike, transform, [common, extended], batch)?;
                for (total, a) in totals.into_iter().zip(alike) {
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

    /// What the keys of the baby steps have in common: by it the special modulus is chosen.
    fn modulus_of_keys(&self, transform: &LinearTransform, modulus: Modulus) -> Modulus {
        let degree = self.context().rlwe().degree();
        let elements =
            transform.baby.iter().map(|step| galois_element_of_rotation(degree, *step as i64));
        self.keys().common_modulus(self.context().rlwe(), modulus, elements)
    }

    /// Checks that the noise of the operand alone, multiplied by the diagonals, is not too large,
    /// before anything is computed.
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

    /// For each operand, all of one modulus, the products with all diagonals, permuted and added
    /// up, modulo `P'Q`: those of some giant steps after the others, as `batch` says.
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
        // Rotations without a key of their own are composed, each of them as a ciphertext.
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
                Ok(place) => Summand::Same(rotated[place].inner()),
                Err(_) => Summand::Rotated(a.inner(), hoisted, element(*step)),
            };
            summands.push(transform.baby.iter().map(summand).collect());
        }
        // Of each operand without and with an exchange of rows.
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
                let rows = rows_of(giants, &factors, summands.len(), transform.baby.len());
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
                    // What the message outgrows t/2 by, over t.
                    let carry = |term: &Term| Noise::from_std(CARRY).scaled(term.log2_norm);
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

    /// The diagonals of these giant steps, encoded.
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
            rlwe.note_encoding(extended, 0, 1);
            Ok(Limbs(d.plaintext(self.context())?))
        };
        Ok(match encodings {
            Encodings::Kept => {
                let make = || of_each(giants, encode);
                Factors::Whole(transform.cache.get_or_try_insert(extended, bytes, make)?)
            }
            Encodings::Whole => Factors::Whole(Arc::new(of_each(giants, encode)?)),
            Encodings::ByLimb => Factors::ByLimb(of_each(giants, by_limb)?),
        })
    }

    /// The sums without and with an exchange of rows together, rotated by the origin.
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
