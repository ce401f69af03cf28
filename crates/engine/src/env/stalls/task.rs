//! What the operating system knows of a thread.

use std::fs;
use std::time::Duration;

use super::Cause;

/// What a thread has done since it began, and what it does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// On a processor.
    pub ran: Duration,
    /// Ready to run, while other threads had the processors.
    pub waited: Duration,
    /// Pages that it was given.
    pub faults: u64,
    /// Why it sleeps; `None` where it runs or is ready to.
    pub sleeps: Option<Cause>,
}

/// Of one of this process' threads; `None` where the thread has gone or the system does not tell.
pub fn figures(thread: u32) -> Option<Figures> {
    let file = |name: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{name}")).ok();
    let (ran, waited) = times(&file("schedstat")?)?;
    let (state, faults) = state_and_faults(&file("stat")?)?;
    let sleeps = matches!(state, 'S' | 'D').then(|| {
        let call = file("syscall").unwrap_or_default();
        why_asleep(state, &call)
    });
    Some(Figures { ran, waited, faults, sleeps })
}

/// From `schedstat`: nanoseconds on a processor and waiting for one.
fn times(text: &str) -> Option<(Duration, Duration)> {
    let mut times = text.split_whitespace().map(|word| word.parse().map(Duration::from_nanos));
    Some((times.next()?.ok()?, times.next()?.ok()?))
}

/// From `stat`, whose second field is a name that may hold anything: the state, and minor and major page faults together.
fn state_and_faults(text: &str) -> Option<(char, u64)> {
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some((fields.first()?.chars().next()?, number(7)? + number(9)?))
}

/// From `syscall`: the number of the call that it is in; -1 where it is in none, since it touched a page that is read.
fn why_asleep(state: char, call: &str) -> Cause {
    let number = call.split_whitespace().next().and_then(|word| word.parse::<i64>().ok());
    match number {
        Some(number) if FUTEX.contains(&number) => Cause::Lock,
        Some(number) if SYNCS.contains(&number) => Cause::Sync,
        _ if state == 'D' => Cause::Disk,
        _ => Cause::Sleep,
    }
}

/// Numbers of system calls: futex; fsync and fdatasync.
#[cfg(target_arch = "x86_64")]
const FUTEX: [i64; 1] = [202];
#[cfg(target_arch = "x86_64")]
const SYNCS: [i64; 2] = [74, 75];
#[cfg(not(target_arch = "x86_64"))]
const FUTEX: [i64; 1] = [98];
#[cfg(not(target_arch = "x86_64"))]
const SYNCS: [i64; 2] = [82, 83];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_writes_is_understood() {
        let (ran, waited) = times("328063 91039 2\n").expect("two times");
        assert_eq!((ran, waited), (Duration::from_nanos(328_063), Duration::from_nanos(91_039)));
        let stat = "9008 (a) S b) D 9001 9001 1678 0 -1 4194304 100 0 7 0 0 0 0 0 20 0 1 0";
        assert_eq!(state_and_faults(stat), Some(('D', 107)));
        assert_eq!(state_and_faults("no name"), None);
        assert_eq!(why_asleep('S', &format!("{} 0x7f 0x0", FUTEX[0])), Cause::Lock);
        assert_eq!(why_asleep('D', &format!("{} 0x3", SYNCS[1])), Cause::Sync);
        assert_eq!(why_asleep('D', "-1 0x7ffd 0x7f87"), Cause::Disk);
        assert_eq!(why_asleep('S', ""), Cause::Sleep);
    }

    #[test]
    fn the_system_tells_of_the_calling_thread() {
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let before = figures(own).expect("it runs");
        let pages = vec![1u8; 64 << 20];
        let after = figures(own).expect("it runs");
        assert!(after.ran > before.ran && after.faults > before.faults, "{before:?} {after:?}");
        assert_eq!((after.sleeps, pages[77]), (None, 1));
    }
}
