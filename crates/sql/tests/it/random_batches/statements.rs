//! Random statements as text: a shape, which several members of a batch have in common, and constants of each one's own.

use super::schema::{Column, Domain, Schema};
use crate::choices::Choices;

/// Rows that no join may have.
const TOO_MANY: f64 = 40_000.0;
/// Rows beyond which a statement has to group or to cut.
const MANY: f64 = 1_500.0;

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    pub text: String,
    pub order: Order,
}

/// How its answer is ordered.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// In any way.
    None,
    /// By these columns; rows that are equal in them come in any way, and may be cut anywhere where there is a cut.
    By { columns: Vec<usize>, cut: bool },
}

/// Something in FROM.
#[derive(Clone, Debug)]
struct Source {
    alias: String,
    columns: Vec<Column>,
}

/// What FROM says.
#[derive(Debug)]
struct From {
    text: String,
    sources: Vec<Source>,
    rows: f64,
}

pub struct Maker<'a> {
    pub schema: &'a Schema,
    pub shape: &'a mut Choices,
    /// Constants.
    pub values: &'a mut Choices,
    aliases: usize,
}

const COMPARISONS: [&str; 7] = ["<", "=", ">=", "<=", ">", "=", "<>"];

impl<'a> Maker<'a> {
    pub fn new(schema: &'a Schema, shape: &'a mut Choices, values: &'a mut Choices) -> Maker<'a> {
        Maker { schema, shape, values, aliases: 0 }
    }

    pub fn statement(&mut self) -> Statement {
        match self.shape.below(12) {
            0 | 1 => self.rows(),
            2 => self.grouped(),
            3 => self.distinct(),
            4 => self.set_operation(),
            5 => self.windows(),
            6 => self.named_twice(),
            7 => self.two_stars(),
            _ => self.star(),
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    fn constant(&mut self, column: &Column) -> String {
        let place = self.values.below(1 << 12);
        self.schema.value(column, place)
    }

    fn number(&mut self, end: usize) -> String {
        self.values.below(end).to_string()
    }

    fn column(&mut self, sources: &[Source]) -> (String, Column) {
        let source = self.shape.pick(sources);
        let column = self.shape.pick(&source.columns);
        (format!("{}.{}", source.alias, column.name), column.clone())
    }

    fn column_that(
        &mut self,
        sources: &[Source],
        holds: impl Fn(&Column) -> bool,
    ) -> Option<(String, Column)> {
        let mut all = Vec::new();
        for source in sources {
            let own = source.columns.iter().filter(|column| holds(column));
            all.extend(own.map(|column| (format!("{}.{}", source.alias, column.name), column)));
        }
        (!all.is_empty()).then(|| {
            let (name, column) = self.shape.pick(&all);
            (name.clone(), (*column).clone())
        })
    }

    fn compared(&mut self, name: &str, column: &Column) -> String {
        let comparison = *self.shape.pick(&COMPARISONS);
        format!("{name} {comparison} {}", self.constant(column))
    }

    fn condition(&mut self, sources: &[Source], depth: usize) -> String {
        let (name, column) = self.column(sources);
        let not = if self.shape.chance(30) { "NOT " } else { "" };
        let most = if depth > 0 { 18 } else { 10 };
        match self.shape.below(most) {
            0..5 => self.compared(&name, &column),
            5 => {
                let (least, most) = (self.constant(&column), self.constant(&column));
                format!("{name} {not}BETWEEN {least} AND {most}")
            }
            6 => {
                let count = *self.shape.pick(&[2, 1, 4, 12]);
                let values: Vec<String> = (0..count).map(|_| self.constant(&column)).collect();
                format!("{name} {not}IN ({})", values.join(", "))
            }
            7 => format!("{name} IS {not}NULL"),
            8 => match self.column_that(sources, |own| own.domain == Domain::Text) {
                Some((name, _)) => {
                    let patterns = ["%re%", "blue-3", "green%", "%-1", "_ed-%", "R%", "gr_n", "%"];
                    format!("{name} {not}LIKE '{}'", self.values.pick(&patterns))
                }
                None => self.compared(&name, &column),
            },
            9 => {
                let other = self.column_that(sources, |own| own.domain == Domain::Number);
                let own = self.column_that(sources, |own| own.domain == Domain::Number);
                match own.zip(other) {
                    Some(((a, _), (b, _))) => format!("{a} + {} > {b} * 2", self.number(9)),
                    None => self.compared(&name, &column),
                }
            }
            10 => {
                let (a, b, c) = (
                    self.condition(sources, depth - 1),
                    self.condition(sources, depth - 1),
                    self.condition(sources, depth - 1),
                );
                format!("({a} OR {b} AND {c})")
            }
            11 => format!("NOT ({})", self.condition(sources, depth - 1)),
            12 | 13 => self.existence(sources, not, depth),
            14 | 15 => self.membership(sources, not, depth),
            16 => {
                let condition = self.condition(sources, depth - 1);
                match self.column_that(sources, |own| own.domain == Domain::Number) {
                    Some((name, _)) => format!(
                        "CASE WHEN {condition} THEN {name} ELSE {} END > {}",
                        self.number(40),
                        self.number(40)
                    ),
                    None => condition,
                }
            }
            _ => self.compared_with_subquery(sources, depth),
        }
    }

    /// `[NOT] EXISTS`, correlated by a reference or a key.
    fn existence(&mut self, sources: &[Source], not: &str, depth: usize) -> String {
        let refers = |own: &Column| matches!(own.domain, Domain::KeyOf(_));
        let Some((name, column)) = self.column_that(sources, refers) else {
            return self.condition(sources, depth - 1);
        };
        let Domain::KeyOf(table) = column.domain else { unreachable!() };
        let inner = self.source(table);
        let key = self.shape.pick(&["id", "id", "r"]).to_owned();
        let own = self.condition(std::slice::from_ref(&inner), depth - 1);
        let (table, alias) = (&self.schema.tables[table].name, &inner.alias);
        format!(
            "{not}EXISTS (SELECT 1 FROM {table} {alias} WHERE {alias}.{key} = {name} AND {own})"
        )
    }

    fn membership(&mut self, sources: &[Source], not: &str, depth: usize) -> String {
        let refers = |own: &Column| matches!(own.domain, Domain::KeyOf(_));
        let Some((name, column)) = self.column_that(sources, refers) else {
            return self.condition(sources, depth - 1);
        };
        let Domain::KeyOf(table) = column.domain else { unreachable!() };
        let inner = self.source(table);
        let own = self.condition(std::slice::from_ref(&inner), depth - 1);
        let key = self.shape.pick(&["id", "id", "r"]).to_owned();
        let (table, alias) = (&self.schema.tables[table].name, &inner.alias);
        format!("{name} {not}IN (SELECT {alias}.{key} FROM {table} {alias} WHERE {own})")
    }

    fn compared_with_subquery(&mut self, sources: &[Source], depth: usize) -> String {
        let Some((name, _)) = self.column_that(sources, |own| own.domain == Domain::Number) else {
            return self.condition(sources, depth - 1);
        };
        let table = self.shape.below(self.schema.tables.len());
        let inner = self.source(table);
        let own = self.condition(std::slice::from_ref(&inner), depth - 1);
        let function = self.shape.pick(&["max", "min", "avg"]).to_owned();
        let comparison = *self.shape.pick(&COMPARISONS);
        let (table, alias) = (&self.schema.tables[table].name, &inner.alias);
        format!(
            "{name} {comparison} (SELECT {function}({alias}.n) FROM {table} {alias} WHERE {own})"
        )
    }

    /// ` WHERE ..`, or nothing.
    fn condition_clause(&mut self, sources: &[Source], most: usize) -> String {
        let count = self.shape.below(most + 1);
        let all: Vec<String> = (0..count).map(|_| self.condition(sources, 2)).collect();
        match all.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", all.join(" AND ")),
        }
    }

    fn source(&mut self, table: usize) -> Source {
        let alias = self.alias();
        Source { alias, columns: self.schema.tables[table].columns.clone() }
    }

    fn of_table(&mut self, table: usize) -> From {
        let source = self.source(table);
        let own = &self.schema.tables[table];
        let text = format!("{} {}", own.name, source.alias);
        From { text, sources: vec![source], rows: own.rows as f64 }
    }

    fn largest(&mut self) -> usize {
        let tables = 0..self.schema.tables.len();
        let largest = tables.max_by_key(|table| self.schema.tables[*table].rows);
        match self.shape.chance(30) {
            true => self.shape.below(self.schema.tables.len()),
            false => largest.expect("there are tables"),
        }
    }

    /// A table, sometimes a grouping or a part of it.
    fn input(&mut self) -> From {
        let table = self.shape.below(self.schema.tables.len());
        let inner = self.of_table(table);
        if !self.shape.chance(20) {
            return inner;
        }
        let condition = self.condition_clause(&inner.sources, 1);
        let (alias, own) = (self.alias(), &inner.sources[0]);
        let columns: Vec<Column> =
            own.columns.iter().filter(|c| ["id", "r", "n"].contains(&&*c.name)).cloned().collect();
        let text = match self.shape.below(3) {
            0 => format!("(SELECT DISTINCT id, r, n FROM {}{condition}) {alias}", inner.text),
            1 => format!(
                "(SELECT max(id) AS id, r, min(n) AS n FROM {}{condition} GROUP BY r) {alias}",
                inner.text
            ),
            _ => {
                let limit = self.number(30);
                let order = "ORDER BY n, id, r";
                format!(
                    "(SELECT id, r, n FROM {}{condition} {order} LIMIT {limit}) {alias}",
                    inner.text
                )
            }
        };
        let source = Source { alias, columns };
        From { text, sources: vec![source], rows: inner.rows }
    }

    fn join(&mut self, from: From) -> From {
        let refers = |own: &Column| matches!(own.domain, Domain::KeyOf(_));
        let references = self.column_that(&from.sources, refers);
        let loose = from.rows * 40.0 < TOO_MANY && self.shape.chance(35);
        let right = self.input();
        let source = right.sources[0].clone();
        let (text, on, rows, table) = match references {
            Some((name, column)) if !loose => {
                let Domain::KeyOf(table) = column.domain else { unreachable!() };
                let own = self.of_table(table);
                let on = format!("{name} = {}.id", own.sources[0].alias);
                (own.text, on, from.rows.max(own.rows), own.sources[0].clone())
            }
            _ if from.rows * right.rows > TOO_MANY * 10.0 => return from,
            _ => {
                let numbers = |own: &Column| own.domain == Domain::Number;
                let left = self.column_that(&from.sources, numbers);
                let left = left.map_or_else(|| format!("{}.n", from.sources[0].alias), |own| own.0);
                let on = format!("{left} = {}.n", source.alias);
                (right.text, on, from.rows * right.rows / 15.0, source)
            }
        };
        let kind =
            *self.shape.pick(&["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let mut sources = from.sources;
        sources.push(table);
        let more = match self.shape.chance(20) {
            true => format!(" AND {}", self.condition(&sources[sources.len() - 1..], 0)),
            false => String::new(),
        };
        From { text: format!("{} {kind} {text} ON {on}{more}", from.text), sources, rows }
    }

    fn joins(&mut self) -> From {
        let mut from = self.input();
        for _ in 0..self.shape.below(3) {
            from = self.join(from);
        }
        from
    }

    fn columns(&mut self, sources: &[Source], least: usize, most: usize) -> Vec<String> {
        (0..self.shape.between(least, most)).map(|_| self.column(sources).0).collect()
    }

    /// An order over the first `width` columns, by all of them or by some, and a cut.
    fn ordered(&mut self, width: usize, must_cut: bool) -> (String, Order) {
        if !must_cut && !self.shape.chance(40) {
            return (String::new(), Order::None);
        }
        let all = !self.shape.chance(40);
        let first = self.shape.below(width);
        let columns: Vec<usize> =
            if all { std::iter::once(first).chain(0..width).collect() } else { vec![first] };
        let key = |maker: &mut Self, column: &usize| {
            let way = maker.shape.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
            format!("{}{way}", column + 1)
        };
        let keys: Vec<String> = columns.iter().map(|column| key(self, column)).collect();
        let mut text = format!(" ORDER BY {}", keys.join(", "));
        let cut = must_cut || self.shape.chance(50);
        if cut {
            text += &format!(" LIMIT {}", self.number(30));
            if self.shape.chance(30) {
                text += &format!(" OFFSET {}", self.number(12));
            }
        }
        (text, Order::By { columns, cut })
    }

    fn rows(&mut self) -> Statement {
        let from = self.joins();
        let condition = self.condition_clause(&from.sources, 2);
        let mut list = self.columns(&from.sources, 1, 4);
        if self.shape.chance(20) {
            let plain = |own: &Column| matches!(own.domain, Domain::Number | Domain::Text);
            let (name, column) = self.column_that(&from.sources, plain).expect("all have one");
            let condition = self.condition(&from.sources, 1);
            let other = self.constant(&column);
            list.push(format!("CASE WHEN {condition} THEN {name} ELSE {other} END"));
        }
        let (order, how) = self.ordered(list.len(), from.rows > MANY);
        let text = format!("SELECT {} FROM {}{condition}{order}", list.join(", "), from.text);
        Statement { text, order: how }
    }

    fn aggregate(&mut self, sources: &[Source]) -> String {
        let (name, column) = self.column(sources);
        let number = matches!(
            column.data_type,
            "int" | "bigint" | "smallint" | "numeric(10,2)" | "double precision"
        );
        let ordered = column.data_type != "boolean";
        let distinct = if self.shape.chance(20) { "DISTINCT " } else { "" };
        let text = match self.shape.below(6) {
            1 if number => format!("sum({distinct}{name})"),
            2 if ordered => format!("max({name})"),
            3 if ordered => format!("min({name})"),
            4 if number => format!("avg({distinct}{name})"),
            5 => format!("count({distinct}{name})"),
            _ => "count(*)".to_owned(),
        };
        match self.shape.chance(12) {
            true => format!("{text} FILTER (WHERE {})", self.condition(sources, 0)),
            false => text,
        }
    }

    /// `SELECT keys, aggregates FROM .. GROUP BY keys`.
    fn grouping(&mut self, from: &From, keys: Vec<String>, read: &[Source]) -> Statement {
        let condition = self.condition_clause(&from.sources, 2);
        let count = self.shape.between(1, 3);
        let mut list = keys.clone();
        list.extend((0..count).map(|_| self.aggregate(read)));
        let group = match keys.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", keys.join(", ")),
        };
        let having = match self.shape.chance(15) {
            true => format!(" HAVING count(*) > {}", self.number(4)),
            false => String::new(),
        };
        let (order, how) = self.ordered(list.len(), false);
        let list = list.join(", ");
        let text = format!("SELECT {list} FROM {}{condition}{group}{having}{order}", from.text);
        Statement { text, order: how }
    }

    fn grouped(&mut self) -> Statement {
        let from = self.joins();
        let mut keys = self.columns(&from.sources, 0, 2);
        keys.dedup();
        let sources = from.sources.clone();
        self.grouping(&from, keys, &sources)
    }

    /// A table joined with others by their keys, and those with further ones.
    fn star_joins(&mut self) -> From {
        let fact = self.largest();
        let mut from = self.of_table(fact);
        for _ in 0..self.shape.between(1, 3) {
            let refers = |own: &Column| matches!(own.domain, Domain::KeyOf(_));
            let found = self.column_that(&from.sources, refers);
            let (name, column) = found.expect("all tables have keys");
            let Domain::KeyOf(table) = column.domain else { unreachable!() };
            let own = self.of_table(table);
            let alias = own.sources[0].alias.clone();
            let mut on = format!("{name} = {alias}.id");
            if self.shape.chance(60) {
                // The family that was once answered wrongly: ranges of a key, beside others.
                let key = own.sources[0].columns[0].clone();
                on += &format!(" AND {}", self.compared(&format!("{alias}.id"), &key));
            }
            from.text = format!("{} JOIN {} ON {on}", from.text, own.text);
            from.sources.extend(own.sources);
        }
        from
    }

    fn star(&mut self) -> Statement {
        let from = self.star_joins();
        let mut keys = match self.shape.chance(70) {
            true => self.columns(&from.sources[1..], 1, 2),
            false => Vec::new(),
        };
        keys.dedup();
        let fact = from.sources[..1].to_vec();
        self.grouping(&from, keys, &fact)
    }

    /// Two groupings of one statement, each over a star.
    fn two_stars(&mut self) -> Statement {
        let (left, right) = (self.star_of_one_key(), self.star_of_one_key());
        let kind = *self.shape.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
        let text = format!("SELECT * FROM ({left}) p {kind} ({right}) q ON p.k = q.k");
        Statement { text, order: Order::None }
    }

    fn star_of_one_key(&mut self) -> String {
        let from = self.star_joins();
        let numbers = |own: &Column| own.domain == Domain::Number;
        let (key, _) = self.column_that(&from.sources[1..], numbers).expect("all tables have one");
        let condition = self.condition_clause(&from.sources, 1);
        let aggregate = self.aggregate(&from.sources[..1]);
        format!("SELECT {key} AS k, {aggregate} AS v FROM {}{condition} GROUP BY {key}", from.text)
    }

    fn distinct(&mut self) -> Statement {
        let from = self.joins();
        let condition = self.condition_clause(&from.sources, 2);
        let list = self.columns(&from.sources, 1, 3);
        let (order, how) = self.ordered(list.len(), from.rows > MANY);
        let list = list.join(", ");
        Statement {
            text: format!("SELECT DISTINCT {list} FROM {}{condition}{order}", from.text),
            order: how,
        }
    }

    fn set_operation(&mut self) -> Statement {
        let mut part = || {
            let from = self.joins();
            let condition = self.condition_clause(&from.sources, 2);
            let alias = from.sources[0].alias.clone();
            format!("SELECT {alias}.id::bigint, {alias}.n FROM {}{condition}", from.text)
        };
        let (left, right) = (part(), part());
        let operation = *self.shape.pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
        let (order, how) = self.ordered(2, false);
        Statement { text: format!("{left} {operation} {right}{order}"), order: how }
    }

    fn windows(&mut self) -> Statement {
        let table = self.shape.below(self.schema.tables.len());
        let from = self.of_table(table);
        let condition = self.condition_clause(&from.sources, 2);
        let alias = &from.sources[0].alias;
        let function =
            *self.shape.pick(&["rank()", "count(*)", "dense_rank()", "sum(n)", "max(id)"]);
        let window = *self.shape.pick(&[
            "PARTITION BY n ORDER BY id",
            "ORDER BY n, id",
            "PARTITION BY r",
            "PARTITION BY s ORDER BY n",
        ]);
        let list = format!("{alias}.id, {alias}.n, {function} OVER ({window})");
        let (order, how) = self.ordered(3, from.rows > MANY);
        Statement {
            text: format!("SELECT {list} FROM {}{condition}{order}", from.text),
            order: how,
        }
    }

    /// A grouping that is named twice.
    fn named_twice(&mut self) -> Statement {
        let from = self.joins();
        let numbers = |own: &Column| own.domain == Domain::Number;
        let (key, _) = self.column_that(&from.sources, numbers).expect("all have one");
        let condition = self.condition_clause(&from.sources, 2);
        let aggregates = [self.aggregate(&from.sources), self.aggregate(&from.sources)];
        let kind = *self.shape.pick(&["JOIN", "LEFT JOIN"]);
        let count = self.number(5);
        let text = format!(
            "WITH w AS (SELECT {key} AS k, count(*) AS c, {} AS v, {} AS u FROM {}{condition} GROUP BY {key})
             SELECT p.k, p.c, p.v, q.u FROM w p {kind} w q ON p.k = q.k + 1 AND p.c > {count}
             WHERE p.c >= (SELECT min(c) FROM w)",
            aggregates[0], aggregates[1], from.text
        );
        Statement { text, order: Order::None }
    }
}
