//! The transfer of ciphertexts to a second parameter set and secret, once part of the modulus is
//! used up (MG23 3.6).
//!
//! When `b` bits of `Q` are used up, keys for the rest `Q'` may have a special modulus `P'` that is
//! larger by `b` bits, so that `P'Q' <= PQ`. Polynomials then have fewer digits, and keys are
//! smaller.
//!
//! If `P'` divides `PQ`, one secret serves both, as for the gadgets that LAKS derives from one key.
//! But `P'` is the product of the largest primes of a word that are not in `Q'`, and in general
//! does not divide `PQ`. Keys modulo `P'Q'` are then for a secret `s'` of their own.
//!
//! One key switch leads from `s` to `s'`. Its key consists of samples of `s'` modulo `PQ`, so there
//! are samples of `s'` modulo both numbers. `docs/reference/second-keys.md`
//! states the assumption that this needs.

use crate::{
    Ciphertext, Context, Destination, Modulus, Parameters, ParametersLiteral, PreparedTransferKey,
    RlweError, Sprout, design, security,
};

/// The maximum number of bits by which `P'` is chosen to exceed the digits. With this many, key
/// switches add less noise than rounding does.
const MAX_MARGIN_BITS: f64 = 4.0;

impl Parameters {
    /// Returns the second parameter set, for ciphertexts whose moduli divide `top`, a divisor of
    /// `Q_max`.
    ///
    /// It has the ring degree and the secret distribution of this set, and the units and the sprout
    /// that are in `top`, in their order. The specials and the gadget rank follow the rule of
    /// [`crate::design`] with `log2(P'Q') <= log2(PQ)`. The largest special has at most as many
    /// bits as the largest factor of this set. `P'` exceeds the digits by as many bits as `P` does
    /// here, but by at most 4, so that key switches add hardly any noise.
    ///
    /// # Errors
    /// Returns
    ///
    /// - [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] if either set is not secure.
    ///   This set must be secure because a [`crate::TransferKey`] consists of RLWE samples of the
    ///   second secret modulo `PQ`;
    /// - [`RlweError::Modulus`] if `top` is not a modulus of ciphertexts;
    /// - [`RlweError::Parameters`] if no second set allows key switching.
    pub fn key_transfer_set(&self, top: Modulus) -> Result<Parameters, RlweError> {
        security::check(self.log_degree(), self.secret(), self.log2(self.full()))?;
        Parameters::new(self.second_literal(top)?)
    }

    /// [`Parameters::key_transfer_set`] without the security checks, for tests. **Nothing encrypted
    /// with such a set is secret.**
    ///
    /// # Errors
    /// Returns the same errors as `second`, except those of security.
    pub fn key_transfer_set_insecure(&self, top: Modulus) -> Result<Parameters, RlweError> {
        Parameters::new_insecure(self.second_literal(top)?)
    }

    fn second_literal(&self, top: Modulus) -> Result<ParametersLiteral, RlweError> {
        if top.is_one() || top.words().is_one() || !top.divides(self.top()) {
            return Err(RlweError::Modulus {
                operation: "choose a second parameter set",
                have: top.limb_count(),
                need: "a divisor of the units and the sprout that has a unit is needed",
            });
        }
        let ParametersLiteral { log_degree, units, specials, sprout, secret, .. } = self.literal();
        let common_units: Vec<u64> = top.words().factors().map(|i| self.factor(i)).collect();
        let sizes: Vec<f64> = common_units.iter().map(|q| (*q as f64).log2()).collect();
        let sprout =
            Sprout { two: u32::from(top.two()), primes: sprout.chosen(top.odd()).collect() };
        let remaining_bits = (self.log2(self.full()) - self.log2(top)).floor();
        let word =
            units.iter().chain(specials).map(|q| u64::BITS - q.leading_zeros()).max().unwrap_or(0);
        let largest =
            self.digits(self.top()).map(|(_, digit)| self.log2(digit)).fold(0.0, f64::max);
        let margin = (self.log2(self.specials()) - largest).min(MAX_MARGIN_BITS);
        let division = match specials.is_empty() {
            true => None,
            false => design::divide(&sprout, &sizes, remaining_bits, word, margin),
        };
        let Some(division) = division else {
            return Err(RlweError::Parameters {
                what: format!(
                    "no second set with {:.1} bits in {} units: {remaining_bits} bits are \
                     left for specials of {word} bits, {} here, which must exceed the digits by \
                     {margin:.1} bits",
                    self.log2(top),
                    common_units.len(),
                    specials.len()
                ),
            });
        };
        let avoid: Vec<u64> = common_units.iter().chain(&sprout.primes).copied().collect();
        Ok(ParametersLiteral {
            log_degree: *log_degree,
            specials: design::largest_primes(*log_degree, &division.specials, &avoid)?,
            units: common_units,
            sprout,
            gadget_rank: division.gadget_rank,
            secret: *secret,
        })
    }
}

impl Context {
    /// Transfers a ciphertext of this context to the second parameter set and its secret, modulo
    /// `to = Q'` of that set.
    ///
    /// This is one key switch with one modulus switch, which scales message and noise by `Q'/Q`. To
    /// keep the message as it is, first reduce `a` ([`Context::reduce_modulus_into`]) to the part
    /// of its modulus that is in the second set ([`PreparedTransferKey::common`]).
    ///
    /// # Errors
    /// Returns [`RlweError::KeyMismatch`] or [`RlweError::ParameterMismatch`] if ciphertext, key
    /// and contexts do not belong together, [`RlweError::Modulus`] if `to` is not a modulus of the
    /// second set, and [`RlweError::Parts`] if `a` has more than two parts.
    pub fn transfer_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        key: &PreparedTransferKey,
        second: &Context,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "transfer to the second key";
        self.check_two_parts(a, OPERATION)?;
        second.check_digest(key.second(), OPERATION)?;
        second.check_modulus(to, OPERATION)?;
        if a.key() != key.from() {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: a.key(),
                need: key.from(),
            });
        }
        let (from, destination) = (a.modulus(), key.modulus(to));
        let modulus = key.key().modulus();
        let gadget = self.gadget_within(from, modulus)?;
        let decomposed = self.decompose_with(a.part(1), from, gadget)?;
        let scaled =
            a.noise().scaled(self.parameters().log2(destination) - self.parameters().log2(from));
        let noise =
            scaled.plus(self.key_switch_noise_within(from, gadget, modulus, destination)?);
        out.reshape(second, 2, to, noise, key.to());
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        let destination = Destination::new(destination);
        self.switch_keys_into(
            [out0, out1],
            &decomposed,
            key.key(),
            [Some(a.part(0)), None],
            &destination,
        )
    }
}
