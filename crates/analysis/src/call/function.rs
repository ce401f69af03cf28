//! Calls of functions, and what looks like one.

use std::sync::Arc;

use syntax::{FuncCall, Node, StringValue, WindowDef};

use super::detail::{FunctionCandidate, Meaning, Wanted};
use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::{AnalysisError, Location, NOWHERE, Result, fault, leftmost, location};
use crate::facts::{CastContext, FunctionKind, Oid, oid};
use crate::tree::{CastForm, Expression, ExpressionKind, FunctionRef};

/// What is written in a call besides its name and arguments.
#[derive(Clone, Copy, Default)]
pub(super) struct Written<'t> {
    pub call: Option<FuncCall<'t>>,
    pub filter: Option<Node<'t>>,
    pub over: Option<WindowDef<'t>>,
    pub is_star: bool,
    pub is_distinct: bool,
    pub is_within_group: bool,
    pub is_ordered: bool,
    pub is_variadic: bool,
}

impl<'t> Written<'t> {
    fn of(call: FuncCall<'t>) -> Self {
        Self {
            call: Some(call),
            filter: call.agg_filter(),
            over: call.over(),
            is_star: call.agg_star(),
            is_distinct: call.agg_distinct(),
            is_within_group: call.agg_within_group(),
            is_ordered: !call.agg_order().is_empty(),
            is_variadic: call.func_variadic(),
        }
    }

    fn is_plain(&self) -> bool {
        let has_clauses = self.filter.is_some() || self.over.is_some() || self.is_ordered;
        !has_clauses && !self.is_star && !self.is_distinct && !self.is_variadic
    }
}

impl<'t> Analyzer<'t, '_> {
    /// A call as it is written.
    pub(crate) fn function_call(&mut self, call: FuncCall<'t>) -> Result<Expression> {
        let met = self.here().sets_met;
        let mut arguments = Vec::with_capacity(call.args().len());
        for argument in call.args().iter() {
            arguments.push(self.expression(argument)?);
        }
        if call.agg_within_group() {
            for key in call.agg_order().iter() {
                let Node::SortBy(key) = key else { continue };
                let node = key.node().expect("the grammar gives a key an expression");
                let place = crate::place::Place::OrderBy;
                arguments.push(self.in_place(place, |this| this.expression(node))?);
            }
        }
        let names: Vec<&str> = call.funcname().iter().filter_map(StringValue::value).collect();
        let at = location(call.location());
        let done = self.call(&names, arguments, Written::of(call), met, at)?;
        Ok(done.expect("a call is one or fails"))
    }

    /// A function of one argument by the notation of a column; `None` where there is none.
    pub(crate) fn column_or_function(
        &mut self,
        name: &str,
        value: Expression,
        at: Location,
    ) -> Result<Option<Expression>> {
        let met = self.here().sets_met;
        self.call(&[name], vec![value], Written::default(), met, at)
    }

    fn call(
        &mut self,
        names: &[&str],
        arguments: Vec<Expression>,
        written: Written<'t>,
        met: usize,
        at: Location,
    ) -> Result<Option<Expression>> {
        if arguments.len() > 100 {
            let message = "cannot pass more than 100 arguments to a function";
            return Err(fault("54023", at, message));
        }
        let types: Vec<Oid> = arguments.iter().map(|argument| argument.type_oid).collect();
        let argument_names = self.argument_names(&arguments)?;
        let is_row = |this: &Self| types[0] == oid::RECORD || this.is_composite(types[0]);
        let is_projection = types.len() == 1
            && names.len() == 1
            && written.is_plain()
            && argument_names.is_empty()
            && is_row(self);
        if is_projection && written.call.is_none() {
            let projected = self.projection(names[0], &arguments[0], at)?;
            if projected.is_some() {
                return Ok(projected);
            }
        }
        let borrowed: Vec<&str> = argument_names.iter().map(|name| &**name).collect();
        let wanted = Wanted {
            names,
            types: &types,
            argument_names: &borrowed,
            expands_variadic: !written.is_variadic,
            is_cast_possible: types.len() == 1 && argument_names.is_empty(),
        };
        match self.meaning(&wanted) {
            Meaning::Cast(target) => {
                self.refuse_clauses(names, &written, at)?;
                let value = arguments.into_iter().next().expect("there is one argument");
                self.cast_by_name(value, target, at).map(Some)
            }
            Meaning::Function(found) => {
                self.call_found(names, found, arguments, written, met, at).map(Some)
            }
            Meaning::Ambiguous if written.call.is_none() => Ok(None),
            Meaning::Ambiguous => {
                let words = self.call_words(names, &types, &borrowed);
                Err(fault("42725", at, format!("function {words} is not unique")).hint(
                    "Could not choose a best candidate function. You might need to add explicit type casts.",
                ))
            }
            Meaning::Unknown => {
                if is_projection && written.call.is_some() {
                    let projected = self.projection(names[0], &arguments[0], at)?;
                    if projected.is_some() {
                        return Ok(projected);
                    }
                }
                if written.call.is_none() {
                    return Ok(None);
                }
                let words = self.call_words(names, &types, &borrowed);
                Err(self.no_function(names, &written, &words, at))
            }
        }
    }

    fn no_function(
        &self,
        names: &[&str],
        written: &Written<'_>,
        words: &str,
        at: Location,
    ) -> Box<AnalysisError> {
        if let [schema, _] = names
            && *schema != "pg_catalog"
            && !self.catalog.has_schema(schema)
        {
            return fault("3F000", at, format!("schema \"{schema}\" does not exist"));
        }
        let keys = written.call.map_or(0, |call| call.agg_order().len());
        let hint = if keys > 1 && !written.is_within_group {
            "No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER BY; ORDER BY must appear \
             after all regular arguments of the aggregate."
        } else {
            "No function matches the given name and argument types. You might need to add explicit type casts."
        };
        fault("42883", at, format!("function {words} does not exist")).hint(hint)
    }

    /// Names of the arguments that have one.
    fn argument_names(&self, arguments: &[Expression]) -> Result<Vec<Arc<str>>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for argument in arguments {
            match &argument.kind {
                ExpressionKind::Named(name, ..) => {
                    if names.contains(name) {
                        let message = format!("argument name \"{name}\" used more than once");
                        return Err(fault("42601", argument.location, message));
                    }
                    names.push(name.clone());
                }
                _ if !names.is_empty() => {
                    let message = "positional argument cannot follow named argument";
                    return Err(fault("42601", argument.location, message));
                }
                _ => {}
            }
        }
        Ok(names)
    }

    /// A call as messages write it.
    fn call_words(&self, names: &[&str], types: &[Oid], argument_names: &[&str]) -> String {
        let first_named = types.len() - argument_names.len();
        let argument = |(at, oid): (usize, &Oid)| {
            let words = self.type_words(*oid);
            if at < first_named {
                words
            } else {
                format!("{} => {words}", argument_names[at - first_named])
            }
        };
        let arguments: Vec<String> = types.iter().enumerate().map(argument).collect();
        format!("{}({})", names.join("."), arguments.join(", "))
    }

    fn cast_by_name(&mut self, value: Expression, target: Oid, at: Location) -> Result<Expression> {
        let wish = Wish { context: CastContext::Explicit, form: CastForm::Explicit, at };
        self.coerce(value, target, -1, wish)
    }

    /// # Errors
    /// 42809 where clauses of aggregates stand behind a call of something else.
    fn refuse_clauses(&self, names: &[&str], written: &Written<'_>, at: Location) -> Result<()> {
        let name = names.join(".");
        let no_aggregate = format!("but {name} is not an aggregate function");
        let message = if written.is_star {
            format!("{name}(*) specified, {no_aggregate}")
        } else if written.is_distinct {
            format!("DISTINCT specified, {no_aggregate}")
        } else if written.is_within_group {
            format!("WITHIN GROUP specified, {no_aggregate}")
        } else if written.is_ordered {
            format!("ORDER BY specified, {no_aggregate}")
        } else if written.filter.is_some() {
            format!("FILTER specified, {no_aggregate}")
        } else if written.over.is_some() {
            format!("OVER specified, but {name} is not a window function nor an aggregate function")
        } else {
            return Ok(());
        };
        Err(fault("42809", at, message))
    }

    fn call_found(
        &mut self,
        names: &[&str],
        found: FunctionCandidate,
        arguments: Vec<Expression>,
        written: Written<'t>,
        met: usize,
        at: Location,
    ) -> Result<Expression> {
        let row = found.row;
        let name = names.join(".");
        match row.kind {
            FunctionKind::Normal => self.refuse_clauses(names, &written, at)?,
            FunctionKind::Procedure => {
                let types: Vec<Oid> = arguments.iter().map(|argument| argument.type_oid).collect();
                let words = self.call_words(names, &types, &[]);
                let hint = "To call a procedure, use CALL.";
                return Err(fault("42809", at, format!("{words} is a procedure")).hint(hint));
            }
            FunctionKind::Aggregate => {
                self.check_aggregate(&found, &written, &name, &arguments, at)?
            }
            FunctionKind::Window => {
                if written.over.is_none() {
                    let message = format!("window function {name} requires an OVER clause");
                    return Err(fault("42P20", at, message));
                }
                if written.is_within_group {
                    let message = format!("window function {name} cannot have WITHIN GROUP");
                    return Err(fault("42809", at, message));
                }
            }
        }
        let (arguments, result) =
            self.found_arguments(&found, arguments, written.is_variadic, at)?;
        let is_variadic = found.variadic > 0 || written.is_variadic;
        if row.returns_set {
            self.place_set(met, at)?;
        }
        if let Some(over) = written.over {
            return self.window_call(row, arguments, result, written, over, &name, at);
        }
        if row.kind == FunctionKind::Aggregate {
            return self.aggregate_call(row, arguments, result, written, &name, at);
        }
        let location = arguments.iter().fold(at, |at, argument| leftmost(at, argument.location));
        let kind = ExpressionKind::Call { function: FunctionRef(row), arguments, is_variadic };
        let collation = self.collation_of(result);
        Ok(Expression::new(kind, result, location).collation(collation))
    }

    /// Arguments cast to the function's types, those left out and the variadic array among them; and the result's type.
    fn found_arguments(
        &mut self,
        found: &FunctionCandidate,
        mut arguments: Vec<Expression>,
        is_variadic: bool,
        at: Location,
    ) -> Result<(Vec<Expression>, Oid)> {
        let row = found.row;
        if let Some(places) = &found.places {
            for (argument, place) in arguments.iter_mut().zip(places) {
                if let ExpressionKind::Named(_, at, _) = &mut argument.kind {
                    *at = *place;
                }
            }
        }
        let mut declared = found.types.clone();
        let mut actual: Vec<Oid> = arguments.iter().map(|argument| argument.type_oid).collect();
        let given = arguments.len();
        for at in given..declared.len() {
            let place = found.places.as_ref().map_or(at, |places| places[at]);
            let kind = ExpressionKind::ArgumentDefault(place);
            actual.push(if crate::types::is_polymorphic(declared[at]) {
                oid::UNKNOWN
            } else {
                declared[at]
            });
            arguments.push(Expression::new(kind, declared[at], NOWHERE));
        }
        let result = self.resolve_generic(&actual, &mut declared, row.result)?;
        for (argument, declared) in arguments[given..].iter_mut().zip(&declared[given..]) {
            argument.type_oid = *declared;
        }
        let mut arguments = self.cast_arguments(arguments, &declared)?;
        if found.variadic > 0 && row.variadic != oid::ANY {
            let first = arguments.len() - found.variadic;
            let elements = arguments.split_off(first);
            let element = elements[0].type_oid;
            let array = self.array_of(element);
            if array == 0 {
                let words = self.type_words(element);
                let message = format!("could not find array type for data type {words}");
                return Err(fault("42704", elements[0].location, message));
            }
            let location = elements[0].location;
            let kind = ExpressionKind::Array { elements, is_nested: false };
            let collation = self.collation_of(array);
            arguments.push(Expression::new(kind, array, location).collation(collation));
        }
        if is_variadic && row.variadic == oid::ANY {
            let last = arguments.last().expect("VARIADIC has an argument");
            if last.type_oid != oid::UNKNOWN && self.base_element(last.type_oid).is_none() {
                let message = "VARIADIC argument must be an array";
                return Err(fault("42804", last.location, message));
            }
        }
        let _ = at;
        Ok((arguments, result))
    }
}
