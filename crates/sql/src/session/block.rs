//! The transaction that a session is in: its snapshot, its own changes, its savepoints.

use engine::storage::Snapshot;
use engine::transaction::{Isolation, Place, WriteSet};
use engine::types::{Error, Result, SessionId, SqlState};

use super::TransactionStatus;
use super::definitions::Definitions;
use super::settings::Before;
use crate::notification::{Mark, Said};

/// The transaction that a session is in, if any.
#[derive(Debug, Default)]
pub enum Block {
    /// None.
    #[default]
    Idle,
    /// Its statements succeed so far.
    Open(Box<Transaction>),
    /// A statement has failed: only its end, or a savepoint before, is accepted.
    Failed(Box<Transaction>),
}

/// What opened a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// BEGIN: COMMIT or ROLLBACK ends it.
    Begin,
    /// A message of several statements, which ends it.
    Script,
    /// Several statements between two Syncs.
    Pipeline,
}

/// A transaction in progress.
#[derive(Debug)]
pub struct Transaction {
    /// What opened it, or made it its own: BEGIN among several statements.
    pub opened_by: OpenedBy,
    /// How it reads.
    pub isolation: Isolation,
    /// Refuses writes.
    pub read_only: bool,
    /// REPEATABLE READ: what the first statement saw.
    pub snapshot: Option<Snapshot>,
    /// Own changes.
    pub set: WriteSet,
    /// `now()`, microseconds since 1970.
    pub started: i64,
    /// Whether a query or a write ran in it: isolation can no longer be changed.
    pub has_run: bool,
    /// What it has changed of definitions.
    pub definitions: Option<Box<Definitions>>,
    /// What it has said and asked to be told.
    pub said: Option<Box<Said>>,
    savepoints: Vec<Savepoint>,
    settings: Vec<SettingChange>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    place: Place,
    settings: usize,
    said: Mark,
}

/// A setting changed in the transaction.
#[derive(Debug)]
struct SettingChange {
    before: Before,
    /// SET LOCAL: ends with the transaction, however that ends.
    local: bool,
}

impl Transaction {
    /// A transaction that starts now.
    pub fn new(opened_by: OpenedBy, isolation: Isolation, read_only: bool) -> Transaction {
        Transaction {
            opened_by,
            isolation,
            read_only,
            snapshot: None,
            set: WriteSet::new(),
            started: now(),
            has_run: false,
            definitions: None,
            said: None,
            savepoints: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// The same of a session: its locks do not stand in the way of others that the session has.
    pub fn of(self, session: SessionId) -> Transaction {
        Transaction { set: WriteSet::of(session), ..self }
    }

    /// Whether BEGIN opened it.
    pub fn is_explicit(&self) -> bool {
        self.opened_by == OpenedBy::Begin
    }

    /// SAVEPOINT.
    pub fn save(&mut self, name: String) {
        let (place, settings) = (self.set.place(), self.settings.len());
        let said = self.said.as_ref().map(|said| said.mark()).unwrap_or_default();
        self.savepoints.push(Savepoint { name, place, settings, said });
    }

    fn position(&self, name: &str) -> Result<usize> {
        let position = self.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        position.ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::new(SqlState::InvalidSavepoint, message)
        })
    }

    /// How many savepoints there are.
    pub fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// RELEASE SAVEPOINT: forgets it and all after it.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let position = self.position(name)?;
        self.savepoints.truncate(position);
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: undoes what came after it, and keeps it. Gives settings to restore,
    /// newest first.
    pub fn roll_back_to(&mut self, name: &str) -> Result<Vec<Before>> {
        let position = self.position(name)?;
        self.savepoints.truncate(position + 1);
        let savepoint = &self.savepoints[position];
        self.set.return_to(savepoint.place);
        if let Some(said) = &mut self.said {
            said.return_to(savepoint.said);
        }
        let undone = self.settings.split_off(savepoint.settings);
        Ok(undone.into_iter().rev().map(|change| change.before).collect())
    }

    /// After a fault: what has happened since the last savepoint is undone, and its locks end.
    fn give_up(&mut self) {
        let place = self.savepoints.last().map(|savepoint| savepoint.place).unwrap_or_default();
        self.set.return_to(place);
    }

    /// Remembers how to undo a changed setting.
    pub fn changed_setting(&mut self, before: Before, local: bool) {
        self.settings.push(SettingChange { before, local });
    }

    /// Settings to restore when the transaction ends, newest first.
    pub fn settings_to_restore(&mut self, committed: bool) -> Vec<Before> {
        let changes = std::mem::take(&mut self.settings).into_iter().rev();
        changes.filter(|change| change.local || !committed).map(|change| change.before).collect()
    }
}

/// Microseconds since 1970-01-01 00:00 UTC.
pub fn now() -> i64 {
    chrono::Utc::now().timestamp_micros()
}

impl Block {
    /// What ReadyForQuery says. An implicit transaction shows as idle: it ends with the message.
    pub fn status(&self) -> TransactionStatus {
        match self {
            Block::Open(transaction) if transaction.is_explicit() => TransactionStatus::Open,
            Block::Failed(transaction) if transaction.is_explicit() => TransactionStatus::Failed,
            _ => TransactionStatus::Idle,
        }
    }

    /// The transaction, unless it has failed.
    pub fn open(&mut self) -> Option<&mut Transaction> {
        match self {
            Block::Open(transaction) => Some(transaction),
            _ => None,
        }
    }

    /// The transaction, failed or not.
    pub fn any(&mut self) -> Option<&mut Transaction> {
        match self {
            Block::Open(transaction) | Block::Failed(transaction) => Some(transaction),
            Block::Idle => None,
        }
    }

    /// What it has changed of definitions.
    pub fn definitions(&self) -> Option<&Definitions> {
        match self {
            Block::Open(transaction) | Block::Failed(transaction) => {
                transaction.definitions.as_deref()
            }
            Block::Idle => None,
        }
    }

    /// The same, to be added to.
    pub fn definitions_mut(&mut self) -> Option<&mut Definitions> {
        self.any().and_then(|transaction| transaction.definitions.as_deref_mut())
    }

    /// Whether BEGIN opened it.
    pub fn is_explicit(&self) -> bool {
        self.opened_by() == Some(OpenedBy::Begin)
    }

    /// What opened it; `None` where there is none.
    pub fn opened_by(&self) -> Option<OpenedBy> {
        match self {
            Block::Open(transaction) | Block::Failed(transaction) => Some(transaction.opened_by),
            Block::Idle => None,
        }
    }

    /// Whether a statement in it has failed.
    pub fn is_failed(&self) -> bool {
        matches!(self, Block::Failed(_))
    }

    /// After a fault: the rest of the transaction is ignored.
    pub fn fail(&mut self) {
        *self = match std::mem::take(self) {
            Block::Open(mut transaction) => {
                transaction.give_up();
                Block::Failed(transaction)
            }
            other => other,
        };
    }

    /// After ROLLBACK TO SAVEPOINT: the transaction goes on.
    pub fn recover(&mut self) {
        *self = match std::mem::take(self) {
            Block::Failed(transaction) => Block::Open(transaction),
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::types::TableId;

    #[test]
    fn savepoints_undo_changes_and_settings() {
        let mut transaction = Transaction::new(OpenedBy::Begin, Isolation::ReadCommitted, false);
        transaction.set.insert(TableId(1), Box::new([]));
        transaction.save("a".into());
        transaction.set.insert(TableId(1), Box::new([]));
        transaction.changed_setting(("work_mem".into(), None), false);
        transaction.save("b".into());
        assert_eq!(transaction.roll_back_to("a"), Ok(vec![("work_mem".into(), None)]));
        assert_eq!(transaction.set.len(), 1);
        assert_eq!(transaction.release("b").expect_err("gone").state.code(), "3B001");
        assert_eq!(transaction.roll_back_to("a"), Ok(vec![]));
        assert_eq!(transaction.release("a"), Ok(()));
    }

    #[test]
    fn a_failed_block_can_be_recovered() {
        let transaction = Transaction::new(OpenedBy::Begin, Isolation::ReadCommitted, false);
        let mut block = Block::Open(Box::new(transaction));
        block.fail();
        block.fail();
        assert_eq!(block.status(), TransactionStatus::Failed);
        assert!(block.open().is_none());
        block.recover();
        assert_eq!(block.status(), TransactionStatus::Open);
    }
}
