//! The walk over a statement's tree.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, ConflictTarget, Expr, FromTable, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, JoinConstraint, JoinOperator, ObjectName, OnConflictAction, OnInsert,
    Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor,
    TableObject, TableWithJoins, UpdateTableFromKind, Visitor,
};
use engine::types::ColumnDefault;

use super::sources::{Source, columns_of, factors, output_names, relation_name};
use super::{Need, Needs};
use crate::catalog::Catalog;
use crate::rights::Privileges;
use crate::statement::naming::fold;
use crate::template::lock_words;

/// System relations that show what is not everybody's, with their schemas.
const GUARDED: [(&str, &str); 5] = [
    ("pg_catalog", "pg_authid"),
    ("pg_catalog", "pg_shadow"),
    ("shareddb", "templates"),
    ("shareddb", "operators"),
    ("shareddb", "differences"),
];

/// The number of no column.
const UNKNOWN_COLUMN: i16 = 0;

/// What is in sight inside a query, a SELECT or a write.
#[derive(Debug, Default)]
struct Scope {
    sources: Vec<Source>,
    /// Names of WITH that can be used by now.
    ctes: Vec<(String, Option<Vec<String>>)>,
    /// Queries of WITH that give a name when they end.
    pending: Vec<(*const Query, String, Option<Vec<String>>)>,
    /// Columns are not looked for further out.
    closed: bool,
    /// The rows are locked, of all sources or of these.
    locks: Option<Vec<String>>,
}

/// A walk that collects needs.
#[derive(Debug)]
pub struct Visiting<'a> {
    catalog: &'a Catalog,
    needs: Vec<Need>,
    system: Vec<String>,
    scopes: Vec<Scope>,
    /// The query whose rows an INSERT takes: it does not see the table.
    inserted: Option<*const Query>,
}

impl<'a> Visiting<'a> {
    /// A walk over what names of this catalog.
    pub fn new(catalog: &'a Catalog) -> Visiting<'a> {
        Visiting {
            catalog,
            needs: Vec::new(),
            system: Vec::new(),
            scopes: Vec::new(),
            inserted: None,
        }
    }

    /// What was found.
    pub fn found(self) -> Needs {
        let asked = |need: &Need| !need.privileges.is_none();
        Needs {
            relations: self.needs.into_iter().filter(asked).collect(),
            system: self.system,
            unknown: Vec::new(),
        }
    }

    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        self.scopes.last_mut().expect("pushed above")
    }

    /// The columns of a name of WITH, if it is one.
    fn cte(&self, name: &ObjectName) -> Option<Option<Vec<String>>> {
        let [part] = name.0.as_slice() else { return None };
        let name = fold(part.as_ident()?);
        let mut all = self.scopes.iter().rev().flat_map(|scope| scope.ctes.iter().rev());
        all.find(|cte| cte.0 == name).map(|cte| cte.1.clone())
    }

    /// A relation in FROM, with what is needed of it for being there.
    fn source(&mut self, factor: &TableFactor, privileges: Privileges) -> Option<Source> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => (name, alias.as_ref()),
            TableFactor::Derived { subquery, alias, .. } => {
                return Some(unnamed(output_names(subquery), alias.as_ref()));
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => return Some(unnamed(None, alias.as_ref())),
            _ => return None,
        };
        if let Some(columns) = self.cte(name) {
            let mut source = unnamed(columns, None);
            source.alias = name.0.last().and_then(|part| part.as_ident()).map(fold)?;
            source.rename(alias);
            return Some(source);
        }
        let mut source = self.relation(name, privileges)?;
        source.rename(alias);
        Some(source)
    }

    fn relation(&mut self, name: &ObjectName, privileges: Privileges) -> Option<Source> {
        let bare = match relation_name(name)? {
            Ok(bare) => bare,
            Err((schema, bare)) => {
                self.guard(&schema.unwrap_or_default(), &bare);
                return Some(Source {
                    alias: bare,
                    need: None,
                    columns: Vec::new(),
                    complete: false,
                });
            }
        };
        if !self.catalog.has_relation(&bare) {
            self.guard("pg_catalog", &bare);
            return Some(Source { alias: bare, need: None, columns: Vec::new(), complete: false });
        }
        let need = Some(self.needs.len());
        let mut wanted = Need::on(&bare, privileges);
        wanted.qualified = name.0.len() > 1;
        let columns = columns_of(self.catalog, &bare);
        let complete = columns.is_some();
        if !complete {
            // No privilege on a column will do where nobody knows which columns these are.
            wanted.columns_mut(Privileges::SELECT).insert(UNKNOWN_COLUMN);
        }
        self.needs.push(wanted);
        Some(Source { alias: bare, need, columns: columns.unwrap_or_default(), complete })
    }

    fn guard(&mut self, schema: &str, name: &str) {
        let is_known = self.system.iter().any(|known| known == name);
        if GUARDED.contains(&(schema, name)) && !is_known {
            self.system.push(name.to_owned());
        }
    }

    fn sources(&mut self, from: &[TableWithJoins], privileges: Privileges) -> Vec<Source> {
        let mut all = Vec::new();
        factors(from, &mut |factor| all.push(factor));
        all.into_iter().filter_map(|factor| self.source(factor, privileges)).collect()
    }

    /// Adds a column to what is read.
    fn mark(&mut self, need: Option<usize>, column: i16) {
        if let Some(need) = need.and_then(|at| self.needs.get_mut(at)) {
            need.privileges = need.privileges.with(Privileges::SELECT);
            need.columns_mut(Privileges::SELECT).insert(column);
        }
    }

    fn mark_all(&mut self, source: &Source) {
        for (_, column) in &source.columns {
            self.mark(source.need, *column);
        }
        if source.columns.is_empty()
            && let Some(need) = source.need.and_then(|at| self.needs.get_mut(at))
        {
            need.privileges = need.privileges.with(Privileges::SELECT);
        }
    }

    /// A name by itself: a column, or a whole row.
    fn name(&mut self, name: &str) {
        let mut hits: Vec<(Option<usize>, i16)> = Vec::new();
        let mut whole = None;
        for scope in self.scopes.iter().rev() {
            let found = scope.sources.iter().filter_map(|s| Some((s.need, s.column(name)?)));
            hits.extend(found);
            if !hits.is_empty() {
                break;
            }
            whole = scope.sources.iter().find(|source| source.alias == name).cloned();
            if whole.is_some() || scope.closed {
                break;
            }
        }
        hits.into_iter().for_each(|(need, column)| self.mark(need, column));
        if let Some(source) = whole {
            self.mark_all(&source);
        }
    }

    fn find(&self, alias: &str) -> Option<Source> {
        let scopes = self.scopes.iter().rev();
        let mut sources = scopes.flat_map(|scope| scope.sources.iter());
        sources.find(|source| source.alias == alias).cloned()
    }

    /// `a.b`, `schema.a.b`.
    fn qualified(&mut self, names: &[Ident]) {
        let [.., qualifier, column] = names else { return };
        let (qualifier, column) = (fold(qualifier), fold(column));
        match self.find(&qualifier) {
            Some(source) => match source.column(&column) {
                Some(number) => self.mark(source.need, number),
                None if source.complete => {}
                None => self.name(&column),
            },
            // A column's field.
            None => names.first().map(fold).iter().for_each(|first| self.name(first)),
        }
    }

    fn wildcard_of(&mut self, name: &ObjectName) {
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
        if let Some(source) = last.and_then(|alias| self.find(&alias)) {
            self.mark_all(&source);
        }
    }

    /// Columns that USING names, or that NATURAL finds on both sides.
    fn join_columns(&mut self, from: &[TableWithJoins]) {
        let mut natural = false;
        let mut names: Vec<String> = Vec::new();
        let mut trees: Vec<&TableWithJoins> = from.iter().collect();
        while let Some(tree) = trees.pop() {
            let joined = tree.joins.iter().map(|join| &join.relation);
            for factor in std::iter::once(&tree.relation).chain(joined) {
                if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
                    trees.push(table_with_joins);
                }
            }
            for join in &tree.joins {
                match constraint(&join.join_operator) {
                    Some(JoinConstraint::Natural) => natural = true,
                    Some(JoinConstraint::Using(columns)) => {
                        let last = |name: &ObjectName| name.0.last()?.as_ident().map(fold);
                        names.extend(columns.iter().filter_map(last));
                    }
                    _ => {}
                }
            }
        }
        let sources = self.scope().sources.clone();
        if natural {
            let all = sources.iter().flat_map(|source| source.columns.iter());
            names.extend(all.map(|(name, _)| name.clone()));
        }
        for name in names {
            for source in &sources {
                if let Some(column) = source.column(&name) {
                    self.mark(source.need, column);
                }
            }
        }
    }

    fn lock(&mut self, sources: &[Source], of: &[String]) {
        let locked = sources.iter().filter(|source| of.is_empty() || of.contains(&source.alias));
        for need in locked.filter_map(|source| source.need) {
            self.needs[need].privileges = self.needs[need].privileges.with(Privileges::UPDATE);
        }
    }

    fn items(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Wildcard(_) => {
                    let sources = self.scope().sources.clone();
                    sources.iter().for_each(|source| self.mark_all(source));
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => self.wildcard_of(name),
                _ => {}
            }
        }
    }

    fn insert(&mut self, insert: &ast::Insert) {
        self.inserted = insert.source.as_deref().map(std::ptr::from_ref);
        let TableObject::TableName(name) = &insert.table else { return };
        let Some(mut target) = self.relation(name, Privileges::INSERT) else { return };
        if let Some(alias) = &insert.table_alias {
            target.alias = fold(&alias.alias);
        }
        let last = |name: &ObjectName| name.0.last()?.as_ident().map(fold);
        let named: Vec<String> = insert.columns.iter().filter_map(last).collect();
        let given = |name: &String| named.is_empty() || named.contains(name);
        if let Some(at) = target.need {
            let columns = target.columns.iter().filter(|(name, _)| given(name));
            let empty = insert.source.is_none();
            let numbers = columns.filter(|_| !empty).map(|(_, number)| *number);
            self.needs[at].columns_mut(Privileges::INSERT).extend(numbers);
            let relation = self.needs[at].relation.clone();
            self.sequences(&relation, &|name| {
                !empty && given(name) && !is_default(insert, &named, name)
            });
        }
        let excluded = Source {
            alias: "excluded".to_owned(),
            columns: target.columns.clone(),
            need: target.need,
            complete: true,
        };
        self.scopes.push(Scope { sources: vec![target.clone()], ..Scope::default() });
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
            self.conflict(&target, conflict);
            self.scope().sources.push(excluded);
        }
        self.items(insert.returning.as_deref().unwrap_or_default());
    }

    fn conflict(&mut self, target: &Source, conflict: &ast::OnConflict) {
        if let Some(ConflictTarget::Columns(names)) = &conflict.conflict_target {
            let numbers: Vec<i16> =
                names.iter().filter_map(|name| target.column(&fold(name))).collect();
            numbers.into_iter().for_each(|column| self.mark(target.need, column));
        }
        if let OnConflictAction::DoUpdate(update) = &conflict.action {
            self.assigned(target, update.assignments.iter().map(|a| &a.target));
        }
    }

    fn assigned<'t>(
        &mut self,
        target: &Source,
        assignments: impl Iterator<Item = &'t AssignmentTarget>,
    ) {
        let Some(need) = target.need else { return };
        self.needs[need].privileges = self.needs[need].privileges.with(Privileges::UPDATE);
        let names = assignments.flat_map(|assigned| match assigned {
            AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            AssignmentTarget::Tuple(names) => names.as_slice(),
        });
        let last = |name: &ObjectName| name.0.last()?.as_ident().map(fold);
        for name in names.filter_map(last) {
            if let Some(column) = target.column(&name) {
                self.needs[need].columns_mut(Privileges::UPDATE).insert(column);
            }
        }
    }

    /// Serial columns that INSERT leaves to their sequences.
    fn sequences(&mut self, relation: &str, given: &dyn Fn(&String) -> bool) {
        let Some(table) = self.catalog.table(None, relation) else { return };
        for (_, column) in table.live_columns() {
            let ColumnDefault::Sequence { id, identity: false, .. } = &column.default else {
                continue;
            };
            let sequence = self.catalog.sequence_by_id(*id);
            if let Some(sequence) = sequence.filter(|_| !given(&column.name.to_string())) {
                let wanted = Privileges::USAGE.with(Privileges::UPDATE);
                self.needs.push(Need::any_on(&sequence.name, wanted));
            }
        }
    }

    fn update(&mut self, update: &ast::Update) {
        let mut sources = self.sources(std::slice::from_ref(&update.table), Privileges::NONE);
        if let Some(target) = sources.first().cloned() {
            self.assigned(&target, update.assignments.iter().map(|a| &a.target));
        }
        let from = match &update.from {
            Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => {
                from
            }
            None => &Vec::new(),
        };
        sources.extend(self.sources(from, Privileges::SELECT));
        self.scopes.push(Scope { sources, ..Scope::default() });
        self.join_columns(from);
        self.items(update.returning.as_deref().unwrap_or_default());
    }

    fn delete(&mut self, delete: &ast::Delete) {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let mut sources = self.sources(from, Privileges::DELETE);
        let using = delete.using.as_deref().unwrap_or_default();
        sources.extend(self.sources(using, Privileges::SELECT));
        self.scopes.push(Scope { sources, ..Scope::default() });
        self.join_columns(using);
        self.items(delete.returning.as_deref().unwrap_or_default());
    }

    /// `TABLE t` as a query's body, which holds no relation for the walk.
    fn table_bodies(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Table(table) => {
                let named = table.table_name.clone().unwrap_or_default();
                let plain = named.trim_matches('"').to_owned();
                for name in [plain.to_lowercase(), plain] {
                    let name = ObjectName::from(vec![Ident::with_quote('"', name)]);
                    if self.cte(&name).is_none()
                        && let Some(source) = self.relation(&name, Privileges::SELECT)
                    {
                        self.mark_all(&source);
                    }
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.table_bodies(left);
                self.table_bodies(right);
            }
            _ => {}
        }
    }
}

fn unnamed(columns: Option<Vec<String>>, alias: Option<&ast::TableAlias>) -> Source {
    let complete = columns.is_some();
    let columns = columns.unwrap_or_default().into_iter().zip(1..).collect();
    let mut source = Source { alias: String::new(), need: None, columns, complete };
    source.rename(alias);
    source
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::CrossJoin(c) => Some(c),
        _ => None,
    }
}

/// Whether a column gets its default in some row of VALUES, though it is named.
fn is_default(insert: &ast::Insert, named: &[String], column: &str) -> bool {
    let Some(SetExpr::Values(values)) = insert.source.as_deref().map(|query| &*query.body) else {
        return false;
    };
    let place = named.iter().position(|name| name == column);
    let is_word = |expr: &Expr| {
        matches!(expr, Expr::Identifier(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
    };
    values.rows.iter().any(|row| match place {
        Some(place) => row.content.get(place).is_none_or(is_word),
        None => row.content.iter().any(is_word),
    })
}

impl Visitor for Visiting<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        if matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)) {
            self.scopes.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut scope = Scope::default();
        if self.inserted == Some(std::ptr::from_ref(query)) {
            scope.closed = true;
        }
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = fold(&cte.alias.name);
            let mut columns = output_names(&cte.query);
            for (at, column) in cte.alias.columns.iter().enumerate() {
                if let Some(own) = columns.as_mut().and_then(|columns| columns.get_mut(at)) {
                    *own = fold(&column.name);
                }
            }
            match query.with.as_ref().is_some_and(|with| with.recursive) {
                true => scope.ctes.push((name, columns)),
                false => scope.pending.push((std::ptr::from_ref(&*cte.query), name, columns)),
            }
        }
        if !query.locks.is_empty() {
            let of = query.locks.iter().filter_map(lock_words::of);
            scope.locks = Some(of.map(fold).collect());
        }
        self.scopes.push(scope);
        self.table_bodies(&query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut() {
            let this = std::ptr::from_ref(query);
            if let Some(at) = outer.pending.iter().position(|pending| pending.0 == this) {
                let (_, name, columns) = outer.pending.remove(at);
                outer.ctes.push((name, columns));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let sources = self.sources(&select.from, Privileges::SELECT);
        if let Some(of) = self.scope().locks.clone() {
            self.lock(&sources, &of);
        }
        self.scopes.push(Scope { sources, ..Scope::default() });
        self.join_columns(&select.from);
        self.items(&select.projection);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        if let Some(scope) = self.scopes.pop() {
            // ORDER BY stands outside and sees the same.
            self.scope().sources.extend(scope.sources);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        // Whatever FROM may hold that `factors` does not know: every relation is asked for.
        if self.cte(name).is_none()
            && let Some(Ok(bare)) = relation_name(name)
            && !self.needs.iter().any(|need| need.relation == bare)
        {
            self.relation(name, Privileges::SELECT);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.name(&fold(name)),
            Expr::CompoundIdentifier(names) => self.qualified(names),
            Expr::QualifiedWildcard(name, _) => self.wildcard_of(name),
            Expr::Function(function) => {
                let FunctionArguments::List(list) = &function.args else {
                    return ControlFlow::Continue(());
                };
                for argument in &list.args {
                    let (FunctionArg::Unnamed(argument)
                    | FunctionArg::Named { arg: argument, .. }
                    | FunctionArg::ExprNamed { arg: argument, .. }) = argument;
                    if let FunctionArgExpr::QualifiedWildcard(name) = argument {
                        self.wildcard_of(name);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
