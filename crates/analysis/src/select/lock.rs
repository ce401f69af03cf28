//! FOR UPDATE and the like.

use syntax::{LockClauseStrength, LockWaitPolicy, LockingClause, SelectStmt};

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault, location};
use crate::tree::{EntryKind, Lock, LockWait, Query};

/// A locking clause as messages name it.
pub(super) fn name(strength: LockClauseStrength) -> &'static str {
    match strength {
        LockClauseStrength::None => "NONE",
        LockClauseStrength::Forkeyshare => "FOR KEY SHARE",
        LockClauseStrength::Forshare => "FOR SHARE",
        LockClauseStrength::Fornokeyupdate => "FOR NO KEY UPDATE",
        LockClauseStrength::Forupdate => "FOR UPDATE",
    }
}

fn rank(strength: LockClauseStrength) -> u8 {
    match strength {
        LockClauseStrength::None => 0,
        LockClauseStrength::Forkeyshare => 1,
        LockClauseStrength::Forshare => 2,
        LockClauseStrength::Fornokeyupdate => 3,
        LockClauseStrength::Forupdate => 4,
    }
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn locks(&mut self, select: SelectStmt<'t>, query: &Query) -> Result<Vec<Lock>> {
        let mut locks: Vec<Lock> = Vec::new();
        for clause in select.locking_clause().iter() {
            self.can_lock(clause.strength(), query)?;
            if clause.locked_rels().is_empty() {
                for place in 0..self.here().range_table.len() {
                    let kind = &self.here().range_table[place].kind;
                    if matches!(kind, EntryKind::Relation(_) | EntryKind::Subquery(_)) {
                        lock(&mut locks, place, clause);
                    }
                }
                continue;
            }
            for named in clause.locked_rels().iter() {
                let at = location(named.location());
                let name_of_clause = name(clause.strength());
                if named.schemaname().is_some() || named.catalogname().is_some() {
                    let message =
                        format!("{name_of_clause} must specify unqualified relation names");
                    return Err(fault("42601", at, message));
                }
                let relation = named.relname().unwrap_or_default();
                let place = self.lockable(relation, name_of_clause, at)?;
                lock(&mut locks, place, clause);
            }
        }
        Ok(locks)
    }

    fn lockable(&self, relation: &str, clause: &str, at: i32) -> Result<usize> {
        let table = &self.here().range_table;
        let named = |place: &usize| *table[*place].name == *relation;
        // A join without alias has no name to lock by.
        let is_plain = |place: &usize| !matches!(&table[*place].kind, EntryKind::Join(_) if *table[*place].name == *"unnamed_join");
        let Some(place) = (0..table.len()).filter(is_plain).find(named) else {
            let message =
                format!("relation \"{relation}\" in {clause} clause not found in FROM clause");
            return Err(fault("42P01", at, message));
        };
        let what = match &table[place].kind {
            EntryKind::Relation(_) | EntryKind::Subquery(_) => return Ok(place),
            EntryKind::Join(_) => "a join",
            EntryKind::Functions { .. } => "a function",
            EntryKind::XmlTable(_) => "a table function",
            EntryKind::Values(_) => "VALUES",
            _ => "a WITH query",
        };
        Err(fault("0A000", at, format!("{clause} cannot be applied to {what}")))
    }

    /// # Errors
    /// 0A000 where rows of the query are no rows of tables.
    fn can_lock(&self, strength: LockClauseStrength, query: &Query) -> Result<()> {
        let name = name(strength);
        let what = if !query.distinct.is_empty() {
            "DISTINCT clause"
        } else if !query.groups.is_empty() || !query.grouping_sets.is_empty() {
            "GROUP BY clause"
        } else if query.having.is_some() {
            "HAVING clause"
        } else if self.here().has_aggregates {
            "aggregate functions"
        } else if self.here().has_windows {
            "window functions"
        } else if self.here().has_sets {
            "set-returning functions in the target list"
        } else {
            return Ok(());
        };
        Err(fault("0A000", NOWHERE, format!("{name} is not allowed with {what}")))
    }
}

/// Of two locks of an entry the stronger counts, and the more impatient.
fn lock(locks: &mut Vec<Lock>, entry: usize, clause: LockingClause<'_>) {
    let wait = match clause.wait_policy() {
        LockWaitPolicy::Block => LockWait::Block,
        LockWaitPolicy::Skip => LockWait::Skip,
        LockWaitPolicy::Error => LockWait::Fail,
    };
    let strength = rank(clause.strength());
    match locks.iter_mut().find(|lock| lock.entry == entry) {
        Some(known) => {
            known.strength = known.strength.max(strength);
            let impatience = |wait: LockWait| wait as u8;
            if impatience(wait) > impatience(known.wait) {
                known.wait = wait;
            }
        }
        None => locks.push(Lock { entry, strength, wait }),
    }
}
