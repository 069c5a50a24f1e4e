//! The table `second`: the keys and the time of a second parameter set against those of the first
//! (MG23 3.6).

use hippocrene::Preset;
use hippocrene_ring::automorphism::galois_element_of_rotation;
use hippocrene_rlwe::{Ciphertext, TransferKey};

use super::Table;
use crate::{Result, report::Row, scheme::Scheme, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "second",
    about: "MG23 3.6: the keys of a second parameter set and secret for about half of a preset's \
            usable bits, against the preset's own keys with gadgets planned for that modulus. \
            Also shown: the cost of the transfer, once for each ciphertext",
    memory: "1.5 GB",
    time: "1 minute",
    live: &[],
    plot: false,
    run,
};

/// The presets, with the bits of capacity of the second set.
const CASES: [(&str, f64); 3] = [("n15", 270.0), ("n16", 600.0), ("simple-n15", 270.0)];

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, capacity) in CASES {
        let settings = Preset::by_name(name)?.settings()?;
        let second = settings.for_second_key(capacity)?;
        let [wide, narrow] = [&settings, &second]
            .map(|settings| Scheme::of(settings.parameters().clone(), session.kernel, 1));
        let (wide, narrow) = (wide?, narrow?);
        let key =
            TransferKey::generate(&wide.context, &narrow.context, &wide.secret, &narrow.secret)?;
        let key = key.prepare(&wide.context, &narrow.context)?;

        let (to, from) = (second.fresh(), key.modulus(second.fresh()));
        let a = wide.encrypt(&wide.message(from), from)?;
        let mut b = narrow.empty();
        wide.context.transfer_into(&mut b, &a, &key, &narrow.context, to)?;
        let element = galois_element_of_rotation(wide.context.degree(), 1);
        let rotate = |scheme: &Scheme, out: &mut Ciphertext, x: &Ciphertext| {
            Ok(scheme.context.apply_galois_into(out, x, element, &scheme.keys)?)
        };
        let (mut rotated, mut narrowly, mut transferred) =
            (wide.empty(), narrow.empty(), narrow.empty());
        let [first, other, transfer] = session.time(
            wide.context.parameters().log_degree(),
            [
                &mut || rotate(&wide, &mut rotated, &a),
                &mut || rotate(&narrow, &mut narrowly, &b),
                &mut || {
                    Ok(wide.context.transfer_into(
                        &mut transferred,
                        &a,
                        &key,
                        &narrow.context,
                        to,
                    )?)
                },
            ],
        )?;

        let bits = |modulus| wide.context.parameters().log2(modulus);
        let what = format!("{name}, {:.0} of {:.0} bits", bits(from), bits(settings.fresh()));
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let stored =
            [&wide, &narrow].map(|s| megabytes(s.context.parameters().switching_key_size().seeded));
        let held = [&wide, &narrow].map(|scheme| {
            let key = scheme.keys.galois(element)?;
            Ok::<f64, hippocrene_rlwe::RlweError>(megabytes(
                key.bytes() + scheme.context.key_memory().0,
            ))
        });
        let [held_first, held_second] = held;
        rows.extend([
            Row::new(format!("{what}: key, as stored"), stored[1], "MB")
                .against("the preset's", stored[0]),
            Row::new(format!("{what}: rotation key in memory"), held_second?, "MB")
                .against("the preset's, with its coalesced keys", held_first?),
            Row::new(format!("{what}: rotation"), 1e3 * other, "ms")
                .against("with the preset's key, as planned", 1e3 * first),
            Row::new(format!("{what}: transfer"), 1e3 * transfer, "ms"),
        ]);
    }
    Ok(rows)
}
