//! A second parameter set and secret for the rest of a modulus (MG23 3.6).
//!
//! Once `b` bits of `Q` are gone, keys for the rest may have a special modulus `P'` that is larger
//! by `b` bits, `P'Q' <= PQ`: fewer digits, and smaller keys. Where `P'` divides `PQ` one secret
//! serves both, as for the gadgets that LAKS chooses at each modulus from one key. `P'` of the
//! largest primes of a word that are not in `Q'` is in general no such divisor, and keys modulo
//! `P'Q'` are for a secret `s'` of its own. One key switch leads from `s` to `s'`. Its key has
//! samples of `s'` modulo `PQ`, so that `s'` has samples modulo both numbers:
//! `docs/reference/second-keys.md` has the assumption that this rests on.

use crate::{
    Ciphertext, Context, Destination, Modulus, Parameters, ParametersLiteral, PreparedTransferKey,
    RlweError, Sprout, design, security,
};

/// The maximum number of bits by which `P'` is chosen to exceed the digits. Key switches then add
/// less noise than rounding does.
const MAX_MARGIN_BITS: f64 = 4.0;

impl Parameters {
    /// The second set for ciphertexts whose moduli divide `top`, a divisor of `Q_max`: same ring
    /// degree and distribution of the secret; the units and the sprout that are in `top`, in their
    /// order; and the specials and the gadget rank by the rule of [`crate::design`] within the bits
    /// of this set, `log2(P'Q') <= log2(PQ)`. Specials have as many bits as the largest factor of
    /// this set, at most, and `P'` exceeds the digits by as much as `P` does here, but by 4 bits at
    /// most, so that key switches add no more noise to speak of.
    ///
    /// # Errors
    /// [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] when this set is not secure (a
    /// [`crate::TransferKey`] is made of RLWE samples of the second secret modulo `PQ`) or the
    /// second would not be; [`RlweError::Modulus`] for a `top` that is no modulus of ciphertexts,
    /// and [`RlweError::Parameters`] where there is no key switching.
    pub fn second(&self, top: Modulus) -> Result<Parameters, RlweError> {
        security::check(self.log_degree(), self.secret(), self.log2(self.full()))?;
        Parameters::new(self.second_literal(top)?)
    }

    /// [`Parameters::second`] without the checks of security: for tests. **Nothing encrypted with
    /// such a set is secret.**
    ///
    /// # Errors
    /// As `second`, but for security.
    pub fn second_insecure(&self, top: Modulus) -> Result<Parameters, RlweError> {
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
        let kept: Vec<u64> = top.words().factors().map(|i| self.factor(i)).collect();
        let sizes: Vec<f64> = kept.iter().map(|q| (*q as f64).log2()).collect();
        let sprout =
            Sprout { two: u32::from(top.two()), primes: sprout.chosen(top.odd()).collect() };
        let left = (self.log2(self.full()) - self.log2(top)).floor();
        let word =
            units.iter().chain(specials).map(|q| u64::BITS - q.leading_zeros()).max().unwrap_or(0);
        let largest =
            self.digits(self.top()).map(|(_, digit)| self.log2(digit)).fold(0.0, f64::max);
        let margin = (self.log2(self.specials()) - largest).min(MAX_MARGIN_BITS);
        let division = match specials.is_empty() {
            true => None,
            false => design::divide(&sprout, &sizes, left, word, margin),
        };
        let Some(division) = division else {
            return Err(RlweError::Parameters {
                what: format!(
                    "no second set with {:.1} bits in {} units: {left} bits are left for specials of {word} bits, {} here, which are to exceed the \
                     digits by {margin:.1} bits",
                    self.log2(top),
                    kept.len(),
                    specials.len()
                ),
            });
        };
        let avoid: Vec<u64> = kept.iter().chain(&sprout.primes).copied().collect();
        Ok(ParametersLiteral {
            log_degree: *log_degree,
            specials: design::largest_primes(*log_degree, &division.specials, &avoid)?,
            units: kept,
            sprout,
            gadget_rank: division.gadget_rank,
            secret: *secret,
        })
    }
}

impl Context {
    /// Brings a ciphertext of this context, the first, to the second parameter set and its secret,
    /// modulo `to = Q'` of that set, in one key switch with one modulus switch: message and noise
    /// are scaled by `Q'/Q`. Where the message is to stay as it is, reduce `a`
    /// ([`Context::reduce_modulus_into`]) to what it has in common with the second set
    /// ([`PreparedTransferKey::common`]) before.
    ///
    /// # Errors
    /// [`RlweError::KeyMismatch`] or [`RlweError::ParameterMismatch`] when ciphertext, key and
    /// contexts do not belong together, [`RlweError::Modulus`] when `to` is not a modulus of the
    /// second set, [`RlweError::Parts`] when `a` has more than two parts.
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
