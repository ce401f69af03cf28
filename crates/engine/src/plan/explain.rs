//! A template's path through the global plan, as a tree and as text.
//!
//! One line per operator, inputs indented below their consumer: what it does, the node of the global plan, which
//! other templates use it, how a table is reached and why, what sharing would cost. Deterministic for a given
//! plan, so tests keep it as golden text.

use std::fmt;

use super::access::Access;
use super::catalog::{Catalog, PlannedTable};
use super::compiled::{CompiledTemplate, Operation, Operator, Weight};
use super::cost::{self, Choice};
use super::lane_plan::{LaneNode, LanePlan};
use super::selectivity::ASSUMED_BATCH;
use super::signature::{function_name, kind_name, table_name};
use super::{Aggregate, SortKey, TemplatePlan};
use crate::types::{Comparison, LaneId, Predicate, Scalar, TemplateId, Value};

/// Whose path is told.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// The template's number.
    pub template: TemplateId,
    /// Its statement.
    pub plan: &'a TemplatePlan,
    /// Its operators.
    pub compiled: &'a CompiledTemplate,
    /// Its lane.
    pub lane: LaneId,
    /// The lane's nodes.
    pub lane_plan: &'a LanePlan,
    /// The tables.
    pub catalog: &'a Catalog,
}

/// A template's path: what EXPLAIN tells, before it is text or JSON.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The lane, and with how many templates it is shared.
    pub lane: String,
    /// Scalar subqueries that run first, with what is said of each.
    pub subqueries: Vec<(String, Step)>,
    /// The operator that gives the answer.
    pub root: Step,
    /// What is known of a run, line by line.
    pub run: Vec<String>,
}

/// One operator of a path.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it is, in a word or two.
    pub kind: &'static str,
    /// What it does.
    pub headline: String,
    /// Its node in the global plan and who else uses that.
    pub node: Option<String>,
    /// What else is known of it, line by line.
    pub details: Vec<String>,
    /// Where its rows come from.
    pub inputs: Vec<Step>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.lane)?;
        for (what, root) in &self.subqueries {
            writeln!(f, "{what}")?;
            root.write(f, 1)?;
        }
        self.root.write(f, 0)?;
        self.run.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Step {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        write!(f, "{indent}{}", self.headline)?;
        if let Some(node) = &self.node {
            write!(f, "  [node {node}]")?;
        }
        writeln!(f)?;
        for line in &self.details {
            writeln!(f, "{indent}    {line}")?;
        }
        self.inputs.iter().try_for_each(|input| input.write(f, depth + 1))
    }
}

impl Explained<'_> {
    /// The path; `notes` gives what else is known of a node, line by line.
    pub fn explanation(&self, notes: &dyn Fn(&LaneNode) -> Vec<String>) -> Explanation {
        let weight = weight_name(self.compiled.weight);
        let templates = self.lane_plan.members.len();
        let lane = format!("Lane {} ({weight}, {})", self.lane, counted(templates));
        let subqueries = self.compiled.subqueries.iter().map(|subquery| {
            let place = subquery.parameter + 1;
            let what = format!("Scalar subquery ${place} (run once per distinct input)");
            (what, self.alone(&subquery.root))
        });
        let mut uses = Vec::new();
        if let Some(member) = self.lane_plan.member(self.template) {
            uses = self.lane_plan.members[member].uses.iter().map(|used| used.node).collect();
        }
        let root = self.shared(&self.compiled.root, &uses, &mut 0, notes);
        Explanation { lane, subqueries: subqueries.collect(), root, run: Vec::new() }
    }

    /// `nodes` were noted inputs first; so many of them have been told.
    fn shared(
        &self,
        operator: &Operator,
        nodes: &[usize],
        told: &mut usize,
        notes: &dyn Fn(&LaneNode) -> Vec<String>,
    ) -> Step {
        let inputs = operator.inputs.iter();
        let inputs = inputs.map(|input| self.shared(input, nodes, told, notes)).collect();
        let mut step = Step { inputs, ..self.step(operator) };
        if let Operation::Reused { first, .. } = operator.operation {
            let node = nodes.get(first).map(|n| self.lane_plan.nodes[*n].id);
            step.node = node.map(|id| format!("{id}, as above"));
            return step;
        }
        if let Some(node) = nodes.get(*told).map(|n| &self.lane_plan.nodes[*n]) {
            step.node = Some(format!("{}{}", node.id, self.company(node)));
            if self.compiled.weight == Weight::Heavy {
                step.details.push(sharing(operator));
            }
            step.details.extend(notes(node));
        }
        *told += 1;
        step
    }

    fn alone(&self, operator: &Operator) -> Step {
        let inputs = operator.inputs.iter().map(|input| self.alone(input)).collect();
        Step { inputs, ..self.step(operator) }
    }

    /// An operator by itself.
    fn step(&self, operator: &Operator) -> Step {
        Step {
            kind: kind(&operator.operation),
            headline: self.headline(operator),
            node: None,
            details: self.details(operator),
            inputs: Vec::new(),
        }
    }

    fn company(&self, node: &LaneNode) -> String {
        let mut others: Vec<TemplateId> = node
            .members
            .iter()
            .map(|m| self.lane_plan.members[*m].template)
            .filter(|t| *t != self.template)
            .collect();
        others.dedup();
        if others.is_empty() {
            return String::new();
        }
        let names: Vec<String> = others.iter().take(8).map(|t| t.to_string()).collect();
        let more = others.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(", shared with template {}{more}", names.join(", "))
    }

    fn headline(&self, operator: &Operator) -> String {
        let column = |c: usize| self.column(operator, c);
        match &operator.operation {
            Operation::Scan { table, access: Access::Scan, .. } => {
                format!("Clock Scan of {}", table_name(*table, self.catalog))
            }
            Operation::Scan { table, access: Access::Index(index), .. } => {
                let table = table_name(*table, self.catalog);
                match index.first {
                    Some((true, n)) => format!("Last {n} of {table} by {}", index.name),
                    Some((false, n)) => format!("First {n} of {table} by {}", index.name),
                    None => format!("Index probe of {table} by {}", index.name),
                }
            }
            Operation::Values { rows, .. } => format!("Values ({} rows)", rows.len()),
            Operation::Filter { .. } => "Filter".to_owned(),
            Operation::Project { .. } => "Project".to_owned(),
            Operation::IndexJoin { kind, table, index_name, keys, .. } => {
                let inner = table_name(*table, self.catalog);
                let keys = keys.iter().map(|key| names(key.iter().map(|c| column(*c))));
                let keys: Vec<String> = keys.collect();
                let kind = kind_name(*kind);
                format!("Index join ({kind}) with {inner} by {index_name} on {}", keys.join(" or "))
            }
            Operation::HashJoin { kind, keys, .. } if keys.is_empty() => {
                format!("Cross join ({})", kind_name(*kind))
            }
            Operation::HashJoin { kind, keys, .. } => {
                let width = operator.inputs[0].types.len();
                let pair =
                    |(l, r): &(usize, usize)| format!("{} = {}", column(*l), column(width + *r));
                let keys = keys.iter().map(pair);
                let keys: Vec<String> = keys.collect();
                format!("Hash join ({}) on {}", kind_name(*kind), keys.join(" and "))
            }
            Operation::Aggregate { determinants, aggregates, .. } => {
                let functions: Vec<String> =
                    aggregates.iter().map(|a| aggregate_text(a, &column)).collect();
                let functions = functions.join(", ");
                match determinants.is_empty() {
                    true => format!("Aggregate {functions}"),
                    false => {
                        let keys = names(determinants.iter().map(|c| column(*c)));
                        format!("Group by {keys}: {functions}")
                    }
                }
            }
            Operation::Sort { keys, fetch, .. } => {
                let keys = keys.iter().map(|key| self.sort_key(operator, key));
                let keys: Vec<String> = keys.collect();
                let word = if fetch.is_some() { "Top-N" } else { "Sort" };
                format!("{word} by {}", keys.join(", "))
            }
            Operation::Limit { .. } => "Limit".to_owned(),
            Operation::Distinct => "Distinct".to_owned(),
            Operation::Union => "Union".to_owned(),
            Operation::Reused { operator, .. } => format!("Reused: {}", self.headline(operator)),
        }
    }

    fn details(&self, operator: &Operator) -> Vec<String> {
        let mut lines = Vec::new();
        let mut list = |word: &str, predicates: &[Predicate], column: &dyn Fn(usize) -> String| {
            if !predicates.is_empty() {
                let all: Vec<String> = predicates.iter().map(|p| predicate(p, column)).collect();
                lines.push(format!("{word}: {}", all.join(" and ")));
            }
        };
        let column = |c: usize| self.column(operator, c);
        match &operator.operation {
            Operation::Scan { table, predicates, access } => {
                let own = |c: usize| self.table_column(*table, c);
                list("where", predicates, &own);
                let planned = self.catalog.table(*table).ok();
                lines.extend(planned.map(|planned| self.reason(planned, predicates, access)));
            }
            Operation::Filter { predicates } => list("where", predicates, &column),
            Operation::IndexJoin { table, predicates, residual, .. } => {
                let own = |c: usize| self.table_column(*table, c);
                list("inner where", predicates, &own);
                list("and on", residual, &column);
            }
            Operation::HashJoin { residual, .. } => list("and on", residual, &column),
            Operation::Sort { skip, fetch, .. } | Operation::Limit { skip, fetch } => {
                let named = [("offset", skip), ("limit", fetch)];
                let cut = named.into_iter().filter_map(|(word, scalar)| {
                    Some(format!("{word} {}", value(scalar.as_ref()?, &column)))
                });
                let cut: Vec<String> = cut.collect();
                if !cut.is_empty() {
                    lines.push(cut.join(" "));
                }
            }
            Operation::Reused { .. } => {
                lines.push("the same rows, which are computed once".to_owned());
            }
            _ => {}
        }
        lines
    }

    /// With the rows that the table has now, and the parameters that are asked about: others may have planned it.
    fn reason(&self, table: &PlannedTable, predicates: &[Predicate], access: &Access) -> String {
        let (looked_at, rows) = access.reached(table, predicates);
        let (looked_at, rows) = (rounded(looked_at), rounded(rows));
        match access {
            Access::Index(index) if index.first.is_some() => {
                "the index is in this order".to_owned()
            }
            Access::Index(index) if index.unique => {
                format!("a unique key finds about {looked_at} rows")
            }
            Access::Index(_) => {
                let kept = format!("the index finds about {looked_at} rows, {rows} remain");
                match self.compiled.weight {
                    Weight::Light => kept,
                    Weight::Heavy => format!("{kept}; a large batch may scan instead"),
                }
            }
            Access::Scan => {
                format!(
                    "one pass over about {looked_at} rows for the whole batch, {rows} per activation"
                )
            }
        }
    }

    /// An output column of the operator's inputs by name, where it is a table's.
    fn column(&self, operator: &Operator, column: usize) -> String {
        name_of(operator, column, self.catalog).unwrap_or_else(|| format!("#{column}"))
    }

    fn table_column(&self, table: crate::types::TableId, column: usize) -> String {
        match self.catalog.table(table) {
            Ok(table) => table.column_name(column).to_owned(),
            Err(_) => format!("#{column}"),
        }
    }

    fn sort_key(&self, operator: &Operator, key: &SortKey) -> String {
        let direction = if key.descending { " desc" } else { "" };
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " nulls first",
            (true, false) => " nulls last",
            _ => "",
        };
        format!("{}{direction}{nulls}", self.column(operator, key.column))
    }
}

/// What an operation is, whatever it works on; PostgreSQL's word where it has one.
fn kind(operation: &Operation) -> &'static str {
    match operation {
        Operation::Scan { access: Access::Scan, .. } => "Clock Scan",
        Operation::Scan { access: Access::Index(_), .. } => "Index Scan",
        Operation::Values { .. } => "Values Scan",
        Operation::Filter { .. } => "Filter",
        Operation::Project { .. } => "Project",
        Operation::IndexJoin { .. } => "Index Join",
        Operation::HashJoin { keys, .. } if keys.is_empty() => "Cross Join",
        Operation::HashJoin { .. } => "Hash Join",
        Operation::Aggregate { .. } => "Aggregate",
        Operation::Sort { fetch: Some(_), .. } => "Top-N",
        Operation::Sort { .. } => "Sort",
        Operation::Limit { .. } => "Limit",
        Operation::Distinct => "Unique",
        Operation::Union => "Append",
        Operation::Reused { .. } => "Reused Sub-Plan",
    }
}

/// The name of a column that `operator` reads.
fn name_of(operator: &Operator, column: usize, catalog: &Catalog) -> Option<String> {
    match (&operator.operation, &operator.inputs[..]) {
        (Operation::Scan { table, .. }, _) => {
            Some(catalog.table(*table).ok()?.column_name(column).to_owned())
        }
        (Operation::IndexJoin { table, .. }, [outer]) => {
            match column.checked_sub(outer.types.len()) {
                None => output_name(outer, column, catalog),
                Some(c) => Some(catalog.table(*table).ok()?.column_name(c).to_owned()),
            }
        }
        (_, [left, right]) if column >= left.types.len() => {
            output_name(right, column - left.types.len(), catalog)
        }
        (_, [first, ..]) => output_name(first, column, catalog),
        _ => None,
    }
}

/// The name of an operator's output column.
fn output_name(operator: &Operator, column: usize, catalog: &Catalog) -> Option<String> {
    match &operator.operation {
        Operation::Aggregate { keys, aggregates, .. } => match keys.get(column) {
            Some(key) => name_of(operator, *key, catalog),
            None => {
                let name = |c: usize| name_of(operator, c, catalog).unwrap_or(format!("#{c}"));
                aggregates.get(column - keys.len()).map(|a| aggregate_text(a, &name))
            }
        },
        Operation::Project { expressions, .. } => match expressions.get(column)? {
            Scalar::Column(c) => name_of(operator, *c, catalog),
            Scalar::Expression(expression) => Some(expression.text().to_owned()),
            _ => None,
        },
        Operation::Values { .. } => None,
        Operation::Reused { operator, .. } => output_name(operator, column, catalog),
        _ => name_of(operator, column, catalog),
    }
}

/// A weight in a word.
pub fn weight_name(weight: Weight) -> &'static str {
    match weight {
        Weight::Light => "light",
        Weight::Heavy => "heavy",
    }
}

fn counted(templates: usize) -> String {
    format!("{templates} template{}", if templates == 1 { "" } else { "s" })
}

fn names(names: impl Iterator<Item = String>) -> String {
    format!("({})", names.collect::<Vec<_>>().join(", "))
}

/// Two significant digits: estimates are not more exact.
fn rounded(rows: f64) -> String {
    if rows < 10.0 {
        return format!("{}", rows.ceil().max(0.0));
    }
    let unit = 10f64.powf(rows.log10().floor() - 1.0);
    format!("{}", (rows / unit).round() * unit)
}

fn sharing(operator: &Operator) -> String {
    let batch = ASSUMED_BATCH as usize;
    let Some(decision) = cost::decide(&[(operator, batch)]) else { return String::new() };
    let word = match decision.choice {
        Choice::Shared => "shared",
        Choice::Alone => "alone",
    };
    let micros = |nanos: f64| rounded((nanos / 1000.0).max(1.0));
    format!(
        "{word}: a batch of {batch} costs about {} µs shared, {} µs alone",
        micros(decision.shared),
        micros(decision.alone)
    )
}

fn value(scalar: &Scalar, column: &dyn Fn(usize) -> String) -> String {
    match scalar {
        Scalar::Column(c) => column(*c),
        Scalar::Parameter(parameter) => format!("${}", parameter + 1),
        Scalar::Literal(literal) => literal_text(literal),
        Scalar::Expression(expression) => expression.text().to_owned(),
    }
}

fn aggregate_text(aggregate: &Aggregate, column: &dyn Fn(usize) -> String) -> String {
    let argument = aggregate.argument.as_ref().map_or("*".to_owned(), |a| value(a, column));
    let distinct = if aggregate.distinct { "distinct " } else { "" };
    let filter = aggregate.filter.as_ref();
    let filter = filter.map_or(String::new(), |f| format!(" where {}", f.text()));
    format!("{}({distinct}{argument}){filter}", function_name(aggregate.function))
}

fn literal_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(v) => v.to_string(),
        Value::SmallInt(v) => v.to_string(),
        Value::Integer(v) => v.to_string(),
        Value::BigInt(v) => v.to_string(),
        Value::Real(v) => v.to_string(),
        Value::Double(v) => v.to_string(),
        Value::Text(v) => format!("'{}'", v.replace('\'', "''")),
        other => format!("{other:?}"),
    }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

/// A predicate as SQL.
fn predicate(one: &Predicate, column: &dyn Fn(usize) -> String) -> String {
    let not = |negated: &bool| if *negated { "not " } else { "" };
    match one {
        Predicate::Compare { column: c, comparison, value: v } => {
            format!("{} {} {}", column(*c), symbol(*comparison), value(v, column))
        }
        Predicate::In { column: c, values, negated } => {
            let values: Vec<String> = values.iter().map(|v| value(v, column)).collect();
            format!("{} {}in ({})", column(*c), not(negated), values.join(", "))
        }
        Predicate::Like { column: c, pattern, negated, case_insensitive } => {
            let like = if *case_insensitive { "ilike" } else { "like" };
            format!("{} {}{like} {}", column(*c), not(negated), value(pattern, column))
        }
        Predicate::IsNull { column: c, negated } => {
            format!("{} is {}null", column(*c), not(negated))
        }
        Predicate::Or(arms) => {
            let arm = |arm: &Vec<Predicate>| {
                let all: Vec<String> = arm.iter().map(|p| predicate(p, column)).collect();
                all.join(" and ")
            };
            format!("({})", arms.iter().map(arm).collect::<Vec<_>>().join(" or "))
        }
        Predicate::Expression(expression) => expression.text().to_owned(),
    }
}
