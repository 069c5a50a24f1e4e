//! The operands of key switches: polynomials, or products that are computed limb by limb.

use hippocrene_ring::{Domain, Poly, ResidueRing};

/// A polynomial modulo `Q`, stored or computed on use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operand<'a> {
    /// A stored polynomial, in either domain.
    Poly(&'a Poly),
    /// A part of a tensor product, in the evaluation domain.
    Tensor(TensorPart<'a>),
}

/// `n` times part `i` of the tensor product of `(a0, a1)` and `(b0, b1)`, which is
/// `(a0 b0, a0 b1 + a1 b0, a1 b1)`.
///
/// Its limbs are computed on use while they are in the cache, and are never written to memory. At
/// `N = 2^15` this saves most of the time that a product needs besides its key switch. The
/// multiplication by `n` is left to the user of the limbs, who multiplies by a constant anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorPart<'a> {
    pub(crate) a: [&'a Poly; 2],
    pub(crate) b: [&'a Poly; 2],
    pub(crate) i: usize,
    pub(crate) n: u64,
}

/// The polynomials modulo `Q` that are added to a part of a key switch.
///
/// One is in the evaluation domain, the other in coefficients, whose residues may be in `[0, 2q)`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Added<'a> {
    pub(crate) evaluation: Option<Operand<'a>>,
    pub(crate) coefficients: Option<&'a Poly>,
}

impl<'a> Added<'a> {
    /// Adds a polynomial in either domain, or nothing.
    pub(crate) fn new(poly: Option<&'a Poly>) -> Self {
        match poly {
            Some(poly) if poly.domain() == Domain::Coefficient => {
                Added { evaluation: None, coefficients: Some(poly) }
            }
            _ => Added { evaluation: poly.map(Operand::Poly), coefficients: None },
        }
    }
}

impl<'a> Operand<'a> {
    /// The polynomial, if it is stored.
    pub(crate) fn poly(&self) -> Option<&'a Poly> {
        match self {
            Operand::Poly(poly) => Some(poly),
            Operand::Tensor(_) => None,
        }
    }

    /// The domain of the limbs.
    pub(crate) fn domain(&self) -> Domain {
        self.poly().map_or(Domain::Evaluation, Poly::domain)
    }

    /// The number of products of polynomials that compute it.
    pub(crate) fn products(&self) -> u64 {
        match self {
            Operand::Poly(_) => 0,
            Operand::Tensor(tensor) if tensor.i == 1 => 2,
            Operand::Tensor(_) => 1,
        }
    }

    /// The constant by which the result of [`TensorPart::compute`] must be multiplied, or 1 for a
    /// stored polynomial.
    pub(crate) fn factor(&self) -> u64 {
        match self {
            Operand::Poly(_) => 1,
            Operand::Tensor(tensor) if tensor.i == 1 && tensor.is_square() => 2 * tensor.n,
            Operand::Tensor(tensor) => tensor.n,
        }
    }
}

impl TensorPart<'_> {
    fn is_square(&self) -> bool {
        self.a.iter().zip(&self.b).all(|(a, b)| std::ptr::eq(*a, *b))
    }

    /// Sets `out` to limb `k` without the factor `n`. For the middle part of a square it sets half
    /// of the limb.
    pub(crate) fn compute(&self, ring: &ResidueRing, k: usize, out: &mut [u64]) {
        let TensorPart { a: [a0, a1], b: [b0, b1], i, .. } = *self;
        match i {
            0 => ring.mul(out, a0.limb(k), b0.limb(k)),
            1 => {
                ring.mul(out, a0.limb(k), b1.limb(k));
                if !self.is_square() {
                    ring.mul_add_assign(out, a1.limb(k), b0.limb(k));
                }
            }
            _ => ring.mul(out, a1.limb(k), b1.limb(k)),
        }
    }
}
