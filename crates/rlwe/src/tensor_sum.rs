//! Sums of products of ciphertexts, relinearised once.

use hippocrene_ring::{Domain, scratch::Scratch};

use crate::{Ciphertext, Context, Fingerprint, Modulus, Noise, PreparedEvaluationKeys, RlweError};

/// A sum of tensor products `sum_i n_i a_i b_i` of ciphertexts with the same modulus and key.
///
/// It consists of three polynomials in scratch memory and is decrypted by `(1, s, s^2)`. The caller
/// must track the noise.
///
/// See [`Context::tensor_sum`] for an example.
#[derive(Debug)]
pub struct TensorSum<'a> {
    context: &'a Context,
    parts: [Scratch<'a>; 3],
    modulus: Modulus,
    key: Fingerprint,
    is_zero: bool,
}

impl Context {
    /// Returns the empty sum of products of ciphertexts with the modulus and key of `a`.
    ///
    /// ```
    /// use hippocrene_ring::{Threads, primes};
    /// use hippocrene_rlwe::{
    ///     Ciphertext, Context, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution,
    ///     SecretKey, Sprout,
    /// };
    ///
    /// // A prime for the units and one for the special modulus. These parameters are not secure.
    /// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
    /// let parameters = Parameters::new_insecure(ParametersLiteral {
    ///     log_degree: 10,
    ///     units: primes[..1].to_vec(),
    ///     specials: primes[1..].to_vec(),
    ///     sprout: Sprout::default(),
    ///     gadget_rank: 1,
    ///     secret: SecretDistribution::Ternary,
    /// })?;
    /// let context = Context::new(parameters, Threads::single())?;
    /// let modulus = context.parameters().top();
    /// let secret = SecretKey::generate(&context)?;
    /// let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
    /// keys.add_relinearisation(&context, &secret)?;
    /// let keys = keys.prepare(&context)?;
    ///
    /// // Three times the square of the constant polynomial 2^20.
    /// let message = context.from_signed(&[vec![1 << 20], vec![0; 1023]].concat(), modulus);
    /// let a = secret.encrypt(&context, &message, modulus)?.expand(&context);
    /// let mut sum = context.tensor_sum(&a)?;
    /// sum.add(&a, &a, 1)?;
    /// sum.add(&a, &a, 2)?;
    /// let mut out = Ciphertext::empty(&context);
    /// sum.relinearise_into(&mut out, &keys, modulus)?;
    /// let decrypted = secret.decrypt(&context, &out)?;
    /// assert!(decrypted.limb(0)[0].abs_diff(3 << 40) < 1 << 32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if `a` was made with other parameters.
    pub fn tensor_sum(&self, a: &Ciphertext) -> Result<TensorSum<'_>, RlweError> {
        self.check_operand(a, "add products")?;
        let modulus = a.modulus();
        let parts = [0, 1, 2].map(|_| self.scratch(modulus, Domain::Evaluation));
        Ok(TensorSum { context: self, parts, modulus, key: a.key(), is_zero: true })
    }

    /// Computes `a += c b` for an integer constant `c` given by its residues: `residue(q)` is
    /// `c mod q`.
    ///
    /// If the modulus of `b` is a multiple of that of `a`, `b` is first reduced, as by
    /// [`Context::reduce_modulus_into`]. The caller must set the noise.
    ///
    /// # Errors
    /// Returns an error if keys or numbers of parts differ, or if the modulus of `a` does not
    /// divide that of `b`.
    pub fn add_multiple_assign(
        &self,
        a: &mut Ciphertext,
        b: &Ciphertext,
        residue: impl Fn(u64) -> u64 + Sync + Send,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "add a multiple";
        let (modulus, from) = (a.modulus(), b.modulus());
        if modulus.divides(from) {
            self.check_same_key(a, b, OPERATION)?;
        } else {
            self.check_pair(a, b, OPERATION)?;
        }
        self.check_parts(a, b, OPERATION)?;
        self.record(OPERATION, |count| count.passes(modulus, b.parts().len() as u64));
        for (a, b) in a.parts_mut().iter_mut().zip(b.parts()) {
            a.for_each_limb(self.threads(), |k, a| {
                let position = modulus.factors().nth(k).expect("a limb of this modulus");
                let ring = self.ring_at(modulus, position);
                let mut spare = self.scratch_limbs(1, Domain::Evaluation);
                let b = self.reduced_limb(b, from, modulus, position, spare.limb_mut(0));
                ring.mul_scalar_add_assign(a, b, &ring.scalar(residue(ring.modulus())));
            });
        }
        Ok(())
    }
}

impl TensorSum<'_> {
    /// Adds `n a b` to the sum.
    ///
    /// # Errors
    /// Returns an error if keys or moduli differ, or if an operand has more than two parts.
    pub fn add(&mut self, a: &Ciphertext, b: &Ciphertext, n: u64) -> Result<(), RlweError> {
        const OPERATION: &str = "add products";
        let (context, modulus) = (self.context, self.modulus);
        context.check_pair(a, b, OPERATION)?;
        context.check_two_parts(a, OPERATION)?;
        context.check_two_parts(b, OPERATION)?;
        if a.key() != self.key {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: a.key(),
                need: self.key,
            });
        }
        if a.modulus() != modulus {
            let bits = |m: Modulus| context.parameters().log2(m);
            let (left, right) = (bits(modulus), bits(a.modulus()));
            return Err(RlweError::ModulusMismatch { operation: OPERATION, left, right });
        }
        let (degree, is_zero, square) = (context.degree(), self.is_zero, std::ptr::eq(a, b));
        self.is_zero = false;
        context.record("tensor product", |count| {
            count.products(modulus, if square { 3 } else { 4 });
            count.passes(modulus, if is_zero && n == 1 { 0 } else { 3 });
        });
        let [c0, c1, c2] = &mut self.parts;
        context.threads().for_each_chunk_triple(
            [c0.as_mut_slice(), c1.as_mut_slice(), c2.as_mut_slice()],
            degree,
            |k, sums| {
                let ring = context.limb_ring(modulus, k);
                let (a0, a1) = (a.part(0).limb(k), a.part(1).limb(k));
                let tensor = |[c0, c1, c2]: [&mut [u64]; 3]| match square {
                    true => ring.square(c0, c1, c2, a0, a1),
                    false => ring.tensor(c0, c1, c2, a0, a1, b.part(0).limb(k), b.part(1).limb(k)),
                };
                let factor = (n != 1).then(|| ring.scalar(n % ring.modulus()));
                if is_zero {
                    let [c0, c1, c2] = sums;
                    tensor([&mut *c0, &mut *c1, &mut *c2]);
                    if let Some(factor) = &factor {
                        [c0, c1, c2].into_iter().for_each(|c| ring.mul_scalar_assign(c, factor));
                    }
                    return;
                }
                let mut product = context.scratch_limbs(3, Domain::Evaluation);
                let (p0, rest) = product.as_mut_slice().split_at_mut(degree);
                let (p1, p2) = rest.split_at_mut(degree);
                tensor([&mut *p0, &mut *p1, &mut *p2]);
                for (sum, product) in sums.into_iter().zip([p0, p1, p2]) {
                    match &factor {
                        None => ring.add_assign(sum, product),
                        Some(factor) => ring.mul_scalar_add_assign(sum, product, factor),
                    }
                }
            },
        );
        Ok(())
    }

    /// Multiplies the sum so far by `n`.
    pub fn multiply(&mut self, n: u64) {
        let (context, modulus) = (self.context, self.modulus);
        context.record("multiply by a constant", |count| count.passes(modulus, 3));
        for part in self.parts.iter_mut().filter(|_| !self.is_zero) {
            part.for_each_limb(context.threads(), |k, limb| {
                let ring = context.limb_ring(modulus, k);
                ring.mul_scalar_assign(limb, &ring.scalar(n % ring.modulus()));
            });
        }
    }

    /// Relinearises the sum and brings it from its modulus `Q` to `to = Q'` in one modulus switch,
    /// which scales it by `Q'/Q`.
    ///
    /// The noise is set to that of the key switch.
    ///
    /// # Errors
    /// Returns an error if the sum is empty, if it has another key, or if the relinearisation key
    /// is missing.
    pub fn relinearise_into(
        &self,
        out: &mut Ciphertext,
        keys: &PreparedEvaluationKeys,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "relinearise";
        if self.is_zero {
            return Err(RlweError::Parts { operation: OPERATION, have: 0, need: 3 });
        }
        keys.check_key(self.key, OPERATION)?;
        let key = keys.relinearisation(OPERATION)?;
        let [c0, c1, c2] = &self.parts;
        self.context.switch_into(out, c2, [Some(c0), Some(c1)], key, self.modulus, to, self.key)
    }

    /// Returns the sum as a ciphertext of three parts.
    ///
    /// # Errors
    /// Returns [`RlweError::Parts`] if the sum is empty.
    pub fn to_ciphertext(&self) -> Result<Ciphertext, RlweError> {
        if self.is_zero {
            return Err(RlweError::Parts { operation: "add products", have: 0, need: 3 });
        }
        let mut out = Ciphertext::empty(self.context);
        out.reshape(self.context, 3, self.modulus, Noise::NONE, self.key);
        self.context.record("copy", |count| count.passes(self.modulus, 3));
        for (out, part) in out.parts_mut().iter_mut().zip(&self.parts) {
            out.as_mut_slice().copy_from_slice(part.as_slice());
        }
        Ok(out)
    }
}
