//! Peers that `bench/peers/peers.py` measures on this machine: those with Python wheels, and
//! Lattigo.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde::Deserialize;

use crate::{Result, report::Row};

/// The figures of the peers, and the peers that could not be measured.
#[derive(Debug, Default)]
pub struct Live(Vec<Peer>);

#[derive(Debug, Deserialize)]
struct Peer {
    peer: String,
    /// The language and its version.
    #[serde(default)]
    runtime: String,
    #[serde(default)]
    shapes: Vec<Shape>,
    /// The reason why the peer could not be measured.
    missing: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Shape {
    shape: String,
    /// The name of this way, if the peer has several.
    variant: Option<String>,
    parameters: String,
    /// The milliseconds by operation.
    figures: BTreeMap<String, f64>,
}

/// One figure of a peer.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFigure {
    /// The peer's name and version.
    pub peer: String,
    /// The time in milliseconds.
    pub milliseconds: f64,
    /// The parameters, the language and its version.
    pub source: String,
}

impl Live {
    /// Measures these peers, under their names in `peers.py`.
    ///
    /// Missing peers are installed or built under `target/peers-venv`. A peer that cannot be
    /// installed or measured is left out, and [`Live::missing`] gives the reason.
    pub fn measure(peers: &[&str]) -> Self {
        let measured = run_program(peers).and_then(|json| Live::read(&json));
        measured.unwrap_or_else(|error| {
            Live(vec![Peer {
                peer: "peers".into(),
                runtime: String::new(),
                shapes: Vec::new(),
                missing: Some(error.to_string()),
            }])
        })
    }

    pub(crate) fn read(json: &[u8]) -> Result<Self> {
        Ok(Live(serde_json::from_slice(json)?))
    }

    /// Returns each peer's time for `operation` with the parameters `shape`.
    pub fn all(&self, shape: &str, operation: &str) -> Vec<LiveFigure> {
        self.0
            .iter()
            .flat_map(|peer| peer.shapes.iter().map(move |s| (peer, s)))
            .filter(|(_, s)| s.shape == shape)
            .filter_map(|(peer, s)| {
                let variant =
                    s.variant.as_ref().map_or(String::new(), |variant| format!(", {variant}"));
                Some(LiveFigure {
                    peer: format!("{}{variant}, live", peer.peer),
                    milliseconds: *s.figures.get(operation)?,
                    source: format!("measured in this run; {}; {}", s.parameters, peer.runtime),
                })
            })
            .collect()
    }

    /// Returns a row with the reason for each peer that could not be measured.
    pub fn missing(&self) -> Vec<Row> {
        self.0
            .iter()
            .filter_map(|peer| {
                peer.missing
                    .as_ref()
                    .map(|why| Row::missing(format!("{} not measured: {why}", peer.peer)))
            })
            .collect()
    }
}

impl LiveFigure {
    /// True if another figure is for the same library, built in the same way. Then only the figure
    /// of this run is judged.
    pub fn stands_for(&self, peer: &str) -> bool {
        let name = |peer: &str| peer.split(' ').next().map(str::to_owned);
        name(&self.peer) == name(peer) && !peer.contains("HEXL")
    }
}

fn run_program(peers: &[&str]) -> Result<Vec<u8>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(package.join("peers/peers.py"))
        .arg("--environments")
        .arg(package.join("../target/peers-venv"))
        .args(peers)
        .output()
        .map_err(|error| format!("cannot run python3: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(format!("python3 peers.py: {}", message.trim().lines().last().unwrap_or("no message"))
            .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_program_prints() {
        let live = Live::read(
            br#"[{"peer": "OpenFHE wheel 1", "runtime": "Python 3.10.13", "shapes":
                  [{"shape": "she14", "log_n": 14, "parameters": "CKKS",
                    "figures": {"rotate": 20.5}}]},
                 {"peer": "Lattigo 6.2.0", "runtime": "Go 1.26", "shapes":
                  [{"shape": "switch", "variant": "r = 4", "log_n": 16, "parameters": "",
                    "figures": {"4 limbs": 3}}]},
                 {"peer": "tenseal wheel", "missing": "Python 3.14: no matching distribution"}]"#,
        )
        .unwrap();
        let found = live.all("she14", "rotate");
        assert_eq!((found.len(), found[0].milliseconds), (1, 20.5));
        assert!(found[0].peer.ends_with(", live") && found[0].source.contains("3.10.13"));
        assert!(
            !found[0].stands_for("OpenFHE 1.5.1 + HEXL")
                && found[0].stands_for("OpenFHE 1.6.1 wheel")
        );
        assert_eq!(live.all("switch", "4 limbs")[0].peer, "Lattigo 6.2.0, r = 4, live");
        assert!(live.all("she15", "rotate").is_empty() && live.all("she14", "encode").is_empty());
        assert_eq!(live.missing().len(), 1);
        assert!(Live::read(b"Traceback").is_err());
    }
}
