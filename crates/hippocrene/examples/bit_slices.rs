//! Arithmetic on integers in bit slices, with gates on encrypted bits.
//!
//! It adds and compares `2^13` pairs of 8-bit numbers. Then it runs a hundred NAND gates in a row.
//!
//! `cargo run --release -p hippocrene --example bit_slices`

use std::{error::Error, time::Instant};

use hippocrene::{BitArray, BitServer, ClientKey, KeyRequest, Preset, Server};
use hippocrene_ckks::bits::Gate;

const BITS: usize = 8;
const NANDS: usize = 100;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Returns `x + y` with the lowest bits first, by a full adder for each slice.
fn add(server: &BitServer, x: &[BitArray], y: &[BitArray]) -> Result<Vec<BitArray>> {
    let mut carry: Option<BitArray> = None;
    let mut sum = Vec::with_capacity(x.len() + 1);
    for (x, y) in x.iter().zip(y) {
        let (bit, next) = match &carry {
            None => (server.xor(x, y)?, server.and(x, y)?),
            Some(c) => {
                (server.gate(Gate::Xor, &[x, y, c])?, server.gate(Gate::Majority, &[x, y, c])?)
            }
        };
        sum.push(bit);
        carry = Some(next);
    }
    sum.extend(carry);
    Ok(sum)
}

/// Returns the bit `x > y`, which is the carry of `x + not y`.
fn greater(server: &BitServer, x: &[BitArray], y: &[BitArray]) -> Result<BitArray> {
    let mut carry: Option<BitArray> = None;
    for (x, y) in x.iter().zip(y) {
        let y = server.not(y)?;
        carry = Some(match &carry {
            None => server.and(x, &y)?,
            Some(c) => server.gate(Gate::Majority, &[x, &y, c])?,
        });
    }
    carry.ok_or_else(|| "numbers need at least one bit".into())
}

fn main() -> Result<()> {
    // The client encrypts.
    let preset = Preset::by_name("bits14")?;
    let client = ClientKey::generate(preset.settings()?)?;
    let plan = client.bit_plan(preset.bits()?)?;
    let keys = client.evaluation_keys(&KeyRequest::bits(preset.bits()?))?;
    let count = plan.capacity();
    let x: Vec<usize> = (0..count).map(|i| i % (1 << BITS)).collect();
    let y: Vec<usize> = (0..count).map(|i| i / 7 % (1 << BITS)).collect();
    let encrypt = |numbers: &[usize]| -> Result<Vec<BitArray>> {
        let slice = |k: usize| numbers.iter().map(|x| x >> k & 1 == 1).collect::<Vec<bool>>();
        (0..BITS).map(|k| Ok(client.encrypt_bits(&plan, &slice(k), &[count])?)).collect()
    };
    let (a, b) = (encrypt(&x)?, encrypt(&y)?);

    // The server computes.
    let server = Server::new(keys)?;
    let server = server.bits()?;
    let start = Instant::now();
    let sum = add(server, &a, &b)?;
    let larger = greater(server, &a, &b)?;
    println!(
        "{count} sums and comparisons of {BITS} bits in {:.2} s",
        start.elapsed().as_secs_f64()
    );
    let before = server.bootstraps();
    let mut bit = a[0].clone();
    for _ in 0..NANDS {
        bit = server.nand(&bit, &bit)?;
    }
    println!("{NANDS} nands in a row: {} bootstraps", server.bootstraps() - before);
    println!("a bootstrap fails once in 2^{:.0} times", -plan.log2_failure_probability());

    // The client decrypts and checks.
    let slices = sum
        .iter()
        .map(|bits| client.decrypt_bits(bits))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let (larger, bit) = (client.decrypt_bits(&larger)?, client.decrypt_bits(&bit)?);
    for i in 0..count {
        let sum: usize = slices.iter().enumerate().map(|(k, bits)| usize::from(bits[i]) << k).sum();
        if sum != x[i] + y[i] || larger[i] != (x[i] > y[i]) || bit[i] != (x[i] % 2 == 1) {
            return Err(format!("{} and {}: {sum}, {}", x[i], y[i], larger[i]).into());
        }
    }
    println!("all are right");
    Ok(())
}
