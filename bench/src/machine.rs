//! The machine of the measurements.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use core_affinity::CoreId;
use hippocrene_ring::Threads;

use crate::Result;

/// The cores that the process could use before it was pinned. It is pinned to the last one.
#[derive(Debug, Clone)]
pub struct Cores(Vec<CoreId>);

/// Pins the process, with its future threads and children, to the last core that it may use.
///
/// # Errors
/// When the system names no usable core, or refuses.
pub fn pin() -> Result<Cores> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let own = *cores.last().ok_or("the system names no core to run on")?;
    if core_affinity::set_for_current(own) {
        Ok(Cores(cores))
    } else {
        Err(format!("the system refuses to pin this process to core {}", own.id).into())
    }
}

impl Cores {
    /// The number of cores.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of the core that the process is pinned to.
    pub fn own(&self) -> Option<usize> {
        self.0.last().map(|core| core.id)
    }

    /// Pins each of these threads to a core of its own. The calling thread stays on its core.
    ///
    /// # Errors
    /// When there are fewer cores than threads, or the system refuses.
    pub fn spread(&self, threads: &Threads) -> Result<()> {
        let count = threads.count();
        let first = self.count().checked_sub(count).ok_or("there are fewer cores than threads")?;
        // Each thread waits until all have started, so no thread can take two tasks.
        let (begun, pinned, helper) =
            (Barrier::new(count), AtomicBool::new(true), AtomicUsize::new(first));
        let calling = thread::current().id();
        threads.for_each(count, |_| {
            begun.wait();
            let core = match thread::current().id() == calling {
                true => self.count() - 1,
                false => helper.fetch_add(1, Ordering::Relaxed),
            };
            pinned.fetch_and(core_affinity::set_for_current(self.0[core]), Ordering::Relaxed);
        });
        if pinned.into_inner() {
            Ok(())
        } else {
            Err("the system refuses to pin a thread to a core".into())
        }
    }
}

/// Returns the name of the processor, as the system states it.
pub fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    name_in(&info).map_or_else(|| std::env::consts::ARCH.to_string(), str::to_string)
}

fn name_in(cpuinfo: &str) -> Option<&str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")
        .map(|(_, name)| name.trim())
}

/// Returns the peak memory of this process so far in bytes, if the system states it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kibibytes.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_model_name() {
        let info =
            "processor\t: 0\nmodel name\t: AMD EPYC 9B14\nflags\t: fpu\n\nmodel name\t: other\n";
        assert_eq!(name_in(info), Some("AMD EPYC 9B14"));
        assert_eq!(name_in("processor\t: 0\n"), None);
        assert!(!cpu_name().is_empty());
    }

    #[test]
    fn threads_have_their_own_cores() {
        let work = || {
            let cores = pin().unwrap();
            let threads = Threads::new(cores.count().min(2)).unwrap();
            cores.spread(&threads).unwrap();
            let begun = Barrier::new(threads.count());
            let used = threads.map(threads.count(), |_| {
                begun.wait();
                core_affinity::get_core_ids()
                    .unwrap()
                    .iter()
                    .map(|core| core.id)
                    .collect::<Vec<_>>()
            });
            assert!(
                used.iter().all(|used| used.len() == 1)
                    && used.contains(&vec![cores.own().unwrap()])
            );
            assert!(used.len() == 1 || used[0] != used[1]);
            assert!(cores.spread(&Threads::new(cores.count() + 1).unwrap()).is_err());
        };
        thread::spawn(work).join().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_memory_is_known() {
        let block = vec![1u8; 1 << 24];
        let peak = peak_memory().unwrap();
        assert!(peak > block.len() as u64 && peak < 1 << 45);
    }

    #[test]
    fn pins_to_an_allowed_core() {
        let allowed: Vec<usize> =
            core_affinity::get_core_ids().unwrap().iter().map(|core| core.id).collect();
        std::thread::spawn(move || {
            let core = pin().unwrap().own().unwrap();
            assert!(allowed.contains(&core));
            let now: Vec<usize> =
                core_affinity::get_core_ids().unwrap().iter().map(|core| core.id).collect();
            assert_eq!(now, [core]);
        })
        .join()
        .unwrap();
    }
}
