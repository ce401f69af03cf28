//! A small Star Schema Benchmark: its tables with the columns that its 13 queries read, and these as template plans.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array};
use engine::plan::{Aggregate, AggregateFunction, PlanNode, TemplatePlan};
use engine::storage::{CHUNK_ROWS, Load, Store, Table};
use engine::types::{
    Arithmetic, ArithmeticOperator, ArithmeticStep, Comparison, DataType, Expression, Predicate,
    Result, RowBlock, Scalar, TableId, Value, Version,
};

use crate::bookstore::{
    ascending, column, compare, descending, equals, index, join, scan, sort, table, template,
};

/// The fact table.
pub const LINEORDER: TableId = TableId(101);
const DATE: TableId = TableId(102);
/// A large dimension.
pub const CUSTOMER: TableId = TableId(103);
/// A dimension.
pub const SUPPLIER: TableId = TableId(104);
const PART: TableId = TableId(105);

const FACT_COLUMNS: usize = 10;
const YEARS: i32 = 7;
const INTEGER: DataType = DataType::Integer;
const TEXT: DataType = DataType::Varchar(15);

/// Numbers that a seed repeats.
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// A number below `end`.
    pub fn below(&mut self, end: i32) -> i32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as i32
    }
}

fn text(value: String) -> Value {
    Value::Text(value.into())
}

fn region(number: i32) -> Value {
    text(format!("REGION{number}"))
}

fn nation(number: i32) -> Value {
    text(format!("NATION{number:02}"))
}

fn city(number: i32) -> Value {
    text(format!("NATION{:02} {}", number / 10, number % 10))
}

fn category(number: i32) -> Value {
    text(format!("MFGR#{}{}", number / 5 + 1, number % 5 + 1))
}

fn brand(number: i32) -> Value {
    text(format!("MFGR#{}{}{:02}", number / 200 + 1, number / 40 % 5 + 1, number % 40))
}

fn datekey(day: i32) -> i32 {
    let (year, rest) = (day / 360, day % 360);
    (1992 + year) * 10_000 + (rest / 30 + 1) * 100 + rest % 30 + 1
}

/// Rows in bulk, as COPY brings them.
fn load(table: &Arc<Table>, rows: &[Vec<Value>], version: Version) {
    let mut load = Load::new(table);
    for rows in rows.chunks(CHUNK_ROWS) {
        load.append(&RowBlock::from_rows(&table.schema(), rows));
    }
    assert!(load.sort(1).is_none(), "keys differ");
    load.attach(version);
}

/// Fills the tables for `facts` rows of lineorder.
pub fn fill(store: &Arc<Store>, facts: i32) {
    let (customers, suppliers, parts) = (facts / 200 + 30, facts / 3000 + 20, facts / 30 + 200);
    let version = store.published().next();
    let mut numbers = Numbers(7);
    let int = Value::Integer;
    let create = |id: TableId, name: &str, columns: &[(&str, DataType)]| {
        let columns = columns.iter().map(|(name, t)| column(name, *t, true)).collect();
        let keys = match id {
            LINEORDER => Vec::new(),
            _ => vec![index(id.0 * 10, &format!("{name}_pkey"), &[0], true, true)],
        };
        store.create_table(table(id, name, columns, keys))
    };
    let date = create(
        DATE,
        "date",
        &[
            ("d_datekey", INTEGER),
            ("d_year", INTEGER),
            ("d_yearmonthnum", INTEGER),
            ("d_week", INTEGER),
        ],
    );
    let days: Vec<_> = (0..YEARS * 360)
        .map(|day| {
            let key = datekey(day);
            vec![int(key), int(key / 10_000), int(key / 100), int(day % 360 / 7 + 1)]
        })
        .collect();
    load(&date, &days, version);
    for (id, name, rows) in [(CUSTOMER, "customer", customers), (SUPPLIER, "supplier", suppliers)] {
        let columns = [("key", INTEGER), ("city", TEXT), ("nation", TEXT), ("region", TEXT)];
        let created = create(id, name, &columns);
        let row = |key: i32| {
            let place = numbers.below(250);
            vec![int(key), city(place), nation(place / 10), region(place / 50)]
        };
        load(&created, &(1..=rows).map(row).collect::<Vec<_>>(), version);
    }
    let columns = [("key", INTEGER), ("mfgr", TEXT), ("category", TEXT), ("brand", TEXT)];
    let part = create(PART, "part", &columns);
    let row = |key: i32| {
        let number = numbers.below(1000);
        vec![
            int(key),
            text(format!("MFGR#{}", number / 200 + 1)),
            category(number / 40),
            brand(number),
        ]
    };
    load(&part, &(1..=parts).map(row).collect::<Vec<_>>(), version);
    let names = [
        "orderkey",
        "custkey",
        "partkey",
        "suppkey",
        "orderdate",
        "quantity",
        "extendedprice",
        "discount",
        "revenue",
        "supplycost",
    ];
    let lineorder = create(LINEORDER, "lineorder", &names.map(|name| (name, INTEGER)));
    let mut fact = |key: i32| {
        let (quantity, price, discount) =
            (numbers.below(50) + 1, numbers.below(90_000) + 10_000, numbers.below(11));
        [
            key,
            numbers.below(customers) + 1,
            numbers.below(parts) + 1,
            numbers.below(suppliers) + 1,
            datekey(numbers.below(YEARS * 360)),
            quantity,
            price,
            discount,
            price / 100 * (100 - discount),
            price / 10 * 6,
        ]
        .map(int)
    };
    for first in (0..facts).step_by(CHUNK_ROWS) {
        let rows = (first..(first + CHUNK_ROWS as i32).min(facts)).map(|key| fact(key).to_vec());
        load(&lineorder, &rows.collect::<Vec<_>>(), version);
    }
    store.publish(version);
}

/// `a * b` or `a - b` of two integer columns.
#[derive(Debug)]
struct OfTwo {
    columns: [usize; 2],
    product: bool,
    text: String,
    arithmetic: Arithmetic,
}

impl OfTwo {
    fn expression(columns: [usize; 2], product: bool, text: &str) -> Arc<dyn Expression> {
        let [left, right] = [0, 1].map(|position| Arithmetic::Column { position, scale: 0 });
        let operator = match product {
            true => ArithmeticOperator::Multiply,
            false => ArithmeticOperator::Subtract,
        };
        let step = ArithmeticStep { operator, left, right, limit: 1 << 31 };
        let arithmetic = Arithmetic::Step(Box::new(step));
        Arc::new(OfTwo { columns, product, text: text.to_owned(), arithmetic })
    }
}

impl Expression for OfTwo {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        INTEGER
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let values = |i: usize| columns[i].as_primitive::<Int32Type>().values().iter();
        let pairs = values(0).zip(values(1));
        let results: Vec<i32> = match self.product {
            true => pairs.map(|(a, b)| a * b).collect(),
            false => pairs.map(|(a, b)| a - b).collect(),
        };
        Ok(Arc::new(Int32Array::from(results)))
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn arithmetic(&self) -> Option<&Arithmetic> {
        Some(&self.arithmetic)
    }
}

fn sum(argument: Scalar) -> Aggregate {
    Aggregate {
        function: AggregateFunction::Sum,
        argument: Some(argument),
        distinct: false,
        filter: None,
        data_type: DataType::BigInt,
    }
}

fn revenue() -> Aggregate {
    sum(Scalar::Column(8))
}

fn discounted() -> Aggregate {
    sum(Scalar::Expression(OfTwo::expression([6, 7], true, "extendedprice * discount")))
}

fn profit() -> Aggregate {
    sum(Scalar::Expression(OfTwo::expression([8, 9], false, "revenue - supplycost")))
}

fn between(column: usize, parameter: usize) -> Vec<Predicate> {
    vec![
        compare(column, Comparison::GreaterOrEqual, parameter),
        compare(column, Comparison::LessOrEqual, parameter + 1),
    ]
}

fn either(column: usize, parameter: usize) -> Vec<Predicate> {
    let values = vec![Scalar::Parameter(parameter), Scalar::Parameter(parameter + 1)];
    vec![Predicate::In { column, values, negated: false }]
}

/// A dimension to join: its table, the fact table's column, and what is asked of its rows.
type Joined = (TableId, usize, Vec<Predicate>);

/// Joins, and groups by `keys`, which are (join, column).
fn grouped(
    fact: Vec<Predicate>,
    joins: Vec<Joined>,
    keys: &[(usize, usize)],
    aggregates: Vec<Aggregate>,
) -> PlanNode {
    let mut root = scan(LINEORDER, fact);
    for (table, outer, predicates) in joins {
        root = join(root, scan(table, predicates), &[(outer, 0)]);
    }
    let keys = keys.iter().map(|(join, column)| FACT_COLUMNS + join * 4 + column).collect();
    PlanNode::Aggregate { input: Box::new(root), keys, aggregates }
}

/// Groups by `keys`, which are (join, column), and sorts by the keys named, then maybe by the sum.
fn star(
    name: &str,
    fact: Vec<Predicate>,
    joins: Vec<Joined>,
    keys: &[(usize, usize)],
    aggregate: Aggregate,
    sum_last: bool,
    parameters: &[DataType],
) -> TemplatePlan {
    let mut root = grouped(fact, joins, keys, vec![aggregate]);
    let key_type = |column: usize| if column == 1 { INTEGER } else { TEXT };
    let mut output: Vec<(&str, DataType)> = Vec::new();
    for (_, column) in keys {
        output.push(("key", key_type(*column)));
    }
    output.push(("sum", DataType::BigInt));
    if !keys.is_empty() {
        let mut order: Vec<_> = (0..keys.len()).map(ascending).collect();
        if sum_last {
            order = vec![ascending(keys.len() - 1), descending(keys.len())];
            order.extend((0..keys.len() - 1).map(ascending));
        }
        root = sort(root, order, None);
    }
    template(root, &output, parameters, name)
}

/// The sum of an expression by year, over all rows: it is evaluated again and again while the pass goes on.
#[allow(dead_code, reason = "the benchmark includes this file and looks into no pass")]
pub fn yearly(argument: Arc<dyn Expression>) -> TemplatePlan {
    let name = argument.text().to_owned();
    let sum = sum(Scalar::Expression(argument));
    star(&name, vec![], vec![(DATE, 4, vec![])], &[(0, 1)], sum, false, &[])
}

/// Revenue by year of what was sold in quantities from `$1` to `$2`.
#[allow(dead_code, reason = "the benchmark includes this file and has enough templates")]
pub fn revenue_of_quantities() -> Query {
    let dates = vec![(DATE, 4, vec![])];
    let plan = star(
        "revenue of quantities",
        between(5, 0),
        dates,
        &[(0, 1)],
        revenue(),
        false,
        &[INTEGER; 2],
    );
    (plan, |n| {
        let least = n.below(40) + 1;
        [least, least + 10].map(Value::Integer).to_vec()
    })
}

/// Sums of so many columns by customer or by supplier, the ten largest, of what was sold in quantities from `$1`, in the
/// months `$2` to `$3`, made by `$4` or `$5`: 7 to 30 per cent of the fact rows.
#[allow(dead_code, reason = "whoever needs large groups includes this file, too")]
pub fn sums_by(dimension: TableId, sums: usize) -> Query {
    let outer = if dimension == CUSTOMER { 1 } else { 3 };
    let aggregates = (0..sums).map(|i| sum(Scalar::Column(5 + i % 5))).collect();
    let fact = vec![compare(5, Comparison::GreaterOrEqual, 0)];
    let joins = vec![(dimension, outer, vec![]), (DATE, 4, between(2, 1)), (PART, 2, either(1, 3))];
    let root = grouped(fact, joins, &[(0, 0)], aggregates);
    let root = sort(root, vec![descending(1), ascending(0)], Some(10));
    let sums = std::iter::repeat_n(("sum", DataType::BigInt), sums);
    let output: Vec<_> = std::iter::once(("key", INTEGER)).chain(sums).collect();
    let name = format!("{} sums by {dimension}", output.len() - 1);
    (template(root, &output, &[INTEGER, INTEGER, INTEGER, TEXT, TEXT], &name), |n| {
        let (first, maker) = (n.below(3), n.below(5));
        let month =
            |n: &mut Numbers, year: i32| Value::Integer((1992 + year) * 100 + 1 + n.below(12));
        let made = |number: i32| text(format!("MFGR#{}", number % 5 + 1));
        vec![
            Value::Integer(n.below(20)),
            month(n, first),
            month(n, first + 3 + n.clone().below(2)),
            made(maker),
            made(maker + 1 + n.below(4)),
        ]
    })
}

/// The query's template and parameters for it.
pub type Query = (TemplatePlan, fn(&mut Numbers) -> Vec<Value>);

/// The 13 queries; dates are joined last, as the year is a key at the end.
pub fn queries() -> Vec<Query> {
    use DataType::Integer;
    let one = |key: (TableId, usize, Vec<Predicate>)| vec![key];
    let date = |predicates| (DATE, 4, predicates);
    let customer = |predicates| (CUSTOMER, 1, predicates);
    let supplier = |predicates| (SUPPLIER, 3, predicates);
    let part = |predicates| (PART, 2, predicates);
    let discount = |parameter| between(7, parameter);
    let int = [Integer; 6];
    let less = |parameter| vec![compare(5, Comparison::Less, parameter)];
    vec![
        (
            star(
                "Q1.1",
                [discount(1), less(3)].concat(),
                one(date(vec![equals(1, 0)])),
                &[],
                discounted(),
                false,
                &int[..4],
            ),
            |n| {
                let d = n.below(9);
                [1992 + n.below(YEARS), d, d + 2, 25].map(Value::Integer).to_vec()
            },
        ),
        (
            star(
                "Q1.2",
                [discount(1), between(5, 3)].concat(),
                one(date(vec![equals(2, 0)])),
                &[],
                discounted(),
                false,
                &int[..5],
            ),
            |n| {
                let (d, q) = (n.below(9), n.below(40));
                let month = (1992 + n.below(YEARS)) * 100 + 1 + n.below(12);
                [month, d, d + 2, q, q + 9].map(Value::Integer).to_vec()
            },
        ),
        (
            star(
                "Q1.3",
                [discount(1), between(5, 3)].concat(),
                one(date(vec![equals(3, 0), equals(1, 5)])),
                &[],
                discounted(),
                false,
                &int[..6],
            ),
            |n| {
                let (d, q) = (n.below(9), n.below(40));
                [1 + n.below(51), d, d + 2, q, q + 9, 1992 + n.below(YEARS)]
                    .map(Value::Integer)
                    .to_vec()
            },
        ),
        (
            star(
                "Q2.1",
                vec![],
                vec![part(vec![equals(2, 0)]), supplier(vec![equals(3, 1)]), date(vec![])],
                &[(2, 1), (0, 3)],
                revenue(),
                false,
                &[TEXT, TEXT],
            ),
            |n| vec![category(n.below(25)), region(n.below(5))],
        ),
        (
            star(
                "Q2.2",
                vec![],
                vec![part(between(3, 0)), supplier(vec![equals(3, 2)]), date(vec![])],
                &[(2, 1), (0, 3)],
                revenue(),
                false,
                &[TEXT, TEXT, TEXT],
            ),
            |n| {
                let b = n.below(25) * 40 + n.below(32);
                vec![brand(b), brand(b + 7), region(n.below(5))]
            },
        ),
        (
            star(
                "Q2.3",
                vec![],
                vec![part(vec![equals(3, 0)]), supplier(vec![equals(3, 1)]), date(vec![])],
                &[(2, 1), (0, 3)],
                revenue(),
                false,
                &[TEXT, TEXT],
            ),
            |n| vec![brand(n.below(1000)), region(n.below(5))],
        ),
        (
            star(
                "Q3.1",
                vec![],
                vec![
                    customer(vec![equals(3, 0)]),
                    supplier(vec![equals(3, 1)]),
                    date(between(1, 2)),
                ],
                &[(0, 2), (1, 2), (2, 1)],
                revenue(),
                true,
                &[TEXT, TEXT, Integer, Integer],
            ),
            |n| {
                vec![
                    region(n.below(5)),
                    region(n.below(5)),
                    Value::Integer(1992),
                    Value::Integer(1997),
                ]
            },
        ),
        (
            star(
                "Q3.2",
                vec![],
                vec![
                    customer(vec![equals(2, 0)]),
                    supplier(vec![equals(2, 1)]),
                    date(between(1, 2)),
                ],
                &[(0, 1), (1, 1), (2, 1)],
                revenue(),
                true,
                &[TEXT, TEXT, Integer, Integer],
            ),
            |n| {
                vec![
                    nation(n.below(25)),
                    nation(n.below(25)),
                    Value::Integer(1992),
                    Value::Integer(1997),
                ]
            },
        ),
        (
            star(
                "Q3.3",
                vec![],
                vec![customer(either(1, 0)), supplier(either(1, 2)), date(between(1, 4))],
                &[(0, 1), (1, 1), (2, 1)],
                revenue(),
                true,
                &[TEXT, TEXT, TEXT, TEXT, Integer, Integer],
            ),
            |n| {
                let cities = [(); 4].map(|()| city(n.below(250)));
                cities.into_iter().chain([Value::Integer(1992), Value::Integer(1997)]).collect()
            },
        ),
        (
            star(
                "Q3.4",
                vec![],
                vec![customer(either(1, 0)), supplier(either(1, 2)), date(vec![equals(2, 4)])],
                &[(0, 1), (1, 1), (2, 1)],
                revenue(),
                true,
                &[TEXT, TEXT, TEXT, TEXT, Integer],
            ),
            |n| {
                let cities = [(); 4].map(|()| city(n.below(250)));
                let month = (1992 + n.below(YEARS)) * 100 + 1 + n.below(12);
                cities.into_iter().chain([Value::Integer(month)]).collect()
            },
        ),
        (
            star(
                "Q4.1",
                vec![],
                vec![
                    customer(vec![equals(3, 0)]),
                    supplier(vec![equals(3, 1)]),
                    part(either(1, 2)),
                    date(vec![]),
                ],
                &[(3, 1), (0, 2)],
                profit(),
                false,
                &[TEXT; 4],
            ),
            |n| {
                vec![
                    region(n.below(5)),
                    region(n.below(5)),
                    text("MFGR#1".into()),
                    text("MFGR#2".into()),
                ]
            },
        ),
        (
            star(
                "Q4.2",
                vec![],
                vec![
                    customer(vec![equals(3, 0)]),
                    supplier(vec![equals(3, 1)]),
                    part(either(1, 2)),
                    date(either(1, 4)),
                ],
                &[(3, 1), (1, 2), (2, 2)],
                profit(),
                false,
                &[TEXT, TEXT, TEXT, TEXT, Integer, Integer],
            ),
            |n| {
                vec![
                    region(n.below(5)),
                    region(n.below(5)),
                    text("MFGR#1".into()),
                    text("MFGR#2".into()),
                    Value::Integer(1997),
                    Value::Integer(1998),
                ]
            },
        ),
        (
            star(
                "Q4.3",
                vec![],
                vec![
                    customer(vec![equals(3, 0)]),
                    supplier(vec![equals(2, 1)]),
                    part(vec![equals(2, 2)]),
                    date(either(1, 3)),
                ],
                &[(3, 1), (1, 1), (2, 3)],
                profit(),
                false,
                &[TEXT, TEXT, TEXT, Integer, Integer],
            ),
            |n| {
                vec![
                    region(n.below(5)),
                    nation(n.below(25)),
                    category(n.below(25)),
                    Value::Integer(1997),
                    Value::Integer(1998),
                ]
            },
        ),
    ]
}
