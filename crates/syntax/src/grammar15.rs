//! What the library's grammar, PostgreSQL 18's, takes and PostgreSQL 15's does not.
//!
//! It is refused as PostgreSQL 15 refuses it (42601) where the tree shows it. `tests/differences.txt` lists what the tree does not show.

use crate::nodes::*;
use crate::{List, Literal, Node, SyntaxError, place};

/// What PostgreSQL 15 has never heard of in a text: the first of it, for PostgreSQL stops there.
pub struct Newer<'t> {
    text: &'t str,
    first: Option<Refusal>,
}

struct Refusal {
    /// In bytes; the end of the text where the tree does not tell.
    at: Option<usize>,
    message: String,
    hint: Option<&'static str>,
}

impl<'t> Newer<'t> {
    /// Nothing yet.
    pub fn new(text: &'t str) -> Newer<'t> {
        Newer { text, first: None }
    }

    /// The error of PostgreSQL 15, if there was anything.
    pub fn error(self) -> Option<SyntaxError> {
        let Refusal { at, message, hint } = self.first?;
        let position = at.map(|at| place::character(self.text, at));
        let error = SyntaxError::new(b"42601", message);
        Some(SyntaxError { position, hint: hint.map(str::to_owned), ..error })
    }

    /// Looks at one node of the tree.
    pub fn see(&mut self, node: Node<'_>) {
        match node {
            Node::AConst(constant) => self.number(constant),
            Node::ParamRef(parameter) => self.parameter(parameter),
            Node::TypeCast(cast) => self.typed_parameter(cast),
            Node::DefElem(option) => self.parameter_alone(option.arg()),
            Node::VariableSetStmt(set) => {
                set.args().iter().for_each(|arg| self.parameter_alone(Some(arg)))
            }
            Node::RangeSubselect(select) if select.alias().is_none() => self.alias(select),
            Node::FuncCall(call) => self.at_local(call),
            Node::MergeStmt(merge) => self.merge_returning(merge.returning_clause()),
            Node::MergeWhenClause(when) => self.by_source(when),
            Node::ReturningClause(returning) => self.returning_with(returning),
            Node::Constraint(constraint) => self.constraint(constraint),
            Node::ColumnDef(column) if column.storage_name().is_some() => {
                self.word("STORAGE", column.location());
            }
            Node::GrantRoleStmt(grant) => self.role_options(grant.opt()),
            Node::Other(other) => self.json(other.name()),
            _ => {}
        }
    }

    fn refuse(&mut self, at: Option<usize>, message: String, hint: Option<&'static str>) {
        let is_earlier = self
            .first
            .as_ref()
            .is_none_or(|first| at.is_some_and(|at| first.at.is_none_or(|first| at < first)));
        if is_earlier {
            self.first = Some(Refusal { at, message, hint });
        }
    }

    /// A syntax error at a token.
    fn token(&mut self, at: Option<usize>) {
        let near = at.map(|at| format!(" at or near \"{}\"", place::token(self.text, at)));
        self.refuse(at, format!("syntax error{}", near.unwrap_or_default()), None);
    }

    /// A syntax error at the next such word behind a place.
    fn word(&mut self, word: &str, from: Option<usize>) {
        self.token(from.and_then(|from| place::word(self.text, word, from)));
    }

    /// `0x1F`, `1_000`: digits with something behind.
    fn number(&mut self, constant: AConst<'_>) {
        let (Literal::Integer(_) | Literal::Number(_), Some(at)) =
            (constant.value(), constant.location())
        else {
            return;
        };
        // The grammar gives a negative constant the place of its sign.
        let rest = &self.text[at..];
        let at = at + (rest.len() - rest.trim_start_matches(['-', '+']).trim_start().len());
        if let Some(junk) = place::number_with_junk(&self.text[at..]) {
            self.refuse(Some(at), junk_behind("numeric literal", junk), None);
        }
    }

    /// `$1a`.
    fn parameter(&mut self, parameter: ParamRef<'_>) {
        let Some(at) = parameter.location() else { return };
        if let Some(junk) = place::parameter_with_junk(&self.text[at..]) {
            self.refuse(Some(at), junk_behind("parameter", junk), None);
        }
    }

    /// `interval $1`: the library takes a parameter in the place of some strings.
    fn typed_parameter(&mut self, cast: TypeCast<'_>) {
        let name = cast.type_name().and_then(TypeName::location);
        if let (Some(Node::ParamRef(parameter)), Some(name)) = (cast.arg(), name)
            && parameter.location().is_some_and(|at| name < at)
        {
            self.token(parameter.location());
        }
    }

    fn parameter_alone(&mut self, node: Option<Node<'_>>) {
        if let Some(Node::ParamRef(parameter)) = node {
            self.token(parameter.location());
        }
    }

    /// `FROM (SELECT 1)`.
    fn alias(&mut self, select: RangeSubselect<'_>) {
        let is_values = matches!(select.subquery(), Some(Node::SelectStmt(query)) if !query.values_lists().is_empty());
        let (what, hint) = if is_values {
            ("VALUES", "For example, FROM (VALUES ...) [AS] foo.")
        } else {
            ("subquery", "For example, FROM (SELECT ...) [AS] foo.")
        };
        let first = select.subquery().and_then(first_place);
        let at = first.and_then(|first| place::query_in_parentheses(self.text, first));
        self.refuse(at, format!("{what} in FROM must have an alias"), Some(hint));
    }

    /// `x AT LOCAL`.
    fn at_local(&mut self, call: FuncCall<'_>) {
        let is_timezone =
            call.funcname().iter().last().and_then(StringValue::value) == Some("timezone");
        if is_timezone && call.funcformat() == CoercionForm::SqlSyntax && call.args().len() == 1 {
            self.word("LOCAL", call.args().first().and_then(first_place));
        }
    }

    fn merge_returning(&mut self, returning: Option<ReturningClause<'_>>) {
        if let Some(returning) = returning {
            let first = returning.exprs().first().and_then(ResTarget::location);
            self.token(first.and_then(|first| place::word_before(self.text, "RETURNING", first)));
        }
    }

    fn by_source(&mut self, when: MergeWhenClause<'_>) {
        if when.match_kind() == MergeMatchKind::NotMatchedBySource {
            self.token(None);
        }
    }

    fn returning_with(&mut self, returning: ReturningClause<'_>) {
        if let Some(option) = returning.options().first() {
            let at = option.location();
            self.token(at.and_then(|at| place::word_before(self.text, "WITH", at)));
        }
    }

    fn constraint(&mut self, constraint: Constraint<'_>) {
        match constraint.contype() {
            ConstrType::AttrEnforced => self.token(constraint.location()),
            ConstrType::AttrNotEnforced => self.word("ENFORCED", constraint.location()),
            ConstrType::Generated if constraint.generated_kind() == b'v' => {
                self.word("VIRTUAL", constraint.location());
            }
            ConstrType::Notnull if !constraint.keys().is_empty() => {
                self.word("NOT", constraint.location())
            }
            _ if constraint.without_overlaps() => self.word("WITHOUT", constraint.location()),
            _ if constraint.fk_with_period() => self.word("PERIOD", constraint.location()),
            _ => {}
        }
    }

    /// PostgreSQL 15 knows ADMIN OPTION alone.
    fn role_options(&mut self, options: List<'_, DefElem<'_>>) {
        let newer = |option: &DefElem<'_>| option.defname() != Some("admin");
        if let Some(option) = options.iter().find(newer) {
            self.token(option.location());
        }
    }

    /// Calls of functions of JSON are ordinary calls to PostgreSQL 15; what it cannot read as such has a kind of its own.
    fn json(&mut self, kind: &str) {
        if matches!(kind, "JsonTable" | "JsonIsPredicate" | "JsonArrayQueryConstructor") {
            self.token(None);
        }
    }
}

/// The first place that a node below tells, in bytes.
fn first_place(node: Node<'_>) -> Option<usize> {
    let places = node.descendants().filter_map(|node| match node {
        Node::ResTarget(target) => target.location(),
        Node::AConst(constant) => constant.location(),
        Node::ColumnRef(column) => column.location(),
        Node::RangeVar(relation) => relation.location(),
        Node::FuncCall(call) => call.location(),
        Node::WithClause(with) => with.location(),
        _ => None,
    });
    places.min()
}

/// Beginnings of messages to which PostgreSQL 15 adds no position.
const WITHOUT_POSITION: [&str; 4] = [
    "CREATE ASSERTION is not yet implemented",
    "SKIP LOCKED and WITH TIES options cannot be used together",
    "WITH TIES cannot be specified without ORDER BY clause",
    "unrecognized partitioning strategy",
];

/// An error of the library in PostgreSQL 15's words, whose scanner knows no digits but decimal ones.
pub fn in_words_of_15(text: &str, error: SyntaxError) -> SyntaxError {
    let starts = |start: &&str| error.message.starts_with(*start);
    if WITHOUT_POSITION.iter().any(starts) {
        return SyntaxError { position: None, ..error };
    }
    let of_digits =
        ["invalid hexadecimal integer", "invalid octal integer", "invalid binary integer"];
    let at = error.position.map(|position| place::byte(text, position));
    let junk = at.and_then(|at| place::number_with_junk(&text[at..]));
    match junk.filter(|_| of_digits.iter().any(starts)) {
        Some(junk) => SyntaxError { message: junk_behind("numeric literal", junk), ..error },
        None => error,
    }
}

fn junk_behind(what: &str, junk: &str) -> String {
    format!("trailing junk after {what} at or near \"{junk}\"")
}
