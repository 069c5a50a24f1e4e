//! Polynomials decomposed into digits.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, arith::mul_mod, elementwise::Scalar, scratch::Scratch};

use super::{decomposition::Decomposition, gadget::Gadget, operand::Operand};
use crate::{
    Context, Modulus, RlweError, limb_groups::MAX_GROUP_LIMBS, modulus::MAX_LIMBS, rings::LimbRefs,
};

/// A polynomial modulo `Q` decomposed into digits, which are needed modulo `P'Q` in the evaluation
/// domain.
///
/// With [`Context::decompose`], a key switch extends the digits to `P'Q` itself, a few limbs at a
/// time. With [`Context::decompose_hoisted`], the digits are extended at once and all rotations of
/// one ciphertext share them (hoisting, Halevi and Shoup, ePrint 2018/244).
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug)]
pub struct Decomposed<'a> {
    pub(crate) plan: Arc<Decomposition>,
    pub(crate) modulus: Modulus,
    /// The polynomial that was decomposed.
    pub(crate) original: Operand<'a>,
    /// The coefficients of the digits, times the input factors of base conversion.
    coefficients: Scratch<'a>,
    /// The digits that were extended at once.
    pub(crate) hoisted: Option<Hoisted<'a>>,
    /// The digits that were extended at once for the double decomposition, modulo the primes of the
    /// shared basis.
    pub(crate) shared: Option<Scratch<'a>>,
}

/// Digits that were extended to `P'Q` before any key switch.
#[derive(Debug)]
pub(crate) struct Hoisted<'a> {
    /// For each digit: its limbs at the other positions of `P'Q`.
    pub(crate) others: ArrayVec<Scratch<'a>, MAX_LIMBS>,
    /// The own limbs of the digits, if they differ from those of the polynomial.
    pub(crate) own: Option<Scratch<'a>>,
    /// Each digit at [`Modulus::TWO`], if `Q` has it, in the form that inner products need there.
    pub(crate) lifted: Option<Scratch<'a>>,
}

impl Context {
    /// Decomposes `poly` for one key switch with the gadget that is planned for its modulus
    /// ([`Context::gadget`]).
    ///
    /// `poly` is modulo `modulus`, a divisor of `Q_max`, in either domain.
    ///
    /// # Errors
    /// Returns an error if the polynomial does not match, or if the parameters have no key
    /// switching.
    pub fn decompose<'a>(
        &'a self,
        poly: &'a Poly,
        modulus: Modulus,
    ) -> Result<Decomposed<'a>, RlweError> {
        self.decompose_with(poly, modulus, self.gadget(modulus)?)
    }

    /// [`Context::decompose`] with a gadget of the caller's choice.
    ///
    /// # Errors
    /// Returns the errors of `decompose`, and an error if the gadget is not one for this modulus.
    pub fn decompose_with<'a>(
        &'a self,
        poly: &'a Poly,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Decomposed<'a>, RlweError> {
        self.check_polynomial(poly, modulus, "switch keys")?;
        self.decompose_operand(Operand::Poly(poly), modulus, gadget)
    }

    /// [`Context::decompose_with`] for a checked operand.
    pub(crate) fn decompose_operand<'a>(
        &'a self,
        operand: Operand<'a>,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Decomposed<'a>, RlweError> {
        crate::stop::check("switch keys")?;
        let plan = self.decomposition(modulus, gadget)?;
        let mut coefficients = self.scratch(modulus, Domain::Coefficient);
        coefficients.for_each_limb(self.threads(), |k, limb| {
            let (ring, (inverse, scalar)) = (self.limb_ring(modulus, k), &plan.inputs[k]);
            match operand {
                Operand::Poly(poly) if poly.domain() == Domain::Coefficient => {
                    ring.mul_scalar(limb, poly.limb(k), scalar);
                }
                Operand::Poly(poly) => self.inverse_scaled_into(ring, limb, poly.limb(k), inverse),
                Operand::Tensor(tensor) => {
                    let q = ring.modulus();
                    let factor = mul_mod(scalar.value(), operand.factor() % q, q);
                    tensor.compute(ring, k, limb);
                    self.inverse_scaled(ring, limb, &ring.inverse_factor(factor));
                }
            }
        });
        let decomposed = Decomposed {
            plan,
            modulus,
            original: operand,
            coefficients,
            hoisted: None,
            shared: None,
        };
        self.note_decomposition(&decomposed);
        Ok(decomposed)
    }

    /// Decomposes `poly` for several key switches.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::decompose`].
    pub fn decompose_hoisted<'a>(
        &'a self,
        poly: &'a Poly,
        modulus: Modulus,
    ) -> Result<Decomposed<'a>, RlweError> {
        self.decompose_hoisted_with(poly, modulus, self.gadget(modulus)?)
    }

    /// [`Context::decompose_hoisted`] with a gadget of the caller's choice.
    ///
    /// # Errors
    /// Returns the same errors as [`Context::decompose_with`].
    pub fn decompose_hoisted_with<'a>(
        &'a self,
        poly: &'a Poly,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Decomposed<'a>, RlweError> {
        let mut decomposed = self.decompose_with(poly, modulus, gadget)?;
        self.note_hoisting(&decomposed);
        if decomposed.plan.double.is_some() {
            decomposed.shared = self.extend_to_shared_basis(&decomposed);
            return Ok(decomposed);
        }
        let mut others = ArrayVec::new();
        for digit in &decomposed.plan.digits {
            let inputs = decomposed.digit_coefficients(digit.factors);
            let mut limbs = self.scratch(digit.others, Domain::Evaluation);
            let (degree, size) = (self.degree(), self.group_size(digit.others.limb_count(), 1));
            self.threads().for_each_chunk(limbs.as_mut_slice(), size * degree, |group, limbs| {
                let limbs = (group * size..).zip(limbs.chunks_exact_mut(degree));
                let mut outputs: ArrayVec<(usize, &mut [u64]), MAX_GROUP_LIMBS> = ArrayVec::new();
                for (k, limb) in limbs {
                    match digit.converter.centres(k) {
                        Some(from) => {
                            self.forward_lazy_centred(
                                self.limb_ring(digit.others, k),
                                limb,
                                inputs[0],
                                from,
                            );
                        }
                        None => outputs.push((k, limb)),
                    }
                }
                digit.converter.convert_exact_into(&mut outputs, &inputs);
                for (k, limb) in outputs {
                    self.forward_lazy(self.limb_ring(digit.others, k), limb);
                }
            });
            others.push(limbs);
        }
        let own = decomposed.own().is_none().then(|| {
            let mut own = self.scratch(modulus, Domain::Evaluation);
            own.for_each_limb(self.threads(), |k, limb| decomposed.own_limb(self, k, limb));
            own
        });
        let lifted = modulus.contains(Modulus::TWO).then(|| {
            let ring = self.ring_at(self.parameters().full(), Modulus::TWO);
            let size = ring.lifted_moduli().len() * self.degree();
            let count = decomposed.plan.digits.len() * ring.lifted_moduli().len();
            let mut lifted = self.scratch_limbs(count, Domain::Evaluation);
            self.threads().for_each_chunk(lifted.as_mut_slice(), size, |d, out| {
                let digit = &decomposed.plan.digits[d];
                let limb = match digit.factors.contains(Modulus::TWO) {
                    true => own.as_deref().unwrap_or(poly).limb(modulus.limb_of(Modulus::TWO)),
                    false => others[d].limb(digit.others.limb_of(Modulus::TWO)),
                };
                ring.lift(out, limb);
            });
            lifted
        });
        decomposed.hoisted = Some(Hoisted { others, own, lifted });
        Ok(decomposed)
    }
}

impl Decomposed<'_> {
    /// The gadget of the decomposition.
    pub fn gadget(&self) -> Gadget {
        self.plan.gadget
    }

    /// The number of limbs that [`super::product::Product::extend`] computes for each position.
    pub(crate) fn scratch(&self) -> usize {
        if self.hoisted.is_none() { self.plan.wide_digits() } else { 0 }
    }

    /// The number of limbs that [`super::product::Product::extend`] needs for `positions`
    /// positions.
    pub(crate) fn scratch_limbs(&self, positions: usize) -> usize {
        if self.hoisted.is_none() { self.plan.scratch_limbs(positions) } else { 0 }
    }

    /// True if this is the decomposition of `poly` itself, not only of an equal polynomial.
    pub(crate) fn is_of(&self, poly: &Poly) -> bool {
        self.original.poly().is_some_and(|original| std::ptr::eq(original, poly))
    }

    /// The coefficients of the digit modulo `factors`.
    pub(crate) fn digit_coefficients(&self, factors: Modulus) -> LimbRefs<'_> {
        factors.factors().map(|i| self.coefficients.limb(self.modulus.limb_of(i))).collect()
    }

    /// The polynomial, if the own limbs of the digits are its limbs.
    pub(crate) fn own(&self) -> Option<&Poly> {
        let poly = self.original.poly()?;
        (self.plan.factors.is_none() && poly.domain() == Domain::Evaluation).then_some(poly)
    }

    /// Sets `out` to limb `k` of `(P'/P) c` in the evaluation domain, lazily reduced. This is the
    /// own limb of a digit if it differs from that of the polynomial.
    pub(crate) fn own_limb(&self, context: &Context, k: usize, out: &mut [u64]) {
        let ring = context.limb_ring(self.modulus, k);
        let factor = self.plan.factors.as_ref().map(|factors| &factors[k]);
        match (self.original, factor) {
            (Operand::Poly(poly), Some(factor)) => ring.mul_scalar(out, poly.limb(k), factor),
            (Operand::Poly(poly), None) => out.copy_from_slice(poly.limb(k)),
            (Operand::Tensor(tensor), factor) => {
                let q = ring.modulus();
                let factor =
                    mul_mod(factor.map_or(1, Scalar::value), self.original.factor() % q, q);
                tensor.compute(ring, k, out);
                if factor != 1 {
                    ring.mul_scalar_assign(out, &ring.scalar(factor));
                }
            }
        }
        if self.original.domain() == Domain::Coefficient {
            context.forward_lazy(ring, out);
        }
    }
}
