//! Moving a ciphertext from one modulus to another (GRAFT 3.1).

use std::borrow::Cow;

use hippocrene_rlwe::Modulus;

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

/// Size in bits of the integer that a message is multiplied by when its modulus changes. With 8
/// bits, the scale stays the same to within `2^-9`. Chosen.
const MIN_CONSTANT_BITS: f64 = 8.0;

const RESCALE: &str = "rescale";

impl Evaluator {
    /// Divides message and modulus by (nearly) the same number, so that the scale comes as close to
    /// `target` as the moduli allow. The values and the capacity stay the same. The new modulus is
    /// [`Evaluator::rescaled_modulus`], and the new scale is exact. A scale that is not larger than
    /// the target does not change.
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters.
    pub fn rescale(&self, a: &Ciphertext, target: Scale) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rescale_into(&mut out, a, target)?;
        Ok(out)
    }

    /// Like [`Evaluator::rescale`], with the result in an existing ciphertext.
    ///
    /// # Errors
    /// Fails as [`Evaluator::rescale`] does.
    pub fn rescale_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        target: Scale,
    ) -> Result<(), CkksError> {
        self.check_own(a, RESCALE)?;
        let to = self.rescaled_modulus(a.modulus(), a.scale(), target);
        self.rescale_to_into(out, a, to)
    }

    /// Brings `a` from its modulus `Q` to any other modulus `to = Q'` of these parameters and
    /// multiplies message and scale by `Q'/Q`: the rational rescale (GRAFT Def. 3.1).
    ///
    /// The rounding adds an error of standard deviation `sqrt((1 + h)/12)` for a secret of squared
    /// norm `h`, whatever the size of `Q/Q'`. Theorem 3.2 bounds it by `(1 + |s|_1)/2`, because the
    /// division here is exact (its `l` is 1).
    ///
    /// # Errors
    /// Fails if `to` is not a modulus of these parameters, or if `a` was made with others.
    pub fn rescale_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        let from = a.modulus();
        self.context().rlwe().switch_ciphertext_into(out.inner_mut(), a.inner(), to)?;
        out.set_meta(self.switched_scale(a.scale(), from, to), a.slots(), a.bound());
        if from != to {
            let noise = out.inner().noise().plus(Self::scale_noise(out));
            out.inner_mut().set_noise(noise);
        }
        out.set_dry_run_values(a.dry_run_values().clone());
        Ok(())
    }

    /// Reduces `a` to the divisor `to` of its modulus. Message and scale do not change.
    ///
    /// # Errors
    /// Fails if `to` does not divide the modulus, if the values do not fit it, or if `a` was made
    /// with other parameters.
    pub fn reduce_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "reduce the modulus";
        self.check_move(a, to, OPERATION)?;
        self.check_capacity(a, to, a.scale().log2(), a.bound(), OPERATION)?;
        let mut out = Ciphertext::empty(self.context());
        self.context().rlwe().reduce_modulus_into(out.inner_mut(), a.inner(), to)?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        out.set_dry_run_values(a.dry_run_values().clone());
        Ok(out)
    }

    /// Brings `a` to any other modulus `to = Q'` and keeps the scale approximately. The new scale
    /// is exact, and only the modulus switch rounds.
    ///
    /// - If `to` divides the modulus `Q`, `a` is reduced to it.
    /// - If `to` is smaller, this is Alg. 2 of GRAFT with a free choice of the scale: `a` is
    ///   reduced to some `Q_mid`, multiplied by the integer `c` nearest to `Q_mid/Q'`, and brought
    ///   to `Q'`. The scale becomes `scale c Q'/Q_mid`.
    /// - If `to` is larger, message and scale are multiplied by `Q'/Q`.
    ///
    /// Use [`Evaluator::adjust`] for a certain scale.
    ///
    /// # Errors
    /// Fails if the values do not fit `to`, if it is not a modulus of ciphertexts of these
    /// parameters, or if `a` was made with others.
    pub fn bring_to(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "change the modulus";
        self.check_move(a, to, OPERATION)?;
        if to.divides(a.modulus()) {
            return self.reduce_modulus(a, to);
        }
        let middle = self.divisor_at_least(a.modulus(), self.log2(to) + MIN_CONSTANT_BITS);
        let constant = (self.log2(middle) - self.log2(to)).exp2().round().max(1.0);
        let mut raised = self.reduce_modulus(a, middle)?;
        self.multiply_constant(&mut raised, constant as u128)?;
        let scale = self.switched_scale(raised.scale(), middle, to);
        self.check_capacity(a, to, scale.log2(), a.bound(), OPERATION)?;
        let mut out = Ciphertext::empty(self.context());
        self.rescale_to_into(&mut out, &raised, to)?;
        Ok(out)
    }

    /// Returns `a`, rescaled to `target` if its scale is larger by more than a bit.
    pub(crate) fn at_most<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        target: Scale,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        self.check_own(&a, RESCALE)?;
        if a.scale().log2() > target.log2() + 1.0 {
            self.rescale(&a, target).map(Cow::Owned)
        } else {
            Ok(a)
        }
    }

    /// Returns `a` brought to `to` ([`Evaluator::bring_to`]), or unchanged if that is its modulus.
    pub(crate) fn at_modulus<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        if a.modulus() == to { Ok(Cow::Borrowed(a)) } else { self.bring_to(a, to).map(Cow::Owned) }
    }

    /// Multiplies message and scale by an integer that is not zero. Nothing is rounded.
    pub(crate) fn multiply_constant(
        &self,
        a: &mut Ciphertext,
        constant: u128,
    ) -> Result<(), CkksError> {
        let Some(factor) = Scale::from_integer(constant).filter(|_| constant > 1) else {
            return Ok(());
        };
        let residue = |q: u64| (constant % u128::from(q)) as u64;
        self.context().rlwe().mul_constant_assign(a.inner_mut(), residue)?;
        let noise = a.inner().noise().scaled(factor.log2());
        a.inner_mut().set_noise(noise);
        let (scale, slots, bound) = (a.scale().times(factor), a.slots(), a.bound());
        a.set_meta(scale, slots, bound);
        Ok(())
    }
}
