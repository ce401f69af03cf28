//! Columns that are neither grouped by nor within aggregates.

use crate::analyzer::Analyzer;
use crate::error::{Result, fault};
use crate::tree::{Entry, EntryKind, Expression, ExpressionKind, Part, Query};

/// The check of one query.
struct Check<'a> {
    query: &'a Query,
    /// What is grouped by in every set.
    grouped: Vec<&'a Expression>,
    /// What is grouped by in some set.
    anywhere: Vec<&'a Expression>,
    has_others_than_columns: bool,
}

impl Analyzer<'_, '_> {
    pub(super) fn check_grouped(&self, query: &Query) -> Result<()> {
        let is_grouped = !query.groups.is_empty()
            || !query.grouping_sets.is_empty()
            || query.having.is_some()
            || query.has_aggregates;
        if !is_grouped {
            return Ok(());
        }
        let expression = |key: usize| &query.targets[query.groups[key].target].expression;
        let everywhere = |key: &usize| query.grouping_sets.iter().all(|set| set.contains(key));
        let all: Vec<usize> = (0..query.groups.len()).collect();
        let anywhere: Vec<&Expression> = all.iter().map(|key| expression(*key)).collect();
        let common: Vec<&Expression> =
            all.iter().filter(|key| everywhere(key)).map(|key| expression(*key)).collect();
        let is_column = |value: &&Expression| matches!(value.kind, ExpressionKind::Column(_));
        let check = Check {
            query,
            has_others_than_columns: !anywhere.iter().all(is_column),
            grouped: common,
            anywhere,
        };
        for target in &query.targets {
            check.look(Part::Expression(&target.expression), 0, false)?;
        }
        query
            .having
            .as_ref()
            .map_or(Ok(()), |having| check.look(Part::Expression(having), 0, false))
    }
}

impl Check<'_> {
    fn look(&self, part: Part<'_>, depth: usize, in_direct: bool) -> Result<()> {
        let value = match part {
            Part::Query(query) => {
                return each(&mut |see| query.parts(see), |part| {
                    self.look(part, depth + 1, in_direct)
                });
            }
            Part::Expression(value) => value,
        };
        match &value.kind {
            ExpressionKind::Aggregate(call) if call.levels == depth => {
                let direct = |see: &mut dyn FnMut(Part<'_>)| {
                    call.direct.iter().for_each(|value| see(Part::Expression(value)));
                };
                return each(&mut |see| direct(see), |part| self.look(part, depth, true));
            }
            ExpressionKind::Aggregate(call) if call.levels > depth => return Ok(()),
            ExpressionKind::Grouping { levels, arguments } if *levels == depth => {
                return self.check_grouping(arguments, depth);
            }
            ExpressionKind::Grouping { levels, .. } if *levels > depth => return Ok(()),
            _ => {}
        }
        if self.has_others_than_columns && depth == 0 && self.anywhere.contains(&value) {
            return Ok(());
        }
        if let ExpressionKind::Column(column) = value.kind {
            if column.levels != depth || self.is_grouped(column.entry, column.number) {
                return Ok(());
            }
            if let Some(merged) = self.merged(column.entry, column.number, depth) {
                return self.look(Part::Expression(merged), depth, in_direct);
            }
            return Err(self.ungrouped(value, column.entry, column.number, depth, in_direct));
        }
        each(&mut |see| value.parts(see), |part| self.look(part, depth, in_direct))
    }

    /// What a column of a join is computed from.
    fn merged(&self, entry: usize, number: i16, depth: usize) -> Option<&Expression> {
        let EntryKind::Join(values) = &self.query.range_table[entry].kind else { return None };
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        values.get(place).filter(|value| {
            depth == 0
                && !matches!(value.kind, ExpressionKind::Column(column) if column.entry == entry)
        })
    }

    fn is_grouped(&self, entry: usize, number: i16) -> bool {
        let is_same = |value: &&Expression| {
            matches!(value.kind, ExpressionKind::Column(column)
                if column.levels == 0 && column.entry == entry && column.number == number)
        };
        self.anywhere.iter().any(is_same) || self.follows_from_key(entry)
    }

    /// Whether all columns of a relation's primary key are grouped by.
    fn follows_from_key(&self, entry: usize) -> bool {
        let EntryKind::Relation(relation) = &self.query.range_table[entry].kind else {
            return false;
        };
        let key = &relation.0.primary_key;
        let is_grouped = |number: &u16| {
            self.grouped.iter().any(|value| {
                matches!(value.kind, ExpressionKind::Column(column)
                    if column.levels == 0 && column.entry == entry && i32::from(column.number) == i32::from(*number))
            })
        };
        !key.is_empty() && key.iter().all(is_grouped)
    }

    fn check_grouping(&self, arguments: &[Expression], depth: usize) -> Result<()> {
        for argument in arguments {
            let is_grouped = match argument.kind {
                ExpressionKind::Column(column) if column.levels == depth => {
                    let is_same = |value: &&Expression| {
                        matches!(value.kind, ExpressionKind::Column(other)
                            if other.levels == 0 && other.entry == column.entry && other.number == column.number)
                    };
                    self.anywhere.iter().any(is_same)
                }
                _ => depth == 0 && self.anywhere.contains(&argument),
            };
            if !is_grouped {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                return Err(fault("42803", argument.location, message));
            }
        }
        Ok(())
    }

    fn ungrouped(
        &self,
        value: &Expression,
        entry: usize,
        number: i16,
        depth: usize,
        in_direct: bool,
    ) -> Box<crate::error::AnalysisError> {
        let entry = &self.query.range_table[entry];
        let (table, column) = (&entry.name, column_name(entry, number));
        let message = if depth == 0 {
            format!(
                "column \"{table}.{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
            )
        } else {
            format!("subquery uses ungrouped column \"{table}.{column}\" from outer query")
        };
        let error = fault("42803", value.location, message);
        if in_direct && depth == 0 {
            return error.detail(
                "Direct arguments of an ordered-set aggregate must use only grouped columns.",
            );
        }
        error
    }
}

fn column_name(entry: &Entry, number: i16) -> String {
    if number == 0 {
        return "*".to_owned();
    }
    let system = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];
    if number < 0 {
        return system[usize::from(number.unsigned_abs()) - 1].to_owned();
    }
    entry.columns[usize::from(number.unsigned_abs()) - 1].name.to_string()
}

/// Shows parts, one after the other, to whoever is given.
type Parts<'p> = dyn FnMut(&mut dyn FnMut(Part<'_>)) + 'p;

/// The first failure among parts.
fn each(parts: &mut Parts<'_>, check: impl Fn(Part<'_>) -> Result<()>) -> Result<()> {
    let mut result = Ok(());
    parts(&mut |part| {
        if result.is_ok() {
            result = check(part);
        }
    });
    result
}
