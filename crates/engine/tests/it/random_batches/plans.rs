//! Random plans over random tables: trees of joins, stars and snowflakes, groupings, sets, orders; and parameters for them.

use engine::plan::{
    Aggregate, AggregateFunction, JoinKind, PlanNode, ScalarSubquery, SortKey, TemplatePlan,
};
use engine::types::{Comparison, DataType, Predicate, Scalar, Value};

use super::expressions::{Computed, Formula};
use super::tables::{self, KEY, NUMBER, REFERENCE, Tables};
use crate::bookstore;
use crate::choices::{Choices, Numbers};

/// Rows beyond which a statement has to group or to cut.
const MANY: f64 = 3_000.0;
/// Rows that no join may have.
const TOO_MANY: f64 = 60_000.0;

/// What is known of an output column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    data_type: DataType,
    domain: Domain,
    /// No two rows have the same value.
    unique: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Domain {
    /// Keys of a table.
    KeyOf(usize),
    /// Below 40.
    Number,
    Any,
}

/// What a parameter stands for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// What a column may hold.
    Like(Column),
    Pattern,
    /// What a formula takes: 0 makes some fail.
    Divisor,
    /// Rows of a group.
    Count,
    /// Rows to skip or to keep.
    Limit,
    /// A subquery's value: none is given.
    Subquery,
}

/// How an answer is ordered.
#[derive(Clone, Debug)]
pub enum Order {
    /// In any way.
    None,
    /// As the interpreter has it.
    Total,
    /// By these keys; rows equal in them may come in any order, and be cut anywhere.
    Ties(Vec<SortKey>),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    pub plan: TemplatePlan,
    asked: Vec<Asked>,
    pub order: Order,
    /// Parameters that make it fail where they are 0 and a row gets there.
    pub fails: Vec<usize>,
}

impl Statement {
    /// Values of its parameters.
    pub fn parameters(&self, tables: &Tables, choices: &mut Choices) -> Vec<Value> {
        self.asked.iter().map(|asked| parameter(*asked, tables, choices)).collect()
    }
}

fn parameter(asked: Asked, tables: &Tables, choices: &mut Choices) -> Value {
    let patterns = ["%re%", "blue-3", "green%", "%-1", "_ed-%", "%", "x%y%z", "R%", "gr_n", ""];
    match asked {
        Asked::Like(_) if choices.chance(4) => Value::Null,
        Asked::Like(column) => match column.domain {
            Domain::KeyOf(table) => {
                let plan = &tables.plans[table];
                tables::key(column.data_type, plan.step(), choices.below(plan.rows + 3))
            }
            Domain::Number => Value::Integer(choices.below(42) as i32),
            Domain::Any => tables::value(&mut Numbers(choices.below(40) as u64), column.data_type),
        },
        Asked::Pattern => Value::Text((*choices.pick(&patterns)).into()),
        Asked::Divisor => Value::Integer(12 - choices.below(13) as i32),
        Asked::Count => Value::BigInt(choices.below(4) as i64),
        Asked::Limit => Value::Integer(choices.below(14) as i32),
        Asked::Subquery => Value::Null,
    }
}

/// A tree and what it puts out.
#[derive(Clone, Debug)]
struct Made {
    node: PlanNode,
    columns: Vec<Column>,
    /// About so many rows.
    rows: f64,
}

impl Made {
    fn types(&self) -> Vec<DataType> {
        self.columns.iter().map(|column| column.data_type).collect()
    }

    fn map(
        self,
        columns: Vec<Column>,
        rows: f64,
        over: impl FnOnce(Box<PlanNode>) -> PlanNode,
    ) -> Made {
        Made { node: over(Box::new(self.node)), columns, rows }
    }

    /// Columns for which something holds.
    fn columns_that(&self, hold: impl Fn(&Column) -> bool) -> Vec<usize> {
        (0..self.columns.len()).filter(|column| hold(&self.columns[*column])).collect()
    }
}

/// Makes random statements.
pub struct Maker<'a> {
    choices: &'a mut Choices,
    tables: &'a Tables,
    asked: Vec<Asked>,
    fails: Vec<usize>,
    subqueries: Vec<ScalarSubquery>,
    /// Inputs of joins with a breaker, which may be named again.
    known: Vec<Made>,
    order: Order,
}

/// A random statement.
pub fn statement(choices: &mut Choices, tables: &Tables, number: usize) -> Statement {
    let (asked, fails, subqueries, known) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let order = Order::None;
    let mut maker = Maker { choices, tables, asked, fails, subqueries, known, order };
    let made = maker.statement();
    let made = if maker.choices.chance(12) { maker.below_subquery(made) } else { made };
    let made = maker.finished(made);
    let types: Vec<(&str, DataType)> = made.types().into_iter().map(|own| ("c", own)).collect();
    let parameters: Vec<DataType> = maker.asked.iter().map(|asked| asked.data_type()).collect();
    let text = format!("random {number}");
    let mut plan = bookstore::template(made.node, &types, &parameters, &text);
    plan.scalar_subqueries = maker.subqueries;
    Statement { plan, asked: maker.asked, order: maker.order, fails: maker.fails }
}

impl Asked {
    fn data_type(self) -> DataType {
        match self {
            Asked::Like(column) => column.data_type,
            Asked::Pattern => DataType::Text,
            Asked::Count => DataType::BigInt,
            Asked::Divisor | Asked::Limit | Asked::Subquery => DataType::Integer,
        }
    }
}

impl Maker<'_> {
    fn ask(&mut self, asked: Asked) -> Scalar {
        self.asked.push(asked);
        Scalar::Parameter(self.asked.len() - 1)
    }

    fn value(&mut self, column: Column) -> Scalar {
        match self.choices.chance(15) {
            true => Scalar::Literal(parameter(Asked::Like(column), self.tables, self.choices)),
            false => self.ask(Asked::Like(column)),
        }
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        *self.choices.pick(&[Less, Equal, GreaterOrEqual, LessOrEqual, Greater, Equal, NotEqual])
    }

    fn compare(&mut self, columns: &[Column], column: usize) -> Predicate {
        let comparison = self.comparison();
        Predicate::Compare { column, comparison, value: self.value(columns[column]) }
    }

    /// A predicate over the columns from `first` on.
    fn predicate(&mut self, columns: &[Column], first: usize) -> Predicate {
        let column = first + self.choices.below(columns.len() - first);
        let own = columns[column];
        let negated = self.choices.chance(30);
        match self.choices.below(13) {
            0..6 => self.compare(columns, column),
            6 | 7 => {
                let count = *self.choices.pick(&[2, 1, 3, 12]);
                let values = (0..count).map(|_| self.value(own)).collect();
                Predicate::In { column, values, negated }
            }
            8 if own.data_type.is_string() => Predicate::Like {
                column,
                pattern: self.ask(Asked::Pattern),
                negated,
                case_insensitive: self.choices.chance(30),
            },
            9 => Predicate::IsNull { column, negated },
            10 => {
                let other = self.predicate(columns, first);
                let more = vec![self.predicate(columns, first), self.compare(columns, column)];
                Predicate::Or(vec![vec![other], more])
            }
            11 if own.data_type == DataType::Integer => {
                let parameter = self.asked.len();
                self.asked.push(Asked::Divisor);
                let fails = self.choices.chance(50);
                let formula = if fails { Formula::Quotient } else { Formula::AtMost };
                self.fails.extend(fails.then_some(parameter));
                Predicate::Expression(Computed::new(formula, column, parameter))
            }
            // Between two bounds.
            _ => {
                let (least, most) = (self.value(own), self.value(own));
                let from = Comparison::GreaterOrEqual;
                let to = Comparison::LessOrEqual;
                let least = Predicate::Compare { column, comparison: from, value: least };
                let most = Predicate::Compare { column, comparison: to, value: most };
                Predicate::Or(vec![vec![least, most]])
            }
        }
    }

    fn predicates(&mut self, columns: &[Column], most: usize) -> Vec<Predicate> {
        let mut all = Vec::new();
        for _ in 0..self.choices.below(most + 1) {
            match self.predicate(columns, 0) {
                // One arm is a conjunction.
                Predicate::Or(mut arms) if arms.len() == 1 => all.append(&mut arms[0]),
                predicate => all.push(predicate),
            }
        }
        all
    }

    fn table(&mut self) -> usize {
        self.choices.below(self.tables.plans.len())
    }

    fn columns_of(&self, table: usize) -> Vec<Column> {
        let plan = &self.tables.plans[table];
        let column = |(number, &data_type): (usize, &DataType)| {
            let domain = match number {
                KEY => Domain::KeyOf(table),
                REFERENCE => Domain::KeyOf(plan.refers_to),
                NUMBER => Domain::Number,
                _ => Domain::Any,
            };
            Column { data_type, domain, unique: number == KEY }
        };
        plan.types.iter().enumerate().map(column).collect()
    }

    fn scan_of(&mut self, table: usize, most: usize) -> Made {
        let columns = self.columns_of(table);
        let predicates = self.predicates(&columns, most);
        let plan = &self.tables.plans[table];
        Made { node: bookstore::scan(plan.id, predicates), columns, rows: plan.rows as f64 }
    }

    /// A table's rows, sometimes through a breaker, sometimes those of an earlier input.
    fn input(&mut self) -> Made {
        let table = self.table();
        let scan = self.scan_of(table, 2);
        let columns: Vec<Column> =
            scan.columns.iter().map(|column| Column { unique: false, ..*column }).collect();
        let rows = scan.rows;
        let made = match self.choices.below(10) {
            5 => scan.map(columns, rows, |input| PlanNode::Distinct { input }),
            6 => {
                let keys = (0..columns.len()).collect();
                let over = |input| PlanNode::Aggregate { input, keys, aggregates: vec![] };
                scan.map(columns, rows, over)
            }
            7 => {
                let fetch = Some(self.ask(Asked::Limit));
                let keys = self.total_order(columns.len());
                scan.map(columns, 14.0, |input| PlanNode::Sort { input, keys, skip: None, fetch })
            }
            8 | 9 if !self.known.is_empty() => return self.again(),
            _ => return scan,
        };
        self.known.push(made.clone());
        made
    }

    /// An earlier input, or one that differs from it by a condition.
    fn again(&mut self) -> Made {
        let known = self.choices.below(self.known.len());
        let known = self.known[known].clone();
        match self.choices.chance(30) {
            true => self.filtered(known),
            false => known,
        }
    }

    fn filtered(&mut self, made: Made) -> Made {
        let predicates = self.predicates(&made.columns, 2);
        let (columns, rows) = (made.columns.clone(), made.rows);
        made.map(columns, rows, |input| PlanNode::Filter { input, predicates })
    }

    /// Columns of both sides that can be compared, references and keys first.
    fn key(&mut self, left: &Made, right: &Made) -> Option<(usize, usize)> {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (l, a) in left.columns.iter().enumerate() {
            let comparable = |b: &Column| b.data_type == a.data_type;
            pairs.extend(right.columns_that(comparable).into_iter().map(|r| (l, r)));
        }
        let refers = |&(l, r): &(usize, usize)| {
            let (a, b) = (left.columns[l], right.columns[r]);
            b.unique && a.domain == b.domain
        };
        let others = pairs.iter().copied().filter(|pair| !refers(pair)).collect::<Vec<_>>();
        pairs.retain(refers);
        let few = |&(l, r): &(usize, usize)| joined_rows(left, right, &[(l, r)]) <= TOO_MANY;
        let others: Vec<_> = others.into_iter().filter(few).collect();
        let from = if self.choices.chance(40) && !others.is_empty() { &others } else { &pairs };
        (!from.is_empty()).then(|| *self.choices.pick(from))
    }

    fn join(&mut self, left: Made, right: Made) -> Made {
        use JoinKind::*;
        let kind = *self.choices.pick(&[Inner, Inner, Inner, Left, Semi, Anti, Right, Full]);
        let Some(key) = self.key(&left, &right) else { return left };
        let mut keys = vec![key];
        let both = [left.columns.clone(), right.columns.clone()].concat();
        let first = left.columns.len();
        let mut residual = Vec::new();
        if self.choices.chance(20) {
            residual.push(self.predicate(&both, first));
        }
        if self.choices.chance(15) {
            residual.push(Predicate::Compare {
                column: key.0,
                comparison: self.comparison(),
                value: Scalar::Column(first + key.1),
            });
        }
        if self.choices.chance(10) {
            keys.extend(self.key(&left, &right));
        }
        if left.rows * right.rows <= TOO_MANY && self.choices.chance(8) {
            keys.clear();
            let values = vec![Scalar::Column(key.0), Scalar::Column(key.0)];
            residual.push(Predicate::In { column: first + key.1, values, negated: false });
        }
        let rows = joined_rows(&left, &right, &[key]);
        let (columns, rows) = match kind {
            Semi | Anti => (left.columns.clone(), left.rows),
            Inner | Left => (both, rows),
            Right | Full => (both, rows + right.rows),
        };
        let mut columns = columns;
        let keeps = right.columns[key.1].unique && !matches!(kind, Right | Full);
        columns.iter_mut().enumerate().for_each(|(n, own)| own.unique &= keeps && n < first);
        let right = Box::new(right.node);
        left.map(columns, rows, |left| PlanNode::Join { kind, left, right, keys, residual })
    }

    fn joins(&mut self) -> Made {
        let mut made = self.input();
        for _ in 0..self.choices.below(3) {
            let right = self.input();
            made = self.join(made, right);
        }
        if self.choices.chance(40) { self.filtered(made) } else { made }
    }

    /// Groups over inner joins of one table by keys of others, which may refer to further ones.
    fn star(&mut self) -> Made {
        let largest = (0..self.tables.plans.len()).max_by_key(|t| self.tables.plans[*t].rows);
        let fact = match self.choices.chance(30) {
            true => self.table(),
            false => largest.expect("there are tables"),
        };
        let most = usize::from(self.choices.chance(40));
        let mut made = self.scan_of(fact, most);
        if self.choices.chance(20) {
            // Arms over different columns, which the fact table's rows meet before and after dimensions.
            let arms = [KEY, REFERENCE, NUMBER].map(|column| self.compare(&made.columns, column));
            let arms = arms.into_iter().skip(self.choices.below(2)).map(|arm| vec![arm]);
            let PlanNode::Scan { predicates, .. } = &mut made.node else { unreachable!() };
            predicates.push(Predicate::Or(arms.collect()));
        }
        let width = made.columns.len();
        for _ in 0..self.choices.between(1, 3) {
            let refers = |column: &Column| matches!(column.domain, Domain::KeyOf(_));
            let references = made.columns_that(refers);
            let outer = *self.choices.pick(&references);
            let Domain::KeyOf(table) = made.columns[outer].domain else { unreachable!() };
            let most = self.choices.between(0, 2);
            let mut dimension = self.scan_of(table, most);
            if self.choices.chance(70) {
                // The family that was once answered wrongly: ranges of an indexed key, beside others.
                let range = self.compare(&dimension.columns, KEY);
                let PlanNode::Scan { predicates, .. } = &mut dimension.node else { unreachable!() };
                predicates.push(range);
            }
            let columns = [made.columns.clone(), dimension.columns.clone()].concat();
            let rows = made.rows;
            let joined =
                |left: Box<PlanNode>| bookstore::join(*left, dimension.node, &[(outer, KEY)]);
            made = made.map(columns, rows, joined);
        }
        let keys = (0..self.choices.below(3))
            .map(|_| width + self.choices.below(made.columns.len() - width));
        let keys = keys.collect();
        self.grouped(made, keys, width)
    }

    /// A grouping whose aggregates read the first `width` columns.
    fn grouped(&mut self, made: Made, keys: Vec<usize>, width: usize) -> Made {
        let count = self.choices.between(usize::from(keys.is_empty()), 3);
        let aggregates: Vec<Aggregate> =
            (0..count).map(|_| self.aggregate(&made.columns[..width])).collect();
        let mut columns: Vec<Column> = keys.iter().map(|key| made.columns[*key]).collect();
        columns.extend(aggregates.iter().map(|aggregate| any(aggregate.data_type)));
        columns.iter_mut().for_each(|column| column.unique = false);
        let rows = if keys.is_empty() { 1.0 } else { made.rows.min(2_000.0) };
        let key_count = keys.len();
        let counts = aggregates.iter().position(|own| own.function == AggregateFunction::Count);
        let made = made.map(columns, rows, |input| PlanNode::Aggregate { input, keys, aggregates });
        let Some(count) = counts.filter(|_| self.choices.chance(20)) else { return made };
        let having = Predicate::Compare {
            column: key_count + count,
            comparison: Comparison::Greater,
            value: self.ask(Asked::Count),
        };
        let (columns, rows) = (made.columns.clone(), made.rows);
        made.map(columns, rows, |input| PlanNode::Filter { input, predicates: vec![having] })
    }

    fn aggregate(&mut self, columns: &[Column]) -> Aggregate {
        use AggregateFunction::*;
        let column = self.choices.below(columns.len());
        let function = *self.choices.pick(&[Count, Sum, Max, Min, Average]);
        let (function, data_type) = result(function, columns[column].data_type);
        let all = function == Count && !self.choices.chance(40);
        let integer = columns.iter().position(|column| column.data_type == DataType::Integer);
        let filter = integer.filter(|_| self.choices.chance(15)).map(|column| {
            self.asked.push(Asked::Divisor);
            Computed::new(Formula::AtMost, column, self.asked.len() - 1) as _
        });
        Aggregate {
            function,
            argument: (!all).then_some(Scalar::Column(column)),
            distinct: !all && self.choices.chance(25),
            filter,
            data_type,
        }
    }

    fn statement(&mut self) -> Made {
        match self.choices.below(10) {
            0 | 1 => self.joins(),
            2 => {
                let made = self.joins();
                self.grouped_anyhow(made)
            }
            3 => {
                let made = self.joins();
                let count = self.choices.between(1, 3);
                let made = self.projected(made, count);
                let (columns, rows) = (made.columns.clone(), made.rows);
                made.map(columns, rows, |input| PlanNode::Distinct { input })
            }
            4 => self.union(),
            5 => {
                let made = self.joins();
                self.sorted(made)
            }
            6 => {
                // Two groupings of one statement, perhaps over the same star.
                let (left, right) = (self.star(), self.star());
                self.join(left, right)
            }
            7 => {
                let made = self.star();
                self.sorted(made)
            }
            _ => self.star(),
        }
    }

    fn grouped_anyhow(&mut self, made: Made) -> Made {
        let keys = (0..self.choices.below(4)).map(|_| self.choices.below(made.columns.len()));
        let keys = keys.collect();
        let width = made.columns.len();
        self.grouped(made, keys, width)
    }

    /// So many of the columns, one of them computed sometimes.
    fn projected(&mut self, made: Made, count: usize) -> Made {
        let mut columns = Vec::new();
        let mut expressions = Vec::new();
        for _ in 0..count {
            let column = self.choices.below(made.columns.len());
            let own = Column { unique: false, ..made.columns[column] };
            if own.data_type == DataType::Integer && self.choices.chance(20) {
                self.asked.push(Asked::Divisor);
                let sum = Computed::new(Formula::Sum, column, self.asked.len() - 1);
                expressions.push(Scalar::Expression(sum));
                columns.push(any(DataType::Integer));
                continue;
            }
            expressions.push(Scalar::Column(column));
            columns.push(own);
        }
        let types = columns.iter().map(|column| column.data_type).collect();
        let rows = made.rows;
        made.map(columns, rows, |input| PlanNode::Project { input, expressions, types })
    }

    /// All rows of two inputs, of which the second one is the first one again sometimes.
    fn union(&mut self) -> Made {
        let first = self.joins();
        let columns = [KEY, NUMBER].map(|column| (column, first.columns[column].data_type));
        let second = match self.choices.chance(50) {
            true => first.clone(),
            false => {
                let table = self.table();
                self.scan_of(table, 2)
            }
        };
        let fits = columns.iter().all(|(column, t)| second.columns[*column].data_type == *t);
        let (a, b) = (first, if fits { Some(second) } else { None });
        let rows = a.rows + b.as_ref().map_or(0.0, |b| b.rows);
        let out = columns.iter().map(|(_, data_type)| any(*data_type)).collect();
        let inputs = std::iter::once(a).chain(b);
        let inputs = inputs.map(|made| bookstore::project(made.node, &columns)).collect();
        Made { node: PlanNode::Union { inputs }, columns: out, rows }
    }

    fn sort_key(&mut self, column: usize) -> SortKey {
        let (descending, nulls_first) = (self.choices.chance(50), self.choices.chance(50));
        SortKey { column, descending, nulls_first }
    }

    /// Sort keys that leave no ties between different rows.
    fn total_order(&mut self, width: usize) -> Vec<SortKey> {
        let first = self.choices.below(width);
        std::iter::once(first).chain(0..width).map(|column| self.sort_key(column)).collect()
    }

    /// An order at the top, with or without ties.
    fn sorted(&mut self, made: Made) -> Made {
        let width = made.columns.len();
        let total = self.choices.chance(50);
        let keys = match total {
            true => self.total_order(width),
            false => {
                let columns = (0..self.choices.between(1, 2)).map(|_| self.choices.below(width));
                let columns: Vec<usize> = columns.collect();
                columns.into_iter().map(|column| self.sort_key(column)).collect()
            }
        };
        self.order = if total { Order::Total } else { Order::Ties(keys.clone()) };
        let cuts = made.rows > MANY || !self.choices.chance(30);
        let fetch = cuts.then(|| self.ask(Asked::Limit));
        let skip = self.choices.chance(30).then(|| self.ask(Asked::Limit));
        let columns = made.columns.clone();
        let rows = if cuts { 14.0 } else { made.rows };
        made.map(columns, rows, |input| PlanNode::Sort { input, keys, skip, fetch })
    }

    /// `WHERE column <= (SELECT max(column) ..)`, where a column is an integer.
    fn below_subquery(&mut self, made: Made) -> Made {
        let integer = |column: &Column| column.data_type == DataType::Integer;
        if !matches!(self.order, Order::None) || made.columns_that(integer).is_empty() {
            return made;
        }
        let integers = made.columns_that(integer);
        let column = *self.choices.pick(&integers);
        let table = self.table();
        let inner = self.scan_of(table, 2);
        let Scalar::Parameter(parameter) = self.ask(Asked::Subquery) else { unreachable!() };
        use AggregateFunction::{Max, Min};
        let function = *self.choices.pick(&[Max, Min]);
        let aggregates = vec![bookstore::aggregate(function, Some(NUMBER), DataType::Integer)];
        let input = Box::new(inner.node);
        let root = PlanNode::Aggregate { input, keys: vec![], aggregates };
        self.subqueries.push(ScalarSubquery { parameter, root });
        let predicates = vec![bookstore::compare(column, Comparison::LessOrEqual, parameter)];
        let (columns, rows) = (made.columns.clone(), made.rows);
        made.map(columns, rows, |input| PlanNode::Filter { input, predicates })
    }

    /// Few rows come out.
    fn finished(&mut self, made: Made) -> Made {
        match made.rows > MANY {
            true => self.grouped_anyhow(made),
            false => made,
        }
    }
}

fn any(data_type: DataType) -> Column {
    Column { data_type, domain: Domain::Any, unique: false }
}

fn joined_rows(left: &Made, right: &Made, keys: &[(usize, usize)]) -> f64 {
    let pairs = left.rows * right.rows;
    let factor = |&(l, r): &(usize, usize)| match (left.columns[l].unique, right.columns[r].unique)
    {
        (_, true) => left.rows / pairs.max(1.0),
        (true, false) => right.rows / pairs.max(1.0),
        _ => 0.15,
    };
    pairs * keys.iter().map(factor).product::<f64>()
}

/// An aggregate that there is for a type, and its result's.
fn result(function: AggregateFunction, argument: DataType) -> (AggregateFunction, DataType) {
    use AggregateFunction::*;
    let wide = |scale| DataType::Numeric { precision: 38, scale };
    match (function, argument) {
        (Count, _) => (Count, DataType::BigInt),
        (Min | Max, data_type) => (function, data_type),
        (Sum, DataType::SmallInt | DataType::Integer) => (Sum, DataType::BigInt),
        (Sum, DataType::BigInt) => (Sum, wide(0)),
        (Sum, DataType::Numeric { scale, .. }) => (Sum, wide(scale)),
        (Sum, DataType::Real) => (Sum, DataType::Real),
        (Sum | Average, DataType::Double) => (function, DataType::Double),
        (Average, DataType::Real) => (Average, DataType::Double),
        (Average, DataType::SmallInt | DataType::Integer | DataType::BigInt) => (Average, wide(6)),
        (Average, DataType::Numeric { .. }) => (Average, wide(6)),
        (Sum | Average, _) => (Count, DataType::BigInt),
    }
}
