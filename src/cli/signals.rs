//! Signals: the fatal ones leave no half-written file behind, SIGUSR1 prints the progress.

#[cfg(not(unix))]
pub(super) use other::watch;
#[cfg(unix)]
pub(super) use unix::watch;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use crate::cli::progress::Progress;
    use crate::cli::temporary;

    #[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd"))]
    const REPORTS: [i32; 2] = [SIGUSR1, signal_hook::consts::SIGINFO];
    #[cfg(not(any(target_os = "macos", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd")))]
    const REPORTS: [i32; 1] = [SIGUSR1];

    /// Signals that end the process unless it was started with them ignored, as by `nohup`.
    const FATAL: [i32; 4] = [SIGHUP, SIGINT, SIGTERM, SIGXCPU];

    /// Watches for signals from now on.
    pub(in crate::cli) fn watch(progress: Arc<Progress>) -> io::Result<()> {
        let ignored = ignored();
        let wanted = FATAL.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        // SIGXFSZ needs no more than a handler: the write that was too much then fails with an error.
        let mut signals = Signals::new(wanted.chain(REPORTS).chain([SIGXFSZ]))?;
        let watch = move || {
            for signal in signals.forever() {
                if REPORTS.contains(&signal) {
                    progress.report();
                } else if FATAL.contains(&signal) {
                    progress.clear();
                    let _nothing_appears_any_more = temporary::discard();
                    // Whoever waits for us sees the signal.
                    let _ = emulate_default_handler(signal);
                }
            }
        };
        thread::Builder::new().name(String::from("signals")).spawn(watch)?;
        Ok(())
    }

    /// The signals that are ignored, bit n − 1 for signal n. Where the system does not tell, none.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;
    use std::sync::Arc;

    use crate::cli::progress::Progress;

    pub(in crate::cli) fn watch(_: Arc<Progress>) -> io::Result<()> {
        Ok(())
    }
}
