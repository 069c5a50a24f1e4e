//! One run: the kernel in use, the clock that keeps the yardstick, and other people's figures.

use hippocrene_ring::Kernel;

use crate::{
    Result,
    figures::{Papers, Peers},
    live::Live,
    machine,
    report::{Report, Row},
    tables::Table,
    timing::{self, Budget, Work},
    yardstick::Clock,
};

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
            clock: Clock::new()?,
        })
    }

    /// Median seconds of each piece of work at ring degree `2^log_n`, all of them and the yardstick sampled in turn.
    ///
    /// # Errors
    /// Those of the work.
    pub fn time<const K: usize>(&mut self, log_n: u32, mut works: [Work; K]) -> Result<[f64; K]> {
        let clock = &mut self.clock;
        let samples = timing::interleave(&mut works, Budget::TABLE, || clock.tick(log_n))?;
        Ok(std::array::from_fn(|i| samples[i].median()))
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
