//! Texts by chance: whatever comes in, a tree or an error comes out, and both are sound.

use syntax::{Node, SyntaxError, Tree, parse, parse_bytes};

use super::seeds::seeds;

/// A generator of numbers that is the same everywhere (splitmix64).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("it is below a usize")
    }

    pub fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// What texts are made of: words, operators, comments, all forms of strings, letters of several bytes.
const PIECES: &[&str] = &[
    "select",
    "from",
    "where",
    "a",
    "b",
    "\"C d\"",
    "é",
    "日本",
    "𝕏",
    "1",
    "2.5",
    "1e3",
    ".5",
    "$1",
    "$$x$$",
    "$t$ $$ $t$",
    "'s'",
    "''",
    "'it''s'",
    "E'\\n\\x41\\u00e9'",
    "U&'\\0061'",
    "U&\"d\\0061t\"",
    "N'n'",
    "B'01'",
    "X'1f'",
    "-- c\n",
    "/* /* n */ */",
    "/*",
    "*/",
    "--",
    "\n",
    "\r",
    "\t",
    " ",
    ",",
    ";",
    "(",
    ")",
    "[",
    "]",
    ".",
    "..",
    ":",
    "::",
    ":=",
    "=>",
    "=",
    "<>",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "@>",
    "!~~*",
    "and",
    "or",
    "not",
    "is null",
    "in",
    "between",
    "like",
    "union all",
    "values",
    "insert into",
    "update",
    "set",
    "delete from",
    "returning",
    "with",
    "as",
    "join",
    "on",
    "using",
    "group by",
    "order by",
    "limit",
    "case",
    "when",
    "then",
    "else",
    "end",
    "cast",
    "int",
    "numeric(5,2)",
    "interval '1' day",
    "create table",
    "alter table",
    "grant",
    "to",
    "uescape '!'",
    "'",
    "\"",
    "E'",
    "$",
    "$x$",
    "null",
    "default",
    "over",
    "filter",
    "lateral",
    "array",
    "row",
    "exists",
    "json_object",
    "0x1F",
    "1_000",
    "\\",
    "\u{0}",
    "\u{feff}",
];

fn text(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..chance.below(30) {
        match chance.below(20) {
            0 => text.push(u8::try_from(chance.below(256)).expect("a byte")),
            1..=4 => text.extend(chance.of(PIECES).bytes()),
            _ => text.extend(format!("{} ", chance.of(PIECES)).bytes()),
        }
    }
    text
}

/// Everything of a tree can be read, and statements lie one behind the other.
fn check_tree(text: &str, tree: &Tree) {
    let mut end = 0;
    for statement in tree.statements() {
        assert!(end <= statement.range.start && statement.range.end <= text.len(), "{text:?}");
        end = statement.range.end;
        let alone = &text[statement.range.clone()];
        let again = parse(alone).unwrap_or_else(|error| panic!("{error}: {alone:?}"));
        assert_eq!(again.statements().count(), 1, "{alone:?}");
        let kinds = |node: Node<'_>| node.descendants().map(Node::name).collect::<Vec<_>>();
        let first = again.statements().next().expect("there is one");
        assert_eq!(kinds(statement.node), kinds(first.node), "{alone:?}");
        assert!(!format!("{:?}", statement.node).is_empty());
    }
}

fn check_error(text: &str, error: &SyntaxError) {
    assert!(!error.message.is_empty() && error.sqlstate().len() == 5, "{text:?}: {error:?}");
    let characters = text.chars().count();
    assert!(
        error.position.is_none_or(|position| (1..=characters + 1).contains(&position)),
        "{text:?}: {error:?}"
    );
}

#[test]
fn any_text_gives_a_tree_or_an_error() {
    for seed in seeds("texts") {
        let mut chance = Chance::new(seed);
        let mut taken = 0;
        for _ in 0..10_000 {
            let bytes = text(&mut chance);
            let text = String::from_utf8_lossy(&bytes);
            match parse_bytes(&bytes) {
                Ok(tree) => {
                    check_tree(&text, &tree);
                    taken += 1;
                }
                Err(error) => check_error(&text, &error),
            }
        }
        assert!(taken > 100, "texts are almost never taken: {taken}");
    }
}
