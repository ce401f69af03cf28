//! Advisory locks: numbers that clients have agreed on, which the session or the transaction has until its end.
//!
//! The functions are called in the select list of a SELECT without FROM, so that it is plain how often and when they are: one after
//! another, in the order in which they stand. Elsewhere they are refused ([`check`]). Locks of the session are counted, one for
//! each key and mode is kept here; those of transactions end with them. Called by `functions` and `preparation`; who excludes whom
//! is the engine's (`engine::heartbeat::Exclusion`).

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query,
    Select, Statement, TableFactor, UnaryOperator, Visit, Visitor,
};
use engine::heartbeat::AdvisoryLock;
use engine::transaction::{AdvisoryKey, TableMode, Waiting, WriteSet};
use engine::types::{DataType, Error, Result, SqlState, Value};

use super::Session;
use super::functions::Call;
use super::plain_select::{items, plain_select};
use crate::template::placeholder_index;

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Takes a lock.
    Take { mode: TableMode, of_transaction: bool, waits: bool },
    /// Gives one of the session's back.
    GiveBack(TableMode),
    /// Gives all of the session's back.
    GiveAllBack,
}

const fn take(mode: TableMode, of_transaction: bool, waits: bool) -> Action {
    Action::Take { mode, of_transaction, waits }
}

const ALONE: TableMode = TableMode::Exclusive;
const SHARED: TableMode = TableMode::Share;

/// The functions.
const ACTIONS: [(&str, Action); 11] = [
    ("pg_advisory_lock", take(ALONE, false, true)),
    ("pg_advisory_lock_shared", take(SHARED, false, true)),
    ("pg_try_advisory_lock", take(ALONE, false, false)),
    ("pg_try_advisory_lock_shared", take(SHARED, false, false)),
    ("pg_advisory_xact_lock", take(ALONE, true, true)),
    ("pg_advisory_xact_lock_shared", take(SHARED, true, true)),
    ("pg_try_advisory_xact_lock", take(ALONE, true, false)),
    ("pg_try_advisory_xact_lock_shared", take(SHARED, true, false)),
    ("pg_advisory_unlock", Action::GiveBack(ALONE)),
    ("pg_advisory_unlock_shared", Action::GiveBack(SHARED)),
    ("pg_advisory_unlock_all", Action::GiveAllBack),
];

/// What the function of that name does.
pub(super) fn action(name: &str) -> Option<Action> {
    ACTIONS.iter().find(|(known, _)| *known == name).map(|(_, action)| *action)
}

/// The function's name where it is one of these.
pub(super) fn named(name: &ObjectName) -> Option<&'static str> {
    let name = &name.0.last()?.as_ident()?.value;
    ACTIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(name, _)| *name)
}

/// The type of what it gives; `void` shows as an empty text.
pub(super) fn result_type(action: Action) -> DataType {
    match action {
        Action::Take { waits: true, .. } | Action::GiveAllBack => DataType::Text,
        Action::Take { .. } | Action::GiveBack(_) => DataType::Boolean,
    }
}

/// Calls in a statement, wherever they stand.
struct Calls {
    names: Vec<&'static str>,
}

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.names.extend(named(&function.name));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } =
            factor
        {
            self.names.extend(named(name));
        }
        ControlFlow::Continue(())
    }
}

fn calls(of: &impl Visit) -> Vec<&'static str> {
    let mut calls = Calls { names: Vec::new() };
    let _ = of.visit(&mut calls);
    calls.names
}

/// 0A000 where a statement calls one of the functions elsewhere than in the select list of a SELECT without FROM.
pub(super) fn check(statement: &Statement) -> Result<()> {
    let calls = calls(statement);
    let Some(first) = calls.first() else { return Ok(()) };
    let plain = match statement {
        Statement::Query(query) => plain_calls(query),
        // It is planned by itself.
        Statement::Prepare { .. } => calls.len(),
        _ => 0,
    };
    if plain == calls.len() { Ok(()) } else { Err(refused(first)) }
}

/// The same for a query that is a part of something else.
pub(super) fn refuse(query: &Query) -> Result<()> {
    calls(query).first().map_or(Ok(()), |name| Err(refused(name)))
}

fn refused(name: &str) -> Error {
    let message = format!("{name} in this place of a statement is not supported");
    let hint = format!(
        "Call it by itself in the select list of a SELECT that has nothing else: SELECT {name}(...)."
    );
    Error::new(SqlState::FeatureNotSupported, message).hint(hint)
}

/// Calls that run exactly once, in order.
fn plain_calls(query: &Query) -> usize {
    let is_plain = |select: &&Select| select.distinct.is_none() && query.locks.is_empty();
    let select = plain_select(query).filter(is_plain);
    select.map_or(0, |select| items(select).filter_map(plain_call).count())
}

/// The call that an expression is, but for a cast or what is asked of its value.
fn plain_call(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) => {
            let is_bare = function.over.is_none() && function.filter.is_none();
            named(&function.name).filter(|_| is_bare).map(|_| function)
        }
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { op: UnaryOperator::Not, expr: inner }
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner) => plain_call(inner),
        _ => None,
    }
}

/// Parameters that are a call's whole argument, with the type that it wants.
pub(super) fn parameters(query: &Query) -> HashMap<usize, DataType> {
    struct Finder(HashMap<usize, DataType>);
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let FunctionArguments::List(list) = &function.args else {
                return ControlFlow::Continue(());
            };
            if named(&function.name).is_some() {
                let wanted = wanted(list.args.len());
                let found = list.args.iter().filter_map(parameter);
                self.0.extend(found.map(|index| (index, wanted)));
            }
            ControlFlow::Continue(())
        }
    }
    let mut finder = Finder(HashMap::new());
    let _ = query.visit(&mut finder);
    finder.0
}

fn wanted(arguments: usize) -> DataType {
    if arguments == 1 { DataType::BigInt } else { DataType::Integer }
}

fn parameter(argument: &FunctionArg) -> Option<usize> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) = argument else {
        return None;
    };
    match &value.value {
        ast::Value::Placeholder(name) => placeholder_index(name).ok(),
        _ => None,
    }
}

/// What a session has.
#[derive(Debug, Default)]
pub(super) struct Advisory {
    /// Until it gives them back, with how often it has taken each.
    kept: HashMap<(AdvisoryKey, TableMode), (u64, AdvisoryLock)>,
    /// Of the transaction that a statement by itself is.
    statement: Option<WriteSet>,
}

impl Session {
    /// Calls a function.
    pub(super) async fn call_advisory(&mut self, call: &Call, action: Action) -> Result<Value> {
        let void = Value::Text("".into());
        if action == Action::GiveAllBack && call.arguments.is_empty() {
            self.give_back_advisory_locks();
            return Ok(void);
        }
        let Some(key) = self.advisory_key(call)? else { return Ok(Value::Null) };
        match action {
            Action::Take { mode, of_transaction, waits } => {
                let taken = match of_transaction {
                    true => self.take_until_end(key, mode, waits).await?,
                    false => self.take_until_given_back(key, mode, waits).await?,
                };
                Ok(if waits { void } else { Value::Boolean(taken) })
            }
            Action::GiveBack(mode) => Ok(Value::Boolean(self.give_back(key, mode))),
            Action::GiveAllBack => Err(no_function(call)),
        }
    }

    /// What a call names; `None` where that is NULL.
    fn advisory_key(&self, call: &Call) -> Result<Option<AdvisoryKey>> {
        let number = |place| self.argument(call, place, wanted(call.arguments.len()));
        Ok(match call.arguments.len() {
            1 => match number(0)? {
                Value::BigInt(number) => Some(AdvisoryKey::Number(number)),
                _ => None,
            },
            2 => match (number(0)?, number(1)?) {
                (Value::Integer(one), Value::Integer(other)) => Some(AdvisoryKey::Pair(one, other)),
                _ => None,
            },
            _ => return Err(no_function(call)),
        })
    }

    async fn take_until_given_back(
        &mut self,
        key: AdvisoryKey,
        mode: TableMode,
        waits: bool,
    ) -> Result<bool> {
        if let Some((count, _)) = self.advisory.kept.get_mut(&(key, mode)) {
            *count += 1;
            return Ok(true);
        }
        let lock = self.database.engine.exclusion().advisory(self.id(), key, mode);
        while !lock.take()? {
            if !waits {
                return Ok(false);
            }
            self.wait_for(lock.wait()).await?;
        }
        self.advisory.kept.insert((key, mode), (1, lock));
        Ok(true)
    }

    async fn take_until_end(
        &mut self,
        key: AdvisoryKey,
        mode: TableMode,
        waits: bool,
    ) -> Result<bool> {
        while let Some(waiting) = self.taken_or_awaited(key, mode)? {
            if !waits {
                return Ok(false);
            }
            self.wait_for(waiting).await?;
        }
        Ok(true)
    }

    /// `None` where the transaction has it now.
    fn taken_or_awaited(&mut self, key: AdvisoryKey, mode: TableMode) -> Result<Option<Waiting>> {
        let session = self.id();
        let set = match self.block.open() {
            Some(transaction) => &mut transaction.set,
            None => self.advisory.statement.get_or_insert_with(|| WriteSet::of(session)),
        };
        let exclusion = self.database.engine.exclusion();
        match exclusion.take_advisory(set, key, mode)? {
            true => Ok(None),
            false => Ok(Some(exclusion.wait_for_advisory(set, key, mode))),
        }
    }

    /// What a statement by itself has taken until its end.
    pub(super) fn end_statement_locks(&mut self) -> Option<WriteSet> {
        self.advisory.statement.take()
    }

    fn give_back(&mut self, key: AdvisoryKey, mode: TableMode) -> bool {
        let Some((count, _)) = self.advisory.kept.get_mut(&(key, mode)) else {
            let message = format!("you don't own a lock of type {}", mode.name());
            self.notice(Error::new(SqlState::Warning, message));
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.advisory.kept.remove(&(key, mode));
        }
        true
    }

    /// Gives back all that the session has until it does so.
    pub(crate) fn give_back_advisory_locks(&mut self) {
        self.advisory.kept.clear();
    }
}

fn no_function(call: &Call) -> Error {
    let name = call.name;
    let message = format!("function {name} with {} arguments does not exist", call.arguments.len());
    Error::new(SqlState::UndefinedFunction, message)
}
