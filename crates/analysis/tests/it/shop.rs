//! A catalog of two tables, for tests that ask nobody else.

use std::sync::Arc;

use analysis::Catalog;
use analysis::catalog::{Generated, Missing, Relation, RelationColumn, RelationKind, UniqueIndex};
use analysis::facts::{Oid, TypeRow};

const INT4: Oid = 23;
const INT8: Oid = 20;
const TEXT: Oid = 25;
const NUMERIC: Oid = 1700;
const DATE: Oid = 1082;
const INT4_ARRAY: Oid = 1007;
const DEFAULT_COLLATION: Oid = 100;
/// The modifier of numeric(10,2).
const TEN_AND_TWO: i32 = ((10 << 16) | 2) + 4;

/// `item (id int primary key, title text, price numeric(10,2), tags int[])` and `sale (id bigint, item int, day date)`.
pub struct Shop(Vec<Arc<Relation>>);

impl Shop {
    pub fn new() -> Shop {
        let id = column("id", INT4, -1);
        let item = relation(
            16_384,
            "item",
            vec![
                RelationColumn { is_not_null: true, ..id },
                column("title", TEXT, -1),
                column("price", NUMERIC, TEN_AND_TWO),
                column("tags", INT4_ARRAY, -1),
            ],
        );
        let key = UniqueIndex {
            constraint: Some("item_pkey".into()),
            columns: vec![1],
            is_partial: false,
        };
        let item = Relation { primary_key: vec![1], unique_indexes: vec![key], ..item };
        let sale = relation(
            16_385,
            "sale",
            vec![column("id", INT8, -1), column("item", INT4, -1), column("day", DATE, -1)],
        );
        Shop(vec![Arc::new(item), Arc::new(sale)])
    }
}

fn column(name: &str, type_oid: Oid, typmod: i32) -> RelationColumn {
    let collation = if type_oid == TEXT { DEFAULT_COLLATION } else { 0 };
    RelationColumn {
        name: name.into(),
        type_oid,
        typmod,
        collation,
        is_not_null: false,
        generated: Generated::No,
    }
}

fn relation(oid: Oid, name: &str, columns: Vec<RelationColumn>) -> Relation {
    Relation {
        oid,
        name: name.into(),
        kind: RelationKind::Table,
        row_type: 0,
        columns: columns.into_iter().map(Some).collect(),
        primary_key: Vec::new(),
        unique_indexes: Vec::new(),
    }
}

impl Catalog for Shop {
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Arc<Relation>, Missing> {
        let found = self.0.iter().find(|relation| &*relation.name == name);
        found
            .filter(|_| schema.is_none_or(|schema| schema == "public"))
            .cloned()
            .ok_or(Missing::Relation)
    }

    fn relation_by_oid(&self, oid: Oid) -> Option<Arc<Relation>> {
        self.0.iter().find(|relation| relation.oid == oid).cloned()
    }

    fn type_named(&self, _: Option<&str>, _: &str) -> Option<&'static TypeRow> {
        None
    }

    fn type_row(&self, _: Oid) -> Option<&'static TypeRow> {
        None
    }

    fn has_label(&self, _: Oid, _: &str) -> bool {
        false
    }

    fn has_schema(&self, name: &str) -> bool {
        ["public", "pg_catalog"].contains(&name)
    }

    fn database(&self) -> &str {
        "shop"
    }
}
