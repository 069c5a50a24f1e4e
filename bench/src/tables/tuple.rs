//! `tuple`: multiplication of tuples of ciphertexts, as in Appendix D of GRAFT.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale, Tuple, Values};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, PublicKey, SecretKey};

use super::Table;
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "tuple",
    about: "GRAFT Appendix D: a multiplication of pairs and triples of ciphertexts (t key switches each) against one of plain ciphertexts, \
            relinearised and rescaled, at the same scale and precision: capacity used up and time, fresh ciphertexts of grafted-n15",
    memory: "1 GB",
    time: "about 10 seconds",
    live: false,
    run,
};

const PRESET: &str = "grafted-n15";
/// The scales, as log2.
const SCALES: [i32; 2] = [60, 80];
const LENGTHS: [usize; 2] = [2, 3];

/// How many bits are taken off the divisor for products in a row.
const RESERVE: f64 = 1.0;

/// A context with keys.
struct Bench {
    context: Arc<Context>,
    evaluator: Evaluator,
    public: PublicKey,
}

impl Bench {
    fn new() -> Result<Self> {
        let context = Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
        let rlwe = context.rlwe();
        let secret = SecretKey::generate(rlwe)?;
        let public = PublicKey::generate(rlwe, &secret)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        keys.add_relinearisation(rlwe, &secret)?;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.prepare(rlwe)?));
        Ok(Bench { evaluator, public, context })
    }

    fn encrypt(&self, scale: Scale) -> Result<Ciphertext> {
        let context = &self.context;
        let slots = context.max_slots();
        let values: Vec<f64> = (0..slots).map(|i| (i as f64).cos()).collect();
        let top = Preset::by_name(PRESET)?.fresh(context.parameters());
        let plain = context.encode(Values::from(&values[..]), slots, scale, top)?;
        Ok(context.encrypt_public(&self.public, &plain)?)
    }

    /// A tuple of the values of [`Bench::encrypt`].
    fn encrypt_tuple(&self, scale: Scale, length: usize, divisor: u64) -> Result<Tuple> {
        let mut partial = Vec::new();
        let mut at = scale;
        for _ in 0..length {
            partial.push(self.encrypt(at)?);
            at = at.divided_by(divisor);
        }
        partial.reverse();
        Ok(self.evaluator.tuple(&partial, divisor)?)
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let bench = Bench::new()?;
    let mut rows = Vec::new();
    for bits in SCALES {
        rows.extend(at_scale(session, &bench, bits)?);
    }
    Ok(rows)
}

fn at_scale(session: &mut Session, bench: &Bench, bits: i32) -> Result<Vec<Row>> {
    let (evaluator, scale) = (&bench.evaluator, Scale::power_of_two(bits));
    let (log_n, log2) =
        (bench.context.parameters().log_degree(), |modulus| bench.context.parameters().log2(modulus));
    let plain = bench.encrypt(scale)?;
    let product = evaluator.mul_rescale(&plain, &plain, scale)?;
    let tuples: Vec<Tuple> = LENGTHS
        .into_iter()
        .map(|length| bench.encrypt_tuple(scale, length, evaluator.tuple_divisor(scale, length, RESERVE)?))
        .collect::<Result<_>>()?;
    let mut works = NamedWorks::default();
    works.add("plain", || Ok(evaluator.mul_rescale(&plain, &plain, scale).map(drop)?));
    for tuple in &tuples {
        works.add("tuple", || Ok(evaluator.tuple_mul(tuple, tuple, scale).map(drop)?));
    }
    let times: Vec<f64> = session.time_named(log_n, works)?.into_iter().map(|(_, s)| 1e3 * s).collect();
    let used = log2(plain.modulus()) - log2(product.modulus());
    let mut rows = vec![
        Row::new(format!("scale 2^{bits}, plain: capacity used up"), used, "bits"),
        Row::more(format!("scale 2^{bits}, plain: precision, estimated"), product.precision_bits(), "bits"),
        Row::new(format!("scale 2^{bits}, plain: time"), times[0], "ms"),
    ];
    for (tuple, time) in tuples.iter().zip(&times[1..]) {
        let name = format!("scale 2^{bits}, tuple of {}", tuple.length());
        let squared = evaluator.tuple_mul(tuple, tuple, scale)?;
        let bits_used = log2(tuple.modulus()) - log2(squared.modulus());
        let precision = squared.precision_bits();
        rows.push(Row::new(format!("{name}: capacity used up"), bits_used, "bits").against("plain", used));
        rows.push(
            Row::more(format!("{name}: precision, estimated"), precision, "bits")
                .against("plain", product.precision_bits()),
        );
        rows.push(Row::new(format!("{name}: time"), *time, "ms").against("plain", times[0]));
        rows.push(
            Row::new(format!("{name}: time x capacity"), time * bits_used, "ms bits")
                .against("plain", times[0] * used),
        );
    }
    Ok(rows)
}
