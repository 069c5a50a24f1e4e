//! The transfer of ciphertexts from one parameter set and secret key to a second one (MG23 3.6).

use hippocrene_rlwe::{self as rlwe, Modulus, PreparedTransferKey, noise::rounding};

use crate::{BgvError, Ciphertext, Context};

const OPERATION: &str = "transfer to the second key";

impl Context {
    /// Transfers a ciphertext `a` of the parameter set `first` to this context and its secret key.
    ///
    /// This context belongs to the second parameter set ([`rlwe::Parameters::key_transfer_set`]).
    /// The transfer is one key switch with one modulus switch `Q -> Q'`, modulo the moduli that
    /// both sets have in common. Message and factor stay: `c0 + c1 s = (Q/t) g m + e` becomes
    /// `(Q'/t) g m + (Q'/Q) e`. An error that is larger than rounding shrinks with the modulus, so
    /// it costs no noise budget.
    ///
    /// Results of products have only a part of the sprout. If the part that they have in common
    /// with this set is too small, they are first raised to a multiple of their modulus. Noise
    /// budget is lost only if the modulus of this set is too small for it.
    ///
    /// # Errors
    /// Returns an error if the key belongs to another ciphertext or to other parameter sets, if `a`
    /// has more than two parts or another plaintext modulus, or [`BgvError::Budget`] if the noise
    /// would be too large.
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

    /// Returns the modulus of this set that `a` is transferred to. Its size is that of the modulus
    /// of `a` divided by the error of `a`, or that of the largest modulus of this set if that is
    /// smaller.
    fn destination(
        &self,
        first: &rlwe::Context,
        a: &Ciphertext,
        key: &PreparedTransferKey,
    ) -> Modulus {
        let floor = rounding(first.parameters().secret_weight(), 2);
        let excess = (a.inner().noise().log2_std() - floor.log2_std()).max(0.0);
        let max_bits = self.log2(self.fresh());
        let bits = (first.parameters().log2(a.modulus()) - excess).min(max_bits);
        let common = key.common(a.modulus());
        if self.log2(common) >= bits { common } else { self.modulus_above(bits, max_bits) }
    }
}
