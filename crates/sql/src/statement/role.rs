//! CREATE, ALTER and DROP ROLE: who may connect.
//!
//! A role is the entry `role/<name>` of the engine's key-value catalog; its value is the password's
//! verifier, empty for none. The server reads it when a client connects.

use datafusion::sql::sqlparser::ast::{
    AlterRoleOperation, CreateRole, Expr, Ident, Password, RoleOption, Value,
};
use engine::types::{Definition, Error, Result, SqlState};

use super::constraint::unsupported;
use super::naming::fold;
use crate::session::Session;

fn key(name: &str) -> String {
    format!("role/{name}")
}

fn exists(session: &Session, name: &str) -> bool {
    name == "shareddb" || session.database().engine().entry(&key(name)).is_some()
}

/// 42704 where there is no such role.
pub fn must_exist(session: &Session, name: &str) -> Result<()> {
    if exists(session, name) { Ok(()) } else { Err(undefined(name)) }
}

/// Runs CREATE ROLE and CREATE USER.
pub async fn create_role(session: &mut Session, statement: &CreateRole) -> Result<String> {
    for name in &statement.names {
        let name = super::naming::split(name)?.1;
        if exists(session, &name) {
            if statement.if_not_exists {
                continue;
            }
            let message = format!("role \"{name}\" already exists");
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        let verifier = verifier(session, statement.password.as_ref())?;
        put(session, &name, Some(verifier)).await?;
    }
    Ok("CREATE ROLE".to_owned())
}

/// Runs ALTER ROLE and ALTER USER: passwords can be changed.
pub async fn alter_role(
    session: &mut Session,
    name: &Ident,
    operation: &AlterRoleOperation,
) -> Result<String> {
    let name = fold(name);
    if !exists(session, &name) {
        return Err(undefined(&name));
    }
    let AlterRoleOperation::WithOptions { options } = operation else {
        return Err(unsupported(&format!("ALTER ROLE {operation}")));
    };
    for option in options {
        match option {
            RoleOption::Password(password) => {
                let verifier = verifier(session, Some(password))?;
                put(session, &name, Some(verifier)).await?;
            }
            RoleOption::Login(true) | RoleOption::Inherit(_) => {}
            other => return Err(unsupported(&format!("ALTER ROLE ... {other}"))),
        }
    }
    Ok("ALTER ROLE".to_owned())
}

/// Runs DROP ROLE.
pub async fn drop_role(session: &mut Session, name: &str, if_exists: bool) -> Result<()> {
    if !exists(session, name) {
        return if if_exists { Ok(()) } else { Err(undefined(name)) };
    }
    put(session, name, None).await
}

fn undefined(name: &str) -> Error {
    Error::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))
}

async fn put(session: &mut Session, name: &str, value: Option<Vec<u8>>) -> Result<()> {
    session.define(Definition::PutEntry { key: key(name), value }).await
}

/// What is stored instead of the password.
fn verifier(session: &Session, password: Option<&Password>) -> Result<Vec<u8>> {
    let text = match password {
        None | Some(Password::NullPassword) => return Ok(Vec::new()),
        Some(Password::Password(Expr::Value(value))) => match &value.value {
            Value::SingleQuotedString(text) => text,
            other => return Err(unsupported(&format!("the password {other}"))),
        },
        Some(Password::Password(_)) => return Err(unsupported("a password that is no string")),
    };
    if text.starts_with("SCRAM-SHA-256$") {
        return Ok(text.as_bytes().to_vec());
    }
    match session.database().password_verifier {
        Some(make) => Ok(make(text).into_bytes()),
        None => Err(unsupported("setting a password")),
    }
}
