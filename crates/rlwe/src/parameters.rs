//! Parameter sets.

use hippocrene_ring::primes;

use crate::{
    Fingerprint, Modulus, RlweError,
    modulus::MAX_FACTORS,
    security::{self, SecretDistribution, SecurityLimit},
};

/// The standard deviation of fresh errors.
pub use hippocrene_ring::sample::SIGMA;

/// A parameter set, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParametersLiteral {
    /// log2 of the ring degree `N`: 4 to 17.
    pub log_degree: u32,
    /// The units `q_0 .. q_{L-1}`: primes that are 1 modulo `2N`. Ciphertexts live modulo products of them.
    pub units: Vec<u64>,
    /// The specials `p_0 .. p_{K-1}`: the temporary modulus of key switching.
    pub specials: Vec<u64>,
    /// The gadget rank `dnum` (HK20): into how many digits a polynomial modulo all units is decomposed.
    pub gadget_rank: usize,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
}

/// A checked parameter set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    literal: ParametersLiteral,
    digest: Fingerprint,
    security: Option<SecurityLimit>,
}

impl Parameters {
    /// Checks a parameter set: sizes, primality, and 128-bit security of `log2(PQ)`.
    ///
    /// # Errors
    /// [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] where security is not given, [`RlweError::Parameters`] where
    /// the set makes no sense.
    pub fn new(literal: ParametersLiteral) -> Result<Self, RlweError> {
        let mut parameters = Self::new_insecure(literal)?;
        let log2_pq = parameters.log2(parameters.full());
        let literal = &parameters.literal;
        parameters.security = Some(security::check(literal.log_degree, literal.secret, log2_pq)?);
        Ok(parameters)
    }

    /// Like [`Parameters::new`] but without the check of security: for tests. **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// [`RlweError::Parameters`] where the set makes no sense.
    pub fn new_insecure(literal: ParametersLiteral) -> Result<Self, RlweError> {
        let fail = |what: String| Err(RlweError::Parameters { what });
        let ParametersLiteral { log_degree, units, specials, gadget_rank, secret } = &literal;
        if !(4..=17).contains(log_degree) {
            return fail(format!("the ring degree is 2^{log_degree}, 2^4 to 2^17 are supported"));
        }
        let degree = 1usize << log_degree;
        if units.is_empty() || units.len() + specials.len() > MAX_FACTORS {
            return fail(format!(
                "{} units and {} specials, 1 to {MAX_FACTORS} factors with at least one unit are supported",
                units.len(),
                specials.len()
            ));
        }
        if specials.is_empty() != (*gadget_rank == 0) || *gadget_rank > units.len() {
            return fail(format!(
                "gadget rank {gadget_rank} with {} units and {} specials; 1 to the number of units is possible, and 0 with no \
                 specials (no key switching)",
                units.len(),
                specials.len()
            ));
        }
        let mut sorted: Vec<u64> = units.iter().chain(specials).copied().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return fail(format!("the prime {} stands there twice", pair[0]));
        }
        if let Some(q) =
            sorted.iter().find(|&&q| q >= 1 << 61 || q % (2 * degree as u64) != 1 || !primes::is_prime(q))
        {
            return fail(format!("{q} is not a prime below 2^61 that is 1 modulo {}", 2 * degree));
        }
        if let SecretDistribution::SparseTernary { weight } = secret
            && (*weight == 0 || *weight > degree)
        {
            return fail(format!("a secret of Hamming weight {weight} at ring degree {degree}"));
        }
        let digest = digest(&literal);
        Ok(Parameters { literal, digest, security: None })
    }

    /// The set as it was written down.
    pub fn literal(&self) -> &ParametersLiteral {
        &self.literal
    }

    /// A name of this set: equal sets have equal digests.
    pub fn digest(&self) -> Fingerprint {
        self.digest
    }

    /// The security limit that it was checked against, or `None` for an insecure set.
    pub fn security(&self) -> Option<SecurityLimit> {
        self.security
    }

    /// log2 of the ring degree.
    pub fn log_degree(&self) -> u32 {
        self.literal.log_degree
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        1 << self.literal.log_degree
    }

    /// The distribution of the secret.
    pub fn secret(&self) -> SecretDistribution {
        self.literal.secret
    }

    /// The expected squared norm of the secret.
    pub fn secret_weight(&self) -> f64 {
        self.literal.secret.expected_weight(self.degree())
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.literal.units.len()
    }

    /// The prime that is factor `i`.
    pub fn factor(&self, i: usize) -> u64 {
        let units = &self.literal.units;
        if i < units.len() { units[i] } else { self.literal.specials[i - units.len()] }
    }

    /// The primes of a modulus, limb by limb.
    pub fn primes(&self, modulus: Modulus) -> Vec<u64> {
        modulus.factors().map(|i| self.factor(i)).collect()
    }

    /// The largest modulus of ciphertexts: all units.
    pub fn top(&self) -> Modulus {
        Modulus::of_range(0..self.unit_count())
    }

    /// The product of all specials, `P`.
    pub fn specials(&self) -> Modulus {
        Modulus::of_range(self.unit_count()..self.unit_count() + self.literal.specials.len())
    }

    /// `PQ_max`.
    pub fn full(&self) -> Modulus {
        self.top().lcm(self.specials())
    }

    /// log2 of a modulus, in bits.
    pub fn log2(&self, modulus: Modulus) -> f64 {
        modulus.factors().map(|i| (self.factor(i) as f64).log2()).sum()
    }

    /// The digits of the gadget at `modulus`: for each digit its index in switching keys and the units it is made of. The
    /// units are grouped by `ceil(L / dnum)`; digits with no unit left in `modulus` are left out.
    pub fn digits(&self, modulus: Modulus) -> impl Iterator<Item = (usize, Modulus)> {
        let size = self.unit_count().div_ceil(self.literal.gadget_rank.max(1));
        (0..self.literal.gadget_rank).filter_map(move |d| {
            let group = Modulus::of_range(d * size..((d + 1) * size).min(self.unit_count()).max(d * size));
            let digit = group.gcd(modulus);
            (!digit.is_one()).then_some((d, digit))
        })
    }
}

fn digest(literal: &ParametersLiteral) -> Fingerprint {
    let ParametersLiteral { log_degree, units, specials, gadget_rank, secret } = literal;
    let weight = match secret {
        SecretDistribution::Ternary => 0,
        SecretDistribution::SparseTernary { weight } => *weight as u64,
    };
    let head =
        [u64::from(*log_degree), units.len() as u64, specials.len() as u64, *gadget_rank as u64, weight];
    let bytes: Vec<u8> = head.iter().chain(units).chain(specials).flat_map(|x| x.to_le_bytes()).collect();
    Fingerprint::of("hippocrene 2026-11 parameter set", &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal() -> ParametersLiteral {
        let primes = primes::ntt_primes(30, 1 << 10, 6, &[]).unwrap();
        ParametersLiteral {
            log_degree: 10,
            units: primes[..5].to_vec(),
            specials: primes[5..].to_vec(),
            gadget_rank: 3,
            secret: SecretDistribution::Ternary,
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(matches!(Parameters::new(literal()), Err(RlweError::Insecure { .. })));
        let good = Parameters::new_insecure(literal()).unwrap();
        assert!(good.security().is_none());
        type Change = fn(&mut ParametersLiteral);
        let changes: [(Change, &str); 6] = [
            (|l| l.log_degree = 18, "2^18"),
            (|l| l.units[1] = l.units[0], "twice"),
            (|l| l.units[1] = 12301, "not a prime below"),
            (|l| l.gadget_rank = 6, "gadget rank 6"),
            (|l| l.units.clear(), "0 units"),
            (|l| l.secret = SecretDistribution::SparseTernary { weight: 5000 }, "weight 5000"),
        ];
        for (change, message) in changes {
            let mut bad = literal();
            change(&mut bad);
            let error = Parameters::new_insecure(bad).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let mut other = literal();
        other.gadget_rank = 2;
        assert_ne!(Parameters::new_insecure(other).unwrap().digest(), good.digest());
    }

    #[test]
    fn digits_cover_the_modulus() {
        let p = Parameters::new_insecure(literal()).unwrap();
        let digits: Vec<_> = p.digits(p.top()).collect();
        assert_eq!(digits.iter().map(|(_, d)| d.limb_count()).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(digits.iter().fold(Modulus::ONE, |m, (_, d)| m.lcm(*d)), p.top());
        assert_eq!(p.digits(Modulus::of_range(0..3)).count(), 2);
    }
}
