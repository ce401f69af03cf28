//! What planning knows about tables: definitions and estimates, taken once per planning.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::known_parameters::KnownParameters;
use super::selectivity;
use crate::storage::{Store, TableStatistics};
use crate::types::{
    ColumnId, Error, IndexSchema, Predicate, Result, SqlState, TableId, TableSchema,
};

/// Estimates never go below this many rows: tables are often planned for while still empty.
const LEAST_ROWS: f64 = 100.0;

/// Distinct values assumed for a column without statistics, as PostgreSQL does.
const DEFAULT_DISTINCT: f64 = 200.0;

/// One table as planning sees it.
#[derive(Clone, Debug)]
pub struct PlannedTable {
    /// Its definition.
    pub schema: Arc<TableSchema>,
    /// Its estimates.
    pub statistics: Arc<TableStatistics>,
    /// Parameters of the statement being planned.
    pub parameters: Arc<KnownParameters>,
}

impl PlannedTable {
    /// Estimated rows.
    pub fn rows(&self) -> f64 {
        (self.statistics.rows as f64).max(LEAST_ROWS)
    }

    /// Estimated distinct values of a column.
    pub fn distinct(&self, column: usize) -> f64 {
        let known = self.statistics.columns.get(column).map_or(0.0, |c| c.distinct);
        match (self.is_unique(&[column]), known >= 1.0) {
            (true, _) => self.rows(),
            (false, true) => known.min(self.rows()),
            (false, false) => DEFAULT_DISTINCT.min(self.rows()),
        }
    }

    /// The share of its rows that predicates leave.
    pub fn share(&self, predicates: &[Predicate]) -> f64 {
        selectivity::alone(self, predicates)
    }

    /// Whether some unique index on non-NULL columns lies within `columns`: they then name one row.
    pub fn is_unique(&self, columns: &[usize]) -> bool {
        self.unique_keys().any(|key| key.columns.iter().all(|c| columns.contains(&c.index())))
    }

    /// Unique indexes whose columns are all NOT NULL.
    pub fn unique_keys(&self) -> impl Iterator<Item = &IndexSchema> {
        let not_null = |c: &ColumnId| self.schema.columns[c.index()].not_null;
        let indexes = self.schema.indexes.iter();
        indexes.filter(move |index| index.unique && index.columns.iter().all(not_null))
    }

    /// A column's name.
    pub fn column_name(&self, column: usize) -> &str {
        &self.schema.columns[column].name
    }
}

/// All tables, by id.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tables: BTreeMap<TableId, PlannedTable>,
}

impl Catalog {
    /// What is stored now.
    pub fn of(store: &Store) -> Catalog {
        let planned = |table: Arc<crate::storage::Table>| {
            let schema = table.schema();
            let (statistics, parameters) = (Arc::new(table.statistics()), Arc::default());
            (schema.id, PlannedTable { schema, statistics, parameters })
        };
        Catalog { tables: store.tables().into_iter().map(planned).collect() }
    }

    /// A catalog made by hand.
    pub fn new(tables: impl IntoIterator<Item = PlannedTable>) -> Catalog {
        Catalog { tables: tables.into_iter().map(|table| (table.schema.id, table)).collect() }
    }

    /// The same tables for a statement with these parameters.
    pub fn with_parameters(&self, parameters: KnownParameters) -> Catalog {
        let parameters = Arc::new(parameters);
        let table =
            |table: &PlannedTable| PlannedTable { parameters: parameters.clone(), ..table.clone() };
        Catalog { tables: self.tables.iter().map(|(id, t)| (*id, table(t))).collect() }
    }

    /// A table; 42P01 when it was dropped after the statement was analysed.
    pub fn table(&self, table: TableId) -> Result<&PlannedTable> {
        let missing = || Error::new(SqlState::UndefinedTable, "relation does not exist");
        self.tables.get(&table).ok_or_else(missing)
    }
}
