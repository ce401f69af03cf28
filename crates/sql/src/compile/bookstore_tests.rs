//! Every query of the bookstore compiles for the global plan.

use std::sync::Arc;

use engine::plan::PlanNode;
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, IndexId, IndexKind, IndexSchema, Predicate,
    Scalar, TableId, TableSchema, Value,
};

use super::{Compiled, compile};
use crate::catalog::Catalog;
use crate::template::{Parameters, Planning, lift, parse};
use datafusion::sql::sqlparser::ast::Statement;

fn data_type(name: &str) -> DataType {
    match name {
        "int" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "date" => DataType::Date,
        "timestamp" => DataType::Timestamp,
        "double" => DataType::Double,
        "numeric" => DataType::Numeric { precision: 15, scale: 2 },
        _ => DataType::Varchar(100),
    }
}

fn table(id: u32, name: &str, columns: &str) -> Arc<TableSchema> {
    let columns = columns.split(' ').map(|column| {
        let (name, kind) = column.split_once(':').unwrap_or((column, "int"));
        ColumnSchema {
            name: name.into(),
            data_type: data_type(kind),
            not_null: false,
            default: ColumnDefault::None,
            dropped: false,
            missing: Value::Null,
        }
    });
    let key = IndexSchema {
        id: IndexId(id),
        name: format!("{name}_pkey").into(),
        columns: vec![ColumnId(0)],
        kind: IndexKind::Ordered,
        unique: true,
        primary: true,
        constraint: true,
    };
    let mut columns: Vec<ColumnSchema> = columns.collect();
    columns[0].not_null = true;
    Arc::new(TableSchema {
        id: TableId(id),
        schema: "public".into(),
        name: name.into(),
        columns,
        indexes: vec![key],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    })
}

/// The bookstore's tables, with the columns that its queries name.
pub fn catalog() -> Arc<Catalog> {
    let tables = [
        ("country", "co_id co_name:text co_exchange:double co_currency:text"),
        (
            "address",
            "addr_id addr_street1:text addr_street2:text addr_city:text addr_state:text addr_zip:text addr_co_id",
        ),
        (
            "customer",
            "c_id c_uname:text c_passwd:text c_fname:text c_lname:text c_addr_id c_discount:double c_since:date c_login:timestamp",
        ),
        ("author", "a_id a_fname:text a_lname:text a_dob:date"),
        (
            "item",
            "i_id i_title:text i_a_id i_pub_date:date i_subject:text i_related1 i_related2 i_related3 i_related4 i_related5 i_thumbnail:text i_srp:double i_cost:numeric i_stock",
        ),
        (
            "orders",
            "o_id o_c_id o_date:timestamp o_total:double o_bill_addr_id o_ship_addr_id o_status:text",
        ),
        ("order_line", "ol_id ol_o_id ol_i_id ol_qty ol_discount:double"),
        ("cc_xacts", "cx_o_id cx_type:text cx_num:text cx_co_id"),
        ("shopping_cart", "sc_id sc_time:timestamp"),
        ("shopping_cart_line", "scl_sc_id scl_i_id scl_qty"),
    ];
    let tables = tables.iter().enumerate().map(|(i, (n, c))| table(i as u32 + 1, n, c));
    Arc::new(Catalog::new(1, tables, [], Vec::new()))
}

fn compiled(text: &str) -> Compiled {
    let planning = Planning::new(1 << 30);
    try_compile(&planning, text).unwrap_or_else(|reason| panic!("{text}\n{reason}"))
}

fn try_compile(planning: &Planning, text: &str) -> Result<Compiled, String> {
    let lifted = lift(text, parse(text).unwrap().remove(0));
    let Statement::Query(query) = &lifted.statement else { panic!("a query") };
    let mut parameters = Parameters::new(&lifted, &[]);
    let plan = planning.plan(&catalog(), query, &mut parameters).map_err(|e| e.to_string())?;
    let optimized = planning.optimize(&plan).map_err(|e| e.to_string())?;
    compile(&optimized, &parameters.types()).map_err(|e| format!("{e}\n{optimized}"))
}

const QUERIES: &[&str] = &[
    "SELECT j.i_id, j.i_thumbnail FROM item i, item j WHERE i.i_id = $1 AND j.i_id IN (i.i_related1, i.i_related2, i.i_related3, i.i_related4, i.i_related5)",
    "SELECT c_fname, c_lname FROM customer WHERE c_id = $1",
    "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id WHERE i_subject = $1 ORDER BY i_pub_date DESC, i_title LIMIT 50",
    "SELECT i_id, i_title, a_fname, a_lname, SUM(ol_qty) v FROM order_line JOIN item ON ol_i_id = i_id JOIN author ON i_a_id = a_id WHERE ol_o_id > (SELECT MAX(o_id) - 3333 FROM orders) AND i_subject = $1 GROUP BY i_id, i_title, a_fname, a_lname ORDER BY v DESC LIMIT 50",
    "SELECT * FROM item JOIN author ON i_a_id = a_id WHERE i_id = $1",
    "SELECT * FROM item, author WHERE i_a_id = a_id AND i_subject = $1 ORDER BY i_title LIMIT 50",
    "SELECT * FROM item, author WHERE i_a_id = a_id AND i_title LIKE $1 ORDER BY i_title LIMIT 50",
    "SELECT * FROM item, author WHERE i_a_id = a_id AND a_lname LIKE '%' || $1 || '%' ORDER BY i_title LIMIT 50",
    "SELECT scl_qty FROM shopping_cart_line WHERE scl_sc_id = $1 AND scl_i_id = $2",
    "SELECT COUNT(*) FROM shopping_cart_line WHERE scl_sc_id = $1",
    "SELECT i_related1 FROM item WHERE i_id = 7",
    "SELECT * FROM shopping_cart_line JOIN item ON scl_i_id = i_id WHERE scl_sc_id = $1",
    "SELECT c_uname FROM customer WHERE c_id = $1",
    "SELECT * FROM customer, address, country WHERE c_addr_id = addr_id AND addr_co_id = co_id AND c_uname = $1",
    "SELECT co_id FROM country WHERE co_name = $1",
    "SELECT addr_id FROM address WHERE addr_street1 = $1 AND addr_street2 = $2 AND addr_city = $3 AND addr_state = $4 AND addr_zip = $5 AND addr_co_id = $6",
    "SELECT MAX(addr_id) FROM address",
    "SELECT MAX(c_id) FROM customer",
    "SELECT c_discount FROM customer WHERE c_id = $1",
    "SELECT c_addr_id FROM customer WHERE c_id = $1",
    "SELECT i_stock FROM item WHERE i_id = $1",
    "SELECT co_id FROM address, country WHERE addr_id = $1 AND addr_co_id = co_id",
    "SELECT c_passwd FROM customer WHERE c_uname = $1",
    "SELECT o_id FROM customer, orders WHERE c_id = o_c_id AND c_uname = $1 ORDER BY o_date DESC, o_id DESC LIMIT 1",
    "SELECT o.*, c.*, cx.*, ship.addr_street1, bill.addr_street1, ship_co.co_name, bill_co.co_name FROM orders o, customer c, cc_xacts cx, address ship, address bill, country ship_co, country bill_co WHERE o.o_id = $1 AND cx.cx_o_id = o.o_id AND c.c_id = o.o_c_id AND o.o_ship_addr_id = ship.addr_id AND o.o_bill_addr_id = bill.addr_id AND ship.addr_co_id = ship_co.co_id AND bill.addr_co_id = bill_co.co_id",
    "SELECT * FROM order_line JOIN item ON ol_i_id = i_id WHERE ol_o_id = $1",
    "SELECT ol_i_id FROM orders JOIN order_line ON o_id = ol_o_id WHERE ol_i_id <> $1 AND o_c_id IN (SELECT o_c_id FROM orders JOIN order_line ON o_id = ol_o_id WHERE o_id > (SELECT MAX(o_id) - 10000 FROM orders) AND ol_i_id = $2) GROUP BY ol_i_id ORDER BY SUM(ol_qty) DESC LIMIT 5",
];

#[test]
fn every_query_of_the_bookstore_compiles() {
    let planning = Planning::new(1 << 30);
    let failed: Vec<String> = QUERIES
        .iter()
        .filter_map(|text| try_compile(&planning, text).err().map(|e| format!("{text}\n  {e}")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

fn scans<'a>(node: &'a PlanNode, out: &mut Vec<&'a PlanNode>) {
    match node {
        PlanNode::Scan { .. } => out.push(node),
        PlanNode::Filter { input, .. }
        | PlanNode::Project { input, .. }
        | PlanNode::Aggregate { input, .. }
        | PlanNode::Sort { input, .. }
        | PlanNode::Limit { input, .. }
        | PlanNode::Distinct { input } => scans(input, out),
        PlanNode::Join { left, right, .. } => {
            scans(left, out);
            scans(right, out);
        }
        PlanNode::Union { inputs } => inputs.iter().for_each(|input| scans(input, out)),
        PlanNode::Values { .. } => {}
    }
}

/// The predicates of all scans, native or not.
fn scan_predicates(compiled: &Compiled) -> Vec<Predicate> {
    let mut found = Vec::new();
    scans(&compiled.root, &mut found);
    let predicates = found.into_iter().flat_map(|scan| match scan {
        PlanNode::Scan { predicates, .. } => predicates.clone(),
        _ => Vec::new(),
    });
    predicates.collect()
}

#[test]
fn conditions_of_the_bookstore_are_native() {
    for text in QUERIES {
        let compiled = compiled(text);
        let opaque = scan_predicates(&compiled)
            .into_iter()
            .find(|predicate| matches!(predicate, Predicate::Expression(_)));
        assert!(opaque.is_none(), "{text}: {opaque:?}");
    }
}

#[test]
fn the_promotion_joins_by_membership() {
    fn membership(node: &PlanNode) -> bool {
        match node {
            PlanNode::Join { residual, keys, .. } => {
                let columns = |values: &[Scalar]| {
                    values.len() == 5 && values.iter().all(|v| matches!(v, Scalar::Column(_)))
                };
                keys.is_empty()
                    && residual.iter().any(|p| {
                        matches!(p, Predicate::In { values, negated: false, .. } if columns(values))
                    })
            }
            PlanNode::Project { input, .. } | PlanNode::Filter { input, .. } => membership(input),
            _ => false,
        }
    }
    let compiled = compiled(QUERIES[0]);
    assert!(membership(&compiled.root), "{:#?}", compiled.root);
}

#[test]
fn best_sellers_runs_its_subquery_first_and_sorts_with_a_cut() {
    let compiled = compiled(QUERIES[3]);
    assert_eq!(compiled.subqueries.len(), 1);
    // $1, the lifted 3333 and 50, then the subquery's value
    assert_eq!(compiled.parameters.len(), 4);
    assert_eq!(compiled.subqueries[0].parameter, 3);
    let top = match &compiled.root {
        PlanNode::Project { input, .. } => input,
        other => other,
    };
    assert!(
        matches!(top, PlanNode::Sort { fetch: Some(Scalar::Parameter(_)), .. }),
        "{:#?}",
        compiled.root
    );
}

#[test]
fn types_of_parameters_come_from_their_context() {
    let planning = Planning::new(1 << 30);
    let types = |text: &str| {
        let lifted = lift(text, parse(text).unwrap().remove(0));
        let Statement::Query(query) = &lifted.statement else { panic!("a query") };
        let mut parameters = Parameters::new(&lifted, &[]);
        planning.plan(&catalog(), query, &mut parameters).unwrap_or_else(|e| panic!("{text}: {e}"));
        parameters.types()
    };
    use DataType::*;
    assert_eq!(types("SELECT * FROM item LIMIT $1 OFFSET $2"), [BigInt, BigInt]);
    assert_eq!(types("SELECT * FROM item WHERE i_id IN ($1, $2)"), [Integer, Integer]);
    assert_eq!(types("SELECT $1 IS NULL"), [Text]);
    assert_eq!(types("SELECT $1 + 1"), [Integer, Integer]);
    assert_eq!(types("SELECT $1::text"), [Text]);
    assert_eq!(types("SELECT $1::int"), [Integer]);
    assert_eq!(
        types("SELECT CASE WHEN i_id = $1 THEN i_srp ELSE $2 END FROM item"),
        [Integer, Double]
    );
    assert_eq!(types("SELECT coalesce(i_pub_date, $1) FROM item"), [Date]);
    assert_eq!(types("SELECT i_pub_date + $1 FROM item"), [Integer]);
    assert_eq!(
        types("SELECT * FROM item WHERE i_pub_date > '2000-01-01' AND i_srp > 5"),
        [Date, Double]
    );
    assert_eq!(types("SELECT upper($1)"), [Text]);
    assert_eq!(
        types("SELECT * FROM item WHERE i_title LIKE $1 AND i_pub_date BETWEEN $2 AND $3"),
        [Text, Date, Date]
    );
}

#[test]
fn what_does_not_compile_says_why() {
    let planning = Planning::new(1 << 30);
    let reason = |text: &str| try_compile(&planning, text).unwrap_err();
    let window = "SELECT i_id, rank() OVER (ORDER BY i_srp) FROM item";
    assert!(reason(window).starts_with("window functions"), "{}", reason(window));
    let aggregate = "SELECT stddev(i_srp) FROM item";
    assert!(reason(aggregate).starts_with("the aggregate function stddev"));
}
