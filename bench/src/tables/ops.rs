//! The table `ops`: the operations of the library one by one, at its presets.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene::{Family, PRESETS, Preset, Stored};
use hippocrene_ckks::{
    BigFloat, Ciphertext, Context, Evaluator, Plaintext, Scale, Values,
    circuits::{LinearTransform, Polynomial},
};
use hippocrene_rlwe::{EvaluationKeys, Modulus, PublicKey, SecretDistribution, SecretKey};

use super::{Table, key_switch};
use crate::{
    Result,
    report::Row,
    scheme::megabytes,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "ops",
    about: "every CKKS operation at our presets n13 to n16 and at their simple counterparts, on \
            fresh ciphertexts of N/2 real slots at the scale 2^40. Then key switching with \
            48-bit primes against the prototypes of its data flow",
    memory: "5 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run,
};

/// The number of rotations that share one decomposition.
const HOISTED: usize = 8;
/// The number of slots that are summed, and the size of the matrix.
const SUMMED: usize = 64;
const MATRIX: usize = 16;
/// log2 of the scale of numbers of many bits.
const FINE_SCALE_LOG2: i32 = 120;
/// The degree of the polynomial. It has depth 3, which every preset allows.
const DEGREE: usize = 7;
/// log2 of the scale, which is that of the simple chains.
const SCALE_LOG2: i32 = 40;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for preset in presets() {
        rows.extend(operations(session, preset)?);
    }
    rows.extend(key_switch::run(session)?);
    Ok(rows)
}

/// Returns the simple chains, and our sets with the same ring degrees and secret.
fn presets() -> impl Iterator<Item = Preset> {
    PRESETS.into_iter().filter(|preset| match preset.family {
        Family::Simple => true,
        Family::Grafted => {
            preset.secret == SecretDistribution::Ternary && (13..=16).contains(&preset.log_degree)
        }
        _ => false,
    })
}

/// A preset with its keys.
struct Bench {
    session: hippocrene::Session,
    secret: SecretKey,
    public: PublicKey,
    evaluator: Evaluator,
    /// The bytes of the relinearisation key as it is stored.
    stored: usize,
    /// A band matrix with [`MATRIX`] diagonals.
    matrix: LinearTransform,
}

impl Bench {
    fn new(preset: Preset) -> Result<Self> {
        let session = hippocrene::Session::new(preset.settings()?, 1)?;
        let context = session.context();
        let rlwe = context.rlwe();
        let secret = SecretKey::generate(rlwe)?;
        let public = PublicKey::generate(rlwe, &secret)?;
        let slots = context.max_slots();
        let diagonals: BTreeMap<usize, Vec<f64>> = (0..MATRIX)
            .map(|r| (r, (0..slots).map(|i| ((i + r) as f64).sin()).collect()))
            .collect();
        let matrix = LinearTransform::from_real(slots, diagonals)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        keys.add_relinearisation(rlwe, &secret)?;
        let stored =
            hippocrene::EvaluationKeys::new(session.clone(), keys.clone()).to_bytes().len();
        keys.add_conjugation(rlwe, &secret)?;
        keys.add_rotations(rlwe, &secret, 1..=HOISTED as i64)?;
        keys.add_rotations(rlwe, &secret, (0..SUMMED.ilog2()).map(|k| 1 << k))?;
        keys.add_rotations(rlwe, &secret, matrix.rotations())?;
        let evaluator = Evaluator::new(Arc::clone(context), Arc::new(keys.prepare(rlwe)?));
        Ok(Bench { session, secret, public, evaluator, stored, matrix })
    }

    /// Returns the megabytes of the relinearisation key with both halves, each residue in as many
    /// bits as its prime has.
    fn unseeded(&self) -> f64 {
        let parameters = self.session.settings().parameters();
        let primes = parameters.limb_moduli(parameters.full());
        let bits: u32 = primes.iter().map(|q| u64::BITS - q.leading_zeros()).sum();
        let digits = parameters.digits(parameters.top()).count();
        (2 * digits * parameters.degree()) as f64 * f64::from(bits) / 8e6
    }
}

/// Numbers of many bits, and a plaintext of them that was encrypted and decrypted.
struct Fine {
    values: Vec<BigFloat>,
    decrypted: Plaintext,
}

impl Fine {
    /// Returns `None` if the scale does not fit the modulus.
    fn new(bench: &Bench, top: Modulus) -> Result<Option<Self>> {
        let context = bench.session.context();
        if context.parameters().log2(top) < f64::from(FINE_SCALE_LOG2) + 10.0 {
            return Ok(None);
        }
        // The fractions use all available bits.
        let fraction = |i: usize| {
            BigFloat::try_from(BigFloat::from(i as i64 % 1000 - 500).into_inner() / 1501)
        };
        let values =
            (0..context.max_slots()).map(fraction).collect::<std::result::Result<Vec<_>, _>>()?;
        let plain = Self::encode(context, &values, top)?;
        let decrypted =
            context.decrypt(&bench.secret, &context.encrypt_public(&bench.public, &plain)?)?;
        Ok(Some(Fine { values, decrypted }))
    }

    fn encode(context: &Context, values: &[BigFloat], modulus: Modulus) -> Result<Plaintext> {
        Ok(context.encode(
            Values::Big(values),
            values.len(),
            Scale::power_of_two(FINE_SCALE_LOG2),
            modulus,
        )?)
    }
}

/// Measures every operation at one preset.
fn operations(session: &mut Session, preset: Preset) -> Result<Vec<Row>> {
    let bench = Bench::new(preset)?;
    let Bench { session: library, secret, public, evaluator, stored, matrix } = &bench;
    let context = library.context();
    let (top, scale, slots) =
        (preset.fresh(context.parameters()), Scale::power_of_two(SCALE_LOG2), context.max_slots());
    let values: Vec<f64> = (0..slots).map(|i| (i as f64).cos()).collect();
    let plain = context.encode(Values::from(&values[..]), slots, scale, top)?;
    let (a, b) = (context.encrypt_public(public, &plain)?, context.encrypt_public(public, &plain)?);
    let seeded = context.encrypt(secret, &plain)?;
    let fine = Fine::new(&bench, top)?;
    let unscaled = evaluator.mul(&a, &b)?;
    let lower = evaluator.mul_rescale(&a, &b, scale)?;
    let decrypted = context.decrypt(secret, &a)?;
    let sigmoid = Polynomial::approximate(|x| 1.0 / (1.0 + (-x).exp()), -1.0, 1.0, DEGREE)?;
    let steps: Vec<i64> = (1..=HOISTED as i64).collect();
    let out = || Ciphertext::empty(context);
    let (mut product, mut rescaled, mut rotated) = (out(), out(), out());
    let mut hoisted: Vec<Ciphertext> = steps.iter().map(|_| out()).collect();

    let mut works = NamedWorks::default();
    works.add("make a relinearisation key", || {
        let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
        Ok(keys.add_relinearisation(context.rlwe(), secret)?)
    });
    works.add("encode", || {
        Ok(context.encode(Values::from(&values[..]), slots, scale, top).map(drop)?)
    });
    works.add("decode", || Ok(context.decode_real(&decrypted).map(drop)?));
    if let Some(fine) = &fine {
        works.add(format!("encode at 2^{FINE_SCALE_LOG2}"), || {
            Fine::encode(context, &fine.values, top).map(drop)
        });
        works.add(format!("decode at 2^{FINE_SCALE_LOG2}"), || {
            Ok(context.decode_big_real(&fine.decrypted).map(drop)?)
        });
    }
    works.add("encrypt, secret key", || Ok(context.encrypt(secret, &plain).map(drop)?));
    works.add("encrypt, public key", || Ok(context.encrypt_public(public, &plain).map(drop)?));
    works.add("decrypt", || Ok(context.decrypt(secret, &a).map(drop)?));
    works.add("expand the seed of a fresh ciphertext", || {
        seeded.expand(context);
        Ok(())
    });
    works.add("add", || Ok(evaluator.add(&a, &b).map(drop)?));
    works.add("subtract", || Ok(evaluator.sub(&a, &b).map(drop)?));
    works.add("negate", || Ok(evaluator.negate(&a).map(drop)?));
    works.add("add a plaintext", || Ok(evaluator.add_plain(&a, &plain).map(drop)?));
    works.add("multiply by a plaintext", || Ok(evaluator.mul_plain(&a, &plain).map(drop)?));
    works.add("multiply by a number", || Ok(evaluator.mul_number(&a, 0.7, scale).map(drop)?));
    works.add("multiply", || Ok(evaluator.mul(&a, &b).map(drop)?));
    works.add("multiply and rescale", || {
        Ok(evaluator.mul_rescale_into(&mut product, &a, &b, scale)?)
    });
    works.add("square and rescale", || Ok(evaluator.square_rescale(&a, scale).map(drop)?));
    works.add("rescale", || Ok(evaluator.rescale_into(&mut rescaled, &unscaled, scale)?));
    works.add("adjust modulus and scale", || {
        Ok(evaluator.adjust(&a, lower.modulus(), lower.scale()).map(drop)?)
    });
    works.add("rotate", || Ok(evaluator.rotate_into(&mut rotated, &a, 1)?));
    works.add(format!("rotate, hoisted, {HOISTED} times"), || {
        Ok(evaluator.rotate_many_into(&mut hoisted, &a, &steps)?)
    });
    works.add("conjugate", || Ok(evaluator.conjugate(&a).map(drop)?));
    works.add(format!("sum of {SUMMED} slots"), || {
        Ok(evaluator.inner_sum(&a, 1, SUMMED).map(drop)?)
    });
    works.add(format!("polynomial of degree {DEGREE}"), || {
        Ok(evaluator.polynomial(&a, &sigmoid, scale).map(drop)?)
    });
    works.add(format!("matrix of {MATRIX} diagonals"), || {
        Ok(evaluator.linear_transform(&a, matrix, scale).map(drop)?)
    });
    let named = |what: &str| format!("{}: {what}", preset.name);
    let mut rows: Vec<Row> = session
        .time_named(preset.log_degree, works)?
        .into_iter()
        .map(|(operation, seconds)| Row::new(named(&operation), 1e3 * seconds, "ms"))
        .collect();
    let key = evaluator.keys().relinearisation("measure")?.bytes() as f64 / 1e6;
    rows.push(Row::new(named("relinearisation key in memory"), key, "MB"));
    rows.push(
        Row::new(named("relinearisation key as stored"), *stored as f64 / 1e6, "MB")
            .against("both halves written out", bench.unseeded())
            .target(Some(1.99)),
    );
    rows.push(Row::new(named("fresh ciphertext"), megabytes(a.inner()), "MB"));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_deep_enough_for_the_operations() {
        let polynomial = Polynomial::approximate(f64::exp, -1.0, 1.0, DEGREE).unwrap();
        assert_eq!(presets().count(), 8);
        for preset in presets() {
            let parameters = preset.parameters().unwrap();
            let bits = parameters.log2(preset.fresh(&parameters));
            assert!(
                bits > f64::from(SCALE_LOG2) * (polynomial.depth() + 1) as f64 + 2.0,
                "{}",
                preset.name
            );
            assert!(preset.scale_bits.is_none_or(|bits| bits == SCALE_LOG2 as u32));
            assert!(1 << (preset.log_degree - 1) >= SUMMED.max(MATRIX));
        }
    }
}
