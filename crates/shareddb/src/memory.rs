//! What memory there is, and how much of it a batch may take where nobody says.
//!
//! Called by `serve` for the default of `--batch-memory`. Absent here: what the tables themselves take, which grows with the
//! data and has the other half.

use std::fs;

/// Where the system does not tell what it has, and at least.
const LEAST: u64 = 1 << 30;

/// Bytes that the intermediate results of one batch may take: half of the memory by the number of workers, each of which runs
/// one batch at a time. One worker counts as two, since all generations on a ring may take two batches' memory; with more, a
/// ring beside other batches may go beyond the half.
pub fn of_batch(workers: usize) -> usize {
    let share = available().unwrap_or(0) / 2 / workers.max(2) as u64;
    share.max(LEAST).try_into().unwrap_or(usize::MAX)
}

/// The machine's memory, or what the control group leaves of it; `None` where the system does not tell.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(group).min()
}

/// Bytes, from the lines of `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_among_the_lines() {
        let text = "MemTotal:       24684112 kB\nMemFree:        12345 kB\n";
        assert_eq!(total(text), Some(24_684_112 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: many\n"), None);
    }

    #[test]
    fn more_workers_leave_less_to_each_batch_but_some() {
        assert_eq!(of_batch(1), of_batch(2));
        assert!(of_batch(2) >= of_batch(8));
        assert_eq!(of_batch(1 << 20), LEAST as usize);
    }
}
