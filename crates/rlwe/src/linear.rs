//! Sums of ciphertexts, and sums and products of ciphertexts with plaintexts and constants.
//!
//! Noise is tracked where it does not depend on the messages. After a multiplication, the caller
//! must set it. Results are written in the pass that computes them, without a copy of the operand.

use hippocrene_ring::{Domain, Poly, ResidueRing};

use crate::{Ciphertext, Context, RlweError};

/// A function that combines two ciphertexts into a third: [`Context::add_into`] or
/// [`Context::sub_into`].
///
/// See [`Context`] for an example.
pub type CombineInto =
    fn(&Context, &mut Ciphertext, &Ciphertext, &Ciphertext) -> Result<(), RlweError>;

/// The index of the part that holds the message.
const MESSAGE_PART: usize = 0;

impl Context {
    /// Computes `a += b`.
    ///
    /// # Errors
    /// Returns an error if keys, moduli or numbers of parts differ.
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), RlweError> {
        self.combine_assign(a, b, "add", |e, a, b| e.add_assign(a, b))
    }

    /// Computes `a -= b`.
    ///
    /// # Errors
    /// Returns an error if keys, moduli or numbers of parts differ.
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), RlweError> {
        self.combine_assign(a, b, "subtract", |e, a, b| e.sub_assign(a, b))
    }

    /// Computes `out = a + b`.
    ///
    /// # Errors
    /// Returns an error if keys, moduli or numbers of parts differ.
    pub fn add_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), RlweError> {
        self.combine_into(out, a, b, "add", |ring, out, a, b| ring.add(out, a, b))
    }

    /// Computes `out = a - b`.
    ///
    /// # Errors
    /// Returns an error if keys, moduli or numbers of parts differ.
    pub fn sub_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), RlweError> {
        self.combine_into(out, a, b, "subtract", |ring, out, a, b| ring.sub(out, a, b))
    }

    fn combine_assign(
        &self,
        a: &mut Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
        f: impl Fn(&ResidueRing, &mut [u64], &[u64]) + Sync + Send,
    ) -> Result<(), RlweError> {
        self.check_terms(a, b, operation)?;
        let modulus = a.modulus();
        for (a, b) in a.parts_mut().iter_mut().zip(b.parts()) {
            a.for_each_limb(self.threads(), |k, a| f(self.limb_ring(modulus, k), a, b.limb(k)));
        }
        a.set_noise(a.noise().plus(b.noise()));
        Ok(())
    }

    fn combine_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
        f: impl Fn(&ResidueRing, &mut [u64], &[u64], &[u64]) + Sync + Send,
    ) -> Result<(), RlweError> {
        self.check_terms(a, b, operation)?;
        self.map_into(out, a, |ring, [part, k], out, a| f(ring, out, a, b.part(part).limb(k)));
        out.set_noise(a.noise().plus(b.noise()));
        Ok(())
    }

    /// Checks the operands of a sum and records its cost.
    fn check_terms(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.check_pair(a, b, operation)?;
        self.check_parts(a, b, operation)?;
        self.record(operation, |count| count.passes(a.modulus(), b.parts().len() as u64));
        Ok(())
    }

    /// Checks that two ciphertexts have the same number of parts.
    pub(crate) fn check_parts(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        match (a.parts().len(), b.parts().len()) {
            (need, have) if need != have => Err(RlweError::Parts { operation, have, need }),
            _ => Ok(()),
        }
    }

    /// Applies `f` to each limb of `a` and writes the result to `out`.
    ///
    /// The arguments of `f` are the ring of the limb, the indices of part and limb, the output and
    /// the input. The noise of `out` is that of `a`.
    fn map_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        f: impl Fn(&ResidueRing, [usize; 2], &mut [u64], &[u64]) + Sync + Send,
    ) {
        let modulus = a.modulus();
        out.reshape(self, a.parts().len(), modulus, a.noise(), a.key());
        for (i, (out, a)) in out.parts_mut().iter_mut().zip(a.parts()).enumerate() {
            out.for_each_limb(self.threads(), |k, out| {
                f(self.limb_ring(modulus, k), [i, k], out, a.limb(k));
            });
        }
    }

    /// Computes `out = -a`.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if `a` was made with other parameters.
    pub fn negate_into(&self, out: &mut Ciphertext, a: &Ciphertext) -> Result<(), RlweError> {
        self.check_operand(a, "negate")?;
        self.record("negate", |count| count.passes(a.modulus(), a.parts().len() as u64));
        self.map_into(out, a, |ring, _, out, a| {
            out.copy_from_slice(a);
            ring.neg_assign(out);
        });
        Ok(())
    }

    /// Computes `out = a + m` for a polynomial `m` modulo the modulus of `a`, in the evaluation
    /// domain.
    ///
    /// # Errors
    /// Returns an error if the moduli differ.
    pub fn add_plain_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        m: &Poly,
    ) -> Result<(), RlweError> {
        self.combine_plain_into(out, a, m, "add a plaintext", |ring, out, a, m| ring.add(out, a, m))
    }

    /// Computes `out = a - m` for a polynomial `m` modulo the modulus of `a`, in the evaluation
    /// domain.
    ///
    /// # Errors
    /// Returns an error if the moduli differ.
    pub fn sub_plain_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        m: &Poly,
    ) -> Result<(), RlweError> {
        self.combine_plain_into(out, a, m, "subtract a plaintext", |ring, out, a, m| {
            ring.sub(out, a, m)
        })
    }

    fn combine_plain_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        m: &Poly,
        operation: &'static str,
        f: impl Fn(&ResidueRing, &mut [u64], &[u64], &[u64]) + Sync + Send,
    ) -> Result<(), RlweError> {
        self.check_operand(a, operation)?;
        self.check_message(m, a.modulus(), operation)?;
        self.record(operation, |count| count.passes(a.modulus(), a.parts().len() as u64));
        self.map_into(out, a, |ring, [part, k], out, a| match part {
            MESSAGE_PART => f(ring, out, a, m.limb(k)),
            _ => out.copy_from_slice(a),
        });
        Ok(())
    }

    /// Computes `out = a m` for a polynomial `m` modulo the modulus of `a`, in the evaluation
    /// domain.
    ///
    /// The caller must set the noise of `out`.
    ///
    /// # Errors
    /// Returns an error if the moduli differ.
    pub fn mul_plain_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        m: &Poly,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply by a plaintext";
        self.check_operand(a, OPERATION)?;
        self.check_message(m, a.modulus(), OPERATION)?;
        self.record(OPERATION, |count| count.products(a.modulus(), a.parts().len() as u64));
        self.map_into(out, a, |ring, [_, k], out, a| ring.mul(out, a, m.limb(k)));
        Ok(())
    }

    /// Computes `acc += a m` for a polynomial `m` in the evaluation domain.
    ///
    /// All three must have the same modulus. The caller must set the noise of `acc`.
    ///
    /// # Errors
    /// Returns an error if keys, moduli or numbers of parts differ.
    pub fn mul_plain_add_assign(
        &self,
        acc: &mut Ciphertext,
        a: &Ciphertext,
        m: &Poly,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply by a plaintext and add";
        self.check_pair(acc, a, OPERATION)?;
        self.check_message(m, a.modulus(), OPERATION)?;
        self.check_parts(acc, a, OPERATION)?;
        let modulus = a.modulus();
        self.record(OPERATION, |count| count.products(modulus, a.parts().len() as u64));
        for (acc, a) in acc.parts_mut().iter_mut().zip(a.parts()) {
            acc.for_each_limb(self.threads(), |k, acc| {
                self.limb_ring(modulus, k).mul_add_assign(acc, a.limb(k), m.limb(k));
            });
        }
        Ok(())
    }

    /// Computes `a = c a` for an integer constant `c` given by its residues: `residue(q)` is
    /// `c mod q`.
    ///
    /// The caller must set the noise of `a`.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if `a` was made with other parameters.
    pub fn mul_constant_assign(
        &self,
        a: &mut Ciphertext,
        residue: impl Fn(u64) -> u64 + Sync + Send,
    ) -> Result<(), RlweError> {
        self.check_constant(a)?;
        let modulus = a.modulus();
        for part in a.parts_mut() {
            part.for_each_limb(self.threads(), |k, a| {
                let ring = self.limb_ring(modulus, k);
                ring.mul_scalar_assign(a, &ring.scalar(residue(ring.modulus())));
            });
        }
        Ok(())
    }

    /// Computes `out = c a`, like [`Context::mul_constant_assign`].
    ///
    /// # Errors
    /// Returns the same errors as `mul_constant_assign`.
    pub fn mul_constant_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        residue: impl Fn(u64) -> u64 + Sync + Send,
    ) -> Result<(), RlweError> {
        self.check_constant(a)?;
        self.map_into(out, a, |ring, _, out, a| {
            ring.mul_scalar(out, a, &ring.scalar(residue(ring.modulus())));
        });
        Ok(())
    }

    /// Checks the operand of a multiplication by a constant and records its cost.
    fn check_constant(&self, a: &Ciphertext) -> Result<(), RlweError> {
        const OPERATION: &str = "multiply by a constant";
        self.check_operand(a, OPERATION)?;
        self.record(OPERATION, |count| count.passes(a.modulus(), a.parts().len() as u64));
        Ok(())
    }

    /// Computes `out = a X^exponent`. Nothing is rounded, so the noise does not change.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if `a` was made with other parameters.
    pub fn mul_monomial_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        exponent: usize,
    ) -> Result<(), RlweError> {
        self.check_operand(a, "multiply by a monomial")?;
        let (modulus, degree) = (a.modulus(), self.degree());
        self.record("make a monomial", |count| count.forward(modulus, 1));
        let mut monomial = self.scratch(modulus, Domain::Evaluation);
        monomial.for_each_limb(self.threads(), |k, limb| {
            let ring = self.limb_ring(modulus, k);
            limb.fill(0);
            // X^N = -1.
            limb[exponent % degree] =
                if (exponent / degree).is_multiple_of(2) { 1 } else { ring.modulus() - 1 };
            self.forward(ring, limb);
        });
        self.mul_plain_into(out, a, &monomial)
    }

    /// Computes `a += c` for an integer constant `c` (a constant polynomial) given by its residues:
    /// `residue(q)` is `c mod q`.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if `a` was made with other parameters.
    pub fn add_constant_assign(
        &self,
        a: &mut Ciphertext,
        residue: impl Fn(u64) -> u64 + Sync + Send,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "add a constant";
        self.check_operand(a, OPERATION)?;
        let modulus = a.modulus();
        self.record(OPERATION, |count| count.passes(modulus, 1));
        let domain = a.part(MESSAGE_PART).domain();
        a.parts_mut()[MESSAGE_PART].for_each_limb(self.threads(), |k, a| {
            let ring = self.limb_ring(modulus, k);
            ring.add_constant_assign(domain, a, residue(ring.modulus()));
        });
        Ok(())
    }

    /// Computes `out = a + c`, like [`Context::add_constant_assign`].
    ///
    /// # Errors
    /// Returns the same errors as `add_constant_assign`.
    pub fn add_constant_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        residue: impl Fn(u64) -> u64 + Sync + Send,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "add a constant";
        self.check_operand(a, OPERATION)?;
        self.record(OPERATION, |count| count.passes(a.modulus(), a.parts().len() as u64));
        self.map_into(out, a, |ring, [part, _], out, a| {
            out.copy_from_slice(a);
            if part == MESSAGE_PART {
                ring.add_constant_assign(Domain::Evaluation, out, residue(ring.modulus()));
            }
        });
        Ok(())
    }
}
