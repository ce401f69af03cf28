//! Portals of one connection, by name, and what they are made of.

use std::collections::HashMap;
use std::sync::Arc;

use engine::types::{Error, Result, SqlState, Value};
use sql::{Session, Statement};

use super::rows::Cursor;
use crate::value::Format;

/// Named portals that one connection may have open.
const NAME_LIMIT: usize = 10_000;

/// Things with names; the empty name is its own place.
#[derive(Debug)]
pub struct Named<T> {
    unnamed: Option<T>,
    named: HashMap<Box<str>, T>,
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named { unnamed: None, named: HashMap::new() }
    }
}

impl<T> Named<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.unnamed.is_none() && self.named.is_empty()
    }

    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        match name {
            "" => self.unnamed.as_ref(),
            _ => self.named.get(name),
        }
    }

    /// Whether a new name would be one too many.
    fn is_full(&self) -> bool {
        self.named.len() >= NAME_LIMIT
    }

    /// Puts a thing under a name, in place of what was there.
    pub fn put(&mut self, name: &str, thing: T) {
        match name {
            "" => self.unnamed = Some(thing),
            _ => drop(self.named.insert(name.into(), thing)),
        }
    }

    /// Takes the thing out, and with it the name for putting it back.
    pub fn take(&mut self, name: &str) -> Option<(Box<str>, T)> {
        match name {
            "" => self.unnamed.take().map(|thing| (Box::default(), thing)),
            _ => self.named.remove_entry(name),
        }
    }

    /// Puts a thing back.
    pub fn put_back(&mut self, (name, thing): (Box<str>, T)) {
        match &*name {
            "" => self.unnamed = Some(thing),
            _ => drop(self.named.insert(name, thing)),
        }
    }

    /// Forgets the one of that name.
    pub fn remove(&mut self, name: &str) {
        drop(self.take(name));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.unnamed = None;
        if !self.named.is_empty() {
            self.named.clear();
        }
    }
}

/// A statement with parameters, ready to run or running.
#[derive(Debug)]
pub struct Portal {
    /// What it runs.
    pub statement: Arc<Statement>,
    /// The formats of its answer's columns.
    pub formats: Formats,
    /// How far it is.
    pub state: PortalState,
}

/// How far a portal is.
#[derive(Debug)]
pub enum PortalState {
    /// Not begun; its parameters.
    Ready(Vec<Value>),
    /// Begun, with rows left.
    Suspended(Box<Cursor>),
    /// All rows are sent.
    Exhausted(&'static str),
    /// A cursor of its name has its rows, since FETCH or MOVE has named it.
    Adopted,
    /// It ran and gave no rows, or it failed.
    Done,
}

/// The formats of columns or parameters: none given (all text), one for all, or one each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formats {
    /// The same for all.
    All(Format),
    /// One each.
    Each(Box<[Format]>),
}

impl Formats {
    /// The format at a position.
    pub fn get(&self, position: usize) -> Format {
        match self {
            Formats::All(format) => *format,
            Formats::Each(formats) => formats[position],
        }
    }
}

/// Keeps a portal for Bind; 42P03 when the name is taken, by a cursor perhaps. The unnamed one is replaced.
pub fn keep_portal(
    portals: &mut Named<Portal>,
    session: &Session,
    name: &str,
    portal: Portal,
) -> Result<()> {
    if !name.is_empty() {
        if portals.get(name).is_some() || session.has_cursor(name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateCursor, message));
        }
        if portals.is_full() {
            let message = format!("too many portals: at most {NAME_LIMIT} on one connection");
            return Err(Error::new(SqlState::InsufficientResources, message));
        }
    }
    portals.put(name, portal);
    Ok(())
}

/// The statement of that name, or 26000.
pub fn find_statement<'a>(
    session: &'a Session,
    unnamed: &'a Option<Arc<Statement>>,
    name: &str,
) -> Result<&'a Arc<Statement>> {
    let found = if name.is_empty() { unnamed.as_ref() } else { session.statement(name) };
    found.ok_or_else(|| {
        let message = match name {
            "" => "unnamed prepared statement does not exist".to_string(),
            _ => format!("prepared statement \"{name}\" does not exist"),
        };
        Error::new(SqlState::InvalidStatementName, message)
    })
}

/// 34000.
pub fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("portal \"{name}\" does not exist"))
}

/// A format code of Bind.
pub fn format(code: usize) -> Result<Format> {
    match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        _ => {
            let message = format!("unsupported format code: {code}");
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
    }
}
