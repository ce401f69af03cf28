//! Classes of characters by name, and the names of single characters; in collation C.

use super::set::Set;

/// A class of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
    Word,
}

impl Class {
    /// The class that `[:name:]` names.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "alnum" => Self::Alnum,
            "alpha" => Self::Alpha,
            "ascii" => Self::Ascii,
            "blank" => Self::Blank,
            "cntrl" => Self::Cntrl,
            "digit" => Self::Digit,
            "graph" => Self::Graph,
            "lower" => Self::Lower,
            "print" => Self::Print,
            "punct" => Self::Punct,
            "space" => Self::Space,
            "upper" => Self::Upper,
            "xdigit" => Self::Xdigit,
            "word" => Self::Word,
            _ => return None,
        })
    }

    /// Its characters; with either case of letters, `lower` and `upper` are both all of them.
    pub(super) fn set(self, is_any_case: bool) -> Set {
        let of = |is: fn(&u8) -> bool| Set::of_ascii(|byte| is(&byte));
        match self {
            Self::Alnum => of(u8::is_ascii_alphanumeric),
            Self::Lower | Self::Upper if is_any_case => of(u8::is_ascii_alphabetic),
            Self::Alpha => of(u8::is_ascii_alphabetic),
            Self::Ascii => Set::range(0, 0x7F),
            Self::Blank => Set::of_ascii(|byte| matches!(byte, b' ' | b'\t')),
            Self::Cntrl => Set::of_ranges(vec![(0, 0x1F), (0x7F, 0x9F)]),
            Self::Digit => of(u8::is_ascii_digit),
            Self::Graph => of(u8::is_ascii_graphic),
            Self::Lower => of(u8::is_ascii_lowercase),
            Self::Print => Set::range(0x20, 0x7E),
            Self::Punct => of(u8::is_ascii_punctuation),
            Self::Space => Set::of_ascii(|byte| byte.is_ascii_whitespace() || byte == 0xB),
            Self::Upper => of(u8::is_ascii_uppercase),
            Self::Xdigit => of(u8::is_ascii_hexdigit),
            Self::Word => Set::of_ascii(is_word),
        }
    }
}

/// Whether a character is of words.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The character that `[.name.]` names.
pub(super) fn of_name(name: &str) -> Option<u32> {
    let mut letters = name.chars();
    if let (Some(only), None) = (letters.next(), letters.next()) {
        return Some(only.into());
    }
    let (_, code) = NAMES.iter().find(|(names, _)| names.split(' ').any(|other| other == name))?;
    Some((*code).into())
}

/// POSIX's names.
const NAMES: &[(&str, u8)] = &[
    ("NUL", 0),
    ("SOH", 1),
    ("STX", 2),
    ("ETX", 3),
    ("EOT", 4),
    ("ENQ", 5),
    ("ACK", 6),
    ("BEL alert", 7),
    ("BS backspace", 8),
    ("HT tab", 9),
    ("LF newline", 10),
    ("VT vertical-tab", 11),
    ("FF form-feed", 12),
    ("CR carriage-return", 13),
    ("SO", 14),
    ("SI", 15),
    ("DLE", 16),
    ("DC1", 17),
    ("DC2", 18),
    ("DC3", 19),
    ("DC4", 20),
    ("NAK", 21),
    ("SYN", 22),
    ("ETB", 23),
    ("CAN", 24),
    ("EM", 25),
    ("SUB", 26),
    ("ESC", 27),
    ("IS4 FS", 28),
    ("IS3 GS", 29),
    ("IS2 RS", 30),
    ("IS1 US", 31),
    ("space", b' '),
    ("exclamation-mark", b'!'),
    ("quotation-mark", b'"'),
    ("number-sign", b'#'),
    ("dollar-sign", b'$'),
    ("percent-sign", b'%'),
    ("ampersand", b'&'),
    ("apostrophe", b'\''),
    ("left-parenthesis", b'('),
    ("right-parenthesis", b')'),
    ("asterisk", b'*'),
    ("plus-sign", b'+'),
    ("comma", b','),
    ("hyphen hyphen-minus", b'-'),
    ("period full-stop", b'.'),
    ("slash solidus", b'/'),
    ("zero", b'0'),
    ("one", b'1'),
    ("two", b'2'),
    ("three", b'3'),
    ("four", b'4'),
    ("five", b'5'),
    ("six", b'6'),
    ("seven", b'7'),
    ("eight", b'8'),
    ("nine", b'9'),
    ("colon", b':'),
    ("semicolon", b';'),
    ("less-than-sign", b'<'),
    ("equals-sign", b'='),
    ("greater-than-sign", b'>'),
    ("question-mark", b'?'),
    ("commercial-at", b'@'),
    ("left-square-bracket", b'['),
    ("backslash reverse-solidus", b'\\'),
    ("right-square-bracket", b']'),
    ("circumflex circumflex-accent", b'^'),
    ("underscore low-line", b'_'),
    ("grave-accent", b'`'),
    ("left-brace left-curly-bracket", b'{'),
    ("vertical-line", b'|'),
    ("right-brace right-curly-bracket", b'}'),
    ("tilde", b'~'),
    ("DEL", 0x7F),
];
