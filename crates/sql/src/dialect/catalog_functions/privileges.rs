//! What somebody may do: `has_table_privilege` and its like. Who asks for itself is put first by the session.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use engine::types::{Error, Result, SqlState};

use super::{Compute, Definition, definition, number, text};
use crate::catalog::{Catalog, system};
use crate::rights::{
    Holder, Object, ObjectKind, PUBLIC, Privileges, RoleId, columns_of, kind_of, undefined_role,
};

/// The functions.
pub fn functions() -> Vec<Definition> {
    let all: [(&'static str, Compute); 14] = [
        ("has_table_privilege", |catalog, arguments| of_relation(catalog, arguments, false)),
        ("has_sequence_privilege", |catalog, arguments| of_relation(catalog, arguments, true)),
        ("has_any_column_privilege", of_any_column),
        ("has_column_privilege", of_column),
        ("has_schema_privilege", of_schema),
        ("has_database_privilege", of_database),
        ("pg_has_role", of_role),
        // Of what only the first role could make everybody may use all.
        ("has_function_privilege", usable),
        ("has_language_privilege", usable),
        ("has_type_privilege", usable),
        ("has_foreign_data_wrapper_privilege", not_there),
        ("has_server_privilege", not_there),
        ("has_parameter_privilege", not_there),
        ("has_tablespace_privilege", not_there),
    ];
    let all = all.into_iter();
    all.map(|(name, compute)| definition(name, DataType::Boolean, compute)).collect()
}

fn answer(yes: bool) -> Result<Option<ScalarValue>> {
    Ok(Some(ScalarValue::from(yes)))
}

/// The first argument as somebody who may do things: by name or number; `None` where it is NULL.
fn holder(catalog: &Catalog, argument: &ScalarValue) -> Result<Option<Holder>> {
    let rights = catalog.rights();
    let id = match text(argument) {
        Some(name) if name == "public" => PUBLIC,
        Some(name) => rights.role(&name)?.id,
        None => match number(argument).and_then(|number| u32::try_from(number).ok()) {
            Some(number) => RoleId(number),
            None => return Ok(None),
        },
    };
    Ok(Some(Holder::of(rights, id)))
}

/// A name or a number as a relation of `public`; `None` where no relation has the number, or it is the system's.
fn relation(catalog: &Catalog, argument: &ScalarValue) -> Result<Option<Result<String, u32>>> {
    let oid = match text(argument) {
        Some(name) => system::find_relation(catalog, &name)?,
        None => match number(argument).and_then(|number| u32::try_from(number).ok()) {
            Some(oid) => oid,
            None => return Ok(None),
        },
    };
    let plain = system::plain_relation_name(catalog, oid);
    Ok(plain.map(|name| match catalog.has_relation(&name) {
        true => Ok(name),
        false => Err(oid),
    }))
}

/// `select, insert with grant option`: each with whether it is to be handed on.
fn wanted(argument: &ScalarValue) -> Result<Option<Vec<(Privileges, bool)>>> {
    let Some(list) = text(argument) else { return Ok(None) };
    let each = list.split(',').map(|part| {
        let part = part.trim();
        let lower = part.to_ascii_lowercase();
        let (name, option) = match lower.strip_suffix(" with grant option") {
            Some(name) => (name.trim_end(), true),
            None => (lower.as_str(), false),
        };
        let unknown = || {
            let message = format!("unrecognized privilege type: \"{part}\"");
            Error::new(SqlState::InvalidParameterValue, message)
        };
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        Privileges::named(&name).map(|privilege| (privilege, option)).ok_or_else(unknown)
    });
    each.collect::<Result<Vec<_>>>().map(Some)
}

/// The same, of those that objects of a kind know.
fn wanted_of(argument: &ScalarValue, kind: ObjectKind) -> Result<Option<Vec<(Privileges, bool)>>> {
    let Some(all) = wanted(argument)? else { return Ok(None) };
    match all.iter().find(|(privilege, _)| !kind.known().holds(*privilege)) {
        None => Ok(Some(all)),
        Some(_) => {
            let list = text(argument).unwrap_or_default();
            let message = format!("unrecognized privilege type: \"{list}\"");
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
    }
}

fn may(
    catalog: &Catalog,
    holder: &Holder,
    object: &Object,
    kind: ObjectKind,
    wanted: &[(Privileges, bool)],
) -> bool {
    let rights = catalog.rights();
    let held = rights.held(holder, object, kind);
    let options = || {
        let access = rights.access(object);
        let list = access.list(kind);
        rights.best_grantor(holder, access.owner, &list, kind.known(), kind.known()).1
    };
    wanted.iter().any(|(privilege, option)| match option {
        false => held.meets(*privilege),
        true => options().meets(*privilege),
    })
}

fn of_relation(
    catalog: &Catalog,
    arguments: &[ScalarValue],
    sequence: bool,
) -> Result<Option<ScalarValue>> {
    let [who, what, privileges] = three(arguments)?;
    let Some(holder) = holder(catalog, who)? else { return Ok(None) };
    let Some(found) = relation(catalog, what)? else { return Ok(None) };
    let own = if sequence { ObjectKind::Sequence } else { ObjectKind::Relation };
    let Some(wanted) = wanted_of(privileges, own)? else { return Ok(None) };
    let name = match found {
        Ok(name) => name,
        // Of the system's tables everybody reads all but those of passwords.
        Err(_) => {
            let reads = wanted.iter().any(|(privilege, _)| *privilege == Privileges::SELECT);
            return answer(holder.superuser || reads);
        }
    };
    let kind = kind_of(catalog, &name).0;
    if sequence && kind != ObjectKind::Sequence {
        let message = format!("\"{name}\" is not a sequence");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    answer(may(catalog, &holder, &Object::Relation(name), kind, &wanted))
}

fn of_any_column(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, privileges] = three(arguments)?;
    let Some(holder) = holder(catalog, who)? else { return Ok(None) };
    let Some(found) = relation(catalog, what)? else { return Ok(None) };
    let Some(wanted) = wanted_of(privileges, ObjectKind::Column)? else { return Ok(None) };
    let Ok(name) = found else { return answer(true) };
    let held = catalog.rights().held_of_any_column(&holder, &Object::Relation(name));
    answer(wanted.iter().any(|(privilege, _)| held.meets(*privilege)))
}

fn of_column(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, column, privileges] = arguments else { return Err(too_few()) };
    let Some(holder) = holder(catalog, who)? else { return Ok(None) };
    let Some(found) = relation(catalog, what)? else { return Ok(None) };
    let Some(wanted) = wanted_of(privileges, ObjectKind::Column)? else { return Ok(None) };
    let Ok(name) = found else { return answer(true) };
    let columns = columns_of(catalog, &name).unwrap_or_default();
    let number = match text(column) {
        Some(wanted) => {
            let known = columns.iter().find(|(column, _)| *column == wanted);
            let missing = || crate::statement::naming::undefined_column(&name, &wanted);
            known.ok_or_else(missing)?.1
        }
        None => match number(column).and_then(|number| i16::try_from(number).ok()) {
            Some(number) if columns.iter().any(|column| column.1 == number) => number,
            _ => return Ok(None),
        },
    };
    let held = catalog.rights().held_of_column(&holder, &Object::Relation(name), number);
    answer(wanted.iter().any(|(privilege, _)| held.meets(*privilege)))
}

fn of_schema(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, privileges] = three(arguments)?;
    let Some(holder) = holder(catalog, who)? else { return Ok(None) };
    let oid = match text(what) {
        Some(name) => Some(system::find_schema(&name)?),
        None => number(what).and_then(|number| u32::try_from(number).ok()),
    };
    let Some(name) = oid.and_then(system::schema_name) else { return Ok(None) };
    let Some(wanted) = wanted_of(privileges, ObjectKind::Schema)? else { return Ok(None) };
    let object = Object::Schema(name.to_owned());
    answer(may(catalog, &holder, &object, ObjectKind::Schema, &wanted))
}

fn of_database(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, privileges] = three(arguments)?;
    let Some(holder) = holder(catalog, who)? else { return Ok(None) };
    if let Some(name) = text(what).filter(|name| name != "shareddb") {
        let message = format!("database \"{name}\" does not exist");
        return Err(Error::new(SqlState::InvalidDatabase, message));
    }
    let Some(wanted) = wanted_of(privileges, ObjectKind::Database)? else { return Ok(None) };
    answer(may(catalog, &holder, &Object::Database, ObjectKind::Database, &wanted))
}

/// MEMBER: may become the role; USAGE: has its privileges.
fn of_role(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, privileges] = three(arguments)?;
    let Some(somebody) = holder(catalog, who)? else { return Ok(None) };
    let role = match text(what) {
        Some(name) => catalog.rights().find(&name).ok_or_else(|| undefined_role(&name))?.id,
        None => match number(what).and_then(|number| u32::try_from(number).ok()) {
            Some(number) => RoleId(number),
            None => return Ok(None),
        },
    };
    let Some(list) = text(privileges) else { return Ok(None) };
    let rights = catalog.rights();
    for part in list.split(',') {
        let lower = part.trim().to_ascii_lowercase();
        let (name, admin) = match lower.strip_suffix(" option") {
            Some(name) => {
                (name.trim_end_matches(" with admin").trim_end_matches(" with grant"), true)
            }
            None => (lower.as_str(), false),
        };
        let member = || somebody.superuser || rights.memberships(somebody.role).contains(&role);
        let yes = match (name, admin) {
            ("usage" | "member", true) => {
                somebody.superuser || rights.is_admin_of(somebody.role, role)
            }
            ("usage", false) => somebody.has(role),
            ("member" | "set", false) => member(),
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", part.trim());
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        };
        if yes {
            return answer(true);
        }
    }
    answer(false)
}

fn usable(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, _] = three(arguments)?;
    let somebody = holder(catalog, who)?;
    Ok(somebody.filter(|_| !what.is_null()).map(|_| ScalarValue::from(true)))
}

fn not_there(catalog: &Catalog, arguments: &[ScalarValue]) -> Result<Option<ScalarValue>> {
    let [who, what, _] = three(arguments)?;
    let somebody = holder(catalog, who)?;
    Ok(somebody.filter(|_| !what.is_null()).map(|holder| ScalarValue::from(holder.superuser)))
}

fn three(arguments: &[ScalarValue]) -> Result<[&ScalarValue; 3]> {
    match arguments {
        [who, what, privileges] => Ok([who, what, privileges]),
        _ => Err(too_few()),
    }
}

/// Inside a view or a write nobody has put the session's role first.
fn too_few() -> Error {
    let message = "asking for privileges without naming the role is not supported here";
    Error::new(SqlState::FeatureNotSupported, message)
}
