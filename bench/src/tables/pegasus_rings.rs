//! The table `pegasus-fig7-rings`: look-ups of single numbers by ring degree, as in PEGASUS Fig. 7.

use hippocrene_fhew::{
    BlindRotationKey, LookupTable, LweCiphertext, LweParameters, LweSecretKey,
    PreparedBlindRotationKey, Preset, RotationParameters,
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::SecretDistribution;

use super::{
    Table,
    pegasus_5::{DOMAIN, FUNCTIONS, errors, inputs},
    pegasus_fig7::plot,
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-fig7-rings",
    about: "PEGASUS Fig. 7 for single numbers: -log2 of the mean error of functions on [-8, 8] \
            by one table, and the time of a look-up, for rings of degree 2^11 to 2^14. Inputs \
            are fresh LWE ciphertexts of dimension 1024, so that only the table is measured. \
            The rings up to 2^13 are those of lut11 to lut13. All have 128 bits of security. A \
            ring of 2^10 would need a modulus of 27 bits or less",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: true,
    run,
};

const LOG_DEGREES: [u32; 4] = [11, 12, 13, 14];

/// Returns the rotations in a ring of this degree. Up to `2^13` they are those of a preset.
fn rotation(log_degree: u32) -> Result<RotationParameters> {
    let of_preset = Preset::by_name(&format!("lut{}", log_degree.min(13)))?.rotation();
    if log_degree <= 13 {
        return Ok(of_preset);
    }
    let q = primes::ntt_primes(48, 1 << log_degree, 1, &[])?[0];
    let ring = LweParameters::new(1 << log_degree, q, SecretDistribution::Ternary)?;
    Ok(RotationParameters::new(of_preset.input(), ring, of_preset.gadget())?)
}

/// The keys of look-ups in one ring.
struct Keys {
    parameters: RotationParameters,
    input: LweSecretKey,
    ring: LweSecretKey,
    rotation: PreparedBlindRotationKey,
}

impl Keys {
    fn new(log_degree: u32) -> Result<Self> {
        let parameters = rotation(log_degree)?;
        let input = LweSecretKey::generate(parameters.input())?;
        let ring = LweSecretKey::generate(parameters.ring())?;
        let key = BlindRotationKey::generate(parameters, &input, &ring, &Threads::single())?;
        Ok(Keys { parameters, input, ring, rotation: key.prepare(&Threads::single())? })
    }

    /// The scale of the entries of tables.
    fn scale(&self) -> f64 {
        self.parameters.ring().modulus() as f64 / (8.0 * DOMAIN)
    }

    fn tables(&self) -> Result<Vec<LookupTable>> {
        let table = |(_, f)| Ok(LookupTable::new(&self.parameters, DOMAIN, self.scale(), f)?);
        FUNCTIONS.into_iter().map(table).collect()
    }

    fn inputs(&self, table: &LookupTable) -> Result<Vec<(f64, LweCiphertext)>> {
        inputs(&self.input, table.input_scale(self.parameters.input().modulus()))
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut curves = FUNCTIONS.map(|(name, _)| (name.to_string(), Vec::new()));
    let mut times = Vec::new();
    for log_degree in LOG_DEGREES {
        let keys = Keys::new(log_degree)?;
        let tables = keys.tables()?;
        let inputs = keys.inputs(&tables[0])?;
        let [seconds] = session.time(
            log_degree,
            [&mut || Ok(keys.rotation.look_up(&inputs[0].1, &tables[0]).map(drop)?)],
        )?;
        let x = f64::from(log_degree);
        times.push((x, 1e3 * seconds));
        rows.push(Row::new(format!("ring 2^{log_degree}: a look-up"), 1e3 * seconds, "ms"));
        for (((name, f), table), (_, curve)) in FUNCTIONS.into_iter().zip(&tables).zip(&mut curves)
        {
            let [mean, _] = errors(&keys.rotation, &keys.ring, &inputs, (table, keys.scale()), f)?;
            curve.push((x, -mean.log2()));
            let name = format!("ring 2^{log_degree}: {name}, -log2 of the mean error");
            rows.push(Row::more_is_better(name, -mean.log2(), "bits"));
        }
    }
    session.plot = plot("PEGASUS Fig. 7, single numbers", curves.to_vec(), times);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_is_secure_and_has_its_degree() {
        for log_degree in LOG_DEGREES {
            assert_eq!(rotation(log_degree).unwrap().ring().dimension(), 1 << log_degree);
        }
    }
}
