//! The key switch, for one decomposition or several rotations (hoisted).

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, arith::mul_mod};

use super::{
    Decomposed, Destination, Gadget, Method,
    double::Sums,
    operand::Added,
    product::{Product, Targets, positions},
};
use crate::{
    Context, Modulus, PreparedSwitchingKey, RlweError,
    limb_groups::MAX_GROUP_LIMBS,
    noise::{self, Noise},
    switch::{Remainder, SwitchPlan},
};

impl Context {
    /// Switches keys, in one modulus switch from `P'Q`.
    ///
    /// Let `key` lead from `s'` to `s`, let `c` be the decomposed polynomial modulo `Q`, and let
    /// `added` be polynomials modulo `Q`. The result satisfies
    /// `out0 + out1 s = round((Q'/Q) (added0 + added1 s + c s')) + e` modulo `Q'`, which is any
    /// divisor of `PQ_max`.
    ///
    /// `c`, the added polynomials and the result may each be in either domain. With `omega` digits,
    /// `l` limbs of `Q` and `k` of `P'`, every combination of domains needs `(omega + 2)(l + k)`
    /// transforms for `Q' = Q` (MG23 3.1). If the sprout has odd primes, each polynomial in
    /// coefficients needs two more. With the double decomposition, the number of transforms is that
    /// of MG23's Table 4.
    ///
    /// This is Algorithm 4 of GRAFT without its first step. The digits are taken modulo the
    /// divisors of the blocks that `Q` has, those of the sprout included, so that there is no
    /// `Q_inter`. Limbs that only `Q'` has need no inner product.
    ///
    /// # Errors
    /// Returns an error if moduli or parameters do not match.
    pub fn switch_keys_into(
        &self,
        out: [&mut Poly; 2],
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
        added: [Option<&Poly>; 2],
        destination: &Destination<'_>,
    ) -> Result<(), RlweError> {
        self.check_digest(key.parameters(), "switch keys")?;
        let from = decomposed.modulus;
        self.check_residues(&[&*out[0], &*out[1]], "switch keys")?;
        for added in added.iter().flatten() {
            self.check_polynomial(added, from, "switch keys")?;
        }
        if out.iter().any(|out| out.degree() != self.degree()) {
            return Err(RlweError::Modulus {
                operation: "switch keys",
                have: from.limb_count(),
                need: "results of the ring degree are needed",
            });
        }
        self.check_key_modulus(key.modulus(), decomposed.plan.extended, "switch keys")?;
        if let Some(sums) = Sums::new(self, decomposed, key, added) {
            return self.switch_sums_into(out, &sums, destination);
        }
        self.switch_product_into(out, decomposed, key, added.map(Added::new), destination)
    }

    /// [`Context::switch_keys_into`] by the single decomposition, for checked operands.
    ///
    /// Two polynomials may be added to a part, one in each domain. This needs no more transforms
    /// than one polynomial.
    pub(crate) fn switch_product_into(
        &self,
        out: [&mut Poly; 2],
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
        added: [Added<'_>; 2],
        destination: &Destination<'_>,
    ) -> Result<(), RlweError> {
        let Destination { modulus: to, domain, .. } = *destination;
        self.note_switch(decomposed, &added, destination, Method::Single);
        let product = Product::new(self, decomposed, key, added)?;
        let extended = decomposed.plan.extended;
        let plan = self.switch_plan(extended, to, 1)?;
        let degree = self.degree();

        // First the limbs of which the modulus switch drops one factor and keeps another. Only
        // limbs of the sprout can be such.
        let split: ArrayVec<usize, MAX_GROUP_LIMBS> =
            plan.dropped.factors().filter(|p| to.contains(*p)).collect();
        let mut shared = [0, 1].map(|_| self.scratch_limbs(split.len(), Domain::Evaluation));
        let [s0, s1] = &mut shared;
        self.threads().for_each_chunk_pair(
            s0.as_mut_slice(),
            s1.as_mut_slice(),
            degree,
            |k, s0, s1| {
                let target = [split[k]];
                product.at(&target, 0, &mut product.extend(&target), [s0, s1]);
            },
        );
        let shared = |position: usize| {
            let k = split.iter().position(|p| *p == position)?;
            Some([shared[0].limb(k), shared[1].limb(k)])
        };

        // Then the remainder of the modulus switch, as scaled coefficients.
        let mut remainders = [0, 1].map(|_| self.scratch(plan.dropped, Domain::Coefficient));
        let [r0, r1] = &mut remainders;
        let size = self.group_size(plan.dropped.limb_count(), decomposed.scratch());
        self.threads().for_each_chunk_pair(
            r0.as_mut_slice(),
            r1.as_mut_slice(),
            size * degree,
            |group, r0, r1| {
                let positions = positions(plan.dropped, group * size, r0.len() / degree);
                let targets: Targets =
                    positions.iter().copied().filter(|p| !split.contains(p)).collect();
                let mut extensions = product.extend(&targets);
                let limbs = r0.chunks_exact_mut(degree).zip(r1.chunks_exact_mut(degree));
                for (position, (r0, r1)) in positions.into_iter().zip(limbs) {
                    match (targets.iter().position(|p| *p == position), shared(position)) {
                        (Some(i), _) => {
                            product.at(&targets, i, &mut extensions, [&mut *r0, &mut *r1])
                        }
                        (None, Some([x0, x1])) => {
                            self.load_remainder(&plan, position, r0, x0);
                            self.load_remainder(&plan, position, r1, x1);
                        }
                        (None, None) => unreachable!("a limb that is not split is a target"),
                    }
                    for (part, r) in [r0, r1].into_iter().enumerate() {
                        self.invert_remainder(&plan, position, r);
                        product.add_remainder(&plan, part, position, r);
                    }
                }
            },
        );

        // Then the limbs of the result, each from the digits to the end.
        let [r0, r1] = [0, 1].map(|i| {
            let is_transformed = domain == Domain::Evaluation && !product.adds_coefficients(i);
            Remainder::new(self, &plan, &remainders[i], is_transformed)
        });
        let [out0, out1] = out;
        for out in [&mut *out0, &mut *out1] {
            out.resize_limbs(to.limb_count());
            out.set_domain(domain);
        }
        let size = self.group_size(to.limb_count(), decomposed.scratch());
        self.touch_scratch(&[decomposed.scratch_limbs(size), 3]);
        self.threads().for_each_chunk_pair(
            out0.as_mut_slice(),
            out1.as_mut_slice(),
            size * degree,
            |group, out0, out1| {
                let (first, count) = (group * size, out0.len() / degree);
                let positions = positions(to, first, count);
                let is_target = |p: &usize| extended.contains(*p) && !split.contains(p);
                let targets: Targets = positions.iter().copied().filter(is_target).collect();
                let mut extensions = product.extend(&targets);
                let mut scratch = self.scratch_limbs(3, Domain::Coefficient);
                let (acc0, rest) = scratch.as_mut_slice().split_at_mut(degree);
                let (acc1, spare) = rest.split_at_mut(degree);
                // The results overwrite `delta`.
                r0.modulo(first, out0);
                r1.modulo(first, out1);
                for (k, position) in positions.into_iter().enumerate() {
                    let has_product =
                        match (targets.iter().position(|p| *p == position), shared(position)) {
                            (Some(i), _) => {
                                product.at(&targets, i, &mut extensions, [&mut *acc0, &mut *acc1]);
                                true
                            }
                            (None, Some([x0, x1])) => {
                                acc0.copy_from_slice(x0);
                                acc1.copy_from_slice(x1);
                                true
                            }
                            (None, None) => false,
                        };
                    let range = k * degree..(k + 1) * degree;
                    let parts = [(&r0, &mut out0[range.clone()]), (&r1, &mut out1[range])];
                    let parts = parts.into_iter().zip([&mut *acc0, &mut *acc1]).enumerate();
                    for (part, ((remainder, limb), acc)) in parts {
                        if has_product {
                            product.take_to(&plan, part, position, acc, limb, domain);
                        }
                        let x = has_product.then_some(&*acc);
                        remainder.finish_limb(
                            first + k,
                            limb,
                            x,
                            domain,
                            spare,
                            destination.automorphism,
                        );
                    }
                }
            },
        );
        Ok(())
    }

    /// Returns the noise that a key switch of a polynomial modulo `from` with the planned gadget
    /// adds if it ends modulo `to`.
    ///
    /// It is the noise of the inner product, divided by `P' Q/Q'`, and the rounding of the modulus
    /// switch.
    ///
    /// # Errors
    /// Returns the errors of [`Context::gadget`], and an error if `to` does not divide `PQ_max`.
    pub fn key_switch_noise(&self, from: Modulus, to: Modulus) -> Result<Noise, RlweError> {
        self.key_switch_noise_with(from, self.gadget(from)?, to)
    }

    /// [`Context::key_switch_noise`] with this key and the gadget that is planned for it.
    ///
    /// # Errors
    /// Returns the errors of [`Context::gadget_within`], and an error if `to` does not divide
    /// `PQ_max`.
    pub fn key_switch_noise_by(
        &self,
        from: Modulus,
        key: &PreparedSwitchingKey,
        to: Modulus,
    ) -> Result<Noise, RlweError> {
        let gadget = self.gadget_within(from, key.modulus())?;
        self.key_switch_noise_within(from, gadget, key.modulus(), to)
    }

    /// [`Context::key_switch_noise`] with a gadget of the caller's choice.
    ///
    /// # Errors
    /// Returns the errors of [`Context::decompose_with`], and an error if `to` does not divide
    /// `PQ_max`.
    pub fn key_switch_noise_with(
        &self,
        from: Modulus,
        gadget: Gadget,
        to: Modulus,
    ) -> Result<Noise, RlweError> {
        self.key_switch_noise_within(from, gadget, self.parameters().full(), to)
    }

    /// [`Context::key_switch_noise_with`] for a key modulo `key`, which has a component for each
    /// block of `Q_max` that shares a factor with `key`.
    ///
    /// # Errors
    /// Returns the errors of [`Context::decompose_with`], and an error if `to` does not divide
    /// `PQ_max`.
    pub fn key_switch_noise_within(
        &self,
        from: Modulus,
        gadget: Gadget,
        key: Modulus,
        to: Modulus,
    ) -> Result<Noise, RlweError> {
        self.check_divisor(to)?;
        let (parameters, product) = (self.parameters(), self.product_noise(from, gadget, key)?);
        let down = parameters.log2(to) - parameters.log2(from) - parameters.log2(gadget.specials());
        let product = product.scaled(down);
        Ok(match from.lcm(gadget.specials()).divides(to) {
            true => product,
            false => product.plus(noise::rounding(parameters.secret_weight(), 2)),
        })
    }
}

impl Product<'_> {
    /// Adds the polynomial in coefficients that is added to this part to the remainder at
    /// `position`. The remainder is in coefficients times its input factor.
    fn add_remainder(
        &self,
        plan: &SwitchPlan,
        part: usize,
        position: usize,
        remainder: &mut [u64],
    ) {
        if let Some((added, specials)) = self.coefficients(part, position) {
            let ring = self.context.ring_at(plan.dropped, position);
            let input = plan.inputs[plan.dropped.limb_of(position)].1.value();
            let factor = ring.scalar(mul_mod(specials, input, ring.modulus()));
            ring.mul_scalar_add_assign(remainder, added, &factor);
        }
    }

    /// Brings the inner product at `position` to `domain` and adds the polynomial in coefficients
    /// that is added to this part. In the evaluation domain that polynomial is subtracted from
    /// `delta` instead, which is transformed anyway.
    fn take_to(
        &self,
        plan: &SwitchPlan,
        part: usize,
        position: usize,
        acc: &mut [u64],
        delta: &mut [u64],
        domain: Domain,
    ) {
        let context = self.context;
        let ring = context.ring_at(self.decomposed.plan.extended, position);
        if domain == Domain::Coefficient {
            context.inverse(ring, acc);
        }
        let Some((added, specials)) = self.coefficients(part, position) else { return };
        let specials = ring.scalar(specials);
        if domain == Domain::Coefficient {
            ring.mul_scalar_add_assign(acc, added, &specials);
            return;
        }
        let mut scratch = context.scratch_limbs(1, Domain::Coefficient);
        let spare = scratch.limb_mut(0);
        if plan.dropped.is_one() {
            spare.copy_from_slice(added);
            context.forward(ring, spare);
            ring.mul_scalar_add_assign(acc, spare, &specials);
        } else {
            ring.mul_scalar(spare, added, &specials);
            ring.sub_from_mul_scalar_assign(delta, spare, &ring.scalar(ring.modulus() - 1));
        }
    }
}
