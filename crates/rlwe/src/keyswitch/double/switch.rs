//! The key switch by the double decomposition.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, arith::neg_mod, scratch::Scratch};

use super::{Double, shape};
use crate::{
    Context, Modulus, PreparedSwitchingKey, RlweError,
    keyswitch::{
        Decomposed, Destination,
        key_store::ExpandedKey,
        operand::Added,
        product::{Targets, positions},
    },
    limb_groups::MAX_GROUP_LIMBS,
    modulus::{MAX_LIMBS, MAX_UNITS_AND_SPECIALS},
    rings::LimbRefs,
    switch::{Remainder, SwitchPlan},
};

/// Limbs at positions of `P'Q`.
type Outputs<'a> = ArrayVec<(usize, &'a mut [u64]), MAX_GROUP_LIMBS>;

/// Neighbouring limbs of both parts of a result, from limb `first` on. Their positions are all in
/// one group of the key, or in no group. Base conversion reads its inputs only once for all of
/// them.
struct Run<'a> {
    first: usize,
    positions: Targets,
    limbs: [&'a mut [u64]; 2],
}

/// The inner products of digits with a key over the integers, together with the polynomials that
/// are added to them, times `P'`.
pub(crate) struct Sums<'a> {
    context: &'a Context,
    decomposed: &'a Decomposed<'a>,
    double: &'a Double,
    /// The added polynomials modulo `Q`, in either domain, for each part.
    added: [Option<&'a Poly>; 2],
    /// The coefficients of both parts times `(E/e)^{-1}`: for each prime `e`, for each group in
    /// use.
    limbs: Scratch<'a>,
}

impl Double {
    /// Extends the digits to `count` primes from prime `first` on. Limb `d count + i` of `out` is
    /// digit `d` modulo the `i`-th of these primes.
    fn extend(
        &self,
        context: &Context,
        decomposed: &Decomposed<'_>,
        first: usize,
        count: usize,
        out: &mut [u64],
    ) {
        let degree = context.degree();
        let digits = decomposed.plan.digits.iter().zip(&self.digits);
        for ((digit, converter), limbs) in digits.zip(out.chunks_exact_mut(count * degree)) {
            let mut outputs: Outputs = (first..).zip(limbs.chunks_exact_mut(degree)).collect();
            converter
                .convert_exact_into(&mut outputs, &decomposed.digit_coefficients(digit.factors));
            for (e, limb) in outputs {
                context.forward_lazy(&self.rings[e], limb);
            }
        }
    }
}

impl Context {
    /// Extends the digits to all primes of the shared basis, group after group of primes.
    pub(in crate::keyswitch) fn extend_to_shared_basis(
        &self,
        decomposed: &Decomposed<'_>,
    ) -> Option<Scratch<'_>> {
        let double = decomposed.plan.double.as_ref()?;
        let digits = decomposed.plan.digits.len();
        let (size, limbs) = (self.group_size(double.primes, digits), digits * self.degree());
        let mut extended = self.scratch_limbs(digits * double.primes, Domain::Evaluation);
        self.threads().for_each_chunk(extended.as_mut_slice(), size * limbs, |group, out| {
            double.extend(self, decomposed, group * size, out.len() / limbs, out);
        });
        Some(extended)
    }
}

impl<'a> Sums<'a> {
    /// Computes the sums. Returns `None` if the method of the gadget is not the double
    /// decomposition, if the key is not modulo `PQ_max`, or if there is no memory for the
    /// decomposed key.
    pub(in crate::keyswitch) fn new(
        context: &'a Context,
        decomposed: &'a Decomposed<'a>,
        key: &PreparedSwitchingKey,
        added: [Option<&'a Poly>; 2],
    ) -> Option<Self> {
        let double = decomposed
            .plan
            .double
            .as_ref()
            .filter(|_| key.modulus() == context.parameters().full())?;
        let key = match context.is_dry_run() {
            false => Some(context.double_key(key, &decomposed.plan, double)?),
            true => {
                context.note_key(key, decomposed.modulus, decomposed.plan.gadget);
                None
            }
        };
        let limbs =
            context.scratch_limbs(2 * double.groups.len() * double.primes, Domain::Coefficient);
        let mut sums = Sums { context, decomposed, double, added, limbs };
        if let Some(key) = &key {
            sums.fill(key);
        }
        Some(sums)
    }

    fn fill(&mut self, key: &Arc<ExpandedKey>) {
        let Sums { context, decomposed, double, ref mut limbs, .. } = *self;
        let (degree, digits) = (context.degree(), &decomposed.plan.digits);
        let (size, sums) =
            (context.group_size(double.primes, digits.len()), 2 * double.groups.len());
        context.threads().for_each_chunk(
            limbs.as_mut_slice(),
            size * sums * degree,
            |chunk, out| {
                let (first, count) = (chunk * size, out.len() / (sums * degree));
                let missing = if decomposed.shared.is_none() { digits.len() * count } else { 0 };
                let mut extensions = context.scratch_limbs(missing, Domain::Evaluation);
                let extended = match &decomposed.shared {
                    Some(shared) => &shared.as_slice()[first * digits.len() * degree..],
                    None => {
                        double.extend(context, decomposed, first, count, extensions.as_mut_slice());
                        extensions.as_slice()
                    }
                };
                for (i, out) in out.chunks_exact_mut(sums * degree).enumerate() {
                    let (e, ring) = (first + i, &double.rings[first + i]);
                    let ranges = (0..degree).step_by(double.range).map(|at| at..at + double.range);
                    for (range, key) in ranges.zip(&key.limbs[e * degree / double.range..]) {
                        for (group, sum) in
                            double.groups.iter().zip(out.chunks_exact_mut(2 * degree))
                        {
                            let mut pairs: ArrayVec<(usize, &[u64]), MAX_LIMBS> = ArrayVec::new();
                            for (d, digit) in digits.iter().enumerate() {
                                let limb = &extended[(d * count + i) * degree..][range.clone()];
                                let component =
                                    |j: &usize| (group.index * double.components + j, limb);
                                pairs.extend(digit.groups.iter().map(component));
                            }
                            let (sum0, sum1) = sum.split_at_mut(degree);
                            let (sum0, sum1) = (&mut sum0[range.clone()], &mut sum1[range.clone()]);
                            ring.inner_product(sum0, sum1, &pairs, key);
                        }
                    }
                    for sum in out.chunks_exact_mut(degree) {
                        context.inverse_scaled(ring, sum, &double.inverses[e]);
                    }
                }
            },
        );
    }

    /// Converts the sums of a part to positions of `P'Q` that are in one group. The outputs are
    /// minus their coefficients, in `[0, 2q)`.
    fn convert(&self, part: usize, outputs: &mut Outputs<'_>) {
        let Some(i) = outputs.first().and_then(|(position, _)| self.group_of(*position)) else {
            return;
        };
        let (group, groups) = (&self.double.groups[i], self.double.groups.len());
        let mut targets: Outputs<'_> = outputs
            .iter_mut()
            .map(|(position, limb)| (group.factors.limb_of(*position), &mut **limb))
            .collect();
        let inputs: LimbRefs =
            (0..self.double.primes).map(|e| self.limbs.limb(2 * (e * groups + i) + part)).collect();
        group.converter.convert_exact_into(&mut targets, &inputs);
    }

    /// The index of the group in use that has the position, if it is one of `P'Q`.
    fn group_of(&self, position: usize) -> Option<usize> {
        self.double.groups.iter().position(|group| group.factors.contains(position))
    }

    /// Splits the limbs of both parts of a polynomial modulo `modulus` into [`shape::runs`] of up
    /// to [`MAX_GROUP_LIMBS`] limbs, or fewer if there are threads for more runs.
    fn runs<'b>(
        &self,
        modulus: Modulus,
        [mut rest0, mut rest1]: [&'b mut [u64]; 2],
    ) -> ArrayVec<Run<'b>, MAX_LIMBS> {
        let (degree, size) =
            (self.context.degree(), self.context.group_size(modulus.limb_count(), 1));
        let mut runs: ArrayVec<Run<'b>, MAX_LIMBS> = ArrayVec::new();
        let mut first = 0;
        for count in shape::runs(modulus, size, |position| self.group_of(position)) {
            let (limbs0, limbs1);
            (limbs0, rest0) = rest0.split_at_mut(count * degree);
            (limbs1, rest1) = rest1.split_at_mut(count * degree);
            let positions = positions(modulus, first, count);
            runs.push(Run { first, positions, limbs: [limbs0, limbs1] });
            first += count;
        }
        runs
    }

    /// Returns the polynomial that is added to a part, and its limb at `position`, if it has one.
    fn added(&self, part: usize, position: usize) -> Option<(&'a Poly, usize)> {
        let modulus = self.decomposed.modulus;
        self.added[part]
            .filter(|_| modulus.contains(position))
            .map(|added| (added, modulus.limb_of(position)))
    }

    /// Sets `out` to `P'` times the polynomial that is added to a part, at `position`.
    ///
    /// Returns false if there is none. A polynomial in the evaluation domain is brought to
    /// `domain`. One in coefficients stays in coefficients.
    fn load_added(&self, part: usize, position: usize, domain: Domain, out: &mut [u64]) -> bool {
        let Some((added, k)) = self.added(part, position) else { return false };
        let Sums { context, decomposed, double, .. } = self;
        let ring = context.ring_at(decomposed.modulus, position);
        match (added.domain(), domain) {
            (Domain::Evaluation, Domain::Coefficient) => {
                context.inverse_scaled_into(ring, out, added.limb(k), &double.specials[k]);
            }
            _ => ring.mul_scalar(out, added.limb(k), &decomposed.plan.specials[k]),
        }
        true
    }

    /// Converts the sum of a part at `position` to the remainder of the modulus switch.
    ///
    /// `x` holds minus the coefficients of the sum, in `[0, 2q)`. At the end it holds residues
    /// modulo the limb of `S`, times its input factor.
    fn take_to_remainder(&self, plan: &SwitchPlan, part: usize, position: usize, x: &mut [u64]) {
        let Sums { context, decomposed, .. } = self;
        let (extended, dropped) = (decomposed.plan.extended, plan.dropped);
        let ring = context.ring_at(dropped, position);
        let input = &plan.inputs[dropped.limb_of(position)].1;
        let negative = |input: u64| ring.scalar(neg_mod(input, ring.modulus()));
        if self.added(part, position).is_none() && extended.agrees(dropped, position) {
            ring.mul_scalar_assign(x, &negative(input.value()));
            return;
        }
        let mut spare = context.scratch_limbs(1, Domain::Coefficient);
        self.take_to_sum(part, position, Domain::Coefficient, x, spare.limb_mut(0));
        spare.limb_mut(0).copy_from_slice(x);
        context.load_remainder(plan, position, x, spare.limb(0));
        ring.mul_scalar_assign(x, input);
    }

    /// Converts the sum of a part at `position` to the sum plus the added polynomial, in `domain`.
    /// `x` holds minus the coefficients of the sum, in `[0, 2q)`.
    fn take_to_sum(
        &self,
        part: usize,
        position: usize,
        domain: Domain,
        x: &mut [u64],
        spare: &mut [u64],
    ) {
        let Sums { context, decomposed, .. } = self;
        let ring = context.ring_at(decomposed.plan.extended, position);
        ring.mul_scalar_assign(x, &ring.scalar(ring.modulus() - 1));
        // A polynomial in coefficients is added before the transform.
        let early = self
            .added(part, position)
            .is_some_and(|(added, _)| added.domain() == Domain::Coefficient);
        let first = if early { Domain::Coefficient } else { domain };
        if first == domain && domain == Domain::Evaluation {
            context.forward(ring, x);
        }
        if self.load_added(part, position, first, spare) {
            ring.add_assign(x, spare);
        }
        if first != domain {
            context.forward(ring, x);
        }
    }
}

impl Context {
    /// Ends a key switch by the double decomposition: switches the modulus of the sums and the
    /// added polynomials.
    pub(in crate::keyswitch) fn switch_sums_into(
        &self,
        out: [&mut Poly; 2],
        sums: &Sums<'_>,
        destination: &Destination<'_>,
    ) -> Result<(), RlweError> {
        let Destination { modulus: to, domain, automorphism } = *destination;
        let (degree, extended) = (self.degree(), sums.decomposed.plan.extended);
        self.note_switch(
            sums.decomposed,
            &sums.added.map(Added::new),
            destination,
            sums.decomposed.plan.gadget.method(),
        );
        let plan = self.switch_plan(extended, to, 1)?;

        if self.is_dry_run() {
            for out in out {
                out.resize_limbs(to.limb_count());
                out.set_domain(domain);
            }
            return Ok(());
        }

        // First the remainder of the modulus switch.
        let mut remainders = [0, 1].map(|_| self.scratch(plan.dropped, Domain::Coefficient));
        let parts = remainders.each_mut().map(|remainder| remainder.as_mut_slice());
        self.threads().for_each_mut(&mut sums.runs(plan.dropped, parts), |_, run| {
            for (part, limbs) in run.limbs.iter_mut().enumerate() {
                let mut outputs: Outputs =
                    run.positions.iter().copied().zip(limbs.chunks_exact_mut(degree)).collect();
                sums.convert(part, &mut outputs);
                for (position, x) in outputs {
                    sums.take_to_remainder(&plan, part, position, x);
                }
            }
        });

        // Then the limbs of the result. Sums are added to the coefficients of `delta`.
        let remainders = [0, 1].map(|i| Remainder::new(self, &plan, &remainders[i], false));
        let [out0, out1] = out;
        for out in [&mut *out0, &mut *out1] {
            out.resize_limbs(to.limb_count());
            out.set_domain(domain);
        }
        let parts = [out0.as_mut_slice(), out1.as_mut_slice()];
        self.threads().for_each_mut(
            &mut sums.runs(to, parts),
            |_, Run { first, positions, limbs }| {
                let count = positions.len();
                let mut scratch = self.scratch_limbs(count + 2, Domain::Coefficient);
                let (x, rest) = scratch.as_mut_slice().split_at_mut(count * degree);
                let (acc, spare) = rest.split_at_mut(degree);
                for (part, out) in limbs.iter_mut().enumerate() {
                    let sums_here = positions.iter().copied().zip(x.chunks_exact_mut(degree));
                    let mut sums_here: Outputs =
                        sums_here.filter(|(p, _)| extended.contains(*p)).collect();
                    sums.convert(part, &mut sums_here);
                    // The results overwrite `delta`.
                    remainders[part].modulo(*first, out);
                    let limbs = out.chunks_exact_mut(degree);
                    let mut sums_here = sums_here.into_iter().peekable();
                    for ((k, &position), limb) in (*first..).zip(&*positions).zip(limbs) {
                        let x = sums_here.next_if(|(p, _)| *p == position).map(|(_, x)| x);
                        let whole = x.map(|x| {
                            match position < MAX_UNITS_AND_SPECIALS && !plan.dropped.is_one() {
                                true => sums.subtract(part, position, domain, x, limb, acc),
                                false => {
                                    sums.take_to_sum(part, position, domain, x, spare);
                                    acc.copy_from_slice(x);
                                }
                            }
                        });
                        let whole = whole.map(|()| &*acc);
                        remainders[part].finish_limb(k, limb, whole, domain, spare, automorphism);
                    }
                }
            },
        );
        Ok(())
    }
}

impl Sums<'_> {
    /// Splits the sum of a part plus the added polynomial, at the position of a unit or special.
    /// `x` is minus the sum.
    ///
    /// Coefficients are subtracted from `delta`. If the result is needed in the evaluation domain,
    /// `delta` is transformed anyway. The rest is left in `acc`.
    fn subtract(
        &self,
        part: usize,
        position: usize,
        domain: Domain,
        x: &[u64],
        delta: &mut [u64],
        acc: &mut [u64],
    ) {
        let Sums { context, decomposed, .. } = self;
        let ring = context.ring_at(decomposed.plan.extended, position);
        ring.add_lazy_assign(delta, x);
        match self.added(part, position) {
            Some((added, _)) if added.domain() != domain && domain == Domain::Evaluation => {
                self.load_added(part, position, Domain::Coefficient, acc);
                ring.neg_assign(acc);
                ring.add_lazy_assign(delta, acc);
                acc.fill(0);
            }
            Some(_) => _ = self.load_added(part, position, domain, acc),
            None => acc.fill(0),
        }
    }
}
