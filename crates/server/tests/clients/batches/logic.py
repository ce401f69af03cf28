"""Queries whose answers follow from each other, on our server alone (settings from PG*): ternary logic partitioning (what a condition,
its negation and its being NULL leave is everything) and NoREC (as many rows as where the condition is computed for each row). The
queries of a group are sent at once, so that they also meet in a batch.

    logic.py [--seed N] [--groups N] [--seconds N] [--failures N]

`--seconds` ends a run before its last group.
"""

import argparse
import math
import random
import time
from dataclasses import dataclass

import psycopg

import members
import schema
from check import answers, result, seed

LONGEST = 60


@dataclass
class Group:
    """Queries, and whether their answers fit."""

    texts: list
    fits: object


def partitioned(source, tables):
    """Rows, grouped or not."""
    text, inside = members.joined(source, tables)
    asked = members.condition(source, *source.choice(inside))
    wanted = ", ".join(f"{alias}.{source.choice(table.columns).name}" for table, alias in inside)
    whole = f"SELECT {wanted} FROM {text}"
    parts = [f"{whole} WHERE {form}" for form in (asked, f"NOT ({asked})", f"({asked}) IS NULL")]
    return Group([whole, *parts], lambda found: same_bag(found[0], found[1] + found[2] + found[3]))


def partitioned_extremes(source, tables):
    """Extremes and counts of the parts make those of the whole."""
    text, inside = members.joined(source, tables)
    asked = members.condition(source, *source.choice(inside))
    whole = f"SELECT count(*), max({inside[0][1]}.k), min({inside[-1][1]}.k) FROM {text}"
    parts = [f"{whole} WHERE {form}" for form in (asked, f"NOT ({asked})", f"({asked}) IS NULL")]

    def fits(found):
        (count, most, least), *others = (rows[0] for rows in found)
        counts, highest, lowest = ([int(row[at]) for row in others if row[at] is not None] for at in range(3))
        return (
            int(count) == sum(counts)
            and most == (str(max(highest)) if highest else None)
            and least == (str(min(lowest)) if lowest else None)
        )

    return Group([whole, *parts], fits)


def computed(source, tables):
    """NoREC."""
    text, inside = members.joined(source, tables)
    asked = members.condition(source, *source.choice(inside))
    queries = [
        f"SELECT count(*) FROM {text} WHERE {asked}",
        f"SELECT coalesce(sum(CASE WHEN {asked} THEN 1 ELSE 0 END), 0) FROM {text}",
        f"SELECT count(*) FILTER (WHERE {asked}) FROM {text}",
    ]
    return Group(queries, lambda found: len({rows[0][0] for rows in found}) == 1)


def same_bag(one, other):
    return sorted(one, key=repr) == sorted(other, key=repr)


KINDS = (partitioned, partitioned_extremes, computed)


class Check:
    def __init__(self, options):
        self.options = options
        self.source = random.Random(options.seed)
        self.tables = schema.star(self.source)
        self.connections = [psycopg.connect("", autocommit=True) for _ in range(4)]
        first = self.connections[0]
        for connection in self.connections:
            connection.execute(f"SET statement_timeout = '{LONGEST}s'")
        for table in self.tables:
            first.execute(f"DROP TABLE IF EXISTS {table.name}")
            for text in (table.definition(), *table.contents(self.source)):
                first.execute(text)
            for number, columns in enumerate(table.indexes):
                first.execute(f"CREATE INDEX {table.name}_i{number} ON {table.name} ({columns})")
        self.checked = self.failed = 0

    def run(self):
        end = time.monotonic() + self.options.seconds
        while self.checked < self.options.groups and time.monotonic() < end and self.failed < self.options.failures:
            if self.source.randrange(5) == 0:
                self.connections[0].execute(schema.change(self.source, self.tables))
            self.check(self.source.choice(KINDS)(self.source, self.tables))

    def check(self, group):
        asked = list(zip(group.texts, self.connections))
        for text, connection in asked:
            connection.pgconn.send_query(text.encode())
        found = [result(connection) for _, connection in asked]
        self.checked += 1
        states = {answer.state for answer in found}
        # A fault of all is one: which rows a fault is raised for is the plan's affair.
        if states == {None} and group.fits([answer.rows for answer in found]):
            return
        if None not in states and answers.LOST not in states and answers.INTERNAL_ERROR not in states:
            return
        self.failed += 1
        print(f"--- --seed {self.options.seed}, group {self.checked}")
        for text, answer in zip(group.texts, found):
            print(f"  {text}\n    {answer.shown(3)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=seed, default="random", help="a number, or random")
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--failures", type=int, default=3)
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    check = Check(options)
    check.run()
    print(f"logic: {check.checked} groups, {check.failed} do not fit")
    raise SystemExit(1 if check.failed else 0)


main()
