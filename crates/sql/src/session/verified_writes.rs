//! Writes whose rows are searched for again by another path, on what the write looked through.
//!
//! A write of a block looks through the block's snapshot and its own changes. A write by itself looks through the newest
//! state, which was a version only if nothing was changed before it in its turn: others are counted as skipped. What it
//! found is told by RETURNING's rows, else by how many they are. Called by [`super::write`].

use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart, WriteOutcome};
use engine::storage::{Snapshot, Store};
use engine::types::{DataType, Result, TableId, Value, Version};

use super::Session;
use super::verified::Drawn;
use crate::alone::Overlay;
use crate::statement::complex::ComplexWrite;
use crate::statement::search::Search;
use crate::statement::write::Write;
use crate::text::session_zone;
use crate::verification::{Question, Taken};

/// A write that is to be verified.
pub(super) struct DrawnWrite {
    drawn: Drawn,
    search: Search,
    values: Arc<[Value]>,
    /// Values of its subqueries were computed before it.
    reads_before: bool,
}

/// What a write looked through.
pub(super) enum Sight {
    /// A block's snapshot, under its changes of these tables.
    Block(Snapshot, Option<Arc<Overlay>>),
    /// The newest state in its turn.
    Turn,
    /// A block's snapshot, and newer rows where it has waited for them.
    Newer,
}

impl DrawnWrite {
    /// The tables that its search reads.
    pub fn tables(&self) -> &[TableId] {
        &self.search.query.tables
    }
}

impl Session {
    /// A write: whether its rows are to be searched for again.
    pub(super) async fn draw_write(&self, write: &Write, values: &[Value]) -> Option<DrawnWrite> {
        let drawn = self.draw()?;
        let search = Box::pin(self.search(&write.plan.text, &write.plan.parameters)).await?;
        let reads_before = !write.subqueries.is_empty();
        Some(DrawnWrite { drawn, search, values: values.into(), reads_before })
    }

    /// What finds the rows of a write again, for one that is drawn.
    async fn search(&self, text: &Arc<str>, types: &[DataType]) -> Option<Search> {
        let (database, catalog) = (self.database.clone(), self.catalog());
        let (own, types) = (text.clone(), types.to_vec());
        let find = move || Ok(database.verification.search(&database, &catalog, &own, &types));
        let found = self.on_planning_thread(text.len(), find).await.ok().flatten();
        if found.is_none() {
            self.database.verification.skip("no search");
        }
        found
    }

    /// Verifies what a write found.
    pub(super) async fn verify_write(
        &self,
        write: DrawnWrite,
        sight: Sight,
        outcome: &WriteOutcome,
    ) -> Result<()> {
        let DrawnWrite { drawn, search, values, reads_before } = write;
        let newest = drawn.newest().clone();
        let store = self.database.engine.store();
        let is_same =
            |version| is_unchanged(store, &search.query.tables, newest.version(), version);
        let looked_through = match sight {
            Sight::Block(snapshot, overlay) => {
                (!reads_before || is_same(snapshot.version())).then_some((snapshot, overlay))
            }
            Sight::Newer => None,
            Sight::Turn => {
                let before = Version(outcome.version.0.saturating_sub(1));
                (outcome.is_first && is_same(before)).then_some((newest.clone(), None))
            }
        };
        let Some((snapshot, overlay)) = looked_through else {
            self.database.verification.skip("turn");
            return Ok(());
        };
        let answer = told(&search, outcome);
        let template = search.query;
        let question =
            Question { template, values, snapshot, overlay, is_uncut: false, zone: session_zone() };
        self.verify_found(drawn, question, Taken::RowByRow, answer).await
    }

    /// Verifies what a query has found for a write.
    pub(super) async fn verify_complex(
        &self,
        write: &ComplexWrite,
        values: &[Value],
        snapshot: &Snapshot,
        overlay: Option<Arc<Overlay>>,
        outcome: &WriteOutcome,
    ) -> Result<()> {
        let Some(drawn) = self.draw() else { return Ok(()) };
        let Some(search) = self.search(&write.text, &write.query.parameters).await else {
            return Ok(());
        };
        let answer = told(&search, outcome);
        let (template, snapshot) = (search.query, snapshot.clone());
        let overlay = overlay.filter(|overlay| !overlay.is_empty());
        let question = Question {
            template,
            values: values.into(),
            snapshot,
            overlay,
            is_uncut: false,
            zone: session_zone(),
        };
        self.verify_found(drawn, question, Taken::Alone, answer).await
    }
}

/// What the write says of the rows that it found, as the search's answer.
fn told(search: &Search, outcome: &WriteOutcome) -> Answer {
    let rows = match &outcome.returning {
        Some(answer) if search.gives_rows => return answer.clone(),
        _ => Value::BigInt(outcome.rows.cast_signed()),
    };
    Answer::new(search.query.output.clone(), vec![AnswerPart::Own(vec![vec![rows]])])
}

/// Whether both versions see the same rows of these tables, and all versions between them.
fn is_unchanged(store: &Store, tables: &[TableId], one: Version, other: Version) -> bool {
    let last = |table: &TableId, version| store.table(*table)?.last_change(version);
    let is_same =
        |table: &TableId| last(table, one).is_some_and(|change| last(table, other) == Some(change));
    one == other || tables.iter().all(is_same)
}
