//! Tests of gates on encrypted bits, at small insecure parameters and at real ones.

use std::sync::{Arc, LazyLock};

use hippocrene_ckks::{
    Ciphertext, CkksError, Context, Evaluator, Short,
    approximation::Wave,
    bits::{
        BitBootstrapper, BitCiphertext, BitLiteral, BitPacking, BitPlan, DEVIATIONS, decode_bits,
        encode_bits, gate_error,
    },
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Gate, Modulus, Noise, Parameters, ParametersLiteral, SecretDistribution,
    SecretKey, Sprout,
};

struct Setup {
    context: Arc<Context>,
    secret: SecretKey,
    bootstrapper: BitBootstrapper,
}

/// A base of 28 bits, units of 48 bits and a sprout. Insecure.
fn insecure(log_degree: u32, units: usize) -> Arc<Context> {
    let degree = 1 << log_degree;
    let mut chain = primes::ntt_primes(28, degree, 1, &[]).unwrap();
    chain.extend(primes::ntt_primes(48, degree, units, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        gadget_rank: (units + 2).div_ceil(3),
        units: chain,
        specials: primes::ntt_primes(49, degree, 4, &[]).unwrap(),
        sprout: Sprout::for_degree(log_degree).unwrap(),
        secret: SecretDistribution::SparseTernary { weight: (degree / 2).min(192) },
    });
    Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap())
}

fn setup(context: Arc<Context>, literal: BitLiteral) -> Setup {
    let secret = SecretKey::generate(context.rlwe()).unwrap();
    let plan = Arc::new(BitPlan::new(Arc::clone(&context), literal).unwrap());
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    plan.add_keys(&mut keys, &secret).unwrap();
    let keys = Arc::new(keys.prepare(context.rlwe()).unwrap());
    let encapsulation = plan.encapsulation_keys(&secret).unwrap();
    let encapsulation =
        Arc::new(encapsulation.prepare(context.rlwe(), plan.sparse_context()).unwrap());
    let evaluator = Evaluator::new(Arc::clone(&context), keys);
    Setup {
        bootstrapper: BitBootstrapper::new(plan, evaluator, encapsulation).unwrap(),
        context,
        secret,
    }
}

fn wave() -> Wave {
    static WAVE: LazyLock<Wave> = LazyLock::new(|| Wave::new(17, 3, -12.0).unwrap());
    WAVE.clone()
}

fn literal(context: &Context, packing: BitPacking) -> BitLiteral {
    BitLiteral {
        packing,
        base_bits: 28.0,
        sparse_weight: 32,
        wave: wave(),
        scale_bits: 33.0,
        falling_bits: 3.0,
        coefficients_to_slots: BitLiteral::levels(context, 2, 30.0),
        slots_to_coefficients: BitLiteral::levels(context, 2, 16.0),
        bit_scale: 28,
        clean: true,
        output_bits: None,
    }
}

impl Setup {
    fn plan(&self) -> &BitPlan {
        self.bootstrapper.plan()
    }

    fn packing(&self) -> BitPacking {
        self.plan().literal().packing
    }

    fn encrypt(&self, bits: &[bool], modulus: Modulus) -> BitCiphertext {
        let (c, scale) = (&self.context, self.plan().bit_scale());
        let plaintext =
            encode_bits(c, bits, self.packing(), c.max_slots(), scale, modulus).unwrap();
        let a = c.encrypt(&self.secret, &plaintext).unwrap().expand(c);
        BitCiphertext::declare(a, self.packing()).unwrap()
    }

    fn fresh(&self, bits: &[bool]) -> BitCiphertext {
        self.encrypt(bits, self.plan().input_modulus())
    }

    fn parts(&self, a: &Ciphertext) -> Vec<f64> {
        let z =
            self.context.decode_complex(&self.context.decrypt(&self.secret, a).unwrap()).unwrap();
        let real = z.iter().map(|z| z.re);
        match self.packing() {
            BitPacking::Real => real.collect(),
            BitPacking::Complex => real.chain(z.iter().map(|z| z.im)).collect(),
        }
    }

    /// Checks the bits, and returns the largest error and the root mean square.
    fn check(&self, a: &BitCiphertext, bits: &[bool], what: &str) -> (f64, f64) {
        let plaintext = self.context.decrypt(&self.secret, a.ciphertext()).unwrap();
        assert_eq!(decode_bits(&self.context, &plaintext, a.packing()).unwrap(), bits, "{what}");
        let parts = self.parts(a.ciphertext());
        let errors = || parts.iter().zip(bits).map(|(x, b)| x - f64::from(u8::from(*b)));
        let largest = errors().fold(0.0, |m, e| e.abs().max(m));
        assert!(largest <= a.error(), "{what}: {largest}, estimated {}", a.error());
        (largest, (errors().map(|e| e * e).sum::<f64>() / parts.len() as f64).sqrt())
    }
}

/// Returns pseudorandom bits, which differ for each `seed`.
fn bits(count: usize, seed: u64) -> Vec<bool> {
    let mix = |i: u64| {
        let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (seed + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63 == 1
    };
    (0..count as u64).map(mix).collect()
}

fn apply(gate: Gate, inputs: &[&[bool]]) -> Vec<bool> {
    let ones = |i: usize| inputs.iter().filter(|bits| bits[i]).count();
    (0..inputs[0].len()).map(|i| gate.value(ones(i), inputs.len())).collect()
}

fn operands(all: &[BitCiphertext]) -> Vec<&BitCiphertext> {
    all.iter().collect()
}

fn slices(all: &[Vec<bool>]) -> Vec<&[bool]> {
    all.iter().map(Vec::as_slice).collect()
}

#[test]
fn gates_are_what_their_tables_say() {
    let context = insecure(8, 9);
    for packing in [BitPacking::Real, BitPacking::Complex] {
        let s = setup(Arc::clone(&context), literal(&context, packing));
        assert!(s.plan().log2_failure_probability() < -128.0);
        let log2 = |a: &BitCiphertext| context.parameters().log2(a.ciphertext().modulus());
        let raised = context.parameters().log2(s.plan().raised());
        let inputs: Vec<Vec<bool>> = (0..3).map(|seed| bits(s.plan().capacity(), seed)).collect();
        let encrypted: Vec<BitCiphertext> = inputs.iter().map(|bits| s.fresh(bits)).collect();
        let refreshed = s.bootstrapper.refresh(&encrypted[0]).unwrap();
        s.check(&refreshed, &inputs[0], "refresh");
        assert!((raised - log2(&refreshed) - s.plan().modulus_bits_of_refresh()).abs() < 4.0);
        for (gate, k) in Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]) {
            if (gate, k) == (Gate::Majority, 2) {
                continue;
            }
            let y = s.bootstrapper.gate(gate, &operands(&encrypted[..k])).unwrap();
            s.check(&y, &apply(gate, &slices(&inputs[..k])), &format!("{packing:?} {gate:?} {k}"));
            assert_eq!(y.ciphertext().scale(), s.plan().bit_scale());
            assert!(raised - log2(&y) < s.plan().bits() + 4.0);
        }
        let adder =
            s.bootstrapper.gates(&[Gate::Xor, Gate::Majority], &operands(&encrypted)).unwrap();
        for (y, gate) in adder.iter().zip([Gate::Xor, Gate::Majority]) {
            s.check(y, &apply(gate, &slices(&inputs)), "full adder");
        }
        // The results are operands again, together with fresh ones and with those of another gate.
        let xor = s.bootstrapper.not_of(&adder[0]);
        let next = s.bootstrapper.gate(Gate::And, &[&xor, &adder[1], &encrypted[2]]).unwrap();
        let not: Vec<bool> = apply(Gate::Xnor, &slices(&inputs));
        let majority = apply(Gate::Majority, &slices(&inputs));
        s.check(&next, &apply(Gate::And, &[&not, &majority, &inputs[2]]), "the next gate");
    }
}

trait Not {
    fn not_of(&self, a: &BitCiphertext) -> BitCiphertext;
}

impl Not for BitBootstrapper {
    fn not_of(&self, a: &BitCiphertext) -> BitCiphertext {
        self.evaluator().not_bits(a).unwrap()
    }
}

/// Returns operands whose errors are much larger than their noise.
fn off(s: &Setup, bits: &[bool], error: f64) -> BitCiphertext {
    let signed = |i: usize| if i.is_multiple_of(2) { error } else { -error };
    let values: Vec<f64> =
        bits.iter().enumerate().map(|(i, b)| f64::from(u8::from(*b)) + signed(i)).collect();
    let (c, scale) = (&s.context, s.plan().bit_scale());
    let plaintext =
        c.encode((&values[..]).into(), c.max_slots(), scale, s.plan().input_modulus()).unwrap();
    let a = c.encrypt(&s.secret, &plaintext).unwrap().expand(c);
    let mut inner = a.inner().clone();
    let log2_std =
        (1.01 * error / DEVIATIONS).log2() + scale.log2() - 0.5 * (c.max_slots() as f64).log2();
    inner.set_noise(Noise::from_log2_std(log2_std));
    let a = Ciphertext::from_parts(c, inner, scale, c.max_slots(), 1.0).unwrap();
    BitCiphertext::declare(a, BitPacking::Real).unwrap()
}

/// Checks that the largest error of each gate follows the formula, if the errors of the operands
/// are much larger than the noise.
#[test]
fn errors_of_gates_are_those_of_their_formulas() {
    let context = insecure(8, 9);
    let literal = BitLiteral { clean: false, ..literal(&context, BitPacking::Real) };
    let s = setup(Arc::clone(&context), literal);
    let inputs: Vec<Vec<bool>> = (0..3).map(|seed| bits(s.plan().capacity(), seed)).collect();
    let error = 0.06;
    let encrypted: Vec<BitCiphertext> = inputs.iter().map(|bits| off(&s, bits, error)).collect();
    let close = |largest: f64, formula: f64, y: &BitCiphertext, what: &str| {
        assert!(
            (largest / formula - 1.0).abs() < 0.1,
            "{what}: {largest}, by the formula {formula}"
        );
        assert!(
            (y.error() / formula - 1.0).abs() < 0.2,
            "{what}: {}, by the formula {formula}",
            y.error()
        );
    };
    let y = s.bootstrapper.refresh(&encrypted[0]).unwrap();
    let (largest, _) = s.check(&y, &inputs[0], "refresh");
    close(largest, (std::f64::consts::FRAC_PI_2 * error).sin().powi(2), &y, "refresh");
    for (gate, k) in Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]) {
        let Ok(formula) = gate_error(gate, k, k as f64 * error) else { continue };
        let y = s.bootstrapper.gate(gate, &operands(&encrypted[..k])).unwrap();
        let what = format!("{gate:?} {k}");
        let (largest, _) = s.check(&y, &apply(gate, &slices(&inputs[..k])), &what);
        close(largest, formula, &y, &what);
    }
    let e = s.bootstrapper.evaluator();
    let high: Vec<BitCiphertext> =
        encrypted.iter().map(|a| s.bootstrapper.refresh(a).unwrap()).collect();
    let (x, y, c) = (&high[0], &high[1], &high[2]);
    let of = |a: &BitCiphertext| s.check(a, &inputs[0], "operand").0;
    let cleaned = e.clean_bits(x).unwrap();
    let (largest, _) = s.check(&cleaned, &inputs[0], "clean");
    close(largest, (3.0 + 2.0 * of(x)) * of(x).powi(2), &cleaned, "clean");
    let d = of(x);
    for (what, result, bits, formula) in [
        ("and", e.and_bits(x, y), apply(Gate::And, &slices(&inputs[..2])), 2.0 * d + d * d),
        ("or", e.or_bits(x, y), apply(Gate::Or, &slices(&inputs[..2])), 2.0 * d + d * d),
        ("xor", e.xor_bits(x, y), apply(Gate::Xor, &slices(&inputs[..2])), 2.0 * d + 2.0 * d * d),
        ("select", e.select_bits(c, x, y), select(&inputs), d + d * (1.0 + 2.0 * d)),
    ] {
        let result = result.unwrap();
        let (largest, _) = s.check(&result, &bits, what);
        assert!(largest <= 1.05 * formula, "{what}: {largest}, by the formula {formula}");
        assert!((result.error() / formula - 1.0).abs() < 0.2, "{what}: {}", result.error());
        // Products of products, at other moduli and scales, are bootstrapped as well.
        let again = s.bootstrapper.gate(Gate::Nand, &[&result, x]).unwrap();
        s.check(&again, &apply(Gate::Nand, &[&bits, &inputs[0]]), what);
    }
}

/// Returns the first operand where the third is 1, and the second elsewhere.
fn select(inputs: &[Vec<bool>]) -> Vec<bool> {
    (0..inputs[0].len()).map(|i| if inputs[2][i] { inputs[0][i] } else { inputs[1][i] }).collect()
}

/// Checks the noise estimate with a cosine so precise, and scales so small, that noise is the only
/// error. The estimate is for the slots with the most noise. These are the slots where cosines are
/// near 1, because each squaring multiplies their noise by `sqrt(2)` more than that of others. A
/// single secret deviates more from the estimate than the mean of several.
#[test]
fn noise_is_what_is_estimated() {
    let context = insecure(10, 9);
    for packing in [BitPacking::Real, BitPacking::Complex] {
        let literal = BitLiteral {
            wave: Wave::new(17, 3, -24.0).unwrap(),
            scale_bits: 29.0,
            coefficients_to_slots: BitLiteral::levels(&context, 2, 28.0),
            bit_scale: 24,
            clean: false,
            ..literal(&context, packing)
        };
        let mut seen = [("refresh", 0.0, 0.0), ("nand", 0.0, 0.0), ("xor", 0.0, 0.0)];
        for _ in 0..6 {
            let s = setup(Arc::clone(&context), literal.clone());
            let inputs: Vec<Vec<bool>> =
                (0..3).map(|seed| bits(s.plan().capacity(), seed)).collect();
            let encrypted: Vec<BitCiphertext> = inputs.iter().map(|bits| s.fresh(bits)).collect();
            let mut add = |i: usize, y: &BitCiphertext, expected: &[bool]| {
                let (_, rms) = s.check(y, expected, seen[i].0);
                seen[i].1 += (y.error() / DEVIATIONS).powi(2);
                seen[i].2 += rms * rms;
            };
            add(0, &s.bootstrapper.refresh(&encrypted[0]).unwrap(), &inputs[0]);
            for (i, gate) in [(1, Gate::Nand), (2, Gate::Xor)] {
                let y = s.bootstrapper.gate(gate, &operands(&encrypted[..2])).unwrap();
                add(i, &y, &apply(gate, &slices(&inputs[..2])));
            }
        }
        for (what, estimated, measured) in seen {
            let ratio = f64::sqrt(estimated / measured);
            assert!((1.0..5.0).contains(&ratio), "{packing:?} {what}: {ratio}");
        }
    }
}

/// Runs hundreds of gates in a row, each on the results of earlier ones.
#[test]
fn errors_do_not_grow_in_a_chain() {
    let context = insecure(6, 9);
    let s = setup(Arc::clone(&context), literal(&context, BitPacking::Real));
    let mut plain: Vec<Vec<bool>> = (0..2).map(|seed| bits(s.plan().capacity(), seed)).collect();
    let mut encrypted: Vec<BitCiphertext> = plain.iter().map(|bits| s.fresh(bits)).collect();
    let gates = [Gate::Nand, Gate::Xor, Gate::Or, Gate::Nor, Gate::Xnor, Gate::And];
    for i in 0..300 {
        let gate = gates[(i * i + i / 7) % gates.len()];
        let count = plain.len();
        let inputs = [count - 1, count - 2];
        let y = s.bootstrapper.gate(gate, &inputs.map(|k| &encrypted[k])).unwrap();
        let expected = apply(gate, &inputs.map(|k| &plain[k][..]));
        s.check(&y, &expected, &format!("gate {i}"));
        assert!(y.error() < 0.01, "gate {i}: {}", y.error());
        // Mixing in fresh bits prevents the chain from ending in constants.
        let stirred = s.bootstrapper.gate(Gate::Xor, &[&y, &encrypted[i % 2]]).unwrap();
        plain.push(apply(Gate::Xor, &[&expected, &plain[i % 2]]));
        s.check(&stirred, &plain[count], &format!("stirred {i}"));
        encrypted.push(stirred);
    }
}

/// Small primes serve small scales. The two levels of the first transform share a prime of 28 bits.
#[test]
fn gates_work_on_a_simple_chain() {
    let degree = 1 << 8;
    let mut units = Vec::new();
    for (bits, count) in [(32, 1), (28, 1), (26, 2), (31, 8), (29, 2)] {
        units.extend(primes::ntt_primes(bits, degree, count, &units).unwrap());
    }
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 8,
        gadget_rank: units.len(),
        units,
        specials: primes::ntt_primes(33, degree, 1, &[]).unwrap(),
        sprout: Sprout::default(),
        secret: SecretDistribution::SparseTernary { weight: 192 },
    });
    let context = Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap());
    let s = setup(
        Arc::clone(&context),
        BitLiteral {
            base_bits: 32.0,
            scale_bits: 31.0,
            falling_bits: 0.0,
            coefficients_to_slots: BitLiteral::levels(&context, 2, 29.0),
            slots_to_coefficients: BitLiteral::levels(&context, 2, 14.0),
            bit_scale: 26,
            clean: false,
            ..literal(&context, BitPacking::Real)
        },
    );
    let inputs: Vec<Vec<bool>> = (0..2).map(|seed| bits(s.plan().capacity(), seed)).collect();
    let encrypted: Vec<BitCiphertext> = inputs.iter().map(|bits| s.fresh(bits)).collect();
    for gate in [Gate::Nand, Gate::Or, Gate::Xor] {
        let y = s.bootstrapper.gate(gate, &operands(&encrypted)).unwrap();
        s.check(&y, &apply(gate, &slices(&inputs)), "simple");
        let and = if gate == Gate::Xor {
            y.clone()
        } else {
            s.bootstrapper.evaluator().and_bits(&y, &y).unwrap()
        };
        let again = s.bootstrapper.gate(gate, &[&and, &y]).unwrap();
        let once = apply(gate, &slices(&inputs));
        s.check(&again, &apply(gate, &[&once[..], &once[..]]), "simple again");
    }
}

#[test]
fn invalid_plans_and_operands_are_refused() {
    let context = insecure(6, 9);
    let good = || literal(&context, BitPacking::Real);
    let refused = |l: BitLiteral, words: &str| {
        let error = BitPlan::new(Arc::clone(&context), l).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(BitLiteral { scale_bits: f64::NAN, ..good() }, "NaN bits");
    for bits in [f64::NAN, f64::NEG_INFINITY, f64::MIN, f64::INFINITY, -1.0] {
        refused(
            BitLiteral { falling_bits: bits, ..good() },
            &format!("scales that fall by {} bits", Short(bits)),
        );
        refused(
            BitLiteral { output_bits: Some(bits), ..good() },
            &format!("results of {} bits", Short(bits)),
        );
    }
    refused(BitLiteral { bit_scale: 2, ..good() }, "2 bits");
    refused(BitLiteral { scale_bits: 70.0, ..good() }, "the bootstrap uses");
    refused(BitLiteral { output_bits: Some(400.0), ..good() }, "fewer than 400.0 are left");
    refused(BitLiteral { base_bits: 16.0, ..good() }, "one with a unit is needed");
    let s = setup(Arc::clone(&context), BitLiteral { output_bits: Some(100.0), ..good() });
    let log2 = |m| context.parameters().log2(m);
    assert!(log2(s.plan().raised()) < log2(context.parameters().top()));

    let input = bits(32, 0);
    let a = s.fresh(&input);
    let y = s.bootstrapper.gate(Gate::And, &[&a, &a]).unwrap();
    assert!((98.0..104.0).contains(&log2(y.ciphertext().modulus())));
    // Errors so large that bits would be lost.
    let far = off(&s, &input, 0.3);
    let error = s.bootstrapper.gate(Gate::Nand, &[&far, &far]).unwrap_err().to_string();
    assert!(error.contains("Refresh or clean"), "{error}");
    s.check(&s.bootstrapper.refresh(&far).unwrap(), &input, "refreshed");
    let e = s.bootstrapper.evaluator();
    assert!(matches!(e.xor_bits(&far, &far), Err(CkksError::Argument { .. })));
    assert!(matches!(
        s.bootstrapper.gate(Gate::Majority, &[&a, &a]),
        Err(CkksError::Argument { .. })
    ));
    assert!(matches!(s.bootstrapper.gate(Gate::Xor, &[]), Err(CkksError::Argument { .. })));
    // Too little capacity is left.
    let low = context.parameters().grafted_modulus(50.0);
    assert!(matches!(
        s.bootstrapper.refresh(&s.encrypt(&input, low)),
        Err(CkksError::Capacity { .. })
    ));
    // The other packing, fewer slots, too many bits, and numbers that are not bits.
    let complex = BitCiphertext::declare(a.ciphertext().clone(), BitPacking::Complex).unwrap();
    assert!(s.bootstrapper.refresh(&complex).unwrap_err().to_string().contains("Complex slots"));
    assert!(
        e.and_bits(&complex, &complex).unwrap_err().to_string().contains("cannot be multiplied")
    );
    let (scale, modulus) = (s.plan().bit_scale(), s.plan().input_modulus());
    let few = encode_bits(&context, &input[..16], BitPacking::Real, 16, scale, modulus).unwrap();
    let few = context.encrypt(&s.secret, &few).unwrap().expand(&context);
    let few = BitCiphertext::declare(few, BitPacking::Real).unwrap();
    assert!(matches!(s.bootstrapper.refresh(&few), Err(CkksError::SlotMismatch { .. })));
    assert!(encode_bits(&context, &input, BitPacking::Real, 16, scale, modulus).is_err());
    let mut inner = a.ciphertext().inner().clone();
    inner.set_noise(Noise::from_log2_std(30.0));
    let noisy = Ciphertext::from_parts(&context, inner, scale, 32, 1.0).unwrap();
    assert!(BitCiphertext::declare(noisy, BitPacking::Real).is_err());
}

/// A ternary secret at `N = 2^14` with 128 bits of security, for `2^13` bits at once.
#[test]
fn gates_work_at_secure_parameters() {
    let mut units = Vec::new();
    for (bits, count) in [(20, 1), (44, 5), (45, 2)] {
        units.extend(primes::ntt_primes(bits, 1 << 14, count, &[]).unwrap());
    }
    let parameters = Parameters::new(ParametersLiteral {
        log_degree: 14,
        gadget_rank: 9,
        units,
        specials: primes::ntt_primes(51, 1 << 14, 1, &[]).unwrap(),
        sprout: Sprout::named("sprout-15-16-17.3").unwrap(),
        secret: SecretDistribution::Ternary,
    });
    let context = Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap());
    let literal = BitLiteral {
        base_bits: 20.0,
        scale_bits: 32.25,
        falling_bits: 5.0,
        coefficients_to_slots: BitLiteral::levels(&context, 2, 26.5),
        slots_to_coefficients: BitLiteral::levels(&context, 2, 13.0),
        bit_scale: 23,
        ..literal(&context, BitPacking::Real)
    };
    let s = setup(context, literal);
    assert!(
        s.plan().log2_failure_probability() < -128.0
            && s.plan().sparse_context().parameters().security().is_some()
    );
    let inputs: Vec<Vec<bool>> = (0..3).map(|seed| bits(s.plan().capacity(), seed)).collect();
    let a: Vec<BitCiphertext> = inputs.iter().map(|bits| s.fresh(bits)).collect();
    let nand = s.bootstrapper.gate(Gate::Nand, &operands(&a[..2])).unwrap();
    let expected = apply(Gate::Nand, &slices(&inputs[..2]));
    s.check(&nand, &expected, "nand");
    // The bits are still good enough for gates in a row, and a refresh restores them.
    assert!(nand.error() < 0.02, "{}", nand.error());
    let xor = s.bootstrapper.gate(Gate::Xor, &[&nand, &a[2]]).unwrap();
    let expected_xor = apply(Gate::Xor, &[&expected, &inputs[2]]);
    s.check(&xor, &expected_xor, "xor");
}
