//! Random batches of random templates over random tables: the answer inside a batch equals the answer alone and
//! the interpreter's, whatever else is in the batch: failing statements, cancelled ones, equal ones.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray};
use engine::heartbeat::{Activation, Answer, Engine, Sharing, Template};
use engine::plan::{AggregateFunction, JoinKind, PlanNode, ScalarSubquery, SortKey, TemplatePlan};
use engine::storage::Store;
use engine::types::{
    Comparison, DataType, Error, Expression, Predicate, Result, Scalar, SqlState, TableId, Value,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::bookstore::{self, aggregate, column, index, table};
use crate::reference::{self, Row};

const TABLES: u32 = 3;
const WIDTH: usize = 4;
const COLUMNS: [DataType; WIDTH] =
    [DataType::Integer, DataType::Integer, DataType::Integer, DataType::Text];

/// Tables `(id integer PRIMARY KEY, a integer, b integer, s text)` with small domains and NULLs.
fn fill(store: &Arc<Store>, random: &mut StdRng) {
    let version = store.published().next();
    for t in 0..TABLES {
        let columns = vec![
            column("id", DataType::Integer, true),
            column("a", DataType::Integer, false),
            column("b", DataType::Integer, false),
            column("s", DataType::Text, false),
        ];
        let mut indexes = vec![index(t * 10, "pkey", &[0], true, true)];
        if random.random_bool(0.5) {
            indexes.push(index(t * 10 + 1, "by_a", &[1], false, false));
        }
        if random.random_bool(0.5) {
            indexes.push(index(t * 10 + 2, "by_b_a", &[2, 1], false, false));
        }
        let stored = store.create_table(table(TableId(t), &format!("t{t}"), columns, indexes));
        let rows = *[0, 3, 40, 300].choose(random).expect("there are some");
        for id in 0..rows {
            let mut small = |most: i32| match random.random_bool(0.1) {
                true => Value::Null,
                false => Value::Integer(random.random_range(0..most)),
            };
            let (a, b) = (small(12), small(40));
            let s = format!("{}-{}", ["red", "green", "blue"][id % 3], id % 7);
            let s = if id % 11 == 0 { Value::Null } else { Value::Text(s.into()) };
            stored.insert(&[Value::Integer(id as i32), a, b, s], version);
        }
    }
    store.publish(version);
}

/// `12 / ($p) >= column`: fails where the parameter is 0.
#[derive(Debug)]
struct Quotient {
    column: [usize; 1],
    parameter: [usize; 1],
    /// Equal text means equal meaning.
    text: String,
}

impl Expression for Quotient {
    fn columns(&self) -> &[usize] {
        &self.column
    }

    fn parameters(&self) -> &[usize] {
        &self.parameter
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let column = columns[0].as_primitive::<Int32Type>();
        let divisor = parameters[0].as_primitive::<Int32Type>();
        let mut result = Vec::with_capacity(rows);
        for row in 0..rows {
            if divisor.is_null(row) || column.is_null(row) {
                result.push(None);
                continue;
            }
            if divisor.value(row) == 0 {
                return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
            }
            result.push(Some(12 / divisor.value(row) >= column.value(row)));
        }
        Ok(Arc::new(BooleanArray::from(result)))
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// Makes random plans. Parameters are integers, except those of patterns.
struct Maker<'a> {
    random: &'a mut StdRng,
    parameters: Vec<DataType>,
    subqueries: Vec<ScalarSubquery>,
    /// Inputs of joins with a breaker, which may be named again.
    known: Vec<PlanNode>,
    /// Whether a parameter's being 0 makes the statement fail.
    fails: Option<usize>,
}

impl Maker<'_> {
    fn parameter(&mut self, data_type: DataType) -> Scalar {
        self.parameters.push(data_type);
        Scalar::Parameter(self.parameters.len() - 1)
    }

    fn value(&mut self) -> Scalar {
        match self.random.random_range(0..5) {
            0 => Scalar::Literal(Value::Integer(self.random.random_range(0..20))),
            _ => self.parameter(DataType::Integer),
        }
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        let all = [Equal, Equal, Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];
        *all.choose(self.random).expect("there are some")
    }

    /// A predicate over a run of table columns from `base` on.
    fn predicate(&mut self, base: usize) -> Predicate {
        let number = base + self.random.random_range(0..3);
        match self.random.random_range(0..12) {
            0 => Predicate::In {
                column: number,
                values: (0..self.random.random_range(1..4)).map(|_| self.value()).collect(),
                negated: self.random.random_bool(0.3),
            },
            1 => Predicate::Like {
                column: base + 3,
                pattern: self.parameter(DataType::Text),
                negated: self.random.random_bool(0.3),
                case_insensitive: self.random.random_bool(0.3),
            },
            2 => Predicate::IsNull { column: number, negated: self.random.random_bool(0.5) },
            3 => Predicate::Or(vec![vec![self.predicate(base)], vec![self.predicate(base)]]),
            4 if self.fails.is_none() => {
                self.parameters.push(DataType::Integer);
                let parameter = self.parameters.len() - 1;
                self.fails = Some(parameter);
                let text = format!("12 / ${} >= #{number}", parameter + 1);
                let quotient = Quotient { column: [number], parameter: [parameter], text };
                Predicate::Expression(Arc::new(quotient))
            }
            _ => Predicate::Compare {
                column: number,
                comparison: self.comparison(),
                value: self.value(),
            },
        }
    }

    fn predicates(&mut self, base: usize) -> Vec<Predicate> {
        (0..self.random.random_range(0..3)).map(|_| self.predicate(base)).collect()
    }

    fn scan(&mut self) -> PlanNode {
        let table = TableId(self.random.random_range(0..TABLES));
        PlanNode::Scan { table, predicates: self.predicates(0) }
    }

    /// A table's rows, sometimes through a breaker, sometimes those of an earlier input.
    fn input(&mut self) -> PlanNode {
        let scan = Box::new(self.scan());
        let made = match self.random.random_range(0..9) {
            0 => PlanNode::Distinct { input: scan },
            1 => {
                PlanNode::Aggregate { input: scan, keys: (0..WIDTH).collect(), aggregates: vec![] }
            }
            2 => {
                let fetch = Some(self.parameter(DataType::Integer));
                let keys = self.total_order(WIDTH);
                PlanNode::Sort { input: scan, keys, skip: None, fetch }
            }
            3 => {
                let key = (self.random.random_range(0..3), self.random.random_range(0..3));
                let other = self.scan();
                let pairs = bookstore::join(*scan, other, &[key]);
                let columns = [4, 1, 6, 3].map(|c| (c, COLUMNS[c % WIDTH]));
                PlanNode::Distinct { input: Box::new(bookstore::project(pairs, &columns)) }
            }
            4 | 5 if !self.known.is_empty() => return self.again(),
            _ => return *scan,
        };
        self.known.push(made.clone());
        made
    }

    /// An earlier input, or one that differs from it by a condition.
    fn again(&mut self) -> PlanNode {
        let known = self.known.choose(self.random).expect("there are some").clone();
        match self.random.random_bool(0.3) {
            true => PlanNode::Filter { input: Box::new(known), predicates: self.predicates(0) },
            false => known,
        }
    }

    /// A tree of joins; returns the tables' worth of columns.
    fn joins(&mut self) -> (PlanNode, usize) {
        let mut node = self.input();
        let mut tables = 1;
        for _ in 0..self.random.random_range(0..3) {
            use JoinKind::*;
            let kinds = [Inner, Inner, Inner, Left, Right, Full, Semi, Anti];
            let kind = *kinds.choose(self.random).expect("there are some");
            let left = self.random.random_range(0..tables) * WIDTH + self.random.random_range(0..3);
            let key = (left, self.random.random_range(0..3));
            let mut residual = Vec::new();
            if self.random.random_bool(0.3) {
                residual.push(self.predicate(tables * WIDTH));
            }
            if self.random.random_bool(0.2) {
                residual.push(Predicate::Compare {
                    column: left,
                    comparison: self.comparison(),
                    value: Scalar::Column(tables * WIDTH + 1),
                });
            }
            let keys = if self.random.random_bool(0.1) { vec![] } else { vec![key] };
            if keys.is_empty() {
                residual.push(Predicate::In {
                    column: tables * WIDTH,
                    values: vec![Scalar::Column(left), Scalar::Column(1)],
                    negated: false,
                });
            }
            let right = Box::new(self.input());
            node = PlanNode::Join { kind, left: Box::new(node), right, keys, residual };
            tables += usize::from(!matches!(kind, Semi | Anti));
        }
        if self.random.random_bool(0.4) {
            let base = self.random.random_range(0..tables) * WIDTH;
            let predicates = vec![self.predicate(base)];
            node = PlanNode::Filter { input: Box::new(node), predicates };
        }
        (node, tables)
    }

    /// A whole statement's tree and the types of its columns.
    fn statement(&mut self) -> (PlanNode, Vec<DataType>) {
        let (node, tables) = self.joins();
        let types: Vec<DataType> = (0..tables).flat_map(|_| COLUMNS).collect();
        match self.random.random_range(0..6) {
            0 => self.grouped(node, types),
            1 => {
                let columns = [0, 1, 3].map(|c| (c, types[c]));
                let input = Box::new(bookstore::project(node, &columns));
                (PlanNode::Distinct { input }, columns.map(|c| c.1).to_vec())
            }
            2 => {
                let columns = [0, 2, 3].map(|c| (c, types[c]));
                let other = match self.random.random_bool(0.5) {
                    true => PlanNode::Scan { table: TableId(0), predicates: self.predicates(0) },
                    false => node.clone(),
                };
                let inputs = [node, other].map(|input| bookstore::project(input, &columns));
                (PlanNode::Union { inputs: inputs.into() }, columns.map(|c| c.1).to_vec())
            }
            3 => {
                let fetch = Some(self.parameter(DataType::Integer));
                let skip = self.random.random_bool(0.3).then(|| self.parameter(DataType::Integer));
                let keys = self.total_order(types.len());
                (PlanNode::Sort { input: Box::new(node), keys, skip, fetch }, types)
            }
            _ => (node, types),
        }
    }

    /// Sort keys that leave no ties between different rows.
    fn total_order(&mut self, width: usize) -> Vec<SortKey> {
        let first = self.random.random_range(0..width);
        let key = |column| SortKey {
            column,
            descending: self.random.random_bool(0.5),
            nulls_first: self.random.random_bool(0.5),
        };
        std::iter::once(first).chain(0..width).map(key).collect()
    }

    fn grouped(&mut self, node: PlanNode, types: Vec<DataType>) -> (PlanNode, Vec<DataType>) {
        use AggregateFunction::*;
        let count = self.random.random_range(0..4);
        let keys: Vec<usize> =
            (0..count).map(|_| self.random.random_range(0..types.len())).collect();
        let mut aggregates = vec![
            aggregate(Count, None, DataType::BigInt),
            aggregate(Sum, Some(1), DataType::BigInt),
            aggregate(Max, Some(2), DataType::Integer),
            aggregate(Min, Some(3), DataType::Text),
        ];
        aggregates[1].distinct = self.random.random_bool(0.3);
        let out = keys.iter().map(|k| types[*k]).chain(aggregates.iter().map(|a| a.data_type));
        let out: Vec<DataType> = out.collect();
        let node = PlanNode::Aggregate { input: Box::new(node), keys: keys.clone(), aggregates };
        if !self.random.random_bool(0.3) {
            return (node, out);
        }
        // HAVING count(*) > $n
        let having = Predicate::Compare {
            column: keys.len(),
            comparison: Comparison::Greater,
            value: self.parameter(DataType::BigInt),
        };
        (PlanNode::Filter { input: Box::new(node), predicates: vec![having] }, out)
    }
}

/// A random template and the parameter that makes it fail where 0.
fn template(random: &mut StdRng, number: usize) -> (TemplatePlan, Option<usize>) {
    let (parameters, subqueries, known) = (Vec::new(), Vec::new(), Vec::new());
    let mut maker = Maker { random, parameters, subqueries, known, fails: None };
    let (root, types) = maker.statement();
    let root = match maker.random.random_bool(0.15) {
        false => root,
        true => {
            // WHERE column 0 <= (SELECT MAX(id) FROM t WHERE a = $n)
            let inner = PlanNode::Scan { table: TableId(1), predicates: maker.predicates(0) };
            maker.parameters.push(DataType::Integer);
            let parameter = maker.parameters.len() - 1;
            let function = if maker.random.random_bool(0.5) {
                AggregateFunction::Max
            } else {
                AggregateFunction::Min
            };
            let input = Box::new(inner);
            let aggregates = vec![aggregate(function, Some(0), DataType::Integer)];
            let subquery = PlanNode::Aggregate { input, keys: vec![], aggregates };
            maker.subqueries.push(ScalarSubquery { parameter, root: subquery });
            let first = types.iter().position(|t| *t == DataType::Integer);
            match first {
                Some(column) => PlanNode::Filter {
                    input: Box::new(root),
                    predicates: vec![bookstore::compare(
                        column,
                        Comparison::LessOrEqual,
                        parameter,
                    )],
                },
                None => root,
            }
        }
    };
    let names: Vec<(&str, DataType)> = types.iter().map(|t| ("c", *t)).collect();
    let mut plan =
        bookstore::template(root, &names, &maker.parameters, &format!("random {number}"));
    plan.scalar_subqueries = maker.subqueries;
    (plan, maker.fails)
}

fn parameters(plan: &TemplatePlan, random: &mut StdRng) -> Vec<Value> {
    let patterns = ["%re%", "blue-3", "green%", "%-6", "_ed-%", "%", "x%y%z", "R%"];
    let value = |t: &DataType| match t {
        DataType::Text => Value::Text((*patterns.choose(random).expect("some")).into()),
        DataType::BigInt => Value::BigInt(random.random_range(0..4)),
        _ if random.random_bool(0.05) => Value::Null,
        _ => Value::Integer(random.random_range(0..14)),
    };
    plan.parameters.iter().map(value).collect()
}

struct Request {
    template: Arc<Template>,
    parameters: Vec<Value>,
    cancelled: bool,
}

/// Runs requests as one batch per lane.
fn run(engine: &Engine, requests: &[Request]) -> Vec<Result<Vec<Row>>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    for (position, request) in requests.iter().enumerate() {
        let sender = sender.clone();
        engine.submit(Activation {
            template: request.template.clone(),
            parameters: request.parameters.clone().into(),
            snapshot: None,
            sharing: engine.sharing(),
            cancelled: Arc::new(AtomicBool::new(request.cancelled)),
            figures: None,
            receiver: Box::new(move |answer: Result<Answer>| {
                let rows = answer.map(|answer| bookstore::rows(&answer));
                sender.send((position, rows)).expect("it is awaited");
            }),
        });
    }
    let mut lanes: Vec<_> = requests.iter().map(|r| r.template.lane()).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes.into_iter().for_each(|lane| engine.lead(lane));
    let lost = || Err(Error::new(SqlState::InternalError, "lost"));
    let mut answers: Vec<Result<Vec<Row>>> = requests.iter().map(|_| lost()).collect();
    for _ in requests {
        let wait = std::time::Duration::from_secs(60);
        let (position, answer) = receiver.recv_timeout(wait).expect("every one answers");
        answers[position] = answer;
    }
    answers
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(reference::order);
    rows
}

fn round(seed: u64, sharing: Sharing) {
    let mut random = StdRng::seed_from_u64(seed);
    let engine = bookstore::engine(sharing, random.random_range(0..3));
    fill(engine.store(), &mut random);
    let templates: Vec<_> = (0..random.random_range(1..6))
        .map(|number| {
            let (plan, fails) = template(&mut random, number);
            (engine.register(plan).expect("every random plan is shareable"), fails)
        })
        .collect();
    let count = *[1, 2, 7, 40, 90].choose(&mut random).expect("there are some");
    let requests: Vec<(Request, Option<usize>)> = (0..count)
        .map(|_| {
            let (template, fails) = templates.choose(&mut random).expect("there are some");
            let parameters = parameters(&template.plan, &mut random);
            let cancelled = random.random_bool(0.05);
            (Request { template: template.clone(), parameters, cancelled }, *fails)
        })
        .collect();
    let (requests, fails): (Vec<Request>, Vec<Option<usize>>) = requests.into_iter().unzip();
    let answers = run(&engine, &requests);
    for ((request, fails), answer) in requests.iter().zip(fails).zip(answers) {
        let (plan, parameters) = (&request.template.plan, &request.parameters);
        if request.cancelled {
            assert_eq!(answer.map_err(|e| e.state), Err(SqlState::QueryCanceled), "seed {seed}");
            continue;
        }
        if fails.is_some_and(|p| parameters[p] == Value::Integer(0)) {
            // Whether a division by zero is met depends on the rows that get there: if it is, only this one fails.
            let state = answer.map(|_| SqlState::DivisionByZero).unwrap_or_else(|e| e.state);
            assert_eq!(state, SqlState::DivisionByZero, "seed {seed}");
            continue;
        }
        let expected = reference::answer(plan, engine.store(), parameters);
        let expected = expected.expect("the interpreter fails at nothing else");
        let answer = answer.unwrap_or_else(|e| {
            panic!(
                "seed {seed}: {e:?} of {} {parameters:?}, fails at {fails:?}\n{}",
                plan.text,
                engine.explain(&request.template, &[], None)
            )
        });
        let (expected, answer) = match plan.root {
            PlanNode::Sort { .. } => (expected, answer),
            _ => (sorted(expected), sorted(answer)),
        };
        assert_eq!(
            answer,
            expected,
            "seed {seed}, parameters {parameters:?}\n{}\n{:#?}",
            engine.explain(&request.template, &[], None),
            plan.root
        );
    }
}

fn rounds(sharing: Sharing, first: u64) {
    let count = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let first = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(first);
    (first..first + count).for_each(|seed| round(seed, sharing));
}

#[test]
fn always_shared() {
    rounds(Sharing::Always, 1_000);
}

#[test]
fn shared_by_cost() {
    rounds(Sharing::Automatic, 2_000);
}

#[test]
fn never_shared() {
    rounds(Sharing::Never, 3_000);
}
