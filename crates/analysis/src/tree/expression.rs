//! Expressions.

use std::sync::Arc;

use crate::error::{Location, NOWHERE};
use crate::facts::{CastContext, FunctionRow, Oid, OperatorRow};

use super::{Query, SortKey};

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it computes.
    pub kind: ExpressionKind,
    /// Its type.
    pub type_oid: Oid,
    /// Its type's modifier; -1 where there is none.
    pub typmod: i32,
    /// Its collation; 0 where its type has none.
    pub collation: Oid,
    /// Where it begins in the text, in bytes.
    pub location: Location,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.type_oid == other.type_oid
            && self.typmod == other.typmod
            && self.collation == other.collation
            && self.kind == other.kind
    }
}

/// A row of `pg_proc`; equal where the OIDs are.
#[derive(Clone, Copy, Debug)]
pub struct FunctionRef(pub &'static FunctionRow);

impl PartialEq for FunctionRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.oid == other.0.oid
    }
}

/// A row of `pg_operator`; equal where the OIDs are.
#[derive(Clone, Copy, Debug)]
pub struct OperatorRef(pub &'static OperatorRow);

impl PartialEq for OperatorRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.oid == other.0.oid
    }
}

/// A column: of which level, range table entry and column of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// How many queries out.
    pub levels: usize,
    /// The entry of that query's range table, from 0.
    pub entry: usize,
    /// The column of the entry, from 1; 0 for the whole row, negative for system columns.
    pub number: i16,
}

/// A constant's value, before the type's input function made bytes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// NULL.
    Null,
    /// TRUE, FALSE.
    Boolean(bool),
    /// A number or a text, as it was written.
    Text(Box<str>),
}

/// How a cast came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastForm {
    /// It was written.
    Explicit,
    /// By itself.
    Implicit,
}

/// What a cast does.
#[derive(Clone, Debug, PartialEq)]
pub enum CastVia {
    /// Calls a function, with the typmod and whether it was written, where the function asks for them.
    Function(FunctionRef),
    /// Nothing: the bytes stay.
    Relabel,
    /// Writes and reads the text form.
    Text,
    /// Each element of an array.
    Elements(Box<CastVia>),
    /// Checks a domain's constraints.
    Domain,
    /// The columns of a row become those of another.
    Row,
}

/// A call of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The aggregate.
    pub function: FunctionRef,
    /// Arguments before WITHIN GROUP.
    pub direct: Vec<Expression>,
    /// Arguments over rows; none of `count(*)`.
    pub arguments: Vec<Expression>,
    /// ORDER BY, as places in `arguments`.
    pub order: Vec<SortKey>,
    /// How many of `arguments` are there for ORDER BY alone.
    pub junk: usize,
    /// DISTINCT.
    pub is_distinct: bool,
    /// FILTER.
    pub filter: Option<Box<Expression>>,
    /// How many queries out it belongs.
    pub levels: usize,
}

/// A call of a window function.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The function or aggregate.
    pub function: FunctionRef,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// FILTER.
    pub filter: Option<Box<Expression>>,
    /// The place of its window among the query's.
    pub window: usize,
}

/// How a subquery is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// EXISTS.
    Exists,
    /// ALL.
    All,
    /// ANY, IN.
    Any,
    /// A row compared with the subquery's.
    RowComparison,
    /// The value of its one column.
    Scalar,
    /// All its columns, assigned in UPDATE.
    Multiple,
    /// ARRAY(..).
    Array,
}

/// A test of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// IS NULL.
    Null,
    /// IS NOT NULL.
    NotNull,
    /// IS TRUE.
    True,
    /// IS NOT TRUE.
    NotTrue,
    /// IS FALSE.
    False,
    /// IS NOT FALSE.
    NotFalse,
    /// IS UNKNOWN.
    Unknown,
    /// IS NOT UNKNOWN.
    NotUnknown,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A constant.
    Constant(Constant),
    /// A column.
    Column(Column),
    /// A parameter, from 1.
    Parameter(usize),
    /// A call of a function; fewer arguments than it takes where the last have defaults.
    Call {
        /// The function.
        function: FunctionRef,
        /// Its arguments.
        arguments: Vec<Expression>,
        /// Whether the last argument is the array of a variadic function.
        is_variadic: bool,
    },
    /// An argument that was left out: its place among the function's.
    ArgumentDefault(usize),
    /// An argument by name.
    Named(Arc<str>, usize, Box<Expression>),
    /// An operator and its operands.
    Operator(OperatorRef, Vec<Expression>),
    /// IS DISTINCT FROM, by the equality of an operator.
    Distinct(OperatorRef, Box<[Expression; 2]>),
    /// NULLIF, by the equality of an operator.
    NullIf(OperatorRef, Box<[Expression; 2]>),
    /// A value compared with each element of an array: any of them, or all.
    Elements {
        /// The comparison.
        operator: OperatorRef,
        /// Whether one is enough.
        is_any: bool,
        /// The value and the array.
        operands: Box<[Expression; 2]>,
    },
    /// Rows compared from the left to the right.
    RowComparison {
        /// One per column.
        operators: Vec<OperatorRef>,
        /// The left row.
        left: Vec<Expression>,
        /// The right row.
        right: Vec<Expression>,
    },
    /// AND.
    And(Vec<Expression>),
    /// OR.
    Or(Vec<Expression>),
    /// NOT.
    Not(Box<Expression>),
    /// IS NULL, IS TRUE and the like.
    Test(Test, Box<Expression>),
    /// CASE.
    Case {
        /// What each WHEN is compared with.
        operand: Option<Box<Expression>>,
        /// Conditions and results.
        whens: Vec<(Expression, Expression)>,
        /// ELSE.
        otherwise: Box<Expression>,
    },
    /// In a condition of CASE, its operand.
    CaseOperand,
    /// COALESCE.
    Coalesce(Vec<Expression>),
    /// GREATEST, or LEAST.
    Extreme {
        /// Which.
        is_greatest: bool,
        /// Values.
        arguments: Vec<Expression>,
    },
    /// ARRAY[..].
    Array {
        /// Elements, or arrays of the same type.
        elements: Vec<Expression>,
        /// Whether `elements` are arrays.
        is_nested: bool,
    },
    /// ROW(..).
    Row(Vec<Expression>),
    /// CURRENT_DATE and the like, by their names.
    Session(&'static str),
    /// A subquery.
    Link {
        /// How it is used.
        kind: LinkKind,
        /// What is compared with its columns, which are [`ExpressionKind::LinkColumn`]s there.
        test: Option<Box<Expression>>,
        /// The subquery.
        query: Box<Query>,
    },
    /// In the test of a subquery, one of its columns from 1.
    LinkColumn(usize),
    /// A column from 1 of the subquery that an assignment of several columns takes its values from, by its place among these.
    Assigned {
        /// Which of the statement's.
        source: usize,
        /// Which column.
        column: usize,
    },
    /// An element or a slice of an array.
    Subscript {
        /// The array.
        array: Box<Expression>,
        /// Upper bounds, or subscripts.
        upper: Vec<Option<Expression>>,
        /// Lower bounds, of slices.
        lower: Vec<Option<Expression>>,
        /// What is assigned there.
        assigned: Option<Box<Expression>>,
    },
    /// A column of a row, from 1.
    Field(Box<Expression>, i16),
    /// A row with some columns replaced, by number.
    FieldAssigned(Box<Expression>, Vec<(i16, Expression)>),
    /// A cast.
    Cast {
        /// What it does.
        via: CastVia,
        /// How it came about.
        form: CastForm,
        /// Where it is allowed.
        context: CastContext,
        /// What is cast.
        operand: Box<Expression>,
    },
    /// COLLATE.
    Collate(Box<Expression>),
    /// An aggregate.
    Aggregate(Box<Aggregate>),
    /// A window function.
    Window(Box<WindowCall>),
    /// GROUPING(..).
    Grouping {
        /// Expressions of GROUP BY.
        arguments: Vec<Expression>,
        /// How many queries out it belongs.
        levels: usize,
    },
    /// DEFAULT in the place of a value.
    Default,
    /// CURRENT OF a cursor.
    CurrentOf(Box<str>),
    /// A function of XML, by its name.
    Xml(&'static str, Vec<Expression>),
}

impl Expression {
    /// Without typmod and collation.
    pub(crate) fn new(kind: ExpressionKind, type_oid: Oid, location: Location) -> Self {
        Self { kind, type_oid, typmod: -1, collation: 0, location }
    }

    pub(crate) fn typmod(mut self, typmod: i32) -> Self {
        self.typmod = typmod;
        self
    }

    pub(crate) fn collation(mut self, collation: Oid) -> Self {
        self.collation = collation;
        self
    }

    /// NULL of a type.
    pub(crate) fn null(type_oid: Oid) -> Self {
        Self::new(ExpressionKind::Constant(Constant::Null), type_oid, NOWHERE)
    }

    /// Whether it is NULL as a constant.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, ExpressionKind::Constant(Constant::Null))
    }
}
