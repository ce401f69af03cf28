//! Which plans still hold when a definition has changed: those that read nothing of what has changed since they were made.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::types::{TableId, TableSchema};

use super::{Catalog, Sources};
use crate::rights::{Object, Rights};

/// Relations of which it is known when they changed, at most: with more, everything counts as changed.
const LIMIT: usize = 10_000;

/// What has changed from one catalog to the next, and when.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// All that plans depend on, whatever they read, changed at this version: roles, schemas, sequences.
    everything: u64,
    /// Since then, these relations, by name: defined, defined anew, or dropped.
    relations: HashMap<String, u64>,
}

impl Changes {
    /// Everything is new at `version`.
    pub fn all(version: u64) -> Changes {
        Changes { everything: version, relations: HashMap::new() }
    }

    /// What `now` has of other than `before`, and what `before` had already.
    pub fn between(before: &Catalog, now: &Catalog) -> Changes {
        let names = changed_relations(before, now);
        let known = &before.changes.relations;
        let is_much = known.len() + names.len() > LIMIT;
        if is_much || !stay_the_same(before, now) {
            return Changes::all(now.version);
        }
        let mut relations = known.clone();
        relations.extend(names.into_iter().map(|name| (name.to_owned(), now.version)));
        Changes { everything: before.changes.everything, relations }
    }

    /// When everything changed last.
    pub fn everything(&self) -> u64 {
        self.everything
    }

    /// Whether a plan made at `version` that reads `sources` still holds.
    pub fn leave(&self, version: u64, sources: &Sources) -> bool {
        let is_older = |name: &str| self.relations.get(name).is_none_or(|at| *at <= version);
        match sources {
            Sources::Everything => false,
            Sources::Relations(names) => {
                version >= self.everything && names.iter().all(|name| is_older(name))
            }
        }
    }
}

/// Whether what no plan names is as it was: roles, what was said of schemas and the database, and sequences that there still are:
/// tables' defaults use them without naming them.
fn stay_the_same(before: &Catalog, now: &Catalog) -> bool {
    let stays = |(name, new)| before.sequences.get(name).is_none_or(|old| old == new);
    before.rights.agrees_on_roles(&now.rights) && now.sequences.iter().all(stays)
}

/// The names of tables, views and sequences of which something differs.
fn changed_relations<'a>(before: &'a Catalog, now: &'a Catalog) -> BTreeSet<&'a str> {
    let tables = differing(&before.tables, &now.tables, Arc::ptr_eq);
    let views = differing(&before.views, &now.views, |old, new| old == new);
    let sequences = differing(&before.sequences, &now.sequences, |old, new| old == new);
    let mut names: BTreeSet<&str> = tables.into_iter().chain(views).chain(sequences).collect();
    names.extend(said_differently(&before.rights, &now.rights));
    let children = children(before, &names).chain(children(now, &names));
    let children: Vec<&str> = children.collect();
    add_parents(before, now, &mut names);
    names.extend(children);
    names
}

/// The names under which two maps do not have the same.
fn differing<'a, T>(
    before: &'a HashMap<String, T>,
    now: &'a HashMap<String, T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<&'a str> {
    let stays =
        |(name, new): &(&String, &T)| before.get(*name).is_some_and(|old| is_same(old, new));
    let come = now.iter().filter(|entry| !stays(entry)).map(|(name, _)| name.as_str());
    let gone = before.keys().filter(|name| !now.contains_key(*name)).map(String::as_str);
    come.chain(gone).collect()
}

/// Relations whose owner or lists differ.
fn said_differently<'a>(before: &'a Rights, now: &'a Rights) -> Vec<&'a str> {
    let name = |object: &'a Object| match object {
        Object::Relation(name) => Some(name.as_str()),
        Object::Schema(_) | Object::Database => None,
    };
    let come = now.objects().filter(|(object, access)| before.said(object) != Some(access));
    let gone = before.objects().filter(|(object, _)| now.said(object).is_none());
    come.chain(gone).filter_map(|(object, _)| name(object)).collect()
}

/// Adds the tables that changed tables refer to, or referred to, and so on: what deletes or updates those looks at the others.
fn add_parents<'a>(before: &'a Catalog, now: &'a Catalog, names: &mut BTreeSet<&'a str>) {
    let mut waiting: Vec<&str> = names.iter().copied().collect();
    while let Some(name) = waiting.pop() {
        let schemas = [before, now].map(|catalog| (catalog, catalog.tables.get(name)));
        for (catalog, schema) in schemas {
            let parents = schema.into_iter().flat_map(|schema| parents(catalog, schema));
            waiting.extend(parents.filter(|parent| names.insert(parent)));
        }
    }
}

/// The tables that refer to one of these: what inserts into them looks there.
fn children<'a>(
    catalog: &'a Catalog,
    names: &BTreeSet<&str>,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let ids = names.iter().filter_map(|name| Some(catalog.tables.get(*name)?.id));
    let ids: BTreeSet<TableId> = ids.collect();
    let refers = move |table: &&'a Arc<TableSchema>| {
        table.foreign_keys.iter().any(|key| ids.contains(&key.parent))
    };
    catalog.tables.values().filter(refers).map(|table| &*table.name)
}

fn parents<'a>(catalog: &'a Catalog, table: &'a TableSchema) -> impl Iterator<Item = &'a str> {
    let parents = table.foreign_keys.iter();
    parents.filter_map(|key| catalog.table_by_id(key.parent)).map(|parent| &*parent.name)
}
