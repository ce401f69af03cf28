//! What writes need to know about tables, worked out once per change of a definition.

use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::TableMode;
use crate::storage::{Index, Store, Table};
use crate::types::{
    ColumnId, DataType, Error, ForeignKey, Result, RowCompiler, RowRules, SqlState, TableId,
    TableSchema, Value, ValueRef,
};

/// All tables.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    tables: HashMap<TableId, Arc<Relation>, RandomState>,
}

/// One table.
#[derive(Debug)]
pub(crate) struct Relation {
    pub table: Arc<Table>,
    pub schema: Arc<TableSchema>,
    /// By column id.
    pub types: Box<[DataType]>,
    pub indexes: Vec<Arc<Index>>,
    /// Its foreign keys.
    pub parents: Vec<Arc<Reference>>,
    /// Foreign keys of other tables (or itself) on it.
    pub children: Vec<Arc<Reference>>,
    /// Where its CHECK constraints are compiled, and what came of it.
    compiler: Arc<OnceLock<Arc<dyn RowCompiler>>>,
    rules: OnceLock<Arc<RowRules>>,
}

/// A foreign key and how to follow it.
#[derive(Debug)]
pub(crate) struct Reference {
    pub key: ForeignKey,
    pub child: TableId,
    /// The unique index behind the parent's columns.
    pub parent_index: Option<Arc<Index>>,
    /// The child's columns in the order of the parent's index.
    pub child_columns: Vec<ColumnId>,
    /// The parent's columns in the same order.
    pub parent_columns: Vec<ColumnId>,
}

impl Relations {
    /// As the store's definitions are now.
    pub fn of(store: &Store) -> Relations {
        Relations::among(store, store.tables(), |_| ())
    }

    /// As they will be when a table has taken the place of another one.
    pub fn replacing(store: &Store, old: TableId, new: &Arc<Table>) -> Relations {
        let id = new.schema().id;
        let mut tables = store.tables();
        tables.retain(|table| table.schema().id != old);
        tables.push(new.clone());
        Relations::among(store, tables, |schema| {
            schema.repoint_keys(old, id);
        })
    }

    fn among(
        store: &Store,
        tables: Vec<Arc<Table>>,
        change: impl Fn(&mut TableSchema),
    ) -> Relations {
        let references: Vec<Arc<Reference>> = tables
            .iter()
            .flat_map(|table| {
                let mut schema = TableSchema::clone(&table.schema());
                change(&mut schema);
                schema.foreign_keys.into_iter().map(move |key| (schema.id, key))
            })
            .map(|(child, key)| Arc::new(Reference::new(&tables, child, key)))
            .collect();
        let relations = tables.into_iter().map(|table| {
            let relation = Relation::new(table, &references, store.row_compiler());
            (relation.schema.id, Arc::new(relation))
        });
        Relations { tables: relations.collect() }
    }

    /// A table; 42P01 where it was dropped.
    pub fn get(&self, table: TableId) -> Result<&Arc<Relation>> {
        self.tables.get(&table).ok_or_else(|| {
            Error::new(SqlState::UndefinedTable, format!("table with id {table} does not exist"))
        })
    }
}

impl Relation {
    fn new(
        table: Arc<Table>,
        references: &[Arc<Reference>],
        compiler: Arc<OnceLock<Arc<dyn RowCompiler>>>,
    ) -> Relation {
        let (schema, indexes) = (table.schema(), table.indexes());
        let of = |wanted: &dyn Fn(&Reference) -> bool| {
            references.iter().filter(|r| wanted(r)).cloned().collect()
        };
        Relation {
            types: schema.columns.iter().map(|column| column.data_type).collect(),
            parents: of(&|reference| reference.child == schema.id),
            children: of(&|reference| reference.key.parent == schema.id),
            table,
            schema,
            indexes,
            compiler,
            rules: OnceLock::new(),
        }
    }

    /// The same rows by another definition, of which nobody has checked anything yet.
    pub fn redefined(&self, schema: &TableSchema) -> Relation {
        Relation {
            table: self.table.clone(),
            types: schema.columns.iter().map(|column| column.data_type).collect(),
            schema: Arc::new(schema.clone()),
            indexes: self.indexes.clone(),
            parents: Vec::new(),
            children: Vec::new(),
            compiler: Arc::default(),
            rules: OnceLock::new(),
        }
    }

    /// A value of another table's column as a column of this one keeps it.
    pub fn assigned(&self, value: &Value, column: ColumnId) -> Result<Value> {
        let data_type = self.types[column.index()];
        match self.compiler.get() {
            Some(compiler) if !value.borrow().is_of(data_type) => {
                compiler.assigned(value.clone(), data_type)
            }
            _ => Ok(value.clone()),
        }
    }

    /// What the table says of rows that change because others do: no statement's plan brings it.
    pub fn rules(&self) -> Result<Arc<RowRules>> {
        if let Some(rules) = self.rules.get() {
            return Ok(rules.clone());
        }
        let none = RowRules::default();
        let rules = match self.compiler.get() {
            Some(compiler) if !none.are_of(&self.schema) => compiler.rules(&self.schema)?,
            _ => none,
        };
        Ok(self.rules.get_or_init(|| Arc::new(rules)).clone())
    }

    /// What a change of its rows uses of tables, as statements take it.
    pub fn used_by_changes(&self) -> impl Iterator<Item = (TableId, TableMode)> {
        let parents = self.parents.iter().map(|reference| reference.key.parent);
        let children = self.children.iter().map(|reference| reference.child);
        let others = parents.chain(children).filter(|table| *table != self.schema.id);
        let others = others.map(|table| (table, TableMode::RowShare));
        std::iter::once((self.schema.id, TableMode::RowExclusive)).chain(others)
    }

    /// The names of some columns, as PostgreSQL lists them.
    pub fn column_names(&self, columns: &[ColumnId]) -> String {
        let names = columns.iter().map(|c| &*self.schema.columns[c.index()].name);
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Reference {
    /// A key in the order of the foreign key's columns, as faults show it, of one in the order of the parent's index.
    pub fn in_its_order<'k>(&self, key: &[ValueRef<'k>]) -> Vec<ValueRef<'k>> {
        let position = |column: &ColumnId| self.parent_columns.iter().position(|c| c == column);
        let columns = self.key.parent_columns.iter();
        columns.map(|column| key[position(column).expect("it has the same columns")]).collect()
    }

    pub fn new(tables: &[Arc<Table>], child: TableId, key: ForeignKey) -> Reference {
        let parent = tables.iter().find(|table| table.schema().id == key.parent);
        let indexes = parent.map(|table| table.indexes()).unwrap_or_default();
        let same_columns = |index: &&Arc<Index>| {
            let schema = index.schema();
            schema.unique
                && schema.columns.len() == key.parent_columns.len()
                && key.parent_columns.iter().all(|column| schema.columns.contains(column))
        };
        let parent_index = indexes.iter().find(same_columns).cloned();
        let parent_columns = match &parent_index {
            Some(index) => index.schema().columns.clone(),
            None => key.parent_columns.clone(),
        };
        let child_of = |parent: &ColumnId| {
            let position = key.parent_columns.iter().position(|column| column == parent);
            key.columns[position.expect("the index has the key's columns")]
        };
        let child_columns = parent_columns.iter().map(child_of).collect();
        Reference { key, child, parent_index, child_columns, parent_columns }
    }
}
