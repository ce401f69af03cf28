"""Statements of a batch: shapes over the star, each with constants of its own."""

import random
from dataclasses import dataclass

from schema import SUMMED, VALUES


@dataclass
class Member:
    text: str
    # Rows are compared in order.
    ordered: bool = False


def condition(source, table, alias):
    """A condition on one table: mostly a range of its key or of a column."""
    kind = source.randrange(10)
    if kind < 4:
        low, width = source.randrange(table.rows + 1), source.choice((1, 5, 20, table.rows))
        return source.choice(
            (
                f"{alias}.k < {low}",
                f"{alias}.k >= {low}",
                f"{alias}.k BETWEEN {low} AND {low + width}",
                f"{alias}.k = {low}",
                f"{alias}.k IN ({low}, {low + 1}, {low + width})",
                f"{alias}.k <> {low}",
            )
        )
    column = source.choice(table.columns)
    name = f"{alias}.{column.name}"
    if kind == 4:
        return f"{name} IS {source.choice(('', 'NOT '))}NULL"
    if column.target:
        return f"{name} {source.choice(('<', '>=', '=', '<='))} {source.randrange(column.target.rows + 1)}"
    value = VALUES[column.type](source)
    if kind == 5 and column.type == "text":
        return f"{name} LIKE '{source.choice(('t%', '%1%', 'p', '%q', 't_'))}'"
    if kind == 6:
        return f"({name} = {value} OR {condition(source, table, alias)})"
    if kind == 7:
        return f"NOT ({name} {source.choice(('=', '<'))} {value})"
    return f"{name} {source.choice(('=', '<', '>', '<=', '>=', '<>'))} {value}"


def conditions(source, tables):
    """Conditions on aliases, `tables` being pairs of table and alias."""
    asked = [condition(source, *source.choice(tables)) for _ in range(source.choice((0, 1, 1, 2, 3)))]
    return f" WHERE {' AND '.join(asked)}" if asked else ""


def joined(source, tables):
    """FROM of the fact table with some dimensions, and what is in it."""
    fact, d, e, h = tables
    text, inside = "f", [(fact, "f")]
    kinds = ("JOIN", "JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    for table in source.sample((d, e, h), source.choice((1, 1, 2, 3))):
        text += f" {source.choice(kinds)} {table.name} ON f.{table.name}k = {table.name}.k"
        inside.append((table, table.name))
    if (e, "e") in inside and (h, "h") not in inside and source.randrange(2):
        text += f" {source.choice(kinds)} h ON e.hk = h.k"
        inside.append((h, "h"))
    return text, inside


def aggregates(source, inside):
    chosen = ["count(*)"]
    for _ in range(source.randrange(4)):
        table, alias = source.choice(inside)
        column = source.choice(table.columns)
        name = f"{alias}.{column.name}"
        if column.type in SUMMED:
            chosen.append(source.choice((f"sum({name})", f"max({name})", f"min({name})", f"count(DISTINCT {name})")))
        elif column.type != "boolean":
            chosen.append(source.choice((f"count({name})", f"max({name})", f"min({name})")))
        else:
            chosen.append(f"count({name}) FILTER (WHERE {condition(source, table, alias)})")
    return chosen


def grouped(source, tables):
    text, inside = joined(source, tables)
    keys = []
    for _ in range(source.randrange(3)):
        table, alias = source.choice(inside)
        keys.append(f"{alias}.{source.choice(table.columns).name}")
    items = ", ".join([*keys, *aggregates(source, inside)])
    made = f"SELECT {items} FROM {text}{conditions(source, inside)}"
    if keys:
        made += f" GROUP BY {', '.join(keys)}"
        if source.randrange(4) == 0:
            made += f" HAVING count(*) > {source.randrange(5)}"
    return Member(made)


def member_of(source, tables):
    """Semi and anti joins."""
    fact, d, e, h = tables
    table = source.choice((d, e, h))
    inner = f"SELECT x.k FROM {table.name} x WHERE {condition(source, table, 'x')}"
    asked = source.choice(
        (
            f"f.{table.name}k IN ({inner})",
            f"f.{table.name}k NOT IN ({inner})",
            f"EXISTS ({inner} AND x.k = f.{table.name}k)",
            f"NOT EXISTS ({inner} AND x.k = f.{table.name}k)",
        )
    )
    return Member(f"SELECT {', '.join(aggregates(source, [(fact, 'f')]))} FROM f WHERE {asked} AND {condition(source, fact, 'f')}")


def rows(source, tables):
    """Rows of one table or a join, the first ones by a whole order."""
    if source.randrange(3):
        table = source.choice(tables)
        text, inside = table.name, [(table, table.name)]
    else:
        text, inside = joined(source, tables)
    table, alias = source.choice(inside)
    wanted = [f"{alias}.{column.name}" for column in source.sample(table.columns, 2)]
    keys = ", ".join(f"{alias}.k" for _, alias in inside)
    order = f"{source.choice(wanted)}{source.choice((' DESC', ''))}, {keys}"
    made = f"SELECT {keys}, {', '.join(wanted)} FROM {text}{conditions(source, inside)} ORDER BY {order}"
    return Member(f"{made} LIMIT {source.choice((1, 7, 50, 300))}" + source.choice(("", f" OFFSET {source.randrange(30)}")), True)


def self_join(source, tables):
    # Columns of few values pair each row with many.
    table = min(source.sample(tables[1:], 2), key=lambda table: table.rows)
    both = [(table, "x"), (table, "y")]
    column = source.choice([column for column in table.columns if column.type != "boolean"])
    return Member(
        f"SELECT count(*), count(DISTINCT x.k) FROM {table.name} x {source.choice(('JOIN', 'LEFT JOIN'))} {table.name} y"
        f" ON x.{column.name} = y.{column.name} AND x.k <> y.k{conditions(source, both)}"
    )


def set_operation(source, tables):
    table = source.choice(tables[1:])
    column = source.choice(table.columns).name
    halves = [f"SELECT {column} FROM {table.name}{conditions(source, [(table, table.name)])}" for _ in range(2)]
    return Member(source.choice((" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ")).join(halves))


def distinct(source, tables):
    text, inside = joined(source, tables)
    table, alias = source.choice(inside)
    return Member(f"SELECT DISTINCT {alias}.{source.choice(table.columns).name} FROM {text}{conditions(source, inside)}")


def scalar(source, tables):
    table = source.choice(tables[1:])
    inner = f"SELECT max(x.k) FROM {table.name} x{conditions(source, [(table, 'x')])}"
    return Member(f"SELECT count(*) FROM f WHERE f.{table.name}k {source.choice(('=', '<', '>='))} ({inner})")


def window(source, tables):
    table = source.choice(tables[1:])
    column = source.choice(table.columns).name
    asked = conditions(source, [(table, "x")])
    return Member(f"SELECT x.k, row_number() OVER (PARTITION BY x.{column} ORDER BY x.k), count(*) OVER () FROM {table.name} x{asked}")


def failing(source, tables):
    """Fails where a row has the key."""
    table = source.choice(tables[1:])
    return Member(f"SELECT count(*) FROM {table.name} x WHERE 10 / (x.k - {source.randrange(table.rows + 3)}) > 0")


SHAPES = (grouped, grouped, grouped, grouped, member_of, rows, rows, self_join, set_operation, distinct, scalar, window, failing)


def batch(source, tables, size):
    """Statements that wait together: few shapes, many constants."""
    shapes = [(source.choice(SHAPES), source.randrange(1 << 30)) for _ in range(source.choice((1, 2, 4, size)))]
    members = []
    for _ in range(size):
        shape, of_shape = source.choice(shapes)
        members.append(shape(Constants(of_shape, source), tables))
    return members


class Constants:
    """Draws the shape from one source and large numbers, the constants of ranges, from another."""

    def __init__(self, shape, constants):
        self.shape = random.Random(shape)
        self.constants = constants

    def randrange(self, *limits):
        # Kinds are chosen among few, constants among many.
        return (self.constants if len(limits) > 1 or limits[0] > 13 else self.shape).randrange(*limits)

    def choice(self, options):
        return self.shape.choice(options)

    def sample(self, options, count):
        return self.shape.sample(options, count)
