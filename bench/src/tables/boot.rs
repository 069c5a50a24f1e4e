//! The table `boot`: a bootstrap by phases, with its keys and results, compared with the peers.

use std::{cell::RefCell, sync::Arc, time::Instant};

use hippocrene::Preset;
use hippocrene_ckks::{
    Ciphertext, Context, Evaluator, Scale,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper, Order},
    circuits::DftLevel,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{
    EvaluationKeys, PreparedEncapsulationKeys, PreparedEvaluationKeys, SecretKey,
};
use num_complex::Complex64;

use super::Table;
use crate::{
    Result, machine,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "boot",
    about: "a bootstrap of 2^15 slots at N = 2^16, compared with Lattigo's and with the fastest \
            of OpenFHE's. The preset n16s has a sparse secret (h = 192) and log PQ 1544. Slots \
            to coefficients come first, and the modulus is raised under a sparse secret (h' = \
            32). Shown: time by phase, precision, remaining modulus, keys and memory, for \
            complex slots and for real ones with the same keys, to the modulus that Lattigo's \
            bootstrap leaves",
    memory: "11 GB, with --peers 14 GB",
    time: "about 2 minutes, with --peers 10",
    live: &["openfhe-bootstrap", "lattigo-bootstrap-16"],
    plot: false,
    run,
};

pub(super) const PRESET: &str = "n16s";
/// The group of the peers' figures.
pub(super) const GROUP: &str = "bootstrap N = 2^16";
/// Targets for times against Lattigo and OpenFHE, and for the size of keys and the memory against
/// Lattigo (2 GB and 7 GiB).
const PEERS: Peers = Peers {
    group: GROUP,
    targets: &[
        ("bootstrap", [Some(8.0), Some(5.0)]),
        ("keys", [Some(7.867 / 2.0), None]),
        ("key generation", [Some(4.0), None]),
        ("peak memory", [Some(13.6 / 7.0), None]),
    ],
};
/// log2 of the scale of the operand and of the result.
pub(super) const SCALE: i32 = 40;

/// The peers that a bootstrap is compared with: the first two of a group of figures.
pub(super) struct Peers {
    pub group: &'static str,
    /// For each figure, the target ratio against each peer.
    pub targets: &'static [(&'static str, [Option<f64>; 2])],
}

impl Peers {
    /// Compares a row with the figure of each peer that has one, and with those measured in this
    /// run.
    fn compare(&self, session: &Session, what: &str, row: Row) -> Vec<Row> {
        let targets =
            self.targets.iter().find(|(name, _)| *name == what).map_or([None; 2], |(_, t)| *t);
        let first: Vec<String> = session
            .peers
            .all(self.group, what)
            .into_iter()
            .take(2)
            .map(|figure| figure.peer)
            .collect();
        let place = |peer: &str| first.iter().position(|name| name == peer);
        let live = |peer: &str| peer.ends_with(", live");
        let target = |peer: &str| match place(peer) {
            Some(i) => targets[i],
            // The wheel has no HEXL.
            None => targets[0].filter(|_| peer.starts_with("Lattigo")),
        };
        session.compare_with_peers(
            (self.group, what),
            &row,
            |peer| place(peer).is_some() || live(peer),
            target,
        )
    }
}

/// The bits of the modulus that Lattigo's bootstrap leaves, and ours.
const OUTPUT_BITS: f64 = 420.0;

/// Returns the plan: four levels from coefficients to slots and three back, and an even cosine with
/// two doublings and an arcsine of degree 3, on values up to 2^-8 of `q0`.
pub(super) fn literal(real: bool) -> Result<BootstrapLiteral> {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    Ok(BootstrapLiteral {
        slots: 1 << 15,
        real,
        first_slots: false,
        order: Order::SlotsToCoefficientsFirst,
        bound: 1.0,
        base_bits: 48.0,
        sparse_weight: Some(32),
        reduction: ModularReduction::new(17, -8.0, -36.0, 2, 3)?,
        scale_bits: 55.0,
        coefficients_to_slots: [4, 4, 4, 3].map(|radix_log2| level(radix_log2, 49.0)).to_vec(),
        slots_to_coefficients: [5; 3].map(|radix_log2| level(radix_log2, 42.0)).to_vec(),
        output_scale_bits: f64::from(SCALE),
        output_bits: Some(OUTPUT_BITS),
        precision: None,
    })
}

/// A context with keys for bootstraps.
pub(super) struct Client {
    pub context: Arc<Context>,
    pub secret: SecretKey,
    keys: Arc<PreparedEvaluationKeys>,
    /// The keys of the sparse secret, if the plan has one.
    encapsulation: Option<Arc<PreparedEncapsulationKeys>>,
}

/// The size of a client's keys, and the time to make them.
pub(super) struct Made {
    /// The bytes of all stored keys.
    stored: usize,
    /// The time to generate the keys, in seconds.
    generation: f64,
    /// The time to prepare them, in seconds.
    preparation: f64,
}

impl Client {
    pub(super) fn generate(plan: &BootstrapPlan) -> Result<(Self, Made)> {
        let context = Arc::clone(plan.context());
        let rlwe = context.rlwe();
        let start = Instant::now();
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        plan.add_keys(&mut keys, &secret)?;
        let encapsulation = plan.encapsulation_keys(&secret)?;
        let generation = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let sparse = encapsulation.as_ref().map(|keys| keys.stored_bytes(rlwe)).transpose()?;
        let stored = keys.stored_bytes(rlwe)? + sparse.unwrap_or(0);
        let keys = Arc::new(keys.into_prepared(rlwe)?);
        let encapsulation = match (encapsulation, plan.sparse_context()) {
            (Some(keys), Some(sparse_context)) => {
                Some(Arc::new(keys.prepare(rlwe, sparse_context)?))
            }
            _ => None,
        };
        let preparation = start.elapsed().as_secs_f64();
        Ok((
            Client { context, secret, keys, encapsulation },
            Made { stored, generation, preparation },
        ))
    }

    /// Returns a bootstrapper in the context of the plan, which must have the parameters of the
    /// keys.
    pub(super) fn bootstrapper(&self, plan: Arc<BootstrapPlan>) -> Result<Bootstrapper> {
        let evaluator = Evaluator::new(Arc::clone(plan.context()), Arc::clone(&self.keys));
        Ok(Bootstrapper::new(plan, evaluator, self.encapsulation.clone())?)
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let context =
        Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&context), literal(false)?)?);
    let (client, made) = Client::generate(&plan)?;
    let mut rows = session.live.missing();
    rows.extend(bootstrap(session, &PEERS, &client, plan, "complex")?);
    let real = Arc::new(BootstrapPlan::new(context, literal(true)?)?);
    rows.extend(bootstrap(session, &PEERS, &client, real, "real")?);
    rows.extend(set_up(session, &PEERS, &client, &made));
    Ok(rows)
}

/// Returns the rows for the keys, and for the memory so far.
pub(super) fn set_up(session: &Session, peers: &Peers, client: &Client, made: &Made) -> Vec<Row> {
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let sparse = client.encapsulation.as_ref().map_or(0, |keys| keys.bytes());
    let held = client.keys.bytes() + sparse + client.context.rlwe().key_memory().0;
    let gibibytes =
        machine::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / f64::from(1 << 30));
    let stored = Row::new("keys, as stored", megabytes(made.stored), "MB");
    let mut rows = peers.compare(session, "keys", stored);
    rows.push(Row::new("keys, in memory", megabytes(held), "MB"));
    let generation = Row::new("key generation", made.generation, "s");
    rows.extend(peers.compare(session, "key generation", generation));
    rows.push(Row::new("keys laid out", made.preparation, "s"));
    rows.extend(peers.compare(session, "peak memory", Row::new("peak memory", gibibytes, "GiB")));
    rows
}

/// Returns values spread evenly over the square of complex numbers up to 1, or over the reals.
pub(super) fn values(count: usize, real: bool) -> Vec<Complex64> {
    let part = |i: usize, step: f64| 2.0 * (0.5 + i as f64 * step).fract() - 1.0;
    let number = |i: usize| match real {
        true => Complex64::from(part(i, 0.754_877_666)),
        false => {
            Complex64::new(part(i, 0.754_877_666), part(i, 0.569_840_291))
                * std::f64::consts::FRAC_1_SQRT_2
        }
    };
    (0..count).map(number).collect()
}

/// Encrypts values modulo the smallest modulus that a bootstrap accepts.
pub(super) fn ciphertext(
    client: &Client,
    plan: &BootstrapPlan,
) -> Result<(Ciphertext, Vec<Complex64>)> {
    let (context, literal) = (&client.context, plan.literal());
    let z = values(literal.slots, literal.real);
    let bits = f64::from(SCALE) + 2.0 + plan.capacity_needed();
    let low = context.parameters().grafted_modulus(bits);
    let plaintext =
        context.encode((&z[..]).into(), literal.slots, Scale::power_of_two(SCALE), low)?;
    Ok((context.encrypt(&client.secret, &plaintext)?.expand(context), z))
}

/// Returns the mean and the largest error of real and imaginary parts, or of real parts only.
pub(super) fn errors(
    client: &Client,
    y: &Ciphertext,
    expected: &[Complex64],
    real: bool,
) -> Result<[f64; 2]> {
    let got = client.context.decode_complex(&client.context.decrypt(&client.secret, y)?)?;
    let errors = || {
        got.iter().zip(expected).map(|(g, z)| g - z).flat_map(|e| match real {
            true => vec![e.re.abs()],
            false => vec![e.re.abs(), e.im.abs()],
        })
    };
    let mean = errors().sum::<f64>() / errors().count() as f64;
    Ok([mean, errors().fold(0.0, f64::max)])
}

/// Measures a bootstrap by phases.
pub(super) fn bootstrap(
    session: &mut Session,
    peers: &Peers,
    client: &Client,
    plan: Arc<BootstrapPlan>,
    what: &str,
) -> Result<Vec<Row>> {
    let (context, literal) = (&client.context, plan.literal().clone());
    let (a, z) = ciphertext(client, &plan)?;
    let bootstrapper = client.bootstrapper(Arc::clone(&plan))?;
    let lowered = RefCell::new(bootstrapper.lower(&a)?);
    let raised = RefCell::new(bootstrapper.raise(&lowered.borrow(), plan.raised())?);
    let parts = RefCell::new(bootstrapper.coefficients_to_slots(&raised.borrow())?);
    let result: RefCell<Option<Ciphertext>> = RefCell::default();
    let mut works = NamedWorks::default();
    works.add("slots to coefficients", || {
        lowered.replace(bootstrapper.lower(&a)?);
        Ok(())
    });
    works.add("modulus raise", || {
        raised.replace(bootstrapper.raise(&lowered.borrow(), plan.raised())?);
        Ok(())
    });
    works.add("coefficients to slots", || {
        parts.replace(bootstrapper.coefficients_to_slots(&raised.borrow())?);
        Ok(())
    });
    works.add("sine", || {
        let reduced = bootstrapper.reduce(&parts.borrow())?;
        result.replace(Some(bootstrapper.finish(reduced, &lowered.borrow())?));
        Ok(())
    });
    let times = session.time_named(context.parameters().log_degree(), works)?;
    let total: f64 = times.iter().map(|(_, seconds)| seconds).sum();

    let y = result.into_inner().ok_or("the last phase has run")?;
    let [mean, worst] = errors(client, &y, &z, literal.real)?;
    let left = context.parameters().log2(y.modulus());
    let name = |figure: &str| format!("{what}: {figure}");
    let mut rows = peers.compare(session, "bootstrap", Row::new(name("bootstrap"), total, "s"));
    for (phase, seconds) in &times {
        let compared = peers.compare(session, phase, Row::new(name(phase), *seconds, "s"));
        let alone = compared.is_empty().then(|| Row::new(name(phase), *seconds, "s"));
        rows.extend(compared.into_iter().chain(alone));
    }
    let mut more = |figure: &str, value: f64| {
        rows.extend(peers.compare(
            session,
            figure,
            Row::more_is_better(name(figure), value, "bits"),
        ));
    };
    more("mean precision", -mean.log2());
    more("worst precision", -worst.log2());
    more("log Q left", left);
    rows.push(Row::more_is_better(
        name("estimated precision, standard deviation"),
        y.precision_bits(),
        "bits",
    ));
    rows.push(Row::new(
        name("capacity that the next bootstrap needs"),
        plan.capacity_needed(),
        "bits",
    ));
    let fails = plan.log2_failure_probability();
    rows.push(match fails.is_finite() {
        true => Row::new(name("log2 of the failure probability"), fails, ""),
        false => Row::missing(name("it cannot fail: no coefficient of I can leave the range")),
    });
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_secure_and_fails_less_often_than_2_to_the_minus_128() {
        let context = Arc::new(
            Context::new(Preset::by_name(PRESET).unwrap().parameters().unwrap(), Threads::single())
                .unwrap(),
        );
        let plan = BootstrapPlan::new(context, literal(false).unwrap()).unwrap();
        assert!(plan.log2_failure_probability() < -128.0);
        assert!(plan.sparse_context().unwrap().parameters().security().is_some());
        assert!(plan.context().parameters().security().is_some());
    }
}
