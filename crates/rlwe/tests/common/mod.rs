//! Small insecure parameters for tests of many cases.
#![allow(dead_code)] // each test file uses its own part

pub mod keyswitch;

use hippocrene_ring::{Domain, Poly, RnsBasis, Threads, primes::ntt_primes};
use hippocrene_rlwe::{
    Context, Modulus, Parameters, ParametersLiteral, SecretDistribution, Sprout,
};
use num_bigint::BigInt;

/// A context with units of 40 and specials of 41 bits, at ring degree `2^log_degree`.
pub fn insecure(log_degree: u32, units: usize, specials: usize, gadget_rank: usize) -> Context {
    insecure_with(log_degree, units, specials, gadget_rank, SecretDistribution::Ternary)
}

pub fn insecure_with(
    log_degree: u32,
    units: usize,
    specials: usize,
    gadget_rank: usize,
    secret: SecretDistribution,
) -> Context {
    let degree = 1 << log_degree;
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: ntt_primes(40, degree, units, &[]).unwrap(),
        specials: ntt_primes(41, degree, specials, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank,
        secret,
    })
    .unwrap();
    Context::new(parameters, Threads::single()).unwrap()
}

/// A context with primes of any sizes in bits.
pub fn insecure_sizes(
    log_degree: u32,
    units: &[u32],
    specials: &[u32],
    gadget_rank: usize,
    secret: SecretDistribution,
) -> Context {
    let mut used = Vec::new();
    let mut primes = |sizes: &[u32]| -> Vec<u64> {
        sizes
            .iter()
            .map(|bits| {
                used.push(ntt_primes(*bits, 1 << log_degree, 1, &used).unwrap()[0]);
                used[used.len() - 1]
            })
            .collect()
    };
    let (units, specials) = (primes(units), primes(specials));
    let literal = ParametersLiteral {
        log_degree,
        units,
        specials,
        sprout: Sprout::default(),
        gadget_rank,
        secret,
    };
    Context::new(Parameters::new_insecure(literal).unwrap(), Threads::single()).unwrap()
}

/// A context with units of 40 bits, specials of 45 bits and a sprout.
pub fn insecure_grafted(
    log_degree: u32,
    units: usize,
    specials: usize,
    gadget_rank: usize,
    sprout: Sprout,
) -> Context {
    insecure_threads(log_degree, units, specials, gadget_rank, sprout, Threads::single())
}

pub fn insecure_threads(
    log_degree: u32,
    units: usize,
    specials: usize,
    gadget_rank: usize,
    sprout: Sprout,
    threads: Threads,
) -> Context {
    let degree = 1 << log_degree;
    let literal = ParametersLiteral {
        log_degree,
        units: ntt_primes(40, degree, units, &sprout.primes).unwrap(),
        specials: ntt_primes(45, degree, specials, &sprout.primes).unwrap(),
        sprout,
        gadget_rank,
        secret: SecretDistribution::Ternary,
    };
    Context::new(Parameters::new_insecure(literal).unwrap(), threads).unwrap()
}

/// Returns a modulus as a number.
pub fn number(context: &Context, modulus: Modulus) -> BigInt {
    context.parameters().limb_moduli(modulus).into_iter().map(BigInt::from).product()
}

/// Returns `x` modulo `q`, in `[-q/2, q/2)`.
pub fn centred(x: &BigInt, q: &BigInt) -> BigInt {
    let half: BigInt = q >> 1u32;
    (((x + &half) % q) + q) % q - half
}

/// Returns the coefficients in `[-Q/2, Q/2)`.
pub fn coefficients(context: &Context, poly: &Poly, modulus: Modulus) -> Vec<BigInt> {
    let mut poly = poly.clone();
    context.to_coefficient(&mut poly, modulus);
    let basis = RnsBasis::new(&context.parameters().limb_moduli(modulus)).unwrap();
    let limbs: Vec<&[u64]> = poly.limbs().collect();
    basis.compose_limbs(&limbs)
}

/// Returns the polynomial with these coefficients, in the coefficient domain.
pub fn polynomial(context: &Context, values: &[BigInt], modulus: Modulus) -> Poly {
    let basis = RnsBasis::new(&context.parameters().limb_moduli(modulus)).unwrap();
    let mut poly = context.zero(modulus, Domain::Coefficient);
    let mut residues = vec![0; modulus.limb_count()];
    for (i, value) in values.iter().enumerate() {
        basis.decompose(value, &mut residues);
        for (k, r) in residues.iter().enumerate() {
            poly.limb_mut(k)[i] = *r;
        }
    }
    poly
}

/// Returns log2 of the standard deviation of integers of any size.
pub fn log2_std(values: &[BigInt]) -> f64 {
    let largest = values.iter().map(|v| v.bits()).max().unwrap_or(0);
    let shift = largest.saturating_sub(60);
    let sum: f64 =
        values.iter().map(|v| i64::try_from(v >> shift).unwrap() as f64).map(|x| x * x).sum();
    0.5 * (sum / values.len() as f64).log2() + shift as f64
}
