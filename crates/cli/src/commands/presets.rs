//! `hippocrene presets`.

use crate::console::{Console, size};
use crate::error::CliError;
use hippocrene::{
    FailureDescription, KeyBytes, PRESETS, Preset, PresetDescription, SecurityDescription,
};
use serde::Serialize;
use std::fmt::{self, Display};

#[derive(Debug, Serialize)]
struct Table {
    presets: Vec<PresetDescription>,
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "name           degree  secret   log2 PQ  usable  sprout            scale limbs  \
             specials  rank        key   unseeded  failure             security\n",
        )?;
        let mut sources: Vec<&str> = Vec::new();
        for preset in &self.presets {
            if !sources.contains(&preset.security.source) {
                sources.push(preset.security.source);
            }
            writeln!(f, "{}", Line(preset, &sources))?;
        }
        writeln!(f)?;
        for (i, source) in sources.iter().enumerate() {
            writeln!(f, "[{}]       {source}", i + 1)?;
        }
        f.write_str(
            "usable    bits of the modulus of fresh ciphertexts\nscale     of a simple chain; sets \
             with a sprout go with any\nlimbs     of fresh ciphertexts\nspecials  how many special \
             primes, and their bits together\nkey       the relinearisation key as stored; \
             unseeded: with its seed written out\nfailure   how likely a bootstrap of numbers \
             fails, and one of bits, where there are any",
        )
    }
}

/// Displays one preset on one line. The sources of security are shown as numbers.
struct Line<'a>(&'a PresetDescription, &'a [&'static str]);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PresetDescription {
            name, ring_degree, log2_pq, usable_bits, limbs, gadget_rank, ..
        } = self.0;
        let KeyBytes { seeded, unseeded, .. } = self.0.relinearisation_key;
        let secret = self.0.secret.split(' ').next().unwrap_or_default();
        let scale = self.0.scale_bits.map(|bits| format!("2^{bits}")).unwrap_or_default();
        let specials = format!("{} ({:.0})", self.0.special_primes, self.0.special_bits);
        let sprout = self.0.sprout.unwrap_or("none");
        let (seeded, unseeded) = (size(seeded as u64), size(unseeded as u64));
        write!(
            f,
            "{name:<14}{ring_degree:>7}  {secret:<7}{log2_pq:>9.1}{usable_bits:>8.1}  \
             {sprout:<16}{scale:>7}{limbs:>6}{specials:>10}{gadget_rank:>6}{seeded:>11}\
             {unseeded:>11}  {:<20}",
            failures(&self.0.bootstraps)
        )?;
        let SecurityDescription { bits, log2_pq_limit, source } = self.0.security;
        let source = self.1.iter().take_while(|known| **known != source).count() + 1;
        write!(f, "{bits} bits up to {log2_pq_limit} [{source}]")
    }
}

/// Formats the failure probabilities of bootstraps.
fn failures(bootstraps: &[FailureDescription]) -> String {
    let describe = |failure: &FailureDescription| {
        let likely = match failure.log2_failure_probability {
            Some(log2) => format!("2^{log2:.0}"),
            None => "never".to_owned(),
        };
        if failure.of == "bits" { format!("bits {likely}") } else { likely }
    };
    bootstraps.iter().map(describe).collect::<Vec<_>>().join(", ")
}

pub(super) fn run(console: &mut Console<'_>) -> Result<(), CliError> {
    let table = Table { presets: PRESETS.iter().map(Preset::describe).collect::<Result<_, _>>()? };
    console.result(&table, &table)
}
