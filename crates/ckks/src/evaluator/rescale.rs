//! Moving a ciphertext from one modulus to another (GRAFT 3.1).

use std::borrow::Cow;

use hippocrene_rlwe::Modulus;

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

/// A message is multiplied by an integer of at least this many bits, so that its scale can stay
/// where it is to within `2^-9`.
const FINE: f64 = 8.0;

const RESCALE: &str = "rescale";

impl Evaluator {
    /// Divides message and modulus by (nearly) the same number, so that the scale comes as near to
    /// `target` as moduli allow: the values stay, and so does the capacity. The new modulus is
    /// [`Evaluator::rescaled_modulus`]; the new scale is exact. A scale that is no larger than the
    /// target stays.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn rescale(&self, a: &Ciphertext, target: Scale) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rescale_into(&mut out, a, target)?;
        Ok(out)
    }

    /// [`Evaluator::rescale`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::rescale`].
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

    /// Brings `a` from its modulus `Q` to `to = Q'`, any other modulus of these parameters,
    /// multiplying message and scale by `Q'/Q`: the rational rescale (GRAFT Def. 3.1). The rounding
    /// adds an error of standard deviation `sqrt((1 + h)/12)` for a secret of squared norm `h`,
    /// however large `Q/Q'` is; Theorem 3.2 bounds it by `(1 + |s|_1)/2`, our division being exact
    /// (its `l` is 1).
    ///
    /// # Errors
    /// When `to` is not a modulus of these parameters, or `a` was made with others.
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
        out.set_known(a.known().clone());
        Ok(())
    }

    /// Reduces `a` to the divisor `to` of its modulus; message and scale stay.
    ///
    /// # Errors
    /// When `to` does not divide the modulus, or the values do not fit it; when `a` was made with
    /// other parameters.
    pub fn reduce_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "reduce the modulus";
        self.check_move(a, to, OPERATION)?;
        self.check_capacity(a, to, a.scale().log2(), a.bound(), OPERATION)?;
        let mut out = Ciphertext::empty(self.context());
        self.context().rlwe().reduce_modulus_into(out.inner_mut(), a.inner(), to)?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        out.set_known(a.known().clone());
        Ok(out)
    }

    /// Brings `a` to any other modulus `to = Q'`, and leaves the scale about where it is; the new
    /// one is exact, and nothing is rounded but in the modulus switch. Where `to` divides the
    /// modulus `Q`, it is reduced. Where it is smaller, Alg. 2 of GRAFT does it with a free hand:
    /// reduced to some `Q_mid`, multiplied by the integer `c` nearest to `Q_mid/Q'`, brought to
    /// `Q'`, and of scale `scale c Q'/Q_mid`. Where it is larger, message and scale grow by `Q'/Q`.
    /// Use [`Evaluator::adjust`] for a certain scale.
    ///
    /// # Errors
    /// When the values do not fit `to`, or it is not a modulus of ciphertexts of these parameters;
    /// when `a` was made with others.
    pub fn bring_to(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "change the modulus";
        self.check_move(a, to, OPERATION)?;
        if to.divides(a.modulus()) {
            return self.reduce_modulus(a, to);
        }
        let middle = self.divisor_at_least(a.modulus(), self.log2(to) + FINE);
        let constant = (self.log2(middle) - self.log2(to)).exp2().round().max(1.0);
        let mut raised = self.reduce_modulus(a, middle)?;
        self.multiply_constant(&mut raised, constant as u128)?;
        let scale = self.switched_scale(raised.scale(), middle, to);
        self.check_capacity(a, to, scale.log2(), a.bound(), OPERATION)?;
        let mut out = Ciphertext::empty(self.context());
        self.rescale_to_into(&mut out, &raised, to)?;
        Ok(out)
    }

    /// `a`, rescaled to `target` if its scale is larger by more than a bit.
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

    /// [`Evaluator::bring_to`], unless `a` is there.
    pub(crate) fn brought<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        if a.modulus() == to { Ok(Cow::Borrowed(a)) } else { self.bring_to(a, to).map(Cow::Owned) }
    }

    /// Message and scale times an integer that is not zero: nothing is rounded.
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
