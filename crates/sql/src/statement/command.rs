//! What a statement asks for, by PostgreSQL's tree of its text.
//!
//! In comes the text of one statement; out goes a [`Command`] that runs on a session, made of the statement's nodes and owning all
//! that it says, or that the text is to be planned. Called by `session::prepared`.

use engine::types::{Error, Result, SqlState};
use syntax::Node;

use super::alter_sequence::{self, AlterSequence};
use super::constant;
use super::cursor::{self, Declare, Fetch};
use super::lock_table::{self, LockTable};
use super::maintenance::{self, Maintenance};
use super::notify::{self, Notify};
use super::prepare::{self, Prepare};
use super::rights::{self, RightsStatement};
use super::setting::{self, SettingStatement};
use super::transaction::{self, TransactionStatement};
use crate::template::{notices, tree};

/// What a text asks for.
#[derive(Debug)]
pub enum Asked {
    /// Nothing: it holds no statement.
    Nothing,
    /// A command.
    Command(Box<Command>),
    /// A cursor over a query that is to be planned.
    Declare(Declare),
    /// SELECT without FROM, which may be expressions alone.
    Constant,
    /// COPY, whose rows come or go as fast as the client likes.
    Copy,
    /// Anything else, which the parser of plans reads.
    Plan,
}

/// A statement that is run as its nodes say.
#[derive(Clone, Debug)]
pub enum Command {
    /// CHECKPOINT
    Checkpoint,
    /// BEGIN, COMMIT and their like.
    Transaction(TransactionStatement),
    /// SET, RESET, SHOW, DISCARD
    Setting(SettingStatement),
    /// LISTEN, NOTIFY, UNLISTEN
    Notify(Notify),
    /// LOCK TABLE
    Lock(LockTable),
    /// ALTER SEQUENCE
    AlterSequence(AlterSequence),
    /// Roles and rights.
    Rights(Box<RightsStatement>),
    /// FETCH and MOVE
    Fetch(Fetch),
    /// CLOSE; `None`: all cursors.
    Close(Option<String>),
    /// PREPARE
    Prepare(Prepare),
    /// DEALLOCATE; `None`: all statements.
    Deallocate(Option<String>),
    /// VACUUM and ANALYZE
    Maintenance(Maintenance),
}

impl Asked {
    /// What a text of one statement asks for, and what PostgreSQL's parser tells of it beside that.
    ///
    /// # Errors
    /// What PostgreSQL's grammar says of it; 42601 for several statements; 0A000 for a command that nothing here runs.
    pub fn of(text: &str) -> Result<(Asked, Vec<Error>)> {
        let tree = tree(text)?;
        let mut statements = tree.statements();
        let asked = match (statements.next(), statements.next()) {
            (None, _) => Asked::Nothing,
            (Some(statement), None) => Asked::of_node(statement.node, text)?,
            (Some(_), Some(_)) => {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        };
        Ok((asked, notices(&tree)))
    }

    fn of_node(node: Node<'_>, text: &str) -> Result<Asked> {
        let command = match node {
            Node::DeclareCursorStmt(declare) => {
                return cursor::declare(declare, text).map(Asked::Declare);
            }
            Node::CopyStmt(_) => return Ok(Asked::Copy),
            Node::SelectStmt(select) if constant::is_constant(select) => {
                return Ok(Asked::Constant);
            }
            Node::CheckPointStmt(_) => Command::Checkpoint,
            Node::TransactionStmt(statement) => Command::Transaction(transaction::read(statement)),
            Node::VariableSetStmt(set) => Command::Setting(setting::read(set)?),
            Node::VariableShowStmt(show) => Command::Setting(setting::read_show(show)),
            Node::DiscardStmt(discard) => {
                Command::Setting(SettingStatement::Discard(discard.target()))
            }
            Node::ListenStmt(listen) => Command::Notify(notify::listen(listen)),
            Node::UnlistenStmt(unlisten) => Command::Notify(notify::unlisten(unlisten)),
            Node::NotifyStmt(notify) => Command::Notify(notify::notify(notify)),
            Node::LockStmt(lock) => Command::Lock(lock_table::read(lock)),
            Node::AlterSeqStmt(alter) => Command::AlterSequence(alter_sequence::read(alter, text)?),
            Node::FetchStmt(fetch) => Command::Fetch(cursor::fetch(fetch)),
            Node::ClosePortalStmt(close) => Command::Close(close.portalname().map(str::to_owned)),
            Node::PrepareStmt(statement) => Command::Prepare(prepare::read(statement, text)?),
            Node::DeallocateStmt(deallocate) => {
                Command::Deallocate(deallocate.name().map(str::to_owned))
            }
            Node::VacuumStmt(vacuum) => Command::Maintenance(maintenance::read(vacuum, text)?),
            node => match rights::read(node, text)? {
                Some(statement) => Command::Rights(Box::new(statement)),
                None => return Ok(Asked::Plan),
            },
        };
        Ok(Asked::Command(Box::new(command)))
    }

    /// Whether a failed block takes it.
    pub fn ends_failure(&self) -> bool {
        match self {
            Asked::Nothing => true,
            Asked::Command(command) => command.ends_failure(),
            _ => false,
        }
    }

    /// What is never refused because of a promise, by its text.
    pub fn is_exempt(&self) -> bool {
        match self {
            Asked::Nothing | Asked::Copy => true,
            Asked::Command(command) => command.is_exempt(),
            Asked::Declare(_) | Asked::Constant | Asked::Plan => false,
        }
    }
}

impl Command {
    /// What is never refused because of a promise: whoever may not end what was begun, or take a promise back, would be worse off
    /// than without one.
    pub fn is_exempt(&self) -> bool {
        matches!(
            self,
            Command::Transaction(_)
                | Command::Setting(_)
                | Command::Rights(_)
                | Command::Close(_)
                | Command::Deallocate(_)
        )
    }

    /// Whether a failed block takes it.
    pub fn ends_failure(&self) -> bool {
        self.transaction().is_some_and(TransactionStatement::ends_failure)
    }

    /// The statement of transaction control that it is.
    pub fn transaction(&self) -> Option<&TransactionStatement> {
        match self {
            Command::Transaction(statement) => Some(statement),
            _ => None,
        }
    }
}

/// The command that a text is.
#[cfg(test)]
pub fn command(text: &str) -> Result<Command> {
    match Asked::of(text)? {
        (Asked::Command(command), _) => Ok(*command),
        (other, _) => panic!("{text}: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_end_things_or_take_a_promise_back_are_never_refused() {
        let never = [
            "",
            "/* so */ COMMIT",
            "  rollback to a",
            "SET x = 1",
            "Alter Role ann RESET ALL",
            "ALTER DATABASE d RESET shareddb.response_time",
            "copy t from stdin",
            "GRANT SELECT ON t TO ann",
            "DROP USER ann",
        ];
        let is_exempt = |text: &str| Asked::of(text).expect(text).0.is_exempt();
        never.iter().for_each(|text| assert!(is_exempt(text), "{text}"));
        for text in ["SELECT 1", "ALTER TABLE t ADD c integer", "CREATE TABLE role (i int)"] {
            assert!(!is_exempt(text), "{text}");
        }
    }

    #[test]
    fn a_text_has_one_statement_or_none() {
        assert!(matches!(Asked::of("; -- nothing\n;"), Ok((Asked::Nothing, _))));
        assert!(matches!(Asked::of("; SELECT ';';"), Ok((Asked::Constant, _))));
        assert!(matches!(Asked::of("; SELECT ';' FROM t;"), Ok((Asked::Plan, _))));
        let fault = Asked::of("SELECT 1; SELECT 2").expect_err("two");
        assert_eq!(fault.state, SqlState::SyntaxError);
    }
}
