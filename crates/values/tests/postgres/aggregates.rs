//! Aggregates over lists of odd values.

use values::aggregate::accumulator;
use values::datum::Datum;
use values::error::Result;
use values::facts::{AggregateRow, aggregates};
use values::form::{Form, form};

use crate::odd;
use crate::subject::{array, parsed, reply, written};

/// An aggregate whose arguments have odd values.
pub struct Aggregate {
    row: &'static AggregateRow,
    result: &'static Form,
    values: Vec<(&'static str, Vec<&'static str>)>,
}

/// All aggregates that are ours.
pub fn all() -> Vec<Aggregate> {
    let ours = |row: &'static AggregateRow| {
        accumulator(row.transition, row.last)?;
        let values: Vec<_> = row.arguments.iter().map(|name| (*name, odd::values(name))).collect();
        let is_tried = !values.is_empty() && values.iter().all(|(_, values)| !values.is_empty());
        is_tried.then_some(Aggregate { row, result: form(row.result)?, values })
    };
    aggregates().iter().filter_map(ours).collect()
}

impl Aggregate {
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// Lists of places in the values: none, each, each with its neighbours, and beginnings.
    fn lists(&self) -> Vec<Vec<usize>> {
        let count = self.values[0].1.len();
        let single = (0..count).map(|i| vec![i]);
        let double = (0..count).map(|i| vec![i, (i + 1) % count]);
        let triple = (0..count).map(|i| vec![i, (i * 5 + 2) % count, (i * 3 + 1) % count, i]);
        let start = (0..count).step_by(9).map(|i| (0..i).collect());
        [Vec::new()].into_iter().chain(single).chain(double).chain(triple).chain(start).collect()
    }

    /// The place of an argument's value for a place of the first one's.
    fn place(&self, argument: usize, place: usize) -> usize {
        (place + 3 * argument) % self.values[argument].1.len()
    }

    /// The statements that print PostgreSQL's answers, a line each.
    pub fn script(&self) -> String {
        let arrays: Vec<String> = self
            .values
            .iter()
            .enumerate()
            .map(|(i, (name, values))| array(i, name, values))
            .collect();
        let arguments: Vec<String> = (0..self.values.len())
            .map(|i| format!("v.a{i}[1 + (p + 3 * {i}) % {}]", self.values[i].1.len()))
            .collect();
        let lists: Vec<String> = self
            .lists()
            .iter()
            .map(|list| {
                format!(
                    "('{{{}}}'::int[])",
                    list.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
                )
            })
            .collect();
        let query = format!(
            "(select pg_catalog.{}({} order by o) from (select {}) as v, unnest(list) with ordinality as u(p, o))",
            self.row.name,
            arguments.join(", "),
            arrays.join(", "),
        );
        format!(
            "create or replace function pg_temp.answer(list int[]) returns text language plpgsql as $$ {} $$;\ncopy (select pg_temp.answer(list) from (values {}) as lists(list)) to stdout;\ndrop function pg_temp.answer;\n",
            reply(self.result, &query),
            lists.join(", "),
        )
    }

    /// The lists, and our answers.
    pub fn answers(&self) -> Vec<(String, String)> {
        let data: Vec<Vec<Datum>> =
            self.values.iter().map(|(name, values)| parsed(name, values)).collect();
        let answer = |list: Vec<usize>| {
            let texts: Vec<_> = list.iter().map(|place| self.values[0].1[*place]).collect();
            let call = format!("{}({}){texts:?}", self.row.name, self.row.arguments.join(", "));
            (call, written(self.result, || self.compute(&data, &list)))
        };
        self.lists().into_iter().map(answer).collect()
    }

    fn compute(&self, data: &[Vec<Datum>], list: &[usize]) -> Result<Datum> {
        let mut state = accumulator(self.row.transition, self.row.last).expect("it is ours");
        for place in list {
            let row: Vec<Datum> = data
                .iter()
                .enumerate()
                .map(|(i, values)| values[self.place(i, *place)].clone())
                .collect();
            state.add(&row)?;
        }
        state.finish()
    }
}
