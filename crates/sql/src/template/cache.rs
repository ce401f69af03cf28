//! Known statements, found from their text alone.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use engine::env::memory::{Share, process};
use engine::types::{DataType, Value};
use parking_lot::Mutex;

use super::lex::{LiteralKind, LiteralToken, Scratch, scan};
use super::lift::{Lifted, LiftedLiteral};
use super::parameters::{fraction_digits, least, natural_number, natural_type};

/// Statements that differ only in what stays in their key (`ORDER BY 1`, `ORDER BY 2`) are kept side by side.
const VARIANT_LIMIT: usize = 16;

/// Bytes of a text that is looked for, and kept, at most: longer ones are planned each time.
const TEXT_LIMIT: usize = 64 << 10;

/// Bytes that all that is kept may take, as far as [`plan_bytes`] tells.
const BYTE_LIMIT: usize = 512 << 20;

/// About the bytes that a planned statement takes, by those of its text; rather too many. Measured by the process' size after a
/// hundred and more of a kind: 30 KiB for a look-up by key (49 bytes of text), 110 KiB for a join with a grouping (136), 630 KiB for
/// 150 named columns (1,561), 260 KiB for a CASE of 60 branches (1,448), 150 KiB for a list of 300 numbers (1,423).
pub fn plan_bytes(text: usize) -> usize {
    (32 << 10) + 512 * text
}

/// Statements that a shard of a full cache holds, about: what a newcomer copies.
const SHARD: usize = 64;

/// Neighbouring shards among which the least recently used statement is looked for.
const SAMPLED: usize = 4;

/// What a text was planned as, by text. Reading takes no lock. A newcomer costs the same whatever is kept: it copies its own shard
/// of the map, and what goes for it is the least recently used of a few shards, which move on with each that goes.
#[derive(Debug)]
pub struct TemplateCache<T> {
    /// By the hash of the key; a power of two.
    shards: Box<[Shard<T>]>,
    limit: usize,
    byte_limit: usize,
    kept: AtomicUsize,
    bytes: AtomicUsize,
    /// Counts uses.
    clock: AtomicU64,
    /// The shard where the search for the least recently used goes on.
    hand: AtomicUsize,
    /// Counts the shards from which was taken what no longer holds.
    swept: AtomicUsize,
    hasher: foldhash::fast::RandomState,
}

#[derive(Debug)]
struct Shard<T> {
    map: ArcSwap<Map<T>>,
    writing: Mutex<()>,
}

type Map<T> = HashMap<u64, Vec<Arc<Entry<T>>>>;

/// A statement and how its literals become parameters.
#[derive(Debug)]
struct Entry<T> {
    key: Box<[u8]>,
    declared: Box<[u32]>,
    kept: Vec<(usize, Box<str>)>,
    lifted: Vec<Slot>,
    used: AtomicU64,
    value: Arc<T>,
}

/// A literal token that becomes a parameter.
#[derive(Debug)]
struct Slot {
    token: usize,
    negative: bool,
    kind: LiteralKind,
    data_type: DataType,
    /// The type is what the literal itself has, not what a column beside it gave it.
    natural: bool,
}

std::thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::new(Scratch::default());
}

impl<T> TemplateCache<T> {
    /// A cache of at most `limit` statements.
    pub fn new(limit: usize) -> TemplateCache<T> {
        let shards = (limit / SHARD).max(1).next_power_of_two();
        TemplateCache {
            shards: (0..shards).map(|_| Shard::default()).collect(),
            limit: limit.max(1),
            byte_limit: BYTE_LIMIT,
            kept: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            clock: AtomicU64::new(0),
            hand: AtomicUsize::new(0),
            swept: AtomicUsize::new(0),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// Number of statements kept.
    pub fn len(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// About the bytes of what is kept.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, hash: u64) -> &Shard<T> {
        // The map of a shard uses the hash's other bits.
        &self.shards[(hash >> 32) as usize & (self.shards.len() - 1)]
    }

    /// The statement of that text, if it still holds, and the values of its lifted literals.
    pub fn find(
        &self,
        text: &str,
        declared: &[u32],
        holds: impl Fn(&T) -> bool,
    ) -> Option<(Arc<T>, Vec<Value>)> {
        if text.len() > TEXT_LIMIT {
            return None;
        }
        SCRATCH.with_borrow_mut(|scratch| {
            if !scan(text, scratch) {
                return None;
            }
            let hash = self.hash(&scratch.key);
            let map = self.shard(hash).map.load();
            let entries = map.get(&hash)?;
            let wanted = |entry: &&Arc<Entry<T>>| {
                *entry.key == *scratch.key && *entry.declared == *declared && holds(&entry.value)
            };
            entries.iter().filter(wanted).find_map(|entry| {
                let values = entry.values(text, &scratch.literals)?;
                entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                Some((entry.value.clone(), values))
            })
        })
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Keeps a statement, where `hold` finds room for its bytes. `types` are those of its lifted literals. Texts that cannot be
    /// found again are not kept. What no longer `holds` goes, here and in one shard more, so that it goes everywhere as newcomers
    /// come.
    pub fn insert(
        &self,
        lifted: &Lifted,
        declared: &[u32],
        types: &[DataType],
        value: Arc<T>,
        hold: impl Fn(usize) -> bool,
        holds: impl Fn(&T) -> bool,
    ) {
        let Some(source) = lifted.source.as_ref().filter(|s| s.key.len() <= TEXT_LIMIT) else {
            return;
        };
        let entry = Arc::new(Entry {
            key: source.key.clone(),
            declared: declared.into(),
            kept: source.kept.clone(),
            lifted: lifted.literals.iter().zip(types).map(|(l, t)| Slot::new(l, *t)).collect(),
            used: AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed)),
            value,
        });
        // What takes the place of many is planned each time.
        if entry.bytes() > process().limit_of(Share::Plans) / 4 {
            return;
        }
        while !hold(entry.bytes()) {
            if !self.shrink() {
                return;
            }
        }
        let hash = self.hash(&entry.key);
        self.change(self.shard(hash), |map| {
            map.values_mut().for_each(|entries| entries.retain(|entry| holds(&entry.value)));
            let entries = map.entry(hash).or_default();
            if entries.len() >= VARIANT_LIMIT {
                entries.remove(0);
            }
            entries.push(entry);
        });
        self.sweep(&holds);
        self.evict();
    }

    /// Takes out of the next shard what no longer holds.
    fn sweep(&self, holds: &impl Fn(&T) -> bool) {
        let next = self.swept.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        let shard = &self.shards[next];
        if shard.map.load().values().flatten().any(|entry| !holds(&entry.value)) {
            self.change(shard, |map| {
                map.values_mut().for_each(|entries| entries.retain(|entry| holds(&entry.value)));
            });
        }
    }

    /// Puts a changed copy in the place of a shard's map, and counts what has come and gone.
    fn change(&self, shard: &Shard<T>, how: impl FnOnce(&mut Map<T>)) {
        let writing = shard.writing.lock();
        let mut map = Map::clone(&shard.map.load());
        how(&mut map);
        map.retain(|_, entries| !entries.is_empty());
        let (kept, bytes) = (count(&map), bytes_of(&map));
        let before = shard.map.swap(Arc::new(map));
        // Wrapping sums: the differences of all shards add up to what is kept.
        self.kept.fetch_add(kept.wrapping_sub(count(&before)), Ordering::Relaxed);
        self.bytes.fetch_add(bytes.wrapping_sub(bytes_of(&before)), Ordering::Relaxed);
        drop(writing);
        // The last of a template takes it out of the global plan, which may run what still waits for it.
        drop(before);
    }

    fn evict(&self) {
        // Bounded, since others may bring in more meanwhile, who then take out as many.
        for _ in 0..=self.len() {
            if self.len() <= self.limit && self.bytes() <= self.byte_limit {
                return;
            }
            self.forget_one();
        }
    }

    /// Forgets the least recently used of the next shards that hold anything.
    fn forget_one(&self) {
        let (from, all) = (self.hand.fetch_add(1, Ordering::Relaxed), self.shards.len());
        let sampled = (from..from + all)
            .map(|at| &self.shards[at % all])
            .filter_map(|shard| Some((oldest(&shard.map.load())?, shard)))
            .take(SAMPLED);
        if let Some((_, shard)) = sampled.min_by_key(|(used, _)| *used) {
            self.change(shard, |map| forget_oldest(map, 1));
        }
    }

    /// Forgets an eighth of all, of each shard what was used least recently; whether there was anything.
    pub fn shrink(&self) -> bool {
        let (mut seen, mut gone) = (0_usize, 0);
        for shard in &self.shards {
            seen += count(&shard.map.load());
            let wanted = seen.div_ceil(8) - gone;
            if wanted > 0 {
                self.change(shard, |map| forget_oldest(map, wanted));
                gone += wanted;
            }
        }
        seen > 0
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| self.change(shard, HashMap::clear));
    }
}

impl<T> Default for Shard<T> {
    fn default() -> Shard<T> {
        Shard { map: ArcSwap::default(), writing: Mutex::new(()) }
    }
}

fn count<T>(map: &Map<T>) -> usize {
    map.values().map(Vec::len).sum()
}

/// When the least recently used was used.
fn oldest<T>(map: &Map<T>) -> Option<u64> {
    map.values().flatten().map(|entry| entry.used.load(Ordering::Relaxed)).min()
}

/// Takes out those used least recently.
fn forget_oldest<T>(map: &mut Map<T>, wanted: usize) {
    let used = |entry: &Arc<Entry<T>>| entry.used.load(Ordering::Relaxed);
    let mut uses: Vec<u64> = map.values().flatten().map(used).collect();
    uses.sort_unstable();
    let Some(last) = wanted.checked_sub(1).and_then(|last| uses.get(last)) else { return };
    map.values_mut().for_each(|entries| entries.retain(|entry| used(entry) > *last));
}

fn bytes_of<T>(map: &Map<T>) -> usize {
    map.values().flatten().map(|entry| entry.bytes()).sum()
}

impl Slot {
    fn new(literal: &LiftedLiteral, data_type: DataType) -> Slot {
        Slot {
            token: literal.token,
            negative: literal.negative,
            kind: literal.kind,
            data_type,
            natural: natural_type(literal) == Some(data_type.arrow()),
        }
    }

    /// The value of a token here; `None` where the literal would have another type.
    fn value(&self, text: &str, token: &LiteralToken) -> Option<Value> {
        if token.kind != self.kind {
            return None;
        }
        let raw = token.value(text);
        let value = if self.negative {
            crate::text::parse_value(&format!("-{raw}"), self.data_type)
        } else {
            crate::text::parse_value(&raw, self.data_type)
        };
        value.ok().filter(|_| self.would_be_planned_alike(&raw))
    }

    /// Whether planning this literal afresh would give the same type.
    fn would_be_planned_alike(&self, raw: &str) -> bool {
        let least = if self.negative { least(raw) } else { None };
        match (self.kind, self.data_type) {
            _ if self.natural && least.is_some() => least == Some(self.data_type.arrow()),
            (LiteralKind::Decimal | LiteralKind::HugeInteger, _) if self.natural => {
                natural_number(raw) == self.data_type.arrow()
            }
            (LiteralKind::Decimal, DataType::Numeric { scale, .. }) => {
                fraction_digits(raw) <= usize::from(scale)
            }
            _ => true,
        }
    }
}

impl<T> Entry<T> {
    fn bytes(&self) -> usize {
        plan_bytes(self.key.len())
    }

    fn values(&self, text: &str, tokens: &[LiteralToken]) -> Option<Vec<Value>> {
        let same = |(i, raw): &(usize, Box<str>)| {
            tokens.get(*i).is_some_and(|token| text[token.start..token.end] == **raw)
        };
        if !self.kept.iter().all(same) {
            return None;
        }
        self.lifted.iter().map(|slot| slot.value(text, tokens.get(slot.token)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{lift, parse};

    fn insert(
        cache: &TemplateCache<&'static str>,
        text: &str,
        types: &[DataType],
        name: &'static str,
    ) {
        let lifted = lift(text, parse(text).unwrap().remove(0));
        cache.insert(&lifted, &[], types, Arc::new(name), |_| true, |_| true);
    }

    #[test]
    fn equal_shapes_are_one_statement() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select a from t where b = 5", &[DataType::Integer], "one");
        let (found, values) = cache.find("SELECT a FROM t WHERE b=77", &[], |_| true).unwrap();
        assert_eq!((*found, values), ("one", vec![Value::Integer(77)]));
        assert!(cache.find("select a from t where b = 5000000000", &[], |_| true).is_none());
        assert!(cache.find("select a from t where b = 'x'", &[], |_| true).is_none());
        assert!(cache.find("select a from t where b = 5", &[], |_| false).is_none());
        assert!(cache.find("select a from t where b = 5", &[23], |_| true).is_none());
    }

    #[test]
    fn literals_of_other_types_are_other_statements() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select 5000000000 * 2", &[DataType::BigInt, DataType::Integer], "big");
        assert!(cache.find("select 2147483647 * 2", &[], |_| true).is_none());
        assert!(cache.find("select 5000000001 * 2", &[], |_| true).is_some());
        insert(&cache, "select -5000000000 - 1", &[DataType::BigInt, DataType::Integer], "less");
        assert!(cache.find("select -5000000001 - 1", &[], |_| true).is_some());
        assert!(cache.find("select -2147483648 - 1", &[], |_| true).is_none());
        let numeric = |scale| DataType::Numeric { precision: 18, scale };
        insert(&cache, "select 1.55 + a from t", &[numeric(2)], "two digits");
        assert!(cache.find("select 1.5 + a from t", &[], |_| true).is_none());
        assert!(cache.find("select 1e3 + a from t", &[], |_| true).is_none());
        assert!(cache.find("select 2.25 + a from t", &[], |_| true).is_some());
    }

    #[test]
    fn comments_do_not_hide_what_follows_a_carriage_return() {
        let cache = TemplateCache::new(10);
        insert(&cache, "delete from t", &[], "all rows");
        assert!(cache.find("delete from t -- c\r where a = 1", &[], |_| true).is_none());
    }

    #[test]
    fn kept_literals_tell_statements_apart() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select a, b from t order by 1", &[], "first");
        insert(&cache, "select a, b from t order by 2", &[], "second");
        assert_eq!(*cache.find("select a, b from t order by 1", &[], |_| true).unwrap().0, "first");
        assert_eq!(
            *cache.find("select a, b from t order by 2", &[], |_| true).unwrap().0,
            "second"
        );
    }

    #[test]
    fn the_least_recently_used_goes() {
        let cache = TemplateCache::new(2);
        insert(&cache, "select a from t", &[], "a");
        insert(&cache, "select b from t", &[], "b");
        assert!(cache.find("select a from t", &[], |_| true).is_some());
        insert(&cache, "select c from t", &[], "c");
        assert_eq!(cache.len(), 2);
        assert!(cache.find("select b from t", &[], |_| true).is_none());
        assert!(cache.find("select a from t", &[], |_| true).is_some());
    }

    /// However many are kept and were seen, a newcomer copies one shard.
    #[test]
    fn a_newcomers_cost_does_not_grow_with_what_is_known() {
        let cache = TemplateCache::new(8_192);
        let largest = || cache.shards.iter().map(|shard| count(&shard.map.load())).max();
        for i in 0..30_000 {
            insert(&cache, &format!("select c{i} from t"), &[], "kept");
        }
        assert_eq!(cache.len(), 8_192);
        assert_eq!(cache.shards.iter().map(|shard| count(&shard.map.load())).sum::<usize>(), 8_192);
        assert!(largest() < Some(3 * SHARD), "{:?}", largest());
        let is_known =
            |i: usize| cache.find(&format!("select c{i} from t"), &[], |_| true).is_some();
        // About the least recently used have gone: of the newest half of what fits nearly all is there, of what came before twice as
        // many as fit nothing.
        let known = (30_000 - 4_096..30_000).filter(|&i| is_known(i)).count();
        assert!(known > 4_000, "{known}");
        assert_eq!((0..10_000).filter(|&i| is_known(i)).count(), 0);
        while cache.shrink() {}
        assert_eq!((cache.len(), cache.bytes()), (0, 0));
    }

    #[test]
    fn what_there_is_no_room_for_takes_that_of_others_or_is_not_kept() {
        let cache = TemplateCache::new(100);
        for i in 0..16 {
            insert(&cache, &format!("select c{i} from t"), &[], "kept");
        }
        let lifted = lift("select d from t", parse("select d from t").unwrap().remove(0));
        let tries = std::cell::Cell::new(0);
        let third = |_| tries.replace(tries.get() + 1) == 2;
        cache.insert(&lifted, &[], &[], Arc::new("new"), third, |_| true);
        assert_eq!(cache.len(), 16 - 2 - 2 + 1);
        assert!(cache.find("select c3 from t", &[], |_| true).is_none());
        assert!(cache.find("select c4 from t", &[], |_| true).is_some());
        assert!(cache.find("select d from t", &[], |_| true).is_some());
        let lifted = lift("select e from t", parse("select e from t").unwrap().remove(0));
        cache.insert(&lifted, &[], &[], Arc::new("too large"), |_| false, |_| true);
        assert!(cache.is_empty());
    }

    #[test]
    fn what_takes_too_much_together_goes_too() {
        let mut cache = TemplateCache::new(1000);
        cache.byte_limit = 10 * plan_bytes(1_000);
        let columns = |from: usize| (from..from + 150).map(|i| format!("c{i}")).collect::<Vec<_>>();
        for i in 0..100 {
            insert(&cache, &format!("select {} from t", columns(i * 200).join(", ")), &[], "long");
        }
        assert!((5..20).contains(&cache.len()), "{}", cache.len());
        assert!(cache.bytes() <= cache.byte_limit);
        let text = format!("select a from t where b in ({})", "c, ".repeat(TEXT_LIMIT / 2) + "c");
        insert(&cache, &text, &[], "too long");
        assert!(cache.find(&text, &[], |_| true).is_none());
    }
}
