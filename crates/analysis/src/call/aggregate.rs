//! Aggregates: their clauses, and the query that they belong to.

use syntax::{Node, SortBy};

use super::detail::FunctionCandidate;
use super::function::Written;
use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, leftmost};
use crate::facts::{AggregateKind, FunctionRow, Oid, oid};
use crate::place::Place;
use crate::tree::{Aggregate, Expression, ExpressionKind, FunctionRef, Part, Target};

/// What arguments of an aggregate tell about the query that it belongs to.
#[derive(Default)]
struct Seen {
    /// The innermost level of the columns.
    columns: Option<usize>,
    /// The innermost level of the aggregates, and where one of it stands.
    aggregates: Option<(usize, Location)>,
    /// Where a window function stands.
    window: Option<Location>,
    /// Where a set-returning function stands.
    set: Option<Location>,
}

impl Seen {
    /// Looks through an expression, `depth` queries further in.
    fn look(&mut self, part: Part<'_>, depth: usize) {
        let expression = match part {
            Part::Query(query) => return query.parts(&mut |part| self.look(part, depth + 1)),
            Part::Expression(expression) => expression,
        };
        match &expression.kind {
            ExpressionKind::Column(column) => {
                if let Some(level) = column.levels.checked_sub(depth) {
                    self.columns = Some(self.columns.map_or(level, |known| known.min(level)));
                }
            }
            ExpressionKind::Aggregate(call) => self.aggregate(call.levels, depth, expression),
            ExpressionKind::Grouping { levels, .. } => self.aggregate(*levels, depth, expression),
            ExpressionKind::Window(_) if depth == 0 => {
                self.window.get_or_insert(expression.location);
            }
            ExpressionKind::Call { function, .. } if depth == 0 && function.0.returns_set => {
                self.set.get_or_insert(expression.location);
            }
            _ => {}
        }
        expression.parts(&mut |part| self.look(part, depth));
    }

    fn aggregate(&mut self, levels: usize, depth: usize, expression: &Expression) {
        if let Some(level) = levels.checked_sub(depth)
            && self.aggregates.is_none_or(|(known, _)| level < known)
        {
            self.aggregates = Some((level, expression.location));
        }
    }
}

impl<'t> Analyzer<'t, '_> {
    /// # Errors
    /// 42809 and others where an aggregate's clauses are not its kind's.
    pub(super) fn check_aggregate(
        &mut self,
        found: &FunctionCandidate,
        written: &Written<'t>,
        name: &str,
        arguments: &[Expression],
        at: Location,
    ) -> Result<()> {
        let row = found.row;
        if row.aggregate == AggregateKind::Normal {
            if written.is_within_group {
                let message = format!(
                    "{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                );
                return Err(fault("42809", at, message));
            }
            return Ok(());
        }
        if !written.is_within_group {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
            return Err(fault("42809", at, message));
        }
        if written.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(fault("0A000", at, message));
        }
        if written.is_distinct {
            return Err(fault("0A000", at, "cannot use DISTINCT with WITHIN GROUP"));
        }
        self.check_direct(row, written, name, arguments, at)
    }

    fn check_direct(
        &self,
        row: &FunctionRow,
        written: &Written<'t>,
        name: &str,
        arguments: &[Expression],
        at: Location,
    ) -> Result<()> {
        let ordered = written.call.map_or(0, |call| call.agg_order().len());
        let direct = arguments.len() - ordered;
        let types: Vec<Oid> = arguments.iter().map(|argument| argument.type_oid).collect();
        let none = |hint: String| {
            let words = self.types_words(&types);
            let message = format!("function {name}({words}) does not exist");
            Err(fault("42883", at, message).hint(hint))
        };
        if row.variadic != 0 && row.aggregate == AggregateKind::Hypothetical {
            if direct != ordered {
                return none(format!(
                    "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {direct}) must \
                     match the number of ordering columns (here {ordered})."
                ));
            }
        } else if direct != row.direct_arguments && row.variadic == 0 {
            let wanted = row.direct_arguments;
            let plural = if wanted == 1 { "" } else { "s" };
            return none(format!(
                "There is an ordered-set aggregate {name}, but it requires {wanted} direct argument{plural}, not {direct}."
            ));
        }
        Ok(())
    }

    /// An aggregate with its clauses.
    pub(super) fn aggregate_call(
        &mut self,
        row: &'static FunctionRow,
        arguments: Vec<Expression>,
        result: Oid,
        written: Written<'t>,
        name: &str,
        at: Location,
    ) -> Result<Expression> {
        self.check_star(&arguments, &written, name, at)?;
        for argument in &arguments {
            if matches!(argument.kind, ExpressionKind::Named(..)) {
                let message = "aggregates cannot use named arguments";
                return Err(fault("0A000", argument.location, message));
            }
        }
        let filter = self.filter(written.filter)?;
        let ordered = written.call.map_or(0, |call| call.agg_order().len());
        let mut direct = Vec::new();
        let mut rows = arguments;
        if row.aggregate != AggregateKind::Normal {
            let keys = rows.split_off(rows.len() - ordered.min(rows.len()));
            direct = std::mem::replace(&mut rows, keys);
            if row.aggregate == AggregateKind::Hypothetical {
                self.match_hypothetical(&mut direct, &mut rows)?;
            }
        }
        let count = rows.len();
        let mut targets: Vec<Target> = rows.into_iter().map(plain_target).collect();
        let keys: Vec<SortBy<'t>> = written
            .call
            .into_iter()
            .flat_map(|call| call.agg_order().iter())
            .filter_map(|node| if let Node::SortBy(key) = node { Some(key) } else { None })
            .collect();
        let mut order = if row.aggregate == AggregateKind::Normal {
            self.sort_expressions(&keys, &mut targets)?
        } else {
            self.sort_places(&keys, &mut targets)?
        };
        if written.is_distinct {
            order = self.distinct_arguments(&targets, count, order)?;
        }
        let junk = targets.len() - count;
        let arguments: Vec<Expression> =
            targets.into_iter().map(|target| target.expression).collect();
        let levels = self.aggregate_level(&direct, &arguments, filter.as_ref(), at)?;
        let location = arguments
            .iter()
            .chain(&direct)
            .fold(at, |at, argument| leftmost(at, argument.location));
        let aggregate = Aggregate {
            function: FunctionRef(row),
            direct,
            arguments,
            order,
            junk,
            is_distinct: written.is_distinct,
            filter: filter.map(Box::new),
            levels,
        };
        let kind = ExpressionKind::Aggregate(Box::new(aggregate));
        let collation = self.collation_of(result);
        Ok(Expression::new(kind, result, if at >= 0 { at } else { location }).collation(collation))
    }

    pub(super) fn check_star(
        &self,
        arguments: &[Expression],
        written: &Written<'_>,
        name: &str,
        at: Location,
    ) -> Result<()> {
        if arguments.is_empty() && !written.is_star && !written.is_within_group {
            let message =
                format!("{name}(*) must be used to call a parameterless aggregate function");
            return Err(fault("42809", at, message));
        }
        Ok(())
    }

    pub(super) fn filter(&mut self, filter: Option<Node<'t>>) -> Result<Option<Expression>> {
        let Some(filter) = filter else { return Ok(None) };
        let value = self.in_place(Place::Filter, |this| this.expression(filter))?;
        self.boolean(value, "FILTER").map(Some)
    }

    /// Direct arguments of a row that is not there have the types of the keys.
    fn match_hypothetical(
        &mut self,
        direct: &mut [Expression],
        rows: &mut [Expression],
    ) -> Result<()> {
        for (direct, row) in direct.iter_mut().zip(rows) {
            let common = self.common_type([&*row, &*direct].into_iter(), "WITHIN GROUP")?;
            for value in [direct, row] {
                let taken = std::mem::replace(value, Expression::null(oid::TEXT));
                *value = self.coerce_to_common(taken, common, "WITHIN GROUP")?;
            }
        }
        Ok(())
    }

    /// How many queries out an aggregate belongs: to the innermost whose columns its arguments name.
    fn aggregate_level(
        &mut self,
        direct: &[Expression],
        arguments: &[Expression],
        filter: Option<&Expression>,
        at: Location,
    ) -> Result<usize> {
        let mut seen = Seen::default();
        arguments.iter().chain(filter).for_each(|value| seen.look(Part::Expression(value), 0));
        let (columns, aggregates) = (seen.columns, seen.aggregates);
        if let Some(at) = seen.set {
            let message = "aggregate function calls cannot contain set-returning function calls";
            return Err(fault("0A000", at, message).hint(
                "You might be able to move the set-returning function into a LATERAL FROM item.",
            ));
        }
        if let Some(at) = seen.window {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(fault("42803", at, message));
        }
        let level = [columns, aggregates.map(|(level, _)| level)].into_iter().flatten().min();
        let level = level.unwrap_or(0);
        if let Some((found, at)) = aggregates
            && found == level
        {
            return Err(fault("42803", at, "aggregate function calls cannot be nested"));
        }
        self.check_direct_levels(direct, level, at)?;
        self.place_aggregate("aggregate functions", level, at)?;
        Ok(level)
    }

    fn check_direct_levels(&self, direct: &[Expression], level: usize, at: Location) -> Result<()> {
        let mut seen = Seen::default();
        direct.iter().for_each(|value| seen.look(Part::Expression(value), 0));
        if seen.columns.is_some_and(|columns| columns < level) {
            let message = "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
            return Err(fault("42803", at, message));
        }
        if let Some((found, at)) = seen.aggregates
            && found <= level
        {
            return Err(fault("42803", at, "aggregate function calls cannot be nested"));
        }
        Ok(())
    }

    /// Notes an aggregate, or a grouping operation, of a level.
    ///
    /// # Errors
    /// 42803 where it may not stand.
    pub(crate) fn place_aggregate(&mut self, what: &str, level: usize, at: Location) -> Result<()> {
        let outer = self.outer_mut(level);
        outer.has_aggregates = true;
        match outer.place.refuses_aggregates() {
            Some(words) => Err(fault("42803", at, format!("{what} are not allowed {words}"))),
            None => Ok(()),
        }
    }

    /// The level of GROUPING(..): of its arguments' columns.
    pub(crate) fn grouping_level(
        &mut self,
        arguments: &[Expression],
        at: Location,
    ) -> Result<usize> {
        let mut seen = Seen::default();
        arguments.iter().for_each(|value| seen.look(Part::Expression(value), 0));
        let aggregates = seen.aggregates.map(|(level, _)| level);
        let level = [seen.columns, aggregates].into_iter().flatten().min().unwrap_or(0);
        self.place_aggregate("grouping operations", level, at)?;
        Ok(level)
    }

    /// Where a window function stands in values, if there is one of this query.
    pub(crate) fn window_within(values: &[&Expression]) -> Option<Location> {
        let mut seen = Seen::default();
        values.iter().for_each(|value| seen.look(Part::Expression(value), 0));
        seen.window
    }

    /// Where a set-returning function stands in values.
    pub(crate) fn set_within(values: &[&Expression]) -> Option<Location> {
        let mut seen = Seen::default();
        values.iter().for_each(|value| seen.look(Part::Expression(value), 0));
        seen.set
    }

    /// Whether an aggregate of this query stands in a value.
    pub(crate) fn aggregate_within(value: &Expression) -> Option<Location> {
        let mut seen = Seen::default();
        seen.look(Part::Expression(value), 0);
        seen.aggregates.filter(|(level, _)| *level == 0).map(|(_, at)| at)
    }

    /// Whether a column of this query stands in a value.
    pub(crate) fn column_within(value: &Expression) -> bool {
        let mut seen = Seen::default();
        seen.look(Part::Expression(value), 0);
        seen.columns == Some(0)
    }
}

fn plain_target(expression: Expression) -> Target {
    Target { expression, name: "".into(), is_junk: false, column: 0 }
}
