//! What computes on bits.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hippocrene_ckks::{
    Evaluator,
    bits::{BitBootstrapper, BitCiphertext, BitPacking, BitPlan, Gate},
};
use hippocrene_rlwe::{Fingerprint, RlweError};

use super::{BitArray, BitKeys};
use crate::Error;

/// Operands whose errors are larger are refreshed before a gate. Gates of three bits that are that uncertain are still told, and a refresh makes `O(e^2)` of an error `e`.
const TIRED: f64 = 1.0 / 16.0;

/// Bits that moduli are off by.
const SLACK: f64 = 2.0;

/// Keys made ready to compute on arrays of bits. It holds no secret.
///
/// Every gate is one bootstrap of each ciphertext, or a product where both operands have the capacity for it and little error. There is no limit of depth. Arrays have
/// one shape; bits are not broadcast.
#[derive(Debug, Clone)]
pub struct BitServer {
    bootstrapper: BitBootstrapper,
    key: Fingerprint,
    count: Arc<AtomicU64>,
}

impl BitServer {
    /// A server with these keys, with the threads of the client's session.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when one is missing, [`Error::ParameterMismatch`] when they do not belong together.
    pub fn new(keys: BitKeys) -> Result<Self, Error> {
        let BitKeys { plan, evaluation, encapsulation } = keys;
        let (context, key) = (plan.context(), evaluation.key());
        let rlwe = context.rlwe();
        let encapsulation = Arc::new(encapsulation.prepare(rlwe, plan.narrow())?);
        let evaluator = Evaluator::new(Arc::clone(context), Arc::new(evaluation.into_prepared(rlwe)?));
        let bootstrapper = BitBootstrapper::new(Arc::clone(&plan), evaluator, encapsulation)?;
        Ok(BitServer { bootstrapper, key, count: Arc::default() })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<BitPlan> {
        self.bootstrapper.plan()
    }

    /// What it bootstraps single ciphertexts with.
    pub fn bootstrapper(&self) -> &BitBootstrapper {
        &self.bootstrapper
    }

    /// How many bootstraps of ciphertexts this server and its clones have made; several gates of the same bits are one.
    pub fn bootstraps(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The bits that `a` does not have, for nothing.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn not(&self, a: &BitArray) -> Result<BitArray, Error> {
        self.check(&[a], "not")?;
        let evaluator = self.bootstrapper.evaluator();
        let out = a.ciphertexts.iter().map(|x| Ok(evaluator.not_bits(x)?));
        Ok(BitArray { layout: a.layout.clone(), ciphertexts: out.collect::<Result<_, Error>>()? })
    }

    /// `a` and `b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn and(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::And, &[a, b])
    }

    /// `a` or `b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn or(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Or, &[a, b])
    }

    /// Either `a` or `b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn xor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Xor, &[a, b])
    }

    /// Not both of `a` and `b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn nand(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Nand, &[a, b])
    }

    /// Neither `a` nor `b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn nor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Nor, &[a, b])
    }

    /// Whether `a` and `b` are equal, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn xnor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Xnor, &[a, b])
    }

    /// The elements of `a` where `condition` is 1, those of `b` where it is 0: three gates.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn select(&self, condition: &BitArray, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        let differ = self.xor(a, b)?;
        self.xor(b, &self.and(condition, &differ)?)
    }

    /// A gate of two or three arrays of one shape, element by element.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes differ, [`Error::KeyMismatch`] when the keys do, [`Error::Argument`] for a number of arrays that the gate does not take.
    pub fn gate(&self, gate: Gate, inputs: &[&BitArray]) -> Result<BitArray, Error> {
        let mut out = self.compute(inputs, |x| {
            if let Some(product) = self.product(gate, x)? {
                return Ok(vec![product]);
            }
            let ready = self.ready(x)?;
            self.count.fetch_add(1, Ordering::Relaxed);
            Ok(vec![self.bootstrapper.gate(gate, &ready.iter().map(|x| &**x).collect::<Vec<_>>())?])
        })?;
        out.pop().ok_or_else(|| Error::Internal("a gate has one result".into()))
    }

    /// Several gates of the same arrays by one bootstrap, of which only the cosines are taken one by one: `[Xor, And]` of two are a half adder, `[Xor, Majority]` of three a
    /// full adder.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn gates(&self, gates: &[Gate], inputs: &[&BitArray]) -> Result<Vec<BitArray>, Error> {
        self.compute(inputs, |x| {
            let ready = self.ready(x)?;
            self.count.fetch_add(1, Ordering::Relaxed);
            Ok(self.bootstrapper.gates(gates, &ready.iter().map(|x| &**x).collect::<Vec<_>>())?)
        })
    }

    /// `f` of the ciphertexts of arrays of one shape, place by place, and its results as arrays.
    fn compute(
        &self,
        inputs: &[&BitArray],
        f: impl Fn(&[&BitCiphertext]) -> Result<Vec<BitCiphertext>, Error>,
    ) -> Result<Vec<BitArray>, Error> {
        self.check(inputs, "gate")?;
        let Some(first) = inputs.first() else {
            return Err(Error::argument("gate", "there are no bits"));
        };
        let mut results: Vec<Vec<BitCiphertext>> = Vec::new();
        for place in 0..first.ciphertexts.len() {
            let operands: Vec<&BitCiphertext> = inputs.iter().map(|a| &a.ciphertexts[place]).collect();
            let made = f(&operands)?;
            results.resize_with(made.len(), Vec::new);
            results.iter_mut().zip(made).for_each(|(all, one)| all.push(one));
        }
        let layout = || first.layout.clone();
        Ok(results.into_iter().map(|ciphertexts| BitArray { layout: layout(), ciphertexts }).collect())
    }

    /// A gate by a product, where there is one and the result can still be bootstrapped, with no more error than gates take.
    fn product(&self, gate: Gate, inputs: &[&BitCiphertext]) -> Result<Option<BitCiphertext>, Error> {
        let (plan, e) = (self.plan(), self.bootstrapper.evaluator());
        let &[a, b] = inputs else { return Ok(None) };
        let parameters = plan.context().parameters();
        let scale = plan.bit_scale();
        let fits = |x: &BitCiphertext| {
            let left = parameters.log2(x.ciphertext().modulus()) - scale.log2();
            x.packing() == BitPacking::Real
                && x.ciphertext().scale().is_close(scale)
                && left >= plan.bits_needed() + SLACK
        };
        if !fits(a) || !fits(b) || a.error() + b.error() > TIRED / 2.0 {
            return Ok(None);
        }
        Ok(match gate {
            Gate::And => Some(e.and_bits(a, b)?),
            Gate::Nand => Some(e.not_bits(&e.and_bits(a, b)?)?),
            Gate::Or => Some(e.or_bits(a, b)?),
            Gate::Nor => Some(e.not_bits(&e.or_bits(a, b)?)?),
            Gate::Xor => Some(e.xor_bits(a, b)?),
            Gate::Xnor => Some(e.not_bits(&e.xor_bits(a, b)?)?),
            Gate::Majority => None,
        })
    }

    /// Operands of a gate: those that are too uncertain are refreshed, each of them once.
    fn ready<'a>(&self, inputs: &[&'a BitCiphertext]) -> Result<Vec<Cow<'a, BitCiphertext>>, Error> {
        let mut ready: Vec<Cow<'a, BitCiphertext>> = Vec::with_capacity(inputs.len());
        for (i, &x) in inputs.iter().enumerate() {
            let twin = inputs[..i].iter().position(|y| std::ptr::eq(*y, x));
            ready.push(match twin {
                Some(twin) => ready[twin].clone(),
                None if x.error() > TIRED => {
                    self.count.fetch_add(1, Ordering::Relaxed);
                    Cow::Owned(self.bootstrapper.refresh(x)?)
                }
                None => Cow::Borrowed(x),
            });
        }
        Ok(ready)
    }

    fn check(&self, inputs: &[&BitArray], operation: &'static str) -> Result<(), Error> {
        for a in inputs {
            self.plan().context().rlwe().check_digest(a.parameters(), operation)?;
            if a.key() != self.key {
                return Err(RlweError::KeyMismatch { operation, have: a.key(), need: self.key }.into());
            }
            if a.layout != inputs[0].layout {
                let what = format!("arrays of bits of shapes {:?} and {:?}", inputs[0].shape(), a.shape());
                return Err(Error::shape(operation, what));
            }
        }
        Ok(())
    }
}
