//! The plaintext factors of sums of rotations.

use std::fmt::Debug;

use hippocrene_ring::{Domain, Poly, ResidueRing};

use crate::{Context, Modulus, RlweError, WordSize};

const OPERATION: &str = "prepare a factor of rotations";

/// The number of repetitions of each value of a polynomial in `X^8`. A limb without repetitions is
/// shorter by this factor.
pub(super) const REPETITIONS: usize = 8;

/// A plaintext modulo `P'Q` in the form that [`Context::rotation_sums`] needs.
///
/// It is in the evaluation domain. Its limb modulo a power of two is in the form of
/// [`hippocrene_ring::ResidueRing::lift`], which has one limb for each prime used for products. A
/// polynomial in `X^8` may be stored without its repeated values, which leaves an eighth of them.
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug, Clone)]
pub struct RotationFactor {
    limbs: Poly,
    extended: Modulus,
}

/// A plaintext whose limbs are computed on use and dropped afterwards.
///
/// It is for sums that are computed once, with too many plaintexts to store.
///
/// ```
/// use hippocrene_ring::{Kernel, ResidueRing};
/// use hippocrene_rlwe::LimbByLimb;
///
/// /// The constant polynomial 2.
/// #[derive(Debug)]
/// struct Two;
///
/// impl LimbByLimb for Two {
///     fn write(&self, _ring: &ResidueRing, limb: &mut [u64]) {
///         limb.fill(2);
///     }
/// }
///
/// let ring = ResidueRing::prime(257, 16, Kernel::Portable)?;
/// let mut limb = [0; 16];
/// Two.write(&ring, &mut limb);
/// assert_eq!(limb, [2; 16]);
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
pub trait LimbByLimb: Debug + Sync {
    /// Writes the plaintext modulo the modulus of `ring`, in the evaluation domain.
    fn write(&self, ring: &ResidueRing, limb: &mut [u64]);
}

/// The plaintext factor of a summand.
///
/// See [`Context::rotation_sums`] for an example.
#[derive(Debug, Clone, Copy)]
pub enum TermFactor<'a> {
    /// A plaintext whose limbs are stored.
    Whole(&'a RotationFactor),
    /// A plaintext of the ring degree whose limbs are computed on use, modulo any modulus.
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
    /// Prepares a plaintext as a factor of sums of rotations.
    ///
    /// `poly` is modulo `extended = P'Q` ([`Context::rotation_modulus`]) in the evaluation domain.
    /// It may also have ring degree `N/8` and be made with [`Context::ring_without_repeats`].
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `poly` is neither of these.
    pub fn rotation_factor(
        &self,
        mut poly: Poly,
        extended: Modulus,
    ) -> Result<RotationFactor, RlweError> {
        let (degree, have) = (self.degree(), poly.limb_count());
        let is_repeated = self.can_omit_repeats(extended) && poly.degree() == degree / REPETITIONS;
        let need = if poly.degree() != degree && !is_repeated {
            "plaintexts of the ring degree are needed, or of an eighth of it"
        } else if poly.is_dry_run() != self.is_dry_run() {
            "operands of a dry run and of a real run cannot be mixed"
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

    /// The number of limbs of a [`RotationFactor`] modulo `extended = P'Q`. The limbs have the ring
    /// degree or an eighth of it.
    pub fn rotation_factor_limbs(&self, extended: Modulus) -> usize {
        let lifted = |position| match position {
            Modulus::TWO => self.ring_at(extended, position).lifted_moduli().len(),
            _ => 1,
        };
        extended.factors().map(lifted).sum()
    }

    /// Replaces the last limb, which is modulo a power of two, by its form of
    /// [`hippocrene_ring::ResidueRing::lift`].
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
    /// Returns a polynomial in `X^8` without its repeated values, which leaves an eighth of them.
    ///
    /// Returns `None` if the ring degree is below 64 or if the repeated values are left out
    /// already.
    pub fn repeated(&self, context: &Context) -> Option<Self> {
        let degree = context.degree();
        if degree < 64 || self.degree() != degree {
            return None;
        }
        let mut limbs = self.limbs.new_like(degree / REPETITIONS, self.limbs.limb_count());
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

    /// True if the plaintext is modulo `extended`.
    pub(super) fn is_modulo(&self, context: &Context, extended: Modulus) -> bool {
        self.extended == extended
            && self.limbs.limb_count() == context.rotation_factor_limbs(extended)
    }

    /// The size in bytes. In a dry run, it is the size that a real plaintext would have.
    pub fn bytes(&self) -> usize {
        self.degree() * self.limbs.limb_count() * size_of::<u64>()
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.limbs.is_dry_run()
    }

    /// Returns the limb at `position`. Modulo a power of two these are all limbs of the lifted
    /// form, one after the other.
    pub(super) fn limb(&self, position: usize) -> &[u64] {
        let k = self.extended.limb_of(position);
        match position {
            Modulus::TWO => &self.limbs.as_slice()[k * self.degree()..],
            _ => self.limbs.limb(k),
        }
    }
}
