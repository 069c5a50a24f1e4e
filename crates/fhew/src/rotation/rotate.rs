//! Blind rotations with a key that is laid out in memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hippocrene_ring::{
    Domain, Kernel, ResidueRing, Threads,
    arith::inv_mod,
    digits::Digits,
    elementwise::{KeyLimb, MonomialTerm, Scalar},
    monomial::{Monomials, times_monomial},
    scratch::ScratchPool,
};
use hippocrene_rlwe::{Context, Fingerprint, Noise, RlweError, stop};

use super::{
    BlindRotationKey, LookupTable, RotationGadget, RotationParameters, count::note_look_up,
    step::MAX_BITS_PER_STEP,
};
use crate::{
    FhewError, LweCiphertext, RlweCoefficients,
    samples::{expand, rings},
};

/// A [`BlindRotationKey`] that is laid out in memory for rotations.
///
/// ```
/// use hippocrene_fhew::{
///     BlindRotationKey, LookupTable, LweParameters, LweSecretKey, RotationGadget,
///     RotationParameters,
/// };
/// use hippocrene_ring::{Threads, primes::ntt_primes};
/// use hippocrene_rlwe::SecretDistribution;
///
/// // These dimensions are too small to be secure.
/// let q = ntt_primes(45, 256, 1, &[])?[0];
/// let input = LweParameters::insecure(16, 1 << 20, SecretDistribution::Ternary)?;
/// let ring = LweParameters::insecure(256, q, SecretDistribution::Ternary)?;
/// let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
/// let parameters = RotationParameters::insecure(input, ring, gadget)?;
/// let input_secret = LweSecretKey::generate(input)?;
/// let ring_secret = LweSecretKey::generate(ring)?;
/// let threads = Threads::single();
/// let key = BlindRotationKey::generate(parameters, &input_secret, &ring_secret, &threads)?
///     .prepare(&threads)?;
///
/// let scale = 2f64.powi(40);
/// let sign = LookupTable::new(&parameters, 8.0, scale, |x| if x < 0.0 { -1.0 } else { 1.0 })?;
/// let x = (3.0 * sign.input_scale(1 << 20)) as u64;
/// let value = key.look_up(&input_secret.encrypt(x)?, &sign)?;
/// assert!((ring_secret.decrypt(&value)? as f64 / scale - 1.0).abs() < 0.01);
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug)]
pub struct PreparedBlindRotationKey {
    parameters: RotationParameters,
    input_key: Fingerprint,
    ring_key: Fingerprint,
    noise: Noise,
    kernel: Kernel,
    gadget: Gadget,
    rings: Vec<ResidueRing>,
    monomials: Vec<Monomials>,
    /// The rows of the bits, for each step and each prime.
    key: Vec<KeyLimb>,
    scratch: ScratchPool,
    /// The context of a dry run, which records operations.
    dry_run: Option<Arc<Context>>,
    rotations: AtomicU64,
}

/// A [`RotationGadget`] with its constants.
#[derive(Debug)]
enum Gadget {
    Digits(Digits),
    /// `p`, and its inverse modulo `q`.
    SpecialPrime(u64, Scalar),
}

/// The maximum number of accumulators that share each pass over the key (chosen).
///
/// The key of a step is read from memory once for all of them.
const MAX_ACCUMULATORS_PER_GROUP: usize = 4;
/// The number of groups that each thread rotates between two checks for a request to stop (chosen).
const GROUPS_PER_THREAD_BETWEEN_STOPS: usize = 4;

const OPERATION: &str = "look up";

impl BlindRotationKey {
    /// Expands the seed and lays the key out in memory, in parallel on `threads`.
    ///
    /// # Errors
    /// When an environment variable selects a kernel that this CPU lacks.
    pub fn prepare(&self, threads: &Threads) -> Result<PreparedBlindRotationKey, FhewError> {
        let parameters = self.parameters;
        let degree = parameters.ring().dimension();
        let rings = rings(degree, &parameters.moduli())?;
        let (limbs, samples) = (rings.len(), parameters.bits() * parameters.rows());
        let kernel = Kernel::detect()?;
        let mut key = threads.map(limbs * self.b.len(), |limb| {
            let (i, j) = (limb / limbs, limb % limbs);
            let a: Vec<Vec<u64>> =
                (0..samples).map(|k| expand(&rings, &self.seed, samples * i + k, j)).collect();
            let b = |k: usize| self.b[i].limb(limbs * k + j);
            let pairs: Vec<(&[u64], &[u64])> =
                a.iter().enumerate().map(|(k, a)| (b(k), a.as_slice())).collect();
            KeyLimb::of_pairs(&rings[j], &pairs)
        });
        KeyLimb::gather(&mut key);
        let gadget = match (parameters.gadget(), parameters.digits()) {
            (RotationGadget::SpecialPrime { p }, _) => {
                let inverse = inv_mod(p, parameters.ring().modulus());
                Gadget::SpecialPrime(
                    p,
                    rings[0].scalar(inverse.expect("distinct primes are coprime")),
                )
            }
            (_, digits) => Gadget::Digits(digits.expect("checked when made")),
        };
        Ok(PreparedBlindRotationKey {
            parameters,
            input_key: self.input_key,
            ring_key: self.ring_key,
            noise: parameters.noise(),
            kernel,
            gadget,
            monomials: rings.iter().map(ResidueRing::monomials).collect(),
            rings,
            key,
            scratch: ScratchPool::new(degree),
            dry_run: self.dry_run.clone(),
            rotations: AtomicU64::new(0),
        })
    }
}

/// An unfinished accumulator: both parts, one after the other, and the exponents of its input.
struct Accumulator {
    parts: Vec<u64>,
    exponents: Vec<usize>,
}

impl PreparedBlindRotationKey {
    /// Returns the parameters of the rotations.
    pub fn parameters(&self) -> RotationParameters {
        self.parameters
    }

    /// Returns the fingerprints of the secret of inputs and of the ring's secret. Results are under
    /// the latter.
    pub fn keys(&self) -> [Fingerprint; 2] {
        [self.input_key, self.ring_key]
    }

    /// Returns the memory of the key in bytes. In a dry run, this is the memory of a real key.
    pub fn bytes(&self) -> usize {
        if self.dry_run.is_some() {
            let samples = self.parameters.steps() * self.parameters.bits() * self.parameters.rows();
            let of_ring = |ring: &ResidueRing| ring.key_bytes(ring.degree());
            return samples * self.rings.iter().map(of_ring).sum::<usize>();
        }
        self.key.iter().map(KeyLimb::bytes).sum()
    }

    /// Returns the number of rotations done so far, which include look-ups.
    ///
    /// Another thread can read it to follow the progress of a long computation.
    pub fn rotations(&self) -> u64 {
        self.rotations.load(Ordering::Relaxed)
    }

    /// Looks up the value of the table's function at the input (PEGASUS Fig. 2, Theorem 1).
    ///
    /// The result is an LWE ciphertext of dimension `N` under the ring's secret. Its noise estimate
    /// combines that of the rotation ([`RotationParameters::noise`]) with that of the index
    /// ([`RotationParameters::index_noise`]) times the steepest slope of the table.
    ///
    /// # Errors
    /// If the key or the dimension of the ciphertext does not fit this key, or the table was made
    /// for other parameters.
    pub fn look_up(
        &self,
        ciphertext: &LweCiphertext,
        table: &LookupTable,
    ) -> Result<LweCiphertext, FhewError> {
        Ok(self.look_up_all(&[(ciphertext, table)], &Threads::single())?.swap_remove(0))
    }

    /// Looks up many inputs, each in its table.
    ///
    /// Several inputs share each pass over the key in memory. See
    /// [`PreparedBlindRotationKey::look_up`].
    ///
    /// # Errors
    /// The same as [`PreparedBlindRotationKey::look_up`].
    pub fn look_up_all(
        &self,
        items: &[(&LweCiphertext, &LookupTable)],
        threads: &Threads,
    ) -> Result<Vec<LweCiphertext>, FhewError> {
        let inputs: Vec<(&LweCiphertext, &[u64])> =
            items.iter().map(|(ciphertext, table)| (*ciphertext, table.coefficients())).collect();
        if let Some((_, table)) =
            items.iter().find(|(_, t)| t.modulus() != self.parameters.ring().modulus())
        {
            let (have, need) = (table.modulus(), self.parameters.ring().modulus());
            return Err(FhewError::Modulus { operation: OPERATION, have, need });
        }
        let rotated = self.rotate_all(&inputs, threads)?;
        items
            .iter()
            .zip(rotated)
            .map(|((ciphertext, table), rotated)| {
                let mut value = rotated.extract(0)?;
                let modulus = ciphertext.parameters().modulus();
                let index = self.parameters.index_noise(ciphertext.noise(), modulus);
                value.set_noise(value.noise().plus(table.noise(index)));
                Ok(value)
            })
            .collect()
    }

    /// Returns the ring of results.
    pub(super) fn ring(&self) -> &ResidueRing {
        &self.rings[0]
    }

    /// Makes a ciphertext of the ring under its secret.
    pub(super) fn ring_ciphertext(
        &self,
        c0: Vec<u64>,
        c1: Vec<u64>,
        noise: Noise,
    ) -> RlweCoefficients {
        RlweCoefficients::new(self.parameters.ring(), c0, c1, noise, self.ring_key)
    }

    /// Computes RLWE ciphertexts of `f X^(b + <a, s>)` for inputs with test polynomials `f`.
    ///
    /// The exponents are rounded to the modulus `2N`. A test polynomial is a list of residues
    /// modulo `q` in the coefficient domain. The noise estimate is that of the rotation alone.
    ///
    /// # Errors
    /// If the key or the dimension of a ciphertext does not fit this key, or a test polynomial does
    /// not have the ring degree.
    pub fn rotate_all(
        &self,
        inputs: &[(&LweCiphertext, &[u64])],
        threads: &Threads,
    ) -> Result<Vec<RlweCoefficients>, FhewError> {
        if let Some(context) = &self.dry_run {
            inputs.iter().for_each(|_| note_look_up(context, &self.parameters, &self.rings));
        }
        let mut accumulators = inputs
            .iter()
            .map(|(ct, test)| self.first_accumulator(ct, test))
            .collect::<Result<Vec<_>, _>>()?;
        let group_size =
            accumulators.len().div_ceil(threads.count()).clamp(1, MAX_ACCUMULATORS_PER_GROUP);
        let mut groups: Vec<&mut [Accumulator]> = accumulators.chunks_mut(group_size).collect();
        for groups in groups.chunks_mut(GROUPS_PER_THREAD_BETWEEN_STOPS * threads.count()) {
            stop::check(OPERATION)?;
            threads.for_each_mut(groups, |_, group| {
                self.rotate_group(group);
                self.rotations.fetch_add(group.len() as u64, Ordering::Relaxed);
            });
        }
        let finish = |accumulator: Accumulator| {
            let mut c0 = accumulator.parts;
            let c1 = c0.split_off(self.parameters.ring().dimension());
            self.ring_ciphertext(c0, c1, self.noise)
        };
        Ok(accumulators.into_iter().map(finish).collect())
    }

    /// Returns the first accumulator, `(f X^b, 0)`.
    fn first_accumulator(
        &self,
        ciphertext: &LweCiphertext,
        test: &[u64],
    ) -> Result<Accumulator, FhewError> {
        let (degree, q) = (self.parameters.ring().dimension(), self.parameters.ring().modulus());
        if ciphertext.key() != self.input_key {
            let (have, need) = (ciphertext.key(), self.input_key);
            return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
        }
        for (have, need) in
            [(ciphertext.a().len(), self.parameters.input().dimension()), (test.len(), degree)]
        {
            if have != need {
                return Err(FhewError::Dimension { operation: OPERATION, have, need });
            }
        }
        if let Some(&have) = test.iter().find(|x| **x >= q) {
            return Err(FhewError::Range {
                operation: OPERATION,
                what: "an entry",
                have,
                limit: q,
            });
        }
        let switched = ciphertext.switch_modulus(2 * degree as u64)?;
        let mut parts = vec![0; 2 * degree];
        times_monomial(q, &mut parts[..degree], test, switched.b() as usize);
        Ok(Accumulator { parts, exponents: switched.a().iter().map(|x| *x as usize).collect() })
    }

    fn rotate_group(&self, group: &mut [Accumulator]) {
        let (limbs, rows) = (self.rings.len(), self.parameters.rows());
        let mut scratch = self.scratch.take(limbs * (rows + 2) + 1, Domain::Evaluation);
        let coefficients = self.parameters.coefficients();
        for (i, key) in self.key.chunks_exact(limbs).enumerate() {
            for accumulator in group.iter_mut() {
                let a = &accumulator.exponents[coefficients * i..][..coefficients];
                let exponents = self.parameters.exponents(a);
                // All exponents are 0, so the step changes nothing.
                if exponents != [0; MAX_BITS_PER_STEP] {
                    self.step(key, exponents, &mut accumulator.parts, scratch.as_mut_slice());
                }
            }
        }
    }

    /// Computes one step: `acc = acc + sum_j (X^e_j - 1) (acc (.) K_j)`.
    fn step(
        &self,
        key: &[KeyLimb],
        exponents: [usize; MAX_BITS_PER_STEP],
        acc: &mut [u64],
        scratch: &mut [u64],
    ) {
        let (degree, rows, bits) =
            (self.parameters.ring().dimension(), self.parameters.rows(), self.parameters.bits());
        let (products, rest) = scratch.split_at_mut(2 * self.rings.len() * degree);
        let (spare, digits) = rest.split_at_mut(degree);
        self.decompose(digits, acc);
        let limbs =
            digits.chunks_exact_mut(rows * degree).zip(products.chunks_exact_mut(2 * degree));
        for (j, (digits, products)) in limbs.enumerate() {
            let ring = &self.rings[j];
            digits.chunks_exact_mut(degree).for_each(|digit| ring.forward_lazy(digit));
            let mut terms = [(0, [].as_slice()); 2 * MAX_BITS_PER_STEP * MAX_DIGITS];
            for (r, term) in terms[..bits * rows].iter_mut().enumerate() {
                *term = (r, &digits[r % rows * degree..][..degree]);
            }
            let turned: [MonomialTerm<'_>; MAX_BITS_PER_STEP] = std::array::from_fn(|j_bit| {
                let of_bit = j_bit.min(bits - 1) * rows;
                (&terms[of_bit..of_bit + rows], self.monomials[j].power(exponents[j_bit]))
            });
            let (sum0, sum1) = products.split_at_mut(degree);
            ring.inner_product_times_monomials(sum0, sum1, &turned[..bits], &key[j]);
            [sum0, sum1].into_iter().for_each(|sum| ring.inverse(sum));
        }
        self.divide(products, spare);
        for (acc, product) in acc.chunks_exact_mut(degree).zip(products.chunks_exact(degree)) {
            self.rings[0].add_assign(acc, product);
        }
    }

    /// Decomposes an accumulator in the coefficient domain into its rows, for every prime.
    fn decompose(&self, out: &mut [u64], acc: &[u64]) {
        let degree = self.parameters.ring().dimension();
        match &self.gadget {
            Gadget::Digits(digits) => {
                for (out, part) in
                    out.chunks_exact_mut(digits.count() * degree).zip(acc.chunks_exact(degree))
                {
                    digits.decompose(self.kernel, out, part);
                }
            }
            Gadget::SpecialPrime(..) => {
                let (of_q, of_p) = out.split_at_mut(2 * degree);
                of_q.copy_from_slice(acc);
                self.rings[1].reduce_centred(of_p, acc, self.rings[0].modulus());
            }
        }
    }

    /// Divides both products by `p` if there is a special prime, and rounds. The quotients replace
    /// the limbs modulo `q`.
    fn divide(&self, products: &mut [u64], spare: &mut [u64]) {
        let Gadget::SpecialPrime(p, inverse) = &self.gadget else { return };
        let degree = spare.len();
        let ring = &self.rings[0];
        let (of_q, of_p) = products.split_at_mut(2 * degree);
        for (x, y) in of_q.chunks_exact_mut(degree).zip(of_p.chunks_exact(degree)) {
            ring.reduce_centred(spare, y, *p);
            ring.sub_assign(x, spare);
            ring.mul_scalar_assign(x, inverse);
        }
    }
}

/// The maximum number of digits of one part: a modulus has at most 61 bits.
const MAX_DIGITS: usize = 61;
