//! Transfer of ciphertexts from one parameter set and secret to another (MG23 3.6).

use std::{borrow::Cow, sync::Arc};

use hippocrene_rlwe::{Modulus, PreparedTransferKey, TransferKey};

use crate::{Ciphertext, CkksError, Context};

const OPERATION: &str = "transfer to the second key";

/// Transfers ciphertexts from a first context to a second one
/// ([`hippocrene_rlwe::Parameters::key_transfer_set`]), where computation continues with smaller
/// keys. It holds no secret.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// use hippocrene_ckks::{Context, Scale, Transfer};
/// use hippocrene_rlwe::{Modulus, TransferKey};
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(40, 1 << 8, 4, &[])?,
/// #     specials: primes::ntt_primes(41, 1 << 8, 2, &[])?,
/// #     sprout: Sprout::default(),
/// #     gadget_rank: 2,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let first = Arc::new(Context::new(parameters, Threads::single())?);
///
/// // The second set has the first two units only.
/// let parameters = first.parameters().key_transfer_set_insecure(Modulus::of_range(0..2))?;
/// let second = Arc::new(Context::new(parameters, Threads::single())?);
/// let secrets = [SecretKey::generate(first.rlwe())?, SecretKey::generate(second.rlwe())?];
/// let key = TransferKey::generate(first.rlwe(), second.rlwe(), &secrets[0], &secrets[1])?;
/// let transfer = Transfer::new(Arc::clone(&first), Arc::clone(&second), &key)?;
///
/// let (scale, modulus) = (Scale::power_of_two(30), first.parameters().top());
/// let plaintext = first.encode((&[0.5, 0.25]).into(), 2, scale, modulus)?;
/// let encrypted = first.encrypt(&secrets[0], &plaintext)?.expand(&first);
/// let transferred = transfer.transfer(&encrypted)?;
/// let decrypted = second.decode_real(&second.decrypt(&secrets[1], &transferred)?)?;
/// assert!((decrypted[0] - 0.5).abs() < 1e-4 && (decrypted[1] - 0.25).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transfer {
    first: Arc<Context>,
    second: Arc<Context>,
    key: Arc<PreparedTransferKey>,
}

impl Transfer {
    /// The size of the prepared key in memory, in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    /// Creates a transfer from `first` to `second` with the given key.
    ///
    /// # Errors
    /// Fails if the key was made for other parameters.
    pub fn new(
        first: Arc<Context>,
        second: Arc<Context>,
        key: &TransferKey,
    ) -> Result<Self, CkksError> {
        let key = Arc::new(key.prepare(first.rlwe(), second.rlwe())?);
        Ok(Transfer { first, second, key })
    }

    /// The context of the operands.
    pub fn first(&self) -> &Arc<Context> {
        &self.first
    }

    /// The context of the results.
    pub fn second(&self) -> &Arc<Context> {
        &self.second
    }

    /// The prepared key.
    pub fn key(&self) -> &PreparedTransferKey {
        &self.key
    }

    /// Returns `a` under the second key, with the same message and scale. It first reduces `a` to
    /// the largest divisor of its modulus that the second set has, and then switches its key.
    ///
    /// # Errors
    /// Fails if `a` belongs to another key, has more than two polynomials, or if its values do not
    /// fit the second set.
    /// not fit the second set.
    pub fn transfer(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.first.rlwe().check_operand(a.inner(), OPERATION)?;
        let common = self.key.common(a.modulus());
        let named = self.key.modulus(common);
        self.first.check_capacity(a, named, a.scale().log2(), a.bound(), OPERATION)?;
        let reduced = if named == a.modulus() {
            Cow::Borrowed(a)
        } else {
            let mut reduced = Ciphertext::empty(&self.first);
            self.first.rlwe().reduce_modulus_into(reduced.inner_mut(), a.inner(), named)?;
            reduced.set_meta(a.scale(), a.slots(), a.bound());
            reduced.set_dry_run_values(a.dry_run_values().clone());
            Cow::Owned(reduced)
        };
        let mut out = Ciphertext::empty(&self.second);
        self.transfer_to_into(&mut out, &reduced, common)?;
        Ok(out)
    }

    /// Returns `a` under the second key modulo `to = Q'`, a modulus of the second set, in the
    /// single modulus switch of the key switch.
    ///
    /// This multiplies message, scale and error by `Q'/Q`, where `Q` is the modulus of `a`. If a
    /// fresh ciphertext is switched down like this, nothing of the error of its encryption remains.
    ///
    /// # Errors
    /// Fails if `a` belongs to another key, has more than two polynomials, or if `to` is not a
    /// modulus of the second set.
    pub fn transfer_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        let (first, second) = (self.first.rlwe(), self.second.rlwe());
        first.transfer_into(out.inner_mut(), a.inner(), &self.key, second, to)?;
        let scale = self.first.switched_scale(a.scale(), a.modulus(), self.key.modulus(to));
        out.set_meta(scale, a.slots(), a.bound());
        out.set_dry_run_values(a.dry_run_values().clone());
        Ok(())
    }
}
