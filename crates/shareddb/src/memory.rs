//! What memory there is, how much of it the process and a batch may take, and who keeps watch over it.
//!
//! Called by `serve`. What is counted against the limit is in [`engine::env::memory`]; here are the defaults, and the watch: a thread
//! that looks at the process' resident size every few milliseconds. Near the limit it has the allocator give free pages back, and where
//! that is not enough it has the statement ended that has most (53200), again and again.

use std::fs;
use std::io::{Read, Seek};
use std::time::{Duration, Instant};

use engine::env::memory::{Share, process};
use server::Pressure;

/// Where the system does not tell what it has, and for a batch, where a quarter of the limit is as much.
const LEAST: usize = 1 << 30;

/// What is left to others where nobody says how much the process may take: a fifth.
const PARTS: u64 = 5;

/// How often the watch looks while there is much room, and while there is little.
const CALM: Duration = Duration::from_millis(50);
const ALERT: Duration = Duration::from_millis(5);

/// Giving pages back takes the kernel's time: no more often than this.
const GIVING_BACK: Duration = Duration::from_millis(25);

/// A statement that has less than this part of the limit is not ended: that would help nobody.
const WORTH_ENDING: usize = 64;

/// Bytes that the process may take where nobody says: four fifths of what there is. Without a limit where the system does not tell.
pub fn of_process() -> usize {
    let bytes = available().map(|bytes| bytes / PARTS * (PARTS - 1));
    bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or(usize::MAX)
}

/// Bytes that the intermediate results of one batch may take: five eighths of what the process may by the number of workers, each of
/// which runs one batch at a time. One worker counts as two, since all generations on a ring may take two batches' memory; with
/// more, a ring beside other batches may go beyond that.
pub fn of_batch(limit: usize, workers: usize) -> usize {
    let limit = if limit == usize::MAX { 0 } else { limit };
    let least = if limit == 0 { LEAST } else { LEAST.min(limit / 4) };
    (limit / 8 * 5 / workers.max(2)).max(least)
}

/// A size as people write it: `512MiB`, `16GiB`; a number alone counts MiB.
pub fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mib" => 20,
        "k" | "kb" | "kib" => 10,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("{unit} is none of KiB, MiB, GiB, TiB")),
    };
    let number: usize = number.parse().map_err(|_| "a number and its unit, as 16GiB".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or("too much or nothing".into())
}

/// What shares of the process' memory may take, as people write it: `tables=70,loads=40`, in percent.
pub fn split(text: &str) -> Result<Vec<(Share, usize)>, String> {
    let one = |part: &str| -> Result<(Share, usize), String> {
        let (name, percent) = part.split_once('=').ok_or("NAME=PERCENT, as tables=70")?;
        let share = Share::named(name.trim()).ok_or_else(|| {
            let names: Vec<_> = Share::all().map(Share::name).collect();
            format!("{name} is none of {}", names.join(", "))
        })?;
        let percent = percent.trim().trim_end_matches('%').parse::<usize>().ok();
        let percent = percent.filter(|percent| (1..=100).contains(percent));
        Ok((share, percent.ok_or("a percentage is from 1 to 100")?))
    };
    text.split(',').map(one).collect()
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

/// The process' resident size, read again and again.
struct Resident {
    file: fs::File,
    text: String,
}

/// Bytes of a page, as `/proc/self/statm` counts.
const PAGE: usize = 4096;

impl Resident {
    fn open() -> std::io::Result<Resident> {
        Ok(Resident { file: fs::File::open("/proc/self/statm")?, text: String::new() })
    }

    fn bytes(&mut self) -> Option<usize> {
        self.text.clear();
        self.file.rewind().ok()?;
        self.file.read_to_string(&mut self.text).ok()?;
        let pages: usize = self.text.split(' ').nth(1)?.parse().ok()?;
        pages.checked_mul(PAGE)
    }
}

/// Keeps watch over the process' size from a thread of its own.
pub fn watch(pressure: Pressure) {
    if !process().is_limited() {
        return;
    }
    let started = Resident::open().and_then(|resident| {
        let gave_back = Instant::now();
        let mut watch = Watch { resident, pressure, gave_back, is_scarce: false };
        let turns = move || loop {
            std::thread::sleep(watch.turn());
        };
        std::thread::Builder::new().name("memory".to_owned()).spawn(turns)
    });
    if let Err(error) = started {
        tracing::warn!(%error, "nobody keeps watch over the process' memory");
    }
}

struct Watch {
    resident: Resident,
    pressure: Pressure,
    gave_back: Instant,
    /// Free pages are not kept.
    is_scarce: bool,
}

impl Watch {
    fn note_scarcity(&mut self, is_scarce: bool) {
        if std::mem::replace(&mut self.is_scarce, is_scarce) != is_scarce {
            match is_scarce {
                true => crate::allocator::keep_no_pages(),
                false => crate::allocator::keep_pages(),
            }
        }
    }

    /// Looks once, and does what is to be done; gives the time until it should look again.
    fn turn(&mut self) -> Duration {
        let (account, Some(mut bytes)) = (process(), self.resident.bytes()) else { return CALM };
        account.note_resident(bytes);
        self.note_scarcity(bytes > account.nearly_full() / 4 * 3);
        if bytes <= account.nearly_full() / 2 {
            return CALM;
        }
        if bytes > account.nearly_full() && self.gave_back.elapsed() >= GIVING_BACK {
            crate::allocator::give_back_pages();
            self.gave_back = Instant::now();
            bytes = self.resident.bytes().unwrap_or(bytes);
            account.note_resident(bytes);
        }
        let excess = bytes.saturating_sub(account.nearly_full());
        if excess > 0 {
            let ended = self.pressure.relieve(excess, account.limit() / WORTH_ENDING);
            tracing::debug!(bytes, ended, "memory is short: who has most is ended");
        }
        ALERT
    }
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
    fn a_split_names_shares() {
        assert_eq!(
            split("tables=70, loads=40%"),
            Ok(vec![(Share::Tables, 70), (Share::Loads, 40)])
        );
        for wrong in ["", "tables", "tables=", "tables=0", "tables=101", "chairs=10", "tables=1,"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn more_workers_leave_less_to_each_batch_but_some() {
        let limit = 16 << 30;
        assert_eq!(of_batch(limit, 1), of_batch(limit, 2));
        assert!(of_batch(limit, 2) >= of_batch(limit, 8));
        assert_eq!(of_batch(limit, 1 << 20), LEAST);
        assert_eq!(of_batch(1 << 30, 1 << 20), 1 << 28);
        assert_eq!(of_batch(usize::MAX, 4), LEAST);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("512"), Ok(512 << 20));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert_eq!(size("2 gb"), Ok(2 << 30));
        for wrong in ["", "GiB", "12parsecs", "0", "99999999999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_process_is_resident() {
        let mut resident = Resident::open().expect("the system tells");
        assert!(resident.bytes().expect("a number") > 1 << 20);
        assert!(resident.bytes().is_some(), "again");
    }
}
