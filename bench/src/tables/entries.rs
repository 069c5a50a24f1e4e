//! The table `entries`: look-ups of integers in all slots at once, compared with OpenFHE's
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
    name: "entries",
    about: "look-ups in tables without any order at places in all slots, by polynomials \
            (Server::entries). First fresh arrays of one ciphertext. Then arrays of two \
            ciphertexts without capacity, including the table's bootstraps and enough capacity \
            for the next bootstrap. These are compared with OpenFHE's functional bootstrapping \
            of as many values, which does both in one. Shown: time, the largest error as bits of \
            the largest entry, and capacity",
    memory: "11 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run,
};

/// Presets and sizes of tables for fresh arrays.
const FRESH_CASES: [(&str, usize); 6] =
    [("n14", 2), ("n14", 4), ("n14", 16), ("n15", 16), ("n15", 64), ("n16", 256)];
/// Presets and sizes of tables for arrays of two ciphertexts without capacity. The last field is
/// the precision that bootstraps leave for values up to 1, in bits after the binary point.
const BOOTSTRAPPED_CASES: [(&str, usize, f64); 2] = [("n15", 2, 14.0), ("n16", 256, 24.0)];
/// The number of timed runs.
const RUNS: usize = 3;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (preset, entries) in FRESH_CASES {
        rows.extend(fresh(session, Preset::by_name(preset)?, entries)?);
    }
    for (preset, entries, precision) in BOOTSTRAPPED_CASES {
        rows.extend(bootstrapped(session, Preset::by_name(preset)?, entries, precision)?);
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

/// A client with its server, an array of places, and the entries there.
struct Setup {
    client: ClientKey,
    server: Server,
    array: EncryptedArray,
    expected: Vec<f64>,
    table: Vec<f64>,
}

impl Setup {
    fn new(
        preset: Preset,
        entries: usize,
        ciphertexts: usize,
        request: &KeyRequest,
    ) -> Result<Self> {
        let client = ClientKey::generate(preset.settings()?)?;
        let server = Server::with_threads(&client.evaluation_keys(request)?, 1)?;
        let table = table(entries);
        let count = ciphertexts * server.session().slots();
        let places: Vec<usize> = (0..count).map(|i| (i * 7 + i / 5) % entries).collect();
        let expected = places.iter().map(|place| table[*place]).collect();
        let values: Vec<f64> = places.iter().map(|place| *place as f64).collect();
        let how = Encryption {
            interval: Interval::new(0.0, (entries - 1) as f64),
            precision: Some(PRECISION),
        };
        let array = client.encrypt_with(Values::Real(&values), &[count], &how)?;
        Ok(Setup { client, server, array, expected, table })
    }

    /// Returns the rows of the time, the error and the capacity.
    fn rows(
        &self,
        session: &mut Session,
        preset: Preset,
        a: &EncryptedArray,
        what: &str,
    ) -> Result<[Row; 4]> {
        let found: RefCell<Option<EncryptedArray>> = RefCell::default();
        let mut before = 0;
        let seconds = session.time_slow(preset.log_degree, RUNS, &mut || {
            before = self.server.bootstraps();
            found.replace(Some(self.server.entries(a, &self.table, None)?));
            Ok(())
        })?;
        let bootstraps = (self.server.bootstraps() - before) as f64;
        let found = found.into_inner().ok_or("a table has been looked up")?;
        let got = self.client.decrypt(&found)?;
        let errors = got.iter().zip(&self.expected).map(|(got, expected)| (got - expected).abs());
        let largest = (self.table.len() - 1) as f64;
        let precision = -(errors.fold(0.0, f64::max) / largest).log2();
        let capacity = |a: &EncryptedArray| a.capacity_bits(self.server.session());
        let count = self.expected.len();
        let name = format!("{}, {} entries, {count} values{what}", preset.name, self.table.len());
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
    let setup = Setup::new(preset, entries, 1, &request)?;
    setup.rows(session, preset, &setup.array, "")
}

fn bootstrapped(
    session: &mut Session,
    preset: Preset,
    entries: usize,
    precision: f64,
) -> Result<Vec<Row>> {
    let bootstrapping =
        Some(Bootstrapping { precision: Some(precision), ..Bootstrapping::default() });
    let request = KeyRequest { powers_of_two: false, bootstrapping, ..KeyRequest::default() };
    let setup = Setup::new(preset, entries, 2, &request)?;
    let reserve = setup.server.bootstrap_reserve().ok_or("there are bootstrapping keys")?;
    // A server without bootstrapping keys uses up the capacity.
    let products = Server::with_threads(
        &setup
            .client
            .evaluation_keys(&KeyRequest { powers_of_two: false, ..KeyRequest::default() })?,
        1,
    )?;
    let mut used = setup.array.clone();
    loop {
        let part = products.mul_number(&products.mul_number(&used, 0.3)?, 1.0 / 0.3)?;
        if part.capacity_bits(products.session()) < reserve {
            break;
        }
        used = part.with_bound((entries - 1) as f64)?;
    }
    let [time, others @ ..] = setup.rows(session, preset, &used, ", bootstrapped")?;
    let operation = format!("{entries} entries, {} values", setup.expected.len());
    let group = format!("functional bootstrap N = 2^{}", preset.log_degree);
    let mut rows = session.compare_with_peers((&group, &operation), &time, |_| true, |_| Some(1.0));
    rows.extend(others);
    Ok(rows)
}

/// The precision of the places, in bits after the binary point.
const PRECISION: f64 = 14.0;
