//! Decisions: how an operation is performed, before any ciphertext is computed.
//!
//! An operation has one [`Candidate`] or more. A server performs them on a dry run first, which is
//! the same code on arrays without residues. It tries each candidate as it is, and if capacity
//! runs short, with its operands bootstrapped first. It chooses among those whose result can still
//! be bootstrapped ([`Outcome::is_better_than`]).
//!
//! Candidates may consist of other operations. The dry run writes down the decisions of all of
//! them, and the real run follows this plan. So a server never computes a ciphertext that it does
//! not need.

use std::{
    borrow::Cow,
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Serialize};

use crate::server::{Server, planner::policy::Policy};
use crate::{Arithmetic, Array, Capacity, EncryptedArray, Error, Numbers};

/// Bits of capacity that an operation may use in addition to its products and the growth of its
/// values. They cover scales that are finer than usual, and operands that are brought to one
/// modulus. Chosen. The tests check that no operation uses more capacity than it states.
pub(in crate::server) const MARGIN_BITS: f64 = 16.0;

/// Assumed maximum number of bits of capacity that an operation of unknown growth uses. Chosen:
/// sums of a million elements use 20.
pub(in crate::server) const MARGIN_BITS_OF_UNKNOWN_GROWTH: f64 = 64.0;

/// Maximum number of operands for which all choices of operands to bootstrap are tried. With more
/// operands, only two choices are tried: bootstrap none, or bootstrap all.
const MAX_OPERANDS_IN_SUBSETS: usize = 3;

/// A computation of one array from others, on the server that it is given.
type Run<'f, F, const COUNT: usize> =
    dyn Fn(&Server, [&Array<F>; COUNT]) -> Result<Array<F>, Error> + 'f;

/// The tier of candidates that are only tried if no other one is possible.
const LAST_RESORT: usize = usize::MAX;

/// One way to perform an operation on `COUNT` arrays.
pub(in crate::server) struct Candidate<'f, F: Arithmetic, const COUNT: usize> {
    /// The name that a plan prints.
    name: &'static str,
    /// The candidate is only tried if no candidate of a lower tier keeps enough capacity, and only
    /// by servers that bootstrap.
    tier: usize,
    /// A lower bound of the work, in products of two ciphertexts.
    least_products: usize,
    run: Box<Run<'f, F, COUNT>>,
}

impl<'f, F: Arithmetic, const COUNT: usize> Candidate<'f, F, COUNT> {
    /// Makes a candidate. `run` must use the server that it is given, which may be a dry run.
    pub(in crate::server) fn new(
        name: &'static str,
        run: impl Fn(&Server, [&Array<F>; COUNT]) -> Result<Array<F>, Error> + 'f,
    ) -> Self {
        Candidate { name, tier: 0, least_products: 0, run: Box::new(run) }
    }

    /// Performs the operation in this way.
    ///
    /// # Errors
    /// As the operation.
    pub(in crate::server) fn run(
        &self,
        server: &Server,
        operands: [&Array<F>; COUNT],
    ) -> Result<Array<F>, Error> {
        (self.run)(server, operands)
    }

    /// Returns the same candidate for servers that bootstrap, for use where none of a tier below
    /// `tier` keeps enough capacity.
    pub(in crate::server) fn otherwise(self, tier: usize) -> Self {
        Candidate { tier, ..self }
    }

    /// Returns the same candidate for servers that bootstrap, for use where no other one is
    /// possible, whatever capacity the others keep.
    pub(in crate::server) fn only_if_no_other(self) -> Self {
        Candidate { tier: LAST_RESORT, ..self }
    }

    /// Returns the same candidate with a lower bound of its work, in products of two ciphertexts.
    ///
    /// It is not tried if another candidate is found to take less time than these products.
    pub(in crate::server) fn with_least_products(self, least_products: usize) -> Self {
        Candidate { least_products, ..self }
    }
}

/// One decision of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Decision {
    /// The chosen candidate of an operation, and for each operand whether it is bootstrapped first.
    Candidate { operation: Cow<'static, str>, name: Cow<'static, str>, bootstrapped: Vec<bool> },
    /// The number of ciphertexts that a circuit bootstraps between its steps.
    Circuit(#[serde(with = "shared_count")] Arc<AtomicUsize>),
}

/// The storage of a number that the dry run of a circuit still counts up.
mod shared_count {
    use super::{Arc, AtomicUsize, Ordering};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        count: &AtomicUsize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        count.load(Ordering::Relaxed).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<AtomicUsize>, D::Error> {
        usize::deserialize(deserializer).map(AtomicUsize::new).map(Arc::new)
    }
}

/// The decisions that a server has made since they were taken last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Decision>>>);

impl Log {
    /// Takes the decisions out of the log.
    pub(crate) fn take(&self) -> Vec<Decision> {
        std::mem::take(&mut *locked(&self.0))
    }
}

/// The source of the decisions of a server.
#[derive(Debug, Clone, Default)]
pub(in crate::server) enum Decisions {
    /// Each operation is decided on a dry run before it is performed.
    #[default]
    Own,
    /// As [`Decisions::Own`], and the server writes all decisions down.
    Logged(Log),
    /// The server is the dry run. It tries candidates and writes down its decisions.
    Tried(Arc<Mutex<Record>>),
    /// The decisions come from a plan, in the order in which operations need them.
    Planned(Arc<Mutex<VecDeque<Decision>>>),
}

/// The decisions of a dry run, and the cost of the candidates that it tried and did not choose.
#[derive(Debug, Default)]
pub(in crate::server) struct Record {
    decisions: Vec<Decision>,
    rejected: Cost,
}

/// The cost of computations of a dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    /// Seconds of one thread. Dry runs cache no maps, so these include the encoding of plaintexts.
    seconds: f64,
    /// The number of ciphertexts that were bootstrapped.
    bootstraps: u64,
}

impl std::ops::Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost {
            seconds: self.seconds - other.seconds,
            bootstraps: self.bootstraps.saturating_sub(other.bootstraps),
        }
    }
}

/// The result of a dry run of a candidate.
struct Outcome<F: Arithmetic> {
    result: Array<F>,
    cost: Cost,
    /// The capacity of the result, in products.
    products_left: f64,
    /// True if enough capacity is left in the result: enough for a bootstrap, or without bootstraps
    /// enough for one product.
    is_enough: bool,
    /// The decision for this candidate, and those of the operations that it consists of.
    decisions: Vec<Decision>,
}

impl<F: Arithmetic> Outcome<F> {
    /// True if this outcome is to be chosen instead of `other`.
    ///
    /// Outcomes that keep enough capacity come first, then those with fewer bootstraps. Among
    /// these, the faster one is better, but two further multiplications in depth must at least
    /// halve the time. If neither keeps enough capacity, the one that keeps more is better.
    fn is_better_than(&self, other: &Self) -> bool {
        let times = self.cost.seconds / other.cost.seconds;
        let deeper = other.products_left - self.products_left;
        match (self.is_enough, other.is_enough) {
            (true, false) => true,
            (false, true) => false,
            _ if self.cost.bootstraps != other.cost.bootstraps => {
                self.cost.bootstraps < other.cost.bootstraps
            }
            (true, true) if deeper.is_finite() => times * (0.5 * deeper).exp2() < 1.0,
            (false, false) if deeper.abs() >= 0.5 => deeper < 0.0,
            _ => times < 1.0,
        }
    }
}

impl Server {
    /// Performs an operation by the best of its candidates.
    ///
    /// `most_bits` is a bound of the capacity that the operation uses. There is no dry run if the
    /// operation has only one candidate and its operands have this capacity in addition to the
    /// reserve of a bootstrap.
    ///
    /// # Errors
    /// The error of the first candidate if none is possible. Nothing has been computed then.
    pub(in crate::server) fn perform<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        most_bits: f64,
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Array<F>, Error> {
        let performed = match &self.decisions {
            Decisions::Planned(plan) => self.perform_planned(operation, operands, candidates, plan),
            Decisions::Tried(record) => {
                self.decide(operation, operands, candidates).map(|outcome| {
                    locked(record).decisions.extend(outcome.decisions);
                    outcome.result
                })
            }
            Decisions::Logged(log) => {
                self.planned(operation, operands, candidates).and_then(|plan| {
                    locked(&log.0).extend_from_slice(&plan);
                    self.following(plan).perform(operation, operands, most_bits, candidates)
                })
            }
            Decisions::Own => match first_tier(candidates)[..] {
                [only] if self.has_plenty(&operands, most_bits) => {
                    let result = only.run(self, operands);
                    if let Ok(result) = &result {
                        debug_assert!(
                            self.uses_at_most(most_bits, &operands, result),
                            "{operation}"
                        );
                    }
                    result
                }
                _ => self.planned(operation, operands, candidates).and_then(|plan| {
                    self.following(plan).perform(operation, operands, most_bits, candidates)
                }),
            },
        };
        performed.map_err(|error| self.advised(error.during(operation), &operands))
    }

    /// Performs an operation whose candidates depend on nothing but its operands. If it was decided
    /// before for operands like these, that plan is followed again.
    ///
    /// # Errors
    /// As [`Server::perform`].
    pub(in crate::server) fn perform_by_operands<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Array<F>, Error> {
        self.perform_by_arguments(operation, "", operands, candidates)
    }

    /// Performs an operation as [`Server::perform_by_operands`] does, if its candidates also depend
    /// on other arguments. `arguments` states all of them.
    ///
    /// # Errors
    /// As [`Server::perform`].
    pub(in crate::server) fn perform_by_arguments<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        arguments: &str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Array<F>, Error> {
        let server = match &self.decisions {
            Decisions::Own | Decisions::Logged(_) => {
                let premises = self.premises(&format!("{operation} {arguments}"), operands);
                let plan = match self.plan_cache.get(&premises) {
                    Some(plan) => plan,
                    None => {
                        let plan = self
                            .planned(operation, operands, candidates)
                            .map_err(|error| self.advised(error, &operands))?;
                        self.plan_cache.insert(premises, plan.clone());
                        plan
                    }
                };
                if let Decisions::Logged(log) = &self.decisions {
                    locked(&log.0).extend_from_slice(&plan);
                }
                Cow::Owned(self.following(plan))
            }
            _ => Cow::Borrowed(self),
        };
        server.perform(operation, operands, f64::INFINITY, candidates)
    }

    /// Returns this server with a log of its decisions.
    pub(crate) fn logged(&self) -> (Server, Log) {
        let log = Log::default();
        (Server { decisions: Decisions::Logged(log.clone()), ..self.clone() }, log)
    }

    /// Returns this server with another policy.
    pub(crate) fn with_policy(&self, policy: Policy) -> Server {
        Server { policy, ..self.clone() }
    }

    /// Returns this server with another policy, following a plan.
    pub(crate) fn planned_with(&self, policy: Policy, plan: Vec<Decision>) -> Server {
        Server { policy, ..self.following(plan) }
    }

    /// The policy of this server.
    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns this server, following a plan.
    fn following(&self, plan: Vec<Decision>) -> Server {
        Server { decisions: Decisions::Planned(Arc::new(Mutex::new(plan.into()))), ..self.clone() }
    }

    /// Performs an operation that checks the capacity of its operands before it computes anything,
    /// such as look-ups. If they lack capacity, they are bootstrapped first.
    ///
    /// # Errors
    /// The errors of `run`.
    pub(in crate::server) fn perform_checked<const COUNT: usize>(
        &self,
        operands: [&EncryptedArray; COUNT],
        run: impl Fn([&EncryptedArray; COUNT]) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        let lacking = match run(operands) {
            Err(lacking @ Error::Capacity { .. }) => lacking,
            result => return result.map_err(|error| self.advised(error, &operands)),
        };
        let mut ready = operands.map(Cow::Borrowed);
        for operand in &mut ready {
            match Numbers::bootstrapped(self, operand) {
                Ok(bootstrapped) => *operand = Cow::Owned(bootstrapped),
                Err(_) => return Err(self.advised(lacking, &operands)),
            }
        }
        let mut out = run(ready.each_ref().map(|operand| &**operand))
            .map_err(|error| self.advised(error, &operands))?;
        ready.iter().for_each(|operand| out.form_mut().know_no_more_than(operand.form()));
        Ok(out)
    }

    /// True if no operand has to be bootstrapped for an operation that uses at most `most_bits`
    /// bits of capacity.
    fn has_plenty<F: Arithmetic>(&self, operands: &[&Array<F>], most_bits: f64) -> bool {
        let need = self.reserved_capacity().unwrap_or(0.0) + most_bits;
        self.bootstrap_reserve().is_none()
            || operands.iter().all(|a| F::capacity_bits(&self.session, a) >= need)
    }

    /// True if `result` has at most `most_bits` bits of capacity less than the least of the
    /// operands.
    fn uses_at_most<F: Arithmetic>(
        &self,
        most_bits: f64,
        operands: &[&Array<F>],
        result: &Array<F>,
    ) -> bool {
        let capacity = |a: &Array<F>| F::capacity_bits(&self.session, a);
        let least = operands.iter().map(|a| capacity(a)).fold(f64::INFINITY, f64::min);
        // Encryptions of zero that have no error have infinite capacity.
        capacity(result) + most_bits >= least
    }

    /// Decides on a dry run how this server performs an operation.
    fn planned<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Vec<Decision>, Error> {
        for operand in operands {
            self.check(operand, operation)?;
        }
        let decided = self.decided(|dry| {
            let stand_ins = dry.stand_ins(operands)?;
            dry.decide(operation, stand_ins.each_ref(), candidates)
        })?;
        Ok(decided.decisions)
    }

    /// Returns the error of a candidate if a dry run finds that it is not possible.
    ///
    /// # Errors
    /// The error of the candidate.
    pub(in crate::server) fn check_candidate<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        candidate: &Candidate<'_, F, COUNT>,
        operands: [&Array<F>; COUNT],
    ) -> Result<(), Error> {
        self.decided(|dry| {
            let stand_ins = dry.stand_ins(operands)?;
            dry.outcome(operation, candidate, stand_ins.each_ref(), &[false; COUNT]).map(drop)
        })
    }

    /// Performs an operation as the next decision of a plan says.
    fn perform_planned<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
        plan: &Mutex<VecDeque<Decision>>,
    ) -> Result<Array<F>, Error> {
        let next = locked(plan).pop_front();
        let unplanned = || Error::Internal(format!("{operation}: the plan has no decision for it"));
        let Some(Decision::Candidate { operation: planned, name, bootstrapped }) = next else {
            return Err(unplanned());
        };
        let candidate = candidates.iter().find(|candidate| candidate.name == name);
        match candidate.filter(|_| planned == operation && bootstrapped.len() == COUNT) {
            Some(candidate) => self.run(candidate, operands, &bootstrapped),
            None => Err(unplanned()),
        }
    }

    /// Runs a candidate after bootstrapping these operands.
    fn run<F: Arithmetic, const COUNT: usize>(
        &self,
        candidate: &Candidate<'_, F, COUNT>,
        operands: [&Array<F>; COUNT],
        bootstrapped: &[bool],
    ) -> Result<Array<F>, Error> {
        let mut ready = operands.map(Cow::Borrowed);
        for (operand, _) in ready.iter_mut().zip(bootstrapped).filter(|(_, first)| **first) {
            *operand = Cow::Owned(F::bootstrapped(self, operand)?);
        }
        let mut out = candidate.run(self, ready.each_ref().map(|operand| &**operand))?;
        // The error of a result is unknown if that of a bootstrapped operand is.
        ready.iter().for_each(|operand| out.form_mut().know_no_more_than(operand.form()));
        Ok(out)
    }

    /// Tries the candidates on this server, a dry run, and returns the best outcome.
    fn decide<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Outcome<F>, Error> {
        let before = self.cost();
        let (mut best, mut error): (Option<Outcome<F>>, _) = (None, None);
        let product = self.seconds_of_a_product(candidates, &operands);
        let mut try_tier = |tier: usize, bootstrapped: &[bool], best: &mut Option<Outcome<F>>| {
            let mut tried: Vec<_> = candidates.iter().filter(|c| c.tier == tier).collect();
            tried.sort_by_key(|candidate| candidate.least_products);
            for candidate in tried {
                let least = candidate.least_products as f64 * product;
                let is_hopeless = |best: &Outcome<F>| best.is_enough && best.cost.seconds < least;
                if best.as_ref().is_some_and(is_hopeless) {
                    continue;
                }
                match self.outcome(operation, candidate, operands, bootstrapped) {
                    Ok(outcome) if best.as_ref().is_none_or(|b| outcome.is_better_than(b)) => {
                        *best = Some(outcome);
                    }
                    Ok(_) => {}
                    Err(failed) => drop(error.get_or_insert(failed)),
                }
            }
        };
        let refreshes = self.bootstrap_reserve().is_some();
        let tiers: BTreeSet<usize> = candidates.iter().map(|candidate| candidate.tier).collect();
        for tier in tiers.into_iter().filter(|tier| *tier == 0 || refreshes) {
            if tier == LAST_RESORT && best.is_some() {
                break;
            }
            try_tier(tier, &[false; COUNT], &mut best);
            if best.as_ref().is_none_or(|best| !best.is_enough || best.cost.bootstraps > 0) {
                for subset in self.subsets_to_bootstrap(&operands) {
                    try_tier(tier, &subset, &mut best);
                }
            }
            if best.as_ref().is_some_and(|best| best.is_enough) {
                break;
            }
        }
        let Some(best) = best else {
            let refused = operands.iter().find_map(|a| self.refused_bootstrap(a));
            let none = || Error::Internal(format!("{operation}: there is no candidate"));
            return Err(match (error, refused) {
                (Some(Error::Capacity { .. }), Some(refused)) => refused,
                (error, _) => error.unwrap_or_else(none),
            });
        };
        if let Decisions::Tried(record) = &self.decisions {
            let rejected = self.cost() - before - best.cost;
            let mut record = locked(record);
            record.rejected.seconds += rejected.seconds;
            record.rejected.bootstraps += rejected.bootstraps;
        }
        Ok(best)
    }

    /// Tries one candidate on this server, a dry run.
    fn outcome<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &'static str,
        candidate: &Candidate<'_, F, COUNT>,
        operands: [&Array<F>; COUNT],
        bootstrapped: &[bool],
    ) -> Result<Outcome<F>, Error> {
        let record = Arc::new(Mutex::new(Record::default()));
        let server = Server { decisions: Decisions::Tried(Arc::clone(&record)), ..self.clone() };
        // Each trial pays for its own bootstraps.
        let operands = Array::detached(operands);
        let before = self.cost();
        let result = server.run(candidate, operands.each_ref(), bootstrapped);
        let Record { decisions, rejected } = std::mem::take(&mut *locked(&record));
        let result = result?;
        let cost = self.cost() - before - rejected;
        let capacity = F::capacity_bits(&self.session, &result);
        let product = result.form().clone().computed_by(self).product_bits(self);
        let need = match (self.policy.capacity, self.reserved_capacity(), self.policy.finishing) {
            (Some(need), ..) => need,
            (_, Some(reserve), _) => reserve + self.bits_to_scale_down(&result),
            // Without bootstraps, a result that can be multiplied once more is preferred.
            (_, None, false) => product,
            (_, None, true) => 0.0,
        };
        let is_enough = capacity >= need;
        // Where the need is known, more capacity is worth nothing.
        let useful = match self.policy.capacity {
            Some(need) => capacity.min(need),
            None => capacity,
        };
        let products_left = useful / product;
        let name = candidate.name;
        let own = Decision::Candidate {
            operation: operation.into(),
            name: name.into(),
            bootstrapped: bootstrapped.to_vec(),
        };
        let decisions = [vec![own], decisions].concat();
        Ok(Outcome { result, cost, products_left, is_enough, decisions })
    }

    /// Returns the seconds of a product of two ciphertexts of the operands, if a candidate has a
    /// lower bound of its products, and 0 otherwise.
    fn seconds_of_a_product<F: Arithmetic, const COUNT: usize>(
        &self,
        candidates: &[Candidate<'_, F, COUNT>],
        operands: &[&Array<F>; COUNT],
    ) -> f64 {
        if candidates.iter().all(|candidate| candidate.least_products == 0) {
            return 0.0;
        }
        let (form, before) = (self.form_of(operands), self.cost());
        let [x, y] = [operands[0], operands[COUNT - 1]].map(|a| a.expanded(&self.session));
        // A product that is impossible bounds nothing.
        let product = form.mul(self, &x[0], &y[0]);
        product.map_or(0.0, |_| (self.cost() - before).seconds)
    }

    /// Returns the subsets of operands to bootstrap first, without the empty one.
    fn subsets_to_bootstrap<F: Arithmetic, const COUNT: usize>(
        &self,
        operands: &[&Array<F>; COUNT],
    ) -> Vec<[bool; COUNT]> {
        let Some(most) = self.most_after_bootstrap() else { return Vec::new() };
        let gains = operands.map(|a| {
            F::capacity_bits(&self.session, a) < most && F::check_bootstrap(self, a).is_ok()
        });
        let all = gains.iter().filter(|gains| **gains).count();
        if all > MAX_OPERANDS_IN_SUBSETS {
            return vec![gains];
        }
        let subset = |bits: usize| {
            let mut place = 0;
            gains.map(|gains| {
                let chosen = gains && bits >> place & 1 == 1;
                place += usize::from(gains);
                chosen
            })
        };
        (1..1 << all).map(subset).collect()
    }

    /// Returns why an array cannot be bootstrapped, if the reason is other than its capacity and a
    /// bootstrap would give it more.
    fn refused_bootstrap<F: Arithmetic>(&self, a: &Array<F>) -> Option<Error> {
        let most = self.most_after_bootstrap()?;
        if F::capacity_bits(&self.session, a) >= most {
            return None;
        }
        F::check_bootstrap(self, a).err().filter(|error| !matches!(error, Error::Capacity { .. }))
    }

    /// Returns the cost of the dry run so far.
    fn cost(&self) -> Cost {
        let (seconds, bootstraps) =
            self.session.context().rlwe().read_tally(|tally| (tally.seconds(), tally.raises()));
        Cost { seconds, bootstraps }
    }

    /// Returns the number of ciphertexts that a circuit of this operation may bootstrap, as a
    /// counter: the planned number for a server that follows a plan, and 0 for a dry run, which
    /// counts them.
    pub(in crate::server) fn circuit(&self) -> Result<Circuit, Error> {
        Ok(match &self.decisions {
            Decisions::Own => Circuit::Free,
            Decisions::Logged(log) => {
                let count = Arc::default();
                locked(&log.0).push(Decision::Circuit(Arc::clone(&count)));
                Circuit::Counted(count)
            }
            Decisions::Tried(record) => {
                let count = Arc::default();
                locked(record).decisions.push(Decision::Circuit(Arc::clone(&count)));
                Circuit::Counted(count)
            }
            Decisions::Planned(plan) => match locked(plan).pop_front() {
                Some(Decision::Circuit(count)) => {
                    Circuit::Left(AtomicUsize::new(count.load(Ordering::Relaxed)))
                }
                _ => return Err(Error::Internal("the plan has no bootstraps of a circuit".into())),
            },
        })
    }
}

/// The bootstraps that a circuit may do.
#[derive(Debug)]
pub(in crate::server) enum Circuit {
    /// Any number, outside of plans.
    Free,
    /// The number is counted for the plan.
    Counted(Arc<AtomicUsize>),
    /// This number is left of those in the plan.
    Left(AtomicUsize),
}

impl Circuit {
    /// Takes one bootstrap. Returns false if the plan has no more.
    pub(in crate::server) fn take(&self) -> bool {
        match self {
            Circuit::Free => true,
            Circuit::Counted(count) => {
                count.fetch_add(1, Ordering::Relaxed);
                true
            }
            Circuit::Left(left) => left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok(),
        }
    }
}

/// Returns the candidates of the lowest tier.
fn first_tier<'c, 'f, F: Arithmetic, const COUNT: usize>(
    candidates: &'c [Candidate<'f, F, COUNT>],
) -> Vec<&'c Candidate<'f, F, COUNT>> {
    candidates.iter().filter(|candidate| candidate.tier == 0).collect()
}

/// Locks a mutex. A thread that panics leaves no half-finished change behind it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, KeyRequest, server::planner::prices::Prices, settings::tests::grafted};

    #[test]
    fn steps_that_a_plan_does_not_have_are_errors() {
        let client = ClientKey::generate_with(grafted(14, &[40; 5], &[48; 3]), 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
        let x = client.encrypt(&[0.5; 4], &[4]).unwrap();
        let unplanned = server.following(Vec::new());
        assert!(matches!(unplanned.mul(&x, &x), Err(Error::Internal(_))));
        assert!(matches!(unplanned.circuit(), Err(Error::Internal(_))));
        let other = Decision::Candidate {
            operation: "add".into(),
            name: "pairs".into(),
            bootstrapped: vec![false, false],
        };
        assert!(matches!(server.following(vec![other]).mul(&x, &x), Err(Error::Internal(_))));
        let one = Arc::new(AtomicUsize::new(1));
        let circuit = server.following(vec![Decision::Circuit(one)]).circuit().unwrap();
        assert!(circuit.take() && !circuit.take());
    }

    /// The second product of equal operands follows the plan of the first one, and the square of a
    /// matrix has a plan of its own.
    #[test]
    fn an_operation_that_repeats_is_decided_once() {
        let client = ClientKey::generate_with(grafted(14, &[40; 5], &[48; 3]), 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
        let encrypt = |x: f64| client.encrypt(&[x; 12], &[4, 3]).unwrap();
        let [a, b] = [0.5, 0.625].map(encrypt);
        let [left, right] = [&a, &b].map(|a| server.transpose(a).unwrap());
        let premises = |a: &EncryptedArray, b: &EncryptedArray| server.premises("dot", [a, b]);
        assert_eq!(premises(&left, &b), premises(&right, &a));
        assert_ne!(premises(&left, &b), premises(&left, &a));
        let square = server.square(&b).unwrap();
        assert_ne!(premises(&left, &b), premises(&left, &square));
        let cost = || server.decided(|dry| Ok(dry.cost())).unwrap();
        server.dot(&left, &b).unwrap();
        let decided = cost();
        let again = server.dot(&right, &a).unwrap();
        assert_eq!(cost(), decided);
        server.dot(&left, &a).unwrap();
        assert_ne!(cost(), decided);
        let error = |x: &f64| (x - 4.0 * 0.5 * 0.625).abs();
        assert!(client.decrypt(&again).unwrap().iter().all(|x| error(x) < 1e-4));
    }

    #[test]
    fn a_further_multiplication_must_save_time() {
        let client = ClientKey::generate_with(grafted(14, &[40; 5], &[48; 3]), 1).unwrap();
        let x = client.encrypt(&[0.5; 4], &[4]).unwrap();
        let outcome = |seconds: f64, products_left: f64, bootstraps: u64, is_enough: bool| {
            let cost = Cost { seconds, bootstraps };
            Outcome::<Numbers> {
                result: x.clone(),
                cost,
                products_left,
                is_enough,
                decisions: Vec::new(),
            }
        };
        let shallow = outcome(1.0, 5.0, 0, true);
        assert!(outcome(0.49, 3.0, 0, true).is_better_than(&shallow));
        assert!(!outcome(0.51, 3.0, 0, true).is_better_than(&shallow));
        assert!(outcome(0.99, 5.0, 0, true).is_better_than(&shallow));
        assert!(shallow.is_better_than(&outcome(0.1, 9.0, 1, true)));
        assert!(outcome(9.0, 1.0, 3, true).is_better_than(&outcome(0.1, 0.9, 0, false)));
        assert!(outcome(9.0, 2.0, 0, false).is_better_than(&outcome(0.1, 0.9, 0, false)));
    }

    /// Returns the reference profile with dearer base conversions and inner products with keys,
    /// which double the price of a rotation.
    fn with_dear_rotations() -> hippocrene_rlwe::Profile {
        let mut profile = serde_json::to_value(hippocrene_rlwe::Profile::reference()).unwrap();
        for entry in profile["limbs"].as_array_mut().unwrap() {
            for place in ["cached", "memory"] {
                for name in ["product", "repeat", "sum", "source", "pair", "target"] {
                    let cost = &mut entry[place][name];
                    *cost = (5.0 * cost.as_f64().unwrap()).into();
                }
            }
        }
        serde_json::from_value(profile).unwrap()
    }

    #[test]
    fn a_tenth_of_the_choices_change_if_rotations_are_twice_as_dear() {
        let client = ClientKey::generate_with(grafted(14, &[40; 5], &[48; 3]), 1).unwrap();
        let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
        let encrypt = |n: usize, m: usize| client.encrypt(&vec![0.5; n * m], &[n, m]).unwrap();
        let dry_by = |profile: hippocrene_rlwe::Profile| {
            let dry = Server::new(&keys).unwrap().dry_run().unwrap();
            dry.session.context().rlwe().set_cost_profile(profile);
            let modulus = encrypt(4, 4).bodies()[0].modulus();
            locked(&dry.prices).push((modulus, Prices::measured(&dry, modulus).unwrap()));
            dry
        };
        let (usual, dear) =
            (dry_by(hippocrene_rlwe::Profile::reference()), dry_by(with_dear_rotations()));
        let chosen = |dry: &Server, [a, b]: [&Array<Numbers>; 2]| {
            let stand_ins = dry.stand_ins([a, b]).unwrap();
            let [x, y] = stand_ins.each_ref();
            let candidates = dry.products_of_matrices(x, y).unwrap();
            let before = dry.cost().seconds;
            let best = dry.decide("dot product", [x, y], &candidates).unwrap();
            assert!(best.cost.seconds <= dry.cost().seconds - before);
            (format!("{:?}", best.decisions), best.result.layout().clone())
        };
        let price = |dry: &Server| dry.prices(&encrypt(4, 4)).unwrap().rotation;
        let times = price(&dear) as f64 / price(&usual) as f64;
        assert!((1.5..=3.0).contains(&times), "{times}");
        let (mut changed, mut all) = (0, 0);
        for rows in [3, 12, 40] {
            for inner in [4, 15, 64] {
                for columns in [2, 16, 33] {
                    let (a, b) = (encrypt(rows, inner), encrypt(inner, columns));
                    changed += usize::from(chosen(&usual, [&a, &b]) != chosen(&dear, [&a, &b]));
                    all += 1;
                }
            }
        }
        assert!(10 * changed >= all, "{changed} of {all} choices changed");
    }
}
