//! Running commands: statements that are run as PostgreSQL's nodes of them say.
//!
//! In comes a [`Command`]; out goes its tag, or the rows of SHOW and FETCH. Called by [`super::execute`].

use engine::types::Result;

use super::execute::shut_down;
use super::limited::limited;
use super::{Outcome, Session};
use crate::statement::command::Command;
use crate::statement::rights::{self, RightsStatement};
use crate::statement::{
    alter_sequence, lock_table, maintenance, notify, prepare, setting, transaction,
};

impl Session {
    /// Runs a command.
    pub(super) async fn run_command(&mut self, command: &Command) -> Result<Outcome> {
        let tag = match command {
            Command::Setting(statement) => return setting::run(self, statement),
            Command::Fetch(fetch) => return self.fetch_cursor(fetch).await,
            Command::Close(name) => self.close_cursors(name.as_deref())?,
            Command::Checkpoint => self.checkpoint().await?,
            Command::Transaction(statement) => transaction::run(self, statement).await?,
            Command::Notify(statement) => notify::run(self, statement)?,
            Command::Lock(lock) => lock_table::run(self, lock).await?,
            Command::AlterSequence(alter) => alter_sequence::run(self, alter).await?,
            Command::Rights(statement) => self.run_rights(statement).await?,
            Command::Prepare(statement) => prepare::prepare(self, statement).await?,
            Command::Deallocate(name) => prepare::deallocate(self, name.as_deref())?,
            Command::Maintenance(statement) => maintenance::run(self, statement).await?,
        };
        Ok(Outcome::Command(tag))
    }

    /// Statements about roles and rights.
    async fn run_rights(&mut self, statement: &RightsStatement) -> Result<String> {
        let tag = rights::tag(statement);
        self.refuse_read_only(&tag)?;
        self.begin_definitions_in_block(&tag).await?;
        rights::run(self, statement).await?;
        Ok(tag)
    }

    /// Answered when the checkpoint is durable.
    async fn checkpoint(&self) -> Result<String> {
        let (send, receive) = tokio::sync::oneshot::channel();
        let receiver = Box::new(move |outcome: Result<_>| drop(send.send(outcome.map(|_| ()))));
        self.database.engine.checkpoint(receiver);
        limited(&self.limits, receive).await?.unwrap_or_else(|_| Err(shut_down()))?;
        Ok("CHECKPOINT".to_owned())
    }
}
