//! Key switching without constant folding, to compare with: the single decomposition as in MG23 2.8
//! and 3.1, for `t = 1`.
//!
//! The kernels, the layout of the key and the order of the work (with the same groups of limbs) are
//! those of the library. The only difference is that each multiplication by a constant is a pass of
//! its own. For `l` limbs of `q` and `k` of `P` these passes are:
//!
//! | constant | limbs | folded into |
//! |---|---|---|
//! | `(D/q_i)^{-1} mod q_i` of the digit's base extension | `l` | the inverse transform |
//! | `P mod q_i` of the summands, if input and output are in different domains | `2l` | (the library has these too) |
//! | `(P/p_j)^{-1} mod p_j` of the base extension from `P` | `2k` | the inverse transform |
//! | `-t` | `2l` | the base extension |
//! | `P^{-1} mod q_i` | `2l` | the subtraction |
//!
//! The number of multiplications is `l (l + 2 omega + 2k + 5) + 2k` (MG23 Table 2, BFV).

use hippocrene_ring::{
    Domain, Poly,
    arith::{inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::{KeyLimb, Scalar},
    scratch::Scratch,
};
use hippocrene_rlwe::{Context, Modulus, SwitchingKey, expand_uniform};

/// The maximum number of limbs that are processed together, as in the library.
const MAX_GROUP_LIMBS: usize = 32;
/// The maximum number of words of scratch memory for them, as in the library.
const MAX_GROUP_WORDS: usize = 1 << 22;

/// A key switch from a product of units back to it, with the base gadget.
pub struct Naive<'a> {
    context: &'a Context,
    modulus: Modulus,
    digits: Vec<Digit>,
    /// One for each position of `P q`.
    key: Vec<KeyLimb>,
    /// The base conversion from `P` to `q`.
    down: BaseConverter,
    /// The constants `P`, `P^{-1}` and -1 for each limb of `q`.
    constants: Vec<[Scalar; 3]>,
}

/// One digit, which holds the residues modulo `D`, a divisor of `q`.
struct Digit {
    index: usize,
    factors: Modulus,
    others: Modulus,
    converter: BaseConverter,
}

impl<'a> Naive<'a> {
    /// Prepares key switches at `modulus`, a product of units, with `key`.
    pub fn new(context: &'a Context, key: &SwitchingKey, modulus: Modulus) -> Self {
        let parameters = context.parameters();
        let (full, specials) = (parameters.full(), parameters.specials());
        let extended = modulus.lcm(specials);
        let converter = |from: Modulus, to: Modulus| {
            BaseConverter::new(
                &parameters.limb_moduli(from),
                &parameters.limb_moduli(to),
                context.kernel(),
            )
        };
        let digits = parameters.digits(modulus).map(|(index, factors)| {
            let others = extended.without(factors);
            Digit { index, factors, others, converter: converter(factors, others) }
        });
        let a: Vec<Poly> = (0..key.b().len())
            .map(|d| expand_uniform(context, key.seed(), d as u32, full))
            .collect();
        let mut limbs: Vec<KeyLimb> = extended
            .factors()
            .map(|position| {
                let k = full.limb_of(position);
                let pairs: Vec<_> =
                    key.b().iter().zip(&a).map(|(b, a)| (b.limb(k), a.limb(k))).collect();
                KeyLimb::of_pairs(context.ring_at(full, position), &pairs)
            })
            .collect();
        KeyLimb::gather(&mut limbs);
        let constants = context.rings(modulus).map(|ring| {
            let q = ring.modulus();
            let p =
                parameters.limb_moduli(specials).into_iter().fold(1, |p, s| mul_mod(p, s % q, q));
            let inverse = inv_mod(p, q).expect("units and specials are different primes");
            [p, inverse, q - 1].map(|constant| ring.scalar(constant))
        });
        Naive {
            context,
            modulus,
            digits: digits.collect(),
            key: limbs,
            down: converter(specials, modulus),
            constants: constants.collect(),
        }
    }

    /// Computes `out0 + out1 s = added0 + added1 s + c s' + e`.
    ///
    /// `c` and `added` are in one domain, and `out` gets the domain `output`.
    pub fn run(&self, out: [&mut Poly; 2], c: &Poly, added: [&Poly; 2], output: Domain) {
        let (context, modulus) = (self.context, self.modulus);
        let specials = context.parameters().specials();
        let coefficients = self.inputs(c);
        let mut values = context.scratch(modulus, Domain::Evaluation);
        if c.domain() == Domain::Coefficient {
            for ((ring, value), limb) in
                context.rings(modulus).zip(values.limbs_mut()).zip(c.limbs())
            {
                value.copy_from_slice(limb);
                ring.forward(value);
            }
        }
        let values: &Poly = if c.domain() == Domain::Evaluation { c } else { &values };

        // Modulo P: computes the coefficients of the inner product, times the input factors of the
        // base extension.
        let mut remainders = [0, 1].map(|_| context.scratch(specials, Domain::Coefficient));
        let positions: Vec<usize> = specials.factors().collect();
        for group in positions.chunks(self.group(positions.len(), self.digits.len())) {
            let extended = self.extend(group, &coefficients);
            for (i, position) in group.iter().enumerate() {
                let (k, ring) = (specials.limb_of(*position), context.ring_at(specials, *position));
                let [r0, r1] = &mut remainders;
                let [r0, r1] = [r0.limb_mut(k), r1.limb_mut(k)];
                self.product(group, i, &extended, values, [&mut *r0, &mut *r1]);
                for limb in [r0, r1] {
                    ring.inverse(limb);
                    let factor = ring.scalar(self.down.input_factor(k));
                    ring.mul_scalar_assign(limb, &factor);
                }
            }
        }

        // Modulo q: computes the inner product, subtracts delta, and adds the summands.
        let [out0, out1] = out;
        for out in [&mut *out0, &mut *out1] {
            out.resize_limbs(modulus.limb_count());
            out.set_domain(output);
        }
        let positions: Vec<usize> = modulus.factors().collect();
        let size = self.group(positions.len(), 2 + self.digits.len());
        for (first, group) in positions.chunks(size).enumerate() {
            let extended = self.extend(group, &coefficients);
            let mut deltas =
                [0, 1].map(|_| context.scratch_limbs(group.len(), Domain::Coefficient));
            for (deltas, remainder) in deltas.iter_mut().zip(&remainders) {
                let inputs: Vec<&[u64]> = remainder.limbs().collect();
                let mut targets: Vec<(usize, &mut [u64])> =
                    (first * size..).zip(deltas.limbs_mut()).collect();
                self.down.convert_exact_into(&mut targets, &inputs);
            }
            for i in 0..group.len() {
                let k = first * size + i;
                let [x0, x1] = [out0.limb_mut(k), out1.limb_mut(k)];
                self.product(group, i, &extended, values, [&mut *x0, &mut *x1]);
                for ((x, deltas), added) in [x0, x1].into_iter().zip(&mut deltas).zip(added) {
                    self.finish(k, x, deltas.limb_mut(i), added, output);
                }
            }
        }
    }

    /// Returns the size of a group of limbs that are processed together.
    ///
    /// `limbs` limbs are divided into groups of equal size, as in the library. Each limb needs
    /// `scratch` limbs of scratch memory.
    fn group(&self, limbs: usize, scratch: usize) -> usize {
        let most = (MAX_GROUP_WORDS / (scratch * self.context.degree())).clamp(1, MAX_GROUP_LIMBS);
        limbs.div_ceil(limbs.div_ceil(most))
    }

    /// Returns the coefficients of the digits, times the input factors of their base extensions.
    fn inputs(&self, c: &Poly) -> Scratch<'a> {
        let (context, modulus) = (self.context, self.modulus);
        let mut coefficients = context.scratch(modulus, Domain::Coefficient);
        for (k, (position, limb)) in modulus.factors().zip(coefficients.limbs_mut()).enumerate() {
            let ring = context.ring_at(modulus, position);
            limb.copy_from_slice(c.limb(k));
            if c.domain() == Domain::Evaluation {
                ring.inverse(limb);
            }
            for digit in self.digits.iter().filter(|digit| digit.factors.contains(position)) {
                let factor = digit.converter.input_factor(digit.factors.limb_of(position));
                ring.mul_scalar_assign(limb, &ring.scalar(factor));
            }
        }
        coefficients
    }

    /// Returns the digits at `positions`, in the evaluation domain.
    ///
    /// Limb `d |positions| + i` is digit `d` at position `i`, unless the digit contains that
    /// position itself.
    fn extend(&self, positions: &[usize], coefficients: &Poly) -> Scratch<'a> {
        let (context, modulus, degree) = (self.context, self.modulus, self.context.degree());
        let mut extended =
            context.scratch_limbs(self.digits.len() * positions.len(), Domain::Evaluation);
        let limbs = extended.as_mut_slice().chunks_exact_mut(positions.len() * degree);
        for (digit, limbs) in self.digits.iter().zip(limbs) {
            let inputs: Vec<&[u64]> =
                digit.factors.factors().map(|i| coefficients.limb(modulus.limb_of(i))).collect();
            let mut targets: Vec<(usize, &mut [u64])> = positions
                .iter()
                .zip(limbs.chunks_exact_mut(degree))
                .filter(|(position, _)| digit.others.contains(**position))
                .map(|(position, limb)| (digit.others.limb_of(*position), limb))
                .collect();
            if !targets.is_empty() {
                digit.converter.convert_exact_into(&mut targets, &inputs);
            }
            for (k, limb) in targets {
                context.limb_ring(digit.others, k).forward_lazy(limb);
            }
        }
        extended
    }

    /// Computes the inner product of the digits with the key at `positions[i]`, in the evaluation
    /// domain. The digits were extended to `positions`.
    fn product(
        &self,
        positions: &[usize],
        i: usize,
        extended: &Poly,
        values: &Poly,
        acc: [&mut [u64]; 2],
    ) {
        let (position, modulus) = (positions[i], self.modulus);
        let digits = self.digits.iter().enumerate().map(|(d, digit)| {
            let limb = match digit.factors.contains(position) {
                true => values.limb(modulus.limb_of(position)),
                false => extended.limb(d * positions.len() + i),
            };
            (digit.index, limb)
        });
        let all = modulus.lcm(self.context.parameters().specials());
        let (ring, key) = (self.context.ring_at(all, position), &self.key[all.limb_of(position)]);
        let [acc0, acc1] = acc;
        ring.inner_product(acc0, acc1, &digits.collect::<Vec<_>>(), key);
    }

    /// Computes limb `k` of the result, `(x - delta + P added)/P`.
    ///
    /// `x` is the inner product in the evaluation domain. `delta` is the base extension of its
    /// remainder modulo `P`, as coefficients.
    fn finish(&self, k: usize, x: &mut [u64], delta: &mut [u64], added: &Poly, output: Domain) {
        let ring = self.context.limb_ring(self.modulus, k);
        let [p, inverse, minus] = &self.constants[k];
        let same = added.domain() == output;
        ring.mul_scalar_assign(delta, minus);
        if !same {
            let sum = if added.domain() == Domain::Coefficient { &mut *delta } else { &mut *x };
            ring.mul_scalar_add_assign(sum, added.limb(k), p);
        }
        match output {
            Domain::Coefficient => ring.inverse(x),
            Domain::Evaluation => ring.forward(delta),
        }
        ring.add_assign(x, delta);
        ring.mul_scalar_assign(x, inverse);
        if same {
            ring.add_assign(x, added.limb(k));
        }
    }
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::Kernel;
    use hippocrene_rlwe::{SecretDistribution, Sprout};

    use super::*;
    use crate::{
        scheme::{Scheme, Sizes},
        switching::{DOMAINS, KeySwitch},
    };

    #[test]
    fn key_switch_matches_the_library() {
        for (bits, dnum) in [(45, 1), (45, 2), (45, 5), (54, 3)] {
            let sizes = Sizes {
                log_n: 11,
                units: vec![(bits, 5)],
                specials: vec![(bits + 1, 5usize.div_ceil(dnum))],
                sprout: Sprout::default(),
                dnum,
                secret: SecretDistribution::Ternary,
            };
            let kernel = Kernel::detect().unwrap();
            let parameters = sizes.parameters().unwrap();
            let (scheme, keys) = Scheme::with_stored_keys(parameters, kernel, 0).unwrap();
            let context = &scheme.context;
            for modulus in [scheme.top(), scheme.below_top(2)] {
                let gadget = context.parameters().base_gadget();
                let mut ours = KeySwitch::new(&scheme, gadget, modulus, modulus).unwrap();
                let naive = Naive::new(context, keys.relinearisation().unwrap(), modulus);
                for [input, output] in DOMAINS {
                    ours.run([input, output]).unwrap();
                    let mut out = [(); 2].map(|()| context.zero(modulus, output));
                    let [out0, out1] = &mut out;
                    let [c0, c1, c2] = ours.parts().of(input);
                    naive.run([out0, out1], c2, [c0, c1], output);
                    assert_eq!(
                        &out,
                        ours.result(),
                        "{bits} bits, dnum {dnum}, {input:?} to {output:?}"
                    );
                }
            }
        }
    }
}
