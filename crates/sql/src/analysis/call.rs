//! Calls of functions.

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, WindowType,
};
use engine::types::{DataType, Error, Result, SqlState};

use super::Analysis;
use super::expression::Place;
use super::relations::Scope;
use super::types::{Class, NUMERIC, Type};

const NO_FUNCTION: &str = "No function matches the given name and argument types. You might need \
                           to add explicit type casts.";

const AGGREGATES: [&str; 16] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "string_agg",
    "array_agg",
    "bool_and",
    "bool_or",
    "every",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "variance",
    "var_samp",
    "var_pop",
];

const WINDOWS: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// Functions of PostgreSQL by the classes of their arguments (t: text, b: bytea, n: number, d: date or time, o:
/// boolean), an argument's alternatives together; and what they give.
const STRICT: [(&str, &[&str], Option<DataType>); 25] = [
    ("upper", &["t"], Some(DataType::Text)),
    ("lower", &["t"], Some(DataType::Text)),
    ("initcap", &["t"], Some(DataType::Text)),
    ("reverse", &["t"], Some(DataType::Text)),
    ("length", &["tb"], Some(DataType::Integer)),
    ("char_length", &["t"], Some(DataType::Integer)),
    ("octet_length", &["tb"], Some(DataType::Integer)),
    ("ascii", &["t"], Some(DataType::Integer)),
    ("md5", &["tb"], Some(DataType::Text)),
    ("substr", &["tb", "n", "n"], Some(DataType::Text)),
    ("left", &["t", "n"], Some(DataType::Text)),
    ("right", &["t", "n"], Some(DataType::Text)),
    ("lpad", &["t", "n", "t"], Some(DataType::Text)),
    ("rpad", &["t", "n", "t"], Some(DataType::Text)),
    ("repeat", &["t", "n"], Some(DataType::Text)),
    ("replace", &["t", "t", "t"], Some(DataType::Text)),
    ("translate", &["t", "t", "t"], Some(DataType::Text)),
    ("strpos", &["t", "t"], Some(DataType::Integer)),
    ("split_part", &["t", "t", "n"], Some(DataType::Text)),
    ("starts_with", &["t", "t"], Some(DataType::Boolean)),
    ("to_date", &["t", "t"], Some(DataType::Date)),
    ("to_char", &["nd", "t"], Some(DataType::Text)),
    ("sqrt", &["n"], None),
    ("abs", &["n"], None),
    ("power", &["n", "n"], None),
];

impl Analysis<'_> {
    /// The type of a call.
    pub(super) fn call(&self, function: &Function, scope: &Scope, place: Place) -> Result<Type> {
        let named = function.name.to_string().to_lowercase();
        let called = named.strip_prefix("pg_catalog.").unwrap_or(&named);
        let aggregate = AGGREGATES.contains(&called);
        self.check_kind(function, called, aggregate, place)?;
        let inner = match aggregate && function.over.is_none() {
            true => Place { aggregated: true, ..place },
            false => place,
        };
        let Some(arguments) = self.arguments(function, scope, inner)? else {
            return Ok(Type::Opaque);
        };
        self.check_clauses(function, scope, place)?;
        let types: Vec<Type> = arguments.iter().map(|(_, found)| *found).collect();
        self.result(function, called, &arguments, &types)
    }

    /// The arguments with their types; `None` for `count(*)`, subqueries and named arguments.
    fn arguments<'e>(
        &self,
        function: &'e Function,
        scope: &Scope,
        place: Place,
    ) -> Result<Option<Vec<(&'e Expr, Type)>>> {
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        let mut arguments = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else {
                return Ok(None);
            };
            arguments.push((expr, self.expression(expr, scope, place)?));
        }
        Ok(Some(arguments))
    }

    /// Aggregates and window functions where they may not be, and clauses that only they take.
    fn check_kind(
        &self,
        function: &Function,
        called: &str,
        aggregate: bool,
        place: Place,
    ) -> Result<()> {
        use SqlState::{GroupingError, WindowingError, WrongObjectType};
        let fault = |state, message: String| {
            Err(self.words.fault(state, message, self.words.start_of(&function.name)))
        };
        let window = WINDOWS.contains(&called);
        let plain = STRICT.iter().any(|(name, ..)| *name == called);
        if function.over.is_some() {
            return match place {
                _ if plain => fault(
                    WrongObjectType,
                    format!(
                        "OVER specified, but {called} is not a window function nor an aggregate function"
                    ),
                ),
                Place { aggregated: true, .. } => fault(
                    GroupingError,
                    "aggregate function calls cannot contain window function calls".to_owned(),
                ),
                Place { no_windows: Some(clause), .. } => {
                    fault(WindowingError, format!("window functions are not allowed in {clause}"))
                }
                _ if is_distinct(function) => fault(
                    SqlState::FeatureNotSupported,
                    "DISTINCT is not implemented for window functions".to_owned(),
                ),
                _ => Ok(()),
            };
        }
        if window {
            let message = format!("window function {called} requires an OVER clause");
            return fault(WrongObjectType, message);
        }
        if plain && function.filter.is_some() {
            let message = format!("FILTER specified, but {called} is not an aggregate function");
            return fault(WrongObjectType, message);
        }
        if plain && is_distinct(function) {
            let message = format!("DISTINCT specified, but {called} is not an aggregate function");
            return fault(WrongObjectType, message);
        }
        if !aggregate {
            return Ok(());
        }
        match place {
            Place { no_aggregates: Some(clause), .. } => {
                fault(GroupingError, format!("aggregate functions are not allowed in {clause}"))
            }
            Place { aggregated: true, .. } => {
                fault(GroupingError, "aggregate function calls cannot be nested".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_clauses(&self, function: &Function, scope: &Scope, place: Place) -> Result<()> {
        if let Some(filter) = &function.filter {
            let inside = Place { no_aggregates: Some("FILTER"), ..place };
            let found = self.expression(filter, scope, inside)?;
            self.boolean("FILTER", filter, found)?;
        }
        if let Some(WindowType::WindowSpec(window)) = &function.over {
            let inside = Place { no_windows: Some("window definitions"), ..place };
            for key in &window.partition_by {
                self.expression(key, scope, inside)?;
            }
            for key in &window.order_by {
                self.expression(&key.expr, scope, inside)?;
            }
            self.built_on(window, &scope.windows)?;
            self.frame(window, &scope.windows)?;
        }
        Ok(())
    }

    fn result(
        &self,
        function: &Function,
        called: &str,
        arguments: &[(&Expr, Type)],
        types: &[Type],
    ) -> Result<Type> {
        let missing = || self.no_function(function, called, types);
        let places = arguments.iter().map(|(expr, found)| (*found, self.words.start(expr)));
        match (called, types) {
            // PostgreSQL's grammar wants arguments here.
            ("coalesce" | "greatest" | "least", []) | ("nullif", [] | [_]) => {
                let name = self.words.start_of(&function.name);
                let at = name.and_then(|name| self.words.after(name, &[")"]));
                let message = "syntax error at or near \")\"";
                Err(self.words.fault(SqlState::SyntaxError, message, at))
            }
            ("coalesce" | "greatest" | "least", [_, ..]) => {
                self.common(&called.to_uppercase(), places)
            }
            ("nullif", [left, right]) => {
                let at = || self.words.start_of(&function.name);
                self.compare("=", *left, *right, at).map(|_| *left)
            }
            ("count", []) => {
                let message = "count(*) must be used to call a parameterless aggregate function";
                let at = self.words.start_of(&function.name);
                Err(self.words.fault(SqlState::WrongObjectType, message, at))
            }
            ("count", [_]) => Ok(Type::Known(DataType::BigInt)),
            ("sum" | "avg", [only]) => match only.class() {
                Some(Class::Number) | None => Ok(folded(called, *only)),
                Some(_) => missing(),
            },
            ("min" | "max", [only]) => match only.class() {
                Some(Class::Boolean | Class::Bytes) => missing(),
                _ => Ok(*only),
            },
            ("bool_and" | "bool_or" | "every", [only]) => match only.class() {
                Some(Class::Boolean) | None => Ok(Type::Known(DataType::Boolean)),
                Some(_) => missing(),
            },
            ("string_agg", [text, _]) => match text.class() {
                Some(Class::Text) | None => Ok(Type::Known(DataType::Text)),
                Some(Class::Bytes) => Ok(Type::Opaque),
                Some(_) => missing(),
            },
            ("round" | "trunc", [Type::Known(DataType::Real | DataType::Double), _])
            | ("sum" | "avg" | "min" | "max" | "string_agg" | "count", _) => missing(),
            ("now", []) => Ok(Type::Known(DataType::TimestampTz)),
            _ => self.strict(function, called, types),
        }
    }

    /// A function whose arguments' classes are written down, or any other.
    fn strict(&self, function: &Function, called: &str, types: &[Type]) -> Result<Type> {
        let Some((_, wanted, result)) = STRICT.iter().find(|(name, ..)| *name == called) else {
            let special = function.name.0.len() > 1 || (self.known)(called);
            return if special {
                Ok(Type::Opaque)
            } else {
                self.no_function(function, called, types)
            };
        };
        let fits = |(found, wanted): (&Type, &&str)| {
            found.class().is_none_or(|class| wanted.contains(letter(class)))
        };
        if types.len() > wanted.len() || !types.iter().zip(*wanted).all(fits) {
            return self.no_function(function, called, types);
        }
        Ok(result.map_or(Type::Opaque, Type::Known))
    }

    /// 42883, where all types of the arguments can be named; else the planner decides.
    fn no_function(&self, function: &Function, called: &str, types: &[Type]) -> Result<Type> {
        let named: Option<Vec<String>> = types.iter().map(|found| found.named()).collect();
        let Some(named) = named else { return Ok(Type::Opaque) };
        Err(self.undefined(&format!("{called}({})", named.join(", ")), function))
    }

    fn undefined(&self, signature: &str, function: &Function) -> Error {
        let message = format!("function {signature} does not exist");
        let at = self.words.start_of(&function.name);
        self.words.fault(SqlState::UndefinedFunction, message, at).hint(NO_FUNCTION)
    }
}

fn letter(class: Class) -> char {
    match class {
        Class::Number => 'n',
        Class::Text => 't',
        Class::Boolean => 'o',
        Class::Time => 'd',
        Class::Bytes => 'b',
    }
}

/// The type of a sum or an average.
fn folded(called: &str, argument: Type) -> Type {
    let Type::Known(data_type) = argument else { return Type::Opaque };
    Type::Known(match (called, data_type) {
        ("sum", DataType::SmallInt | DataType::Integer) => DataType::BigInt,
        (_, DataType::Real | DataType::Double) => DataType::Double,
        _ => NUMERIC,
    })
}

fn is_distinct(function: &Function) -> bool {
    match &function.args {
        FunctionArguments::List(list) => {
            list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
        }
        _ => false,
    }
}
