//! What the figures were measured on.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use core_affinity::CoreId;
use hippocrene_ring::Threads;

use crate::Result;

/// Pins the process (and the threads and children it starts) to the last core it may use, and returns that core's number.
///
/// # Errors
/// When the system says of no core that it may be used, or refuses.
pub fn pin() -> Result<usize> {
    let core = core_affinity::get_core_ids()
        .and_then(|cores| cores.last().copied())
        .ok_or("the system names no core to run on")?;
    if core_affinity::set_for_current(core) {
        Ok(core.id)
    } else {
        Err(format!("the system refuses to pin this process to core {}", core.id).into())
    }
}

/// Pins each of two threads to a core of its own, the calling one to where it is, and says whether there are two cores for them.
///
/// # Errors
/// When the system says of no core that it may be used.
pub fn spread(two: &Threads) -> Result<bool> {
    let core = core_affinity::get_core_ids()
        .and_then(|cores| cores.last().copied())
        .ok_or("the system names no core to run on")?;
    let other = CoreId { id: if core.id == 0 { 1 } else { core.id - 1 } };
    if two.count() != 2 {
        return Ok(false);
    }
    // Neither thread takes both turns, for each waits until the other has begun with its own.
    let (begun, pinned) = (Barrier::new(2), AtomicBool::new(true));
    let calling = thread::current().id();
    two.for_each(2, |_| {
        begun.wait();
        let core = if thread::current().id() == calling { core } else { other };
        if !core_affinity::set_for_current(core) {
            pinned.store(false, Ordering::Relaxed);
        }
    });
    Ok(pinned.into_inner())
}

/// The processor's name as the system gives it.
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

/// The most memory that this process has held so far, in bytes, where the system tells.
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
        let info = "processor\t: 0\nmodel name\t: AMD EPYC 9B14\nflags\t: fpu\n\nmodel name\t: other\n";
        assert_eq!(name_in(info), Some("AMD EPYC 9B14"));
        assert_eq!(name_in("processor\t: 0\n"), None);
        assert!(!cpu_name().is_empty());
    }

    #[test]
    fn two_threads_are_on_two_cores() {
        let two = Threads::new(2).unwrap();
        if spread(&two).unwrap() {
            let cores = std::sync::Mutex::new(Vec::new());
            let begun = Barrier::new(2);
            two.for_each(2, |_| {
                begun.wait();
                cores.lock().unwrap().extend(core_affinity::get_core_ids().unwrap());
            });
            let cores = cores.into_inner().unwrap();
            assert!(cores.len() == 2 && cores[0].id != cores[1].id);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_tells_the_memory() {
        let block = vec![1u8; 1 << 24];
        let peak = peak_memory().unwrap();
        assert!(peak > block.len() as u64 && peak < 1 << 45);
    }

    #[test]
    fn pins_to_a_core_that_it_may_use() {
        let allowed: Vec<usize> = core_affinity::get_core_ids().unwrap().iter().map(|core| core.id).collect();
        std::thread::spawn(move || {
            let core = pin().unwrap();
            assert!(allowed.contains(&core));
            let now: Vec<usize> = core_affinity::get_core_ids().unwrap().iter().map(|core| core.id).collect();
            assert_eq!(now, [core]);
        })
        .join()
        .unwrap();
    }
}
