//! Progress: counters, the line made of them, and who shows it when.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::amounts;
use super::messages::say;

/// A job shorter than this shows nothing.
const DELAY: Duration = Duration::from_secs(1);
/// Between two pictures on a terminal.
const REDRAW: Duration = Duration::from_millis(200);
/// Between two lines in a log.
const LINES: Duration = Duration::from_secs(10);

/// Which side of the command is the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Content is read.
    Compress,
    /// Content is written.
    Decompress,
}

/// How far the job is.
pub(super) struct Progress {
    subject: String,
    direction: Direction,
    start: Instant,
    read: AtomicU64,
    written: AtomicU64,
    /// Bytes to read in all, or `UNKNOWN`.
    total: AtomicU64,
    bar: Mutex<Option<ProgressBar>>,
}

const UNKNOWN: u64 = u64::MAX;

impl Progress {
    /// A job that begins now.
    pub(super) fn new(subject: String, direction: Direction) -> Arc<Self> {
        Arc::new(Self {
            subject,
            direction,
            start: Instant::now(),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
            total: AtomicU64::new(UNKNOWN),
            bar: Mutex::new(None),
        })
    }

    /// The size of the input is known.
    pub(super) fn set_total(&self, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    /// `count` more bytes of input have been read.
    pub(super) fn add_read(&self, count: usize) {
        self.read.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// `count` more bytes of output have been written.
    pub(super) fn add_written(&self, count: usize) {
        self.written.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Time since the start of the job.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Prints the progress once, for whoever asks by signal.
    pub(super) fn report(&self) {
        let line = format!("{}: {}", self.subject, self.line());
        // Not while the bar is being drawn.
        match &*self.bar() {
            Some(bar) => bar.suspend(|| say(&line)),
            None => say(&line),
        }
    }

    /// Takes the bar off the terminal.
    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    /// Shows the progress until the guard is dropped: as the user `wants`, else where standard error is a terminal.
    pub(super) fn show(self: &Arc<Self>, wants: Option<bool>) -> Option<Shown> {
        let terminal = io::stderr().is_terminal();
        if !wants.unwrap_or(terminal) {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let progress = Arc::clone(self);
        let ticker = move || {
            let mut wait = DELAY;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if terminal {
                    progress.draw();
                    wait = REDRAW;
                } else {
                    progress.report();
                    wait = LINES;
                }
            }
            progress.clear();
        };
        // Without a thread there is no progress to see; the job itself goes on.
        let thread = thread::Builder::new().name(String::from("progress")).spawn(ticker).ok()?;
        Some(Shown { stop: Some(stop), thread: Some(thread) })
    }

    fn draw(&self) {
        let line = self.line();
        let mut bar = self.bar();
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{wide_msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_message(format!("{}: {line}", self.subject));
        bar.tick();
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> String {
        let read = self.read.load(Ordering::Relaxed);
        let written = self.written.load(Ordering::Relaxed);
        let (content, coded) = match self.direction {
            Direction::Compress => (read, written),
            Direction::Decompress => (written, read),
        };
        let mut line = format!(
            "{} → {}, ratio {}, {}",
            amounts::rough(read),
            amounts::rough(written),
            amounts::ratio(content, coded),
            amounts::speed(content, self.elapsed())
        );
        let total = self.total.load(Ordering::Relaxed);
        if total != UNKNOWN && read > 0 {
            line.push_str(&left(read, total, self.elapsed()));
        }
        line
    }
}

/// The share that is done and the time left, if the rest goes on like that.
fn left(read: u64, total: u64, elapsed: Duration) -> String {
    let total = total.max(read);
    let share = read as f64 / total as f64;
    let seconds = elapsed.as_secs_f64() * (total - read) as f64 / read as f64;
    format!(", {:.0} %, {} left", (share * 100.0).floor(), amounts::clock(seconds.ceil() as u64))
}

/// Progress that is being shown.
pub(super) struct Shown {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(left(1, 3, elapsed), ", 33 %, 0:20 left");
        assert_eq!(left(3, 3, elapsed), ", 100 %, 0:00 left");
        // A file that has grown since.
        assert_eq!(left(4, 3, elapsed), ", 100 %, 0:00 left");
    }

    #[test]
    fn the_line_knows_the_direction() {
        for (direction, ratio) in [(Direction::Compress, "0.2500"), (Direction::Decompress, "4.0000")] {
            let progress = Progress::new(String::from("x"), direction);
            progress.add_read(4000);
            progress.add_written(1000);
            let line = progress.line();
            assert!(line.starts_with(&format!("4.00 kB → 1.00 kB, ratio {ratio}, ")), "{line}");
            assert!(!line.contains("left"));
        }
    }
}
