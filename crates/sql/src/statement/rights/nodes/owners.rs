//! ALTER ... OWNER TO, by itself.

use engine::types::Result;
use syntax::{AlterOwnerStmt, AlterTableCmd, AlterTableStmt, AlterTableType, ObjectType};

use super::{no_policies, role};
use crate::statement::option;
use crate::statement::rights::tree::{Name, RightsStatement};

/// Of a schema or the database; other objects are not ours.
pub fn of_object(alter: AlterOwnerStmt<'_>) -> Result<Option<RightsStatement>> {
    let kind = match alter.object_type() {
        ObjectType::Schema => "schema",
        ObjectType::Database => "database",
        _ => return Ok(None),
    };
    let named = alter.object().and_then(option::string_of).unwrap_or_default();
    let (name, to) = (Name(vec![named.to_owned()]), alter.newowner().map(role));
    Ok(to.map(|to| RightsStatement::Owner { kind, name, if_exists: false, to }))
}

/// Of a relation. Where it is one of several changes, the statement is another one.
pub fn of_relation(alter: AlterTableStmt<'_>) -> Result<Option<RightsStatement>> {
    let commands = || alter.cmds().iter();
    if commands().any(is_about_policies) {
        return Err(no_policies());
    }
    let kind = match alter.objtype() {
        ObjectType::Table => "table",
        ObjectType::View => "view",
        ObjectType::Sequence => "sequence",
        ObjectType::Index => "index",
        _ => return Ok(None),
    };
    let only = commands().next().filter(|_| commands().len() == 1);
    let to = only.filter(|only| only.subtype() == AlterTableType::ChangeOwner);
    let (Some(to), Some(relation)) = (to.and_then(AlterTableCmd::newowner), alter.relation())
    else {
        return Ok(None);
    };
    let (name, if_exists) = (Name(option::parts(relation)), alter.missing_ok());
    Ok(Some(RightsStatement::Owner { kind, name, if_exists, to: role(to) }))
}

fn is_about_policies(command: AlterTableCmd<'_>) -> bool {
    matches!(
        command.subtype(),
        AlterTableType::EnableRowSecurity
            | AlterTableType::DisableRowSecurity
            | AlterTableType::ForceRowSecurity
            | AlterTableType::NoForceRowSecurity
    )
}
