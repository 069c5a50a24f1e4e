//! Compares scaled products with products of integers of any size.

use hippocrene_ring::{Domain, Kernel, Poly, RnsBasis, Threads, primes::ntt_primes, sample::Seed};
use num_bigint::BigInt;

use crate::{
    Ciphertext, Context, Fingerprint, Modulus, Noise, Parameters, ParametersLiteral,
    SecretDistribution, Sprout, expand_uniform,
};

const LOG_DEGREE: u32 = 5;

/// Builds insecure parameters with units of these sizes in bits.
fn insecure(units: &[u32], sprout: &str, kernel: Kernel, threads: Threads) -> Context {
    let degree = 1 << LOG_DEGREE;
    let mut used = Vec::new();
    for bits in units {
        used.extend(ntt_primes(*bits, degree, 1, &used).unwrap());
    }
    let literal = ParametersLiteral {
        log_degree: LOG_DEGREE,
        specials: ntt_primes(48, degree, 2, &used).unwrap(),
        units: used,
        sprout: Sprout::named(sprout).unwrap_or_default(),
        gadget_rank: 2,
        secret: SecretDistribution::Ternary,
    };
    Context::with_kernel(Parameters::new_insecure(literal).unwrap(), threads, kernel).unwrap()
}

/// A ciphertext whose parts are uniform modulo `modulus`.
fn uniform(context: &Context, modulus: Modulus) -> Ciphertext {
    let seed = Seed::random().unwrap();
    let parts = (0..2).map(|i| expand_uniform(context, &seed, i, modulus)).collect();
    let key = Fingerprint::from_bytes([1; 16]);
    Ciphertext::from_parts(context, parts, modulus, Noise::NONE, key).unwrap()
}

/// The product of the moduli.
fn number(moduli: &[u64]) -> BigInt {
    moduli.iter().copied().map(BigInt::from).product()
}

/// Returns the coefficients in `[-Q/2, Q/2)` from residues that may exceed their moduli.
fn coefficients(context: &Context, poly: &Poly, modulus: Modulus) -> Vec<BigInt> {
    let mut poly = poly.clone();
    context.to_coefficient(&mut poly, modulus);
    for (limb, q) in poly.limbs_mut().zip(context.parameters().limb_moduli(modulus)) {
        limb.iter_mut().for_each(|x| *x %= q);
    }
    let basis = RnsBasis::new(&context.parameters().limb_moduli(modulus)).unwrap();
    basis.compose_limbs(&poly.limbs().collect::<Vec<_>>())
}

/// Returns `round(n x/d)` for positive `d`. Halves are rounded up.
fn rounded(x: &BigInt, n: &BigInt, d: &BigInt) -> BigInt {
    let twice: BigInt = d * 2;
    let numerator: BigInt = x * n * 2 + d;
    let remainder = ((&numerator % &twice) + &twice) % &twice;
    (numerator - remainder) / twice
}

/// Returns the product modulo `X^N + 1`.
fn product(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    let n = a.len();
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let term = x * y;
            if i + j < n { out[i + j] += term } else { out[i + j - n] -= term }
        }
    }
    out
}

/// Compares all parts of a scaled product with the exact result.
fn check(context: &Context, modulus: Modulus, other: Modulus, t: u64, square: bool) {
    let parameters = context.parameters();
    let a = uniform(context, modulus);
    let b = if square { a.clone() } else { uniform(context, other) };
    let b = if square { &a } else { &b };
    let constants = context.scaled_product(modulus, other, t).unwrap();
    let parts = context.scaled_parts(&constants, &a, b, true);

    let primes: Vec<u64> = constants.rings.iter().map(|ring| ring.modulus()).collect();
    let (own, auxiliary) = (number(&parameters.limb_moduli(modulus)), number(&primes));
    let from = number(&parameters.limb_moduli(other));
    let big_a: Vec<_> = a.parts().iter().map(|part| coefficients(context, part, modulus)).collect();
    let switched = |part: &Poly| -> Vec<BigInt> {
        coefficients(context, part, other).iter().map(|x| rounded(x, &auxiliary, &from)).collect()
    };
    let big_b: Vec<_> = b.parts().iter().map(switched).collect();
    let cross = product(&big_a[0], &big_b[1]).into_iter().zip(product(&big_a[1], &big_b[0]));
    let tensor = [
        product(&big_a[0], &big_b[0]),
        cross.map(|(x, y)| x + y).collect(),
        product(&big_a[1], &big_b[1]),
    ];
    let t = BigInt::from(t);
    for (i, x) in tensor.iter().enumerate() {
        let got: Vec<BigInt> = match i {
            2 => coefficients(context, &parts.last, modulus),
            _ => {
                let product = coefficients(context, &parts.pair[i], modulus);
                let remainder = coefficients(context, &parts.remainders[i], modulus);
                product.into_iter().zip(remainder).map(|(x, y)| x + y).collect()
            }
        };
        for (got, x) in got.iter().zip(x) {
            assert_eq!((got - rounded(x, &t, &auxiliary)) % &own, BigInt::ZERO, "part {i}");
        }
    }
    let canonical = |poly: &Poly| {
        let moduli = parameters.limb_moduli(modulus);
        poly.limbs().zip(moduli).all(|(limb, q)| limb.iter().all(|x| *x < q))
    };
    assert!(canonical(&parts.last) && parts.pair.iter().all(|poly| canonical(poly)));
    assert_eq!(parts.last.domain(), Domain::Coefficient);
}

#[test]
fn scaled_products_are_exact() {
    let sizes: [(&[u32], &str); 3] = [
        (&[48, 48, 47, 47], "sprout-15-16-32"),
        (&[48, 48, 48], "none"),
        (&[60, 61, 40, 30], "none"),
    ];
    let kernels = [Kernel::Portable, Kernel::detect().unwrap()];
    for (units, sprout) in sizes {
        for (kernel, threads) in
            kernels.into_iter().zip([Threads::single(), Threads::new(2).unwrap()])
        {
            let context = insecure(units, sprout, kernel, threads);
            let top = context.parameters().top();
            let smaller = Modulus::of_range(0..2).lcm(Modulus::of_sprout(top.odd() & 1, 0));
            for t in [2, 65537, (1 << 40) + 15] {
                for (modulus, other) in
                    [(top, top), (smaller, top), (smaller, smaller), (top, smaller)]
                {
                    check(&context, modulus, other, t, false);
                }
                check(&context, top, top, t, true);
                check(&context, smaller, smaller, t, true);
            }
        }
    }
}

/// The auxiliary modulus has about the size of `Q`, and its primes divide no modulus of
/// ciphertexts.
#[test]
fn auxiliary_moduli_are_coprime_and_of_the_same_size() {
    let context =
        insecure(&[48, 48, 47, 47], "sprout-15-16-32", Kernel::Portable, Threads::single());
    let parameters = context.parameters();
    let top = parameters.top();
    let constants = context.scaled_product(top, top, 3).unwrap();
    let factors = parameters.limb_moduli(Modulus::of_range(0..4));
    assert!(constants.rings.iter().all(|ring| !factors.contains(&ring.modulus())));
    for modulus in [top, Modulus::of_range(0..2), Modulus::of_factor(3), Modulus::of_sprout(3, 0)] {
        let (have, need) = (context.auxiliary_log2(modulus).unwrap(), parameters.log2(modulus));
        assert!(have > need - 0.5 && have < need + 48.0, "{have} bits for {need}");
    }
}
