//! What readers ask, and what holds of each answer at any moment.

use super::{ACCOUNTS, BRANCHES, OPENING, REGIONS};

/// The rows of an answer, as text.
pub type Rows = Vec<Vec<Option<String>>>;

/// A statement, and what must hold of its rows in whatever order they come.
pub struct Question {
    /// With `$1` for the number of a branch.
    pub text: &'static str,
    pub holds: fn(&[Vec<Option<String>>]) -> bool,
}

/// The text for one who sends no parameters.
pub fn with(text: &str, branch: usize) -> String {
    text.replace("$1", &branch.to_string())
}

fn number(cell: &Option<String>) -> i64 {
    cell.as_ref().map_or(0, |text| text.parse().expect("a whole number"))
}

fn sum(rows: &[Vec<Option<String>>], column: usize) -> i64 {
    rows.iter().map(|row| number(&row[column])).sum()
}

/// Amounts and numbers of accounts, in the last two columns, are those of the whole.
fn adds_up(rows: &[Vec<Option<String>>]) -> bool {
    let Some(width) = rows.first().map(Vec::len) else { return false };
    sum(rows, width - 2) == (ACCOUNTS * OPENING) as i64 && sum(rows, width - 1) == ACCOUNTS as i64
}

fn is_empty(rows: &[Vec<Option<String>>]) -> bool {
    rows.is_empty()
}

/// One row of zeros, or of NULL.
fn is_zero(rows: &[Vec<Option<String>>]) -> bool {
    rows.len() == 1 && rows[0].iter().all(|cell| number(cell) == 0)
}

/// The first in `ORDER BY second column DESC, first column LIMIT 20` beside the maximum in the third.
fn is_top(rows: &[Vec<Option<String>>]) -> bool {
    let keys: Vec<_> = rows.iter().map(|row| (-number(&row[1]), number(&row[0]))).collect();
    let is_first = rows.first().is_some_and(|row| row[1] == row[2]);
    rows.len() == 20 && is_first && keys.windows(2).all(|pair| pair[0] < pair[1])
}

/// Two columns that are equal in each of as many rows as there are accounts.
fn meets_itself(rows: &[Vec<Option<String>>]) -> bool {
    adds_up(rows) && rows.iter().all(|row| row[0] == row[1])
}

/// As often as there are accounts.
fn counts_accounts(rows: &[Vec<Option<String>>]) -> bool {
    rows.len() == 1 && rows[0].iter().all(|cell| number(cell) == ACCOUNTS as i64)
}

pub const QUESTIONS: [Question; 32] = [
    Question { text: "SELECT sum(amount), count(*) FROM account", holds: adds_up },
    Question {
        text: "SELECT sum(opening), count(i) FROM account WHERE grade >= 0",
        holds: adds_up,
    },
    Question { text: "SELECT amount, 1 FROM account", holds: adds_up },
    Question {
        text: "SELECT branch, sum(amount), count(*) FROM account GROUP BY branch",
        holds: adds_up,
    },
    Question {
        text: "SELECT note, sum(amount), count(*) FROM account GROUP BY note ORDER BY note",
        holds: adds_up,
    },
    Question {
        text: "SELECT b.region, sum(a.amount), count(*) FROM account a JOIN branch b \
               ON a.branch = b.b GROUP BY b.region",
        holds: |rows| rows.len() <= REGIONS && adds_up(rows),
    },
    Question {
        text: "SELECT b.region, a.grade::text, sum(a.amount), count(*) FROM account a, branch b \
               WHERE a.branch = b.b GROUP BY b.region, a.grade ORDER BY 1, 2",
        holds: adds_up,
    },
    Question {
        text: "SELECT b.b, sum(a.amount), count(a.i) FROM branch b LEFT JOIN account a \
               ON a.branch = b.b GROUP BY b.b",
        holds: |rows| rows.len() == BRANCHES && adds_up(rows),
    },
    Question {
        text: "SELECT a.branch = b.b, true, a.amount, 1 FROM account a JOIN branch b \
               ON a.branch = b.b ORDER BY a.amount, a.i",
        holds: meets_itself,
    },
    Question {
        text: "SELECT a.branch, b.branch, a.amount, 1 FROM account a JOIN account b ON a.i = b.i",
        holds: meets_itself,
    },
    Question {
        text: "SELECT a.note, b.note, a.amount, 1 FROM account a JOIN account b \
               ON a.i = b.i AND a.branch = b.branch AND a.amount = b.amount",
        holds: meets_itself,
    },
    Question {
        text: "SELECT sum(amount), count(*) FROM account a \
               WHERE EXISTS (SELECT 1 FROM branch b WHERE b.b = a.branch)",
        holds: adds_up,
    },
    Question {
        text: "SELECT sum(amount), count(*) FROM account WHERE branch IN (SELECT b FROM branch)",
        holds: adds_up,
    },
    Question {
        text: "SELECT i FROM account a \
               WHERE NOT EXISTS (SELECT 1 FROM branch b WHERE b.b = a.branch)",
        holds: is_empty,
    },
    Question {
        text: "SELECT e, i FROM entry e \
               WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.i = e.i)",
        holds: is_empty,
    },
    Question {
        text: "SELECT e.e, e.i FROM entry e LEFT JOIN account a ON e.i = a.i WHERE a.i IS NULL",
        holds: is_empty,
    },
    Question {
        text: "SELECT a.i, a.amount - a.opening, s.moved FROM account a \
               LEFT JOIN (SELECT i, sum(amount) AS moved FROM entry GROUP BY i) s ON s.i = a.i \
               WHERE a.amount - a.opening <> coalesce(s.moved, 0)",
        holds: is_empty,
    },
    Question {
        text: "SELECT a.i, a.amount - a.opening, sum(e.amount) FROM account a \
               JOIN entry e ON e.i = a.i GROUP BY a.i, a.amount, a.opening \
               HAVING a.amount - a.opening <> sum(e.amount)",
        holds: is_empty,
    },
    Question {
        text: "SELECT a.i FROM account a FULL JOIN branch b ON a.branch = b.b \
               WHERE b.b IS NULL AND a.i IS NOT NULL",
        holds: is_empty,
    },
    Question {
        text: "SELECT i, count(*) FROM account GROUP BY i HAVING count(*) > 1",
        holds: is_empty,
    },
    Question {
        text: "SELECT i, branch FROM account WHERE branch = $1 AND branch <> $1 + 0",
        holds: is_empty,
    },
    Question {
        text: "SELECT i, amount, (SELECT max(amount) FROM account) FROM account \
               ORDER BY amount DESC, i LIMIT 20",
        holds: is_top,
    },
    Question {
        text: "SELECT a.i, a.amount, (SELECT max(amount) FROM account) FROM account a \
               JOIN branch b ON a.branch = b.b ORDER BY a.amount DESC, a.i LIMIT 20",
        holds: is_top,
    },
    Question {
        text: "SELECT count(DISTINCT i), count(i), count(*) FROM account",
        holds: counts_accounts,
    },
    Question {
        text: "SELECT max(place), count(*) FROM \
               (SELECT row_number() OVER (ORDER BY amount, i) AS place FROM account) w",
        holds: counts_accounts,
    },
    Question {
        text: "SELECT sum(amount), count(*) FROM account WHERE branch < $1 \
               UNION ALL SELECT sum(amount), count(*) FROM account WHERE branch >= $1",
        holds: adds_up,
    },
    Question {
        text: "SELECT sum(amount), count(*) FROM account WHERE branch = $1 \
               UNION ALL SELECT sum(amount), count(*) FROM account WHERE branch <> $1",
        holds: adds_up,
    },
    Question {
        text: "SELECT (SELECT sum(amount) FROM account) \
               - (SELECT sum(a.amount) FROM account a JOIN branch b ON a.branch = b.b)",
        holds: is_zero,
    },
    Question {
        text: "SELECT (SELECT sum(amount) FROM account WHERE branch = $1) - (SELECT sum(a.amount) \
               FROM account a JOIN branch b ON a.branch = b.b WHERE b.b = $1)",
        holds: is_zero,
    },
    Question { text: "SELECT sum(amount), count(*) % 2 FROM entry", holds: is_zero },
    Question {
        text: "WITH g AS (SELECT branch, sum(amount) AS s, count(*) AS c FROM account \
               GROUP BY branch) SELECT sum(g.s), sum(g.c) FROM g JOIN branch b ON b.b = g.branch",
        holds: adds_up,
    },
    Question {
        text: "SELECT i - 2 * $1, opening - opening FROM account WHERE i = 2 * $1",
        holds: is_zero,
    },
];
