//! BEGIN, COMMIT, ROLLBACK and savepoints.

use datafusion::sql::sqlparser::ast::{
    Ident, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use engine::transaction::Isolation;
use engine::types::{Error, Result, SqlState};

use super::constraint::unsupported;
use super::naming::fold;
use crate::session::{Block, OpenedBy, Session, Transaction};

/// Runs BEGIN and START TRANSACTION.
pub fn begin(session: &mut Session, modes: &[TransactionMode], tag: &str) -> Result<String> {
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

fn apply_modes(transaction: &mut Transaction, modes: &[TransactionMode]) -> Result<()> {
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(mode) => {
                transaction.read_only = matches!(mode, TransactionAccessMode::ReadOnly);
            }
            TransactionMode::IsolationLevel(level) => {
                let isolation = isolation(level)?;
                if transaction.has_run && isolation != transaction.isolation {
                    let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
                    return Err(Error::new(SqlState::ActiveTransaction, message));
                }
                transaction.isolation = isolation;
            }
        }
    }
    Ok(())
}

fn isolation(level: &TransactionIsolationLevel) -> Result<Isolation> {
    match level {
        // PostgreSQL has no dirty reads either.
        TransactionIsolationLevel::ReadUncommitted | TransactionIsolationLevel::ReadCommitted => {
            Ok(Isolation::ReadCommitted)
        }
        TransactionIsolationLevel::RepeatableRead => Ok(Isolation::RepeatableRead),
        TransactionIsolationLevel::Serializable => Err(serializable()),
        TransactionIsolationLevel::Snapshot => Err(unsupported("ISOLATION LEVEL SNAPSHOT")),
    }
}

fn serializable() -> Error {
    unsupported("ISOLATION LEVEL SERIALIZABLE")
        .hint("REPEATABLE READ is the strictest level here: snapshot isolation.")
}

/// SET TRANSACTION and SET SESSION CHARACTERISTICS AS TRANSACTION.
pub fn set_modes(session: &mut Session, modes: &[TransactionMode], of_session: bool) -> Result<()> {
    if of_session {
        for mode in modes {
            match mode {
                TransactionMode::IsolationLevel(level) => {
                    isolation(level)?;
                    let name = level.to_string().to_ascii_lowercase();
                    session.change_setting("default_transaction_isolation", Some(&name), false)?;
                }
                TransactionMode::AccessMode(mode) => {
                    let on = matches!(mode, TransactionAccessMode::ReadOnly);
                    let value = if on { "on" } else { "off" };
                    session.change_setting("default_transaction_read_only", Some(value), false)?;
                }
            }
        }
        return Ok(());
    }
    if let Some(warning) = session.outside_block("SET TRANSACTION") {
        session.notice(warning);
    }
    match session.block_mut().open() {
        Some(transaction) => apply_modes(transaction, modes),
        None => Ok(()),
    }
}

/// `SET transaction_isolation = '...'`
pub fn set_isolation(session: &mut Session, name: &str) -> Result<()> {
    let level = match name.to_ascii_lowercase().as_str() {
        "read committed" => TransactionIsolationLevel::ReadCommitted,
        "read uncommitted" => TransactionIsolationLevel::ReadUncommitted,
        "repeatable read" => TransactionIsolationLevel::RepeatableRead,
        "serializable" => TransactionIsolationLevel::Serializable,
        _ => {
            let message =
                format!("invalid value for parameter \"transaction_isolation\": \"{name}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    set_modes(session, &[TransactionMode::IsolationLevel(level)], false)
}

fn no_transaction(session: &mut Session) {
    let message = "there is no transaction in progress";
    session.notice(Error::new(SqlState::NoActiveTransaction, message));
}

/// Runs COMMIT and END; of a failed block it is a ROLLBACK.
pub async fn commit(session: &mut Session, chain: bool) -> Result<String> {
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

/// Runs ROLLBACK and ABORT.
pub async fn roll_back(session: &mut Session, chain: bool) -> Result<String> {
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

/// Runs SAVEPOINT.
pub fn savepoint(session: &mut Session, name: &Ident) -> Result<String> {
    in_explicit(session, "SAVEPOINT")?.save(fold(name));
    Ok("SAVEPOINT".to_owned())
}

/// Runs RELEASE SAVEPOINT.
pub fn release(session: &mut Session, name: &Ident) -> Result<String> {
    in_explicit(session, "RELEASE SAVEPOINT")?.release(&fold(name))?;
    Ok("RELEASE".to_owned())
}

/// Runs ROLLBACK TO SAVEPOINT, also in a failed block.
pub fn roll_back_to(session: &mut Session, name: &Ident) -> Result<String> {
    let transaction = in_explicit(session, "ROLLBACK TO SAVEPOINT")?;
    let restore = transaction.roll_back_to(&fold(name))?;
    // Cursors from before the savepoint were declared under fewer savepoints than there are now.
    let depth = transaction.depth() - 1;
    session.end_cursors_after(depth);
    session.restore_settings(restore);
    session.block_mut().recover();
    Ok("ROLLBACK".to_owned())
}
