//! A server's catalogs as analysis asks for them.

use std::collections::HashMap;
use std::sync::Arc;

use analysis::catalog::*;
use analysis::facts::*;

use crate::wire::Client;

/// The catalogs at one moment.
#[derive(Default)]
pub struct World {
    /// By schema and name.
    relations: HashMap<(String, String), Arc<Relation>>,
    /// Those of the search path.
    visible: HashMap<String, Arc<Relation>>,
    by_oid: HashMap<Oid, Arc<Relation>>,
    types: HashMap<Oid, &'static TypeRow>,
    types_by_name: HashMap<(String, String), &'static TypeRow>,
    visible_types: HashMap<String, &'static TypeRow>,
    labels: HashMap<Oid, Vec<String>>,
    functions: HashMap<String, Vec<(String, bool, &'static FunctionRow)>>,
    schemas: Vec<String>,
    parents: HashMap<Oid, Vec<Oid>>,
    collations: HashMap<String, Oid>,
    database: String,
}

const RELATIONS: &str = "select c.oid, n.nspname, c.relname, c.relkind, c.reltype, pg_table_is_visible(c.oid), \
    coalesce((select i.indkey::text from pg_index i join pg_constraint k on k.conindid = i.indexrelid where i.indrelid = c.oid and k.contype = 'p' and not k.condeferrable and k.conrelid = c.oid), '') \
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind not in ('t', 'I')";
const COLUMNS: &str = "select attrelid, attnum, attname, atttypid, atttypmod, attcollation, attnotnull, attisdropped, attgenerated, attidentity \
    from pg_attribute where attnum > 0 order by attrelid, attnum";
const UNIQUE: &str = "select i.indrelid, coalesce(k.conname, ''), i.indkey::text, i.indpred is not null \
    from pg_index i left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x') where i.indisunique or i.indisexclusion";
const TYPES: &str = "select t.oid, n.nspname, t.typname, t.typlen, t.typtype, t.typcategory, t.typispreferred, t.typelem, t.typarray, t.typcollation, \
    t.typsubscript::oid = 6179, t.typinput, case t.typmodin::oid when 0 then '' else t.typmodin::text end, t.typbasetype, t.typtypmod, t.typrelid, pg_type_is_visible(t.oid), \
    coalesce(r.rngsubtype, m.rngtypid, 0), coalesce(r.rngmultitypid, 0) \
    from pg_type t join pg_namespace n on n.oid = t.typnamespace left join pg_range r on r.rngtypid = t.oid left join pg_range m on m.rngmultitypid = t.oid \
    where t.oid >= 16384 or n.nspname <> 'pg_catalog' or t.typtype = 'c' \
    or exists (select from pg_type e where e.oid = t.typelem and e.typtype = 'c' and t.typcategory = 'A')";
const FUNCTIONS: &str = "select p.oid, n.nspname, pg_function_is_visible(p.oid), p.proname, p.prokind, array_to_string(p.proargtypes::oid[], ' '), p.prorettype, p.proretset, p.provariadic, p.pronargdefaults, \
    coalesce(array_to_string(p.proargnames, ' '), ''), coalesce(array_to_string(p.proallargtypes, ' '), ''), coalesce(array_to_string(p.proargmodes, ''), '') \
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.oid >= 16384 or n.nspname <> 'pg_catalog'";

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split_whitespace().map(number).collect()
}

impl World {
    /// Reads the catalogs of a database.
    pub fn read(client: &mut Client) -> World {
        let mut world = World::default();
        let mut ask = |query: &str| client.run(query).expect("the catalogs can be read");
        let mut columns: HashMap<Oid, Vec<Option<RelationColumn>>> = HashMap::new();
        for row in ask(COLUMNS) {
            let is_dropped = row[7] == "t";
            let column = RelationColumn {
                name: row[2].as_str().into(),
                type_oid: number(&row[3]),
                typmod: number(&row[4]),
                collation: number(&row[5]),
                is_not_null: row[6] == "t",
                generated: match (row[8].as_str(), row[9].as_str()) {
                    ("s", _) => Generated::Stored,
                    (_, "a") => Generated::Identity,
                    _ => Generated::No,
                },
            };
            let of = columns.entry(number(&row[0])).or_default();
            of.push((!is_dropped).then_some(column));
        }
        let mut unique: HashMap<Oid, Vec<UniqueIndex>> = HashMap::new();
        for row in ask(UNIQUE) {
            let constraint = (!row[1].is_empty()).then(|| Arc::from(row[1].as_str()));
            unique.entry(number(&row[0])).or_default().push(UniqueIndex {
                constraint,
                columns: numbers(&row[2]),
                is_partial: row[3] == "t",
            });
        }
        for row in ask(RELATIONS) {
            world.add_relation(&row, &mut columns, &mut unique);
        }
        for row in ask(TYPES) {
            world.add_type(&row);
        }
        for row in ask(FUNCTIONS) {
            world.add_function(&row);
        }
        for row in ask("select enumtypid, enumlabel from pg_enum") {
            world.labels.entry(number(&row[0])).or_default().push(row[1].clone());
        }
        for row in ask("select inhrelid, inhparent from pg_inherits") {
            world.parents.entry(number(&row[0])).or_default().push(number(&row[1]));
        }
        for row in ask("select collname, oid from pg_collation where pg_collation_is_visible(oid)")
        {
            world.collations.insert(row[0].clone(), number(&row[1]));
        }
        world.schemas = ask("select nspname from pg_namespace").into_iter().flatten().collect();
        world.database = ask("select current_database()").concat().concat();
        world
    }

    /// A domain's base with its typmod, or the type itself.
    pub fn base(&self, mut oid: Oid, mut typmod: i32) -> (Oid, i32) {
        while let Some(row) = self.types.get(&oid).filter(|row| row.kind == TypeKind::Domain) {
            (oid, typmod) = (row.of, row.of_typmod);
        }
        (oid, typmod)
    }

    fn add_relation(
        &mut self,
        row: &[String],
        columns: &mut HashMap<Oid, Vec<Option<RelationColumn>>>,
        unique: &mut HashMap<Oid, Vec<UniqueIndex>>,
    ) {
        let oid = number(&row[0]);
        let relation = Arc::new(Relation {
            oid,
            name: row[2].as_str().into(),
            kind: match row[3].as_str() {
                "v" => RelationKind::View,
                "m" => RelationKind::MaterializedView,
                "S" => RelationKind::Sequence,
                "c" => RelationKind::Composite,
                "i" => RelationKind::Index,
                _ => RelationKind::Table,
            },
            row_type: number(&row[4]),
            columns: columns.remove(&oid).unwrap_or_default(),
            primary_key: numbers(&row[6]),
            unique_indexes: unique.remove(&oid).unwrap_or_default(),
        });
        self.relations.insert((row[1].clone(), row[2].clone()), relation.clone());
        if row[5] == "t" {
            self.visible.insert(row[2].clone(), relation.clone());
        }
        self.by_oid.insert(oid, relation);
    }

    fn add_type(&mut self, row: &[String]) {
        let kind = match row[4].as_str() {
            "c" => TypeKind::Composite,
            "d" => TypeKind::Domain,
            "e" => TypeKind::Enum,
            "p" => TypeKind::Pseudo,
            "r" => TypeKind::Range,
            "m" => TypeKind::Multirange,
            _ => TypeKind::Base,
        };
        let of: Oid = number(if kind == TypeKind::Domain { &row[13] } else { &row[17] });
        let made: &'static TypeRow = Box::leak(Box::new(TypeRow {
            oid: number(&row[0]),
            name: leaked(&row[2]),
            schema: (row[16] != "t").then(|| leaked(&row[1])),
            length: number(&row[3]),
            kind,
            category: row[5].chars().next().unwrap_or('U'),
            is_preferred: row[6] == "t",
            element: number(&row[7]),
            array: number(&row[8]),
            collation: number(&row[9]),
            is_array: row[10] == "t",
            input: leaked(&row[11]),
            modifier_input: leaked(&row[12]),
            of,
            of_typmod: number(&row[14]),
            multirange: number(&row[18]),
            relation: number(&row[15]),
            comparisons: Comparisons::default(),
        }));
        self.types.insert(made.oid, made);
        self.types_by_name.insert((row[1].clone(), row[2].clone()), made);
        if row[16] == "t" {
            self.visible_types.insert(row[2].clone(), made);
        }
    }

    fn add_function(&mut self, row: &[String]) {
        let made: &'static FunctionRow = Box::leak(Box::new(FunctionRow {
            oid: number(&row[0]),
            name: leaked(&row[3]),
            kind: match row[4].as_str() {
                "a" => FunctionKind::Aggregate,
                "w" => FunctionKind::Window,
                "p" => FunctionKind::Procedure,
                _ => FunctionKind::Normal,
            },
            arguments: numbers(&row[5]),
            result: number(&row[6]),
            returns_set: row[7] == "t",
            variadic: number(&row[8]),
            defaults: number(&row[9]),
            names: if row[10].is_empty() {
                Vec::new()
            } else {
                row[10].split(' ').map(leaked).collect()
            },
            all_types: numbers(&row[11]),
            modes: leaked(&row[12]),
            volatility: Volatility::Volatile,
            is_strict: false,
            aggregate: AggregateKind::Normal,
            direct_arguments: 0,
        }));
        let entry = (row[1].clone(), row[2] == "t", made);
        self.functions.entry(row[3].clone()).or_default().push(entry);
    }
}

impl Catalog for World {
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Arc<Relation>, Missing> {
        let found = match schema {
            Some(schema) => self.relations.get(&(schema.to_owned(), name.to_owned())),
            None => self.visible.get(name),
        };
        found.cloned().ok_or(Missing::Relation)
    }

    fn relation_by_oid(&self, oid: Oid) -> Option<Arc<Relation>> {
        self.by_oid.get(&oid).cloned()
    }

    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&'static TypeRow> {
        match schema {
            Some(schema) => self.types_by_name.get(&(schema.to_owned(), name.to_owned())).copied(),
            None => self.visible_types.get(name).copied(),
        }
    }

    fn type_row(&self, oid: Oid) -> Option<&'static TypeRow> {
        self.types.get(&oid).copied()
    }

    fn has_label(&self, enumerated: Oid, label: &str) -> bool {
        self.labels.get(&enumerated).is_some_and(|labels| labels.iter().any(|one| one == label))
    }

    fn functions_named(&self, schema: Option<&str>, name: &str) -> Vec<&'static FunctionRow> {
        let of_name = self.functions.get(name).into_iter().flatten();
        let is_meant = |entry: &&(String, bool, &'static FunctionRow)| match schema {
            Some(schema) => entry.0 == schema,
            None => entry.1,
        };
        of_name.filter(is_meant).map(|entry| entry.2).collect()
    }

    fn has_schema(&self, name: &str) -> bool {
        self.schemas.iter().any(|schema| schema == name)
    }

    fn inherits(&self, child: Oid, parent: Oid) -> bool {
        let parents = self.parents.get(&child).into_iter().flatten();
        parents.into_iter().any(|one| *one == parent || self.inherits(*one, parent))
    }

    fn collation_named(&self, _: Option<&str>, name: &str) -> Option<Oid> {
        self.collations.get(name).copied()
    }

    fn database(&self) -> &str {
        &self.database
    }
}
