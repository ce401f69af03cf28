//! What a block reads of its own changes is what everybody reads once it has committed.

use engine::env::{Randomness, SeededRandomness};
use sql::Session;

use crate::connection::{database, query};

const TABLES: &str = "CREATE TABLE shelf (s int PRIMARY KEY, name text);
    CREATE TABLE line (c int, i int, qty int, note text, PRIMARY KEY (c, i));
    CREATE TABLE item (i int PRIMARY KEY, s int, title text);
    CREATE INDEX item_shelf ON item (s, title);
    CREATE INDEX line_item ON line (i)";

struct Draw(SeededRandomness);

impl Draw {
    fn below(&self, limit: u64) -> u64 {
        self.0.next() % limit
    }

    /// A change of one of the tables; keys are few, so that changes meet.
    fn change(&self) -> String {
        let (c, i, s) = (self.below(4), self.below(8), self.below(3));
        let qty = if self.below(5) == 0 { "NULL".to_owned() } else { self.below(9).to_string() };
        match self.below(8) {
            0 | 1 => format!(
                "INSERT INTO line VALUES ({c}, {i}, {qty}, 'n{i}') ON CONFLICT (c, i) DO UPDATE SET qty = {qty}"
            ),
            2 => format!("UPDATE line SET qty = {qty} WHERE c = {c}"),
            3 => format!("DELETE FROM line WHERE c = {c} AND i = {i}"),
            4 => format!("DELETE FROM line WHERE i = {i}"),
            5 => format!("UPDATE item SET s = {s} WHERE i = {i}"),
            6 => format!("INSERT INTO item VALUES ({i}, {s}, 't{i}') ON CONFLICT DO NOTHING"),
            _ => format!("UPDATE line SET c = {c}, i = 100 + {i} WHERE c = 9 AND i = {i}"),
        }
    }

    /// A query that looks up by key, by a prefix of a key, or by joins of both.
    fn question(&self) -> String {
        let (c, i, s) = (self.below(5), self.below(9), self.below(4));
        match self.below(10) {
            0 => format!("SELECT qty FROM line WHERE c = {c} AND i = {i}"),
            1 => format!("SELECT * FROM line WHERE c = {c} ORDER BY i"),
            2 => format!("SELECT count(*), max(qty), min(note) FROM line WHERE c = {c}"),
            3 => format!(
                "SELECT * FROM line JOIN item ON line.i = item.i WHERE c = {c} ORDER BY item.i"
            ),
            4 => format!(
                "SELECT c, title, name FROM line, item, shelf WHERE line.i = item.i AND item.s = shelf.s \
                 AND c = {c} ORDER BY title, c"
            ),
            5 => {
                format!("SELECT title FROM item WHERE s = {s} ORDER BY title DESC LIMIT 2 OFFSET 1")
            }
            6 => format!("SELECT c, i FROM line WHERE i = {i} AND qty > 3 ORDER BY c"),
            7 => format!("SELECT i, qty * 2 + 1, upper(note) FROM line WHERE c = {c} ORDER BY 1"),
            8 => format!("SELECT c, sum(qty) FROM line WHERE c = {c} GROUP BY c"),
            _ => {
                format!("SELECT x.i FROM item x, item y WHERE x.s = y.s AND x.i = {i} ORDER BY y.i")
            }
        }
    }
}

async fn ask(session: &mut Session, question: &str) -> String {
    match query(session, question).await {
        Ok(given) => format!("{:?}", given.rows),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn own_reads_equal_reads_after_commit() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_120_801);
    println!("SEED={seed}");
    let draw = Draw(SeededRandomness::new(seed));
    let database = database();
    let (mut block, mut reader) = (database.session("shareddb"), database.session("shareddb"));
    query(&mut block, TABLES).await.expect("created");
    query(&mut block, "INSERT INTO shelf VALUES (0, 'a'), (1, 'b')").await.expect("filled");
    for round in 0..150 {
        query(&mut block, "BEGIN").await.expect("begins");
        let mut asked = Vec::new();
        for _ in 0..=draw.below(5) {
            let change = draw.change();
            query(&mut block, &change).await.unwrap_or_else(|error| panic!("{change}: {error}"));
            asked.clear();
            for _ in 0..4 {
                let question = draw.question();
                let answer = ask(&mut block, &question).await;
                asked.push((question, answer));
            }
        }
        query(&mut block, "COMMIT").await.expect("commits");
        for (question, inside) in asked {
            let after = ask(&mut reader, &question).await;
            assert_eq!(inside, after, "round {round}, seed {seed}: {question}");
        }
    }
}
