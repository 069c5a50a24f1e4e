//! Powers of a ciphertext.

use std::borrow::Cow;

use super::{
    polynomial_evaluation::{Evaluation, depth_of},
    tracked_errors::ErrorTracker,
};
use crate::{Ciphertext, CkksError, Evaluator, Scale};

const OPERATION: &str = "power";

impl Evaluator {
    /// Returns `a^n`, slot by slot, for `n >= 1`, by products of the powers `a^(2^k)`.
    ///
    /// The depth is `ceil(log2 n)` products, each at a scale near `target`. The modulus of the result
    /// is that of `a` squared that many times and rescaled to `target` each time
    /// ([`Evaluator::after_product`]). Its scale is about that one, and the same if `n` is a power of
    /// two. If the scale of `a` is larger than the target, `a` is
    /// rescaled first.
    ///
    /// The noise of the result covers the errors of `a` and of every product, along all paths to
    /// the result, at the largest values: those at the bound of `a`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] for `n = 0` and with [`CkksError::Capacity`] if too few
    /// bits are left.
    pub fn power(&self, a: &Ciphertext, n: u32, target: Scale) -> Result<Ciphertext, CkksError> {
        if n == 0 {
            let what = "the exponent is 0, an integer from 1 is needed".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        self.check_own(a, OPERATION)?;
        let (n, depth) = (n as usize, depth_of(n as usize));
        let bound = a.bound();
        let a = self.at_most(Cow::Borrowed(a), target)?.into_owned();
        self.check_depth(&a, depth, |_| target, OPERATION)?;
        let chain = self.square_chain((a.modulus(), a.scale()), depth, |_| target);
        // An error whose square matters makes values larger.
        let worst = |error| vec![bound.hypot(error).into()];
        let (errors, argument) = ErrorTracker::new(a, self.context().rlwe().degree(), worst);
        Evaluation::new(self, false, chain, errors, argument).into_power(n)
    }
}
