//! Products, rotations and modulus switches of ciphertexts that all schemes share.
//!
//! Noise is tracked where it does not depend on the messages. After a multiplication, the caller
//! must set it.

use hippocrene_ring::{Domain, Poly};

use crate::{
    Ciphertext, Context, Decomposed, Destination, Method, Modulus, PreparedEvaluationKeys,
    PreparedSwitchingKey, RlweError,
    keyswitch::operand::{Added, Operand, TensorPart},
    noise,
};

impl Context {
    /// Checks that two ciphertexts have the same key and the same modulus.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`], [`RlweError::KeyMismatch`] or
    /// [`RlweError::ModulusMismatch`] if they do not.
    pub fn check_pair(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_same_key(a, b, operation)?;
        if a.modulus() != b.modulus() {
            let bits = |c: &Ciphertext| self.parameters().log2(c.modulus());
            return Err(RlweError::ModulusMismatch { operation, left: bits(a), right: bits(b) });
        }
        Ok(())
    }

    /// Checks that two ciphertexts have the parameters of this context and the same key.
    pub(crate) fn check_same_key(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_operand(a, operation)?;
        self.check_operand(b, operation)?;
        if a.key() == b.key() {
            return Ok(());
        }
        Err(RlweError::KeyMismatch { operation, have: b.key(), need: a.key() })
    }

    /// Checks that an operand has two parts.
    pub(crate) fn check_two_parts(
        &self,
        a: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_operand(a, operation)?;
        match a.parts().len() {
            2 => Ok(()),
            have => Err(RlweError::Parts { operation, have, need: 2 }),
        }
    }

    /// Computes the tensor product `out = (a0 b0, a0 b1 + a1 b0, a1 b1)`.
    ///
    /// It is decrypted by `(1, s, s^2)`. The caller must set its noise.
    ///
    /// # Errors
    /// Returns an error if keys or moduli differ, or if an operand has more than two parts.
    pub fn tensor_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply";
        self.check_pair(a, b, OPERATION)?;
        self.check_two_parts(a, OPERATION)?;
        self.check_two_parts(b, OPERATION)?;
        let modulus = a.modulus();
        out.reshape(self, 3, modulus, a.noise(), a.key());
        let [c0, c1, c2] = out.parts_mut() else { unreachable!("reshaped to three parts") };
        self.tensor_parts([c0, c1, c2], a, b, 1);
        Ok(())
    }

    /// Computes `n` times the tensor product of two checked ciphertexts of two parts.
    fn tensor_parts(&self, [c0, c1, c2]: [&mut Poly; 3], a: &Ciphertext, b: &Ciphertext, n: u64) {
        let modulus = a.modulus();
        let degree = self.degree();
        let square = std::ptr::eq(a, b);
        self.record("tensor product", |count| count.products(modulus, if square { 3 } else { 4 }));
        self.threads().for_each_chunk_triple(
            [c0.as_mut_slice(), c1.as_mut_slice(), c2.as_mut_slice()],
            degree,
            |k, [c0, c1, c2]| {
                let ring = self.limb_ring(modulus, k);
                let (a0, a1) = (a.part(0).limb(k), a.part(1).limb(k));
                let (b0, b1) = (b.part(0).limb(k), b.part(1).limb(k));
                if n != 1 {
                    // One factor is multiplied by n while it is in the cache anyway.
                    let mut scaled = self.scratch_limbs(2, Domain::Evaluation);
                    let (n0, n1) = scaled.as_mut_slice().split_at_mut(degree);
                    let n = ring.scalar(n % ring.modulus());
                    ring.mul_scalar(n0, a0, &n);
                    ring.mul_scalar(n1, a1, &n);
                    ring.tensor(c0, c1, c2, n0, n1, b0, b1);
                } else if square {
                    ring.square(c0, c1, c2, a0, a1);
                } else {
                    ring.tensor(c0, c1, c2, a0, a1, b0, b1);
                }
            },
        );
    }

    /// Computes `n` times the product of `a` and `b`, relinearises it and brings it from modulus
    /// `Q` to `to = Q'` in one modulus switch, which scales it by `Q'/Q`.
    ///
    /// `a` and `b` may be the same. The noise is set to that of the key switch. The caller must add
    /// the noise of the product.
    ///
    /// # Errors
    /// Returns an error if keys or moduli differ, if an operand has more than two parts, or if the
    /// relinearisation key is missing.
    pub fn multiply_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        n: u64,
        keys: &PreparedEvaluationKeys,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply";
        self.check_pair(a, b, OPERATION)?;
        self.check_two_parts(a, OPERATION)?;
        self.check_two_parts(b, OPERATION)?;
        keys.check_key(a.key(), OPERATION)?;
        let key = keys.relinearisation(OPERATION)?;
        let (from, gadget) = (a.modulus(), self.gadget_within(a.modulus(), key.modulus())?);
        if gadget.method() != Method::Single || from.contains(Modulus::TWO) {
            // Products modulo a power of two are expensive, so they are computed only once. The
            // same holds for products whose key switch is not computed limb by limb.
            let mut product = [0, 1, 2].map(|_| self.scratch(from, Domain::Evaluation));
            let [c0, c1, c2] = &mut product;
            self.tensor_parts([c0, c1, c2], a, b, n);
            let added = [Some(&*product[0]), Some(&*product[1])];
            return self.switch_into(out, &product[2], added, key, from, to, a.key());
        }
        let part = |i| {
            let parts = [a, b].map(|c| [c.part(0), c.part(1)]);
            Operand::Tensor(TensorPart { a: parts[0], b: parts[1], i, n })
        };
        let decomposed = self.decompose_operand(part(2), from, gadget)?;
        out.reshape(
            self,
            2,
            to,
            self.key_switch_noise_within(from, gadget, key.modulus(), to)?,
            a.key(),
        );
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        let added = [0, 1].map(|i| Added { evaluation: Some(part(i)), coefficients: None });
        self.switch_product_into([out0, out1], &decomposed, key, added, &Destination::new(to))
    }

    /// Relinearises a ciphertext of three parts and brings it from modulus `Q` to `to = Q'` in one
    /// modulus switch, which scales it by `Q'/Q`.
    ///
    /// # Errors
    /// Returns an error if `a` does not have three parts, or if the relinearisation key is missing.
    pub fn relinearise_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        keys: &PreparedEvaluationKeys,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "relinearise";
        self.check_operand(a, OPERATION)?;
        keys.check_key(a.key(), OPERATION)?;
        if a.parts().len() != 3 {
            return Err(RlweError::Parts { operation: OPERATION, have: a.parts().len(), need: 3 });
        }
        self.check_switched(to, OPERATION)?;
        let key = keys.relinearisation(OPERATION)?;
        let from = a.modulus();
        self.switch_into(
            out,
            a.part(2),
            [Some(a.part(0)), Some(a.part(1))],
            key,
            from,
            to,
            a.key(),
        )?;
        let scaled = a.noise().scaled(self.parameters().log2(to) - self.parameters().log2(from));
        out.set_noise(out.noise().plus(scaled));
        Ok(())
    }

    /// Switches `c` with `key`, adds `added`, and brings the result from modulus `from` to `to`.
    ///
    /// The result has the key named `fingerprint` and the noise of the key switch.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn switch_into(
        &self,
        out: &mut Ciphertext,
        c: &Poly,
        added: [Option<&Poly>; 2],
        key: &PreparedSwitchingKey,
        from: Modulus,
        to: Modulus,
        fingerprint: crate::Fingerprint,
    ) -> Result<(), RlweError> {
        let gadget = self.gadget_within(from, key.modulus())?;
        let decomposed = self.decompose_with(c, from, gadget)?;
        let noise = self.key_switch_noise_within(from, gadget, key.modulus(), to)?;
        out.reshape(self, 2, to, noise, fingerprint);
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        let destination = Destination::new(to);
        self.switch_keys_into([out0, out1], &decomposed, key, added, &destination)
    }

    /// Applies the automorphism `X -> X^element` to the message.
    ///
    /// # Errors
    /// Returns an error if the key of the automorphism is missing, or if `a` has more than two
    /// parts.
    pub fn apply_galois_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        element: usize,
        keys: &PreparedEvaluationKeys,
    ) -> Result<(), RlweError> {
        if element == 1 {
            out.copy_from(a);
            return Ok(());
        }
        self.check_two_parts(a, "rotate")?;
        keys.check_key(a.key(), "rotate")?;
        self.automorphism(element)?;
        let gadget =
            self.gadget_within(a.modulus(), keys.galois_at(element, self, a.modulus())?.modulus())?;
        let decomposed = self.decompose_with(a.part(1), a.modulus(), gadget)?;
        self.apply_galois_hoisted_into(out, a, &decomposed, element, keys)
    }

    /// Decomposes a ciphertext once for any number of calls of
    /// [`Context::apply_galois_hoisted_into`] with keys modulo `PQ_max`.
    ///
    /// # Errors
    /// Returns an error if the ciphertext has more than two parts.
    pub fn hoist<'a>(&'a self, a: &'a Ciphertext) -> Result<Decomposed<'a>, RlweError> {
        self.hoist_within(a, self.parameters().full())
    }

    /// [`Context::hoist`] for keys whose moduli are multiples of `keys`
    /// ([`PreparedEvaluationKeys::common_modulus`]).
    ///
    /// # Errors
    /// Returns the errors of `hoist` and of [`Context::gadget_within`].
    pub fn hoist_within<'a>(
        &'a self,
        a: &'a Ciphertext,
        keys: Modulus,
    ) -> Result<Decomposed<'a>, RlweError> {
        self.check_two_parts(a, "rotate")?;
        let gadget = self.gadget_within(a.modulus(), keys)?;
        self.decompose_hoisted_with(a.part(1), a.modulus(), gadget)
    }

    /// Applies the automorphism `X -> X^element` to `a`, which has been decomposed as `hoisted`.
    ///
    /// # Errors
    /// Returns an error if the key of the automorphism is missing, or if `hoisted` is not the
    /// decomposition of `a`.
    pub fn apply_galois_hoisted_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        hoisted: &Decomposed<'_>,
        element: usize,
        keys: &PreparedEvaluationKeys,
    ) -> Result<(), RlweError> {
        self.check_two_parts(a, "rotate")?;
        keys.check_key(a.key(), "rotate")?;
        if element == 1 {
            out.copy_from(a);
            return Ok(());
        }
        if !hoisted.is_of(a.part(1)) {
            return Err(RlweError::WrongDecomposition { operation: "rotate" });
        }
        let modulus = a.modulus();
        let automorphism = self.automorphism(element)?;
        let key = keys.galois_at(element, self, modulus)?;
        let noise =
            self.key_switch_noise_within(modulus, hoisted.gadget(), key.modulus(), modulus)?;
        out.reshape(self, 2, modulus, a.noise().plus(noise), a.key());
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        let destination =
            Destination { automorphism: Some(&automorphism), ..Destination::new(modulus) };
        self.switch_keys_into([out0, out1], hoisted, key, [Some(a.part(0)), None], &destination)
    }

    /// Applies each automorphism `X -> X^element` to the message of one ciphertext, which is
    /// decomposed once.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::apply_galois_into`].
    pub fn apply_galois_to_each(
        &self,
        a: &Ciphertext,
        elements: &[usize],
        keys: &PreparedEvaluationKeys,
    ) -> Result<Vec<Ciphertext>, RlweError> {
        let common = keys.common_modulus(self, a.modulus(), elements.iter().copied());
        let hoisted = self.hoist_within(a, common)?;
        let each = elements.iter().map(|element| {
            let mut out = Ciphertext::empty(self);
            self.apply_galois_hoisted_into(&mut out, a, &hoisted, *element, keys)?;
            Ok(out)
        });
        each.collect()
    }

    /// Brings a ciphertext from modulus `Q` to `to = Q'`. Message and noise are scaled by `Q'/Q`.
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters, if `to` does not divide `PQ_max`, or
    /// if it is 1.
    pub fn switch_ciphertext_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "switch modulus";
        self.check_operand(a, OPERATION)?;
        self.check_switched(to, OPERATION)?;
        let from = a.modulus();
        let parameters = self.parameters();
        let mut noise = a.noise().scaled(parameters.log2(to) - parameters.log2(from));
        if !from.divides(to) {
            noise = noise.plus(noise::rounding(parameters.secret_weight(), a.parts().len()));
        }
        out.reshape(self, a.parts().len(), to, noise, a.key());
        for (out, part) in out.parts_mut().iter_mut().zip(a.parts()) {
            self.switch_modulus(out, part, from, to, 1)?;
        }
        Ok(())
    }

    /// Reduces a ciphertext modulo a divisor `to` of its modulus. Message and noise do not change.
    ///
    /// This drops limbs and reduces those of the sprout.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `to` does not divide the modulus of `a`.
    pub fn reduce_modulus_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), RlweError> {
        self.check_operand(a, "reduce modulus")?;
        let from = a.modulus();
        if !to.divides(from) {
            return Err(RlweError::Modulus {
                operation: "reduce modulus",
                have: from.limb_count(),
                need: "a multiple of the target modulus is needed",
            });
        }
        out.reshape(self, a.parts().len(), to, a.noise(), a.key());
        self.record("reduce modulus", |count| count.passes(to, a.parts().len() as u64));
        for (out, part) in out.parts_mut().iter_mut().zip(a.parts()) {
            out.for_each_limb(self.threads(), |k, out| {
                let position = to.factors().nth(k).expect("a limb of this modulus");
                let limb = part.limb(from.limb_of(position));
                match from.agrees(to, position) {
                    true => out.copy_from_slice(limb),
                    false => self.ring_at(to, position).reduce(out, limb),
                }
            });
        }
        Ok(())
    }
}
