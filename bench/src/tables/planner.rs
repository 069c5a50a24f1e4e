//! The table `planner`: predicted against measured times of key switches with every gadget.

use std::rc::Rc;

use hippocrene::Preset;
use hippocrene_rlwe::{Gadget, Method, Modulus, Parameters, Profile};

use super::{Table, laks};
use crate::{
    Result,
    report::Row,
    scheme::Scheme,
    session::{NamedWorks, Session},
    switching::{KeySwitch, Parts},
    timing::Samples,
};

/// The table.
pub const TABLE: Table = Table {
    name: "planner",
    about: "key switches with every gadget, with all expanded keys in memory: predicted by a \
            profile that is measured first, and measured. The moduli of each chain are six \
            products of words, and as many with a part of the sprout if there is one. The \
            planned gadget is compared with the fastest. Times are scaled to one speed of the \
            machine, the median of one key switch that is timed along with all others. The LAKS \
            chain has 40 primes of 44 bits. It exceeds the 128-bit limit by 13 bits and is only \
            timed",
    memory: "8 GB",
    time: "about 7 minutes",
    live: &[],
    plot: false,
    run,
};

/// The targets for the ratio of measured to predicted time, and of the plan to the fastest gadget.
const PREDICTED_WITHIN: f64 = 1.25;
const PLANNED_WITHIN: f64 = 1.05;

/// The presets.
const PRESETS: [&str; 4] = ["n14", "bits14", "n15", "n16"];

/// The number of timed products of words of a chain, evenly spaced from the top.
const MODULI: usize = 6;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in PRESETS {
        rows.extend(chain(session, name, Preset::by_name(name)?.parameters()?)?);
    }
    rows.extend(chain(session, "LAKS", laks::finest().parameters()?)?);
    Ok(rows)
}

/// Returns the moduli: products of the first units, and if there is a sprout, also with divisors of
/// it, in descending order of size.
fn moduli(parameters: &Parameters) -> Vec<Modulus> {
    let (units, sprout) = (parameters.unit_count(), parameters.top().sprout());
    let words = (0..MODULI).map(|i| Modulus::of_range(0..units - i * units / MODULI));
    let primes = sprout.odd().count_ones() as usize;
    let grafted = |(i, words): (usize, Modulus)| {
        let two = usize::from(sprout.two());
        words.lcm(Modulus::of_sprout(
            sprout.odd() >> (i % (primes + 1)),
            (two - i * two / MODULI) as u8,
        ))
    };
    let grafted = words.clone().enumerate().map(grafted).filter(|_| !sprout.is_one());
    words.clone().chain(grafted).collect()
}

/// Measures one chain. There is a row for each gadget and one for the plan at each modulus, one for
/// the worst prediction, and one for the change of the machine's speed.
fn chain(session: &mut Session, name: &str, parameters: Parameters) -> Result<Vec<Row>> {
    let scheme = Scheme::of(parameters, session.kernel, 0)?;
    let scheme = scheme.with_profile(Profile::measure(session.kernel, |_, _| ())?);
    let context = &scheme.context;
    let moduli = moduli(context.parameters());
    let mut speed = Speed::new(&scheme, moduli[MODULI / 2])?;
    let mut timed = vec![Vec::new(); moduli.len()];
    for keys in shares(context.parameters(), &moduli) {
        // Without memory for all keys, they would be made again and again, since they are used in
        // turn.
        context.set_key_memory(0);
        context.set_key_memory(usize::MAX);
        for (modulus, timed) in moduli.iter().zip(&mut timed) {
            timed.extend(time(session, &scheme, *modulus, &keys, &mut speed)?);
        }
    }
    let (mut rows, mut worst) = (Vec::new(), 1f64);
    let usual = speed.taken.median();
    for (modulus, timed) in moduli.into_iter().zip(timed) {
        let timed: Vec<(Gadget, f64)> =
            timed.into_iter().map(|(gadget, time)| (gadget, time * usual)).collect();
        let at = format!(
            "{name}, {} ({:.0} bits)",
            limbs(context.parameters(), modulus),
            context.parameters().log2(modulus)
        );
        for (gadget, seconds) in &timed {
            let predicted = context.predict(modulus, *gadget, modulus)?;
            worst = worst.max(predicted / seconds).max(seconds / predicted);
            let row = Row::new(format!("{at}, {}", words(*gadget)), 1e3 * seconds, "ms");
            rows.push(row.against("predicted", 1e3 * predicted));
        }
        let planned = context.gadget(modulus)?;
        let of_plan =
            timed.iter().find(|(gadget, _)| *gadget == planned).ok_or("the plan is a gadget")?;
        let fastest =
            timed.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).ok_or("there are gadgets")?;
        let row = Row::new(format!("{at}, as planned: {}", words(planned)), 1e3 * of_plan.1, "ms");
        let best = format!("fastest: {}", words(fastest.0));
        rows.push(row.against(best, 1e3 * fastest.1).target(Some(1.0 / PLANNED_WITHIN)));
    }
    let row = Row::new(format!("{name}: error factor of the worst prediction"), worst, "x");
    rows.push(row.against("allowed", PREDICTED_WITHIN).target(Some(1.0)));
    let row = format!("{name}: the reference key switch, slowest against fastest");
    rows.push(Row::new(row, speed.taken.spread(), "x"));
    Ok(rows)
}

/// The speed of the machine: the planned key switch at one modulus, timed in turn with all others.
/// Virtual machines change their speed by a third from one minute to the next.
struct Speed<'a> {
    scheme: &'a Scheme,
    modulus: Modulus,
    gadget: Gadget,
    /// The samples of its time.
    taken: Samples,
}

impl<'a> Speed<'a> {
    fn new(scheme: &'a Scheme, modulus: Modulus) -> Result<Self> {
        Ok(Speed {
            scheme,
            modulus,
            gadget: scheme.context.gadget(modulus)?,
            taken: Samples::default(),
        })
    }

    /// Times `works`, in units of this key switch.
    fn time(&mut self, session: &mut Session, mut works: NamedWorks<'a>) -> Result<Vec<f64>> {
        let mut switch = KeySwitch::new(self.scheme, self.gadget, self.modulus, self.modulus)?;
        works.add("for scale", move || switch.evaluate());
        let log_degree = self.scheme.context.parameters().log_degree();
        let mut seconds: Vec<f64> =
            session.time_named(log_degree, works)?.into_iter().map(|(_, s)| s).collect();
        let own = seconds.pop().ok_or("this key switch is timed too")?;
        self.taken.push(own);
        Ok(seconds.into_iter().map(|seconds| seconds / own).collect())
    }
}

/// Describes the limbs of a modulus: the words, and the limbs of the sprout.
fn limbs(parameters: &Parameters, modulus: Modulus) -> String {
    let (words, odd) =
        (modulus.words().limb_count(), parameters.literal().sprout.odd_product(modulus.odd()));
    match (modulus.sprout().is_one(), modulus.two(), odd) {
        (true, ..) => format!("{words} limbs"),
        (false, 0, odd) => format!("{words} limbs and {odd}"),
        (false, two, 1) => format!("{words} limbs and 2^{two}"),
        (false, two, odd) => format!("{words} limbs and 2^{two} {odd}"),
    }
}

/// Describes a gadget.
fn words(gadget: Gadget) -> String {
    let method = match gadget.method() {
        Method::Single => String::new(),
        Method::Double { groups } => format!(", double in {groups} groups"),
    };
    format!("r = {}, {} specials{method}", gadget.group(), gadget.specials().limb_count())
}

/// The properties of a gadget that its keys depend on: blocks in a component, and the method of
/// inner products.
type Keys = (usize, Method);

/// The number of sizes of doubly decomposed keys that are in memory together. Those of the finest
/// gadget need gigabytes each.
const DOUBLE_KEYS: usize = 2;

/// Splits the keys of all gadgets at these moduli into groups that are in memory one after the
/// other.
fn shares(parameters: &Parameters, moduli: &[Modulus]) -> Vec<Vec<Keys>> {
    let mut all: Vec<Keys> = Vec::new();
    for gadget in moduli.iter().flat_map(|modulus| gadgets(parameters, *modulus)) {
        let keys = (gadget.group(), gadget.method());
        if !all.contains(&keys) {
            all.push(keys);
        }
    }
    let (single, double): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|keys| keys.1 == Method::Single);
    std::iter::once(single).chain(double.chunks(DOUBLE_KEYS).map(<[Keys]>::to_vec)).collect()
}

/// Returns all gadgets at a modulus.
fn gadgets(parameters: &Parameters, modulus: Modulus) -> Vec<Gadget> {
    [parameters.gadgets(modulus), parameters.double_gadgets(modulus)].concat()
}

/// Times a key switch modulo `modulus` with each gadget that uses some of these keys, in units of
/// the reference key switch.
fn time<'a>(
    session: &mut Session,
    scheme: &'a Scheme,
    modulus: Modulus,
    keys: &[Keys],
    speed: &mut Speed<'a>,
) -> Result<Vec<(Gadget, f64)>> {
    let parameters = scheme.context.parameters();
    let mut gadgets = gadgets(parameters, modulus);
    gadgets.retain(|gadget| keys.contains(&(gadget.group(), gadget.method())));
    let mut works = NamedWorks::default();
    let parts = Rc::new(Parts::new(scheme, modulus)?);
    for gadget in &gadgets {
        let mut switch = KeySwitch::of(scheme, Rc::clone(&parts), *gadget, modulus);
        works.add(words(*gadget), move || switch.evaluate());
    }
    if gadgets.is_empty() {
        return Ok(Vec::new());
    }
    Ok(gadgets.into_iter().zip(speed.time(session, works)?).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moduli_have_parts_of_the_sprout_where_there_is_one() {
        for name in PRESETS {
            let parameters = Preset::by_name(name).unwrap().parameters().unwrap();
            let all = moduli(&parameters);
            let (words, grafted): (Vec<Modulus>, Vec<Modulus>) =
                all.iter().partition(|m| m.sprout().is_one());
            assert_eq!((words.len(), grafted.len()), (MODULI, MODULI));
            assert_eq!(grafted[0], parameters.top());
            assert!(all.iter().all(|m| m.divides(parameters.top())));
            assert!(grafted.iter().any(|m| m.odd() == 0) && grafted.iter().all(|m| m.two() > 0));
        }
        assert_eq!(moduli(&laks::finest().parameters().unwrap()).len(), MODULI);
    }

    #[test]
    fn limbs_are_printed() {
        let parameters = Preset::by_name("bits14").unwrap().parameters().unwrap();
        let of = |odd, two| {
            limbs(&parameters, Modulus::of_range(0..2).lcm(Modulus::of_sprout(odd, two)))
        };
        assert_eq!(
            [of(0, 0), of(1, 0), of(0, 3)],
            ["2 limbs", "2 limbs and 65537", "2 limbs and 2^3"]
        );
        assert_eq!(of(3, 15), "2 limbs and 2^15 10737647617");
    }
}
