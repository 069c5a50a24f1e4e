//! A parameter set made ready to compute with.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicU64},
};

use arrayvec::ArrayVec;
use hippocrene_ring::{
    Domain, Kernel, Poly, ResidueRing, Threads,
    automorphism::Automorphism,
    scratch::{Scratch, ScratchPool},
    spare::SpareMemory,
};

use crate::{
    Gadget, Modulus, Noise, Parameters, Profile, RlweError,
    hollow::Hollow,
    keyswitch::{decomposition::Decomposition, expanded::KeyStore},
    modulus::MAX_LIMBS,
    scaled_product::ScaledProduct,
    switch::SwitchPlan,
};

/// The limbs of a polynomial as slices, without an allocation.
pub(crate) type LimbRefs<'a> = ArrayVec<&'a [u64], MAX_LIMBS>;

/// The memory of so many polynomials modulo `PQ_max` is kept for others at most: a bootstrap makes
/// use of as much.
const SPARE: usize = 32;

/// The residue rings of all limbs that moduli of one parameter set have.
#[derive(Debug)]
struct Rings {
    /// Of units and specials, by position.
    words: Vec<ResidueRing>,
    /// Of products of odd sprout primes: of those in `mask` at `mask - 1`.
    odd: Vec<ResidueRing>,
    /// Of powers of two: of `2^e` at `e - 1`.
    two: Vec<ResidueRing>,
}

impl Rings {
    fn new(parameters: &Parameters, kernel: Kernel) -> Result<Self, RlweError> {
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
        Ok(Rings {
            words: words.collect::<Result<_, _>>()?,
            odd: odd.collect::<Result<_, _>>()?,
            two,
        })
    }
}

/// A parameter set with the residue rings of its limbs, scratch memory, threads, and the tables
/// that computing needs, made on first use and kept. Nothing in it is secret.
pub struct Context {
    parameters: Parameters,
    kernel: Kernel,
    profile: Profile,
    rings: Rings,
    threads: Threads,
    scratch: ScratchPool,
    /// Of ciphertexts that are gone.
    spare: SpareMemory,
    pub(crate) switches: Cache<(Modulus, Modulus, u64), SwitchPlan>,
    pub(crate) decompositions: Cache<(Modulus, Gadget), Decomposition>,
    /// By the modulus of polynomials and that of keys.
    pub(crate) gadgets: Cache<(Modulus, Modulus), Gadget>,
    /// Of inner products, by the modulus of polynomials, the gadget, and the modulus of the key.
    pub(crate) product_noise: Cache<(Modulus, Gadget, Modulus), Noise>,
    pub(crate) expanded: KeyStore,
    pub(crate) scaled_products: Cache<(Modulus, Modulus, u64), ScaledProduct>,
    /// Of the shared basis of double decompositions and of auxiliary moduli, by their primes.
    pub(crate) shared: Cache<u64, ResidueRing>,
    pub(crate) transforms: AtomicU64,
    /// Of ring degree `N/8`, by their moduli.
    pub(crate) repeats: Cache<u64, ResidueRing>,
    automorphisms: Cache<usize, Automorphism>,
    /// Where it computes without residues.
    pub(crate) hollow: Option<Hollow>,
}

/// Without its tables.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("parameters", &self.parameters)
            .field("kernel", &self.kernel)
            .field("threads", &self.threads.count())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Prepares `parameters`, with the best kernel of this CPU and `threads`.
    ///
    /// # Errors
    /// When `HIPPOCRENE_KERNEL` names a kernel that cannot be used.
    pub fn new(parameters: Parameters, threads: Threads) -> Result<Self, RlweError> {
        let kernel = Kernel::detect()?;
        Self::with_kernel(parameters, threads, kernel)
    }

    /// [`Context::new`] with a kernel of the caller's choice.
    ///
    /// # Errors
    /// When a residue ring cannot be made.
    pub fn with_kernel(
        parameters: Parameters,
        threads: Threads,
        kernel: Kernel,
    ) -> Result<Self, RlweError> {
        Self::build(parameters, threads, kernel, None)
    }

    pub(crate) fn build(
        parameters: Parameters,
        threads: Threads,
        kernel: Kernel,
        hollow: Option<Hollow>,
    ) -> Result<Self, RlweError> {
        let rings = Rings::new(&parameters, kernel)?;
        let degree = parameters.degree();
        let scratch = hollow
            .as_ref()
            .map_or_else(|| ScratchPool::new(degree), |hollow| hollow.scratch(degree));
        let polynomial = parameters.full().limb_count() * degree * size_of::<u64>();
        let spare = SpareMemory::new(SPARE * polynomial);
        Ok(Context {
            parameters,
            kernel,
            profile: Profile::typical(kernel),
            rings,
            threads,
            scratch,
            spare,
            switches: Cache::default(),
            decompositions: Cache::default(),
            gadgets: Cache::default(),
            product_noise: Cache::default(),
            expanded: KeyStore::default(),
            scaled_products: Cache::default(),
            shared: Cache::default(),
            transforms: AtomicU64::new(0),
            repeats: Cache::default(),
            automorphisms: Cache::default(),
            hollow,
        })
    }

    /// Plans key switches by `profile` from now on, instead of by [`Profile::typical`]. A profile
    /// of another kernel than that in use says nothing about it and changes nothing.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        if profile.kernel() == self.kernel {
            self.profile = profile;
            self.gadgets = Cache::default();
        }
        self
    }

    /// What key switches are planned by.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The kernel in use.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The threads in use.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.parameters.degree()
    }

    /// The residue ring of the limb that a polynomial modulo `modulus`, a divisor of `PQ_max`, has
    /// at `position`.
    pub fn ring_at(&self, modulus: Modulus, position: usize) -> &ResidueRing {
        debug_assert!(modulus.contains(position));
        match position {
            Modulus::ODD => &self.rings.odd[usize::from(modulus.odd()) - 1],
            Modulus::TWO => &self.rings.two[usize::from(modulus.two()) - 1],
            _ => &self.rings.words[position],
        }
    }

    /// The residue rings of a modulus, limb by limb.
    pub fn rings(&self, modulus: Modulus) -> impl ExactSizeIterator<Item = &ResidueRing> + Clone {
        modulus.factors().map(move |position| self.ring_at(modulus, position))
    }

    /// The residue ring of limb `k` of a polynomial modulo `modulus`.
    pub fn limb_ring(&self, modulus: Modulus, k: usize) -> &ResidueRing {
        let position = modulus.factors().nth(k).expect("a limb of this modulus");
        self.ring_at(modulus, position)
    }

    /// The limb at `position` of `poly`, modulo `from`, reduced modulo what `to` has there: with
    /// `spare` where that is less. It is right in both domains (GRAFT C.6).
    pub(crate) fn reduced_limb<'a>(
        &self,
        poly: &'a Poly,
        from: Modulus,
        to: Modulus,
        position: usize,
        spare: &'a mut [u64],
    ) -> &'a [u64] {
        let limb = poly.limb(from.limb_of(position));
        if from.agrees(to, position) {
            return limb;
        }
        self.ring_at(to, position).elementwise().reduce(spare, limb);
        spare
    }

    /// A polynomial modulo `modulus` on loan, with unspecified residues.
    pub fn scratch(&self, modulus: Modulus, domain: Domain) -> Scratch<'_> {
        self.scratch.take(modulus.limb_count(), domain)
    }

    /// A polynomial of `limbs` limbs on loan, with unspecified residues.
    pub fn scratch_limbs(&self, limbs: usize, domain: Domain) -> Scratch<'_> {
        self.scratch.take(limbs, domain)
    }

    /// Bytes of the memory that operations have worked in and keep for the next, without what is on
    /// loan.
    pub fn scratch_memory(&self) -> usize {
        self.scratch.bytes()
    }

    /// Bytes of the memory of polynomials that are gone, kept for those to come.
    pub fn spare_memory(&self) -> usize {
        self.spare.bytes()
    }

    pub(crate) fn spare(&self) -> &SpareMemory {
        &self.spare
    }

    /// Wipes the memory that operations have worked in and keep for the next, and gives it back.
    pub fn forget(&self) {
        self.scratch.forget();
        self.spare.forget();
        self.rings.two.iter().for_each(ResidueRing::forget);
    }

    /// The zero polynomial modulo `modulus`.
    pub fn zero(&self, modulus: Modulus, domain: Domain) -> Poly {
        let mut poly = self.part();
        poly.resize_limbs(modulus.limb_count());
        poly.set_domain(domain);
        poly.clear();
        poly
    }

    /// Takes `poly` modulo `modulus` to the evaluation domain, if it is not there.
    pub fn to_evaluation(&self, poly: &mut Poly, modulus: Modulus) {
        if poly.domain() == Domain::Coefficient {
            self.reckon("transform", |count| count.forward(modulus, 1));
            poly.for_each_limb(&self.threads, |k, limb| {
                self.forward(self.limb_ring(modulus, k), limb)
            });
            poly.set_domain(Domain::Evaluation);
        }
    }

    /// Takes `poly` modulo `modulus` to the coefficient domain, if it is not there.
    pub fn to_coefficient(&self, poly: &mut Poly, modulus: Modulus) {
        if poly.domain() == Domain::Evaluation {
            self.reckon("transform", |count| count.inverse(modulus, 1));
            poly.for_each_limb(&self.threads, |k, limb| {
                self.inverse(self.limb_ring(modulus, k), limb)
            });
            poly.set_domain(Domain::Coefficient);
        }
    }

    /// The polynomial with small signed coefficients `values`, modulo `modulus`, in the evaluation
    /// domain.
    pub fn from_signed(&self, values: &[i64], modulus: Modulus) -> Poly {
        let mut poly = self.zero(modulus, Domain::Evaluation);
        self.reckon("transform", |count| {
            count.passes(modulus, 1);
            count.forward(modulus, 1);
        });
        poly.for_each_limb(&self.threads, |k, limb| {
            let ring = self.limb_ring(modulus, k);
            ring.elementwise().from_signed(limb, values);
            self.forward(ring, limb);
        });
        poly
    }

    /// The automorphism `X -> X^element`.
    ///
    /// # Errors
    /// When the element is even or not below `2N`.
    pub fn automorphism(&self, element: usize) -> Result<Arc<Automorphism>, RlweError> {
        self.automorphisms
            .get_or_try_insert(element, || Ok(Automorphism::new(self.degree(), element)?))
    }

    /// Checks that a modulus is one of ciphertexts: a divisor of all units and the sprout, not 1.
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when it is not.
    pub fn check_modulus(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        if modulus.is_one() || !modulus.divides(self.parameters.top()) {
            let (have, need) =
                (modulus.limb_count(), "a divisor of the units and the sprout is needed");
            return Err(RlweError::Modulus { operation, have, need });
        }
        Ok(())
    }

    /// Checks that a modulus can be switched from and to: it divides `PQ_max`, and is not 1.
    pub(crate) fn check_switched(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        if modulus.is_one() || !modulus.divides(self.parameters.full()) {
            let need = "a divisor of all units, the sprout and all specials is needed, not 1";
            return Err(RlweError::Modulus { operation, have: modulus.limb_count(), need });
        }
        Ok(())
    }

    /// Checks that an operand was made with these parameters, and holds something. Every operation
    /// on ciphertexts begins so, and ends here when it is to stop.
    ///
    /// # Errors
    /// [`RlweError::ParameterMismatch`] when it was not, [`RlweError::Modulus`] when nothing has
    /// been written to it ([`crate::Ciphertext::empty`]), and those of [`crate::stop::check`].
    pub fn check_operand(
        &self,
        a: &crate::Ciphertext,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        crate::stop::check(operation)?;
        self.check_digest(a.parameters(), operation)?;
        if a.modulus().is_one() {
            let need = "a ciphertext is needed to which a result has been written";
            return Err(RlweError::Modulus { operation, have: 0, need });
        }
        Ok(())
    }

    /// Checks that something was made with these parameters.
    ///
    /// # Errors
    /// [`RlweError::ParameterMismatch`] when it was not.
    pub fn check_digest(
        &self,
        digest: crate::Fingerprint,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        let need = self.parameters.digest();
        if digest == need {
            Ok(())
        } else {
            Err(RlweError::ParameterMismatch { operation, have: digest, need })
        }
    }
}

/// The most tables that a cache holds: more pairs of moduli than a program goes through, and tens
/// of megabytes at most. There are millions of pairs with a sprout, so that a server must not keep
/// whatever it was ever asked for.
const MAX_TABLES: usize = 1024;

/// Tables made on first use. When there are [`MAX_TABLES`], all are dropped and made again as they
/// are needed.
#[derive(Debug)]
pub(crate) struct Cache<K, V>(RwLock<HashMap<K, Arc<V>>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Cache(RwLock::new(HashMap::new()))
    }
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    /// The value of `key`, made by `make` when it is asked for the first time.
    pub(crate) fn get_or_try_insert<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(value) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(make()?);
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MAX_TABLES {
            tables.clear();
        }
        Ok(Arc::clone(tables.entry(key).or_insert(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_bounded_and_right() {
        let cache = Cache::<usize, usize>::default();
        for key in 0..3 * MAX_TABLES {
            assert_eq!(*cache.get_or_try_insert(key, || Ok::<_, ()>(key + 1)).unwrap(), key + 1);
            assert!(cache.0.read().unwrap().len() <= MAX_TABLES);
        }
        let last = 3 * MAX_TABLES - 1;
        assert_eq!(cache.get_or_try_insert(last, || Err(())).map(|v| *v), Ok(last + 1));
    }
}
