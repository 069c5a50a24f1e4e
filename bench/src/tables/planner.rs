//! `planner`: what the planner predicts for key switches with every gadget, against what they take.

use hippocrene::Preset;
use hippocrene_rlwe::{Gadget, Method, Modulus, Parameters, Profile};

use super::{Table, laks};
use crate::{
    Result,
    report::Row,
    scheme::Scheme,
    session::{NamedWorks, Session},
    switching::KeySwitch,
};

/// The table.
pub const TABLE: Table = Table {
    name: "planner",
    about: "key switches with every gadget (coalesced keys held) as a profile measured in the same run predicts them, at six moduli of \
            each chain, and the planned gadget against the fastest; the LAKS chain has 40 primes of 44 bits, 13 bits beyond the 128-bit \
            limit, and is only there to be timed",
    memory: "10 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// By what factor a prediction may be off, and the plan be slower than the fastest gadget.
const PREDICTED_WITHIN: f64 = 1.25;
const PLANNED_WITHIN: f64 = 1.05;

/// The presets.
const PRESETS: [&str; 3] = ["n14", "n15", "n16"];

/// How many moduli of a chain are timed, evenly spaced from the top.
const MODULI: usize = 6;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let profile = Profile::measure(session.kernel, |_, _| ())?;
    let mut rows = Vec::new();
    for name in PRESETS {
        rows.extend(chain(session, name, Preset::by_name(name)?.parameters()?, &profile)?);
    }
    rows.extend(chain(session, "LAKS", laks::finest().parameters()?, &profile)?);
    Ok(rows)
}

/// The moduli: products of the first units, without the sprout.
fn moduli(parameters: &Parameters) -> impl Iterator<Item = Modulus> {
    let units = parameters.unit_count();
    (0..MODULI).map(move |i| Modulus::of_range(0..units - i * units / MODULI))
}

/// One chain: a row for each gadget at each modulus, one for the plan at each modulus, and one for the worst prediction.
fn chain(session: &mut Session, name: &str, parameters: Parameters, profile: &Profile) -> Result<Vec<Row>> {
    let scheme = Scheme::of(parameters, session.kernel, 0)?;
    let scheme = Scheme { context: scheme.context.with_profile(profile.clone()), ..scheme };
    // All coalesced keys: without room they would be made again and again, as they are used in turn.
    scheme.context.set_key_memory(usize::MAX);
    let (context, mut rows, mut worst) = (&scheme.context, Vec::new(), 1f64);
    for modulus in moduli(context.parameters()) {
        let at = format!(
            "{name}, {} limbs ({:.0} bits)",
            modulus.limb_count(),
            context.parameters().log2(modulus)
        );
        let timed = time(session, &scheme, modulus)?;
        for (gadget, seconds) in &timed {
            let predicted = context.predict(modulus, *gadget, modulus)?;
            worst = worst.max(predicted / seconds).max(seconds / predicted);
            let row = Row::new(format!("{at}, {}", words(*gadget)), 1e3 * seconds, "ms");
            rows.push(row.against("predicted", 1e3 * predicted));
        }
        let planned = context.gadget(modulus)?;
        let of_plan = timed.iter().find(|(gadget, _)| *gadget == planned).ok_or("the plan is a gadget")?;
        let fastest = timed.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).ok_or("there are gadgets")?;
        let row = Row::new(format!("{at}, as planned: {}", words(planned)), 1e3 * of_plan.1, "ms");
        let best = format!("fastest: {}", words(fastest.0));
        rows.push(row.against(best, 1e3 * fastest.1).target(Some(1.0 / PLANNED_WITHIN)));
    }
    let row = Row::new(format!("{name}: the worst prediction is off by a factor of"), worst, "x");
    rows.push(row.against("allowed", PREDICTED_WITHIN).target(Some(1.0)));
    Ok(rows)
}

/// A gadget in words.
fn words(gadget: Gadget) -> String {
    let method = match gadget.method() {
        Method::Single => String::new(),
        Method::Double { groups } => format!(", double in {groups} groups"),
    };
    format!("r = {}, {} specials{method}", gadget.group(), gadget.specials().limb_count())
}

/// Median seconds of a key switch modulo `modulus` with each gadget.
fn time(session: &mut Session, scheme: &Scheme, modulus: Modulus) -> Result<Vec<(Gadget, f64)>> {
    let parameters = scheme.context.parameters();
    let gadgets = [parameters.gadgets(modulus), parameters.double_gadgets(modulus)].concat();
    let mut works = NamedWorks::default();
    for gadget in &gadgets {
        let mut switch = KeySwitch::new(scheme, *gadget, modulus, modulus)?;
        works.add(words(*gadget), move || switch.evaluate());
    }
    let timed = session.time_named(parameters.log_degree(), works)?;
    Ok(gadgets.into_iter().zip(timed.into_iter().map(|(_, seconds)| seconds)).collect())
}
