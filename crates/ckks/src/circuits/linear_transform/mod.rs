//! Plain matrices times encrypted vectors, by diagonals.

mod diagonal;
mod evaluate;
mod fresh;
mod quantised;
mod spread;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hippocrene_rlwe::{
    Encodings, Modulus, RotationFactor, SizedCache, StepSplit, TermFactor, noise::log2, stop,
};
use num_complex::{Complex, Complex64};

pub(super) use self::{diagonal::Roots, evaluate::ResultSpec};
pub use self::{fresh::OneTimeTransform, spread::Spread};

use self::{
    diagonal::{Diagonal, Sparse},
    quantised::Quantised,
};
use crate::{BigFloat, CkksError, Context, Scale, dry_run_values::DryRunValues};

/// A linear map of the slots, given by its diagonals: slot `i` of the result is the sum over `r` of
/// `diagonal_r[i]` times slot `i + r` (modulo the number of slots).
///
/// It is applied by baby steps and giant steps (Halevi and Shoup, ePrint 2014/873 and 2018/244).
/// With `r = g + b`, the result is `sum_g rot_g(sum_b rot_{-g}(diagonal_{g+b}) rot_b(x))`, where
/// the baby rotations `rot_b(x)` are hoisted. If the steps have an origin ([`StepSplit`]), the
/// result is finally rotated by it.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::LinearTransform;
///
/// // Slot i of the result is the sum of the slots i and i + 1.
/// let ones = vec![1.0; 8];
/// let map = LinearTransform::from_real(8, [(0, ones.clone()), (1, ones)].into())?;
/// assert_eq!(map.rotations(), [1]);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug)]
pub struct LinearTransform {
    slots: usize,
    diagonals: BTreeMap<usize, Diagonal>,
    split: StepSplit,
    /// The largest sum of absolute values along a row.
    norm: f64,
    /// The share of the rows that are not zero. The slots of the other rows have no noise and are
    /// not counted in the average noise of the result, because a result of few elements uses few
    /// slots.
    occupied: f64,
    /// How the map combines errors of slots. `None` for the levels of a DFT, whose slots are not
    /// messages.
    spread: Option<Spread>,
    /// Encodings by modulus and scale.
    cache: SizedCache<(Modulus, Scale), Encoded>,
    /// The cache of dry runs, whose encodings hold no memory.
    dry_run_cache: SizedCache<(Modulus, Scale), Encoded>,
}

/// For each giant step, its baby steps with the diagonals rotated and encoded.
type Encoded = BTreeMap<usize, Vec<Factor>>;

/// A diagonal, rotated and encoded.
#[derive(Debug)]
struct Factor {
    baby: usize,
    encoded: Encoding,
    /// log2 of the factor by which the diagonal increases noise. The factor is the scale of the
    /// diagonal times the root mean square of its numbers in the rows of the map that are not zero.
    log2_norm: f64,
    /// Whether some rows of the map are zero.
    leaves_zeros: bool,
    /// Variance that the rounding of the diagonal adds to a coefficient, averaged over all
    /// coefficients. Coefficients that are zero have no error.
    rounding: f64,
}

/// How a diagonal is encoded.
#[derive(Debug)]
enum Encoding {
    /// Modulo `P'Q`. If the numbers of the diagonal repeat, only one period of its values is
    /// stored.
    Whole(RotationFactor),
    /// Rounded, but not encoded yet. Each limb is encoded at each use.
    Quantised(Quantised),
}

impl Encoding {
    fn term(&self) -> TermFactor<'_> {
        match self {
            Encoding::Whole(factor) => TermFactor::Whole(factor),
            Encoding::Quantised(quantised) => TermFactor::ByLimb(quantised),
        }
    }

    /// The size of the cached encoding in bytes.
    fn bytes(&self) -> usize {
        match self {
            Encoding::Whole(factor) => factor.bytes(),
            Encoding::Quantised(_) => 0,
        }
    }
}

const OPERATION: &str = "make a linear transform";

/// Largest number of slots: that of the ring degree `2^21`.
const MAX_SLOTS: usize = 1 << 20;

impl LinearTransform {
    /// Creates the map with these diagonals, each of `slots` numbers, by rotation.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if there is no diagonal, one has another length, a
    /// rotation is not below the number of slots, or the number of slots is not a power of two up
    /// to `2^20`. Fails with [`crate::encoder::EncodeError::NotFinite`] if a number is NaN or
    /// infinite.
    pub fn new(
        slots: usize,
        diagonals: BTreeMap<usize, Vec<Complex64>>,
    ) -> Result<Self, CkksError> {
        Self::of(slots, diagonals.into_iter().map(|(r, d)| (r, Diagonal::Double(d))).collect())
    }

    /// Like [`LinearTransform::new`], for diagonals of multi-precision numbers, which are encoded
    /// precisely at any scale.
    ///
    /// # Errors
    /// Fails as [`LinearTransform::new`] does.
    pub fn from_big(
        slots: usize,
        diagonals: BTreeMap<usize, Vec<Complex<BigFloat>>>,
    ) -> Result<Self, CkksError> {
        Self::of(slots, diagonals.into_iter().map(|(r, d)| (r, Diagonal::Big(d))).collect())
    }

    /// Creates the map with these diagonals of roots of unity. A diagonal may have fewer numbers
    /// than there are slots, but a power of two; they then repeat. If `mirrored`, baby steps rotate
    /// to the right.
    pub(super) fn from_roots(
        slots: usize,
        diagonals: BTreeMap<usize, Roots>,
        mirrored: bool,
    ) -> Result<Self, CkksError> {
        let map =
            Self::of(slots, diagonals.into_iter().map(|(r, d)| (r, Diagonal::Roots(d))).collect())?;
        // The noise of coefficients is the average over all slots, whether or not some rows are
        // zero.
        Ok(LinearTransform { split: map.split.mirrored(mirrored), occupied: 1.0, ..map })
    }

    /// Checks the diagonals and creates the map.
    fn of(slots: usize, diagonals: BTreeMap<usize, Diagonal>) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !slots.is_power_of_two() || slots > MAX_SLOTS || diagonals.is_empty() {
            let need =
                format!("one at least is needed, over a power of two of slots up to {MAX_SLOTS}");
            return fail(format!("{} diagonals over {slots} slots: {need}", diagonals.len()));
        }
        let fits = |d: &Diagonal| match d {
            Diagonal::Roots(_) => d.period().is_power_of_two() && d.period() <= slots,
            _ => d.period() == slots,
        };
        if let Some((r, d)) = diagonals.iter().find(|(r, d)| **r >= slots || !fits(d)) {
            let have = d.period();
            return fail(format!("diagonal {r} has {have} numbers, {slots} slots are needed"));
        }
        // Rows repeat with the longest period, since all other periods divide it.
        let period = diagonals.values().map(Diagonal::period).max().unwrap_or(slots);
        let mut rows = vec![0.0; period];
        for diagonal in diagonals.values() {
            stop::check(OPERATION)?;
            if let Some(error) = diagonal.not_finite() {
                return Err(error.into());
            }
            diagonal.add_absolute_values(&mut rows);
        }
        let norm = rows.iter().copied().fold(0.0, f64::max);
        let occupied = rows.iter().filter(|row| **row > 0.0).count();
        // A map to zero has no noise in any case.
        let occupied = occupied.max(1) as f64 / period as f64;
        let rotations: Vec<(bool, usize)> = diagonals.keys().map(|r| (false, *r)).collect();
        // The levels of a DFT are made for powers of two and share keys.
        let (split, spread) = match diagonals.values().any(Diagonal::are_roots) {
            true => (StepSplit::best_power_of_two(slots, &rotations, OPERATION)?, None),
            false => {
                let entries = diagonals.iter().flat_map(|(r, diagonal)| {
                    diagonal
                        .numbers()
                        .map(move |(slot, number)| (slot, (slot + r) & (slots - 1), number))
                });
                let split = StepSplit::best(slots, &rotations, OPERATION)?;
                (split, Some(Spread::of(slots, slots, entries)))
            }
        };
        Ok(LinearTransform {
            slots,
            diagonals,
            split,
            norm,
            occupied,
            spread,
            cache: SizedCache::default(),
            dry_run_cache: SizedCache::default(),
        })
    }

    /// Like [`LinearTransform::new`], for real diagonals.
    ///
    /// # Errors
    /// Fails as [`LinearTransform::new`] does.
    pub fn from_real(
        slots: usize,
        diagonals: BTreeMap<usize, Vec<f64>>,
    ) -> Result<Self, CkksError> {
        let complex = |d: Vec<f64>| d.into_iter().map(Complex64::from).collect();
        Self::new(slots, diagonals.into_iter().map(|(r, d)| (r, complex(d))).collect())
    }

    /// Like [`LinearTransform::from_real`], for diagonals with few non-zero numbers. Each diagonal
    /// is given by these numbers with their slots in ascending order, and needs only their memory
    /// until it is encoded.
    ///
    /// # Errors
    /// Fails as [`LinearTransform::new`] does, and if slots are not in ascending order or out of
    /// range.
    pub fn from_entries(
        slots: usize,
        diagonals: BTreeMap<usize, Vec<(u32, f64)>>,
    ) -> Result<Self, CkksError> {
        let fits = |entries: &[(u32, f64)]| {
            let last = entries.last().map_or(0, |(slot, _)| *slot as usize);
            last < slots && entries.is_sorted_by(|x, y| x.0 < y.0)
        };
        if let Some((r, _)) = diagonals.iter().find(|(_, entries)| !fits(entries)) {
            let what = format!(
                "the slots of diagonal {r} are not in ascending order, or one is not below {slots}"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let sparse = |entries| Diagonal::Sparse(Sparse { slots, entries });
        Self::of(slots, diagonals.into_iter().map(|(r, entries)| (r, sparse(entries))).collect())
    }

    /// The rotations whose keys the map needs: baby steps, giant steps, and the rotation by the
    /// origin.
    pub fn rotations(&self) -> Vec<i64> {
        let (mut steps, giant) = self.steps();
        steps.extend(giant);
        steps.insert(self.split.origin());
        steps.into_iter().filter(|r| *r != 0).map(|r| r as i64).collect()
    }

    /// Sets the number of bytes that encoded diagonals may occupy.
    ///
    /// Diagonals are encoded for each modulus and scale at which the transform is used. Beyond the
    /// limit, the encodings that were not used for the longest time are dropped. Those used last
    /// are kept for the next use, whatever their size, unless there are more than 256 diagonals or
    /// the limit is 0. In these cases each limb of a diagonal is computed where it is used. That
    /// needs little memory, and less time than encoding dropped diagonals again. For several
    /// ciphertexts, a few giant steps are encoded at a time ([`hippocrene_rlwe::Batch`]).
    pub fn set_memory(&self, bytes: usize) {
        self.cache.set_memory(bytes);
        self.dry_run_cache.set_memory(bytes);
    }

    /// Returns the bytes that encoded diagonals occupy and the bytes that they may occupy.
    pub fn memory(&self) -> (usize, usize) {
        // A dry run fills its own cache, and a real run the other one.
        let (encoded, limit) = self.cache.memory();
        (encoded + self.dry_run_cache.memory().0, limit)
    }

    /// Applies the map to the known values of a dry run, if the diagonals are doubles.
    fn apply_to_dry_run_values(&self, known: &DryRunValues) -> DryRunValues {
        let Some(x) = known.values().filter(|x| !x.is_empty()) else {
            return DryRunValues::default();
        };
        let mut sums = vec![Complex64::ZERO; self.slots];
        for (r, diagonal) in &self.diagonals {
            match diagonal {
                Diagonal::Double(d) => {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum += d[i] * x[(i + r) % x.len()];
                    }
                }
                Diagonal::Sparse(sparse) => {
                    for &(slot, factor) in &sparse.entries {
                        let i = slot as usize;
                        sums[i] += factor * x[(i + r) % x.len()];
                    }
                }
                Diagonal::Big(_) | Diagonal::Roots(_) => return DryRunValues::default(),
            }
        }
        DryRunValues::from_values(sums)
    }

    /// Returns the baby steps and the giant steps of the map.
    fn steps(&self) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let all = || self.diagonals.keys().map(|r| self.split.of(*r));
        (all().map(|(_, baby)| baby).collect(), all().map(|(giant, _)| giant).collect())
    }

    /// Returns the encoded diagonals from the cache, and encodes them on first use.
    ///
    /// They are factors of ciphertexts modulo `modulus = Q`, and have the scale `scale`. They are
    /// encoded modulo `P'Q`, for rotation keys whose moduli are multiples of `keys`.
    fn encode(
        &self,
        context: &Context,
        modulus: Modulus,
        scale: Scale,
        keys: Modulus,
    ) -> Result<Arc<Encoded>, CkksError> {
        let extended = context.rlwe().rotation_modulus(modulus, keys)?;
        let bytes = |encoded: &Encoded| {
            encoded.values().flatten().map(|factor| factor.encoded.bytes()).sum()
        };
        let cache = if context.rlwe().is_dry_run() { &self.dry_run_cache } else { &self.cache };
        cache.get_or_try_insert((extended, scale), bytes, || {
            self.encode_giant_steps(context, [modulus, extended], scale, Encodings::Kept, |_| true)
        })
    }

    /// Encodes the diagonals of the giant steps that `wanted` selects.
    fn encode_giant_steps(
        &self,
        context: &Context,
        moduli: [Modulus; 2],
        scale: Scale,
        encodings: Encodings,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Encoded, CkksError> {
        // If the values of every diagonal repeat at least 8 times, the diagonals are polynomials in
        // X^8, which need less memory.
        let repeats = self.diagonals.values().all(|d| 8 * d.period() <= context.max_slots());
        let factor = |diagonal: &Diagonal,
                      (giant, baby): (usize, usize)|
         -> Result<Factor, CkksError> {
            // The rotation of the result is undone in the diagonal.
            let back = (giant + self.split.origin()) % self.slots;
            let encoded = match encodings {
                Encodings::Kept | Encodings::Whole => {
                    let plaintext = diagonal.encode_rotated(context, back, scale, moduli)?;
                    let whole = context.rlwe().rotation_factor(plaintext.into_poly(), moduli[1])?;
                    let short = if repeats { whole.repeated(context.rlwe()) } else { None };
                    Encoding::Whole(short.unwrap_or(whole))
                }
                Encodings::ByLimb => {
                    Encoding::Quantised(diagonal.quantise_rotated(context, back, scale, moduli)?)
                }
            };
            let share = diagonal.rounded_coefficients() as f64 / self.slots as f64;
            Ok(Factor {
                baby,
                encoded,
                leaves_zeros: self.occupied < 1.0,
                log2_norm: scale.log2() + log2(diagonal.root_mean_square())
                    - 0.5 * self.occupied.log2(),
                rounding: share * diagonal.rounding().variance(),
            })
        };
        let steps = self.diagonals.iter().map(|(r, diagonal)| (diagonal, self.split.of(*r)));
        let wanted: Vec<(&Diagonal, (usize, usize))> =
            steps.filter(|(_, (giant, _))| wanted(*giant)).collect();
        let mut made: Vec<Option<Result<Factor, CkksError>>> =
            wanted.iter().map(|_| None).collect();
        context.rlwe().threads().for_each_mut(&mut made, |i, made| {
            let (diagonal, steps) = wanted[i];
            *made = Some(factor(diagonal, steps));
        });
        let mut encoded = Encoded::new();
        for ((_, (giant, _)), factor) in wanted.into_iter().zip(made) {
            encoded.entry(giant).or_default().push(factor.expect("every diagonal was made")?);
        }
        Ok(encoded)
    }
}
