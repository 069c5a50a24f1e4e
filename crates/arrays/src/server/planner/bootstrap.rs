//! Bootstrapping, on request and where an operation lacks capacity.

use std::{
    borrow::Cow,
    f64::consts::FRAC_PI_2,
    sync::{Arc, OnceLock},
};

use hippocrene_ckks::{
    Ciphertext, CkksError, Evaluator, NoRefresh, Refresh, Scale, Short,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper, SineErrors, SineUse, Sines},
};

use crate::server::{Server, planner::choose::Circuit, schemes::numbers::INTERVAL_ROUNDING_SHARE};
use crate::{
    Arithmetic, Array, Bootstrapping, BootstrappingKeys, Capacity, EncryptedArray, Error, Interval,
    Layout, Numbers, PlainNumbers, Session, SlotContents, array::KnownSines, bootstrapping,
    numbers::precision_bits,
};

const OPERATION: &str = "bootstrap";

const NO_KEYS: Error = Error::NoKeys {
    operation: OPERATION,
    what: Cow::Borrowed(
        "this server has no bootstrapping keys. Make evaluation keys with them \
         (KeyRequest::bootstrapping).",
    ),
};

/// Minimum share of the bits after the binary point that an array asks for and a bootstrap must
/// keep.
const MIN_PRECISION_SHARE: f64 = 0.5;

/// Precision of coarse bootstraps, in bits after the binary point. Chosen: the stages of a
/// comparison tolerate that.
const COARSE_PRECISION_BITS: f64 = 10.0;

/// Least difference between the precision of bootstraps and that of coarse ones, in bits. Chosen:
/// with a smaller one, coarse bootstraps would leave little more capacity.
const MIN_COARSER_BITS: f64 = 2.0;

/// The bootstrappers of a server, and the limits of their operands.
#[derive(Debug)]
pub(in crate::server) struct Bootstraps {
    real: Bootstrapper,
    /// The bootstrapper of complex arrays, and of two ciphertexts of real ones at once.
    complex: Bootstrapper,
    coarse: Option<CoarseBootstraps>,
    /// The bootstrappers of sines.
    sines_of_functions: SineBootstraps,
    /// By the number of saved bits ([`SineUse::Tables`]).
    sines_of_tables: Vec<SineBootstraps>,
    /// The request that the keys were made for.
    request: Bootstrapping,
    precision: f64,
    /// The size of the keys of the sparse secret, in bytes.
    pub(in crate::server) key_bytes: usize,
    /// The capacity that an array needs to be bootstrapped, in bits.
    reserve: f64,
    /// The largest capacity that a bootstrap leaves, in bits, give or take a few.
    max_capacity: f64,
}

/// Bootstraps of real arrays with a lower precision, which leave more capacity. They use the same
/// keys.
///
/// Circuits use them between steps that tolerate the error.
#[derive(Debug)]
struct CoarseBootstraps {
    bootstrapper: Bootstrapper,
    /// As those of [`Bootstraps`].
    reserve: f64,
    max_capacity: f64,
}

/// The limits of a bootstrap between the steps of a circuit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::server) struct RefreshLimits {
    /// The precision of values up to the planned bound, in bits.
    pub(in crate::server) precision: f64,
    /// The capacity that is needed, in bits.
    pub(in crate::server) reserve: f64,
    /// The largest capacity that is left, in bits.
    pub(in crate::server) max_capacity: f64,
}

/// Bootstraps of real arrays whose results are sines. They use the same keys.
#[derive(Debug)]
struct SineBootstraps {
    plan: Arc<PlanOfSines>,
    /// The bootstrappers, which are made when they are needed.
    made: OnceLock<MadeSineBootstraps>,
}

#[derive(Debug)]
struct MadeSineBootstraps {
    single: Bootstrapper,
    /// For two ciphertexts at once.
    pair: Bootstrapper,
}

/// A plan of sines of a server and of its dry runs, for single ciphertexts and for pairs. Making it
/// costs about half a second.
#[derive(Debug)]
struct PlanOfSines {
    plain: Arc<BootstrapPlan>,
    sine_use: SineUse,
    made: OnceLock<[Arc<BootstrapPlan>; 2]>,
}

impl SineBootstraps {
    fn new(plain: &Arc<BootstrapPlan>, sine_use: SineUse) -> Self {
        let plan = PlanOfSines { plain: Arc::clone(plain), sine_use, made: OnceLock::new() };
        SineBootstraps { plan: Arc::new(plan), made: OnceLock::new() }
    }

    /// Returns those of a dry run, which share the plan.
    fn dry_run_beside(&self) -> Self {
        SineBootstraps { plan: Arc::clone(&self.plan), made: OnceLock::new() }
    }

    /// Returns the bootstrappers beside `plain`, which has the same keys.
    fn get(&self, plain: &Bootstrapper) -> Result<&MadeSineBootstraps, CkksError> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let context = plain.plan().context();
        let with = |plan: &Arc<BootstrapPlan>| match Arc::ptr_eq(plan.context(), context) {
            true => plain.with_plan(Arc::clone(plan)),
            false => plain.with_plan(Arc::new(plan.dry_run_beside(Arc::clone(context))?)),
        };
        let [single, pair] = self.plan.get()?;
        let made = MadeSineBootstraps { single: with(single)?, pair: with(pair)? };
        Ok(self.made.get_or_init(|| made))
    }
}

impl PlanOfSines {
    fn get(&self) -> Result<&[Arc<BootstrapPlan>; 2], CkksError> {
        if let Some(plans) = self.made.get() {
            return Ok(plans);
        }
        let single = self.plain.of_sines(self.sine_use)?;
        let pair = single.of_complex()?;
        Ok(self.made.get_or_init(|| [single, pair].map(Arc::new)))
    }
}

/// The result of [`Server::bootstrap_to_sines`].
pub(in crate::server) struct SinesOfArray {
    /// `sin(angle t)`, where `t` rises from -1 to 1 while an element rises through its interval.
    pub(in crate::server) sines: EncryptedArray,
    pub(in crate::server) angle: f64,
    /// The largest errors among all ciphertexts.
    pub(in crate::server) errors: SineErrors,
}

/// Minimum number of bits by which the estimated error, a standard deviation, must be smaller than
/// the bound of the values.
///
/// The values plus ten standard deviations of the error must fit the range of a bootstrap, as
/// `bootstrap::input` checks. If the error is smaller by 4 bits, it takes `log2(1 + 10/16) = 0.7`
/// bits of the range. One bit is available, as was seen in gradient descents whose estimates grow.
const MIN_BITS_BELOW_BOUND: f64 = 4.0;

impl Bootstraps {
    pub(in crate::server) fn new(
        session: &Session,
        evaluator: &Evaluator,
        keys: &BootstrappingKeys,
    ) -> Result<Self, Error> {
        let plan =
            |literal| BootstrapPlan::new(Arc::clone(session.context()), literal).map(Arc::new);
        let literal = keys.literal();
        let real = plan(BootstrapLiteral { real: true, ..literal.clone() })?;
        let complex = Arc::new(real.of_complex()?);
        let sparse_context = real
            .sparse_context()
            .ok_or_else(|| Error::argument(OPERATION, "a bootstrap without a sparse secret"))?;
        let prepared =
            Arc::new(keys.encapsulation().prepare(session.context().rlwe(), sparse_context)?);
        let (reserve, max_capacity) =
            (bootstrapping::reserve(&real), bootstrapping::capacity_after(&real));
        let make = |plan| Bootstrapper::new(plan, evaluator.clone(), Some(Arc::clone(&prepared)));
        let coarse = || {
            let coarser = keys.precision() - COARSE_PRECISION_BITS;
            // The keys may be those of another rule, and fit no other bootstrap.
            let literal = keys.coarser(session, COARSE_PRECISION_BITS).ok()?;
            let plan = plan(literal).ok().filter(|_| coarser >= MIN_COARSER_BITS)?;
            let (reserve, max_capacity) =
                (bootstrapping::reserve(&plan), bootstrapping::capacity_after(&plan));
            let bootstrapper = make(plan).ok()?;
            Some(CoarseBootstraps { bootstrapper, reserve, max_capacity })
        };
        Ok(Bootstraps {
            coarse: coarse(),
            sines_of_functions: SineBootstraps::new(&real, SineUse::SmoothFunctions),
            sines_of_tables: (0..=real.most_saved_bits())
                .map(|saved_bits| SineBootstraps::new(&real, SineUse::Tables { saved_bits }))
                .collect(),
            complex: make(complex)?,
            real: make(real)?,
            request: keys.request(),
            precision: keys.precision(),
            key_bytes: prepared.bytes(),
            reserve,
            max_capacity,
        })
    }

    /// Makes the same bootstraps in the dry run of `evaluator`.
    pub(in crate::server) fn dry_run_beside(&self, evaluator: &Evaluator) -> Result<Self, Error> {
        let beside = |own: &Bootstrapper| own.dry_run_beside(evaluator.clone());
        Ok(Bootstraps {
            real: beside(&self.real)?,
            complex: beside(&self.complex)?,
            coarse: match &self.coarse {
                Some(own) => {
                    Some(CoarseBootstraps { bootstrapper: beside(&own.bootstrapper)?, ..*own })
                }
                None => None,
            },
            sines_of_functions: self.sines_of_functions.dry_run_beside(),
            sines_of_tables: self.sines_of_tables.iter().map(|own| own.dry_run_beside()).collect(),
            ..*self
        })
    }

    /// Returns the request that the keys were made for.
    pub(in crate::server) fn request(&self) -> Bootstrapping {
        self.request
    }

    /// Returns the bootstrappers whose results are sines, for real arrays.
    ///
    /// # Errors
    /// [`CkksError::Argument`] if the keys are for the first slots only.
    fn of_sines(&self, sine_use: SineUse) -> Result<&MadeSineBootstraps, CkksError> {
        let own = match sine_use {
            SineUse::SmoothFunctions => &self.sines_of_functions,
            SineUse::Tables { saved_bits } => {
                let most = self.sines_of_tables.len() - 1;
                &self.sines_of_tables[most.min(saved_bits as usize)]
            }
        };
        own.get(&self.real)
    }

    /// Returns the bootstrapper of single ciphertexts of this form.
    fn of(&self, form: &Numbers) -> &Bootstrapper {
        if form.complex { &self.complex } else { &self.real }
    }

    /// Returns the exponent `k` of the unit `2^k` in which values up to `bound` are bootstrapped.
    ///
    /// It is the least `k >= 0` for which the values keep to the planned bound. Each step costs one
    /// bit after the binary point.
    ///
    /// # Errors
    /// [`CkksError::Argument`] if too few bits after the binary point would be left.
    fn unit(&self, bound: f64, form: &Numbers) -> Result<i32, CkksError> {
        let planned = self.real.plan().literal().bound;
        let k = (bound / planned * (1.0 - 1e-9)).log2().ceil().max(0.0);
        if self.precision - k >= MIN_PRECISION_SHARE * form.precision.min(self.precision) {
            return Ok(k as i32);
        }
        Err(CkksError::Argument {
            operation: OPERATION,
            what: format!(
                "values up to {} leave {:.1} bits after the binary point. The bootstrap is planned \
                 for values up to {} with {:.1} bits, and the array requests {:.1}. Declare a \
                 tighter bound (with_bound), or scale the values down.",
                Short(bound),
                (self.precision - k).max(0.0),
                Short(planned),
                self.precision,
                form.precision
            ),
        })
    }

    /// True if the estimated error of every ciphertext is small enough relative to the values for a
    /// bootstrap.
    fn leaves_values(&self, a: &EncryptedArray, form: &Numbers) -> Result<bool, CkksError> {
        let unit = self.unit(a.bound(), form)?;
        let log2_bound = self.real.plan().literal().bound.log2() + f64::from(unit);
        Ok(a.estimates().all(|(scale, noise, slots)| {
            -precision_bits(scale, noise, slots) < log2_bound - MIN_BITS_BELOW_BOUND
        }))
    }

    /// Bootstraps a ciphertext, or two of real arrays at once, to at least `capacity` bits of
    /// capacity if that is given and possible ([`Bootstraps::max_capacity`]).
    fn bootstrap(
        &self,
        group: &[Cow<'_, Ciphertext>],
        form: &Numbers,
        capacity: Option<f64>,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let bits =
            |plan: &BootstrapPlan| capacity.and_then(|capacity| plan.output_bits_for(capacity));
        let bound = group.iter().map(|x| x.bound()).fold(0.0, f64::max);
        let unit = self.unit(bound, form)?;
        let mut read = group.iter().map(|x| Cow::Borrowed(&**x)).collect::<Vec<_>>();
        if unit != 0 {
            let in_unit = |x: Cow<'_, Ciphertext>| Cow::Owned(x.into_owned().in_unit(unit));
            read = read.into_iter().map(in_unit).collect();
        }
        let found = match &read[..] {
            [a, b] => {
                let bits = bits(self.complex.plan());
                Vec::from(self.complex.bootstrap_pair_to([a, b], bits)?)
            }
            _ => {
                let own = self.of(form);
                let each = read.iter().map(|a| own.bootstrap_to(a, bits(own.plan())));
                each.collect::<Result<_, _>>()?
            }
        };
        Ok(match unit {
            0 => found,
            _ => found.into_iter().map(|x| x.in_unit(-unit)).collect(),
        })
    }

    /// Checks that results can have `capacity` bits of capacity.
    ///
    /// # Errors
    /// [`Error::Argument`] if they cannot.
    fn check_capacity(&self, capacity: f64) -> Result<(), Error> {
        let Bootstraps { max_capacity, .. } = *self;
        if capacity > 0.0 && capacity <= max_capacity {
            return Ok(());
        }
        let what = match capacity > max_capacity {
            true => format!(
                "results with {:.1} bits of capacity: bootstraps with these keys restore at most \
                 {max_capacity:.1}. Request less, make keys with less precision, or take a preset \
                 with a larger modulus.",
                Short(capacity)
            ),
            false => format!(
                "results with {} bits of capacity: a positive number is possible, up to \
                 {max_capacity:.1}",
                Short(capacity)
            ),
        };
        Err(Error::argument(OPERATION, what))
    }

    /// Returns the limits of bootstraps with the precision of the keys.
    fn limits(&self) -> RefreshLimits {
        let Bootstraps { precision, reserve, max_capacity, .. } = *self;
        RefreshLimits { precision, reserve, max_capacity }
    }

    /// Returns the number of bootstraps done so far.
    fn count(&self) -> u64 {
        let coarse = self.coarse.as_ref().map_or(0, |own| own.bootstrapper.bootstraps());
        self.real.bootstraps() + self.complex.bootstraps() + coarse
    }

    /// Returns the number of slots that are bootstrapped, or `None` if it is all of them.
    fn first_slots(&self) -> Option<usize> {
        let literal = self.real.plan().literal();
        literal.first_slots.then_some(literal.slots)
    }

    /// Returns the bits of capacity needed to set the other slots to zero.
    fn mask_bits(&self) -> f64 {
        self.first_slots().map_or(0.0, |_| self.real.plan().literal().output_scale_bits)
    }

    /// True if all elements are in slots that are bootstrapped.
    fn reaches(&self, layout: &Layout) -> bool {
        self.first_slots().is_none_or(|slots| layout.last() < slots)
    }

    /// Checks that an array of this form, layout, capacity and bound can be bootstrapped.
    ///
    /// # Errors
    /// [`CkksError::Argument`] if keys, layout or bound do not fit, and [`CkksError::Capacity`] if
    /// the capacity is too small.
    fn check(
        &self,
        form: &Numbers,
        layout: &Layout,
        capacity: f64,
        bound: f64,
    ) -> Result<(), CkksError> {
        self.unit(bound, form)?;
        if let Some(slots) = self.first_slots().filter(|_| !self.reaches(layout)) {
            let together = match layout.size() <= slots {
                true => ", or bring its elements together before (packed)",
                false => "",
            };
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: format!(
                    "the array takes {} slots, and the bootstrapping keys are for the first \
                     {slots}: make evaluation keys for more{together}",
                    layout.last() + 1
                ),
            });
        }
        if capacity >= self.reserve {
            return Ok(());
        }
        Err(CkksError::Capacity { operation: OPERATION, need: self.reserve, have: capacity })
    }
}

impl Server {
    /// Restores the capacity of an array by bootstrapping its ciphertexts, two real ones at once.
    ///
    /// Operations that lack capacity bootstrap their operands themselves. Call this if you know a
    /// better moment. Values up to `2^k` times the bound that the keys are planned for are
    /// bootstrapped in the unit `2^k`, which costs `k` bits after the binary point.
    ///
    /// # Errors
    /// - [`Error::NoKeys`] if the server has no bootstrapping keys.
    /// - [`Error::Argument`] if the bound of the array is so large that less than half of the bits
    ///   that it asks for would be left after the binary point.
    /// - [`Error::Capacity`] if the array has less capacity than [`Server::bootstrap_reserve`].
    pub fn bootstrap(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.bootstrap_to(a, None)
    }

    /// Bootstraps an array as [`Server::bootstrap`] does, but to about `capacity` bits of capacity,
    /// and at least that.
    ///
    /// The modulus is raised no further than needed, which makes every step faster (GRAFT F.2).
    /// `None` stands for as much as possible; operations that bootstrap their operands use that. A
    /// result with less capacity than [`Server::bootstrap_reserve`] cannot be bootstrapped again.
    ///
    /// If the estimated error of an array exceeds a sixteenth of the values, it is bootstrapped as
    /// if it had the precision that it asks for. This happens in iterations that correct
    /// themselves. The error of the result is then unknown ([`EncryptedArray::is_error_known`]).
    ///
    /// The first bootstrap to a capacity encodes the matrices of its transform for that capacity.
    /// So use few different capacities.
    ///
    /// # Errors
    /// As [`Server::bootstrap`]. [`Error::Argument`] if the capacity is not positive, or more than
    /// [`capacity_after`](crate::BootstrappingDescription::capacity_after).
    /// That limit is exact up to a few bits. If you ask for nearly all of it and the last bits are
    /// missing, the error is [`Error::Capacity`].
    pub fn bootstrap_to(
        &self,
        a: &EncryptedArray,
        capacity: Option<f64>,
    ) -> Result<EncryptedArray, Error> {
        let Some(bootstraps) = &self.bootstraps else {
            return Err(NO_KEYS);
        };
        let form = a.form().computed_by(self);
        let able = bootstraps.check(&form, a.layout(), a.capacity_bits(&self.session), a.bound());
        able.map_err(|error| self.advised(error.into(), &[a]))?;
        capacity.map_or(Ok(()), |capacity| bootstraps.check_capacity(capacity))?;
        // A product is needed to set slots without an element to zero again.
        let masked = if a.is_clean() { bootstraps.mask_bits() } else { 0.0 };
        let raised = capacity.map(|capacity| capacity + masked);
        let is_lost = !bootstraps.leaves_values(a, &form)?;
        let ready = match is_lost {
            true => Cow::Owned(a.clone().with_precision_bits(form.precision, &self.session)?),
            false => Cow::Borrowed(a),
        };
        let inputs = ready.expanded(&self.session);
        let groups = groups(&inputs, form.complex);
        let found = self.session.compute_each(groups.len(), |i| {
            Ok::<_, Error>(bootstraps.bootstrap(groups[i], &form, raised)?)
        });
        let found = found.map_err(|e| e.during(OPERATION))?.into_iter().flatten().collect();
        let slots = ready.slot_contents().after(true);
        let out = Array::from_ciphertexts(a.layout().clone(), form, slots, found);
        let mut out = self.masked(bootstraps, a, out)?;
        if is_lost {
            // Iterations correct elements, but not stray slots. Those are set to zero before they
            // grow further.
            if a.has_others() && a.precision_bits_elsewhere(&self.session) < form.precision {
                let places =
                    a.layout().positions().map(|place| (place, place, 1.0)).collect::<Vec<_>>();
                out = self.linear_map(&out, out.layout().clone(), places, OPERATION)?;
            }
            out = out.with_unknown_error();
        }
        let out = out.with_known_interval(a.interval()).with_terms(a.terms().clone());
        let have = out.capacity_bits(&self.session);
        match capacity.filter(|need| have < *need) {
            Some(need) => {
                Err(self
                    .advised(CkksError::Capacity { operation: OPERATION, need, have }.into(), &[a]))
            }
            None => Ok(out),
        }
    }

    /// Gives up capacity of an array beyond about `capacity` bits, so that operations on it take
    /// less time. The values stay the same.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the array has less.
    pub fn lowered(&self, a: &EncryptedArray, capacity: f64) -> Result<EncryptedArray, Error> {
        let context = self.session.context();
        let parameters = context.rlwe().parameters();
        let lowered = self.map_as_it_is(a, "lower the capacity", true, |_, x| {
            let spare = (x.capacity_bits(context) - capacity).max(0.0);
            let bits = parameters.log2(x.modulus()) - spare;
            let modulus = self.evaluator.divisor_at_least(x.modulus(), bits);
            Ok(self.evaluator.adjust(x, modulus, x.scale())?)
        })?;
        Ok(lowered.with_known_interval(a.interval()).with_terms(a.terms().clone()))
    }

    /// Returns the possible uses of sines for a table that needs at most this error of them. The
    /// first one shares the matrices of plain bootstraps. The second one leaves more capacity.
    pub(in crate::server) fn sines_for_tables(&self, sine_error: f64) -> Vec<SineUse> {
        let Some(own) = self.bootstraps.as_ref().filter(|own| own.first_slots().is_none()) else {
            return Vec::new();
        };
        let most = own.real.plan().saved_bits_for(sine_error);
        let mut saved = vec![0, most];
        saved.dedup();
        saved.into_iter().map(|saved_bits| SineUse::Tables { saved_bits }).collect()
    }

    /// Restores the capacity of an array and returns the sines of its elements, `sin(angle t)`,
    /// where `t` rises from -1 to 1 while an element rises from `low` to `high`. The angle depends
    /// on the scale of the array.
    ///
    /// A polynomial of the result is a function of the elements ([`BootstrapPlan::of_sines`]). The
    /// array remembers the sines, so that several functions of it share the bootstrap.
    ///
    /// # Errors
    /// As [`Server::bootstrap`]. [`Error::Argument`] also if elements may lie outside of `[low,
    /// high]`, if their error is not known or not small compared with the interval, and if the keys
    /// are for the first slots only.
    pub(in crate::server) fn bootstrap_to_sines(
        &self,
        a: &EncryptedArray,
        (low, high): (f64, f64),
        sine_use: SineUse,
    ) -> Result<SinesOfArray, Error> {
        let bootstraps = self.bootstraps.as_ref().ok_or(NO_KEYS)?;
        a.check_error_known(OPERATION)?;
        let (middle, half) = (low.midpoint(high), 0.5 * (high - low));
        let exceeds = |what: &str| Error::argument(OPERATION, format!("{what} the interval"));
        let slack = INTERVAL_ROUNDING_SHARE * half;
        if a.is_complex() || !Interval::finite(low - slack, high + slack)?.covers(a.interval()) {
            return Err(exceeds("elements may lie outside of"));
        }
        let request = ((low, high), sine_use);
        if let Some(known) = a.known_sines().filter(|known| known.request == request) {
            return Ok(self.as_sines(a, known));
        }
        let mut centred = match middle == 0.0 {
            true => Cow::Borrowed(a),
            false => Cow::Owned(self.add_plain(a, Numbers::plain(&vec![-middle; a.size()]))?),
        };
        // The bound also holds for stray slots. Other slots without an element hold zeros.
        if centred.bound() > half * (1.0 + INTERVAL_ROUNDING_SHARE) {
            if centred.has_strays() {
                return Err(exceeds("stray slots may lie outside of"));
            }
            centred.to_mut().set_bound(half);
        }
        let largest = (half.log2() - MIN_BITS_BELOW_BOUND).exp2();
        let is_small =
            |(scale, noise, slots)| (-precision_bits(scale, noise, slots)).exp2() < largest;
        if !centred.estimates().all(is_small) {
            return Err(exceeds("errors are not small compared with"));
        }
        let MadeSineBootstraps { single, pair } = bootstraps.of_sines(sine_use)?;
        let plan = single.plan();
        let factor = |value: f64| {
            Scale::from_f64(value).ok_or_else(|| exceeds("the parameters are too small for"))
        };
        // Elements are read in a unit in which `half` is the bound of the plan.
        let bound = plan.literal().bound;
        let factor = factor(half / bound)?;
        let inputs = centred.expanded(&self.session);
        let read = |x: Cow<'_, Ciphertext>| {
            let scale = x.scale().times(factor);
            let mut read = x.into_owned().read_at(scale);
            read.set_bound(read.bound().min(bound));
            Cow::Owned(read)
        };
        let inputs: Vec<Cow<'_, Ciphertext>> = inputs.into_iter().map(read).collect();
        let groups = groups(&inputs, false);
        let results = self.session.compute_each(groups.len(), |i| {
            Ok::<_, Error>(match groups[i] {
                [a, b] => Vec::from(pair.bootstrap_pair_to_sines([a, b])?),
                single_ones => {
                    let each = single_ones.iter().map(|x| single.bootstrap_to_sines(x));
                    each.collect::<Result<_, _>>()?
                }
            })
        })?;
        let results: Vec<Sines> = results.into_iter().flatten().collect();
        let unit = results.first().map_or(0.0, |found| found.unit);
        if results.iter().any(|found| found.unit != unit) {
            return Err(Error::argument(OPERATION, "the ciphertexts have different scales"));
        }
        let largest = |error: fn(&Sines) -> f64| results.iter().map(error).fold(0.0, f64::max);
        let errors = SineErrors {
            argument: largest(|found| found.errors.argument),
            sine: largest(|found| found.errors.sine),
        };
        let ciphertexts = results.into_iter().map(|found| found.sines).collect();
        let known = KnownSines { request, ciphertexts, angle: unit * bound, errors };
        let sines = self.as_sines(a, &known);
        a.remember_sines(known);
        Ok(sines)
    }

    /// Returns the sines of an array that a bootstrap has computed.
    fn as_sines(&self, a: &EncryptedArray, known: &KnownSines<Ciphertext>) -> SinesOfArray {
        let KnownSines { ref ciphertexts, angle, errors, .. } = *known;
        let (form, slots) = (self.form_of(&[a]), a.slot_contents());
        let sines = Array::from_ciphertexts(a.layout().clone(), form, slots, ciphertexts.clone());
        let reach = angle.min(FRAC_PI_2).sin();
        let sines = sines.of_interval(Interval::symmetric(reach));
        SinesOfArray { sines, angle, errors }
    }

    /// Returns `out`, the result of bootstrapping `a`, with zeros restored in slots without an
    /// element if `a` had zeros there.
    fn masked(
        &self,
        bootstraps: &Bootstraps,
        a: &EncryptedArray,
        out: EncryptedArray,
    ) -> Result<EncryptedArray, Error> {
        match bootstraps.first_slots() {
            Some(_) if a.is_clean() => {
                // The slots repeat now, and those without an element are set to zero again. In the
                // units of the bootstraps all ciphertexts have one scale, and so one modulus after
                // the product.
                let form = out.form();
                let (before, after) = (a.expanded(&self.session), out.expanded(&self.session));
                let units = before.iter().map(|x| bootstraps.unit(x.bound(), form));
                let units = units.collect::<Result<Vec<_>, _>>()?;
                let both = after.into_iter().zip(&units);
                let inputs: Vec<_> =
                    both.map(|(x, unit)| Cow::Owned(x.into_owned().in_unit(*unit))).collect();
                let ones = vec![1.0; out.size()];
                let masked = form.mul_plain(self, out.layout(), &inputs, (&ones[..]).into())?;
                let masked =
                    masked.into_iter().zip(&units).map(|(x, unit)| x.in_unit(-unit)).collect();
                let masked = Array::from_ciphertexts(
                    out.layout().clone(),
                    *form,
                    SlotContents::Zero,
                    masked,
                );
                Ok(masked.with_bound(a.bound())?)
            }
            Some(slots) => Ok(out.with_slot_contents(SlotContents::repeating(Some(slots), false))),
            None => Ok(out),
        }
    }

    /// Returns the number of bootstraps that this server and its clones have done, on request or
    /// not. An iterated bootstrap counts each of its iterations, and two ciphertexts of a real
    /// array share one bootstrap.
    pub fn bootstraps(&self) -> u64 {
        self.bootstraps.as_ref().map_or(0, |bootstraps| bootstraps.count())
    }

    /// Returns the largest capacity, in bits, that an array has after a bootstrap.
    pub(crate) fn most_after_bootstrap(&self) -> Option<f64> {
        self.bootstraps.as_ref().map(|bootstraps| bootstraps.max_capacity)
    }

    /// Returns the capacity, in bits, that an array must have to be bootstrapped, if there are keys
    /// for it.
    ///
    /// Operations whose result would have less bootstrap their operands.
    pub fn bootstrap_reserve(&self) -> Option<f64> {
        self.bootstraps.as_ref().map(|bootstraps| bootstraps.reserve)
    }

    /// Returns the capacity, in bits, that results keep for a bootstrap. It is
    /// [`Server::bootstrap_reserve`], or `None` for the last operations of a program
    /// ([`Server::finishing`]).
    pub(in crate::server) fn reserved_capacity(&self) -> Option<f64> {
        self.bootstrap_reserve().filter(|_| !self.policy.finishing)
    }

    /// Returns the bootstrapper of real or of complex arrays, if there are keys for it.
    pub fn bootstrapper(&self, complex: bool) -> Option<&Bootstrapper> {
        let bootstraps = self.bootstraps.as_ref()?;
        Some(if complex { &bootstraps.complex } else { &bootstraps.real })
    }

    /// Returns the way in which circuits restore the capacity of ciphertexts of arrays of this
    /// form.
    ///
    /// With keys, it bootstraps and counts the bootstraps, in the unit in which the values keep to
    /// the planned bound. If the keys are for the first slots only
    /// ([`Bootstrapping::slots`](crate::Bootstrapping::slots)), the other slots hold copies of
    /// these afterwards. Without keys, it refuses ciphertexts that lack capacity.
    pub fn refresh<'s>(&'s self, form: &Numbers) -> Result<Box<dyn Refresh + 's>, Error> {
        Ok(match &self.bootstraps {
            None => Box::new(NoRefresh(self.session.context())),
            Some(bootstraps) => {
                let limits = bootstraps.limits();
                Box::new(self.refresher(bootstraps, bootstraps.of(form), form, limits)?)
            }
        })
    }

    fn refresher<'s>(
        &'s self,
        bootstraps: &'s Bootstraps,
        bootstrapper: &'s Bootstrapper,
        form: &Numbers,
        limits: RefreshLimits,
    ) -> Result<Refresher<'s>, Error> {
        let (form, circuit) = (*form, self.circuit()?);
        Ok(Refresher { server: self, bootstraps, bootstrapper, form, circuit, limits })
    }

    /// Returns the limits of bootstraps between the steps of a circuit, if there are keys for them.
    pub(in crate::server) fn refresh_limits(&self) -> Option<RefreshLimits> {
        self.bootstraps.as_ref().map(|bootstraps| bootstraps.limits())
    }

    /// Returns the limits of coarse bootstraps between the steps of a circuit on real arrays, if
    /// they are possible.
    pub(in crate::server) fn coarse_limits(&self) -> Option<RefreshLimits> {
        let own = self.bootstraps.as_ref()?.coarse.as_ref()?;
        let (reserve, max_capacity) = (own.reserve, own.max_capacity);
        Some(RefreshLimits { precision: COARSE_PRECISION_BITS, reserve, max_capacity })
    }

    /// As [`Server::refresh`], for circuits that act slot by slot on arrays of these layouts.
    ///
    /// If the keys are for the first slots only, and the layouts differ or elements are in other
    /// slots, it refuses ciphertexts that lack capacity.
    pub(in crate::server) fn refresh_of<'s>(
        &'s self,
        form: &Numbers,
        layouts: &[&Layout],
    ) -> Result<Box<dyn Refresh + 's>, Error> {
        match self.fits_bootstraps(layouts) {
            true => self.refresh(form),
            false => Ok(Box::new(NoRefresh(self.session.context()))),
        }
    }

    /// As [`Server::refresh_of`], by coarse bootstraps.
    pub(in crate::server) fn coarse_refresh_of<'s>(
        &'s self,
        form: &Numbers,
        layouts: &[&Layout],
    ) -> Result<Box<dyn Refresh + 's>, Error> {
        let coarse =
            self.bootstraps.as_deref().and_then(|own| own.coarse.as_ref().map(|c| (own, c)));
        let possible = coarse.zip(self.coarse_limits()).filter(|_| self.fits_bootstraps(layouts));
        Ok(match possible {
            Some(((bootstraps, coarse), limits)) if !form.complex => {
                Box::new(self.refresher(bootstraps, &coarse.bootstrapper, form, limits)?)
            }
            _ => Box::new(NoRefresh(self.session.context())),
        })
    }

    /// True if circuits that act slot by slot on arrays of these layouts may bootstrap, or if there
    /// are no keys for that.
    fn fits_bootstraps(&self, layouts: &[&Layout]) -> bool {
        let fits = |bootstraps: &Bootstraps| {
            let first = layouts.first().is_some_and(|layout| bootstraps.reaches(layout));
            bootstraps.first_slots().is_none()
                || first && layouts.windows(2).all(|two| two[0] == two[1])
        };
        self.bootstraps.as_deref().is_none_or(fits)
    }

    /// Returns the capacity in bits that an array needs for being scaled down before a bootstrap.
    ///
    /// If the bound of the array is too large to bootstrap, one product with a number scales the
    /// array down first, and the result is the capacity that this product uses. Otherwise the
    /// result is 0.
    pub(in crate::server) fn bits_to_scale_down<F: Arithmetic>(&self, a: &Array<F>) -> f64 {
        if F::is_too_large(self, a) { self.form_of(&[a]).product_bits(self) } else { 0.0 }
    }
}

/// Bootstraps of a server for the ciphertexts of arrays of one form.
struct Refresher<'s> {
    server: &'s Server,
    bootstraps: &'s Bootstraps,
    bootstrapper: &'s Bootstrapper,
    form: Numbers,
    circuit: Circuit,
    limits: RefreshLimits,
}

/// Maximum number of bits of capacity that a bootstrap may leave beyond the stated number.
const MAX_EXCESS_CAPACITY_BITS: f64 = 30.0;

impl Refresh for Refresher<'_> {
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        let bootstraps = self.bootstraps;
        if a.capacity_bits(self.server.session.context()) >= need {
            return Ok(a);
        }
        let most = self.limits.max_capacity;
        if need > most + MAX_EXCESS_CAPACITY_BITS {
            return Err(CkksError::Capacity { operation, need, have: most });
        }
        if !self.circuit.take() {
            let what = "the plan has no further bootstrap of this circuit".into();
            return Err(CkksError::Argument { operation, what });
        }
        let unit = bootstraps.unit(a.bound(), &self.form)?;
        let mut a = a.into_owned();
        if !self.form.error_known {
            a.set_precision_bits(self.form.precision);
        }
        let owned = Cow::Owned(a.in_unit(unit));
        Ok(Cow::Owned(
            self.bootstrapper.refresh(owned, need, useful, operation)?.into_owned().in_unit(-unit),
        ))
    }

    fn reserve(&self) -> f64 {
        self.limits.reserve
    }

    fn max_capacity(&self) -> f64 {
        self.limits.max_capacity
    }
}

/// Checks that an array of numbers can be bootstrapped.
pub(in crate::server) fn check_bootstrap(server: &Server, a: &EncryptedArray) -> Result<(), Error> {
    match &server.bootstraps {
        Some(bootstraps) => {
            let form = a.form().computed_by(server);
            Ok(bootstraps.check(&form, a.layout(), a.capacity_bits(&server.session), a.bound())?)
        }
        None => Err(NO_KEYS),
    }
}

/// True if the bound of an array is too large for a bootstrap.
pub(in crate::server) fn is_too_large(server: &Server, a: &EncryptedArray) -> bool {
    let form = a.form().computed_by(server);
    server.bootstraps.as_ref().is_some_and(|bootstraps| bootstraps.unit(a.bound(), &form).is_err())
}

/// Returns the bootstrapped array, which is computed once for all operations that need it.
pub(in crate::server) fn bootstrapped(
    server: &Server,
    a: &EncryptedArray,
) -> Result<EncryptedArray, Error> {
    let refreshed = a.refreshed(|| {
        let array = server.bootstrap(a)?;
        Ok(array.expanded(&server.session).into_iter().map(Cow::into_owned).collect())
    })?;
    let bootstraps = server.bootstraps.as_ref().ok_or(NO_KEYS)?;
    Ok(match bootstraps.leaves_values(a, &a.form().computed_by(server))? {
        true => refreshed,
        false => refreshed.with_unknown_error(),
    })
}

/// Splits the ciphertexts of an array into groups that are bootstrapped at once. Those are pairs of
/// real ones with one modulus and one scale.
fn groups<'a>(
    ciphertexts: &'a [Cow<'a, Ciphertext>],
    is_complex: bool,
) -> Vec<&'a [Cow<'a, Ciphertext>]> {
    let are_alike = |pair: &[Cow<'_, Ciphertext>]| match pair {
        [a, b] => a.modulus() == b.modulus() && a.scale() == b.scale() && a.slots() == b.slots(),
        _ => false,
    };
    let size = if is_complex { 1 } else { 2 };
    let split = |group: &'a [Cow<'a, Ciphertext>]| match are_alike(group) {
        true => group.chunks(2),
        false => group.chunks(1),
    };
    ciphertexts.chunks(size).flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::primes;
    use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

    use super::*;
    use crate::{Bootstrapping, ClientKey, KeyRequest, Settings};

    #[test]
    fn coarse_bootstraps_leave_more_capacity_with_the_same_keys() {
        let parameters = Parameters::new_insecure(ParametersLiteral {
            log_degree: 9,
            units: primes::ntt_primes(48, 1 << 9, 22, &[]).unwrap(),
            specials: primes::ntt_primes(49, 1 << 9, 5, &[]).unwrap(),
            sprout: Sprout::for_degree(9).unwrap(),
            gadget_rank: 6,
            secret: SecretDistribution::SparseTernary { weight: 64 },
        });
        let settings = Settings::new(parameters.unwrap(), 24.0).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let request =
            KeyRequest { bootstrapping: Some(Bootstrapping::default()), ..KeyRequest::default() };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let (fine, coarse) = (server.refresh_limits().unwrap(), server.coarse_limits().unwrap());
        assert!(coarse.max_capacity - coarse.reserve > fine.max_capacity - fine.reserve + 50.0);
        let values: Vec<f64> = (0..256).map(|i| f64::from(i % 17) / 8.0 - 1.0).collect();
        let mut x = client.encrypt(&values, &[256]).unwrap().with_bound(1.0).unwrap();
        // The largest capacity is known to within a few bits.
        let most = coarse.max_capacity - 16.0;
        while x.capacity_bits(server.session()) >= most {
            x = server.mul_number(&x, 0.3).unwrap();
            x = server.mul_number(&x, 1.0 / 0.3).unwrap().with_bound(1.0).unwrap();
        }
        let form = x.form().computed_by(&server);
        let refresh = server.coarse_refresh_of(&form, &[x.layout()]).unwrap();
        let refreshed = server.map_as_it_is(&x, OPERATION, true, |_, c| {
            Ok(refresh.refresh(Cow::Borrowed(c), most, most, OPERATION)?.into_owned())
        });
        let refreshed = refreshed.unwrap();
        assert_eq!(server.bootstraps(), 1);
        assert!(refreshed.capacity_bits(server.session()) >= most);
        let tolerance = 8.0 * (-COARSE_PRECISION_BITS).exp2();
        for (got, expected) in client.decrypt(&refreshed).unwrap().iter().zip(&values) {
            assert!((got - expected).abs() < tolerance, "{got} instead of {expected}");
        }
    }
}
