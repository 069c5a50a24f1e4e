//! Small insecure settings for tests.
#![allow(dead_code)] // each test file uses its own part

use std::sync::LazyLock;

use hippocrene::{ClientKey, EncryptedArray, KeyRequest, Server, Settings};
use hippocrene_ckks::{
    approximation::Wave,
    bits::{BitLiteral, BitPacking},
    circuits::DftLevel,
};
use hippocrene_ring::primes;
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

/// Returns settings with ring degree `2^log_degree`, a base prime of 50 bits, `depth` primes of 40
/// bits and the scale 2^40. Insecure.
pub fn insecure_settings(log_degree: u32, depth: usize) -> Settings {
    let degree = 1 << log_degree;
    let mut units = primes::ntt_primes(50, degree, 1, &[]).unwrap();
    units.extend(primes::ntt_primes(40, degree, depth, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units,
        specials: primes::ntt_primes(49, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: (depth + 1).div_ceil(2),
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    Settings::at_scale(parameters, 40).unwrap()
}

/// Returns a client and its server with `2^(log_degree - 1)` slots. Insecure.
pub fn insecure(log_degree: u32, depth: usize) -> (ClientKey, Server) {
    let client = ClientKey::generate_with(insecure_settings(log_degree, depth), 1).unwrap();
    let request = KeyRequest { conjugation: true, ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

/// Returns `count` numbers in `[-1, 1]`.
pub fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 101 + i * i) % 257) as f64 / 128.0 - 1.0).collect()
}

pub fn assert_close(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() < 2e-5, "{what}: element {i} is {g}, not {e}");
    }
}

/// Returns the number of products at scale 2^40, of values up to 1, that the capacity allows.
pub fn products_left(array: &EncryptedArray, server: &Server) -> usize {
    let capacity = array.capacity_bits(server.session()) + array.bound().max(1.0).log2();
    (capacity / 40.0) as usize
}

/// Returns settings with ring degree `2^log_degree`, `units` units of 48 bits and a sprout.
/// Insecure.
pub fn insecure_grafted(log_degree: u32, units: usize, secret: SecretDistribution) -> Settings {
    let degree = 1 << log_degree;
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: primes::ntt_primes(48, degree, units, &[]).unwrap(),
        specials: primes::ntt_primes(49, degree, 5, &[]).unwrap(),
        sprout: Sprout::for_degree(log_degree).unwrap(),
        gadget_rank: (units + 1).div_ceil(4),
        secret,
    });
    Settings::new(parameters.unwrap(), Settings::DEFAULT_PRECISION).unwrap()
}

/// Returns settings with ring degree 2^6, a base of 28 bits, nine units of 48 bits and a sprout,
/// and the parameters of a bootstrap of bits. Insecure.
pub fn insecure_bits(
    packing: BitPacking,
    clean: bool,
    output_bits: Option<f64>,
) -> (Settings, BitLiteral) {
    static WAVE: LazyLock<Wave> = LazyLock::new(|| Wave::new(17, 3, -12.0).unwrap());
    let (log_degree, degree) = (6, 1 << 6);
    let mut units = primes::ntt_primes(28, degree, 1, &[]).unwrap();
    units.extend(primes::ntt_primes(48, degree, 9, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        gadget_rank: 4,
        units,
        specials: primes::ntt_primes(49, degree, 4, &[]).unwrap(),
        sprout: Sprout::for_degree(log_degree).unwrap(),
        secret: SecretDistribution::Ternary,
    });
    let levels = |bits| DftLevel::even(1 << (log_degree - 1), 2, bits);
    let literal = BitLiteral {
        packing,
        base_bits: 28.0,
        sparse_weight: 32,
        wave: WAVE.clone(),
        scale_bits: 33.0,
        falling_bits: 3.0,
        coefficients_to_slots: levels(30.0),
        slots_to_coefficients: levels(16.0),
        bit_scale: 28,
        clean,
        output_bits,
    };
    (Settings::new(parameters.unwrap(), 20.0).unwrap(), literal)
}
