//! DECLARE, FETCH and MOVE, from PostgreSQL's nodes. The query of a DECLARE is planned as any other.

use engine::types::Result;
use syntax::{DeclareCursorStmt, FetchDirection, FetchStmt};

use super::constraint::unsupported;
use crate::template::behind;

/// PostgreSQL's flags of a DECLARE (`CURSOR_OPT_`).
const BINARY: i32 = 0x0001;
const SCROLL: i32 = 0x0002;
const HOLD: i32 = 0x0020;

/// FETCH or MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor.
    pub name: String,
    /// Which rows.
    pub direction: Direction,
    /// Whether it is a MOVE, which gives no rows.
    pub silent: bool,
}

/// DECLARE name CURSOR FOR query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declare {
    /// The cursor.
    pub name: String,
    /// SCROLL: it can go back.
    pub scroll: bool,
    /// WITH HOLD: it outlives the transaction.
    pub hold: bool,
    /// Where in the statement's text the query starts.
    pub query: usize,
}

/// Which rows of a cursor, seen from where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The next so many; `None`: all that follow.
    Forward(Option<u64>),
    /// The so many before, backwards; `None`: all.
    Backward(Option<u64>),
    /// The one with that number, from the end where it is below zero.
    Absolute(i64),
    /// The one so many further on.
    Relative(i64),
}

/// DECLARE of its node.
pub fn declare(declare: DeclareCursorStmt<'_>, text: &str) -> Result<Declare> {
    let has = |flag| declare.options() & flag != 0;
    if has(BINARY) {
        return Err(unsupported("DECLARE BINARY CURSOR"));
    }
    Ok(Declare {
        name: declare.portalname().unwrap_or_default().to_owned(),
        scroll: has(SCROLL),
        hold: has(HOLD),
        // Its nodes do not tell.
        query: behind(text, "for"),
    })
}

/// FETCH and MOVE of their node.
pub fn fetch(fetch: FetchStmt<'_>) -> Fetch {
    let count = fetch.how_many();
    let direction = match fetch.direction() {
        FetchDirection::Forward => towards(count),
        FetchDirection::Backward if count == ALL => Direction::Backward(None),
        FetchDirection::Backward => towards(-count),
        FetchDirection::Absolute => Direction::Absolute(count),
        FetchDirection::Relative => Direction::Relative(count),
    };
    let name = fetch.portalname().unwrap_or_default().to_owned();
    Fetch { name, direction, silent: fetch.ismove() }
}

/// PostgreSQL's number for ALL (`FETCH_ALL`).
const ALL: i64 = i64::MAX;

fn towards(count: i64) -> Direction {
    match count {
        ALL => Direction::Forward(None),
        0.. => Direction::Forward(Some(count.unsigned_abs())),
        _ => Direction::Backward(Some(count.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Asked, Command, command};

    fn fetch(text: &str) -> (String, Direction) {
        match command(text) {
            Ok(Command::Fetch(fetch)) => (fetch.name, fetch.direction),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn directions_are_postgresqls() {
        let one = Direction::Forward(Some(1));
        assert_eq!(fetch("FETCH c"), ("c".into(), one));
        assert_eq!(fetch("fetch from \"C\";"), ("C".into(), one));
        assert_eq!(fetch("FETCH 5 IN c"), ("c".into(), Direction::Forward(Some(5))));
        assert_eq!(fetch("FETCH -2 c"), ("c".into(), Direction::Backward(Some(2))));
        assert_eq!(fetch("FETCH BACKWARD 0 c"), ("c".into(), Direction::Forward(Some(0))));
        assert_eq!(fetch("FETCH ALL c"), ("c".into(), Direction::Forward(None)));
        assert_eq!(fetch("MOVE BACKWARD ALL FROM c"), ("c".into(), Direction::Backward(None)));
        assert_eq!(fetch("FETCH FORWARD c"), ("c".into(), one));
        assert_eq!(fetch("FETCH LAST c"), ("c".into(), Direction::Absolute(-1)));
        assert_eq!(fetch("FETCH RELATIVE -1 FROM c"), ("c".into(), Direction::Relative(-1)));
        assert_eq!(fetch("FETCH next"), ("next".into(), one));
    }

    #[test]
    fn declarations_say_where_the_query_is() {
        let text = "DECLARE \"for\" /* for */ NO SCROLL CURSOR WITH HOLD FOR\n SELECT 1";
        let Ok((Asked::Declare(declare), _)) = Asked::of(text) else { panic!("it is one") };
        assert!(declare.hold && !declare.scroll);
        assert_eq!((&*declare.name, &text[declare.query..]), ("for", "SELECT 1"));
    }
}
