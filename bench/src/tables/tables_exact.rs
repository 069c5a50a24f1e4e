//! The table `tables-exact`: look-ups of integers in all slots at once, compared with OpenFHE's
//! functional bootstrapping.

use std::cell::RefCell;

use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Interval, KeyRequest, Preset, Server,
};
use hippocrene_ckks::Values;

use super::Table;
use crate::{Result, machine, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "tables-exact",
    about: "look-ups in tables without any order at places in all slots (Server::entries). First \
            fresh arrays of one ciphertext. Then arrays of two ciphertexts without capacity, \
            including the table's bootstraps and enough capacity for the next bootstrap. Those of \
            2^16 values are compared with OpenFHE's functional bootstrapping, which does both in \
            one. Shown: time, the largest error as bits of the largest entry, and capacity",
    memory: "15 GB",
    time: "about 15 minutes",
    live: &[],
    plot: false,
    run,
};

/// Presets and sizes of tables for fresh arrays.
const FRESH_CASES: [(&str, usize); 6] =
    [("n14", 2), ("n14", 4), ("n14", 16), ("n15", 16), ("n15", 64), ("n16", 256)];
/// Presets and sizes of tables for arrays of two ciphertexts without capacity.
const BOOTSTRAPPED_CASES: [(&str, &[usize]); 3] = [
    ("n15", &[2, 4, 8, 16]),
    ("n16s", &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]),
    ("n16", &[4096]),
];
/// The least ratio of the times of OpenFHE and of this look-up.
const TARGETS: [(usize, f64); 2] = [(2, 1.0), (256, 6.0)];
/// The number of timed runs.
const RUNS: usize = 3;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (preset, entries) in FRESH_CASES {
        rows.extend(fresh(session, Preset::by_name(preset)?, entries)?);
    }
    for (preset, sizes) in BOOTSTRAPPED_CASES {
        rows.extend(bootstrapped(session, Preset::by_name(preset)?, sizes)?);
    }
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

/// Returns entries without any order: the multiples of an odd number, modulo the number of entries.
fn table(entries: usize) -> Vec<f64> {
    (0..entries).map(|i| (i * 37 % entries) as f64).collect()
}

/// A client with its server.
struct Keys {
    preset: Preset,
    client: ClientKey,
    server: Server,
}

/// An array of places, and the entries there.
struct Places {
    array: EncryptedArray,
    expected: Vec<f64>,
    table: Vec<f64>,
}

impl Keys {
    fn new(preset: Preset, request: &KeyRequest) -> Result<Self> {
        let client = ClientKey::generate(preset.settings()?)?;
        let server = Server::with_threads(&client.evaluation_keys(request)?, 1)?;
        Ok(Keys { preset, client, server })
    }

    fn places(&self, entries: usize, ciphertexts: usize) -> Result<Places> {
        let table = table(entries);
        let count = ciphertexts * self.server.session().slots();
        let places: Vec<usize> = (0..count).map(|i| (i * 7 + i / 5) % entries).collect();
        let expected = places.iter().map(|place| table[*place]).collect();
        let values: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let how = Encryption {
            interval: Interval::new(0.0, (entries - 1) as f64),
            ..Encryption::default()
        };
        let array = self.client.encrypt_with(Values::Real(&values), &[count], &how)?;
        Ok(Places { array, expected, table })
    }

    /// Returns the rows of the time, the error and the capacity.
    fn rows(
        &self,
        session: &mut Session,
        Places { array: a, expected, table }: &Places,
        what: &str,
    ) -> Result<[Row; 4]> {
        let preset = self.preset;
        let found: RefCell<Option<EncryptedArray>> = RefCell::default();
        let (mut before, bits) = (0, a.precision_bits(self.server.session()));
        let seconds = session.time_slow(preset.log_degree, RUNS, &mut || {
            before = self.server.bootstraps();
            // An array remembers its bootstraps, and this copy has none yet.
            let fresh = self.server.declare_precision(a, bits)?;
            found.replace(Some(self.server.entries(&fresh, table, None)?));
            Ok(())
        })?;
        let bootstraps = (self.server.bootstraps() - before) as f64;
        let found = found.into_inner().ok_or("a table has been looked up")?;
        let got = self.client.decrypt(&found)?;
        let errors = got.iter().zip(expected).map(|(got, expected)| (got - expected).abs());
        let largest = (table.len() - 1) as f64;
        let precision = -(errors.fold(0.0, f64::max) / largest).log2();
        let capacity = |a: &EncryptedArray| a.capacity_bits(self.server.session());
        let count = expected.len();
        let name = format!("{}, {} entries, {count} values{what}", preset.name, table.len());
        Ok([
            Row::new(format!("{name}: time"), seconds, "s"),
            Row::more_is_better(format!("{name}: precision"), precision, "bits"),
            Row::more_is_better(
                format!("{name}: capacity left of {:.0}", capacity(a)),
                capacity(&found),
                "bits",
            ),
            Row::new(format!("{name}: bootstraps"), bootstraps, ""),
        ])
    }
}

fn fresh(session: &mut Session, preset: Preset, entries: usize) -> Result<[Row; 4]> {
    let request = KeyRequest { powers_of_two: false, ..KeyRequest::default() };
    let keys = Keys::new(preset, &request)?;
    keys.rows(session, &keys.places(entries, 1)?, "")
}

fn bootstrapped(session: &mut Session, preset: Preset, sizes: &[usize]) -> Result<Vec<Row>> {
    let bootstrapping = Some(Bootstrapping::default());
    let request = KeyRequest { powers_of_two: false, bootstrapping, ..KeyRequest::default() };
    let keys = Keys::new(preset, &request)?;
    let reserve = keys.server.bootstrap_reserve().ok_or("there are bootstrapping keys")?;
    let mut rows = Vec::new();
    for &entries in sizes {
        let mut places = keys.places(entries, 2)?;
        places.array = keys.server.bootstrap_to(&places.array, Some(reserve + 1.0))?;
        let name = format!("{}, {entries} entries, bootstrapped", preset.name);
        let found = keys.rows(session, &places, ", bootstrapped").map(Vec::from);
        let mut found = Row::or_refusal(&name, found)?.into_iter();
        let Some(time) = found.next() else { continue };
        let operation = format!("{entries} entries, {} values", places.expected.len());
        let group = format!("functional bootstrap N = 2^{}", preset.log_degree);
        let target = TARGETS.iter().find(|(size, _)| *size == entries).map(|(_, target)| *target);
        let compared =
            session.compare_with_peers((&group, &operation), &time, |_| true, |_| target);
        if compared.is_empty() {
            rows.push(time);
        }
        rows.extend(compared);
        rows.extend(found);
    }
    Ok(rows)
}
