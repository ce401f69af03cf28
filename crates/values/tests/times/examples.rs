//! Answers of PostgreSQL 15 that need none beside.

use values::datum::Datum;
use values::kernel::{Context, kernels};
use values::settings::{DateFormat, DateOrder, DateStyle, IntervalStyle};
use values::zone::Zone;

use crate::rows::text;

/// What a kernel of texts makes of one, in a context.
fn read(context: &Context, kernel: &str, from: &str) -> String {
    let kernel = kernels().find(|row| row.source == kernel).expect("a kernel");
    let answer = text(context, (kernel.compute)(context, &[Datum::text(from)]));
    answer.rsplit_once(' ').map_or(answer.clone(), |(text, _)| text.to_owned())
}

fn new_york() -> Context {
    Context { zone: Zone::named("America/New_York").expect("a zone"), ..Context::default() }
}

#[test]
fn dates_are_read_in_every_order() {
    let ordered = |order| Context {
        date_style: DateStyle { format: DateFormat::Iso, order },
        ..Context::default()
    };
    let orders = [
        (DateOrder::Mdy, "2003-01-02"),
        (DateOrder::Dmy, "2003-02-01"),
        (DateOrder::Ymd, "2001-02-03"),
    ];
    for (order, date) in orders {
        assert_eq!(read(&ordered(order), "date_in", "01/02/03"), date);
    }
    let context = Context::default();
    assert_eq!(read(&context, "date_in", "J2451187"), "1999-01-08");
    assert_eq!(read(&context, "date_in", "1999.008"), "1999-01-08");
    assert_eq!(read(&context, "date_in", "January 8, 99 BC"), "0099-01-08 BC");
    assert_eq!(read(&context, "date_in", "5874897-12-31"), "5874897-12-31");
}

#[test]
fn gaps_and_folds_of_a_zone() {
    let context = new_york();
    let gap = read(&context, "timestamptz_in", "2024-03-10 02:30");
    assert_eq!(gap, "2024-03-10 03:30:00-04");
    let fold = read(&context, "timestamptz_in", "2024-11-03 01:30");
    assert_eq!(fold, "2024-11-03 01:30:00-05");
}

#[test]
fn intervals_in_four_styles() {
    let styles = [
        (IntervalStyle::Postgres, "1 year 2 mons -3 days +04:05:06"),
        (IntervalStyle::PostgresVerbose, "@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs"),
        (IntervalStyle::SqlStandard, "+1-2 -3 +4:05:06"),
        (IntervalStyle::Iso8601, "P1Y2M-3DT4H5M6S"),
    ];
    for (interval_style, written) in styles {
        let context = Context { interval_style, ..Context::default() };
        assert_eq!(read(&context, "interval_in", "1-2 -3 +4:05:06"), written);
    }
}

#[test]
fn templates_read_what_they_write() {
    let context = new_york();
    let template = "FMDay, DDth FMMonth YYYY HH12:MI:SS.MS a.m. TZ OF";
    let instant = values::timestamptz::from_text(&context, "2024-02-29 13:05:06.789-05", -1);
    let written = values::template::timestamptz_to_char(&context, instant.expect("one"), template);
    let expected = "Thursday, 29th February 2024 01:05:06.789 p.m. EST -05";
    assert_eq!(written.expect("it is written").as_deref(), Some(expected));
    let date = values::template::to_date("29 Feb 2024", "DD Mon YYYY").expect("a date");
    assert_eq!(values::date::to_text(&context, date), "2024-02-29");
    let fault = values::template::to_date("20240230", "YYYYMMDD").expect_err("no date");
    assert_eq!(fault.sqlstate, "22008");
}
