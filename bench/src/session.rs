//! One run of a table: the kernel, the clock of the yardstick, and the figures of peers and papers.

use hippocrene_ring::Kernel;

use crate::{
    Result,
    figures::{Papers, Peers},
    live::Live,
    machine::{self, Cores},
    plot::Plot,
    report::{Report, Row},
    tables::Table,
    timing::{self, Budget, Samples, Work},
    yardstick::Clock,
};

/// Pieces of work with their names.
#[derive(Default)]
pub struct NamedWorks<'a>(Vec<(String, BoxedWork<'a>)>);

/// A piece of work that owns its data.
pub type BoxedWork<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

impl<'a> NamedWorks<'a> {
    /// Adds a piece of work.
    pub fn add(&mut self, name: impl Into<String>, work: impl FnMut() -> Result<()> + 'a) {
        self.0.push((name.into(), Box::new(work)));
    }

    /// Returns the pieces of work with their names, for other uses than timing.
    pub fn into_works(self) -> Vec<(String, BoxedWork<'a>)> {
        self.0
    }
}

/// Everything that a table needs for its measurements.
pub struct Session {
    /// The kernel that this run uses.
    pub kernel: Kernel,
    /// The figures of peers on the reference machine.
    pub peers: Peers,
    /// The figures of the papers.
    pub papers: Papers,
    /// The figures of peers measured in this run; empty unless they were requested.
    pub live: Live,
    /// The paper's figure, drawn from the measurements; empty if the paper has none.
    pub plot: Plot,
    /// The cores for threads, once the process is pinned.
    pub cores: Option<Cores>,
    clock: Clock,
}

impl Session {
    /// Chooses the kernel, reads the data files and starts the clock.
    ///
    /// # Errors
    /// When the environment names a kernel that cannot run, or a data file is broken.
    pub fn new() -> Result<Self> {
        Ok(Session {
            kernel: Kernel::detect()?,
            peers: Peers::load()?,
            papers: Papers::load()?,
            live: Live::default(),
            plot: Plot::default(),
            cores: None,
            clock: Clock::new()?,
        })
    }

    /// Compares `row` with each peer's figure for `operation` with the parameters `group`.
    ///
    /// Only peers that satisfy `wanted` are included: first their figures on the reference machine,
    /// then those of this run. Each row has the target for its peer. If the same library, built in
    /// the same way, was measured in this run, only that row has a target.
    pub fn compare_with_peers(
        &self,
        (group, operation): (&str, &str),
        row: &Row,
        wanted: impl Fn(&str) -> bool,
        target: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Row> {
        let mut live = self.live.all(group, operation);
        live.retain(|figure| wanted(&figure.peer));
        let figures = self.peers.all(group, operation).into_iter();
        let scaled = figures.filter(|figure| wanted(&figure.peer)).map(|figure| {
            let replaced = live.iter().any(|live| live.stands_for(&figure.peer));
            let target = target(&figure.peer).filter(|_| !replaced);
            row.clone().against_peer(figure).target(target)
        });
        let mut rows: Vec<Row> = scaled.collect();
        rows.extend(live.into_iter().map(|figure| {
            let target = target(&figure.peer);
            row.clone().against_live(figure).target(target)
        }));
        rows
    }

    /// Returns the median seconds of each piece of work at ring degree `2^log_n`.
    ///
    /// All pieces of work and the yardstick are sampled in turn.
    ///
    /// # Errors
    /// As the work.
    pub fn time<const K: usize>(&mut self, log_n: u32, mut works: [Work; K]) -> Result<[f64; K]> {
        let samples = self.samples(log_n, &mut works, Budget::TABLE)?;
        Ok(std::array::from_fn(|i| samples[i].median()))
    }

    /// As [`Session::time`], for named work that may be slow. Takes at least three samples of each.
    ///
    /// # Errors
    /// As the work.
    pub fn time_named(&mut self, log_n: u32, works: NamedWorks) -> Result<Vec<(String, f64)>> {
        self.named(log_n, works, Budget { min_samples: 3, ..Budget::TABLE })
    }

    /// As [`Session::time_named`], for differences of a few percent.
    ///
    /// Takes three times as long in all, and at least nine samples of each.
    ///
    /// # Errors
    /// As the work.
    pub fn time_closely(&mut self, log_n: u32, works: NamedWorks) -> Result<Vec<(String, f64)>> {
        self.named(
            log_n,
            works,
            Budget { min_samples: 9, total: 3 * Budget::TABLE.total, ..Budget::TABLE },
        )
    }

    /// Returns the median seconds of `count` runs of one slow piece of work, after one run that
    /// does not count.
    ///
    /// # Errors
    /// As the work.
    pub fn time_slow(&mut self, log_n: u32, count: usize, work: Work) -> Result<f64> {
        work()?;
        let mut samples = Samples::default();
        for _ in 0..count {
            samples.push(timing::sample(work, 1)?);
            self.clock.tick(log_n)?;
        }
        Ok(samples.median())
    }

    fn named(
        &mut self,
        log_n: u32,
        mut works: NamedWorks,
        budget: Budget,
    ) -> Result<Vec<(String, f64)>> {
        let mut each: Vec<Work> = works.0.iter_mut().map(|(_, work)| &mut **work as Work).collect();
        let samples = self.samples(log_n, &mut each, budget)?;
        Ok(works
            .0
            .into_iter()
            .zip(samples)
            .map(|((name, _), samples)| (name, samples.median()))
            .collect())
    }

    fn samples(&mut self, log_n: u32, works: &mut [Work], budget: Budget) -> Result<Vec<Samples>> {
        let clock = &mut self.clock;
        timing::interleave(works, budget, || clock.tick(log_n))
    }

    /// Makes the report of a finished table.
    pub fn report(&self, table: &Table, rows: Vec<Row>) -> Report {
        Report::new(
            table.name,
            machine::cpu_name(),
            self.kernel.to_string(),
            1,
            self.clock.read(&self.peers.yardstick),
            rows,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    /// For Lattigo, the live figure has the target and the scaled one has none. SEAL with HEXL has
    /// no live figure, so its figure on the reference machine has the target.
    #[test]
    fn live_figures_are_judged() {
        let mut session = Session::new().unwrap();
        let json = br#"[{"peer": "Lattigo 6.2.0", "shapes":
            [{"shape": "she14", "parameters": "", "figures": {"rotate": 20}}]}]"#;
        let judged = |session: &Session| {
            let row = Row::new("rotate", 1.0, "ms");
            let target = |peer: &str| Some(if peer.starts_with("Lattigo") { 7.0 } else { 3.0 });
            let wanted = |peer: &str| !peer.starts_with("OpenFHE");
            let rows = session.compare_with_peers(("she14", "rotate"), &row, wanted, target);
            let json =
                serde_json::to_value(session.report(tables::find("she").unwrap(), rows)).unwrap();
            let rows = json["rows"].as_array().unwrap().clone();
            let of = |row: &serde_json::Value| {
                (row["against"]["name"].as_str().unwrap().to_owned(), row["target"].as_f64())
            };
            rows.iter().map(of).collect::<Vec<_>>()
        };
        let named = |name: &str, target| (name.to_owned(), target);
        let (lattigo, seal) = ("Lattigo 6.2", named("SEAL 4.4 + HEXL", Some(3.0)));
        assert_eq!(judged(&session), [named(lattigo, Some(7.0)), seal.clone()]);
        session.live = Live::read(json).unwrap();
        assert_eq!(
            judged(&session),
            [named(lattigo, None), seal, named("Lattigo 6.2.0, live", Some(7.0))]
        );
    }
}
