//! Statements that are run from their AST.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement as Ast;
use engine::types::{Error, Result, SqlState};

use super::settings::{Before, ShownSetting};
use super::{ImplicitTransaction, Outcome, Session, Statement};
use crate::statement::{
    absent, alter_table, comment, copy, create_index, create_table, defined, drop, explain,
    prepare, rights, sequence, truncate, view,
};

/// Prepared statements that one session may have, ...
const STATEMENT_LIMIT: usize = 10_000;

/// ... and what they may take, as [`Statement::bytes`] tells.
const STATEMENT_BYTES: usize = 512 << 20;

impl Session {
    /// Runs a statement that is no template.
    pub(super) async fn run_utility(
        &mut self,
        statement: &Ast,
        text: &str,
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        rights::check(self, statement).await?;
        if let Some(tag) = comment::accept(self, statement) {
            return tag.map(Outcome::Command);
        }
        match statement {
            Ast::Copy { .. } => copy::run(self, statement).await,
            Ast::Execute { name, parameters, .. } => {
                prepare::execute(self, name.as_ref(), parameters, implicit).await
            }
            Ast::Explain { .. } => explain::run(self, statement, text).await,
            _ => self.run_definition(statement).await.map(Outcome::Command),
        }
    }

    /// Statements that change definitions. In a block, and among several in one message, they belong to the transaction
    /// (see `definitions`).
    async fn run_definition(&mut self, statement: &Ast) -> Result<String> {
        if matches!(statement, Ast::CreateIndex(create) if create.concurrently) {
            self.refuse_in_block("CREATE INDEX CONCURRENTLY")?;
        }
        if let Some(fault) = absent::fault(&self.catalog(), statement) {
            return Err(fault);
        }
        let tag = definition_tag(statement)?;
        self.refuse_read_only(&tag)?;
        let defined = defined::tables(&self.catalog(), statement);
        self.await_definitions(&defined).await?;
        if let Ast::Truncate(truncate) = statement {
            let defined = defined::tables(&self.catalog(), statement);
            let _held = self.hold_definitions(&defined, false).await?;
            return truncate::truncate(self, truncate).await;
        }
        self.begin_definitions_in_block(&tag).await?;
        let defined = defined::tables(&self.catalog(), statement);
        let _held = self.hold_definitions(&defined, true).await?;
        self.change_definition(statement).await
    }

    async fn change_definition(&mut self, statement: &Ast) -> Result<String> {
        match statement {
            Ast::CreateTable(create) => create_table::create_table(self, create).await,
            Ast::AlterTable(alter) => alter_table::alter_table(self, alter).await,
            Ast::CreateIndex(create) => create_index::create_index(self, create).await,
            Ast::CreateView(create) => view::create_view(self, create).await,
            Ast::CreateSequence { .. } => self.create_sequence(statement).await,
            Ast::Drop { .. } => self.drop_objects(statement).await,
            _ => unreachable!("definition_tag knows them all"),
        }
    }

    async fn create_sequence(&mut self, statement: &Ast) -> Result<String> {
        let Ast::CreateSequence {
            temporary,
            if_not_exists,
            name,
            data_type,
            sequence_options,
            owned_by,
        } = statement
        else {
            unreachable!("the caller matched");
        };
        if *temporary {
            return Err(crate::statement::constraint::unsupported("CREATE TEMPORARY SEQUENCE"));
        }
        let statement = sequence::CreateSequence {
            name,
            if_not_exists: *if_not_exists,
            data_type: data_type.as_ref(),
            options: sequence_options,
            owned_by: owned_by.as_ref(),
        };
        sequence::create_sequence(self, statement).await
    }

    async fn drop_objects(&mut self, statement: &Ast) -> Result<String> {
        let Ast::Drop { object_type, if_exists, names, cascade, .. } = statement else {
            unreachable!("the caller matched");
        };
        let (kind, if_exists, cascade) = (*object_type, *if_exists, *cascade);
        drop::drop(self, drop::Drop { kind, names, if_exists, cascade }).await
    }

    /// EXECUTE runs another statement inside this one.
    pub(crate) async fn execute_nested(
        &mut self,
        statement: &Arc<Statement>,
        values: Vec<engine::types::Value>,
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        self.run(statement, values, implicit).await
    }

    /// Changes a setting; undone by ROLLBACK, and with `local` by the end of the transaction.
    pub(crate) fn change_setting(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "role" => return self.set_role(value.filter(|role| *role != "none"), local),
            "session_authorization" => return self.set_session_authorization(value, local),
            _ => {}
        }
        if local && !self.takes_local() {
            return Ok(());
        }
        let before = self.settings.set(name, value)?;
        if let Some(transaction) = self.block.any() {
            transaction.changed_setting(before, local);
        }
        Ok(())
    }

    /// SET LOCAL: whether there is a transaction for which it holds. In a pipeline PostgreSQL warns, and it holds nevertheless.
    pub(super) fn takes_local(&mut self) -> bool {
        if let Some(warning) = self.outside_block("SET LOCAL") {
            self.notice(warning);
        }
        self.in_block()
    }

    pub(crate) fn restore_settings(&mut self, settings: Vec<Before>) {
        settings.into_iter().for_each(|before| self.settings.restore(before));
    }

    pub(crate) fn reset_settings(&mut self) {
        self.settings.reset_all();
    }

    pub(crate) fn all_settings(&self) -> Vec<ShownSetting> {
        self.settings.changed().all()
    }

    /// A setting's value; some say how the transaction runs.
    pub(crate) fn show_setting(&mut self, name: &str) -> Result<String> {
        let lower = name.to_ascii_lowercase();
        if let Some(transaction) = self.block.any() {
            let on = |on: bool| if on { "on" } else { "off" }.to_owned();
            match lower.as_str() {
                "transaction_isolation" => return Ok(isolation_name(transaction.isolation)),
                "transaction_read_only" => return Ok(on(transaction.read_only)),
                _ => {}
            }
        }
        match lower.as_str() {
            "transaction_isolation" => self.settings.show("default_transaction_isolation"),
            "transaction_read_only" => self.settings.show("default_transaction_read_only"),
            _ => self.settings.show(name),
        }
    }

    /// A statement of PREPARE or of Parse, by its name.
    pub fn statement(&self, name: &str) -> Option<&Arc<Statement>> {
        self.statements.get(name)
    }

    /// Whether a new statement may have the name: 42P05 where another one has it, 53000 where there are too many.
    pub fn check_statement_name(&self, name: &str) -> Result<()> {
        if self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicatePreparedStatement, message));
        }
        if self.statements.len() >= STATEMENT_LIMIT {
            let message =
                format!("too many prepared statements: at most {STATEMENT_LIMIT} in one session");
            return Err(Error::new(SqlState::InsufficientResources, message));
        }
        Ok(())
    }

    /// Keeps a statement of PREPARE or of Parse; 53200 where its session, or the process, has too many or too large ones.
    pub fn keep_statement(&mut self, name: &str, statement: Arc<Statement>) -> Result<()> {
        self.check_statement_name(name)?;
        let bytes: usize = self.statements.values().map(|kept| kept.bytes()).sum();
        if bytes + statement.bytes() > STATEMENT_BYTES {
            let message = "out of memory: too many prepared statements in one session";
            return Err(Error::new(SqlState::OutOfMemory, message));
        }
        self.hold(&statement)?;
        self.statements.insert(name.to_owned(), statement);
        Ok(())
    }

    /// Counts a statement that somebody is going to keep. Whatever is only cached gives way to it; 53200 where that is not
    /// enough.
    fn hold(&self, statement: &Statement) -> Result<()> {
        let hold = || statement.prepared.hold(statement.bytes());
        loop {
            match hold() {
                Err(_) if self.database().cache.shrink() => {}
                outcome => return outcome,
            }
        }
    }

    /// Forgets a statement; whether it was there.
    pub fn forget_statement(&mut self, name: &str) -> bool {
        self.statements.remove(name).is_some()
    }

    pub(crate) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    pub(crate) fn forget_sequences(&mut self) {
        self.current_values.clear();
        self.last_value = None;
    }
}

fn isolation_name(isolation: engine::transaction::Isolation) -> String {
    match isolation {
        engine::transaction::Isolation::ReadCommitted => "read committed".to_owned(),
        engine::transaction::Isolation::RepeatableRead => "repeatable read".to_owned(),
    }
}

/// The tag of a statement that changes definitions; 0A000 for those that nothing here runs.
fn definition_tag(statement: &Ast) -> Result<String> {
    Ok(match statement {
        Ast::CreateTable(create) if create.query.is_some() => "CREATE TABLE AS".to_owned(),
        Ast::CreateTable(_) => "CREATE TABLE".to_owned(),
        Ast::AlterTable(_) => "ALTER TABLE".to_owned(),
        Ast::CreateIndex(_) => "CREATE INDEX".to_owned(),
        Ast::CreateView(_) => "CREATE VIEW".to_owned(),
        Ast::CreateSequence { .. } => "CREATE SEQUENCE".to_owned(),
        Ast::Drop { object_type, .. } => format!("DROP {object_type}"),
        Ast::Truncate(_) => "TRUNCATE TABLE".to_owned(),
        other => {
            let text = other.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            let message = format!("{} is not supported", words.join(" ").to_uppercase());
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    })
}
