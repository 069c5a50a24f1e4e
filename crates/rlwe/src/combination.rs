//! Sums of multiples of ciphertexts.

use hippocrene_ring::Domain;

use crate::{Ciphertext, Context, Modulus, RlweError};

impl Context {
    /// Computes `out = sum_i c_i a_i` modulo `to`, over the first term and the others.
    ///
    /// The constants are integers, given by their residues: `c_i(q)` is `c_i mod q`. Each `a_i` is
    /// first reduced modulo `to`, as by [`Context::reduce_modulus_into`]. The sum is computed limb
    /// by limb, so that each limb stays in the processor's cache. The caller must set the noise of
    /// `out`.
    /// # Errors
    /// Returns an error if keys, numbers of parts or parameters differ, or if `to` does not divide
    /// the modulus of an `a_i`.
    pub fn sum_of_multiples_into<F: Fn(u64) -> u64 + Sync>(
        &self,
        out: &mut Ciphertext,
        first: &(&Ciphertext, F),
        others: &[(&Ciphertext, F)],
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "add multiples";
        let count = first.0.parts().len();
        self.check_operand(first.0, OPERATION)?;
        for (a, _) in others {
            self.check_same_key(first.0, a, OPERATION)?;
            if a.parts().len() != count {
                return Err(RlweError::Parts {
                    operation: OPERATION,
                    have: a.parts().len(),
                    need: count,
                });
            }
        }
        let terms = || [first].into_iter().chain(others);
        if let Some((a, _)) = terms().find(|(a, _)| !to.divides(a.modulus())) {
            return Err(RlweError::Modulus {
                operation: OPERATION,
                have: a.modulus().limb_count(),
                need: "a multiple of the modulus of the sum is needed",
            });
        }
        out.reshape(self, count, to, first.0.noise(), first.0.key());
        self.record(OPERATION, |work| work.passes(to, ((1 + others.len()) * count) as u64));
        for (i, sum) in out.parts_mut().iter_mut().enumerate() {
            sum.for_each_limb(self.threads(), |k, sum| {
                let position = to.factors().nth(k).expect("a limb of this modulus");
                let ring = self.ring_at(to, position);
                let mut spare = self.scratch_limbs(1, Domain::Evaluation);
                for (j, (a, constant)) in terms().enumerate() {
                    let a = self.reduced_limb(
                        &a.parts()[i],
                        a.modulus(),
                        to,
                        position,
                        spare.limb_mut(0),
                    );
                    let constant = ring.scalar(constant(ring.modulus()));
                    match j {
                        0 => ring.mul_scalar(sum, a, &constant),
                        _ => ring.mul_scalar_add_assign(sum, a, &constant),
                    }
                }
            });
        }
        Ok(())
    }
}
