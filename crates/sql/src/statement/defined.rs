//! Which tables' definitions a statement changes, and how much that keeps LOCK TABLE away.

use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, CascadeOption, ColumnOption, CreateTable, ObjectName,
    ObjectType, Statement, TableConstraint,
};
use engine::transaction::TableMode;
use engine::types::TableId;

use super::naming::{split, table};
use crate::catalog::Catalog;

type Defined = Vec<(TableId, TableMode)>;

/// The tables, those of them that are there; PostgreSQL's modes, of which ALTER TABLE has only the strongest.
pub fn tables(catalog: &Catalog, statement: &Statement) -> Defined {
    let all = |names: &[ObjectName]| -> Defined {
        names.iter().flat_map(|name| named(catalog, name, TableMode::AccessExclusive)).collect()
    };
    match statement {
        Statement::AlterTable(alter) => altered(catalog, alter),
        Statement::CreateTable(create) => parents(catalog, create),
        Statement::CreateIndex(create) => {
            let concurrent = TableMode::ShareUpdateExclusive;
            let mode = if create.concurrently { concurrent } else { TableMode::Share };
            named(catalog, &create.table_name, mode)
        }
        Statement::AlterIndex { name, .. } => {
            indexed(catalog, name, TableMode::ShareUpdateExclusive)
        }
        Statement::Drop { object_type: ObjectType::Table, names, .. } => {
            with_children(catalog, all(names))
        }
        Statement::Drop { object_type: ObjectType::Index, names, .. } => {
            let of = |name| indexed(catalog, name, TableMode::AccessExclusive);
            names.iter().flat_map(of).collect()
        }
        Statement::Truncate(truncate) => {
            let names: Vec<_> = truncate.table_names.iter().map(|t| t.name.clone()).collect();
            match truncate.cascade {
                Some(CascadeOption::Cascade) => with_children(catalog, all(&names)),
                _ => all(&names),
            }
        }
        _ => Vec::new(),
    }
}

fn named(catalog: &Catalog, name: &ObjectName, mode: TableMode) -> Defined {
    table(catalog, name).map(|table| (table.id, mode)).into_iter().collect()
}

fn indexed(catalog: &Catalog, name: &ObjectName, mode: TableMode) -> Defined {
    let found = split(name).ok().and_then(|(_, name)| Some(catalog.index(&name)?.0));
    found.map(|table| (table, mode)).into_iter().collect()
}

/// A new foreign key keeps its parent's rows as they are.
fn parent(catalog: &Catalog, name: &ObjectName) -> Defined {
    named(catalog, name, TableMode::ShareRowExclusive)
}

fn of_constraint(catalog: &Catalog, constraint: &TableConstraint) -> Defined {
    match constraint {
        TableConstraint::ForeignKey(key) => parent(catalog, &key.foreign_table),
        _ => Vec::new(),
    }
}

fn of_option(catalog: &Catalog, option: &ColumnOption) -> Defined {
    match option {
        ColumnOption::ForeignKey(key) => parent(catalog, &key.foreign_table),
        _ => Vec::new(),
    }
}

fn altered(catalog: &Catalog, alter: &AlterTable) -> Defined {
    let mut all = named(catalog, &alter.name, TableMode::AccessExclusive);
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                all.extend(of_constraint(catalog, constraint));
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                let options = column_def.options.iter();
                all.extend(options.flat_map(|option| of_option(catalog, &option.option)));
            }
            _ => {}
        }
    }
    all
}

fn parents(catalog: &Catalog, create: &CreateTable) -> Defined {
    let of_columns = create.columns.iter().flat_map(|column| &column.options);
    let of_columns = of_columns.flat_map(|option| of_option(catalog, &option.option));
    let of_table = create.constraints.iter().flat_map(|one| of_constraint(catalog, one));
    of_columns.chain(of_table).collect()
}

/// The same with the tables that refer to them, step by step.
fn with_children(catalog: &Catalog, mut all: Defined) -> Defined {
    let mut place = 0;
    while let Some((parent, mode)) = all.get(place).copied() {
        for child in catalog.tables() {
            let refers = child.foreign_keys.iter().any(|key| key.parent == parent);
            if refers && all.iter().all(|(known, _)| *known != child.id) {
                all.push((child.id, mode));
            }
        }
        place += 1;
    }
    all
}
