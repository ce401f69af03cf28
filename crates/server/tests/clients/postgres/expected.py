"""Differences from PostgreSQL that are known, by root: each with its reason and an example. The list only shrinks; what is on it
names PostgreSQL's front end (grammar, analysis of types), which is not ours yet."""

import re
from collections.abc import Callable
from dataclasses import dataclass

TEXT, VARCHAR, BIGINT, NUMERIC = 25, 1043, 20, 1700
SET_OPERATION = re.compile(r"\b(UNION|EXCEPT|INTERSECT)\b", re.IGNORECASE)
WINDOW = re.compile(r"\bOVER\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class Root:
    name: str
    reason: str
    example: str
    # Of the statement's text, our answer and PostgreSQL's.
    holds: Callable


def refused(begin):
    return lambda text, ours, theirs: ours.state == "0A000" and ours.message.startswith(begin)


def types_differ_only(ours, theirs, mine, other):
    pairs = [pair for pair in zip(ours.types, theirs.types) if pair[0] != pair[1]]
    return bool(pairs) and len(ours.types) == len(theirs.types) and all(pair == (mine, other) for pair in pairs)


def many_digits(text, ours, theirs):
    return ours.state == "22003" and "a parameter has more digits than" in ours.message


def union_of_texts(text, ours, theirs):
    return bool(SET_OPERATION.search(text)) and types_differ_only(ours, theirs, TEXT, VARCHAR)


def union_of_numbers(text, ours, theirs):
    return bool(SET_OPERATION.search(text) and WINDOW.search(text)) and types_differ_only(ours, theirs, NUMERIC, BIGINT)


ROOTS = (
    Root(
        "digits of parameters",
        "a parameter has its column's type; what that would cut is refused rather than compared as another value",
        "SELECT * FROM c WHERE w <= $1, where w is numeric(10,2) and $1 is 100.125",
        many_digits,
    ),
    Root("subqueries in RETURNING", "its rows are made by the write", "DELETE .. RETURNING (SELECT 1)", refused("not supported here: a subquery")),
    Root("subqueries in VALUES", "IN and EXISTS there", "VALUES (1 IN (SELECT 1))", refused("this kind of subquery in VALUES is not supported")),
    Root("subqueries in subqueries", "kinds that cannot be joined", "a subquery of a subquery's outer rows", refused("Physical plan does not support")),
    Root(
        "sliding aggregates",
        "frames that lose rows",
        "bool_or(x) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        refused("Aggregate can not be used as a sliding accumulator"),
    ),
    Root(
        "sets of groups over intervals",
        "intervals are grouped by what they amount to, which grouping sets would show",
        "SELECT at - lag FROM t GROUP BY ROLLUP (at - lag)",
        refused("grouping by arrays of intervals, or by sets with intervals"),
    ),
    Root("texts of set operations", "strings of two branches become text", "SELECT v FROM t UNION SELECT v FROM t, v varchar(9)", union_of_texts),
    Root(
        "numbers of windows in set operations",
        "row_number and its like are unsigned while branches are compared",
        "SELECT row_number() OVER () UNION SELECT 1::bigint",
        union_of_numbers,
    ),
)


def root(text, ours, theirs):
    """The name of the known root of a difference; `None` where there is none."""
    return next((root.name for root in ROOTS if root.holds(text, ours, theirs)), None)
