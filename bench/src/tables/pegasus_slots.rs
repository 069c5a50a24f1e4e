//! The rows of `pegasus-5` about slots: slots to coefficients, extraction, repacking and its final
//! modulo.

use std::{cell::RefCell, sync::Arc};

use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale};
use hippocrene_fhew::{LweSecretKey, Preset};
use hippocrene_pegasus::{
    Coefficients, Layout, Numbers, Pegasus, PegasusKeys, PegasusLiteral, PegasusPlan,
    PegasusSecrets,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{
    EvaluationKeys, Parameters, SecretDistribution, SecretKey, Sprout, design::Design,
};

use super::Table;
use crate::{
    Result, machine,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-5-slots",
    about: "PEGASUS Table V, between slots and single numbers at N = 2^16, compared with \
            OpenPEGASUS: slots to coefficients, extraction with the LWE switch 2^16 -> 1024, the \
            repacking transform and the modulo, with their errors and keys. All have 128 bits of \
            security (CKKS: 14 units of 48 bits; LWE: dimension 1024, a modulus of 25 bits, \
            uniform binary secrets)",
    memory: "8 GB",
    time: "3 minutes",
    live: &[],
    plot: false,
    run,
};

/// The group of the peers' figures.
const PEERS: &str = "look-up tables";
const SLOTS: [usize; 3] = [256, 1024, 4096];
/// Numbers lie in `[-BOUND, BOUND]`.
pub(super) const BOUND: f64 = 8.0;

/// Returns parameters with 14 units of 48 bits and the sprout. Keys have two digits, which need
/// less memory than three.
pub(super) fn parameters() -> Result<Parameters> {
    let design = Design {
        log_degree: 16,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::for_degree(16).ok_or("there is a sprout for 2^16")?,
        units: vec![48; 14],
        specials: vec![48; 8],
        gadget_rank: 2,
    };
    Ok(Parameters::new(design.literal()?)?)
}

/// A client and its server.
pub(super) struct Setup {
    pub context: Arc<Context>,
    pub secret: SecretKey,
    pub secrets: PegasusSecrets,
    pub pegasus: Pegasus,
    pub stored: PegasusKeys,
    /// The number of keys for rotations and products.
    pub count: usize,
}

impl Setup {
    /// Makes keys for the tables of this name.
    pub fn new(tables: &str, slots: &[usize]) -> Result<Self> {
        Setup::of(parameters()?, Threads::single(), tables, slots)
    }

    /// As [`Setup::new`], with these parameters of CKKS and on these threads.
    pub fn of(
        parameters: Parameters,
        threads: Threads,
        tables: &str,
        slots: &[usize],
    ) -> Result<Self> {
        let context = Arc::new(Context::new(parameters, threads)?);
        let rlwe = context.rlwe();
        let literal = PegasusLiteral::of(&Preset::by_name(tables)?, slots.to_vec(), BOUND, 30.0)?;
        let plan = Arc::new(PegasusPlan::new(Arc::clone(&context), literal)?);
        let secret = SecretKey::generate(rlwe)?;
        let secrets = PegasusSecrets::generate(&plan)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        plan.add_keys(&mut keys, &secret)?;
        let count = keys.galois().len() + 1;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        let stored = PegasusKeys::generate(&plan, &secret, &secrets)?;
        let pegasus = Pegasus::new(plan, evaluator, &stored)?;
        Ok(Setup { context, secret, secrets, pegasus, stored, count })
    }

    /// Encrypts numbers in slots, with little more capacity than the transform needs.
    pub fn encrypt(&self, values: &[f64]) -> Result<Ciphertext> {
        let modulus = self.context.parameters().grafted_modulus(240.0);
        let plaintext =
            self.context.encode(values.into(), values.len(), Scale::power_of_two(40), modulus)?;
        let mut a = self.context.encrypt(&self.secret, &plaintext)?.expand(&self.context);
        a.set_bound(BOUND);
        Ok(a)
    }

    /// Returns the numbers in the slots.
    pub fn decrypt(&self, a: &Ciphertext) -> Result<Vec<f64>> {
        Ok(self.context.decode_real(&self.context.decrypt(&self.secret, a)?)?)
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let setup = Setup::new("lut12", &SLOTS)?;
    let Setup { context, pegasus, stored, .. } = &setup;
    let (plan, lwe) = (pegasus.plan(), &setup.secrets.lwe);
    let mut rows = Vec::new();
    for slots in SLOTS {
        let values = values(slots);
        let a = setup.encrypt(&values)?;
        let coefficients: RefCell<Option<Coefficients>> = RefCell::default();
        let numbers: RefCell<Option<Numbers>> = RefCell::default();
        let partial: RefCell<Option<Ciphertext>> = RefCell::default();
        let result: RefCell<Option<Ciphertext>> = RefCell::default();
        let all: Vec<usize> = (0..slots).collect();
        let packable = packable(lwe, plan, &values)?;
        let layout = Layout::in_order(slots);
        let mut works = NamedWorks::default();
        works.add(format!("slots to coefficients, {slots} values"), || {
            coefficients.replace(Some(pegasus.to_coefficients(&a)?));
            Ok(())
        });
        works.add("extraction", || {
            let coefficients = coefficients.borrow();
            numbers.replace(Some(
                pegasus.extract(coefficients.as_ref().ok_or("there are coefficients")?, &all)?,
            ));
            Ok(())
        });
        works.add(format!("repacking transform, {slots} values"), || {
            partial.replace(Some(pegasus.partial_decryption(&packable, &layout)?));
            Ok(())
        });
        works.add("modulo", || {
            let partial = partial.borrow();
            result.replace(Some(
                pegasus.reduce(&packable, partial.as_ref().ok_or("there is a sum")?)?,
            ));
            Ok(())
        });
        let times = session.time_named(16, works)?;
        let peer = |row: Row, operation: &str| {
            let figure = session.peers.all(PEERS, operation).into_iter().next();
            figure.map_or(row.clone(), |figure| row.against_peer(figure))
        };
        let target = |operation: &str| match operation {
            "modulo" => Some(5.0),
            _ if operation.starts_with("slots") => Some(4.3),
            _ => Some(4.5),
        };
        for (name, seconds) in &times {
            if name == "extraction" {
                let (operation, each) =
                    ("extract + LWE switch 2^16 -> 1024", seconds / slots as f64);
                rows.push(peer(
                    Row::new(format!("{operation}, each of {slots}"), 1e3 * each, "ms"),
                    operation,
                ));
                continue;
            }
            let operation =
                if name == "modulo" { format!("modulo, {slots} values") } else { name.clone() };
            rows.push(peer(Row::new(operation, *seconds, "s"), name).target(target(name)));
        }
        let numbers = numbers.into_inner().ok_or("numbers were extracted")?;
        let scale = numbers.scale().to_f64();
        let extracted = numbers.ciphertexts().iter().map(|c| Ok(lwe.decrypt(c)? as f64 / scale));
        let extracted = extracted.collect::<Result<Vec<f64>>>()?;
        let switched = peer(
            Row::new(
                format!("slots to coefficients + switch, mean error on [-8, 8], {slots} values"),
                error(&extracted, &values).0,
                "log2",
            ),
            "slots to coefficients + switch, error",
        );
        rows.push(switched);
        let y = result.into_inner().ok_or("numbers were repacked")?;
        let got = setup.decrypt(&y)?;
        let (mean, worst) = error(&got, &values);
        rows.push(Row::new(
            format!("repacking, mean error on [-8, 8], {slots} values"),
            mean,
            "log2",
        ));
        rows.push(Row::new(
            format!("repacking, worst error on [-8, 8], {slots} values"),
            worst,
            "log2",
        ));
        rows.push(Row::new(
            format!("repacking, estimated deviation, {slots} values"),
            -y.precision_bits(),
            "log2",
        ));
        rows.push(Row::more_is_better(
            format!("capacity left, {slots} values"),
            y.capacity_bits(context),
            "bits",
        ));
    }
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let log2 = |modulus| context.parameters().log2(modulus);
    rows.push(Row::new("modulus where repacking starts", log2(plan.repacking()), "bits"));
    rows.push(Row::new(
        "log2 of the failure probability of 4096 values",
        plan.log2_failure_probability(4096),
        "",
    ));
    rows.push(Row::new(
        "repacking key, as stored",
        megabytes(stored.repacking.bytes(context)),
        "MB",
    ));
    rows.push(Row::new(
        "LWE key 2^16 -> 1024, as stored",
        megabytes(stored.extraction.stored_bytes()),
        "MB",
    ));
    let rotations = setup.count * context.parameters().switching_key_size().seeded;
    rows.push(Row::new(
        format!("{} keys of rotations and products, as stored", setup.count),
        megabytes(rotations),
        "MB",
    ));
    rows.push(Row::new("all keys, as stored", megabytes(rotations + stored.bytes(context)), "MB"));
    let peak = machine::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e9);
    let memory = session.peers.all(PEERS, "peak memory").into_iter().next();
    rows.push(memory.map_or(Row::missing("peak memory"), |m| {
        Row::new("peak memory", peak, "GB").against_peer(m)
    }));
    Ok(rows)
}

/// Returns log2 of the mean and of the largest error.
pub(super) fn error(got: &[f64], expected: &[f64]) -> (f64, f64) {
    let errors = || got.iter().zip(expected).map(|(g, e)| (g - e).abs());
    let mean = errors().sum::<f64>() / got.len() as f64;
    (mean.log2(), errors().fold(0.0, f64::max).log2())
}

/// Returns numbers spread evenly over `[-BOUND, BOUND]`.
pub(super) fn values(count: usize) -> Vec<f64> {
    (0..count).map(|i| BOUND * (2.0 * (0.5 + i as f64 * 0.754_877_666).fract() - 1.0)).collect()
}

/// Encrypts `values` freshly. The largest have the largest share of the modulus that the reduction
/// allows.
fn packable(lwe: &LweSecretKey, plan: &PegasusPlan, values: &[f64]) -> Result<Numbers> {
    let q = lwe.parameters().modulus();
    let scale = plan.literal().reduction.epsilon() * q as f64 / BOUND;
    let encrypt =
        |x: &f64| Ok(lwe.encrypt(((x * scale).round() as i64).rem_euclid(q as i64) as u64)?);
    let ciphertexts = values.iter().map(encrypt).collect::<Result<_>>()?;
    Ok(Numbers::new(ciphertexts, Scale::from_f64(scale).ok_or("a scale")?, BOUND)?)
}
