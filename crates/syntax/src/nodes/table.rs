//! How a kind of node, and a set of choices, is declared: by PostgreSQL's names, offsets and numbers.
//!
//! `build/layout.rs` reads the same declarations and has the C compiler assert them against PostgreSQL's headers: sizes, offsets, the type of
//! each field, tags and numbers. A field's kind says what it is:
//!
//! | kind | in C | in Rust |
//! |---|---|---|
//! | `node` | `Node *` | `Option<Node>` |
//! | `(T)` | `T *` | `Option<T>` |
//! | `nodes` | `List *` of any nodes | `Nodes` |
//! | `[T]` | `List *` of `T` alone | `List<T>` |
//! | `literal` | the value of a constant | `Literal` |
//! | `{E}` | an enum | the enum `E` |
//! | `text` | `char *` | `Option<&str>` |
//! | `location` | a place in bytes, -1 where there is none | `Option<usize>` |
//! | `flag`, `byte`, `short`, `int`, `bits`, `long` | numbers | `bool`, `u8`, `i16`, `i32`, `u32`, `i64` |

/// The Rust type of a field.
macro_rules! kind {
    ($t:lifetime, node) => { Option<$crate::Node<$t>> };
    ($t:lifetime, nodes) => { $crate::Nodes<$t> };
    ($t:lifetime, literal) => { $crate::Literal<$t> };
    ($t:lifetime, text) => { Option<&$t str> };
    ($t:lifetime, location) => { Option<usize> };
    ($t:lifetime, flag) => { bool };
    ($t:lifetime, byte) => { u8 };
    ($t:lifetime, short) => { i16 };
    ($t:lifetime, int) => { i32 };
    ($t:lifetime, bits) => { u32 };
    ($t:lifetime, long) => { i64 };
    ($t:lifetime, ($node:ident)) => { Option<$node<$t>> };
    ($t:lifetime, [$node:ident]) => { $crate::List<$t, $node<$t>> };
    ($t:lifetime, {$choice:ident}) => { $choice };
}

/// Reads a field.
macro_rules! read {
    (node, $raw:expr, $offset:literal) => {
        $raw.node($offset)
    };
    (nodes, $raw:expr, $offset:literal) => {
        $raw.nodes($offset)
    };
    (literal, $raw:expr, $offset:literal) => {
        $raw.literal($offset)
    };
    (text, $raw:expr, $offset:literal) => {
        $raw.text($offset)
    };
    (location, $raw:expr, $offset:literal) => {
        usize::try_from($raw.get::<i32>($offset)).ok()
    };
    (($node:ident), $raw:expr, $offset:literal) => {
        $raw.only($offset)
    };
    ([$node:ident], $raw:expr, $offset:literal) => {
        $crate::List::new($raw.nodes($offset))
    };
    ({$choice:ident}, $raw:expr, $offset:literal) => {
        $choice::numbered($raw.get($offset))
    };
    ($number:ident, $raw:expr, $offset:literal) => {
        $raw.get($offset)
    };
}

/// A field for those who print a node: see `Field`.
macro_rules! field {
    (node, $value:expr) => {
        $value.map($crate::Field::Node)
    };
    (nodes, $value:expr) => {
        (!$value.is_empty()).then(|| $crate::Field::List($value))
    };
    (literal, $value:expr) => {
        Some($crate::Field::Literal($value))
    };
    (text, $value:expr) => {
        $value.map($crate::Field::Text)
    };
    (location, $value:expr) => {
        $value.map($crate::Field::Location)
    };
    (flag, $value:expr) => {
        $value.then_some($crate::Field::Flag)
    };
    (byte, $value:expr) => {
        ($value != 0).then(|| $crate::Field::Letter($value.into()))
    };
    (($node:ident), $value:expr) => {
        $value.map(|node| $crate::Field::Node(node.into()))
    };
    ([$node:ident], $value:expr) => {
        $crate::nodes::table::field!(nodes, $value.nodes())
    };
    ({$choice:ident}, $value:expr) => {
        Some($crate::Field::Choice($value.name()))
    };
    ($number:ident, $value:expr) => {
        ($value != 0).then(|| $crate::Field::Number($value.into()))
    };
}

/// Shows the nodes of a field, those of a list one by one.
macro_rules! children {
    (node, $value:expr, $see:expr) => {
        if let Some(node) = $value {
            $see(node)
        }
    };
    (nodes, $value:expr, $see:expr) => {
        $value.iter().for_each(&mut *$see)
    };
    (($node:ident), $value:expr, $see:expr) => {
        if let Some(node) = $value {
            $see(node.into())
        }
    };
    ([$node:ident], $value:expr, $see:expr) => {
        $crate::nodes::table::children!(nodes, $value.nodes(), $see)
    };
    ($other:tt, $value:expr, $see:expr) => {};
}

/// Kinds of nodes: `Name: NameInC = tag, size { field: kind = field_in_c @ offset; .. }`.
macro_rules! nodes {
    ($(
        $(#[$doc:meta])*
        $name:ident: $c:ident = $tag:literal, $size:literal {
            $($field:ident: $kind:tt = $cfield:ident @ $offset:literal;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'t>($crate::raw::Raw<'t>);

        impl<'t> $name<'t> {
            pub(crate) const TAG: u32 = $tag;

            $(
                #[doc = concat!("PostgreSQL's `", stringify!($cfield), "`.")]
                pub fn $field(self) -> $crate::nodes::table::kind!('t, $kind) {
                    // SAFETY: the C compiler has asserted that a node with this tag has such a field there.
                    unsafe { $crate::nodes::table::read!($kind, self.0, $offset) }
                }
            )*
        }

        impl<'t> $crate::node::Kind<'t> for $name<'t> {
            const NAME: &'static str = stringify!($name);

            fn of(node: $crate::Node<'t>) -> Option<Self> {
                match node {
                    $crate::Node::$name(node) => Some(node),
                    _ => None,
                }
            }

            unsafe fn new(raw: $crate::raw::Raw<'t>) -> Self {
                $name(raw)
            }

            fn raw(self) -> $crate::raw::Raw<'t> {
                self.0
            }

            #[allow(unused_variables, reason = "some kinds have no nodes below them")]
            fn children(self, see: &mut dyn FnMut($crate::Node<'t>)) {
                $($crate::nodes::table::children!($kind, self.$field(), see);)*
            }

            #[allow(unused_variables, reason = "some kinds have no fields")]
            fn fields(self, see: &mut dyn FnMut(&'static str, $crate::Field<'t>)) {
                $(
                    if let Some(field) = $crate::nodes::table::field!($kind, self.$field()) {
                        see(stringify!($field), field);
                    }
                )*
            }
        }

        impl<'t> From<$name<'t>> for $crate::Node<'t> {
            fn from(node: $name<'t>) -> $crate::Node<'t> {
                $crate::Node::$name(node)
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&$crate::Node::from(*self), f)
            }
        }
    )*};
}

/// Sets of choices, enums of C: `Name { Choice = CHOICE_IN_C, number; .. }`.
macro_rules! choices {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($choice:ident = $c:ident, $number:literal;)* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(
                #[doc = concat!("PostgreSQL's `", stringify!($c), "`.")]
                $choice,
            )*
        }

        impl $name {
            pub(crate) fn numbered(number: u32) -> $name {
                match number {
                    $($number => $name::$choice,)*
                    _ => panic!("{number} is no {}", stringify!($name)),
                }
            }

            /// Its name, as it is written here.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$choice => stringify!($choice),)*
                }
            }
        }
    )*};
}

pub(crate) use {children, choices, field, kind, nodes, read};
