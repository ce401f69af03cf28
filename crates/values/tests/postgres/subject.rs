//! What is compared: a computation, the values of its arguments, and how PostgreSQL is asked for it.

use values::datum::Datum;
use values::error::Result;
use values::facts::{FunctionRow, Volatility, functions, types};
use values::form::{FORMS, Form, form};
use values::kernel::{Context, Kernel, kernel};

use crate::inputs::TEXTS;
use crate::{meant, odd};

/// One computation.
pub struct Subject {
    /// The kernel's name, or the input function's.
    pub name: &'static str,
    /// PostgreSQL's expression over `a0`, `a1`, ...
    expression: String,
    /// The arguments' types and the texts of their values.
    arguments: Vec<(&'static str, Vec<&'static str>)>,
    result: &'static Form,
    compute: Computation,
}

enum Computation {
    Kernel(&'static FunctionRow, &'static Kernel),
    Parse(&'static Form),
}

/// All computations that are ours and whose arguments have odd values.
pub fn subjects() -> Vec<Subject> {
    let mut seen = std::collections::HashSet::new();
    let rows = functions().iter().filter(|row| row.volatility != Volatility::Volatile);
    let computed = rows.filter_map(of_function).filter(|subject| {
        let types: Vec<_> = subject.arguments.iter().map(|(name, _)| *name).collect();
        seen.insert((subject.name, types))
    });
    computed.chain(FORMS.iter().map(of_input)).collect()
}

fn of_function(row: &'static FunctionRow) -> Option<Subject> {
    let kernel = kernel(row.source)?;
    let values = |(place, name): (usize, &&'static str)| {
        (*name, meant::values(row.source, place).unwrap_or_else(|| odd::values(name)))
    };
    let arguments: Vec<_> = row.arguments.iter().enumerate().map(values).collect();
    if arguments.iter().any(|(_, values)| values.is_empty()) {
        return None;
    }
    let names: Vec<String> = (0..arguments.len()).map(|i| format!("a{i}")).collect();
    let call = format!("pg_catalog.\"{}\"({})", row.name, names.join(", "));
    // Of an order only the sign means something: elsewhere it is what the C library's comparison of bytes leaves.
    let expression =
        if row.source.ends_with("cmp") { format!("pg_catalog.sign({call})") } else { call };
    let compute = Computation::Kernel(row, kernel);
    Some(Subject { name: row.source, expression, arguments, result: form(row.result)?, compute })
}

fn of_input(form: &'static Form) -> Subject {
    let row = types()
        .iter()
        .find(|row| row.name == form.type_name)
        .expect("a form's type is in the facts");
    Subject {
        name: row.input,
        expression: format!("a0::pg_catalog.{}", row.name),
        arguments: vec![("text", TEXTS.to_vec())],
        result: form,
        compute: Computation::Parse(form),
    }
}

impl Subject {
    /// How many combinations of values there are.
    fn total(&self) -> usize {
        self.arguments.iter().map(|(_, values)| values.len()).product()
    }

    /// How far apart the combinations are that are tried: all of them, or spread evenly.
    fn step(&self, limit: usize) -> (usize, usize) {
        let total = self.total();
        if total <= limit {
            return (total, 1);
        }
        let is_coprime = |step: &usize| num_integer::gcd(*step, total) == 1;
        let step = (total * 618 / 1000..).find(is_coprime).expect("the next prime is coprime");
        (limit, step)
    }

    /// The statements that print PostgreSQL's answers, a line each.
    pub fn script(&self, limit: usize) -> String {
        let (count, step) = self.step(limit);
        let total = self.total();
        let parameters: Vec<String> = self
            .arguments
            .iter()
            .enumerate()
            .map(|(i, (name, _))| format!("a{i} pg_catalog.{name}"))
            .collect();
        let arrays: Vec<String> = self
            .arguments
            .iter()
            .enumerate()
            .map(|(i, (name, values))| array(i, name, values))
            .collect();
        let mut divisor = 1;
        let mut places = Vec::new();
        for (i, (_, values)) in self.arguments.iter().enumerate() {
            places.push(format!("v.a{i}[1 + (k / {divisor}) % {}]", values.len()));
            divisor *= values.len();
        }
        format!(
            "create or replace function pg_temp.answer({}) returns text language plpgsql as $$ {} $$;
copy (with v as materialized (select {}) select pg_temp.answer({}) from v, (select j, (j * {step}::int8) % {total} as k from generate_series(0, {count} - 1) as j) as s order by j) to stdout;
drop function pg_temp.answer;
",
            parameters.join(", "), reply(self.result, &self.expression), arrays.join(", "), places.join(", "),
        )
    }

    /// The combinations that are tried, and our answers.
    pub fn answers(&self, limit: usize) -> Vec<(String, String)> {
        let (count, step) = self.step(limit);
        let total = self.total();
        let data: Vec<Vec<Datum>> =
            self.arguments.iter().map(|(name, values)| parsed(name, values)).collect();
        (0..count).map(|j| self.answer(&data, j * step % total)).collect()
    }

    fn answer(&self, data: &[Vec<Datum>], mut place: usize) -> (String, String) {
        let mut arguments = Vec::new();
        let mut texts = Vec::new();
        for (values, (_, written)) in data.iter().zip(&self.arguments) {
            arguments.push(values[place % values.len()].clone());
            texts.push(written[place % values.len()]);
            place /= values.len();
        }
        let call = format!("{}{texts:?}", self.expression);
        let answer = written(self.result, || self.compute(&arguments));
        (call, answer)
    }

    fn compute(&self, arguments: &[Datum]) -> Result<Datum> {
        match self.compute {
            Computation::Kernel(row, _)
                if row.is_strict && arguments.iter().any(Datum::is_null) =>
            {
                Ok(Datum::Null)
            }
            Computation::Kernel(_, kernel) => (kernel.compute)(&Context::default(), arguments),
            Computation::Parse(form) => match &arguments[0] {
                Datum::Text(text) => (form.parse)(text),
                other => panic!("{other:?} is no text"),
            },
        }
    }
}

/// The body of a function in PL/pgSQL that gives an expression's answer: NULL, the value in binary and text, or the error.
pub fn reply(result: &Form, expression: &str) -> String {
    let row = types().iter().find(|row| row.name == result.type_name).expect("a type");
    format!(
        "declare r pg_catalog.{}; t text;
begin r := {expression}; if r is null then return 'N'; end if;
t := 'V' || encode({}(r), 'hex') || ' ' || format('%s', r);
return case when length(t) > 2000 then 'M' || md5(t) else t end;
exception when others then return 'E' || sqlstate || ' ' || sqlerrm; end",
        result.type_name, row.send,
    )
}

/// Our answer in the same form.
pub fn written(form: &Form, compute: impl FnOnce() -> Result<Datum>) -> String {
    let compute = std::panic::AssertUnwindSafe(compute);
    let datum = match std::panic::catch_unwind(compute) {
        Ok(Ok(Datum::Null)) => return "N".to_owned(),
        Ok(Ok(datum)) => datum,
        Ok(Err(error)) => return format!("E{} {}", error.sqlstate, error.message),
        Err(_) => return "P".to_owned(),
    };
    let (mut bytes, mut text) = (Vec::new(), String::new());
    (form.send)(&datum, &mut bytes);
    (form.write)(&datum, &mut text);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let answer = format!("V{hex} {text}");
    if answer.chars().count() <= 2000 {
        return answer;
    }
    let digest = kernel("md5_text").expect("a kernel");
    match (digest.compute)(&Context::default(), &[Datum::text(answer)]) {
        Ok(Datum::Text(digest)) => format!("M{digest}"),
        other => panic!("{other:?} is no digest"),
    }
}

/// An array of values in SQL.
pub fn array(place: usize, type_name: &str, values: &[&str]) -> String {
    let literal = |value: &&str| match *value {
        "\\N" => "null".to_owned(),
        text => format!("'{}'", text.replace('\'', "''")),
    };
    let literals: Vec<String> = values.iter().map(literal).collect();
    format!("array[{}]::pg_catalog.{type_name}[] as a{place}", literals.join(", "))
}

/// Values as we read them.
pub fn parsed(type_name: &str, values: &[&str]) -> Vec<Datum> {
    let form = form(type_name).expect("a type with odd values has a form");
    let parse = |text: &&str| match *text {
        "\\N" => Datum::Null,
        text => (form.parse)(text).unwrap_or_else(|error| panic!("{type_name} {text}: {error}")),
    };
    values.iter().map(parse).collect()
}
