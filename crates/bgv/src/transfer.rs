//! From one parameter set and secret to a second (MG23 3.6).

use hippocrene_rlwe::{self as rlwe, PreparedTransferKey};

use crate::{BgvError, Ciphertext, Context};

const OPERATION: &str = "transfer to the second key";

impl Context {
    /// A ciphertext `a` of the set `first` brought to this one, the second ([`rlwe::Parameters::second`]), and its secret: modulo what the two have in common, in one key switch with one modulus switch
    /// `Q -> Q'`. Message and factor stay, as `c0 + c1 s = (Q/t) g m + e` becomes `(Q'/t) g m + (Q'/Q) e`, so that an error larger than rounding costs no noise budget on the way down.
    ///
    /// # Errors
    /// When the key is that of another ciphertext or of other sets, `a` has more than two parts or another plaintext modulus, or [`BgvError::Budget`] when the noise would be too large.
    pub fn transfer(
        &self,
        first: &rlwe::Context,
        a: &Ciphertext,
        key: &PreparedTransferKey,
    ) -> Result<Ciphertext, BgvError> {
        first.check_digest(a.inner().parameters(), OPERATION)?;
        self.check_plain_modulus(a.plain_modulus(), OPERATION)?;
        let to = key.common(a.modulus());
        self.check_modulus(to, OPERATION)?;
        let have =
            crate::budget_bits(first.parameters().log2(a.modulus()), a.plain_modulus(), a.inner().noise());
        let mut out = Ciphertext::empty(self);
        first.transfer_into(out.inner_mut(), a.inner(), key, self.rlwe(), to)?;
        out.set_factor(a.factor());
        let left = out.budget_bits(self);
        if left > 0.0 {
            Ok(out)
        } else {
            Err(BgvError::Budget { operation: OPERATION, need: have - left, have })
        }
    }
}
