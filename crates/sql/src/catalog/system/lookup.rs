//! Names to ids and back, for `regclass` and its like.

use engine::types::{Error, Result, SqlState};

use super::super::types::type_id;
use super::super::{Catalog, index_oid, sequence_oid, table_oid};
use super::definition::quoted;
use super::pg_class::view_oid;
use super::pg_namespace::SCHEMAS;
use super::rows::Cell;
use crate::rights::{Acl, RoleId};
use crate::template::long_names::{NAME_LIMIT, cut};

/// System relations that clients name, and PostgreSQL's ids of them.
const SYSTEM_RELATIONS: [(&str, u32); 34] = [
    ("pg_default_acl", 826),
    ("pg_tablespace", 1213),
    ("pg_foreign_server", 1417),
    ("pg_foreign_data_wrapper", 2328),
    ("pg_cast", 2605),
    ("pg_conversion", 2607),
    ("pg_language", 2612),
    ("pg_largeobject", 2613),
    ("pg_opclass", 2616),
    ("pg_operator", 2617),
    ("pg_rewrite", 2618),
    ("pg_opfamily", 2753),
    ("pg_extension", 3079),
    ("pg_policy", 3256),
    ("pg_statistic_ext", 3381),
    ("pg_collation", 3456),
    ("pg_event_trigger", 3466),
    ("pg_publication", 6104),
    ("pg_type", 1247),
    ("pg_attribute", 1249),
    ("pg_proc", 1255),
    ("pg_class", 1259),
    ("pg_authid", 1260),
    ("pg_auth_members", 1261),
    ("pg_database", 1262),
    ("pg_am", 2601),
    ("pg_attrdef", 2604),
    ("pg_constraint", 2606),
    ("pg_depend", 2608),
    ("pg_description", 2609),
    ("pg_index", 2610),
    ("pg_namespace", 2615),
    ("pg_trigger", 2620),
    ("pg_sequence", 2224),
];

/// Types by id: PostgreSQL's short name, and the standard's where that is another.
const TYPES: [(u32, &str, &str); 34] = [
    (16, "bool", "boolean"),
    (17, "bytea", "bytea"),
    (18, "char", "\"char\""),
    (19, "name", "name"),
    (20, "int8", "bigint"),
    (21, "int2", "smallint"),
    (22, "int2vector", "int2vector"),
    (23, "int4", "integer"),
    (24, "regproc", "regproc"),
    (type_id::TEXT, "text", "text"),
    (26, "oid", "oid"),
    (28, "xid", "xid"),
    (30, "oidvector", "oidvector"),
    (114, "json", "json"),
    (700, "float4", "real"),
    (701, "float8", "double precision"),
    (type_id::UNKNOWN, "unknown", "unknown"),
    (1000, "_bool", "boolean[]"),
    (1005, "_int2", "smallint[]"),
    (1007, "_int4", "integer[]"),
    (type_id::TEXT_ARRAY, "_text", "text[]"),
    (1016, "_int8", "bigint[]"),
    (1022, "_float8", "double precision[]"),
    (1042, "bpchar", "character"),
    (1043, "varchar", "character varying"),
    (1082, "date", "date"),
    (1083, "time", "time without time zone"),
    (1114, "timestamp", "timestamp without time zone"),
    (1184, "timestamptz", "timestamp with time zone"),
    (type_id::INTERVAL, "interval", "interval"),
    (1700, "numeric", "numeric"),
    (2205, "regclass", "regclass"),
    (2206, "regtype", "regtype"),
    (2950, "uuid", "uuid"),
];

/// A name as SQL writes it, perhaps with a schema, as stored: the schema and the name.
fn parts(text: &str) -> Option<(Option<String>, String)> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.last_mut()?;
        match c {
            '"' if inside && chars.peek() == Some(&'"') => {
                chars.next();
                last.push('"');
            }
            '"' => inside = !inside,
            '.' if !inside => parts.push(String::new()),
            c if inside => last.push(c),
            c => last.push(c.to_ascii_lowercase()),
        }
    }
    parts.iter_mut().for_each(|part| part.truncate(cut(part, NAME_LIMIT).len()));
    let name = parts.pop()?;
    let schema = parts.pop();
    (parts.is_empty() && !inside && !name.is_empty()).then_some((schema, name))
}

/// The id of the relation of that name: 42P01 if there is none.
pub fn find_relation(catalog: &Catalog, text: &str) -> Result<u32> {
    let found = parts(text).and_then(|(schema, name)| match schema.as_deref() {
        None => of_public(catalog, &name).or_else(|| of_system(&name)),
        Some("public") => of_public(catalog, &name),
        Some("pg_catalog") => of_system(&name),
        Some(_) => None,
    });
    found.ok_or_else(|| {
        let message = format!("relation \"{text}\" does not exist");
        Error::new(SqlState::UndefinedTable, message)
    })
}

fn of_public(catalog: &Catalog, name: &str) -> Option<u32> {
    let table = catalog.table(None, name).map(|table| table_oid(table.id));
    table
        .or_else(|| catalog.view(name).map(|view| view_oid(&view.name)))
        .or_else(|| catalog.sequence(name).map(|sequence| sequence_oid(sequence.id)))
        .or_else(|| catalog.index(name).map(|(_, index)| index_oid(index.id)))
}

fn of_system(name: &str) -> Option<u32> {
    SYSTEM_RELATIONS.iter().find(|known| known.0 == name).map(|known| known.1)
}

/// The relation's name, as SQL.
pub fn relation_name(catalog: &Catalog, oid: u32) -> Option<String> {
    let is_system = SYSTEM_RELATIONS.iter().any(|known| known.1 == oid);
    let name = plain_relation_name(catalog, oid)?;
    Some(if is_system { name } else { quoted(&name) })
}

/// The relation's name, as stored.
pub fn plain_relation_name(catalog: &Catalog, oid: u32) -> Option<String> {
    if let Some((name, _)) = SYSTEM_RELATIONS.iter().find(|known| known.1 == oid) {
        return Some((*name).to_owned());
    }
    let tables = catalog.tables();
    let table = tables.iter().find(|table| table_oid(table.id) == oid).map(|t| &*t.name);
    let index = || {
        let mut indexes = tables.iter().flat_map(|table| &table.indexes);
        indexes.find(|index| index_oid(index.id) == oid).map(|index| &*index.name)
    };
    if let Some(name) = table.or_else(index) {
        return Some(name.to_owned());
    }
    let sequences = catalog.sequences();
    let sequence = sequences.iter().find(|s| sequence_oid(s.id) == oid).map(|s| s.name.to_string());
    let view = || {
        let views = catalog.views();
        views.iter().find(|view| view_oid(&view.name) == oid).map(|view| view.name.clone())
    };
    sequence.or_else(view)
}

/// The id of a type: 42704 if there is none.
pub fn find_type(text: &str) -> Result<u32> {
    let named = parts(text);
    let found = named.as_ref().and_then(|(schema, name)| match schema.as_deref() {
        None if !text.contains('"') => by_word(name),
        None | Some("pg_catalog") => TYPES.iter().find(|known| known.1 == name),
        Some(_) => None,
    });
    found.map(|known| known.0).ok_or_else(|| {
        let said = match named {
            Some((Some(schema), name)) => format!("{schema}.{name}"),
            Some((None, name)) => name,
            None => text.to_owned(),
        };
        Error::new(SqlState::UndefinedObject, format!("type \"{said}\" does not exist"))
    })
}

/// A type by a name without quotes, which may be one of the grammar's own.
fn by_word(name: &str) -> Option<&'static (u32, &'static str, &'static str)> {
    let short = match name {
        "int" => "int4",
        "decimal" => "numeric",
        "char" => "bpchar",
        other => other,
    };
    TYPES.iter().find(|known| known.1 == short || known.2 == short)
}

/// The type's name.
pub fn type_name(oid: u32) -> Option<String> {
    TYPES.iter().find(|known| known.0 == oid).map(|known| known.2.to_owned())
}

/// The type's name with what its modifier says: `character varying(10)`.
pub fn formatted_type(oid: u32, modifier: Option<i32>) -> String {
    let Some(name) = type_name(oid) else { return "???".to_owned() };
    let Some(modifier) = modifier.filter(|modifier| *modifier >= 0) else {
        return if oid == 1042 && modifier.is_some() { "bpchar".to_owned() } else { name };
    };
    let within = modifier - 4;
    match oid {
        1042 | 1043 => format!("{name}({within})"),
        1700 => format!("{name}({},{})", (within >> 16) & 0xffff, within & 0x7ff),
        _ => name,
    }
}

/// The id of a schema: 3F000 if there is none.
pub fn find_schema(text: &str) -> Result<u32> {
    let name = parts(text).map(|(_, name)| name).unwrap_or_default();
    let found = SCHEMAS.iter().find(|known| known.1 == name);
    found.map(|known| known.0).ok_or_else(|| {
        Error::new(SqlState::InvalidSchema, format!("schema \"{text}\" does not exist"))
    })
}

/// The schema's name.
pub fn schema_name(oid: u32) -> Option<&'static str> {
    SCHEMAS.iter().find(|known| known.0 == oid).map(|known| known.1)
}

/// The id of a role: 42704 if there is none.
pub fn find_role(catalog: &Catalog, text: &str) -> Result<u32> {
    let name = parts(text).map(|(_, name)| name).unwrap_or_default();
    catalog.rights().role(&name).map(|role| role.id.0)
}

/// The role's name.
pub fn role_name(catalog: &Catalog, oid: u32) -> Option<String> {
    catalog.rights().role_of(RoleId(oid)).map(|role| role.name.clone())
}

/// A relation's owner, by number and name.
pub fn owner(catalog: &Catalog, relation: &str) -> (u32, String) {
    let owner = catalog.rights().owner_of(relation);
    (owner.0, catalog.rights().name_of(owner))
}

/// A list as PostgreSQL shows it; NULL where nobody has said anything.
pub fn acl_cell(catalog: &Catalog, acl: Option<&Acl>) -> Cell {
    match acl {
        None => Cell::Null,
        Some(acl) => {
            let items = acl.items().iter();
            Cell::Texts(items.map(|item| catalog.rights().item_text(item)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_writes_them() {
        assert_eq!(parts("Public.Item"), Some((Some("public".into()), "item".into())));
        assert_eq!(parts("\"A \"\"b\""), Some((None, "A \"b".into())));
        assert_eq!(parts("a.b.c"), None);
        assert_eq!(parts("\"a"), None);
    }

    #[test]
    fn types_have_two_names() {
        assert_eq!(find_type("int4").ok(), Some(23));
        assert_eq!(find_type("double precision").ok(), Some(701));
        assert_eq!(type_name(1043).as_deref(), Some("character varying"));
        assert!(find_type("nothing").is_err());
    }

    #[test]
    fn types_have_their_short_name_in_quotes_and_in_their_schema() {
        for (name, id) in [
            ("\"int4\"", 23),
            ("pg_catalog.int4", 23),
            ("char", 1042),
            ("\"char\"", 18),
            ("pg_catalog.char", 18),
        ] {
            assert_eq!(find_type(name).ok(), Some(id), "{name}");
        }
        for name in ["\"INT4\"", "\"integer\"", "pg_catalog.integer", "public.int4"] {
            assert!(find_type(name).is_err(), "{name}");
        }
    }
}
