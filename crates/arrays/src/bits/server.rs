//! The part of a server that computes on bits.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hippocrene_ckks::{
    Evaluator,
    bits::{
        BitBootstrapper, BitCiphertext, BitPacking, BitParts, BitPlan, CERTAIN_ERROR_BOUND,
        gate_error,
    },
};
use hippocrene_rlwe::{Fingerprint, Gate, RlweError};

use super::{BitArray, BitKeys};
use crate::{Array, Error, Session, SlotContents, format_shape};

/// The operation that errors of several gates at once name.
const GATES: &str = "gates";

/// The tolerance for the sizes of moduli, in bits; chosen.
const MODULUS_TOLERANCE_BITS: f64 = 2.0;

/// Computes on arrays of bits, as a part of a [`Server`](crate::Server) that has keys of bits.
///
/// It holds no secret.
///
/// Every gate is one bootstrap of each ciphertext. If both operands have enough capacity and little
/// error, it is a product instead. There is no depth limit. All arrays of a gate have the same
/// shape, since bits are not broadcast.
///
/// Gates also run in a simulation, without keys:
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{KeyRequest, Preset, Simulation};
///
/// let preset = Preset::by_name("bits14")?;
/// let request = KeyRequest::bits(preset.bits()?);
/// let simulation = Simulation::with_keys(preset.settings()?, &request)?;
/// let x = simulation.encrypt_bits(&[true, true, false, false], &[4])?;
/// let y = simulation.encrypt_bits(&[true, false, true, false], &[4])?;
///
/// let server = simulation.server().bits()?;
/// let z = server.nand(&x, &y)?;
/// assert_eq!(simulation.bits(&z), Some(vec![false, true, true, true]));
/// assert_eq!(server.bootstraps(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BitServer {
    pub(super) session: Session,
    bootstrapper: BitBootstrapper,
    key: Fingerprint,
    key_bytes: usize,
    count: Arc<AtomicU64>,
}

impl BitServer {
    pub(crate) fn new(
        session: Session,
        evaluator: Evaluator,
        key: Fingerprint,
        keys: &BitKeys,
    ) -> Result<Self, Error> {
        let context = session.context();
        let plan = Arc::new(BitPlan::new(Arc::clone(context), keys.literal().clone())?);
        let encapsulation =
            keys.encapsulation().clone().prepare(context.rlwe(), plan.sparse_context())?;
        let key_bytes = encapsulation.bytes();
        let bootstrapper = BitBootstrapper::new(plan, evaluator, Arc::new(encapsulation))?;
        Ok(BitServer { session, bootstrapper, key, key_bytes, count: Arc::default() })
    }

    /// The memory of the bootstrapping keys in bytes, without the keys of the evaluator.
    pub(crate) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The plan of its bootstraps.
    pub fn plan(&self) -> &Arc<BitPlan> {
        self.bootstrapper.plan()
    }

    /// The bootstrapper for single ciphertexts.
    pub fn bootstrapper(&self) -> &BitBootstrapper {
        &self.bootstrapper
    }

    /// The number of bootstraps of ciphertexts that this server and its clones have computed.
    ///
    /// Several gates of the same bits count as one.
    pub fn bootstraps(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The complements of the bits of `a`, without a bootstrap.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::ParameterMismatch`]
    /// when it has other parameters.
    pub fn not(&self, a: &BitArray) -> Result<BitArray, Error> {
        self.check(&[a], "not")?;
        let evaluator = self.bootstrapper.evaluator();
        let inputs = a.expanded(&self.session);
        let out = self.session.compute_each(inputs.len(), |i| Ok(evaluator.not_bits(&inputs[i])?));
        Ok(Array::from_ciphertexts(a.layout().clone(), *a.form(), SlotContents::Stray, out?))
    }

    /// Computes `a AND b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn and(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::And, &[a, b])
    }

    /// Computes `a OR b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn or(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Or, &[a, b])
    }

    /// Computes `a XOR b`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn xor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Xor, &[a, b])
    }

    /// Computes `NOT (a AND b)`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn nand(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Nand, &[a, b])
    }

    /// Computes `NOT (a OR b)`, element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn nor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Nor, &[a, b])
    }

    /// Computes `a = b` (the complement of XOR), element by element.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn xnor(&self, a: &BitArray, b: &BitArray) -> Result<BitArray, Error> {
        self.gate(Gate::Xnor, &[a, b])
    }

    /// Returns the elements of `a` where `condition` is 1, and those of `b` where it is 0.
    ///
    /// This needs three gates.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn select(
        &self,
        condition: &BitArray,
        a: &BitArray,
        b: &BitArray,
    ) -> Result<BitArray, Error> {
        let differ = self.xor(a, b)?;
        self.xor(b, &self.and(condition, &differ)?)
    }

    /// Computes a gate of two or three arrays of one shape, element by element.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes or the layouts differ, [`Error::KeyMismatch`] or
    /// [`Error::ParameterMismatch`] when the keys or the parameters do, and [`Error::Argument`]
    /// when the gate does not accept this number of arrays.
    pub fn gate(&self, gate: Gate, inputs: &[&BitArray]) -> Result<BitArray, Error> {
        self.check(inputs, gate.name())?;
        if let Some(product) = self.product(gate, inputs)? {
            return Ok(product);
        }
        let mut out = self.gates(&[gate], inputs)?;
        out.pop().ok_or_else(|| Error::Internal("a gate has one result".into()))
    }

    /// Computes several gates of the same arrays by one bootstrap.
    ///
    /// Only the cosines are computed separately for each gate. `[Xor, And]` of two arrays is a half
    /// adder, `[Xor, Majority]` of three arrays is a full adder.
    ///
    /// # Errors
    /// As [`BitServer::gate`].
    pub fn gates(&self, gates: &[Gate], inputs: &[&BitArray]) -> Result<Vec<BitArray>, Error> {
        let operation = match gates {
            [gate] => gate.name(),
            _ => GATES,
        };
        self.check(inputs, operation)?;
        let Some(first) = inputs.first() else {
            return Err(Error::argument(operation, "there are no bits"));
        };
        let ready =
            inputs.iter().map(|a| self.ready(a, inputs.len())).collect::<Result<Vec<_>, _>>()?;
        let expanded: Vec<_> = ready.iter().map(|a| a.expanded(&self.session)).collect();
        let made = self.session.compute_each(first.bodies().len(), |place| {
            let operands: Vec<&BitCiphertext> = expanded.iter().map(|a| &*a[place]).collect();
            self.count.fetch_add(1, Ordering::Relaxed);
            Ok(match gates {
                [gate] => vec![self.bootstrapper.gate(*gate, &operands)?],
                _ => self.bootstrapper.gates(gates, &operands)?,
            })
        });
        let mut results: Vec<Vec<BitCiphertext>> = vec![Vec::new(); gates.len()];
        for made in made? {
            results.iter_mut().zip(made).for_each(|(all, one)| all.push(one));
        }
        let out = results.into_iter().zip(gates);
        Ok(out.map(|(ciphertexts, gate)| self.result(*gate, inputs, ciphertexts)).collect())
    }

    /// Computes a gate of `a` and public bits, one for each element in row-major order.
    ///
    /// If the public bits are all equal, there is no bootstrap.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of bits is not the number of elements, and as
    /// [`BitServer::gate`].
    pub fn gate_plain(&self, gate: Gate, a: &BitArray, bits: &[bool]) -> Result<BitArray, Error> {
        self.check(&[a], gate.name())?;
        if bits.len() != a.size() {
            let what =
                format!("{} bits for an array of shape {}", bits.len(), format_shape(a.shape()));
            return Err(Error::shape(gate.name(), what));
        }
        gate_error(gate, 2, 0.0)?;
        let of = |bit: bool, other: bool| gate.value(usize::from(bit) + usize::from(other), 2);
        match bits {
            [first, rest @ ..] if rest.iter().all(|bit| bit == first) => {
                match (of(false, *first), of(true, *first)) {
                    (false, true) => Ok(a.clone()),
                    (true, false) => self.not(a),
                    (same, _) => self.public(a, &vec![same; bits.len()]),
                }
            }
            _ => self.gate(gate, &[a, &self.public(a, bits)?]),
        }
    }

    /// Makes an array of public bits with the layout of `like`.
    fn public(&self, like: &BitArray, bits: &[bool]) -> Result<BitArray, Error> {
        let evaluator = self.bootstrapper.evaluator();
        let (slots, like_it) = (like.layout().scatter(bits)?, like.expanded(&self.session));
        let public = |i: usize| Ok(evaluator.public_bits(&like_it[i], &slots[i])?);
        let out = self.session.compute_each(like_it.len(), public);
        Ok(Array::from_ciphertexts(like.layout().clone(), *like.form(), SlotContents::Zero, out?))
    }

    /// Makes the array of a gate's results.
    ///
    /// Slots without an element are zero if they are zero in all inputs and the gate of zeros is 0.
    fn result(
        &self,
        gate: Gate,
        inputs: &[&BitArray],
        ciphertexts: Vec<BitCiphertext>,
    ) -> BitArray {
        let clean = inputs.iter().all(|a| a.is_clean()) && !gate.value(0, inputs.len());
        let slots = SlotContents::zero_if(clean);
        Array::from_ciphertexts(inputs[0].layout().clone(), *inputs[0].form(), slots, ciphertexts)
    }

    /// Computes a gate by products, if it has any and the operands allow it, otherwise returns
    /// `None`.
    ///
    /// The result must have enough capacity for a bootstrap and no more error than gates accept.
    fn product(&self, gate: Gate, inputs: &[&BitArray]) -> Result<Option<BitArray>, Error> {
        let (plan, e) = (self.plan(), self.bootstrapper.evaluator());
        let &[a, b] = inputs else { return Ok(None) };
        let (parameters, scale) = (plan.context().parameters(), plan.bit_scale());
        let fits = |x: &BitCiphertext| {
            let left = parameters.log2(x.ciphertext().modulus()) - scale.log2();
            x.ciphertext().scale().is_close(scale)
                && left >= plan.bits_needed() + MODULUS_TOLERANCE_BITS
        };
        if gate == Gate::Majority
            || a.form().packing != BitPacking::Real
            || a.error() + b.error() > CERTAIN_ERROR_BOUND / 3.0
        {
            return Ok(None);
        }
        let (left, right) = (a.expanded(&self.session), b.expanded(&self.session));
        if !left.iter().chain(&right).all(|x| fits(x)) {
            return Ok(None);
        }
        let product = |a: &BitCiphertext, b: &BitCiphertext| {
            let (out, complement) = match gate {
                Gate::And | Gate::Nand => (e.and_bits(a, b)?, gate == Gate::Nand),
                Gate::Or | Gate::Nor => (e.or_bits(a, b)?, gate == Gate::Nor),
                _ => (e.xor_bits(a, b)?, gate == Gate::Xnor),
            };
            Ok(if complement { e.not_bits(&out)? } else { out })
        };
        let out = self.session.compute_each(left.len(), |i| product(&left[i], &right[i]));
        Ok(Some(self.result(gate, inputs, out?)))
    }

    /// Bootstraps a ciphertext into its parts, with capacity for a linear map.
    pub(crate) fn parts(&self, a: &BitCiphertext) -> Result<BitParts, Error> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(self.bootstrapper.parts(a)?)
    }

    /// Prepares one of several operands of a gate.
    ///
    /// It is refreshed if its error is larger than its share of the largest error that gates
    /// accept. The array caches the result, so that this happens once for all gates. (A refresh
    /// turns an error `e` into `O(e^2)`.)
    pub(crate) fn ready<'a>(
        &self,
        a: &'a BitArray,
        operands: usize,
    ) -> Result<Cow<'a, BitArray>, Error> {
        if a.error() <= CERTAIN_ERROR_BOUND / operands as f64 {
            return Ok(Cow::Borrowed(a));
        }
        let refreshed = a.refreshed(|| {
            let inputs = a.expanded(&self.session);
            self.session.compute_each(inputs.len(), |i| {
                self.count.fetch_add(1, Ordering::Relaxed);
                Ok(self.bootstrapper.refresh(&inputs[i])?)
            })
        });
        Ok(Cow::Owned(refreshed?))
    }

    pub(crate) fn check(&self, inputs: &[&BitArray], operation: &'static str) -> Result<(), Error> {
        for a in inputs {
            self.plan().context().rlwe().check_digest(a.parameters(), operation)?;
            if a.key() != self.key {
                return Err(
                    RlweError::KeyMismatch { operation, have: a.key(), need: self.key }.into()
                );
            }
            if !a.layout().is_like(inputs[0].layout()) {
                let (left, right) = (inputs[0].shape(), a.shape());
                let what = match left == right {
                    true => format!(
                        "the operands have the shape {left} and different layouts. Select the \
                         elements of both in the same way.",
                        left = format_shape(left)
                    ),
                    false => format!(
                        "arrays of bits of shapes {left} and {right}",
                        left = format_shape(left),
                        right = format_shape(right)
                    ),
                };
                return Err(Error::shape(operation, what));
            }
        }
        Ok(())
    }
}
