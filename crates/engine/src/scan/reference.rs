//! The slow obvious twin: every row against every activation, with three-valued logic, one predicate at a time.
//! Random tables and random batches must give every activation the same rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{ArrayRef, BooleanArray, Int32Array};
use proptest::prelude::*;
use proptest::sample::select;

use super::{Request, ScanOutput, TableAccess, TableBatch};
use crate::query_set::SetTable;
use crate::storage::{CHUNK_ROWS, Store, Table, TableView, load_in_chunks};
use crate::transaction::{Evaluation, Parameters, ViewRow};
use crate::types::{
    ColumnDefault, ColumnId, ColumnSchema, Comparison, ComputedComparison, DataType, Error,
    Expression, IndexId, IndexKind, IndexSchema, Predicate, Result, RowId, Scalar, Slot, SqlState,
    TableId, TableSchema, Value, Version, array_cell,
};

/// Columns of the test table: one of each representation; `c0` is the key.
pub const TYPES: [DataType; 12] = [
    DataType::Integer,
    DataType::SmallInt,
    DataType::BigInt,
    DataType::Double,
    DataType::Numeric { precision: 12, scale: 2 },
    DataType::Numeric { precision: 30, scale: 3 },
    DataType::Text,
    DataType::Varchar(60),
    DataType::Boolean,
    DataType::Date,
    DataType::Timestamp,
    DataType::Bytea,
];

/// A table with a hash index, a unique ordered one and one over two columns.
pub fn schema() -> TableSchema {
    let columns = TYPES.iter().enumerate().map(|(i, data_type)| ColumnSchema {
        name: format!("c{i}").into(),
        data_type: *data_type,
        not_null: i == 0,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    });
    let index = |id, columns: &[u32], kind, unique| IndexSchema {
        id: IndexId(id),
        name: format!("i{id}").into(),
        columns: columns.iter().map(|column| ColumnId(*column)).collect(),
        kind,
        unique,
        primary: unique,
        constraint: unique,
    };
    TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "t".into(),
        columns: columns.collect(),
        indexes: vec![
            index(1, &[0], IndexKind::Ordered, true),
            index(2, &[1], IndexKind::Hash, false),
            index(3, &[6, 2], IndexKind::Ordered, false),
        ],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// `c0 % $p <> 0`: fails where the parameter is zero.
#[derive(Debug)]
pub struct NotDivisible {
    parameter: [usize; 1],
    text: String,
}

impl Expression for NotDivisible {
    fn columns(&self) -> &[usize] {
        &[0]
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
        let (column, parameter) =
            (columns[0].as_primitive::<Int32Type>(), parameters[0].as_primitive::<Int32Type>());
        assert_eq!((column.len(), parameter.len()), (rows, rows));
        let truths = column.iter().zip(parameter).map(|(a, b)| match (a, b) {
            (Some(_), Some(0)) => Err(Error::new(SqlState::DivisionByZero, "division by zero")),
            (Some(a), Some(b)) => Ok(Some(a % b != 0)),
            _ => Ok(None),
        });
        Ok(Arc::new(truths.collect::<Result<BooleanArray>>()?))
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// `c0 + c1`, which fails where that is 77.
#[derive(Debug)]
struct Sum;

impl Expression for Sum {
    fn columns(&self) -> &[usize] {
        &[0, 1]
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Integer
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let (a, b) =
            (columns[0].as_primitive::<Int32Type>(), columns[1].as_primitive::<Int16Type>());
        let sums = a.iter().zip(b).map(|(a, b)| match a.zip(b).map(|(a, b)| a + i32::from(b)) {
            Some(77) => Err(Error::new(SqlState::NumericOutOfRange, "integer out of range")),
            sum => Ok(sum),
        });
        Ok(Arc::new(sums.collect::<Result<Int32Array>>()?))
    }

    fn text(&self) -> &str {
        "c0 + c1"
    }
}

/// `c0 + c1 op $p`
#[derive(Debug)]
struct SumCompared {
    parameter: [usize; 1],
    compared: ComputedComparison,
    text: String,
}

impl SumCompared {
    fn new(parameter: usize, comparison: Comparison) -> SumCompared {
        let (left, right) = (Arc::new(Sum), Scalar::Parameter(parameter));
        let text = format!("c0 + c1 {comparison:?} ${}", parameter + 1);
        let compared = ComputedComparison { left, comparison, right };
        SumCompared { parameter: [parameter], compared, text }
    }
}

impl Expression for SumCompared {
    fn columns(&self) -> &[usize] {
        &[0, 1]
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
        let sums = Sum.evaluate(columns, &[], rows)?;
        let compared = (0..rows).map(|row| {
            let (sum, value) = (array_cell(&sums, row), array_cell(&parameters[0], row));
            crate::transaction::compare(sum, self.compared.comparison, value)
        });
        Ok(Arc::new(compared.collect::<BooleanArray>()))
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn comparison(&self) -> Option<&ComputedComparison> {
        Some(&self.compared)
    }
}

#[derive(Debug)]
struct NotDivisibleBy {
    divisor: i32,
    text: String,
}

impl Expression for NotDivisibleBy {
    fn columns(&self) -> &[usize] {
        &[0]
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let divisors = Int32Array::from(vec![self.divisor; rows]);
        let inner = NotDivisible { parameter: [0], text: String::new() };
        inner.evaluate(columns, &[Arc::new(divisors)], rows)
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// A value for a column, from few, so that predicates meet rows; sometimes NULL.
pub fn value(data_type: DataType) -> BoxedStrategy<Value> {
    let words = ["", "a", "ab", "abc", "bcd", "the cat", "the dog", "Cat", "é", "x_y", "50%"];
    let pairs = (select(words.to_vec()), select(words.to_vec()));
    let text = pairs.prop_map(|(a, b)| format!("{a}{b}"));
    let common = match data_type {
        DataType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        DataType::SmallInt => (-5i16..30).prop_map(Value::SmallInt).boxed(),
        DataType::Integer => (-5i32..400).prop_map(Value::Integer).boxed(),
        DataType::BigInt => prop_oneof![4 => -5i64..60, 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
            .prop_map(Value::BigInt)
            .boxed(),
        DataType::Double => {
            let rare = select(vec![f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY]);
            prop_oneof![5 => (-20i32..20).prop_map(|v| f64::from(v) / 2.0), 1 => rare]
                .prop_map(Value::Double)
                .boxed()
        }
        DataType::Numeric { precision, scale } => {
            let large = if precision > 18 { 10i128.pow(28) } else { 10i128.pow(11) };
            prop_oneof![5 => -300i128..300, 1 => Just(large)]
                .prop_map(move |v| Value::Numeric(v, scale))
                .boxed()
        }
        DataType::Date => (0i32..40).prop_map(Value::Date).boxed(),
        DataType::Timestamp => (0i64..40, select(vec![0i64, 1, 43_200_000_000]))
            .prop_map(|(day, rest)| Value::Timestamp(day * 86_400_000_000 + rest))
            .boxed(),
        DataType::Bytea => {
            prop::collection::vec(0u8..3, 0..3).prop_map(|v| Value::Bytea(v.into())).boxed()
        }
        _ => text.prop_map(|text| Value::Text(text.into())).boxed(),
    };
    prop_oneof![9 => common, 1 => Just(Value::Null)].boxed()
}

/// `c0 % divisor <> 0`, with the divisor in place of the parameter.
pub fn not_divisible(divisor: i32) -> Predicate {
    let text = format!("c0 % {divisor} <> 0");
    Predicate::Expression(Arc::new(NotDivisibleBy { divisor, text }))
}

/// The same predicates, expressions last: the order in which a scan asks them.
pub fn expressions_last(predicates: &[Predicate]) -> Vec<Predicate> {
    let mut sorted = predicates.to_vec();
    sorted.sort_by_key(|predicate| matches!(predicate, Predicate::Expression(_)));
    sorted
}

/// A row; its key is given by its place.
pub fn row() -> impl Strategy<Value = Vec<Value>> {
    TYPES.iter().map(|data_type| value(*data_type)).collect::<Vec<_>>()
}

fn pattern() -> impl Strategy<Value = Value> {
    let piece = select(vec![
        "%", "_", "a", "ab", "bc", "the", "cat", "CAT", "é", "\\%", "d", "the dog", "x",
    ]);
    let text = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    let contains =
        select(vec!["%a%", "%cat%", "%the dogthe dog%", "%thecat%", "%bcdabc%", "a%", "%g"]);
    prop_oneof![
        10 => text,
        10 => contains.prop_map(String::from),
        1 => Just("a\\".to_string()),
    ]
    .prop_map(|text| Value::Text(text.into()))
}

/// A constant to compare a column with: of its type, or of another that compares with it.
fn constant(data_type: DataType) -> BoxedStrategy<Value> {
    let own = value(data_type);
    let number = prop_oneof![
        (-5i32..40).prop_map(Value::Integer),
        (-50i128..400).prop_map(|v| Value::Numeric(v, 1)),
        (-20i32..20).prop_map(|v| Value::Double(f64::from(v) / 4.0)),
    ];
    match data_type {
        DataType::SmallInt | DataType::Integer | DataType::BigInt | DataType::Double => {
            prop_oneof![3 => own, 1 => number].boxed()
        }
        DataType::Numeric { .. } => prop_oneof![3 => own, 1 => number].boxed(),
        DataType::Timestamp => prop_oneof![3 => own, 1 => (0i32..40).prop_map(Value::Date)].boxed(),
        DataType::Date => prop_oneof![3 => own, 1 => value(DataType::Timestamp)].boxed(),
        _ => own,
    }
}

/// A predicate whose constants are parameters, and these with their types.
#[derive(Clone, Debug)]
pub struct Template {
    predicates: Vec<Predicate>,
    parameters: Vec<Value>,
    types: Vec<DataType>,
}

/// One predicate with literals.
fn predicate() -> BoxedStrategy<Predicate> {
    let column = 0..TYPES.len();
    let comparison = select(vec![
        Comparison::Equal,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let compare = (column.clone(), comparison).prop_flat_map(|(column, comparison)| {
        constant(TYPES[column]).prop_map(move |value| Predicate::Compare {
            column,
            comparison,
            value: Scalar::Literal(value),
        })
    });
    let is_in = (column.clone(), any::<bool>()).prop_flat_map(|(column, negated)| {
        prop::collection::vec(constant(TYPES[column]), 1..5).prop_map(move |values| {
            let values = values.into_iter().map(Scalar::Literal).collect();
            Predicate::In { column, values, negated }
        })
    });
    let like = (select(vec![6usize, 7]), pattern(), any::<bool>(), any::<bool>()).prop_map(
        |(column, pattern, negated, case_insensitive)| Predicate::Like {
            column,
            pattern: Scalar::Literal(pattern),
            negated,
            case_insensitive,
        },
    );
    let plain_like = (select(vec![6usize, 7]), pattern()).prop_map(|(column, pattern)| {
        let pattern = Scalar::Literal(pattern);
        Predicate::Like { column, pattern, negated: false, case_insensitive: false }
    });
    let is_null =
        (column, any::<bool>()).prop_map(|(column, negated)| Predicate::IsNull { column, negated });
    let columns = (select(vec![(0usize, 1usize), (0, 2), (6, 7), (9, 10)]), any::<bool>())
        .prop_map(|((a, b), less)| Predicate::Compare {
            column: a,
            comparison: if less { Comparison::Less } else { Comparison::Equal },
            value: Scalar::Column(b),
        });
    let mixed = (select(vec![(0usize, 1usize), (0, 2), (6, 7)]), any::<bool>()).prop_flat_map(
        |((column, other), negated)| {
            prop::collection::vec(constant(TYPES[column]), 0..3).prop_map(move |values| {
                let values = values.into_iter().map(Scalar::Literal);
                let values = values.chain([Scalar::Column(other)]).collect();
                Predicate::In { column, values, negated }
            })
        },
    );
    let leaf = prop_oneof![
        8 => compare, 3 => is_in, 3 => like, 4 => plain_like, 1 => is_null, 1 => columns, 1 => mixed
    ];
    let arms = |leaf: BoxedStrategy<Predicate>| {
        prop::collection::vec(prop::collection::vec(leaf, 1..3), 1..4).prop_map(Predicate::Or)
    };
    let leaf = leaf.boxed();
    prop_oneof![8 => leaf.clone(), 1 => arms(leaf)].boxed()
}

/// A conjunction with the literals of its comparisons lifted to parameters.
fn template() -> impl Strategy<Value = Template> {
    let comparison = select(vec![
        Comparison::Less,
        Comparison::GreaterOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
    ]);
    let expression = prop::option::weighted(0.3, (-1i32..3, prop::option::of(comparison)));
    (prop::collection::vec(predicate(), 0..4), expression).prop_map(
        |(mut predicates, expression)| {
            let mut template =
                Template { predicates: Vec::new(), parameters: Vec::new(), types: Vec::new() };
            for predicate in &mut predicates {
                lift(predicate, &mut template);
            }
            template.predicates = predicates;
            if let Some((value, comparison)) = expression {
                let parameter = template.parameters.len();
                let (value, condition): (i32, Arc<dyn Expression>) = match comparison {
                    Some(comparison) => {
                        (60 + 20 * value, Arc::new(SumCompared::new(parameter, comparison)))
                    }
                    None => {
                        let text = format!("c0 % ${} <> 0", parameter + 1);
                        (value, Arc::new(NotDivisible { parameter: [parameter], text }))
                    }
                };
                template.parameters.push(Value::Integer(value));
                template.types.push(DataType::Integer);
                template.predicates.push(Predicate::Expression(condition));
            }
            template
        },
    )
}

fn lift(predicate: &mut Predicate, template: &mut Template) {
    let (column, scalar) = match predicate {
        Predicate::Compare { column, value, .. } => (*column, value),
        Predicate::Like { column, pattern, .. } => (*column, pattern),
        _ => return,
    };
    if let Scalar::Literal(value) = scalar {
        template.types.push(value.borrow().data_type().unwrap_or(TYPES[column]));
        template.parameters.push(value.clone());
        *scalar = Scalar::Parameter(template.parameters.len() - 1);
    }
}

/// What is done to the table before the batch reads it.
#[derive(Clone, Debug)]
struct Case {
    rows: Vec<Vec<Value>>,
    /// How often the rows are repeated, with other keys.
    copies: usize,
    updates: Vec<(usize, Vec<Value>)>,
    deletes: Vec<usize>,
    later: Vec<Vec<Value>>,
    templates: Vec<Template>,
    /// Which template each activation has.
    activations: Vec<usize>,
}

fn cases() -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(row(), 1..60);
    let copies = prop_oneof![3 => Just(1usize), 1 => 200usize..400];
    let updates = prop::collection::vec((0usize..60, row()), 0..6);
    let deletes = prop::collection::vec(0usize..60, 0..6);
    let later = prop::collection::vec(row(), 0..4);
    let templates = prop::collection::vec(template(), 1..40);
    let activations = prop_oneof![
        2 => Just(1usize), 4 => 2usize..10, 2 => 60usize..70, 1 => Just(300)
    ]
    .prop_flat_map(|count| prop::collection::vec(0usize..40, count));
    (rows, copies, updates, deletes, later, templates, activations).prop_map(
        |(rows, copies, updates, deletes, later, templates, activations)| Case {
            rows,
            copies,
            updates,
            deletes,
            later,
            templates,
            activations,
        },
    )
}

/// The row with another key.
pub fn keyed(row: &[Value], key: usize) -> Vec<Value> {
    let key = Value::Integer(key as i32);
    std::iter::once(key).chain(row[1..].iter().cloned()).collect()
}

/// The table as the batch finds it, with versions that it must not see.
fn build(case: &Case) -> (Arc<Table>, Arc<TableView>) {
    let store = Store::new(2);
    let table = store.create_table(schema());
    let rows: Vec<Vec<Value>> = (0..case.copies)
        .flat_map(|copy| case.rows.iter().map(move |row| (copy, row)))
        .enumerate()
        .map(|(number, (copy, row))| keyed(row, copy + number))
        .collect();
    // Chunks of a load hold their values in other widths than those that grow.
    let ids: Vec<RowId> = match case.rows.len() % 3 {
        0 => rows.iter().map(|row| table.insert(row, Version(1))).collect(),
        1 => load_in_chunks(&table, &rows, rows.len().min(CHUNK_ROWS), Version(1)),
        _ => load_in_chunks(&table, &rows, 1 + rows.len() / 3, Version(1)),
    };
    let live = |at: usize| at % ids.len();
    let mut deleted = Vec::new();
    for (at, row) in &case.updates {
        table.update(ids[live(*at)], &keyed(row, 1_000_000 + live(*at)), Version(2));
    }
    for at in &case.deletes {
        if !deleted.contains(&live(*at)) {
            deleted.push(live(*at));
            table.delete(ids[live(*at)], Version(3));
        }
    }
    store.publish(Version(3));
    let view = table.view(Version(3));
    for (number, row) in case.later.iter().enumerate() {
        table.insert(&keyed(row, 2_000_000 + number), Version(4));
    }
    (table, view)
}

/// The rows of one activation, or its error.
fn expected(view: &TableView, template: &Template) -> Result<Vec<RowId>> {
    let parameters = Parameters { values: &template.parameters, types: &template.types };
    let mut rows = Vec::new();
    for (id, chunk) in view.chunks() {
        for offset in 0..chunk.rows() as u32 {
            if !chunk.is_visible(view.version(), offset) {
                continue;
            }
            let location = crate::types::Location { chunk: *id, offset };
            let row = ViewRow { view, location };
            let evaluation = Evaluation { row: &row, types: &TYPES, parameters };
            if evaluation.all(&expressions_last(&template.predicates))? {
                rows.push(view.row_id(location));
            }
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

/// The rows of each slot in an output.
fn found(output: &ScanOutput, sets: &SetTable) -> BTreeMap<Slot, Vec<RowId>> {
    let mut rows: BTreeMap<Slot, Vec<RowId>> = BTreeMap::new();
    let tuples = &output.tuples;
    for (slot, bucket) in tuples.sets.expand(tuples.rows, sets).iter() {
        let source = &tuples.sources[0];
        let ids = bucket.iter().map(|&row| source.view.row_id(source.locations[row as usize]));
        rows.insert(slot, ids.collect());
        rows.get_mut(&slot).expect("just inserted").sort_unstable();
    }
    rows
}

fn check(case: &Case) {
    let (table, view) = build(case);
    let statistics = table.statistics();
    let accesses: Vec<TableAccess> = case
        .templates
        .iter()
        .map(|template| {
            let predicates = template.predicates.clone().into();
            TableAccess::new(
                &table.schema(),
                &statistics,
                predicates,
                template.types.clone().into(),
            )
        })
        .collect();
    // Every third slot of the batch wants nothing of this table.
    let chosen: Vec<(Slot, usize)> = case
        .activations
        .iter()
        .enumerate()
        .filter(|(at, _)| case.activations.len() < 4 || at % 3 != 2)
        .map(|(at, template)| (Slot(at as u32), template % case.templates.len()))
        .collect();
    let sets = Arc::new(SetTable::new(case.activations.len()));
    let requests: Vec<Request<'_>> = chosen
        .iter()
        .map(|&(slot, template)| Request {
            slot,
            access: &accesses[template],
            parameters: &case.templates[template].parameters,
        })
        .collect();
    let batch = TableBatch::new(view.clone(), &sets, &requests);
    let output = batch.run();
    let rows = found(&output, &sets);
    let failed: Vec<Slot> =
        batch.errors().iter().chain(&output.errors).map(|(slot, _)| *slot).collect();
    let mut known: BTreeMap<usize, Result<Vec<RowId>>> = BTreeMap::new();
    for (slot, template) in &chosen {
        let expected =
            known.entry(*template).or_insert_with(|| expected(&view, &case.templates[*template]));
        match expected {
            Ok(expected) if !failed.contains(slot) => {
                let empty = Vec::new();
                let found = rows.get(slot).unwrap_or(&empty);
                assert_eq!(
                    found,
                    expected,
                    "{slot} of {:?}\n{}",
                    case.templates[*template],
                    batch.decision()
                );
            }
            // Which of several predicates fails first is nobody's promise: an error may hide behind one that
            // already rules the row out, in either order.
            Ok(_) => assert!(may_fail(&case.templates[*template]), "{slot} failed for nothing"),
            Err(_) => assert!(
                failed.contains(slot) || may_fail(&case.templates[*template]),
                "{slot} must fail"
            ),
        }
    }
    for slot in rows.keys() {
        assert!(chosen.iter().any(|(chosen, _)| chosen == slot), "{slot} wants nothing");
    }
}

/// Whether a template holds a pattern that ends inside an escape: whether that is reached depends on the order of
/// evaluation.
fn may_fail(template: &Template) -> bool {
    template.parameters.iter().any(|value| *value == Value::Text("a\\".into()))
        || template.predicates.iter().any(|predicate| format!("{predicate:?}").contains("a\\\\\""))
}

proptest! {
    #![proptest_config(crate::properties::cases(120))]

    #[test]
    fn every_activation_gets_the_rows_it_would_get_alone(case in cases()) {
        check(&case);
    }
}

#[test]
fn a_dropped_index_is_not_asked() {
    let store = Store::new(1);
    let table = store.create_table(schema());
    let mut row: Vec<Value> = TYPES.iter().map(|_| Value::Null).collect();
    row[0] = Value::Integer(7);
    table.insert(&row, Version(1));
    let predicate = Predicate::Compare {
        column: 0,
        comparison: Comparison::Equal,
        value: Scalar::Literal(Value::Integer(7)),
    };
    let predicates: Arc<[Predicate]> = [predicate].into();
    let access = TableAccess::new(&table.schema(), &table.statistics(), predicates, Arc::default());
    assert_eq!(access.index(), Some((IndexId(1), "i1")));
    table.drop_index(IndexId(1));
    row[1] = Value::SmallInt(1);
    table.insert(&row, Version(2));
    store.publish(Version(2));
    let sets = Arc::new(SetTable::new(1));
    let request = Request { slot: Slot(0), access: &access, parameters: &[] };
    let batch = TableBatch::new(table.view(Version(2)), &sets, &[request]);
    assert_eq!(batch.run().tuples.rows, 2);
    assert_eq!(batch.decision().riding, 1);
}

#[test]
fn a_chunk_is_large_enough_to_matter() {
    const { assert!(CHUNK_ROWS >= 1024, "copies of rows fill several chunks") }
}
