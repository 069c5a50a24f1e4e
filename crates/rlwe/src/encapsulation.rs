//! Sparse-secret encapsulation: raising a modulus under a sparse secret (Bossuat,
//! Troncoso-Pastoriza and Hubaux, ePrint 2022/024).

use hippocrene_ring::Domain;

use crate::{
    Ciphertext, Context, Destination, Gadget, Modulus, Noise, Parameters, ParametersLiteral,
    PreparedEncapsulationKeys, RlweError, SIGMA, SecretDistribution, Sprout, design,
    dry_run::tally::RAISE, noise, security,
};

/// The maximum number of bits of the special prime.
const MAX_SPECIAL_BITS: u32 = 61;

impl Parameters {
    /// Returns the parameter set of a sparse secret of Hamming weight `weight`, for ciphertexts of
    /// this set modulo `base = q0`.
    ///
    /// It has the units and the sprout of `q0` and one special `p`. `p` has as many bits as the
    /// security limit of the sparse secret leaves, up to 61. A key switch to the sparse secret adds
    /// an error of about `sigma sqrt(N/12) q0/p` to the rounding error.
    ///
    /// # Errors
    /// Returns [`RlweError::NoSecurityLimit`], [`RlweError::Insecure`] or [`RlweError::Parameters`]
    /// if the limit leaves no room for `p`, and [`RlweError::Parameters`] if `base` is not a
    /// modulus of ciphertexts or has no unit.
    pub fn encapsulation(&self, base: Modulus, weight: usize) -> Result<Parameters, RlweError> {
        self.check_base(base)?;
        let secret = SecretDistribution::SparseTernary { weight };
        let limit = security::check(self.log_degree(), secret, self.log2(base))?;
        let remaining_bits = (f64::from(limit.log2_pq) - self.log2(base)).floor() as u32;
        // The smallest primes that are 1 modulo 2N have about this many bits.
        let min_bits = self.log_degree() + 3;
        if remaining_bits < min_bits {
            let what = format!(
                "encapsulation with Hamming weight {weight}: {remaining_bits} bits are left for a \
                 special prime beside a base modulus of {:.1} bits, of the {} bits that are \
                 secure; {min_bits} are needed",
                self.log2(base),
                limit.log2_pq
            );
            return Err(RlweError::Parameters { what });
        }
        Parameters::new(self.encapsulation_literal(base, weight, remaining_bits)?)
    }

    /// [`Parameters::encapsulation`] without the security check and with a `p` of 61 bits, for
    /// tests. **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// Returns the same errors as `encapsulation`, except those of security.
    pub fn encapsulation_insecure(
        &self,
        base: Modulus,
        weight: usize,
    ) -> Result<Parameters, RlweError> {
        self.check_base(base)?;
        Parameters::new_insecure(self.encapsulation_literal(base, weight, MAX_SPECIAL_BITS)?)
    }

    /// Checks that `base` is a modulus of ciphertexts that has a unit.
    fn check_base(&self, base: Modulus) -> Result<(), RlweError> {
        let what = match base.divides(self.top()) {
            true if !base.words().is_one() => return Ok(()),
            true => format!(
                "encapsulation with a base modulus of {:.1} bits, which has no unit: one with a \
                 unit is needed. The first unit has {:.1} bits. A bootstrap with such a base was \
                 made for other parameters.",
                self.log2(base),
                self.log2(Modulus::of_factor(0))
            ),
            false => format!(
                "encapsulation with a base modulus of {} limbs: a divisor of the units and the \
                 sprout is needed",
                base.limb_count()
            ),
        };
        Err(RlweError::Parameters { what })
    }

    fn encapsulation_literal(
        &self,
        base: Modulus,
        weight: usize,
        special: u32,
    ) -> Result<ParametersLiteral, RlweError> {
        let units: Vec<u64> = base.words().factors().map(|i| self.factor(i)).collect();
        let primes: Vec<u64> = self.literal().sprout.chosen(base.odd()).collect();
        let avoid: Vec<u64> = units.iter().chain(&primes).copied().collect();
        Ok(ParametersLiteral {
            log_degree: self.log_degree(),
            specials: design::largest_primes(
                self.log_degree(),
                &[special.min(MAX_SPECIAL_BITS)],
                &avoid,
            )?,
            units,
            sprout: Sprout { two: u32::from(base.two()), primes },
            gadget_rank: 1,
            secret: SecretDistribution::SparseTernary { weight },
        })
    }
}

impl Context {
    /// Raises the modulus of `a` under the sparse secret of `keys`, like
    /// [`Context::raise_modulus_into`].
    ///
    /// `a` must be modulo `q0`, the modulus of the parameter set of `narrow`. It is switched to the
    /// sparse secret, raised to `to = Q` and switched back. The result decrypts to `m + e + q0 I`
    /// with the `I` of the sparse secret. Both key switches add noise.
    ///
    /// # Errors
    /// Returns [`RlweError::KeyMismatch`] or [`RlweError::ParameterMismatch`] if ciphertext, keys
    /// and contexts do not belong together, [`RlweError::Modulus`] if `a` is not modulo `q0` or
    /// `to` is not a multiple of `q0`, and [`RlweError::Parts`] if `a` has more than two parts.
    pub fn raise_encapsulated_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        keys: &PreparedEncapsulationKeys,
        narrow: &Context,
        to: Modulus,
    ) -> Result<(), RlweError> {
        const OPERATION: &str = "raise the modulus under a sparse secret";
        self.check_two_parts(a, OPERATION)?;
        self.check_digest(keys.up().parameters(), OPERATION)?;
        narrow.check_digest(keys.down().parameters(), OPERATION)?;
        if a.key() != keys.secret() {
            return Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: a.key(),
                need: keys.secret(),
            });
        }
        let (from, low) = (a.modulus(), narrow.parameters().top());
        if keys.inclusion().modulus(low) != from {
            return Err(RlweError::Modulus {
                operation: OPERATION,
                have: from.limb_count(),
                need: "the modulus of the set of the sparse secret is needed",
            });
        }
        self.check_raise(from, to)?;
        self.record(RAISE, |_| ());
        let mut sparse = [0, 1].map(|_| narrow.scratch(low, Domain::Coefficient));
        let [s0, s1] = &mut sparse;
        let destination = Destination { domain: Domain::Coefficient, ..Destination::new(low) };
        let decomposed = narrow.decompose(a.part(1), low)?;
        narrow.switch_keys_into(
            [s0, s1],
            &decomposed,
            keys.down(),
            [Some(a.part(0)), None],
            &destination,
        )?;
        let mut raised = [0, 1].map(|_| self.scratch(to, Domain::Coefficient));
        for (raised, sparse) in raised.iter_mut().zip(&mut sparse) {
            self.raise_coefficients(raised, sparse, from, to);
        }
        let noise = a.noise().plus(narrow.key_switch_noise(low, low)?);
        let (key, gadget) = (keys.up().modulus(), self.gadget_within(to, keys.up().modulus())?);
        let noise = noise.plus(self.noise_of_return(from, to, gadget, key)?);
        out.reshape(self, 2, to, noise, a.key());
        let [out0, out1] = out.parts_mut() else { unreachable!("reshaped to two parts") };
        let decomposed = self.decompose_with(&raised[1], to, gadget)?;
        self.switch_keys_into(
            [out0, out1],
            &decomposed,
            keys.up(),
            [Some(&raised[0]), None],
            &Destination::new(to),
        )
    }

    /// Returns the noise of the key switch back to `s`, modulo `to`.
    ///
    /// A polynomial with coefficients below `q0/2` equals each of its digits, unless it is first
    /// multiplied by a special modulus other than that of the base key.
    fn noise_of_return(
        &self,
        base: Modulus,
        to: Modulus,
        gadget: Gadget,
        key: Modulus,
    ) -> Result<Noise, RlweError> {
        let parameters = self.parameters();
        if gadget.specials() != parameters.specials() {
            return self.key_switch_noise_within(to, gadget, key, to);
        }
        let max_bits = parameters.log2(base);
        let digits = parameters.digits(to).map(|(_, digit)| parameters.log2(digit).min(max_bits));
        let product = noise::inner_product(self.degree(), SIGMA, digits);
        let rounding = noise::rounding(parameters.secret_weight(), 2);
        Ok(product.scaled(-parameters.log2(gadget.specials())).plus(rounding))
    }
}
