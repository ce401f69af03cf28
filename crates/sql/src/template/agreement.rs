//! Random texts that PostgreSQL's grammar takes, on which the cache's lexer, the pieces and the parser have to agree.

use std::collections::HashMap;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::lex::{Scratch, scan};
use super::pieces::{Kind, Piece, Pieces};
use super::{lift, parse, plain, tree};

/// What texts are put together from: few, so that many texts have equal keys.
const PARTS: [&str; 58] = [
    " ",
    " ",
    " ",
    "\n",
    "\t",
    "\r",
    "\x0c",
    "\x0b",
    "\u{a0}",
    "--",
    "-- c\r",
    "-- c\n",
    "/*",
    "*/",
    "/* c */",
    "'",
    "''",
    "'a'",
    "'b'",
    "'a'\n'b'",
    "E'",
    "e'\\''",
    "U&'\\0061'",
    "u&",
    "u",
    "&",
    "U&\"a\"",
    "\"",
    "\"a\"",
    "\"A\"",
    "b\"a\"",
    "b'1'",
    "x'f'",
    "x'\\'",
    "n'a'",
    "$$",
    "$a$",
    "$1",
    "$",
    "a",
    "c",
    "b",
    "t",
    "1",
    "2",
    "5000000000",
    "9223372036854775808",
    "1.5",
    "1.25",
    "1e3",
    ".5",
    "1a",
    "#",
    "+",
    "-",
    "*",
    ",",
    "\\",
];

/// By what a text's literals are: a text that came first, and what the parser made of it.
type ByParts = HashMap<Vec<(usize, String)>, (String, String)>;

/// What a statement begins with, so that many of them parse.
const STARTS: [&str; 4] = ["select ", "select a from t where b = ", "delete from t ", ""];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn text(&mut self) -> String {
        let mut text = STARTS[self.below(STARTS.len())].to_owned();
        for _ in 0..1 + self.below(5) {
            text.push_str(PARTS[self.below(PARTS.len())]);
        }
        text
    }
}

/// What a text means, the values of its lifted literals aside; `None` where it is none.
fn meaning(text: &str) -> Option<(String, Vec<(usize, String)>)> {
    let plain = plain(text).ok()?;
    let mut statements = parse(&plain).ok().filter(|statements| statements.len() == 1)?;
    let lifted = lift(&plain, statements.remove(0));
    let kept = lifted.source?.kept.into_iter().map(|(at, text)| (at, text.into()));
    // Parts have no other letter in both cases outside quotes.
    Some((lifted.text.replace('U', "u"), kept.collect()))
}

/// Strings and quoted names as the parser's lexer has them.
fn quoted_by_parser(plain: &str) -> Option<Vec<String>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, plain).tokenize().ok()?;
    let quoted = tokens.into_iter().filter_map(|token| match token {
        Token::SingleQuotedString(text) => Some(text.replace('\'', "''")),
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.replace('"', "\"\"")),
        _ => None,
    });
    Some(quoted.collect())
}

fn quoted_by_pieces(plain: &str) -> Vec<String> {
    let quoted = |piece: &Piece| matches!(piece.kind, Kind::String | Kind::Name);
    let inside = |piece: Piece| plain[piece.start + 1..piece.end - 1].to_owned();
    Pieces::of(plain).filter(quoted).map(inside).collect()
}

/// A comment ends an operator in PostgreSQL and in pieces; the parser takes its first characters for more of the operator.
fn has_operator_before_comment(text: &str) -> bool {
    let mut places = text.as_bytes().windows(3);
    let starts = |three: &[u8]| three[1..] == *b"/*" || three[1..] == *b"--";
    places.any(|three| starts(three) && b"+-*/<>=~!@#%^&|`?".contains(&three[0]))
}

#[test]
fn texts_of_one_key_mean_the_same_and_are_cut_alike() {
    let told = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = told.unwrap_or_else(|| chrono::Utc::now().timestamp_micros() as u64);
    println!("SEED={seed}");
    let mut random = Random(seed | 1);
    let mut known: HashMap<Vec<u8>, ByParts> = HashMap::new();
    for _ in 0..60_000 {
        let text = random.text();
        if tree(&text).is_err() {
            continue;
        }
        if !has_operator_before_comment(&text)
            && let Ok(plain) = plain(&text)
            && let Some(by_parser) = quoted_by_parser(&plain)
        {
            assert_eq!(quoted_by_pieces(&plain), by_parser, "{text:?} {plain:?}");
        }
        let mut scratch = Scratch::default();
        if !scan(&text, &mut scratch) {
            continue;
        }
        // A text with a key is as it is.
        let Some((shape, kept)) = meaning(&text) else { continue };
        let known = known.entry(scratch.key).or_default();
        let (other, text_of_other) = known.entry(kept).or_insert((shape.clone(), text.clone()));
        assert_eq!(*other, shape, "{text:?} and {text_of_other:?}");
    }
}
