//! Sums of rotated ciphertexts times plaintexts, divided by the special modulus once.
//!
//! A rotation is an inner product modulo `P'Q` and a division by `P'`. Where rotated ciphertexts
//! are multiplied by plaintexts and added up, all of this can be had modulo `P'Q`, and the division
//! comes once, at the end ("double hoisting", Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux,
//! ePrint 2020/1203, section 4.3): for `sum_j m_j sigma_j(c)` with `J` rotations `2 (J - 1)`
//! divisions less, for plaintexts that are known modulo `P'Q`.
//!
//! **Noise.** A ciphertext modulo `P'Q` here stands for `P'` times a message modulo `Q`; noise is
//! stated relative to that, over `P'`. With `e_j` the noise of `c_j` and `e_ks` that of an inner
//! product over `P'` (not rounded), the sum has `sum_j |m_j| (e_j + e_ks)` for an `m_j` by which
//! noise grows by `|m_j|`, in variances; a rotation of a sum adds `e_ks`, and the rounding of its
//! second part, of variance `|s|^2/12`; the division at the end one rounding
//! ([`crate::noise::rounding`]). Sums without a rotation are multiples of `P'`, and their division
//! rounds nothing.

use std::sync::Arc;

use hippocrene_ring::{
    Domain, automorphism::Automorphism, elementwise::PairTerm, scratch::Scratch,
};

use super::{
    Decomposed, Gadget, Method, RotationFactor, TermFactor,
    decomposition::Decomposition,
    operand::Added,
    product::{Product, Targets},
    rotation_factor::REPETITIONS,
};
use crate::{
    Ciphertext, Context, Fingerprint, Modulus, Noise, PreparedEvaluationKeys, RlweError, noise,
};

const OPERATION: &str = "add rotations";

/// How many words of rotated ciphertexts are made and go through all rows before the next are: half
/// a megabyte, to be found in the cache.
const CACHED_WORDS: usize = 1 << 16;

/// A ciphertext that takes part in sums.
#[derive(Debug, Clone, Copy)]
pub enum Summand<'a> {
    /// As it is.
    Same(&'a Ciphertext),
    /// Its image under `X -> X^element`, with what [`Context::hoist_for_sums`] gave of it.
    Rotated(&'a Ciphertext, &'a Decomposed<'a>, usize),
}

/// A summand times a plaintext.
#[derive(Debug, Clone, Copy)]
pub struct Term<'a> {
    /// The number of the summand.
    pub summand: usize,
    /// The plaintext modulo `P'Q` ([`Context::rotation_modulus`]). In one row all have all values,
    /// or all an eighth of them.
    pub factor: TermFactor<'a>,
    /// By how many bits it makes noise grow.
    pub log2_norm: f64,
    /// Whether there are slots that are multiplied by zero in all terms of a sum: no error comes
    /// there ([`Noise::without_zeros`]).
    pub leaves_zeros: bool,
}

/// A sum of rotated ciphertexts modulo `P'Q` that has not been divided by `P'`. It is in scratch
/// memory.
#[derive(Debug)]
pub struct RotationSum<'a> {
    context: &'a Context,
    plan: Arc<Decomposition>,
    /// `Q`.
    modulus: Modulus,
    /// Modulo `P'Q`, in the evaluation domain.
    parts: [Scratch<'a>; 2],
    key: Fingerprint,
    noise: Noise,
    /// True if it is a multiple of `P'`, as it is without rotations. Dividing by `P'` then rounds
    /// nothing.
    is_multiple: bool,
}

/// The minimum number of words in a share of work. Fewer are not worth sharing out. Chosen.
const MIN_STRETCH_WORDS: usize = 1 << 12;

/// Some words of all sums at one position.
struct Stretch<'s> {
    position: usize,
    first: usize,
    words: usize,
    /// Both parts of each sum.
    sums: Vec<[&'s mut [u64]; 2]>,
}

/// A summand with the data that it is computed from.
struct Source<'a> {
    ciphertext: &'a Ciphertext,
    rotation: Option<(Product<'a>, Arc<Automorphism>)>,
    /// The noise of the inner product, over `P'`.
    added: Noise,
}

impl Context {
    /// `P'Q`: what sums of rotations of ciphertexts modulo `modulus = Q` are computed modulo, and
    /// their plaintexts are wanted modulo. The keys that take part have moduli that are multiples
    /// of `keys` ([`PreparedEvaluationKeys::common_modulus`]).
    ///
    /// # Errors
    /// As [`Context::gadget_within`].
    pub fn rotation_modulus(&self, modulus: Modulus, keys: Modulus) -> Result<Modulus, RlweError> {
        Ok(modulus.lcm(self.rotation_gadget(modulus, keys)?.specials()))
    }

    /// Decomposes a ciphertext once for any number of rotations of it in
    /// [`Context::rotation_sums`], by keys whose moduli are multiples of `keys`.
    ///
    /// # Errors
    /// When the ciphertext has more than two parts, or as [`Context::gadget_within`].
    pub fn hoist_for_sums<'a>(
        &'a self,
        a: &'a Ciphertext,
        keys: Modulus,
    ) -> Result<Decomposed<'a>, RlweError> {
        self.check_two_parts(a, OPERATION)?;
        self.decompose_hoisted_with(
            a.part(1),
            a.modulus(),
            self.rotation_gadget(a.modulus(), keys)?,
        )
    }

    /// The planned gadget, with the single decomposition: the double one has its inner products
    /// elsewhere than modulo `P'Q`.
    fn rotation_gadget(&self, modulus: Modulus, keys: Modulus) -> Result<Gadget, RlweError> {
        Ok(self.gadget_within(modulus, keys)?.with_method(Method::Single))
    }

    /// For each row the sum of its terms, modulo `P'Q`. Each summand is rotated once, however many
    /// rows want it. The moduli of the keys that take part are multiples of `common`, by which `P'`
    /// is chosen.
    ///
    /// # Errors
    /// When there is no summand, moduli, keys or numbers of parts differ, a key is missing, a
    /// decomposition is of another ciphertext or by another gadget than is planned, or a term does
    /// not fit.
    pub fn rotation_sums(
        &self,
        summands: &[Summand<'_>],
        rows: &[Vec<Term<'_>>],
        keys: &PreparedEvaluationKeys,
        common: Modulus,
    ) -> Result<Vec<RotationSum<'_>>, RlweError> {
        let Some(first) = summands.first().map(Summand::ciphertext) else {
            return Err(RlweError::Parts { operation: OPERATION, have: 0, need: 2 });
        };
        let (modulus, key) = (first.modulus(), first.key());
        keys.check_key(first.key(), OPERATION)?;
        let plan = self.decomposition(modulus, self.rotation_gadget(modulus, common)?)?;
        let sources: Vec<Source> = summands
            .iter()
            .map(|s| self.source(s, first, &plan, keys))
            .collect::<Result<_, _>>()?;
        let noise = |term: &Term| {
            let source = &sources[term.summand];
            let noise = source.ciphertext.noise().plus(source.added).scaled(term.log2_norm);
            if term.leaves_zeros { noise.without_zeros() } else { noise.everywhere() }
        };
        let mut sums = Vec::with_capacity(rows.len());
        for row in rows {
            let kind = row.first().map_or(self.degree(), |term| term.factor.degree(self.degree()));
            row.iter()
                .try_for_each(|term| self.check_term(term, summands.len(), plan.extended, kind))?;
            let noise = row.iter().map(noise).fold(Noise::NONE, Noise::plus);
            let parts = [0, 1].map(|_| self.scratch(plan.extended, Domain::Evaluation));
            let is_multiple = row.iter().all(|term| sources[term.summand].rotation.is_none());
            sums.push(RotationSum {
                context: self,
                plan: Arc::clone(&plan),
                modulus,
                parts,
                key,
                noise,
                is_multiple,
            });
        }
        let rotated = sources.iter().filter(|source| source.rotation.is_some()).count();
        let terms = rows.iter().map(Vec::len).sum();
        let words =
            rows.iter().flatten().next().map_or(0, |term| term.factor.degree(self.degree()));
        self.note_rotation_sums(
            &plan,
            modulus,
            [rotated, sources.len() - rotated],
            [rows.len(), terms],
            words,
        );
        if self.is_dry_run() {
            return Ok(sums);
        }
        // Plaintexts whose limbs are made on use are made once.
        let whole = rows.iter().flatten().any(|term| term.factor.is_by_limb());
        let mut stretches = self.stretches(plan.extended, whole);
        for sum in &mut sums {
            let [part0, part1] = &mut sum.parts;
            let (mut rest0, mut rest1) = (part0.as_mut_slice(), part1.as_mut_slice());
            for stretch in &mut stretches {
                let (out0, out1);
                (out0, rest0) = rest0.split_at_mut(stretch.words);
                (out1, rest1) = rest1.split_at_mut(stretch.words);
                stretch.sums.push([out0, out1]);
            }
        }
        self.threads().for_each_mut(&mut stretches, |_, stretch| {
            self.sums_at(&plan, &sources, rows, stretch)
        });
        Ok(sums)
    }

    /// The words of a polynomial modulo `modulus` as they are shared out, in order: limb by limb,
    /// or unless they are to be `whole` to several threads in halves of limbs, so that none waits
    /// long for another's last.
    fn stretches<'s>(&self, modulus: Modulus, whole: bool) -> Vec<Stretch<'s>> {
        let degree = self.degree();
        let halves = self.threads().count() > 1 && degree >= 2 * MIN_STRETCH_WORDS && !whole;
        let mut stretches = Vec::with_capacity(2 * modulus.limb_count());
        for position in modulus.factors() {
            // Modulo a power of two products are of whole limbs.
            let words = if halves && position != Modulus::TWO { degree / 2 } else { degree };
            let firsts = (0..degree).step_by(words);
            stretches.extend(firsts.map(|first| Stretch {
                position,
                first,
                words,
                sums: Vec::new(),
            }));
        }
        stretches
    }

    /// Checks a summand and finds its key.
    fn source<'a>(
        &'a self,
        summand: &Summand<'a>,
        first: &Ciphertext,
        plan: &Decomposition,
        keys: &'a PreparedEvaluationKeys,
    ) -> Result<Source<'a>, RlweError> {
        let ciphertext = summand.ciphertext();
        self.check_pair(first, ciphertext, OPERATION)?;
        self.check_two_parts(ciphertext, OPERATION)?;
        let mut noise = Noise::NONE;
        let rotation = match summand {
            Summand::Rotated(_, hoisted, element) if *element != 1 => {
                if !hoisted.is_of(ciphertext.part(1)) || hoisted.gadget() != plan.gadget {
                    return Err(RlweError::Decomposed { operation: OPERATION });
                }
                let key = keys.galois_at(*element, self, ciphertext.modulus())?;
                let added = [Added::new(Some(ciphertext.part(0))), Added::default()];
                let product = Product::new(self, hoisted, key, added)?;
                noise = self.inner_product_noise(plan, ciphertext.modulus(), key.modulus())?;
                Some((product, self.automorphism(*element)?))
            }
            _ => None,
        };
        Ok(Source { ciphertext, rotation, added: noise })
    }

    fn check_term(
        &self,
        term: &Term<'_>,
        summands: usize,
        extended: Modulus,
        degree: usize,
    ) -> Result<(), RlweError> {
        let factor = term.factor;
        let whole = match factor {
            TermFactor::Whole(factor) => Some(factor),
            TermFactor::ByLimb(_) => None,
        };
        let of_degree = factor.degree(self.degree());
        let need = if term.summand >= summands {
            "there is no summand of that number"
        } else if of_degree != degree || ![1, REPETITIONS].contains(&(self.degree() / degree)) {
            "in one row all plaintexts have the ring degree, or all an eighth of it"
        } else if whole.is_some_and(|factor| factor.is_dry_run() != self.is_dry_run()) {
            "operands of a dry run and others cannot be mixed"
        } else if whole.is_some_and(|factor| !factor.is_modulo(self, extended)) {
            "a plaintext modulo P'Q is needed"
        } else {
            return Ok(());
        };
        let have = whole.map_or(extended, RotationFactor::modulus).limb_count();
        Err(RlweError::Modulus { operation: OPERATION, have, need })
    }

    /// Computes a stretch of all sums, some words at a time: first those of each summand, then
    /// those of each row. In the evaluation domain an automorphism takes neighbouring words to
    /// neighbouring words.
    fn sums_at(
        &self,
        plan: &Decomposition,
        sources: &[Source<'_>],
        rows: &[Vec<Term<'_>>],
        stretch: &mut Stretch<'_>,
    ) {
        let Stretch { position, first: begin, words: length, ref mut sums } = *stretch;
        if position == Modulus::TWO {
            return self.sums_modulo_two(plan, sources, rows, sums);
        }
        if most_by_limb(rows) > 0 {
            return self.sums_by_limb(plan, sources, rows, position, sums);
        }
        let degree = self.degree();
        let ring = self.ring_at(plan.extended, position);
        let size = (CACHED_WORDS / (2 * sources.len())).next_power_of_two().max(64).min(length);
        let words = (2 * sources.len() + 2) * size;
        let mut scratch = self.scratch_limbs(words.div_ceil(degree), Domain::Evaluation);
        let (images, spare) =
            scratch.as_mut_slice()[..words].split_at_mut(2 * sources.len() * size);
        let (spare0, spare1) = spare.split_at_mut(size);
        for at in (0..length).step_by(size) {
            let first = begin + at;
            for (source, images) in sources.iter().zip(images.chunks_exact_mut(2 * size)) {
                let (image0, image1) = images.split_at_mut(size);
                source.image_at(self, plan, position, first, [image0, image1], [spare0, spare1]);
            }
            let mut terms: Vec<PairTerm> = Vec::with_capacity(sources.len());
            let block = at..at + size;
            let image = |i: usize| &images[i * size..(i + 1) * size];
            for (row, [sum0, sum1]) in rows.iter().zip(&mut *sums) {
                let is_repeated = are_repeated(row, degree);
                let share = if is_repeated { REPETITIONS } else { 1 };
                let there = row.iter().filter(|term| sources[term.summand].is_at(position));
                terms.clear();
                terms.extend(there.filter_map(|term| {
                    let TermFactor::Whole(factor) = term.factor else { return None };
                    let (factor, i) = (factor.limb(position), 2 * term.summand);
                    Some((&factor[first / share..(first + size) / share], [image(i), image(i + 1)]))
                }));
                let (sum0, sum1) = (&mut sum0[block.clone()], &mut sum1[block.clone()]);
                match is_repeated {
                    true => ring.sum_repeated_products(sum0, sum1, &terms),
                    false => ring.sum_products(sum0, sum1, &terms),
                }
            }
        }
    }

    /// The limbs of all sums at a position where plaintexts are made: those of all summands are
    /// there, and each row makes its plaintexts in the same memory, which stays in the cache.
    fn sums_by_limb(
        &self,
        plan: &Decomposition,
        sources: &[Source<'_>],
        rows: &[Vec<Term<'_>>],
        position: usize,
        sums: &mut [[&mut [u64]; 2]],
    ) {
        let degree = self.degree();
        let ring = self.ring_at(plan.extended, position);
        let limbs = 2 * sources.len() + 2 + most_by_limb(rows);
        let mut scratch = self.scratch_limbs(limbs, Domain::Evaluation);
        let (images, rest) =
            scratch.as_mut_slice()[..limbs * degree].split_at_mut(2 * sources.len() * degree);
        let (spare, made) = rest.split_at_mut(2 * degree);
        let (spare0, spare1) = spare.split_at_mut(degree);
        for (source, images) in sources.iter().zip(images.chunks_exact_mut(2 * degree)) {
            let (image0, image1) = images.split_at_mut(degree);
            source.image_at(
                self,
                plan,
                position,
                0,
                [image0, image1],
                [&mut *spare0, &mut *spare1],
            );
        }
        let image = |i: usize| &images[i * degree..(i + 1) * degree];
        for (row, [sum0, sum1]) in rows.iter().zip(sums) {
            let mut made = made.chunks_exact_mut(degree);
            let there = row.iter().filter(|term| sources[term.summand].is_at(position));
            let terms = there.map(|term| {
                let factor = term.factor.limb(position, |factor| {
                    let limb = made.next().expect("there is a limb for each");
                    factor.write(ring, limb);
                    limb
                });
                (factor, [image(2 * term.summand), image(2 * term.summand + 1)])
            });
            let terms: Vec<PairTerm> = terms.collect();
            match are_repeated(row, degree) {
                true => ring.sum_repeated_products(sum0, sum1, &terms),
                false => ring.sum_products(sum0, sum1, &terms),
            }
        }
    }

    /// All sums modulo a power of two: each summand is lifted once, and each sum comes back from
    /// its transforms once.
    fn sums_modulo_two(
        &self,
        plan: &Decomposition,
        sources: &[Source<'_>],
        rows: &[Vec<Term<'_>>],
        sums: &mut [[&mut [u64]; 2]],
    ) {
        let (position, degree) = (Modulus::TWO, self.degree());
        let ring = self.ring_at(plan.extended, position);
        let limbs = ring.lifted_moduli().len();
        let by_limb = limbs * most_by_limb(rows);
        let mut scratch =
            self.scratch_limbs(2 * limbs * sources.len() + 4 + by_limb, Domain::Evaluation);
        let (images, spare) =
            scratch.as_mut_slice().split_at_mut(2 * limbs * sources.len() * degree);
        let (spare, made) = spare.split_at_mut(4 * degree);
        let (parts, spares) = spare.split_at_mut(2 * degree);
        let ((part0, part1), (spare0, spare1)) =
            (parts.split_at_mut(degree), spares.split_at_mut(degree));
        for (source, images) in sources.iter().zip(images.chunks_exact_mut(2 * limbs * degree)) {
            if source.is_at(position) {
                let (parts, spares) = ([&mut *part0, &mut *part1], [&mut *spare0, &mut *spare1]);
                source.image_at(self, plan, position, 0, parts, spares);
                let (image0, image1) = images.split_at_mut(limbs * degree);
                ring.lift(image0, part0);
                ring.lift(image1, part1);
            }
        }
        let image = |i: usize| &images[i * limbs * degree..][..limbs * degree];
        for (row, [sum0, sum1]) in rows.iter().zip(sums) {
            let mut made = made.chunks_exact_mut(limbs * degree);
            let there = row.iter().filter(|term| sources[term.summand].is_at(position));
            let pair = |i: usize| [image(2 * i), image(2 * i + 1)];
            let terms = there.map(|term| {
                let factor = term.factor.limb(position, |factor| {
                    let lifted = made.next().expect("there are limbs for each");
                    factor.write(ring, part0);
                    ring.lift(lifted, part0);
                    lifted
                });
                (factor, pair(term.summand))
            });
            let terms: Vec<PairTerm> = terms.collect();
            match are_repeated(row, degree) {
                true => ring.sum_repeated_products(sum0, sum1, &terms),
                false => ring.sum_products(sum0, sum1, &terms),
            }
        }
    }

    /// The noise of an inner product of a polynomial modulo `modulus` with a key modulo `key`, over
    /// `P'`, before it is rounded.
    fn inner_product_noise(
        &self,
        plan: &Decomposition,
        modulus: Modulus,
        key: Modulus,
    ) -> Result<Noise, RlweError> {
        let product = self.product_noise(modulus, plan.gadget, key)?;
        Ok(product.scaled(-self.parameters().log2(plan.gadget.specials())))
    }
}

/// Whether the factors of a row are without the values that repeat.
fn are_repeated(row: &[Term<'_>], degree: usize) -> bool {
    row.first().is_some_and(|term| term.factor.degree(degree) != degree)
}

/// How many plaintexts are made limb by limb for a row, at most.
fn most_by_limb(rows: &[Vec<Term<'_>>]) -> usize {
    let by_limb = |row: &Vec<Term<'_>>| row.iter().filter(|term| term.factor.is_by_limb()).count();
    rows.iter().map(by_limb).max().unwrap_or(0)
}

impl<'a> Summand<'a> {
    fn ciphertext(&self) -> &'a Ciphertext {
        match self {
            Summand::Same(a) | Summand::Rotated(a, ..) => a,
        }
    }
}

impl Source<'_> {
    /// Whether it is not 0 at a position of `P'Q`, being a multiple of `P'`.
    fn is_at(&self, position: usize) -> bool {
        self.rotation.is_some() || self.ciphertext.modulus().contains(position)
    }

    /// Its limbs modulo `P'Q` at a position, from word `first` on, with as much to spare. Nothing
    /// is written where it is 0.
    fn image_at(
        &self,
        context: &Context,
        plan: &Decomposition,
        position: usize,
        first: usize,
        [image0, image1]: [&mut [u64]; 2],
        [spare0, spare1]: [&mut [u64]; 2],
    ) {
        let ring = context.ring_at(plan.extended, position);
        match &self.rotation {
            Some((product, automorphism)) if position == Modulus::TWO => {
                product.at(
                    &[position],
                    0,
                    &mut product.extend(&[position]),
                    [&mut *spare0, &mut *spare1],
                );
                ring.apply_automorphism(automorphism, Domain::Evaluation, image0, spare0);
                ring.apply_automorphism(automorphism, Domain::Evaluation, image1, spare1);
            }
            Some((product, automorphism)) => {
                let source = automorphism.source(first, image0.len());
                product.range_at(position, source, [&mut *spare0, &mut *spare1]);
                automorphism.apply_evaluation_range(first, image0, spare0);
                automorphism.apply_evaluation_range(first, image1, spare1);
            }
            None if self.is_at(position) => {
                let k = self.ciphertext.modulus().limb_of(position);
                for (image, part) in [image0, image1].into_iter().zip(self.ciphertext.parts()) {
                    let limb = &part.limb(k)[first..first + image.len()];
                    ring.mul_scalar(image, limb, &plan.specials[k]);
                }
            }
            None => (),
        }
    }
}

impl RotationSum<'_> {
    /// The estimate of its noise, over `P'`.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Replaces the estimate of its noise.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// Adds another sum of ciphertexts of the same modulus and key.
    ///
    /// # Errors
    /// When it is not that.
    pub fn add(&mut self, other: &RotationSum<'_>) -> Result<(), RlweError> {
        self.check(other)?;
        let (context, extended) = (self.context, self.plan.extended);
        context.record("add", |count| count.passes(extended, 2));
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.for_each_limb(context.threads(), |k, limb| {
                context.limb_ring(extended, k).add_assign(limb, other.limb(k));
            });
        }
        self.noise = self.noise.plus(other.noise);
        self.is_multiple &= other.is_multiple;
        Ok(())
    }

    /// Its image under `X -> X^element`. Of its two parts only the second is divided by `P'`, to be
    /// decomposed.
    ///
    /// # Errors
    /// When the key of the automorphism is missing, or they are of another secret.
    pub fn rotated(
        &self,
        element: usize,
        keys: &PreparedEvaluationKeys,
    ) -> Result<Self, RlweError> {
        let (context, modulus, plan) = (self.context, self.modulus, &self.plan);
        keys.check_key(self.key, "rotate")?;
        let (key, automorphism) =
            (keys.galois_at(element, context, modulus)?, context.automorphism(element)?);
        let mut divided = context.scratch(modulus, Domain::Evaluation);
        context.switch_modulus(&mut divided, &self.parts[1], plan.extended, modulus, 1)?;
        let decomposed = context.decompose_with(&divided, modulus, plan.gadget)?;
        let product = Product::new(context, &decomposed, key, [Added::default(); 2])?;
        context.note_rotated_sum(plan, modulus);
        let mut parts = [0, 1].map(|_| context.scratch(plan.extended, Domain::Evaluation));
        let [out0, out1] = &mut parts;
        let (degree, size) = (
            context.degree(),
            context.group_size(plan.extended.limb_count(), decomposed.scratch()),
        );
        context.touch_scratch(&[decomposed.scratch_limbs(size), 2]);
        context.threads().for_each_chunk_pair(
            out0.as_mut_slice(),
            out1.as_mut_slice(),
            size * degree,
            |group, out0, out1| {
                let first = group * size;
                let count = out0.len() / degree;
                let targets: Targets = plan.extended.factors().skip(first).take(count).collect();
                let mut fresh = product.extend(&targets);
                let mut scratch = context.scratch_limbs(2, Domain::Evaluation);
                let (acc0, acc1) = scratch.as_mut_slice().split_at_mut(degree);
                let limbs = out0.chunks_exact_mut(degree).zip(out1.chunks_exact_mut(degree));
                for (i, (out0, out1)) in limbs.enumerate() {
                    let ring = context.ring_at(plan.extended, targets[i]);
                    product.at(&targets, i, &mut fresh, [&mut *acc0, &mut *acc1]);
                    ring.add_assign(acc0, self.parts[0].limb(first + i));
                    ring.apply_automorphism(&automorphism, Domain::Evaluation, out0, acc0);
                    ring.apply_automorphism(&automorphism, Domain::Evaluation, out1, acc1);
                }
            },
        );
        let added = context.inner_product_noise(plan, modulus, key.modulus())?;
        let mut noise = self.noise.plus(added);
        if !self.is_multiple {
            noise =
                noise.plus(Noise::from_std((context.parameters().secret_weight() / 12.0).sqrt()));
        }
        Ok(RotationSum {
            context,
            plan: Arc::clone(plan),
            modulus,
            parts,
            key: self.key,
            noise,
            is_multiple: false,
        })
    }

    /// The sum over `P'`, brought from its modulus `Q` to `to = Q'` (scaled by `Q'/Q`) in the same
    /// modulus switch.
    ///
    /// # Errors
    /// When `to` is not a divisor of `PQ_max`.
    pub fn divide_into(&self, out: &mut Ciphertext, to: Modulus) -> Result<(), RlweError> {
        let (context, extended) = (self.context, self.plan.extended);
        let parameters = context.parameters();
        let mut noise = self.noise.scaled(parameters.log2(to) - parameters.log2(self.modulus));
        let is_exact = extended.divides(to) || (self.is_multiple && to == self.modulus);
        if !is_exact {
            noise = noise.plus(noise::rounding(parameters.secret_weight(), 2));
        }
        out.reshape(context, 2, to, noise, self.key);
        for (out, part) in out.parts_mut().iter_mut().zip(&self.parts) {
            context.switch_modulus(out, part, extended, to, 1)?;
        }
        Ok(())
    }

    fn check(&self, other: &RotationSum<'_>) -> Result<(), RlweError> {
        let (context, parameters) = (self.context, self.context.parameters());
        context.check_digest(other.context.parameters().digest(), OPERATION)?;
        if other.key != self.key {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: other.key,
                need: self.key,
            });
        }
        if (other.modulus, other.plan.gadget) != (self.modulus, self.plan.gadget) {
            let (left, right) =
                (parameters.log2(self.plan.extended), parameters.log2(other.plan.extended));
            return Err(RlweError::ModulusMismatch { operation: OPERATION, left, right });
        }
        Ok(())
    }
}
