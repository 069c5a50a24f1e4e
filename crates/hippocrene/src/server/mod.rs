//! The server: computes on encrypted arrays. It holds no secret.
//!
//! Scales and rescaling are automatic: every product is brought back to the scale that its precision takes, and operands of different moduli
//! are brought to the smaller one. What shapes mean follows numpy.

mod arithmetic;
mod broadcast;
mod linear_map;
mod matrix;
mod polynomial;
mod reduce;
mod transfer;

use std::{
    borrow::{Borrow, Cow},
    sync::Arc,
};

use hippocrene_ckks::{Ciphertext, Evaluator, Scale, Transfer};
use hippocrene_rlwe::{Fingerprint, RlweError};

use crate::{EncryptedArray, Error, EvaluationKeys, Session};

/// Evaluation keys made ready to compute with.
#[derive(Debug, Clone)]
pub struct Server {
    session: Session,
    evaluator: Evaluator,
    key: Fingerprint,
    /// The precision of results, where it does not come from the operands.
    precision: Option<f64>,
    /// The way from another key to this one, with the session of the arrays that it is for.
    transfer: Option<(Session, Transfer)>,
}

/// A scale that exceeds the one that is asked for by so many bits is brought down before a product.
const SURPLUS: f64 = 0.5;

impl Server {
    /// A server with these keys.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] when the keys do not belong to their session.
    pub fn new(keys: impl Borrow<EvaluationKeys>) -> Result<Self, Error> {
        let keys = keys.borrow();
        Self::in_session(keys, keys.session().clone())
    }

    /// A server with these keys that computes on so many threads, whatever the keys were loaded with.
    ///
    /// # Errors
    /// As [`Server::new`], and [`Error::System`] when the machine refuses the threads.
    pub fn with_threads(keys: &EvaluationKeys, threads: usize) -> Result<Self, Error> {
        let session = Session::new(keys.session().settings().clone(), threads)?;
        Self::in_session(keys, session)
    }

    fn in_session(keys: &EvaluationKeys, session: Session) -> Result<Self, Error> {
        let prepared = keys.inner().prepare(session.context().rlwe())?;
        let evaluator = Evaluator::new(Arc::clone(session.context()), Arc::new(prepared));
        Ok(Server { session, evaluator, key: keys.key(), precision: None, transfer: None })
    }

    /// This server, with another precision of results, in bits after the binary point, whatever that of their operands is.
    ///
    /// # Errors
    /// [`Error::Parameters`] when these parameters do not allow it.
    pub fn with_precision(&self, precision: f64) -> Result<Self, Error> {
        self.session.settings().scale_of(precision)?;
        Ok(Server { precision: Some(precision), ..self.clone() })
    }

    /// Sets how many bytes of memory, beside the keys, may go to what is derived from them to switch keys faster (LAKS); 1 GiB where nothing is
    /// said. It holds for all servers that share this one's [`Session`]. Results do not depend on it.
    pub fn set_key_memory(&self, bytes: usize) {
        self.session.context().rlwe().set_key_memory(bytes);
    }

    /// How many bytes of memory what is derived from keys takes, and how many it may.
    pub fn key_memory(&self) -> (usize, usize) {
        self.session.context().rlwe().key_memory()
    }

    /// Settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The evaluator of single ciphertexts.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The fingerprint of the key whose arrays it computes on.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    fn check(&self, a: &EncryptedArray, operation: &'static str) -> Result<(), Error> {
        self.session.context().rlwe().check_digest(a.parameters(), operation)?;
        if a.key() == self.key {
            Ok(())
        } else {
            Err(RlweError::KeyMismatch { operation, have: a.key(), need: self.key }.into())
        }
    }

    /// Applies `f`, which does the same in every slot or rotates, to every ciphertext of `a`; the layout stays.
    fn map(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
        clean: bool,
        f: impl Fn(&Ciphertext) -> Result<Ciphertext, Error>,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, operation)?;
        let out = a.expanded(&self.session).iter().map(|c| f(c)).collect::<Result<Vec<_>, _>>()?;
        let precision = self.precision_of(&[a]);
        let out = EncryptedArray::from_ciphertexts(a.layout().clone(), a.is_complex(), clean, precision, out);
        Ok(out.with_period(a.period()))
    }

    /// Applies `f`, which does the same in every slot, to the ciphertexts of two arrays, pair by pair. They are broadcast to one shape, and
    /// stand where the first one's elements do that has this shape. `clean` says whether slots without an element are zero in the result, from
    /// whether they are in the operands.
    fn zip(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        operation: &'static str,
        clean: impl Fn(bool, bool) -> bool,
        f: impl Fn(&Ciphertext, &Ciphertext) -> Result<Ciphertext, Error>,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        let (a, b) = self.broadcast(a, b, operation)?;
        let (left, right) = (a.expanded(&self.session), b.expanded(&self.session));
        let out = left.iter().zip(&right).map(|(x, y)| f(x, y)).collect::<Result<Vec<_>, _>>()?;
        let (complex, clean) = (a.is_complex() || b.is_complex(), clean(a.is_clean(), b.is_clean()));
        let period = a.period().zip(b.period()).map(|(p, q)| p.max(q));
        let precision = self.precision_of(&[&a, &b]);
        let out = EncryptedArray::from_ciphertexts(a.layout().clone(), complex, clean, precision, out);
        Ok(out.with_period(period))
    }

    /// The precision of what is computed from these arrays: the least of theirs, unless this server has one of its own.
    fn precision_of(&self, arrays: &[&EncryptedArray]) -> f64 {
        self.precision.unwrap_or_else(|| arrays.iter().map(|a| a.precision()).fold(f64::INFINITY, f64::min))
    }

    /// The scale that products of these arrays are rescaled to.
    fn scale_of(&self, arrays: &[&EncryptedArray]) -> Result<Scale, Error> {
        self.session.settings().scale_of(self.precision_of(arrays))
    }

    /// A factor of a product that is to have the scale `target`: its own scale is no larger. Bringing it down costs no capacity.
    fn lowered<'a>(&self, x: &'a Ciphertext, target: Scale) -> Result<Cow<'a, Ciphertext>, Error> {
        if x.scale().log2() <= target.log2() + SURPLUS
            || self.evaluator.rescaled_modulus(x.modulus(), x.scale(), target) == x.modulus()
        {
            return Ok(Cow::Borrowed(x));
        }
        Ok(Cow::Owned(self.evaluator.rescale(x, target)?))
    }
}
