//! Bootstrapping: asked for, and where an operation lacks capacity.

use std::{borrow::Cow, sync::Arc};

use hippocrene_ckks::{
    Ciphertext, CkksError, Evaluator, NoRefresh, Refresh, Short,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper},
};

use crate::server::Server;
use crate::{
    Array, BootstrappingKeys, ClientKey, EncryptedArray, Error, Form, Layout, Numbers, Session,
    SlotContents, bootstrapping, numbers::precision_bits,
};

const OPERATION: &str = "bootstrap";

const NO_KEYS: Error = Error::NoKeys {
    operation: OPERATION,
    what: "this server has no bootstrapping keys: make evaluation keys with them (KeyRequest::bootstrapping; in Python, evaluation_keys(bootstrapping=True))",
};

/// Of the bits after the binary point that an array asks for, a bootstrap has to leave this part.
const LEAST_PRECISION: f64 = 0.5;

/// What a server bootstraps with.
#[derive(Debug)]
pub(in crate::server) struct Bootstraps {
    real: Bootstrapper,
    complex: Option<Bootstrapper>,
    precision: f64,
    /// Of the keys of the sparse secret.
    pub(in crate::server) key_bytes: usize,
    /// The capacity that an array needs to be bootstrapped, and what it has after.
    reserve: f64,
    most: f64,
}

/// Estimated errors are smaller than the values by this many bits. Ten standard deviations then
/// take 0.7 bits beside the values: one bit is there, as gradient descents show whose estimates
/// grow (`bootstrap::input` checks it).
const LEAST_ROOM: f64 = 4.0;

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
        let complex = if literal.real { None } else { Some(plan(literal.clone())?) };
        let narrow = real
            .narrow()
            .ok_or_else(|| Error::argument(OPERATION, "a bootstrap without a sparse secret"))?;
        let prepared = Arc::new(keys.encapsulation().prepare(session.context().rlwe(), narrow)?);
        let (reserve, most) = (bootstrapping::reserve(&real), bootstrapping::capacity_after(&real));
        let make = |plan| Bootstrapper::new(plan, evaluator.clone(), Some(Arc::clone(&prepared)));
        Ok(Bootstraps {
            real: make(real)?,
            complex: complex.map(make).transpose()?,
            precision: keys.precision(),
            key_bytes: prepared.bytes(),
            reserve,
            most,
        })
    }

    /// The keys of the same bootstraps, for the client of a dry run.
    pub(in crate::server) fn without_residues(
        &self,
        client: &ClientKey,
    ) -> Result<BootstrappingKeys, Error> {
        let literal = self.complex.as_ref().unwrap_or(&self.real).plan().literal().clone();
        let plan = BootstrapPlan::new(Arc::clone(client.session().context()), literal.clone())?;
        let keys = plan.encapsulation_keys(client.secret())?;
        let keys =
            keys.ok_or_else(|| Error::Internal("a bootstrap without a sparse secret".into()))?;
        BootstrappingKeys::new(client.session(), self.precision, literal, keys)
    }

    /// The bootstrapper of arrays of this form.
    fn of(&self, form: &Numbers) -> Result<&Bootstrapper, CkksError> {
        match (form.complex, &self.complex) {
            (false, _) => Ok(&self.real),
            (true, Some(complex)) => Ok(complex),
            (true, None) => Err(CkksError::Argument {
                operation: OPERATION,
                what: "the array is complex, and the bootstrapping keys are for real ones: make evaluation keys with complex bootstrapping".into(),
            }),
        }
    }

    /// In which unit `2^k` values up to `bound` are bootstrapped: the least, from 1, in which they
    /// keep to the planned bound.
    fn unit(&self, bound: f64, form: &Numbers) -> Result<i32, CkksError> {
        let planned = self.real.plan().literal().bound;
        let k = (bound / planned * (1.0 - 1e-9)).log2().ceil().max(0.0);
        if self.precision - k >= LEAST_PRECISION * form.precision.min(self.precision) {
            return Ok(k as i32);
        }
        Err(CkksError::Argument {
            operation: OPERATION,
            what: format!(
                "values up to {} leave {:.1} bits after the binary point: it is planned for values up to {} with {:.1} bits, and the array asks for {:.1}; \
                 declare a bound (with_bound) if they are smaller, or scale them down",
                Short(bound),
                (self.precision - k).max(0.0),
                Short(planned),
                self.precision,
                form.precision
            ),
        })
    }

    /// Whether the estimated error of every ciphertext leaves room for the values that are
    /// bootstrapped with it.
    fn leaves_values(&self, a: &EncryptedArray, form: &Numbers) -> Result<bool, CkksError> {
        let unit = self.unit(a.bound(), form)?;
        let log2_bound = self.real.plan().literal().bound.log2() + f64::from(unit);
        Ok(a.estimates().all(|(scale, noise, slots)| {
            -precision_bits(scale, noise, slots) < log2_bound - LEAST_ROOM
        }))
    }

    /// With at least `capacity` bits of capacity, where something is said, as long as it may be had
    /// ([`Bootstraps::most`]).
    fn bootstrap(
        &self,
        a: &Ciphertext,
        form: &Numbers,
        capacity: Option<f64>,
    ) -> Result<Ciphertext, CkksError> {
        let (bootstrapper, unit) = (self.of(form)?, self.unit(a.bound(), form)?);
        let bits = capacity.and_then(|capacity| bootstrapper.plan().output_bits_for(capacity));
        match unit {
            0 => bootstrapper.bootstrap_to(a, bits),
            unit => Ok(bootstrapper.bootstrap_to(&a.clone().in_unit(unit), bits)?.in_unit(-unit)),
        }
    }

    /// Why results cannot have so many bits of capacity, if they cannot.
    fn check_capacity(&self, capacity: f64) -> Result<(), Error> {
        let Bootstraps { most, .. } = *self;
        if capacity > 0.0 && capacity <= most {
            return Ok(());
        }
        let what = match capacity > most {
            true => format!(
                "results with {:.1} bits of capacity: bootstraps with these keys give back {most:.1} at most; ask for less, for keys with less precision, or take a preset \
                 with a larger modulus",
                Short(capacity)
            ),
            false => format!(
                "results with {} bits of capacity: a positive number is possible, up to {most:.1}",
                Short(capacity)
            ),
        };
        Err(Error::argument(OPERATION, what))
    }

    /// How many bootstraps there were.
    fn count(&self) -> u64 {
        self.real.bootstraps() + self.complex.as_ref().map_or(0, Bootstrapper::bootstraps)
    }

    /// How many slots are bootstrapped, where it is not all of them.
    fn first_slots(&self) -> Option<usize> {
        let literal = self.real.plan().literal();
        literal.first_slots.then_some(literal.slots)
    }

    /// The bits of capacity that zeros in the other slots take.
    fn mask_bits(&self) -> f64 {
        self.first_slots().map_or(0.0, |_| self.real.plan().literal().output_scale_bits)
    }

    /// Whether the elements stand in slots that are bootstrapped.
    fn reaches(&self, layout: &Layout) -> bool {
        self.first_slots().is_none_or(|slots| layout.last() < slots)
    }

    /// Why an array of this form, layout, capacity and bound cannot be bootstrapped, if it cannot.
    fn check(
        &self,
        form: &Numbers,
        layout: &Layout,
        capacity: f64,
        bound: f64,
    ) -> Result<(), CkksError> {
        self.of(form)?;
        self.unit(bound, form)?;
        if let Some(slots) = self.first_slots().filter(|_| !self.reaches(layout)) {
            let together = match layout.size() <= slots {
                true => ", or bring its elements together before (packed)",
                false => "",
            };
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: format!(
                    "the array takes {} slots, and the bootstrapping keys are for the first {slots}: make evaluation keys for more{together}",
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
    /// The same array with capacity again, its ciphertexts bootstrapped one by one. Operations that
    /// lack capacity do so themselves; this is for who knows a better moment.
    ///
    /// Values up to `2^k` times the bound that the keys are planned for are bootstrapped in the
    /// unit `2^k`: with `k` bits less after the binary point.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no bootstrapping keys; [`Error::Argument`] when it has
    /// them for real arrays and this one is complex, or when the bound of the array is so large
    /// that less than half of the bits it asks for would be left after the binary point;
    /// [`Error::Capacity`] when it has less capacity than [`Server::bootstrap_reserve`].
    pub fn bootstrap(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.bootstrap_to(a, None)
    }

    /// [`Server::bootstrap`] to `capacity` bits of capacity at least, give or take a few more: the
    /// modulus is raised no further than these need, and every step is the faster for it (GRAFT
    /// F.2). `None` is for as many as there are, as all bootstraps are that nobody asked for. An
    /// array with less than [`Server::bootstrap_reserve`] is not bootstrapped again.
    ///
    /// An array whose estimated error exceeds a sixteenth of the values, as in iterations that
    /// correct themselves, is bootstrapped as if it were as precise as was asked for. The error of
    /// the result is not known then ([`EncryptedArray::is_error_known`]).
    ///
    /// The first bootstrap to a capacity encodes the matrices of its transform for that, so that
    /// few different ones are better than many.
    ///
    /// # Errors
    /// As [`Server::bootstrap`], and [`Error::Argument`] when the capacity is not positive, or more
    /// than
    /// [`BootstrappingDescription::capacity_after`](crate::BootstrappingDescription::capacity_after).
    /// That is known but for a few bits: [`Error::Capacity`] when it is asked for up to the last of
    /// them, and they are not there.
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
        // Zeros in slots without an element are set again by a product.
        let masked = if a.is_clean() { bootstraps.mask_bits() } else { 0.0 };
        let raised = capacity.map(|capacity| capacity + masked);
        let is_lost = !bootstraps.leaves_values(a, &form)?;
        let ready = match is_lost {
            true => Cow::Owned(a.clone().with_precision_bits(form.precision, &self.session)?),
            false => Cow::Borrowed(a),
        };
        let out = self.map_as_it_is(&ready, OPERATION, true, |form, x| {
            Ok(bootstraps.bootstrap(x, form, raised)?)
        })?;
        let mut out = self.masked(bootstraps, a, out)?;
        if is_lost {
            // Iterations correct elements, not what other slots hold: that is set to zero before it
            // grows further.
            if a.has_others() && a.precision_bits_elsewhere(&self.session) < form.precision {
                let places =
                    a.layout().positions().map(|place| (place, place, 1.0)).collect::<Vec<_>>();
                out = self.linear_map(&out, out.layout().clone(), places, OPERATION)?;
            }
            out = out.with_unknown_error();
        }
        let out = out.within(a.interval()).with_terms(a.terms().clone());
        let have = out.capacity_bits(&self.session);
        match capacity.filter(|need| have < *need) {
            Some(need) => {
                Err(self
                    .advised(CkksError::Capacity { operation: OPERATION, need, have }.into(), &[a]))
            }
            None => Ok(out),
        }
    }

    /// `out`, which `a` was bootstrapped to, with slots without an element as they were.
    fn masked(
        &self,
        bootstraps: &Bootstraps,
        a: &EncryptedArray,
        out: EncryptedArray,
    ) -> Result<EncryptedArray, Error> {
        match bootstraps.first_slots() {
            Some(_) if a.is_clean() => {
                // The slots repeat now; those without an element are zero again. In the units that
                // they were bootstrapped in all have one scale, and so one modulus after.
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

    /// How many bootstraps of ciphertexts this server and its clones have done, asked for or not;
    /// one that is iterated is as many as it takes.
    pub fn bootstraps(&self) -> u64 {
        self.bootstraps.as_ref().map_or(0, |bootstraps| bootstraps.count())
    }

    /// The bits of capacity that an array has after a bootstrap, at most.
    pub(in crate::server) fn most_after_bootstrap(&self) -> Option<f64> {
        self.bootstraps.as_ref().map(|bootstraps| bootstraps.most)
    }

    /// The bits of capacity that an array must have to be bootstrapped, where there are keys for
    /// that. Operations whose result would have less bootstrap their operands.
    pub fn bootstrap_reserve(&self) -> Option<f64> {
        self.bootstraps.as_ref().map(|bootstraps| bootstraps.reserve)
    }

    /// The bits of capacity that results keep for a bootstrap: [`Server::bootstrap_reserve`], or
    /// `None` for the last operations of a program ([`Server::finishing`]).
    fn kept(&self) -> Option<f64> {
        self.bootstrap_reserve().filter(|_| !self.policy.finishing)
    }

    /// The bootstrapper of real or of complex arrays, where there are keys for it.
    pub fn bootstrapper(&self, complex: bool) -> Option<&Bootstrapper> {
        let bootstraps = self.bootstraps.as_ref()?;
        if complex { bootstraps.complex.as_ref() } else { Some(&bootstraps.real) }
    }

    /// What gives capacity back to ciphertexts of arrays of this form in the middle of a circuit:
    /// bootstraps that are counted, in whichever unit the values keep to the planned bound, or
    /// nothing where there are no keys for that. Where these are for the first slots of all
    /// ([`Bootstrapping::slots`](crate::Bootstrapping::slots)), the others hold copies of these
    /// after.
    pub fn refresh<'s>(&'s self, form: &Numbers) -> Box<dyn Refresh + 's> {
        match &self.bootstraps {
            None => Box::new(NoRefresh(self.session.context())),
            Some(bootstraps) => Box::new(Refresher { server: self, bootstraps, form: *form }),
        }
    }

    /// [`Server::refresh`] for circuits on arrays of these layouts, slot by slot: nothing where
    /// these are different, or in slots that are not bootstrapped.
    pub(in crate::server) fn refresh_of<'s>(
        &'s self,
        form: &Numbers,
        layouts: &[&Layout],
    ) -> Box<dyn Refresh + 's> {
        let fits = |bootstraps: &Bootstraps| {
            let first = layouts.first().is_some_and(|layout| bootstraps.reaches(layout));
            bootstraps.first_slots().is_none()
                || first && layouts.windows(2).all(|two| two[0] == two[1])
        };
        match self.bootstraps.as_deref().is_none_or(fits) {
            true => self.refresh(form),
            false => Box::new(NoRefresh(self.session.context())),
        }
    }

    /// `f` of `operands`, of which those are bootstrapped first whose capacity is not enough for
    /// `bits`, about what `f` takes of it, and the next bootstrap; and the others too when the
    /// result still has too little for that. Where nothing can be bootstrapped, or that would not
    /// help, `f` goes as far as it gets.
    pub(in crate::server) fn with_capacity<F: Form, const COUNT: usize>(
        &self,
        operands: [&Array<F>; COUNT],
        bits: f64,
        f: impl Fn([&Array<F>; COUNT]) -> Result<Array<F>, Error>,
    ) -> Result<Array<F>, Error> {
        self.with_bootstraps(operands, bits, f).map_err(|error| self.advised(error, &operands))
    }

    /// The bits of capacity that an array of too large a bound has to have beside those that a
    /// bootstrap takes: those of a product that makes it smaller.
    fn bits_to_scale_down<F: Form>(&self, a: &Array<F>) -> f64 {
        if F::is_too_large(self, a) { self.form_of(&[a]).product_bits(self) } else { 0.0 }
    }

    /// Whether what takes so many bits of capacity would leave `a` less than a bootstrap takes,
    /// even fresh from one, where products one by one would not.
    pub(in crate::server) fn strands<F: Form>(&self, a: &Array<F>, bits: f64) -> bool {
        let Some(Bootstraps { reserve, most, .. }) = self.bootstraps.as_deref() else {
            return false;
        };
        let need = bits + self.kept().unwrap_or(0.0);
        let one = self.form_of(&[a]).product_bits(self) + reserve;
        need > *most
            && one <= *most
            && F::capacity_bits(&self.session, a) < need
            && F::check_bootstrap(self, a).is_ok()
    }

    fn with_bootstraps<F: Form, const COUNT: usize>(
        &self,
        operands: [&Array<F>; COUNT],
        bits: f64,
        f: impl Fn([&Array<F>; COUNT]) -> Result<Array<F>, Error>,
    ) -> Result<Array<F>, Error> {
        let Some(bootstraps) = &self.bootstraps else { return f(operands) };
        let (kept, most) = (self.kept(), bootstraps.most);
        let capacity = |a: &Array<F>| F::capacity_bits(&self.session, a);
        let helps = |a: &Array<F>| capacity(a) < most && F::check_bootstrap(self, a).is_ok();
        let need = bits + kept.filter(|reserve| bits + reserve <= most).unwrap_or(0.0);
        let mut ready = operands.map(Cow::Borrowed);
        for operand in &mut ready {
            if capacity(operand) < need && helps(operand) {
                *operand = Cow::Owned(F::bootstrapped(self, operand)?);
            }
        }
        // What is computed from bootstrapped operands knows no more of its error than these do.
        let f = |ready: &[Cow<'_, Array<F>>; COUNT]| {
            let mut out = f(ready.each_ref().map(|operand| &**operand))?;
            ready.iter().for_each(|operand| out.form_mut().know_no_more_than(operand.form()));
            Ok::<_, Error>(out)
        };
        let first = f(&ready);
        let least = ready.iter().map(|operand| capacity(operand)).fold(f64::INFINITY, f64::min);
        let lacks = match &first {
            // Worth a bootstrap if the result has the reserve then.
            Ok(out) => kept.is_some_and(|reserve| {
                let reserve = reserve + self.bits_to_scale_down(out);
                capacity(out) < reserve && most - least + capacity(out) >= reserve
            }),
            Err(error) => matches!(error, Error::Capacity { .. }),
        };
        if !lacks {
            return first;
        }
        let mut changed = false;
        for operand in &mut ready {
            if matches!(operand, Cow::Borrowed(_)) && helps(operand) {
                *operand = Cow::Owned(F::bootstrapped(self, operand)?);
                changed = true;
            }
        }
        if changed {
            let second = f(&ready);
            return if second.is_err() && first.is_ok() { first } else { second };
        }
        // Why not, where that says more than that capacity lacks.
        let refused = operands.iter().filter(|a| capacity(a) < most).find_map(|a| {
            match F::check_bootstrap(self, a) {
                Err(Error::Capacity { .. }) | Ok(()) => None,
                Err(error) => Some(error),
            }
        });
        match (first, refused) {
            (Err(_), Some(error)) => Err(error),
            (first, _) => first,
        }
    }
}

/// The bootstraps of a server, for ciphertexts of a form.
struct Refresher<'s> {
    server: &'s Server,
    bootstraps: &'s Bootstraps,
    form: Numbers,
}

/// Bootstraps give back so many bits more than is said at most.
const MORE_THAN_SAID: f64 = 30.0;

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
        if need > bootstraps.most + MORE_THAN_SAID {
            return Err(CkksError::Capacity { operation, need, have: bootstraps.most });
        }
        let (bootstrapper, unit) =
            (bootstraps.of(&self.form)?, bootstraps.unit(a.bound(), &self.form)?);
        let mut a = a.into_owned();
        if !self.form.error_known {
            a.set_precision_bits(self.form.precision);
        }
        let owned = Cow::Owned(a.in_unit(unit));
        Ok(Cow::Owned(
            bootstrapper.refresh(owned, need, useful, operation)?.into_owned().in_unit(-unit),
        ))
    }

    fn reserve(&self) -> f64 {
        self.bootstraps.reserve
    }

    fn most(&self) -> f64 {
        self.bootstraps.most
    }
}

/// Of arrays of numbers: what [`Server::with_capacity`] asks for.
pub(in crate::server) fn check_bootstrap(server: &Server, a: &EncryptedArray) -> Result<(), Error> {
    match &server.bootstraps {
        Some(bootstraps) => {
            let form = a.form().computed_by(server);
            Ok(bootstraps.check(&form, a.layout(), a.capacity_bits(&server.session), a.bound())?)
        }
        None => Err(NO_KEYS),
    }
}

/// Whether an array has too large a bound to be bootstrapped.
pub(in crate::server) fn is_too_large(server: &Server, a: &EncryptedArray) -> bool {
    let form = a.form().computed_by(server);
    server.bootstraps.as_ref().is_some_and(|bootstraps| bootstraps.unit(a.bound(), &form).is_err())
}

/// The array bootstrapped, once for all operations that need it.
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
