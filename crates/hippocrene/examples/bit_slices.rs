//! Integers in bit slices: `2^13` pairs of numbers of 4 bits are added and compared, by gates on encrypted bits. At the end, how many
//! gates in a row the bound of the error allows.
//!
//! `cargo run --release -p hippocrene --example bit_slices`

use std::{error::Error, sync::Arc, time::Instant};

use hippocrene::Preset;
use hippocrene_ckks::{
    Context, Evaluator,
    bits::{BitBootstrapper, BitCiphertext, BitPacking, BitPlan, Gate, decode_bits, encode_bits},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

const BITS: usize = 4;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// `x + y`, lowest bits first: a full adder for each slice.
fn add(b: &BitBootstrapper, x: &[BitCiphertext], y: &[BitCiphertext]) -> Result<Vec<BitCiphertext>> {
    let mut carry: Option<BitCiphertext> = None;
    let mut sum = Vec::with_capacity(x.len() + 1);
    for (x, y) in x.iter().zip(y) {
        let (bit, next) = match &carry {
            None => (b.gate(Gate::Xor, &[x, y])?, b.gate(Gate::And, &[x, y])?),
            Some(c) => (b.gate(Gate::Xor, &[x, y, c])?, b.gate(Gate::Majority, &[x, y, c])?),
        };
        sum.push(bit);
        carry = Some(next);
    }
    sum.extend(carry);
    Ok(sum)
}

/// Whether `x > y`: the carry of `x + not y`.
fn greater(b: &BitBootstrapper, x: &[BitCiphertext], y: &[BitCiphertext]) -> Result<BitCiphertext> {
    let mut carry: Option<BitCiphertext> = None;
    for (x, y) in x.iter().zip(y) {
        let y = b.evaluator().not_bits(y)?;
        carry = Some(match &carry {
            None => b.gate(Gate::And, &[x, &y])?,
            Some(c) => b.gate(Gate::Majority, &[x, &y, c])?,
        });
    }
    carry.ok_or_else(|| "numbers have a bit at least".into())
}

/// How many nands of a bit with itself, each of the result of the one before, are made until one is refused, and why that is.
fn chain(b: &BitBootstrapper, bit: &BitCiphertext) -> (usize, String) {
    let mut bit = bit.clone();
    for done in 0..100 {
        match b.gate(Gate::Nand, &[&bit, &bit]) {
            Ok(next) => bit = next,
            Err(error) => return (done, error.to_string()),
        }
    }
    (100, "nothing is refused so far".into())
}

fn main() -> Result<()> {
    let preset = Preset::by_name("bits14")?;
    let context = Arc::new(Context::new(preset.parameters()?, Threads::single())?);
    let rlwe = context.rlwe();
    let plan = Arc::new(BitPlan::new(Arc::clone(&context), preset.bits()?)?);

    // The client.
    let secret = SecretKey::generate(rlwe)?;
    let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
    plan.add_keys(&mut keys, &secret)?;
    let encapsulation = plan.encapsulation_keys(&secret)?;
    let count = plan.capacity();
    let x: Vec<usize> = (0..count).map(|i| i % (1 << BITS)).collect();
    let y: Vec<usize> = (0..count).map(|i| i / 7 % (1 << BITS)).collect();
    let encrypt = |numbers: &[usize]| -> Result<Vec<BitCiphertext>> {
        (0..BITS)
            .map(|k| {
                let slice: Vec<bool> = numbers.iter().map(|number| number >> k & 1 == 1).collect();
                let (scale, modulus) = (plan.bit_scale(), plan.input_modulus());
                let plaintext =
                    encode_bits(&context, &slice, BitPacking::Real, context.max_slots(), scale, modulus)?;
                let ciphertext = context.encrypt(&secret, &plaintext)?.expand(&context);
                Ok(BitCiphertext::declare(ciphertext, BitPacking::Real)?)
            })
            .collect()
    };
    let (a, b) = (encrypt(&x)?, encrypt(&y)?);

    // The server.
    let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
    let encapsulation = Arc::new(encapsulation.prepare(rlwe, plan.narrow())?);
    let server = BitBootstrapper::new(Arc::clone(&plan), evaluator, encapsulation)?;
    let start = Instant::now();
    let sum = add(&server, &a, &b)?;
    let larger = greater(&server, &a, &b)?;
    println!("{count} sums and comparisons of {BITS} bits in {:.2} s", start.elapsed().as_secs_f64());
    let (nands, then) = chain(&server, &a[0]);
    println!("after {nands} nands in a row: {then}");
    println!("a gate fails once in 2^{:.0} times", -plan.log2_failure_probability());

    // The client.
    let decrypt = |bits: &BitCiphertext| -> Result<Vec<bool>> {
        Ok(decode_bits(&context, &context.decrypt(&secret, bits.ciphertext())?, bits.packing())?)
    };
    let slices: Vec<Vec<bool>> = sum.iter().map(decrypt).collect::<Result<_>>()?;
    let larger = decrypt(&larger)?;
    for i in 0..count {
        let sum: usize = slices.iter().enumerate().map(|(k, bits)| usize::from(bits[i]) << k).sum();
        if sum != x[i] + y[i] || larger[i] != (x[i] > y[i]) {
            return Err(format!("{} and {}: {sum}, {}", x[i], y[i], larger[i]).into());
        }
    }
    println!("all are right");
    Ok(())
}
