//! Every computation, over combinations of odd values.

use std::collections::BTreeMap;
use std::fmt::Write;

use values::datum::Datum;
use values::error::ValueError;
use values::kernel::{Context, Kernel, kernels};

use crate::cluster::Cluster;
use crate::combinations::Combinations;
use crate::exceptions::Report;
use crate::lists;
use crate::settings::Settings;

/// A row of `pg_proc` that a kernel computes.
pub struct Row {
    kernel: &'static Kernel,
    name: String,
    is_strict: bool,
    arguments: Vec<String>,
    result: String,
}

/// Kernels that are compared through texts, or depend on a clock.
fn is_left_out(source: &str) -> bool {
    ["_in", "_out", "_send"].iter().any(|end| source.ends_with(end))
        || ["now", "statement_timestamp"].contains(&source)
}

/// Whether a computation takes or gives a date, a time or an interval. Others are compared in `tests/postgres`.
fn is_about_time<'a>(mut types: impl Iterator<Item = &'a str>) -> bool {
    types.any(|name| name == "date" || name == "interval" || name.starts_with("time"))
}

/// The rows about dates and times that our kernels compute and whose arguments have lists.
pub fn rows(cluster: &Cluster) -> Vec<Row> {
    let by_source: BTreeMap<&str, &Kernel> =
        kernels().map(|kernel| (kernel.source, kernel)).collect();
    let listed = cluster.run(
        "SELECT CASE prolang WHEN 12 THEN prosrc ELSE oid::regprocedure::text END || E'\\t' || proname || E'\\t' || proisstrict || E'\\t' || prorettype::regtype || E'\\t'
             || array_to_string(proargtypes::oid[]::regtype[], ',')
         FROM pg_proc WHERE prolang IN (12, 14) ORDER BY oid",
    );
    let rows = listed.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let kernel = by_source.get(columns[0]).filter(|kernel| !is_left_out(kernel.source))?;
        let arguments: Vec<String> = columns[4].split(',').map(str::to_owned).collect();
        let is_listed = arguments
            .iter()
            .enumerate()
            .all(|(at, name)| lists::of(name, kernel.source, at).is_some());
        let is_ours = is_listed && is_about_time(columns[4].split(',').chain([columns[3]]));
        is_ours.then(|| Row {
            kernel,
            name: columns[1].to_owned(),
            is_strict: columns[2] == "true",
            arguments,
            result: columns[3].to_owned(),
        })
    });
    rows.collect()
}

impl Row {
    fn lists(&self) -> Vec<&'static [&'static str]> {
        let listed = self.arguments.iter().enumerate();
        let of = |(at, name): (usize, &String)| lists::of(name, self.kernel.source, at);
        listed.map(|argument| of(argument).expect("it has lists")).collect()
    }

    fn combinations(&self, most: usize) -> Combinations {
        // NULL comes after the values.
        let extra = usize::from(!self.is_strict);
        Combinations::new(self.lists().iter().map(|list| list.len() + extra).collect(), most)
    }

    /// A function that tells the result, or the failure, and a query that calls it.
    fn sql(&self, at: usize, most: usize) -> String {
        let combinations = self.combinations(most);
        let names: Vec<String> = (0..self.arguments.len()).map(|at| format!("a{at}")).collect();
        let parameters: Vec<String> =
            names.iter().zip(&self.arguments).map(|(name, of)| format!("{name} {of}")).collect();
        let shown = shown(&self.result);
        let mut sql = format!(
            "CREATE FUNCTION pg_temp.f{at}({}) RETURNS text LANGUAGE plpgsql AS $f$
             DECLARE r {}; m text; d text; h text;
             BEGIN r := pg_catalog.\"{}\"({}); RETURN coalesce({shown}, 'null');
             EXCEPTION WHEN OTHERS THEN
             GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
             RETURN 'error ' || SQLSTATE || ' ' || m || ' ' || d || ' ' || h; END $f$;\n",
            parameters.join(", "),
            self.result,
            self.name,
            names.join(", "),
        );
        let mut lists = Vec::new();
        let mut taken = Vec::new();
        for (at, (of, list)) in self.arguments.iter().zip(self.lists()).enumerate() {
            let quoted: Vec<String> =
                list.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
            lists.push(format!("ARRAY[{}]::{of}[] AS l{at}", quoted.join(",")));
            taken.push(format!("l{at}[{}]", combinations.sql(at)));
        }
        let _ = writeln!(
            sql,
            "COPY (WITH l AS MATERIALIZED (SELECT {}) SELECT pg_temp.f{at}({}) FROM l, \
             generate_series(0, {}) i ORDER BY i) TO STDOUT;",
            lists.join(", "),
            taken.join(", "),
            combinations.count() - 1,
        );
        sql
    }

    /// Our answers, in the order of the query's.
    fn compare(&self, context: &Context, theirs: &[String], most: usize, report: &mut Report) {
        let lists = self.lists();
        let parsed: Vec<Vec<Datum>> = lists
            .iter()
            .zip(&self.arguments)
            .map(|(list, of)| list.iter().map(|text| datum(context, of, text)).collect())
            .collect();
        let combinations = self.combinations(most);
        assert_eq!(theirs.len(), combinations.count(), "answers of {}", self.name);
        for (place, theirs) in theirs.iter().enumerate() {
            let taken = combinations.at(place);
            let null =
                |list: usize, at: usize| parsed[list].get(at).cloned().unwrap_or(Datum::Null);
            let arguments: Vec<Datum> =
                taken.iter().enumerate().map(|(list, at)| null(list, *at)).collect();
            let texts: Vec<&str> = taken
                .iter()
                .enumerate()
                .map(|(list, at)| lists[list].get(*at).copied().unwrap_or("NULL"))
                .collect();
            let answer = (self.kernel.compute)(context, &arguments);
            let question =
                format!("{}({}) in {}", self.name, texts.join(", "), context.zone.name());
            report.compare(self.kernel.source, &question, &text(context, answer), theirs);
        }
    }
}

/// The SQL that tells a result: its text and its binary form.
pub fn shown(type_name: &str) -> String {
    let send = match type_name {
        "date" => "date_send",
        "time without time zone" => "time_send",
        "time with time zone" => "timetz_send",
        "timestamp without time zone" => "timestamp_send",
        "timestamp with time zone" => "timestamptz_send",
        "interval" => "interval_send",
        "double precision" => return "' ' || encode(float8send(r), 'hex')".to_owned(),
        _ => return "r::text".to_owned(),
    };
    format!("r::text || ' ' || encode({send}(r), 'hex')")
}

/// An argument from its text.
fn datum(context: &Context, type_name: &str, text: &str) -> Datum {
    let read = match type_name {
        "date" => values::date::from_text(context, text).map(Datum::Date),
        "time without time zone" => values::time::from_text(context, text, -1).map(Datum::Time),
        "time with time zone" => values::timetz::from_text(context, text, -1).map(Datum::TimeTz),
        "timestamp without time zone" => {
            values::timestamp::from_text(context, text, -1).map(Datum::Timestamp)
        }
        "timestamp with time zone" => {
            values::timestamptz::from_text(context, text, -1).map(Datum::TimestampTz)
        }
        "interval" => values::interval::from_text(context, text, -1).map(Datum::Interval),
        "boolean" => Ok(Datum::Bool(text == "true")),
        "integer" => Ok(Datum::Int4(text.parse().expect("an integer"))),
        "double precision" => Ok(Datum::Float8(text.parse().expect("a double"))),
        _ => Ok(Datum::text(text)),
    };
    read.unwrap_or_else(|error| panic!("{type_name} {text}: {error}"))
}

/// An answer as the queries tell it.
pub fn text(context: &Context, answer: Result<Datum, ValueError>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let answer = match answer {
        Ok(answer) => answer,
        Err(ValueError { sqlstate, message, detail, hint }) => {
            let (detail, hint) = (detail.unwrap_or_default(), hint.unwrap_or_default());
            return format!("error {sqlstate} {message} {detail} {hint}");
        }
    };
    let (text, binary) = match answer {
        Datum::Null => return "null".to_owned(),
        Datum::Bool(value) => return value.to_string(),
        Datum::Int4(value) => return value.to_string(),
        Datum::Text(value) => return value.into(),
        Datum::Numeric(value) => return value.to_string(),
        Datum::Float8(value) => (String::new(), hex(&value.to_be_bytes())),
        Datum::Date(date) => {
            (values::date::to_text(context, date), hex(&values::date::to_binary(date)))
        }
        Datum::Time(time) => (values::time::to_text(time), hex(&values::time::to_binary(time))),
        Datum::TimeTz(time) => {
            (values::timetz::to_text(time), hex(&values::timetz::to_binary(time)))
        }
        Datum::Timestamp(value) => {
            (values::timestamp::to_text(context, value), hex(&values::timestamp::to_binary(value)))
        }
        Datum::TimestampTz(value) => (
            values::timestamptz::to_text(context, value),
            hex(&values::timestamp::to_binary(value)),
        ),
        Datum::Interval(span) => {
            (values::interval::to_text(context, &span), hex(&values::interval::to_binary(&span)))
        }
        other => panic!("no answer of these: {other:?}"),
    };
    format!("{text} {binary}")
}

/// Compares every row under some settings.
pub fn compare(
    cluster: &Cluster,
    settings: &Settings,
    rows: &[Row],
    most: usize,
    report: &mut Report,
) {
    let mut script = format!("BEGIN; {}", settings.sql());
    script += "SELECT (extract(epoch FROM now()) * 1000000 - 946684800000000)::bigint;\n";
    for (at, row) in rows.iter().enumerate() {
        script += &row.sql(at, most);
    }
    script += "COMMIT;";
    let answered = cluster.run(&script);
    let mut lines = answered.lines().map(unescaped);
    let now = lines.next().expect("the time").parse().expect("microseconds");
    let context = settings.context(now);
    for row in rows {
        let theirs: Vec<String> = lines.by_ref().take(row.combinations(most).count()).collect();
        row.compare(&context, &theirs, most, report);
    }
    assert_eq!(lines.next(), None, "more answers than questions");
}

/// A line of COPY without its escapes.
pub fn unescaped(line: &str) -> String {
    line.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
}
