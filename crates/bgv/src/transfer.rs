//! From one parameter set and secret to a second (MG23 3.6).

use hippocrene_rlwe::{self as rlwe, Modulus, PreparedTransferKey, noise::rounding};

use crate::{BgvError, Ciphertext, Context};

const OPERATION: &str = "transfer to the second key";

impl Context {
    /// A ciphertext `a` of the set `first` brought to this one, the second
    /// ([`rlwe::Parameters::second`]), and its secret: modulo what the two have in common, in one
    /// key switch with one modulus switch `Q -> Q'`. Message and factor stay, as `c0 + c1 s = (Q/t)
    /// g m + e` becomes `(Q'/t) g m + (Q'/Q) e`, so that an error larger than rounding costs no
    /// noise budget on the way down.
    ///
    /// Results of products have a part of the sprout only, and where what they have in common with
    /// this set would cost noise budget, they are raised to a multiple of their modulus before: no
    /// budget is lost but what this set has no room for.
    ///
    /// # Errors
    /// When the key is that of another ciphertext or of other sets, `a` has more than two parts or
    /// another plaintext modulus, or [`BgvError::Budget`] when the noise would be too large.
    pub fn transfer(
        &self,
        first: &rlwe::Context,
        a: &Ciphertext,
        key: &PreparedTransferKey,
    ) -> Result<Ciphertext, BgvError> {
        first.check_operand(a.inner(), OPERATION)?;
        self.check_plain_modulus(a.plain_modulus(), OPERATION)?;
        let to = self.destination(first, a, key);
        self.check_modulus(to, OPERATION)?;
        let from = a.modulus().lcm(key.modulus(to));
        let have = crate::budget_bits(
            first.parameters().log2(a.modulus()),
            a.plain_modulus(),
            a.inner().noise(),
        );
        let mut out = Ciphertext::empty(self);
        if from == a.modulus() {
            first.transfer_into(out.inner_mut(), a.inner(), key, self.rlwe(), to)?;
        } else {
            let mut raised = rlwe::Ciphertext::empty(first);
            first.switch_ciphertext_into(&mut raised, a.inner(), from)?;
            first.transfer_into(out.inner_mut(), &raised, key, self.rlwe(), to)?;
        }
        out.set_factor(a.factor());
        let left = out.budget_bits(self);
        if left > 0.0 {
            Ok(out)
        } else {
            Err(BgvError::Budget { operation: OPERATION, need: have - left, have })
        }
    }

    /// The modulus of this set that `a` comes to: the bits that its own has beyond its error, or
    /// all there are.
    fn destination(
        &self,
        first: &rlwe::Context,
        a: &Ciphertext,
        key: &PreparedTransferKey,
    ) -> Modulus {
        let floor = rounding(first.parameters().secret_weight(), 2);
        let excess = (a.inner().noise().log2_std() - floor.log2_std()).max(0.0);
        let most = self.log2(self.fresh());
        let bits = (first.parameters().log2(a.modulus()) - excess).min(most);
        let common = key.common(a.modulus());
        if self.log2(common) >= bits { common } else { self.modulus_above(bits, most) }
    }
}
