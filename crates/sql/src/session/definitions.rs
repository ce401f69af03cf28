//! Definitions changed inside a block: seen by the block at once, by others when it commits. Several statements of one
//! message, or of one pipeline, are a block, too.
//!
//! A table that a block creates is there at once, in a schema of the block's own that nobody else looks into; what the
//! block then does to that table happens at once too. Changes of what was there before wait for COMMIT and are only
//! entered in the block's catalog. COMMIT hands all of it to the engine with the block's rows, for one record of the
//! log; without it the block's tables are dropped again, also when the next process finds them after a crash.
//!
//! One such block runs at a time: others' definitions wait for its end, as they would for locks in PostgreSQL.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::sql::sqlparser::ast::{ObjectName, Statement as Ast, visit_relations};
use engine::heartbeat::{DefinitionChanges, Engine, TableRewrite};
use engine::transaction::{Definition, Isolation, WriteSet};
use engine::types::limit::Limit;
use engine::types::{Error, Result, SequenceId, SequenceSchema, SqlState, TableId, TableSchema};
use tokio::sync::OwnedMutexGuard;

use super::locks::lock_timeout;
use super::{Database, Session, Transaction};
use crate::catalog::Catalog;
use crate::notification::Departure;
use crate::template::fold;

/// Where all tables are that everybody sees.
pub(crate) const PUBLIC: &str = "public";

/// Schemas of blocks begin so.
const OWN_SCHEMA: &str = "block ";

/// How often a session that waits for another's definitions looks whether it was cancelled.
const LOOK_AROUND: Duration = Duration::from_millis(10);

/// What to do about definitions that do not go together in a block; several statements of one message are a block.
const APART: &str = "A changed definition takes effect at COMMIT: send it in a transaction, or a message, of its own.";

/// What a block has changed.
#[derive(Debug)]
pub struct Definitions {
    database: Arc<Database>,
    /// Its own schema.
    schema: Arc<str>,
    /// Tables that it has created.
    tables: Vec<TableId>,
    /// Sequences that it has created.
    sequences: Vec<SequenceId>,
    /// Changes of what was there before, in order.
    deferred: Vec<Definition>,
    /// Where the rows of tables come from that `deferred` replaces.
    rewrites: Vec<TableRewrite>,
    /// Those tables, old and new, and those that refer to them: nothing else of them may change.
    rewritten: HashSet<TableId>,
    /// Tables that they concern, with the names that they had or have.
    altered: HashSet<TableId>,
    altered_names: HashSet<String>,
    /// As the block sees it.
    catalog: Arc<Catalog>,
    /// Committed, or undone.
    settled: bool,
    _alone: OwnedMutexGuard<()>,
}

impl Definitions {
    fn new(database: Arc<Database>, alone: OwnedMutexGuard<()>, process: i32) -> Definitions {
        let catalog = database.planner.catalog();
        Definitions {
            schema: format!("{OWN_SCHEMA}{process}").into(),
            catalog,
            database,
            tables: Vec::new(),
            sequences: Vec::new(),
            deferred: Vec::new(),
            rewrites: Vec::new(),
            rewritten: HashSet::new(),
            altered: HashSet::new(),
            altered_names: HashSet::new(),
            settled: false,
            _alone: alone,
        }
    }

    /// As the block sees it.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The names of tables that were there before and that it has altered.
    pub fn altered_names(&self) -> &HashSet<String> {
        &self.altered_names
    }

    /// Whether the block has created a table itself.
    pub fn has_created(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    /// What happens at once, with tables in the block's schema; `None` for what waits for COMMIT.
    fn at_once(&self, definition: &Definition) -> Option<Definition> {
        let own =
            |schema: &TableSchema| TableSchema { schema: self.schema.clone(), ..schema.clone() };
        match definition {
            Definition::CreateTable(schema) => Some(Definition::CreateTable(own(schema))),
            Definition::AlterTable(schema) if self.has_created(schema.id) => {
                Some(Definition::AlterTable(own(schema)))
            }
            Definition::CreateIndex { table, .. }
            | Definition::DropIndex { table, .. }
            | Definition::DropTable(table)
                if self.has_created(*table) =>
            {
                Some(definition.clone())
            }
            Definition::CreateSequence(schema) => {
                Some(Definition::CreateSequence(self.hidden(schema)))
            }
            Definition::AlterSequence(schema) if self.sequences.contains(&schema.id) => {
                Some(Definition::AlterSequence(self.hidden(schema)))
            }
            Definition::DropSequence(id) if self.sequences.contains(id) => Some(definition.clone()),
            _ => None,
        }
    }

    /// A sequence of the block. Sequences have no schema, and its name may still be that of one which COMMIT drops: until then
    /// it has one that only this block's catalog reads.
    fn hidden(&self, schema: &SequenceSchema) -> SequenceSchema {
        let name = format!("{} {}", self.schema, schema.name).into();
        SequenceSchema { name, ..schema.clone() }
    }

    /// Notes what has happened, or shall.
    fn note(&mut self, definition: Definition, happened: bool) {
        match &definition {
            Definition::CreateTable(schema) => self.tables.push(schema.id),
            Definition::ReplaceTable { table, by } if happened => {
                self.tables.iter_mut().filter(|id| *id == table).for_each(|id| *id = by.id);
            }
            Definition::DropTable(id) if happened => self.tables.retain(|known| known != id),
            Definition::CreateSequence(schema) => self.sequences.push(schema.id),
            Definition::DropSequence(id) if happened => self.sequences.retain(|known| known != id),
            _ => {}
        }
        if !happened {
            if let Some(table) = table_of(&definition) {
                self.altered.insert(table);
                let names = [self.database.planner.catalog(), self.catalog.clone()];
                let names = names.iter().filter_map(|catalog| catalog.table_by_id(table));
                self.altered_names.extend(names.map(|table| table.name.to_string()));
            }
            if let Definition::AlterTable(schema) = &definition {
                self.altered_names.insert(schema.name.to_string());
            }
            if let Definition::DropTable(_) = &definition {
                // Another table may have that name now.
                self.altered_names.clear();
                let known = self.altered.iter().filter_map(|id| self.catalog.table_by_id(*id));
                let known: Vec<String> = known.map(|table| table.name.to_string()).collect();
                let dropped = table_of(&definition);
                let dropped = dropped.and_then(|id| self.catalog.table_by_id(id));
                let gone = dropped.map(|table| table.name.to_string());
                self.altered_names
                    .extend(known.into_iter().filter(|name| Some(name) != gone.as_ref()));
            }
            self.deferred.push(definition);
        }
        self.look_again();
    }

    /// Takes the catalog as it is now.
    fn look_again(&mut self) {
        let version = self.database.planner.next_version();
        let engine = &self.database.engine;
        self.catalog =
            Arc::new(Catalog::read_in_block(engine, version, &self.schema, &self.deferred));
    }

    /// Notes that a table's rows shall be stored anew.
    fn note_rewrite(&mut self, rewrite: TableRewrite) {
        let (old, new) = (rewrite.table, rewrite.by.id);
        for table in self.with_children(old) {
            self.altered_names.insert(table.name.to_string());
            self.altered.insert(table.id);
            self.rewritten.insert(table.id);
        }
        self.altered.insert(new);
        self.rewritten.insert(new);
        self.deferred.push(rewrite.definition());
        self.rewrites.push(rewrite);
        self.look_again();
    }

    /// A table and those with foreign keys on it.
    fn with_children(&self, table: TableId) -> Vec<Arc<TableSchema>> {
        let refers = |other: &TableSchema| other.foreign_keys.iter().any(|key| key.parent == table);
        let tables = self.catalog.tables().into_iter();
        tables.filter(|other| other.id == table || refers(other)).cloned().collect()
    }

    /// Whether a definition concerns a table that is rewritten, or refers to one.
    fn meets_rewritten(&self, definition: &Definition) -> bool {
        let refers = |schema: &TableSchema| {
            schema.foreign_keys.iter().any(|key| self.rewritten.contains(&key.parent))
        };
        match definition {
            Definition::CreateTable(schema) => refers(schema),
            Definition::AlterTable(schema) => refers(schema) || self.rewritten.contains(&schema.id),
            other => table_of(other).is_some_and(|table| self.rewritten.contains(&table)),
        }
    }

    /// All that COMMIT does, in order.
    fn at_commit(&mut self) -> DefinitionChanges {
        let store = self.database.engine.store();
        let own = self.tables.iter().filter_map(|id| store.table(*id));
        let shown = own.map(|table| {
            let schema = TableSchema::clone(&table.schema());
            Definition::AlterTable(TableSchema { schema: PUBLIC.into(), ..schema })
        });
        let own = self.sequences.iter().filter_map(|id| store.sequence(*id));
        let named = own.filter_map(|sequence| {
            let schema = SequenceSchema::clone(&sequence.schema());
            let name = shown_sequence(&self.schema, &schema.name)?.into();
            Some(Definition::AlterSequence(SequenceSchema { name, ..schema }))
        });
        let definitions = self.deferred.iter().cloned().chain(shown).chain(named).collect();
        DefinitionChanges { definitions, rewrites: std::mem::take(&mut self.rewrites) }
    }
}

/// What the block with that schema calls a sequence of its own.
pub(crate) fn shown_sequence<'a>(schema: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(schema)?.strip_prefix(' ')
}

/// Whether a sequence is that of a block which has not committed.
pub(crate) fn is_unseen_sequence(name: &str) -> bool {
    name.starts_with(OWN_SCHEMA)
}

/// The table that a definition concerns.
fn table_of(definition: &Definition) -> Option<TableId> {
    match definition {
        Definition::AlterTable(schema) => Some(schema.id),
        Definition::CreateIndex { table, .. }
        | Definition::DropIndex { table, .. }
        | Definition::ReplaceTable { table, .. }
        | Definition::DropTable(table) => Some(*table),
        _ => None,
    }
}

fn written_before() -> Error {
    let message =
        "changing the definition of a table that the block has written to is not supported";
    Error::new(SqlState::FeatureNotSupported, message).hint(APART)
}

fn changed_before() -> Error {
    let message = "changing a definition beside a column's type in the same block is not supported";
    Error::new(SqlState::FeatureNotSupported, message).hint(APART)
}

impl Definitions {
    /// What undoes all that has happened.
    fn undoing(&self) -> Vec<Definition> {
        let tables = self.tables.iter().rev().map(|id| Definition::DropTable(*id));
        let store = self.database.engine.store();
        // Those that a table owns go with it.
        let orphan = |id: &&SequenceId| {
            let owner = store.sequence(**id).and_then(|sequence| sequence.schema().owner);
            owner.is_none_or(|(table, _)| !self.tables.contains(&table))
        };
        let sequences = self.sequences.iter().filter(orphan);
        tables.chain(sequences.map(|id| Definition::DropSequence(*id))).collect()
    }
}

impl Drop for Definitions {
    /// The client is gone in the middle of its block.
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let answers = self.undoing().into_iter().map(|definition| {
            let (send, receive) = tokio::sync::oneshot::channel();
            let answered = move |outcome| drop(send.send(outcome));
            self.database.engine.define(definition, Box::new(answered));
            receive
        });
        let answers: Vec<_> = answers.collect();
        let database = self.database.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                for answer in answers {
                    let _ = answer.await;
                }
                database.planner.refresh();
            });
        }
    }
}

/// Drops the tables and sequences of blocks that ended with their process.
pub(super) fn drop_leftovers(engine: &Engine) {
    for table in engine.store().tables().iter().rev() {
        let schema = table.schema();
        if schema.schema.starts_with(OWN_SCHEMA) {
            tracing::info!(name = %schema.name, "dropping a table whose block never committed");
            engine.define(Definition::DropTable(schema.id), Box::new(|_| ()));
        }
    }
    // Those that such a table owns go with it.
    let is_left = |id: TableId| {
        let table = engine.store().table(id);
        table.is_some_and(|table| !table.schema().schema.starts_with(OWN_SCHEMA))
    };
    for sequence in engine.store().sequences() {
        let schema = sequence.schema();
        if is_unseen_sequence(&schema.name) && schema.owner.is_none_or(|(id, _)| is_left(id)) {
            engine.define(Definition::DropSequence(schema.id), Box::new(|_| ()));
        }
    }
}

impl Session {
    /// What is defined, as this session sees it.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        match self.block.definitions() {
            Some(definitions) => definitions.catalog().clone(),
            None => self.database.planner.catalog(),
        }
    }

    /// The schema for a table that shall be filled before anybody sees it; a block has its own way to hide its tables. The next
    /// process drops what it finds there.
    pub(crate) fn unseen_schema(&self) -> Arc<str> {
        match self.block.definitions() {
            Some(_) => PUBLIC.into(),
            None => format!("{OWN_SCHEMA}{}", self.process).into(),
        }
    }

    /// Waits until nobody else changes definitions; `None` in a block that has seen to it already.
    pub(crate) async fn define_alone(&self) -> Result<Option<OwnedMutexGuard<()>>> {
        if self.block.definitions().is_some() {
            return Ok(None);
        }
        let (began, patience) = (Instant::now(), self.settings.lock_timeout());
        loop {
            let waiting = self.database.defining.clone().lock_owned();
            if let Ok(alone) = tokio::time::timeout(LOOK_AROUND, waiting).await {
                return Ok(Some(alone));
            }
            if let Some(fault) = self.limits.fault() {
                return Err(fault);
            }
            if patience.is_some_and(|patience| began.elapsed() >= patience) {
                return Err(lock_timeout());
            }
        }
    }

    /// Queues among the blocks that want to change definitions: a block may have locked rows that the one before waits for.
    pub(super) async fn queue_for_definitions(&mut self) -> Result<()> {
        let engine = self.database.engine.clone();
        match self.block.open() {
            Some(transaction) => match engine.lock_definitions(&mut transaction.set)? {
                Some(waiting) => self.wait_for(waiting).await,
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Lets the transaction change definitions from now on; outside of one there is nothing to do.
    pub(crate) async fn begin_definitions_in_block(&mut self, tag: &str) -> Result<()> {
        let refuse = |why: &str| {
            let message = format!("{tag} {why} is not supported");
            Err(Error::new(SqlState::FeatureNotSupported, message).hint(APART))
        };
        let Some(transaction) = self.block.open() else { return Ok(()) };
        transaction.has_run = true;
        if transaction.isolation == Isolation::RepeatableRead {
            return refuse("in a REPEATABLE READ block");
        }
        if transaction.depth() > 0 {
            return refuse("after SAVEPOINT");
        }
        self.queue_for_definitions().await?;
        if let Some(alone) = self.define_alone().await? {
            let database = self.database.clone();
            let definitions = Definitions::new(database, alone, self.process);
            if let Some(transaction) = self.block.open() {
                transaction.definitions = Some(Box::new(definitions));
            }
        }
        Ok(())
    }

    /// Changes a definition for this block.
    pub(super) async fn define_in_block(&mut self, definition: Definition) -> Result<()> {
        let Some(transaction) = self.block.open() else { unreachable!("a block is open") };
        let Some(definitions) = &transaction.definitions else { unreachable!("checked before") };
        let pending = |table: TableId| transaction.set.touches(table);
        if table_of(&definition).is_some_and(pending) {
            return Err(written_before());
        }
        if definitions.meets_rewritten(&definition) {
            return Err(changed_before());
        }
        let now = definitions.at_once(&definition);
        let happened = now.is_some();
        if let Some(now) = now {
            self.define_now(now).await?;
        }
        if let Some(definitions) = self.block.definitions_mut() {
            definitions.note(definition, happened);
        }
        Ok(())
    }

    /// Stores a table's rows anew: at once where the block has made the table, else when it commits.
    pub(super) async fn rewrite_in_block(
        &mut self,
        mut rewrite: TableRewrite,
        others: Vec<Definition>,
    ) -> Result<()> {
        let Some(transaction) = self.block.open() else { unreachable!("a block is open") };
        let Some(definitions) = &transaction.definitions else { unreachable!("checked before") };
        let concerned = definitions.with_children(rewrite.table);
        let created = definitions.has_created(rewrite.table);
        let is_altered = |table: &Arc<TableSchema>| definitions.altered.contains(&table.id);
        if concerned.iter().any(|table| transaction.set.touches(table.id)) {
            return Err(written_before());
        }
        if concerned.iter().any(is_altered) {
            return Err(changed_before());
        }
        if created {
            rewrite.by.schema = definitions.schema.clone();
            let definition = rewrite.definition();
            self.rewrite_now(rewrite, others).await?;
            if let Some(definitions) = self.block.definitions_mut() {
                definitions.note(definition, true);
            }
            return Ok(());
        }
        if let Some(definitions) = self.block.definitions_mut() {
            definitions.note_rewrite(rewrite);
        }
        for other in others {
            self.define_in_block(other).await?;
        }
        Ok(())
    }

    /// Whether a write to this table needs no place in the block's set: nobody else sees the table, and the block
    /// can only end as a whole.
    pub(crate) fn writes_at_once(&mut self, table: TableId) -> bool {
        let is_apart = self.own_before().is_some();
        self.block.open().is_some_and(|transaction| {
            let created = transaction.definitions.as_ref().is_some_and(|d| d.has_created(table));
            created && !is_apart && transaction.set.is_empty() && transaction.depth() == 0
        })
    }

    /// Commits a block that has changed definitions.
    pub(super) async fn commit_definitions(
        &mut self,
        mut definitions: Box<Definitions>,
        set: WriteSet,
        said: Option<Departure>,
    ) -> Result<()> {
        if definitions.altered.iter().any(|table| set.touches(*table)) {
            self.undo_definitions(&definitions).await;
            definitions.settled = true;
            let message = "a block that changes both a table's definition and, by a foreign key, \
                           its rows is not supported";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        let outcome = self.change_together(set, definitions.at_commit(), said).await;
        match outcome.is_ok() {
            true => drop(self.database.planner.refresh()),
            false => self.undo_definitions(&definitions).await,
        }
        definitions.settled = true;
        outcome
    }

    /// ROLLBACK of a block that has changed definitions: done when this returns.
    pub(crate) async fn take_back_definitions(&mut self, transaction: &mut Transaction) {
        if let Some(mut definitions) = transaction.definitions.take() {
            self.undo_definitions(&definitions).await;
            definitions.settled = true;
        }
    }

    async fn undo_definitions(&mut self, definitions: &Definitions) {
        for definition in definitions.undoing() {
            if let Err(fault) = self.define_surely(definition).await {
                tracing::warn!(%fault, "a block's definition could not be undone");
            }
        }
    }

    /// 0A000 for a table that this session's block has altered.
    pub(crate) fn refuse_altered_table(&self, table: &TableSchema) -> Result<()> {
        match self.block.definitions() {
            Some(definitions) if definitions.altered.contains(&table.id) => {
                Err(altered_here(&table.name))
            }
            _ => Ok(()),
        }
    }
}

/// 0A000 for a statement that names one of the tables that its block has altered.
pub(super) fn refuse_altered(altered: &HashSet<String>, statement: &Ast) -> Result<()> {
    if altered.is_empty() {
        return Ok(());
    }
    let named = visit_relations(statement, |name: &ObjectName| {
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
        match last.filter(|name| altered.contains(name)) {
            Some(name) => ControlFlow::Break(name),
            None => ControlFlow::Continue(()),
        }
    });
    match named {
        ControlFlow::Break(name) => Err(altered_here(&name)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn altered_here(name: &str) -> Error {
    let message =
        format!("using table \"{name}\" in the block that has altered it is not supported");
    Error::new(SqlState::FeatureNotSupported, message).hint(APART)
}
