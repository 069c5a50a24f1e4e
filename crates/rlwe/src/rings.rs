//! The residue rings of a parameter set.

use std::{convert::Infallible, sync::Arc};

use arrayvec::ArrayVec;
use hippocrene_ring::{Kernel, ResidueRing, automorphism::Automorphism};

use crate::{Modulus, Parameters, RlweError, cache::Cache, modulus::MAX_LIMBS};

/// The limbs of a polynomial as slices, without an allocation.
pub(crate) type LimbRefs<'a> = ArrayVec<&'a [u64], MAX_LIMBS>;

/// The maximum number of primes that a kernel uses to compute products modulo a power of two.
const MAX_PRODUCT_MODULI: usize = 3;

/// A parameter set with the residue rings of its limbs.
///
/// Everything that computes with constants of a modulus starts here. Plans of modulus switches,
/// decompositions and counts of primitives need rings, but no memory and no threads.
#[derive(Debug)]
pub(crate) struct Rings {
    parameters: Parameters,
    kernel: Kernel,
    /// The rings of the units and the specials, indexed by the position in a modulus.
    words: Vec<ResidueRing>,
    /// The rings of products of odd sprout primes. The ring for `mask` is at index `mask - 1`.
    odd: Vec<ResidueRing>,
    /// The rings of powers of two. The ring of `2^e` is at index `e - 1`.
    two: Vec<ResidueRing>,
    /// The rings of primes that need not divide `PQ_max`, by prime. Double decompositions need them
    /// for their shared basis, and scaled products for their auxiliary moduli.
    auxiliary: Cache<u64, ResidueRing>,
    /// The rings of degree `N/8`, by modulus.
    pub(crate) repeats: Cache<u64, ResidueRing>,
    /// The primes that emulate powers of two, by exponent and kernel.
    lifted: Cache<(u8, Kernel), Vec<u64>>,
    /// The automorphisms, by Galois element.
    automorphisms: Cache<usize, Automorphism>,
}

impl Rings {
    /// Builds the rings of `parameters`, which compute with `kernel`.
    pub(crate) fn new(parameters: Parameters, kernel: Kernel) -> Result<Self, RlweError> {
        let (degree, sprout) = (parameters.degree(), &parameters.literal().sprout);
        let words = parameters.full().words().factors();
        let words = words.map(|i| ResidueRing::prime(parameters.factor(i), degree, kernel));
        let odd = (1..=sprout.all_odd()).map(|mask| {
            let primes: Vec<u64> = sprout.chosen(mask).collect();
            ResidueRing::composite(&primes, degree, kernel)
        });
        let two = match sprout.two {
            0 => Vec::new(),
            largest => ResidueRing::powers_of_two(largest, degree, kernel)?,
        };
        let (words, odd) = (words.collect::<Result<_, _>>()?, odd.collect::<Result<_, _>>()?);
        Ok(Rings {
            parameters,
            kernel,
            words,
            odd,
            two,
            auxiliary: Cache::default(),
            repeats: Cache::default(),
            lifted: Cache::default(),
            automorphisms: Cache::default(),
        })
    }

    /// The parameter set.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The kernel in use.
    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The ring degree `N`.
    pub(crate) fn degree(&self) -> usize {
        self.parameters.degree()
    }

    /// The ring of the limb at `position` of a polynomial modulo `modulus`.
    pub(crate) fn at(&self, modulus: Modulus, position: usize) -> &ResidueRing {
        debug_assert!(modulus.contains(position));
        match position {
            Modulus::ODD => &self.odd[usize::from(modulus.odd()) - 1],
            Modulus::TWO => &self.two[usize::from(modulus.two()) - 1],
            _ => &self.words[position],
        }
    }

    /// The rings of the limbs of a polynomial modulo `modulus`, in order.
    pub(crate) fn of(
        &self,
        modulus: Modulus,
    ) -> impl ExactSizeIterator<Item = &ResidueRing> + Clone {
        modulus.factors().map(move |position| self.at(modulus, position))
    }

    /// The ring of degree `N` modulo the prime `q`, which need not divide `PQ_max`.
    pub(crate) fn auxiliary(&self, q: u64) -> Result<Arc<ResidueRing>, RlweError> {
        self.auxiliary
            .get_or_try_insert(q, || Ok(ResidueRing::prime(q, self.degree(), self.kernel)?))
    }

    /// The moduli that `kernel` uses for products modulo the limb of `modulus` at `position`.
    ///
    /// These are the limb's own modulus or, for a power of two, the primes that emulate it.
    pub(crate) fn product_moduli(
        &self,
        modulus: Modulus,
        position: usize,
        kernel: Kernel,
    ) -> ArrayVec<u64, MAX_PRODUCT_MODULI> {
        if position != Modulus::TWO {
            return std::iter::once(self.parameters.limb_modulus(modulus, position)).collect();
        }
        let make =
            || Ok::<_, Infallible>(self.at(modulus, position).lifted_moduli_of_kernel(kernel));
        let Ok(moduli) = self.lifted.get_or_try_insert((modulus.two(), kernel), make);
        moduli.iter().copied().collect()
    }

    /// The automorphism `X -> X^element`.
    pub(crate) fn automorphism(&self, element: usize) -> Result<Arc<Automorphism>, RlweError> {
        self.automorphisms
            .get_or_try_insert(element, || Ok(Automorphism::new(self.degree(), element)?))
    }

    /// Wipes and frees the scratch memory of products modulo powers of two.
    pub(crate) fn wipe_scratch(&self) {
        self.two.iter().for_each(ResidueRing::wipe_scratch);
    }
}
