//! Names in, tables, views, sequences and indexes out: what is defined at one moment.
//!
//! A [`Catalog`] is immutable; after each change of a definition the planner takes a new one, with a higher
//! version, which knows whose plans still hold ([`Catalog::holds`]): those that read nothing of what has changed. [`Names`] shows it to DataFusion. Called by `template`,
//! `statement` and `session`. Absent here: changing definitions (`statement`, the engine).

mod changes;
mod deferred;
mod found;
mod provider;
mod relation;
mod sources;
pub mod system;
pub mod types;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use engine::heartbeat::Engine;
use engine::types::{
    ColumnId, DataType, Definition, IndexId, IndexSchema, SequenceId, SequenceSchema, TableId,
    TableSchema,
};

pub use found::{FOUND_SCHEMA, FoundRelation};
pub use provider::Names;
pub use relation::{HIDDEN_SCHEMA, ROW_ID, ROW_VERSION, TableRelation, ViewRelation, pushdown};
pub use sources::{Sources, reads_catalog};
pub use view::ViewDefinition;

use changes::Changes;

use crate::rights::Rights;
use crate::session::{is_unseen_sequence, shown_sequence};

/// The entry of the engine's key-value catalog that holds all views.
pub const VIEWS_ENTRY: &str = "views";

/// What is defined at one moment.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Grows with every change.
    pub version: u64,
    tables: HashMap<String, Arc<TableSchema>>,
    by_id: HashMap<TableId, Arc<TableSchema>>,
    views: HashMap<String, Arc<ViewDefinition>>,
    sequences: HashMap<String, Arc<SequenceSchema>>,
    rights: Arc<Rights>,
    changes: Changes,
    engine: Option<Arc<Engine>>,
    /// What a statement's queries give that run before it; only the catalog that it is planned with has some.
    found: Vec<Arc<FoundRelation>>,
    /// Planned when somebody asks.
    view_columns: OnceLock<Vec<ViewColumns>>,
}

/// A view's columns with their types.
#[derive(Clone, Debug)]
pub struct ViewColumns {
    /// The view.
    pub name: String,
    /// Names and types.
    pub columns: Vec<(String, DataType)>,
}

impl Catalog {
    /// Reads the engine's definitions.
    pub fn read(engine: &Arc<Engine>, version: u64) -> Catalog {
        let store = engine.store();
        let tables = store.tables().into_iter().map(|table| table.schema());
        let tables = tables.filter(|table| &*table.schema == "public");
        let sequences = store.sequences().into_iter().map(|s| s.schema());
        let sequences = sequences.filter(|sequence| !is_unseen_sequence(&sequence.name));
        let views = engine.entry(VIEWS_ENTRY).map(|bytes| ViewDefinition::decode_all(&bytes));
        let mut catalog = Catalog::new(version, tables, sequences, views.unwrap_or_default());
        catalog.rights = Arc::new(read_rights(engine, &[]));
        catalog.engine = Some(engine.clone());
        catalog
    }

    /// Reads the engine's definitions after a change of what `before` had.
    pub fn read_after(before: &Catalog, engine: &Arc<Engine>, version: u64) -> Catalog {
        let mut catalog = Catalog::read(engine, version);
        catalog.changes = Changes::between(before, &catalog);
        catalog
    }

    /// Whether a plan that was made with the catalog of `version` and reads `sources` still holds.
    pub fn holds(&self, version: u64, sources: &Sources) -> bool {
        version == self.version || version < self.version && self.changes.leave(version, sources)
    }

    /// The version at which what every plan depends on changed last: roles and what they are members of, for one.
    pub fn since(&self) -> u64 {
        self.changes.everything()
    }

    /// What a block sees that has created tables in a schema of its own and waits to change others.
    pub fn read_in_block(
        engine: &Arc<Engine>,
        version: u64,
        own: &str,
        deferred: &[Definition],
    ) -> Catalog {
        let store = engine.store();
        let tables = store.tables().into_iter().map(|table| table.schema());
        let seen =
            tables.filter(|table| matches!(&*table.schema, "public") || *table.schema == *own);
        let mut tables: Vec<TableSchema> = seen
            .map(|table| TableSchema { schema: "public".into(), ..TableSchema::clone(&table) })
            .collect();
        let sequences = store.sequences().into_iter().map(|s| s.schema());
        let mut sequences: Vec<_> = sequences.map(|sequence| own_name(sequence, own)).collect();
        sequences.retain(|sequence| !is_unseen_sequence(&sequence.name));
        let mut views = engine.entry(VIEWS_ENTRY).map(|bytes| ViewDefinition::decode_all(&bytes));
        for definition in deferred {
            deferred::apply(definition, &mut tables, &mut sequences);
            if let Definition::PutEntry { key, value } = definition
                && key == VIEWS_ENTRY
            {
                views = value.as_ref().map(|bytes| ViewDefinition::decode_all(bytes));
            }
        }
        let tables = tables.into_iter().map(Arc::new);
        let mut catalog = Catalog::new(version, tables, sequences, views.unwrap_or_default());
        catalog.rights = Arc::new(read_rights(engine, deferred));
        catalog.engine = Some(engine.clone());
        catalog
    }

    /// A catalog of given definitions.
    pub fn new(
        version: u64,
        tables: impl IntoIterator<Item = Arc<TableSchema>>,
        sequences: impl IntoIterator<Item = Arc<SequenceSchema>>,
        views: Vec<ViewDefinition>,
    ) -> Catalog {
        let rights = Arc::new(Rights::read([]));
        let changes = Changes::all(version);
        let mut catalog = Catalog { version, rights, changes, ..Catalog::default() };
        for table in tables {
            catalog.by_id.insert(table.id, table.clone());
            catalog.tables.insert(table.name.to_string(), table);
        }
        for sequence in sequences {
            catalog.sequences.insert(sequence.name.to_string(), sequence);
        }
        for view in views {
            catalog.views.insert(view.name.clone(), Arc::new(view));
        }
        catalog
    }

    /// The same with what one more of a statement's queries gives that run before it.
    pub fn with_found(&self, relation: Arc<FoundRelation>) -> Catalog {
        let mut catalog = self.clone();
        catalog.found.push(relation);
        catalog
    }

    /// What such a query gives, by name.
    pub fn found(&self, name: &str) -> Option<&Arc<FoundRelation>> {
        self.found.iter().find(|relation| relation.name == name)
    }

    /// The engine whose definitions these are, where there is one.
    pub fn engine(&self) -> Option<&Arc<Engine>> {
        self.engine.as_ref()
    }

    /// Who may do what.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// A table of `public`, by name as stored.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Option<&Arc<TableSchema>> {
        schema.is_none_or(|schema| schema == "public").then(|| self.tables.get(name))?
    }

    /// A table by id.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableSchema>> {
        self.by_id.get(&id)
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<&Arc<TableSchema>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }

    /// A view by name.
    pub fn view(&self, name: &str) -> Option<&Arc<ViewDefinition>> {
        self.views.get(name)
    }

    /// All views, by name.
    pub fn views(&self) -> Vec<&Arc<ViewDefinition>> {
        let mut views: Vec<_> = self.views.values().collect();
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// The columns of all views; none before `learn_views`.
    pub fn view_columns(&self) -> &[ViewColumns] {
        self.view_columns.get().map_or(&[], Vec::as_slice)
    }

    /// Finds the columns of all views, if that was not done before; views that do not plan have none.
    pub fn learn_views(&self, plan: impl Fn(&ViewDefinition) -> Option<Vec<(String, DataType)>>) {
        self.view_columns.get_or_init(|| {
            let known = self.views().into_iter().filter_map(|view| {
                Some(ViewColumns { name: view.name.clone(), columns: plan(view)? })
            });
            known.collect()
        });
    }

    /// A sequence by id.
    pub fn sequence_by_id(&self, id: SequenceId) -> Option<&Arc<SequenceSchema>> {
        self.sequences.values().find(|sequence| sequence.id == id)
    }

    /// A sequence by name.
    pub fn sequence(&self, name: &str) -> Option<&Arc<SequenceSchema>> {
        self.sequences.get(name)
    }

    /// All sequences, by name.
    pub fn sequences(&self) -> Vec<&Arc<SequenceSchema>> {
        let mut sequences: Vec<_> = self.sequences.values().collect();
        sequences.sort_by(|a, b| a.name.cmp(&b.name));
        sequences
    }

    /// An index by name, and its table.
    pub fn index(&self, name: &str) -> Option<(TableId, &IndexSchema)> {
        self.tables.values().find_map(|table| {
            let index = table.indexes.iter().find(|index| &*index.name == name)?;
            Some((table.id, index))
        })
    }

    /// Whether a relation of any kind has that name.
    pub fn has_relation(&self, name: &str) -> bool {
        self.tables.contains_key(name)
            || self.views.contains_key(name)
            || self.sequences.contains_key(name)
            || self.index(name).is_some()
    }

    /// An id that no table here has; the smallest above all.
    pub fn next_table_id(&self) -> TableId {
        TableId(self.by_id.keys().map(|id| id.0 + 1).max().unwrap_or(1))
    }

    /// An id that no index here has.
    pub fn next_index_id(&self) -> IndexId {
        let indexes = self.tables.values().flat_map(|table| &table.indexes);
        IndexId(indexes.map(|index| index.id.0 + 1).max().unwrap_or(1))
    }

    /// An id that no sequence here has.
    pub fn next_sequence_id(&self) -> SequenceId {
        SequenceId(self.sequences.values().map(|s| s.id.0 + 1).max().unwrap_or(1))
    }
}

/// A sequence as the block with that schema calls it.
fn own_name(sequence: Arc<SequenceSchema>, schema: &str) -> Arc<SequenceSchema> {
    match shown_sequence(schema, &sequence.name) {
        Some(name) => Arc::new(SequenceSchema { name: name.into(), ..(*sequence).clone() }),
        None => sequence,
    }
}

/// What the engine keeps of rights, and what a block has changed of it.
fn read_rights(engine: &Engine, deferred: &[Definition]) -> Rights {
    let stored = engine.entries("role/").into_iter().chain(engine.entries("rights/"));
    let stored: Vec<_> = stored.collect();
    let own = deferred.iter().filter_map(|definition| match definition {
        Definition::PutEntry { key, value } if Rights::concerns(key) => {
            Some((key.as_str(), value.as_deref()))
        }
        _ => None,
    });
    Rights::read(stored.iter().map(|(key, value)| (key.as_str(), Some(&value[..]))).chain(own))
}

/// A column's number as clients count: from 1.
pub fn column_number(column: ColumnId) -> i16 {
    i16::try_from(column.0 + 1).unwrap_or(i16::MAX)
}

/// Ids of relations as clients see them: tables, indexes, sequences and views never share one.
const FIRST_OID: u32 = 16_384;

/// A table's id in `pg_class`.
pub fn table_oid(table: TableId) -> u32 {
    FIRST_OID + table.0 * 4
}

/// An index's id in `pg_class`.
pub fn index_oid(index: IndexId) -> u32 {
    FIRST_OID + index.0 * 4 + 1
}

/// A sequence's id in `pg_class`.
pub fn sequence_oid(sequence: SequenceId) -> u32 {
    FIRST_OID + sequence.0 * 4 + 2
}
