//! What statements use of tables, and LOCK TABLE.
//!
//! In a block a statement's use of a table is noted until the block ends; where somebody excludes statements from tables it queues
//! behind them. Outside of one a query waits until it could go on, and a write waits where it is written. Afterwards the statement
//! is planned anew if its tables have changed meanwhile. Called where statements begin; the modes are the engine's
//! (`engine::heartbeat::Exclusion`).

use engine::heartbeat::{Engine, TableLock};
use engine::transaction::{TableMode, Waiting, WriteSet};
use engine::types::{Error, Result, SqlState, TableId};

use super::prepared::{Plan, Prepared, Query};
use super::{Block, Session};
use crate::statement::locked_subqueries::Earlier;
use crate::statement::locking::Locking;

/// What a statement uses of tables.
pub type Uses = [(TableId, TableMode)];

/// What a query uses that reads these tables, and locks rows of some.
pub(super) fn of_tables(read: &[TableId], locking: Option<&Locking>) -> Vec<(TableId, TableMode)> {
    let read = read.iter().map(|table| (*table, TableMode::AccessShare));
    let locked = locking.into_iter().flat_map(|locking| &locking.tables);
    read.chain(locked.map(|(_, locked)| (locked.table, TableMode::RowShare))).collect()
}

pub(super) fn of_query(query: &Query) -> Vec<(TableId, TableMode)> {
    of_tables(&query.template.tables, query.locking.as_deref())
}

impl Plan {
    /// What it uses of tables.
    fn uses(&self) -> Vec<(TableId, TableMode)> {
        let read = |tables: &[TableId]| of_tables(tables, None);
        let changed = |table| vec![(table, TableMode::RowExclusive)];
        match self {
            Plan::Query(query) => of_query(query),
            Plan::Write(write) => {
                let of_subqueries = write.subqueries.iter().flat_map(|query| read(&query.tables));
                changed(write.table).into_iter().chain(of_subqueries).collect()
            }
            Plan::InsertQuery(insert) => {
                let queries = insert.subqueries.iter().chain([&insert.source]);
                let of_queries = queries.flat_map(|query| read(&query.tables));
                changed(insert.table.id).into_iter().chain(of_queries).collect()
            }
            Plan::Complex(write) => [changed(write.table.id), read(&write.query.tables)].concat(),
            Plan::Declare(declare) => declare.statement.prepared.uses().to_vec(),
            _ => Vec::new(),
        }
    }
}

impl Prepared {
    /// What it uses of tables, worked out when somebody asks for the first time.
    pub(super) fn uses(&self) -> &Uses {
        self.used.get_or_init(|| {
            let mut uses = self.plan.uses();
            for earlier in &self.earlier {
                match earlier {
                    Earlier::Locking(query) => {
                        let tables = query.locking.tables.iter().map(|(_, locked)| locked.table);
                        uses.extend(tables.map(|table| (table, TableMode::RowShare)));
                    }
                    Earlier::Modifying(query) => uses.extend_from_slice(query.prepared.uses()),
                }
            }
            uses.into()
        })
    }
}

impl Session {
    /// An empty set of this session's.
    pub(super) fn new_set(&self) -> WriteSet {
        WriteSet::of(self.id())
    }

    /// Whether a statement's use of tables matters to anybody: one load outside a block.
    pub(crate) fn minds_tables(&self) -> bool {
        !matches!(self.block, Block::Idle) || self.database.engine.exclusion().is_in_use()
    }

    /// Uses tables, for a statement that begins; whether it has waited for that.
    pub(crate) async fn use_tables(&mut self, uses: &Uses) -> Result<bool> {
        if uses.is_empty() {
            return Ok(false);
        }
        if matches!(self.block, Block::Idle) {
            let mut set = self.new_set();
            return self.wait_while(|engine| Ok(engine.exclusion().look(&mut set, uses))).await;
        }
        let mut has_waited = false;
        while let Some(transaction) = self.block.open()
            && let Some(waiting) =
                self.database.engine.exclusion().enter(&mut transaction.set, uses)?
        {
            self.wait_for(waiting).await?;
            has_waited = true;
        }
        Ok(has_waited)
    }

    /// Waits as long as there is something to wait for; whether there was.
    async fn wait_while(
        &self,
        mut ask: impl FnMut(&Engine) -> Result<Option<Waiting>>,
    ) -> Result<bool> {
        let mut has_waited = false;
        while let Some(waiting) = ask(&self.database.engine)? {
            self.wait_for(waiting).await?;
            has_waited = true;
        }
        Ok(has_waited)
    }

    /// Uses tables until a set's end: that of a statement by itself which locks rows.
    pub(super) async fn use_tables_for(&self, set: &mut WriteSet, uses: &Uses) -> Result<()> {
        self.wait_while(|engine| engine.exclusion().enter(set, uses)).await.map(drop)
    }

    /// LOCK TABLE of one table; whether it may have waited. `refused`: it does not wait, and is refused by this name.
    pub(crate) async fn lock_table(
        &mut self,
        table: TableId,
        mode: TableMode,
        refused: Option<&str>,
    ) -> Result<bool> {
        // Nobody else knows of it, and what the block writes of it at once would meet the lock.
        if self.block.definitions().is_some_and(|own| own.has_created(table)) {
            return Ok(false);
        }
        let engine = self.database.engine.clone();
        let mut has_waited = false;
        let mut lock = TableLock::new(table, mode, refused.is_none());
        loop {
            let Some(transaction) = self.block.open() else { return Ok(has_waited) };
            let step = engine.exclusion().lock(&mut lock, &mut transaction.set)?;
            match self.settled(step).await? {
                Some(true) => return Ok(has_waited),
                Some(false) => return Err(not_available(refused.unwrap_or_default())),
                None => has_waited = true,
            }
        }
    }

    /// Waits for those who keep a statement away from definitions that it is about to change, while it has nothing itself
    /// that would keep them from changing definitions first.
    pub(super) async fn await_definitions(&self, uses: &Uses) -> Result<()> {
        if uses.is_empty() || self.block.definitions().is_some() {
            return Ok(());
        }
        let mut set = self.new_set();
        let look = |engine: &Engine| Ok(engine.exclusion().look_at_definitions(&mut set, uses));
        self.wait_while(look).await.map(drop)
    }

    /// Keeps LOCK TABLE away from tables whose definitions a statement is about to change. What comes back keeps it away outside
    /// a block, until it is dropped. Outside a block it also queues for definitions, so that circles through them are found.
    pub(super) async fn hold_definitions(
        &mut self,
        uses: &Uses,
        queues: bool,
    ) -> Result<Option<WriteSet>> {
        let own = self.block.definitions();
        let is_own = |table: TableId| own.is_some_and(|own| own.has_created(table));
        let uses: Vec<_> = uses.iter().filter(|(table, _)| !is_own(*table)).copied().collect();
        if matches!(self.block, Block::Idle) {
            let mut set = self.new_set();
            if queues && !uses.is_empty() {
                self.wait_while(|engine| engine.lock_definitions(&mut set)).await?;
            }
            self.wait_while(|engine| engine.exclusion().define(&mut set, &uses)).await?;
            return Ok(Some(set));
        }
        while let Some(transaction) = self.block.open()
            && let Some(waiting) =
                self.database.engine.exclusion().define(&mut transaction.set, &uses)?
        {
            self.wait_for(waiting).await?;
        }
        Ok(None)
    }
}

/// NOWAIT.
fn not_available(name: &str) -> Error {
    let message = format!("could not obtain lock on relation \"{name}\"");
    Error::new(SqlState::LockNotAvailable, message)
}
