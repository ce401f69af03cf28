//! Nodes of any kind.

use std::fmt;

use crate::list::{self, Nodes};
use crate::nodes::*;
use crate::raw::Raw;
use crate::{Literal, library};

/// What all kinds of nodes offer.
pub trait Kind<'t>: Copy + Into<Node<'t>> {
    /// Its name, as it is written here.
    const NAME: &'static str;

    /// The node, if it is of this kind.
    fn of(node: Node<'t>) -> Option<Self>;

    /// # Safety
    /// It is a node of this kind.
    unsafe fn new(raw: Raw<'t>) -> Self;

    /// Where it lies.
    fn raw(self) -> Raw<'t>;

    /// Shows the nodes that its fields point to, in PostgreSQL's order; those of a list one by one.
    fn children(self, see: &mut dyn FnMut(Node<'t>));

    /// Shows the fields that are there: numbers but zero, flags that are set.
    fn fields(self, see: &mut dyn FnMut(&'static str, Field<'t>));
}

/// A field of a node.
#[derive(Clone, Copy)]
pub enum Field<'t> {
    /// A node.
    Node(Node<'t>),
    /// A list that is not empty.
    List(Nodes<'t>),
    /// The value of a constant.
    Literal(Literal<'t>),
    /// A name or another text.
    Text(&'t str),
    /// A place in the statement's text, in bytes.
    Location(usize),
    /// A flag that is set.
    Flag,
    /// A letter that stands for a choice.
    Letter(char),
    /// A number but zero.
    Number(i64),
    /// A choice of an enum.
    Choice(&'static str),
}

/// A node of a kind that has no view here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Other(u32);

impl Other {
    /// PostgreSQL's name of the kind.
    pub fn name(self) -> &'static str {
        library::tag_name(self.0)
    }
}

macro_rules! node {
    ($($name:ident,)*) => {
        /// A node of a tree. It is a pointer and a kind: copied freely, and valid as long as the tree.
        #[derive(Clone, Copy)]
        pub enum Node<'t> {
            $(
                #[doc = concat!("A [`", stringify!($name), "`].")]
                $name($name<'t>),
            )*
            /// A list within a list, or in the place of a node.
            List(Nodes<'t>),
            /// Any other kind.
            Other(Other),
        }

        impl<'t> Node<'t> {
            /// # Safety
            /// It is a node of a tree.
            pub(crate) unsafe fn new(raw: Raw<'t>) -> Node<'t> {
                // SAFETY: the tag says what it is.
                unsafe {
                    match raw.tag() {
                        $($name::TAG => Node::$name(Kind::new(raw)),)*
                        list::TAG => Node::List(Nodes::new(Some(raw))),
                        other => Node::Other(Other(other)),
                    }
                }
            }

            /// Its kind's name: as it is written here, or PostgreSQL's where there is no view of it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Node::$name(_) => $name::NAME,)*
                    Node::List(_) => "List",
                    Node::Other(other) => other.name(),
                }
            }

            /// Shows the nodes right below it; those of a list one by one.
            pub fn children(self, see: &mut dyn FnMut(Node<'t>)) {
                match self {
                    $(Node::$name(node) => Kind::children(node, see),)*
                    Node::List(nodes) => nodes.iter().for_each(see),
                    Node::Other(_) => {}
                }
            }

            /// Where it lies: no two nodes share a place, but a list that is not there.
            fn place(self) -> Option<*const std::ffi::c_void> {
                match self {
                    $(Node::$name(node) => Some(node.raw().place()),)*
                    Node::List(nodes) => nodes.place(),
                    Node::Other(_) => None,
                }
            }

            /// Shows the fields that are there.
            pub fn fields(self, see: &mut dyn FnMut(&'static str, Field<'t>)) {
                match self {
                    $(Node::$name(node) => Kind::fields(node, see),)*
                    Node::List(_) | Node::Other(_) => {}
                }
            }
        }
    };
}

node! {
    IntegerValue,
    FloatValue,
    BooleanValue,
    StringValue,
    BitStringValue,
    AConst,
    AStar,
    TypeName,
    DefElem,
    Alias,
    RoleSpec,
    RawStmt,
    SelectStmt,
    ResTarget,
    SortBy,
    WindowDef,
    LockingClause,
    WithClause,
    CommonTableExpr,
    CTESearchClause,
    CTECycleClause,
    GroupingSet,
    IntoClause,
    RangeVar,
    RangeSubselect,
    RangeFunction,
    RangeTableSample,
    RangeTableFunc,
    RangeTableFuncCol,
    JoinExpr,
    InsertStmt,
    OnConflictClause,
    InferClause,
    UpdateStmt,
    DeleteStmt,
    MergeStmt,
    MergeWhenClause,
    ReturningClause,
    ReturningOption,
    MultiAssignRef,
    SetToDefault,
    CurrentOfExpr,
    ColumnRef,
    ParamRef,
    AExpr,
    BoolExpr,
    TypeCast,
    CollateClause,
    SubLink,
    NullTest,
    BooleanTest,
    CaseExpr,
    CaseWhen,
    AIndices,
    AIndirection,
    AArrayExpr,
    RowExpr,
    FuncCall,
    NamedArgExpr,
    CoalesceExpr,
    MinMaxExpr,
    SqlValueFunction,
    GroupingFunc,
    XmlExpr,
    XmlSerialize,
    TransactionStmt,
    VariableSetStmt,
    VariableShowStmt,
    PrepareStmt,
    ExecuteStmt,
    DeallocateStmt,
    DeclareCursorStmt,
    FetchStmt,
    ClosePortalStmt,
    ListenStmt,
    NotifyStmt,
    UnlistenStmt,
    LockStmt,
    DiscardStmt,
    ConstraintsSetStmt,
    GrantStmt,
    ObjectWithArgs,
    FunctionParameter,
    AccessPriv,
    GrantRoleStmt,
    AlterDefaultPrivilegesStmt,
    CreateRoleStmt,
    AlterRoleStmt,
    AlterRoleSetStmt,
    DropRoleStmt,
    ReassignOwnedStmt,
    DropOwnedStmt,
    CreateStmt,
    ColumnDef,
    TableLikeClause,
    Constraint,
    PartitionSpec,
    PartitionElem,
    PartitionBoundSpec,
    PartitionCmd,
    AlterTableStmt,
    AlterTableCmd,
    ReplicaIdentityStmt,
    CreateTableAsStmt,
    RefreshMatViewStmt,
    TruncateStmt,
    IndexStmt,
    IndexElem,
    ViewStmt,
    CreateSchemaStmt,
    CreateSeqStmt,
    AlterSeqStmt,
    CreatedbStmt,
    AlterDatabaseStmt,
    AlterDatabaseSetStmt,
    DropdbStmt,
    CreateDomainStmt,
    AlterDomainStmt,
    CreateEnumStmt,
    AlterEnumStmt,
    CompositeTypeStmt,
    DropStmt,
    RenameStmt,
    AlterObjectSchemaStmt,
    AlterOwnerStmt,
    CommentStmt,
    CreateExtensionStmt,
    CopyStmt,
    ExplainStmt,
    VacuumStmt,
    VacuumRelation,
    ReindexStmt,
    ClusterStmt,
    CheckPointStmt,
    CallStmt,
    DoStmt,
    AlterSystemStmt,
}

impl<'t> Node<'t> {
    /// What stands to the left in a chain: of operators, casts, COLLATE, tests, joins, set operations. Chains grow to the left without
    /// bound, so whoever walks a tree by recursion goes down them by iteration.
    pub fn left(self) -> Option<Node<'t>> {
        match self {
            Node::SelectStmt(select) => select.larg().map(Node::from),
            Node::JoinExpr(join) => join.larg(),
            Node::AExpr(operator) => operator.lexpr(),
            Node::TypeCast(cast) => cast.arg(),
            Node::CollateClause(collate) => collate.arg(),
            Node::NullTest(test) => test.arg(),
            Node::BooleanTest(test) => test.arg(),
            _ => None,
        }
    }

    /// Whether it is the same node of the same tree.
    pub fn is(self, other: Node<'t>) -> bool {
        self.place().is_some() && self.place() == other.place()
    }

    /// This node and all below it, from the top to the bottom and from the left to the right, by iteration.
    pub fn descendants(self) -> Descendants<'t> {
        Descendants { waiting: vec![self] }
    }
}

/// See [`Node::descendants`].
#[derive(Debug)]
pub struct Descendants<'t> {
    /// The next is the last.
    waiting: Vec<Node<'t>>,
}

impl<'t> Iterator for Descendants<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let node = self.waiting.pop()?;
        let first = self.waiting.len();
        node.children(&mut |child| self.waiting.push(child));
        self.waiting[first..].reverse();
        Some(node)
    }
}

impl fmt::Debug for Node<'_> {
    /// Its outline, see `outline`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::outline::write(f, *self)
    }
}
