//! Plain matrices times encrypted vectors, by diagonals.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hippocrene_rlwe::{Modulus, RotationSum, Summand, Term};
use num_complex::{Complex, Complex64};

use crate::{
    BigFloat, Ciphertext, CkksError, Context, Evaluator, Plaintext, Scale, Values, context::encoding_noise,
};

const OPERATION: &str = "linear transform";

/// A linear map of the slots, given by its diagonals: slot `i` of the result is the sum over `r` of `diagonal_r[i]` times slot
/// `i + r` (modulo the number of slots).
///
/// It is applied by baby steps and giant steps (Halevi and Shoup, ePrint 2014/873 and 2018/244): with `r = g + b`, the result is
/// `sum_g rot_g(sum_b rot_{-g}(diagonal_{g+b}) rot_b(x))`, where the baby rotations `rot_b(x)` are hoisted.
#[derive(Debug)]
pub struct LinearTransform {
    slots: usize,
    diagonals: BTreeMap<usize, Diagonal>,
    /// The number of baby steps, a power of two.
    baby: usize,
    /// The largest sum of absolute values along a row.
    norm: f64,
    kept: Mutex<Kept>,
}

/// Encodings by modulus and scale, the last used last, and how many bytes they may take.
#[derive(Debug)]
struct Kept {
    encodings: Vec<(Modulus, Scale, Arc<Encoded>)>,
    limit: usize,
}

/// The bytes that the encodings of one transform may take where nothing else is said.
const DEFAULT_MEMORY: usize = 1 << 30;

impl Kept {
    fn bytes(&self) -> usize {
        let plaintexts = self.encodings.iter().flat_map(|(.., encoded)| encoded.values().flatten());
        plaintexts.map(|(_, plaintext)| size_of_val(plaintext.poly().as_slice())).sum()
    }

    /// Drops what was not used for the longest time, but for `least` encodings.
    fn make_room(&mut self, least: usize) {
        while self.encodings.len() > least && self.bytes() > self.limit {
            self.encodings.remove(0);
        }
    }
}

/// The numbers of a diagonal.
#[derive(Debug, Clone)]
enum Diagonal {
    Double(Vec<Complex64>),
    Big(Vec<Complex<BigFloat>>),
}

impl Diagonal {
    fn values(&self) -> Values<'_> {
        match self {
            Diagonal::Double(v) => Values::Complex(v),
            Diagonal::Big(v) => Values::BigComplex(v),
        }
    }

    fn absolute_value(&self, i: usize) -> f64 {
        match self {
            Diagonal::Double(v) => v[i].norm(),
            Diagonal::Big(v) => Complex64::new(v[i].re.to_f64(), v[i].im.to_f64()).norm(),
        }
    }

    fn rotate_right(&mut self, by: usize) {
        match self {
            Diagonal::Double(v) => v.rotate_right(by),
            Diagonal::Big(v) => v.rotate_right(by),
        }
    }
}

/// For each giant step its baby steps, with the diagonals rotated and encoded.
type Encoded = BTreeMap<usize, Vec<(usize, Plaintext)>>;

/// What a baby step costs of what a giant step costs. Fitted to times at ring degrees `2^14` and `2^15`, of 16 and 64 diagonals: 0.31 to 0.44 (and
/// 0.75 in one noisy fit).
const HOISTED_COST: f64 = 0.4;

impl LinearTransform {
    /// The map with these diagonals, each of `slots` numbers, by rotation.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when there is no diagonal, one has another length, or a rotation is not below the number of slots.
    pub fn new(slots: usize, diagonals: BTreeMap<usize, Vec<Complex64>>) -> Result<Self, CkksError> {
        Self::of(slots, diagonals.into_iter().map(|(r, d)| (r, Diagonal::Double(d))).collect())
    }

    /// [`LinearTransform::new`] for diagonals of numbers of many bits: they are encoded to the unit of any scale.
    ///
    /// # Errors
    /// As [`LinearTransform::new`].
    pub fn from_big(
        slots: usize,
        diagonals: BTreeMap<usize, Vec<Complex<BigFloat>>>,
    ) -> Result<Self, CkksError> {
        Self::of(slots, diagonals.into_iter().map(|(r, d)| (r, Diagonal::Big(d))).collect())
    }

    fn of(slots: usize, diagonals: BTreeMap<usize, Diagonal>) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: "make a linear transform", what });
        if !slots.is_power_of_two() || diagonals.is_empty() {
            return fail(format!("{} diagonals over {slots} slots", diagonals.len()));
        }
        if let Some((r, d)) = diagonals.iter().find(|(r, d)| **r >= slots || d.values().len() != slots) {
            let have = d.values().len();
            return fail(format!("diagonal {r} has {have} numbers, {slots} slots are needed"));
        }
        let row = |i: usize| diagonals.values().map(|d| d.absolute_value(i)).sum::<f64>();
        let norm = (0..slots).map(row).fold(0.0, f64::max);
        let baby = (0..=slots.trailing_zeros())
            .map(|k| 1usize << k)
            .min_by(|&x, &y| cost(&diagonals, x).total_cmp(&cost(&diagonals, y)))
            .unwrap_or(1);
        let kept = Mutex::new(Kept { encodings: Vec::new(), limit: DEFAULT_MEMORY });
        Ok(LinearTransform { slots, diagonals, baby, norm, kept })
    }

    /// [`LinearTransform::new`] for real diagonals.
    ///
    /// # Errors
    /// As [`LinearTransform::new`].
    pub fn from_real(slots: usize, diagonals: BTreeMap<usize, Vec<f64>>) -> Result<Self, CkksError> {
        let complex = |d: Vec<f64>| d.into_iter().map(Complex64::from).collect();
        Self::new(slots, diagonals.into_iter().map(|(r, d)| (r, complex(d))).collect())
    }

    /// The rotations whose keys it wants: baby steps and giant steps.
    pub fn rotations(&self) -> Vec<i64> {
        let (baby, giant) = steps(&self.diagonals, self.baby);
        baby.union(&giant).filter(|r| **r != 0).map(|r| *r as i64).collect()
    }

    /// Sets how many bytes encoded diagonals may take. They are encoded for each modulus and scale that the transform is used at; what is more is
    /// dropped, those first that were not used for the longest time. Those used last are kept for the next use, whatever they take, unless the
    /// limit is 0.
    pub fn set_memory(&self, bytes: usize) {
        let mut kept = self.lock();
        kept.limit = bytes;
        kept.make_room(usize::from(bytes > 0));
    }

    /// How many bytes encoded diagonals take, and how many they may.
    pub fn memory(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.bytes(), kept.limit)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The diagonals, which fit `modulus = Q` at `scale`, encoded modulo `P'Q`; made once and kept as long as there is room.
    fn encode(&self, context: &Context, modulus: Modulus, scale: Scale) -> Result<Arc<Encoded>, CkksError> {
        let extended = context.rlwe().rotation_modulus(modulus)?;
        let mut kept = self.lock();
        if let Some(i) = kept.encodings.iter().position(|(m, s, _)| *m == extended && *s == scale) {
            kept.encodings[i..].rotate_left(1);
            return Ok(Arc::clone(&kept.encodings[kept.encodings.len() - 1].2));
        }
        let mut encoded = Encoded::new();
        for (r, diagonal) in &self.diagonals {
            let (giant, baby) = (r / self.baby * self.baby, r % self.baby);
            let mut rotated = diagonal.clone();
            rotated.rotate_right(giant);
            let plaintext =
                context.encode_extended(rotated.values(), self.slots, scale, modulus, extended)?;
            encoded.entry(giant).or_default().push((baby, plaintext));
        }
        let encoded = Arc::new(encoded);
        kept.encodings.push((extended, scale, Arc::clone(&encoded)));
        let least = usize::from(kept.limit > 0);
        kept.make_room(least);
        Ok(encoded)
    }
}

/// The baby steps and the giant steps that `diagonals` need.
fn steps(diagonals: &BTreeMap<usize, Diagonal>, baby: usize) -> (BTreeSet<usize>, BTreeSet<usize>) {
    (diagonals.keys().map(|r| r % baby).collect(), diagonals.keys().map(|r| r / baby * baby).collect())
}

fn cost(diagonals: &BTreeMap<usize, Diagonal>, baby: usize) -> f64 {
    let (baby, giant) = steps(diagonals, baby);
    let count = |s: &BTreeSet<usize>| s.iter().filter(|r| **r != 0).count() as f64;
    HOISTED_COST * count(&baby) + count(&giant)
}

impl Evaluator {
    /// The map `t` of the slots of `a`, rescaled to `target`: modulus and exact scale are those of a square, [`Evaluator::after_product`], of
    /// `a`, which is rescaled to the target first if its scale is larger. The diagonals are encoded at the scale of `a`.
    ///
    /// All of it is had modulo `P'Q` (double hoisting, ePrint 2020/1203): the baby rotations share one decomposition, their products with the diagonals are
    /// added up as they are, of each such sum one part is divided by `P'` for its giant rotation, and the result is divided and rescaled in one
    /// modulus switch.
    ///
    /// Products of polynomials modulo a power of two cost transforms. Where the modulus has such a limb, the map is had modulo the next larger one
    /// that has none, to which `a` is brought by a rational rescale; near the top, where there is none, modulo one that is smaller by at most 4 bits;
    /// failing that, where it stands.
    ///
    /// # Errors
    /// When a rotation key is missing, the slots differ, or the result does not fit the modulus.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        t: &LinearTransform,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        if a.slots() != t.slots {
            return Err(CkksError::SlotMismatch { operation: OPERATION, left: a.slots(), right: t.slots });
        }
        let a = &*self.at_most(a, target)?;
        let (to, scale) = self.after_product(a, target);
        let modulus = self.without_two(a.modulus());
        let a = &*self.brought(a, modulus)?;
        let factor = self.switched_scale(scale, to, modulus).over(a.scale());
        let encoded = t.encode(self.context(), modulus, factor)?;
        // Whatever is added up on the way is no larger than a whole row.
        let bound = t.norm * a.bound();
        self.check_capacity(a, modulus, a.scale().times(factor).log2(), bound, OPERATION)?;
        let total = self.sum_of_giant_steps(a, t, &encoded)?;
        let mut out = Ciphertext::empty(self.context());
        total.divide_into(out.inner_mut(), to)?;
        out.set_meta(scale, a.slots(), bound);
        Ok(out)
    }

    /// The products with all diagonals, rotated and added up, modulo `P'Q`.
    fn sum_of_giant_steps<'a>(
        &'a self,
        a: &Ciphertext,
        t: &LinearTransform,
        encoded: &Encoded,
    ) -> Result<RotationSum<'a>, CkksError> {
        let rlwe = self.context().rlwe();
        let baby: Vec<usize> = steps(&t.diagonals, t.baby).0.into_iter().collect();
        let hoisted = rlwe.hoist_for_sums(a.inner())?;
        // Rotations without a key of their own are composed, each of them as a ciphertext.
        let element = |step: usize| self.rotation_element(a.slots(), step as i64);
        let composed: Vec<Option<Ciphertext>> = baby
            .iter()
            .map(|step| match self.keys().has_galois(element(*step)) {
                true => Ok(None),
                false => self.rotate(a, *step as i64).map(Some),
            })
            .collect::<Result<_, _>>()?;
        let summands: Vec<Summand> = baby
            .iter()
            .zip(&composed)
            .map(|(step, composed)| match composed {
                Some(rotated) => Summand::Same(rotated.inner()),
                None => Summand::Rotated(a.inner(), &hoisted, element(*step)),
            })
            .collect();
        let mut rows: Vec<Vec<Term>> = Vec::with_capacity(encoded.len());
        for terms in encoded.values() {
            let terms = terms.iter().map(|(step, plaintext)| Term {
                summand: baby.binary_search(step).expect("every baby step is a summand"),
                factor: plaintext.poly(),
                log2_norm: plaintext.scale().log2() + plaintext.bound().log2(),
            });
            rows.push(terms.collect());
        }
        let sums = rlwe.rotation_sums(&summands, &rows, self.keys())?;

        let mut total: Option<RotationSum> = None;
        for ((giant, terms), mut sum) in encoded.iter().zip(sums) {
            // The rounding of the diagonals, times the message.
            let rounding = Self::message_times(a.scale().log2(), a.bound(), encoding_noise());
            let rounding = rounding.scaled(0.5 * (terms.len() as f64).log2());
            sum.set_noise(sum.noise().plus(rounding));
            if *giant > 0 {
                for element in self.rotation_elements(a.slots(), *giant as i64) {
                    sum = sum.rotated(element, self.keys())?;
                }
            }
            match &mut total {
                None => total = Some(sum),
                Some(total) => total.add(&sum)?,
            }
        }
        Ok(total.expect("a transform has at least one diagonal"))
    }
}
