//! `hippocrene presets`.

use crate::console::Console;
use crate::error::CliError;
use hippocrene::{PRESETS, Preset};
use serde::Serialize;
use std::fmt::{self, Display};

/// One preset, for people and programs.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    ring_degree: usize,
    slots: usize,
    log2_pq: f64,
    security_bits: u32,
    scale_bits: u32,
    multiplications: usize,
}

#[derive(Debug, Serialize)]
struct Table {
    presets: Vec<Row>,
}

impl Row {
    fn of(preset: &Preset) -> Result<Self, CliError> {
        let settings = preset.settings()?;
        let parameters = settings.parameters();
        Ok(Self {
            name: preset.name,
            ring_degree: parameters.degree(),
            slots: parameters.degree() / 2,
            log2_pq: parameters.log2(parameters.full()),
            security_bits: 128,
            scale_bits: preset.scale_bits,
            multiplications: preset.depth,
        })
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name   ring degree   slots   log2 PQ   scale   multiplications in a row")?;
        self.presets.iter().try_for_each(|row| {
            let Row { name, ring_degree, slots, log2_pq, scale_bits, multiplications, .. } = row;
            write!(
                f,
                "\n{name:<7}{ring_degree:>11}{slots:>8}{log2_pq:>10.0}{:>8}{multiplications:>27}",
                format!("2^{scale_bits}")
            )
        })
    }
}

pub(super) fn run(console: &mut Console<'_>) -> Result<(), CliError> {
    let table = Table { presets: PRESETS.iter().map(Row::of).collect::<Result<_, _>>()? };
    console.result(&table, &table)
}
