//! Key switching without constant folding, to be timed against: the single decomposition as MG23 2.8 and 3.1 write it down, for `t = 1`.
//!
//! The kernels, the layout of the key and the order of the work (a few limbs at a time, so that they stay in the cache) are those of the
//! library; the difference is that every multiplication by a constant is a pass of its own. With `l` limbs of `q` and `k` of `P` these are
//!
//! | constant | limbs | folded into |
//! |---|---|---|
//! | `(D/q_i)^{-1} mod q_i` of the digit's base extension | `l` | the inverse transform |
//! | `P mod q_i` of what is added, where input and output differ in their domain | `2l` | (the library has these too) |
//! | `(P/p_j)^{-1} mod p_j` of the base extension from `P` | `2k` | the inverse transform |
//! | `-t` | `2l` | the base extension |
//! | `P^{-1} mod q_i` | `2l` | the subtraction |
//!
//! so that multiplications are `l (l + 2 omega + 2k + 5) + 2k` (MG23 Table 2, BFV).

use hippocrene_ring::{
    Domain, Poly, ResidueRing,
    arith::{inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::{KeyLimb, Scalar},
    scratch::Scratch,
};
use hippocrene_rlwe::{Context, Modulus, SwitchingKey, expand_uniform};

/// How many limbs are worked on together, as in the library.
const GROUP: usize = 4;

/// A key switch from a product of units back to it, with the base gadget.
pub struct Naive<'a> {
    context: &'a Context,
    modulus: Modulus,
    digits: Vec<Digit>,
    /// For each position of `P q`.
    key: Vec<KeyLimb>,
    /// From `P` to `q`.
    down: BaseConverter,
    /// For each limb of `q`: `P`, `P^{-1}` and -1.
    constants: Vec<[Scalar; 3]>,
}

/// One digit: the residues modulo `D`, a divisor of `q`.
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
            BaseConverter::new(&parameters.limb_moduli(from), &parameters.limb_moduli(to), context.kernel())
        };
        let digits = parameters.digits(modulus).map(|(index, factors)| {
            let others = extended.without(factors);
            Digit { index, factors, others, converter: converter(factors, others) }
        });
        let a: Vec<Poly> =
            (0..key.b().len()).map(|d| expand_uniform(context, key.seed(), d as u32, full)).collect();
        let mut limbs: Vec<KeyLimb> = extended
            .factors()
            .map(|position| {
                let k = full.limb_of(position);
                let pairs: Vec<_> = key.b().iter().zip(&a).map(|(b, a)| (b.limb(k), a.limb(k))).collect();
                context.ring_at(full, position).elementwise().prepare_key(&pairs)
            })
            .collect();
        KeyLimb::gather(&mut limbs);
        let constants = context.rings(modulus).map(|ring| {
            let q = ring.modulus();
            let p = parameters.limb_moduli(specials).into_iter().fold(1, |p, s| mul_mod(p, s % q, q));
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

    /// `out0 + out1 s = added0 + added1 s + c s' + e` for `c` and `added` in one domain, with `out` in the domain `output`.
    pub fn run(&self, out: [&mut Poly; 2], c: &Poly, added: [&Poly; 2], output: Domain) {
        let (context, modulus) = (self.context, self.modulus);
        let specials = context.parameters().specials();
        let degree = context.degree();
        let coefficients = self.inputs(c);
        let mut values = context.scratch(modulus, Domain::Evaluation);
        if c.domain() == Domain::Coefficient {
            for ((ring, value), limb) in context.rings(modulus).zip(values.limbs_mut()).zip(c.limbs()) {
                value.copy_from_slice(limb);
                ring.ntt().forward(value);
            }
        }
        let values: &Poly = if c.domain() == Domain::Evaluation { c } else { &values };

        // Modulo P: the coefficients of the inner product, times the input factors of the base extension.
        let mut remainders = [0, 1].map(|_| context.scratch(specials, Domain::Coefficient));
        let positions: Vec<usize> = specials.factors().collect();
        for (first, group) in positions.chunks(GROUP).enumerate() {
            let [r0, r1] = &mut remainders;
            let range = first * GROUP * degree..(first * GROUP + group.len()) * degree;
            let [r0, r1] = [&mut r0.as_mut_slice()[range.clone()], &mut r1.as_mut_slice()[range]];
            self.products(group, &coefficients, values, [&mut *r0, &mut *r1]);
            for remainder in [r0, r1] {
                for (position, limb) in group.iter().zip(remainder.chunks_exact_mut(degree)) {
                    let ring = context.ring_at(specials, *position);
                    ring.ntt().inverse(limb);
                    let factor = self.down.input_factor(specials.limb_of(*position));
                    ring.elementwise().mul_scalar_assign(limb, &ring.scalar(factor));
                }
            }
        }

        // Modulo q: the inner product, delta, and what is added.
        let [out0, out1] = out;
        for out in [&mut *out0, &mut *out1] {
            out.resize_limbs(modulus.limb_count());
            out.set_domain(output);
        }
        let positions: Vec<usize> = modulus.factors().collect();
        for (first, group) in positions.chunks(GROUP).enumerate() {
            let range = first * GROUP * degree..(first * GROUP + group.len()) * degree;
            let [x0, x1] = [&mut *out0, &mut *out1].map(|out| &mut out.as_mut_slice()[range.clone()]);
            self.products(group, &coefficients, values, [&mut *x0, &mut *x1]);
            let mut deltas = context.scratch_limbs(group.len(), Domain::Coefficient);
            for ((x, remainder), added) in [x0, x1].into_iter().zip(&remainders).zip(added) {
                let inputs: Vec<&[u64]> = remainder.limbs().collect();
                let mut targets: Vec<(usize, &mut [u64])> =
                    (first * GROUP..).zip(deltas.limbs_mut()).collect();
                self.down.convert_exact_into(&mut targets, &inputs);
                for ((k, delta), x) in targets.into_iter().zip(x.chunks_exact_mut(degree)) {
                    let ring = context.limb_ring(modulus, k);
                    self.finish(ring, k, x, delta, added, output);
                }
            }
        }
    }

    /// The coefficients of the digits, times the input factors of their base extensions.
    fn inputs(&self, c: &Poly) -> Scratch<'a> {
        let (context, modulus) = (self.context, self.modulus);
        let mut coefficients = context.scratch(modulus, Domain::Coefficient);
        for (k, (position, limb)) in modulus.factors().zip(coefficients.limbs_mut()).enumerate() {
            let ring = context.ring_at(modulus, position);
            limb.copy_from_slice(c.limb(k));
            if c.domain() == Domain::Evaluation {
                ring.ntt().inverse(limb);
            }
            for digit in self.digits.iter().filter(|digit| digit.factors.contains(position)) {
                let factor = digit.converter.input_factor(digit.factors.limb_of(position));
                ring.elementwise().mul_scalar_assign(limb, &ring.scalar(factor));
            }
        }
        coefficients
    }

    /// The inner products of the digits with the key at `positions`, in the evaluation domain.
    fn products(&self, positions: &[usize], coefficients: &Poly, values: &Poly, acc: [&mut [u64]; 2]) {
        let (context, modulus, degree) = (self.context, self.modulus, self.context.degree());
        let extended = modulus.lcm(context.parameters().specials());
        let mut room = context.scratch_limbs(self.digits.len() * positions.len(), Domain::Evaluation);
        for (digit, limbs) in
            self.digits.iter().zip(room.as_mut_slice().chunks_exact_mut(positions.len() * degree))
        {
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
                context.limb_ring(digit.others, k).ntt().forward_lazy(limb);
            }
        }
        let [acc0, acc1] = acc.map(|acc| acc.chunks_exact_mut(degree));
        for ((i, position), (acc0, acc1)) in positions.iter().enumerate().zip(acc0.zip(acc1)) {
            let digits = self.digits.iter().enumerate().map(|(d, digit)| {
                let own = digit.factors.contains(*position);
                let limb = match own {
                    true => values.limb(modulus.limb_of(*position)),
                    false => room.limb(d * positions.len() + i),
                };
                (digit.index, limb)
            });
            let key = &self.key[extended.limb_of(*position)];
            let ring = context.ring_at(extended, *position);
            ring.elementwise().inner_product(acc0, acc1, &digits.collect::<Vec<_>>(), key);
        }
    }

    /// From the inner product `x` in the evaluation domain and the base extension `delta` of its remainder modulo `P`, as coefficients, to
    /// limb `k` of the result: `(x - delta + P added)/P`.
    fn finish(
        &self,
        ring: &ResidueRing,
        k: usize,
        x: &mut [u64],
        delta: &mut [u64],
        added: &Poly,
        output: Domain,
    ) {
        let (elementwise, ntt) = (ring.elementwise(), ring.ntt());
        let [p, inverse, minus] = &self.constants[k];
        let same = added.domain() == output;
        elementwise.mul_scalar_assign(delta, minus);
        if !same {
            let sum = if added.domain() == Domain::Coefficient { &mut *delta } else { &mut *x };
            elementwise.mul_scalar_add_assign(sum, added.limb(k), p);
        }
        match output {
            Domain::Coefficient => ntt.inverse(x),
            Domain::Evaluation => ntt.forward(delta),
        }
        elementwise.add_assign(x, delta);
        elementwise.mul_scalar_assign(x, inverse);
        if same {
            elementwise.add_assign(x, added.limb(k));
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
    fn it_is_the_same_key_switch_as_the_librarys() {
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
                    assert_eq!(&out, ours.result(), "{bits} bits, dnum {dnum}, {input:?} to {output:?}");
                }
            }
        }
    }
}
