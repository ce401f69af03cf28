//! A small bookstore, and its statements as template plans.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Packing, Sharing, Template};
use engine::plan::{
    Aggregate, AggregateFunction, JoinKind, OutputColumn, PlanNode, ScalarSubquery, SortKey,
    TemplatePlan,
};
use engine::storage::Store;
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, Comparison, DataType, Error, IndexId, IndexKind,
    IndexSchema, Predicate, Result, Scalar, TableId, TableSchema, Value,
};

pub const ITEM: TableId = TableId(1);
pub const AUTHOR: TableId = TableId(2);
pub const ORDERS: TableId = TableId(3);
pub const ORDER_LINE: TableId = TableId(4);

pub const SUBJECTS: [&str; 24] = [
    "ARTS",
    "BIOGRAPHIES",
    "BUSINESS",
    "CHILDREN",
    "COMPUTERS",
    "COOKING",
    "HEALTH",
    "HISTORY",
    "HOME",
    "HUMOR",
    "LITERATURE",
    "MYSTERY",
    "NON-FICTION",
    "PARENTING",
    "POLITICS",
    "REFERENCE",
    "RELIGION",
    "ROMANCE",
    "SELF-HELP",
    "SCIENCE-NATURE",
    "SCIENCE-FICTION",
    "SPORTS",
    "YOUTH",
    "TRAVEL",
];

/// Of an engine that keeps nothing, with `workers` workers.
pub fn options(sharing: Sharing, workers: usize) -> EngineOptions {
    EngineOptions {
        workers,
        data: None,
        sharing,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 4096,
        memory_limit: 1 << 30,
    }
}

/// Answers that come later than this never come.
const LONG: std::time::Duration = std::time::Duration::from_secs(120);

/// Such an engine.
pub fn engine(sharing: Sharing, workers: usize) -> Arc<Engine> {
    Engine::open(options(sharing, workers)).expect("an engine without a directory opens")
}

pub fn column(name: &str, data_type: DataType, not_null: bool) -> ColumnSchema {
    ColumnSchema {
        name: name.into(),
        data_type,
        not_null,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    }
}

pub fn index(id: u32, name: &str, columns: &[u32], unique: bool, primary: bool) -> IndexSchema {
    IndexSchema {
        id: IndexId(id),
        name: name.into(),
        columns: columns.iter().map(|c| ColumnId(*c)).collect(),
        kind: IndexKind::Ordered,
        unique,
        primary,
        constraint: primary,
    }
}

pub fn table(
    id: TableId,
    name: &str,
    columns: Vec<ColumnSchema>,
    indexes: Vec<IndexSchema>,
) -> TableSchema {
    TableSchema {
        id,
        schema: "public".into(),
        name: name.into(),
        columns,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// Fills a bookstore with `items` items, a quarter as many authors, `orders` orders of three lines each.
pub fn fill(store: &Arc<Store>, items: i32, orders: i32) {
    use DataType::{Date, Double, Integer};
    let version = store.published().next();
    let text = DataType::Varchar(60);
    let author = store.create_table(table(
        AUTHOR,
        "author",
        vec![column("a_id", Integer, true), column("a_lname", text, false)],
        vec![index(20, "author_pkey", &[0], true, true)],
    ));
    let item = store.create_table(table(
        ITEM,
        "item",
        vec![
            column("i_id", Integer, true),
            column("i_title", text, false),
            column("i_a_id", Integer, false),
            column("i_subject", text, false),
            column("i_pub_date", Date, false),
            column("i_cost", Double, false),
            column("i_related1", Integer, false),
            column("i_related2", Integer, false),
        ],
        vec![
            index(10, "item_pkey", &[0], true, true),
            index(11, "item_subject", &[3], false, false),
            index(12, "item_author", &[2], false, false),
        ],
    ));
    let order = store.create_table(table(
        ORDERS,
        "orders",
        vec![column("o_id", Integer, true), column("o_c_id", Integer, false)],
        vec![
            index(30, "orders_pkey", &[0], true, true),
            index(31, "orders_customer", &[1], false, false),
        ],
    ));
    let line = store.create_table(table(
        ORDER_LINE,
        "order_line",
        vec![
            column("ol_id", Integer, true),
            column("ol_o_id", Integer, true),
            column("ol_i_id", Integer, false),
            column("ol_qty", Integer, false),
        ],
        vec![
            index(40, "order_line_pkey", &[1, 0], true, true),
            index(41, "order_line_item", &[2], false, false),
        ],
    ));
    let int = Value::Integer;
    let authors = (items / 4).max(1);
    for a in 1..=authors {
        author.insert(&[int(a), Value::Text(format!("name{}", a % 17).into())], version);
    }
    for i in 1..=items {
        let subject = SUBJECTS[(i as usize * 7) % SUBJECTS.len()];
        let row = [
            int(i),
            Value::Text(format!("title {} of {}", i % 97, i).into()),
            int(i % authors + 1),
            Value::Text(subject.into()),
            Value::Date(i * 31 % 20_000),
            Value::Double(f64::from(i % 100) / 4.0),
            int(i % items + 1),
            int((i + 7) % items + 1),
        ];
        item.insert(&row, version);
    }
    for o in 1..=orders {
        order.insert(&[int(o), int(o * 13 % (orders / 3).max(1))], version);
        for l in 1..=3 {
            let row = [int(l), int(o), int((o * 37 + l * 11) % items + 1), int(o % 9 + l)];
            line.insert(&row, version);
        }
    }
    store.publish(version);
}

pub fn scan(table: TableId, predicates: Vec<Predicate>) -> PlanNode {
    PlanNode::Scan { table, predicates }
}

pub fn equals(column: usize, parameter: usize) -> Predicate {
    compare(column, Comparison::Equal, parameter)
}

pub fn compare(column: usize, comparison: Comparison, parameter: usize) -> Predicate {
    Predicate::Compare { column, comparison, value: Scalar::Parameter(parameter) }
}

pub fn join(left: PlanNode, right: PlanNode, keys: &[(usize, usize)]) -> PlanNode {
    PlanNode::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        keys: keys.to_vec(),
        residual: Vec::new(),
    }
}

pub fn project(input: PlanNode, columns: &[(usize, DataType)]) -> PlanNode {
    PlanNode::Project {
        input: Box::new(input),
        expressions: columns.iter().map(|(c, _)| Scalar::Column(*c)).collect(),
        types: columns.iter().map(|(_, t)| *t).collect(),
    }
}

pub fn descending(column: usize) -> SortKey {
    SortKey { column, descending: true, nulls_first: true }
}

pub fn ascending(column: usize) -> SortKey {
    SortKey { column, descending: false, nulls_first: false }
}

pub fn sort(input: PlanNode, keys: Vec<SortKey>, fetch: Option<i64>) -> PlanNode {
    let fetch = fetch.map(|n| Scalar::Literal(Value::BigInt(n)));
    PlanNode::Sort { input: Box::new(input), keys, skip: None, fetch }
}

pub fn template(
    root: PlanNode,
    output: &[(&str, DataType)],
    parameters: &[DataType],
    text: &str,
) -> TemplatePlan {
    let output = output
        .iter()
        .map(|(name, data_type)| OutputColumn { name: (*name).into(), data_type: *data_type });
    TemplatePlan {
        root,
        output: output.collect(),
        parameters: parameters.to_vec(),
        peeked: Vec::new(),
        scalar_subqueries: Vec::new(),
        definitions: Vec::new(),
        text: text.into(),
    }
}

const TITLE: DataType = DataType::Varchar(60);

/// `SELECT i_id, i_title FROM item WHERE i_id = $1`
pub fn item_by_id() -> TemplatePlan {
    let root = scan(ITEM, vec![equals(0, 0)]);
    let root = project(root, &[(0, DataType::Integer), (1, TITLE)]);
    let output = [("i_id", DataType::Integer), ("i_title", TITLE)];
    let text = "SELECT i_id, i_title FROM item WHERE i_id = $1";
    template(root, &output, &[DataType::Integer], text)
}

/// `SELECT i_title, a_lname FROM item JOIN author ON i_a_id = a_id WHERE i_id = $1`
pub fn product_detail() -> TemplatePlan {
    let root = join(scan(ITEM, vec![equals(0, 0)]), scan(AUTHOR, vec![]), &[(2, 0)]);
    let root = project(root, &[(1, TITLE), (9, TITLE)]);
    let output = [("i_title", TITLE), ("a_lname", TITLE)];
    let text = "SELECT i_title, a_lname FROM item JOIN author ON i_a_id = a_id WHERE i_id = $1";
    template(root, &output, &[DataType::Integer], text)
}

/// Related items of one item: the join is an IN over columns of the first.
pub fn promotion() -> TemplatePlan {
    let related = Predicate::In {
        column: 8,
        values: vec![Scalar::Column(6), Scalar::Column(7)],
        negated: false,
    };
    let root = PlanNode::Join {
        kind: JoinKind::Inner,
        left: Box::new(scan(ITEM, vec![equals(0, 0)])),
        right: Box::new(scan(ITEM, vec![])),
        keys: Vec::new(),
        residual: vec![related],
    };
    let root = project(root, &[(8, DataType::Integer), (9, TITLE)]);
    let output = [("i_id", DataType::Integer), ("i_title", TITLE)];
    let text = "SELECT j.i_id, j.i_title FROM item i, item j \
                WHERE i.i_id = $1 AND j.i_id IN (i.i_related1, i.i_related2)";
    template(root, &output, &[DataType::Integer], text)
}

/// Newest items of a subject with their authors.
pub fn new_products() -> TemplatePlan {
    let filter = PlanNode::Filter {
        input: Box::new(join(scan(ITEM, vec![]), scan(AUTHOR, vec![]), &[(2, 0)])),
        predicates: vec![equals(3, 0)],
    };
    let root = sort(filter, vec![descending(4), ascending(0)], Some(50));
    let root = project(root, &[(0, DataType::Integer), (1, TITLE), (9, TITLE)]);
    let output = [("i_id", DataType::Integer), ("i_title", TITLE), ("a_lname", TITLE)];
    let text = "SELECT i_id, i_title, a_lname FROM item JOIN author ON i_a_id = a_id \
                WHERE i_subject = $1 ORDER BY i_pub_date DESC, i_id LIMIT 50";
    template(root, &output, &[TITLE], text)
}

/// Titles like a pattern, with their authors.
pub fn title_search() -> TemplatePlan {
    let like = Predicate::Like {
        column: 1,
        pattern: Scalar::Parameter(0),
        negated: false,
        case_insensitive: false,
    };
    let joined = join(scan(ITEM, vec![like]), scan(AUTHOR, vec![]), &[(2, 0)]);
    let root = sort(joined, vec![ascending(1), ascending(0)], Some(50));
    let root = project(root, &[(0, DataType::Integer), (1, TITLE), (9, TITLE)]);
    let output = [("i_id", DataType::Integer), ("i_title", TITLE), ("a_lname", TITLE)];
    let text = "SELECT i_id, i_title, a_lname FROM item JOIN author ON i_a_id = a_id \
                WHERE i_title LIKE $1 ORDER BY i_title, i_id LIMIT 50";
    template(root, &output, &[TITLE], text)
}

pub fn aggregate(
    function: AggregateFunction,
    column: Option<usize>,
    data_type: DataType,
) -> Aggregate {
    Aggregate {
        function,
        argument: column.map(Scalar::Column),
        distinct: false,
        filter: None,
        data_type,
    }
}

/// `SELECT MAX(o_id) FROM orders`
pub fn newest_order() -> PlanNode {
    PlanNode::Aggregate {
        input: Box::new(scan(ORDERS, vec![])),
        keys: Vec::new(),
        aggregates: vec![aggregate(AggregateFunction::Max, Some(0), DataType::Integer)],
    }
}

/// Best sellers of a subject among order lines up to a number of an order, after the newest order given by a
/// scalar subquery less `$2`.
pub fn best_sellers() -> TemplatePlan {
    let lines = scan(ORDER_LINE, vec![compare(1, Comparison::Greater, 1)]);
    let joined = join(lines, scan(ITEM, vec![equals(3, 0)]), &[(2, 0)]);
    let joined = join(joined, scan(AUTHOR, vec![]), &[(6, 0)]);
    let root = PlanNode::Aggregate {
        input: Box::new(joined),
        keys: vec![4, 5, 13],
        aggregates: vec![aggregate(AggregateFunction::Sum, Some(3), DataType::BigInt)],
    };
    let root = sort(root, vec![descending(3), ascending(0)], Some(50));
    let output = [
        ("i_id", DataType::Integer),
        ("i_title", TITLE),
        ("a_lname", TITLE),
        ("v", DataType::BigInt),
    ];
    let text = "SELECT i_id, i_title, a_lname, SUM(ol_qty) v FROM order_line \
                JOIN item ON ol_i_id = i_id JOIN author ON i_a_id = a_id \
                WHERE ol_o_id > $2 AND i_subject = $1 \
                GROUP BY i_id, i_title, a_lname ORDER BY v DESC, i_id LIMIT 50";
    template(root, &output, &[TITLE, DataType::Integer], text)
}

/// Lines of the newest order: `ol_o_id = (SELECT MAX(o_id) FROM orders)`.
pub fn lines_of_newest_order() -> TemplatePlan {
    let root = scan(ORDER_LINE, vec![equals(1, 0)]);
    let root = project(root, &[(0, DataType::Integer), (1, DataType::Integer)]);
    let output = [("ol_id", DataType::Integer), ("ol_o_id", DataType::Integer)];
    let text =
        "SELECT ol_id, ol_o_id FROM order_line WHERE ol_o_id = (SELECT MAX(o_id) FROM orders)";
    let mut plan = template(root, &output, &[DataType::Integer], text);
    plan.scalar_subqueries = vec![ScalarSubquery { parameter: 0, root: newest_order() }];
    plan
}

/// Runs a batch: all are submitted before anybody leads. Answers come in the order of the requests.
pub fn run(
    engine: &Engine,
    requests: Vec<(Arc<Template>, Vec<Value>)>,
) -> Vec<Result<Vec<Vec<Value>>>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let count = requests.len();
    let mut lanes = Vec::new();
    for (position, (template, parameters)) in requests.into_iter().enumerate() {
        let sender = sender.clone();
        lanes.push(template.lane());
        engine.submit(Activation {
            template,
            parameters: parameters.into(),
            snapshot: None,
            sharing: engine.sharing(),
            deadline: None,
            cancelled: Arc::new(AtomicBool::new(false)),
            figures: None,
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send((position, answer.map(|answer| rows(&answer)))).expect("it is awaited");
            }),
        });
    }
    lanes.sort_unstable();
    lanes.dedup();
    lanes.into_iter().for_each(|lane| engine.lead(lane));
    let mut answers = vec![Err(Error::new(engine::types::SqlState::InternalError, "lost")); count];
    for _ in 0..count {
        let (position, answer) = receiver.recv_timeout(LONG).expect("every one answers");
        answers[position] = answer;
    }
    answers
}

/// Runs one activation and waits for its answer.
pub fn lone(
    engine: &Engine,
    template: &Arc<Template>,
    parameters: Vec<Value>,
    take: impl Fn(Answer) + Send + 'static,
) {
    let (sender, receiver) = std::sync::mpsc::channel();
    submit(engine, template, parameters, move |answer| {
        take(answer.expect("it succeeds"));
        sender.send(()).expect("it is awaited");
    });
    engine.lead(template.lane());
    receiver.recv_timeout(LONG).expect("it answers");
}

/// Runs a batch of one template and waits for all answers, without looking at them.
#[allow(dead_code, reason = "the benchmark includes this file and calls it")]
pub fn at_once(engine: &Engine, template: &Arc<Template>, requests: &[Vec<Value>]) {
    let request = |parameters: &Vec<Value>| (template.clone(), parameters.clone());
    together(engine, &requests.iter().map(request).collect::<Vec<_>>());
}

/// Runs a batch of one lane's templates and waits for all answers, without looking at them.
#[allow(dead_code, reason = "the benchmarks include this file and call it")]
pub fn together(engine: &Engine, requests: &[(Arc<Template>, Vec<Value>)]) {
    let (sender, receiver) = std::sync::mpsc::channel();
    for (template, parameters) in requests {
        let sender = sender.clone();
        submit(engine, template, parameters.clone(), move |answer| {
            sender.send(answer.expect("it succeeds").rows()).expect("it is awaited");
        });
    }
    engine.lead(requests[0].0.lane());
    requests.iter().for_each(|_| {
        receiver.recv_timeout(LONG).expect("it answers");
    });
}

pub fn submit(
    engine: &Engine,
    template: &Arc<Template>,
    parameters: Vec<Value>,
    receive: impl FnOnce(Result<Answer>) + Send + 'static,
) {
    engine.submit(Activation {
        template: template.clone(),
        parameters: parameters.into(),
        snapshot: None,
        sharing: engine.sharing(),
        deadline: None,
        cancelled: Arc::new(AtomicBool::new(false)),
        figures: None,
        receiver: Box::new(receive),
    });
}

/// An answer as values.
pub fn rows(answer: &Answer) -> Vec<Vec<Value>> {
    let columns = answer.output.len();
    let mut rows = Vec::new();
    for part in &answer.parts {
        for row in 0..part.rows() {
            rows.push((0..columns).map(|c| part.cell(row, c).to_owned()).collect());
        }
    }
    rows
}
