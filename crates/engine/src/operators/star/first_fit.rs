//! Queries to packs whose working sets fit the cache together: first-fit decreasing ("Cache-aware batch sharing", sections
//! 4.4.2 and 4.5.1).

use super::coverage::CacheClass;

/// What is known of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub class: CacheClass,
    /// Bytes of its working set.
    pub bytes: usize,
    /// What it takes, in any unit.
    pub time: f64,
}

/// A pack under construction.
struct Pack {
    items: Vec<usize>,
    bytes: usize,
    /// Of the quickest and the slowest.
    times: (f64, f64),
}

impl Pack {
    fn has_room(&self, item: &Item, capacity: usize, ratio: f64) -> bool {
        let (quickest, slowest) = (self.times.0.min(item.time), self.times.1.max(item.time));
        self.bytes + item.bytes <= capacity && slowest <= quickest * ratio
    }

    fn take(&mut self, number: usize, item: &Item) {
        self.items.push(number);
        self.bytes += item.bytes;
        self.times = (self.times.0.min(item.time), self.times.1.max(item.time));
    }
}

/// Each item in one pack: those of a pack have at most `capacity` bytes together, and none takes more than `ratio` times as
/// long as another. What never shares has a pack of its own; what always shares rides with the first pack of others.
pub(super) fn pack(items: &[Item], capacity: usize, ratio: f64) -> Vec<Vec<usize>> {
    let of = |wanted: fn(&CacheClass) -> bool| {
        (0..items.len()).filter(move |number| wanted(&items[*number].class))
    };
    let mut decreasing: Vec<usize> =
        of(|class| matches!(class, CacheClass::CouldShare(_))).collect();
    decreasing.sort_by_key(|number| std::cmp::Reverse(items[*number].bytes));
    let mut open: Vec<Pack> = Vec::new();
    for number in decreasing {
        let item = &items[number];
        match open.iter_mut().find(|pack| pack.has_room(item, capacity, ratio)) {
            Some(pack) => pack.take(number, item),
            None => open.push(Pack {
                items: vec![number],
                bytes: item.bytes,
                times: (item.time, item.time),
            }),
        }
    }
    let mut packs: Vec<Vec<usize>> = open.into_iter().map(|pack| pack.items).collect();
    let always: Vec<usize> = of(|class| *class == CacheClass::AlwaysShare).collect();
    match packs.first_mut() {
        Some(first) => first.extend(always),
        None if !always.is_empty() => packs.push(always),
        None => {}
    }
    packs.extend(of(|class| matches!(class, CacheClass::NeverShare(_))).map(|number| vec![number]));
    packs
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    const CAPACITY: usize = 100;

    fn items(draw: &mut Draw, count: usize) -> Vec<Item> {
        let item = |_| {
            let bytes = 1 + draw.below(CAPACITY);
            let class = match draw.below(6) {
                0 => CacheClass::AlwaysShare,
                1 => CacheClass::NeverShare(bytes),
                _ => CacheClass::CouldShare(bytes),
            };
            Item { class, bytes, time: 1.0 + draw.below(40) as f64 }
        };
        (0..count).map(item).collect()
    }

    fn is_fit(items: &[Item], pack: &[usize], ratio: f64) -> bool {
        let shared = pack.iter().filter(|n| matches!(items[**n].class, CacheClass::CouldShare(_)));
        let shared: Vec<&Item> = shared.map(|number| &items[*number]).collect();
        let never = pack.iter().any(|n| matches!(items[*n].class, CacheClass::NeverShare(_)));
        let bytes: usize = shared.iter().map(|item| item.bytes).sum();
        let close = |a: &&Item| shared.iter().all(|b| a.time <= b.time * ratio);
        (!never || pack.len() == 1) && bytes <= CAPACITY && shared.iter().all(close)
    }

    /// The fewest packs, by trying all.
    fn fewest(items: &[Item], packs: &mut Vec<Vec<usize>>, next: usize, ratio: f64) -> usize {
        if next == items.len() {
            return packs.len();
        }
        let mut best = usize::MAX;
        for place in 0..=packs.len() {
            if place == packs.len() {
                packs.push(Vec::new());
            }
            packs[place].push(next);
            if is_fit(items, &packs[place], ratio) {
                best = best.min(fewest(items, packs, next + 1, ratio));
            }
            packs[place].pop();
            packs.retain(|pack| !pack.is_empty());
        }
        best
    }

    #[test]
    fn every_query_is_in_one_pack_that_fits() {
        for seed in 0..500 {
            let mut draw = Draw::new(seed);
            let count = draw.below(60);
            let items = items(&mut draw, count);
            let ratio = 1.0 + draw.below(8) as f64;
            let packs = pack(&items, CAPACITY, ratio);
            let mut all = packs.concat();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>(), "seed {seed}");
            assert!(packs.iter().all(|pack| is_fit(&items, pack, ratio)), "seed {seed}: {packs:?}");
        }
    }

    #[test]
    fn packs_are_hardly_more_than_the_fewest() {
        for seed in 0..300 {
            let mut draw = Draw::new(seed);
            let count = 1 + draw.below(7);
            let items = items(&mut draw, count);
            let packs = pack(&items, CAPACITY, f64::INFINITY).len();
            let fewest = fewest(&items, &mut Vec::new(), 0, f64::INFINITY);
            assert!(
                packs as f64 <= 11.0 / 9.0 * fewest as f64 + 1.0,
                "seed {seed}: {packs}, {fewest}"
            );
        }
    }
}
