//! Regular expressions: all matches with their groups, and where the first one is, for given and for drawn patterns.

use values::datum::Datum;
use values::kernel::{Context, Interrupt, kernel};
use values::regexp;

use crate::cluster::Cluster;
use crate::draw::Draw;

/// What is asked: a text, a pattern, options.
type Question = (String, String, String);

/// Questions that are asked at once.
const BATCH: usize = 4_000;

const ANSWER: &str = "
create function pg_temp.answer(s text, p text, f text) returns text language plpgsql as $$
declare t text; i int; j int;
begin
    select string_agg(coalesce(array_to_string(m, '|', '~'), '~'), '/' order by o) into t
        from regexp_matches(s, p, f) with ordinality as matches(m, o);
    if t is null then return 'N'; end if;
    i := regexp_instr(s, p, 1, 1, 0, replace(f, 'g', ''));
    j := regexp_instr(s, p, 1, 1, 1, replace(f, 'g', ''));
    return 'V' || i || ' ' || j || ' ' || t;
exception when others then return 'E' || sqlstate || ' ' || sqlerrm; end $$;
";

/// The questions that differ, with PostgreSQL's answer and ours.
pub fn differing(cluster: &Cluster, questions: &[Question]) -> Vec<String> {
    let mut differing = Vec::new();
    for batch in questions.chunks(BATCH) {
        let quoted = |text: &String| format!("'{}'", text.replace('\'', "''"));
        let rows: Vec<String> = batch
            .iter()
            .map(|(text, pattern, options)| {
                format!("({}, {}, {})", quoted(text), quoted(pattern), quoted(options))
            })
            .collect();
        let script = format!(
            "set standard_conforming_strings = on;{ANSWER}copy (select pg_temp.answer(s, p, f) from (values {}) as v(s, p, f)) to stdout;\ndrop function pg_temp.answer;\n",
            rows.join(", ")
        );
        let lines = cluster.lines(&script);
        assert_eq!(lines.len(), batch.len(), "PostgreSQL answers every question");
        for (question, line) in batch.iter().zip(&lines) {
            let (theirs, ours) = (crate::comparison::unescaped(line), answer(question));
            if theirs != ours {
                differing.push(format!("{question:?}: PostgreSQL {theirs:?}, we {ours:?}"));
            }
        }
    }
    differing
}

fn answer((text, pattern, options): &Question) -> String {
    let answered = regexp::all(text, pattern, options, Interrupt::default()).and_then(|all| {
        if all.is_empty() {
            return Ok("N".to_owned());
        }
        let group = |group: &Option<String>| group.clone().unwrap_or_else(|| "~".to_owned());
        let joined =
            |groups: &Vec<Option<String>>| groups.iter().map(group).collect::<Vec<_>>().join("|");
        let matches = all.iter().map(joined).collect::<Vec<_>>().join("/");
        let (begin, end) = (place(text, pattern, options, 0)?, place(text, pattern, options, 1)?);
        Ok(format!("V{begin} {end} {matches}"))
    });
    answered.unwrap_or_else(|error| format!("E{} {}", error.sqlstate, error.message))
}

fn place(text: &str, pattern: &str, options: &str, end: i32) -> values::error::Result<i32> {
    let instr = kernel("regexp_instr_no_subexpr").expect("a kernel");
    let arguments = [
        Datum::text(text),
        Datum::text(pattern),
        Datum::Int4(1),
        Datum::Int4(1),
        Datum::Int4(end),
        Datum::text(options.replace('g', "")),
    ];
    match (instr.compute)(&Context::default(), &arguments)? {
        Datum::Int4(place) => Ok(place),
        other => panic!("{other:?} is no place"),
    }
}

/// Given patterns with every option over every given text.
pub fn given() -> Vec<Question> {
    let mut questions = Vec::new();
    for pattern in GIVEN {
        for text in TEXTS {
            for options in ["g", "ig", "ng", "xg", "bg", "qg", "pg", "wg"] {
                questions.push((text.to_string(), pattern.to_string(), options.to_owned()));
            }
        }
    }
    questions
}

/// Drawn questions.
pub fn drawn(seed: u64, count: usize) -> Vec<Question> {
    let mut draw = Draw::new(seed);
    let question = |draw: &mut Draw| {
        let mut pattern = String::new();
        let mut groups = 0;
        push_alternatives(draw, &mut pattern, 3, &mut groups);
        let text: String = (0..draw.below(9))
            .map(|_| draw.one_of(&['a', 'b', 'c', 'A', ' ', '\n', 'a', 'b']))
            .collect();
        let options = draw.one_of(&["g", "", "ig", "ng", "g", "g"]);
        (text, pattern, options.to_owned())
    };
    (0..count).map(|_| question(&mut draw)).collect()
}

fn push_alternatives(draw: &mut Draw, out: &mut String, depth: u32, groups: &mut u32) {
    let branches = if draw.below(3) == 0 { 2 + draw.below(2) } else { 1 };
    for i in 0..branches {
        if i > 0 {
            out.push('|');
        }
        for _ in 0..draw.below(4) {
            push_atom(draw, out, depth, groups);
        }
    }
}

fn push_atom(draw: &mut Draw, out: &mut String, depth: u32, groups: &mut u32) {
    match draw.below(16) {
        0..=5 => out.push(draw.one_of(&['a', 'b', 'c'])),
        6 => out.push('.'),
        7 => out.push_str(draw.one_of(&["[ab]", "[^a]", "\\w", "\\s", "[[:alpha:]]", "\\W"])),
        8 if *groups > 0 => {
            let group = 1 + draw.below(u64::from(*groups));
            out.push_str(&format!("\\{group}"));
        }
        9 => {
            // No quantifier may follow these.
            let anchors = [
                "^", "$", "\\m", "\\M", "\\y", "\\Y", "\\A", "\\Z", "(?=a)", "(?!ab)", "(?<=b)",
                "(?<!a|b)",
            ];
            out.push_str(draw.one_of(&anchors));
            return;
        }
        _ if depth > 0 => {
            let captures = draw.below(3) > 0;
            out.push_str(if captures { "(" } else { "(?:" });
            push_alternatives(draw, out, depth - 1, groups);
            out.push(')');
            // A group can be referred to from here on; of several levels, only some are in order.
            *groups += u32::from(captures);
        }
        _ => out.push('a'),
    }
    let quantifiers = [
        "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}?", "{2,}", "{1}?", "{0}", "{1,1}?",
        "{1,1}",
    ];
    if draw.below(5) < 2 {
        out.push_str(draw.one_of(&quantifiers));
    }
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "abcd",
    "XY1234Z",
    "abc\nABC abc",
    "foo bar_baz, 12-34",
    "äöü ß日本",
    "aaaaaabbb",
    "a+b(c)[d]{2}\\",
    "\u{8}\u{1b}\u{7f}",
];

const GIVEN: &[&str] = &[
    "",
    "a",
    "a|ab",
    "(a|ab)(c|bcd)",
    "(a|ab)(c|bcd)(d*)",
    "(?:a|ab)(c|bcd)??",
    "Y*?([0-9]{1,3})",
    "Y*([0-9]{1,3})",
    "Y*?[0-9]{1,3}",
    "(Y*?)([0-9]{1,3}?)(Z|4Z)",
    "((a))",
    "(((a)b)c)d",
    "(a*)*",
    "(a*)+",
    "(a|b)*?c",
    "(a+?)(b*)",
    "(a+)(a+?)(b)",
    "a{2,3}?",
    "a{0}b",
    "(a){0}b|a",
    "(a)\\1",
    "(a+)\\1b",
    "(a*)\\1+",
    "(a|b)\\1{2}",
    "\\1",
    "(a)\\2",
    "(\\1)",
    "(?=(a))b",
    "(a)(?=\\1)",
    "\\mabc\\M",
    "\\y",
    "\\Y",
    "[[:<:]]a",
    "c[[:>:]]",
    "^abc",
    "abc$",
    "\\Aabc",
    "abc\\Z",
    "^",
    "$",
    "a.c",
    "[^a]",
    "[^[:alpha:]]+",
    "[[:alnum:]_]+",
    "[[:upper:]]",
    "[[:lower:]]+",
    "[[:foo:]]",
    "[[.a.]]",
    "[[.hyphen.]]",
    "[[.plus-sign.]-]",
    "[[.nothing.]]",
    "[[=a=]]",
    "[[=a=]-c]",
    "[[..]]",
    "[[::]]",
    "[a-c]",
    "[c-a]",
    "[a-]",
    "[-a]",
    "[]a]",
    "[^]a]",
    "[a-b-c]",
    "[a",
    "[",
    "[]",
    "[[:alpha:",
    "[a\\]b]",
    "[\\d\\s]",
    "[\\D]",
    "[^\\D]",
    "[\\y]",
    "[\\",
    "\\d+",
    "\\D",
    "\\w+",
    "\\W+",
    "\\s",
    "\\S+",
    "\\",
    "\\q",
    "\\z",
    "\\x41",
    "\\x",
    "\\u0061",
    "\\u61",
    "\\U00000061",
    "\\U7fffffff",
    "\\e",
    "\\b",
    "\\B",
    "\\cA",
    "\\c",
    "\\0",
    "\\101",
    "\\400",
    "\\18",
    "\\9",
    "(a)(b)(c)\\12",
    "(",
    ")",
    "a)",
    "(a",
    "()",
    "(|a)",
    "(?",
    "(?a",
    "(?i)ABC",
    "(?c)ABC",
    "(?ix) A B # C\nC",
    "(?z)a",
    "(?i",
    "(?n)^A",
    "(?p)^A",
    "(?w)^A",
    "(?s)^A",
    "(?q)a+b",
    "(?e)a+?",
    "(?e)a\\d",
    "(?e))",
    "(?b)a\\{2\\}",
    "(?b)\\(a\\)*",
    "(?b)*a",
    "(?b)a**",
    "(?b)^*a",
    "(?b)a^b$c",
    "(?b)\\(^a$\\)",
    "(?b)\\<abc\\>",
    "(?b)a\\{1",
    "(?b)a\\{1,2",
    "(?b)\\(a",
    "(?b)a\\)",
    "(?b)a{2}|b+",
    "(?#comment)a",
    "a(?#comment)b",
    "(?<a)",
    "(?=",
    "(?=a)*",
    "(?!a)",
    "(?<=a)b",
    "(?<!a)b",
    "(?<=(a|bc))[a-z]",
    "***=a+b",
    "***:a+",
    "***?",
    "***a",
    "***",
    "**",
    "*",
    "+a",
    "?",
    "a**",
    "a+*",
    "a|*",
    "a{1",
    "a{1,",
    "a{,2}",
    "a{",
    "a{x}",
    "a{2,1}",
    "a{256}",
    "a{255}",
    "a{1,256}",
    "a{1000}",
    "a{1 }",
    "{1}",
    "{",
    "a}",
    "^*",
    "$+",
    "\\y*",
    "a|",
    "|",
    "||a",
    "(a|)+",
    "(^|,)[^,]*",
    "([a-z]+)[ _,]*([a-z]*)",
    "(?:([0-9]+)-([0-9]+))?$",
    "(foo|foobar)(bar)?",
    "(a*?)(a*)",
    "(a??)(a*)(b*?)",
    "((a*?)|b)*",
    "(a|ab)*?b",
    "x*?(ab|a)(bc)?",
    "[ä-ü]+",
    "(.)(.)",
    ".",
    ".*",
    ".*?",
    ".+?$",
    "日",
    "\\u65e5",
];
