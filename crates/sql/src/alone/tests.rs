//! The shared path and the query-at-a-time path give the same answers over a small shop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use datafusion::sql::sqlparser::ast::Statement;
use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Packing, Sharing};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, Definition, IndexId, IndexKind, IndexSchema,
    Result, TableId, TableSchema, Value, Version,
};

use super::{Limits, Reading, collect};
use crate::template::{Parameters, Path, Planner, QueryTemplate, lift, parse};
use crate::waiting::HANG;

fn column(name: &str, data_type: DataType) -> ColumnSchema {
    ColumnSchema {
        name: name.into(),
        data_type,
        not_null: name == "id",
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    }
}

fn shop() -> Planner {
    shop_of(100, 1 << 30)
}

/// A shop of so many items, with so many bytes for intermediate results.
pub(super) fn shop_of(items: i32, memory_limit: usize) -> Planner {
    let options = EngineOptions {
        workers: 1,
        data: None,
        sharing: Sharing::Automatic,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 100,
        memory_limit,
    };
    let engine = Engine::open(options).unwrap();
    let schema = TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "item".into(),
        columns: vec![
            column("id", DataType::Integer),
            column("title", DataType::Varchar(20)),
            column("cost", DataType::Numeric { precision: 10, scale: 2 }),
            column("day", DataType::Date),
            column("weight", DataType::Double),
            column("stock", DataType::BigInt),
        ],
        indexes: vec![IndexSchema {
            id: IndexId(1),
            name: "item_pkey".into(),
            columns: vec![ColumnId(0)],
            kind: IndexKind::Ordered,
            unique: true,
            primary: true,
            constraint: true,
        }],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let (sender, receiver) = channel();
    let answer = move |outcome| sender.send(outcome).unwrap();
    engine.define(Definition::CreateTable(schema), Box::new(answer));
    receiver.recv_timeout(HANG).unwrap().unwrap();
    let table = engine.store().table(TableId(1)).unwrap();
    let version = Version(engine.store().published().0 + 1);
    let rows: Vec<_> = (0..items).map(item).collect();
    table.insert_rows(&rows, version);
    engine.store().publish(version);
    Planner::new(engine)
}

pub(super) fn item(id: i32) -> [Value; 6] {
    let title = if id % 10 == 9 { Value::Null } else { Value::Text(format!("title {id}").into()) };
    [
        Value::Integer(id),
        title,
        Value::Numeric(i128::from(id) * 125, 2),
        Value::Date(10_000 + id),
        Value::Double(f64::from(id) / 4.0),
        Value::BigInt(i64::from(id % 7)),
    ]
}

pub(super) fn plan(planner: &Planner, text: &str) -> Result<(Arc<QueryTemplate>, Vec<Value>)> {
    let lifted = lift(text, parse(text)?.remove(0));
    let Statement::Query(query) = &lifted.statement else { panic!("a query: {text}") };
    let mut parameters = Parameters::new(&lifted, &[]);
    let catalog = planner.catalog();
    let template = planner.query(&catalog, query, &mut parameters, &lifted.text)?;
    let mut values = parameters.literal_values()?;
    if lifted.now {
        values.push(Value::TimestampTz(1_000_000_000_000_000));
    }
    Ok((template, values))
}

pub(super) fn rows(answer: &Answer) -> Vec<String> {
    let width = answer.output.len();
    let parts = answer.parts.iter();
    let rows = parts.flat_map(|part| (0..part.rows()).map(move |row| (part, row)));
    let cell = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let rows = rows.map(|(part, row)| {
        let cells = (0..width).map(|column| {
            let value = part.cell(row, column);
            let mut bytes = Vec::new();
            if value.is_null() {
                return "NULL".to_owned();
            }
            crate::text::write_value(value, &mut bytes);
            cell(bytes)
        });
        cells.collect::<Vec<_>>().join("|")
    });
    rows.collect()
}

fn alone(planner: &Planner, text: &str) -> Result<Vec<String>> {
    let (template, values) = plan(planner, text)?;
    let store = planner.engine().store().clone();
    let snapshot = store.snapshot();
    let limits = Limits::default();
    let reading = Reading {
        store,
        snapshot,
        overlay: None,
        found: Default::default(),
        limits,
        pipelining: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(collect(&template, &values, &reading))?;
    Ok(rows(&answer))
}

fn shared(planner: &Planner, text: &str) -> Option<Result<Vec<String>>> {
    let (template, values) = match plan(planner, text) {
        Ok(planned) => planned,
        Err(error) => return Some(Err(error)),
    };
    let Path::Shared(registered) = &template.path else { return None };
    let (sender, receiver) = channel();
    planner.engine().submit(Activation {
        template: registered.clone(),
        parameters: values.into(),
        snapshot: None,
        sharing: planner.engine().sharing(),
        deadline: None,
        cancelled: Arc::new(AtomicBool::new(false)),
        figures: None,
        receiver: Box::new(move |answer: Result<Answer>| sender.send(answer).unwrap()),
    });
    planner.engine().lead(registered.lane());
    Some(receiver.recv_timeout(HANG).unwrap().map(|answer| rows(&answer)))
}

#[test]
fn shared_equals_alone() {
    let planner = shop();
    for text in [
        "SELECT * FROM item WHERE id = 5",
        "SELECT title, cost * 2, stock + 1 FROM item WHERE id BETWEEN 3 AND 6 ORDER BY id",
        "SELECT stock, count(*), sum(cost), avg(id), sum(stock), max(title) FROM item GROUP BY stock ORDER BY stock",
        "SELECT count(*) FROM item WHERE title LIKE '%1%' OR cost > 100.5",
        "SELECT id FROM item WHERE weight > 20 ORDER BY weight DESC LIMIT 3 OFFSET 1",
        "SELECT a.id, b.id FROM item a JOIN item b ON a.stock = b.id WHERE a.id < 4 ORDER BY 1",
        "SELECT DISTINCT stock FROM item ORDER BY stock",
        "SELECT id FROM item WHERE cost > (SELECT avg(cost) FROM item) ORDER BY id LIMIT 2",
        "SELECT id FROM item WHERE stock IN (SELECT id FROM item WHERE id < 2) ORDER BY id LIMIT 5",
        "SELECT id FROM item WHERE title IS NULL ORDER BY id",
        "SELECT day + 1, day - date '1997-05-19', cost / 3 FROM item WHERE id = 7",
        "SELECT 1 UNION ALL SELECT 2",
        "SELECT CASE WHEN id < 2 THEN 'few' ELSE 'many' END, id FROM item ORDER BY id LIMIT 3",
        "SELECT coalesce(title, 'none') FROM item WHERE id IN (8, 9) ORDER BY id",
        "SELECT stock, sum(id) FROM item GROUP BY stock HAVING sum(id) > 700 ORDER BY 2 DESC",
    ] {
        let alone = alone(&planner, text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let shared = shared(&planner, text).unwrap_or_else(|| {
            let (template, _) = plan(&planner, text).unwrap();
            panic!("{text} runs alone: {:?}", template.path)
        });
        assert_eq!(shared.unwrap_or_else(|e| panic!("{text}: {e}")), alone, "{text}");
    }
}

#[test]
fn a_query_ends_when_its_time_is_up() {
    end_by_time(HANG);
}

#[test]
#[ignore = "soak: measures how soon queries end"]
fn a_query_ends_soon_when_its_time_is_up() {
    end_by_time(Duration::from_secs(3));
}

fn end_by_time(limit: Duration) {
    let planner = shop();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for text in [
        "SELECT count(*) FROM generate_series(1, 100000000000)",
        "SELECT a.id FROM item a, item b, item c, item d, item e, item f \
         WHERE a.id + b.id + c.id + d.id + e.id + f.id < 0",
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT count(*) FROM r",
        "SELECT count(*) FROM item a, item b, item c, item d \
         WHERE repeat(a.title || b.title, 3000) LIKE '%q%x%t%zz' || c.id || d.id",
        "SELECT sum((SELECT count(*) FROM item b, item c WHERE b.id + c.id < o.id + p.id + 0)) \
         FROM item o, item p",
        "SELECT a.id + b.id FROM item a, item b, item c, item d \
         EXCEPT SELECT a.id - b.id FROM item a, item b, item c, item d",
    ] {
        let (template, values) = plan(&planner, text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let (store, limits) = (planner.engine().store().clone(), Limits::default());
        let snapshot = store.snapshot();
        let began = Instant::now();
        limits.begin(Some(began + Duration::from_millis(100)));
        let reading = Reading {
            store,
            snapshot,
            overlay: None,
            found: Default::default(),
            limits,
            pipelining: None,
        };
        let outcome = runtime.block_on(collect(&template, &values, &reading));
        assert_eq!(outcome.map(|_| ()).expect_err(text).state.code(), "57014", "{text}");
        assert!(began.elapsed() < limit, "{text}: {:?}", began.elapsed());
    }
}

#[test]
fn answers_are_postgresqls() {
    let planner = shop();
    let one =
        |text: &str| alone(&planner, text).unwrap_or_else(|e| panic!("{text}: {e}")).join(";");
    assert_eq!(one("SELECT 7 / 2, 7.0 / 2, -7 / 2"), "3|3.5000000000000000|-3");
    assert_eq!(one("SELECT avg(id) FROM item WHERE id < 2"), "0.5000000000000000");
    assert_eq!(one("SELECT 2.5::float8::int, 3.5::float8::int, 2.5::numeric::int"), "2|4|3");
    assert_eq!(one("SELECT date '2020-02-28' + 2"), "2020-03-01");
    assert_eq!(one("SELECT 'a' || 'b' || 1"), "ab1");
    assert_eq!(
        one("SELECT id, rank() OVER (ORDER BY id DESC) FROM item WHERE id < 2 ORDER BY id"),
        "0|2;1|1"
    );
    assert_eq!(
        one(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"
        ),
        "1;2;3"
    );
    assert_eq!(one("SELECT now()::date"), "2001-09-09");
    assert_eq!(one("SELECT interval '1 day 2 hours'"), "1 day 02:00:00");
}

#[test]
fn faults_are_postgresqls() {
    let planner = shop();
    let fault = |text: &str| {
        let error = alone(&planner, text).expect_err(text);
        (error.state.code(), error.message.clone())
    };
    let check = |text: &str, code: &str| {
        let found = fault(text);
        assert_eq!(found.0, code, "{text}: {}", found.1);
    };
    check("SELECT nothing FROM item", "42703");
    check("SELECT * FROM nowhere", "42P01");
    check("SELECT nofunction(1)", "42883");
    check("SELECT x.id FROM item", "42P01");
    check("SELECT id FROM item a, item b", "42702");
    check("SELECT title, count(*) FROM item", "42803");
    check("SELECT 1 / 0", "22012");
    check("SELECT 2147483647 + 1", "22003");
    check("SELECT 1.0 / 0", "22012");
    check("SELECT 'abc'::int", "22P02");
    check("SELECT id FROM item WHERE id = 'abc'", "22P02");
    check("SELECT (SELECT id FROM item)", "21000");
}

#[test]
fn system_tables_answer() {
    let planner = shop();
    let lines = |text: &str| alone(&planner, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let relations = lines("SELECT relname, relkind FROM pg_catalog.pg_class ORDER BY relname");
    assert_eq!(relations, ["item|r", "item_pkey|i"]);
    let keys = lines("SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint");
    assert_eq!(keys, ["item_pkey|PRIMARY KEY (id)"]);
    let columns = lines(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute \
         WHERE attrelid = (SELECT oid FROM pg_class WHERE relname = 'item') ORDER BY attnum LIMIT 3",
    );
    assert_eq!(columns, ["id|integer|t", "title|character varying(20)|f", "cost|numeric(10,2)|f"]);
    let standard =
        lines("SELECT column_name FROM information_schema.columns WHERE table_name = 'item'");
    assert_eq!(standard.len(), 6);
    assert!(lines("SELECT count(*) FROM pg_type")[0].parse::<i64>().unwrap() > 100);
    let _ = lines("SELECT * FROM shareddb.templates");
}

/// What psql 15 sends for `\dt` and `\d item`.
#[test]
fn psql_describes_tables() {
    let planner = shop();
    let lines = |text: &str| alone(&planner, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let tables = lines(
        "SELECT n.nspname as \"Schema\", c.relname as \"Name\", \
         CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' END as \"Type\", \
         pg_catalog.pg_get_userbyid(c.relowner) as \"Owner\" \
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam \
         WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' \
         AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;",
    );
    assert_eq!(tables.len(), 1, "{tables:?}");
    let found = lines(
        "SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relname OPERATOR(pg_catalog.~) '^(item)$' COLLATE pg_catalog.default \
         AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;",
    );
    assert_eq!(found, ["16388|public|item"]);
    let columns = lines(
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), \
         (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d \
         WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, \
         (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation \
         AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, \
         a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a \
         WHERE a.attrelid = '16388' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;",
    );
    assert_eq!(columns.len(), 6, "{columns:?}");
    let indexes = lines(
        "SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, \
         pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true), \
         contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace \
         FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i \
         LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid \
         AND contype IN ('p','u','x')) WHERE c.oid = '16388' AND c.oid = i.indrelid \
         AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;",
    );
    assert_eq!(indexes.len(), 1, "{indexes:?}");
    assert!(indexes[0].contains("PRIMARY KEY (id)"), "{indexes:?}");
}
