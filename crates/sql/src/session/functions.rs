//! Functions that ask the session: `nextval`, `current_setting`, `pg_backend_pid` and their like.
//!
//! A query that names one is planned when it runs: each call becomes its value in the AST first. So
//! a call is evaluated once per query, which for a query over a table is refused for those that
//! must run per row.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query,
    SelectItem, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};
use engine::heartbeat::Drawn;
use engine::types::{DataType, Error, Result, SequenceId, SqlState, Value};
use tokio::sync::oneshot;

use super::execute::shut_down;
use super::pg_notify::{self, asks_for_channels, is_channels};
use super::settings::ChangedSettings;
use super::{Session, advisory, now};
use crate::rights::{Need, Privileges};
use crate::statement::create_table::text_constant;
use crate::statement::expression::sequence;
use crate::template::{output_name, placeholder_index};

const NAMES: &[&str] = &[
    "nextval",
    "currval",
    "lastval",
    "setval",
    "set_config",
    "current_setting",
    "pg_backend_pid",
    "current_user",
    "session_user",
    "current_role",
    "user",
    "pg_postmaster_start_time",
    "clock_timestamp",
    pg_notify::NOTIFY,
];

/// The function's name where it is one of ours.
fn known(function: &Function) -> Option<&'static str> {
    if let Some(name) = advisory::named(&function.name) {
        return Some(name);
    }
    let name = function.name.0.last()?.as_ident()?;
    NAMES.iter().find(|known| name.value.eq_ignore_ascii_case(known)).copied()
}

/// Functions that ask what somebody may do, with the number of their arguments when they name who: without, it is the
/// session's role.
const ASKING: [(&str, usize); 14] = [
    ("has_any_column_privilege", 3),
    ("has_column_privilege", 4),
    ("has_database_privilege", 3),
    ("has_foreign_data_wrapper_privilege", 3),
    ("has_function_privilege", 3),
    ("has_language_privilege", 3),
    ("has_parameter_privilege", 3),
    ("has_schema_privilege", 3),
    ("has_sequence_privilege", 3),
    ("has_server_privilege", 3),
    ("has_table_privilege", 3),
    ("has_tablespace_privilege", 3),
    ("has_type_privilege", 3),
    ("pg_has_role", 3),
];

/// Whether a call asks what the session's own role may do.
fn asks_for_itself(function: &Function) -> bool {
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()) else { return false };
    let FunctionArguments::List(list) = &function.args else { return false };
    let asking = ASKING.iter().find(|known| name.value.eq_ignore_ascii_case(known.0));
    asking.is_some_and(|known| list.args.len() + 1 == known.1)
}

/// The session's settings as a relation.
const SETTINGS: &str = "pg_settings";

fn is_settings(factor: &TableFactor) -> bool {
    let TableFactor::Table { name, args: None, .. } = factor else { return false };
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|name| name.value.eq_ignore_ascii_case(SETTINGS))
}

/// Whether a function is one of these.
pub fn is_session_function(name: &str) -> bool {
    NAMES.contains(&name) || advisory::action(name).is_some()
}

/// Whether a query calls one, or reads the settings.
pub fn names_functions(query: &Query) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if known(function).is_some()
                        || asks_for_itself(function)
                        || asks_for_channels(function) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match is_settings(factor) || is_channels(factor) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Finder).is_break()
}

/// How many parameters a query has.
pub fn count_parameters(query: &Query) -> usize {
    struct Last(usize);
    impl Visitor for Last {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
            if let ast::Value::Placeholder(name) = &value.value {
                self.0 = self.0.max(placeholder_index(name).map_or(0, |index| index + 1));
            }
            ControlFlow::Continue(())
        }
    }
    let mut last = Last(0);
    let _ = query.visit(&mut last);
    last.0
}

/// Puts values, each of its type, in the places of parameters: such a query is planned when it runs.
pub fn give_parameters(query: &mut Query, types: &[DataType], values: &[Value]) -> Result<()> {
    struct Giver<'a>(&'a [DataType], &'a [Value]);
    impl VisitorMut for Giver<'_> {
        type Break = Error;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
            let Expr::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(name), .. }) = expr
            else {
                return ControlFlow::Continue(());
            };
            let given = placeholder_index(name).ok().and_then(|i| self.0.get(i).zip(self.1.get(i)));
            let Some((data_type, value)) = given else { return ControlFlow::Continue(()) };
            let mut text = Vec::new();
            crate::text::write_value(value.borrow(), &mut text);
            let text = String::from_utf8_lossy(&text).replace('\'', "''");
            let literal = if value.is_null() { "NULL".to_owned() } else { format!("'{text}'") };
            match crate::statement::expression::parse(&format!("CAST({literal} AS {data_type})")) {
                Ok(given) => *expr = given,
                Err(fault) => return ControlFlow::Break(fault),
            }
            ControlFlow::Continue(())
        }
    }
    match VisitMut::visit(query, &mut Giver(types, values)) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// One call with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub name: &'static str,
    pub arguments: Vec<Expr>,
}

/// The calls of a query, in the order in which they stand, and their values once known.
pub struct Functions {
    calls: Vec<Call>,
    /// Values; `None` while only the types matter.
    values: Option<Vec<Value>>,
    over_tables: bool,
    settings: ChangedSettings,
    role: String,
    channels: Vec<Arc<str>>,
}

impl Functions {
    /// For a query that is only described.
    pub fn describe(settings: ChangedSettings, role: String) -> Functions {
        let (calls, channels) = (Vec::new(), Vec::new());
        Functions { calls, values: None, over_tables: false, settings, role, channels }
    }

    /// The calls of a query.
    pub fn collect(
        query: &Query,
        settings: ChangedSettings,
        role: String,
        channels: Vec<Arc<str>>,
    ) -> Functions {
        struct Collector(Vec<Call>);
        impl Visitor for Collector {
            type Break = ();

            fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
                if let Expr::Function(function) = expr
                    && let Some(name) = known(function)
                {
                    self.0.push(Call { name, arguments: arguments(function) });
                }
                ControlFlow::Continue(())
            }
        }
        let mut collector = Collector(Vec::new());
        let _ = query.visit(&mut collector);
        let over_tables = query.body.as_select().is_none_or(|select| !select.from.is_empty());
        let calls = collector.0;
        Functions { calls, values: None, over_tables, settings, role, channels }
    }

    /// Calls them all.
    pub async fn evaluate(&mut self, session: &mut Session) -> Result<()> {
        let mut values = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            if self.over_tables && matches!(call.name, "nextval" | "setval") {
                let message = format!("{} in a query over tables is not supported", call.name);
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            values.push(session.call(call).await?);
        }
        self.values = Some(values);
        Ok(())
    }

    /// Puts the values in the places of the calls, under the functions' names.
    pub fn replace(&self, query: &mut Query) -> Result<()> {
        let mut values = self.values.clone().map(Vec::into_iter);
        let (settings, role, channels) = (&self.settings, &self.role, &self.channels);
        let mut replacer = Replacer { values: values.as_mut(), settings, role, channels };
        let _ = VisitMut::visit(query, &mut replacer);
        Ok(())
    }
}

fn arguments(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let expr = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().filter_map(expr).collect()
}

struct Replacer<'a> {
    values: Option<&'a mut std::vec::IntoIter<Value>>,
    settings: &'a ChangedSettings,
    role: &'a str,
    channels: &'a [Arc<str>],
}

/// `(SELECT ... FROM (VALUES ...))` in the place of `pg_settings`.
fn settings_table(settings: &ChangedSettings, factor: &TableFactor) -> Option<TableFactor> {
    use std::fmt::Write;
    let mut text = String::from(
        "SELECT name, setting, NULL::text AS unit, NULL::text AS category, NULL::text AS short_desc, \
         NULL::text AS extra_desc, 'user' AS context, 'string' AS vartype, 'session' AS source, \
         NULL::text AS min_val, NULL::text AS max_val, NULL::text AS enumvals, NULL::text AS boot_val, \
         reset_val, NULL::text AS sourcefile, NULL::int AS sourceline, \
         false AS pending_restart FROM (VALUES ",
    );
    for (i, setting) in settings.all().iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let [value, first] =
            [&setting.value, &setting.reset_value].map(|value| value.replace('\'', "''"));
        let name = setting.name;
        write!(text, "{comma}('{name}', '{value}', '{first}')").expect("strings take all");
    }
    text.push_str(") AS v (name, setting, reset_val)");
    let ast::Statement::Query(subquery) = crate::template::parse(&text).ok()?.pop()? else {
        return None;
    };
    let TableFactor::Table { alias, .. } = factor else { return None };
    let named = || ast::TableAlias {
        explicit: true,
        name: Ident::new(SETTINGS),
        columns: Vec::new(),
        at: None,
    };
    let alias = Some(alias.clone().unwrap_or_else(named));
    Some(TableFactor::Derived { lateral: false, subquery, alias, sample: None })
}

impl VisitorMut for Replacer<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && matches!(expr, Expr::Function(function)
                    if known(function).is_some() || asks_for_channels(function))
            {
                let alias = Ident::with_quote('"', output_name(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_settings(factor)
            && let Some(table) = settings_table(self.settings, factor)
        {
            *factor = table;
        }
        if is_channels(factor)
            && let Some(relation) = pg_notify::relation(self.channels, factor)
        {
            *factor = relation;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && asks_for_itself(function)
            && let FunctionArguments::List(list) = &mut function.args
        {
            let role = Expr::value(ast::Value::SingleQuotedString(self.role.to_owned()));
            list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(role)));
        }
        if let Expr::Function(function) = expr
            && asks_for_channels(function)
            && let Some(item) = pg_notify::item(self.channels)
        {
            *expr = item;
        }
        if let Expr::Function(function) = expr
            && let Some(name) = known(function)
        {
            let value = self.values.as_mut().and_then(|values| values.next());
            *expr = constant(name, value.as_ref());
        }
        ControlFlow::Continue(())
    }
}

/// The value as an expression of the function's type.
fn constant(name: &str, value: Option<&Value>) -> Expr {
    let data_type = match name {
        "nextval" | "currval" | "lastval" | "setval" => DataType::BigInt,
        "pg_backend_pid" => DataType::Integer,
        "pg_postmaster_start_time" | "clock_timestamp" => DataType::TimestampTz,
        _ => advisory::action(name).map_or(DataType::Text, advisory::result_type),
    };
    let literal = match value {
        None | Some(Value::Null) => ast::Value::Null,
        Some(value) => {
            let mut bytes = Vec::new();
            crate::text::write_value(value.borrow(), &mut bytes);
            ast::Value::SingleQuotedString(String::from_utf8_lossy(&bytes).into_owned())
        }
    };
    let ast_type = match data_type {
        DataType::BigInt => ast::DataType::BigInt(None),
        DataType::Integer => ast::DataType::Integer(None),
        DataType::Boolean => ast::DataType::Boolean,
        DataType::TimestampTz => ast::DataType::Timestamp(None, ast::TimezoneInfo::WithTimeZone),
        _ => ast::DataType::Text,
    };
    Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(Expr::value(literal)),
        data_type: ast_type,
        array: false,
        format: None,
    }
}

impl Session {
    async fn call(&mut self, call: &Call) -> Result<Value> {
        if let Some(action) = advisory::action(call.name) {
            return self.call_advisory(call, action).await;
        }
        match call.name {
            "nextval" => {
                let id = self.sequence_argument(call, &[Privileges::USAGE, Privileges::UPDATE])?;
                self.next_value(id).await.map(Value::BigInt)
            }
            "currval" => {
                let id = self.sequence_argument(call, &[Privileges::USAGE, Privileges::SELECT])?;
                let value = self.current_values.get(&id).copied();
                value.map(Value::BigInt).ok_or_else(|| {
                    let name = text_constant(&call.arguments[0]).unwrap_or_default();
                    let message = format!(
                        "currval of sequence \"{name}\" is not yet defined in this session"
                    );
                    Error::new(SqlState::ObjectNotInState, message)
                })
            }
            "lastval" => self.last_value.map(Value::BigInt).ok_or_else(|| {
                let message = "lastval is not yet defined in this session";
                Error::new(SqlState::ObjectNotInState, message)
            }),
            "setval" => self.set_value(call).await,
            "set_config" => self.set_config(call),
            "current_setting" => self.current_setting(call),
            "pg_backend_pid" => Ok(Value::Integer(self.process)),
            "pg_postmaster_start_time" => Ok(Value::TimestampTz(self.database().opened)),
            "clock_timestamp" => Ok(Value::TimestampTz(now())),
            pg_notify::NOTIFY => self.call_notify(call),
            "session_user" => Ok(Value::Text(self.session_user().into())),
            _ => Ok(Value::Text(self.current_user().into())),
        }
    }

    fn call_notify(&mut self, call: &Call) -> Result<Value> {
        let (channel, payload) = (self.text_argument(call, 0)?, self.text_argument(call, 1)?);
        self.notify(&channel, &payload)?;
        Ok(Value::Text("".into()))
    }

    /// The sequence that a call names: 42501 without any of these privileges on it.
    fn sequence_argument(&mut self, call: &Call, wanted: &[Privileges]) -> Result<SequenceId> {
        let name = self.text_argument(call, 0)?;
        let catalog = self.catalog();
        let found = sequence(&catalog, &name)?;
        let wanted = wanted.iter().fold(Privileges::NONE, |all, one| all.with(*one));
        self.demand_one(Need::any_on(&found.name, wanted))?;
        Ok(found.id)
    }

    pub(super) fn argument(&self, call: &Call, position: usize, wanted: DataType) -> Result<Value> {
        let Some(expr) = call.arguments.get(position) else {
            let message = format!("function {} needs more arguments", call.name);
            return Err(Error::new(SqlState::UndefinedFunction, message));
        };
        let planner = &self.database.planner;
        let catalog = self.catalog();
        let scope = planner.scope(&catalog, &[])?;
        scope.constant(expr, Some(wanted))
    }

    fn text_argument(&self, call: &Call, position: usize) -> Result<String> {
        if let Some(text) = call.arguments.get(position).and_then(text_constant) {
            return Ok(text);
        }
        match self.argument(call, position, DataType::Text)? {
            Value::Text(text) => Ok(text.into()),
            _ => Ok(String::new()),
        }
    }

    /// The next value of a sequence, told only when it can never be given again.
    pub(crate) async fn next_value(&mut self, id: SequenceId) -> Result<i64> {
        self.refuse_read_only("nextval()")?;
        let engine = self.database.engine.clone();
        let sequence = engine.store().sequence(id).ok_or_else(|| {
            Error::new(SqlState::UndefinedTable, "the sequence does not exist any more")
        })?;
        let value = sequence.next_value()?;
        let (send, receive) = oneshot::channel();
        engine.reserve_sequences(Box::new(move |outcome| {
            let _ = send.send(outcome.map(|_| ()));
        }));
        receive.await.unwrap_or_else(|_| Err(shut_down()))?;
        self.note_value(id, value);
        Ok(value)
    }

    /// What `currval` and `lastval` give from now on.
    fn note_value(&mut self, sequence: SequenceId, value: i64) {
        self.current_values.insert(sequence, value);
        self.last_value = Some(value);
    }

    /// The same of what a write took of sequences.
    #[inline]
    pub(crate) fn note_drawn(&mut self, drawn: &Drawn) {
        drawn.iter().for_each(|(sequence, value)| self.note_value(sequence, value));
    }

    async fn set_value(&mut self, call: &Call) -> Result<Value> {
        self.refuse_read_only("setval()")?;
        let id = self.sequence_argument(call, &[Privileges::UPDATE])?;
        let Value::BigInt(last) = self.argument(call, 1, DataType::BigInt)? else {
            return Ok(Value::Null);
        };
        let called = match call.arguments.len() {
            2 => true,
            _ => self.argument(call, 2, DataType::Boolean)? == Value::Boolean(true),
        };
        self.set_sequence(id, last, called).await?;
        self.current_values.insert(id, last);
        Ok(Value::BigInt(last))
    }

    /// Moves a sequence, durably.
    pub(crate) async fn set_sequence(&self, id: SequenceId, last: i64, called: bool) -> Result<()> {
        let (send, receive) = oneshot::channel();
        let receiver = Box::new(move |outcome: Result<_>| {
            let _ = send.send(outcome.map(|_| ()));
        });
        self.database.engine.set_sequence(id, last, called, receiver);
        receive.await.unwrap_or_else(|_| Err(shut_down()))
    }

    fn set_config(&mut self, call: &Call) -> Result<Value> {
        let name = self.text_argument(call, 0)?;
        let value = self.text_argument(call, 1)?;
        let local = self.argument(call, 2, DataType::Boolean)? == Value::Boolean(true);
        self.change_setting(&name, Some(&value), local)?;
        self.settings.show(&name).map(|value| Value::Text(value.into()))
    }

    fn current_setting(&mut self, call: &Call) -> Result<Value> {
        let name = self.text_argument(call, 0)?;
        let missing_ok = call.arguments.len() > 1
            && self.argument(call, 1, DataType::Boolean)? == Value::Boolean(true);
        match self.settings.show(&name) {
            Ok(value) => Ok(Value::Text(value.into())),
            Err(_) if missing_ok => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }
}
