//! Figures of others: those of peers on the reference machine (`data/peers.json`), and those of
//! papers (`data/papers.json`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Result;

/// The yardstick on the reference machine.
#[derive(Debug, Clone, Deserialize)]
pub struct Reference {
    /// The crate and its version.
    #[serde(rename = "crate")]
    pub name: String,
    /// A description of the transform.
    pub transform: String,
    /// The unit of the times.
    pub unit: String,
    /// The times by `log2 N`.
    pub reference: BTreeMap<u32, f64>,
}

/// The figures of all peers, measured on one machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// The machine, the date and the statistic.
    pub source: String,
    /// The yardstick on that machine.
    pub yardstick: Reference,
    groups: Vec<PeerGroup>,
}

/// The figures for one set of parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerGroup {
    id: String,
    log_n: u32,
    unit: String,
    #[serde(default)]
    units: BTreeMap<String, String>,
    parameters: String,
    peers: Vec<Peer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    peer: String,
    note: Option<String>,
    figures: BTreeMap<String, f64>,
}

/// One figure of a peer on the reference machine.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerFigure {
    /// The peer's name and version.
    pub peer: String,
    /// The figure on the reference machine.
    pub value: f64,
    /// The unit of the figure.
    pub unit: String,
    /// The ring degree whose yardstick scales the figure, as `log2 N`.
    pub log_n: u32,
    /// The parameters and the machine.
    pub source: String,
}

impl Peers {
    /// Reads the data file, which is part of the program.
    ///
    /// # Errors
    /// When the file does not have this format.
    pub fn load() -> Result<Self> {
        Ok(serde_json::from_str(include_str!("../data/peers.json"))?)
    }

    /// Returns each peer's figure for `operation` with the parameters `group`, in the order of the
    /// file.
    pub fn all(&self, group: &str, operation: &str) -> Vec<PeerFigure> {
        self.groups
            .iter()
            .filter(|g| g.id == group)
            .flat_map(|g| g.peers.iter().map(move |peer| (g, peer)))
            .filter_map(|(g, peer)| {
                let note = peer.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
                Some(PeerFigure {
                    peer: peer.peer.clone(),
                    value: *peer.figures.get(operation)?,
                    unit: g.units.get(operation).unwrap_or(&g.unit).clone(),
                    log_n: g.log_n,
                    source: format!("{}{note}; {}", g.parameters, self.source),
                })
            })
            .collect()
    }
}

/// The figures of the papers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Papers {
    groups: Vec<Paper>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    id: String,
    unit: String,
    #[serde(default)]
    units: BTreeMap<String, String>,
    paper: String,
    machine: String,
    parameters: String,
    figures: BTreeMap<String, f64>,
}

/// One figure of a paper, on the paper's machine.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperFigure {
    /// The paper and its table.
    pub paper: String,
    /// The figure as printed.
    pub value: f64,
    /// The unit of the figure.
    pub unit: String,
    /// The parameters and the machine.
    pub source: String,
}

impl Papers {
    /// Reads the data file, which is part of the program.
    ///
    /// When the file does not have this format.
    /// When it is not what this module describes.
    pub fn load() -> Result<Self> {
        Ok(serde_json::from_str(include_str!("../data/papers.json"))?)
    }

    /// Returns the paper's figure for `operation` with the parameters `group`.
    pub fn find(&self, group: &str, operation: &str) -> Option<PaperFigure> {
        let paper = self.groups.iter().find(|g| g.id == group)?;
        Some(PaperFigure {
            paper: paper.paper.clone(),
            value: *paper.figures.get(operation)?,
            unit: paper.units.get(operation).unwrap_or(&paper.unit).clone(),
            source: format!("{}; {}", paper.parameters, paper.machine),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_found_with_their_source() {
        let peers = Peers::load().unwrap();
        let found = peers.all("she14", "rotate");
        let names: Vec<&str> = found.iter().map(|f| f.peer.as_str()).collect();
        assert_eq!(names, ["Lattigo 6.2", "OpenFHE 1.5.1 + HEXL", "SEAL 4.4 + HEXL"]);
        assert_eq!((found[0].value, found[0].unit.as_str(), found[0].log_n), (17.1, "ms", 14));
        assert!(found[0].source.contains("dnum 4") && found[0].source.contains("Zen 4"));
        assert_eq!(peers.all("she14", "relinearisation key")[0].unit, "MB");
        assert!(peers.all("she14", "no such operation").is_empty());
        assert!(peers.all("bootstrap N = 2^16", "bootstrap")[0].source.contains("9 levels left"));
    }

    #[test]
    fn papers_are_found_with_their_source() {
        let papers = Papers::load().unwrap();
        let found = papers.find("hk20-5", "multiply, dnum 4").unwrap();
        assert_eq!((found.value, found.unit.as_str()), (436.0, "ms"));
        assert_eq!(papers.find("simSHE14", "relinearisation key").unwrap().unit, "MB");
        assert_eq!(papers.find("simSHE14", "bootstrap"), None);
    }

    #[test]
    fn every_group_has_figures_that_can_be_compared() {
        let peers = Peers::load().unwrap();
        for group in &peers.groups {
            assert!((10..=17).contains(&group.log_n), "{}", group.id);
            for peer in &group.peers {
                assert!(!peer.figures.is_empty());
                assert!(
                    group
                        .units
                        .keys()
                        .all(|name| group.peers.iter().any(|p| p.figures.contains_key(name)))
                );
                assert!(peer.figures.values().all(|x| x.is_finite() && *x != 0.0), "{}", peer.peer);
            }
        }
    }
}
