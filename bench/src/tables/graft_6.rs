//! `graft-6`: gates on encrypted bits, as in Table 6 of GRAFT.

use std::{cell::RefCell, sync::Arc};

use hippocrene::{Family, Preset};
use hippocrene_ckks::{
    CkksError, Context, Evaluator,
    bits::{BitBootstrapper, BitCiphertext, BitPacking, BitPlan, Gate, decode_bits, encode_bits},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

use super::Table;
use crate::{
    Result, machine,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-6",
    about: "GRAFT Table 6: a nand of 2^13 bits (real slots, N = 2^14) and of 2^16 bits (complex slots, N = 2^16) by one bootstrap, a product after it, the size of the \
            relinearisation key, and the largest error of a result, with the sets of GRAFT's Table 3 and with ours; our code on all sides. \
            Nands of the paper's sets leave room for two products of 26 bits (Opt: three of 24; N = 2^16: 770 bits and more), as in the paper; ours are cleaned by \
            two products more. Where the bound of a result's error, 14 standard deviations, is too large for a bit to be told, there is the time only. At N = 2^16 transforms have three levels, not the paper's two. How many limbs a nand transforms is beside its \
            time (transforms modulo powers of two are not among them)",
    memory: "7.3 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// How many times as fast as on the simple chain gates have to be.
const SPEED_UP: f64 = 1.8;

/// What was measured with one set.
struct Figures {
    nand: f64,
    /// Limbs that a nand transforms.
    transforms: f64,
    product: Option<f64>,
    key: f64,
    /// Not there where the bound of the error is too large for a bit to be told.
    result: Option<Quality>,
    fails: f64,
}

/// What a gate leaves.
struct Quality {
    worst: f64,
    left: f64,
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let sets = [
        ("simBinFHE14", ""),
        ("graBinFHE14", "simBinFHE14"),
        ("graBinFHE14Opt", "simBinFHE14"),
        ("bits14", "simBinFHE14"),
        ("simBinFHE16", ""),
        ("graBinFHE16", "simBinFHE16"),
        ("n16s", "simBinFHE16"),
        ("bits16", "simBinFHE16"),
    ];
    let mut known: Vec<(&str, Figures)> = Vec::new();
    for (name, simple) in sets {
        let figures = measure(session, Preset::by_name(name)?)?;
        let simple = known.iter().find(|(known, _)| *known == simple);
        let row = |what: &str, unit, of: &dyn Fn(&Figures) -> f64, target: Option<f64>| {
            let row = Row::new(format!("{name}: {what}"), of(&figures), unit);
            let row = row.paper(session.papers.find(name, what));
            match simple {
                Some((simple, theirs)) => row.against(*simple, of(theirs)).target(target),
                None => row,
            }
        };
        rows.push(row("nandBoot", "s", &|f| f.nand, Some(SPEED_UP)));
        rows.push(row("transforms of nandBoot, counted", "", &|f| f.transforms, None));
        if figures.product.is_some() {
            rows.push(row(
                "multiply + relinearise + rescale",
                "ms",
                &|f| f.product.unwrap_or(f64::NAN),
                None,
            ));
        }
        rows.push(row("relinearisation key", "MB", &|f| f.key, None));
        if let Some(Quality { worst, left }) = figures.result {
            let precision = Row::more(format!("{name}: precision of the worst bit"), worst, "bits");
            rows.push(precision.paper(session.papers.find(name, "precision of the worst bit")));
            rows.push(Row::more(format!("{name}: log Q left"), left, "bits"));
        }
        rows.push(Row::new(format!("{name}: log2 of the failure probability"), figures.fails, ""));
        known.push((name, figures));
    }
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

fn measure(session: &mut Session, preset: Preset) -> Result<Figures> {
    let parameters = match preset.family {
        Family::Table3 => preset.parameters_insecure()?,
        _ => preset.parameters()?,
    };
    let key = parameters.switching_key_size().words as f64 / 1e6;
    let log_n = parameters.log_degree();
    let context = Arc::new(Context::new(parameters, Threads::single())?);
    let (rlwe, plan) = (context.rlwe(), Arc::new(BitPlan::new(Arc::clone(&context), preset.bits()?)?));
    let secret = SecretKey::generate(rlwe)?;
    let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
    plan.add_keys(&mut keys, &secret)?;
    let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
    let encapsulation = Arc::new(plan.encapsulation_keys(&secret)?.prepare(rlwe, plan.narrow())?);
    let bootstrapper = BitBootstrapper::new(Arc::clone(&plan), evaluator.clone(), encapsulation)?;
    let (packing, scale, modulus) = (plan.literal().packing, plan.bit_scale(), plan.input_modulus());
    let bits = [1u64, 2].map(|seed| bits(plan.capacity(), seed));
    let encrypt = |bits: &[bool]| -> Result<BitCiphertext> {
        let plaintext = encode_bits(&context, bits, packing, context.max_slots(), scale, modulus)?;
        Ok(BitCiphertext::declare(context.encrypt(&secret, &plaintext)?.expand(&context), packing)?)
    };
    let (x, y) = (encrypt(&bits[0])?, encrypt(&bits[1])?);
    // A result whose bound is too large is refused when all is done, so that it has been timed.
    let nand = || match bootstrapper.gate(Gate::Nand, &[&x, &y]) {
        Ok(result) => Ok(Some(result)),
        Err(CkksError::Argument { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let result = RefCell::new(nand()?);
    let after = result.borrow().clone();
    let mut works = NamedWorks::default();
    works.add("nand", || {
        result.replace(nand()?);
        Ok(())
    });
    // Complex slots have no products of bits; the time is that of the ciphertexts.
    if let Some(after) = after.filter(|_| !plan.literal().clean) {
        let mut out = hippocrene_ckks::Ciphertext::empty(&context);
        let evaluator = &evaluator;
        works.add("product", move || {
            Ok(evaluator.mul_rescale_into(&mut out, after.ciphertext(), after.ciphertext(), scale)?)
        });
    }
    let times = session.time_named(log_n, works)?;
    let before = rlwe.transforms();
    nand()?;
    let transforms = (rlwe.transforms() - before) as f64;
    let fails = plan.log2_failure_probability();
    let product = times.get(1).map(|(_, seconds)| 1e3 * seconds);
    let mut figures = Figures { nand: times[0].1, transforms, product, key, result: None, fails };
    let Some(after) = result.into_inner() else { return Ok(figures) };
    let plaintext = context.decrypt(&secret, after.ciphertext())?;
    let expected: Vec<bool> = bits[0].iter().zip(&bits[1]).map(|(x, y)| !(x & y)).collect();
    if decode_bits(&context, &plaintext, packing)? != expected {
        return Err(format!("a nand with {} was wrong", preset.name).into());
    }
    let slots = context.decode_complex(&plaintext)?;
    let parts = slots.iter().map(|z| z.re);
    let parts: Vec<f64> = match packing {
        BitPacking::Real => parts.collect(),
        BitPacking::Complex => parts.chain(slots.iter().map(|z| z.im)).collect(),
    };
    let errors = parts.iter().zip(&expected).map(|(x, b)| (x - f64::from(u8::from(*b))).abs());
    figures.result = Some(Quality {
        worst: -errors.fold(0.0, f64::max).log2(),
        left: context.parameters().log2(after.ciphertext().modulus()),
    });
    Ok(figures)
}

/// As good as random, and different for each `seed`.
fn bits(count: usize, seed: u64) -> Vec<bool> {
    let mix = |i: u64| {
        let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (seed + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63 == 1
    };
    (0..count as u64).map(mix).collect()
}
