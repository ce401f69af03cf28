//! Clauses, as far as it matters to what may stand in them.

/// The clause that an expression is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    None,
    Other,
    JoinOn,
    FromSubselect,
    FromFunction,
    Where,
    Having,
    Filter,
    WindowPartition,
    WindowOrder,
    WindowFrameRange,
    WindowFrameRows,
    WindowFrameGroups,
    SelectTarget,
    InsertTarget,
    UpdateSource,
    UpdateTarget,
    GroupBy,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Returning,
    Values,
    ValuesSingle,
}

impl Place {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Place::None => "invalid expression kind",
            Place::Other => "extension expression",
            Place::JoinOn => "JOIN/ON",
            Place::FromSubselect => "sub-SELECT in FROM",
            Place::FromFunction => "function in FROM",
            Place::Where => "WHERE",
            Place::Having => "HAVING",
            Place::Filter => "FILTER",
            Place::WindowPartition => "window PARTITION BY",
            Place::WindowOrder => "window ORDER BY",
            Place::WindowFrameRange => "window RANGE",
            Place::WindowFrameRows => "window ROWS",
            Place::WindowFrameGroups => "window GROUPS",
            Place::SelectTarget => "SELECT",
            Place::InsertTarget => "INSERT",
            Place::UpdateSource | Place::UpdateTarget => "UPDATE",
            Place::GroupBy => "GROUP BY",
            Place::OrderBy => "ORDER BY",
            Place::DistinctOn => "DISTINCT ON",
            Place::Limit => "LIMIT",
            Place::Offset => "OFFSET",
            Place::Returning => "RETURNING",
            Place::Values | Place::ValuesSingle => "VALUES",
        }
    }

    /// How a message goes on that says that aggregates (or grouping operations) "are not allowed ..": `None` where they are.
    pub fn refuses_aggregates(self) -> Option<String> {
        let words = match self {
            Place::None | Place::Other | Place::Having | Place::SelectTarget => return None,
            Place::WindowPartition | Place::WindowOrder | Place::OrderBy => return None,
            Place::DistinctOn => return None,
            Place::JoinOn => "in JOIN conditions",
            Place::FromSubselect => "in FROM clause of their own query level",
            Place::FromFunction => "in functions in FROM",
            _ => return Some(format!("in {}", self.name())),
        };
        Some(words.to_owned())
    }

    /// The same of window functions.
    pub fn refuses_windows(self) -> Option<String> {
        let words = match self {
            Place::None | Place::Other | Place::SelectTarget | Place::OrderBy => return None,
            Place::DistinctOn => return None,
            Place::JoinOn => "in JOIN conditions",
            Place::FromFunction => "in functions in FROM",
            Place::WindowPartition | Place::WindowOrder | Place::WindowFrameRange => {
                "in window definitions"
            }
            Place::WindowFrameRows | Place::WindowFrameGroups => "in window definitions",
            _ => return Some(format!("in {}", self.name())),
        };
        Some(words.to_owned())
    }

    /// The same of set-returning functions.
    pub fn refuses_sets(self) -> Option<String> {
        let words = match self {
            Place::None
            | Place::Other
            | Place::SelectTarget
            | Place::FromSubselect
            | Place::FromFunction => {
                return None;
            }
            Place::WindowPartition | Place::WindowOrder | Place::GroupBy | Place::OrderBy => {
                return None;
            }
            Place::DistinctOn | Place::InsertTarget | Place::ValuesSingle => return None,
            Place::JoinOn => "in JOIN conditions",
            Place::WindowFrameRange | Place::WindowFrameRows | Place::WindowFrameGroups => {
                "in window definitions"
            }
            _ => return Some(format!("in {}", self.name())),
        };
        Some(words.to_owned())
    }
}
