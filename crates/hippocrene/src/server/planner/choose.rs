//! Decisions: how an operation is performed, before any ciphertext is computed.
//!
//! An operation has one [`Candidate`] or more. A server performs them on a dry run first, which is
//! the same code on arrays without residues. It tries each candidate as it is, and if capacity
//! runs short, with its operands bootstrapped first. Among those whose result can still be
//! bootstrapped, it chooses the one that takes the fewest seconds.
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

use hippocrene_rlwe::Tally;

use crate::server::Server;
use crate::{Array, Error, Form};

/// Minimum capacity of operands, in bits beyond the reserve of a bootstrap and twice the capacity
/// that an operation uses, at which it needs no dry run. It is chosen: most sums and moves use
/// less.
const PLENTY_BITS: f64 = 64.0;

/// Up to this number of operands, every subset of them is tried as bootstrapped. Beyond it, either
/// none or all of them are.
const MAX_OPERANDS_IN_SUBSETS: usize = 3;

/// A computation of one array from others, on the server that it is given.
type Run<'f, F, const COUNT: usize> =
    dyn Fn(&Server, [&Array<F>; COUNT]) -> Result<Array<F>, Error> + 'f;

/// One way to perform an operation on `COUNT` arrays.
pub(in crate::server) struct Candidate<'f, F: Form, const COUNT: usize> {
    /// The name that a plan prints.
    name: &'static str,
    /// The candidate is only tried if no candidate of a lower tier keeps enough capacity.
    tier: usize,
    run: Box<Run<'f, F, COUNT>>,
}

impl<'f, F: Form, const COUNT: usize> Candidate<'f, F, COUNT> {
    /// Makes a candidate. `run` must use the server that it is given, which may be a dry run.
    pub(in crate::server) fn new(
        name: &'static str,
        run: impl Fn(&Server, [&Array<F>; COUNT]) -> Result<Array<F>, Error> + 'f,
    ) -> Self {
        Candidate { name, tier: 0, run: Box::new(run) }
    }

    /// Returns the same candidate for use where none of a tier below `tier` keeps enough capacity.
    pub(in crate::server) fn otherwise(self, tier: usize) -> Self {
        Candidate { tier, ..self }
    }
}

/// One decision of a plan.
#[derive(Debug, Clone)]
pub(in crate::server) enum Decision {
    /// The candidate of an operation, and for each operand whether it is bootstrapped first.
    Candidate { operation: &'static str, name: &'static str, bootstrapped: Vec<bool> },
    /// The number of ciphertexts that a circuit bootstraps on its way.
    Circuit(Arc<AtomicUsize>),
}

/// Where the decisions of a server come from.
#[derive(Debug, Clone, Default)]
pub(in crate::server) enum Decisions {
    /// Each operation is decided on a dry run before it is performed.
    #[default]
    Own,
    /// The server is the dry run. It tries candidates and writes down what it decides.
    Tried(Arc<Mutex<Record>>),
    /// The decisions of a plan, in the order in which they are needed.
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
    /// Seconds of one thread, without those that only the first use of a map or key takes.
    seconds: f64,
    /// The number of ciphertexts that were bootstrapped.
    bootstraps: u64,
}

impl std::ops::Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost {
            seconds: self.seconds - other.seconds,
            bootstraps: self.bootstraps - other.bootstraps,
        }
    }
}

/// What a dry run of a candidate has shown.
struct Outcome<F: Form> {
    result: Array<F>,
    cost: Cost,
    /// True if the result has the capacity that it has to keep.
    is_enough: bool,
    /// The decision for this candidate, and those of the operations that it consists of.
    decisions: Vec<Decision>,
}

impl Server {
    /// Performs an operation by the best of its candidates.
    ///
    /// `bits` is an estimate of the capacity that the operation uses. It only decides whether
    /// operands have so much that no dry run is needed.
    ///
    /// # Errors
    /// The error of the first candidate if none is possible. Nothing has been computed then.
    pub(in crate::server) fn perform<F: Form, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        bits: f64,
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Array<F>, Error> {
        let performed = match &self.decisions {
            Decisions::Planned(plan) => {
                self.perform_planned(operation, operands, candidates, plan)
            }
            Decisions::Tried(record) => {
                self.decide(operation, operands, candidates).map(|outcome| {
                    locked(record).decisions.extend(outcome.decisions);
                    outcome.result
                })
            }
            Decisions::Own => match candidates {
                [only] if self.has_plenty(&operands, bits) => (only.run)(self, operands),
                _ => self.planned(operation, operands, candidates).and_then(|plan| {
                    let server = Server { decisions: plan.clone(), ..self.clone() };
                    server.perform(operation, operands, bits, candidates)
                }),
            },
        };
        performed.map_err(|error| self.advised(error, &operands))
    }

    /// True if neither capacity nor keys can be missing for an operation that uses about `bits`
    /// bits of capacity.
    fn has_plenty<F: Form>(&self, operands: &[&Array<F>], bits: f64) -> bool {
        let need = self.kept().unwrap_or(0.0) + 2.0 * bits + PLENTY_BITS;
        self.bootstrap_reserve().is_none()
            || operands.iter().all(|a| F::capacity_bits(&self.session, a) >= need)
    }

    /// Decides on a dry run how this server performs an operation.
    fn planned<F: Form, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Decisions, Error> {
        for operand in operands {
            self.check(operand, operation)?;
        }
        let dry = self.dry_run()?;
        let stand_ins = dry.stand_ins(operands)?;
        let decided = dry.decide(operation, stand_ins.each_ref(), candidates)?;
        Ok(Decisions::Planned(Arc::new(Mutex::new(decided.decisions.into()))))
    }

    /// Performs an operation as the next decision of a plan says.
    fn perform_planned<F: Form, const COUNT: usize>(
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
    fn run<F: Form, const COUNT: usize>(
        &self,
        candidate: &Candidate<'_, F, COUNT>,
        operands: [&Array<F>; COUNT],
        bootstrapped: &[bool],
    ) -> Result<Array<F>, Error> {
        let mut ready = operands.map(Cow::Borrowed);
        for (operand, _) in ready.iter_mut().zip(bootstrapped).filter(|(_, first)| **first) {
            *operand = Cow::Owned(F::bootstrapped(self, operand)?);
        }
        let mut out = (candidate.run)(self, ready.each_ref().map(|operand| &**operand))?;
        // The error of a result is unknown if that of a bootstrapped operand is.
        ready.iter().for_each(|operand| out.form_mut().know_no_more_than(operand.form()));
        Ok(out)
    }

    /// Tries the candidates on this server, a dry run, and returns the best outcome.
    fn decide<F: Form, const COUNT: usize>(
        &self,
        operation: &'static str,
        operands: [&Array<F>; COUNT],
        candidates: &[Candidate<'_, F, COUNT>],
    ) -> Result<Outcome<F>, Error> {
        let before = self.cost();
        let mut outcomes = Vec::new();
        let mut error = None;
        let mut try_tier = |tier: usize, bootstrapped: &[bool], outcomes: &mut Vec<Outcome<F>>| {
            for candidate in candidates.iter().filter(|candidate| candidate.tier == tier) {
                match self.outcome(operation, candidate, operands, bootstrapped) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(failed) => drop(error.get_or_insert(failed)),
                }
            }
        };
        let tiers: BTreeSet<usize> = candidates.iter().map(|candidate| candidate.tier).collect();
        for tier in tiers {
            try_tier(tier, &[false; COUNT], &mut outcomes);
            let is_done = |outcome: &Outcome<F>| outcome.is_enough && outcome.cost.bootstraps == 0;
            if !outcomes.iter().any(is_done) {
                for subset in self.subsets_to_bootstrap(&operands) {
                    try_tier(tier, &subset, &mut outcomes);
                }
            }
            if outcomes.iter().any(|outcome| outcome.is_enough) {
                break;
            }
        }
        let any_is_enough = outcomes.iter().any(|outcome| outcome.is_enough);
        let best = outcomes
            .into_iter()
            .filter(|outcome| outcome.is_enough || !any_is_enough)
            .min_by(|x, y| x.cost.seconds.total_cmp(&y.cost.seconds));
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
    fn outcome<F: Form, const COUNT: usize>(
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
        let is_enough = self
            .kept()
            .is_none_or(|reserve| capacity >= reserve + self.bits_to_scale_down(&result));
        let name = candidate.name;
        let own = Decision::Candidate { operation, name, bootstrapped: bootstrapped.to_vec() };
        let decisions = [vec![own], decisions].concat();
        Ok(Outcome { result, cost, is_enough, decisions })
    }

    /// Returns the subsets of operands to bootstrap first, without the empty one.
    fn subsets_to_bootstrap<F: Form, const COUNT: usize>(
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
    fn refused_bootstrap<F: Form>(&self, a: &Array<F>) -> Option<Error> {
        let most = self.most_after_bootstrap()?;
        if F::capacity_bits(&self.session, a) >= most {
            return None;
        }
        F::check_bootstrap(self, a).err().filter(|error| !matches!(error, Error::Capacity { .. }))
    }

    /// Returns the cost of the dry run so far.
    fn cost(&self) -> Cost {
        let (seconds, bootstraps) =
            self.session.context().rlwe().read_tally(|tally| (steady_seconds(tally), tally.raises()));
        Cost { seconds, bootstraps }
    }

    /// Returns the number of ciphertexts that a circuit of this operation may bootstrap, as a
    /// counter: the planned number for a server that follows a plan, and 0 for a dry run, which
    /// counts them.
    pub(in crate::server) fn circuit(&self) -> Result<Circuit, Error> {
        Ok(match &self.decisions {
            Decisions::Own => Circuit::Free,
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

/// Returns the seconds of a tally without those of encoding plaintexts, which later runs of the
/// same operation may find cached. Otherwise a decision would depend on what ran before.
fn steady_seconds(tally: &Tally) -> f64 {
    let encoding = tally.operations().get("encode").map_or(0.0, |noted| noted.seconds);
    tally.seconds() - encoding
}

/// Locks a mutex. A thread that panics leaves no half-finished change behind it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
