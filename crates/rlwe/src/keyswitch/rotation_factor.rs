//! Plaintexts that sums of rotations are multiplied by.

use std::fmt::Debug;

use hippocrene_ring::{Domain, Poly, ResidueRing};

use crate::{Context, Modulus, RlweError, WordSize};

const OPERATION: &str = "make a factor of rotations";

/// How often each value of a polynomial in `X^8` repeats: a limb without the repeats is shorter by
/// this factor.
pub(super) const REPETITIONS: usize = 8;

/// A plaintext modulo `P'Q` in the form that [`Context::rotation_sums`] multiplies by.
///
/// It is in the evaluation domain. Its limb modulo a power of two is in the form of
/// [`hippocrene_ring::ResidueRing::lift`], with one limb for each prime that products are computed
/// modulo. A polynomial in `X^8` may be stored without its repeated values, which leaves an eighth
/// of them.
#[derive(Debug, Clone)]
pub struct RotationFactor {
    limbs: Poly,
    extended: Modulus,
}

/// A plaintext whose limbs are made when they are used and are dropped after that. It is for sums
/// that are computed once, with too many plaintexts to store.
pub trait LimbByLimb: Debug + Sync {
    /// Writes the plaintext modulo the modulus of `ring`, in the evaluation domain.
    fn write(&self, ring: &ResidueRing, limb: &mut [u64]);
}

/// The factor of a summand.
#[derive(Debug, Clone, Copy)]
pub enum TermFactor<'a> {
    /// A plaintext whose limbs are stored.
    Whole(&'a RotationFactor),
    /// A plaintext of the ring degree whose limbs are made on use, modulo any modulus.
    ByLimb(&'a dyn LimbByLimb),
}

impl<'a> TermFactor<'a> {
    /// The stored limb at `position` ([`RotationFactor::limb`]), or the result of `make`.
    pub(super) fn limb<'m>(
        self,
        position: usize,
        make: impl FnOnce(&dyn LimbByLimb) -> &'m mut [u64],
    ) -> &'m [u64]
    where
        'a: 'm,
    {
        match self {
            TermFactor::Whole(factor) => factor.limb(position),
            TermFactor::ByLimb(factor) => make(factor),
        }
    }

    /// The number of values in each limb, for ring degree `degree`.
    pub(super) fn degree(&self, degree: usize) -> usize {
        match self {
            TermFactor::Whole(factor) => factor.degree(),
            TermFactor::ByLimb(_) => degree,
        }
    }

    pub(super) fn is_by_limb(&self) -> bool {
        matches!(self, TermFactor::ByLimb(_))
    }
}

impl<'a> From<&'a RotationFactor> for TermFactor<'a> {
    fn from(factor: &'a RotationFactor) -> Self {
        TermFactor::Whole(factor)
    }
}

impl Context {
    /// The factor that `poly` is: a plaintext modulo `extended = P'Q`
    /// ([`Context::rotation_modulus`]) in the evaluation domain, or, of ring degree `N/8`, one made
    /// by [`Context::ring_of_repeats`].
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when it is not that.
    pub fn rotation_factor(
        &self,
        mut poly: Poly,
        extended: Modulus,
    ) -> Result<RotationFactor, RlweError> {
        let (degree, have) = (self.degree(), poly.limb_count());
        let is_repeated = self.has_repeats(extended) && poly.degree() == degree / REPETITIONS;
        let need = if poly.degree() != degree && !is_repeated {
            "plaintexts of the ring degree are needed, or of an eighth of it"
        } else if poly.is_dry_run() != self.is_dry_run() {
            "operands of a dry run and others cannot be mixed"
        } else if have != extended.limb_count() {
            "a plaintext modulo P'Q is needed"
        } else if poly.domain() != Domain::Evaluation {
            "a plaintext in the evaluation domain is needed"
        } else {
            if extended.contains(Modulus::TWO) {
                self.lift_two(&mut poly, extended);
            }
            return Ok(RotationFactor { limbs: poly, extended });
        };
        Err(RlweError::Modulus { operation: OPERATION, have, need })
    }

    /// How many limbs of the ring degree, or of an eighth of it, a [`RotationFactor`] modulo
    /// `extended = P'Q` has.
    pub fn rotation_factor_limbs(&self, extended: Modulus) -> usize {
        let lifted = |position| match position {
            Modulus::TWO => self.ring_at(extended, position).lifted_moduli().len(),
            _ => 1,
        };
        extended.factors().map(lifted).sum()
    }

    /// Replaces the limb modulo a power of two, the last, by what
    /// [`hippocrene_ring::ResidueRing::lift`] makes of it.
    fn lift_two(&self, poly: &mut Poly, extended: Modulus) {
        let (degree, last) = (self.degree(), extended.limb_of(Modulus::TWO));
        let ring = self.ring_at(extended, Modulus::TWO);
        self.record("lift a plaintext", |count| {
            let moduli = self.rings.product_moduli(extended, Modulus::TWO, count.kernel);
            moduli.iter().for_each(|q| count.of_size(WordSize::of(*q)).forward += 1);
            count.touch(1 + moduli.len());
        });
        let mut two = self.scratch_limbs(1, Domain::Coefficient);
        two.limb_mut(0).copy_from_slice(poly.limb(last));
        poly.resize_limbs(last + ring.lifted_moduli().len());
        if !self.is_dry_run() {
            ring.lift(&mut poly.as_mut_slice()[last * degree..], two.limb(0));
        }
    }
}

impl RotationFactor {
    /// A polynomial in `X^8` without its repeated values, which leaves an eighth of them. Returns
    /// `None` if the ring degree is below 64 or the repeats are left out already.
    pub fn repeated(&self, context: &Context) -> Option<Self> {
        let degree = context.degree();
        if degree < 64 || self.degree() != degree {
            return None;
        }
        let mut limbs = self.limbs.alike(degree / REPETITIONS, self.limbs.limb_count());
        for (out, limb) in limbs.limbs_mut().zip(self.limbs.limbs()) {
            for (out, block) in out.chunks_exact_mut(8).zip(limb.chunks_exact(64)) {
                out.copy_from_slice(&block[..8]);
            }
        }
        Some(RotationFactor { limbs, extended: self.extended })
    }

    /// The modulus `P'Q`.
    pub fn modulus(&self) -> Modulus {
        self.extended
    }

    /// The number of values in each limb: the ring degree `N`, or `N/8`.
    pub fn degree(&self) -> usize {
        self.limbs.degree()
    }

    /// Whether it is a plaintext modulo `extended`.
    pub(super) fn is_modulo(&self, context: &Context, extended: Modulus) -> bool {
        self.extended == extended
            && self.limbs.limb_count() == context.rotation_factor_limbs(extended)
    }

    /// The bytes that it takes, or would take in a dry run.
    pub fn bytes(&self) -> usize {
        self.degree() * self.limbs.limb_count() * size_of::<u64>()
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.limbs.is_dry_run()
    }

    /// The limb at `position`; modulo a power of two all limbs of the lifted form, one after the
    /// other.
    pub(super) fn limb(&self, position: usize) -> &[u64] {
        let k = self.extended.limb_of(position);
        match position {
            Modulus::TWO => &self.limbs.as_slice()[k * self.degree()..],
            _ => self.limbs.limb(k),
        }
    }
}
