//! Sums of rotated ciphertexts times plaintexts, with a single division by the special modulus.
//!
//! A rotation is an inner product modulo `P'Q` and a division by `P'`. If rotated ciphertexts are
//! multiplied by plaintexts and added, everything can be computed modulo `P'Q`, with one division
//! at the end ("double hoisting", Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, ePrint
//! 2020/1203, section 4.3). For `sum_j m_j sigma_j(c)` with `J` rotations this saves `2 (J - 1)`
//! divisions. The plaintexts must be known modulo `P'Q`.
//!
//! **Noise.** A ciphertext modulo `P'Q` here represents `P'` times a message modulo `Q`. Its noise
//! is stated over `P'`, so that it is relative to the message. Let `e_j` be the noise of `c_j`, and
//! `e_ks` that of an inner product over `P'` before rounding. All of the following are variances:
//!
//! - The sum has `sum_j |m_j| (e_j + e_ks)`, where multiplication by `m_j` makes noise grow by the
//!   factor `|m_j|`.
//! - The rotation of a sum adds `e_ks` and the rounding of its second part, `|s|^2/12`.
//! - The division at the end adds one rounding ([`crate::noise::rounding`]).
//!
//! Sums without a rotation are multiples of `P'`, so their division does not round.

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

/// The number of words of rotated ciphertexts that are computed and used in all rows before the
/// next ones: half a megabyte, which stays in the cache. Chosen.
const IMAGE_BLOCK_WORDS: usize = 1 << 16;

/// A ciphertext in sums of rotations.
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug, Clone, Copy)]
pub enum Summand<'a> {
    /// The ciphertext itself.
    Unrotated(&'a Ciphertext),
    /// The image of a ciphertext under `X -> X^element`, with its decomposition by
    /// [`Context::hoist_for_sums`].
    Rotated(&'a Ciphertext, &'a Decomposed<'a>, usize),
}

/// A summand times a plaintext.
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Term<'a> {
    /// The index of the summand.
    pub summand: usize,
    /// The plaintext modulo `P'Q` ([`Context::rotation_modulus`]). In one row, either all
    /// plaintexts have all values, or all have only an eighth of them.
    pub factor: TermFactor<'a>,
    /// The number of bits by which the plaintext makes noise grow.
    pub log2_norm: f64,
    /// True if there are slots that all terms of a sum multiply by zero, so that they have no error
    /// ([`Noise::without_zeros`]).
    pub leaves_zeros: bool,
}

/// A sum of rotated ciphertexts modulo `P'Q` that has not been divided by `P'` yet. It is in
/// scratch memory.
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug)]
pub struct RotationSum<'a> {
    context: &'a Context,
    plan: Arc<Decomposition>,
    /// The modulus `Q` of the ciphertexts.
    modulus: Modulus,
    /// Both parts modulo `P'Q`, in the evaluation domain.
    parts: [Scratch<'a>; 2],
    key: Fingerprint,
    noise: Noise,
    /// True if the sum is a multiple of `P'`, as it is without rotations. The division by `P'` then
    /// does not round.
    is_multiple: bool,
}

/// The minimum number of words in a piece of work. Smaller pieces are not worth distributing among
/// threads. Chosen.
const MIN_STRETCH_WORDS: usize = 1 << 12;

/// Some neighbouring words of all sums at one position.
struct Stretch<'s> {
    position: usize,
    first: usize,
    words: usize,
    /// These words of both parts of each sum.
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
    /// The modulus `P'Q` of sums of rotations of ciphertexts modulo `modulus = Q`, and of their
    /// plaintexts.
    ///
    /// The moduli of the keys for these rotations must be multiples of `keys`
    /// ([`PreparedEvaluationKeys::common_modulus`]).
    ///
    /// # Errors
    /// Returns the errors of [`Context::gadget_within`].
    pub fn rotation_modulus(&self, modulus: Modulus, keys: Modulus) -> Result<Modulus, RlweError> {
        Ok(modulus.lcm(self.rotation_gadget(modulus, keys)?.specials()))
    }

    /// Decomposes a ciphertext once for any number of rotations in [`Context::rotation_sums`], by
    /// keys whose moduli are multiples of `keys`.
    ///
    /// # Errors
    /// Returns an error if the ciphertext has more than two parts, and the errors of
    /// [`Context::gadget_within`].
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

    /// Returns the planned gadget with the single decomposition, because the inner products of the
    /// double decomposition are not modulo `P'Q`.
    fn rotation_gadget(&self, modulus: Modulus, keys: Modulus) -> Result<Gadget, RlweError> {
        Ok(self.gadget_within(modulus, keys)?.with_method(Method::Single))
    }

    /// Computes the sum of the terms of each row, modulo `P'Q`.
    ///
    /// Each summand is rotated once, even if several rows use it. The moduli of the keys for the
    /// rotations are multiples of `common`, which determines `P'`.
    ///
    /// ```
    /// use hippocrene_ring::{Threads, primes};
    /// use hippocrene_rlwe::{
    ///     Ciphertext, Context, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution,
    ///     SecretKey, Sprout, Summand, Term,
    /// };
    ///
    /// // A prime for the units and one for the special modulus. These parameters are not secure.
    /// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
    /// let parameters = Parameters::new_insecure(ParametersLiteral {
    ///     log_degree: 10,
    ///     units: primes[..1].to_vec(),
    ///     specials: primes[1..].to_vec(),
    ///     sprout: Sprout::default(),
    ///     gadget_rank: 1,
    ///     secret: SecretDistribution::Ternary,
    /// })?;
    /// let context = Context::new(parameters, Threads::single())?;
    /// let modulus = context.parameters().top();
    /// let secret = SecretKey::generate(&context)?;
    /// let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
    /// keys.add_galois(&context, &secret, 5)?;
    /// let keys = keys.prepare(&context)?;
    ///
    /// // The sum of a ciphertext of 2^30 X and its image under X -> X^5, both times 2.
    /// let message = context.from_signed(&[vec![0, 1 << 30], vec![0; 1022]].concat(), modulus);
    /// let a = secret.encrypt(&context, &message, modulus)?.expand(&context);
    /// let common = keys.common_modulus(&context, modulus, [5]);
    /// let extended = context.rotation_modulus(modulus, common)?;
    /// let two = context.from_signed(&[vec![2], vec![0; 1023]].concat(), extended);
    /// let two = context.rotation_factor(two, extended)?;
    /// let hoisted = context.hoist_for_sums(&a, common)?;
    /// let term = |summand| Term {
    ///     summand,
    ///     factor: (&two).into(),
    ///     log2_norm: 1.0,
    ///     leaves_zeros: false,
    /// };
    /// let summands = [Summand::Unrotated(&a), Summand::Rotated(&a, &hoisted, 5)];
    /// let sums = context.rotation_sums(&summands, &[vec![term(0), term(1)]], &keys, common)?;
    /// let mut out = Ciphertext::empty(&context);
    /// sums[0].divide_into(&mut out, modulus)?;
    ///
    /// let decrypted = secret.decrypt(&context, &out)?;
    /// for (i, expected) in [(1, 2 << 30), (5, 2 << 30)] {
    ///     assert!(decrypted.limb(0)[i].abs_diff(expected) < 1 << 16);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// - there is no summand, or moduli, keys or numbers of parts differ;
    /// - a key is missing;
    /// - a decomposition belongs to another ciphertext or to another gadget than the planned one;
    /// - a term names a summand that does not exist, or has an unsuitable plaintext.
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
            if term.leaves_zeros { noise.without_zeros() } else { noise.also_in_zeros() }
        };
        let mut sums = Vec::with_capacity(rows.len());
        for row in rows {
            let degree =
                row.first().map_or(self.degree(), |term| term.factor.degree(self.degree()));
            row.iter().try_for_each(|term| {
                self.check_term(term, summands.len(), plan.extended, degree)
            })?;
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
        // Plaintexts whose limbs are computed on use are computed only once.
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

    /// Divides the words of a polynomial modulo `modulus` into pieces of work, in order.
    ///
    /// The pieces are limbs. If there are several threads and `whole` is false, they are halves of
    /// limbs, so that no thread waits long for the last piece of another.
    fn stretches<'s>(&self, modulus: Modulus, whole: bool) -> Vec<Stretch<'s>> {
        let degree = self.degree();
        let halves = self.threads().count() > 1 && degree >= 2 * MIN_STRETCH_WORDS && !whole;
        let mut stretches = Vec::with_capacity(2 * modulus.limb_count());
        for position in modulus.factors() {
            // Products modulo a power of two need whole limbs.
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
                    return Err(RlweError::WrongDecomposition { operation: OPERATION });
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

    /// Checks that a term suits its row. Plaintexts of the row have `degree` values in each limb.
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
            "the summand of a term does not exist"
        } else if of_degree != degree || ![1, REPETITIONS].contains(&(self.degree() / degree)) {
            "in one row all plaintexts have the ring degree, or all an eighth of it"
        } else if whole.is_some_and(|factor| factor.is_dry_run() != self.is_dry_run()) {
            "operands of a dry run and of a real run cannot be mixed"
        } else if whole.is_some_and(|factor| !factor.is_modulo(self, extended)) {
            "a plaintext modulo P'Q is needed"
        } else {
            return Ok(());
        };
        let have = whole.map_or(extended, RotationFactor::modulus).limb_count();
        Err(RlweError::Modulus { operation: OPERATION, have, need })
    }

    /// Computes a stretch of all sums, in blocks of words: first those of each summand, then those
    /// of each row.
    ///
    /// This works because automorphisms in the evaluation domain map neighbouring words to
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
        if max_terms_by_limb(rows) > 0 {
            return self.sums_by_limb(plan, sources, rows, position, sums);
        }
        let degree = self.degree();
        let ring = self.ring_at(plan.extended, position);
        let size =
            (IMAGE_BLOCK_WORDS / (2 * sources.len())).next_power_of_two().max(64).min(length);
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
                let repetitions = if is_repeated { REPETITIONS } else { 1 };
                let terms_here = row.iter().filter(|term| sources[term.summand].is_at(position));
                terms.clear();
                terms.extend(terms_here.filter_map(|term| {
                    let TermFactor::Whole(factor) = term.factor else { return None };
                    let (factor, i) = (factor.limb(position), 2 * term.summand);
                    Some((
                        &factor[first / repetitions..(first + size) / repetitions],
                        [image(i), image(i + 1)],
                    ))
                }));
                let (sum0, sum1) = (&mut sum0[block.clone()], &mut sum1[block.clone()]);
                match is_repeated {
                    true => ring.sum_repeated_products(sum0, sum1, &terms),
                    false => ring.sum_products(sum0, sum1, &terms),
                }
            }
        }
    }

    /// Computes the limbs of all sums at a position where plaintexts are computed on use.
    ///
    /// The limbs of all summands are in memory. All rows write their plaintexts to the same memory,
    /// which stays in the cache.
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
        let limbs = 2 * sources.len() + 2 + max_terms_by_limb(rows);
        let mut scratch = self.scratch_limbs(limbs, Domain::Evaluation);
        let (images, rest) =
            scratch.as_mut_slice()[..limbs * degree].split_at_mut(2 * sources.len() * degree);
        let (spare, generated) = rest.split_at_mut(2 * degree);
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
            let mut generated = generated.chunks_exact_mut(degree);
            let terms_here = row.iter().filter(|term| sources[term.summand].is_at(position));
            let terms = terms_here.map(|term| {
                let factor = term.factor.limb(position, |factor| {
                    let limb = generated.next().expect("there is a limb for each");
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

    /// Computes all sums modulo a power of two. Each summand is lifted once, and each sum is
    /// transformed back once.
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
        let by_limb = limbs * max_terms_by_limb(rows);
        let mut scratch =
            self.scratch_limbs(2 * limbs * sources.len() + 4 + by_limb, Domain::Evaluation);
        let (images, spare) =
            scratch.as_mut_slice().split_at_mut(2 * limbs * sources.len() * degree);
        let (spare, generated) = spare.split_at_mut(4 * degree);
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
            let mut generated = generated.chunks_exact_mut(limbs * degree);
            let terms_here = row.iter().filter(|term| sources[term.summand].is_at(position));
            let pair = |i: usize| [image(2 * i), image(2 * i + 1)];
            let terms = terms_here.map(|term| {
                let factor = term.factor.limb(position, |factor| {
                    let lifted = generated.next().expect("there are limbs for each");
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

    /// Returns the noise of an inner product of a polynomial modulo `modulus` with a key modulo
    /// `key`, over `P'` and before rounding.
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

/// True if the plaintexts of a row are stored without their repeated values.
fn are_repeated(row: &[Term<'_>], degree: usize) -> bool {
    row.first().is_some_and(|term| term.factor.degree(degree) != degree)
}

/// The maximum number of plaintexts of a row that are computed on use.
fn max_terms_by_limb(rows: &[Vec<Term<'_>>]) -> usize {
    let by_limb = |row: &Vec<Term<'_>>| row.iter().filter(|term| term.factor.is_by_limb()).count();
    rows.iter().map(by_limb).max().unwrap_or(0)
}

impl<'a> Summand<'a> {
    fn ciphertext(&self) -> &'a Ciphertext {
        match self {
            Summand::Unrotated(a) | Summand::Rotated(a, ..) => a,
        }
    }
}

impl Source<'_> {
    /// True if the summand is not 0 at a position of `P'Q`. A summand without rotation is a
    /// multiple of `P'`, so it is 0 at the positions of `P'`.
    fn is_at(&self, position: usize) -> bool {
        self.rotation.is_some() || self.ciphertext.modulus().contains(position)
    }

    /// Computes the limbs of the summand modulo `P'Q` at a position, from word `first` on.
    ///
    /// Spare memory of the same size is needed. Nothing is written where the summand is 0.
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
    /// The estimated noise of the sum, over `P'`.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Replaces the estimated noise of the sum.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// Adds another sum.
    ///
    /// # Errors
    /// Returns an error if the other sum has another modulus or key.
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

    /// Returns the image of the sum under `X -> X^element`.
    ///
    /// Only the second part is divided by `P'`, in order to be decomposed.
    ///
    /// # Errors
    /// Returns an error if the key of the automorphism is missing, or if `keys` belong to another
    /// secret.
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
                let mut extensions = product.extend(&targets);
                let mut scratch = context.scratch_limbs(2, Domain::Evaluation);
                let (acc0, acc1) = scratch.as_mut_slice().split_at_mut(degree);
                let limbs = out0.chunks_exact_mut(degree).zip(out1.chunks_exact_mut(degree));
                for (i, (out0, out1)) in limbs.enumerate() {
                    let ring = context.ring_at(plan.extended, targets[i]);
                    product.at(&targets, i, &mut extensions, [&mut *acc0, &mut *acc1]);
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

    /// Divides the sum by `P'` and brings it from its modulus `Q` to `to = Q'` in the same modulus
    /// switch, which scales it by `Q'/Q`.
    ///
    /// # Errors
    /// Returns an error if `to` does not divide `PQ_max`.
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

    /// Checks that the other sum has the same parameters, key, modulus and gadget.
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
