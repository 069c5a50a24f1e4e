//! One run: the kernel in use, the clock that keeps the yardstick, and other people's figures.

use hippocrene_ring::Kernel;

use crate::{
    Result,
    figures::{Papers, Peers},
    live::Live,
    machine,
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
            clock: Clock::new()?,
        })
    }

    /// Median seconds of each piece of work at ring degree `2^log_n`, all of them and the yardstick sampled in turn.
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

    /// [`Session::time_named`] with three times as many samples and at least nine of each, for differences of few per cent.
    ///
    /// # Errors
    /// Those of the work.
    pub fn time_closely(&mut self, log_n: u32, works: NamedWorks) -> Result<Vec<(String, f64)>> {
        self.named(log_n, works, Budget { least: 9, total: 3 * Budget::TABLE.total, ..Budget::TABLE })
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

    fn named(&mut self, log_n: u32, mut works: NamedWorks, budget: Budget) -> Result<Vec<(String, f64)>> {
        let mut each: Vec<Work> = works.0.iter_mut().map(|(_, work)| &mut **work as Work).collect();
        let samples = self.samples(log_n, &mut each, budget)?;
        Ok(works.0.into_iter().zip(samples).map(|((name, _), samples)| (name, samples.median())).collect())
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
