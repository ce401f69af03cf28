//! SELECT without FROM: expressions that no table is read for.
//!
//! In comes a text and the settings that its literals are read by; out goes a [`ConstantQuery`], made by PostgreSQL's parse analysis
//! and computed by its kernels, or nothing where it has more than expressions, or one that no kernel computes: then the text is planned
//! like other queries. Called by `session::constant`.

use std::cell::Cell;
use std::sync::Arc;

use analysis::catalog::{Catalog, Missing, Relation};
use analysis::facts::{FunctionRow, Oid, TypeRow, type_row};
use analysis::tree::{Command, Target};
use analysis::{Analysis, analyze};
use engine::env::memory::Growth;
use engine::types::{Result, Value};
use syntax::{Node, SelectStmt, SetOperation};
use values::datum::Datum;
use values::kernel::Context;

use crate::evaluation::{Computation, Cost, Input, Output, compile, type_of};
use crate::session::ColumnDescription;
use crate::template::{refusal_of_analysis, tree};
use crate::text::{of_values, present};

const NO_MODIFIER: i32 = -1;

/// A SELECT without FROM.
#[derive(Debug)]
pub struct ConstantQuery {
    /// Its columns.
    pub columns: Arc<[ColumnDescription]>,
    /// Type ids of its parameters.
    pub parameters: Vec<u32>,
    /// How these are read: they come as texts.
    inputs: Vec<Input>,
    targets: Vec<(Computation, Output)>,
    /// WHERE.
    condition: Option<Computation>,
    /// Whether it may take longer than whoever serves other clients, too, may be kept.
    pub is_long: bool,
    /// Whether the text means the same at any time: none of its literals named the present (`'today'`).
    pub lasts: bool,
}

/// Whether a statement may be one.
pub fn is_constant(select: SelectStmt<'_>) -> bool {
    let has_more = [
        select.from_clause().len(),
        select.group_clause().len(),
        select.distinct_clause().len(),
        select.sort_clause().len(),
        select.locking_clause().len(),
        select.window_clause().len(),
        select.values_lists().len(),
    ];
    let is_plain = select.op() == SetOperation::None
        && select.with_clause().is_none()
        && select.into_clause().is_none()
        && select.having_clause().is_none()
        && select.limit_count().is_none()
        && select.limit_offset().is_none();
    is_plain && has_more.iter().all(|count| *count == 0)
}

/// The query of a text.
///
/// # Errors
/// What PostgreSQL's analysis says of it, unless it had asked for what only the catalog knows.
pub fn read(text: &str, context: &Context, types: &[u32]) -> Result<Option<ConstantQuery>> {
    let tree = tree(text)?;
    let Some(statement) = tree.statements().next() else { return Ok(None) };
    let Node::SelectStmt(_) = statement.node else { return Ok(None) };
    let nothing = Nothing::default();
    context.clock_was_read.set(false);
    match analyze(text, statement.node, &nothing, context, types) {
        Ok(analysis) => Ok(of_analysis(analysis, context)),
        Err(error) if nothing.was_asked.get() || !is_final(error.sqlstate) => Ok(None),
        Err(error) => Err(refusal_of_analysis(*error)),
    }
}

/// Whether a fault holds whoever plans the statement: not what is unknown to PostgreSQL alone, or deeper than analysis goes.
fn is_final(sqlstate: &str) -> bool {
    !matches!(sqlstate, "0A000" | "42883" | "54001" | "XX000")
}

fn of_analysis(analysis: Analysis, context: &Context) -> Option<ConstantQuery> {
    let Analysis { query, parameters } = analysis;
    let is_plain = query.command == Command::Select
        && query.range_table.is_empty()
        && !query.has_aggregates
        && !query.has_sets
        && query.windows.is_empty();
    if !is_plain {
        return None;
    }
    let mut cost = Cost::default();
    let inputs = parameters.iter().map(|oid| {
        cost.parameter(type_of(*oid)?.name);
        Input::of(*oid)
    });
    let inputs = inputs.collect::<Option<_>>()?;
    let condition = match &query.condition {
        Some(condition) => Some(compile(condition, context, &mut cost)?),
        None => None,
    };
    let target = |target: &Target| {
        let expression = &target.expression;
        Some((compile(expression, context, &mut cost)?, Output::of(expression.type_oid)?))
    };
    let targets = query.columns().map(target).collect::<Option<_>>()?;
    let columns = query.columns().map(described).collect::<Option<_>>()?;
    let is_long = cost.is_long();
    let lasts = !context.clock_was_read.get();
    Some(ConstantQuery { columns, parameters, inputs, targets, condition, is_long, lasts })
}

fn described(target: &Target) -> Option<ColumnDescription> {
    let expression = &target.expression;
    Some(ColumnDescription {
        name: target.name.clone(),
        type_id: expression.type_oid,
        type_size: type_row(expression.type_oid)?.length,
        type_modifier: expression.typmod,
        table: 0,
        column: 0,
    })
}

/// A parameter's value.
fn given(context: &Context, value: &Value, input: Input) -> Result<Datum> {
    match value {
        Value::Text(text) => input.read(context, text, NO_MODIFIER).map_err(of_values),
        Value::Null => Ok(Datum::Null),
        other => unreachable!("a parameter comes as text, not as {other:?}"),
    }
}

impl ConstantQuery {
    /// Whether a value is one of a parameter's type: whoever binds it wants to know before it runs.
    ///
    /// # Errors
    /// What the type's input function says.
    pub fn check_parameter(&self, parameter: usize, value: &Value) -> Result<()> {
        given(&present(), value, self.inputs[parameter]).map(drop)
    }

    /// Its rows, of which there is one at most: each value by its text form.
    ///
    /// # Errors
    /// What the parameters' types and the kernels say; 53200 where there is no room for the texts.
    pub fn rows(&self, context: &Context, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
        let pairs = parameters.iter().zip(&self.inputs);
        let parameters: Vec<Datum> =
            pairs.map(|(value, input)| given(context, value, *input)).collect::<Result<_>>()?;
        let condition = match &self.condition {
            Some(condition) => condition.run(context, &parameters).map_err(of_values)?,
            None => Datum::Bool(true),
        };
        if !matches!(condition, Datum::Bool(true)) {
            return Ok(Vec::new());
        }
        let mut growth = Growth::default();
        let mut row = Vec::with_capacity(self.targets.len());
        for (computation, output) in &self.targets {
            let value = computation.run(context, &parameters).map_err(of_values)?;
            let text = output.write(context, value).map_err(of_values)?;
            growth.add(text.as_deref().map_or(0, str::len))?;
            row.push(text.map_or(Value::Null, Value::Text));
        }
        Ok(vec![row])
    }
}

/// A catalog without anything in it, which remembers whether it was asked.
#[derive(Default)]
struct Nothing {
    was_asked: Cell<bool>,
}

impl Nothing {
    fn answer<T>(&self, answer: T) -> T {
        self.was_asked.set(true);
        answer
    }
}

impl Catalog for Nothing {
    fn relation(&self, _: Option<&str>, _: &str) -> Result<Arc<Relation>, Missing> {
        self.answer(Err(Missing::Relation))
    }

    fn relation_by_oid(&self, _: Oid) -> Option<Arc<Relation>> {
        self.answer(None)
    }

    fn type_named(&self, _: Option<&str>, _: &str) -> Option<&'static TypeRow> {
        self.answer(None)
    }

    fn type_row(&self, _: Oid) -> Option<&'static TypeRow> {
        self.answer(None)
    }

    fn has_label(&self, _: Oid, _: &str) -> bool {
        self.answer(false)
    }

    fn functions_named(&self, _: Option<&str>, _: &str) -> Vec<&'static FunctionRow> {
        Vec::new()
    }

    fn has_schema(&self, _: &str) -> bool {
        self.answer(false)
    }

    fn collation_named(&self, _: Option<&str>, _: &str) -> Option<Oid> {
        self.answer(None)
    }

    fn database(&self) -> &str {
        self.answer("")
    }
}

#[cfg(test)]
mod tests {
    use engine::types::Error;

    use super::*;

    /// Column names with type ids, and the texts of the row; or SQLSTATE and place.
    type Told = Result<(String, String), (&'static str, Option<u32>)>;

    fn answer(text: &str) -> Option<Told> {
        let context = Context::default();
        let told = |error: Error| (error.state.code(), error.position);
        let query = match read(text, &context, &[]) {
            Ok(query) => query?,
            Err(error) => return Some(Err(told(error))),
        };
        let columns = query.columns.iter();
        let columns = columns.map(|column| format!("{}:{}", column.name, column.type_id));
        let columns = columns.collect::<Vec<_>>().join(" ");
        let shown = |value: &Value| match value {
            Value::Text(text) => text.to_string(),
            _ => "NULL".to_owned(),
        };
        let row = |row: &Vec<Value>| row.iter().map(shown).collect::<Vec<_>>().join("|");
        let rows = query.rows(&context, &[]).map_err(told);
        Some(rows.map(|rows| (columns, rows.iter().map(row).collect::<Vec<_>>().join("\n"))))
    }

    fn is(text: &str, columns: &str, row: &str) {
        assert_eq!(answer(text), Some(Ok((columns.to_owned(), row.to_owned()))), "{text}");
    }

    #[test]
    fn values_are_postgresqls() {
        is("SELECT 1, 2.50 AS b, 'c'", "?column?:23 b:1700 ?column?:25", "1|2.50|c");
        is("SELECT 2 ^ 0.5, -2 ^ 2", "?column?:1700 ?column?:701", "1.4142135623730950|4");
        is("SELECT 1 / 3.0, 7 / -2", "?column?:1700 ?column?:23", "0.33333333333333333333|-3");
        is("SELECT least(2.5, 1, 4), greatest(1, NULL)", "least:1700 greatest:23", "1|1");
        is("SELECT time '1:02' + interval '3 h'", "?column?:1083", "04:02:00");
        is("SELECT 'a'::char(3) || 'b', 'abc'::varchar(2)", "?column?:25 varchar:1043", "ab|ab");
        is(
            "SELECT NULL, 5e2, 12345678901",
            "?column?:25 ?column?:1700 ?column?:20",
            "NULL|500|12345678901",
        );
    }

    #[test]
    fn branches_that_are_not_taken_are_not_computed() {
        is("SELECT CASE WHEN 1 = 0 THEN 1 / 0 ELSE 2 END", "case:23", "2");
        is("SELECT CASE 2 WHEN 1 THEN 1 / 0 WHEN 2 THEN 3 END", "case:23", "3");
        is("SELECT coalesce(NULL, 1, 1 / 0)", "coalesce:23", "1");
        is("SELECT false AND 1 / 0 = 1, true OR 1 / 0 = 1", "?column?:16 ?column?:16", "f|t");
    }

    #[test]
    fn nulls_and_rows_are_compared_as_postgresql_does() {
        is("SELECT nullif(1, 1), nullif(1, 2)", "nullif:23 nullif:23", "NULL|1");
        is(
            "SELECT 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL",
            "?column?:16 ?column?:16",
            "t|t",
        );
        is(
            "SELECT ROW(NULL, NULL) IS NULL, ROW(1, NULL) IS NOT NULL",
            "?column?:16 ?column?:16",
            "t|f",
        );
        is(
            "SELECT (1, 2) < (1, 3), (1, NULL) <= (2, 1), (1, NULL) < (1, 2)",
            "?column?:16 ?column?:16 ?column?:16",
            "t|t|NULL",
        );
        is(
            "SELECT 2 IN (1, 2), 2 NOT IN (1, NULL), 3 IN (1, NULL, 3)",
            "?column?:16 ?column?:16 ?column?:16",
            "t|NULL|t",
        );
        is(
            "SELECT NULL AND false, NULL OR NULL, NOT NULL",
            "?column?:16 ?column?:16 ?column?:16",
            "f|NULL|NULL",
        );
        is("SELECT 1 WHERE NULL", "?column?:23", "");
    }

    #[test]
    fn faults_are_told_with_their_places() {
        assert_eq!(answer("SELECT 'a'::int"), Some(Err(("22P02", Some(8)))));
        assert_eq!(answer("SELECT 'a' + 'b'"), Some(Err(("42725", Some(12)))));
        assert_eq!(answer("SELECT 1 / 0"), Some(Err(("22012", None))));
        assert_eq!(answer("SELECT nosuch"), Some(Err(("42703", Some(8)))));
    }

    #[test]
    fn what_no_kernel_computes_is_planned_elsewhere() {
        for text in [
            "SELECT version()",
            "SELECT nextval('s')",
            "SELECT (SELECT 1 FROM t)",
            "SELECT ARRAY[1, 2]",
            "SELECT generate_series(1, 3)",
            "SELECT count(*)",
            "SELECT 'a'::mood",
            "SELECT repeat('x', 1000000000)",
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[test]
    fn parameters_get_the_types_that_their_places_ask_for() {
        let context = Context::default();
        let query = read("SELECT $1 + 1, $2, $3::numeric(5,1) WHERE $4", &context, &[]);
        let query = query.expect("it is SQL").expect("it is computed");
        assert_eq!(query.parameters, [23, 25, 1700, 16]);
        let texts = |texts: [&str; 4]| texts.map(|text| Value::Text(text.into()));
        let row = query.rows(&context, &texts(["41", "a", "2.25", "t"])).expect("one row");
        assert_eq!(
            row,
            [vec!["42", "a", "2.3"].into_iter().map(|t| Value::Text(t.into())).collect::<Vec<_>>()]
        );
        assert_eq!(query.rows(&context, &texts(["1", "a", "1", "f"])), Ok(Vec::new()));
        let fault = query.rows(&context, &texts(["x", "a", "1", "t"])).expect_err("no number");
        assert_eq!(fault.state.code(), "22P02");
        assert_eq!(
            read("SELECT $2::int", &context, &[]).expect_err("no type").state.code(),
            "42P18"
        );
    }

    #[test]
    fn what_may_take_long_is_known_before() {
        let is_long = |text: &str| {
            let query = read(text, &Context::default(), &[]).expect(text).expect(text);
            query.is_long
        };
        assert!(!is_long("SELECT 1 + 2, 1.5 * 3, upper('a'), now()"));
        assert!(is_long("SELECT factorial(30000)"));
        assert!(is_long("SELECT 'a' ~ 'b'"));
        assert!(is_long("SELECT quote_literal('a')"));
        assert!(is_long("SELECT 'a'::bytea::text"));
        assert!(is_long("SELECT 1e131071 * 1e5"));
    }
}
