//! The command `hippocrene`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let run = if standard_output::was_closed() { hippocrene_cli::run_closed } else { hippocrene_cli::run };
    run(std::env::args_os()).into()
}

/// Whether standard output was closed before `main`, when the standard library opens `/dev/null` in its place.
mod standard_output {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    /// What the loader calls before anything else.
    #[cfg(target_os = "linux")]
    #[used]
    // SAFETY: the section is an array of functions like this one, and this one needs nothing that is made later.
    #[unsafe(link_section = ".init_array")]
    static NOTE: extern "C" fn() = {
        extern "C" fn note() {
            let is_there = |name| std::fs::symlink_metadata(name).is_ok();
            CLOSED.store(is_there("/proc/self/fd") && !is_there("/proc/self/fd/1"), Ordering::Relaxed);
        }
        note
    };

    pub fn was_closed() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }
}
