//! Plaintexts that are polynomials in `X^8`, made without their repeated values.

use std::sync::Arc;

use hippocrene_ring::{ResidueRing, ntt::standard_index};

use super::rotation_factor::REPETITIONS;
use crate::{Context, Modulus, RlweError};

impl Context {
    /// True if factors of [`Context::rotation_sums`] modulo `extended = P'Q` can be made with
    /// [`Context::ring_without_repeats`].
    pub fn can_omit_repeats(&self, extended: Modulus) -> bool {
        self.degree() >= 16 * REPETITIONS && !extended.contains(Modulus::TWO)
    }

    /// Returns the residue ring of degree `N/8` in which `p` represents the polynomial `p(X^8)` of
    /// the limb at `position` of `extended`.
    ///
    /// With the roots of unity of [`hippocrene_ring::primes::primitive_root_2n`], the values of
    /// `p(X^8)` are those of `p`, each repeated eight times. In the order of
    /// [`Context::order_repeats`], the values of `p` are those of
    /// [`crate::RotationFactor::repeated`] for `p(X^8)`, at an eighth of the cost.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if [`Context::can_omit_repeats`] is false or if the position
    /// is not in `extended`.
    pub fn ring_without_repeats(
        &self,
        extended: Modulus,
        position: usize,
    ) -> Result<Arc<ResidueRing>, RlweError> {
        if !self.can_omit_repeats(extended) || !extended.contains(position) {
            let need = "a limb modulo primes is needed, and a ring degree of 2^7";
            return Err(RlweError::Modulus {
                operation: "repeat a plaintext",
                have: extended.limb_count(),
                need,
            });
        }
        let parameters = self.parameters();
        let degree = self.degree() / REPETITIONS;
        self.rings.repeats.get_or_try_insert(parameters.limb_modulus(extended, position), || {
            let ring = match position {
                Modulus::ODD => {
                    let primes: Vec<u64> =
                        parameters.literal().sprout.chosen(extended.odd()).collect();
                    ResidueRing::composite(&primes, degree, self.kernel())?
                }
                _ => ResidueRing::prime(parameters.factor(position), degree, self.kernel())?,
            };
            Ok(ring)
        })
    }

    /// Reorders a limb from the evaluation order of the ring of degree `N/8` to the standard order,
    /// which factors of [`Context::rotation_sums`] have.
    pub fn order_repeats(&self, limb: &mut [u64]) {
        if limb.len() < 64 {
            return;
        }
        for block in limb.chunks_exact_mut(64) {
            for position in 0..64 {
                let index = standard_index(64, position);
                if index > position {
                    block.swap(index, position);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::{Domain, Poly, Threads, primes};

    use super::*;
    use crate::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

    /// A plaintext made in the small ring equals its transform in the large ring without repeated
    /// values.
    #[test]
    fn repeats_are_made_in_a_ring_of_an_eighth() {
        for log_degree in [7, 10] {
            let degree = 1usize << log_degree;
            let words = primes::ntt_primes(48, degree, 4, &[]).unwrap();
            let literal = ParametersLiteral {
                log_degree,
                units: words[..3].to_vec(),
                specials: words[3..].to_vec(),
                sprout: Sprout::for_degree(log_degree).unwrap(),
                gadget_rank: 2,
                secret: SecretDistribution::Ternary,
            };
            let context =
                Context::new(Parameters::new_insecure(literal).unwrap(), Threads::single())
                    .unwrap();
            let full = context.parameters().full();
            let odd = Modulus::of_sprout(full.odd(), 0);
            let extended = Modulus::of_range(0..4).lcm(odd);
            assert!(context.can_omit_repeats(extended) && !context.can_omit_repeats(full));
            assert!(context.ring_without_repeats(full, 0).is_err());
            let small: Vec<i64> =
                (0..degree as i64 / 8).map(|i| (i * i * 7919 + 13 * i) % 1009 - 500).collect();
            let mut whole = vec![0; degree];
            whole.iter_mut().step_by(8).zip(&small).for_each(|(w, s)| *w = *s);
            let whole =
                context.rotation_factor(context.from_signed(&whole, extended), extended).unwrap();
            let expected = whole.repeated(&context).unwrap();
            let mut made = Poly::zero(degree / 8, extended.limb_count(), Domain::Evaluation);
            for (position, limb) in extended.factors().zip(made.limbs_mut()) {
                let ring = context.ring_without_repeats(extended, position).unwrap();
                ring.from_signed(limb, &small);
                ring.forward(limb);
                context.order_repeats(limb);
            }
            let made = context.rotation_factor(made, extended).unwrap();
            assert_eq!(
                (made.degree(), made.bytes(), made.modulus()),
                (degree / 8, expected.bytes(), extended)
            );
            assert!(made.repeated(&context).is_none());
            for position in extended.factors() {
                assert_eq!(made.limb(position), expected.limb(position));
            }
        }
    }
}
