//! The table `graft-6`: gates on encrypted bits, as in Table 6 of GRAFT.

use std::{hint::black_box, sync::Arc};

use hippocrene_ckks::{
    CkksError, Context, Evaluator,
    bits::{BitBootstrapper, BitCiphertext, BitPacking, BitPlan, Gate, decode_bits, encode_bits},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

use super::Table;
use crate::{
    Result, machine,
    paper_sets::{bits_of, parameters_of},
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-6",
    about: "GRAFT Table 6: a NAND of 2^13 bits (real slots, N = 2^14) and of 2^16 bits (complex \
            slots, N = 2^16) by one bootstrap, with the sets of GRAFT's Table 3 and with ours. \
            Our code runs all sets, each in turn with its simple chain. Also shown: a product \
            after the NAND, the size of the relinearisation key, the largest error of a result, \
            and the number of transformed limbs (without those modulo powers of two). The \
            paper's sets leave capacity for two products of 26 bits, as in the paper (Opt: three \
            of 24 bits; N = 2^16: at least 770 bits). Ours clean the result by two more \
            products. If 14 standard deviations of a result's error are too large to tell a bit, \
            only the time is shown. At N = 2^16 the transforms have three levels, where the \
            paper has two",
    memory: "13.3 GB",
    time: "about 6 minutes",
    live: &[],
    plot: false,
    run,
};

/// The target for the speed-up of gates over the simple chain.
const SPEED_UP_TARGET: f64 = 1.8;

/// The figures of one set.
struct Figures {
    times: Times,
    /// The number of limbs that a NAND transforms.
    transforms: f64,
    key: f64,
    /// `None` if the bound of the error is too large to tell a bit.
    result: Option<Quality>,
    fails: f64,
}

/// The seconds of a NAND, and of a product after it if the set has capacity for products.
#[derive(Clone, Copy)]
struct Times {
    nand: f64,
    product: Option<f64>,
}

/// The precision and the modulus that a gate leaves.
struct Quality {
    worst: f64,
    left: f64,
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let groups: [(&str, &[&str]); 2] = [
        ("simBinFHE14", &["graBinFHE14", "graBinFHE14Opt", "bits14"]),
        ("simBinFHE16", &["graBinFHE16", "n16s", "bits16"]),
    ];
    for (simple, others) in groups {
        let simple = Set::new(simple)?;
        let (theirs, _) = simple.measure(session, None)?;
        rows.extend(rows_of(session, &simple, &theirs, None));
        for name in others {
            let set = Set::new(name)?;
            let (figures, simple_times) = set.measure(session, Some(&simple))?;
            // The times of the simple chain, measured in turn with this set.
            let theirs =
                Figures { times: simple_times.unwrap_or(theirs.times), result: None, ..theirs };
            rows.extend(rows_of(session, &set, &figures, Some((simple.name, &theirs))));
        }
    }
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

/// Returns the rows of one set, compared with the simple chain.
fn rows_of(
    session: &Session,
    set: &Set,
    figures: &Figures,
    simple: Option<(&str, &Figures)>,
) -> Vec<Row> {
    let name = set.name;
    let row = |what: &str, unit, of: &dyn Fn(&Figures) -> f64, target: Option<f64>| {
        let row = Row::new(format!("{name}: {what}"), of(figures), unit);
        let row = row.paper(session.papers.find(name, what));
        match simple {
            Some((simple, theirs)) => row.against(simple, of(theirs)).target(target),
            None => row,
        }
    };
    let mut rows = vec![
        row("nandBoot", "s", &|f| f.times.nand, Some(SPEED_UP_TARGET)),
        row("transforms of nandBoot, counted", "", &|f| f.transforms, None),
    ];
    if figures.times.product.is_some() {
        let milliseconds = |f: &Figures| f.times.product.map_or(f64::NAN, |seconds| 1e3 * seconds);
        rows.push(row("multiply + relinearise + rescale", "ms", &milliseconds, None));
    }
    rows.push(row("relinearisation key", "MB", &|f| f.key, None));
    if let Some(Quality { worst, left }) = figures.result {
        let precision =
            Row::more_is_better(format!("{name}: precision of the worst bit"), worst, "bits");
        rows.push(precision.paper(session.papers.find(name, "precision of the worst bit")));
        rows.push(Row::more_is_better(format!("{name}: log Q left"), left, "bits"));
    }
    rows.push(Row::new(format!("{name}: log2 of the failure probability"), figures.fails, ""));
    rows
}

/// A set with its keys and two ciphertexts.
struct Set {
    name: &'static str,
    context: Arc<Context>,
    plan: Arc<BitPlan>,
    secret: SecretKey,
    evaluator: Evaluator,
    bootstrapper: BitBootstrapper,
    bits: [Vec<bool>; 2],
    operands: [BitCiphertext; 2],
}

impl Set {
    fn new(name: &'static str) -> Result<Self> {
        let context = Arc::new(Context::new(parameters_of(name)?, Threads::single())?);
        let (rlwe, plan) =
            (context.rlwe(), Arc::new(BitPlan::new(Arc::clone(&context), bits_of(name)?)?));
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        plan.add_keys(&mut keys, &secret)?;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        let encapsulation =
            Arc::new(plan.encapsulation_keys(&secret)?.prepare(rlwe, plan.sparse_context())?);
        let bootstrapper =
            BitBootstrapper::new(Arc::clone(&plan), evaluator.clone(), encapsulation)?;
        let (packing, scale, modulus) =
            (plan.literal().packing, plan.bit_scale(), plan.input_modulus());
        let bits = [1u64, 2].map(|seed| bits(plan.capacity(), seed));
        let encrypt = |bits: &[bool]| -> Result<BitCiphertext> {
            let plaintext =
                encode_bits(&context, bits, packing, context.max_slots(), scale, modulus)?;
            Ok(BitCiphertext::declare(
                context.encrypt(&secret, &plaintext)?.expand(&context),
                packing,
            )?)
        };
        let operands = [encrypt(&bits[0])?, encrypt(&bits[1])?];
        Ok(Set { name, context, plan, secret, evaluator, bootstrapper, bits, operands })
    }

    /// Computes a NAND of the bits. A result whose bound is too large is refused only at the end,
    /// so its time is right.
    fn nand(&self) -> Result<Option<BitCiphertext>> {
        match self.bootstrapper.gate(Gate::Nand, &[&self.operands[0], &self.operands[1]]) {
            Ok(result) => Ok(Some(result)),
            Err(CkksError::Argument { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds a NAND, and a product with `after`, the result of a NAND, if there is capacity for
    /// products.
    fn add_works<'a>(&'a self, works: &mut NamedWorks<'a>, after: Option<&'a BitCiphertext>) {
        works.add("nand", || {
            black_box(self.nand()?);
            Ok(())
        });
        // In complex slots, products of ciphertexts are not products of bits. The time is the same.
        if let Some(after) = after.filter(|_| !self.plan.literal().clean) {
            let mut out = hippocrene_ckks::Ciphertext::empty(&self.context);
            let scale = self.plan.bit_scale();
            works.add("product", move || {
                Ok(self.evaluator.mul_rescale_into(
                    &mut out,
                    after.ciphertext(),
                    after.ciphertext(),
                    scale,
                )?)
            });
        }
    }

    /// Measures this set, and the times of another one in turn with it.
    fn measure(
        &self,
        session: &mut Session,
        simple: Option<&Set>,
    ) -> Result<(Figures, Option<Times>)> {
        let rlwe = self.context.rlwe();
        let before = rlwe.transforms();
        let after = self.nand()?;
        let transforms = (rlwe.transforms() - before) as f64;
        let simple_after = simple.map(Set::nand).transpose()?.flatten();
        let mut works = NamedWorks::default();
        self.add_works(&mut works, after.as_ref());
        if let Some(set) = simple {
            set.add_works(&mut works, simple_after.as_ref());
        }
        let log_n = self.context.parameters().log_degree();
        let mut times: Vec<Times> = Vec::new();
        for (name, seconds) in session.time_closely(log_n, works)? {
            match times.last_mut().filter(|_| name == "product") {
                Some(last) => last.product = Some(seconds),
                None => times.push(Times { nand: seconds, product: None }),
            }
        }
        let figures = Figures {
            times: times[0],
            transforms,
            key: self.context.parameters().switching_key_size().words as f64 / 1e6,
            result: after.map(|after| self.quality(&after)).transpose()?,
            fails: self.plan.log2_failure_probability(),
        };
        Ok((figures, times.get(1).copied()))
    }

    fn quality(&self, after: &BitCiphertext) -> Result<Quality> {
        let (context, packing) = (&self.context, self.plan.literal().packing);
        let plaintext = context.decrypt(&self.secret, after.ciphertext())?;
        let expected: Vec<bool> =
            self.bits[0].iter().zip(&self.bits[1]).map(|(x, y)| !(x & y)).collect();
        if decode_bits(context, &plaintext, packing)? != expected {
            return Err(format!("a nand with {} was wrong", self.name).into());
        }
        let slots = context.decode_complex(&plaintext)?;
        let parts = slots.iter().map(|z| z.re);
        let parts: Vec<f64> = match packing {
            BitPacking::Real => parts.collect(),
            BitPacking::Complex => parts.chain(slots.iter().map(|z| z.im)).collect(),
        };
        let errors = parts.iter().zip(&expected).map(|(x, b)| (x - f64::from(u8::from(*b))).abs());
        Ok(Quality {
            worst: -errors.fold(0.0, f64::max).log2(),
            left: context.parameters().log2(after.ciphertext().modulus()),
        })
    }
}

/// Returns pseudo-random bits that depend on `seed`.
fn bits(count: usize, seed: u64) -> Vec<bool> {
    let mix = |i: u64| {
        let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (seed + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63 == 1
    };
    (0..count as u64).map(mix).collect()
}
