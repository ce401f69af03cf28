//! Where in a statement's text a fault lies.
//!
//! In comes a fault without a position, and the statement as the client wrote it; out goes the fault with the position
//! of the token that PostgreSQL would point at. Faults are found by planning, on trees that have been lifted and
//! rewritten; what the message names is looked for among the text's tokens. Runs for faults only.

use std::str::Chars;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use engine::types::{Error, SqlState};

/// Functions of many rows, for faults that name no function.
const AGGREGATES: [&str; 9] =
    ["count", "sum", "avg", "min", "max", "string_agg", "array_agg", "bool_and", "bool_or"];

/// Bytes of a text up to which faults are looked for.
const LENGTH_LIMIT: usize = 1 << 20;

/// A token of the text, without white space.
struct Word {
    token: Token,
    /// Names folded as PostgreSQL folds them; anything else as written.
    text: String,
    position: u32,
}

/// A statement's tokens.
struct Words(Vec<Word>);

/// The fault with its position, where it has none yet and PostgreSQL gives one.
pub fn place(fault: Error, text: &str) -> Error {
    let is_nowhere = matches!(
        fault.state,
        SqlState::QueryCanceled
            | SqlState::StatementTooComplex
            | SqlState::ProgramLimit
            | SqlState::TooManyColumns
            | SqlState::OutOfMemory
            | SqlState::InternalError
    );
    let is_placed = fault.position.is_some() || fault.context.is_some();
    if is_placed || is_nowhere || text.len() > LENGTH_LIMIT {
        return fault;
    }
    let Some(words) = Words::of(text) else { return fault };
    match words.place_of(&fault) {
        Some(at) => {
            let position = words.0[at].position;
            fault.position(position)
        }
        None => fault,
    }
}

/// The same for a part of a statement, before which so many characters of its text lie.
pub fn place_part(fault: Error, part: &str, before: u32) -> Error {
    let fault = place(fault, part);
    match fault.position {
        Some(position) => fault.position(before + position),
        None => fault,
    }
}

/// Lines and columns, which only ever grow, as positions in characters from 1.
struct Places<'a> {
    rest: Chars<'a>,
    line: u64,
    column: u64,
    position: u32,
}

impl Places<'_> {
    fn at(&mut self, line: u64, column: u64) -> u32 {
        while (self.line, self.column) < (line, column)
            && let Some(passed) = self.rest.next()
        {
            self.position += 1;
            match passed {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.position
    }
}

impl Words {
    fn of(text: &str) -> Option<Words> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().ok()?;
        let visible = tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
        let mut places = Places { rest: text.chars(), line: 1, column: 1, position: 1 };
        let word = visible.map(|t| {
            let position = places.at(t.span.start.line, t.span.start.column);
            let folded = match &t.token {
                Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
                Token::Word(word) => word.value.clone(),
                other => other.to_string(),
            };
            Word { text: folded, token: t.token, position }
        });
        Some(Words(word.collect()))
    }

    fn place_of(&self, fault: &Error) -> Option<usize> {
        use SqlState::*;
        let quoted = fault.message.split('"').nth(1);
        match fault.state {
            InvalidTextRepresentation
            | DatetimeFormat
            | DatetimeOverflow
            | NumericOutOfRange
            | TimeZoneOutOfRange => self.literal(fault),
            InvalidParameterValue => {
                let clause = || self.clause(fault);
                self.literal(fault).or_else(|| self.type_modifier(fault)).or_else(clause)
            }
            UndefinedTable => self.relation(&fault.message),
            UndefinedColumn | AmbiguousColumn | GroupingError => self.column(fault),
            DuplicateColumn if self.starts_with("insert") => self.nth(1, |w| Some(w) == quoted),
            UndefinedObject => self.undefined_object(&fault.message, quoted?),
            UndefinedFunction if fault.message.starts_with("operator") => self.operator(fault),
            UndefinedFunction => self.function(&fault.message),
            DatatypeMismatch => self.mismatch(&fault.message),
            UndefinedParameter => {
                let name = fault.message.rsplit(' ').next();
                self.nth(0, |word| Some(word) == name)
            }
            InvalidSchema => self.nth(0, |w| Some(w) == quoted),
            FeatureNotSupported | InvalidTableDefinition | SyntaxError | DuplicateAlias => {
                self.clause(fault)
            }
            _ => None,
        }
    }

    fn starts_with(&self, word: &str) -> bool {
        self.0.first().is_some_and(|first| first.text == word)
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.0.get(at).is_some_and(|word| word.text == text)
    }

    /// The token that comes before, if it is this.
    fn follows(&self, at: usize, text: &str) -> bool {
        at > 0 && self.is(at - 1, text)
    }

    fn nth(&self, n: usize, wanted: impl Fn(&str) -> bool) -> Option<usize> {
        (0..self.0.len()).filter(|at| wanted(&self.0[*at].text)).nth(n)
    }

    /// Commands whose names of objects and columns PostgreSQL looks up without remembering where they stood.
    fn forgets_names(&self) -> bool {
        let first = self.0.first().map(|word| word.text.as_str()).unwrap_or_default();
        match first {
            "vacuum" | "analyze" | "alter" | "drop" | "truncate" | "grant" | "revoke"
            | "comment" | "lock" => true,
            "copy" => !self.is(1, "("),
            "create" => !(0..self.0.len()).any(|at| self.is(at, "as") || self.is(at, "default")),
            _ => false,
        }
    }

    /// The string literal whose text the message quotes.
    fn literal(&self, fault: &Error) -> Option<usize> {
        let digit = fault.message.starts_with("invalid hexadecimal")
            || fault.message == "invalid input syntax for type bytea";
        // Definitions are looked at when they run; what functions refuse was no literal to them.
        if self.starts_with("alter")
            || fault.message.starts_with("setval")
            || fault.message.starts_with("unit ")
        {
            return None;
        }
        let (_, rest) = fault.message.split_once('"').unwrap_or_default();
        let value = rest.rsplit_once('"').map(|(value, _)| value);
        (0..self.0.len()).find(|at| match string_of(&self.0[*at].token) {
            Some(text) if digit => text.starts_with('\\'),
            Some(text) => Some(text) == value,
            None => false,
        })
    }

    /// `varchar(0)`, `numeric(0, 0)`: the name of the type.
    fn type_modifier(&self, fault: &Error) -> Option<usize> {
        let message = fault.message.to_lowercase();
        let typed = message.starts_with("length for type") || message.starts_with("numeric ");
        let typed = typed && !self.starts_with("alter");
        let names = ["varchar", "char", "character", "numeric", "decimal"];
        typed.then(|| {
            let at = self.nth(0, |word| names.contains(&word))?;
            self.is(at + 1, "(").then_some(at)
        })?
    }

    /// `relation "x" does not exist`, `missing FROM-clause entry for table "x"`.
    fn relation(&self, message: &str) -> Option<usize> {
        if self.forgets_names() {
            return None;
        }
        let name = message.split('"').nth(1)?;
        let bare = name.rsplit('.').next()?;
        let qualifier = message.contains("FROM-clause entry");
        let found = (0..self.0.len())
            .find(|at| self.0[*at].text == bare && (self.is(at + 1, ".") == qualifier));
        // In a string: `nextval('x')`, `'x'::regclass`.
        let string = || {
            let of = |at: &usize| string_of(&self.0[*at].token) == Some(name);
            (0..self.0.len()).find(of)
        };
        let at = found.or_else(string)?;
        Some(if at >= 2 && self.follows(at, ".") { at - 2 } else { at })
    }

    /// `column "x" does not exist`, `column t.x does not exist`, `column reference "x" is ambiguous`.
    fn column(&self, fault: &Error) -> Option<usize> {
        let message = &fault.message;
        if message.contains("named in key") {
            return self.key_clause(message.split('"').nth(1)?);
        }
        if self.forgets_names() || message.contains("referenced in foreign key") {
            return None;
        }
        if fault.state == SqlState::GroupingError && message.starts_with("aggregate") {
            return self.aggregate(message);
        }
        let quoted = message.split('"').nth(1);
        let name = quoted.or_else(|| message.split(' ').nth(1))?;
        let target = message.contains("of relation");
        match name.rsplit_once('.') {
            Some((table, column)) => {
                let table = table.rsplit('.').next().unwrap_or(table);
                let at = (0..self.0.len()).find(|at| {
                    self.is(*at, table) && self.is(at + 1, ".") && self.is(at + 2, column)
                });
                at.or_else(|| self.bare_column(column, target))
            }
            None => self.bare_column(name, target),
        }
    }

    fn bare_column(&self, name: &str, target: bool) -> Option<usize> {
        let updates = self.starts_with("update");
        // What is assigned to is no reference to a column.
        let assigned = |at: usize| {
            updates
                && !target
                && self.is(at + 1, "=")
                && (self.follows(at, "set") || self.follows(at, ","))
        };
        let names =
            |at: &usize| self.0[*at].text == name && matches!(self.0[*at].token, Token::Word(_));
        let found: Vec<usize> = (0..self.0.len()).filter(names).collect();
        let plain =
            |at: &&usize| !self.follows(**at, "as") && !self.is(**at + 1, "(") && !assigned(**at);
        let bare = found
            .iter()
            .find(|at| plain(at) && !self.follows(**at, ".") && !self.is(**at + 1, "."));
        bare.copied().or_else(|| {
            let qualified = found.iter().find(plain).copied()?;
            Some(if qualified >= 2 && self.follows(qualified, ".") {
                qualified - 2
            } else {
                qualified
            })
        })
    }

    /// The PRIMARY KEY, UNIQUE or FOREIGN KEY whose columns name this one.
    fn key_clause(&self, column: &str) -> Option<usize> {
        let named = self.nth(0, |word| word == column)?;
        let starts = ["primary", "unique", "foreign"];
        let at = (0..named).rev().find(|at| starts.contains(&self.0[*at].text.as_str()))?;
        let labelled = at >= 2 && self.is(at - 2, "constraint");
        (!self.starts_with("alter")).then_some(if labelled { at - 2 } else { at })
    }

    /// `aggregate functions are not allowed in WHERE`, `aggregate function calls cannot be nested`.
    fn aggregate(&self, message: &str) -> Option<usize> {
        let called =
            |at: &usize| AGGREGATES.contains(&self.0[*at].text.as_str()) && self.is(at + 1, "(");
        if message.ends_with("nested") {
            return (0..self.0.len()).filter(called).nth(1);
        }
        let clause = message.rsplit(" in ").next()?.split(' ').next()?.to_lowercase();
        let clause = if clause == "join" { "on".to_owned() } else { clause };
        let start = self.nth(0, |word| word == clause)?;
        (start..self.0.len()).find(called).or_else(|| (0..start).find(called))
    }

    /// `type "x" does not exist`, `window "x" does not exist`.
    fn undefined_object(&self, message: &str, name: &str) -> Option<usize> {
        let placed = message.starts_with("type ") || message.starts_with("window ");
        let word = || self.named(name);
        let string = || (0..self.0.len()).find(|at| string_of(&self.0[*at].token) == Some(name));
        placed.then(|| word().or_else(string))?
    }

    /// The first token of a name, perhaps of a schema's, that is written like that but for quotes and case.
    fn named(&self, name: &str) -> Option<usize> {
        let of_schema = || {
            let (schema, bare) = name.split_once('.')?;
            let named =
                |at: &usize| self.is(*at, schema) && self.is(at + 1, ".") && self.is(at + 2, bare);
            (0..self.0.len()).find(named)
        };
        self.nth(0, |word| word == name).or_else(of_schema)
    }

    /// `function f(integer) does not exist`, also `is not unique`.
    fn function(&self, message: &str) -> Option<usize> {
        let named = message.strip_prefix("function ")?.split('(').next()?;
        let name = named.rsplit('.').next()?;
        let at = (0..self.0.len()).find(|at| self.is(*at, name) && self.is(at + 1, "("))?;
        Some(if at >= 2 && self.follows(at, ".") { at - 2 } else { at })
    }

    /// `operator does not exist: integer + text`.
    fn operator(&self, fault: &Error) -> Option<usize> {
        let (_, operation) = fault.message.split_once(": ")?;
        let symbol = |word: &&str| !word.is_empty() && word.chars().all(is_symbol);
        let operator = operation.split(' ').find(symbol)?;
        let spelled: &[&str] = match operator {
            "~~" => &["like", "~~"],
            "!~~" => &["like", "!~~"],
            "~~*" => &["ilike", "~~*"],
            "<>" => &["<>", "!="],
            ">=" => &[">=", "between"],
            other => return self.nth(0, |word| word == other).or_else(|| self.membership(other)),
        };
        let at = self.nth(0, |word| spelled.contains(&word))?;
        Some(if at > 0 && self.follows(at, "not") { at - 1 } else { at })
    }

    /// `a IN (...)` compares with `=`.
    fn membership(&self, operator: &str) -> Option<usize> {
        (operator == "=").then(|| self.nth(0, |word| word == "in"))?
    }

    /// `argument of WHERE must be type boolean, not type integer`.
    fn mismatch(&self, message: &str) -> Option<usize> {
        if let Some(rest) = message.strip_prefix("column \"") {
            return self.assigned(rest.split('"').next()?);
        }
        let clause = message.strip_prefix("argument of ")?.split(' ').next()?;
        let word = match clause {
            "JOIN/ON" => "on",
            "CASE/WHEN" => "when",
            "AND" | "OR" | "CHECK" => return None,
            other => &other.to_lowercase(),
        };
        Some(self.nth(0, |text| text == word)? + 1).filter(|at| *at < self.0.len())
    }

    /// `column "x" is of type integer but expression is of type text`: the expression.
    fn assigned(&self, column: &str) -> Option<usize> {
        if !self.starts_with("update") {
            return None;
        }
        let at = (0..self.0.len())
            .find(|at| self.is(*at, column) && self.is(at + 1, "=") && !self.follows(*at, "."))?;
        let value = at + 2;
        // An operator or a cast in the middle is where an expression is said to lie.
        let end = (value..self.0.len())
            .find(|at| ["where", ",", "from", "returning"].iter().any(|w| self.is(*at, w)));
        let plain = end.unwrap_or(self.0.len()) - value == 1;
        (plain && value < self.0.len()).then_some(value)
    }

    /// Faults that PostgreSQL places at a clause.
    fn clause(&self, fault: &Error) -> Option<usize> {
        let message = fault.message.as_str();
        if message.starts_with("ON CONFLICT DO UPDATE requires") {
            return (0..self.0.len()).find(|at| self.is(*at, "on") && self.is(at + 1, "conflict"));
        }
        if message.starts_with("INSERT has more") || message.starts_with("VALUES lists") {
            return self.list_fault(message);
        }
        if message.starts_with("cannot use ") && message.ends_with("DEFAULT expression") {
            return self.nth(0, |word| word == "default").map(|at| at + 1);
        }
        if message.starts_with("COPY format") {
            return self.nth(0, |word| word == "format");
        }
        if message.starts_with("multiple primary keys") {
            return self.nth(1, |word| word == "primary");
        }
        if message == "subquery has too many columns" {
            return self.nth(0, |word| word == "in");
        }
        if message == "subquery must return only one column" {
            let nested = |at: &usize| self.is(*at, "(") && self.is(at + 1, "select");
            return (0..self.0.len()).find(nested);
        }
        if message.starts_with("WITH query name") {
            let name = message.split('"').nth(1)?;
            return (0..self.0.len())
                .filter(|at| self.is(*at, name) && (self.is(at + 1, "as") || self.is(at + 1, "(")))
                .nth(1);
        }
        None
    }

    /// INSERT's columns and values, where they do not go together.
    fn list_fault(&self, message: &str) -> Option<usize> {
        let values = self.nth(0, |word| word == "values" || word == "select")?;
        let first = self.nth(0, |word| word == "(").filter(|at| *at < values);
        let columns: Vec<usize> = first.map(|at| self.items(at)).unwrap_or_default();
        let row = match self.is(values, "values") {
            true => self.items(values + 1),
            false => self.items(values),
        };
        if message.starts_with("INSERT has more target") {
            return columns.get(row.len()).copied();
        }
        if message.starts_with("INSERT has more expressions") {
            return row.get(columns.len()).copied().filter(|_| !columns.is_empty());
        }
        let mut at = values + 1;
        while at < self.0.len() && self.is(at, "(") {
            let items = self.items(at);
            if items.len() != row.len() {
                return items.first().copied();
            }
            at = self.after(at) + 1;
        }
        None
    }

    /// The first tokens of the items of a list, whose parenthesis or SELECT stands at `open`.
    fn items(&self, open: usize) -> Vec<usize> {
        let mut depth = 0;
        let mut items = vec![open + 1];
        for at in open + 1..self.0.len() {
            match self.0[at].text.as_str() {
                "(" => depth += 1,
                ")" if depth == 0 => break,
                ")" => depth -= 1,
                "," if depth == 0 => items.push(at + 1),
                "from" | "on" | "returning" if depth == 0 => break,
                _ => {}
            }
        }
        items
    }

    /// The token after the parenthesis that closes the one at `open`.
    fn after(&self, open: usize) -> usize {
        let mut depth = 0;
        for at in open..self.0.len() {
            match self.0[at].text.as_str() {
                "(" => depth += 1,
                ")" if depth == 1 => return at + 1,
                ")" => depth -= 1,
                _ => {}
            }
        }
        self.0.len()
    }
}

fn is_symbol(c: char) -> bool {
    "+-*/<>=~!@#%^&|`?".contains(c)
}

/// The text of a string literal.
fn string_of(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::NationalStringLiteral(text)
        | Token::UnicodeStringLiteral(text) => Some(text),
        Token::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(state: SqlState, message: &str, text: &str) -> Option<u32> {
        place(Error::new(state, message), text).position
    }

    #[test]
    fn names_are_found_where_they_are_references() {
        let missing = |name: &str, text: &str| {
            placed(SqlState::UndefinedColumn, &format!("column {name} does not exist"), text)
        };
        assert_eq!(missing("\"b\"", "select ab, b from t"), Some(12));
        assert_eq!(missing("t.b", "select b, t.b from t"), Some(11));
        assert_eq!(missing("\"b\"", "update t set b = b"), Some(18));
        assert_eq!(missing("\"b\"", "alter table t drop b"), None);
    }

    #[test]
    fn literals_operators_and_lists() {
        let message = "invalid input syntax for type integer: \"x\"";
        let found = placed(SqlState::InvalidTextRepresentation, message, "select 'y', 'x'::int");
        assert_eq!(found, Some(13));
        let message = "operator does not exist: integer ~~ unknown";
        let found = placed(SqlState::UndefinedFunction, message, "select 1 not like 'x'");
        assert_eq!(found, Some(10));
        let message = "INSERT has more expressions than target columns";
        let found = placed(SqlState::SyntaxError, message, "insert into t (a) values (1, (2))");
        assert_eq!(found, Some(30));
    }
}
