//! Texts in and out: odd and wrong texts read as each type, with and without a typmod.

use std::fmt::Write;

use values::datum::Datum;
use values::kernel::{Context, kernels};

use crate::cluster::Cluster;
use crate::exceptions::Report;
use crate::rows::{shown, text, unescaped};
use crate::settings::Settings;

/// Texts of dates and times, a line each.
const MOMENTS: &str = include_str!("moments.txt");
/// Texts of intervals, a line each.
const INTERVALS: &str = include_str!("intervals.txt");

/// A type, the kernel that reads it, its texts and typmods.
struct Type {
    name: &'static str,
    kernel: &'static str,
    texts: &'static str,
    typmods: &'static [i32],
}

const TYPES: [Type; 6] = [
    Type { name: "date", kernel: "date_in", texts: MOMENTS, typmods: &[-1] },
    Type { name: "time without time zone", kernel: "time_in", texts: MOMENTS, typmods: &[-1, 0] },
    Type { name: "time with time zone", kernel: "timetz_in", texts: MOMENTS, typmods: &[-1, 2] },
    Type {
        name: "timestamp without time zone",
        kernel: "timestamp_in",
        texts: MOMENTS,
        typmods: &[-1, 0],
    },
    Type {
        name: "timestamp with time zone",
        kernel: "timestamptz_in",
        texts: MOMENTS,
        typmods: &[-1, 3],
    },
    Type {
        name: "interval",
        kernel: "interval_in",
        texts: INTERVALS,
        // All; two digits; year, month, year to month, day, day to hour, minute to second, second.
        typmods: &[
            -1,
            2_147_418_114,
            327_679,
            196_607,
            458_751,
            589_823,
            67_698_687,
            402_718_719,
            268_500_991,
        ],
    },
];

impl Type {
    fn lines(&self) -> impl Iterator<Item = &'static str> {
        self.texts.lines().filter(|line| !line.starts_with('#'))
    }

    fn sql(&self, at: usize) -> String {
        let Type { name, kernel, .. } = self;
        let call = match *kernel {
            "date_in" => "date_in(s::cstring)".to_owned(),
            _ => format!("{kernel}(s::cstring, 0, t)"),
        };
        let shown = shown(name);
        let mut sql = format!(
            "CREATE FUNCTION pg_temp.i{at}(s text, t int) RETURNS text LANGUAGE plpgsql AS $f$
             DECLARE r {name}; m text; d text; h text;
             BEGIN r := pg_catalog.{call}; RETURN coalesce({shown}, 'null');
             EXCEPTION WHEN OTHERS THEN
             GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
             RETURN 'error ' || SQLSTATE || ' ' || m || ' ' || d || ' ' || h; END $f$;\n"
        );
        let texts: Vec<String> =
            self.lines().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
        let typmods: Vec<String> = self.typmods.iter().map(i32::to_string).collect();
        let _ = writeln!(
            sql,
            "COPY (SELECT pg_temp.i{at}(s, t) FROM unnest(ARRAY[{}]::text[]) WITH ORDINALITY AS s(s, n), \
             unnest(ARRAY[{}]) WITH ORDINALITY AS t(t, m) ORDER BY m, n) TO STDOUT;",
            texts.join(","),
            typmods.join(","),
        );
        sql
    }

    fn compare<'a>(
        &self,
        context: &Context,
        theirs: &mut impl Iterator<Item = &'a str>,
        report: &mut Report,
    ) {
        let kernel = kernels().find(|kernel| kernel.source == self.kernel).expect("it reads");
        for typmod in self.typmods {
            for line in self.lines() {
                let arguments = [Datum::text(line), Datum::Null, Datum::Int4(*typmod)];
                let ours = text(context, (kernel.compute)(context, &arguments));
                let theirs = unescaped(theirs.next().expect("an answer for each"));
                let style = context.date_style;
                let question = format!("'{line}' {typmod} in {} {style:?}", context.zone.name());
                report.compare(self.kernel, &question, &ours, &theirs);
            }
        }
    }
}

/// Compares every text under some settings.
pub fn compare(cluster: &Cluster, settings: &Settings, report: &mut Report) {
    let mut script = format!("BEGIN; {}", settings.sql());
    script += "SELECT (extract(epoch FROM now()) * 1000000 - 946684800000000)::bigint;\n";
    for (at, of) in TYPES.iter().enumerate() {
        script += &of.sql(at);
    }
    script += "COMMIT;";
    let answered = cluster.run(&script);
    let mut lines = answered.lines();
    let now = lines.next().expect("the time").parse().expect("microseconds");
    let context = settings.context(now);
    for of in &TYPES {
        of.compare(&context, &mut lines, report);
    }
    assert_eq!(lines.next(), None, "more answers than questions");
}
