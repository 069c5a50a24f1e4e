//! One run: the kernel in use, the clock that keeps the yardstick, and other people's figures.

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

/// A piece of work that holds what it needs.
pub type BoxedWork<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

impl<'a> NamedWorks<'a> {
    /// Adds one.
    pub fn add(&mut self, name: impl Into<String>, work: impl FnMut() -> Result<()> + 'a) {
        self.0.push((name.into(), Box::new(work)));
    }

    /// Each of them with its name, to be done in another way than timed.
    pub fn into_works(self) -> Vec<(String, BoxedWork<'a>)> {
        self.0
    }
}

/// What a table is given to measure with.
pub struct Session {
    /// The kernel that this run uses.
    pub kernel: Kernel,
    /// What peers took elsewhere.
    pub peers: Peers,
    /// What the papers state.
    pub papers: Papers,
    /// What peers took in this run; empty where that was not asked for.
    pub live: Live,
    /// The paper's figure, drawn from what the table measured; empty where the paper has none.
    pub plot: Plot,
    /// Where threads may be, once the process is pinned.
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

    /// `row` beside every peer's figure for `operation` with the parameters `group`, of the peers
    /// that are `wanted`: first those of the reference machine, then those of this run. Each has
    /// the target for its peer; but where the same library, built alike, was measured in this run,
    /// that is judged alone.
    pub fn beside(
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

    /// Median seconds of each piece of work at ring degree `2^log_n`, all of them and the yardstick
    /// sampled in turn.
    ///
    /// # Errors
    /// Those of the work.
    pub fn time<const K: usize>(&mut self, log_n: u32, mut works: [Work; K]) -> Result<[f64; K]> {
        let samples = self.samples(log_n, &mut works, Budget::TABLE)?;
        Ok(std::array::from_fn(|i| samples[i].median()))
    }

    /// [`Session::time`] for named work that may be slow: at least three samples of each.
    ///
    /// # Errors
    /// Those of the work.
    pub fn time_named(&mut self, log_n: u32, works: NamedWorks) -> Result<Vec<(String, f64)>> {
        self.named(log_n, works, Budget { least: 3, ..Budget::TABLE })
    }

    /// [`Session::time_named`] with three times as many samples and at least nine of each, for
    /// differences of few per cent.
    ///
    /// # Errors
    /// Those of the work.
    pub fn time_closely(&mut self, log_n: u32, works: NamedWorks) -> Result<Vec<(String, f64)>> {
        self.named(
            log_n,
            works,
            Budget { least: 9, total: 3 * Budget::TABLE.total, ..Budget::TABLE },
        )
    }

    /// Median seconds of `count` runs of one piece of slow work, after one that is not counted.
    ///
    /// # Errors
    /// Those of the work.
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

    /// Finishes a table.
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

    /// Of Lattigo the live figure is judged and not the scaled one; SEAL with HEXL, of which there
    /// is none, is judged by what it took elsewhere.
    #[test]
    fn what_is_live_is_judged() {
        let mut session = Session::new().unwrap();
        let json = br#"[{"peer": "Lattigo 6.2.0", "shapes": [{"shape": "she14", "parameters": "", "figures": {"rotate": 20}}]}]"#;
        let judged = |session: &Session| {
            let row = Row::new("rotate", 1.0, "ms");
            let target = |peer: &str| Some(if peer.starts_with("Lattigo") { 7.0 } else { 3.0 });
            let wanted = |peer: &str| !peer.starts_with("OpenFHE");
            let rows = session.beside(("she14", "rotate"), &row, wanted, target);
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
