//! CPU time and memory of a server's processes, from `/proc`.

use std::collections::HashMap;
use std::fs;

/// Clock ticks per second in `/proc`: fixed by the Linux ABI.
const TICKS_PER_SECOND: f64 = 100.0;

struct Stat {
    parent: u32,
    own_ticks: u64,
    /// Of children that have ended and been waited for.
    ended_ticks: u64,
}

fn stat(pid: &str) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may contain blanks.
    let fields: Vec<&str> = text[text.rfind(')')? + 2..].split(' ').collect();
    let number = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok());
    Some(Stat {
        parent: number(1)? as u32,
        own_ticks: number(11)? + number(12)?,
        ended_ticks: number(13)? + number(14)?,
    })
}

/// Pids of `root` and everything that descends from it, with what `/proc` says.
fn tree(root: u32) -> HashMap<u32, Stat> {
    let mut all = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if let (Ok(pid), Some(stat)) = (name.parse::<u32>(), stat(name)) {
            all.insert(pid, stat);
        }
    }
    let descends = |mut pid: u32| {
        while pid != root {
            match all.get(&pid) {
                Some(stat) if stat.parent != 0 => pid = stat.parent,
                _ => return false,
            }
        }
        true
    };
    let family: Vec<u32> = all.keys().copied().filter(|&pid| descends(pid)).collect();
    family.into_iter().filter_map(|pid| all.remove(&pid).map(|stat| (pid, stat))).collect()
}

/// CPU seconds of a process, its descendants and its ended children.
pub fn tree_cpu_seconds(root: u32) -> f64 {
    let ticks: u64 = tree(root).values().map(|stat| stat.own_ticks + stat.ended_ticks).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// CPU seconds of this process: the driver's own.
pub fn own_cpu_seconds() -> f64 {
    stat("self").map_or(0.0, |stat| stat.own_ticks as f64 / TICKS_PER_SECOND)
}

/// Resident bytes of a process and its descendants; pages that they share are counted once (`Pss`).
pub fn tree_resident_bytes(root: u32) -> u64 {
    let resident = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    tree(root).keys().filter_map(resident).sum()
}
