//! Random tables as text: types, NULLs, skew, keys of all kinds; and what is changed between batches.

use crate::choices::{Choices, Numbers};

/// Rows that a table may have.
const ROWS: [usize; 7] = [40, 3, 0, 300, 900, 2_500, 9_000];

/// Types of columns that refer to nothing.
const TYPES: [&str; 9] = [
    "int",
    "bigint",
    "smallint",
    "numeric(10,2)",
    "varchar(20)",
    "boolean",
    "date",
    "timestamp",
    "double precision",
];

/// What a column may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Keys of a table.
    KeyOf(usize),
    /// Whole numbers below 40.
    Number,
    Text,
    Any,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub data_type: &'static str,
    pub domain: Domain,
}

/// A table as it is to be.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    indexes: Vec<String>,
    has_key: bool,
    pub rows: usize,
    /// Between one key and the next.
    step: usize,
    seed: u64,
}

#[derive(Debug)]
pub struct Schema {
    pub tables: Vec<Table>,
}

impl Schema {
    /// Chooses two to five tables.
    pub fn choose(choices: &mut Choices) -> Schema {
        let count = choices.between(2, 5);
        let tables = (0..count).map(|number| table(choices, number, count));
        Schema { tables: tables.collect() }
    }

    /// Statements that make and fill the tables.
    pub fn statements(&self) -> Vec<String> {
        let mut all = Vec::new();
        for table in &self.tables {
            let columns = table.columns.iter().enumerate().map(|(number, column)| {
                let key = if number == 0 && table.has_key { " PRIMARY KEY" } else { "" };
                format!("{} {}{key}", column.name, column.data_type)
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            all.push(format!("CREATE TABLE {} ({columns})", table.name));
            all.extend(
                table
                    .indexes
                    .iter()
                    .map(|columns| format!("CREATE INDEX ON {} ({columns})", table.name)),
            );
            let mut numbers = Numbers(table.seed);
            let rows: Vec<String> =
                (0..table.rows).map(|row| self.row(table, row, &mut numbers)).collect();
            all.extend(
                rows.chunks(900)
                    .map(|rows| format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "))),
            );
        }
        all
    }

    fn row(&self, table: &Table, row: usize, numbers: &mut Numbers) -> String {
        let value = |(number, column): (usize, &Column)| match (number, column.domain) {
            (0, _) => (row * table.step).to_string(),
            _ if numbers.chance(8) => "NULL".to_owned(),
            _ => {
                let place = numbers.next() as usize;
                self.value(column, place)
            }
        };
        let values: Vec<String> = table.columns.iter().enumerate().map(value).collect();
        format!("({})", values.join(", "))
    }

    /// Some value of a column as a literal, of few: which one a number tells.
    pub fn value(&self, column: &Column, place: usize) -> String {
        let mut numbers = Numbers(place as u64);
        let small = numbers.below(14);
        let small = if numbers.chance(50) { numbers.below(small + 1) } else { small };
        let words =
            ["red", "green", "blue", "red-1", "blue-3", "", "Green", "grün", "a longer word"];
        match column.domain {
            Domain::KeyOf(table) => {
                let table = &self.tables[table];
                let row = numbers.below(table.rows + 2);
                let row = if numbers.chance(40) { numbers.below(row + 1) } else { row };
                (row * table.step).to_string()
            }
            Domain::Number => numbers.below(40).to_string(),
            Domain::Text => format!("'{}'", words[numbers.below(words.len())]),
            Domain::Any => match column.data_type {
                "numeric(10,2)" => format!("{}.{}5", small, small % 10),
                "boolean" => (if small > 6 { "true" } else { "false" }).to_owned(),
                "date" => format!("date '2024-{:02}-{:02}'", small % 12 + 1, small + 1),
                "timestamp" => format!("timestamp '2024-02-{:02} {:02}:30:00'", small + 1, small),
                "double precision" => format!("{}.{}", small, ["0", "25", "5", "75"][small % 4]),
                "varchar(20)" => format!("'{}'", words[small % words.len()]),
                _ => small.to_string(),
            },
        }
    }

    /// Updates, deletes and inserts some rows, and sometimes changes a definition.
    pub fn changes(&self, choices: &mut Choices) -> Vec<String> {
        let mut all = Vec::new();
        for table in &self.tables {
            let place = choices.below(1 << 20);
            let (least, share) = (choices.below(table.rows + 1), *choices.pick(&[0, 2, 10, 50]));
            let most = least + table.rows * share / 100;
            let (least, most) = (least * table.step, most * table.step);
            let name = &table.name;
            let number = 1 + choices.below(table.columns.len() - 1);
            let column = &table.columns[number];
            let value = self.value(column, place);
            all.push(format!(
                "UPDATE {name} SET {} = {value} WHERE id >= {least} AND id < {most}",
                column.name
            ));
            all.push(format!(
                "UPDATE {name} SET n = n + 1 WHERE n = {} AND n < 39",
                choices.below(40)
            ));
            if choices.chance(60) {
                all.push(format!(
                    "DELETE FROM {name} WHERE id >= {} AND id < {most}",
                    (least + most) / 2
                ));
            }
            let first = 20_000 + choices.below(30) * 40;
            let mut numbers = Numbers(place as u64);
            let rows: Vec<String> = (0..choices.below(20))
                .map(|row| self.row(table, first + row, &mut numbers))
                .collect();
            if !rows.is_empty() {
                let conflict = if table.has_key { " ON CONFLICT DO NOTHING" } else { "" };
                all.push(format!("INSERT INTO {name} VALUES {}{conflict}", rows.join(", ")));
            }
        }
        if choices.chance(25) {
            all.push(self.definition(choices));
        }
        all
    }

    /// A change of a table's definition that leaves all statements their meaning.
    fn definition(&self, choices: &mut Choices) -> String {
        let name = &choices.pick(&self.tables).name;
        let keys = *choices.pick(&["n", "r", "id", "s, n", "r, n"]);
        match choices.below(8) {
            0 | 1 => format!("CREATE INDEX IF NOT EXISTS {name}_later ON {name} ({keys})"),
            2 => format!("DROP INDEX IF EXISTS {name}_later"),
            3 => format!("ALTER TABLE {name} ALTER COLUMN n TYPE bigint"),
            4 => format!("ALTER TABLE {name} ALTER COLUMN s TYPE varchar(40)"),
            5 => format!("ALTER TABLE {name} ADD COLUMN IF NOT EXISTS later int DEFAULT 5"),
            6 => format!("ALTER TABLE {name} DROP COLUMN IF EXISTS later"),
            _ => format!("TRUNCATE {name}"),
        }
    }
}

fn table(choices: &mut Choices, number: usize, count: usize) -> Table {
    let key = *choices.pick(&["int", "bigint"]);
    let column =
        |name: &str, data_type, domain| Column { name: name.to_owned(), data_type, domain };
    let refers_to = choices.below(count);
    let mut columns = vec![
        column("id", key, Domain::KeyOf(number)),
        column("r", *choices.pick(&["int", "bigint"]), Domain::KeyOf(refers_to)),
        column("n", "int", Domain::Number),
        column("s", "text", Domain::Text),
    ];
    for extra in 0..choices.between(1, 3) {
        let data_type: &'static str = TYPES[choices.below(TYPES.len())];
        columns.push(column(&format!("x{extra}"), data_type, Domain::Any));
    }
    let most = *choices.pick(&[4, 3, 6, 7]);
    let rows = ROWS[choices.below(most)];
    let has_key = !choices.chance(20);
    let mut indexes = Vec::new();
    for own in ["r", "n", "n, r", "s", "id, n", "x0"] {
        if choices.chance(30) {
            indexes.push(own.to_owned());
        }
    }
    let step = *choices.pick(&[1, 1, 3, 500]);
    let seed = choices.below(1 << 20) as u64;
    Table { name: format!("t{number}"), columns, indexes, has_key, rows, step, seed }
}
