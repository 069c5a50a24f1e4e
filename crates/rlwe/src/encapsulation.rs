//! Sparse-secret encapsulation: a modulus raised under a sparse secret (Bossuat, Troncoso-Pastoriza
//! and Hubaux, ePrint 2022/024).

use hippocrene_ring::Domain;

use crate::{
    Ciphertext, Context, Destination, Gadget, Modulus, Noise, Parameters, ParametersLiteral,
    PreparedEncapsulationKeys, RlweError, SIGMA, SecretDistribution, Sprout, design,
    dry_run::tally::RAISE, noise, security,
};

/// The most bits of a special.
const LARGEST: u32 = 61;

impl Parameters {
    /// The set of a sparse secret of Hamming weight `weight` for the ciphertexts of this set modulo
    /// `base = q0`: the units and the sprout of `q0`, and one special `p` of as many bits as the
    /// security limit of that secret leaves (61 at most). A key switch to it adds an error of about
    /// `sigma sqrt(N/12) q0/p` to that of rounding.
    ///
    /// # Errors
    /// [`RlweError::NoSecurityLimit`], [`RlweError::Insecure`] or [`RlweError::Parameters`] where
    /// no `p` is left; [`RlweError::Parameters`] for a `base` that is no modulus of ciphertexts, or
    /// has no unit.
    pub fn encapsulation(&self, base: Modulus, weight: usize) -> Result<Parameters, RlweError> {
        self.check_base(base)?;
        let secret = SecretDistribution::SparseTernary { weight };
        let limit = security::check(self.log_degree(), secret, self.log2(base))?;
        let left = (f64::from(limit.log2_pq) - self.log2(base)).floor() as u32;
        // The least primes that are 1 modulo 2N have about so many bits.
        let least = self.log_degree() + 3;
        if left < least {
            let what = format!(
                "encapsulation with Hamming weight {weight}: {left} bits are left beside a base modulus of {:.1} for a special, of the {} that are secure; \
                 {least} are needed",
                self.log2(base),
                limit.log2_pq
            );
            return Err(RlweError::Parameters { what });
        }
        Parameters::new(self.encapsulation_literal(base, weight, left)?)
    }

    /// [`Parameters::encapsulation`] without the check of security, with a `p` of 61 bits: for
    /// tests. **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// As `encapsulation`, but for security.
    pub fn encapsulation_insecure(
        &self,
        base: Modulus,
        weight: usize,
    ) -> Result<Parameters, RlweError> {
        self.check_base(base)?;
        Parameters::new_insecure(self.encapsulation_literal(base, weight, LARGEST)?)
    }

    fn check_base(&self, base: Modulus) -> Result<(), RlweError> {
        let what = match base.divides(self.top()) {
            true if !base.words().is_one() => return Ok(()),
            true => format!(
                "encapsulation with a base modulus of {:.1} bits, which has no unit: one with a unit is needed, of which the first has {:.1} bits; \
                 a bootstrap with such a base was made for other parameters",
                self.log2(base),
                self.log2(Modulus::of_factor(0))
            ),
            false => format!(
                "encapsulation with a base modulus of {} limbs: a divisor of the units and the sprout is needed",
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
            specials: design::largest_primes(self.log_degree(), &[special.min(LARGEST)], &avoid)?,
            units,
            sprout: Sprout { two: u32::from(base.two()), primes },
            gadget_rank: 1,
            secret: SecretDistribution::SparseTernary { weight },
        })
    }
}

impl Context {
    /// [`Context::raise_modulus_into`] under the sparse secret of `keys`: `a`, whose modulus `q0`
    /// is that of the set of `narrow`, is switched to that secret, raised to `to = Q`, and switched
    /// back. The result decrypts to `m + e + q0 I` with the `I` of the sparse secret; both key
    /// switches add to the noise.
    ///
    /// # Errors
    /// [`RlweError::KeyMismatch`] or [`RlweError::ParameterMismatch`] when ciphertext, keys and
    /// contexts do not belong together, [`RlweError::Modulus`] when `a` is not modulo `q0` or `to`
    /// is no multiple of it, [`RlweError::Parts`] when `a` has more than two parts.
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

    /// The noise of the key switch back to `s`, modulo `to`. The digits of a polynomial whose
    /// coefficients are below `q0/2` are that polynomial, as long as it is not multiplied by
    /// another special modulus first.
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
        let most = parameters.log2(base);
        let digits = parameters.digits(to).map(|(_, digit)| parameters.log2(digit).min(most));
        let product = noise::inner_product(self.degree(), SIGMA, digits);
        let rounding = noise::rounding(parameters.secret_weight(), 2);
        Ok(product.scaled(-parameters.log2(gadget.specials())).plus(rounding))
    }
}
