//! A connection with a mix's statements prepared.

use crate::client::{Client, Failure, PostgresClient, Prepared, Result};
use crate::query::{Query, Statement};

/// A client and its prepared statements, by the number of the statement.
pub struct Session<C: ?Sized> {
    /// Where the answers come from.
    pub client: Box<C>,
    prepared: Vec<Result<Prepared>>,
}

impl<C: Client + ?Sized> Session<C> {
    /// Prepares all. A statement that a server refuses fails when it is run, not before: the others are measured.
    pub fn open(mut client: Box<C>, statements: &[Statement]) -> Session<C> {
        let prepared = statements.iter().map(|statement| client.prepare(&statement.text)).collect();
        Session { client, prepared }
    }

    fn prepared(&self, query: &Query) -> Result<Prepared> {
        self.prepared[query.statement].as_ref().copied().map_err(Failure::clone)
    }

    /// Runs a query and fetches its rows; returns how many.
    pub fn fetch(&mut self, query: &Query) -> Result<usize> {
        let prepared = self.prepared(query)?;
        self.client.fetch(prepared, &query.parameters)
    }

    /// Runs a query; its rows as text.
    pub fn answer(&mut self, query: &Query) -> Result<Vec<Vec<String>>> {
        let prepared = self.prepared(query)?;
        Ok(self.client.execute(prepared, &query.parameters)?.normalised())
    }
}

impl Session<PostgresClient> {
    /// Sends queries without waiting for answers.
    pub fn send<'q>(&mut self, queries: impl IntoIterator<Item = &'q Query>) -> Result<()> {
        for query in queries {
            let prepared = self.prepared(query)?;
            self.client.enqueue(prepared, &query.parameters)?;
        }
        self.client.send()
    }
}
