//! GRANT, REVOKE and ALTER DEFAULT PRIVILEGES.

use engine::types::Result;
use syntax::{
    AccessPriv, AlterDefaultPrivilegesStmt, GrantRoleStmt, GrantStmt, GrantTargetType, List, Node,
    ObjectType, StringValue,
};

use super::{invalid, is_cascade, role, role_list};
use crate::statement::constraint::unsupported;
use crate::statement::option;
use crate::statement::rights::tree::{Grant, Membership, Name, RightsStatement, Target, Wanted};

/// GRANT and REVOKE of privileges.
pub fn grant(grant: GrantStmt<'_>) -> Result<Grant> {
    let is_grant = grant.is_grant();
    Ok(Grant {
        is_grant,
        options_only: !is_grant && grant.grant_option(),
        wanted: wanted(grant.privileges()),
        target: target(grant)?,
        grantees: role_list(grant.grantees()),
        with_option: is_grant && grant.grant_option(),
        granted_by: grant.grantor().map(role),
        cascade: is_cascade(grant.behavior()),
    })
}

/// No list stands for ALL.
fn wanted(privileges: List<'_, AccessPriv<'_>>) -> Vec<Wanted> {
    if privileges.is_empty() {
        return vec![Wanted { name: None, columns: Vec::new() }];
    }
    let one = |privilege: AccessPriv<'_>| Wanted {
        name: privilege.priv_name().map(str::to_owned),
        columns: option::names(privilege.cols()),
    };
    privileges.iter().map(one).collect()
}

fn target(grant: GrantStmt<'_>) -> Result<Target> {
    use ObjectType as O;
    let named = || -> Vec<String> {
        let strings = grant.objects().iter().filter_map(option::string_of);
        strings.map(str::to_owned).collect()
    };
    let relations = || -> Vec<Name> {
        let relation = |node| match node {
            Node::RangeVar(relation) => Some(Name(option::parts(relation))),
            _ => None,
        };
        grant.objects().iter().filter_map(relation).collect()
    };
    let kind = grant.objtype();
    Ok(match (grant.targtype(), kind) {
        (GrantTargetType::Object, O::Table) => Target::Tables(relations()),
        (GrantTargetType::Object, O::Sequence) => Target::Sequences(relations()),
        (GrantTargetType::Object, O::Schema) => Target::Schemas(named()),
        (GrantTargetType::Object, O::Database) => Target::Databases(named()),
        (GrantTargetType::Object, _) => {
            return Err(unsupported(&format!("GRANT ON {}", word(kind))));
        }
        (GrantTargetType::AllInSchema, O::Table) => Target::AllTables(named()),
        (GrantTargetType::AllInSchema, O::Sequence) => Target::AllSequences(named()),
        (GrantTargetType::AllInSchema, _) => Target::AllFunctions(named()),
        (GrantTargetType::Defaults, O::Table) => Target::Kind("tables"),
        (GrantTargetType::Defaults, O::Sequence) => Target::Kind("sequences"),
        (GrantTargetType::Defaults, O::Schema) => Target::Kind("schemas"),
        (GrantTargetType::Defaults, O::Type) => Target::Kind("types"),
        (GrantTargetType::Defaults, _) => Target::Kind("functions"),
    })
}

/// A kind of object that nothing is granted on here.
fn word(kind: ObjectType) -> &'static str {
    match kind {
        ObjectType::Function => "FUNCTION",
        ObjectType::Procedure => "PROCEDURE",
        ObjectType::Routine => "ROUTINE",
        ObjectType::Language => "LANGUAGE",
        ObjectType::Largeobject => "LARGE OBJECT",
        ObjectType::Tablespace => "TABLESPACE",
        ObjectType::Type => "TYPE",
        ObjectType::Domain => "DOMAIN",
        ObjectType::ParameterAcl => "PARAMETER",
        ObjectType::Fdw => "FOREIGN DATA WRAPPER",
        ObjectType::ForeignServer => "FOREIGN SERVER",
        _ => "this object",
    }
}

/// GRANT and REVOKE of roles.
pub fn membership(statement: GrantRoleStmt<'_>) -> Result<Membership> {
    let grant = statement.is_grant();
    let named = |role: AccessPriv<'_>| match role.priv_name() {
        Some(name) if role.cols().is_empty() => Ok(name.to_owned()),
        _ => Err(invalid("column names cannot be included in GRANT/REVOKE ROLE")),
    };
    // ADMIN is the only option that PostgreSQL 15 knows.
    let has_option = !statement.opt().is_empty();
    Ok(Membership {
        grant,
        roles: statement.granted_roles().iter().map(named).collect::<Result<Vec<_>>>()?,
        members: role_list(statement.grantee_roles()),
        admin: grant && has_option,
        only_admin: !grant && has_option,
        granted_by: statement.grantor().map(role),
    })
}

/// ALTER DEFAULT PRIVILEGES
pub fn defaults(alter: AlterDefaultPrivilegesStmt<'_>, text: &str) -> Result<RightsStatement> {
    option::check_distinct(alter.options().iter(), text)?;
    let (mut roles, mut schemas) = (Vec::new(), Vec::new());
    for given in alter.options().iter() {
        match given.defname() {
            Some("schemas") => {
                let names = option::list::<StringValue<'_>>(given);
                let names = names.into_iter().filter_map(StringValue::value);
                schemas.extend(names.map(str::to_owned));
            }
            _ => roles.extend(option::list::<syntax::RoleSpec<'_>>(given).into_iter().map(role)),
        }
    }
    let grant = grant(alter.action().expect("the grammar has one"))?;
    Ok(RightsStatement::Defaults { roles, schemas, grant })
}
