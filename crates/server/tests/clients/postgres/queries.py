"""Random queries: a small function for each kind of clause. What a query gives is determined, but for the order of rows
where it does not end in ORDER BY."""

import re
from dataclasses import dataclass

from expressions import TYPES, Item, Scope, column, comparison, condition, constant, correlation, null, table_of, value
from tables import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, NUMERIC, TEXT, TIMESTAMP

# What DISTINCT, GROUP BY and set operations compare.
COMPARED = (INTEGER, TEXT, DATE, NUMERIC, BIGINT, BOOLEAN, TIMESTAMP, DOUBLE)


@dataclass
class Query:
    text: str
    # Names and types of the columns.
    columns: list

    def items(self, name):
        return [Item(f"{name}.{column.text}", column.type) for column in self.columns]


def top_query(statement):
    """A whole statement, and whether the order of its rows is determined."""
    depth, named = statement.choices.below(3), not statement.choices.chance(25)
    make = whole_table_aggregates if statement.choices.chance(10) else query
    made = make(statement, depth, named=named)
    if statement.choices.chance(60):
        return made.text + order_and_limit(statement, made), True
    return made.text, False


def query(statement, depth, wanted=None, named=True):
    """A query without ORDER BY, of columns of the `wanted` types. Never aggregates without GROUP BY: DataFusion takes the columns of
    their row for constants, and does not sort by them above a UNION or sets of grouping keys."""
    choices = statement.choices
    kind = choices.below(19)
    if kind < 9:
        return plain(statement, depth, wanted, named)
    if kind < 15:
        return grouped(statement, depth, wanted, named)
    if kind < 16:
        return distinct_on(statement, depth, wanted, named)
    if kind < 17 and depth > 0:
        return with_query(statement, depth, wanted, named)
    if depth > 0:
        return set_operation(statement, depth, wanted, named)
    return plain(statement, depth, wanted, named)


def sub_query(statement, depth):
    """A query in parentheses, now and then one that takes only the first rows."""
    made = query(statement, depth)
    if statement.choices.chance(12):
        made.text += order_and_limit(statement, made)
    return made


def order_and_limit(statement, made):
    """An order by all columns, so that rows that are not told apart are equal."""
    choices = statement.choices
    places = choices.several(range(1, len(made.columns) + 1), len(made.columns))
    places += [place for place in range(1, len(made.columns) + 1) if place not in places]
    keys = [f"{place}{choices.one_of(('', ' DESC'))}{choices.one_of(('', '', ' NULLS FIRST', ' NULLS LAST'))}" for place in places]
    text = f" ORDER BY {', '.join(keys)}"
    if choices.chance(40):
        text += f" LIMIT {choices.constant_below(12)}"
        if choices.chance(30):
            text += f" OFFSET {choices.constant_below(4)}"
    return text


# FROM


def relation(statement, depth):
    """A relation's text and columns."""
    choices = statement.choices
    kind = choices.below(20)
    if kind >= 13 and statement.named_queries and choices.chance(70):
        known, name = choices.one_of(statement.named_queries), statement.fresh_name()
        return f"{known.text} {name}", known.items(name)
    if kind >= 13 and depth > 0:
        made, name = sub_query(statement, depth - 1), statement.fresh_name()
        return f"({made.text}) {name}", made.items(name)
    if kind == 12:
        return values_list(statement)
    if kind == 11:
        name = statement.fresh_name()
        return f"generate_series(1, {1 + choices.constant_below(6)}) AS {name}(i)", [Item(f"{name}.i", INTEGER)]
    return table_of(statement)


def values_list(statement):
    choices = statement.choices
    types = choices.several(COMPARED, 3)
    rows = []
    for number in range(1 + choices.below(4)):
        # The first row gives the types.
        row = [null(given) if number and choices.chance(20) else constant(statement, given) for given in types]
        rows.append(f"({', '.join(row)})")
    name = statement.fresh_name()
    columns = [f"c{number}" for number in range(len(types))]
    items = [Item(f"{name}.{column}", given) for column, given in zip(columns, types)]
    return f"(VALUES {', '.join(rows)}) AS {name}({', '.join(columns)})", items


def from_clause(statement, depth):
    """Joined relations: text and scope."""
    text, items = relation(statement, depth)
    joins = statement.choices.one_of((0, 0, 1, 1, 2))
    for _ in range(joins):
        if statement.choices.chance(10):
            more, items = lateral(statement, items, depth)
        else:
            more, items = join(statement, items, depth)
        text += more
    return text, Scope(items)


def join(statement, items, depth):
    """A join on columns of equal types. Without one nothing is joined: pairs of all rows are too many."""
    choices = statement.choices
    text, more = relation(statement, depth - 1)
    pairs = [(left, right) for left in items for right in more if left.type == right.type]
    if not pairs:
        return "", items
    equal = [f"{left.text} = {right.text}" for left, right in choices.several(pairs, choices.one_of((1, 1, 1, 2)))]
    word = choices.one_of(("JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"))
    # PostgreSQL takes nothing but equalities for a FULL JOIN.
    if word != "FULL JOIN" and choices.chance(20):
        equal.append(condition(statement, Scope(items + more), 0))
    return f" {word} {text} ON {' AND '.join(equal)}", items + more


def lateral(statement, items, depth):
    choices = statement.choices
    text, inner = table_of(statement)
    scope = Scope(inner, Scope(items))
    name = statement.fresh_name()
    given = choices.one_of((INTEGER, TEXT, NUMERIC, DATE))
    # We refuse other comparisons with the row around (0A000).
    narrowed = correlation(statement, scope, depth, operators=("=",))
    if choices.chance(50):
        function = choices.one_of(("min", "max", "count"))
        columns = [Item(f"{name}.c0", BIGINT if function == "count" else given)]
        selected = f"{function}({column(statement, Scope(inner), given)}) AS c0"
    else:
        columns = [Item(f"{name}.c0", given), Item(f"{name}.c1", inner[0].type)]
        selected = f"{value(statement, Scope(inner), given, depth)} AS c0, {inner[0].text} AS c1"
    word, end = choices.one_of((("CROSS JOIN", ""), ("LEFT JOIN", " ON true"), ("JOIN", " ON true")))
    return f" {word} LATERAL (SELECT {selected} FROM {text}{narrowed}) {name}{end}", items + columns


def where(statement, scope, depth):
    conditions = [condition(statement, scope, depth) for _ in range(statement.choices.one_of((0, 1, 1, 2)))]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


# SELECT


def select_list(selected, named):
    """The text of a list of items, and the columns that it makes. What an expression without a name is called only
    the end of a statement may ask, since names may be equal."""
    columns = [Item(f"c{number}", item.type) for number, item in enumerate(selected)]
    texts = [f"{item.text} AS {column.text}" if named else item.text for item, column in zip(selected, columns)]
    return ", ".join(texts), columns


def plain(statement, depth, wanted, named):
    choices = statement.choices
    text, scope = from_clause(statement, depth)
    filtered = where(statement, scope, depth)
    distinct = "DISTINCT " if choices.chance(15) else ""
    types = wanted or chosen_types(statement, scope)
    # One window at most: rows that are equal in all columns may change places between two. We cannot order one by intervals.
    framed = choices.below(len(types)) if choices.chance(25) and not scope.of_type(INTERVAL) else None
    selected = []
    for number, given in enumerate(types):
        if number == framed:
            selected.append(Item(window(statement, scope, given), given))
        else:
            selected.append(Item(value(statement, scope, given, choices.below(depth + 2)), given))
    listed, columns = select_list(selected, named)
    return Query(f"SELECT {distinct}{listed} FROM {text}{filtered}", columns)


def chosen_types(statement, scope):
    """Types of one to four columns, mostly such as there are."""
    there = [item.type for item in scope.items]
    count = 1 + statement.choices.below(4)
    return [statement.choices.one_of(TYPES if statement.choices.chance(25) else there) for _ in range(count)]


def distinct_on(statement, depth, wanted, named):
    """The first row of each key, in an order that leaves nothing open."""
    choices = statement.choices
    text, scope = from_clause(statement, depth)
    filtered = where(statement, scope, depth)
    keys = choices.several(scope.items, 2)
    order = [key.text for key in keys]
    order += [item.text + choices.one_of(("", " DESC")) for item in scope.items if item not in keys]
    selected = [Item(value(statement, scope, given, 1), given) for given in wanted or chosen_types(statement, scope)]
    listed, columns = select_list(selected, named=True)
    name = statement.fresh_name()
    first = f"SELECT DISTINCT ON ({', '.join(key.text for key in keys)}) {listed}"
    inner = f"{first} FROM {text}{filtered} ORDER BY {', '.join(order)}"
    again, columns = select_list([Item(f"{name}.{column.text}", column.type) for column in columns], named)
    return Query(f"SELECT {again} FROM ({inner}) {name}", columns)


# Windows

RANKS = ("row_number() OVER ({total})", "rank() OVER ({some})", "dense_rank() OVER ({some})", "count(*) OVER ({frame})",
         "count({.T}) OVER ({frame})", "sum({.integer}) OVER ({frame})", "count(*) OVER ({part})",
         "sum({.integer}) OVER ({some})")  # fmt: skip
NEIGHBOURS = ("lag({.T}) OVER ({total})", "lead({.T}) OVER ({total})", "first_value({.T}) OVER ({total})",
              "lag({.T}, 2) OVER ({total})", "last_value({.T}) OVER ({frame})",
              "first_value({.T}) OVER ({frame})", "nth_value({.T}, 2) OVER ({frame})")  # fmt: skip
EXTREMES = ("max({.T}) OVER ({frame})", "min({.T}) OVER ({frame})", "max({.T}) OVER ({part})", "min({.T}) OVER ({some})")
MEANS = ("round(avg({.integer}) OVER ({frame}), 4)", "sum({.numeric}) OVER ({frame})", "sum({.bigint}) OVER ({frame})",
         "round(avg({.numeric}) OVER ({part}), 4)")  # fmt: skip
SHARES = ("percent_rank() OVER ({some})", "cume_dist() OVER ({some})", "sum({.double precision}) OVER ({frame})",
          "avg({.double precision}) OVER ({frame})")  # fmt: skip
STARTS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 PRECEDING", "1 FOLLOWING")
ENDS = ("UNBOUNDED FOLLOWING", "CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING")


def window(statement, scope, wanted):
    """A window function of a type."""
    forms = {
        BIGINT: RANKS,
        NUMERIC: MEANS + NEIGHBOURS,
        DOUBLE: SHARES + NEIGHBOURS,
        # It is a bigint here.
        INTEGER: NEIGHBOURS + EXTREMES + ("(ntile(3) OVER ({total}))::integer",),
        BOOLEAN: NEIGHBOURS + ("bool_or({.boolean}) OVER ({frame})",),
    }.get(wanted, NEIGHBOURS + EXTREMES)
    form = statement.choices.one_of(forms)

    def place(match):
        kind, given = match.groups()
        if kind == ".":
            given = wanted if given == "T" else given
            # A bare string would be of no type here.
            return column(statement, scope, given) if scope.of_type(given) else null(given)
        return window_order(statement, scope, given)

    return re.sub(r"\{(\.?)([a-zA-Z ]+)\}", place, form)


def window_order(statement, scope, kind):
    """What stands in OVER: `part` without an order, `some` order, the `total` order, or that with a `frame`."""
    choices = statement.choices
    words = []
    if choices.chance(50):
        words.append(f"PARTITION BY {choices.one_of(scope.items).text}")
    if kind == "some":
        words.append(f"ORDER BY {choices.one_of(scope.items).text}{choices.one_of(('', ' DESC', ' NULLS FIRST'))}")
    if kind in ("total", "frame"):
        direction = choices.one_of(("", " DESC"))
        words.append("ORDER BY " + ", ".join(item.text + direction for item in scope.items))
    if kind == "frame" and choices.chance(60):
        start, end = choices.one_of(STARTS), choices.one_of(ENDS)
        if not (start == "1 FOLLOWING" and end == "CURRENT ROW"):
            words.append(f"{choices.one_of(('ROWS', 'ROWS', 'GROUPS'))} BETWEEN {start} AND {end}")
    return " ".join(words)


# GROUP BY

# Deviations and variances of integers are floats here, numerics there (docs/sql.md), and lengths of a string_agg bigints.
AGGREGATES = {
    INTEGER: ("min({integer})", "max({integer})"),
    BIGINT: ("count(*)", "sum({integer})", "count({T})", "count(DISTINCT {T})", "sum(DISTINCT {integer})", "max({bigint})",
             "sum(CASE WHEN {boolean} THEN 1 ELSE 0 END)", "sum({:integer})"),
    NUMERIC: ("sum({numeric})", "round(avg({integer}), 3)", "min({numeric})", "max({numeric})", "sum({bigint})", "avg({numeric})",
              "round(avg(DISTINCT {integer}), 2)", "round(stddev({integer})::numeric, 4)", "round(var_pop({integer})::numeric, 4)"),
    DOUBLE: ("sum({.double precision})", "avg({.double precision})", "max({double precision})", "min({.double precision})"),
    TEXT: ("min({text})", "max({text})", "string_agg({text}, ',' ORDER BY {total})::text"),
    BOOLEAN: ("bool_or({boolean})", "bool_and({boolean})", "every({boolean})"),
    DATE: ("min({date})", "max({date})"),
    TIMESTAMP: ("max({timestamp})", "min({timestamp})"),
    INTERVAL: ("max({interval})", "min({interval})", "sum({interval})"),
}  # fmt: skip


def aggregate(statement, scope, wanted, depth):
    choices = statement.choices
    scope = Scope(scope.items, asks=False)
    form = choices.one_of(AGGREGATES[wanted])
    counted = choices.one_of(scope.items).type

    def place(match):
        kind, given = match.groups()
        if given == "total":
            return ", ".join(item.text for item in scope.items)
        given = counted if given == "T" else given
        if kind == ":":
            return constant(statement, given)
        return column(statement, scope, given) if kind == "." else value(statement, scope, given, depth)

    text = re.sub(r"\{([:.]?)([a-zA-Z ]+)\}", place, form)
    # A FILTER belongs to the aggregate, not to what is computed of it, and must not ask a subquery here.
    if not text.startswith(("round(", "string_agg(")) and choices.chance(15):
        text += f" FILTER (WHERE {condition(statement, scope, 0)})"
    return text


KEYS = {
    INTEGER: ("({} % 3)", "abs({})", "({} + 1)"),
    TEXT: ("upper({})", "substr({}, 1, 1)", "coalesce({}, '-')"),
    DATE: ("date_trunc('month', {})::date", "({} + 1)"),
    TIMESTAMP: ("date_trunc('year', {})", "date_trunc('day', {})"),
    NUMERIC: ("round({}, 1)", "({} * 2)"),
    BOOLEAN: ("(NOT {})", "coalesce({}, false)"),
}


def grouping_key(statement, scope):
    """A column, or what is computed of one: a constant would be a number of a column."""
    item = statement.choices.one_of(scope.items)
    if item.type in KEYS and statement.choices.chance(25):
        return Item(statement.choices.one_of(KEYS[item.type]).format(item.text), item.type)
    return item


def grouping_clause(statement, keys, is_narrowed):
    choices = statement.choices
    texts = [key.text for key in keys]
    listed = ", ".join(texts)
    kind = choices.below(20)
    # Keys that are equal to a constant are NULL in some sets: PostgreSQL 15 forgets that when it sorts.
    if kind < 16 or is_narrowed:
        return listed
    if kind == 16:
        return f"ROLLUP ({listed})"
    if kind == 17:
        return f"CUBE ({listed})"
    if kind == 18 or len(keys) == 1:
        return f"GROUPING SETS (({listed}), ())"
    return f"GROUPING SETS (({listed}), ({texts[-1]}))"


def grouped(statement, depth, wanted, named):
    choices = statement.choices
    text, scope = from_clause(statement, depth)
    filtered = where(statement, scope, depth)
    keys = [grouping_key(statement, scope) for _ in range(choices.one_of((1, 1, 2, 3)))]
    is_narrowed = bool(filtered) or " AND " in text or "(SELECT" in text
    clause = grouping_clause(statement, keys, is_narrowed)
    if "(" in clause[:15] and len(set(keys)) < len(keys):
        # A key that one set names twice, or two equal sets, we refuse or sort wrongly.
        clause = ", ".join(key.text for key in keys)
    above = list(keys)
    for _ in range(choices.below(3)):
        given = choices.one_of((BIGINT, BIGINT, *TYPES))
        above.append(Item(aggregate(statement, scope, given, choices.below(2)), given))
    # A subquery that reads an aggregate of the query around it we refuse.
    above = Scope(above, asks=False)
    selected = chosen_items(statement, above, wanted)
    having = f" HAVING {comparison(statement, above, 1)}" if choices.chance(25) else ""
    listed, columns = select_list(selected, named)
    return Query(f"SELECT {listed} FROM {text}{filtered} GROUP BY {clause}{having}", columns)


def chosen_items(statement, scope, wanted):
    """What stands above a grouping: its keys and aggregates, and what is computed of them."""
    if wanted is None and statement.choices.chance(70):
        return statement.choices.several(scope.items, 4)
    types = wanted or [statement.choices.one_of(scope.items).type for _ in range(2)]
    return [Item(value(statement, scope, given, 1), given) for given in types]


def whole_table_aggregates(statement, depth, named):
    """Aggregates without GROUP BY: always one row, unless HAVING drops it."""
    choices = statement.choices
    text, scope = from_clause(statement, depth)
    filtered = where(statement, scope, depth)
    types = [choices.one_of((BIGINT, *TYPES)) for _ in range(1 + choices.below(3))]
    selected = [Item(aggregate(statement, scope, given, choices.below(2)), given) for given in types]
    having = f" HAVING count(*) > {choices.constant_below(50)}" if choices.chance(15) else ""
    listed, columns = select_list(selected, named)
    return Query(f"SELECT {listed} FROM {text}{filtered}{having}", columns)


# Queries of queries


def set_operation(statement, depth, wanted, named):
    choices = statement.choices
    types = wanted or choices.several(COMPARED, 3)
    if any(given == INTERVAL for given in types):
        return plain(statement, depth, types, named)
    left, right = query(statement, depth - 1, types, named), query(statement, depth - 1, types, named)
    word = choices.one_of(("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"))
    return Query(f"({left.text}) {word} ({right.text})", left.columns)


def with_query(statement, depth, wanted, named):
    choices = statement.choices
    made, name = sub_query(statement, depth - 1), statement.fresh_name()
    kept = choices.one_of(("", "", " MATERIALIZED", " NOT MATERIALIZED"))
    known = Query(name, made.columns)
    before = len(statement.named_queries)
    statement.named_queries.append(known)
    body = query(statement, depth - 1, wanted, named)
    del statement.named_queries[before:]
    return Query(f"WITH {name} AS{kept} ({made.text}) {body.text}", body.columns)
