//! The inner product of digits with a switching key.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{
    Domain, Poly,
    arith::mul_mod,
    elementwise::{ExtraSummands, KeyLimb, Scalar},
    scratch::Scratch,
};

use super::{
    Decomposed, Method,
    digit::Digit,
    key_store::ExpandedKey,
    operand::{Added, Operand},
};
use crate::{
    Context, Modulus, PreparedSwitchingKey, RlweError,
    limb_groups::MAX_GROUP_LIMBS,
    modulus::{MAX_LIMBS, MAX_UNITS_AND_SPECIALS},
};

/// Positions of one group of limbs.
pub(crate) type Targets = ArrayVec<usize, MAX_GROUP_LIMBS>;

/// The positions of `count` limbs of `modulus`, from limb `first` on.
pub(super) fn positions(modulus: Modulus, first: usize, count: usize) -> Targets {
    modulus.factors().skip(first).take(count).collect()
}

/// Components of a key, and the limbs of the digits that they are multiplied by.
type Pairs<'a> = ArrayVec<(usize, &'a [u64]), MAX_LIMBS>;

/// The inner product of the digits with a key, modulo `P'Q`, plus `P'` times the added polynomials.
pub(crate) struct Product<'a> {
    pub(crate) context: &'a Context,
    pub(crate) decomposed: &'a Decomposed<'a>,
    key: &'a PreparedSwitchingKey,
    /// The key with coalesced components. Without it, components are added as they are used.
    expanded: Option<Arc<ExpandedKey>>,
    added: [Added<'a>; 2],
}

impl<'a> Product<'a> {
    pub(crate) fn new(
        context: &'a Context,
        decomposed: &'a Decomposed<'a>,
        key: &'a PreparedSwitchingKey,
        added: [Added<'a>; 2],
    ) -> Result<Self, RlweError> {
        context.check_key_modulus(key.modulus(), decomposed.plan.extended, "switch keys")?;
        let gadget = decomposed.plan.gadget;
        context.note_key(key, decomposed.modulus, gadget.with_method(Method::Single));
        let expanded = (gadget.group() > 1).then(|| context.expanded_key(key, gadget)).flatten();
        Ok(Product { context, decomposed, key, expanded, added })
    }

    /// Returns the components of the key that multiply each digit, with the limbs of the digits.
    ///
    /// They are components of the coalesced key or of the key itself. A block without a factor in
    /// the modulus of the key has no component, because that would encrypt 0.
    fn pairs(&self, coalesced: bool, limb: impl Fn(usize) -> &'a [u64]) -> Pairs<'a> {
        let mut pairs = ArrayVec::new();
        for (d, digit) in self.decomposed.plan.digits.iter().enumerate() {
            let limb = limb(d);
            match (&self.expanded, coalesced) {
                (Some(expanded), true) => {
                    pairs.extend(
                        digit
                            .groups
                            .iter()
                            .filter_map(|g| expanded.components.index(*g))
                            .map(|c| (c, limb)),
                    );
                }
                _ => pairs.extend(
                    digit
                        .blocks
                        .iter()
                        .filter_map(|b| self.key.components().index(*b))
                        .map(|c| (c, limb)),
                ),
            }
        }
        pairs
    }

    /// Extends the digits to the positions `targets` of `P'Q`, as coefficients.
    /// [`super::decomposition::Decomposition::scratch_limb`] returns their places in the result.
    ///
    /// Limbs that are extended already are skipped. Digits with one limb are left to
    /// [`Product::at`]. So are limbs whose conversion is only an addition.
    pub(crate) fn extend(&self, targets: &[usize]) -> Scratch<'a> {
        let Product { context, decomposed, .. } = *self;
        let (degree, digits) = (context.degree(), &decomposed.plan.digits);
        let is_needed =
            |digit: &Digit| targets.iter().any(|position| digit.others.contains(*position));
        let any_needed = decomposed.own().is_none() || digits.iter().any(is_needed);
        let count = if any_needed { decomposed.scratch_limbs(targets.len()) } else { 0 };
        let mut extended = context.scratch_limbs(count, Domain::Evaluation);
        let limbs = extended.as_mut_slice().chunks_exact_mut(targets.len().max(1) * degree);
        for (digit, limbs) in digits.iter().filter(|digit| !digit.has_one_limb()).zip(limbs) {
            let limbs = targets.iter().zip(limbs.chunks_exact_mut(degree));
            let mut outputs: ArrayVec<(usize, &mut [u64]), MAX_GROUP_LIMBS> = limbs
                .filter(|(position, _)| digit.others.contains(**position))
                .map(|(position, limb)| (digit.others.limb_of(*position), limb))
                .collect();
            if !outputs.is_empty() {
                let inputs = decomposed.digit_coefficients(digit.factors);
                digit.converter.convert_exact_into(&mut outputs, &inputs);
            }
        }
        extended
    }

    /// Transforms the digits at target `i` to the evaluation domain: those from [`Product::extend`]
    /// and those with one limb. Digits that have a limb at this position are copied to the same
    /// memory.
    fn transform(&self, targets: &[usize], i: usize, extensions: &mut Poly) {
        let Product { context, decomposed, .. } = *self;
        let (position, plan) = (targets[i], &*decomposed.plan);
        for (d, digit) in plan.digits.iter().enumerate() {
            let limb = plan.scratch_limb(d, targets.len(), i);
            if digit.others.contains(position) {
                let (ring, output) =
                    (context.ring_at(digit.others, position), digit.others.limb_of(position));
                let limb = extensions.limb_mut(limb);
                match digit.converter.centres(output) {
                    Some(from) => {
                        let coefficients = decomposed.digit_coefficients(digit.factors)[0];
                        context.forward_lazy_centred(ring, limb, coefficients, from);
                        continue;
                    }
                    None if digit.has_one_limb() => {
                        let inputs = decomposed.digit_coefficients(digit.factors);
                        digit.converter.convert_exact_into(&mut [(output, &mut *limb)], &inputs);
                    }
                    None => (),
                }
                context.forward_lazy(ring, limb);
            } else if decomposed.own().is_none() && self.scaled_component(position).is_none() {
                let own = decomposed.modulus.limb_of(position);
                decomposed.own_limb(context, own, extensions.limb_mut(limb));
            }
        }
    }

    /// Returns the component of the key for the digit that has a limb at `position`, if that limb
    /// is multiplied by its constant within the inner product.
    ///
    /// This is so if it is a limb of the polynomial in the evaluation domain and only one component
    /// multiplies it.
    fn scaled_component(&self, position: usize) -> Option<usize> {
        let Product { decomposed, .. } = *self;
        let is_late = position < MAX_UNITS_AND_SPECIALS
            && decomposed.hoisted.is_none()
            && decomposed.plan.factors.is_some()
            && decomposed.original.poly().is_some_and(|poly| poly.domain() == Domain::Evaluation);
        let digit = decomposed.plan.digits.iter().find(|digit| digit.factors.contains(position))?;
        let component = match (&self.expanded, &digit.groups[..], &digit.blocks[..]) {
            (Some(expanded), [group], _) => expanded.components.index(*group),
            (None, _, [block]) => self.key.components().index(*block),
            _ => None,
        };
        component.filter(|_| is_late)
    }

    /// Computes the inner product at target `i`, plus the polynomial that is added in the
    /// evaluation domain.
    ///
    /// `extensions` holds the digits from [`Product::extend`] for these targets. They are
    /// transformed here, right before they are used, so this must be called once for each target.
    ///
    /// The key is modulo a multiple of `P'Q`. If the limb of `P'Q` at the position is a proper
    /// divisor of the limb of the key, the product is reduced. The residues of the digits are then
    /// taken as integers.
    pub(crate) fn at(
        &self,
        targets: &[usize],
        i: usize,
        extensions: &mut Poly,
        [acc0, acc1]: [&mut [u64]; 2],
    ) {
        let Product { context, decomposed, .. } = *self;
        if decomposed.hoisted.is_none() {
            self.transform(targets, i, extensions);
        }
        let (position, plan) = (targets[i], &*decomposed.plan);
        let full = self.key.modulus();
        let wide = context.ring_at(full, position);
        let limb = |d: usize| match (&decomposed.hoisted, plan.digits[d].factors.contains(position))
        {
            (Some(hoisted), false) => {
                hoisted.others[d].limb(plan.digits[d].others.limb_of(position))
            }
            (hoisted, true) => {
                let extended = hoisted.as_ref().and_then(|hoisted| hoisted.own.as_deref());
                match extended.or_else(|| decomposed.own()) {
                    Some(own) => own.limb(decomposed.modulus.limb_of(position)),
                    None => extensions.limb(plan.scratch_limb(d, targets.len(), i)),
                }
            }
            (None, false) => extensions.limb(plan.scratch_limb(d, targets.len(), i)),
        };
        if position < MAX_UNITS_AND_SPECIALS {
            return self.at_prime(position, limb, [acc0, acc1]);
        }
        if position == Modulus::TWO {
            let limbs = wide.lifted_moduli().len();
            let size = limbs * context.degree();
            let hoisted = decomposed.hoisted.as_ref().and_then(|hoisted| hoisted.lifted.as_ref());
            let count = if hoisted.is_none() { plan.digits.len() } else { 0 };
            let mut scratch = context.scratch_limbs(count * limbs, Domain::Evaluation);
            for (d, out) in scratch.as_mut_slice().chunks_exact_mut(size).enumerate() {
                wide.lift(out, limb(d));
            }
            let lifted = hoisted.unwrap_or(&scratch).as_slice();
            let pairs = self.pairs(false, |d| &lifted[d * size..(d + 1) * size]);
            wide.inner_product_lifted(acc0, acc1, &pairs, self.key.limb(position));
        } else {
            wide.inner_product(acc0, acc1, &self.pairs(true, limb), self.key_limb(position));
        }
        let extended = context.ring_at(plan.extended, position);
        if !full.agrees(plan.extended, position) {
            self.reduce(position, [&mut *acc0, &mut *acc1]);
        }
        if !decomposed.modulus.contains(position) {
            return;
        }
        let k = decomposed.modulus.limb_of(position);
        let (specials, ring) = (&plan.specials[k], context.ring_at(decomposed.modulus, position));
        let mut spare = context.scratch_limbs(1, Domain::Evaluation);
        let spare = spare.limb_mut(0);
        for (added, acc) in self.added.iter().zip([acc0, acc1]) {
            if let Some(operand) = &added.evaluation {
                let (limb, factor) = self.multiple(operand, position, spare);
                extended.mul_scalar_add_assign(acc, limb, &factor);
            }
            if let Some(added) = added.coefficients {
                spare.copy_from_slice(added.limb(k));
                context.forward(ring, spare);
                extended.mul_scalar_add_assign(acc, spare, specials);
            }
        }
    }

    /// [`Product::at`] for the position of a unit or a special. `limb` returns the limbs of the
    /// digits. The inner product includes the additions and the multiplication of
    /// [`Product::scaled_component`], so these need no passes of their own.
    fn at_prime<'b>(
        &'b self,
        position: usize,
        limb: impl Fn(usize) -> &'b [u64],
        [acc0, acc1]: [&mut [u64]; 2],
    ) {
        let Product { context, decomposed, .. } = *self;
        let ring = context.ring_at(self.key.modulus(), position);
        let mut pairs = self.pairs(true, limb);
        let mut beside = ExtraSummands::default();
        let mut spare = context.scratch_limbs(2, Domain::Evaluation);
        let mut factors: [Option<Scalar>; 2] = [None; 2];
        if decomposed.modulus.contains(position) {
            let k = decomposed.modulus.limb_of(position);
            if let (Some(component), Some(poly), Some(factors)) = (
                self.scaled_component(position),
                decomposed.original.poly(),
                &decomposed.plan.factors,
            ) {
                pairs.retain(|(c, _)| *c != component);
                beside.scaled = Some((component, poly.limb(k), &factors[k]));
            }
            let spares = spare.limbs_mut().zip(&mut factors);
            for ((added, (spare, factor)), beside) in
                self.added.iter().zip(spares).zip(&mut beside.added)
            {
                if let Some(operand) = &added.evaluation {
                    let (limb, multiple) = self.multiple(operand, position, spare);
                    *beside = Some((limb, factor.insert(multiple)));
                }
            }
        }
        ring.inner_product_plus(acc0, acc1, &pairs, self.key_limb(position), &beside);
    }

    /// Returns the limb of an added operand in the evaluation domain at a position of `Q`, and the
    /// factor of this limb. A limb that has to be computed is in `spare`.
    fn multiple<'b>(
        &self,
        operand: &Operand<'b>,
        position: usize,
        spare: &'b mut [u64],
    ) -> (&'b [u64], Scalar) {
        let Decomposed { modulus, plan, .. } = self.decomposed;
        let k = modulus.limb_of(position);
        match operand {
            Operand::Poly(poly) => (poly.limb(k), plan.specials[k]),
            Operand::Tensor(tensor) => {
                let ring = self.context.ring_at(*modulus, position);
                tensor.compute(ring, k, spare);
                let q = ring.modulus();
                (spare, ring.scalar(mul_mod(plan.specials[k].value(), operand.factor() % q, q)))
            }
        }
    }

    /// [`Product::at`] for digits that were extended at once, for the words from `first` on, at any
    /// position except that of a power of two. The added polynomials are in the evaluation domain.
    pub(crate) fn range_at(&self, position: usize, first: usize, [acc0, acc1]: [&mut [u64]; 2]) {
        let Product { context, decomposed, .. } = *self;
        let (plan, range) = (&*decomposed.plan, first..first + acc0.len());
        let full = self.key.modulus();
        let pairs = self.pairs(true, |d| &self.extended_limb(d, position)[range.clone()]);
        let key = self.key_limb(position);
        let key = key.range(first, range.len());
        let wide = context.ring_at(full, position);
        let added = self.added.each_ref().map(|added| {
            debug_assert!(
                added.coefficients.is_none(),
                "added polynomials are in the evaluation domain"
            );
            let poly = added.evaluation.as_ref().and_then(Operand::poly)?;
            let k = decomposed
                .modulus
                .contains(position)
                .then(|| decomposed.modulus.limb_of(position))?;
            Some((&poly.limb(k)[range.clone()], &plan.specials[k]))
        });
        if position < MAX_UNITS_AND_SPECIALS {
            return wide.inner_product_plus(
                acc0,
                acc1,
                &pairs,
                &key,
                &ExtraSummands { scaled: None, added },
            );
        }
        wide.inner_product(acc0, acc1, &pairs, &key);
        if !full.agrees(plan.extended, position) {
            self.reduce(position, [&mut *acc0, &mut *acc1]);
        }
        let extended = context.ring_at(plan.extended, position);
        for (added, acc) in added.into_iter().zip([acc0, acc1]) {
            if let Some((limb, specials)) = added {
                extended.mul_scalar_add_assign(acc, limb, specials);
            }
        }
    }

    /// The limb of the coalesced key, or else of the key itself, at any position except that of a
    /// power of two.
    fn key_limb(&self, position: usize) -> &KeyLimb {
        match &self.expanded {
            Some(expanded) => &expanded.limbs[self.key.modulus().limb_of(position)],
            None => self.key.limb(position),
        }
    }

    /// A limb of a digit that was extended at once.
    fn extended_limb(&self, d: usize, position: usize) -> &'a [u64] {
        let decomposed = self.decomposed;
        let digit = &decomposed.plan.digits[d];
        let hoisted = decomposed.hoisted.as_ref().expect("these digits were extended at once");
        if !digit.factors.contains(position) {
            return hoisted.others[d].limb(digit.others.limb_of(position));
        }
        let own = hoisted.own.as_deref().or_else(|| decomposed.own());
        own.expect("its own limbs are there, or those of the polynomial")
            .limb(decomposed.modulus.limb_of(position))
    }

    /// Reduces residues modulo a limb of `PQ_max` to residues modulo its divisor in `P'Q`.
    fn reduce(&self, position: usize, accs: [&mut [u64]; 2]) {
        let context = self.context;
        let ring = context.ring_at(self.decomposed.plan.extended, position);
        let mut spare = context.scratch_limbs(1, Domain::Evaluation);
        for acc in accs {
            let spare = &mut spare.limb_mut(0)[..acc.len()];
            ring.reduce(spare, acc);
            acc.copy_from_slice(spare);
        }
    }

    /// True if a polynomial in coefficients is added to a part.
    pub(crate) fn adds_coefficients(&self, part: usize) -> bool {
        self.added[part].coefficients.is_some()
    }

    /// Returns the limb at `position` of the polynomial in coefficients that is added to a part,
    /// and `P'` modulo its modulus. Returns `None` if [`Product::at`] has added it already.
    pub(crate) fn coefficients(&self, part: usize, position: usize) -> Option<(&'a [u64], u64)> {
        let modulus = self.decomposed.modulus;
        let late = position < MAX_UNITS_AND_SPECIALS && modulus.contains(position);
        let added = self.added[part].coefficients.filter(|_| late)?;
        let k = modulus.limb_of(position);
        Some((added.limb(k), self.decomposed.plan.specials[k].value()))
    }
}
