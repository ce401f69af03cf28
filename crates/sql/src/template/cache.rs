//! Known statements, found from their text alone.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// What a text was planned as, by text. Reading takes no lock; the least recently used goes first.
#[derive(Debug)]
pub struct TemplateCache<T> {
    map: ArcSwap<Map<T>>,
    writing: Mutex<()>,
    limit: usize,
    byte_limit: usize,
    clock: AtomicU64,
    hasher: foldhash::fast::RandomState,
}

type Map<T> = HashMap<u64, Vec<Arc<Entry<T>>>>;

/// A statement and how its literals become parameters.
#[derive(Debug)]
struct Entry<T> {
    key: Box<[u8]>,
    declared: Box<[u32]>,
    version: u64,
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
        TemplateCache {
            map: ArcSwap::default(),
            writing: Mutex::new(()),
            limit: limit.max(1),
            byte_limit: BYTE_LIMIT,
            clock: AtomicU64::new(0),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// Number of statements kept.
    pub fn len(&self) -> usize {
        count(&self.map.load())
    }

    /// About the bytes of what is kept.
    pub fn bytes(&self) -> usize {
        bytes_of(&self.map.load())
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The statement of that text, and the values of its lifted literals.
    pub fn find(&self, text: &str, declared: &[u32], version: u64) -> Option<(Arc<T>, Vec<Value>)> {
        if text.len() > TEXT_LIMIT {
            return None;
        }
        SCRATCH.with_borrow_mut(|scratch| {
            if !scan(text, scratch) {
                return None;
            }
            let map = self.map.load();
            let entries = map.get(&self.hash(&scratch.key))?;
            let wanted = |entry: &&Arc<Entry<T>>| {
                entry.version == version
                    && *entry.key == *scratch.key
                    && *entry.declared == *declared
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
    /// found again are not kept.
    pub fn insert(
        &self,
        lifted: &Lifted,
        declared: &[u32],
        version: u64,
        types: &[DataType],
        value: Arc<T>,
        hold: impl Fn(usize) -> bool,
    ) {
        let Some(source) = lifted.source.as_ref().filter(|s| s.key.len() <= TEXT_LIMIT) else {
            return;
        };
        let entry = Arc::new(Entry {
            key: source.key.clone(),
            declared: declared.into(),
            version,
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
        let writing = self.writing.lock();
        let mut map = Map::clone(&self.map.load());
        // What an older catalog meant will not be asked for again.
        map.values_mut().for_each(|entries| entries.retain(|e| e.version >= version));
        let entries = map.entry(self.hash(&entry.key)).or_default();
        if entries.len() >= VARIANT_LIMIT {
            entries.remove(0);
        }
        entries.push(entry);
        map.retain(|_, entries| !entries.is_empty());
        self.evict(&mut map);
        let before = self.map.swap(Arc::new(map));
        drop(writing);
        // The last of a template takes it out of the global plan, which may run what still waits for it.
        drop(before);
    }

    fn evict(&self, map: &mut Map<T>) {
        while count(map) > self.limit || bytes_of(map) > self.byte_limit {
            forget_oldest(map, 1);
        }
    }

    /// Forgets what was used least recently, an eighth of all; whether there was anything.
    pub fn shrink(&self) -> bool {
        let writing = self.writing.lock();
        let mut map = Map::clone(&self.map.load());
        let kept = count(&map);
        forget_oldest(&mut map, kept.div_ceil(8));
        let before = self.map.swap(Arc::new(map));
        drop(writing);
        drop(before);
        kept > 0
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let writing = self.writing.lock();
        let before = self.map.swap(Arc::default());
        drop(writing);
        drop(before);
    }
}

fn count<T>(map: &Map<T>) -> usize {
    map.values().map(Vec::len).sum()
}

/// Takes out those used least recently.
fn forget_oldest<T>(map: &mut Map<T>, wanted: usize) {
    let used = |entry: &Arc<Entry<T>>| entry.used.load(Ordering::Relaxed);
    let mut uses: Vec<u64> = map.values().flatten().map(used).collect();
    uses.sort_unstable();
    let Some(last) = wanted.checked_sub(1).and_then(|last| uses.get(last)) else { return };
    map.values_mut().for_each(|entries| entries.retain(|entry| used(entry) > *last));
    map.retain(|_, entries| !entries.is_empty());
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
        cache.insert(&lifted, &[], 1, types, Arc::new(name), |_| true);
    }

    #[test]
    fn equal_shapes_are_one_statement() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select a from t where b = 5", &[DataType::Integer], "one");
        let (found, values) = cache.find("SELECT a FROM t WHERE b=77", &[], 1).unwrap();
        assert_eq!((*found, values), ("one", vec![Value::Integer(77)]));
        assert!(cache.find("select a from t where b = 5000000000", &[], 1).is_none());
        assert!(cache.find("select a from t where b = 'x'", &[], 1).is_none());
        assert!(cache.find("select a from t where b = 5", &[], 2).is_none());
        assert!(cache.find("select a from t where b = 5", &[23], 1).is_none());
    }

    #[test]
    fn literals_of_other_types_are_other_statements() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select 5000000000 * 2", &[DataType::BigInt, DataType::Integer], "big");
        assert!(cache.find("select 2147483647 * 2", &[], 1).is_none());
        assert!(cache.find("select 5000000001 * 2", &[], 1).is_some());
        insert(&cache, "select -5000000000 - 1", &[DataType::BigInt, DataType::Integer], "less");
        assert!(cache.find("select -5000000001 - 1", &[], 1).is_some());
        assert!(cache.find("select -2147483648 - 1", &[], 1).is_none());
        let numeric = |scale| DataType::Numeric { precision: 18, scale };
        insert(&cache, "select 1.55 + a from t", &[numeric(2)], "two digits");
        assert!(cache.find("select 1.5 + a from t", &[], 1).is_none());
        assert!(cache.find("select 1e3 + a from t", &[], 1).is_none());
        assert!(cache.find("select 2.25 + a from t", &[], 1).is_some());
    }

    #[test]
    fn comments_do_not_hide_what_follows_a_carriage_return() {
        let cache = TemplateCache::new(10);
        insert(&cache, "delete from t", &[], "all rows");
        assert!(cache.find("delete from t -- c\r where a = 1", &[], 1).is_none());
    }

    #[test]
    fn kept_literals_tell_statements_apart() {
        let cache = TemplateCache::new(10);
        insert(&cache, "select a, b from t order by 1", &[], "first");
        insert(&cache, "select a, b from t order by 2", &[], "second");
        assert_eq!(*cache.find("select a, b from t order by 1", &[], 1).unwrap().0, "first");
        assert_eq!(*cache.find("select a, b from t order by 2", &[], 1).unwrap().0, "second");
    }

    #[test]
    fn the_least_recently_used_goes() {
        let cache = TemplateCache::new(2);
        insert(&cache, "select a from t", &[], "a");
        insert(&cache, "select b from t", &[], "b");
        assert!(cache.find("select a from t", &[], 1).is_some());
        insert(&cache, "select c from t", &[], "c");
        assert_eq!(cache.len(), 2);
        assert!(cache.find("select b from t", &[], 1).is_none());
        assert!(cache.find("select a from t", &[], 1).is_some());
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
        cache.insert(&lifted, &[], 1, &[], Arc::new("new"), third);
        assert_eq!(cache.len(), 16 - 2 - 2 + 1);
        assert!(cache.find("select c3 from t", &[], 1).is_none());
        assert!(cache.find("select c4 from t", &[], 1).is_some());
        assert!(cache.find("select d from t", &[], 1).is_some());
        let lifted = lift("select e from t", parse("select e from t").unwrap().remove(0));
        cache.insert(&lifted, &[], 1, &[], Arc::new("too large"), |_| false);
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
        assert!(cache.find(&text, &[], 1).is_none());
    }
}
