//! The table `simulate`: the costs that dry runs predict, beside the measured ones.

use std::sync::Arc;

use hippocrene::{Family, PRESETS, Preset};
use hippocrene_ckks::{
    Ciphertext, CkksError, Context, Evaluator, Plaintext, Scale,
    bootstrap::{BootstrapPlan, Bootstrapper},
    circuits::{LinearTransform, Polynomial},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, Parameters, PreparedEvaluationKeys, Profile, SecretKey};
use num_complex::Complex64;

use super::{Table, boot};
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "simulate",
    about: "predicted against measured times of operations at the simple presets, and of a \
            bootstrap with the preset n16s by phases. The prediction is a simulation without \
            residues with a profile of this machine. Also the memory of the bootstrap",
    memory: "11 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

const HOISTED: i64 = 8;
const MATRIX: usize = 16;

/// A client and an evaluator, with or without residues.
pub(super) struct Side {
    pub(super) context: Arc<Context>,
    secret: SecretKey,
    keys: Arc<PreparedEvaluationKeys>,
}

impl Side {
    pub(super) fn dry_run(parameters: Parameters, profile: &Profile) -> Result<Self> {
        let rlwe = hippocrene_rlwe::Context::dry_run(parameters, Threads::single())?;
        let context = Arc::new(Context::of(Arc::new(rlwe.with_profile(profile.clone())))?);
        let secret = SecretKey::generate(context.rlwe())?;
        let keys = Arc::new(PreparedEvaluationKeys::all_for_dry_run(
            context.rlwe(),
            secret.fingerprint(),
        )?);
        Ok(Side { context, secret, keys })
    }

    fn real(parameters: Parameters, profile: &Profile) -> Result<Arc<Context>> {
        let rlwe = hippocrene_rlwe::Context::new(parameters, Threads::single())?;
        Ok(Arc::new(Context::of(Arc::new(rlwe.with_profile(profile.clone())))?))
    }

    fn evaluator(&self) -> Evaluator {
        Evaluator::new(Arc::clone(&self.context), Arc::clone(&self.keys))
    }

    pub(super) fn encrypt(
        &self,
        values: &[Complex64],
        scale: Scale,
        bits: f64,
    ) -> Result<Ciphertext> {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let plaintext = self.context.encode(values.into(), values.len(), scale, modulus)?;
        Ok(self.context.encrypt(&self.secret, &plaintext)?.expand(&self.context))
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let profile = Profile::measure(session.kernel, |_, _| ())?;
    let mut rows = Vec::new();
    for preset in PRESETS.into_iter().filter(|preset| preset.family == Family::Simple) {
        rows.extend(operations(session, preset, &profile)?);
    }
    rows.extend(bootstrap(session, &profile)?);
    Ok(rows)
}

/// The operands of the operations at a preset.
struct Operands<'a> {
    evaluator: Evaluator,
    scale: Scale,
    values: Vec<Complex64>,
    a: Ciphertext,
    b: Ciphertext,
    plain: Plaintext,
    matrix: &'a LinearTransform,
    sigmoid: &'a Polynomial,
}

type Operation = fn(&Operands, &mut Ciphertext) -> std::result::Result<(), CkksError>;

/// The operations that are timed and predicted.
const OPERATIONS: [(&str, Operation); 9] = [
    ("encode", |x, _| {
        x.evaluator
            .context()
            .encode((&x.values[..]).into(), x.values.len(), x.scale, x.a.modulus())
            .map(drop)
    }),
    ("add", |x, _| x.evaluator.add(&x.a, &x.b).map(drop)),
    ("multiply by a plaintext", |x, _| x.evaluator.mul_plain(&x.a, &x.plain).map(drop)),
    ("multiply and rescale", |x, out| x.evaluator.mul_rescale_into(out, &x.a, &x.b, x.scale)),
    ("square and rescale", |x, out| x.evaluator.mul_rescale_into(out, &x.a, &x.a, x.scale)),
    ("rotate", |x, out| x.evaluator.rotate_into(out, &x.a, 1)),
    ("rotate, hoisted, 8 times", |x, _| {
        x.evaluator.rotate_many(&x.a, &(1..=HOISTED).collect::<Vec<_>>()).map(drop)
    }),
    ("polynomial of degree 7", |x, _| x.evaluator.polynomial(&x.a, x.sigmoid, x.scale).map(drop)),
    ("matrix of 16 diagonals", |x, _| {
        x.evaluator.linear_transform(&x.a, x.matrix, x.scale).map(drop)
    }),
];

fn works<'a>(
    side: &'a Side,
    scale: Scale,
    matrix: &'a LinearTransform,
    sigmoid: &'a Polynomial,
) -> Result<NamedWorks<'a>> {
    let (context, slots) = (&side.context, side.context.max_slots());
    let values: Vec<Complex64> = (0..slots).map(|i| Complex64::from((i as f64).cos())).collect();
    let bits = context.parameters().log2(context.parameters().top());
    let (a, b) = (side.encrypt(&values, scale, bits)?, side.encrypt(&values, scale, bits)?);
    let plain = context.encode((&values[..]).into(), slots, scale, a.modulus())?;
    let operands = Arc::new(Operands {
        evaluator: side.evaluator(),
        scale,
        values,
        a,
        b,
        plain,
        matrix,
        sigmoid,
    });
    let mut works = NamedWorks::default();
    for (name, operation) in OPERATIONS {
        let (operands, mut out) = (Arc::clone(&operands), Ciphertext::empty(context));
        works.add(name, move || Ok(operation(&operands, &mut out)?));
    }
    Ok(works)
}

/// Returns the predicted seconds of each piece of work when it runs for the second time.
pub(super) fn predicted(side: &Side, works: NamedWorks) -> Result<Vec<f64>> {
    let rlwe = side.context.rlwe();
    let mut seconds = Vec::new();
    for (_, mut work) in works.into_works() {
        work()?;
        let before = rlwe.tally().seconds();
        work()?;
        seconds.push(rlwe.tally().seconds() - before);
    }
    Ok(seconds)
}

fn operations(session: &mut Session, preset: Preset, profile: &Profile) -> Result<Vec<Row>> {
    let settings = preset.settings()?;
    let (scale, parameters) = (settings.scale(), settings.parameters().clone());
    let context = Side::real(parameters.clone(), profile)?;
    let (rlwe, slots) = (context.rlwe(), context.max_slots());
    let diagonals =
        (0..MATRIX).map(|r| (r, (0..slots).map(|i| ((i + r) as f64).sin()).collect())).collect();
    let matrix = LinearTransform::from_real(slots, diagonals)?;
    let sigmoid = Polynomial::approximate(|x| 1.0 / (1.0 + (-x).exp()), -1.0, 1.0, 7)?;
    let secret = SecretKey::generate(rlwe)?;
    let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
    keys.add_relinearisation(rlwe, &secret)?;
    keys.add_rotations(rlwe, &secret, 1..=HOISTED)?;
    keys.add_rotations(rlwe, &secret, matrix.rotations())?;
    let keys = Arc::new(keys.into_prepared(rlwe)?);
    let real = Side { context, secret, keys };
    let dry = Side::dry_run(parameters, profile)?;
    let predicted = predicted(&dry, works(&dry, scale, &matrix, &sigmoid)?)?;
    let measured =
        session.time_named(preset.log_degree, works(&real, scale, &matrix, &sigmoid)?)?;
    let row = |(predicted, (name, measured)): (f64, (String, f64))| {
        predicted_row(&format!("{}: {name}", preset.name), predicted, measured)
    };
    Ok(predicted.into_iter().zip(measured).map(row).collect())
}

fn predicted_row(name: &str, predicted: f64, measured: f64) -> Row {
    Row::new(name, 1e3 * predicted, "ms").against("measured", 1e3 * measured)
}

/// Returns a bootstrapper with keys for the sparse secret of the plan.
pub(super) fn bootstrapper(side: &Side, plan: &Arc<BootstrapPlan>) -> Result<Bootstrapper> {
    let keys = plan.encapsulation_keys(&side.secret)?.ok_or("the plan has a sparse secret")?;
    let sparse_context = plan.sparse_context().ok_or("the plan has a sparse secret")?;
    let keys = Arc::new(keys.prepare(side.context.rlwe(), sparse_context)?);
    Ok(Bootstrapper::new(Arc::clone(plan), side.evaluator(), Some(keys))?)
}

/// Returns the phases of a bootstrap, from the smallest modulus that it accepts.
fn phases(side: &Side, bootstrapper: &Bootstrapper) -> Result<NamedWorks<'static>> {
    let plan = bootstrapper.plan();
    let slots = plan.literal().slots;
    let values: Vec<Complex64> = (0..slots).map(|i| Complex64::from_polar(0.9, i as f64)).collect();
    let scale = Scale::from_f64(plan.literal().output_scale_bits.exp2()).ok_or("a scale")?;
    let a = side.encrypt(&values, scale, scale.log2() + 2.0 + plan.capacity_needed())?;
    let lowered = Arc::new(bootstrapper.lower(&a)?);
    let to = plan.raised();
    let raised = Arc::new(bootstrapper.raise(&lowered, to)?);
    let parts = Arc::new(bootstrapper.coefficients_to_slots(&raised)?);
    let mut works = NamedWorks::default();
    let b = bootstrapper.clone();
    works.add("slots to coefficients", move || Ok(b.lower(&a).map(drop)?));
    let (b, low) = (bootstrapper.clone(), Arc::clone(&lowered));
    works.add("modulus raise", move || Ok(b.raise(&low, to).map(drop)?));
    let b = bootstrapper.clone();
    works.add("coefficients to slots", move || Ok(b.coefficients_to_slots(&raised).map(drop)?));
    let b = bootstrapper.clone();
    works.add("sine", move || Ok(b.finish(b.reduce(&parts)?, &lowered).map(drop)?));
    Ok(works)
}

fn bootstrap(session: &mut Session, profile: &Profile) -> Result<Vec<Row>> {
    let parameters = Preset::by_name(boot::PRESET)?.parameters()?;
    let dry = Side::dry_run(parameters.clone(), profile)?;
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&dry.context), boot::literal(false)?)?);
    let reckoned = bootstrapper(&dry, &plan)?;
    let predicted = predicted(&dry, phases(&dry, &reckoned)?)?;
    let rlwe = dry.context.rlwe();
    drop(reckoned);

    let context = Side::real(parameters, profile)?;
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&context), boot::literal(false)?)?);
    let secret = SecretKey::generate(context.rlwe())?;
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    plan.add_keys(&mut keys, &secret)?;
    let count = keys.galois().len() + 1;
    let keys = Arc::new(keys.into_prepared(context.rlwe())?);
    let key_bytes = keys.bytes();
    let real = Side { context, secret, keys };
    let b = bootstrapper(&real, &plan)?;
    let works = phases(&real, &b)?;
    let measured = session.time_named(real.context.parameters().log_degree(), works)?;
    let total = measured.iter().map(|(_, seconds)| seconds).sum();
    let mut rows = vec![predicted_row("bootstrap", predicted.iter().sum(), total)];
    for (predicted, (name, measured)) in predicted.into_iter().zip(measured) {
        rows.push(predicted_row(&format!("bootstrap: {name}"), predicted, measured));
    }
    let memory = |what: &str, reckoned: usize, measured: usize| {
        Row::new(format!("bootstrap: {what}"), reckoned as f64 / 1e6, "MB")
            .against("measured", measured as f64 / 1e6)
    };
    let derived = real.context.rlwe().key_memory().0;
    rows.push(memory("keys", count * rlwe.prepared_key_bytes(), key_bytes));
    let reckoned = rlwe.tally().derived_key_bytes().min(hippocrene_rlwe::DEFAULT_KEY_MEMORY_BYTES);
    rows.push(memory("derived keys", reckoned, derived));
    let scratch = [rlwe, real.context.rlwe()].map(|context| context.scratch_memory());
    rows.push(memory("scratch memory", scratch[0], scratch[1]));
    Ok(rows)
}
