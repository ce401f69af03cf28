//! Queries and what they consist of.

use super::super::{
    Command, Conflict, Cte, Expression, Lock, LockWait, Query, SetKind, SetTree, SortKey, Target,
    Window,
};
use super::expression::order_text;
use super::{Printer, columns_text};

impl<'a> Printer<'a> {
    pub(super) fn query(&mut self, query: &'a Query) {
        self.queries.push(query);
        let command = match query.command {
            Command::Select => "select",
            Command::Insert => "insert",
            Command::Update => "update",
            Command::Delete => "delete",
        };
        let target = query.target.map_or(String::new(), |target| format!(" {target}"));
        self.line(&format!("{command}{target}"));
        self.below(|this| this.clauses(query));
        self.queries.pop();
    }

    fn clauses(&mut self, query: &'a Query) {
        query.ctes.iter().for_each(|cte| self.cte(cte));
        self.entries(&query.range_table);
        query.from.iter().for_each(|item| self.source(item));
        if let Some(tree) = &query.set_operation {
            self.set_tree(tree);
        }
        self.optional("where", query.condition.as_ref());
        self.targets("target", &query.targets);
        self.grouped(query);
        self.optional("having", query.having.as_ref());
        for (place, window) in query.windows.iter().enumerate() {
            self.window(place, window);
        }
        let distinct = if query.is_distinct_on { "distinct on" } else { "distinct" };
        self.keys(distinct, &query.distinct);
        self.keys("order", &query.order);
        let ties = if query.with_ties { " with ties" } else { "" };
        self.optional(&format!("limit{ties}"), query.limit.as_ref());
        self.optional("offset", query.offset.as_ref());
        query.locks.iter().for_each(|lock| self.lock(lock));
        if let Some(conflict) = query.conflict.as_deref() {
            self.conflict(conflict);
        }
        for (place, assigned) in query.assigned.iter().enumerate() {
            self.line(&format!("assigned {place}"));
            self.below(|this| this.query(assigned));
        }
        self.targets("returning", &query.returning);
    }

    fn cte(&mut self, cte: &'a Cte) {
        let recursive = if cte.is_recursive { "recursive " } else { "" };
        self.line(&format!("with {recursive}{} ({})", cte.name, columns_text(&cte.columns)));
        self.below(|this| this.query(&cte.query));
    }

    /// Expressions on a line, and below it their subqueries.
    pub(super) fn expressions(&mut self, what: &str, all: &'a [Expression]) {
        let mut queries = Vec::new();
        let texts: Vec<String> = all.iter().map(|one| self.expression(one, &mut queries)).collect();
        self.line(&format!("{what} {}", texts.join(", ")));
        self.below(|this| {
            for (place, query) in queries.into_iter().enumerate() {
                this.line(&format!("subquery {}", place + 1));
                this.below(|this| this.query(query));
            }
        });
    }

    pub(super) fn optional(&mut self, what: &str, expression: Option<&'a Expression>) {
        if let Some(expression) = expression {
            self.expressions(what, std::slice::from_ref(expression));
        }
    }

    fn targets(&mut self, what: &str, targets: &'a [Target]) {
        for (place, target) in targets.iter().enumerate() {
            let junk = if target.is_junk { " (junk)" } else { "" };
            let column = match target.column {
                0 => String::new(),
                number => format!(" into column {number}"),
            };
            let what = format!("{what} {place} {}{column}{junk} =", target.name);
            self.expressions(&what, std::slice::from_ref(&target.expression));
        }
    }

    fn keys(&mut self, what: &str, keys: &[SortKey]) {
        if !keys.is_empty() {
            self.line(&format!("{what} {}", keys_text(keys)));
        }
    }

    fn grouped(&mut self, query: &Query) {
        let distinct = if query.is_group_distinct { "group distinct" } else { "group" };
        self.keys(distinct, &query.groups);
        for set in &query.grouping_sets {
            let places: Vec<String> = set.iter().map(usize::to_string).collect();
            self.line(&format!("grouping set ({})", places.join(", ")));
        }
    }

    fn window(&mut self, place: usize, window: &'a Window) {
        let name = window.name.as_deref().unwrap_or("(no name)");
        self.line(&format!("window {place} {name}: frame {:#x}", window.frame.options));
        self.below(|this| {
            this.keys("partition", &window.partition);
            this.keys("order", &window.order);
            this.optional("from", window.frame.start.as_ref());
            this.optional("to", window.frame.end.as_ref());
        });
    }

    fn lock(&mut self, lock: &Lock) {
        let how = ["key share", "share", "no key update", "update"];
        let how = how.get(usize::from(lock.strength).wrapping_sub(1)).copied().unwrap_or("none");
        let wait = match lock.wait {
            LockWait::Block => "",
            LockWait::Skip => " skip locked",
            LockWait::Fail => " nowait",
        };
        self.line(&format!("lock {} for {how}{wait}", lock.entry));
    }

    fn set_tree(&mut self, tree: &SetTree) {
        match tree {
            SetTree::Member(entry) => self.line(&format!("member {entry}")),
            SetTree::Chain { first, steps } => {
                self.set_tree(first);
                for step in steps {
                    let all = if step.is_all { " all" } else { "" };
                    let kind = match step.kind {
                        SetKind::Union => "union",
                        SetKind::Intersect => "intersect",
                        SetKind::Except => "except",
                    };
                    self.line(&format!("{kind}{all} ({})", columns_text(&step.columns)));
                    self.below(|this| this.set_tree(&step.right));
                }
            }
        }
    }

    fn conflict(&mut self, conflict: &'a Conflict) {
        let what = if conflict.update.is_some() { "update" } else { "nothing" };
        let constraint = conflict.constraint.as_deref().unwrap_or_default();
        self.line(format!("on conflict do {what} {constraint}").trim_end());
        self.below(|this| {
            if !conflict.arbiter.is_empty() {
                this.expressions("arbiter", &conflict.arbiter);
            }
            this.optional("arbiter where", conflict.arbiter_condition.as_ref());
            this.targets("set", conflict.update.as_deref().unwrap_or_default());
            this.optional("where", conflict.condition.as_ref());
        });
    }
}

fn keys_text(keys: &[SortKey]) -> String {
    let key = |key: &SortKey| format!("{}{}", key.target, order_text(key));
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}
