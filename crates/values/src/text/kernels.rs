//! The computations of texts by their names in the catalog.

use super::order::unpadded;
use super::part::{of_text, span};
use super::{case, fields, format, letter, like, limit, normal, pad, part, quote, trim};
use crate::argument::kernels;
use crate::bytea::hex_digest;
use crate::error::Result;
use crate::kernel::Kernel;

pub(crate) const KERNELS: &[&[Kernel]] = &[ORDER, PADDED_ORDER, PARTS, ENDS, OTHERS, PATTERNS];

const ORDER: &[Kernel] = kernels! {
    "texteq" => |a: &str, b: &str| a == b;
    "textne" => |a: &str, b: &str| a != b;
    "text_lt" => |a: &str, b: &str| a < b;
    "text_le" => |a: &str, b: &str| a <= b;
    "text_gt" => |a: &str, b: &str| a > b;
    "text_ge" => |a: &str, b: &str| a >= b;
    "text_pattern_lt" => |a: &str, b: &str| a < b;
    "text_pattern_le" => |a: &str, b: &str| a <= b;
    "text_pattern_gt" => |a: &str, b: &str| a > b;
    "text_pattern_ge" => |a: &str, b: &str| a >= b;
    "bttextcmp" => |a: &str, b: &str| a.cmp(b) as i32;
    "bttext_pattern_cmp" => |a: &str, b: &str| a.cmp(b) as i32;
    "text_larger" => |a: &str, b: &str| if a > b { a } else { b };
    "text_smaller" => |a: &str, b: &str| if a < b { a } else { b };
};

const PADDED_ORDER: &[Kernel] = kernels! {
    "bpchareq" => |a: &str, b: &str| unpadded(a) == unpadded(b);
    "bpcharne" => |a: &str, b: &str| unpadded(a) != unpadded(b);
    "bpcharlt" => |a: &str, b: &str| unpadded(a) < unpadded(b);
    "bpcharle" => |a: &str, b: &str| unpadded(a) <= unpadded(b);
    "bpchargt" => |a: &str, b: &str| unpadded(a) > unpadded(b);
    "bpcharge" => |a: &str, b: &str| unpadded(a) >= unpadded(b);
    "bpchar_pattern_lt" => |a: &str, b: &str| unpadded(a) < unpadded(b);
    "bpchar_pattern_le" => |a: &str, b: &str| unpadded(a) <= unpadded(b);
    "bpchar_pattern_gt" => |a: &str, b: &str| unpadded(a) > unpadded(b);
    "bpchar_pattern_ge" => |a: &str, b: &str| unpadded(a) >= unpadded(b);
    "bpcharcmp" => |a: &str, b: &str| unpadded(a).cmp(unpadded(b)) as i32;
    "btbpchar_pattern_cmp" => |a: &str, b: &str| unpadded(a).cmp(unpadded(b)) as i32;
    // Of equal ones the first.
    "bpchar_larger" => |a: &str, b: &str| if unpadded(a) >= unpadded(b) { a } else { b };
    "bpchar_smaller" => |a: &str, b: &str| if unpadded(a) <= unpadded(b) { a } else { b };
};

const PARTS: &[Kernel] = kernels! {
    "textlen" => |a: &str| super::length(a) as i32;
    "textoctetlen" => |a: &str| a.len() as i32;
    "bit_length(text)" => |a: &str| a.len() as i32 * 8;
    "bpcharlen" => |a: &str| super::length(unpadded(a)) as i32;
    "bpcharoctetlen" => |a: &str| a.len() as i32;
    "text_substr" => |a: &str, start: i32, length: i32| part_of(a, start, Some(length));
    "text_substr_no_len" => |a: &str, start: i32| part_of(a, start, None);
    "textoverlay" => |a: &str, b: &str, start: i32, length: i32| part::overlaid(a, b, start, length);
    "textoverlay_no_len" => |a: &str, b: &str, start: i32|
        part::overlaid(a, b, start, super::length(b) as i32);
    "text_left" => |a: &str, count: i32| part::left(a, count);
    "text_right" => |a: &str, count: i32| part::right(a, count);
    "textpos" => |a: &str, b: &str| part::position(a, b);
    "text_starts_with" => |a: &str, b: &str| a.starts_with(b);
    "text_reverse" => |a: &str| a.chars().rev().collect::<String>();
    "split_part" => |a: &str, separator: &str, place: i32| fields::field(a, separator, place);
};

fn part_of(text: &str, start: i32, length: Option<i32>) -> Result<&str> {
    Ok(of_text(text, span(start, length)?))
}

const ENDS: &[Kernel] = kernels! {
    "btrim" => |a: &str, set: &str| trim::both(a, set);
    "btrim1" => |a: &str| trim::both(a, " ");
    "ltrim" => |a: &str, set: &str| trim::start(a, set);
    "ltrim1" => |a: &str| trim::start(a, " ");
    "rtrim" => |a: &str, set: &str| trim::end(a, set);
    "rtrim1" => |a: &str| trim::end(a, " ");
    "lpad" => |a: &str, count: i32, fill: &str| pad::start(a, count, fill);
    "rpad" => |a: &str, count: i32, fill: &str| pad::end(a, count, fill);
    "lpad(text,integer)" => |a: &str, count: i32| pad::start(a, count, " ");
    "rpad(text,integer)" => |a: &str, count: i32| pad::end(a, count, " ");
    "repeat" => |a: &str, count: i32| pad::repeated(a, count);
    "bpchar" => |a: &str, typmod: i32, is_explicit: bool| limit::character(a, typmod, is_explicit);
    "varchar" => |a: &str, typmod: i32, is_explicit: bool| limit::varying(a, typmod, is_explicit);
};

const OTHERS: &[Kernel] = kernels! {
    "textcat" => |a: &str, b: &str| [a, b].concat();
    "upper" => |a: &str| a.to_ascii_uppercase();
    "lower" => |a: &str| a.to_ascii_lowercase();
    "initcap" => |a: &str| case::capitalized(a);
    "text_format_nv" => |a: Option<&str>| a.map(|a| format::format(a, &[])).transpose();
    "unicode_normalize_func" => |a: &str, form: &str| normal::normalized(a, form);
    "unicode_is_normalized" => |a: &str, form: &str|
        normal::normalized(a, form).map(|normal| normal == a);
    "to_ascii_default" => |_a: &str| letter::no_ascii();
    "ascii" => |a: &str| letter::first_code(a);
    "chr" => |code: i32| letter::of_code(code);
    "unistr" => |a: &str| letter::unescaped(a);
    "replace_text" => |a: &str, from: &str, to: &str| fields::replaced(a, from, to);
    "translate" => |a: &str, from: &str, to: &str| fields::translated(a, from, to);
    "quote_ident" => |a: &str| quote::identifier(a);
    "quote_literal" => |a: &str| quote::literal(a);
    "quote_nullable" => |a: Option<&str>| a.map_or_else(|| "NULL".to_owned(), quote::literal);
    "md5_text" => |a: &str| hex_digest(a.as_bytes());
    "textsend" => |a: &str| a.as_bytes();
    "bpcharsend" => |a: &str| a.as_bytes();
    "varcharsend" => |a: &str| a.as_bytes();
};

const PATTERNS: &[Kernel] = kernels! {
    "textlike" => |a: &str, pattern: &str| like::is_like(a, pattern);
    "textnlike" => |a: &str, pattern: &str| like::is_like(a, pattern).map(|is| !is);
    "texticlike" => |a: &str, pattern: &str| is_like_in_any_case(a, pattern);
    "texticnlike" => |a: &str, pattern: &str| is_like_in_any_case(a, pattern).map(|is| !is);
    "like_escape" => |pattern: &str, escape: &str| like::like_escape(pattern, escape);
};

fn is_like_in_any_case(text: &str, pattern: &str) -> Result<bool> {
    like::is_like(&text.to_ascii_lowercase(), &pattern.to_ascii_lowercase())
}
