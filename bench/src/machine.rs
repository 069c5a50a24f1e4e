//! What the figures were measured on.

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
