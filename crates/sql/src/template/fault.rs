//! DataFusion's errors as PostgreSQL says them: SQLSTATE, wording, position.

use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use engine::types::{Error, SqlState};

/// The fault that the client sees; `text` is the statement, for the position.
pub fn fault(error: &DataFusionError, text: Option<&str>) -> Error {
    let fault = translate(error);
    match text {
        Some(text) if fault.position.is_none() => place(fault, text),
        _ => fault,
    }
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
        DataFusionError::NotImplemented(message) => {
            Error::new(SqlState::FeatureNotSupported, first_line(message))
        }
        DataFusionError::SQL(inner, _) => Error::new(SqlState::SyntaxError, inner.to_string()),
        DataFusionError::Execution(message) => execution(message),
        DataFusionError::ResourcesExhausted(message) => {
            Error::new(SqlState::OutOfMemory, first_line(message))
        }
        other => internal(&other.to_string()),
    }
}

fn internal(message: &str) -> Error {
    Error::new(SqlState::InternalError, first_line(message))
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

/// Arrow's type names in PostgreSQL's words.
fn type_name(arrow: &str) -> &str {
    match arrow.trim_end_matches(" type").trim() {
        "Int8" | "Int16" => "smallint",
        "Int32" => "integer",
        "Int64" | "UInt64" => "bigint",
        "Float32" => "real",
        "Float64" => "double precision",
        "Boolean" => "boolean",
        "Date32" => "date",
        "Utf8" | "Utf8View" | "LargeUtf8" => "text",
        other if other.starts_with("Timestamp") => "timestamp",
        other if other.starts_with("Decimal") => "numeric",
        other if other.starts_with("Interval") => "interval",
        other => other,
    }
}

fn cast(message: &str) -> Error {
    if let Some(rest) = message.strip_prefix("Cannot cast string '")
        && let Some((value, rest)) = rest.rsplit_once("' to value of ")
    {
        let name = type_name(rest);
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
    if message.contains("Can't cast value") || message.contains("out of range") {
        let target = message.rsplit("to type ").next().map_or("value", type_name);
        return Error::new(SqlState::NumericOutOfRange, format!("{target} out of range"));
    }
    if message.contains("too large to store") || message.contains("Overflow") {
        return Error::new(SqlState::NumericOutOfRange, "numeric field overflow");
    }
    if message.contains("not supported") {
        return Error::new(SqlState::CannotCoerce, message.to_owned());
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

fn plan(message: &str) -> Error {
    let line = first_line(message);
    if line.starts_with("Correlated scalar subquery") {
        return Error::new(SqlState::FeatureNotSupported, line);
    }
    if line.starts_with("Invalid function '") {
        let message = format!("function {}() does not exist", quoted(&line));
        return Error::new(SqlState::UndefinedFunction, message)
            .hint("No function matches the given name and argument types.");
    }
    if line.contains("must be in GROUP BY or an aggregate function")
        || line.contains("could not be resolved from available columns")
    {
        return grouping(message);
    }
    if let Some((_, operation)) = line.split_once("Cannot infer common argument type for") {
        return operator(operation);
    }
    if line.contains("Cannot infer common") || line.contains("coerce") || line.contains("signature")
    {
        return Error::new(SqlState::UndefinedFunction, line);
    }
    if line.contains("different number of columns")
        || line.contains("queries must have the same number of columns")
    {
        let message = "each UNION query must have the same number of columns";
        return Error::new(SqlState::SyntaxError, message);
    }
    if line.contains("should return only one column") || line.contains("one column") {
        return Error::new(SqlState::SyntaxError, "subquery must return only one column");
    }
    if line.contains("specified more than once") || line.contains("unique expression names") {
        return Error::new(SqlState::DuplicateColumn, line);
    }
    if line.contains("table name") && line.contains("more than once") {
        return Error::new(SqlState::DuplicateObject, line);
    }
    if line.contains("non-boolean") || line.contains("must be boolean") {
        return Error::new(SqlState::DatatypeMismatch, line);
    }
    if line.contains("not supported")
        || line.contains("Unsupported")
        || line.contains("Correlated scalar subquery")
    {
        return Error::new(SqlState::FeatureNotSupported, line);
    }
    Error::new(SqlState::SyntaxError, line)
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

/// ` comparison operation Int64 = Boolean`
fn operator(operation: &str) -> Error {
    let words = operation.trim().trim_start_matches("comparison operation ");
    let words = words.trim_start_matches("operation ");
    let parts: Vec<&str> = words.split(' ').collect();
    let said = match parts.as_slice() {
        [left, op, right] => {
            format!("operator does not exist: {} {op} {}", type_name(left), type_name(right))
        }
        _ => format!("operator does not exist: {words}"),
    };
    Error::new(SqlState::UndefinedFunction, said)
        .hint("No operator matches the given name and argument types.")
}

fn execution(message: &str) -> Error {
    let line = first_line(message);
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
        return Error::new(SqlState::InvalidRegularExpression, line);
    }
    if lower.contains("cannot cast") || lower.contains("error parsing") {
        return cast(&line);
    }
    internal(&line)
}

/// Points at the first word of the text that the message quotes.
fn place(fault: Error, text: &str) -> Error {
    let placed = matches!(
        fault.state,
        SqlState::UndefinedColumn
            | SqlState::UndefinedTable
            | SqlState::UndefinedFunction
            | SqlState::AmbiguousColumn
            | SqlState::GroupingError
    );
    let word = match fault.message.split('"').nth(1) {
        Some(word) => word.to_owned(),
        None => second_word(&fault.message),
    };
    if !placed || word.is_empty() {
        return fault;
    }
    let column = word.rsplit('.').next().unwrap_or(&word);
    match find_word(text, &word).or_else(|| find_word(text, column)) {
        Some(byte) => fault.position(super::characters(text, byte)),
        None => fault,
    }
}

/// `column t.x does not exist`, `function f() does not exist`
fn second_word(message: &str) -> String {
    let word = message.split(' ').nth(1).unwrap_or_default();
    word.trim_end_matches("()").to_owned()
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    let (text, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let boundary = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(&word).map(|(start, _)| start).find(|start| {
        boundary(text[..*start].chars().next_back())
            && boundary(text[start + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        assert_eq!(find_word("select ab, b from t", "b"), Some(11));
        assert_eq!(find_word("select a.b", "a.b"), Some(7));
        assert_eq!(find_word("select abc", "b"), None);
    }

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
