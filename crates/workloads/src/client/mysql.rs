//! A client for MariaDB: the same statements with `?` in place of `$n`.

use std::time::Duration;

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

use super::postgres::EPOCH_DAYS;
use super::rows::Encoding;
use super::{Client, Failure, Parameter, Prepared, Result, Rows};

/// One connection to MariaDB.
pub struct MysqlClient {
    connection: Conn,
    statements: Vec<(mysql::Statement, Vec<usize>)>,
    rows: Rows,
}

impl MysqlClient {
    /// Connects over TCP without a password; an answer that takes longer than `patience` ends the connection.
    pub fn connect(
        host: &str,
        port: u16,
        user: &str,
        database: &str,
        patience: Duration,
    ) -> Result<MysqlClient> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(port)
            .user(Some(user))
            .db_name(Some(database))
            .prefer_socket(false)
            .read_timeout(Some(patience))
            // Every statement of the workload stays prepared.
            .stmt_cache_size(Some(256));
        let connection = Conn::new(options)?;
        Ok(MysqlClient { connection, statements: Vec::new(), rows: Rows::default() })
    }
}

impl From<mysql::Error> for Failure {
    fn from(error: mysql::Error) -> Failure {
        match error {
            mysql::Error::MySqlError(error) => {
                // 1213 is a deadlock, 1020 a changed record: MariaDB's words for "try again".
                let conflict = matches!(error.code, 1213 | 1020);
                let state = if conflict { "40001".to_owned() } else { error.state.clone() };
                Failure { state, ..Failure::without_state(error.message) }
            }
            other => Failure::without_state(other.to_string()),
        }
    }
}

impl Client for MysqlClient {
    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let (text, order) = question_marks(text);
        let statement = self.connection.prep(text)?;
        self.statements.push((statement, order));
        Ok(Prepared(self.statements.len() - 1))
    }

    fn execute(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<&Rows> {
        let (statement, order) = &self.statements[statement.0];
        let values: Vec<Value> = order.iter().map(|&i| value(&parameters[i])).collect();
        self.rows.clear();
        self.rows.encodings.clear();
        let mut result = self.connection.exec_iter(statement, values)?;
        let columns = result.columns();
        let encodings = columns.as_ref().iter().map(|c| encoding(c.column_type()));
        self.rows.encodings.extend(encodings);
        self.rows.affected = result.affected_rows();
        for row in result.by_ref() {
            for (column, value) in row?.unwrap().into_iter().enumerate() {
                let encoding = self.rows.encodings[column];
                push(&mut self.rows, value, encoding);
            }
            self.rows.rows += 1;
        }
        drop(result);
        Ok(&self.rows)
    }

    fn run(&mut self, text: &str) -> Result<()> {
        Ok(self.connection.query_drop(text)?)
    }
}

/// Replaces `$n` by `?`; returns which parameter each `?` is.
fn question_marks(text: &str) -> (String, Vec<usize>) {
    let mut out = String::with_capacity(text.len());
    let mut order = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = rest[at + 1..at + 1 + digits].parse().expect("a number follows $");
        order.push(number - 1);
        out.push_str(&rest[..at]);
        out.push('?');
        rest = &rest[at + 1 + digits..];
    }
    out.push_str(rest);
    (out, order)
}

fn value(parameter: &Parameter) -> Value {
    match parameter {
        Parameter::Integer(v) => Value::Int(*v),
        Parameter::Double(v) => Value::Double(*v),
        Parameter::Text(v) => Value::Bytes(v.clone().into_bytes()),
        Parameter::Decimal { .. } => Value::Bytes(parameter.literal().into_bytes()),
        Parameter::Date(days) => {
            let (year, month, day) = civil(i64::from(*days));
            Value::Date(year, month, day, 0, 0, 0, 0)
        }
        Parameter::Timestamp(micros) => {
            let (year, month, day) = civil(micros.div_euclid(86_400_000_000));
            let rest = micros.rem_euclid(86_400_000_000);
            let seconds = rest / 1_000_000;
            let (hour, minute) = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8);
            let (second, fraction) = ((seconds % 60) as u8, (rest % 1_000_000) as u32);
            Value::Date(year, month, day, hour, minute, second, fraction)
        }
    }
}

/// Year, month and day of a day counted from 1970-01-01.
fn civil(days: i64) -> (u16, u8, u8) {
    let text = crate::bookstore::date_text(days as i32);
    let mut parts = text.split('-').map(|part| part.parse::<u16>().expect("digits"));
    let mut next = || parts.next().expect("three parts");
    (next(), next() as u8, next() as u8)
}

/// The day counted from 1970-01-01: the inverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year.div_euclid(400) * 146_097 + day_of_era - 719_468
}

fn encoding(column: ColumnType) -> Encoding {
    use ColumnType::*;
    match column {
        MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONG
        | MYSQL_TYPE_LONGLONG => Encoding::Integer,
        MYSQL_TYPE_FLOAT | MYSQL_TYPE_DOUBLE => Encoding::Float,
        MYSQL_TYPE_DATE => Encoding::Date,
        MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP => Encoding::Timestamp,
        _ => Encoding::Text,
    }
}

fn push(rows: &mut Rows, value: Value, encoding: Encoding) {
    match value {
        Value::NULL => rows.push(None),
        Value::Bytes(bytes) => rows.push(Some(&bytes)),
        Value::Int(v) => rows.push(Some(&v.to_be_bytes())),
        Value::UInt(v) => rows.push(Some(&v.to_be_bytes())),
        Value::Float(v) => rows.push(Some(&v.to_be_bytes())),
        Value::Double(v) => rows.push(Some(&v.to_be_bytes())),
        Value::Date(year, month, day, hour, minute, second, fraction) => {
            let days =
                days(i64::from(year), i64::from(month), i64::from(day)) - i64::from(EPOCH_DAYS);
            let of_day = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
            let micros = (days * 86_400 + of_day) * 1_000_000 + i64::from(fraction);
            match encoding {
                Encoding::Date => rows.push(Some(&(days as i32).to_be_bytes())),
                _ => rows.push(Some(&micros.to_be_bytes())),
            }
        }
        other => rows.push(Some(other.as_sql(true).as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for day in [-30_000, -1, 0, 59, 60, 10_957, 19_782, 20_000] {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year.into(), month.into(), of_month.into()), day);
        }
    }

    #[test]
    fn repeated_parameters_keep_their_order() {
        let (text, order) = question_marks("a = $2 AND b = $1 OR c = $2");
        assert_eq!(text, "a = ? AND b = ? OR c = ?");
        assert_eq!(order, [1, 0, 1]);
    }
}
