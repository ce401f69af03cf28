"""Typed expressions: what a type's values are computed from is a table of forms, whose braces ask for values."""

import re
from dataclasses import dataclass, field

from choices import Choices
from tables import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, NUMERIC, TABLES, TEXT, TIMESTAMP

TYPES = (INTEGER, TEXT, BOOLEAN, DATE, NUMERIC, BIGINT, TIMESTAMP, DOUBLE, INTERVAL)
OIDS = {
    BOOLEAN: 16, BIGINT: 20, INTEGER: 23, TEXT: 25, DOUBLE: 701, DATE: 1082, TIMESTAMP: 1114, INTERVAL: 1186,
    NUMERIC: 1700,
}  # fmt: skip

CONSTANTS = {
    INTEGER: ("0", "1", "2", "3", "4", "5", "7", "9", "17", "-1"),
    BIGINT: ("1", "0", "-2", "3000000000"),
    NUMERIC: ("0.5", "1.50", "2.25", "0.00", "-7.1", "100.125"),
    DOUBLE: ("0.5", "0", "-1.25", "2"),
    TEXT: ("p", "q", "", "s", "zz", "Pq", "gr€n", "2"),
    BOOLEAN: ("true", "false"),
    DATE: ("2024-02-29", "2024-01-01", "1999-12-31", "2025-06-16"),
    TIMESTAMP: ("2024-02-29 12:30:15", "2024-03-31 01:02:03.25", "1999-12-31 00:00:00"),
    INTERVAL: ("1 day", "1 month", "90 minutes", "2 hours 30 seconds", "1 year 2 months 3 days"),
}
# How a constant of a type is written, where a bare word would be of another type.
WRITTEN = {
    INTEGER: "{}", NUMERIC: "{}", BIGINT: "{}::bigint", DOUBLE: "{}::double precision", TEXT: "'{}'", BOOLEAN: "{}",
    DATE: "date '{}'", TIMESTAMP: "timestamp '{}'", INTERVAL: "interval '{}'",
}  # fmt: skip

# The first form of a type is its simplest. `{type}` is any value of the type, `{:type}` a constant, `{.type}` a column,
# `{?type}` a constant whose type is told by what stands beside it.
FORMS = {
    INTEGER: (
        "({integer} + {:integer})", "({integer} - {integer})", "({integer} * {:integer})", "(- {integer})",
        "({integer} / nullif({integer}, 0))", "({integer} % nullif({:integer}, 0))", "abs({integer})",
        "length({text})", "position({:text} IN {text})", "strpos({text}, {text})", "({date} - {date})", "{boolean}::integer",
        "ascii({text})", "round({double precision})::integer", "sign({integer})::integer", "char_length({text})",
        "mod({integer}, nullif({integer}, 0))", "octet_length({text})",
        # Fields of times are integers here, numerics or floats there (docs/sql.md).
        "extract(year FROM {date})::integer", "extract(month FROM {timestamp})::integer", "extract(dow FROM {date})::integer",
        "extract(epoch FROM {date})::integer", "extract(day FROM {date})::integer", "extract(quarter FROM {timestamp})::integer",
        "extract(hour FROM {timestamp})::integer", "extract(doy FROM {date})::integer", "extract(isodow FROM {date})::integer",
        "extract(week FROM {date})::integer", "date_part('year', {timestamp})::integer", "date_part('month', {date})::integer",
        "date_part('minute', {timestamp})::integer",
    ),
    BIGINT: (
        "{integer}::bigint", "({bigint} + {integer})", "({bigint} - {bigint})", "abs({bigint})", "({bigint} % 7)",
    ),
    NUMERIC: (
        "({numeric} + {numeric})", "({numeric} - {integer})", "({numeric} * {:numeric})", "round({numeric}, 1)", "trunc({numeric})",
        "abs({numeric})", "ceil({numeric})", "floor({numeric})", "{integer}::numeric(12,2)", "(- {numeric})", "round({numeric})",
        "round({numeric} / nullif({numeric}, 0), 4)", "sign({numeric})", "trunc({numeric}, 1)", "mod({numeric}, 3)",
    ),
    DOUBLE: (
        "({double precision} + {double precision})", "({double precision} * {:double precision})", "abs({double precision})",
        "{integer}::double precision", "{numeric}::double precision", "sqrt(abs({double precision}))", "floor({double precision})",
        "ceil({double precision})", "round({double precision})", "({double precision} / nullif({double precision}, 0))",
        "(- {double precision})", "power({double precision}, 2)", "trunc({double precision})",
    ),
    TEXT: (
        "upper({text})", "lower({text})", "({text} || {text})", "substr({text}, {:integer})", "substr({text}, 1, 2)",
        "substring({text} FROM 2 FOR 1)", "trim({text})", "ltrim({text}, 'p')", "rtrim({text}, {:text})", "btrim({text}, 'pq')",
        "replace({text}, {:text}, 'x')", "left({text}, {:integer})", "right({text}, 2)", "lpad({text}, 4, '*')",
        "rpad({text}, {:integer}, 'ab')", "reverse({text})", "initcap({text})", "{integer}::text", "{date}::text",
        "concat({text}, {integer}, {text})", "split_part({text}, '_', 1)", "repeat({text}, 2)", "{boolean}::text",
        "concat_ws('-', {text}, {text})", "translate({text}, 'pq', 'x')", "{timestamp}::text", "chr(65 + abs({integer}) % 20)",
        "({text} || {integer})", "md5({text})", "overlay({text} PLACING 'x' FROM 1 FOR 1)",
    ),
    BOOLEAN: (
        "({boolean} AND {boolean})", "({boolean} OR {boolean})", "(NOT {boolean})", "({boolean} = {boolean})",
        "({boolean} IS TRUE)", "({boolean} IS NOT FALSE)", "({boolean} IS UNKNOWN)", "({boolean} <> {boolean})",
        "starts_with({text}, {:text})", "({boolean} IS NOT TRUE)",
    ),
    DATE: (
        "({date} + {:integer})", "({date} - {:integer})", "{timestamp}::date", "date_trunc('month', {timestamp})::date",
        "make_date(2024, 1 + abs({integer}) % 12, 1)",
    ),
    TIMESTAMP: (
        "date_trunc('month', {timestamp})", "date_trunc('day', {timestamp})", "({timestamp} + {:interval})",
        "({timestamp} - {:interval})", "{date}::timestamp", "({date} + {:interval})", "date_trunc('hour', {timestamp})",
        "date_trunc('year', {timestamp})", "date_trunc('quarter', {date}::timestamp)", "date_trunc('week', {timestamp})",
        "({timestamp} + {integer} * interval '1 day')", "date_trunc('second', {timestamp})",
    ),
    INTERVAL: (
        "({timestamp} - {timestamp})", "({interval} + {interval})", "({:interval} * {integer})", "({:integer} * {:interval})",
        "(- {:interval})",
    ),
}  # fmt: skip

# Forms of every type.
ANY = (
    "coalesce({T}, {T})",
    "CASE WHEN {boolean} THEN {T} ELSE {T} END",
    "CASE WHEN {boolean} THEN {T} WHEN {boolean} THEN {T} END",
    "CASE {integer} WHEN {:integer} THEN {T} ELSE {T} END",
    "nullif({T}, {T})",
    "greatest({T}, {T})",
    "least({T}, {T}, {T})",
)

# Conditions over two values of a type.
COMPARISONS = (
    "({.T} = {?T})",
    "({.T} > {?T})",
    "({.T} <= {?T})",
    "({.T} <> {?T})",
    "({.T} < {T})",
    "({T} >= {T})",
    "({:T} < {T})",
    "({.T} IS NULL)",
    "({T} IS NOT NULL)",
    "({.T} BETWEEN {?T} AND {?T})",
    "({.T} NOT BETWEEN {T} AND {:T})",
    "({T} BETWEEN SYMMETRIC {:T} AND {T})",
    "({.T} IN ({?T}, {?T}, {?T}))",
    "({.T} NOT IN ({?T}, {?T}))",
    "({T} IN ({:T}, {T}))",
    "({.T} IS DISTINCT FROM {T})",
    "({T} IS NOT DISTINCT FROM {:T})",
    "({.T} = ANY (ARRAY[{:T}, {:T}]))",
    "(({.T}, {integer}) = ({T}, {:integer}))",
    "(({.T}, {.integer}) IN (({:T}, {:integer}), ({:T}, {:integer})))",
    "(({.T}, {.integer}) < ({:T}, {:integer}))",
)
PATTERNS = ("%q%", "p%", "_", "%z", "P%", "p_%", "p\\_q", "", "%", "5_\\%", "%€%")
LIKES = ("({text} LIKE '%s')", "({text} NOT LIKE '%s')", "({text} ILIKE '%s')", "({text} NOT ILIKE '%s')")

PLACE = re.compile(r"\{([:.?]?)([a-zA-Z ]+)\}")


@dataclass(frozen=True)
class Item:
    """Something that an expression may name: a column, a grouping key, an aggregate."""

    text: str
    type: str


@dataclass
class Scope:
    items: list
    outer: "Scope | None" = None
    # Whether expressions may ask subqueries. We take none in RETURNING, ON CONFLICT and what aggregates compute.
    asks: bool = True

    def of_type(self, wanted):
        return [item for item in self.items if item.type == wanted]


@dataclass
class Statement:
    """What is being made: the choices, and what they have led to so far."""

    choices: Choices
    # Constants become parameters, with or without a type of their own; `None` writes them into the text.
    typed_parameters: bool | None = None
    parameters: list = field(default_factory=list)
    names: int = 0
    # CTEs that may be read, as relations: name and columns.
    named_queries: list = field(default_factory=list)

    def fresh_name(self):
        self.names += 1
        return f"t{self.names}"

    def finish(self, text):
        """The text with parameters numbered anew: clauses that were thrown away may have taken some."""
        used = []

        def number(match):
            place = int(match.group(1)) - 1
            if place not in used:
                used.append(place)
            return f"${used.index(place) + 1}"

        text = re.sub(r"\$(\d+)", number, text)
        self.parameters = [self.parameters[place] for place in used]
        return text


def constant(statement, wanted, told=False):
    """A constant in the text, or a parameter: of no type of its own only where its type is `told` by its neighbours."""
    values = CONSTANTS[wanted]
    value = values[statement.choices.constant_below(len(values))]
    # We have no parameters of type interval: they would be texts.
    if wanted != INTERVAL and statement.typed_parameters is not None and statement.choices.chance(60):
        statement.parameters.append((value, OIDS[wanted] if statement.typed_parameters else 0))
        place = f"${len(statement.parameters)}"
        return place if told or statement.typed_parameters else f"{place}::{wanted}"
    written = WRITTEN[wanted].format(value)
    return f"({written})" if value.startswith("-") else written


def null(wanted):
    return f"NULL::{wanted}"


def column(statement, scope, wanted):
    """A column of the type, now and then one of an outer query; a constant where there is none."""
    items = scope.of_type(wanted)
    if scope.outer and (not items or statement.choices.chance(15)):
        items = scope.outer.of_type(wanted) or items
    if not items:
        return constant(statement, wanted)
    return statement.choices.one_of(items).text


def leaf(statement, scope, wanted):
    kind = statement.choices.below(20)
    if kind < 14:
        return column(statement, scope, wanted)
    return constant(statement, wanted) if kind < 19 else null(wanted)


def fill(statement, form, scope, depth, generic=None):
    """The form with values in its braces."""

    def place(match):
        kind, wanted = match.groups()
        wanted = generic if wanted == "T" else wanted
        if kind in (":", "?"):
            return constant(statement, wanted, told=kind == "?")
        if kind == ".":
            return column(statement, scope, wanted)
        return value(statement, scope, wanted, depth)

    return PLACE.sub(place, form)


def value(statement, scope, wanted, depth):
    choices = statement.choices
    if depth <= 0 or choices.chance(45):
        return leaf(statement, scope, wanted) if wanted != BOOLEAN else condition(statement, scope, 0)
    if wanted == BOOLEAN and choices.chance(70):
        return condition(statement, scope, depth)
    if choices.chance(25):
        return fill(statement, choices.one_of(ANY), scope, depth - 1, wanted)
    if scope.asks and choices.chance(5):
        return scalar_subquery(statement, scope, wanted, depth - 1)
    return fill(statement, choices.one_of(FORMS[wanted]), scope, depth - 1)


def condition(statement, scope, depth):
    choices = statement.choices
    kind = choices.below(20)
    if depth <= 0 or kind < 11:
        return comparison(statement, scope, depth)
    if kind < 13:
        return like(statement, scope, depth)
    if kind < 16:
        return fill(statement, choices.one_of(FORMS[BOOLEAN]), scope, depth - 1)
    if kind < 17 or not scope.asks:
        return leaf(statement, scope, BOOLEAN)
    return subquery_condition(statement, scope, depth - 1)


def comparison(statement, scope, depth):
    types = [item.type for item in scope.items] or [INTEGER]
    wanted = statement.choices.one_of(types)
    return fill(statement, statement.choices.one_of(COMPARISONS), scope, depth - 1, wanted)


def like(statement, scope, depth):
    pattern = PATTERNS[statement.choices.constant_below(len(PATTERNS))]
    form = statement.choices.one_of(LIKES) % pattern
    return fill(statement, form, scope, depth - 1)


# Subqueries within expressions read one table each, so that what they do per row stays cheap.


def table_of(statement):
    """A table under a fresh name, and its columns."""
    table, name = statement.choices.one_of(TABLES), statement.fresh_name()
    return f"{table.name} {name}", [Item(f"{name}.{column.name}", column.type) for column in table.columns]


def scalar_subquery(statement, scope, wanted, depth):
    """One row at most: an aggregate, or the first of a total order. No subqueries inside: a constant <> ALL (..) there we take for
    true although NULL is compared."""
    relation, items = table_of(statement)
    inner = Scope(items, scope, asks=False)
    if wanted == BIGINT and statement.choices.chance(60):
        return f"(SELECT count(*) FROM {relation}{correlation(statement, inner, depth)})"
    given = value(statement, Scope(items, asks=False), wanted, depth)
    if wanted != BOOLEAN and statement.choices.chance(70):
        function = statement.choices.one_of(("min", "max"))
        return f"(SELECT {function}({given}) FROM {relation}{correlation(statement, inner, depth)})"
    order = ", ".join(item.text for item in items)
    return f"(SELECT {given} FROM {relation}{correlation(statement, inner, depth)} ORDER BY {order} LIMIT 1)"


def correlation(statement, scope, depth, operators=("=", "=", "=", "=", "<", ">=")):
    """A WHERE that compares a column with one of the query around, where they have a type in common."""
    outer = scope.outer.items if scope.outer else []
    pairs = [(mine, other) for mine in scope.items for other in outer if mine.type == other.type]
    conditions = []
    if pairs and statement.choices.chance(60):
        mine, other = statement.choices.one_of(pairs)
        conditions.append(f"{mine.text} {statement.choices.one_of(operators)} {other.text}")
    if statement.choices.chance(50):
        conditions.append(condition(statement, Scope(scope.items, asks=scope.asks), depth))
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def subquery_condition(statement, scope, depth):
    choices = statement.choices
    relation, items = table_of(statement)
    inner = Scope(items, scope)
    if choices.chance(40):
        word = choices.one_of(("EXISTS", "NOT EXISTS"))
        return f"({word} (SELECT 1 FROM {relation}{correlation(statement, inner, depth)}))"
    given = choices.one_of(items)
    compared = value(statement, scope, given.type, depth)
    form = choices.one_of(("IN", "NOT IN", "= ANY", "IN", "< ANY", "> ALL", "<> ALL", ">= ALL"))
    return f"({compared} {form} (SELECT {given.text} FROM {relation}{correlation(statement, inner, depth)}))"
