//! LIMIT and OFFSET of one activation.

use std::ops::Range;

use crate::types::{Error, Result, Scalar, SqlState, Value};

/// Which rows of an ordered result an activation wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Rows left out at the front.
    pub skip: u64,
    /// Rows kept at most after that.
    pub fetch: u64,
}

impl Cut {
    /// Every row.
    pub const ALL: Cut = Cut { skip: 0, fetch: u64::MAX };
    /// No row: what a slot has that does not use the node.
    pub const NONE: Cut = Cut { skip: 0, fetch: 0 };

    /// Position of the first row that is not wanted any more.
    pub fn end(self) -> u64 {
        self.skip.saturating_add(self.fetch)
    }

    /// What is wanted of those rows of the result.
    pub fn within(self, rows: Range<u64>) -> Cut {
        let (first, end) = (self.skip.max(rows.start), self.end().min(rows.end));
        match first < end {
            true => Cut { skip: first - rows.start, fetch: end - first },
            false => Cut::NONE,
        }
    }

    /// Binds OFFSET and LIMIT: parameters or literals; NULL means none.
    pub fn bind(skip: Option<&Scalar>, fetch: Option<&Scalar>, values: &[Value]) -> Result<Cut> {
        let skip = count(skip, values)?;
        let fetch = count(fetch, values)?;
        Ok(Cut {
            skip: natural(skip.unwrap_or(0), SqlState::InvalidOffset, "OFFSET")?,
            fetch: fetch.map_or(Ok(u64::MAX), |n| natural(n, SqlState::InvalidLimit, "LIMIT"))?,
        })
    }
}

fn natural(count: i64, state: SqlState, clause: &str) -> Result<u64> {
    u64::try_from(count).map_err(|_| Error::new(state, format!("{clause} must not be negative")))
}

fn count(scalar: Option<&Scalar>, parameters: &[Value]) -> Result<Option<i64>> {
    let value = match scalar {
        None => return Ok(None),
        Some(Scalar::Parameter(i)) => &parameters[*i],
        Some(Scalar::Literal(value)) => value,
        Some(other) => unreachable!("the planner makes {other:?} of LIMIT a derived parameter"),
    };
    Ok(match value {
        Value::Null => None,
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Integer(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        other => unreachable!("the planner coerces LIMIT to bigint, not {other:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_and_absence_keep_everything() {
        assert_eq!(Cut::bind(None, None, &[]), Ok(Cut::ALL));
        let null = Scalar::Parameter(0);
        assert_eq!(Cut::bind(Some(&null), Some(&null), &[Value::Null]), Ok(Cut::ALL));
    }

    #[test]
    fn ranges_of_a_result_are_cut_one_by_one() {
        let cut = Cut { skip: 5, fetch: 10 };
        let parts = [0..4, 4..8, 8..12, 12..20, 20..30].map(|rows| cut.within(rows));
        let some = |skip, fetch| Cut { skip, fetch };
        assert_eq!(parts, [Cut::NONE, some(1, 3), some(0, 4), some(0, 3), Cut::NONE]);
        assert_eq!(Cut::ALL.within(3..7), some(0, 4));
    }

    #[test]
    fn negative_counts_are_refused_with_their_own_states() {
        let negative = Scalar::Literal(Value::Integer(-1));
        let limit = Cut::bind(None, Some(&negative), &[]).map_err(|e| e.state.code());
        let offset = Cut::bind(Some(&negative), None, &[]).map_err(|e| e.state.code());
        assert_eq!((limit, offset), (Err("2201W"), Err("2201X")));
    }

    #[test]
    fn parameters_bind_by_position() {
        let cut = Cut::bind(
            Some(&Scalar::Parameter(1)),
            Some(&Scalar::Parameter(0)),
            &[Value::BigInt(50), Value::SmallInt(3)],
        );
        assert_eq!(cut, Ok(Cut { skip: 3, fetch: 50 }));
        assert_eq!(cut.map(Cut::end), Ok(53));
    }
}
