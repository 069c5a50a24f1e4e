//! Key switches with 48-bit primes, against the prototypes of their data flow. They are a part of
//! the table `ops`.
//! `ops`.

use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Destination, SecretDistribution, Sprout};

use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes},
    session::Session,
};

/// Ring degree, units, special primes and gadget rank of the key switches, and whether there is a
/// target for them.
const KEY_SWITCHES: [(u32, usize, usize, usize, bool); 5] = [
    (14, 6, 3, 3, true),
    (15, 12, 4, 3, true),
    (16, 21, 7, 3, true),
    (16, 21, 6, 4, false),
    (16, 18, 18, 1, false),
];

/// Measures all of these key switches.
pub fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (log_n, units, specials, dnum, goal) in KEY_SWITCHES {
        rows.extend(key_switch(session, log_n, units, specials, dnum, goal)?);
    }
    Ok(rows)
}

/// Measures a key switch of a polynomial modulo all units, with input and output in the evaluation
/// domain.
fn key_switch(
    session: &mut Session,
    log_n: u32,
    units: usize,
    specials: usize,
    dnum: usize,
    goal: bool,
) -> Result<Vec<Row>> {
    let sizes = Sizes {
        log_n,
        units: vec![(48, units)],
        specials: vec![(48, specials)],
        sprout: Sprout::default(),
        dnum,
        secret: SecretDistribution::Ternary,
    };
    let scheme = Scheme::new(&sizes, session.kernel, 0)?;
    let (context, top) = (&scheme.context, scheme.top());
    let key = scheme.keys.relinearisation("measure")?;
    let message = scheme.message(top);
    let [mut out0, mut out1]: [Poly; 2] = [(); 2].map(|()| context.zero(top, Domain::Evaluation));
    let [seconds] = session.time(
        log_n,
        [&mut || {
            let decomposed = context.decompose(&message, top)?;
            Ok(context.switch_keys_into(
                [&mut out0, &mut out1],
                &decomposed,
                key,
                [None, None],
                &Destination::new(top),
            )?)
        }],
    )?;
    let shape = format!("N = 2^{log_n}, {units} + {specials}");
    let group = format!("key-switch prototype, {shape}");
    let name = format!("key switch, {shape} limbs, dnum {dnum}");
    let peers = |operation: &str| session.peers.all(&group, operation);
    let mut rows = Vec::new();
    for (operation, value, unit, target) in [
        ("key switch", 1e3 * seconds, "ms", goal.then_some(1.0)),
        ("expected when fused", 1e3 * seconds, "ms", None),
        ("multiply-only floor", 1e3 * seconds, "ms", None),
        ("key", key.bytes() as f64 / 1e6, "MB", None),
    ] {
        for mut figure in peers(operation) {
            let row =
                if operation == "key" { format!("{name}: key in memory") } else { name.clone() };
            if !["key switch", "key"].contains(&operation) {
                figure.peer = format!("{}, {operation}", figure.peer);
            }
            rows.push(Row::new(row, value, unit).against_peer(figure).target(target));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Peers;

    #[test]
    fn every_key_switch_has_its_prototype() {
        let peers = Peers::load().unwrap();
        for (log_n, units, specials, ..) in KEY_SWITCHES {
            let group = format!("key-switch prototype, N = 2^{log_n}, {units} + {specials}");
            assert_eq!(peers.all(&group, "key switch").len(), 1, "{group}");
            assert_eq!(peers.all(&group, "key")[0].unit, "MB");
        }
    }
}
