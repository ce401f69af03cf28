//! How far a long step has come, on the standard error: a bar where a person watches, a line at the end elsewhere;
//! nothing stays of a step that fails.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const BAR: usize = 30;
const REDRAW: Duration = Duration::from_millis(200);

/// Counts units towards an expected total; any thread may add.
pub struct Progress {
    what: String,
    unit: &'static str,
    expected: u64,
    done: AtomicU64,
    start: Instant,
    drawn: Mutex<Instant>,
    terminal: bool,
    finished: bool,
}

impl Progress {
    /// Nothing done yet of about `expected` rows.
    pub fn new(what: &str, expected: u64) -> Progress {
        Progress::of(what, "rows", expected)
    }

    /// Nothing done yet of `expected` bytes.
    pub fn of_bytes(what: &str, expected: u64) -> Progress {
        Progress::of(what, "bytes", expected)
    }

    fn of(what: &str, unit: &'static str, expected: u64) -> Progress {
        let now = Instant::now();
        let terminal = std::io::stderr().is_terminal();
        let drawn = Mutex::new(now);
        Progress {
            what: what.to_owned(),
            unit,
            expected,
            done: AtomicU64::new(0),
            start: now,
            drawn,
            terminal,
            finished: false,
        }
    }

    /// Counts rows; draws at most five times a second.
    pub fn add(&self, rows: u64) {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        // Most calls do not even look at the clock.
        if !self.terminal || done / 4096 == (done - rows) / 4096 {
            return;
        }
        let Some(mut drawn) = self.drawn.try_lock() else { return };
        if drawn.elapsed() >= REDRAW {
            *drawn = Instant::now();
            let _ = write!(std::io::stderr(), "\r{}", self.line(done, self.marks(done)));
        }
    }

    /// Draws for the last time: all is done, whatever was expected.
    pub fn finish(mut self) {
        self.finished = true;
        let start = if self.terminal { "\r" } else { "" };
        let line = self.line(self.done.load(Ordering::Relaxed), BAR);
        // Nobody is helped by failing because the standard error is closed.
        let _ = writeln!(std::io::stderr(), "{start}{line}");
    }

    /// Marks in the bar. The last one is for the end: what has been sent may still be refused.
    fn marks(&self, done: u64) -> usize {
        let share = done as f64 / self.expected.max(1) as f64;
        ((share * BAR as f64) as usize).min(BAR - 1)
    }

    fn line(&self, done: u64, filled: usize) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = done as f64 / seconds.max(1e-9) / 1e6;
        format!(
            "{:<10} [{}{}] {done:>10} {} {seconds:>6.1} s {rate:>6.2} M/s",
            self.what,
            "#".repeat(filled),
            "-".repeat(BAR - filled),
            self.unit,
        )
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal && !self.finished {
            // The error comes in place of the bar.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn the_bar_fills() {
        let progress = Progress::new("part", 200);
        progress.add(100);
        let line = progress.line(100, progress.marks(100));
        assert!(line.contains(&format!("[{}{}]", "#".repeat(15), "-".repeat(15))), "{line}");
        assert_eq!([0, 199, 200, 500].map(|done| progress.marks(done)), [0, 29, 29, 29]);
    }
}
