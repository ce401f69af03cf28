//! Those who change rows. Whatever they do is whole at its commit; some give up, cancel or vanish in between.

use std::time::Duration;

use super::{ACCOUNTS, BRANCHES, NUMBERS, Scene, fault};
use crate::cancel::cancel;
use crate::fuzz::Random;
use crate::raw::{Message, Messages, Raw};

/// The act ends here: refused, cancelled, thought better of.
struct GivenUp;

type Act = Result<(), GivenUp>;

struct Writer<'a> {
    scene: Scene<'a>,
    random: Random,
    raw: Raw,
    /// SQLSTATEs that the present act may meet.
    known: &'static [&'static str],
}

/// One after another until it is over.
pub fn run(scene: Scene<'_>, random: Random) {
    let mut writer = Writer { scene, random, raw: scene.fixture.connect(), known: &[] };
    while !scene.is_over() {
        if writer.act().is_err() {
            writer.raw.run("ROLLBACK");
        }
        std::thread::sleep(Duration::from_micros(writer.random.below(4_000) as u64));
    }
}

impl Writer<'_> {
    fn act(&mut self) -> Act {
        // What writes by itself never fails for a conflict.
        self.known = &[];
        match self.random.below(5) {
            0 => self.exchange(),
            1 => self.note_entries(),
            2 => self.move_accounts(),
            _ => {
                self.known = &["40001"];
                self.block()
            }
        }
    }

    fn block(&mut self) -> Act {
        match self.random.below(6) {
            0 => self.transfer(),
            1 => self.transfer_in_one_message(),
            2 => self.transfer_what_was_read(),
            3 => self.undo_half(),
            4 => self.close_for_another(),
            _ => self.renumber(),
        }
    }

    /// Two different accounts that are there for ever.
    fn two(&mut self) -> (usize, usize) {
        let first = self.random.below(ACCOUNTS / 2);
        let second = (first + 1 + self.random.below(ACCOUNTS / 2 - 1)) % (ACCOUNTS / 2);
        (2 * first, 2 * second)
    }

    /// An account that may be there.
    fn any(&mut self) -> usize {
        self.random.below(NUMBERS)
    }

    /// A number that only accounts have that come and go.
    fn odd(&mut self) -> usize {
        2 * self.random.below(NUMBERS / 2) + 1
    }

    fn amount(&mut self) -> usize {
        1 + self.random.below(100)
    }

    fn say(&mut self, text: &str) -> Result<Vec<Message>, GivenUp> {
        self.say_with(text, "")
    }

    /// Sends a statement and the rows of a COPY. Some clients cancel it, some vanish beside it, some roll back instead.
    fn say_with(&mut self, text: &str, rows: &str) -> Result<Vec<Message>, GivenUp> {
        let mood = self.random.below(40);
        if mood == 0 {
            return Err(GivenUp);
        }
        self.raw.query(text);
        if !rows.is_empty() {
            self.raw.message(b'd', rows.as_bytes());
            self.raw.message(b'c', b"");
        }
        self.raw.send();
        if mood == 1 {
            self.pause();
            self.raw = self.scene.fixture.connect();
            return Err(GivenUp);
        }
        if mood == 2 {
            self.pause();
            cancel(self.scene.fixture, self.raw.key);
        }
        let answer = self.raw.until_ready();
        let states = answer.states();
        let Some(state) = states.first() else { return Ok(answer) };
        let cancelled: &[&str] = if mood == 2 { &["57014"] } else { &[] };
        let known = [self.known, cancelled].concat();
        self.scene.expect(state, &known, &fault(&answer), text);
        Err(GivenUp)
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_micros(self.random.below(1_500) as u64));
    }

    /// A statement that must find a row, else nothing of the act shall be.
    fn find(&mut self, text: &str) -> Result<Vec<Message>, GivenUp> {
        let answer = self.say(text)?;
        let finds = answer.commands().iter().all(|command| !command.ends_with(" 0"));
        if finds { Ok(answer) } else { Err(GivenUp) }
    }

    fn begin(&mut self, mode: &str) -> Act {
        self.say(&format!("BEGIN {mode}")).map(drop)
    }

    fn commit(&mut self) -> Act {
        self.say("COMMIT").map(drop)
    }

    /// One statement, two rows.
    fn exchange(&mut self) -> Act {
        let ((a, b), x) = (self.two(), self.amount());
        self.say(&format!(
            "UPDATE account SET amount = amount + CASE WHEN i = {a} THEN {x} ELSE -{x} END, \
             opening = opening + CASE WHEN i = {a} THEN {x} ELSE -{x} END WHERE i IN ({a}, {b})"
        ))
        .map(drop)
    }

    /// Entries that undo each other.
    fn note_entries(&mut self) -> Act {
        let ((a, _), x) = (self.two(), self.amount());
        if self.random.below(3) > 0 {
            let text = format!("INSERT INTO entry (i, amount) VALUES ({a}, {x}), ({a}, -{x})");
            return self.say(&text).map(drop);
        }
        // COPY has its columns from the beginning to the end.
        self.known = &["40001"];
        let rows = format!("{a}\t{x}\n{a}\t-{x}\n");
        self.say_with("COPY entry (i, amount) FROM STDIN", &rows).map(drop)
    }

    /// Accounts go to another branch; found by key, by an index that may be there, by all rows, by a query.
    fn move_accounts(&mut self) -> Act {
        let (from, to, a) = (self.random.below(BRANCHES), self.random.below(BRANCHES), self.any());
        let text = match self.random.below(5) {
            0 => format!("UPDATE account SET branch = {to} WHERE i = {a}"),
            1 => format!("UPDATE account SET branch = {to} WHERE branch = {from} AND i % 3 = 0"),
            2 => format!("UPDATE account SET grade = {} WHERE note = 'note {to}'", a % 5),
            3 => format!(
                "UPDATE account SET branch = b.b, note = 'note ' || b.b FROM branch b \
                 WHERE b.b = {to} AND account.i BETWEEN {a} AND {a} + 3"
            ),
            _ => format!("UPDATE branch SET region = 'region {}' WHERE b = {to}", from % 4),
        };
        // What a query has to find is asked again a few times only.
        self.known = if text.contains("FROM") { &["40001"] } else { &[] };
        self.say(&text).map(drop)
    }

    fn move_amount(a: usize, b: usize, x: usize) -> [String; 3] {
        [
            format!("UPDATE account SET amount = amount - {x} WHERE i = {a}"),
            format!("UPDATE account SET amount = amount + {x} WHERE i = {b}"),
            format!("INSERT INTO entry (i, amount) VALUES ({a}, -{x}), ({b}, {x})"),
        ]
    }

    /// Statement by statement.
    fn transfer(&mut self) -> Act {
        let (a, b, x) = (self.any(), self.two().0, self.amount());
        let mode = ["", "ISOLATION LEVEL REPEATABLE READ"][self.random.below(2)];
        if a == b {
            return Ok(());
        }
        self.begin(mode)?;
        for text in Self::move_amount(a, b, x) {
            self.find(&text)?;
        }
        self.commit()
    }

    /// All in one message, which is a transaction.
    fn transfer_in_one_message(&mut self) -> Act {
        let ((a, b), x) = (self.two(), self.amount());
        self.say(&Self::move_amount(a, b, x).join("; ")).map(drop)
    }

    /// What the client has read is what it writes.
    fn transfer_what_was_read(&mut self) -> Act {
        let ((a, b), x) = (self.two(), self.amount());
        self.begin("")?;
        let rows =
            self.find(&format!("SELECT amount FROM account WHERE i = {a} FOR UPDATE"))?.rows();
        let amount: i64 = rows[0][0].as_ref().and_then(|a| a.parse().ok()).expect("a number");
        let [_, second, third] = Self::move_amount(a, b, x);
        self.find(&format!("UPDATE account SET amount = {} WHERE i = {a}", amount - x as i64))?;
        self.find(&second)?;
        self.find(&third)?;
        self.commit()
    }

    /// Part of the block is undone, then it goes on.
    fn undo_half(&mut self) -> Act {
        let ((a, b), x) = (self.two(), self.amount());
        let [first, second, third] = Self::move_amount(a, b, x);
        self.begin("")?;
        self.find(&first)?;
        self.say("SAVEPOINT half")?;
        self.find(&format!("UPDATE account SET amount = 0, branch = 0 WHERE i = {b}"))?;
        self.say(&format!("DELETE FROM account WHERE i = {}", a + 1))?;
        self.say(&format!("DELETE FROM entry WHERE i = {b}"))?;
        self.say("ROLLBACK TO half")?;
        self.find(&second)?;
        self.find(&third)?;
        self.commit()
    }

    /// An account is closed, another takes its amount and its entries.
    fn close_for_another(&mut self) -> Act {
        let (old, new, branch) = (self.odd(), self.odd(), self.random.below(BRANCHES));
        self.known = &["40001", "23505"];
        self.begin("")?;
        let closed = self.find(&format!(
            "DELETE FROM account WHERE i = {old} RETURNING amount, opening, grade::text, note"
        ))?;
        let row: Vec<String> = closed.rows().remove(0).into_iter().flatten().collect();
        let [amount, opening, grade, note] = &row[..] else { unreachable!("four columns") };
        self.find(&format!(
            "INSERT INTO account (i, branch, amount, opening, grade, note) \
             VALUES ({new}, {branch}, {amount}, {opening}, {grade}, '{note}')"
        ))?;
        self.say(&format!("UPDATE entry SET i = {new} WHERE i = {old}"))?;
        self.commit()
    }

    /// The same by statements that see no client's values: only REPEATABLE READ keeps them together.
    fn renumber(&mut self) -> Act {
        let (old, new) = (self.odd(), self.odd());
        self.known = &["40001", "23505"];
        self.begin("ISOLATION LEVEL REPEATABLE READ")?;
        if self.random.below(2) == 0 {
            self.find(&format!("UPDATE account SET i = {new} WHERE i = {old}"))?;
        } else {
            self.find(&format!(
                "INSERT INTO account (i, branch, amount, opening, grade, note) \
                 SELECT {new}, branch, amount, opening, grade, note FROM account WHERE i = {old}"
            ))?;
            self.find(&format!("DELETE FROM account WHERE i = {old}"))?;
        }
        self.say(&format!("UPDATE entry SET i = {new} WHERE i = {old}"))?;
        self.commit()
    }
}
