//! What a backslash and what follows it stand for in advanced expressions.

use super::class::Class;
use super::fault::Fault;
use super::lexer::Lexer;
use super::token::{Anchor, Token};

type Result<T> = std::result::Result<T, Fault>;

/// The most that a character's number may be; beyond Unicode it matches nothing.
const MOST_CODE: u32 = 0x7FFF_FFFE;

/// The token of an escape; the backslash is taken, and something follows it.
pub(super) fn escape(lexer: &mut Lexer<'_>) -> Result<Token> {
    let code = lexer.pattern[lexer.at];
    lexer.at += 1;
    let plain = |letter: char| Token::Plain(u32::from(letter));
    let letter = match char::from_u32(code) {
        Some(letter) if letter.is_ascii_alphanumeric() => letter,
        _ => return Ok(Token::Plain(code)),
    };
    Ok(match letter {
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'B' => plain('\\'),
        'e' => plain('\u{1b}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        'A' => Token::Anchor(Anchor::TextStart),
        'Z' => Token::Anchor(Anchor::TextEnd),
        'm' => Token::Anchor(Anchor::WordStart),
        'M' => Token::Anchor(Anchor::WordEnd),
        'y' => Token::Anchor(Anchor::WordEdge),
        'Y' => Token::Anchor(Anchor::NoWordEdge),
        'd' => Token::Class(Class::Digit, false),
        'D' => Token::Class(Class::Digit, true),
        's' => Token::Class(Class::Space, false),
        'S' => Token::Class(Class::Space, true),
        'w' => Token::Class(Class::Word, false),
        'W' => Token::Class(Class::Word, true),
        'c' => {
            let control = *lexer.pattern.get(lexer.at).ok_or(Fault::Escape)?;
            lexer.at += 1;
            Token::Plain(control & 0o37)
        }
        'u' => character(lexer, 4, 4)?,
        'U' => character(lexer, 8, 8)?,
        'x' => character(lexer, 1, 255)?,
        '1'..='9' => reference(lexer)?,
        '0' => {
            lexer.at -= 1;
            octal(lexer)?
        }
        _ => return Err(Fault::Escape),
    })
}

fn character(lexer: &mut Lexer<'_>, least: usize, most: usize) -> Result<Token> {
    let code = digits(lexer, 16, least, most)?;
    if code > MOST_CODE { Err(Fault::Escape) } else { Ok(Token::Plain(code)) }
}

/// A back reference, which one digit always is and several are where there are so many groups; else a character.
fn reference(lexer: &mut Lexer<'_>) -> Result<Token> {
    let behind_first = lexer.at;
    lexer.at -= 1;
    let number = digits(lexer, 10, 1, 255)?;
    let is_known = i32::try_from(number).is_ok_and(|n| n > 0 && n as usize <= lexer.groups);
    if lexer.at == behind_first || is_known {
        return Ok(Token::BackReference(number));
    }
    lexer.at = behind_first - 1;
    octal(lexer)
}

fn octal(lexer: &mut Lexer<'_>) -> Result<Token> {
    let code = digits(lexer, 8, 1, 3)?;
    if code <= 0xFF {
        return Ok(Token::Plain(code));
    }
    lexer.at -= 1;
    Ok(Token::Plain(code >> 3))
}

/// A number of so many digits.
fn digits(lexer: &mut Lexer<'_>, base: u32, least: usize, most: usize) -> Result<u32> {
    let mut number = 0_u32;
    let mut count = 0;
    while count < most
        && let Some(digit) = lexer.peek().and_then(|letter| letter.to_digit(base))
    {
        number = number.wrapping_mul(base).wrapping_add(digit);
        lexer.at += 1;
        count += 1;
    }
    if count < least { Err(Fault::Escape) } else { Ok(number) }
}
