//! Parameter sets.

use hippocrene_ring::{arith::mul_mod, primes};

use crate::{
    Fingerprint, Modulus, RlweError, Sprout,
    modulus::MAX_UNITS_AND_SPECIALS,
    security::{self, SecretDistribution, SecurityLimit},
    sprout::MAX_SPROUT_PRIMES,
};

/// The standard deviation of fresh errors.
pub use hippocrene_ring::sample::SIGMA;

/// A parameter set as it is written down, before it is checked.
///
/// See [`Parameters`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParametersLiteral {
    /// log2 of the ring degree `N`: 4 to 17.
    pub log_degree: u32,
    /// The units `q_0 .. q_{L-1}`: primes that are 1 modulo `2N`. Moduli of ciphertexts are
    /// products of units and a divisor of the sprout.
    pub units: Vec<u64>,
    /// The specials `p_0 .. p_{K-1}`: the temporary modulus of key switching.
    pub specials: Vec<u64>,
    /// The sprout `r_top`: small factors that let moduli of ciphertexts have any number of bits, or
    /// [`Sprout::default`] for a simple chain.
    pub sprout: Sprout,
    /// The gadget rank `dnum` (HK20): the maximum number of digits into which a polynomial modulo
    /// `Q_max` is decomposed.
    pub gadget_rank: usize,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
}

/// A checked parameter set.
///
/// ```
/// use hippocrene_ring::primes;
/// use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
///
/// let primes = primes::ntt_primes(50, 1 << 13, 4, &[])?;
/// let parameters = Parameters::new(ParametersLiteral {
///     log_degree: 13,
///     units: primes[1..].to_vec(),
///     specials: primes[..1].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 3,
///     secret: SecretDistribution::Ternary,
/// })?;
/// assert_eq!(parameters.security().unwrap().bits, 128);
/// assert!((parameters.log2(parameters.full()) - 200.0).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Parameters {
    literal: ParametersLiteral,
    digest: Fingerprint,
    security: Option<SecurityLimit>,
    /// The moduli `Q_max` and `PQ_max`.
    top: Modulus,
    full: Modulus,
    /// log2 of the units and specials, by position.
    factor_bits: Vec<f64>,
    /// log2 of the products of odd sprout primes, by mask.
    odd_bits: Vec<f64>,
    /// The digits of `Q_max`.
    blocks: Vec<Modulus>,
    /// `log2(q_0 .. q_{l-1})` for `l` in `0..=L`.
    unit_bits: Vec<f64>,
    /// The divisors of the sprout with their log2, in ascending order.
    sprout_divisors: Vec<(Modulus, f64)>,
}

/// Prints the literal.
impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.literal, f)
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        (&self.literal, self.security) == (&other.literal, other.security)
    }
}

impl Eq for Parameters {}

/// The number of bits by which a digit may exceed the minimum size that the gadget rank allows.
/// Primes of one size may differ by this much. Chosen.
const DIGIT_SLACK_BITS: f64 = 0.5;

/// Moduli that differ by this number of bits are equally near for [`Parameters::grafted_modulus`].
/// Chosen.
const NEAR_BITS: f64 = 1.0 / 64.0;

impl Parameters {
    /// Checks a parameter set: sizes, primality, and 128-bit security of `log2(PQ)`.
    ///
    /// # Errors
    /// Returns [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] if the set is not secure,
    /// and [`RlweError::Parameters`] if it makes no sense.
    pub fn new(literal: ParametersLiteral) -> Result<Self, RlweError> {
        let mut parameters = Self::new_insecure(literal)?;
        let log2_pq = parameters.log2(parameters.full());
        let literal = &parameters.literal;
        parameters.security = Some(security::check(literal.log_degree, literal.secret, log2_pq)?);
        Ok(parameters)
    }

    /// Like [`Parameters::new`] but without the security check, for tests. **Nothing encrypted with
    /// such a set is secret.**
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if the set makes no sense.
    pub fn new_insecure(literal: ParametersLiteral) -> Result<Self, RlweError> {
        let fail = |what: String| Err(RlweError::Parameters { what });
        let ParametersLiteral { log_degree, units, specials, sprout, gadget_rank, secret } =
            &literal;
        if !(4..=17).contains(log_degree) {
            return fail(format!("the ring degree is 2^{log_degree}, 2^4 to 2^17 are supported"));
        }
        let degree = 1usize << log_degree;
        if units.is_empty() || units.len() + specials.len() > MAX_UNITS_AND_SPECIALS {
            return fail(format!(
                "{} units and {} specials, 1 to {MAX_UNITS_AND_SPECIALS} factors with at least one \
                 unit are supported",
                units.len(),
                specials.len()
            ));
        }
        let max_rank = units.len() + usize::from(!sprout.is_one());
        if specials.is_empty() != (*gadget_rank == 0) || *gadget_rank > max_rank {
            return fail(format!(
                "gadget rank {gadget_rank} with {} units{} and {} specials; 1 to {max_rank} is \
                                 possible, and 0 with no specials (no key switching)",
                units.len(),
                if sprout.is_one() { "" } else { ", a sprout" },
                specials.len()
            ));
        }
        if sprout.two > 60
            || sprout.primes.len() > MAX_SPROUT_PRIMES
            || sprout.odd_product(u8::MAX) >= 1 << 61
        {
            return fail(format!(
                "the sprout 2^{} times {:?}; at most 2^60 and {MAX_SPROUT_PRIMES} odd primes with \
                                 a product below 2^61 are supported",
                sprout.two, sprout.primes
            ));
        }
        let mut sorted: Vec<u64> =
            units.iter().chain(specials).chain(&sprout.primes).copied().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return fail(format!("the prime {} appears twice", pair[0]));
        }
        if let Some(q) = sorted
            .iter()
            .find(|&&q| q >= 1 << 61 || q % (2 * degree as u64) != 1 || !primes::is_prime(q))
        {
            return fail(format!("{q} is not a prime below 2^61 that is 1 modulo {}", 2 * degree));
        }
        if let SecretDistribution::SparseTernary { weight } = secret
            && (*weight == 0 || *weight > degree)
        {
            return fail(format!("a secret of Hamming weight {weight} at ring degree {degree}"));
        }
        let digest = digest(&literal);
        let bits = |prime: &u64| (*prime as f64).log2();
        let odd_bits = (0..=sprout.all_odd()).map(|odd| bits(&sprout.odd_product(odd))).collect();
        let divisors =
            (0..=sprout.all_odd()).flat_map(|odd| (0..=sprout.two).map(move |two| (odd, two)));
        let mut sprout_divisors: Vec<_> = divisors
            .map(|(odd, two)| {
                let log2 = bits(&sprout.odd_product(odd)) + f64::from(two);
                (Modulus::of_sprout(odd, two as u8), log2)
            })
            .collect();
        sprout_divisors.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let mut unit_bits = vec![0.0];
        unit_bits.extend(units.iter().scan(0.0, |sum, q| {
            *sum += bits(q);
            Some(*sum)
        }));
        let blocks = blocks(sprout, units, *gadget_rank);
        let sprout = Modulus::of_sprout(sprout.all_odd(), sprout.two as u8);
        let top = Modulus::of_range(0..units.len()).lcm(sprout);
        let full = top.lcm(Modulus::of_range(units.len()..units.len() + specials.len()));
        let factor_bits = units.iter().chain(specials).map(bits).collect();
        Ok(Parameters {
            literal,
            digest,
            security: None,
            top,
            full,
            factor_bits,
            odd_bits,
            blocks,
            unit_bits,
            sprout_divisors,
        })
    }

    /// The set as it was written down.
    pub fn literal(&self) -> &ParametersLiteral {
        &self.literal
    }

    /// Returns the same set with another digest, for a dry run. So arrays of a dry run are refused
    /// wherever real ones are needed.
    pub fn for_dry_run(self) -> Self {
        let digest = Fingerprint::of(
            "hippocrene 2026-11 dry-run parameters",
            digest(&self.literal).as_bytes(),
        );
        Parameters { digest, ..self }
    }

    /// The digest, which names this set. Equal sets have equal digests.
    pub fn digest(&self) -> Fingerprint {
        self.digest
    }

    /// The security limit against which the set was checked, or `None` for an insecure set.
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

    /// The number of units.
    pub fn unit_count(&self) -> usize {
        self.literal.units.len()
    }

    /// The prime of the unit or special at position `i`.
    ///
    /// # Panics
    /// Panics if there is no such position.
    pub fn factor(&self, i: usize) -> u64 {
        let units = &self.literal.units;
        if i < units.len() { units[i] } else { self.literal.specials[i - units.len()] }
    }

    /// The modulus of the limb of `modulus` at `position`.
    ///
    /// It is the prime of a unit or special, the product of the odd sprout primes that divide
    /// `modulus`, or `2^e`. `modulus` must divide `PQ_max` and have the position.
    ///
    /// # Panics
    /// Panics if `modulus` has a unit or special that these parameters do not have.
    pub fn limb_modulus(&self, modulus: Modulus, position: usize) -> u64 {
        match position {
            Modulus::ODD => self.literal.sprout.odd_product(modulus.odd()),
            Modulus::TWO => 1 << modulus.two(),
            _ => self.factor(position),
        }
    }

    /// The moduli of the limbs of a polynomial modulo `modulus`, in order. They are pairwise
    /// coprime, and their product is `modulus`.
    ///
    /// # Panics
    /// Panics if `modulus` has a unit or special that these parameters do not have.
    pub fn limb_moduli(&self, modulus: Modulus) -> Vec<u64> {
        modulus.factors().map(|i| self.limb_modulus(modulus, i)).collect()
    }

    /// Returns the number `modulus`, reduced modulo `q`.
    pub(crate) fn residue(&self, modulus: Modulus, q: u64) -> u64 {
        modulus.factors().fold(1 % q, |acc, i| mul_mod(acc, self.limb_modulus(modulus, i) % q, q))
    }

    /// The largest modulus of ciphertexts, `Q_max`, which is the product of all units and the
    /// sprout.
    pub fn top(&self) -> Modulus {
        self.top
    }

    /// The product of all specials, `P`.
    pub fn specials(&self) -> Modulus {
        self.full.without(self.top)
    }

    /// The product of everything, `PQ_max`.
    pub fn full(&self) -> Modulus {
        self.full
    }

    /// Checks that a modulus is one of ciphertexts, which is a divisor other than 1 of all units
    /// and the sprout.
    pub(crate) fn check_modulus(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        if modulus.is_one() || !modulus.divides(self.top()) {
            let (have, need) =
                (modulus.limb_count(), "a divisor of the units and the sprout is needed");
            return Err(RlweError::Modulus { operation, have, need });
        }
        Ok(())
    }

    /// log2 of a modulus, in bits.
    ///
    /// # Panics
    /// Panics if `modulus` has a unit or special that these parameters do not have.
    pub fn log2(&self, modulus: Modulus) -> f64 {
        let bits = |position| match position {
            Modulus::ODD => self.odd_bits[usize::from(modulus.odd())],
            Modulus::TWO => f64::from(modulus.two()),
            _ => self.factor_bits[position],
        };
        modulus.factors().map(bits).sum()
    }

    /// The digits of the gadget at `modulus`. Each digit has an index in switching keys, and the
    /// part of `modulus` that it is modulo.
    ///
    /// `Q_max` is cut into at most `dnum` blocks of consecutive factors out of
    /// `[sprout, q_0, q_1, ..]`. The size of a block is limited to the smallest number of bits for
    /// which `dnum` blocks are enough, plus half a bit because primes of one size differ. The
    /// sprout is in block 0, which ciphertexts of the smallest modulus have too (GRAFT 3.2).
    ///
    /// A digit is the greatest common divisor of a block and `modulus`. It is left out if it is 1.
    /// For divisors of the sprout, this extends the shortcut at the end of GRAFT 3.3 to the whole
    /// sprout: the digit is modulo the part of the sprout that divides `modulus`.
    pub fn digits(&self, modulus: Modulus) -> impl Iterator<Item = (usize, Modulus)> {
        let digits = self.blocks.iter().map(move |block| block.gcd(modulus)).enumerate();
        digits.filter(|(_, digit)| !digit.is_one())
    }

    /// The block with this index, which is a digit of `Q_max`, or 1 if there is none.
    pub(crate) fn block(&self, index: usize) -> Modulus {
        self.blocks.get(index).copied().unwrap_or(Modulus::ONE)
    }

    /// The modulus `q_0 .. q_{l-1} r` that is nearest to `bits` bits, where `r` is a divisor of the
    /// sprout (GRAFT Alg. 3).
    ///
    /// Moduli that are farther by at most `2^-6` bits count as equally near. Among them this is the
    /// one that is cheapest to compute with. It has the fewest limbs, where that of the power of
    /// two counts twice. The result is never 1.
    ///
    /// On a simple chain it is the nearest product of the first units.
    pub fn grafted_modulus(&self, bits: f64) -> Modulus {
        // The divisors on either side of the missing bits with `l` units, the nearest first.
        // Without units, the divisor must be more than 1.
        let sides = |l: usize| {
            let sum = self.unit_bits[l];
            let distance =
                move |(divisor, log2): &(Modulus, f64)| ((sum + log2 - bits).abs(), l, *divisor);
            let divisors = &self.sprout_divisors[usize::from(l == 0)..];
            let (below, above) =
                divisors.split_at(divisors.partition_point(|(_, log2)| sum + log2 < bits));
            (below.iter().rev().map(distance), above.iter().map(distance))
        };
        let counts = 0..=self.unit_count();
        let nearest = counts.clone().flat_map(|l| {
            let (mut below, mut above) = sides(l);
            [below.next(), above.next()].into_iter().flatten().map(|(distance, ..)| distance)
        });
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        let is_near = |candidate: &(f64, usize, Modulus)| candidate.0 <= nearest + NEAR_BITS;
        let near = counts.flat_map(|l| {
            let (below, above) = sides(l);
            below.take_while(&is_near).chain(above.take_while(&is_near))
        });
        let cost = |l: usize, divisor: Modulus| {
            l + divisor.limb_count() + usize::from(divisor.contains(Modulus::TWO))
        };
        let best = near.min_by(|(a, l, r), (b, m, s)| {
            let parts = |divisor: &Modulus| (divisor.odd(), divisor.two());
            let by_cost = cost(*l, *r).cmp(&cost(*m, *s)).then(a.total_cmp(b));
            by_cost.then(parts(r).cmp(&parts(s))).then(l.cmp(m))
        });
        best.map_or(Modulus::of_factor(0), |(_, l, divisor)| Modulus::of_range(0..l).lcm(divisor))
    }
}

/// Returns the digits of `Q_max`, see [`Parameters::digits`].
fn blocks(sprout: &Sprout, units: &[u64], gadget_rank: usize) -> Vec<Modulus> {
    let whole = Modulus::of_sprout(sprout.all_odd(), sprout.two as u8);
    let sprout_bits = (sprout.odd_product(u8::MAX) as f64).log2() + f64::from(sprout.two);
    let items: Vec<(Modulus, f64)> = std::iter::once((whole, sprout_bits))
        .filter(|(sprout, _)| !sprout.is_one())
        .chain(units.iter().enumerate().map(|(i, q)| (Modulus::of_factor(i), (*q as f64).log2())))
        .collect();
    let fill = |cap: f64| {
        let mut blocks: Vec<(Modulus, f64)> = Vec::new();
        for (item, bits) in &items {
            match blocks.last_mut() {
                Some((block, sum)) if *sum + bits <= cap => {
                    *block = block.lcm(*item);
                    *sum += bits;
                }
                _ => blocks.push((*item, *bits)),
            }
        }
        blocks.into_iter().map(|(block, _)| block).collect::<Vec<_>>()
    };
    // The smallest cap is the size of some run of factors. It is not smaller than the largest
    // factor.
    let largest = items.iter().map(|(_, bits)| *bits).fold(0.0, f64::max);
    let runs = (0..items.len()).flat_map(|first| {
        items[first..].iter().scan(0.0, |sum, (_, bits)| {
            *sum += bits;
            Some(*sum)
        })
    });
    let enough = runs.filter(|cap| *cap >= largest && fill(*cap).len() <= gadget_rank);
    match gadget_rank {
        0 => Vec::new(),
        _ => fill(enough.fold(f64::INFINITY, f64::min) + DIGIT_SLACK_BITS),
    }
}

/// Hashes a parameter set.
fn digest(literal: &ParametersLiteral) -> Fingerprint {
    let ParametersLiteral { log_degree, units, specials, sprout, gadget_rank, secret } = literal;
    let weight = match secret {
        SecretDistribution::Ternary => 0,
        SecretDistribution::SparseTernary { weight } => *weight as u64,
        SecretDistribution::Binary => u64::MAX,
    };
    let head = [
        u64::from(*log_degree),
        units.len() as u64,
        specials.len() as u64,
        *gadget_rank as u64,
        weight,
        u64::from(sprout.two),
        sprout.primes.len() as u64,
    ];
    let numbers = head.iter().chain(units).chain(specials).chain(&sprout.primes);
    let bytes: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
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
            sprout: Sprout::default(),
            gadget_rank: 3,
            secret: SecretDistribution::Ternary,
        }
    }

    fn grafted(gadget_rank: usize) -> Parameters {
        let primes = primes::ntt_primes(43, 1 << 13, 8, &[]).unwrap();
        let literal = ParametersLiteral {
            log_degree: 13,
            units: primes[..6].to_vec(),
            specials: primes[6..].to_vec(),
            sprout: Sprout::named("sprout-15-16-30").unwrap(),
            gadget_rank,
            secret: SecretDistribution::Ternary,
        };
        Parameters::new_insecure(literal).unwrap()
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(matches!(Parameters::new(literal()), Err(RlweError::Insecure { .. })));
        let good = Parameters::new_insecure(literal()).unwrap();
        assert!(good.security().is_none());
        type Change = fn(&mut ParametersLiteral);
        let changes: [(Change, &str); 11] = [
            (|l| l.log_degree = 18, "2^18"),
            (|l| l.units[1] = l.units[0], "twice"),
            (|l| l.units[1] = 12301, "not a prime below"),
            (|l| l.gadget_rank = 6, "gadget rank 6"),
            (|l| l.units.clear(), "0 units"),
            (|l| l.secret = SecretDistribution::SparseTernary { weight: 5000 }, "weight 5000"),
            (|l| l.sprout.two = 61, "the sprout 2^61"),
            (|l| l.sprout.primes = vec![12289; 5], "4 odd primes"),
            (|l| l.sprout.primes = vec![12289; 2], "12289 appears twice"),
            (|l| l.sprout.primes = vec![12289 << 20, 40961 << 20], "below 2^61"),
            (|l| l.sprout.primes = vec![12301], "12301 is not a prime below"),
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
        for sprout in [Sprout { two: 1, primes: vec![] }, Sprout { two: 0, primes: vec![12289] }] {
            let other = ParametersLiteral { sprout, ..literal() };
            assert_ne!(Parameters::new_insecure(other).unwrap().digest(), good.digest());
        }
        let sprouted = ParametersLiteral { gadget_rank: 6, ..grafted(3).literal };
        assert!(Parameters::new_insecure(sprouted.clone()).is_ok());
        let error =
            Parameters::new_insecure(ParametersLiteral { gadget_rank: 8, ..sprouted }).unwrap_err();
        assert!(error.to_string().contains("a sprout and 2 specials; 1 to 7"), "{error}");
    }

    #[test]
    fn limbs_of_the_sprout_are_its_divisors() {
        let p = grafted(3);
        let modulus = Modulus::of_range(2..3).lcm(Modulus::of_sprout(0b10, 3));
        assert_eq!(p.limb_moduli(modulus), [p.factor(2), 1_073_479_681, 8]);
        assert_eq!(p.limb_modulus(p.top(), Modulus::ODD), 65_537 * 1_073_479_681);
        assert_eq!(p.limb_moduli(p.full()).len(), 10);
        let log2: f64 = p.limb_moduli(modulus).iter().map(|q| (*q as f64).log2()).sum();
        assert!((p.log2(modulus) - log2).abs() < 1e-9);
    }

    /// Compares with all moduli.
    #[test]
    fn grafted_moduli_are_the_nearest() {
        let (grafted, simple) = (grafted(3), Parameters::new_insecure(literal()).unwrap());
        for p in [&grafted, &simple] {
            let sprout = p.top().sprout();
            let divisors =
                (0..=sprout.odd()).flat_map(|odd| (0..=sprout.two()).map(move |two| (odd, two)));
            let moduli: Vec<Modulus> = divisors
                .flat_map(|(odd, two)| {
                    (0..=p.unit_count())
                        .map(move |l| Modulus::of_range(0..l).lcm(Modulus::of_sprout(odd, two)))
                })
                .filter(|m| !m.is_one())
                .collect();
            for bits in (-10..4000).map(|i| f64::from(i) / 10.0) {
                let distance = |m: Modulus| (p.log2(m) - bits).abs();
                let nearest = moduli.iter().map(|m| distance(*m)).fold(f64::INFINITY, f64::min);
                let cost = |m: Modulus| m.limb_count() + usize::from(m.contains(Modulus::TWO));
                let near = moduli.iter().filter(|m| distance(**m) <= nearest + NEAR_BITS);
                let (got, least) = (p.grafted_modulus(bits), near.map(|m| cost(*m)).min().unwrap());
                assert!(
                    distance(got) <= nearest + NEAR_BITS && cost(got) == least,
                    "{bits} {got:?}"
                );
            }
        }
        assert_eq!(grafted.grafted_modulus(16.0), Modulus::of_sprout(1, 0));
    }

    #[test]
    fn digits_are_balanced_by_bits() {
        // The sizes are 61, 43, 43, 43, 43, 43 and 43 bits.
        for (rank, counts) in [
            (1, vec![8]),
            (2, vec![4, 4]),
            (3, vec![3, 3, 2]),
            (4, vec![2, 2, 2, 2]),
            (5, vec![2, 2, 2, 2]),
        ] {
            let p = grafted(rank);
            let digits: Vec<_> = p.digits(p.top()).map(|(_, d)| d).collect();
            assert_eq!(
                digits.iter().map(|d| d.limb_count()).collect::<Vec<_>>(),
                counts,
                "rank {rank}"
            );
            assert_eq!(digits.iter().fold(Modulus::ONE, |m, d| m.lcm(*d)), p.top());
        }
        let p = grafted(4);
        let modulus = Modulus::of_range(0..2).lcm(Modulus::of_sprout(1, 4));
        let parts = [Modulus::of_sprout(1, 4), Modulus::of_range(0..2)];
        assert_eq!(
            p.digits(modulus).collect::<Vec<_>>(),
            parts.into_iter().enumerate().collect::<Vec<_>>()
        );
        assert_eq!(
            p.digits(Modulus::of_factor(5)).collect::<Vec<_>>(),
            [(3, Modulus::of_factor(5))]
        );
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
