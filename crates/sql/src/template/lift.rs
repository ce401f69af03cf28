//! Literals become parameters, so that statements which differ only in values share one template.
//!
//! In comes a parsed statement, out go the same statement with `$n` for its literals and what the cache needs to
//! find it again from the text alone: which literal tokens were lifted and which had to stay, because they are part of
//! what the statement means (`ORDER BY 1`, `interval '1 day'`, `varchar(10)`).

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, LimitClause, OrderByKind, Query, Select, SelectItem, Statement,
    TableFactor, TimezoneInfo, UnaryOperator, Value, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use engine::types::{Error, Result, SqlState};

use super::lex::{LiteralKind, Scratch, scan};
use super::parse::byte_of;

/// Literals of one statement that are lifted at most; longer statements keep theirs and are not cached.
const LITERAL_LIMIT: usize = 1000;

/// A statement with its literals lifted.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The statement; output columns are named.
    pub statement: Statement,
    /// Parameters that the client wrote itself: `$1` to `$client`.
    pub client: usize,
    /// The literals that became `$client+1` and so on.
    pub literals: Vec<LiftedLiteral>,
    /// Whether the parameter after the last literal is the transaction's start (`now()`).
    pub now: bool,
    /// The statement as text, literals lifted: equal text, equal template.
    pub text: String,
    /// What the lexer made of the text; `None` where the statement must not be cached.
    pub source: Option<Source>,
}

/// How the statement is found again from its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// The lexer's normalised text.
    pub key: Box<[u8]>,
    /// Literal tokens that were not lifted, with their text: another text is another template.
    pub kept: Vec<(usize, Box<str>)>,
}

/// A literal that became a parameter.
#[derive(Clone, Debug)]
pub struct LiftedLiteral {
    /// Its place among the text's literal tokens.
    pub token: usize,
    /// A minus sign went with it.
    pub negative: bool,
    /// What it looks like.
    pub kind: LiteralKind,
    /// Its value as text, without the minus sign.
    pub text: Box<str>,
    /// It counts rows (LIMIT, OFFSET), so it is a `bigint`.
    pub row_count: bool,
}

/// 42P02 for a parameter whose number no Bind message can reach.
pub fn check_parameters(statement: &Statement) -> Result<()> {
    struct Numbers;
    impl Visitor for Numbers {
        type Break = Error;

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Error> {
            let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
            let number = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
            if number.is_some_and(|number: u16| number > 0) {
                return ControlFlow::Continue(());
            }
            let message = format!("there is no parameter {name}");
            ControlFlow::Break(Error::new(SqlState::UndefinedParameter, message))
        }
    }
    match Visit::visit(statement, &mut Numbers) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Lifts the literals of `statement`, whose text is `text`.
pub fn lift(text: &str, mut statement: Statement) -> Lifted {
    let mut survey = Survey::default();
    let _ = Visit::visit(&statement, &mut survey);
    let mut scratch = Scratch::default();
    let scanned = scan(text, &mut scratch) && scratch.literals.len() <= LITERAL_LIMIT;
    let mut lifter = Lifter {
        text,
        scratch: &scratch,
        enabled: scanned,
        survey: &survey,
        literals: Vec::new(),
        now: false,
    };
    let _ = VisitMut::visit(&mut statement, &mut lifter);
    let Lifter { literals, now, .. } = lifter;
    let number = survey.client + literals.len() + 1;
    let _ = VisitMut::visit(&mut statement, &mut NumberNow(number));
    let shape = statement.to_string();
    super::names::name_columns(&mut statement);
    if scanned {
        // A statement whose literals all stay is as long as it is: most of them go into columns as they are.
        super::integers::type_integers(&mut statement);
    }
    let source = scanned.then(|| source_of(text, &scratch, &literals));
    Lifted { statement, client: survey.client, literals, now, text: shape, source }
}

fn source_of(text: &str, scratch: &Scratch, literals: &[LiftedLiteral]) -> Source {
    let lifted: HashSet<usize> = literals.iter().map(|literal| literal.token).collect();
    let tokens = scratch.literals.iter().enumerate();
    let kept = tokens.filter(|(i, _)| !lifted.contains(i));
    Source {
        key: scratch.key.as_slice().into(),
        kept: kept.map(|(i, token)| (i, text[token.start..token.end].into())).collect(),
    }
}

/// First look: the client's parameters and the literals that must stay.
#[derive(Default)]
struct Survey {
    client: usize,
    kept: HashSet<Span>,
    row_counts: HashSet<Span>,
}

impl Survey {
    fn keep<T: Visit>(&mut self, node: &T) {
        let mut literals = Literals::default();
        let _ = Visit::visit(node, &mut literals);
        self.kept.extend(literals.0);
    }

    /// Keeps an expression that is a literal.
    fn keep_literal(&mut self, expr: &Expr) {
        if let Expr::Value(value) = expr {
            self.kept.insert(value.span);
        }
    }

    /// Keeps the literals of grouping or sort expressions; says whether there were any beyond bare positions.
    fn keep_keys<'a>(&mut self, keys: impl Iterator<Item = &'a Expr>) -> bool {
        let mut computed = false;
        for key in keys {
            let plain =
                matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_));
            let before = self.kept.len();
            self.keep(key);
            computed |= !plain && self.kept.len() > before;
        }
        computed
    }

    /// Expressions of the output must stay equal to those of GROUP BY and ORDER BY.
    fn keep_output(&mut self, select: &Select) {
        for item in &select.projection {
            self.keep(item);
        }
        if let Some(having) = &select.having {
            self.keep(having);
        }
    }
}

/// All literals below a node.
#[derive(Default)]
struct Literals(Vec<Span>);

impl Visitor for Literals {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        self.0.push(value.span);
        ControlFlow::Continue(())
    }
}

/// Functions whose literal arguments may become parameters: the others may want a constant.
fn takes_parameters(function: &Function) -> bool {
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()) else {
        return false;
    };
    let name = name.value.to_ascii_lowercase();
    matches!(name.as_str(), "coalesce" | "nullif" | "greatest" | "least" | "lower" | "upper")
}

impl Visitor for Survey {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(keys) = &order.kind
            && self.keep_keys(keys.iter().map(|key| &key.expr))
            && let Some(select) = query.body.as_select()
        {
            self.keep_output(select);
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let counts = limit.iter().chain(offset.iter().map(|offset| &offset.value));
            for count in counts {
                if let Expr::Value(value) = count {
                    self.row_counts.insert(value.span);
                }
            }
        }
        if let Some(fetch) = &query.fetch {
            self.keep(fetch);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(keys, _) = &select.group_by
            && self.keep_keys(keys.iter())
        {
            self.keep_output(select);
        }
        if let Some(distinct) = &select.distinct {
            self.keep(distinct);
        }
        self.keep(&select.named_window);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        // Table functions (`generate_series(1, 10)`) want constants.
        match factor {
            TableFactor::Table { args: Some(args), .. } => self.keep(args),
            TableFactor::Function { args, .. } => self.keep(args),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Interval(_)
            | Expr::Array(_)
            | Expr::SimilarTo { .. }
            | Expr::RLike { .. }
            | Expr::Trim { .. }
            | Expr::Position { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Tuple(_) => self.keep(expr),
            // Their functions are chosen by what their arguments are.
            Expr::AtTimeZone { timestamp, time_zone } => {
                [timestamp, time_zone].into_iter().for_each(|argument| self.keep_literal(argument));
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let given =
                    [Some(expr), Some(overlay_what), Some(overlay_from), overlay_for.as_ref()];
                given.into_iter().flatten().for_each(|argument| self.keep_literal(argument));
            }
            Expr::Cast { data_type, expr, .. } if !liftable_type(data_type) => self.keep(&**expr),
            // It has as many digits as it is written with.
            Expr::Cast { data_type, .. } if numeral(data_type, expr).is_some() => self.keep(expr),
            Expr::TypedString(typed) if numeral(&typed.data_type, expr).is_some() => {
                self.keep(expr);
            }
            Expr::BinaryOp { op, .. } if !liftable_operator(op) => self.keep(expr),
            // Frames count rows with constants; a window's name would change with its literals.
            Expr::Function(function) if function.over.is_some() => self.keep(expr),
            Expr::Function(function) if function.filter.is_some() => self.keep(expr),
            Expr::Function(function) if !takes_parameters(function) => {
                arguments(function).for_each(|argument| self.keep_literal(argument));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &value.value
            && let Ok(number) = name.trim_start_matches('$').parse::<usize>()
        {
            self.client = self.client.max(number);
        }
        ControlFlow::Continue(())
    }
}

fn arguments(function: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// Casts to these take a parameter; `interval`, `regclass` and arrays want to see the constant.
fn liftable_type(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(
        data_type,
        Int(_)
            | Integer(_)
            | Int4(_)
            | BigInt(_)
            | Int8(_)
            | SmallInt(_)
            | Int2(_)
            | Real
            | Float4
            | Float8
            | Double(_)
            | DoublePrecision
            | Date
            | Timestamp(..)
            | Text
            | Varchar(None)
            | CharacterVarying(None)
            | Boolean
            | Bool
            | Numeric(_)
            | Decimal(_)
    )
}

/// The digits of `'1.50'::numeric`, a numeric literal with a type of its own; `None` for what is none, and for numbers with more
/// digits than there is room for.
fn numeral(data_type: &DataType, literal: &Expr) -> Option<ExactNumberInfo> {
    let plain = |info: &ExactNumberInfo| matches!(info, ExactNumberInfo::None);
    if !matches!(data_type, DataType::Numeric(info) | DataType::Decimal(info) if plain(info)) {
        return None;
    }
    let value = match literal {
        Expr::TypedString(typed) => &typed.value.value,
        Expr::Cast { expr, .. } => match &**expr {
            Expr::Value(value) => &value.value,
            _ => return None,
        },
        _ => return None,
    };
    let Value::SingleQuotedString(text) = value else { return None };
    let number = values::numeric::parse(text).ok()?;
    let scale = number.scale()?;
    let digits = number.digits_at(scale)?.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    let precision = digits.max(scale).max(1);
    (precision <= 38).then(|| ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
}

/// JSON, regular-expression and array operators want constants.
fn liftable_operator(op: &datafusion::sql::sqlparser::ast::BinaryOperator) -> bool {
    use datafusion::sql::sqlparser::ast::BinaryOperator::*;
    matches!(
        op,
        Plus | Minus
            | Multiply
            | Divide
            | Modulo
            | StringConcat
            | Gt
            | Lt
            | GtEq
            | LtEq
            | Eq
            | NotEq
            | And
            | Or
            | BitwiseOr
            | BitwiseAnd
    )
}

struct Lifter<'a> {
    text: &'a str,
    scratch: &'a Scratch,
    enabled: bool,
    survey: &'a Survey,
    literals: Vec<LiftedLiteral>,
    now: bool,
}

/// Stands for `now()` until the number of literals is known.
const NOW: &str = "$now";

fn placeholder(name: String) -> Expr {
    Expr::Value(ValueWithSpan { value: Value::Placeholder(name), span: Span::empty() })
}

impl Lifter<'_> {
    /// The place of a literal among the text's literal tokens.
    fn token_at(&self, span: Span) -> Option<usize> {
        let byte = byte_of(self.text, span.start.line, span.start.column);
        self.scratch.literals.binary_search_by_key(&byte, |token| token.start).ok()
    }

    fn lift(&mut self, value: &ValueWithSpan) -> Option<Expr> {
        let text = match &value.value {
            Value::Number(text, _) => text,
            Value::SingleQuotedString(text) => text,
            _ => return None,
        };
        if !self.enabled || self.survey.kept.contains(&value.span) {
            return None;
        }
        let token = self.token_at(value.span)?;
        self.literals.push(LiftedLiteral {
            token,
            negative: false,
            kind: self.scratch.literals[token].kind,
            text: text.as_str().into(),
            row_count: self.survey.row_counts.contains(&value.span),
        });
        Some(placeholder(format!("${}", self.survey.client + self.literals.len())))
    }

    /// `- 5`: the sign goes with the literal just lifted.
    fn negate(&mut self, operand: &Expr) -> Option<Expr> {
        let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), span }) = operand else {
            return None;
        };
        let last = format!("${}", self.survey.client + self.literals.len());
        let literal = self.literals.last_mut()?;
        let number = literal.kind != LiteralKind::String && !literal.negative;
        if *span != Span::empty() || *name != last || !number {
            return None;
        }
        literal.negative = true;
        Some(operand.clone())
    }

    fn clock(&mut self, function: &Function) -> Option<Expr> {
        let [part] = function.name.0.as_slice() else { return None };
        let name = part.as_ident()?.value.to_ascii_lowercase();
        if arguments(function).next().is_some() {
            return None;
        }
        let now = || placeholder(NOW.to_owned());
        let cast = |data_type| Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(now()),
            data_type,
            array: false,
            format: None,
        };

        let expr = match name.as_str() {
            "now" | "current_timestamp" | "transaction_timestamp" | "statement_timestamp" => now(),
            "current_date" | "today" => cast(DataType::Date),
            "localtimestamp" => cast(DataType::Timestamp(None, TimezoneInfo::None)),
            _ => return None,
        };
        self.now = true;
        Some(expr)
    }
}

impl VisitorMut for Lifter<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // `date '2000-01-01'` is a cast of a literal.
        if let Expr::TypedString(typed) = expr
            && liftable_type(&typed.data_type)
        {
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(Expr::Value(typed.value.clone())),
                data_type: typed.data_type.clone(),
                array: false,
                format: None,
            };
        }
        if let Expr::Cast { data_type, .. } = &*expr
            && let Some(digits) = numeral(data_type, expr)
            && let Expr::Cast { data_type, .. } = expr
        {
            *data_type = DataType::Numeric(digits);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let lifted = match expr {
            Expr::Value(value) => self.lift(value),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => self.negate(expr),
            Expr::Function(function) => self.clock(function),
            _ => None,
        };
        if let Some(lifted) = lifted {
            *expr = lifted;
        }
        ControlFlow::Continue(())
    }
}

/// Gives `now()` its number.
struct NumberNow(usize);

impl VisitorMut for NumberNow {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &mut value.value
            && name == NOW
        {
            *name = format!("${}", self.0);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && matches!(expr, Expr::Value(v) if v.value == Value::Placeholder(NOW.to_owned()))
            {
                let alias = datafusion::sql::sqlparser::ast::Ident::new("now");
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::parse;

    fn lifted(text: &str) -> Lifted {
        lift(text, parse(text).unwrap().remove(0))
    }

    #[test]
    fn literals_become_parameters_after_the_clients() {
        let lifted =
            lifted("select a from t where b = 5 and c like '%x%' and d > $1 and e = -2.5 limit 10");
        assert_eq!(
            lifted.text,
            "SELECT a FROM t WHERE b = $2 AND c LIKE $3 AND d > $1 AND e = $4 LIMIT $5"
        );
        assert_eq!(lifted.client, 1);
        let values: Vec<_> = lifted.literals.iter().map(|l| (&*l.text, l.negative)).collect();
        assert_eq!(values, [("5", false), ("%x%", false), ("2.5", true), ("10", false)]);
        assert!(lifted.literals[3].row_count);
    }

    #[test]
    fn what_means_something_stays() {
        let lifted = lifted(
            "select a, 1 + 1, c + 2 from t where d > now() - interval '1 day' group by a, 2, c + 2 order by 1",
        );
        assert!(lifted.text.contains("1 + 1, c + 2"), "{}", lifted.text);
        assert!(lifted.text.contains("$1 - INTERVAL '1 day'"), "{}", lifted.text);
        assert!(lifted.text.contains("ORDER BY 1"), "{}", lifted.text);
        assert!(lifted.now);
        assert_eq!(lifted.source.unwrap().kept.len(), 7);
    }

    #[test]
    fn typed_strings_are_casts() {
        let lifted = lifted("select * from t where d = date '2000-01-01'");
        assert!(lifted.text.contains("CAST($1 AS DATE)"), "{}", lifted.text);
        assert_eq!(lifted.literals.len(), 1);
    }

    #[test]
    fn negative_numbers_after_an_operator_are_subtractions() {
        let lifted = lifted("select a - 5, a * -5 from t where b between -1 and +1");
        assert_eq!(lifted.text, "SELECT a - $1, a * $2 FROM t WHERE b BETWEEN $3 AND +$4");
        let signs: Vec<_> = lifted.literals.iter().map(|l| l.negative).collect();
        assert_eq!(signs, [false, true, true, false]);
    }
}
