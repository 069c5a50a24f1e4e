//! The server of single bits.

use std::{borrow::Cow, sync::Arc};

use hippocrene_fhew::{GateEvaluator, LweCiphertext};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{Fingerprint, Gate, RlweError};

use super::{GateArray, GateKeys, array::check_shape};
use crate::{Error, format_shape};

type Expanded<'a> = Cow<'a, [Arc<LweCiphertext>]>;
/// A gate and the bits of its operand arrays, at least one.
type Operands<'a> = (Gate, Vec<&'a [Arc<LweCiphertext>]>);

const MOVE: &str = "move elements";
const GATES: &str = "gates";
const SELECT: &str = "select";

/// A server that computes on arrays of single bits. It holds no secret.
///
/// A gate of two bits takes one blind rotation for each element, and so do the parity and the
/// majority of three bits. The depth is unlimited. All arrays must have the same shape, as bits are
/// not broadcast. [`GateServer::gather`] repeats bits for free.
///
/// The parameters of this example are small and insecure, so that it runs fast.
/// [`GateClient::generate`](super::GateClient::generate) has secure ones.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{GateClient, GateServer, Seed};
/// # use hippocrene::rlwe::SecretDistribution;
/// # use hippocrene_fhew::{GateParameters, LweParameters, RotationGadget, RotationParameters};
/// # let input = LweParameters::insecure(40, 64513, SecretDistribution::Binary)?;
/// # let ring = LweParameters::insecure(256, 1073738753, SecretDistribution::Ternary)?;
/// # let gadget = RotationGadget::Digits { base_log2: 8, count: 3 };
/// # let rotation = RotationParameters::insecure(input, ring, gadget)?;
/// # let parameters = GateParameters::insecure(rotation, (2, 8))?;
///
/// let client = GateClient::from_seed(parameters, Seed::random()?)?;
/// let server = GateServer::new(&client.evaluation_keys(1)?, 1)?; // holds no secret
/// let x = client.encrypt(&[true, true, false, false], &[2, 2])?;
/// let y = client.encrypt(&[true, false, true, false], &[2, 2])?;
///
/// let z = server.xor(&x, &server.not(&y)?)?;
/// assert_eq!(z.shape(), [2, 2]);
/// assert_eq!(client.decrypt(&z)?, [true, false, false, true]);
/// assert_eq!(server.rotations(), 4); // one for each element of a gate, none for `not`
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GateServer {
    evaluator: GateEvaluator,
    threads: Threads,
}

impl GateServer {
    /// Creates a server with these keys that computes on `threads` threads.
    ///
    /// # Errors
    /// [`Error::System`] when the threads cannot be started.
    pub fn new(keys: &GateKeys, threads: usize) -> Result<Self, Error> {
        let threads = Threads::new(threads)?;
        Ok(GateServer { evaluator: keys.inner().prepare(&threads)?, threads })
    }

    /// The public name of the key that the server computes for.
    pub fn fingerprint(&self) -> Fingerprint {
        self.evaluator.key()
    }

    /// Bytes of memory that the keys take.
    pub fn key_memory(&self) -> usize {
        self.evaluator.bytes()
    }

    /// The number of blind rotations so far.
    pub fn rotations(&self) -> u64 {
        self.evaluator.rotations()
    }

    /// Negates every bit of `a`, which takes no rotation.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn not(&self, a: &GateArray) -> Result<GateArray, Error> {
        self.check(&[a], "not")?;
        let bits = a.expanded()?.iter().map(|bit| Arc::new(self.evaluator.not(bit))).collect();
        Ok(GateArray::single(a.shape(), a.parameters(), bits))
    }

    /// `a` and `b`, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn and(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::And, &[a, b])
    }

    /// `a` or `b` or both, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn or(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::Or, &[a, b])
    }

    /// Either `a` or `b` but not both, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn xor(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::Xor, &[a, b])
    }

    /// Not both of `a` and `b`, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn nand(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::Nand, &[a, b])
    }

    /// Neither `a` nor `b`, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn nor(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::Nor, &[a, b])
    }

    /// True where `a` and `b` are equal, element by element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn xnor(&self, a: &GateArray, b: &GateArray) -> Result<GateArray, Error> {
        self.gate(Gate::Xnor, &[a, b])
    }

    /// Selects the elements of `a` where `condition` is 1, and those of `b` where it is 0.
    ///
    /// It takes two rotations for each element.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn select(
        &self,
        condition: &GateArray,
        a: &GateArray,
        b: &GateArray,
    ) -> Result<GateArray, Error> {
        let [condition_bits, a_bits, b_bits] = &self.operands(&[condition, a, b], SELECT)?[..]
        else {
            return Err(Error::Internal("select has three operands".into()));
        };
        let items: Vec<[&LweCiphertext; 3]> = (0..condition_bits.len())
            .map(|i| [&condition_bits[i], &a_bits[i], &b_bits[i]].map(|bit| &**bit))
            .collect();
        let bits = self.evaluator.select_all(&items, &self.threads)?;
        Ok(GateArray::single(
            condition.shape(),
            a.parameters(),
            bits.into_iter().map(Arc::new).collect(),
        ))
    }

    /// Applies a gate to two or three arrays of the same shape, element by element.
    ///
    /// The parity and the majority of three bits take one rotation. Other gates of three bits take
    /// two.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes differ, [`Error::KeyMismatch`] when the keys differ,
    /// [`Error::Argument`] when the gate does not take this number of arrays.
    pub fn gate(&self, gate: Gate, inputs: &[&GateArray]) -> Result<GateArray, Error> {
        let mut out = self.gates(&[gate], inputs)?;
        out.pop().ok_or_else(|| Error::Internal("a gate has one result".into()))
    }

    /// Applies several gates to the same arrays.
    ///
    /// For example, `[Xor, And]` of two arrays are a half adder, and `[Xor, Majority]` of three a
    /// full adder.
    ///
    /// # Errors
    /// As [`GateServer::gate`].
    pub fn gates(&self, gates: &[Gate], inputs: &[&GateArray]) -> Result<Vec<GateArray>, Error> {
        let operation = match gates {
            [gate] => gate.name(),
            _ => GATES,
        };
        let operands = self.operands(inputs, operation)?;
        let Some(first) = inputs.first() else {
            return Err(Error::argument(operation, "there are no bits"));
        };
        // Gates of three bits that take two rotations begin with AND or OR of the first two bits.
        let beginning = |gate: Gate| match gate {
            Gate::And | Gate::Nand if inputs.len() == 3 => Some(Gate::And),
            Gate::Or | Gate::Nor if inputs.len() == 3 => Some(Gate::Or),
            _ => None,
        };
        let mut firsts: Vec<Gate> = Vec::new();
        for gate in gates.iter().filter_map(|gate| beginning(*gate)) {
            if !firsts.contains(&gate) {
                firsts.push(gate);
            }
        }
        let all: Vec<&[Arc<LweCiphertext>]> = operands.iter().map(|bits| &**bits).collect();
        let of_two = |gate: &Gate| (*gate, all[..2].to_vec());
        let begun = self.apply_to_elements(&firsts.iter().map(of_two).collect::<Vec<_>>())?;
        let last = gates.iter().map(|gate| {
            let place = firsts.iter().position(|first| beginning(*gate) == Some(*first));
            (*gate, place.map_or_else(|| all.clone(), |place| vec![&begun[place][..], all[2]]))
        });
        let results = self.apply_to_elements(&last.collect::<Vec<_>>())?;
        let array = |bits| GateArray::single(first.shape(), first.parameters(), bits);
        Ok(results.into_iter().map(array).collect())
    }

    /// Applies a gate to `a` and plaintext bits, one for each element in row-major order.
    ///
    /// It takes no rotation.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of bits differs from the number of elements,
    /// [`Error::KeyMismatch`] when the array belongs to another key, [`Error::Argument`] for a gate
    /// of three bits.
    pub fn gate_plain(&self, gate: Gate, a: &GateArray, bits: &[bool]) -> Result<GateArray, Error> {
        self.check(&[a], gate.name())?;
        if bits.len() != a.size() {
            let what = format!("{} plain bits for shape {}", bits.len(), format_shape(a.shape()));
            return Err(Error::shape(gate.name(), what));
        }
        if gate == Gate::Majority {
            return Err(Error::argument(gate.name(), "2 operands: a majority is of three bits"));
        }
        let (zero, one) =
            (Arc::new(self.evaluator.trivial(false)?), Arc::new(self.evaluator.trivial(true)?));
        let expanded = a.expanded()?;
        let out = expanded.iter().zip(bits).map(|(bit, plain)| {
            let ones = usize::from(*plain);
            match [gate.value(ones, 2), gate.value(ones + 1, 2)] {
                [false, false] => Arc::clone(&zero),
                [true, true] => Arc::clone(&one),
                [false, true] => Arc::clone(bit),
                [true, false] => Arc::new(self.evaluator.not(bit)),
            }
        });
        Ok(GateArray::single(a.shape(), a.parameters(), out.collect()))
    }

    /// Picks bits from the arrays by their places, as an array of shape `shape`.
    ///
    /// Places are counted from the first bit of the first array to the last bit of the last array.
    /// `None` gives 0. It takes no rotation.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the keys differ, [`Error::Argument`] when there are no arrays or
    /// a place is beyond the last bit, [`Error::Shape`] when the number of sources does not match
    /// the shape.
    pub fn gather(
        &self,
        arrays: &[&GateArray],
        shape: &[usize],
        sources: &[Option<usize>],
    ) -> Result<GateArray, Error> {
        check_shape(shape, sources.len(), MOVE)?;
        let Some(first) = arrays.first() else {
            return Err(Error::argument(MOVE, "there are no bits"));
        };
        self.check(arrays, MOVE)?;
        // The start of each array, and the end of the last one.
        let mut begins = vec![0];
        begins.extend(arrays.iter().scan(0, |end, a| {
            *end += a.size();
            Some(*end)
        }));
        let all = begins[arrays.len()];
        let mut wanted: Vec<Vec<usize>> = arrays.iter().map(|_| Vec::new()).collect();
        let mut located = Vec::with_capacity(sources.len());
        for source in sources {
            if let Some(place) = source.filter(|place| *place >= all) {
                let what = format!("place {place} of {all} bits in {} arrays", arrays.len());
                return Err(Error::argument(MOVE, what));
            }
            located.push(source.map(|place| {
                let k = begins.partition_point(|begin| *begin <= place) - 1;
                wanted[k].push(place - begins[k]);
                (k, place - begins[k])
            }));
        }
        let picked = arrays.iter().zip(wanted).map(|(a, places)| a.bits_at(places.into_iter()));
        let picked = picked.collect::<Result<Vec<_>, _>>()?;
        let zero = Arc::new(self.evaluator.trivial(false)?);
        let bit = |source: &Option<(usize, usize)>| match source {
            None => Some(Arc::clone(&zero)),
            Some((k, place)) => picked[*k].get(*place).cloned(),
        };
        let bits: Option<Vec<_>> = located.iter().map(bit).collect();
        let bits =
            bits.ok_or_else(|| Error::Internal("all bits that are wanted are there".into()))?;
        Ok(GateArray::single(shape, first.parameters(), bits))
    }

    /// Applies gates to every element of their operands, all in one batch.
    fn apply_to_elements(
        &self,
        gates: &[Operands<'_>],
    ) -> Result<Vec<Vec<Arc<LweCiphertext>>>, Error> {
        let mut operands = Vec::new();
        for (gate, arrays) in gates {
            let of_place = |i: usize| arrays.iter().map(|bits| &*bits[i]).collect::<Vec<_>>();
            operands.extend((0..arrays[0].len()).map(|i| (*gate, of_place(i))));
        }
        let items: Vec<(Gate, &[&LweCiphertext])> =
            operands.iter().map(|(gate, bits)| (*gate, bits.as_slice())).collect();
        let mut bits = self.evaluator.gate_all(&items, &self.threads)?.into_iter().map(Arc::new);
        Ok(gates.iter().map(|(_, arrays)| bits.by_ref().take(arrays[0].len()).collect()).collect())
    }

    /// Returns the bits of the arrays, after checking that their keys and shapes match.
    fn operands<'a>(
        &self,
        arrays: &[&'a GateArray],
        operation: &'static str,
    ) -> Result<Vec<Expanded<'a>>, Error> {
        self.check(arrays, operation)?;
        if let Some(other) = arrays.iter().find(|a| a.shape() != arrays[0].shape()) {
            let what = format!(
                "shapes {} and {}",
                format_shape(arrays[0].shape()),
                format_shape(other.shape())
            );
            return Err(Error::shape(operation, what));
        }
        arrays.iter().map(|a| a.expanded()).collect()
    }

    fn check(&self, arrays: &[&GateArray], operation: &'static str) -> Result<(), Error> {
        let need = self.fingerprint();
        match arrays.iter().map(|a| a.key()).find(|have| *have != need) {
            Some(have) => Err(RlweError::KeyMismatch { operation, have, need }.into()),
            None => Ok(()),
        }
    }
}
