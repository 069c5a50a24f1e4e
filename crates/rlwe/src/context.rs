//! A parameter set with everything that computing with it needs.
//!
//! A [`Context`] has four parts, which do not depend on it:
//!
//! - [`Rings`]: the residue rings of all limbs.
//! - [`Plans`]: the constants of operations, which are made from the rings on first use. A dry run
//!   shares rings and plans with the context that it represents.
//! - [`Memory`]: pools of memory, and the cache of derived keys.
//! - [`Ledger`]: the record of a dry run.
//!
//! Operations are methods of the context in the modules of their subject, such as
//! [`Context::switch_modulus`] in `switch`.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use hippocrene_ring::{
    Domain, Kernel, Poly, ResidueRing, Threads, automorphism::Automorphism, scratch::Scratch,
};

use crate::{
    Fingerprint, Gadget, Modulus, Parameters, Profile, RlweError, cache::Cache,
    dry_run::ledger::Ledger, memory::Memory, plans::Plans, rings::Rings,
};

/// A parameter set with everything that computing with it needs.
///
/// It has residue rings, threads, scratch memory, and tables that are made on first use. It holds
/// no secret.
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Ciphertext, Context, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
/// };
///
/// // A prime for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[..1].to_vec(),
///     specials: primes[1..].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 1,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Context::new(parameters, Threads::single())?;
/// let modulus = context.parameters().top();
///
/// // Encrypt the constant polynomial 2^30, and add the ciphertext to itself.
/// let secret = SecretKey::generate(&context)?;
/// let message = context.from_signed(&[vec![1 << 30], vec![0; 1023]].concat(), modulus);
/// let fresh = secret.encrypt(&context, &message, modulus)?.expand(&context);
/// let mut sum = Ciphertext::empty(&context);
/// context.add_into(&mut sum, &fresh, &fresh)?;
///
/// let decrypted = secret.decrypt(&context, &sum)?;
/// assert!(decrypted.limb(0)[0].abs_diff(2 << 30) < 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Context {
    /// The parameters of the rings. In a dry run their digest is another one.
    parameters: Parameters,
    pub(crate) rings: Arc<Rings>,
    pub(crate) plans: Arc<Plans>,
    pub(crate) memory: Memory,
    threads: Threads,
    profile: Profile,
    /// The gadgets that the planner chose, by the modulus of the polynomial and that of the key.
    pub(crate) gadgets: Cache<(Modulus, Modulus), Gadget>,
    /// The number of limbs that were transformed so far.
    pub(crate) transforms: AtomicU64,
    /// The record of a dry run, which computes without residues.
    pub(crate) ledger: Option<Ledger>,
}

/// Prints the parameters, the kernel and the number of threads, but no tables.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("parameters", self.parameters())
            .field("kernel", &self.kernel())
            .field("threads", &self.threads.count())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Prepares `parameters` for computing, with the best kernel of this CPU and `threads`.
    ///
    /// # Errors
    /// Returns an error if `HIPPOCRENE_KERNEL` names a kernel that cannot be used.
    pub fn new(parameters: Parameters, threads: Threads) -> Result<Self, RlweError> {
        let kernel = Kernel::detect()?;
        Self::with_kernel(parameters, threads, kernel)
    }

    /// [`Context::new`] with a kernel of the caller's choice.
    ///
    /// # Errors
    /// Returns an error if a residue ring cannot be made.
    pub fn with_kernel(
        parameters: Parameters,
        threads: Threads,
        kernel: Kernel,
    ) -> Result<Self, RlweError> {
        Self::build(parameters, threads, kernel, None)
    }

    /// [`Context::with_kernel`], for a dry run if there is a `ledger`.
    pub(crate) fn build(
        parameters: Parameters,
        threads: Threads,
        kernel: Kernel,
        ledger: Option<Ledger>,
    ) -> Result<Self, RlweError> {
        let rings = Arc::new(Rings::new(parameters.clone(), kernel)?);
        Ok(Self::of_parts(parameters, rings, Arc::default(), threads, ledger))
    }

    /// Builds a context from its parts.
    pub(crate) fn of_parts(
        parameters: Parameters,
        rings: Arc<Rings>,
        plans: Arc<Plans>,
        threads: Threads,
        ledger: Option<Ledger>,
    ) -> Self {
        Context {
            memory: Memory::new(&parameters, ledger.as_ref()),
            profile: Profile::typical(rings.kernel()),
            parameters,
            rings,
            plans,
            threads,
            gadgets: Cache::default(),
            transforms: AtomicU64::new(0),
            ledger,
        }
    }

    /// Plans key switches by `profile` from now on, instead of by [`Profile::typical`].
    ///
    /// A profile of a kernel other than the one in use has no effect.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        if profile.kernel() == self.kernel() { self.planned_by(profile) } else { self }
    }

    /// Plans key switches by `profile` from now on, whatever its kernel.
    pub(crate) fn planned_by(self, profile: Profile) -> Self {
        Context { profile, gadgets: Cache::default(), ..self }
    }

    /// The profile that the planner of key switches uses.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The kernel in use.
    pub fn kernel(&self) -> Kernel {
        self.rings.kernel()
    }

    /// The threads in use.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.parameters().degree()
    }

    /// The residue ring of the limb at `position` of a polynomial modulo `modulus`. `modulus` must
    /// divide `PQ_max`.
    pub fn ring_at(&self, modulus: Modulus, position: usize) -> &ResidueRing {
        self.rings.at(modulus, position)
    }

    /// The residue rings of the limbs of a polynomial modulo `modulus`, in order.
    pub fn rings(&self, modulus: Modulus) -> impl ExactSizeIterator<Item = &ResidueRing> + Clone {
        self.rings.of(modulus)
    }

    /// The residue ring of limb `k` of a polynomial modulo `modulus`.
    pub fn limb_ring(&self, modulus: Modulus, k: usize) -> &ResidueRing {
        let position = modulus.factors().nth(k).expect("a limb of this modulus");
        self.ring_at(modulus, position)
    }

    /// The automorphism `X -> X^element`.
    ///
    /// # Errors
    /// Returns an error if the element is even or not below `2N`.
    pub fn automorphism(&self, element: usize) -> Result<Arc<Automorphism>, RlweError> {
        self.rings.automorphism(element)
    }

    /// Returns the limb at `position` of `poly`, modulo `from`, reduced modulo the limb of `to`
    /// there.
    ///
    /// The result is in `spare` if the two limbs differ. This is right in both domains (GRAFT C.6).
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
        self.ring_at(to, position).reduce(spare, limb);
        spare
    }

    /// Lends a polynomial modulo `modulus` from the scratch memory. Its residues are unspecified.
    pub fn scratch(&self, modulus: Modulus, domain: Domain) -> Scratch<'_> {
        self.memory.scratch.take(modulus.limb_count(), domain)
    }

    /// Lends a polynomial of `limbs` limbs from the scratch memory. Its residues are unspecified.
    pub fn scratch_limbs(&self, limbs: usize, domain: Domain) -> Scratch<'_> {
        self.memory.scratch.take(limbs, domain)
    }

    /// The bytes of scratch memory that are free for the next operation. Lent polynomials do not
    /// count.
    pub fn scratch_memory(&self) -> usize {
        self.memory.scratch.bytes()
    }

    /// The number of bytes of dropped polynomials that are kept for reuse.
    pub fn spare_memory(&self) -> usize {
        self.memory.spare.bytes()
    }

    /// Wipes and frees the memory that operations keep for reuse.
    pub fn wipe_scratch(&self) {
        self.memory.wipe_scratch();
        self.rings.wipe_scratch();
    }

    /// Returns a polynomial without limbs, for a part of a ciphertext.
    pub(crate) fn part(&self) -> Poly {
        match &self.ledger {
            None => Poly::with_spare(self.degree(), Domain::Evaluation, &self.memory.spare),
            Some(ledger) => ledger.polynomial(self.degree()),
        }
    }

    /// The zero polynomial modulo `modulus`.
    pub fn zero(&self, modulus: Modulus, domain: Domain) -> Poly {
        let mut poly = self.part();
        poly.resize_limbs(modulus.limb_count());
        poly.set_domain(domain);
        poly.clear();
        poly
    }

    /// Checks that a modulus is one of ciphertexts, which is a divisor other than 1 of all units
    /// and the sprout.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if it is not.
    pub fn check_modulus(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        self.parameters().check_modulus(modulus, operation)
    }

    /// Checks that a modulus switch can begin or end at `modulus`, which is a divisor other than 1
    /// of `PQ_max`.
    pub(crate) fn check_switched(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        if modulus.is_one() || !modulus.divides(self.parameters().full()) {
            let need = "a divisor of all units, the sprout and all specials is needed, not 1";
            return Err(RlweError::Modulus { operation, have: modulus.limb_count(), need });
        }
        Ok(())
    }

    /// Checks that `digest` is that of these parameters.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if it is not.
    pub fn check_digest(
        &self,
        digest: Fingerprint,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        let need = self.parameters().digest();
        if digest == need {
            Ok(())
        } else {
            Err(RlweError::ParameterMismatch { operation, have: digest, need })
        }
    }
}
