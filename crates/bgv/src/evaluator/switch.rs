//! Modulus switching, and which modulus comes next.

use std::borrow::Cow;

use hippocrene_rlwe::Modulus;

use super::Evaluator;
use crate::{BgvError, Ciphertext};

/// A ciphertext whose noise exceeds that of rounding by no more bits than this is not switched down: it would cost a modulus switch and gain little.
const EXCESS: f64 = 1.5;

impl Evaluator {
    /// Brings `a` from its modulus `Q` to `to = Q'`, any other modulus that is coprime to `t`: the noise is multiplied by `Q'/Q`, and rounding adds `(1 + |s|^2)/12` to its
    /// variance. Message and factor stay.
    ///
    /// # Errors
    /// When `to` is not such a modulus, or too small for the noise.
    pub fn switch_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.switch_modulus_into(&mut out, a, to)?;
        Ok(out)
    }

    /// [`Evaluator::switch_modulus`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::switch_modulus`].
    pub fn switch_modulus_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), BgvError> {
        const OPERATION: &str = "switch the modulus";
        self.check(a, OPERATION)?;
        self.context().check_modulus(to, OPERATION)?;
        self.context().rlwe().switch_ciphertext_into(out.inner_mut(), a.inner(), to)?;
        out.set_factor(a.factor());
        self.check_budget(out, a.budget_bits(self.context()), OPERATION)
    }

    /// `a` at the modulus at which its noise is about that of rounding, and so at which it costs least to compute with: the noise budget stays but for a bit or two.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn reduce(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.check(a, "reduce the modulus")?;
        match self.reduced_modulus(a) {
            Some(to) => self.switch_modulus(a, to),
            None => Ok(a.clone()),
        }
    }

    /// The modulus that [`Evaluator::reduce`] goes to, unless `a` stays where it is.
    fn reduced_modulus(&self, a: &Ciphertext) -> Option<Modulus> {
        let excess = a.inner().noise().log2_std() - self.floor().log2_std();
        let bits = self.context().log2(a.modulus());
        (excess > EXCESS)
            .then(|| self.context().modulus_near(bits - excess, bits))
            .filter(|to| *to != a.modulus())
    }

    /// The modulus for a result of noise `log2_std` (of one coefficient) modulo `from` that is switched down in the same step.
    pub(crate) fn modulus_after(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > EXCESS { self.context().modulus_near(bits - excess, bits) } else { from }
    }

    /// The modulus at which two factors are multiplied: the smaller of those that they are reduced to.
    pub(crate) fn common_modulus(&self, a: &Ciphertext, b: &Ciphertext) -> Modulus {
        let [to_a, to_b] = [a, b].map(|x| self.reduced_modulus(x).unwrap_or(x.modulus()));
        if self.context().log2(to_a) <= self.context().log2(to_b) { to_a } else { to_b }
    }

    /// `a` at the modulus `to`.
    pub(crate) fn brought<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
    ) -> Result<Cow<'a, Ciphertext>, BgvError> {
        if a.modulus() == to { Ok(Cow::Borrowed(a)) } else { self.switch_modulus(a, to).map(Cow::Owned) }
    }
}
