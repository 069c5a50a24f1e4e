//! A cache of plans, so that an operation that repeats is decided once.

use std::{collections::HashMap, fmt::Write, sync::Mutex};

use crate::server::{
    Server,
    planner::choose::{Decision, locked},
};
use crate::{Arithmetic, Array, CiphertextBody, elements::Elements};

/// Maximum number of cached plans. It is chosen; a plan takes a few kilobytes.
const MAX_PLANS: usize = 256;

/// Everything that a decision depends on, as text: the policy of the server, and all properties of
/// the operands but their elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::server) struct Premises(String);

/// The plans of operations that were decided, by their premises.
#[derive(Debug, Default)]
pub(in crate::server) struct PlanCache(Mutex<HashMap<Premises, Vec<Decision>>>);

impl PlanCache {
    /// Returns the cached plan for these premises, if there is one.
    pub(in crate::server) fn get(&self, premises: &Premises) -> Option<Vec<Decision>> {
        locked(&self.0).get(premises).cloned()
    }

    /// Caches a plan. A full cache is emptied first.
    pub(in crate::server) fn insert(&self, premises: Premises, plan: Vec<Decision>) {
        let mut plans = locked(&self.0);
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(premises, plan);
    }
}

impl Server {
    /// Returns the premises of an operation whose candidates depend on nothing but its operands.
    /// `operation` also states its other arguments.
    pub(in crate::server) fn premises<F: Arithmetic, const COUNT: usize>(
        &self,
        operation: &str,
        operands: [&Array<F>; COUNT],
    ) -> Premises {
        let mut text = format!("{operation} {:?} {:?}", self.policy, self.scheme());
        for (i, a) in operands.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {:?} {:?} {:?}", a.layout(), a.form(), a.slot_contents());
            for body in a.bodies() {
                let _ = write!(text, ", {:?} {:?}", body.modulus(), F::own(body));
                let _ = match body {
                    CiphertextBody::Full(c) => write_inner::<F>(&mut text, c),
                    CiphertextBody::Seeded(_) => write!(text, " seeded"),
                };
            }
            for c in a.known_refreshed().unwrap_or_default() {
                let own = F::own(&CiphertextBody::Full(c.clone()));
                let _ = write!(text, ", bootstrapped {:?} {own:?}", F::inner(c).modulus());
                let _ = write_inner::<F>(&mut text, c);
            }
            if let Some(known) = a.known_sines() {
                let _ = write!(text, ", sines {:?} {:?}", known.request, known.errors);
            }
            // How the operand is related to those before it.
            for b in &operands[..i] {
                let same = [a.has_ciphertexts_of(b), a.is_same(b), a.terms().meet(b.terms())];
                let _ = write!(text, ", {same:?}");
            }
        }
        Premises(text)
    }
}

/// Writes the properties that the RLWE ciphertext of `c` has besides its modulus.
fn write_inner<F: Elements>(text: &mut String, c: &F::Ciphertext) -> std::fmt::Result {
    let inner = F::inner(c);
    write!(text, " {} {:?}", inner.parts().len(), inner.noise())
}
