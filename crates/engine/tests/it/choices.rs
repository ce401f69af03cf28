//! Random choices that are written down: a record gives the same things again, and a smaller record gives smaller ones.
//!
//! A case of a randomised test is a list of records. Where it fails, [`shrink`] leaves records out and makes those that
//! stay smaller as long as it still fails. Included by the tests of `sql` too, which has no other source of randomness.

use std::time::{Duration, Instant};

/// Numbers that a seed repeats (SplitMix64).
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// What was chosen, number by number; of each, 0 is the simplest.
pub type Record = Vec<u32>;

/// A source of choices: random ones, or those of a record, and the simplest where that ends.
#[derive(Debug)]
pub struct Choices {
    record: Record,
    at: usize,
    random: Option<Numbers>,
}

impl Choices {
    /// Random ones.
    pub fn random(seed: u64) -> Choices {
        Choices { record: Vec::new(), at: 0, random: Some(Numbers(seed)) }
    }

    /// Those of a record.
    pub fn of(record: &[u32]) -> Choices {
        Choices { record: record.to_vec(), at: 0, random: None }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1);
        let chosen = match &mut self.random {
            Some(numbers) => {
                self.record.push(numbers.below(end) as u32);
                self.record[self.at] as usize
            }
            None => self.record.get(self.at).map_or(0, |&known| known as usize % end),
        };
        self.at += 1;
        chosen
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// True in so many of a hundred cases; false is the simpler one.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of several, the simplest first.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// What was chosen.
    pub fn into_record(self) -> Record {
        self.record
    }
}

/// A record of random choices, made by making something of them.
pub fn record(seed: u64, make: impl FnOnce(&mut Choices)) -> Record {
    let mut choices = Choices::random(seed);
    make(&mut choices);
    choices.into_record()
}

/// The smallest records found by `until` that still fail. Of the `members`, a range of them, some may be left out; the
/// others are only made smaller.
pub fn shrink(
    mut records: Vec<Record>,
    first_member: usize,
    until: Instant,
    fails: &mut dyn FnMut(&[Record]) -> bool,
) -> Vec<Record> {
    loop {
        let before = size(&records);
        records = with_fewer(records, first_member, until, fails);
        for number in 0..records.len() {
            records = with_smaller(records, number, until, fails);
        }
        if size(&records) >= before || Instant::now() >= until {
            return records;
        }
    }
}

fn size(records: &[Record]) -> u64 {
    let of = |record: &Record| record.iter().map(|n| u64::from(*n) + 1).sum::<u64>() + 1;
    records.iter().map(of).sum()
}

/// Leaves members out, half of them at a time, then fewer.
fn with_fewer(
    mut records: Vec<Record>,
    first_member: usize,
    until: Instant,
    fails: &mut dyn FnMut(&[Record]) -> bool,
) -> Vec<Record> {
    let mut length = (records.len() - first_member).div_ceil(2);
    while length > 0 {
        let mut start = first_member;
        while start < records.len() && Instant::now() < until {
            let mut fewer = records.clone();
            fewer.drain(start..(start + length).min(records.len()));
            match fewer.len() > first_member && fails(&fewer) {
                true => records = fewer,
                false => start += length,
            }
        }
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
    records
}

/// Makes one record smaller: cuts its end off, leaves runs out, makes numbers zero or halves them.
fn with_smaller(
    mut records: Vec<Record>,
    number: usize,
    until: Instant,
    fails: &mut dyn FnMut(&[Record]) -> bool,
) -> Vec<Record> {
    let mut length = records[number].len();
    while length > 0 {
        let mut start = 0;
        while start < records[number].len() && Instant::now() < until {
            let end = (start + length).min(records[number].len());
            let smaller = smaller(&records[number], start..end);
            let found = smaller.into_iter().find(|own| {
                let mut tried = records.clone();
                tried[number].clone_from(own);
                *own != records[number] && fails(&tried)
            });
            match found {
                Some(own) => records[number] = own,
                None => start += length,
            }
        }
        length /= 2;
    }
    records
}

/// A record without a run of numbers, with zeros in its place, and with halves.
fn smaller(record: &Record, run: std::ops::Range<usize>) -> [Record; 3] {
    let mapped = |map: &dyn Fn(u32) -> u32| {
        let mut own = record.clone();
        own[run.clone()].iter_mut().for_each(|number| *number = map(*number));
        own
    };
    let mut without = record.clone();
    without.drain(run.clone());
    [without, mapped(&|_| 0), mapped(&|number| number / 2)]
}

#[test]
fn a_failing_case_is_made_as_small_as_it_can_be() {
    let choose = |choices: &mut Choices| {
        (0..20).for_each(|_| {
            choices.below(1000);
        });
    };
    let random = |seed| record(seed, choose);
    let records: Vec<Record> = (0..40).map(random).collect();
    // It fails where two members have a number above 500 each.
    let mut fails = |records: &[Record]| {
        let large = |own: &&Record| own.iter().any(|&number| number > 500);
        records[1..].iter().filter(large).count() >= 2
    };
    let until = Instant::now() + Duration::from_secs(60);
    let found = shrink(records, 1, until, &mut fails);
    assert_eq!((found.len(), found[0].len()), (3, 0));
    assert!(found[1..].iter().all(|own| own.len() == 1 && own[0] > 500), "{found:?}");
}
