//! BEGIN, COMMIT, ROLLBACK and savepoints.

use engine::transaction::Isolation;
use engine::types::{Error, Result, SqlState};
use syntax::{DefElem, Kind, Nodes, TransactionStmt, TransactionStmtKind};

use super::constraint::unsupported;
use super::option;
use crate::session::{Block, OpenedBy, Session, Transaction};

/// A statement of transaction control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN and START TRANSACTION
    Begin {
        /// What it says of the transaction.
        modes: Vec<Mode>,
        /// Its tag.
        tag: &'static str,
    },
    /// COMMIT and END
    Commit {
        /// AND CHAIN
        chain: bool,
    },
    /// ROLLBACK and ABORT
    RollBack {
        /// AND CHAIN
        chain: bool,
    },
    /// SAVEPOINT
    Savepoint(String),
    /// RELEASE SAVEPOINT
    Release(String),
    /// ROLLBACK TO SAVEPOINT
    RollBackTo(String),
    /// PREPARE TRANSACTION, of which there are none: as in PostgreSQL unless it is told how many there may be.
    Prepare,
    /// COMMIT PREPARED and ROLLBACK PREPARED
    EndPrepared {
        /// What it is called.
        name: String,
        /// The words of the statement.
        words: &'static str,
    },
}

/// A mode of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// ISOLATION LEVEL, by its name in lower case.
    Isolation(String),
    /// READ ONLY, READ WRITE
    ReadOnly(bool),
}

impl TransactionStatement {
    /// Whether it begins or ends a transaction, or goes back in it: it never is a part of one that is open by itself.
    pub fn is_boundary(&self) -> bool {
        !matches!(
            self,
            TransactionStatement::Savepoint(_)
                | TransactionStatement::Release(_)
                | TransactionStatement::EndPrepared { .. }
        )
    }

    /// Whether a failed block takes it.
    pub fn ends_failure(&self) -> bool {
        self.is_boundary() && !matches!(self, TransactionStatement::Begin { .. })
    }

    /// Whether it means the same to everybody at any time, and clients send it over and over.
    pub fn is_common(&self) -> bool {
        matches!(
            self,
            TransactionStatement::Begin { .. }
                | TransactionStatement::Commit { .. }
                | TransactionStatement::RollBack { .. }
        )
    }
}

/// A statement of its node.
pub fn read(statement: TransactionStmt<'_>) -> TransactionStatement {
    let (chain, modes) = (statement.chain(), || modes(statement.options().nodes()));
    let savepoint = || statement.savepoint_name().unwrap_or_default().to_owned();
    let prepared = |words| TransactionStatement::EndPrepared {
        name: statement.gid().unwrap_or_default().to_owned(),
        words,
    };
    match statement.kind() {
        TransactionStmtKind::Begin => TransactionStatement::Begin { modes: modes(), tag: "BEGIN" },
        TransactionStmtKind::Start => {
            TransactionStatement::Begin { modes: modes(), tag: "START TRANSACTION" }
        }
        TransactionStmtKind::Commit => TransactionStatement::Commit { chain },
        TransactionStmtKind::Rollback => TransactionStatement::RollBack { chain },
        TransactionStmtKind::Savepoint => TransactionStatement::Savepoint(savepoint()),
        TransactionStmtKind::Release => TransactionStatement::Release(savepoint()),
        TransactionStmtKind::RollbackTo => TransactionStatement::RollBackTo(savepoint()),
        TransactionStmtKind::Prepare => TransactionStatement::Prepare,
        TransactionStmtKind::CommitPrepared => prepared("COMMIT PREPARED"),
        TransactionStmtKind::RollbackPrepared => prepared("ROLLBACK PREPARED"),
    }
}

/// The modes of a list. DEFERRABLE says something of SERIALIZABLE alone, which is refused.
pub fn modes(nodes: Nodes<'_>) -> Vec<Mode> {
    let mode = |given: DefElem<'_>| match given.defname() {
        Some("transaction_isolation") => {
            let level = given.arg().and_then(option::string_of);
            Some(Mode::Isolation(level.unwrap_or_default().to_owned()))
        }
        Some("transaction_read_only") => Some(Mode::ReadOnly(option::flag(given))),
        _ => None,
    };
    nodes.iter().filter_map(DefElem::of).filter_map(mode).collect()
}

/// Runs one of them.
pub async fn run(session: &mut Session, statement: &TransactionStatement) -> Result<String> {
    match statement {
        TransactionStatement::Begin { modes, tag } => begin(session, modes, tag),
        TransactionStatement::Commit { chain } => commit(session, *chain).await,
        TransactionStatement::RollBack { chain } => roll_back(session, *chain).await,
        TransactionStatement::Savepoint(name) => savepoint(session, name),
        TransactionStatement::Release(name) => release(session, name),
        TransactionStatement::RollBackTo(name) => roll_back_to(session, name),
        TransactionStatement::Prepare => prepare(session).await,
        TransactionStatement::EndPrepared { name, words } => {
            session.refuse_in_block(words)?;
            let message = format!("prepared transaction with identifier \"{name}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

/// BEGIN and START TRANSACTION.
fn begin(session: &mut Session, modes: &[Mode], tag: &str) -> Result<String> {
    match session.block_mut() {
        Block::Open(transaction) => {
            let was_explicit = transaction.is_explicit();
            apply_modes(transaction, modes)?;
            // Statements before BEGIN in the same message belong to the block.
            transaction.opened_by = OpenedBy::Begin;
            if was_explicit {
                let message = "there is already a transaction in progress";
                session.notice(Error::new(SqlState::ActiveTransaction, message));
            }
        }
        _ => {
            let mut transaction = session.new_transaction(OpenedBy::Begin);
            apply_modes(&mut transaction, modes)?;
            *session.block_mut() = Block::Open(transaction);
        }
    }
    Ok(tag.to_owned())
}

fn apply_modes(transaction: &mut Transaction, modes: &[Mode]) -> Result<()> {
    for mode in modes {
        match mode {
            Mode::ReadOnly(read_only) => transaction.read_only = *read_only,
            Mode::Isolation(level) => {
                let isolation = isolation(level)?;
                let late = match isolation != transaction.isolation {
                    true if transaction.has_run => Some("must be called before any query"),
                    true if transaction.depth() > 0 => {
                        Some("must not be called in a subtransaction")
                    }
                    _ => None,
                };
                if let Some(late) = late {
                    let message = format!("SET TRANSACTION ISOLATION LEVEL {late}");
                    return Err(Error::new(SqlState::ActiveTransaction, message));
                }
                transaction.isolation = isolation;
            }
        }
    }
    Ok(())
}

fn isolation(level: &str) -> Result<Isolation> {
    match level {
        // PostgreSQL has no dirty reads either.
        "read uncommitted" | "read committed" => Ok(Isolation::ReadCommitted),
        "repeatable read" => Ok(Isolation::RepeatableRead),
        "serializable" => Err(serializable()),
        _ => {
            let message =
                format!("invalid value for parameter \"transaction_isolation\": \"{level}\"");
            let hint = "Available values: serializable, repeatable read, read committed, read uncommitted.";
            Err(Error::new(SqlState::InvalidParameterValue, message).hint(hint))
        }
    }
}

fn serializable() -> Error {
    unsupported("ISOLATION LEVEL SERIALIZABLE")
        .hint("REPEATABLE READ is the strictest level here: snapshot isolation.")
}

/// SET TRANSACTION and SET SESSION CHARACTERISTICS AS TRANSACTION.
pub fn set_modes(session: &mut Session, modes: &[Mode], of_session: bool) -> Result<()> {
    if of_session {
        for mode in modes {
            match mode {
                Mode::Isolation(level) => {
                    isolation(level)?;
                    session.change_setting("default_transaction_isolation", Some(level), false)?;
                }
                Mode::ReadOnly(read_only) => {
                    let value = if *read_only { "on" } else { "off" };
                    session.change_setting("default_transaction_read_only", Some(value), false)?;
                }
            }
        }
        return Ok(());
    }
    if let Some(warning) = session.outside_block("SET TRANSACTION") {
        session.notice(warning);
    }
    set_modes_of_block(session, modes)
}

/// Outside of a block they are those of a transaction that ends at once.
fn set_modes_of_block(session: &mut Session, modes: &[Mode]) -> Result<()> {
    match session.block_mut().open() {
        Some(transaction) => apply_modes(transaction, modes),
        None => Ok(()),
    }
}

/// `SET transaction_isolation = '...'`
pub fn set_isolation(session: &mut Session, name: &str) -> Result<()> {
    let level = name.to_ascii_lowercase();
    isolation(&level)?;
    set_modes_of_block(session, &[Mode::Isolation(level)])
}

fn no_transaction(session: &mut Session) {
    let message = "there is no transaction in progress";
    session.notice(Error::new(SqlState::NoActiveTransaction, message));
}

/// COMMIT and END; of a failed block it is a ROLLBACK.
async fn commit(session: &mut Session, chain: bool) -> Result<String> {
    check_chain(session, "COMMIT", chain)?;
    let block = session.take_block();
    let modes = modes_of(&block);
    let tag = match block {
        Block::Idle => {
            no_transaction(session);
            "COMMIT"
        }
        Block::Open(transaction) => {
            if !transaction.is_explicit() {
                no_transaction(session);
            }
            session.commit_transaction(transaction).await?;
            "COMMIT"
        }
        Block::Failed(mut transaction) => {
            session.take_back_definitions(&mut transaction).await;
            session.abandon(transaction);
            "ROLLBACK"
        }
    };
    chain_block(session, chain, modes);
    Ok(tag.to_owned())
}

/// ROLLBACK and ABORT.
async fn roll_back(session: &mut Session, chain: bool) -> Result<String> {
    check_chain(session, "ROLLBACK", chain)?;
    let block = session.take_block();
    let modes = modes_of(&block);
    match block {
        Block::Idle => no_transaction(session),
        Block::Open(mut transaction) | Block::Failed(mut transaction) => {
            if !transaction.is_explicit() {
                no_transaction(session);
            }
            session.take_back_definitions(&mut transaction).await;
            session.abandon(transaction);
        }
    }
    chain_block(session, chain, modes);
    Ok("ROLLBACK".to_owned())
}

/// PREPARE TRANSACTION: what would be kept is rolled back.
async fn prepare(session: &mut Session) -> Result<String> {
    let is_open = matches!(session.block_mut(), Block::Open(_));
    let tag = roll_back(session, false).await?;
    if !is_open {
        return Ok(tag);
    }
    let hint = "Set max_prepared_transactions to a nonzero value.";
    Err(Error::new(SqlState::ObjectNotInState, "prepared transactions are disabled").hint(hint))
}

fn modes_of(block: &Block) -> Option<(Isolation, bool)> {
    match block {
        Block::Open(transaction) | Block::Failed(transaction) => {
            Some((transaction.isolation, transaction.read_only))
        }
        Block::Idle => None,
    }
}

/// AND CHAIN follows a block that BEGIN opened, or one before it that did.
fn check_chain(session: &mut Session, what: &str, chain: bool) -> Result<()> {
    match chain {
        true => in_explicit(session, &format!("{what} AND CHAIN")).map(|_| ()),
        false => Ok(()),
    }
}

/// AND CHAIN: the next block is like the last.
fn chain_block(session: &mut Session, chain: bool, modes: Option<(Isolation, bool)>) {
    if let (true, Some((isolation, read_only))) = (chain, modes) {
        let transaction = Transaction::new(OpenedBy::Begin, isolation, read_only).of(session.id());
        *session.block_mut() = Block::Open(Box::new(transaction));
    }
}

fn in_explicit<'a>(session: &'a mut Session, what: &str) -> Result<&'a mut Transaction> {
    match session.block_mut().any() {
        Some(transaction) if transaction.is_explicit() => Ok(transaction),
        _ => {
            let message = format!("{what} can only be used in transaction blocks");
            Err(Error::new(SqlState::NoActiveTransaction, message))
        }
    }
}

/// SAVEPOINT
fn savepoint(session: &mut Session, name: &str) -> Result<String> {
    in_explicit(session, "SAVEPOINT")?.save(name.to_owned());
    Ok("SAVEPOINT".to_owned())
}

/// RELEASE SAVEPOINT
fn release(session: &mut Session, name: &str) -> Result<String> {
    in_explicit(session, "RELEASE SAVEPOINT")?.release(name)?;
    Ok("RELEASE".to_owned())
}

/// ROLLBACK TO SAVEPOINT, also in a failed block.
fn roll_back_to(session: &mut Session, name: &str) -> Result<String> {
    let transaction = in_explicit(session, "ROLLBACK TO SAVEPOINT")?;
    let restore = transaction.roll_back_to(name)?;
    // Cursors from before the savepoint were declared under fewer savepoints than there are now.
    let depth = transaction.depth() - 1;
    session.end_cursors_after(depth);
    session.restore_settings(restore);
    session.block_mut().recover();
    Ok("ROLLBACK".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Command, command};

    fn of(text: &str) -> TransactionStatement {
        match command(text) {
            Ok(Command::Transaction(statement)) => statement,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn statements_are_read() {
        let modes = vec![Mode::Isolation("repeatable read".to_owned()), Mode::ReadOnly(true)];
        let begin = TransactionStatement::Begin { modes, tag: "START TRANSACTION" };
        let text = "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, NOT DEFERRABLE";
        assert_eq!(of(text), begin);
        assert_eq!(of("END WORK"), TransactionStatement::Commit { chain: false });
        assert_eq!(of("abort and chain"), TransactionStatement::RollBack { chain: true });
        assert_eq!(of("RELEASE \"A\""), TransactionStatement::Release("A".to_owned()));
        let back = of("ROLLBACK TO SAVEPOINT A");
        assert_eq!(back, TransactionStatement::RollBackTo("a".to_owned()));
        assert!(back.ends_failure() && back.is_boundary() && !back.is_common());
        assert_eq!(of("PREPARE TRANSACTION 'a'"), TransactionStatement::Prepare);
        let ended = of("COMMIT PREPARED 'a'");
        assert!(!ended.is_boundary() && !ended.ends_failure());
    }
}
