//! INSERT, UPDATE and DELETE in WITH: planned before their statement, and run before it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use engine::transaction::{Change, Mark, WriteSet};
use engine::types::{Result, TableId, Value};
use futures::TryStreamExt;

use super::pinned::Pinned;
use super::preparation::Preparation;
use super::prepared::Plan;
use super::{Outcome, Session, Statement};
use crate::alone::Overlay;
use crate::catalog::FoundRelation;
use crate::statement::locked_subqueries::{self, Earlier, Taken};
use crate::statement::modifying_queries::{self as modifying, ModifyingQuery};
use crate::template::{Lifted, Parameters};

/// What a transaction had changed before a statement.
#[derive(Debug, Clone)]
pub(super) struct Own {
    /// In the statement's tables.
    pub overlay: Arc<Overlay>,
    /// All of that, and how many changes it was.
    mark: Mark,
    changes: usize,
}

impl Preparation {
    /// Takes the queries that change rows out of a statement's WITH, in their order.
    pub(super) fn take_modifying(
        &self,
        lifted: &mut Lifted,
        parameters: &mut Parameters,
        taken: &mut Taken,
    ) -> Result<()> {
        if !modifying::has_modifying(&lifted.statement) {
            return Ok(());
        }
        let clause = modifying::clause(&mut lifted.statement).and_then(Option::take);
        let Some(mut clause) = clause else { return Ok(()) };
        let mut known = Vec::new();
        for mut cte in std::mem::take(&mut clause.cte_tables) {
            if !modifying::modifies(&cte.query) {
                known.push(cte);
                continue;
            }
            let statement = modifying::statement_of(&cte, &known, &clause);
            if let Some(reading) = self.plan_modifying(lifted, statement, parameters, taken)? {
                cte.query = Box::new(reading);
                known.push(cte);
            }
        }
        clause.cte_tables = known;
        if let Some(with) = modifying::clause(&mut lifted.statement) {
            *with = (!clause.cte_tables.is_empty()).then_some(clause);
        }
        Ok(())
    }

    /// Plans a query that changes rows; what reads it, where it returns something.
    fn plan_modifying(
        &self,
        lifted: &Lifted,
        mut statement: ast::Statement,
        parameters: &mut Parameters,
        taken: &mut Taken,
    ) -> Result<Option<ast::Query>> {
        locked_subqueries::take(&self.database, taken, &mut statement, parameters)?;
        let text = statement.to_string();
        let own = Lifted { statement, text, ..lifted.clone() };
        let count = parameters.len();
        let (prepared, mut known) = self.plan_parts(own, &taken.catalog, parameters.clone())?;
        known.truncate(count);
        *parameters = known;
        taken.refuse_searched(&prepared.plan)?;
        let columns = modifying::returned(&prepared.plan);
        let shown: Vec<_> = columns.iter().collect();
        let origins = modifying::origins(&prepared.plan, &taken.catalog);
        let relation = Arc::new(FoundRelation::new(taken.queries.len(), &shown, origins));
        let reading = match columns.is_empty() {
            true => None,
            false => Some(modifying::reading(&relation, columns)?),
        };
        taken.catalog = Arc::new(taken.catalog.with_found(relation.clone()));
        let query = ModifyingQuery { prepared: Box::new(prepared), relation };
        taken.queries.push(Earlier::Modifying(query));
        Ok(reading)
    }
}

impl Session {
    /// Runs a query of WITH that changes rows, and keeps what it returns for the statement.
    pub(super) async fn run_modifying(
        &mut self,
        statement: &Statement,
        query: &ModifyingQuery,
        parameters: &[Value],
    ) -> Result<()> {
        self.pin_own(statement);
        let (plan, columns) = (&query.prepared.plan, query.prepared.columns.as_ref());
        let outcome = self.run_change(plan, columns, parameters, &statement.literals).await?;
        let mut rows = Vec::new();
        if let Outcome::Rows(mut answers) = outcome {
            while let Some(answer) = answers.pieces.try_next().await? {
                let width = query.relation.types().len();
                for part in &answer.parts {
                    let row = |row| (0..width).map(|at| part.cell(row, at).to_owned()).collect();
                    rows.extend((0..part.rows()).map(row));
                }
            }
        }
        self.found.push(&query.relation, &rows)
    }

    /// What the transaction had changed before the statement, where that is to be told from what it changes itself.
    pub(super) fn own_before(&self) -> Option<Arc<Overlay>> {
        let own = self.pinned.as_ref()?.own.as_ref()?;
        Some(own.overlay.clone())
    }

    /// Takes back what the statement has changed; it may be run again.
    pub(super) fn forget_changes(&mut self) {
        let own = self.pinned.take().and_then(|pinned| pinned.own);
        if let (Some(own), Some(transaction)) = (own, self.block.open()) {
            transaction.set.rollback_to(own.mark);
        }
    }

    /// What follows in the statement sees what was there before it.
    fn pin_own(&mut self, statement: &Statement) {
        if self.pinned.as_ref().is_some_and(|pinned| pinned.own.is_some()) {
            return;
        }
        let snapshot = self.statement_snapshot();
        let tables: Vec<TableId> = statement.prepared.uses().iter().map(|(id, _)| *id).collect();
        let own = self.block.open().map(|transaction| Own {
            overlay: Arc::new(Overlay::new(&transaction.set, &tables)),
            mark: transaction.set.mark(),
            changes: transaction.set.len(),
        });
        self.pinned = Some(Pinned { snapshot, own });
    }

    /// 0A000 where a plan looks for rows of a table that its statement has changed: by a foreign key's action, else it was
    /// refused before.
    pub(super) fn refuse_changed(&mut self, plan: &Plan) -> Result<()> {
        let own = self.pinned.as_ref().and_then(|pinned| pinned.own.as_ref());
        let (Some(own), Some(table)) = (own.cloned(), modifying::searched(plan)) else {
            return Ok(());
        };
        let Some(transaction) = self.block.open() else { return Ok(()) };
        match has_changed(&transaction.set, own.changes, table) {
            true => Err(modifying::refused()),
            false => Ok(()),
        }
    }
}

fn has_changed(set: &WriteSet, before: usize, table: TableId) -> bool {
    set.changes().skip(before).any(|change| match change {
        Change::Insert { table: of, .. }
        | Change::Update { table: of, .. }
        | Change::Delete { table: of, .. } => *of == table,
    })
}
