//! DataFusion's errors as PostgreSQL says them: SQLSTATE and wording.

use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use engine::types::{Error, SqlState};

/// The fault that the client sees.
pub fn fault(error: &DataFusionError) -> Error {
    translate(error)
}

fn translate(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => external(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => arrow(inner),
        DataFusionError::SchemaError(inner, _) => schema(inner),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            translate(inner)
        }
        DataFusionError::Shared(inner) => translate(inner),
        DataFusionError::Collection(errors) => {
            errors.first().map_or_else(|| internal("no error"), translate)
        }
        DataFusionError::Plan(message) => plan(message),
        DataFusionError::NotImplemented(message) => not_implemented(message),
        DataFusionError::SQL(inner, _) => Error::new(SqlState::SyntaxError, inner.to_string()),
        DataFusionError::Execution(message) => execution(message),
        DataFusionError::ResourcesExhausted(message) => {
            Error::new(SqlState::OutOfMemory, first_line(message))
        }
        other => internal(&other.to_string()),
    }
}

/// What DataFusion has not got; where that is a fault in PostgreSQL too, that fault.
fn not_implemented(message: &str) -> Error {
    if let Some(name) = message.strip_prefix("Unsupported SQL type ") {
        let message = format!("type \"{}\" does not exist", name.to_lowercase());
        return Error::new(SqlState::UndefinedObject, message);
    }
    if message.contains("AggregateFunction(") && message.contains("does not support logical") {
        let message = "aggregate functions are not allowed in this clause";
        return Error::new(SqlState::GroupingError, message);
    }
    Error::new(SqlState::FeatureNotSupported, first_line(message))
}

fn internal(message: &str) -> Error {
    if let Some(fault) = call(message) {
        return fault;
    }
    if message.contains("regex parse error") {
        return regular_expression(message);
    }
    unlabelled(message).unwrap_or_else(|| Error::new(SqlState::InternalError, first_line(message)))
}

/// Users' faults for which DataFusion has no kind of their own.
fn unlabelled(message: &str) -> Option<Error> {
    use SqlState::*;
    let known = [
        ("Timestamp out of range", DatetimeOverflow, "timestamp out of range"),
        ("Timestamp overflow", DatetimeOverflow, "timestamp out of range"),
        (
            "NTILE requires a positive integer",
            NtileArgument,
            "argument of ntile must be greater than zero",
        ),
        (
            "In an aggregate with DISTINCT, ORDER BY expressions must appear",
            InvalidColumnReference,
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
        ),
        (
            "Expected an integer value",
            InvalidTextRepresentation,
            "invalid input syntax for type integer",
        ),
    ];
    if let Some((_, state, said)) = known.iter().find(|(found, ..)| message.contains(found)) {
        return Some(Error::new(*state, *said));
    }
    if message.contains("Timestamp ") && message.contains(" out of range") {
        return Some(Error::new(DatetimeOverflow, "timestamp out of range"));
    }
    let date_part = ["Year value", "Month value", "Day value"];
    if date_part.iter().any(|part| message.contains(part)) && message.contains("out of range") {
        return Some(Error::new(DatetimeOverflow, "date field value out of range"));
    }
    let (_, rest) = message.split_once("Cannot access field at argument ")?;
    let found = rest.split_once(": type ")?.1.split(" is not ").next()?;
    let message = format!(
        "column notation applied to type {}, which is not a composite type",
        type_name(found)
    );
    Some(Error::new(WrongObjectType, message))
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

fn external(inner: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    if let Some(error) = inner.downcast_ref::<Error>() {
        return error.clone();
    }
    if let Some(error) = inner.downcast_ref::<DataFusionError>() {
        return translate(error);
    }
    internal(&inner.to_string())
}

fn arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::new(SqlState::DivisionByZero, "division by zero"),
        ArrowError::ArithmeticOverflow(message) if message.ends_with("* 86400000000") => {
            Error::new(SqlState::DatetimeOverflow, "date out of range for timestamp")
        }
        ArrowError::ArithmeticOverflow(_) => {
            Error::new(SqlState::NumericOutOfRange, "value out of range: overflow")
        }
        ArrowError::CastError(message) | ArrowError::ParseError(message) => cast(message),
        ArrowError::ExternalError(inner) => external(inner.as_ref()),
        ArrowError::InvalidArgumentError(message) if message.contains("too large to store") => {
            Error::new(SqlState::NumericOutOfRange, "numeric field overflow")
        }
        ArrowError::ComputeError(message) | ArrowError::InvalidArgumentError(message) => {
            execution(message)
        }
        other => internal(&other.to_string()),
    }
}

/// Arrow's type names in PostgreSQL's words. A `Utf8` is a string whose type nobody has said yet: columns and what is
/// computed of them are views.
pub fn type_name(arrow: &str) -> &str {
    match arrow.trim_end_matches(" type").trim() {
        "Int8" | "Int16" => "smallint",
        "Int32" => "integer",
        "Int64" | "UInt64" => "bigint",
        "Float32" => "real",
        "Float64" => "double precision",
        "Boolean" => "boolean",
        "Date32" => "date",
        "Utf8View" | "LargeUtf8" => "text",
        "Utf8" | "Null" => "unknown",
        "Binary" | "BinaryView" | "LargeBinary" => "bytea",
        other if other.starts_with("Timestamp") && other.contains("00:00") => {
            "timestamp with time zone"
        }
        other if other.starts_with("Timestamp") => "timestamp without time zone",
        other if other.starts_with("Time") => "time without time zone",
        other if other.starts_with("Decimal") => "numeric",
        other if other.starts_with("Interval") => "interval",
        other if other.starts_with("Struct") => "record",
        other => other,
    }
}

/// The name under which a type's input function complains.
fn input_name(arrow: &str) -> &str {
    match type_name(arrow) {
        "unknown" => "text",
        "timestamp without time zone" => "timestamp",
        other => other,
    }
}

fn cast(message: &str) -> Error {
    if let Some(rest) = message.strip_prefix("Cannot cast string '")
        && let Some((value, rest)) = rest.rsplit_once("' to value of ")
    {
        let name = input_name(rest);
        let dated = matches!(name, "date" | "timestamp");
        let state = match dated {
            true => SqlState::DatetimeFormat,
            false => SqlState::InvalidTextRepresentation,
        };
        return Error::new(state, format!("invalid input syntax for type {name}: \"{value}\""));
    }
    if message.contains("Error parsing timestamp") || message.contains("Error parsing date") {
        return Error::new(SqlState::DatetimeFormat, message.to_owned());
    }
    // A moment that nanoseconds do not reach, or no calendar.
    let is_moment = message.contains("Timestamp") || message.contains("Date32");
    let is_too_far =
        message.contains("exceeds the representable") || message.contains("to datetime");
    if is_moment && is_too_far {
        return Error::new(SqlState::DatetimeOverflow, "timestamp out of range");
    }
    if message.contains("Can't cast value") || message.contains("out of range") {
        let target = match message.rsplit_once("out of range ") {
            Some((_, target)) => type_name(target),
            None => message.rsplit("to type ").next().map_or("value", type_name),
        };
        return Error::new(SqlState::NumericOutOfRange, format!("{target} out of range"));
    }
    if message.contains("too large to store") || message.contains("Overflow") {
        return Error::new(SqlState::NumericOutOfRange, "numeric field overflow");
    }
    if message.contains("not supported") {
        return Error::new(SqlState::CannotCoerce, message.to_owned());
    }
    if let Some((_, rest)) = message.split_once("nvalid input syntax for type interval") {
        let message = format!("invalid input syntax for type interval{rest}");
        return Error::new(SqlState::DatetimeFormat, message);
    }
    Error::new(SqlState::InvalidTextRepresentation, message.to_owned())
}

fn schema(error: &SchemaError) -> Error {
    match error {
        SchemaError::AmbiguousReference { field } => Error::new(
            SqlState::AmbiguousColumn,
            format!("column reference \"{}\" is ambiguous", field.name),
        ),
        SchemaError::FieldNotFound { field, valid_fields } => missing(field, valid_fields),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => Error::new(
            SqlState::DuplicateColumn,
            format!("column \"{name}\" specified more than once"),
        ),
    }
}

fn missing(field: &Column, valid: &[Column]) -> Error {
    let Some(relation) = &field.relation else {
        let message = format!("column \"{}\" does not exist", field.name);
        return Error::new(SqlState::UndefinedColumn, message);
    };
    let known = valid.iter().any(|column| column.relation.as_ref() == Some(relation));
    let table = relation.table();
    if table.starts_with("__correlated") {
        // A name that the optimizer has given to a subquery which it cannot make a join after all.
        let message = "a correlated subquery of this form is not supported";
        return Error::new(SqlState::FeatureNotSupported, message);
    }
    if known || valid.is_empty() {
        let message = format!("column {table}.{} does not exist", field.name);
        return Error::new(SqlState::UndefinedColumn, message);
    }
    let message = format!("missing FROM-clause entry for table \"{table}\"");
    Error::new(SqlState::UndefinedTable, message)
}

fn quoted(message: &str) -> &str {
    message.split('\'').nth(1).unwrap_or_default()
}

/// A fault that DataFusion's planner found.
fn plan(message: &str) -> Error {
    let line = first_line(message);
    if let Some(fault) = call(message) {
        return fault;
    }
    if let Some(fault) = operation(&line) {
        return fault;
    }
    if let Some(fault) = misplaced(&line).or_else(|| in_other_words(&line)) {
        return fault;
    }
    if line.contains("must be in GROUP BY or an aggregate function")
        || line.contains("must appear in the GROUP BY clause")
        || line.contains("could not be resolved from available columns")
    {
        return grouping(message);
    }
    if let Some(fault) = lists(&line) {
        return fault;
    }
    if line.contains("Cannot infer common") || line.contains("coerce") || line.contains("signature")
    {
        return Error::new(SqlState::UndefinedFunction, line);
    }
    if line.contains("specified more than once") || line.contains("unique expression names") {
        return Error::new(SqlState::DuplicateColumn, line);
    }
    if line.contains("non-boolean") || line.contains("must be boolean") {
        return not_boolean(&line);
    }
    if line.contains("not supported")
        || line.contains("Unsupported")
        || line.contains("Correlated scalar subquery")
    {
        return Error::new(SqlState::FeatureNotSupported, line);
    }
    Error::new(SqlState::SyntaxError, line)
}

const NO_FUNCTION: &str = "No function matches the given name and argument types. You might need \
                           to add explicit type casts.";
const NO_OPERATOR: &str = "No operator matches the given name and argument types. You might need \
                           to add explicit type casts.";
const NO_UNARY: &str = "No operator matches the given name and argument type. You might need to \
                        add an explicit type cast.";

/// `function x(...) does not exist`.
fn undefined_function(name: &str, arguments: &str) -> Error {
    let message = format!("function {name}({arguments}) does not exist");
    Error::new(SqlState::UndefinedFunction, message).hint(NO_FUNCTION)
}

/// A function that is not there, or not with these arguments: `... argument types 'sum(Utf8View)'. ...`.
fn call(message: &str) -> Option<Error> {
    if message.starts_with("Invalid function '") {
        return Some(undefined_function(quoted(message), ""));
    }
    if let Some(rest) = message.strip_prefix("table function '") {
        return Some(undefined_function(rest.split('\'').next()?, ""));
    }
    let (_, rest) = message
        .split_once("match the given name and argument types '")
        .or_else(|| message.split_once("matches the given name and argument types '"))?;
    let signature = rest.split("'.").next()?;
    let (name, arguments) = signature.split_once('(')?;
    let arguments = types_of(arguments.strip_suffix(')').unwrap_or(arguments));
    if let Some(symbol) = of_pattern(name) {
        return Some(no_operator(&arguments.replacen(", ", &format!(" {symbol} "), 1)));
    }
    let name = match name {
        "extract" => "pg_catalog.extract",
        "character_length" => "length",
        other => other,
    };
    Some(undefined_function(name, &arguments))
}

/// The operator that a function of regular expressions computes.
fn of_pattern(function: &str) -> Option<&'static str> {
    match function {
        "textregexeq" => Some("~"),
        "textregexne" => Some("!~"),
        "texticregexeq" => Some("~*"),
        "texticregexne" => Some("!~*"),
        _ => None,
    }
}

/// `Int32, Timestamp(µs, "+00:00")` in PostgreSQL's words.
fn types_of(arguments: &str) -> String {
    let mut types = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in arguments.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                types.push(type_name(&arguments[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    if !arguments.trim().is_empty() {
        types.push(type_name(&arguments[start..]));
    }
    types.join(", ")
}

/// An operator over types that it does not take.
fn operation(line: &str) -> Option<Error> {
    let between = |start: &str, end: &str| {
        let (_, rest) = line.split_once(start)?;
        Some(if end.is_empty() { rest } else { rest.split(end).next()? })
    };
    if let Some(operation) = between("Cannot coerce arithmetic expression ", " to valid types") {
        return Some(operator(operation));
    }
    if let Some(operation) = between("for temporal operation ", ":") {
        return Some(operator(operation));
    }
    if let Some(operation) =
        between("Cannot infer common string type for string concat operation ", "")
    {
        return Some(operator(operation));
    }
    if let Some(operation) = between("Cannot infer common argument type for ", "") {
        let (kind, words) = operation.split_once(" operation ")?;
        return Some(match kind {
            "logical boolean" => logical(words),
            _ => operator(words),
        });
    }
    if let Some(types) = between("common type to coerce ", " in LIKE") {
        let left = types.split(" and ").next()?;
        return Some(no_operator(&format!("{} ~~ unknown", type_name(left))));
    }
    if line.contains("Unary operator '-'") {
        let message = "operator does not exist: -";
        return Some(Error::new(SqlState::UndefinedFunction, message).hint(NO_UNARY));
    }
    if let Some(found) = between("Unary operator 'NOT' requires a boolean expression, got ", "") {
        let message =
            format!("argument of NOT must be type boolean, not type {}", type_name(found));
        return Some(Error::new(SqlState::DatatypeMismatch, message));
    }
    None
}

/// `Int32 AND Boolean`: the side that is not boolean.
fn logical(words: &str) -> Error {
    let parts: Vec<&str> = words.split(' ').collect();
    let wrong = parts.iter().find(|part| !matches!(**part, "AND" | "OR" | "Boolean"));
    let word = parts.iter().find(|part| matches!(**part, "AND" | "OR")).unwrap_or(&"AND");
    let found = wrong.map_or("unknown", |part| type_name(part));
    let message = format!("argument of {word} must be type boolean, not type {found}");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// `Cannot create filter with non-boolean predicate 't.a' returning Int32`
fn not_boolean(line: &str) -> Error {
    let found = line.rsplit("returning ").next().map_or("unknown", type_name);
    let message = format!("argument of WHERE must be type boolean, not type {found}");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// Aggregates and windows where they may not be.
fn misplaced(line: &str) -> Option<Error> {
    let grouping = |message: &str| Some(Error::new(SqlState::GroupingError, message));
    if line.starts_with("Aggregate functions are not allowed in the WHERE clause") {
        return grouping("aggregate functions are not allowed in WHERE");
    }
    if line.starts_with("Aggregate function calls cannot be nested") {
        return grouping("aggregate function calls cannot be nested");
    }
    let name = line.strip_prefix("The window ")?.strip_suffix(" is not defined!")?;
    Some(Error::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist")))
}

/// Faults that PostgreSQL has too, for which DataFusion has no kind of its own.
fn in_other_words(line: &str) -> Option<Error> {
    use SqlState::*;
    let known = [
        (
            "For SELECT DISTINCT, ORDER BY expressions",
            InvalidColumnReference,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ),
        (
            "SELECT DISTINCT ON expressions must match",
            InvalidColumnReference,
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        ),
        (
            "to grouping function is not in grouping columns",
            GroupingError,
            "arguments to GROUPING must be grouping expressions of the associated query level",
        ),
        ("Step cannot be zero", InvalidParameterValue, "step size cannot equal zero"),
    ];
    if let Some((_, state, said)) = known.iter().find(|(found, ..)| line.contains(found)) {
        return Some(Error::new(*state, *said));
    }
    if let Some(table) = line.strip_prefix("Invalid qualifier ") {
        let message = format!("missing FROM-clause entry for table \"{table}\"");
        return Some(Error::new(UndefinedTable, message));
    }
    if let Some(rest) = line.strip_prefix("There is no built-in encoding named '") {
        let message = format!("unrecognized encoding: \"{}\"", rest.split('\'').next()?);
        return Some(Error::new(InvalidParameterValue, message));
    }
    let digits = line.strip_prefix("Invalid HexStringLiteral '")?;
    let wrong = digits.chars().find(|c| !c.is_ascii_hexdigit() && *c != '\'')?;
    let message = format!("\"{wrong}\" is not a valid hexadecimal digit");
    Some(Error::new(InvalidTextRepresentation, message))
}

/// Lists of columns, values and names that do not go together.
fn lists(line: &str) -> Option<Error> {
    if line.contains("different number of columns")
        || line.contains("queries must have the same number of columns")
    {
        let kind = ["INTERSECT", "EXCEPT"].into_iter().find(|kind| line.contains(kind));
        let message =
            format!("each {} query must have the same number of columns", kind.unwrap_or("UNION"));
        return Some(Error::new(SqlState::SyntaxError, message));
    }
    if line.contains("should return only one column") || line.contains("one column") {
        return Some(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
    }
    if line.starts_with("Inconsistent data length across values list") {
        let message = "VALUES lists must all be the same length";
        return Some(Error::new(SqlState::SyntaxError, message));
    }
    if let Some((_, rest)) = line.split_once(" column 0. Was ")
        && line.starts_with("Inconsistent data type across values list")
    {
        let (first, second) = rest.split_once(" but found ")?;
        return Some(unmatched("VALUES", first, second));
    }
    if let Some((_, rest)) =
        line.split_once("Incompatible inputs for Union: Previous inputs were of type ")
    {
        let (first, rest) = rest.split_once(", but got incompatible type ")?;
        return Some(unmatched("UNION", first, rest.split(" on column").next()?));
    }
    if line.starts_with("WITH query name") {
        return Some(Error::new(SqlState::DuplicateAlias, line));
    }
    let rest = line.strip_prefix("Source table contains ")?;
    let (available, rest) = rest.split_once(" columns but only ")?;
    let specified = rest.split(' ').next()?;
    let message =
        format!("table has {available} columns available but {specified} columns specified");
    Some(Error::new(SqlState::InvalidColumnReference, message))
}

fn unmatched(what: &str, first: &str, second: &str) -> Error {
    let (first, second) = (type_name(first), type_name(second));
    let message = format!("{what} types {first} and {second} cannot be matched");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// `... While expanding wildcard, column "t.x" must appear in ...`, or the short form without a name.
fn grouping(message: &str) -> Error {
    let named = message.split("column \"").nth(1).and_then(|rest| rest.split('"').next());
    let named = named.or_else(|| message.split("Expression ").nth(1)?.split(' ').next());
    let said = match named {
        Some(column) => format!(
            "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
        ),
        None => first_line(message),
    };
    Error::new(SqlState::GroupingError, said)
}

/// `Int64 = Boolean`, `Decimal128(18, 1) + Date32`
fn operator(operation: &str) -> Error {
    let symbol = |word: &&str| word.chars().all(|c| "+-*/<>=~!|%".contains(c));
    let said = match operation.split(' ').find(symbol) {
        Some(symbol) => {
            let spaced = format!(" {symbol} ");
            let (left, right) = operation.split_once(&spaced).unwrap_or((operation, ""));
            format!("{} {symbol} {}", type_name(left), type_name(right))
        }
        None => operation.to_owned(),
    };
    no_operator(&said)
}

fn no_operator(operation: &str) -> Error {
    let message = format!("operator does not exist: {operation}");
    Error::new(SqlState::UndefinedFunction, message).hint(NO_OPERATOR)
}

fn execution(message: &str) -> Error {
    let line = first_line(message);
    if let Some(fault) = call(message) {
        return fault;
    }
    if let Some(fault) = domain(line.trim_start_matches("Execution error: ")) {
        return fault;
    }
    let lower = line.to_lowercase();
    if lower.contains("divide by zero") || lower.contains("division by zero") {
        return Error::new(SqlState::DivisionByZero, "division by zero");
    }
    if lower.contains("too large to store") || lower.contains("too small to store") {
        return Error::new(SqlState::NumericOutOfRange, "numeric field overflow");
    }
    if lower.contains("overflow") {
        return Error::new(SqlState::NumericOutOfRange, "value out of range: overflow");
    }
    if lower.contains("more than one row") || lower.contains("returned more than") {
        let message = "more than one row returned by a subquery used as an expression";
        return Error::new(SqlState::CardinalityViolation, message);
    }
    if lower.contains("regular expression") || lower.contains("regex") {
        return regular_expression(message);
    }
    if lower.contains("cannot cast") || lower.contains("error parsing") {
        return cast(&line);
    }
    internal(&line)
}

/// Arguments that a function does not take.
fn domain(line: &str) -> Option<Error> {
    use SqlState::*;
    let fault = |state, message: &str| Some(Error::new(state, message));
    let same = [
        ("cannot take square root of a negative number", InvalidPower),
        ("zero raised to a negative power is undefined", InvalidPower),
        ("factorial of a negative number is undefined", NumericOutOfRange),
        ("field position must not be zero", InvalidParameterValue),
    ];
    if let Some((message, state)) = same.iter().find(|(message, _)| line.starts_with(message)) {
        return fault(*state, message);
    }
    if let Some(number) = line.strip_prefix("invalid Unicode scalar value: ") {
        return match number.parse::<i64>() {
            Ok(n) if n < 0 => fault(InvalidParameterValue, "character number must be positive"),
            _ => fault(
                ProgramLimit,
                &format!("requested character too large for encoding: {number}"),
            ),
        };
    }
    if line.starts_with("negative count not allowed") || line.starts_with("overlay start position")
    {
        return fault(NegativeSubstring, "negative substring length not allowed");
    }
    if line.starts_with("step can't be 0") || line.starts_with("Step size cannot be") {
        return fault(InvalidParameterValue, "step size cannot equal zero");
    }
    if let Some((_, rest)) = line.split_once("using hex: Invalid character '") {
        let digit = rest.chars().next()?;
        return fault(InvalidParameterValue, &format!("invalid hexadecimal digit: \"{digit}\""));
    }
    if let Some((_, rest)) = line.split_once("using base64: Invalid symbol ") {
        let byte: u8 = rest.split(',').next()?.parse().ok()?;
        let symbol = char::from(byte);
        let message = format!("invalid symbol \"{symbol}\" found while decoding base64 sequence");
        return fault(InvalidParameterValue, &message);
    }
    let unit = line
        .strip_prefix("Date part '")
        .or_else(|| line.strip_prefix("Unsupported date_trunc granularity: '"))?;
    let unit = unit.split('\'').next()?;
    let message = format!("unit \"{unit}\" not recognized for type timestamp without time zone");
    fault(InvalidParameterValue, &message)
}

/// What is wrong with a regular expression, as PostgreSQL's library says it.
fn regular_expression(message: &str) -> Error {
    let causes = [
        ("unclosed group", "parentheses () not balanced"),
        ("unopened group", "parentheses () not balanced"),
        ("GroupUnclosed", "parentheses () not balanced"),
        ("GroupUnopened", "parentheses () not balanced"),
        ("unclosed character class", "brackets [] not balanced"),
        ("ClassUnclosed", "brackets [] not balanced"),
        ("repetition operator missing", "quantifier operand invalid"),
        ("RepetitionMissing", "quantifier operand invalid"),
        ("invalid repetition count range", "invalid repetition count(s)"),
        ("RepetitionCountInvalid", "invalid repetition count(s)"),
        ("invalid character class range", "invalid character range"),
        ("ClassRangeInvalid", "invalid character range"),
        ("incomplete escape sequence", "invalid escape \\ sequence"),
        ("EscapeUnexpectedEof", "invalid escape \\ sequence"),
        ("POSIX", "invalid character class"),
    ];
    let cause = causes.iter().find(|(said, _)| message.contains(said));
    let cause = cause.map_or_else(|| first_line(message), |(_, cause)| (*cause).to_owned());
    let message = format!("invalid regular expression: {cause}");
    Error::new(SqlState::InvalidRegularExpression, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_and_operators_in_postgresqls_words() {
        let error = cast("Cannot cast string 'abc' to value of Int32 type");
        assert_eq!(error.message, "invalid input syntax for type integer: \"abc\"");
        let error =
            plan("Cannot infer common argument type for comparison operation Int64 = Boolean");
        assert_eq!(error.message, "operator does not exist: bigint = boolean");
        assert_eq!(error.state, SqlState::UndefinedFunction);
    }
}
